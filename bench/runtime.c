/* What the run time costs in numbers: pairs of records and waits, of stream-ordered allocations and
 * frees, from launches to what a polling host sees of them, a large allocation, the memory of a
 * million queued operations, and how many operations threads submit together, each to a stream of
 * its own. Prints `name value unit`. Usage: runtime [SECONDS]: how long each count of threads runs.
 * Public API only, so the same program also measures a GPU.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "measure.h"

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry empty()\n{\n\tret;\n}\n"
    ".visible .entry tell(.param .u64 word, .param .u32 value)\n{\n\t.reg .b64 %p;\n\t.reg .b32 "
    "%v;\n"
    "\tld.param.u64 %p, [word];\n\tld.param.u32 %v, [value];\n\tst.volatile.global.u32 [%p], %v;\n"
    "\tret;\n}\n";

static cudaKernel_t empty, tell;
static cudaStream_t a, b;
static cudaEvent_t event;
static unsigned char *device, *pinned;

static void launch(cudaStream_t s)
{
    CHECK(cudaLaunchKernel((const void *)empty, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, s));
}

static double record_wait(void)
{
    enum { N = 2000 };
    double start = now_ns();

    for (int i = 0; i < N; i++) {
        CHECK(cudaEventRecord(event, a));
        CHECK(cudaStreamWaitEvent(b, event, 0));
    }
    return (now_ns() - start) / N;
}

static double malloc_free(void)
{
    enum { N = 2000 };
    double start = now_ns(), end;

    for (int i = 0; i < N; i++) {
        void *p;

        CHECK(cudaMallocAsync(&p, 4096, a));
        CHECK(cudaFreeAsync(p, a));
    }
    end = now_ns();
    CHECK(cudaStreamSynchronize(a));
    return (end - start) / N;
}

static double launch_sync(void)
{
    enum { N = 500 };
    double start = now_ns();

    for (int i = 0; i < N; i++) {
        launch(a);
        CHECK(cudaStreamSynchronize(a));
    }
    return (now_ns() - start) / N;
}

/* From the first of `launches` to the moment when the host, which polls pinned memory and waits in
 * no call, sees what the last one has written. */
static double visible(unsigned launches)
{
    enum { N = 200 };
    volatile unsigned *word = (unsigned *)pinned;
    double sum = 0;

    for (unsigned i = 1; i <= N; i++) {
        double start;

        CHECK(cudaStreamSynchronize(a));
        *word = 0;
        start = now_ns();
        for (unsigned k = 1; k <= launches; k++) {
            void *args[] = {&pinned, &k};

            CHECK(
                cudaLaunchKernel((const void *)tell, (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, a));
        }
        while (*word != launches)
            ;
        sum += now_ns() - start;
    }
    return sum / N;
}

static double visible_1(void)
{
    return visible(1);
}

static double visible_2(void)
{
    return visible(2);
}

static double visible_32(void)
{
    return visible(32);
}

static double malloc_large(void)
{
    void *p;
    double start = now_ns(), end;

    CHECK(cudaMalloc(&p, (size_t)64 << 20));
    end = now_ns();
    CHECK(cudaFree(p));
    return end - start;
}

/* ---- memory ---- */

static _Atomic int held;

static void hold(void *arg)
{
    (void)arg;
    while (atomic_load(&held))
        usleep(1000);
}

static void nothing(void *arg)
{
    (void)arg;
}

static double resident_bytes(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    long size, pages = 0;

    if (f && fscanf(f, "%ld %ld", &size, &pages) != 2)
        pages = 0;
    if (f)
        fclose(f);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/* A million operations behind one that is held, over as many streams as their depth demands. */
static void queue_memory(const char *name, void (*enqueue)(cudaStream_t), int streams)
{
    enum { N = 1000000 };
    cudaStream_t *s = calloc((size_t)streams, sizeof(cudaStream_t));
    double before;

    atomic_store(&held, 1);
    CHECK(cudaLaunchHostFunc(a, hold, NULL));
    CHECK(cudaEventRecord(event, a));
    for (int i = 0; i < streams; i++) {
        CHECK(cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking));
        CHECK(cudaStreamWaitEvent(s[i], event, 0));
    }
    before = resident_bytes();
    for (int i = 0; i < N; i++)
        enqueue(s[i % streams]);
    printf("%-28s %9.1f bytes\n", name, (resident_bytes() - before) / N);
    atomic_store(&held, 0);
    CHECK(cudaDeviceSynchronize());
    free(s); /* the streams stay: others would get their memory */
}

static void enqueue_host(cudaStream_t s)
{
    CHECK(cudaLaunchHostFunc(s, nothing, NULL));
}

static void enqueue_wait(cudaStream_t s)
{
    CHECK(cudaStreamWaitEvent(s, event, 0));
}

static void enqueue_copy(cudaStream_t s)
{
    CHECK(cudaMemcpyAsync(device, pinned, 64, cudaMemcpyHostToDevice, s));
}

/* ---- threads ---- */

static _Atomic int go;
static _Atomic long total;

static void *submit(void *arg)
{
    cudaStream_t s;
    long n = 0;

    (void)arg;
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    while (!atomic_load(&go))
        sched_yield();
    while (atomic_load(&go) == 1) {
        for (int i = 0; i < 64; i++)
            launch(s);
        CHECK(cudaStreamSynchronize(s));
        n += 64;
    }
    atomic_fetch_add(&total, n);
    CHECK(cudaStreamDestroy(s));
    return NULL;
}

static void threads(int count, double seconds)
{
    pthread_t id[64];
    char name[32];
    double start;

    atomic_store(&go, 0);
    atomic_store(&total, 0);
    for (int i = 0; i < count; i++)
        pthread_create(&id[i], NULL, submit, NULL);
    usleep(20000);
    start = now_ns();
    atomic_store(&go, 1);
    usleep((unsigned)(seconds * 1e6));
    atomic_store(&go, 2);
    for (int i = 0; i < count; i++)
        pthread_join(id[i], NULL);
    snprintf(name, sizeof name, "launches_threads_%d", count);
    printf("%-28s %9.1f per ms\n", name, (double)atomic_load(&total) / (now_ns() - start) * 1e6);
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 0.5;
    cudaLibrary_t lib;

    CHECK(cudaLibraryLoadData(&lib, ptx, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cudaLibraryGetKernel(&empty, lib, "empty"));
    CHECK(cudaLibraryGetKernel(&tell, lib, "tell"));
    CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CHECK(cudaMalloc((void **)&device, 4096));
    CHECK(cudaMallocHost((void **)&pinned, 4096));
    measure("record_wait", record_wait);
    measure("malloc_free_async", malloc_free);
    measure("launch_sync", launch_sync);
    measure("visible_1", visible_1);
    measure("visible_2", visible_2);
    measure("visible_32", visible_32);
    measure("malloc_64MiB", malloc_large);
    for (int n = 1; n <= 64; n *= 2)
        threads(n, seconds);
    queue_memory("queued_host_func", enqueue_host, 1);
    queue_memory("queued_wait", enqueue_wait, 1);
    queue_memory("queued_kernel", launch, 1000);
    queue_memory("queued_copy", enqueue_copy, 1000);
    return 0;
}
