/* --late-dma (WEIR_LATE_DMA): the final part of a copy from pageable memory lands as late as the
 * documentation allows (ORD-061): a stream that is not ordered behind it reads the old bytes, and
 * every order that is documented holds. The same without: the new bytes. Observed edges are dropped
 * (ORD-010, ORD-068). Each in a child, which has a minute before a copy lands by itself.
 * SPDX-License-Identifier: Apache-2.0 */
#include <sys/wait.h>

#include "conform.h"

#define BYTES ((2u << 20) + 65536) /* more than staging memory has */

static bool late;
static size_t bytes = BYTES;
static unsigned char *source, *d, *out;
static cudaStream_t apart, blocking;

static void make(void)
{
    source = malloc(bytes);
    memset(source, 7, bytes);
    OK(cudaMalloc((void **)&d, bytes));
    OK(cudaMallocHost((void **)&out, bytes));
    OK(cudaMemset(d, 0, bytes));
    OK(cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking));
    OK(cudaStreamCreate(&blocking));
    OK(cudaDeviceSynchronize());
}

static void copy_up(void)
{
    OK(cudaMemcpy(d, source, bytes, cudaMemcpyHostToDevice));
    memset(source, 99, bytes); /* it has been read: that is promised */
}

static void read_in(cudaStream_t s)
{
    OK(cudaMemcpyAsync(out, d, bytes, cudaMemcpyDeviceToHost, s));
}

static void expect(unsigned char value)
{
    CHECK(out[0] == value && out[bytes / 2] == value && out[bytes - 1] == value);
}

/* The popular mistake: a non-blocking stream reads right after cudaMemcpy. */
static void race(void)
{
    copy_up();
    read_in(apart);
    OK(cudaDeviceSynchronize());
    expect(late ? 0 : 7);
    read_in(apart);
    OK(cudaStreamSynchronize(apart));
    expect(7); /* the device was waited for: it has landed */
}

static void race_of_stream_sync(void)
{
    copy_up();
    read_in(apart);
    OK(cudaStreamSynchronize(apart));
    expect(late ? 0 : 7);
    OK(cudaStreamSynchronize(0));
    read_in(apart);
    OK(cudaStreamSynchronize(apart));
    expect(7);
}

/* Without a mistake: all of these are ordered behind the copy. */
static void ordered(void)
{
    cudaEvent_t e;

    OK(cudaEventCreate(&e));
    copy_up();
    read_in(blocking);
    OK(cudaStreamSynchronize(blocking)); /* ORD-004 */
    expect(7);
    memset(source, 8, bytes);
    copy_up();
    OK(cudaEventRecord(e, 0));
    OK(cudaStreamWaitEvent(apart, e, 0));
    read_in(apart);
    OK(cudaStreamSynchronize(apart)); /* ORD-021 */
    expect(8);
    memset(source, 9, bytes);
    OK(cudaMemcpyAsync(d, source, bytes, cudaMemcpyHostToDevice, apart));
    memset(source, 98, bytes); /* ORD-067: observed, and kept */
    read_in(apart);
    OK(cudaStreamSynchronize(apart)); /* ORD-001 */
    expect(9);
    memset(source, 10, bytes);
    copy_up();
    OK(cudaMemcpy(out, d, bytes, cudaMemcpyDeviceToHost));
    expect(10);
    memset(source, 11, bytes);
    copy_up();
    OK(cudaEventRecord(e, 0));
    OK(cudaEventSynchronize(e));
    read_in(apart);
    OK(cudaStreamSynchronize(apart));
    expect(11);
}

/* Who only asks gets an answer some time. */
static void queries(void)
{
    cudaEvent_t e;

    OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    copy_up();
    while (cudaStreamQuery(0) == cudaErrorNotReady)
        sleep_ms(1);
    memset(source, 8, bytes);
    OK(cudaMemcpyAsync(d, source, bytes, cudaMemcpyHostToDevice, apart));
    OK(cudaEventRecord(e, apart));
    while (cudaEventQuery(e) == cudaErrorNotReady)
        sleep_ms(1);
    read_in(blocking);
    OK(cudaStreamSynchronize(blocking));
    expect(8);
}

/* A wait that begins before the copy's turn has come. */
static void waits_first(void)
{
    struct hold h;
    cudaEvent_t e;

    OK(cudaEventCreate(&e));
    hold_stream(&h, apart);
    OK(cudaMemcpyAsync(d, source, 1000, cudaMemcpyHostToDevice, apart));
    OK(cudaEventRecord(e, apart));
    OK(cudaStreamWaitEvent(blocking, e, 0));
    OK(cudaMemcpyAsync(out, d, 1000, cudaMemcpyDeviceToHost, blocking));
    atomic_store(&h.release, 1);
    OK(cudaStreamSynchronize(blocking));
    CHECK(out[0] == 7 && out[999] == 7);
}

/* ORD-010 is only observed: the legacy stream does not follow a stream that is gone. */
static void destroyed(void)
{
    OK(cudaMemcpyAsync(d, source, 1000, cudaMemcpyHostToDevice, blocking));
    OK(cudaStreamDestroy(blocking));
    OK(cudaMemcpy(out, d, 1000, cudaMemcpyDeviceToHost));
    CHECK(out[0] == (late ? 0 : 7));
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(out, d, 1000, cudaMemcpyDeviceToHost));
    CHECK(out[0] == 7);
}

static void callback(void *arg)
{
    atomic_store((_Atomic int *)arg, 1);
}

/* A program that looks at memory alone gets on as well, after the bound. */
static void bounded(void)
{
    static _Atomic int done;

    OK(cudaMemcpyAsync(d, source, 1000, cudaMemcpyHostToDevice, apart));
    OK(cudaLaunchHostFunc(apart, callback, &done));
    while (!atomic_load(&done))
        sleep_ms(1);
}

static const struct scenario {
    const char *name, *bound;
    void (*run)(void);
    size_t bytes;
} scenarios[] = {
    {"race", "60", race, BYTES},
    {"race_of_stream_sync", "60", race_of_stream_sync, 4096},
    {"ordered", "60", ordered, 4096},
    {"queries", "60", queries, 4096},
    {"waits_first", "60", waits_first, 4096},
    {"destroyed", "60", destroyed, 4096},
    {"bounded", "0.05", bounded, 4096},
};

static bool run(const struct scenario *s, bool with)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        conform_failures = 0;
        late = with;
        bytes = s->bytes;
        if (with)
            setenv("WEIR_LATE_DMA", s->bound, 1);
        make();
        s->run();
        _exit(conform_failures != 0);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main(void)
{
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        for (int with = 0; with < 2; with++) {
            bool ok = run(&scenarios[i], with);

            CHECK(ok);
            if (!ok)
                fprintf(stderr, "%s %s\n", scenarios[i].name, with ? "late" : "as it is");
        }
    }
    return CONFORM_END();
}
