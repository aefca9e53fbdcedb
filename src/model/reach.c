/* The order of a graph's nodes inside one launch: the closure of its edges.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/reach.h"

uint32_t weir_reach_words(uint32_t nodes, bool early)
{
    return ((early ? 2 * nodes : nodes) + 63) / 64;
}

static uint64_t *row(struct weir_reach *r, uint32_t node)
{
    return r->bits + (size_t)node * r->words;
}

bool weir_reach_has(const struct weir_reach *r, uint32_t from, uint32_t to)
{
    return r->bits[(size_t)from * r->words + to / 64] >> (to % 64) & 1;
}

static bool set(struct weir_reach *r, uint32_t from, uint32_t to)
{
    uint64_t *word = &row(r, from)[to / 64], bit = UINT64_C(1) << (to % 64);
    bool fresh = !(*word & bit);

    *word |= bit;
    return fresh;
}

/* The rows of the nodes, from the last to the first: a node's own successors and theirs. False:
 * some may lack something, because a node that comes later has a successor that comes earlier (what
 * is behind a child graph stands before the child's nodes), and rows have grown. */
static bool fill(struct weir_reach *r, weir_reach_edge *edge, const void *graph)
{
    bool back = false, grown = false, programmatic;
    uint32_t next;

    for (uint32_t i = r->nodes; i-- > 0;) {
        uint64_t *mine = row(r, i);

        for (uint32_t k = 0; edge(graph, i, k, &next, &programmatic); k++) {
            const uint64_t *theirs = row(r, next);

            (void)set(r, i, next);
            back = back || next < i;
            for (uint32_t w = 0; w < r->words; w++) {
                grown = grown || (theirs[w] & ~mine[w]);
                mine[w] |= theirs[w];
            }
        }
    }
    return !back || !grown;
}

/* What is before all of node `to` begins, by this edge: the source and what is before it; by a
 * programmatic one only what was complete before the source began (ORD-031). */
static bool fill_early(struct weir_reach *r, uint32_t from, uint32_t to, bool programmatic)
{
    uint32_t before = programmatic ? r->nodes + from : from, early = r->nodes + to;
    bool grown = !programmatic && set(r, from, early);

    for (uint32_t i = 0; i < r->nodes; i++)
        if (weir_reach_has(r, i, before) && set(r, i, early))
            grown = true;
    return grown;
}

/* The parts of nodes that run before their waits for what they follow (ORD-032) are numbered behind
 * the nodes: before such a part comes less, behind it the same and the rest of the node. */
static void early_parts(struct weir_reach *r, weir_reach_edge *edge, const void *graph)
{
    bool grown, programmatic;
    uint32_t next;

    do {
        grown = false;
        for (uint32_t i = 0; i < r->nodes; i++)
            for (uint32_t k = 0; edge(graph, i, k, &next, &programmatic); k++)
                if (fill_early(r, i, next, programmatic))
                    grown = true;
    } while (grown);
    for (uint32_t i = 0; i < r->nodes; i++) {
        for (uint32_t w = 0; w < r->words; w++)
            row(r, r->nodes + i)[w] = row(r, i)[w];
        (void)set(r, r->nodes + i, i);
    }
}

/* Children in children need a round each. */
void weir_reach_make(struct weir_reach *r, uint32_t nodes, bool early, weir_reach_edge *edge,
                     const void *graph)
{
    r->nodes = nodes;
    r->words = weir_reach_words(nodes, early);
    while (!fill(r, edge, graph))
        ;
    if (early)
        early_parts(r, edge, graph);
}

bool weir_inside_before(const struct weir_inside *a, const struct weir_inside *b)
{
    for (uint32_t i = 0; a && b && i < a->count && i < b->count; i++) {
        const struct weir_inside_at *x = &a->at[i], *y = &b->at[i];

        if (x->reach != y->reach || x->time != y->time)
            return true;
        if (x->node != y->node)
            return weir_reach_has(x->reach, x->node, y->node);
    }
    return true;
}
