/* Memory management: allocation. Copies: memcpy.c; what a pointer is: pointer.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "memory/memory.h"

#include "core/external.h"
#include "core/graph.h"
#include "core/managed.h"
#include "core/pages.h"
#include "core/pool.h"
#include "driver/drv.h"

/* As cudaHostGetFlags: mapping is always on, portability too (oracle host_memory.hostAlloc_*). */
#define HOST_FLAGS_PLAIN (CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP)
#define HOST_FLAGS_WC    (CU_MEMHOSTALLOC_WRITECOMBINED | CU_MEMHOSTALLOC_DEVICEMAP)

/* Unlike the runtime the driver API refuses to allocate nothing. */
static enum weir_err alloc(enum weir_mem_kind kind, void **out, size_t bytes, uint32_t flags)
{
    struct weir_context *ctx = weir_drv_current();

    if (bytes == 0)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "an allocation of 0 bytes");
    return weir_mem_alloc(kind, ctx->ordinal, bytes, flags, weir_context_owner(ctx), out);
}

static enum weir_err alloc_device(enum weir_mem_kind kind, CUdeviceptr *out, size_t bytes,
                                  uint32_t flags)
{
    void *p;

    DRV_TRY(alloc(kind, &p, bytes, flags));
    *out = (uintptr_t)p;
    return WEIR_OK;
}

/* ---- device memory ---- */

enum weir_err weir_drv_MemGetInfo(size_t *free, size_t *total)
{
    struct weir_mem_stats stats;

    weir_mem_stats(weir_drv_current()->ordinal, &stats);
    if (free)
        *free = stats.device_capacity - WEIR_MIN(stats.device_used, stats.device_capacity);
    if (total)
        *total = stats.device_capacity;
    return WEIR_OK;
}

enum weir_err weir_drv_MemAlloc(CUdeviceptr *dptr, size_t bytesize)
{
    DRV_REQUIRE(dptr);
    return alloc_device(WEIR_MEM_KIND_DEVICE, dptr, bytesize, 0);
}

enum weir_err weir_drv_MemAllocPitch(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes,
                                     size_t Height, unsigned int ElementSizeBytes)
{
    size_t row, bytes;

    DRV_REQUIRE(dptr);
    DRV_REQUIRE(pPitch);
    if (ElementSizeBytes != 4 && ElementSizeBytes != 8 && ElementSizeBytes != 16)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "elements of %u bytes", ElementSizeBytes);
    row = weir_mem_pitch(WidthInBytes);
    if (row < WidthInBytes || WEIR_MUL_OVERFLOWS(row, Height, &bytes))
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "%zu x %zu bytes", WidthInBytes, Height);
    DRV_TRY(alloc_device(WEIR_MEM_KIND_DEVICE, dptr, bytes, 0));
    *pPitch = row;
    return WEIR_OK;
}

enum weir_err weir_drv_MemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags)
{
    DRV_REQUIRE(dptr);
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", flags);
    DRV_TRY(alloc_device(WEIR_MEM_KIND_MANAGED, dptr, bytesize, flags));
    weir_managed_attach(weir_drv_pointer(*dptr), flags, NULL);
    weir_pages_watch(weir_drv_pointer(*dptr));
    return WEIR_OK;
}

enum weir_err weir_drv_MemFree(CUdeviceptr dptr)
{
    void *p = weir_drv_pointer(dptr);
    struct weir_mem_info info;
    int device;

    if (!dptr)
        return WEIR_OK;
    if (weir_graph_mem_is(p)) {
        if (weir_mem_find(p, &info))
            DRV_TRY(weir_context_wait_before(WEIR_CALL_FREE, info.device));
        return weir_graph_mem_free(p, NULL);
    }
    if (weir_external_is(p, &device)) {
        DRV_TRY(weir_context_wait_before(WEIR_CALL_FREE, device));
        weir_external_free(p);
        return WEIR_OK;
    }
    if (!weir_mem_find(p, &info) || info.base != dptr || !weir_context_is_owner(info.owner) ||
        (info.kind != WEIR_MEM_KIND_DEVICE && info.kind != WEIR_MEM_KIND_MANAGED) ||
        weir_pool_is_freed(info.base))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%p is not the beginning of device memory", p);
    if (info.block) /* a pool's: at once, as in the runtime */
        return weir_pool_free_now(&info);
    DRV_TRY(weir_context_wait_before(WEIR_CALL_FREE, info.device));
    if (info.kind == WEIR_MEM_KIND_MANAGED)
        weir_managed_forget(info.id);
    return weir_mem_free(info.kind, p);
}

enum weir_err weir_drv_MemGetAddressRange(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr)
{
    struct weir_mem_info info;

    if (!weir_mem_find(weir_drv_pointer(dptr), &info) || info.kind == WEIR_MEM_KIND_INTERNAL)
        return WEIR_FAIL(WEIR_ERR_SYMBOL_NOT_FOUND, "%#llx is no memory of CUDA's", dptr);
    if (pbase)
        *pbase = info.base;
    if (psize)
        *psize = info.bytes;
    return WEIR_OK;
}

/* ---- host memory ---- */

enum weir_err weir_drv_MemHostAlloc(void **pp, size_t bytesize, unsigned int Flags)
{
    DRV_REQUIRE(pp);
    if (Flags & ~(unsigned)(CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP |
                            CU_MEMHOSTALLOC_WRITECOMBINED))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", Flags);
    return alloc(WEIR_MEM_KIND_PINNED, pp, bytesize,
                 Flags & CU_MEMHOSTALLOC_WRITECOMBINED ? HOST_FLAGS_WC : HOST_FLAGS_PLAIN);
}

enum weir_err weir_drv_MemAllocHost(void **pp, size_t bytesize)
{
    return weir_drv_MemHostAlloc(pp, bytesize, 0);
}

enum weir_err weir_drv_MemFreeHost(void *p)
{
    struct weir_mem_info info;

    if (!p || !weir_mem_find(p, &info) || info.base != (uintptr_t)p ||
        info.kind != WEIR_MEM_KIND_PINNED)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%p is not the beginning of pinned memory", p);
    DRV_TRY(weir_context_wait_before(WEIR_CALL_FREE_HOST, info.device));
    return weir_mem_free(WEIR_MEM_KIND_PINNED, p);
}

enum weir_err weir_drv_MemHostRegister(void *p, size_t bytesize, unsigned int Flags)
{
    const unsigned known =
        CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY;
    struct weir_mem_info info;

    if (!p || !bytesize)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%zu bytes at %p", bytesize, p);
    if (Flags & ~known) /* memory of I/O devices, too: there is none to map */
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", Flags);
    if (weir_mem_find(p, &info) && info.kind != WEIR_MEM_KIND_REGISTERED)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%p is memory that CUDA allocated", p);
    return weir_mem_register(p, bytesize, weir_drv_current()->ordinal,
                             Flags | CU_MEMHOSTREGISTER_DEVICEMAP);
}

enum weir_err weir_drv_MemHostUnregister(void *p)
{
    struct weir_mem_info info;

    DRV_REQUIRE(p);
    if (weir_mem_find(p, &info)) {
        if (info.kind != WEIR_MEM_KIND_REGISTERED || info.base != (uintptr_t)p)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE,
                             "%p is not the beginning of a registered range", p);
        DRV_TRY(weir_context_wait_before(WEIR_CALL_HOST_UNREGISTER, info.device));
    }
    return weir_mem_unregister(p);
}

static enum weir_err find_host(const void *p, struct weir_mem_info *info)
{
    if (!p || !weir_mem_find(p, info) ||
        (info->kind != WEIR_MEM_KIND_PINNED && info->kind != WEIR_MEM_KIND_REGISTERED))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%p is not pinned memory", p);
    return WEIR_OK;
}

enum weir_err weir_drv_MemHostGetDevicePointer(CUdeviceptr *pdptr, void *p, unsigned int Flags)
{
    struct weir_mem_info info;

    DRV_REQUIRE(pdptr);
    if (Flags)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", Flags);
    DRV_TRY(find_host(p, &info));
    *pdptr = (uintptr_t)p;
    return WEIR_OK;
}

enum weir_err weir_drv_MemHostGetFlags(unsigned int *pFlags, void *p)
{
    struct weir_mem_info info;

    DRV_REQUIRE(pFlags);
    DRV_TRY(find_host(p, &info));
    *pFlags = info.flags;
    return WEIR_OK;
}
