/* Video instructions. The scalar ones compute in 64 bits on a byte, a half or the whole of their
 * operands; the others on 2 or 4 parts of a register, in 32 bits. Source: PTX ISA, "Video
 * Instructions".
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "codegen/lower/lower.h"

/* What the opcodes of one family compute. */
enum video {
    VIDEO_NONE,
    V_ADD,
    V_SUB,
    V_AVRG,
    V_ABSDIFF,
    V_MIN,
    V_MAX,
    V_SET,
    V_SHL,
    V_SHR,
    V_MAD
};

static const struct {
    uint16_t opcode;
    uint8_t parts, what;
} video_ops[] = {
    {WEIR_PTX_OP_vadd, 1, V_ADD},          {WEIR_PTX_OP_vadd2, 2, V_ADD},
    {WEIR_PTX_OP_vadd4, 4, V_ADD},         {WEIR_PTX_OP_vsub, 1, V_SUB},
    {WEIR_PTX_OP_vsub2, 2, V_SUB},         {WEIR_PTX_OP_vsub4, 4, V_SUB},
    {WEIR_PTX_OP_vavrg2, 2, V_AVRG},       {WEIR_PTX_OP_vavrg4, 4, V_AVRG},
    {WEIR_PTX_OP_vabsdiff, 1, V_ABSDIFF},  {WEIR_PTX_OP_vabsdiff2, 2, V_ABSDIFF},
    {WEIR_PTX_OP_vabsdiff4, 4, V_ABSDIFF}, {WEIR_PTX_OP_vmin, 1, V_MIN},
    {WEIR_PTX_OP_vmin2, 2, V_MIN},         {WEIR_PTX_OP_vmin4, 4, V_MIN},
    {WEIR_PTX_OP_vmax, 1, V_MAX},          {WEIR_PTX_OP_vmax2, 2, V_MAX},
    {WEIR_PTX_OP_vmax4, 4, V_MAX},         {WEIR_PTX_OP_vset, 1, V_SET},
    {WEIR_PTX_OP_vset2, 2, V_SET},         {WEIR_PTX_OP_vset4, 4, V_SET},
    {WEIR_PTX_OP_vshl, 1, V_SHL},          {WEIR_PTX_OP_vshr, 1, V_SHR},
    {WEIR_PTX_OP_vmad, 1, V_MAD},
};

static enum video kind_of(uint16_t opcode, unsigned *parts)
{
    for (size_t k = 0; k < sizeof video_ops / sizeof video_ops[0]; k++)
        if (video_ops[k].opcode == opcode) {
            *parts = video_ops[k].parts;
            return (enum video)video_ops[k].what;
        }
    *parts = 0;
    return VIDEO_NONE;
}

unsigned low_video_parts(uint16_t opcode)
{
    unsigned parts;
    (void)kind_of(opcode, &parts);
    return parts;
}

/* ---- selectors: "b0", "h1", "b3210", the first character in the lowest byte ---- */

static unsigned selector_length(int64_t s)
{
    unsigned n = 0;
    while (n < 8 && (s >> (8 * n) & 0xff))
        n++;
    return n;
}

/* Digit k, counted from the end. */
static unsigned digit(int64_t s, unsigned k)
{
    unsigned n = selector_length(s);
    return (unsigned)(s >> (8 * (n - 1 - k)) & 0xff) - '0';
}

static bool selector_ok(int64_t s, unsigned parts, bool is_dest)
{
    unsigned n = selector_length(s), limit;
    bool bytes = (s & 0xff) == 'b';
    if (s == 0)
        return true;
    if (!bytes && (s & 0xff) != 'h')
        return false;
    limit = parts == 1 ? (bytes ? 4 : 2) : is_dest ? parts : 2 * parts;
    if (parts == 1 ? n != 2 : bytes != (parts == 4) || (!is_dest && n != parts + 1) || n < 2)
        return false;
    for (unsigned k = 0; k + 1 < n; k++)
        if (digit(s, k) >= limit)
            return false;
    return n <= parts + 1;
}

static bool types_ok(const struct weir_ptx_inst *p, unsigned n)
{
    for (unsigned k = 0; k < 3; k++) {
        bool is = p->type[k] == WEIR_PTX_U32 || p->type[k] == WEIR_PTX_S32;
        if (k < n ? !is : p->type[k] != WEIR_PTX_NONE)
            return false;
    }
    return true;
}

/* The second operation, by the form's last word. */
static enum weir_ptx_sub second(const struct weir_ptx_inst *p)
{
    const char *dot = strrchr(p->suffix, '.');
    if (!dot)
        return WEIR_PTX_SUB_NONE;
    return strcmp(dot, ".add") == 0   ? WEIR_PTX_SUB_ADD
           : strcmp(dot, ".min") == 0 ? WEIR_PTX_SUB_MIN
           : strcmp(dot, ".max") == 0 ? WEIR_PTX_SUB_MAX
                                      : WEIR_PTX_SUB_NONE;
}

/* The parser has no fields for all of these words. */
static bool words_ok(const struct weir_ptx_inst *p, enum video what)
{
    static const char *const cmps[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    static const char *const ends[] = {"", ".add", ".min", ".max", ".shr7", ".shr15"};
    const char *t[3];
    char text[80];
    for (unsigned k = 0; k < 3; k++)
        t[k] = weir_ptx_type_name((enum weir_ptx_type)p->type[k]);
    if (what != V_SET && what != V_MAD)
        return p->sub != WEIR_PTX_SUB_OTHER && p->sub2 == WEIR_PTX_SUB_NONE;
    for (unsigned k = 0; k < 6; k++) {
        if (what == V_SET && k < 4)
            snprintf(text, sizeof text, ".%s.%s.%s%s", t[0], t[1], cmps[p->cmp - WEIR_PTX_EQ],
                     ends[k]);
        else
            snprintf(text, sizeof text, ".%s.%s.%s%s%s%s", t[0], t[1], t[2],
                     strstr(p->suffix, ".po") ? ".po" : "", p->sat ? ".sat" : "",
                     k == 0 || k > 3 ? ends[k] : "");
        if (strcmp(text, p->suffix) == 0)
            return true;
    }
    return false;
}

static bool operands_ok(const struct weir_ptx_inst *p, enum video what, unsigned parts)
{
    bool third = parts != 1 || what == V_MAD || p->operands[0].imm || second(p);
    if (p->operand_count != (third ? 4 : 3))
        return false;
    for (unsigned k = 0; k < p->operand_count; k++)
        if (p->operands[k].kind == WEIR_PTX_OPERAND_REG &&
            !(k < 3 ? selector_ok(p->operands[k].imm, parts, k == 0) : p->operands[k].imm == 0))
            return false;
    return !(parts != 1 && second(p) > WEIR_PTX_SUB_ADD) && !(what == V_MAD && p->operands[0].imm);
}

bool low_video_ok(const struct weir_ptx_inst *p)
{
    unsigned parts;
    enum video what = kind_of(p->opcode, &parts);
    if (p->dest_count != 1 || p->operands[0].kind != WEIR_PTX_OPERAND_REG ||
        !types_ok(p, what == V_SET ? 2 : 3))
        return false;
    if (what == V_SET && (p->cmp < WEIR_PTX_EQ || p->cmp > WEIR_PTX_GE))
        return false;
    if ((what == V_SHL || what == V_SHR) && p->clamp == p->wrap)
        return false;
    return words_ok(p, what) && operands_ok(p, what, parts);
}

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
static LLVMValueRef one_part(struct low *l, const struct weir_ptx_inst *p, enum video what,
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
    int64_t high = ((int64_t)1 << (sign ? bits - 1 : bits)) - 1, low = sign ? -high - 1 : 0;
    return low_binary(l, "llvm.smax", low_binary(l, "llvm.smin", r, imm(l, r, high)),
                      imm(l, r, low));
}

/* ---- scalar ---- */

static LLVMValueRef selected(struct low *l, LLVMValueRef v, int64_t s, bool sign)
{
    unsigned bits = s == 0 ? 32 : (s & 0xff) == 'b' ? 8 : 16;
    v = bits == 32 ? v : part_of(l, v, digit(s, 0) * bits, bits, sign);
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
    unsigned bits = (s & 0xff) == 'b' ? 8 : 16, at = digit(s, 0) * bits;
    int64_t mask = (((int64_t)1 << bits) - 1) << at;
    r = LLVMBuildAnd(l->b, LLVMBuildShl(l->b, r, imm(l, r, at), ""), imm(l, r, mask), "");
    return LLVMBuildOr(l->b, r, LLVMBuildAnd(l->b, c, imm(l, c, ~mask), ""), "");
}

static LLVMValueRef secondary(struct low *l, const struct weir_ptx_inst *p, bool sign,
                              LLVMValueRef r, LLVMValueRef c)
{
    switch (second(p)) {
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

static LLVMValueRef scalar(struct low *l, struct low_args *x, enum video what)
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
    unsigned bits = 32 / parts, at = s ? digit(s, k) : k;
    LLVMValueRef v = x->a[operand - 1];
    if (s)
        v = x->a[at / parts];
    return part_of(l, v, at % parts * bits, bits, sign);
}

static bool masked_out(int64_t mask, unsigned k)
{
    for (unsigned n = 0; mask && n + 1 < selector_length(mask); n++)
        if (digit(mask, n) == k)
            return false;
    return mask != 0;
}

LLVMValueRef low_video(struct low *l, struct low_args *x)
{
    const struct weir_ptx_inst *p = x->p;
    unsigned parts, bits;
    enum video what = kind_of(p->opcode, &parts);
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
        r = LLVMBuildAnd(l->b, r, imm(l, r, ((int64_t)1 << bits) - 1), "");
        if (k)
            r = LLVMBuildShl(l->b, r, imm(l, r, k * bits), "");
        d = d ? LLVMBuildOr(l->b, d, r, "") : r;
    }
    return second(p) == WEIR_PTX_SUB_ADD ? sum : d;
}
