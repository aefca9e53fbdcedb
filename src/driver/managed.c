/* Memory management: managed memory. What is said about ranges: core/managed.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/managed.h"

#include "driver/drv.h"

static enum weir_err check_location(CUmemLocation location)
{
    switch (location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        return weir_drv_check_device(location.id);
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
        return WEIR_OK;
    default:
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "location of type %d", (int)location.type);
    }
}

static struct weir_location place(CUmemLocation location)
{
    return (struct weir_location){(int)location.type, location.id};
}

/* What the older forms mean by a device. */
static CUmemLocation location_of(CUdevice device)
{
    CUmemLocation location = {.type = CU_MEM_LOCATION_TYPE_HOST};

    if (device != CU_DEVICE_CPU)
        location = (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};
    return location;
}

enum weir_err weir_drv_MemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUmemLocation location,
                                        unsigned int flags, CUstream hStream)
{
    struct weir_stream *s;

    DRV_TRY(weir_stream_get(hStream, &s));
    if (flags)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", flags);
    DRV_TRY(check_location(location));
    return weir_managed_prefetch(weir_drv_pointer(devPtr), count, place(location));
}

enum weir_err weir_drv_MemPrefetchAsyncV1(CUdeviceptr devPtr, size_t count, CUdevice dstDevice,
                                          CUstream hStream)
{
    return weir_drv_MemPrefetchAsync(devPtr, count, location_of(dstDevice), 0, hStream);
}

enum weir_err weir_drv_MemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice,
                                 CUmemLocation location)
{
    if (advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION || advice == CU_MEM_ADVISE_SET_ACCESSED_BY)
        DRV_TRY(check_location(location));
    return weir_managed_advise(weir_drv_pointer(devPtr), count, (enum weir_advice)advice,
                               place(location));
}

enum weir_err weir_drv_MemAdviseV1(CUdeviceptr devPtr, size_t count, CUmem_advise advice,
                                   CUdevice device)
{
    return weir_drv_MemAdvise(devPtr, count, advice, location_of(device));
}

enum weir_err weir_drv_MemRangeGetAttribute(void *data, size_t dataSize,
                                            CUmem_range_attribute attribute, CUdeviceptr devPtr,
                                            size_t count)
{
    return weir_managed_attribute(data, dataSize, (int)attribute, weir_drv_pointer(devPtr), count);
}

enum weir_err weir_drv_MemRangeGetAttributes(void **data, size_t *dataSizes,
                                             CUmem_range_attribute *attributes,
                                             size_t numAttributes, CUdeviceptr devPtr, size_t count)
{
    DRV_REQUIRE(data);
    DRV_REQUIRE(dataSizes);
    DRV_REQUIRE(attributes);
    if (numAttributes == 0)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "no attributes");
    for (size_t i = 0; i < numAttributes; i++)
        DRV_TRY(weir_managed_attribute(data[i], dataSizes[i], (int)attributes[i],
                                       weir_drv_pointer(devPtr), count));
    return WEIR_OK;
}

/* ---- batches ---- */

static enum weir_err check_batch(const CUdeviceptr *ptrs, const size_t *sizes, size_t count,
                                 unsigned long long flags, CUstream stream)
{
    struct weir_stream *s;

    DRV_TRY(weir_stream_get(stream, &s));
    DRV_REQUIRE(ptrs);
    DRV_REQUIRE(sizes);
    if (flags || count == 0)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "batch of %zu ranges, flags %#llx", count, flags);
    if (s->m.cls == WEIR_STREAM_LEGACY)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "a batch in the legacy stream");
    for (size_t i = 0; i < count; i++)
        DRV_TRY(weir_managed_check(weir_drv_pointer(ptrs[i]), sizes[i]));
    return WEIR_OK;
}

static enum weir_err check_places(const CUmemLocation *places, const size_t *first, size_t n,
                                  size_t count)
{
    DRV_REQUIRE(places);
    DRV_REQUIRE(first);
    if (n == 0 || n > count || first[0] != 0)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%zu locations for a batch of %zu", n, count);
    for (size_t i = 0; i < n; i++) {
        if (first[i] >= count || (i && first[i] <= first[i - 1]))
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "location %zu begins at range %zu of %zu", i,
                             first[i], count);
        if (check_location(places[i]) != WEIR_OK)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "location %zu of the batch", i);
    }
    return WEIR_OK;
}

enum weir_err weir_drv_MemPrefetchBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count,
                                             CUmemLocation *prefetchLocs, size_t *prefetchLocIdxs,
                                             size_t numPrefetchLocs, unsigned long long flags,
                                             CUstream hStream)
{
    DRV_TRY(check_batch(dptrs, sizes, count, flags, hStream));
    DRV_TRY(check_places(prefetchLocs, prefetchLocIdxs, numPrefetchLocs, count));
    for (size_t i = 0, at = 0; i < count; i++) {
        if (at + 1 < numPrefetchLocs && prefetchLocIdxs[at + 1] == i)
            at++;
        DRV_TRY(
            weir_managed_prefetch(weir_drv_pointer(dptrs[i]), sizes[i], place(prefetchLocs[at])));
    }
    return WEIR_OK;
}

/* Discarded memory may hold anything until it is written: here it keeps what it had. */
enum weir_err weir_drv_MemDiscardBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count,
                                            unsigned long long flags, CUstream hStream)
{
    return check_batch(dptrs, sizes, count, flags, hStream);
}

enum weir_err weir_drv_MemDiscardAndPrefetchBatchAsync(CUdeviceptr *dptrs, size_t *sizes,
                                                       size_t count, CUmemLocation *prefetchLocs,
                                                       size_t *prefetchLocIdxs,
                                                       size_t numPrefetchLocs,
                                                       unsigned long long flags, CUstream hStream)
{
    return weir_drv_MemPrefetchBatchAsync(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs,
                                          numPrefetchLocs, flags, hStream);
}
