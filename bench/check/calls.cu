/* What `weir check` costs programs that are bound by the API: each pattern of calls that programs make by the thousand, copies
 * of 4 MiB, copies that close pinned memory and waits that open it again, and short kernels. Prints `name wall_ms cpu_ms`, the
 * cheapest of some rounds. Arguments: the patterns to run, by name; none: all.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cost.h"

#ifndef ROUNDS
#define ROUNDS 9
#endif
#ifndef WARM_SECONDS
#define WARM_SECONDS 3
#endif
#define CALLS  2000
#define COPIES 16
#define BYTES  ((size_t)4 << 20)
#define PAIRS  200
#define MOST   16384 /* floats that a short kernel adds */
#define NODES  1000  /* of the largest graph */

__global__ void nothing(int) {}

__global__ void add(float *y, const float *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    y[i] += x[i];
}

static int name_count;
static char **names;

/* Was this pattern asked for? */
static bool is_wanted(const char *name)
{
    for (int i = 0; i < name_count; i++) {
        if (!strcmp(names[i], name))
            return true;
    }
    return !name_count;
}

template <class F> static void measure(const char *name, F work)
{
    if (is_wanted(name))
        print_cost(name, ROUNDS, work);
}

/* So many times: every call costs about the same. */
template <class F> static void measure_calls(const char *name, int times, F call)
{
    measure(name, [&] {
        for (int i = 0; i < times; i++)
            call(i);
    });
}

static void host_nothing(void *) {}

static cudaGraphExec_t chain_make(cudaStream_t s, int nodes)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;

    cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal);
    for (int i = 0; i < nodes; i++)
        nothing<<<1, 32, 0, s>>>(i);
    cudaStreamEndCapture(s, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphDestroy(graph);
    return exec;
}

static void measure_graphs(cudaStream_t s)
{
    const struct {
        const char *name;
        int nodes, times;
    } graphs[] = {{"graphs_of_1", 1, CALLS}, {"graphs_of_10", 10, CALLS / 10}, {"graphs_of_1000", NODES, 4}};

    for (const auto &g : graphs) {
        if (!is_wanted(g.name))
            continue;
        cudaGraphExec_t exec = chain_make(s, g.nodes);

        measure_calls(g.name, g.times, [&](int) { cudaGraphLaunch(exec, s); });
        cudaGraphExecDestroy(exec);
    }
}

/* The stream waits for as many others as there are, each of which has done something: a pipeline that joins. */
static void measure_joins(cudaStream_t s, cudaEvent_t e)
{
    cudaStream_t others[4];

    if (!is_wanted("joins"))
        return;
    for (cudaStream_t &other : others)
        cudaStreamCreate(&other);
    measure_calls("joins", CALLS / 10, [&](int i) {
        for (cudaStream_t &other : others) {
            nothing<<<1, 32, 0, other>>>(i);
            cudaEventRecord(e, other);
            cudaStreamWaitEvent(s, e, 0);
        }
        nothing<<<1, 32, 0, s>>>(i);
        cudaEventRecord(e, s);
        for (cudaStream_t &other : others)
            cudaStreamWaitEvent(other, e, 0);
    });
    for (cudaStream_t &other : others)
        cudaStreamDestroy(other);
}

/* Copies from `count` places, far apart: pairs of closing and opening a range. */
static void measure_pairs(cudaStream_t s, char *device, char *host)
{
    for (size_t bytes : {64, 4096, 65536, 262144, 4194304})
        for (int count : {1, 8}) {
            char name[32];

            if (count * bytes > BYTES)
                continue;
            snprintf(name, sizeof name, "pairs_%d_of_%zu", count, bytes);
            measure_calls(name, PAIRS, [&](int) {
                for (int k = 0; k < count; k++)
                    cudaMemcpyAsync(device + k * (BYTES / 8), host + k * (BYTES / 8), bytes, cudaMemcpyHostToDevice, s);
                cudaStreamSynchronize(s);
            });
        }
}

static void add_often(cudaStream_t s, float *y, int blocks)
{
    for (int i = 0; i < CALLS / 2; i++)
        add<<<blocks, 256, 0, s>>>(y, y + MOST);
}

int main(int argc, char **argv)
{
    cudaStream_t a, b;
    cudaEvent_t e, done;
    char *device, *host;

    names = argv + 1;
    name_count = argc - 1;
    cudaStreamCreate(&a);
    cudaStreamCreate(&b);
    cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
    if (cudaMalloc(&device, BYTES) != cudaSuccess || cudaMallocHost(&host, BYTES) != cudaSuccess) {
        fprintf(stderr, "no memory\n");
        return 1;
    }
    cudaEventRecord(done, a);
    cudaEventSynchronize(done);
    measure_calls("launches", CALLS, [&](int i) { nothing<<<1, 32, 0, a>>>(i); });
    measure_calls("launch_sync", CALLS, [&](int i) {
        nothing<<<1, 32, 0, a>>>(i);
        cudaStreamSynchronize(a);
    });
    measure_calls("events", CALLS, [&](int) {
        cudaEventRecord(e, a);
        cudaStreamWaitEvent(b, e, 0);
    });
    measure_calls("event_chain", CALLS, [&](int i) { /* from stream to stream and back */
        cudaEventRecord(e, i % 2 ? b : a);
        cudaStreamWaitEvent(i % 2 ? a : b, e, 0);
    });
    measure_joins(a, e);
    measure_calls("event_query", CALLS, [&](int) { cudaEventQuery(done); });
    measure_calls("stream_query", CALLS, [&](int) { cudaStreamQuery(b); });
    measure_calls("pool", CALLS, [&](int) {
        void *p;

        cudaMallocAsync(&p, 4096, a);
        cudaFreeAsync(p, a);
    });
    measure_graphs(a);
    measure_calls("memsets", CALLS, [&](int) { cudaMemsetAsync(device, 0, 64, a); });
    measure_calls("host_functions", CALLS, [&](int) { cudaLaunchHostFunc(a, host_nothing, nullptr); });
    measure_calls("no_work", CALLS, [&](int) {
        int now;

        cudaGetDevice(&now);
        cudaSetDevice(now);
        cudaGetLastError();
    });
    measure_calls("device_copies", CALLS, [&](int) { cudaMemcpyAsync(device, device + 4096, 64, cudaMemcpyDeviceToDevice, a); });
    measure_calls("small_copies", CALLS, [&](int) { cudaMemcpyAsync(device, host, 64, cudaMemcpyHostToDevice, a); });
    for (size_t bytes : {64, 4096})
        for (int each : {1, 100}) {
            char name[32];

            snprintf(name, sizeof name, "copies_%d_of_%zu", each, bytes);
            measure_calls(name, CALLS, [&](int i) {
                cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, a);
                if ((i + 1) % each == 0)
                    cudaStreamSynchronize(a);
            });
        }
    measure_calls("copies_4MiB", COPIES, [&](int) { cudaMemcpyAsync(device, host, BYTES, cudaMemcpyHostToDevice, a); });
    measure_pairs(a, device, host);
    if (!is_wanted("short_4") && !is_wanted("short_64"))
        return 0;
    cudaMemset(device, 0, BYTES);
    for (double until = seconds(CLOCK_MONOTONIC) + WARM_SECONDS; seconds(CLOCK_MONOTONIC) < until; cudaDeviceSynchronize())
        add_often(a, (float *)device, 4); /* the better tier of its code comes meanwhile */
    measure("short_4", [&] { add_often(a, (float *)device, 4); });
    measure("short_64", [&] { add_often(a, (float *)device, 64); });
    return 0;
}
