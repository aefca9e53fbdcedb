/* All of Weir's own heap memory: counted, and failing on demand in the fault-injection tests. Not
 * the memory that programs ask CUDA for (memory/memory.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_BASE_ALLOC_H
#define WEIR_BASE_ALLOC_H

#include "base/compiler.h"

/* As malloc, calloc, realloc, aligned_alloc, free; NULL when out of memory. Zero bytes give a
 * unique pointer. weir_free accepts NULL. Thread: any. */
void *weir_alloc(size_t bytes) WEIR_MUST_CHECK;
void *weir_calloc(size_t count, size_t bytes) WEIR_MUST_CHECK;
void *weir_realloc(void *old, size_t bytes) WEIR_MUST_CHECK;
void *weir_alloc_aligned(size_t align, size_t bytes) WEIR_MUST_CHECK;
/* Of a cache line's alignment, zeroed; on large pages when it is some of them: for what is walked
 * again and again. Freed by weir_free. */
void *weir_alloc_large(size_t bytes) WEIR_MUST_CHECK;
char *weir_strdup(const char *s) WEIR_MUST_CHECK;
void weir_free(void *p);
/* The same as a pair of functions with a context, which is not used (weir_model_memory). */
void *weir_alloc_for(void *ctx, size_t bytes) WEIR_MUST_CHECK;
void weir_free_for(void *ctx, void *p);

/* Test hook: the n-th allocation from now on (1 = the next) fails, and every later one while n
 * stays; 0 turns it off. */
void weir_alloc_fail_after(long n);

#endif
