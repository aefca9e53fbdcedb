/* Graphs built by hand: what a launch does, in which order, what changes reach it, memory and
 * conditional nodes (oracle graph_*). Rules: ORD-030, GRA-001, GRA-002, GRA-010, GRA-011, GRA-021,
 * GRA-030, GRA-040.
 * SPDX-License-Identifier: Apache-2.0 */
#include "conform.h"
#include "kernels.h"

static cudaKernel_t store, count, spin;
static cudaStream_t a, b;
static unsigned *device;

static struct cudaKernelNodeParams kernel_params(cudaKernel_t k, void **args)
{
    return (struct cudaKernelNodeParams){
        .func = (void *)k, .gridDim = {1, 1, 1}, .blockDim = {1, 1, 1}, .kernelParams = args};
}

static cudaGraphNode_t add_store(cudaGraph_t g, cudaGraphNode_t *deps, size_t n, unsigned *to,
                                 unsigned value)
{
    void *args[] = {&to, &value};
    struct cudaKernelNodeParams p = kernel_params(store, args);
    cudaGraphNode_t node = NULL;

    OK(cudaGraphAddKernelNode(&node, g, deps, n, &p));
    return node;
}

static unsigned read_back(unsigned *from)
{
    unsigned v = 0;

    OK(cudaMemcpy(&v, from, sizeof v, cudaMemcpyDeviceToHost));
    return v;
}

static cudaGraphExec_t instantiate(cudaGraph_t g)
{
    cudaGraphExec_t x = NULL;

    OK(cudaGraphInstantiate(&x, g, 0));
    return x;
}

static void add_to_log(void *p)
{
    int *log = p;

    log[1 + log[0]] = log[0] + 1;
    log[0]++;
}

/* Every kind in a chain, twice in a row. */
static void check_kinds(void)
{
    cudaGraph_t g, child;
    cudaGraphNode_t n[7];
    struct cudaMemsetParams fill = {
        .dst = device + 1, .value = 7, .elementSize = 4, .width = 3, .height = 1};
    int log[8] = {0};
    struct cudaHostNodeParams host = {add_to_log, log};
    unsigned out[4] = {0}, *counter = device + 16;
    void *args[] = {&counter};
    struct cudaKernelNodeParams p = kernel_params(count, args);
    cudaGraphExec_t x;

    OK(cudaMemset(counter, 0, 4));
    OK(cudaDeviceSynchronize());
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphCreate(&child, 0));
    OK(cudaGraphAddKernelNode(&n[0], child, NULL, 0, &p));
    OK(cudaGraphAddKernelNode(&n[1], child, &n[0], 1, &p));
    n[0] = add_store(g, NULL, 0, device, 5);
    OK(cudaGraphAddMemsetNode(&n[1], g, &n[0], 1, &fill));
    OK(cudaGraphAddEmptyNode(&n[2], g, &n[1], 1));
    OK(cudaGraphAddChildGraphNode(&n[3], g, &n[2], 1, child));
    OK(cudaGraphAddMemcpyNode1D(&n[4], g, &n[3], 1, out, device, 16, cudaMemcpyDeviceToHost));
    OK(cudaGraphAddHostNode(&n[5], g, &n[4], 1, &host));
    x = instantiate(g);
    OK(cudaGraphLaunch(x, a));
    OK(cudaGraphLaunch(x, a));
    OK(cudaStreamSynchronize(a));
    CHECK(out[0] == 5 && out[1] == 7 && out[2] == 7 && out[3] == 7);
    CHECK(log[0] == 2 && log[1] == 1 && log[2] == 2);
    CHECK(read_back(counter) == 4);
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(child));
    OK(cudaGraphDestroy(g));
}

/* ORD-030: the same instance in two streams, one launch after the other; another one runs beside.
 */
static void check_itself(void)
{
    unsigned *flag, *mark, *counter = device + 16;
    void *spin_args[] = {&flag}, *count_args[] = {&counter};
    struct cudaKernelNodeParams s = kernel_params(spin, spin_args),
                                c = kernel_params(count, count_args);
    cudaGraphNode_t n[2];
    cudaGraphExec_t x, y;
    cudaGraph_t g, h;

    OK(cudaMallocHost((void **)&flag, 4));
    OK(cudaMallocHost((void **)&mark, 4));
    *(volatile unsigned *)flag = 0;
    *(volatile unsigned *)mark = 0;
    OK(cudaMemset(counter, 0, 4));
    OK(cudaDeviceSynchronize());
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphAddKernelNode(&n[0], g, NULL, 0, &s));
    OK(cudaGraphAddKernelNode(&n[1], g, &n[0], 1, &c));
    x = instantiate(g);
    OK(cudaGraphCreate(&h, 0));
    add_store(h, NULL, 0, mark, 3);
    y = instantiate(h);
    OK(cudaGraphLaunch(x, a));
    OK(cudaGraphLaunch(x, b));
    EXPECT(cudaStreamQuery(b), cudaErrorNotReady);
    OK(cudaGraphLaunch(y, 0));
    CHECK(wait_for_value((unsigned char *)mark, 3, 20000)); /* though both streams are held */
    OK(cudaGraphExecDestroy(x));                            /* runs on */
    OK(cudaGraphDestroy(g));
    EXPECT(cudaStreamQuery(a), cudaErrorNotReady);
    *(volatile unsigned *)flag = 1;
    OK(cudaStreamSynchronize(b));
    CHECK(read_back(counter) == 2);
    OK(cudaGraphExecDestroy(y));
    OK(cudaGraphDestroy(h));
    OK(cudaFreeHost(flag));
    OK(cudaFreeHost(mark));
}

/* GRA-010 */
static void check_changes(void)
{
    unsigned *to = device, value = 9;
    void *args[] = {&to, &value};
    struct cudaKernelNodeParams p = kernel_params(store, args), got;
    cudaGraphNode_t n;
    cudaGraphExec_t x;
    cudaGraph_t g;
    struct hold h;
    unsigned on = 7;

    OK(cudaGraphCreate(&g, 0));
    n = add_store(g, NULL, 0, device, 5);
    x = instantiate(g);
    OK(cudaGraphKernelNodeSetParams(n, &p));
    OK(cudaGraphLaunch(x, a));
    CHECK((cudaStreamSynchronize(a), read_back(device)) == 5);
    OK(cudaGraphExecKernelNodeSetParams(x, n, &p));
    hold_stream(&h, a);
    OK(cudaGraphLaunch(x, a));
    value = 11;
    OK(cudaGraphExecKernelNodeSetParams(x, n, &p)); /* for the next one */
    hold_release(&h);
    CHECK((cudaStreamSynchronize(a), read_back(device)) == 9);
    OK(cudaGraphLaunch(x, a));
    CHECK((cudaStreamSynchronize(a), read_back(device)) == 11);
    OK(cudaGraphNodeSetEnabled(x, n, 0));
    OK(cudaGraphNodeGetEnabled(x, n, &on));
    CHECK(on == 0);
    OK(cudaMemset(device, 0, 4));
    OK(cudaDeviceSynchronize());
    OK(cudaGraphLaunch(x, a));
    CHECK((cudaStreamSynchronize(a), read_back(device)) == 0);
    OK(cudaGraphNodeSetEnabled(x, n, 1));
    OK(cudaGraphLaunch(x, a));
    CHECK((cudaStreamSynchronize(a), read_back(device)) == 11);
    OK(cudaGraphKernelNodeGetParams(n, &got));
    CHECK(got.gridDim.x == 1 && *(unsigned *)got.kernelParams[1] == 9);
    p.gridDim.x = 0;
    EXPECT(cudaGraphExecKernelNodeSetParams(x, n, &p), cudaErrorInvalidValue);
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
}

/* GRA-021 */
static void check_update(void)
{
    cudaGraphExecUpdateResultInfo info;
    cudaGraphNode_t n, m;
    cudaGraphExec_t x;
    cudaGraph_t g, same, more, other;

    OK(cudaGraphCreate(&g, 0));
    n = add_store(g, NULL, 0, device, 1);
    OK(cudaGraphAddMemcpyNode1D(&m, g, &n, 1, device + 1, device, 4, cudaMemcpyDeviceToDevice));
    x = instantiate(g);
    OK(cudaGraphCreate(&same, 0));
    n = add_store(same, NULL, 0, device, 2);
    OK(cudaGraphAddMemcpyNode1D(&m, same, &n, 1, device + 2, device, 8, cudaMemcpyDeviceToDevice));
    OK(cudaGraphExecUpdate(x, same, &info));
    CHECK(info.result == cudaGraphExecUpdateSuccess && !info.errorNode);
    OK(cudaGraphLaunch(x, a));
    CHECK((cudaStreamSynchronize(a), read_back(device + 2)) == 2);
    OK(cudaGraphClone(&more, same));
    OK(cudaGraphAddEmptyNode(&m, more, NULL, 0));
    EXPECT(cudaGraphExecUpdate(x, more, &info), cudaErrorGraphExecUpdateFailure);
    CHECK(info.result == cudaGraphExecUpdateErrorTopologyChanged && !info.errorNode);
    OK(cudaGraphCreate(&other, 0));
    n = add_store(other, NULL, 0, device, 3);
    OK(cudaGraphAddEmptyNode(&m, other, &n, 1));
    EXPECT(cudaGraphExecUpdate(x, other, &info), cudaErrorGraphExecUpdateFailure);
    CHECK(info.result == cudaGraphExecUpdateErrorNodeTypeChanged && info.errorNode == m);
    cudaGetLastError();
    OK(cudaGraphLaunch(x, a)); /* nothing was changed */
    CHECK((cudaStreamSynchronize(a), read_back(device)) == 2);
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
    OK(cudaGraphDestroy(same));
    OK(cudaGraphDestroy(more));
    OK(cudaGraphDestroy(other));
}

/* GRA-001: two that wait for different flags are both under way; what follows both waits. */
static void check_branches(void)
{
    unsigned *flags, *mark;
    void *args[2][1];
    cudaGraphNode_t n[2];
    cudaGraphExec_t x;
    cudaGraph_t g;

    OK(cudaMallocHost((void **)&flags, 8));
    OK(cudaMallocHost((void **)&mark, 4));
    memset(flags, 0, 8);
    *(volatile unsigned *)mark = 0;
    OK(cudaGraphCreate(&g, 0));
    for (int i = 0; i < 2; i++) {
        unsigned *flag = flags + i;
        struct cudaKernelNodeParams p;

        args[i][0] = &flag;
        p = kernel_params(spin, args[i]);
        OK(cudaGraphAddKernelNode(&n[i], g, NULL, 0, &p));
    }
    add_store(g, n, 2, mark, 1);
    x = instantiate(g);
    OK(cudaGraphLaunch(x, a));
    *(volatile unsigned *)(flags + 1) = 1; /* the second first */
    CHECK(!wait_for_value((unsigned char *)mark, 1, 20));
    *(volatile unsigned *)flags = 1;
    OK(cudaStreamSynchronize(a));
    CHECK(*(volatile unsigned *)mark == 1);
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
    OK(cudaFreeHost(flags));
    OK(cudaFreeHost(mark));
}

/* GRA-011 */
static void check_events(void)
{
    cudaGraphNode_t n[3];
    cudaEvent_t before, done;
    cudaGraphExec_t x;
    cudaGraph_t g;
    struct hold h;
    float ms;

    OK(cudaEventCreate(&before));
    OK(cudaEventCreate(&done));
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphAddEventWaitNode(&n[0], g, NULL, 0, before));
    n[1] = add_store(g, n, 1, device, 4);
    OK(cudaGraphAddEventRecordNode(&n[2], g, &n[1], 1, done));
    x = instantiate(g);
    OK(cudaMemset(device, 0, 4));
    OK(cudaDeviceSynchronize());
    hold_stream(&h, b);
    OK(cudaEventRecord(before, b));
    OK(cudaGraphLaunch(x, a));
    EXPECT(cudaEventQuery(done), cudaErrorNotReady);
    hold_release(&h);
    OK(cudaEventSynchronize(done));
    CHECK(read_back(device) == 4);
    OK(cudaEventElapsedTime(&ms, done, done));
    for (int i = 0; i < 20; i++)
        OK(cudaGraphLaunch(x, i % 2 ? a : b));
    OK(cudaDeviceSynchronize());
    OK(cudaEventQuery(done));
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
    OK(cudaEventDestroy(before));
    OK(cudaEventDestroy(done));
}

/* GRA-030 */
static void check_memory(void)
{
    struct cudaMemAllocNodeParams p = {
        .poolProps = {.allocType = cudaMemAllocationTypePinned,
                      .location = {.type = cudaMemLocationTypeDevice}},
        .bytesize = 4096};
    cudaGraphNode_t n[2];
    cudaGraphExec_t x, y;
    cudaGraph_t g, clone;

    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphAddMemAllocNode(&n[0], g, NULL, 0, &p));
    add_store(g, n, 1, p.dptr, 6);
    x = instantiate(g);
    EXPECT(cudaGraphInstantiate(&y, g, 0), cudaErrorNotSupported);
    EXPECT(cudaGraphClone(&clone, g), cudaErrorNotSupported);
    OK(cudaGraphLaunch(x, a));
    EXPECT(cudaGraphLaunch(x, a), cudaErrorInvalidValue);
    OK(cudaStreamSynchronize(a));
    CHECK(read_back(p.dptr) == 6);
    OK(cudaFreeAsync(p.dptr, a));
    OK(cudaGraphLaunch(x, a));
    OK(cudaFree(p.dptr));
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphInstantiate(&x, g, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    OK(cudaGraphLaunch(x, a));
    OK(cudaGraphLaunch(x, a));
    OK(cudaStreamSynchronize(a));
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
    cudaGetLastError();
}

/* GRA-040: values that stay as they are at launch. */
static void check_conditional(void)
{
    static const struct {
        enum cudaGraphConditionalNodeType type;
        unsigned value, bodies, expected;
    } cases[] = {{cudaGraphCondTypeIf, 0, 1, 99},    {cudaGraphCondTypeIf, 2, 1, 1},
                 {cudaGraphCondTypeIf, 0, 2, 2},     {cudaGraphCondTypeWhile, 0, 1, 99},
                 {cudaGraphCondTypeSwitch, 1, 3, 2}, {cudaGraphCondTypeSwitch, 3, 3, 99}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cudaGraphNodeParams p = {.type = cudaGraphNodeTypeConditional};
        cudaGraphConditionalHandle handle;
        cudaGraphNode_t n;
        cudaGraphExec_t x;
        cudaGraph_t g;

        OK(cudaGraphCreate(&g, 0));
        OK(cudaGraphConditionalHandleCreate(&handle, g, cases[i].value,
                                            cudaGraphCondAssignDefault));
        p.conditional.handle = handle;
        p.conditional.type = cases[i].type;
        p.conditional.size = cases[i].bodies;
        OK(cudaGraphAddNode(&n, g, NULL, NULL, 0, &p));
        for (unsigned k = 0; k < cases[i].bodies; k++)
            add_store(p.conditional.phGraph_out[k], NULL, 0, device, k + 1);
        OK(cudaGraphAddMemcpyNode1D(&n, g, &n, 1, device + 1, device, 4, cudaMemcpyDeviceToDevice));
        x = instantiate(g);
        for (int again = 0; again < 2; again++) {
            unsigned nothing = 99;

            OK(cudaMemcpy(device, &nothing, 4, cudaMemcpyHostToDevice));
            OK(cudaGraphLaunch(x, a));
            OK(cudaStreamSynchronize(a));
            CHECK(read_back(device + 1) == cases[i].expected);
        }
        OK(cudaGraphExecDestroy(x));
        OK(cudaGraphDestroy(g));
    }
}

/* GRA-002, and who is blamed. */
static void check_cycle(void)
{
    cudaGraphInstantiateParams p = {0};
    cudaGraphNode_t n[2];
    cudaGraphExec_t x;
    cudaGraph_t g;

    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphAddEmptyNode(&n[0], g, NULL, 0));
    OK(cudaGraphAddEmptyNode(&n[1], g, &n[0], 1));
    OK(cudaGraphAddDependencies(g, &n[1], &n[0], NULL, 1));
    EXPECT(cudaGraphInstantiateWithParams(&x, g, &p), cudaErrorInvalidValue);
    CHECK(p.result_out == cudaGraphInstantiateInvalidStructure && p.errNode_out == n[0]);
    OK(cudaGraphRemoveDependencies(g, &n[1], &n[0], NULL, 1));
    OK(cudaGraphInstantiateWithParams(&x, g, &p));
    CHECK(p.result_out == cudaGraphInstantiateSuccess);
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
    EXPECT(cudaGraphDestroy(g), cudaErrorInvalidValue);
    cudaGetLastError();
}

/* Wide, long, and launched again and again: the threads that run short kernels one after another.
 */
static void check_many(void)
{
    enum { N = 3000, AGAIN = 6 };
    unsigned *counter = device + 16;
    void *args[] = {&counter};
    struct cudaKernelNodeParams p = kernel_params(count, args);
    cudaGraphNode_t n, last = NULL, fork;

    for (int shape = 0; shape < 3; shape++) { /* independent, a chain, a fan out and in */
        cudaGraphExec_t x;
        cudaGraph_t g;

        OK(cudaGraphCreate(&g, 0));
        OK(cudaGraphAddEmptyNode(&fork, g, NULL, 0));
        for (int i = 0; i < N; i++) {
            bool first = shape == 0 || (shape == 1 && i == 0);

            OK(cudaGraphAddKernelNode(&n, g, shape == 1 ? &last : &fork, !first, &p));
            last = n;
        }
        x = instantiate(g);
        OK(cudaMemset(counter, 0, 4));
        OK(cudaDeviceSynchronize());
        for (int i = 0; i < AGAIN; i++)
            OK(cudaGraphLaunch(x, i % 2 ? a : b));
        OK(cudaDeviceSynchronize());
        CHECK(read_back(counter) == N * AGAIN);
        OK(cudaGraphExecDestroy(x));
        OK(cudaGraphDestroy(g));
    }
}

int main(void)
{
    cudaLibrary_t lib;

    OK(cudaLibraryLoadData(&lib, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernel(&store, lib, "store"));
    OK(cudaLibraryGetKernel(&count, lib, "count"));
    OK(cudaLibraryGetKernel(&spin, lib, "spin"));
    OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    OK(cudaMalloc((void **)&device, 4096));
    check_kinds();
    check_itself();
    check_changes();
    check_update();
    check_branches();
    check_events();
    check_memory();
    check_conditional();
    check_cycle();
    check_many();
    return CONFORM_END();
}
