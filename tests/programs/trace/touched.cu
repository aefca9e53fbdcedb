// Two streams and a wait between them; both kernels are given the whole allocation, and touch what the form says. The first
// writes the first half.   touched halves|same|halo|columns|reads
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

static const int N = 1 << 14, ROUNDS = 20;

__global__ void fill(float *x, int first, int step)
{
    x[first + step * (blockIdx.x * blockDim.x + threadIdx.x)] += 1;
}

/* Its own half, and one value of the other. */
__global__ void beside(float *x, int first)
{
    const int i = first + blockIdx.x * blockDim.x + threadIdx.x;
    x[i] += x[first - 1];
}

/* Reads the first half, which the first kernel of the next round writes. */
__global__ void total(float *x, float *sum)
{
    atomicAdd(sum, x[blockIdx.x * blockDim.x + threadIdx.x]);
}

static void check(cudaError_t e)
{
    if (e != cudaSuccess) {
        fprintf(stderr, "touched: %s\n", cudaGetErrorString(e));
        _Exit(1);
    }
}

int main(int argc, char **argv)
{
    const char *form = argc > 1 ? argv[1] : "halves";
    const bool columns = !strcmp(form, "columns");
    const dim3 grid(N / 2 / 256), block(256);
    cudaStream_t s[2];
    cudaEvent_t done;
    float *x, *sum;

    check(cudaMalloc(&x, N * sizeof *x));
    check(cudaMalloc(&sum, sizeof *sum));
    for (int i = 0; i < 2; i++)
        check(cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking));
    check(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    for (int r = 0; r < ROUNDS; r++) {
        fill<<<grid, block, 0, s[0]>>>(x, 0, columns ? 2 : 1);
        check(cudaEventRecord(done, s[0]));
        check(cudaStreamWaitEvent(s[1], done, 0));
        if (!strcmp(form, "same"))
            fill<<<grid, block, 0, s[1]>>>(x, 0, 1);
        else if (!strcmp(form, "halo"))
            beside<<<grid, block, 0, s[1]>>>(x, N / 2);
        else if (!strcmp(form, "reads"))
            total<<<grid, block, 0, s[1]>>>(x, sum);
        else if (columns)
            fill<<<grid, block, 0, s[1]>>>(x, 1, 2);
        else
            fill<<<grid, block, 0, s[1]>>>(x, N / 2, 1);
        check(cudaEventRecord(done, s[1]));
        if (strcmp(form, "halves") != 0)
            check(cudaStreamWaitEvent(s[0], done, 0));
    }
    check(cudaDeviceSynchronize());
    return 0;
}
