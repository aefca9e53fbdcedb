/* cooperative_groups::reduce: every thread of a tile or coalesced group gets op over all their
 * values. The order of the operations is a tree, so that floating-point results do not depend on
 * timing.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CUDA_COOPERATIVE_GROUPS_REDUCE_H
#define WEIR_CUDA_COOPERATIVE_GROUPS_REDUCE_H

#include "../cooperative_groups.h"

#if defined(__clang__) && defined(__CUDA__)

namespace cooperative_groups {

template <class Group, class T, class Op>
__device__ inline T reduce(const Group &g, const T &value, Op op)
{
    T sum = value;
    const unsigned rank = g.thread_rank(), size = g.size();
    /* Ranks below 2 * step hold a value that counts; the one above is added to the one below. */
    unsigned live = size;
    while (live > 1) {
        const unsigned step = (live + 1) / 2;
        const T other = g.shfl_down(sum, step);
        if (rank + step < live)
            sum = op(sum, other);
        live = step;
    }
    return g.shfl(sum, 0);
}

} // namespace cooperative_groups

#endif
#endif
