/* What a kernel reaches: functions that it may run, shared variables that it has.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_PTX_REACH_H
#define WEIR_PTX_REACH_H

#include "base/vec.h"
#include "ptx/ptx.h"

/* The function and all that it may call, each once. A call through a pointer without .calltargets
 * may go to any function of the module that is no kernel. False when out of memory. */
struct weir_ptx_reach {
    WEIR_VEC(const struct weir_ptx_function *) functions;
};
bool weir_ptx_reach_compute(const struct weir_ptx_function *f,
                            struct weir_ptx_reach *out) WEIR_MUST_CHECK;
void weir_ptx_reach_finish(struct weir_ptx_reach *r);

/* Calls visit for each operand of the instruction, elements of vectors and operands of calls
 * included. */
void weir_ptx_inst_visit(const struct weir_ptx_inst *inst,
                         void (*visit)(void *ctx, const struct weir_ptx_operand *o, bool is_dest),
                         void *ctx);

/* Places the module-scope .shared variables that the kernel reaches, and no others: debug builds
 * and device functions of linked units declare theirs at module scope, and a block must not hold
 * those of every kernel. offsets has an element for each of module->vars; UINT64_MAX: not this
 * kernel's. False when out of memory. */
bool weir_ptx_shared_layout(const struct weir_ptx_function *kernel, uint64_t *offsets,
                            uint64_t *bytes) WEIR_MUST_CHECK;

#endif
