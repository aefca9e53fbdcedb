/* A program with two streams that uses a library whose handle keeps a stream (smooth.h).
 * SPDX-License-Identifier: Apache-2.0
 *
 *   set_stream [--form default|shared|own] [--rounds N]
 *
 * default  nobody sets the handle's stream: the library works in the legacy default stream, for which streams that are
 *          non-blocking do not wait: a race with the copies
 * shared   one handle, set to the one and the other stream in turn: its workspace is used by both at once, a race
 * own      a handle for each stream */
#include <vector>

#include "common.h"
#include "smooth.h"

enum { N = 40000, STREAMS = 2 };

static float pass_at(const std::vector<float> &in, int i)
{
    return i == 0 || i == N - 1 ? in[i] : (in[i - 1] + 2 * in[i] + in[i + 1]) / 4;
}

int main(int argc, char **argv)
{
    const char *form = option(argc, argv, "--form", "own");
    const int rounds = option_int(argc, argv, "--rounds", 20);
    const bool own = !strcmp(form, "own"), shared = !strcmp(form, "shared");
    float *host_in[STREAMS], *host_out[STREAMS], *in[STREAMS], *out[STREAMS];
    cudaStream_t stream[STREAMS];
    smooth_handle handle[STREAMS];
    int wrong = 0;

    for (int s = 0; s < STREAMS; s++) {
        CHECK(cudaMallocHost(&host_in[s], N * sizeof(float)));
        CHECK(cudaMallocHost(&host_out[s], N * sizeof(float)));
        CHECK(cudaMalloc(&in[s], N * sizeof(float)));
        CHECK(cudaMalloc(&out[s], N * sizeof(float)));
        CHECK(cudaStreamCreateWithFlags(&stream[s], cudaStreamNonBlocking));
        CHECK(smooth_create(&handle[s], N));
        if (own)
            smooth_set_stream(&handle[s], stream[s]);
    }
    for (int r = 0; r < rounds; r++) {
        std::vector<float> expected[STREAMS];
        for (int s = 0; s < STREAMS; s++) {
            std::vector<float> source(N), once(N);
            for (int i = 0; i < N; i++)
                source[i] = host_in[s][i] = (float)((i * 7 + r * 3 + s) % 64);
            for (int i = 0; i < N; i++)
                once[i] = pass_at(source, i);
            expected[s].resize(N);
            for (int i = 0; i < N; i++)
                expected[s][i] = pass_at(once, i);
        }
        for (int s = 0; s < STREAMS; s++) {
            smooth_handle *used = own ? &handle[s] : &handle[0];
            CHECK(cudaMemcpyAsync(in[s], host_in[s], N * sizeof(float), cudaMemcpyHostToDevice, stream[s]));
            if (shared)
                smooth_set_stream(used, stream[s]);
            CHECK(smooth_run(used, in[s], out[s]));
            CHECK(cudaMemcpyAsync(host_out[s], out[s], N * sizeof(float), cudaMemcpyDeviceToHost, stream[s]));
        }
        CHECK(cudaDeviceSynchronize());
        for (int s = 0; s < STREAMS; s++)
            for (int i = 0; i < N; i++)
                wrong += host_out[s][i] != expected[s][i];
    }
    for (int s = 0; s < STREAMS; s++) {
        CHECK(cudaFreeHost(host_in[s]));
        CHECK(cudaFreeHost(host_out[s]));
        CHECK(cudaFree(in[s]));
        CHECK(cudaFree(out[s]));
        CHECK(cudaStreamDestroy(stream[s]));
        CHECK(smooth_destroy(&handle[s]));
    }
    printf("%s: %d values of %d wrong\n", form, wrong, rounds * STREAMS * N);
    printf("RESULT %s %d wrong\n", wrong ? "FAIL" : "PASS", wrong);
    return wrong != 0;
}
