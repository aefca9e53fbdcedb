/* Integer and logic instructions on scalars or vectors alike.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "codegen/lower/lower.h"

static LLVMValueRef cmp(struct low *l, LLVMIntPredicate p, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildICmp(l->b, p, a, b, "");
}

static LLVMValueRef imm(struct low *l, LLVMValueRef like, int64_t v)
{
    return low_const(l, LLVMTypeOf(like), v);
}

static LLVMValueRef sel(struct low *l, LLVMValueRef c, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildSelect(l->b, c, a, b, "");
}

static bool is_signed(const struct weir_ptx_inst *p)
{
    return weir_ptx_type_is_signed(p->type[0]);
}

/* High half of a product; 64-bit vectors by 32-bit parts (no vector unit multiplies to 128 bits).
 */
static LLVMValueRef mul_high(struct low *l, LLVMValueRef a, LLVMValueRef b, bool sign)
{
    unsigned bits = low_bits_of(a);
    if (bits < 64 || !low_is_vec(a)) {
        LLVMValueRef x = low_resize(l, a, bits * 2, sign), y = low_resize(l, b, bits * 2, sign);
        LLVMValueRef m = LLVMBuildMul(l->b, x, y, "");
        m = LLVMBuildLShr(l->b, m, low_const(l, LLVMTypeOf(m), bits), "");
        return low_resize(l, m, bits, false);
    }
    LLVMValueRef c32 = imm(l, a, 32), low32 = imm(l, a, 0xffffffff);
    LLVMValueRef a0 = LLVMBuildAnd(l->b, a, low32, ""), a1 = LLVMBuildLShr(l->b, a, c32, "");
    LLVMValueRef b0 = LLVMBuildAnd(l->b, b, low32, ""), b1 = LLVMBuildLShr(l->b, b, c32, "");
    LLVMValueRef p00 = LLVMBuildMul(l->b, a0, b0, ""), p01 = LLVMBuildMul(l->b, a0, b1, "");
    LLVMValueRef p10 = LLVMBuildMul(l->b, a1, b0, ""), p11 = LLVMBuildMul(l->b, a1, b1, "");
    LLVMValueRef mid = LLVMBuildAdd(l->b, LLVMBuildLShr(l->b, p00, c32, ""),
                                    LLVMBuildAnd(l->b, p01, low32, ""), "");
    mid = LLVMBuildAdd(l->b, mid, LLVMBuildAnd(l->b, p10, low32, ""), "");
    LLVMValueRef hi = LLVMBuildAdd(l->b, p11, LLVMBuildLShr(l->b, p01, c32, ""), "");
    hi = LLVMBuildAdd(l->b, hi, LLVMBuildLShr(l->b, p10, c32, ""), "");
    hi = LLVMBuildAdd(l->b, hi, LLVMBuildLShr(l->b, mid, c32, ""), "");
    if (sign) {
        LLVMValueRef s = imm(l, a, 63);
        hi = LLVMBuildSub(l->b, hi, LLVMBuildAnd(l->b, LLVMBuildAShr(l->b, a, s, ""), b, ""), "");
        hi = LLVMBuildSub(l->b, hi, LLVMBuildAnd(l->b, LLVMBuildAShr(l->b, b, s, ""), a, ""), "");
    }
    return hi;
}

static LLVMValueRef product(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef a,
                            LLVMValueRef b)
{
    if (p->sub == WEIR_PTX_HI_)
        return mul_high(l, a, b, is_signed(p));
    if (p->sub == WEIR_PTX_WIDE) {
        unsigned bits = low_bits_of(a);
        a = low_resize(l, a, bits * 2, is_signed(p));
        b = low_resize(l, b, bits * 2, is_signed(p));
    }
    return LLVMBuildMul(l->b, a, b, "");
}

/* 32-bit quotients of vectors through doubles, which is exact: the quotient of two 32-bit numbers
 * is at least 2^-32 (relative) away from the next integer. */
static LLVMValueRef divide_vector(struct low *l, LLVMValueRef a, LLVMValueRef b, bool sign)
{
    LLVMTypeRef f = low_like(l, l->t.f64, a), wide = low_like(l, l->t.i64, a);
    LLVMValueRef x = low_resize(l, a, 64, sign), y = low_resize(l, b, 64, sign);
    x = LLVMBuildSIToFP(l->b, x, f, "");
    y = LLVMBuildSIToFP(l->b, y, f, "");
    return low_resize(l, LLVMBuildFPToSI(l->b, LLVMBuildFDiv(l->b, x, y, ""), wide, ""), 32, false);
}

static LLVMValueRef divide(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef a,
                           LLVMValueRef b, bool rem)
{
    bool sign = is_signed(p), small = low_bits_of(a) < 32;
    unsigned bits = low_bits_of(a);
    if (LLVMIsConstant(b) && p->operands[2].kind == WEIR_PTX_OPERAND_INT &&
        p->operands[2].imm != 0 && p->operands[2].imm != -1) {
        if (rem)
            return sign ? LLVMBuildSRem(l->b, a, b, "") : LLVMBuildURem(l->b, a, b, "");
        return sign ? LLVMBuildSDiv(l->b, a, b, "") : LLVMBuildUDiv(l->b, a, b, "");
    }
    LLVMValueRef zero = cmp(l, LLVMIntEQ, b, imm(l, b, 0)), d = sel(l, zero, imm(l, b, 1), b), q;
    if (small) {
        a = low_resize(l, a, 32, sign);
        d = low_resize(l, d, 32, sign);
    }
    if (low_is_vec(a) && low_bits_of(a) == 32) {
        q = divide_vector(l, a, d, sign);
    } else if (sign) {
        LLVMValueRef minus = cmp(l, LLVMIntEQ, d, imm(l, d, -1));
        LLVMValueRef safe = sel(l, minus, imm(l, d, 1), d);
        q = LLVMBuildSDiv(l->b, a, safe, "");
        q = sel(l, minus, LLVMBuildNeg(l->b, a, ""), q);
    } else {
        q = LLVMBuildUDiv(l->b, a, d, "");
    }
    LLVMValueRef r = rem ? LLVMBuildSub(l->b, a, LLVMBuildMul(l->b, q, d, ""), "") : q;
    r = low_resize(l, r, bits, false);
    if (rem)
        return sel(l, zero, low_resize(l, a, bits, false), r);
    return sel(l, zero, imm(l, r, -1), r);
}

static LLVMValueRef shift(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef a,
                          LLVMValueRef n)
{
    unsigned bits = low_bits_of(a);
    LLVMValueRef big = cmp(l, LLVMIntUGE, n, imm(l, n, bits));
    bool right = p->opcode == WEIR_PTX_OP_shr, arith = right && is_signed(p);
    LLVMValueRef k = low_resize(l, sel(l, big, imm(l, n, arith ? bits - 1 : 0), n), bits, false);
    if (arith)
        return LLVMBuildAShr(l->b, a, k, "");
    LLVMValueRef r = right ? LLVMBuildLShr(l->b, a, k, "") : LLVMBuildShl(l->b, a, k, "");
    return sel(l, big, imm(l, a, 0), r);
}

static LLVMValueRef funnel(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef a,
                           LLVMValueRef b, LLVMValueRef n)
{
    bool left = p->sub == WEIR_PTX_SUB_L, clamp = p->clamp;
    LLVMValueRef r = low_ternary(l, left ? "llvm.fshl" : "llvm.fshr", b, a, n); /* n modulo 32 */
    if (!clamp)
        return r;
    return sel(l, cmp(l, LLVMIntUGE, n, imm(l, n, 32)), left ? a : b, r);
}

static LLVMValueRef ones(struct low *l, LLVMValueRef like, LLVMValueRef count)
{
    /* count low bits set; count may be >= the width */
    unsigned bits = low_bits_of(like);
    LLVMValueRef big = cmp(l, LLVMIntUGE, count, imm(l, count, bits));
    LLVMValueRef c = low_resize(l, sel(l, big, imm(l, count, 0), count), bits, false);
    LLVMValueRef m =
        LLVMBuildSub(l->b, LLVMBuildShl(l->b, imm(l, like, 1), c, ""), imm(l, like, 1), "");
    return sel(l, big, imm(l, like, -1), m);
}

/* The low n bits with their sign or zeros above. */
static LLVMValueRef extend_from(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef a,
                                LLVMValueRef n)
{
    n = p->clamp ? low_binary(l, "llvm.umin", n, imm(l, a, 32))
                 : LLVMBuildAnd(l->b, n, imm(l, a, 31), "");
    LLVMValueRef none = cmp(l, LLVMIntEQ, n, imm(l, a, 0));
    LLVMValueRef k = sel(l, none, imm(l, a, 0), LLVMBuildSub(l->b, imm(l, a, 32), n, ""));
    LLVMValueRef up = LLVMBuildShl(l->b, a, k, "");
    up = is_signed(p) ? LLVMBuildAShr(l->b, up, k, "") : LLVMBuildLShr(l->b, up, k, "");
    return sel(l, none, imm(l, a, 0), up);
}

static LLVMValueRef bit_mask(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef a,
                             LLVMValueRef b)
{
    LLVMValueRef n[2] = {a, b};
    for (unsigned k = 0; k < 2; k++)
        n[k] = p->clamp ? low_binary(l, "llvm.umin", n[k], imm(l, a, 32))
                        : LLVMBuildAnd(l->b, n[k], imm(l, a, 31), "");
    LLVMValueRef out = cmp(l, LLVMIntUGE, n[0], imm(l, a, 32));
    LLVMValueRef k = sel(l, out, imm(l, a, 0), n[0]);
    return sel(l, out, imm(l, a, 0), LLVMBuildShl(l->b, ones(l, a, n[1]), k, ""));
}

/* Position and length: eight bits count; of the 64-bit forms all, as on hardware. */
static LLVMValueRef field_bound(struct low *l, LLVMValueRef v, unsigned bits)
{
    if (bits == 32)
        return LLVMBuildAnd(l->b, v, imm(l, v, 255), "");
    return low_binary(l, "llvm.umin", v, imm(l, v, 255));
}

static LLVMValueRef extract_field(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef a,
                                  LLVMValueRef pos, LLVMValueRef len)
{
    unsigned bits = low_bits_of(a);
    pos = field_bound(l, pos, bits);
    len = field_bound(l, len, bits);
    if (!is_signed(p)) {
        LLVMValueRef out = cmp(l, LLVMIntUGE, pos, imm(l, pos, bits));
        LLVMValueRef k = low_resize(l, sel(l, out, imm(l, pos, 0), pos), bits, false);
        LLVMValueRef v = LLVMBuildAnd(l->b, LLVMBuildLShr(l->b, a, k, ""), ones(l, a, len), "");
        return sel(l, out, imm(l, a, 0), v);
    }
    LLVMValueRef end =
        low_binary(l, "llvm.umin", LLVMBuildAdd(l->b, pos, len, ""), imm(l, pos, bits));
    LLVMValueRef up = LLVMBuildSub(l->b, imm(l, pos, bits), end, "");
    LLVMValueRef down =
        low_binary(l, "llvm.umin", LLVMBuildAdd(l->b, up, pos, ""), imm(l, pos, bits - 1));
    LLVMValueRef none = cmp(l, LLVMIntEQ, len, imm(l, len, 0));
    up = low_binary(l, "llvm.umin", up, imm(l, up, bits - 1));
    LLVMValueRef v = LLVMBuildShl(l->b, a, low_resize(l, up, bits, false), "");
    v = LLVMBuildAShr(l->b, v, low_resize(l, down, bits, false), "");
    return sel(l, none, imm(l, a, 0), v);
}

static LLVMValueRef insert_field(struct low *l, LLVMValueRef a, LLVMValueRef b, LLVMValueRef pos,
                                 LLVMValueRef len)
{
    unsigned bits = low_bits_of(a);
    pos = field_bound(l, pos, bits);
    len = field_bound(l, len, bits);
    LLVMValueRef out = cmp(l, LLVMIntUGE, pos, imm(l, pos, bits));
    LLVMValueRef k = low_resize(l, sel(l, out, imm(l, pos, 0), pos), bits, false);
    LLVMValueRef m = LLVMBuildShl(l->b, ones(l, a, len), k, "");
    LLVMValueRef v = LLVMBuildOr(l->b, LLVMBuildAnd(l->b, LLVMBuildShl(l->b, a, k, ""), m, ""),
                                 LLVMBuildAnd(l->b, b, LLVMBuildNot(l->b, m, ""), ""), "");
    return sel(l, out, b, v);
}

/* Position of the highest bit that is not a sign bit, -1 when there is none. */
static LLVMValueRef find_bit(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef a)
{
    unsigned bits = low_bits_of(a);
    if (is_signed(p))
        a = LLVMBuildXor(l->b, a, LLVMBuildAShr(l->b, a, imm(l, a, bits - 1), ""), "");
    LLVMValueRef z = low_binary(l, "llvm.ctlz", a, LLVMConstInt(l->t.i1, 0, 0));
    LLVMValueRef none = cmp(l, LLVMIntEQ, a, imm(l, a, 0));
    LLVMValueRef r = p->shiftamt ? z : LLVMBuildSub(l->b, imm(l, a, bits - 1), z, "");
    r = low_resize(l, r, 32, false);
    return sel(l, none, imm(l, r, -1), r);
}

static LLVMValueRef count_bits(struct low *l, const char *name, LLVMValueRef a, bool flag)
{
    LLVMTypeRef t = LLVMTypeOf(a);
    LLVMValueRef args[2] = {a, LLVMConstInt(l->t.i1, 0, 0)};
    return low_resize(l, low_intrinsic(l, name, &t, 1, args, flag ? 2 : 1), 32, false);
}

/* Byte permutations: each result byte from a selector nibble, with the sign replicated where its
 * top bit is set. */
static LLVMValueRef prmt_byte(struct low *l, LLVMValueRef both, LLVMValueRef nibble)
{
    LLVMValueRef n = low_resize(l, nibble, 64, false);
    LLVMValueRef at = LLVMBuildShl(l->b, LLVMBuildAnd(l->b, n, imm(l, n, 7), ""), imm(l, n, 3), "");
    LLVMValueRef byte = low_resize(l, LLVMBuildLShr(l->b, both, at, ""), 8, false);
    LLVMValueRef sign = LLVMBuildAShr(l->b, byte, imm(l, byte, 7), "");
    LLVMValueRef rep = cmp(l, LLVMIntNE, LLVMBuildAnd(l->b, n, imm(l, n, 8), ""), imm(l, n, 0));
    return low_resize(l, sel(l, rep, sign, byte), 32, false);
}

static LLVMValueRef prmt_nibble(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef c,
                                unsigned k)
{
    LLVMValueRef n = LLVMBuildAnd(l->b, c, imm(l, c, 3), "");
    switch (p->sub) {
    case WEIR_PTX_SUB_F4E:
        return LLVMBuildAdd(l->b, n, imm(l, c, k), "");
    case WEIR_PTX_SUB_B4E:
        return LLVMBuildAnd(l->b, LLVMBuildSub(l->b, n, imm(l, c, k), ""), imm(l, c, 7), "");
    case WEIR_PTX_SUB_RC8:
        return n;
    case WEIR_PTX_SUB_ECL:
        return low_binary(l, "llvm.umax", n, imm(l, c, k));
    case WEIR_PTX_SUB_ECR:
        return low_binary(l, "llvm.umin", n, imm(l, c, k));
    case WEIR_PTX_SUB_RC16:
        return LLVMBuildAdd(
            l->b, LLVMBuildShl(l->b, LLVMBuildAnd(l->b, c, imm(l, c, 1), ""), imm(l, c, 1), ""),
            imm(l, c, k & 1), "");
    default:
        return LLVMBuildAnd(l->b, LLVMBuildLShr(l->b, c, imm(l, c, 4 * (int64_t)k), ""),
                            imm(l, c, 15), "");
    }
}

static LLVMValueRef permute(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef a,
                            LLVMValueRef b, LLVMValueRef c)
{
    LLVMValueRef both = LLVMBuildShl(l->b, low_resize(l, b, 64, false),
                                     low_const(l, low_like(l, l->t.i64, b), 32), "");
    both = LLVMBuildOr(l->b, both, low_resize(l, a, 64, false), "");
    LLVMValueRef r = NULL;
    for (unsigned k = 0; k < 4; k++) {
        LLVMValueRef byte = prmt_byte(l, both, prmt_nibble(l, p, c, k));
        if (k)
            byte = LLVMBuildShl(l->b, byte, imm(l, byte, 8 * (int64_t)k), "");
        r = r ? LLVMBuildOr(l->b, r, byte, "") : byte;
    }
    return r;
}

/* Any function of two bits by its table (index 2 * b + c). */
static LLVMValueRef logic2(struct low *l, unsigned table, LLVMValueRef b, LLVMValueRef c)
{
    switch (table & 15) { /* dispatch */
    case 0:
        return imm(l, b, 0);
    case 1:
        return LLVMBuildNot(l->b, LLVMBuildOr(l->b, b, c, ""), "");
    case 2:
        return LLVMBuildAnd(l->b, LLVMBuildNot(l->b, b, ""), c, "");
    case 3:
        return LLVMBuildNot(l->b, b, "");
    case 4:
        return LLVMBuildAnd(l->b, b, LLVMBuildNot(l->b, c, ""), "");
    case 5:
        return LLVMBuildNot(l->b, c, "");
    case 6:
        return LLVMBuildXor(l->b, b, c, "");
    case 7:
        return LLVMBuildNot(l->b, LLVMBuildAnd(l->b, b, c, ""), "");
    case 8:
        return LLVMBuildAnd(l->b, b, c, "");
    case 9:
        return LLVMBuildNot(l->b, LLVMBuildXor(l->b, b, c, ""), "");
    case 10:
        return c;
    case 11:
        return LLVMBuildOr(l->b, LLVMBuildNot(l->b, b, ""), c, "");
    case 12:
        return b;
    case 13:
        return LLVMBuildOr(l->b, b, LLVMBuildNot(l->b, c, ""), "");
    case 14:
        return LLVMBuildOr(l->b, b, c, "");
    default:
        return imm(l, b, -1);
    }
}

static LLVMValueRef logic3(struct low *l, struct low_args *x)
{
    const struct weir_ptx_operand *o = &x->p->operands[x->p->dest_count + 3];
    if (o->kind != WEIR_PTX_OPERAND_INT || strstr(x->p->suffix, ".BoolOp") || x->p->boolop)
        low_refuse(l, x->p, "form");
    unsigned table = (unsigned)o->imm & 255;
    LLVMValueRef a = x->a[0], f1 = logic2(l, table >> 4, x->a[1], x->a[2]),
                 f0 = logic2(l, table, x->a[1], x->a[2]);
    if ((table >> 4) == (table & 15))
        return f1;
    if ((table >> 4) == (~table & 15)) /* a xor not f1 */
        return LLVMBuildXor(l->b, a, f0, "");
    if ((table & 15) == 0)
        return LLVMBuildAnd(l->b, a, f1, "");
    if ((table >> 4) == 0)
        return LLVMBuildAnd(l->b, LLVMBuildNot(l->b, a, ""), f0, "");
    return LLVMBuildOr(l->b, LLVMBuildAnd(l->b, a, f1, ""),
                       LLVMBuildAnd(l->b, LLVMBuildNot(l->b, a, ""), f0, ""), "");
}

static LLVMValueRef byte_of(struct low *l, LLVMValueRef v, unsigned at, unsigned bits, bool sign)
{
    LLVMValueRef s = at ? LLVMBuildLShr(l->b, v, imm(l, v, at), "") : v;
    return low_resize(l, low_resize(l, s, bits, false), 32, sign);
}

static LLVMValueRef dot(struct low *l, struct low_args *x)
{
    const struct weir_ptx_inst *p = x->p;
    bool sa = weir_ptx_type_is_signed(p->type[0]), sb = weir_ptx_type_is_signed(p->type[1]);
    bool four = p->opcode == WEIR_PTX_OP_dp4a;
    unsigned high = !four && (p->sub == WEIR_PTX_HI_ || strstr(p->suffix, ".hi")) ? 16 : 0;
    LLVMValueRef r = x->a[2];
    for (unsigned k = 0; k < (four ? 4u : 2u); k++) {
        LLVMValueRef a =
            four ? byte_of(l, x->a[0], 8 * k, 8, sa) : byte_of(l, x->a[0], 16 * k, 16, sa);
        LLVMValueRef b = byte_of(l, x->a[1], 8 * k + high, 8, sb);
        r = LLVMBuildAdd(l->b, r, LLVMBuildMul(l->b, a, b, ""), "");
    }
    return r;
}

static LLVMValueRef saturate_add(struct low *l, struct low_args *x)
{
    bool sub = x->p->opcode == WEIR_PTX_OP_sub;
    return low_binary(l, sub ? "llvm.ssub.sat" : "llvm.sadd.sat", x->a[0], x->a[1]);
}

/* The flag of a difference is the carry of a + ~b + 1: set where nothing was borrowed. The manual
 * calls it a borrow, and among sub.cc and subc there is no difference; but nvcc's division of 128
 * bits reads the flag of a difference by addc. */
static LLVMValueRef with_carry(struct low *l, struct low_args *x, bool sub)
{
    LLVMValueRef c = low_resize(l, x->carry, low_bits_of(x->a[0]), false);
    LLVMValueRef b = sub ? LLVMBuildNot(l->b, x->a[1], "") : x->a[1];
    return LLVMBuildAdd(l->b, LLVMBuildAdd(l->b, x->a[0], b, ""), c, "");
}

static LLVMValueRef multiply_add(struct low *l, struct low_args *x)
{
    LLVMValueRef m = product(l, x->p, x->a[0], x->a[1]);
    if (x->p->sat)
        return low_binary(l, "llvm.sadd.sat", m, x->a[2]);
    LLVMValueRef r = LLVMBuildAdd(l->b, m, x->a[2], "");
    if (x->carry)
        r = LLVMBuildAdd(l->b, r, low_resize(l, x->carry, low_bits_of(r), false), "");
    return r;
}

static LLVMValueRef mul24(struct low *l, struct low_args *x)
{
    bool sign = is_signed(x->p), high = x->p->sub == WEIR_PTX_HI_;
    LLVMValueRef m[2];
    for (int k = 0; k < 2; k++) {
        LLVMValueRef v = LLVMBuildShl(l->b, x->a[k], imm(l, x->a[k], 8), "");
        v = sign ? LLVMBuildAShr(l->b, v, imm(l, v, 8), "")
                 : LLVMBuildLShr(l->b, v, imm(l, v, 8), "");
        m[k] = low_resize(l, v, 64, sign);
    }
    LLVMValueRef r = LLVMBuildMul(l->b, m[0], m[1], "");
    if (high)
        r = LLVMBuildLShr(l->b, r, imm(l, r, 16), "");
    r = low_resize(l, r, 32, false);
    return x->p->opcode == WEIR_PTX_OP_mad24 ? LLVMBuildAdd(l->b, r, x->a[2], "") : r;
}

LLVMValueRef low_carry_out(struct low *l, struct low_args *x)
{
    LLVMValueRef a = x->a[0], b = x->a[1];
    bool sub = false;
    switch (x->p->opcode) {
    case WEIR_PTX_OP_sub:
    case WEIR_PTX_OP_subc:
        sub = true;
        break;
    case WEIR_PTX_OP_mad:
    case WEIR_PTX_OP_madc:
        a = product(l, x->p, a, b);
        b = x->a[2];
        break;
    default:
        break;
    }
    LLVMValueRef c = x->carry ? low_resize(l, x->carry, low_bits_of(a), false) : NULL;
    if (sub) { /* nothing borrowed: a > b, or equal with nothing borrowed before */
        if (!c)
            return cmp(l, LLVMIntUGE, a, b);
        LLVMValueRef same = LLVMBuildAnd(l->b, cmp(l, LLVMIntEQ, a, b), x->carry, "");
        return LLVMBuildOr(l->b, cmp(l, LLVMIntUGT, a, b), same, "");
    }
    LLVMValueRef s = LLVMBuildAdd(l->b, a, b, ""), r = cmp(l, LLVMIntULT, s, a);
    if (c)
        r = LLVMBuildOr(l->b, r, cmp(l, LLVMIntULT, LLVMBuildAdd(l->b, s, c, ""), s), "");
    return r;
}

static LLVMValueRef absolute_difference(struct low *l, struct low_args *x)
{
    bool sign = is_signed(x->p);
    LLVMValueRef lo = low_binary(l, sign ? "llvm.smin" : "llvm.umin", x->a[0], x->a[1]);
    LLVMValueRef hi = low_binary(l, sign ? "llvm.smax" : "llvm.umax", x->a[0], x->a[1]);
    return LLVMBuildAdd(l->b, x->a[2], LLVMBuildSub(l->b, hi, lo, ""), "");
}

/* fns: downwards is upwards in the mirrored mask; all set bits before the wanted one are cleared.
 */
static LLVMValueRef nth_bit(struct low *l, LLVMValueRef mask, LLVMValueRef base, LLVMValueRef n)
{
    LLVMValueRef zero = imm(l, n, 0), one = imm(l, n, 1), last = imm(l, n, 31);
    LLVMValueRef down = cmp(l, LLVMIntSLT, n, zero), here = cmp(l, LLVMIntEQ, n, zero);
    LLVMValueRef m = sel(l, down, low_unary(l, "llvm.bitreverse", mask), mask);
    LLVMValueRef from = sel(l, down, LLVMBuildSub(l->b, last, base, ""), base);
    LLVMValueRef at = LLVMBuildAnd(l->b, from, last, "");
    LLVMValueRef keep =
        sel(l, here, LLVMBuildShl(l->b, one, at, ""), LLVMBuildShl(l->b, imm(l, n, -1), at, ""));
    m = sel(l, cmp(l, LLVMIntULT, from, imm(l, n, 32)), LLVMBuildAnd(l->b, m, keep, ""), zero);
    LLVMValueRef count = low_binary(l, "llvm.abs", n, LLVMConstInt(l->t.i1, 0, 0));
    for (int k = 1; k < 32; k++) {
        LLVMValueRef less = LLVMBuildAnd(l->b, m, LLVMBuildSub(l->b, m, one, ""), "");
        m = sel(l, cmp(l, LLVMIntUGT, count, imm(l, n, k)), less, m);
    }
    m = sel(l, cmp(l, LLVMIntUGT, count, imm(l, n, 32)), zero, m);
    LLVMValueRef r = low_binary(l, "llvm.cttz", m, LLVMConstInt(l->t.i1, 0, 0));
    r = sel(l, down, LLVMBuildSub(l->b, last, r, ""), r);
    return sel(l, cmp(l, LLVMIntEQ, m, zero), imm(l, n, -1), r);
}

static LLVMValueRef least_zero(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef v)
{
    return p->relu ? low_binary(l, "llvm.smax", v, imm(l, v, 0)) : v;
}

static LLVMValueRef packed16(struct low *l, struct low_args *x)
{
    /* min, max, add of .u16x2 / .s16x2: two halves */
    bool sign = x->p->type[0] == WEIR_PTX_S16X2;
    LLVMValueRef r = NULL;
    for (unsigned k = 0; k < 2; k++) {
        LLVMValueRef a = LLVMBuildLShr(l->b, x->a[0], imm(l, x->a[0], 16 * (int64_t)k), "");
        LLVMValueRef b = LLVMBuildLShr(l->b, x->a[1], imm(l, x->a[1], 16 * (int64_t)k), ""), v;
        a = low_resize(l, a, 16, false);
        b = low_resize(l, b, 16, false);
        if (x->p->opcode == WEIR_PTX_OP_add)
            v = LLVMBuildAdd(l->b, a, b, "");
        else if (x->p->opcode == WEIR_PTX_OP_min)
            v = low_binary(l, sign ? "llvm.smin" : "llvm.umin", a, b);
        else if (x->p->opcode == WEIR_PTX_OP_max)
            v = low_binary(l, sign ? "llvm.smax" : "llvm.umax", a, b);
        else
            low_refuse(l, x->p, "packed type");
        v = least_zero(l, x->p, v);
        v = low_resize(l, v, 32, false);
        if (k)
            v = LLVMBuildShl(l->b, v, imm(l, v, 16), "");
        r = r ? LLVMBuildOr(l->b, r, v, "") : v;
    }
    return r;
}

static LLVMValueRef to_shared(struct low *l, struct low_args *x)
{
    const struct weir_ptx_inst *p = x->p;
    LLVMValueRef a = low_resize(l, x->a[0], 64, false), off;
    bool to = p->sub == WEIR_PTX_SUB_TO;
    if (p->space == WEIR_PTX_SHARED || p->space == WEIR_PTX_SHARED_CLUSTER) {
        off = LLVMBuildPtrToInt(l->b, l->shared, l->t.i64, "");
    } else if (p->space == WEIR_PTX_LOCAL) {
        off = low_local_base(l, x->vector, x->g);
    } else {
        return a;
    }
    if (low_is_vec(a) && !low_is_vec(off))
        off = low_splat(l, off);
    return to ? LLVMBuildSub(l->b, a, off, "") : LLVMBuildAdd(l->b, a, off, "");
}

LLVMValueRef low_arith(struct low *l, struct low_args *x)
{
    const struct weir_ptx_inst *p = x->p;
    LLVMValueRef a = x->a[0], b = x->a[1], c = x->a[2];
    bool sign = is_signed(p);
    if (p->type[0] == WEIR_PTX_U16X2 || p->type[0] == WEIR_PTX_S16X2)
        return packed16(l, x);
    if (weir_ptx_type_is_float(p->type[0]) && p->opcode != WEIR_PTX_OP_mov &&
        p->opcode != WEIR_PTX_OP_selp && p->opcode != WEIR_PTX_OP_slct)
        return NULL;
    switch (p->opcode) { /* dispatch */
    case WEIR_PTX_OP_mov:
        return a;
    case WEIR_PTX_OP_cvta:
        return to_shared(l, x);
    case WEIR_PTX_OP_add:
        return p->sat ? saturate_add(l, x) : LLVMBuildAdd(l->b, a, b, "");
    case WEIR_PTX_OP_sub:
        return p->sat ? saturate_add(l, x) : LLVMBuildSub(l->b, a, b, "");
    case WEIR_PTX_OP_addc:
        return with_carry(l, x, false);
    case WEIR_PTX_OP_subc:
        return with_carry(l, x, true);
    case WEIR_PTX_OP_mul:
        return product(l, p, a, b);
    case WEIR_PTX_OP_mad:
    case WEIR_PTX_OP_madc:
        return multiply_add(l, x);
    case WEIR_PTX_OP_mul24:
    case WEIR_PTX_OP_mad24:
        return mul24(l, x);
    case WEIR_PTX_OP_sad:
        return absolute_difference(l, x);
    case WEIR_PTX_OP_div:
        return divide(l, p, a, b, false);
    case WEIR_PTX_OP_rem:
        return divide(l, p, a, b, true);
    case WEIR_PTX_OP_abs:
        return low_binary(l, "llvm.abs", a, LLVMConstInt(l->t.i1, 0, 0));
    case WEIR_PTX_OP_neg:
        return LLVMBuildNeg(l->b, a, "");
    case WEIR_PTX_OP_min:
        return least_zero(l, p, low_binary(l, sign ? "llvm.smin" : "llvm.umin", a, b));
    case WEIR_PTX_OP_max:
        return least_zero(l, p, low_binary(l, sign ? "llvm.smax" : "llvm.umax", a, b));
    case WEIR_PTX_OP_popc:
        return count_bits(l, "llvm.ctpop", a, false);
    case WEIR_PTX_OP_clz:
        return count_bits(l, "llvm.ctlz", a, true);
    case WEIR_PTX_OP_bfind:
        return find_bit(l, p, a);
    case WEIR_PTX_OP_brev:
        return low_unary(l, "llvm.bitreverse", a);
    case WEIR_PTX_OP_bfe:
        return extract_field(l, p, a, b, c);
    case WEIR_PTX_OP_bfi:
        return insert_field(l, a, b, c, x->a[3]);
    case WEIR_PTX_OP_szext:
        return extend_from(l, p, a, b);
    case WEIR_PTX_OP_bmsk:
        return bit_mask(l, p, a, b);
    case WEIR_PTX_OP_dp4a:
    case WEIR_PTX_OP_dp2a:
        return dot(l, x);
    case WEIR_PTX_OP_and:
        return LLVMBuildAnd(l->b, a, b, "");
    case WEIR_PTX_OP_or:
        return LLVMBuildOr(l->b, a, b, "");
    case WEIR_PTX_OP_xor:
        return LLVMBuildXor(l->b, a, b, "");
    case WEIR_PTX_OP_not:
        return LLVMBuildNot(l->b, a, "");
    case WEIR_PTX_OP_cnot:
        return low_resize(l, cmp(l, LLVMIntEQ, a, imm(l, a, 0)), low_bits_of(a), false);
    case WEIR_PTX_OP_lop3:
        return logic3(l, x);
    case WEIR_PTX_OP_shl:
    case WEIR_PTX_OP_shr:
        return shift(l, p, a, b);
    case WEIR_PTX_OP_shf:
        return funnel(l, p, a, b, c);
    case WEIR_PTX_OP_fns:
        return nth_bit(l, a, b, c);
    case WEIR_PTX_OP_prmt:
        return permute(l, p, a, b, c);
    case WEIR_PTX_OP_selp:
        return sel(l, c, a, b);
    case WEIR_PTX_OP_isspacep:
        return low_is_space(l, x);
    default:
        return NULL;
    }
}
