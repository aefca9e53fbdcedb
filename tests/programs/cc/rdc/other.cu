// The other unit.
// SPDX-License-Identifier: Apache-2.0
__device__ int counter = 5;
__constant__ float table[4] = {1, 2, 7, 4};
__managed__ int shared_by_all = 100;
static __device__ int own = 3;

__device__ __noinline__ int twice(int x)
{
    return 2 * x;
}

__global__ void add(int *p)
{
    *p += own;
}

void add_own(int *p)
{
    add<<<1, 1>>>(p);
    cudaDeviceSynchronize();
}
