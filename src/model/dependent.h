/* Programmatic dependent launch: kernels that may begin before what they follow is complete, and
 * what they wait for inside (griddepcontrol.wait). One rule for streams and graphs: a launch with
 * the attribute is a programmatic edge from the operation in front of it (ORD-031), as a captured
 * one is (GRA-004). Also the events that a launch records by its attributes (ORD-033, ORD-034).
 * SPDX-License-Identifier: Apache-2.0
 *
 * Pure, as all of the model. It is leave to begin, never a promise: whoever runs a program may ask
 * or not. Shards: the stream's, or what is said; struct weir_model_dependent is read and written
 * without any. */
#ifndef WEIR_MODEL_DEPENDENT_H
#define WEIR_MODEL_DEPENDENT_H

#include "model/graph.h"

/* What has happened to a kernel, a bit each. */
enum weir_moment {
    WEIR_MOMENT_BEGUN = 1,     /* every block has begun; in a stream: it began before its turn */
    WEIR_MOMENT_TRIGGERED = 2, /* every block has triggered or ended */
    WEIR_MOMENT_ENDED = 4,     /* in a stream: before its turn, so it is not complete */
};

/* ---- edges ---- */

/* The data of the edge to a launch with cudaLaunchAttributeProgrammaticStreamSerialization. */
extern const struct weir_edge_data weir_model_programmatic_edge;

/* From which moment of its source on does an edge let its target begin (ORD-031, GRA-004)?
 * `kernels`: both ends are; `edges`: how many lead to the target, this one included. */
enum weir_edge_port weir_model_edge_lets(bool kernels, struct weir_edge_data data, size_t edges);

/* Has the source come to that moment? `moments`: of enum weir_moment. */
static inline bool weir_model_port_holds(enum weir_edge_port port, unsigned moments)
{
    switch (port) {
    case WEIR_PORT_PROGRAMMATIC:
        return moments & (WEIR_MOMENT_TRIGGERED | WEIR_MOMENT_ENDED);
    case WEIR_PORT_LAUNCHED:
        return moments & (WEIR_MOMENT_BEGUN | WEIR_MOMENT_ENDED);
    default:
        return moments & WEIR_MOMENT_ENDED;
    }
}

/* ---- kernels in streams: weir_model_op.early ---- */

/* Beside the moments: launched with the attribute. Set by the caller before it submits; 0 of all
 * others. */
#define WEIR_EARLY_ASKS 8u

/* Every block of op has triggered or ended; it has begun, in its turn or before. */
static inline void weir_model_trigger(struct weir_model_op *op)
{
    op->early |= WEIR_MOMENT_TRIGGERED;
}

/* From the head of s on: the first kernel that has not begun though those before it let it begin,
 * or NULL (ORD-031). */
struct weir_model_op *weir_model_early_next(const struct weir_model_stream *s);

/* That kernel begins now. It comes into `ready` in its turn all the same: weir_model_turn. */
static inline void weir_model_begin_early(struct weir_model_op *op)
{
    op->early |= WEIR_MOMENT_BEGUN;
}

/* op has ended. True: before its turn; it completes when that comes, by weir_model_turn. False:
 * weir_model_complete. */
bool weir_model_end_early(struct weir_model_op *op);

/* The turn of op, which was in `ready`, has come. 0: it is to be started. BEGUN: it runs. With
 * ENDED: it has run, and is to be completed now. */
unsigned weir_model_turn(struct weir_model_op *op);

/* What griddepcontrol.wait in op waits for: all that is in front of it in its stream (ORD-032). */
static inline struct weir_model_point weir_model_waits_inside(const struct weir_model_op *op)
{
    return (struct weir_model_point){op->stream, op->seq - 1};
}

/* ---- kernels in a run of a graph ---- */

/* One with edges that do not hold at the source's end alone. Its sources are the other ends of such
 * edges. Settled, that is complete: it has ended, and its sources are settled (ORD-031, ORD-032).
 * An ordinary edge from it holds then. */
struct weir_model_dependent {
    _Atomic uint32_t unsettled; /* sources that are not settled, and itself */
    _Atomic uint8_t moments;
};

/* Before a run. */
static inline void weir_model_dependent_reset(struct weir_model_dependent *d, uint32_t sources)
{
    atomic_store_explicit(&d->unsettled, sources + 1, memory_order_relaxed);
    atomic_store_explicit(&d->moments, 0, memory_order_relaxed);
}

/* It has come to this moment, once each: the caller lets those begin whose edge holds from there
 * on. Release pairs with the acquire in weir_model_dependent_holds. */
static inline void weir_model_dependent_reach(struct weir_model_dependent *d,
                                              enum weir_moment moment)
{
    atomic_fetch_or_explicit(&d->moments, (uint8_t)moment, memory_order_release);
}

/* Do its edges with this port hold already? Who asks when it has ended lets the others begin. */
static inline bool weir_model_dependent_holds(const struct weir_model_dependent *d,
                                              enum weir_edge_port port)
{
    return weir_model_port_holds(port, atomic_load_explicit(&d->moments, memory_order_acquire));
}

/* It has ended, or a source of it is settled. True: it is settled by that, those whose source it is
 * have one less, and its ordinary edges hold. Acquire and release: who is let go sees what all of
 * them did. */
static inline bool weir_model_dependent_settle(struct weir_model_dependent *d)
{
    return atomic_fetch_sub_explicit(&d->unsettled, 1, memory_order_acq_rel) == 1;
}

static inline bool weir_model_dependent_settled(const struct weir_model_dependent *d)
{
    return atomic_load_explicit(&d->unsettled, memory_order_acquire) == 0;
}

/* Is griddepcontrol.wait in it, which has not ended, over: are all sources settled (ORD-032)? */
static inline bool weir_model_dependent_passes(const struct weir_model_dependent *d)
{
    return atomic_load_explicit(&d->unsettled, memory_order_acquire) <= 1;
}

/* ---- events that a launch records ---- */

enum weir_launch_event {
    WEIR_LAUNCH_COMPLETION,            /* cudaLaunchAttributeLaunchCompletionEvent */
    WEIR_LAUNCH_PROGRAMMATIC,          /* cudaLaunchAttributeProgrammaticEvent */
    WEIR_LAUNCH_PROGRAMMATIC_AT_START, /* with triggerAtBlockStart */
};

struct weir_launch_event_rule {
    bool in_front;              /* a run records it before the kernel, else behind */
    bool promised_in_front;     /* and so much of it is documented */
    struct weir_edge_data edge; /* in a capture: of edges from the record */
    uint16_t rule;              /* ORD number */
};

/* Where the record stands, outside of captures and in them (ORD-033, ORD-034). Pure. */
struct weir_launch_event_rule weir_model_launch_event_rule(enum weir_launch_event event);

#endif
