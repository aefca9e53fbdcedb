/* What people have reported about captures and updates, as programs: a join recorded too early,
 * updates that are refused and the last error after that, a captured copy that reads its source
 * again at each replay, pool attributes during a capture. Rules: CAP-002, CAP-010, GRA-010,
 * GRA-020, GRA-021.
 * SPDX-License-Identifier: Apache-2.0 */
#include "conform.h"
#include "kernels.h"

static cudaKernel_t empty, store;
static cudaStream_t a, b;
static unsigned *device;

static void launch(cudaStream_t s)
{
    OK(cudaLaunchKernel((const void *)empty, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, s));
}

static void expect_ordinary(cudaStream_t s)
{
    enum cudaStreamCaptureStatus status;

    OK(cudaStreamIsCapturing(s, &status));
    CHECK(status == cudaStreamCaptureStatusNone);
}

/* P34: "Unjoined work", though there is a join: it was recorded before the last kernel. */
static void early_join(void)
{
    enum { MISSING, EARLY, RIGHT };
    cudaEvent_t fork, join;
    cudaGraph_t g;
    size_t edges;

    OK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    for (int form = MISSING; form <= RIGHT; form++) {
        OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
        launch(a);
        OK(cudaEventRecord(fork, a));
        OK(cudaStreamWaitEvent(b, fork, 0));
        launch(b);
        if (form == EARLY)
            OK(cudaEventRecord(join, b));
        launch(b);
        if (form == RIGHT)
            OK(cudaEventRecord(join, b));
        if (form != MISSING)
            OK(cudaStreamWaitEvent(a, join, 0));
        EXPECT(cudaStreamEndCapture(a, &g),
               form == RIGHT ? cudaSuccess : cudaErrorStreamCaptureUnjoined);
        expect_ordinary(a);
        expect_ordinary(b);
        if (form != RIGHT) {
            CHECK(g == NULL);
            EXPECT(cudaGetLastError(), cudaErrorStreamCaptureUnjoined);
            continue;
        }
        OK(cudaGraphGetEdges(g, NULL, NULL, NULL, &edges));
        CHECK(edges == 2);
        OK(cudaGraphDestroy(g));
    }
    OK(cudaEventDestroy(fork));
    OK(cudaEventDestroy(join));
}

static cudaGraph_t make_graph(unsigned value, bool extra)
{
    void *args[] = {&device, &value};
    struct cudaKernelNodeParams p = {
        .func = (void *)store, .gridDim = {1, 1, 1}, .blockDim = {1, 1, 1}, .kernelParams = args};
    cudaGraphNode_t n;
    cudaGraph_t g;

    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphAddKernelNode(&n, g, NULL, 0, &p));
    if (extra)
        OK(cudaGraphAddEmptyNode(&n, g, &n, 1));
    return g;
}

static unsigned run(cudaGraphExec_t x)
{
    unsigned v = 0;

    OK(cudaGraphLaunch(x, a));
    OK(cudaStreamSynchronize(a));
    OK(cudaMemcpy(&v, device, sizeof v, cudaMemcpyDeviceToHost));
    return v;
}

/* An update is refused: the instance is as before, and the error is the last one, once. */
static void refused_update(void)
{
    cudaGraph_t first = make_graph(1, false), second = make_graph(2, false),
                larger = make_graph(3, true);
    cudaGraphExecUpdateResultInfo info;
    cudaGraphExec_t x;

    OK(cudaGraphInstantiate(&x, first, 0));
    CHECK(run(x) == 1);
    OK(cudaGraphExecUpdate(x, second, &info));
    CHECK(run(x) == 2);
    EXPECT(cudaGraphExecUpdate(x, larger, &info), cudaErrorGraphExecUpdateFailure);
    CHECK(info.result == cudaGraphExecUpdateErrorTopologyChanged);
    CHECK(run(x) == 2);
    EXPECT(cudaGetLastError(), cudaErrorGraphExecUpdateFailure);
    EXPECT(cudaGetLastError(), cudaSuccess);
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(first));
    OK(cudaGraphDestroy(second));
    OK(cudaGraphDestroy(larger));
}

/* P41: the copy reads its source at each replay, pinned and pageable. */
static void source_is_read_again(void)
{
    unsigned *sources[2];

    OK(cudaMallocHost((void **)&sources[0], 4));
    sources[1] = malloc(4);
    for (int i = 0; i < 2; i++) {
        cudaGraphExec_t x;
        cudaGraph_t g;

        *sources[i] = 5;
        OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
        OK(cudaMemcpyAsync(device, sources[i], 4, cudaMemcpyHostToDevice, a));
        OK(cudaStreamEndCapture(a, &g));
        OK(cudaGraphInstantiate(&x, g, 0));
        *sources[i] = 6;
        CHECK(run(x) == 6);
        CHECK(run(x) == 6);
        *sources[i] = 7;
        CHECK(run(x) == 7);
        OK(cudaGraphExecDestroy(x));
        OK(cudaGraphDestroy(g));
    }
    OK(cudaFreeHost(sources[0]));
    free(sources[1]);
}

/* Reading a pool's attribute breaks a capture; not in a relaxed scope. */
static void pool_attributes(void)
{
    enum cudaStreamCaptureMode mode;
    cudaMemPool_t pool;
    uint64_t value;
    cudaGraph_t g;

    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    for (int relaxed = 0; relaxed < 2; relaxed++) {
        OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
        mode = cudaStreamCaptureModeRelaxed;
        if (relaxed)
            OK(cudaThreadExchangeStreamCaptureMode(&mode));
        EXPECT(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &value),
               relaxed ? cudaSuccess : cudaErrorStreamCaptureUnsupported);
        if (relaxed) {
            CHECK(mode == cudaStreamCaptureModeGlobal);
            OK(cudaThreadExchangeStreamCaptureMode(&mode));
            CHECK(mode == cudaStreamCaptureModeRelaxed);
        }
        EXPECT(cudaStreamEndCapture(a, &g),
               relaxed ? cudaSuccess : cudaErrorStreamCaptureInvalidated);
    }
    OK(cudaGraphDestroy(g));
    cudaGetLastError();
}

int main(void)
{
    cudaLibrary_t lib;

    OK(cudaLibraryLoadData(&lib, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernel(&empty, lib, "empty"));
    OK(cudaLibraryGetKernel(&store, lib, "store"));
    OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    OK(cudaMalloc((void **)&device, 64));
    early_join();
    refused_update();
    source_is_read_again();
    pool_attributes();
    return CONFORM_END();
}
