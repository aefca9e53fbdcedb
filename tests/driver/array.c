/* Arrays by the driver API: descriptions, copies of bytes and of boxes, levels, and what is
 * refused. How a texture reads one is tests/ptx/textures.c's.
 * SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

enum { W = 7, H = 5, D = 3 }; /* rows of 28 bytes: no pitch of any device */

static unsigned char bytes[W * H * D * 4], got[sizeof bytes];
static CUdeviceptr device;
static CUarray dead;

static CUarray make(size_t w, size_t h, size_t d, unsigned flags)
{
    const CUDA_ARRAY3D_DESCRIPTOR desc = {w, h, d, CU_AD_FORMAT_FLOAT, 1, flags};
    CUarray a = NULL;

    OK(cuArray3DCreate(&a, &desc));
    return a;
}

/* Fewer dimensions are 0, in both forms. */
static void descriptions(void)
{
    const CUDA_ARRAY_DESCRIPTOR flat = {W, H, CU_AD_FORMAT_SIGNED_INT16, 4},
                                line = {W, 0, CU_AD_FORMAT_HALF, 2};
    CUDA_ARRAY3D_DESCRIPTOR three;
    CUDA_ARRAY_DESCRIPTOR two;
    CUarray a;

    OK(cuArrayCreate(&a, &flat));
    OK(cuArrayGetDescriptor(&two, a));
    CHECK(two.Width == W && two.Height == H && two.Format == CU_AD_FORMAT_SIGNED_INT16 &&
          two.NumChannels == 4);
    OK(cuArray3DGetDescriptor(&three, a));
    CHECK(three.Width == W && three.Height == H && three.Depth == 0 && three.Flags == 0 &&
          three.Format == CU_AD_FORMAT_SIGNED_INT16 && three.NumChannels == 4);
    EXPECT(cuArrayGetDescriptor(NULL, a), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuArray3DGetDescriptor(NULL, a), CUDA_ERROR_INVALID_VALUE);
    OK(cuArrayDestroy(a));
    OK(cuArrayCreate(&a, &line));
    OK(cuArrayGetDescriptor(&two, a));
    CHECK(two.Width == W && two.Height == 0 && two.Format == CU_AD_FORMAT_HALF &&
          two.NumChannels == 2);
    OK(cuArrayDestroy(a));
    a = make(W, H, D, CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST);
    OK(cuArray3DGetDescriptor(&three, a));
    CHECK(three.Depth == D && three.Flags == (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST));
    OK(cuArrayDestroy(a));
    EXPECT(cuArrayDestroy(a), CUDA_ERROR_INVALID_HANDLE);
    EXPECT(cuArrayGetDescriptor(&two, a), CUDA_ERROR_INVALID_HANDLE);
    EXPECT(cuArrayDestroy(NULL), CUDA_ERROR_INVALID_HANDLE);
    EXPECT(cuArray3DGetDescriptor(&three, (CUarray)&three), CUDA_ERROR_INVALID_HANDLE);
    dead = a;
}

static void refused(void)
{
    CUDA_ARRAY_DESCRIPTOR two = {W, H, CU_AD_FORMAT_FLOAT, 3};
    CUDA_ARRAY3D_DESCRIPTOR three = {W, H, D, CU_AD_FORMAT_FLOAT, 1, 0};
    CUarray a;

    EXPECT(cuArrayCreate(&a, &two), CUDA_ERROR_INVALID_VALUE); /* three channels */
    two.NumChannels = 0;
    EXPECT(cuArrayCreate(&a, &two), CUDA_ERROR_INVALID_VALUE);
    two.NumChannels = 1;
    two.Format = (CUarray_format)0x77;
    CHECK(cuArrayCreate(&a, &two) != CUDA_SUCCESS);
    two.Format = CU_AD_FORMAT_BC1_UNORM;
    EXPECT(cuArrayCreate(&a, &two), CUDA_ERROR_NOT_SUPPORTED);
    two.Format = CU_AD_FORMAT_FLOAT;
    two.Width = 0;
    EXPECT(cuArrayCreate(&a, &two), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuArrayCreate(NULL, &two), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuArrayCreate(&a, NULL), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuArray3DCreate(NULL, &three), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuArray3DCreate(&a, NULL), CUDA_ERROR_INVALID_VALUE);
    three.Width = (size_t)1 << 40;
    EXPECT(cuArray3DCreate(&a, &three), CUDA_ERROR_INVALID_VALUE);
    three = (CUDA_ARRAY3D_DESCRIPTOR){W, W, 5, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP};
    EXPECT(cuArray3DCreate(&a, &three), CUDA_ERROR_INVALID_VALUE); /* five faces */
    three.Flags = CUDA_ARRAY3D_SPARSE;
    EXPECT(cuArray3DCreate(&a, &three), CUDA_ERROR_NOT_SUPPORTED);
}

/* In a line, from and to each kind of memory, at offsets. */
static void lines(CUstream s)
{
    CUarray a = make(100, 0, 0, 0), b = make(50, 0, 0, 0);

    OK(cuMemcpyHtoA(a, 0, bytes, 400));
    OK(cuMemcpyAtoA(b, 4, a, 40, 100));
    OK(cuMemcpyAtoD(device, b, 4, 100));
    OK(cuMemcpyDtoA(a, 300, device, 100));
    OK(cuMemcpyAtoH(got, a, 0, 400));
    CHECK(memcmp(got, bytes, 300) == 0 && memcmp(got + 300, bytes + 40, 100) == 0);
    OK(cuMemcpyHtoAAsync(b, 8, bytes + 9, 16, s));
    memset(got, 0, sizeof got);
    OK(cuMemcpyAtoHAsync(got, b, 8, 16, s));
    OK(cuStreamSynchronize(s));
    CHECK(memcmp(got, bytes + 9, 16) == 0 && got[16] == 0);
    EXPECT(cuMemcpyHtoA(a, 396, bytes, 8), CUDA_ERROR_INVALID_VALUE); /* leaves it */
    EXPECT(cuMemcpyHtoA(a, 400, bytes, 4), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemcpyAtoH(got, a, SIZE_MAX - 1, 4), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemcpyAtoH(got, a, 4, SIZE_MAX - 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemcpyAtoA(b, 0, a, 0, 400), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemcpyAtoA(a, 0, dead, 0, 4), CUDA_ERROR_INVALID_HANDLE);
    EXPECT(cuMemcpyAtoA(NULL, 0, a, 0, 4), CUDA_ERROR_INVALID_HANDLE);
    EXPECT(cuMemcpyHtoA(dead, 0, bytes, 4), CUDA_ERROR_INVALID_HANDLE);
    EXPECT(cuMemcpyDtoA(dead, 0, device, 4), CUDA_ERROR_INVALID_HANDLE);
    EXPECT(cuMemcpyAtoD(device, dead, 0, 4), CUDA_ERROR_INVALID_HANDLE);
    EXPECT(cuMemcpyAtoHAsync(got, dead, 0, 4, s), CUDA_ERROR_INVALID_HANDLE);
    EXPECT(cuMemcpyHtoAAsync(dead, 0, bytes, 4, s), CUDA_ERROR_INVALID_HANDLE);
    EXPECT(cuMemcpyHtoA(a, 0, NULL, 4), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemcpyAtoH(NULL, a, 0, 4), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemcpyAtoH(got, a, 0, 400)); /* what was refused wrote nothing */
    CHECK(memcmp(got, bytes, 300) == 0 && memcmp(got + 300, bytes + 40, 100) == 0);
    OK(cuArrayDestroy(a));
    OK(cuArrayDestroy(b));
}

/* In, from array to array two elements and a row further, out. */
static void rectangles(void)
{
    CUarray a = make(W, H, 0, 0), b = make(W, H, 0, 0);
    CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                       .srcHost = bytes,
                       .srcPitch = W * 4,
                       .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                       .dstArray = a,
                       .WidthInBytes = W * 4,
                       .Height = H};

    OK(cuMemcpy2D(&c));
    c = (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                        .srcArray = a,
                        .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                        .dstArray = b,
                        .dstXInBytes = 8,
                        .dstY = 1,
                        .WidthInBytes = (W - 2) * 4,
                        .Height = H - 1};
    OK(cuMemcpy2DAsync(&c, NULL));
    c.dstXInBytes = 7; /* not at an element */
    EXPECT(cuMemcpy2D(&c), CUDA_ERROR_INVALID_VALUE);
    c.dstXInBytes = 12; /* leaves the array */
    EXPECT(cuMemcpy2D(&c), CUDA_ERROR_INVALID_VALUE);
    c.dstXInBytes = 8;
    c.dstArray = NULL;
    EXPECT(cuMemcpy2D(&c), CUDA_ERROR_INVALID_HANDLE);
    c = (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                        .srcArray = b,
                        .srcXInBytes = 8,
                        .srcY = 1,
                        .dstMemoryType = CU_MEMORYTYPE_HOST,
                        .dstHost = got,
                        .dstPitch = W * 4,
                        .WidthInBytes = (W - 2) * 4,
                        .Height = H - 1};
    OK(cuMemcpy2DUnaligned(&c));
    for (int y = 0; y < H - 1; y++)
        CHECK(memcmp(got + y * W * 4, bytes + y * W * 4, (W - 2) * 4) == 0);
    OK(cuArrayDestroy(a));
    OK(cuArrayDestroy(b));
}

static void box(CUarray a)
{
    CUDA_MEMCPY3D c = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                       .srcHost = bytes,
                       .srcPitch = W * 4,
                       .srcHeight = H,
                       .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                       .dstArray = a,
                       .WidthInBytes = W * 4,
                       .Height = H,
                       .Depth = D};

    OK(cuMemcpy3D(&c));
    c = (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                        .srcArray = a,
                        .srcXInBytes = 4,
                        .srcY = 1,
                        .srcZ = 1,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = device,
                        .dstPitch = 12,
                        .dstHeight = 2,
                        .WidthInBytes = 12,
                        .Height = 2,
                        .Depth = 2};
    OK(cuMemcpy3DAsync(&c, NULL));
    OK(cuMemcpyDtoH(got, device, 48));
    for (int k = 0; k < 4; k++)
        CHECK(memcmp(got + k * 12, bytes + (k / 2 + 1) * W * H * 4 + (k % 2 + 1) * W * 4 + 4, 12) ==
              0);
    c.srcLOD = 1;
    EXPECT(cuMemcpy3D(&c), CUDA_ERROR_INVALID_VALUE);
    c.srcLOD = 0;
    c.srcZ = 2; /* leaves the array */
    EXPECT(cuMemcpy3D(&c), CUDA_ERROR_INVALID_VALUE);
    OK(cuArrayDestroy(a));
}

/* Each level is half of the one before; it is freed with the whole. */
static void levels(void)
{
    const CUDA_ARRAY3D_DESCRIPTOR desc = {16, 4, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0};
    CUDA_ARRAY3D_DESCRIPTOR told;
    CUmipmappedArray m;
    CUarray level;

    OK(cuMipmappedArrayCreate(&m, &desc, 3));
    OK(cuMipmappedArrayGetLevel(&level, m, 2));
    OK(cuArray3DGetDescriptor(&told, level));
    CHECK(told.Width == 4 && told.Height == 1 && told.Format == CU_AD_FORMAT_UNSIGNED_INT8);
    OK(cuMemcpyHtoA(level, 0, bytes, 4));
    OK(cuMemcpyAtoH(got, level, 0, 4));
    CHECK(memcmp(got, bytes, 4) == 0);
    EXPECT(cuMipmappedArrayGetLevel(&level, m, 3), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMipmappedArrayGetLevel(NULL, m, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuArrayDestroy(level), CUDA_ERROR_INVALID_VALUE);
    OK(cuMipmappedArrayDestroy(m));
    EXPECT(cuMipmappedArrayDestroy(m), CUDA_ERROR_INVALID_HANDLE);
    EXPECT(cuMipmappedArrayDestroy(NULL), CUDA_ERROR_INVALID_HANDLE);
    EXPECT(cuMipmappedArrayGetLevel(&level, m, 0), CUDA_ERROR_INVALID_HANDLE);
    EXPECT(cuMipmappedArrayCreate(&m, &desc, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMipmappedArrayCreate(NULL, &desc, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMipmappedArrayCreate(&m, NULL, 1), CUDA_ERROR_INVALID_VALUE);
}

static void linear_width(CUdevice dev)
{
    size_t most = 0;

    OK(cuDeviceGetTexture1DLinearMaxWidth(&most, CU_AD_FORMAT_FLOAT, 4, dev));
    CHECK(most >= 1u << 27);
    EXPECT(cuDeviceGetTexture1DLinearMaxWidth(NULL, CU_AD_FORMAT_FLOAT, 4, dev),
           CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuDeviceGetTexture1DLinearMaxWidth(&most, CU_AD_FORMAT_FLOAT, 3, dev),
           CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuDeviceGetTexture1DLinearMaxWidth(&most, CU_AD_FORMAT_FLOAT, 5, dev),
           CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuDeviceGetTexture1DLinearMaxWidth(&most, CU_AD_FORMAT_FLOAT, 4, 99),
           CUDA_ERROR_INVALID_DEVICE);
}

int main(void)
{
    CUarray before;
    CUcontext c;
    CUdevice dev;
    CUstream s;

    for (size_t k = 0; k < sizeof bytes; k++)
        bytes[k] = (unsigned char)(k * 7 + k / 256);
    OK(cuInit(0));
    EXPECT(cuArrayCreate(&before, &(CUDA_ARRAY_DESCRIPTOR){W, H, CU_AD_FORMAT_FLOAT, 1}),
           CUDA_ERROR_INVALID_CONTEXT);
    OK(cuDeviceGet(&dev, 0));
    OK(cuDevicePrimaryCtxRetain(&c, dev));
    OK(cuCtxSetCurrent(c));
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&device, sizeof bytes));
    descriptions();
    refused();
    lines(s);
    rectangles();
    box(make(W, H, D, 0));
    box(make(W, H, D, CUDA_ARRAY3D_LAYERED));
    levels();
    linear_width(dev);
    OK(cuMemFree(device));
    OK(cuStreamDestroy(s));
    return DRIVER_END();
}
