/* An older name: weir cc declares these functions in every .cu file.
 * SPDX-License-Identifier: Apache-2.0 */
#if !defined(WEIR_CUDA_MATH_FUNCTIONS_H) && !defined(__MATH_FUNCTIONS_H__)
#define WEIR_CUDA_MATH_FUNCTIONS_H
#define __MATH_FUNCTIONS_H__
#include "cuda_runtime.h"
#endif
