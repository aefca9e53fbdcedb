/* Modelled time: what the program is told between events, whatever machine it runs on.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "../ok.h"

enum { BYTES = 16 << 20, STEPS = 200000 };

__global__ void work(unsigned *p, int steps)
{
    unsigned x = p[threadIdx.x];
    for (int s = 0; s < steps; s++)
        x = 1664525u * x + 1013904223u;
    p[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

static cudaEvent_t from, to;

static float between(void)
{
    float ms;
    OK(cudaDeviceSynchronize());
    OK(cudaEventElapsedTime(&ms, from, to));
    return ms;
}

int main(void)
{
    cudaStream_t s[2];
    unsigned *p;
    char *host;

    OK(cudaMalloc(&p, BYTES));
    OK(cudaMallocHost(&host, BYTES));
    OK(cudaEventCreate(&from));
    OK(cudaEventCreate(&to));
    for (cudaStream_t &one : s)
        OK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));

    OK(cudaEventRecord(from, s[0]));
    OK(cudaMemcpyAsync(p, host, BYTES, cudaMemcpyHostToDevice, s[0]));
    OK(cudaEventRecord(to, s[0]));
    printf("copy %.4f\n", between());

    float one = 0;
    for (int blocks = 1; blocks <= 64; blocks *= 64) { /* 8 SMs take 64 blocks of 256 at a time */
        OK(cudaEventRecord(from, s[0]));
        work<<<blocks, 256, 0, s[0]>>>(p, STEPS);
        OK(cudaEventRecord(to, s[0]));
        const float ms = between();
        printf("kernel of %d: %.4f\n", blocks, ms);
        if (blocks == 1)
            one = ms;
        else
            printf("as many as fit at once take %s\n", ms < 8 * one ? "less than in turn" : "their turn");
    }

    /* Two streams: side by side. */
    OK(cudaEventRecord(from, s[0]));
    OK(cudaStreamWaitEvent(s[1], from, 0));
    work<<<1, 256, 0, s[0]>>>(p, STEPS);
    work<<<1, 256, 0, s[1]>>>(p + 256, STEPS);
    OK(cudaEventRecord(to, s[1]));
    printf("two beside each other: %s\n", between() < 1.5f * one ? "yes" : "no");
    for (int i = 0; i < 200; i++) { /* asked again and again: nothing is simulated twice */
        float ms;
        OK(cudaEventElapsedTime(&ms, from, to));
    }
    return 0;
}
