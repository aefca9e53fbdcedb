/* External resource interoperability: memory by file descriptor. The runtime's twin.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/external.h"

#include "base/log.h"
#include "driver/drv.h"

enum weir_err weir_drv_ImportExternalMemory(CUexternalMemory *extMem_out,
                                            const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *memHandleDesc)
{
    void *handle;

    DRV_REQUIRE(extMem_out);
    DRV_REQUIRE(memHandleDesc);
    if (memHandleDesc->flags & ~(unsigned)CUDA_EXTERNAL_MEMORY_DEDICATED)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", memHandleDesc->flags);
    if (memHandleDesc->type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD) {
        weir_log_unsupported("external memory but by file descriptor", "cuImportExternalMemory");
        return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "external memory of type %d",
                         (int)memHandleDesc->type);
    }
    DRV_TRY(weir_external_import(weir_drv_current(), memHandleDesc->handle.fd, memHandleDesc->size,
                                 &handle));
    *extMem_out = handle;
    return WEIR_OK;
}

enum weir_err
weir_drv_ExternalMemoryGetMappedBuffer(CUdeviceptr *devPtr, CUexternalMemory extMem,
                                       const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *bufferDesc)
{
    void *at;

    DRV_REQUIRE(devPtr);
    DRV_REQUIRE(bufferDesc);
    if (bufferDesc->flags)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", bufferDesc->flags);
    DRV_TRY(weir_external_buffer(extMem, bufferDesc->offset, bufferDesc->size, &at));
    *devPtr = (uintptr_t)at;
    return WEIR_OK;
}

enum weir_err weir_drv_DestroyExternalMemory(CUexternalMemory extMem)
{
    return weir_external_destroy(extMem);
}
