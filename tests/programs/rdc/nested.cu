/* Kernels that use CUDA's runtime on the device: only what is not there is refused.
 * SPDX-License-Identifier: Apache-2.0 */
#include <cstdio>

__global__ void child(int *out)
{
    *out = 5;
}

__global__ void parent(int *out)
{
    child<<<1, 1>>>(out);
}

__global__ void ask(int *out)
{
    cudaGetDeviceCount(out);
}

__global__ void relaunch(cudaGraphExec_t graph)
{
    cudaGraphLaunch(graph, cudaStreamGraphTailLaunch);
}

int main()
{
    int *out, value = 0;

    cudaMalloc(&out, sizeof *out);
    parent<<<1, 1>>>(out);
    printf("parent: %s\n", cudaGetErrorName(cudaGetLastError()));
    cudaMemcpy(&value, out, 4, cudaMemcpyDeviceToHost);
    printf("value %d\n", value);
    ask<<<1, 1>>>(out);
    printf("ask: %s\n", cudaGetErrorName(cudaGetLastError()));
    cudaMemcpy(&value, out, 4, cudaMemcpyDeviceToHost);
    printf("value %d\n", value);
    relaunch<<<1, 1>>>(0);
    printf("relaunch: %s\n", cudaGetErrorName(cudaGetLastError()));
    return 0;
}
