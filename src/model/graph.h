/* Graphs: nodes and edges with their data, as programs build and capture them, and the order in
 * which a launch runs them. What a node does is the caller's: it embeds weir_model_node in its own
 * struct. Rules: docs/rules/GRAPH.md (GRA-nnn); captures are in model/capture.h.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Pure, as all of the model: memory comes from weir_model_memory. The caller serialises calls on
 * one graph. */
#ifndef WEIR_MODEL_GRAPH_H
#define WEIR_MODEL_GRAPH_H

#include "model/model.h"

/* Numbers as programs see them. */
enum weir_node_kind {
    WEIR_NODE_KERNEL,
    WEIR_NODE_MEMCPY,
    WEIR_NODE_MEMSET,
    WEIR_NODE_HOST,
    WEIR_NODE_GRAPH,
    WEIR_NODE_EMPTY,
    WEIR_NODE_EVENT_WAIT,
    WEIR_NODE_EVENT_RECORD,
    WEIR_NODE_SEMAPHORE_SIGNAL,
    WEIR_NODE_SEMAPHORE_WAIT,
    WEIR_NODE_MEM_ALLOC,
    WEIR_NODE_MEM_FREE,
    WEIR_NODE_BATCH_MEM_OP,
    WEIR_NODE_CONDITIONAL,
    WEIR_NODE_KIND_COUNT
};

enum weir_edge_type { WEIR_EDGE_FULL, WEIR_EDGE_PROGRAMMATIC };

/* From which moment of a kernel on the edge holds. */
enum weir_edge_port {
    WEIR_PORT_END,
    WEIR_PORT_PROGRAMMATIC, /* every block has triggered or ended */
    WEIR_PORT_LAUNCHED,     /* every block has begun */
};

/* As programs give it: cudaGraphEdgeData has this form. */
struct weir_edge_data {
    uint8_t from_port, to_port, type, reserved[5];
};

struct weir_model_node;
struct weir_model_graph;

/* One end of an edge: the node at the other end. */
struct weir_model_edge {
    struct weir_model_node *node;
    struct weir_edge_data data;
};

#define WEIR_MODEL_INLINE_EDGES 2

/* A list of edges, in order of insertion; most nodes have few. */
struct weir_model_edges {
    struct weir_model_edge *items; /* here, or memory from the model's allocator */
    uint32_t count, cap;
    struct weir_model_edge here[WEIR_MODEL_INLINE_EDGES];
};

struct weir_model_node {
    struct weir_model_graph *graph;
    struct weir_model_node *next, *prev; /* in order of creation */
    struct weir_model_edges in, out;
    uint32_t place; /* scratch of walks over the graph */
    uint8_t kind;   /* enum weir_node_kind */
};

struct weir_model_graph {
    const struct weir_model_memory *memory;
    struct weir_model_node *first, *last;
    size_t node_count, edge_count, root_count;
    size_t special_edges; /* edges whose data is not all zero */
};

enum weir_graph_result {
    WEIR_GRAPH_OK,
    WEIR_GRAPH_NO_MEMORY,
    WEIR_GRAPH_INVALID, /* other graph, itself, there already, not there, wrong ports */
    WEIR_GRAPH_CYCLE,
};

/* ---- lists of edges ---- */

void weir_model_edges_init(struct weir_model_edges *e);
void weir_model_edges_finish(struct weir_model_edges *e, const struct weir_model_memory *memory);
/* False: no memory, unchanged. */
bool weir_model_edges_reserve(struct weir_model_edges *e, uint32_t count,
                              const struct weir_model_memory *memory);
/* The entry for `node`, or NULL. */
struct weir_model_edge *weir_model_edges_find(const struct weir_model_edges *e,
                                              const struct weir_model_node *node);

/* ---- building ---- */

void weir_model_graph_init(struct weir_model_graph *g, const struct weir_model_memory *memory);
/* Takes all nodes out; their memory is the caller's. */
void weir_model_graph_finish(struct weir_model_graph *g);

/* Appends `node` (kind as given) behind the nodes of `deps`. INVALID, and nothing changed: one of
 * another graph, one twice (GRA-003), ports that these nodes do not have (GRA-004). */
enum weir_graph_result weir_model_node_add(struct weir_model_graph *g, struct weir_model_node *node,
                                           enum weir_node_kind kind,
                                           const struct weir_model_edge *deps, size_t count);
/* Takes it out with its edges. */
void weir_model_node_remove(struct weir_model_node *node);

/* May an edge with this data lead from one kind to another (GRA-004)? `captured`: made by a
 * capture, where the far end may be anything. */
bool weir_model_edge_data_valid(struct weir_edge_data data, enum weir_node_kind from,
                                enum weir_node_kind to, bool captured);
/* Adds `count` edges, or none. A cycle is accepted here and refused by weir_model_graph_order
 * (GRA-002). */
enum weir_graph_result weir_model_edges_add(struct weir_model_graph *g,
                                            struct weir_model_node *const *from,
                                            struct weir_model_node *const *to,
                                            const struct weir_edge_data *data, size_t count);
/* Removes `count` edges, or none. Without data, edges of any data (as measured). */
enum weir_graph_result weir_model_edges_remove(struct weir_model_graph *g,
                                               struct weir_model_node *const *from,
                                               struct weir_model_node *const *to,
                                               const struct weir_edge_data *data, size_t count);

/* ---- order ---- */

/* Writes the nodes so that each stands behind those it depends on, and sets node->place to its
 * position (GRA-001): a root, what that lets go and so on, then the next root, roots in order of
 * creation. So one thread that takes what is ready first comes to them. `order` has room for
 * node_count. CYCLE: *at (may be NULL) is the first node, in order of creation, that cannot be
 * reached. */
enum weir_graph_result weir_model_graph_order(struct weir_model_graph *g,
                                              struct weir_model_node **order,
                                              struct weir_model_node **at);

/* Marks (place = 1) `roots` and all that they depend on, every other node 0. False: no memory. */
bool weir_model_graph_mark_above(struct weir_model_graph *g, const struct weir_model_edges *roots);

/* Do two graphs have the same shape, node for node in order of creation (GRA-020)? If not, *at is
 * the node of `b` where they part, NULL when only their sizes differ; *kind tells that its kind
 * differs and not its edges. */
bool weir_model_graph_same(struct weir_model_graph *a, struct weir_model_graph *b,
                           struct weir_model_node **at, bool *kind);

#endif
