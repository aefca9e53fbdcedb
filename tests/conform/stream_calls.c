/* Streams' own calls (oracle stream_create, stream_destroy_special) and the device's (oracle
 * device_api, device_attributes): flags, priorities, ids, handles that are none, properties that
 * agree with attributes, limits, errors.
 * SPDX-License-Identifier: Apache-2.0 */
#include "conform.h"

static void check_create(void)
{
    unsigned long long id1, id2, legacy;
    int least, greatest, priority;
    cudaLaunchAttributeValue v;
    cudaStream_t s, s2;
    unsigned flags;

    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CHECK(least == 0 && greatest == -5);
    OK(cudaDeviceGetStreamPriorityRange(NULL, NULL));
    for (int p = -7; p <= 2; p++) {
        OK(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, p));
        OK(cudaStreamGetPriority(s, &priority));
        CHECK(priority == (p > 0 ? 0 : p < -5 ? -5 : p));
        OK(cudaStreamGetFlags(s, &flags));
        CHECK(flags == cudaStreamNonBlocking);
        OK(cudaStreamDestroy(s));
    }
    EXPECT(cudaStreamCreateWithFlags(&s, 2), cudaErrorInvalidValue);
    EXPECT(cudaStreamCreate(NULL), cudaErrorInvalidValue);
    OK(cudaStreamCreate(&s));
    OK(cudaStreamCreate(&s2));
    OK(cudaStreamGetId(s, &id1));
    OK(cudaStreamGetId(s2, &id2));
    CHECK(id2 == id1 + 1);
    OK(cudaStreamGetId(0, &legacy));
    CHECK(legacy == 7);
    memset(&v, 0, sizeof v);
    v.priority = -2;
    OK(cudaStreamSetAttribute(s, cudaLaunchAttributePriority, &v));
    OK(cudaStreamCopyAttributes(s2, s));
    OK(cudaStreamGetAttribute(s2, cudaLaunchAttributePriority, &v));
    CHECK(v.priority == -2);
    OK(cudaStreamDestroy(s));
    OK(cudaStreamDestroy(s2));
    EXPECT(cudaStreamDestroy(0), cudaErrorInvalidResourceHandle);
    EXPECT(cudaStreamDestroy(cudaStreamLegacy), cudaErrorInvalidResourceHandle);
    EXPECT(cudaStreamDestroy(cudaStreamPerThread), cudaErrorInvalidResourceHandle);
}

/* Dead and made-up handles: undefined on a GPU, an error here. */
static void check_bad_handles(void)
{
    cudaStream_t s,
        bogus[] = {(cudaStream_t)3, (cudaStream_t)0x1000, (cudaStream_t)&s, (cudaStream_t)~0ul};

    OK(cudaStreamCreate(&s));
    OK(cudaStreamDestroy(s));
    EXPECT(cudaStreamSynchronize(s), cudaErrorInvalidResourceHandle);
    EXPECT(cudaStreamDestroy(s), cudaErrorInvalidResourceHandle);
    EXPECT(cudaLaunchHostFunc(s, hold_wait, NULL), cudaErrorInvalidResourceHandle);
    for (size_t i = 0; i < sizeof bogus / sizeof *bogus; i++) {
        EXPECT(cudaStreamQuery(bogus[i]), cudaErrorInvalidResourceHandle);
        EXPECT(cudaEventQuery((cudaEvent_t)bogus[i]), cudaErrorInvalidResourceHandle);
    }
    EXPECT(cudaGetLastError(), cudaErrorInvalidResourceHandle);
    EXPECT(cudaGetLastError(), cudaSuccess);
}

static void check_device(void)
{
    struct cudaDeviceProp p;
    size_t limit;
    int n = 0, v;
    char bus[32];

    OK(cudaGetDeviceCount(&n));
    CHECK(n >= 1);
    OK(cudaGetDevice(&v));
    CHECK(v == 0);
    EXPECT(cudaSetDevice(n), cudaErrorInvalidDevice);
    EXPECT(cudaSetDevice(-1), cudaErrorInvalidDevice);
    OK(cudaGetDeviceProperties(&p, 0));
    EXPECT(cudaGetDeviceProperties(&p, n), cudaErrorInvalidDevice);
    EXPECT(cudaGetDeviceProperties(NULL, 0), cudaErrorInvalidValue);
    OK(cudaGetDeviceProperties(&p, 0));
    OK(cudaDeviceGetAttribute(&v, cudaDevAttrMultiProcessorCount, 0));
    CHECK(p.multiProcessorCount == v && v > 0);
    OK(cudaDeviceGetAttribute(&v, cudaDevAttrMaxThreadsPerBlock, 0));
    CHECK(p.maxThreadsPerBlock == v && v == 1024);
    OK(cudaDeviceGetAttribute(&v, cudaDevAttrComputeCapabilityMajor, 0));
    CHECK(p.major == v);
    CHECK(p.warpSize == 32 && p.totalGlobalMem > 0 && p.name[0]);
    EXPECT(cudaDeviceGetAttribute(&v, (enum cudaDeviceAttr)9999, 0), cudaErrorInvalidValue);
    EXPECT(cudaDeviceGetAttribute(&v, cudaDevAttrWarpSize, n), cudaErrorInvalidDevice);
    OK(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
    CHECK(limit == 8388608);
    OK(cudaDeviceSetLimit(cudaLimitStackSize, 2000));
    OK(cudaDeviceGetLimit(&limit, cudaLimitStackSize));
    CHECK(limit == 2000);
    EXPECT(cudaDeviceGetLimit(&limit, cudaLimitDevRuntimeSyncDepth), cudaErrorUnsupportedLimit);
    EXPECT(cudaDeviceGetLimit(&limit, (enum cudaLimit)99), cudaErrorInvalidValue);
    OK(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
    OK(cudaDeviceGetByPCIBusId(&v, bus));
    CHECK(v == 0);
    EXPECT(cudaDeviceGetPCIBusId(bus, 3, 0), cudaErrorInvalidValue);
    OK(cudaRuntimeGetVersion(&v));
    CHECK(v == 13000);
    EXPECT(cudaRuntimeGetVersion(NULL), cudaErrorInvalidValue);
    OK(cudaDeviceSynchronize());
    cudaGetLastError();
}

static void check_errors(void)
{
    void *p;

    EXPECT(cudaMalloc(&p, SIZE_MAX), cudaErrorMemoryAllocation);
    OK(cudaDeviceSynchronize());
    EXPECT(cudaPeekAtLastError(), cudaErrorMemoryAllocation);
    EXPECT(cudaSetDevice(-1), cudaErrorInvalidDevice);
    EXPECT(cudaGetLastError(), cudaErrorInvalidDevice);
    EXPECT(cudaGetLastError(), cudaSuccess);
    CHECK(strcmp(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue") == 0);
    CHECK(strcmp(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument") == 0);
    CHECK(strcmp(cudaGetErrorString(cudaSuccess), "no error") == 0);
    CHECK(strcmp(cudaGetErrorName((cudaError_t)12345), "unrecognized error code") == 0);
}

int main(void)
{
    check_create();
    check_bad_handles();
    check_device();
    check_errors();
    return CONFORM_END();
}
