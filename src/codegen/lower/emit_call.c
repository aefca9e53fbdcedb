/* Calls that leave generated code: vprintf, malloc, free, __assertfail, cudaGraphSetConditional and
 * CUDA's runtime on the device go to the launch's services with one entry a lane.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "codegen/lower/lower.h"
#include "ptx/device_calls.h"

static struct low_val argument(struct low *l, const struct low_inst *i, unsigned k,
                               enum weir_ptx_type type)
{
    const struct weir_ptx_operand *o = &i->p->call->args[k];
    if (o->kind != WEIR_PTX_OPERAND_VAR)
        return low_read(l, i, o, type);
    return low_read_reg(l, low_param_piece(l, i->frame, o->var, 0, (uint32_t)o->var->bytes));
}

static LLVMValueRef area_at(struct low *l, uint64_t offset)
{
    LLVMValueRef at = LLVMConstInt(l->t.i64, offset, 0);
    return LLVMBuildGEP2(l->b, l->t.i8, l->scratch, &at, 1, "");
}

/* A value as an array with an entry a lane, at this offset of the call area. */
static LLVMValueRef put_array(struct low *l, struct low_val *v, uint64_t offset,
                              enum weir_ptx_type type)
{
    LLVMTypeRef t = low_type(l, type);
    LLVMValueRef area = area_at(l, offset);
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef w = low_resize(l, low_vector(l, v, g), weir_ptx_type_bits(type), false);
        LLVMValueRef idx = LLVMConstInt(l->t.i64, g * l->width, 0);
        LLVMBuildStore(l->b, w, LLVMBuildGEP2(l->b, t, area, &idx, 1, ""));
    }
    return area;
}

/* Argument k as such an array, in part n of the call area. */
static LLVMValueRef argument_array(struct low *l, const struct low_inst *i, unsigned k, unsigned n,
                                   enum weir_ptx_type type)
{
    struct low_val v = argument(l, i, k, type);
    return put_array(l, &v, 256 * (uint64_t)n, type);
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

/* CUDA's runtime (ptx/device_calls.h). Structures come in their pieces. */
static void device_call(struct low *l, const struct low_inst *i, int which, LLVMValueRef bits)
{
    const struct weir_ptx_device_call *info = weir_ptx_device_call_info((unsigned)which);
    const struct weir_ptx_call *c = i->p->call;
    LLVMValueRef out = area_at(l, WEIR_DEVICE_CALL_ROWS * 128u);
    uint64_t offset = 0;
    if (strlen(info->arguments) != c->arg_count)
        low_refuse(l, i->p, c->callee->name);
    for (unsigned k = 0; k < c->arg_count; k++) {
        const struct weir_ptx_operand *o = &c->args[k];
        uint32_t bytes, pieces = weir_ptx_device_call_pieces(info->arguments[k], &bytes);
        enum weir_ptx_type type = bytes == 4 ? WEIR_PTX_U32 : WEIR_PTX_U64;
        if (o->kind == WEIR_PTX_OPERAND_VAR ? o->var->bytes != pieces * bytes : pieces != 1)
            low_refuse(l, i->p, c->callee->name);
        for (unsigned n = 0; n < pieces; n++, offset += 32 * (uint64_t)bytes) {
            struct low_val v = o->kind == WEIR_PTX_OPERAND_VAR
                                   ? low_read_reg(l, low_argument_piece(l, i->frame, o->var, n))
                                   : low_read(l, i, o, type);
            (void)put_array(l, &v, offset, type);
        }
    }
    LLVMValueRef a[5] = {l->block_ptr, bits, LLVMConstInt(l->t.i32, (unsigned)which, 0),
                         area_at(l, 0), out};
    l->result->meta.launches = 1;
    call(l, offsetof(struct weir_kernel_services, device_call), a, 5);
    result(l, i, out, info->result == 'w' ? WEIR_PTX_U32 : WEIR_PTX_U64);
}

void low_emit_call(struct low *l, const struct low_inst *i)
{
    const char *name = i->p->call->callee->name;
    unsigned n = i->p->call->arg_count;
    int device = weir_ptx_device_call(name);
    LLVMValueRef bits =
        l->mask_full ? LLVMConstInt(l->t.i32, 0xffffffff, 0) : low_mask_bits(l, l->mask);
    LLVMValueRef out = area_at(l, 256 * 5);
    LLVMValueRef a[8] = {l->block_ptr, bits};
    if (device >= 0) {
        device_call(l, i, device, bits);
        return;
    }
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
