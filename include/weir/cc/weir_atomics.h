/* The atomic functions of CUDA C++, with their _block and _system forms, on clang's typed helpers
 * (__iAtomicAdd ...).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CC_WEIR_ATOMICS_H
#define WEIR_CC_WEIR_ATOMICS_H

#define WEIR_ATOMIC_ONE(NAME, T, HELPER, SCOPE)                                                    \
    static __device__ inline T NAME##SCOPE(T *p, T v)                                              \
    {                                                                                              \
        return HELPER##SCOPE(p, v);                                                                \
    }
#define WEIR_ATOMIC(NAME, T, HELPER)                                                               \
    WEIR_ATOMIC_ONE(NAME, T, HELPER, )                                                             \
    WEIR_ATOMIC_ONE(NAME, T, HELPER, _block)                                                       \
    WEIR_ATOMIC_ONE(NAME, T, HELPER, _system)

WEIR_ATOMIC(atomicAdd, int, __iAtomicAdd)
WEIR_ATOMIC(atomicAdd, unsigned int, __uAtomicAdd)
WEIR_ATOMIC(atomicAdd, unsigned long long, __ullAtomicAdd)
WEIR_ATOMIC(atomicAdd, float, __fAtomicAdd)
#if __CUDA_ARCH__ >= 600
WEIR_ATOMIC(atomicAdd, double, __dAtomicAdd)
#endif

WEIR_ATOMIC(atomicExch, int, __iAtomicExch)
WEIR_ATOMIC(atomicExch, unsigned int, __uAtomicExch)
WEIR_ATOMIC(atomicExch, unsigned long long, __ullAtomicExch)
WEIR_ATOMIC(atomicExch, float, __fAtomicExch)

WEIR_ATOMIC(atomicMin, int, __iAtomicMin)
WEIR_ATOMIC(atomicMin, unsigned int, __uAtomicMin)
WEIR_ATOMIC(atomicMin, long long, __illAtomicMin)
WEIR_ATOMIC(atomicMin, unsigned long long, __ullAtomicMin)
WEIR_ATOMIC(atomicMax, int, __iAtomicMax)
WEIR_ATOMIC(atomicMax, unsigned int, __uAtomicMax)
WEIR_ATOMIC(atomicMax, long long, __illAtomicMax)
WEIR_ATOMIC(atomicMax, unsigned long long, __ullAtomicMax)

WEIR_ATOMIC(atomicInc, unsigned int, __uAtomicInc)
WEIR_ATOMIC(atomicDec, unsigned int, __uAtomicDec)

WEIR_ATOMIC(atomicAnd, int, __iAtomicAnd)
WEIR_ATOMIC(atomicAnd, unsigned int, __uAtomicAnd)
WEIR_ATOMIC(atomicAnd, unsigned long long, __ullAtomicAnd)
WEIR_ATOMIC(atomicOr, int, __iAtomicOr)
WEIR_ATOMIC(atomicOr, unsigned int, __uAtomicOr)
WEIR_ATOMIC(atomicOr, unsigned long long, __ullAtomicOr)
WEIR_ATOMIC(atomicXor, int, __iAtomicXor)
WEIR_ATOMIC(atomicXor, unsigned int, __uAtomicXor)
WEIR_ATOMIC(atomicXor, unsigned long long, __ullAtomicXor)

#undef WEIR_ATOMIC
#undef WEIR_ATOMIC_ONE

/* Subtraction is addition of the negative, in two's complement. */
#define WEIR_ATOMIC_SUB(SCOPE)                                                                     \
    static __device__ inline int atomicSub##SCOPE(int *p, int v)                                   \
    {                                                                                              \
        return (int)__uAtomicAdd##SCOPE((unsigned int *)p, 0u - (unsigned int)v);                  \
    }                                                                                              \
    static __device__ inline unsigned int atomicSub##SCOPE(unsigned int *p, unsigned int v)        \
    {                                                                                              \
        return __uAtomicAdd##SCOPE(p, 0u - v);                                                     \
    }
WEIR_ATOMIC_SUB()
WEIR_ATOMIC_SUB(_block)
WEIR_ATOMIC_SUB(_system)
#undef WEIR_ATOMIC_SUB

#define WEIR_ATOMIC_CAS(T, HELPER, SCOPE)                                                          \
    static __device__ inline T atomicCAS##SCOPE(T *p, T compare, T v)                              \
    {                                                                                              \
        return HELPER##SCOPE(p, compare, v);                                                       \
    }
#define WEIR_ATOMIC_CAS_ALL(SCOPE)                                                                 \
    WEIR_ATOMIC_CAS(int, __iAtomicCAS, SCOPE)                                                      \
    WEIR_ATOMIC_CAS(unsigned int, __uAtomicCAS, SCOPE)                                             \
    WEIR_ATOMIC_CAS(unsigned long long, __ullAtomicCAS, SCOPE)
WEIR_ATOMIC_CAS_ALL()
WEIR_ATOMIC_CAS_ALL(_block)
WEIR_ATOMIC_CAS_ALL(_system)
#undef WEIR_ATOMIC_CAS_ALL
#undef WEIR_ATOMIC_CAS

#define WEIR_ATOMIC_CAS16(SUFFIX, PTX)                                                             \
    static __device__ inline unsigned short atomicCAS##SUFFIX(                                     \
        unsigned short *p, unsigned short compare, unsigned short v)                               \
    {                                                                                              \
        unsigned short old;                                                                        \
        __asm__ __volatile__("atom" PTX ".cas.b16 %0, [%1], %2, %3;"                               \
                             : "=h"(old)                                                           \
                             : "l"(p), "h"(compare), "h"(v)                                        \
                             : "memory");                                                          \
        return old;                                                                                \
    }
#if __CUDA_ARCH__ >= 700
WEIR_ATOMIC_CAS16(, "")
WEIR_ATOMIC_CAS16(_block, ".cta")
WEIR_ATOMIC_CAS16(_system, ".sys")
#endif
#undef WEIR_ATOMIC_CAS16

#endif
