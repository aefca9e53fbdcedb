/* cooperative_groups::inclusive_scan and exclusive_scan over a tile or coalesced group.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CUDA_COOPERATIVE_GROUPS_SCAN_H
#define WEIR_CUDA_COOPERATIVE_GROUPS_SCAN_H

#include "../cooperative_groups.h"

#if defined(__clang__) && defined(__CUDA__)

namespace cooperative_groups {

template <class Group, class T, class Op>
__device__ inline T inclusive_scan(const Group &g, const T &value, Op op)
{
    T sum = value;
    const unsigned rank = g.thread_rank();
    for (unsigned step = 1; step < g.size(); step *= 2) {
        const T before = g.shfl_up(sum, step);
        if (rank >= step)
            sum = op(before, sum);
    }
    return sum;
}

template <class Group, class T> __device__ inline T inclusive_scan(const Group &g, const T &value)
{
    return inclusive_scan(g, value, plus<T>());
}

/* The first thread gets T(). */
template <class Group, class T, class Op>
__device__ inline T exclusive_scan(const Group &g, const T &value, Op op)
{
    const T sum = g.shfl_up(inclusive_scan(g, value, op), 1);
    return g.thread_rank() == 0 ? T() : sum;
}

template <class Group, class T> __device__ inline T exclusive_scan(const Group &g, const T &value)
{
    return exclusive_scan(g, value, plus<T>());
}

} // namespace cooperative_groups

#endif
#endif
