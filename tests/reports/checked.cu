/* What users reported, as they had it: wrong, and what weir check must say of it is in checked.sh.
 * The right forms are the programs beside this one, and here where it takes one more line.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../programs/ok.h"

enum { N = 1024 };

__global__ void fill(int *to, int value)
{
    to[threadIdx.x] = value;
}

__global__ void sum(int *to, const int *from)
{
    atomicAdd(to, from[threadIdx.x]);
}

static int *a, *b;
static cudaStream_t s1, s2;
static cudaEvent_t e;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static cudaStream_t make_stream(unsigned flags)
{
    cudaStream_t s;

    OK(cudaStreamCreateWithFlags(&s, flags));
    return s;
}

static void in_thread(void *(*run)(void *), void *arg)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, run, arg) != 0 || pthread_join(thread, NULL) != 0)
        exit(2);
}

/* P12: a synchronous copy of pageable memory, read in a non-blocking stream. */
static void P12(bool right)
{
    static int pageable[N];

    OK(cudaMemcpy(a, pageable, sizeof pageable, cudaMemcpyHostToDevice));
    if (right)
        OK(cudaStreamSynchronize(0));
    sum<<<1, N, 0, s1>>>(b, a);
}

/* P13: the host reads what a copy brings, step by step: it waits for nothing, or for an event that
 * was recorded before the copy. */
static void P13_step(bool waits, bool covers)
{
    static volatile int sink;
    int *h;

    OK(cudaMallocHost((void **)&h, N * sizeof *h));
    fill<<<1, N, 0, s1>>>(a, 3);
    if (!covers)
        OK(cudaEventRecord(e, s1));
    OK(cudaMemcpyAsync(h, a, N * sizeof *h, cudaMemcpyDeviceToHost, s1));
    if (covers)
        OK(cudaEventRecord(e, s1));
    if (waits)
        OK(cudaEventSynchronize(e));
    sink = h[0];
    OK(cudaStreamSynchronize(s1));
    OK(cudaFreeHost(h));
}

static void P13(bool right)
{
    P13_step(right, true);
}

static void P13_early(bool right)
{
    P13_step(true, right);
}

/* P15: memory that the side stream still copies from is given away again: by a cache of the
 * program's own, by cudaFreeAsync. */
static void P15(bool right)
{
    OK(cudaMemcpyAsync(b, a, N * sizeof *a, cudaMemcpyDeviceToDevice, s2));
    OK(cudaEventRecord(e, s2));
    if (right)
        OK(cudaStreamWaitEvent(s1, e, 0));
    fill<<<1, N, 0, s1>>>(a, 7);
}

static void P15_pool(bool right)
{
    int *p;

    OK(cudaMallocAsync((void **)&p, N * sizeof *p, s1));
    OK(cudaEventRecord(e, s1));
    OK(cudaStreamWaitEvent(s2, e, 0));
    OK(cudaMemcpyAsync(b, p, N * sizeof *a, cudaMemcpyDeviceToDevice, s2));
    OK(cudaEventRecord(e, s2));
    if (right)
        OK(cudaStreamWaitEvent(s1, e, 0));
    OK(cudaFreeAsync(p, s1));
}

/* P17: one block of memory in the hands of two threads, each in "the same" per-thread stream. */
static void *fill_mine(void *arg)
{
    fill<<<1, N, 0, cudaStreamPerThread>>>(a, 1);
    if (arg)
        OK(cudaStreamSynchronize(cudaStreamPerThread));
    return NULL;
}

static void P17(bool right)
{
    in_thread(fill_mine, right ? a : NULL);
    in_thread(fill_mine, a);
}

/* P18: one event for the ends of two streams. */
static void P18(bool right)
{
    fill<<<1, N, 0, s1>>>(a, 1);
    OK(cudaEventRecord(e, s1));
    if (right)
        OK(cudaStreamWaitEvent(cudaStreamPerThread, e, 0));
    OK(cudaEventRecord(e, s2));
    OK(cudaStreamWaitEvent(cudaStreamPerThread, e, 0));
    sum<<<1, N, 0, cudaStreamPerThread>>>(b, a);
    OK(cudaStreamSynchronize(cudaStreamPerThread));
}

/* P23: the host function needs the lock that the waiting thread holds. */
static void take_lock(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}

static void wait_with_lock(bool right, bool by_event)
{
    pthread_mutex_lock(&mutex);
    OK(cudaLaunchHostFunc(s1, take_lock, NULL));
    OK(cudaEventRecord(e, s1));
    if (right)
        pthread_mutex_unlock(&mutex);
    OK(by_event ? cudaEventSynchronize(e) : cudaStreamSynchronize(s1));
    if (!right)
        pthread_mutex_unlock(&mutex);
}

static void P23(bool right)
{
    wait_with_lock(right, false);
}

static void P23_event(bool right)
{
    wait_with_lock(right, true);
}

/* P28: a stream is made, and memory, while a kernel waits for the program. */
__global__ static void wait_for_flag(volatile int *flag)
{
    while (*flag == 0)
        ;
}

static void P28(bool right)
{
    cudaStream_t late;
    volatile int *flag;
    int *seen, *more;

    OK(cudaHostAlloc((void **)&flag, sizeof *flag, cudaHostAllocMapped));
    *flag = 0;
    OK(cudaHostGetDevicePointer((void **)&seen, (void *)flag, 0));
    if (right) {
        late = make_stream(cudaStreamNonBlocking);
        OK(cudaMalloc((void **)&more, N * sizeof *more));
    }
    wait_for_flag<<<1, 1, 0, s1>>>(seen);
    if (!right) {
        late = make_stream(cudaStreamNonBlocking);
        OK(cudaMalloc((void **)&more, N * sizeof *more));
    }
    *flag = 1;
    OK(cudaStreamSynchronize(s1));
    OK(cudaStreamDestroy(late));
    OK(cudaFree(more));
}

/* P31: another thread's wait breaks the capture. */
static void *wait_for_device(void *arg)
{
    (void)arg;
    GIVES(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
    cudaGetLastError();
    return NULL;
}

static void P31(bool right)
{
    cudaGraph_t graph;

    OK(cudaStreamBeginCapture(s1, cudaStreamCaptureModeGlobal));
    fill<<<1, N, 0, s1>>>(a, 1);
    if (!right)
        in_thread(wait_for_device, NULL);
    GIVES(cudaStreamEndCapture(s1, &graph),
          right ? cudaSuccess : cudaErrorStreamCaptureInvalidated);
    cudaGetLastError();
}

/* P32: the legacy default stream while a blocking stream captures. */
static void P32(bool right)
{
    cudaStream_t s = make_stream(right ? cudaStreamNonBlocking : cudaStreamDefault);
    cudaGraph_t graph;

    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    fill<<<1, N, 0, s>>>(a, 1);
    fill<<<1, N, 0, 0>>>(b, 1);
    GIVES(cudaGetLastError(), right ? cudaSuccess : cudaErrorStreamCaptureImplicit);
    GIVES(cudaStreamEndCapture(s, &graph), right ? cudaSuccess : cudaErrorStreamCaptureInvalidated);
    cudaGetLastError();
}

/* P86: an attribute of a pool during a capture. */
static void P86(bool right)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    unsigned long long all = ~0ull;
    cudaMemPool_t pool;
    cudaGraph_t graph;

    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    OK(cudaStreamBeginCapture(s1, cudaStreamCaptureModeGlobal));
    fill<<<1, N, 0, s1>>>(a, 1);
    if (right)
        OK(cudaThreadExchangeStreamCaptureMode(&mode));
    GIVES(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all),
          right ? cudaSuccess : cudaErrorStreamCaptureUnsupported);
    GIVES(cudaStreamEndCapture(s1, &graph),
          right ? cudaSuccess : cudaErrorStreamCaptureInvalidated);
    cudaGetLastError();
}

/* P41: what a captured copy reads is gone when the graph is launched. */
__attribute__((noinline)) static void capture_copy(const int *from)
{
    OK(cudaMemcpyAsync(a, from, 64 * sizeof *from, cudaMemcpyHostToDevice, s1));
}

__attribute__((noinline)) static void capture_of_stack(void)
{
    int local[4096];

    for (int i = 0; i < 4096; i++)
        local[i] = i;
    capture_copy(local);
}

static void launch_captured(void)
{
    cudaGraphExec_t exec;
    cudaGraph_t graph;

    OK(cudaStreamEndCapture(s1, &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, s1));
    OK(cudaStreamSynchronize(s1));
}

static void P41(bool right)
{
    static int kept[64];

    OK(cudaStreamBeginCapture(s1, cudaStreamCaptureModeGlobal));
    if (right)
        capture_copy(kept);
    else
        capture_of_stack();
    launch_captured();
}

/* P38: an update that is refused, and that the program deals with, is no mistake. */
static void P38(bool right)
{
    cudaGraphExecUpdateResultInfo info;
    cudaGraph_t one, two;
    cudaGraphExec_t exec;

    (void)right;
    OK(cudaStreamBeginCapture(s1, cudaStreamCaptureModeGlobal));
    fill<<<1, N, 0, s1>>>(a, 1);
    OK(cudaStreamEndCapture(s1, &one));
    OK(cudaStreamBeginCapture(s1, cudaStreamCaptureModeGlobal));
    fill<<<1, N, 0, s1>>>(a, 1);
    fill<<<1, N, 0, s1>>>(a, 2);
    OK(cudaStreamEndCapture(s1, &two));
    OK(cudaGraphInstantiate(&exec, one, 0));
    GIVES(cudaGraphExecUpdate(exec, two, &info), cudaErrorGraphExecUpdateFailure);
    cudaGetLastError();
}

/* P44, P45: why there is no elapsed time. */
static void P44(bool right)
{
    cudaEvent_t timed, never;
    float ms;

    OK(cudaEventCreate(&timed));
    OK(cudaEventCreate(&never));
    OK(cudaEventRecord(timed, s1));
    OK(cudaEventRecord(e, s1));
    OK(cudaEventRecord(never, s1));
    OK(cudaStreamSynchronize(s1));
    if (right) {
        OK(cudaEventElapsedTime(&ms, timed, never));
        return;
    }
    GIVES(cudaEventElapsedTime(&ms, timed, e), cudaErrorInvalidResourceHandle);
    cudaGetLastError();
}

/* P45: a time that is asked for before it can be there; it may be there all the same. */
static void P45(bool right)
{
    cudaEvent_t begin, end;
    float ms;

    OK(cudaEventCreate(&begin));
    OK(cudaEventCreate(&end));
    OK(cudaEventRecord(begin, s1));
    fill<<<1, N, 0, s1>>>(a, 1);
    OK(cudaEventRecord(end, s1));
    if (right)
        OK(cudaEventSynchronize(end));
    while (cudaEventElapsedTime(&ms, begin, end) == cudaErrorNotReady)
        ;
    sum<<<1, N, 0, s2>>>(b, a); /* the host knows now that the first is done */
}

/* P37: the one copy of a library that cannot be captured, and whose error nobody looks at. */
static void P37(bool right)
{
    void *to = b;
    const void *from = a;
    size_t bytes = N * sizeof *a, none = 0;
    struct cudaMemcpyAttributes how = {};
    cudaGraph_t graph;

    how.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    OK(cudaStreamBeginCapture(s1, cudaStreamCaptureModeRelaxed));
    fill<<<1, N, 0, s1>>>(a, 1);
    if (right)
        OK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, s1));
    else
        (void)cudaMemcpyBatchAsync(&to, &from, &bytes, 1, &how, &none, 1, s1);
    OK(cudaStreamEndCapture(s1, &graph));
    (void)cudaGetLastError();
}

/* P67: a function that there is not. */
extern "C" cudaError_t cudaArrayGetPlane(cudaArray_t *plane, cudaArray_t array, unsigned index);

static void P67(bool right)
{
    for (int i = 0; i < 3 && !right; i++)
        (void)cudaArrayGetPlane(NULL, NULL, 0);
    (void)cudaGetLastError();
}

/* P50: a priority that there is not. */
static void P50(bool right)
{
    cudaStream_t s;

    OK(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, right ? -1 : 3));
}

/* P62: used in two streams, freed behind one of them. */
static void P62(bool right)
{
    int *p;

    OK(cudaMallocAsync((void **)&p, N * sizeof *p, s1));
    fill<<<1, N, 0, s1>>>(p, 1);
    OK(cudaEventRecord(e, s1));
    OK(cudaStreamWaitEvent(s2, e, 0));
    sum<<<1, N, 0, s2>>>(b, p);
    OK(cudaFreeAsync(p, right ? s2 : s1));
}

/* P79: a library that works in the default stream puts it between two blocking streams, so that
 * nobody sees that they have no order of their own. */
static void P79(bool right)
{
    cudaStream_t first = make_stream(cudaStreamDefault), second = make_stream(cudaStreamDefault);
    int *of_library;

    OK(cudaMalloc((void **)&of_library, 64));
    fill<<<1, N, 0, first>>>(a, 1);
    OK(cudaEventRecord(e, first));
    fill<<<1, 1>>>(of_library, 0);
    if (right)
        OK(cudaStreamWaitEvent(second, e, 0));
    sum<<<1, N, 0, second>>>(b, a);
}

/* The same where an allocator gives memory back in between, which waits for the device. */
static void P79_free(bool right)
{
    int *other;

    OK(cudaMalloc((void **)&other, 64));
    fill<<<1, N, 0, s1>>>(a, 1);
    OK(cudaEventRecord(e, s1));
    OK(cudaFree(other));
    if (right)
        OK(cudaStreamWaitEvent(s2, e, 0));
    sum<<<1, N, 0, s2>>>(b, a);
}

/* P80: the next batch's input is copied while the graph of this one may still read the last. */
static void P80(bool right)
{
    cudaGraphExec_t exec;
    cudaGraph_t graph;
    int *pinned;

    OK(cudaMallocHost((void **)&pinned, N * sizeof *pinned));
    OK(cudaStreamBeginCapture(s1, cudaStreamCaptureModeGlobal));
    sum<<<1, N, 0, s1>>>(b, a);
    OK(cudaStreamEndCapture(s1, &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, s1));
    OK(cudaEventRecord(e, s1));
    if (right)
        OK(cudaStreamWaitEvent(cudaStreamPerThread, e, 0));
    OK(cudaMemcpyAsync(a, pinned, N * sizeof *a, cudaMemcpyHostToDevice, cudaStreamPerThread));
    OK(cudaDeviceSynchronize());
}

/* P65: a device without concurrentManagedAccess, on which the host touches managed memory while a
 * kernel uses other memory. */
static void P65(bool right)
{
    int *m;

    OK(cudaMallocManaged((void **)&m, N * sizeof *m));
    m[0] = 1;
    fill<<<1, N, 0, s1>>>(a, 1);
    if (right)
        OK(cudaStreamSynchronize(s1));
    m[0]++;
    OK(cudaDeviceSynchronize());
    OK(cudaFree(m));
}

static const struct {
    const char *name;
    void (*run)(bool right);
} reports[] = {
    {"P12", P12}, {"P13", P13},           {"P13-early", P13_early},
    {"P15", P15}, {"P15-pool", P15_pool}, {"P17", P17},
    {"P18", P18}, {"P23", P23},           {"P31", P31},
    {"P32", P32}, {"P38", P38},           {"P41", P41},
    {"P44", P44}, {"P50", P50},           {"P62", P62},
    {"P79", P79}, {"P79-free", P79_free}, {"P80", P80},
    {"P23-event", P23_event}, {"P28", P28},
    {"P86", P86}, {"P37", P37},           {"P45", P45},
    {"P67", P67}, {"P65", P65},
};

/* checked NAME [right] */
int main(int argc, char **argv)
{
    OK(cudaMalloc((void **)&a, N * sizeof *a));
    OK(cudaMalloc((void **)&b, N * sizeof *b));
    OK(cudaMemset(a, 0, N * sizeof *a));
    OK(cudaDeviceSynchronize());
    s1 = make_stream(cudaStreamNonBlocking);
    s2 = make_stream(cudaStreamNonBlocking);
    OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    for (size_t i = 0; i < sizeof reports / sizeof reports[0]; i++) {
        if (argc > 1 && strcmp(reports[i].name, argv[1]) == 0)
            reports[i].run(argc > 2);
    }
    OK(cudaDeviceSynchronize());
    puts("done");
    return 0;
}
