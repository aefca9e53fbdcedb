/* Kernels of several of these programs.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TESTS_HAZARDS_KERNELS_H
#define WEIR_TESTS_HAZARDS_KERNELS_H

static __global__ void fill(int *to, int value, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        to[i] = value;
}

static __global__ void copy(int *to, const int *from, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        to[i] = from[i];
}

#endif
