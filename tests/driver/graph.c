/* Capture and graphs: a captured stream, a graph built by hand, updated, launched again.
 * SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

static CUfunction scale, count;
static CUmodule module;
static CUcontext ctx;

static void host_func(void *user)
{
    ++*(int *)user;
}

static void check_capture(void)
{
    CUstreamCaptureStatus status;
    CUgraphExec exec;
    CUgraphNode nodes[8];
    CUgraphNodeType type;
    CUgraph graph, inside;
    CUdeviceptr p, counter;
    CUstream s;
    cuuint64_t id = 0;
    size_t n = 8;
    float host[4] = {1, 2, 3, 4}, factor = 2;
    unsigned value, four = 4;
    int calls = 0;
    void *args[] = {&p, &factor, &four};

    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&p, sizeof host));
    OK(cuMemcpyHtoD(p, host, sizeof host));
    OK(cuModuleGetGlobal(&counter, NULL, module, "counter"));
    EXPECT(cuStreamEndCapture(s, &graph), CUDA_ERROR_ILLEGAL_STATE);
    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuStreamIsCapturing(s, &status));
    CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    OK(cuStreamGetCaptureInfo(s, &status, &id, &inside, NULL, NULL, NULL));
    CHECK(id != 0 && inside != NULL);
    OK(cuLaunchKernel(scale, 1, 1, 1, 32, 1, 1, 0, s, args, NULL));
    OK(cuLaunchKernel(count, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL));
    OK(cuLaunchHostFunc(s, host_func, &calls));
    EXPECT(cuMemAlloc(&counter, 16), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT(cuStreamEndCapture(s, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

    OK(cuModuleGetGlobal(&counter, NULL, module, "counter"));
    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuLaunchKernel(scale, 1, 1, 1, 32, 1, 1, 0, s, args, NULL));
    OK(cuLaunchKernel(count, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL));
    OK(cuLaunchHostFunc(s, host_func, &calls));
    OK(cuStreamEndCapture(s, &graph));
    CHECK(calls == 0);
    OK(cuGraphGetNodes(graph, nodes, &n));
    CHECK(n == 3);
    OK(cuGraphNodeGetType(nodes[0], &type));
    CHECK(type == CU_GRAPH_NODE_TYPE_KERNEL);
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphDestroy(graph));
    for (int i = 0; i < 3; i++)
        OK(cuGraphLaunch(exec, s));
    OK(cuStreamSynchronize(s));
    OK(cuMemcpyDtoH(host, p, sizeof host));
    CHECK(host[0] == 15 && host[3] == 39); /* 2x + 1, three times */
    OK(cuMemcpyDtoH(&value, counter, 4));
    CHECK(value == 5 + 3 && calls == 3);
    OK(cuGraphExecDestroy(exec));
    EXPECT(cuGraphLaunch(exec, s), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(p));
    OK(cuStreamDestroy(s));
}

static void check_built(void)
{
    CUDA_KERNEL_NODE_PARAMS kernel = {.func = scale,
                                      .gridDimX = 1,
                                      .gridDimY = 1,
                                      .gridDimZ = 1,
                                      .blockDimX = 32,
                                      .blockDimY = 1,
                                      .blockDimZ = 1},
                            got;
    CUDA_MEMSET_NODE_PARAMS zero = {.value = 0, .elementSize = 4, .width = 4, .height = 1};
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .WidthInBytes = 16,
                          .Height = 1,
                          .Depth = 1};
    CUgraphNode set, run, back, from[4], to[4];
    CUgraphExecUpdateResultInfo info;
    float host[4] = {9, 9, 9, 9}, factor = 3;
    CUgraph graph, clone;
    CUgraphExec exec;
    CUdeviceptr p;
    unsigned four = 4;
    size_t n = 4;
    void *args[] = {&p, &factor, &four};

    OK(cuMemAlloc(&p, sizeof host));
    zero.dst = copy.srcDevice = p;
    copy.dstHost = host;
    kernel.kernelParams = args;
    EXPECT(cuGraphCreate(&graph, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddMemsetNode(&set, graph, NULL, 0, &zero, ctx));
    OK(cuGraphAddKernelNode(&run, graph, &set, 1, &kernel));
    OK(cuGraphAddMemcpyNode(&back, graph, &run, 1, &copy, ctx));
    EXPECT(cuGraphAddMemcpyNode(&back, graph, &run, 1, &copy, (CUcontext)8),
           CUDA_ERROR_INVALID_CONTEXT);
    OK(cuGraphGetEdges(graph, from, to, NULL, &n));
    CHECK(n == 2 && from[0] == set && to[0] == run);
    OK(cuGraphKernelNodeGetParams(run, &got));
    CHECK(got.func == scale && got.blockDimX == 32);
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphLaunch(exec, 0));
    OK(cuCtxSynchronize());
    CHECK(host[0] == 1 && host[3] == 1); /* 0 * 3 + 1 */
    zero.value = 0x40000000;             /* 2.0 */
    OK(cuGraphExecMemsetNodeSetParams(exec, set, &zero, ctx));
    OK(cuGraphLaunch(exec, 0));
    OK(cuCtxSynchronize());
    CHECK(host[0] == 7 && host[3] == 7);
    OK(cuGraphClone(&clone, graph));
    OK(cuGraphExecUpdate(exec, clone, &info));
    CHECK(info.result == CU_GRAPH_EXEC_UPDATE_SUCCESS);
    OK(cuGraphLaunch(exec, 0));
    OK(cuCtxSynchronize());
    CHECK(host[0] == 1);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(clone));
    OK(cuGraphDestroy(graph));
    EXPECT(cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(p));
}

int main(void)
{
    OK(cuInit(0));
    OK(cuCtxCreate(&ctx, NULL, 0, 0));
    OK(cuModuleLoadData(&module, driver_ptx));
    OK(cuModuleGetFunction(&scale, module, "scale"));
    OK(cuModuleGetFunction(&count, module, "count"));
    check_capture();
    check_built();
    OK(cuCtxDestroy(ctx));
    return DRIVER_END();
}
