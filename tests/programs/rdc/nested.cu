/* Kernels that use CUDA's runtime on the device, beside one that does not: only they are refused.
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

int main()
{
    int *out, value = 0;

    cudaMalloc(&out, sizeof *out);
    parent<<<1, 1>>>(out);
    printf("parent: %s\n", cudaGetErrorName(cudaGetLastError()));
    ask<<<1, 1>>>(out);
    printf("ask: %s\n", cudaGetErrorName(cudaGetLastError()));
    child<<<1, 1>>>(out);
    printf("child: %s\n", cudaGetErrorName(cudaMemcpy(&value, out, 4, cudaMemcpyDeviceToHost)));
    printf("value %d\n", value);
    return 0;
}
