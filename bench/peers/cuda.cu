/* SPDX-License-Identifier: Apache-2.0
 * CUDA driver of the kernel benchmark: the same kernels and checks, for a real GPU or for Weir.
   nvcc -O3 -cudart shared cuda.cu common.o -o cuda   (managed memory, so that inputs are written in
   place) */
#include <cuda_runtime.h>
#ifndef SYS
#define SYS "cuda"
#endif
#define RSQRT(x) rsqrtf(x)
#ifndef NO_SHUFFLES
#define WARP32
#define SHFL_DOWN(v, o) __shfl_down_sync(0xffffffffu, v, o)
#endif
#include "kernels.cuh"
#define LAUNCH(k, gx, gy, bx, by, ...) k<<<dim3(gx, gy), dim3(bx, by)>>>(__VA_ARGS__)
#define SYNC()                         (void)cudaDeviceSynchronize()
#ifdef PLAIN_MEMORY /* where the host reads a device's memory as its own */
#define DMALLOC(p, n) (void)cudaMalloc((void **)(p), n)
#else
#define DMALLOC(p, n) (void)cudaMallocManaged(p, n)
#endif
#include "drv.h"
int main()
{
    return run_all();
}
