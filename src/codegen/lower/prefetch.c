/* Asks for memory that will be loaded later, when something is loaded. A wrong guess costs an
 * instruction: prefetches never fault.
 *
 * Loops whose loads lie far apart from one pass to the next (a grid-stride loop moves on by the
 * whole grid): a warp runs such a loop to its end alone, no hardware prefetcher follows over
 * pages, and lines of a power of two apart share one set of each cache. The step is worked out from
 * the PTX: the address is linear in a register that the loop increases by what does not change in
 * it.
 *
 * Elsewhere the blocks that follow mostly load what follows in memory. A block with barriers stops
 * at each, so that the processor comes to the next block's loads late.
 * SPDX-License-Identifier: Apache-2.0 */
#include "codegen/lower/access.h"

#define AHEAD       12u /* accesses of a loop: more would push each other out of the cache */
#define NEXT_BLOCKS 8192u
#define NEXT_TILES                                                                                 \
    128u              /* of blocks whose rows are shorter than a warp: the same rows, further on */
#define NEAR      512 /* bytes that the hardware follows by itself */
#define FEW       2u  /* accesses of a loop in which warps take turns: more want more sets each */
#define MAX_DEPTH 16u
#define LINE      64

struct walk {
    struct low *l;
    const struct low_loop *loop;
    uint64_t *defs;    /* registers that the loop writes */
    uint32_t accesses; /* that may be to different lines: loops that were unrolled have many */
};

static void note_def(void *ctx, int32_t reg, enum low_visit what)
{
    if (what == LOW_DEF)
        low_bit_set(ctx, (uint32_t)reg);
}

/* The loop's only instruction that writes the register; NULL: none, or several. */
static const struct low_inst *only_def(const struct walk *w, int32_t reg)
{
    const struct low *l = w->l;
    const struct low_inst *found = NULL;
    uint64_t *set = low_alloc(w->l, l->reg_words * sizeof *set);
    for (uint32_t b = 0; b < l->blocks.count; b++)
        for (uint32_t n = l->blocks.items[b].first;
             low_bit(w->loop->blocks, b) && n < l->blocks.items[b].end; n++) {
            const struct low_inst *i = &l->insts.items[n];
            low_inst_visit(l, i, note_def, set);
            if (!low_bit(set, (uint32_t)reg))
                continue;
            if (found)
                return NULL;
            found = i;
            set[reg >> 6] &= ~((uint64_t)1 << (reg & 63));
        }
    return found;
}

/* The value of an operand that is one for the warp and the same in each pass, as i64; else NULL. */
static LLVMValueRef invariant(const struct walk *w, const struct low_inst *i, unsigned k,
                              enum weir_ptx_type type)
{
    const struct weir_ptx_operand *o = &i->p->operands[k];
    if (low_operand_fact(w->l, i, o, type).shape != LOW_UNIFORM ||
        (o->kind == WEIR_PTX_OPERAND_REG &&
         low_bit(w->defs, (uint32_t)low_reg_of(w->l, i, o->reg))))
        return NULL;
    return low_resize(w->l, low_read(w->l, i, o, type).v[0], 64, weir_ptx_type_bits(type) == 32);
}

static int32_t operand_reg(const struct walk *w, const struct low_inst *i, unsigned k)
{
    const struct weir_ptx_operand *o = &i->p->operands[k];
    return o->kind == WEIR_PTX_OPERAND_REG ? low_reg_of(w->l, i, o->reg) : -1;
}

static bool is_step(const struct low_inst *i)
{
    return i && i->kind == LOW_PTX && i->p->guard < 0 && i->p->dest_count == 1;
}

/* What is added to register `to` until the instruction's result is made; NULL: something else. */
static LLVMValueRef sum_since(const struct walk *w, const struct low_inst *i, int32_t to)
{
    LLVMBuilderRef b = w->l->b;
    LLVMValueRef sum = LLVMConstInt(w->l->t.i64, 0, 0);
    for (unsigned depth = 0; depth < MAX_DEPTH && is_step(i); depth++) {
        const struct weir_ptx_inst *p = i->p;
        unsigned from = 1;
        if (p->opcode == WEIR_PTX_OP_add || p->opcode == WEIR_PTX_OP_sub) {
            LLVMValueRef x = invariant(w, i, 2, p->type[0]);
            if (!x && p->opcode == WEIR_PTX_OP_add) {
                x = invariant(w, i, 1, p->type[0]);
                from = 2;
            }
            if (!x)
                return NULL;
            sum = p->opcode == WEIR_PTX_OP_sub ? LLVMBuildSub(b, sum, x, "")
                                               : LLVMBuildAdd(b, sum, x, "");
        } else if (p->opcode != WEIR_PTX_OP_mov) {
            return NULL;
        }
        int32_t reg = operand_reg(w, i, from);
        if (reg == to)
            return sum;
        i = reg < 0 ? NULL : only_def(w, reg);
    }
    return NULL;
}

static LLVMValueRef step_of(const struct walk *w, int32_t reg, unsigned depth);

static LLVMValueRef step_of_operand(const struct walk *w, const struct low_inst *i, unsigned k,
                                    unsigned depth)
{
    const struct weir_ptx_operand *o = &i->p->operands[k];
    if (o->kind == WEIR_PTX_OPERAND_VECTOR || o->kind == WEIR_PTX_OPERAND_ADDRESS)
        return NULL;
    int32_t reg = operand_reg(w, i, k);
    return reg < 0 ? LLVMConstInt(w->l->t.i64, 0, 0) : step_of(w, reg, depth + 1);
}

static LLVMValueRef step_of_product(const struct walk *w, const struct low_inst *i, unsigned depth)
{
    LLVMValueRef by = invariant(w, i, 2, i->p->type[0]), a;
    unsigned other = 1;
    if (!by) {
        by = invariant(w, i, 1, i->p->type[0]);
        other = 2;
    }
    if (!by || !(a = step_of_operand(w, i, other, depth)))
        return NULL;
    return LLVMBuildMul(w->l->b, a, by, "");
}

/* How much more the instruction's result is in the next pass. */
static LLVMValueRef step_of_value(const struct walk *w, const struct low_inst *i, unsigned depth)
{
    LLVMBuilderRef b = w->l->b;
    LLVMValueRef x, y;
    switch (i->p->opcode) {
    case WEIR_PTX_OP_mov:
    case WEIR_PTX_OP_cvt:
    case WEIR_PTX_OP_cvta:
        return step_of_operand(w, i, 1, depth);
    case WEIR_PTX_OP_add:
    case WEIR_PTX_OP_sub:
        x = step_of_operand(w, i, 1, depth);
        y = x ? step_of_operand(w, i, 2, depth) : NULL;
        if (!y)
            return NULL;
        return i->p->opcode == WEIR_PTX_OP_add ? LLVMBuildAdd(b, x, y, "")
                                               : LLVMBuildSub(b, x, y, "");
    case WEIR_PTX_OP_mul:
        return step_of_product(w, i, depth);
    case WEIR_PTX_OP_mad:
        x = step_of_product(w, i, depth);
        y = x ? step_of_operand(w, i, 3, depth) : NULL;
        return y ? LLVMBuildAdd(b, x, y, "") : NULL;
    case WEIR_PTX_OP_shl:
        x = step_of_operand(w, i, 1, depth);
        y = x ? invariant(w, i, 2, WEIR_PTX_U32) : NULL;
        return y ? LLVMBuildShl(b, x, LLVMBuildAnd(b, y, LLVMConstInt(w->l->t.i64, 63, 0), ""), "")
                 : NULL;
    default:
        return NULL;
    }
}

static LLVMValueRef step_of(const struct walk *w, int32_t reg, unsigned depth)
{
    const struct low *l = w->l;
    if (!low_bit(w->defs, (uint32_t)reg))
        return LLVMConstInt(l->t.i64, 0, 0);
    const struct low_inst *i = only_def(w, reg);
    if (!is_step(i) || depth > MAX_DEPTH)
        return NULL;
    return l->regs.items[reg].def_count == 1 ? step_of_value(w, i, depth) : sum_since(w, i, reg);
}

static bool has_barrier(const struct low *l, const struct low_loop *loop)
{
    for (uint32_t b = 0; b < l->blocks.count; b++)
        if (low_bit(loop->blocks, b) && l->blocks.items[b].term == LOW_TERM_BARRIER)
            return true;
    return false;
}

/* The address of a load or store of the block's or grid's memory that differs between lanes; NULL:
 * of none. */
static const struct weir_ptx_operand *spread_address(const struct low *l, const struct low_inst *i)
{
    if (i->kind != LOW_PTX || (i->p->opcode != WEIR_PTX_OP_ld && i->p->opcode != WEIR_PTX_OP_st) ||
        (i->p->space != WEIR_PTX_GLOBAL && i->p->space != WEIR_PTX_GENERIC))
        return NULL;
    for (unsigned k = 0; k < i->p->operand_count; k++)
        if (i->p->operands[k].kind == WEIR_PTX_OPERAND_ADDRESS)
            return low_address_fact(l, i, &i->p->operands[k]).shape != LOW_UNIFORM
                       ? &i->p->operands[k]
                       : NULL;
    return NULL;
}

static void look_at_loop(struct walk *w)
{
    struct low *l = w->l;
    for (uint32_t b = 0; b < l->blocks.count; b++)
        for (uint32_t n = l->blocks.items[b].first;
             low_bit(w->loop->blocks, b) && n < l->blocks.items[b].end; n++) {
            low_inst_visit(l, &l->insts.items[n], note_def, w->defs);
            w->accesses += spread_address(l, &l->insts.items[n]) != NULL;
        }
}

/* Bytes that an address moves on by in a pass, i64; NULL: not known, or so few that the hardware
 * follows. */
static LLVMValueRef far_step(const struct walk *w, int32_t reg)
{
    LLVMValueRef step = step_of(w, reg, 0);
    if (step && LLVMIsAConstantInt(step)) {
        long long by = LLVMConstIntGetSExtValue(step);
        if (by > -NEAR && by < NEAR)
            return NULL;
    }
    return step;
}

/* Bytes that the access's address moves on by in the passes that lie ahead, i64; NULL: there is
 * nothing to do. */
static LLVMValueRef steps_ahead(struct low *l, const struct low_access *x,
                                const struct low_loop *loop)
{
    struct walk w = {l, loop, low_alloc(l, l->reg_words * sizeof(uint64_t)), 0};
    look_at_loop(&w);
    LLVMValueRef step = far_step(&w, low_reg_of(l, x->i, x->a.op->reg));
    if (!step)
        return NULL;
    uint32_t passes = l->blocks.items[loop->header].turn
                          ? LOW_TURN_PASSES
                          : WEIR_MAX(1u, AHEAD / WEIR_MAX(1u, w.accesses));
    return LLVMBuildMul(l->b, step, LLVMConstInt(l->t.i64, passes, 0), "");
}

bool low_strides_far(struct low *l, const struct low_loop *loop)
{
    struct walk w = {l, loop, low_alloc(l, l->reg_words * sizeof(uint64_t)), 0};
    look_at_loop(&w);
    for (uint32_t b = 0; b < l->blocks.count && w.accesses <= FEW; b++)
        for (uint32_t n = l->blocks.items[b].first;
             low_bit(loop->blocks, b) && n < l->blocks.items[b].end; n++) {
            const struct low_inst *i = &l->insts.items[n];
            const struct weir_ptx_operand *o = spread_address(l, i);
            if (i->kind == LOW_PTX && i->p->opcode == WEIR_PTX_OP_ld && o && o->reg >= 0 &&
                far_step(&w, low_reg_of(l, i, o->reg)))
                return true;
        }
    return false;
}

/* How far ahead to ask; NULL: there is nothing to do. */
static LLVMValueRef bytes_ahead(struct low *l, const struct low_access *x)
{
    int32_t loop = l->blocks.items[l->block].loop;
    if (loop < 0)
        return LLVMConstInt(l->t.i64, l->request->block[0] % LOW_LANES ? NEXT_TILES : NEXT_BLOCKS,
                            0);
    if (x->a.op->reg < 0 || has_barrier(l, &l->loops.items[loop]))
        return NULL;
    return steps_ahead(l, x, &l->loops.items[loop]);
}

void low_prefetch(struct low *l, const struct low_access *x)
{
    if (l->request->tier != WEIR_JIT_BEST || l->general ||
        (x->a.space != WEIR_PTX_GLOBAL && x->a.space != WEIR_PTX_GENERIC))
        return;
    int64_t further;
    if (!low_row_asks(l, x, LINE, &further))
        return;
    LLVMValueRef ahead = bytes_ahead(l, x);
    if (ahead)
        ahead = LLVMBuildAdd(l->b, ahead, LLVMConstInt(l->t.i64, (uint64_t)further, 0), "");
    uint32_t span = l->width * x->size * x->comps; /* of a group */
    for (unsigned g = 0; ahead && g < l->groups; g++)
        for (uint32_t at = 0; at < span; at += LINE) {
            if (at == 0 && g % WEIR_MAX(1u, LINE / span))
                continue; /* mostly in the line of the group before */
            LLVMValueRef off = LLVMBuildAdd(l->b, ahead, LLVMConstInt(l->t.i64, at, 0), "");
            LLVMValueRef p = low_group_pointer(l, &x->a, g);
            LLVMValueRef args[4] = {LLVMBuildGEP2(l->b, l->t.i8, p, &off, 1, ""),
                                    LLVMConstInt(l->t.i32, x->p->opcode == WEIR_PTX_OP_st, 0),
                                    LLVMConstInt(l->t.i32, 3, 0), LLVMConstInt(l->t.i32, 1, 0)};
            LLVMTypeRef over[1] = {l->t.ptr};
            low_intrinsic(l, "llvm.prefetch", over, 1, args, 4);
        }
}
