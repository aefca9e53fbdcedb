/* What every .cu file sees under `weir cc`, before its first line: the runtime API, and the
 * device side of CUDA C++. clang brings the compiler's half (its own headers __clang_cuda_*,
 * used from its resource folder: built-in variables, mathematics on the __nv_* names of our
 * device library, shuffles, votes); here is the rest: the order in which things are declared,
 * atomics, cached loads and stores, dot products, time, printf, assert, malloc. Used in both
 * passes: in the host pass device functions are declared too, so that templates can name them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CC_WEIR_CUDA_H
#define WEIR_CC_WEIR_CUDA_H

#if !defined(__clang__) || !defined(__CUDA__)
#error "weir_cuda.h is for clang's CUDA mode: compile with `weir cc`"
#endif

/* libstdc++ and programs look at these. */
#define __CUDACC__           1
#define __WEIR_CC__          1
#define __NVCC__             1
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __CUDACC_VER_BUILD__ 0

/* Device overloads of the mathematical functions must be declared before libstdc++ defines the
 * host's. */
#include <__clang_cuda_math_forward_declares.h>

#include <assert.h>
#include <cmath>
#include <cstdlib>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <time.h>

#include "../../cuda/cuda_runtime.h"

/* The host pass declares what the highest architecture has; the device pass refuses what its own
 * has not. */
#pragma push_macro("__CUDA_ARCH__")
#ifndef __CUDA_ARCH__
#define __CUDA_ARCH__ 9999
#endif

/* clang's headers ask which toolkit they adapt. */
#pragma push_macro("CUDA_VERSION")
#undef CUDA_VERSION
typedef unsigned int cuuint32_t;

#include <__clang_cuda_builtin_vars.h>
/* With this version they call the device library for SIMD in a word too, instead of PTX's video
 * instructions. */
#define CUDA_VERSION 9010
#include <__clang_cuda_libdevice_declares.h>
#include <__clang_cuda_device_functions.h>
#undef CUDA_VERSION
#define CUDA_VERSION 12030
#include <__clang_cuda_math.h>

extern "C" {
__device__ int vprintf(const char *, const char *);
__device__ int printf(const char *, ...); /* clang turns it into vprintf */
__device__ void free(void *) __attribute__((nothrow));
__device__ void *malloc(size_t) __attribute__((nothrow)) __attribute__((malloc));
__device__ void __assertfail(const char *message, const char *file, unsigned line,
                             const char *function, size_t char_size);
__device__ void cudaGraphSetConditional(unsigned long long handle, unsigned value);
/* What glibc's assert() calls. */
static __device__ inline void __assert_fail(const char *message, const char *file, unsigned line,
                                            const char *function)
{
    __assertfail(message, file, line, function, sizeof(char));
}
}

/* clang's wrapper adds the device's operators new and delete, now that it can. */
#include <new>

namespace std {
static __device__ inline void free(void *p)
{
    ::free(p);
}
static __device__ inline void *malloc(size_t bytes)
{
    return ::malloc(bytes);
}
} // namespace std

__device__ inline __cuda_builtin_threadIdx_t::operator dim3() const
{
    return dim3(x, y, z);
}
__device__ inline __cuda_builtin_threadIdx_t::operator uint3() const
{
    return {x, y, z};
}
__device__ inline __cuda_builtin_blockIdx_t::operator dim3() const
{
    return dim3(x, y, z);
}
__device__ inline __cuda_builtin_blockIdx_t::operator uint3() const
{
    return {x, y, z};
}
__device__ inline __cuda_builtin_blockDim_t::operator dim3() const
{
    return dim3(x, y, z);
}
__device__ inline __cuda_builtin_blockDim_t::operator uint3() const
{
    return {x, y, z};
}
__device__ inline __cuda_builtin_gridDim_t::operator dim3() const
{
    return dim3(x, y, z);
}
__device__ inline __cuda_builtin_gridDim_t::operator uint3() const
{
    return {x, y, z};
}

/* clang's intrinsics use these two. */
static __device__ inline unsigned int __isShared(const void *p)
{
    return __nvvm_isspacep_shared(p);
}
static __device__ inline size_t __cvta_generic_to_shared(const void *p);

#include <__clang_cuda_cmath.h>
/* The intrinsics header of clang 19 gives these the mask first; they take the value first. */
#if __clang_major__ == 19
#define __nvvm_redux_sync_add(mask, value)  __nvvm_redux_sync_add(value, mask)
#define __nvvm_redux_sync_min(mask, value)  __nvvm_redux_sync_min(value, mask)
#define __nvvm_redux_sync_max(mask, value)  __nvvm_redux_sync_max(value, mask)
#define __nvvm_redux_sync_umin(mask, value) __nvvm_redux_sync_umin(value, mask)
#define __nvvm_redux_sync_umax(mask, value) __nvvm_redux_sync_umax(value, mask)
#define __nvvm_redux_sync_and(mask, value)  __nvvm_redux_sync_and(value, mask)
#define __nvvm_redux_sync_or(mask, value)   __nvvm_redux_sync_or(value, mask)
#define __nvvm_redux_sync_xor(mask, value)  __nvvm_redux_sync_xor(value, mask)
#endif
#include <__clang_cuda_intrinsics.h>
#undef __nvvm_redux_sync_add
#undef __nvvm_redux_sync_min
#undef __nvvm_redux_sync_max
#undef __nvvm_redux_sync_umin
#undef __nvvm_redux_sync_umax
#undef __nvvm_redux_sync_and
#undef __nvvm_redux_sync_or
#undef __nvvm_redux_sync_xor
#include <__clang_cuda_complex_builtins.h>

#include "weir_atomics.h"
#include "weir_intrinsics.h"
#include "weir_textures.h"

#pragma pop_macro("CUDA_VERSION")
#pragma pop_macro("__CUDA_ARCH__")

/* What `<<< >>>` becomes on the host (clang looks these up by name). */
extern "C" unsigned __cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim, size_t sharedMem = 0,
                                                void *stream = 0);

#endif
