/* Memory operations of streams: batches of waits for a value in memory, writes of one and barriers,
 * in order. In a stream a batch is an operation, in a graph a node.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_MEMOP_H
#define WEIR_CORE_MEMOP_H

#include "core/stream.h"

/* CUstreamBatchMemOpType's numbers. */
enum weir_memop_kind {
    WEIR_MEMOP_WAIT_32 = 1,
    WEIR_MEMOP_WRITE_32 = 2,
    WEIR_MEMOP_WAIT_64 = 4,
    WEIR_MEMOP_WRITE_64 = 5,
    WEIR_MEMOP_BARRIER = 6,
};

#define WEIR_MEMOP_WAIT_FLUSH       (1u << 30) /* of remote writes: they are visible at once here */
#define WEIR_MEMOP_WRITE_NO_BARRIER 1u
#define WEIR_MEMOP_BATCH_MAX        256

struct weir_memop {
    enum weir_memop_kind kind;
    uint32_t flags; /* waits: 0 geq, 1 eq, 2 and, 3 nor; as given */
    uint64_t address, value;
};

/* What a node of a graph does. */
struct weir_memop_batch {
    struct weir_memop *ops; /* owned */
    void *shown;            /* owned: the API's form, made for getters */
    unsigned count, flags;
};

/* Errors: INVALID_VALUE (too many; null, misaligned or no address that devices may use; unknown
 * condition, flag or operation). */
enum weir_err weir_memop_check(const struct weir_memop *ops, unsigned count) WEIR_MUST_CHECK;
/* A copy of ops. Errors: MEMORY_ALLOCATION. */
enum weir_err weir_memop_copy(const struct weir_memop *ops, unsigned count,
                              struct weir_memop **out) WEIR_MUST_CHECK;
/* May `b` stand for `a` in an instance of a graph: the same operations on other addresses and
 * values? */
bool weir_memop_is_like(const struct weir_memop_batch *a, const struct weir_memop_batch *b);

/* Does what can be done from *next on. True: all is done. Thread: any. */
bool weir_memop_advance(const struct weir_memop *ops, unsigned count, unsigned *next);

struct weir_poll;
/* The batch that an operation of a stream (poll.h) does, or NULL when it is something else. */
const struct weir_memop *weir_memop_peek(const struct weir_poll *poll, unsigned *count);

/* Appends them to s, or to its capture. `call`: for messages. Errors: as weir_memop_check,
 * MEMORY_ALLOCATION, those of captures. */
enum weir_err weir_memop_submit(struct weir_stream *s, const struct weir_memop *ops, unsigned count,
                                const char *call) WEIR_MUST_CHECK;

#endif
