/* Start and stop of profiling. Under Weir they mark the recorded part when a trace is taken, else
 * they do nothing.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CUDA_PROFILER_API_H
#define WEIR_CUDA_PROFILER_API_H
#define __CUDA_PROFILER_API_H__ /* programs ask whether this header was there */

#include "cuda_runtime_api.h"

WEIR_CUDA_API cudaError_t cudaProfilerStart(void);
WEIR_CUDA_API cudaError_t cudaProfilerStop(void);

#endif
