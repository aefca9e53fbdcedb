// Programs for weir explore: orders.cu FORM ends with 1 when its result is wrong. Those that are wrong are right in the order
// of their submission; the others are right in every order that CUDA promises.
// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../ok.h"

#define N 1024

__global__ void fill(int *p, int value) { p[blockIdx.x * blockDim.x + threadIdx.x] = value; }
__global__ void copy(int *to, const int *from)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    to[i] = from[i];
}
__global__ void wait_for(volatile int *flag, int *seen)
{
    while (*flag == 0) {
    }
    *seen = 1;
}
__global__ void raise(volatile int *flag) { *flag = 1; }

__global__ void ends(int *to, const int *from)
{
    to[0] = from[0];
    to[1] = from[N - 1];
}
// Each block waits for all others.
__global__ void meet(int *count, int *p)
{
    atomicAdd(count, 1);
    while (atomicAdd(count, 0) < gridDim.x) {
    }
    p[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

static cudaStream_t s1, s2, s3;
static cudaEvent_t event;
static int *a, *b, *c, *pinned, *result;

static bool is_all(const int *p, int value)
{
    for (int i = 0; i < N; i++)
        if (p[i] != value)
            return false;
    return true;
}

static bool fetch_is_all(const int *p, int value)
{
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(result, p, N * sizeof(int), cudaMemcpyDeviceToHost));
    return is_all(result, value);
}

static bool two_streams(bool ordered)
{
    for (int i = 0; i < 3; i++) // nothing to do with it
        fill<<<N / 256, 256, 0, s3>>>(c, i);
    fill<<<N / 256, 256, 0, s1>>>(a, 1);
    if (ordered) {
        OK(cudaEventRecord(event, s1));
        OK(cudaStreamWaitEvent(s2, event, 0));
    }
    copy<<<N / 256, 256, 0, s2>>>(b, a);
    return fetch_is_all(b, 1);
}

static bool early_kernel(bool ordered)
{
    for (int i = 0; i < N; i++)
        pinned[i] = 3;
    OK(cudaMemcpyAsync(a, pinned, N * sizeof(int), cudaMemcpyHostToDevice, s1));
    if (ordered)
        OK(cudaStreamSynchronize(s1));
    copy<<<N / 256, 256, 0, s2>>>(b, a);
    return fetch_is_all(b, 3);
}

static bool source_again(bool ordered)
{
    for (int i = 0; i < N; i++)
        pinned[i] = 5;
    OK(cudaMemcpyAsync(a, pinned, N * sizeof(int), cudaMemcpyHostToDevice, s1));
    if (ordered)
        OK(cudaStreamSynchronize(s1));
    for (int i = 0; i < N; i++)
        pinned[i] = 6;
    return fetch_is_all(a, 5);
}

// Three slots, but one place that the program fills them from.
static bool refill(bool ordered)
{
    cudaStream_t streams[] = {s1, s2, s3};
    int *slots[] = {a, b, c};
    bool right = true;

    for (int k = 0; k < 6; k++) {
        pinned[0] = k;
        OK(cudaMemcpyAsync(slots[k % 3], pinned, sizeof(int), cudaMemcpyHostToDevice, streams[k % 3]));
        if (ordered)
            OK(cudaStreamSynchronize(streams[k % 3]));
        OK(cudaMemcpyAsync(result + k, slots[k % 3], sizeof(int), cudaMemcpyDeviceToHost, streams[k % 3]));
    }
    OK(cudaDeviceSynchronize());
    for (int k = 0; k < 6; k++)
        right = right && result[k] == k;
    return right;
}

// Of the old or of the new, as long as what happens at the same time does not mix.
static bool torn_copy(bool ordered)
{
    for (int i = 0; i < N; i++)
        pinned[i] = 3;
    OK(cudaMemcpyAsync(a, pinned, N * sizeof(int), cudaMemcpyHostToDevice, s1));
    if (ordered)
        OK(cudaStreamSynchronize(s1));
    ends<<<1, 1, 0, s2>>>(b, a);
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(result, b, 2 * sizeof(int), cudaMemcpyDeviceToHost));
    return result[0] == result[1];
}

static bool torn_rows(bool ordered)
{
    for (int i = 0; i < N; i++)
        pinned[i] = 3;
    OK(cudaMemcpy2DAsync(a, 8, pinned, 8, 8, N / 2, cudaMemcpyHostToDevice, s1));
    if (ordered)
        OK(cudaStreamSynchronize(s1));
    ends<<<1, 1, 0, s2>>>(b, a);
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(result, b, 2 * sizeof(int), cudaMemcpyDeviceToHost));
    return result[0] == result[1];
}

static bool torn_memset(bool ordered)
{
    OK(cudaMemsetAsync(a, 1, N * sizeof(int), s1));
    if (ordered)
        OK(cudaStreamSynchronize(s1));
    OK(cudaMemcpyAsync(pinned, a, N * sizeof(int), cudaMemcpyDeviceToHost, s2));
    OK(cudaDeviceSynchronize());
    return is_all(pinned, pinned[0]);
}

static bool torn_kernel(bool ordered)
{
    fill<<<N / 256, 256, 0, s1>>>(a, 1);
    if (ordered)
        OK(cudaStreamSynchronize(s1));
    fill<<<N / 256, 256, 0, s2>>>(a, 2);
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(result, a, N * sizeof(int), cudaMemcpyDeviceToHost));
    return is_all(result, result[0]);
}

static bool torn_graph(bool ordered)
{
    cudaGraph_t g;
    cudaGraphExec_t x;
    cudaGraphNode_t nodes[2];
    cudaMemsetParams set = {};

    set.dst = a;
    set.elementSize = 4;
    set.width = N;
    set.height = 1;
    OK(cudaGraphCreate(&g, 0));
    for (int i = 0; i < 2; i++) {
        set.value = 5 + i;
        OK(cudaGraphAddMemsetNode(&nodes[i], g, nodes, ordered ? i : 0, &set));
    }
    OK(cudaGraphInstantiate(&x, g, 0));
    for (int i = 0; i < 2; i++)
        OK(cudaGraphLaunch(x, s1));
    OK(cudaStreamSynchronize(s1));
    OK(cudaMemcpy(result, a, N * sizeof(int), cudaMemcpyDeviceToHost));
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
    return is_all(result, result[0]);
}

static bool meeting(void)
{
    OK(cudaMemset(b, 0, sizeof(int)));
    OK(cudaDeviceSynchronize());
    meet<<<N / 256, 256, 0, s1>>>(b, a);
    fill<<<N / 256, 256, 0, s2>>>(c, 1);
    return fetch_is_all(a, 1);
}

// Which of both is the last nobody looks at.
static bool unseen(bool ordered)
{
    fill<<<N / 256, 256, 0, s1>>>(a, 1);
    if (ordered)
        OK(cudaStreamSynchronize(s1));
    fill<<<N / 256, 256, 0, s2>>>(a, 2);
    OK(cudaDeviceSynchronize());
    return true;
}

// What a copy carried, though another carries the same last.
static bool carried(bool ordered)
{
    for (int i = 0; i < 2; i++) {
        pinned[0] = i;
        OK(cudaMemcpyAsync(a, pinned, sizeof(int), cudaMemcpyHostToDevice, s1));
        if (ordered)
            OK(cudaStreamSynchronize(s1));
    }
    OK(cudaDeviceSynchronize());
    return true;
}

static bool polls(void)
{
    fill<<<N / 256, 256, 0, s1>>>(a, 7);
    OK(cudaEventRecord(event, s1));
    while (cudaEventQuery(event) == cudaErrorNotReady) {
    }
    while (cudaStreamQuery(s1) == cudaErrorNotReady) {
    }
    copy<<<N / 256, 256, 0, s2>>>(b, a);
    return fetch_is_all(b, 7);
}

// A kernel that waits for the host, and one that waits for a kernel of another stream.
static bool flags(void)
{
    int *flag;

    OK(cudaHostAlloc(&flag, 2 * sizeof *flag, cudaHostAllocMapped));
    flag[0] = flag[1] = 0;
    OK(cudaMemset(b, 0, 2 * sizeof(int)));
    OK(cudaDeviceSynchronize()); // no other stream waits for the memset
    wait_for<<<1, 1, 0, s1>>>(flag, b);
    wait_for<<<1, 1, 0, s2>>>(flag + 1, b + 1);
    raise<<<1, 1, 0, s3>>>(flag + 1);
    *(volatile int *)flag = 1;
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(result, b, 2 * sizeof(int), cudaMemcpyDeviceToHost));
    return result[0] == 1 && result[1] == 1;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int arrived;

static void CUDART_CB arrive(void *)
{
    pthread_mutex_lock(&mutex);
    arrived++;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&mutex);
}

// The host function takes a mutex that is held at its submission; the host waits for it without CUDA.
static bool host_functions(void)
{
    pthread_mutex_lock(&mutex);
    fill<<<N / 256, 256, 0, s1>>>(a, 9);
    OK(cudaLaunchHostFunc(s1, arrive, nullptr));
    OK(cudaLaunchHostFunc(s2, arrive, nullptr));
    while (arrived < 2)
        pthread_cond_wait(&cond, &mutex);
    pthread_mutex_unlock(&mutex);
    copy<<<N / 256, 256, 0, s3>>>(b, a); // the host saw the host function that is behind fill
    return fetch_is_all(b, 9);
}

static void *worker(void *ordered)
{
    fill<<<N / 256, 256, 0, s1>>>(a, 4);
    if (ordered)
        OK(cudaStreamSynchronize(s1));
    return nullptr;
}

static bool threads(bool ordered)
{
    pthread_t t;

    pthread_create(&t, nullptr, worker, ordered ? &t : nullptr);
    fill<<<N / 256, 256, 0, s3>>>(c, 4);
    pthread_join(t, nullptr);
    copy<<<N / 256, 256, 0, s2>>>(b, a);
    return fetch_is_all(b, 4);
}

// One after the other, each beside the main thread.
static bool many(void)
{
    for (int i = 0; i < 300; i++) {
        pthread_t t;

        pthread_create(&t, nullptr, worker, nullptr);
        fill<<<N / 256, 256, 0, s3>>>(c, i);
        pthread_join(t, nullptr);
    }
    OK(cudaDeviceSynchronize());
    return true;
}

static int ready;

static void *poller(void *)
{
    while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
        usleep(50);
    copy<<<N / 256, 256, 0, s2>>>(b, a);
    return nullptr;
}

// A thread that looks at memory, with pauses, while the other makes calls.
static bool pauses(void)
{
    pthread_t t;

    pthread_create(&t, nullptr, poller, nullptr);
    for (int i = 0; i < 4; i++)
        fill<<<N / 256, 256, 0, s1>>>(a, i);
    OK(cudaStreamSynchronize(s1));
    __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
    pthread_join(t, nullptr);
    return fetch_is_all(b, 3);
}

static bool graph(bool ordered)
{
    cudaGraph_t g;
    cudaGraphExec_t x;
    cudaEvent_t end;

    OK(cudaEventCreateWithFlags(&end, cudaEventDisableTiming));
    OK(cudaStreamBeginCapture(s1, cudaStreamCaptureModeThreadLocal));
    OK(cudaEventRecord(event, s1));
    OK(cudaStreamWaitEvent(s2, event, 0));
    fill<<<N / 256, 256, 0, s1>>>(a, 8);
    if (ordered) {
        OK(cudaEventRecord(event, s1));
        OK(cudaStreamWaitEvent(s2, event, 0));
    }
    copy<<<N / 256, 256, 0, s2>>>(b, a);
    OK(cudaEventRecord(end, s2));
    OK(cudaStreamWaitEvent(s1, end, 0));
    OK(cudaStreamEndCapture(s1, &g));
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphLaunch(x, s1));
    ordered = fetch_is_all(b, 8);
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
    OK(cudaEventDestroy(end));
    OK(cudaEventDestroy(event)); // (a captured record stays with its event)
    return ordered;
}

static char names[64];
static int named;

static void CUDART_CB note(void *name) { names[named++] = *(const char *)name; }

// Prints in which order twelve host functions of three streams ran, and which of them before the host's second half.
static bool order(void)
{
    static const char letters[] = "abcdefghijkl";
    cudaStream_t streams[] = {s1, s2, s3};

    for (int i = 0; i < 12; i++) {
        OK(cudaLaunchHostFunc(streams[i % 3], note, (void *)(letters + i)));
        if (i == 5)
            names[named++] = '-'; // (only one of both threads runs at a time)
    }
    OK(cudaDeviceSynchronize());
    puts(names);
    return true;
}

static bool crash(void)
{
    if (!two_streams(false))
        abort();
    return true;
}

static bool hang(void)
{
    while (!two_streams(false))
        pause();
    return true;
}

int main(int argc, char **argv)
{
    const char *form = argc > 1 ? argv[1] : "";
    static const struct {
        const char *name;
        bool (*run)(bool);
    } pairs[] = {{"streams", two_streams}, {"kernel", early_kernel}, {"source", source_again},
                 {"threads", threads},     {"graph", graph},         {"unseen", unseen},
                 {"carried", carried}, {"refill", refill},     {"torn-copy", torn_copy}, {"torn-rows", torn_rows},
                 {"torn-memset", torn_memset}, {"torn-kernel", torn_kernel}, {"torn-graph", torn_graph}};
    static const struct {
        const char *name;
        bool (*run)(void);
    } single[] = {{"polls", polls}, {"flags", flags}, {"host-functions", host_functions},
                  {"order", order}, {"crash", crash}, {"hang", hang},
                  {"meeting", meeting}, {"pauses", pauses}, {"many", many}};

    OK(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&s3, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    OK(cudaMalloc(&a, N * sizeof(int)));
    OK(cudaMalloc(&b, N * sizeof(int)));
    OK(cudaMalloc(&c, N * sizeof(int)));
    OK(cudaMallocHost(&pinned, N * sizeof(int)));
    OK(cudaMallocHost(&result, N * sizeof(int)));
    OK(cudaMemset(a, 0, N * sizeof(int)));
    OK(cudaDeviceSynchronize());
    for (auto &p : pairs) {
        size_t n = strlen(p.name);

        if (strncmp(form, p.name, n) == 0 && (!form[n] || strcmp(form + n, "-ordered") == 0))
            return p.run(form[n] != 0) ? 0 : 1;
    }
    for (auto &p : single)
        if (strcmp(form, p.name) == 0)
            return p.run() ? 0 : 1;
    fprintf(stderr, "no form %s\n", form);
    return 2;
}
