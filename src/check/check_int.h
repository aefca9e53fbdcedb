/* Inside of the checker: its state, and what findings are made of.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CHECK_CHECK_INT_H
#define WEIR_CHECK_CHECK_INT_H

#include "base/lock.h"
#include "base/vec.h"
#include "check/check.h"

struct weir_check_site {
    const char *call;
    const void *address; /* it returns to */
    uint32_t thread;
};

/* Of an actor. */
struct weir_check_detail {
    enum weir_op_kind kind;
    const char *name; /* of a kernel, mangled */
    uint32_t lane;
    struct weir_check_site site;
};

struct weir_check_stream {
    uint64_t id;
    int device;
    enum weir_stream_class cls;
};

/* Memory that the program has. */
struct weir_check_block {
    uintptr_t begin;
    size_t bytes;
    const char *kind; /* "cudaMalloc" ... */
    struct weir_check_site site;
};

enum weir_check_finding_kind { WEIR_FOUND_RACE, WEIR_FOUND_LIFETIME, WEIR_FOUND_HOST_FUNC };

struct weir_check_side {
    struct weir_check_detail op;
    struct weir_check_stream stream;
    enum weir_access access;
};

struct weir_check_finding {
    enum weir_check_finding_kind kind;
    struct weir_check_side a, b; /* b: of a lifetime, only its site: the call that frees */
    uintptr_t begin, end;        /* of the first time */
    struct weir_check_block block;
    uint64_t times;
};

struct checker {
    struct weir_lock lock;
    struct weir_order order;
    struct weir_shadow shadow;
    struct weir_map lanes;  /* stream -> lane */
    struct weir_map stamps; /* event, executable graph -> struct weir_order_stamp */
    struct weir_map ops;    /* operation -> struct weir_actor, while it has not run */
    struct weir_map plans;  /* plan of a graph -> struct weir_reach */
    struct weir_map blocks; /* address -> struct weir_check_block */
    WEIR_VEC(struct weir_check_stream) streams; /* by lane */
    uint32_t lane_count;
    size_t settle_at;
    WEIR_VEC(struct weir_check_finding) findings;
    bool exact;
    bool failed; /* out of memory: something was not looked at */
};

extern struct checker weir_checker;

/* report.c; under the lock */
void weir_check_raced(void *ctx, const struct weir_race *race);
void weir_check_freed(const void *p, size_t bytes, struct weir_check_site by);
void weir_check_misused(struct weir_check_site at); /* a call inside a host function */
size_t weir_check_report(void);

#endif
