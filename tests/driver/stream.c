/* Streams, events, host functions; sticky errors.
 * SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

static _Atomic int order;
static int host_saw, callback_saw;
static CUresult callback_status = (CUresult)-1, inside = CUDA_SUCCESS;

static void host_func(void *user)
{
    int n;

    inside = cuDeviceGetCount(&n); /* calls are refused here */
    host_saw = ++order;
    *(volatile unsigned *)user = 1;
}

static void callback(CUstream s, CUresult status, void *user)
{
    (void)s, (void)user;
    callback_status = status;
    callback_saw = ++order;
}

static void check_streams(void)
{
    CUstreamAttrValue value = {0};
    CUstreamCaptureStatus capture;
    CUstream s;
    unsigned flags;
    unsigned long long id, other;
    int priority;

    EXPECT(cuStreamCreate(NULL, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuStreamCreate(&s, 8), CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamCreateWithPriority(&s, CU_STREAM_NON_BLOCKING, -100));
    OK(cuStreamGetPriority(s, &priority));
    CHECK(priority == -5);
    OK(cuStreamGetFlags(s, &flags));
    CHECK(flags == CU_STREAM_NON_BLOCKING);
    OK(cuStreamGetId(s, &id));
    OK(cuStreamGetId(CU_STREAM_LEGACY, &other));
    CHECK(id != other);
    OK(cuStreamIsCapturing(s, &capture));
    CHECK(capture == CU_STREAM_CAPTURE_STATUS_NONE);
    value.priority = -1;
    OK(cuStreamSetAttribute(s, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
    OK(cuStreamGetAttribute(s, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
    CHECK(value.priority == -1);
    EXPECT(cuStreamDestroy(CU_STREAM_LEGACY), CUDA_ERROR_INVALID_HANDLE);
    OK(cuStreamDestroy(s));
    EXPECT(cuStreamDestroy(s), CUDA_ERROR_INVALID_HANDLE);
    EXPECT(cuStreamQuery(s), CUDA_ERROR_INVALID_HANDLE);
    EXPECT(cuStreamSynchronize((CUstream)&s), CUDA_ERROR_INVALID_HANDLE);
}

static void check_order(void)
{
    CUstream s, t;
    CUevent e, f, untimed;
    CUfunction wait;
    CUmodule m;
    CUdeviceptr flag;
    unsigned *word;
    float ms = -1;
    void *args[] = {&flag};

    OK(cuModuleLoadData(&m, driver_ptx));
    OK(cuModuleGetFunction(&wait, m, "wait"));
    OK(cuMemHostAlloc((void **)&word, 4, CU_MEMHOSTALLOC_DEVICEMAP));
    *word = 0;
    OK(cuMemHostGetDevicePointer(&flag, word, 0));
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
    EXPECT(cuEventCreate(&e, 0x40), CUDA_ERROR_INVALID_VALUE);
    OK(cuEventCreate(&e, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&f, CU_EVENT_BLOCKING_SYNC));
    OK(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
    OK(cuEventQuery(e)); /* never recorded */
    EXPECT(cuEventElapsedTime(&ms, e, f), CUDA_ERROR_INVALID_HANDLE);
    OK(cuEventRecord(e, s));
    OK(cuLaunchKernel(wait, 1, 1, 1, 1, 1, 1, 0, s, args, NULL));
    OK(cuEventRecord(f, s));
    OK(cuStreamWaitEvent(t, f, 0));
    EXPECT(cuStreamWaitEvent(t, f, 5), CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamAddCallback(t, callback, NULL, 0));
    EXPECT(cuEventQuery(f), CUDA_ERROR_NOT_READY);
    EXPECT(cuStreamQuery(t), CUDA_ERROR_NOT_READY);
    OK(cuLaunchHostFunc(CU_STREAM_PER_THREAD, host_func, word)); /* frees the kernel */
    OK(cuStreamSynchronize(t));
    OK(cuEventSynchronize(f));
    CHECK(host_saw == 1 && callback_saw == 2 && callback_status == CUDA_SUCCESS);
    CHECK(inside == CUDA_ERROR_NOT_PERMITTED);
    OK(cuEventElapsedTime(&ms, e, f));
    CHECK(ms >= 0);
    OK(cuEventRecord(untimed, s));
    OK(cuEventSynchronize(untimed));
    EXPECT(cuEventElapsedTime(&ms, e, untimed), CUDA_ERROR_INVALID_HANDLE);
    EXPECT(cuLaunchHostFunc(s, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cuEventDestroy(e));
    EXPECT(cuEventDestroy(e), CUDA_ERROR_INVALID_HANDLE);
    EXPECT(cuEventRecord(e, s), CUDA_ERROR_INVALID_HANDLE);
    OK(cuEventDestroy(f));
    OK(cuEventDestroy(untimed));
    OK(cuStreamDestroy(s));
    OK(cuStreamDestroy(t));
    OK(cuMemFreeHost(word));
}

/* After a fault every call in the context gives its error, in others of the process, too. */
static void check_sticky(void)
{
    CUfunction f;
    CUmodule m;
    CUdeviceptr p;
    CUdevice d;

    OK(cuModuleLoadData(&m, driver_ptx));
    OK(cuModuleGetFunction(&f, m, "fault"));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, NULL, NULL));
    EXPECT(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT(cuMemAlloc(&p, 16), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT(cuStreamQuery(0), CUDA_ERROR_ILLEGAL_ADDRESS);
    OK(cuCtxGetDevice(&d));
}

int main(void)
{
    CUcontext ctx;

    OK(cuInit(0));
    OK(cuCtxCreate(&ctx, NULL, 0, 0));
    check_streams();
    check_order();
    check_sticky();
    return DRIVER_END();
}
