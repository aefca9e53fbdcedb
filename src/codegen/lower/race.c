/* Code that says which thread accesses what, and what orders threads (weir_jit_request.races): a
 * call for each access to shared or global memory, with the addresses of all lanes and what they
 * store, and for each barrier (device/race.h). Addresses are not guessed then, and nothing is
 * looked at in place: core/race.c judges.
 *
 * A block "is behind" a barrier when it can come after it and never before it again: a thread that
 * is there and has not passed the barrier while others wait in it has left them behind.
 * SPDX-License-Identifier: Apache-2.0 */
#include "device/race.h"

#include <string.h>

#include "codegen/lower/access.h"

uint32_t low_scratch_bytes(const struct low *l)
{
    return l->request->races ? LOW_SCRATCH_RACE + 2304 : LOW_SCRATCH;
}

/* ---- calls ---- */

static LLVMValueRef number(struct low *l, uint64_t v)
{
    return LLVMConstInt(l->t.i64, v, 0);
}

static LLVMValueRef offset(struct low *l, LLVMValueRef p, uint64_t by)
{
    LLVMValueRef at = number(l, by);

    return LLVMBuildGEP2(l->b, l->t.i8, p, &at, 1, "");
}

static void serve(struct low *l, size_t service, LLVMValueRef *args, unsigned count)
{
    LLVMTypeRef types[4];

    for (unsigned k = 0; k < count; k++)
        types[k] = LLVMTypeOf(args[k]);
    LLVMValueRef f = LLVMBuildLoad2(l->b, l->t.ptr, offset(l, l->services, service), "");
    LLVMBuildCall2(l->b, LLVMFunctionType(l->t.v, types, count, 0), f, args, count, "");
}

static LLVMValueRef active(struct low *l)
{
    return l->mask_full ? LLVMConstInt(l->t.i32, UINT32_MAX, 0) : low_mask_bits(l, l->mask);
}

static LLVMValueRef with_line(struct low *l, const struct low_inst *i, uint64_t code)
{
    if (!l->slow_line)
        return number(l, code | (uint64_t)i->p->line << WEIR_RACE_LINE_AT);
    LLVMValueRef line = LLVMBuildZExt(l->b, l->slow_line, l->t.i64, "");
    line = LLVMBuildShl(l->b, line, number(l, WEIR_RACE_LINE_AT), "");
    return LLVMBuildOr(l->b, number(l, code), line, "");
}

static void order(struct low *l, uint32_t what, LLVMValueRef lanes, LLVMValueRef arg)
{
    LLVMValueRef args[4] = {l->block_ptr, LLVMConstInt(l->t.i32, what, 0), lanes,
                            arg ? arg : number(l, 0)};

    serve(l, offsetof(struct weir_kernel_services, order), args, 4);
}

void low_order(struct low *l, uint32_t what, LLVMValueRef arg)
{
    if (l->request->races)
        order(l, what, active(l), arg);
}

void low_order_block(struct low *l, uint32_t what, LLVMValueRef arg)
{
    if (l->request->races)
        order(l, what, LLVMConstInt(l->t.i32, 0, 0), arg);
}

/* ---- accesses ---- */

static bool is_judged(const struct low *l, const struct low_address *a)
{
    return l->request->races && !a->is_param &&
           (a->space == WEIR_PTX_SHARED || a->space == WEIR_PTX_GLOBAL ||
            a->space == WEIR_PTX_GENERIC);
}

static void put_addresses(struct low *l, const struct low_address *a)
{
    LLVMValueRef shared = LLVMBuildPtrToInt(l->b, l->shared, l->t.i64, "");

    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef v = low_resize(l, low_vector(l, &a->base, g), 64, false);

        if (a->space == WEIR_PTX_SHARED)
            v = LLVMBuildAdd(l->b, v, low_splat(l, shared), "");
        LLVMValueRef p = offset(l, l->scratch, LOW_SCRATCH_RACE + 8ull * g * l->width);
        LLVMSetAlignment(LLVMBuildStore(l->b, v, p), 8);
    }
}

static void put_data(struct low *l, const struct low_access *x)
{
    for (unsigned c = 0; c < x->comps; c++)
        for (unsigned g = 0; g < l->groups; g++) {
            uint64_t lane = (uint64_t)c * LOW_LANES + g * l->width;
            LLVMValueRef p =
                offset(l, l->scratch, LOW_SCRATCH_RACE + WEIR_RACE_DATA_BYTES + lane * x->size);
            LLVMSetAlignment(LLVMBuildStore(l->b, low_vector(l, &x->v[c], g), p), 1);
        }
}

static void say(struct low *l, const struct low_address *a, uint64_t code)
{
    put_addresses(l, a);
    LLVMValueRef args[4] = {l->block_ptr, LLVMBuildZExt(l->b, active(l), l->t.i64, ""),
                            with_line(l, l->inst, code), offset(l, l->scratch, LOW_SCRATCH_RACE)};
    serve(l, offsetof(struct weir_kernel_services, race), args, 4);
}

static uint64_t code_of(uint32_t size, uint32_t comps, uint32_t kind)
{
    return size | comps << WEIR_RACE_COMPS_AT | kind << WEIR_RACE_KIND_AT;
}

/* Does nobody look at the old value? Then the thread learns nothing of others. Of barrier objects
 * only waiting has acquire semantics (PTX ISA, mbarrier.arrive: .release). */
static bool is_quiet(struct low *l, const struct low_inst *i)
{
    const struct weir_ptx_operand *d = &i->p->operands[0];
    enum low_mbarrier barrier = weir_cg_form_mbarrier(i->p);

    if (barrier)
        return barrier != LOW_MBARRIER_WAIT && barrier != LOW_MBARRIER_WAIT_PARITY;
    if (i->p->opcode == WEIR_PTX_OP_red)
        return true;
    return i->p->opcode == WEIR_PTX_OP_atom && i->p->dest_count == 1 &&
           (d->kind != WEIR_PTX_OPERAND_VECTOR) &&
           (d->kind != WEIR_PTX_OPERAND_REG ||
            l->regs.items[low_reg_of(l, i, d->reg)].use_count == 0);
}

void low_race(struct low *l, struct low_address *a, uint32_t bytes, uint32_t kind)
{
    if (!is_judged(l, a) || !bytes)
        return;
    uint64_t code = code_of(bytes, 1, kind == 2 ? LOW_TOUCH_ORDERED : kind);
    if (kind == 2 && is_quiet(l, l->inst))
        code |= WEIR_RACE_QUIET;
    say(l, a, code);
}

void low_race_handed(struct low *l, struct low_address *a)
{
    if (is_judged(l, a))
        say(l, a, code_of(8, 1, LOW_TOUCH_ORDERED) | WEIR_RACE_HANDED | WEIR_RACE_QUIET);
}

void low_race_load(struct low *l, struct low_access *x)
{
    if (is_judged(l, &x->a))
        say(l, &x->a,
            code_of(x->size, x->comps,
                    x->p->sem == WEIR_PTX_WEAK ? LOW_TOUCH_READ : LOW_TOUCH_LOOKED));
}

void low_race_store(struct low *l, struct low_access *x)
{
    if (!is_judged(l, &x->a))
        return;
    bool weak = x->p->sem == WEIR_PTX_WEAK || x->copy;
    put_data(l, x);
    say(l, &x->a,
        code_of(x->size, x->comps, weak ? LOW_TOUCH_WRITE : LOW_TOUCH_ORDERED) | WEIR_RACE_DATA |
            (weak ? 0 : WEIR_RACE_QUIET) | (x->copy ? WEIR_RACE_COPY : 0));
}

void low_race_copies(struct low *l, const struct weir_ptx_inst *p)
{
    if (strncmp(p->suffix, ".async.commit_group", 19) == 0)
        low_order(l, WEIR_RACE_COMMIT, NULL);
    else if (p->operand_count && p->operands[0].kind == WEIR_PTX_OPERAND_INT)
        low_order(l, WEIR_RACE_WAIT, number(l, (uint64_t)p->operands[0].imm));
    else
        low_order(l, WEIR_RACE_WAIT, number(l, UINT64_MAX));
}

/* ---- barriers ---- */

void low_order_arrive(struct low *l, const struct low_inst *i, LLVMValueRef id, int32_t place)
{
    const struct weir_ptx_inst *p = i->p;

    if (!l->request->races)
        return;
    unsigned count = p->operand_count - p->dest_count - (p->sub == WEIR_PTX_SUB_RED ? 1 : 0);
    uint64_t arg = (uint64_t)p->line << WEIR_RACE_LINE_AT;
    if (place >= 0)
        arg |= WEIR_RACE_WAITS | (uint64_t)((uint32_t)place & 0xffff) << WEIR_RACE_PLACE_AT;
    if (count < 2)
        arg |= WEIR_RACE_ALL;
    low_order(l, WEIR_RACE_ARRIVE,
              LLVMBuildOr(l->b, LLVMBuildZExt(l->b, id, l->t.i64, ""), number(l, arg), ""));
}

void low_race_prepare(struct low *l)
{
    if (!l->request->races)
        return;
    l->past = low_alloc(l, (l->blocks.count + 1) * sizeof *l->past);
    for (uint32_t k = 0; k < l->blocks.count; k++) {
        const struct low_block *b = &l->blocks.items[k];

        if (b->term != LOW_TERM_BARRIER || b->barrier < 0 ||
            (uint32_t)b->barrier >= WEIR_RACE_PLACES)
            continue;
        uint64_t *after = low_alloc(l, l->block_words * sizeof *after);
        uint64_t *before = low_alloc(l, l->block_words * sizeof *before);
        low_reach(l, b->succ[0], LOW_AHEAD, after);
        low_reach(l, k, LOW_BACK, before);
        for (uint32_t n = 0; n < l->blocks.count; n++)
            if (low_bit(after, n) && !low_bit(before, n))
                l->past[n] |= UINT64_C(1) << b->barrier;
    }
}

/* What a thread does there is seen by others: an end of the kernel alone is not. */
static bool has_effect(const struct low *l, const struct low_block *b)
{
    if (b->term == LOW_TERM_BARRIER)
        return true;
    for (uint32_t n = b->first; n < b->end; n++) {
        const struct low_inst *i = &l->insts.items[n];

        if (i->kind != LOW_PTX || !i->p)
            continue;
        if (i->p->space == WEIR_PTX_LOCAL || i->p->space == WEIR_PTX_PARAM)
            continue;
        if (i->p->opcode == WEIR_PTX_OP_st || i->p->opcode == WEIR_PTX_OP_atom ||
            i->p->opcode == WEIR_PTX_OP_red)
            return true;
    }
    return false;
}

void low_race_block(struct low *l, uint32_t block)
{
    if (l->request->races && l->past[block] && has_effect(l, &l->blocks.items[block]))
        low_order(l, WEIR_RACE_PAST, number(l, l->past[block]));
}
