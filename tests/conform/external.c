/* Memory of others by file descriptor, mipmapped and layered arrays.
 * SPDX-License-Identifier: Apache-2.0 */
#include <sys/mman.h>

#include "conform.h"

#define SIZE ((size_t)3 << 16)

static cudaStream_t s;

static struct cudaExternalMemoryHandleDesc description(int fd, size_t bytes)
{
    struct cudaExternalMemoryHandleDesc d = {.type = cudaExternalMemoryHandleTypeOpaqueFd,
                                             .size = bytes};

    d.handle.fd = fd;
    return d;
}

/* Two views of one memory: the program's own mapping, and the device's. */
static void by_descriptor(void)
{
    int fd = memfd_create("weir-test", 0), other = dup(fd);
    struct cudaExternalMemoryHandleDesc d = description(fd, SIZE);
    struct cudaExternalMemoryBufferDesc whole = {.size = SIZE},
                                        part = {.offset = 65536, .size = 4096};
    struct cudaPointerAttributes a;
    cudaExternalMemory_t m = NULL;
    unsigned char *mine, *p, *q;

    CHECK(ftruncate(fd, (off_t)SIZE) == 0);
    mine = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, other, 0);
    CHECK(mine != MAP_FAILED);
    mine[5] = 7;
    OK(cudaImportExternalMemory(&m, &d));
    OK(cudaExternalMemoryGetMappedBuffer((void **)&p, m, &whole));
    OK(cudaExternalMemoryGetMappedBuffer((void **)&q, m, &part));
    CHECK(q == p + 65536);
    OK(cudaPointerGetAttributes(&a, q));
    CHECK(a.type == cudaMemoryTypeDevice && a.device == 0);
    OK(cudaMemcpyAsync(q, p, 64, cudaMemcpyDeviceToDevice, s));
    OK(cudaMemsetAsync(p + SIZE - 16, 3, 16, s));
    OK(cudaStreamSynchronize(s));
    CHECK(mine[65536 + 5] == 7 && mine[SIZE - 1] == 3);
    part.size = SIZE;
    EXPECT(cudaExternalMemoryGetMappedBuffer((void **)&q, m, &part), cudaErrorInvalidValue);
    OK(cudaDestroyExternalMemory(m));
    EXPECT(cudaDestroyExternalMemory(m), cudaErrorInvalidResourceHandle);
    OK(cudaMemset(q, 9, 16)); /* buffers stay until they are freed */
    OK(cudaDeviceSynchronize());
    CHECK(mine[65536 + 15] == 9);
    OK(cudaFree(q));
    EXPECT(cudaFree(q), cudaErrorInvalidValue);
    OK(cudaFree(p));
    EXPECT(cudaMemset(p, 1, 16), cudaErrorInvalidValue);
    munmap(mine, SIZE);
    close(other);
}

static void refused(void)
{
    int fd = memfd_create("weir-test", 0);
    struct cudaExternalMemoryHandleDesc d = description(fd, SIZE);
    cudaExternalMemory_t m;

    CHECK(ftruncate(fd, 4096) == 0);
    EXPECT(cudaImportExternalMemory(&m, &d), cudaErrorInvalidValue); /* smaller than that */
    d.handle.fd = 9999;
    EXPECT(cudaImportExternalMemory(&m, &d), cudaErrorInvalidValue);
    d = description(fd, 0);
    EXPECT(cudaImportExternalMemory(&m, &d), cudaErrorInvalidValue);
    d = description(fd, 4096);
    d.type = cudaExternalMemoryHandleTypeD3D12Heap;
    EXPECT(cudaImportExternalMemory(&m, &d), cudaErrorNotSupported);
    close(fd); /* still the program's: nothing was imported */
    cudaGetLastError();
}

static void levels(void)
{
    struct cudaChannelFormatDesc d = {8, 0, 0, 0, cudaChannelFormatKindUnsigned}, got;
    unsigned char bytes[32 * 8], back[32 * 8];
    cudaMipmappedArray_t m;
    struct cudaExtent e;
    unsigned flags = 9;
    cudaArray_t a;
    int count = 0;

    OK(cudaMallocMipmappedArray(&m, &d, (struct cudaExtent){32, 8, 0}, 99, 0));
    while (cudaGetMipmappedArrayLevel(&a, m, (unsigned)count) == cudaSuccess) {
        OK(cudaArrayGetInfo(&got, &e, &flags, a));
        CHECK(e.width == 32u >> count && e.depth == 0 && got.x == 8 && flags == 0);
        CHECK(e.height == (count > 3 ? 1u : 8u >> count));
        memset(bytes, 40 + count, sizeof bytes);
        OK(cudaMemcpy2DToArray(a, 0, 0, bytes, e.width, e.width, e.height, cudaMemcpyHostToDevice));
        EXPECT(cudaFreeArray(a), cudaErrorInvalidValue);
        count++;
    }
    EXPECT(cudaGetLastError(), cudaErrorInvalidValue);
    CHECK(count == 6); /* 32, 16 ... 1 */
    for (int i = 0; i < count; i++) {
        OK(cudaGetMipmappedArrayLevel(&a, m, (unsigned)i));
        OK(cudaMemcpyFromArray(back, a, 0, 0, 1, cudaMemcpyDeviceToHost));
        CHECK(back[0] == 40 + i);
    }
    EXPECT(cudaMallocMipmappedArray(&m, &d, (struct cudaExtent){32, 8, 0}, 0, 0),
           cudaErrorInvalidValue);
    OK(cudaFreeMipmappedArray(m));
    EXPECT(cudaFreeMipmappedArray(m), cudaErrorInvalidResourceHandle);
    EXPECT(cudaGetMipmappedArrayLevel(&a, m, 0), cudaErrorInvalidResourceHandle);
    OK(cudaFreeMipmappedArray(NULL));
    cudaGetLastError();
}

static void layers(void)
{
    struct cudaChannelFormatDesc d = {8, 0, 0, 0, cudaChannelFormatKindUnsigned};
    unsigned char in[16 * 4 * 3], out[16 * 4];
    struct cudaMemcpy3DParms p = {.extent = {16, 4, 3}, .kind = cudaMemcpyHostToDevice};
    cudaArray_t a;

    for (size_t i = 0; i < sizeof in; i++)
        in[i] = (unsigned char)i;
    OK(cudaMalloc3DArray(&a, &d, (struct cudaExtent){16, 4, 3}, cudaArrayLayered));
    p.srcPtr = (struct cudaPitchedPtr){in, 16, 16, 4};
    p.dstArray = a;
    OK(cudaMemcpy3D(&p));
    p = (struct cudaMemcpy3DParms){.extent = {16, 4, 1}, .kind = cudaMemcpyDeviceToHost};
    p.srcArray = a;
    p.srcPos.z = 2; /* the third layer */
    p.dstPtr = (struct cudaPitchedPtr){out, 16, 16, 4};
    OK(cudaMemcpy3D(&p));
    CHECK(memcmp(out, in + 2 * 64, 64) == 0);
    OK(cudaFreeArray(a));
    OK(cudaMalloc3DArray(&a, &d, (struct cudaExtent){16, 0, 7}, cudaArrayLayered));
    OK(cudaFreeArray(a));
    OK(cudaMalloc3DArray(&a, &d, (struct cudaExtent){16, 16, 6}, cudaArrayCubemap));
    OK(cudaFreeArray(a));
    OK(cudaMalloc3DArray(&a, &d, (struct cudaExtent){16, 16, 12},
                         cudaArrayCubemap | cudaArrayLayered));
    OK(cudaFreeArray(a));
    EXPECT(cudaMalloc3DArray(&a, &d, (struct cudaExtent){16, 8, 6}, cudaArrayCubemap),
           cudaErrorInvalidValue);
    EXPECT(cudaMalloc3DArray(&a, &d, (struct cudaExtent){16, 16, 5}, cudaArrayCubemap),
           cudaErrorInvalidValue);
    EXPECT(cudaMalloc3DArray(&a, &d, (struct cudaExtent){16, 16, 0}, cudaArrayLayered),
           cudaErrorInvalidValue);
    cudaGetLastError();
}

int main(void)
{
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    by_descriptor();
    refused();
    levels();
    layers();
    return CONFORM_END();
}
