/* The edges between a graph's nodes: an instance's are told once, a launch says whose it is, and a
 * node which of them. Nodes that have no bar (empty ones, events) hand on what they follow.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "trace/format.h"
#include "trace/graphs.h"

#define WORK_MAX 50000000u /* steps along edges, in all; behind that there are none */

static int by_instance(const void *x, const void *y)
{
    const struct raw_instance_node *a = x, *b = y;

    if (a->instance != b->instance)
        return a->instance < b->instance ? -1 : 1;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static int by_launch(const void *x, const void *y)
{
    const struct raw_launched_node *a = x, *b = y;

    if (a->launch != b->launch)
        return a->launch < b->launch ? -1 : 1;
    return a->op < b->op ? -1 : a->op > b->op;
}

void weir_trace_graphs_begin(struct reader *r, struct weir_trace_graphs *g)
{
    *g = (struct weir_trace_graphs){.reader = r};
    if (r->instance_nodes.count)
        qsort(r->instance_nodes.items, r->instance_nodes.count, sizeof *r->instance_nodes.items,
              by_instance);
    for (size_t i = 0; i < r->launches.count; i++) {
        const struct raw_launch *l = &r->launches.items[i];
        uint32_t op = weir_trace_reader_op(r, l->stream, l->seq);

        if (op != WEIR_TRACE_NONE)
            r->file->ops[op].instance = l->instance;
    }
}

void weir_trace_graphs_finish(struct weir_trace_graphs *g)
{
    weir_vec_finish(&g->nodes);
}

/* The first record of the instance, or of its node, or the next one there would be. */
static uint32_t lower_bound(const struct reader *r, uint32_t instance, uint32_t number)
{
    const struct raw_instance_node key = {.instance = instance, .number = number};
    size_t low = 0, high = r->instance_nodes.count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (by_instance(&r->instance_nodes.items[mid], &key) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return (uint32_t)low;
}

static const struct raw_instance_node *find_node(const struct reader *r, uint32_t instance,
                                                 uint32_t number)
{
    uint32_t at = lower_bound(r, instance, number);
    const struct raw_instance_node *n =
        at < r->instance_nodes.count ? &r->instance_nodes.items[at] : NULL;

    return n && n->instance == instance && n->number == number ? n : NULL;
}

void weir_trace_graphs_places(const struct weir_trace_graphs *g, const struct raw_node *n,
                              struct weir_trace_op *op)
{
    const uint32_t instance = g->reader->file->ops[op->graph].instance;
    const struct raw_instance_node *of =
        n->number && instance ? find_node(g->reader, instance, n->number - 1) : NULL;
    const struct weir_trace_touch *p = of ? of->places : NULL;
    struct reader *r = g->reader;

    if (!p)
        return;
    if (of->what == WEIR_TRACE_INSTANCE_KERNEL && op->kind == WEIR_TRACE_OP_KERNEL &&
        !op->pointer_count) {
        op->pointer_first = (uint32_t)r->file->pointers_count;
        for (uint32_t i = 0; i < of->place_count && PUSH(r, pointers, p[i].address); i++)
            op->pointer_count++;
    }
    if (of->what != WEIR_TRACE_INSTANCE_COPY)
        return;
    for (uint32_t i = 0; i < of->place_count; i++) {
        if (p[i].writes) {
            op->u.copy.dst = p[i].address;
            op->u.copy.dst_span = p[i].bytes;
        } else if (op->kind == WEIR_TRACE_OP_COPY) {
            op->u.copy.src = p[i].address;
            op->u.copy.src_span = p[i].bytes;
        }
    }
}

bool weir_trace_graphs_add(struct weir_trace_graphs *g, const struct raw_node *n, uint32_t launch,
                           uint32_t op)
{
    const struct raw_launched_node node = {launch, op, n->number - 1};

    return !n->number || !g->reader->file->ops[launch].instance || weir_vec_push(&g->nodes, node);
}

/* ---- edges ---- */

/* One instance's edges the other way round, and where a launch's nodes stand. */
struct walk {
    struct weir_trace_graphs *g;
    uint32_t instance;
    uint32_t nodes;
    uint32_t *first, *before; /* by node, one more; numbers */
    uint32_t *op;             /* by node: its operation in this launch, NONE */
    uint32_t *seen;           /* by node: the operation whose walk came by last */
    uint32_t *stack;
    uint64_t work;
};

static void forget(struct walk *w)
{
    weir_free(w->first);
    weir_free(w->before);
    weir_free(w->op);
    weir_free(w->seen);
    weir_free(w->stack);
    w->first = w->before = w->op = w->seen = w->stack = NULL;
}

/* False: no memory. No nodes: the instance makes no sense, or is not there. */
static bool learn(struct walk *w, uint32_t instance)
{
    const struct reader *r = w->g->reader;
    uint32_t at = lower_bound(r, instance, 0), end = lower_bound(r, instance + 1, 0);
    size_t edges = 0;

    forget(w);
    w->instance = instance;
    w->nodes = end > at ? r->instance_nodes.items[end - 1].number + 1 : 0;
    if (w->nodes > end - at)
        w->nodes = 0; /* not all are there */
    for (uint32_t i = at; i < end; i++)
        edges += r->instance_nodes.items[i].next_count;
    w->first = weir_calloc(w->nodes + 2, sizeof *w->first);
    w->before = weir_alloc((edges + 1) * sizeof *w->before);
    w->op = weir_alloc((w->nodes + 1) * sizeof *w->op);
    w->seen = weir_alloc((w->nodes + 1) * sizeof *w->seen);
    w->stack = weir_alloc((w->nodes + 1) * sizeof *w->stack);
    if (!w->first || !w->before || !w->op || !w->seen || !w->stack)
        return false;
    memset(w->seen, 0xff, (w->nodes + 1) * sizeof *w->seen);
    for (int pass = 0; w->nodes && pass < 2; pass++) {
        for (uint32_t i = at; i < end; i++) {
            const struct raw_instance_node *n = &r->instance_nodes.items[i];

            for (uint32_t k = 0; k < n->next_count; k++) {
                uint32_t next = r->instance_next.items[n->next_first + k];

                if (next < w->nodes && pass == 0)
                    w->first[next + 1]++;
                else if (next < w->nodes)
                    w->before[--w->first[next + 1]] = n->number;
            }
        }
        for (uint32_t i = 0; i <= w->nodes && pass == 0; i++)
            w->first[i + 1] += w->first[i];
    }
    return true;
}

/* What node follows, through those without a bar, becomes op's edges. */
static bool follow(struct walk *w, uint32_t node, uint32_t op)
{
    struct reader *r = w->g->reader;
    uint32_t depth = 0;

    w->stack[depth++] = node;
    while (depth) {
        uint32_t at = w->stack[--depth];

        for (uint32_t i = w->first[at + 1]; i < w->first[at + 2]; i++, w->work++) {
            uint32_t before = w->before[i];
            struct weir_trace_dep dep = {
                .op = w->op[before], .rule = WEIR_TRACE_GRAPH_EDGE, .guaranteed = 1};

            if (w->seen[before] == op)
                continue;
            w->seen[before] = op;
            if (dep.op == WEIR_TRACE_NONE)
                w->stack[depth++] = before;
            else if (dep.op != op && !PUSH(r, deps, dep))
                return false;
        }
    }
    return true;
}

/* When the node could start, and what came last. */
static void settle(struct weir_trace_file *f, struct weir_trace_op *op)
{
    const struct weir_trace_op *launch = &f->ops[op->graph];
    uint64_t ready = WEIR_MAX(launch->ready_ns, launch->submit_ns);

    op->why = launch->why;
    op->why_op = launch->why_op;
    op->why_rule = launch->why_rule;
    for (uint32_t i = 0; i < op->dep_count; i++) {
        const struct weir_trace_dep *d = &f->deps[op->dep_first + i];

        if (i && f->ops[d->op].end_ns <= ready)
            continue;
        ready = f->ops[d->op].end_ns;
        op->why = WEIR_TRACE_WHY_EDGE;
        op->why_op = d->op;
        op->why_rule = d->rule;
    }
    op->ready_ns = WEIR_MIN(ready, op->start_ns);
}

static bool link_launch(struct walk *w, const struct raw_launched_node *n, size_t count)
{
    struct weir_trace_file *f = w->g->reader->file;

    memset(w->op, 0xff, (w->nodes + 1) * sizeof *w->op);
    w->work += w->nodes + count;
    for (size_t i = 0; i < count; i++) {
        if (n[i].number < w->nodes)
            w->op[n[i].number] = n[i].op;
    }
    for (size_t i = 0; i < count && w->work < WORK_MAX; i++) {
        struct weir_trace_op *op = &f->ops[n[i].op];

        if (n[i].number >= w->nodes)
            continue;
        op->dep_first = (uint32_t)f->deps_count;
        if (!follow(w, n[i].number, n[i].op))
            return false;
        op->dep_count = (uint32_t)f->deps_count - op->dep_first;
        settle(f, op);
    }
    return true;
}

bool weir_trace_graphs_link(struct weir_trace_graphs *g)
{
    struct walk w = {.g = g};
    bool ok = true;
    size_t count;

    if (g->nodes.count)
        qsort(g->nodes.items, g->nodes.count, sizeof *g->nodes.items, by_launch);
    for (size_t i = 0; i < g->nodes.count && ok && w.work < WORK_MAX; i += count) {
        const struct raw_launched_node *n = &g->nodes.items[i];
        const uint32_t instance = g->reader->file->ops[n->launch].instance;

        for (count = 1; i + count < g->nodes.count && n[count].launch == n->launch;)
            count++;
        if (!w.first || w.instance != instance)
            ok = learn(&w, instance);
        ok = ok && link_launch(&w, n, count);
    }
    forget(&w);
    return ok;
}
