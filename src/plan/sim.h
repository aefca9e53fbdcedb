/* The simulator: a program's streams, operations and host threads on modelled engines. Order is
 * src/model's; time goes from event to event. weir advise runs recorded programs here (the price
 * of an obstacle is the difference of two runs), weir plan runs what is yet to be written.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Freestanding like src/model: no libc, no clock, memory by callbacks; the page of `weir plan
 * --html` holds this same code as WebAssembly. Deterministic. Where the limits and costs come from:
 * plan/device.h; who makes programs: plan/pipeline.h, plan/text.h, plan/recorded.h. */
#ifndef WEIR_PLAN_SIM_H
#define WEIR_PLAN_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"

#define WEIR_PLAN_NONE  UINT32_MAX
#define WEIR_PLAN_NEVER 1e300

/* The numbers of enum weir_trace_engine. */
enum weir_plan_engine {
    WEIR_PLAN_KERNEL,
    WEIR_PLAN_H2D,
    WEIR_PLAN_D2H,
    WEIR_PLAN_D2D,  /* on the device: copies, memsets */
    WEIR_PLAN_HOST, /* host functions: one at a time */
    WEIR_PLAN_NO_ENGINE,
    WEIR_PLAN_ENGINES = WEIR_PLAN_NO_ENGINE
};

/* ---- the device ---- */

/* What limits a device, and what things cost there. All zero: no limit, no cost. */
struct weir_plan_device {
    uint32_t units; /* what the blocks of kernels share: places of threads; 0: no limit */
    /* Kernels beyond the limit slow one another down, as Weir's own workers do; else blocks go in
     * order, higher priorities first, as on a GPU. */
    bool share;
    uint32_t hw_queues;   /* stream n feeds queue n mod so many; 0: each its own */
    uint32_t kernels_max; /* that run at a time */
    uint32_t copy_engines;
    uint32_t queue_depth; /* what a stream takes behind what runs (ORD-085): then a submission
                             waits; 0: any number */
    bool free_copies[2];  /* H2D, D2H: any number at a time all the same */
    bool sticky;          /* a copy engine goes on with a stream while that has copies for it */
    double duplex;        /* a copy's speed while the other direction copies; 0 is 1 */
    double launch_ns;     /* from submission to the start on an idle device */
    double same_ns;       /* behind an operation on the same engine, in order */
    double handover_ns;   /* behind one on another engine, or a host function */
    double copy_gap_ns;   /* a copy engine's pause before one that was waiting */
};

/* ---- the program ---- */

struct weir_plan_stream {
    uint8_t cls;              /* enum weir_stream_class; one legacy stream a context */
    int8_t priority;          /* smaller is more urgent, as in CUDA */
    uint16_t context, device; /* of the model; of the engines */
};

struct weir_plan_op {
    uint32_t stream, group;        /* group: of WEIR_PLAN_SYNC_GROUP */
    uint32_t dep_first, dep_count; /* in deps: operations that it follows besides */
    uint8_t kind, engine;          /* enum weir_op_kind, weir_plan_engine */
    uint32_t blocks, units;        /* kernels: blocks, and units of each; 0 units: takes no room */
    double ns;                     /* by itself on the device */
};

enum weir_plan_step_kind {
    WEIR_PLAN_WORK,        /* the host is busy for ns */
    WEIR_PLAN_UNTIL,       /* the host does nothing before the time ns */
    WEIR_PLAN_SUBMIT,      /* a: operation */
    WEIR_PLAN_RECORD,      /* a: event, b: stream; timing: the event takes the time */
    WEIR_PLAN_WAIT,        /* a: event, b: stream that waits */
    WEIR_PLAN_SYNC_STREAM, /* a: stream */
    WEIR_PLAN_SYNC_SO_FAR, /* a: stream; what is in it alone, whatever its kind */
    WEIR_PLAN_SYNC_DEVICE, /* a: context */
    WEIR_PLAN_SYNC_EVENT,  /* a: event; never recorded: none */
    WEIR_PLAN_SYNC_OP,     /* a: operation; when not submitted yet: none */
    WEIR_PLAN_SYNC_GROUP,  /* a: group */
    WEIR_PLAN_SYNC_ALL,
};

struct weir_plan_step {
    uint8_t what;
    bool timing;
    uint32_t a, b;
    double ns;
};

struct weir_plan_thread {
    uint32_t step_first, step_count;
};

struct weir_plan_program {
    const struct weir_plan_stream *streams;
    const struct weir_plan_op *ops;
    const uint32_t *deps;
    const struct weir_plan_step *steps;
    const struct weir_plan_thread *threads;
    uint32_t stream_count, op_count, dep_count, step_count, thread_count;
    uint32_t event_count, group_count, device_count; /* numbers used are below these */
    /* Told, when an operation is submitted, of each edge that the model gives it: behind which
     * operation, by which rule. NULL: nobody wants to know. */
    void (*tell_edge)(void *context, uint32_t op, uint32_t on, unsigned rule, bool guaranteed);
    /* Told when a record's turn comes that takes the time. step: of the program. */
    void (*tell_record)(void *context, uint32_t step, double at);
    void *tell_context;
};

/* ---- what came out ---- */

enum weir_plan_why { WEIR_PLAN_WHY_HOST, WEIR_PLAN_WHY_ORDER, WEIR_PLAN_WHY_ENGINE };

struct weir_plan_time {
    double submit, ready, start, end; /* ns; end < 0: it never ended */
    uint32_t why_op; /* what it followed or had the engine; HOST: what the host had waited for */
    uint8_t why;     /* enum weir_plan_why: what held its start last */
};

struct weir_plan_result {
    double begin, end;              /* first submission; last end of an operation or thread */
    double ops_begin, ops_end;      /* first start, last end of operations */
    double busy[WEIR_PLAN_ENGINES]; /* at least one operation on it, any device */
    double idle_host;               /* nothing ran and nothing was submitted */
    bool stuck;                     /* a thread or operation waits for ever */
};

/* times: by operation, or NULL; step_ends: by step, or NULL (< 0: never). False: no memory. The
 * program and device are only read. */
bool weir_plan_run(const struct weir_plan_program *p, const struct weir_plan_device *d,
                   const struct weir_model_memory *memory, struct weir_plan_time *times,
                   double *step_ends, struct weir_plan_result *out);

#endif
