/* External resource interoperability: memory by file descriptor. Semaphores are those of graphics
 * interfaces, of which there are none.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/external.h"

#include "base/log.h"
#include "runtime/rt.h"

enum weir_err weir_rt_ImportExternalMemory(cudaExternalMemory_t *extMem_out,
                                           const struct cudaExternalMemoryHandleDesc *memHandleDesc)
{
    struct weir_context *ctx;
    void *handle;

    RT_REQUIRE(extMem_out);
    RT_REQUIRE(memHandleDesc);
    if (memHandleDesc->flags & ~(unsigned)cudaExternalMemoryDedicated)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", memHandleDesc->flags);
    if (memHandleDesc->type != cudaExternalMemoryHandleTypeOpaqueFd) {
        weir_log_unsupported("external memory but by file descriptor", "cudaImportExternalMemory");
        return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "external memory of type %d",
                         (int)memHandleDesc->type);
    }
    RT_TRY(weir_context_current(&ctx));
    RT_TRY(weir_external_import(ctx, memHandleDesc->handle.fd, memHandleDesc->size, &handle));
    *extMem_out = handle;
    return WEIR_OK;
}

enum weir_err
weir_rt_ExternalMemoryGetMappedBuffer(void **devPtr, cudaExternalMemory_t extMem,
                                      const struct cudaExternalMemoryBufferDesc *bufferDesc)
{
    RT_REQUIRE(devPtr);
    RT_REQUIRE(bufferDesc);
    if (bufferDesc->flags)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", bufferDesc->flags);
    return weir_external_buffer(extMem, bufferDesc->offset, bufferDesc->size, devPtr);
}

enum weir_err weir_rt_DestroyExternalMemory(cudaExternalMemory_t extMem)
{
    return weir_external_destroy(extMem);
}
