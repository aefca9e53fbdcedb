/* A program with streams that uses a library whose handle keeps a stream (smooth.h).
 * SPDX-License-Identifier: Apache-2.0
 *
 *   set_stream [--form default|shared|own] [--rounds N] [--values N]
 *
 * default  nobody sets the handle's stream: the library works in the legacy default stream, for which streams that are
 *          non-blocking do not wait: a race with the copies
 * shared   one handle, set to the one and the other stream in turn: its workspace is used by both at once, a race
 * own      a handle for each stream
 *
 * In each form the host waits for a stream only when it wants that one's buffers again. */
#include <vector>

#include "common.h"
#include "smooth.h"

enum { STREAMS = 3 }; /* as many as a round has stages: up, kernels, down */

struct lane {
    float *host_in, *host_out, *in, *out;
    cudaStream_t stream;
    smooth_handle handle;
    int round; /* what is in flight; -1: nothing */
};

static float source(int round, int s, int i)
{
    return (float)((i * 7 + round * 3 + s) % 64);
}

static float once(int round, int s, int i, int n)
{
    if (i == 0 || i == n - 1)
        return source(round, s, i);
    return (source(round, s, i - 1) + 2 * source(round, s, i) + source(round, s, i + 1)) / 4;
}

static float twice(int round, int s, int i, int n)
{
    if (i == 0 || i == n - 1)
        return source(round, s, i);
    return (once(round, s, i - 1, n) + 2 * once(round, s, i, n) + once(round, s, i + 1, n)) / 4;
}

/* Waits for what the lane has in flight; how many values of it are wrong, of those that are looked at. */
static int collect(lane &at, int s, int n)
{
    int wrong = 0;
    if (at.round < 0)
        return 0;
    CHECK(cudaStreamSynchronize(at.stream));
    for (int i = 0; i < n; i += i < 64 || i >= n - 64 ? 1 : 13)
        wrong += at.host_out[i] != twice(at.round, s, i, n);
    at.round = -1;
    return wrong;
}

static void submit(lane &at, smooth_handle *handle, int round, int s, int n)
{
    for (int i = 0; i < n; i++)
        at.host_in[i] = source(round, s, i);
    CHECK(cudaMemcpyAsync(at.in, at.host_in, n * sizeof(float), cudaMemcpyHostToDevice, at.stream));
    CHECK(smooth_run(handle, at.in, at.out));
    CHECK(cudaMemcpyAsync(at.host_out, at.out, n * sizeof(float), cudaMemcpyDeviceToHost, at.stream));
    at.round = round;
}

int main(int argc, char **argv)
{
    const char *form = option(argc, argv, "--form", "own");
    const int rounds = option_int(argc, argv, "--rounds", 20), n = option_int(argc, argv, "--values", 400000);
    const bool own = !strcmp(form, "own"), shared = !strcmp(form, "shared");
    lane lanes[STREAMS];
    int wrong = 0;

    if (n < 1) {
        fprintf(stderr, "set_stream: --values from 1\n");
        return 2;
    }
    for (lane &at : lanes) {
        CHECK(cudaMallocHost(&at.host_in, n * sizeof(float)));
        CHECK(cudaMallocHost(&at.host_out, n * sizeof(float)));
        CHECK(cudaMalloc(&at.in, n * sizeof(float)));
        CHECK(cudaMalloc(&at.out, n * sizeof(float)));
        CHECK(cudaStreamCreateWithFlags(&at.stream, cudaStreamNonBlocking));
        CHECK(smooth_create(&at.handle, n));
        if (own)
            smooth_set_stream(&at.handle, at.stream);
        at.round = -1;
    }
    for (int r = 0; r < rounds; r++)
        for (int s = 0; s < STREAMS; s++) {
            smooth_handle *used = own ? &lanes[s].handle : &lanes[0].handle;
            wrong += collect(lanes[s], s, n);
            if (shared)
                smooth_set_stream(used, lanes[s].stream);
            submit(lanes[s], used, r, s, n);
        }
    for (int s = 0; s < STREAMS; s++)
        wrong += collect(lanes[s], s, n);
    CHECK(cudaDeviceSynchronize()); /* one mistake is enough: nothing is freed that somebody uses */
    for (lane &at : lanes) {
        CHECK(cudaFreeHost(at.host_in));
        CHECK(cudaFreeHost(at.host_out));
        CHECK(cudaFree(at.in));
        CHECK(cudaFree(at.out));
        CHECK(cudaStreamDestroy(at.stream));
        CHECK(smooth_destroy(&at.handle));
    }
    printf("%s: %d rounds of %d streams of %d values, %d wrong\n", form, rounds, STREAMS, n, wrong);
    printf("RESULT %s %d wrong\n", wrong ? "FAIL" : "PASS", wrong);
    return wrong != 0;
}
