/* Inside the reader: what graphs' nodes follow, and what they are given.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TRACE_GRAPHS_H
#define WEIR_TRACE_GRAPHS_H

#include "trace/read_int.h"

struct raw_launched_node {
    uint32_t launch, op, number; /* operations; in its instance */
};

struct weir_trace_graphs {
    struct reader *reader;
    WEIR_VEC(struct raw_launched_node) nodes;
};

/* Operations are sorted; nodes are none yet. */
void weir_trace_graphs_begin(struct reader *r, struct weir_trace_graphs *g);
void weir_trace_graphs_finish(struct weir_trace_graphs *g);
/* Pointers or memory of a node's operation, whose launch is known. */
void weir_trace_graphs_places(const struct weir_trace_graphs *g, const struct raw_node *n,
                              struct weir_trace_op *op);
/* The node became operation op. False: no memory. */
bool weir_trace_graphs_add(struct weir_trace_graphs *g, const struct raw_node *n, uint32_t launch,
                           uint32_t op);
/* All nodes are operations: edges, and why each started when it did. */
bool weir_trace_graphs_link(struct weir_trace_graphs *g);

#endif
