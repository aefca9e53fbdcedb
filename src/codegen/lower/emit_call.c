/* Calls that leave generated code: vprintf, malloc, free, __assertfail, cudaGraphSetConditional go
 * to the launch's services with one entry a lane.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "codegen/lower/lower.h"

static struct low_val argument(struct low *l, const struct low_inst *i, unsigned k,
                               enum weir_ptx_type type)
{
    const struct weir_ptx_operand *o = &i->p->call->args[k];
    if (o->kind != WEIR_PTX_OPERAND_VAR)
        return low_read(l, i, o, type);
    return low_read_reg(l, low_param_piece(l, i->frame, o->var, 0, (uint32_t)o->var->bytes));
}

/* Argument k as an array with an entry a lane, in part n of the call area. */
static LLVMValueRef argument_array(struct low *l, const struct low_inst *i, unsigned k, unsigned n,
                                   enum weir_ptx_type type)
{
    struct low_val v = argument(l, i, k, type);
    LLVMTypeRef t = low_type(l, type);
    LLVMValueRef at = LLVMConstInt(l->t.i64, 256 * (uint64_t)n, 0);
    LLVMValueRef area = LLVMBuildGEP2(l->b, l->t.i8, l->scratch, &at, 1, "");
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef w = low_resize(l, low_vector(l, &v, g), weir_ptx_type_bits(type), false);
        LLVMValueRef idx = LLVMConstInt(l->t.i64, g * l->width, 0);
        LLVMBuildStore(l->b, w, LLVMBuildGEP2(l->b, t, area, &idx, 1, ""));
    }
    return area;
}

static LLVMValueRef service(struct low *l, size_t offset)
{
    LLVMValueRef at = LLVMConstInt(l->t.i64, offset, 0);
    return LLVMBuildLoad2(l->b, l->t.ptr, LLVMBuildGEP2(l->b, l->t.i8, l->services, &at, 1, ""),
                          "");
}

static void call(struct low *l, size_t offset, LLVMValueRef *args, unsigned n)
{
    LLVMTypeRef types[8];
    for (unsigned k = 0; k < n; k++)
        types[k] = LLVMTypeOf(args[k]);
    LLVMBuildCall2(l->b, LLVMFunctionType(l->t.v, types, n, 0), service(l, offset), args, n, "");
}

static void result(struct low *l, const struct low_inst *i, LLVMValueRef area,
                   enum weir_ptx_type type)
{
    const struct weir_ptx_call *c = i->p->call;
    if (c->ret_count == 0)
        return;
    struct low_val v = {.shape = LOW_VARYING};
    LLVMTypeRef t = low_type(l, type);
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef idx = LLVMConstInt(l->t.i64, g * l->width, 0);
        v.v[g] =
            LLVMBuildLoad2(l->b, low_vec_type(l, t), LLVMBuildGEP2(l->b, t, area, &idx, 1, ""), "");
    }
    const struct weir_ptx_operand *o = &c->rets[0];
    int32_t reg = o->kind == WEIR_PTX_OPERAND_VAR
                      ? low_param_piece(l, i->frame, o->var, 0, (uint32_t)o->var->bytes)
                      : low_reg_of(l, i, o->reg);
    low_write(l, reg, &v);
}

/* griddepcontrol, by any lane for its block. */
void low_emit_dependents(struct low *l, const struct low_inst *i)
{
    LLVMValueRef a[1] = {l->block_ptr};

    if (strcmp(i->p->suffix, ".launch_dependents") == 0) {
        l->result->meta.triggers = 1;
        call(l, offsetof(struct weir_kernel_services, launch_dependents), a, 1);
    } else {
        call(l, offsetof(struct weir_kernel_services, wait_dependencies), a, 1);
    }
}

void low_emit_call(struct low *l, const struct low_inst *i)
{
    const char *name = i->p->call->callee->name;
    unsigned n = i->p->call->arg_count;
    LLVMValueRef bits =
        l->mask_full ? LLVMConstInt(l->t.i32, 0xffffffff, 0) : low_mask_bits(l, l->mask);
    LLVMValueRef at = LLVMConstInt(l->t.i64, 256 * 5, 0),
                 out = LLVMBuildGEP2(l->b, l->t.i8, l->scratch, &at, 1, "");
    LLVMValueRef a[8] = {l->block_ptr, bits};
    if (strcmp(name, "vprintf") == 0 && n == 2) {
        a[2] = argument_array(l, i, 0, 0, WEIR_PTX_U64);
        a[3] = argument_array(l, i, 1, 1, WEIR_PTX_U64);
        a[4] = out;
        call(l, offsetof(struct weir_kernel_services, vprintf), a, 5);
        result(l, i, out, WEIR_PTX_U32);
    } else if (strcmp(name, "malloc") == 0 && n == 1) {
        a[2] = argument_array(l, i, 0, 0, WEIR_PTX_U64);
        a[3] = out;
        call(l, offsetof(struct weir_kernel_services, malloc), a, 4);
        result(l, i, out, WEIR_PTX_U64);
    } else if (strcmp(name, "free") == 0 && n == 1) {
        a[2] = argument_array(l, i, 0, 0, WEIR_PTX_U64);
        call(l, offsetof(struct weir_kernel_services, free), a, 3);
    } else if (strcmp(name, "cudaGraphSetConditional") == 0 && n == 2) {
        a[2] = argument_array(l, i, 0, 0, WEIR_PTX_U64);
        a[3] = argument_array(l, i, 1, 1, WEIR_PTX_U32);
        call(l, offsetof(struct weir_kernel_services, set_conditional), a, 4);
    } else if (n >= 4) { /* __assertfail(message, file, line, function, char size) */
        a[2] = argument_array(l, i, 0, 0, WEIR_PTX_U64);
        a[3] = argument_array(l, i, 1, 1, WEIR_PTX_U64);
        a[4] = argument_array(l, i, 2, 2, WEIR_PTX_U32);
        a[5] = argument_array(l, i, 3, 3, WEIR_PTX_U64);
        call(l, offsetof(struct weir_kernel_services, assert_fail), a, 6);
    } else {
        low_refuse(l, i->p, name);
    }
}
