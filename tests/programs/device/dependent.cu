// Programmatic dependent launch: kernels that let the next one begin early and wait for the one before them. Many
// blocks, few workers, blocks that poll meanwhile: nothing is lost, nothing is early, everything ends.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cuda_runtime.h>

static const int N = 30000, CHAIN = 60, BEHIND = 4;

// Adds 1 to every element once the kernel before it has ended.
__global__ void step(int *d, int poll, volatile int *flag, volatile int *begun)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    asm volatile("griddepcontrol.launch_dependents;");
    *begun = 1;
    __threadfence_system();
    while (poll && *flag == 0)
        __nanosleep(200);
    asm volatile("griddepcontrol.wait;" ::: "memory");
    if (i < N)
        d[i] += 1;
}

static cudaError_t launch(cudaStream_t s, int *d, int poll, int *flag, int *begun)
{
    cudaLaunchConfig_t c = {};
    cudaLaunchAttribute a = {};

    a.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    a.val.programmaticStreamSerializationAllowed = 1;
    c.gridDim = dim3((N + 255) / 256);
    c.blockDim = dim3(256);
    c.stream = s;
    c.attrs = &a;
    c.numAttrs = 1;
    return cudaLaunchKernelEx(&c, step, d, poll, (volatile int *)flag, (volatile int *)begun);
}

static bool wait_for(volatile int *p)
{
    for (long i = 0; i < 2000000000 && *p == 0; i++)
        ;
    return *p != 0;
}

int main()
{
    static int h[N];
    cudaStream_t streams[2];
    int *d[2], *words, bad = 0;

    cudaMallocHost(&words, 256);
    for (int k = 0; k < 2; k++) {
        cudaStreamCreateWithFlags(&streams[k], k ? cudaStreamDefault : cudaStreamNonBlocking);
        cudaMalloc(&d[k], sizeof h);
        cudaMemset(d[k], 0, sizeof h);
    }
    cudaDeviceSynchronize();
    for (int i = 0; i < CHAIN; i++) {
        for (int k = 0; k < 2; k++)
            bad += launch(streams[k], d[k], 0, words, words + 8) != cudaSuccess;
    }
    bad += cudaDeviceSynchronize() != cudaSuccess;
    words[0] = words[16] = 0;
    bad += launch(streams[0], d[0], 1, words, words + 8) != cudaSuccess;
    bad += launch(streams[0], d[0], 0, words, words + 16) != cudaSuccess;
    for (int i = 1; i < BEHIND; i++)
        bad += launch(streams[0], d[0], 0, words, words + 24) != cudaSuccess;
    if (!wait_for(words + 16)) { // it begins while the first one still polls
        printf("the dependent kernel did not begin early\n");
        bad++;
    }
    bad += cudaStreamQuery(streams[0]) != cudaErrorNotReady;
    *(volatile int *)words = 1;
    bad += cudaDeviceSynchronize() != cudaSuccess;
    for (int k = 0; k < 2; k++) {
        cudaMemcpy(h, d[k], sizeof h, cudaMemcpyDeviceToHost);
        for (int i = 0; i < N; i++)
            bad += h[i] != CHAIN + (k == 0 ? 1 + BEHIND : 0);
    }
    printf("dependent: %d bad\n", bad);
    return bad != 0;
}
