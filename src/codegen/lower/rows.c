/* Accesses of a block to one row: their addresses differ by a constant alone. Kernels that look at
 * what lies around a point make many of these, each with an index of its own that is worked out and
 * clamped to the borders anew. In a block's first form (twice.c) one comparison tells of all of
 * them, and where they lie is worked out once.
 *
 * An index of 32 bits is taken apart into registers and a constant, which are extended each and
 * added in 64 bits. That is the index itself where the sum is a number of 32 bits, which the
 * comparison asks as well. A register that is one value or another (a column, or the last one) is
 * taken for the one that moves on from lane to lane; whether it is, is asked once a block.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/bits.h"
#include "codegen/lower/access.h"

#define MAX_DEPTH 8u
#define MAX_BYTES (1 << 20)
#define MAX_SCALE (1 << 12) /* so that nothing wraps around in 64 bits */

/* base + scale * (registers' sum) + bytes */
struct terms {
    int64_t scale, bytes;
    int32_t base, reg[3];
    uint32_t count;
};

struct low_row {
    struct low_row *next;
    struct terms terms;
    int64_t stride, lo, hi; /* of terms.bytes */
    uint32_t size;
    unsigned bits; /* of addresses, that were looked at */
    bool open, checked;
    LLVMValueRef at[LOW_MAX_GROUPS]; /* of terms without bytes, from the window's start */
    int64_t asked[4];                /* for which prefetch.c has been here */
    uint32_t asked_count;
};

struct low_row_access {
    struct low_row *row;
    int64_t bytes;
    int32_t guess; /* register that must be what it was taken for; -1: none */
};

struct low_rows {
    uint32_t first;
    struct low_row_access *access; /* by instruction */
    struct low_row *row;
    uint64_t *known; /* guesses that have been asked */
};

static bool may_change(const struct low *l, int32_t reg)
{
    return l->regs.items[reg].def_count > 1 || low_bit(l->blocks.items[0].live_in, (uint32_t)reg);
}

/* The instruction that made the register of two others, or one and a number, which still hold what
 * they held then. */
static const struct low_inst *made_by(const struct low *l, int32_t reg)
{
    const struct low_reg *r = &l->regs.items[reg];
    const struct low_inst *i = &l->insts.items[r->def_inst];
    if (r->def_count != 1 || may_change(l, reg) || i->kind != LOW_PTX || low_guard_of(l, i) >= 0 ||
        i->p->cc || i->p->sat || weir_ptx_type_is_float(i->p->type[0]) ||
        weir_ptx_type_bits(i->p->type[0]) != 32 || i->p->operand_count < 3 ||
        i->p->operands[0].kind != WEIR_PTX_OPERAND_REG)
        return NULL;
    for (unsigned k = 1; k <= 2; k++) {
        const struct weir_ptx_operand *o = &i->p->operands[k];
        if (o->kind == WEIR_PTX_OPERAND_REG ? may_change(l, low_reg_of(l, i, o->reg))
                                            : o->kind != WEIR_PTX_OPERAND_INT)
            return NULL;
    }
    return i;
}

static int64_t moves(const struct low_fact *f)
{
    return f->shape == LOW_UNIFORM ? 0 : f->stride;
}

/* Of a choice between what moves on and what does not, the operand that does; 0: it is none. */
static unsigned moving_side(const struct low *l, const struct low_inst *i, int64_t stride)
{
    enum weir_ptx_type t = i->p->type[0];
    if (i->p->opcode != WEIR_PTX_OP_selp && i->p->opcode != WEIR_PTX_OP_min &&
        i->p->opcode != WEIR_PTX_OP_max)
        return 0;
    struct low_fact a = low_operand_fact(l, i, &i->p->operands[1], t),
                    b = low_operand_fact(l, i, &i->p->operands[2], t);
    if (moves(&a) == stride && moves(&b) == 0 && b.shape != LOW_VARYING)
        return 1;
    return moves(&b) == stride && moves(&a) == 0 && a.shape != LOW_VARYING ? 2 : 0;
}

static bool add_register(struct low *l, struct terms *t, int32_t reg, unsigned depth);

static bool add_operand(struct low *l, struct terms *t, const struct low_inst *i, unsigned k,
                        int sign, unsigned depth)
{
    struct low_fact f = low_operand_fact(l, i, &i->p->operands[k], i->p->type[0]);
    if (f.is_const) {
        t->bytes += sign * t->scale * (int32_t)f.value;
        return true;
    }
    return sign > 0 && i->p->operands[k].kind == WEIR_PTX_OPERAND_REG &&
           add_register(l, t, low_reg_of(l, i, i->p->operands[k].reg), depth + 1);
}

static bool take_apart(struct low *l, struct terms *t, int32_t reg, unsigned depth)
{
    const struct low_reg *r = &l->regs.items[reg];
    const struct low_inst *i = made_by(l, reg);
    if (!i || depth > MAX_DEPTH)
        return false;
    if (i->p->opcode == WEIR_PTX_OP_add || i->p->opcode == WEIR_PTX_OP_sub)
        return add_operand(l, t, i, 1, 1, depth) &&
               add_operand(l, t, i, 2, i->p->opcode == WEIR_PTX_OP_sub ? -1 : 1, depth);
    unsigned side = r->fact.root ? moving_side(l, i, r->fact.stride) : 0;
    return side && add_operand(l, t, i, side, 1, depth);
}

static bool add_register(struct low *l, struct terms *t, int32_t reg, unsigned depth)
{
    struct terms before = *t;
    if (l->regs.items[reg].bits != 32)
        return false;
    if (take_apart(l, t, reg, depth))
        return true;
    *t = before;
    if (t->count == sizeof t->reg / sizeof *t->reg)
        return false;
    unsigned k = t->count++; /* in order: equal sums become the same code */
    for (; k > 0 && t->reg[k - 1] > reg; k--)
        t->reg[k] = t->reg[k - 1];
    t->reg[k] = reg;
    return true;
}

/* Of the registers that an index is the sum of, the one that was guessed; -1: none. False: there
 * are several. */
static bool guessed(struct low *l, int32_t reg, int32_t *guess, unsigned depth)
{
    const struct low_reg *r = &l->regs.items[reg];
    if (r->fact.shape != LOW_VARYING)
        return true;
    const struct low_inst *i = made_by(l, reg);
    bool sum = i && !r->fact.root && depth <= MAX_DEPTH &&
               (i->p->opcode == WEIR_PTX_OP_add || i->p->opcode == WEIR_PTX_OP_sub);
    if (!sum) {
        bool first = *guess < 0 || *guess == reg;
        *guess = reg;
        return first && r->fact.spec && !r->guarded && !r->is_virtual;
    }
    for (unsigned k = 1; k <= 2; k++) {
        const struct weir_ptx_operand *o = &i->p->operands[k];
        if (o->kind == WEIR_PTX_OPERAND_REG &&
            !guessed(l, low_reg_of(l, i, o->reg), guess, depth + 1))
            return false;
    }
    return true;
}

static bool terms_of(struct low *l, const struct low_address *a, struct terms *t, int32_t *guess)
{
    struct low_sum s;
    if (!low_address_sum(l, a, &s) || s.base->kind != WEIR_PTX_OPERAND_REG || s.scale > MAX_SCALE ||
        a->op->imm > MAX_BYTES || a->op->imm < -MAX_BYTES)
        return false;
    *t = (struct terms){.scale = s.scale, .bytes = a->op->imm};
    t->base = low_reg_of(l, s.sum, s.base->reg);
    *guess = -1;
    return add_register(l, t, s.index, 0) && guessed(l, s.index, guess, 0) &&
           t->bytes < MAX_BYTES && t->bytes > -MAX_BYTES;
}

static bool same_terms(const struct terms *a, const struct terms *b)
{
    bool same = a->base == b->base && a->scale == b->scale && a->count == b->count;
    for (unsigned k = 0; same && k < a->count; k++)
        same = a->reg[k] == b->reg[k];
    return same;
}

static void close_rows(void *ctx, int32_t reg, enum low_visit what)
{
    struct low_rows *rows = ctx;
    for (struct low_row *r = what == LOW_DEF ? rows->row : NULL; r; r = r->next) {
        for (unsigned k = 0; k < r->terms.count; k++)
            r->open &= r->terms.reg[k] != reg;
        r->open &= r->terms.base != reg;
    }
}

static struct low_row *row_for(struct low *l, struct low_rows *rows, const struct terms *t,
                               int64_t stride, uint32_t size)
{
    for (struct low_row *r = rows->row; r; r = r->next)
        if (r->open && same_terms(&r->terms, t) && r->stride == stride && r->size == size) {
            r->lo = WEIR_MIN(r->lo, t->bytes);
            r->hi = WEIR_MAX(r->hi, t->bytes);
            return r;
        }
    struct low_row *r = low_alloc(l, sizeof *r);
    *r = (struct low_row){.next = rows->row,
                          .terms = *t,
                          .stride = stride,
                          .lo = t->bytes,
                          .hi = t->bytes,
                          .size = size,
                          .open = true};
    rows->row = r;
    return r;
}

static void find(struct low *l, struct low_rows *rows, const struct low_inst *i,
                 struct low_row_access *access)
{
    struct low_address a = {.inst = i, .op = low_twice_address(i)};
    struct terms t;
    if (!a.op || low_guard_of(l, i) >= 0 ||
        (i->p->space != WEIR_PTX_GLOBAL && i->p->space != WEIR_PTX_GENERIC))
        return;
    struct low_fact f = low_address_fact(l, i, a.op);
    uint32_t size = weir_ptx_type_bits(i->p->type[0]) / 8 * (i->p->vec ? i->p->vec : 1);
    if (f.shape != LOW_VARYING || !f.spec || f.stride != (int64_t)size ||
        !terms_of(l, &a, &t, &access->guess) || f.stride % t.scale)
        return;
    access->bytes = t.bytes;
    access->row = row_for(l, rows, &t, f.stride, size);
}

struct low_rows *low_rows_find(struct low *l, const struct low_block *b)
{
    struct low_rows *rows = low_alloc(l, sizeof *rows);
    rows->first = b->first;
    rows->access = low_alloc(l, (b->end - b->first) * sizeof *rows->access);
    rows->known = low_alloc(l, l->reg_words * sizeof *rows->known);
    for (uint32_t n = b->first; n < b->end; n++) {
        find(l, rows, &l->insts.items[n], &rows->access[n - b->first]);
        low_inst_visit(l, &l->insts.items[n], close_rows, rows);
    }
    return rows;
}

static LLVMValueRef number(struct low *l, int64_t v)
{
    return LLVMConstInt(l->t.i64, (unsigned long long)v, 1);
}

/* Is the register, in every lane, what it was taken for? */
static LLVMValueRef guess_ok(struct low *l, int32_t reg)
{
    struct terms t = {.scale = 1};
    LLVMValueRef first[LOW_MAX_GROUPS], ok = NULL;
    (void)add_register(l, &t, reg, 0);
    for (unsigned g = 0; g < l->groups; g++) {
        first[g] = LLVMConstInt(l->t.i32, (unsigned long long)t.bytes, 1);
        for (unsigned k = 0; k < t.count; k++)
            first[g] = LLVMBuildAdd(l->b, low_spec_base(l, t.reg[k], g), first[g], "");
    }
    low_lanes_ok(l, reg, first, &ok);
    return ok;
}

/* Of the whole row: the pointer lies in the window and is aligned, and so are all accesses, with
 * indices that do not wrap around in any lane. */
static LLVMValueRef row_ok(struct low *l, const struct low_row *r, LLVMValueRef start,
                           LLVMValueRef lim, unsigned bits)
{
    int64_t scale = r->terms.scale, last = INT32_MAX - r->stride / scale * (l->width - 1);
    LLVMValueRef least = number(l, -(INT32_MIN * scale) - MAX_BYTES), any = NULL, ok;
    LLVMValueRef most = LLVMBuildAdd(l->b, start, number(l, last * scale - MAX_BYTES), "");
    LLVMValueRef from = low_binary(l, "llvm.usub.sat", start, least);
    LLVMValueRef span = LLVMBuildSub(l->b, low_binary(l, "llvm.umin", lim, most), from, "");
    LLVMValueRef width = number(l, r->hi - r->lo);
    ok = LLVMBuildAnd(l->b, low_at_most(l, start, lim, bits),
                      LLVMBuildICmp(l->b, LLVMIntULE, width, span, ""), "");
    from = LLVMBuildSub(l->b, from, number(l, r->lo), "");
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef off = LLVMBuildSub(l->b, r->at[g], from, "");
        any = any ? LLVMBuildOr(l->b, any, off, "") : off;
    }
    return LLVMBuildAnd(
        l->b, ok, LLVMBuildICmp(l->b, LLVMIntULE, any, LLVMBuildSub(l->b, span, width, ""), ""),
        "");
}

static void place(struct low *l, struct low_row *r, LLVMValueRef start)
{
    for (unsigned g = 0; g < l->groups; g++) {
        r->at[g] = start;
        for (unsigned k = 0; k < r->terms.count; k++) {
            LLVMValueRef n = low_resize(l, low_spec_base(l, r->terms.reg[k], g), 64, true);
            n = LLVMBuildMul(l->b, n, number(l, r->terms.scale), "");
            r->at[g] = LLVMBuildAdd(l->b, r->at[g], n, "");
        }
    }
}

bool low_row_condition(struct low *l, struct low_access *x, LLVMValueRef lim, unsigned bits,
                       LLVMValueRef *ok)
{
    struct low_rows *rows = l->rows;
    struct low_row_access *a = rows ? &rows->access[x->i - l->insts.items - rows->first] : NULL;
    struct low_row *r = a ? a->row : NULL;
    int64_t unit = (int64_t)1 << bits;
    if (!r || r->terms.scale % unit || a->bytes % unit || (r->checked && bits > r->bits))
        return false;
    *ok = NULL;
    if (a->guess >= 0 && !low_bit(rows->known, (uint32_t)a->guess)) {
        low_bit_set(rows->known, (uint32_t)a->guess);
        *ok = guess_ok(l, a->guess);
    }
    if (!r->checked) {
        LLVMValueRef start = low_read_reg(l, r->terms.base).v[0];
        start = LLVMBuildSub(l->b, start, l->window_base, "");
        place(l, r, start);
        r->checked = true;
        r->bits = bits;
        *ok = low_and_ok(l, *ok, row_ok(l, r, start, lim, bits));
    }
    for (unsigned g = 0; g < l->groups; g++)
        x->a.in_window[g] = LLVMBuildAdd(l->b, r->at[g], number(l, a->bytes), "");
    return true;
}

bool low_row_asks(struct low *l, const struct low_access *x, int64_t line, int64_t *further)
{
    struct low_rows *rows = l->rows;
    const struct low_row_access *a =
        rows ? &rows->access[x->i - l->insts.items - rows->first] : NULL;
    struct low_row *r = a ? a->row : NULL;
    *further = 0;
    if (!r || !r->checked)
        return true;
    int64_t at = r->asked_count ? a->bytes : r->hi;
    for (unsigned k = 0; k < r->asked_count; k++)
        if (at - r->asked[k] < line && r->asked[k] - at < line)
            return false;
    if (r->asked_count < sizeof r->asked / sizeof *r->asked)
        r->asked[r->asked_count++] = at;
    *further = at - a->bytes;
    return true;
}
