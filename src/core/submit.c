/* Operations from submission to completion. The model says what may start; this file hands it to
 * the engines or runs it in place, and carries the model's messages between streams (model.h,
 * "Messages"). Next stage: device/device.h.
 *
 * An operation's memory belongs to its stream's free lists: taken and given back under the stream's
 * lock, which a submission and a completion hold anyway. A helping waiter counts as a reference
 * (wait.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "core/check.h"
#include "core/clock.h"
#include "core/copy.h"
#include "core/dependent.h"
#include "core/explore.h"
#include "core/fault_report.h"
#include "core/graph_run.h"
#include "core/ipc.h"
#include "core/late.h"
#include "core/nested.h"
#include "core/pages.h"
#include "core/poll.h"
#include "core/pool.h"
#include "core/submit.h"
#include "core/touch.h"
#include "core/trace.h"
#include "model/limits.h"

#define PARAMS_AT offsetof(struct weir_kernel_op, params)

const size_t weir_op_bytes[WEIR_OP_SIZES] = {
    [WEIR_OP_SMALL] = WEIR_ALIGN_UP(offsetof(struct weir_host_op, stream), 64),
    [WEIR_OP_MEDIUM] = WEIR_ALIGN_UP(PARAMS_AT + WEIR_MEDIUM_PARAMS, 64),
    [WEIR_OP_LARGE] = WEIR_ALIGN_UP(PARAMS_AT + WEIR_LARGE_PARAMS, 64),
};
_Static_assert(offsetof(struct weir_host_op, stream) <= 192, "a million of them are a million");
_Static_assert(sizeof(struct weir_record_op) <= 192 && sizeof(struct weir_graph_op) <= 192 &&
                   sizeof(struct weir_copy_op) <= 192 && sizeof(struct weir_kernel_op) <= 192,
               "SMALL");
_Static_assert(sizeof(struct weir_poll_op) <= PARAMS_AT + WEIR_MEDIUM_PARAMS &&
                   sizeof(struct weir_host_op) <= PARAMS_AT + WEIR_MEDIUM_PARAMS,
               "MEDIUM");
_Static_assert(offsetof(struct weir_job_op, job) == offsetof(struct weir_kernel_op, job) &&
                   offsetof(struct weir_job_op, job) == offsetof(struct weir_copy_op, job),
               "job");
/* Operations made at a time: of the small ones programs may queue a million. */
static const int op_chunk[WEIR_OP_SIZES] = {32, 16, 8};

/* ---- memory of operations ---- */

/* Streams live in mapped slots where a leak checker does not look, so the chunks hang together. */
struct op_chunk {
    struct op_chunk *next;
};

static void keep_chunk(struct op_chunk *chunk)
{
    chunk->next = atomic_load_explicit(&weir_core.op_chunks, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&weir_core.op_chunks, &chunk->next, chunk,
                                                  memory_order_release, memory_order_relaxed)) {
    }
}

static size_t op_stride(enum weir_op_size size)
{
    return weir_op_bytes[size] + (weir_check_follows() ? sizeof(struct weir_check_op) : 0);
}

static bool grow_locked(struct weir_op **list, enum weir_op_size size)
{
    size_t bytes = op_stride(size);
    char *chunk = weir_alloc_aligned(64, 64 + bytes * (size_t)op_chunk[size]);

    if (!chunk)
        return false;
    memset(chunk, 0, 64 + bytes * (size_t)op_chunk[size]);
    keep_chunk((struct op_chunk *)chunk);
    for (int i = 0; i < op_chunk[size]; i++) {
        struct weir_op *op = (struct weir_op *)(chunk + 64 + bytes * (size_t)i);

        op->size = (uint8_t)size;
        op->m.next = (struct weir_model_op *)*list;
        *list = op;
    }
    return true;
}

/* The cache line of p is about to be written, and another CPU may have it. */
static inline void prefetch_write(const void *p)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)p)); /* the builtin only reads */
#else
    __builtin_prefetch(p, 1);
#endif
}

static inline struct weir_op *pop_free(struct weir_op **list)
{
    struct weir_op *op = *list;

    if (op)
        *list = (struct weir_op *)op->m.next;
    return op;
}

/* Of small ones, those for the next submissions are on their way here already: the CPU that ran
 * them has them. */
static inline struct weir_op *take_near(struct weir_stream *s)
{
    struct weir_op **place = &s->near_ops[s->near_at++ % WEIR_NEAR_OPS];
    struct weir_op *op = *place, *next = pop_free(&s->free_ops[WEIR_OP_SMALL]);

    const char *then = (const char *)s->free_ops[WEIR_OP_SMALL];

    if (WEIR_LIKELY(then != NULL)) {
        for (size_t at = 0, end = op_stride(WEIR_OP_SMALL); at < end; at += 64)
            prefetch_write(then + at);
    }
    *place = next;
    return op;
}

static struct weir_op *take_locked(struct weir_stream *s, enum weir_op_size size)
{
    struct weir_op **list = &s->free_ops[size];
    struct weir_op *op = size == WEIR_OP_SMALL ? take_near(s) : NULL;

    if (WEIR_UNLIKELY(!op) && !(op = pop_free(list))) {
        if (!grow_locked(list, size))
            return NULL;
        op = pop_free(list);
    }
    op->refs = 1;
    op->m.fails = 0;
    op->m.kind = WEIR_OP_MARKER; /* until it is something: has no job */
    atomic_store_explicit(&op->dispatched, 0, memory_order_relaxed);
    op->m.stream = &s->m; /* weir_op_ctx */
    return op;
}

static bool add_job_locked(struct weir_stream *s)
{
    char *chunk = weir_alloc_aligned(64, 64 + WEIR_ALIGN_UP(sizeof(struct weir_job), 64));
    struct weir_job *job;

    if (!chunk)
        return false;
    memset(chunk, 0, 64 + WEIR_ALIGN_UP(sizeof(struct weir_job), 64));
    keep_chunk((struct op_chunk *)chunk);
    job = (struct weir_job *)(chunk + 64);
    job->next = s->free_jobs;
    s->free_jobs = job;
    s->has_job = true;
    return true;
}

void weir_op_attach_job_locked(struct weir_stream *s, struct weir_op *op)
{
    struct weir_job_op *o = (struct weir_job_op *)op;

    if (!weir_op_has_job(op->m.kind) || o->job)
        return;
    /* Without a helper that still looks at the operation before, its job is there. */
    if (WEIR_UNLIKELY(!s->free_jobs) && !add_job_locked(s))
        return;
    o->job = s->free_jobs;
    s->free_jobs = o->job->next;
}

/* The stream's oldest operation may have become ready. */
static inline void attach_to_head_locked(struct weir_stream *s)
{
    struct weir_op *op = (struct weir_op *)s->m.head;

    if (op && op->m.state == WEIR_OP_READY)
        weir_op_attach_job_locked(s, op);
}

void weir_op_unref_locked(struct weir_stream *s, struct weir_op *op)
{
    struct weir_op **list = &s->free_ops[op->size];

    if (--op->refs > 0)
        return;
    if (weir_op_has_job(op->m.kind)) {
        struct weir_job_op *o = (struct weir_job_op *)op;

        if (o->job) {
            o->job->next = s->free_jobs;
            s->free_jobs = o->job;
            o->job = NULL;
        }
    }
    op->m.next = (struct weir_model_op *)*list;
    *list = op;
}

/* ---- locks ---- */

static struct weir_model_stream *first_stream(const struct weir_context *ctx)
{
    return weir_core.model.devices[ctx->index].streams;
}

/* All streams of the device, the legacy one last; the caller holds the list's lock. */
static void lock_all_streams(struct weir_context *ctx)
{
    for (struct weir_model_stream *t = first_stream(ctx); t; t = t->device_next)
        weir_lock_acquire(&weir_stream_of(t)->lock);
    weir_lock_acquire(&ctx->legacy->lock);
}

static void unlock_all_streams(struct weir_context *ctx)
{
    weir_lock_release(&ctx->legacy->lock);
    for (struct weir_model_stream *t = first_stream(ctx); t; t = t->device_next)
        weir_lock_release(&weir_stream_of(t)->lock);
}

void weir_submit_lock(struct weir_stream *s)
{
    if (!weir_model_needs_all(&s->m)) {
        weir_lock_acquire(&s->lock);
        return;
    }
    weir_lock_acquire(&s->ctx->streams_lock);
    lock_all_streams(s->ctx);
}

void weir_submit_unlock(struct weir_stream *s)
{
    if (!weir_model_needs_all(&s->m)) {
        weir_lock_release(&s->lock);
        return;
    }
    unlock_all_streams(s->ctx);
    weir_lock_release(&s->ctx->streams_lock);
}

/* Both contexts, the lower one first. */
static void lock_pair(struct weir_context *a, struct weir_context *b)
{
    struct weir_context *low = a->index < b->index ? a : b, *high = low == a ? b : a;

    weir_lock_acquire(&low->streams_lock);
    weir_lock_acquire(&high->streams_lock);
    lock_all_streams(low);
    lock_all_streams(high);
}

static void unlock_pair(struct weir_context *a, struct weir_context *b)
{
    unlock_all_streams(a);
    unlock_all_streams(b);
    weir_lock_release(&a->streams_lock);
    weir_lock_release(&b->streams_lock);
}

/* ---- running ---- */

static void free_payload(struct weir_op *op)
{
    if (op->m.kind == WEIR_OP_KERNEL) {
        struct weir_kernel_op *kernel = (struct weir_kernel_op *)op;

        if (WEIR_UNLIKELY(kernel->job && kernel->job->kernel.launch.touches)) { /* not run */
            weir_touches_drop(kernel->job->kernel.launch.touches);
            kernel->job->kernel.launch.touches = NULL;
        }
        if (WEIR_UNLIKELY(kernel->job && kernel->job->kernel.launch.clock))
            weir_core_clock_end(&kernel->job->kernel);
        if (WEIR_UNLIKELY(kernel->has_heap)) {
            weir_free(kernel->heap.params);
            if (kernel->heap.workspace)
                (void)!weir_mem_free(WEIR_MEM_KIND_INTERNAL, kernel->heap.workspace); /* ours */
            kernel->has_heap = false;
        }
    } else if (weir_op_is_copy(op)) {
        struct weir_copy_op *copy = (struct weir_copy_op *)op;

        if (copy->staging_bytes) {
            weir_free((char *)(uintptr_t)copy->src);
            weir_staging_give(weir_op_ctx(op), copy->staging_bytes);
            copy->staging_bytes = 0;
        }
        weir_free(copy->shape);
        copy->shape = NULL;
    } else if (op->m.kind == WEIR_OP_GRAPH) {
        weir_graph_op_free((struct weir_graph_op *)op, false);
    }
}

/* Gives back the operations from first to last, which stand one behind the other; only the first
 * can have a job, and nobody else knows of them. */
static void give_run_locked(struct weir_stream *s, struct weir_op *first, struct weir_op *last)
{
    struct weir_op **list = &s->free_ops[last->size];
    struct weir_job_op *o = (struct weir_job_op *)first;

    WEIR_ASSERT(first->refs == 1 && last->refs == 1 && first->size == last->size);
    o->job->next = s->free_jobs;
    s->free_jobs = o->job;
    o->job = NULL;
    last->m.next = (struct weir_model_op *)*list;
    *list = first;
}

/* Those from first to op have run. True when sleepers have to be woken, after the lock is released.
 */
static bool complete_locked(struct weir_stream *s, struct weir_op *first, struct weir_op *op,
                            struct weir_model_out *out)
{
    weir_model_complete(&op->m, out);
    if (first == op)
        weir_op_unref_locked(s, op);
    else
        give_run_locked(s, first, op);
    attach_to_head_locked(s);
    s->linked = atomic_load_explicit(&s->m.last, memory_order_relaxed);
    if (WEIR_LIKELY(atomic_load_explicit(&s->m.completed, memory_order_relaxed) < s->wait_seq))
        return false;
    s->wait_seq = UINT64_MAX;
    atomic_fetch_add_explicit(&s->wake, 1, memory_order_release);
    return true;
}

static void complete_run(struct weir_op *first, struct weir_op *op, struct weir_model_out *out)
{
    struct weir_stream *s = weir_stream_of(op->m.stream);
    struct weir_nest *nest = s->nest;
    uint32_t count = (uint32_t)(op->m.seq - first->m.seq) + 1;
    bool wake;

    weir_lock_acquire(&s->lock);
    wake = complete_locked(s, first, op, out);
    weir_lock_release(&s->lock);
    if (wake) {
        weir_race_at(WEIR_RACE_COMPLETED);
        weir_futex_wake(&s->wake, INT_MAX);
    }
    if (WEIR_UNLIKELY(nest != NULL))
        weir_nested_over(nest, count);
}

static void complete(struct weir_op *op, struct weir_model_out *out)
{
    complete_run(op, op, out);
}

static bool runs_in_place(const struct weir_op *op)
{
    switch (op->m.kind) {
    case WEIR_OP_RECORD:
    case WEIR_OP_WAIT:
    case WEIR_OP_MARKER:
    case WEIR_OP_ALLOC:
    case WEIR_OP_FREE:
        return true;
    default:
        return false;
    }
}

static void run_in_place(struct weir_op *op)
{
    if (op->m.kind == WEIR_OP_RECORD) {
        struct weir_record_op *record = (struct weir_record_op *)op;
        struct weir_event *e = record->event;

        if (WEIR_UNLIKELY(record->shared != NULL))
            weir_ipc_event_complete(record->shared, record->shared_number);
        if (e) {
            weir_lock_acquire(&e->lock);
            if (e->generation ==
                record->generation) /* else recorded again, or destroyed, meanwhile */
                e->time_ns = weir_clock_ns();
            weir_lock_release(&e->lock);
        }
    } else if (op->m.kind == WEIR_OP_FREE) {
        weir_pool_finish_free(((struct weir_free_op *)op)->ptr);
    }
}

static struct weir_work *work_of(const struct weir_op *op, struct weir_job *job)
{
    return op->m.kind == WEIR_OP_KERNEL ? &job->kernel.work : &job->copy.work;
}

static struct weir_work *engine_work(struct weir_op *op)
{
    switch (op->m.kind) {
    case WEIR_OP_KERNEL:
    case WEIR_OP_COPY:
    case WEIR_OP_MEMSET:
        return work_of(op, ((struct weir_job_op *)op)->job);
    case WEIR_OP_HOST_FUNC:
    case WEIR_OP_CALLBACK:
        return &((struct weir_host_op *)op)->work.work;
    default:
        return NULL;
    }
}

struct weir_work *weir_op_work(struct weir_op *op)
{
    return engine_work(op);
}

/* A copy that met a bad host pointer leaves the device good: the call that waits for it is told, or
 * the next one that waits when none does. Anything else is the device's failure. */
static void fail(struct weir_op *op, enum weir_err status)
{
    struct weir_copy_op *copy = (struct weir_copy_op *)op;

    if (status != WEIR_ERR_INVALID_VALUE ||
        (op->m.kind != WEIR_OP_COPY && op->m.kind != WEIR_OP_MEMSET))
        weir_context_fail(weir_op_ctx(op), status);
    else if (copy->status)
        *copy->status = status;
    else
        atomic_store(&weir_op_ctx(op)->copy_error, (int)status);
}

/* In a failed context nothing runs, but for callbacks: they get the error (oracle
 * hostfunc_after_error). */
static bool ends_unrun(const struct weir_op *op)
{
    return WEIR_UNLIKELY(weir_context_error(weir_op_ctx(op))) && op->m.kind != WEIR_OP_CALLBACK;
}

static void fill_job(struct weir_op *op, struct weir_job *job)
{
    if (op->m.kind == WEIR_OP_KERNEL)
        weir_kernel_op_fill((struct weir_kernel_op *)op, job);
    else
        weir_copy_op_fill((struct weir_copy_op *)op, job);
}

/* What an engine needs. False: no memory, and op is over. */
static bool make_job(struct weir_op *op, struct weir_model_out *out)
{
    if (WEIR_UNLIKELY(!((struct weir_job_op *)op)->job)) {
        fail(op, WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "an operation's turn"));
        free_payload(op);
        complete(op, out);
        return false;
    }
    fill_job(op, ((struct weir_job_op *)op)->job);
    return true;
}

static void pages_done(const struct weir_op *op)
{
    if (op->m.kind == WEIR_OP_KERNEL)
        weir_pages_kernel_end(weir_stream_of(op->m.stream)->ctx->ordinal,
                              ((const struct weir_kernel_op *)op)->function->name);
}

static void report(const struct weir_op *op, struct weir_work *work, enum weir_err status)
{
    const struct weir_kernel_op *k = (const struct weir_kernel_op *)op;

    if (op->m.kind == WEIR_OP_KERNEL)
        weir_fault_report(weir_op_ctx(op), k->function, k->image,
                          WEIR_CONTAINER_OF(work, struct weir_kernel_work, work), status);
}

/* What has run is told, but for its completion, and that it is done to the checker. ran: of this
 * thread's run, or NULL. */
static void tell_ran(struct weir_op *op, struct weir_work *work, enum weir_err status,
                     struct weir_core_ran *ran)
{
    if (WEIR_UNLIKELY(status != WEIR_OK))
        report(op, work, status);
    if (weir_trace_enabled() && ran)
        weir_core_trace_ran(ran, op, work, status);
    else if (weir_trace_enabled())
        weir_core_trace_done(op, work, status);
    if (WEIR_UNLIKELY(atomic_load_explicit(&weir_pages_watching, memory_order_relaxed)))
        pages_done(op);
    if (weir_check_follows())
        weir_core_check_ran(op, work, status);
}

/* Those from first to op, one behind the other, have run, the last with this status. */
static void end_run(struct weir_op *first, struct weir_op *op, enum weir_err status,
                    struct weir_model_out *out)
{
    if (WEIR_UNLIKELY(status != WEIR_OK)) {
        weir_log(WEIR_LOG_INFO, "device %d: %s (%s)", weir_op_ctx(op)->ordinal,
                 weir_err_name(status), weir_err_message());
        fail(op, status);
    }
    free_payload(first); /* the others have nothing */
    complete_run(first, op, out);
}

static void end(struct weir_op *op, enum weir_err status, struct weir_model_out *out)
{
    end_run(op, op, status, out);
}

#define RUN_MOST 64 /* operations that are completed together */

/* Does op, a kernel or copy, need nothing before and after it has run that its like does not? */
static bool is_plain(const struct weir_op *op)
{
    const struct weir_kernel_op *kernel = (const struct weir_kernel_op *)op;
    const struct weir_copy_op *copy = (const struct weir_copy_op *)op;

    if (op->m.kind == WEIR_OP_KERNEL)
        return !kernel->has_heap && !(op->m.early & WEIR_EARLY_ASKS);
    return !copy->shape && !copy->staging_bytes && !copy->status && !copy->late;
}

/* The kernel behind op, or the copy behind a copy, that may run as soon as op has, without the
 * stream's lock in between, or NULL. It was submitted before the caller last held that, up to
 * `linked`, and is nobody else's until then. */
static struct weir_op *follower(uint64_t linked, const struct weir_op *op)
{
    struct weir_op *next;

    if (op->m.seq >= linked)
        return NULL;
    next = (struct weir_op *)op->m.next;
    if (next->m.kind != op->m.kind || next->size != op->size || !weir_model_may_pass(&next->m) ||
        !is_plain(next))
        return NULL;
    return next;
}

/* What is behind op is on its way while op runs: the CPU that submitted it has it. */
static void fetch_behind(uint64_t linked, const struct weir_op *op)
{
    if (op->m.seq >= linked)
        return;
    for (size_t at = 0; at < weir_op_bytes[WEIR_OP_SMALL]; at += 64)
        __builtin_prefetch((const char *)op->m.next + at);
}

#define FEW    8
#define LOOKS  4
#define PAUSES 20 /* of some 25 ns, before each look */

/* This thread does what op, a copy, is to do, and nothing else. */
static bool copies_alone(const struct weir_op *op)
{
    return weir_device_copies_alone(weir_op_ctx(op)->engines,
                                    (enum weir_engine)((const struct weir_copy_op *)op)->engine);
}

static bool may_pause(struct weir_stream *s, const struct weir_op *op)
{
    return op->m.kind == WEIR_OP_KERNEL ? weir_device_may_pause(s->ctx->engines) : copies_alone(op);
}

/* A worker that has nearly caught up with the thread that submits would take the stream's lines
 * from it at each operation. When nobody waits it lets a handful come together first, as long as
 * some still come. Returns s->linked, which changes on this thread alone until these have run: who
 * submits writes the line that it is in. */
static uint64_t let_more_come(struct weir_stream *s, const struct weir_op *op)
{
    uint64_t linked = s->linked, last = linked, before;
    int looks = 0;

    if (WEIR_LIKELY(linked - op->m.seq >= FEW) || weir_model_is_asked(&s->m))
        return linked;
    do {
        before = last;
        for (int i = 0; i < PAUSES; i++) {
            if (!may_pause(s, op) || weir_model_is_asked(&s->m))
                return linked;
            weir_cpu_relax();
        }
        last = atomic_load_explicit(&s->m.last, memory_order_relaxed);
    } while (last != before && last - op->m.seq < FEW && ++looks < LOOKS);
    weir_lock_acquire(&s->lock);
    linked = s->linked = atomic_load_explicit(&s->m.last, memory_order_relaxed);
    weir_lock_release(&s->lock);
    return linked;
}

/* What one thread does of a stream behind one another. */
struct run {
    struct weir_job *job;
    uint64_t time, *clock; /* when the last ended, while a trace is written */
    struct weir_core_ran ran;
    struct weir_check_done done;
};

static bool run_job(struct weir_device *engines, struct weir_op *op, struct run *r,
                    enum weir_err *status)
{
    if (op->m.kind == WEIR_OP_KERNEL)
        return weir_kernel_op_open((struct weir_kernel_op *)op, r->job) &&
               weir_device_run_next(engines, &r->job->kernel, r->clock,
                                    r->ran.count + 1 >= WEIR_CORE_RAN_MOST, status);
    return weir_device_copy_next(engines, &r->job->copy, r->clock, status);
}

/* To the checker they are told together, when they have all run; what each has touched is put down
 * now, as the next one takes its work. */
static void tell_here(struct weir_op *op, struct run *r, enum weir_err status)
{
    struct weir_work *work = work_of(op, r->job);

    tell_ran(op, work, status, &r->ran);
    if (weir_check_follows())
        weir_core_check_collect(&r->done, op, work, status);
}

/* Short kernels behind one that this thread has just run need not go through the engine's queue,
 * nor copies behind one. (What is watched tells the engine when it begins.) False: it must. */
static bool run_here(struct weir_op *first, struct weir_model_out *out)
{
    struct weir_stream *s = weir_stream_of(first->m.stream);
    struct weir_op *op = first, *next;
    struct run r;
    uint64_t linked;
    enum weir_err status;

    if (!weir_thread_still_waits() || weir_explore_enabled() ||
        atomic_load_explicit(&weir_pages_watching, memory_order_relaxed))
        return false;
    linked = let_more_come(s, first);
    r.job = ((struct weir_job_op *)first)->job;
    r.time = 0;
    r.clock = weir_trace_enabled() ? &r.time : NULL;
    r.ran.count = 0;
    if (!run_job(s->ctx->engines, first, &r, &status))
        return false;
    r.done.count = r.done.range_count = 0;
    tell_here(op, &r, status);
    for (int n = 1; n < RUN_MOST && status == WEIR_OK && (next = follower(linked, op)); n++) {
        fetch_behind(linked, next);
        if (!weir_model_pass(&op->m) || !weir_thread_still_waits() || ends_unrun(next))
            break;
        fill_job(next, r.job);
        if (!run_job(s->ctx->engines, next, &r, &status))
            break;
        op = next;
        tell_here(op, &r, status);
    }
    weir_core_trace_ran_flush(&r.ran);
    if (weir_check_follows())
        weir_core_check_told(&r.done);
    end_run(first, op, status, out);
    return true;
}

/* A kernel of s is ready, and no worker has time for it. */
static WEIR_NOINLINE void call_helper(struct weir_stream *s)
{
    bool sleeps;

    weir_lock_acquire(&s->lock);
    s->wants_help = true; /* for who is on the way to sleep */
    sleeps = s->wait_seq != UINT64_MAX;
    if (sleeps)
        atomic_fetch_add_explicit(&s->wake, 1, memory_order_release);
    weir_lock_release(&s->lock);
    if (sleeps)
        weir_futex_wake(&s->wake, 1);
}

/* Wakes a host thread that sleeps until s has come further, if what is ready in s is a kernel that
 * it can help with. It does, as it waits for that and does not give up before; and then it is awake
 * for the copy behind the kernel, and whatever comes next, which otherwise all wake a thread of
 * their own. */
static bool wake_waiter(struct weir_stream *s)
{
    const struct weir_op *op;
    bool wakes;

    if (atomic_load_explicit(&s->help_seq, memory_order_relaxed) <=
        atomic_load_explicit(&s->m.completed, memory_order_relaxed))
        return false;
    weir_lock_acquire(&s->lock);
    op = (const struct weir_op *)s->m.head;
    wakes = op && op->m.state == WEIR_OP_READY && op->m.kind == WEIR_OP_KERNEL && !s->naps &&
            op->m.seq <= atomic_load_explicit(&s->help_seq, memory_order_relaxed) &&
            atomic_load_explicit(&op->dispatched, memory_order_relaxed);
    if (wakes)
        atomic_fetch_add_explicit(&s->wake, 1, memory_order_release);
    weir_lock_release(&s->lock);
    if (wakes)
        weir_futex_wake(&s->wake, 1);
    return wakes;
}

void weir_submit_work(struct weir_device *engines, struct weir_work *work, struct weir_stream *s)
{
    if (WEIR_LIKELY(weir_device_submit_uncalled(engines, work))) /* work may be gone */
        return;
    if (!wake_waiter(s) && !weir_device_call(engines))
        call_helper(s);
}

#define NOW_BYTES ((size_t)256 << 10)

/* A copy that has closed pages of the program's. */
static bool closes_pages(const struct weir_op *op)
{
    return weir_op_is_copy(op) && weir_check_enabled() && weir_core_check_of(op)->closed;
}

/* To close pages, and to open them again, interrupts each CPU that runs a thread of the process:
 * for a small copy no other is woken. */
static bool copies_now(const struct weir_op *op, struct weir_work *work)
{
    struct weir_copy_work *w;

    if (!closes_pages(op))
        return false;
    w = WEIR_CONTAINER_OF(work, struct weir_copy_work, work);
    return w->width * w->height * w->depth <= NOW_BYTES &&
           weir_device_copy_now(weir_op_ctx(op)->engines, w);
}

/* op may start: the model found all its edges to hold. here: this thread is free to run it. */
static void start(struct weir_op *op, struct weir_model_out *out, bool here)
{
    struct weir_stream *s = weir_stream_of(op->m.stream);
    struct weir_work *work;

    if (runs_in_place(op)) {
        run_in_place(op);
        complete(op, out);
        return;
    }
    if (op->m.kind == WEIR_OP_GRAPH) { /* in a failed context as well: its nodes look themselves */
        ((struct weir_graph_op *)op)->start((struct weir_graph_op *)op);
        return;
    }
    if (WEIR_UNLIKELY(op->m.kind == WEIR_OP_KERNEL && (op->m.early & WEIR_EARLY_ASKS))) {
        enum weir_err status;
        unsigned early = weir_dependent_turn((struct weir_kernel_op *)op, &status);

        if (early & WEIR_MOMENT_ENDED) {
            if (status != WEIR_OK)
                fail(op, status);
            free_payload(op);
            complete(op, out);
        }
        if (early)
            return;
    }
    if (ends_unrun(op)) {
        free_payload(op);
        complete(op, out);
        return;
    }
    if (op->m.kind == WEIR_OP_POLL) {
        weir_poll_start((struct weir_poll_op *)op);
        return;
    }
    if (weir_op_has_job(op->m.kind) && !make_job(op, out))
        return;
    if (weir_explore_enabled() && weir_explore_hold_op(op))
        return;
    if (WEIR_UNLIKELY(op->m.kind == WEIR_OP_COPY && ((struct weir_copy_op *)op)->late) &&
        weir_late_hold((struct weir_copy_op *)op))
        return;
    if (here && run_here(op, out))
        return;
    work = engine_work(op);
    if (here && copies_now(op, work)) /* both may be gone */
        return;
    atomic_store_explicit(&op->dispatched, 1,
                          memory_order_release); /* pairs with find_helpable in wait.c */
    weir_submit_work(s->ctx->engines, work, s);
}

struct weir_work *weir_submit_release(struct weir_op *op)
{
    if (ends_unrun(op)) {
        weir_op_end(op, WEIR_OK);
        return NULL;
    }
    atomic_store_explicit(&op->dispatched, 1, memory_order_release);
    return engine_work(op);
}

static struct weir_op *pop(struct weir_model_op **first, struct weir_model_op ***tail)
{
    struct weir_model_op *op = *first;

    *first = op->out_next;
    if (!*first)
        *tail = first;
    return (struct weir_op *)op;
}

/* The messages that this thread carries out, while it does. */
static WEIR_TLS struct weir_model_out *carried;

/* Is this thread one that could run op, if it comes to that? */
static bool is_of_this_thread(const struct weir_op *op)
{
    return op->m.kind == WEIR_OP_KERNEL || closes_pages(op) ||
           (weir_op_is_copy(op) && copies_alone(op));
}

/* Carries out the model's messages until none is left. Holds no lock. Work that completes in place
 * is a loop here, never a recursion: chains of events, and of graphs, are as long as programs make
 * them. Of the kernels, or copies, the first is kept for this thread, until all others have been
 * started; when this is itself in the middle of something (not keeps), none. */
static void carry_out(struct weir_model_out *out, bool keeps)
{
    struct weir_op *kept = NULL;

    for (;;) {
        struct weir_op *op;
        struct weir_stream *own;

        if (out->ready) {
            op = pop(&out->ready, &out->ready_tail);
            if (keeps && !kept && is_of_this_thread(op))
                kept = op;
            else
                start(op, out, false);
            continue;
        }
        if (out->notified) {
            op = pop(&out->notified, &out->notified_tail);
        } else if (out->blocked) {
            struct weir_stream *other;
            bool subscribed;

            op = pop(&out->blocked, &out->blocked_tail);
            other = weir_stream_of(op->m.deps[op->m.dep_pos].point.stream);
            weir_lock_acquire(&other->lock);
            subscribed = weir_model_subscribe(&op->m);
            weir_lock_release(&other->lock);
            if (subscribed)
                continue;
        } else if (kept) {
            op = kept;
            kept = NULL;
            start(op, out, true);
            continue;
        } else {
            return;
        }
        own = weir_stream_of(op->m.stream);
        weir_lock_acquire(&own->lock);
        weir_model_resume(&op->m, out);
        attach_to_head_locked(own);
        own->linked = atomic_load_explicit(&own->m.last, memory_order_relaxed);
        weir_lock_release(&own->lock);
    }
}

static void pump(struct weir_model_out *out, bool keeps)
{
    struct weir_model_out *outer = carried;

    if (!out->ready && !out->notified && !out->blocked)
        return;
    carried = out;
    carry_out(out, keeps && !outer);
    carried = outer;
}

void weir_op_done(struct weir_work *work, enum weir_err status)
{
    struct weir_op *op = work->owner;

    if (op->m.kind == WEIR_OP_KERNEL && weir_nested_goes_on(work, status))
        return;
    tell_ran(op, work, status, NULL);
    if (weir_check_follows())
        weir_core_check_done(op, work, status);
    if (op->m.kind == WEIR_OP_KERNEL)
        weir_nested_forget(work);
    if (WEIR_UNLIKELY(op->m.kind == WEIR_OP_KERNEL && (op->m.early & WEIR_EARLY_ASKS)) &&
        weir_dependent_ended(op, status))
        return;
    weir_op_end(op, status);
}

static void end_now(struct weir_op *op, enum weir_err status, bool keeps)
{
    struct weir_model_out out;

    weir_model_out_init(&out);
    end(op, status, &out);
    pump(&out, keeps);
}

void weir_op_end(struct weir_op *op, enum weir_err status)
{
    if (carried)
        end(op, status, carried);
    else
        end_now(op, status, true);
}

void weir_op_end_at_once(struct weir_op *op, enum weir_err status)
{
    end_now(op, status, false);
}

/* ---- submission ---- */

void weir_submit_wait_for_room(struct weir_stream *s)
{
    uint64_t depth = (uint64_t)weir_core.config.strict.queue_depth, start;
    struct weir_model_point point;

    /* Where streams share queues most operations have a gate in front of them. ORD-085 */
    if (WEIR_LIKELY(!weir_model_is_full(&s->m, s->queues ? 2 * depth : depth, &point)))
        return;
    start = weir_context_sync_begin(WEIR_SYNC_QUEUE_FULL);
    weir_wait_points(&point, 1);
    weir_context_sync_end(s->ctx, WEIR_SYNC_QUEUE_FULL, start);
}

struct weir_op *weir_submit_begin(struct weir_stream *s, enum weir_op_kind kind,
                                  enum weir_op_size size)
{
    struct weir_op *op;

    /* (A graph's caller may hold a lock: it has waited before.) */
    if (kind != WEIR_OP_GRAPH && !s->nest && weir_model_takes_place(kind))
        weir_submit_wait_for_room(s);
    weir_submit_lock(s);
    op = take_locked(s, size);
    if (WEIR_UNLIKELY(!op)) {
        weir_submit_unlock(s);
        return NULL;
    }
    if (weir_op_has_job(kind)) {
        if (WEIR_UNLIKELY(!s->has_job) && !add_job_locked(s)) {
            weir_op_unref_locked(s, op);
            weir_submit_unlock(s);
            return NULL;
        }
        ((struct weir_job_op *)op)->job = NULL;
    }
    op->m.kind = (uint8_t)kind;
    return op;
}

/* After the model took op: runs it under the locks already held when it can run in place now. True:
 * wake sleepers. */
static bool run_now_locked(struct weir_stream *s, struct weir_op *op, struct weir_model_out *out)
{
    if (out->ready != &op->m || !runs_in_place(op) || s->nest)
        return false;
    weir_model_out_init(out);
    run_in_place(op);
    return complete_locked(s, op, op, out);
}

#define GATE_DEPS 8

/* What op must follow in the queue that s shares (ORD-090). */
static bool queue_next(struct weir_stream *s, const struct weir_op *op, struct weir_model_dep *dep)
{
    struct weir_hw_queues *all = s->queues;
    bool copies = op->m.kind == WEIR_OP_COPY, found;

    weir_lock_acquire(&all->lock);
    found = weir_model_queue_next(&all->items[copies][s->id % (uint64_t)all->count], &s->m, dep);
    weir_lock_release(&all->lock);
    return found;
}

/* op with what its queue adds: behind a gate, which stands for its start. */
static WEIR_NOINLINE enum weir_model_result
submit_queued_locked(struct weir_stream *s, struct weir_op *op, const struct weir_model_dep *deps,
                     size_t count, struct weir_model_out *out, bool *wake)
{
    struct weir_model_dep here[GATE_DEPS], *all = here;
    struct weir_op *gate = NULL;
    enum weir_model_result result;

    if (count >= GATE_DEPS)
        all = weir_alloc((count + 1) * sizeof *all);
    if (op->m.kind != WEIR_OP_WAIT)
        gate = take_locked(s, WEIR_OP_SMALL);
    if (!all || (op->m.kind != WEIR_OP_WAIT && !gate)) {
        if (all != here)
            weir_free(all);
        if (gate)
            weir_op_unref_locked(s, gate);
        return WEIR_MODEL_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++)
        all[i] = deps[i];
    count += queue_next(s, op, &all[count]);
    if (!gate) {
        result = weir_model_submit_after(&s->m, &op->m, all, count, out);
    } else {
        gate->m.kind = WEIR_OP_MARKER;
        result = weir_model_submit_after(&s->m, &gate->m, all, count, out);
        if (result != WEIR_MODEL_OK)
            weir_op_unref_locked(s, gate);
    }
    if (all != here)
        weir_free(all);
    if (!gate || result != WEIR_MODEL_OK)
        return result;
    if (weir_trace_enabled())
        weir_core_trace_op(gate);
    *wake = run_now_locked(s, gate, out);
    return weir_model_submit(&s->m, &op->m, out); /* its edges are the gate's: needs no memory */
}

enum weir_err weir_submit_end(struct weir_stream *s, struct weir_op *op,
                              const struct weir_model_dep *deps, size_t count,
                              struct weir_model_point *point, bool *ready)
{
    struct weir_model_out out;
    enum weir_model_result result;
    bool wake, gate_wakes = false;

    weir_model_out_init(&out);
    if (WEIR_UNLIKELY(s->queues != NULL) && weir_model_takes_queue((enum weir_op_kind)op->m.kind))
        result = submit_queued_locked(s, op, deps, count, &out, &gate_wakes);
    else
        result = weir_model_submit_after(&s->m, &op->m, deps, count, &out);
    if (WEIR_UNLIKELY(result != WEIR_MODEL_OK)) {
        if (op->m.kind == WEIR_OP_GRAPH)
            weir_graph_op_free((struct weir_graph_op *)op, true);
        else
            free_payload(op);
        weir_op_unref_locked(s, op);
        weir_submit_unlock(s);
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "edges of an operation");
    }
    if (weir_trace_enabled())
        weir_core_trace_op(op);
    if (weir_check_follows())
        weir_core_check_op(op);
    if (weir_explore_enabled())
        weir_explore_submitted(op);
    if (point)
        *point = (struct weir_model_point){.stream = &s->m, .seq = op->m.seq};
    if (ready)
        *ready = out.ready == &op->m;
    wake = run_now_locked(s, op, &out) || gate_wakes;
    attach_to_head_locked(s);
    weir_submit_unlock(s);
    if (wake)
        weir_futex_wake(&s->wake, INT_MAX);
    pump(&out, true);
    return WEIR_OK;
}

enum weir_err weir_submit_end_record(struct weir_stream *s, struct weir_op *op,
                                     struct weir_event *e)
{
    struct weir_model_out out;
    enum weir_model_result result;
    bool wake = false;

    weir_model_out_init(&out);
    weir_lock_acquire(&e->lock);
    result = weir_model_record(&e->m, &s->m, op ? &op->m : NULL, &out);
    if (result == WEIR_MODEL_OK) {
        e->generation++;
        if (op) {
            ((struct weir_record_op *)op)->event = e->flags & WEIR_EVENT_DISABLE_TIMING ? NULL : e;
            ((struct weir_record_op *)op)->generation = e->generation;
            ((struct weir_record_op *)op)->shared = e->shared;
            if (WEIR_UNLIKELY(e->shared != NULL))
                ((struct weir_record_op *)op)->shared_number = e->shared_number =
                    atomic_fetch_add(&e->shared->recorded, 1) + 1;
        }
        if (weir_trace_enabled()) {
            if (op)
                weir_core_trace_op(op);
            weir_trace_event_record(weir_core_trace_event_id(e), s->id, e->m.point.seq, e->flags);
        }
        if (weir_check_follows())
            weir_check_record(e, s, op != NULL);
    }
    weir_lock_release(&e->lock);
    if (WEIR_UNLIKELY(result != WEIR_MODEL_OK)) {
        if (op)
            weir_op_unref_locked(s, op);
        weir_submit_unlock(s);
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "edges of an event record");
    }
    if (op)
        wake = run_now_locked(s, op, &out);
    weir_submit_unlock(s);
    if (wake)
        weir_futex_wake(&s->wake, INT_MAX);
    pump(&out, true);
    return WEIR_OK;
}

struct weir_op *weir_submit_begin_peer(struct weir_stream *s, struct weir_stream *other,
                                       struct weir_op *markers[2])
{
    struct weir_op *op;

    weir_submit_wait_for_room(s);
    lock_pair(s->ctx, other->ctx);
    op = s->has_job || add_job_locked(s) ? take_locked(s, WEIR_OP_SMALL) : NULL;
    markers[0] = take_locked(other, WEIR_OP_SMALL);
    markers[1] = take_locked(other, WEIR_OP_SMALL);
    if (op && markers[0] && markers[1]) {
        op->m.kind = WEIR_OP_COPY;
        ((struct weir_job_op *)op)->job = NULL;
        markers[0]->m.kind = markers[1]->m.kind = WEIR_OP_MARKER;
        return op;
    }
    if (op)
        weir_op_unref_locked(s, op);
    for (int i = 0; i < 2; i++) {
        if (markers[i])
            weir_op_unref_locked(other, markers[i]);
    }
    unlock_pair(s->ctx, other->ctx);
    return NULL;
}

enum weir_err weir_submit_end_peer(struct weir_stream *s, struct weir_stream *other,
                                   struct weir_op *op, struct weir_op *markers[2],
                                   struct weir_model_point *point)
{
    struct weir_model_out out;
    enum weir_model_result result;

    weir_model_out_init(&out);
    result = weir_model_submit_peer(&s->m, &op->m, &other->m, &markers[0]->m, &markers[1]->m, &out);
    if (result != WEIR_MODEL_OK) {
        free_payload(op);
        weir_op_unref_locked(s, op);
        weir_op_unref_locked(other, markers[0]);
        weir_op_unref_locked(other, markers[1]);
    } else {
        *point = (struct weir_model_point){.stream = &s->m, .seq = op->m.seq};
        if (weir_trace_enabled()) {
            weir_core_trace_op(markers[0]);
            weir_core_trace_op(op);
            weir_core_trace_op(markers[1]);
        }
        if (weir_check_follows())
            weir_core_check_peer(op, other);
        if (weir_explore_enabled())
            weir_explore_submitted(op);
        attach_to_head_locked(s);
    }
    unlock_pair(s->ctx, other->ctx);
    if (result != WEIR_MODEL_OK)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "edges of a copy between devices");
    pump(&out, true);
    return WEIR_OK;
}
