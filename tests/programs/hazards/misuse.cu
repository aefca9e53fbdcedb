/* Small programs that misuse the API, and their right twins, by name: what weir check must say of
 * each is in misuse.sh.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../ok.h"

enum { N = 1024 };

__global__ void fill(int *to)
{
    to[threadIdx.x] = 1;
}

__global__ void copy(int *to, const int *from)
{
    to[threadIdx.x] = from[threadIdx.x];
}

static int *a, *b, *host;
static cudaStream_t s1, s2, s3;
static cudaEvent_t e;

__attribute__((noinline)) static void inner(cudaStream_t s)
{
    fill<<<1, N, 0, s>>>(a);
}

__attribute__((noinline)) static void outer(cudaStream_t s)
{
    inner(s);
    OK(cudaGetLastError());
}

/* ---- events ---- */

static void noop_wait(void)
{
    OK(cudaStreamWaitEvent(s1, e, 0));
    outer(s1);
}

/* The first round of a loop waits for nothing, which is meant. */
static void noop_first(void)
{
    for (int i = 0; i < 3; i++) {
        OK(cudaStreamWaitEvent(s2, e, 0));
        copy<<<1, N, 0, s2>>>(b, b + N);
        OK(cudaEventRecord(e, s1));
    }
}

static void barrier(bool own_events)
{
    cudaEvent_t second;

    OK(cudaEventCreateWithFlags(&second, cudaEventDisableTiming));
    outer(s1);
    OK(cudaEventRecord(e, s1));
    OK(cudaEventRecord(own_events ? second : e, s2));
    OK(cudaStreamWaitEvent(s3, e, 0));
    if (own_events)
        OK(cudaStreamWaitEvent(s3, second, 0));
    copy<<<1, N, 0, s3>>>(b, a);
    OK(cudaEventDestroy(second));
}

static void lost_record(void)
{
    barrier(false);
}

static void kept_records(void)
{
    barrier(true);
}

static void CUDART_CB hold(void *go)
{
    while (!*(volatile bool *)go)
        ;
}

/* The second must not be over, and its race told, before the wait is made. */
static void late_wait(void)
{
    static volatile bool go;

    outer(s1);
    OK(cudaEventRecord(e, s1));
    OK(cudaLaunchHostFunc(s2, hold, (void *)&go));
    copy<<<1, N, 0, s2>>>(b, a);
    OK(cudaStreamWaitEvent(s2, e, 0));
    go = true;
}

static void not_waited(void)
{
    outer(s1);
    OK(cudaEventRecord(e, s1));
    copy<<<1, N, 0, s2>>>(b, a);
}

static void unneeded_wait(void)
{
    outer(s1);
    OK(cudaEventRecord(e, s1));
    OK(cudaStreamWaitEvent(s2, e, 0));
    OK(cudaStreamWaitEvent(s2, e, 0));
    copy<<<1, N, 0, s2>>>(b, a);
}

/* ---- captures ---- */

static void capture_sync(void)
{
    cudaGraph_t graph;

    OK(cudaStreamBeginCapture(s1, cudaStreamCaptureModeGlobal));
    fill<<<1, N, 0, s1>>>(a);
    GIVES(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
    GIVES(cudaStreamEndCapture(s1, &graph), cudaErrorStreamCaptureInvalidated);
    cudaGetLastError();
}

/* P34 */
static void capture_unjoined(void)
{
    cudaGraph_t graph;

    OK(cudaStreamBeginCapture(s1, cudaStreamCaptureModeGlobal));
    OK(cudaEventRecord(e, s1));
    OK(cudaStreamWaitEvent(s2, e, 0));
    fill<<<1, N, 0, s2>>>(a);
    GIVES(cudaStreamEndCapture(s1, &graph), cudaErrorStreamCaptureUnjoined);
    cudaGetLastError();
}

/* The same with a join, and questions that do no harm. */
static void capture(void)
{
    enum cudaStreamCaptureStatus status;
    cudaGraph_t graph;
    cudaGraphExec_t exec;

    OK(cudaStreamBeginCapture(s1, cudaStreamCaptureModeGlobal));
    OK(cudaEventRecord(e, s1));
    OK(cudaStreamWaitEvent(s2, e, 0));
    fill<<<1, N, 0, s2>>>(a);
    OK(cudaStreamIsCapturing(s2, &status));
    OK(cudaEventRecord(e, s2));
    OK(cudaStreamWaitEvent(s1, e, 0));
    OK(cudaStreamEndCapture(s1, &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, s1));
    OK(cudaStreamSynchronize(s1));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

static void capture_beside(void)
{
    cudaGraph_t graph;

    OK(cudaStreamBeginCapture(s1, cudaStreamCaptureModeRelaxed));
    fill<<<1, N, 0, s1>>>(a);
    fill<<<1, N, 0, s2>>>(b);
    OK(cudaStreamEndCapture(s1, &graph));
    OK(cudaGraphDestroy(graph));
}

/* ---- errors ---- */

static void launch_unchecked(void)
{
    fill<<<1, 4096, 0, s1>>>(a);
    OK(cudaStreamSynchronize(s1));
}

static void launch_checked(void)
{
    fill<<<1, 4096, 0, s1>>>(a);
    GIVES(cudaGetLastError(), cudaErrorInvalidValue);
}

static void fail_somewhere(void)
{
    void *p;

    GIVES(cudaMalloc(&p, (size_t)1 << 60), cudaErrorMemoryAllocation);
}

/* P54 */
static void stale_error(void)
{
    fail_somewhere();
    fill<<<1, N, 0, s1>>>(a);
    GIVES(cudaGetLastError(), cudaErrorMemoryAllocation);
}

static void error_taken(void)
{
    fail_somewhere();
    cudaGetLastError();
    outer(s1);
}

static void error_left(void)
{
    fail_somewhere();
}

/* P53 */
static void fault(void)
{
    fill<<<1, N, 0, s1>>>(NULL);
    GIVES(cudaStreamSynchronize(s1), cudaErrorIllegalAddress);
    puts("done");
    exit(0);
}

/* ---- handles ---- */

static void dead_stream(void)
{
    cudaStream_t s;

    OK(cudaStreamCreate(&s));
    OK(cudaStreamDestroy(s));
    GIVES(cudaStreamSynchronize(s), cudaErrorInvalidResourceHandle);
    cudaGetLastError();
}

static void dead_event(void)
{
    cudaEvent_t own;

    OK(cudaEventCreate(&own));
    OK(cudaEventDestroy(own));
    GIVES(cudaEventRecord(own, s1), cudaErrorInvalidResourceHandle);
    cudaGetLastError();
}

static void dead_graph(void)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;

    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphExecDestroy(exec));
    GIVES(cudaGraphLaunch(exec, s1), cudaErrorInvalidValue);
    cudaGetLastError();
    OK(cudaGraphDestroy(graph));
}

/* ---- what a project may forbid ---- */

static void nothing(void *arg)
{
    (void)arg;
}

static void habits(void)
{
    static char pageable[64];
    cudaStream_t blocking;
    int *managed;

    OK(cudaStreamCreate(&blocking));
    OK(cudaMemcpy(a, pageable, sizeof pageable, cudaMemcpyHostToDevice));
    OK(cudaMemcpyAsync(b, pageable, sizeof pageable, cudaMemcpyHostToDevice, s1));
    OK(cudaMallocManaged((void **)&managed, 64));
    OK(cudaLaunchHostFunc(s1, nothing, NULL));
    OK(cudaStreamSynchronize(s1));
    OK(cudaStreamSynchronize(0));
    OK(cudaDeviceSynchronize());
    OK(cudaFree(managed));
    OK(cudaStreamDestroy(blocking));
}

static void race(void)
{
    outer(s1);
    copy<<<1, N, 0, s2>>>(b, a);
}

/* The source has been read when the call returns: it may be written by whatever comes. */
static void source_read(void)
{
    static int pageable[N];

    OK(cudaMemcpy(a, pageable, sizeof pageable, cudaMemcpyHostToDevice));
    OK(cudaMemcpyAsync(pageable, b, sizeof pageable, cudaMemcpyDeviceToHost, s1));
}

/* ---- what frees, and the legacy default stream ---- */

static void free_orders(void)
{
    int *other;

    OK(cudaMalloc((void **)&other, 64));
    outer(s1);
    OK(cudaFree(other));
    copy<<<1, N, 0, s2>>>(b, a);
}

static void legacy_orders(void)
{
    cudaStream_t s[2];

    OK(cudaStreamCreate(&s[0]));
    OK(cudaStreamCreate(&s[1]));
    outer(s[0]);
    copy<<<1, 1, 0, 0>>>(b + N, b);
    copy<<<1, N, 0, s[1]>>>(b, a);
    OK(cudaStreamSynchronize(s[1]));
    OK(cudaStreamDestroy(s[0]));
    OK(cudaStreamDestroy(s[1]));
}

/* P20 */
static void pool_freed(bool waits)
{
    int *own;

    OK(cudaMallocAsync((void **)&own, N * sizeof *own, s1));
    copy<<<1, N, 0, s1>>>(b, own);
    if (waits)
        OK(cudaStreamSynchronize(s1));
    OK(cudaFree(own));
}

static void pool_freed_early(void)
{
    pool_freed(false);
}

static void pool_freed_late(void)
{
    pool_freed(true);
}

/* Keeps everything. */
static void leak(void)
{
    puts("done");
    exit(0);
}

static const struct {
    const char *name;
    void (*run)(void);
} forms[] = {
    {"noop-wait", noop_wait},
    {"noop-first", noop_first},
    {"lost-record", lost_record},
    {"kept-records", kept_records},
    {"late-wait", late_wait},
    {"not-waited", not_waited},
    {"unneeded-wait", unneeded_wait},
    {"capture-sync", capture_sync},
    {"capture-unjoined", capture_unjoined},
    {"capture", capture},
    {"capture-beside", capture_beside},
    {"launch-unchecked", launch_unchecked},
    {"launch-checked", launch_checked},
    {"stale-error", stale_error},
    {"error-taken", error_taken},
    {"error-left", error_left},
    {"fault", fault},
    {"dead-stream", dead_stream},
    {"dead-event", dead_event},
    {"dead-graph", dead_graph},
    {"habits", habits},
    {"race", race},
    {"source-read", source_read},
    {"free-orders", free_orders},
    {"legacy-orders", legacy_orders},
    {"pool-freed-early", pool_freed_early},
    {"pool-freed-late", pool_freed_late},
    {"leak", leak},
};

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";

    OK(cudaMalloc((void **)&a, 2 * N * sizeof *a));
    OK(cudaMalloc((void **)&b, 2 * N * sizeof *b));
    OK(cudaHostAlloc((void **)&host, N * sizeof *host, cudaHostAllocDefault));
    OK(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&s3, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (strcmp(forms[i].name, name) == 0)
            forms[i].run();
    }
    OK(cudaStreamSynchronize(s1));
    OK(cudaStreamSynchronize(s2));
    OK(cudaStreamSynchronize(s3));
    OK(cudaFree(a));
    OK(cudaFree(b));
    OK(cudaFreeHost(host));
    OK(cudaEventDestroy(e));
    OK(cudaStreamDestroy(s1));
    OK(cudaStreamDestroy(s2));
    OK(cudaStreamDestroy(s3));
    puts("done");
    return 0;
}
