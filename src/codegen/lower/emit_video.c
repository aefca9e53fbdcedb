/* Video instructions on 2 or 4 parts of a register, as __vadd4 and the like become: parts are
 * computed in 32 bits.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "codegen/lower/lower.h"

unsigned low_video_parts(uint16_t opcode)
{
    switch (opcode) {
    case WEIR_PTX_OP_vadd2:
    case WEIR_PTX_OP_vsub2:
    case WEIR_PTX_OP_vavrg2:
    case WEIR_PTX_OP_vabsdiff2:
    case WEIR_PTX_OP_vmin2:
    case WEIR_PTX_OP_vmax2:
        return 2;
    case WEIR_PTX_OP_vadd4:
    case WEIR_PTX_OP_vsub4:
    case WEIR_PTX_OP_vavrg4:
    case WEIR_PTX_OP_vabsdiff4:
    case WEIR_PTX_OP_vmin4:
    case WEIR_PTX_OP_vmax4:
        return 4;
    default:
        return 0;
    }
}

/* Without selectors of parts and masks of the destination. */
bool low_video_ok(const struct weir_ptx_inst *p)
{
    if (p->operand_count != 4 || (p->sub != WEIR_PTX_SUB_NONE && p->sub != WEIR_PTX_SUB_ADD))
        return false;
    for (unsigned k = 0; k < 4; k++)
        if (p->operands[k].kind == WEIR_PTX_OPERAND_REG && p->operands[k].imm)
            return false;
    return true;
}

static LLVMValueRef imm(struct low *l, LLVMValueRef like, int64_t v)
{
    return low_const(l, LLVMTypeOf(like), v);
}

static LLVMValueRef part_of(struct low *l, LLVMValueRef v, unsigned at, unsigned bits, bool sign)
{
    LLVMValueRef up = LLVMBuildShl(l->b, v, imm(l, v, 32 - bits - at), ""),
                 down = imm(l, v, 32 - bits);
    return sign ? LLVMBuildAShr(l->b, up, down, "") : LLVMBuildLShr(l->b, up, down, "");
}

static LLVMValueRef one_part(struct low *l, uint16_t opcode, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef s;
    switch (opcode) { /* dispatch */
    case WEIR_PTX_OP_vadd2:
    case WEIR_PTX_OP_vadd4:
        return LLVMBuildAdd(l->b, a, b, "");
    case WEIR_PTX_OP_vsub2:
    case WEIR_PTX_OP_vsub4:
        return LLVMBuildSub(l->b, a, b, "");
    case WEIR_PTX_OP_vavrg2:
    case WEIR_PTX_OP_vavrg4: /* half rounds away from zero */
        s = LLVMBuildAdd(l->b, a, b, "");
        s = LLVMBuildAdd(
            l->b, s, low_resize(l, LLVMBuildICmp(l->b, LLVMIntSGE, s, imm(l, s, 0), ""), 32, false),
            "");
        return LLVMBuildAShr(l->b, s, imm(l, s, 1), "");
    case WEIR_PTX_OP_vabsdiff2:
    case WEIR_PTX_OP_vabsdiff4:
        return low_binary(l, "llvm.abs", LLVMBuildSub(l->b, a, b, ""), LLVMConstInt(l->t.i1, 0, 0));
    case WEIR_PTX_OP_vmin2:
    case WEIR_PTX_OP_vmin4:
        return low_binary(l, "llvm.smin", a, b);
    default:
        return low_binary(l, "llvm.smax", a, b);
    }
}

LLVMValueRef low_video(struct low *l, struct low_args *x)
{
    const struct weir_ptx_inst *p = x->p;
    unsigned parts = low_video_parts(p->opcode), bits = parts ? 32 / parts : 0;
    if (!parts)
        return NULL;
    bool sd = weir_ptx_type_is_signed(p->type[0]), sa = weir_ptx_type_is_signed(p->type[1]);
    bool sb = weir_ptx_type_is_signed(p->type[2]);
    int64_t high = ((int64_t)1 << (sd ? bits - 1 : bits)) - 1, low = sd ? -high - 1 : 0;
    LLVMValueRef d = NULL, sum = x->a[2];
    for (unsigned k = 0; k < parts; k++) {
        LLVMValueRef r = one_part(l, p->opcode, part_of(l, x->a[0], k * bits, bits, sa),
                                  part_of(l, x->a[1], k * bits, bits, sb));
        sum = LLVMBuildAdd(l->b, sum, r, "");
        if (p->sat)
            r = low_binary(l, "llvm.smax", low_binary(l, "llvm.smin", r, imm(l, r, high)),
                           imm(l, r, low));
        r = LLVMBuildAnd(l->b, r, imm(l, r, ((int64_t)1 << bits) - 1), "");
        if (k)
            r = LLVMBuildShl(l->b, r, imm(l, r, k * bits), "");
        d = d ? LLVMBuildOr(l->b, d, r, "") : r;
    }
    return p->sub == WEIR_PTX_SUB_ADD ? sum : d;
}
