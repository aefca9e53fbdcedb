/* Small programs, right and wrong, by name: what weir check must say of each is in hazards.sh. None
 * depends on luck: the verdict follows from the documented order alone.
 * SPDX-License-Identifier: Apache-2.0 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../ok.h"
#include "kernels.h"

enum { N = 5000 };

__global__ void every_second(int *to, int first, int n)
{
    int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + first;

    if (i < n)
        to[i] = first;
}

__global__ void count(int *to)
{
    atomicAdd(to, 1);
}

__global__ void one(int *to)
{
    *to = 1;
}

__global__ void nothing(void) {}

static int *a, *b, *host;
static cudaStream_t s1, s2;
static cudaEvent_t e, unasked;

static unsigned blocks(int n)
{
    return (unsigned)(n + 255) / 256;
}

static void write_a(cudaStream_t s, int n = N)
{
    fill<<<blocks(n), 256, 0, s>>>(a, 1, n);
}

static void read_a(cudaStream_t s)
{
    copy<<<blocks(N), 256, 0, s>>>(b, a, N);
}

/* Many small ones behind each other, each to memory of its own; s2 writes to that of one of them,
 * or behind them all. */
static void small_copies(int to)
{
    const int each = 16, many = 250;
    int *pinned;

    OK(cudaMallocHost(&pinned, each * sizeof *pinned));
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < many; i++)
        OK(cudaMemcpyAsync(a + i * each, pinned, each * sizeof *a, cudaMemcpyHostToDevice, s1));
    OK(cudaMemsetAsync(a + to * each, 0, each * sizeof *a, s2));
    OK(cudaDeviceSynchronize());
    OK(cudaFreeHost(pinned));
}

static void streams(bool ordered, bool writes_again)
{
    write_a(s1);
    if (ordered) {
        OK(cudaEventRecord(e, s1));
        OK(cudaStreamWaitEvent(s2, e, 0));
    }
    if (writes_again)
        write_a(s2);
    else
        read_a(s2);
}

/* Kernels that end one behind the other on one worker: most touch nothing, one writes. */
static void among_short(bool ordered)
{
    for (int i = 0; i < 600; i++) {
        if (i == 300)
            one<<<1, 1, 0, s1>>>(a);
        else
            nothing<<<1, 32, 0, s1>>>();
    }
    if (ordered) {
        OK(cudaEventRecord(e, s1));
        OK(cudaStreamWaitEvent(s2, e, 0));
    }
    for (int i = 0; i < 100; i++)
        nothing<<<1, 32, 0, s2>>>();
    one<<<1, 1, 0, s2>>>(a);
}

static void early_record(void)
{
    OK(cudaEventRecord(e, s1));
    write_a(s1);
    OK(cudaStreamWaitEvent(s2, e, 0));
    read_a(s2);
}

static void recorded_again(bool before_wait)
{
    OK(cudaEventRecord(e, s1));
    if (!before_wait)
        OK(cudaStreamWaitEvent(s2, e, 0));
    write_a(s1);
    OK(cudaEventRecord(e, s1));
    if (before_wait)
        OK(cudaStreamWaitEvent(s2, e, 0));
    read_a(s2);
}

static void halves(int overlap)
{
    fill<<<blocks(N), 256, 0, s1>>>(a, 1, N / 2 + overlap);
    fill<<<blocks(N), 256, 0, s2>>>(a + N / 2, 2, N / 2);
}

template <class T> __global__ void fill_elements(T *to, T value, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        to[i] = value;
}

/* As halves, of elements of any size, from any place on: whole groups of lanes and parts of them. */
template <class T> static void elements(int overlap)
{
    static const int starts[] = {0, 16, 48, 64, 7};
    T *p = (T *)a;

    for (int k = 0; k < 5; k++) {
        fill_elements<T><<<3, 256, 0, s1>>>(p + starts[k], 1, 512 - starts[k] + overlap);
        fill_elements<T><<<3, 256, 0, s2>>>(p + 512, 2, 512);
        OK(cudaDeviceSynchronize());
    }
}

static void interleaved(bool same)
{
    every_second<<<blocks(N), 256, 0, s1>>>(a, 0, N);
    every_second<<<blocks(N), 256, 0, s2>>>(a, same ? 0 : 1, N);
}

static void atomics(bool plain)
{
    count<<<4, 64, 0, s1>>>(a);
    if (plain)
        one<<<1, 1, 0, s2>>>(a);
    else
        count<<<4, 64, 0, s2>>>(a);
}

static void columns(size_t width)
{
    OK(cudaMemcpy2DAsync(a, 64, host, 64, width, 32, cudaMemcpyHostToDevice, s1));
    OK(cudaMemcpy2DAsync((char *)a + 32, 64, host, 64, 32, 32, cudaMemcpyHostToDevice, s2));
}

static void legacy(bool blocking)
{
    cudaStream_t s;

    OK(cudaStreamCreateWithFlags(&s, blocking ? cudaStreamDefault : cudaStreamNonBlocking));
    write_a(0);
    read_a(s);
    OK(cudaStreamSynchronize(s));
    OK(cudaStreamDestroy(s));
}

static void pageable(bool waits)
{
    static int source[N];

    OK(cudaMemcpy(a, source, sizeof source, cudaMemcpyHostToDevice));
    if (waits)
        OK(cudaDeviceSynchronize());
    read_a(s1);
}

static void host_waits(bool stream)
{
    write_a(s1);
    OK(cudaStreamSynchronize(stream ? s1 : s2));
    read_a(s2);
}

static void CUDART_CB sleeps(void *)
{
    usleep(50000);
}

static void pool(bool alloc_ordered, bool free_ordered, bool late = false)
{
    int *p;

    if (late) /* the kernel has not run when the memory is given back */
        OK(cudaLaunchHostFunc(s2, sleeps, NULL));
    OK(cudaMallocAsync((void **)&p, N * sizeof *p, s1));
    if (alloc_ordered) {
        OK(cudaEventRecord(e, s1));
        OK(cudaStreamWaitEvent(s2, e, 0));
    }
    fill<<<blocks(N), 256, 0, s2>>>(p, 1, N);
    if (free_ordered) {
        OK(cudaEventRecord(e, s2));
        OK(cudaStreamWaitEvent(s1, e, 0));
    }
    OK(cudaFreeAsync(p, s1));
}

/* The same bytes go from owner to owner, in order: never an alarm. */
static void pool_reuse(void)
{
    for (int i = 0; i < 50; i++) {
        cudaStream_t s = i % 3 ? s1 : s2;
        int *p;

        OK(cudaMallocAsync((void **)&p, N * sizeof *p, s));
        fill<<<blocks(N), 256, 0, s>>>(p, i, N);
        OK(cudaFreeAsync(p, s));
        if (i % 7 == 0)
            OK(cudaStreamSynchronize(s));
    }
}

/* The pool gives away in one stream what another has freed and is over with, of which nobody has
 * asked: the pool's own order counts (ORD-052). */
static void pool_taken_up(void)
{
    enum { TRIES = 400 };
    int *seen[TRIES];

    for (int i = 0; i < TRIES; i++) {
        cudaStream_t s; /* each its own, which has nothing of its own to take */

        OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
        OK(cudaMallocAsync((void **)&seen[i], N * sizeof *seen[i], s));
        fill<<<blocks(N), 256, 0, s>>>(seen[i], i, N);
        OK(cudaFreeAsync(seen[i], s));
        for (int k = 0; k < i; k++)
            if (seen[k] == seen[i])
                return;
        usleep(5000);
    }
    _exit(41); /* it was not tried */
}

static void freed_early(bool waits)
{
    int *p;

    OK(cudaMallocHost((void **)&p, N * sizeof *p));
    memset(p, 0, N * sizeof *p);
    OK(cudaMemcpyAsync(a, p, N * sizeof *p, cudaMemcpyHostToDevice, s1));
    if (waits)
        OK(cudaStreamSynchronize(s1));
    OK(cudaFreeHost(p));
}

/* That is the one mistake: the memory that comes to its addresses, when all others have been used, is
 * another one, which the first copy has nothing to do with. */
static void freed_taken_up(void)
{
    const size_t much = (size_t)64 << 20;
    char *first, *second;
    int rounds = 0;

    OK(cudaMallocHost((void **)&first, 2 * much));
    first += much;
    OK(cudaMemcpyAsync(a, first, N * sizeof *a, cudaMemcpyHostToDevice, s1));
    OK(cudaFreeHost(first - much));
    OK(cudaMallocHost((void **)&second, 2 * much));
    while ((second > first || second + much + much / 2 < first) && rounds++ < 5000) {
        OK(cudaFreeHost(second));
        OK(cudaMallocHost((void **)&second, 2 * much));
    }
    if (rounds > 5000)
        printf("nothing is where it was\n");
    OK(cudaMemcpyAsync(first, b, N * sizeof *b, cudaMemcpyDeviceToHost, s2));
    OK(cudaDeviceSynchronize());
    OK(cudaFreeHost(second));
}

static void CUDART_CB calls(void *arg)
{
    (void)arg;
    cudaStreamQuery(s2);
}

static void CUDART_CB does_nothing(void *arg)
{
    ++*(int *)arg;
}

static void graph(bool edge)
{
    cudaGraph_t g;
    cudaGraphExec_t x;

    OK(cudaStreamBeginCapture(s1, cudaStreamCaptureModeGlobal));
    OK(cudaEventRecord(e, s1));
    OK(cudaStreamWaitEvent(s2, e, 0));
    write_a(s1);
    if (edge) {
        OK(cudaEventRecord(e, s1));
        OK(cudaStreamWaitEvent(s2, e, 0));
    }
    read_a(s2);
    OK(cudaEventRecord(e, s2));
    OK(cudaStreamWaitEvent(s1, e, 0));
    OK(cudaStreamEndCapture(s1, &g));
    OK(cudaGraphInstantiate(&x, g, 0));
    for (int i = 0; i < 3; i++) /* launches follow each other, in whatever stream */
        OK(cudaGraphLaunch(x, i % 2 ? s2 : s1));
    OK(cudaDeviceSynchronize());
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
}

/* A graph in a graph in a graph writes, and a copy behind it (or not) reads. */
static void child_graphs(bool edge)
{
    cudaGraph_t g[3];
    cudaGraphNode_t child = NULL, copy;
    cudaGraphExec_t x;

    OK(cudaStreamBeginCapture(s1, cudaStreamCaptureModeGlobal));
    write_a(s1);
    OK(cudaStreamEndCapture(s1, &g[0]));
    for (int i = 1; i < 3; i++) {
        OK(cudaGraphCreate(&g[i], 0));
        OK(cudaGraphAddChildGraphNode(&child, g[i], NULL, 0, g[i - 1]));
    }
    OK(cudaGraphAddMemcpyNode1D(&copy, g[2], &child, edge ? 1 : 0, b, a, N * sizeof *a, cudaMemcpyDeviceToDevice));
    OK(cudaGraphInstantiate(&x, g[2], 0));
    OK(cudaGraphLaunch(x, s1));
    OK(cudaDeviceSynchronize());
    OK(cudaGraphExecDestroy(x));
    for (int i = 0; i < 3; i++)
        OK(cudaGraphDestroy(g[i]));
}

/* What a graph writes before its record node, another stream reads behind that (or does not wait). */
static void event_nodes(bool waits)
{
    cudaGraph_t g;
    cudaGraphExec_t x;

    OK(cudaStreamBeginCapture(s1, cudaStreamCaptureModeGlobal));
    write_a(s1);
    OK(cudaEventRecordWithFlags(e, s1, cudaEventRecordExternal));
    OK(cudaStreamEndCapture(s1, &g));
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphLaunch(x, s1));
    if (waits)
        OK(cudaStreamWaitEvent(s2, e, 0));
    read_a(s2);
    OK(cudaDeviceSynchronize());
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
}

/* A graph of two branches that begin together in s1, and the second one in s2: `branch` makes them. */
static cudaGraphExec_t two_branches(void (*branch)(int which, cudaStream_t s))
{
    cudaEvent_t fork, join;
    cudaGraphExec_t x;
    cudaGraph_t g;

    OK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    OK(cudaStreamBeginCapture(s1, cudaStreamCaptureModeGlobal));
    OK(cudaEventRecord(fork, s1));
    OK(cudaStreamWaitEvent(s2, fork, 0));
    branch(0, s1);
    branch(1, s2);
    OK(cudaEventRecord(join, s2));
    OK(cudaStreamWaitEvent(s1, join, 0));
    OK(cudaStreamEndCapture(s1, &g));
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphDestroy(g));
    OK(cudaEventDestroy(fork));
    OK(cudaEventDestroy(join));
    return x;
}

static void writes_a_then_records(int which, cudaStream_t s)
{
    if (which)
        copy<<<blocks(N / 2), 256, 0, s>>>(b, b + N / 2, N / 2);
    else
        write_a(s);
    OK(cudaEventRecordWithFlags(which ? unasked : e, s, cudaEventRecordExternal));
}

/* s2 waits for an event that one branch of a launch records, and reads what that one wrote, or
 * what the other writes. */
static void record_node(bool of_other)
{
    cudaGraphExec_t x = two_branches(writes_a_then_records);
    int *to;

    OK(cudaMalloc((void **)&to, N * sizeof *to));
    OK(cudaGraphLaunch(x, s1));
    OK(cudaStreamWaitEvent(s2, e, 0));
    copy<<<blocks(N / 2), 256, 0, s2>>>(to, of_other ? b : a, N / 2);
    OK(cudaDeviceSynchronize());
    OK(cudaGraphExecDestroy(x));
    OK(cudaFree(to));
}

static int *wait_node_to;

static void waits_then_reads_a(int which, cudaStream_t s)
{
    if (!which)
        OK(cudaStreamWaitEvent(s, e, cudaEventWaitExternal));
    copy<<<1, 256, 0, s>>>(wait_node_to + 256 * which, which ? b : a, 256);
}

/* One branch of a launch waits for what s2 does, the other one reads b. */
static void wait_node(bool of_other)
{
    cudaGraphExec_t x;

    OK(cudaMalloc((void **)&wait_node_to, 512 * sizeof *wait_node_to));
    x = two_branches(waits_then_reads_a);
    fill<<<blocks(N), 256, 0, s2>>>(of_other ? b : a, 1, N);
    OK(cudaEventRecord(e, s2));
    OK(cudaGraphLaunch(x, s1));
    write_a(s1); /* behind the launch as a whole, and so behind s2's kernel */
    OK(cudaGraphLaunch(x, s1));
    OK(cudaDeviceSynchronize());
    OK(cudaGraphExecDestroy(x));
    OK(cudaFree(wait_node_to));
}

static void copies_then_records(int which, cudaStream_t s)
{
    OK(cudaMemcpyAsync(host + which * (N / 2), a, N / 2 * sizeof *a, cudaMemcpyDeviceToHost, s));
    if (!which)
        OK(cudaEventRecordWithFlags(e, s, cudaEventRecordExternal));
}

/* The host waits for one branch's event, and reads what that one has copied, or the other. */
static void record_node_host(bool of_other)
{
    cudaGraphExec_t x = two_branches(copies_then_records);

    OK(cudaGraphLaunch(x, s1));
    OK(cudaEventSynchronize(e));
    if (host[of_other ? N - 1 : 0] == 123456)
        printf("unlikely\n");
    OK(cudaDeviceSynchronize());
    OK(cudaGraphExecDestroy(x));
}

static void nothing_then_waits(int which, cudaStream_t s)
{
    if (!which)
        OK(cudaStreamWaitEvent(s, e, cudaEventWaitExternal));
    nothing<<<1, 1, 0, s>>>();
}

/* What comes before a launch's wait node comes before what is behind its record node, in another
 * launch, and in its stream. */
static void event_nodes_chain(bool misses)
{
    cudaGraphExec_t first, second;
    cudaStream_t s3;

    OK(cudaStreamCreateWithFlags(&s3, cudaStreamNonBlocking));
    first = two_branches(writes_a_then_records);
    second = two_branches(nothing_then_waits);
    OK(cudaGraphLaunch(first, s1));
    OK(cudaGraphLaunch(misses ? first : second, misses ? s1 : s3));
    write_a(s3);
    OK(cudaDeviceSynchronize());
    OK(cudaGraphExecDestroy(first));
    OK(cudaGraphExecDestroy(second));
    OK(cudaStreamDestroy(s3));
}

static void *driver_fn(const char *name)
{
    void *fn;

    OK(cudaGetDriverEntryPointByVersion(name, &fn, 12000, cudaEnableDefault, NULL));
    return fn;
}

/* Values in memory: cuStreamWriteValue32, cuStreamWaitValue32 (at least the value, as signed). */
typedef int value_fn(cudaStream_t, unsigned long long, unsigned, unsigned);
/* The first and the last int of each of many pages. */
static __global__ void ends_of_pages(int *to, const int *from)
{
    const int *page = from + 1024 * (blockIdx.x * blockDim.x + threadIdx.x);

    if (page[0] != page[1023])
        *to = 1;
}

static void CUDART_CB until_told(void *told)
{
    while (!__atomic_load_n((int *)told, __ATOMIC_ACQUIRE))
        usleep(1000);
}

/* So much memory is touched in pieces that what is known to be over is forgotten: but not while
 * something that was submitted before it was known (early) may still touch the same. */
static void pieces(bool early)
{
    const int pages = 1 << 15;
    int told = 0, *many;

    OK(cudaMalloc((void **)&many, (size_t)pages * 4096));
    OK(cudaLaunchHostFunc(s2, until_told, &told));
    if (early)
        write_a(s2);
    write_a(s1);
    OK(cudaStreamSynchronize(s1));
    if (!early)
        write_a(s2);
    ends_of_pages<<<pages / 256, 256, 0, s1>>>(b, many);
    OK(cudaStreamSynchronize(s1));
    __atomic_store_n(&told, 1, __ATOMIC_RELEASE);
    OK(cudaDeviceSynchronize());
    OK(cudaFree(many));
}

/* A kernel that has not begun yet writes what a memset does in s1. A second memset is submitted, behind
 * both: what the first one touched must not be forgotten for it before the kernel has met that. */
static void covered(bool elsewhere, bool ordered)
{
    cudaStream_t s = s2;
    int told = 0;

    if (elsewhere)
        OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaMemsetAsync(a, 0, N * sizeof *a, s1));
    OK(cudaEventRecord(e, s1));
    if (ordered)
        OK(cudaStreamWaitEvent(s, e, 0));
    OK(cudaLaunchHostFunc(s, until_told, &told));
    write_a(s);
    OK(cudaStreamWaitEvent(s2, e, 0));
    if (elsewhere) {
        OK(cudaEventRecord(e, s));
        OK(cudaStreamWaitEvent(s2, e, 0));
    }
    OK(cudaMemsetAsync(a, 0, N * sizeof *a, s2));
    __atomic_store_n(&told, 1, __ATOMIC_RELEASE);
    OK(cudaDeviceSynchronize());
}

static value_fn *value_fns[2];
static unsigned *flag;

static void values_begin(bool of_host)
{
    value_fns[0] = (value_fn *)driver_fn("cuStreamWriteValue32");
    value_fns[1] = (value_fn *)driver_fn("cuStreamWaitValue32");
    if (of_host)
        OK(cudaMallocHost(&flag, sizeof *flag));
    else
        OK(cudaMalloc(&flag, sizeof *flag));
    OK(cudaMemset(flag, 0, sizeof *flag));
    OK(cudaDeviceSynchronize());
}

static void value_write(cudaStream_t s, unsigned v)
{
    OK((cudaError_t)value_fns[0](s, (unsigned long long)flag, v, 0));
}

static void value_wait(cudaStream_t s, unsigned v)
{
    OK((cudaError_t)value_fns[1](s, (unsigned long long)flag, v, 0));
}

static __global__ void raise_flag(volatile unsigned *f, unsigned v)
{
    __threadfence();
    *f = v;
}

static void values(bool waits)
{
    values_begin(false);
    write_a(s1);
    value_write(s1, 1);
    if (waits)
        value_wait(s2, 1);
    read_a(s2);
}

/* The kernel that does not wait for the allocation is in front of a wait that is over at once, and
 * has not run when the memory is given back. */
static void pool_behind_value(void)
{
    cudaStream_t s;
    int *p;

    values_begin(false);
    OK(cudaStreamCreate(&s));
    OK(cudaLaunchHostFunc(s, sleeps, NULL));
    OK(cudaMallocAsync((void **)&p, N * sizeof *p, s1));
    OK(cudaEventRecord(e, s1));
    fill<<<blocks(N), 256, 0, s>>>(p, 1, N);
    value_write(s, 1);
    value_wait(s, 1);
    OK(cudaStreamWaitEvent(0, e, 0));
    OK(cudaFreeAsync(p, 0));
}

/* The write comes before what it should tell of. */
static void values_early(void)
{
    values_begin(false);
    value_write(s1, 1);
    write_a(s1);
    value_wait(s2, 1);
    read_a(s2);
}

/* What was written last is not what is waited for: that comes later, by whom nobody says. */
static void values_late(bool by_kernel, bool of_host)
{
    values_begin(of_host);
    value_write(s1, 0);
    value_wait(s2, 1);
    read_a(s2);
    write_a(s1);
    if (by_kernel)
        raise_flag<<<1, 1, 0, s1>>>(flag, 1);
    else
        value_write(s1, 1);
}

static void values_rounds(void)
{
    values_begin(false);
    for (unsigned i = 1; i < 4; i++) {
        value_wait(s2, i);
        read_a(s2);
        write_a(s1);
        value_write(s1, i);
        OK(cudaEventRecord(e, s2));
        OK(cudaStreamWaitEvent(s1, e, 0));
    }
}

static void values_host(void)
{
    values_begin(true);
    value_write(s1, 1);
    value_write(s1, 0);
    value_wait(s2, 1);
    read_a(s2);
    write_a(s1);
    OK(cudaStreamSynchronize(s1));
    *(volatile unsigned *)flag = 1;
}

static void values_graph(void)
{
    cudaGraph_t g;
    cudaGraphExec_t x;

    values_begin(false);
    OK(cudaStreamBeginCapture(s2, cudaStreamCaptureModeThreadLocal));
    value_wait(s2, 1);
    read_a(s2);
    OK(cudaStreamEndCapture(s2, &g));
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphLaunch(x, s2));
    write_a(s1);
    value_write(s1, 1);
    OK(cudaDeviceSynchronize());
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
}

/* More waits than are kept apart, whose writer nobody knows. over: the program has waited for them:
 * the race behind them is one. */
static void values_many(bool over)
{
    values_begin(false);
    for (int i = 0; i < 1200; i++) {
        value_wait(s2, 0);
        if (over && i % 100 == 99)
            OK(cudaStreamSynchronize(s2));
    }
    write_a(s1);
    read_a(s2);
}

/* The program reads the value itself. */
static void values_polled(void)
{
    int *got;

    values_begin(true);
    OK(cudaMallocHost(&got, N * sizeof *got));
    write_a(s1);
    OK(cudaMemcpyAsync(got, a, N * sizeof *got, cudaMemcpyDeviceToHost, s1));
    value_write(s1, 1);
    while (*(volatile unsigned *)flag != 1)
        ;
    if (got[7] != got[8])
        printf("wrong\n");
}

/* Memory that is mapped to addresses. */
#define CU(fn, ...) OK((cudaError_t)((decltype(&fn))driver_fn(#fn))(__VA_ARGS__))
enum { PIECE = 2 << 20 };
static CUdeviceptr addresses; /* for two pieces */
static CUmemGenericAllocationHandle memory[2];

static int *map_piece(int address, int which)
{
    CUmemAccessDesc access = {};
    CUdeviceptr at = addresses + (size_t)address * PIECE;

    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CU(cuMemMap, at, PIECE, 0, memory[which], 0);
    CU(cuMemSetAccess, at, PIECE, &access, 1);
    return (int *)at;
}

static void unmap_piece(int address)
{
    OK(cudaDeviceSynchronize());
    CU(cuMemUnmap, addresses + (size_t)address * PIECE, PIECE);
}

static void mapped_begin(void)
{
    CUmemAllocationProp prop = {};

    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CU(cuMemAddressReserve, &addresses, 2 * PIECE, 0, 0, 0);
    for (int i = 0; i < 2; i++)
        CU(cuMemCreate, &memory[i], PIECE, &prop, 0);
}

static void mapped_end(void)
{
    for (int i = 0; i < 2; i++) {
        unmap_piece(i);
        CU(cuMemRelease, memory[i]);
    }
    CU(cuMemAddressFree, addresses, 2 * PIECE);
}

/* One stream writes at an address, the other one reads at another: of the same memory, or not. */
static void mapped(int second, bool ordered, int from)
{
    int *p, *q;

    mapped_begin();
    p = map_piece(0, 0);
    q = map_piece(1, second);
    fill<<<blocks(N), 256, 0, s1>>>(p, 1, N);
    if (ordered) {
        OK(cudaEventRecord(e, s1));
        OK(cudaStreamWaitEvent(s2, e, 0));
    }
    copy<<<blocks(N), 256, 0, s2>>>(b, q + from, N);
    mapped_end();
}

/* The memory goes to another address, while its first one becomes that of other memory, or comes to
 * be its second. */
static void mapped_moves(int then)
{
    int *p;

    mapped_begin();
    p = map_piece(0, 0);
    OK(cudaMemsetAsync(p, 1, PIECE, s1));
    unmap_piece(0);
    OK(cudaMemsetAsync(map_piece(1, 0), 2, PIECE, s2));
    OK(cudaMemsetAsync(map_piece(0, then), 3, PIECE, s1));
    mapped_end();
}

static void run(const char *form)
{
    int called = 0;

    if (!strcmp(form, "raw"))
        streams(false, false);
    else if (!strcmp(form, "raw-event"))
        streams(true, false);
    else if (!strcmp(form, "waw"))
        streams(false, true);
    else if (!strcmp(form, "waw-event"))
        streams(true, true);
    else if (!strcmp(form, "among-short"))
        among_short(false);
    else if (!strcmp(form, "among-short-event"))
        among_short(true);
    else if (!strncmp(form, "covered", 7))
        covered(strstr(form, "-elsewhere") != NULL, strstr(form, "-event") != NULL);
    else if (!strcmp(form, "early-record"))
        early_record();
    else if (!strcmp(form, "recorded-again-late"))
        recorded_again(false);
    else if (!strcmp(form, "recorded-again"))
        recorded_again(true);
    else if (!strcmp(form, "never-recorded")) {
        OK(cudaStreamWaitEvent(s2, e, 0));
        streams(false, false);
    } else if (!strcmp(form, "halves-overlap"))
        halves(1);
    else if (!strcmp(form, "halves"))
        halves(0);
    else if (!strcmp(form, "small-copies-overlap"))
        small_copies(170);
    else if (!strcmp(form, "small-copies"))
        small_copies(250);
    else if (!strncmp(form, "shorts", 6))
        elements<short>(form[6] != 0);
    else if (!strncmp(form, "doubles", 7))
        elements<double>(form[7] != 0);
    else if (!strcmp(form, "interleaved-same"))
        interleaved(true);
    else if (!strcmp(form, "interleaved"))
        interleaved(false);
    else if (!strcmp(form, "atomic-plain"))
        atomics(true);
    else if (!strcmp(form, "atomics"))
        atomics(false);
    else if (!strcmp(form, "columns-overlap"))
        columns(36);
    else if (!strcmp(form, "columns"))
        columns(32);
    else if (!strcmp(form, "legacy-nonblocking"))
        legacy(false);
    else if (!strcmp(form, "legacy"))
        legacy(true);
    else if (!strcmp(form, "memset-nonblocking")) {
        OK(cudaMemset(a, 0, N * sizeof *a));
        read_a(s1);
    } else if (!strcmp(form, "pageable-nonblocking"))
        pageable(false);
    else if (!strcmp(form, "pageable-waits"))
        pageable(true);
    else if (!strcmp(form, "sync-other"))
        host_waits(false);
    else if (!strcmp(form, "sync"))
        host_waits(true);
    else if (!strcmp(form, "alloc-unordered"))
        pool(false, true);
    else if (!strcmp(form, "free-unordered"))
        pool(true, false);
    else if (!strcmp(form, "alloc-unordered-late"))
        pool(false, true, true);
    else if (!strcmp(form, "alloc-unordered-value"))
        pool_behind_value();
    else if (!strcmp(form, "pool-late"))
        pool(true, true, true);
    else if (!strcmp(form, "pool"))
        pool(true, true);
    else if (!strcmp(form, "pool-reuse"))
        pool_reuse();
    else if (!strcmp(form, "pool-taken-up"))
        pool_taken_up();
    else if (!strcmp(form, "freed-early"))
        freed_early(false);
    else if (!strcmp(form, "freed"))
        freed_early(true);
    else if (!strcmp(form, "freed-taken-up"))
        freed_taken_up();
    else if (!strcmp(form, "pieces-early"))
        pieces(true);
    else if (!strcmp(form, "pieces"))
        pieces(false);
    else if (!strcmp(form, "host-calls")) {
        OK(cudaLaunchHostFunc(s1, calls, NULL));
    } else if (!strcmp(form, "host-func")) {
        OK(cudaLaunchHostFunc(s1, does_nothing, &called));
        OK(cudaStreamSynchronize(s1));
    } else if (!strcmp(form, "graph-unordered"))
        graph(false);
    else if (!strcmp(form, "graph"))
        graph(true);
    else if (!strcmp(form, "child-graphs-unordered"))
        child_graphs(false);
    else if (!strcmp(form, "child-graphs"))
        child_graphs(true);
    else if (!strcmp(form, "event-nodes-ignored"))
        event_nodes(false);
    else if (!strcmp(form, "event-nodes"))
        event_nodes(true);
    else if (!strcmp(form, "record-node-beside"))
        record_node(true);
    else if (!strcmp(form, "record-node"))
        record_node(false);
    else if (!strcmp(form, "wait-node-beside"))
        wait_node(true);
    else if (!strcmp(form, "wait-node"))
        wait_node(false);
    else if (!strcmp(form, "record-node-host-beside"))
        record_node_host(true);
    else if (!strcmp(form, "record-node-host"))
        record_node_host(false);
    else if (!strcmp(form, "event-nodes-no-chain"))
        event_nodes_chain(true);
    else if (!strcmp(form, "event-nodes-chain"))
        event_nodes_chain(false);
    else if (!strcmp(form, "values-ignored"))
        values(false);
    else if (!strcmp(form, "values"))
        values(true);
    else if (!strcmp(form, "values-early"))
        values_early();
    else if (!strcmp(form, "values-late"))
        values_late(false, false);
    else if (!strcmp(form, "values-late-host"))
        values_late(false, true);
    else if (!strcmp(form, "values-kernel"))
        values_late(true, false);
    else if (!strcmp(form, "values-rounds"))
        values_rounds();
    else if (!strcmp(form, "values-host"))
        values_host();
    else if (!strcmp(form, "values-graph"))
        values_graph();
    else if (!strcmp(form, "values-many"))
        values_many(true);
    else if (!strcmp(form, "values-many-open"))
        values_many(false);
    else if (!strcmp(form, "values-polled"))
        values_polled();
    else if (!strcmp(form, "mapped-twice-unordered"))
        mapped(0, false, 0);
    else if (!strcmp(form, "mapped-twice"))
        mapped(0, true, 0);
    else if (!strcmp(form, "mapped-twice-apart"))
        mapped(0, false, N);
    else if (!strcmp(form, "mapped-once"))
        mapped(1, false, 0);
    else if (!strcmp(form, "mapped-moves-and-back"))
        mapped_moves(0);
    else if (!strcmp(form, "mapped-moves"))
        mapped_moves(1);
    else
        exit(3);
}

int main(int argc, char **argv)
{
    OK(cudaMalloc((void **)&a, N * sizeof *a));
    OK(cudaMalloc((void **)&b, N * sizeof *b));
    OK(cudaMallocHost((void **)&host, N * sizeof *host));
    OK(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&unasked, cudaEventDisableTiming));
    run(argc > 1 ? argv[1] : "");
    OK(cudaDeviceSynchronize());
    OK(cudaEventDestroy(e));
    OK(cudaStreamDestroy(s1));
    OK(cudaStreamDestroy(s2));
    OK(cudaFreeHost(host));
    printf("done\n");
    return 0;
}
