// Kernels that may begin before the one in front of them is complete (ORD-031), and what they do before they wait for it
// (ORD-032). dependent FORM: hazards and their corrected twins.
// SPDX-License-Identifier: Apache-2.0
#include "../ok.h"

#include <cstring>
#include <cuda_runtime.h>

static const int N = 4096;

enum { NEVER, FIRST, LAST };

__global__ void write(int *p, int value)
{
    p[blockIdx.x * blockDim.x + threadIdx.x] = value;
    asm volatile("griddepcontrol.launch_dependents;");
}

// Sums `from` into `to` (or touches `to` alone), and waits first, last or never.
__global__ void use(int *to, const int *from, int waits)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    asm volatile("griddepcontrol.launch_dependents;");
    if (waits == FIRST) {
        to[i] = 1;
        asm volatile("griddepcontrol.wait;" ::: "memory");
    }
    to[i] += from ? ((const volatile int *)from)[i] : 1;
    if (waits == LAST)
        asm volatile("griddepcontrol.wait;" ::: "memory");
}

static cudaStream_t s;

static void launch(int *to, const int *from, int waits, bool programmatic = true)
{
    cudaLaunchConfig_t c = {};
    cudaLaunchAttribute a = {};

    a.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    a.val.programmaticStreamSerializationAllowed = 1;
    c.gridDim = dim3(N / 256);
    c.blockDim = dim3(256);
    c.stream = s;
    c.attrs = &a;
    c.numAttrs = programmatic;
    OK(cudaLaunchKernelEx(&c, use, to, from, waits));
}

/* The same in a graph. */
static void captured(int *a, int *b, int waits, bool programmatic)
{
    cudaGraph_t g;
    cudaGraphExec_t x;

    OK(cudaStreamSynchronize(s));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    write<<<N / 256, 256, 0, s>>>(a, 2);
    launch(b, a, waits, programmatic);
    write<<<N / 256, 256, 0, s>>>(b, 2);
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphLaunch(x, s));
    OK(cudaGraphLaunch(x, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
}

/* write(a), then two in a row that begin early; the last reads what the first writes. */
static void captured_chain(int *a, int *b, int *c, int waits)
{
    cudaGraph_t g;
    cudaGraphExec_t x;

    OK(cudaStreamSynchronize(s));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    write<<<N / 256, 256, 0, s>>>(a, 2);
    launch(b, a, FIRST);
    launch(c, a, waits);
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphLaunch(x, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
}

int main(int argc, char **argv)
{
    const char *form = argc > 1 ? argv[1] : "";
    int *a, *b, *c;
    cudaEvent_t untimed;

    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    OK(cudaMalloc(&a, N * sizeof *a));
    OK(cudaMalloc(&b, N * sizeof *b));
    OK(cudaMalloc(&c, N * sizeof *c));
    write<<<N / 256, 256, 0, s>>>(a, 1);
    if (!strcmp(form, "waits")) {
        launch(b, a, FIRST);
    } else if (!strcmp(form, "waits-last")) {
        launch(b, a, LAST);
    } else if (!strcmp(form, "never-waits")) {
        launch(b, a, NEVER);
    } else if (!strcmp(form, "plain")) {
        launch(b, a, NEVER, false);
    } else if (!strcmp(form, "own-memory")) {
        launch(b, nullptr, NEVER);
    } else if (!strcmp(form, "record-between")) { // an event without timing lets it begin early
        OK(cudaEventRecord(untimed, s));
        launch(b, a, NEVER);
    } else if (!strcmp(form, "memset-between")) {
        OK(cudaMemsetAsync(c, 0, sizeof *c, s));
        launch(b, a, NEVER);
    } else if (!strcmp(form, "synchronised")) {
        OK(cudaStreamSynchronize(s));
        launch(b, a, NEVER);
    } else if (!strcmp(form, "chain")) { // the second waits, the third begins beside it
        launch(b, a, FIRST);
        launch(c, a, NEVER);
    } else if (!strcmp(form, "graph-waits")) {
        captured(a, b, FIRST, true);
    } else if (!strcmp(form, "graph-waits-last")) {
        captured(a, b, LAST, true);
    } else if (!strcmp(form, "graph-never-waits")) {
        captured(a, b, NEVER, true);
    } else if (!strcmp(form, "graph-plain")) {
        captured(a, b, NEVER, false);
    } else if (!strcmp(form, "graph-chain")) {
        captured_chain(a, b, c, NEVER);
    } else if (!strcmp(form, "graph-chain-waits")) {
        captured_chain(a, b, c, FIRST);
    } else if (!strcmp(form, "chain-waits")) {
        launch(b, a, FIRST);
        launch(c, a, FIRST);
        launch(a, b, FIRST, false);
    }
    OK(cudaDeviceSynchronize());
    puts("done");
    return 0;
}
