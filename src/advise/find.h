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

/* The questions. Each adds what it finds. False: no memory. */
bool weir_advise_find_streams(struct weir_advise_context *c);  /* 1, 2 */
bool weir_advise_find_legacy(struct weir_advise_context *c);   /* 3 */
bool weir_advise_find_pageable(struct weir_advise_context *c); /* 4 */
bool weir_advise_find_syncs(struct weir_advise_context *c);    /* 5 */
bool weir_advise_find_allocs(struct weir_advise_context *c);   /* 6 */
bool weir_advise_find_full(struct weir_advise_context *c);     /* 7, 8 */
bool weir_advise_find_launches(struct weir_advise_context *c); /* 9 */
bool weir_advise_find_unneeded(struct weir_advise_context *c); /* 10 */
bool weir_advise_find_depth(struct weir_advise_context *c);    /* 12 */
bool weir_advise_find_small(struct weir_advise_context *c);    /* 13 */
bool weir_advise_find_timing(struct weir_advise_context *c);   /* 19 */

#endif
