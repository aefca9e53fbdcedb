/* Question 10 inside a graph: edges between nodes that share no data. What nodes are given says
 * what they may touch, as for launches; a node of which that is not known keeps its place.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/find.h"
#include "base/alloc.h"
#include "base/bits.h"

#define NODES_MAX     512 /* of a graph; with more there is no verdict */
#define INSTANCES_MAX 24  /* that are looked at */
#define WORDS         (NODES_MAX / 64)

struct node {
    uint32_t op;
    bool known; /* what it touches */
    struct weir_plan_range ranges[WEIR_PLAN_RANGES_MAX];
    size_t range_count;
    uint64_t direct[WORDS], behind[WORDS]; /* nodes before it: by an edge, by any path */
    uint64_t needed[WORDS], needs[WORDS];  /* that it shares data with; by any path of such */
};

struct graph {
    struct weir_advise_context *c;
    struct node *nodes; /* in an order of the graph */
    uint32_t count;
};

static void join(uint64_t *set, const uint64_t *other)
{
    for (int i = 0; i < WORDS; i++)
        set[i] |= other[i];
}

/* ---- one launch ---- */

static uint32_t find_node(const struct graph *g, uint32_t op)
{
    for (uint32_t i = 0; i < g->count; i++) {
        if (g->nodes[i].op == op)
            return i;
    }
    return WEIR_TRACE_NONE;
}

/* Kernels may use variables that no pointer names: one without pointers is not known. */
static void learn_node(const struct graph *g, struct node *n, uint32_t op)
{
    const struct weir_trace_op *o = &g->c->f->ops[op];

    memset(n, 0, sizeof *n);
    n->op = op;
    n->range_count = weir_plan_data_ranges(&g->c->data, g->c->f, op, n->ranges);
    n->known = n->range_count && n->range_count < WEIR_PLAN_RANGES_MAX &&
               (o->kind == WEIR_TRACE_OP_KERNEL || o->kind == WEIR_TRACE_OP_COPY ||
                o->kind == WEIR_TRACE_OP_MEMSET);
    for (size_t i = 0; i < n->range_count; i++)
        n->known = n->known && n->ranges[i].to > n->ranges[i].from;
}

static bool share_data(const struct node *a, const struct node *b)
{
    if (!a->known || !b->known)
        return true;
    for (size_t i = 0; i < a->range_count; i++) {
        for (size_t k = 0; k < b->range_count; k++) {
            if ((a->ranges[i].writes || b->ranges[k].writes) &&
                a->ranges[i].from < b->ranges[k].to && b->ranges[k].from < a->ranges[i].to)
                return true;
        }
    }
    return false;
}

/* The launch's nodes, each behind those it follows. False: no verdict. */
static bool order_nodes(struct graph *g, uint32_t launch, const uint32_t *ops, uint32_t count)
{
    const struct weir_trace_file *f = g->c->f;
    struct node kept;

    for (uint32_t i = 0; i < count; i++)
        learn_node(g, &g->nodes[i], ops[i]);
    g->count = count;
    for (uint32_t at = 0; at < count; at++) {
        uint32_t next = at;

        for (; next < count; next++) { /* one all of whose edges come from nodes in order */
            const struct weir_trace_op *op = &f->ops[g->nodes[next].op];
            bool ready = true;

            for (uint32_t d = 0; d < op->dep_count && ready; d++) {
                uint32_t on = f->deps[op->dep_first + d].op;

                ready = on < f->ops_count && f->ops[on].graph == launch && find_node(g, on) < at;
            }
            if (ready)
                break;
        }
        if (next == count)
            return false;
        kept = g->nodes[at];
        g->nodes[at] = g->nodes[next];
        g->nodes[next] = kept;
    }
    return true;
}

/* Which orders there are, and which data needs. Returns how many edges it does not need. */
static uint32_t compare(struct graph *g, uint32_t example[2])
{
    const struct weir_trace_file *f = g->c->f;
    uint32_t needless = 0;

    for (uint32_t i = 0; i < g->count; i++) {
        struct node *n = &g->nodes[i];
        const struct weir_trace_op *op = &f->ops[n->op];

        for (uint32_t d = 0; d < op->dep_count; d++) {
            uint32_t on = find_node(g, f->deps[op->dep_first + d].op);

            weir_bit_put(n->direct, on);
            weir_bit_put(n->behind, on);
            join(n->behind, g->nodes[on].behind);
        }
        for (uint32_t k = 0; k < i; k++) {
            if (!weir_bit_has(n->behind, k) || !share_data(n, &g->nodes[k]))
                continue;
            weir_bit_put(n->needed, k);
            weir_bit_put(n->needs, k);
            join(n->needs, g->nodes[k].needs);
        }
        for (uint32_t k = 0; k < i; k++) {
            if (!weir_bit_has(n->direct, k) || weir_bit_has(n->needs, k))
                continue;
            if (!needless++) {
                example[0] = g->nodes[k].op;
                example[1] = n->op;
            }
        }
    }
    return needless;
}

/* ---- how long it takes ---- */

struct schedule {
    double *end; /* by node; < 0: not begun */
    double now;
    uint32_t slots; /* that kernels have */
    bool busy[WEIR_TRACE_ENGINE_COUNT];
};

static bool can_begin(const struct graph *g, const struct schedule *s, uint32_t i,
                      const uint64_t *before)
{
    const struct weir_plan_recorded *m = &g->c->model;
    uint32_t op = g->nodes[i].op;
    unsigned engine = g->c->f->ops[op].engine;

    if (s->end[i] >= 0)
        return false;
    for (uint32_t k = 0; k < i; k++) {
        if (weir_bit_has(before, k) && (s->end[k] < 0 || s->end[k] > s->now))
            return false;
    }
    if (engine == WEIR_TRACE_ENGINE_KERNEL)
        return !s->slots || s->slots + m->demand[op] <= m->slots;
    return engine >= WEIR_TRACE_ENGINE_COUNT || !s->busy[engine];
}

/* The node runs now. */
static void occupy(const struct graph *g, struct schedule *s, uint32_t i)
{
    const uint32_t op = g->nodes[i].op;
    const unsigned engine = g->c->f->ops[op].engine;

    if (engine == WEIR_TRACE_ENGINE_KERNEL)
        s->slots += g->c->model.demand[op];
    if (engine < WEIR_TRACE_ENGINE_COUNT)
        s->busy[engine] = true;
}

/* Each node begins as soon as what it follows is over and its engine has room. */
static double length(const struct graph *g, double *end, bool needed)
{
    const struct weir_plan_recorded *m = &g->c->model;
    struct schedule s = {.end = end};

    for (uint32_t i = 0; i < g->count; i++)
        end[i] = -1;
    for (;;) {
        double next = -1;

        s.slots = 0;
        memset(s.busy, 0, sizeof s.busy);
        for (uint32_t i = 0; i < g->count; i++) {
            if (end[i] > s.now)
                occupy(g, &s, i);
        }
        for (uint32_t i = 0; i < g->count; i++) {
            if (!can_begin(g, &s, i, needed ? g->nodes[i].needed : g->nodes[i].direct))
                continue;
            end[i] = s.now + (double)m->alone_ns[g->nodes[i].op];
            if (end[i] > s.now)
                occupy(g, &s, i);
        }
        for (uint32_t i = 0; i < g->count; i++) {
            if (end[i] > s.now && (next < 0 || end[i] < next))
                next = end[i];
        }
        if (next < 0)
            break;
        s.now = next;
    }
    return s.now;
}

/* ---- the finding ---- */

/* Launches of one instance. */
struct group {
    uint32_t instance, nodes, launch; /* the last: its code is ready */
    uint32_t launches;
};

static bool is_of(const struct weir_advise_context *c, const struct group *of, uint32_t launch,
                  const uint32_t *counts)
{
    return c->f->ops[launch].instance == of->instance && counts[launch] == of->nodes;
}

static bool tell(struct graph *g, const struct group *of, const uint32_t *counts, double saved,
                 uint32_t needless, const uint32_t example[2])
{
    struct weir_advise_finding d = {.kind = "unneeded-wait", .stream = WEIR_TRACE_NONE};
    struct weir_advise_context *c = g->c;
    uint64_t *op_ns = weir_alloc((c->f->ops_count + 1) * sizeof *op_ns);
    const struct weir_plan_scenario s = {.op_ns = op_ns};
    bool ok;

    if (!op_ns)
        return false;
    for (uint32_t i = 0; i < c->f->ops_count; i++) {
        op_ns[i] = c->model.alone_ns[i];
        if (!is_of(c, of, i, counts))
            continue;
        op_ns[i] -= (uint64_t)((double)op_ns[i] * saved);
        d.stream = c->f->ops[i].stream;
        weir_advise_add_site(c, &d, c->f->ops[i].call);
    }
    ok = weir_advise_price(c, &s, &d.gain_ns);
    weir_free(op_ns);
    if (!ok || !d.gain_ns)
        return ok;
    snprintf(d.message, sizeof d.message,
             "%u edge%s of a graph of %u nodes, launched %u time%s, order%s nodes that share no "
             "data: %s follows %s (GRA-001)",
             needless, needless == 1 ? "" : "s", of->nodes, of->launches,
             of->launches == 1 ? "" : "s", needless == 1 ? "s" : "", c->f->ops[example[1]].name,
             c->f->ops[example[0]].name);
    snprintf(d.change, sizeof d.change,
             "capture what is independent in streams of its own, or give each node only the edges "
             "that its data needs");
    return weir_advise_add(c, &d);
}

static bool judge(struct graph *g, const struct group *of, const uint32_t *ops,
                  const uint32_t *counts)
{
    uint32_t example[2] = {0}, needless;
    double *end, before, after;

    if (!order_nodes(g, of->launch, ops, of->nodes) || !(needless = compare(g, example)))
        return true;
    end = weir_alloc(g->count * sizeof *end);
    if (!end)
        return false;
    before = length(g, end, false);
    after = length(g, end, true);
    weir_free(end);
    return after >= before || tell(g, of, counts, 1 - after / before, needless, example);
}

static bool judge_all(struct graph *g, uint32_t *counts, uint32_t *ops)
{
    const struct weir_trace_file *f = g->c->f;
    struct group groups[INSTANCES_MAX];
    size_t n = 0;
    bool ok = true;

    for (uint32_t i = 0; i < f->ops_count; i++) {
        if (f->ops[i].graph < f->ops_count)
            counts[f->ops[i].graph]++;
    }
    for (uint32_t i = 0; i < f->ops_count; i++) {
        size_t k = 0;

        if (!f->ops[i].instance || counts[i] < 2 || counts[i] > NODES_MAX)
            continue;
        while (k < n && !is_of(g->c, &groups[k], i, counts))
            k++;
        if (k == INSTANCES_MAX)
            continue;
        if (k == n)
            groups[n++] = (struct group){.instance = f->ops[i].instance, .nodes = counts[i]};
        groups[k].launch = i;
        groups[k].launches++;
    }
    for (size_t k = 0; k < n && ok; k++) {
        uint32_t count = 0;

        for (uint32_t i = 0; i < f->ops_count; i++) {
            if (f->ops[i].graph == groups[k].launch && count < NODES_MAX)
                ops[count++] = i;
        }
        ok = judge(g, &groups[k], ops, counts);
    }
    return ok;
}

bool weir_advise_find_graph_edges(struct weir_advise_context *c)
{
    struct graph g = {.c = c};
    uint32_t *counts, *ops;
    bool ok, any = false;

    for (size_t i = 0; i < c->f->ops_count && !any; i++)
        any = c->f->ops[i].graph != WEIR_TRACE_NONE && c->f->ops[i].dep_count;
    if (!any)
        return true;
    g.nodes = weir_alloc(NODES_MAX * sizeof *g.nodes);
    counts = weir_calloc(c->f->ops_count + 1, sizeof *counts);
    ops = weir_alloc(NODES_MAX * sizeof *ops);
    ok = g.nodes && counts && ops && judge_all(&g, counts, ops);
    weir_free(g.nodes);
    weir_free(counts);
    weir_free(ops);
    return ok;
}
