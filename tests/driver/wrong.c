/* Wrong handles, devices, contexts, sizes and NULL in every group of functions: the documented
 * error, and nothing else happens. What each call does when it is right is the other tests'.
 * SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

#define VALUE(call)    EXPECT(call, CUDA_ERROR_INVALID_VALUE)
#define HANDLE(call)   EXPECT(call, CUDA_ERROR_INVALID_HANDLE)
#define NODEVICE(call) EXPECT(call, CUDA_ERROR_INVALID_DEVICE)

/* Memory that is no object; the address of one that was destroyed is `dead`. */
static long long junk[64];
static CUdevice dev;
static CUstream s, dead_stream;
static CUevent e, dead_event;
static CUdeviceptr p;
static CUmodule module;
static CUfunction scale;

static void devices(void)
{
    CUdevprop prop;
    CUuuid uuid;
    CUdevice d;
    CUmemoryPool pool;
    size_t bytes;
    unsigned flags;
    int major, minor, value;

    VALUE(cuDeviceComputeCapability(NULL, &minor, dev));
    VALUE(cuDeviceComputeCapability(&major, NULL, dev));
    NODEVICE(cuDeviceComputeCapability(&major, &minor, 99));
    VALUE(cuDeviceGetProperties(NULL, dev));
    NODEVICE(cuDeviceGetProperties(&prop, -1));
    VALUE(cuDeviceGetUuid(NULL, dev));
    NODEVICE(cuDeviceGetUuid(&uuid, 99));
    VALUE(cuDeviceTotalMem(NULL, dev));
    NODEVICE(cuDeviceTotalMem(&bytes, 99));
    VALUE(cuDeviceGetExecAffinitySupport(NULL, CU_EXEC_AFFINITY_TYPE_SM_COUNT, dev));
    NODEVICE(cuDeviceGetExecAffinitySupport(&value, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 99));
    VALUE(cuDeviceGetExecAffinitySupport(&value, CU_EXEC_AFFINITY_TYPE_MAX, dev));
    VALUE(cuDeviceGetDefaultMemPool(NULL, dev));
    NODEVICE(cuDeviceGetDefaultMemPool(&pool, 99));
    VALUE(cuDeviceSetMemPool(dev, NULL));
    VALUE(cuDeviceSetMemPool(dev, (CUmemoryPool)junk));
    VALUE(cuDeviceGetByPCIBusId(&d, NULL));
    VALUE(cuDeviceGetByPCIBusId(NULL, "0000:00:00.0"));
    VALUE(cuDeviceGetByPCIBusId(&d, "no address"));
    VALUE(cuDeviceCanAccessPeer(NULL, dev, dev));
    NODEVICE(cuDeviceCanAccessPeer(&value, dev, 99));
    NODEVICE(cuDeviceCanAccessPeer(&value, 99, dev));
    NODEVICE(cuDevicePrimaryCtxGetState(99, &flags, &value));
    NODEVICE(cuDevicePrimaryCtxReset(99));
    NODEVICE(cuDeviceGetGraphMemAttribute(99, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &bytes));
    VALUE(cuDeviceGetGraphMemAttribute(dev, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, NULL));
    VALUE(cuDeviceGetGraphMemAttribute(dev, (CUgraphMem_attribute)77, &bytes));
    VALUE(cuDeviceSetGraphMemAttribute(dev, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, NULL));
    VALUE(cuDeviceSetGraphMemAttribute(dev, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &bytes));
    NODEVICE(cuDeviceGraphMemTrim(99));
}

static void contexts(void)
{
    const CUcontext none = (CUcontext)junk;
    unsigned long long id;
    unsigned version;

    VALUE(cuCtxGetApiVersion(NULL, NULL));
    EXPECT(cuCtxGetApiVersion(none, &version), CUDA_ERROR_INVALID_CONTEXT);
    VALUE(cuCtxGetId(NULL, NULL));
    EXPECT(cuCtxGetId(none, &id), CUDA_ERROR_INVALID_CONTEXT);
    VALUE(cuCtxGetCacheConfig(NULL));
    VALUE(cuCtxGetFlags(NULL));
    VALUE(cuCtxGetSharedMemConfig(NULL));
    VALUE(cuCtxSetCacheConfig((CUfunc_cache)99));
    VALUE(cuCtxSetSharedMemConfig((CUsharedconfig)99));
    OK(cuCtxGetStreamPriorityRange(NULL, NULL)); /* NULL: not wanted */
}

static void streams(void)
{
    CUstreamAttrValue value = {.syncPolicy = 0};
    CUstreamCaptureMode mode = (CUstreamCaptureMode)9;
    CUstreamCaptureStatus status;
    unsigned long long id;
    CUcontext ctx;
    CUdevice d;
    CUstream t;
    CUgraph g;
    unsigned flags;
    int priority;

    VALUE(cuStreamCreateWithPriority(NULL, 0, 0));
    VALUE(cuStreamCreateWithPriority(&t, 0x40, 0));
    VALUE(cuStreamGetFlags(s, NULL));
    HANDLE(cuStreamGetFlags(dead_stream, &flags));
    VALUE(cuStreamGetPriority(s, NULL));
    HANDLE(cuStreamGetPriority(dead_stream, &priority));
    VALUE(cuStreamGetId(s, NULL));
    HANDLE(cuStreamGetId(dead_stream, &id));
    VALUE(cuStreamGetCtx(s, NULL));
    HANDLE(cuStreamGetCtx(dead_stream, &ctx));
    VALUE(cuStreamGetDevice(s, NULL));
    HANDLE(cuStreamGetDevice(dead_stream, &d));
    HANDLE(cuStreamCopyAttributes(dead_stream, s));
    HANDLE(cuStreamCopyAttributes(s, dead_stream));
    VALUE(cuStreamGetAttribute(s, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, NULL));
    VALUE(cuStreamGetAttribute(s, (CUstreamAttrID)99, &value));
    HANDLE(cuStreamGetAttribute(dead_stream, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
    VALUE(cuStreamSetAttribute(s, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, NULL));
    VALUE(cuStreamSetAttribute(s, (CUstreamAttrID)99, &value));
    HANDLE(cuStreamSetAttribute(dead_stream, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
    VALUE(cuStreamAddCallback(s, NULL, NULL, 0));
    HANDLE(cuStreamAttachMemAsync(dead_stream, p, 0, CU_MEM_ATTACH_SINGLE));
    VALUE(cuStreamIsCapturing(s, NULL));
    HANDLE(cuStreamIsCapturing(dead_stream, &status));
    VALUE(cuStreamBeginCapture(s, (CUstreamCaptureMode)9));
    EXPECT(cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL),
           CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    HANDLE(cuStreamBeginCapture(dead_stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    VALUE(cuStreamBeginCaptureToGraph(s, NULL, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_GLOBAL));
    VALUE(cuStreamGetCaptureInfo(s, NULL, NULL, NULL, NULL, NULL, NULL));
    EXPECT(cuStreamUpdateCaptureDependencies(s, NULL, NULL, 0, 0), CUDA_ERROR_ILLEGAL_STATE);
    EXPECT(cuStreamEndCapture(s, &g), CUDA_ERROR_ILLEGAL_STATE);
    VALUE(cuThreadExchangeStreamCaptureMode(NULL));
    OK(cuThreadExchangeStreamCaptureMode(&mode)); /* no mode, and no error: as measured */
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    HANDLE(cuEventSynchronize(dead_event));
    HANDLE(cuEventSynchronize(NULL));
    VALUE(cuIpcGetEventHandle(NULL, e));
    OK(cuStreamQuery(s)); /* none of these captures, or left anything in it */
}

static void memory(void)
{
    CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    CUmemLocation where = {CU_MEM_LOCATION_TYPE_DEVICE, 99};
    CUmem_range_attribute range = CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY;
    CUDA_MEMCPY3D_PEER box = {.WidthInBytes = 1, .Height = 1, .Depth = 1};
    void *host, *data = junk;
    size_t bytes = 4;
    unsigned flags;

    VALUE(cuMemAllocHost(NULL, 64));
    VALUE(cuMemAllocHost(&host, 0));
    VALUE(cuMemHostGetFlags(NULL, junk));
    VALUE(cuMemHostGetFlags(&flags, junk));
    VALUE(cuMemcpy(0, p, 4));
    VALUE(cuMemcpyAsync(0, p, 4, s));
    HANDLE(cuMemcpyAsync(p, p + 8, 4, dead_stream));
    VALUE(cuMemcpyDtoD(p, 0, 4));
    VALUE(cuMemcpyDtoDAsync(0, p, 4, s));
    HANDLE(cuMemcpyDtoDAsync(p, p + 8, 4, dead_stream));
    VALUE(cuMemcpyDtoHAsync(NULL, p, 4, s));
    HANDLE(cuMemcpyDtoHAsync(junk, p, 4, dead_stream));
    VALUE(cuMemcpy2DUnaligned(NULL));
    VALUE(cuMemcpy3DPeer(NULL));
    VALUE(cuMemcpy3DPeerAsync(NULL, s));
    EXPECT(cuMemcpy3DPeer(&box), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT(cuMemcpyPeerAsync(p, (CUcontext)junk, p, (CUcontext)junk, 4, s),
           CUDA_ERROR_INVALID_CONTEXT);
    VALUE(cuMemcpy3DBatchAsync(1, NULL, 0, s));
    VALUE(cuMemsetD2D16(p + 1, 64, 1, 4, 2)); /* not at a multiple of its element */
    VALUE(cuMemsetD2D16(p, 63, 1, 4, 2));
    VALUE(cuMemsetD2D16Async(p + 1, 64, 1, 4, 2, s));
    HANDLE(cuMemsetD2D16Async(p, 64, 1, 4, 2, dead_stream));
    VALUE(cuMemsetD2D32(p + 2, 64, 1, 4, 2));
    VALUE(cuMemsetD2D32(p, 8, 1, 4, 2)); /* rows over each other */
    VALUE(cuMemsetD2D32Async(p + 2, 64, 1, 4, 2, s));
    HANDLE(cuMemsetD2D32Async(p, 64, 1, 4, 2, dead_stream));
    VALUE(cuMemsetD2D8Async(p, 3, 1, 4, 2, s));
    HANDLE(cuMemsetD2D8Async(p, 64, 1, 4, 2, dead_stream));
    VALUE(cuMemsetD32Async(p + 2, 1, 4, s));
    VALUE(cuMemsetD32Async(p, 1, SIZE_MAX / 2, s));
    HANDLE(cuMemsetD32Async(p, 1, 4, dead_stream));
    VALUE(cuMemsetD8Async(0, 1, 4, s));
    HANDLE(cuMemsetD8Async(p, 1, 4, dead_stream));
    VALUE(cuPointerGetAttributes(1, NULL, &data, p));
    VALUE(cuPointerGetAttributes(1, &attribute, NULL, p));
    VALUE(cuMemRangeGetAttribute(NULL, 4, range, p, 64));
    VALUE(cuMemRangeGetAttribute(junk, 4, (CUmem_range_attribute)99, p, 64));
    VALUE(cuMemRangeGetAttributes(&data, &bytes, NULL, 1, p, 64));
    VALUE(cuMemPrefetchBatchAsync(NULL, &bytes, 1, &where, &bytes, 1, 0, s));
    VALUE(cuMemDiscardBatchAsync(NULL, &bytes, 1, 0, s));
    VALUE(cuMemDiscardAndPrefetchBatchAsync(NULL, &bytes, 1, &where, &bytes, 1, 0, s));
}

static void values_in_memory(void)
{
    VALUE(cuStreamWaitValue32(s, 0, 1, CU_STREAM_WAIT_VALUE_EQ));
    VALUE(cuStreamWaitValue32(s, p + 2, 1, CU_STREAM_WAIT_VALUE_EQ));
    VALUE(cuStreamWaitValue32(s, p, 1, 0x77));
    HANDLE(cuStreamWaitValue32(dead_stream, p, 0, CU_STREAM_WAIT_VALUE_EQ));
    VALUE(cuStreamWaitValue64(s, p + 4, 1, CU_STREAM_WAIT_VALUE_EQ));
    HANDLE(cuStreamWaitValue64(dead_stream, p, 0, CU_STREAM_WAIT_VALUE_EQ));
    VALUE(cuStreamWriteValue32(s, 0, 1, 0));
    VALUE(cuStreamWriteValue32(s, p, 1, 0x77));
    HANDLE(cuStreamWriteValue32(dead_stream, p, 1, 0));
    VALUE(cuStreamWriteValue64(s, p + 4, 1, 0));
    HANDLE(cuStreamWriteValue64(dead_stream, p, 1, 0));
}

static void pools(void)
{
    CUmemLocation here = {CU_MEM_LOCATION_TYPE_DEVICE, dev}, nowhere = {77, 0};
    const CUmemoryPool none = (CUmemoryPool)junk;
    CUmemPoolPtrExportData data;
    CUmemAccess_flags access;
    CUmemoryPool pool;
    CUdeviceptr q;
    cuuint64_t value = 0;
    int fd;

    OK(cuDeviceGetDefaultMemPool(&pool, dev));
    VALUE(cuMemAllocFromPoolAsync(NULL, 64, pool, s));
    VALUE(cuMemAllocFromPoolAsync(&q, 64, none, s));
    HANDLE(cuMemAllocFromPoolAsync(&q, 64, pool, dead_stream));
    VALUE(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, NULL));
    VALUE(cuMemPoolGetAttribute(pool, (CUmemPool_attribute)99, &value));
    VALUE(cuMemPoolGetAttribute(none, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value));
    VALUE(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, NULL));
    VALUE(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value));
    VALUE(cuMemPoolSetAttribute(none, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value));
    VALUE(cuMemPoolTrimTo(none, 0));
    VALUE(cuMemPoolGetAccess(NULL, pool, &here));
    VALUE(cuMemPoolGetAccess(&access, none, &here));
    VALUE(cuMemPoolGetAccess(&access, pool, NULL));
    VALUE(cuMemPoolGetAccess(&access, pool, &nowhere));
    VALUE(cuMemPoolExportToShareableHandle(&fd, none, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    VALUE(
        cuMemPoolExportToShareableHandle(NULL, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    VALUE(cuMemPoolExportPointer(NULL, p));
    VALUE(cuMemPoolExportPointer(&data, p)); /* of no pool */
    VALUE(cuMemPoolImportFromShareableHandle(NULL, (void *)0,
                                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    VALUE(cuMemPoolImportPointer(&q, none, &data));
    VALUE(cuMemGetDefaultMemPool(NULL, &here, CU_MEM_ALLOCATION_TYPE_PINNED));
    VALUE(cuMemGetDefaultMemPool(&pool, NULL, CU_MEM_ALLOCATION_TYPE_PINNED));
    VALUE(cuMemGetMemPool(NULL, &here, CU_MEM_ALLOCATION_TYPE_PINNED));
    VALUE(cuMemGetMemPool(&pool, &nowhere, CU_MEM_ALLOCATION_TYPE_PINNED));
    VALUE(cuMemSetMemPool(&here, CU_MEM_ALLOCATION_TYPE_PINNED, none));
}

static void virtual_memory(void)
{
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {CU_MEM_LOCATION_TYPE_DEVICE, 99}};
    CUmemLocation here = {CU_MEM_LOCATION_TYPE_DEVICE, dev};
    CUmemAccessDesc access = {here, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle h;
    unsigned long long flags;
    size_t bytes;

    VALUE(cuMemGetAccess(NULL, &here, p));
    VALUE(cuMemGetAccess(&flags, NULL, p));
    VALUE(cuMemGetAllocationGranularity(NULL, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    VALUE(cuMemGetAllocationGranularity(&bytes, NULL, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CHECK(cuMemGetAllocationGranularity(&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM) !=
          CUDA_SUCCESS); /* device 99 */
    VALUE(cuMemGetAllocationPropertiesFromHandle(NULL, 0));
    VALUE(cuMemGetAllocationPropertiesFromHandle(&prop, 0x1234));
    VALUE(
        cuMemImportFromShareableHandle(NULL, (void *)0, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    VALUE(cuMemRetainAllocationHandle(NULL, (void *)p));
    VALUE(cuMemRetainAllocationHandle(&h, junk));
    VALUE(cuMemSetAccess(0, 4096, &access, 1));
    VALUE(cuMemSetAccess(p, 4096, NULL, 1));
}

static void code(void)
{
    CUfunction f, none = (CUfunction)junk;
    CUfunctionLoadingState state;
    CUlibrary lib, no_lib = (CUlibrary)junk;
    CUkernel k, no_kernel = (CUkernel)junk;
    CUmodule m;
    CUdeviceptr q;
    const char *name;
    size_t bytes;
    unsigned count;
    int value;

    OK(cuLibraryLoadData(&lib, driver_ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&k, lib, "scale"));
    VALUE(cuModuleGetFunctionCount(NULL, module));
    HANDLE(cuModuleGetFunctionCount(&count, (CUmodule)junk));
    VALUE(cuModuleEnumerateFunctions(NULL, 1, module));
    HANDLE(cuModuleEnumerateFunctions(&f, 1, (CUmodule)junk));
    VALUE(cuModuleGetLoadingMode(NULL));
    VALUE(cuFuncGetModule(NULL, scale));
    HANDLE(cuFuncGetModule(&m, none));
    VALUE(cuFuncGetName(NULL, scale));
    HANDLE(cuFuncGetName(&name, none));
    VALUE(cuFuncIsLoaded(NULL, scale));
    HANDLE(cuFuncIsLoaded(&state, none));
    HANDLE(cuFuncLoad(none));
    HANDLE(cuFuncSetCacheConfig(none, CU_FUNC_CACHE_PREFER_NONE));
    VALUE(cuFuncSetCacheConfig(scale, (CUfunc_cache)99));
    HANDLE(cuFuncSetSharedMemConfig(none, CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE));
    VALUE(cuKernelGetAttribute(NULL, CU_FUNC_ATTRIBUTE_NUM_REGS, k, dev));
    VALUE(cuKernelGetAttribute(&value, (CUfunction_attribute)99, k, dev));
    HANDLE(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, no_kernel, dev));
    NODEVICE(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, k, 99));
    VALUE(cuKernelGetFunction(NULL, k));
    HANDLE(cuKernelGetFunction(&f, no_kernel));
    VALUE(cuKernelGetLibrary(NULL, k));
    HANDLE(cuKernelGetLibrary(&lib, no_kernel));
    VALUE(cuKernelGetName(NULL, k));
    HANDLE(cuKernelGetName(&name, no_kernel));
    HANDLE(cuKernelSetCacheConfig(no_kernel, CU_FUNC_CACHE_PREFER_NONE, dev));
    NODEVICE(cuKernelSetCacheConfig(k, CU_FUNC_CACHE_PREFER_NONE, 99));
    VALUE(cuLibraryEnumerateKernels(NULL, 1, lib));
    HANDLE(cuLibraryEnumerateKernels(&k, 1, no_lib));
    HANDLE(cuLibraryGetGlobal(&q, &bytes, no_lib, "counter"));
    VALUE(cuLibraryGetGlobal(&q, &bytes, lib, NULL));
    EXPECT(cuLibraryGetGlobal(&q, &bytes, lib, "nothing"), CUDA_ERROR_NOT_FOUND);
    VALUE(cuLibraryGetKernelCount(NULL, lib));
    HANDLE(cuLibraryGetKernelCount(&count, no_lib));
    VALUE(cuLibraryGetModule(NULL, lib));
    HANDLE(cuLibraryGetModule(&m, no_lib));
    OK(cuLibraryUnload(lib));
}

static void launches(void)
{
    CUfunction none = (CUfunction)junk;
    CUlaunchConfig c = {.gridDimX = 1,
                        .gridDimY = 1,
                        .gridDimZ = 1,
                        .blockDimX = 1,
                        .blockDimY = 1,
                        .blockDimZ = 1};
    float f = 1;
    int n = 1, value, block;
    void *args[] = {&p, &f, &n};
    size_t bytes;

    HANDLE(cuLaunchCooperativeKernel(none, 1, 1, 1, 1, 1, 1, 0, s, args));
    HANDLE(cuLaunchCooperativeKernel(scale, 1, 1, 1, 1, 1, 1, 0, dead_stream, args));
    VALUE(cuLaunchCooperativeKernel(scale, 0, 1, 1, 1, 1, 1, 0, s, args));
    VALUE(cuLaunchKernelEx(NULL, scale, args, NULL));
    HANDLE(cuLaunchKernelEx(&c, none, args, NULL));
    c.blockDimX = 4096;
    VALUE(cuLaunchKernelEx(&c, scale, args, NULL));
    c.blockDimX = 1;
    c.hStream = dead_stream;
    HANDLE(cuLaunchKernelEx(&c, scale, args, NULL));
    VALUE(cuOccupancyMaxActiveBlocksPerMultiprocessor(NULL, scale, 32, 0));
    HANDLE(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, none, 32, 0));
    VALUE(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, scale, 0, 0));
    VALUE(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&value, scale, 32, 0, 0x40));
    VALUE(cuOccupancyMaxPotentialBlockSize(NULL, &block, scale, NULL, 0, 0));
    VALUE(cuOccupancyMaxPotentialBlockSize(&value, NULL, scale, NULL, 0, 0));
    HANDLE(cuOccupancyMaxPotentialBlockSize(&value, &block, none, NULL, 0, 0));
    VALUE(cuOccupancyMaxPotentialBlockSizeWithFlags(&value, &block, scale, NULL, 0, 0, 0x40));
    VALUE(cuOccupancyAvailableDynamicSMemPerBlock(NULL, scale, 1, 32));
    HANDLE(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, none, 1, 32));
    VALUE(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, scale, 0, 32));
}

static void nodes_added(CUgraph g)
{
    CUDA_MEM_ALLOC_NODE_PARAMS alloc = {0};
    CUDA_KERNEL_NODE_PARAMS kernel = {0};
    CUDA_MEMSET_NODE_PARAMS set = {.dst = p, .elementSize = 3, .width = 1, .height = 1};
    CUDA_HOST_NODE_PARAMS host = {0};
    CUDA_BATCH_MEM_OP_NODE_PARAMS batch = {0};
    CUgraph none = (CUgraph)junk;
    CUgraphNode n = NULL, wrong = (CUgraphNode)junk;
    CUcontext ctx;
    size_t count = 99;

    OK(cuCtxGetCurrent(&ctx));
    VALUE(cuGraphAddEmptyNode(NULL, g, NULL, 0));
    VALUE(cuGraphAddEmptyNode(&n, NULL, NULL, 0));
    VALUE(cuGraphAddEmptyNode(&n, none, NULL, 0));
    VALUE(cuGraphAddEmptyNode(&n, g, NULL, 1));
    VALUE(cuGraphAddEmptyNode(&n, g, &wrong, 1));
    VALUE(cuGraphAddChildGraphNode(&n, g, NULL, 0, NULL));
    VALUE(cuGraphAddChildGraphNode(&n, g, NULL, 0, none));
    VALUE(cuGraphAddEventRecordNode(&n, g, NULL, 0, NULL));
    VALUE(cuGraphAddEventWaitNode(&n, g, NULL, 0, NULL));
    VALUE(cuGraphAddHostNode(&n, g, NULL, 0, NULL));
    VALUE(cuGraphAddHostNode(&n, g, NULL, 0, &host));
    VALUE(cuGraphAddKernelNode(&n, g, NULL, 0, NULL));
    CHECK(cuGraphAddKernelNode(&n, g, NULL, 0, &kernel) != CUDA_SUCCESS); /* no function */
    VALUE(cuGraphAddMemsetNode(&n, g, NULL, 0, NULL, ctx));
    VALUE(cuGraphAddMemsetNode(&n, g, NULL, 0, &set, ctx)); /* elements of 3 bytes */
    VALUE(cuGraphAddMemAllocNode(&n, g, NULL, 0, NULL));
    VALUE(cuGraphAddMemAllocNode(&n, g, NULL, 0, &alloc));
    VALUE(cuGraphAddMemFreeNode(&n, g, NULL, 0, 0));
    VALUE(cuGraphAddBatchMemOpNode(&n, g, NULL, 0, NULL));
    EXPECT(cuGraphAddBatchMemOpNode(&n, g, NULL, 0, &batch), CUDA_ERROR_INVALID_CONTEXT);
    batch.ctx = ctx;
    batch.count = 257; /* more than 256, and of nothing */
    VALUE(cuGraphAddBatchMemOpNode(&n, g, NULL, 0, &batch));
    OK(cuGraphGetNodes(g, NULL, &count));
    CHECK(count == 0 && n == NULL);
}

static void nodes_asked(CUgraph g)
{
    CUgraphNode empty, n, none = (CUgraphNode)junk;
    CUDA_KERNEL_NODE_PARAMS kernel;
    CUDA_MEMSET_NODE_PARAMS set;
    CUDA_MEMCPY3D copy;
    CUDA_HOST_NODE_PARAMS host;
    CUDA_MEM_ALLOC_NODE_PARAMS alloc;
    CUDA_BATCH_MEM_OP_NODE_PARAMS batch;
    CUkernelNodeAttrValue value;
    CUgraphNodeType type;
    CUgraph child;
    CUdeviceptr q;
    CUevent event;
    size_t count;

    OK(cuGraphAddEmptyNode(&empty, g, NULL, 0));
    VALUE(cuGraphNodeGetType(empty, NULL));
    VALUE(cuGraphNodeGetType(NULL, &type));
    VALUE(cuGraphNodeGetType(none, &type));
    VALUE(cuGraphNodeGetDependencies(empty, NULL, NULL, NULL));
    VALUE(cuGraphNodeGetDependencies(none, NULL, NULL, &count));
    VALUE(cuGraphNodeGetDependentNodes(empty, NULL, NULL, NULL));
    VALUE(cuGraphNodeGetDependentNodes(none, NULL, NULL, &count));
    VALUE(cuGraphGetNodes(g, NULL, NULL));
    VALUE(cuGraphGetNodes(NULL, NULL, &count));
    VALUE(cuGraphGetRootNodes(g, NULL, NULL));
    VALUE(cuGraphGetRootNodes(NULL, NULL, &count));
    VALUE(cuGraphGetEdges(NULL, NULL, NULL, NULL, &count));
    VALUE(cuGraphGetEdges(g, NULL, NULL, NULL, NULL));
    /* of another kind */
    VALUE(cuGraphKernelNodeGetParams(empty, &kernel));
    VALUE(cuGraphMemsetNodeGetParams(empty, &set));
    VALUE(cuGraphMemcpyNodeGetParams(empty, &copy));
    VALUE(cuGraphHostNodeGetParams(empty, &host));
    VALUE(cuGraphMemAllocNodeGetParams(empty, &alloc));
    VALUE(cuGraphMemFreeNodeGetParams(empty, &q));
    VALUE(cuGraphBatchMemOpNodeGetParams(empty, &batch));
    VALUE(cuGraphEventRecordNodeGetEvent(empty, &event));
    VALUE(cuGraphEventWaitNodeGetEvent(empty, &event));
    VALUE(cuGraphEventRecordNodeSetEvent(empty, e));
    VALUE(cuGraphEventWaitNodeSetEvent(empty, e));
    VALUE(cuGraphChildGraphNodeGetGraph(empty, &child));
    VALUE(cuGraphKernelNodeGetAttribute(empty, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
    VALUE(cuGraphKernelNodeSetAttribute(empty, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
    VALUE(cuGraphKernelNodeCopyAttributes(empty, empty));
    VALUE(cuGraphKernelNodeSetParams(empty, NULL));
    VALUE(cuGraphMemsetNodeSetParams(empty, NULL));
    VALUE(cuGraphMemcpyNodeSetParams(empty, NULL));
    VALUE(cuGraphHostNodeSetParams(empty, NULL));
    VALUE(cuGraphBatchMemOpNodeSetParams(empty, NULL));
    VALUE(cuGraphNodeSetParams(empty, NULL));
    OK(cuGraphClone(&child, g));
    VALUE(cuGraphNodeFindInClone(NULL, empty, child));
    VALUE(cuGraphNodeFindInClone(&n, none, child));
    VALUE(cuGraphNodeFindInClone(&n, empty, g)); /* no clone of its graph */
    OK(cuGraphDestroy(child));
    VALUE(cuGraphClone(NULL, g));
    VALUE(cuGraphClone(&child, NULL));
    VALUE(cuGraphDestroyNode(none));
    VALUE(cuGraphDestroyNode(NULL));
    OK(cuGraphDestroyNode(empty));
    VALUE(cuGraphDestroyNode(empty));
    VALUE(cuGraphDebugDotPrint(NULL, "x.dot", 0));
    VALUE(cuGraphDebugDotPrint(g, NULL, 0));
}

static void instances(CUgraph g)
{
    CUDA_GRAPH_INSTANTIATE_PARAMS params = {.flags = 1 << 20};
    CUgraphExec x, none = (CUgraphExec)junk;
    CUgraphNode empty;
    CUgraphConditionalHandle c;
    CUuserObject object, no_object = (CUuserObject)junk;
    cuuint64_t flags;
    unsigned enabled;

    OK(cuGraphAddEmptyNode(&empty, g, NULL, 0));
    VALUE(cuGraphInstantiateWithFlags(NULL, g, 0));
    VALUE(cuGraphInstantiateWithFlags(&x, NULL, 0));
    VALUE(cuGraphInstantiateWithFlags(&x, g, 1 << 20));
    VALUE(cuGraphInstantiateWithParams(&x, g, NULL));
    VALUE(cuGraphInstantiateWithParams(&x, g, &params));
    OK(cuGraphInstantiate(&x, g, 0));
    VALUE(cuGraphExecGetFlags(x, NULL));
    VALUE(cuGraphExecGetFlags(none, &flags));
    VALUE(cuGraphNodeGetEnabled(x, empty, &enabled)); /* of kernels, copies and memsets */
    VALUE(cuGraphNodeSetEnabled(x, empty, 0));
    VALUE(cuGraphNodeSetEnabled(none, empty, 0));
    VALUE(cuGraphExecChildGraphNodeSetParams(x, empty, g));
    VALUE(cuGraphExecEventRecordNodeSetEvent(x, empty, e));
    VALUE(cuGraphExecEventWaitNodeSetEvent(x, empty, e));
    VALUE(cuGraphExecHostNodeSetParams(x, empty, NULL));
    VALUE(cuGraphExecKernelNodeSetParams(x, empty, NULL));
    VALUE(cuGraphExecMemcpyNodeSetParams(x, empty, NULL, NULL));
    VALUE(cuGraphExecMemsetNodeSetParams(x, empty, NULL, NULL));
    VALUE(cuGraphExecNodeSetParams(x, empty, NULL));
    VALUE(cuGraphUpload(none, s));
    HANDLE(cuGraphUpload(x, dead_stream));
    HANDLE(cuGraphLaunch(x, dead_stream));
    OK(cuGraphExecDestroy(x));
    VALUE(cuGraphExecDestroy(x));
    VALUE(cuGraphExecDestroy(NULL));
    VALUE(cuGraphConditionalHandleCreate(NULL, g, NULL, 0, 0));
    VALUE(cuGraphConditionalHandleCreate(&c, NULL, NULL, 0, 0));
    VALUE(cuUserObjectCreate(NULL, junk, free, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    VALUE(cuUserObjectCreate(&object, junk, NULL, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    VALUE(cuUserObjectCreate(&object, junk, free, 0, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    VALUE(cuUserObjectCreate(&object, junk, free, 1, 0));
    VALUE(cuUserObjectRetain(no_object, 1));
    VALUE(cuUserObjectRelease(no_object, 1));
    VALUE(cuGraphRetainUserObject(g, no_object, 1, 0));
    VALUE(cuGraphReleaseUserObject(g, no_object, 1));
}

static void others(void)
{
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = {.type = 99, .size = 4096};
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer = {.size = 4096};
    CUexternalMemory m, none = (CUexternalMemory)junk;
    CUDA_RESOURCE_DESC r;
    CUDA_TEXTURE_DESC t;
    CUlogsCallbackHandle h;
    CUdeviceptr q;
    size_t bytes;
    void *f;

    VALUE(cuImportExternalMemory(NULL, &desc));
    VALUE(cuImportExternalMemory(&m, NULL));
    CHECK(cuImportExternalMemory(&m, &desc) != CUDA_SUCCESS);
    VALUE(cuExternalMemoryGetMappedBuffer(NULL, none, &buffer));
    HANDLE(cuExternalMemoryGetMappedBuffer(&q, none, &buffer));
    HANDLE(cuDestroyExternalMemory(none));
    VALUE(cuTexObjectGetResourceDesc(NULL, 1));
    VALUE(cuTexObjectGetResourceDesc(&r, 0x1234));
    VALUE(cuTexObjectGetTextureDesc(&t, 0x1234));
    VALUE(cuSurfObjectDestroy(0x1234));
    VALUE(cuLogsRegisterCallback(NULL, NULL, &h));
    VALUE(cuLogsCurrent(NULL, 0));
    VALUE(cuLogsDumpToFile(NULL, NULL, 0));
    VALUE(cuLogsDumpToMemory(NULL, NULL, &bytes, 0));
    VALUE(cuGetProcAddress(NULL, &f, 13000, 0, NULL));
    VALUE(cuGetProcAddress("cuInit", NULL, 13000, 0, NULL));
}

int main(void)
{
    CUcontext c;
    CUgraph g;

    OK(cuInit(0));
    OK(cuDeviceGet(&dev, 0));
    OK(cuDevicePrimaryCtxRetain(&c, dev));
    OK(cuCtxSetCurrent(c));
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&dead_stream, 0));
    OK(cuStreamDestroy(dead_stream));
    OK(cuEventCreate(&e, 0));
    OK(cuEventCreate(&dead_event, 0));
    OK(cuEventDestroy(dead_event));
    OK(cuMemAlloc(&p, 4096));
    OK(cuModuleLoadData(&module, driver_ptx));
    OK(cuModuleGetFunction(&scale, module, "scale"));
    OK(cuGraphCreate(&g, 0));
    devices();
    contexts();
    streams();
    memory();
    values_in_memory();
    pools();
    virtual_memory();
    code();
    launches();
    nodes_added(g);
    nodes_asked(g);
    instances(g);
    others();
    OK(cuGraphDestroy(g));
    OK(cuStreamSynchronize(s));
    OK(cuCtxSynchronize());
    return DRIVER_END();
}
