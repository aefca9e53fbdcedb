/* The host waits. A waiter first helps: it looks for the operation that its wait hangs on,
 * following blocked operations to the streams they wait for, and runs a piece of it itself. Then it
 * spins for a moment, then sleeps on the stream's futex word until the number it waits for is
 * reached, or until a kernel of that stream finds no worker free.
 * SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <sched.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/loader.h"
#include "base/thread.h"
#include "core/check.h"
#include "core/pool.h"
#include "core/graph_run.h"
#include "core/late.h"
#include "core/services.h"
#include "core/stream.h"
#include "core/submit.h"
#include "core/trace.h"

#define HELP_DEPTH   16 /* streams followed from one wait */
#define POINTS_STACK 32
#define SPIN_STEP    32
#define SPIN_HARD_NS 2000 /* from then on who spins lets others have the CPU */

/* The operation that keeps `p` from holding and that a helper may run; a reference is taken. NULL:
 * nothing to help. Or *plan, with a reference: a graph's. */
static struct weir_op *find_helpable(const struct weir_model_point *p, struct weir_plan **plan)
{
    struct weir_model_point next = *p;

    for (int depth = 0; next.stream && depth < HELP_DEPTH; depth++) {
        struct weir_stream *s = weir_stream_of(next.stream);
        struct weir_model_dep *dep = NULL;
        struct weir_op *op, *found = NULL;

        weir_lock_acquire(&s->lock);
        op = (struct weir_op *)s->m.head;
        if (op && op->m.state == WEIR_OP_READY) {
            if (weir_op_has_job(op->m.kind) &&
                atomic_load_explicit(&op->dispatched, memory_order_acquire)) {
                op->refs++;
                found = op;
            } else if (weir_op_has_job(op->m.kind)) {
                (void)weir_model_watch(&next); /* whose thread pauses goes on (submit.c) */
            } else if (op->m.kind == WEIR_OP_GRAPH) {
                *plan = weir_graph_op_plan_locked(op);
            }
        } else if (op && op->m.state == WEIR_OP_BLOCKED && op->m.dep_pos < op->m.dep_count) {
            dep = &op->m.deps[op->m.dep_pos];
        }
        next = dep ? dep->point : (struct weir_model_point){0};
        weir_lock_release(&s->lock);
        if (found)
            return found;
    }
    return NULL;
}

static bool help(const struct weir_model_point *p)
{
    struct weir_plan *plan = NULL;
    struct weir_op *op = find_helpable(p, &plan);
    struct weir_stream *s;
    bool did;

    if (plan) {
        did = weir_plan_help(plan);
        weir_plan_unref(plan);
        return did;
    }
    if (!op)
        return false;
    s = weir_stream_of(op->m.stream);
    did = weir_device_help(weir_op_ctx(op)->engines, weir_op_work(op), NULL);
    weir_lock_acquire(&s->lock);
    weir_op_unref_locked(s, op);
    weir_lock_release(&s->lock);
    return did;
}

/* Sleeps until s's completion passes p, or something else wakes the stream's sleepers. */
static void sleep_on(const struct weir_model_point *p, uint64_t timeout_ns)
{
    struct weir_stream *s = weir_stream_of(p->stream);
    uint32_t word;

    weir_lock_acquire(&s->lock);
    if (!weir_model_watch(p) || s->wants_help) {
        s->wants_help = false;
        weir_lock_release(&s->lock);
        return;
    }
    if (p->seq < s->wait_seq)
        s->wait_seq = p->seq;
    if (timeout_ns != UINT64_MAX)
        s->naps = true;
    else if (weir_core.config.help &&
             p->seq > atomic_load_explicit(&s->help_seq, memory_order_relaxed))
        atomic_store_explicit(&s->help_seq, p->seq, memory_order_relaxed);
    word = atomic_load_explicit(&s->wake, memory_order_relaxed);
    weir_lock_release(&s->lock);
    weir_lock_check_none_held();
    weir_race_at(WEIR_RACE_WAITER_LOOKED);
    weir_loader_wait(&s->wake, word, timeout_ns);
}

static bool wait_point_now(const struct weir_model_point *p, uint64_t deadline_ns)
{
    uint64_t spin_until = 0, yield_from = 0;

    if (weir_model_point_holds(p))
        return true;
    if (weir_explore_enabled())
        return weir_explore_wait(p, deadline_ns);
    weir_thread_wait_begin(p->stream, p->seq);
    if (weir_late_enabled())
        weir_late_demand(p);
    while (!weir_model_point_holds(p)) {
        uint64_t now;

        if (weir_core.config.help && help(p)) {
            spin_until = 0;
            continue;
        }
        now = weir_clock_ns();
        if (now >= deadline_ns) {
            weir_thread_wait_end();
            return false;
        }
        if (!spin_until) {
            spin_until = now + (uint64_t)weir_core.config.spin_ns;
            yield_from = now + SPIN_HARD_NS;
            weir_thread_wait_since(now);
        }
        if (now < spin_until) {
            for (int i = 0; i < SPIN_STEP && !weir_model_point_holds(p); i++)
                weir_cpu_relax();
            if (now >= yield_from)
                sched_yield();
            continue;
        }
        sleep_on(p, deadline_ns == UINT64_MAX ? UINT64_MAX : deadline_ns - now);
    }
    weir_thread_wait_end();
    return true;
}

void weir_wait_briefly(const struct weir_model_point *p, uint64_t timeout_ns)
{
    sleep_on(p, timeout_ns);
}

static bool wait_point(const struct weir_model_point *p, uint64_t deadline_ns)
{
    uint64_t start;
    bool in_time;

    if (!weir_trace_enabled() || weir_model_point_holds(p))
        return wait_point_now(p, deadline_ns);
    start = weir_clock_ns();
    in_time = wait_point_now(p, deadline_ns);
    weir_trace_waited(weir_stream_of(p->stream)->id, p->seq, start, weir_clock_ns());
    return in_time;
}

void weir_wait_points(const struct weir_model_point *points, size_t count)
{
    for (size_t i = 0; i < count; i++)
        wait_point(&points[i], UINT64_MAX);
}

/* Collects into `stack`, or into memory of its own when there are many. *out is the caller's to
 * free when != stack. */
static enum weir_err collect(struct weir_context *ctx, struct weir_stream *s,
                             struct weir_model_point *stack, struct weir_model_point **out,
                             size_t *count)
{
    size_t cap = POINTS_STACK;

    *out = stack;
    for (;;) {
        weir_lock_acquire(&ctx->streams_lock);
        *count = s ? weir_model_stream_targets(&s->m, *out, cap)
                   : weir_model_device_targets(&weir_core.model, ctx->index, *out, cap);
        weir_lock_release(&ctx->streams_lock);
        if (*count <= cap)
            return WEIR_OK;
        if (*out != stack)
            weir_free(*out);
        cap = *count * 2;
        *out = weir_alloc(cap * sizeof **out);
        if (!*out)
            return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "list of %zu streams to wait for", cap);
    }
}

/* First for what hangs on no copy that is held back: it runs before that lands. */
static bool wait_points_late(const struct weir_model_point *points, size_t count,
                             uint64_t deadline_ns)
{
    bool ok = true;

    for (size_t i = 0; i < count && ok; i++)
        if (!weir_late_is_held(&points[i]))
            ok = wait_point(&points[i], deadline_ns);
    return ok;
}

static enum weir_err wait_targets(struct weir_context *ctx, struct weir_stream *s,
                                  uint64_t deadline_ns, bool *in_time)
{
    struct weir_model_point stack[POINTS_STACK], *points;
    enum weir_err err;
    struct weir_check_sync seen;
    size_t count;
    bool ok = true, checked = weir_check_follows();

    if (checked)
        seen = weir_check_sync_begin(s, ctx->index);
    if (weir_trace_enabled())
        weir_trace_sync(s ? WEIR_TRACE_SYNC_STREAM : WEIR_TRACE_SYNC_DEVICE,
                        s ? s->id : (uint64_t)ctx->index, 0);
    err = collect(ctx, s, stack, &points, &count);
    if (err == WEIR_OK && weir_late_enabled())
        ok = wait_points_late(points, count, deadline_ns);
    for (size_t i = 0; err == WEIR_OK && i < count && ok; i++)
        ok = wait_point(&points[i], deadline_ns);
    if (checked)
        weir_check_sync_end(&seen, ok && err == WEIR_OK);
    if (err != WEIR_OK)
        return err;
    if (points != stack)
        weir_free(points);
    if (in_time)
        *in_time = ok;
    if (weir_trace_enabled())
        weir_core_trace_managed_settled();
    if (ok)
        weir_pool_synced(s, NULL, ctx);
    weir_printf_flush(ctx);
    return weir_context_take_error(ctx);
}

enum weir_err weir_wait_stream(struct weir_stream *s)
{
    struct weir_model_point point;

    if (weir_model_needs_all(&s->m) || weir_check_follows())
        return wait_targets(s->ctx, s, UINT64_MAX, NULL);
    if (weir_trace_enabled())
        weir_trace_sync(WEIR_TRACE_SYNC_STREAM, s->id, 0);
    point =
        (struct weir_model_point){&s->m, atomic_load_explicit(&s->m.last, memory_order_acquire)};
    wait_point(&point, UINT64_MAX);
    if (weir_trace_enabled())
        weir_core_trace_managed_settled();
    weir_pool_synced(s, NULL, s->ctx);
    weir_printf_flush(s->ctx);
    return weir_context_take_error(s->ctx);
}

enum weir_err weir_wait_device(struct weir_context *ctx)
{
    return wait_targets(ctx, NULL, UINT64_MAX, NULL);
}

bool weir_wait_settled(struct weir_context *ctx, uint64_t deadline_ns)
{
    struct weir_model_point stack[POINTS_STACK], *points;
    size_t count;
    bool ok = true;

    if (collect(ctx, NULL, stack, &points, &count) != WEIR_OK)
        return false;
    for (size_t i = 0; i < count && ok; i++)
        ok = wait_point(&points[i], deadline_ns);
    if (points != stack)
        weir_free(points);
    return ok;
}

bool weir_wait_drain(struct weir_context *ctx)
{
    uint64_t now = weir_clock_ns(), gave_up = atomic_load(&ctx->gave_up_ns);
    /* Each fat binary of a program asks when the process ends: only the first waits in vain. */
    bool again = gave_up && now - gave_up < DRAIN_NS;
    bool in_time = false;

    if (weir_thread.host_func) /* exit was called in it: it does not end */
        return false;
    /* The error, if any, was reported to the program or will never be. */
    (void)!wait_targets(ctx, NULL, again ? now : now + DRAIN_NS, &in_time);
    if (!in_time && !again)
        atomic_store(&ctx->gave_up_ns, weir_clock_ns());
    return in_time;
}

enum weir_err weir_query_stream(struct weir_stream *s)
{
    struct weir_model_point point;
    enum weir_err err = weir_context_error(s->ctx);
    size_t count;

    if (err != WEIR_OK)
        return err;
    weir_lock_acquire(&s->ctx->streams_lock);
    count = weir_model_stream_targets(&s->m, &point, 1);
    weir_lock_release(&s->ctx->streams_lock);
    if (weir_trace_enabled())
        weir_trace_query(WEIR_TRACE_QUERY_STREAM, s->id, count == 0);
    if (weir_check_follows() && count == 0)
        weir_check_host_saw_stream(s);
    if (count && weir_late_enabled())
        weir_late_demand(&point);
    if (count && weir_explore_enabled())
        weir_explore_asked(&point);
    if (count)
        return WEIR_ERR_NOT_READY; /* not an error that anyone needs a message for */
    return weir_context_error(s->ctx);
}
