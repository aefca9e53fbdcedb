/* Graphs: nodes, edges, and their order. Rules GRA-nnn: docs/rules/GRAPH.md.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/graph.h"

/* ---- lists of edges ---- */

void weir_model_edges_init(struct weir_model_edges *e)
{
    e->items = e->here;
    e->count = 0;
    e->cap = WEIR_MODEL_INLINE_EDGES;
}

void weir_model_edges_finish(struct weir_model_edges *e, const struct weir_model_memory *memory)
{
    if (e->items != e->here)
        memory->free(memory->ctx, e->items);
    weir_model_edges_init(e);
}

bool weir_model_edges_reserve(struct weir_model_edges *e, uint32_t count,
                              const struct weir_model_memory *memory)
{
    struct weir_model_edge *items;
    uint32_t cap = e->cap;

    if (count <= cap)
        return true;
    while (cap < count)
        cap *= 2;
    items = memory->alloc(memory->ctx, cap * sizeof *items);
    if (!items)
        return false;
    for (uint32_t i = 0; i < e->count; i++)
        items[i] = e->items[i];
    if (e->items != e->here)
        memory->free(memory->ctx, e->items);
    e->items = items;
    e->cap = cap;
    return true;
}

struct weir_model_edge *weir_model_edges_find(const struct weir_model_edges *e,
                                              const struct weir_model_node *node)
{
    for (uint32_t i = 0; i < e->count; i++) {
        if (e->items[i].node == node)
            return &e->items[i];
    }
    return NULL;
}

/* Room was reserved. */
static void push(struct weir_model_edges *e, struct weir_model_node *node,
                 struct weir_edge_data data)
{
    e->items[e->count++] = (struct weir_model_edge){node, data};
}

static void drop(struct weir_model_edges *e, const struct weir_model_node *node)
{
    struct weir_model_edge *found = weir_model_edges_find(e, node);

    if (!found)
        return;
    for (e->count--; found < e->items + e->count; found++)
        found[0] = found[1];
}

static bool is_special(struct weir_edge_data d)
{
    return d.from_port || d.to_port || d.type;
}

/* ---- edges ---- */

bool weir_model_edge_data_valid(struct weir_edge_data d, enum weir_node_kind from,
                                enum weir_node_kind to, bool captured)
{
    if (d.to_port != 0)
        return false;
    if (d.type == WEIR_EDGE_FULL)
        return d.from_port == WEIR_PORT_END ||
               (d.from_port == WEIR_PORT_LAUNCHED && from == WEIR_NODE_KERNEL);
    /* GRA-004: from a kernel that can trigger, to a kernel that can wait. */
    return d.type == WEIR_EDGE_PROGRAMMATIC && from == WEIR_NODE_KERNEL &&
           (captured || to == WEIR_NODE_KERNEL) &&
           (d.from_port == WEIR_PORT_PROGRAMMATIC || d.from_port == WEIR_PORT_LAUNCHED);
}

static bool has_edge(const struct weir_model_node *from, const struct weir_model_node *to)
{
    return from->out.count < to->in.count ? weir_model_edges_find(&from->out, to) != NULL
                                          : weir_model_edges_find(&to->in, from) != NULL;
}

static bool link(struct weir_model_graph *g, struct weir_model_node *from,
                 struct weir_model_node *to, struct weir_edge_data data)
{
    if (!weir_model_edges_reserve(&from->out, from->out.count + 1, g->memory) ||
        !weir_model_edges_reserve(&to->in, to->in.count + 1, g->memory))
        return false;
    if (to->in.count == 0)
        g->root_count--;
    push(&from->out, to, data);
    push(&to->in, from, data);
    g->edge_count++;
    g->special_edges += is_special(data);
    return true;
}

static void unlink_edge(struct weir_model_graph *g, struct weir_model_node *from,
                        struct weir_model_node *to)
{
    struct weir_model_edge *e = weir_model_edges_find(&from->out, to);

    if (!e)
        return;
    g->edge_count--;
    g->special_edges -= is_special(e->data);
    drop(&from->out, to);
    drop(&to->in, from);
    if (to->in.count == 0)
        g->root_count++;
}

static bool edge_allowed(const struct weir_model_graph *g, const struct weir_model_node *from,
                         const struct weir_model_node *to, struct weir_edge_data data)
{
    /* GRA-003 */
    if (!from || !to || from == to || from->graph != g || to->graph != g || has_edge(from, to))
        return false;
    return weir_model_edge_data_valid(data, (enum weir_node_kind)from->kind,
                                      (enum weir_node_kind)to->kind, false);
}

enum weir_graph_result weir_model_edges_add(struct weir_model_graph *g,
                                            struct weir_model_node *const *from,
                                            struct weir_model_node *const *to,
                                            const struct weir_edge_data *data, size_t count)
{
    static const struct weir_edge_data plain = {0};
    enum weir_graph_result result = WEIR_GRAPH_OK;
    size_t done = 0;

    for (; done < count && result == WEIR_GRAPH_OK; done++) {
        struct weir_edge_data d = data ? data[done] : plain;

        if (!edge_allowed(g, from[done], to[done], d))
            result = WEIR_GRAPH_INVALID;
        else if (!link(g, from[done], to[done], d))
            result = WEIR_GRAPH_NO_MEMORY;
    }
    if (result != WEIR_GRAPH_OK) /* all or none: the last one was not made */
        for (done--; done > 0; done--)
            unlink_edge(g, from[done - 1], to[done - 1]);
    return result;
}

static bool same_data(struct weir_edge_data a, struct weir_edge_data b)
{
    return a.from_port == b.from_port && a.to_port == b.to_port && a.type == b.type;
}

enum weir_graph_result weir_model_edges_remove(struct weir_model_graph *g,
                                               struct weir_model_node *const *from,
                                               struct weir_model_node *const *to,
                                               const struct weir_edge_data *data, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct weir_model_edge *e;

        if (!from[i] || !to[i] || from[i]->graph != g || to[i]->graph != g)
            return WEIR_GRAPH_INVALID;
        e = weir_model_edges_find(&from[i]->out, to[i]);
        if (!e || (data && !same_data(e->data, data[i])))
            return WEIR_GRAPH_INVALID;
        for (size_t k = 0; k < i; k++)
            if (from[k] == from[i] && to[k] == to[i])
                return WEIR_GRAPH_INVALID;
    }
    for (size_t i = 0; i < count; i++)
        unlink_edge(g, from[i], to[i]);
    return WEIR_GRAPH_OK;
}

/* ---- nodes ---- */

void weir_model_graph_init(struct weir_model_graph *g, const struct weir_model_memory *memory)
{
    g->memory = memory;
    g->first = g->last = NULL;
    g->node_count = g->edge_count = g->root_count = g->special_edges = 0;
}

void weir_model_graph_finish(struct weir_model_graph *g)
{
    for (struct weir_model_node *n = g->first; n; n = n->next) {
        weir_model_edges_finish(&n->in, g->memory);
        weir_model_edges_finish(&n->out, g->memory);
        n->graph = NULL;
    }
    weir_model_graph_init(g, g->memory);
}

static bool deps_allowed(const struct weir_model_graph *g, enum weir_node_kind kind,
                         const struct weir_model_edge *deps, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!deps[i].node || deps[i].node->graph != g ||
            !weir_model_edge_data_valid(deps[i].data, (enum weir_node_kind)deps[i].node->kind, kind,
                                        true))
            return false;
    }
    return true;
}

/* Undoes a half-made node. */
static void unlink_all(struct weir_model_graph *g, struct weir_model_node *node)
{
    while (node->in.count)
        unlink_edge(g, node->in.items[node->in.count - 1].node, node);
    while (node->out.count)
        unlink_edge(g, node, node->out.items[node->out.count - 1].node);
    weir_model_edges_finish(&node->in, g->memory);
    weir_model_edges_finish(&node->out, g->memory);
}

enum weir_graph_result weir_model_node_add(struct weir_model_graph *g, struct weir_model_node *node,
                                           enum weir_node_kind kind,
                                           const struct weir_model_edge *deps, size_t count)
{
    enum weir_graph_result result = WEIR_GRAPH_OK;

    if (!deps_allowed(g, kind, deps, count))
        return WEIR_GRAPH_INVALID;
    node->graph = g;
    node->kind = (uint8_t)kind;
    node->place = 0;
    weir_model_edges_init(&node->in);
    weir_model_edges_init(&node->out);
    g->root_count++;
    for (size_t i = 0; i < count && result == WEIR_GRAPH_OK; i++) {
        if (has_edge(deps[i].node, node))
            result = WEIR_GRAPH_INVALID;
        else if (!link(g, deps[i].node, node, deps[i].data))
            result = WEIR_GRAPH_NO_MEMORY;
    }
    if (result != WEIR_GRAPH_OK) {
        unlink_all(g, node);
        g->root_count--;
        return result;
    }
    node->next = NULL;
    node->prev = g->last;
    if (g->last)
        g->last->next = node;
    else
        g->first = node;
    g->last = node;
    g->node_count++;
    return WEIR_GRAPH_OK;
}

void weir_model_node_remove(struct weir_model_node *node)
{
    struct weir_model_graph *g = node->graph;

    unlink_all(g, node);
    g->root_count--;
    g->node_count--;
    if (node->prev)
        node->prev->next = node->next;
    else
        g->first = node->next;
    if (node->next)
        node->next->prev = node->prev;
    else
        g->last = node->prev;
    node->graph = NULL;
}

/* ---- order ---- */

enum weir_graph_result weir_model_graph_order(struct weir_model_graph *g,
                                              struct weir_model_node **order,
                                              struct weir_model_node **at)
{
    size_t begin = 0, end = 0, roots = g->node_count;

    /* The roots wait at the end of `order`: what is written before them never reaches them. */
    for (struct weir_model_node *n = g->last; n; n = n->prev) {
        n->place = n->in.count; /* edges that are not satisfied yet */
        if (n->in.count == 0)
            order[--roots] = n;
    }
    while (begin < end || roots < g->node_count) { /* GRA-001 */
        const struct weir_model_edges *out;

        if (begin == end)
            order[end++] = order[roots++];
        out = &order[begin++]->out;
        for (uint32_t i = 0; i < out->count; i++)
            if (--out->items[i].node->place == 0)
                order[end++] = out->items[i].node;
    }
    if (end < g->node_count) { /* GRA-002 */
        struct weir_model_node *n = g->first;

        while (n->place == 0)
            n = n->next;
        if (at)
            *at = n;
        return WEIR_GRAPH_CYCLE;
    }
    for (size_t i = 0; i < end; i++)
        order[i]->place = (uint32_t)i;
    return WEIR_GRAPH_OK;
}

bool weir_model_graph_mark_above(struct weir_model_graph *g, const struct weir_model_edges *roots)
{
    struct weir_model_node **todo;
    size_t count = 0;

    if (g->node_count == 0)
        return true;
    todo = g->memory->alloc(g->memory->ctx, g->node_count * sizeof(struct weir_model_node *));
    if (!todo)
        return false;
    for (struct weir_model_node *n = g->first; n; n = n->next)
        n->place = 0;
    for (uint32_t i = 0; i < roots->count; i++) {
        if (roots->items[i].node->place == 0) {
            roots->items[i].node->place = 1;
            todo[count++] = roots->items[i].node;
        }
    }
    while (count) {
        const struct weir_model_edges *in = &todo[--count]->in;

        for (uint32_t i = 0; i < in->count; i++) {
            if (in->items[i].node->place == 0) {
                in->items[i].node->place = 1;
                todo[count++] = in->items[i].node;
            }
        }
    }
    g->memory->free(g->memory->ctx, todo);
    return true;
}

static void number(struct weir_model_graph *g)
{
    uint32_t i = 0;

    for (struct weir_model_node *n = g->first; n; n = n->next)
        n->place = i++;
}

/* The same nodes before, whatever the order in which the edges were made. */
static bool same_edges(const struct weir_model_node *a, const struct weir_model_node *b)
{
    if (a->in.count != b->in.count)
        return false;
    for (uint32_t i = 0; i < a->in.count; i++) {
        const struct weir_model_edge *e = &a->in.items[i];
        uint32_t k = i;

        /* Mostly at the same place. */
        if (b->in.items[k].node->place != e->node->place)
            for (k = 0; k < b->in.count && b->in.items[k].node->place != e->node->place; k++)
                ;
        if (k == b->in.count || !same_data(b->in.items[k].data, e->data))
            return false;
    }
    return true;
}

bool weir_model_graph_same(struct weir_model_graph *a, struct weir_model_graph *b,
                           struct weir_model_node **at, bool *kind)
{
    struct weir_model_node *y = b->first;

    *at = NULL;
    *kind = false;
    if (a->node_count != b->node_count)
        return false; /* GRA-020 */
    number(a);
    number(b);
    for (struct weir_model_node *x = a->first; x; x = x->next, y = y->next) {
        if (!same_edges(x, y) || x->kind != y->kind) {
            *at = y;
            *kind = x->kind != y->kind && same_edges(x, y);
            return false;
        }
    }
    return true;
}
