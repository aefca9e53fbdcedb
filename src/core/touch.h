/* What kernels touch, collected while they run: their code says it (services->touch), by thread and
 * launch, and when the launch has ended the checker gets it as ranges.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_TOUCH_H
#define WEIR_CORE_TOUCH_H

#include "check/check.h"
#include "device/kernel.h"

/* For a launch that is about to be submitted: its `touches`. NULL: no memory, or arguments are all
 * that is looked at. */
void *weir_touches_begin(void);
/* Before the first block. op: as the checker knows it. */
void weir_touches_open(struct weir_launch *l, const struct weir_check_op *op);
/* All blocks are over, and nothing was touched that is to be told: good for another launch. */
bool weir_touches_are_none(const void *touches);
/* All blocks are over, or have failed: tells the checker, frees. `a` may be NULL; `early`: of the
 * part before weir_touches_part, or of all without that. shared_bytes: static ones of its code. */
struct weir_function;
struct weir_function_image;
void weir_touches_end(void *touches, struct weir_actor *a, struct weir_actor *early,
                      const struct weir_function *f, const struct weir_function_image *image,
                      uint32_t shared_bytes);
/* A block has waited for the kernels in front of its own (ORD-032). What any block did before the
 * first of these waits was over is the early part's; later blocks' own is not told apart. */
void weir_touches_part(void *touches);
/* The bytes that a launch which is over has read, or (writes) has written, as ranges in the order
 * of addresses: into out, which has room for one more than `most`. With more of them those that
 * have least between them are joined. Their number; false: something was lost, or no memory. */
struct weir_touch_range {
    uint64_t from, to;
};
bool weir_touches_ranges(const void *touches, bool writes, struct weir_touch_range *out,
                         size_t most, size_t *count);
/* It has not run. */
void weir_touches_drop(void *touches);

/* What its threads do to each other (race.h); NULL: nobody asks. */
struct weir_races *weir_touches_races(const struct weir_launch *l);

/* The services (touch_fast.c). */
void weir_touch(struct weir_block *block, uint64_t lanes, uint64_t code, uint64_t base,
                int64_t stride);
void weir_touch_lanes(struct weir_block *block, uint64_t lanes, uint64_t code,
                      const uint64_t *addresses);

#endif
