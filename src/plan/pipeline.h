/* The pipeline that everyone writes: work cut into chunks, chunk i in stream i mod the streams,
 * each chunk through the same stages. As a program of the simulator.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Freestanding: the page of `weir plan --html` holds it. */
#ifndef WEIR_PLAN_PIPELINE_H
#define WEIR_PLAN_PIPELINE_H

#include "plan/device.h"

#define WEIR_PLAN_STAGES 8

struct weir_plan_stage {
    uint8_t engine; /* enum weir_plan_engine */
    double ns;      /* all chunks' together, by itself on the device */
    double fill;    /* kernels: the share of the device that a chunk's takes, 0 to 1 */
};

struct weir_plan_pipeline {
    struct weir_plan_stage stages[WEIR_PLAN_STAGES];
    uint32_t stage_count, chunks, streams;
    bool breadth;    /* stage by stage instead of chunk by chunk */
    bool pageable;   /* the host waits for every copy (their stages' ns say how long) */
    bool full_size;  /* ns is each chunk's: items that come one by one, not pieces of one */
    double pause_ns; /* the host, in its first call: what a tool does there */
};

/* Owns what its members point to. */
struct weir_plan_made {
    struct weir_plan_program program;
    struct weir_plan_stream *streams;
    struct weir_plan_op *ops; /* chunk by chunk: op c * stages + k */
    struct weir_plan_step *steps;
    struct weir_plan_thread thread;
};

/* False: no memory. */
bool weir_plan_pipeline_make(const struct weir_plan_pipeline *p, const struct weir_plan_device *d,
                             const struct weir_plan_host *host,
                             const struct weir_model_memory *memory, struct weir_plan_made *out);
void weir_plan_made_finish(struct weir_plan_made *made, const struct weir_model_memory *memory);

/* The whole length, from the first call to the end of the last synchronisation, ns; < 0: no memory.
 */
double weir_plan_pipeline_run(const struct weir_plan_pipeline *p, const struct weir_plan_device *d,
                              const struct weir_plan_host *host,
                              const struct weir_model_memory *memory);

enum weir_plan_limit {
    WEIR_PLAN_LIMIT_KERNELS,
    WEIR_PLAN_LIMIT_H2D,
    WEIR_PLAN_LIMIT_D2H,
    WEIR_PLAN_LIMIT_DUPLEX,     /* copies both ways, each slowed by the other */
    WEIR_PLAN_LIMIT_ONE_ENGINE, /* copies both ways on one engine */
    WEIR_PLAN_LIMIT_DEVICE,
    WEIR_PLAN_LIMIT_HOST_FUNC,
    WEIR_PLAN_LIMIT_HOST, /* every copy holds the host: nothing runs beside it */
};

/* What no number of chunks and streams goes below, and by what. */
double weir_plan_pipeline_bound(const struct weir_plan_pipeline *p,
                                const struct weir_plan_device *d, enum weir_plan_limit *limit);

#endif
