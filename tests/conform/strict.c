/* The strict modes (WEIR_STRICT, docs/faults.md), each in a child, and that none of them holds
 * without being asked for (ORD-083, ORD-085, ORD-086; ORD-090, ORD-091).
 * SPDX-License-Identifier: Apache-2.0 */
#include <sys/wait.h>

#include "conform.h"
#include "kernels.h"
#include "told.h"

#define BLOCKS_MS 200   /* a call that has not come back by then blocks */
#define LONG_MS   30000 /* for what must happen */
#define TEXT      65536

static cudaStream_t a, b;
static unsigned char *pinned;
static struct hold h;
static cudaKernel_t kernels[2];

static void make(void)
{
    cudaLibrary_t lib;

    OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    OK(cudaMallocHost((void **)&pinned, 64));
    memset(pinned, 0, 64);
    OK(cudaLibraryLoadData(&lib, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernel(&kernels[0], lib, "empty"));
    OK(cudaLibraryGetKernel(&kernels[1], lib, "spin"));
}

static cudaError_t launch_empty(void *arg)
{
    (void)arg;
    return cudaLaunchKernel((const void *)kernels[0], (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, b);
}

static cudaError_t memset_a(void *arg)
{
    (void)arg;
    return cudaMemsetAsync(pinned + 32, 1, 1, a);
}

static cudaError_t copy_pageable(void *arg)
{
    static unsigned char source[1 << 20];
    static void *target;

    if (!target)
        OK(cudaMalloc(&target, sizeof source));
    return cudaMemcpyAsync(target, source, *(const size_t *)arg, cudaMemcpyHostToDevice, a);
}

/* ORD-091: the first launch of a kernel waits for all streams, also the next in line does not. */
static void lazy_loading(void)
{
    make();
    hold_stream(&h, a);
    CHECK(blocks_until_released(&h, launch_empty, NULL, BLOCKS_MS));
    hold_stream(&h, a);
    OK(launch_empty(NULL)); /* loaded */
    OK(cudaStreamSynchronize(b));
    hold_release(&h);
    OK(cudaDeviceSynchronize());
}

/* Without: ORD-083; streams have queues of their own, 1021 operations are taken, 1 MiB staged. */
static void nothing(void)
{
    size_t bytes = 1 << 20;

    make();
    hold_stream(&h, a);
    OK(launch_empty(NULL));
    OK(cudaStreamSynchronize(b));
    for (int i = 0; i < 1000; i++)
        OK(memset_a(NULL));
    OK(copy_pageable(&bytes));
    OK(cudaMemsetAsync(pinned, 1, 1, b));
    OK(cudaStreamSynchronize(b));
    CHECK(pinned[0] == 1);
    hold_release(&h);
    OK(cudaDeviceSynchronize());
}

/* ORD-090: what stands behind a held stream's operation in the queue does not start. */
static void false_dependency(void)
{
    make();
    hold_stream(&h, a);
    OK(memset_a(NULL));
    OK(cudaMemsetAsync(pinned, 1, 1, b));
    CHECK(!wait_for_value(pinned, 1, BLOCKS_MS));
    hold_release(&h);
    CHECK(wait_for_value(pinned, 1, LONG_MS));
    OK(cudaDeviceSynchronize());
}

/* ... but beside one that runs it does, and streams go on in their own order. */
static void no_false_dependency(void)
{
    void *flag;
    void *args[] = {&flag};
    cudaEvent_t e;

    make();
    flag = pinned + 8;
    OK(cudaLaunchKernel((const void *)kernels[1], (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, a));
    OK(cudaMemsetAsync(pinned, 1, 1, b));
    OK(cudaStreamSynchronize(b));
    CHECK(pinned[0] == 1);
    *(volatile unsigned *)flag = 1;
    OK(cudaEventCreate(&e));
    for (int i = 0; i < 50; i++) {
        OK(cudaMemsetAsync(pinned, i, 1, a));
        OK(cudaEventRecord(e, a));
        OK(cudaStreamWaitEvent(b, e, 0));
        OK(cudaMemsetAsync(pinned + 1, i, 1, b));
        OK(cudaMemsetAsync(pinned + 2, i, 1, 0));
    }
    OK(cudaDeviceSynchronize());
    CHECK(pinned[0] == 49 && pinned[1] == 49 && pinned[2] == 49);
}

/* ORD-085 */
static void queue_depth(void)
{
    make();
    hold_stream(&h, a);
    for (int i = 0; i < 4; i++)
        OK(memset_a(NULL));
    CHECK(blocks_until_released(&h, memset_a, NULL, BLOCKS_MS));
    OK(cudaDeviceSynchronize());
}

/* ORD-086 */
static void staging(void)
{
    size_t small = 1024, large = 100000;

    make();
    hold_stream(&h, a);
    OK(copy_pageable(&small));
    CHECK(blocks_until_released(&h, copy_pageable, &large, BLOCKS_MS));
    OK(cudaDeviceSynchronize());
}

/* Copies of both directions never run beside each other: the statistics say so. */
static void copy_engines(void)
{
    enum { BYTES = 4 << 20 };
    void *d, *e, *from, *to;
    int n;

    make();
    OK(cudaDeviceGetAttribute(&n, cudaDevAttrAsyncEngineCount, 0));
    CHECK(n == 1);
    OK(cudaMalloc(&d, BYTES));
    OK(cudaMalloc(&e, BYTES));
    OK(cudaMallocHost(&from, BYTES));
    OK(cudaMallocHost(&to, BYTES));
    for (int i = 0; i < 20; i++) {
        OK(cudaMemcpyAsync(d, from, BYTES, cudaMemcpyHostToDevice, a));
        OK(cudaMemcpyAsync(to, e, BYTES, cudaMemcpyDeviceToHost, b));
    }
    OK(cudaDeviceSynchronize());
}

static const struct scenario {
    const char *modes;
    void (*run)(void);
    const char *said;
} scenarios[] = {
    {"0", nothing, ""},
    {"lazy-loading", lazy_loading, "a kernel was loaded at its first use"},
    {"hw-queues=1", false_dependency, ""},
    {"hw-queues=1", no_false_dependency, ""},
    {"hw-queues=3", no_false_dependency, ""},
    {"queue-depth=4", queue_depth, "a stream's queue was full"},
    {"staging=64K", staging, "no staging memory left for a pageable source"},
    {"copy-engines", copy_engines, "H2D and D2H copy                    0.000"},
    {"all", no_false_dependency, ""},
    {"managed=1", nothing, "managed takes no value; ignored"},
    {"nonsense", nothing, "WEIR_STRICT=nonsense: there is no mode \"nonsense\"; ignored"},
};

int main(void)
{
    static char text[TEXT];

    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        bool ok = told_run("WEIR_STRICT", scenarios[i].modes, scenarios[i].run, false,
                           scenarios[i].said, text, sizeof text);

        CHECK(ok);
        if (!ok)
            fprintf(stderr, "%s: said:\n%s\n", scenarios[i].modes, text);
    }
    return CONFORM_END();
}
