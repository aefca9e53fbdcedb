/* What kernels touch, as generated code and its services see it: for every page of 4 KiB and kind
 * of access a bit a byte. A table has four pointers for each page of the window; generated code
 * reads it in place and calls a service only for bytes that are not noted yet.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_TOUCH_INT_H
#define WEIR_CORE_TOUCH_INT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/kernel.h"

#define TOUCH_PAGE_SHIFT 12
#define TOUCH_PAGE_BYTES ((uint64_t)1 << TOUCH_PAGE_SHIFT)
#define TOUCH_WORDS      64

enum touch_page_flags {
    TOUCH_CAREFUL = 1, /* bytes that are not noted yet are looked at before they are */
    TOUCH_OWN = 2,     /* Weir's: all is noted, and nobody is told */
};

/* Bits are set by all threads of a launch: whole words plainly, others by a locked instruction. */
struct touch_page {
    uint64_t bits[TOUCH_WORDS];
    uint64_t zero[6]; /* generated code looks at a run of bits that may end here */
    uint64_t number;
    uint32_t kind, flags;
};

/* Entries are offsets from this one, where nothing is noted: no test for 0 in generated code. */
extern struct touch_page weir_touch_nothing;

/* What is left of an access when the fast path is at its end: any lane, anywhere. Vector registers
 * may be used. */
void weir_touch_slow(struct weir_block *block, uint64_t lanes, uint64_t code, uint64_t base,
                     int64_t stride);
void weir_touch_lanes_slow(struct weir_block *block, uint64_t lanes, uint64_t code,
                           const uint64_t *addresses);

#endif
