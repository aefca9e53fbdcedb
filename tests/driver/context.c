/* Primary and created contexts, the stack of a thread, and what belongs to a context.
 * SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

static void check_primary(void)
{
    CUcontext a, b, now;
    unsigned flags;
    int active = -1;

    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    CHECK(active == 0);
    EXPECT(cuDevicePrimaryCtxRelease(0), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT(cuDevicePrimaryCtxRetain(NULL, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuDevicePrimaryCtxRetain(&a, 9), CUDA_ERROR_INVALID_DEVICE);
    EXPECT(cuDevicePrimaryCtxSetFlags(0, 0x1000), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuDevicePrimaryCtxSetFlags(0, 3), CUDA_ERROR_INVALID_VALUE);
    OK(cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_YIELD));
    OK(cuDevicePrimaryCtxRetain(&a, 0));
    OK(cuDevicePrimaryCtxRetain(&b, 0));
    CHECK(a == b);
    OK(cuCtxGetCurrent(&now));
    CHECK(now == NULL); /* retaining does not make it current */
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    CHECK(active == 1 && flags == CU_CTX_SCHED_YIELD);
    OK(cuDevicePrimaryCtxRelease(0));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    CHECK(active == 1);
    EXPECT(cuCtxDestroy(a), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxSetCurrent(a));
    OK(cuCtxGetFlags(&flags));
    CHECK(flags == (CU_CTX_SCHED_YIELD | CU_CTX_MAP_HOST));
    OK(cuDevicePrimaryCtxRelease(0));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    CHECK(active == 0);
    EXPECT(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    OK(cuCtxSetCurrent(NULL));
    OK(cuCtxSetCurrent(NULL)); /* with none, nothing happens */
}

static void check_stack(void)
{
    CUcontext a, b, got;
    unsigned long long ida, idb;
    unsigned version;
    CUdevice d;

    EXPECT(cuCtxCreate(NULL, NULL, 0, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuCtxCreate(&a, NULL, 0x10000, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuCtxCreate(&a, NULL, 0, 5), CUDA_ERROR_INVALID_DEVICE);
    OK(cuCtxCreate(&a, NULL, 0, 0));
    OK(cuCtxCreate(&b, NULL, CU_CTX_SCHED_SPIN, 0));
    CHECK(a != b);
    OK(cuCtxGetCurrent(&got));
    CHECK(got == b);
    OK(cuCtxGetId(a, &ida));
    OK(cuCtxGetId(NULL, &idb));
    CHECK(ida != idb);
    OK(cuCtxGetApiVersion(NULL, &version));
    CHECK(version >= 3020);
    OK(cuCtxGetDevice(&d));
    CHECK(d == 0);
    OK(cuCtxPushCurrent(a));
    OK(cuCtxPopCurrent(&got));
    CHECK(got == a);
    OK(cuCtxPopCurrent(&got));
    CHECK(got == b);
    OK(cuCtxGetCurrent(&got));
    CHECK(got == a);
    OK(cuCtxSetCurrent(b)); /* in place of a */
    OK(cuCtxDestroy(b));    /* pops it */
    OK(cuCtxGetCurrent(&got));
    CHECK(got == NULL);
    EXPECT(cuCtxPushCurrent(b), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT(cuCtxDestroy(b), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxDestroy(a));
    for (int i = 0; i < 300; i++) { /* places are used again */
        OK(cuCtxCreate(&a, NULL, 0, 0));
        OK(cuCtxDestroy(a));
    }
}

static void check_settings(void)
{
    CUfunc_cache cache;
    CUcontext a, b;
    size_t value;
    int least, greatest;

    OK(cuCtxCreate(&b, NULL, 0, 0));
    OK(cuCtxCreate(&a, NULL, 0, 0));
    OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
    OK(cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
    CHECK(value == 4096);
    EXPECT(cuCtxGetLimit(&value, (CUlimit)99), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuCtxGetLimit(NULL, CU_LIMIT_STACK_SIZE), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 2), CUDA_ERROR_UNSUPPORTED_LIMIT);
    OK(cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1));
    OK(cuCtxGetCacheConfig(&cache));
    CHECK(cache == CU_FUNC_CACHE_PREFER_L1);
    OK(cuCtxGetStreamPriorityRange(&least, &greatest));
    CHECK(least == 0 && greatest < 0);
    OK(cuCtxSetCurrent(b)); /* which has its own */
    OK(cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
    CHECK(value == 1024);
    OK(cuCtxGetCacheConfig(&cache));
    CHECK(cache == CU_FUNC_CACHE_PREFER_NONE);
    OK(cuCtxDestroy(a));
    OK(cuCtxDestroy(b));
}

/* What belongs to a context ends with it. */
static void check_belongings(void)
{
    CUcontext a, b, got;
    CUdeviceptr pa, pb;
    CUstream s;
    CUevent e;
    CUmodule m;
    CUfunction f;
    unsigned host = 7;
    CUdevice d;

    OK(cuCtxCreate(&b, NULL, 0, 0));
    OK(cuMemAlloc(&pb, 4096));
    OK(cuCtxCreate(&a, NULL, 0, 0));
    OK(cuMemAlloc(&pa, 4096));
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuStreamGetCtx(s, &got));
    CHECK(got == a);
    OK(cuStreamGetCtx(NULL, &got));
    CHECK(got == a);
    OK(cuStreamGetDevice(s, &d));
    CHECK(d == 0);
    OK(cuEventCreate(&e, 0));
    OK(cuModuleLoadData(&m, driver_ptx));
    OK(cuModuleGetFunction(&f, m, "count"));
    OK(cuPointerGetAttribute(&got, CU_POINTER_ATTRIBUTE_CONTEXT, pa));
    CHECK(got == a);
    OK(cuPointerGetAttribute(&got, CU_POINTER_ATTRIBUTE_CONTEXT, pb));
    CHECK(got == b);
    OK(cuCtxSetCurrent(b));
    OK(cuMemcpyDtoD(pb, pa, 4)); /* one memory for both */
    OK(cuCtxSynchronize());      /* the host does not wait for such a copy */
    EXPECT(cuEventRecord(e, 0), CUDA_ERROR_INVALID_HANDLE);
    EXPECT(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL)); /* s and f are both of a */
    OK(cuCtxDestroy(a));
    EXPECT(cuStreamQuery(s), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    EXPECT(cuEventQuery(e), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    EXPECT(cuModuleGetFunction(&f, m, "count"), CUDA_ERROR_INVALID_HANDLE);
    EXPECT(cuMemcpyDtoH(&host, pa, 4), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemcpyHtoD(pb, &host, 4));
    OK(cuCtxDestroy(b));
}

/* Contexts of one device do not wait for each other: b's default stream runs while a's is held. */
static void check_apart(void)
{
    CUcontext a, b;
    CUdeviceptr flag, p;
    CUfunction f;
    CUmodule m;
    unsigned *word, value = 3, got = 0;
    void *args[] = {&flag};

    OK(cuCtxCreate(&b, NULL, 0, 0));
    OK(cuMemAlloc(&p, 4));
    OK(cuCtxCreate(&a, NULL, 0, 0));
    OK(cuMemHostAlloc((void **)&word, 4, CU_MEMHOSTALLOC_DEVICEMAP));
    *(volatile unsigned *)word = 0;
    OK(cuMemHostGetDevicePointer(&flag, word, 0));
    OK(cuModuleLoadData(&m, driver_ptx));
    OK(cuModuleGetFunction(&f, m, "wait"));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, args, NULL));
    EXPECT(cuStreamQuery(0), CUDA_ERROR_NOT_READY);
    OK(cuCtxSetCurrent(b));
    OK(cuStreamQuery(0));
    OK(cuMemcpyHtoD(p, &value, 4));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(&got, p, 4));
    CHECK(got == 3);
    *(volatile unsigned *)word = 1;
    OK(cuCtxSetCurrent(a));
    OK(cuCtxSynchronize());
    OK(cuCtxDestroy(a));
    OK(cuCtxDestroy(b));
}

static void *other_thread(void *arg)
{
    CUcontext got = (CUcontext)1;
    CUdeviceptr p;

    OK(cuCtxGetCurrent(&got)); /* each thread has its own stack */
    CHECK(got == NULL);
    OK(cuCtxPushCurrent(arg));
    OK(cuMemAlloc(&p, 16));
    OK(cuMemFree(p));
    return NULL;
}

int main(void)
{
    pthread_t t;
    CUcontext a;

    OK(cuInit(0));
    check_primary();
    check_stack();
    check_settings();
    check_belongings();
    check_apart();
    OK(cuCtxCreate(&a, NULL, 0, 0));
    pthread_create(&t, NULL, other_thread, a);
    pthread_join(t, NULL);
    OK(cuCtxDestroy(a));
    return DRIVER_END();
}
