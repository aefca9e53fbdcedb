/* Which pages of the program's own memory are closed to it (DESIGN 5): from an operation's
 * submission until a documented order puts the host behind it, whether or not an engine has
 * finished. While an operation may write a page it is closed; while operations only read it, it may
 * be read. A fault there is the evidence of an access by the program, which is then judged byte by
 * byte (check.h), and goes on.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CHECK_GUARD_H
#define WEIR_CHECK_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "model/order.h"

/* Why this and nothing else, of what was weighed:
 * - Protection of pages, and engines that reach the memory by a second mapping (weir_mem_twin):
 *   nobody's binary is changed, all threads are seen, engines never fault, and nothing needs to be
 *   opened for them, which would hide the very accesses that are looked for. Copies and kernels
 *   translate an address with a comparison and an addition.
 * - Protection keys, which are a thread's own, would make closing cheaper, but few processors have
 *   them, system calls honour them as well, and there are 15.
 * - Emulating the faulting instruction needs all of the instruction set; a single step with the
 *   page open needs none of it. Another thread may touch the page unseen meanwhile (some
 *   microseconds): one access of many is missed, nothing is invented.
 * - Registered memory, which is the program's, has no second mapping. To put its pages into a file
 *   that is mapped twice would change what they are to fork, madvise and others. /proc/self/mem
 *   passes by their protection: copies go that way while the pages are closed (memory/force.c), at
 *   3 to 5 GB/s; a kernel that uses such memory opens it for as long as it is in use. Only pages
 *   that the range has for itself are closed, and none of a stack: a signal's frame must fit there.
 * Pageable memory is not watched: whether a copy has ended when its call returns is left open by
 * the documents ("might be synchronous"), which is no verdict.
 *
 * Not thread-safe: the checker's lock. The pages are changed by `protect`, which may be called from
 * a signal handler. */
enum weir_guard_state { WEIR_GUARD_OPEN, WEIR_GUARD_READABLE, WEIR_GUARD_CLOSED };

#define WEIR_GUARD_PAGE       ((uintptr_t)4096)
#define WEIR_GUARD_PAGE_MAX   16    /* faults on one page until it is opened, */
#define WEIR_GUARD_FAULTS_MAX 1024  /* and in all until whole ranges are, */
#define WEIR_GUARD_TOTAL_MAX  20000 /* and in the process until the first one does that */
#define WEIR_GUARD_RANGES_MAX 1024

struct weir_guard_range {
    uintptr_t begin, end; /* whole pages */
    uint32_t lane;
    weir_seq seq; /* the last operation of the lane that uses it in this way */
    enum weir_guard_state state;
};

struct weir_guard_opened {
    uintptr_t begin, end;
    bool held; /* by a system call */
};

struct weir_guard {
    const struct weir_order *order;
    bool (*protect)(void *ctx, uintptr_t begin, uintptr_t end, enum weir_guard_state state);
    /* Do the two lie in one allocation, all of which is open where no range says else? Then what is
     * opened there is opened at once, with what is between: each change may interrupt other CPUs.
     * NULL: none do. */
    bool (*is_one)(void *ctx, uintptr_t a, uintptr_t b);
    void *ctx;
    WEIR_VEC(struct weir_guard_range) ranges;
    WEIR_VEC(struct weir_guard_opened) opened; /* though they are in use */
    WEIR_VEC(uintptr_t) cuts;                  /* scratch */
    WEIR_VEC(struct weir_guard_range) over;    /* the same */
    struct weir_map faults;                    /* page number -> count */
    uint32_t fault_count;                      /* since the host last waited for something */
    uint64_t fault_total;
    uint64_t settled_at; /* order->host_changes */
    uint64_t closings;   /* of pages, ever */
    uint64_t unwatched;  /* pages that were opened though in use, ever */
    bool failed;         /* not everything was watched: no memory, or too many ranges */
};

void weir_guard_init(struct weir_guard *g, const struct weir_order *order,
                     bool (*protect)(void *, uintptr_t, uintptr_t, enum weir_guard_state),
                     void *ctx);
void weir_guard_finish(struct weir_guard *g);

/* The operation (lane, seq) was submitted and will touch bytes in [begin, end). */
void weir_guard_add(struct weir_guard *g, uintptr_t begin, uintptr_t end, bool writes,
                    uint32_t lane, weir_seq seq);
/* The host may know more now: opens what nobody uses any more. */
void weir_guard_settle(struct weir_guard *g);
/* The memory is given back; its pages are open afterwards. */
void weir_guard_forget(struct weir_guard *g, uintptr_t begin, uintptr_t end);

/* How the page at the address should be now. */
enum weir_guard_state weir_guard_at(const struct weir_guard *g, uintptr_t address);
/* Whether some page of [begin, end) is not open. */
bool weir_guard_meets(const struct weir_guard *g, uintptr_t begin, uintptr_t end);
/* A page is opened for one access, and is to be again as it should be. */
void weir_guard_step(struct weir_guard *g, uintptr_t page);
void weir_guard_step_end(struct weir_guard *g, uintptr_t page);
/* While a system call may access them the pages are open, whatever uses them. False: no memory. */
bool weir_guard_hold(struct weir_guard *g, uintptr_t begin, uintptr_t end);
void weir_guard_release(struct weir_guard *g, uintptr_t begin, uintptr_t end);
/* Opens pages though they are in use, until nothing uses them: for engines that have no other way.
 */
void weir_guard_open(struct weir_guard *g, uintptr_t begin, uintptr_t end);
/* All ranges that the page is in. */
void weir_guard_open_around(struct weir_guard *g, uintptr_t page);

#endif
