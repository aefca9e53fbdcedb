/* Random kernels about memory, for comparisons with the interpreter.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TESTS_PTX_GENERATE_H
#define WEIR_TESTS_PTX_GENERATE_H

#include "ptx/harness.h"

/* Text of a kernel "g" with parameters (u64 out, u64 in, u32 n): 8 words of output and 16 of input
 * for each thread; blocks have at most `threads` threads; in_words is the whole input. The caller
 * frees the text. */
void generate_kernel(uint64_t seed, unsigned threads, unsigned in_words, struct text *t,
                     struct dims *block);

#endif
