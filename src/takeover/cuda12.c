/* See cuda12.h. Source: the deprecation and change lists of the runtime API's documentation,
 * versions 12.0 to 13.0. SPDX-License-Identifier: Apache-2.0 */
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
