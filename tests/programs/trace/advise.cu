/* What weir advise must find, and what it must not: for each kind a bad form and a good one.
 *   advise KIND bad|good
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

#include "../ok.h"

enum { N = 1 << 18, CHUNKS = 16 };

__global__ void work(const unsigned *in, unsigned *out, int n, int steps)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned x = in[i];
    for (int s = 0; s < steps; s++)
        x = 1664525u * x + 1013904223u;
    out[i] = x;
}

/* A name that needs quoting in CSV and XML. */
template <int A, int B> __global__ void pair(unsigned *to)
{
    to[threadIdx.x] = A * B;
}

static unsigned *in, *out, *host_in, *host_out, *pageable;
static cudaStream_t s[4], blocking[2];
static cudaEvent_t plain[CHUNKS], timed[CHUNKS];

static void launch(int c, cudaStream_t at, int steps, int n = N / CHUNKS)
{
    work<<<(n + 255) / 256, 256, 0, at>>>(in + c * (N / CHUNKS), out + c * (N / CHUNKS), n, steps);
    OK(cudaGetLastError());
}
/* One block: two of them run at the same time on any machine with two processors. */
static void launch_small(int c, cudaStream_t at, int steps)
{
    work<<<1, 32, 0, at>>>(in + c * (N / CHUNKS), out + c * (N / CHUNKS), 32, steps);
    OK(cudaGetLastError());
}
static void copy_in(int c, cudaStream_t at, const unsigned *from)
{
    OK(cudaMemcpyAsync(in + c * (N / CHUNKS), from + c * (N / CHUNKS), 4 * (N / CHUNKS), cudaMemcpyHostToDevice, at));
}
static void copy_out(int c, cudaStream_t at, unsigned *to)
{
    OK(cudaMemcpyAsync(to + c * (N / CHUNKS), out + c * (N / CHUNKS), 4 * (N / CHUNKS), cudaMemcpyDeviceToHost, at));
}

/* What comes behind in that stream begins when the host lets it: all of it has been submitted by then, on any machine. */
static std::atomic<bool> released;
static void await_release(void *)
{
    while (!released)
        usleep(100);
}

enum { STEPS = 40000, SMALL_STEPS = 400000 };

static void streams(cudaStream_t bad, bool good)
{
    for (int c = 0; c < 12; c++)
        launch_small(c, good ? s[c % 4] : bad, SMALL_STEPS);
    OK(cudaDeviceSynchronize());
}
static void single(bool good) { streams(s[0], good); }
static void default_stream(bool good) { streams(0, good); }
static void legacy(bool good)
{
    for (int c = 0; c < 12; c += 3) {
        launch_small(c, blocking[0], SMALL_STEPS);
        launch_small(c + 1, good ? s[0] : 0, SMALL_STEPS);
        launch_small(c + 2, blocking[1], SMALL_STEPS);
    }
    OK(cudaDeviceSynchronize());
}
static void pageable_memory(bool good)
{
    for (int c = 0; c < 12; c++) {
        launch_small(c, s[c % 2], SMALL_STEPS);
        copy_out(c, s[c % 2], good ? host_out : pageable);
    }
    OK(cudaDeviceSynchronize());
}
static void sync_in_loop(bool good)
{
    for (int c = 0; c < 12; c++) {
        launch_small(c, s[c % 2], SMALL_STEPS);
        if (!good)
            OK(cudaDeviceSynchronize());
    }
    OK(cudaDeviceSynchronize());
}
static void alloc_in_loop(bool good)
{
    for (int c = 0; c < 12; c++) {
        void *p = NULL;
        if (!good)
            OK(cudaMalloc(&p, 1 << 20));
        launch_small(c, s[c % 2], SMALL_STEPS);
        if (!good)
            OK(cudaFree(p));
    }
    OK(cudaDeviceSynchronize());
}
static void copy_bound(bool good)
{
    for (int k = 0; k < 40; k++)
        for (int c = 0; c < (good ? 1 : CHUNKS); c++) {
            copy_in(c, s[c % 4], host_in);
            if (good)
                launch(c, s[c % 4], STEPS / 100);
        }
    OK(cudaDeviceSynchronize());
}
static void launch_bound(bool good)
{
    for (int k = 0; k < (good ? 10 : 3000); k++)
        launch_small(0, s[0], good ? SMALL_STEPS : 1);
    OK(cudaDeviceSynchronize());
}
static void unneeded(bool good)
{
    OK(cudaLaunchHostFunc(s[0], await_release, NULL));
    for (int c = 0; c < 8; c += 2) {
        launch_small(c, s[0], SMALL_STEPS);
        OK(cudaEventRecord(plain[c], s[0]));
        if (!good)
            OK(cudaStreamWaitEvent(s[1], plain[c], 0));
        launch_small(c + 1, s[1], SMALL_STEPS);
        OK(cudaEventRecord(plain[c + 1], s[1]));
        if (!good)
            OK(cudaStreamWaitEvent(s[0], plain[c + 1], 0));
    }
    released = true;
    OK(cudaDeviceSynchronize());
}
/* The wait is needed here: what one stream writes the other reads. */
static void needed(bool)
{
    for (int c = 0; c < 4; c++) {
        launch_small(c, s[0], SMALL_STEPS / 2);
        OK(cudaEventRecord(plain[c], s[0]));
        OK(cudaStreamWaitEvent(s[1], plain[c], 0));
        copy_out(c, s[1], host_out);
    }
    OK(cudaDeviceSynchronize());
}
static void small(bool good)
{
    for (int k = 0; k < 20; k++) {
        if (good)
            OK(cudaMemcpyAsync(in, host_in, 4 * 1024, cudaMemcpyHostToDevice, s[0]));
        else
            for (int i = 0; i < 64; i++)
                OK(cudaMemcpyAsync(in + 16 * i, host_in + 16 * i, 64, cudaMemcpyHostToDevice, s[0]));
        launch_small(0, s[0], 1000);
    }
    OK(cudaDeviceSynchronize());
}
static void timing(bool good)
{
    for (int c = 0; c < 12; c++) {
        launch_small(c, s[0], SMALL_STEPS / 10);
        OK(cudaEventRecord(good ? plain[c] : timed[c], s[0]));
        OK(cudaStreamWaitEvent(s[1], good ? plain[c] : timed[c], 0));
        copy_out(c, s[1], host_out);
    }
    OK(cudaDeviceSynchronize());
}

/* All that an export draws: streams, arrows between them, copies, names, a host function. */
static void shown(bool good)
{
    for (int c = 0; c < 4; c++) {
        copy_in(c, s[0], host_in);
        pair<1, 2><<<1, 32, 0, s[0]>>>(out);
        OK(cudaGetLastError());
        OK(cudaEventRecord(plain[c], s[0]));
        OK(cudaStreamWaitEvent(s[1], plain[c], 0));
        copy_out(c, s[1], host_out);
        launch_small(c, 0, 10);
    }
    OK(cudaLaunchHostFunc(s[1], await_release, NULL));
    released = true;
    unneeded(good);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(bool good);
    } kinds[] = {{"single-stream", single}, {"default-stream", default_stream}, {"legacy-serialization", legacy},
                 {"pageable-sync", pageable_memory}, {"sync-in-loop", sync_in_loop}, {"alloc-in-loop", alloc_in_loop},
                 {"copy-engine-bound", copy_bound}, {"launch-bound", launch_bound}, {"unneeded-wait", unneeded},
                 {"needed-wait", needed}, {"small-copies", small}, {"timing-events", timing},
                 {"shown", shown}};
    const bool good = argc > 2 && strcmp(argv[2], "good") == 0;

    OK(cudaMalloc(&in, 4 * N));
    OK(cudaMalloc(&out, 4 * N));
    OK(cudaMallocHost(&host_in, 4 * N));
    OK(cudaMallocHost(&host_out, 4 * N));
    pageable = (unsigned *)malloc(4 * N);
    for (cudaStream_t &one : s)
        OK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    for (cudaStream_t &one : blocking)
        OK(cudaStreamCreate(&one));
    for (int i = 0; i < CHUNKS; i++) {
        OK(cudaEventCreateWithFlags(&plain[i], cudaEventDisableTiming));
        OK(cudaEventCreate(&timed[i]));
    }
    for (size_t i = 0; argc > 1 && i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].name, argv[1]) == 0) {
            kinds[i].run(good);
            puts("RESULT PASS");
            return 0;
        }
    return 2;
}
