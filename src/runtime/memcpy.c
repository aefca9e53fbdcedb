/* Memory management: copies and memsets in all their forms, as one rectangle each (core/copy.h).
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

#include "base/log.h"
#include "core/array.h"
#include "core/copy.h"
#include "core/module.h"
#include "runtime/copies.h"
#include "runtime/rt.h"

#define PITCH_MAX 2147483647u /* cudaDevAttrMaxPitch */

static enum weir_err check_kind(enum cudaMemcpyKind kind)
{
    if ((unsigned)kind >= WEIR_COPY_KIND_COUNT)
        return WEIR_FAIL(WEIR_ERR_INVALID_MEMCPY_DIRECTION, "copy kind %d", (int)kind);
    return WEIR_OK;
}

static enum weir_err copy(const struct weir_copy *c, cudaStream_t stream)
{
    struct weir_stream *s;

    RT_TRY(weir_stream_get(stream, &s));
    return weir_copy_submit(s, c);
}

/* ---- bytes in a row ---- */

static struct weir_copy linear(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
                               bool async)
{
    return (struct weir_copy){.src = src,
                              .dst = dst,
                              .width = count,
                              .height = 1,
                              .depth = 1,
                              .src_pitch = count,
                              .dst_pitch = count,
                              .src_slice = count,
                              .dst_slice = count,
                              .kind = (enum weir_copy_kind)kind,
                              .async = async};
}

/* Zero bytes succeed whatever else is said, in a failed context too (oracle
 * memcpy_args.zero_size_*). */
enum weir_err weir_rt_Memcpy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind)
{
    struct weir_copy c = linear(dst, src, count, kind, false);

    if (count == 0)
        return WEIR_OK;
    RT_TRY(check_kind(kind));
    return copy(&c, NULL);
}

enum weir_err weir_rt_MemcpyAsync(void *dst, const void *src, size_t count,
                                  enum cudaMemcpyKind kind, cudaStream_t stream)
{
    struct weir_copy c = linear(dst, src, count, kind, true);

    if (count)
        RT_TRY(check_kind(kind));
    return copy(&c, stream);
}

static enum weir_err check_peers(int dst, int src)
{
    int n = weir_core.device_count;

    if (dst < 0 || dst >= n || src < 0 || src >= n)
        return WEIR_FAIL(WEIR_ERR_INVALID_DEVICE, "copy from device %d to device %d", src, dst);
    return WEIR_OK;
}

static enum weir_err copy_peer(void *dst, int dst_device, const void *src, int src_device,
                               size_t count, cudaStream_t stream, bool async)
{
    struct weir_copy c = linear(dst, src, count, cudaMemcpyDefault, async);

    if (count == 0)
        return WEIR_OK;
    RT_TRY(check_peers(dst_device, src_device));
    c.peer = true;
    return copy(&c, stream);
}

/* Device ids that are valid but wrong make no difference (oracle multi_peer): addresses say whose
 * memory it is. */
enum weir_err weir_rt_MemcpyPeer(void *dst, int dstDevice, const void *src, int srcDevice,
                                 size_t count)
{
    return copy_peer(dst, dstDevice, src, srcDevice, count, NULL, false);
}

enum weir_err weir_rt_MemcpyPeerAsync(void *dst, int dstDevice, const void *src, int srcDevice,
                                      size_t count, cudaStream_t stream)
{
    return copy_peer(dst, dstDevice, src, srcDevice, count, stream, true);
}

/* ---- rectangles ---- */

/* Answers of the hardware (oracle memcpy_2d3d): one row with pitch 0 is allowed, one with too small
 * a pitch is another error than several. */
static enum weir_err check_pitch(size_t pitch, size_t width, size_t height)
{
    if (pitch > PITCH_MAX && height > 1)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "pitch %zu", pitch);
    if (pitch >= width || (height == 1 && pitch == 0))
        return WEIR_OK;
    return height == 1
               ? WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "pitch %zu of rows of %zu bytes", pitch, width)
               : WEIR_FAIL(WEIR_ERR_INVALID_PITCH_VALUE, "pitch %zu of rows of %zu bytes", pitch,
                           width);
}

static enum weir_err copy_2d(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
                             size_t height, enum cudaMemcpyKind kind, cudaStream_t stream,
                             bool async)
{
    struct weir_copy c = {.src = src,
                          .dst = dst,
                          .width = width,
                          .height = height,
                          .depth = 1,
                          .src_pitch = spitch,
                          .dst_pitch = dpitch,
                          .kind = (enum weir_copy_kind)kind,
                          .async = async};

    if (width == 0 || height == 0)
        return WEIR_OK;
    RT_TRY(check_kind(kind));
    RT_TRY(check_pitch(dpitch, width, height));
    RT_TRY(check_pitch(spitch, width, height));
    return copy(&c, stream);
}

enum weir_err weir_rt_Memcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch,
                               size_t width, size_t height, enum cudaMemcpyKind kind)
{
    return copy_2d(dst, dpitch, src, spitch, width, height, kind, NULL, false);
}

enum weir_err weir_rt_Memcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch,
                                    size_t width, size_t height, enum cudaMemcpyKind kind,
                                    cudaStream_t stream)
{
    return copy_2d(dst, dpitch, src, spitch, width, height, kind, stream, true);
}

/* ---- boxes ---- */

static enum weir_err box_side(struct cudaPitchedPtr p, struct cudaPos pos, struct cudaExtent e,
                              void **first, size_t *slice)
{
    size_t rows = p.ysize ? p.ysize : e.height, offset;

    if (p.pitch < e.width || (p.ysize && p.ysize < e.height))
        return WEIR_FAIL(WEIR_ERR_INVALID_PITCH_VALUE,
                         "box of %zu x %zu in rows of %zu bytes, %zu a slice", e.width, e.height,
                         p.pitch, p.ysize);
    if (!p.ptr || pos.x > p.pitch - e.width || pos.y > rows - e.height ||
        WEIR_MUL_OVERFLOWS(p.pitch, rows, slice) || WEIR_MUL_OVERFLOWS(pos.z, *slice, &offset))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "box that leaves its memory");
    *first = (char *)p.ptr + offset + pos.y * p.pitch + pos.x;
    return WEIR_OK;
}

/* One end of a copy of a box: an array, or memory in rows. */
struct end {
    cudaArray_const_t array;
    struct cudaPitchedPtr ptr;
    struct cudaPos pos;
};

/* e is in bytes. An array's position is in elements, memory's in bytes. */
static enum weir_err end_side(const struct end *end, struct cudaExtent e, void **first,
                              size_t *pitch, size_t *slice)
{
    struct weir_array *a;
    char *place;

    if (!end->array) {
        *pitch = end->ptr.pitch;
        return box_side(end->ptr, end->pos, e, first, slice);
    }
    RT_TRY(weir_array_get(end->array, &a));
    RT_TRY(weir_array_place(a, end->pos.x * a->element_bytes, end->pos.y, end->pos.z, e.width,
                            e.height, e.depth, &place));
    *first = place;
    *pitch = a->pitch;
    *slice = a->slice;
    return WEIR_OK;
}

/* Where an array takes part, the extent's width is in its elements. */
static enum weir_err extent_in_bytes(const struct end *dst, const struct end *src,
                                     struct cudaExtent *e)
{
    struct weir_array *a, *b = NULL;

    if (!dst->array && !src->array)
        return WEIR_OK;
    RT_TRY(weir_array_get(dst->array ? dst->array : src->array, &a));
    if (dst->array && src->array)
        RT_TRY(weir_array_get(src->array, &b));
    if ((b && b->element_bytes != a->element_bytes) ||
        WEIR_MUL_OVERFLOWS(e->width, a->element_bytes, &e->width))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "arrays whose elements are not of one size");
    return WEIR_OK;
}

static enum weir_err make_3d(const struct end *dst, const struct end *src, struct cudaExtent e,
                             struct weir_copy *c)
{
    void *from;

    RT_TRY(extent_in_bytes(dst, src, &e));
    RT_TRY(end_side(dst, e, &c->dst, &c->dst_pitch, &c->dst_slice));
    RT_TRY(end_side(src, e, &from, &c->src_pitch, &c->src_slice));
    c->src = from;
    c->width = e.width;
    c->height = e.height;
    c->depth = e.depth;
    return WEIR_OK;
}

static enum weir_err copy_3d(const struct end *dst, const struct end *src, struct cudaExtent e,
                             enum weir_copy_kind kind, bool peer, cudaStream_t stream, bool async)
{
    struct weir_copy c = {.kind = kind, .async = async, .peer = peer};

    if (e.width == 0 || e.height == 0 || e.depth == 0)
        return WEIR_OK;
    RT_TRY(make_3d(dst, src, e, &c));
    return copy(&c, stream);
}

static enum weir_err copy_3d_parms(const struct cudaMemcpy3DParms *p, cudaStream_t stream,
                                   bool async)
{
    struct end dst, src;

    RT_REQUIRE(p);
    RT_TRY(check_kind(p->kind));
    dst = (struct end){p->dstArray, p->dstPtr, p->dstPos};
    src = (struct end){p->srcArray, p->srcPtr, p->srcPos};
    return copy_3d(&dst, &src, p->extent, (enum weir_copy_kind)p->kind, false, stream, async);
}

enum weir_err weir_rt_Memcpy3D(const struct cudaMemcpy3DParms *p)
{
    return copy_3d_parms(p, NULL, false);
}

enum weir_err weir_rt_Memcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
    return copy_3d_parms(p, stream, true);
}

static enum weir_err copy_3d_peer(const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream,
                                  bool async)
{
    struct end dst, src;

    RT_REQUIRE(p);
    RT_TRY(check_peers(p->dstDevice, p->srcDevice));
    dst = (struct end){p->dstArray, p->dstPtr, p->dstPos};
    src = (struct end){p->srcArray, p->srcPtr, p->srcPos};
    return copy_3d(&dst, &src, p->extent, WEIR_COPY_DEFAULT, true, stream, async);
}

enum weir_err weir_rt_Memcpy3DPeer(const struct cudaMemcpy3DPeerParms *p)
{
    return copy_3d_peer(p, NULL, false);
}

enum weir_err weir_rt_Memcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream)
{
    return copy_3d_peer(p, stream, true);
}

/* ---- symbols ---- */

static enum weir_err symbol_range(const void *symbol, size_t count, size_t offset, char **first)
{
    struct weir_context *ctx;
    void *address;
    size_t bytes;

    RT_TRY(weir_context_current(&ctx));
    RT_TRY(weir_symbol_address(symbol, ctx, &address, &bytes));
    if (offset > bytes || count > bytes - offset)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%zu bytes at offset %zu of a variable of %zu",
                         count, offset, bytes);
    *first = (char *)address + offset;
    return WEIR_OK;
}

static enum weir_err copy_to_symbol(const void *symbol, const void *src, size_t count,
                                    size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream,
                                    bool async)
{
    struct weir_copy c;

    RT_TRY(weir_rt_make_to_symbol(symbol, src, count, offset, kind, &c));
    c.async = async;
    return copy(&c, stream);
}

static enum weir_err copy_from_symbol(void *dst, const void *symbol, size_t count, size_t offset,
                                      enum cudaMemcpyKind kind, cudaStream_t stream, bool async)
{
    struct weir_copy c;

    RT_TRY(weir_rt_make_from_symbol(dst, symbol, count, offset, kind, &c));
    c.async = async;
    return copy(&c, stream);
}

enum weir_err weir_rt_MemcpyToSymbol(const void *symbol, const void *src, size_t count,
                                     size_t offset, enum cudaMemcpyKind kind)
{
    return copy_to_symbol(symbol, src, count, offset, kind, NULL, false);
}

enum weir_err weir_rt_MemcpyToSymbolAsync(const void *symbol, const void *src, size_t count,
                                          size_t offset, enum cudaMemcpyKind kind,
                                          cudaStream_t stream)
{
    return copy_to_symbol(symbol, src, count, offset, kind, stream, true);
}

enum weir_err weir_rt_MemcpyFromSymbol(void *dst, const void *symbol, size_t count, size_t offset,
                                       enum cudaMemcpyKind kind)
{
    return copy_from_symbol(dst, symbol, count, offset, kind, NULL, false);
}

enum weir_err weir_rt_MemcpyFromSymbolAsync(void *dst, const void *symbol, size_t count,
                                            size_t offset, enum cudaMemcpyKind kind,
                                            cudaStream_t stream)
{
    return copy_from_symbol(dst, symbol, count, offset, kind, stream, true);
}

/* ---- copies as graph nodes (graph_node.c) ---- */

enum weir_err weir_rt_make_linear(void *dst, const void *src, size_t count,
                                  enum cudaMemcpyKind kind, struct weir_copy *out)
{
    *out = linear(dst, src, count, kind, true);
    return check_kind(kind);
}

enum weir_err weir_rt_make_box(const struct cudaMemcpy3DParms *p, struct weir_copy *out)
{
    struct end dst, src;

    *out = (struct weir_copy){.width = p->extent.width,
                              .height = p->extent.height,
                              .depth = p->extent.depth,
                              .kind = (enum weir_copy_kind)p->kind,
                              .async = true};
    RT_TRY(check_kind(p->kind));
    dst = (struct end){p->dstArray, p->dstPtr, p->dstPos};
    src = (struct end){p->srcArray, p->srcPtr, p->srcPos};
    return make_3d(&dst, &src, p->extent, out);
}

enum weir_err weir_rt_make_to_symbol(const void *symbol, const void *src, size_t count,
                                     size_t offset, enum cudaMemcpyKind kind, struct weir_copy *out)
{
    char *dst;

    if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToDevice &&
        kind != cudaMemcpyDefault)
        return WEIR_FAIL(WEIR_ERR_INVALID_MEMCPY_DIRECTION, "copy kind %d to a symbol", (int)kind);
    RT_TRY(symbol_range(symbol, count, offset, &dst));
    *out = linear(dst, src, count, kind, true);
    return WEIR_OK;
}

enum weir_err weir_rt_make_from_symbol(void *dst, const void *symbol, size_t count, size_t offset,
                                       enum cudaMemcpyKind kind, struct weir_copy *out)
{
    char *src;

    if (kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyDeviceToDevice &&
        kind != cudaMemcpyDefault)
        return WEIR_FAIL(WEIR_ERR_INVALID_MEMCPY_DIRECTION, "copy kind %d from a symbol",
                         (int)kind);
    RT_TRY(symbol_range(symbol, count, offset, &src));
    *out = linear(dst, src, count, kind, true);
    return WEIR_OK;
}

/* ---- memset ---- */

static enum weir_err fill(struct cudaPitchedPtr p, int value, struct cudaExtent e,
                          cudaStream_t stream, bool async)
{
    struct weir_fill f = {.dst = p.ptr,
                          .value = (unsigned char)value,
                          .element_bytes = 1,
                          .width = e.width,
                          .height = e.height,
                          .depth = e.depth,
                          .pitch = p.pitch,
                          .slice = p.pitch * (p.ysize ? p.ysize : e.height),
                          .async = async};
    struct weir_stream *s;

    RT_TRY(weir_stream_get(stream, &s));
    return weir_fill_submit(s, &f);
}

static enum weir_err fill_2d(void *ptr, size_t pitch, int value, size_t width, size_t height,
                             cudaStream_t stream, bool async)
{
    struct cudaPitchedPtr p = {.ptr = ptr, .pitch = pitch, .xsize = width, .ysize = height};
    struct cudaExtent e = {width, height, 1};

    if (height > 1 && width && pitch < width)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "pitch %zu of rows of %zu bytes", pitch, width);
    return fill(p, value, e, stream, async);
}

static enum weir_err fill_3d(struct cudaPitchedPtr p, int value, struct cudaExtent e,
                             cudaStream_t stream, bool async)
{
    if (e.width && e.height && e.depth && (e.width > p.pitch || (p.ysize && e.height > p.ysize)))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE,
                         "box of %zu x %zu in rows of %zu bytes, %zu a slice", e.width, e.height,
                         p.pitch, p.ysize);
    return fill(p, value, e, stream, async);
}

enum weir_err weir_rt_Memset(void *devPtr, int value, size_t count)
{
    return fill_2d(devPtr, count, value, count, 1, NULL, false);
}

enum weir_err weir_rt_MemsetAsync(void *devPtr, int value, size_t count, cudaStream_t stream)
{
    return fill_2d(devPtr, count, value, count, 1, stream, true);
}

enum weir_err weir_rt_Memset2D(void *devPtr, size_t pitch, int value, size_t width, size_t height)
{
    return fill_2d(devPtr, pitch, value, width, height, NULL, false);
}

enum weir_err weir_rt_Memset2DAsync(void *devPtr, size_t pitch, int value, size_t width,
                                    size_t height, cudaStream_t stream)
{
    return fill_2d(devPtr, pitch, value, width, height, stream, true);
}

enum weir_err weir_rt_Memset3D(struct cudaPitchedPtr pitchedDevPtr, int value,
                               struct cudaExtent extent)
{
    return fill_3d(pitchedDevPtr, value, extent, NULL, false);
}

enum weir_err weir_rt_Memset3DAsync(struct cudaPitchedPtr pitchedDevPtr, int value,
                                    struct cudaExtent extent, cudaStream_t stream)
{
    return fill_3d(pitchedDevPtr, value, extent, stream, true);
}
