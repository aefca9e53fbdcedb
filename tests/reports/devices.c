/* Reports about several devices: WEIR_DEVICES=2.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

static cudaStream_t stream_of(int device)
{
    OK(cudaSetDevice(device));
    return make_stream(cudaStreamNonBlocking);
}

static cudaEvent_t event_of(int device)
{
    OK(cudaSetDevice(device));
    return make_event(0);
}

/* Taking the time of copies between two devices fails: a record wants event and stream on one
 * device, the time between two events both on one; a wait does not. ORD-027; oracle multi_event.*.
 */
static void p47(void)
{
    enum { HALF = 1 << 19 };
    cudaStream_t s[2] = {stream_of(0), stream_of(1)};
    cudaEvent_t e0 = event_of(0), e1 = event_of(1), end = event_of(0), joined = event_of(1);
    char *d[2];
    float ms = -1;

    for (int i = 0; i < 2; i++) {
        OK(cudaSetDevice(i));
        OK(cudaMalloc((void **)&d[i], 1 << 20));
    }
    EXPECT(cudaEventRecord(e0, s[1]), cudaErrorInvalidResourceHandle);
    OK(cudaEventRecord(e0, s[0]));
    OK(cudaEventRecord(e1, s[1]));
    OK(cudaStreamWaitEvent(s[1], e0, 0));
    OK(cudaSetDevice(1));
    OK(cudaEventSynchronize(e0));
    OK(cudaEventQuery(e0));
    OK(cudaEventSynchronize(e1));
    EXPECT(cudaEventElapsedTime(&ms, e0, e1), cudaErrorInvalidResourceHandle);
    cudaGetLastError();

    OK(cudaEventRecord(e0, s[0])); /* the right way: begin and end in one stream */
    OK(cudaMemcpyPeerAsync(d[1], 1, d[0], 0, HALF, s[0]));
    OK(cudaMemcpyPeerAsync(d[0] + HALF, 0, d[1] + HALF, 1, HALF, s[1]));
    OK(cudaEventRecord(joined, s[1]));
    OK(cudaStreamWaitEvent(s[0], joined, 0));
    OK(cudaEventRecord(end, s[0]));
    OK(cudaEventSynchronize(end));
    OK(cudaEventElapsedTime(&ms, e0, end));
    CHECK(ms > 0);
    for (int i = 0; i < 2; i++) {
        OK(cudaFree(d[i]));
        OK(cudaStreamDestroy(s[i]));
    }
    OK(cudaEventDestroy(e0));
    OK(cudaEventDestroy(e1));
    OK(cudaEventDestroy(end));
    OK(cudaEventDestroy(joined));
    OK(cudaSetDevice(0));
}

static int access_of(cudaMemPool_t pool, int device)
{
    struct cudaMemLocation l = {.type = cudaMemLocationTypeDevice, .id = device};
    enum cudaMemAccessFlags f = (enum cudaMemAccessFlags)99;

    OK(cudaMemPoolGetAccess(&f, pool, &l));
    return (int)f;
}

/* A helper that took access away from every device did nothing for months: that of the owner cannot
 * be taken (101), and then no entry of the call counts. Oracle pool_defaults.setAccess_own_none,
 * multi_pool.set_*. */
static void p58(void)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location = {.type = cudaMemLocationTypeDevice, .id = 0}};
    struct cudaMemAccessDesc d[2] = {
        {.location = {.type = cudaMemLocationTypeDevice, .id = 0},
         .flags = cudaMemAccessFlagsProtNone},
        {.location = {.type = cudaMemLocationTypeDevice, .id = 1},
         .flags = cudaMemAccessFlagsProtReadWrite},
    };
    cudaMemPool_t pool;

    OK(cudaSetDevice(0));
    OK(cudaMemPoolCreate(&pool, &props));
    EXPECT(cudaMemPoolSetAccess(pool, d, 1), cudaErrorInvalidDevice);
    CHECK(access_of(pool, 0) == cudaMemAccessFlagsProtReadWrite);
    EXPECT(cudaMemPoolSetAccess(pool, d, 2), cudaErrorInvalidDevice); /* the second is good */
    CHECK(access_of(pool, 1) == cudaMemAccessFlagsProtNone);
    OK(cudaMemPoolSetAccess(pool, d + 1, 1));
    CHECK(access_of(pool, 1) == cudaMemAccessFlagsProtReadWrite);
    d[1].flags = cudaMemAccessFlagsProtNone;
    EXPECT(cudaMemPoolSetAccess(pool, d, 2), cudaErrorInvalidDevice);
    CHECK(access_of(pool, 1) == cudaMemAccessFlagsProtReadWrite);
    cudaGetLastError();
    OK(cudaMemPoolDestroy(pool));
    OK(cudaMemPoolCreate(&pool, &props));
    CHECK(access_of(pool, 1) == cudaMemAccessFlagsProtNone);
    OK(cudaMemPoolDestroy(pool));
}

enum { N = 1 << 14, ROUNDS = 200 };

static void peer_rounds(unsigned *from, unsigned *to, unsigned *bad, cudaStream_t s[2])
{
    cudaEvent_t copied = event_of(0), read = event_of(1);

    for (unsigned i = 0; i < ROUNDS; i++) {
        OK(cudaSetDevice(0));
        OK(cudaStreamWaitEvent(s[0], read, 0)); /* before the target is written again */
        launch_fill(from, N, i, s[0]);
        OK(cudaMemcpyPeerAsync(to, 1, from, 0, N * 4, s[0]));
        OK(cudaEventRecord(copied, s[0]));
        OK(cudaSetDevice(1));
        OK(cudaStreamWaitEvent(s[1], copied, 0));
        launch_compare(to, N, i, bad, s[1]);
        OK(cudaEventRecord(read, s[1]));
    }
    OK(cudaStreamSynchronize(s[1]));
    OK(cudaStreamSynchronize(s[0]));
    OK(cudaEventDestroy(copied));
    OK(cudaEventDestroy(read));
}

/* Garbled output of two devices without peer access. A copy between devices is an operation of the
 * stream that it is given, and complete when an event behind it is, with peer access and without.
 * And an input that is written for the next batch while a graph still reads it: the per-thread
 * stream does not wait for non-blocking ones, an event does it. ORD-012, ORD-005, ORD-027. */
static void p80(void)
{
    cudaStream_t s[2] = {stream_of(0), stream_of(1)};
    unsigned *from, *to, *bad, *pinned, *x;
    cudaGraph_t g;
    cudaGraphExec_t exec;
    cudaEvent_t read;

    OK(cudaMalloc((void **)&to, N * 4));
    OK(cudaMalloc((void **)&bad, 4));
    OK(cudaMemset(bad, 0, 4));
    OK(cudaDeviceSynchronize());
    OK(cudaSetDevice(0));
    OK(cudaMalloc((void **)&from, N * 4));
    peer_rounds(from, to, bad, s);
    OK(cudaSetDevice(0));
    OK(cudaDeviceEnablePeerAccess(1, 0));
    peer_rounds(from, to, bad, s);
    OK(cudaSetDevice(1));
    CHECK(read_unsigned(bad) == 0);
    OK(cudaFree(bad));
    OK(cudaFree(to));

    OK(cudaSetDevice(0));
    OK(cudaDeviceDisablePeerAccess(1));
    OK(cudaMalloc((void **)&bad, 4));
    OK(cudaMemset(bad, 0, 4));
    OK(cudaMalloc((void **)&x, N * 4));
    OK(cudaMallocHost((void **)&pinned, N * 4));
    read = make_event(cudaEventDisableTiming);
    memset(pinned, 0, N * 4);
    OK(cudaMemset(x, 0, N * 4));
    OK(cudaDeviceSynchronize());
    OK(cudaStreamBeginCapture(s[0], cudaStreamCaptureModeThreadLocal));
    launch_compare(x, N, 0, from, s[0]); /* counts elsewhere: slow enough to be overtaken */
    launch_compare(x + N / 2, N / 2, 0, bad, s[0]);
    OK(cudaStreamEndCapture(s[0], &g));
    OK(cudaGraphInstantiate(&exec, g, 0));
    for (int i = 0; i < 50; i++) {
        OK(cudaGraphLaunch(exec, s[0]));
        OK(cudaEventRecord(read, s[0]));
        OK(cudaStreamWaitEvent(cudaStreamPerThread, read, 0));
        memset(pinned, 255, N * 4);
        OK(cudaMemcpyAsync(x, pinned, N * 4, cudaMemcpyHostToDevice, cudaStreamPerThread));
        OK(cudaMemsetAsync(x, 0, N * 4, cudaStreamPerThread));
        OK(cudaEventRecord(read, cudaStreamPerThread));
        OK(cudaStreamWaitEvent(s[0], read, 0));
        OK(cudaEventSynchronize(read)); /* the host writes the source again */
    }
    OK(cudaDeviceSynchronize());
    CHECK(read_unsigned(bad) == 0);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(g));
    OK(cudaEventDestroy(read));
    OK(cudaFree(bad));
    OK(cudaFree(x));
    OK(cudaFree(from));
    OK(cudaFreeHost(pinned));
    OK(cudaStreamDestroy(s[0]));
    OK(cudaStreamDestroy(s[1]));
}

/* A claim of tutorials: the second device waits for the first one's default stream. Each device has
 * its own. ORD-011. */
static void default_stream_of_each(void)
{
    struct hold h;

    OK(cudaSetDevice(0));
    hold_stream(&h, cudaStreamLegacy);
    OK(cudaSetDevice(1));
    OK(cudaLaunchHostFunc(cudaStreamLegacy, hold_wait, &(struct hold){.release = 1}));
    OK(cudaStreamSynchronize(cudaStreamLegacy));
    OK(cudaDeviceSynchronize());
    OK(cudaSetDevice(0));
    EXPECT(cudaStreamQuery(cudaStreamLegacy), cudaErrorNotReady);
    hold_release(&h);
    OK(cudaDeviceSynchronize());
}

static const struct report reports[] = {{"P47", p47},
                                        {"P58", p58},
                                        {"P80", p80},
                                        {"default-stream-of-each", default_stream_of_each},
                                        {NULL, NULL}};
REPORT_GROUP(devices);
