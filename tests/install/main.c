/* A C program that uses the installed CUDA runtime.
 * SPDX-License-Identifier: Apache-2.0 */
#include <cuda_runtime.h>
#include <stdio.h>

#define N 1000

int main(void)
{
    static int in[N], out[N];
    int devices = 0, right = 0;
    cudaStream_t stream;
    void *p = NULL;

    for (int i = 0; i < N; i++)
        in[i] = i * i;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || cudaStreamCreate(&stream) != cudaSuccess ||
        cudaMalloc(&p, sizeof in) != cudaSuccess ||
        cudaMemcpyAsync(p, in, sizeof in, cudaMemcpyHostToDevice, stream) != cudaSuccess ||
        cudaMemcpyAsync(out, p, sizeof in, cudaMemcpyDeviceToHost, stream) != cudaSuccess ||
        cudaStreamSynchronize(stream) != cudaSuccess || cudaFree(p) != cudaSuccess) {
        fprintf(stderr, "%s\n", cudaGetErrorString(cudaGetLastError()));
        return 1;
    }
    for (int i = 0; i < N; i++)
        right += out[i] == i * i;
    printf("%d device, %d values right\n", devices, right);
    return 0;
}
