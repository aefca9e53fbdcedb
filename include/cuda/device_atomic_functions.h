/* An older name: weir cc declares these functions in every .cu file.
 * SPDX-License-Identifier: Apache-2.0 */
#if !defined(WEIR_CUDA_DEVICE_ATOMIC_FUNCTIONS_H) && !defined(__DEVICE_ATOMIC_FUNCTIONS_H__)
#define WEIR_CUDA_DEVICE_ATOMIC_FUNCTIONS_H
#define __DEVICE_ATOMIC_FUNCTIONS_H__
#include "cuda_runtime.h"
#endif
