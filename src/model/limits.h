/* Limits of streams and of staging memory, and queues that streams share.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Pure, as all of the model. The caller keeps the counts, and serialises each queue by a lock of
 * its own. */
#ifndef WEIR_MODEL_LIMITS_H
#define WEIR_MODEL_LIMITS_H

#include "model/model.h"

/* ---- a stream's depth (ORD-085) ---- */

#define WEIR_MODEL_QUEUE_DEPTH 1021

/* Must a submission of this kind wait for a place? What only orders, and what the host does, need
 * not (20,000 of them were taken). */
static inline bool weir_model_takes_place(enum weir_op_kind kind)
{
    const unsigned beyond = 1u << WEIR_OP_WAIT | 1u << WEIR_OP_MARKER | 1u << WEIR_OP_HOST_FUNC |
                            1u << WEIR_OP_CALLBACK | 1u << WEIR_OP_ALLOC | 1u << WEIR_OP_FREE;

    return !(beyond >> kind & 1);
}

/* Has s no place (ORD-085)? Then the call that submits waits for *until first. Shards: none, a
 * moment's truth. In line: every launch asks. */
static inline bool weir_model_is_full(struct weir_model_stream *s, uint64_t depth,
                                      struct weir_model_point *until)
{
    weir_seq last = atomic_load_explicit(&s->last, memory_order_relaxed), completed;
    uint64_t room = depth + 1; /* the one that runs, and `depth` behind it */

    if (last - atomic_load_explicit(&s->seen, memory_order_relaxed) < room)
        return false;
    completed = atomic_load_explicit(&s->completed, memory_order_acquire);
    atomic_store_explicit(&s->seen, completed, memory_order_relaxed);
    if (last - completed < room)
        return false;
    *until = (struct weir_model_point){s, last - room + 1};
    return true;
}

/* ---- staging memory (ORD-086) ---- */

enum weir_staging_pool { WEIR_STAGING_SMALL, WEIR_STAGING_LARGE, WEIR_STAGING_COUNT };

struct weir_staging_rule {
    uint8_t pool;  /* enum weir_staging_pool */
    size_t charge; /* what the copy takes of it */
    size_t limit;  /* how much there is */
};

/* limit: of large sources; WEIR_MODEL_STAGED_MAX as measured. */
struct weir_staging_rule weir_model_staging_rule(size_t bytes, size_t limit);

/* ---- queues that streams share (ORD-090) ---- */

/* The newest operation in it: what comes behind starts when this point holds. Zeroed at first. */
struct weir_model_queue {
    struct weir_model_point last;
};

/* Does an operation of this kind go through a queue? */
bool weir_model_takes_queue(enum weir_op_kind kind);
/* The next operation of s goes into q: true when it must wait for *dep. An operation in a queue
 * waits for those before it to have started, not to be complete: so what is submitted now, with
 * *dep, must be a gate (a MARKER) that the operation itself follows; or an event wait, which has
 * started when it is complete. Shards: s, and q's lock. */
bool weir_model_queue_next(struct weir_model_queue *q, struct weir_model_stream *s,
                           struct weir_model_dep *dep);

#endif
