/* SPDX-License-Identifier: Apache-2.0
 * HIP-CPU driver of the kernel benchmark: the kernels of cuda.cu, threads of a block as fibers.
   Device memory is the host's. */
#include <hip/hip_runtime.h>
#ifndef SYS
#define SYS "hip-cpu"
#endif
#define RSQRT(x) (1.0f / sqrtf(x))
#define WARP32
#define SHFL_DOWN(v, o) __shfl_down(v, o, 32)
#include "kernels.cuh"
#define LAUNCH(k, gx, gy, bx, by, ...)                                                             \
    hipLaunchKernelGGL(k, dim3(gx, gy), dim3(bx, by), 0, nullptr, __VA_ARGS__)
#define SYNC()        (void)hipDeviceSynchronize()
#define DMALLOC(p, n) (void)hipMalloc(p, n)
#include "drv.h"
int main()
{
    return run_all();
}
