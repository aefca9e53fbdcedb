/* How long does a kernel take? Five measurements of the same kernel, of which three mislead: the first launch (loads the
 * code), the wall clock around an asynchronous launch (measures the submission), a single sample. The right ones are
 * events around many warm launches, and the wall clock around them with a synchronisation inside the bracket.
 * SPDX-License-Identifier: Apache-2.0 */
#include <algorithm>
#include <vector>

#include "common.h"

__global__ void work(float *data, int n, int steps)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float x = data[i];
    for (int s = 0; s < steps; s++)
        x = 0.5f * x + 1.0f; /* tends to 2, whatever it began with */
    data[i] = x;
}

static const int n = 1 << 20, steps = 200, launches = 20;

static void launch(float *data)
{
    work<<<(n + 255) / 256, 256>>>(data, n, steps);
    CHECK(cudaGetLastError());
}

int main()
{
    float *data;
    cudaEvent_t begin, end;
    CHECK(cudaMalloc(&data, n * sizeof *data));
    CHECK(cudaMemset(data, 0, n * sizeof *data));
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaDeviceSynchronize());

    double t = now_ms();
    launch(data);
    CHECK(cudaDeviceSynchronize());
    const double cold = now_ms() - t;

    for (int i = 0; i < 5; i++)
        launch(data);
    CHECK(cudaDeviceSynchronize());

    t = now_ms();
    launch(data);
    const double submission = now_ms() - t;
    CHECK(cudaDeviceSynchronize());
    const double single = now_ms() - t;

    std::vector<float> by_event(launches);
    for (float &ms : by_event) {
        CHECK(cudaEventRecord(begin, 0));
        launch(data);
        CHECK(cudaEventRecord(end, 0));
        CHECK(cudaEventSynchronize(end));
        CHECK(cudaEventElapsedTime(&ms, begin, end));
    }
    std::sort(by_event.begin(), by_event.end());

    t = now_ms();
    for (int i = 0; i < launches; i++)
        launch(data);
    CHECK(cudaDeviceSynchronize());
    const double wall = (now_ms() - t) / launches;

    printf("wall clock, first launch (cold)             %9.4f ms   misleads: includes loading the code\n", cold);
    printf("wall clock, no synchronisation in bracket   %9.4f ms   misleads: the submission alone\n", submission);
    printf("wall clock, one warm launch + synchronise   %9.4f ms   misleads: one sample, with its wait\n", single);
    printf("events around a warm launch, median of %d   %9.4f ms   right (least %.4f, most %.4f)\n", launches,
           by_event[launches / 2], by_event.front(), by_event.back());
    printf("wall clock over %d launches + synchronise   %9.4f ms   right, launch cost included\n", launches, wall);

    std::vector<float> host(n);
    CHECK(cudaMemcpy(host.data(), data, n * sizeof *data, cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (float x : host)
        wrong += x != 2.0f;
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
    CHECK(cudaFree(data));
    const bool sane = by_event.front() > 0 && wall > 0.2 * by_event.front() && submission < single;
    printf("RESULT %s %d wrong\n", wrong || !sane ? "FAIL" : "PASS", wrong);
    return wrong || !sane;
}
