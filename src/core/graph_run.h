/* Inside of core: how an instance's launches run. A plan is an instance's nodes in a prepared
 * order: flat, child graphs put in place, each with the number of nodes before it and the list of
 * those behind it. One launch at a time runs in it (ORD-030).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_GRAPH_RUN_H
#define WEIR_CORE_GRAPH_RUN_H

#include "core/graph_int.h"
#include "core/submit.h"
#include "model/dependent.h"

enum weir_item_kind {
    WEIR_ITEM_NOTHING, /* orders only; disabled nodes as well */
    WEIR_ITEM_KERNEL,
    WEIR_ITEM_COPY,
    WEIR_ITEM_HOST,
    WEIR_ITEM_RECORD,
    WEIR_ITEM_WAIT,
    WEIR_ITEM_MEMOPS,
    WEIR_ITEM_CONDITIONAL,
};

struct weir_run;

/* Entries of a node's list of those behind it: an index, and what is known of the edge. */
#define WEIR_SUCC_EARLY 0x80000000u /* a programmatic one */
#define WEIR_SUCC_ONLY  0x40000000u /* the node behind it has no other before it */
#define WEIR_SUCC_BEGUN 0x20000000u /* with EARLY: holds once the source's blocks have begun */
#define WEIR_SUCC_INDEX 0x1fffffffu

/* A node with edges that do not hold at their source's end alone: what that means is the model's.
 */
struct weir_early_item {
    struct weir_early_item *next; /* of the run */
    struct weir_item *item;
    struct weir_model_dependent m;
    uint32_t source_count;
    struct weir_item **sources; /* owned */
};

/* Of a short kernel its first line and that of the work are touched, no other: so thousands stay in
 * a core's cache. */
struct weir_item {
    /* the run's */
    uint32_t pred_count, succ_count;
    uint8_t kind, wanted; /* enum weir_item_kind: now, and when enabled */
    bool may_inline, carries;
    uint32_t cost_ns;              /* of a kernel, when last measured; 0 unknown */
    uint32_t *succ;                /* of the run's: WEIR_SUCC_* */
    struct weir_early_item *early; /* has programmatic edges */
    struct weir_run *run;
    struct weir_context *ctx;
    union {
        struct {
            WEIR_ALIGNED(64) struct weir_kernel_work work;
            /* What the thread that runs this kernel takes over when it is done: the rest of a
             * burst. */
            uint32_t rest, rest_last, rest_listed, rest_begin, rest_end;
            struct weir_function *function;
            struct weir_function_image *image;
            void *workspace; /* owned */
            void *params;    /* owned */
            size_t param_room;
            int priority;
            enum weir_err on_demand; /* that it is to fail with (inject.h) */
        } kernel;
        struct weir_copy_work copy;
        struct {
            struct weir_host_work work;
            void (*fn)(void *);
            void *user;
        } host;
        struct {
            size_t bytes; /* 0: no memory node */
            bool allocates;
        } memory; /* of WEIR_ITEM_NOTHING */
        struct {
            struct weir_event *event;
            struct weir_stream *stream; /* owned: its numbers are what the event's points say */
            uint32_t index;             /* waits: place in the launch's list */
        } event;
        struct {
            struct weir_memop *ops;     /* owned */
            struct weir_stream *stream; /* owned: where it waits */
            unsigned count, next;
        } memops;
        struct {
            struct weir_run *bodies; /* owned */
            const uint32_t *value;
            unsigned count;
            enum weir_conditional_kind kind;
        } conditional;
    };
};

_Static_assert(offsetof(struct weir_item, kernel.work.code) % 64 == 0 &&
                   offsetof(struct weir_item, kernel.work.launch.params) ==
                       offsetof(struct weir_item, kernel.work.code) + 56,
               "what a short kernel needs is in two lines");

/* Nodes that start and end together: the graph, or a conditional node's body. */
struct weir_run {
    struct weir_plan *plan;
    struct weir_item *items; /* in an order of the graph */
    uint32_t *succ, *roots;
    /* Of each node, apart from it, since those before it come here: */
    struct weir_run_count {
        _Atomic uint32_t pending; /* nodes before it that have not ended; at rest: before */
        uint32_t before;
    } * counts;
    uint32_t *next; /* in a burst: index + 1 */
    uint32_t count, root_count;
    struct weir_item *parent;      /* conditional */
    uint32_t time;                 /* the body's, of those of the plan's life: for the checker */
    struct weir_early_item *early; /* owned */
    _Atomic uint32_t remaining;
    _Atomic int32_t holders;  /* threads that deal with it, and works that engines have */
    _Atomic int32_t carriers; /* threads that go from kernel to kernel */
    _Atomic uint32_t each_ns; /* what a short kernel took such a thread, last time; 0 unknown */
};

/* The copy of the graph that an instance and its plans share: arguments' owners, memory, objects.
 */
struct weir_graph_keep {
    _Atomic uint32_t refs;
    struct weir_graph *graph;
};

struct weir_graph_op {
    struct weir_op op;
    void (*start)(struct weir_graph_op *op);
    struct weir_plan *plan;       /* launches: a reference */
    struct weir_item *item;       /* gates of wait nodes */
    struct weir_model_dep *waits; /* launches: what each wait node waits for; heap */
    struct weir_event *event;     /* markers of record nodes */
    uint64_t generation;
};

struct weir_plan {
    _Atomic uint32_t refs; /* helpers come and go: not beside what each node needs */
    WEIR_ALIGNED(64) struct weir_run main;
    WEIR_ALIGNED(64) struct weir_graph_keep *keep;
    uint32_t node_count, wait_count, record_count;
    bool node_priority;
    /* of the launch that runs */
    struct weir_graph_op *op;
    uint64_t start_ns;                     /* while a trace is recorded */
    uint32_t trace_id;                     /* its number there; 0: not told, or changed since */
    _Atomic(struct weir_item *) submitted; /* the kernel or copy given to an engine last: for
                                              helpers */
    int priority;
    _Atomic uint64_t grid_id;
};

/* Called by submit.c. */
/* `locked`: the caller holds the lock of the operation's stream. */
void weir_graph_op_free(struct weir_graph_op *op, bool locked);
/* The plan of a launch that runs, with a reference, or NULL. The stream's lock is held. */
struct weir_plan *weir_graph_op_plan_locked(struct weir_op *op);
/* Lets a waiting host thread run kernels of it. True when it ran something. */
bool weir_plan_help(struct weir_plan *plan);

/* graph_run.c */
void weir_item_work_done(struct weir_work *work, enum weir_err status);
enum weir_err weir_item_prepare(struct weir_kernel_work *work);
void weir_item_run_host(struct weir_host_work *work);
/* griddepcontrol.wait in a kernel of a graph. */
void weir_item_wait_dependencies(struct weir_item *item);
/* weir_kernel_work.triggered and begun */
void weir_item_triggered(struct weir_kernel_work *work);
void weir_item_begun(struct weir_kernel_work *work);

#endif
