/* Host functions and the threads around them, built with ThreadSanitizer: tsan FORM. What it must
 * say of each form, and what it must not, is in tsan.sh.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t error = (call);                                                                \
        if (error != cudaSuccess) {                                                                \
            printf("%s: %s\n", #call, cudaGetErrorName(error));                                    \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#define MANY  200
#define BYTES (64 << 10)

static struct {
    cudaStream_t a, b; /* non-blocking */
    cudaStream_t blocking;
    cudaEvent_t event;
} g;

/* What this is about: a plain variable. */
static int value, sum;

/* Steps of the clock on the wall. Relaxed: they order nothing, so what no rule orders is a race
 * whatever comes first, and comes in the same order each time. */
static atomic_int step;

static void reach(int n)
{
    atomic_store_explicit(&step, n, memory_order_relaxed);
}

static void await(int n)
{
    while (atomic_load_explicit(&step, memory_order_relaxed) < n)
        ;
}

static void add(void *p)
{
    ++*(int *)p;
    reach(1);
}

static void look(void *p)
{
    sum += *(int *)p;
    reach(2);
}

static void look_late(void *p)
{
    await(1);
    look(p);
}

static void callback(cudaStream_t stream, cudaError_t status, void *p)
{
    (void)stream;
    (void)status;
    add(p);
}

/* ---- the host and a function ---- */

static void read_early(void)
{
    CHECK(cudaLaunchHostFunc(g.a, add, &value));
    await(1);
    sum = value;
}

static void wait_stream(void)
{
    CHECK(cudaLaunchHostFunc(g.a, add, &value));
    CHECK(cudaStreamSynchronize(g.a));
    sum = value;
}

static void wait_device(void)
{
    CHECK(cudaLaunchHostFunc(g.a, add, &value));
    CHECK(cudaDeviceSynchronize());
    sum = value;
}

static void wait_event(void)
{
    CHECK(cudaLaunchHostFunc(g.a, add, &value));
    CHECK(cudaEventRecord(g.event, g.a));
    CHECK(cudaEventSynchronize(g.event));
    sum = value;
}

static void wait_event_early(void)
{
    CHECK(cudaEventRecord(g.event, g.a));
    CHECK(cudaLaunchHostFunc(g.a, add, &value));
    CHECK(cudaEventSynchronize(g.event));
    await(1);
    sum = value;
}

static void ask_event(void)
{
    CHECK(cudaLaunchHostFunc(g.a, add, &value));
    CHECK(cudaEventRecord(g.event, g.a));
    while (cudaEventQuery(g.event) == cudaErrorNotReady)
        ;
    sum = value;
}

static void ask_stream(void)
{
    CHECK(cudaLaunchHostFunc(g.a, add, &value));
    while (cudaStreamQuery(g.a) == cudaErrorNotReady)
        ;
    sum = value;
}

static void wait_other(void)
{
    static int other;

    CHECK(cudaLaunchHostFunc(g.a, add, &value));
    CHECK(cudaLaunchHostFunc(g.b, add, &other));
    CHECK(cudaStreamSynchronize(g.b));
    await(1);
    sum = value;
}

/* A copy that is synchronous, behind the function by the legacy stream's rules. */
static void wait_copy(void)
{
    void *device;
    int got = 0;

    CHECK(cudaMalloc(&device, sizeof got));
    CHECK(cudaLaunchHostFunc(g.blocking, add, &value));
    CHECK(cudaMemcpy(&got, device, sizeof got, cudaMemcpyDeviceToHost));
    sum = value;
}

static void write_before(void)
{
    value = 5;
    CHECK(cudaLaunchHostFunc(g.a, look, &value));
    CHECK(cudaStreamSynchronize(g.a));
}

static void write_late(void)
{
    CHECK(cudaLaunchHostFunc(g.a, look_late, &value));
    value = 5;
    reach(1);
    CHECK(cudaStreamSynchronize(g.a));
}

static void call_back(void)
{
    CHECK(cudaStreamAddCallback(g.a, callback, &value, 0));
    CHECK(cudaStreamSynchronize(g.a));
    sum = value;
}

static void call_back_early(void)
{
    CHECK(cudaStreamAddCallback(g.a, callback, &value, 0));
    await(1);
    sum = value;
}

static void many(void)
{
    for (int i = 0; i < MANY; i++) {
        cudaStream_t s = i & 1 ? g.a : g.b;

        CHECK(cudaStreamWaitEvent(s, g.event, 0));
        CHECK(cudaLaunchHostFunc(s, add, &value));
        CHECK(cudaEventRecord(g.event, s));
    }
    CHECK(cudaEventSynchronize(g.event));
    if (value != MANY)
        printf("%d instead of %d\n", value, MANY);
}

/* ---- two functions, which one thread of Weir's runs ---- */

static void streams(void)
{
    CHECK(cudaLaunchHostFunc(g.a, add, &value));
    CHECK(cudaLaunchHostFunc(g.b, look, &value));
    CHECK(cudaDeviceSynchronize());
}

static void streams_event(void)
{
    CHECK(cudaLaunchHostFunc(g.a, add, &value));
    CHECK(cudaEventRecord(g.event, g.a));
    CHECK(cudaStreamWaitEvent(g.b, g.event, 0));
    CHECK(cudaLaunchHostFunc(g.b, look, &value));
    CHECK(cudaDeviceSynchronize());
}

static void streams_event_early(void)
{
    CHECK(cudaEventRecord(g.event, g.a));
    CHECK(cudaLaunchHostFunc(g.a, add, &value));
    CHECK(cudaStreamWaitEvent(g.b, g.event, 0));
    CHECK(cudaLaunchHostFunc(g.b, look, &value));
    CHECK(cudaDeviceSynchronize());
}

static void legacy(void)
{
    CHECK(cudaLaunchHostFunc(g.blocking, add, &value));
    CHECK(cudaLaunchHostFunc(0, look, &value));
    CHECK(cudaDeviceSynchronize());
}

static void legacy_beside(void)
{
    CHECK(cudaLaunchHostFunc(g.a, add, &value));
    CHECK(cudaLaunchHostFunc(0, look, &value));
    CHECK(cudaDeviceSynchronize());
}

/* ---- graphs ---- */

static cudaGraphExec_t two_nodes(bool edge)
{
    struct cudaHostNodeParams first = {.fn = add, .userData = &value};
    struct cudaHostNodeParams second = {.fn = look, .userData = &value};
    cudaGraphNode_t nodes[2];
    cudaGraphExec_t exec;
    cudaGraph_t graph;

    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddHostNode(&nodes[0], graph, NULL, 0, &first));
    CHECK(cudaGraphAddHostNode(&nodes[1], graph, nodes, edge, &second));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    return exec;
}

static void graph_edge(void)
{
    CHECK(cudaGraphLaunch(two_nodes(true), g.a));
    CHECK(cudaStreamSynchronize(g.a));
    sum += value;
}

static void graph_beside(void)
{
    CHECK(cudaGraphLaunch(two_nodes(false), g.a));
    CHECK(cudaStreamSynchronize(g.a));
}

static void graph_early(void)
{
    CHECK(cudaGraphLaunch(two_nodes(true), g.a));
    await(2);
    sum += value;
}

/* Launches of one instance follow each other in any streams (ORD-030). */
static void graph_again(void)
{
    cudaGraphExec_t exec = two_nodes(true);

    for (int i = 0; i < 4; i++)
        CHECK(cudaGraphLaunch(exec, i & 1 ? g.a : g.b));
    CHECK(cudaStreamSynchronize(g.a));
    sum += value;
}

static void graph_then_function(void)
{
    CHECK(cudaGraphLaunch(two_nodes(true), g.a));
    CHECK(cudaLaunchHostFunc(g.a, add, &value));
    CHECK(cudaStreamSynchronize(g.a));
}

/* ---- threads ---- */

static void *submit(void *arg)
{
    (void)arg;
    value = 7;
    CHECK(cudaLaunchHostFunc(g.a, add, &value));
    return NULL;
}

static void thread_submits(void)
{
    pthread_t t;

    pthread_create(&t, NULL, submit, NULL);
    pthread_join(t, NULL);
    CHECK(cudaStreamSynchronize(g.a));
    sum = value;
}

static void *synchronise(void *arg)
{
    (void)arg;
    CHECK(cudaStreamSynchronize(g.a));
    reach(3);
    return NULL;
}

/* Who waits knows; who is told by nothing that orders does not. */
static void thread_waits(void)
{
    pthread_t t;

    CHECK(cudaLaunchHostFunc(g.a, add, &value));
    pthread_create(&t, NULL, synchronise, NULL);
    await(3);
    sum = value;
    pthread_join(t, NULL);
}

static void thread_waits_joined(void)
{
    pthread_t t;

    CHECK(cudaLaunchHostFunc(g.a, add, &value));
    pthread_create(&t, NULL, synchronise, NULL);
    pthread_join(t, NULL);
    sum = value;
}

/* ---- what Weir itself does is nothing to tell of ---- */

/* Engines, and threads that help them, copy what other threads have written. */
static void *copies(void *arg)
{
    char *pinned, *device, *back = malloc(BYTES);
    cudaStream_t s;

    CHECK(cudaMallocHost((void **)&pinned, BYTES));
    CHECK(cudaMalloc((void **)&device, BYTES));
    CHECK(cudaStreamCreate(&s));
    for (int i = 0; i < 20; i++) {
        memset(pinned, i, BYTES);
        CHECK(cudaMemcpyAsync(device, pinned, BYTES, cudaMemcpyHostToDevice, s));
        CHECK(cudaMemsetAsync(device, i + 1, BYTES / 2, s));
        CHECK(cudaMemcpyAsync(pinned, device, BYTES, cudaMemcpyDeviceToHost, s));
        CHECK(cudaStreamSynchronize(s));
        if (pinned[0] != i + 1 || pinned[BYTES - 1] != i)
            printf("wrong bytes\n");
        CHECK(cudaMemcpy(back, device, BYTES, cudaMemcpyDeviceToHost));
        if (memcmp(back, pinned, BYTES) != 0)
            printf("wrong copy\n");
    }
    CHECK(cudaFree(device));
    CHECK(cudaFreeHost(pinned));
    free(back);
    return arg;
}

static void four_threads(void)
{
    pthread_t t[4];

    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, copies, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
}

/* Slots that go round: filled by the host, emptied by functions, and given back by an event. */
static int slots[3], results[30];

static void empty(void *p)
{
    int *slot = p;

    results[*slot] = *slot * 2;
}

static void pipeline(void)
{
    cudaEvent_t free_again[3];

    for (int i = 0; i < 3; i++)
        CHECK(cudaEventCreateWithFlags(&free_again[i], cudaEventDisableTiming));
    for (int i = 0; i < 30; i++) {
        cudaStream_t s = i & 1 ? g.a : g.b;

        CHECK(cudaEventSynchronize(free_again[i % 3]));
        slots[i % 3] = i;
        CHECK(cudaLaunchHostFunc(s, empty, &slots[i % 3]));
        CHECK(cudaEventRecord(free_again[i % 3], s));
    }
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 30; i++)
        sum += results[i];
}

/* Memory that weir check watches: the fault is Weir's, and the sanitizer sees none. */
static void pinned_early(void)
{
    int *pinned;
    void *device;

    CHECK(cudaMallocHost((void **)&pinned, BYTES));
    CHECK(cudaMalloc(&device, BYTES));
    CHECK(cudaMemcpyAsync(pinned, device, BYTES, cudaMemcpyDeviceToHost, g.a));
    for (int i = 0; i < 100; i++)
        sum += pinned[i];
    CHECK(cudaStreamSynchronize(g.a));
}

static const struct {
    const char *name;
    void (*run)(void);
} forms[] = {
    {"read-early", read_early},
    {"wait-stream", wait_stream},
    {"wait-device", wait_device},
    {"wait-event", wait_event},
    {"wait-event-early", wait_event_early},
    {"ask-event", ask_event},
    {"ask-stream", ask_stream},
    {"wait-other", wait_other},
    {"wait-copy", wait_copy},
    {"write-before", write_before},
    {"write-late", write_late},
    {"call-back", call_back},
    {"call-back-early", call_back_early},
    {"many", many},
    {"streams", streams},
    {"streams-event", streams_event},
    {"streams-event-early", streams_event_early},
    {"legacy", legacy},
    {"legacy-beside", legacy_beside},
    {"graph-edge", graph_edge},
    {"graph-beside", graph_beside},
    {"graph-early", graph_early},
    {"graph-again", graph_again},
    {"graph-then-function", graph_then_function},
    {"thread-submits", thread_submits},
    {"thread-waits", thread_waits},
    {"thread-waits-joined", thread_waits_joined},
    {"copies", four_threads},
    {"pipeline", pipeline},
    {"pinned-early", pinned_early},
};

int main(int argc, char **argv)
{
    CHECK(cudaStreamCreateWithFlags(&g.a, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&g.b, cudaStreamNonBlocking));
    CHECK(cudaStreamCreate(&g.blocking));
    CHECK(cudaEventCreate(&g.event));
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (argc < 2 || strcmp(argv[1], forms[i].name) != 0)
            continue;
        forms[i].run();
        puts("done");
        return 0;
    }
    puts("which form?");
    return 2;
}
