/* Faults on demand (WEIR_INJECT, docs/faults.md): each in a child, since some stay. A call that
 * fails so has done nothing; errors that stay do so as real ones (sticky.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include <cuda.h>
#include <sys/wait.h>

#include "conform.h"
#include "kernels.h"
#include "told.h"

#define TEXT 65536

static cudaStream_t s;
static unsigned char *d, *pinned;

static void make(void)
{
    OK(cudaStreamCreate(&s));
    OK(cudaMalloc((void **)&d, 64));
    OK(cudaMallocHost((void **)&pinned, 64));
    OK(cudaMemset(d, 0, 64));
    memset(pinned, 0, 64);
    OK(cudaDeviceSynchronize());
}

static cudaKernel_t load(const char *name)
{
    cudaLibrary_t lib;
    cudaKernel_t k;

    OK(cudaLibraryLoadData(&lib, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernel(&k, lib, name));
    return k;
}

static void fail_malloc(void)
{
    size_t before, after, total;
    void *p = NULL, *q = &before;

    OK(cudaMalloc(&p, 4096));
    OK(cudaMemGetInfo(&before, &total));
    EXPECT(cudaMalloc(&q, 1 << 20), cudaErrorMemoryAllocation);
    CHECK(q == &before);
    OK(cudaMemGetInfo(&after, &total));
    CHECK(before == after);
    EXPECT(cudaGetLastError(), cudaErrorMemoryAllocation);
    OK(cudaMalloc(&q, 1 << 20)); /* it was only the second */
    OK(cudaFree(q));
    OK(cudaFree(p));
}

static void fail_copy(void)
{
    unsigned char byte = 1;

    make();
    *pinned = 5;
    OK(cudaMemcpyAsync(d, pinned, 1, cudaMemcpyHostToDevice, s));
    OK(cudaStreamSynchronize(s));
    *pinned = 6;
    EXPECT(cudaMemcpyAsync(d, pinned, 1, cudaMemcpyHostToDevice, s), cudaErrorInvalidValue);
    OK(cudaStreamSynchronize(s));
    OK(cudaMemcpy(&byte, d, 1, cudaMemcpyDeviceToHost));
    CHECK(byte == 5);
    OK(cudaMemcpyAsync(d, pinned, 1, cudaMemcpyHostToDevice, s));
    OK(cudaMemcpy(&byte, d, 1, cudaMemcpyDeviceToHost));
    CHECK(byte == 6);
}

static void expect_failed(cudaError_t sticky)
{
    void *p;
    int n;

    EXPECT(cudaMalloc(&p, 4), sticky);
    EXPECT(cudaStreamSynchronize(s), sticky);
    EXPECT(cudaGetLastError(), sticky);
    EXPECT(cudaDeviceSynchronize(), sticky);
    OK(cudaGetDevice(&n));
    OK(cudaDeviceReset());
    EXPECT(cudaMalloc(&p, 4), cudaErrorDevicesUnavailable);
}

static void fail_copy_for_good(void)
{
    make();
    EXPECT(cudaMemcpyAsync(d, pinned, 1, cudaMemcpyHostToDevice, s), cudaErrorIllegalAddress);
    expect_failed(cudaErrorIllegalAddress);
}

static cudaError_t store(unsigned value)
{
    void *args[] = {&pinned, &value};

    return cudaLaunchKernel((const void *)load("store"), (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0,
                            s);
}

static void fail_launch(void)
{
    make();
    EXPECT(store(1), cudaErrorLaunchOutOfResources);
    OK(cudaStreamSynchronize(s));
    CHECK(*(volatile unsigned *)pinned == 0);
    OK(store(2));
    OK(cudaStreamSynchronize(s));
    CHECK(*(volatile unsigned *)pinned == 2);
}

static void fail_kernel(void)
{
    make();
    OK(store(1));
    OK(cudaStreamSynchronize(s));
    OK(store(2)); /* the launch is asynchronous: its error comes later */
    EXPECT(cudaStreamSynchronize(s), cudaErrorIllegalAddress);
    CHECK(*(volatile unsigned *)pinned == 1);
    expect_failed(cudaErrorIllegalAddress);
}

static void fail_graph(void)
{
    cudaGraph_t g;
    cudaGraphExec_t x;
    cudaKernel_t k;

    make();
    k = load("store");
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    for (unsigned i = 1; i <= 3; i++) {
        void *args[] = {&pinned, &i};

        OK(cudaLaunchKernel((const void *)k, (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, s));
    }
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphLaunch(x, s));
    OK(cudaStreamSynchronize(s));
    CHECK(*(volatile unsigned *)pinned == 3);
    OK(cudaGraphLaunch(x, s));
    EXPECT(cudaStreamSynchronize(s), cudaErrorAssert);
    CHECK(*(volatile unsigned *)pinned == 1); /* of the second launch the first node has run */
    expect_failed(cudaErrorAssert);
    _exit(conform_failures != 0); /* they cannot be destroyed any more: no leak of Weir's */
}

/* A kernel that would wait for ever ends with its device, and so does the wait for it. */
static void lose_device(void)
{
    void *args[] = {&pinned};

    make();
    OK(cudaLaunchKernel((const void *)load("spin"), (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, s));
    EXPECT(cudaStreamSynchronize(s), cudaErrorLaunchFailure);
    expect_failed(cudaErrorLaunchFailure);
}

static void lose_at_once(void)
{
    void *p;

    EXPECT(cudaMalloc(&p, 4), cudaErrorECCUncorrectable);
}

/* The same calls fail in every run: their number is the exit status. */
static void rate(void)
{
    unsigned hash = 1, failed = 0;
    void *p;

    for (int i = 0; i < 200; i++) {
        cudaError_t err = cudaMalloc(&p, 4);

        CHECK(err == cudaSuccess || err == cudaErrorMemoryAllocation);
        failed += err != cudaSuccess;
        hash = hash * 31 + (err != cudaSuccess);
    }
    CHECK(failed > 60 && failed < 140);
    fprintf(stderr, "%u %u\n", failed, hash);
}

static void driver(void)
{
    enum cudaDriverEntryPointQueryResult found;
    union {
        void *object;
        CUresult (*alloc)(CUdeviceptr *p, size_t bytes);
    } f;
    CUdeviceptr p = 1;

    OK(cudaFree(NULL));
    OK(cudaGetDriverEntryPointByVersion("cuMemAlloc", &f.object, 12000, cudaEnableDefault, &found));
    CHECK(f.alloc(&p, 64) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(p == 1);
    CHECK(f.alloc(&p, 64) == CUDA_SUCCESS);
}

static void nothing_named(void)
{
    void *p;

    OK(cudaMalloc(&p, 4));
    OK(cudaFree(p));
}

static void wrong_rule(void)
{
    void *p;

    EXPECT(cudaMalloc(&p, 4), cudaErrorInitializationError);
    EXPECT(cudaDeviceSynchronize(), cudaErrorInitializationError);
}

static const struct scenario {
    const char *rules;
    void (*run)(void);
    const char *said; /* with statistics */
} scenarios[] = {
    {"cudaMalloc:2=cudaErrorMemoryAllocation", fail_malloc, "3 calls, 1 failed"},
    {"cudaMemcpyAsync:2=cudaErrorInvalidValue", fail_copy, "3 calls, 1 failed"},
    {"cudaMemcpyAsync:1=cudaErrorIllegalAddress", fail_copy_for_good, "1 calls, 1 failed"},
    {"cudaLaunchKernel:1=cudaErrorLaunchOutOfResources", fail_launch, "2 calls, 1 failed"},
    {"cudaMalloc:99=2;kernel:store:2=illegal-address", fail_kernel, "2 launches, 1 failed"},
    {"kernel:sto*:5+=assert", fail_graph, ""},
    {"device:0=lost@500ms", lose_device, "device:0=lost@500ms"},
    {"device:0=ecc", lose_at_once, "failed"},
    {"cudaMalloc:50%=cudaErrorMemoryAllocation,seed=7", rate, "200 calls"},
    {"cudaMalloc:50%=cudaErrorMemoryAllocation,seed=7", rate, "200 calls"},
    {"cuMemAlloc:1=2", driver, "2 calls, 1 failed"},
    {"kernel:none=trap;cudaFree:9=1", nothing_named,
     "--inject \"kernel:none=trap\": none failed of 0 launches"},
    {"cudaFree:2=1", nothing_named, "--inject \"cudaFree:2=1\": none failed of 1 calls"},
    {"cudaMemset=1", nothing_named, "none failed of 0 calls"},
    {"device:0=lost@999s", nothing_named, "the program ended before"},
    {"device:7=lost", wrong_rule, "WEIR_INJECT: \"device:7=lost\": there is no such device"},
    {"cudaMalloc:3", wrong_rule, "WEIR_INJECT: \"cudaMalloc:3\": no '=' and error"},
};
#define SCENARIOS (sizeof scenarios / sizeof *scenarios)

int main(void)
{
    static char text[TEXT], rate_before[64];

    for (size_t i = 0; i < SCENARIOS; i++) {
        bool ok = told_run("WEIR_INJECT", scenarios[i].rules, scenarios[i].run, true,
                           scenarios[i].said, text, sizeof text);

        CHECK(ok);
        if (!ok)
            fprintf(stderr, "%s: said:\n%s\n", scenarios[i].rules, text);
        if (scenarios[i].run != rate)
            continue;
        text[strcspn(text, "\n")] = 0;
        CHECK(!*rate_before || strcmp(rate_before, text) == 0);
        snprintf(rate_before, sizeof rate_before, "%.60s", text);
    }
    return CONFORM_END();
}
