/* What the driver's linker makes (cuLinkComplete): a container of our own that holds the units'
 * PTX, linked by symbol when it is loaded. It lies in one piece, so that programs may copy and
 * store it; what is read back is not trusted.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_LINKED_H
#define WEIR_CORE_LINKED_H

#include <stdbool.h>

#include "codegen/codegen.h"

/* max_registers: as the linker was told, 0 for none. *out is from weir_alloc; the caller frees.
 * Errors: MEMORY_ALLOCATION. */
enum weir_err weir_linked_build(const struct weir_cg_unit *units, size_t count, int max_registers,
                                unsigned char **out, size_t *bytes) WEIR_MUST_CHECK;
/* Does a container begin here? At least 4 bytes must be readable, max_bytes at most. */
bool weir_linked_is(const void *data, size_t max_bytes);
/* Its size, by its own account. Errors: INVALID_KERNEL_IMAGE. */
enum weir_err weir_linked_header(const void *data, size_t max_bytes, size_t *bytes,
                                 int *max_registers) WEIR_MUST_CHECK;
/* Links the units. Errors: INVALID_KERNEL_IMAGE, those of weir_cg_module_link. */
enum weir_err weir_linked_module(const void *data, size_t bytes,
                                 struct weir_cg_module **out) WEIR_MUST_CHECK;

#endif
