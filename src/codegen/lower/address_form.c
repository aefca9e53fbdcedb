/* Addresses for the slow path. Most are base + scale * extend(index + more), with one vector of
 * 32-bit indices: the slow path works the addresses out itself from these, which is far less code
 * than 64-bit vectors.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/bits.h"
#include "codegen/lower/lower.h"

static LLVMValueRef plus(struct low *l, LLVMValueRef a, LLVMValueRef b)
{
    return !a ? b : !b ? a : LLVMBuildAdd(l->b, a, b, "");
}

/* The operand's register when it is not uniform; else -1 and its value is added to *sum. */
static int32_t varying_operand(struct low *l, const struct low_inst *i, unsigned k, bool minus,
                               enum weir_ptx_type type, LLVMValueRef *sum)
{
    const struct weir_ptx_operand *o = &i->p->operands[k];
    if (low_operand_fact(l, i, o, type).shape != LOW_UNIFORM)
        return o->kind == WEIR_PTX_OPERAND_REG ? low_reg_of(l, i, o->reg) : INT32_MIN;
    if (sum) {
        LLVMValueRef v = low_read(l, i, o, type).v[0];
        *sum = plus(l, *sum, minus ? LLVMBuildNeg(l->b, v, "") : v);
    }
    return -1;
}

/* a + b with one uniform side: the other side, or INT32_MIN. */
static int32_t through_sum(struct low *l, const struct low_inst *i, enum weir_ptx_type type,
                           LLVMValueRef *sum)
{
    bool sub = i->p->opcode == WEIR_PTX_OP_sub;
    int32_t a = varying_operand(l, i, 1, false, type, NULL);
    int32_t b = varying_operand(l, i, 2, sub, type, NULL);
    if (a >= 0 && b == -1) {
        (void)varying_operand(l, i, 2, sub, type, sum);
        return a;
    }
    if (b >= 0 && a == -1 && !sub) {
        (void)varying_operand(l, i, 1, false, type, sum);
        return b;
    }
    return INT32_MIN;
}

/* The register's definition, where what it was made of is still the same: earlier in this block. */
static const struct low_inst *definition_here(const struct low *l, const struct low_inst *use,
                                              int32_t reg)
{
    const struct low_reg *r = &l->regs.items[reg];
    const struct low_inst *i = &l->insts.items[r->def_inst];
    return r->def_count == 1 && i->kind == LOW_PTX && low_guard_of(l, i) < 0 && !i->p->cc &&
                   i < use && r->def_inst >= l->blocks.items[l->block].first
               ? i
               : NULL;
}

static bool changes(const struct low *l, const struct low_inst *i, unsigned k)
{
    const struct weir_ptx_operand *o = &i->p->operands[k];
    return o->kind == WEIR_PTX_OPERAND_REG && l->regs.items[low_reg_of(l, i, o->reg)].def_count > 1;
}

LLVMValueRef low_address_scalar(struct low *l, const struct low_address *a, unsigned bits)
{
    if (!a->op || a->op->reg < 0 || (a->op->imm & (int64_t)weir_bits_low(bits)))
        return NULL;
    const struct low_inst *i = definition_here(l, a->inst, low_reg_of(l, a->inst, a->op->reg));
    if (!i || i->p->opcode != WEIR_PTX_OP_add || weir_ptx_type_bits(i->p->type[0]) != 64)
        return NULL;
    for (unsigned k = 1; k <= 2; k++) {
        struct low_fact f = low_operand_fact(l, i, &i->p->operands[3 - k], WEIR_PTX_U64);
        LLVMValueRef sum = NULL;
        if (low_each_align(&f) < bits || changes(l, i, k))
            continue;
        if (varying_operand(l, i, k, false, WEIR_PTX_U64, &sum) == -1)
            return sum;
    }
    return NULL;
}

bool low_address_sum(struct low *l, const struct low_address *a, struct low_sum *s)
{
    if (l->request->tier != WEIR_JIT_BEST || l->general || a->op->reg < 0)
        return false;
    const struct low_reg *r = &l->regs.items[low_reg_of(l, a->inst, a->op->reg)];
    if (!r->is_virtual || r->bits != 64)
        return false;
    const struct low_inst *i = &l->insts.items[r->def_inst];
    *s = (struct low_sum){0};
    if (i->p->opcode != WEIR_PTX_OP_add)
        return false;
    int32_t wide = through_sum(l, i, WEIR_PTX_U64, NULL);
    if (wide < 0 || !l->regs.items[wide].is_virtual)
        return false;
    s->sum = i;
    s->base = &i->p->operands[varying_operand(l, i, 1, false, WEIR_PTX_U64, NULL) == wide ? 2 : 1];
    i = &l->insts.items[l->regs.items[wide].def_inst];
    if (i->p->opcode != WEIR_PTX_OP_mul || i->p->sub != WEIR_PTX_WIDE ||
        i->p->type[0] != WEIR_PTX_S32)
        return false;
    struct low_fact c = low_operand_fact(l, i, &i->p->operands[2], WEIR_PTX_U32);
    s->index = varying_operand(l, i, 1, false, WEIR_PTX_U32, NULL);
    s->scale = (int32_t)c.value;
    return c.is_const && s->scale > 0 && s->index >= 0 && l->regs.items[s->index].bits == 32;
}

LLVMValueRef low_sum_base(struct low *l, const struct low_sum *s)
{
    return low_read(l, s->sum, s->base, WEIR_PTX_U64).v[0];
}

static bool index_form(struct low *l, int32_t reg, struct low_form *f)
{
    for (unsigned depth = 0; depth < 8; depth++) {
        const struct low_reg *r = &l->regs.items[reg];
        if (r->bits != 32 || r->guarded)
            return false;
        f->root = reg;
        if (!r->is_virtual)
            return true;
        const struct low_inst *i = &l->insts.items[r->def_inst];
        if (i->p->opcode != WEIR_PTX_OP_add && i->p->opcode != WEIR_PTX_OP_sub)
            return false;
        reg = through_sum(l, i, WEIR_PTX_U32, &f->more);
        if (reg < 0)
            return false;
    }
    return false;
}

static bool wide_form(struct low *l, const struct low_inst *i, struct low_form *f)
{
    const struct weir_ptx_inst *p = i->p;
    bool mad = p->opcode == WEIR_PTX_OP_mad;
    if (p->sub != WEIR_PTX_WIDE || weir_ptx_type_bits(p->type[0]) != 32)
        return false;
    struct low_fact c = low_operand_fact(l, i, &p->operands[2], WEIR_PTX_U32);
    int32_t v = varying_operand(l, i, 1, false, WEIR_PTX_U32, NULL);
    if (!c.is_const || v < 0 ||
        (mad && varying_operand(l, i, 3, false, WEIR_PTX_U64, &f->base) != -1))
        return false;
    f->sign = weir_ptx_type_is_signed(p->type[0]);
    f->scale = f->sign ? (int32_t)c.value : (int64_t)(uint32_t)c.value;
    return index_form(l, v, f);
}

bool low_address_form(struct low *l, const struct low_address *a, struct low_form *f)
{
    *f = (struct low_form){.scale = 1};
    if (a->space == WEIR_PTX_SHARED || a->op->reg < 0)
        return false;
    int32_t reg = low_reg_of(l, a->inst, a->op->reg);
    for (unsigned depth = 0; depth < 8; depth++) {
        const struct low_reg *r = &l->regs.items[reg];
        if (!r->is_virtual || r->bits != 64)
            return false;
        const struct low_inst *i = &l->insts.items[r->def_inst];
        const struct weir_ptx_inst *p = i->p;
        switch (p->opcode) {
        case WEIR_PTX_OP_mul:
        case WEIR_PTX_OP_mad:
            return wide_form(l, i, f);
        case WEIR_PTX_OP_cvt:
            f->sign = weir_ptx_type_is_signed(p->type[1]);
            return weir_ptx_type_bits(p->type[1]) == 32 &&
                   p->operands[1].kind == WEIR_PTX_OPERAND_REG &&
                   index_form(l, low_reg_of(l, i, p->operands[1].reg), f);
        case WEIR_PTX_OP_add:
        case WEIR_PTX_OP_sub:
            reg = through_sum(l, i, WEIR_PTX_U64, &f->base);
            if (reg < 0)
                return false;
            break;
        default:
            return false;
        }
    }
    return false;
}
