/* The recorded program once more, on the simulator (sim.h): the same calls in the same order with
 * the host's own time between them, the same operations with the time that each takes by itself, on
 * engines with limits. A scenario changes one thing; the difference is its price.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Limits: one copy at a time in each direction, one host function at a time, kernels share the
 * device's block slots. What host threads do to one another is not in a trace: each goes on by
 * itself. */
#ifndef WEIR_PLAN_RECORDED_H
#define WEIR_PLAN_RECORDED_H

#include "plan/data.h"
#include "plan/device.h"
#include "plan/sim.h"
#include "weir/trace.h"

struct weir_plan_scenario {
    /* All may be NULL or false. Arrays: by operation, call, event wait. */
    const uint32_t *stream_of; /* which of extra_streams an operation goes to; then no event, only
                                  data orders, and host waits are for what they covered */
    uint32_t extra_streams;
    bool nonblocking; /* no default-stream order; data orders as well */
    bool data_orders;
    const bool *no_wait;       /* the call does not wait */
    const bool *free_call;     /* the call takes no time and does not wait */
    const bool *skip_edge;     /* the event wait is not made */
    const uint64_t *op_ns;     /* another length of each operation */
    bool fast_submission;      /* launches and copies cost the host nothing (a graph) */
    bool no_copy_limit[2];     /* H2D, D2H: any number at a time */
    const uint64_t *call_less; /* so much of each call's time is saved */
    const uint32_t *wait_for;  /* by call: a device synchronisation waits for this operation only
                                  (NONE: as it is) */
    bool blocking;             /* every call that submits waits for it (CUDA_LAUNCH_BLOCKING) */
    bool no_queue_limit;       /* calls do not wait for room in a stream's queue */
    bool no_graph_order;       /* launches of one instance in several streams do not wait for one
                                  another */
    uint32_t hw_queues;        /* streams share so many; 0: each its own */
    /* Items (frames, requests) go round `depth` of the extra streams, and a call that waits for
     * item n waits only for the one whose place comes next. Data orders hold within an item. */
    const uint32_t *item_of;  /* by operation; NONE: none, it stays in its stream */
    const uint32_t *item_end; /* by call: waits for this item; NONE */
    uint32_t depth;
};

struct weir_plan_outcome {
    uint64_t length_ns;                        /* first operation's call to the last end */
    uint64_t busy_ns[WEIR_TRACE_ENGINE_COUNT]; /* union, all devices */
    uint64_t idle_host_ns;                     /* nothing ran and nothing was submitted */
};

struct weir_plan_recorded {
    const struct weir_trace_file *file;
    const struct weir_plan_data *data;
    const struct weir_plan_machine *machine; /* another device, or NULL */
    bool model_clock;   /* the host's own time, between calls and in those that the machine says
                           nothing of, is none: nothing measured is left */
    uint64_t pageable;  /* bytes of pageable memory that copies use, each once */
    uint64_t *alone_ns; /* by operation: without what ran beside it */
    uint32_t *demand;   /* block slots */
    uint32_t slots;
    /* by call: what it did besides operations */
    uint32_t *record_first, *record_count, *record_at;
    uint32_t *wait_first, *wait_count, *wait_at;
    uint32_t *blocked_first, *blocked_count, *blocked_at; /* in the file's waits */
    uint32_t *query_first, *query_count, *query_at;       /* in the file's queries */
    uint32_t *thread_first, *thread_count, *thread_calls;
};

/* False: no memory, or a trace that this does not understand (contexts beyond the model's). */
bool weir_plan_recorded_init(struct weir_plan_recorded *m, const struct weir_trace_file *f,
                             const struct weir_plan_data *data);
void weir_plan_recorded_finish(struct weir_plan_recorded *m);

/* A kernel's time by its short name ("blur"): each launch's, or of one of so many blocks, others in
 * proportion. */
struct weir_plan_kernel_time {
    const char *name;
    double ns;
    uint64_t blocks; /* 0: each */
};
/* "blur=9us", "advance=290us@32768". The name stays in the text, which is changed. */
bool weir_plan_kernel_time_parse(char *text, struct weir_plan_kernel_time *out);

/* As on another device from now on: its engines, costs of calls, rates of copies; kernels take what
 * `times` says, else the machine's table of measured ones, else what they counted (weir run
 * --counts) costs there, else as recorded. Own time of the host stays. `machine` lives as long as
 * m. False: no memory. */
bool weir_plan_recorded_on(struct weir_plan_recorded *m, const struct weir_plan_machine *machine,
                           const struct weir_plan_kernel_time *times, size_t count);
/* As weir_plan_recorded_on, and with model_clock. */
bool weir_plan_recorded_by_model(struct weir_plan_recorded *m,
                                 const struct weir_plan_machine *machine,
                                 const struct weir_plan_kernel_time *times, size_t count);
/* Does a copy use pageable memory? (Of one whose source was captured the call knew.) */
bool weir_plan_is_pageable(const struct weir_trace_op *op);
/* ns of the operation by itself, if its memory were pinned. */
uint64_t weir_plan_pinned_ns(const struct weir_plan_recorded *m, uint32_t op);
/* On another device: ns that the host takes to capture the source of a staged copy. Together with
 * the copy of what it captured that is what a copy of pageable memory takes. */
double weir_plan_capture_ns(const struct weir_plan_recorded *m, const struct weir_trace_op *op);

/* False: no memory. Deterministic. */
bool weir_plan_recorded_run(const struct weir_plan_recorded *m, const struct weir_plan_scenario *s,
                            struct weir_plan_outcome *out);

/* An edge that an operation had when it was submitted. */
struct weir_plan_order {
    uint32_t op, on;
    uint16_t rule;
    bool guaranteed;
};

/* In the order of submission. */
struct weir_plan_orders {
    struct weir_plan_order *items; /* of weir_alloc */
    size_t count, cap;
    bool no_memory;
};

/* When everything was in a simulation, ns from the trace's beginning; < 0: never. The caller's
 * arrays, by operation and call. */
struct weir_plan_moments {
    struct weir_plan_time *ops;
    double *call_begin, *call_work,
        *call_end;                   /* work: its own time is over, it does what it does */
    struct weir_plan_orders *orders; /* or NULL */
    double *records;                 /* by record of an event; or NULL */
};
/* As weir_plan_recorded_run, and fills in *when. */
bool weir_plan_recorded_times(const struct weir_plan_recorded *m,
                              const struct weir_plan_scenario *s, struct weir_plan_outcome *out,
                              const struct weir_plan_moments *when);

/* Within what numbers can hold: times in a damaged trace are anything. */
static inline uint64_t weir_plan_ns(double v)
{
    return v > 0 ? v < 1e18 ? (uint64_t)v : (uint64_t)1e18 : 0;
}

/* A beginning or an end, for sweeps over the time of a trace; sorted by weir_plan_edges_sort: by
 * time, ends before beginnings. */
struct weir_plan_edge {
    uint64_t ns;
    uint32_t id; /* of the operation, stream ... that begins or ends */
    bool begins;
};
void weir_plan_edges_sort(struct weir_plan_edge *edges, size_t count);

#endif
