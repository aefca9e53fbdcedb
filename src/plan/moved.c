/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/moved.h"

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/vec.h"
#include "model/rules.h"

struct moved {
    const struct weir_plan_recorded *m;
    struct weir_trace_file *f;
    struct weir_plan_moments when;
    struct weir_plan_orders orders;
    uint32_t *order_at;            /* by operation: its first in orders */
    uint64_t *old_begin, *old_end; /* of calls */
};

static uint64_t moment(const struct moved *v, double ns)
{
    return v->f->begin_ns + weir_plan_ns(ns);
}

/* ---- operations ---- */

static void move_op(struct moved *v, size_t i)
{
    struct weir_trace_op *op = &v->f->ops[i];
    const struct weir_plan_time *t = &v->when.ops[i];

    if (t->end < 0) {
        /* What the simulation does not submit: records, waits, nodes of graphs, what never ran. */
        if (op->graph == WEIR_TRACE_NONE && op->call < v->f->calls_count)
            op->submit_ns = op->ready_ns = op->start_ns = op->end_ns =
                moment(v, v->when.call_work[op->call]);
        return;
    }
    op->submit_ns = moment(v, t->submit);
    op->ready_ns = WEIR_MAX(moment(v, t->ready), op->submit_ns);
    op->start_ns = WEIR_MAX(moment(v, t->start), op->ready_ns);
    op->end_ns = WEIR_MAX(moment(v, t->end), op->start_ns);
    op->why = WEIR_TRACE_WHY_HOST;
    op->why_op = WEIR_TRACE_NONE;
    if (t->why == WEIR_PLAN_WHY_HOST || t->why_op >= v->f->ops_count)
        return;
    op->why_op = t->why_op;
    op->why = t->why == WEIR_PLAN_WHY_ENGINE              ? WEIR_TRACE_WHY_ENGINE
              : v->f->ops[t->why_op].stream == op->stream ? WEIR_TRACE_WHY_STREAM
                                                          : WEIR_TRACE_WHY_EDGE;
}

/* Nodes keep their places within their graph's launch. old: where that was. */
static void move_nodes(struct moved *v, const uint64_t *old_start, const uint64_t *old_end)
{
    for (size_t i = 0; i < v->f->ops_count; i++) {
        struct weir_trace_op *op = &v->f->ops[i];
        const struct weir_trace_op *launch;
        double scale, from;

        if (op->graph >= v->f->ops_count)
            continue;
        launch = &v->f->ops[op->graph];
        scale = old_end[op->graph] > old_start[op->graph]
                    ? (double)(launch->end_ns - launch->start_ns) /
                          (double)(old_end[op->graph] - old_start[op->graph])
                    : 0;
        from = (double)old_start[op->graph];
        op->start_ns = launch->start_ns + weir_plan_ns(((double)op->start_ns - from) * scale);
        op->end_ns = launch->start_ns + weir_plan_ns(((double)op->end_ns - from) * scale);
        op->end_ns = WEIR_MAX(op->end_ns, op->start_ns);
        op->submit_ns = launch->submit_ns;
        op->ready_ns = op->start_ns;
    }
}

static bool move_ops(struct moved *v)
{
    uint64_t *start = weir_alloc((v->f->ops_count + 1) * sizeof *start);
    uint64_t *end = weir_alloc((v->f->ops_count + 1) * sizeof *end);
    bool ok = start && end;

    for (size_t i = 0; ok && i < v->f->ops_count; i++) {
        start[i] = v->f->ops[i].start_ns;
        end[i] = v->f->ops[i].end_ns;
        move_op(v, i);
    }
    if (ok)
        move_nodes(v, start, end);
    weir_free(start);
    weir_free(end);
    return ok;
}

/* What an operation follows depends on what was over when it was submitted: there, not here.
 * Records, waits and nodes have theirs as before, and so have graphs those of their instance. */
static bool move_deps(struct moved *v)
{
    const struct weir_plan_orders *orders = &v->orders;
    WEIR_VEC(struct weir_trace_dep) deps = {0};
    bool ok = !orders->no_memory;

    for (size_t k = orders->count; k-- > 0;)
        v->order_at[orders->items[k].op] = (uint32_t)k;
    for (uint32_t i = 0, *at = v->order_at; ok && i < v->f->ops_count; i++) {
        struct weir_trace_op *op = &v->f->ops[i];
        uint32_t first = (uint32_t)deps.count;

        for (uint32_t k = 0; ok && k < op->dep_count; k++) {
            const struct weir_trace_dep *d = &v->f->deps[op->dep_first + k];

            if (v->when.ops[i].submit < 0 || d->rule == WEIR_RULE_GRAPH_ITSELF)
                ok = weir_vec_push(&deps, *d);
        }
        for (uint32_t k = at[i]; ok && k < orders->count && orders->items[k].op == i; k++)
            ok = weir_vec_push(&deps,
                               ((struct weir_trace_dep){orders->items[k].on, orders->items[k].rule,
                                                        orders->items[k].guaranteed}));
        op->dep_first = first;
        op->dep_count = (uint32_t)deps.count - first;
    }
    if (!ok) {
        weir_vec_finish(&deps);
        return false;
    }
    weir_free(v->f->deps);
    v->f->deps = deps.items;
    v->f->deps_count = deps.count;
    return true;
}

/* ---- the host ---- */

static void move_calls(struct moved *v)
{
    for (size_t i = 0; i < v->f->calls_count; i++) {
        struct weir_trace_call *c = &v->f->calls[i];

        v->old_begin[i] = c->begin_ns;
        v->old_end[i] = c->end_ns;
        if (c->thread >= v->f->threads_count || v->when.call_end[i] < 0)
            continue;
        c->begin_ns = moment(v, v->when.call_begin[i]);
        c->end_ns = WEIR_MAX(moment(v, v->when.call_end[i]), c->begin_ns);
        c->waited_ns = c->end_ns - WEIR_MIN(moment(v, v->when.call_work[i]), c->end_ns);
    }
    for (size_t i = 0; i < v->f->waits_count; i++) {
        struct weir_trace_wait *w = &v->f->waits[i];

        if (w->call >= v->f->calls_count)
            continue;
        w->end_ns = v->f->calls[w->call].end_ns;
        w->begin_ns = w->end_ns - v->f->calls[w->call].waited_ns;
    }
}

/* A moment of a thread between or within calls: as far behind the last beginning or end as it was,
 * but not beyond the next. */
static uint64_t move_time(const struct moved *v, uint32_t thread, uint64_t ns)
{
    const uint32_t *calls = v->m->thread_calls + v->m->thread_first[thread];
    uint32_t low = 0, high = v->m->thread_count[thread], n = high;
    uint64_t from, to, next;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;

        if (v->old_begin[calls[mid]] <= ns)
            low = mid + 1;
        else
            high = mid;
    }
    if (!low)
        return ns;
    from = v->old_begin[calls[low - 1]];
    to = v->f->calls[calls[low - 1]].begin_ns;
    next = v->f->calls[calls[low - 1]].end_ns;
    if (ns >= v->old_end[calls[low - 1]]) {
        from = v->old_end[calls[low - 1]];
        to = next;
        next = low < n ? v->f->calls[calls[low]].begin_ns : UINT64_MAX;
    }
    return WEIR_MIN(to + (ns - from), WEIR_MAX(next, to));
}

static void move_rest(struct moved *v)
{
    struct weir_trace_file *f = v->f;

    for (size_t i = 0; i < f->ranges_count; i++) {
        struct weir_trace_range *r = &f->ranges[i];

        if (r->thread >= f->threads_count)
            continue;
        r->begin_ns = move_time(v, r->thread, r->begin_ns);
        r->end_ns = WEIR_MAX(move_time(v, r->thread, r->end_ns), r->begin_ns);
    }
    for (size_t i = 0; i < f->allocations_count; i++) {
        struct weir_trace_allocation *a = &f->allocations[i];

        if (a->call < f->calls_count && f->calls[a->call].thread < f->threads_count) {
            uint32_t thread = f->calls[a->call].thread;

            a->begin_ns = move_time(v, thread, a->begin_ns);
            a->end_ns = a->end_ns ? WEIR_MAX(move_time(v, thread, a->end_ns), a->begin_ns) : 0;
        }
    }
    if (v->m->model_clock)
        f->loads_count = 0; /* what loading code takes there nobody knows */
    f->end_ns = f->begin_ns;
    for (size_t i = 0; i < f->calls_count; i++)
        f->end_ns = WEIR_MAX(f->end_ns, f->calls[i].end_ns);
    for (size_t i = 0; i < f->ops_count; i++)
        f->end_ns = WEIR_MAX(f->end_ns, f->ops[i].end_ns);
}

bool weir_plan_move(const struct weir_plan_recorded *m, struct weir_trace_file *f)
{
    const struct weir_plan_scenario as_it_is = {0};
    struct moved v = {.m = m, .f = f};
    struct weir_plan_outcome out;
    size_t calls = f->calls_count + 1;
    bool ok;

    v.when = (struct weir_plan_moments){.ops = weir_calloc(f->ops_count + 1, sizeof *v.when.ops),
                                        .call_begin = weir_calloc(calls, sizeof *v.when.call_begin),
                                        .call_work = weir_calloc(calls, sizeof *v.when.call_work),
                                        .call_end = weir_calloc(calls, sizeof *v.when.call_end),
                                        .orders = &v.orders};
    v.order_at = weir_calloc(f->ops_count + 1, sizeof *v.order_at);
    v.old_begin = weir_calloc(calls, sizeof *v.old_begin);
    v.old_end = weir_calloc(calls, sizeof *v.old_end);
    ok = v.when.ops && v.when.call_begin && v.when.call_work && v.when.call_end && v.old_begin &&
         v.old_end && v.order_at && weir_plan_recorded_times(m, &as_it_is, &out, &v.when) &&
         move_ops(&v) && move_deps(&v);
    if (ok) {
        move_calls(&v);
        move_rest(&v);
    }
    weir_free(v.order_at);
    weir_free(v.orders.items);
    weir_free(v.when.ops);
    weir_free(v.when.call_begin);
    weir_free(v.when.call_work);
    weir_free(v.when.call_end);
    weir_free(v.old_begin);
    weir_free(v.old_end);
    return ok;
}
