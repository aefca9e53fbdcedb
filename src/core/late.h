/* --late-dma: a copy whose pageable source has been captured lands as late as the documentation
 * allows. When its turn comes it is held back until a host thread waits for something that hangs on
 * it or asks for it, or some time has passed. Without the option nothing of this is ever called.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_LATE_H
#define WEIR_CORE_LATE_H

#include "core/explore.h"

#define WEIR_LATE_NS 200000000u /* a program that only looks at memory gets on, too */

/* Bounds of WEIR_LATE_DMA, in seconds. */
#define WEIR_LATE_MIN 0.001
#define WEIR_LATE_MAX 3600.0

static inline bool weir_late_enabled(void)
{
    return WEIR_UNLIKELY(weir_core.config.late_ns != 0);
}

/* Only what the documents promise counts. */
static inline bool weir_late_documented_only(void)
{
    return weir_late_enabled() || weir_explore_enabled();
}

/* op may start. True: it is held back, and will be given to its engine later. Thread: any, no lock
 * held. */
bool weir_late_hold(struct weir_copy_op *op);
/* Lets the copy go that the point waits for, through other streams too, if it is held back. Result:
 * whether there was one. Thread: any, no lock held. */
bool weir_late_demand(const struct weir_model_point *p);
/* Does the point wait for a copy that is held back? */
bool weir_late_is_held(const struct weir_model_point *p);

#endif
