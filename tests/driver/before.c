/* What each group of calls says before cuInit, without a context, and to wrong arguments.
 * SPDX-License-Identifier: Apache-2.0 */
#include <sys/wait.h>
#include <unistd.h>

#include "driver.h"

static void check_before_init(void)
{
    CUcontext ctx;
    CUdeviceptr p;
    CUmodule m;
    CUdevice d;
    int n;

    EXPECT(cuDeviceGetCount(&n), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT(cuDeviceGet(&d, 0), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT(cuDevicePrimaryCtxRetain(&ctx, 0), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT(cuCtxGetCurrent(&ctx), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT(cuMemAlloc(&p, 16), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT(cuModuleLoadData(&m, driver_ptx), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT(cuInit(1), CUDA_ERROR_INVALID_VALUE);
    OK(cuDriverGetVersion(&n));
    CHECK(n >= 12000 && n < 14000);
    EXPECT(cuDriverGetVersion(NULL), CUDA_ERROR_INVALID_VALUE);
}

static void check_errors(void)
{
    const char *s = NULL;

    OK(cuGetErrorName(CUDA_SUCCESS, &s));
    CHECK(strcmp(s, "CUDA_SUCCESS") == 0);
    OK(cuGetErrorName(CUDA_ERROR_INVALID_CONTEXT, &s));
    CHECK(strcmp(s, "CUDA_ERROR_INVALID_CONTEXT") == 0);
    OK(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &s));
    CHECK(strcmp(s, "out of memory") == 0);
    EXPECT(cuGetErrorName((CUresult)12345, &s), CUDA_ERROR_INVALID_VALUE);
    CHECK(s == NULL);
    EXPECT(cuGetErrorString((CUresult)12345, &s), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuGetErrorName(CUDA_SUCCESS, NULL), CUDA_ERROR_INVALID_VALUE);
}

static void check_without_context(void)
{
    CUcontext ctx = (CUcontext)1;
    CUfunction f;
    CUstream s;
    CUdeviceptr p;
    CUevent e;
    CUmodule m;
    CUdevice d;
    size_t n;

    OK(cuCtxGetCurrent(&ctx));
    CHECK(ctx == NULL);
    EXPECT(cuCtxGetDevice(&d), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT(cuCtxPopCurrent(&ctx), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT(cuMemAlloc(&p, 16), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT(cuMemGetInfo(&n, &n), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT(cuMemcpyHtoD(0, &n, 4), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT(cuStreamCreate(&s, 0), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT(cuStreamSynchronize(0), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT(cuEventCreate(&e, 0), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT(cuModuleLoadData(&m, driver_ptx), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT(cuModuleGetFunction(&f, NULL, "scale"), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, 0, NULL, NULL), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT(cuCtxSetCurrent((CUcontext)&ctx), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT(cuCtxDestroy((CUcontext)8), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT(cuCtxPushCurrent(NULL), CUDA_ERROR_INVALID_CONTEXT);
}

static void check_devices(void)
{
    char name[64] = "", pci[32] = "", tiny[2];
    int n, major, minor;
    size_t bytes;
    CUuuid uuid;
    CUdevprop prop;
    CUdevice d, other;

    OK(cuDeviceGetCount(&n));
    CHECK(n == 1);
    EXPECT(cuDeviceGetCount(NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cuDeviceGet(&d, 0));
    EXPECT(cuDeviceGet(&d, 1), CUDA_ERROR_INVALID_DEVICE);
    EXPECT(cuDeviceGet(&d, -1), CUDA_ERROR_INVALID_DEVICE);
    OK(cuDeviceGetName(name, sizeof name, d));
    CHECK(name[0] != 0);
    OK(cuDeviceGetName(tiny, 2, d));
    CHECK(tiny[0] == name[0] && tiny[1] == 0);
    EXPECT(cuDeviceGetName(name, 0, d), CUDA_ERROR_INVALID_VALUE);
    OK(cuDeviceGetUuid(&uuid, d));
    OK(cuDeviceTotalMem(&bytes, d));
    CHECK(bytes >= 1u << 20);
    OK(cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_WARP_SIZE, d));
    CHECK(n == 32);
    for (int a = 1; a < CU_DEVICE_ATTRIBUTE_MAX; a++) /* each has an answer */
        OK(cuDeviceGetAttribute(&n, (CUdevice_attribute)a, d));
    EXPECT(cuDeviceGetAttribute(&n, (CUdevice_attribute)100000, d), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 7), CUDA_ERROR_INVALID_DEVICE);
    OK(cuDeviceComputeCapability(&major, &minor, d));
    OK(cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, d));
    CHECK(n == major && minor >= 0);
    OK(cuDeviceGetProperties(&prop, d));
    CHECK(prop.SIMDWidth == 32 && prop.maxThreadsPerBlock == 1024);
    EXPECT(cuDeviceGetLuid(name, (unsigned *)&n, d), CUDA_ERROR_NOT_SUPPORTED);
    OK(cuDeviceGetPCIBusId(pci, sizeof pci, d));
    OK(cuDeviceGetByPCIBusId(&other, pci));
    CHECK(other == d);
    EXPECT(cuDeviceGetPCIBusId(pci, 3, d), CUDA_ERROR_INVALID_VALUE);
    OK(cuDeviceCanAccessPeer(&n, d, d));
    CHECK(n == 0);
}

/* Without a device (WEIR_DEVICES=0). */
static int check_none(void)
{
    CUcontext ctx;
    int n;

    EXPECT(cuInit(0), CUDA_ERROR_NO_DEVICE);
    EXPECT(cuInit(0), CUDA_ERROR_NO_DEVICE);
    EXPECT(cuDeviceGetCount(&n), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT(cuCtxGetCurrent(&ctx), CUDA_ERROR_NOT_INITIALIZED);
    OK(cuDriverGetVersion(&n));
    return DRIVER_END();
}

/* A child of a process that has used CUDA. */
static void check_fork(void)
{
    pid_t child = fork();
    int status = -1;

    if (child == 0) {
        CUcontext ctx;
        int n;

        driver_failures = 0;
        EXPECT(cuDeviceGetCount(&n), CUDA_ERROR_NOT_INITIALIZED);
        EXPECT(cuDevicePrimaryCtxRetain(&ctx, 0), CUDA_ERROR_NOT_INITIALIZED);
        EXPECT(cuInit(0), CUDA_ERROR_NOT_INITIALIZED);
        _exit(DRIVER_END());
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        return check_none();
    check_before_init();
    check_errors();
    OK(cuInit(0));
    OK(cuInit(0));
    check_without_context();
    check_devices();
    check_fork();
    return DRIVER_END();
}
