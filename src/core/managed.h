/* Managed memory: what programs have said about ranges of it (advice, prefetches), for those who
 * ask (cudaMemRangeGetAttribute). It has one address and one copy here, so that nothing moves.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_MANAGED_H
#define WEIR_CORE_MANAGED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct weir_stream;

/* cudaMemLocationType's numbers. */
enum weir_location_type {
    WEIR_LOCATION_NONE,
    WEIR_LOCATION_DEVICE,
    WEIR_LOCATION_HOST,
    WEIR_LOCATION_HOST_NUMA,
    WEIR_LOCATION_HOST_NUMA_CURRENT
};

struct weir_location {
    int type, id;
};

/* cudaMemoryAdvise's numbers. */
enum weir_advice {
    WEIR_ADVISE_READ_MOSTLY = 1,
    WEIR_ADVISE_NOT_READ_MOSTLY,
    WEIR_ADVISE_PREFERRED,
    WEIR_ADVISE_NOT_PREFERRED,
    WEIR_ADVISE_ACCESSED_BY,
    WEIR_ADVISE_NOT_ACCESSED_BY,
};

/* Errors: INVALID_VALUE when a byte of the range is not managed memory, or there is none. Thread:
 * any, as for all below. */
enum weir_err weir_managed_check(const void *ptr, size_t bytes) WEIR_MUST_CHECK;
/* Errors: those, INVALID_VALUE (unknown advice), INVALID_DEVICE (a device without concurrent
 * managed access), MEMORY_ALLOCATION. */
enum weir_err weir_managed_advise(const void *ptr, size_t bytes, enum weir_advice advice,
                                  struct weir_location location) WEIR_MUST_CHECK;
enum weir_err weir_managed_prefetch(const void *ptr, size_t bytes,
                                    struct weir_location location) WEIR_MUST_CHECK;
/* cudaMemRangeAttribute's numbers: what holds for the whole range, as 32-bit numbers; a place that
 * is not the same everywhere is cudaInvalidDeviceId. Errors: INVALID_VALUE. */
enum weir_err weir_managed_attribute(void *data, size_t data_bytes, int attribute, const void *ptr,
                                     size_t bytes) WEIR_MUST_CHECK;
/* What was said about the whole of an allocation, as far as it decides where pages go. */
struct weir_managed_said {
    bool read_mostly, prefers_host;
    uint64_t accessed_by; /* a bit a device */
};
void weir_managed_said(uint64_t id, uintptr_t base, size_t bytes, struct weir_managed_said *out);
/* Managed memory that begins at ptr is attached, by cudaMemAttach's flags, from now on; stream
 * NULL: to none. */
void weir_managed_attach(const void *ptr, unsigned flags, const struct weir_stream *stream);
/* The allocation of this id (weir_mem_info) is freed. */
void weir_managed_forget(uint64_t id);

#endif
