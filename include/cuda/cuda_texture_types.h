/* The types of textures.
 * SPDX-License-Identifier: Apache-2.0 */
#if !defined(WEIR_CUDA_CUDA_TEXTURE_TYPES_H) && !defined(__CUDA_TEXTURE_TYPES_H__)
#define WEIR_CUDA_CUDA_TEXTURE_TYPES_H
#define __CUDA_TEXTURE_TYPES_H__
#include "texture_types.h"
#endif
