/* A and B run side by side in two streams; C needs both. C goes into A's stream, which orders it behind A, and an event
 * recorded after B orders it behind B. The host waits for nothing in between.
 * SPDX-License-Identifier: Apache-2.0 */
#include "common.h"

__global__ void fill(float *out, float value, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = value + i;
}

__global__ void add(const float *a, const float *b, float *c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

int main()
{
    const int n = 1 << 20, threads = 256, blocks = (n + threads - 1) / threads, rounds = 20;
    float *a, *b, *c, *host;
    CHECK(cudaMalloc(&a, n * sizeof *a));
    CHECK(cudaMalloc(&b, n * sizeof *b));
    CHECK(cudaMalloc(&c, n * sizeof *c));
    CHECK(cudaMallocHost(&host, n * sizeof *host));

    cudaStream_t first, second;
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    cudaEvent_t b_done, c_done;
    CHECK(cudaEventCreateWithFlags(&b_done, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&c_done, cudaEventDisableTiming));
    CHECK(cudaEventRecord(c_done, first));

    for (int round = 0; round < rounds; round++) {
        fill<<<blocks, threads, 0, first>>>(a, 1.0f * round, n);

        /* The next B overwrites what the last C reads: that is a dependency too. */
        CHECK(cudaStreamWaitEvent(second, c_done, 0));
        fill<<<blocks, threads, 0, second>>>(b, 2.0f * round, n);
        CHECK(cudaEventRecord(b_done, second));

        CHECK(cudaStreamWaitEvent(first, b_done, 0));
        add<<<blocks, threads, 0, first>>>(a, b, c, n);
        CHECK(cudaEventRecord(c_done, first));
        CHECK(cudaGetLastError());
    }
    CHECK(cudaMemcpyAsync(host, c, n * sizeof *c, cudaMemcpyDeviceToHost, first));
    CHECK(cudaStreamSynchronize(first));

    int wrong = 0;
    for (int i = 0; i < n; i++)
        wrong += host[i] != 3.0f * (rounds - 1) + 2.0f * i;

    CHECK(cudaEventDestroy(b_done));
    CHECK(cudaEventDestroy(c_done));
    CHECK(cudaStreamDestroy(first));
    CHECK(cudaStreamDestroy(second));
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(c));
    CHECK(cudaFreeHost(host));
    printf("RESULT %s C = A + B, %d of %d wrong\n", wrong ? "FAIL" : "PASS", wrong, n);
    return wrong != 0;
}
