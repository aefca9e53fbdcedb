/* make_int2(x, y) and its like, for host and device, C and C++.
 * SPDX-License-Identifier: Apache-2.0 */
/* The second name is the toolkit's own: programs ask for it, and its headers may come first. */
#if !defined(WEIR_CUDA_VECTOR_FUNCTIONS_H) && !defined(__VECTOR_FUNCTIONS_H__)
#define WEIR_CUDA_VECTOR_FUNCTIONS_H
#define __VECTOR_FUNCTIONS_H__

#include "vector_types.h"

#define WEIR_CUDA_MAKE1(T, C)                                                                      \
    static __inline__ __host__ __device__ T make_##T(C x)                                          \
    {                                                                                              \
        T v;                                                                                       \
        v.x = x;                                                                                   \
        return v;                                                                                  \
    }
#define WEIR_CUDA_MAKE2(T, C)                                                                      \
    static __inline__ __host__ __device__ T make_##T(C x, C y)                                     \
    {                                                                                              \
        T v;                                                                                       \
        v.x = x, v.y = y;                                                                          \
        return v;                                                                                  \
    }
#define WEIR_CUDA_MAKE3(T, C)                                                                      \
    static __inline__ __host__ __device__ T make_##T(C x, C y, C z)                                \
    {                                                                                              \
        T v;                                                                                       \
        v.x = x, v.y = y, v.z = z;                                                                 \
        return v;                                                                                  \
    }
#define WEIR_CUDA_MAKE4(T, C)                                                                      \
    static __inline__ __host__ __device__ T make_##T(C x, C y, C z, C w)                           \
    {                                                                                              \
        T v;                                                                                       \
        v.x = x, v.y = y, v.z = z, v.w = w;                                                        \
        return v;                                                                                  \
    }
#define WEIR_CUDA_MAKE(T, C)                                                                       \
    WEIR_CUDA_MAKE1(T##1, C)                                                                       \
    WEIR_CUDA_MAKE2(T##2, C) WEIR_CUDA_MAKE3(T##3, C) WEIR_CUDA_MAKE4(T##4, C)
#define WEIR_CUDA_MAKE_WIDE(T, C)                                                                  \
    WEIR_CUDA_MAKE(T, C) WEIR_CUDA_MAKE4(T##4_16a, C) WEIR_CUDA_MAKE4(T##4_32a, C)

WEIR_CUDA_MAKE(char, signed char)
WEIR_CUDA_MAKE(uchar, unsigned char)
WEIR_CUDA_MAKE(short, short)
WEIR_CUDA_MAKE(ushort, unsigned short)
WEIR_CUDA_MAKE(int, int)
WEIR_CUDA_MAKE(uint, unsigned int)
WEIR_CUDA_MAKE_WIDE(long, long int)
WEIR_CUDA_MAKE_WIDE(ulong, unsigned long int)
WEIR_CUDA_MAKE_WIDE(longlong, long long int)
WEIR_CUDA_MAKE_WIDE(ulonglong, unsigned long long int)
WEIR_CUDA_MAKE(float, float)
WEIR_CUDA_MAKE_WIDE(double, double)

#undef WEIR_CUDA_MAKE_WIDE
#undef WEIR_CUDA_MAKE
#undef WEIR_CUDA_MAKE1
#undef WEIR_CUDA_MAKE2
#undef WEIR_CUDA_MAKE3
#undef WEIR_CUDA_MAKE4

#endif
