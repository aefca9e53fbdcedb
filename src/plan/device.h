/* What a device and its host cost, from a device profile, as the simulator takes it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_PLAN_DEVICE_H
#define WEIR_PLAN_DEVICE_H

#include "plan/sim.h"

/* The host's side, ns a call. Freestanding, like sim.h. */
struct weir_plan_host {
    double submit_kernel, submit_switch; /* switch: more, when it is another stream than before */
    double submit_copy, submit_host_func, record, record_timing, wait, sync, sync_return;
    double graph_launch;
};

/* Bytes and seconds. 0: the profile does not say. */
struct weir_plan_rates {
    /* bytes a ns; small: pageable memory of at most 16 MiB, used again and again; mid: of 64 */
    double h2d, d2h, pageable_h2d, pageable_d2h, small_h2d, small_d2h, mid_h2d, mid_d2h, device;
    double copy_ns, kernel_ns; /* the least that a copy takes, and a kernel */
    double clock;              /* of the SMs, cycles a ns */
    double graph_node_ns, host_func_ns;
};

struct weir_profile;
struct weir_profile_kernel;

struct weir_plan_machine {
    struct weir_plan_device device;
    struct weir_plan_host host;
    struct weir_plan_rates rates;
    uint32_t sms, threads_per_sm, blocks_per_sm, shared_per_sm;
    char name[128];
    const struct weir_profile_kernel *kernels; /* of the profile, which outlives the machine */
    size_t kernel_count;
};

/* False when the profile has no costs: nothing was measured for it. */
bool weir_plan_machine_init(struct weir_plan_machine *m, const struct weir_profile *p);

/* How long a copy of so many bytes takes by itself; memory: of all pageable buffers that are used
 * again, 0 when none is. Pageable memory is the host's to copy, so its caches count: up to 16 MiB
 * are fast, 256 MiB (and 0) slow, what is between in proportion, by way of 64 MiB. 0 ns: the
 * profile does not say. */
double weir_plan_copy_ns(const struct weir_plan_machine *m, enum weir_plan_engine engine,
                         bool pageable, double bytes, double memory);

struct weir_plan_kernel_work {
    uint64_t blocks, threads, shared_bytes; /* a block's threads and shared memory */
    uint64_t instructions;                  /* of warps, all blocks together */
    uint64_t requested, touched;            /* bytes that lanes ask for; of memory, at most */
};

/* What an SM gets through while a kernel's blocks are on it. */
struct weir_plan_pace {
    uint32_t fit;        /* blocks that an SM has room for */
    double sms, warps;   /* SMs that have blocks; warps on each */
    double issue, bytes; /* a cycle */
};
struct weir_plan_pace weir_plan_kernel_pace(const struct weir_plan_machine *m, uint64_t blocks,
                                            uint64_t threads, uint64_t shared_bytes);

/* A kernel's time by itself: issuing its instructions (4 a cycle and SM, one a warp in 4 cycles),
 * and moving bytes, the slower of what its lanes ask for through the SMs' caches (128 bytes a cycle
 * and SM) and of the memory that it touches. Both add up, as in the kernels that were measured
 * (docs/plan.md). 0: the profile says no clock. */
double weir_plan_kernel_ns(const struct weir_plan_machine *m,
                           const struct weir_plan_kernel_work *work);

/* By the profile's table of measured kernels, under either of its names. Between two counts of
 * blocks that were measured it is between their times, in proportion; below or above all of them
 * the nearest one's, in proportion to the blocks. Lines without a count are for those without
 * others. 0: the table does not have it. */
double weir_plan_kernel_table_ns(const struct weir_plan_machine *m, const char *name,
                                 const char *symbol, uint64_t blocks);

/* How many of the device's units a block of so many threads and bytes of shared memory takes: its
 * largest share of an SM. Units are places of threads. */
uint32_t weir_plan_block_units(const struct weir_plan_machine *m, uint64_t threads,
                               uint64_t shared_bytes);

#endif
