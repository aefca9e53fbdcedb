// Nodes that copy to and from variables of the device: in a graph, in an instance, and set anew.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

__device__ int in[4] = {1, 2, 3, 4};
__device__ int out[4];
__constant__ int factor = 2;

__global__ void scale()
{
    out[threadIdx.x] = in[threadIdx.x] * factor;
}

static int bad;

static void ok(cudaError_t e, int line)
{
    if (e != cudaSuccess)
        printf("%d: %s\n", line, cudaGetErrorName(e)), bad++;
}
#define OK(call) ok(call, __LINE__)

static void expect(const int *got, int a, int b, int c, int d, int line)
{
    if (got[0] != a || got[1] != b || got[2] != c || got[3] != d)
        printf("%d: %d %d %d %d\n", line, got[0], got[1], got[2], got[3]), bad++;
}
#define EXPECT(...) expect(host, __VA_ARGS__, __LINE__)

int main()
{
    int host[4] = {0}, three = 3, more[4] = {10, 20, 30, 40}, other[4] = {5, 6, 7, 8};
    cudaKernelNodeParams k = {};
    cudaGraphNode_t up, kernel, down;
    cudaGraphExec_t x;
    cudaStream_t s;
    cudaGraph_t g;

    OK(cudaStreamCreate(&s));
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphAddMemcpyNodeToSymbol(&up, g, nullptr, 0, factor, &three, sizeof three, 0, cudaMemcpyHostToDevice));
    k.func = (void *)scale;
    k.gridDim = 1;
    k.blockDim = 4;
    OK(cudaGraphAddKernelNode(&kernel, g, &up, 1, &k));
    OK(cudaGraphAddMemcpyNodeFromSymbol(&down, g, &kernel, 1, host, out, sizeof out, 0, cudaMemcpyDeviceToHost));
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphLaunch(x, s));
    OK(cudaStreamSynchronize(s));
    EXPECT(3, 6, 9, 12);
    OK(cudaGraphExecMemcpyNodeSetParamsToSymbol(x, up, in, more, sizeof more, 0, cudaMemcpyHostToDevice));
    OK(cudaGraphExecMemcpyNodeSetParamsFromSymbol(x, down, host, out, 8, 8, cudaMemcpyDeviceToHost));
    OK(cudaGraphLaunch(x, s));
    OK(cudaStreamSynchronize(s));
    EXPECT(90, 120, 9, 12);
    OK(cudaGraphMemcpyNodeSetParamsToSymbol(up, in, other, 8, 8, cudaMemcpyHostToDevice)); // the last two
    OK(cudaGraphMemcpyNodeSetParamsFromSymbol(down, host, in, sizeof in, 0, cudaMemcpyDeviceToHost));
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphLaunch(x, s));
    OK(cudaStreamSynchronize(s));
    EXPECT(10, 20, 5, 6);
    if (cudaGraphMemcpyNodeSetParamsToSymbol(up, in, other, 64, 0, cudaMemcpyHostToDevice) == cudaSuccess)
        printf("beyond the symbol's end\n"), bad++;
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
    printf("RESULT %s\n", bad ? "FAIL" : "PASS");
}
