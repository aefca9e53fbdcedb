/* Streams, events and operations: the model's objects with what running them needs (locks, engines,
 * waiters). Submission and completion are in submit.c, host waits in wait.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_STREAM_H
#define WEIR_CORE_STREAM_H

#include "core/core.h"
#include "model/capture.h"
#include "model/limits.h"
#include "model/reuse.h"

struct weir_op;
struct weir_job;
struct weir_nest;

#define WEIR_NEAR_OPS            4
#define WEIR_POLICY_WINDOW_BYTES 32

/* Queues of a device that its streams share, in a strict mode (ORD-090): [1] for copies. */
struct weir_hw_queues {
    struct weir_lock lock; /* rank LEAF */
    int count;
    struct weir_model_queue items[2][WEIR_HW_QUEUES_MAX];
};

struct weir_stream {
    struct weir_slot slot; /* first: handle */
    struct weir_lock lock; /* rank STREAM: the model's shard, and the fields below */
    /* guarded by lock */
    struct weir_op *free_ops[3]; /* by size: finished operations, for reuse; linked by m.next */
    struct weir_job *free_jobs;  /* one at least once there was a kernel or copy, or it is in use */
    uint64_t linked;   /* what was submitted when the head last changed: up to here who runs the
                          head follows m.next, without the lock */
    uint64_t wait_seq; /* the earliest number that a sleeping host thread waits for */

    struct weir_model_stream m; /* its halves are lines of their own */

    /* immutable while live */
    struct weir_context *ctx;
    uint64_t id, epoch;
    uint32_t flags;                /* cudaStreamNonBlocking */
    int priority;                  /* as the program sees it */
    struct weir_hw_queues *queues; /* of its device, by id; NULL: it shares none */
    struct weir_nest *nest;        /* whose work is in it (nested.h); NULL: a program's stream */
    _Atomic int sync_policy;
    _Atomic uint32_t wake; /* futex word: changes, under lock, when wait_seq is reached, or a
                              sleeper is to help */
    /* hints, kept for who asks: cudaAccessPolicyWindow, memory synchronisation domain; under lock
     */
    unsigned char policy_window[WEIR_POLICY_WINDOW_BYTES];
    uint32_t sync_domain, sync_domain_map;

    /* A capture that it takes part in. guarded by the graphs' lock; `captures`, below, is a hint
     * that is exact for the thread that captures */
    struct weir_model_member member;

    /* guarded by lock */
    struct weir_op *near_ops[WEIR_NEAR_OPS]; /* free ones, for the next submissions */
    uint8_t near_at;
    bool has_job;
    bool
        wants_help; /* a kernel became ready when no worker was free: who is about to sleep helps */
    bool naps;      /* a thread has slept here for a while only, and may then do something else */
    _Atomic bool captures;     /* (not guarded) */
    _Atomic uint64_t help_seq; /* up to here a host thread waits that has slept, and helps with what
                                  is ready as soon as it is awake */
    struct weir_stream *retired_next; /* streams_lock: destroyed, work left */

    /* Points of other streams that it waits for by events, while pools have pending frees (pool.c).
     */
    struct weir_lock follows_lock; /* rank LEAF */
    struct weir_model_follows follows;
};

static inline struct weir_stream *weir_stream_of(const struct weir_model_stream *m)
{
    return WEIR_CONTAINER_OF(m, struct weir_stream, m);
}

struct weir_shared_event;

struct weir_event {
    struct weir_slot slot; /* first: handle */
    struct weir_lock lock; /* rank EVENT */
    uint32_t flags;        /* immutable: cudaEvent* */
    uint64_t epoch;

    /* guarded by lock */
    struct weir_model_event m;
    struct weir_context *ctx; /* device of creation; that of its records */
    uint64_t generation; /* of records and of the slot's owners: an old record's stamp is dropped */
    uint64_t time_ns;    /* of the last record, once it is complete */

    /* of the last record if that was captured: guarded by the graphs' lock, a hint without it */
    _Atomic(struct weir_model_captured *) captured;
    /* of cudaEventInterprocess (ipc.h): the page of all processes, and the last record from here */
    struct weir_shared_event *shared;
    uint64_t shared_number;
    int shared_fd;
};

#define WEIR_EVENT_BLOCKING_SYNC  1u
#define WEIR_EVENT_DISABLE_TIMING 2u
#define WEIR_EVENT_INTERPROCESS   4u

/* ---- operations ---- */

/* Programs queue a million of them, so an operation is small while it waits, and what an engine
 * needs is made when its turn comes: a job. SMALL: all but those that say otherwise. MEDIUM:
 * callbacks, polls. Kernels: by the size of their arguments. */
enum weir_op_size { WEIR_OP_SMALL, WEIR_OP_MEDIUM, WEIR_OP_LARGE, WEIR_OP_SIZES };

struct weir_op {
    struct weir_model_op m;     /* first */
    uint32_t refs;              /* guarded by the stream's lock: 1 while queued, +1 per helper */
    uint8_t size;               /* enum weir_op_size */
    _Atomic uint8_t dispatched; /* handed to an engine: helpers may ask for it */
};

/* Or a memset, whose work is of the same kind. */
static inline bool weir_op_is_copy(const struct weir_op *op)
{
    return op->m.kind == WEIR_OP_COPY || op->m.kind == WEIR_OP_MEMSET;
}

/* An engine runs it, by a struct weir_job. */
static inline bool weir_op_has_job(unsigned kind)
{
    return kind == WEIR_OP_KERNEL || kind == WEIR_OP_COPY || kind == WEIR_OP_MEMSET;
}

static inline struct weir_context *weir_op_ctx(const struct weir_op *op)
{
    return weir_stream_of(op->m.stream)->ctx;
}

struct weir_record_op {
    struct weir_op op;
    struct weir_event *event; /* NULL: no time wanted */
    uint64_t generation;
    struct weir_shared_event *shared; /* NULL: of this process alone */
    uint64_t shared_number;
};

struct weir_host_op {
    struct weir_op op;
    struct weir_host_work work;
    void *fn, *user;
    /* CALLBACK only: host functions end here */
    void *stream; /* the handle as given */
    void (*invoke)(void *fn, void *handle, enum weir_err status, void *user);
};

/* A free at its place in the stream (cudaFreeAsync). */
struct weir_free_op {
    struct weir_op op;
    void *ptr;
};

/* What an engine works with while it runs a kernel, copy or memset: its stream's, taken when the
 * operation's turn comes, filled by weir_job_fill, given back with the operation's memory. */
struct weir_job {
    struct weir_job *next;          /* free_jobs */
    uint64_t grid_id, grid_end;     /* numbers for its next kernels */
    struct weir_kernel_work kernel; /* or */
    struct weir_copy_work copy;
};

/* Kernels, copies and memsets begin with it. */
struct weir_job_op {
    struct weir_op op;
    struct weir_job *job; /* guarded by the stream's lock until dispatched; NULL: it waits */
};

#define WEIR_SMALL_PARAMS  32 /* in operations of that size */
#define WEIR_MEDIUM_PARAMS 96
#define WEIR_LARGE_PARAMS  256

struct weir_kernel_op {
    struct weir_op op;
    struct weir_job *job; /* as in weir_job_op */
    struct weir_function *function;
    struct weir_function_image *image;
    uint32_t grid[3], dynamic_shared_bytes;
    uint16_t block[3];
    uint8_t cluster[3]; /* as the launch says it; 0: not */
    bool cooperative, has_heap;
    bool tail; /* launched by a kernel, as its tail (nested.h) */
    /* What the kernel is to fail with on demand (inject.h); what one that began early ended with.
     */
    uint16_t early_status; /* enum weir_err */
    union {
        WEIR_ALIGNED(16) unsigned char params[WEIR_SMALL_PARAMS]; /* or more, by the size */
        struct {
            void *params;    /* more than WEIR_LARGE_PARAMS, and of all cooperative launches */
            void *workspace; /* of those: where the blocks meet */
        } heap;
    };
};

static inline unsigned char *weir_kernel_op_params(const struct weir_kernel_op *op)
{
    return op->has_heap ? op->heap.params : (unsigned char *)op->params;
}

/* Of copies that are more than a row. */
struct weir_copy_shape {
    size_t height, depth, src_pitch, dst_pitch, src_slice, dst_slice;
};

struct weir_copy_op {
    struct weir_op op;
    struct weir_job *job; /* as in weir_job_op */
    const char *src;
    char *dst;
    size_t width;
    struct weir_copy_shape *shape; /* owned; NULL: a row */
    enum weir_err *status; /* of the call that waits for it, else NULL; written before completion */
    size_t staging_bytes;  /* src is a captured source, freed at completion; 0: it is not */
    /* late.h */
    struct weir_copy_op *late_next;
    uint64_t held_ns;
    uint32_t value;        /* memset */
    uint8_t element_bytes; /* memset */
    uint8_t engine;        /* enum weir_engine */
    bool late;             /* is held back when its turn comes */
};

/* What a copy or memset moves: all but `work`. */
void weir_copy_op_view(const struct weir_copy_op *op, struct weir_copy_work *out);

/* ---- streams (stream.c) ---- */

/* Errors: MEMORY_ALLOCATION. Thread: any. */
enum weir_err weir_stream_create(struct weir_context *ctx, enum weir_stream_class cls,
                                 uint32_t flags, int priority,
                                 struct weir_stream **out) WEIR_MUST_CHECK;
/* A stream inside a grid: no handle, and the checker does not know it. */
enum weir_err weir_stream_create_nested(struct weir_context *ctx, int priority,
                                        struct weir_nest *nest,
                                        struct weir_stream **out) WEIR_MUST_CHECK;
/* Does not wait: work left runs to its end. The caller has killed the handle (or owns the stream
 * otherwise). */
void weir_stream_retire(struct weir_stream *s);
/* The stream behind a handle, the special ones (0, 1 legacy, 2 per thread) of the current device
 * included. Errors: INVALID_RESOURCE_HANDLE, CONTEXT_IS_DESTROYED, those of weir_context_current.
 */
enum weir_err weir_stream_get(void *handle, struct weir_stream **out) WEIR_MUST_CHECK;
void weir_stream_retire_all(struct weir_context *ctx); /* reset */

/* ---- events (event.c) ---- */

enum weir_err weir_event_create(struct weir_context *ctx, uint32_t flags,
                                struct weir_event **out) WEIR_MUST_CHECK;
enum weir_err weir_event_get(void *handle, struct weir_event **out) WEIR_MUST_CHECK;
enum weir_err weir_event_destroy(struct weir_event *e) WEIR_MUST_CHECK;
/* `external`: of captured graphs (cudaEventRecordExternal, cudaEventWaitExternal): a node. Errors:
 * ILLEGAL_STATE (external, and s does not capture), those of captures. */
enum weir_err weir_event_record(struct weir_event *e, struct weir_stream *s,
                                bool external) WEIR_MUST_CHECK;
/* Later work in s waits for e's last record. */
enum weir_err weir_event_wait(struct weir_event *e, struct weir_stream *s,
                              bool external) WEIR_MUST_CHECK;
enum weir_err weir_event_query(struct weir_event *e) WEIR_MUST_CHECK; /* OK, NOT_READY */
enum weir_err weir_event_synchronize(struct weir_event *e) WEIR_MUST_CHECK;
enum weir_err weir_event_elapsed(struct weir_event *start, struct weir_event *end,
                                 float *ms) WEIR_MUST_CHECK;

/* ---- submission (submit.c) ---- */

/* Locks what a submission into s needs and gives an operation to fill (kind and payload; m is the
 * model's), or NULL when out of memory (nothing stays locked). Exactly one of the three calls below
 * must follow, soon. */
struct weir_op *weir_submit_begin(struct weir_stream *s, enum weir_op_kind kind,
                                  enum weir_op_size size);
/* Appends op, unlocks, and starts what is ready. *ready (may be NULL) tells whether op itself could
 * start at once. Errors: MEMORY_ALLOCATION (op is dropped). */
enum weir_err weir_submit_end(struct weir_stream *s, struct weir_op *op,
                              const struct weir_model_dep *deps, size_t count,
                              struct weir_model_point *point, bool *ready) WEIR_MUST_CHECK;
/* The same for a record (weir_model_record); e's lock is taken inside. op may be NULL. */
enum weir_err weir_submit_end_record(struct weir_stream *s, struct weir_op *op,
                                     struct weir_event *e) WEIR_MUST_CHECK;

/* A copy between devices in legacy streams (ORD-012): s is the one it is submitted to, other the
 * second device's. markers are the model's; point gets the copy's. NULL and MEMORY_ALLOCATION as
 * above. */
struct weir_op *weir_submit_begin_peer(struct weir_stream *s, struct weir_stream *other,
                                       struct weir_op *markers[2]);
enum weir_err weir_submit_end_peer(struct weir_stream *s, struct weir_stream *other,
                                   struct weir_op *op, struct weir_op *markers[2],
                                   struct weir_model_point *point) WEIR_MUST_CHECK;

/* Lock and unlock s, or for a legacy stream all streams of its device. */
void weir_submit_lock(struct weir_stream *s);
void weir_submit_unlock(struct weir_stream *s);

/* ---- host waits (wait.c) ---- */

/* Waits, helping, until the points hold. Holds no lock. Does not look at errors. */
void weir_wait_points(const struct weir_model_point *points, size_t count);
/* cudaStreamSynchronize's, cudaDeviceSynchronize's waits. Errors: the context's sticky error,
 * MEMORY_ALLOCATION. */
enum weir_err weir_wait_stream(struct weir_stream *s) WEIR_MUST_CHECK;
enum weir_err weir_wait_device(struct weir_context *ctx) WEIR_MUST_CHECK;
/* Waits for the device when the process ends or a library with kernels is closed: the program may
 * have left a kernel that never ends, so at most DRAIN_NS. False when work was left. */
#define DRAIN_NS 5000000000u
bool weir_wait_drain(struct weir_context *ctx);
/* Until all that was submitted to the context is complete; false: not by then. Orders nothing, and
 * is no synchronisation of the program's: nothing is traced or checked. */
bool weir_wait_settled(struct weir_context *ctx, uint64_t deadline_ns);
/* cudaStreamQuery. OK, NOT_READY, the sticky error. */
enum weir_err weir_query_stream(struct weir_stream *s) WEIR_MUST_CHECK;

static inline enum weir_err weir_context_error(const struct weir_context *ctx)
{
    return (enum weir_err)atomic_load_explicit(&ctx->error, memory_order_acquire);
}

/* What a call that has waited reports: the sticky error, else once what a copy met. */
static inline enum weir_err weir_context_take_error(struct weir_context *ctx)
{
    enum weir_err err = weir_context_error(ctx);

    if (err == WEIR_OK &&
        WEIR_UNLIKELY(atomic_load_explicit(&ctx->copy_error, memory_order_relaxed)))
        err = (enum weir_err)atomic_exchange(&ctx->copy_error, 0);
    return err;
}

#endif
