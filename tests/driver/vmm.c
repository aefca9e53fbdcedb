/* Virtual memory: addresses and memory apart, grown piece by piece as allocators of frameworks do
 * it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

#include <sys/mman.h>
#include <unistd.h>

#define PIECE ((size_t)2 << 20)

static const CUmemAllocationProp on_device = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                              .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
static const CUmemAccessDesc access_rw = {.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                          .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
static const CUmemAccessDesc access_none = {.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                            .flags = CU_MEM_ACCESS_FLAGS_PROT_NONE};

static CUmemGenericAllocationHandle piece(size_t bytes)
{
    CUmemGenericAllocationHandle h = 0;

    OK(cuMemCreate(&h, bytes, &on_device, 0));
    return h;
}

/* A segment that grows, is used across its pieces, and shrinks in the middle. */
static void segment(void)
{
    CUmemGenericAllocationHandle h[3], again;
    CUmemLocation here = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    unsigned long long flags = 9;
    CUmemAllocationProp got;
    unsigned char back[64];
    CUdeviceptr base, start;
    size_t free0, free1, total, size;
    CUstream s;

    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuMemGetInfo(&free0, &total));
    OK(cuMemAddressReserve(&base, 8 * PIECE, 0, 0, 0));
    CHECK(base && base % PIECE == 0);
    EXPECT(cuMemsetD8(base, 1, 64), CUDA_ERROR_INVALID_VALUE); /* nothing is there */
    for (int i = 0; i < 3; i++) {
        h[i] = piece(PIECE);
        OK(cuMemMap(base + (size_t)i * PIECE, PIECE, 0, h[i], 0));
        if (i == 0)
            EXPECT(cuMemsetD8(base, 1, 64), CUDA_ERROR_INVALID_VALUE); /* no access yet */
        OK(cuMemSetAccess(base + (size_t)i * PIECE, PIECE, &access_rw, 1));
    }
    OK(cuMemGetInfo(&free1, &total));
    CHECK(free0 - free1 == 3 * PIECE);
    EXPECT(cuMemMap(base, PIECE, 0, h[0], 0), CUDA_ERROR_INVALID_VALUE); /* taken */
    OK(cuMemGetAccess(&flags, &here, base + 2 * PIECE));
    CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    OK(cuMemsetD8Async(base, 7, 3 * PIECE, s)); /* over all pieces in one */
    OK(cuMemcpyDtoHAsync(back, base + PIECE - 32, sizeof back, s));
    OK(cuStreamSynchronize(s));
    CHECK(back[0] == 7 && back[63] == 7);
    OK(cuMemGetAddressRange(&start, &size, base + 5));
    CHECK(start == base && size == 3 * PIECE);
    EXPECT(cuMemsetD8(base + 3 * PIECE - 32, 1, 64), CUDA_ERROR_INVALID_VALUE); /* beyond */
    for (int i = 0; i < 3; i++) /* the mappings keep it */
        OK(cuMemRelease(h[i]));
    EXPECT(cuMemRelease(h[0]), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(base + PIECE)));
    CHECK(again == h[1]);
    OK(cuMemGetAllocationPropertiesFromHandle(&got, again));
    CHECK(got.type == CU_MEM_ALLOCATION_TYPE_PINNED && got.location.id == 0 &&
          got.requestedHandleTypes == CU_MEM_HANDLE_TYPE_NONE);
    OK(cuMemUnmap(base + PIECE, PIECE)); /* the middle */
    EXPECT(cuMemsetD8(base + PIECE, 1, 64), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemcpyDtoH(back, base + 2 * PIECE, 64));
    CHECK(back[5] == 7);
    OK(cuMemMap(base + 5 * PIECE, PIECE, 0, again, 0)); /* the same memory elsewhere */
    OK(cuMemSetAccess(base + 5 * PIECE, PIECE, &access_rw, 1));
    OK(cuMemcpyDtoH(back, base + 6 * PIECE - 64, 64));
    CHECK(back[0] == 7);
    OK(cuMemSetAccess(base, PIECE, &access_none, 1));
    EXPECT(cuMemsetD8(base, 1, 64), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemAddressFree(base, 8 * PIECE), CUDA_ERROR_INVALID_VALUE); /* not empty */
    EXPECT(cuMemUnmap(base, 2 * PIECE), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemFree(base + 5 * PIECE), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemUnmap(base, PIECE));
    OK(cuMemUnmap(base + 2 * PIECE, PIECE));
    OK(cuMemUnmap(base + 5 * PIECE, PIECE));
    OK(cuMemRelease(again));
    OK(cuMemAddressFree(base, 8 * PIECE));
    OK(cuMemGetInfo(&free1, &total));
    CHECK(free0 == free1);
    OK(cuStreamDestroy(s));
}

/* One memory at two addresses at once, and in pieces of one handle. */
static void aliases(void)
{
    CUmemGenericAllocationHandle h = piece(2 * PIECE);
    CUdeviceptr a, b;
    unsigned v = 0;

    OK(cuMemAddressReserve(&a, 2 * PIECE, 4 * PIECE, 0, 0));
    CHECK(a % (4 * PIECE) == 0);
    OK(cuMemAddressReserve(&b, PIECE, 0, 0, 0));
    OK(cuMemMap(a, 2 * PIECE, 0, h, 0));
    OK(cuMemMap(b, PIECE, PIECE, h, 0)); /* its second half */
    OK(cuMemSetAccess(a, 2 * PIECE, &access_rw, 1));
    OK(cuMemSetAccess(b, PIECE, &access_rw, 1));
    OK(cuMemsetD32(a + PIECE, 77, 16));
    OK(cuMemcpyDtoH(&v, b, 4));
    CHECK(v == 77);
    OK(cuMemUnmap(a, 2 * PIECE));
    OK(cuMemUnmap(b, PIECE));
    OK(cuMemAddressFree(a, 2 * PIECE));
    OK(cuMemAddressFree(b, PIECE));
    OK(cuMemRelease(h));
}

static void shared(void)
{
    CUmemAllocationProp props = on_device;
    CUmemGenericAllocationHandle h, twin;
    CUdeviceptr a, b;
    unsigned v = 0;
    int fd = -1;

    h = piece(PIECE);
    EXPECT(cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
           CUDA_ERROR_INVALID_VALUE);
    OK(cuMemRelease(h));
    props.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    OK(cuMemCreate(&h, PIECE, &props, 0));
    OK(cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    OK(cuMemImportFromShareableHandle(&twin, (void *)(intptr_t)fd,
                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(fd);
    OK(cuMemAddressReserve(&a, PIECE, 0, 0, 0));
    OK(cuMemAddressReserve(&b, PIECE, 0, 0, 0));
    OK(cuMemMap(a, PIECE, 0, h, 0));
    OK(cuMemMap(b, PIECE, 0, twin, 0));
    OK(cuMemSetAccess(a, PIECE, &access_rw, 1));
    OK(cuMemSetAccess(b, PIECE, &access_rw, 1));
    OK(cuMemsetD32(a, 5, 4));
    OK(cuMemcpyDtoH(&v, b, 4));
    CHECK(v == 5);
    OK(cuMemUnmap(a, PIECE));
    OK(cuMemUnmap(b, PIECE));
    OK(cuMemRelease(h));
    OK(cuMemRelease(twin));
    OK(cuMemAddressFree(a, PIECE));
    OK(cuMemAddressFree(b, PIECE));
}

/* A descriptor's memory as device memory; and the log, which is the runtime's. */
static void external(void)
{
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC d = {.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD,
                                          .size = 65536};
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC b = {.offset = 4096, .size = 4096};
    CUexternalMemory m;
    CUlogIterator log = 0;
    char text[4096] = "";
    size_t size = sizeof text;
    unsigned char back = 0;
    CUdeviceptr p;
    int mine;

    d.handle.fd = memfd_create("weir-test", 0);
    mine = dup(d.handle.fd);
    CHECK(ftruncate(mine, 65536) == 0);
    OK(cuImportExternalMemory(&m, &d));
    OK(cuExternalMemoryGetMappedBuffer(&p, m, &b));
    OK(cuMemsetD8(p, 9, 16));
    OK(cuCtxSynchronize());
    CHECK(pread(mine, &back, 1, 4096 + 15) == 1 && back == 9);
    OK(cuDestroyExternalMemory(m));
    OK(cuMemFree(p));
    EXPECT(cuMemFree(p), CUDA_ERROR_INVALID_VALUE);
    OK(cuLogsCurrent(&log, 0));
    EXPECT(cuMemFree(p), CUDA_ERROR_INVALID_VALUE);
    OK(cuLogsDumpToMemory(&log, text, &size, 0));
    close(mine);
}

static void refused(void)
{
    CUmemAllocationProp props = on_device;
    CUmemGenericAllocationHandle h;
    size_t granularity = 0;
    int supported = 0;
    CUdeviceptr a;

    OK(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
                            0));
    CHECK(supported == 1);
    OK(cuMemGetAllocationGranularity(&granularity, &props, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    CHECK(granularity == PIECE);
    EXPECT(cuMemCreate(&h, PIECE + 1, &props, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemCreate(&h, (size_t)1 << 46, &props, 0), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT(cuMemAddressReserve(&a, PIECE / 2, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemAddressReserve(&a, PIECE, 3, 0, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemAddressFree(PIECE, PIECE), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemUnmap(PIECE, PIECE), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemMap(PIECE, PIECE, 0, 1234, 0), CUDA_ERROR_INVALID_VALUE);
    props.location.id = 9;
    EXPECT(cuMemCreate(&h, PIECE, &props, 0), CUDA_ERROR_INVALID_DEVICE);
}

/* Memory belongs to a device, not to a context: handles come and go without one, and what was
 * mapped is unmapped when its context has gone. */
static void without_context(CUdeviceptr mapped)
{
    CUmemAllocationProp props = on_device, got;
    CUmemGenericAllocationHandle h;
    CUdeviceptr a;
    int fd = -1;

    OK(cuMemUnmap(mapped, PIECE));
    OK(cuMemAddressFree(mapped, PIECE));

    props.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    OK(cuMemCreate(&h, PIECE, &props, 0));
    OK(cuMemGetAllocationPropertiesFromHandle(&got, h));
    CHECK(got.location.id == 0);
    OK(cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CHECK(fd >= 0 && close(fd) == 0);
    EXPECT(cuMemAddressReserve(&a, PIECE, 0, 0, 0), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuMemRelease(h));
}

int main(void)
{
    CUmemGenericAllocationHandle h;
    CUdeviceptr a;
    CUcontext ctx;

    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&ctx, 0));
    OK(cuCtxSetCurrent(ctx));
    segment();
    aliases();
    shared();
    external();
    refused();
    OK(cuMemAddressReserve(&a, PIECE, 0, 0, 0));
    h = piece(PIECE);
    OK(cuMemMap(a, PIECE, 0, h, 0));
    OK(cuMemSetAccess(a, PIECE, &access_rw, 1));
    OK(cuMemRelease(h));
    OK(cuCtxSetCurrent(NULL));
    OK(cuDevicePrimaryCtxRelease(0));
    without_context(a);
    return DRIVER_END();
}
