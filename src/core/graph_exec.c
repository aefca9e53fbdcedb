/* Instances of graphs: making, changing, destroying. An instance has a copy of its graph, whose
 * nodes know the program's by `origin`, and a plan made of it (graph_plan.c). A plan that a launch
 * still needs is not changed: the instance gets a new one (GRA-010).
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/graph_run.h"
#include "check/check.h"
#include "core/graph_state.h"

/* ---- life ---- */

static bool index_nodes(struct weir_exec *x, struct weir_graph *g)
{
    for (struct weir_model_node *m = g->m.first; m; m = m->next) {
        struct weir_node *n = weir_node_of(m);

        if (!weir_map_put(&x->by_origin, n->origin, n))
            return false;
        x->has_records = x->has_records || m->kind == WEIR_NODE_EVENT_RECORD;
        if (m->kind == WEIR_NODE_GRAPH && !index_nodes(x, n->child))
            return false;
        for (unsigned i = 0; m->kind == WEIR_NODE_CONDITIONAL && i < n->conditional.size; i++)
            if (!index_nodes(x, n->conditional.bodies[i]))
                return false;
    }
    return true;
}

/* The program's node for one of the instance's graph. */
static struct weir_node *program_node(struct weir_graph *g, const struct weir_node *n)
{
    struct weir_node *found = NULL;

    for (struct weir_model_node *m = g->m.first; m && n && !found; m = m->next) {
        struct weir_node *candidate = weir_node_of(m);

        if (candidate->id == n->origin)
            return candidate;
        if (m->kind == WEIR_NODE_GRAPH)
            found = program_node(candidate->child, n);
        for (unsigned i = 0;
             m->kind == WEIR_NODE_CONDITIONAL && i < candidate->conditional.size && !found; i++)
            found = program_node(candidate->conditional.bodies[i], n);
    }
    return found;
}

/* GRA-012: what a graph that kernels may launch cannot hold; *at is of g. */
static enum weir_err check_device_launch(const struct weir_graph *g, const struct weir_context *ctx,
                                         struct weir_node **at)
{
    enum weir_err err = WEIR_OK;

    for (const struct weir_model_node *m = g->m.first; m && err == WEIR_OK; m = m->next) {
        struct weir_node *n = weir_node_of(m);

        switch (weir_node_kind(n)) {
        case WEIR_NODE_KERNEL:
        case WEIR_NODE_MEMCPY:
        case WEIR_NODE_MEMSET:
            if (n->ctx == ctx)
                break;
            *at = n;
            return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED,
                             "nodes of several devices in a graph to be launched by kernels");
        case WEIR_NODE_GRAPH:
            err = check_device_launch(n->child, ctx, at);
            break;
        default:
            *at = n;
            return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED,
                             "a node of kind %d in a graph to be launched by kernels",
                             (int)m->kind);
        }
    }
    return err;
}

static enum weir_err make_locked(struct weir_exec *x, struct weir_graph *g, struct weir_node **at)
{
    struct weir_node *blamed = NULL;
    enum weir_err err;

    if (g->capturing)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "the graph is being captured");
    /* Its memory has one address, so there is one instance at a time. */
    if (g->memory_nodes && g->instanced)
        return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "a second instance of a graph with memory nodes");
    if ((x->flags & WEIR_EXEC_DEVICE_LAUNCH) && g->m.first) {
        err = check_device_launch(g, weir_node_of(g->m.first)->ctx, &blamed);
        if (err != WEIR_OK) {
            if (at)
                *at = blamed;
            return err;
        }
    }
    x->keep = weir_calloc(1, sizeof *x->keep);
    if (!x->keep)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "an instance of a graph");
    atomic_store_explicit(&x->keep->refs, 1, memory_order_relaxed);
    x->graph = x->keep->graph = weir_graph_copy_locked(g, true, &err);
    if (!x->graph) {
        weir_free(x->keep);
        x->keep = NULL;
        return err;
    }
    if (!index_nodes(x, x->graph))
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "an instance of a graph");
    err = weir_plan_create(x, &x->plan, &blamed);
    if (err != WEIR_OK && at)
        *at = program_node(g, blamed);
    if (err == WEIR_OK && g->memory_nodes)
        g->instanced = true;
    x->source = g->id;
    x->ctx = x->graph->m.first ? weir_node_of(x->graph->m.first)->ctx : NULL;
    x->epoch = x->ctx ? atomic_load_explicit(&x->ctx->epoch, memory_order_relaxed) : 0;
    return err;
}

enum weir_err weir_exec_create(struct weir_graph *g, uint32_t flags, struct weir_exec **out,
                               struct weir_node **at)
{
    struct weir_exec *x;
    enum weir_err err;

    if (at)
        *at = NULL;
    x = weir_slots_take(&weir_core.graphs.execs);
    if (!x)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "too many executable graphs");
    weir_lock_init(&x->lock, WEIR_RANK_EXEC);
    x->graph = NULL;
    x->keep = NULL;
    x->plan = NULL;
    x->stale = x->has_records = false;
    x->last = (struct weir_model_point){NULL, 0};
    x->flags = flags;
    memset(&x->by_origin, 0, sizeof x->by_origin);
    weir_graphs_lock();
    err = make_locked(x, g, at);
    weir_graphs_unlock();
    if (err != WEIR_OK) {
        weir_graph_keep_unref(x->keep);
        weir_map_finish(&x->by_origin);
        weir_slots_give(&weir_core.graphs.execs, x);
        return err;
    }
    if (weir_check_enabled())
        weir_check_object(x, "executable graph");
    weir_slot_publish(&x->slot);
    *out = x;
    return WEIR_OK;
}

enum weir_err weir_exec_destroy(struct weir_exec *x)
{
    struct weir_graph *source = NULL;

    if (!weir_slot_kill(&x->slot))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "executable graph destroyed twice");
    if (weir_check_enabled())
        weir_check_object_end(x);
    weir_graphs_lock();
    if (x->graph->memory_nodes) {
        for (uint32_t i = 0; i < weir_core.graphs.graphs.used && !source; i++) {
            struct weir_graph *g =
                (struct weir_graph *)(weir_core.graphs.graphs.base + (size_t)i * 256);

            if (g->id == x->source && weir_slots_check(&weir_core.graphs.graphs, g))
                source = g;
        }
        if (source)
            source->instanced = false;
    }
    weir_graphs_unlock();
    weir_plan_unref(x->plan); /* a launch that runs has its own references */
    weir_graph_keep_unref(x->keep);
    weir_map_finish(&x->by_origin);
    weir_slots_give(&weir_core.graphs.execs, x);
    return WEIR_OK;
}

uint32_t weir_exec_flags(const struct weir_exec *x)
{
    return x->flags & ~(uint32_t)WEIR_EXEC_NODE_PRIORITY; /* as measured */
}

/* ---- changes ---- */

static enum weir_err find(struct weir_exec *x, const struct weir_node *node, struct weir_node **out)
{
    *out = weir_map_get(&x->by_origin, node->id);
    return *out ? WEIR_OK
                : WEIR_FAIL(WEIR_ERR_INVALID_VALUE,
                            "the node was not in the graph when it was instantiated");
}

/* Before the plan changes: one that no launch needs. */
static enum weir_err own_plan(struct weir_exec *x)
{
    struct weir_plan *plan;
    enum weir_err err;

    if (!weir_plan_is_shared(x->plan) && !x->stale)
        return WEIR_OK;
    x->stale = true;
    err = weir_plan_create(x, &plan, NULL);
    if (err != WEIR_OK)
        return err;
    x->stale = false;
    weir_plan_unref(x->plan);
    x->plan = plan;
    return WEIR_OK;
}

static enum weir_err pair_update(struct weir_exec *x, struct weir_graph *mine, struct weir_graph *g,
                                 bool apply, enum weir_update_result *result,
                                 struct weir_node **at);

static enum weir_err set_child(struct weir_exec *x, struct weir_node *n, struct weir_graph *child)
{
    enum weir_update_result result;
    struct weir_node *at;
    enum weir_err err = pair_update(x, n->child, child, false, &result, &at);

    if (err == WEIR_OK)
        err = pair_update(x, n->child, child, true, &result, &at);
    return err == WEIR_ERR_GRAPH_EXEC_UPDATE_FAILURE
               ? WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "the child graph has another shape")
               : err;
}

enum weir_err weir_exec_set(struct weir_exec *x, struct weir_node *node, struct weir_context *ctx,
                            const struct weir_node_params *params)
{
    struct weir_node *n;
    enum weir_err err;

    weir_graphs_lock();
    weir_lock_acquire(&x->lock);
    err = find(x, node, &n);
    if (err == WEIR_OK)
        err = own_plan(x);
    if (err == WEIR_OK && params->kind == WEIR_NODE_GRAPH && n->m.kind == WEIR_NODE_GRAPH) {
        err = set_child(x, n, params->child.graph);
    } else if (err == WEIR_OK) {
        err = weir_node_change(n, ctx, params, true);
        if (err == WEIR_OK)
            err = weir_plan_refresh(x->plan, n);
    }
    weir_lock_release(&x->lock);
    weir_graphs_unlock();
    return err;
}

static enum weir_err find_switchable(struct weir_exec *x, const struct weir_node *node,
                                     struct weir_node **n)
{
    enum weir_err err = find(x, node, n);

    if (err == WEIR_OK && (*n)->m.kind != WEIR_NODE_KERNEL && (*n)->m.kind != WEIR_NODE_MEMCPY &&
        (*n)->m.kind != WEIR_NODE_MEMSET)
        err = WEIR_FAIL(WEIR_ERR_INVALID_VALUE,
                        "only kernels, copies and memsets can be switched off");
    return err;
}

enum weir_err weir_exec_enable(struct weir_exec *x, struct weir_node *node, bool on)
{
    struct weir_node *n;
    enum weir_err err;

    weir_graphs_lock();
    weir_lock_acquire(&x->lock);
    err = find_switchable(x, node, &n);
    if (err == WEIR_OK)
        err = own_plan(x);
    if (err == WEIR_OK) {
        n->disabled = !on;
        err = weir_plan_refresh(x->plan, n);
    }
    weir_lock_release(&x->lock);
    weir_graphs_unlock();
    return err;
}

enum weir_err weir_exec_is_enabled(struct weir_exec *x, struct weir_node *node, bool *on)
{
    struct weir_node *n;
    enum weir_err err;

    weir_graphs_lock();
    err = find_switchable(x, node, &n);
    if (err == WEIR_OK)
        *on = !n->disabled;
    weir_graphs_unlock();
    return err;
}

/* ---- update from a graph ---- */

static enum weir_err refuse(enum weir_update_result why, struct weir_node *node,
                            enum weir_update_result *result, struct weir_node **at)
{
    *result = why;
    *at = node;
    return WEIR_FAIL(WEIR_ERR_GRAPH_EXEC_UPDATE_FAILURE, "update result %d", (int)why);
}

static void params_of(struct weir_node *n, struct weir_node_params *p)
{
    memset(p, 0, sizeof *p);
    p->kind = weir_node_kind(n);
    switch (p->kind) {
    case WEIR_NODE_KERNEL:
        p->kernel = (struct weir_kernel_params){.function = n->kernel.function,
                                                .config = n->kernel.config,
                                                .packed = n->kernel.params,
                                                .packed_bytes = n->kernel.param_bytes};
        break;
    case WEIR_NODE_MEMCPY:
        p->copy = n->copy;
        break;
    case WEIR_NODE_MEMSET:
        p->fill = n->fill;
        break;
    case WEIR_NODE_HOST:
        p->host.fn = n->host.fn;
        p->host.user = n->host.user;
        break;
    case WEIR_NODE_EVENT_RECORD:
    case WEIR_NODE_EVENT_WAIT:
        p->event = n->event;
        break;
    case WEIR_NODE_BATCH_MEM_OP:
        p->memops = n->memops;
        break;
    default:
        break;
    }
}

/* May `mine` become as `other`, of the same kind (GRA-021)? */
static enum weir_update_result compare(const struct weir_node *mine, const struct weir_node *other)
{
    struct weir_copy_sides a, b;

    switch (weir_node_kind(mine)) {
    case WEIR_NODE_KERNEL:
        if (mine->ctx != other->ctx)
            return WEIR_UPDATE_FUNCTION_CHANGE;
        return mine->kernel.config.cooperative == other->kernel.config.cooperative
                   ? WEIR_UPDATE_SUCCESS
                   : WEIR_UPDATE_ATTRIBUTES;
    case WEIR_NODE_MEMCPY:
        if (weir_copy_check(mine->ctx, &mine->copy, &a) == WEIR_OK &&
            weir_copy_check(other->ctx, &other->copy, &b) == WEIR_OK &&
            (a.src_cls != b.src_cls || a.dst_cls != b.dst_cls || a.src_device != b.src_device ||
             a.dst_device != b.dst_device))
            return WEIR_UPDATE_PARAMETERS;
        return WEIR_UPDATE_SUCCESS;
    case WEIR_NODE_MEMSET:
        return mine->ctx == other->ctx ? WEIR_UPDATE_SUCCESS : WEIR_UPDATE_PARAMETERS;
    case WEIR_NODE_MEM_ALLOC:
    case WEIR_NODE_MEM_FREE:
        return mine->memory == other->memory ? WEIR_UPDATE_SUCCESS : WEIR_UPDATE_NOT_SUPPORTED;
    case WEIR_NODE_BATCH_MEM_OP:
        return mine->ctx == other->ctx && weir_memop_is_like(&mine->memops, &other->memops)
                   ? WEIR_UPDATE_SUCCESS
                   : WEIR_UPDATE_PARAMETERS;
    case WEIR_NODE_CONDITIONAL:
        return mine->conditional.kind == other->conditional.kind &&
                       mine->conditional.size == other->conditional.size &&
                       mine->conditional.handle == other->conditional.handle
                   ? WEIR_UPDATE_SUCCESS
                   : WEIR_UPDATE_PARAMETERS;
    default:
        return WEIR_UPDATE_SUCCESS;
    }
}

static enum weir_err update_node(struct weir_exec *x, struct weir_node *mine,
                                 struct weir_node *other, bool apply,
                                 enum weir_update_result *result, struct weir_node **at)
{
    enum weir_update_result why = compare(mine, other);
    struct weir_node_params p;
    enum weir_err err = WEIR_OK;

    if (why != WEIR_UPDATE_SUCCESS)
        return refuse(why, other, result, at);
    if (mine->m.kind == WEIR_NODE_GRAPH)
        return pair_update(x, mine->child, other->child, apply, result, at);
    if (mine->m.kind == WEIR_NODE_CONDITIONAL) {
        for (unsigned i = 0; i < mine->conditional.size && err == WEIR_OK; i++)
            err = pair_update(x, mine->conditional.bodies[i], other->conditional.bodies[i], apply,
                              result, at);
        return err;
    }
    if (!apply || mine->m.kind == WEIR_NODE_EMPTY || mine->m.kind == WEIR_NODE_MEM_ALLOC ||
        mine->m.kind == WEIR_NODE_MEM_FREE)
        return WEIR_OK;
    params_of(other, &p);
    err = weir_node_change(mine, other->ctx, &p, true);
    if (err == WEIR_OK && mine->m.kind == WEIR_NODE_KERNEL)
        mine->kernel.priority = other->kernel.priority;
    return err == WEIR_OK ? weir_plan_refresh(x->plan, mine) : err;
}

static enum weir_err pair_update(struct weir_exec *x, struct weir_graph *mine, struct weir_graph *g,
                                 bool apply, enum weir_update_result *result, struct weir_node **at)
{
    struct weir_model_node *different;
    struct weir_model_node *b = g->m.first;
    bool kind;

    if (!apply && !weir_model_graph_same(&mine->m, &g->m, &different, &kind)) /* GRA-020 */
        return refuse(kind ? WEIR_UPDATE_NODE_TYPE : WEIR_UPDATE_TOPOLOGY,
                      different ? weir_node_of(different) : NULL, result, at);
    for (struct weir_model_node *a = mine->m.first; a; a = a->next, b = b->next) {
        enum weir_err err = update_node(x, weir_node_of(a), weir_node_of(b), apply, result, at);

        if (err != WEIR_OK)
            return err;
    }
    return WEIR_OK;
}

enum weir_err weir_exec_update(struct weir_exec *x, struct weir_graph *g,
                               enum weir_update_result *result, struct weir_node **at)
{
    enum weir_err err;

    *result = WEIR_UPDATE_SUCCESS;
    *at = NULL;
    weir_graphs_lock();
    weir_lock_acquire(&x->lock);
    err = pair_update(x, x->graph, g, false, result, at);
    if (err == WEIR_OK)
        err = own_plan(x);
    if (err == WEIR_OK)
        err = pair_update(x, x->graph, g, true, result, at);
    if (err != WEIR_OK && *result == WEIR_UPDATE_SUCCESS)
        *result = WEIR_UPDATE_ERROR;
    weir_lock_release(&x->lock);
    weir_graphs_unlock();
    return err;
}
