/* An older name: weir cc declares these functions in every .cu file.
 * SPDX-License-Identifier: Apache-2.0 */
#if !defined(WEIR_CUDA_SM_60_ATOMIC_FUNCTIONS_H) && !defined(__SM_60_ATOMIC_FUNCTIONS_H__)
#define WEIR_CUDA_SM_60_ATOMIC_FUNCTIONS_H
#define __SM_60_ATOMIC_FUNCTIONS_H__
#include "cuda_runtime.h"
#endif
