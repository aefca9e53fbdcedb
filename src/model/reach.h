/* The order of a graph's nodes inside one launch, and of what the bodies of its conditional nodes
 * do (GRA-001, GRA-041; programmatic edges: ORD-031, ORD-032).
 * SPDX-License-Identifier: Apache-2.0
 *
 * Pure, as all of the model: the caller has the memory. */
#ifndef WEIR_MODEL_REACH_H
#define WEIR_MODEL_REACH_H

#include "model/model.h"

/* Bit [i * words * 64 + j] says that node i comes before node j. Where there are programmatic edges
 * nodes + i is what node i does before it waits. refs is the caller's. Constant once made. */
struct weir_reach {
    uint32_t refs, nodes, words;
    uint64_t bits[];
};

/* The k-th edge from a node of the caller's graph; false: it has no more. */
typedef bool weir_reach_edge(const void *graph, uint32_t from, uint32_t k, uint32_t *to,
                             bool *programmatic);

/* How long a row is. early: nodes may begin before what they follow is over. */
uint32_t weir_reach_words(uint32_t nodes, bool early);
/* r: zeroed, with `words` words for each node, and as many more if early. */
void weir_reach_make(struct weir_reach *r, uint32_t nodes, bool early, weir_reach_edge *edge,
                     const void *graph);
bool weir_reach_has(const struct weir_reach *r, uint32_t from, uint32_t to);

/* Where in the body of a conditional node a node is, outermost body first: the body's order, which
 * time it runs (by any count of one launch), and the number in it of the node, or of the
 * conditional node that the next body belongs to. Bodies of one conditional node and a body's times
 * follow each other (GRA-041); inside one time its edges say what does. */
struct weir_inside {
    uint32_t count;
    struct weir_inside_at {
        struct weir_reach *reach; /* a reference */
        uint32_t time, node;
    } at[];
};

/* Of a and b, inside one conditional node, or (NULL) one node that is none: a was told first. */
bool weir_inside_before(const struct weir_inside *a, const struct weir_inside *b);

#endif
