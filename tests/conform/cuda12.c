/* libcudart.so.12 as a program of CUDA 12 calls it: structs of that version's sizes with guards
 * behind them, old parameters, names that 13 has not. The layout is given by offsets: no header of
 * CUDA 12 is needed.
 * SPDX-License-Identifier: Apache-2.0 */
#include "conform.h"

#include <dlfcn.h>

/* As CUDA 12 declares them. */
cudaError_t cudaGetDeviceProperties_v2(void *prop, int device);
cudaError_t cudaEventElapsedTime_v2(float *ms, cudaEvent_t start, cudaEvent_t end);
cudaError_t cudaMemAdvise_v2(const void *p, size_t n, enum cudaMemoryAdvise a,
                             struct cudaMemLocation where);
cudaError_t cudaMemPrefetchAsync_v2(const void *p, size_t n, struct cudaMemLocation where,
                                    unsigned flags, cudaStream_t s);
cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t s, enum cudaStreamCaptureStatus *status,
                                        unsigned long long *id, cudaGraph_t *graph,
                                        const cudaGraphNode_t **nodes, size_t *count);
cudaError_t cudaThreadSynchronize(void);
cudaError_t cudaThreadGetLimit(size_t *value, enum cudaLimit limit);
cudaError_t cudaSetDoubleForDevice(double *d);
cudaError_t cudaLaunchCooperativeKernelMultiDevice(void *list, unsigned n, unsigned flags);

/* Names that both versions have, with 12's parameters. */
typedef cudaError_t advise_fn(const void *, size_t, enum cudaMemoryAdvise, int);
typedef cudaError_t prefetch_fn(const void *, size_t, int, cudaStream_t);
typedef cudaError_t batch_fn(void **, void **, size_t *, size_t, struct cudaMemcpyAttributes *,
                             size_t *, size_t, size_t *, cudaStream_t);
typedef cudaError_t box_batch_fn(size_t, struct cudaMemcpy3DBatchOp *, size_t *, unsigned long long,
                                 cudaStream_t);
typedef cudaError_t capture_fn(cudaStream_t, enum cudaStreamCaptureStatus *, unsigned long long *);
typedef cudaError_t update_fn(cudaStream_t, cudaGraphNode_t *, size_t, unsigned);
typedef cudaError_t edges_fn(cudaGraph_t, const cudaGraphNode_t *, const cudaGraphNode_t *, size_t);
typedef cudaError_t add_fn(cudaGraphNode_t *, cudaGraph_t, const cudaGraphNode_t *, size_t,
                           struct cudaGraphNodeParams *);
typedef cudaError_t all_edges_fn(cudaGraph_t, cudaGraphNode_t *, cudaGraphNode_t *, size_t *);
typedef cudaError_t node_edges_fn(cudaGraphNode_t, cudaGraphNode_t *, size_t *);

static void *function(const char *name)
{
    static void *library;

    if (!library)
        library = dlopen("libcudart.so.12", RTLD_NOW | RTLD_NOLOAD);
    CHECK(library);
    return dlvsym(library, name, "libcudart.so.12");
}

#define AS(type, name) ((type *)(uintptr_t)function(name))

enum { PROP_BYTES = 1032, POINTER_BYTES = 24, GUARD = 128 };

static int int_at(const unsigned char *p, size_t at)
{
    int v;

    memcpy(&v, p + at, sizeof v);
    return v;
}

static void check_guard(const unsigned char *p)
{
    for (int i = 0; i < GUARD; i++)
        CHECK(p[i] == 0xa5);
}

static void properties(void)
{
    static const struct {
        size_t at;
        enum cudaDeviceAttr attr;
    } ints[] = {
        {308, cudaDevAttrWarpSize},
        {320, cudaDevAttrMaxThreadsPerBlock},
        {348, cudaDevAttrClockRate},
        {360, cudaDevAttrComputeCapabilityMajor},
        {364, cudaDevAttrComputeCapabilityMinor},
        {388, cudaDevAttrMultiProcessorCount},
        {404, cudaDevAttrComputeMode},
        {600, cudaDevAttrAsyncEngineCount},
        {608, cudaDevAttrMemoryClockRate},
        {616, cudaDevAttrL2CacheSize},
        {624, cudaDevAttrMaxThreadsPerMultiProcessor},
        {652, cudaDevAttrManagedMemory},
        {688, cudaDevAttrCooperativeLaunch},
        {744, cudaDevAttrMemoryPoolsSupported},
    };
    unsigned char p[PROP_BYTES + GUARD];
    size_t total, free_bytes, all;
    int value;

    memset(p, 0xa5, sizeof p);
    OK(cudaGetDeviceProperties_v2(p, 0));
    check_guard(p + PROP_BYTES);
    for (size_t i = 0; i < sizeof ints / sizeof ints[0]; i++) {
        OK(cudaDeviceGetAttribute(&value, ints[i].attr, 0));
        CHECK(int_at(p, ints[i].at) == value);
    }
    memcpy(&total, p + 288, sizeof total);
    OK(cudaMemGetInfo(&free_bytes, &all));
    CHECK(total == all);
    CHECK(p[0] != 0 && memchr(p, 0, 256));
    OK(cudaChooseDevice(&value, (const void *)p));
    CHECK(value == 0);
    EXPECT(cudaGetDeviceProperties_v2(p, 99), cudaErrorInvalidDevice);
    OK(cudaRuntimeGetVersion(&value));
    CHECK(value / 1000 == 12);
}

static void pointers(void)
{
    unsigned char a[POINTER_BYTES + GUARD];
    void *device, *at;

    memset(a, 0xa5, sizeof a);
    OK(cudaMalloc(&device, 100));
    OK(cudaPointerGetAttributes((struct cudaPointerAttributes *)(void *)a, device));
    check_guard(a + POINTER_BYTES);
    CHECK(int_at(a, 0) == cudaMemoryTypeDevice && int_at(a, 4) == 0);
    memcpy(&at, a + 8, sizeof at);
    CHECK(at == device);
    memcpy(&at, a + 16, sizeof at);
    CHECK(at == NULL);
    OK(cudaFree(device));
}

static void managed(void)
{
    struct cudaMemLocation device = {.type = cudaMemLocationTypeDevice};
    void *m;

    OK(cudaMallocManaged(&m, 4096, cudaMemAttachGlobal));
    OK(AS(advise_fn, "cudaMemAdvise")(m, 4096, cudaMemAdviseSetPreferredLocation, 0));
    OK(AS(advise_fn, "cudaMemAdvise")(m, 4096, cudaMemAdviseSetAccessedBy, cudaCpuDeviceId));
    EXPECT(AS(advise_fn, "cudaMemAdvise")(m, 4096, cudaMemAdviseSetAccessedBy, 99),
           cudaErrorInvalidDevice);
    OK(AS(prefetch_fn, "cudaMemPrefetchAsync")(m, 4096, 0, 0));
    OK(AS(prefetch_fn, "cudaMemPrefetchAsync_ptsz")(m, 4096, cudaCpuDeviceId, 0));
    EXPECT(AS(prefetch_fn, "cudaMemPrefetchAsync")(m, 4096, 99, 0), cudaErrorInvalidDevice);
    OK(cudaMemAdvise_v2(m, 4096, cudaMemAdviseSetReadMostly, device));
    OK(cudaMemPrefetchAsync_v2(m, 4096, device, 0, 0));
    OK(cudaFree(m));
}

static void streams(void)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
    cudaEvent_t e[2];
    cudaStream_t s;
    float ms = -1;
    size_t bytes;
    double d = 0.1;

    OK(cudaStreamCreate(&s));
    OK(cudaEventCreate(&e[0]));
    OK(cudaEventCreate(&e[1]));
    OK(cudaEventRecord(e[0], s));
    OK(cudaEventRecord(e[1], s));
    OK(cudaThreadSynchronize());
    OK(cudaEventElapsedTime_v2(&ms, e[0], e[1]));
    CHECK(ms >= 0);
    OK(AS(capture_fn, "cudaStreamGetCaptureInfo")(s, &status, NULL));
    CHECK(status == cudaStreamCaptureStatusNone);
    status = cudaStreamCaptureStatusActive;
    OK(cudaStreamGetCaptureInfo_v2(s, &status, NULL, NULL, NULL, NULL));
    CHECK(status == cudaStreamCaptureStatusNone);
    OK(cudaThreadGetLimit(&bytes, cudaLimitStackSize));
    OK(cudaSetDoubleForDevice(&d));
    CHECK(d == 0.1);
    EXPECT(cudaLaunchCooperativeKernelMultiDevice(NULL, 0, 0), cudaErrorNotSupported);
    OK(cudaStreamDestroy(s));
}

static void nothing(void *unused)
{
    (void)unused;
}

static void graphs(void)
{
    struct cudaGraphNodeParams empty = {.type = cudaGraphNodeTypeEmpty};
    cudaGraphNode_t a, b, c, from[2], to[2];
    cudaGraph_t g;
    cudaStream_t s;
    size_t n;

    OK(cudaGraphCreate(&g, 0));
    OK(AS(add_fn, "cudaGraphAddNode")(&a, g, NULL, 0, &empty));
    OK(AS(add_fn, "cudaGraphAddNode")(&b, g, &a, 1, &empty));
    OK(AS(add_fn, "cudaGraphAddNode")(&c, g, NULL, 0, &empty));
    OK(AS(edges_fn, "cudaGraphAddDependencies")(g, &b, &c, 1));
    n = 2;
    OK(AS(all_edges_fn, "cudaGraphGetEdges")(g, from, to, &n));
    CHECK(n == 2 && from[0] == a && to[0] == b && from[1] == b && to[1] == c);
    n = 2;
    OK(AS(node_edges_fn, "cudaGraphNodeGetDependencies")(c, from, &n));
    CHECK(n == 1 && from[0] == b);
    n = 2;
    OK(AS(node_edges_fn, "cudaGraphNodeGetDependentNodes")(a, to, &n));
    CHECK(n == 1 && to[0] == b);
    OK(AS(edges_fn, "cudaGraphRemoveDependencies")(g, &b, &c, 1));
    OK(AS(node_edges_fn, "cudaGraphNodeGetDependencies")(c, NULL, &n));
    CHECK(n == 0);
    OK(cudaGraphDestroy(g));

    OK(cudaStreamCreate(&s));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    OK(cudaLaunchHostFunc(s, nothing, NULL));
    OK(AS(update_fn, "cudaStreamUpdateCaptureDependencies")(s, NULL, 0,
                                                            cudaStreamSetCaptureDependencies));
    OK(cudaLaunchHostFunc(s, nothing, NULL)); /* a second root: its edge went */
    OK(AS(update_fn, "cudaStreamUpdateCaptureDependencies_ptsz")(s, NULL, 0,
                                                                 cudaStreamAddCaptureDependencies));
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaGraphGetNodes(g, NULL, &n));
    CHECK(n == 2);
    OK(AS(all_edges_fn, "cudaGraphGetEdges")(g, NULL, NULL, &n));
    CHECK(n == 0);
    OK(cudaGraphDestroy(g));
    OK(cudaStreamDestroy(s));
}

#define RESOURCE_BYTES 64
#define VIEW_BYTES     48

/* Guards behind what is written; what is read lies at a mapping's end, so to say: 13's flags, which
 * would be behind it, are rubbish. */
static void textures(void)
{
    unsigned char r[RESOURCE_BYTES + GUARD], v[VIEW_BYTES + GUARD];
    struct cudaTextureDesc d = {.normalizedCoords = 0};
    struct cudaChannelFormatDesc f =
        cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindUnsigned);
    size_t bytes = 1024;
    int format = cudaResViewFormatFloat1, type = cudaResourceTypeLinear;
    cudaTextureObject_t t;
    cudaSurfaceObject_t s;
    cudaArray_t a;
    void *memory, *told;

    memset(r, 0xa5, sizeof r);
    memset(v, 0, VIEW_BYTES);
    memset(v + VIEW_BYTES, 0xa5, GUARD);
    OK(cudaMalloc(&memory, bytes));
    memcpy(r, &type, sizeof type);
    memcpy(r + 8, &memory, sizeof memory);
    memcpy(r + 16, &f, sizeof f);
    memcpy(r + 40, &bytes, sizeof bytes);
    memcpy(v, &format, sizeof format);
    OK(cudaCreateTextureObject(&t, (void *)r, &d, (void *)v));
    memset(r, 0xa5, sizeof r);
    OK(cudaGetTextureObjectResourceDesc((void *)r, t));
    check_guard(r + RESOURCE_BYTES);
    memcpy(&told, r + 8, sizeof told);
    CHECK(int_at(r, 0) == type && told == memory && int_at(r, 16) == 32 && int_at(r, 40) == 1024);
    memset(v, 0xa5, sizeof v);
    OK(cudaGetTextureObjectResourceViewDesc((void *)v, t));
    check_guard(v + VIEW_BYTES);
    CHECK(int_at(v, 0) == format && int_at(v, 44) == 0);
    OK(cudaDestroyTextureObject(t));
    OK(cudaMallocArray(&a, &f, 8, 8, cudaArraySurfaceLoadStore));
    memset(r, 0, RESOURCE_BYTES);
    memcpy(r + 8, &a, sizeof a);
    OK(cudaCreateSurfaceObject(&s, (void *)r));
    memset(r, 0xa5, sizeof r);
    OK(cudaGetSurfaceObjectResourceDesc((void *)r, s));
    check_guard(r + RESOURCE_BYTES);
    memcpy(&told, r + 8, sizeof told);
    CHECK(int_at(r, 0) == cudaResourceTypeArray && told == (void *)a);
    OK(cudaDestroySurfaceObject(s));
    OK(cudaFreeArray(a));
    OK(cudaFree(memory));
}

/* Batches say which of them was to blame. */
static void batches(void)
{
    struct cudaMemcpyAttributes attrs = {.srcAccessOrder = cudaMemcpySrcAccessOrderStream};
    struct cudaMemcpy3DBatchOp boxes[2] = {
        {.extent = {4, 1, 1}, .srcAccessOrder = cudaMemcpySrcAccessOrderStream},
        {.extent = {4, 1, 1}, .srcAccessOrder = cudaMemcpySrcAccessOrderStream}};
    size_t sizes[2] = {4, 4}, first = 0, at = 77;
    unsigned *from, *to;
    void *dsts[2], *srcs[2];
    cudaStream_t s;

    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaMallocHost((void **)&from, 64));
    OK(cudaMallocHost((void **)&to, 64));
    from[0] = 5;
    from[1] = 6;
    to[0] = to[1] = 0;
    for (int i = 0; i < 2; i++) {
        srcs[i] = from + i;
        dsts[i] = to + i;
        boxes[i].src.type = boxes[i].dst.type = cudaMemcpyOperandTypePointer;
        boxes[i].src.op.ptr.ptr = from + i;
        boxes[i].dst.op.ptr.ptr = to + 1 - i;
    }
    OK(AS(batch_fn, "cudaMemcpyBatchAsync")(dsts, srcs, sizes, 2, &attrs, &first, 1, &at, s));
    OK(cudaStreamSynchronize(s));
    CHECK(to[0] == 5 && to[1] == 6 && at == 77);
    OK(AS(box_batch_fn, "cudaMemcpy3DBatchAsync")(2, boxes, &at, 0, s));
    OK(cudaStreamSynchronize(s));
    CHECK(to[0] == 6 && to[1] == 5 && at == 77);
    dsts[1] = NULL;
    EXPECT(
        AS(batch_fn, "cudaMemcpyBatchAsync_ptsz")(dsts, srcs, sizes, 2, &attrs, &first, 1, &at, s),
        cudaErrorInvalidValue);
    CHECK(at == 1);
    boxes[0].extent.depth = 0;
    EXPECT(AS(box_batch_fn, "cudaMemcpy3DBatchAsync")(2, boxes, &at, 0, s), cudaErrorInvalidValue);
    CHECK(at == 0);
    EXPECT(AS(box_batch_fn, "cudaMemcpy3DBatchAsync")(2, boxes, &at, 1, s), cudaErrorInvalidValue);
    CHECK(at == SIZE_MAX);
    OK(cudaStreamSynchronize(s));
    OK(cudaStreamDestroy(s));
    OK(cudaFreeHost(from));
    OK(cudaFreeHost(to));
}

int main(void)
{
    properties();
    pointers();
    managed();
    batches();
    textures();
    streams();
    graphs();
    return CONFORM_END();
}
