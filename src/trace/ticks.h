/* The clock of calls: CLOCK_MONOTONIC's nanoseconds, told by the processor's tick counter, which
 * costs half of asking the system.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Ticks count where the system itself tells its time by them, so that they are the same on all
 * processors and never change their pace. Each thread looks at both clocks every ten milliseconds,
 * goes on from there, and takes the pace from the two last looks: it is never further from
 * CLOCK_MONOTONIC than what two looks take, and the file holds nothing of it. A thread's first pace
 * is that since recording began. Elsewhere, and for the first half of a millisecond of that, the
 * system is asked, which also waits for all loads that are under way: beside a thread that ends
 * operations that is much. */
#ifndef WEIR_TRACE_TICKS_H
#define WEIR_TRACE_TICKS_H

#include <stdint.h>

#include "base/compiler.h"

struct weir_trace_clock {
    uint64_t ticks, ns; /* from here on */
    uint64_t pace;      /* ns a tick, 32 bits behind the point */
    uint64_t window;    /* ticks until it looks again; 0: at once */
    uint64_t seen_ns;   /* what the system said at `ticks`; ns may be a little later */
};

/* Recording begins: the first look, from which threads know the pace. Before any thread's. */
void weir_trace_clock_begin(void);
/* Looks at both clocks. */
uint64_t weir_trace_clock_look(struct weir_trace_clock *c);

static inline uint64_t weir_trace_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return 0;
#endif
}

/* CLOCK_MONOTONIC, from the calling thread's clock if it records already. */
uint64_t weir_trace_now(void);

/* Never less than the last time for this clock. */
static inline uint64_t weir_trace_clock_ns(struct weir_trace_clock *c)
{
    uint64_t since = weir_trace_ticks() - c->ticks;

    if (WEIR_UNLIKELY(since >= c->window))
        return weir_trace_clock_look(c);
    return c->ns + (since * c->pace >> 32);
}

#endif
