/* Stream ordered memory allocator. The allocator itself: core/pool.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pool.h"

#include "base/log.h"
#include "core/capture.h"
#include "runtime/rt.h"

static enum weir_err get(cudaMemPool_t handle, struct weir_pool **p)
{
    return weir_pool_get(handle, p);
}

/* ---- allocations ---- */

static enum weir_err allocate(struct weir_pool *p, struct weir_stream *s, size_t size, void **out)
{
    *out = NULL;
    return size ? weir_capture_alloc(p, s, size, "cudaMallocAsync", out) : WEIR_OK;
}

enum weir_err weir_rt_MallocAsync(void **devPtr, size_t size, cudaStream_t hStream)
{
    struct weir_stream *s;
    struct weir_pool *p;

    RT_REQUIRE(devPtr);
    RT_TRY(weir_stream_get(hStream, &s));
    RT_TRY(weir_pool_current(s->ctx->ordinal, &p));
    return allocate(p, s, size, devPtr);
}

enum weir_err weir_rt_MallocFromPoolAsync(void **ptr, size_t size, cudaMemPool_t memPool,
                                          cudaStream_t stream)
{
    struct weir_stream *s;
    struct weir_pool *p;

    RT_REQUIRE(ptr);
    RT_TRY(get(memPool, &p));
    RT_TRY(weir_stream_get(stream, &s));
    return allocate(p, s, size, ptr);
}

enum weir_err weir_rt_FreeAsync(void *devPtr, cudaStream_t hStream)
{
    struct weir_stream *s;

    RT_TRY(weir_stream_get(hStream, &s));
    return devPtr ? weir_capture_free(s, devPtr, "cudaFreeAsync") : WEIR_OK;
}

/* ---- pools ---- */

enum weir_err weir_rt_MemPoolCreate(cudaMemPool_t *memPool, const struct cudaMemPoolProps *props)
{
    struct weir_pool_config config = {0};
    struct weir_pool *p;

    RT_REQUIRE(memPool);
    RT_REQUIRE(props);
    if (props->allocType != cudaMemAllocationTypePinned)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "pool of allocation type %d",
                         (int)props->allocType);
    if (props->location.type != cudaMemLocationTypeDevice) {
        if (props->location.type == cudaMemLocationTypeInvalid)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "pool without a location");
        weir_log_unsupported("pools of host memory", "cudaMemPoolCreate");
        return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "pool at a location of type %d",
                         (int)props->location.type);
    }
    config.device = props->location.id;
    config.max_bytes = props->maxSize;
    config.handles = (uint32_t)props->handleTypes;
    RT_TRY(weir_pool_create(&config, &p));
    *memPool = (cudaMemPool_t)p;
    return WEIR_OK;
}

enum weir_err weir_rt_MemPoolDestroy(cudaMemPool_t memPool)
{
    struct weir_pool *p;

    RT_TRY(get(memPool, &p));
    return weir_pool_destroy(p);
}

enum weir_err weir_rt_DeviceGetDefaultMemPool(cudaMemPool_t *memPool, int device)
{
    struct weir_pool *p;

    RT_REQUIRE(memPool);
    RT_TRY(weir_pool_default(device, &p));
    *memPool = (cudaMemPool_t)p;
    return WEIR_OK;
}

enum weir_err weir_rt_DeviceGetMemPool(cudaMemPool_t *memPool, int device)
{
    struct weir_pool *p;

    RT_REQUIRE(memPool);
    RT_TRY(weir_pool_current(device, &p));
    *memPool = (cudaMemPool_t)p;
    return WEIR_OK;
}

enum weir_err weir_rt_DeviceSetMemPool(int device, cudaMemPool_t memPool)
{
    struct weir_pool *p;

    RT_TRY(get(memPool, &p));
    return weir_pool_set_current(device, p);
}

/* The forms by location: for devices, those above. */
static enum weir_err location_device(const struct cudaMemLocation *location,
                                     enum cudaMemAllocationType type, int *device)
{
    RT_REQUIRE(location);
    if (location->type != cudaMemLocationTypeDevice || type != cudaMemAllocationTypePinned) {
        if (location->type == cudaMemLocationTypeInvalid || type == cudaMemAllocationTypeInvalid ||
            (unsigned)location->type > cudaMemLocationTypeHostNumaCurrent)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "location type %d, allocation type %d",
                             (int)location->type, (int)type);
        weir_log_unsupported("pools of host and managed memory", "cudaMemGetMemPool");
        return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "pool of location type %d, allocation type %d",
                         (int)location->type, (int)type);
    }
    *device = location->id;
    return WEIR_OK;
}

enum weir_err weir_rt_MemGetDefaultMemPool(cudaMemPool_t *memPool, struct cudaMemLocation *location,
                                           enum cudaMemAllocationType type)
{
    int device;

    RT_TRY(location_device(location, type, &device));
    return weir_rt_DeviceGetDefaultMemPool(memPool, device);
}

enum weir_err weir_rt_MemGetMemPool(cudaMemPool_t *memPool, struct cudaMemLocation *location,
                                    enum cudaMemAllocationType type)
{
    int device;

    RT_TRY(location_device(location, type, &device));
    return weir_rt_DeviceGetMemPool(memPool, device);
}

enum weir_err weir_rt_MemSetMemPool(struct cudaMemLocation *location,
                                    enum cudaMemAllocationType type, cudaMemPool_t memPool)
{
    int device;

    RT_TRY(location_device(location, type, &device));
    return weir_rt_DeviceSetMemPool(device, memPool);
}

/* ---- attributes ---- */

/* The reuse policies are ints, all others 64-bit numbers. */
static bool is_int(enum cudaMemPoolAttr attr)
{
    return attr == cudaMemPoolReuseFollowEventDependencies ||
           attr == cudaMemPoolReuseAllowOpportunistic ||
           attr == cudaMemPoolReuseAllowInternalDependencies;
}

enum weir_err weir_rt_MemPoolGetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr,
                                          void *value)
{
    struct weir_pool *p;
    uint64_t v;

    RT_REQUIRE(value);
    RT_TRY(get(memPool, &p));
    RT_TRY(weir_pool_attribute(p, (enum weir_pool_attribute)attr, &v));
    if (is_int(attr))
        *(int *)value = (int)v;
    else
        *(uint64_t *)value = v;
    return WEIR_OK;
}

enum weir_err weir_rt_MemPoolSetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr,
                                          void *value)
{
    struct weir_pool *p;

    RT_REQUIRE(value);
    RT_TRY(get(memPool, &p));
    return weir_pool_set_attribute(p, (enum weir_pool_attribute)attr,
                                   is_int(attr) ? (uint64_t)(*(int *)value != 0)
                                                : *(uint64_t *)value);
}

enum weir_err weir_rt_MemPoolTrimTo(cudaMemPool_t memPool, size_t minBytesToKeep)
{
    struct weir_pool *p;

    RT_TRY(get(memPool, &p));
    weir_pool_trim(p, minBytesToKeep);
    return WEIR_OK;
}

enum weir_err weir_rt_MemPoolSetAccess(cudaMemPool_t memPool,
                                       const struct cudaMemAccessDesc *descList, size_t count)
{
    struct weir_pool *p;

    RT_TRY(get(memPool, &p));
    if (count)
        RT_REQUIRE(descList);
    for (size_t i = 0; i < count; i++) {
        if (descList[i].location.type != cudaMemLocationTypeDevice)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "pool access from a location of type %d",
                             (int)descList[i].location.type);
        RT_TRY(weir_pool_set_access(p, descList[i].location.id,
                                    (enum weir_pool_access)descList[i].flags));
    }
    return WEIR_OK;
}

enum weir_err weir_rt_MemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t memPool,
                                       struct cudaMemLocation *location)
{
    struct weir_pool *p;

    RT_REQUIRE(flags);
    RT_REQUIRE(location);
    RT_TRY(get(memPool, &p));
    if (location->type == cudaMemLocationTypeHost) {
        *flags = cudaMemAccessFlagsProtNone;
        return WEIR_OK;
    }
    if (location->type != cudaMemLocationTypeDevice || location->id < 0 ||
        location->id >= weir_core.device_count)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "pool access from location %d of type %d",
                         location->id, (int)location->type);
    *flags = (enum cudaMemAccessFlags)weir_pool_get_access(p, location->id);
    return WEIR_OK;
}

/* ---- other processes ---- */

static enum weir_err check_handle_type(enum cudaMemAllocationHandleType type, unsigned flags)
{
    if (flags)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", flags);
    if (type != cudaMemHandleTypePosixFileDescriptor)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "pool by handle type %d", (int)type);
    return WEIR_OK;
}

enum weir_err weir_rt_MemPoolExportToShareableHandle(void *shareableHandle, cudaMemPool_t memPool,
                                                     enum cudaMemAllocationHandleType handleType,
                                                     unsigned int flags)
{
    struct weir_pool *p;

    RT_REQUIRE(shareableHandle);
    RT_TRY(get(memPool, &p));
    RT_TRY(check_handle_type(handleType, flags));
    return weir_pool_export(p, shareableHandle);
}

enum weir_err weir_rt_MemPoolImportFromShareableHandle(cudaMemPool_t *memPool,
                                                       void *shareableHandle,
                                                       enum cudaMemAllocationHandleType handleType,
                                                       unsigned int flags)
{
    struct weir_pool *p;

    RT_REQUIRE(memPool);
    RT_TRY(check_handle_type(handleType, flags));
    RT_TRY(weir_pool_import((int)(intptr_t)shareableHandle, &p)); /* the descriptor itself */
    *memPool = (cudaMemPool_t)p;
    return WEIR_OK;
}

_Static_assert(sizeof(struct cudaMemPoolPtrExportData) == WEIR_POOL_EXPORT_BYTES,
               "data of an exported pointer");

enum weir_err weir_rt_MemPoolExportPointer(struct cudaMemPoolPtrExportData *exportData, void *ptr)
{
    RT_REQUIRE(exportData);
    RT_REQUIRE(ptr);
    return weir_pool_export_pointer(ptr, exportData);
}

enum weir_err weir_rt_MemPoolImportPointer(void **ptr, cudaMemPool_t memPool,
                                           struct cudaMemPoolPtrExportData *exportData)
{
    struct weir_pool *p;

    RT_REQUIRE(ptr);
    RT_REQUIRE(exportData);
    RT_TRY(get(memPool, &p));
    return weir_pool_import_pointer(p, exportData, ptr);
}
