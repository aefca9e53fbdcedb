/* Two devices (WEIR_DEVICES=2): contexts of both, copies and access between them, a kernel that
 * reads the other's memory.
 * SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

static CUcontext ctx[2];

static void check_devices(void)
{
    CUuuid a, b;
    char pci[2][32];
    CUdevice d;
    int n;

    OK(cuDeviceGetCount(&n));
    CHECK(n == 2);
    OK(cuDeviceGetUuid(&a, 0));
    OK(cuDeviceGetUuid(&b, 1));
    CHECK(memcmp(&a, &b, sizeof a) != 0);
    OK(cuDeviceGetPCIBusId(pci[0], 32, 0));
    OK(cuDeviceGetPCIBusId(pci[1], 32, 1));
    CHECK(strcmp(pci[0], pci[1]) != 0);
    OK(cuDeviceGetByPCIBusId(&d, pci[1]));
    CHECK(d == 1);
    OK(cuDeviceCanAccessPeer(&n, 0, 1));
    CHECK(n == 1);
    OK(cuDeviceGetP2PAttribute(&n, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1));
    CHECK(n == 1);
    EXPECT(cuDeviceGetP2PAttribute(&n, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 1, 1),
           CUDA_ERROR_INVALID_DEVICE);
}

static void check_copies(void)
{
    CUdeviceptr p[2];
    CUdevice d;
    CUstream s;
    CUevent e;
    int value = 41, got = 0, ordinal = -1;

    for (int i = 0; i < 2; i++) {
        OK(cuCtxSetCurrent(ctx[i]));
        OK(cuCtxGetDevice(&d));
        CHECK(d == i);
        OK(cuMemAlloc(&p[i], 4));
        OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p[i]));
        CHECK(ordinal == i);
    }
    OK(cuMemcpyHtoD(p[0], &value, 4)); /* the current context is the other device's */
    OK(cuMemcpyPeer(p[1], ctx[1], p[0], ctx[0], 4));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(&got, p[1], 4));
    CHECK(got == 41);
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    OK(cuMemcpyPeerAsync(p[0], ctx[0], p[1], ctx[1], 4, s));
    OK(cuEventRecord(e, s));
    OK(cuCtxSetCurrent(ctx[0]));
    OK(cuStreamWaitEvent(0, e, 0)); /* events order streams of other devices */
    OK(cuMemcpyDtoH(&got, p[0], 4));
    EXPECT(cuEventRecord(e, 0), CUDA_ERROR_INVALID_HANDLE);
    OK(cuStreamDestroy(s));
    OK(cuEventDestroy(e));
    OK(cuMemFree(p[0]));
    OK(cuMemFree(p[1]));
}

static void check_access(void)
{
    float host[4] = {1, 2, 3, 4}, factor = 2;
    CUdeviceptr p;
    CUfunction f;
    CUmodule m;
    unsigned n = 4;
    void *args[] = {&p, &factor, &n};

    OK(cuCtxSetCurrent(ctx[0]));
    OK(cuMemAlloc(&p, sizeof host));
    OK(cuMemcpyHtoD(p, host, sizeof host));
    OK(cuCtxSetCurrent(ctx[1]));
    EXPECT(cuCtxEnablePeerAccess(ctx[1], 0), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT(cuCtxEnablePeerAccess((CUcontext)8, 0), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT(cuCtxEnablePeerAccess(ctx[0], 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuCtxDisablePeerAccess(ctx[0]), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    OK(cuCtxEnablePeerAccess(ctx[0], 0));
    EXPECT(cuCtxEnablePeerAccess(ctx[0], 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    OK(cuModuleLoadData(&m, driver_ptx));
    OK(cuModuleGetFunction(&f, m, "scale"));
    OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, 0, args, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(host, p, sizeof host));
    CHECK(host[0] == 3 && host[3] == 9);
    OK(cuCtxDisablePeerAccess(ctx[0]));
    OK(cuModuleUnload(m));
    OK(cuMemFree(p));
}

int main(void)
{
    OK(cuInit(0));
    check_devices();
    OK(cuDevicePrimaryCtxRetain(&ctx[0], 0));
    OK(cuCtxCreate(&ctx[1], NULL, 0, 1)); /* a primary one and a created one */
    check_copies();
    check_access();
    OK(cuCtxDestroy(ctx[1]));
    OK(cuDevicePrimaryCtxRelease(0));
    return DRIVER_END();
}
