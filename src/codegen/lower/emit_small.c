/* Conversions to and from 8-bit floats, to tf32, and of integers that are packed (cvt.pack).
 * Everything goes through f32, which holds each of these formats exactly. Source: PTX ISA, cvt and
 * cvt.pack.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/bits.h"
#include "codegen/lower/lower.h"

/* e4m3 has no infinity and one NaN for each sign, e5m2 is the upper half of f16. */
struct small {
    unsigned mantissa;
    int bias;
    int64_t most; /* code of the largest finite number */
};

static const struct small e4m3 = {3, 7, 0x7e}, e5m2 = {2, 15, 0x7b};

static LLVMValueRef sel(struct low *l, LLVMValueRef c, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildSelect(l->b, c, a, b, "");
}

static LLVMValueRef imm(struct low *l, LLVMValueRef like, int64_t v)
{
    return low_const(l, LLVMTypeOf(like), v);
}

static bool is_small(enum weir_ptx_type t)
{
    return t == WEIR_PTX_E4M3X2 || t == WEIR_PTX_E5M2X2;
}

/* ---- cvt.pack ---- */

static LLVMValueRef packed(struct low *l, struct low_args *x, unsigned bits, bool sign)
{
    int64_t most = (int64_t)weir_bits_low(bits - sign), least = sign ? -most - 1 : 0;
    LLVMValueRef d = bits < 16 ? LLVMBuildShl(l->b, x->a[2], imm(l, x->a[2], 2 * bits), "") : NULL;
    for (unsigned k = 0; k < 2; k++) {
        LLVMValueRef v = x->a[k];
        v = low_binary(l, "llvm.smax", low_binary(l, "llvm.smin", v, imm(l, v, most)),
                       imm(l, v, least));
        v = LLVMBuildAnd(l->b, v, imm(l, v, (int64_t)weir_bits_low(bits)), "");
        if (k == 0)
            v = LLVMBuildShl(l->b, v, imm(l, v, bits), "");
        d = d ? LLVMBuildOr(l->b, d, v, "") : v;
    }
    return d;
}

/* ---- 8-bit floats ---- */

/* The magnitude's code, before saturation; ties to even. */
static LLVMValueRef magnitude_code(struct low *l, const struct small *s, LLVMValueRef a)
{
    unsigned drop = 23 - s->mantissa;
    double least = 1.0; /* normal number */
    for (int k = 1; k < s->bias; k++)
        least /= 2;
    LLVMValueRef w = low_bitcast(l, a, l->t.i32);
    LLVMValueRef odd =
        LLVMBuildAnd(l->b, LLVMBuildLShr(l->b, w, imm(l, w, drop), ""), imm(l, w, 1), "");
    LLVMValueRef r = LLVMBuildAdd(l->b, w, imm(l, w, ((int64_t)1 << (drop - 1)) - 1), "");
    r = LLVMBuildLShr(l->b, LLVMBuildAdd(l->b, r, odd, ""), imm(l, w, drop), "");
    r = LLVMBuildSub(l->b, r, imm(l, w, (int64_t)(127 - s->bias) << s->mantissa), "");
    /* below the least normal number codes are multiples of the least number */
    LLVMTypeRef t = LLVMTypeOf(a);
    LLVMValueRef tiny = LLVMBuildFCmp(l->b, LLVMRealOLT, a, low_fconst(l, t, least), "");
    LLVMValueRef scaled =
        LLVMBuildFMul(l->b, a, low_fconst(l, t, (double)(1u << s->mantissa) / least), "");
    scaled = sel(l, tiny, scaled, low_fconst(l, t, 0));
    scaled = low_unary(l, "llvm.roundeven", scaled);
    return sel(l, tiny, LLVMBuildFPToUI(l->b, scaled, LLVMTypeOf(w), ""), r);
}

static LLVMValueRef to_small(struct low *l, const struct weir_ptx_inst *p, const struct small *s,
                             LLVMValueRef v)
{
    LLVMValueRef nan = LLVMBuildFCmp(l->b, LLVMRealUNO, v, v, ""), w = low_bitcast(l, v, l->t.i32);
    LLVMValueRef c = magnitude_code(l, s, low_unary(l, "llvm.fabs", v)), zero = imm(l, w, 0);
    LLVMValueRef sign = LLVMBuildLShr(l->b, w, imm(l, w, 24), "");
    sign = LLVMBuildAnd(l->b, sign, imm(l, w, 0x80), "");
    c = low_binary(l, "llvm.smin", c, imm(l, c, s->most));
    c = LLVMBuildOr(l->b, c, sign, "");
    if (p->relu)
        c = sel(l, LLVMBuildICmp(l->b, LLVMIntSLT, w, zero, ""), zero, c);
    return sel(l, nan, imm(l, c, 0x7f), c);
}

static LLVMValueRef pair_to_small(struct low *l, struct low_args *x)
{
    const struct weir_ptx_inst *p = x->p;
    const struct small *s = p->type[0] == WEIR_PTX_E4M3X2 ? &e4m3 : &e5m2;
    bool halves = p->type[1] == WEIR_PTX_F16X2;
    if (!p->satfinite || p->rounding != WEIR_PTX_RN || x->count != (halves ? 1u : 2u) ||
        (!halves && p->type[1] != WEIR_PTX_F32))
        low_refuse(l, p, "form");
    LLVMValueRef hi = halves ? low_from_half(l, low_half_part(l, x->a[0], 1), false) : x->a[0],
                 lo = halves ? low_from_half(l, low_half_part(l, x->a[0], 0), false) : x->a[1];
    hi = to_small(l, p, s, hi);
    hi = LLVMBuildShl(l->b, hi, imm(l, hi, 8), "");
    return low_resize(l, LLVMBuildOr(l->b, hi, to_small(l, p, s, lo), ""), 16, false);
}

/* One number of 8 bits, in the low bits of an i32, to the bits of an f16 in an i32. */
static LLVMValueRef from_small(struct low *l, const struct weir_ptx_inst *p, bool e4,
                               LLVMValueRef c)
{
    LLVMValueRef m = LLVMBuildAnd(l->b, c, imm(l, c, 0x7f), ""), nan, r;
    LLVMValueRef sign = LLVMBuildAnd(l->b, c, imm(l, c, 0x80), "");
    sign = LLVMBuildShl(l->b, sign, imm(l, c, 8), "");
    if (e4) {
        nan = LLVMBuildICmp(l->b, LLVMIntEQ, m, imm(l, m, 0x7f), "");
        LLVMValueRef f = LLVMBuildUIToFP(l->b, m, low_like(l, l->t.f32, m), "");
        f = LLVMBuildFMul(l->b, f, low_fconst(l, LLVMTypeOf(f), 0x1p-9), "");
        LLVMValueRef h = LLVMBuildFPTrunc(l->b, f, low_like(l, l->t.f16, f), "");
        h = low_resize(l, low_bitcast(l, h, l->t.i16), 32, false);
        r = LLVMBuildAdd(l->b, LLVMBuildShl(l->b, m, imm(l, m, 7), ""), imm(l, m, 8 << 10), "");
        r = sel(l, LLVMBuildICmp(l->b, LLVMIntULT, m, imm(l, m, 8), ""), h, r);
    } else {
        nan = LLVMBuildICmp(l->b, LLVMIntUGT, m, imm(l, m, 0x7c), "");
        r = LLVMBuildShl(l->b, m, imm(l, m, 8), "");
    }
    r = LLVMBuildOr(l->b, r, sign, "");
    if (p->relu)
        r = sel(l, LLVMBuildICmp(l->b, LLVMIntNE, sign, imm(l, sign, 0), ""), imm(l, r, 0), r);
    return sel(l, nan, imm(l, r, 0x7fff), r);
}

static LLVMValueRef pair_from_small(struct low *l, struct low_args *x)
{
    const struct weir_ptx_inst *p = x->p;
    if (p->type[0] != WEIR_PTX_F16X2 || x->count != 1 || p->satfinite)
        low_refuse(l, p, "form");
    bool e4 = p->type[1] == WEIR_PTX_E4M3X2;
    LLVMValueRef v = low_resize(l, x->a[0], 32, false);
    LLVMValueRef hi = LLVMBuildAnd(l->b, LLVMBuildLShr(l->b, v, imm(l, v, 8), ""), imm(l, v, 0xff),
                                   ""),
                 lo = LLVMBuildAnd(l->b, v, imm(l, v, 0xff), "");
    hi = from_small(l, p, e4, hi);
    return LLVMBuildOr(l->b, LLVMBuildShl(l->b, hi, imm(l, hi, 16), ""), from_small(l, p, e4, lo),
                       "");
}

/* ---- tf32: an f32 with 10 bits of mantissa ---- */

/* NaNs are an H200's: canonical but for the 13 bits that are not there; of .rna cut off, and with
 * .satfinite rounded like numbers, of which those that are not finite go one step back. */

static LLVMValueRef to_tf32(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef v)
{
    LLVMValueRef w = low_bitcast(l, v, l->t.i32), r = w, zero = imm(l, w, 0);
    if (p->type[1] != WEIR_PTX_F32)
        low_refuse(l, p, "form");
    if (p->rounding == WEIR_PTX_RNA) {
        r = LLVMBuildAdd(l->b, w, imm(l, w, 0x1000), "");
    } else if (p->rounding == WEIR_PTX_RN) {
        LLVMValueRef odd =
            LLVMBuildAnd(l->b, LLVMBuildLShr(l->b, w, imm(l, w, 13), ""), imm(l, w, 1), "");
        r = LLVMBuildAdd(l->b, LLVMBuildAdd(l->b, w, imm(l, w, 0xfff), ""), odd, "");
    } else if (p->rounding != WEIR_PTX_RZ) {
        low_refuse(l, p, "rounding");
    }
    r = LLVMBuildAnd(l->b, r, imm(l, r, ~(int64_t)0x1fff), "");
    if (p->satfinite) {
        LLVMValueRef exponent = imm(l, r, 0x7f800000),
                     beyond = LLVMBuildICmp(l->b, LLVMIntEQ, LLVMBuildAnd(l->b, r, exponent, ""),
                                            exponent, "");
        r = sel(l, beyond, LLVMBuildSub(l->b, r, imm(l, r, 0x2000), ""), r);
    }
    if (p->relu)
        r = sel(l, LLVMBuildICmp(l->b, LLVMIntSLT, w, zero, ""), zero, r);
    if (p->satfinite && p->rounding == WEIR_PTX_RNA)
        return r;
    LLVMValueRef nan = LLVMBuildFCmp(l->b, LLVMRealUNO, v, v, "");
    return sel(l, nan,
               p->rounding == WEIR_PTX_RNA ? LLVMBuildAnd(l->b, w, imm(l, w, ~(int64_t)0x1fff), "")
                                           : imm(l, r, 0x7fffe000),
               r);
}

LLVMValueRef low_cvt_small(struct low *l, struct low_args *x)
{
    const struct weir_ptx_inst *p = x->p;
    unsigned bits;
    bool sign;
    if (weir_cg_form_pack(p, &bits, &sign))
        return packed(l, x, bits, sign);
    if (is_small(p->type[0]))
        return pair_to_small(l, x);
    if (is_small(p->type[1]))
        return pair_from_small(l, x);
    return p->type[0] == WEIR_PTX_TF32 ? to_tf32(l, p, x->a[0]) : NULL;
}
