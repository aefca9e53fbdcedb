/* The C interface of the CUDA runtime, as of CUDA 13.0: prototypes by chapter. Types stand in
 * driver_types.h, C++ forms in cuda_runtime.h. A call that Weir does not carry out yet returns
 * cudaErrorNotSupported and names itself once on stderr; docs/api-status.md lists which. All
 * calls may be made from any thread unless a chapter says otherwise.
 * SPDX-License-Identifier: Apache-2.0
 */
/* The second name is the toolkit's own: programs ask for it, and its headers may come first. */
#if !defined(WEIR_CUDA_RUNTIME_API_H) && !defined(__CUDA_RUNTIME_API_H__)
#define WEIR_CUDA_RUNTIME_API_H
#define __CUDA_RUNTIME_API_H__

#define CUDART_VERSION       13000
#define __CUDART_API_VERSION CUDART_VERSION

#include "host_defines.h"
#include "driver_types.h"
#include "library_types.h"

#ifndef CUDARTAPI
#define CUDARTAPI
#endif
#define CUDART_CB

#ifdef __cplusplus
#define WEIR_CUDA_API            extern "C" __host__
#define WEIR_CUDA_DEFAULT(value) = value
#else
#define WEIR_CUDA_API extern __host__
#define WEIR_CUDA_DEFAULT(value)
#endif

/* With -D CUDA_API_PER_THREAD_DEFAULT_STREAM (weir cc --default-stream per-thread), stream 0 is the
 * calling thread's own stream: each call that may take stream 0, implicitly (_ptds) or as an
 * argument (_ptsz), has a second entry. */
#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM) || defined(__CUDA_API_PER_THREAD_DEFAULT_STREAM)
#define cudaMemcpy                          cudaMemcpy_ptds
#define cudaMemcpy2D                        cudaMemcpy2D_ptds
#define cudaMemcpy2DArrayToArray            cudaMemcpy2DArrayToArray_ptds
#define cudaMemcpy2DFromArray               cudaMemcpy2DFromArray_ptds
#define cudaMemcpy2DToArray                 cudaMemcpy2DToArray_ptds
#define cudaMemcpy3D                        cudaMemcpy3D_ptds
#define cudaMemcpy3DPeer                    cudaMemcpy3DPeer_ptds
#define cudaMemcpyArrayToArray              cudaMemcpyArrayToArray_ptds
#define cudaMemcpyFromArray                 cudaMemcpyFromArray_ptds
#define cudaMemcpyFromSymbol                cudaMemcpyFromSymbol_ptds
#define cudaMemcpyToArray                   cudaMemcpyToArray_ptds
#define cudaMemcpyToSymbol                  cudaMemcpyToSymbol_ptds
#define cudaMemset                          cudaMemset_ptds
#define cudaMemset2D                        cudaMemset2D_ptds
#define cudaMemset3D                        cudaMemset3D_ptds
#define cudaEventRecord                     cudaEventRecord_ptsz
#define cudaEventRecordWithFlags            cudaEventRecordWithFlags_ptsz
#define cudaFreeAsync                       cudaFreeAsync_ptsz
#define cudaGetDriverEntryPoint             cudaGetDriverEntryPoint_ptsz
#define cudaGetDriverEntryPointByVersion    cudaGetDriverEntryPointByVersion_ptsz
#define cudaGraphInstantiateWithParams      cudaGraphInstantiateWithParams_ptsz
#define cudaGraphLaunch                     cudaGraphLaunch_ptsz
#define cudaGraphUpload                     cudaGraphUpload_ptsz
#define cudaLaunchCooperativeKernel         cudaLaunchCooperativeKernel_ptsz
#define cudaLaunchHostFunc                  cudaLaunchHostFunc_ptsz
#define cudaLaunchKernel                    cudaLaunchKernel_ptsz
#define cudaLaunchKernelExC                 cudaLaunchKernelExC_ptsz
#define cudaMallocAsync                     cudaMallocAsync_ptsz
#define cudaMallocFromPoolAsync             cudaMallocFromPoolAsync_ptsz
#define cudaMemDiscardAndPrefetchBatchAsync cudaMemDiscardAndPrefetchBatchAsync_ptsz
#define cudaMemDiscardBatchAsync            cudaMemDiscardBatchAsync_ptsz
#define cudaMemPrefetchAsync                cudaMemPrefetchAsync_ptsz
#define cudaMemPrefetchBatchAsync           cudaMemPrefetchBatchAsync_ptsz
#define cudaMemcpy2DAsync                   cudaMemcpy2DAsync_ptsz
#define cudaMemcpy2DFromArrayAsync          cudaMemcpy2DFromArrayAsync_ptsz
#define cudaMemcpy2DToArrayAsync            cudaMemcpy2DToArrayAsync_ptsz
#define cudaMemcpy3DAsync                   cudaMemcpy3DAsync_ptsz
#define cudaMemcpy3DBatchAsync              cudaMemcpy3DBatchAsync_ptsz
#define cudaMemcpy3DPeerAsync               cudaMemcpy3DPeerAsync_ptsz
#define cudaMemcpyAsync                     cudaMemcpyAsync_ptsz
#define cudaMemcpyBatchAsync                cudaMemcpyBatchAsync_ptsz
#define cudaMemcpyFromArrayAsync            cudaMemcpyFromArrayAsync_ptsz
#define cudaMemcpyFromSymbolAsync           cudaMemcpyFromSymbolAsync_ptsz
#define cudaMemcpyToArrayAsync              cudaMemcpyToArrayAsync_ptsz
#define cudaMemcpyToSymbolAsync             cudaMemcpyToSymbolAsync_ptsz
#define cudaMemset2DAsync                   cudaMemset2DAsync_ptsz
#define cudaMemset3DAsync                   cudaMemset3DAsync_ptsz
#define cudaMemsetAsync                     cudaMemsetAsync_ptsz
#define cudaSignalExternalSemaphoresAsync   cudaSignalExternalSemaphoresAsync_ptsz
#define cudaStreamAddCallback               cudaStreamAddCallback_ptsz
#define cudaStreamAttachMemAsync            cudaStreamAttachMemAsync_ptsz
#define cudaStreamBeginCapture              cudaStreamBeginCapture_ptsz
#define cudaStreamBeginCaptureToGraph       cudaStreamBeginCaptureToGraph_ptsz
#define cudaStreamCopyAttributes            cudaStreamCopyAttributes_ptsz
#define cudaStreamEndCapture                cudaStreamEndCapture_ptsz
#define cudaStreamGetAttribute              cudaStreamGetAttribute_ptsz
#define cudaStreamGetCaptureInfo            cudaStreamGetCaptureInfo_ptsz
#define cudaStreamGetDevice                 cudaStreamGetDevice_ptsz
#define cudaStreamGetFlags                  cudaStreamGetFlags_ptsz
#define cudaStreamGetId                     cudaStreamGetId_ptsz
#define cudaStreamGetPriority               cudaStreamGetPriority_ptsz
#define cudaStreamIsCapturing               cudaStreamIsCapturing_ptsz
#define cudaStreamQuery                     cudaStreamQuery_ptsz
#define cudaStreamSetAttribute              cudaStreamSetAttribute_ptsz
#define cudaStreamSynchronize               cudaStreamSynchronize_ptsz
#define cudaStreamUpdateCaptureDependencies cudaStreamUpdateCaptureDependencies_ptsz
#define cudaStreamWaitEvent                 cudaStreamWaitEvent_ptsz
#define cudaWaitExternalSemaphoresAsync     cudaWaitExternalSemaphoresAsync_ptsz
#endif

/* --- Errors ---------------------------------------------------------------------------------- */

/* Calls return their error and also note it for the calling thread. Errors of asynchronous work
 * appear in a later call; after some (an illegal address, a trap) the device stays failed. */

/* The calling thread's last error, which becomes cudaSuccess; a failed device's error stays. */
WEIR_CUDA_API cudaError_t cudaGetLastError(void);
/* As cudaGetLastError, but the error stays. */
WEIR_CUDA_API cudaError_t cudaPeekAtLastError(void);
WEIR_CUDA_API const char *cudaGetErrorName(cudaError_t error);
WEIR_CUDA_API const char *cudaGetErrorString(cudaError_t error);

/* --- Versions -------------------------------------------------------------------------------- */

/* 1000 * major + 10 * minor of the CUDA that the driver (here: Weir) offers. */
WEIR_CUDA_API cudaError_t cudaDriverGetVersion(int *driverVersion);
WEIR_CUDA_API cudaError_t cudaRuntimeGetVersion(int *runtimeVersion);

/* --- Devices --------------------------------------------------------------------------------- */

/* Frees everything of the calling process on the device; waits for pending work first. */
WEIR_CUDA_API cudaError_t cudaDeviceReset(void);
/* Waits for all work of the device; gives the first error of that work. */
WEIR_CUDA_API cudaError_t cudaDeviceSynchronize(void);
/* Sizes that kernels may use: stack, printf buffer, device heap. Set before the first use. */
WEIR_CUDA_API cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value);
WEIR_CUDA_API cudaError_t cudaDeviceGetLimit(size_t *pValue, enum cudaLimit limit);
WEIR_CUDA_API cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(
    size_t *maxWidthInElements, const struct cudaChannelFormatDesc *fmtDesc, int device);
WEIR_CUDA_API cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *pCacheConfig);
/* Lower numbers are more urgent: *leastPriority >= *greatestPriority. */
WEIR_CUDA_API cudaError_t cudaDeviceGetStreamPriorityRange(int *leastPriority,
                                                           int *greatestPriority);
WEIR_CUDA_API cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache cacheConfig);
WEIR_CUDA_API cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *pciBusId);
WEIR_CUDA_API cudaError_t cudaDeviceGetPCIBusId(char *pciBusId, int len, int device);
WEIR_CUDA_API cudaError_t cudaDeviceFlushGPUDirectRDMAWrites(
    enum cudaFlushGPUDirectRDMAWritesTarget target, enum cudaFlushGPUDirectRDMAWritesScope scope);
WEIR_CUDA_API cudaError_t cudaDeviceRegisterAsyncNotification(int device,
                                                              cudaAsyncCallback callbackFunc,
                                                              void *userData,
                                                              cudaAsyncCallbackHandle_t *callback);
WEIR_CUDA_API cudaError_t cudaDeviceUnregisterAsyncNotification(int device,
                                                                cudaAsyncCallbackHandle_t callback);
WEIR_CUDA_API cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *pConfig);
WEIR_CUDA_API cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config);
WEIR_CUDA_API cudaError_t cudaGetDeviceCount(int *count);
/* Everything about a device at once. Slow: for one value use cudaDeviceGetAttribute. */
WEIR_CUDA_API cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device);
WEIR_CUDA_API cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device);
WEIR_CUDA_API cudaError_t cudaDeviceGetHostAtomicCapabilities(
    unsigned int *capabilities, const enum cudaAtomicOperation *operations, unsigned int count,
    int device);
WEIR_CUDA_API cudaError_t cudaDeviceGetNvSciSyncAttributes(void *nvSciSyncAttrList, int device,
                                                           int flags);
WEIR_CUDA_API cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attr,
                                                    int srcDevice, int dstDevice);
WEIR_CUDA_API cudaError_t cudaDeviceGetP2PAtomicCapabilities(
    unsigned int *capabilities, const enum cudaAtomicOperation *operations, unsigned int count,
    int srcDevice, int dstDevice);
/* The device that fits `prop` best. */
WEIR_CUDA_API cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *prop);
/* Prepares the device now, without making it current. */
WEIR_CUDA_API cudaError_t cudaInitDevice(int device, unsigned int deviceFlags, unsigned int flags);
/* Makes `device` current for the calling thread: streams, memory and launches refer to it. */
WEIR_CUDA_API cudaError_t cudaSetDevice(int device);
WEIR_CUDA_API cudaError_t cudaGetDevice(int *device);
WEIR_CUDA_API cudaError_t cudaSetValidDevices(int *device_arr, int len);
/* How host threads wait (cudaDeviceSchedule*), before or after first use. */
WEIR_CUDA_API cudaError_t cudaSetDeviceFlags(unsigned int flags);
WEIR_CUDA_API cudaError_t cudaGetDeviceFlags(unsigned int *flags);
WEIR_CUDA_API cudaError_t cudaCtxResetPersistingL2Cache(void);

/* --- Peer access ----------------------------------------------------------------------------- */

WEIR_CUDA_API cudaError_t cudaDeviceCanAccessPeer(int *canAccessPeer, int device, int peerDevice);
/* Lets the current device reach peerDevice's memory directly; one direction. */
WEIR_CUDA_API cudaError_t cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags);
WEIR_CUDA_API cudaError_t cudaDeviceDisablePeerAccess(int peerDevice);

/* --- Streams --------------------------------------------------------------------------------- */

typedef void(CUDART_CB *cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status,
                                              void *userData);

/* A stream that keeps order with the legacy default stream. */
WEIR_CUDA_API cudaError_t cudaStreamCreate(cudaStream_t *pStream);
/* With cudaStreamNonBlocking the legacy default stream neither waits for it nor holds it up. */
WEIR_CUDA_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags);
/* Priorities outside the device's range are moved to its ends. */
WEIR_CUDA_API cudaError_t cudaStreamCreateWithPriority(cudaStream_t *pStream, unsigned int flags,
                                                       int priority);
WEIR_CUDA_API cudaError_t cudaStreamGetPriority(cudaStream_t hStream, int *priority);
WEIR_CUDA_API cudaError_t cudaStreamGetFlags(cudaStream_t hStream, unsigned int *flags);
/* A number that no other stream of the process ever has. */
WEIR_CUDA_API cudaError_t cudaStreamGetId(cudaStream_t hStream, unsigned long long *streamId);
WEIR_CUDA_API cudaError_t cudaStreamGetDevice(cudaStream_t hStream, int *device);
WEIR_CUDA_API cudaError_t cudaStreamCopyAttributes(cudaStream_t dst, cudaStream_t src);
WEIR_CUDA_API cudaError_t cudaStreamGetAttribute(cudaStream_t hStream, cudaLaunchAttributeID attr,
                                                 cudaLaunchAttributeValue *value_out);
WEIR_CUDA_API cudaError_t cudaStreamSetAttribute(cudaStream_t hStream, cudaLaunchAttributeID attr,
                                                 const cudaLaunchAttributeValue *value);
/* Returns at once; work in the stream still runs to its end. */
WEIR_CUDA_API cudaError_t cudaStreamDestroy(cudaStream_t stream);
/* Later work in `stream` waits for the work that the event stands for now. A later record does
 * not move this wait; an event never recorded is no wait at all. */
WEIR_CUDA_API cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                              unsigned int flags WEIR_CUDA_DEFAULT(0));
/* Runs `callback` on a host thread after the stream's earlier work, before its later work. The
 * callback must not call CUDA. cudaLaunchHostFunc is the newer form. */
WEIR_CUDA_API cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
                                                void *userData, unsigned int flags);
/* Waits for the stream's work so far. */
WEIR_CUDA_API cudaError_t cudaStreamSynchronize(cudaStream_t stream);
/* cudaSuccess when the stream's work so far is complete, cudaErrorNotReady when not. */
WEIR_CUDA_API cudaError_t cudaStreamQuery(cudaStream_t stream);
/* Says which stream or side uses a range of managed memory. */
WEIR_CUDA_API cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *devPtr,
                                                   size_t length WEIR_CUDA_DEFAULT(0),
                                                   unsigned int flags WEIR_CUDA_DEFAULT(0x04));
WEIR_CUDA_API cudaError_t cudaStreamIsCapturing(cudaStream_t stream,
                                                enum cudaStreamCaptureStatus *pCaptureStatus);

/* --- Stream capture -------------------------------------------------------------------------- */

/* From here the stream's work is not run but becomes a graph's nodes. `mode` says which calls
 * of other threads that forbids. */
WEIR_CUDA_API cudaError_t cudaStreamBeginCapture(cudaStream_t stream,
                                                 enum cudaStreamCaptureMode mode);
WEIR_CUDA_API cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                                        const cudaGraphNode_t *dependencies,
                                                        const cudaGraphEdgeData *dependencyData,
                                                        size_t numDependencies,
                                                        enum cudaStreamCaptureMode mode);
/* Swaps the calling thread's mode with *mode. */
WEIR_CUDA_API cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode);
/* Must be called on the stream where the capture began, after all others have joined it. */
WEIR_CUDA_API cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *pGraph);
/* State of a capture and, if asked for, its graph and the nodes that the next one will follow. */
WEIR_CUDA_API cudaError_t cudaStreamGetCaptureInfo(
    cudaStream_t stream, enum cudaStreamCaptureStatus *captureStatus_out,
    unsigned long long *id_out WEIR_CUDA_DEFAULT(0), cudaGraph_t *graph_out WEIR_CUDA_DEFAULT(0),
    const cudaGraphNode_t **dependencies_out WEIR_CUDA_DEFAULT(0),
    const cudaGraphEdgeData **edgeData_out WEIR_CUDA_DEFAULT(0),
    size_t *numDependencies_out WEIR_CUDA_DEFAULT(0));
WEIR_CUDA_API cudaError_t cudaStreamUpdateCaptureDependencies(
    cudaStream_t stream, cudaGraphNode_t *dependencies, const cudaGraphEdgeData *dependencyData,
    size_t numDependencies, unsigned int flags WEIR_CUDA_DEFAULT(0));

/* --- Events ---------------------------------------------------------------------------------- */

WEIR_CUDA_API cudaError_t cudaEventCreate(cudaEvent_t *event);
/* cudaEventDisableTiming makes records cheaper; cudaEventBlockingSync lets waiters sleep. */
WEIR_CUDA_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags);
/* The event now stands for the stream's work so far; an earlier record is forgotten. */
WEIR_CUDA_API cudaError_t cudaEventRecord(cudaEvent_t event,
                                          cudaStream_t stream WEIR_CUDA_DEFAULT(0));
WEIR_CUDA_API cudaError_t cudaEventRecordWithFlags(cudaEvent_t event,
                                                   cudaStream_t stream WEIR_CUDA_DEFAULT(0),
                                                   unsigned int flags WEIR_CUDA_DEFAULT(0));
/* cudaSuccess when that work is complete or nothing was ever recorded, else cudaErrorNotReady. */
WEIR_CUDA_API cudaError_t cudaEventQuery(cudaEvent_t event);
/* Waits for that work. */
WEIR_CUDA_API cudaError_t cudaEventSynchronize(cudaEvent_t event);
/* Allowed while the recorded work is pending: waits on the event keep their meaning. */
WEIR_CUDA_API cudaError_t cudaEventDestroy(cudaEvent_t event);
/* Milliseconds between the completions of two recorded events, both made with timing. */
WEIR_CUDA_API cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end);

/* --- Launches and functions ------------------------------------------------------------------ */

/* What `kernel<<<gridDim, blockDim, sharedMem, stream>>>(...)` becomes. `func` is the kernel's
 * name, or a cudaKernel_t. args[i] points to argument i, which is copied before the call
 * returns. */
WEIR_CUDA_API cudaError_t cudaLaunchKernel(const void *func, dim3 gridDim, dim3 blockDim,
                                           void **args, size_t sharedMem, cudaStream_t stream);
/* A launch with attributes: clusters, cooperative, priorities, programmatic order. */
WEIR_CUDA_API cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func,
                                              void **args);
/* All blocks run at once, so that they may wait for one another; too many are an error. */
WEIR_CUDA_API cudaError_t cudaLaunchCooperativeKernel(const void *func, dim3 gridDim, dim3 blockDim,
                                                      void **args, size_t sharedMem,
                                                      cudaStream_t stream);
WEIR_CUDA_API cudaError_t cudaFuncSetCacheConfig(const void *func, enum cudaFuncCache cacheConfig);
/* Registers, memory and limits of a kernel. Loads it. */
WEIR_CUDA_API cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attr, const void *func);
/* Notably cudaFuncAttributeMaxDynamicSharedMemorySize, above 48 KiB. */
WEIR_CUDA_API cudaError_t cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attr,
                                               int value);
WEIR_CUDA_API cudaError_t cudaFuncGetName(const char **name, const void *func);
WEIR_CUDA_API cudaError_t cudaFuncGetParamInfo(const void *func, size_t paramIndex,
                                               size_t *paramOffset, size_t *paramSize);
/* Runs fn(userData) on a host thread in the stream's order. It must not call CUDA. */
WEIR_CUDA_API cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *userData);
WEIR_CUDA_API cudaError_t cudaFuncSetSharedMemConfig(const void *func,
                                                     enum cudaSharedMemConfig config);
WEIR_CUDA_API cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel,
                                                          enum cudaFuncAttribute attr, int value,
                                                          int device);
WEIR_CUDA_API cudaError_t cudaGetFuncBySymbol(cudaFunction_t *functionPtr, const void *symbolPtr);
/* The handle of a kernel of this program. */
WEIR_CUDA_API cudaError_t cudaGetKernel(cudaKernel_t *kernelPtr, const void *entryFuncAddr);

/* --- Occupancy ------------------------------------------------------------------------------- */

/* Blocks of that size that fit on one multiprocessor at a time. */
WEIR_CUDA_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks,
                                                                        const void *func,
                                                                        int blockSize,
                                                                        size_t dynamicSMemSize);
WEIR_CUDA_API cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize,
                                                                    const void *func, int numBlocks,
                                                                    int blockSize);
WEIR_CUDA_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *numBlocks, const void *func, int blockSize, size_t dynamicSMemSize, unsigned int flags);
WEIR_CUDA_API cudaError_t cudaOccupancyMaxPotentialClusterSize(
    int *clusterSize, const void *func, const cudaLaunchConfig_t *launchConfig);
WEIR_CUDA_API cudaError_t cudaOccupancyMaxActiveClusters(int *numClusters, const void *func,
                                                         const cudaLaunchConfig_t *launchConfig);

/* --- Memory: allocation ---------------------------------------------------------------------- */

/* Device memory, aligned to 256 bytes at least. Does not wait for work. */
WEIR_CUDA_API cudaError_t cudaMalloc(void **devPtr, size_t size);
/* Host memory that is pinned: copies from and to it are asynchronous and fast. */
WEIR_CUDA_API cudaError_t cudaMallocHost(void **ptr, size_t size);
/* Rows padded to *pitch bytes, so that each begins well aligned. */
WEIR_CUDA_API cudaError_t cudaMallocPitch(void **devPtr, size_t *pitch, size_t width,
                                          size_t height);
WEIR_CUDA_API cudaError_t cudaMallocArray(cudaArray_t *array,
                                          const struct cudaChannelFormatDesc *desc, size_t width,
                                          size_t height WEIR_CUDA_DEFAULT(0),
                                          unsigned int flags WEIR_CUDA_DEFAULT(0));
/* Waits for all work of the device, then frees; NULL is allowed. */
WEIR_CUDA_API cudaError_t cudaFree(void *devPtr);
WEIR_CUDA_API cudaError_t cudaFreeHost(void *ptr);
WEIR_CUDA_API cudaError_t cudaFreeArray(cudaArray_t array);
WEIR_CUDA_API cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t mipmappedArray);
/* cudaMallocHost with flags: portable, mapped into the device, write-combined. */
WEIR_CUDA_API cudaError_t cudaHostAlloc(void **pHost, size_t size, unsigned int flags);
/* Pins memory that the program has already. */
WEIR_CUDA_API cudaError_t cudaHostRegister(void *ptr, size_t size, unsigned int flags);
WEIR_CUDA_API cudaError_t cudaHostUnregister(void *ptr);
/* How kernels address mapped host memory. */
WEIR_CUDA_API cudaError_t cudaHostGetDevicePointer(void **pDevice, void *pHost, unsigned int flags);
WEIR_CUDA_API cudaError_t cudaHostGetFlags(unsigned int *pFlags, void *pHost);
WEIR_CUDA_API cudaError_t cudaMalloc3D(struct cudaPitchedPtr *pitchedDevPtr,
                                       struct cudaExtent extent);
WEIR_CUDA_API cudaError_t cudaMalloc3DArray(cudaArray_t *array,
                                            const struct cudaChannelFormatDesc *desc,
                                            struct cudaExtent extent,
                                            unsigned int flags WEIR_CUDA_DEFAULT(0));
WEIR_CUDA_API cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *mipmappedArray,
                                                   const struct cudaChannelFormatDesc *desc,
                                                   struct cudaExtent extent, unsigned int numLevels,
                                                   unsigned int flags WEIR_CUDA_DEFAULT(0));

/* --- Memory: copies -------------------------------------------------------------------------- */

/* `kind` must agree with what the pointers are; cudaMemcpyDefault finds out. */

WEIR_CUDA_API cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *p);
WEIR_CUDA_API cudaError_t cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *p);
WEIR_CUDA_API cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p,
                                            cudaStream_t stream WEIR_CUDA_DEFAULT(0));
WEIR_CUDA_API cudaError_t cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *p,
                                                cudaStream_t stream WEIR_CUDA_DEFAULT(0));
/* Copies, and the host waits as the kinds of memory require: always for pageable memory; not
 * when both sides are on one device. */
WEIR_CUDA_API cudaError_t cudaMemcpy(void *dst, const void *src, size_t count,
                                     enum cudaMemcpyKind kind);
/* Between devices; ordered behind earlier work of both. */
WEIR_CUDA_API cudaError_t cudaMemcpyPeer(void *dst, int dstDevice, const void *src, int srcDevice,
                                         size_t count);
/* `height` rows of `width` bytes, each side with a pitch of its own. */
WEIR_CUDA_API cudaError_t cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch,
                                       size_t width, size_t height, enum cudaMemcpyKind kind);
WEIR_CUDA_API cudaError_t cudaMemcpy2DToArray(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                              const void *src, size_t spitch, size_t width,
                                              size_t height, enum cudaMemcpyKind kind);
WEIR_CUDA_API cudaError_t cudaMemcpy2DFromArray(void *dst, size_t dpitch, cudaArray_const_t src,
                                                size_t wOffset, size_t hOffset, size_t width,
                                                size_t height, enum cudaMemcpyKind kind);
WEIR_CUDA_API cudaError_t cudaMemcpy2DArrayToArray(
    cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst, cudaArray_const_t src, size_t wOffsetSrc,
    size_t hOffsetSrc, size_t width, size_t height,
    enum cudaMemcpyKind kind WEIR_CUDA_DEFAULT(cudaMemcpyDeviceToDevice));
/* To a __device__ or __constant__ variable, named by its host address. */
WEIR_CUDA_API cudaError_t cudaMemcpyToSymbol(
    const void *symbol, const void *src, size_t count, size_t offset WEIR_CUDA_DEFAULT(0),
    enum cudaMemcpyKind kind WEIR_CUDA_DEFAULT(cudaMemcpyHostToDevice));
WEIR_CUDA_API cudaError_t cudaMemcpyFromSymbol(
    void *dst, const void *symbol, size_t count, size_t offset WEIR_CUDA_DEFAULT(0),
    enum cudaMemcpyKind kind WEIR_CUDA_DEFAULT(cudaMemcpyDeviceToHost));
/* Copies in the stream's order. Only pinned host memory makes this return before the data is
 * read or written; the source must stay unchanged until then. */
WEIR_CUDA_API cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t count,
                                          enum cudaMemcpyKind kind,
                                          cudaStream_t stream WEIR_CUDA_DEFAULT(0));
WEIR_CUDA_API cudaError_t cudaMemcpyPeerAsync(void *dst, int dstDevice, const void *src,
                                              int srcDevice, size_t count,
                                              cudaStream_t stream WEIR_CUDA_DEFAULT(0));
WEIR_CUDA_API cudaError_t cudaMemcpyBatchAsync(void *const *dsts, const void *const *srcs,
                                               const size_t *sizes, size_t count,
                                               struct cudaMemcpyAttributes *attrs,
                                               size_t *attrsIdxs, size_t numAttrs,
                                               cudaStream_t stream);
WEIR_CUDA_API cudaError_t cudaMemcpy3DBatchAsync(size_t numOps, struct cudaMemcpy3DBatchOp *opList,
                                                 unsigned long long flags, cudaStream_t stream);
WEIR_CUDA_API cudaError_t cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src,
                                            size_t spitch, size_t width, size_t height,
                                            enum cudaMemcpyKind kind,
                                            cudaStream_t stream WEIR_CUDA_DEFAULT(0));
WEIR_CUDA_API cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                                   const void *src, size_t spitch, size_t width,
                                                   size_t height, enum cudaMemcpyKind kind,
                                                   cudaStream_t stream WEIR_CUDA_DEFAULT(0));
WEIR_CUDA_API cudaError_t cudaMemcpy2DFromArrayAsync(void *dst, size_t dpitch,
                                                     cudaArray_const_t src, size_t wOffset,
                                                     size_t hOffset, size_t width, size_t height,
                                                     enum cudaMemcpyKind kind,
                                                     cudaStream_t stream WEIR_CUDA_DEFAULT(0));
WEIR_CUDA_API cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t count,
                                                  size_t offset, enum cudaMemcpyKind kind,
                                                  cudaStream_t stream WEIR_CUDA_DEFAULT(0));
WEIR_CUDA_API cudaError_t cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t count,
                                                    size_t offset, enum cudaMemcpyKind kind,
                                                    cudaStream_t stream WEIR_CUDA_DEFAULT(0));
WEIR_CUDA_API cudaError_t cudaMemcpyToArray(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                            const void *src, size_t count,
                                            enum cudaMemcpyKind kind);
WEIR_CUDA_API cudaError_t cudaMemcpyFromArray(void *dst, cudaArray_const_t src, size_t wOffset,
                                              size_t hOffset, size_t count,
                                              enum cudaMemcpyKind kind);
WEIR_CUDA_API cudaError_t
cudaMemcpyArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst, cudaArray_const_t src,
                       size_t wOffsetSrc, size_t hOffsetSrc, size_t count,
                       enum cudaMemcpyKind kind WEIR_CUDA_DEFAULT(cudaMemcpyDeviceToDevice));
WEIR_CUDA_API cudaError_t cudaMemcpyToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                                 const void *src, size_t count,
                                                 enum cudaMemcpyKind kind,
                                                 cudaStream_t stream WEIR_CUDA_DEFAULT(0));
WEIR_CUDA_API cudaError_t cudaMemcpyFromArrayAsync(void *dst, cudaArray_const_t src, size_t wOffset,
                                                   size_t hOffset, size_t count,
                                                   enum cudaMemcpyKind kind,
                                                   cudaStream_t stream WEIR_CUDA_DEFAULT(0));

/* --- Memory: filling ------------------------------------------------------------------------- */

/* Device memory: returns before it is done. Host memory: when it is done. */
WEIR_CUDA_API cudaError_t cudaMemset(void *devPtr, int value, size_t count);
WEIR_CUDA_API cudaError_t cudaMemset2D(void *devPtr, size_t pitch, int value, size_t width,
                                       size_t height);
WEIR_CUDA_API cudaError_t cudaMemset3D(struct cudaPitchedPtr pitchedDevPtr, int value,
                                       struct cudaExtent extent);
WEIR_CUDA_API cudaError_t cudaMemsetAsync(void *devPtr, int value, size_t count,
                                          cudaStream_t stream WEIR_CUDA_DEFAULT(0));
WEIR_CUDA_API cudaError_t cudaMemset2DAsync(void *devPtr, size_t pitch, int value, size_t width,
                                            size_t height,
                                            cudaStream_t stream WEIR_CUDA_DEFAULT(0));
WEIR_CUDA_API cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr pitchedDevPtr, int value,
                                            struct cudaExtent extent,
                                            cudaStream_t stream WEIR_CUDA_DEFAULT(0));

/* --- Memory: symbols, pointers and amounts --------------------------------------------------- */

WEIR_CUDA_API cudaError_t cudaMemGetInfo(size_t *free, size_t *total);
/* Where a __device__ variable of this program is on the current device. */
WEIR_CUDA_API cudaError_t cudaGetSymbolAddress(void **devPtr, const void *symbol);
WEIR_CUDA_API cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol);
/* Which memory a pointer points to; memory that CUDA does not know is
 * cudaMemoryTypeUnregistered, and no error. */
WEIR_CUDA_API cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes,
                                                   const void *ptr);

/* --- Managed memory -------------------------------------------------------------------------- */

/* Memory that host and devices address alike. */
WEIR_CUDA_API cudaError_t cudaMallocManaged(void **devPtr, size_t size,
                                            unsigned int flags WEIR_CUDA_DEFAULT(0x01));
/* Moves managed memory to where it will be used next. */
WEIR_CUDA_API cudaError_t cudaMemPrefetchAsync(const void *devPtr, size_t count,
                                               struct cudaMemLocation location, unsigned int flags,
                                               cudaStream_t stream WEIR_CUDA_DEFAULT(0));
WEIR_CUDA_API cudaError_t cudaMemPrefetchBatchAsync(void **dptrs, size_t *sizes, size_t count,
                                                    struct cudaMemLocation *prefetchLocs,
                                                    size_t *prefetchLocIdxs, size_t numPrefetchLocs,
                                                    unsigned long long flags, cudaStream_t stream);
WEIR_CUDA_API cudaError_t cudaMemDiscardBatchAsync(void **dptrs, size_t *sizes, size_t count,
                                                   unsigned long long flags, cudaStream_t stream);
WEIR_CUDA_API cudaError_t cudaMemDiscardAndPrefetchBatchAsync(
    void **dptrs, size_t *sizes, size_t count, struct cudaMemLocation *prefetchLocs,
    size_t *prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags, cudaStream_t stream);
WEIR_CUDA_API cudaError_t cudaMemAdvise(const void *devPtr, size_t count,
                                        enum cudaMemoryAdvise advice,
                                        struct cudaMemLocation location);
WEIR_CUDA_API cudaError_t cudaMemRangeGetAttribute(void *data, size_t dataSize,
                                                   enum cudaMemRangeAttribute attribute,
                                                   const void *devPtr, size_t count);
WEIR_CUDA_API cudaError_t cudaMemRangeGetAttributes(void **data, size_t *dataSizes,
                                                    enum cudaMemRangeAttribute *attributes,
                                                    size_t numAttributes, const void *devPtr,
                                                    size_t count);

/* --- Memory in stream order, and pools ------------------------------------------------------- */

WEIR_CUDA_API cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *memPool, int device);
WEIR_CUDA_API cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t memPool);
WEIR_CUDA_API cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *memPool, int device);
/* Memory from the device's pool, valid for work behind this point of the stream. */
WEIR_CUDA_API cudaError_t cudaMallocAsync(void **devPtr, size_t size, cudaStream_t hStream);
/* Back to its pool when the stream gets here. */
WEIR_CUDA_API cudaError_t cudaFreeAsync(void *devPtr, cudaStream_t hStream);
/* Gives unused memory back until the pool holds at most minBytesToKeep. */
WEIR_CUDA_API cudaError_t cudaMemPoolTrimTo(cudaMemPool_t memPool, size_t minBytesToKeep);
WEIR_CUDA_API cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr,
                                                  void *value);
WEIR_CUDA_API cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr,
                                                  void *value);
WEIR_CUDA_API cudaError_t cudaMemPoolSetAccess(cudaMemPool_t memPool,
                                               const struct cudaMemAccessDesc *descList,
                                               size_t count);
WEIR_CUDA_API cudaError_t cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags,
                                               cudaMemPool_t memPool,
                                               struct cudaMemLocation *location);
WEIR_CUDA_API cudaError_t cudaMemPoolCreate(cudaMemPool_t *memPool,
                                            const struct cudaMemPoolProps *poolProps);
WEIR_CUDA_API cudaError_t cudaMemPoolDestroy(cudaMemPool_t memPool);
WEIR_CUDA_API cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t *memPool,
                                                   struct cudaMemLocation *location,
                                                   enum cudaMemAllocationType type);
WEIR_CUDA_API cudaError_t cudaMemGetMemPool(cudaMemPool_t *memPool,
                                            struct cudaMemLocation *location,
                                            enum cudaMemAllocationType type);
WEIR_CUDA_API cudaError_t cudaMemSetMemPool(struct cudaMemLocation *location,
                                            enum cudaMemAllocationType type, cudaMemPool_t memPool);
WEIR_CUDA_API cudaError_t cudaMallocFromPoolAsync(void **ptr, size_t size, cudaMemPool_t memPool,
                                                  cudaStream_t stream);
WEIR_CUDA_API cudaError_t
cudaMemPoolExportToShareableHandle(void *shareableHandle, cudaMemPool_t memPool,
                                   enum cudaMemAllocationHandleType handleType, unsigned int flags);
WEIR_CUDA_API cudaError_t cudaMemPoolImportFromShareableHandle(
    cudaMemPool_t *memPool, void *shareableHandle, enum cudaMemAllocationHandleType handleType,
    unsigned int flags);
WEIR_CUDA_API cudaError_t cudaMemPoolExportPointer(struct cudaMemPoolPtrExportData *exportData,
                                                   void *ptr);
WEIR_CUDA_API cudaError_t cudaMemPoolImportPointer(void **ptr, cudaMemPool_t memPool,
                                                   struct cudaMemPoolPtrExportData *exportData);

/* --- Arrays ---------------------------------------------------------------------------------- */

WEIR_CUDA_API cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t *levelArray,
                                                     cudaMipmappedArray_const_t mipmappedArray,
                                                     unsigned int level);
WEIR_CUDA_API cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *desc,
                                           struct cudaExtent *extent, unsigned int *flags,
                                           cudaArray_t array);
WEIR_CUDA_API cudaError_t cudaArrayGetPlane(cudaArray_t *pPlaneArray, cudaArray_t hArray,
                                            unsigned int planeIdx);
WEIR_CUDA_API cudaError_t cudaArrayGetMemoryRequirements(
    struct cudaArrayMemoryRequirements *memoryRequirements, cudaArray_t array, int device);
WEIR_CUDA_API cudaError_t
cudaMipmappedArrayGetMemoryRequirements(struct cudaArrayMemoryRequirements *memoryRequirements,
                                        cudaMipmappedArray_t mipmap, int device);
WEIR_CUDA_API cudaError_t
cudaArrayGetSparseProperties(struct cudaArraySparseProperties *sparseProperties, cudaArray_t array);
WEIR_CUDA_API cudaError_t cudaMipmappedArrayGetSparseProperties(
    struct cudaArraySparseProperties *sparseProperties, cudaMipmappedArray_t mipmap);
WEIR_CUDA_API cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *desc,
                                             cudaArray_const_t array);
WEIR_CUDA_API struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                                 enum cudaChannelFormatKind f);

/* --- Texture and surface objects ------------------------------------------------------------- */

WEIR_CUDA_API cudaError_t cudaCreateTextureObject(cudaTextureObject_t *pTexObject,
                                                  const struct cudaResourceDesc *pResDesc,
                                                  const struct cudaTextureDesc *pTexDesc,
                                                  const struct cudaResourceViewDesc *pResViewDesc);
WEIR_CUDA_API cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texObject);
WEIR_CUDA_API cudaError_t cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *pResDesc,
                                                           cudaTextureObject_t texObject);
WEIR_CUDA_API cudaError_t cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *pTexDesc,
                                                          cudaTextureObject_t texObject);
WEIR_CUDA_API cudaError_t cudaGetTextureObjectResourceViewDesc(
    struct cudaResourceViewDesc *pResViewDesc, cudaTextureObject_t texObject);
WEIR_CUDA_API cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *pSurfObject,
                                                  const struct cudaResourceDesc *pResDesc);
WEIR_CUDA_API cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surfObject);
WEIR_CUDA_API cudaError_t cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *pResDesc,
                                                           cudaSurfaceObject_t surfObject);

/* --- Graphs ---------------------------------------------------------------------------------- */

/* Nodes with edges between them, built by hand or by capture. Nothing runs before a launch of
 * an instance. */

WEIR_CUDA_API cudaError_t cudaGraphCreate(cudaGraph_t *pGraph, unsigned int flags);
WEIR_CUDA_API cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                                 const cudaGraphNode_t *pDependencies,
                                                 size_t numDependencies,
                                                 const struct cudaKernelNodeParams *pNodeParams);
WEIR_CUDA_API cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node,
                                                       struct cudaKernelNodeParams *pNodeParams);
WEIR_CUDA_API cudaError_t
cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const struct cudaKernelNodeParams *pNodeParams);
WEIR_CUDA_API cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t hDst,
                                                            cudaGraphNode_t hSrc);
WEIR_CUDA_API cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t hNode,
                                                          cudaLaunchAttributeID attr,
                                                          cudaLaunchAttributeValue *value_out);
WEIR_CUDA_API cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t hNode,
                                                          cudaLaunchAttributeID attr,
                                                          const cudaLaunchAttributeValue *value);
WEIR_CUDA_API cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                                 const cudaGraphNode_t *pDependencies,
                                                 size_t numDependencies,
                                                 const struct cudaMemcpy3DParms *pCopyParams);
WEIR_CUDA_API cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *pGraphNode,
                                                         cudaGraph_t graph,
                                                         const cudaGraphNode_t *pDependencies,
                                                         size_t numDependencies, const void *symbol,
                                                         const void *src, size_t count,
                                                         size_t offset, enum cudaMemcpyKind kind);
WEIR_CUDA_API cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *pGraphNode,
                                                           cudaGraph_t graph,
                                                           const cudaGraphNode_t *pDependencies,
                                                           size_t numDependencies, void *dst,
                                                           const void *symbol, size_t count,
                                                           size_t offset, enum cudaMemcpyKind kind);
WEIR_CUDA_API cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                                   const cudaGraphNode_t *pDependencies,
                                                   size_t numDependencies, void *dst,
                                                   const void *src, size_t count,
                                                   enum cudaMemcpyKind kind);
WEIR_CUDA_API cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node,
                                                       struct cudaMemcpy3DParms *pNodeParams);
WEIR_CUDA_API cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node,
                                                       const struct cudaMemcpy3DParms *pNodeParams);
WEIR_CUDA_API cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node,
                                                               const void *symbol, const void *src,
                                                               size_t count, size_t offset,
                                                               enum cudaMemcpyKind kind);
WEIR_CUDA_API cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *dst,
                                                                 const void *symbol, size_t count,
                                                                 size_t offset,
                                                                 enum cudaMemcpyKind kind);
WEIR_CUDA_API cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *dst,
                                                         const void *src, size_t count,
                                                         enum cudaMemcpyKind kind);
WEIR_CUDA_API cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                                 const cudaGraphNode_t *pDependencies,
                                                 size_t numDependencies,
                                                 const struct cudaMemsetParams *pMemsetParams);
WEIR_CUDA_API cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node,
                                                       struct cudaMemsetParams *pNodeParams);
WEIR_CUDA_API cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node,
                                                       const struct cudaMemsetParams *pNodeParams);
WEIR_CUDA_API cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                               const cudaGraphNode_t *pDependencies,
                                               size_t numDependencies,
                                               const struct cudaHostNodeParams *pNodeParams);
WEIR_CUDA_API cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node,
                                                     struct cudaHostNodeParams *pNodeParams);
WEIR_CUDA_API cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node,
                                                     const struct cudaHostNodeParams *pNodeParams);
WEIR_CUDA_API cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                                     const cudaGraphNode_t *pDependencies,
                                                     size_t numDependencies,
                                                     cudaGraph_t childGraph);
WEIR_CUDA_API cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node,
                                                          cudaGraph_t *pGraph);
WEIR_CUDA_API cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                                const cudaGraphNode_t *pDependencies,
                                                size_t numDependencies);
WEIR_CUDA_API cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t *pGraphNode,
                                                      cudaGraph_t graph,
                                                      const cudaGraphNode_t *pDependencies,
                                                      size_t numDependencies, cudaEvent_t event);
WEIR_CUDA_API cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node,
                                                           cudaEvent_t *event_out);
WEIR_CUDA_API cudaError_t cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event);
WEIR_CUDA_API cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                                    const cudaGraphNode_t *pDependencies,
                                                    size_t numDependencies, cudaEvent_t event);
WEIR_CUDA_API cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node,
                                                         cudaEvent_t *event_out);
WEIR_CUDA_API cudaError_t cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event);
WEIR_CUDA_API cudaError_t cudaGraphAddExternalSemaphoresSignalNode(
    cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
    size_t numDependencies, const struct cudaExternalSemaphoreSignalNodeParams *nodeParams);
WEIR_CUDA_API cudaError_t cudaGraphExternalSemaphoresSignalNodeGetParams(
    cudaGraphNode_t hNode, struct cudaExternalSemaphoreSignalNodeParams *params_out);
WEIR_CUDA_API cudaError_t cudaGraphExternalSemaphoresSignalNodeSetParams(
    cudaGraphNode_t hNode, const struct cudaExternalSemaphoreSignalNodeParams *nodeParams);
WEIR_CUDA_API cudaError_t cudaGraphAddExternalSemaphoresWaitNode(
    cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
    size_t numDependencies, const struct cudaExternalSemaphoreWaitNodeParams *nodeParams);
WEIR_CUDA_API cudaError_t cudaGraphExternalSemaphoresWaitNodeGetParams(
    cudaGraphNode_t hNode, struct cudaExternalSemaphoreWaitNodeParams *params_out);
WEIR_CUDA_API cudaError_t cudaGraphExternalSemaphoresWaitNodeSetParams(
    cudaGraphNode_t hNode, const struct cudaExternalSemaphoreWaitNodeParams *nodeParams);
WEIR_CUDA_API cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                                   const cudaGraphNode_t *pDependencies,
                                                   size_t numDependencies,
                                                   struct cudaMemAllocNodeParams *nodeParams);
WEIR_CUDA_API cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node,
                                                         struct cudaMemAllocNodeParams *params_out);
WEIR_CUDA_API cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                                  const cudaGraphNode_t *pDependencies,
                                                  size_t numDependencies, void *dptr);
WEIR_CUDA_API cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *dptr_out);
/* A copy; cudaGraphNodeFindInClone finds a node's twin. */
WEIR_CUDA_API cudaError_t cudaGraphClone(cudaGraph_t *pGraphClone, cudaGraph_t originalGraph);
WEIR_CUDA_API cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t *pNode,
                                                   cudaGraphNode_t originalNode,
                                                   cudaGraph_t clonedGraph);
WEIR_CUDA_API cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *pType);
WEIR_CUDA_API cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes,
                                            size_t *numNodes);
WEIR_CUDA_API cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *pRootNodes,
                                                size_t *pNumRootNodes);
WEIR_CUDA_API cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from,
                                            cudaGraphNode_t *to, cudaGraphEdgeData *edgeData,
                                            size_t *numEdges);
WEIR_CUDA_API cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node,
                                                       cudaGraphNode_t *pDependencies,
                                                       cudaGraphEdgeData *edgeData,
                                                       size_t *pNumDependencies);
WEIR_CUDA_API cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node,
                                                         cudaGraphNode_t *pDependentNodes,
                                                         cudaGraphEdgeData *edgeData,
                                                         size_t *pNumDependentNodes);
/* Edges from from[i] to to[i]. */
WEIR_CUDA_API cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                                   const cudaGraphNode_t *to,
                                                   const cudaGraphEdgeData *edgeData,
                                                   size_t numDependencies);
WEIR_CUDA_API cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph,
                                                      const cudaGraphNode_t *from,
                                                      const cudaGraphNode_t *to,
                                                      const cudaGraphEdgeData *edgeData,
                                                      size_t numDependencies);
WEIR_CUDA_API cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node);
WEIR_CUDA_API cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
                                                  unsigned int isEnabled);
WEIR_CUDA_API cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
                                                  unsigned int *isEnabled);
WEIR_CUDA_API cudaError_t cudaGraphDestroy(cudaGraph_t graph);
/* Writes the graph in Graphviz's language. */
WEIR_CUDA_API cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path,
                                                 unsigned int flags);
WEIR_CUDA_API cudaError_t cudaGraphAddNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                           const cudaGraphNode_t *pDependencies,
                                           const cudaGraphEdgeData *dependencyData,
                                           size_t numDependencies,
                                           struct cudaGraphNodeParams *nodeParams);
WEIR_CUDA_API cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node,
                                                 struct cudaGraphNodeParams *nodeParams);
WEIR_CUDA_API cudaError_t cudaGraphConditionalHandleCreate(
    cudaGraphConditionalHandle *pHandle_out, cudaGraph_t graph,
    unsigned int defaultLaunchValue WEIR_CUDA_DEFAULT(0), unsigned int flags WEIR_CUDA_DEFAULT(0));

/* --- Graph execution ------------------------------------------------------------------------- */

WEIR_CUDA_API cudaError_t cudaDeviceGraphMemTrim(int device);
WEIR_CUDA_API cudaError_t cudaDeviceGetGraphMemAttribute(int device,
                                                         enum cudaGraphMemAttributeType attr,
                                                         void *value);
WEIR_CUDA_API cudaError_t cudaDeviceSetGraphMemAttribute(int device,
                                                         enum cudaGraphMemAttributeType attr,
                                                         void *value);
/* A graph made ready to be launched many times. */
WEIR_CUDA_API cudaError_t cudaGraphInstantiate(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                               unsigned long long flags WEIR_CUDA_DEFAULT(0));
WEIR_CUDA_API cudaError_t cudaGraphInstantiateWithFlags(
    cudaGraphExec_t *pGraphExec, cudaGraph_t graph, unsigned long long flags WEIR_CUDA_DEFAULT(0));
WEIR_CUDA_API cudaError_t cudaGraphInstantiateWithParams(
    cudaGraphExec_t *pGraphExec, cudaGraph_t graph, cudaGraphInstantiateParams *instantiateParams);
WEIR_CUDA_API cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t graphExec,
                                                unsigned long long *flags);
WEIR_CUDA_API cudaError_t
cudaGraphExecKernelNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                 const struct cudaKernelNodeParams *pNodeParams);
WEIR_CUDA_API cudaError_t cudaGraphExecMemcpyNodeSetParams(
    cudaGraphExec_t hGraphExec, cudaGraphNode_t node, const struct cudaMemcpy3DParms *pNodeParams);
WEIR_CUDA_API cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(
    cudaGraphExec_t hGraphExec, cudaGraphNode_t node, const void *symbol, const void *src,
    size_t count, size_t offset, enum cudaMemcpyKind kind);
WEIR_CUDA_API cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t hGraphExec,
                                                                     cudaGraphNode_t node,
                                                                     void *dst, const void *symbol,
                                                                     size_t count, size_t offset,
                                                                     enum cudaMemcpyKind kind);
WEIR_CUDA_API cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t hGraphExec,
                                                             cudaGraphNode_t node, void *dst,
                                                             const void *src, size_t count,
                                                             enum cudaMemcpyKind kind);
WEIR_CUDA_API cudaError_t cudaGraphExecMemsetNodeSetParams(
    cudaGraphExec_t hGraphExec, cudaGraphNode_t node, const struct cudaMemsetParams *pNodeParams);
WEIR_CUDA_API cudaError_t cudaGraphExecHostNodeSetParams(
    cudaGraphExec_t hGraphExec, cudaGraphNode_t node, const struct cudaHostNodeParams *pNodeParams);
WEIR_CUDA_API cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t hGraphExec,
                                                               cudaGraphNode_t node,
                                                               cudaGraph_t childGraph);
WEIR_CUDA_API cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t hGraphExec,
                                                               cudaGraphNode_t hNode,
                                                               cudaEvent_t event);
WEIR_CUDA_API cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t hGraphExec,
                                                             cudaGraphNode_t hNode,
                                                             cudaEvent_t event);
WEIR_CUDA_API cudaError_t cudaGraphExecExternalSemaphoresSignalNodeSetParams(
    cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
    const struct cudaExternalSemaphoreSignalNodeParams *nodeParams);
WEIR_CUDA_API cudaError_t cudaGraphExecExternalSemaphoresWaitNodeSetParams(
    cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
    const struct cudaExternalSemaphoreWaitNodeParams *nodeParams);
/* Gives an instantiated graph the parameters of `hGraph`, which must have the same shape. */
WEIR_CUDA_API cudaError_t cudaGraphExecUpdate(cudaGraphExec_t hGraphExec, cudaGraph_t hGraph,
                                              cudaGraphExecUpdateResultInfo *resultInfo);
WEIR_CUDA_API cudaError_t cudaGraphUpload(cudaGraphExec_t graphExec, cudaStream_t stream);
/* Runs the whole graph as one piece of the stream's work. */
WEIR_CUDA_API cudaError_t cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream);
WEIR_CUDA_API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graphExec);
WEIR_CUDA_API cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t graphExec,
                                                     cudaGraphNode_t node,
                                                     struct cudaGraphNodeParams *nodeParams);

/* --- User objects ---------------------------------------------------------------------------- */

/* An object with references, destroyed by `destroy` with the last one: what graphs keep alive. */
WEIR_CUDA_API cudaError_t cudaUserObjectCreate(cudaUserObject_t *object_out, void *ptr,
                                               cudaHostFn_t destroy, unsigned int initialRefcount,
                                               unsigned int flags);
WEIR_CUDA_API cudaError_t cudaUserObjectRetain(cudaUserObject_t object,
                                               unsigned int count WEIR_CUDA_DEFAULT(1));
WEIR_CUDA_API cudaError_t cudaUserObjectRelease(cudaUserObject_t object,
                                                unsigned int count WEIR_CUDA_DEFAULT(1));
WEIR_CUDA_API cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object,
                                                    unsigned int count WEIR_CUDA_DEFAULT(1),
                                                    unsigned int flags WEIR_CUDA_DEFAULT(0));
WEIR_CUDA_API cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object,
                                                     unsigned int count WEIR_CUDA_DEFAULT(1));

/* --- Libraries ------------------------------------------------------------------------------- */

/* Device code that is loaded at run time, by name instead of by registration. */

/* Loads PTX text or a fat binary from memory. */
WEIR_CUDA_API cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code,
                                              enum cudaJitOption *jitOptions,
                                              void **jitOptionsValues, unsigned int numJitOptions,
                                              enum cudaLibraryOption *libraryOptions,
                                              void **libraryOptionValues,
                                              unsigned int numLibraryOptions);
WEIR_CUDA_API cudaError_t cudaLibraryLoadFromFile(
    cudaLibrary_t *library, const char *fileName, enum cudaJitOption *jitOptions,
    void **jitOptionsValues, unsigned int numJitOptions, enum cudaLibraryOption *libraryOptions,
    void **libraryOptionValues, unsigned int numLibraryOptions);
WEIR_CUDA_API cudaError_t cudaLibraryUnload(cudaLibrary_t library);
/* By its name in the PTX (extern "C", or mangled). The handle can be launched by
 * cudaLaunchKernel. */
WEIR_CUDA_API cudaError_t cudaLibraryGetKernel(cudaKernel_t *pKernel, cudaLibrary_t library,
                                               const char *name);
WEIR_CUDA_API cudaError_t cudaLibraryGetGlobal(void **dptr, size_t *bytes, cudaLibrary_t library,
                                               const char *name);
WEIR_CUDA_API cudaError_t cudaLibraryGetManaged(void **dptr, size_t *bytes, cudaLibrary_t library,
                                                const char *name);
WEIR_CUDA_API cudaError_t cudaLibraryGetUnifiedFunction(void **fptr, cudaLibrary_t library,
                                                        const char *symbol);
WEIR_CUDA_API cudaError_t cudaLibraryGetKernelCount(unsigned int *count, cudaLibrary_t lib);
WEIR_CUDA_API cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t *kernels,
                                                      unsigned int numKernels, cudaLibrary_t lib);

/* --- External memory and semaphores ---------------------------------------------------------- */

WEIR_CUDA_API cudaError_t cudaImportExternalMemory(
    cudaExternalMemory_t *extMem_out, const struct cudaExternalMemoryHandleDesc *memHandleDesc);
WEIR_CUDA_API cudaError_t
cudaExternalMemoryGetMappedBuffer(void **devPtr, cudaExternalMemory_t extMem,
                                  const struct cudaExternalMemoryBufferDesc *bufferDesc);
WEIR_CUDA_API cudaError_t cudaExternalMemoryGetMappedMipmappedArray(
    cudaMipmappedArray_t *mipmap, cudaExternalMemory_t extMem,
    const struct cudaExternalMemoryMipmappedArrayDesc *mipmapDesc);
WEIR_CUDA_API cudaError_t cudaDestroyExternalMemory(cudaExternalMemory_t extMem);
WEIR_CUDA_API cudaError_t
cudaImportExternalSemaphore(cudaExternalSemaphore_t *extSem_out,
                            const struct cudaExternalSemaphoreHandleDesc *semHandleDesc);
WEIR_CUDA_API cudaError_t cudaSignalExternalSemaphoresAsync(
    const cudaExternalSemaphore_t *extSemArray,
    const struct cudaExternalSemaphoreSignalParams *paramsArray, unsigned int numExtSems,
    cudaStream_t stream WEIR_CUDA_DEFAULT(0));
WEIR_CUDA_API cudaError_t
cudaWaitExternalSemaphoresAsync(const cudaExternalSemaphore_t *extSemArray,
                                const struct cudaExternalSemaphoreWaitParams *paramsArray,
                                unsigned int numExtSems, cudaStream_t stream WEIR_CUDA_DEFAULT(0));
WEIR_CUDA_API cudaError_t cudaDestroyExternalSemaphore(cudaExternalSemaphore_t extSem);

/* --- Memory and events of other processes ---------------------------------------------------- */

WEIR_CUDA_API cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event);
WEIR_CUDA_API cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle);
/* A handle that another process opens with cudaIpcOpenMemHandle. */
WEIR_CUDA_API cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *devPtr);
WEIR_CUDA_API cudaError_t cudaIpcOpenMemHandle(void **devPtr, cudaIpcMemHandle_t handle,
                                               unsigned int flags);
WEIR_CUDA_API cudaError_t cudaIpcCloseMemHandle(void *devPtr);

/* --- Graphics interoperation ----------------------------------------------------------------- */

/* Buffers and images of OpenGL, Vulkan and Direct3D. Weir has no graphics:
 * cudaErrorNotSupported. */

WEIR_CUDA_API cudaError_t cudaGraphicsUnregisterResource(cudaGraphicsResource_t resource);
WEIR_CUDA_API cudaError_t cudaGraphicsResourceSetMapFlags(cudaGraphicsResource_t resource,
                                                          unsigned int flags);
WEIR_CUDA_API cudaError_t cudaGraphicsMapResources(int count, cudaGraphicsResource_t *resources,
                                                   cudaStream_t stream WEIR_CUDA_DEFAULT(0));
WEIR_CUDA_API cudaError_t cudaGraphicsUnmapResources(int count, cudaGraphicsResource_t *resources,
                                                     cudaStream_t stream WEIR_CUDA_DEFAULT(0));
WEIR_CUDA_API cudaError_t cudaGraphicsResourceGetMappedPointer(void **devPtr, size_t *size,
                                                               cudaGraphicsResource_t resource);
WEIR_CUDA_API cudaError_t cudaGraphicsSubResourceGetMappedArray(cudaArray_t *array,
                                                                cudaGraphicsResource_t resource,
                                                                unsigned int arrayIndex,
                                                                unsigned int mipLevel);
WEIR_CUDA_API cudaError_t cudaGraphicsResourceGetMappedMipmappedArray(
    cudaMipmappedArray_t *mipmappedArray, cudaGraphicsResource_t resource);

/* --- Logs ------------------------------------------------------------------------------------ */

typedef void (*cudaLogsCallback_t)(void *, cudaLogLevel, char *, size_t);

WEIR_CUDA_API cudaError_t cudaLogsRegisterCallback(cudaLogsCallback_t callbackFunc, void *userData,
                                                   cudaLogsCallbackHandle *callback_out);
WEIR_CUDA_API cudaError_t cudaLogsUnregisterCallback(cudaLogsCallbackHandle callback);
WEIR_CUDA_API cudaError_t cudaLogsCurrent(cudaLogIterator *iterator_out, unsigned int flags);
WEIR_CUDA_API cudaError_t cudaLogsDumpToFile(cudaLogIterator *iterator, const char *pathToFile,
                                             unsigned int flags);
WEIR_CUDA_API cudaError_t cudaLogsDumpToMemory(cudaLogIterator *iterator, char *buffer,
                                               size_t *size, unsigned int flags);

/* --- The driver underneath ------------------------------------------------------------------- */

/* The address of a driver function by name. */
WEIR_CUDA_API cudaError_t cudaGetDriverEntryPoint(
    const char *symbol, void **funcPtr, unsigned long long flags,
    enum cudaDriverEntryPointQueryResult *driverStatus WEIR_CUDA_DEFAULT(__null));
WEIR_CUDA_API cudaError_t cudaGetDriverEntryPointByVersion(
    const char *symbol, void **funcPtr, unsigned int cudaVersion, unsigned long long flags,
    enum cudaDriverEntryPointQueryResult *driverStatus WEIR_CUDA_DEFAULT(__null));
/* Undocumented tables of NVIDIA's; not offered. */
WEIR_CUDA_API cudaError_t cudaGetExportTable(const void **ppExportTable,
                                             const cudaUUID_t *pExportTableId);

#endif
