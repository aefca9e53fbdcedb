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

/* ns from one record to another on the modelled GPU. False: not known. Thread: any, no lock held.
 */
typedef bool weir_clock_elapsed(const struct weir_profile *profile,
                                const struct weir_clock_record *from,
                                const struct weir_clock_record *to, double *ns);

/* Modelled time from now on: called before the program's first call. */
void weir_core_clock_set(weir_clock_elapsed *elapsed);
/* NULL: wall time. */
weir_clock_elapsed *weir_core_clock(void);

/* All that was submitted on any device is complete, or the time was too short: then what goes on
 * waits for the host, perhaps. Orders nothing and is no synchronisation of the program's. */
bool weir_core_clock_settle(uint64_t for_ns);

#endif
