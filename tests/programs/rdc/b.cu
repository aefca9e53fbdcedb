/* The other unit; private names are those of a.cu again.
 * SPDX-License-Identifier: Apache-2.0 */
#include "units.h"

static __device__ int local_state = 50;
__device__ int in_b = 100;
__constant__ int weights[4] = {1, 2, 3, 4};
__managed__ int managed_b[4] = {9, 9, 9, 9};

static __device__ __noinline__ int helper(int x)
{
    return x * local_state;
}

__device__ int scale(int x)
{
    return 2 * x + helper(1) + in_a;
}

__device__ int triple(int x)
{
    return 3 * x;
}

static __device__ int four(int x)
{
    return 4 * x;
}

__device__ operation operations[3] = {scale, triple, four};

struct square : shape {
    int side;
    __device__ square(int a) : side(a) {}
    __device__ int area() const override { return side * side; }
};

__device__ void make_shape(shape **where, int a)
{
    *where = new square(a);
}

static __global__ void same_name(int *out)
{
    *out = 2000 + local_state;
}

void run_b(int *out)
{
    same_name<<<1, 1>>>(out);
    both<<<1, 1>>>(out);
    OK(cudaGetLastError());
}
