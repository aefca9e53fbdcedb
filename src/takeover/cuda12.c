/* See cuda12.h. The names that are gone: a public list of libcudart.so.12's symbols (12.8) against
 * the symbols of 13.0's library. Which of the names in both have another signature was put together
 * by hand, from the _v2 and _v3 forms that 13 has taken the suffix from; it has not been compared
 * with 12's headers, nor tried with a program of CUDA 12.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "takeover/cuda12.h"

#include "takeover/sys.h"

static const char *const names[] = {
    /* same name, other parameters or another struct in 13 */
    "cudaEventElapsedTime_v2",
    "cudaGetDeviceProperties",
    "cudaGetDeviceProperties_v2",
    "cudaGraphAddDependencies",
    "cudaGraphAddDependencies_v2",
    "cudaGraphAddNode",
    "cudaGraphAddNode_v2",
    "cudaGraphGetEdges",
    "cudaGraphGetEdges_v2",
    "cudaGraphNodeGetDependencies",
    "cudaGraphNodeGetDependencies_v2",
    "cudaGraphNodeGetDependentNodes",
    "cudaGraphNodeGetDependentNodes_v2",
    "cudaGraphRemoveDependencies",
    "cudaGraphRemoveDependencies_v2",
    "cudaMemAdvise",
    "cudaMemAdvise_v2",
    "cudaMemPrefetchAsync",
    "cudaMemPrefetchAsync_ptsz",
    "cudaMemPrefetchAsync_v2",
    "cudaMemPrefetchAsync_v2_ptsz",
    "cudaMemcpy3DBatchAsync",
    "cudaMemcpy3DBatchAsync_ptsz",
    "cudaMemcpyBatchAsync",
    "cudaMemcpyBatchAsync_ptsz",
    "cudaSignalExternalSemaphoresAsync",
    "cudaSignalExternalSemaphoresAsync_ptsz",
    "cudaSignalExternalSemaphoresAsync_v2",
    "cudaSignalExternalSemaphoresAsync_v2_ptsz",
    "cudaStreamGetCaptureInfo",
    "cudaStreamGetCaptureInfo_ptsz",
    "cudaStreamGetCaptureInfo_v2",
    "cudaStreamGetCaptureInfo_v2_ptsz",
    "cudaStreamGetCaptureInfo_v3",
    "cudaStreamGetCaptureInfo_v3_ptsz",
    "cudaStreamUpdateCaptureDependencies",
    "cudaStreamUpdateCaptureDependencies_ptsz",
    "cudaStreamUpdateCaptureDependencies_v2",
    "cudaStreamUpdateCaptureDependencies_v2_ptsz",
    "cudaWaitExternalSemaphoresAsync",
    "cudaWaitExternalSemaphoresAsync_ptsz",
    "cudaWaitExternalSemaphoresAsync_v2",
    "cudaWaitExternalSemaphoresAsync_v2_ptsz",
    /* gone in 13 */
    "cudaLaunchCooperativeKernelMultiDevice",
    "cudaSetDoubleForDevice",
    "cudaSetDoubleForHost",
    "cudaThreadExit",
    "cudaThreadGetCacheConfig",
    "cudaThreadGetLimit",
    "cudaThreadSetCacheConfig",
    "cudaThreadSetLimit",
    "cudaThreadSynchronize",
};

const char *weir_cuda12_differing(const char *name)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (weir_str_equal(names[i], name))
            return names[i];
    }
    return NULL;
}
