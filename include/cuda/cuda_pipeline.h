/* Asynchronous copies of single threads, in C's manner: __pipeline_memcpy_async() and its kind.
 * Here a copy is made at once; a commit and a wait are then points in the thread's own order.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CUDA_CUDA_PIPELINE_H
#define WEIR_CUDA_CUDA_PIPELINE_H

#include "cuda_runtime.h"

#if defined(__clang__) && defined(__CUDA__)

/* `bytes` is 4, 8 or 16; the last `zero` of them are not read but set to zero. */
static __device__ inline void __pipeline_memcpy_async(void *to, const void *from, size_t bytes,
                                                      size_t zero = 0)
{
    const unsigned *source = (const unsigned *)from;
    for (size_t i = 0; i < bytes / 4; i++)
        ((unsigned *)to)[i] = 4 * i + 4 <= bytes - zero ? source[i] : 0;
    for (size_t i = (bytes - zero) & ~(size_t)3; i < bytes - zero; i++)
        ((char *)to)[i] = ((const char *)from)[i];
}

static __device__ inline void __pipeline_commit() {}
static __device__ inline void __pipeline_wait_prior(size_t) {}

#endif
#endif
