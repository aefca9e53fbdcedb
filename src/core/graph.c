/* Graphs: their life, nodes and edges, clones, lists. What nodes do is in graph_node.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/graph_int.h"
#include "check/check.h"
#include "core/graph_state.h"

#define MANY_DEPS 16

/* ---- state ---- */

#define GRAPH_MAX  (1u << 20)
#define NODE_MAX   (1u << 24)
#define EXEC_MAX   (1u << 20)
#define OBJECT_MAX (1u << 20)

_Static_assert(sizeof(struct weir_graph) <= 256, "slot size of graphs");
_Static_assert(sizeof(struct weir_node) <= 512, "slot size of nodes");
_Static_assert(sizeof(struct weir_exec) <= 256, "slot size of instances");

enum weir_err weir_graph_state_init(struct weir_graph_state *s)
{
    enum weir_err err;

    s->memory = (struct weir_model_memory){weir_alloc_for, weir_free_for, NULL};
    weir_lock_init(&s->lock, WEIR_RANK_GRAPH);
    weir_lock_init(&s->memory_lock, WEIR_RANK_LEAF);
    weir_lock_init(&s->blamed.lock, WEIR_RANK_LEAF);
    weir_model_captures_init(&s->captures, &s->memory);
    err = weir_slots_init(&s->graphs, 256, GRAPH_MAX);
    if (err == WEIR_OK)
        err = weir_slots_init(&s->nodes, 512, NODE_MAX);
    if (err == WEIR_OK)
        err = weir_slots_init(&s->execs, 256, EXEC_MAX);
    if (err == WEIR_OK)
        err = weir_slots_init(&s->objects, 64, OBJECT_MAX);
    return err;
}

void weir_graphs_lock(void)
{
    weir_lock_acquire(&weir_core.graphs.lock);
}

void weir_graphs_unlock(void)
{
    struct weir_user_object *dead = weir_core.graphs.dead;

    weir_core.graphs.dead = NULL;
    weir_lock_release(&weir_core.graphs.lock);
    if (WEIR_UNLIKELY(dead))
        weir_objects_bury(dead);
}

uint64_t weir_graph_next_id(void)
{
    return atomic_fetch_add_explicit(&weir_core.graphs.next_id, 1, memory_order_relaxed) + 1;
}

/* ---- handles ---- */

enum weir_err weir_graph_get(void *handle, struct weir_graph **out)
{
    *out = weir_slots_check(&weir_core.graphs.graphs, handle);
    if (WEIR_UNLIKELY(!*out) && weir_check_enabled())
        weir_check_bad_handle(handle);
    return *out ? WEIR_OK
                : WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%p is no graph, or a destroyed one", handle);
}

enum weir_err weir_node_get(void *handle, struct weir_node **out)
{
    *out = weir_slots_check(&weir_core.graphs.nodes, handle);
    return *out ? WEIR_OK
                : WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%p is no graph node, or a destroyed one",
                            handle);
}

enum weir_err weir_exec_get(void *handle, struct weir_exec **out)
{
    *out = weir_slots_check(&weir_core.graphs.execs, handle);
    if (WEIR_UNLIKELY(!*out) && weir_check_enabled())
        weir_check_bad_handle(handle);
    return *out ? WEIR_OK
                : WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%p is no executable graph, or a destroyed one",
                            handle);
}

/* ---- life ---- */

struct weir_graph *weir_graph_new_locked(void)
{
    struct weir_graph *g = weir_slots_take(&weir_core.graphs.graphs);

    if (!g)
        return NULL;
    weir_model_graph_init(&g->m, &weir_core.graphs.memory);
    g->id = weir_graph_next_id();
    g->origin = 0;
    g->parent = NULL;
    g->capturing = g->by_capture = g->instanced = false;
    g->info = NULL;
    g->memory_nodes = 0;
    memset(&g->objects, 0, sizeof g->objects);
    memset(&g->values, 0, sizeof g->values);
    weir_slot_publish(&g->slot);
    return g;
}

static void value_unref(struct weir_graph_value *v)
{
    if (--v->refs > 0)
        return;
    (void)!weir_mem_free(WEIR_MEM_KIND_INTERNAL, v->value); /* it is ours */
    weir_free(v);
}

static void free_node(struct weir_node *n)
{
    weir_node_finish(n);
    if (weir_slot_kill(&n->slot))
        weir_slots_give(&weir_core.graphs.nodes, n);
}

void weir_graph_free_locked(struct weir_graph *g)
{
    struct weir_model_node *next;

    for (struct weir_model_node *m = g->m.first; m; m = next) {
        next = m->next;
        weir_model_edges_finish(&m->in, g->m.memory);
        weir_model_edges_finish(&m->out, g->m.memory);
        free_node(weir_node_of(m));
    }
    weir_model_graph_init(&g->m, g->m.memory);
    weir_graph_objects_drop_locked(g);
    for (size_t i = 0; i < g->values.count; i++)
        value_unref(g->values.items[i]);
    weir_vec_finish(&g->values);
    weir_free(g->info);
    if (weir_slot_kill(&g->slot))
        weir_slots_give(&weir_core.graphs.graphs, g);
}

enum weir_err weir_graph_create(struct weir_graph **out)
{
    weir_graphs_lock();
    *out = weir_graph_new_locked();
    weir_graphs_unlock();
    if (*out && weir_check_enabled())
        weir_check_object(*out, "graph");
    return *out ? WEIR_OK : WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "too many graphs");
}

enum weir_err weir_graph_destroy(struct weir_graph *g)
{
    if (g->parent)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "the graph belongs to a node of another one");
    if (weir_check_enabled())
        weir_check_object_end(g);
    weir_graphs_lock();
    weir_graph_free_locked(g);
    weir_graphs_unlock();
    return WEIR_OK;
}

/* ---- nodes ---- */

static enum weir_err graph_error(enum weir_graph_result r)
{
    switch (r) {
    case WEIR_GRAPH_OK:
        return WEIR_OK;
    case WEIR_GRAPH_NO_MEMORY:
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "edges of a graph");
    case WEIR_GRAPH_CYCLE:
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "the graph has a cycle");
    case WEIR_GRAPH_INVALID:
        break;
    }
    return WEIR_FAIL(WEIR_ERR_INVALID_VALUE,
                     "an edge of another graph, to itself, twice, missing, or with bad data");
}

/* Memory nodes count in all graphs above. */
static void count_memory(struct weir_graph *g, size_t count, bool add)
{
    for (; g; g = g->parent ? weir_graph_of(g->parent->m.graph) : NULL)
        g->memory_nodes = add ? g->memory_nodes + count : g->memory_nodes - count;
}

static size_t memory_nodes_of(const struct weir_node *n)
{
    switch (weir_node_kind(n)) {
    case WEIR_NODE_MEM_ALLOC:
    case WEIR_NODE_MEM_FREE:
        return 1;
    case WEIR_NODE_GRAPH:
        return n->child->memory_nodes;
    default:
        return 0;
    }
}

static bool is_own(const struct weir_graph *g, const struct weir_graph_memory *memory)
{
    for (const struct weir_model_node *m = g->m.first; m; m = m->next)
        if (m->kind == WEIR_NODE_MEM_ALLOC && weir_node_of(m)->memory == memory)
            return true;
    return false;
}

/* Memory that a node of g frees before `deps` have ended: the next allocation may have its address
 * (and programs see that it does). */
static struct weir_graph_memory *find_reusable(struct weir_graph *g,
                                               const struct weir_alloc_params *p,
                                               const struct weir_model_edge *deps, size_t count)
{
    struct weir_model_edges above = {
        .items = (struct weir_model_edge *)deps, .count = (uint32_t)count, .cap = (uint32_t)count};

    if (!g->memory_nodes || !count)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (deps[i].node->graph != &g->m)
            return NULL;
    if (!weir_model_graph_mark_above(&g->m, &above))
        return NULL;
    for (struct weir_model_node *m = g->m.first; m; m = m->next) {
        struct weir_graph_memory *memory = weir_node_of(m)->memory;

        if (m->kind == WEIR_NODE_MEM_FREE && m->place && !memory->live &&
            memory->device == p->device && memory->bytes == p->bytes && is_own(g, memory))
            return memory;
    }
    return NULL;
}

/* A node that could not be added: the memory is as it was. */
static void undo_memory(struct weir_node *n)
{
    if (n->m.kind == WEIR_NODE_MEM_ALLOC)
        n->memory->live = false;
    else if (n->m.kind == WEIR_NODE_MEM_FREE)
        n->memory->live = true;
}

enum weir_err weir_graph_append_locked(struct weir_graph *g, struct weir_context *ctx,
                                       struct weir_node_params *params,
                                       const struct weir_model_edge *deps, size_t count,
                                       struct weir_node **out)
{
    struct weir_node *n = weir_slots_take(&weir_core.graphs.nodes);
    enum weir_err err;

    if (!n)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "too many graph nodes");
    n->ctx = ctx;
    n->id = weir_graph_next_id();
    n->origin = 0;
    n->disabled = false;
    n->item = NULL;
    n->m.kind = (uint8_t)params->kind;
    if (params->kind == WEIR_NODE_MEM_ALLOC)
        n->memory = find_reusable(g, &params->alloc, deps, count);
    err = weir_node_fill(n, g, params);
    if (err == WEIR_OK) {
        err = graph_error(weir_model_node_add(&g->m, &n->m, params->kind, deps, count));
        if (err != WEIR_OK) {
            undo_memory(n);
            weir_node_finish(n);
        }
    }
    if (err != WEIR_OK) {
        weir_slots_give(&weir_core.graphs.nodes, n);
        return err;
    }
    count_memory(g, memory_nodes_of(n), true);
    weir_slot_publish(&n->slot);
    *out = n;
    return WEIR_OK;
}

/* Handles to edges; `stack` when few. */
static enum weir_err collect_deps(void *const *deps, const struct weir_edge_data *data,
                                  size_t count, struct weir_model_edge *stack,
                                  struct weir_model_edge **out)
{
    *out = stack;
    if (count && !deps)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%zu dependencies at NULL", count);
    if (count > MANY_DEPS) {
        *out = weir_alloc(count * sizeof **out);
        if (!*out)
            return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "%zu dependencies", count);
    }
    for (size_t i = 0; i < count; i++) {
        struct weir_node *n;
        enum weir_err err = weir_node_get(deps[i], &n);

        if (err != WEIR_OK) {
            if (*out != stack)
                weir_free(*out);
            return err;
        }
        (*out)[i] = (struct weir_model_edge){&n->m, data ? data[i] : (struct weir_edge_data){0}};
    }
    return WEIR_OK;
}

enum weir_err weir_graph_add(struct weir_graph *g, struct weir_context *ctx,
                             struct weir_node_params *params, void *const *deps,
                             const struct weir_edge_data *data, size_t count,
                             struct weir_node **out)
{
    struct weir_model_edge stack[MANY_DEPS], *edges;
    enum weir_err err = collect_deps(deps, data, count, stack, &edges);

    if (err != WEIR_OK)
        return err;
    weir_graphs_lock();
    err = weir_graph_append_locked(g, ctx, params, edges, count, out);
    weir_graphs_unlock();
    if (edges != stack)
        weir_free(edges);
    return err;
}

enum weir_err weir_node_destroy(struct weir_node *n)
{
    struct weir_graph *g;

    weir_graphs_lock();
    g = weir_graph_of(n->m.graph);
    if (g->memory_nodes || g->capturing) {
        weir_graphs_unlock();
        return WEIR_FAIL(g->capturing ? WEIR_ERR_INVALID_VALUE : WEIR_ERR_NOT_SUPPORTED,
                         "nodes of a graph with memory nodes, or one in capture, stay");
    }
    weir_model_node_remove(&n->m);
    free_node(n);
    weir_graphs_unlock();
    return WEIR_OK;
}

enum weir_err weir_graph_edges_change(struct weir_graph *g, void *const *from, void *const *to,
                                      const struct weir_edge_data *data, size_t count, bool add)
{
    struct weir_model_node **nodes;
    enum weir_graph_result r = WEIR_GRAPH_INVALID;
    size_t i;

    if (count == 0)
        return WEIR_OK;
    if (!from || !to)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%zu edges at NULL", count);
    nodes = weir_alloc(2 * count * sizeof *nodes);
    if (!nodes)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "%zu edges", count);
    weir_graphs_lock();
    if (!add && g->memory_nodes) {
        weir_graphs_unlock();
        weir_free(nodes);
        return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "edges of a graph with memory nodes stay");
    }
    for (i = 0; i < 2 * count; i++) {
        struct weir_node *n =
            weir_slots_check(&weir_core.graphs.nodes, i < count ? from[i] : to[i - count]);

        if (!n)
            break;
        nodes[i] = &n->m;
    }
    if (i == 2 * count)
        r = add ? weir_model_edges_add(&g->m, nodes, nodes + count, data, count)
                : weir_model_edges_remove(&g->m, nodes, nodes + count, data, count);
    weir_graphs_unlock();
    weir_free(nodes);
    return graph_error(r);
}

/* ---- lists ---- */

static void finish_list(void **items, size_t found, size_t *count)
{
    if (!items) {
        *count = found;
        return;
    }
    for (size_t i = found; i < *count; i++) /* as measured */
        items[i] = NULL;
    *count = WEIR_MIN(found, *count);
}

void weir_graph_list(struct weir_graph *g, enum weir_list_kind kind, void **items, size_t *count)
{
    size_t found = 0;

    weir_graphs_lock();
    for (struct weir_model_node *m = g->m.first; m; m = m->next) {
        if (kind == WEIR_LIST_ROOTS && m->in.count)
            continue;
        if (items && found < *count)
            items[found] = weir_node_of(m);
        found++;
    }
    weir_graphs_unlock();
    finish_list(items, found, count);
}

static bool is_special(struct weir_edge_data d)
{
    return d.from_port || d.to_port || d.type;
}

enum weir_err weir_graph_list_edges(struct weir_graph *g, void **from, void **to,
                                    struct weir_edge_data *data, size_t *count)
{
    size_t found = 0;
    bool lossy;

    weir_graphs_lock();
    lossy = g->m.special_edges && (from || to) && !data;
    for (struct weir_model_node *m = g->m.first; m && !lossy; m = m->next) {
        for (uint32_t i = 0; i < m->out.count; i++, found++) {
            if (found >= *count)
                continue;
            if (from)
                from[found] = weir_node_of(m);
            if (to)
                to[found] = weir_node_of(m->out.items[i].node);
            if (data)
                data[found] = m->out.items[i].data;
        }
    }
    weir_graphs_unlock();
    if (lossy)
        return WEIR_FAIL(WEIR_ERR_LOSSY_QUERY, "edges have data, and none was asked for");
    if (to)
        finish_list(to, found, &(size_t){*count});
    finish_list(from, found, count);
    return WEIR_OK;
}

enum weir_err weir_node_list_edges(struct weir_node *n, bool incoming, void **nodes,
                                   struct weir_edge_data *data, size_t *count)
{
    const struct weir_model_edges *e = incoming ? &n->m.in : &n->m.out;
    bool lossy = false;
    size_t found;

    weir_graphs_lock();
    found = e->count;
    for (uint32_t i = 0; i < e->count && nodes; i++) {
        if (is_special(e->items[i].data) && !data)
            lossy = true;
        if (i >= *count)
            continue;
        nodes[i] = weir_node_of(e->items[i].node);
        if (data)
            data[i] = e->items[i].data;
    }
    weir_graphs_unlock();
    if (lossy)
        return WEIR_FAIL(WEIR_ERR_LOSSY_QUERY, "edges have data, and none was asked for");
    finish_list(nodes, found, count);
    return WEIR_OK;
}

enum weir_node_kind weir_node_kind(const struct weir_node *n)
{
    return (enum weir_node_kind)n->m.kind;
}

struct weir_graph *weir_node_graph(const struct weir_node *n)
{
    return weir_graph_of(n->m.graph);
}

struct weir_context *weir_node_context(const struct weir_node *n)
{
    return n->ctx;
}

/* ---- clones ---- */

/* map: the copy of each node, by place. */
static enum weir_err copy_nodes(struct weir_graph *to, struct weir_graph *from,
                                struct weir_node **map, bool instance)
{
    struct weir_model_edge stack[MANY_DEPS];
    uint32_t place = 0;

    for (struct weir_model_node *m = from->m.first; m; m = m->next) {
        struct weir_node *old = weir_node_of(m), *n = weir_slots_take(&weir_core.graphs.nodes);
        enum weir_err err;

        if (!n)
            return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "too many graph nodes");
        n->ctx = old->ctx;
        n->id = weir_graph_next_id();
        n->origin = old->id;
        n->disabled = false;
        n->item = NULL;
        n->m.kind = m->kind;
        err = weir_node_copy_payload(n, old, instance);
        if (err == WEIR_OK &&
            weir_model_node_add(&to->m, &n->m, weir_node_kind(old), stack, 0) != WEIR_GRAPH_OK)
            err = WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a node's copy");
        if (err != WEIR_OK) {
            weir_slots_give(&weir_core.graphs.nodes, n);
            return err;
        }
        if (n->m.kind == WEIR_NODE_GRAPH)
            n->child->parent = n;
        weir_slot_publish(&n->slot);
        m->place = place;
        map[place++] = n;
    }
    return WEIR_OK;
}

static enum weir_err copy_edges(struct weir_graph *to, struct weir_graph *from,
                                struct weir_node **map)
{
    for (struct weir_model_node *m = from->m.first; m; m = m->next) {
        struct weir_model_node *a = &map[m->place]->m;

        /* Both lists in their order, which the rule of the update looks at. */
        if (!weir_model_edges_reserve(&a->in, m->in.count, to->m.memory) ||
            !weir_model_edges_reserve(&a->out, m->out.count, to->m.memory))
            return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "edges of a copy");
        for (uint32_t i = 0; i < m->in.count; i++)
            a->in.items[i] =
                (struct weir_model_edge){&map[m->in.items[i].node->place]->m, m->in.items[i].data};
        for (uint32_t i = 0; i < m->out.count; i++)
            a->out.items[i] = (struct weir_model_edge){&map[m->out.items[i].node->place]->m,
                                                       m->out.items[i].data};
        a->in.count = m->in.count;
        a->out.count = m->out.count;
    }
    to->m.edge_count = from->m.edge_count;
    to->m.root_count = from->m.root_count;
    to->m.special_edges = from->m.special_edges;
    return WEIR_OK;
}

static enum weir_err copy_values(struct weir_graph *to, const struct weir_graph *from)
{
    for (size_t i = 0; i < from->values.count; i++) {
        if (!weir_vec_push(&to->values, from->values.items[i]))
            return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "values of a copy");
        from->values.items[i]->refs++;
    }
    return WEIR_OK;
}

struct weir_graph *weir_graph_copy_locked(struct weir_graph *g, bool instance, enum weir_err *err)
{
    struct weir_graph *to = NULL;
    struct weir_node **map;

    if (g->memory_nodes && !instance) {
        *err = WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "a copy of a graph with memory nodes");
        return NULL;
    }
    map = weir_alloc((g->m.node_count + 1) * sizeof(struct weir_node *));
    if (map)
        to = weir_graph_new_locked();
    *err = to ? WEIR_OK : WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a graph's copy");
    if (to) {
        to->origin = g->id;
        to->memory_nodes = g->memory_nodes;
        *err = copy_nodes(to, g, map, instance);
        if (*err == WEIR_OK)
            *err = copy_edges(to, g, map);
        if (*err == WEIR_OK)
            *err = copy_values(to, g);
        if (*err == WEIR_OK && !weir_graph_objects_copy_locked(to, g))
            *err = WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "user objects of a copy");
    }
    weir_free(map);
    if (*err == WEIR_OK)
        return to;
    if (to)
        weir_graph_free_locked(to);
    return NULL;
}

enum weir_err weir_graph_clone(struct weir_graph *g, struct weir_graph **out)
{
    enum weir_err err;

    weir_graphs_lock();
    *out = weir_graph_copy_locked(g, false, &err);
    weir_graphs_unlock();
    return err;
}

static struct weir_node *find_origin(struct weir_graph *g, uint64_t id)
{
    for (struct weir_model_node *m = g->m.first; m; m = m->next)
        if (weir_node_of(m)->origin == id)
            return weir_node_of(m);
    return NULL;
}

/* Also in the clones of child graphs. */
static struct weir_node *find_deep(struct weir_graph *g, const struct weir_node *original)
{
    if (g->origin && g->origin == weir_node_graph(original)->id)
        return find_origin(g, original->id);
    for (struct weir_model_node *m = g->m.first; m; m = m->next) {
        struct weir_node *found =
            m->kind == WEIR_NODE_GRAPH ? find_deep(weir_node_of(m)->child, original) : NULL;

        if (found)
            return found;
    }
    return NULL;
}

enum weir_err weir_graph_find_in_clone(struct weir_node *original, struct weir_graph *clone,
                                       struct weir_node **out)
{
    weir_graphs_lock();
    *out = find_deep(clone, original);
    weir_graphs_unlock();
    return *out ? WEIR_OK
                : WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "the graph is no clone of the node's graph");
}

/* ---- conditional values ---- */

enum weir_err weir_conditional_create(struct weir_graph *g, struct weir_context *ctx,
                                      uint32_t initial, bool at_launch, uint64_t *handle)
{
    struct weir_graph_value *v = weir_calloc(1, sizeof *v);
    enum weir_err err = WEIR_OK;
    void *memory = NULL;

    if (!v)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a conditional handle");
    err = weir_mem_alloc(WEIR_MEM_KIND_INTERNAL, ctx->ordinal, sizeof(uint32_t), 0, NULL, &memory);
    if (err != WEIR_OK) {
        weir_free(v);
        return err;
    }
    *v = (struct weir_graph_value){
        .value = memory, .initial = at_launch ? initial : 0, .refs = 1, .at_launch = at_launch};
    weir_graphs_lock();
    if (!weir_vec_push(&g->values, v)) {
        value_unref(v);
        err = WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a conditional handle");
    }
    weir_graphs_unlock();
    if (err == WEIR_OK)
        *handle = (uint64_t)(uintptr_t)memory;
    return err;
}
