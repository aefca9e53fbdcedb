/* Inside src/driver: what modules, libraries and the linker share: options of loading and linking,
 * variables.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_DRIVER_MODULE_H
#define WEIR_DRIVER_MODULE_H

#include "core/module.h"
#include "driver/drv.h"

/* The options that have an answer, and where it goes: each value is a pointer's room. */
struct drv_jit {
    char *info, *error; /* log buffers, or NULL */
    size_t info_bytes, error_bytes;
    void **info_used, **error_used; /* the buffers' sizes: get the bytes written */
    void **wall_time;
    int max_registers; /* 0: none */
    uint64_t start_ns;
};

/* Errors: INVALID_VALUE; NOT_SUPPORTED for options that would change what the code does. */
enum weir_err weir_drv_jit_begin(struct drv_jit *jit, unsigned count, const CUjit_option *options,
                                 void **values) WEIR_MUST_CHECK;
/* Writes the answers: with an error, the thread's message into the error log. Returns err. */
enum weir_err weir_drv_jit_end(struct drv_jit *jit, enum weir_err err) WEIR_MUST_CHECK;

/* Where a variable is in the module's context, of a library in the current one. dptr, bytes: each
 * may be NULL. Errors: SYMBOL_NOT_FOUND. */
enum weir_err weir_drv_symbol(struct weir_module *m, const char *name, CUdeviceptr *dptr,
                              size_t *bytes) WEIR_MUST_CHECK;

#endif
