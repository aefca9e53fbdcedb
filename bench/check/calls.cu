/* What `weir check` costs programs that are bound by the API (launches of an empty kernel, events, small copies), copies
 * of 4 MiB, copies that close pinned memory and waits that open it again, and short kernels. Prints `name wall_ms cpu_ms`, the cheapest of some rounds.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "cost.h"

#ifndef ROUNDS
#define ROUNDS 9
#endif
#ifndef WARM_SECONDS
#define WARM_SECONDS 3
#endif
#define CALLS  2000
#define COPIES 16
#define BYTES  ((size_t)4 << 20)
#define PAIRS  200
#define MOST   16384 /* floats that a short kernel adds */

__global__ void nothing(int) {}

__global__ void add(float *y, const float *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    y[i] += x[i];
}

static void copy_and_wait(cudaStream_t s, char *device, char *host, int count, size_t bytes)
{
    for (int i = 0; i < PAIRS; i++) {
        for (int k = 0; k < count; k++) /* far apart: ranges of their own */
            cudaMemcpyAsync(device + k * (BYTES / 8), host + k * (BYTES / 8), bytes, cudaMemcpyHostToDevice, s);
        cudaStreamSynchronize(s);
    }
}

static void add_often(cudaStream_t s, float *y, int blocks)
{
    for (int i = 0; i < CALLS / 2; i++)
        add<<<blocks, 256, 0, s>>>(y, y + MOST);
}

int main()
{
    cudaStream_t a, b;
    cudaEvent_t e;
    char *device, *host;

    cudaStreamCreate(&a);
    cudaStreamCreate(&b);
    cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
    if (cudaMalloc(&device, BYTES) != cudaSuccess || cudaMallocHost(&host, BYTES) != cudaSuccess) {
        fprintf(stderr, "no memory\n");
        return 1;
    }
    print_cost("launches", ROUNDS, [&] {
        for (int i = 0; i < CALLS; i++)
            nothing<<<1, 32, 0, a>>>(i);
    });
    print_cost("events", ROUNDS, [&] {
        for (int i = 0; i < CALLS; i++) {
            cudaEventRecord(e, a);
            cudaStreamWaitEvent(b, e, 0);
        }
    });
    print_cost("small_copies", ROUNDS, [&] {
        for (int i = 0; i < CALLS; i++)
            cudaMemcpyAsync(device, host, 64, cudaMemcpyHostToDevice, a);
    });
    print_cost("copies_4MiB", ROUNDS, [&] {
        for (int i = 0; i < COPIES; i++)
            cudaMemcpyAsync(device, host, BYTES, cudaMemcpyHostToDevice, a);
    });
    print_cost("pairs", ROUNDS, [&] { copy_and_wait(a, device, host, 1, BYTES / 16); });
    print_cost("pairs_of_8", ROUNDS, [&] { copy_and_wait(a, device, host, 8, 4096); });
    cudaMemset(device, 0, BYTES);
    for (double until = seconds(CLOCK_MONOTONIC) + WARM_SECONDS; seconds(CLOCK_MONOTONIC) < until; cudaDeviceSynchronize())
        add_often(a, (float *)device, 4); /* the better tier of its code comes meanwhile */
    print_cost("short_4", ROUNDS, [&] { add_often(a, (float *)device, 4); });
    print_cost("short_64", ROUNDS, [&] { add_often(a, (float *)device, 64); });
    return 0;
}
