/* Question 12, second half: how many items (frames, requests) are in flight. (The first, how one
 * item is cut, is in find_shape.c.)
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "advise/groups.h"
#include "base/alloc.h"

#define ITEMS_LEAST 3
#define DEPTH_MAX   8

struct items {
    uint32_t *item_of;                 /* by operation */
    uint32_t *item_end;                /* by call */
    uint32_t count, with_input, whole; /* whole: nothing else was in flight when the host went on */
    uint32_t ops;
    uint64_t waited;
    bool several_streams;
};

/* A wait for results that the host goes on to use; a benchmark that asks for a time is none. */
static bool ends_item(const struct weir_advise_context *c, uint32_t call)
{
    const struct weir_trace_call *k = &c->f->calls[call];

    return k->sync_count && !k->op_count && weir_advise_brings_results(c, call) &&
           !weir_advise_times_follow(c, call);
}

static bool all_done(const struct weir_trace_file *f, uint32_t first_op, uint32_t end_op,
                     uint64_t ns)
{
    for (uint32_t i = first_op; i < end_op; i++) {
        if (weir_advise_is_work(&f->ops[i]) && f->ops[i].end_ns > ns)
            return false;
    }
    return true;
}

/* Operations of the group's thread, from wait to wait. Waits with nothing submitted between them
 * are one: a round over several streams ends so. */
static void find_items(const struct weir_advise_context *c, const struct weir_advise_groups *g,
                       const struct weir_advise_group *at, struct items *out)
{
    const struct weir_trace_file *f = c->f;
    uint32_t stream = WEIR_TRACE_NONE, first_op = 0, last_op = 0, ops = 0;
    uint32_t item_first = 0, item_last = 0; /* operations of the item that has ended */
    bool input = false, kernels = false, whole = false;

    for (uint32_t i = 0; i < f->calls_count; i++) {
        const struct weir_trace_call *k = &f->calls[i];

        out->item_end[i] = WEIR_TRACE_NONE;
        if (k->thread != f->calls[at->first].thread)
            continue;
        for (uint32_t n = 0; n < k->op_count; n++) {
            uint32_t op = f->call_ops[k->op_first + n];

            if (!weir_advise_is_work(&f->ops[op]))
                continue;
            out->item_of[op] = out->count;
            out->several_streams =
                out->several_streams || (stream != WEIR_TRACE_NONE && stream != f->ops[op].stream);
            stream = f->ops[op].stream;
            if (!ops++)
                first_op = op;
            last_op = op;
            input = input || (!kernels && f->ops[op].engine == WEIR_TRACE_ENGINE_H2D);
            kernels = kernels || f->ops[op].engine == WEIR_TRACE_ENGINE_KERNEL;
        }
        /* (What is waited for elsewhere before the next is begun is the same item.) */
        if (!k->sync_count || k->op_count || (!ops && !out->count) ||
            (ops && (!weir_advise_is_at(c, g, i, at) || !ends_item(c, i))))
            continue;
        if (ops) {
            out->count++;
            item_first = first_op;
            item_last = last_op;
            whole = false;
            out->with_input += input && kernels;
            out->ops += ops;
        }
        out->item_end[i] = out->count - 1;
        if (!whole && all_done(f, item_first, item_last + 1, k->end_ns)) {
            whole = true;
            out->whole++;
        }
        out->waited += k->waited_ns;
        ops = 0;
        stream = WEIR_TRACE_NONE;
        input = kernels = false;
    }
}

static bool try_items(struct weir_advise_context *c, const struct weir_advise_group *at,
                      const struct items *n)
{
    struct weir_advise_finding d = {.kind = "pipeline-depth", .stream = WEIR_TRACE_NONE};
    uint64_t gain, best = 0;
    uint32_t depth = 0;

    for (uint32_t k = 2; k <= DEPTH_MAX; k++) {
        const struct weir_plan_scenario s = {
            .item_of = n->item_of, .item_end = n->item_end, .depth = k, .extra_streams = k};

        if (!weir_advise_price(c, &s, &gain))
            return false;
        if (gain > best + c->base.length_ns / 50) {
            best = gain;
            depth = k;
        }
    }
    if (!depth)
        return true;
    d.gain_ns = best;
    weir_advise_add_site(c, &d, at->first);
    snprintf(d.message, sizeof d.message,
             "one %s at a time: the host submits it (%u operations%s), waits for its results, uses "
             "them, and only then begins the next, %u times. It is blocked for %.3f ms in all, and "
             "no stream has other work meanwhile",
             n->several_streams ? "round" : "item", n->ops / n->count,
             n->several_streams ? " in several streams" : "", n->count, (double)n->waited * 1e-6);
    snprintf(d.change, sizeof d.change,
             "keep %u %ss in flight: %u slots, each with buffers, a stream and an event of its "
             "own, and wait for the oldest (if items do not need one another's results)%s",
             depth, n->several_streams ? "round" : "item", depth,
             n->several_streams ? "; or wait for each stream only when its slot is wanted again"
                                : "");
    return weir_advise_add(c, &d);
}

bool weir_advise_find_items(struct weir_advise_context *c)
{
    const struct weir_trace_file *f = c->f;
    struct weir_advise_groups g = {0};
    struct items n = {.item_of = weir_alloc((f->ops_count + 1) * sizeof *n.item_of),
                      .item_end = weir_alloc((f->calls_count + 1) * sizeof *n.item_end)};
    uint32_t *item_of = n.item_of, *item_end = n.item_end;
    bool ok = item_of && item_end && weir_advise_group_calls(c, ends_item, ITEMS_LEAST, &g);

    for (size_t i = 0; ok && i < g.count; i++) {
        n = (struct items){.item_of = item_of, .item_end = item_end};
        memset(item_of, 0xff, (f->ops_count + 1) * sizeof *item_of);
        find_items(c, &g, &g.items[i], &n);
        /* (One may have had a warm-up before it.) */
        if (n.count < ITEMS_LEAST || n.whole * 10 < n.count * 9 ||
            (n.with_input + 1) * 10 < n.count * 9 ||
            /* (one may have had a warm-up before it) */ (n.several_streams && !c->data.known))
            continue;
        ok = try_items(c, &g.items[i], &n);
        break;
    }
    weir_advise_groups_finish(&g);
    weir_free(item_of);
    weir_free(item_end);
    return ok;
}
