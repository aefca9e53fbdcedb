/* From a module's data (fat binary, linked units, PTX text) to its parsed code for one device.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_MODULE_CODE_H
#define WEIR_CORE_MODULE_CODE_H

#include "core/module.h"

/* Picks the PTX for ctx's device, unpacks, parses and, of separately compiled units, links it. The
 * caller destroys *out. Errors: NO_KERNEL_IMAGE_FOR_DEVICE, INVALID_KERNEL_IMAGE, INVALID_PTX,
 * UNSUPPORTED_PTX_VERSION, MEMORY_ALLOCATION. */
enum weir_err weir_module_code(struct weir_module *m, struct weir_context *ctx,
                               struct weir_cg_module **out) WEIR_MUST_CHECK;

/* The error for a kernel that cannot run because something is not in m: `code`, or, when a unit of
 * m was left out because it has no PTX, NO_KERNEL_IMAGE_FOR_DEVICE. Says so on stderr. */
enum weir_err weir_module_fail_missing(const struct weir_module *m, enum weir_err code,
                                       const char *kernel, const char *what);

#endif
