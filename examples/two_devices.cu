/* Two devices: the first half of the work on one, the second on the other, handed over by a peer copy. Or each item whole,
 * on the device that has the least to do.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   two_devices [--form bad|usual|good|spread] [--items N] [--kib N]
 *
 * bad     the second device's kernel does not wait for the copy, which is in the other device's stream: a race
 * usual   the host waits between the stages
 * good    the library's stages: an event hands each item on
 * spread  the library on both devices: no stages */
#include <vector>

#include "common.h"
#include "weir/pipe.h"

static int values = 256 * 1024; /* of an item */

static size_t bytes(void)
{
    return values * sizeof(unsigned);
}

__global__ void scale(const unsigned *in, unsigned *out, unsigned factor, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
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
    scale<<<(values + 255) / 256, 256, 0, stream>>>((const unsigned *)in, (unsigned *)out, 3, values);
}

static void second_half(const void *in, void *out, cudaStream_t stream)
{
    scale<<<(values + 255) / 256, 256, 0, stream>>>((const unsigned *)in, (unsigned *)out, 5, values);
}

static int wrong_values(const unsigned *out, unsigned item)
{
    int wrong = 0;
    for (int i = 0; i < values; i += 97)
        wrong += out[i] != scaled(scaled(item * 1000 + i, 3), 5);
    return wrong;
}

static void fill_values(unsigned *in, unsigned item)
{
    for (int i = 0; i < values; i++)
        in[i] = item * 1000 + i;
}

/* The first launch on a device loads the code there: no item's time. */
static void warm_up(void)
{
    for (int d = 0; d < 2; d++) {
        CHECK(cudaSetDevice(d));
        scale<<<1, 1>>>(NULL, NULL, 0, 0);
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
    }
    CHECK(cudaSetDevice(0));
}

static int by_hand(int items, bool bad, double *ms)
{
    unsigned *host_in, *host_out, *in[2], *out[2];
    cudaStream_t stream[2];
    int wrong = 0;
    CHECK(cudaHostAlloc(&host_in, bytes(), cudaHostAllocPortable));
    CHECK(cudaHostAlloc(&host_out, bytes(), cudaHostAllocPortable));
    for (int d = 0; d < 2; d++) {
        CHECK(cudaSetDevice(d));
        CHECK(cudaMalloc(&in[d], bytes()));
        CHECK(cudaMalloc(&out[d], bytes()));
        CHECK(cudaStreamCreateWithFlags(&stream[d], cudaStreamNonBlocking));
    }
    warm_up();
    const double started = now_ms();
    for (int item = 0; item < items; item++) {
        fill_values(host_in, item);
        CHECK(cudaSetDevice(0));
        CHECK(cudaMemcpyAsync(in[0], host_in, bytes(), cudaMemcpyHostToDevice, stream[0]));
        first_half(in[0], out[0], stream[0]);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyPeerAsync(in[1], 1, out[0], 0, bytes(), stream[0]));
        if (!bad)
            CHECK(cudaStreamSynchronize(stream[0]));
        CHECK(cudaSetDevice(1));
        second_half(in[1], out[1], stream[1]);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(host_out, out[1], bytes(), cudaMemcpyDeviceToHost, stream[1]));
        CHECK(cudaStreamSynchronize(stream[1]));
        if (bad)
            CHECK(cudaStreamSynchronize(stream[0])); /* too late */
        wrong += wrong_values(host_out, item) != 0;
    }
    *ms = now_ms() - started;
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

static int by_library(int items, bool spread, double *ms)
{
    weir_pipe_config config;
    weir_pipe_stats stats;
    weir_pipe *pipe;
    weir_pipe_config_init(&config);
    config.in_bytes = config.out_bytes = bytes();
    config.workers = 1;
    if (spread) {
        config.device_count = 2;
        config.devices[1] = 1;
        config.dev_scratch_bytes = bytes();
        config.launch = launch_both;
        config.graph = 1; /* two devices are faster than one thread that gives them all of it piece by piece */
    } else {
        config.stage_count = 2;
        config.stages[0].launch = launch_first;
        config.stages[1].launch = launch_second;
        config.stages[1].device = 1;
        config.stages[0].dev_in_bytes = config.stages[0].dev_out_bytes = bytes();
        config.stages[1].dev_in_bytes = config.stages[1].dev_out_bytes = bytes();
    }
    config.fill = fill;
    config.drain = drain;
    if (weir_pipe_create(&config, &pipe) != WEIR_PIPE_OK)
        exit(1);
    warm_up();
    const double started = now_ms();
    for (int i = 0; i < items; i++)
        if (weir_pipe_submit(pipe, NULL) != WEIR_PIPE_OK)
            exit(1);
    weir_pipe_flush(pipe);
    *ms = now_ms() - started;
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
    double ms;
    values = option_int(argc, argv, "--kib", 1024) * 1024 / (int)sizeof(unsigned);
    if (items < 1 || values < 1) {
        fprintf(stderr, "two_devices: --items and --kib from 1\n");
        return 2;
    }
    CHECK(cudaGetDeviceCount(&devices));
    if (devices < 2) {
        printf("two devices are needed (weir run --devices 2)\nRESULT PASS skipped\n");
        return 0;
    }
    const int wrong =
        spread || !strcmp(form, "good") ? by_library(items, spread, &ms) : by_hand(items, !strcmp(form, "bad"), &ms);
    printf("%s: %d items, %.3f ms each, %d wrong\n", form, items, ms / items, wrong);
    printf("RESULT %s %d wrong\n", wrong ? "FAIL" : "PASS", wrong);
    return wrong != 0;
}
