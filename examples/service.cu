/* A service that answers requests of 1 to 64 rows with a small network of two layers. What counts is how long a request
 * takes (its percentiles) against how many are answered.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   service [--form bad|usual|good] [--requests N] [--slots N] [--sweep]
 *
 * bad    three streams, and the first layer's result in one buffer for all of them: a race
 * usual  one stream, and the host waits for each request
 * good   the library: slots, and a graph for each bucket of 1, 2, 4 ... 64 rows, replayed
 *
 * --sweep: the good form with 1 to 8 slots, a line each. */
#include <vector>

#include "common.h"
#include "weir/pipe.h"

enum { WIDTH = 64, MAX_ROWS = 64, MAX_BYTES = MAX_ROWS * WIDTH * (int)sizeof(int), STREAMS = 3 };

/* out = max(in * weights, 0) / 4, a row of `in` a row of blocks; integers, so that the host can compare exactly. */
__global__ void layer(const int *in, const int *weights, int *out)
{
    const int row = blockIdx.x, column = threadIdx.x;
    int sum = 0;
    for (int k = 0; k < WIDTH; k++)
        sum += in[row * WIDTH + k] * weights[k * WIDTH + column];
    out[row * WIDTH + column] = (sum > 0 ? sum : 0) / 4;
}

struct request {
    int rows;
    std::vector<int> in, out, expected;
};

struct service {
    int *weights[2];
    std::vector<request> requests;
    std::vector<double> latency_ms;
};

static int value(unsigned &seed, int from, int to)
{
    seed = 1664525u * seed + 1013904223u;
    return from + (int)((seed >> 8) % (unsigned)(to - from + 1));
}

static void reference(const std::vector<int> &in, const int *weights, std::vector<int> &out)
{
    for (size_t row = 0; row < in.size() / WIDTH; row++)
        for (int column = 0; column < WIDTH; column++) {
            int sum = 0;
            for (int k = 0; k < WIDTH; k++)
                sum += in[row * WIDTH + k] * weights[k * WIDTH + column];
            out[row * WIDTH + column] = (sum > 0 ? sum : 0) / 4;
        }
}

static void make_requests(service &s, int count)
{
    std::vector<int> weights[2];
    unsigned seed = 7;
    for (int l = 0; l < 2; l++) {
        weights[l].resize(WIDTH * WIDTH);
        for (int &w : weights[l])
            w = value(seed, -2, 2);
        CHECK(cudaMalloc(&s.weights[l], sizeof(int) * WIDTH * WIDTH));
        CHECK(cudaMemcpy(s.weights[l], weights[l].data(), sizeof(int) * WIDTH * WIDTH, cudaMemcpyHostToDevice));
    }
    /* That copy is from pageable memory: its return says that the source has been read, not that all has arrived; and
     * streams that are non-blocking do not wait for the default one. */
    CHECK(cudaDeviceSynchronize());
    s.requests.resize(count);
    for (request &r : s.requests) {
        r.rows = 1 << value(seed, 0, 6); /* small ones are as frequent as large ones */
        r.rows = value(seed, 1, r.rows);
        r.in.resize(r.rows * WIDTH);
        r.out.assign(r.rows * WIDTH, -1);
        r.expected.resize(r.rows * WIDTH);
        for (int &x : r.in)
            x = value(seed, -8, 8);
        std::vector<int> between(r.in.size());
        reference(r.in, weights[0].data(), between);
        reference(between, weights[1].data(), r.expected);
    }
}

/* --- by hand: one stream or three --- */

struct hand {
    int *host_in, *host_out, *in, *between, *out;
    cudaStream_t stream;
    cudaEvent_t done;
    request *answers;
    double since;
};

static void make_hand(hand &h, int *shared)
{
    CHECK(cudaMallocHost(&h.host_in, MAX_BYTES));
    CHECK(cudaMallocHost(&h.host_out, MAX_BYTES));
    CHECK(cudaMalloc(&h.in, MAX_BYTES));
    CHECK(cudaMalloc(&h.out, MAX_BYTES));
    h.between = shared;
    h.answers = NULL;
    CHECK(cudaStreamCreateWithFlags(&h.stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&h.done, cudaEventDisableTiming));
}

static void answer(service &s, hand &h)
{
    if (!h.answers)
        return;
    CHECK(cudaEventSynchronize(h.done));
    memcpy(h.answers->out.data(), h.host_out, h.answers->out.size() * sizeof(int));
    s.latency_ms.push_back(now_ms() - h.since);
    h.answers = NULL;
}

static void ask(service &s, hand &h, request &r)
{
    const size_t bytes = r.in.size() * sizeof(int);
    h.answers = &r;
    h.since = now_ms();
    memcpy(h.host_in, r.in.data(), bytes);
    CHECK(cudaMemcpyAsync(h.in, h.host_in, bytes, cudaMemcpyHostToDevice, h.stream));
    layer<<<r.rows, WIDTH, 0, h.stream>>>(h.in, s.weights[0], h.between);
    layer<<<r.rows, WIDTH, 0, h.stream>>>(h.between, s.weights[1], h.out);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(h.host_out, h.out, bytes, cudaMemcpyDeviceToHost, h.stream));
    CHECK(cudaEventRecord(h.done, h.stream));
}

static void serve_by_hand(service &s, int streams)
{
    hand hands[STREAMS];
    int *between;
    CHECK(cudaMalloc(&between, MAX_BYTES));
    for (int i = 0; i < streams; i++)
        make_hand(hands[i], between); /* with more than one stream: the mistake */
    for (size_t i = 0; i < s.requests.size(); i++) {
        hand &h = hands[i % streams];
        answer(s, h);
        ask(s, h, s.requests[i]);
        if (streams == 1)
            answer(s, h);
    }
    for (int i = 0; i < streams; i++) {
        answer(s, hands[i]);
        CHECK(cudaFreeHost(hands[i].host_in));
        CHECK(cudaFreeHost(hands[i].host_out));
        CHECK(cudaFree(hands[i].in));
        CHECK(cudaFree(hands[i].out));
        CHECK(cudaStreamDestroy(hands[i].stream));
        CHECK(cudaEventDestroy(hands[i].done));
    }
    CHECK(cudaFree(between));
}

/* --- with the library: rows are padded up to the bucket, what is added is zero and nobody reads it --- */

static int fill(void *, weir_pipe_item *item)
{
    const request *r = (const request *)item->data;
    const size_t bytes = r->in.size() * sizeof(int);
    item->in_bytes = item->out_bytes = item->bucket * WIDTH * sizeof(int);
    memcpy(item->in, r->in.data(), bytes);
    memset((char *)item->in + bytes, 0, item->in_bytes - bytes);
    return 0;
}

static int launch(void *user, weir_pipe_item *item)
{
    const service *s = (const service *)user;
    const int rows = (int)item->bucket;
    layer<<<rows, WIDTH, 0, item->stream>>>((int *)item->dev_in, s->weights[0], (int *)item->dev_scratch);
    layer<<<rows, WIDTH, 0, item->stream>>>((int *)item->dev_scratch, s->weights[1], (int *)item->dev_out);
    return cudaGetLastError();
}

static int drain(void *, weir_pipe_item *item)
{
    request *r = (request *)item->data;
    memcpy(r->out.data(), item->out, r->out.size() * sizeof(int));
    return 0;
}

static void done(void *user, const weir_pipe_item *, const weir_pipe_outcome *outcome)
{
    service *s = (service *)user;
    s->latency_ms.push_back((double)(outcome->drained_ns - outcome->accepted_ns) / 1e6);
}

static weir_pipe_stats serve_by_library(service &s, int slots)
{
    weir_pipe_config config;
    weir_pipe_stats stats;
    weir_pipe *pipe;
    weir_pipe_config_init(&config);
    config.in_bytes = config.out_bytes = config.dev_scratch_bytes = MAX_BYTES;
    config.slots = slots;
    config.order = WEIR_PIPE_ORDERED_DONE;
    config.graph = 1;
    config.padding = WEIR_PIPE_PAD_UP;
    for (int rows = 1; rows <= MAX_ROWS; rows *= 2)
        config.buckets[config.bucket_count++] = rows;
    config.user = &s;
    config.fill = fill;
    config.launch = launch;
    config.drain = drain;
    config.done = done;
    if (weir_pipe_create(&config, &pipe) != WEIR_PIPE_OK)
        exit(1);
    for (request &r : s.requests) {
        const weir_pipe_request asked = {&r, 0, (uint64_t)r.rows, -1};
        if (weir_pipe_submit_request(pipe, &asked, NULL) != WEIR_PIPE_OK)
            exit(1);
    }
    if (weir_pipe_flush(pipe) != WEIR_PIPE_OK)
        exit(1);
    weir_pipe_stats_get(pipe, &stats);
    weir_pipe_destroy(pipe);
    return stats;
}

static int judge(service &s)
{
    int wrong = 0;
    for (request &r : s.requests) {
        wrong += r.out != r.expected;
        r.out.assign(r.out.size(), -1);
    }
    return wrong;
}

static double percentile(std::vector<double> &values, double share)
{
    size_t below = (size_t)(share * values.size());
    for (size_t i = 1; i < values.size(); i++)
        for (size_t k = i; k > 0 && values[k] < values[k - 1]; k--) {
            const double t = values[k];
            values[k] = values[k - 1], values[k - 1] = t;
        }
    return values[below < values.size() ? below : values.size() - 1];
}

static int serve(service &s, const char *form, int slots)
{
    weir_pipe_stats stats = {};
    s.latency_ms.clear();
    const double started = now_ms();
    if (!strcmp(form, "good"))
        stats = serve_by_library(s, slots);
    else
        serve_by_hand(s, strcmp(form, "bad") ? 1 : STREAMS);
    const double ms = now_ms() - started;
    const int wrong = judge(s);
    printf("%-5s %d slots: %8.0f requests a second, p50 %.3f ms, p99 %.3f ms, %d graphs replayed, %d wrong\n", form, slots,
           1e3 * s.requests.size() / ms, percentile(s.latency_ms, 0.5), percentile(s.latency_ms, 0.99),
           (int)stats.replays, wrong);
    return wrong;
}

int main(int argc, char **argv)
{
    const char *form = option(argc, argv, "--form", "good");
    const int slots = option_int(argc, argv, "--slots", 4);
    service s;
    int wrong = 0;
    make_requests(s, option_int(argc, argv, "--requests", 300));
    if (has_flag(argc, argv, "--sweep"))
        for (int n = 1; n <= 8; n++)
            wrong += serve(s, "good", n);
    else
        wrong = serve(s, form, !strcmp(form, "good") ? slots : !strcmp(form, "bad") ? STREAMS : 1);
    for (int *w : s.weights)
        CHECK(cudaFree(w));
    printf("RESULT %s %d wrong\n", wrong ? "FAIL" : "PASS", wrong);
    return wrong != 0;
}
