/* Urgent requests over bulk work on one device: how long does a request take while bulk items are on their way?
 * SPDX-License-Identifier: Apache-2.0
 *
 *   online [--form bad|usual|good] [--requests N] [--bulk-kib N]
 *
 * bad    a stream for each, but requests and bulk items use the same scratch buffer: a race
 * usual  one stream for both: a request waits behind the bulk item that is there
 * good   two lanes of the library: slots of their own, and streams of higher priority for requests. Priority orders blocks of
 *        kernels, not copies, and a copy of a request would wait behind a whole bulk copy; so requests, which are small,
 *        have none: their kernels read and write pinned memory themselves
 *
 * In each form a bulk item is given to the device, then a request is asked, and its answer waited for. */
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "common.h"
#include "weir/pipe.h"

enum { SMALL = 1024, BULK_WORK = 400, WORK = 10 };

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
    std::atomic<int> wrong, ended, answered;
    std::vector<double> latency_ms;
    double ms; /* of all */
};

/* What a kernel's first launch costs, which loads its code, is no request's time. */
static void warm_up(void)
{
    pass<<<1, 1>>>(NULL, NULL, 0, 0);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
}

/* --- by hand --- */

struct place {
    unsigned *host_in, *host_out, *in, *between, *out;
    cudaStream_t stream;
};

static void make_place(place &p, int n, unsigned *between, cudaStream_t stream)
{
    CHECK(cudaMallocHost(&p.host_in, n * sizeof(unsigned)));
    CHECK(cudaMallocHost(&p.host_out, n * sizeof(unsigned)));
    CHECK(cudaMalloc(&p.in, n * sizeof(unsigned)));
    CHECK(cudaMalloc(&p.out, n * sizeof(unsigned)));
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

static void by_hand(int requests, int n, totals &t, bool bad)
{
    unsigned *between;
    cudaStream_t bulk_stream, urgent_stream;
    place bulk, urgent;
    CHECK(cudaMalloc(&between, n * sizeof(unsigned)));
    CHECK(cudaStreamCreateWithFlags(&bulk_stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&urgent_stream, cudaStreamNonBlocking));
    make_place(bulk, n, between, bulk_stream);
    make_place(urgent, SMALL, between, bad ? urgent_stream : bulk_stream);
    warm_up();
    const double started = now_ms();
    for (int r = 0; r < requests; r++) {
        const job big = {(unsigned)r * 77, n, BULK_WORK, false}, small = {(unsigned)r * 13, SMALL, WORK, true};
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
    t.ms = now_ms() - started;
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
    item->in_bytes = item->out_bytes = j->urgent ? 0 : j->n * sizeof(unsigned); /* 0: no copies */
    fill_values(j, (unsigned *)item->in);
    return 0;
}

static int launch(void *, weir_pipe_item *item)
{
    const job *j = (const job *)item->data;
    both_passes(j, j->urgent ? item->in : item->dev_in, item->dev_scratch, j->urgent ? item->out : item->dev_out, item->stream);
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
    if (item->lane == 1) { /* of one lane reports come one at a time */
        t->latency_ms.push_back((double)(outcome->drained_ns - outcome->accepted_ns) / 1e6);
        t->answered++;
    }
}

static void by_library(int requests, int n, totals &t)
{
    std::vector<job> bulk(requests), urgent(requests);
    weir_pipe_config config;
    weir_pipe *pipe;
    weir_pipe_config_init(&config);
    config.in_bytes = config.out_bytes = config.dev_scratch_bytes = n * sizeof(unsigned);
    config.lanes = 2;
    config.slots = 2;
    config.workers = 2;                 /* one is with a bulk item: the other has time for requests */
    config.wait = WEIR_PIPE_WAIT_SPIN;  /* to be woken takes longer than a request */
    config.spin_ns = 50000;
    config.user = &t;
    config.fill = fill;
    config.launch = launch;
    config.drain = drain;
    config.done = done;
    if (weir_pipe_create(&config, &pipe) != WEIR_PIPE_OK)
        exit(1);
    warm_up();
    const double started = now_ms();
    for (int r = 0; r < requests; r++) {
        const weir_pipe_request asked = {&urgent[r], 1, 0, -1};
        bulk[r] = {(unsigned)r * 77, n, BULK_WORK, false};
        urgent[r] = {(unsigned)r * 13, SMALL, WORK, true};
        if (weir_pipe_submit(pipe, &bulk[r]) != WEIR_PIPE_OK ||
            weir_pipe_submit_request(pipe, &asked, NULL) != WEIR_PIPE_OK)
            exit(1);
        while (t.answered <= r)
            std::this_thread::yield();
    }
    weir_pipe_flush(pipe);
    t.ms = now_ms() - started;
    if (weir_pipe_destroy(pipe) != WEIR_PIPE_OK)
        exit(1);
}

int main(int argc, char **argv)
{
    const char *form = option(argc, argv, "--form", "good");
    const int requests = option_int(argc, argv, "--requests", 40);
    const int n = option_int(argc, argv, "--bulk-kib", 1024) * 1024 / (int)sizeof(unsigned);
    totals t;
    if (requests < 1 || n < SMALL) {
        fprintf(stderr, "online: --requests from 1, --bulk-kib from %d\n", SMALL * (int)sizeof(unsigned) / 1024);
        return 2;
    }
    t.wrong = t.ended = t.answered = 0;
    if (!strcmp(form, "good"))
        by_library(requests, n, t);
    else
        by_hand(requests, n, t, !strcmp(form, "bad"));
    std::sort(t.latency_ms.begin(), t.latency_ms.end());
    const int wrong = t.wrong + (t.ended != 2 * requests);
    printf("%s: %d requests, median %.3f ms, p99 %.3f, longest %.3f; %.3f ms for a request and a bulk item, %d wrong\n", form,
           requests, t.latency_ms[requests / 2], t.latency_ms[requests - 1 - requests / 100], t.latency_ms[requests - 1],
           t.ms / requests, wrong);
    printf("RESULT %s %d wrong\n", wrong ? "FAIL" : "PASS", wrong);
    return wrong != 0;
}
