/* Memory nodes: how long their memory lives, who may free it and where, reuse within a graph and
 * between graphs, what counts as used, trimming. Rules: GRA-030.
 * SPDX-License-Identifier: Apache-2.0 */
#include <cuda.h>

#include "conform.h"
#include "kernels.h"

enum { BYTES = 1 << 20 };

static const uint64_t PIECE = 32 << 20; /* physical memory comes so (oracle graphmem_used) */

static cudaKernel_t store;
static cudaStream_t a, b;

static uint64_t usage(enum cudaGraphMemAttributeType what)
{
    uint64_t value = ~(uint64_t)0;

    OK(cudaDeviceGetGraphMemAttribute(0, what, &value));
    return value;
}

static void settle(void)
{
    uint64_t zero = 0;

    OK(cudaDeviceSynchronize());
    OK(cudaDeviceGraphMemTrim(0));
    OK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &zero));
    OK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrReservedMemHigh, &zero));
}

static cudaGraphNode_t add_alloc(cudaGraph_t g, cudaGraphNode_t *deps, size_t n, size_t bytes,
                                 unsigned **p)
{
    struct cudaMemAllocNodeParams params = {
        .poolProps = {.allocType = cudaMemAllocationTypePinned,
                      .location = {.type = cudaMemLocationTypeDevice}},
        .bytesize = bytes};
    cudaGraphNode_t node = NULL;

    OK(cudaGraphAddMemAllocNode(&node, g, deps, n, &params));
    *p = params.dptr;
    return node;
}

static cudaGraphNode_t add_store(cudaGraph_t g, cudaGraphNode_t *after, unsigned *to, unsigned v)
{
    void *args[] = {&to, &v};
    struct cudaKernelNodeParams p = {
        .func = (void *)store, .gridDim = {1, 1, 1}, .blockDim = {1, 1, 1}, .kernelParams = args};
    cudaGraphNode_t node = NULL;

    OK(cudaGraphAddKernelNode(&node, g, after, after != NULL, &p));
    return node;
}

static unsigned read_back(const unsigned *from)
{
    unsigned v = 0;

    OK(cudaMemcpy(&v, from, sizeof v, cudaMemcpyDeviceToHost));
    return v;
}

static cudaGraphExec_t instance(cudaGraph_t g, unsigned flags)
{
    cudaGraphExec_t x = NULL;

    OK(cudaGraphInstantiate(&x, g, flags));
    return x;
}

/* Allocates and writes; somebody else frees. */
static cudaGraph_t build_open(unsigned **p, unsigned v)
{
    cudaGraphNode_t n;
    cudaGraph_t g;

    OK(cudaGraphCreate(&g, 0));
    n = add_alloc(g, NULL, 0, BYTES, p);
    add_store(g, &n, *p, v);
    return g;
}

/* The memory outlives its graph and the instance, until it is freed. */
static void outlives(void)
{
    for (int how = 0; how < 4; how++) {
        unsigned *p;
        cudaGraph_t g = build_open(&p, 40 + (unsigned)how);
        cudaGraphExec_t x = instance(g, 0);
        struct hold h;

        OK(cudaGraphLaunch(x, a));
        OK(cudaGraphExecDestroy(x));
        OK(cudaGraphDestroy(g));
        OK(cudaStreamSynchronize(a));
        CHECK(read_back(p) == 40 + (unsigned)how);
        CHECK(usage(cudaGraphMemAttrUsedMemCurrent) == PIECE);
        if (how == 0) {
            OK(cudaFree(p));
        } else if (how == 1) { /* behind work that still uses it */
            hold_stream(&h, b);
            OK(cudaMemsetAsync(p, 1, BYTES, b));
            OK(cudaFreeAsync(p, b));
            EXPECT(cudaFree(p), cudaErrorInvalidValue); /* once */
            hold_release(&h);
            OK(cudaStreamSynchronize(b));
        } else if (how == 2) {
            CHECK(cuMemFree((uintptr_t)p) == CUDA_SUCCESS);
        } else {
            CHECK(cuMemFreeAsync((uintptr_t)p, b) == CUDA_SUCCESS);
            OK(cudaStreamSynchronize(b));
        }
        cudaGetLastError();
        EXPECT(cudaFreeAsync(p, a), cudaErrorInvalidValue);
        settle();
        CHECK(usage(cudaGraphMemAttrUsedMemCurrent) == 0);
    }
    cudaGetLastError();
}

/* One graph allocates, another one in another stream frees; again and again. */
static void freed_elsewhere(void)
{
    unsigned *p, *out;
    cudaGraph_t g = build_open(&p, 7), f;
    cudaGraphNode_t n;
    cudaGraphExec_t x, y;
    cudaEvent_t e;

    OK(cudaMallocHost((void **)&out, 4));
    OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    OK(cudaGraphCreate(&f, 0));
    OK(cudaGraphAddMemcpyNode1D(&n, f, NULL, 0, out, p, 4, cudaMemcpyDeviceToHost));
    OK(cudaGraphAddMemFreeNode(&n, f, &n, 1, p));
    EXPECT(cudaGraphAddMemFreeNode(&n, f, &n, 1, p), cudaErrorInvalidValue); /* twice in one */
    x = instance(g, 0);
    y = instance(f, 0);
    for (int i = 0; i < 3; i++) {
        *out = 0;
        OK(cudaGraphLaunch(x, a));
        OK(cudaEventRecord(e, a));
        EXPECT(cudaGraphLaunch(x, a), cudaErrorInvalidValue); /* not freed yet */
        OK(cudaStreamWaitEvent(b, e, 0));
        OK(cudaGraphLaunch(y, b));
        OK(cudaEventRecord(e, b));
        OK(cudaStreamWaitEvent(a, e, 0));
        OK(cudaStreamSynchronize(b));
        CHECK(*out == 7);
        EXPECT(cudaFree(p), cudaErrorInvalidValue);
    }
    cudaGetLastError();
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphExecDestroy(y));
    OK(cudaGraphDestroy(g));
    OK(cudaGraphDestroy(f));
    OK(cudaEventDestroy(e));
    OK(cudaFreeHost(out));
    settle();
}

/* An instance that frees at its launches, and the last time by hand. */
static void auto_free(void)
{
    unsigned *p;
    cudaGraph_t g = build_open(&p, 9);
    cudaGraphExec_t x = instance(g, cudaGraphInstantiateFlagAutoFreeOnLaunch);

    for (int i = 0; i < 3; i++)
        OK(cudaGraphLaunch(x, a));
    OK(cudaStreamSynchronize(a));
    CHECK(read_back(p) == 9);
    CHECK(usage(cudaGraphMemAttrUsedMemCurrent) == PIECE);
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
    CHECK(read_back(p) == 9);
    OK(cudaFree(p));
    settle();
}

/* Behind a free node an allocation of the same size has the same address; beside it another one. */
static void reuse_inside(void)
{
    unsigned *p[3], value = 0;
    cudaGraphNode_t n, first;
    cudaGraphExec_t x;
    cudaGraph_t g;

    OK(cudaGraphCreate(&g, 0));
    first = n = add_alloc(g, NULL, 0, BYTES, &p[0]);
    n = add_store(g, &n, p[0], 1);
    OK(cudaGraphAddMemFreeNode(&n, g, &n, 1, p[0]));
    EXPECT(cudaGraphAddMemFreeNode(&first, g, &n, 1, p[0]), cudaErrorInvalidValue);
    n = add_alloc(g, &n, 1, BYTES, &p[1]);
    n = add_store(g, &n, p[1], 2);
    OK(cudaGraphAddMemFreeNode(&n, g, &n, 1, p[1]));
    n = add_alloc(g, &first, 1, BYTES, &p[2]);
    OK(cudaGraphAddMemFreeNode(&n, g, &n, 1, p[2]));
    CHECK(p[1] == p[0] && p[2] != p[0]);
    EXPECT(cudaGraphDestroyNode(n), cudaErrorNotSupported); /* nor edges */
    x = instance(g, 0);
    for (int i = 0; i < 3; i++)
        OK(cudaGraphLaunch(x, a)); /* all is freed inside */
    OK(cudaStreamSynchronize(a));
    EXPECT(cudaFree(p[0]), cudaErrorInvalidValue);
    EXPECT(cudaMemcpy(&value, NULL, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    cudaGetLastError();
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
    settle();
}

static cudaGraphExec_t make_closed(void)
{
    unsigned *p;
    cudaGraphNode_t n;
    cudaGraphExec_t x;
    cudaGraph_t g;

    OK(cudaGraphCreate(&g, 0));
    n = add_alloc(g, NULL, 0, BYTES, &p);
    n = add_store(g, &n, p, 3);
    OK(cudaGraphAddMemFreeNode(&n, g, &n, 1, p));
    x = instance(g, 0);
    OK(cudaGraphDestroy(g));
    return x;
}

/* Graphs one behind the other share physical memory, graphs side by side do not; trimming gives
 * back what nothing holds. */
static void reuse_between(void)
{
    cudaGraphExec_t x[3];
    struct hold h;
    uint64_t zero = 0, one = 1;

    for (int i = 0; i < 3; i++)
        x[i] = make_closed();
    for (int i = 0; i < 3; i++)
        OK(cudaGraphLaunch(x[i], a));
    OK(cudaStreamSynchronize(a));
    CHECK(usage(cudaGraphMemAttrUsedMemHigh) == PIECE);
    CHECK(usage(cudaGraphMemAttrReservedMemCurrent) == PIECE);
    hold_stream(&h, a);
    OK(cudaGraphLaunch(x[0], a));
    OK(cudaGraphLaunch(x[1], b));
    CHECK(usage(cudaGraphMemAttrUsedMemCurrent) == 2 * PIECE);
    OK(cudaDeviceGraphMemTrim(0)); /* one of them is needed still */
    CHECK(usage(cudaGraphMemAttrReservedMemCurrent) >= PIECE);
    hold_release(&h);
    OK(cudaDeviceSynchronize());
    OK(cudaDeviceGraphMemTrim(0));
    CHECK(usage(cudaGraphMemAttrReservedMemCurrent) == 0);
    CHECK(usage(cudaGraphMemAttrUsedMemHigh) == 2 * PIECE);
    OK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &zero));
    CHECK(usage(cudaGraphMemAttrUsedMemHigh) == 0);
    EXPECT(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &one),
           cudaErrorInvalidValue);
    EXPECT(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &zero),
           cudaErrorInvalidValue);
    cudaGetLastError();
    for (int i = 0; i < 3; i++)
        OK(cudaGraphExecDestroy(x[i]));
    settle();
}

/* Both APIs' stream-ordered allocations become nodes of a capture. */
static void captured(void)
{
    for (int driver = 0; driver < 2; driver++) {
        unsigned *p = NULL, v = 5;
        void *args[] = {&p, &v};
        CUdeviceptr d;
        enum cudaGraphNodeType type;
        cudaGraphNode_t nodes[4];
        cudaGraphExec_t x;
        cudaGraph_t g;
        size_t n = 4;

        OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
        if (driver) {
            CHECK(cuMemAllocAsync(&d, BYTES, a) == CUDA_SUCCESS);
            p = (unsigned *)(uintptr_t)d;
        } else {
            OK(cudaMallocAsync((void **)&p, BYTES, a));
        }
        OK(cudaLaunchKernel((void *)store, (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, a));
        if (driver)
            CHECK(cuMemFreeAsync((uintptr_t)p, a) == CUDA_SUCCESS);
        else
            OK(cudaFreeAsync(p, a));
        OK(cudaStreamEndCapture(a, &g));
        OK(cudaGraphGetNodes(g, nodes, &n));
        CHECK(n == 3);
        OK(cudaGraphNodeGetType(nodes[0], &type));
        CHECK(type == cudaGraphNodeTypeMemAlloc);
        OK(cudaGraphNodeGetType(nodes[2], &type));
        CHECK(type == cudaGraphNodeTypeMemFree);
        x = instance(g, 0);
        for (int i = 0; i < 3; i++)
            OK(cudaGraphLaunch(x, i % 2 ? b : a));
        OK(cudaDeviceSynchronize());
        OK(cudaGraphExecDestroy(x));
        OK(cudaGraphDestroy(g));
    }
    settle();
}

int main(void)
{
    cudaLibrary_t lib;

    OK(cudaLibraryLoadData(&lib, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernel(&store, lib, "store"));
    OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    outlives();
    freed_elsewhere();
    auto_free();
    reuse_inside();
    reuse_between();
    captured();
    return CONFORM_END();
}
