/* The runtime API for C++: the C interface, plus forms that take typed pointers, kernels by name
 * and symbols by reference. In C it is the C interface and the vector makers. `weir cc` includes
 * this before every .cu file, as nvcc does.
 * SPDX-License-Identifier: Apache-2.0 */
/* The second name is the toolkit's own: programs ask for it, and its headers may come first. */
#if !defined(WEIR_CUDA_RUNTIME_H) && !defined(__CUDA_RUNTIME_H__)
#define WEIR_CUDA_RUNTIME_H
#define __CUDA_RUNTIME_H__

#include "builtin_types.h"
#include "library_types.h"
#include "channel_descriptor.h"
#include "cuda_runtime_api.h"
#include "driver_functions.h"
#include "vector_functions.h"

#ifdef __cplusplus

#if __cplusplus >= 201103L
#include <utility>
#endif

/* --- Launches -------------------------------------------------------------------------------- */

template <class T>
static inline __host__ cudaError_t cudaLaunchKernel(T *kernel, dim3 gridDim, dim3 blockDim,
                                                    void **args, size_t sharedMem = 0,
                                                    cudaStream_t stream = 0)
{
    return ::cudaLaunchKernel((const void *)kernel, gridDim, blockDim, args, sharedMem, stream);
}

template <class T>
static inline __host__ cudaError_t cudaLaunchCooperativeKernel(T *kernel, dim3 gridDim,
                                                               dim3 blockDim, void **args,
                                                               size_t sharedMem = 0,
                                                               cudaStream_t stream = 0)
{
    return ::cudaLaunchCooperativeKernel((const void *)kernel, gridDim, blockDim, args, sharedMem,
                                         stream);
}

#if __cplusplus >= 201103L

/* The arguments are converted to the kernel's parameter types first: the launch copies them bit by
 * bit. */
template <typename... Params, typename... Args>
static inline __host__ cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config,
                                                      void (*kernel)(Params...), Args &&...args)
{
    auto launch = [&](Params... params) {
        void *pointers[] = {&params..., nullptr};
        return ::cudaLaunchKernelExC(config, (const void *)kernel, pointers);
    };
    return launch(std::forward<Args>(args)...);
}

/* A kernel handle says nothing of its parameters: the caller must pass exactly their types. */
template <typename... Args>
static inline __host__ cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config,
                                                      cudaKernel_t kernel, Args &&...args)
{
    void *pointers[] = {(void *)&args..., nullptr};
    return ::cudaLaunchKernelExC(config, (const void *)kernel, pointers);
}

#endif

/* --- Functions ------------------------------------------------------------------------------- */

template <class T>
static inline __host__ cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attr, T *kernel)
{
    return ::cudaFuncGetAttributes(attr, (const void *)kernel);
}

template <class T>
static inline __host__ cudaError_t cudaFuncSetAttribute(T *kernel, cudaFuncAttribute attr,
                                                        int value)
{
    return ::cudaFuncSetAttribute((const void *)kernel, attr, value);
}

template <class T>
static inline __host__ cudaError_t cudaFuncSetCacheConfig(T *kernel, cudaFuncCache config)
{
    return ::cudaFuncSetCacheConfig((const void *)kernel, config);
}

template <class T>
static inline __host__ cudaError_t cudaFuncSetSharedMemConfig(T *kernel, cudaSharedMemConfig config)
{
    return ::cudaFuncSetSharedMemConfig((const void *)kernel, config);
}

template <class T> static inline __host__ cudaError_t cudaFuncGetName(const char **name, T *kernel)
{
    return ::cudaFuncGetName(name, (const void *)kernel);
}

template <class T> static inline __host__ cudaError_t cudaGetKernel(cudaKernel_t *handle, T *kernel)
{
    return ::cudaGetKernel(handle, (const void *)kernel);
}

/* --- Occupancy ------------------------------------------------------------------------------- */

template <class T>
static inline __host__ cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(
    int *numBlocks, T kernel, int blockSize, size_t dynamicSMemSize)
{
    return ::cudaOccupancyMaxActiveBlocksPerMultiprocessor(numBlocks, (const void *)kernel,
                                                           blockSize, dynamicSMemSize);
}

template <class T>
static inline __host__ cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *numBlocks, T kernel, int blockSize, size_t dynamicSMemSize, unsigned int flags)
{
    return ::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        numBlocks, (const void *)kernel, blockSize, dynamicSMemSize, flags);
}

template <class T>
static inline __host__ cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(
    size_t *dynamicSMemSize, T *kernel, int numBlocks, int blockSize)
{
    return ::cudaOccupancyAvailableDynamicSMemPerBlock(dynamicSMemSize, (const void *)kernel,
                                                       numBlocks, blockSize);
}

template <class T>
static inline __host__ cudaError_t
cudaOccupancyMaxPotentialClusterSize(int *clusterSize, T *kernel, const cudaLaunchConfig_t *config)
{
    return ::cudaOccupancyMaxPotentialClusterSize(clusterSize, (const void *)kernel, config);
}

template <class T>
static inline __host__ cudaError_t cudaOccupancyMaxActiveClusters(int *numClusters, T *kernel,
                                                                  const cudaLaunchConfig_t *config)
{
    return ::cudaOccupancyMaxActiveClusters(numClusters, (const void *)kernel, config);
}

/* The block size, a multiple of the warp up to `blockSizeLimit` (0: no limit of the caller's), that
 * keeps most threads of a multiprocessor busy, the larger of two equals, and the least grid that
 * fills the device with it. `smemOf` gives the dynamic shared memory of a block of so many threads.
 */
template <class SmemOf, class T>
static inline __host__ cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(
    int *minGridSize, int *blockSize, T kernel, SmemOf smemOf, int blockSizeLimit = 0,
    unsigned int flags = 0)
{
    if (!minGridSize || !blockSize || !(const void *)kernel)
        return cudaErrorInvalidValue;
    int device, processors, threads, warp;
    cudaFuncAttributes attributes;
    cudaError_t e = ::cudaGetDevice(&device);
    if (e == cudaSuccess)
        e = ::cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    if (e == cudaSuccess)
        e = ::cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, device);
    if (e == cudaSuccess)
        e = ::cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, device);
    if (e == cudaSuccess)
        e = ::cudaFuncGetAttributes(&attributes, (const void *)kernel);
    if (e != cudaSuccess)
        return e;

    int limit = attributes.maxThreadsPerBlock;
    if (blockSizeLimit > 0 && blockSizeLimit < limit)
        limit = blockSizeLimit;
    int bestThreads = 0, bestSize = 0, bestBlocks = 0;
    for (int size = (limit + warp - 1) / warp * warp; size > 0 && bestThreads < threads;
         size -= warp) {
        const int tried = size < limit ? size : limit;
        int blocks;
        e = ::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, (const void *)kernel,
                                                                     tried, smemOf(tried), flags);
        if (e != cudaSuccess)
            return e;
        if (blocks * tried > bestThreads) {
            bestThreads = blocks * tried;
            bestSize = tried;
            bestBlocks = blocks;
        }
    }
    *minGridSize = bestBlocks * processors;
    *blockSize = bestSize;
    return cudaSuccess;
}

template <class SmemOf, class T>
static inline __host__ cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(
    int *minGridSize, int *blockSize, T kernel, SmemOf smemOf, int blockSizeLimit = 0)
{
    return cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(
        minGridSize, blockSize, kernel, smemOf, blockSizeLimit, cudaOccupancyDefault);
}

struct weir_cuda_same_smem {
    size_t bytes;
    __host__ __device__ size_t operator()(int) const { return bytes; }
};

template <class T>
static inline __host__ cudaError_t cudaOccupancyMaxPotentialBlockSizeWithFlags(
    int *minGridSize, int *blockSize, T kernel, size_t dynamicSMemSize = 0, int blockSizeLimit = 0,
    unsigned int flags = 0)
{
    weir_cuda_same_smem same = {dynamicSMemSize};
    return cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(minGridSize, blockSize, kernel,
                                                                   same, blockSizeLimit, flags);
}

template <class T>
static inline __host__ cudaError_t cudaOccupancyMaxPotentialBlockSize(int *minGridSize,
                                                                      int *blockSize, T kernel,
                                                                      size_t dynamicSMemSize = 0,
                                                                      int blockSizeLimit = 0)
{
    return cudaOccupancyMaxPotentialBlockSizeWithFlags(
        minGridSize, blockSize, kernel, dynamicSMemSize, blockSizeLimit, cudaOccupancyDefault);
}

/* --- Events, graphs, user objects ------------------------------------------------------------ */

static inline __host__ cudaError_t cudaEventCreate(cudaEvent_t *event, unsigned int flags)
{
    return ::cudaEventCreateWithFlags(event, flags);
}

/* Form of CUDA 11: the error report has become an argument of cudaGraphExecUpdate alone. */
static inline __host__ cudaError_t cudaGraphInstantiate(cudaGraphExec_t *graphExec,
                                                        cudaGraph_t graph,
                                                        cudaGraphNode_t *errorNode, char *logBuffer,
                                                        size_t bufferSize)
{
    (void)errorNode, (void)logBuffer, (void)bufferSize;
    return ::cudaGraphInstantiate(graphExec, graph, 0);
}

static inline __host__ cudaError_t cudaGraphExecUpdate(cudaGraphExec_t graphExec, cudaGraph_t graph,
                                                       cudaGraphNode_t *errorNode,
                                                       cudaGraphExecUpdateResult *result)
{
    cudaGraphExecUpdateResultInfo info;
    const cudaError_t e = ::cudaGraphExecUpdate(graphExec, graph, &info);
    if (errorNode)
        *errorNode = info.errorNode;
    if (result)
        *result = info.result;
    return e;
}

template <class T>
static inline __host__ cudaError_t cudaUserObjectCreate(cudaUserObject_t *object, T *owned,
                                                        unsigned int initialRefcount,
                                                        unsigned int flags)
{
    struct last {
        static void destroy(void *p) { delete static_cast<T *>(p); }
    };
    return ::cudaUserObjectCreate(object, owned, last::destroy, initialRefcount, flags);
}

/* --- Memory by typed pointer ----------------------------------------------------------------- */

template <class T> static inline __host__ cudaError_t cudaMalloc(T **devPtr, size_t size)
{
    return ::cudaMalloc((void **)(void *)devPtr, size);
}

template <class T>
static inline __host__ cudaError_t cudaMallocHost(T **ptr, size_t size, unsigned int flags = 0)
{
    return ::cudaHostAlloc((void **)(void *)ptr, size, flags);
}

template <class T>
static inline __host__ cudaError_t cudaHostAlloc(T **ptr, size_t size, unsigned int flags)
{
    return ::cudaHostAlloc((void **)(void *)ptr, size, flags);
}

template <class T>
static inline __host__ cudaError_t cudaHostGetDevicePointer(T **devPtr, void *hostPtr,
                                                            unsigned int flags)
{
    return ::cudaHostGetDevicePointer((void **)(void *)devPtr, hostPtr, flags);
}

template <class T>
static inline __host__ cudaError_t cudaMallocManaged(T **devPtr, size_t size,
                                                     unsigned int flags = cudaMemAttachGlobal)
{
    return ::cudaMallocManaged((void **)(void *)devPtr, size, flags);
}

template <class T>
static inline __host__ cudaError_t cudaMallocPitch(T **devPtr, size_t *pitch, size_t width,
                                                   size_t height)
{
    return ::cudaMallocPitch((void **)(void *)devPtr, pitch, width, height);
}

template <class T>
static inline __host__ cudaError_t cudaMallocAsync(T **devPtr, size_t size, cudaStream_t stream)
{
    return ::cudaMallocAsync((void **)(void *)devPtr, size, stream);
}

static inline __host__ cudaError_t cudaMallocAsync(void **devPtr, size_t size, cudaMemPool_t pool,
                                                   cudaStream_t stream)
{
    return ::cudaMallocFromPoolAsync(devPtr, size, pool, stream);
}

template <class T>
static inline __host__ cudaError_t cudaMallocAsync(T **devPtr, size_t size, cudaMemPool_t pool,
                                                   cudaStream_t stream)
{
    return ::cudaMallocFromPoolAsync((void **)(void *)devPtr, size, pool, stream);
}

template <class T>
static inline __host__ cudaError_t cudaMallocFromPoolAsync(T **devPtr, size_t size,
                                                           cudaMemPool_t pool, cudaStream_t stream)
{
    return ::cudaMallocFromPoolAsync((void **)(void *)devPtr, size, pool, stream);
}

template <class T>
static inline __host__ cudaError_t cudaStreamAttachMemAsync(
    cudaStream_t stream, T *devPtr, size_t length = 0, unsigned int flags = cudaMemAttachSingle)
{
    return ::cudaStreamAttachMemAsync(stream, (void *)devPtr, length, flags);
}

/* --- Symbols: a variable of the program stands for its copy on the device -------------------- */

template <class T>
static inline __host__ cudaError_t cudaGetSymbolAddress(void **devPtr, const T &symbol)
{
    return ::cudaGetSymbolAddress(devPtr, (const void *)&symbol);
}

template <class T>
static inline __host__ cudaError_t cudaGetSymbolSize(size_t *size, const T &symbol)
{
    return ::cudaGetSymbolSize(size, (const void *)&symbol);
}

template <class T>
static inline __host__ cudaError_t cudaMemcpyToSymbol(const T &symbol, const void *src,
                                                      size_t count, size_t offset = 0,
                                                      cudaMemcpyKind kind = cudaMemcpyHostToDevice)
{
    return ::cudaMemcpyToSymbol((const void *)&symbol, src, count, offset, kind);
}

template <class T>
static inline __host__ cudaError_t
cudaMemcpyToSymbolAsync(const T &symbol, const void *src, size_t count, size_t offset = 0,
                        cudaMemcpyKind kind = cudaMemcpyHostToDevice, cudaStream_t stream = 0)
{
    return ::cudaMemcpyToSymbolAsync((const void *)&symbol, src, count, offset, kind, stream);
}

template <class T>
static inline __host__ cudaError_t
cudaMemcpyFromSymbol(void *dst, const T &symbol, size_t count, size_t offset = 0,
                     cudaMemcpyKind kind = cudaMemcpyDeviceToHost)
{
    return ::cudaMemcpyFromSymbol(dst, (const void *)&symbol, count, offset, kind);
}

template <class T>
static inline __host__ cudaError_t
cudaMemcpyFromSymbolAsync(void *dst, const T &symbol, size_t count, size_t offset = 0,
                          cudaMemcpyKind kind = cudaMemcpyDeviceToHost, cudaStream_t stream = 0)
{
    return ::cudaMemcpyFromSymbolAsync(dst, (const void *)&symbol, count, offset, kind, stream);
}

template <class T>
static inline __host__ cudaError_t cudaGraphAddMemcpyNodeToSymbol(
    cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count,
    const T &symbol, const void *src, size_t bytes, size_t offset, cudaMemcpyKind kind)
{
    return ::cudaGraphAddMemcpyNodeToSymbol(node, graph, dependencies, count, (const void *)&symbol,
                                            src, bytes, offset, kind);
}

template <class T>
static inline __host__ cudaError_t cudaGraphAddMemcpyNodeFromSymbol(
    cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count,
    void *dst, const T &symbol, size_t bytes, size_t offset, cudaMemcpyKind kind)
{
    return ::cudaGraphAddMemcpyNodeFromSymbol(node, graph, dependencies, count, dst,
                                              (const void *)&symbol, bytes, offset, kind);
}

template <class T>
static inline __host__ cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node,
                                                                        const T &symbol,
                                                                        const void *src,
                                                                        size_t bytes, size_t offset,
                                                                        cudaMemcpyKind kind)
{
    return ::cudaGraphMemcpyNodeSetParamsToSymbol(node, (const void *)&symbol, src, bytes, offset,
                                                  kind);
}

template <class T>
static inline __host__ cudaError_t
cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *dst, const T &symbol,
                                       size_t bytes, size_t offset, cudaMemcpyKind kind)
{
    return ::cudaGraphMemcpyNodeSetParamsFromSymbol(node, dst, (const void *)&symbol, bytes, offset,
                                                    kind);
}

template <class T>
static inline __host__ cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(
    cudaGraphExec_t exec, cudaGraphNode_t node, const T &symbol, const void *src, size_t bytes,
    size_t offset, cudaMemcpyKind kind)
{
    return ::cudaGraphExecMemcpyNodeSetParamsToSymbol(exec, node, (const void *)&symbol, src, bytes,
                                                      offset, kind);
}

template <class T>
static inline __host__ cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(
    cudaGraphExec_t exec, cudaGraphNode_t node, void *dst, const T &symbol, size_t bytes,
    size_t offset, cudaMemcpyKind kind)
{
    return ::cudaGraphExecMemcpyNodeSetParamsFromSymbol(exec, node, dst, (const void *)&symbol,
                                                        bytes, offset, kind);
}

/* --- Libraries ------------------------------------------------------------------------------- */

template <class T>
static inline __host__ cudaError_t cudaLibraryGetGlobal(T **devPtr, size_t *bytes,
                                                        cudaLibrary_t library, const char *name)
{
    return ::cudaLibraryGetGlobal((void **)(void *)devPtr, bytes, library, name);
}

template <class T>
static inline __host__ cudaError_t cudaLibraryGetManaged(T **devPtr, size_t *bytes,
                                                         cudaLibrary_t library, const char *name)
{
    return ::cudaLibraryGetManaged((void **)(void *)devPtr, bytes, library, name);
}

template <class T>
static inline __host__ cudaError_t cudaLibraryGetUnifiedFunction(T **function,
                                                                 cudaLibrary_t library,
                                                                 const char *symbol)
{
    return ::cudaLibraryGetUnifiedFunction((void **)(void *)function, library, symbol);
}

#endif /* __cplusplus */

#if defined(__clang__) && defined(__CUDA__)
#include "../weir/cc/weir_cuda.h"
#endif

#endif
