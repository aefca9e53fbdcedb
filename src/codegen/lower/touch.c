/* Code that says what it accesses (weir_jit_request.touch): a call before each access to global
 * memory, with the address in the form that the analysis knows.
 * SPDX-License-Identifier: Apache-2.0 */
#include "codegen/lower/lower.h"

#define KIND_SHIFT 16

bool low_touches(const struct low *l, const struct low_address *a)
{
    return l->request->touch && !a->is_param &&
           (a->space == WEIR_PTX_GLOBAL || a->space == WEIR_PTX_GENERIC);
}

static void call(struct low *l, size_t service, LLVMValueRef *args, unsigned n)
{
    LLVMTypeRef types[5];
    LLVMValueRef at = LLVMConstInt(l->t.i64, service, 0), f;

    for (unsigned k = 0; k < n; k++)
        types[k] = LLVMTypeOf(args[k]);
    f = LLVMBuildLoad2(l->b, l->t.ptr, LLVMBuildGEP2(l->b, l->t.i8, l->services, &at, 1, ""), "");
    LLVMBuildCall2(l->b, LLVMFunctionType(l->t.v, types, n, 0), f, args, n, "");
}

static void touch_lanes(struct low *l, const struct low_address *a, LLVMValueRef bits,
                        LLVMValueRef code)
{
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef at = LLVMConstInt(l->t.i64, 8 * g * l->width, 0);
        LLVMValueRef p = LLVMBuildGEP2(l->b, l->t.i8, l->scratch, &at, 1, "");

        LLVMSetAlignment(LLVMBuildStore(l->b, low_vector(l, &a->base, g), p), 8);
    }
    LLVMValueRef args[4] = {l->block_ptr, bits, code, l->scratch};
    call(l, offsetof(struct weir_kernel_services, touch_lanes), args, 4);
}

/* Groups are affine one by one: a warp's rows need not lie behind each other. */
static void touch_group(struct low *l, const struct low_address *a, unsigned g, LLVMValueRef bits,
                        LLVMValueRef code)
{
    uint32_t all = l->width == 32 ? UINT32_MAX : (1u << l->width) - 1;
    LLVMValueRef mine = LLVMBuildLShr(l->b, bits, LLVMConstInt(l->t.i32, g * l->width, 0), "");

    mine = LLVMBuildAnd(l->b, mine, LLVMConstInt(l->t.i32, all, 0), "");
    LLVMValueRef args[5] = {l->block_ptr, mine, code, a->base.v[g],
                            LLVMConstInt(l->t.i64, (unsigned long long)a->base.stride, 1)};
    call(l, offsetof(struct weir_kernel_services, touch), args, 5);
}

void low_touch(struct low *l, const struct low_address *a, uint32_t bytes, uint32_t kind)
{
    if (!low_touches(l, a))
        return;
    LLVMValueRef bits =
        l->mask_full ? LLVMConstInt(l->t.i32, UINT32_MAX, 0) : low_mask_bits(l, l->mask);
    LLVMValueRef code = LLVMConstInt(l->t.i32, bytes | kind << KIND_SHIFT, 0);

    if (a->base.shape == LOW_VARYING) {
        touch_lanes(l, a, bits, code);
        return;
    }
    if (a->base.shape == LOW_UNIFORM) {
        LLVMValueRef args[5] = {l->block_ptr, bits, code, a->base.v[0],
                                LLVMConstInt(l->t.i64, 0, 0)};

        call(l, offsetof(struct weir_kernel_services, touch), args, 5);
        return;
    }
    for (unsigned g = 0; g < l->groups; g++)
        touch_group(l, a, g, bits, code);
}
