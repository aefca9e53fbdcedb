/* Stream ordered memory allocator. The allocator itself: core/pool.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pool.h"

#include <string.h>

#include "base/log.h"
#include "core/capture.h"
#include "driver/drv.h"

static enum weir_err get(CUmemoryPool handle, struct weir_pool **p)
{
    return weir_pool_get(handle, p);
}

/* ---- allocations ---- */

static enum weir_err allocate(struct weir_pool *p, struct weir_stream *s, size_t bytes,
                              CUdeviceptr *out)
{
    void *address;

    if (bytes == 0)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "an allocation of 0 bytes");
    DRV_TRY(weir_capture_alloc(p, s, bytes, "cuMemAllocAsync", &address));
    *out = (uintptr_t)address;
    return WEIR_OK;
}

enum weir_err weir_drv_MemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
    struct weir_stream *s;
    struct weir_pool *p;

    DRV_REQUIRE(dptr);
    DRV_TRY(weir_stream_get(hStream, &s));
    DRV_TRY(weir_pool_current(s->ctx->ordinal, &p));
    return allocate(p, s, bytesize, dptr);
}

enum weir_err weir_drv_MemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
                                             CUstream hStream)
{
    struct weir_stream *s;
    struct weir_pool *p;

    DRV_REQUIRE(dptr);
    DRV_TRY(get(pool, &p));
    DRV_TRY(weir_stream_get(hStream, &s));
    return allocate(p, s, bytesize, dptr);
}

enum weir_err weir_drv_MemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
    struct weir_stream *s;

    DRV_TRY(weir_stream_get(hStream, &s));
    return dptr ? weir_capture_free(s, weir_drv_pointer(dptr), "cuMemFreeAsync") : WEIR_OK;
}

/* ---- pools ---- */

/* Devices have pools, other places not yet. */
static enum weir_err location_device(const CUmemLocation *location, CUmemAllocationType type,
                                     int *device)
{
    DRV_REQUIRE(location);
    if (location->type == CU_MEM_LOCATION_TYPE_INVALID || type == CU_MEM_ALLOCATION_TYPE_INVALID ||
        (unsigned)location->type > CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "location type %d, allocation type %d",
                         (int)location->type, (int)type);
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE || type != CU_MEM_ALLOCATION_TYPE_PINNED) {
        weir_log_unsupported("pools of host and managed memory", "cuMemPool");
        return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "pool of location type %d, allocation type %d",
                         (int)location->type, (int)type);
    }
    *device = location->id;
    return WEIR_OK;
}

enum weir_err weir_drv_MemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *poolProps)
{
    struct weir_pool_config config = {0};
    struct weir_pool *p;

    DRV_REQUIRE(pool);
    DRV_REQUIRE(poolProps);
    DRV_TRY(location_device(&poolProps->location, poolProps->allocType, &config.device));
    config.max_bytes = poolProps->maxSize;
    config.handles = (uint32_t)poolProps->handleTypes;
    DRV_TRY(weir_pool_create(&config, &p));
    *pool = (CUmemoryPool)p;
    return WEIR_OK;
}

enum weir_err weir_drv_MemPoolDestroy(CUmemoryPool pool)
{
    struct weir_pool *p;

    DRV_TRY(get(pool, &p));
    return weir_pool_destroy(p);
}

enum weir_err weir_drv_DeviceGetDefaultMemPool(CUmemoryPool *pool_out, CUdevice dev)
{
    struct weir_pool *p;

    DRV_REQUIRE(pool_out);
    DRV_TRY(weir_drv_check_device(dev));
    DRV_TRY(weir_pool_default(dev, &p));
    *pool_out = (CUmemoryPool)p;
    return WEIR_OK;
}

enum weir_err weir_drv_DeviceGetMemPool(CUmemoryPool *pool, CUdevice dev)
{
    struct weir_pool *p;

    DRV_REQUIRE(pool);
    DRV_TRY(weir_drv_check_device(dev));
    DRV_TRY(weir_pool_current(dev, &p));
    *pool = (CUmemoryPool)p;
    return WEIR_OK;
}

enum weir_err weir_drv_DeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
    struct weir_pool *p;

    DRV_TRY(weir_drv_check_device(dev));
    DRV_TRY(get(pool, &p));
    return weir_pool_set_current(dev, p);
}

enum weir_err weir_drv_MemGetDefaultMemPool(CUmemoryPool *pool_out, CUmemLocation *location,
                                            CUmemAllocationType type)
{
    int device;

    DRV_TRY(location_device(location, type, &device));
    return weir_drv_DeviceGetDefaultMemPool(pool_out, device);
}

enum weir_err weir_drv_MemGetMemPool(CUmemoryPool *pool, CUmemLocation *location,
                                     CUmemAllocationType type)
{
    int device;

    DRV_TRY(location_device(location, type, &device));
    return weir_drv_DeviceGetMemPool(pool, device);
}

enum weir_err weir_drv_MemSetMemPool(CUmemLocation *location, CUmemAllocationType type,
                                     CUmemoryPool pool)
{
    int device;

    DRV_TRY(location_device(location, type, &device));
    return weir_drv_DeviceSetMemPool(device, pool);
}

/* ---- attributes ---- */

/* The reuse policies are ints, all others 64-bit numbers. */
static bool is_int(CUmemPool_attribute attr)
{
    return attr == CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES ||
           attr == CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC ||
           attr == CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
}

enum weir_err weir_drv_MemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
    struct weir_pool *p;
    uint64_t v;
    int narrow;

    DRV_REQUIRE(value);
    DRV_TRY(get(pool, &p));
    DRV_TRY(weir_pool_attribute(p, (enum weir_pool_attribute)attr, &v));
    narrow = (int)v;
    if (is_int(attr))
        memcpy(value, &narrow, sizeof narrow);
    else
        memcpy(value, &v, sizeof v);
    return WEIR_OK;
}

enum weir_err weir_drv_MemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
    struct weir_pool *p;
    uint64_t v = 0;
    int narrow;

    DRV_REQUIRE(value);
    DRV_TRY(get(pool, &p));
    if (is_int(attr)) {
        memcpy(&narrow, value, sizeof narrow);
        v = narrow != 0;
    } else {
        memcpy(&v, value, sizeof v);
    }
    return weir_pool_set_attribute(p, (enum weir_pool_attribute)attr, v);
}

enum weir_err weir_drv_MemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep)
{
    struct weir_pool *p;

    DRV_TRY(get(pool, &p));
    weir_pool_trim(p, minBytesToKeep);
    return WEIR_OK;
}

enum weir_err weir_drv_MemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count)
{
    struct weir_pool *p;

    DRV_TRY(get(pool, &p));
    if (count)
        DRV_REQUIRE(map);
    for (size_t i = 0; i < count; i++) {
        if (map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "pool access from a location of type %d",
                             (int)map[i].location.type);
        DRV_TRY(weir_pool_set_access(p, map[i].location.id, (enum weir_pool_access)map[i].flags));
    }
    return WEIR_OK;
}

enum weir_err weir_drv_MemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool memPool,
                                        CUmemLocation *location)
{
    struct weir_pool *p;

    DRV_REQUIRE(flags);
    DRV_REQUIRE(location);
    DRV_TRY(get(memPool, &p));
    if (location->type == CU_MEM_LOCATION_TYPE_HOST) {
        *flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
        return WEIR_OK;
    }
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE || location->id < 0 ||
        location->id >= weir_core.device_count)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "pool access from location %d of type %d",
                         location->id, (int)location->type);
    *flags = (CUmemAccess_flags)weir_pool_get_access(p, location->id);
    return WEIR_OK;
}

/* ---- other processes ---- */

static enum weir_err check_handle_type(CUmemAllocationHandleType type, unsigned long long flags)
{
    if (flags)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#llx", flags);
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "pool by handle type %d", (int)type);
    return WEIR_OK;
}

enum weir_err weir_drv_MemPoolExportToShareableHandle(void *handle_out, CUmemoryPool pool,
                                                      CUmemAllocationHandleType handleType,
                                                      unsigned long long flags)
{
    struct weir_pool *p;

    DRV_REQUIRE(handle_out);
    DRV_TRY(get(pool, &p));
    DRV_TRY(check_handle_type(handleType, flags));
    return weir_pool_export(p, handle_out);
}

enum weir_err weir_drv_MemPoolImportFromShareableHandle(CUmemoryPool *pool_out, void *handle,
                                                        CUmemAllocationHandleType handleType,
                                                        unsigned long long flags)
{
    struct weir_pool *p;

    DRV_REQUIRE(pool_out);
    DRV_TRY(check_handle_type(handleType, flags));
    DRV_TRY(weir_pool_import((int)(intptr_t)handle, &p)); /* the descriptor itself */
    *pool_out = (CUmemoryPool)p;
    return WEIR_OK;
}

_Static_assert(sizeof(CUmemPoolPtrExportData) == WEIR_POOL_EXPORT_BYTES,
               "data of an exported pointer");

enum weir_err weir_drv_MemPoolExportPointer(CUmemPoolPtrExportData *shareData_out, CUdeviceptr ptr)
{
    DRV_REQUIRE(shareData_out);
    DRV_REQUIRE(ptr);
    return weir_pool_export_pointer(weir_drv_pointer(ptr), shareData_out);
}

enum weir_err weir_drv_MemPoolImportPointer(CUdeviceptr *ptr_out, CUmemoryPool pool,
                                            CUmemPoolPtrExportData *shareData)
{
    struct weir_pool *p;
    void *address;

    DRV_REQUIRE(ptr_out);
    DRV_REQUIRE(shareData);
    DRV_TRY(get(pool, &p));
    DRV_TRY(weir_pool_import_pointer(p, shareData, &address));
    *ptr_out = (uintptr_t)address;
    return WEIR_OK;
}
