/* All workers are held by kernels that only a later kernel of another stream lets go. It becomes
 * ready when the host sleeps already, in a call that waits for it: that thread runs it. Usage:
 * helped WORKERS. Rules: ORD-040, ORD-044.
 * SPDX-License-Identifier: Apache-2.0 */
#include "conform.h"
#include "kernels.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROUNDS = 4, MOST = 8 };

static cudaKernel_t hold, store;
static volatile unsigned *words; /* the kernels go on; how many there are */

static void launch(cudaKernel_t kernel, cudaStream_t s)
{
    void *p = (void *)words;
    unsigned one = 1;
    void *args[] = {&p, &one};

    OK(cudaLaunchKernel((void *)kernel, (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, s));
}

/* Until the host has found nothing to do, and sleeps. */
static void pause_a_while(void *arg)
{
    (void)arg;
    usleep(20000);
}

static cudaGraphExec_t graph_of(cudaStream_t s)
{
    cudaGraphExec_t exec;
    cudaGraph_t g;

    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    OK(cudaLaunchHostFunc(s, pause_a_while, NULL));
    launch(store, s);
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaGraphInstantiate(&exec, g, 0));
    OK(cudaGraphDestroy(g));
    return exec;
}

int main(int argc, char **argv)
{
    int workers = argc > 1 ? atoi(argv[1]) : 1;
    cudaStream_t held[MOST], s;
    cudaGraphExec_t graph;
    cudaEvent_t e;
    cudaLibrary_t lib;

    OK(cudaLibraryLoadData(&lib, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernel(&hold, lib, "hold"));
    OK(cudaLibraryGetKernel(&store, lib, "store"));
    OK(cudaMallocHost((void **)&words, 64));
    OK(cudaEventCreateWithFlags(&e, cudaEventBlockingSync | cudaEventDisableTiming));
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    for (int i = 0; i < workers && i < MOST; i++)
        OK(cudaStreamCreateWithFlags(&held[i], cudaStreamNonBlocking));
    graph = graph_of(s);
    for (int round = 0; round < ROUNDS; round++) {
        words[0] = words[1] = 0;
        for (int i = 0; i < workers && i < MOST; i++)
            launch(hold, held[i]);
        while (words[1] < (unsigned)workers)
            sched_yield();
        if (round % 4 == 3) {
            OK(cudaGraphLaunch(graph, s));
        } else {
            OK(cudaLaunchHostFunc(s, pause_a_while, NULL));
            launch(store, s);
        }
        if (round % 4 == 1) {
            OK(cudaEventRecord(e, s));
            OK(cudaEventSynchronize(e));
        } else {
            OK(cudaStreamSynchronize(s));
        }
        CHECK(words[0] == 1);
        OK(cudaDeviceSynchronize());
    }
    OK(cudaGraphExecDestroy(graph));
    return CONFORM_END();
}
