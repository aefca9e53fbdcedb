/* A vector larger than the device's memory: it goes through in chunks, there and back.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   big_vector [--form bad|usual|good] [--megabytes N] [--chunk-kib N]
 *
 * bad    two streams in turn, each with host buffers of its own, but one pair of buffers on the device for both: a race
 * usual  chunk by chunk: in, compute, out, wait
 * good   the library; how many chunks and slots is computed from what the first chunk cost */
#include <vector>

#include "common.h"
#include "weir/pipe.h"

__global__ void advance(const unsigned *in, unsigned *out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned x = in[i];
    for (int s = 0; s < 40; s++)
        x = 1664525u * x + 1013904223u;
    out[i] = x;
}

struct vectors {
    std::vector<unsigned> in, out;
    size_t chunk; /* elements */
};

static void compute(const unsigned *in, unsigned *out, size_t n, cudaStream_t stream)
{
    advance<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(in, out, (int)n);
}

struct buffers {
    unsigned *host_in, *host_out, *in, *out;
    cudaStream_t stream;
    size_t first, count; /* the chunk in flight */
};

static void make_buffers(buffers &b, size_t bytes, const buffers *shared = NULL)
{
    CHECK(cudaMallocHost(&b.host_in, bytes));
    CHECK(cudaMallocHost(&b.host_out, bytes));
    if (shared) { /* the mistake: device memory is dear, and the streams take turns, do they not? */
        b.in = shared->in;
        b.out = shared->out;
    } else {
        CHECK(cudaMalloc(&b.in, bytes));
        CHECK(cudaMalloc(&b.out, bytes));
    }
    CHECK(cudaStreamCreateWithFlags(&b.stream, cudaStreamNonBlocking));
    b.first = b.count = 0;
}

static void free_buffers(buffers &b, bool shared = false)
{
    CHECK(cudaFreeHost(b.host_in));
    CHECK(cudaFreeHost(b.host_out));
    CHECK(cudaStreamDestroy(b.stream));
    if (shared)
        return;
    CHECK(cudaFree(b.in));
    CHECK(cudaFree(b.out));
}

static void start(vectors &v, buffers &b, size_t first, size_t count)
{
    b.first = first;
    b.count = count;
    memcpy(b.host_in, &v.in[first], count * sizeof(unsigned));
    CHECK(cudaMemcpyAsync(b.in, b.host_in, count * sizeof(unsigned), cudaMemcpyHostToDevice, b.stream));
    compute(b.in, b.out, count, b.stream);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(b.host_out, b.out, count * sizeof(unsigned), cudaMemcpyDeviceToHost, b.stream));
}

static void take(vectors &v, buffers &b)
{
    if (b.count)
        memcpy(&v.out[b.first], b.host_out, b.count * sizeof(unsigned));
    b.count = 0;
}

static void by_hand(vectors &v, bool bad)
{
    buffers both[2];
    make_buffers(both[0], v.chunk * sizeof(unsigned));
    make_buffers(both[1], v.chunk * sizeof(unsigned), bad ? &both[0] : NULL);
    size_t turn = 0;
    for (size_t first = 0; first < v.in.size(); first += v.chunk, turn++) {
        buffers &b = both[bad ? turn % 2 : 0];
        const size_t left = v.in.size() - first;
        CHECK(cudaStreamSynchronize(b.stream));
        take(v, b);
        start(v, b, first, left < v.chunk ? left : v.chunk);
    }
    CHECK(cudaDeviceSynchronize());
    for (buffers &b : both) {
        take(v, b);
        free_buffers(b, bad && &b == &both[1]);
    }
}

struct chunk {
    size_t first, count;
};

static int fill(void *user, weir_pipe_item *item)
{
    const chunk *c = (const chunk *)item->data;
    item->in_bytes = item->out_bytes = c->count * sizeof(unsigned);
    memcpy(item->in, &((vectors *)user)->in[c->first], item->in_bytes);
    return 0;
}

static int launch(void *, weir_pipe_item *item)
{
    compute((const unsigned *)item->dev_in, (unsigned *)item->dev_out, item->in_bytes / sizeof(unsigned), item->stream);
    return cudaGetLastError();
}

static int drain(void *user, weir_pipe_item *item)
{
    memcpy(&((vectors *)user)->out[((const chunk *)item->data)->first], item->out, item->out_bytes);
    return 0;
}

/* What a chunk costs at each stage, and from that how to cut the whole. */
static weir_pipe_choice choose(const vectors &v)
{
    weir_pipe_costs costs = {};
    weir_pipe_choice choice;
    cudaEvent_t at[4];
    float ms[3];
    buffers b;
    make_buffers(b, v.chunk * sizeof(unsigned));
    memset(b.host_in, 0, v.chunk * sizeof(unsigned));
    for (cudaEvent_t &e : at)
        CHECK(cudaEventCreate(&e));
    for (int twice = 0; twice < 2; twice++) { /* the first time loads the kernel */
        CHECK(cudaEventRecord(at[0], b.stream));
        CHECK(cudaMemcpyAsync(b.in, b.host_in, v.chunk * sizeof(unsigned), cudaMemcpyHostToDevice, b.stream));
        CHECK(cudaEventRecord(at[1], b.stream));
        compute(b.in, b.out, v.chunk, b.stream);
        CHECK(cudaEventRecord(at[2], b.stream));
        CHECK(cudaMemcpyAsync(b.host_out, b.out, v.chunk * sizeof(unsigned), cudaMemcpyDeviceToHost, b.stream));
        CHECK(cudaEventRecord(at[3], b.stream));
        CHECK(cudaStreamSynchronize(b.stream));
    }
    for (int i = 0; i < 3; i++)
        CHECK(cudaEventElapsedTime(&ms[i], at[i], at[i + 1]));
    const double chunks = (double)v.in.size() / v.chunk;
    costs.upload_us = 1e3 * ms[0] * chunks;
    costs.compute_us = 1e3 * ms[1] * chunks;
    costs.download_us = 1e3 * ms[2] * chunks;
    costs.chunk_us = costs.host_us = 8;
    costs.max_chunks = 256;
    costs.max_slots = 6;
    if (weir_pipe_choose(&costs, &choice) != WEIR_PIPE_OK)
        exit(1);
    for (cudaEvent_t e : at)
        CHECK(cudaEventDestroy(e));
    free_buffers(b);
    return choice;
}

static void by_library(vectors &v)
{
    const weir_pipe_choice choice = choose(v);
    const size_t wanted = (v.in.size() + choice.chunks - 1) / choice.chunks;
    const size_t size = wanted < v.chunk ? wanted : v.chunk; /* no larger than what fits */
    std::vector<chunk> chunks;
    weir_pipe_config config;
    weir_pipe *pipe;
    printf("%s\n", choice.why);
    for (size_t first = 0; first < v.in.size(); first += size)
        chunks.push_back({first, v.in.size() - first < size ? v.in.size() - first : size});
    weir_pipe_config_init(&config);
    config.in_bytes = config.out_bytes = size * sizeof(unsigned);
    config.slots = choice.slots < 2 ? 2 : choice.slots;
    config.streams = choice.split ? WEIR_PIPE_STREAMS_SPLIT : WEIR_PIPE_STREAM_PER_SLOT;
    config.order = WEIR_PIPE_UNORDERED;
    config.user = &v;
    config.fill = fill;
    config.launch = launch;
    config.drain = drain;
    if (weir_pipe_create(&config, &pipe) != WEIR_PIPE_OK)
        exit(1);
    for (chunk &c : chunks)
        if (weir_pipe_submit(pipe, &c) != WEIR_PIPE_OK)
            exit(1);
    if (weir_pipe_destroy(pipe) != WEIR_PIPE_OK)
        exit(1);
}

int main(int argc, char **argv)
{
    const char *form = option(argc, argv, "--form", "good");
    size_t free_bytes, total;
    vectors v;
    v.in.resize((size_t)option_int(argc, argv, "--megabytes", 48) << 18);
    v.out.assign(v.in.size(), 0);
    v.chunk = (size_t)option_int(argc, argv, "--chunk-kib", 1024) << 8;
    for (size_t i = 0; i < v.in.size(); i++)
        v.in[i] = (unsigned)i;
    CHECK(cudaMemGetInfo(&free_bytes, &total));

    const double started = now_ms();
    if (!strcmp(form, "good"))
        by_library(v);
    else
        by_hand(v, !strcmp(form, "bad"));
    const double ms = now_ms() - started;

    unsigned a = 1, c = 0;
    for (int k = 0; k < 40; k++)
        a *= 1664525u, c = 1664525u * c + 1013904223u;
    size_t wrong = 0;
    for (size_t i = 0; i < v.in.size(); i++)
        wrong += v.out[i] != a * (unsigned)i + c;
    printf("%s: %zu MiB there and back, the device has %zu: %.1f ms, %zu wrong\n", form, v.in.size() >> 18, total >> 20, ms, wrong);
    printf("RESULT %s %zu wrong\n", wrong ? "FAIL" : "PASS", wrong);
    return wrong != 0;
}
