/* See explore.h. What may start is held here; who has the turn (explore_threads.c) runs one after
 * the other on the engines and waits for each, so that nothing else happens meanwhile. A kernel or
 * host function that itself waits for something (another kernel, the host) is left running after a
 * while; the run is not exact then, and says so.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/thread.h"
#include "base/vec.h"
#include "core/explore_int.h"
#include "core/module.h"
#include "core/nested.h"
#include "core/poll.h"
#include "core/submit.h"
#include "trace/symbols.h"

#define LOOK_NS     5000000u /* between looks at what runs */
#define STUCK_LOOKS 10       /* without progress */
#define SILENCE_MAX 5u       /* with no processor, or in a system call that takes its time */
#define PAUSE_NS    1000000u
#define ASKED_MAX   2 /* answers "not ready" in a row without anything having run */

_Atomic bool weir_explore_on;

/* An operation from its submission until it runs, by address. */
struct known {
    struct weir_schedule_id id;
    uint64_t order;
};

/* May start. */
struct held {
    struct weir_schedule_op op; /* first */
    struct weir_op *stream_op;  /* or NULL: a node's */
    struct weir_item *item;
    struct weir_work *work; /* once it runs */
    struct weir_device *engines;
    void (*done)(struct weir_work *work, enum weir_err status);
    struct weir_model_stream *stream; /* whose head it is, or whose its launch is */
    bool may;                         /* a poll that has said yes: it is not asked again */
    _Atomic uint32_t over;            /* futex word; 1: its first part, 2: all of it */
    bool left;                        /* guarded by lock: nobody waits for it any more */
    /* of one that runs in two parts */
    bool more;                   /* the first runs */
    struct weir_copy_work whole; /* a copy's or memset's own */
    uint64_t start_ns;
};

#define PART_BYTES 16u /* what lies in as many, aligned, is copied at once */

static struct {
    struct weir_lock lock; /* rank LEAF */
    struct weir_schedule *schedule;
    int log;              /* -1: none */
    const char *sum_file; /* of the environment, or NULL */

    /* guarded by lock */
    WEIR_VEC(struct held *) ready;
    WEIR_VEC(struct held *) running;
    struct weir_map known;  /* operation -> struct known */
    struct weir_map counts; /* stream's id -> operations so far */
    struct weir_map turns;  /* of nodes: hash of launch and node -> how often */
    uint64_t order;
    bool looks;            /* the thread for quiet programs was started */
    _Atomic uint32_t news; /* futex word: something became ready */

    /* of who has the turn */
    _Atomic uint64_t calls;
    uint64_t in_vain; /* answers "not ready" since something ran */
    struct weir_model_point asked;
    WEIR_VEC(struct weir_schedule_op) ops; /* candidates, and what they are */
    WEIR_VEC(struct held *) them;
    struct weir_map sites; /* of the log: address -> text */
    _Atomic bool inexact;
} x = {.lock = WEIR_LOCK_INIT(LEAF), .log = -1};

/* Where the calling thread is; two words and a count, since static TLS is scarce. */
static WEIR_TLS struct {
    const char *call;
    const void *site, *launch_site;
    int depth;
} here;

/* ---- the log ---- */

WEIR_PRINTF(1, 2) static void note(const char *fmt, ...)
{
    char line[2048];
    va_list va;
    int n;

    va_start(va, fmt);
    n = vsnprintf(line, sizeof line - 1, fmt, va);
    va_end(va);
    if (n < 0)
        return;
    n = n < (int)sizeof line - 1 ? n : (int)sizeof line - 2;
    line[n++] = '\n';
    (void)!write(x.log, line, (size_t)n);
}

/* No lock held. */
static const char *describe(const void *site)
{
    char text[512], *copy;
    const char *known = weir_map_get(&x.sites, (uint64_t)(uintptr_t)site);

    if (known || !site)
        return known ? known : "?";
    weir_trace_describe_here(site, text, sizeof text);
    copy = weir_strdup(text);
    return copy && weir_map_put(&x.sites, (uint64_t)(uintptr_t)site, copy) ? copy : "?";
}

void weir_explore_inexact(const char *why)
{
    if (atomic_exchange(&x.inexact, true))
        return;
    if (x.log >= 0)
        note("inexact\t%s", why);
    weir_log(WEIR_LOG_INFO, "this schedule may not repeat exactly: %s", why);
}

size_t weir_explore_pick_thread(size_t count)
{
    return weir_schedule_thread(x.schedule, count);
}

/* ---- operations ---- */

static bool is_known_kind(const struct weir_op *op)
{
    switch (op->m.kind) {
    case WEIR_OP_KERNEL:
    case WEIR_OP_COPY:
    case WEIR_OP_MEMSET:
    case WEIR_OP_HOST_FUNC:
    case WEIR_OP_CALLBACK:
    case WEIR_OP_POLL:
        return true;
    case WEIR_OP_GRAPH:
        return ((const struct weir_graph_op *)op)->plan != NULL;
    default:
        return false;
    }
}

static bool has_parts(uint8_t kind)
{
    return kind == WEIR_OP_KERNEL || kind == WEIR_OP_COPY || kind == WEIR_OP_MEMSET;
}

static uint32_t count_of(struct weir_map *m, uint64_t key)
{
    uintptr_t n = (uintptr_t)weir_map_get(m, key) + 1;

    (void)!weir_map_put(m, key, (void *)n); /* without memory: two of one name */
    return (uint32_t)n;
}

void weir_explore_submitted(const struct weir_op *op)
{
    const struct weir_stream *s = weir_stream_of(op->m.stream);
    struct known *k = is_known_kind(op) ? weir_calloc(1, sizeof *k) : NULL, *old;
    char text[WEIR_SCHEDULE_ID_TEXT];
    const char *name =
        op->m.kind == WEIR_OP_KERNEL ? ((const struct weir_kernel_op *)op)->function->name : "";

    if (!k)
        return;
    weir_lock_acquire(&x.lock);
    k->id.stream = (uint32_t)s->id;
    k->id.op = count_of(&x.counts, s->id);
    k->order = ++x.order << 32;
    old = weir_map_remove(&x.known, (uint64_t)(uintptr_t)op);
    if (!weir_map_put(&x.known, (uint64_t)(uintptr_t)op, k)) {
        weir_free(k);
        k = NULL;
    }
    if (k && x.log >= 0) {
        const char *site = weir_map_get(&x.sites, (uint64_t)(uintptr_t)here.site);

        note("op\t%s\t%s\t%s\t%s\t%s", weir_schedule_id_text(k->id, text),
             weir_op_kind_text(op->m.kind), here.call ? here.call : "?", site ? site : "?", name);
    }
    weir_lock_release(&x.lock);
    weir_free(old);
}

static void *look(void *arg);

static void tell_news(void)
{
    pthread_t thread;
    bool start;

    atomic_fetch_add_explicit(&x.news, 1, memory_order_release);
    weir_lock_acquire(&x.lock);
    start = !x.looks;
    x.looks = true;
    weir_lock_release(&x.lock);
    if (!start)
        weir_futex_wake(&x.news, 1);
    else if (weir_thread_start(&thread, "explore", 0, look, NULL) == WEIR_OK)
        pthread_detach(thread);
}

static bool hold(struct held *h)
{
    bool ok;

    weir_lock_acquire(&x.lock);
    ok = weir_vec_reserve(&x.running, x.running.count + x.ready.count + 1) &&
         weir_vec_push(&x.ready, h);
    weir_lock_release(&x.lock);
    if (ok)
        tell_news();
    else
        weir_free(h);
    return ok;
}

bool weir_explore_hold_op(struct weir_op *op)
{
    struct held *h = weir_calloc(1, sizeof *h);
    struct known *k;

    if (!h)
        return false;
    weir_lock_acquire(&x.lock);
    k = weir_map_remove(&x.known, (uint64_t)(uintptr_t)op);
    weir_lock_release(&x.lock);
    if (k)
        h->op = (struct weir_schedule_op){.id = k->id, .order = k->order};
    weir_free(k);
    h->op.kind = op->m.kind;
    h->op.parts = has_parts(op->m.kind);
    h->stream_op = op;
    h->stream = op->m.stream;
    return hold(h);
}

bool weir_explore_hold_node(struct weir_item *item, struct weir_work *work)
{
    struct held *h = weir_calloc(1, sizeof *h);
    const struct weir_op *launch = &item->run->plan->op->op;
    const struct weir_item *up = item;
    uint64_t key;
    struct known *k;
    uint32_t node = 0;

    if (!h)
        return false;
    /* Nodes of conditional nodes' bodies: by the way to them. */
    for (;; up = up->run->parent) {
        node = node * 1009 + (uint32_t)(up - up->run->items) + 1;
        if (!up->run->parent)
            break;
    }
    weir_lock_acquire(&x.lock);
    k = weir_map_get(&x.known, (uint64_t)(uintptr_t)launch);
    if (k) {
        h->op.id = k->id;
        h->op.order = k->order + node;
    }
    h->op.id.node = node;
    key = ((uint64_t)h->op.id.stream << 44) ^ ((uint64_t)h->op.id.op << 20) ^ node;
    h->op.id.turn = count_of(&x.turns, key) - 1;
    weir_lock_release(&x.lock);
    h->op.kind = item->kind == WEIR_ITEM_KERNEL ? WEIR_OP_KERNEL
                 : item->kind == WEIR_ITEM_HOST ? WEIR_OP_HOST_FUNC
                 : item->copy.memset            ? WEIR_OP_MEMSET
                                                : WEIR_OP_COPY;
    h->op.parts = has_parts(h->op.kind);
    h->item = item;
    h->work = work;
    h->engines = item->ctx->engines;
    h->stream = launch->m.stream;
    if (x.log >= 0) {
        char text[WEIR_SCHEDULE_ID_TEXT];

        note("op\t%s\t%s\t%s\t%s\t%s", weir_schedule_id_text(h->op.id, text),
             weir_op_kind_text(h->op.kind), "cudaGraphLaunch", "?",
             item->kind == WEIR_ITEM_KERNEL ? item->kernel.function->name : "");
    }
    return hold(h);
}

/* ---- running one ---- */

static void stop_running_locked(struct held *h)
{
    for (size_t i = 0; i < x.running.count; i++) {
        if (x.running.items[i] == h) {
            x.running.items[i] = x.running.items[--x.running.count];
            return;
        }
    }
}

static void free_held(struct held *h)
{
    weir_lock_acquire(&x.lock);
    stop_running_locked(h);
    weir_lock_release(&x.lock);
    weir_free(h);
}

/* What a copy has carried counts, though it may be overwritten later. */
static void sum_copy(const struct held *h, const struct weir_copy_work *w)
{
    const struct weir_schedule_id id = {h->op.id.stream, h->op.id.op, h->op.id.node, h->op.id.turn,
                                        0};

    weir_mem_sum_rows(&(struct weir_mem_rows){.base = (uintptr_t)w->dst,
                                              .width = w->width,
                                              .height = w->height,
                                              .depth = w->depth,
                                              .pitch = w->dst_pitch,
                                              .slice = w->dst_slice},
                      weir_hash_bytes(&id, sizeof id, 0));
}

/* ---- in two parts ---- */

static struct weir_copy_work *copy_of(struct weir_work *work)
{
    return WEIR_CONTAINER_OF(work, struct weir_copy_work, work);
}

static struct weir_kernel_work *kernel_of(struct weir_work *work)
{
    return WEIR_CONTAINER_OF(work, struct weir_kernel_work, work);
}

/* How many of n units the first part has; 0: it cannot be divided. */
static size_t first_of(size_t n, size_t unit, uint32_t sixteenths)
{
    size_t units = n / unit, first = units / 16 * sixteenths + units % 16 * sixteenths / 16;

    return units < 2 ? 0 : unit * WEIR_MAX(first, (size_t)1);
}

/* Of slices, rows or bytes. False: it is too small. */
static bool divide_copy(struct held *h, uint32_t sixteenths)
{
    struct weir_copy_work *w = copy_of(h->work);

    h->whole = *w;
    if (w->depth > 1)
        w->depth = first_of(w->depth, 1, sixteenths);
    else if (w->height > 1)
        w->height = first_of(w->height, 1, sixteenths);
    else
        w->width = first_of(w->width, PART_BYTES, sixteenths);
    if (w->width && w->height && w->depth)
        return true;
    *w = h->whole;
    return false;
}

/* What runs next is its first part only, unless it cannot be divided. */
static void divide(struct held *h, uint32_t sixteenths)
{
    char text[WEIR_SCHEDULE_ID_TEXT];

    if (h->op.kind == WEIR_OP_KERNEL) {
        struct weir_kernel_work *w = kernel_of(h->work);
        const uint32_t *grid = w->launch.grid, *cluster = w->launch.cluster;
        uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];

        for (int i = 0; i < 3; i++)
            blocks /= WEIR_MAX(cluster[i], 1u);
        w->end_block = first_of(blocks, 1, sixteenths);
        h->more = w->end_block != 0;
    } else {
        h->more = divide_copy(h, sixteenths);
    }
    if (h->more && x.log >= 0)
        note("parts\t%s\t%u", weir_schedule_id_text(h->op.id, text), sixteenths);
}

/* The first part is over: its work becomes the rest. False: that was all of it. */
static bool turn_to_rest(struct held *h)
{
    if (h->op.kind == WEIR_OP_KERNEL) {
        struct weir_kernel_work *w = kernel_of(h->work);

        w->first_block = w->end_block; /* 0: the engine has run all */
        w->end_block = 0;
        return w->first_block != 0;
    } else {
        struct weir_copy_work *w = copy_of(h->work);
        const struct weir_copy_work *all = &h->whole;
        size_t slices = all->depth - w->depth, rows = all->height - w->height;
        size_t bytes = all->width - w->width; /* one of them, the others are 0 */

        w->dst += bytes ? w->width : rows ? w->height * w->dst_pitch : w->depth * w->dst_slice;
        if (!w->memset)
            w->src += bytes ? w->width : rows ? w->height * w->src_pitch : w->depth * w->src_slice;
        w->depth = slices ? slices : all->depth;
        w->height = rows ? rows : all->height;
        w->width = bytes ? bytes : all->width;
        return true;
    }
}

/* All parts are over: the work is what it was. */
static void make_whole(struct held *h)
{
    if (h->op.kind == WEIR_OP_KERNEL) {
        kernel_of(h->work)->first_block = kernel_of(h->work)->end_block = 0;
    } else {
        struct weir_copy_work *w = copy_of(h->work);

        w->src = h->whole.src;
        w->dst = h->whole.dst;
        w->width = h->whole.width;
        w->height = h->whole.height;
        w->depth = h->whole.depth;
    }
    if (h->op.id.part)
        h->work->start_ns = h->start_ns;
}

static void end_first_part(struct held *h)
{
    bool left;

    weir_lock_acquire(&x.lock);
    h->more = false;
    h->op.id.part = 1;
    h->start_ns = h->work->start_ns;
    left = h->left;
    if (!left)
        atomic_store_explicit(&h->over, 1, memory_order_release);
    weir_lock_release(&x.lock);
    if (left)
        weir_device_submit(h->engines, h->work);
    else
        weir_futex_wake(&h->over, 1);
}

/* In place of the work's own. */
static void done(struct weir_work *work, enum weir_err status)
{
    struct held *h = NULL;
    bool left, divided;

    weir_lock_acquire(&x.lock);
    for (size_t i = 0; i < x.running.count && !h; i++)
        if (x.running.items[i]->work == work)
            h = x.running.items[i];
    WEIR_ASSERT(h);
    weir_lock_release(&x.lock);
    divided = h->more || h->op.id.part;
    if (h->more && status == WEIR_OK && turn_to_rest(h)) {
        end_first_part(h);
        return;
    }
    if (divided)
        make_whole(h);
    weir_lock_acquire(&x.lock);
    h->work = NULL; /* the memory is its owner's again soon, and may be submitted once more */
    weir_lock_release(&x.lock);
    if (h->op.kind == WEIR_OP_COPY && status == WEIR_OK && weir_mem_is_summing())
        sum_copy(h, copy_of(work));
    work->done = h->done;
    h->done(work, status);
    weir_lock_acquire(&x.lock);
    left = h->left;
    if (!left)
        atomic_store_explicit(&h->over, 2, memory_order_release);
    weir_lock_release(&x.lock);
    if (left)
        free_held(h);
    else
        weir_futex_wake(&h->over, 1); /* (a late wake of reused memory wakes for nothing) */
}

/* Has it been seen to wait for something else, as far as one can tell? seen: blocks done at the
 * last look. */
static bool is_stuck(struct held *h, uint64_t *seen)
{
    struct weir_kernel_view view;
    struct weir_work *work;
    bool others = false; /* that may keep it from beginning */
    uint64_t since;
    uint32_t thread;

    weir_lock_acquire(&x.lock);
    work = h->work; /* alive: done() clears it first */
    for (size_t i = 0; i < x.running.count; i++)
        others = others || x.running.items[i]->left;
    weir_lock_release(&x.lock);
    if (!work)
        return false;
    if (h->op.kind == WEIR_OP_KERNEL) {
        bool same;

        if (!weir_device_view_kernel(h->engines,
                                     WEIR_CONTAINER_OF(work, struct weir_kernel_work, work), &view))
            return false;
        same = ((view.polls && view.begun) || others) && view.done + 1 == *seen;
        *seen = view.done + 1;
        return same;
    }
    if (h->op.kind == WEIR_OP_HOST_FUNC || h->op.kind == WEIR_OP_CALLBACK)
        return weir_device_view_host(h->engines, &thread, &since) && thread &&
               weir_explore_is_blocked(thread); /* it, or the one in front of it */
    return false;
}

enum waited { STILL_RUNS, REST_TO_COME, ALL_OVER };

/* Of one that still runs h is not the caller's any more. */
static enum waited wait_for(struct held *h)
{
    uint64_t seen = 0;
    bool left = false;

    for (int stuck = 0; !left && !atomic_load_explicit(&h->over, memory_order_acquire);) {
        if (weir_futex_wait(&h->over, 0, LOOK_NS))
            continue;
        stuck = is_stuck(h, &seen) ? stuck + 1 : 0;
        if (stuck < STUCK_LOOKS)
            continue;
        weir_lock_acquire(&x.lock);
        left = h->left = !atomic_load_explicit(&h->over, memory_order_acquire);
        weir_lock_release(&x.lock);
    }
    if (left) {
        weir_explore_inexact("a kernel or host function waits for something that comes later");
        return STILL_RUNS;
    }
    return atomic_load_explicit(&h->over, memory_order_acquire) == 2 ? ALL_OVER : REST_TO_COME;
}

/* The rest of h may run from now on, when it is picked. False: no memory, it runs now. */
static bool hold_rest(struct held *h)
{
    bool ok;

    atomic_store_explicit(&h->over, 0, memory_order_relaxed);
    weir_lock_acquire(&x.lock);
    ok = weir_vec_push(&x.ready, h);
    if (ok)
        stop_running_locked(h);
    weir_lock_release(&x.lock);
    return ok;
}

/* Its work is there, and whose it is. */
static void submit_and_wait(struct held *h)
{
    enum waited waited;

    do {
        weir_device_submit(h->engines, h->work);
        waited = wait_for(h);
    } while (waited == REST_TO_COME && !hold_rest(h));
    if (waited == ALL_OVER)
        free_held(h);
}

static void tell_schedule(struct weir_schedule_id ran)
{
    if (!weir_schedule_ran(x.schedule, ran))
        weir_log(WEIR_LOG_WARN, "no memory for the schedule, it is not exact");
}

/* h is not in `ready` any more, and in `running`. */
static void run(struct held *h)
{
    char text[WEIR_SCHEDULE_ID_TEXT];
    uint32_t first = weir_schedule_first_part(x.schedule, &h->op);

    x.in_vain = 0;
    if (x.log >= 0)
        note("run\t%s\t%" PRIu64, weir_schedule_id_text(h->op.id, text),
             atomic_load_explicit(&x.calls, memory_order_relaxed));
    tell_schedule(h->op.id);
    if (h->op.id.part) {
        submit_and_wait(h);
        return;
    }
    if (h->op.kind == WEIR_OP_POLL) {
        weir_poll_end((struct weir_poll_op *)h->stream_op);
        free_held(h);
        return;
    }
    if (h->stream_op) {
        h->engines = weir_op_ctx(h->stream_op)->engines;
        h->work = weir_submit_release(h->stream_op);
        if (!h->work) { /* it ended at once */
            free_held(h);
            return;
        }
    }
    if (first < WEIR_SCHEDULE_WHOLE)
        divide(h, first);
    if (!h->more) { /* who waits for its rest need wait no longer */
        struct weir_schedule_id rest = h->op.id;

        rest.part = 1;
        tell_schedule(rest);
    }
    h->done = h->work->done;
    h->work->done = done;
    submit_and_wait(h);
}

static void run_index(size_t i)
{
    struct held *h = x.them.items[i];

    weir_lock_acquire(&x.lock);
    for (size_t k = 0; k < x.ready.count; k++) {
        if (x.ready.items[k] != h)
            continue;
        x.ready.items[k] = x.ready.items[--x.ready.count];
        x.running.items[x.running.count++] = h; /* hold() made room */
        break;
    }
    weir_lock_release(&x.lock);
    run(h);
}

/* ---- what may run ---- */

/* The stream whose head keeps p from holding. */
static const struct weir_model_stream *needed_by(const struct weir_model_point *p)
{
    struct weir_model_stream *next = weir_model_point_holds(p) ? NULL : p->stream;

    for (int depth = 0; next && depth < 64; depth++) {
        struct weir_stream *s = weir_stream_of(next);
        struct weir_model_op *op;

        weir_lock_acquire(&s->lock);
        op = s->m.head;
        if (op && op->state == WEIR_OP_BLOCKED && op->dep_pos < op->dep_count)
            next = op->deps[op->dep_pos].point.stream;
        else
            op = NULL;
        weir_lock_release(&s->lock);
        if (!op)
            return next;
    }
    return NULL;
}

static bool comes_before(const struct held *a, const struct held *b)
{
    return a->op.order != b->op.order ? a->op.order < b->op.order : a->op.id.turn < b->op.id.turn;
}

/* In order of their submission: what the schedule sees does not depend on who ended first. */
static void sort_them(void)
{
    for (size_t i = 1; i < x.them.count; i++) {
        struct held *h = x.them.items[i];
        size_t k = i;

        for (; k > 0 && comes_before(h, x.them.items[k - 1]); k--)
            x.them.items[k] = x.them.items[k - 1];
        x.them.items[k] = h;
    }
}

/* Fills x.them and x.ops. The caller has the turn: nobody else takes from `ready`. */
static size_t find(const struct weir_model_point *p)
{
    const struct weir_model_stream *needed = p ? needed_by(p) : NULL;
    size_t count = 0;

    weir_lock_acquire(&x.lock);
    x.them.count = 0;
    if (weir_vec_reserve(&x.them, x.ready.count) && weir_vec_reserve(&x.ops, x.ready.count)) {
        for (size_t i = 0; i < x.ready.count; i++)
            x.them.items[i] = x.ready.items[i];
        x.them.count = x.ready.count;
    }
    weir_lock_release(&x.lock);
    for (size_t i = 0; i < x.them.count; i++) {
        struct held *h = x.them.items[i];

        if (h->op.kind == WEIR_OP_POLL && !h->may)
            h->may = weir_poll_is_over((struct weir_poll_op *)h->stream_op);
        if (h->op.kind == WEIR_OP_POLL && !h->may)
            continue;
        h->op.needed = needed && &weir_nested_root(weir_stream_of(h->stream))->m == needed;
        x.them.items[count++] = h;
    }
    x.them.count = count;
    sort_them();
    for (size_t i = 0; i < count; i++)
        x.ops.items[i] = x.them.items[i]->op;
    return count;
}

/* Lets one run. False: there was none, or the schedule lets the host go first. */
static bool step(const struct weir_model_point *p, bool host)
{
    uint64_t call = atomic_load_explicit(&x.calls, memory_order_relaxed);
    size_t count = find(p);
    int i;

    if (!count)
        return false;
    i = weir_schedule_pick(x.schedule, x.ops.items, count, call, host);
    if (i < 0)
        return false;
    run_index((size_t)i);
    return true;
}

/* ---- calls ---- */

void weir_explore_launch_site(const void *site)
{
    here.launch_site = site;
}

void weir_explore_enter(const char *call, const void *site)
{
    int saved = errno;

    if (weir_thread_is_own() || here.depth++)
        return;
    weir_explore_turn_take();
    here.call = call;
    here.site = here.launch_site ? here.launch_site : site;
    here.launch_site = NULL;
    atomic_fetch_add_explicit(&x.calls, 1, memory_order_relaxed);
    if (x.log >= 0)
        note("call\t%" PRIu64 "\t%s\t%s", atomic_load_explicit(&x.calls, memory_order_relaxed),
             call, describe(here.site));
    errno = saved;
}

void weir_explore_leave(bool not_ready)
{
    int saved = errno;
    bool must;

    if (weir_thread_is_own() || here.depth == 0 || --here.depth)
        return;
    x.in_vain += not_ready;
    must = not_ready && x.in_vain >= ASKED_MAX;
    while (step(not_ready ? &x.asked : NULL, !must))
        must = false;
    x.asked = (struct weir_model_point){0};
    weir_explore_turn_give();
    errno = saved;
}

void weir_explore_asked(const struct weir_model_point *p)
{
    if (!weir_thread_is_own())
        x.asked = *p;
}

bool weir_explore_wait(const struct weir_model_point *p, uint64_t deadline_ns)
{
    bool own = weir_thread_is_own(), had = !own && weir_explore_turn_is_mine(), has = had;

    weir_thread_wait_begin(p->stream, p->seq);
    while (!weir_model_point_holds(p) && weir_clock_ns() < deadline_ns) {
        if (!own && !has) {
            weir_explore_turn_take();
            has = true;
            continue; /* it may hold by now */
        }
        if (!own && step(p, false))
            continue;
        if (has)
            weir_explore_turn_give(); /* another thread, or what still runs, has to go on */
        has = false;
        weir_wait_briefly(p, PAUSE_NS);
    }
    weir_thread_wait_end();
    if (had && !has)
        weir_explore_turn_take();
    else if (!had && has)
        weir_explore_turn_give();
    return weir_model_point_holds(p);
}

/* ---- programs that make no calls ---- */

static bool is_any_ready(void)
{
    bool any;

    weir_lock_acquire(&x.lock);
    any = x.ready.count != 0;
    weir_lock_release(&x.lock);
    return any;
}

/* Of all the process's threads: one that has no processor is not silent. */
static uint64_t cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* All threads of the program sleep, or one looks at memory for long: the device goes on. */
static void *look(void *arg)
{
    uint64_t turns = 0, since = 0, cpu = 0;

    (void)arg;
    weir_thread_ready();
    for (;;) {
        uint32_t news = atomic_load_explicit(&x.news, memory_order_acquire);
        uint64_t now = weir_clock_ns();

        if (!is_any_ready()) {
            weir_futex_wait(&x.news, news, UINT64_MAX);
            since = 0;
            continue;
        }
        if (weir_explore_turns() != turns || !since) {
            turns = weir_explore_turns();
            since = now;
            cpu = cpu_ns();
        }
        if (weir_explore_turn_take_idle(now - since > WEIR_EXPLORE_ASLEEP_NS)) {
            step(NULL, false);
            weir_explore_turn_give();
        } else if (now - since > WEIR_EXPLORE_SILENCE_NS &&
                   (cpu_ns() - cpu > WEIR_EXPLORE_SILENCE_NS / 2 ||
                    now - since > SILENCE_MAX * WEIR_EXPLORE_SILENCE_NS) &&
                   weir_explore_turn_take_free()) {
            if (step(NULL, false))
                weir_explore_inexact("the program looked at memory, or computed, for long");
            weir_explore_turn_give();
        } else {
            nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
            continue;
        }
        turns = weir_explore_turns();
        since = 0;
    }
    return NULL;
}

/* "@FILE": what stands in the file; longer than a variable of the environment may be. The caller
 * frees it. */
static char *read_spec(const char *spec)
{
    size_t room = 1 << 16, used = 0;
    char *text, *more;
    ssize_t n;
    int fd;

    if (*spec != '@')
        return weir_strdup(spec);
    fd = open(spec + 1, O_RDONLY | O_CLOEXEC);
    text = fd < 0 ? NULL : weir_alloc(room);
    while (text && (n = read(fd, text + used, room - used - 1)) > 0) {
        used += (size_t)n;
        if (used + 1 < room)
            continue;
        more = weir_realloc(text, room *= 2);
        if (!more)
            weir_free(text);
        text = more;
    }
    if (fd >= 0)
        close(fd);
    if (!text)
        return NULL;
    while (used && text[used - 1] == '\n')
        used--;
    text[used] = '\0';
    return text;
}

void weir_explore_sum_start(const char *file)
{
    x.sum_file = file;
    weir_mem_sum_start();
}

void weir_explore_end(void)
{
    char text[32];
    int fd, n;

    if (!x.sum_file)
        return;
    n = snprintf(text, sizeof text, "%" PRIu64, weir_mem_sum_end());
    fd = open(x.sum_file, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)!write(fd, text, (size_t)n);
    close(fd);
}

enum weir_err weir_explore_start(const char *spec, const char *log)
{
    char *text = read_spec(spec);
    enum weir_err err;

    if (!text)
        return WEIR_FAIL(WEIR_ERR_OPERATING_SYSTEM, "cannot read %s", spec);
    err = weir_schedule_create(text, &x.schedule);
    weir_free(text);
    if (err != WEIR_OK)
        return err;
    if (log && *log) {
        x.log = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (x.log < 0)
            return WEIR_FAIL(WEIR_ERR_OPERATING_SYSTEM, "cannot write %s", log);
    }
    atomic_store(&weir_explore_on, true);
    return WEIR_OK;
}
