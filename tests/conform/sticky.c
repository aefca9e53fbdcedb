/* A kernel that faults (oracle sticky_*, hostfunc_after_error): the launch succeeds, the error
 * comes with the next call that looks, stays, and is what almost every later call returns; pending
 * work does not run, host functions neither, callbacks do and get the error. argv[1]: what the
 * kernel does.
 * SPDX-License-Identifier: Apache-2.0 */
#include "conform.h"
#include "kernels.h"

static _Atomic int host_func_ran, callback_ran;
static _Atomic int callback_status;

static void host_func(void *arg)
{
    (void)arg;
    atomic_store(&host_func_ran, 1);
}

static void CUDART_CB callback(cudaStream_t s, cudaError_t status, void *arg)
{
    (void)s, (void)arg;
    atomic_store(&callback_ran, 1);
    atomic_store(&callback_status, (int)status);
}

static void check_failed_context(cudaError_t sticky)
{
    struct cudaPointerAttributes attr;
    struct cudaDeviceProp prop;
    cudaStream_t s;
    void *p;
    int n;

    EXPECT(cudaGetLastError(), cudaSuccess); /* cleared by the calls before */
    EXPECT(cudaMalloc(&p, 4), sticky);
    EXPECT(cudaStreamCreate(&s), sticky);
    EXPECT(cudaStreamQuery(0), sticky);
    EXPECT(cudaMemcpy(&n, &n, 4, cudaMemcpyHostToHost), sticky);
    EXPECT(cudaGetLastError(), sticky);
    EXPECT(cudaGetLastError(), cudaSuccess);
    OK(cudaMemcpy(&n, &n, 0, cudaMemcpyDefault));
    OK(cudaGetDevice(&n));
    OK(cudaSetDevice(0));
    OK(cudaGetDeviceCount(&n));
    OK(cudaGetDeviceProperties(&prop, 0));
    OK(cudaDeviceGetAttribute(&n, cudaDevAttrWarpSize, 0));
    OK(cudaPointerGetAttributes(&attr, &n));
    OK(cudaDeviceReset());
    EXPECT(cudaMalloc(&p, 4), cudaErrorDevicesUnavailable);
    EXPECT(cudaDeviceSynchronize(), cudaErrorDevicesUnavailable);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "trap";
    cudaError_t sticky =
        strcmp(what, "trap") == 0 ? cudaErrorLaunchFailure : cudaErrorIllegalAddress;
    unsigned on_stack = 77, value = 1, *bad = NULL, *d;
    cudaKernel_t trap, store;
    cudaLibrary_t lib;
    struct hold h;

    OK(cudaLibraryLoadData(&lib, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernel(&trap, lib, "trap"));
    OK(cudaLibraryGetKernel(&store, lib, "store"));
    OK(cudaMalloc((void **)&d, 4096));
    if (strcmp(what, "host") == 0)
        bad = &on_stack;
    if (strcmp(what, "freed") == 0) {
        bad = d;
        OK(cudaFree(d));
        OK(cudaMalloc((void **)&d, 4096));
    }
    void *args[] = {&bad, &value}, *good[] = {&d, &value};
    hold_stream(&h, 0);
    OK(cudaLaunchKernel((const void *)(sticky == cudaErrorLaunchFailure ? trap : store),
                        (dim3){1, 1, 1}, (dim3){1, 1, 1},
                        sticky == cudaErrorLaunchFailure ? NULL : args, 0, 0));
    OK(cudaLaunchHostFunc(0, host_func, NULL));
    OK(cudaStreamAddCallback(0, callback, NULL, 0));
    OK(cudaLaunchKernel((const void *)store, (dim3){1, 1, 1}, (dim3){1, 1, 1}, good, 0, 0));
    OK(cudaGetLastError());
    hold_release(&h);
    EXPECT(cudaDeviceSynchronize(), sticky);
    CHECK(!atomic_load(&host_func_ran));
    CHECK(atomic_load(&callback_ran));
    EXPECT((cudaError_t)atomic_load(&callback_status), sticky);
    CHECK(on_stack == 77);
    EXPECT(cudaPeekAtLastError(), sticky);
    EXPECT(cudaGetLastError(), sticky);
    check_failed_context(sticky);
    return CONFORM_END();
}
