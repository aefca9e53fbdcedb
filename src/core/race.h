/* What the threads of one launch do to each other (weir check --kernel-races): the services of code
 * made with `races` (device/race.h), and what they found, told when the launch has ended.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_RACE_H
#define WEIR_CORE_RACE_H

#include "check/check.h"
#include "device/kernel.h"

/* Of a launch; NULL: no memory. */
struct weir_races *weir_races_create(void);
void weir_races_destroy(struct weir_races *r);
/* What was found: each pair of lines once. All blocks have ended. */
const struct weir_check_threads *weir_races_found(struct weir_races *r, uint32_t *count);
/* Was there too little memory for all? */
bool weir_races_lost(const struct weir_races *r);

/* The services. */
void weir_race_access(struct weir_block *block, uint64_t lanes, uint64_t code,
                      const uint64_t *rows);
void weir_race_order(struct weir_block *block, uint32_t what, uint32_t lanes, uint64_t arg);
/* A bulk copy of `lane` to shared memory of the block, which completes at the barrier object. */
void weir_race_bulk(struct weir_block *block, uint32_t lane, uint64_t to, uint64_t bytes,
                    uint64_t barrier);

/* The same copy, from global memory, before it is made: true, it is made later (--late-async). */
bool weir_race_bulk_late(struct weir_block *block, uint64_t to, uint64_t from, uint64_t bytes,
                         uint64_t barrier);
/* Shared memory is about to be read in another way than by the threads' own accesses. */
void weir_race_reads_shared(struct weir_block *block);

#endif
