/* Launches of graphs. To its stream a launch is one operation; inside, nodes become ready as those
 * before them end (graph_run.h). Kernels known to be short do not go through the engine's queue:
 * the thread that ended one goes on with the next, and hands half of what it has to another worker
 * when that is worth waking it ("carriers").
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "core/capture.h"
#include "core/check.h"
#include "core/clock.h"
#include "core/explore.h"
#include "core/fault_report.h"
#include "core/graph_run.h"
#include "core/graph_state.h"
#include "core/inject.h"
#include "core/nested.h"
#include "core/pages.h"
#include "core/poll.h"
#include "core/services.h"
#include "core/touch.h"
#include "core/trace.h"
#include "trace/ticks.h"

#define SHORT_NS    5000  /* kernels that are run in place */
#define SHARE_NS    20000 /* work worth another worker */
#define LOOK_AT     32    /* kernels between looks at what else waits */
#define LOOK_NS     100000
#define PATIENCE_NS 200000 /* until a worker should have taken what it was handed */
#define FETCH_AHEAD 4      /* roots */
#define HELP_NODES  512    /* graphs that waiting threads run themselves */

/* Nodes that are ready and that one thread deals with: a list, and a range of the run's roots. The
 * list is linked by run->next, apart from the nodes: of 10,000 each is then touched when its turn
 * comes, and not before. */
struct burst {
    struct weir_run *run;
    uint32_t first, last; /* indices + 1, 0: none */
    uint32_t root, root_end;
    uint32_t done;     /* ended, not yet counted in run->remaining */
    uint32_t listed;   /* length of the list */
    uint32_t each_ns;  /* of the kernels that ran in place, on average; 0 unknown */
    bool alone;        /* no other thread deals with the run */
    void *touches;     /* of a checked kernel that has touched nothing, for the next one */
    uint64_t ended_ns; /* in a trace: when the short kernel just before ended; 0: none did */
};

/* Who is alone stays so until it starts something that others run. Acquire: pairs with the release
 * of those that have left. */
static void look_alone(struct burst *b)
{
    b->alone = atomic_load_explicit(&b->run->holders, memory_order_acquire) == 1;
}

/* The caller is one of the run's holders, and no more when the burst is drained. */
static void begin(struct burst *b, struct weir_run *run)
{
    *b = (struct burst){.run = run,
                        .each_ns = atomic_load_explicit(&run->each_ns, memory_order_relaxed)};
    look_alone(b);
}

/* Before others may run it. */
static void hold(struct weir_item *item)
{
    atomic_fetch_add_explicit(&item->run->holders, 1, memory_order_relaxed);
}

/* Large plans do not fit into a core's nearest cache: what a short kernel needs is on its way while
 * others run. */
static inline void fetch(const struct weir_item *item)
{
    __builtin_prefetch(item);
    __builtin_prefetch(&item->kernel.work.code, 1);
}

static inline void push(struct burst *b, uint32_t index)
{
    fetch(&b->run->items[index]);
    b->run->next[index] = 0;
    if (b->first)
        b->run->next[b->last - 1] = index + 1;
    else
        b->first = index + 1;
    b->last = index + 1;
    b->listed++;
}

static struct weir_item *pop(struct burst *b)
{
    struct weir_run *run = b->run;
    uint32_t index;

    if (WEIR_LIKELY(b->first)) {
        index = b->first - 1;
        b->first = run->next[index];
        b->listed--;
        return &run->items[index];
    }
    if (b->root == b->root_end)
        return NULL;
    if (b->root + FETCH_AHEAD < b->root_end)
        fetch(&run->items[run->roots[b->root + FETCH_AHEAD]]);
    return &run->items[run->roots[b->root++]];
}

static void start_run(struct weir_run *run);
static void end_run(struct weir_run *run);
static void drain(struct burst *b, bool in_place);

/* ---- one node ---- */

static bool is_short(const struct weir_item *item)
{
    return item->kind == WEIR_ITEM_KERNEL && item->may_inline && !item->early && item->cost_ns &&
           item->cost_ns < SHORT_NS;
}

/* One of the nodes before that of this entry of a `succ` lets it go. */
static inline void release(struct burst *b, uint32_t entry)
{
    uint32_t index = entry & WEIR_SUCC_INDEX;

    if (!(entry & WEIR_SUCC_ONLY)) {
        struct weir_run_count *next = &b->run->counts[index];
        uint32_t before;

        if (b->alone) {
            before = atomic_load_explicit(&next->pending, memory_order_relaxed);
            atomic_store_explicit(&next->pending, before == 1 ? next->before : before - 1,
                                  memory_order_relaxed);
            if (before == 1)
                push(b, index);
            return;
        }
        /* Release: what the node did; acquire by the last, so that the next sees all of them. */
        if (atomic_fetch_sub_explicit(&next->pending, 1, memory_order_acq_rel) != 1)
            return;
        atomic_store_explicit(&next->pending, next->before, memory_order_relaxed);
    }
    push(b, index);
}

/* A source of item is settled, or item itself has ended. When that was the last of them, item is
 * complete and joins those whose successors are to be told: a list by run->next, which those that
 * have ended need no more. */
static void settle_one(struct weir_run *run, const struct weir_item *item, uint32_t *complete)
{
    uint32_t index = (uint32_t)(item - run->items);

    if (!weir_model_dependent_settle(&item->early->m))
        return;
    run->next[index] = *complete;
    *complete = index + 1;
}

/* As settle_one; and of all that thereby become complete: those behind them that could begin early
 * have one source less, the others are let go. A loop: chains are as long as programs make them. */
static void settle(struct burst *b, const struct weir_item *item)
{
    struct weir_run *run = b->run;
    uint32_t complete = 0;

    settle_one(run, item, &complete);
    while (complete) {
        item = &run->items[complete - 1];
        complete = run->next[complete - 1];
        for (uint32_t i = 0; i < item->succ_count; i++) {
            if (item->succ[i] & WEIR_SUCC_EARLY)
                settle_one(run, &run->items[item->succ[i] & WEIR_SUCC_INDEX], &complete);
            else
                release(b, item->succ[i]);
        }
    }
}

static enum weir_edge_port port_of(uint32_t entry)
{
    if (!(entry & WEIR_SUCC_EARLY))
        return WEIR_PORT_END;
    return entry & WEIR_SUCC_BEGUN ? WEIR_PORT_LAUNCHED : WEIR_PORT_PROGRAMMATIC;
}

/* finish() for a node with programmatic edges: those go that could go before and did not. */
static void finish_early(struct burst *b, struct weir_item *item)
{
    b->done++;
    for (uint32_t i = 0; i < item->succ_count; i++)
        if ((item->succ[i] & WEIR_SUCC_EARLY) &&
            !weir_model_dependent_holds(&item->early->m, port_of(item->succ[i])))
            release(b, item->succ[i]);
    settle(b, item);
}

/* From within the kernel or on its way: lets those go whose edges hold now. */
static void release_early(struct weir_item *item, enum weir_moment moment)
{
    struct burst b;

    hold(item); /* beside the kernel itself */
    begin(&b, item->run);
    weir_model_dependent_reach(&item->early->m, moment);
    for (uint32_t i = 0; i < item->succ_count; i++)
        if (weir_model_port_holds(port_of(item->succ[i]), moment))
            release(&b, item->succ[i]);
    drain(&b, false);
}

void weir_item_triggered(struct weir_kernel_work *work)
{
    release_early(work->work.owner, WEIR_MOMENT_TRIGGERED);
}

void weir_item_begun(struct weir_kernel_work *work)
{
    release_early(work->work.owner, WEIR_MOMENT_BEGUN);
}

#define SOURCE_DEPTH 16 /* kernels in front of each other that a waiting block helps with */

static bool help_sources(const struct weir_item *item, int depth)
{
    for (uint32_t i = 0; i < item->early->source_count && depth < SOURCE_DEPTH; i++) {
        struct weir_item *source = item->early->sources[i];
        struct weir_work *work = &source->kernel.work.work;

        if (weir_model_dependent_settled(&source->early->m))
            continue;
        if (weir_device_help(source->ctx->engines, work, NULL) ||
            weir_device_help_parked(source->ctx->engines, work) || help_sources(source, depth + 1))
            return true;
    }
    return false;
}

void weir_item_wait_dependencies(struct weir_item *item)
{
    if (!item->early)
        return;
    while (!weir_model_dependent_passes(&item->early->m)) /* ORD-032 */
        if (!help_sources(item, 0))
            weir_cpu_relax();
}

/* item has ended: what is ready now joins the burst. */
static void finish(struct burst *b, struct weir_item *item)
{
    if (WEIR_UNLIKELY(item->early)) {
        finish_early(b, item);
        return;
    }
    b->done++;
    for (uint32_t i = 0; i < item->succ_count; i++)
        release(b, item->succ[i]);
}

static enum weir_err prepare_failing(struct weir_kernel_work *work)
{
    struct weir_item *item = work->work.owner;

    work->prepare = weir_item_prepare;
    return WEIR_FAIL(item->kernel.on_demand, "on demand: kernel %s", item->kernel.function->name);
}

static void fail_on_demand(struct weir_item *item)
{
    item->kernel.on_demand = weir_inject_kernel(item->kernel.function->name);
    if (item->kernel.on_demand == WEIR_OK)
        return;
    item->kernel.work.code = NULL;
    item->kernel.work.prepare = prepare_failing;
}

/* Where the time is the model's: from where the nodes before it have come to. */
static void set_clock(struct weir_item *item)
{
    struct weir_kernel_work *w = &item->kernel.work;

    if (WEIR_UNLIKELY(w->code && w->code->reads_clock))
        weir_core_clock_begin(w, &item->run->plan->op->op);
}

static void submit(struct weir_item *item, struct weir_work *work)
{
    struct weir_stream *s = weir_stream_of(item->run->plan->op->op.m.stream);

    if (!weir_explore_enabled() || !weir_explore_hold_node(item, work))
        weir_submit_work(item->ctx->engines, work, s);
}

static void start_kernel(struct weir_item *item)
{
    struct weir_plan *plan = item->run->plan;
    struct weir_kernel_work *w = &item->kernel.work;

    w->work.priority = (int8_t)(plan->node_priority ? item->kernel.priority : plan->priority);
    w->work.ready_ns = 0;
    if (WEIR_UNLIKELY(item->kernel.workspace))
        memset(item->kernel.workspace, 0, 64);
    w->launch.grid_id = atomic_fetch_add_explicit(&plan->grid_id, 1, memory_order_relaxed);
    atomic_store_explicit(&plan->submitted, item, memory_order_relaxed);
    if (weir_inject_enabled())
        fail_on_demand(item);
    hold(item);
    set_clock(item);
    if (weir_check_enabled())
        weir_core_check_node_begin(item, NULL);
    submit(item, &w->work);
}

static void start_work(struct weir_item *item, struct weir_work *work)
{
    work->priority = (int8_t)item->run->plan->priority;
    work->ready_ns = 0;
    if (item->kind == WEIR_ITEM_COPY)
        atomic_store_explicit(&item->run->plan->submitted, item, memory_order_relaxed);
    hold(item);
    submit(item, work);
}

/* The record node's marker (weir_exec_launch made it) is the oldest operation of its stream. */
static void fire_record(struct weir_item *item)
{
    struct weir_stream *s = item->event.stream;
    struct weir_graph_op *op;

    weir_lock_acquire(&s->lock);
    op = (struct weir_graph_op *)s->m.head;
    weir_lock_release(&s->lock);
    if (!op)
        return;
    weir_lock_acquire(&op->event->lock);
    if (op->event->generation == op->generation)
        op->event->time_ns = weir_clock_ns();
    weir_lock_release(&op->event->lock);
    weir_op_end_at_once(&op->op, WEIR_OK);
}

static void gate_start(struct weir_graph_op *op)
{
    struct weir_item *item = op->item;
    struct burst b;

    weir_op_end_at_once(&op->op, WEIR_OK);
    begin(&b, item->run);
    finish(&b, item);
    drain(&b, false);
}

/* True: nothing to wait for. */
static bool wait_node(struct weir_item *item)
{
    struct weir_stream *s = item->event.stream;
    const struct weir_model_dep *dep = &item->run->plan->op->waits[item->event.index];
    struct weir_graph_op *op;

    if (weir_model_point_holds(&dep->point))
        return true;
    op = (struct weir_graph_op *)weir_submit_begin(s, WEIR_OP_GRAPH, WEIR_OP_SMALL);
    if (!op) {
        /* The order can be kept without memory: this thread waits. */
        weir_wait_points(&dep->point, 1);
        return true;
    }
    op->start = gate_start;
    op->plan = NULL;
    op->waits = NULL;
    op->item = item;
    hold(item);
    if (weir_submit_end(s, &op->op, dep, 1, NULL, NULL) == WEIR_OK)
        return false;
    atomic_fetch_sub_explicit(&item->run->holders, 1, memory_order_relaxed);
    weir_wait_points(&dep->point, 1);
    return true;
}

static bool memops_are_done(struct weir_poll *p)
{
    struct weir_item *item = p->object;

    return weir_memop_advance(item->memops.ops, item->memops.count, &item->memops.next);
}

/* All is done, or the context has failed. */
static void memops_end(struct weir_poll *p)
{
    struct weir_item *item = p->object;
    struct burst b;

    begin(&b, item->run);
    finish(&b, item);
    drain(&b, false);
}

/* True: done at once. Else the poller goes on, and ends the node also when it could not begin. */
static bool start_memops(struct weir_item *item)
{
    struct weir_poll poll = {.ready = memops_are_done, .drop = memops_end, .object = item};
    enum weir_err err;

    item->memops.next = 0;
    if (memops_are_done(&poll))
        return true;
    hold(item);
    err = weir_poll_submit(item->memops.stream, &poll);
    if (err != WEIR_OK)
        weir_context_fail(item->ctx, err);
    return false;
}

/* The body to run now, or NULL. GRA-040 */
static struct weir_run *chosen_body(const struct weir_item *item)
{
    uint32_t value = __atomic_load_n(item->conditional.value, __ATOMIC_ACQUIRE);

    switch (item->conditional.kind) {
    case WEIR_COND_IF:
        if (value)
            return &item->conditional.bodies[0];
        return item->conditional.count > 1 ? &item->conditional.bodies[1] : NULL;
    case WEIR_COND_WHILE:
        return value ? &item->conditional.bodies[0] : NULL;
    case WEIR_COND_SWITCH:
        return value < item->conditional.count ? &item->conditional.bodies[value] : NULL;
    }
    return NULL;
}

static bool failed(const struct weir_item *item)
{
    return WEIR_UNLIKELY(weir_context_error(item->ctx) != WEIR_OK);
}

/* Starts what is not a short kernel. True: it has ended already. */
static bool start_item(struct weir_item *item)
{
    struct weir_run *body;

    if (item->kind == WEIR_ITEM_NOTHING) {
        if (weir_trace_enabled() && item->wanted == WEIR_ITEM_NOTHING && item->memory.bytes)
            weir_core_trace_memory_node(item);
        return true;
    }
    if (item->kind == WEIR_ITEM_RECORD) {
        fire_record(item);
        return true;
    }
    if (failed(item)) /* nothing runs in a failed context */
        return true;
    switch (item->kind) {
    case WEIR_ITEM_KERNEL:
        start_kernel(item);
        return false;
    case WEIR_ITEM_COPY:
        start_work(item, &item->copy.work);
        return false;
    case WEIR_ITEM_HOST:
        start_work(item, &item->host.work.work);
        return false;
    case WEIR_ITEM_WAIT:
        return wait_node(item);
    case WEIR_ITEM_MEMOPS:
        return start_memops(item);
    case WEIR_ITEM_CONDITIONAL:
        body = chosen_body(item);
        if (!body)
            return true;
        hold(item);
        start_run(body);
        return false;
    default:
        return true;
    }
}

static void start(struct burst *b, struct weir_item *item)
{
    if (start_item(item))
        finish(b, item);
    else
        b->alone = false;
}

/* ---- bursts ---- */

/* Gives up to half of the burst, or all of it, to `item`, which some worker will run. */
static void hand_over(struct burst *b, struct weir_item *item, bool all)
{
    uint32_t roots = b->root_end - b->root, keep = all ? 0 : b->listed / 2, last = 0;
    uint32_t *link = &b->first;

    item->kernel.rest_begin = all ? b->root : b->root + roots / 2;
    item->kernel.rest_end = b->root_end;
    b->root_end = item->kernel.rest_begin;
    for (uint32_t i = 0; i < keep; i++) {
        last = *link;
        link = &b->run->next[last - 1];
    }
    item->kernel.rest = *link;
    item->kernel.rest_last = b->last;
    item->kernel.rest_listed = b->listed - keep;
    *link = 0;
    b->last = last;
    b->listed = keep;
    item->carries = true;
    b->alone = false;
    b->ended_ns = 0;
    atomic_fetch_add_explicit(&b->run->carriers, 1, memory_order_relaxed);
    start_kernel(item);
}

/* Enough for two, if the others are as long as this one? Then another worker gets half. What a
 * kernel cost when it came through the queue is too much for one that runs in place: of those the
 * last ones say how long they take. */
static void share(struct burst *b, const struct weir_item *item)
{
    uint32_t ready = b->listed + b->root_end - b->root, each = b->each_ns;
    struct weir_item *other;

    if (!each || item->cost_ns < each)
        each = item->cost_ns;
    if (WEIR_LIKELY((uint64_t)ready * each < SHARE_NS) || ready < 3 ||
        atomic_load_explicit(&b->run->carriers, memory_order_relaxed) >=
            weir_device_worker_count(item->ctx->engines))
        return;
    /* The first of the half that leaves. */
    if (b->first) {
        other = &b->run->items[b->first - 1];
        if (!is_short(other))
            return;
        (void)pop(b);
    } else {
        other = &b->run->items[b->run->roots[b->root_end - 1]];
        if (!is_short(other))
            return;
        b->root_end--;
    }
    hand_over(b, other, false);
}

/* Counts what has ended; the last one ends the run, after which nothing of it may be touched. Until
 * here it lasts: because of what has ended, or, of a kernel that lets others begin, that has not.
 */
static void count(struct burst *b)
{
    atomic_store_explicit(&b->run->each_ns, b->each_ns, memory_order_relaxed);
    /* Release: what this thread did to the counts of nodes. */
    atomic_fetch_sub_explicit(&b->run->holders, 1, memory_order_release);
    if (b->done &&
        atomic_fetch_sub_explicit(&b->run->remaining, b->done, memory_order_acq_rel) == b->done)
        end_run(b->run);
}

static void note_failure(struct weir_item *item, enum weir_err status)
{
    weir_log(WEIR_LOG_INFO, "device %d: a graph's node: %s (%s)", item->ctx->ordinal,
             weir_err_name(status), weir_err_message());
    if (item->kind == WEIR_ITEM_KERNEL)
        weir_fault_report(item->ctx, item->kernel.function, item->kernel.image, &item->kernel.work,
                          status);
    if (status == WEIR_ERR_INVALID_VALUE && item->kind == WEIR_ITEM_COPY)
        atomic_store(&item->ctx->copy_error, (int)status);
    else
        weir_context_fail(item->ctx, status);
}

/* A node begins where the one before has ended: one look at the clock is enough for both. */
static void trace_short(struct burst *b, struct weir_item *item, uint64_t start)
{
    b->ended_ns = weir_trace_now();
    weir_core_trace_node(item, start, b->ended_ns);
}

/* Runs a short kernel on this thread. */
static void run_short(struct burst *b, struct weir_item *item)
{
    struct weir_kernel_work *w = &item->kernel.work;
    uint64_t start = !weir_trace_enabled() ? 0 : b->ended_ns ? b->ended_ns : weir_trace_now();
    enum weir_err err;

    set_clock(item);
    if (weir_check_enabled())
        weir_core_check_node_begin(item, &b->touches);
    err = weir_device_inline_run(item->ctx->engines, w);
    if (WEIR_UNLIKELY(start))
        trace_short(b, item, start);
    if (weir_check_enabled())
        weir_core_check_node(item, err, &b->touches);
    if (WEIR_UNLIKELY(err != WEIR_OK))
        note_failure(item, err);
    finish(b, item);
}

/* LOOK_AT kernels took so long. Down at once, up slowly: what disturbs the thread makes it more. */
static void note_each(struct burst *b, uint64_t ns)
{
    uint32_t each = (uint32_t)WEIR_MIN(ns / LOOK_AT, SHORT_NS) + 1;

    b->each_ns = b->each_ns && each > b->each_ns ? b->each_ns + (each - b->each_ns) / 8 : each;
}

/* Others wait for a worker. While a part of this run does, that may be what waits, on its way to a
 * worker that has to be woken: handing over more would only bring threads to hand over to each
 * other. But not for long. */
static bool is_needed_elsewhere(struct burst *b, struct weir_device *dev, uint64_t ns)
{
    if (atomic_load_explicit(&b->run->carriers, memory_order_relaxed) > 0 && ns < PATIENCE_NS)
        return false;
    return weir_device_inline_is_needed_elsewhere(dev);
}

/* Short kernels from one to the next, as long as nobody else needs the thread. False: the burst was
 * handed over. */
static bool run_in_place(struct burst *b, struct weir_item *item)
{
    struct weir_device *dev = item->ctx->engines;
    uint64_t begun = weir_clock_ns(), since = begun;
    uint32_t n = 0;

    while (item) {
        if (!is_short(item) || WEIR_UNLIKELY(item->ctx->engines != dev) || failed(item)) {
            start(b, item);
            b->ended_ns = 0;
        } else if (WEIR_UNLIKELY(++n % LOOK_AT == 0)) {
            uint64_t now = weir_clock_ns();

            note_each(b, now - since);
            if (now - since > LOOK_NS)
                item->cost_ns = SHORT_NS; /* some of them are not short: find out again */
            since = now;
            if (!b->alone)
                look_alone(b);
            if (is_needed_elsewhere(b, dev, now - begun) || !is_short(item)) {
                hand_over(b, item, true);
                return false;
            }
            run_short(b, item);
        } else {
            share(b, item);
            run_short(b, item);
        }
        item = pop(b);
    }
    return true;
}

/* Deals with all that is ready. in_place: on an engine's thread that has just ended a kernel. */
static void drain(struct burst *b, bool in_place)
{
    struct weir_item *item;

    while ((item = pop(b))) {
        if (!is_short(item) || failed(item)) {
            start(b, item);
            continue;
        }
        if (in_place && weir_device_inline_begin(item->ctx->engines)) {
            struct weir_device *dev = item->ctx->engines;

            (void)run_in_place(b, item);
            if (WEIR_UNLIKELY(b->touches != NULL))
                weir_touches_drop(b->touches);
            b->touches = NULL;
            weir_device_inline_end(dev);
            break; /* all is run, or handed over */
        }
        hand_over(b, item, true);
        break;
    }
    count(b);
}

/* ---- kernels, copies, host functions have ended ---- */

static void learn(struct weir_item *item)
{
    const struct weir_kernel_work *w = &item->kernel.work;
    uint64_t ns = w->work.end_ns - w->work.start_ns;

    item->may_inline = w->code && !weir_inject_enabled() && !weir_explore_enabled() &&
                       !w->code->may_park && !w->code->cooperative && !w->code->launches;
    item->cost_ns = ns < 1 ? 1 : ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
}

static void take_rest(struct burst *b, struct weir_item *item)
{
    b->first = item->kernel.rest;
    b->last = item->kernel.rest_last;
    b->listed = item->kernel.rest_listed;
    b->root = item->kernel.rest_begin;
    b->root_end = item->kernel.rest_end;
    item->carries = false;
    atomic_fetch_sub_explicit(&b->run->carriers, 1, memory_order_relaxed);
}

void weir_item_work_done(struct weir_work *work, enum weir_err status)
{
    struct weir_item *item = work->owner;
    struct burst b;

    if (item->kind == WEIR_ITEM_KERNEL && weir_nested_goes_on(work, status))
        return;
    if (weir_trace_enabled())
        weir_core_trace_node(item, work->start_ns, work->end_ns);
    if (item->kind == WEIR_ITEM_KERNEL)
        weir_pages_node_end(item->ctx->ordinal, item->kernel.function->name);
    if (weir_check_enabled())
        weir_core_check_node(item, status, NULL);
    if (item->kind == WEIR_ITEM_KERNEL)
        weir_nested_forget(work);
    begin(&b, item->run);
    if (atomic_load_explicit(&item->run->plan->submitted, memory_order_relaxed) == item)
        atomic_store_explicit(&item->run->plan->submitted, NULL, memory_order_relaxed);
    if (WEIR_UNLIKELY(status != WEIR_OK))
        note_failure(item, status);
    if (item->kind == WEIR_ITEM_KERNEL)
        learn(item);
    if (item->carries)
        take_rest(&b, item);
    finish(&b, item);
    drain(&b, item->kind == WEIR_ITEM_KERNEL);
}

enum weir_err weir_item_prepare(struct weir_kernel_work *work)
{
    struct weir_item *item = work->work.owner;
    enum weir_err err = weir_core_trace_code(item->kernel.function, item->kernel.image,
                                             work->launch.block, &work->code);

    if (err != WEIR_OK) {
        weir_log(WEIR_LOG_ERROR, "kernel %s: %s: %s", item->kernel.function->name,
                 weir_err_name(err), weir_err_message());
        return err;
    }
    work->launch.module_data = work->code->module_data;
    set_clock(item);
    return WEIR_OK;
}

void weir_item_run_host(struct weir_host_work *work)
{
    struct weir_item *item = work->work.owner;
    struct weir_check_func f = {0};

    if (weir_check_follows())
        weir_core_check_host_node(&f, item);
    weir_host_func_run(item->ctx, item->host.fn, item->host.user);
    weir_check_host_func_end(&f);
}

/* ---- runs ---- */

static void start_run(struct weir_run *run)
{
    struct burst b;

    run->time++;
    if (run->count == 0) {
        end_run(run);
        return;
    }
    /* This thread counts as one more node: the run outlives what it hands over. */
    atomic_store_explicit(&run->remaining, run->count + 1, memory_order_relaxed);
    atomic_store_explicit(&run->holders, 1, memory_order_relaxed);
    for (struct weir_early_item *e = run->early; e; e = e->next)
        weir_model_dependent_reset(&e->m, e->source_count);
    begin(&b, run);
    b.done = 1;
    b.root_end = run->root_count;
    drain(&b, false);
}

/* In a trace a launch is one bar. */
static void trace_end(const struct weir_graph_op *op)
{
    struct weir_work w = {
        .engine = WEIR_ENGINE_COMPUTE, .start_ns = op->plan->start_ns, .end_ns = weir_clock_ns()};

    weir_core_trace_done(&op->op, &w, WEIR_OK);
}

static void end_run(struct weir_run *run)
{
    struct weir_item *item = run->parent;
    struct weir_graph_op *op;
    struct burst b;

    if (!item) {
        op = run->plan->op;
        if (weir_check_follows())
            weir_core_check_done(&op->op, NULL, WEIR_OK);
        run->plan->op = NULL;
        if (weir_trace_enabled())
            trace_end(op);
        weir_pages_kernel_end(weir_stream_of(op->op.m.stream)->ctx->ordinal, NULL);
        weir_op_end(&op->op, WEIR_OK);
        return;
    }
    if (item->conditional.kind == WEIR_COND_WHILE && !failed(item) && chosen_body(item)) {
        start_run(run);
        return;
    }
    begin(&b, item->run);
    finish(&b, item);
    drain(&b, false);
}

static void launch_start(struct weir_graph_op *op)
{
    struct weir_plan *plan = op->plan;
    const struct weir_graph *g = plan->keep->graph;

    for (size_t i = 0; i < g->values.count; i++)
        if (g->values.items[i]->at_launch)
            *g->values.items[i]->value = g->values.items[i]->initial;
    plan->op = op;
    if (weir_trace_enabled()) {
        weir_core_trace_instance(plan);
        plan->start_ns = weir_clock_ns();
    }
    plan->priority = weir_stream_of(op->op.m.stream)->priority;
    atomic_store_explicit(
        &plan->grid_id,
        atomic_fetch_add_explicit(&weir_core.next_grid_id, plan->node_count, memory_order_relaxed),
        memory_order_relaxed);
    weir_pages_kernel_begin(weir_stream_of(op->op.m.stream)->ctx->ordinal);
    start_run(&plan->main);
}

void weir_graph_op_free(struct weir_graph_op *op, bool locked)
{
    struct weir_plan *plan = op->plan;

    weir_free(op->waits);
    op->waits = NULL;
    if (!plan)
        return;
    /* Helpers take their reference under the stream's lock, as long as it stands here. */
    if (!locked)
        weir_lock_acquire(&weir_stream_of(op->op.m.stream)->lock);
    op->plan = NULL;
    if (!locked)
        weir_lock_release(&weir_stream_of(op->op.m.stream)->lock);
    weir_plan_unref(plan);
}

struct weir_plan *weir_graph_op_plan_locked(struct weir_op *op)
{
    struct weir_plan *plan = ((struct weir_graph_op *)op)->plan;

    /* While a thread goes from kernel to kernel there is nothing to help with, and a reference
     * taken in every round of the wait would slow it down. Large graphs are left to the workers:
     * what helping saves is the way to one and back. */
    if (plan && (plan->node_count > HELP_NODES ||
                 !atomic_load_explicit(&plan->submitted, memory_order_relaxed)))
        return NULL;
    if (plan)
        atomic_fetch_add_explicit(&plan->refs, 1, memory_order_relaxed);
    return plan;
}

bool weir_plan_help(struct weir_plan *plan)
{
    struct weir_item *item = atomic_load_explicit(&plan->submitted, memory_order_relaxed);

    if (!item)
        return false;
    return weir_device_help(
        item->ctx->engines,
        item->wanted == WEIR_ITEM_COPY ? &item->copy.work : &item->kernel.work.work, NULL);
}

/* ---- launching ---- */

static void marker_start(struct weir_graph_op *op)
{
    (void)op; /* the record node ends it */
}

/* The event stands for this launch's record from now on. */
static enum weir_err submit_marker(struct weir_item *item)
{
    struct weir_event *e = item->event.event;
    struct weir_stream *s = item->event.stream;
    struct weir_graph_op *op =
        (struct weir_graph_op *)weir_submit_begin(s, WEIR_OP_GRAPH, WEIR_OP_SMALL);
    struct weir_model_point point;
    enum weir_err err;

    if (!op)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "an event record of a graph");
    op->start = marker_start;
    op->plan = NULL;
    op->waits = NULL;
    op->event = e;
    weir_lock_acquire(&e->lock);
    op->generation = ++e->generation;
    weir_lock_release(&e->lock);
    err = weir_submit_end(s, &op->op, NULL, 0, &point, NULL);
    if (err != WEIR_OK)
        return err;
    weir_lock_acquire(&e->lock);
    e->m.point = point;
    e->m.recorded = true;
    weir_lock_release(&e->lock);
    return WEIR_OK;
}

typedef enum weir_err (*event_visitor)(struct weir_item *item, void *arg);

static enum weir_err visit_events(struct weir_run *run, event_visitor visit, void *arg)
{
    enum weir_err err = WEIR_OK;

    for (uint32_t i = 0; i < run->count && err == WEIR_OK; i++) {
        struct weir_item *item = &run->items[i];

        if (item->wanted == WEIR_ITEM_RECORD || item->wanted == WEIR_ITEM_WAIT)
            err = visit(item, arg);
        for (unsigned k = 0; item->wanted == WEIR_ITEM_CONDITIONAL && k < item->conditional.count;
             k++)
            err = err == WEIR_OK ? visit_events(&item->conditional.bodies[k], visit, arg) : err;
    }
    return err;
}

static enum weir_err note_wait(struct weir_item *item, void *arg)
{
    struct weir_model_dep *waits = arg;
    struct weir_event *e = item->event.event;

    if (item->wanted != WEIR_ITEM_WAIT)
        return WEIR_OK;
    weir_lock_acquire(&e->lock);
    if (!weir_model_event_wait_dep(&e->m, &item->event.stream->m, &waits[item->event.index]))
        waits[item->event.index].point.stream = NULL;
    weir_lock_release(&e->lock);
    return WEIR_OK;
}

static enum weir_err note_record(struct weir_item *item, void *arg)
{
    (void)arg;
    return item->kind == WEIR_ITEM_RECORD ? submit_marker(item) : WEIR_OK;
}

/* GRA-011: a wait node waits for the record that is the last one at the launch call. */
static enum weir_err prepare_events(struct weir_plan *p, struct weir_model_dep **waits)
{
    enum weir_err err = WEIR_OK;

    *waits = NULL;
    if (WEIR_LIKELY(!p->wait_count && !p->record_count))
        return WEIR_OK;
    *waits = weir_calloc(p->wait_count + 1, sizeof **waits);
    if (!*waits)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "event waits of a graph");
    if (p->wait_count)
        err = visit_events(&p->main, note_wait, *waits);
    if (err == WEIR_OK && p->record_count)
        err = visit_events(&p->main, note_record, *waits);
    return err;
}

/* On success s is locked (weir_submit_begin). */
static enum weir_err begin_launch_locked(struct weir_exec *x, struct weir_stream *s,
                                         struct weir_graph_op **out, struct weir_model_dep *after)
{
    struct weir_model_dep *waits;
    struct weir_graph_op *op;
    enum weir_err err = weir_graph_memory_check(x);

    if (err != WEIR_OK)
        return err;
    err = prepare_events(x->plan, &waits);
    op = err == WEIR_OK ? (struct weir_graph_op *)weir_submit_begin(s, WEIR_OP_GRAPH, WEIR_OP_SMALL)
                        : NULL;
    if (!op) {
        weir_free(waits);
        return err != WEIR_OK ? err : WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a graph launch");
    }
    op->start = launch_start;
    op->plan = x->plan;
    op->item = NULL;
    op->waits = waits;
    atomic_fetch_add_explicit(&x->plan->refs, 1, memory_order_relaxed);
    *after = (struct weir_model_dep){x->last, WEIR_GUARANTEED, WEIR_RULE_GRAPH_ITSELF};
    /* The number that op will get: s is locked. */
    x->last = (struct weir_model_point){&s->m,
                                        atomic_load_explicit(&s->m.last, memory_order_relaxed) + 1};
    weir_graph_memory_launch(x, s);
    *out = op;
    return WEIR_OK;
}

/* Events that this launch records stand for nothing else from now on. */
static void forget_captured(struct weir_graph *g)
{
    for (struct weir_model_node *m = g->m.first; m; m = m->next) {
        struct weir_node *n = weir_node_of(m);

        if (m->kind == WEIR_NODE_GRAPH)
            forget_captured(n->child);
        else if (m->kind == WEIR_NODE_EVENT_RECORD)
            weir_capture_forget_locked(n->event);
    }
}

enum weir_err weir_exec_launch(struct weir_exec *x, struct weir_stream *s)
{
    struct weir_model_dep after;
    struct weir_graph_op *op = NULL;
    enum weir_err err;

    if (x->ctx && x->epoch != atomic_load_explicit(&x->ctx->epoch, memory_order_relaxed))
        return WEIR_FAIL(WEIR_ERR_CONTEXT_IS_DESTROYED,
                         "executable graph of a context that was reset or destroyed");
    err = weir_capture_forbid(WEIR_CAPTURE_CALL_REFUSED, s, "cudaGraphLaunch");
    if (err == WEIR_OK)
        err = weir_capture_forbid(WEIR_CAPTURE_CALL_LEGACY_WORK, s, "cudaGraphLaunch");
    if (err != WEIR_OK)
        return err;
    if (x->has_records) {
        weir_graphs_lock();
        forget_captured(x->graph);
        weir_graphs_unlock();
    }
    weir_submit_wait_for_room(s);
    weir_lock_acquire(&x->lock);
    if (weir_check_enabled())
        weir_core_check_sources(x->plan);
    err = begin_launch_locked(x, s, &op, &after);
    weir_lock_release(&x->lock); /* before anything runs: what ends may want locks of lower rank */
    if (err == WEIR_OK)
        err = weir_submit_end(s, &op->op, &after, 1, NULL, NULL);
    return err;
}

/* Compiles now what the first launch would compile: then that finds it. The plan is not changed,
 * since another thread may launch it meanwhile. */
static enum weir_err compile_kernels(struct weir_run *run)
{
    enum weir_err err = WEIR_OK;

    for (uint32_t i = 0; i < run->count && err == WEIR_OK; i++) {
        struct weir_item *item = &run->items[i];
        const struct weir_kernel_code *code;

        if (item->wanted == WEIR_ITEM_KERNEL)
            err = weir_core_trace_code(item->kernel.function, item->kernel.image,
                                       item->kernel.work.launch.block, &code);
        for (unsigned k = 0; item->wanted == WEIR_ITEM_CONDITIONAL && k < item->conditional.count;
             k++)
            err = err == WEIR_OK ? compile_kernels(&item->conditional.bodies[k]) : err;
    }
    return err;
}

enum weir_err weir_exec_upload(struct weir_exec *x, struct weir_stream *s)
{
    enum weir_err err = weir_capture_forbid(WEIR_CAPTURE_CALL_REFUSED, s, "cudaGraphUpload");
    struct weir_plan *plan;

    if (err != WEIR_OK)
        return err;
    weir_lock_acquire(&x->lock);
    plan = x->plan;
    atomic_fetch_add_explicit(&plan->refs, 1, memory_order_relaxed);
    weir_lock_release(&x->lock);
    err = compile_kernels(&plan->main); /* for long, perhaps: no lock is held */
    weir_plan_unref(plan);
    return err;
}
