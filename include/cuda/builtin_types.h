/* All types of the runtime API at once.
 * SPDX-License-Identifier: Apache-2.0 */
/* The second name is the toolkit's own: programs ask for it, and its headers may come first. */
#if !defined(WEIR_CUDA_BUILTIN_TYPES_H) && !defined(__BUILTIN_TYPES_H__)
#define WEIR_CUDA_BUILTIN_TYPES_H
#define __BUILTIN_TYPES_H__

#include "device_types.h"
#include "driver_types.h"
#include "surface_types.h"
#include "texture_types.h"
#include "vector_types.h"

#endif
