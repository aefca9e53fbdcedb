/* Video instructions. The scalar ones compute in 64 bits on a byte, a half or the whole of their
 * operands; the others on 2 or 4 parts of a register, in 32 bits. Source: PTX ISA, "Video
 * Instructions".
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/bits.h"
#include "codegen/lower/lower.h"

/* ---- values ---- */

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

static LLVMValueRef truth(struct low *l, LLVMValueRef c, unsigned bits)
{
    return low_resize(l, c, bits, false);
}

static LLVMValueRef compared(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef a,
                             LLVMValueRef b)
{
    static const LLVMIntPredicate preds[] = {LLVMIntEQ,  LLVMIntNE,  LLVMIntSLT,
                                             LLVMIntSLE, LLVMIntSGT, LLVMIntSGE};
    LLVMValueRef c = LLVMBuildICmp(l->b, preds[p->cmp - WEIR_PTX_EQ], a, b, "");
    return truth(l, c, low_bits_of(a));
}

/* a and b are exact in their width, signed. */
static LLVMValueRef one_part(struct low *l, const struct weir_ptx_inst *p, enum weir_cg_video what,
                             LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef s;
    switch (what) { /* dispatch */
    case V_ADD:
        return LLVMBuildAdd(l->b, a, b, "");
    case V_SUB:
        return LLVMBuildSub(l->b, a, b, "");
    case V_AVRG: /* half rounds away from zero */
        s = LLVMBuildAdd(l->b, a, b, "");
        s = LLVMBuildAdd(
            l->b, s, truth(l, LLVMBuildICmp(l->b, LLVMIntSGE, s, imm(l, s, 0), ""), low_bits_of(s)),
            "");
        return LLVMBuildAShr(l->b, s, imm(l, s, 1), "");
    case V_ABSDIFF:
        return low_binary(l, "llvm.abs", LLVMBuildSub(l->b, a, b, ""), LLVMConstInt(l->t.i1, 0, 0));
    case V_MIN:
        return low_binary(l, "llvm.smin", a, b);
    case V_MAX:
        return low_binary(l, "llvm.smax", a, b);
    case V_SET:
        return compared(l, p, a, b);
    default:
        low_refuse(l, p, "form");
    }
}

static LLVMValueRef clamp(struct low *l, LLVMValueRef r, unsigned bits, bool sign)
{
    int64_t high = (int64_t)weir_bits_low(bits - sign), low = sign ? -high - 1 : 0;
    return low_binary(l, "llvm.smax", low_binary(l, "llvm.smin", r, imm(l, r, high)),
                      imm(l, r, low));
}

/* ---- scalar ---- */

static LLVMValueRef selected(struct low *l, LLVMValueRef v, int64_t s, bool sign)
{
    unsigned bits = s == 0 ? 32 : (s & 0xff) == 'b' ? 8 : 16;
    v = bits == 32 ? v : part_of(l, v, weir_cg_video_digit(s, 0) * bits, bits, sign);
    return low_resize(l, v, 64, sign);
}

static LLVMValueRef shifted(struct low *l, const struct weir_ptx_inst *p, bool left, LLVMValueRef a,
                            LLVMValueRef b)
{
    b = p->clamp ? low_binary(l, "llvm.umin", b, imm(l, b, 32))
                 : LLVMBuildAnd(l->b, b, imm(l, b, 31), "");
    if (left && p->sat) { /* a shift by 32 does not fit: one that is enough to saturate */
        LLVMValueRef r = LLVMBuildShl(l->b, a, low_binary(l, "llvm.umin", b, imm(l, b, 31)), "");
        LLVMValueRef m = low_binary(l, "llvm.abs", r, LLVMConstInt(l->t.i1, 0, 0));
        LLVMValueRef more = LLVMBuildICmp(l->b, LLVMIntULT, m, imm(l, m, (int64_t)1 << 61), "");
        more = LLVMBuildAnd(l->b, more, LLVMBuildICmp(l->b, LLVMIntEQ, b, imm(l, b, 32), ""), "");
        return LLVMBuildShl(l->b, r, truth(l, more, 64), "");
    }
    return left ? LLVMBuildShl(l->b, a, b, "") : LLVMBuildAShr(l->b, a, b, "");
}

/* a * b + c fits in 64 bits, as a signed or as an unsigned number. */
static LLVMValueRef multiply_add(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef a,
                                 LLVMValueRef b, LLVMValueRef c)
{
    bool sign = weir_ptx_type_is_signed(p->type[1]) || weir_ptx_type_is_signed(p->type[2]);
    LLVMValueRef r =
        LLVMBuildAdd(l->b, LLVMBuildMul(l->b, a, b, ""), low_resize(l, c, 64, sign), "");
    int64_t by = strstr(p->suffix, ".shr7") ? 7 : strstr(p->suffix, ".shr15") ? 15 : 0;
    if (strstr(p->suffix, ".po"))
        r = LLVMBuildAdd(l->b, r, imm(l, r, 1), "");
    if (by)
        r = sign ? LLVMBuildAShr(l->b, r, imm(l, r, by), "")
                 : LLVMBuildLShr(l->b, r, imm(l, r, by), "");
    if (p->sat && sign)
        r = clamp(l, r, 32, true);
    else if (p->sat)
        r = low_binary(l, "llvm.umin", r, imm(l, r, 0xffffffff));
    return low_resize(l, r, 32, false);
}

static LLVMValueRef merged(struct low *l, LLVMValueRef r, LLVMValueRef c, int64_t s)
{
    unsigned bits = (s & 0xff) == 'b' ? 8 : 16, at = weir_cg_video_digit(s, 0) * bits;
    int64_t mask = (int64_t)weir_bits_low(bits) << at;
    r = LLVMBuildAnd(l->b, LLVMBuildShl(l->b, r, imm(l, r, at), ""), imm(l, r, mask), "");
    return LLVMBuildOr(l->b, r, LLVMBuildAnd(l->b, c, imm(l, c, ~mask), ""), "");
}

static LLVMValueRef secondary(struct low *l, const struct weir_ptx_inst *p, bool sign,
                              LLVMValueRef r, LLVMValueRef c)
{
    switch (weir_cg_video_second(p)) {
    case WEIR_PTX_SUB_ADD:
        return LLVMBuildAdd(l->b, r, c, "");
    case WEIR_PTX_SUB_MIN:
        return low_binary(l, sign ? "llvm.smin" : "llvm.umin", r, c);
    case WEIR_PTX_SUB_MAX:
        return low_binary(l, sign ? "llvm.smax" : "llvm.umax", r, c);
    default:
        return r;
    }
}

static LLVMValueRef scalar(struct low *l, struct low_args *x, enum weir_cg_video what)
{
    const struct weir_ptx_inst *p = x->p;
    unsigned ta = what == V_SET ? 0 : 1;
    bool sd = what != V_SET && weir_ptx_type_is_signed(p->type[0]);
    int64_t ds = p->operands[0].imm;
    LLVMValueRef r,
        a = selected(l, x->a[0], p->operands[1].imm, weir_ptx_type_is_signed(p->type[ta])),
        b = selected(l, x->a[1], p->operands[2].imm, weir_ptx_type_is_signed(p->type[ta + 1]));
    if (what == V_MAD)
        return multiply_add(l, p, a, b, x->a[2]);
    if (what == V_SHL || what == V_SHR)
        r = shifted(l, p, what == V_SHL, a, b);
    else
        r = one_part(l, p, what, a, b);
    if (p->sat)
        r = clamp(l, r, ds == 0 ? 32 : (ds & 0xff) == 'b' ? 8 : 16, sd);
    r = low_resize(l, r, 32, false);
    return ds ? merged(l, r, x->a[2], ds) : secondary(l, p, sd, r, x->a[2]);
}

/* ---- parts ---- */

/* Part k of an operand: without a selector its own, else one of both operands' parts. */
static LLVMValueRef part(struct low *l, struct low_args *x, unsigned operand, unsigned k,
                         unsigned parts, bool sign)
{
    int64_t s =
        x->p->operands[operand].kind == WEIR_PTX_OPERAND_REG ? x->p->operands[operand].imm : 0;
    unsigned bits = 32 / parts, at = s ? weir_cg_video_digit(s, k) : k;
    LLVMValueRef v = x->a[operand - 1];
    if (s)
        v = x->a[at / parts];
    return part_of(l, v, at % parts * bits, bits, sign);
}

static bool masked_out(int64_t mask, unsigned k)
{
    for (unsigned n = 0; mask && n + 1 < weir_cg_video_selector_length(mask); n++)
        if (weir_cg_video_digit(mask, n) == k)
            return false;
    return mask != 0;
}

LLVMValueRef low_video(struct low *l, struct low_args *x)
{
    const struct weir_ptx_inst *p = x->p;
    unsigned parts, bits;
    enum weir_cg_video what = weir_cg_video_kind(p->opcode, &parts);
    if (!parts)
        return NULL;
    if (parts == 1)
        return scalar(l, x, what);
    bits = 32 / parts;
    unsigned ta = what == V_SET ? 0 : 1;
    bool sd = what != V_SET && weir_ptx_type_is_signed(p->type[0]);
    bool sa = weir_ptx_type_is_signed(p->type[ta]), sb = weir_ptx_type_is_signed(p->type[ta + 1]);
    LLVMValueRef d = NULL, sum = x->a[2];
    for (unsigned k = 0; k < parts; k++) {
        bool out = masked_out(p->operands[0].imm, k);
        LLVMValueRef r =
            one_part(l, p, what, part(l, x, 1, k, parts, sa), part(l, x, 2, k, parts, sb));
        if (p->sat)
            r = clamp(l, r, bits, sd);
        if (!out)
            sum = LLVMBuildAdd(l->b, sum, r, "");
        else
            r = part_of(l, x->a[2], k * bits, bits, false);
        r = LLVMBuildAnd(l->b, r, imm(l, r, (int64_t)weir_bits_low(bits)), "");
        if (k)
            r = LLVMBuildShl(l->b, r, imm(l, r, k * bits), "");
        d = d ? LLVMBuildOr(l->b, d, r, "") : r;
    }
    return weir_cg_video_second(p) == WEIR_PTX_SUB_ADD ? sum : d;
}
