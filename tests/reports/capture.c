/* Reports about captures and updates of graphs. More of them: tests/conform/graph_reports.c (P34 a
 * join recorded too early, P41 a captured source is read at each replay).
 * SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

/* ---- P31, P32: what another thread does to a capture ---- */

static cudaStream_t other;
static cudaEvent_t old_event;
static unsigned *device, *pinned;

static cudaError_t device_wait(void)
{
    return cudaDeviceSynchronize();
}

static cudaError_t stream_wait(void)
{
    return cudaStreamSynchronize(other);
}

static cudaError_t allocate(void)
{
    void *p = NULL;
    cudaError_t e = cudaMalloc(&p, 64);

    if (e == cudaSuccess)
        cudaFree(p);
    return e;
}

static cudaError_t release(void)
{
    return cudaFree(NULL);
}

static cudaError_t copy(void)
{
    unsigned v = 3;

    return cudaMemcpy(device, &v, 4, cudaMemcpyHostToDevice);
}

static cudaError_t legacy_wait(void)
{
    return cudaStreamSynchronize(cudaStreamLegacy);
}

static cudaError_t ask_event(void)
{
    return cudaEventQuery(old_event);
}

static cudaError_t launch_legacy(void)
{
    launch_fill(device, 1, 2, 0);
    return cudaGetLastError();
}

enum { GLOBAL = 1, LOCAL = 2, RELAXED = 4, ALL = 7 }; /* modes of a capture */

/* What breaks a capture, from a thread of which the mode is as at first (global). In a relaxed
 * thread nothing of the first kind does, and all of the second. `legacy`: it uses the legacy stream
 * and so the capture of a blocking stream, in all modes (906). */
static const struct {
    cudaError_t (*call)(void);
    unsigned refused; /* in which modes */
    bool for_any_thread, legacy;
} others[] = {
    {device_wait, ALL, true, false},
    {stream_wait, GLOBAL, false, false},
    {allocate, GLOBAL, false, false},
    {release, GLOBAL, false, false},
    {copy, 0, false, true},
    {legacy_wait, GLOBAL, false, true},
    {ask_event, GLOBAL, false, false},
    {launch_legacy, 0, false, true},
};

struct elsewhere {
    cudaError_t (*call)(void);
    bool relaxed;
    cudaError_t result;
};

static void *call_elsewhere(void *arg)
{
    struct elsewhere *e = arg;
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;

    if (e->relaxed)
        OK(cudaThreadExchangeStreamCaptureMode(&mode));
    e->result = e->call();
    return NULL;
}

static void check_elsewhere(size_t i, unsigned mode, bool blocking, bool relaxed)
{
    struct elsewhere e = {others[i].call, relaxed, cudaSuccess};
    bool implicit = blocking && others[i].legacy;
    bool unsafe = (others[i].refused & (1u << mode)) && (!relaxed || others[i].for_any_thread);
    cudaStream_t s = make_stream(blocking ? cudaStreamDefault : cudaStreamNonBlocking);
    enum cudaStreamCaptureStatus status;
    cudaGraph_t g = NULL;
    pthread_t t;

    OK(cudaStreamBeginCapture(s, (enum cudaStreamCaptureMode)mode));
    launch_add(device, 1, 1, s);
    OK(cudaGetLastError());
    pthread_create(&t, NULL, call_elsewhere, &e);
    pthread_join(t, NULL);
    EXPECT(e.result, implicit ? cudaErrorStreamCaptureImplicit
                     : unsafe ? cudaErrorStreamCaptureUnsupported
                              : cudaSuccess);
    OK(cudaStreamIsCapturing(s, &status));
    CHECK(status == (implicit || unsafe ? cudaStreamCaptureStatusInvalidated
                                        : cudaStreamCaptureStatusActive));
    launch_add(device, 1, 1, s);
    cudaGetLastError();
    EXPECT(cudaStreamEndCapture(s, &g),
           implicit || unsafe ? cudaErrorStreamCaptureInvalidated : cudaSuccess);
    CHECK((g == NULL) == (implicit || unsafe));
    if (g) {
        size_t nodes = 0;

        OK(cudaGraphGetNodes(g, NULL, &nodes));
        CHECK(nodes == 2);
        OK(cudaGraphDestroy(g));
    }
    cudaGetLastError();
    OK(cudaStreamDestroy(s));
}

static void begin_elsewhere(void)
{
    other = make_stream(cudaStreamNonBlocking);
    old_event = make_event(0);
    OK(cudaMalloc((void **)&device, 64));
    OK(cudaMallocHost((void **)&pinned, 64));
    OK(cudaEventRecord(old_event, other));
    OK(cudaDeviceSynchronize());
}

static void end_elsewhere(void)
{
    OK(cudaFree(device));
    OK(cudaFreeHost(pinned));
    OK(cudaEventDestroy(old_event));
    OK(cudaStreamDestroy(other));
}

/* A capture breaks because another thread waits for the device (900), and no mode helps. CAP-010,
 * CAP-011; oracle capture_other_thread.*. */
static void p31(void)
{
    begin_elsewhere();
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        for (unsigned mode = 0; mode < 3; mode++)
            for (int relaxed = 0; relaxed < 2; relaxed++)
                check_elsewhere(i, mode, false, relaxed);
    end_elsewhere();
}

/* Two teams measured the opposite about other threads' waits: one captured a blocking stream, where
 * the legacy stream's use is refused in every mode (906); that is another rule than the one about
 * modes. CAP-013; oracle capture_ops_*_blockingstream.*. */
static void p32(void)
{
    begin_elsewhere();
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        for (unsigned mode = 0; mode < 3; mode++)
            for (int relaxed = 0; relaxed < 2; relaxed++)
                check_elsewhere(i, mode, true, relaxed);
    end_elsewhere();
}

/* ---- P37 ---- */

/* A library's copy became a batch, which cannot be captured: 900 at that call, the capture goes on,
 * and the graph lacks the copy. A plain copy is a node; a prefetch breaks the capture. Oracle
 * mixed_batch.capture_*. */
static void p37(void)
{
    cudaStream_t s = make_stream(cudaStreamNonBlocking);
    struct cudaMemcpyAttributes order = {.srcAccessOrder = cudaMemcpySrcAccessOrderStream};
    struct cudaMemLocation here = {.type = cudaMemLocationTypeDevice, .id = 0};
    enum cudaStreamCaptureStatus status;
    unsigned *managed;

    begin_elsewhere();
    OK(cudaMallocManaged((void **)&managed, 64, cudaMemAttachGlobal));
    for (int mode = 0; mode < 3; mode++) {
        void *to[] = {device + 8};
        const void *from[] = {pinned + 8};
        size_t sizes[] = {4}, first = 0, nodes = 0;
        cudaGraphExec_t x;
        cudaGraph_t g;

        pinned[0] = 5, pinned[8] = 6;
        OK(cudaMemset(device, 0, 64));
        OK(cudaDeviceSynchronize());
        OK(cudaStreamBeginCapture(s, (enum cudaStreamCaptureMode)mode));
        OK(cudaMemcpyAsync(device, pinned, 4, cudaMemcpyHostToDevice, s));
        EXPECT(cudaMemcpyBatchAsync(to, from, sizes, 1, &order, &first, 1, s),
               cudaErrorStreamCaptureUnsupported);
        OK(cudaStreamIsCapturing(s, &status));
        CHECK(status == cudaStreamCaptureStatusActive);
        EXPECT(cudaGetLastError(), cudaErrorStreamCaptureUnsupported);
        OK(cudaStreamEndCapture(s, &g));
        OK(cudaGraphGetNodes(g, NULL, &nodes));
        CHECK(nodes == 1);
        OK(cudaGraphInstantiate(&x, g, 0));
        OK(cudaGraphLaunch(x, s));
        OK(cudaStreamSynchronize(s));
        CHECK(read_unsigned(device) == 5);
        CHECK(read_unsigned(device + 8) == 0); /* the copy that nobody saw refused */
        OK(cudaGraphExecDestroy(x));
        OK(cudaGraphDestroy(g));

        OK(cudaStreamBeginCapture(s, (enum cudaStreamCaptureMode)mode));
        EXPECT(cudaMemPrefetchAsync(managed, 64, here, 0, s), cudaErrorStreamCaptureUnsupported);
        EXPECT(cudaStreamEndCapture(s, &g), cudaErrorStreamCaptureInvalidated);
        cudaGetLastError();
    }
    OK(cudaFree(managed));
    end_elsewhere();
    OK(cudaStreamDestroy(s));
}

/* ---- P38 ---- */

struct shape {
    bool extra, no_edge;
    int direction;
    const void *function;
    unsigned value, blocks;
};

static cudaGraph_t make_graph(const struct shape *h)
{
    size_t n = 16;
    unsigned value = h->value;
    void *args[] = {&device, &n, &value};
    struct cudaKernelNodeParams p = {.func = (void *)h->function,
                                     .gridDim = {h->blocks, 1, 1},
                                     .blockDim = {32, 1, 1},
                                     .kernelParams = args};
    cudaGraphNode_t first, second, last;
    cudaGraph_t g;

    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphAddKernelNode(&first, g, NULL, 0, &p));
    p.func = (void *)kernel_fill();
    OK(cudaGraphAddKernelNode(&second, g, &first, h->no_edge ? 0 : 1, &p));
    if (h->direction == cudaMemcpyDeviceToHost)
        OK(cudaGraphAddMemcpyNode1D(&last, g, &second, 1, pinned, device, 64,
                                    cudaMemcpyDeviceToHost));
    else
        OK(cudaGraphAddMemcpyNode1D(&last, g, &second, 1, device, pinned, 64,
                                    cudaMemcpyHostToDevice));
    if (h->extra)
        OK(cudaGraphAddEmptyNode(&last, g, &last, 1));
    return g;
}

/* An update is refused after thousands that were not, and the program gives up. What changed is in
 * the result; the instance still runs as before; and 910 is the last error once. GRA-020, GRA-021;
 * oracle graph_update.*. */
static void p38(void)
{
    cudaStream_t s = make_stream(cudaStreamNonBlocking);
    struct shape base = {false, false, cudaMemcpyDeviceToHost, kernel_fill(), 5, 1};
    struct shape shapes[7] = {base, base, base, base, base, base, base};
    const enum cudaGraphExecUpdateResult wanted[7] = {cudaGraphExecUpdateSuccess,
                                                      cudaGraphExecUpdateSuccess,
                                                      cudaGraphExecUpdateSuccess,
                                                      cudaGraphExecUpdateSuccess,
                                                      cudaGraphExecUpdateErrorTopologyChanged,
                                                      cudaGraphExecUpdateErrorParametersChanged,
                                                      cudaGraphExecUpdateErrorTopologyChanged};
    cudaGraph_t first;
    cudaGraphExec_t x;
    unsigned now = 5;

    begin_elsewhere();
    shapes[1].value = 6;
    shapes[2].blocks = 2;
    shapes[3].function = kernel_add();
    shapes[4].extra = true;
    shapes[5].direction = cudaMemcpyHostToDevice;
    shapes[6].no_edge = true;
    first = make_graph(&base);
    OK(cudaGraphInstantiate(&x, first, 0));
    for (int i = 0; i < 7; i++) {
        cudaGraph_t g = make_graph(&shapes[i]);
        cudaGraphExecUpdateResultInfo info;

        memset(&info, 0, sizeof info);
        EXPECT(cudaGraphExecUpdate(x, g, &info), wanted[i] == cudaGraphExecUpdateSuccess
                                                     ? cudaSuccess
                                                     : cudaErrorGraphExecUpdateFailure);
        CHECK(info.result == wanted[i]);
        if (wanted[i] == cudaGraphExecUpdateSuccess)
            now = shapes[i].value;
        else
            EXPECT(cudaGetLastError(), cudaErrorGraphExecUpdateFailure);
        OK(cudaGetLastError());
        memset(pinned, 0, 64);
        OK(cudaGraphLaunch(x, s));
        OK(cudaStreamSynchronize(s));
        CHECK(pinned[0] == now && pinned[15] == now);
        OK(cudaGraphDestroy(g));
    }
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(first));
    end_elsewhere();
    OK(cudaStreamDestroy(s));
}

/* ---- P86 ---- */

static cudaMemPool_t default_pool;
static cudaStream_t capturing;

static cudaError_t pool_get(void)
{
    uint64_t v;

    return cudaMemPoolGetAttribute(default_pool, cudaMemPoolAttrReleaseThreshold, &v);
}

static cudaError_t pool_set(void)
{
    uint64_t v = 0;

    return cudaMemPoolSetAttribute(default_pool, cudaMemPoolAttrReleaseThreshold, &v);
}

static cudaError_t allocate_elsewhere(void)
{
    void *p = NULL;
    cudaError_t e = cudaMallocAsync(&p, 64, other);

    if (e == cudaSuccess)
        cudaFreeAsync(p, other);
    return e;
}

static cudaError_t allocate_captured(void)
{
    void *p = NULL;
    cudaError_t e = cudaMallocAsync(&p, 64, capturing);

    return e == cudaSuccess ? cudaFreeAsync(p, capturing) : e;
}

static cudaError_t default_pool_get(void)
{
    return cudaDeviceGetDefaultMemPool(&default_pool, 0);
}

static cudaError_t function_attributes(void)
{
    struct cudaFuncAttributes a;

    return cudaFuncGetAttributes(&a, kernel_fill());
}

static cudaError_t make_and_drop_stream(void)
{
    cudaStream_t s;
    cudaError_t e = cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);

    return e == cudaSuccess ? cudaStreamDestroy(s) : e;
}

static cudaError_t make_and_drop_event(void)
{
    cudaEvent_t e;
    cudaError_t err = cudaEventCreate(&e);

    return err == cudaSuccess ? cudaEventDestroy(e) : err;
}

/* Reading a pool's attribute ends the capture of the same thread; an allocation in the capturing
 * stream is a node, one in another stream is as any other call that allocates. In a relaxed scope
 * all of them work; leaving it gives back the mode that it had. CAP-010. */
static void p86(void)
{
    static const struct {
        cudaError_t (*call)(void);
        bool unsafe;
        size_t nodes;
    } calls[] = {
        {allocate, true, 0},
        {pool_get, true, 0},
        {pool_set, true, 0},
        {allocate_elsewhere, true, 0},
        {allocate_captured, false, 2},
        {default_pool_get, false, 0},
        {function_attributes, false, 0},
        {make_and_drop_stream, false, 0},
        {make_and_drop_event, false, 0},
    };

    begin_elsewhere();
    capturing = make_stream(cudaStreamNonBlocking);
    OK(cudaDeviceGetDefaultMemPool(&default_pool, 0));
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        for (int k = 0; k < 6; k++) {
            enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
            bool relaxed = k >= 3, refused;
            cudaGraph_t g = NULL;

            OK(cudaStreamBeginCapture(capturing, (enum cudaStreamCaptureMode)(k % 3)));
            if (relaxed)
                OK(cudaThreadExchangeStreamCaptureMode(&mode));
            refused = calls[i].unsafe && !relaxed && k % 3 != cudaStreamCaptureModeRelaxed;
            EXPECT(calls[i].call(), refused ? cudaErrorStreamCaptureUnsupported : cudaSuccess);
            if (relaxed) {
                CHECK(mode == cudaStreamCaptureModeGlobal);
                OK(cudaThreadExchangeStreamCaptureMode(&mode));
                CHECK(mode == cudaStreamCaptureModeRelaxed);
            }
            EXPECT(cudaStreamEndCapture(capturing, &g),
                   refused ? cudaErrorStreamCaptureInvalidated : cudaSuccess);
            if (g) {
                size_t nodes = 99;

                OK(cudaGraphGetNodes(g, NULL, &nodes));
                CHECK(nodes == calls[i].nodes);
                OK(cudaGraphDestroy(g));
            }
            cudaGetLastError();
        }
    }
    OK(cudaStreamDestroy(capturing));
    end_elsewhere();
}

static const struct report reports[] = {{"P31", p31}, {"P32", p32}, {"P37", p37},
                                        {"P38", p38}, {"P86", p86}, {NULL, NULL}};
REPORT_GROUP(capture);
