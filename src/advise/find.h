/* Inside src/advise: what each question works with.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_ADVISE_FIND_H
#define WEIR_ADVISE_FIND_H

#include "advise/advise.h"
#include "plan/recorded.h"

struct weir_advise_context {
    const struct weir_trace_file *f;
    struct weir_plan_data data;
    struct weir_plan_recorded model;
    struct weir_plan_outcome base;
    struct weir_advise_report *report;
};

/* Runs on an engine, as an operation of its own (no node of a graph), and did so. */
static inline bool weir_advise_is_work(const struct weir_trace_op *op)
{
    return op->done && op->engine != WEIR_TRACE_ENGINE_NONE && op->graph == WEIR_TRACE_NONE;
}

/* Simulates; *gain is what it saves, 0 when nothing. False: no memory. */
bool weir_advise_price(const struct weir_advise_context *c, const struct weir_plan_scenario *s,
                       uint64_t *gain);
/* Adds a finding; a note when it gains little. False: no memory. */
bool weir_advise_add(struct weir_advise_context *c, const struct weir_advise_finding *finding);
/* The place of a call joins the finding's, three at most, each once. */
void weir_advise_add_site(const struct weir_advise_context *c, struct weir_advise_finding *finding,
                          uint32_t call);

/* Does the call hand results to the host? Then something has to wait. */
bool weir_advise_brings_results(const struct weir_advise_context *c, uint32_t call);
/* Is the thread's next call one that asks for a time between events? */
bool weir_advise_times_follow(const struct weir_advise_context *c, uint32_t call);
/* The allocation that an address lies in at that moment, or NULL. */
const struct weir_trace_allocation *weir_advise_allocation_at(const struct weir_trace_file *f,
                                                              uint64_t address, uint64_t ns);
/* Allocates, frees, pins, loads or creates. */
bool weir_advise_is_memory_call(const char *name);
/* Does the thread submit work after the call? */
bool weir_advise_work_follows(const struct weir_advise_context *c, uint32_t call);

/* The questions. Each adds what it finds. False: no memory. */
bool weir_advise_find_streams(struct weir_advise_context *c);        /* 1, 2 */
bool weir_advise_find_legacy(struct weir_advise_context *c);         /* 3 */
bool weir_advise_find_pageable(struct weir_advise_context *c);       /* 4 */
bool weir_advise_find_syncs(struct weir_advise_context *c);          /* 5 */
bool weir_advise_find_allocs(struct weir_advise_context *c);         /* 6 */
bool weir_advise_find_full(struct weir_advise_context *c);           /* 7, 8 */
bool weir_advise_find_launches(struct weir_advise_context *c);       /* 9 */
bool weir_advise_find_unneeded(struct weir_advise_context *c);       /* 10 */
bool weir_advise_find_graph_edges(struct weir_advise_context *c);    /* 10 inside graphs */
bool weir_advise_find_records(struct weir_advise_context *c);        /* 11, 25 */
bool weir_advise_find_depth(struct weir_advise_context *c);          /* 12 */
bool weir_advise_find_items(struct weir_advise_context *c);          /* 12, of depth's */
bool weir_advise_find_small(struct weir_advise_context *c);          /* 13 */
bool weir_advise_find_too_many(struct weir_advise_context *c);       /* 14 */
bool weir_advise_find_priority(struct weir_advise_context *c);       /* 15 */
bool weir_advise_find_peers(struct weir_advise_context *c);          /* 16 */
bool weir_advise_find_managed(struct weir_advise_context *c);        /* 17 */
bool weir_advise_find_loads(struct weir_advise_context *c);          /* 18 */
bool weir_advise_find_timing(struct weir_advise_context *c);         /* 19 */
bool weir_advise_find_queues(struct weir_advise_context *c);         /* 20 */
bool weir_advise_find_graph_launches(struct weir_advise_context *c); /* 21 */
bool weir_advise_find_full_queues(struct weir_advise_context *c);    /* 22 */
bool weir_advise_find_settings(struct weir_advise_context *c);       /* 23 */
bool weir_advise_find_host_waits(struct weir_advise_context *c);     /* 24 */
bool weir_advise_find_mistakes(struct weir_advise_context *c);       /* 26 */
bool weir_advise_find_unused(struct weir_advise_context *c);         /* 27 */
bool weir_advise_find_polling(struct weir_advise_context *c);        /* 28 */
bool weir_advise_find_pinned(struct weir_advise_context *c);         /* 29 */
bool weir_advise_find_libraries(struct weir_advise_context *c);      /* 30 */
/* Beyond the questions: data orders that only side effects keep. */
bool weir_advise_find_fragile(struct weir_advise_context *c);

#endif
