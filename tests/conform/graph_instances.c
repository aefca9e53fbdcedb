/* Instances: flags, which node is to blame when there is none, uploads, instances destroyed while
 * they run, one after another in any order of their graphs. Rules: GRA-002, GRA-004, GRA-010,
 * GRA-012, GRA-040.
 * SPDX-License-Identifier: Apache-2.0 */
#include "conform.h"
#include "kernels.h"

static cudaKernel_t count, store, spin;
static cudaStream_t a, b;
static unsigned *device;

static void nothing(void *p)
{
    (void)p;
}

static cudaGraphNode_t add_count(cudaGraph_t g, cudaGraphNode_t *after)
{
    void *args[] = {&device};
    struct cudaKernelNodeParams p = {
        .func = (void *)count, .gridDim = {1, 1, 1}, .blockDim = {1, 1, 1}, .kernelParams = args};
    cudaGraphNode_t n = NULL;

    OK(cudaGraphAddKernelNode(&n, g, after, after != NULL, &p));
    return n;
}

static unsigned counted(void)
{
    unsigned v = 0;

    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(&v, device, 4, cudaMemcpyDeviceToHost));
    OK(cudaMemset(device, 0, 4));
    OK(cudaDeviceSynchronize());
    return v;
}

static void check_flags(void)
{
    static const struct {
        unsigned long long flags;
        bool plain, params; /* allowed in cudaGraphInstantiate, and with parameters */
    } cases[] = {
        {0, true, true},
        {cudaGraphInstantiateFlagAutoFreeOnLaunch, true, true},
        {cudaGraphInstantiateFlagUpload, false, true},
        {cudaGraphInstantiateFlagDeviceLaunch, true, true},
        {cudaGraphInstantiateFlagUseNodePriority, true, true},
        {cudaGraphInstantiateFlagAutoFreeOnLaunch | cudaGraphInstantiateFlagDeviceLaunch, false,
         false},
        {1u << 10, false, false},
    };
    cudaGraph_t g;

    OK(cudaGraphCreate(&g, 0));
    add_count(g, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cudaGraphInstantiateParams p = {.flags = cases[i].flags, .uploadStream = a};
        unsigned long long got = 0;
        cudaGraphExec_t x = NULL;

        EXPECT(cudaGraphInstantiate(&x, g, cases[i].flags),
               cases[i].plain ? cudaSuccess : cudaErrorInvalidValue);
        if (cases[i].plain) {
            OK(cudaGraphUpload(x, b));
            OK(cudaGraphLaunch(x, a));
            CHECK(counted() == 1);
            OK(cudaGraphExecGetFlags(x, &got));
            /* as measured, priorities are not told */
            CHECK(got ==
                  (cases[i].flags & ~(unsigned long long)cudaGraphInstantiateFlagUseNodePriority));
            OK(cudaGraphExecDestroy(x));
        }
        EXPECT(cudaGraphInstantiateWithParams(&x, g, &p),
               cases[i].params ? cudaSuccess : cudaErrorInvalidValue);
        if (!cases[i].params)
            continue;
        CHECK(p.result_out == cudaGraphInstantiateSuccess && !p.errNode_out);
        OK(cudaGraphLaunch(x, a));
        CHECK(counted() == 1);
        OK(cudaGraphExecDestroy(x));
    }
    cudaGetLastError();
    OK(cudaGraphDestroy(g));
}

static void expect_blame(cudaGraph_t g, unsigned long long flags, cudaError_t err,
                         cudaGraphInstantiateResult result, cudaGraphNode_t node)
{
    cudaGraphInstantiateParams p = {.flags = flags};
    cudaGraphExec_t x;

    EXPECT(cudaGraphInstantiateWithParams(&x, g, &p), err);
    CHECK(p.result_out == result);
    CHECK(p.errNode_out == node);
    cudaGetLastError();
}

static void check_blame(void)
{
    struct cudaGraphNodeParams c = {.type = cudaGraphNodeTypeConditional};
    struct cudaHostNodeParams host = {nothing, NULL};
    cudaGraphNode_t n[3], inner, parent;
    cudaGraphExec_t x;
    cudaGraph_t g, child, held;

    /* a cycle, in a child graph as well */
    OK(cudaGraphCreate(&g, 0));
    n[0] = add_count(g, NULL);
    n[1] = add_count(g, &n[0]);
    n[2] = add_count(g, &n[1]);
    OK(cudaGraphAddDependencies(g, &n[2], &n[1], NULL, 1));
    expect_blame(g, 0, cudaErrorInvalidValue, cudaGraphInstantiateInvalidStructure, n[1]);
    OK(cudaGraphRemoveDependencies(g, &n[2], &n[1], NULL, 1));
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));

    /* kernels may launch kernels, copies, memsets and graphs of such */
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphCreate(&child, 0));
    n[0] = add_count(g, NULL);
    add_count(child, NULL);
    OK(cudaGraphAddHostNode(&inner, child, NULL, 0, &host));
    OK(cudaGraphAddChildGraphNode(&parent, g, n, 1, child));
    OK(cudaGraphChildGraphNodeGetGraph(parent, &held));
    OK(cudaGraphNodeFindInClone(&inner, inner, held));
    expect_blame(g, cudaGraphInstantiateFlagDeviceLaunch, cudaErrorNotSupported,
                 cudaGraphInstantiateNodeOperationNotSupported, inner);
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroyNode(inner));
    OK(cudaGraphInstantiate(&x, g, cudaGraphInstantiateFlagDeviceLaunch));
    OK(cudaGraphLaunch(x, a));
    CHECK(counted() == 2);
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(child));
    OK(cudaGraphDestroy(g));

    /* a host function in the body of a conditional node */
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphConditionalHandleCreate(&c.conditional.handle, g, 1, cudaGraphCondAssignDefault));
    c.conditional.type = cudaGraphCondTypeIf;
    c.conditional.size = 1;
    OK(cudaGraphAddNode(&n[0], g, NULL, NULL, 0, &c));
    OK(cudaGraphAddHostNode(&inner, c.conditional.phGraph_out[0], NULL, 0, &host));
    expect_blame(g, 0, cudaErrorNotSupported, cudaGraphInstantiateNodeOperationNotSupported, inner);
    OK(cudaGraphDestroy(g));
}

/* Launching from a kernel: refused at the kernel's launch, eager and as a node. */
static void check_device_launch(void)
{
    static const char ptx[] =
        ".version 7.0\n.target sm_70\n.address_size 64\n"
        ".extern .func (.param .b32 result) cudaGraphLaunch(.param .b64 exec, .param .b64 "
        "stream);\n"
        ".visible .entry launcher(.param .u64 x)\n{\n\t.reg .b64 %rd<3>;\n\t.reg .b32 %r<2>;\n"
        "\tld.param.u64 %rd1, [x];\n\tmov.u64 %rd2, 0;\n\t{\n\t.param .b64 p0;\n\t.param .b64 "
        "p1;\n\t.param .b32 r;\n\tst.param.b64 [p0], %rd1;\n\tst.param.b64 [p1], %rd2;\n"
        "\tcall.uni (r), cudaGraphLaunch, (p0, p1);\n\tld.param.b32 %r1, [r];\n\t}\n\tret;\n}\n";
    void *exec = NULL, *args[] = {&exec};
    struct cudaKernelNodeParams p = {
        .gridDim = {1, 1, 1}, .blockDim = {1, 1, 1}, .kernelParams = args};
    cudaGraphNode_t n;
    cudaKernel_t k;
    cudaLibrary_t lib;
    cudaGraph_t g;

    OK(cudaLibraryLoadData(&lib, ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernel(&k, lib, "launcher"));
    EXPECT(cudaLaunchKernel((void *)k, (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, a),
           cudaErrorNotSupported);
    OK(cudaGraphCreate(&g, 0));
    p.func = (void *)k;
    EXPECT(cudaGraphAddKernelNode(&n, g, NULL, 0, &p), cudaErrorNotSupported);
    OK(cudaStreamSynchronize(a)); /* nothing has run */
    OK(cudaGraphDestroy(g));
    OK(cudaLibraryUnload(lib));
    cudaGetLastError();
}

/* GRA-004: behind a kernel's port 2 a kernel starts once all blocks of the first have begun, again
 * and again; what is behind an ordinary edge does not. */
static void check_begun(void)
{
    cudaGraphEdgeData edge = {.from_port = cudaGraphKernelNodePortLaunchCompletion};
    unsigned *flag, *mark, *late, one = 1;
    void *spin_args[] = {&flag}, *mark_args[] = {&mark, &one}, *late_args[] = {&late, &one};
    struct cudaGraphNodeParams p = {.type = cudaGraphNodeTypeKernel};
    cudaGraphNode_t first, n;
    cudaGraphExec_t x;
    cudaGraph_t g;

    OK(cudaMallocHost((void **)&flag, 256));
    mark = flag + 16;
    late = flag + 32;
    OK(cudaGraphCreate(&g, 0));
    p.kernel.func = (void *)spin;
    p.kernel.gridDim = (dim3){5, 1, 1};
    p.kernel.blockDim = (dim3){1, 1, 1};
    p.kernel.kernelParams = spin_args;
    OK(cudaGraphAddNode(&first, g, NULL, NULL, 0, &p));
    p.kernel.func = (void *)store;
    p.kernel.gridDim = (dim3){1, 1, 1};
    p.kernel.kernelParams = late_args;
    OK(cudaGraphAddNode(&n, g, &first, NULL, 1, &p));
    p.kernel.kernelParams = mark_args;
    OK(cudaGraphAddNode(&n, g, &first, &edge, 1, &p));
    OK(cudaGraphInstantiate(&x, g, 0));
    for (int i = 0; i < 4; i++) {
        __atomic_store_n(flag, 0, __ATOMIC_SEQ_CST);
        __atomic_store_n(mark, 0, __ATOMIC_SEQ_CST);
        __atomic_store_n(late, 0, __ATOMIC_SEQ_CST);
        OK(cudaGraphLaunch(x, a));
        CHECK(wait_for_value((unsigned char *)mark, 1, 20000));
        EXPECT(cudaStreamQuery(a), cudaErrorNotReady);
        CHECK(__atomic_load_n(late, __ATOMIC_SEQ_CST) == 0);
        __atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
        OK(cudaStreamSynchronize(a));
        CHECK(__atomic_load_n(late, __ATOMIC_SEQ_CST) == 1);
    }
    cudaGetLastError();
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
    OK(cudaFreeHost(flag));
}

/* Everything destroyed in any order while launches wait for a held stream: they run all the same.
 */
static void check_order_of_destruction(void)
{
    for (int order = 0; order < 6; order++) {
        cudaGraphNode_t n;
        cudaGraphExec_t x;
        cudaStream_t s;
        cudaGraph_t g;
        struct hold h;

        OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
        OK(cudaGraphCreate(&g, 0));
        n = add_count(g, NULL);
        add_count(g, &n);
        OK(cudaGraphInstantiate(&x, g, 0));
        hold_stream(&h, s);
        for (int i = 0; i < 3; i++)
            OK(cudaGraphLaunch(x, s));
        for (int k = 0; k < 3; k++) {
            int what = (order + (order < 3 ? k : 3 - k)) % 3;

            if (what == 0)
                OK(cudaGraphDestroy(g));
            else if (what == 1)
                OK(cudaGraphExecDestroy(x));
            else
                OK(cudaStreamDestroy(s));
        }
        EXPECT(cudaGraphExecDestroy(x), cudaErrorInvalidValue);
        hold_release(&h);
        CHECK(counted() == 6);
    }
    cudaGetLastError();
}

/* In one stream, in two, the same instance and others: as many times as launched. */
static void check_streams(void)
{
    cudaGraphExec_t x[3];
    cudaGraph_t g;

    OK(cudaGraphCreate(&g, 0));
    for (int i = 0; i < 3; i++) {
        add_count(g, NULL);
        OK(cudaGraphInstantiate(&x[i], g, 0)); /* with i + 1 nodes */
    }
    for (int i = 0; i < 60; i++)
        OK(cudaGraphLaunch(x[i % 3], i / 3 % 2 ? a : b));
    CHECK(counted() == 20 * (1 + 2 + 3));
    for (int i = 0; i < 3; i++)
        OK(cudaGraphExecDestroy(x[i]));
    OK(cudaGraphDestroy(g));
}

int main(void)
{
    cudaLibrary_t lib;

    OK(cudaLibraryLoadData(&lib, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernel(&count, lib, "count"));
    OK(cudaLibraryGetKernel(&store, lib, "store"));
    OK(cudaLibraryGetKernel(&spin, lib, "spin"));
    OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    OK(cudaMalloc((void **)&device, 64));
    OK(cudaMemset(device, 0, 64));
    OK(cudaDeviceSynchronize()); /* the streams below do not wait for it */
    check_flags();
    check_blame();
    check_device_launch();
    check_begun();
    check_order_of_destruction();
    check_streams();
    return CONFORM_END();
}
