/* Functions of the runtime that no other test calls, each for what it promises: settings that are
 * read back, forms of copies and memsets, launches by attributes, user objects, pools by place.
 * SPDX-License-Identifier: Apache-2.0 */
#include "conform.h"
#include <cuda_profiler_api.h>
#include "kernels.h"

static cudaStream_t s;
static cudaLibrary_t lib;
static cudaKernel_t store, empty;

/* ---- the device ---- */

static void settings(void)
{
    enum cudaFuncCache cache = (enum cudaFuncCache)99;
    enum cudaSharedMemConfig banks = (enum cudaSharedMemConfig)99;
    struct cudaPitchedPtr unused = {0};
    unsigned flags = 99;
    struct cudaChannelFormatDesc texel = {32, 0, 0, 0, cudaChannelFormatKindFloat};
    int value = -1, version = 0, runtime = 0;
    size_t most = 0;

    (void)unused;
    OK(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));
    OK(cudaDeviceGetCacheConfig(&cache));
    CHECK(cache == cudaFuncCachePreferNone || cache == cudaFuncCachePreferL1);
    OK(cudaDeviceSetSharedMemConfig(cudaSharedMemBankSizeEightByte));
    OK(cudaDeviceGetSharedMemConfig(&banks));
    CHECK(banks == cudaSharedMemBankSizeFourByte || banks == cudaSharedMemBankSizeEightByte);
    EXPECT(cudaDeviceGetCacheConfig(NULL), cudaErrorInvalidValue);
    OK(cudaGetDeviceFlags(&flags));
    CHECK((flags & 7) == cudaDeviceScheduleAuto);
    OK(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync));
    OK(cudaGetDeviceFlags(&flags));
    CHECK((flags & 7) == cudaDeviceScheduleBlockingSync);
    OK(cudaSetDeviceFlags(cudaDeviceScheduleAuto));
    EXPECT(cudaSetDeviceFlags(0x8000), cudaErrorInvalidValue);
    OK(cudaInitDevice(0, 0, 0));
    EXPECT(cudaInitDevice(7, 0, 0), cudaErrorInvalidDevice);
    EXPECT(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 0),
           cudaErrorInvalidDevice); /* a device and itself */
    OK(cudaCtxResetPersistingL2Cache());
    OK(cudaDeviceGetTexture1DLinearMaxWidth(&most, &texel, 0));
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxTexture1DLinearWidth, 0));
    CHECK(most == (size_t)value);
    EXPECT(cudaDeviceGetTexture1DLinearMaxWidth(NULL, &texel, 0), cudaErrorInvalidValue);
    EXPECT(cudaDeviceGetTexture1DLinearMaxWidth(&most, NULL, 0), cudaErrorInvalidValue);
    EXPECT(cudaDeviceGetTexture1DLinearMaxWidth(&most, &texel, 99), cudaErrorInvalidDevice);
    texel.y = 8; /* channels of two sizes */
    EXPECT(cudaDeviceGetTexture1DLinearMaxWidth(&most, &texel, 0),
           cudaErrorInvalidChannelDescriptor);
    OK(cudaDeviceFlushGPUDirectRDMAWrites(cudaFlushGPUDirectRDMAWritesTargetCurrentDevice,
                                          cudaFlushGPUDirectRDMAWritesToOwner));
    EXPECT(cudaDeviceFlushGPUDirectRDMAWrites((enum cudaFlushGPUDirectRDMAWritesTarget)9,
                                              cudaFlushGPUDirectRDMAWritesToOwner),
           cudaErrorInvalidValue);
    OK(cudaDriverGetVersion(&version));
    OK(cudaRuntimeGetVersion(&runtime));
    CHECK(version >= runtime && runtime >= 13000);
    cudaGetLastError();
}

static void functions(void)
{
    size_t bytes = 0;
    int blocks = 0, blocks2 = 0;
    cudaFunction_t f = NULL;
    cudaKernel_t k = NULL;

    OK(cudaFuncSetCacheConfig((const void *)store, cudaFuncCachePreferShared));
    EXPECT(cudaFuncSetCacheConfig((const void *)store, (enum cudaFuncCache)9),
           cudaErrorInvalidValue);
    OK(cudaFuncSetSharedMemConfig((const void *)store, cudaSharedMemBankSizeFourByte));
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void *)empty, 64, 0));
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks2, (const void *)empty, 64, 0,
                                                              cudaOccupancyDisableCachingOverride));
    CHECK(blocks > 0 && blocks == blocks2);
    OK(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, (const void *)empty, 2, 64));
    CHECK(bytes > 0);
    OK(cudaKernelSetAttributeForDevice(empty, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024,
                                       0));
    EXPECT(cudaKernelSetAttributeForDevice(empty, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           1 << 30, 0),
           cudaErrorInvalidValue);
    OK(cudaGetFuncBySymbol(&f, (const void *)empty));
    CHECK(f != NULL);
    OK(cudaGetKernel(&k, (const void *)empty));
    CHECK(k == empty);
    cudaGetLastError();
}

static void launch_by_attributes(unsigned *pinned)
{
    cudaLaunchAttribute a = {.id = cudaLaunchAttributePriority, .val = {.priority = 0}};
    cudaLaunchConfig_t c = {
        .gridDim = {1, 1, 1}, .blockDim = {1, 1, 1}, .stream = s, .attrs = &a, .numAttrs = 1};
    unsigned value = 41;
    void *args[] = {&pinned, &value};

    pinned[0] = 0;
    OK(cudaLaunchKernelExC(&c, (const void *)store, args));
    OK(cudaStreamSynchronize(s));
    CHECK(pinned[0] == 41);
    c.gridDim.x = 0;
    EXPECT(cudaLaunchKernelExC(&c, (const void *)store, args), cudaErrorInvalidValue);
    cudaGetLastError();
}

/* ---- copies and memsets ---- */

static void boxes(unsigned char *pinned)
{
    struct cudaExtent e = {8, 4, 2};
    unsigned char *d;
    struct cudaMemcpy3DParms p = {.extent = e, .kind = cudaMemcpyHostToDevice};
    struct cudaMemcpy3DPeerParms peer = {.extent = e};

    OK(cudaMalloc((void **)&d, 4096));
    for (int i = 0; i < 64; i++)
        pinned[i] = (unsigned char)i;
    p.srcPtr = (struct cudaPitchedPtr){pinned, 8, 8, 4};
    p.dstPtr = (struct cudaPitchedPtr){d, 32, 32, 8};
    OK(cudaMemset(d, 255, 2048));
    OK(cudaDeviceSynchronize()); /* s does not wait for the legacy stream */
    OK(cudaMemcpy3DAsync(&p, s));
    peer.srcPtr = p.dstPtr;
    peer.dstPtr = (struct cudaPitchedPtr){d + 2048, 16, 16, 4};
    OK(cudaMemcpy3DPeerAsync(&peer, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaMemcpy(pinned + 1024, d, 2048 + 256, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++) {
        int x = i % 8, y = i / 8 % 4, z = i / 32;

        CHECK(pinned[1024 + z * 256 + y * 32 + x] == i);
        CHECK(pinned[1024 + 2048 + z * 64 + y * 16 + x] == i);
    }
    CHECK(pinned[1024 + 8] == 255); /* beside the box */
    peer.dstPtr = (struct cudaPitchedPtr){d + 3072, 8, 8, 4};
    OK(cudaMemcpy3DPeer(&peer));
    OK(cudaMemcpy(pinned + 1024, d + 3072, 64, cudaMemcpyDeviceToHost));
    CHECK(memcmp(pinned, pinned + 1024, 64) == 0);

    OK(cudaMemset2DAsync(d, 16, 7, 4, 3, s));
    OK(cudaMemset3DAsync((struct cudaPitchedPtr){d + 256, 16, 16, 4}, 9,
                         (struct cudaExtent){4, 2, 2}, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaMemcpy(pinned, d, 512, cudaMemcpyDeviceToHost));
    CHECK(pinned[0] == 7 && pinned[3] == 7 && pinned[4] != 7 && pinned[32] == 7 && pinned[48] != 7);
    CHECK(pinned[256] == 9 && pinned[256 + 16 + 3] == 9 && pinned[256 + 64 + 16] == 9 &&
          pinned[256 + 32] != 9);
    OK(cudaFree(d));
}

static void arrays(unsigned char *pinned)
{
    struct cudaChannelFormatDesc d = {8, 0, 0, 0, cudaChannelFormatKindUnsigned}, got = {0};
    cudaArray_t a, b;

    OK(cudaMallocArray(&a, &d, 32, 4, 0));
    OK(cudaMallocArray(&b, &d, 32, 4, 0));
    OK(cudaGetChannelDesc(&got, a));
    CHECK(got.x == 8 && got.y == 0 && got.f == cudaChannelFormatKindUnsigned);
    for (int i = 0; i < 128; i++)
        pinned[i] = (unsigned char)(i + 1);
    OK(cudaMemcpy2DToArrayAsync(a, 0, 0, pinned, 32, 32, 4, cudaMemcpyHostToDevice, s));
    OK(cudaMemcpy2DFromArrayAsync(pinned + 256, 16, a, 4, 1, 16, 2, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    CHECK(pinned[256] == 1 + 32 + 4 && pinned[256 + 16] == 1 + 64 + 4);
    OK(cudaMemcpy2DFromArray(pinned + 512, 32, a, 0, 0, 32, 4, cudaMemcpyDeviceToHost));
    CHECK(memcmp(pinned, pinned + 512, 128) == 0);
    OK(cudaMemcpyToArrayAsync(b, 0, 1, pinned, 32, cudaMemcpyHostToDevice, s));
    OK(cudaMemcpyFromArrayAsync(pinned + 768, b, 0, 1, 32, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    CHECK(memcmp(pinned, pinned + 768, 32) == 0);
    OK(cudaMemcpyArrayToArray(b, 0, 2, a, 0, 0, 64, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpyFromArray(pinned + 768, b, 0, 2, 64, cudaMemcpyDeviceToHost));
    CHECK(memcmp(pinned, pinned + 768, 64) == 0);
    OK(cudaFreeArray(a));
    OK(cudaFreeArray(b));
}

/* ---- pools, graphs' memory, user objects, libraries ---- */

static void pools(void)
{
    struct cudaMemLocation here = {.type = cudaMemLocationTypeDevice, .id = 0};
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned, .location = here};
    cudaMemPool_t by_place, by_device, own;
    cudaMemPool_t now;

    OK(cudaMemGetDefaultMemPool(&by_place, &here, cudaMemAllocationTypePinned));
    OK(cudaDeviceGetDefaultMemPool(&by_device, 0));
    CHECK(by_place == by_device);
    OK(cudaMemPoolCreate(&own, &props));
    OK(cudaMemSetMemPool(&here, cudaMemAllocationTypePinned, own));
    OK(cudaMemGetMemPool(&now, &here, cudaMemAllocationTypePinned));
    CHECK(now == own);
    OK(cudaMemSetMemPool(&here, cudaMemAllocationTypePinned, by_device));
    OK(cudaMemPoolDestroy(own));
}

static void graph_memory(void)
{
    struct cudaMemAllocNodeParams p = {
        .poolProps = {.allocType = cudaMemAllocationTypePinned,
                      .location = {.type = cudaMemLocationTypeDevice, .id = 0}},
        .bytesize = 1 << 20};
    struct cudaMemAllocNodeParams got = {0};
    cudaGraphNode_t alloc, set, release;
    cudaGraphExec_t x;
    cudaGraph_t g;
    void *freed = NULL;
    uint64_t v = 0, zero = 0;

    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphAddMemAllocNode(&alloc, g, NULL, 0, &p));
    CHECK(p.dptr != NULL);
    OK(cudaGraphMemAllocNodeGetParams(alloc, &got));
    CHECK(got.dptr == p.dptr && got.bytesize == 1 << 20);
    OK(cudaGraphAddMemsetNode(
        &set, g, &alloc, 1,
        &(struct cudaMemsetParams){.dst = p.dptr, .elementSize = 1, .width = 64, .height = 1}));
    OK(cudaGraphAddMemFreeNode(&release, g, &set, 1, p.dptr));
    OK(cudaGraphMemFreeNodeGetParams(release, &freed));
    CHECK(freed == p.dptr);
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphLaunch(x, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &v));
    CHECK(v >= 1 << 20);
    OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &v));
    CHECK(v >= 1 << 20);
    OK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &zero));
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
    OK(cudaDeviceGraphMemTrim(0));
    OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &v));
    CHECK(v == 0);
}

static _Atomic int destroyed;

static void destroy(void *p)
{
    atomic_fetch_add(&destroyed, *(int *)p);
}

/* It lives while somebody holds it: the program, a graph, an instance. */
static void user_objects(void)
{
    cudaUserObject_t o;
    cudaGraph_t g;
    int one = 1;

    OK(cudaUserObjectCreate(&o, &one, destroy, 1, cudaUserObjectNoDestructorSync));
    OK(cudaUserObjectRetain(o, 2));
    OK(cudaUserObjectRelease(o, 2));
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphRetainUserObject(g, o, 1, 0));
    OK(cudaUserObjectRelease(o, 1));
    CHECK(atomic_load(&destroyed) == 0);
    OK(cudaGraphReleaseUserObject(g, o, 1));
    for (int i = 0; i < 20000 && !atomic_load(&destroyed); i++)
        sleep_ms(1);
    CHECK(atomic_load(&destroyed) == 1);
    OK(cudaUserObjectCreate(&o, &one, destroy, 1, cudaUserObjectNoDestructorSync));
    OK(cudaGraphRetainUserObject(g, o, 1, cudaGraphUserObjectMove));
    OK(cudaGraphDestroy(g));
    for (int i = 0; i < 20000 && atomic_load(&destroyed) < 2; i++)
        sleep_ms(1);
    CHECK(atomic_load(&destroyed) == 2);
}

static void libraries(void)
{
    char path[] = "/tmp/weir-api-rest-XXXXXX";
    int fd = mkstemp(path);
    cudaLibrary_t from_file;
    cudaKernel_t k;
    size_t bytes = 0;
    void *p = NULL;

    CHECK(fd >= 0 && write(fd, kernels_ptx, sizeof kernels_ptx) == sizeof kernels_ptx);
    close(fd);
    OK(cudaLibraryLoadFromFile(&from_file, path, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernel(&k, from_file, "empty"));
    CHECK(k != empty);
    OK(cudaLibraryGetGlobal(&p, &bytes, from_file, "counter"));
    CHECK(p != NULL && bytes == 16);
    EXPECT(cudaLibraryGetManaged(&p, &bytes, from_file, "nothing"), cudaErrorSymbolNotFound);
    OK(cudaLibraryUnload(from_file));
    unlink(path);
    EXPECT(cudaLibraryLoadFromFile(&from_file, path, NULL, NULL, 0, NULL, NULL, 0),
           cudaErrorFileNotFound);
    cudaGetLastError();
}

int main(void)
{
    int only = 0;
    void *pinned;

    OK(cudaSetValidDevices(&only, 1));
    OK(cudaProfilerStart());
    OK(cudaLibraryLoadData(&lib, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernel(&store, lib, "store"));
    OK(cudaLibraryGetKernel(&empty, lib, "empty"));
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaMallocHost(&pinned, 8192));
    settings();
    functions();
    launch_by_attributes(pinned);
    boxes(pinned);
    arrays(pinned);
    pools();
    graph_memory();
    user_objects();
    libraries();
    OK(cudaProfilerStop());
    return CONFORM_END();
}
