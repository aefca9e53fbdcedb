/* A library that launches where it is told, the default stream included. SPDX-License-Identifier: Apache-2.0 */
#include <cuda_runtime.h>

__global__ void library_work(unsigned *p, int steps)
{
    unsigned x = threadIdx.x;
    for (int s = 0; s < steps; s++)
        x = 1664525u * x + 1013904223u;
    p[threadIdx.x] = x;
}

extern "C" void library_run(cudaStream_t s)
{
    static unsigned *p;
    if (!p)
        cudaMalloc(&p, 4 * 32);
    library_work<<<1, 32, 0, s>>>(p, 400000);
}
