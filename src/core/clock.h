/* Modelled time (weir run --clock model). What an operation would take on the profile's GPU is
 * known above this layer (plan/clock.c, which is in libweir.so and registers here): core only asks.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_CLOCK_H
#define WEIR_CORE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/profile.h"

/* A record of an event, as the trace names it. */
struct weir_clock_record {
    uint64_t event, stream, seq;
};

/* A launch, as the trace names it. */
struct weir_clock_launch {
    uint64_t stream, seq;
    uint64_t blocks, threads, shared_bytes; /* a block's threads and shared memory */
};

/* The modelled time of a kernel that asks for it, while it runs: blocks take places on the SMs in
 * order, each behind the one that had its place, and go on by what they count. */
struct weir_clock_kernel {
    double start_ns; /* from the program's beginning */
    double clock;    /* cycles a ns */
    struct {
        double instruction, byte; /* cycles of a warp's instruction, and of a byte */
    } pace[2];                    /* [1]: of the blocks from last_wave on, which fill less */
    uint64_t last_wave;
    uint32_t sms, first_sm, places; /* places: blocks that are on the device at a time */
    bool patient;                   /* a block waits for the one that had its place */
    struct {
        _Atomic uint64_t ended, cycle; /* blocks, and how far the last one has come */
    } at[];                            /* by place */
};

/* What knows modelled time. Thread: any, no lock held. */
struct weir_clock_model {
    /* ns from one record to another. False: not known. */
    bool (*elapsed)(const struct weir_profile *profile, const struct weir_clock_record *from,
                    const struct weir_clock_record *to, double *ns);
    /* Of a launch all of whose predecessors are over; of weir_alloc. NULL: not known. */
    struct weir_clock_kernel *(*begin)(const struct weir_profile *profile,
                                       const struct weir_clock_launch *launch);
};

/* Modelled time from now on: called before the program's first call. */
void weir_core_clock_set(const struct weir_clock_model *model);
/* NULL: wall time. */
const struct weir_clock_model *weir_core_clock(void);

struct weir_block;
struct weir_kernel_work;
struct weir_op;
/* The kernel is about to begin, as a launch or as a node of one: gives it modelled time if its code
 * asks for that. _end takes it back, when no block runs. */
void weir_core_clock_begin(struct weir_kernel_work *work, const struct weir_op *op);
void weir_core_clock_end(struct weir_kernel_work *work);
/* services->clock (device/kernel.h): real time where the launch has no modelled one. */
uint64_t weir_core_clock_tell(struct weir_block *block, uint32_t what, uint32_t warp);

/* All that was submitted on any device is complete, or the time was too short: then what goes on
 * waits for the host, perhaps. Orders nothing and is no synchronisation of the program's. */
bool weir_core_clock_settle(uint64_t for_ns);

#endif
