/* The runtime's types. Launches from device code (dynamic parallelism) are not there.
 * SPDX-License-Identifier: Apache-2.0 */
#if !defined(WEIR_CUDA_CUDA_DEVICE_RUNTIME_API_H) && !defined(__CUDA_DEVICE_RUNTIME_API_H__)
#define WEIR_CUDA_CUDA_DEVICE_RUNTIME_API_H
#define __CUDA_DEVICE_RUNTIME_API_H__
#include "cuda_runtime_api.h"
#endif
