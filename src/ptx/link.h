/* Linking of separately compiled PTX (nvcc -rdc=true, clang -fgpu-rdc): units in, one module out.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_PTX_LINK_H
#define WEIR_PTX_LINK_H

#include "ptx/ptx.h"

struct weir_ptx_unit {
    struct weir_ptx_module *module; /* as weir_ptx_parse made it, not linked before */
    const char *name;               /* for messages: the source file, or "unit 2" */
};

/* One module of all units, by symbol: a declaration (`.extern`, or a prototype without a body) is
 * what another unit defines as `.visible`, `.weak` or `.common`; a strong definition goes before
 * weak ones, of weak ones the first stays, of common ones the largest. Everything else is private
 * to its unit, and names may repeat. What no unit defines stays declared (is_extern): only a kernel
 * that reaches it is refused. The order of units is the order of the module's functions and
 * variables. The units belong to the linked module then; when this fails they are destroyed.
 * Thread: any. Errors: INVALID_PTX (two strong definitions; one name with different parameters,
 * sizes or memory), MEMORY_ALLOCATION. The error's message has names of symbol and units. */
enum weir_err weir_ptx_link(const struct weir_ptx_unit *units, size_t count,
                            struct weir_ptx_module **out,
                            struct weir_ptx_error *error) WEIR_MUST_CHECK;

#endif
