/* Inside src/driver: functions as execution control, libraries and occupancy need them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_DRIVER_EXEC_H
#define WEIR_DRIVER_EXEC_H

#include "core/launch.h"
#include "driver/drv.h"

/* The function behind a handle, and its image in the context that it belongs to, or in the current
 * one. Errors: INVALID_RESOURCE_HANDLE, those of loading. */
enum weir_err weir_drv_function(const void *handle, struct weir_function **f) WEIR_MUST_CHECK;
enum weir_err weir_drv_image(const void *handle, struct weir_context **ctx,
                             struct weir_function_image **image) WEIR_MUST_CHECK;

#endif
