/* The rules of order, in one place: streams, events, default streams, host waits, on several
 * devices (DESIGN 1).
 * SPDX-License-Identifier: Apache-2.0
 *
 * Pure: no threads, no clock, no I/O, no libc, no CUDA types (also built freestanding for wasm32).
 * The model says which operation follows which; the caller runs them and reports `complete`. Rule
 * ids (ORD-nnn) are in docs/rules/ORD.md.
 *
 * How order is represented: every stream numbers its operations 1, 2, 3 ... and completes them in
 * that order. A "point" (stream, seq) means "everything in this stream up to seq is complete". An
 * event's record is a point; an edge from another stream is a point; what a host call waits for is
 * a list of points. So nothing that is finished needs memory: a point at or below stream->completed
 * simply holds. Stream structs are never freed, only reused, and a reused one goes on counting, so
 * that old points stay true.
 *
 * Sharding: a stream is a shard, and the caller serialises calls on it (STREAM lock in core). Which
 * shards a call touches is said at each call. `completed` alone may be read without the lock
 * (acquire), and written by weir_model_pass.
 *
 * Messages: calls put their consequences into a weir_model_out, three lists of operations linked by
 * out_next:
 *   - ready: may start now. Hand it to an engine, or run it in place (record, wait, marker); then
 *     weir_model_complete
 *   - blocked: head of its stream, waits for the point op->deps[op->dep_pos]. The caller locks that
 *     point's stream and calls weir_model_subscribe; when that says "already complete",
 *     weir_model_resume on the op's own stream
 *   - notified: a point that it subscribed to is reached. The caller locks the op's own stream and
 *     calls weir_model_resume */
#ifndef WEIR_MODEL_MODEL_H
#define WEIR_MODEL_MODEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/rules.h"

typedef uint64_t weir_seq;

/* Which promise an order rests on: the documentation, or only measured hardware. Runs obey both,
 * verdicts only the first. */
enum weir_strength { WEIR_GUARANTEED, WEIR_OBSERVED };

enum weir_stream_class {
    WEIR_STREAM_LEGACY,     /* the device's legacy default stream */
    WEIR_STREAM_PER_THREAD, /* a thread's default stream: blocking towards legacy */
    WEIR_STREAM_BLOCKING,
    WEIR_STREAM_NONBLOCKING,
};

enum weir_op_kind {
    WEIR_OP_KERNEL,
    WEIR_OP_COPY,
    WEIR_OP_MEMSET,
    WEIR_OP_HOST_FUNC,
    WEIR_OP_CALLBACK, /* cudaStreamAddCallback: runs in a failed context too, with its error */
    WEIR_OP_RECORD,   /* runs in place: stamps the event's time */
    WEIR_OP_WAIT,     /* runs in place: carries the edges of cudaStreamWaitEvent */
    WEIR_OP_MARKER,   /* runs in place: no work (zero-byte copies that must order) */
    WEIR_OP_ALLOC,    /* runs in place */
    WEIR_OP_FREE,     /* runs in place */
    WEIR_OP_GRAPH,
    WEIR_OP_POLL, /* waits for something outside the streams */
};

/* What people are told of a kind: "kernel", "host function"; "operation" of those that do no work
 * of their own, and of what is no kind. */
const char *weir_op_kind_text(unsigned kind);

enum weir_op_state { WEIR_OP_QUEUED, WEIR_OP_BLOCKED, WEIR_OP_READY, WEIR_OP_COMPLETE };

struct weir_model_stream;

struct weir_model_point {
    struct weir_model_stream *stream; /* NULL: holds always */
    weir_seq seq;
};

struct weir_model_dep {
    struct weir_model_point point;
    uint8_t strength; /* enum weir_strength */
    uint16_t rule;    /* enum weir_rule: the n of the ORD-n that made this edge */
};

#define WEIR_MODEL_INLINE_DEPS 2

/* One operation; the first member of the caller's own struct. All fields belong to the model while
 * the op is queued; the caller may read stream, seq, kind, deps. */
struct weir_model_op {
    struct weir_model_op *next;         /* FIFO of its stream */
    union {                             /* an operation is in one of these lists at a time */
        struct weir_model_op *out_next; /* of weir_model_out */
        struct weir_model_op *waiter_next;
    };
    struct weir_model_stream *stream;
    weir_seq seq;
    struct weir_model_dep *deps; /* dep_inline, or memory from the model's allocator */
    uint16_t dep_count, dep_pos;
    uint8_t kind, state;
    uint8_t fails;         /* reserved for the caller: the op is to complete without running */
    _Atomic uint8_t early; /* of kernels: model/dependent.h. atomic: changes under the lock, whether
                              it asks is read without */
    struct weir_model_dep dep_inline[WEIR_MODEL_INLINE_DEPS];
};

struct weir_model_out {
    struct weir_model_op *ready, **ready_tail;
    struct weir_model_op *blocked, **blocked_tail;
    struct weir_model_op *notified, **notified_tail;
};

/* In two halves: what submissions write, and what those write who run the operations. They are to
 * stand in cache lines of their own. */
struct weir_model_stream {
    /* immutable after stream_init */
    struct weir_model *model;
    uint16_t device;
    uint8_t cls; /* enum weir_stream_class */
    int8_t priority;

    /* atomic, relaxed: seq of the newest operation submitted. Written under the lock; read without
     * it gives a moment's truth that includes whatever the reader's thread knows to have been
     * submitted */
    _Atomic uint64_t last;
    /* atomic, relaxed: a value that `completed` had, so that a submission need not look there */
    _Atomic uint64_t seen;

    /* guarded by the caller's lock of this stream */
    struct weir_model_op *head, **tail;
    weir_seq legacy_seen;    /* the newest legacy operation that this stream follows already */
    weir_seq legacy_covered; /* the newest operation here that the legacy stream follows already */

    /* atomic: released by weir_model_complete and weir_model_pass, acquired by anyone */
    _Atomic uint64_t completed;
    /* atomic, seq_cst, written under the lock: the first number that one of `waiters`, or the host,
     * is to be told of; UINT64_MAX: none */
    _Atomic uint64_t due, asked;

    /* guarded by the caller's lock of this stream */
    struct weir_model_op *waiters; /* heads of other streams, by ascending seq that they wait for */
    struct weir_model_op *waiters_last;

    /* guarded by the lock of the device's stream list */
    struct weir_model_stream *device_next, *device_prev;
    bool leaving; /* finished with work pending: in the device's list `leaving` */

    bool in_use; /* guarded by the caller's lock of this stream */
};

struct weir_model_event {
    /* guarded by the caller's lock of this event */
    struct weir_model_point point; /* of the last record */
    bool recorded;
};

/* All allocation goes through here (deps of more than WEIR_MODEL_INLINE_DEPS edges). alloc may
 * return NULL. */
struct weir_model_memory {
    void *(*alloc)(void *ctx, size_t bytes);
    void (*free)(void *ctx, void *p);
    void *ctx;
};

#define WEIR_MODEL_MAX_DEVICES 128 /* contexts of the program: several may share a GPU */

struct weir_model_device {
    struct weir_model_stream *legacy; /* set by stream_init of class LEGACY */
    /* all others in use, linked by device_next, in order of creation (= lock order) */
    struct weir_model_stream *streams, *streams_last;
    /* finished while work was pending (ORD-010); never submitted to, so read without their lock */
    struct weir_model_stream *leaving;
};

struct weir_model {
    struct weir_model_memory memory;
    struct weir_model_device devices[WEIR_MODEL_MAX_DEVICES];
    int device_count;
    bool guaranteed_only; /* makes no edge that is only observed (ORD-010); set before any use */
};

enum weir_model_result { WEIR_MODEL_OK, WEIR_MODEL_NO_MEMORY };

void weir_model_init(struct weir_model *m, int device_count,
                     const struct weir_model_memory *memory);
void weir_model_out_init(struct weir_model_out *out);

/* ---- streams ---- */

/* Makes `s` a stream of `device`. `s` is zeroed memory, or an idle finished stream of the same
 * device (its numbering goes on). A device's legacy stream is the first to come and the last to go.
 * Shards: the device's list (exclusive). */
void weir_model_stream_init(struct weir_model *m, struct weir_model_stream *s, int device,
                            enum weir_stream_class cls, int priority);
/* Takes `s` out of the device's list. Queued operations still run to their end (ORD-009), and until
 * then order later legacy operations (ORD-010); the struct may be reused once
 * weir_model_stream_is_idle. Shards: the device's list (exclusive), s. */
void weir_model_stream_finish(struct weir_model_stream *s);
/* True when nothing is queued or running. Shards: s, or none (then only a moment's truth). */
bool weir_model_stream_is_idle(const struct weir_model_stream *s);

static inline bool weir_model_point_holds(const struct weir_model_point *p)
{
    return !p->stream ||
           atomic_load_explicit(&p->stream->completed, memory_order_acquire) >= p->seq;
}

/* ---- operations ---- */

/* True when a submission into `s` touches every blocking stream of the device: the caller then
 * holds the device's list and all its streams' shards, in list order, legacy last. Else only s's
 * shard. */
static inline bool weir_model_needs_all(const struct weir_model_stream *s)
{
    return s->cls == WEIR_STREAM_LEGACY;
}

/* Appends op (kind set, `early` of kernels, the rest overwritten) to s. Adds the edges of the
 * default-stream rules. Shards: s, or all when weir_model_needs_all(s). */
enum weir_model_result weir_model_submit(struct weir_model_stream *s, struct weir_model_op *op,
                                         struct weir_model_out *out);

/* As submit, with further edges to `count` points (cudaStreamWaitEvent: one; graph launches: more).
 * Points that hold, or that are in s itself, or that an earlier edge implies, make no edge.
 * NO_MEMORY leaves everything as it was. */
enum weir_model_result weir_model_submit_after(struct weir_model_stream *s,
                                               struct weir_model_op *op,
                                               const struct weir_model_dep *deps, size_t count,
                                               struct weir_model_out *out);

/* A copy between two devices in their legacy streams: `op`, submitted to `s`, follows all that is
 * pending in the blocking streams of both devices, and later work of those follows it (ORD-012).
 * `before` and `after` (kind MARKER) go to `other`, the second device's legacy stream; all three
 * are submitted, or none. Shards: all of both devices, the lower device first. */
enum weir_model_result weir_model_submit_peer(struct weir_model_stream *s, struct weir_model_op *op,
                                              struct weir_model_stream *other,
                                              struct weir_model_op *before,
                                              struct weir_model_op *after,
                                              struct weir_model_out *out);

/* The op at the head of its stream has run. Frees its edges; the op's memory is the caller's again.
 * Shards: op->stream. */
void weir_model_complete(struct weir_model_op *op, struct weir_model_out *out);

/* ---- several operations of a stream, run by one thread ----
 * Who runs the head of a stream, and has seen under its shard what is queued behind that, may go on
 * to those one by one without the shard, as long as they may pass. */

/* May op begin when the one before it in its stream has run? */
static inline bool weir_model_may_pass(const struct weir_model_op *op)
{
    return op->dep_count == 0;
}
/* op has run, the next one is there and may pass: points up to op hold from here on; all else is
 * left to weir_model_complete of a later one, for all of them. False: somebody is to be told,
 * complete op now. Shards: none. Thread: the one that runs the stream's operations. */
bool weir_model_pass(struct weir_model_op *op);
/* Does anybody want to be told of something in s? A moment's truth. Shards: none. */
static inline bool weir_model_is_asked(const struct weir_model_stream *s)
{
    return atomic_load_explicit(&s->asked, memory_order_relaxed) != UINT64_MAX ||
           atomic_load_explicit(&s->due, memory_order_relaxed) != UINT64_MAX;
}
/* The host wants to be told when p is reached: True: no pass goes beyond it. False: it holds.
 * Shards: the point's stream. */
bool weir_model_watch(const struct weir_model_point *p);

/* For an op in out.blocked: wait for op->deps[op->dep_pos]. True: subscribed, it comes back in
 * `notified` of that stream's complete. False: already complete, call weir_model_resume.  Shards:
 * the point's stream. */
bool weir_model_subscribe(struct weir_model_op *op);

/* The point that op waited for is reached: goes on to its next edge or to `ready`. Shards:
 * op->stream. */
void weir_model_resume(struct weir_model_op *op, struct weir_model_out *out);

/* ---- events ---- */

/* The event now stands for everything in s so far, `op` (kind RECORD) included when not NULL; op is
 * submitted by this call. Without op (events without timing in streams where no other stream could
 * notice) only the point moves. Shards: s (or all when needs_all), e. */
enum weir_model_result weir_model_record(struct weir_model_event *e, struct weir_model_stream *s,
                                         struct weir_model_op *op, struct weir_model_out *out);
/* True when record of e in s must have an op even for an event without timing (legacy stream: the
 * record itself orders other blocking streams; an idle blocking stream behind a pending legacy
 * operation). Shards: s. */
bool weir_model_record_needs_op(const struct weir_model_stream *s);
/* True when a wait in s must be submitted as an op even when there is nothing to wait for: in the
 * legacy stream the wait itself orders other streams (ORD-007). Pure. */
static inline bool weir_model_wait_needs_op(const struct weir_model_stream *s)
{
    return s->cls == WEIR_STREAM_LEGACY;
}

/* Snapshot of what a wait on e must wait for now; false (nothing to wait for) when never recorded,
 * already complete, or recorded in `s` itself. The caller submits a WAIT op with it by
 * weir_model_submit_after. Shards: e. */
bool weir_model_event_wait_dep(const struct weir_model_event *e, const struct weir_model_stream *s,
                               struct weir_model_dep *dep);
/* cudaEventQuery's rule: never recorded counts as complete. Shards: e. */
bool weir_model_event_is_complete(const struct weir_model_event *e);

/* ---- what the host waits for ---- */

/* Each fills points[] (at most `cap`) and returns how many there are in all (call again with more
 * room if > cap). Only points that do not hold yet are listed. */

/* cudaStreamSynchronize / Query: for the legacy stream also all blocking and per-thread streams of
 * the device, destroyed ones with pending work included, as measured. Shards: none; for legacy the
 * device's list. */
size_t weir_model_stream_targets(struct weir_model_stream *s, struct weir_model_point *points,
                                 size_t cap);
/* cudaDeviceSynchronize, cudaFree ...: every stream of the device, destroyed ones with pending work
 * included. Shards: the device's list. */
size_t weir_model_device_targets(struct weir_model *m, int device, struct weir_model_point *points,
                                 size_t cap);

/* ---- what calls do to the host ---- */

enum weir_mem_class {
    WEIR_MEM_PAGEABLE,
    WEIR_MEM_PINNED, /* cudaMallocHost, HostAlloc, HostRegister */
    WEIR_MEM_DEVICE,
    WEIR_MEM_MANAGED,
};

enum weir_host_wait {
    WEIR_HOST_NO_WAIT,       /* returns after submission */
    WEIR_HOST_WAIT_STAGED,   /* returns once the source is read; the destination may be later */
    WEIR_HOST_WAIT_COMPLETE, /* returns when the operation is complete */
    /* First synchronises with the stream (weir_model_stream_targets), then as STAGED: returns once
     * the source is read. Waiting for completion obeys this too where nothing can be staged (bytes
     * > WEIR_MODEL_STAGED_MAX). Differs from COMPLETE where the stream's next operation still waits
     * for the legacy stream (ptds probes). */
    WEIR_HOST_WAIT_STREAM_STAGED,
};

/* What the pageable sources of pending asynchronous copies may take in staging memory, together;
 * when it is used up the call waits for completion (the pool is the caller's to count). Probe
 * memcpyasync_pageable_threshold. */
#define WEIR_MODEL_STAGED_MAX ((size_t)2 << 20)

struct weir_copy_rule {
    uint8_t wait;     /* enum weir_host_wait */
    uint8_t strength; /* of that wait: GUARANTEED when the documentation promises it */
    uint16_t rule;    /* ORD number */
};

/* How a copy behaves towards the calling thread. `async`: a *Async form. Managed memory in an
 * *Async form with cudaMemcpyDefault counts as WEIR_MEM_DEVICE (as measured). Ref: "API
 * synchronization behavior" and oracle memcpyasync_*, sync_vs_*. Pure. */
struct weir_copy_rule weir_model_copy_rule(enum weir_mem_class src, enum weir_mem_class dst,
                                           size_t bytes, bool async);
/* The same by the documentation alone, where that leaves more room to the copy: the source of a
 * pageable copy to the device is captured whatever its size, and the call waits for no more
 * (ORD-061, ORD-067; not ORD-068). What the host may do with pageable memory after a call stays as
 * it is. Pure. */
struct weir_copy_rule weir_model_copy_rule_late(enum weir_mem_class src, enum weir_mem_class dst,
                                                size_t bytes, bool async);
/* The same for memset of the given memory. */
struct weir_copy_rule weir_model_memset_rule(enum weir_mem_class dst, bool async);

/* Calls beside copies that wait for a whole device. */
enum weir_host_call {
    WEIR_CALL_FREE,
    WEIR_CALL_FREE_HOST,
    WEIR_CALL_HOST_UNREGISTER,
    WEIR_CALL_FREE_ARRAY,
    WEIR_CALL_MALLOC,
    WEIR_CALL_MALLOC_HOST,
    WEIR_CALL_HOST_REGISTER,
    WEIR_CALL_STREAM_DESTROY,
    WEIR_CALL_EVENT_DESTROY,
    WEIR_CALL_MODULE_LOAD,
    WEIR_CALL_LAZY_LOAD, /* of a kernel, in the strict mode of that name */
    WEIR_CALL_DEVICE_RESET,
    WEIR_CALL_DEVICE_SYNCHRONIZE,
};

struct weir_call_rule {
    bool waits_for_device;
    uint8_t strength;
    uint16_t rule;
};

struct weir_call_rule weir_model_call_rule(enum weir_host_call call);

/* What an operation may use is given back by `call`: is that a mistake, because no document says
 * that the call waits for it? */
bool weir_model_free_needs_wait(enum weir_host_call call);

/* What managed memory is attached to. */
enum weir_attached { WEIR_ATTACHED_ALL, WEIR_ATTACHED_HOST, WEIR_ATTACHED_STREAM };

/* On devices without concurrent managed access: must the host keep away from such memory while a
 * kernel is active? own_stream: in the stream that the memory is attached to (ORD-092). */
bool weir_model_keeps_host_out(enum weir_attached attached, bool own_stream);

#endif
