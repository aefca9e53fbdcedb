/* The words that mark where a function runs and where a variable lives. In CUDA mode (clang, as
 * `weir cc` drives it) they are clang's attributes; in C and C++ they are nothing, so that one
 * header serves both.
 * SPDX-License-Identifier: Apache-2.0 */
/* The second name is the toolkit's own: programs ask for it, and its headers may come first. */
#if !defined(WEIR_CUDA_HOST_DEFINES_H) && !defined(__HOST_DEFINES_H__)
#define WEIR_CUDA_HOST_DEFINES_H
#define __HOST_DEFINES_H__

#if defined(__clang__) && defined(__CUDA__)

#define __host__               __attribute__((host))
#define __device__             __attribute__((device))
#define __global__             __attribute__((global))
#define __shared__             __attribute__((shared))
#define __constant__           __attribute__((constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#ifdef __CUDA_ARCH__
#define __grid_constant__ __attribute__((grid_constant))
#else /* clang knows the word for the device only */
#define __grid_constant__
#endif
/* clang's CUDA mode has no managed variables: weir cc knows them by this section
 * (src/cc/managed.c).
 */
#ifdef WEIR_CC_MANAGED
#define __managed__ __attribute__((device)) __attribute__((section("weir_managed")))
#else
#define __managed__ _Static_assert(0, "__managed__ needs weir cc");
#endif
#define __cluster_dims__(...)                                                                      \
    _Static_assert(0, "weir cc does not support __cluster_dims__ (clusters) yet");

#elif !defined(__CUDACC__)

#define __host__
#define __device__
#define __global__
#define __shared__
#define __constant__
#define __managed__
#define __launch_bounds__(...)
#define __grid_constant__
#define __cluster_dims__(...)

#endif

#define __forceinline__ __inline__ __attribute__((always_inline))
#define __align__(n)    __attribute__((aligned(n)))

#endif
