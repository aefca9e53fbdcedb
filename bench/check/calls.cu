/* What `weir check` costs programs that are bound by the API (launches of an empty kernel, events, small copies), and copies
 * of 4 MiB. Prints `name wall_ms cpu_ms`, the cheapest of some rounds.
 * SPDX-License-Identifier: Apache-2.0 */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 9
#define CALLS  2000
#define COPIES 16
#define BYTES  ((size_t)4 << 20)

static double seconds(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

__global__ void nothing(int) {}

template <class F> static void measure(const char *name, F work)
{
    double wall = 1e9, cpu = 1e9;

    for (int i = 0; i < ROUNDS; i++) {
        double w = seconds(CLOCK_MONOTONIC), c = seconds(CLOCK_PROCESS_CPUTIME_ID);

        work();
        cudaDeviceSynchronize();
        w = seconds(CLOCK_MONOTONIC) - w;
        c = seconds(CLOCK_PROCESS_CPUTIME_ID) - c;
        wall = w < wall ? w : wall;
        cpu = c < cpu ? c : cpu;
    }
    printf("%-12s %10.3f %10.3f\n", name, wall * 1e3, cpu * 1e3);
    fflush(stdout);
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
    measure("launches", [&] {
        for (int i = 0; i < CALLS; i++)
            nothing<<<1, 32, 0, a>>>(i);
    });
    measure("events", [&] {
        for (int i = 0; i < CALLS; i++) {
            cudaEventRecord(e, a);
            cudaStreamWaitEvent(b, e, 0);
        }
    });
    measure("small_copies", [&] {
        for (int i = 0; i < CALLS; i++)
            cudaMemcpyAsync(device, host, 64, cudaMemcpyHostToDevice, a);
    });
    measure("copies_4MiB", [&] {
        for (int i = 0; i < COPIES; i++)
            cudaMemcpyAsync(device, host, BYTES, cudaMemcpyHostToDevice, a);
    });
    return 0;
}
