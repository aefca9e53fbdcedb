/* Memory management: allocation. Copies: memcpy.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "memory/memory.h"

#include "core/external.h"
#include "core/managed.h"
#include "core/module.h"
#include "core/graph.h"
#include "core/pages.h"
#include "core/pool.h"
#include "runtime/rt.h"

/* What cudaHostGetFlags says: mapping is always on, portability too (oracle
 * host_memory.hostAlloc_*). */
#define HOST_FLAGS_PLAIN        (cudaHostAllocPortable | cudaHostAllocMapped)
#define HOST_FLAGS_OTHER(flags) (cudaHostAllocMapped | ((flags)&cudaHostAllocPortable))
#define HOST_FLAGS_WC           (cudaHostAllocWriteCombined | cudaHostAllocMapped)

static struct weir_context *current(void)
{
    return &weir_core.contexts[weir_thread.context];
}

static enum weir_err alloc(enum weir_mem_kind kind, void **out, size_t bytes, uint32_t flags)
{
    *out = NULL;
    if (bytes == 0)
        return WEIR_OK;
    return weir_mem_alloc(kind, current()->ordinal, bytes, flags, weir_context_owner(current()),
                          out);
}

/* ---- device memory ---- */

enum weir_err weir_rt_Malloc(void **devPtr, size_t size)
{
    RT_REQUIRE(devPtr);
    return alloc(WEIR_MEM_KIND_DEVICE, devPtr, size, 0);
}

enum weir_err weir_rt_Free(void *devPtr)
{
    struct weir_mem_info info;
    int device;

    if (!devPtr)
        return WEIR_OK;
    if (weir_external_is(devPtr, &device)) {
        RT_TRY(weir_context_wait_before(WEIR_CALL_FREE, device));
        weir_external_free(devPtr);
        return WEIR_OK;
    }
    if (weir_graph_mem_is(devPtr)) {
        if (weir_mem_find(devPtr, &info))
            RT_TRY(weir_context_wait_before(WEIR_CALL_FREE, info.device));
        return weir_graph_mem_free(devPtr, NULL);
    }
    if (!weir_mem_find(devPtr, &info) || info.base != (uintptr_t)devPtr ||
        !weir_context_is_owner(info.owner) ||
        (info.kind != WEIR_MEM_KIND_DEVICE && info.kind != WEIR_MEM_KIND_MANAGED) ||
        weir_pool_is_freed(info.base))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%p is not the beginning of device memory",
                         devPtr);
    if (info.block) /* a pool's: at once (oracle blocks_vs_*.cudaFree_of_async_memory) */
        return weir_pool_free_now(&info);
    RT_TRY(weir_context_wait_before(WEIR_CALL_FREE, info.device));
    if (info.kind == WEIR_MEM_KIND_MANAGED)
        weir_managed_forget(info.id);
    return weir_mem_free(info.kind, devPtr);
}

enum weir_err weir_rt_MallocPitch(void **devPtr, size_t *pitch, size_t width, size_t height)
{
    size_t row, bytes;

    RT_REQUIRE(devPtr);
    RT_REQUIRE(pitch);
    row = weir_mem_pitch(width);
    if (row < width || WEIR_MUL_OVERFLOWS(row, height, &bytes))
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "%zu x %zu bytes", width, height);
    *pitch = row;
    return alloc(WEIR_MEM_KIND_DEVICE, devPtr, bytes, 0);
}

enum weir_err weir_rt_Malloc3D(struct cudaPitchedPtr *pitchedDevPtr, struct cudaExtent extent)
{
    size_t rows;

    RT_REQUIRE(pitchedDevPtr);
    if (WEIR_MUL_OVERFLOWS(extent.height, extent.depth, &rows))
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "%zu x %zu rows", extent.height, extent.depth);
    pitchedDevPtr->xsize = extent.width;
    pitchedDevPtr->ysize = extent.height;
    return weir_rt_MallocPitch(&pitchedDevPtr->ptr, &pitchedDevPtr->pitch, extent.width, rows);
}

enum weir_err weir_rt_MallocManaged(void **devPtr, size_t size, unsigned int flags)
{
    RT_REQUIRE(devPtr);
    if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", flags);
    RT_TRY(alloc(WEIR_MEM_KIND_MANAGED, devPtr, size, flags));
    weir_managed_attach(*devPtr, flags, NULL);
    weir_pages_watch(*devPtr);
    return WEIR_OK;
}

enum weir_err weir_rt_MemGetInfo(size_t *free, size_t *total)
{
    struct weir_mem_stats stats;

    weir_mem_stats(current()->ordinal, &stats);
    if (free)
        *free = stats.device_capacity - WEIR_MIN(stats.device_used, stats.device_capacity);
    if (total)
        *total = stats.device_capacity;
    return WEIR_OK;
}

/* ---- host memory ---- */

enum weir_err weir_rt_HostAlloc(void **pHost, size_t size, unsigned int flags)
{
    RT_REQUIRE(pHost);
    if (flags &
        ~(unsigned)(cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", flags);
    if (flags & cudaHostAllocWriteCombined)
        flags = HOST_FLAGS_WC;
    else if (current()->ordinal == 0) /* as measured (oracle multi_pointers.current*.pinned_*) */
        flags = HOST_FLAGS_PLAIN;
    else
        flags = HOST_FLAGS_OTHER(flags);
    return alloc(WEIR_MEM_KIND_PINNED, pHost, size, flags);
}

enum weir_err weir_rt_MallocHost(void **ptr, size_t size)
{
    return weir_rt_HostAlloc(ptr, size, cudaHostAllocDefault);
}

enum weir_err weir_rt_FreeHost(void *ptr)
{
    struct weir_mem_info info;

    if (!ptr)
        return WEIR_OK;
    if (!weir_mem_find(ptr, &info) || info.base != (uintptr_t)ptr ||
        info.kind != WEIR_MEM_KIND_PINNED)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%p is not the beginning of pinned memory", ptr);
    RT_TRY(weir_context_wait_before(WEIR_CALL_FREE_HOST, info.device));
    return weir_mem_free(WEIR_MEM_KIND_PINNED, ptr);
}

enum weir_err weir_rt_HostRegister(void *ptr, size_t size, unsigned int flags)
{
    const unsigned known =
        cudaHostRegisterPortable | cudaHostRegisterMapped | cudaHostRegisterReadOnly;
    struct weir_mem_info info;

    if (!ptr || !size)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%zu bytes at %p", size, ptr);
    if (flags &
        ~known) /* memory of I/O devices, too: there is none to map (oracle register_iomemory) */
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", flags);
    if (weir_mem_find(ptr, &info) && info.kind != WEIR_MEM_KIND_REGISTERED)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%p is memory that CUDA allocated", ptr);
    return weir_mem_register(ptr, size, current()->ordinal, flags | cudaHostRegisterMapped);
}

enum weir_err weir_rt_HostUnregister(void *ptr)
{
    struct weir_mem_info info;

    RT_REQUIRE(ptr);
    if (weir_mem_find(ptr, &info)) {
        if (info.kind != WEIR_MEM_KIND_REGISTERED || info.base != (uintptr_t)ptr)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE,
                             "%p is not the beginning of a registered range", ptr);
        RT_TRY(weir_context_wait_before(WEIR_CALL_HOST_UNREGISTER, info.device));
    }
    return weir_mem_unregister(ptr);
}

static enum weir_err find_host(const void *ptr, struct weir_mem_info *info)
{
    if (!ptr || !weir_mem_find(ptr, info) ||
        (info->kind != WEIR_MEM_KIND_PINNED && info->kind != WEIR_MEM_KIND_REGISTERED))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%p is not pinned memory", ptr);
    return WEIR_OK;
}

enum weir_err weir_rt_HostGetDevicePointer(void **pDevice, void *pHost, unsigned int flags)
{
    struct weir_mem_info info;

    RT_REQUIRE(pDevice);
    if (flags)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", flags);
    RT_TRY(find_host(pHost, &info));
    *pDevice = pHost;
    return WEIR_OK;
}

enum weir_err weir_rt_HostGetFlags(unsigned int *pFlags, void *pHost)
{
    struct weir_mem_info info;

    RT_REQUIRE(pFlags);
    RT_TRY(find_host(pHost, &info));
    *pFlags = info.flags;
    return WEIR_OK;
}

/* ---- symbols ---- */

static enum weir_err symbol(const void *host, void **address, size_t *bytes)
{
    struct weir_context *ctx;

    RT_TRY(weir_context_current(&ctx));
    return weir_symbol_address(host, ctx, address, bytes);
}

enum weir_err weir_rt_GetSymbolAddress(void **devPtr, const void *symbol_)
{
    size_t bytes;

    RT_REQUIRE(devPtr);
    return symbol(symbol_, devPtr, &bytes);
}

enum weir_err weir_rt_GetSymbolSize(size_t *size, const void *symbol_)
{
    void *address;

    RT_REQUIRE(size);
    return symbol(symbol_, &address, size);
}

/* ---- unified addressing ---- */

#define NO_DEVICE (-2) /* what a pageable address gets (oracle pointer_attributes) */

enum weir_err weir_rt_PointerGetAttributes(struct cudaPointerAttributes *attributes,
                                           const void *ptr)
{
    struct weir_mem_info info;
    void *p = (void *)(uintptr_t)ptr;

    RT_REQUIRE(attributes);
    *attributes = (struct cudaPointerAttributes){.type = cudaMemoryTypeUnregistered,
                                                 .device = NO_DEVICE,
                                                 .devicePointer = NULL,
                                                 .hostPointer = p};
    if (!weir_mem_find(ptr, &info) || info.kind == WEIR_MEM_KIND_INTERNAL)
        return WEIR_OK;
    attributes->device = info.device;
    attributes->devicePointer = p;
    switch (info.kind) {
    case WEIR_MEM_KIND_DEVICE:
        /* Another device's memory has an address here only with peer access. */
        if (info.device != current()->ordinal &&
            !((info.block ? info.access >> current()->ordinal
                          : atomic_load(&current()->peers) >> info.device) &
              1))
            attributes->devicePointer = NULL;
        attributes->type = cudaMemoryTypeDevice;
        attributes->hostPointer = NULL;
        break;
    case WEIR_MEM_KIND_MANAGED:
        attributes->type = cudaMemoryTypeManaged;
        break;
    default:
        attributes->type = cudaMemoryTypeHost;
        break;
    }
    return WEIR_OK;
}
