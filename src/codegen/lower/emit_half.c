/* f16 and bf16: arithmetic goes through f32, which rounds once for +, -, * (24 >= 2 * 11 + 2), fma
 * through f64; conversions go through an f32 that was rounded to odd, from which every rounding is
 * right.
 * SPDX-License-Identifier: Apache-2.0 */
#include "codegen/lower/lower.h"

static LLVMValueRef sel(struct low *l, LLVMValueRef c, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildSelect(l->b, c, a, b, "");
}

LLVMValueRef low_from_half(struct low *l, LLVMValueRef v, bool bf)
{
    if (bf) {
        LLVMValueRef w = low_resize(l, v, 32, false);
        return low_bitcast(l, LLVMBuildShl(l->b, w, low_const(l, LLVMTypeOf(w), 16), ""), l->t.f32);
    }
    return LLVMBuildFPExt(l->b, low_bitcast(l, v, l->t.f16), low_like(l, l->t.f32, v), "");
}

/* NaNs of half precision are 0x7fff. */
static LLVMValueRef canonical_half(struct low *l, LLVMValueRef h, bool bf)
{
    LLVMTypeRef t = LLVMTypeOf(h);
    LLVMValueRef m = LLVMBuildAnd(l->b, h, low_const(l, t, 0x7fff), "");
    LLVMValueRef nan =
        LLVMBuildICmp(l->b, LLVMIntUGT, m, low_const(l, t, bf ? 0x7f80 : 0x7c00), "");
    return sel(l, nan, low_const(l, t, 0x7fff), h);
}

LLVMValueRef low_to_half(struct low *l, LLVMValueRef v, bool bf)
{
    if (!bf) {
        LLVMValueRef h = LLVMBuildFPTrunc(l->b, v, low_like(l, l->t.f16, v), "");
        return canonical_half(l, low_bitcast(l, h, l->t.i16), false);
    }
    LLVMValueRef w = low_bitcast(l, v, l->t.i32);
    LLVMTypeRef t = LLVMTypeOf(w);
    LLVMValueRef odd =
        LLVMBuildAnd(l->b, LLVMBuildLShr(l->b, w, low_const(l, t, 16), ""), low_const(l, t, 1), "");
    LLVMValueRef r =
        LLVMBuildAdd(l->b, LLVMBuildAdd(l->b, w, odd, ""), low_const(l, t, 0x7fff), "");
    LLVMValueRef nan = LLVMBuildFCmp(l->b, LLVMRealUNO, v, v, "");
    r = LLVMBuildLShr(l->b, r, low_const(l, t, 16), "");
    return low_resize(l, sel(l, nan, low_const(l, t, 0x7fff), r), 16, false);
}

bool low_half_kind(enum weir_ptx_type t, bool *bf, unsigned *parts)
{
    *bf = t == WEIR_PTX_BF16 || t == WEIR_PTX_BF16X2;
    *parts = t == WEIR_PTX_F16X2 || t == WEIR_PTX_BF16X2 ? 2 : 1;
    return t == WEIR_PTX_F16 || t == WEIR_PTX_F16X2 || *bf;
}

LLVMValueRef low_half_part(struct low *l, LLVMValueRef v, unsigned k)
{
    v = k ? LLVMBuildLShr(l->b, v, low_const(l, LLVMTypeOf(v), 16), "") : v;
    return low_resize(l, v, 16, false);
}

/* f64 to f32, rounded to odd: a rounding that follows is then the only one. */
static LLVMValueRef trunc_odd(struct low *l, LLVMValueRef s)
{
    LLVMTypeRef ti = low_like(l, l->t.i32, s);
    LLVMValueRef f = LLVMBuildFPTrunc(l->b, s, low_like(l, l->t.f32, s), "");
    LLVMValueRef back = LLVMBuildFPExt(l->b, f, LLVMTypeOf(s), "");
    LLVMValueRef inexact = LLVMBuildFCmp(l->b, LLVMRealONE, back, s, "");
    LLVMValueRef over = LLVMBuildFCmp(l->b, LLVMRealOGT, low_unary(l, "llvm.fabs", back),
                                      low_unary(l, "llvm.fabs", s), "");
    LLVMValueRef bits = low_bitcast(l, f, l->t.i32);
    LLVMValueRef cut =
        LLVMBuildSub(l->b, bits, sel(l, over, low_const(l, ti, 1), low_const(l, ti, 0)), "");
    cut = LLVMBuildOr(l->b, cut, low_const(l, ti, 1), "");
    return low_bitcast(l, sel(l, inexact, cut, bits), l->t.f32);
}

/* a * b + c of halves, rounded once: the product is exact in f64; the sum is rounded to odd there.
 */
static LLVMValueRef half_fma(struct low *l, LLVMValueRef *a, bool bf)
{
    LLVMTypeRef t = low_like(l, l->t.f64, a[0]), ti = low_like(l, l->t.i64, a[0]);
    LLVMValueRef x = LLVMBuildFPExt(l->b, a[0], t, ""), y = LLVMBuildFPExt(l->b, a[1], t, "");
    LLVMValueRef c = LLVMBuildFPExt(l->b, a[2], t, ""), m = LLVMBuildFMul(l->b, x, y, "");
    LLVMValueRef s = LLVMBuildFAdd(l->b, m, c, "");
    LLVMValueRef bb = LLVMBuildFSub(l->b, s, m, "");
    LLVMValueRef err =
        LLVMBuildFAdd(l->b, LLVMBuildFSub(l->b, m, LLVMBuildFSub(l->b, s, bb, ""), ""),
                      LLVMBuildFSub(l->b, c, bb, ""), "");
    LLVMValueRef inexact = LLVMBuildFCmp(l->b, LLVMRealONE, err, low_fconst(l, t, 0.0), "");
    LLVMValueRef bits = LLVMBuildBitCast(l->b, s, ti, "");
    LLVMValueRef even =
        LLVMBuildICmp(l->b, LLVMIntEQ, LLVMBuildAnd(l->b, bits, low_const(l, ti, 1), ""),
                      low_const(l, ti, 0), "");
    LLVMValueRef down =
        LLVMBuildXor(l->b, LLVMBuildFCmp(l->b, LLVMRealOLT, err, low_fconst(l, t, 0.0), ""),
                     LLVMBuildFCmp(l->b, LLVMRealOLT, s, low_fconst(l, t, 0.0), ""), "");
    LLVMValueRef odd = sel(l, down, LLVMBuildSub(l->b, bits, low_const(l, ti, 1), ""),
                           LLVMBuildAdd(l->b, bits, low_const(l, ti, 1), ""));
    bits = sel(l, LLVMBuildAnd(l->b, inexact, even, ""), odd, bits);
    s = LLVMBuildBitCast(l->b, bits, t, "");
    return low_to_half(l, trunc_odd(l, s), bf);
}

/* Negative values, -0 among them, become +0; NaN stays. */
static LLVMValueRef relu(struct low *l, LLVMValueRef h, bool bf)
{
    LLVMTypeRef t = LLVMTypeOf(h);
    LLVMValueRef negative = LLVMBuildICmp(l->b, LLVMIntSLT, h, low_const(l, t, 0), "");
    LLVMValueRef m = LLVMBuildAnd(l->b, h, low_const(l, t, 0x7fff), "");
    LLVMValueRef number =
        LLVMBuildICmp(l->b, LLVMIntULE, m, low_const(l, t, bf ? 0x7f80 : 0x7c00), "");
    return sel(l, LLVMBuildAnd(l->b, negative, number, ""), low_const(l, t, 0), h);
}

static LLVMValueRef half_one(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef *raw,
                             unsigned n, bool bf)
{
    LLVMValueRef a[3] = {0}, r;
    if (p->opcode == WEIR_PTX_OP_neg || p->opcode == WEIR_PTX_OP_abs) {
        LLVMTypeRef t = LLVMTypeOf(raw[0]);
        r = p->opcode == WEIR_PTX_OP_neg ? LLVMBuildXor(l->b, raw[0], low_const(l, t, -32768), "")
                                         : LLVMBuildAnd(l->b, raw[0], low_const(l, t, 32767), "");
        return canonical_half(l, r, bf);
    }
    for (unsigned k = 0; k < n; k++)
        a[k] = low_from_half(l, raw[k], bf);
    if (p->opcode == WEIR_PTX_OP_fma) {
        r = half_fma(l, a, bf);
        if (p->sat)
            r = low_to_half(l, low_saturate(l, low_from_half(l, r, bf)), bf);
        return p->relu ? relu(l, r, bf) : r;
    }
    r = low_float_arithmetic(l, p, a);
    if (!r)
        low_refuse(l, p, "half precision");
    if (p->sat)
        r = low_saturate(l, r);
    r = low_to_half(l, r, bf);
    return p->relu ? relu(l, r, bf) : r;
}

LLVMValueRef low_half(struct low *l, struct low_args *x, bool bf, unsigned parts)
{
    const struct weir_ptx_inst *p = x->p;
    switch (p->opcode) {
    case WEIR_PTX_OP_add:
    case WEIR_PTX_OP_sub:
    case WEIR_PTX_OP_mul:
    case WEIR_PTX_OP_fma:
    case WEIR_PTX_OP_neg:
    case WEIR_PTX_OP_abs:
    case WEIR_PTX_OP_min:
    case WEIR_PTX_OP_max:
        break;
    default:
        return NULL;
    }
    if (parts == 1)
        return half_one(l, p, x->a, x->count, bf);
    LLVMValueRef r[2];
    for (unsigned k = 0; k < 2; k++) {
        LLVMValueRef h[3] = {0};
        for (unsigned n = 0; n < x->count && n < 3; n++)
            h[n] = low_half_part(l, x->a[n], k);
        r[k] = low_resize(l, half_one(l, p, h, x->count, bf), 32, false);
    }
    return LLVMBuildOr(l->b, r[0], LLVMBuildShl(l->b, r[1], low_const(l, LLVMTypeOf(r[1]), 16), ""),
                       "");
}

LLVMValueRef low_half_approx(struct low *l, struct low_args *x,
                             LLVMValueRef (*f)(struct low *, LLVMValueRef))
{
    bool bf;
    unsigned parts;
    LLVMValueRef r = NULL;
    (void)low_half_kind(x->p->type[0], &bf, &parts);
    for (unsigned k = 0; k < parts; k++) {
        LLVMValueRef h =
            low_to_half(l, f(l, low_from_half(l, low_half_part(l, x->a[0], k), bf)), bf);
        if (parts == 1)
            return h;
        h = low_resize(l, h, 32, false);
        r = k ? LLVMBuildOr(l->b, r, LLVMBuildShl(l->b, h, low_const(l, LLVMTypeOf(h), 16), ""), "")
              : h;
    }
    return r;
}

/* set with halves on either side: 1.0, or all ones for an integer result, in each part. */
LLVMValueRef low_half_set(struct low *l, struct low_args *x,
                          LLVMValueRef (*cmp)(struct low *, struct low_args *, LLVMValueRef,
                                              LLVMValueRef))
{
    const struct weir_ptx_inst *p = x->p;
    bool bf, bt;
    unsigned parts, pt;
    bool from = low_half_kind(p->type[1], &bf, &parts), to = low_half_kind(p->type[0], &bt, &pt);
    unsigned bits = from && parts == 2 ? 16 : weir_ptx_type_bits(p->type[0]);
    LLVMValueRef r = NULL;
    for (unsigned k = 0; k < parts; k++) {
        LLVMValueRef a = x->a[0], b = x->a[1], one;
        if (from) {
            a = low_from_half(l, low_half_part(l, a, k), bf);
            b = low_from_half(l, low_half_part(l, b, k), bf);
        }
        LLVMValueRef yes = cmp(l, x, a, b);
        LLVMTypeRef t = low_like(l, low_int(l, bits), yes);
        if (to)
            one = low_const(l, t, bt ? 0x3f80 : 0x3c00);
        else
            one = p->type[0] == WEIR_PTX_F32 ? low_const(l, t, 0x3f800000) : low_const(l, t, -1);
        LLVMValueRef v = sel(l, yes, one, low_const(l, t, 0));
        if (parts == 1)
            return v;
        v = low_resize(l, v, 32, false);
        r = k ? LLVMBuildOr(l->b, r, LLVMBuildShl(l->b, v, low_const(l, LLVMTypeOf(v), 16), ""), "")
              : v;
    }
    return r;
}

/* ---- conversions: any source becomes an f32 that was rounded to odd ---- */

/* 64-bit integers to f64, rounded to odd where they have more than 53 bits. */
static LLVMValueRef wide_int(struct low *l, LLVMValueRef v, bool sign)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    LLVMValueRef m = sign ? low_binary(l, "llvm.abs", v, LLVMConstInt(l->t.i1, 0, 0)) : v;
    LLVMValueRef big = LLVMBuildICmp(l->b, LLVMIntUGE, m, low_const(l, t, (int64_t)1 << 53), "");
    LLVMValueRef cut = LLVMBuildICmp(
        l->b, LLVMIntNE, LLVMBuildAnd(l->b, v, low_const(l, t, 0x7ff), ""), low_const(l, t, 0), "");
    LLVMValueRef s = low_const(l, t, 11),
                 h = sign ? LLVMBuildAShr(l->b, v, s, "") : LLVMBuildLShr(l->b, v, s, "");
    h = LLVMBuildShl(l->b, LLVMBuildOr(l->b, h, low_resize(l, cut, 64, false), ""), s, "");
    v = sel(l, big, h, v);
    LLVMTypeRef f = low_like(l, l->t.f64, v);
    return sign ? LLVMBuildSIToFP(l->b, v, f, "") : LLVMBuildUIToFP(l->b, v, f, "");
}

static LLVMValueRef odd_source(struct low *l, enum weir_ptx_type from, LLVMValueRef v)
{
    bool bf;
    unsigned parts;
    if (low_half_kind(from, &bf, &parts))
        return low_from_half(l, v, bf);
    if (from == WEIR_PTX_F32)
        return v;
    if (from == WEIR_PTX_F64)
        return trunc_odd(l, v);
    bool sign = weir_ptx_type_is_signed(from);
    unsigned bits = low_bits_of(v);
    LLVMTypeRef f = low_like(l, bits < 32 ? l->t.f32 : l->t.f64, v);
    if (bits == 64)
        return trunc_odd(l, wide_int(l, v, sign));
    v = sign ? LLVMBuildSIToFP(l->b, v, f, "") : LLVMBuildUIToFP(l->b, v, f, "");
    return bits < 32 ? v : trunc_odd(l, v);
}

/* f16 with a directed rounding: to nearest, then one step where that went the wrong way. */
static LLVMValueRef directed_f16(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef y)
{
    LLVMValueRef h = low_to_half(l, y, false), back = low_from_half(l, h, false);
    LLVMTypeRef t = LLVMTypeOf(h);
    LLVMValueRef zero = low_const(l, t, 0), one = low_const(l, t, 1);
    LLVMValueRef above = LLVMBuildFCmp(l->b, LLVMRealOGT, back, y, ""),
                 below = LLVMBuildFCmp(l->b, LLVMRealOLT, back, y, "");
    LLVMValueRef negative = LLVMBuildICmp(l->b, LLVMIntSLT, h, zero, "");
    LLVMValueRef is_zero = LLVMBuildICmp(
        l->b, LLVMIntEQ, LLVMBuildAnd(l->b, h, low_const(l, t, 0x7fff), ""), zero, "");
    LLVMValueRef larger = LLVMBuildAdd(l->b, h, one, ""), smaller = LLVMBuildSub(l->b, h, one, "");
    if (p->rounding == WEIR_PTX_RP)
        return sel(l, below, sel(l, is_zero, one, sel(l, negative, smaller, larger)), h);
    if (p->rounding == WEIR_PTX_RM)
        return sel(l, above,
                   sel(l, is_zero, low_const(l, t, -32767), sel(l, negative, larger, smaller)), h);
    return sel(l, sel(l, negative, below, above), smaller, h);
}

static LLVMValueRef directed_bf16(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef y)
{
    LLVMValueRef w = low_bitcast(l, y, l->t.i32), r;
    LLVMTypeRef t = LLVMTypeOf(w);
    LLVMValueRef zero = low_const(l, t, 0), h = LLVMBuildLShr(l->b, w, low_const(l, t, 16), "");
    LLVMValueRef cut = LLVMBuildICmp(l->b, LLVMIntNE,
                                     LLVMBuildAnd(l->b, w, low_const(l, t, 0xffff), ""), zero, "");
    LLVMValueRef negative = LLVMBuildICmp(l->b, LLVMIntSLT, w, zero, "");
    if (p->rounding == WEIR_PTX_RP)
        cut = LLVMBuildAnd(l->b, cut, LLVMBuildNot(l->b, negative, ""), "");
    else if (p->rounding == WEIR_PTX_RM)
        cut = LLVMBuildAnd(l->b, cut, negative, "");
    r = p->rounding == WEIR_PTX_RZ ? h : LLVMBuildAdd(l->b, h, low_resize(l, cut, 32, false), "");
    LLVMValueRef nan = LLVMBuildFCmp(l->b, LLVMRealUNO, y, y, "");
    return low_resize(l, sel(l, nan, low_const(l, t, 0x7fff), r), 16, false);
}

static LLVMValueRef round_half(struct low *l, const struct weir_ptx_inst *p,
                               enum weir_ptx_type from, LLVMValueRef v, bool bf)
{
    LLVMValueRef y = odd_source(l, from, v), h;
    if (p->ftz && from == WEIR_PTX_F32)
        y = low_flush(l, y);
    if (p->rounding >= WEIR_PTX_RNI && p->rounding <= WEIR_PTX_RPI)
        y = low_round_integral(l, p, y);
    if (p->sat)
        y = low_saturate(l, y);
    if (!low_directed(p) && from == WEIR_PTX_F64 && !bf) /* NaN keeps sign and payload here */
        h = low_bitcast(l, LLVMBuildFPTrunc(l->b, y, low_like(l, l->t.f16, y), ""), l->t.i16);
    else if (!low_directed(p))
        h = low_to_half(l, y, bf);
    else
        h = bf ? directed_bf16(l, p, y) : directed_f16(l, p, y);
    return p->relu ? relu(l, h, bf) : h;
}

LLVMValueRef low_cvt_half(struct low *l, struct low_args *x)
{
    const struct weir_ptx_inst *p = x->p;
    enum weir_ptx_type to = p->type[0], from = p->type[1];
    bool bf, bt;
    unsigned pf, pt;
    bool hf = low_half_kind(from, &bf, &pf), ht = low_half_kind(to, &bt, &pt);
    LLVMValueRef v = x->a[0];
    if (p->satfinite || (!ht && p->relu) || (hf && pf == 2) || (!hf && !ht))
        low_refuse(l, p, "form");
    if (ht && pt == 2) { /* cvt.rn.f16x2.f32 d, a, b: a is the upper half */
        if (x->count != 2 || from != WEIR_PTX_F32)
            low_refuse(l, p, "form");
        LLVMValueRef hi = low_resize(l, round_half(l, p, from, x->a[0], bt), 32, false);
        LLVMValueRef lo = low_resize(l, round_half(l, p, from, x->a[1], bt), 32, false);
        return LLVMBuildOr(l->b, lo, LLVMBuildShl(l->b, hi, low_const(l, LLVMTypeOf(hi), 16), ""),
                           "");
    }
    if (ht)
        return round_half(l, p, from, v, bt);
    v = low_from_half(l, v, bf);
    if (to == WEIR_PTX_F32)
        return p->sat ? low_saturate(l, v) : v;
    if (to == WEIR_PTX_F64)
        return LLVMBuildFPExt(l->b, v, low_like(l, l->t.f64, v), "");
    return low_float_to_int(l, p, v);
}
