/* What is limited: how much a stream takes, what copies of pageable sources take in staging memory,
 * and, in the strict modes, queues that streams share. Resources, not promises: these rules make
 * the host or a stream wait, and no verdict rests on them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/limits.h"

#include "model/model_int.h"

/* ---- staging memory (ORD-067, ORD-068, ORD-086) ---- */

#define SMALL_MAX  ((size_t)65536)
#define SMALL_POOL ((size_t)4068000)
#define SMALL_KEEP ((size_t)32)
#define PIECE      ((size_t)1 << 20)

struct weir_staging_rule weir_model_staging_rule(size_t bytes, size_t limit)
{
    if (bytes <= SMALL_MAX) /* the small pool grows and shrinks with the other */
        return (struct weir_staging_rule){WEIR_STAGING_SMALL, bytes + SMALL_KEEP,
                                          limit == WEIR_MODEL_STAGED_MAX
                                              ? SMALL_POOL
                                              : limit / (WEIR_MODEL_STAGED_MAX >> 10) *
                                                    (SMALL_POOL >> 10)};
    return (struct weir_staging_rule){WEIR_STAGING_LARGE, (bytes + PIECE - 1) / PIECE * PIECE,
                                      limit};
}

/* ---- queues that streams share (ORD-090) ---- */

bool weir_model_takes_queue(enum weir_op_kind kind)
{
    return kind == WEIR_OP_KERNEL || kind == WEIR_OP_COPY || kind == WEIR_OP_MEMSET ||
           kind == WEIR_OP_GRAPH || kind == WEIR_OP_WAIT;
}

bool weir_model_queue_next(struct weir_model_queue *q, struct weir_model_stream *s,
                           struct weir_model_dep *dep)
{
    struct weir_model_point before = q->last;

    q->last = (struct weir_model_point){s, last_of(s) + 1};
    if (before.stream == s || weir_model_point_holds(&before))
        return false;
    *dep = (struct weir_model_dep){
        .point = before, .strength = WEIR_OBSERVED, .rule = WEIR_RULE_HARDWARE_QUEUE};
    return true;
}
