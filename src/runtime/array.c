/* Memory management: arrays, and copies to and from them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/mipmap.h"

#include "runtime/rt.h"

static void set_format(struct weir_array_config *c, const struct cudaChannelFormatDesc *desc)
{
    c->bits[0] = desc->x;
    c->bits[1] = desc->y;
    c->bits[2] = desc->z;
    c->bits[3] = desc->w;
    c->format = (int)desc->f;
}

enum weir_err weir_rt_Malloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
                                    struct cudaExtent extent, unsigned int flags)
{
    struct weir_array_config config = {
        .width = extent.width, .height = extent.height, .depth = extent.depth, .flags = flags};
    struct weir_context *ctx;
    struct weir_array *a;

    RT_REQUIRE(array);
    RT_REQUIRE(desc);
    set_format(&config, desc);
    RT_TRY(weir_context_current(&ctx));
    RT_TRY(weir_array_create(ctx, &config, &a));
    *array = (cudaArray_t)a;
    return WEIR_OK;
}

enum weir_err weir_rt_MallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
                                  size_t width, size_t height, unsigned int flags)
{
    return weir_rt_Malloc3DArray(array, desc, (struct cudaExtent){width, height, 0}, flags);
}

enum weir_err weir_rt_FreeArray(cudaArray_t array)
{
    return array ? weir_array_free(array) : WEIR_OK;
}

enum weir_err weir_rt_GetChannelDesc(struct cudaChannelFormatDesc *desc, cudaArray_const_t array)
{
    struct weir_array *a;

    RT_REQUIRE(desc);
    RT_TRY(weir_array_get(array, &a));
    *desc = (struct cudaChannelFormatDesc){
        .x = a->config.bits[0],
        .y = a->config.bits[1],
        .z = a->config.bits[2],
        .w = a->config.bits[3],
        .f = (enum cudaChannelFormatKind)a->config.format,
    };
    return WEIR_OK;
}

enum weir_err weir_rt_ArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent,
                                   unsigned int *flags, cudaArray_t array)
{
    struct weir_array *a;

    RT_TRY(weir_array_get(array, &a));
    if (desc)
        RT_TRY(weir_rt_GetChannelDesc(desc, array));
    if (extent)
        *extent = (struct cudaExtent){a->config.width, a->config.height, a->config.depth};
    if (flags)
        *flags = a->config.flags;
    return WEIR_OK;
}

/* ---- levels ---- */

enum weir_err weir_rt_MallocMipmappedArray(cudaMipmappedArray_t *mipmappedArray,
                                           const struct cudaChannelFormatDesc *desc,
                                           struct cudaExtent extent, unsigned int numLevels,
                                           unsigned int flags)
{
    struct weir_array_config config = {
        .width = extent.width, .height = extent.height, .depth = extent.depth, .flags = flags};
    struct weir_context *ctx;
    struct weir_mipmap *m;

    RT_REQUIRE(mipmappedArray);
    RT_REQUIRE(desc);
    set_format(&config, desc);
    RT_TRY(weir_context_current(&ctx));
    RT_TRY(weir_mipmap_create(ctx, &config, numLevels, &m));
    *mipmappedArray = (cudaMipmappedArray_t)m;
    return WEIR_OK;
}

enum weir_err weir_rt_GetMipmappedArrayLevel(cudaArray_t *levelArray,
                                             cudaMipmappedArray_const_t mipmappedArray,
                                             unsigned int level)
{
    struct weir_array *a;

    RT_REQUIRE(levelArray);
    RT_TRY(weir_mipmap_level(mipmappedArray, level, &a));
    *levelArray = (cudaArray_t)a;
    return WEIR_OK;
}

enum weir_err weir_rt_FreeMipmappedArray(cudaMipmappedArray_t mipmappedArray)
{
    return mipmappedArray ? weir_mipmap_free(mipmappedArray) : WEIR_OK;
}

/* ---- copies ---- */

static enum weir_err check_pitch(size_t pitch, size_t width, size_t height)
{
    return pitch >= width || height <= 1
               ? WEIR_OK
               : WEIR_FAIL(WEIR_ERR_INVALID_PITCH_VALUE, "pitch %zu of rows of %zu bytes", pitch,
                           width);
}

static enum weir_err to_array(cudaArray_t dst, size_t x, size_t y, const void *src, size_t pitch,
                              size_t width, size_t height, enum cudaMemcpyKind kind,
                              cudaStream_t stream, bool async)
{
    struct weir_copy c = {.src = src, .width = width, .height = height, .src_pitch = pitch};
    struct weir_array *a;
    char *place;

    RT_TRY(weir_array_get(dst, &a));
    RT_TRY(check_pitch(pitch, width, height));
    RT_TRY(weir_array_place(a, x, y, 0, width, height, 1, &place));
    c.dst = place;
    c.dst_pitch = a->pitch;
    return weir_array_copy_rows(&c, (unsigned)kind, stream, async);
}

static enum weir_err from_array(void *dst, size_t pitch, cudaArray_const_t src, size_t x, size_t y,
                                size_t width, size_t height, enum cudaMemcpyKind kind,
                                cudaStream_t stream, bool async)
{
    struct weir_copy c = {.dst = dst, .width = width, .height = height, .dst_pitch = pitch};
    struct weir_array *a;
    char *place;

    RT_TRY(weir_array_get(src, &a));
    RT_TRY(check_pitch(pitch, width, height));
    RT_TRY(weir_array_place(a, x, y, 0, width, height, 1, &place));
    c.src = place;
    c.src_pitch = a->pitch;
    return weir_array_copy_rows(&c, (unsigned)kind, stream, async);
}

enum weir_err weir_rt_Memcpy2DToArray(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                      const void *src, size_t spitch, size_t width, size_t height,
                                      enum cudaMemcpyKind kind)
{
    return to_array(dst, wOffset, hOffset, src, spitch, width, height, kind, NULL, false);
}

enum weir_err weir_rt_Memcpy2DToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                           const void *src, size_t spitch, size_t width,
                                           size_t height, enum cudaMemcpyKind kind,
                                           cudaStream_t stream)
{
    return to_array(dst, wOffset, hOffset, src, spitch, width, height, kind, stream, true);
}

enum weir_err weir_rt_Memcpy2DFromArray(void *dst, size_t dpitch, cudaArray_const_t src,
                                        size_t wOffset, size_t hOffset, size_t width, size_t height,
                                        enum cudaMemcpyKind kind)
{
    return from_array(dst, dpitch, src, wOffset, hOffset, width, height, kind, NULL, false);
}

enum weir_err weir_rt_Memcpy2DFromArrayAsync(void *dst, size_t dpitch, cudaArray_const_t src,
                                             size_t wOffset, size_t hOffset, size_t width,
                                             size_t height, enum cudaMemcpyKind kind,
                                             cudaStream_t stream)
{
    return from_array(dst, dpitch, src, wOffset, hOffset, width, height, kind, stream, true);
}

enum weir_err weir_rt_Memcpy2DArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
                                           cudaArray_const_t src, size_t wOffsetSrc,
                                           size_t hOffsetSrc, size_t width, size_t height,
                                           enum cudaMemcpyKind kind)
{
    struct weir_array *from;
    char *place;

    RT_TRY(weir_array_get(src, &from));
    RT_TRY(weir_array_place(from, wOffsetSrc, hOffsetSrc, 0, width, height, 1, &place));
    return to_array(dst, wOffsetDst, hOffsetDst, place, from->pitch, width, height, kind, NULL,
                    false);
}

/* ---- bytes in a row, which go on in the next row of the array ---- */

static enum weir_err linear_copy(cudaArray_const_t array, size_t x, size_t y, void *linear,
                                 size_t count, bool to, enum cudaMemcpyKind kind,
                                 cudaStream_t stream, bool async)
{
    const struct weir_array_spot spot = {array, x, y};

    return weir_array_copy_bytes(&spot, linear, count, to, (unsigned)kind, stream, async);
}

enum weir_err weir_rt_MemcpyToArray(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                    const void *src, size_t count, enum cudaMemcpyKind kind)
{
    return linear_copy(dst, wOffset, hOffset, (void *)(uintptr_t)src, count, true, kind, NULL,
                       false);
}

enum weir_err weir_rt_MemcpyToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                         const void *src, size_t count, enum cudaMemcpyKind kind,
                                         cudaStream_t stream)
{
    return linear_copy(dst, wOffset, hOffset, (void *)(uintptr_t)src, count, true, kind, stream,
                       true);
}

enum weir_err weir_rt_MemcpyFromArray(void *dst, cudaArray_const_t src, size_t wOffset,
                                      size_t hOffset, size_t count, enum cudaMemcpyKind kind)
{
    return linear_copy(src, wOffset, hOffset, dst, count, false, kind, NULL, false);
}

enum weir_err weir_rt_MemcpyFromArrayAsync(void *dst, cudaArray_const_t src, size_t wOffset,
                                           size_t hOffset, size_t count, enum cudaMemcpyKind kind,
                                           cudaStream_t stream)
{
    return linear_copy(src, wOffset, hOffset, dst, count, false, kind, stream, true);
}

enum weir_err weir_rt_MemcpyArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
                                         cudaArray_const_t src, size_t wOffsetSrc,
                                         size_t hOffsetSrc, size_t count, enum cudaMemcpyKind kind)
{
    const struct weir_array_spot to = {dst, wOffsetDst, hOffsetDst};
    const struct weir_array_spot from = {src, wOffsetSrc, hOffsetSrc};

    return weir_array_copy_between(&to, &from, count, (unsigned)kind);
}
