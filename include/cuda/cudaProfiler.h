/* Profiler control of the driver API.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CUDA_CUDAPROFILER_H
#define WEIR_CUDA_CUDAPROFILER_H

#include "cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Without a profiler attached both do nothing, as on a GPU. */
CUresult cuProfilerStart(void);
CUresult cuProfilerStop(void);

#ifdef __cplusplus
}
#endif

#endif
