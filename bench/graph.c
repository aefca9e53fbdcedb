/* What graphs cost: replay of 10,000 empty kernels as a chain, as independent nodes, as 100 chains
 * and as 100 layers (each node behind two; bench/graph_peers has the same shapes); a chain of 200
 * small kernels, launched one by one, replayed, and as one kernel of as many blocks, which is the
 * sum of the kernels; the host's part of both; building, capturing, instantiating and updating
 * 10,000 nodes. Prints `name value unit`; the median of several rounds, and the best. Uses the
 * public API only, so the same program also measures a GPU.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <string.h>

#include "measure.h"

enum { N = 10000, CHAIN = 200, STEPS = 20, SMALL = 4096, SUM = 10, SIDE = 100 };

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry empty()\n{\n\tret;\n}\n"
    ".visible .entry scale(.param .u64 p)\n{\n"
    "\t.reg .b64 %rd<4>;\n\t.reg .b32 %r<5>;\n\t.reg .f32 %f<3>;\n"
    "\tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd1, %rd1;\n"
    "\tmov.u32 %r1, %ctaid.x;\n\tmov.u32 %r2, %ntid.x;\n\tmov.u32 %r3, %tid.x;\n"
    "\tmad.lo.s32 %r4, %r1, %r2, %r3;\n\tand.b32 %r4, %r4, 4095;\n\tmul.wide.s32 %rd2, %r4, "
    "4;\n\tadd.s64 %rd3, %rd1, %rd2;\n"
    "\tld.global.f32 %f1, [%rd3];\n\tfma.rn.f32 %f2, %f1, 0f3F800001, 0f3F800000;\n"
    "\tst.global.f32 [%rd3], %f2;\n\tret;\n}\n";

static cudaKernel_t empty, scale;
static cudaStream_t s;
static float *data;
static cudaGraph_t graphs[5];
static cudaGraphExec_t execs[5];
static cudaGraphNode_t nodes[N];

/* So many kernels' blocks in one. */
static void launch_scale(unsigned kernels)
{
    void *args[] = {&data};

    CHECK(cudaLaunchKernel((const void *)scale, (dim3){kernels * SMALL / 128, 1, 1},
                           (dim3){128, 1, 1}, args, 0, s));
}

/* chains: so many side by side. */
static cudaGraph_t build(int chains)
{
    struct cudaKernelNodeParams p = {
        .func = (void *)empty, .gridDim = {1, 1, 1}, .blockDim = {1, 1, 1}};
    cudaGraph_t g;

    CHECK(cudaGraphCreate(&g, 0));
    for (int i = 0; i < N; i++)
        CHECK(cudaGraphAddKernelNode(&nodes[i], g, i < chains ? NULL : &nodes[i - chains],
                                     i >= chains, &p));
    return g;
}

/* Layers of SIDE nodes; each is behind two of the layer before it. */
static cudaGraph_t build_layers(void)
{
    struct cudaKernelNodeParams p = {
        .func = (void *)empty, .gridDim = {1, 1, 1}, .blockDim = {1, 1, 1}};
    cudaGraph_t g;

    CHECK(cudaGraphCreate(&g, 0));
    for (int i = 0; i < N; i++) {
        int above = (i / SIDE - 1) * SIDE;
        cudaGraphNode_t deps[2] = {nodes[i < SIDE ? 0 : above + i % SIDE],
                                   nodes[i < SIDE ? 0 : above + (i + 1) % SIDE]};

        CHECK(cudaGraphAddKernelNode(&nodes[i], g, deps, i < SIDE ? 0 : 2, &p));
    }
    return g;
}

static double replay(int which)
{
    double start = now_ns();

    CHECK(cudaGraphLaunch(execs[which], s));
    CHECK(cudaStreamSynchronize(s));
    return (now_ns() - start) / N;
}

static double replay_chain(void)
{
    return replay(0);
}

static double replay_independent(void)
{
    return replay(1);
}

static double replay_100_chains(void)
{
    return replay(2);
}

static double replay_100_layers(void)
{
    return replay(4);
}

static double build_node(void)
{
    double start = now_ns(), end;
    cudaGraph_t g = build(1);

    end = now_ns();
    CHECK(cudaGraphDestroy(g));
    return (end - start) / N;
}

static double capture_call(void)
{
    cudaGraph_t g;
    double start, end;

    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    start = now_ns();
    for (int i = 0; i < N; i++)
        CHECK(cudaLaunchKernel((const void *)empty, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, s));
    end = now_ns();
    CHECK(cudaStreamEndCapture(s, &g));
    CHECK(cudaGraphDestroy(g));
    return (end - start) / N;
}

static double instantiate_node(void)
{
    cudaGraphExec_t x;
    double start = now_ns(), end;

    CHECK(cudaGraphInstantiate(&x, graphs[0], 0));
    end = now_ns();
    CHECK(cudaGraphExecDestroy(x));
    return (end - start) / N;
}

static double set_params(void)
{
    struct cudaKernelNodeParams p = {
        .func = (void *)empty, .gridDim = {1, 1, 1}, .blockDim = {1, 1, 1}};
    size_t n = N;
    double start;

    CHECK(cudaGraphGetNodes(graphs[0], nodes, &n));
    start = now_ns();
    for (int i = 0; i < N; i++)
        CHECK(cudaGraphExecKernelNodeSetParams(execs[0], nodes[i], &p));
    return (now_ns() - start) / N;
}

static double update_all(void)
{
    cudaGraphExecUpdateResultInfo info;
    double start = now_ns();

    CHECK(cudaGraphExecUpdate(execs[0], graphs[0], &info));
    return (now_ns() - start) / N;
}

/* 200 small kernels, 20 steps: everything, and the host's part. */
static double eager_total(void)
{
    double start = now_ns();

    for (int i = 0; i < STEPS * CHAIN; i++)
        launch_scale(1);
    CHECK(cudaStreamSynchronize(s));
    return (now_ns() - start) / (STEPS * CHAIN);
}

static double graph_total(void)
{
    double start = now_ns();

    for (int i = 0; i < STEPS; i++)
        CHECK(cudaGraphLaunch(execs[3], s));
    CHECK(cudaStreamSynchronize(s));
    return (now_ns() - start) / (STEPS * CHAIN);
}

static double sum_total(void)
{
    double start = now_ns();

    launch_scale(SUM * CHAIN);
    CHECK(cudaStreamSynchronize(s));
    return (now_ns() - start) / (SUM * CHAIN);
}

static double eager_host(void)
{
    double sum = 0;

    for (int k = 0; k < STEPS; k++) { /* below the depth of a stream's queue */
        double start = now_ns();

        for (int i = 0; i < CHAIN; i++)
            launch_scale(1);
        sum += now_ns() - start;
        CHECK(cudaStreamSynchronize(s));
    }
    return sum / (STEPS * CHAIN);
}

static double graph_host(void)
{
    double sum = 0;

    for (int k = 0; k < STEPS; k++) {
        double start = now_ns();

        CHECK(cudaGraphLaunch(execs[3], s));
        sum += now_ns() - start;
        CHECK(cudaStreamSynchronize(s));
    }
    return sum / (STEPS * CHAIN);
}

int main(int argc, char **argv)
{
    bool shapes_only = argc > 1 && strcmp(argv[1], "--shapes") == 0;
    cudaLibrary_t lib;

    CHECK(cudaLibraryLoadData(&lib, ptx, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cudaLibraryGetKernel(&empty, lib, "empty"));
    CHECK(cudaLibraryGetKernel(&scale, lib, "scale"));
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CHECK(cudaMalloc((void **)&data, SMALL * sizeof *data));
    graphs[0] = build(1);
    graphs[1] = build(N);
    graphs[2] = build(SIDE);
    graphs[4] = build_layers();
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    for (int i = 0; i < CHAIN; i++)
        launch_scale(1);
    CHECK(cudaStreamEndCapture(s, &graphs[3]));
    for (int i = 0; i < 5; i++)
        CHECK(cudaGraphInstantiate(&execs[i], graphs[i], 0));
    measure("replay_chain_node", replay_chain);
    measure("replay_independent_node", replay_independent);
    measure("replay_100_chains_node", replay_100_chains);
    measure("replay_100_layers_node", replay_100_layers);
    if (shapes_only)
        return 0;
    measure("small_sum_kernel", sum_total);
    measure("small_eager_kernel", eager_total);
    measure("small_graph_kernel", graph_total);
    measure("small_eager_host", eager_host);
    measure("small_graph_host", graph_host);
    measure("build_node", build_node);
    measure("capture_call", capture_call);
    measure("instantiate_node", instantiate_node);
    measure("exec_set_params", set_params);
    measure("exec_update_node", update_all);
    return 0;
}
