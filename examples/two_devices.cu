/* Two devices: the first half of the work on one, the second on the other, handed over by a peer copy. Or each item whole,
 * on the device that has the least to do.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   two_devices [--form bad|usual|good|spread] [--items N]
 *
 * bad     the second device's kernel does not wait for the copy, which is in the other device's stream: a race
 * usual   the host waits between the stages
 * good    the library's stages: an event hands each item on
 * spread  the library on both devices: no stages */
#include <vector>

#include "common.h"
#include "weir/pipe.h"

enum { N = 64 * 1024, BYTES = N * (int)sizeof(unsigned) };

__global__ void scale(const unsigned *in, unsigned *out, unsigned factor)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = in[i];
    for (int k = 0; k < 20; k++)
        x = x * factor + 1;
    out[i] = x;
}

static unsigned scaled(unsigned x, unsigned factor)
{
    for (int k = 0; k < 20; k++)
        x = x * factor + 1;
    return x;
}

static void first_half(const void *in, void *out, cudaStream_t stream)
{
    scale<<<N / 256, 256, 0, stream>>>((const unsigned *)in, (unsigned *)out, 3);
}

static void second_half(const void *in, void *out, cudaStream_t stream)
{
    scale<<<N / 256, 256, 0, stream>>>((const unsigned *)in, (unsigned *)out, 5);
}

static int wrong_values(const unsigned *out, unsigned item)
{
    int wrong = 0;
    for (int i = 0; i < N; i += 97)
        wrong += out[i] != scaled(scaled(item * 1000 + i, 3), 5);
    return wrong;
}

static void fill_values(unsigned *in, unsigned item)
{
    for (int i = 0; i < N; i++)
        in[i] = item * 1000 + i;
}

static int by_hand(int items, bool bad)
{
    unsigned *host_in, *host_out, *in[2], *out[2];
    cudaStream_t stream[2];
    int wrong = 0;
    CHECK(cudaHostAlloc(&host_in, BYTES, cudaHostAllocPortable));
    CHECK(cudaHostAlloc(&host_out, BYTES, cudaHostAllocPortable));
    for (int d = 0; d < 2; d++) {
        CHECK(cudaSetDevice(d));
        CHECK(cudaMalloc(&in[d], BYTES));
        CHECK(cudaMalloc(&out[d], BYTES));
        CHECK(cudaStreamCreateWithFlags(&stream[d], cudaStreamNonBlocking));
    }
    for (int item = 0; item < items; item++) {
        fill_values(host_in, item);
        CHECK(cudaSetDevice(0));
        CHECK(cudaMemcpyAsync(in[0], host_in, BYTES, cudaMemcpyHostToDevice, stream[0]));
        first_half(in[0], out[0], stream[0]);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyPeerAsync(in[1], 1, out[0], 0, BYTES, stream[0]));
        if (!bad)
            CHECK(cudaStreamSynchronize(stream[0]));
        CHECK(cudaSetDevice(1));
        second_half(in[1], out[1], stream[1]);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(host_out, out[1], BYTES, cudaMemcpyDeviceToHost, stream[1]));
        CHECK(cudaStreamSynchronize(stream[1]));
        if (bad)
            CHECK(cudaStreamSynchronize(stream[0])); /* too late */
        wrong += wrong_values(host_out, item) != 0;
    }
    for (int d = 0; d < 2; d++) {
        CHECK(cudaSetDevice(d));
        CHECK(cudaFree(in[d]));
        CHECK(cudaFree(out[d]));
        CHECK(cudaStreamDestroy(stream[d]));
    }
    CHECK(cudaFreeHost(host_in));
    CHECK(cudaFreeHost(host_out));
    return wrong;
}

static int fill(void *, weir_pipe_item *item)
{
    fill_values((unsigned *)item->in, (unsigned)item->number);
    return 0;
}

static int launch_first(void *, weir_pipe_item *item)
{
    first_half(item->dev_in, item->dev_out, item->stream);
    return cudaGetLastError();
}

static int launch_second(void *, weir_pipe_item *item)
{
    second_half(item->dev_in, item->dev_out, item->stream);
    return cudaGetLastError();
}

static int launch_both(void *, weir_pipe_item *item)
{
    first_half(item->dev_in, item->dev_scratch, item->stream);
    second_half(item->dev_scratch, item->dev_out, item->stream);
    return cudaGetLastError();
}

static int drain(void *, weir_pipe_item *item)
{
    return wrong_values((const unsigned *)item->out, (unsigned)item->number) != 0;
}

static int by_library(int items, bool spread)
{
    weir_pipe_config config;
    weir_pipe_stats stats;
    weir_pipe *pipe;
    weir_pipe_config_init(&config);
    config.in_bytes = config.out_bytes = BYTES;
    config.workers = 1;
    if (spread) {
        config.device_count = 2;
        config.devices[1] = 1;
        config.dev_scratch_bytes = BYTES;
        config.launch = launch_both;
    } else {
        config.stage_count = 2;
        config.stages[0].launch = launch_first;
        config.stages[1].launch = launch_second;
        config.stages[1].device = 1;
        config.stages[0].dev_in_bytes = config.stages[0].dev_out_bytes = BYTES;
        config.stages[1].dev_in_bytes = config.stages[1].dev_out_bytes = BYTES;
    }
    config.fill = fill;
    config.drain = drain;
    if (weir_pipe_create(&config, &pipe) != WEIR_PIPE_OK)
        exit(1);
    for (int i = 0; i < items; i++)
        if (weir_pipe_submit(pipe, NULL) != WEIR_PIPE_OK)
            exit(1);
    weir_pipe_flush(pipe);
    weir_pipe_stats_get(pipe, &stats);
    weir_pipe_destroy(pipe);
    if (spread)
        printf("items: %d and %d\n", (int)stats.device_items[0], (int)stats.device_items[1]);
    return items - (int)stats.completed;
}

int main(int argc, char **argv)
{
    const char *form = option(argc, argv, "--form", "good");
    const int items = option_int(argc, argv, "--items", 60);
    const bool spread = !strcmp(form, "spread");
    int devices;
    CHECK(cudaGetDeviceCount(&devices));
    if (devices < 2) {
        printf("two devices are needed (weir run --devices 2)\nRESULT PASS skipped\n");
        return 0;
    }
    const double started = now_ms();
    const int wrong = spread || !strcmp(form, "good") ? by_library(items, spread) : by_hand(items, !strcmp(form, "bad"));
    printf("%s: %d items, %.3f ms each, %d wrong\n", form, items, (now_ms() - started) / items, wrong);
    printf("RESULT %s %d wrong\n", wrong ? "FAIL" : "PASS", wrong);
    return wrong != 0;
}
