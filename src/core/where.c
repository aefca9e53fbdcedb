/* See where.h. First every stream with work left is locked for a moment and the oldest operation
 * that has not ended is described; then threads (where_threads.c); then writers of what kernels
 * poll; then the cycles (where_cycle.c). What is printed may be torn between streams: it is meant
 * for a standstill.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/where.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/kernel_name.h"
#include "base/thread.h"
#include "core/explore.h"
#include "core/graph_run.h"
#include "core/memop.h"
#include "core/module.h"
#include "core/poll.h"
#include "core/trace.h"
#include "core/where_int.h"
#include "memory/memory.h"

#define WRITERS_MAX 4096 /* operations of a stream that are looked at for what they write */

/* ---- text ---- */

void weir_where_put(struct where_text *t, const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(t->at + t->used, t->room - t->used, fmt, ap);
    va_end(ap);
    if (n > 0)
        t->used += WEIR_MIN((size_t)n, t->room - t->used - 1);
}

static double seconds(uint64_t from, uint64_t to)
{
    return to > from ? (double)(to - from) * 1e-9 : 0.0;
}

/* ---- operations; their stream is locked ---- */

static struct weir_work *work_of(struct weir_op *op)
{
    return atomic_load_explicit(&op->dispatched, memory_order_acquire) ? weir_op_work(op) : NULL;
}

/* Of an operation whose turn has come and that no engine was given: what keeps it. */
static void put_unqueued(struct where_text *t, const struct where_stream *out)
{
    if (out->state != WEIR_OP_READY)
        return;
    if (weir_explore_enabled())
        weir_where_put(t, ", waits for its turn in the schedule");
    else if (out->kind == WEIR_OP_KERNEL)
        weir_where_put(t, ", runs on one thread, as a short one");
}

static void describe_kernel(const struct where *w, struct where_stream *out,
                            struct weir_kernel_op *op)
{
    struct where_text t = {out->what, 0, sizeof out->what};
    char name[100];
    struct weir_kernel_view v;

    weir_where_put(&t, "kernel %s", weir_kernel_plain_name(op->function->name, name, sizeof name));
    if (!work_of(&op->op)) {
        put_unqueued(&t, out);
        return;
    }
    if (!weir_device_view_kernel(weir_op_ctx(&op->op)->engines, &op->job->kernel, &v)) {
        weir_where_put(&t, ", whose engine is locked");
        return;
    }
    out->polls = v.polls && v.done < v.blocks;
    if (v.compiles)
        weir_where_put(&t, ", is being compiled");
    else if (!v.begun)
        weir_where_put(&t, ", no block has begun");
    else
        weir_where_put(&t,
                       ", runs since %.1f s: of %" PRIu64 " blocks %" PRIu64 " have begun, %" PRIu64
                       " ended%s",
                       seconds(v.since_ns, w->now_ns), v.blocks, v.begun, v.done,
                       out->polls ? "; it polls memory" : "");
    if (out->polls)
        out->pointer_count = weir_core_kernel_pointers(op, out->pointers);
}

static void describe_host(const struct where *w, struct where_stream *out, struct weir_host_op *op)
{
    struct where_text t = {out->what, 0, sizeof out->what};
    struct weir_work *work = work_of(&op->op);
    uint64_t since;
    uint32_t id;

    weir_where_put(&t, op->op.m.kind == WEIR_OP_CALLBACK ? "callback %p" : "host function %p",
                   op->fn);
    if (!work)
        return;
    out->host_runs = weir_device_view_host(weir_op_ctx(&op->op)->engines, &id, &since) == work;
    out->host_queued = !out->host_runs;
    if (out->host_runs)
        weir_where_put(&t, ", runs since %.1f s", seconds(since, w->now_ns));
    else
        weir_where_put(&t, ", waits for the thread of host functions");
}

/* Stands as long as the stream is locked (weir_graph_op_free); NULL when the launch does not run.
 */
static struct weir_plan *running_plan(struct weir_op *op)
{
    return op->m.state == WEIR_OP_READY ? ((struct weir_graph_op *)op)->plan : NULL;
}

/* The host node of a graph that runs now. */
static bool runs_host_node(const struct weir_run *run, const struct weir_work *running)
{
    for (uint32_t i = 0; i < run->count; i++)
        if (run->items[i].kind == WEIR_ITEM_HOST && &run->items[i].host.work.work == running)
            return true;
    return false;
}

static void describe_graph(struct where_stream *out, struct weir_op *op)
{
    struct where_text t = {out->what, 0, sizeof out->what};
    struct weir_plan *plan = running_plan(op);
    const struct weir_work *running;
    struct weir_item *item;
    uint64_t since;
    uint32_t id;

    weir_where_put(&t, "graph launch");
    if (!plan)
        return;
    weir_where_put(&t, ", runs: %u of %u nodes have not ended",
                   atomic_load_explicit(&plan->main.remaining, memory_order_relaxed),
                   plan->main.count);
    item = atomic_load_explicit(&plan->submitted, memory_order_relaxed);
    if (item && item->kind == WEIR_ITEM_KERNEL) {
        char name[60];

        weir_where_put(&t, "; the last given to an engine: kernel %s",
                       weir_kernel_plain_name(item->kernel.function->name, name, sizeof name));
    }
    running = weir_device_view_host(weir_op_ctx(op)->engines, &id, &since);
    if (running && runs_host_node(&plan->main, running)) {
        out->host_runs = true;
        weir_where_put(&t, "; a host node runs");
    }
}

static bool is_wait(const struct weir_memop *op)
{
    return op->kind == WEIR_MEMOP_WAIT_32 || op->kind == WEIR_MEMOP_WAIT_64;
}

static bool is_write(const struct weir_memop *op)
{
    return op->kind == WEIR_MEMOP_WRITE_32 || op->kind == WEIR_MEMOP_WRITE_64;
}

static void describe_poll(struct where_stream *out, const struct weir_poll_op *op)
{
    struct where_text t = {out->what, 0, sizeof out->what};
    unsigned count = 0;
    const struct weir_memop *ops = weir_memop_peek(&op->poll, &count);

    if (!ops)
        weir_where_put(&t, "wait for another process");
    for (unsigned i = 0; i < count; i++) {
        const char *comma = t.used ? ", " : "";

        if (is_write(&ops[i]))
            weir_where_put(&t, "%swrite of %" PRIu64 " at %#" PRIx64, comma, ops[i].value,
                           ops[i].address);
        else if (is_wait(&ops[i]))
            weir_where_put(&t, "%swait for the value %" PRIu64 " at %#" PRIx64, comma, ops[i].value,
                           ops[i].address);
        if (is_wait(&ops[i]) && out->state == WEIR_OP_READY && out->pointer_count < WHERE_POINTERS)
            out->pointers[out->pointer_count++] = ops[i].address;
    }
    out->polls = out->pointer_count > 0;
}

static void describe_copy(struct where_stream *out, struct weir_copy_op *op)
{
    static const char *const directions[] = {
        [WEIR_ENGINE_H2D] = "host to device",
        [WEIR_ENGINE_D2H] = "device to host",
        [WEIR_ENGINE_D2D] = "on the device",
    };
    struct where_text t = {out->what, 0, sizeof out->what};
    struct weir_copy_work copy;
    size_t bytes;

    weir_copy_op_view(op, &copy);
    bytes = copy.width * copy.height * copy.depth;
    if (copy.memset)
        weir_where_put(&t, "memset of %zu bytes at %p", bytes, (void *)copy.dst);
    else
        weir_where_put(&t, "copy of %zu bytes to %p, %s", bytes, (void *)copy.dst,
                       op->engine < WEIR_ARRAY_SIZE(directions) ? directions[op->engine] : "?");
    if (work_of(&op->op))
        return;
    if (out->state == WEIR_OP_READY && !copy.memset && op->late)
        weir_where_put(&t, ", held back (--late-dma)");
    else
        put_unqueued(&t, out);
}

static void describe(const struct where *w, struct where_stream *out, struct weir_op *op)
{
    switch (op->m.kind) {
    case WEIR_OP_KERNEL:
        describe_kernel(w, out, (struct weir_kernel_op *)op);
        break;
    case WEIR_OP_COPY:
    case WEIR_OP_MEMSET:
        describe_copy(out, (struct weir_copy_op *)op);
        break;
    case WEIR_OP_HOST_FUNC:
    case WEIR_OP_CALLBACK:
        describe_host(w, out, (struct weir_host_op *)op);
        break;
    case WEIR_OP_GRAPH:
        describe_graph(out, op);
        break;
    case WEIR_OP_POLL:
        describe_poll(out, (struct weir_poll_op *)op);
        break;
    default:
        snprintf(out->what, sizeof out->what, "%s",
                 op->m.kind == WEIR_OP_RECORD  ? "event record"
                 : op->m.kind == WEIR_OP_WAIT  ? "event wait"
                 : op->m.kind == WEIR_OP_ALLOC ? "allocation"
                 : op->m.kind == WEIR_OP_FREE  ? "free"
                                               : "marker of order");
        break;
    }
}

/* ---- streams ---- */

/* When it is, the stream was made before, to be seen by this thread, too. */
static bool is_pending(const struct weir_stream *s)
{
    return atomic_load_explicit(&s->m.completed, memory_order_acquire) <
           atomic_load_explicit(&s->m.last, memory_order_acquire);
}

static void name_stream(struct where_stream *out, const struct weir_stream *s)
{
    const char *device = weir_core.device_count > 1 ? " of device " : "";
    char number[12] = "";

    if (*device)
        snprintf(number, sizeof number, "%d", s->ctx->ordinal);
    if (s->m.cls == WEIR_STREAM_LEGACY)
        snprintf(out->name, sizeof out->name, "the default stream%s%s", device, number);
    else if (s->m.cls == WEIR_STREAM_PER_THREAD)
        snprintf(out->name, sizeof out->name, "per-thread default stream %" PRIu64 "%s%s", s->id,
                 device, number);
    else
        snprintf(out->name, sizeof out->name, "stream %" PRIu64 "%s%s", s->id, device, number);
}

/* The oldest operation that has not ended. Short kernels that one thread runs in a row stay in the
 * list until the row is through (submit.c), and all but the first look as if they waited. The
 * stream is locked. */
static struct weir_op *oldest_left(const struct weir_stream *s)
{
    uint64_t completed = atomic_load_explicit(&s->m.completed, memory_order_acquire);
    struct weir_model_op *op = s->m.head;

    while (op && op->seq <= completed)
        op = op->next;
    return (struct weir_op *)op;
}

static void look_at_stream(const struct where *w, struct where_stream *out, struct weir_stream *s)
{
    struct weir_op *op;

    *out = (struct where_stream){.stream = s, .writer_stream = WHERE_NONE};
    if (!weir_lock_try_patiently(&s->lock)) {
        snprintf(out->name, sizeof out->name, "a stream");
        out->locked = true;
        return;
    }
    name_stream(out, s);
    op = oldest_left(s);
    out->last = atomic_load_explicit(&s->m.last, memory_order_relaxed);
    if (op) {
        out->head = op->m.seq;
        out->op = op;
        out->kind = op->m.kind;
        out->state = &op->m == s->m.head ? op->m.state : WEIR_OP_READY;
        if (op->m.state == WEIR_OP_BLOCKED && op->m.dep_pos < op->m.dep_count)
            out->dep = op->m.deps[op->m.dep_pos];
        describe(w, out, op);
    }
    weir_lock_release(&s->lock);
}

static void collect_streams(struct where *w)
{
    uint32_t used = weir_slots_used(&weir_core.streams);

    for (uint32_t i = 0; i < used; i++) {
        struct weir_stream *s = weir_slots_at(&weir_core.streams, i);

        if (!is_pending(s))
            continue;
        if (w->stream_count == WHERE_STREAMS) {
            w->left_out++;
            continue;
        }
        look_at_stream(w, &w->streams[w->stream_count], s);
        if (w->streams[w->stream_count].head || w->streams[w->stream_count].locked)
            w->stream_count++;
    }
}

int weir_where_stream_index(const struct where *w, const struct weir_model_stream *s)
{
    for (size_t i = 0; s && i < w->stream_count; i++)
        if (&w->streams[i].stream->m == s)
            return (int)i;
    return WHERE_NONE;
}

/* ---- who would write what somebody polls ---- */

static bool is_same_memory(uint64_t a, uint64_t b)
{
    struct weir_mem_info info;

    return a == b || (weir_mem_find((const void *)(uintptr_t)a, &info) && b >= info.base &&
                      b - info.base < info.bytes);
}

static size_t addresses_written(const struct weir_poll_op *op, uint64_t out[WHERE_POINTERS])
{
    unsigned count = 0;
    const struct weir_memop *ops = weir_memop_peek(&op->poll, &count);
    size_t n = 0;

    for (unsigned i = 0; i < count && n < WHERE_POINTERS; i++)
        if (is_write(&ops[i]))
            out[n++] = ops[i].address;
    return n;
}

/* May op write memory that `reader` looks at? */
static bool may_write(struct weir_op *op, const struct where_stream *reader)
{
    uint64_t to[WHERE_POINTERS];
    size_t count = 0;

    _Static_assert(WHERE_POINTERS >= WEIR_KERNEL_POINTERS, "room for a kernel's pointers");
    if (weir_op_is_copy(op))
        to[count++] = (uint64_t)(uintptr_t)((struct weir_copy_op *)op)->dst;
    else if (op->m.kind == WEIR_OP_POLL)
        count = addresses_written((struct weir_poll_op *)op, to);
    else if (op->m.kind == WEIR_OP_KERNEL)
        count = weir_core_kernel_pointers((struct weir_kernel_op *)op, to);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < reader->pointer_count; k++)
            if (is_same_memory(reader->pointers[k], to[i]))
                return true;
    return false;
}

/* Does the head of stream `from` wait, through others, for `to`? */
static bool leads_to(const struct where *w, int from, int to)
{
    for (size_t steps = 0; from != WHERE_NONE && steps <= w->stream_count; steps++) {
        if (from == to)
            return true;
        from = weir_where_stream_index(w, w->streams[from].dep.point.stream);
    }
    return false;
}

static bool look_for_writer(struct where *w, int reader, int in)
{
    struct where_stream *r = &w->streams[reader], *s = &w->streams[in], found = *r;
    bool ok = false;
    int n = 0;

    if (s->locked || !leads_to(w, in, reader) || !weir_lock_try_patiently(&s->stream->lock))
        return false;
    for (struct weir_model_op *m = (struct weir_model_op *)oldest_left(s->stream);
         m && !ok && n < WRITERS_MAX; m = m->next, n++) {
        if ((reader == in && m->seq == r->head) || !may_write((struct weir_op *)m, r))
            continue;
        ok = true;
        r->writer_stream = in;
        r->writer_seq = m->seq;
        found.what[0] = 0;
        found.kind = m->kind;
        found.state = m->state;
        describe(w, &found, (struct weir_op *)m);
        memcpy(r->writer_what, found.what, sizeof r->writer_what);
    }
    weir_lock_release(&s->stream->lock);
    return ok;
}

static void look_for_writers(struct where *w)
{
    for (size_t i = 0; i < w->stream_count; i++) {
        if (!w->streams[i].polls || look_for_writer(w, (int)i, (int)i))
            continue;
        for (size_t k = 0; k < w->stream_count; k++)
            if (k != i && look_for_writer(w, (int)i, (int)k))
                break;
    }
}

/* ---- the report ---- */

/* What is polled, and no stream that waits for it would write: the program's own threads may. */
static void print_host_memory(const struct where_stream *s, struct where_text *t)
{
    static const char *const kinds[] = {[WEIR_MEM_KIND_PINNED] = "pinned",
                                        [WEIR_MEM_KIND_REGISTERED] = "registered",
                                        [WEIR_MEM_KIND_MANAGED] = "managed"};
    struct weir_mem_info info;

    for (size_t i = 0; s->polls && s->writer_stream == WHERE_NONE && i < s->pointer_count; i++) {
        if (!weir_mem_find((const void *)(uintptr_t)s->pointers[i], &info) ||
            info.kind >= WEIR_ARRAY_SIZE(kinds) || !kinds[info.kind])
            continue;
        weir_where_put(t,
                       "    the %s memory at %#" PRIx64
                       ", which it was given, the program's threads may write\n",
                       kinds[info.kind], s->pointers[i]);
        return;
    }
}

static void print_stream(const struct where *w, const struct where_stream *s, struct where_text *t)
{
    int other = weir_where_stream_index(w, s->dep.point.stream);

    if (s->locked) {
        weir_where_put(t, "%s: is locked, by a call that is at work on it\n", s->name);
        return;
    }
    weir_where_put(t, "%s: %" PRIu64 " operation%s left\n  #%" PRIu64 " %s\n", s->name,
                   s->last - s->head + 1, s->last == s->head ? "" : "s", s->head, s->what);
    if (s->state == WEIR_OP_BLOCKED && s->dep.point.stream)
        weir_where_put(t, "    waits for #%" PRIu64 " of %s (ORD-%03u)\n", s->dep.point.seq,
                       other == WHERE_NONE ? "a stream that has just gone on"
                                           : w->streams[other].name,
                       s->dep.rule);
    print_host_memory(s, t);
}

/* Why a call waits that people may think does not; "" otherwise. */
static const char *reason(unsigned why)
{
    static const char *const reasons[1 + WEIR_SYNC_COUNT] = {
        [1 + WEIR_SYNC_FREE] = " (freeing waits for the device; ORD-080, ORD-087)",
        [1 + WEIR_SYNC_PAGEABLE_COPY] = " (its memory is pageable; ORD-068, ORD-069)",
        [1 + WEIR_SYNC_MANAGED_COPY] = " (its memory is managed; ORD-071)",
        [1 + WEIR_SYNC_HOST_COPY] = " (it copies from host to host; ORD-070)",
        [1 + WEIR_SYNC_STAGING_FULL] = " (no staging memory is left; ORD-086)",
        [1 + WEIR_SYNC_QUEUE_FULL] = " (the stream's queue is full; ORD-085)",
        [1 + WEIR_SYNC_LAZY_LOAD] = " (the first use of a kernel; ORD-091)",
    };

    return why < WEIR_ARRAY_SIZE(reasons) && reasons[why] ? reasons[why] : "";
}

static void print_thread(const struct where *w, const struct where_thread *h, struct where_text *t)
{
    int stream = weir_where_stream_index(w, h->stream);

    if (h->host_of != WHERE_NONE)
        weir_where_put(t, "%s runs host functions of device %d", h->name, h->host_of);
    else if (h->call)
        weir_where_put(t, "%s is in %s", h->name, h->call);
    else
        weir_where_put(t, "%s", h->name);
    if (h->since_ns)
        weir_where_put(t, ", since %.1f s", seconds(h->since_ns, w->now_ns));
    if (stream != WHERE_NONE)
        weir_where_put(t, ": waits for #%" PRIu64 " of %s%s%s", h->seq, w->streams[stream].name,
                       reason(h->why), h->since_ns ? "" : ", and helps to run it");
    else if (h->owner)
        weir_where_put(t, ": waits for %s thread %u", h->joins ? "the end of" : "a mutex of",
                       h->owner);
    else if (h->asleep)
        weir_where_put(t, ": sleeps on %#" PRIx64 " (a condition variable, a semaphore, a mutex)",
                       h->futex);
    weir_where_put(t, "\n");
}

static void print(struct where *w, struct where_text *t)
{
    for (size_t i = 0; i < w->stream_count; i++)
        print_stream(w, &w->streams[i], t);
    if (w->left_out)
        weir_where_put(t, "and %zu more streams\n", w->left_out);
    if (!w->stream_count)
        weir_where_put(t, "no stream has work left\n");
    for (size_t i = 0; i < w->thread_count; i++)
        print_thread(w, &w->threads[i], t);
    if (!w->thread_count)
        weir_where_put(t, "no thread of the program is in a CUDA call\n");
    if (!weir_where_cycles(w, t))
        weir_where_put(t, "no cycle found\n");
}

size_t weir_where_report(char *out, size_t room)
{
    struct where_text t = {out, 0, room};
    struct where *w = weir_calloc(1, sizeof *w);

    out[0] = 0;
    if (w)
        w->streams = weir_calloc(WHERE_STREAMS, sizeof *w->streams);
    if (!w || !w->streams) {
        weir_free(w);
        weir_where_put(&t, "no memory to look around\n");
        return t.used;
    }
    w->now_ns = weir_clock_ns();
    collect_streams(w);
    weir_where_threads(w);
    look_for_writers(w);
    print(w, &t);
    weir_free(w->streams);
    weir_free(w);
    return t.used;
}

bool weir_where_deadlock(char *out, size_t room, uint32_t *thread, const struct weir_op **op)
{
    struct where_text t = {out, 0, room};
    struct where *w = weir_calloc(1, sizeof *w);
    bool found = false;

    out[0] = 0;
    if (w)
        w->streams = weir_calloc(WHERE_STREAMS, sizeof *w->streams);
    if (w && w->streams) {
        w->now_ns = weir_clock_ns();
        w->certain = true;
        collect_streams(w);
        weir_where_threads(w);
        found = weir_where_cycles(w, &t);
        *thread = w->cycle_thread;
        *op = w->cycle_op;
        weir_free(w->streams);
    }
    weir_free(w);
    return found;
}

/* ---- progress ---- */

static void mix(uint64_t *sign, uint64_t value)
{
    *sign = (*sign ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    *sign ^= *sign >> 29;
}

static void look_at_thread(void *arg, const struct weir_thread_more *more)
{
    struct weir_where_progress *p = arg;

    uint64_t call = atomic_load_explicit(&more->own->call, memory_order_relaxed);

    mix(&p->sign, call);
    if (call && !(call & WEIR_CALL_NONE))
        p->is_pending = true;
}

/* What of a running operation moves; its stream is locked. */
static void look_at_op(struct weir_where_progress *p, struct weir_op *op)
{
    struct weir_kernel_op *kernel = (struct weir_kernel_op *)op;
    struct weir_kernel_view v;
    struct weir_plan *plan;

    if (op->m.state != WEIR_OP_READY)
        return;
    if (op->m.kind == WEIR_OP_KERNEL && work_of(op)) {
        if (!weir_device_view_kernel(weir_op_ctx(op)->engines, &kernel->job->kernel, &v))
            return;
        mix(&p->sign, v.done);
        p->compiles = p->compiles || v.compiles;
    } else if (op->m.kind == WEIR_OP_GRAPH && (plan = running_plan(op)) != NULL) {
        struct weir_item *item = atomic_load_explicit(&plan->submitted, memory_order_relaxed);

        mix(&p->sign, atomic_load_explicit(&plan->main.remaining, memory_order_relaxed));
        mix(&p->sign, (uintptr_t)item);
        if (item && item->kind == WEIR_ITEM_KERNEL)
            mix(&p->sign,
                atomic_load_explicit(&item->kernel.work.blocks_done, memory_order_relaxed));
    }
}

void weir_where_look(struct weir_where_progress *p)
{
    uint32_t used = weir_slots_used(&weir_core.streams);

    *p = (struct weir_where_progress){.sign = 1};
    for (uint32_t i = 0; i < used; i++) {
        struct weir_stream *s = weir_slots_at(&weir_core.streams, i);
        bool pending = is_pending(s);

        mix(&p->sign, atomic_load_explicit(&s->m.completed, memory_order_acquire));
        mix(&p->sign, atomic_load_explicit(&s->m.last, memory_order_relaxed));
        p->is_pending = p->is_pending || pending;
        if (!pending || !weir_lock_try_patiently(&s->lock))
            continue;
        if (s->m.head)
            look_at_op(p, (struct weir_op *)s->m.head);
        weir_lock_release(&s->lock);
    }
    weir_thread_each(look_at_thread, p);
}
