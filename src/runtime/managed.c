/* Memory management: managed memory. What is said about ranges: core/managed.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/managed.h"
#include "core/capture.h"

#include "runtime/rt.h"

static enum weir_err check_location(struct cudaMemLocation location)
{
    switch (location.type) {
    case cudaMemLocationTypeDevice:
        if (location.id >= 0 && location.id < weir_core.device_count)
            return WEIR_OK;
        return WEIR_FAIL(WEIR_ERR_INVALID_DEVICE, "location on device %d", location.id);
    case cudaMemLocationTypeHost:
    case cudaMemLocationTypeHostNuma:
    case cudaMemLocationTypeHostNumaCurrent:
        return WEIR_OK;
    default:
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "location of type %d", (int)location.type);
    }
}

static struct weir_location place(struct cudaMemLocation location)
{
    return (struct weir_location){(int)location.type, location.id};
}

enum weir_err weir_rt_MemPrefetchAsync(const void *devPtr, size_t count,
                                       struct cudaMemLocation location, unsigned int flags,
                                       cudaStream_t stream)
{
    struct weir_stream *s;

    RT_TRY(weir_stream_get(stream, &s));
    RT_TRY(weir_capture_forbid(WEIR_CAPTURE_CALL_REFUSED, s, "cudaMemPrefetchAsync"));
    if (flags)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", flags);
    RT_TRY(check_location(location));
    return weir_managed_prefetch(devPtr, count, place(location));
}

enum weir_err weir_rt_MemAdvise(const void *devPtr, size_t count, enum cudaMemoryAdvise advice,
                                struct cudaMemLocation location)
{
    if (advice == cudaMemAdviseSetPreferredLocation || advice == cudaMemAdviseSetAccessedBy)
        RT_TRY(check_location(location));
    return weir_managed_advise(devPtr, count, (enum weir_advice)advice, place(location));
}

enum weir_err weir_rt_MemRangeGetAttribute(void *data, size_t dataSize,
                                           enum cudaMemRangeAttribute attribute, const void *devPtr,
                                           size_t count)
{
    return weir_managed_attribute(data, dataSize, (int)attribute, devPtr, count);
}

enum weir_err weir_rt_MemRangeGetAttributes(void **data, size_t *dataSizes,
                                            enum cudaMemRangeAttribute *attributes,
                                            size_t numAttributes, const void *devPtr, size_t count)
{
    RT_REQUIRE(data);
    RT_REQUIRE(dataSizes);
    RT_REQUIRE(attributes);
    if (numAttributes == 0)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "no attributes");
    for (size_t i = 0; i < numAttributes; i++)
        RT_TRY(weir_managed_attribute(data[i], dataSizes[i], (int)attributes[i], devPtr, count));
    return WEIR_OK;
}

/* ---- batches ---- */

static enum weir_err check_batch(void **ptrs, const size_t *sizes, size_t count,
                                 unsigned long long flags, cudaStream_t stream)
{
    struct weir_stream *s;

    RT_TRY(weir_stream_get(stream, &s));
    RT_TRY(weir_capture_forbid(WEIR_CAPTURE_CALL_REFUSED, s, "a batch of prefetches"));
    RT_REQUIRE(ptrs);
    RT_REQUIRE(sizes);
    if (flags || count == 0)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "batch of %zu ranges, flags %#llx", count, flags);
    if (s->m.cls == WEIR_STREAM_LEGACY)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "a batch in the legacy stream");
    for (size_t i = 0; i < count; i++)
        RT_TRY(weir_managed_check(ptrs[i], sizes[i]));
    return WEIR_OK;
}

static enum weir_err check_places(const struct cudaMemLocation *places, const size_t *first,
                                  size_t n, size_t count)
{
    RT_REQUIRE(places);
    RT_REQUIRE(first);
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

enum weir_err weir_rt_MemPrefetchBatchAsync(void **dptrs, size_t *sizes, size_t count,
                                            struct cudaMemLocation *prefetchLocs,
                                            size_t *prefetchLocIdxs, size_t numPrefetchLocs,
                                            unsigned long long flags, cudaStream_t stream)
{
    RT_TRY(check_batch(dptrs, sizes, count, flags, stream));
    RT_TRY(check_places(prefetchLocs, prefetchLocIdxs, numPrefetchLocs, count));
    for (size_t i = 0, at = 0; i < count; i++) {
        if (at + 1 < numPrefetchLocs && prefetchLocIdxs[at + 1] == i)
            at++;
        RT_TRY(weir_managed_prefetch(dptrs[i], sizes[i], place(prefetchLocs[at])));
    }
    return WEIR_OK;
}

/* Discarded memory may hold anything until it is written: here it keeps what it had. */
enum weir_err weir_rt_MemDiscardBatchAsync(void **dptrs, size_t *sizes, size_t count,
                                           unsigned long long flags, cudaStream_t stream)
{
    return check_batch(dptrs, sizes, count, flags, stream);
}

enum weir_err weir_rt_MemDiscardAndPrefetchBatchAsync(void **dptrs, size_t *sizes, size_t count,
                                                      struct cudaMemLocation *prefetchLocs,
                                                      size_t *prefetchLocIdxs,
                                                      size_t numPrefetchLocs,
                                                      unsigned long long flags, cudaStream_t stream)
{
    return weir_rt_MemPrefetchBatchAsync(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs,
                                         numPrefetchLocs, flags, stream);
}
