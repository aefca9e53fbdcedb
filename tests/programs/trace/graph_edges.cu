// Graphs whose edges order what shares no data, and such as do not.
//   graph_edges chain|data|fork|pipeline|host
// chain: kernels with memory of their own, captured one behind the other; data: each works on what the one before wrote; fork: as chain,
// each in a stream of its own; pipeline: chunks of copy, kernel, copy, captured in one stream; host: a chain of which
// a host function is every second node, so that nobody knows.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

enum { PARTS = 4, N = 32, STEPS = 200000, ROUNDS = 10, BYTES = 1 << 16 };

__global__ void work(unsigned *x)
{
    unsigned v = x[threadIdx.x];
    for (int s = 0; s < STEPS; s++)
        v = 1664525u * v + 1013904223u;
    x[threadIdx.x] = v;
}

static void check(cudaError_t e)
{
    if (e != cudaSuccess) {
        fprintf(stderr, "graph_edges: %s\n", cudaGetErrorString(e));
        _Exit(1);
    }
}

static void nothing(void *) {}

static void capture(const char *form, cudaStream_t s, cudaStream_t *side, unsigned **x, char *host)
{
    cudaEvent_t begin, ends[PARTS];
    const bool fork = !strcmp(form, "fork"), pipeline = !strcmp(form, "pipeline");

    check(cudaEventCreateWithFlags(&begin, cudaEventDisableTiming));
    check(cudaEventRecord(begin, s));
    for (int i = 0; i < PARTS; i++) {
        cudaStream_t at = fork ? side[i] : s;
        unsigned *to = x[strcmp(form, "data") ? i : 0];

        if (fork)
            check(cudaStreamWaitEvent(at, begin, 0));
        if (pipeline)
            check(cudaMemcpyAsync(to, host + i * BYTES, BYTES, cudaMemcpyHostToDevice, at));
        work<<<1, N, 0, at>>>(to);
        check(cudaGetLastError());
        if (pipeline)
            check(cudaMemcpyAsync(host + i * BYTES, to, BYTES, cudaMemcpyDeviceToHost, at));
        if (!strcmp(form, "host"))
            check(cudaLaunchHostFunc(at, nothing, nullptr));
        if (!fork)
            continue;
        check(cudaEventCreateWithFlags(&ends[i], cudaEventDisableTiming));
        check(cudaEventRecord(ends[i], at));
        check(cudaStreamWaitEvent(s, ends[i], 0));
    }
}

int main(int argc, char **argv)
{
    cudaStream_t s, side[PARTS];
    cudaGraphExec_t exec;
    cudaGraph_t graph;
    unsigned *x[PARTS];
    char *host;

    check(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    check(cudaMallocHost(&host, PARTS * BYTES));
    for (int i = 0; i < PARTS; i++) {
        check(cudaMalloc(&x[i], BYTES));
        check(cudaStreamCreateWithFlags(&side[i], cudaStreamNonBlocking));
    }
    check(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    capture(argc > 1 ? argv[1] : "chain", s, side, x, host);
    check(cudaStreamEndCapture(s, &graph));
    check(cudaGraphInstantiate(&exec, graph, 0));
    for (int r = 0; r < ROUNDS; r++)
        check(cudaGraphLaunch(exec, s));
    check(cudaStreamSynchronize(s));
    return 0;
}
