/* What a capture does with every sort of call: the call's error, the capture's status behind it,
 * what ending it gives and the graph's nodes, in each mode, of a non-blocking and of a blocking
 * stream, as a GPU answered (oracle capture_ops_*). Then forks and joins, other threads, and events
 * afterwards. Rules: CAP-001 to CAP-003, CAP-010, CAP-011, CAP-012, CAP-013, CAP-014, CAP-015,
 * CAP-020 to CAP-023.
 * SPDX-License-Identifier: Apache-2.0 */
#include "conform.h"
#include "kernels.h"

static cudaKernel_t empty;

/* What a call is about; `s` captures, and has one kernel and the recorded event `captured`. */
struct scene {
    cudaStream_t s, other, blocking;
    cudaEvent_t captured, outside, never;
    unsigned char *device, *pinned, *pageable;
    void *pool;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
};

static cudaError_t launch(cudaStream_t s, unsigned threads)
{
    return cudaLaunchKernel((const void *)empty, (dim3){1, 1, 1}, (dim3){threads, 1, 1}, NULL, 0,
                            s);
}

static void nothing(void *p)
{
    (void)p;
}

static void nothing_back(cudaStream_t s, cudaError_t e, void *p)
{
    (void)s, (void)e, (void)p;
}

#define CALL(name, expression)                                                                     \
    static cudaError_t name(struct scene *c)                                                       \
    {                                                                                              \
        (void)c;                                                                                   \
        return expression;                                                                         \
    }

static void *sink;
static size_t size, size2;
static unsigned flags;
static unsigned long long id;
static int number;
static float ms;
static cudaGraph_t graph_sink;
static cudaGraphExec_t exec_sink;
static enum cudaStreamCaptureStatus status_sink;

CALL(kernel, launch(c->s, 1))
CALL(kernel_bad, launch(c->s, 2000))
CALL(kernel_legacy, launch(0, 1))
CALL(kernel_other, launch(c->other, 1))
CALL(kernel_blocking, launch(c->blocking, 1))
CALL(kernel_per_thread, launch(cudaStreamPerThread, 1))
CALL(malloc_call, cudaMalloc(&sink, 64))
CALL(free_null, cudaFree(NULL))
CALL(malloc_host, cudaMallocHost(&sink, 64))
CALL(copy_sync, cudaMemcpy(c->device, c->pageable, 64, cudaMemcpyHostToDevice))
CALL(copy_zero, cudaMemcpy(c->device, c->pageable, 0, cudaMemcpyHostToDevice))
CALL(memset_sync, cudaMemset(c->device, 0, 64))
CALL(copy_async, cudaMemcpyAsync(c->device, c->pageable, 64, cudaMemcpyHostToDevice, c->s))
CALL(copy_async_zero, cudaMemcpyAsync(c->device, c->pageable, 0, cudaMemcpyHostToDevice, c->s))
CALL(copy_wrong_kind, cudaMemcpyAsync(c->device, c->pageable, 64, cudaMemcpyDeviceToDevice, c->s))
CALL(copy_legacy, cudaMemcpyAsync(c->device, c->pinned, 64, cudaMemcpyHostToDevice, 0))
CALL(copy_peer, cudaMemcpyPeerAsync(c->device, 0, c->device + 128, 0, 64, c->s))
CALL(copy_2d, cudaMemcpy2DAsync(c->device, 64, c->pinned, 64, 32, 4, cudaMemcpyHostToDevice, c->s))
CALL(memset_async, cudaMemsetAsync(c->device, 0, 64, c->s))
CALL(device_wait, cudaDeviceSynchronize())
CALL(stream_wait, cudaStreamSynchronize(c->s))
CALL(stream_wait_other, cudaStreamSynchronize(c->other))
CALL(stream_wait_legacy, cudaStreamSynchronize(0))
CALL(stream_query_other, cudaStreamQuery(c->other))
CALL(event_query_captured, cudaEventQuery(c->captured))
CALL(event_wait_captured, cudaEventSynchronize(c->captured))
CALL(event_elapsed, cudaEventElapsedTime(&ms, c->captured, c->captured))
CALL(event_query, cudaEventQuery(c->outside))
CALL(event_query_never, cudaEventQuery(c->never))
CALL(record, cudaEventRecord(c->never, c->s))
CALL(record_other, cudaEventRecord(c->never, c->other))
CALL(record_legacy, cudaEventRecord(c->never, 0))
CALL(record_external, cudaEventRecordWithFlags(c->outside, c->s, cudaEventRecordExternal))
CALL(wait_external, cudaStreamWaitEvent(c->s, c->outside, cudaEventWaitExternal))
CALL(wait_outside, cudaStreamWaitEvent(c->s, c->outside, 0))
CALL(wait_never, cudaStreamWaitEvent(c->s, c->never, 0))
CALL(wait_own, cudaStreamWaitEvent(c->s, c->captured, 0))
CALL(wait_legacy, cudaStreamWaitEvent(0, c->captured, 0))
CALL(wait_legacy_never, cudaStreamWaitEvent(0, c->never, 0))
CALL(wait_fork, cudaStreamWaitEvent(c->other, c->captured, 0))
CALL(callback, cudaStreamAddCallback(c->s, nothing_back, NULL, 0))
CALL(host_func, cudaLaunchHostFunc(c->s, nothing, NULL))
CALL(alloc_async, cudaMallocAsync(&sink, 64, c->s))
CALL(alloc_free_async,
     cudaMallocAsync(&sink, 64, c->s) ? cudaErrorUnknown : cudaFreeAsync(sink, c->s))
CALL(free_async_outside, cudaFreeAsync(c->pool, c->s))
CALL(alloc_async_other, cudaMallocAsync(&sink, 64, c->other))
CALL(alloc_async_legacy, cudaMallocAsync(&sink, 64, 0))
CALL(set_limit, cudaDeviceSetLimit(cudaLimitStackSize, 2048))
CALL(get_limit, cudaDeviceGetLimit(&size, cudaLimitStackSize))
CALL(mem_info, cudaMemGetInfo(&size, &size2))
CALL(begin_again, cudaStreamBeginCapture(c->s, cudaStreamCaptureModeRelaxed))
CALL(begin_legacy, cudaStreamBeginCapture(0, cudaStreamCaptureModeRelaxed))
CALL(end_other, cudaStreamEndCapture(c->other, &graph_sink))
CALL(end_null, cudaStreamEndCapture(c->s, NULL))
CALL(instantiate, cudaGraphInstantiate(&exec_sink, c->graph, 0))
CALL(launch_graph, cudaGraphLaunch(c->exec, c->s))
CALL(launch_graph_other, cudaGraphLaunch(c->exec, c->other))
CALL(upload_graph, cudaGraphUpload(c->exec, c->s))
CALL(get_priority, cudaStreamGetPriority(c->s, &number))
CALL(get_flags, cudaStreamGetFlags(c->s, &flags))
CALL(get_id, cudaStreamGetId(c->s, &id))
CALL(get_flags_other, cudaStreamGetFlags(c->other, &flags))
CALL(capturing_legacy, cudaStreamIsCapturing(0, &status_sink))

/* The answers: unsupported in all modes; in all but relaxed ("unsafe"); for legacy users implicit
 * when the capturing stream is blocking. */
enum answer {
    FINE,          /* the node, if any, is added */
    REFUSED,       /* 900, broken */
    UNSAFE,        /* 900 and broken but in relaxed mode */
    LEGACY,        /* fine; of a blocking stream 906 and broken */
    LEGACY_UNSAFE, /* UNSAFE; of a blocking stream 906 and broken */
    KEEPS,         /* `err`, and the capture goes on */
    BREAKS,        /* `err`, and broken */
};

static const struct {
    const char *name;
    cudaError_t (*call)(struct scene *c);
    enum answer answer;
    cudaError_t err;
    int node; /* type of the node added, -1 none */
} calls[] = {
#define ROW(call, answer, err, node)                                                               \
    {                                                                                              \
#call, call, answer, err, node                                                             \
    }
    ROW(kernel, FINE, 0, cudaGraphNodeTypeKernel),
    ROW(kernel_bad, BREAKS, cudaErrorInvalidValue, -1),
    ROW(kernel_legacy, LEGACY, 0, -1),
    ROW(kernel_other, FINE, 0, -1),
    ROW(kernel_blocking, FINE, 0, -1),
    ROW(kernel_per_thread, FINE, 0, -1),
    ROW(malloc_call, UNSAFE, 0, -1),
    ROW(free_null, UNSAFE, 0, -1),
    ROW(malloc_host, UNSAFE, 0, -1),
    ROW(copy_sync, LEGACY, 0, -1),
    ROW(copy_zero, FINE, 0, -1),
    ROW(memset_sync, LEGACY, 0, -1),
    ROW(copy_async, FINE, 0, cudaGraphNodeTypeMemcpy),
    ROW(copy_async_zero, FINE, 0, -1),
    ROW(copy_wrong_kind, KEEPS, cudaErrorInvalidValue, -1),
    ROW(copy_legacy, LEGACY, 0, -1),
    ROW(copy_peer, REFUSED, 0, -1),
    ROW(copy_2d, FINE, 0, cudaGraphNodeTypeMemcpy),
    ROW(memset_async, FINE, 0, cudaGraphNodeTypeMemset),
    ROW(device_wait, REFUSED, 0, -1),
    ROW(stream_wait, REFUSED, 0, -1),
    ROW(stream_wait_other, UNSAFE, 0, -1),
    ROW(stream_wait_legacy, LEGACY_UNSAFE, 0, -1),
    ROW(stream_query_other, UNSAFE, 0, -1),
    ROW(event_query_captured, BREAKS, cudaErrorCapturedEvent, -1),
    ROW(event_wait_captured, BREAKS, cudaErrorCapturedEvent, -1),
    ROW(event_elapsed, KEEPS, cudaErrorCapturedEvent, -1),
    ROW(event_query, UNSAFE, 0, -1),
    ROW(event_query_never, UNSAFE, 0, -1),
    ROW(record, FINE, 0, -1),
    ROW(record_other, FINE, 0, -1),
    ROW(record_legacy, LEGACY, 0, -1),
    ROW(record_external, FINE, 0, cudaGraphNodeTypeEventRecord),
    ROW(wait_external, FINE, 0, cudaGraphNodeTypeWaitEvent),
    ROW(wait_outside, BREAKS, cudaErrorStreamCaptureIsolation, -1),
    ROW(wait_never, FINE, 0, -1),
    ROW(wait_own, FINE, 0, -1),
    ROW(wait_legacy, BREAKS, cudaErrorStreamCaptureImplicit, -1),
    ROW(wait_legacy_never, LEGACY, 0, -1),
    ROW(wait_fork, FINE, 0, -1),
    ROW(callback, REFUSED, 0, -1),
    ROW(host_func, FINE, 0, cudaGraphNodeTypeHost),
    ROW(alloc_async, FINE, 0, cudaGraphNodeTypeMemAlloc),
    ROW(alloc_free_async, FINE, 0, cudaGraphNodeTypeMemFree),
    ROW(free_async_outside, KEEPS, cudaErrorInvalidValue, -1),
    ROW(alloc_async_other, UNSAFE, 0, -1),
    ROW(alloc_async_legacy, LEGACY_UNSAFE, 0, -1),
    ROW(set_limit, UNSAFE, 0, -1),
    ROW(get_limit, FINE, 0, -1),
    ROW(mem_info, FINE, 0, -1),
    ROW(begin_again, KEEPS, cudaErrorIllegalState, -1),
    ROW(end_other, KEEPS, cudaErrorIllegalState, -1),
    ROW(instantiate, UNSAFE, 0, -1),
    ROW(launch_graph, REFUSED, 0, -1),
    ROW(launch_graph_other, FINE, 0, -1),
    ROW(upload_graph, REFUSED, 0, -1),
    ROW(get_priority, FINE, 0, -1),
    ROW(get_flags, REFUSED, 0, -1),
    ROW(get_id, REFUSED, 0, -1),
    ROW(get_flags_other, FINE, 0, -1),
};

static void make_scene(struct scene *c, unsigned stream_flags)
{
    cudaGraphNode_t n;

    OK(cudaStreamCreateWithFlags(&c->s, stream_flags));
    OK(cudaStreamCreateWithFlags(&c->other, cudaStreamNonBlocking));
    OK(cudaStreamCreate(&c->blocking));
    OK(cudaEventCreate(&c->captured));
    OK(cudaEventCreate(&c->outside));
    OK(cudaEventCreate(&c->never));
    OK(cudaMalloc((void **)&c->device, 4096));
    OK(cudaMallocHost((void **)&c->pinned, 4096));
    c->pageable = calloc(1, 4096);
    OK(cudaMallocAsync(&c->pool, 64, c->other));
    OK(cudaGraphCreate(&c->graph, 0));
    OK(cudaGraphAddEmptyNode(&n, c->graph, NULL, 0));
    OK(cudaGraphInstantiate(&c->exec, c->graph, 0));
    OK(cudaEventRecord(c->outside, c->other));
    OK(cudaDeviceSynchronize());
}

static void drop_scene(struct scene *c)
{
    OK(cudaStreamDestroy(c->s));
    OK(cudaStreamDestroy(c->other));
    OK(cudaStreamDestroy(c->blocking));
    OK(cudaEventDestroy(c->captured));
    OK(cudaEventDestroy(c->outside));
    OK(cudaEventDestroy(c->never));
    OK(cudaFree(c->device));
    OK(cudaFreeHost(c->pinned));
    free(c->pageable);
    OK(cudaGraphExecDestroy(c->exec));
    OK(cudaGraphDestroy(c->graph));
}

struct expected {
    cudaError_t err;
    bool broken;
};

static struct expected expect(size_t i, int mode, bool blocking)
{
    struct expected e = {cudaSuccess, false};

    switch (calls[i].answer) {
    case FINE:
        break;
    case KEEPS:
        e.err = calls[i].err;
        break;
    case BREAKS:
        e = (struct expected){calls[i].err, true};
        break;
    case REFUSED:
        e = (struct expected){cudaErrorStreamCaptureUnsupported, true};
        break;
    case LEGACY:
    case LEGACY_UNSAFE:
    case UNSAFE:
        if (blocking && calls[i].answer != UNSAFE)
            e = (struct expected){cudaErrorStreamCaptureImplicit, true};
        else if (mode != cudaStreamCaptureModeRelaxed && calls[i].answer != LEGACY)
            e = (struct expected){cudaErrorStreamCaptureUnsupported, true};
    }
    return e;
}

static bool last_node_is(cudaGraph_t g, int type, size_t *count)
{
    cudaGraphNode_t nodes[8];
    enum cudaGraphNodeType got;

    *count = 8;
    OK(cudaGraphGetNodes(g, nodes, count));
    OK(cudaGraphNodeGetType(nodes[*count - 1], &got));
    return (int)got == type;
}

static void check_call(size_t i, int mode, bool blocking)
{
    struct expected want = expect(i, mode, blocking);
    enum cudaStreamCaptureStatus status;
    struct scene c;
    cudaGraph_t g = NULL;
    cudaError_t err;
    size_t count;

    make_scene(&c, blocking ? cudaStreamDefault : cudaStreamNonBlocking);
    OK(cudaStreamBeginCapture(c.s, (enum cudaStreamCaptureMode)mode));
    OK(launch(c.s, 1));
    OK(cudaEventRecord(c.captured, c.s));
    err = calls[i].call(&c);
    OK(cudaStreamIsCapturing(c.s, &status));
    if (err != want.err || (status == cudaStreamCaptureStatusInvalidated) != want.broken) {
        fprintf(stderr, "%s in mode %d%s: %s, status %d\n", calls[i].name, mode,
                blocking ? " of a blocking stream" : "", cudaGetErrorName(err), (int)status);
        conform_failures++;
    }
    EXPECT(cudaStreamEndCapture(c.s, &g),
           want.broken ? cudaErrorStreamCaptureInvalidated : cudaSuccess);
    CHECK((g == NULL) == want.broken);
    if (g && calls[i].node >= 0)
        CHECK(last_node_is(g, calls[i].node, &count) && count >= 2);
    else if (g)
        CHECK(last_node_is(g, cudaGraphNodeTypeKernel, &count) && count == 1);
    if (g)
        OK(cudaGraphDestroy(g));
    if (calls[i].call == instantiate && err == cudaSuccess)
        OK(cudaGraphExecDestroy(exec_sink));
    cudaGetLastError();
    OK(cudaDeviceSynchronize());
    drop_scene(&c);
}

/* Ends the capture, or says of the legacy stream what only it cannot have. */
static void check_special(void)
{
    struct scene c;
    cudaGraph_t g;

    for (int blocking = 0; blocking < 2; blocking++) {
        cudaError_t legacy =
            blocking ? cudaErrorStreamCaptureImplicit : cudaErrorStreamCaptureUnsupported;

        make_scene(&c, blocking ? cudaStreamDefault : cudaStreamNonBlocking);
        OK(cudaStreamBeginCapture(c.s, cudaStreamCaptureModeRelaxed));
        OK(launch(c.s, 1));
        EXPECT(capturing_legacy(&c), blocking ? cudaErrorStreamCaptureImplicit : cudaSuccess);
        OK(cudaStreamEndCapture(c.s, &g)); /* that broke nothing */
        OK(cudaGraphDestroy(g));
        OK(cudaStreamBeginCapture(c.s, cudaStreamCaptureModeRelaxed));
        EXPECT(begin_legacy(&c), legacy);
        EXPECT(cudaStreamEndCapture(c.s, &g),
               blocking ? cudaErrorStreamCaptureInvalidated : cudaSuccess);
        OK(cudaStreamBeginCapture(c.s, cudaStreamCaptureModeRelaxed));
        OK(end_null(&c));
        EXPECT(cudaStreamEndCapture(c.s, &g), cudaErrorIllegalState);
        cudaGetLastError();
        drop_scene(&c);
    }
}

/* ---- forks and joins ---- */

static void count(cudaGraph_t g, size_t nodes, size_t edges, size_t roots)
{
    size_t n = 0, e = 0, r = 0;

    OK(cudaGraphGetNodes(g, NULL, &n));
    OK(cudaGraphGetEdges(g, NULL, NULL, NULL, &e));
    OK(cudaGraphGetRootNodes(g, NULL, &r));
    CHECK(n == nodes && e == edges && r == roots);
}

static void check_structure(void)
{
    enum cudaStreamCaptureStatus status;
    struct scene c;
    cudaGraph_t g;

    make_scene(&c, cudaStreamNonBlocking);
    OK(cudaStreamBeginCapture(c.s, cudaStreamCaptureModeGlobal)); /* CAP-020, CAP-021 */
    OK(launch(c.s, 1));
    OK(cudaEventRecord(c.captured, c.s));
    OK(cudaStreamWaitEvent(c.other, c.captured, 0));
    OK(launch(c.other, 1));
    OK(launch(c.s, 1));
    OK(cudaEventRecord(c.never, c.other));
    OK(cudaStreamWaitEvent(c.s, c.never, 0));
    OK(launch(c.s, 1));
    OK(cudaStreamEndCapture(c.s, &g));
    count(g, 4, 4, 1);
    OK(cudaGraphDestroy(g));
    EXPECT(cudaEventQuery(c.captured), cudaErrorInvalidValue); /* its capture is over */
    EXPECT(cudaStreamWaitEvent(c.other, c.captured, 0), cudaErrorInvalidValue);
    OK(cudaEventRecord(c.captured, c.s));
    OK(cudaEventSynchronize(c.captured));

    OK(cudaStreamBeginCapture(c.s, cudaStreamCaptureModeGlobal)); /* CAP-002 */
    OK(launch(c.s, 1));
    OK(cudaEventRecord(c.captured, c.s));
    OK(cudaStreamWaitEvent(c.other, c.captured, 0));
    OK(launch(c.other, 1));
    EXPECT(cudaStreamEndCapture(c.other, &g), cudaErrorStreamCaptureUnmatched);
    EXPECT(launch(c.s, 1), cudaErrorStreamCaptureInvalidated); /* CAP-014 */
    EXPECT(cudaStreamEndCapture(c.s, &g), cudaErrorStreamCaptureInvalidated);
    OK(launch(c.other, 1)); /* an ordinary stream again */

    OK(cudaStreamBeginCapture(c.s, cudaStreamCaptureModeGlobal));
    OK(launch(c.s, 1));
    OK(cudaEventRecord(c.captured, c.s));
    OK(cudaStreamWaitEvent(c.other, c.captured, 0));
    OK(launch(c.other, 1));
    EXPECT(cudaStreamEndCapture(c.s, &g), cudaErrorStreamCaptureUnjoined);
    CHECK(g == NULL);

    OK(cudaStreamBeginCapture(c.s, cudaStreamCaptureModeGlobal));
    OK(cudaStreamBeginCapture(c.other, cudaStreamCaptureModeGlobal));
    OK(launch(c.s, 1));
    OK(cudaEventRecord(c.captured, c.s));
    EXPECT(cudaStreamWaitEvent(c.other, c.captured, 0), cudaErrorStreamCaptureMerge);
    EXPECT(cudaStreamEndCapture(c.s, &g), cudaErrorStreamCaptureInvalidated);
    EXPECT(cudaStreamEndCapture(c.other, &g), cudaErrorStreamCaptureInvalidated);

    OK(cudaStreamBeginCapture(c.s, cudaStreamCaptureModeGlobal)); /* CAP-003 */
    OK(launch(c.s, 1));
    OK(cudaEventRecord(c.captured, c.s));
    OK(cudaStreamWaitEvent(c.other, c.captured, 0));
    OK(cudaStreamDestroy(c.s));
    OK(cudaStreamIsCapturing(c.other, &status));
    CHECK(status == cudaStreamCaptureStatusNone);
    OK(cudaDeviceSynchronize());
    OK(cudaStreamCreateWithFlags(&c.s, cudaStreamNonBlocking));
    cudaGetLastError();
    drop_scene(&c);
}

/* Information about a capture, and changing what comes next. */
static void check_info(void)
{
    enum cudaStreamCaptureStatus status;
    const cudaGraphNode_t *ends;
    unsigned long long first, second;
    cudaGraphNode_t n;
    cudaGraph_t g, own;
    struct scene c;
    size_t ends_count;

    make_scene(&c, cudaStreamNonBlocking);
    OK(cudaStreamBeginCapture(c.s, cudaStreamCaptureModeRelaxed));
    OK(launch(c.s, 1));
    OK(cudaStreamGetCaptureInfo(c.s, &status, &first, &g, &ends, NULL, &ends_count));
    CHECK(status == cudaStreamCaptureStatusActive && ends_count == 1);
    OK(cudaGraphAddEmptyNode(&n, g, ends, ends_count));
    OK(cudaStreamUpdateCaptureDependencies(c.s, &n, NULL, 1, cudaStreamSetCaptureDependencies));
    OK(launch(c.s, 1));
    OK(cudaStreamEndCapture(c.s, &own));
    CHECK(own == g);
    count(g, 3, 2, 1);
    OK(cudaStreamBeginCaptureToGraph(c.s, g, &n, NULL, 1, cudaStreamCaptureModeRelaxed));
    OK(launch(c.s, 1));
    OK(cudaStreamGetCaptureInfo(c.s, &status, &second, NULL, NULL, NULL, NULL));
    CHECK(second != first);
    OK(cudaStreamEndCapture(c.s, NULL)); /* the program's graph stays */
    count(g, 4, 3, 1);
    EXPECT(cudaStreamUpdateCaptureDependencies(c.s, &n, NULL, 1, 0), cudaErrorIllegalState);
    cudaGetLastError();
    OK(cudaGraphDestroy(g));
    drop_scene(&c);
}

/* ---- other threads ---- */

struct other {
    int mode; /* that it sets for itself, -1 none */
    cudaError_t err;
    cudaStream_t end; /* or: ends this one's capture */
};

static void *other_thread(void *arg)
{
    struct other *o = arg;
    enum cudaStreamCaptureMode mode = (enum cudaStreamCaptureMode)o->mode;
    cudaGraph_t g;

    if (o->mode >= 0)
        OK(cudaThreadExchangeStreamCaptureMode(&mode));
    o->err = o->end ? cudaStreamEndCapture(o->end, &g) : cudaMalloc(&sink, 64);
    return NULL;
}

static cudaError_t in_thread(int mode, cudaStream_t end)
{
    struct other o = {.mode = mode, .end = end};
    pthread_t t;

    pthread_create(&t, NULL, other_thread, &o);
    pthread_join(t, NULL);
    return o.err;
}

static void check_threads(void) /* CAP-010, CAP-002 */
{
    struct scene c;
    cudaGraph_t g;

    make_scene(&c, cudaStreamNonBlocking);
    for (int mode = 0; mode < 3; mode++) {
        for (int own = -1; own < 3; own++) {
            bool forbidden = mode == cudaStreamCaptureModeGlobal && own <= 0;

            OK(cudaStreamBeginCapture(c.s, (enum cudaStreamCaptureMode)mode));
            EXPECT(in_thread(own, NULL),
                   forbidden ? cudaErrorStreamCaptureUnsupported : cudaSuccess);
            EXPECT(cudaStreamEndCapture(c.s, &g),
                   forbidden ? cudaErrorStreamCaptureInvalidated : cudaSuccess);
        }
        OK(cudaStreamBeginCapture(c.s, (enum cudaStreamCaptureMode)mode));
        EXPECT(in_thread(-1, c.s), mode == cudaStreamCaptureModeRelaxed
                                       ? cudaSuccess
                                       : cudaErrorStreamCaptureWrongThread);
        EXPECT(cudaStreamEndCapture(c.s, &g), cudaErrorIllegalState);
    }
    cudaGetLastError();
    drop_scene(&c);
}

int main(void)
{
    cudaLibrary_t lib;

    OK(cudaLibraryLoadData(&lib, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernel(&empty, lib, "empty"));
    OK(launch(0, 1));
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        for (int mode = 0; mode < 3; mode++)
            for (int blocking = 0; blocking < 2; blocking++)
                check_call(i, mode, blocking);
    check_special();
    check_structure();
    check_info();
    check_threads();
    return CONFORM_END();
}
