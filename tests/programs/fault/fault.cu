/* Kernels that fail, one a run: what is said of them. fault.sh finds the lines by their
 * marks.
 * SPDX-License-Identifier: Apache-2.0 */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__global__ void behind(int *p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i == n)
        p[i + (1 << 24)] = 1; /* @behind */
}

__global__ void null(int *p, int **where)
{
    if (threadIdx.x == 37 && blockIdx.x == 1)
        *where[0] = p[0]; /* @null */
}

__global__ void misaligned(char *p)
{
    ((int *)(p + 2))[threadIdx.x] = 1; /* @misaligned */
}

__global__ void shared(int *p, int n)
{
    extern __shared__ int s[];

    s[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    p[threadIdx.x] = s[threadIdx.x + n]; /* @shared */
}

__global__ void trap(int *p)
{
    if (p[0] == 0 && threadIdx.x >= 64)
        asm volatile("trap;"); /* @trap */
}

/* Long, so that it starts with the compiler's quick tier. */
__global__ void longer(float *p, int n)
{
    float x = p[threadIdx.x], y = x + 1, z = y * 2;

#pragma unroll
    for (int k = 0; k < 24; k++) {
        x = x * y + z;
        y = y * z + x;
        z = z * x + y;
    }
    p[threadIdx.x + (size_t)n * threadIdx.x] = x + y + z; /* @longer */
}

static int in_graph(int *p)
{
    cudaStream_t s;
    cudaGraph_t graph;
    cudaGraphExec_t exec;

    if (cudaStreamCreate(&s) != cudaSuccess ||
        cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal) != cudaSuccess)
        return 1;
    behind<<<4, 64, 0, s>>>(p, 130);
    if (cudaStreamEndCapture(s, &graph) != cudaSuccess ||
        cudaGraphInstantiate(&exec, graph, 0) != cudaSuccess ||
        cudaGraphLaunch(exec, s) != cudaSuccess)
        return 1;
    printf("%s\n", cudaGetErrorName(cudaStreamSynchronize(s)));
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int *p = NULL, **none = NULL;

    if (cudaMalloc(&p, 4096) != cudaSuccess || cudaMemset(p, 0, 4096) != cudaSuccess ||
        cudaMalloc(&none, 4096) != cudaSuccess || cudaMemset(none, 0, 4096) != cudaSuccess)
        return 1;
    if (strcmp(what, "behind") == 0)
        behind<<<4, 64>>>(p, 130);
    else if (strcmp(what, "null") == 0)
        null<<<2, 64>>>(p, none);
    else if (strcmp(what, "misaligned") == 0)
        misaligned<<<1, 64>>>((char *)p);
    else if (strcmp(what, "shared") == 0)
        shared<<<1, 64, 256>>>(p, 32);
    else if (strcmp(what, "graph") == 0)
        return in_graph(p);
    else if (strcmp(what, "trap") == 0)
        trap<<<1, 128>>>(p);
    else if (strcmp(what, "longer") == 0)
        longer<<<1, 64>>>((float *)p, 1 << 22);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    return 0;
}
