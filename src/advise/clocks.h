/* Which data orders of a recorded program its streams, events and host waits promise, and which
 * would be left with some of them gone.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_ADVISE_CLOCKS_H
#define WEIR_ADVISE_CLOCKS_H

#include "advise/find.h"

#define WEIR_ADVISE_STREAMS_MAX 256 /* more are not looked at */

struct weir_advise_orders {
    /* All may be NULL. */
    const bool *skip;      /* by event wait: it is not made */
    const bool *no_wait;   /* by call: it waits for nothing */
    bool no_legacy;        /* the legacy default stream is a stream like others */
    const uint32_t *moved; /* by event wait: for this operation instead of the record; NONE */
    /* op needs the data of `on`, and nothing promises that it comes after. */
    void (*broken)(void *context, uint32_t op, uint32_t on);
    void *context;
};

/* How many data orders are not promised. False: no memory. */
bool weir_advise_count_broken(const struct weir_advise_context *c,
                              const struct weir_advise_orders *o, uint64_t *broken);

#endif
