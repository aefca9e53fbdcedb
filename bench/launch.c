/* What the calls cost the host: launches of an empty kernel, launch and synchronise, event records
 * and waits, chains of streams linked by events, small copies. Prints `name value unit`; the median
 * of several rounds. Uses the public API only, so the same program also measures a GPU.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "measure.h"

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry empty()\n{\n\tret;\n}\n";

static cudaKernel_t empty;
static cudaStream_t a, b;
static cudaEvent_t events[2], timed;
static unsigned char *device, *pinned;

static void launch(cudaStream_t s)
{
    CHECK(cudaLaunchKernel((const void *)empty, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, s));
}

/* Each measures one round and returns ns per item. */
static double launch_async(void)
{
    enum { N = 500 }; /* below the depth of a stream's queue */
    double start = now_ns(), end;

    for (int i = 0; i < N; i++)
        launch(a);
    end = now_ns();
    CHECK(cudaStreamSynchronize(a));
    return (end - start) / N;
}

static double launch_legacy(void)
{
    enum { N = 500 };
    double start = now_ns(), end;

    for (int i = 0; i < N; i++)
        launch(0);
    end = now_ns();
    CHECK(cudaStreamSynchronize(0));
    return (end - start) / N;
}

static double launch_total(void)
{
    enum { N = 500 };
    double start = now_ns();

    for (int i = 0; i < N; i++)
        launch(a);
    CHECK(cudaStreamSynchronize(a));
    return (now_ns() - start) / N;
}

static double launch_sync(void)
{
    enum { N = 300 };
    double start = now_ns();

    for (int i = 0; i < N; i++) {
        launch(a);
        CHECK(cudaStreamSynchronize(a));
    }
    return (now_ns() - start) / N;
}

static double record_untimed(void)
{
    enum { N = 1000 };
    double start = now_ns();

    for (int i = 0; i < N; i++)
        CHECK(cudaEventRecord(events[0], a));
    return (now_ns() - start) / N;
}

static double record_timed(void)
{
    enum { N = 1000 };
    double start = now_ns();

    for (int i = 0; i < N; i++)
        CHECK(cudaEventRecord(timed, a));
    return (now_ns() - start) / N;
}

static double wait_complete(void)
{
    enum { N = 1000 };
    double start = now_ns();

    for (int i = 0; i < N; i++)
        CHECK(cudaStreamWaitEvent(b, events[0], 0));
    return (now_ns() - start) / N;
}

/* Records and waits alone, alternating between two streams. */
static double chain_events(void)
{
    enum { N = 10000 };
    double start = now_ns();

    for (int i = 0; i < N; i++) {
        cudaStream_t from = i & 1 ? b : a, to = i & 1 ? a : b;

        CHECK(cudaEventRecord(events[i & 1], from));
        CHECK(cudaStreamWaitEvent(to, events[i & 1], 0));
    }
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaStreamSynchronize(b));
    return (now_ns() - start) / N;
}

/* A kernel at every link. */
static double chain_kernels(void)
{
    enum { N = 10000 };
    double start = now_ns();

    for (int i = 0; i < N; i++) {
        cudaStream_t from = i & 1 ? b : a, to = i & 1 ? a : b;

        launch(from);
        CHECK(cudaEventRecord(events[i & 1], from));
        CHECK(cudaStreamWaitEvent(to, events[i & 1], 0));
    }
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaStreamSynchronize(b));
    return (now_ns() - start) / N;
}

static double copy_async(void)
{
    enum { N = 300 };
    double start = now_ns(), end;

    for (int i = 0; i < N; i++)
        CHECK(cudaMemcpyAsync(device, pinned, 64, cudaMemcpyHostToDevice, a));
    end = now_ns();
    CHECK(cudaStreamSynchronize(a));
    return (end - start) / N;
}

static double copy_sync(void)
{
    enum { N = 300 };
    double start = now_ns();

    for (int i = 0; i < N; i++)
        CHECK(cudaMemcpy(device, pinned, 64, cudaMemcpyHostToDevice));
    return (now_ns() - start) / N;
}

static void host_func(void *arg)
{
    (void)arg;
}

static double host_func_sync(void)
{
    enum { N = 100 };
    double start = now_ns();

    for (int i = 0; i < N; i++) {
        CHECK(cudaLaunchHostFunc(a, host_func, NULL));
        CHECK(cudaStreamSynchronize(a));
    }
    return (now_ns() - start) / N;
}

int main(void)
{
    cudaLibrary_t lib;

    CHECK(cudaLibraryLoadData(&lib, ptx, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cudaLibraryGetKernel(&empty, lib, "empty"));
    CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    for (int i = 0; i < 2; i++)
        CHECK(cudaEventCreateWithFlags(&events[i], cudaEventDisableTiming));
    CHECK(cudaEventCreate(&timed));
    CHECK(cudaMalloc((void **)&device, 4096));
    CHECK(cudaMallocHost((void **)&pinned, 4096));
    measure("launch", launch_async);
    measure("launch_legacy", launch_legacy);
    measure("launch_throughput", launch_total);
    measure("launch_sync", launch_sync);
    measure("record", record_untimed);
    measure("record_timed", record_timed);
    measure("wait_complete", wait_complete);
    measure("chain_events_link", chain_events);
    measure("chain_kernels_link", chain_kernels);
    measure("copy_async_64", copy_async);
    measure("copy_sync_64", copy_sync);
    measure("host_func_sync", host_func_sync);
    return 0;
}
