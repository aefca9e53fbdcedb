/* Memory management: arrays, and copies of bytes to and from them. Boxes are memcpy.c's.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"
#include "core/mipmap.h"
#include "driver/format.h"

/* ---- descriptions ---- */

static enum weir_err read_config(const CUDA_ARRAY3D_DESCRIPTOR *d, struct weir_array_config *out)
{
    *out = (struct weir_array_config){
        .width = d->Width, .height = d->Height, .depth = d->Depth, .flags = d->Flags};
    if (d->Format > CU_AD_FORMAT_FLOAT && d->Format <= CU_AD_FORMAT_SNORM_INT16X4) {
        weir_log_unsupported("arrays of normalised, compressed and video formats", "cuArrayCreate");
        return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "array of format %#x", (unsigned)d->Format);
    }
    return weir_drv_format_read(d->Format, d->NumChannels, out->bits, &out->format);
}

enum weir_err weir_drv_Array3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR *pArrayDescriptor,
                                            CUarray hArray)
{
    struct weir_array *a;

    DRV_REQUIRE(pArrayDescriptor);
    DRV_TRY(weir_array_get(hArray, &a));
    *pArrayDescriptor = (CUDA_ARRAY3D_DESCRIPTOR){.Width = a->config.width,
                                                  .Height = a->config.height,
                                                  .Depth = a->config.depth,
                                                  .Flags = a->config.flags};
    pArrayDescriptor->Format =
        weir_drv_format_of(a->config.bits, a->config.format, &pArrayDescriptor->NumChannels);
    return WEIR_OK;
}

enum weir_err weir_drv_ArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR *pArrayDescriptor, CUarray hArray)
{
    CUDA_ARRAY3D_DESCRIPTOR d;

    DRV_REQUIRE(pArrayDescriptor);
    DRV_TRY(weir_drv_Array3DGetDescriptor(&d, hArray));
    *pArrayDescriptor = (CUDA_ARRAY_DESCRIPTOR){d.Width, d.Height, d.Format, d.NumChannels};
    return WEIR_OK;
}

/* ---- made and destroyed ---- */

enum weir_err weir_drv_Array3DCreate(CUarray *pHandle,
                                     const CUDA_ARRAY3D_DESCRIPTOR *pAllocateArray)
{
    struct weir_array_config config;
    struct weir_array *a;

    DRV_REQUIRE(pHandle);
    DRV_REQUIRE(pAllocateArray);
    DRV_TRY(read_config(pAllocateArray, &config));
    DRV_TRY(weir_array_create(weir_drv_current(), &config, &a));
    *pHandle = (CUarray)a;
    return WEIR_OK;
}

enum weir_err weir_drv_ArrayCreate(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR *pAllocateArray)
{
    DRV_REQUIRE(pAllocateArray);
    return weir_drv_Array3DCreate(
        pHandle, &(CUDA_ARRAY3D_DESCRIPTOR){.Width = pAllocateArray->Width,
                                            .Height = pAllocateArray->Height,
                                            .Format = pAllocateArray->Format,
                                            .NumChannels = pAllocateArray->NumChannels});
}

enum weir_err weir_drv_ArrayDestroy(CUarray hArray)
{
    return weir_array_free(hArray);
}

enum weir_err weir_drv_MipmappedArrayCreate(CUmipmappedArray *pHandle,
                                            const CUDA_ARRAY3D_DESCRIPTOR *pMipmappedArrayDesc,
                                            unsigned int numMipmapLevels)
{
    struct weir_array_config config;
    struct weir_mipmap *m;

    DRV_REQUIRE(pHandle);
    DRV_REQUIRE(pMipmappedArrayDesc);
    DRV_TRY(read_config(pMipmappedArrayDesc, &config));
    DRV_TRY(weir_mipmap_create(weir_drv_current(), &config, numMipmapLevels, &m));
    *pHandle = (CUmipmappedArray)m;
    return WEIR_OK;
}

enum weir_err weir_drv_MipmappedArrayGetLevel(CUarray *pLevelArray,
                                              CUmipmappedArray hMipmappedArray, unsigned int level)
{
    struct weir_array *a;

    DRV_REQUIRE(pLevelArray);
    DRV_TRY(weir_mipmap_level(hMipmappedArray, level, &a));
    *pLevelArray = (CUarray)a;
    return WEIR_OK;
}

enum weir_err weir_drv_MipmappedArrayDestroy(CUmipmappedArray hMipmappedArray)
{
    return weir_mipmap_free(hMipmappedArray);
}

/* ---- copies ---- */

static enum weir_err to_array(CUarray array, size_t offset, const void *from, size_t bytes,
                              enum weir_copy_kind kind, CUstream stream, bool async)
{
    const struct weir_array_spot spot = {.array = array, .x = offset};

    return weir_array_copy_bytes(&spot, (void *)(uintptr_t)from, bytes, true, kind, stream, async);
}

static enum weir_err from_array(void *to, CUarray array, size_t offset, size_t bytes,
                                enum weir_copy_kind kind, CUstream stream, bool async)
{
    const struct weir_array_spot spot = {.array = array, .x = offset};

    return weir_array_copy_bytes(&spot, to, bytes, false, kind, stream, async);
}

enum weir_err weir_drv_MemcpyAtoA(CUarray dstArray, size_t dstOffset, CUarray srcArray,
                                  size_t srcOffset, size_t ByteCount)
{
    const struct weir_array_spot to = {.array = dstArray, .x = dstOffset};
    const struct weir_array_spot from = {.array = srcArray, .x = srcOffset};

    return weir_array_copy_between(&to, &from, ByteCount, WEIR_COPY_D2D);
}

enum weir_err weir_drv_MemcpyAtoD(CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset,
                                  size_t ByteCount)
{
    return from_array(weir_drv_pointer(dstDevice), srcArray, srcOffset, ByteCount, WEIR_COPY_D2D,
                      NULL, false);
}

enum weir_err weir_drv_MemcpyAtoH(void *dstHost, CUarray srcArray, size_t srcOffset,
                                  size_t ByteCount)
{
    return from_array(dstHost, srcArray, srcOffset, ByteCount, WEIR_COPY_D2H, NULL, false);
}

enum weir_err weir_drv_MemcpyAtoHAsync(void *dstHost, CUarray srcArray, size_t srcOffset,
                                       size_t ByteCount, CUstream hStream)
{
    return from_array(dstHost, srcArray, srcOffset, ByteCount, WEIR_COPY_D2H, hStream, true);
}

enum weir_err weir_drv_MemcpyDtoA(CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice,
                                  size_t ByteCount)
{
    return to_array(dstArray, dstOffset, weir_drv_pointer(srcDevice), ByteCount, WEIR_COPY_D2D,
                    NULL, false);
}

enum weir_err weir_drv_MemcpyHtoA(CUarray dstArray, size_t dstOffset, const void *srcHost,
                                  size_t ByteCount)
{
    return to_array(dstArray, dstOffset, srcHost, ByteCount, WEIR_COPY_H2D, NULL, false);
}

enum weir_err weir_drv_MemcpyHtoAAsync(CUarray dstArray, size_t dstOffset, const void *srcHost,
                                       size_t ByteCount, CUstream hStream)
{
    return to_array(dstArray, dstOffset, srcHost, ByteCount, WEIR_COPY_H2D, hStream, true);
}
