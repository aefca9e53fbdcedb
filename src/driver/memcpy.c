/* Memory management: copies and memsets in all their forms, as one rectangle each (core/copy.h).
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/array.h"
#include "driver/memcpy.h"

#define PITCH_MAX 2147483647u /* CU_DEVICE_ATTRIBUTE_MAX_PITCH */

static enum weir_err submit(const struct weir_copy *c, CUstream stream)
{
    struct weir_stream *s;

    DRV_TRY(weir_stream_get(stream, &s));
    return weir_copy_submit(s, c);
}

/* ---- bytes in a row ---- */

static enum weir_err linear(void *dst, const void *src, size_t bytes, enum weir_copy_kind kind,
                            CUstream stream, bool async, bool peer)
{
    const struct weir_copy c = {.src = src,
                                .dst = dst,
                                .width = bytes,
                                .height = 1,
                                .depth = 1,
                                .src_pitch = bytes,
                                .dst_pitch = bytes,
                                .src_slice = bytes,
                                .dst_slice = bytes,
                                .kind = kind,
                                .async = async,
                                .peer = peer};

    return submit(&c, stream);
}

enum weir_err weir_drv_Memcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount)
{
    return linear(weir_drv_pointer(dst), weir_drv_pointer(src), ByteCount, WEIR_COPY_DEFAULT, NULL,
                  false, false);
}

enum weir_err weir_drv_MemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount,
                                   CUstream hStream)
{
    return linear(weir_drv_pointer(dst), weir_drv_pointer(src), ByteCount, WEIR_COPY_DEFAULT,
                  hStream, true, false);
}

enum weir_err weir_drv_MemcpyHtoD(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount)
{
    return linear(weir_drv_pointer(dstDevice), srcHost, ByteCount, WEIR_COPY_H2D, NULL, false,
                  false);
}

enum weir_err weir_drv_MemcpyHtoDAsync(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount,
                                       CUstream hStream)
{
    return linear(weir_drv_pointer(dstDevice), srcHost, ByteCount, WEIR_COPY_H2D, hStream, true,
                  false);
}

enum weir_err weir_drv_MemcpyDtoH(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount)
{
    return linear(dstHost, weir_drv_pointer(srcDevice), ByteCount, WEIR_COPY_D2H, NULL, false,
                  false);
}

enum weir_err weir_drv_MemcpyDtoHAsync(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount,
                                       CUstream hStream)
{
    return linear(dstHost, weir_drv_pointer(srcDevice), ByteCount, WEIR_COPY_D2H, hStream, true,
                  false);
}

enum weir_err weir_drv_MemcpyDtoD(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount)
{
    return linear(weir_drv_pointer(dstDevice), weir_drv_pointer(srcDevice), ByteCount,
                  WEIR_COPY_D2D, NULL, false, false);
}

enum weir_err weir_drv_MemcpyDtoDAsync(CUdeviceptr dstDevice, CUdeviceptr srcDevice,
                                       size_t ByteCount, CUstream hStream)
{
    return linear(weir_drv_pointer(dstDevice), weir_drv_pointer(srcDevice), ByteCount,
                  WEIR_COPY_D2D, hStream, true, false);
}

/* Addresses say whose memory it is: the contexts only have to exist. */
static enum weir_err check_peers(CUcontext dst, CUcontext src)
{
    struct weir_context *ctx;

    DRV_TRY(weir_drv_context(dst, &ctx));
    return weir_drv_context(src, &ctx);
}

enum weir_err weir_drv_MemcpyPeer(CUdeviceptr dstDevice, CUcontext dstContext,
                                  CUdeviceptr srcDevice, CUcontext srcContext, size_t ByteCount)
{
    DRV_TRY(check_peers(dstContext, srcContext));
    return linear(weir_drv_pointer(dstDevice), weir_drv_pointer(srcDevice), ByteCount,
                  WEIR_COPY_DEFAULT, NULL, false, true);
}

enum weir_err weir_drv_MemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext,
                                       CUdeviceptr srcDevice, CUcontext srcContext,
                                       size_t ByteCount, CUstream hStream)
{
    DRV_TRY(check_peers(dstContext, srcContext));
    return linear(weir_drv_pointer(dstDevice), weir_drv_pointer(srcDevice), ByteCount,
                  WEIR_COPY_DEFAULT, hStream, true, true);
}

/* ---- rectangles and boxes ---- */

/* One side of a copy, as the structs of all forms describe it. */
struct side {
    CUmemorytype type;
    const void *host;
    CUdeviceptr device;
    CUarray array;
    size_t x, y, z, lod, pitch, height;
};

struct extent {
    size_t width, height, depth;
};

/* Whole elements only. */
static enum weir_err locate_in_array(const struct side *s, const struct extent *e, void **first,
                                     size_t *pitch, size_t *slice)
{
    struct weir_array *a;
    char *place;

    DRV_TRY(weir_array_get(s->array, &a));
    if (s->lod || s->x % a->element_bytes || e->width % a->element_bytes)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE,
                         "%zu bytes at %zu, level %zu of an array of elements of %zu bytes",
                         e->width, s->x, s->lod, a->element_bytes);
    DRV_TRY(weir_array_place(a, s->x, s->y, s->z, e->width, e->height, e->depth, &place));
    *first = place;
    *pitch = a->pitch;
    *slice = a->slice;
    return WEIR_OK;
}

static enum weir_err locate(const struct side *s, const struct extent *e, void **first,
                            size_t *pitch, size_t *slice)
{
    size_t offset, reach;

    if (s->type == CU_MEMORYTYPE_ARRAY)
        return locate_in_array(s, e, first, pitch, slice);
    if (s->type != CU_MEMORYTYPE_HOST && s->type != CU_MEMORYTYPE_DEVICE &&
        s->type != CU_MEMORYTYPE_UNIFIED)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "memory of type %d", (int)s->type);
    /* One row needs no pitch, one slice no height. */
    *pitch = s->pitch || e->height > 1 || e->depth > 1 ? s->pitch : s->x + e->width;
    reach = s->height || e->depth > 1 ? s->height : s->y + e->height;
    if (s->lod || s->x > *pitch || e->width > *pitch - s->x || *pitch > PITCH_MAX || s->y > reach ||
        e->height > reach - s->y || WEIR_MUL_OVERFLOWS(*pitch, reach, slice) ||
        WEIR_MUL_OVERFLOWS(s->z, *slice, &offset))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE,
                         "box of %zu x %zu at %zu, %zu in rows of %zu bytes, %zu a slice", e->width,
                         e->height, s->x, s->y, s->pitch, s->height);
    *first =
        s->type == CU_MEMORYTYPE_HOST ? (void *)(uintptr_t)s->host : weir_drv_pointer(s->device);
    DRV_REQUIRE(*first);
    *first = (char *)*first + offset + s->y * *pitch + s->x;
    return WEIR_OK;
}

static enum weir_copy_kind kind_of(CUmemorytype src, CUmemorytype dst)
{
    if (src == CU_MEMORYTYPE_UNIFIED || dst == CU_MEMORYTYPE_UNIFIED)
        return WEIR_COPY_DEFAULT;
    if (src == CU_MEMORYTYPE_HOST)
        return dst == CU_MEMORYTYPE_HOST ? WEIR_COPY_H2H : WEIR_COPY_H2D;
    return dst == CU_MEMORYTYPE_HOST ? WEIR_COPY_D2H : WEIR_COPY_D2D; /* arrays lie on a device */
}

static enum weir_err make_box(const struct side *src, const struct side *dst,
                              const struct extent *e, bool async, bool peer, struct weir_copy *out)
{
    void *from;

    *out = (struct weir_copy){.width = e->width,
                              .height = e->height,
                              .depth = e->depth,
                              .kind = peer ? WEIR_COPY_DEFAULT : kind_of(src->type, dst->type),
                              .async = async,
                              .peer = peer};
    if (e->width == 0 || e->height == 0 || e->depth == 0)
        return WEIR_OK;
    DRV_TRY(locate(src, e, &from, &out->src_pitch, &out->src_slice));
    DRV_TRY(locate(dst, e, &out->dst, &out->dst_pitch, &out->dst_slice));
    out->src = from;
    return WEIR_OK;
}

static enum weir_err copy_box(const struct side *src, const struct side *dst,
                              const struct extent *e, CUstream stream, bool async, bool peer)
{
    struct weir_copy c;

    DRV_TRY(make_box(src, dst, e, async, peer, &c));
    return submit(&c, stream);
}

/* The members of all forms have the same names. */
#define SIDE_2D(p, s)                                                                              \
    {                                                                                              \
        .type = (p)->s##MemoryType, .host = (p)->s##Host, .device = (p)->s##Device,                \
        .array = (p)->s##Array, .x = (p)->s##XInBytes, .y = (p)->s##Y, .pitch = (p)->s##Pitch      \
    }
#define SIDE_3D(p, s)                                                                              \
    {                                                                                              \
        .type = (p)->s##MemoryType, .host = (p)->s##Host, .device = (p)->s##Device,                \
        .array = (p)->s##Array, .x = (p)->s##XInBytes, .y = (p)->s##Y, .z = (p)->s##Z,             \
        .lod = (p)->s##LOD, .pitch = (p)->s##Pitch, .height = (p)->s##Height                       \
    }

static enum weir_err copy_2d(const CUDA_MEMCPY2D *p, CUstream stream, bool async)
{
    DRV_REQUIRE(p);
    const struct side src = SIDE_2D(p, src), dst = SIDE_2D(p, dst);
    const struct extent e = {p->WidthInBytes, p->Height, 1};

    return copy_box(&src, &dst, &e, stream, async, false);
}

enum weir_err weir_drv_Memcpy2D(const CUDA_MEMCPY2D *pCopy)
{
    return copy_2d(pCopy, NULL, false);
}

enum weir_err weir_drv_Memcpy2DAsync(const CUDA_MEMCPY2D *pCopy, CUstream hStream)
{
    return copy_2d(pCopy, hStream, true);
}

static enum weir_err copy_3d(const CUDA_MEMCPY3D *p, CUstream stream, bool async)
{
    DRV_REQUIRE(p);
    const struct side src = SIDE_3D(p, src), dst = SIDE_3D(p, dst);
    const struct extent e = {p->WidthInBytes, p->Height, p->Depth};

    return copy_box(&src, &dst, &e, stream, async, false);
}

enum weir_err weir_drv_make_box(const CUDA_MEMCPY3D *box, struct weir_copy *out)
{
    const struct side src = SIDE_3D(box, src), dst = SIDE_3D(box, dst);
    const struct extent e = {box->WidthInBytes, box->Height, box->Depth};

    return make_box(&src, &dst, &e, true, false, out);
}

enum weir_err weir_drv_Memcpy3D(const CUDA_MEMCPY3D *pCopy)
{
    return copy_3d(pCopy, NULL, false);
}

enum weir_err weir_drv_Memcpy3DAsync(const CUDA_MEMCPY3D *pCopy, CUstream hStream)
{
    return copy_3d(pCopy, hStream, true);
}

static enum weir_err copy_3d_peer(const CUDA_MEMCPY3D_PEER *p, CUstream stream, bool async)
{
    DRV_REQUIRE(p);
    const struct side src = SIDE_3D(p, src), dst = SIDE_3D(p, dst);
    const struct extent e = {p->WidthInBytes, p->Height, p->Depth};

    DRV_TRY(check_peers(p->dstContext, p->srcContext));
    return copy_box(&src, &dst, &e, stream, async, true);
}

enum weir_err weir_drv_Memcpy3DPeer(const CUDA_MEMCPY3D_PEER *pCopy)
{
    return copy_3d_peer(pCopy, NULL, false);
}

enum weir_err weir_drv_Memcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream)
{
    return copy_3d_peer(pCopy, hStream, true);
}

/* ---- memset ---- */

static enum weir_err fill(CUdeviceptr dst, size_t pitch, uint32_t value, unsigned element,
                          size_t width, size_t height, CUstream stream, bool async)
{
    struct weir_fill f = {.dst = weir_drv_pointer(dst),
                          .value = value,
                          .element_bytes = (uint8_t)element,
                          .height = height,
                          .depth = 1,
                          .async = async};
    struct weir_stream *s;

    if (WEIR_MUL_OVERFLOWS(width, (size_t)element, &f.width))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "a memset larger than the address space");
    f.pitch = height > 1 ? pitch : f.width;
    if (f.width && (dst % element || f.pitch % element || f.pitch < f.width ||
                    WEIR_MUL_OVERFLOWS(f.pitch, height, &f.slice)))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "memset at %#llx, rows of %zu bytes, pitch %zu",
                         dst, f.width, f.pitch);
    DRV_TRY(weir_stream_get(stream, &s));
    return weir_fill_submit(s, &f);
}

enum weir_err weir_drv_MemsetD8(CUdeviceptr dstDevice, unsigned char uc, size_t N)
{
    return fill(dstDevice, 0, uc, 1, N, 1, NULL, false);
}

enum weir_err weir_drv_MemsetD16(CUdeviceptr dstDevice, unsigned short us, size_t N)
{
    return fill(dstDevice, 0, us, 2, N, 1, NULL, false);
}

enum weir_err weir_drv_MemsetD32(CUdeviceptr dstDevice, unsigned int ui, size_t N)
{
    return fill(dstDevice, 0, ui, 4, N, 1, NULL, false);
}

enum weir_err weir_drv_MemsetD2D8(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc,
                                  size_t Width, size_t Height)
{
    return fill(dstDevice, dstPitch, uc, 1, Width, Height, NULL, false);
}

enum weir_err weir_drv_MemsetD2D16(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us,
                                   size_t Width, size_t Height)
{
    return fill(dstDevice, dstPitch, us, 2, Width, Height, NULL, false);
}

enum weir_err weir_drv_MemsetD2D32(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui,
                                   size_t Width, size_t Height)
{
    return fill(dstDevice, dstPitch, ui, 4, Width, Height, NULL, false);
}

enum weir_err weir_drv_MemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N,
                                     CUstream hStream)
{
    return fill(dstDevice, 0, uc, 1, N, 1, hStream, true);
}

enum weir_err weir_drv_MemsetD16Async(CUdeviceptr dstDevice, unsigned short us, size_t N,
                                      CUstream hStream)
{
    return fill(dstDevice, 0, us, 2, N, 1, hStream, true);
}

enum weir_err weir_drv_MemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N,
                                      CUstream hStream)
{
    return fill(dstDevice, 0, ui, 4, N, 1, hStream, true);
}

enum weir_err weir_drv_MemsetD2D8Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc,
                                       size_t Width, size_t Height, CUstream hStream)
{
    return fill(dstDevice, dstPitch, uc, 1, Width, Height, hStream, true);
}

enum weir_err weir_drv_MemsetD2D16Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us,
                                        size_t Width, size_t Height, CUstream hStream)
{
    return fill(dstDevice, dstPitch, us, 2, Width, Height, hStream, true);
}

enum weir_err weir_drv_MemsetD2D32Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui,
                                        size_t Width, size_t Height, CUstream hStream)
{
    return fill(dstDevice, dstPitch, ui, 4, Width, Height, hStream, true);
}
