/* Runtime and driver API in one program: the primary context, streams and memory of either in calls
 * of the other, a created context under the runtime.
 * SPDX-License-Identifier: Apache-2.0 */
#include <cuda_runtime_api.h>

#include "driver.h"

#define RT(call) CHECK((call) == cudaSuccess)

static void check_primary(void)
{
    CUcontext before = (CUcontext)1, after, primary;
    int active;
    unsigned flags;
    void *p;

    OK(cuCtxGetCurrent(&before));
    CHECK(before == NULL);
    RT(cudaMalloc(&p, 64)); /* makes the primary context current */
    OK(cuCtxGetCurrent(&after));
    OK(cuDevicePrimaryCtxRetain(&primary, 0));
    CHECK(after == primary && after != NULL);
    OK(cuDevicePrimaryCtxRelease(0)); /* the runtime still has it */
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    CHECK(active == 1);
    OK(cuMemsetD8((CUdeviceptr)(uintptr_t)p, 1, 64));
    OK(cuMemFree((CUdeviceptr)(uintptr_t)p));
}

static void check_streams(void)
{
    CUdeviceptr d;
    cudaStream_t rs;
    CUstream ds;
    cudaEvent_t e;
    int value = 4, got = 0;

    OK(cuStreamCreate(&ds, CU_STREAM_NON_BLOCKING));
    RT(cudaStreamCreate(&rs));
    RT(cudaEventCreate(&e));
    OK(cuMemAlloc(&d, 4));
    RT(cudaMemcpyAsync((void *)(uintptr_t)d, &value, 4, cudaMemcpyHostToDevice, ds));
    OK(cuEventRecord(e, ds));
    RT(cudaStreamWaitEvent(rs, e, 0));
    OK(cuMemcpyDtoHAsync(&got, d, 4, rs));
    OK(cuStreamSynchronize(rs));
    CHECK(got == 4);
    RT(cudaStreamDestroy(ds));
    OK(cuStreamDestroy(rs));
    OK(cuEventDestroy(e));
    RT(cudaFree((void *)(uintptr_t)d));
}

/* While a created context is current the runtime works in it. */
static void check_created(void)
{
    CUcontext ctx, got;
    cudaStream_t s;
    CUcontext of;
    void *p;
    int device = -1;

    OK(cuCtxCreate(&ctx, NULL, 0, 0));
    RT(cudaMalloc(&p, 64));
    RT(cudaStreamCreate(&s));
    OK(cuStreamGetCtx(s, &of));
    CHECK(of == ctx);
    OK(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_CONTEXT, (CUdeviceptr)(uintptr_t)p));
    CHECK(of == ctx);
    RT(cudaGetDevice(&device));
    CHECK(device == 0);
    OK(cuCtxGetCurrent(&got));
    CHECK(got == ctx);
    RT(cudaSetDevice(0)); /* back to the primary one */
    OK(cuCtxGetCurrent(&got));
    CHECK(got != ctx);
    OK(cuCtxDestroy(ctx));
    CHECK(cudaStreamQuery(s) == cudaErrorContextIsDestroyed);
    CHECK(cudaFree(p) == cudaErrorInvalidValue);
    RT(cudaGetLastError() == cudaSuccess ? cudaErrorUnknown : cudaSuccess);
    RT(cudaDeviceReset());
    RT(cudaMalloc(&p, 64));
}

/* The runtime gives the driver's functions. */
static void check_entries(void)
{
    enum cudaDriverEntryPointQueryResult status;
    CUresult (*count)(int *);
    void *legacy, *per_thread, *p;
    int n = 0;

    RT(cudaGetDriverEntryPoint("cuDeviceGetCount", &p, cudaEnableDefault, &status));
    CHECK(p && status == cudaDriverEntryPointSuccess);
    *(void **)&count = p;
    OK(count(&n));
    CHECK(n == 1);
    RT(cudaGetDriverEntryPointByVersion("cuStreamSynchronize", &legacy, 12000,
                                        cudaEnableLegacyStream, NULL));
    RT(cudaGetDriverEntryPointByVersion("cuStreamSynchronize", &per_thread, 12000,
                                        cudaEnablePerThreadDefaultStream, &status));
    CHECK(legacy && per_thread && legacy != per_thread);
    RT(cudaGetDriverEntryPointByVersion("cuNothing", &p, 12000, cudaEnableDefault, &status));
    CHECK(!p && status == cudaDriverEntryPointSymbolNotFound);
    RT(cudaGetDriverEntryPointByVersion("cuLibraryLoadData", &p, 11000, cudaEnableDefault,
                                        &status));
    CHECK(!p && status == cudaDriverEntryPointVersionNotSufficent);
    CHECK(cudaGetDriverEntryPointByVersion("cuInit", &p, 99000, cudaEnableDefault, &status) ==
          cudaErrorInvalidValue);
    CHECK(cudaGetDriverEntryPointByVersion("cuInit", &p, 12000, 7, &status) ==
          cudaErrorInvalidValue);
}

int main(void)
{
    OK(cuInit(0));
    check_primary();
    check_streams();
    check_created();
    check_entries();
    return DRIVER_END();
}
