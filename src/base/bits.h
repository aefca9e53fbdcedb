/* Masks of bits.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_BASE_BITS_H
#define WEIR_BASE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The n lowest; n up to 64. */
static inline uint64_t weir_bits_low(unsigned n)
{
    return n < 64 ? ((uint64_t)1 << n) - 1 : UINT64_MAX;
}

/* Of the bits lo to hi_1, the last one, in an array of words: those in `word`, which has some. */
static inline uint64_t weir_bits_span(unsigned word, unsigned lo, unsigned hi_1)
{
    uint64_t m = UINT64_MAX;

    if (word == lo / 64)
        m &= UINT64_MAX << (lo % 64);
    if (word == hi_1 / 64)
        m &= UINT64_MAX >> (63 - hi_1 % 64);
    return m;
}

/* Sets, in arrays of words. */
static inline bool weir_bit_has(const uint64_t *set, size_t i)
{
    return set[i / 64] >> (i % 64) & 1;
}

static inline void weir_bit_put(uint64_t *set, size_t i)
{
    set[i / 64] |= UINT64_C(1) << (i % 64);
}

#endif
