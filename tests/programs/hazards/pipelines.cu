/* Pipelines with one thing forgotten, and their right twins ("right-" before the form's name): what
 * weir check must say of each is in pipelines.sh.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../ok.h"
#include "kernels.h"

enum { N = 6000, SLOTS = 2, ROUNDS = 5 };
static const size_t BYTES = N * sizeof(int);

struct slot {
    cudaStream_t stream;
    cudaEvent_t done;
    int *in, *out;  /* pinned */
    int *from, *to; /* of the device */
};

static struct slot slots[SLOTS];
static volatile int sink;

static unsigned blocks(void)
{
    return (N + 255) / 256;
}

static int *device_ints(void)
{
    int *p;

    OK(cudaMalloc(&p, BYTES));
    OK(cudaMemset(p, 0, BYTES));
    return p;
}

static void fill_in(int *p, int value)
{
    for (int i = 0; i < N; i++)
        p[i] = value;
}

static __attribute__((noinline)) void process(const int *p)
{
    for (int i = 0; i < N; i++)
        sink = p[i];
}

static void submit(struct slot *s)
{
    OK(cudaMemcpyAsync(s->from, s->in, BYTES, cudaMemcpyHostToDevice, s->stream));
    copy<<<blocks(), 256, 0, s->stream>>>(s->to, s->from, N);
    OK(cudaMemcpyAsync(s->out, s->to, BYTES, cudaMemcpyDeviceToHost, s->stream));
    OK(cudaEventRecord(s->done, s->stream));
}

/* A slot is filled again: its stream has waited, or the host. */
static void refill(bool right)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct slot *s = &slots[i % SLOTS];

        if (i >= SLOTS && right)
            OK(cudaEventSynchronize(s->done));
        else if (i >= SLOTS)
            OK(cudaStreamWaitEvent(s->stream, s->done, 0));
        fill_in(s->in, i);
        submit(s);
    }
}

/* A thread processes results; the slot goes on when it has begun, or when it has ended. */
static sem_t begins, ends, goes;

static void *processor(void *arg)
{
    bool right = arg != NULL;

    OK(cudaEventSynchronize(slots[0].done));
    if (!right) {
        sem_post(&begins);
        sem_wait(&goes);
    }
    process(slots[0].out);
    sem_post(right ? &begins : &ends);
    return NULL;
}

static void results(bool right)
{
    pthread_t t;

    sem_init(&begins, 0, 0);
    sem_init(&ends, 0, 0);
    sem_init(&goes, 0, 0);
    fill_in(slots[0].in, 1);
    submit(&slots[0]);
    pthread_create(&t, NULL, processor, right ? &slots[0] : NULL);
    sem_wait(&begins);
    submit(&slots[0]);
    sem_post(&goes);
    pthread_join(t, NULL);
}

static void prefetched(bool right)
{
    int *p;
    cudaMemLocation host = {};

    host.type = cudaMemLocationTypeHost;
    OK(cudaMallocManaged(&p, BYTES));
    fill<<<blocks(), 256, 0, slots[0].stream>>>(p, 3, N);
    OK(cudaMemPrefetchAsync(p, BYTES, host, 0, slots[0].stream));
    if (right)
        OK(cudaStreamSynchronize(slots[0].stream));
    process(p);
}

/* The graph copies from memory that is gone when it is launched. */
static void captured(bool right)
{
    int *input;
    cudaGraph_t g;
    cudaGraphExec_t x;
    cudaStream_t s = slots[0].stream;

    OK(cudaMallocHost(&input, BYTES));
    fill_in(input, 1);
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    OK(cudaMemcpyAsync(slots[0].from, input, BYTES, cudaMemcpyHostToDevice, s));
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaGraphInstantiate(&x, g, 0));
    if (!right)
        OK(cudaFreeHost(input));
    OK(cudaGraphLaunch(x, s));
    (void)cudaStreamSynchronize(s);
    if (right)
        OK(cudaFreeHost(input));
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
}

/* One event for both producers, or one each. */
static void one_event(bool right)
{
    cudaStream_t consumer;

    OK(cudaStreamCreateWithFlags(&consumer, cudaStreamNonBlocking));
    for (int i = 0; i < SLOTS; i++) {
        fill<<<blocks(), 256, 0, slots[i].stream>>>(slots[i].from, i, N);
        OK(cudaEventRecord(slots[right ? i : 0].done, slots[i].stream));
    }
    for (int i = 0; i < (right ? SLOTS : 1); i++)
        OK(cudaStreamWaitEvent(consumer, slots[i].done, 0));
    copy<<<blocks(), 256, 0, consumer>>>(slots[0].to, slots[0].from, N);
    copy<<<blocks(), 256, 0, consumer>>>(slots[1].to, slots[1].from, N);
}

/* Slots with one buffer on the device. */
static void shared_buffer(bool right)
{
    if (!right)
        slots[1].from = slots[0].from;
    for (int i = 0; i < SLOTS; i++) {
        fill_in(slots[i].in, i);
        submit(&slots[i]);
    }
}

/* The host waits for the stream of another slot. */
static void other_slot(bool right)
{
    submit(&slots[0]);
    submit(&slots[1]);
    OK(cudaStreamSynchronize(slots[right ? 1 : 0].stream));
    process(slots[1].out);
}

/* Copies and kernels in a stream each; the copy into a buffer waits for the buffer's last kernel
 * from the first time on that it is filled again, or from the next one on. */
static void off_by_one(bool right)
{
    cudaStream_t up = slots[0].stream, work = slots[1].stream;
    cudaEvent_t full[SLOTS], empty[SLOTS];
    int *buffer[SLOTS] = {slots[0].from, slots[1].from};

    for (int i = 0; i < SLOTS; i++) {
        OK(cudaEventCreateWithFlags(&full[i], cudaEventDisableTiming));
        OK(cudaEventCreateWithFlags(&empty[i], cudaEventDisableTiming));
    }
    fill_in(slots[0].in, 1);
    for (int i = 0; i < ROUNDS; i++) {
        int k = i % SLOTS;

        if (i >= SLOTS + !right)
            OK(cudaStreamWaitEvent(up, empty[k], 0));
        OK(cudaMemcpyAsync(buffer[k], slots[0].in, BYTES, cudaMemcpyHostToDevice, up));
        OK(cudaEventRecord(full[k], up));
        OK(cudaStreamWaitEvent(work, full[k], 0));
        copy<<<blocks(), 256, 0, work>>>(slots[0].to, buffer[k], N);
        OK(cudaEventRecord(empty[k], work));
    }
}

/* Two instances with one scratch buffer, launched in two streams. */
static void scratch(bool right)
{
    cudaGraph_t g;
    cudaGraphExec_t x[2];

    OK(cudaStreamBeginCapture(slots[0].stream, cudaStreamCaptureModeThreadLocal));
    fill<<<blocks(), 256, 0, slots[0].stream>>>(slots[0].from, 1, N);
    copy<<<blocks(), 256, 0, slots[0].stream>>>(slots[0].to, slots[0].from, N);
    OK(cudaStreamEndCapture(slots[0].stream, &g));
    for (int i = 0; i < 2; i++) {
        OK(cudaGraphInstantiate(&x[i], g, 0));
        OK(cudaGraphLaunch(x[i], slots[i].stream));
        OK(cudaEventRecord(slots[0].done, slots[i].stream));
        if (right)
            OK(cudaStreamWaitEvent(slots[1].stream, slots[0].done, 0));
    }
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 2; i++)
        OK(cudaGraphExecDestroy(x[i]));
    OK(cudaGraphDestroy(g));
}

/* When the copy has been submitted: what a host function does before is as if it were in order. */
static void CUDART_CB prepares(void *arg)
{
    sem_wait(&goes);
    fill_in((int *)arg, 5);
}

/* A host function prepares what another stream copies. */
static void prepared(bool right)
{
    struct slot *a = &slots[0], *b = &slots[1];

    sem_init(&goes, 0, 0);
    OK(cudaLaunchHostFunc(a->stream, prepares, a->in));
    OK(cudaEventRecord(a->done, a->stream));
    if (right)
        OK(cudaStreamWaitEvent(b->stream, a->done, 0));
    OK(cudaMemcpyAsync(b->from, a->in, BYTES, cudaMemcpyHostToDevice, b->stream));
    sem_post(&goes);
}

/* A slot of registered memory, whose event is asked for once, and not until it is complete. */
static void asked_once(bool right)
{
    static int memory[2 * N];
    cudaError_t e;

    OK(cudaHostRegister(memory, sizeof memory, cudaHostRegisterDefault));
    OK(cudaMemcpyAsync(memory, slots[0].to, sizeof memory / 2, cudaMemcpyDeviceToHost,
                       slots[0].stream));
    OK(cudaEventRecord(slots[0].done, slots[0].stream));
    do
        e = right ? cudaEventQuery(slots[0].done) : cudaEventQuery(slots[1].done);
    while (right && e == cudaErrorNotReady);
    process(memory);
    OK(cudaDeviceSynchronize());
    OK(cudaHostUnregister(memory));
}

static const struct {
    const char *name;
    void (*run)(bool right);
} forms[] = {
    {"refill", refill},         {"results", results},       {"prefetched", prefetched},
    {"captured", captured},     {"one-event", one_event},   {"shared-buffer", shared_buffer},
    {"other-slot", other_slot}, {"off-by-one", off_by_one}, {"scratch", scratch},
    {"prepared", prepared},     {"asked-once", asked_once},
};

int main(int argc, char **argv)
{
    const char *form = argc > 1 ? argv[1] : "";
    bool right = !strncmp(form, "right-", 6);

    for (int i = 0; i < SLOTS; i++) {
        OK(cudaStreamCreateWithFlags(&slots[i].stream, cudaStreamNonBlocking));
        OK(cudaEventCreateWithFlags(&slots[i].done, cudaEventDisableTiming));
        OK(cudaMallocHost(&slots[i].in, BYTES));
        OK(cudaMallocHost(&slots[i].out, BYTES));
        slots[i].from = device_ints();
        slots[i].to = device_ints();
    }
    OK(cudaDeviceSynchronize());
    for (const auto &f : forms)
        if (!strcmp(form + (right ? 6 : 0), f.name))
            f.run(right);
    (void)cudaDeviceSynchronize();
    printf("done\n");
    return 0;
}
