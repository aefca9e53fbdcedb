/* Which of the operations that may run comes next: the decisions of one run under another legal
 * order (DESIGN 6). Knows no threads and no clock: what it is asked is all that it goes by, so the
 * same text, asked the same, answers the same. Who asks is core/explore.c, and the tests.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A schedule is a text (SPEC):
 *   N                 the N-th of the usual mixture (0 is `early`)
 *   NAME[:SEED]       early, late, reverse, late-copies, early-copies, late-kernels, early-kernels,
 *                     torn, random. With a seed other than 0 all but random leave their rule at
 *                     times
 *   pct:D[:SEED]      priorities of streams that change at D - 1 places (Burckhardt et al., 2010)
 *   holds:SEED[:H,H]  all as early as possible but for what is held: H is ID@CALL (not before the
 *                     program's call of that number) or ID>ID (not before the second has run); and
 *                     ID=N: N sixteenths of it run first, the rest on its own as ID/1
 * An ID is STREAM.OPERATION, in a graph's launch STREAM.OPERATION.NODE[.TURN], and that of the rest
 * of one that runs in two parts has /1 behind it. */
#ifndef WEIR_EXPLORE_SCHEDULE_H
#define WEIR_EXPLORE_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/model.h"

/* The same in every order of the same program: numbers of streams and of operations within them,
 * from 1. node: 0, or a node's number + 1; turn: how often it ran before. */
struct weir_schedule_id {
    uint32_t stream, op, node, turn;
    uint32_t part; /* 1: the rest of one that runs in two parts */
};

static inline bool weir_schedule_same(struct weir_schedule_id a, struct weir_schedule_id b)
{
    return a.stream == b.stream && a.op == b.op && a.node == b.node && a.turn == b.turn &&
           a.part == b.part;
}

/* One that may run now. */
struct weir_schedule_op {
    struct weir_schedule_id id;
    uint64_t order; /* of becoming known: what was submitted first comes first */
    uint8_t kind;   /* enum weir_op_kind */
    bool needed;    /* the host waits for it */
    bool parts;     /* may run in two parts */
};

#define WEIR_SCHEDULE_HOST    (-1)
#define WEIR_SCHEDULE_WHOLE   16 /* sixteenths */
#define WEIR_SCHEDULE_ID_TEXT 48

struct weir_schedule;

/* Errors: INVALID_VALUE (the message says what is wrong), MEMORY_ALLOCATION. The caller destroys
 * it. */
enum weir_err weir_schedule_create(const char *spec, struct weir_schedule **out) WEIR_MUST_CHECK;
void weir_schedule_destroy(struct weir_schedule *s);

/* The index of the operation that runs next, or WEIR_SCHEDULE_HOST: the program goes on first; that
 * only where `host` allows it. count is at least 1. call: how many calls the program has begun. */
int weir_schedule_pick(struct weir_schedule *s, const struct weir_schedule_op *ops, size_t count,
                       uint64_t call, bool host);
/* Of what was picked: how many sixteenths of it run first, 1 to WEIR_SCHEDULE_WHOLE. The rest may
 * be picked later. */
uint32_t weir_schedule_first_part(struct weir_schedule *s, const struct weir_schedule_op *op);
/* What was picked runs now: later holds hang on it. False: out of memory. */
bool weir_schedule_ran(struct weir_schedule *s, struct weir_schedule_id id);
/* Which of `count` host threads goes on. */
size_t weir_schedule_thread(struct weir_schedule *s, size_t count);

/* "2.14", "2.14.3.1" or "2.14/1"; into out, which is returned. */
char *weir_schedule_id_text(struct weir_schedule_id id, char out[WEIR_SCHEDULE_ID_TEXT]);
/* The reverse; where the text ends, NULL when it is no ID. */
const char *weir_schedule_id_parse(const char *text, struct weir_schedule_id *id);
/* The N-th of the usual mixture as a text with a name. Room: 64 bytes. */
char *weir_schedule_usual(uint64_t n, char *out);

#endif
