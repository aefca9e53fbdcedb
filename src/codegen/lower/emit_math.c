/* The approximate instructions, as polynomials on vectors. Bounds are those of the PTX manual:
 *   rcp 1 ulp, sqrt and rsqrt 2^-22.4 relative and better, sin and cos 2^-20.5 absolute in [-pi,
 * pi], ex2 2^-22.5
 *   relative, lg2 2^-22 absolute near 1 and 2^-22 relative elsewhere, tanh 2^-10.9 relative.
 * The coefficients are minimax fits made for this file.
 * SPDX-License-Identifier: Apache-2.0 */
#include "codegen/lower/lower.h"

static LLVMValueRef sel(struct low *l, LLVMValueRef c, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildSelect(l->b, c, a, b, "");
}

static LLVMValueRef fma3(struct low *l, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
    return low_ternary(l, "llvm.fma", a, b, c);
}

static LLVMValueRef k(struct low *l, LLVMValueRef like, double v)
{
    return low_fconst(l, LLVMTypeOf(like), v);
}

static LLVMValueRef poly(struct low *l, LLVMValueRef x, const double *c, unsigned n)
{
    LLVMValueRef r = k(l, x, c[n - 1]);
    for (unsigned i = n - 1; i-- > 0;)
        r = fma3(l, r, x, k(l, x, c[i]));
    return r;
}

/* AVX-512's 14-bit estimates of 1/x and 1/sqrt(x). */
static LLVMValueRef estimate(struct low *l, const char *name, LLVMValueRef x)
{
    LLVMTypeRef t = LLVMTypeOf(x);
    bool vec = low_is_vec(x);
    LLVMTypeRef vt = LLVMVectorType(l->t.f32, 16), mt = l->t.i16;
    LLVMValueRef v = x;
    if (!vec)
        v = LLVMBuildInsertElement(l->b, LLVMConstNull(vt), x, LLVMConstInt(l->t.i32, 0, 0), "");
    LLVMValueRef args[3] = {v, LLVMConstNull(vt), LLVMConstAllOnes(mt)};
    v = low_intrinsic(l, name, NULL, 0, args, 3);
    (void)t;
    return vec ? v : LLVMBuildExtractElement(l->b, v, LLVMConstInt(l->t.i32, 0, 0), "");
}

static bool has_estimate(struct low *l, LLVMValueRef x)
{
    return l->avx512 && low_is_vec(x) && LLVMGetVectorSize(LLVMTypeOf(x)) == 16;
}

static LLVMValueRef keep_special(struct low *l, LLVMValueRef r, LLVMValueRef y)
{
    return sel(l, LLVMBuildFCmp(l->b, LLVMRealUNO, r, r, ""), y, r);
}

static LLVMValueRef rsqrt(struct low *l, LLVMValueRef x)
{
    if (low_bits_of(x) == 64 || !has_estimate(l, x))
        return LLVMBuildFDiv(l->b, k(l, x, 1.0), low_unary(l, "llvm.sqrt", x), "");
    LLVMValueRef y = estimate(l, "llvm.x86.avx512.rsqrt14.ps.512", x);
    LLVMValueRef e =
        fma3(l, LLVMBuildFMul(l->b, LLVMBuildFNeg(l->b, x, ""), y, ""), y, k(l, x, 1.0));
    LLVMValueRef r = fma3(l, LLVMBuildFMul(l->b, y, k(l, x, 0.5), ""), e, y);
    return keep_special(l, r, y);
}

static LLVMValueRef rcp(struct low *l, LLVMValueRef x)
{
    return LLVMBuildFDiv(l->b, k(l, x, 1.0), x, "");
}

static LLVMValueRef exp2_approx(struct low *l, LLVMValueRef x)
{
    static const double c[] = {1.0,          0.6931471880, 0.2402265069, 0.0555041087,
                               0.0096181291, 0.0013333558, 0.0001540353};
    LLVMValueRef hi = k(l, x, 130.0), lo = k(l, x, -160.0);
    LLVMValueRef y = low_binary(l, "llvm.minnum", low_binary(l, "llvm.maxnum", x, lo), hi);
    LLVMValueRef n = low_unary(l, "llvm.roundeven", y), f = LLVMBuildFSub(l->b, y, n, "");
    LLVMValueRef r = poly(l, f, c, 7);
    LLVMTypeRef ti = low_like(l, l->t.i32, x);
    LLVMValueRef i = LLVMBuildFPToSI(l->b, n, ti, "");
    /* two factors, so that results below 2^-126 round once */
    LLVMValueRef half = LLVMBuildAShr(l->b, i, low_const(l, ti, 1), ""),
                 rest = LLVMBuildSub(l->b, i, half, "");
    LLVMValueRef bias = low_const(l, ti, 127), s23 = low_const(l, ti, 23);
    LLVMValueRef f1 =
        low_bitcast(l, LLVMBuildShl(l->b, LLVMBuildAdd(l->b, half, bias, ""), s23, ""), l->t.f32);
    LLVMValueRef f2 =
        low_bitcast(l, LLVMBuildShl(l->b, LLVMBuildAdd(l->b, rest, bias, ""), s23, ""), l->t.f32);
    r = LLVMBuildFMul(l->b, LLVMBuildFMul(l->b, r, f1, ""), f2, "");
    return sel(l, LLVMBuildFCmp(l->b, LLVMRealUNO, x, x, ""), x, r);
}

static LLVMValueRef log2_approx(struct low *l, LLVMValueRef x)
{
    /* x = m * 2^e with m in [sqrt(1/2), sqrt(2)); with s = (m-1)/(m+1), log2(m) = 2/ln2 * (s +
     * s^3/3 + s^5/5 + ...) */
    static const double c[] = {2.885390081777927, 0.961796693925976, 0.577078016355585,
                               0.412198583111132, 0.320598897975325};
    LLVMTypeRef ti = low_like(l, l->t.i32, x);
    LLVMValueRef tiny =
        LLVMBuildFCmp(l->b, LLVMRealOLT, x, low_fbits(l, LLVMTypeOf(x), 0x00800000), "");
    LLVMValueRef y = sel(l, tiny, LLVMBuildFMul(l->b, x, k(l, x, 8388608.0), ""), x);
    LLVMValueRef bits = low_bitcast(l, y, l->t.i32);
    LLVMValueRef off = LLVMBuildSub(l->b, bits, low_const(l, ti, 0x3f3504f3), "");
    LLVMValueRef e = LLVMBuildAShr(l->b, off, low_const(l, ti, 23), "");
    LLVMValueRef m = LLVMBuildSub(l->b, bits, LLVMBuildShl(l->b, e, low_const(l, ti, 23), ""), "");
    m = low_bitcast(l, m, l->t.f32);
    e = LLVMBuildSub(l->b, e, sel(l, tiny, low_const(l, ti, 23), low_const(l, ti, 0)), "");
    LLVMValueRef one = k(l, x, 1.0);
    LLVMValueRef s =
        LLVMBuildFDiv(l->b, LLVMBuildFSub(l->b, m, one, ""), LLVMBuildFAdd(l->b, m, one, ""), "");
    LLVMValueRef p = LLVMBuildFMul(l->b, poly(l, LLVMBuildFMul(l->b, s, s, ""), c, 5), s, "");
    LLVMValueRef r = LLVMBuildFAdd(l->b, p, LLVMBuildSIToFP(l->b, e, LLVMTypeOf(x), ""), "");
    LLVMValueRef zero = k(l, x, 0.0), inf = low_fbits(l, LLVMTypeOf(x), 0x7f800000);
    r = sel(l, LLVMBuildFCmp(l->b, LLVMRealOEQ, x, zero, ""),
            low_fbits(l, LLVMTypeOf(x), 0xff800000), r);
    r = sel(l, LLVMBuildFCmp(l->b, LLVMRealOEQ, x, inf, ""), inf, r);
    return sel(l, LLVMBuildFCmp(l->b, LLVMRealULT, x, zero, ""),
               low_fbits(l, LLVMTypeOf(x), 0x7fffffff), r);
}

/* Of an angle of 2^22 or more nothing is left when it is reduced, and a subnormal one gives no more
 * than its sign: zero, as on an H200. Infinities and NaNs become NaN. */
static LLVMValueRef angle(struct low *l, LLVMValueRef x)
{
    LLVMTypeRef ti = low_like(l, l->t.i32, x);
    LLVMValueRef w =
        LLVMBuildAnd(l->b, low_bitcast(l, x, l->t.i32), low_const(l, ti, 0x7fffffff), "");
    LLVMValueRef normal =
        LLVMBuildICmp(l->b, LLVMIntULT, LLVMBuildSub(l->b, w, low_const(l, ti, 0x00800000), ""),
                      low_const(l, ti, 0x4a800000 - 0x00800000), "");
    return sel(l, normal, x, LLVMBuildFMul(l->b, x, k(l, x, 0.0), ""));
}

/* sin (quadrant 0) and cos (quadrant 1): reduce by multiples of pi/2 in three parts. */
static LLVMValueRef sin_cos(struct low *l, LLVMValueRef x, bool cosine)
{
    static const double cs[] = {1.0, -0.16666666, 0.0083333310, -0.00019840874, 0.0000027525562};
    static const double cc[] = {1.0, -0.5, 0.041666645683, -0.0013887316255, 0.000024433157};
    LLVMTypeRef ti = low_like(l, l->t.i32, x);
    x = angle(l, x);
    LLVMValueRef n =
        low_unary(l, "llvm.roundeven", LLVMBuildFMul(l->b, x, k(l, x, 0.63661977236758), ""));
    LLVMValueRef r = fma3(l, n, k(l, x, -1.57079637050628662109375), x);
    r = fma3(l, n, k(l, x, 4.37113900018624283e-8), r);
    LLVMTypeRef over[2] = {ti, LLVMTypeOf(n)};
    LLVMValueRef q = low_intrinsic(l, "llvm.fptosi.sat", over, 2, &n, 1);
    if (cosine)
        q = LLVMBuildAdd(l->b, q, low_const(l, ti, 1), "");
    LLVMValueRef r2 = LLVMBuildFMul(l->b, r, r, "");
    LLVMValueRef s = LLVMBuildFMul(l->b, poly(l, r2, cs, 5), r, ""), c = poly(l, r2, cc, 5);
    LLVMValueRef one = low_const(l, ti, 1), zero = low_const(l, ti, 0);
    LLVMValueRef odd = LLVMBuildICmp(l->b, LLVMIntNE, LLVMBuildAnd(l->b, q, one, ""), zero, "");
    LLVMValueRef v = sel(l, odd, c, s);
    LLVMValueRef sign = LLVMBuildShl(l->b, LLVMBuildAnd(l->b, q, low_const(l, ti, 2), ""),
                                     low_const(l, ti, 30), "");
    return low_bitcast(l, LLVMBuildXor(l->b, low_bitcast(l, v, l->t.i32), sign, ""), l->t.f32);
}

/* tanh(x) = 1 - 2 / (2^(2x/ln2) + 1), by its series near 0. */
static LLVMValueRef tanh_approx(struct low *l, LLVMValueRef x)
{
    static const double c[] = {1.0, -0.33333333, 0.13333333, -0.053968254, 0.021869488};
    LLVMValueRef a = low_unary(l, "llvm.fabs", x), one = k(l, x, 1.0);
    LLVMValueRef e = exp2_approx(l, LLVMBuildFMul(l->b, a, k(l, x, 2.885390081777927), ""));
    LLVMValueRef big = LLVMBuildFSub(
        l->b, one, LLVMBuildFDiv(l->b, k(l, x, 2.0), LLVMBuildFAdd(l->b, e, one, ""), ""), "");
    LLVMValueRef small = LLVMBuildFMul(l->b, poly(l, LLVMBuildFMul(l->b, a, a, ""), c, 5), a, "");
    LLVMValueRef r = sel(l, LLVMBuildFCmp(l->b, LLVMRealOLT, a, k(l, x, 0.35), ""), small, big);
    return low_binary(l, "llvm.copysign", r, x);
}

/* div.approx is a * (1 / b) with the reciprocal of a divisor above 2^126 taken as 0. */
static LLVMValueRef divide(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef a,
                           LLVMValueRef b)
{
    LLVMValueRef q = LLVMBuildFDiv(l->b, a, b, "");
    if (p->full)
        return q;
    LLVMTypeRef t = LLVMTypeOf(a);
    LLVMValueRef big = LLVMBuildFCmp(l->b, LLVMRealOGT, low_unary(l, "llvm.fabs", b),
                                     low_fbits(l, t, 0x7e800000), "");
    LLVMValueRef zero = low_binary(l, "llvm.copysign", k(l, a, 0.0), b);
    return sel(l, big, LLVMBuildFMul(l->b, a, zero, ""), q);
}

static LLVMValueRef approx(struct low *l, struct low_args *x, LLVMValueRef *a)
{
    switch (x->p->opcode) { /* dispatch */
    case WEIR_PTX_OP_rsqrt:
        return rsqrt(l, a[0]);
    case WEIR_PTX_OP_rcp:
        return rcp(l, a[0]);
    case WEIR_PTX_OP_sqrt:
        return low_unary(l, "llvm.sqrt", a[0]);
    case WEIR_PTX_OP_div:
        return divide(l, x->p, a[0], a[1]);
    case WEIR_PTX_OP_ex2:
        return exp2_approx(l, a[0]);
    case WEIR_PTX_OP_lg2:
        return log2_approx(l, a[0]);
    case WEIR_PTX_OP_sin:
        return sin_cos(l, a[0], false);
    case WEIR_PTX_OP_cos:
        return sin_cos(l, a[0], true);
    case WEIR_PTX_OP_tanh:
        return tanh_approx(l, a[0]);
    default:
        return NULL;
    }
}

LLVMValueRef low_math(struct low *l, struct low_args *x)
{
    const struct weir_ptx_inst *p = x->p;
    if (p->type[0] == WEIR_PTX_F64) {
        if (p->opcode == WEIR_PTX_OP_rsqrt)
            return rsqrt(l, x->a[0]);
        if (p->opcode == WEIR_PTX_OP_rcp)
            return rcp(l, x->a[0]);
        return NULL;
    }
    if (p->opcode == WEIR_PTX_OP_ex2 && p->type[0] != WEIR_PTX_F32)
        return low_half_approx(l, x, exp2_approx);
    if (p->opcode == WEIR_PTX_OP_tanh && p->type[0] != WEIR_PTX_F32)
        return low_half_approx(l, x, tanh_approx);
    if (p->type[0] != WEIR_PTX_F32)
        return NULL;
    bool ftz = p->ftz && !l->all_ftz;
    LLVMValueRef a[2] = {x->a[0], x->a[1]};
    for (unsigned n = 0; n < x->count && n < 2 && ftz; n++)
        a[n] = low_flush(l, a[n]);
    LLVMValueRef r = approx(l, x, a);
    return r && ftz ? low_flush(l, r) : r;
}
