/* Random DAGs: the same operations as a graph built by hand, as a captured graph, and run eagerly
 * in three streams with events give the same bytes, which are those of running them one after
 * another on the host. Edges: what the operations' data needs, some more at random; some nodes are
 * wrapped into child graphs. Usage: graph_random [DAGS [SEED]]. Rules: GRA-001, CAP-020, CAP-021,
 * ORD-021.
 * SPDX-License-Identifier: Apache-2.0 */
#include "conform.h"
#include "deep.h"
#include "kernels.h"

enum { BUFFERS = 5, WORDS = 16, OPS = 40, STREAMS = 3 };

enum kind { FILL, COPY, STORE, COUNT, HOST, KINDS };

struct op {
    enum kind kind;
    int from, to, words; /* buffers */
    unsigned value;
    uint64_t before; /* operations that it depends on, bit by bit */
    int stream;
};

static struct op ops[OPS];
static int op_count;
static unsigned *buffers[BUFFERS]; /* pinned, so that host functions reach them */
static unsigned host[BUFFERS][WORDS];
static cudaKernel_t store, count;
static cudaStream_t streams[STREAMS];
static cudaEvent_t events[OPS], fork_event, join_events[STREAMS];
static uint64_t rng = 88172645463325252u;

static unsigned pick(unsigned n)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return (unsigned)(rng % n);
}

/* ---- the DAG ---- */

static bool reads(const struct op *o, int buffer)
{
    return (o->kind == COPY && o->from == buffer) ||
           ((o->kind == COUNT || o->kind == HOST) && o->to == buffer);
}

/* Do two need an order? */
static bool conflict(const struct op *a, const struct op *b)
{
    if (a->kind == COUNT && b->kind == COUNT && a->to == b->to)
        return false; /* atomic */
    return a->to == b->to || reads(a, b->to) || reads(b, a->to);
}

static void make_dag(void)
{
    op_count = 2 + (int)pick(OPS - 2);
    for (int i = 0; i < op_count; i++) {
        struct op *o = &ops[i];
        uint64_t covered = 0;

        *o = (struct op){.kind = (enum kind)pick(KINDS),
                         .from = (int)pick(BUFFERS),
                         .to = (int)pick(BUFFERS),
                         .words = 1 + (int)pick(WORDS),
                         .value = pick(1000),
                         .stream = (int)pick(STREAMS)};
        if (o->from == o->to)
            o->from = (o->to + 1) % BUFFERS;
        for (int k = i - 1; k >= 0; k--) {
            if (covered >> k & 1)
                continue;
            if (conflict(o, &ops[k]) || pick(12) == 0) {
                o->before |= 1ull << k;
                covered |= 1ull << k | ops[k].before; /* one step is enough to leave some out */
            }
        }
    }
}

static void add_value(void *p)
{
    struct op *o = p;

    for (int w = 0; w < o->words; w++)
        buffers[o->to][w] = buffers[o->to][w] * 3 + o->value;
}

static void run_on_host(void)
{
    for (int i = 0; i < op_count; i++) {
        const struct op *o = &ops[i];

        for (int w = 0; w < o->words; w++) {
            if (o->kind == FILL)
                host[o->to][w] = o->value;
            else if (o->kind == COPY)
                host[o->to][w] = host[o->from][w];
            else if (o->kind == HOST)
                host[o->to][w] = host[o->to][w] * 3 + o->value;
        }
        if (o->kind == STORE)
            host[o->to][0] = o->value;
        else if (o->kind == COUNT)
            host[o->to][0]++;
    }
}

/* ---- three ways ---- */

static struct cudaKernelNodeParams kernel_of(const struct op *o, void **args)
{
    args[0] = &buffers[o->to];
    args[1] = (void *)&o->value;
    return (struct cudaKernelNodeParams){.func = (void *)(o->kind == STORE ? store : count),
                                         .gridDim = {1, 1, 1},
                                         .blockDim = {1, 1, 1},
                                         .kernelParams = args};
}

static cudaGraphNode_t add_node(cudaGraph_t g, struct op *o, cudaGraphNode_t *deps, size_t n)
{
    struct cudaMemsetParams fill = {.dst = buffers[o->to],
                                    .value = o->value,
                                    .elementSize = 4,
                                    .width = (size_t)o->words,
                                    .height = 1};
    struct cudaHostNodeParams h = {add_value, o};
    struct cudaKernelNodeParams k;
    cudaGraphNode_t node = NULL;
    void *args[2];

    switch (o->kind) {
    case FILL:
        OK(cudaGraphAddMemsetNode(&node, g, deps, n, &fill));
        break;
    case COPY:
        OK(cudaGraphAddMemcpyNode1D(&node, g, deps, n, buffers[o->to], buffers[o->from],
                                    (size_t)o->words * 4, cudaMemcpyDefault));
        break;
    case HOST:
        OK(cudaGraphAddHostNode(&node, g, deps, n, &h));
        break;
    default:
        k = kernel_of(o, args);
        OK(cudaGraphAddKernelNode(&node, g, deps, n, &k));
    }
    return node;
}

static cudaGraph_t by_hand(void)
{
    cudaGraphNode_t nodes[OPS], deps[OPS];
    cudaGraph_t g, child;

    OK(cudaGraphCreate(&g, 0));
    for (int i = 0; i < op_count; i++) {
        size_t n = 0;

        for (int k = 0; k < i; k++)
            if (ops[i].before >> k & 1)
                deps[n++] = nodes[k];
        if (pick(6)) {
            nodes[i] = add_node(g, &ops[i], deps, n);
            continue;
        }
        OK(cudaGraphCreate(&child, 0));
        add_node(child, &ops[i], NULL, 0);
        OK(cudaGraphAddChildGraphNode(&nodes[i], g, deps, n, child));
        OK(cudaGraphDestroy(child));
    }
    return g;
}

static void enqueue(struct op *o)
{
    cudaStream_t s = streams[o->stream];
    void *args[2];

    switch (o->kind) {
    case FILL: { /* 4 bytes the same, so that both ways may be bytes */
        struct cudaKernelNodeParams k;

        for (int w = 0; w < o->words; w++) {
            struct op one = *o;
            unsigned *at = buffers[o->to] + w;

            one.kind = STORE;
            k = kernel_of(&one, args);
            args[0] = &at;
            OK(cudaLaunchKernel(k.func, k.gridDim, k.blockDim, args, 0, s));
        }
        break;
    }
    case COPY:
        OK(cudaMemcpyAsync(buffers[o->to], buffers[o->from], (size_t)o->words * 4,
                           cudaMemcpyDeviceToDevice, s));
        break;
    case HOST:
        OK(cudaLaunchHostFunc(s, add_value, o));
        break;
    default: {
        struct cudaKernelNodeParams k = kernel_of(o, args);

        OK(cudaLaunchKernel(k.func, k.gridDim, k.blockDim, args, 0, s));
    }
    }
}

/* The same calls, captured or not. */
static void enqueue_all(void)
{
    OK(cudaEventRecord(fork_event, streams[0]));
    for (int s = 1; s < STREAMS; s++)
        OK(cudaStreamWaitEvent(streams[s], fork_event, 0));
    for (int i = 0; i < op_count; i++) {
        for (int k = 0; k < i; k++)
            if ((ops[i].before >> k & 1) && ops[k].stream != ops[i].stream)
                OK(cudaStreamWaitEvent(streams[ops[i].stream], events[k], 0));
        enqueue(&ops[i]);
        OK(cudaEventRecord(events[i], streams[ops[i].stream]));
    }
    for (int s = 1; s < STREAMS; s++) {
        OK(cudaEventRecord(join_events[s], streams[s]));
        OK(cudaStreamWaitEvent(streams[0], join_events[s], 0));
    }
}

static cudaGraph_t by_capture(void)
{
    cudaGraph_t g = NULL;

    OK(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal));
    enqueue_all();
    OK(cudaStreamEndCapture(streams[0], &g));
    return g;
}

/* ---- comparing ---- */

static void reset(void)
{
    for (int b = 0; b < BUFFERS; b++)
        for (int w = 0; w < WORDS; w++)
            host[b][w] = buffers[b][w] = (unsigned)(b * 100 + w);
}

static void compare(const char *way, int dag)
{
    OK(cudaStreamSynchronize(streams[0]));
    for (int b = 0; b < BUFFERS; b++) {
        if (memcmp(buffers[b], host[b], sizeof host[b]) != 0) {
            fprintf(stderr, "DAG %d, %s: buffer %d differs\n", dag, way, b);
            conform_failures++;
            return;
        }
    }
}

static void run_graph(cudaGraph_t g, const char *way, int dag)
{
    cudaGraphExec_t x;

    OK(cudaGraphInstantiate(&x, g, 0));
    reset();
    for (int again = 0; again < 3; again++) { /* the second time on short kernels run in place */
        run_on_host();
        OK(cudaGraphLaunch(x, streams[0]));
    }
    compare(way, dag);
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
}

static void one_dag(int dag)
{
    make_dag();
    run_graph(by_hand(), "by hand", dag);
    run_graph(by_capture(), "captured", dag);
    reset();
    run_on_host();
    enqueue_all();
    compare("eager", dag);
}

int main(int argc, char **argv)
{
    int dags = argc > 1 ? atoi(argv[1]) : 150;
    cudaLibrary_t lib;

    if (argc > 2)
        rng = strtoull(argv[2], NULL, 0) | 1;
    OK(cudaLibraryLoadData(&lib, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernel(&store, lib, "store"));
    OK(cudaLibraryGetKernel(&count, lib, "count"));
    for (int s = 0; s < STREAMS; s++) {
        OK(cudaStreamCreateWithFlags(&streams[s], cudaStreamNonBlocking));
        OK(cudaEventCreateWithFlags(&join_events[s], cudaEventDisableTiming));
    }
    for (int i = 0; i < OPS; i++)
        OK(cudaEventCreateWithFlags(&events[i], cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&fork_event, cudaEventDisableTiming));
    for (int b = 0; b < BUFFERS; b++)
        OK(cudaMallocHost((void **)&buffers[b], WORDS * sizeof(unsigned)));
    for (int i = 0; deep_goes_on(i < dags) && !conform_failures; i++)
        one_dag(i);
    return CONFORM_END();
}
