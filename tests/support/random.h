/* Numbers for tests that draw: the same from the same seed on every machine.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TESTS_RANDOM_H
#define WEIR_TESTS_RANDOM_H

#include <stdint.h>

/* 31 bits, by a linear congruence (Knuth's MMIX); the caller keeps the state. */
static inline uint32_t random_next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

#endif
