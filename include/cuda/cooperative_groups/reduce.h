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

/* Several warps: each by itself, then the warps' results in their order. */
template <unsigned Size, class Parent, class T, class Op>
__device__ inline T reduce(const thread_block_tile<Size, Parent, false> &g, const T &value, Op op)
{
    const T own = reduce(coalesced_threads(), value, op);
    if (weir::lane() == 0)
        g.weir_put(own, g.thread_rank() / 32);
    g.sync();
    T sum = g.template weir_get<T>(0);
    for (unsigned i = 1; i < g.weir_warps(); i++)
        sum = op(sum, g.template weir_get<T>(i));
    g.sync();
    return sum;
}

} // namespace cooperative_groups

#endif
#endif
