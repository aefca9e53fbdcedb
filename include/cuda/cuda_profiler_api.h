/* Start and stop of profiling. Under Weir they mark the recorded part when a trace is taken, else
 * they do nothing.
 * SPDX-License-Identifier: Apache-2.0 */
/* The second name is the toolkit's own: programs ask for it, and its headers may come first. */
#if !defined(WEIR_CUDA_PROFILER_API_H) && !defined(__CUDA_PROFILER_API_H__)
#define WEIR_CUDA_PROFILER_API_H
#define __CUDA_PROFILER_API_H__

#include "cuda_runtime_api.h"

WEIR_CUDA_API cudaError_t cudaProfilerStart(void);
WEIR_CUDA_API cudaError_t cudaProfilerStop(void);

#endif
