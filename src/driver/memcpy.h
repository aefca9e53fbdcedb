/* Inside src/driver: boxes of bytes as copies and the nodes of graphs take them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_DRIVER_MEMCPY_H
#define WEIR_DRIVER_MEMCPY_H

#include "core/copy.h"
#include "driver/drv.h"

/* An asynchronous copy. Errors: INVALID_VALUE, NOT_SUPPORTED (arrays). */
enum weir_err weir_drv_make_box(const CUDA_MEMCPY3D *box, struct weir_copy *out) WEIR_MUST_CHECK;

#endif
