/* Products of matrices: mma.sync and wmma.mma, on the whole warp's vectors. For each place k, a
 * row's four lanes get its element of A (a shuffle within 128 bits), and the four lanes of every
 * row get those of two columns of B (the same for all rows); then one multiply and add for each
 * register of D and group of lanes. Each form is a function of the object, made once.
 *
 * What is computed: products and sums of f16, bf16, tf32 and 8-bit floats by fused multiply and add
 * in f32, along k from C on; f64 likewise in f64; integers exactly (s32, wrapping or clamped at the
 * end). docs/ptx-fidelity.md has the bound.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "codegen/lower/matrix.h"

#define MAX_PARTS 8 /* vectors made of one register of A or B */

static bool is_integer(const struct matrix_form *f)
{
    return f->elem[3] == ELEM_S32;
}

/* ---- elements of a register as vectors that are multiplied ---- */

static LLVMValueRef from_e4m3(struct low *l, LLVMValueRef byte)
{
    LLVMTypeRef t = LLVMTypeOf(byte), ft = low_like(l, l->t.f32, byte);
    LLVMValueRef m = LLVMBuildAnd(l->b, byte, low_const(l, t, 0x7f), "");
    LLVMValueRef nan = LLVMBuildICmp(l->b, LLVMIntEQ, m, low_const(l, t, 0x7f), "");
    LLVMValueRef sign = LLVMBuildShl(l->b, LLVMBuildAnd(l->b, byte, low_const(l, t, 0x80), ""),
                                     low_const(l, t, 24), "");
    LLVMValueRef exponent = LLVMBuildLShr(l->b, m, low_const(l, t, 3), "");
    LLVMValueRef small =
        LLVMBuildFMul(l->b, LLVMBuildUIToFP(l->b, m, ft, ""), low_fconst(l, ft, 0.001953125), "");
    LLVMValueRef normal = LLVMBuildAdd(l->b, LLVMBuildShl(l->b, m, low_const(l, t, 20), ""),
                                       low_const(l, t, 120 << 23), "");
    LLVMValueRef is_small = LLVMBuildICmp(l->b, LLVMIntEQ, exponent, low_const(l, t, 0), "");
    LLVMValueRef v = LLVMBuildSelect(l->b, is_small, low_bitcast(l, small, l->t.i32), normal, "");
    v = LLVMBuildSelect(l->b, nan, low_const(l, t, 0x7fffffff), LLVMBuildOr(l->b, v, sign, ""), "");
    return low_bitcast(l, v, l->t.f32);
}

static LLVMValueRef shifted(struct low *l, LLVMValueRef v, unsigned by)
{
    return by ? LLVMBuildLShr(l->b, v, low_const(l, LLVMTypeOf(v), by), "") : v;
}

/* Pairs of i16 in each i32: element n of the low half and the one `half` behind it. */
static LLVMValueRef integer_pair(struct low *l, LLVMValueRef v, unsigned bits, bool sign,
                                 unsigned n)
{
    LLVMTypeRef t = LLVMVectorType(l->t.i16, 2 * LLVMGetVectorSize(LLVMTypeOf(v)));
    v = LLVMBuildBitCast(l->b, v, t, "");
    unsigned up = 16 - bits - n * bits;
    if (up)
        v = LLVMBuildShl(l->b, v, low_const(l, t, up), "");
    LLVMValueRef down = low_const(l, t, 16 - (int64_t)bits);
    v = sign ? LLVMBuildAShr(l->b, v, down, "") : LLVMBuildLShr(l->b, v, down, "");
    return v;
}

LLVMValueRef matrix_part(struct low *l, enum matrix_elem e, LLVMValueRef v, unsigned n)
{
    switch (e) {
    case ELEM_F64:
        return low_bitcast(l, v, l->t.f64);
    case ELEM_TF32: /* the lower 13 bits are not looked at */
        return low_bitcast(l, LLVMBuildAnd(l->b, v, low_const(l, LLVMTypeOf(v), ~0x1fffll), ""),
                           l->t.f32);
    case ELEM_F16:
        return low_from_half(l, low_half_part(l, v, n), false);
    case ELEM_BF16:
        v = n ? LLVMBuildAnd(l->b, v, low_const(l, LLVMTypeOf(v), ~0xffffll), "")
              : LLVMBuildShl(l->b, v, low_const(l, LLVMTypeOf(v), 16), "");
        return low_bitcast(l, v, l->t.f32);
    case ELEM_E4M3:
        return from_e4m3(
            l, LLVMBuildAnd(l->b, shifted(l, v, 8 * n), low_const(l, LLVMTypeOf(v), 0xff), ""));
    case ELEM_E5M2: /* the upper half of f16 */
        v = low_resize(l, shifted(l, v, 8 * n), 16, false);
        v = LLVMBuildShl(l->b, v, low_const(l, LLVMTypeOf(v), 8), "");
        return low_from_half(l, v, false);
    case ELEM_S8:
    case ELEM_U8:
        return integer_pair(l, v, 8, e == ELEM_S8, n);
    case ELEM_S4:
    case ELEM_U4:
        return integer_pair(l, v, 4, e == ELEM_S4, n);
    default:
        return v;
    }
}

static unsigned parts_of(enum matrix_elem e)
{
    switch (e) {
    case ELEM_F16:
    case ELEM_BF16:
    case ELEM_S8:
    case ELEM_U8:
        return 2;
    case ELEM_E4M3:
    case ELEM_E5M2:
    case ELEM_S4:
    case ELEM_U4:
        return 4;
    default:
        return 1;
    }
}

/* ---- one step ---- */

/* Sums of two products of i16 in each lane. */
static LLVMValueRef pair_products(struct low *l, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef args[2] = {a, b};
    unsigned n = LLVMGetVectorSize(LLVMTypeOf(a));
    if (n == 32 && l->avx512)
        return low_intrinsic(l, "llvm.x86.avx512.pmaddw.d.512", NULL, 0, args, 2);
    if (n == 16)
        return low_intrinsic(l, "llvm.x86.avx2.pmadd.wd", NULL, 0, args, 2);
    LLVMTypeRef wide = LLVMVectorType(l->t.i32, n / 2);
    LLVMValueRef v[2], sum = NULL, c16 = low_const(l, wide, 16);
    for (unsigned k = 0; k < 2; k++) {
        for (unsigned o = 0; o < 2; o++) {
            v[o] = LLVMBuildBitCast(l->b, args[o], wide, "");
            if (k == 0)
                v[o] = LLVMBuildShl(l->b, v[o], c16, "");
            v[o] = LLVMBuildAShr(l->b, v[o], c16, "");
        }
        LLVMValueRef m = LLVMBuildMul(l->b, v[0], v[1], "");
        sum = sum ? LLVMBuildAdd(l->b, sum, m, "") : m;
    }
    return sum;
}

static LLVMValueRef multiply_add(struct low *l, const struct product *x, LLVMValueRef a,
                                 LLVMValueRef b, LLVMValueRef d)
{
    LLVMValueRef args[3] = {a, b, d};
    if (x->f->elem[0] == ELEM_B1) {
        LLVMValueRef v =
            x->f->bit_and ? LLVMBuildAnd(l->b, a, b, "") : LLVMBuildXor(l->b, a, b, "");
        return LLVMBuildAdd(l->b, d, low_unary(l, "llvm.ctpop", v), "");
    }
    if (is_integer(x->f))
        return LLVMBuildAdd(l->b, d, pair_products(l, a, b), "");
    if (x->f->elem[0] == ELEM_F64 && low_directed(x->p))
        return low_rounded(l, x->p, "vfmadd", args, 3);
    return low_ternary(l, "llvm.fma", a, b, d);
}

LLVMValueRef matrix_pick_lanes(struct low *l, LLVMValueRef *v, unsigned parts,
                               const unsigned *index, bool pairs)
{
    LLVMValueRef in[LOW_MAX_GROUPS];
    LLVMTypeRef t = LLVMTypeOf(v[0]);
    for (unsigned k = 0; k < parts; k++)
        in[k] = pairs ? LLVMBuildBitCast(l->b, v[k], low_vec_type(l, l->t.i32), "") : v[k];
    LLVMValueRef r = matrix_pick(l, in, parts, index, l->width);
    return pairs ? LLVMBuildBitCast(l->b, r, t, "") : r;
}

/* All products of tile kt along k, where q is the lane of four and n the part. */
static void step(struct low *l, struct product *x, unsigned q, LLVMValueRef *a, LLVMValueRef *b)
{
    unsigned index[64], groups = l->groups;
    bool pairs = is_integer(x->f) && x->f->elem[0] != ELEM_B1;
    LLVMValueRef column[2 * 4];
    for (unsigned c = 0; c < 2 * x->cols; c++) {
        for (unsigned lane = 0; lane < l->width; lane++)
            index[lane] = (lane % 4 * 2 + c % 2) * 4 + q;
        column[c] = matrix_pick_lanes(l, b + c / 2 * groups, groups, index, pairs);
    }
    for (unsigned lane = 0; lane < l->width; lane++)
        index[lane] = lane / 4 * 4 + q;
    for (unsigned r = 0; r < x->rows; r++)
        for (unsigned g = 0; g < groups; g++) {
            LLVMValueRef row = matrix_pick_lanes(l, a + r * groups + g, 1, index, pairs);
            for (unsigned c = 0; c < 2 * x->cols; c++) {
                LLVMValueRef *d = &x->d[((c / 2 * x->rows + r) * 2 + c % 2) * groups + g];
                *d = multiply_add(l, x, row, column[c], *d);
            }
        }
}

static void all_steps(struct low *l, struct product *x)
{
    unsigned groups = l->groups;
    for (unsigned kt = 0; kt < x->along; kt++) {
        LLVMValueRef a[MAX_PARTS][4 * LOW_MAX_GROUPS], b[MAX_PARTS][4 * LOW_MAX_GROUPS];
        for (unsigned n = 0; n < x->parts; n++) {
            for (unsigned r = 0; r < x->rows; r++)
                for (unsigned g = 0; g < groups; g++)
                    a[n][r * groups + g] =
                        matrix_part(l, x->f->elem[0], x->a[(kt * x->rows + r) * groups + g], n);
            for (unsigned c = 0; c < x->cols; c++)
                for (unsigned g = 0; g < groups; g++)
                    b[n][c * groups + g] =
                        matrix_part(l, x->f->elem[1], x->b[(c * x->along + kt) * groups + g], n);
        }
        for (unsigned q = 0; q < 4; q++)
            for (unsigned n = 0; n < x->parts; n++)
                step(l, x, q, a[n], b[n]);
    }
}

/* ---- accumulators ---- */

static LLVMValueRef from_acc(struct low *l, enum matrix_elem e, LLVMValueRef v, unsigned second)
{
    if (e == ELEM_F16)
        return low_from_half(l, low_half_part(l, v, second), false);
    return e == ELEM_F32   ? low_bitcast(l, v, l->t.f32)
           : e == ELEM_F64 ? low_bitcast(l, v, l->t.f64)
                           : v;
}

static LLVMValueRef canonical(struct low *l, LLVMValueRef v)
{
    LLVMValueRef nan = LLVMBuildFCmp(l->b, LLVMRealUNO, v, v, "");
    v = LLVMBuildSelect(l->b, nan, low_fbits(l, LLVMTypeOf(v), 0x7fffffff), v, "");
    return low_bitcast(l, v, l->t.i32);
}

/* Registers of C to vectors of single elements, pair by pair. */
static void take_acc(struct low *l, const struct matrix_form *f, LLVMValueRef *c, unsigned pairs,
                     LLVMValueRef *d)
{
    enum matrix_elem e = f->elem[2];
    unsigned groups = l->groups;
    for (unsigned t = 0; t < 2 * pairs; t++)
        for (unsigned g = 0; g < groups; g++)
            d[t * groups + g] = from_acc(l, e, c[(e == ELEM_F16 ? t / 2 : t) * groups + g], t % 2);
}

static void give_acc(struct low *l, const struct matrix_form *f, LLVMValueRef *d, unsigned pairs,
                     LLVMValueRef *out)
{
    enum matrix_elem e = f->elem[3];
    unsigned groups = l->groups;
    for (unsigned t = 0; t < 2 * pairs; t++)
        for (unsigned g = 0; g < groups; g++) {
            LLVMValueRef v = d[t * groups + g];
            if (e == ELEM_F32)
                out[t * groups + g] = canonical(l, v);
            else if (e == ELEM_F64)
                out[t * groups + g] = low_bitcast(l, v, l->t.i64);
            else if (e == ELEM_S32)
                out[t * groups + g] = v;
            else if (t % 2 == 0)
                out[t / 2 * groups + g] = low_resize(l, low_to_half(l, v, false), 32, false);
            else
                out[t / 2 * groups + g] = LLVMBuildOr(
                    l->b, out[t / 2 * groups + g],
                    LLVMBuildShl(l->b, low_resize(l, low_to_half(l, v, false), 32, false),
                                 low_const(l, low_vec_type(l, l->t.i32), 16), ""),
                    "");
        }
}

/* ---- four products of quad pairs ---- */

/* Element (outer, k) of A (outer: row) or B (outer: column) of the quad pair of `lane`, in parts of
 * four vectors of single elements. `own`: an outer index has a lane of its own. */
static unsigned quad_source(struct low *l, unsigned lane, unsigned outer, unsigned k, bool own)
{
    unsigned pair = lane % 16 / 4, high = outer >= 4 ? 16 : 0;
    unsigned from = high + 4 * pair + (own ? outer % 4 : k), e = own ? k : outer % 4;
    return (e * l->groups + from / l->width) * l->width + from % l->width;
}

static void quad_steps(struct low *l, struct product *x)
{
    LLVMValueRef a[4 * LOW_MAX_GROUPS], b[4 * LOW_MAX_GROUPS];
    unsigned groups = l->groups, ia[64], ib[64];
    for (unsigned e = 0; e < 4; e++)
        for (unsigned g = 0; g < groups; g++) {
            a[e * groups + g] = matrix_part(l, ELEM_F16, x->a[e / 2 * groups + g], e % 2);
            b[e * groups + g] = matrix_part(l, ELEM_F16, x->b[e / 2 * groups + g], e % 2);
        }
    bool wide = x->f->elem[3] == ELEM_F32;
    for (unsigned i = 0; i < 8; i++)
        for (unsigned g = 0; g < groups; g++)
            for (unsigned k = 0; k < 4; k++) {
                for (unsigned n = 0; n < l->width; n++) {
                    unsigned lane = g * l->width + n, high = lane >= 16 ? 4 : 0;
                    unsigned row = (wide ? (lane & 1) + (i & 2) : lane % 4) + high;
                    unsigned col = wide ? (i & 4) + (lane & 2) + (i & 1) : i;
                    ia[n] = quad_source(l, lane, row, k, x->f->row[0]);
                    ib[n] = quad_source(l, lane, col, k, !x->f->row[1]);
                }
                LLVMValueRef *d = &x->d[i * groups + g];
                *d = multiply_add(l, x, matrix_pick(l, a, 4 * groups, ia, l->width),
                                  matrix_pick(l, b, 4 * groups, ib, l->width), *d);
            }
}

/* C and D of different types lie in different lanes. */
static void quad_rearrange(struct low *l, LLVMValueRef *c, bool to_wide)
{
    LLVMValueRef out[8 * LOW_MAX_GROUPS];
    unsigned groups = l->groups, index[64];
    for (unsigned i = 0; i < 8; i++)
        for (unsigned g = 0; g < groups; g++) {
            for (unsigned n = 0; n < l->width; n++) {
                unsigned lane = g * l->width + n, high = lane & 16, pair = lane % 16 / 4, from, e;
                if (to_wide) {
                    unsigned row = (lane & 1) + (i & 2);
                    from = high + 4 * pair + row;
                    e = (i & 4) + (lane & 2) + (i & 1);
                } else {
                    unsigned row = lane % 4;
                    from = high + 4 * pair + (row & 1) + (i & 2);
                    e = (i & 4) + (row & 2) + (i & 1);
                }
                index[n] = (e * groups + from / l->width) * l->width + from % l->width;
            }
            out[i * groups + g] = matrix_pick(l, c, 8 * groups, index, l->width);
        }
    memcpy(c, out, 8 * groups * sizeof *c);
}

/* ---- the function of a form ---- */

/* in: registers of A, B and C that matter; out: those of D. */
static void build(struct low *l, const struct low_values *v, LLVMValueRef *in, LLVMValueRef *out)
{
    const struct low_inst *i = v->i;
    struct matrix_form f;
    weir_cg_matrix_form(i->p, &f);
    unsigned groups = l->groups, pairs = f.m / 8u * (f.n / 8u);
    bool quads = f.kind == MATRIX_QUADS;
    struct product x = {.p = i->p, .f = &f, .rows = f.m / 8u, .cols = f.n / 8u, .a = in};
    unsigned a = quads ? 2 : weir_cg_matrix_regs(&f, 'a'),
             b = quads ? 2 : weir_cg_matrix_regs(&f, 'b');
    LLVMValueRef *c = in + (a + b) * groups, start[MATRIX_MAX_REGS * LOW_MAX_GROUPS];
    x.b = in + a * groups;
    x.parts = parts_of(f.elem[0]);
    x.along = quads ? 1 : f.k / (4 * weir_cg_matrix_per(f.elem[0]));
    if (quads)
        pairs = 4;
    take_acc(l, &f, c, pairs, x.d);
    if (f.satfinite && is_integer(&f)) {
        memcpy(start, x.d, sizeof start);
        for (unsigned k = 0; k < 2 * pairs * groups; k++)
            x.d[k] = low_const(l, LLVMTypeOf(start[k]), 0);
    }
    if (quads) {
        if (f.elem[2] != f.elem[3])
            quad_rearrange(l, x.d, f.elem[3] == ELEM_F32);
        quad_steps(l, &x);
    } else if (f.sparse) {
        matrix_sparse_steps(l, &x, c + weir_cg_matrix_regs(&f, 'c') * groups);
    } else {
        all_steps(l, &x);
    }
    for (unsigned k = 0; k < 2 * pairs * groups && f.satfinite && is_integer(&f); k++)
        x.d[k] = low_binary(l, "llvm.sadd.sat", start[k], x.d[k]);
    give_acc(l, &f, x.d, pairs, out);
}

void matrix_product(struct low *l, const struct low_inst *i, const struct matrix_form *f)
{
    const struct weir_ptx_inst *p = i->p;
    bool quads = f->kind == MATRIX_QUADS;
    unsigned groups = l->groups, n = 0, regs[4] = {2, 2, 8, 8};
    LLVMValueRef in[3 * MATRIX_MAX_REGS * LOW_MAX_GROUPS], out[MATRIX_MAX_REGS * LOW_MAX_GROUPS];
    for (unsigned k = 0; k < 4; k++) {
        if (!quads)
            regs[k] = weir_cg_matrix_regs(f, "abcd"[k]);
        else if (k >= 2)
            regs[k] = f->elem[k] == ELEM_F16 ? 4 : 8;
    }
    for (unsigned k = 0; k < 3; k++) {
        LLVMTypeRef bits = f->elem[k] == ELEM_F64 ? l->t.i64 : l->t.i32;
        matrix_read(l, i, &p->operands[k + 1], regs[k], bits, in + n);
        n += regs[k] * groups;
    }
    if (f->sparse) {
        matrix_read(l, i, &p->operands[4], 1, l->t.i32, in + n);
        n += groups;
    }
    LLVMTypeRef t = low_vec_type(l, f->elem[3] == ELEM_F64 ? l->t.i64 : l->t.i32);
    struct low_values v = {.i = i,
                           .kind = f->selector,
                           .build = build,
                           .in = in,
                           .out = out,
                           .count = n,
                           .results = regs[3] * groups,
                           .type = t};
    low_outline_values(l, &v);
    matrix_write(l, i, &p->operands[0], regs[3], out);
}
