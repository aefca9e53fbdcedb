/* Threads: last errors are a thread's own; default streams of threads do not wait for each other
 * (ORD-006); many threads submit to their own streams, to shared ones and to the legacy stream at
 * once, and all work is done in order.
 * SPDX-License-Identifier: Apache-2.0 */
#include "conform.h"

#define THREADS 4
#define ROUNDS  500

static cudaStream_t shared_stream;
static _Atomic int ran;

static void count_one(void *arg)
{
    (void)arg;
    atomic_fetch_add(&ran, 1);
}

static void *work(void *arg)
{
    int id = (int)(long)arg, seen = 0;
    unsigned char *pinned;
    cudaStream_t s;
    cudaEvent_t e;

    EXPECT(cudaGetLastError(), cudaSuccess);
    EXPECT(cudaSetDevice(1000 + id), cudaErrorInvalidDevice);
    OK(cudaStreamCreateWithFlags(&s, id & 1 ? cudaStreamNonBlocking : cudaStreamDefault));
    OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    OK(cudaMallocHost((void **)&pinned, 256));
    for (int i = 0; i < ROUNDS; i++) {
        OK(cudaMemsetAsync(pinned, i, 64, s));
        OK(cudaEventRecord(e, s));
        OK(cudaStreamWaitEvent(shared_stream, e, 0));
        if (i % 16 == 0)
            OK(cudaMemsetAsync(pinned + 128, i, 1,
                               i % 32 ? cudaStreamLegacy : cudaStreamPerThread));
        if (i % 50 == 0)
            OK(cudaLaunchHostFunc(shared_stream, count_one, NULL));
        if (i % 100 == 99) {
            OK(cudaStreamSynchronize(s));
            seen += pinned[63] == (unsigned char)i;
        }
    }
    OK(cudaStreamSynchronize(shared_stream));
    CHECK(seen == ROUNDS / 100);
    EXPECT(cudaGetLastError(), cudaErrorInvalidDevice);
    OK(cudaStreamDestroy(s));
    OK(cudaEventDestroy(e));
    return NULL;
}

static void *use_default(void *arg)
{
    OK(cudaMemsetAsync(arg, 1, 1, cudaStreamPerThread));
    OK(cudaStreamSynchronize(cudaStreamPerThread));
    return NULL;
}

int main(void)
{
    pthread_t t[THREADS];
    unsigned char *pinned;
    struct hold h;

    OK(cudaStreamCreateWithFlags(&shared_stream, cudaStreamNonBlocking));
    for (long i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    OK(cudaDeviceSynchronize());
    CHECK(atomic_load(&ran) == THREADS * (ROUNDS / 50));
    EXPECT(cudaGetLastError(), cudaSuccess);
    /* another thread's default stream runs while this thread's is held */
    OK(cudaMallocHost((void **)&pinned, 64));
    *pinned = 0;
    hold_stream(&h, cudaStreamPerThread);
    pthread_create(&t[0], NULL, use_default, pinned);
    pthread_join(t[0], NULL);
    CHECK(*pinned == 1);
    hold_release(&h);
    OK(cudaDeviceSynchronize());
    return CONFORM_END();
}
