/* Allocation, copies and memsets in their forms, pointers, stream-ordered memory.
 * SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

static void check_alloc(void)
{
    CUdeviceptr p = 0, base, q;
    size_t free_bytes, total, pitch, bytes;
    unsigned flags;
    void *host;
    char mine[4096];

    EXPECT(cuMemAlloc(NULL, 16), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemAlloc(&p, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemAlloc(&p, (size_t)1 << 60), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemAlloc(&p, 1000));
    OK(cuMemGetInfo(&free_bytes, &total));
    CHECK(free_bytes < total);
    OK(cuMemGetAddressRange(&base, &bytes, p + 100));
    CHECK(base == p && bytes == 1000);
    EXPECT(cuMemGetAddressRange(&base, &bytes, 64), CUDA_ERROR_NOT_FOUND);
    EXPECT(cuMemFree(p + 4), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(p));
    EXPECT(cuMemFree(p), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemAllocPitch(&p, &pitch, 100, 4, 3), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAllocPitch(&p, &pitch, 100, 4, 4));
    CHECK(pitch >= 100 && pitch % 256 == 0);
    OK(cuMemFree(p));
    OK(cuMemAllocHost(&host, 64));
    OK(cuMemHostGetFlags(&flags, host));
    CHECK(flags & CU_MEMHOSTALLOC_DEVICEMAP);
    OK(cuMemHostGetDevicePointer(&q, host, 0));
    CHECK(q != 0);
    EXPECT(cuMemHostGetDevicePointer(&q, mine, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFreeHost(host));
    EXPECT(cuMemFreeHost(host), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemHostAlloc(&host, 64, 0x100), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemHostRegister(mine, sizeof mine, 0));
    EXPECT(cuMemHostRegister(mine, sizeof mine, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    OK(cuMemHostUnregister(mine));
    EXPECT(cuMemHostUnregister(mine), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    OK(cuMemAllocManaged(&p, 64, CU_MEM_ATTACH_GLOBAL));
    *(volatile int *)(uintptr_t)p = 1;
    OK(cuMemFree(p));
    EXPECT(cuMemAllocManaged(&p, 64, 9), CUDA_ERROR_INVALID_VALUE);
}

static void check_linear(void)
{
    unsigned char host[256], back[256];
    CUdeviceptr p, q;
    CUcontext ctx;
    CUstream s;

    for (int i = 0; i < 256; i++)
        host[i] = (unsigned char)i;
    OK(cuCtxGetCurrent(&ctx));
    OK(cuStreamCreate(&s, 0));
    OK(cuMemAlloc(&p, 256));
    OK(cuMemAlloc(&q, 256));
    OK(cuMemcpyHtoD(p, host, 256));
    OK(cuMemcpyDtoD(q, p, 256));
    OK(cuMemcpyDtoH(back, q, 256));
    CHECK(memcmp(host, back, 256) == 0);
    memset(back, 0, 256);
    OK(cuMemcpyHtoDAsync(p, host, 256, s));
    OK(cuMemcpyDtoDAsync(q, p, 256, s));
    OK(cuMemcpyDtoHAsync(back, q, 256, s));
    OK(cuStreamSynchronize(s));
    CHECK(memcmp(host, back, 256) == 0);
    memset(back, 0, 256);
    OK(cuMemcpy((CUdeviceptr)(uintptr_t)back, p, 256)); /* addresses say what they are */
    CHECK(memcmp(host, back, 256) == 0);
    OK(cuMemcpyAsync(q, p, 256, s));
    OK(cuMemcpyPeer(q, ctx, p, ctx, 256));
    OK(cuMemcpyPeerAsync(q, ctx, p, ctx, 256, s));
    EXPECT(cuMemcpyPeer(q, (CUcontext)8, p, ctx, 256), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT(cuMemcpyHtoD(p, host, 257), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemcpyHtoD(p, NULL, 4), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemcpyHtoD(0, host, 4), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemcpyHtoDAsync(p, host, 4, (CUstream)&p), CUDA_ERROR_INVALID_HANDLE);
    OK(cuMemcpyHtoD(p, host, 0));

    OK(cuMemsetD8(p, 0xab, 256));
    OK(cuMemsetD16(p, 0x1234, 4));
    OK(cuMemsetD32(p + 8, 0xdeadbeef, 2));
    OK(cuMemsetD2D8(p + 64, 16, 7, 4, 3));
    OK(cuMemsetD2D32(p + 128, 32, 9, 2, 2));
    OK(cuMemcpyDtoH(back, p, 256));
    CHECK(back[0] == 0x34 && back[7] == 0x12 && back[8] == 0xef && back[15] == 0xde &&
          back[16] == 0xab);
    CHECK(back[64] == 7 && back[67] == 7 && back[68] == 0xab && back[96] == 7 && back[112] == 0xab);
    CHECK(back[128] == 9 && back[132] == 9 && back[136] == 0xab && back[160] == 9);
    EXPECT(cuMemsetD32(p + 1, 0, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemsetD16(p, 0, 129), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemsetD2D8(p, 2, 0, 4, 3), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemsetD32Async(p, 1, 64, s));
    OK(cuMemsetD2D16Async(p, 8, 2, 2, 2, s));
    OK(cuStreamSynchronize(s));
    OK(cuMemcpyDtoH(back, p, 16));
    CHECK(back[0] == 2 && back[2] == 2 && back[4] == 1 && back[8] == 2 && back[12] == 1);
    OK(cuMemFree(p));
    OK(cuMemFree(q));
    OK(cuStreamDestroy(s));
}

static void check_boxes(void)
{
    unsigned char host[64], back[64] = {0};
    CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                       .srcHost = host,
                       .srcPitch = 8,
                       .srcXInBytes = 2,
                       .srcY = 1,
                       .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                       .dstPitch = 512,
                       .WidthInBytes = 4,
                       .Height = 3};
    CUDA_MEMCPY3D b = {0};
    CUdeviceptr p;
    size_t pitch;

    for (int i = 0; i < 64; i++)
        host[i] = (unsigned char)i;
    OK(cuMemAllocPitch(&p, &pitch, 512, 8, 4));
    c.dstDevice = p;
    OK(cuMemcpy2D(&c));
    c = (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                        .srcDevice = p,
                        .srcPitch = 512,
                        .dstMemoryType = CU_MEMORYTYPE_HOST,
                        .dstHost = back,
                        .dstPitch = 4,
                        .WidthInBytes = 4,
                        .Height = 3};
    OK(cuMemcpy2DUnaligned(&c));
    CHECK(back[0] == 10 && back[3] == 13 && back[4] == 18 && back[8] == 26);
    c.dstPitch = 3;
    EXPECT(cuMemcpy2D(&c), CUDA_ERROR_INVALID_VALUE);
    c.dstPitch = 4;
    c.srcMemoryType = (CUmemorytype)9;
    EXPECT(cuMemcpy2DAsync(&c, 0), CUDA_ERROR_INVALID_VALUE);
    c.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    EXPECT(cuMemcpy2D(&c), CUDA_ERROR_INVALID_HANDLE); /* none */
    EXPECT(cuMemcpy2D(NULL), CUDA_ERROR_INVALID_VALUE);

    b.srcMemoryType = CU_MEMORYTYPE_HOST;
    b.srcHost = host;
    b.srcPitch = 4;
    b.srcHeight = 4;
    b.srcZ = 1;
    b.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    b.dstDevice = p;
    b.dstPitch = 16;
    b.dstHeight = 2;
    b.WidthInBytes = 4, b.Height = 2, b.Depth = 2;
    OK(cuMemcpy3D(&b));
    OK(cuMemcpyDtoH(back, p, 64));
    CHECK(back[0] == 16 && back[16] == 20 && back[32] == 32 && back[48] == 36);
    b.srcHeight = 1;
    EXPECT(cuMemcpy3DAsync(&b, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(p));
}

static void check_pointers(void)
{
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    unsigned type = 99;
    size_t size = 99;
    unsigned char managed = 99;
    int ordinal = 99;
    void *data[] = {&type, &size, &managed, &ordinal};
    CUdeviceptr p, m;
    void *host;

    OK(cuMemAlloc(&p, 100));
    OK(cuMemAllocManaged(&m, 100, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemAllocHost(&host, 100));
    OK(cuPointerGetAttributes(4, names, data, p + 10));
    CHECK(type == CU_MEMORYTYPE_DEVICE && size == 100 && managed == 0 && ordinal == 0);
    OK(cuPointerGetAttributes(4, names, data, m));
    CHECK(managed == 1);
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)host));
    CHECK(type == CU_MEMORYTYPE_HOST);
    OK(cuPointerGetAttributes(4, names, data, (uintptr_t)&p)); /* not CUDA's */
    CHECK(type == 0 && size == 0 && managed == 0 && ordinal == -2);
    EXPECT(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)&p),
           CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_HOST_POINTER, p),
           CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuPointerGetAttribute(NULL, CU_POINTER_ATTRIBUTE_HOST_POINTER, p),
           CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(p));
    OK(cuMemFree(m));
    OK(cuMemFreeHost(host));
}

static void check_async(void)
{
    CUdeviceptr p;
    CUstream s;
    int value = 5;

    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    EXPECT(cuMemAllocAsync(&p, 0, s), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAllocAsync(&p, 64, s));
    OK(cuMemcpyHtoDAsync(p, &value, 4, s));
    OK(cuMemFreeAsync(p, s));
    EXPECT(cuMemFreeAsync(p, s), CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamSynchronize(s));
    OK(cuStreamDestroy(s));
}

static void check_managed(void)
{
    CUmemLocation device = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
    int mostly = -1, preferred = 99;
    CUdeviceptr p, d;

    OK(cuMemAllocManaged(&p, 8192, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemAlloc(&d, 64));
    OK(cuMemAdvise(p, 8192, CU_MEM_ADVISE_SET_READ_MOSTLY, device));
    OK(cuMemAdvise(p, 8192, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device));
    OK(cuMemRangeGetAttribute(&mostly, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p, 8192));
    OK(cuMemRangeGetAttribute(&preferred, 4, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, p, 8192));
    CHECK(mostly == 1 && preferred == 0);
    OK(cuMemPrefetchAsync(p, 8192, device, 0, 0));
    EXPECT(cuMemPrefetchAsync(p, 8192, device, 3, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemPrefetchAsync(d, 64, device, 0, 0), CUDA_ERROR_INVALID_VALUE);
    device.id = 5;
    EXPECT(cuMemPrefetchAsync(p, 8192, device, 0, 0), CUDA_ERROR_INVALID_DEVICE);
    EXPECT(cuMemAdvise(d, 64, CU_MEM_ADVISE_SET_READ_MOSTLY, device), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(p));
    OK(cuMemFree(d));
}

static void check_batch(void)
{
    CUmemcpyAttributes attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    unsigned char host[64], back[64] = {0};
    CUdeviceptr from[2], to[2], p;
    size_t sizes[2] = {16, 32}, first = 0;
    CUgraph graph;
    CUstream s;

    for (int i = 0; i < 64; i++)
        host[i] = (unsigned char)(i + 1);
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&p, 64));
    from[0] = (uintptr_t)host, from[1] = (uintptr_t)host + 16;
    to[0] = p, to[1] = p + 32;
    OK(cuMemcpyBatchAsync(to, from, sizes, 2, &attributes, &first, 1, s));
    OK(cuStreamSynchronize(s));
    OK(cuMemcpyDtoH(back, p, 64));
    CHECK(memcmp(back, host, 16) == 0 && memcmp(back + 32, host + 16, 32) == 0);
    EXPECT(cuMemcpyBatchAsync(to, from, sizes, 0, &attributes, &first, 1, s),
           CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemcpyBatchAsync(to, from, sizes, 2, &attributes, &first, 1, 0),
           CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    EXPECT(cuMemcpyBatchAsync(to, from, sizes, 2, &attributes, &first, 1, s),
           CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED); /* oracle mixed_batch, through the runtime */
    OK(cuStreamEndCapture(s, &graph));
    OK(cuGraphDestroy(graph));
    OK(cuMemFree(p));
    OK(cuStreamDestroy(s));
}

static void check_pools(void)
{
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
    CUmemAccess_flags flags;
    CUmemLocation here = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
    CUmemoryPool own, current, mine;
    cuuint64_t used = 0, keep = 1 << 20;
    CUdeviceptr p;
    CUstream s;
    int follow = -1;

    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuDeviceGetDefaultMemPool(&own, 0));
    OK(cuDeviceGetMemPool(&current, 0));
    CHECK(own == current);
    EXPECT(cuDeviceGetMemPool(&current, 3), CUDA_ERROR_INVALID_DEVICE);
    EXPECT(cuMemPoolDestroy(own), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemPoolCreate(&mine, &props));
    props.location.type = CU_MEM_LOCATION_TYPE_INVALID;
    EXPECT(cuMemPoolCreate(&mine, &props), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemPoolGetAttribute(mine, CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, &follow));
    CHECK(follow == 1);
    OK(cuMemPoolSetAttribute(mine, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
    OK(cuMemAllocFromPoolAsync(&p, 1000, mine, s));
    OK(cuMemPoolGetAttribute(mine, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    CHECK(used >= 1000);
    OK(cuMemPoolGetAccess(&flags, mine, &here));
    CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    OK(cuMemsetD8Async(p, 1, 1000, s));
    OK(cuMemFreeAsync(p, s));
    OK(cuStreamSynchronize(s));
    OK(cuMemPoolTrimTo(mine, 0));
    OK(cuDeviceSetMemPool(0, mine));
    OK(cuMemAllocAsync(&p, 64, s));
    OK(cuMemFree(p));
    OK(cuMemPoolDestroy(mine));
    EXPECT(cuMemPoolDestroy(mine), CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamDestroy(s));
}

int main(void)
{
    CUcontext ctx;

    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&ctx, 0));
    OK(cuCtxSetCurrent(ctx));
    check_alloc();
    check_linear();
    check_boxes();
    check_pointers();
    check_async();
    check_managed();
    check_batch();
    check_pools();
    OK(cuDevicePrimaryCtxRelease(0));
    return DRIVER_END();
}
