/* What `weir check` costs programs that are bound by the API (launches of an empty kernel, events, small copies), and copies
 * of 4 MiB. Prints `name wall_ms cpu_ms`, the cheapest of some rounds.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "cost.h"

#define ROUNDS 9
#define CALLS  2000
#define COPIES 16
#define BYTES  ((size_t)4 << 20)

__global__ void nothing(int) {}

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
    return 0;
}
