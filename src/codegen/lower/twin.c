/* Under weir check code reaches the program's host-visible memory by its twin
 * (memory.h): the host's own pages may be closed while a kernel uses them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "codegen/lower/lower.h"

static LLVMValueRef of_launch(struct low *l, size_t field)
{
    LLVMValueRef at = LLVMConstInt(l->t.i64, field, 0);
    LLVMValueRef v =
        LLVMBuildLoad2(l->b, l->t.i64, LLVMBuildGEP2(l->b, l->t.i8, l->launch_ptr, &at, 1, ""), "");

    LLVMSetMetadata(v, l->md_invariant, l->md_empty);
    return v;
}

/* The whole access lies in one allocation, or is refused: so a group's first lane decides. The
 * lanes that do not take part may lie anywhere; nothing is accessed there. */
void low_to_twin(struct low *l, struct low_address *a)
{
    LLVMValueRef base = of_launch(l, offsetof(struct weir_launch, twin_base));
    LLVMValueRef bytes = of_launch(l, offsetof(struct weir_launch, twin_bytes));
    LLVMValueRef shift = of_launch(l, offsetof(struct weir_launch, twin_shift));
    bool varying = a->base.shape == LOW_VARYING;

    if (varying) {
        base = low_splat(l, base);
        bytes = low_splat(l, bytes);
        shift = low_splat(l, shift);
    }
    for (unsigned g = 0; g < (a->base.shape == LOW_UNIFORM ? 1 : l->groups); g++) {
        LLVMValueRef off = LLVMBuildSub(l->b, a->base.v[g], base, "");
        LLVMValueRef has = LLVMBuildICmp(l->b, LLVMIntULT, off, bytes, "");
        LLVMValueRef by = LLVMBuildSelect(l->b, has, shift, LLVMConstNull(LLVMTypeOf(shift)), "");

        a->base.v[g] = LLVMBuildAdd(l->b, a->base.v[g], by, "");
    }
}
