/* Nodes of graphs: parameters read and set, in the graph and in an instance; edges, roots and
 * dependencies; events, children, memory, conditionals, user objects, the picture.
 * SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

#include <unistd.h>

static CUfunction scale;
static CUcontext ctx;
static CUstream s;
static CUdeviceptr p;
static float factor = 2;
static unsigned four = 4;
static void *args[] = {&p, &factor, &four};

static void add_one(void *user)
{
    ++*(int *)user;
}

static void add_ten(void *user)
{
    *(int *)user += 10;
}

static CUDA_KERNEL_NODE_PARAMS kernel_params(void)
{
    return (CUDA_KERNEL_NODE_PARAMS){.func = scale,
                                     .gridDimX = 1,
                                     .gridDimY = 1,
                                     .gridDimZ = 1,
                                     .blockDimX = 32,
                                     .blockDimY = 1,
                                     .blockDimZ = 1,
                                     .kernelParams = args};
}

static void run(CUgraphExec exec)
{
    OK(cuGraphLaunch(exec, s));
    OK(cuStreamSynchronize(s));
}

static float first(void)
{
    float v = -1;

    OK(cuMemcpyDtoH(&v, p, sizeof v));
    return v;
}

/* ---- edges ---- */

static void check_edges(void)
{
    CUgraphNode n[4], got[4] = {0};
    CUgraphEdgeData data[4];
    size_t count = 4;
    CUgraph g;

    OK(cuGraphCreate(&g, 0));
    for (int i = 0; i < 4; i++)
        OK(cuGraphAddEmptyNode(&n[i], g, NULL, 0));
    OK(cuGraphAddDependencies(g, (CUgraphNode[]){n[0], n[0], n[1]},
                              (CUgraphNode[]){n[1], n[2], n[3]}, NULL, 3));
    EXPECT(cuGraphAddDependencies(g, &n[0], &n[1], NULL, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphGetRootNodes(g, got, &count));
    CHECK(count == 1 && got[0] == n[0]);
    count = 4;
    OK(cuGraphNodeGetDependentNodes(n[0], got, data, &count));
    CHECK(count == 2 && got[0] == n[1] && got[1] == n[2] && data[0].type == 0);
    count = 4;
    OK(cuGraphNodeGetDependencies(n[3], got, data, &count));
    CHECK(count == 1 && got[0] == n[1]);
    OK(cuGraphRemoveDependencies(g, &n[1], &n[3], NULL, 1));
    EXPECT(cuGraphRemoveDependencies(g, &n[1], &n[3], NULL, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphDestroyNode(n[1]));
    count = 4;
    OK(cuGraphGetNodes(g, got, &count));
    CHECK(count == 3);
    count = 4;
    OK(cuGraphGetRootNodes(g, got, &count));
    CHECK(count == 2);
    OK(cuGraphDestroy(g));
}

/* ---- kernels, copies, memsets, host functions ---- */

static void check_kernel(void)
{
    CUDA_KERNEL_NODE_PARAMS k = kernel_params(), got;
    CUgraphNodeParams any = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
    CUkernelNodeAttrValue value = {.priority = -1}, back = {0};
    CUgraphNode n, other;
    CUgraphExec exec;
    unsigned enabled = 7;
    CUgraph g;

    OK(cuMemsetD32(p, 0x3f800000, 4));
    OK(cuCtxSynchronize()); /* s does not wait for it */
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphAddKernelNode(&n, g, NULL, 0, &k));
    k.blockDimX = 64;
    OK(cuGraphKernelNodeSetParams(n, &k));
    OK(cuGraphKernelNodeGetParams(n, &got));
    CHECK(got.blockDimX == 64 && got.func == scale && *(float *)got.kernelParams[1] == 2);
    OK(cuGraphKernelNodeSetAttribute(n, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
    OK(cuGraphKernelNodeGetAttribute(n, CU_LAUNCH_ATTRIBUTE_PRIORITY, &back));
    CHECK(back.priority == -1);
    OK(cuGraphAddKernelNode(&other, g, &n, 1, &k));
    OK(cuGraphKernelNodeCopyAttributes(other, n));
    back.priority = 0;
    OK(cuGraphKernelNodeGetAttribute(other, CU_LAUNCH_ATTRIBUTE_PRIORITY, &back));
    CHECK(back.priority == -1);
    OK(cuGraphInstantiateWithFlags(&exec, g, 0));
    run(exec); /* 1 -> 3 -> 7 */
    CHECK(first() == 7);
    OK(cuGraphNodeSetEnabled(exec, other, 0));
    OK(cuGraphNodeGetEnabled(exec, other, &enabled));
    CHECK(enabled == 0);
    run(exec); /* 15 */
    CHECK(first() == 15);
    factor = 10;
    OK(cuGraphExecKernelNodeSetParams(exec, n, &k));
    run(exec); /* 151 */
    CHECK(first() == 151);
    factor = 1;
    any.kernel.func = scale;
    any.kernel.gridDimX = any.kernel.gridDimY = any.kernel.gridDimZ = 1;
    any.kernel.blockDimX = 4;
    any.kernel.blockDimY = any.kernel.blockDimZ = 1;
    any.kernel.kernelParams = args;
    OK(cuGraphExecNodeSetParams(exec, n, &any));
    run(exec); /* 152 */
    CHECK(first() == 152);
    OK(cuGraphNodeSetParams(n, &any));
    OK(cuGraphKernelNodeGetParams(n, &got));
    CHECK(got.blockDimX == 4);
    factor = 2;
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(g));
}

static void check_copy_and_memset(void)
{
    CUDA_MEMSET_NODE_PARAMS set = {.dst = p, .value = 1, .elementSize = 4, .width = 4, .height = 1},
                            set_back;
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = p,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .WidthInBytes = 16,
                          .Height = 1,
                          .Depth = 1},
                  copy_back;
    unsigned a[4] = {0}, b[4] = {0};
    CUgraphNode n[2];
    CUgraphExec exec;
    CUgraph g;

    copy.dstHost = a;
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphAddMemsetNode(&n[0], g, NULL, 0, &set, ctx));
    OK(cuGraphAddMemcpyNode(&n[1], g, &n[0], 1, &copy, ctx));
    set.value = 6;
    OK(cuGraphMemsetNodeSetParams(n[0], &set));
    OK(cuGraphMemsetNodeGetParams(n[0], &set_back));
    CHECK(set_back.value == 6 && set_back.width == 4 && set_back.dst == p);
    OK(cuGraphMemcpyNodeGetParams(n[1], &copy_back));
    CHECK(copy_back.dstHost == a && copy_back.WidthInBytes == 16);
    copy.WidthInBytes = 8;
    OK(cuGraphMemcpyNodeSetParams(n[1], &copy));
    OK(cuGraphInstantiate(&exec, g, 0));
    run(exec);
    CHECK(a[0] == 6 && a[1] == 6 && a[2] == 0);
    copy.dstHost = b;
    OK(cuGraphExecMemcpyNodeSetParams(exec, n[1], &copy, ctx));
    run(exec);
    CHECK(b[0] == 6 && b[1] == 6 && b[2] == 0);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(g));
}

/* An array that was given comes back as one. */
static void check_array_copy(void)
{
    const CUDA_ARRAY3D_DESCRIPTOR d = {
        .Width = 8, .Height = 4, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 2};
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                          .srcXInBytes = 6,
                          .srcY = 2,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = p,
                          .dstPitch = 4,
                          .WidthInBytes = 4,
                          .Height = 2,
                          .Depth = 1},
                  back;
    CUgraphNode n;
    CUgraph g;

    OK(cuArray3DCreate(&copy.srcArray, &d));
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphAddMemcpyNode(&n, g, NULL, 0, &copy, ctx));
    OK(cuGraphMemcpyNodeGetParams(n, &back));
    CHECK(back.srcMemoryType == CU_MEMORYTYPE_ARRAY && back.srcArray == copy.srcArray &&
          back.srcXInBytes == 6 && back.srcY == 2 && back.srcZ == 0 && !back.srcDevice);
    CHECK(back.dstMemoryType == CU_MEMORYTYPE_DEVICE && back.dstDevice == p && back.dstPitch == 4 &&
          back.WidthInBytes == 4 && back.Height == 2 && back.Depth == 1);
    OK(cuGraphMemcpyNodeSetParams(n, &back));
    OK(cuGraphDestroy(g));
    OK(cuArrayDestroy(copy.srcArray));
}

static void check_host(void)
{
    int a = 0, b = 0;
    CUDA_HOST_NODE_PARAMS h = {add_one, &a}, back;
    CUgraphExec exec;
    CUgraphNode n;
    CUgraph g;

    OK(cuGraphCreate(&g, 0));
    OK(cuGraphAddHostNode(&n, g, NULL, 0, &h));
    OK(cuGraphInstantiate(&exec, g, 0));
    h.fn = add_ten;
    OK(cuGraphHostNodeSetParams(n, &h));
    OK(cuGraphHostNodeGetParams(n, &back));
    CHECK(back.fn == add_ten && back.userData == &a);
    run(exec);
    CHECK(a == 1); /* the instance keeps what it was made of */
    h.userData = &b;
    OK(cuGraphExecHostNodeSetParams(exec, n, &h));
    run(exec);
    CHECK(a == 1 && b == 10);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(g));
}

/* ---- events, children ---- */

static void check_events(void)
{
    CUevent e[2], back;
    CUgraphNode n[2];
    CUgraphExec exec;
    CUgraph g;

    for (int i = 0; i < 2; i++)
        OK(cuEventCreate(&e[i], 0));
    OK(cuEventRecord(e[0], s));
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphAddEventWaitNode(&n[0], g, NULL, 0, e[0]));
    OK(cuGraphAddEventRecordNode(&n[1], g, &n[0], 1, e[1]));
    OK(cuGraphEventWaitNodeGetEvent(n[0], &back));
    CHECK(back == e[0]);
    OK(cuGraphEventRecordNodeGetEvent(n[1], &back));
    CHECK(back == e[1]);
    OK(cuGraphEventWaitNodeSetEvent(n[0], e[1]));
    OK(cuGraphEventRecordNodeSetEvent(n[1], e[0]));
    OK(cuGraphEventRecordNodeGetEvent(n[1], &back));
    CHECK(back == e[0]);
    OK(cuGraphEventWaitNodeGetEvent(n[0], &back));
    CHECK(back == e[1]);
    OK(cuGraphInstantiate(&exec, g, 0));
    OK(cuGraphExecEventWaitNodeSetEvent(exec, n[0], e[0]));
    OK(cuGraphExecEventRecordNodeSetEvent(exec, n[1], e[1]));
    run(exec);
    OK(cuEventQuery(e[1]));
    OK(cuEventSynchronize(e[1]));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(g));
    for (int i = 0; i < 2; i++)
        OK(cuEventDestroy(e[i]));
}

static CUgraph host_graph(CUhostFn fn, int *calls)
{
    CUDA_HOST_NODE_PARAMS h = {fn, calls};
    CUgraphNode n;
    CUgraph g;

    OK(cuGraphCreate(&g, 0));
    OK(cuGraphAddHostNode(&n, g, NULL, 0, &h));
    return g;
}

static void check_child(void)
{
    int calls = 0;
    CUgraph child = host_graph(add_one, &calls), other = host_graph(add_ten, &calls), g, inside;
    CUgraphExec exec;
    CUgraphNode n;
    size_t count = 0;

    OK(cuGraphCreate(&g, 0));
    OK(cuGraphAddChildGraphNode(&n, g, NULL, 0, child));
    OK(cuGraphChildGraphNodeGetGraph(n, &inside));
    CHECK(inside != child);
    OK(cuGraphGetNodes(inside, NULL, &count));
    CHECK(count == 1);
    OK(cuGraphInstantiate(&exec, g, 0));
    run(exec);
    OK(cuGraphExecChildGraphNodeSetParams(exec, n, other));
    run(exec);
    CHECK(calls == 11);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(g));
    OK(cuGraphDestroy(child));
    OK(cuGraphDestroy(other));
}

/* ---- memory, conditionals, objects ---- */

static void check_memory(void)
{
    CUDA_MEM_ALLOC_NODE_PARAMS alloc = {.poolProps =
                                            {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                             .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}},
                                        .bytesize = 4096},
                               back;
    cuuint64_t used = 77, high = 0;
    CUdeviceptr freed = 0;
    CUgraphNode n[2];
    CUgraphExec exec;
    CUgraph g;

    OK(cuGraphCreate(&g, 0));
    OK(cuGraphAddMemAllocNode(&n[0], g, NULL, 0, &alloc));
    CHECK(alloc.dptr != 0);
    OK(cuGraphAddMemFreeNode(&n[1], g, &n[0], 1, alloc.dptr));
    OK(cuGraphMemAllocNodeGetParams(n[0], &back));
    CHECK(back.bytesize == 4096 && back.dptr == alloc.dptr);
    OK(cuGraphMemFreeNodeGetParams(n[1], &freed));
    CHECK(freed == alloc.dptr);
    OK(cuGraphInstantiate(&exec, g, 0));
    OK(cuGraphUpload(exec, s));
    run(exec);
    OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used));
    OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &high));
    CHECK(used >= 4096 && high >= used); /* the instance keeps it */
    high = 0;
    OK(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &high));
    OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &high));
    CHECK(high == used); /* what is in use now is the highest */
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(g));
    OK(cuDeviceGraphMemTrim(0));
    OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &used));
    CHECK(used == 0);
}

static void check_conditional(void)
{
    CUgraphNodeParams c = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
    CUgraphConditionalHandle handle;
    CUDA_MEMSET_NODE_PARAMS set = {.dst = p, .value = 9, .elementSize = 4, .width = 1, .height = 1};
    unsigned v = 0;

    for (unsigned on = 0; on < 2; on++) {
        CUgraphNode n, inner;
        CUgraphExec exec;
        CUgraph g;

        OK(cuMemsetD32(p, 0, 4));
        OK(cuCtxSynchronize()); /* s does not wait for it */
        OK(cuGraphCreate(&g, 0));
        OK(cuGraphConditionalHandleCreate(&handle, g, ctx, on, CU_GRAPH_COND_ASSIGN_DEFAULT));
        c.conditional.handle = handle;
        c.conditional.type = CU_GRAPH_COND_TYPE_IF;
        c.conditional.size = 1;
        c.conditional.ctx = ctx;
        OK(cuGraphAddNode(&n, g, NULL, NULL, 0, &c));
        OK(cuGraphAddMemsetNode(&inner, c.conditional.phGraph_out[0], NULL, 0, &set, ctx));
        OK(cuGraphInstantiate(&exec, g, 0));
        run(exec);
        OK(cuMemcpyDtoH(&v, p, 4));
        CHECK(v == (on ? 9 : 0));
        OK(cuGraphExecDestroy(exec));
        OK(cuGraphDestroy(g));
    }
}

static void check_objects(void)
{
    CUuserObject object;
    int destroyed = 0;
    CUgraph g;

    OK(cuGraphCreate(&g, 0));
    OK(cuUserObjectCreate(&object, &destroyed, add_one, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    OK(cuUserObjectRetain(object, 2));
    OK(cuGraphRetainUserObject(g, object, 1, 0));
    OK(cuGraphReleaseUserObject(g, object, 1));
    OK(cuGraphRetainUserObject(g, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    OK(cuUserObjectRelease(object, 2));
    OK(cuCtxSynchronize());
    CHECK(destroyed == 0);
    OK(cuGraphDestroy(g));
    for (int i = 0; i < 20000 && !*(volatile int *)&destroyed; i++)
        usleep(1000); /* its destructor is not waited for */
    CHECK(destroyed == 1);
}

static void check_instances(void)
{
    CUDA_GRAPH_INSTANTIATE_PARAMS params = {.flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD,
                                            .hUploadStream = s};
    char path[] = "/tmp/weir-dot-XXXXXX", text[8] = "";
    int calls = 0, fd = mkstemp(path);
    CUgraph g = host_graph(add_one, &calls);
    cuuint64_t flags = 77;
    CUgraphExec exec;

    OK(cuGraphInstantiateWithParams(&exec, g, &params));
    CHECK(params.result_out == CUDA_GRAPH_INSTANTIATE_SUCCESS);
    OK(cuGraphExecGetFlags(exec, &flags));
    CHECK(flags == CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD);
    run(exec);
    CHECK(calls == 1);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDebugDotPrint(g, path, 0));
    CHECK(fd >= 0 && read(fd, text, 7) == 7 && strcmp(text, "digraph") == 0);
    close(fd);
    unlink(path);
    OK(cuGraphDestroy(g));
}

int main(void)
{
    CUmodule module;

    OK(cuInit(0));
    OK(cuCtxCreate(&ctx, NULL, 0, 0));
    OK(cuModuleLoadData(&module, driver_ptx));
    OK(cuModuleGetFunction(&scale, module, "scale"));
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&p, 4096));
    check_edges();
    check_kernel();
    check_copy_and_memset();
    check_array_copy();
    check_host();
    check_events();
    check_child();
    check_memory();
    check_conditional();
    check_objects();
    check_instances();
    OK(cuCtxDestroy(ctx));
    return DRIVER_END();
}
