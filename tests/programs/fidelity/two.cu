/* Kernels for `weir run --fidelity`: one of exact instructions alone, one with three approximate
 * ones; with an argument, one that is refused.
 * SPDX-License-Identifier: Apache-2.0 */
#include <cuda_runtime.h>
#include <stdio.h>

__global__ void exact(int *p)
{
    p[threadIdx.x] = p[threadIdx.x] * 3 + 1;
}

__global__ void approximate(float *p)
{
    float x = p[threadIdx.x];

    p[threadIdx.x] = __sinf(x) + __fdividef(x, 3.0f) + __cosf(x);
}

__global__ void refused(int *p)
{
    unsigned short h = 0;

    asm volatile("fma.rn.oob.f16 %0, %0, %0, %0;" : "+h"(h));
    p[threadIdx.x] = h;
}

int main(int argc, char **)
{
    void *p = NULL;

    if (cudaMalloc(&p, 4096) != cudaSuccess || cudaMemset(p, 0, 4096) != cudaSuccess)
        return 1;
    for (int i = 0; i < 2; i++) { /* reported once each */
        exact<<<1, 32>>>((int *)p);
        approximate<<<1, 32>>>((float *)p);
    }
    if (argc > 1) {
        refused<<<1, 32>>>((int *)p);
        refused<<<1, 32>>>((int *)p);
        if (cudaGetLastError() != cudaErrorNotSupported)
            return 2;
    }
    return cudaDeviceSynchronize() != cudaSuccess;
}
