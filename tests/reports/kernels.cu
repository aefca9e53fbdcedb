// The kernels of tests/reports, and their launches behind C names.
// SPDX-License-Identifier: Apache-2.0
#include "kernels.h"

__global__ void fill(unsigned *p, size_t n, unsigned value)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x)
        p[i] = value;
}

__global__ void compare(const unsigned *p, size_t n, unsigned value, unsigned *bad)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x) {
        if (p[i] != value)
            atomicAdd(bad, 1u);
    }
}

__global__ void add(unsigned *p, size_t n, unsigned value)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x)
        p[i] += value;
}

__global__ void spin(const volatile unsigned *flag, volatile unsigned *begun)
{
    *begun = 1;
    __threadfence_system();
    while (*flag == 0)
        ;
}

__global__ void append(unsigned *list, unsigned id)
{
    list[1 + atomicAdd(list, 1u)] = id;
}

__global__ void first_use(unsigned *p)
{
    *p = 77;
}

__global__ void illegal(unsigned *p)
{
    p[threadIdx.x] = 1;
}

extern "C" {
void launch_fill(unsigned *p, size_t n, unsigned value, cudaStream_t s)
{
    fill<<<4, 128, 0, s>>>(p, n, value);
}

void launch_compare(const unsigned *p, size_t n, unsigned value, unsigned *bad, cudaStream_t s)
{
    compare<<<4, 128, 0, s>>>(p, n, value, bad);
}

void launch_add(unsigned *p, size_t n, unsigned value, cudaStream_t s)
{
    add<<<4, 128, 0, s>>>(p, n, value);
}

void launch_spin(const unsigned *flag, unsigned *begun, unsigned blocks, cudaStream_t s)
{
    spin<<<blocks, 1, 0, s>>>(flag, begun);
}

void launch_append(unsigned *list, unsigned id, cudaStream_t s)
{
    append<<<1, 1, 0, s>>>(list, id);
}

void launch_first_use(unsigned *p, cudaStream_t s)
{
    first_use<<<1, 1, 0, s>>>(p);
}

void launch_illegal(unsigned *p, cudaStream_t s)
{
    illegal<<<1, 32, 0, s>>>(p);
}

const void *kernel_fill(void)
{
    return (const void *)fill;
}

const void *kernel_add(void)
{
    return (const void *)add;
}
}
