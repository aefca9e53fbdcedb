// Two streams and a wait between them; both kernels are given the whole allocation, and touch what the form says. The first
// writes the first half.   touched halves|same|halo|columns|reads|graph-halves|graph-same: the latter two by graphs, one for
// each stream, with a copy on the device of a value in its half.
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

static cudaGraphExec_t captured(cudaStream_t s, float *x, int first)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;

    check(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    fill<<<N / 2 / 256, 256, 0, s>>>(x, first, 1);
    check(cudaMemcpyAsync(x + first, x + first + 1, sizeof *x, cudaMemcpyDeviceToDevice, s));
    check(cudaStreamEndCapture(s, &graph));
    check(cudaGraphInstantiate(&exec, graph, 0));
    return exec;
}

static void graphs(cudaStream_t s[2], cudaEvent_t done, float *x, bool same)
{
    cudaGraphExec_t a = captured(s[0], x, 0), b = captured(s[1], x, same ? 0 : N / 2);

    for (int r = 0; r < ROUNDS; r++) {
        check(cudaGraphLaunch(a, s[0]));
        check(cudaEventRecord(done, s[0]));
        check(cudaStreamWaitEvent(s[1], done, 0));
        check(cudaGraphLaunch(b, s[1]));
        check(cudaEventRecord(done, s[1]));
        if (same)
            check(cudaStreamWaitEvent(s[0], done, 0));
    }
    check(cudaDeviceSynchronize());
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
    if (!strncmp(form, "graph-", 6)) {
        graphs(s, done, x, !strcmp(form, "graph-same"));
        return 0;
    }
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
