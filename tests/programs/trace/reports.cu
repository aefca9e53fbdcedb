/* What users reported (streams that do not overlap, wishes for timelines), as programs: weir advise and
 * weir diff have to say what it was.
 *   reports CASE bad|good
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../ok.h"

enum { PART = 1 << 14, PARTS = 32, BIG = 48 << 20, SLOW = 1000000 };

__global__ void work(const unsigned *in, unsigned *out, int steps)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = in[i];
    for (int s = 0; s < steps; s++)
        x = 1664525u * x + 1013904223u;
    out[i] = x;
}

static unsigned *in, *out, *host;
static char *big, *big_host;
static cudaStream_t s[PARTS];

static void launch(int part, cudaStream_t at, int blocks, int steps)
{
    work<<<blocks, 32, 0, at>>>(in + part * PART, out + part * PART, steps);
    OK(cudaGetLastError());
}
static void copy_in(int part, cudaStream_t at)
{
    OK(cudaMemcpyAsync(in + part * PART, host + part * PART, 4 * PART, cudaMemcpyHostToDevice, at));
}
static void copy_out(int part, cudaStream_t at)
{
    OK(cudaMemcpyAsync(host + part * PART, out + part * PART, 4 * PART, cudaMemcpyDeviceToHost, at));
}
static void finish(void) { OK(cudaDeviceSynchronize()); }

/* The copy back needs a conversion on the host: a wait that hides in a helper. */
static void convert(int part, cudaStream_t at)
{
    OK(cudaStreamSynchronize(at));
    for (int i = 0; i < PART; i++)
        host[part * PART + i] ^= 1;
}
static void hidden_wait(bool good)
{
    for (int i = 0; i < 8; i++) {
        copy_in(i, s[i % 4]);
        for (int k = 0; k < 3; k++)
            launch(i, s[i % 4], 1, SLOW);
        copy_out(i, s[i % 4]);
        if (!good)
            convert(i, s[i % 4]);
    }
    finish();
}
static void full_kernels(bool good)
{
    for (int i = 0; i < 8; i++) {
        copy_in(i, s[i % 4]);
        for (int k = 0; k < 4; k++)
            launch(i, s[i % 4], good ? 1 : 512, good ? SLOW : SLOW / 64);
        copy_out(i, s[i % 4]);
    }
    finish();
}
static void tiny_kernels(bool good)
{
    for (int i = 0; i < (good ? 20 : 1000); i++)
        launch(i % 2, s[i % 2], 1, good ? SLOW : 1);
    finish();
}
/* The same in one graph with two branches. */
static void tiny_in_graph(bool)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaEvent_t fork, join;
    OK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    OK(cudaStreamBeginCapture(s[0], cudaStreamCaptureModeGlobal));
    OK(cudaEventRecord(fork, s[0]));
    OK(cudaStreamWaitEvent(s[1], fork, 0));
    for (int i = 0; i < 1000; i++)
        launch(i % 2, s[i % 2], 1, 1);
    OK(cudaEventRecord(join, s[1]));
    OK(cudaStreamWaitEvent(s[0], join, 0));
    OK(cudaStreamEndCapture(s[0], &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, s[0]));
    finish();
}
static void no_stream(bool good)
{
    cudaStream_t a, b;
    OK(good ? cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking) : cudaStreamCreate(&a));
    OK(good ? cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking) : cudaStreamCreate(&b));
    launch(0, a, 1, SLOW);
    launch(1, 0, 1, SLOW); /* THE DEFAULT STREAM */
    launch(2, b, 1, SLOW);
    finish();
}
static void allocation(bool good)
{
    for (int i = 0; i < 20; i++) {
        void *p;
        launch(i % 2, s[i % 2], 1, SLOW / 4);
        OK(good ? cudaMallocAsync(&p, 1 << 20, s[2]) : cudaMalloc(&p, 1 << 20));
        OK(good ? cudaFreeAsync(p, s[2]) : cudaFree(p));
    }
    finish();
}
static void pinning(bool)
{
    for (int i = 0; i < 20; i++) {
        void *p;
        launch(i % 2, s[i % 2], 1, SLOW / 4);
        OK(cudaMallocHost(&p, 1 << 20));
        OK(cudaFreeHost(p));
    }
    finish();
}
static void behind_a_large_copy(bool good)
{
    if (good)
        copy_in(1, s[1]);
    OK(cudaMemcpyAsync(big, big_host, BIG, cudaMemcpyHostToDevice, s[0]));
    if (!good)
        copy_in(1, s[1]);
    launch(1, s[1], 1, SLOW);
    copy_out(2, s[2]);
    finish();
}
static void queues(bool good)
{
    for (int i = 0; i < 2 * 16; i++)
        launch(good ? i % 16 : i / 2, s[good ? i % 16 : i / 2], 1, SLOW);
    finish();
}
static void stray_wait(bool good)
{
    for (int i = 0; i < 12; i++) {
        copy_in(i, s[i % 3]);
        launch(i, s[i % 3], 1, SLOW);
        copy_out(i, s[i % 3]);
        if (!good)
            OK(cudaStreamSynchronize(s[i % 3])); /* THE STRAY WAIT */
    }
    finish();
}
/* For weir diff: another stream, memory that is no longer pinned, a wait between streams that was not there. */
static void other_stream(bool good)
{
    for (int i = 0; i < 4; i++)
        launch(i, good ? s[1] : 0, 1, SLOW / 8); /* THE STREAM */
    finish();
}
static void other_memory(bool good)
{
    unsigned *pageable = (unsigned *)calloc(PART, 4);
    for (int i = 0; i < 4; i++)
        OK(cudaMemcpyAsync(in, good ? host : pageable, 4 * PART, cudaMemcpyHostToDevice, s[0])); /* THE MEMORY */
    finish();
    free(pageable);
}
static void other_order(bool good)
{
    cudaEvent_t e;
    cudaStream_t more;
    OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    if (!good)
        OK(cudaStreamCreate(&more)); /* (shifts the numbers of what comes) */
    OK(cudaStreamCreate(&more));
    for (int i = 0; i < 4; i++) {
        launch(i, s[0], 1, SLOW / 8);
        OK(cudaEventRecord(e, s[0]));
        if (!good)
            OK(cudaStreamWaitEvent(s[1], e, 0)); /* THE EVENT */
        launch(i + 4, s[1], 1, SLOW / 8);
    }
    finish();
}
static void by_legacy(bool good)
{
    cudaStream_t a;
    cudaEvent_t e;
    OK(cudaStreamCreate(&a));
    OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    launch(0, 0, 1, SLOW);
    if (good) {
        OK(cudaEventRecord(e, 0));
        OK(cudaStreamWaitEvent(a, e, 0));
    }
    copy_out(0, a); /* reads what the default stream wrote */
    finish();
}
static void by_free(bool good)
{
    void *p;
    OK(cudaMalloc(&p, 1 << 20));
    launch(0, s[0], 1, SLOW);
    if (good)
        OK(cudaStreamSynchronize(s[0]));
    OK(cudaFree(p));
    copy_out(0, s[1]);
    finish();
}

static const struct {
    const char *name;
    void (*run)(bool good);
} cases[] = {
    {"hidden-wait", hidden_wait},   {"full-kernels", full_kernels}, {"tiny-kernels", tiny_kernels},
    {"no-stream", no_stream},       {"allocation", allocation},     {"large-copy", behind_a_large_copy},
    {"queues", queues},             {"stray-wait", stray_wait},     {"by-legacy", by_legacy},
    {"by-free", by_free},           {"other-stream", other_stream}, {"other-memory", other_memory},
    {"other-order", other_order},   {"tiny-in-graph", tiny_in_graph}, {"pinning", pinning},
};

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    OK(cudaMalloc(&in, 4 * PART * PARTS));
    OK(cudaMalloc(&out, 4 * PART * PARTS));
    OK(cudaMalloc(&big, BIG));
    OK(cudaMallocHost(&host, 4 * PART * PARTS));
    OK(cudaMallocHost(&big_host, BIG));
    memset(big_host, 1, BIG);
    for (cudaStream_t &one : s)
        OK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    for (int i = 0; i < PARTS; i++) /* loads the code, shows where each part begins */
        launch(i, s[0], 1, 1);
    finish();
    for (const auto &c : cases) {
        if (!strcmp(c.name, argv[1])) {
            c.run(!strcmp(argv[2], "good"));
            return 0;
        }
    }
    return 2;
}
