/* How compiled code made with `races` (weir_jit_request) tells of a block's threads: what they
 * access (weir_kernel_services.race) and what orders them (weir_kernel_services.order).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_DEVICE_RACE_H
#define WEIR_DEVICE_RACE_H

#include <stdint.h>

/* An access: bytes of a component, components, kind (as weir_kernel_services.touch), flags, and
 * above bit 32 the PTX line. rows: 32 absolute addresses; with DATA the components behind them, 32
 * of the first, 32 of the second ... */
#define WEIR_RACE_SIZE(code)  ((uint32_t)(code)&255u)
#define WEIR_RACE_COMPS_AT    8
#define WEIR_RACE_COMPS(code) ((uint32_t)(code) >> WEIR_RACE_COMPS_AT & 15u)
#define WEIR_RACE_KIND_AT     16
#define WEIR_RACE_KIND(code)  ((uint32_t)(code) >> WEIR_RACE_KIND_AT & 3u)
#define WEIR_RACE_QUIET       (1u << 18) /* an update whose old value nobody looks at */
#define WEIR_RACE_DATA        (1u << 19)
#define WEIR_RACE_COPY        (1u << 20) /* the destination of a cp.async */
#define WEIR_RACE_HANDED      (1u << 21) /* a barrier object that earlier cp.async will arrive at */
#define WEIR_RACE_LINE_AT     32
#define WEIR_RACE_LINE(code)  ((uint32_t)((code) >> WEIR_RACE_LINE_AT))
#define WEIR_RACE_DATA_BYTES  256u /* where the data begin */

/* What happens to the threads `lanes` of block->warp, or to the block. arg is 0 where nothing is
 * said. */
enum weir_race_order {
    WEIR_RACE_START,   /* the block begins */
    WEIR_RACE_END,     /* all its threads have ended */
    WEIR_RACE_WARP,    /* lanes meet in a .sync instruction */
    WEIR_RACE_ARRIVE,  /* at a barrier; arg as below */
    WEIR_RACE_RELEASE, /* the barrier with number arg is complete */
    WEIR_RACE_PASS,    /* all threads that have not ended stand at barriers, and go on */
    WEIR_RACE_CLUSTER, /* the cluster's barrier is complete */
    WEIR_RACE_PAST,  /* lanes are behind the barriers in the mask arg, if they passed them or not */
    WEIR_RACE_STUCK, /* no thread can go on: each waits at a barrier */
    WEIR_RACE_COMMIT, /* cp.async.commit_group */
    WEIR_RACE_WAIT,   /* cp.async.wait_group arg; UINT64_MAX: wait_all */
};

/* ARRIVE: number, place (which barrier of the kernel's text), does it wait?, is it one of all
 * threads?, above bit 32 the PTX line. */
#define WEIR_RACE_BARRIER(arg) ((uint32_t)(arg)&15u)
#define WEIR_RACE_PLACE_AT     8
#define WEIR_RACE_PLACE(arg)   ((uint32_t)(arg) >> WEIR_RACE_PLACE_AT & 0xffffu)
#define WEIR_RACE_WAITS        (1u << 24)
#define WEIR_RACE_ALL          (1u << 25)
#define WEIR_RACE_PLACES       64u /* of a kernel that are told apart */

#endif
