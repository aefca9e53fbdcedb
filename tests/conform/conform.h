/* For the tests of the runtime API: plain C over the public interface, so that the same source also
 * runs on a GPU. A stream is held by a host function that waits (no kernel needed), or by a kernel
 * that spins on a mapped flag.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TESTS_CONFORM_H
#define WEIR_TESTS_CONFORM_H

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int conform_failures;

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #cond);                     \
            conform_failures++;                                                                    \
        }                                                                                          \
    } while (0)

/* The call gives this error code. */
#define EXPECT(call, code)                                                                         \
    do {                                                                                           \
        cudaError_t conform_err = (call);                                                          \
        if (conform_err != (code)) {                                                               \
            fprintf(stderr, "%s:%d: %s gives %s, expected %s\n", __FILE__, __LINE__, #call,        \
                    cudaGetErrorName(conform_err), cudaGetErrorName(code));                        \
            conform_failures++;                                                                    \
        }                                                                                          \
    } while (0)
#define OK(call) EXPECT(call, cudaSuccess)

#define CONFORM_END() (conform_failures ? (fprintf(stderr, "%d failed\n", conform_failures), 1) : 0)

static inline double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static inline void sleep_ms(int ms)
{
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};

    nanosleep(&t, NULL);
}

/* ---- holding a stream ---- */

struct hold {
    _Atomic int release, entered, left;
};

static inline void hold_wait(void *arg)
{
    struct hold *h = arg;

    atomic_store(&h->entered, 1);
    for (int i = 0; i < 60000 && !atomic_load(&h->release); i++)
        sleep_ms(1);
    atomic_store(&h->left, 1);
}

static inline void hold_stream(struct hold *h, cudaStream_t s)
{
    atomic_store(&h->release, 0);
    atomic_store(&h->entered, 0);
    atomic_store(&h->left, 0);
    OK(cudaLaunchHostFunc(s, hold_wait, h));
    for (int i = 0; i < 60000 && !atomic_load(&h->entered); i++)
        sleep_ms(1);
    CHECK(atomic_load(&h->entered));
}

static inline void hold_release(struct hold *h)
{
    atomic_store(&h->release, 1);
    while (!atomic_load(&h->left)) /* it may be used again at once */
        sleep_ms(1);
}

/* ---- does a call come back while something is held? ---- */

struct blocking_call {
    cudaError_t (*call)(void *arg);
    void *arg;
    _Atomic int done;
    cudaError_t err;
    int device;
};

static inline void *blocking_thread(void *p)
{
    struct blocking_call *b = p;

    cudaSetDevice(b->device);
    b->err = b->call(b->arg);
    atomic_store(&b->done, 1);
    return NULL;
}

/* True when call(arg) has not come back after `ms`; then the hold is released, and it must come
 * back. */
static inline bool blocks_until_released(struct hold *h, cudaError_t (*call)(void *arg), void *arg,
                                         int ms)
{
    struct blocking_call b = {.call = call, .arg = arg};
    pthread_t t;
    bool blocked;

    pthread_create(&t, NULL, blocking_thread, &b);
    for (int i = 0; i < ms && !atomic_load(&b.done); i++)
        sleep_ms(1);
    blocked = !atomic_load(&b.done);
    hold_release(h);
    pthread_join(t, NULL);
    EXPECT(b.err, cudaSuccess);
    return blocked;
}

/* A byte of pinned memory that a memset in some stream writes: has it run? */
#if defined(__has_attribute)
#if __has_attribute(no_sanitize)
__attribute__((no_sanitize("thread"))) /* looking on is the point */
#endif
#endif
static inline bool
wait_for_value(const volatile unsigned char *p, unsigned char v, int ms)
{
    for (int i = 0; i < ms; i++) {
        if (*p == v)
            return true;
        sleep_ms(1);
    }
    return *p == v;
}

#endif
