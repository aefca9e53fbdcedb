/* What a node is made of, read and set: in the graph, and in an instance, whose next launch does
 * the new thing while the graph keeps the old one. GRA-010, GRA-011, GRA-021.
 * SPDX-License-Identifier: Apache-2.0 */
#include "conform.h"
#include "kernels.h"

static cudaKernel_t store, empty;
static cudaStream_t s;
static unsigned *device, *pinned;

static void run(cudaGraphExec_t x)
{
    OK(cudaGraphLaunch(x, s));
    OK(cudaStreamSynchronize(s));
}

static cudaGraphExec_t instance(cudaGraph_t g)
{
    cudaGraphExec_t x = NULL;

    OK(cudaGraphInstantiateWithFlags(&x, g, 0));
    return x;
}

static void drop(cudaGraphExec_t x, cudaGraph_t g)
{
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
}

static struct cudaMemcpy3DParms box(void *to, const void *from, size_t bytes)
{
    struct cudaMemcpy3DParms p = {.srcPtr = {(void *)from, bytes, bytes, 1},
                                  .dstPtr = {to, bytes, bytes, 1},
                                  .extent = {bytes, 1, 1},
                                  .kind = cudaMemcpyDefault};

    return p;
}

static void copies(void)
{
    struct cudaMemcpy3DParms p = box(pinned, device, 4), got = {0};
    cudaGraphExec_t x;
    cudaGraphNode_t n;
    cudaGraph_t g;
    unsigned values[4] = {11, 12, 13, 14};

    OK(cudaMemcpy(device, values, sizeof values, cudaMemcpyHostToDevice));
    OK(cudaDeviceSynchronize());
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphAddMemcpyNode(&n, g, NULL, 0, &p));
    OK(cudaGraphMemcpyNodeGetParams(n, &got));
    CHECK(got.srcPtr.ptr == device && got.dstPtr.ptr == pinned && got.extent.width == 4);
    p = box(pinned, device + 1, 4);
    OK(cudaGraphMemcpyNodeSetParams(n, &p));
    x = instance(g);
    memset(pinned, 0, 16);
    run(x);
    CHECK(pinned[0] == 12);
    p = box(pinned + 1, device + 2, 8);
    OK(cudaGraphExecMemcpyNodeSetParams(x, n, &p));
    run(x);
    CHECK(pinned[0] == 12 && pinned[1] == 13 && pinned[2] == 14);
    OK(cudaGraphExecMemcpyNodeSetParams1D(x, n, pinned + 3, device, 4, cudaMemcpyDefault));
    run(x);
    CHECK(pinned[3] == 11);
    OK(cudaGraphMemcpyNodeGetParams(n, &got)); /* the graph has what it was given itself */
    CHECK(got.srcPtr.ptr == device + 1);
    OK(cudaGraphMemcpyNodeSetParams1D(n, pinned, device + 3, 4, cudaMemcpyDeviceToHost));
    OK(cudaGraphMemcpyNodeGetParams(n, &got));
    CHECK(got.srcPtr.ptr == device + 3 && got.extent.width == 4);
    EXPECT(cudaGraphMemcpyNodeSetParams1D(n, NULL, device, 4, cudaMemcpyDeviceToHost),
           cudaErrorInvalidValue);
    cudaGetLastError();
    drop(x, g);
}

static void memsets(void)
{
    struct cudaMemsetParams p = {
        .dst = device, .elementSize = 4, .width = 2, .height = 1, .value = 5};
    struct cudaMemsetParams got = {0};
    cudaGraphExec_t x;
    cudaGraphNode_t n;
    cudaGraph_t g;

    OK(cudaMemset(device, 0, 64));
    OK(cudaDeviceSynchronize());
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphAddMemsetNode(&n, g, NULL, 0, &p));
    p.value = 6;
    OK(cudaGraphMemsetNodeSetParams(n, &p));
    OK(cudaGraphMemsetNodeGetParams(n, &got));
    CHECK(got.value == 6 && got.width == 2 && got.elementSize == 4 && got.dst == device);
    x = instance(g);
    p.value = 7;
    p.width = 4;
    OK(cudaGraphExecMemsetNodeSetParams(x, n, &p));
    run(x);
    OK(cudaMemcpy(pinned, device, 20, cudaMemcpyDeviceToHost));
    CHECK(pinned[0] == 7 && pinned[3] == 7 && pinned[4] == 0);
    p.elementSize = 3;
    EXPECT(cudaGraphMemsetNodeSetParams(n, &p), cudaErrorInvalidValue);
    cudaGetLastError();
    drop(x, g);
}

static _Atomic int first_calls, second_calls;

static void first(void *p)
{
    atomic_fetch_add((_Atomic int *)p, 1);
}

static void second(void *p)
{
    atomic_fetch_add((_Atomic int *)p, 10);
}

static void host_nodes(void)
{
    struct cudaHostNodeParams p = {.fn = first, .userData = &first_calls}, got = {0};
    cudaGraphExec_t x;
    cudaGraphNode_t n;
    cudaGraph_t g;

    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphAddHostNode(&n, g, NULL, 0, &p));
    p.userData = &second_calls;
    OK(cudaGraphHostNodeSetParams(n, &p));
    OK(cudaGraphHostNodeGetParams(n, &got));
    CHECK(got.fn == first && got.userData == &second_calls);
    x = instance(g);
    run(x);
    CHECK(atomic_load(&second_calls) == 1 && atomic_load(&first_calls) == 0);
    p.fn = second;
    OK(cudaGraphExecHostNodeSetParams(x, n, &p));
    run(x);
    CHECK(atomic_load(&second_calls) == 11);
    drop(x, g);
}

/* The instance records, or waits for, another event. */
static void event_nodes(void)
{
    cudaEvent_t a, b, got = NULL;
    cudaGraphNode_t record, wait;
    cudaGraphExec_t x;
    cudaGraph_t g;
    struct hold h;
    cudaStream_t held;

    OK(cudaStreamCreateWithFlags(&held, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&a, cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&b, cudaEventDisableTiming));
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphAddEventRecordNode(&record, g, NULL, 0, a));
    OK(cudaGraphAddEventWaitNode(&wait, g, &record, 1, a));
    OK(cudaGraphEventRecordNodeGetEvent(record, &got));
    CHECK(got == a);
    OK(cudaGraphEventRecordNodeSetEvent(record, b));
    OK(cudaGraphEventWaitNodeSetEvent(wait, b));
    OK(cudaGraphEventWaitNodeGetEvent(wait, &got));
    CHECK(got == b);
    x = instance(g);
    OK(cudaGraphExecEventRecordNodeSetEvent(x, record, b));
    OK(cudaGraphExecEventWaitNodeSetEvent(x, wait, a));
    hold_stream(&h, held);
    OK(cudaEventRecord(a, held));
    OK(cudaGraphLaunch(x, s));
    OK(cudaEventSynchronize(b)); /* recorded in front of the wait */
    EXPECT(cudaStreamQuery(s), cudaErrorNotReady);
    hold_release(&h);
    OK(cudaStreamSynchronize(s));
    drop(x, g);
    OK(cudaEventDestroy(a));
    OK(cudaEventDestroy(b));
    OK(cudaStreamDestroy(held));
}

static struct cudaKernelNodeParams store_params(void **args)
{
    return (struct cudaKernelNodeParams){
        .func = (void *)store, .gridDim = {1, 1, 1}, .blockDim = {1, 1, 1}, .kernelParams = args};
}

/* A child graph's new contents, clones, and nodes that are taken away. */
static void children(void)
{
    unsigned one = 1, two = 2, three = 3;
    void *args1[] = {&pinned, &one}, *args2[] = {&pinned, &two}, *args3[] = {&pinned, &three};
    struct cudaKernelNodeParams p1 = store_params(args1), p2 = store_params(args2),
                                p3 = store_params(args3);
    cudaGraphNode_t n, child, other, found = NULL, twin;
    cudaGraph_t inner, again, outer, embedded, copy;
    unsigned long long flags = 9;
    cudaGraphExec_t x;
    size_t count = 9;

    OK(cudaGraphCreate(&inner, 0));
    OK(cudaGraphAddKernelNode(&n, inner, NULL, 0, &p1));
    OK(cudaGraphCreate(&again, 0));
    OK(cudaGraphAddKernelNode(&other, again, NULL, 0, &p2));
    OK(cudaGraphCreate(&outer, 0));
    OK(cudaGraphAddChildGraphNode(&child, outer, NULL, 0, inner));
    OK(cudaGraphChildGraphNodeGetGraph(child, &embedded));
    CHECK(embedded != inner);
    OK(cudaGraphGetNodes(embedded, NULL, &count));
    CHECK(count == 1);
    x = instance(outer);
    OK(cudaGraphExecGetFlags(x, &flags));
    CHECK(flags == 0);
    run(x);
    CHECK(pinned[0] == 1);
    OK(cudaGraphExecChildGraphNodeSetParams(x, child, again));
    run(x);
    CHECK(pinned[0] == 2);

    OK(cudaGraphClone(&copy, again));
    OK(cudaGraphNodeFindInClone(&twin, other, copy));
    CHECK(twin != other);
    EXPECT(cudaGraphNodeFindInClone(&found, n, copy), cudaErrorInvalidValue);
    OK(cudaGraphKernelNodeSetParams(twin, &p3)); /* the original keeps its own */
    drop(x, outer);
    x = instance(copy);
    run(x);
    CHECK(pinned[0] == 3);
    OK(cudaGraphExecDestroy(x));
    x = instance(again);
    run(x);
    CHECK(pinned[0] == 2);
    OK(cudaGraphDestroyNode(other));
    OK(cudaGraphGetNodes(again, NULL, &count));
    CHECK(count == 0);
    cudaGetLastError();
    drop(x, again);
    OK(cudaGraphDestroy(copy));
    OK(cudaGraphDestroy(inner));
}

/* Parameters of any kind by one call, and attributes of kernels. */
static void generic(void)
{
    unsigned one = 1, two = 2, three = 3;
    void *args1[] = {&pinned, &one}, *args2[] = {&pinned, &two}, *args3[] = {&pinned, &three};
    struct cudaGraphNodeParams p = {.type = cudaGraphNodeTypeKernel};
    cudaLaunchAttributeValue v = {.priority = -1}, got = {0};
    cudaGraphNode_t n, m;
    cudaGraphExec_t x;
    cudaGraph_t g;

    p.kernel.func = (void *)store;
    p.kernel.gridDim = p.kernel.blockDim = (dim3){1, 1, 1};
    p.kernel.kernelParams = args1;
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphAddNode(&n, g, NULL, NULL, 0, &p));
    p.kernel.kernelParams = args2;
    OK(cudaGraphNodeSetParams(n, &p));
    x = instance(g);
    run(x);
    CHECK(pinned[0] == 2);
    p.kernel.kernelParams = args3;
    OK(cudaGraphExecNodeSetParams(x, n, &p));
    run(x);
    CHECK(pinned[0] == 3);
    OK(cudaGraphKernelNodeSetAttribute(n, cudaLaunchAttributePriority, &v));
    OK(cudaGraphKernelNodeGetAttribute(n, cudaLaunchAttributePriority, &got));
    CHECK(got.priority == -1);
    OK(cudaGraphAddNode(&m, g, NULL, NULL, 0, &p));
    OK(cudaGraphKernelNodeCopyAttributes(m, n)); /* from n to m */
    OK(cudaGraphKernelNodeGetAttribute(m, cudaLaunchAttributePriority, &got));
    CHECK(got.priority == -1);
    p.type = cudaGraphNodeTypeHost;
    p.host.fn = first;
    EXPECT(cudaGraphNodeSetParams(n, &p), cudaErrorInvalidValue); /* it is a kernel */
    cudaGetLastError();
    drop(x, g);
}

int main(void)
{
    cudaLibrary_t lib;

    OK(cudaLibraryLoadData(&lib, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernel(&store, lib, "store"));
    OK(cudaLibraryGetKernel(&empty, lib, "empty"));
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaMalloc((void **)&device, 256));
    OK(cudaMallocHost((void **)&pinned, 256));
    copies();
    memsets();
    host_nodes();
    event_nodes();
    children();
    generic();
    return CONFORM_END();
}
