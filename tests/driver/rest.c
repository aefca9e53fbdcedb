/* Calls that the other tests have no use for: contexts' and kernels' settings, asynchronous forms
 * of memsets and boxes, batches, pools by location, streams' attributes and captures, values of 64
 * bits, logs, the profiler. What a device cannot do says so.
 * SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

#include <cudaProfiler.h>
#include <unistd.h>

static CUstream s;
static CUdeviceptr p;

static unsigned char byte_at(size_t i)
{
    unsigned char v = 0;

    OK(cuMemcpyDtoH(&v, p + i, 1));
    return v;
}

static void check_contexts(void)
{
    CUsharedconfig bank = 77;
    const void *table = &bank;
    CUexecAffinityParam param;
    unsigned flags = 0;
    int affinity = 77;

    OK(cuCtxSetFlags(CU_CTX_SCHED_BLOCKING_SYNC));
    OK(cuCtxGetFlags(&flags));
    CHECK((flags & CU_CTX_SCHED_MASK) == CU_CTX_SCHED_BLOCKING_SYNC);
    OK(cuCtxSetFlags(0));
    OK(cuCtxGetSharedMemConfig(&bank));
    OK(cuCtxSetSharedMemConfig(bank));
    OK(cuCtxResetPersistingL2Cache());
    EXPECT(cuCtxSetFlags(0x4000), CUDA_ERROR_INVALID_VALUE);
    OK(cuDeviceGetExecAffinitySupport(&affinity, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 0));
    CHECK(affinity == 0 || affinity == 1);
    if (affinity == 0)
        EXPECT(cuCtxGetExecAffinity(&param, CU_EXEC_AFFINITY_TYPE_SM_COUNT),
               CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
    EXPECT(cuCtxGetExecAffinity(NULL, CU_EXEC_AFFINITY_TYPE_SM_COUNT), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuCtxGetExecAffinity(&param, CU_EXEC_AFFINITY_TYPE_MAX), CUDA_ERROR_INVALID_VALUE);
    OK(cuFlushGPUDirectRDMAWrites(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
                                  CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER));
    EXPECT(cuFlushGPUDirectRDMAWrites((CUflushGPUDirectRDMAWritesTarget)9,
                                      CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER),
           CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuFlushGPUDirectRDMAWrites(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
                                      (CUflushGPUDirectRDMAWritesScope)9),
           CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuGetExportTable(&table, &(CUuuid){{1, 2, 3}}), CUDA_ERROR_NOT_FOUND);
    CHECK(table == NULL);
    EXPECT(cuGetExportTable(NULL, &(CUuuid){{1, 2, 3}}), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuGetExportTable(&table, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cuProfilerStart());
    OK(cuProfilerStop());
}

static void check_code(void)
{
    size_t offset = 77, bytes = 0;
    int grid = 0, block = 0, blocks = 0, shared = 0;
    CUmoduleLoadingMode mode = 77;
    CUfunction f;
    CUlibrary lib;
    CUkernel k;

    OK(cuModuleGetLoadingMode(&mode));
    CHECK(mode == CU_MODULE_EAGER_LOADING || mode == CU_MODULE_LAZY_LOADING);
    OK(cuLibraryLoadData(&lib, driver_ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&k, lib, "scale"));
    OK(cuKernelGetParamInfo(k, 1, &offset, &bytes));
    CHECK(offset == 8 && bytes == 4);
    EXPECT(cuKernelGetParamInfo(k, 3, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);
    OK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024, k, 0));
    OK(cuKernelGetAttribute(&shared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, k, 0));
    CHECK(shared == 1024);
    EXPECT(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_NUM_REGS, 3, k, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuKernelSetCacheConfig(k, CU_FUNC_CACHE_PREFER_L1, 0));
    EXPECT(cuLibraryGetManaged(&p, &bytes, lib, "nothing"), CUDA_ERROR_NOT_FOUND);
    OK(cuKernelGetFunction(&f, k));
    OK(cuFuncSetSharedMemConfig(f, CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE));
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, f, 128, 0, 0));
    CHECK(blocks > 0);
    OK(cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, f, NULL, 0, 0, 0));
    CHECK(grid > 0 && block > 0);
    OK(cuLibraryUnload(lib));
    EXPECT(cuLibraryLoadFromFile(&lib, "/nothing/here", NULL, NULL, 0, NULL, NULL, 0),
           CUDA_ERROR_FILE_NOT_FOUND);
}

static void check_memsets(void)
{
    OK(cuMemsetD8Async(p, 0, 4096, s));
    OK(cuMemsetD16Async(p, 0x0102, 2, s));           /* 02 01 02 01 */
    OK(cuMemsetD2D8Async(p + 64, 16, 7, 3, 2, s));   /* 64..66, 80..82 */
    OK(cuMemsetD2D32Async(p + 128, 16, 9, 1, 2, s)); /* 128, 144 */
    OK(cuStreamSynchronize(s));
    OK(cuMemsetD2D16(p + 256, 16, 0x0304, 1, 2)); /* 256, 272 */
    CHECK(byte_at(0) == 2 && byte_at(3) == 1 && byte_at(4) == 0);
    CHECK(byte_at(66) == 7 && byte_at(67) == 0 && byte_at(82) == 7 && byte_at(96) == 0);
    CHECK(byte_at(128) == 9 && byte_at(144) == 9 && byte_at(132) == 0);
    CHECK(byte_at(256) == 4 && byte_at(273) == 3 && byte_at(258) == 0);
    EXPECT(cuMemsetD16Async(p + 1, 1, 1, s), CUDA_ERROR_INVALID_VALUE);
}

static void check_boxes(void)
{
    CUDA_MEMCPY3D_PEER box = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                              .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                              .dstDevice = p,
                              .srcPitch = 4,
                              .dstPitch = 16,
                              .WidthInBytes = 4,
                              .Height = 2,
                              .Depth = 1};
    CUDA_MEMCPY3D_BATCH_OP op = {.src = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER},
                                 .dst = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER},
                                 .extent = {4, 2, 1},
                                 .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    unsigned char *pinned;

    OK(cuMemAllocHost((void **)&pinned, 64));
    for (int i = 0; i < 64; i++)
        pinned[i] = (unsigned char)(i + 1);
    OK(cuCtxGetCurrent(&box.srcContext));
    box.dstContext = box.srcContext;
    box.srcHost = pinned;
    OK(cuMemsetD8(p, 0, 4096));
    OK(cuCtxSynchronize());
    OK(cuMemcpy3DPeer(&box));
    OK(cuCtxSynchronize());
    CHECK(byte_at(0) == 1 && byte_at(4) == 0 && byte_at(16) == 5 && byte_at(19) == 8);
    box.dstDevice = p + 256;
    OK(cuMemcpy3DPeerAsync(&box, s));
    OK(cuStreamSynchronize(s));
    CHECK(byte_at(256) == 1 && byte_at(275) == 8);
    op.src.op.ptr.ptr = (CUdeviceptr)(uintptr_t)pinned;
    op.src.op.ptr.rowLength = 4;
    op.src.op.ptr.layerHeight = 2;
    op.dst.op.ptr.ptr = p + 512;
    op.dst.op.ptr.rowLength = 16;
    op.dst.op.ptr.layerHeight = 2;
    OK(cuMemcpy3DBatchAsync(1, &op, 0, s));
    OK(cuStreamSynchronize(s));
    CHECK(byte_at(512) == 1 && byte_at(516) == 0 && byte_at(528) == 5);
    OK(cuMemFreeHost(pinned));
}

static void check_pools(void)
{
    CUmemLocation here = {.type = CU_MEM_LOCATION_TYPE_DEVICE};
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                            .location = here};
    CUmemAccessDesc access = {here, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemoryPool pool, now = NULL, first = NULL, imported;
    CUmemPoolPtrExportData data;
    CUdeviceptr q, r = 0;
    int fd = -1;

    OK(cuMemGetDefaultMemPool(&first, &here, CU_MEM_ALLOCATION_TYPE_PINNED));
    OK(cuMemGetMemPool(&now, &here, CU_MEM_ALLOCATION_TYPE_PINNED));
    CHECK(now && now == first);
    OK(cuMemPoolCreate(&pool, &props));
    OK(cuMemSetMemPool(&here, CU_MEM_ALLOCATION_TYPE_PINNED, pool));
    OK(cuMemGetMemPool(&now, &here, CU_MEM_ALLOCATION_TYPE_PINNED));
    CHECK(now == pool);
    OK(cuMemSetMemPool(&here, CU_MEM_ALLOCATION_TYPE_PINNED, first));
    OK(cuMemPoolSetAccess(pool, &access, 1));
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE; /* the own device cannot be locked out */
    EXPECT(cuMemPoolSetAccess(pool, &access, 1), CUDA_ERROR_INVALID_DEVICE);
    OK(cuMemAllocFromPoolAsync(&q, 4096, pool, s));
    OK(cuMemsetD8Async(q, 5, 4096, s));
    OK(cuStreamSynchronize(s));
    OK(cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    OK(cuMemPoolExportPointer(&data, q));
    OK(cuMemPoolImportFromShareableHandle(&imported, (void *)(intptr_t)fd,
                                          CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    OK(cuMemPoolImportPointer(&r, imported, &data));
    OK(cuMemcpyDtoD(p, r, 16));
    CHECK(byte_at(15) == 5);
    OK(cuMemFree(r));
    OK(cuMemPoolDestroy(imported));
    close(fd);
    OK(cuMemFreeAsync(q, s));
    OK(cuStreamSynchronize(s));
    OK(cuMemPoolDestroy(pool));
}

static void check_managed(void)
{
    CUmem_range_attribute which[2] = {CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
                                      CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION};
    CUmemLocation here = {.type = CU_MEM_LOCATION_TYPE_DEVICE};
    int mostly = 77, preferred = 77, on = 1;
    size_t bytes = 65536, sizes[2] = {4, 4}, index = 0;
    void *out[2] = {&mostly, &preferred};
    CUdeviceptr m;

    OK(cuMemAllocManaged(&m, bytes, CU_MEM_ATTACH_GLOBAL));
    memset((void *)(uintptr_t)m, 3, bytes);
    OK(cuMemAdvise(m, bytes, CU_MEM_ADVISE_SET_READ_MOSTLY, here));
    OK(cuMemRangeGetAttributes(out, sizes, which, 2, m, bytes));
    CHECK(mostly == 1 && preferred != 77);
    OK(cuMemPrefetchBatchAsync(&m, &bytes, 1, &here, &index, 1, 0, s));
    OK(cuStreamSynchronize(s));
    CHECK(((unsigned char *)(uintptr_t)m)[bytes - 1] == 3);
    OK(cuMemDiscardBatchAsync(&m, &bytes, 1, 0, s));
    OK(cuMemDiscardAndPrefetchBatchAsync(&m, &bytes, 1, &here, &index, 1, 0, s));
    OK(cuStreamAttachMemAsync(s, m, 0, CU_MEM_ATTACH_SINGLE));
    OK(cuStreamSynchronize(s));
    OK(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p));
    EXPECT(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p),
           CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(m));
}

static void check_streams(void)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUstreamAttrValue value = {.syncPolicy = CU_SYNC_POLICY_YIELD}, back = {0};
    CUgraphNode n, got[4];
    CUgraph g, same;
    CUstream other;
    size_t count = 4;
    CUevent e;

    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    OK(cuStreamSetAttribute(s, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
    OK(cuStreamCopyAttributes(other, s));
    OK(cuStreamGetAttribute(other, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &back));
    CHECK(back.syncPolicy == CU_SYNC_POLICY_YIELD);
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    CHECK(mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    CHECK(mode == CU_STREAM_CAPTURE_MODE_RELAXED);

    OK(cuGraphCreate(&g, 0));
    OK(cuGraphAddEmptyNode(&n, g, NULL, 0));
    OK(cuStreamBeginCaptureToGraph(other, g, &n, NULL, 1, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuMemsetD8Async(p, 1, 16, other));
    OK(cuStreamUpdateCaptureDependencies(other, &n, NULL, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    OK(cuMemsetD8Async(p + 16, 1, 16, other)); /* beside the first */
    OK(cuStreamEndCapture(other, &same));
    CHECK(same == g);
    OK(cuGraphNodeGetDependentNodes(n, got, NULL, &count));
    CHECK(count == 2);
    OK(cuGraphDestroy(g));

    OK(cuEventCreate(&e, 0));
    OK(cuEventRecordWithFlags(e, s, CU_EVENT_RECORD_DEFAULT));
    EXPECT(cuEventRecordWithFlags(e, s, CU_EVENT_RECORD_EXTERNAL), CUDA_ERROR_ILLEGAL_STATE);
    OK(cuEventSynchronize(e));
    OK(cuEventDestroy(e));
    OK(cuStreamDestroy(other));
}

static void check_values(void)
{
    CUstream other;

    OK(cuMemsetD8(p, 0, 16));
    OK(cuCtxSynchronize());
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    OK(cuStreamWaitValue64(s, p, 0x100000001ull, CU_STREAM_WAIT_VALUE_EQ));
    OK(cuMemsetD8Async(p + 64, 3, 1, s));
    EXPECT(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    OK(cuStreamWriteValue64(other, p, 0x100000001ull, CU_STREAM_WRITE_VALUE_DEFAULT));
    OK(cuStreamSynchronize(s));
    CHECK(byte_at(64) == 3 && byte_at(4) == 1);
    OK(cuStreamDestroy(other));
}

static void check_ipc(void)
{
    CUipcMemHandle memory;
    CUipcEventHandle handle;
    CUdeviceptr q;
    CUevent e, opened;

    OK(cuIpcGetMemHandle(&memory, p));
    EXPECT(cuIpcGetMemHandle(&memory, 8), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuIpcOpenMemHandle(&q, memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
           CUDA_ERROR_INVALID_CONTEXT); /* of this process */
    EXPECT(cuIpcCloseMemHandle(p), CUDA_ERROR_INVALID_VALUE);
    OK(cuEventCreate(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    OK(cuIpcGetEventHandle(&handle, e));
    EXPECT(cuIpcOpenEventHandle(&opened, handle), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuEventDestroy(e));
}

static void note(void *user, CUlogLevel level, char *message, size_t length)
{
    if (level == CU_LOG_LEVEL_ERROR && length == strlen(message) &&
        strstr(message, "cuMemFree_v2: CUDA_ERROR_INVALID_VALUE"))
        ++*(int *)user;
}

static void check_logs(void)
{
    char path[] = "/tmp/weir-log-XXXXXX", c;
    int calls = 0, fd = mkstemp(path);
    CUlogsCallbackHandle h;

    OK(cuLogsRegisterCallback(note, &calls, &h));
    EXPECT(cuMemFree(24), CUDA_ERROR_INVALID_VALUE);
    CHECK(calls == 1);
    OK(cuLogsDumpToFile(NULL, path, 0));
    CHECK(fd >= 0 && read(fd, &c, 1) == 1);
    OK(cuLogsUnregisterCallback(h));
    calls = 0;
    EXPECT(cuMemFree(24), CUDA_ERROR_INVALID_VALUE);
    CHECK(calls == 0);
    EXPECT(cuLogsUnregisterCallback(h), CUDA_ERROR_INVALID_VALUE);
    close(fd);
    unlink(path);
}

int main(void)
{
    CUcontext ctx;

    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&ctx, 0));
    OK(cuCtxSetCurrent(ctx));
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&p, 4096));
    check_contexts();
    check_code();
    OK(cuMemFree(p));
    OK(cuMemAlloc(&p, 4096));
    check_memsets();
    check_boxes();
    check_pools();
    check_managed();
    check_streams();
    check_values();
    check_ipc();
    check_logs();
    OK(cuDevicePrimaryCtxReset(0));
    EXPECT(cuMemFree(p), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    OK(cuDevicePrimaryCtxRelease(0));
    return DRIVER_END();
}
