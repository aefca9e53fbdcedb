/* All types of the runtime API at once.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CUDA_BUILTIN_TYPES_H
#define WEIR_CUDA_BUILTIN_TYPES_H
#define __BUILTIN_TYPES_H__ /* programs ask whether this header was there */

#include "device_types.h"
#include "driver_types.h"
#include "surface_types.h"
#include "texture_types.h"
#include "vector_types.h"

#endif
