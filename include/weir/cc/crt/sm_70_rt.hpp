/* __match_any_sync and __match_all_sync over all 32- and 64-bit types, on clang's two widths.
 * clang's intrinsics header includes this name.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CC_CRT_SM_70_RT_HPP
#define WEIR_CC_CRT_SM_70_RT_HPP

#define WEIR_MATCH(T, BITS, U)                                                                     \
    static __device__ inline unsigned int __match_any_sync(unsigned int mask, T value)             \
    {                                                                                              \
        U u;                                                                                       \
        __builtin_memcpy(&u, &value, sizeof u);                                                    \
        return __match##BITS##_any_sync(mask, u);                                                  \
    }                                                                                              \
    static __device__ inline unsigned int __match_all_sync(unsigned int mask, T value, int *pred)  \
    {                                                                                              \
        U u;                                                                                       \
        __builtin_memcpy(&u, &value, sizeof u);                                                    \
        return __match##BITS##_all_sync(mask, u, pred);                                            \
    }

WEIR_MATCH(int, 32, unsigned int)
WEIR_MATCH(unsigned int, 32, unsigned int)
WEIR_MATCH(float, 32, unsigned int)
WEIR_MATCH(long, 64, unsigned long long)
WEIR_MATCH(unsigned long, 64, unsigned long long)
WEIR_MATCH(long long, 64, unsigned long long)
WEIR_MATCH(unsigned long long, 64, unsigned long long)
WEIR_MATCH(double, 64, unsigned long long)
#undef WEIR_MATCH

static __device__ inline void __nanosleep(unsigned int ns)
{
    __asm__ __volatile__("nanosleep.u32 %0;" : : "r"(ns) : "memory");
}

#endif
