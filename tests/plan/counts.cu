// Kernels whose work can be counted on paper: n elements, each loaded and stored once, a loop between. With an argument they are the
// nodes of a graph that is launched twice.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

__global__ void loop(float *x, int n, int times)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i >= n)
        return;
    float a = x[i];
#pragma unroll 1
    for (int k = 0; k < times; k++)
        a = a * 0.5f + 1.0f;
    x[i] = a;
}

int main(int argc, char **)
{
    const bool graph = argc > 1;
    cudaStream_t s;
    cudaGraph_t g;
    cudaGraphExec_t exec;
    const int n = 1000; // the last block has a warp of 8 threads, and one of none
    float *x;

    cudaMalloc(&x, n * sizeof *x);
    cudaMemset(x, 0, n * sizeof *x);
    cudaStreamCreate(&s);
    if (graph)
        cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    for (int times = 10; times <= 40; times += 10)
        loop<<<4, 288, 0, s>>>(x, n, times);
    if (graph) {
        cudaStreamEndCapture(s, &g);
        cudaGraphInstantiate(&exec, g, 0);
        for (int i = 0; i < 2; i++)
            cudaGraphLaunch(exec, s);
    }
    cudaError_t err = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(err));
    return err != cudaSuccess;
}
