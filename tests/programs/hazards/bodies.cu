/* Nodes in the bodies of conditional nodes: which of them follow each other (GRA-041). What forms
 * there are and which must be found is in bodies.sh.
 * SPDX-License-Identifier: Apache-2.0 */
#include "../ok.h"

#include <cstring>
#include <cuda_runtime.h>

enum { N = 1024, BLOCK = 256, TIMES = 3 };

__global__ void set(int *p, int value)
{
    p[blockIdx.x * blockDim.x + threadIdx.x] = value;
    asm volatile("griddepcontrol.launch_dependents;");
}

/* waits: for what is in front of it, first of all. */
__global__ void copy(int *to, const int *from, int waits)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (waits)
        asm volatile("griddepcontrol.wait;" ::: "memory");
    to[i] = from[i] + 1;
}

/* The loop goes on until it has run so many times, of one launch. */
__global__ void again(int *count, int times, cudaGraphConditionalHandle loop)
{
    int left = ++*count < times;

    if (!left)
        *count = 0;
    cudaGraphSetConditional(loop, left);
}

static int *a, *b, *c, *count;

static cudaGraphNode_t add_kernel(cudaGraph_t g, void *f, int blocks, void **args, cudaGraphNode_t after)
{
    cudaKernelNodeParams p = {};
    cudaGraphNode_t n;

    p.func = f;
    p.gridDim = dim3(blocks);
    p.blockDim = dim3(blocks == 1 ? 1 : BLOCK);
    p.kernelParams = args;
    OK(cudaGraphAddKernelNode(&n, g, &after, after != NULL, &p));
    return n;
}

static cudaGraphNode_t add_write(cudaGraph_t g, int *p, cudaGraphNode_t after)
{
    int value = 7;
    void *args[] = {&p, &value};

    return add_kernel(g, (void *)set, N / BLOCK, args, after);
}

static cudaGraphNode_t add_copy(cudaGraph_t g, int *to, const int *from, cudaGraphNode_t after, int waits = 0)
{
    void *args[] = {&to, &from, &waits};

    return add_kernel(g, (void *)copy, N / BLOCK, args, after);
}

static cudaGraphNode_t add_memset(cudaGraph_t g, int *p, cudaGraphNode_t after)
{
    cudaMemsetParams m = {};
    cudaGraphNode_t n;

    m.dst = p;
    m.elementSize = sizeof *p;
    m.width = N;
    m.height = 1;
    OK(cudaGraphAddMemsetNode(&n, g, &after, after != NULL, &m));
    return n;
}

static cudaGraphNode_t add_choice(cudaGraph_t g, cudaGraphConditionalHandle h, cudaGraphConditionalNodeType type,
                                  unsigned bodies, cudaGraphNode_t after, cudaGraph_t **out)
{
    cudaGraphNodeParams p = {};
    cudaGraphNode_t n = NULL;

    p.type = cudaGraphNodeTypeConditional;
    p.conditional.handle = h;
    p.conditional.type = type;
    p.conditional.size = bodies;
#if CUDART_VERSION >= 13000
    OK(cudaGraphAddNode(&n, g, &after, NULL, after != NULL, &p));
#else
    OK(cudaGraphAddNode(&n, g, &after, after != NULL, &p));
#endif
    *out = p.conditional.phGraph_out;
    return n;
}

static cudaGraphNode_t add_loop(cudaGraph_t g, cudaGraph_t in, cudaGraphNode_t after, cudaGraph_t *body,
                                cudaGraphConditionalHandle *h)
{
    cudaGraph_t *bodies;
    cudaGraphNode_t n;

    OK(cudaGraphConditionalHandleCreate(h, g, 1, cudaGraphCondAssignDefault));
    n = add_choice(in, *h, cudaGraphCondTypeWhile, 1, after, &bodies);
    *body = bodies[0];
    return n;
}

static void add_again(cudaGraph_t body, cudaGraphConditionalHandle h, cudaGraphNode_t after, int *counter = count)
{
    int times = TIMES;
    void *args[] = {&counter, &times, &h};

    add_kernel(body, (void *)again, 1, args, after);
}

static void programmatic(cudaGraph_t g, cudaGraphNode_t from, cudaGraphNode_t to)
{
    cudaGraphEdgeData e = {};

    e.from_port = cudaGraphKernelNodePortProgrammatic;
    e.type = cudaGraphDependencyTypeProgrammatic;
#if CUDART_VERSION >= 13000
    OK(cudaGraphAddDependencies(g, &from, &to, &e, 1));
#else
    OK(cudaGraphAddDependencies_v2(g, &from, &to, &e, 1));
#endif
}

/* One body, of an if: `second` follows the first by an edge, or by none. */
static void in_if(cudaGraph_t g, bool ordered)
{
    cudaGraphConditionalHandle h;
    cudaGraph_t *bodies;
    cudaGraphNode_t n;

    OK(cudaGraphConditionalHandleCreate(&h, g, 1, cudaGraphCondAssignDefault));
    add_choice(g, h, cudaGraphCondTypeIf, 1, NULL, &bodies);
    n = add_write(bodies[0], a, NULL);
    add_copy(bodies[0], b, a, ordered ? n : NULL);
}

/* Of a switch; the other body uses the same memory, and never runs beside it. */
static void in_switch(cudaGraph_t g, bool ordered)
{
    cudaGraphConditionalHandle h;
    cudaGraph_t *bodies;
    cudaGraphNode_t n;

    OK(cudaGraphConditionalHandleCreate(&h, g, 1, cudaGraphCondAssignDefault));
    add_choice(g, h, cudaGraphCondTypeSwitch, 3, NULL, &bodies);
    for (int i = 0; i < 3; i++) {
        n = add_memset(bodies[i], a, NULL);
        add_copy(bodies[i], b, a, ordered ? n : NULL);
    }
}

/* What one time of a loop writes the next one reads: times follow each other. */
static void times(cudaGraph_t g, bool ordered)
{
    cudaGraphConditionalHandle h;
    cudaGraphNode_t n;
    cudaGraph_t body;

    add_loop(g, g, NULL, &body, &h);
    n = add_copy(body, b, a, NULL);
    n = add_copy(body, a, b, ordered ? n : NULL);
    add_again(body, h, NULL);
}

/* Two nodes without an edge in a loop: beside each other, as they touch nothing in common; each
 * time. */
static void apart(cudaGraph_t g, bool ordered)
{
    cudaGraphConditionalHandle h;
    cudaGraph_t body;

    add_loop(g, g, NULL, &body, &h);
    add_write(body, a, NULL);
    add_write(body, ordered ? b : a, NULL);
    add_again(body, h, NULL);
}

/* A node of the graph itself and one in a body. */
static void outside(cudaGraph_t g, bool ordered)
{
    cudaGraphConditionalHandle h;
    cudaGraphNode_t n, loop;
    cudaGraph_t body;

    n = add_write(g, a, NULL);
    loop = add_loop(g, g, ordered ? n : NULL, &body, &h);
    add_copy(body, b, a, NULL);
    add_again(body, h, NULL);
    add_copy(g, c, b, loop);
}

/* The inner loop's times and what stands behind it in the outer one. */
static void nested(cudaGraph_t g, bool ordered)
{
    cudaGraphConditionalHandle outer, inner;
    cudaGraphNode_t n;
    cudaGraph_t body, deep;

    add_loop(g, g, NULL, &body, &outer);
    n = add_loop(g, body, NULL, &deep, &inner);
    add_copy(deep, b, a, NULL);
    add_again(deep, inner, NULL, count + 1);
    n = add_copy(body, c, b, ordered ? n : NULL);
    /* The inner loop's value is to be there for the next time. */
    add_again(body, outer, n);
    add_write(body, a + N, NULL);
}

/* A branch in a loop in a loop: the two of the innermost body. */
static void deepest(cudaGraph_t g, bool ordered)
{
    cudaGraphConditionalHandle outer, inner;
    cudaGraphNode_t n;
    cudaGraph_t body, deep;

    add_loop(g, g, NULL, &body, &outer);
    n = add_loop(g, body, NULL, &deep, &inner);
    add_again(body, outer, n);
    n = add_write(deep, a, NULL);
    add_copy(deep, b, a, ordered ? n : NULL);
    add_again(deep, inner, NULL, count + 1);
}

/* A kernel in a body that may begin early, by a programmatic edge. */
static void early(cudaGraph_t g, bool ordered)
{
    cudaGraphConditionalHandle h;
    cudaGraphNode_t n, next;
    cudaGraph_t body;

    add_loop(g, g, NULL, &body, &h);
    n = add_write(body, a, NULL);
    next = add_copy(body, b, a, NULL, ordered);
    programmatic(body, n, next);
    add_again(body, h, next);
}

/* A child graph in a body: behind what it depends on, or not. */
static void child(cudaGraph_t g, bool ordered)
{
    cudaGraphConditionalHandle h;
    cudaGraphNode_t n, inner;
    cudaGraph_t body, part;

    OK(cudaGraphCreate(&part, 0));
    add_copy(part, b, a, NULL);
    add_loop(g, g, NULL, &body, &h);
    n = add_write(body, a, NULL);
    OK(cudaGraphAddChildGraphNode(&inner, body, &n, ordered, part));
    add_again(body, h, NULL);
    OK(cudaGraphDestroy(part));
}

static const struct {
    const char *name;
    void (*build)(cudaGraph_t g, bool ordered);
} forms[] = {
    {"if", in_if},         {"switch", in_switch}, {"times", times}, {"apart", apart}, {"outside", outside},
    {"nested", nested},    {"deepest", deepest},  {"early", early}, {"child", child},
};

int main(int argc, char **argv)
{
    bool ordered = argc < 3;
    cudaGraphExec_t x;
    cudaStream_t s;
    cudaGraph_t g;

    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (argc < 2)
            printf("%s\n", forms[i].name);
        if (argc < 2 || strcmp(argv[1], forms[i].name) != 0)
            continue;
        OK(cudaStreamCreate(&s));
        OK(cudaMalloc((void **)&a, 4 * N * sizeof *a));
        b = a + 2 * N;
        c = a + 3 * N;
        OK(cudaMalloc((void **)&count, 2 * sizeof *count));
        OK(cudaMemset(a, 0, 4 * N * sizeof *a));
        OK(cudaMemset(count, 0, 2 * sizeof *count));
        OK(cudaDeviceSynchronize());
        OK(cudaGraphCreate(&g, 0));
        forms[i].build(g, ordered);
        OK(cudaGraphInstantiate(&x, g, 0));
        for (int r = 0; r < 2; r++) /* one launch behind the other */
            OK(cudaGraphLaunch(x, s));
        OK(cudaStreamSynchronize(s));
        OK(cudaGraphExecDestroy(x));
        OK(cudaGraphDestroy(g));
        OK(cudaFree(a));
        OK(cudaFree(count));
        OK(cudaStreamDestroy(s));
        printf("done\n");
    }
    return 0;
}
