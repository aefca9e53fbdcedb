/* Kernels with much shared memory of their own.
 * SPDX-License-Identifier: Apache-2.0 */
#include <cstdio>

__device__ __noinline__ int turn(int x)
{
    __shared__ int row[64];
    row[threadIdx.x] = x;
    __syncthreads();
    return row[63 - threadIdx.x];
}

template <int N> __global__ void large(int *out)
{
    __shared__ int part[8192];
    part[threadIdx.x * 128] = (int)threadIdx.x * N;
    __syncthreads();
    out[threadIdx.x] = part[(63 - threadIdx.x) * 128];
}

__global__ void small(int *out)
{
    out[threadIdx.x] = turn((int)threadIdx.x);
}

static int shared_bytes(const void *kernel)
{
    cudaFuncAttributes a;

    return cudaFuncGetAttributes(&a, kernel) == cudaSuccess ? (int)a.sharedSizeBytes : -1;
}

int main()
{
    int *d, h[64], bad = 0, factor[3] = {1, 2, 1};

    if (cudaMalloc(&d, sizeof h) != cudaSuccess)
        return 1;
    for (int k = 0; k < 3; k++) {
        k == 0 ? large<1><<<1, 64>>>(d) : k == 1 ? large<2><<<1, 64>>>(d) : small<<<1, 64>>>(d);
        bad += cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost) != cudaSuccess;
        for (int i = 0; i < 64; i++)
            bad += h[i] != (63 - i) * factor[k];
    }
    printf("shared: %d %d %d, %d bad\n", shared_bytes((const void *)large<1>),
           shared_bytes((const void *)large<2>), shared_bytes((const void *)small), bad);
    return bad != 0;
}
