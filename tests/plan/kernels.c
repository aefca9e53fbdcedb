/* Launches kernels that spin for a known time, by every way to a driver's launch, and in graphs.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuda.h"
#include "plan/measure_ptx.h"

#define OK(call)                                                                                   \
    do {                                                                                           \
        CUresult err_ = (call);                                                                    \
        if (err_ != CUDA_SUCCESS) {                                                                \
            fprintf(stderr, "line %d: error %d\n", __LINE__, err_);                                \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static const char ptx[] = WEIR_MEASURE_HEAD WEIR_MEASURE_SPINS("linked")
    WEIR_MEASURE_SPINS("looked_up") WEIR_MEASURE_SPINS("asked_for")
        WEIR_MEASURE_SPINS("with_a_struct") WEIR_MEASURE_SPINS("captured")
            WEIR_MEASURE_SPINS("beside") WEIR_MEASURE_SPINS("within");

typedef CUresult (*launch_function)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
                                    unsigned, unsigned, CUstream, void **, void **);

static CUmodule module;

static CUfunction function(const char *name)
{
    CUfunction f;

    OK(cuModuleGetFunction(&f, module, name));
    return f;
}

/* The driver's launch, as a static cudart finds it. */
static launch_function asked(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *ask, *f = NULL;

    ask = library ? dlsym(library, "cuGetProcAddress_v2") : NULL;
    if (!ask)
        exit(1);
    OK(((CUresult(*)(const char *, void **, int, cuuint64_t, void *))ask)("cuLaunchKernel", &f,
                                                                          12000, 0, NULL));
    return (launch_function)f;
}

static CUgraphNode add(CUgraph graph, const char *name, unsigned blocks, void **args)
{
    const CUDA_KERNEL_NODE_PARAMS p = {.func = function(name),
                                       .gridDimX = blocks,
                                       .gridDimY = 1,
                                       .gridDimZ = 1,
                                       .blockDimX = 1,
                                       .blockDimY = 1,
                                       .blockDimZ = 1,
                                       .kernelParams = args};
    CUgraphNode node;

    OK(cuGraphAddKernelNode(&node, graph, NULL, 0, &p));
    return node;
}

static void launch(CUgraphExec exec, CUstream stream, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
}

/* A captured kernel and two that nothing orders: 3 launches, 2 with another grid, 4 of another
 * graph of the same shape. Then a graph in a graph, whose kernel stays out. */
static void graphs(CUgraph graph, CUstream stream, void **args)
{
    CUgraph other, child;
    CUgraphNode node, nodes[8];
    CUgraphExec exec;
    CUgraphExecUpdateResultInfo info;
    CUDA_KERNEL_NODE_PARAMS p;
    size_t count = 8;

    node = add(graph, "beside", 1, args);
    add(graph, "beside", 2, args);
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphGetNodes(graph, nodes, &count));
    if (count != 3)
        exit(1); /* the program's own nodes, and no others */
    launch(exec, stream, 3);
    OK(cuGraphKernelNodeGetParams(node, &p));
    p.gridDimX = 3;
    OK(cuGraphExecKernelNodeSetParams(exec, node, &p));
    launch(exec, stream, 2);
    OK(cuGraphClone(&other, graph));
    OK(cuGraphExecUpdate(exec, other, &info));
    launch(exec, stream, 4);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(other));
    OK(cuGraphCreate(&child, 0));
    add(child, "within", 1, args);
    OK(cuGraphAddChildGraphNode(&node, graph, NULL, 0, child));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    launch(exec, stream, 1);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(child));
}

int main(void)
{
    uint64_t ns = 500000;
    void *args[] = {&ns};
    launch_function looked_up = (launch_function)dlsym(RTLD_DEFAULT, "cuLaunchKernel");
    CUlaunchConfig config = {.gridDimX = 2,
                             .gridDimY = 3,
                             .gridDimZ = 1,
                             .blockDimX = 32,
                             .blockDimY = 1,
                             .blockDimZ = 1};
    CUdevice device;
    CUcontext context;
    CUstream stream;
    CUgraph graph;

    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    OK(cuDevicePrimaryCtxRetain(&context, device));
    OK(cuCtxSetCurrent(context));
    OK(cuModuleLoadData(&module, ptx));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < 20; i++) {
        OK(cuLaunchKernel(function("linked"), 1 + i % 2, 1, 1, 1, 1, 1, 0, stream, args, NULL));
        OK(looked_up(function("looked_up"), 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
        OK(asked()(function("asked_for"), 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
        OK(cuLaunchKernelEx(&config, function("with_a_struct"), args, NULL));
    }
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuLaunchKernel(function("captured"), 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
    OK(cuStreamEndCapture(stream, &graph));
    graphs(graph, stream, args);
    OK(cuGraphDestroy(graph));
    OK(cuCtxSynchronize());
    puts("all launched");
    return 0;
}
