/* Finds loops whose end depends on what other threads do: an atomic's result, a volatile or ordered
 * load, the clock. Such kernels run in general mode, where lanes, warps and blocks take turns.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "codegen/lower/lower.h"

static bool reads_clock(const struct weir_ptx_inst *p)
{
    for (unsigned k = p->dest_count; k < p->operand_count; k++) {
        if (p->operands[k].kind == WEIR_PTX_OPERAND_SREG && low_sreg_is_clock(p->operands[k].sreg))
            return true;
    }
    return false;
}

/* fenced: a fence or a sleep stands in the loop, so that plain loads are read again on purpose. */
static bool is_source(const struct low_inst *i, bool fenced)
{
    const struct weir_ptx_inst *p = i->p;
    if (i->kind != LOW_PTX)
        return false;
    switch (p->opcode) {
    case WEIR_PTX_OP_atom:
        return true;
    case WEIR_PTX_OP_mbarrier:
        return weir_cg_form_mbarrier(p) == LOW_MBARRIER_WAIT ||
               weir_cg_form_mbarrier(p) == LOW_MBARRIER_WAIT_PARITY;
    case WEIR_PTX_OP_ld:
        return p->space != WEIR_PTX_PARAM && (p->sem != WEIR_PTX_WEAK || fenced);
    default:
        return reads_clock(p);
    }
}

struct taint {
    uint64_t *set;
    bool source, hit, changed;
};

static void read_taint(void *ctx, int32_t reg, enum low_visit what)
{
    struct taint *t = ctx;
    if (what != LOW_DEF)
        t->hit |= low_bit(t->set, (uint32_t)reg);
}

static void write_taint(void *ctx, int32_t reg, enum low_visit what)
{
    struct taint *t = ctx;
    if (what == LOW_DEF && !low_bit(t->set, (uint32_t)reg)) {
        low_bit_set(t->set, (uint32_t)reg);
        t->changed = true;
    }
}

static bool loop_fenced(struct low *l, const struct low_loop *loop)
{
    for (uint32_t b = 0; b < l->blocks.count; b++) {
        if (!low_bit(loop->blocks, b))
            continue;
        for (uint32_t n = l->blocks.items[b].first; n < l->blocks.items[b].end; n++) {
            const struct low_inst *i = &l->insts.items[n];
            if (i->kind == LOW_PTX &&
                (i->p->opcode == WEIR_PTX_OP_membar || i->p->opcode == WEIR_PTX_OP_fence ||
                 i->p->opcode == WEIR_PTX_OP_nanosleep))
                return true;
        }
    }
    return false;
}

static bool leaves(const struct low *l, const struct low_loop *loop, const struct low_block *b)
{
    if (b->term == LOW_TERM_COND_EXIT)
        return true;
    for (uint32_t s = 0; s < b->succ_count; s++)
        if (!low_bit(loop->blocks, b->succ[s]))
            return true;
    (void)l;
    return false;
}

/* Does what the loop's branches test depend on a source inside of it? */
static bool loop_polls(struct low *l, const struct low_loop *loop)
{
    struct taint t = {.set = low_alloc(l, l->reg_words * sizeof(uint64_t))};
    bool fenced = loop_fenced(l, loop), any = false;
    do {
        t.changed = false;
        for (uint32_t b = 0; b < l->blocks.count; b++) {
            if (!low_bit(loop->blocks, b))
                continue;
            for (uint32_t n = l->blocks.items[b].first; n < l->blocks.items[b].end; n++) {
                const struct low_inst *i = &l->insts.items[n];
                bool source = is_source(i, fenced);
                any |= source;
                t.hit = source;
                low_inst_visit(l, i, read_taint, &t);
                if (t.hit)
                    low_inst_visit(l, i, write_taint, &t);
            }
        }
    } while (t.changed && any);
    if (!any)
        return false;
    for (uint32_t b = 0; b < l->blocks.count; b++) {
        const struct low_block *blk = &l->blocks.items[b];
        if (low_bit(loop->blocks, b) && blk->pred >= 0 && leaves(l, loop, blk) &&
            low_bit(t.set, (uint32_t)blk->pred))
            return true;
    }
    /* an exit that a tainted branch inside the loop leads to (the lock taken: done = 1) */
    for (uint32_t b = 0; b < l->blocks.count; b++) {
        const struct low_block *blk = &l->blocks.items[b];
        if (!low_bit(loop->blocks, b) || blk->pred < 0 || !low_bit(t.set, (uint32_t)blk->pred))
            continue;
        for (uint32_t n = 0; n < l->blocks.count; n++) {
            const struct low_block *e = &l->blocks.items[n];
            if (low_bit(loop->blocks, n) && leaves(l, loop, e) && e->pred >= 0 &&
                l->regs.items[e->pred].def_count > 0)
                return true;
        }
    }
    return false;
}

/* A cluster's barrier is waited for as a loop would: the other blocks have to run. */
static bool has_cluster_barrier(const struct low *l)
{
    for (size_t k = 0; k < l->insts.count; k++)
        if (l->insts.items[k].kind == LOW_PTX &&
            weir_cg_form_cluster_barrier(l->insts.items[k].p) != CLUSTER_BARRIER_NONE)
            return true;
    return false;
}

bool low_polls(struct low *l)
{
    l->polls = l->clusters && has_cluster_barrier(l);
    for (size_t k = 0; k < l->loops.count; k++) {
        struct low_loop *loop = &l->loops.items[k];
        loop->polls = loop_polls(l, loop);
        l->polls |= loop->polls;
    }
    return l->polls;
}
