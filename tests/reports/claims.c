/* What tutorials say about asynchronous CUDA, and what holds: docs/guide/claims.md has the list, a
 * program for each claim by name.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

static unsigned *device, *pinned;

static void begin(void)
{
    OK(cudaMalloc((void **)&device, 4096));
    OK(cudaMallocHost((void **)&pinned, 4096));
    memset(pinned, 0, 4096);
    OK(cudaMemset(device, 0, 4096));
    OK(cudaDeviceSynchronize());
}

static void end(void)
{
    OK(cudaDeviceSynchronize());
    OK(cudaFree(device));
    OK(cudaFreeHost(pinned));
}

/* It returns at once, and what was submitted still runs. ORD-009. */
static void destroy_returns(void)
{
    cudaStream_t s = make_stream(cudaStreamNonBlocking);
    cudaEvent_t e = make_event(cudaEventDisableTiming);
    struct hold h;

    begin();
    hold_stream(&h, s);
    OK(cudaMemsetAsync(pinned, 1, 4, s));
    OK(cudaEventRecord(e, s));
    OK(cudaStreamDestroy(s)); /* comes back: only the release below lets the stream go on */
    EXPECT(cudaEventQuery(e), cudaErrorNotReady);
    CHECK(pinned[0] == 0);
    hold_release(&h);
    OK(cudaEventSynchronize(e));
    CHECK(pinned[0] == 0x01010101);
    OK(cudaEventDestroy(e));
    end();
}

/* Times of two streams can be subtracted. Oracle event_elapsed.across_streams*. */
static void elapsed_across_streams(void)
{
    cudaStream_t s = make_stream(cudaStreamNonBlocking), t = make_stream(cudaStreamNonBlocking);
    cudaEvent_t a = make_event(0), b = make_event(0), legacy = make_event(0);
    float ms = -1, back = 1;

    OK(cudaEventRecord(a, s));
    OK(cudaEventSynchronize(a));
    OK(cudaEventRecord(b, t));
    OK(cudaEventRecord(legacy, 0));
    OK(cudaDeviceSynchronize());
    OK(cudaEventElapsedTime(&ms, a, b));
    OK(cudaEventElapsedTime(&back, b, a));
    CHECK(ms >= 0 && back == -ms);
    OK(cudaEventElapsedTime(&ms, a, legacy));
    CHECK(ms >= 0);
    OK(cudaEventDestroy(a));
    OK(cudaEventDestroy(b));
    OK(cudaEventDestroy(legacy));
    OK(cudaStreamDestroy(s));
    OK(cudaStreamDestroy(t));
}

/* What the host does between the submissions is in the time between two events. */
static void host_gaps_count(void)
{
    cudaStream_t s = make_stream(cudaStreamNonBlocking);
    cudaEvent_t a = make_event(0), b = make_event(0);
    float ms = 0;

    OK(cudaEventRecord(a, s));
    OK(cudaEventSynchronize(a));
    sleep_ms(30); /* the stream is empty meanwhile */
    OK(cudaEventRecord(b, s));
    OK(cudaEventSynchronize(b));
    OK(cudaEventElapsedTime(&ms, a, b));
    CHECK(ms > 29);
    OK(cudaEventDestroy(a));
    OK(cudaEventDestroy(b));
    OK(cudaStreamDestroy(s));
}

/* A copy up, a kernel and a copy down of three streams are under way at once: the kernel here ends
 * only after both copies have. ORD-002. */
static void three_stages(void)
{
    cudaStream_t s[3];
    struct spinning k;

    begin();
    for (int i = 0; i < 3; i++)
        s[i] = make_stream(cudaStreamNonBlocking);
    spin_begin(&k, s[0]);
    OK(cudaMemcpyAsync(device, pinned, 64, cudaMemcpyHostToDevice, s[1]));
    OK(cudaMemcpyAsync(pinned + 512, device + 512, 64, cudaMemcpyDeviceToHost, s[2]));
    OK(cudaStreamSynchronize(s[1]));
    OK(cudaStreamSynchronize(s[2]));
    EXPECT(cudaStreamQuery(s[0]), cudaErrorNotReady);
    spin_end(&k);
    for (int i = 0; i < 3; i++) {
        OK(cudaStreamSynchronize(s[i]));
        OK(cudaStreamDestroy(s[i]));
    }
    spin_drop(&k);
    end();
}

/* Of a pageable source up to 2 MiB the call comes back with the source taken, while the stream is
 * held; the copy into pageable memory does not come back. ORD-067 to ORD-069. */
static cudaStream_t held;
static unsigned pageable[16];

static cudaError_t copy_down(void *p)
{
    return cudaMemcpyAsync(p, device, 64, cudaMemcpyDeviceToHost, held);
}

static void pageable_async(void)
{
    struct hold h;

    held = make_stream(cudaStreamNonBlocking);
    begin();
    pageable[0] = 1;
    hold_stream(&h, held);
    OK(cudaMemcpyAsync(device, pageable, 64, cudaMemcpyHostToDevice, held));
    pageable[0] = 2;
    hold_release(&h);
    OK(cudaStreamSynchronize(held));
    CHECK(read_unsigned(device) == 1);
    hold_stream(&h, held);
    CHECK(blocks_until_released(&h, copy_down, pageable, 50));
    CHECK(pageable[0] == 1);
    OK(cudaStreamDestroy(held));
    end();
}

/* It runs at once, is not in the graph, and the capture goes on. CAP-013. */
static void sync_copy_in_capture(void)
{
    cudaStream_t s = make_stream(cudaStreamNonBlocking);
    size_t nodes = 99;
    unsigned v = 8;
    cudaGraph_t g;

    begin();
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    launch_add(device + 1, 1, 1, s);
    OK(cudaMemcpy(device, &v, 4, cudaMemcpyHostToDevice));
    CHECK(read_unsigned(device) == 8);
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaGraphGetNodes(g, NULL, &nodes));
    CHECK(nodes == 1);
    OK(cudaGraphDestroy(g));
    OK(cudaStreamDestroy(s));
    end();
}

/* Copies of another size and memsets of another width go into the instance that is there. (Another
 * kernel: P38.) GRA-021. */
static void new_shape_same_graph(void)
{
    cudaStream_t s = make_stream(cudaStreamNonBlocking);
    cudaGraphExec_t x = NULL;

    begin();
    for (unsigned i = 1; i <= 3; i++) {
        struct cudaMemsetParams m = {
            .dst = device, .elementSize = 4, .height = 1, .value = i, .width = 8 * i};
        cudaGraphExecUpdateResultInfo info;
        cudaGraphNode_t n;
        cudaGraph_t g;

        OK(cudaGraphCreate(&g, 0));
        OK(cudaGraphAddMemsetNode(&n, g, NULL, 0, &m));
        OK(cudaGraphAddMemcpyNode1D(&n, g, &n, 1, pinned, device, 32 * i, cudaMemcpyDeviceToHost));
        if (x)
            OK(cudaGraphExecUpdate(x, g, &info));
        else
            OK(cudaGraphInstantiate(&x, g, 0));
        OK(cudaGraphLaunch(x, s));
        OK(cudaStreamSynchronize(s));
        CHECK(pinned[8 * i - 1] == i && pinned[8 * i] == 0);
        OK(cudaGraphDestroy(g));
    }
    OK(cudaGraphExecDestroy(x));
    OK(cudaStreamDestroy(s));
    end();
}

/* However independent: the second kernel begins when the first has ended. ORD-001. */
static void one_stream_one_kernel(void)
{
    cudaStream_t s = make_stream(cudaStreamNonBlocking);
    struct spinning k;

    begin();
    spin_begin(&k, s);
    launch_append(pinned, 1, s);
    sleep_ms(20);
    CHECK(pinned[0] == 0);
    spin_end(&k);
    OK(cudaStreamSynchronize(s));
    CHECK(pinned[0] == 1);
    spin_drop(&k);
    OK(cudaStreamDestroy(s));
    end();
}

/* The wait orders nothing that the stream had not ordered, and the host goes on at once: it may not
 * touch what the copy before reads. ORD-024. */
static void wait_in_same_stream(void)
{
    cudaStream_t s = make_stream(cudaStreamNonBlocking);
    cudaEvent_t e = make_event(cudaEventDisableTiming);
    struct hold h;

    begin();
    pinned[0] = 1;
    hold_stream(&h, s);
    OK(cudaMemcpyAsync(device, pinned, 4, cudaMemcpyHostToDevice, s));
    OK(cudaEventRecord(e, s));
    OK(cudaStreamWaitEvent(s, e, 0));
    pinned[0] = 2; /* the host is here while the copy has not begun */
    EXPECT(cudaEventQuery(e), cudaErrorNotReady);
    hold_release(&h);
    OK(cudaStreamSynchronize(s));
    CHECK(read_unsigned(device) == 2);
    OK(cudaEventDestroy(e));
    OK(cudaStreamDestroy(s));
    end();
}

/* It matters only where the side that is called the device's is pageable. Oracle memcpy_kind.*. */
static void wrong_kind(void)
{
    unsigned v = 3;

    begin();
    OK(cudaMemcpy(device, device + 16, 4, cudaMemcpyHostToHost));
    OK(cudaMemcpy(pinned, pinned + 16, 4, cudaMemcpyDeviceToDevice));
    EXPECT(cudaMemcpy(&v, pinned, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    EXPECT(cudaMemcpy(pinned, &v, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    EXPECT(cudaMemcpy(device, &v, 4, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
    EXPECT(cudaGetLastError(), cudaErrorInvalidValue);
    end();
}

/* Each waits for the other's event, and both go on: a wait takes a record that was made before it.
 * ORD-022, ORD-023. */
static void circular_waits(void)
{
    cudaStream_t s = make_stream(cudaStreamNonBlocking), t = make_stream(cudaStreamNonBlocking);
    cudaEvent_t a = make_event(cudaEventDisableTiming), b = make_event(cudaEventDisableTiming);

    for (int i = 0; i < 3; i++) {
        OK(cudaStreamWaitEvent(s, b, 0));
        OK(cudaStreamWaitEvent(t, a, 0));
        OK(cudaEventRecord(a, s));
        OK(cudaEventRecord(b, t));
    }
    OK(cudaStreamSynchronize(s));
    OK(cudaStreamSynchronize(t));
    OK(cudaEventDestroy(a));
    OK(cudaEventDestroy(b));
    OK(cudaStreamDestroy(s));
    OK(cudaStreamDestroy(t));
}

static cudaError_t inside[4];

static void from_host_func(void *arg)
{
    void *p;
    int d;

    (void)arg;
    inside[0] = cudaGetDevice(&d);
    inside[1] = cudaMalloc(&p, 64);
}

static void from_callback(cudaStream_t s, cudaError_t e, void *arg)
{
    (void)arg, (void)e;
    inside[2] = cudaStreamQuery(s);
    inside[3] = cudaEventQuery(NULL);
}

/* No CUDA calls in a host function either. Oracle hostfunc_inside.*. */
static void calls_in_host_functions(void)
{
    cudaStream_t s = make_stream(cudaStreamNonBlocking);

    OK(cudaLaunchHostFunc(s, from_host_func, NULL));
    OK(cudaStreamAddCallback(s, from_callback, NULL, 0));
    OK(cudaStreamSynchronize(s));
    for (int i = 0; i < 4; i++)
        CHECK(inside[i] == cudaErrorNotPermitted);
    OK(cudaStreamDestroy(s));
}

static cudaError_t wait_device(void *p)
{
    (void)p;
    return cudaDeviceSynchronize();
}

/* Events, the device's synchronisation and cudaFree (P20) act on it as on any other. ORD-021,
 * ORD-043, ORD-080. */
static void non_blocking_is_not_apart(void)
{
    cudaStream_t s = make_stream(cudaStreamNonBlocking), t = make_stream(cudaStreamNonBlocking);
    cudaEvent_t e = make_event(cudaEventDisableTiming);
    struct hold h;

    hold_stream(&h, s);
    OK(cudaEventRecord(e, s));
    OK(cudaStreamWaitEvent(t, e, 0));
    EXPECT(cudaStreamQuery(t), cudaErrorNotReady);
    CHECK(blocks_until_released(&h, wait_device, NULL, 50));
    OK(cudaStreamSynchronize(t));
    OK(cudaEventDestroy(e));
    OK(cudaStreamDestroy(s));
    OK(cudaStreamDestroy(t));
}

/* Records without timing do not fill a stream: 20,000 behind held work come back. (Of other
 * operations it takes 1021.) ORD-085; oracle queue_depth.*. */
static void many_records(void)
{
    cudaStream_t s = make_stream(cudaStreamNonBlocking);
    cudaEvent_t e = make_event(cudaEventDisableTiming);
    struct hold h;

    hold_stream(&h, s);
    for (int i = 0; i < 20000; i++)
        OK(cudaEventRecord(e, s));
    EXPECT(cudaEventQuery(e), cudaErrorNotReady);
    hold_release(&h);
    OK(cudaEventSynchronize(e));
    OK(cudaEventDestroy(e));
    OK(cudaStreamDestroy(s));
}

/* Streams take no device memory, the buffers of their slots do. */
static void streams_and_memory(void)
{
    enum { MANY = 64 };
    size_t before, with, buffers, total;
    cudaStream_t s[MANY];
    void *p[MANY];

    OK(cudaMemGetInfo(&before, &total));
    for (int i = 0; i < MANY; i++)
        s[i] = make_stream(cudaStreamNonBlocking);
    OK(cudaMemGetInfo(&with, &total));
    CHECK(with == before);
    for (int i = 0; i < MANY; i++)
        OK(cudaMalloc(&p[i], 1 << 20));
    OK(cudaMemGetInfo(&buffers, &total));
    CHECK(with - buffers >= (size_t)MANY << 20);
    for (int i = 0; i < MANY; i++) {
        OK(cudaFree(p[i]));
        OK(cudaStreamDestroy(s[i]));
    }
}

static const struct report reports[] = {
    {"destroy-returns", destroy_returns},
    {"elapsed-across-streams", elapsed_across_streams},
    {"host-gaps-count", host_gaps_count},
    {"three-stages", three_stages},
    {"pageable-async", pageable_async},
    {"sync-copy-in-capture", sync_copy_in_capture},
    {"new-shape-same-graph", new_shape_same_graph},
    {"one-stream-one-kernel", one_stream_one_kernel},
    {"wait-in-same-stream", wait_in_same_stream},
    {"wrong-kind", wrong_kind},
    {"circular-waits", circular_waits},
    {"calls-in-host-functions", calls_in_host_functions},
    {"non-blocking-is-not-apart", non_blocking_is_not_apart},
    {"many-records", many_records},
    {"streams-and-memory", streams_and_memory},
    {NULL, NULL},
};
REPORT_GROUP(claims);
