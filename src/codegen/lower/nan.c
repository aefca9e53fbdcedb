/* NaNs of f32. Results are 0x7fffffff on a GPU; a CPU passes payloads on and makes negative ones.
 * That matters only where bits are seen: in stores, bit moves, shuffles, integer instructions. So
 * NaNs are replaced there, once, and arithmetic stays as it is. Values whose bits come from
 * elsewhere (loads, bit moves) keep their payload: each register is found to hold such bits (RAW),
 * results (FRESH), or both; in registers that hold both, results are replaced when they are
 * written.
 * SPDX-License-Identifier: Apache-2.0 */
#include "codegen/lower/lower.h"

enum { RAW = 1, FRESH = 2, SEEN = 4 };

enum kind {
    K_OTHER,  /* sees the bits of its operands and makes bits */
    K_RESULT, /* arithmetic: operands as numbers, NaN results of its own */
    K_NUMBER, /* operands as numbers, no NaN of its own */
    K_COPY,   /* operands 1 and perhaps 2 as they are */
    K_SIGN,   /* the same with another sign: sees bits when somebody sees its own */
};

static bool is_f32(uint8_t t)
{
    return t == WEIR_PTX_F32;
}

static enum kind cvt_kind(const struct weir_ptx_inst *p)
{
    bool from = weir_ptx_type_is_float(p->type[1]);
    if (is_f32(p->type[0]) && p->type[1] == WEIR_PTX_F64 && !p->sat)
        return K_OTHER; /* the payload's upper bits stay, on a GPU as here */
    if (is_f32(p->type[0]) && p->type[1] == WEIR_PTX_BF16 && !p->sat)
        return K_OTHER; /* a shift */
    if (is_f32(p->type[0]))
        return from && !p->sat ? K_RESULT : K_NUMBER;
    /* to f64 the payload would be seen later; to halves and integers it is not */
    return is_f32(p->type[1]) && p->type[0] != WEIR_PTX_F64 ? K_NUMBER : K_OTHER;
}

static enum kind kind_of(const struct low_inst *i)
{
    const struct weir_ptx_inst *p = i->p;
    if (i->kind != LOW_PTX)
        return K_OTHER;
    switch (p->opcode) { /* dispatch */
    case WEIR_PTX_OP_add:
    case WEIR_PTX_OP_sub:
    case WEIR_PTX_OP_mul:
    case WEIR_PTX_OP_fma:
    case WEIR_PTX_OP_mad:
    case WEIR_PTX_OP_div:
    case WEIR_PTX_OP_min:
    case WEIR_PTX_OP_max:
    case WEIR_PTX_OP_sqrt:
    case WEIR_PTX_OP_rcp:
    case WEIR_PTX_OP_rsqrt:
    case WEIR_PTX_OP_sin:
    case WEIR_PTX_OP_cos:
    case WEIR_PTX_OP_ex2:
    case WEIR_PTX_OP_lg2:
    case WEIR_PTX_OP_tanh:
        return !is_f32(p->type[0]) ? K_OTHER : p->sat ? K_NUMBER : K_RESULT;
    case WEIR_PTX_OP_setp:
    case WEIR_PTX_OP_testp:
        return is_f32(p->type[0]) ? K_NUMBER : K_OTHER;
    case WEIR_PTX_OP_set:
        return is_f32(p->type[1]) ? K_NUMBER : K_OTHER;
    case WEIR_PTX_OP_cvt:
        return cvt_kind(p);
    case WEIR_PTX_OP_mov:
        return p->operands[0].kind == WEIR_PTX_OPERAND_REG &&
                       p->operands[1].kind != WEIR_PTX_OPERAND_VECTOR
                   ? K_COPY
                   : K_OTHER;
    case WEIR_PTX_OP_selp:
    case WEIR_PTX_OP_slct:
        return K_COPY;
    case WEIR_PTX_OP_neg:
    case WEIR_PTX_OP_abs:
        return is_f32(p->type[0]) ? K_SIGN : K_OTHER;
    default:
        return K_OTHER;
    }
}

static int32_t dest_of(const struct low *l, const struct low_inst *i)
{
    const struct weir_ptx_operand *o = &i->p->operands[0];
    return o->kind == WEIR_PTX_OPERAND_REG ? low_reg_of(l, i, o->reg) : -1;
}

static bool is_nan_literal(const struct weir_ptx_operand *o)
{
    return (((uint64_t)o->imm & 0x7fffffff) > 0x7f800000) || o->kind == WEIR_PTX_OPERAND_F64;
}

/* What a copied operand brings; registers that hold both have had their results replaced. */
static uint8_t brings(const struct low *l, const struct low_inst *i,
                      const struct weir_ptx_operand *o)
{
    switch (o->kind) {
    case WEIR_PTX_OPERAND_REG: {
        uint8_t n = l->regs.items[low_reg_of(l, i, o->reg)].nan;
        return n & RAW ? RAW : n & FRESH;
    }
    case WEIR_PTX_OPERAND_INT:
    case WEIR_PTX_OPERAND_F32:
        return is_nan_literal(o) ? RAW : 0;
    default:
        return RAW;
    }
}

struct pass {
    struct low *l;
    uint8_t add; /* to definitions, or to uses */
    enum low_visit what;
    bool changed;
};

static void add_flags(void *ctx, int32_t reg, enum low_visit what)
{
    struct pass *x = ctx;
    struct low_reg *r = &x->l->regs.items[reg];
    if ((what == LOW_DEF) != (x->what == LOW_DEF) || (r->nan | x->add) == r->nan)
        return;
    r->nan |= x->add;
    x->changed = true;
}

/* What the instruction's results hold. */
static uint8_t holds(const struct low *l, const struct low_inst *i)
{
    const struct weir_ptx_inst *p = i->p;
    switch (kind_of(i)) {
    case K_RESULT:
        return FRESH;
    case K_NUMBER:
        return 0;
    case K_COPY:
        return brings(l, i, &p->operands[1]) |
               (p->opcode == WEIR_PTX_OP_mov ? 0 : brings(l, i, &p->operands[2]));
    default:
        return RAW;
    }
}

static bool sees(const struct low *l, const struct low_inst *i)
{
    int32_t d;
    switch (kind_of(i)) {
    case K_RESULT:
    case K_NUMBER:
        return false;
    case K_COPY:
    case K_SIGN:
        d = dest_of(l, i);
        return d >= 0 && l->regs.items[d].nan & SEEN;
    default:
        return true;
    }
}

void low_nan_find(struct low *l)
{
    struct pass x = {.l = l, .changed = true};
    while (x.changed) {
        x.changed = false;
        for (size_t k = 0; k < l->insts.count; k++) {
            const struct low_inst *i = &l->insts.items[k];
            if (i->kind == LOW_JUMP || i->kind == LOW_SKIP)
                continue;
            x.what = LOW_DEF;
            x.add = holds(l, i);
            low_inst_visit(l, i, add_flags, &x);
        }
        for (size_t k = l->insts.count; k-- > 0;) {
            const struct low_inst *i = &l->insts.items[k];
            if (i->kind == LOW_JUMP || i->kind == LOW_SKIP || !sees(l, i))
                continue;
            x.what = LOW_USE;
            x.add = SEEN;
            low_inst_visit(l, i, add_flags, &x);
        }
    }
}

static void replace(struct low *l, struct low_val *v)
{
    unsigned n = v->shape == LOW_UNIFORM ? 1 : l->groups;
    for (unsigned g = 0; g < n; g++) {
        LLVMTypeRef was = low_scalar_type(LLVMTypeOf(v->v[g]));
        LLVMValueRef f = low_bitcast(l, v->v[g], l->t.f32);
        LLVMValueRef nan = LLVMBuildFCmp(l->b, LLVMRealUNO, f, f, "");
        f = LLVMBuildSelect(l->b, nan, low_fbits(l, LLVMTypeOf(f), 0x7fffffff), f, "");
        v->v[g] = low_bitcast(l, f, was);
    }
}

void low_nan_read(struct low *l, const struct low_inst *i, int32_t reg, struct low_val *v)
{
    if ((l->regs.items[reg].nan & (RAW | FRESH)) != FRESH || l->regs.items[reg].bits != 32)
        return;
    enum kind k = kind_of(i);
    if (k == K_RESULT || k == K_NUMBER)
        return;
    if (k == K_COPY || k == K_SIGN) {
        int32_t d = dest_of(l, i);
        if (d < 0 || !(l->regs.items[d].nan & SEEN) || !(l->regs.items[d].nan & RAW))
            return;
    }
    replace(l, v);
}

void low_nan_write(struct low *l, int32_t reg, struct low_val *v)
{
    const struct low_reg *r = &l->regs.items[reg];
    if (r->bits == 32 && (r->nan & (RAW | SEEN)) == (RAW | SEEN) && kind_of(l->inst) == K_RESULT)
        replace(l, v);
}
