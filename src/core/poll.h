/* Operations that wait for something outside the streams: a value in memory (cuStreamWaitValue), an
 * event of another process. One thread of the process asks each of them again and again, with
 * growing pauses; it begins at the first such operation that cannot go on at once.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_POLL_H
#define WEIR_CORE_POLL_H

#include "core/stream.h"

struct weir_poll {
    /* True when the operation is done; may write memory. Thread: the submitting or completing one
     * at first, then the poller's. No lock held. Never called again after true. */
    bool (*ready)(struct weir_poll *poll);
    /* Called once at the end, also when the context failed before, with a copy: `object` stands as
     * long as the operation does. May be NULL. */
    void (*drop)(struct weir_poll *poll);
    void *object;
    uint64_t value;
};

/* Appends to s an operation that is complete when poll->ready says so. Errors: MEMORY_ALLOCATION
 * (poll->drop is called). */
enum weir_err weir_poll_submit(struct weir_stream *s, const struct weir_poll *poll) WEIR_MUST_CHECK;

/* ---- submit.c ---- */

struct weir_poll_op {
    struct weir_op op;
    struct weir_work work; /* only its owner is used */
    struct weir_poll poll;
    struct weir_poll_op *next; /* poller's */
};

/* The operation's turn has come. */
void weir_poll_start(struct weir_poll_op *op);
/* While a schedule is followed: may it end? Not asked again after true; then weir_poll_end. */
bool weir_poll_is_over(struct weir_poll_op *op);
void weir_poll_end(struct weir_poll_op *op);

#endif
