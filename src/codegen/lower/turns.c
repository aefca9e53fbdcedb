/* Loops in which the warps of a block take turns. A warp runs to the next barrier alone; where each
 * pass of a loop loads from far away (a grid-stride loop moves on by the whole grid), what its
 * neighbours load lies beside that, often in the same cache lines and pages, but they come to it
 * when a whole loop's lines have gone through the cache, and these often share one set of it. So
 * after some passes a warp's live registers are put down as at a barrier, and the next warp runs.
 * Nobody waits for anybody: a warp that leaves the loop goes on to what follows.
 *
 * The headers of such loops begin regions of their own (control.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include "codegen/lower/lower.h"

#define MOST_TURNS   4u   /* loops of a kernel: each makes code for what follows once more */
#define MOST_VECTORS 8u   /* registers to put down: more cost more than the passes between */
#define MOST_SCALARS 24u  /* the same of those that are one value a group */
#define MOST_INSTS   600u /* PTX instructions that follow */

static bool is_in_state(const struct low_reg *r)
{
    return !(r->fact.invariant && r->def_count == 1) && (r->def_count || r->use_count);
}

/* What is live at the header, and what it will cost to put it down. */
static bool is_cheap(struct low *l, const struct low_block *b, uint64_t *live)
{
    uint32_t vectors = 0, scalars = 0;
    for (size_t k = 0; k < l->reg_words; k++)
        live[k] = b->live_in[k] | b->wait_live[k];
    for (size_t r = 0; r < l->regs.count; r++) {
        const struct low_reg *reg = &l->regs.items[r];
        if (!low_bit(live, (uint32_t)r) || !is_in_state(reg))
            continue;
        if (reg->is_virtual) /* what it is made of is not kept */
            return false;
        if (reg->guarded || (reg->fact.shape == LOW_VARYING && reg->bits > 1))
            vectors += 1 + reg->bits / 64;
        else
            scalars++;
    }
    return vectors <= MOST_VECTORS && scalars <= MOST_SCALARS;
}

/* Lanes that wait while the loop runs do so at places that it leads to. */
static bool leads_to_waits(struct low *l, uint32_t header, uint32_t *insts)
{
    const struct low_block *h = &l->blocks.items[header];
    uint64_t *reached = low_alloc(l, l->block_words * sizeof *reached);
    low_reach(l, header, LOW_REGION, reached);
    *insts = 0;
    for (uint32_t k = 0; k < l->blocks.count; k++) {
        if (low_bit(h->wait, k) && !low_bit(reached, k))
            return false;
        if (low_bit(reached, k))
            *insts += l->blocks.items[k].end - l->blocks.items[k].first;
    }
    return true;
}

/* A loop without barriers and without loops inside. */
static bool is_plain(const struct low *l, uint32_t at)
{
    const struct low_loop *loop = &l->loops.items[at];
    for (size_t k = 0; k < l->loops.count; k++)
        if (l->loops.items[k].parent == (int32_t)at)
            return false;
    for (uint32_t b = 0; b < l->blocks.count; b++)
        if (low_bit(loop->blocks, b) && l->blocks.items[b].term == LOW_TERM_BARRIER)
            return false;
    return !loop->polls;
}

void low_turns_find(struct low *l)
{
    const struct weir_jit_request *q = l->request;
    if (q->tier != WEIR_JIT_BEST || l->general || l->warps == 1 || q->counts || q->touch ||
        q->races || q->twin)
        return;
    for (uint32_t k = 0; k < l->loops.count && l->turns < MOST_TURNS; k++) {
        struct low_block *h = &l->blocks.items[l->loops.items[k].header];
        uint64_t *live = low_alloc(l, l->reg_words * sizeof *live);
        uint32_t insts;
        if (h->turn || !is_plain(l, k) || !is_cheap(l, h, live) ||
            !leads_to_waits(l, l->loops.items[k].header, &insts) || insts > MOST_INSTS ||
            !low_strides_far(l, &l->loops.items[k]))
            continue;
        h->turn = ++l->turns;
        h->turn_live = live;
    }
}
