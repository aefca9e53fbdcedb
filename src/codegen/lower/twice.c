/* Blocks with several accesses to consecutive words are made in two forms. The first is for all
 * lanes of the warp, and for addresses that are as they were guessed: where one is not, it goes on
 * in the second, before that instruction. So nothing in it has two ways to come to be: loads are
 * operands of what uses them, what one test has shown later tests need not ask again, and stores
 * are not masked, which some processors take tens of cycles for.
 * SPDX-License-Identifier: Apache-2.0 */
#include "codegen/lower/lower.h"

#define FEW_ACCESSES 2u    /* less gain nothing */
#define FEW_GUESSES  4u    /* the same, where all lanes are there anyhow */
#define MANY_INSTS   3000u /* of the kernel: longer ones take too long to compile as it is */

const struct weir_ptx_operand *low_twice_address(const struct low_inst *i)
{
    if (i->kind != LOW_PTX || (i->p->opcode != WEIR_PTX_OP_ld && i->p->opcode != WEIR_PTX_OP_st) ||
        i->p->sem != WEIR_PTX_WEAK || i->p->space == WEIR_PTX_PARAM ||
        i->p->space == WEIR_PTX_LOCAL)
        return NULL;
    for (unsigned k = 0; k < i->p->operand_count; k++)
        if (i->p->operands[k].kind == WEIR_PTX_OPERAND_ADDRESS)
            return &i->p->operands[k];
    return NULL;
}

static bool is_guess(const struct low *l, const struct low_inst *i)
{
    const struct weir_ptx_operand *o = low_twice_address(i);
    if (!o)
        return false;
    struct low_fact f = low_address_fact(l, i, o);
    return f.shape == LOW_VARYING && f.spec;
}

/* What an access gains from a mask that is known to be full; where there are no masked accesses of
 * bytes, each lane of one has a branch. Without AVX-512 masks are vectors, and some processors take
 * long for a masked store: one access is enough. */
static uint32_t gain(const struct low *l, const struct low_inst *i)
{
    const struct weir_ptx_operand *o = low_twice_address(i);
    if (!o)
        return 0;
    struct low_fact f = low_address_fact(l, i, o);
    unsigned bits = weir_ptx_type_bits(i->p->type[0]);
    if ((f.shape != LOW_AFFINE && !f.spec) || f.stride != bits / 8 * (i->p->vec ? i->p->vec : 1))
        return 0;
    return bits < 32 || !l->avx512 ? FEW_ACCESSES : 1;
}

bool low_twice_wanted(const struct low *l, const struct low_block *b)
{
    const struct weir_jit_request *q = l->request;
    uint32_t gained = 0, guesses = 0;
    if (q->tier != WEIR_JIT_BEST || l->general || q->counts || q->touch || q->races || q->twin ||
        l->insts.count > MANY_INSTS)
        return false;
    for (uint32_t n = b->first; n < b->end; n++) {
        gained += gain(l, &l->insts.items[n]);
        guesses += is_guess(l, &l->insts.items[n]);
    }
    return l->mask_full ? guesses >= FEW_GUESSES : gained >= FEW_ACCESSES;
}

LLVMBasicBlockRef *low_twice_starts(struct low *l, const struct low_block *b)
{
    LLVMBasicBlockRef *starts = low_alloc(l, (b->end - b->first) * sizeof *starts);
    for (uint32_t n = b->first; n < b->end; n++)
        if (is_guess(l, &l->insts.items[n]))
            starts[n - b->first] = low_bb(l, "unsure");
    return starts;
}
