/* cooperative_groups::memcpy_async: the threads of a group copy together. Here the copy is made at
 * once and waiting for it is a meeting of the group, which is what a program may rely on: that the
 * data is there after wait().
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CUDA_COOPERATIVE_GROUPS_MEMCPY_ASYNC_H
#define WEIR_CUDA_COOPERATIVE_GROUPS_MEMCPY_ASYNC_H

#include "../cooperative_groups.h"

#if defined(__clang__) && defined(__CUDA__)

namespace cooperative_groups {

template <class Group>
__device__ inline void memcpy_async(const Group &g, void *to, const void *from, size_t bytes)
{
    const size_t rank = g.thread_rank(), step = g.size();
    if ((((size_t)to | (size_t)from | bytes) & 15) == 0)
        for (size_t i = rank; i < bytes / 16; i += step)
            ((uint4 *)to)[i] = ((const uint4 *)from)[i];
    else if ((((size_t)to | (size_t)from | bytes) & 3) == 0)
        for (size_t i = rank; i < bytes / 4; i += step)
            ((unsigned *)to)[i] = ((const unsigned *)from)[i];
    else
        for (size_t i = rank; i < bytes; i += step)
            ((char *)to)[i] = ((const char *)from)[i];
}

/* As many elements as both have. */
template <class Group, class T>
__device__ inline void memcpy_async(const Group &g, T *to, size_t to_count, const T *from,
                                    size_t from_count)
{
    memcpy_async(g, (void *)to, (const void *)from,
                 (to_count < from_count ? to_count : from_count) * sizeof(T));
}

template <class Group> __device__ inline void wait(const Group &g)
{
    g.sync();
}

/* All but the last `Stages` copies have arrived: so have those. */
template <unsigned Stages, class Group> __device__ inline void wait_prior(const Group &g)
{
    g.sync();
}

} // namespace cooperative_groups

#endif
#endif
