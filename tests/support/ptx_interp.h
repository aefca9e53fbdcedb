/* Reference interpreter of PTX: one thread at a time, plain C, written from the PTX ISA's text and
 * independent of codegen. It is slow and simple on purpose: what compiled kernels are compared
 * with. Not shipped.  Addresses: .global, .const, .param and generic addresses are host pointers.
 * A .shared address is an offset in the block's shared memory, a .local one an offset in the
 * thread's local memory; cvta makes host pointers of them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TESTS_SUPPORT_PTX_INTERP_H
#define WEIR_TESTS_SUPPORT_PTX_INTERP_H

#include <stdio.h>

#include "ptx/ptx.h"

struct weir_interp; /* a module with its variables in memory */

struct weir_interp_launch {
    uint32_t grid[3], block[3];
    const void *params; /* .param space of the kernel, kernel->param_bytes long */
    uint32_t dynamic_shared_bytes;
    uint64_t seed; /* 0: threads in order, in turns of 256 instructions; else a random order and
                      random turns */
    uint64_t max_steps; /* instructions of all threads together, 0 = 10^9; past it LAUNCH_TIMEOUT */
    uint32_t resident;  /* blocks that run at the same time, 0 = as many as 4096 threads make (at
                           least 1) */
};

/* Places the module's variables and fills in their initial values. var_addresses: NULL, or for each
 * of module->vars an address to use instead (its contents are left alone), NULL where the
 * interpreter shall make one. The module must outlive the result. */
enum weir_err weir_interp_create(const struct weir_ptx_module *m, void *const *var_addresses,
                                 struct weir_interp **out) WEIR_MUST_CHECK;
void weir_interp_destroy(struct weir_interp *in);

/* Address of a module variable; NULL when there is none of the name. */
void *weir_interp_var(struct weir_interp *in, const char *name, size_t *bytes);

/* Once a range is allowed, an access outside of all allowed ranges (and of the module's variables,
 * parameters, shared and local memory) is ILLEGAL_ADDRESS. Without any, only the first 4 KiB are
 * out of bounds. */
enum weir_err weir_interp_allow(struct weir_interp *in, const void *base,
                                size_t bytes) WEIR_MUST_CHECK;
void weir_interp_output(struct weir_interp *in, FILE *out); /* of device printf; default stdout */

/* Runs the kernel for the whole grid; weir_err_message() says what went wrong and where.
 * Errors: ILLEGAL_ADDRESS, MISALIGNED_ADDRESS, ASSERT, LAUNCH_FAILURE (trap, deadlock, undefined
 * behaviour), LAUNCH_TIMEOUT, NOT_SUPPORTED (names the instruction), MEMORY_ALLOCATION. */
enum weir_err weir_interp_launch(struct weir_interp *in, const struct weir_ptx_function *kernel,
                                 const struct weir_interp_launch *l) WEIR_MUST_CHECK;

/* All of it in one call. */
enum weir_err weir_interp_run(const struct weir_ptx_function *kernel, const uint32_t grid[3],
                              const uint32_t block[3], const void *params,
                              uint32_t dynamic_shared_bytes,
                              void *const *var_addresses) WEIR_MUST_CHECK;

#endif
