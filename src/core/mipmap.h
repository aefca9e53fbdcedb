/* Mipmapped arrays: an array for each level, half as large as the one before in each direction. A
 * level is an array like any other, but that it is freed with the whole.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_MIPMAP_H
#define WEIR_CORE_MIPMAP_H

#include "core/array.h"

struct weir_mipmap;

/* More levels than there are sizes are cut off. Errors: those of weir_array_create. Thread: any, as
 * for all below. */
enum weir_err weir_mipmap_create(struct weir_context *ctx, const struct weir_array_config *config,
                                 unsigned levels, struct weir_mipmap **out) WEIR_MUST_CHECK;
/* With its levels; waits for the device as the model says. Errors: INVALID_RESOURCE_HANDLE (none,
 * or freed), those of the wait. */
enum weir_err weir_mipmap_free(const void *handle) WEIR_MUST_CHECK;
/* Errors: INVALID_RESOURCE_HANDLE. */
enum weir_err weir_mipmap_device(const void *handle, int *device) WEIR_MUST_CHECK;
/* Errors: those, INVALID_VALUE (no such level). */
enum weir_err weir_mipmap_level(const void *handle, unsigned level,
                                struct weir_array **out) WEIR_MUST_CHECK;
/* Is it a level of something? Then it cannot be freed by itself. */
bool weir_mipmap_has(const struct weir_array *a);

#endif
