/* Urgent requests over bulk work on one device: how long does a request take while the bulk lane is full?
 * SPDX-License-Identifier: Apache-2.0
 *
 *   online [--form bad|usual|good] [--requests N]
 *
 * bad    a stream for each, but requests and bulk items use the same scratch buffer: a race
 * usual  one stream for both: a request waits behind the bulk items that are there
 * good   two lanes of the library: slots of their own, and streams of higher priority for requests */
#include <atomic>
#include <thread>
#include <vector>

#include "common.h"
#include "weir/pipe.h"

enum { N = 64 * 1024, BYTES = N * (int)sizeof(unsigned), SMALL = 1024, BULK_WORK = 400, WORK = 10 };

/* Two passes, so that something stands in between. */
__global__ void pass(const unsigned *in, unsigned *out, int n, int work)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned x = in[i];
    for (int k = 0; k < work; k++)
        x = 1664525u * x + 1013904223u;
    out[i] = x;
}

struct job {
    unsigned first; /* values first, first + 1 ... */
    int n, work;
    bool urgent;
};

static void both_passes(const job *j, const void *in, void *between, void *out, cudaStream_t stream)
{
    pass<<<(j->n + 255) / 256, 256, 0, stream>>>((const unsigned *)in, (unsigned *)between, j->n, j->work);
    pass<<<(j->n + 255) / 256, 256, 0, stream>>>((const unsigned *)between, (unsigned *)out, j->n, j->work);
}

static void fill_values(const job *j, unsigned *in)
{
    for (int i = 0; i < j->n; i++)
        in[i] = j->first + i;
}

static bool is_wrong(const job *j, const unsigned *out)
{
    unsigned a = 1, c = 0;
    for (int k = 0; k < 2 * j->work; k++)
        a *= 1664525u, c = 1664525u * c + 1013904223u;
    for (int i = 0; i < j->n; i++)
        if (out[i] != a * (j->first + i) + c)
            return true;
    return false;
}

struct totals {
    std::atomic<int> wrong, ended;
    std::vector<double> latency_ms;
};

/* --- by hand --- */

struct place {
    unsigned *host_in, *host_out, *in, *between, *out;
    cudaStream_t stream;
};

static void make_place(place &p, unsigned *between, cudaStream_t stream)
{
    CHECK(cudaMallocHost(&p.host_in, BYTES));
    CHECK(cudaMallocHost(&p.host_out, BYTES));
    CHECK(cudaMalloc(&p.in, BYTES));
    CHECK(cudaMalloc(&p.out, BYTES));
    p.between = between;
    p.stream = stream;
}

static void free_place(place &p)
{
    CHECK(cudaFreeHost(p.host_in));
    CHECK(cudaFreeHost(p.host_out));
    CHECK(cudaFree(p.in));
    CHECK(cudaFree(p.out));
}

static void enqueue(place &p, const job *j)
{
    fill_values(j, p.host_in);
    CHECK(cudaMemcpyAsync(p.in, p.host_in, j->n * sizeof(unsigned), cudaMemcpyHostToDevice, p.stream));
    both_passes(j, p.in, p.between, p.out, p.stream);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(p.host_out, p.out, j->n * sizeof(unsigned), cudaMemcpyDeviceToHost, p.stream));
}

static void by_hand(int requests, totals &t, bool bad)
{
    unsigned *between;
    cudaStream_t bulk_stream, urgent_stream;
    place bulk, urgent;
    CHECK(cudaMalloc(&between, BYTES));
    CHECK(cudaStreamCreateWithFlags(&bulk_stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&urgent_stream, cudaStreamNonBlocking));
    make_place(bulk, between, bulk_stream);
    make_place(urgent, between, bad ? urgent_stream : bulk_stream);
    for (int r = 0; r < requests; r++) {
        const job big = {(unsigned)r * 77, N, BULK_WORK, false}, small = {(unsigned)r * 13, SMALL, WORK, true};
        enqueue(bulk, &big);
        const double asked = now_ms();
        enqueue(urgent, &small);
        CHECK(cudaStreamSynchronize(urgent.stream));
        t.latency_ms.push_back(now_ms() - asked);
        t.wrong += is_wrong(&small, urgent.host_out);
        CHECK(cudaStreamSynchronize(bulk.stream));
        t.wrong += is_wrong(&big, bulk.host_out);
        t.ended += 2;
    }
    free_place(bulk);
    free_place(urgent);
    CHECK(cudaFree(between));
    CHECK(cudaStreamDestroy(bulk_stream));
    CHECK(cudaStreamDestroy(urgent_stream));
}

/* --- two lanes --- */

static int fill(void *, weir_pipe_item *item)
{
    const job *j = (const job *)item->data;
    item->in_bytes = item->out_bytes = j->n * sizeof(unsigned);
    fill_values(j, (unsigned *)item->in);
    return 0;
}

static int launch(void *, weir_pipe_item *item)
{
    both_passes((const job *)item->data, item->dev_in, item->dev_scratch, item->dev_out, item->stream);
    return cudaGetLastError();
}

static int drain(void *, weir_pipe_item *item)
{
    return is_wrong((const job *)item->data, (const unsigned *)item->out);
}

static void done(void *user, const weir_pipe_item *item, const weir_pipe_outcome *outcome)
{
    totals *t = (totals *)user;
    t->wrong += outcome->status != WEIR_PIPE_OK;
    t->ended++;
    if (item->lane == 1) /* of one lane reports come one at a time */
        t->latency_ms.push_back((double)(outcome->drained_ns - outcome->accepted_ns) / 1e6);
}

static void by_library(int requests, totals &t)
{
    std::vector<job> bulk(requests), urgent(requests);
    weir_pipe_config config;
    weir_pipe *pipe;
    weir_pipe_config_init(&config);
    config.in_bytes = config.out_bytes = config.dev_scratch_bytes = BYTES;
    config.lanes = 2;
    config.slots = 2;
    config.workers = 2;
    config.user = &t;
    config.fill = fill;
    config.launch = launch;
    config.drain = drain;
    config.done = done;
    if (weir_pipe_create(&config, &pipe) != WEIR_PIPE_OK)
        exit(1);
    std::thread feeder([&] {
        for (int r = 0; r < requests; r++) {
            bulk[r] = {(unsigned)r * 77, N, BULK_WORK, false};
            if (weir_pipe_submit(pipe, &bulk[r]) != WEIR_PIPE_OK)
                exit(1);
        }
    });
    for (int r = 0; r < requests; r++) {
        const weir_pipe_request asked = {&urgent[r], 1, 0, -1};
        urgent[r] = {(unsigned)r * 13, SMALL, WORK, true};
        if (weir_pipe_submit_request(pipe, &asked, NULL) != WEIR_PIPE_OK)
            exit(1);
    }
    feeder.join();
    if (weir_pipe_destroy(pipe) != WEIR_PIPE_OK)
        exit(1);
}

int main(int argc, char **argv)
{
    const char *form = option(argc, argv, "--form", "good");
    const int requests = option_int(argc, argv, "--requests", 40);
    totals t;
    t.wrong = t.ended = 0;
    const double started = now_ms();
    if (!strcmp(form, "good"))
        by_library(requests, t);
    else
        by_hand(requests, t, !strcmp(form, "bad"));
    double sum = 0, most = 0;
    for (double ms : t.latency_ms)
        sum += ms, most = ms > most ? ms : most;
    const int wrong = t.wrong + (t.ended != 2 * requests);
    printf("%s: %d requests, mean %.3f ms, longest %.3f; %.3f ms for a request and a bulk item, %d wrong\n", form, requests,
           sum / requests, most, (now_ms() - started) / requests, wrong);
    printf("RESULT %s %d wrong\n", wrong ? "FAIL" : "PASS", wrong);
    return wrong != 0;
}
