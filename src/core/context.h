/* Contexts: default stream, sticky error, limits, on the engines of a device. Each device has a
 * primary one, which the runtime uses; programs of the driver API may create more.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_CONTEXT_H
#define WEIR_CORE_CONTEXT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/lock.h"
#include "core/handle.h"
#include "core/printf.h"
#include "core/profile.h"
#include "device/device.h"
#include "model/limits.h"
#include "model/model.h"

struct weir_stream;
struct weir_hw_queues;

/* cudaLimit's numbers. */
enum weir_limit {
    WEIR_LIMIT_STACK,
    WEIR_LIMIT_PRINTF,
    WEIR_LIMIT_HEAP,
    WEIR_LIMIT_SYNC_DEPTH,
    WEIR_LIMIT_PENDING_LAUNCHES,
    WEIR_LIMIT_L2_FETCH,
    WEIR_LIMIT_L2_PERSIST,
    WEIR_LIMIT_COUNT
};

/* Why the host waited without having asked for it (`weir run --stats`). */
enum weir_implicit_sync {
    WEIR_SYNC_FREE,          /* cudaFree and the like wait for the device */
    WEIR_SYNC_COPY,          /* a synchronous copy or memset */
    WEIR_SYNC_PAGEABLE_COPY, /* an *Async copy that had to wait because of pageable memory */
    WEIR_SYNC_MANAGED_COPY,  /* the same because of managed memory */
    WEIR_SYNC_HOST_COPY,     /* the same because it goes from host to host, pinned or not */
    WEIR_SYNC_STAGING_FULL,  /* a pageable source, and no staging memory left */
    WEIR_SYNC_QUEUE_FULL,
    WEIR_SYNC_LAZY_LOAD, /* the first use of a kernel, in that strict mode */
    WEIR_SYNC_COUNT
};

struct weir_context {
    /* immutable after init */
    int ordinal; /* of the device */
    int index;   /* place in weir_core.contexts; a primary context's is its device's */
    const struct weir_profile *profile;
    int sm_count;
    size_t memory_bytes;

    /* made at the first use, under the core's lock; released by active, acquired by anyone */
    struct weir_device *engines;
    struct weir_stream *legacy;
    _Atomic uint32_t active; /* WEIR_ACTIVE* */
    _Atomic int retained;    /* cuDevicePrimaryCtxRetain less Release */
    uint64_t id;             /* unique while the process lives (cuCtxGetId) */

    _Atomic int error;           /* sticky: enum weir_err, 0 while good */
    _Atomic uint64_t gave_up_ns; /* when weir_wait_drain last ran out of time */
    _Atomic int copy_error; /* of a copy that met an address it could not touch: told once, to the
                               next wait */
    _Atomic uint32_t flags; /* cudaDeviceSchedule* ... as set */
    _Atomic uint32_t cache_config, shared_config;
    _Atomic size_t limits[WEIR_LIMIT_COUNT];
    _Atomic uint64_t
        peers; /* bit per device that this one may access (cudaDeviceEnablePeerAccess) */
    _Atomic uint64_t epoch; /* of resets and lives */
    bool in_use;            /* created and not yet wholly destroyed; under the core's lock */
    _Atomic size_t staging[WEIR_STAGING_COUNT]; /* pageable sources captured and not yet copied:
                                                   small, large */
    _Atomic size_t heap_used;                   /* bytes of device-side malloc */
    struct weir_printf_buffer printf;

    struct weir_lock streams_lock; /* rank DEVICE_STREAMS: the model's list of streams, and: */
    struct weir_hw_queues *queues; /* that its streams share (stream.c), or NULL */
    struct weir_stream *retired;   /* destroyed, work left when last looked at */
    struct weir_stream *spare_first, *spare_last; /* destroyed and idle, oldest first */
    uint32_t spare_count;

    struct {
        _Atomic uint64_t count, ns;
    } implicit[WEIR_SYNC_COUNT];
    _Atomic uint64_t host_funcs, records, waits;
    struct weir_nested_pool *_Atomic nested; /* nested.h; made at the first use */
    _Atomic uint64_t nested_pending;         /* launches by kernels that are not complete */
};

#define WEIR_ACTIVE         1u /* engines run, there is a default stream */
#define WEIR_ACTIVE_RUNTIME 2u /* and the runtime has used it: it stays */

/* The primary context of a device, engines running. Errors: INVALID_DEVICE, the context's sticky
 * error, MEMORY_ALLOCATION, OPERATING_SYSTEM. Thread: any. */
enum weir_err weir_context_get(int device, struct weir_context **out) WEIR_MUST_CHECK;
/* The calling thread's current one. Errors: CONTEXT_IS_DESTROYED, those above. */
enum weir_err weir_context_current(struct weir_context **out) WEIR_MUST_CHECK;

/* A context of its own on a device (cuCtxCreate): other default stream, streams, modules, limits
 * and allocations, same engines and memory. Errors: those of weir_context_get; MEMORY_ALLOCATION:
 * too many. Thread: any. */
enum weir_err weir_context_create(int device, uint32_t flags,
                                  struct weir_context **out) WEIR_MUST_CHECK;
/* Waits for its work, then destroys all that is in it. Handles of it are refused from then on, its
 * place is used again late. Errors: INVALID_VALUE (primary), CONTEXT_IS_DESTROYED. */
enum weir_err weir_context_destroy(struct weir_context *ctx) WEIR_MUST_CHECK;
/* The context behind a handle, or NULL: any bit pattern may be passed. Live ones only, and primary
 * ones. */
struct weir_context *weir_context_check(const void *handle);

/* The `owner` of its program's allocations: NULL for a primary context. */
static inline void *weir_context_owner(struct weir_context *ctx)
{
    return ctx->index == ctx->ordinal ? NULL : ctx;
}
/* Of memory that a program has allocated itself, not modules or kernels (weir_mem_info.owner). */
bool weir_context_is_owner(const void *owner);

/* Waits for every context of the device. Errors: the sticky error. */
enum weir_err weir_context_wait_device(int device) WEIR_MUST_CHECK;
/* The same where the rule of the call says so (weir_model_call_rule), as freeing does, and counts
 * it. */
enum weir_err weir_context_wait_before(enum weir_host_call call, int device) WEIR_MUST_CHECK;

void weir_context_default_limits(struct weir_context *ctx);

/* A fault on one device fails all that are in use, and those used first later give
 * DEVICES_UNAVAILABLE (oracle multi_sticky). The first error stays. */
void weir_context_fail(struct weir_context *ctx, enum weir_err err);

/* cudaDeviceReset: waits for the context, destroys its streams, events, memory and modules. */
enum weir_err weir_context_reset(struct weir_context *ctx) WEIR_MUST_CHECK;

/* An attribute of the device, computed ones included; false for a number that is no attribute. */
bool weir_context_attribute(const struct weir_context *ctx, int id, int *value);

/* Around a wait of the calling thread that the program did not ask for. begin: the time, for end.
 */
uint64_t weir_context_sync_begin(enum weir_implicit_sync cause);
void weir_context_sync_end(struct weir_context *ctx, enum weir_implicit_sync cause, uint64_t begin);

#endif
