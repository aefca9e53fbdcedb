/* An older name: weir cc declares these functions in every .cu file.
 * SPDX-License-Identifier: Apache-2.0 */
#if !defined(WEIR_CUDA_SM_35_INTRINSICS_H) && !defined(__SM_35_INTRINSICS_H__)
#define WEIR_CUDA_SM_35_INTRINSICS_H
#define __SM_35_INTRINSICS_H__
#include "cuda_runtime.h"
#endif
