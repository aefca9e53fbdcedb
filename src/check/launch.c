/* Launches of graphs: their nodes, and the events that some wait for or record (GRA-011).
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "check/check_int.h"
#include "check/tsan.h"

void weir_check_events_drop(struct weir_check_events *v)
{
    for (size_t i = 0; i < v->count; i++)
        weir_order_stamp_drop(&weir_checker.order, &v->at[i].stamp);
    weir_reach_drop(v->reach);
    weir_free(v);
}

static struct weir_reach *reach_of(const struct weir_check_node *node)
{
    struct checker *c = &weir_checker;
    struct weir_reach *r = weir_map_get(&c->plans, (uintptr_t)node->plan);

    if (r)
        return r;
    r = node->order(node->arg);
    if (r && weir_map_put(&c->plans, (uintptr_t)node->plan, r)) {
        r->refs = 1;
        return r;
    }
    weir_free(r);
    weir_check_lost_locked();
    return NULL;
}

/* *part, the launch's stamp so far, becomes that of the node. */
static void part_of(const struct weir_check_events *v, uint32_t node, struct weir_order_stamp *part)
{
    for (size_t i = 0; i < v->count && !v->at[i].records; i++)
        if (weir_reach_has(v->reach, v->at[i].node, node))
            weir_order_part_waits(&weir_checker.order, part, &v->at[i].stamp);
}

/* Those nodes that wait: for what their events stand for now. */
static void launch_waits(struct weir_check_events *v, const struct weir_check_event_node *nodes,
                         uint32_t lane, struct weir_check_site at)
{
    for (size_t i = 0; i < v->count && !nodes[i].records; i++) {
        struct weir_check_event *e = weir_check_event_of_locked(nodes[i].event, true);

        v->at[i].node = nodes[i].node;
        weir_check_waited(nodes[i].event, e, lane, true, at);
        if (e)
            weir_order_stamp_copy(&v->at[i].stamp, &e->stamp);
    }
}

/* NULL: it has none. */
static const struct weir_check_events *events_of(const struct weir_check_op *launch)
{
    return launch->made ? ((const struct weir_check_detail *)launch->actor->detail)->events : NULL;
}

void weir_check_part_of(const struct weir_check_op *launch, uint32_t node,
                        struct weir_order_stamp *part)
{
    const struct weir_check_events *v = events_of(launch);

    if (v)
        part_of(v, node, part);
}

static void launch_records(struct weir_check_events *v, const struct weir_check_event_node *nodes,
                           const struct weir_order_stamp *launch, struct weir_check_site at)
{
    struct weir_order *o = &weir_checker.order;
    struct weir_order_stamp part, old;

    for (size_t i = 0; i < v->count; i++) {
        struct weir_check_event *e;

        if (!nodes[i].records)
            continue;
        e = weir_check_event_of_locked(nodes[i].event, true);
        weir_order_stamp_copy(&part, launch);
        part_of(v, nodes[i].node, &part);
        v->at[i].node = nodes[i].node;
        v->at[i].records = true;
        weir_order_part_records(o, weir_check_lane_of_locked(nodes[i].records), &part,
                                &v->at[i].stamp);
        weir_order_stamp_drop(o, &part);
        if (!e)
            continue;
        old = e->stamp;
        weir_order_stamp_copy(&e->stamp, &v->at[i].stamp);
        weir_check_recorded(e, &old, at);
        e->launch_lane = launch->lane;
        e->launch_seq = launch->seq;
        weir_order_stamp_drop(o, &old);
    }
}

/* What the sanitizer is told: a launch waits as a whole for what its wait nodes wait for, and its
 * record nodes record when all of it is over. More is in order than is, so nothing right is taken
 * for wrong. */
static void tell_launch(const void *op, const void *stream, const void *behind,
                        const struct weir_check_event_node *nodes, size_t count)
{
    size_t i = 0;

    for (; i < count && !nodes[i].records; i++)
        weir_tsan_wait(nodes[i].event, stream);
    weir_tsan_op(op, stream, WEIR_OP_GRAPH, behind);
    for (; i < count; i++)
        weir_tsan_record(nodes[i].event, stream);
}

void weir_check_launch(struct weir_check_op *op, const void *stream, const void *behind,
                       const struct weir_check_node *graph,
                       const struct weir_check_event_node *nodes, size_t count)
{
    struct weir_order *o = &weir_checker.order;
    struct weir_check_events *v;
    struct weir_order_stamp stamp, end;
    struct weir_check_event *e;
    struct weir_check_site at;
    struct weir_actor *a;
    uint32_t lane;

    if (weir_check_tells())
        tell_launch(op, stream, behind, nodes, count);
    if (!weir_check_enabled())
        return;
    at = weir_check_site_now(false);
    weir_check_lock();
    lane = weir_check_lane_of_locked(stream);
    e = weir_check_event_of_locked(behind, true);
    v = weir_calloc(1, sizeof *v + count * sizeof v->at[0]);
    if (v)
        v->reach = reach_of(graph);
    if (!v || !v->reach || !e) {
        weir_free(v);
        weir_check_lost_locked();
        weir_check_unlock();
        return;
    }
    v->reach->refs++;
    v->count = count;
    launch_waits(v, nodes, lane, at);
    weir_order_submit_after(o, lane, &e->stamp, 1, &stamp);
    launch_records(v, nodes, &stamp, at);
    weir_order_stamp_copy(&end, &stamp);
    for (size_t i = 0; i < count; i++)
        weir_order_part_waits(o, &end, &v->at[i].stamp);
    weir_order_part_ends(o, &end);
    weir_check_behind_is(e, &end);
    weir_order_stamp_drop(o, &end);
    weir_check_op_add_locked(op, &stamp, WEIR_OP_GRAPH, NULL, &at);
    a = weir_check_actor_locked(op);
    if (a) {
        ((struct weir_check_detail *)a->detail)->events = v;
        weir_checker.parted++;
    } else {
        weir_check_events_drop(v);
    }
    weir_check_unlock();
}

/* By which others come behind the node: records of events that are behind it. */
static struct weir_ways *ways_of(const struct weir_check_events *v, uint32_t node)
{
    struct weir_ways *w = NULL;
    uint32_t count = 0;

    for (size_t i = 0; i < v->count; i++)
        count += v->at[i].records && weir_reach_has(v->reach, node, v->at[i].node);
    if (!count)
        return NULL;
    w = weir_calloc(1, sizeof *w + count * sizeof w->stamps[0]);
    for (size_t i = 0; w && i < v->count; i++)
        if (v->at[i].records && weir_reach_has(v->reach, node, v->at[i].node))
            weir_order_stamp_copy(&w->stamps[w->count++], &v->at[i].stamp);
    if (!w)
        weir_check_lost_locked();
    return w;
}

void weir_check_stamps_of(const struct weir_check_op *launch,
                          void (*visit)(const struct weir_order_stamp *s, void *arg), void *arg)
{
    const struct weir_check_events *v = events_of(launch);
    struct weir_order_stamp stamp;

    if (!launch->lane)
        return;
    stamp = weir_check_stamp_peek(launch);
    visit(&stamp, arg);
    for (size_t i = 0; v && i < v->count; i++)
        if (v->at[i].records)
            visit(&v->at[i].stamp, arg);
}

/* NULL: no memory. */
static struct weir_inside *inside_of(const struct weir_check_node *levels, uint32_t count)
{
    struct weir_inside *in = weir_calloc(1, sizeof *in + count * sizeof in->at[0]);

    for (uint32_t i = 0; in && i < count; i++) {
        struct weir_reach *r = reach_of(&levels[i]);

        if (!r)
            break;
        r->refs++;
        in->at[in->count++] =
            (struct weir_inside_at){.reach = r, .time = levels[i].time, .node = levels[i].number};
    }
    if (!in)
        weir_check_lost_locked();
    return in;
}

static void node_begins(struct weir_actor *a, const struct weir_check_op *op, struct weir_reach *r,
                        const struct weir_check_node *levels, uint32_t count)
{
    const struct weir_check_events *v = events_of(op);

    if (v)
        a->ways = ways_of(v, levels->number);
    a->reach = r;
    r->refs++;
    a->node = levels->number;
    a->early = a->node >= r->nodes;
    if (count == 1)
        return;
    a->inside = inside_of(levels + 1, count - 1);
    if (a->inside && a->inside->count) {
        const struct weir_inside_at *last = &a->inside->at[a->inside->count - 1];

        a->early = last->node >= last->reach->nodes;
    }
}

struct weir_actor *weir_check_node(const struct weir_check_op *op,
                                   const struct weir_check_node *levels, uint32_t count,
                                   enum weir_op_kind kind, const char *name)
{
    struct weir_order_stamp stamp, launch;
    struct weir_actor *a = NULL;
    struct weir_reach *r;

    weir_check_lock();
    r = op->lane ? reach_of(levels) : NULL;
    if (r) {
        launch = weir_check_stamp_peek(op);
        weir_order_stamp_copy(&stamp, &launch);
        weir_check_part_of(op, levels->number, &stamp);
        a = weir_check_actor_make_locked(&stamp, kind, name, op->number, weir_check_op_site(op));
    }
    if (a)
        node_begins(a, op, r, levels, count);
    weir_check_unlock();
    return a;
}

void weir_check_node_end(struct weir_actor *a)
{
    weir_check_lock();
    weir_actor_drop(&weir_checker.shadow, a);
    weir_check_unlock();
}

void weir_check_plan_end(const void *plan)
{
    struct weir_reach *r;

    if (weir_check_tells())
        weir_tsan_plan_end(plan);
    if (!weir_check_enabled())
        return;
    weir_check_lock();
    r = weir_map_remove(&weir_checker.plans, (uintptr_t)plan);
    weir_reach_drop(r);
    weir_check_unlock();
}
