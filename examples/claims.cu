/* What tutorials say about streams, taken at its word, and the same as it has to be: docs/guide/claims.md has the list.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   claims [--form CLAIM|CLAIM-right]
 *
 * destroy  "cudaStreamDestroy waits for the stream's work": the host reads a result behind it
 * slot     "a wait in the stream for its own event protects the slot's buffers": the host refills one behind it
 * scratch  "a scratch buffer may be shared, each stream uses it for a moment only"
 * pageable "an asynchronous copy of pageable memory is synchronous": another stream uses it at once
 * event    "an event stands for the stream's work, now and later": what was submitted after the record is relied on
 * device   "a stream of the second device waits for the first one's default stream" (two devices)
 *
 * Each is a race, which may well go right; the -right form has the one line that is missing. */
#include "common.h"

enum { N = 1 << 18, BYTES = N * (int)sizeof(int) };

__global__ void set(int *to, int value)
{
    to[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

__global__ void add(int *to, const int *from, int value)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i] + value;
}

static int *a, *b, *host;
static cudaStream_t s1, s2;
static cudaEvent_t event;

static void set_all(int *to, int value, cudaStream_t stream)
{
    set<<<N / 256, 256, 0, stream>>>(to, value);
    CHECK(cudaGetLastError());
}

static void add_all(int *to, const int *from, int value, cudaStream_t stream)
{
    add<<<N / 256, 256, 0, stream>>>(to, from, value);
    CHECK(cudaGetLastError());
}

static int wrong(const int *values, int wanted)
{
    int count = 0;
    for (int i = 0; i < N; i++)
        count += values[i] != wanted;
    return count;
}

static int destroyed(bool right)
{
    cudaStream_t s;
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    set_all(a, 7, s);
    CHECK(cudaMemcpyAsync(host, a, BYTES, cudaMemcpyDeviceToHost, s));
    if (right)
        CHECK(cudaStreamSynchronize(s));
    CHECK(cudaStreamDestroy(s)); /* comes back at once; the work goes on (ORD-009) */
    return wrong(host, 7);
}

static int slot(bool right)
{
    for (int i = 0; i < N; i++)
        host[i] = 1;
    CHECK(cudaMemcpyAsync(a, host, BYTES, cudaMemcpyHostToDevice, s1));
    CHECK(cudaEventRecord(event, s1));
    CHECK(cudaStreamWaitEvent(s1, event, 0)); /* makes the stream wait, which it does anyway; never the host (ORD-024) */
    if (right)
        CHECK(cudaEventSynchronize(event));
    for (int i = 0; i < N; i++)
        host[i] = 2;
    CHECK(cudaMemcpyAsync(b, host, BYTES, cudaMemcpyHostToDevice, s1));
    CHECK(cudaStreamSynchronize(s1));
    CHECK(cudaMemcpy(host, a, BYTES, cudaMemcpyDeviceToHost));
    return wrong(host, 1);
}

static int scratch(bool right)
{
    int *own, *between[2], count;
    CHECK(cudaMalloc(&own, BYTES));
    between[0] = a;
    between[1] = right ? own : a;
    set_all(between[0], 1, s1);
    add_all(b, between[0], 0, s1);
    set_all(between[1], 2, s2); /* streams have no order (ORD-002) */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(host, b, BYTES, cudaMemcpyDeviceToHost));
    count = wrong(host, 1);
    CHECK(cudaFree(own));
    return count;
}

static int pageable(bool right)
{
    static int ordinary[N];
    for (int i = 0; i < N; i++)
        ordinary[i] = 3;
    CHECK(cudaMemcpyAsync(a, ordinary, BYTES, cudaMemcpyHostToDevice, s1)); /* has read its source, at most (ORD-067) */
    if (right) {
        CHECK(cudaEventRecord(event, s1));
        CHECK(cudaStreamWaitEvent(s2, event, 0));
    }
    add_all(b, a, 1, s2);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(host, b, BYTES, cudaMemcpyDeviceToHost));
    return wrong(host, 4);
}

static int later(bool right)
{
    set_all(a, 1, s1);
    CHECK(cudaEventRecord(event, s1)); /* what is in the stream now, and nothing that comes later (ORD-020) */
    set_all(a, 5, s1);
    if (right)
        CHECK(cudaEventRecord(event, s1));
    CHECK(cudaStreamWaitEvent(s2, event, 0));
    add_all(b, a, 1, s2);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(host, b, BYTES, cudaMemcpyDeviceToHost));
    return wrong(host, 6);
}

static int second_device(bool right)
{
    int devices, *there, count;
    cudaStream_t other; /* a blocking one: it would wait for its own device's default stream */
    CHECK(cudaGetDeviceCount(&devices));
    if (devices < 2) {
        printf("two devices are needed (weir run --devices 2)\n");
        return 0;
    }
    set_all(a, 8, 0);
    CHECK(cudaEventRecord(event, 0));
    CHECK(cudaSetDevice(1));
    CHECK(cudaMalloc(&there, BYTES));
    CHECK(cudaStreamCreate(&other));
    if (right)
        CHECK(cudaStreamWaitEvent(other, event, 0));
    CHECK(cudaMemcpyPeerAsync(there, 1, a, 0, BYTES, other)); /* each device has a default stream of its own (ORD-011) */
    CHECK(cudaStreamSynchronize(other));
    CHECK(cudaMemcpy(host, there, BYTES, cudaMemcpyDeviceToHost));
    count = wrong(host, 8);
    CHECK(cudaFree(there));
    CHECK(cudaStreamDestroy(other));
    CHECK(cudaSetDevice(0));
    return count;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(bool right);
    } claims[] = {{"destroy", destroyed}, {"slot", slot},   {"scratch", scratch},
                  {"pageable", pageable}, {"event", later}, {"device", second_device}};
    const char *form = option(argc, argv, "--form", "destroy-right");
    int count = -1;

    CHECK(cudaMalloc(&a, BYTES));
    CHECK(cudaMalloc(&b, BYTES));
    CHECK(cudaMallocHost(&host, BYTES));
    CHECK(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    for (auto &claim : claims) {
        const size_t length = strlen(claim.name);
        if (!strncmp(form, claim.name, length) && (!form[length] || !strcmp(form + length, "-right")))
            count = claim.run(form[length] != 0);
    }
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFreeHost(host));
    CHECK(cudaStreamDestroy(s1));
    CHECK(cudaStreamDestroy(s2));
    CHECK(cudaEventDestroy(event));
    if (count < 0) {
        fprintf(stderr, "claims: --form destroy slot scratch pageable event device, or one of them with -right\n");
        return 2;
    }
    printf("%s: %d of %d values are not what they should be\n", form, count, N);
    printf("RESULT %s %d wrong\n", count ? "FAIL" : "PASS", count);
    return count != 0;
}
