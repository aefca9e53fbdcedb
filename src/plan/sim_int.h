/* Inside the simulator: sim.c (host threads, the model's messages, time) and engines.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_PLAN_SIM_INT_H
#define WEIR_PLAN_SIM_INT_H

#include "plan/sim.h"

/* Something that goes on until nothing of it is left: an operation, or some blocks of a kernel. */
struct weir_plan_piece {
    struct weir_plan_piece *next;
    struct weir_plan_sim_op *op;
    double left; /* at full speed */
    uint32_t blocks;
    bool of_pool; /* not the operation's own */
};

struct weir_plan_sim_op {
    struct weir_model_op m;
    uint32_t op;                       /* in the program; NONE: a record or wait */
    uint32_t step;                     /* of a record that takes the time; else NONE */
    struct weir_plan_sim_op *next;     /* arrivals, an engine's queue, or kernels in order */
    struct weir_plan_sim_op *in_queue; /* hardware queue */
    struct weir_plan_sim_op *before;   /* in its stream, where edges are told */
    struct weir_plan_piece piece;
    double submit, at; /* at: of its arrival */
    double block_ns;   /* kernels in turn: of each piece */
    uint32_t blocks_left, pieces;
    uint32_t cause; /* operation behind which it became ready, or NONE */
    bool arrived, running, done;
};

struct weir_plan_sim_engine {
    struct weir_plan_sim_op *first, **last, *running;
    uint32_t active;
    uint32_t by; /* the last that ran, NONE at first */
};

struct weir_plan_sim_queue {
    struct weir_plan_sim_op *first, **last;
};

struct weir_plan_sim_device {
    struct weir_plan_sim_engine engines[WEIR_PLAN_ENGINES];
    struct weir_plan_piece *pieces, **pieces_last;
    struct weir_plan_sim_op *kernels; /* with blocks to start: by priority, then arrival */
    struct weir_plan_sim_queue *queues;
    uint64_t demand, used; /* share: units wanted; else: units taken */
    uint32_t resident;     /* kernels that have begun */
};

enum weir_plan_sim_state {
    WEIR_PLAN_RUNS,
    WEIR_PLAN_ENDED,
    WEIR_PLAN_AT_POINTS,
    WEIR_PLAN_AT_GROUP,
    WEIR_PLAN_AT_ALL,
    WEIR_PLAN_AT_OP,
    WEIR_PLAN_AT_ROOM
};

#define WEIR_PLAN_POINTS_MAX 64

struct weir_plan_sim_thread {
    double time; /* when it goes on */
    uint32_t at; /* in its steps */
    enum weir_plan_sim_state state;
    struct weir_model_point points[WEIR_PLAN_POINTS_MAX];
    size_t point_count;
    uint32_t waits_for; /* group or operation */
    uint32_t released_by;
};

struct weir_plan_sim {
    const struct weir_plan_program *p;
    const struct weir_plan_device *d;
    struct weir_model_memory memory;
    struct weir_plan_time *times;
    double *step_ends;
    struct weir_model model;
    struct weir_model_stream *streams;
    struct weir_plan_sim_op *ops, *spare; /* spare: one a record or wait of the program */
    struct weir_plan_sim_op **newest;     /* by stream, where edges are told */
    uint32_t spare_count, spare_used;
    struct weir_model_event *events;
    struct weir_plan_sim_device *devices;
    struct weir_plan_sim_thread *threads;
    struct weir_plan_sim_op *arrivals; /* by time */
    struct weir_plan_piece *pool;      /* free pieces */
    struct weir_plan_piece_chunk *chunks;
    uint32_t *pending; /* by group: submitted, not done */
    uint32_t pending_all;
    uint32_t cause, last_done; /* operation whose end is being told; the last one that ended */
    double now, begin, end, ops_begin, ops_end;
    double busy[WEIR_PLAN_ENGINES], idle_host;
    bool no_memory, began;
};

#define WEIR_PLAN_CHUNK 64

struct weir_plan_piece_chunk {
    struct weir_plan_piece_chunk *next;
    struct weir_plan_piece pieces[WEIR_PLAN_CHUNK];
};

/* ---- engines.c ---- */

/* A kernel was submitted: its place in a hardware queue. */
void weir_plan_engine_submitted(struct weir_plan_sim *sim, struct weir_plan_sim_op *op);
/* All that the operation follows is done: it may run as soon as an engine takes it. next: before
 * what waits there. */
void weir_plan_engine_arrive(struct weir_plan_sim *sim, struct weir_plan_sim_op *op, bool next);
/* Engines that became free take what waits for them. */
void weir_plan_engine_settle(struct weir_plan_sim *sim);
/* The earliest end of anything; NEVER when nothing runs. */
double weir_plan_engine_next(const struct weir_plan_sim *sim);
/* Everything that runs goes on for dt. */
void weir_plan_engine_advance(struct weir_plan_sim *sim, double dt);
/* One operation that is at its end now, taken off its engine, or NULL. */
struct weir_plan_sim_op *weir_plan_engine_take_ended(struct weir_plan_sim *sim);

static inline const struct weir_plan_op *weir_plan_op_of(const struct weir_plan_sim *sim,
                                                         const struct weir_plan_sim_op *op)
{
    return &sim->p->ops[op->op];
}

#endif
