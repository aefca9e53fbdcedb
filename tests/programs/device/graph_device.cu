// Graphs whose kernels decide: a chain of kernels captured with programmatic edges, each of which begins early and waits
// for the one before it; such a chain that is long, whose kernels end before the first; and if, while and switch nodes,
// one inside the other, with values that kernels set.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cuda_runtime.h>

static const int N = 20000, CHAIN = 40, REPLAYS = 12;

__global__ void step(int *d, int i, volatile int *flag, volatile int *begun)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;

    asm volatile("griddepcontrol.launch_dependents;");
    *begun = i + 1;
    __threadfence_system();
    while (i == 0 && *flag == 0)
        __nanosleep(200);
    asm volatile("griddepcontrol.wait;" ::: "memory");
    if (k < N && d[k] % CHAIN == i) // the one before has written
        d[k] += 1;
}

// The first ends when the last has begun.
__global__ void link(volatile int *flag, int i, int last)
{
    asm volatile("griddepcontrol.launch_dependents;");
    if (i == last)
        *flag = 1;
    while (i == 0 && *flag == 0)
        __nanosleep(200);
}

template <class... P, class... A>
static cudaError_t launch(cudaStream_t s, int blocks, void (*kernel)(P...), A... args)
{
    cudaLaunchConfig_t c = {};
    cudaLaunchAttribute a = {};

    a.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    a.val.programmaticStreamSerializationAllowed = 1;
    c.gridDim = dim3(blocks);
    c.blockDim = dim3(256);
    c.stream = s;
    c.attrs = &a;
    c.numAttrs = 1;
    return cudaLaunchKernelEx(&c, kernel, args...);
}

static int early_chain(cudaStream_t s)
{
    static int h[N];
    int *d, *words, bad = 0;
    cudaGraph_t g;
    cudaGraphExec_t x;

    cudaMallocHost(&words, 256);
    cudaMalloc(&d, sizeof h);
    cudaMemset(d, 0, sizeof h);
    cudaDeviceSynchronize();
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    for (int i = 0; i < CHAIN; i++)
        bad += launch(s, (N + 255) / 256, step, d, i, words, words + 8) != cudaSuccess;
    bad += cudaStreamEndCapture(s, &g) != cudaSuccess;
    bad += cudaGraphInstantiate(&x, g, 0) != cudaSuccess;
    for (int r = 0; r < REPLAYS; r++) {
        *(volatile int *)words = r != 0;
        *(volatile int *)(words + 8) = 0;
        bad += cudaGraphLaunch(x, s) != cudaSuccess;
        if (r == 0) { // the second begins while the first still polls
            for (long i = 0; i < 2000000000 && *(volatile int *)(words + 8) < 2; i++)
                ;
            bad += *(volatile int *)(words + 8) < 2;
            *(volatile int *)words = 1;
        }
        bad += cudaStreamSynchronize(s) != cudaSuccess;
    }
    cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
    for (int i = 0; i < N; i++)
        bad += h[i] != CHAIN * REPLAYS;
    cudaGraphExecDestroy(x);
    cudaGraphDestroy(g);
    printf("early chain: %d bad\n", bad);
    return bad;
}

static int long_chain(cudaStream_t s)
{
    const int links = 100000; // what tells them one by one that they are settled has 4 MiB of stack
    int *flag, bad = 0;
    cudaGraph_t g;
    cudaGraphExec_t x;

    cudaMallocHost(&flag, sizeof *flag);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    for (int i = 0; i < links; i++)
        bad += launch(s, 1, link, flag, i, links - 1) != cudaSuccess;
    bad += cudaStreamEndCapture(s, &g) != cudaSuccess;
    bad += cudaGraphInstantiate(&x, g, 0) != cudaSuccess;
    *(volatile int *)flag = 0;
    bad += cudaGraphLaunch(x, s) != cudaSuccess;
    bad += cudaStreamSynchronize(s) != cudaSuccess;
    bad += *(volatile int *)flag != 1;
    cudaGraphExecDestroy(x);
    cudaGraphDestroy(g);
    printf("long chain: %d bad\n", bad);
    return bad;
}

// ---- conditional nodes ----

__global__ void begin(int *count, int from, cudaGraphConditionalHandle loop)
{
    count[0] = from;
    cudaGraphSetConditional(loop, from > 0);
}

// Counts down; the body's own decisions: odd or even, and the last digit.
__global__ void turn(int *count, cudaGraphConditionalHandle odd, cudaGraphConditionalHandle digit)
{
    count[1]++;
    cudaGraphSetConditional(odd, count[0] & 1);
    cudaGraphSetConditional(digit, count[0] % 5);
}

__global__ void note(int *where)
{
    ++*where;
}

__global__ void next(int *count, cudaGraphConditionalHandle loop)
{
    cudaGraphSetConditional(loop, --count[0] > 0);
}

static cudaGraphNode_t add_kernel(cudaGraph_t g, void *f, void **args, cudaGraphNode_t after)
{
    cudaKernelNodeParams p = {};
    cudaGraphNode_t n;

    p.func = f;
    p.gridDim = p.blockDim = dim3(1);
    p.kernelParams = args;
    cudaGraphAddKernelNode(&n, g, &after, after != NULL, &p);
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
    cudaGraphAddNode(&n, g, &after, NULL, after != NULL, &p);
    *out = p.conditional.phGraph_out;
    return n;
}

static int conditional(cudaStream_t s)
{
    const int from = 23;
    int *count, h[16], bad = 0;
    cudaGraphConditionalHandle loop, odd, digit;
    cudaGraph_t g, *bodies, *choices;
    cudaGraphExec_t x;

    cudaMalloc(&count, sizeof h);
    cudaMemset(count, 0, sizeof h);
    cudaDeviceSynchronize();
    cudaGraphCreate(&g, 0);
    cudaGraphConditionalHandleCreate(&loop, g);
    cudaGraphConditionalHandleCreate(&odd, g);
    cudaGraphConditionalHandleCreate(&digit, g);
    void *begin_args[] = {&count, (void *)&from, &loop}, *turn_args[] = {&count, &odd, &digit}, *next_args[] = {&count, &loop};
    cudaGraphNode_t n = add_kernel(g, (void *)begin, begin_args, NULL);
    n = add_choice(g, loop, cudaGraphCondTypeWhile, 1, n, &bodies);
    int *after = count + 15;
    void *after_args[] = {&after};
    add_kernel(g, (void *)note, after_args, n);

    cudaGraph_t body = bodies[0];
    n = add_kernel(body, (void *)turn, turn_args, NULL);
    n = add_choice(body, odd, cudaGraphCondTypeIf, 2, n, &choices);
    for (int i = 0; i < 2; i++) {
        int *where = count + 2 + i;
        void *args[] = {&where};
        add_kernel(choices[i], (void *)note, args, NULL);
    }
    n = add_choice(body, digit, cudaGraphCondTypeSwitch, 4, n, &choices);
    for (int i = 0; i < 4; i++) {
        int *where = count + 4 + i;
        void *args[] = {&where};
        add_kernel(choices[i], (void *)note, args, NULL);
    }
    add_kernel(body, (void *)next, next_args, n);

    bad += cudaGraphInstantiate(&x, g, 0) != cudaSuccess;
    for (int r = 1; r <= 5; r++) {
        bad += cudaGraphLaunch(x, s) != cudaSuccess;
        bad += cudaStreamSynchronize(s) != cudaSuccess;
        cudaMemcpy(h, count, sizeof h, cudaMemcpyDeviceToHost);
        int digits[5] = {};
        for (int i = from; i > 0; i--)
            digits[i % 5]++;
        bad += h[0] != 0 || h[1] != from * r || h[2] != 12 * r || h[3] != 11 * r || h[15] != r;
        for (int i = 0; i < 4; i++)
            bad += h[4 + i] != digits[i] * r;
    }
    cudaGraphExecDestroy(x);
    cudaGraphDestroy(g);
    printf("conditional: %d bad\n", bad);
    return bad;
}

int main()
{
    cudaStream_t s;

    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    int bad = early_chain(s) + long_chain(s) + conditional(s);
    printf("graph_device: %d bad\n", bad);
    return bad != 0;
}
