/* Error codes and answers of the memory calls (oracle memcpy_args, memcpy_2d3d, memcpy_kind_matrix,
 * host_memory, pointer_attributes, managed, pool_errors).
 * SPDX-License-Identifier: Apache-2.0 */
#include "conform.h"

enum { PAGEABLE, PINNED, DEVICE, MANAGED, REGISTERED, PLACES };

static unsigned char *place[PLACES];

static bool allowed(enum cudaMemcpyKind kind, int src, int dst)
{
    switch (kind) {
    case cudaMemcpyHostToDevice:
        return dst != PAGEABLE;
    case cudaMemcpyDeviceToHost:
        return src != PAGEABLE;
    case cudaMemcpyDeviceToDevice:
        return src != PAGEABLE && dst != PAGEABLE;
    default:
        return true;
    }
}

static void check_kinds(void)
{
    for (int kind = 0; kind <= cudaMemcpyDefault; kind++) {
        for (int src = 0; src < PLACES; src++) {
            for (int dst = 0; dst < PLACES; dst++) {
                cudaError_t expected = allowed((enum cudaMemcpyKind)kind, src, dst)
                                           ? cudaSuccess
                                           : cudaErrorInvalidValue;

                EXPECT(cudaMemcpy(place[dst], place[src] + 64, 16, (enum cudaMemcpyKind)kind),
                       expected);
                EXPECT(
                    cudaMemcpyAsync(place[dst], place[src] + 64, 16, (enum cudaMemcpyKind)kind, 0),
                    expected);
            }
        }
    }
    OK(cudaDeviceSynchronize());
}

static void check_linear(void)
{
    unsigned char host[256], *d, *freed;

    OK(cudaMalloc((void **)&d, 4096));
    OK(cudaMalloc((void **)&freed, 4096));
    OK(cudaFree(freed));
    OK(cudaMemcpy(NULL, NULL, 0, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(d, host, 0, (enum cudaMemcpyKind)99));
    EXPECT(cudaMemcpy(d, host, 4, (enum cudaMemcpyKind)5), cudaErrorInvalidMemcpyDirection);
    EXPECT(cudaMemcpyAsync(d, host, 4, (enum cudaMemcpyKind) - 1, 0),
           cudaErrorInvalidMemcpyDirection);
    EXPECT(cudaMemcpy(NULL, host, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    EXPECT(cudaMemcpy(d, NULL, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    EXPECT(cudaMemcpy(d + 4000, host, 256, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    EXPECT(cudaMemcpy(freed, host, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    EXPECT(cudaMemset(freed, 0, 4), cudaErrorInvalidValue);
    EXPECT(cudaMemset(NULL, 0, 4), cudaErrorInvalidValue);
    OK(cudaMemset(NULL, 0, 0));
    EXPECT(cudaMemset(host, 0, 4), cudaErrorInvalidValue);
    OK(cudaMemset(d, 0x1ff, 8));
    OK(cudaMemcpy(host, d, 8, cudaMemcpyDeviceToHost));
    CHECK(host[0] == 0xff && host[7] == 0xff);
    EXPECT(cudaFree(freed), cudaErrorInvalidValue);
    EXPECT(cudaFree(d + 256), cudaErrorInvalidValue);
    EXPECT(cudaFree(host), cudaErrorInvalidValue);
    EXPECT(cudaFree(place[PINNED]), cudaErrorInvalidValue);
    EXPECT(cudaFreeHost(d), cudaErrorInvalidValue);
    EXPECT(cudaFreeHost(host), cudaErrorInvalidValue);
    OK(cudaFree(NULL));
    OK(cudaFreeHost(NULL));
    OK(cudaFree(d));
}

static void check_alloc(void)
{
    size_t free_bytes = 0, total = 0, pitch = 0;
    struct cudaPitchedPtr p;
    void *d = &d;

    OK(cudaMalloc(&d, 0));
    CHECK(!d);
    EXPECT(cudaMalloc(NULL, 4), cudaErrorInvalidValue);
    EXPECT(cudaMalloc(&d, SIZE_MAX), cudaErrorMemoryAllocation);
    OK(cudaMemGetInfo(&free_bytes, &total));
    CHECK(free_bytes <= total && total > 0);
    EXPECT(cudaMalloc(&d, total + 1), cudaErrorMemoryAllocation);
    OK(cudaMallocPitch(&d, &pitch, 100, 10));
    CHECK(pitch == 512);
    OK(cudaFree(d));
    OK(cudaMallocPitch(&d, &pitch, 513, 10));
    CHECK(pitch == 1024);
    OK(cudaFree(d));
    OK(cudaMalloc3D(&p, (struct cudaExtent){100, 10, 5}));
    CHECK(p.pitch == 512 && p.xsize == 100 && p.ysize == 10);
    OK(cudaMemset3D(p, 9, (struct cudaExtent){100, 10, 5}));
    EXPECT(cudaMemset3D(p, 9, (struct cudaExtent){600, 10, 5}), cudaErrorInvalidValue);
    EXPECT(cudaMemset3D(p, 9, (struct cudaExtent){100, 11, 5}), cudaErrorInvalidValue);
    OK(cudaFree(p.ptr));
    EXPECT(cudaGetLastError(), cudaErrorInvalidValue);
}

static void check_2d(void)
{
    unsigned char host[16 * 8], *d;
    size_t pitch;

    OK(cudaMallocPitch((void **)&d, &pitch, 16, 8));
    for (int i = 0; i < 128; i++)
        host[i] = (unsigned char)i;
    OK(cudaMemcpy2D(d, pitch, host, 16, 16, 8, cudaMemcpyHostToDevice));
    memset(host, 0, sizeof host);
    OK(cudaMemcpy2D(host, 16, d, pitch, 16, 8, cudaMemcpyDeviceToHost));
    CHECK(host[0] == 0 && host[16] == 16 && host[127] == 127);
    OK(cudaMemset2D(d + 4, pitch, 0xee, 8, 3));
    OK(cudaMemcpy2D(host, 16, d, pitch, 16, 8, cudaMemcpyDeviceToHost));
    CHECK(host[3] == 3 && host[4] == 0xee && host[11] == 0xee && host[12] == 12 &&
          host[36] == 0xee && host[52] == 52);
    EXPECT(cudaMemcpy2D(d, 8, host, 16, 16, 8, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
    EXPECT(cudaMemcpy2D(d, pitch, host, 8, 16, 8, cudaMemcpyHostToDevice),
           cudaErrorInvalidPitchValue);
    OK(cudaMemcpy2D(d, pitch, host, 8, 0, 8, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2D(d, 1, host, 1, 16, 0, cudaMemcpyHostToDevice));
    EXPECT(cudaMemcpy2D(d, 8, host, 8, 16, 1, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    EXPECT(cudaMemset2D(d, 8, 0, 16, 8), cudaErrorInvalidValue);
    OK(cudaFree(d));
}

static void check_3d(void)
{
    unsigned char host[4 * 3 * 2] = {0};
    struct cudaMemcpy3DParms p = {0};
    struct cudaPitchedPtr d;

    for (size_t i = 0; i < sizeof host; i++)
        host[i] = (unsigned char)(i + 1);
    OK(cudaMalloc3D(&d, (struct cudaExtent){8, 6, 4}));
    OK(cudaMemset3D(d, 0, (struct cudaExtent){8, 6, 4}));
    p.srcPtr = (struct cudaPitchedPtr){host, 4, 4, 3};
    p.dstPtr = d;
    p.dstPos = (struct cudaPos){2, 1, 1};
    p.extent = (struct cudaExtent){4, 3, 2};
    p.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&p));
    memset(host, 0, sizeof host);
    p.dstPtr = p.srcPtr;
    p.srcPtr = d;
    p.srcPos = p.dstPos;
    p.dstPos = (struct cudaPos){0, 0, 0};
    p.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3D(&p));
    for (size_t i = 0; i < sizeof host; i++)
        CHECK(host[i] == (unsigned char)(i + 1));
    p.kind = (enum cudaMemcpyKind)7;
    EXPECT(cudaMemcpy3D(&p), cudaErrorInvalidMemcpyDirection);
    EXPECT(cudaMemcpy3D(NULL), cudaErrorInvalidValue);
    OK(cudaFree(d.ptr));
}

static void check_host_memory(void)
{
    static char range[3 * 4096];
    struct cudaPointerAttributes attr;
    unsigned flags = 0;
    void *p, *d;

    for (unsigned f = 0; f < 8; f++) {
        OK(cudaHostAlloc(&p, 100, f));
        OK(cudaHostGetFlags(&flags, p));
        CHECK(flags == (f & cudaHostAllocWriteCombined ? 6u : 3u));
        OK(cudaHostGetDevicePointer(&d, p, 0));
        CHECK(d == p);
        OK(cudaFreeHost(p));
        EXPECT(cudaFreeHost(p), cudaErrorInvalidValue);
    }
    EXPECT(cudaHostAlloc(&p, 100, 8), cudaErrorInvalidValue);
    EXPECT(cudaHostGetFlags(&flags, range), cudaErrorInvalidValue);
    OK(cudaHostRegister(range, 4096, cudaHostRegisterDefault));
    EXPECT(cudaHostRegister(range, 4096, 0), cudaErrorHostMemoryAlreadyRegistered);
    EXPECT(cudaHostRegister(range, 0, 0), cudaErrorInvalidValue);
    EXPECT(cudaHostRegister(NULL, 10, 0), cudaErrorInvalidValue);
    EXPECT(cudaHostRegister(place[PINNED], 16, 0), cudaErrorInvalidValue);
    OK(cudaPointerGetAttributes(&attr, range + 8));
    CHECK(attr.type == cudaMemoryTypeHost && attr.device == 0 && attr.devicePointer == range + 8);
    EXPECT(cudaHostUnregister(range + 8), cudaErrorInvalidValue);
    OK(cudaHostUnregister(range));
    EXPECT(cudaHostUnregister(range), cudaErrorHostMemoryNotRegistered);
    OK(cudaPointerGetAttributes(&attr, range));
    CHECK(attr.type == cudaMemoryTypeUnregistered && attr.device == -2 && !attr.devicePointer &&
          attr.hostPointer == range);
    OK(cudaPointerGetAttributes(&attr, place[DEVICE] + 3));
    CHECK(attr.type == cudaMemoryTypeDevice && attr.devicePointer == place[DEVICE] + 3 &&
          !attr.hostPointer);
    OK(cudaPointerGetAttributes(&attr, place[MANAGED]));
    CHECK(attr.type == cudaMemoryTypeManaged && attr.hostPointer == place[MANAGED]);
    EXPECT(cudaPointerGetAttributes(NULL, range), cudaErrorInvalidValue);
}

static void check_async_alloc(void)
{
    void *p = NULL;

    OK(cudaMallocAsync(&p, 1000, cudaStreamPerThread));
    OK(cudaMemsetAsync(p, 1, 1000, cudaStreamPerThread));
    OK(cudaFreeAsync(p, cudaStreamPerThread));
    EXPECT(cudaFreeAsync(p, cudaStreamPerThread), cudaErrorInvalidValue);
    EXPECT(cudaMemsetAsync(p, 1, 1000, cudaStreamPerThread), cudaErrorInvalidValue);
    OK(cudaStreamSynchronize(cudaStreamPerThread));
    EXPECT(cudaFreeAsync(p, cudaStreamPerThread), cudaErrorInvalidValue);
    OK(cudaFreeAsync(NULL, 0));
    EXPECT(cudaFreeAsync(place[PINNED], 0), cudaErrorInvalidValue);
    EXPECT(cudaFreeAsync(place[MANAGED], 0), cudaErrorNotSupported);
    EXPECT(cudaMallocAsync(NULL, 4, 0), cudaErrorInvalidValue);
}

static void check_managed(void)
{
    struct cudaMemLocation device = {.type = cudaMemLocationTypeDevice, .id = 0};
    struct cudaMemLocation bad = {.type = cudaMemLocationTypeDevice, .id = 99};
    void *p;

    EXPECT(cudaMallocManaged(&p, 64, 4), cudaErrorInvalidValue);
    OK(cudaMemPrefetchAsync(place[MANAGED], 4096, device, 0, 0));
    EXPECT(cudaMemPrefetchAsync(place[MANAGED], 4096, bad, 0, 0), cudaErrorInvalidDevice);
    EXPECT(cudaMemPrefetchAsync(place[MANAGED], 0, device, 0, 0), cudaErrorInvalidValue);
    EXPECT(cudaMemPrefetchAsync(place[DEVICE], 4096, device, 0, 0), cudaErrorInvalidValue);
    OK(cudaMemAdvise(place[MANAGED], 4096, cudaMemAdviseSetReadMostly, device));
    EXPECT(cudaMemAdvise(place[PAGEABLE], 4096, cudaMemAdviseSetReadMostly, device),
           cudaErrorInvalidValue);
    EXPECT(cudaMemAdvise(place[MANAGED], 4096, (enum cudaMemoryAdvise)7, device),
           cudaErrorInvalidValue);
    place[MANAGED][5] = 42; /* the host may touch it at any time */
    OK(cudaMemset(place[MANAGED], 7, 4096));
    OK(cudaDeviceSynchronize());
    CHECK(place[MANAGED][5] == 7);
}

/* A host address that is not there: the copy fails, the device does not. */
static void check_bad_host_pointer(void)
{
    void *p;

    EXPECT(cudaMemcpy(place[DEVICE], (void *)0x10, 16, cudaMemcpyHostToDevice),
           cudaErrorInvalidValue);
    OK(cudaDeviceSynchronize());
    EXPECT(cudaMemcpy((void *)0x10, place[DEVICE], 16, cudaMemcpyDeviceToHost),
           cudaErrorInvalidValue);
    OK(cudaMalloc(&p, 100));
    OK(cudaFree(p));
    OK(cudaDeviceSynchronize());
}

int main(void)
{
    place[PAGEABLE] = aligned_alloc(4096, 8192);
    place[REGISTERED] = aligned_alloc(4096, 8192);
    memset(place[PAGEABLE], 0, 8192);
    memset(place[REGISTERED], 0, 8192);
    OK(cudaMallocHost((void **)&place[PINNED], 8192));
    OK(cudaMalloc((void **)&place[DEVICE], 8192));
    OK(cudaMallocManaged((void **)&place[MANAGED], 8192, cudaMemAttachGlobal));
    OK(cudaHostRegister(place[REGISTERED], 8192, 0));
    check_kinds();
    check_linear();
    check_alloc();
    check_2d();
    check_3d();
    check_host_memory();
    check_async_alloc();
    check_managed();
    check_bad_host_pointer();
    return CONFORM_END();
}
