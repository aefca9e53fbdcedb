/* f32 and f64 arithmetic, comparisons, and f16/bf16 through f32. Results are PTX's: rounding as
 * written, no contraction, flushing of subnormals either by MXCSR for the whole kernel
 * (low.all_ftz) or here.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/bits.h"
#include "codegen/lower/lower.h"

static LLVMValueRef sel(struct low *l, LLVMValueRef c, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildSelect(l->b, c, a, b, "");
}

LLVMValueRef low_flush(struct low *l, LLVMValueRef v)
{
    if (low_bits_of(v) != 32)
        return v;
    LLVMTypeRef t = LLVMTypeOf(v);
    LLVMValueRef tiny = LLVMBuildFCmp(l->b, LLVMRealOLT, low_unary(l, "llvm.fabs", v),
                                      low_fbits(l, t, 0x00800000), "");
    LLVMValueRef sign = low_bitcast(l, v, l->t.i32);
    sign = LLVMBuildAnd(l->b, sign, low_const(l, LLVMTypeOf(sign), INT32_MIN), "");
    return sel(l, tiny, low_bitcast(l, sign, l->t.f32), v);
}

static bool explicit_ftz(struct low *l, const struct weir_ptx_inst *p)
{
    /* minimum and maximum, absolute value and sign pass subnormals on whatever MXCSR says */
    bool passes = p->opcode == WEIR_PTX_OP_min || p->opcode == WEIR_PTX_OP_max ||
                  p->opcode == WEIR_PTX_OP_abs || p->opcode == WEIR_PTX_OP_neg;
    return p->ftz && (!l->all_ftz || passes);
}

LLVMValueRef low_saturate(struct low *l, LLVMValueRef v)
{
    /* NaN, a signalling one too, is not above 0. Not maxnum: of a vector that it cuts in two, LLVM
     * leaves a signalling NaN one. */
    LLVMTypeRef t = LLVMTypeOf(v);
    LLVMValueRef zero = low_fconst(l, t, 0.0), one = low_fconst(l, t, 1.0);
    v = LLVMBuildSelect(l->b, LLVMBuildFCmp(l->b, LLVMRealOGT, v, zero, ""), v, zero, "");
    return LLVMBuildSelect(l->b, LLVMBuildFCmp(l->b, LLVMRealOLT, v, one, ""), v, one, "");
}

/* ---- arithmetic ---- */

static LLVMValueRef negate(struct low *l, LLVMValueRef v)
{
    return LLVMBuildFNeg(l->b, v, "");
}

static LLVMValueRef min_max(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef a,
                            LLVMValueRef b)
{
    bool min = p->opcode == WEIR_PTX_OP_min;
    bool bf;
    unsigned parts;
    LLVMValueRef r = low_binary(l, min ? "llvm.minimum" : "llvm.maximum", a, b);
    if (p->nan && low_half_kind(p->type[0], &bf, &parts)) /* LLVM's of f16 can lose a NaN */
        return sel(l, LLVMBuildFCmp(l->b, LLVMRealUNO, a, b, ""),
                   low_fbits(l, LLVMTypeOf(r), 0x7fffffff), r);
    if (p->nan)
        return r;
    /* a NaN operand gives the other one; -0 is less than +0 */
    LLVMValueRef na = LLVMBuildFCmp(l->b, LLVMRealUNO, a, a, ""),
                 nb = LLVMBuildFCmp(l->b, LLVMRealUNO, b, b, "");
    return sel(l, na, b, sel(l, nb, a, r));
}

/* .xorsign.abs: of the magnitudes, with the product's sign; a third operand comes last. */
static LLVMValueRef min_max_all(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef *a)
{
    LLVMValueRef v[3] = {a[0], a[1], a[2]};
    for (unsigned k = 0; k < 3 && p->abs; k++)
        v[k] = v[k] ? low_unary(l, "llvm.fabs", v[k]) : NULL;
    LLVMValueRef r = min_max(l, p, v[0], v[1]);
    if (v[2])
        r = min_max(l, p, r, v[2]);
    if (!p->xorsign)
        return r;
    LLVMValueRef sign =
        LLVMBuildXor(l->b, low_bitcast(l, a[0], l->t.i32), low_bitcast(l, a[1], l->t.i32), "");
    return low_binary(l, "llvm.copysign", r, low_bitcast(l, sign, l->t.f32));
}

static LLVMValueRef three_way(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef a,
                              LLVMValueRef b, LLVMValueRef c)
{
    LLVMValueRef v[3] = {a, b, c};
    return low_directed(p) ? low_rounded(l, p, "vfmadd", v, 3)
                           : low_ternary(l, "llvm.fma", a, b, c);
}

static LLVMValueRef binary(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef a,
                           LLVMValueRef b)
{
    LLVMValueRef v[2] = {a, b};
    switch (p->opcode) {
    case WEIR_PTX_OP_add:
        return low_directed(p) ? low_rounded(l, p, "add", v, 2) : LLVMBuildFAdd(l->b, a, b, "");
    case WEIR_PTX_OP_sub:
        return low_directed(p) ? low_rounded(l, p, "sub", v, 2) : LLVMBuildFSub(l->b, a, b, "");
    case WEIR_PTX_OP_mul:
        return low_directed(p) ? low_rounded(l, p, "mul", v, 2) : LLVMBuildFMul(l->b, a, b, "");
    default:
        return low_directed(p) ? low_rounded(l, p, "div", v, 2) : LLVMBuildFDiv(l->b, a, b, "");
    }
}

static LLVMValueRef copy_sign(struct low *l, LLVMValueRef sign, LLVMValueRef value)
{
    return low_binary(l, "llvm.copysign", value, sign);
}

static LLVMValueRef test_class(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef a)
{
    static const struct {
        uint8_t sub;
        uint16_t mask;
    } rows[] = {{WEIR_PTX_SUB_FINITE, 0x1f8},
                {WEIR_PTX_SUB_INFINITE, 0x204},
                {WEIR_PTX_SUB_NUMBER, 0x3fc},
                {WEIR_PTX_SUB_NOTANUMBER, 0x003},
                {WEIR_PTX_SUB_NORMAL, 0x168 /* zeros too */},
                {WEIR_PTX_SUB_SUBNORMAL, 0x090}};
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++)
        if (rows[k].sub == p->sub) {
            LLVMTypeRef t = LLVMTypeOf(a);
            LLVMValueRef args[2] = {a, LLVMConstInt(l->t.i32, rows[k].mask, 0)};
            return low_intrinsic(l, "llvm.is.fpclass", &t, 1, args, 2);
        }
    low_refuse(l, p, "class");
}

LLVMValueRef low_float_arithmetic(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef *a)
{
    switch (p->opcode) { /* dispatch */
    case WEIR_PTX_OP_add:
    case WEIR_PTX_OP_sub:
    case WEIR_PTX_OP_mul:
        return binary(l, p, a[0], a[1]);
    case WEIR_PTX_OP_div:
        return binary(l, p, a[0], a[1]);
    case WEIR_PTX_OP_fma:
    case WEIR_PTX_OP_mad:
        return three_way(l, p, a[0], a[1], a[2]);
    case WEIR_PTX_OP_neg:
        return negate(l, a[0]);
    case WEIR_PTX_OP_abs:
        return low_unary(l, "llvm.fabs", a[0]);
    case WEIR_PTX_OP_min:
    case WEIR_PTX_OP_max:
        return min_max_all(l, p, a);
    case WEIR_PTX_OP_sqrt:
        return low_directed(p) ? low_rounded(l, p, "sqrt", a, 1) : low_unary(l, "llvm.sqrt", a[0]);
    case WEIR_PTX_OP_rcp: {
        LLVMValueRef v[2] = {low_fconst(l, LLVMTypeOf(a[0]), 1.0), a[0]};
        return low_directed(p) ? low_rounded(l, p, "div", v, 2)
                               : LLVMBuildFDiv(l->b, v[0], v[1], "");
    }
    default:
        return NULL;
    }
}

static LLVMValueRef narrow(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef v);

/* Would the f64 value, rounded to 24 bits without a least exponent, lie below 2^-126? */
static LLVMValueRef is_tiny(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef v)
{
    LLVMValueRef big = LLVMBuildFMul(l->b, v, low_fconst(l, LLVMTypeOf(v), 0x1p64), "");
    LLVMValueRef r = low_unary(l, "llvm.fabs", narrow(l, p, big));
    return LLVMBuildFCmp(l->b, LLVMRealOLT, r, low_fconst(l, LLVMTypeOf(r), 0x1p-62), "");
}

/* A product below 2^-126 that becomes 2^-126 only because subnormals have fewer bits is flushed,
 * too. */
static LLVMValueRef flush_exact(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef *a,
                                LLVMValueRef r)
{
    bool mul = p->opcode == WEIR_PTX_OP_mul;
    if (!mul && p->opcode != WEIR_PTX_OP_fma && p->opcode != WEIR_PTX_OP_mad)
        return r;
    LLVMTypeRef t = low_like(l, l->t.f64, r);
    LLVMValueRef x = LLVMBuildFPExt(l->b, a[0], t, ""), y = LLVMBuildFPExt(l->b, a[1], t, ""), e;
    e = mul ? LLVMBuildFMul(l->b, x, y, "")
            : low_ternary(l, "llvm.fma", x, y, LLVMBuildFPExt(l->b, a[2], t, ""));
    LLVMValueRef tiny = is_tiny(l, p, e);
    LLVMValueRef zero = low_binary(l, "llvm.copysign", low_fconst(l, LLVMTypeOf(r), 0.0), r);
    return sel(l, tiny, zero, r);
}

LLVMValueRef low_float(struct low *l, struct low_args *x)
{
    const struct weir_ptx_inst *p = x->p;
    bool bf;
    unsigned parts;
    if (low_half_kind(p->type[0], &bf, &parts))
        return low_half(l, x, bf, parts);
    if (p->type[0] != WEIR_PTX_F32 && p->type[0] != WEIR_PTX_F64)
        return NULL;
    if (p->opcode == WEIR_PTX_OP_copysign)
        return copy_sign(l, x->a[0], x->a[1]);
    if (p->opcode == WEIR_PTX_OP_testp)
        return test_class(l, p, x->a[0]);
    if ((p->opcode == WEIR_PTX_OP_sqrt || p->opcode == WEIR_PTX_OP_rcp ||
         p->opcode == WEIR_PTX_OP_div) &&
        (p->approx || p->sub == WEIR_PTX_SUB_APPROX))
        return NULL; /* low_math */
    bool ftz = explicit_ftz(l, p);
    LLVMValueRef a[3] = {x->a[0], x->a[1], x->a[2]};
    for (unsigned k = 0; k < x->count && k < 3 && ftz; k++)
        a[k] = low_flush(l, a[k]);
    LLVMValueRef r = low_float_arithmetic(l, p, a);
    if (!r)
        return NULL;
    if (ftz)
        r = flush_exact(l, p, a, low_flush(l, r));
    return p->sat ? low_saturate(l, r) : r;
}

/* ---- comparisons ---- */

static LLVMValueRef compare_ints(struct low *l, const struct weir_ptx_inst *p, bool sign,
                                 LLVMValueRef a, LLVMValueRef b)
{
    LLVMIntPredicate k;
    switch (p->cmp) {
    case WEIR_PTX_EQ:
        k = LLVMIntEQ;
        break;
    case WEIR_PTX_NE:
        k = LLVMIntNE;
        break;
    case WEIR_PTX_LT:
        k = sign ? LLVMIntSLT : LLVMIntULT;
        break;
    case WEIR_PTX_LE:
        k = sign ? LLVMIntSLE : LLVMIntULE;
        break;
    case WEIR_PTX_GT:
        k = sign ? LLVMIntSGT : LLVMIntUGT;
        break;
    case WEIR_PTX_GE:
        k = sign ? LLVMIntSGE : LLVMIntUGE;
        break;
    case WEIR_PTX_LO:
        k = LLVMIntULT;
        break;
    case WEIR_PTX_LS:
        k = LLVMIntULE;
        break;
    case WEIR_PTX_HI:
        k = LLVMIntUGT;
        break;
    case WEIR_PTX_HS:
        k = LLVMIntUGE;
        break;
    default:
        low_refuse(l, p, "comparison");
    }
    return LLVMBuildICmp(l->b, k, a, b, "");
}

static LLVMValueRef compare_floats(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef a,
                                   LLVMValueRef b)
{
    LLVMRealPredicate k;
    switch (p->cmp) {
    case WEIR_PTX_EQ:
        k = LLVMRealOEQ;
        break;
    case WEIR_PTX_NE:
        k = LLVMRealONE;
        break;
    case WEIR_PTX_LT:
        k = LLVMRealOLT;
        break;
    case WEIR_PTX_LE:
        k = LLVMRealOLE;
        break;
    case WEIR_PTX_GT:
        k = LLVMRealOGT;
        break;
    case WEIR_PTX_GE:
        k = LLVMRealOGE;
        break;
    case WEIR_PTX_EQU:
        k = LLVMRealUEQ;
        break;
    case WEIR_PTX_NEU:
        k = LLVMRealUNE;
        break;
    case WEIR_PTX_LTU:
        k = LLVMRealULT;
        break;
    case WEIR_PTX_LEU:
        k = LLVMRealULE;
        break;
    case WEIR_PTX_GTU:
        k = LLVMRealUGT;
        break;
    case WEIR_PTX_GEU:
        k = LLVMRealUGE;
        break;
    case WEIR_PTX_NUM:
        k = LLVMRealORD;
        break;
    case WEIR_PTX_NAN:
        k = LLVMRealUNO;
        break;
    default:
        low_refuse(l, p, "comparison");
    }
    if (explicit_ftz(l, p)) {
        a = low_flush(l, a);
        b = low_flush(l, b);
    }
    return LLVMBuildFCmp(l->b, k, a, b, "");
}

static LLVMValueRef compare(struct low *l, const struct weir_ptx_inst *p, enum weir_ptx_type t,
                            LLVMValueRef a, LLVMValueRef b)
{
    bool bf;
    unsigned parts;
    if (low_half_kind(t, &bf, &parts)) {
        if (parts == 2)
            low_refuse(l, p, "packed comparison");
        return compare_floats(l, p, low_from_half(l, a, bf), low_from_half(l, b, bf));
    }
    if (weir_ptx_type_is_float(t))
        return compare_floats(l, p, a, b);
    return compare_ints(l, p, weir_ptx_type_is_signed(t), a, b);
}

static LLVMValueRef combine(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef r,
                            LLVMValueRef c)
{
    switch (p->boolop) {
    case WEIR_PTX_BOOL_AND:
        return LLVMBuildAnd(l->b, r, c, "");
    case WEIR_PTX_BOOL_OR:
        return LLVMBuildOr(l->b, r, c, "");
    case WEIR_PTX_BOOL_XOR:
        return LLVMBuildXor(l->b, r, c, "");
    default:
        return r;
    }
}

/* One part of set; halves are f32 by now. */
static LLVMValueRef set_part(struct low *l, struct low_args *x, LLVMValueRef a, LLVMValueRef b)
{
    const struct weir_ptx_inst *p = x->p;
    bool is_float = weir_ptx_type_is_float(p->type[1]);
    LLVMValueRef r = is_float ? compare_floats(l, p, a, b) : compare(l, p, p->type[1], a, b);
    return combine(l, p, r, x->a[2]);
}

LLVMValueRef low_compare(struct low *l, struct low_args *x)
{
    const struct weir_ptx_inst *p = x->p;
    bool bf;
    unsigned parts;
    if (p->opcode == WEIR_PTX_OP_set &&
        (low_half_kind(p->type[0], &bf, &parts) || low_half_kind(p->type[1], &bf, &parts)))
        return low_half_set(l, x, set_part);
    if (p->opcode == WEIR_PTX_OP_setp && low_half_kind(p->type[0], &bf, &parts) && parts == 2) {
        LLVMValueRef a = low_half_part(l, x->a[0], x->dest), b = low_half_part(l, x->a[1], x->dest);
        return combine(l, p, compare_floats(l, p, low_from_half(l, a, bf), low_from_half(l, b, bf)),
                       x->a[2]);
    }
    if (p->opcode == WEIR_PTX_OP_setp) {
        LLVMValueRef r = compare(l, p, p->type[0], x->a[0], x->a[1]);
        if (x->dest == 1)
            r = LLVMBuildNot(l->b, r, "");
        return combine(l, p, r, x->a[2]);
    }
    if (p->opcode == WEIR_PTX_OP_set) {
        LLVMValueRef r = combine(l, p, compare(l, p, p->type[1], x->a[0], x->a[1]), x->a[2]);
        if (p->type[0] == WEIR_PTX_F32)
            return LLVMBuildUIToFP(l->b, r, low_like(l, l->t.f32, r), "");
        return low_resize(l, r, weir_ptx_type_bits(p->type[0]), true);
    }
    if (p->opcode == WEIR_PTX_OP_slct) {
        LLVMValueRef c = x->a[2], ge;
        if (p->type[1] == WEIR_PTX_F32)
            ge = LLVMBuildFCmp(l->b, LLVMRealOGE, p->ftz ? low_flush(l, c) : c,
                               low_fconst(l, LLVMTypeOf(c), 0.0), "");
        else
            ge = LLVMBuildICmp(l->b, LLVMIntSGE, c, low_const(l, LLVMTypeOf(c), 0), "");
        return sel(l, ge, x->a[0], x->a[1]);
    }
    return NULL;
}

/* ---- conversions ---- */

LLVMValueRef low_round_integral(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef v)
{
    switch (p->rounding) {
    case WEIR_PTX_RNI:
    case WEIR_PTX_RN:
        return low_unary(l, "llvm.roundeven", v);
    case WEIR_PTX_RZI:
    case WEIR_PTX_RZ:
        return low_unary(l, "llvm.trunc", v);
    case WEIR_PTX_RMI:
    case WEIR_PTX_RM:
        return low_unary(l, "llvm.floor", v);
    case WEIR_PTX_RPI:
    case WEIR_PTX_RP:
        return low_unary(l, "llvm.ceil", v);
    default:
        return v;
    }
}

LLVMValueRef low_float_to_int(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef v)
{
    bool sign = weir_ptx_type_is_signed(p->type[0]);
    unsigned bits = weir_ptx_type_bits(p->type[0]);
    if (p->ftz && p->type[1] == WEIR_PTX_F32 && !l->all_ftz)
        v = low_flush(l, v);
    v = low_round_integral(l, p, v);
    LLVMTypeRef over[2] = {low_like(l, low_int(l, bits), v), LLVMTypeOf(v)};
    LLVMValueRef r = low_intrinsic(l, sign ? "llvm.fptosi.sat" : "llvm.fptoui.sat", over, 2, &v, 1);
    if (bits < 64 && p->type[1] != WEIR_PTX_F64)
        return r;
    /* NaN: the top bit, where either side has 64 bits; else 0 */
    LLVMValueRef nan = LLVMBuildFCmp(l->b, LLVMRealUNO, v, v, "");
    return sel(l, nan, low_const(l, LLVMTypeOf(r), (int64_t)((uint64_t)1 << (bits - 1))), r);
}

/* Directed rounding of a conversion to f32: convert to nearest, then step one value where that went
 * the wrong way. */
static LLVMValueRef step_toward(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef r,
                                LLVMValueRef back_minus)
{
    /* back_minus: sign of (r - exact) as i32 -1, 0, 1 in r's lanes */
    LLVMTypeRef ti = low_like(l, l->t.i32, r);
    LLVMValueRef bits = low_bitcast(l, r, l->t.i32), zero = low_const(l, ti, 0),
                 one = low_const(l, ti, 1);
    LLVMValueRef above = LLVMBuildICmp(l->b, LLVMIntSGT, back_minus, zero, "");
    LLVMValueRef below = LLVMBuildICmp(l->b, LLVMIntSLT, back_minus, zero, "");
    LLVMValueRef neg = LLVMBuildICmp(l->b, LLVMIntSLT, bits, zero, "");
    LLVMValueRef isz = LLVMBuildICmp(l->b, LLVMIntEQ, LLVMBuildShl(l->b, bits, one, ""), zero, "");
    LLVMValueRef larger = LLVMBuildAdd(l->b, bits, one, ""),
                 smaller = LLVMBuildSub(l->b, bits, one, "");
    LLVMValueRef up = sel(l, isz, one, sel(l, neg, smaller, larger));
    LLVMValueRef down = sel(l, isz, low_const(l, ti, INT32_MIN + 1), sel(l, neg, larger, smaller));
    LLVMValueRef fixed = bits;
    if (p->rounding == WEIR_PTX_RM)
        fixed = sel(l, above, down, bits);
    else if (p->rounding == WEIR_PTX_RP)
        fixed = sel(l, below, up, bits);
    else
        fixed = sel(l, LLVMBuildAnd(l->b, above, LLVMBuildNot(l->b, neg, ""), ""), smaller,
                    sel(l, LLVMBuildAnd(l->b, below, neg, ""), smaller, bits));
    return low_bitcast(l, fixed, l->t.f32);
}

static LLVMValueRef order_of(struct low *l, LLVMValueRef gt, LLVMValueRef lt)
{
    LLVMTypeRef ti = low_like(l, l->t.i32, gt);
    return sel(l, gt, low_const(l, ti, 1), sel(l, lt, low_const(l, ti, -1), low_const(l, ti, 0)));
}

static LLVMValueRef narrow(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef v)
{
    LLVMValueRef r = LLVMBuildFPTrunc(l->b, v, low_like(l, l->t.f32, v), "");
    if (!low_directed(p))
        return r;
    LLVMValueRef back = LLVMBuildFPExt(l->b, r, LLVMTypeOf(v), "");
    return step_toward(l, p, r,
                       order_of(l, LLVMBuildFCmp(l->b, LLVMRealOGT, back, v, ""),
                                LLVMBuildFCmp(l->b, LLVMRealOLT, back, v, "")));
}

static LLVMValueRef int_to_float(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef v)
{
    bool sign = weir_ptx_type_is_signed(p->type[1]);
    LLVMTypeRef t = low_like(l, p->type[0] == WEIR_PTX_F64 ? l->t.f64 : l->t.f32, v);
    LLVMValueRef r = sign ? LLVMBuildSIToFP(l->b, v, t, "") : LLVMBuildUIToFP(l->b, v, t, "");
    unsigned bits = low_bits_of(v);
    if (!low_directed(p) || bits < (p->type[0] == WEIR_PTX_F64 ? 64u : 32u))
        return r;
    if (p->type[0] == WEIR_PTX_F64 || bits == 64)
        return low_rounded_int(l, p, v, sign);
    LLVMTypeRef d = low_like(l, l->t.f64, v);
    LLVMValueRef exact = sign ? LLVMBuildSIToFP(l->b, v, d, "") : LLVMBuildUIToFP(l->b, v, d, "");
    return narrow(l, p, exact);
}

static LLVMValueRef clamp_int(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef v)
{
    bool from = weir_ptx_type_is_signed(p->type[1]), to = weir_ptx_type_is_signed(p->type[0]);
    unsigned bits = weir_ptx_type_bits(p->type[0]), have = low_bits_of(v);
    if (from) {
        if (!to)
            v = low_binary(l, "llvm.smax", v, low_const(l, LLVMTypeOf(v), 0));
        if (bits < have || (to && bits == have)) {
            int64_t hi = (int64_t)weir_bits_low(bits - to);
            v = low_binary(l, "llvm.smin", v, low_const(l, LLVMTypeOf(v), hi));
            if (to)
                v = low_binary(l, "llvm.smax", v, low_const(l, LLVMTypeOf(v), -hi - 1));
        }
    } else if (bits < have || (to && bits == have)) {
        int64_t hi = (int64_t)weir_bits_low(bits - to);
        v = low_binary(l, "llvm.umin", v, low_const(l, LLVMTypeOf(v), hi));
    }
    return low_resize(l, v, bits, from);
}

static LLVMValueRef cvt_float(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef v)
{
    enum weir_ptx_type to = p->type[0], from = p->type[1];
    bool ftz = p->ftz && !l->all_ftz;
    LLVMValueRef r = v;
    if (to == from) {
        if (ftz)
            r = low_flush(l, r);
        r = low_round_integral(l, p, r);
    } else if (to == WEIR_PTX_F64) {
        if (ftz)
            r = low_flush(l, r);
        r = LLVMBuildFPExt(l->b, r, low_like(l, l->t.f64, v), "");
    } else {
        r = narrow(l, p, r);
        if (ftz) {
            LLVMValueRef tiny = is_tiny(l, p, v);
            r = sel(l, tiny, low_binary(l, "llvm.copysign", low_fconst(l, LLVMTypeOf(r), 0.0), r),
                    r);
        }
    }
    return p->sat ? low_saturate(l, r) : r;
}

LLVMValueRef low_cvt(struct low *l, struct low_args *x)
{
    const struct weir_ptx_inst *p = x->p;
    bool bf;
    unsigned parts;
    if (p->opcode != WEIR_PTX_OP_cvt)
        return NULL;
    enum weir_ptx_type to = p->type[0], from = p->type[1];
    LLVMValueRef small = low_cvt_small(l, x);
    if (small)
        return small;
    if (low_half_kind(to, &bf, &parts) || low_half_kind(from, &bf, &parts) ||
        weir_ptx_type_bits(to) > 64)
        return low_cvt_half(l, x);
    bool tf = weir_ptx_type_is_float(to), ff = weir_ptx_type_is_float(from);
    if (tf && ff)
        return cvt_float(l, p, x->a[0]);
    if (tf) {
        LLVMValueRef r = int_to_float(l, p, x->a[0]);
        return p->sat ? low_saturate(l, r) : r;
    }
    LLVMValueRef v =
        ff       ? low_float_to_int(l, p, x->a[0])
        : p->sat ? clamp_int(l, p, x->a[0])
                 : low_resize(l, x->a[0], weir_ptx_type_bits(to), weir_ptx_type_is_signed(from));
    /* narrow results fill the register by their own sign */
    return weir_ptx_type_bits(to) < 32 ? low_resize(l, v, 32, weir_ptx_type_is_signed(to)) : v;
}
