/* Call stacks of the program, each once: where an operation was submitted, memory was allocated.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Taken by the unwinder of libgcc_s, which reads the tables that every program has; frame pointers
 * are not needed. That takes microseconds, so a stack that was seen before is known again by the
 * return addresses in memory, which is a comparison for each frame. Stacks are kept for ever: there
 * are as many as places in the program, and no more than a limit. */
#ifndef WEIR_CHECK_STACK_H
#define WEIR_CHECK_STACK_H

#include <stdint.h>

#include "base/compiler.h"

#define WEIR_CHECK_FRAMES 16

struct weir_check_stack {
    struct weir_check_stack *next; /* in its bucket */
    uint32_t count;                /* 1 or more */
    struct weir_check_frame {
        const void *address; /* the call returns to it */
        intptr_t slot;       /* where it stands in memory, from `frame` */
    } frames[];
};

/* The stack of the calling thread from the function on that `site` is in: a return address that is
 * still on it. frame: an address that does not move against the slot of `site` between calls from
 * there, such as __builtin_frame_address(0) of one function that each call goes through. NULL: no
 * memory. Thread: any; takes no lock of Weir's. */
const struct weir_check_stack *weir_check_stack_take(const void *site, const void *frame);

/* The same of a thread that was stopped in its code: from the frame that `ip` is in, or comes back
 * to. For signal handlers, once weir_check_stack_prepare was called. */
const struct weir_check_stack *weir_check_stack_unwind(const void *ip);
void weir_check_stack_prepare(void);

#endif
