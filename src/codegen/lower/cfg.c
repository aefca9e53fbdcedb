/* The order in which blocks run, and where lanes may wait meanwhile.
 *
 * Blocks are put in an order in which each loop is one contiguous run and every other edge goes
 * forward. A warp always runs the first block of that order in which lanes wait. From this follows
 * which blocks can hold waiting lanes while another runs (low_block.wait), and from that: which
 * writes must keep the old value of other lanes, which registers can be one scalar for the warp,
 * and which blocks run with all lanes that are left.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "codegen/lower/lower.h"

/* ---- order ---- */

struct order {
    struct low *l;
    uint32_t n;
    uint32_t *rpo, *rpo_at; /* plain reverse post-order: first numbering */
    uint32_t rpo_count;
    int32_t *idom;
    int32_t *loop; /* innermost loop of a block (old numbering) */
    uint32_t *out, out_count;
    uint8_t *mark;
};

static void fill_preds(struct low *l)
{
    for (size_t k = 0; k < l->blocks.count; k++)
        l->blocks.items[k].pred_count = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t k = 0; k < l->blocks.count; k++) {
            struct low_block *b = &l->blocks.items[k];
            for (uint32_t s = 0; s < b->succ_count; s++) {
                struct low_block *to = &l->blocks.items[b->succ[s]];
                if (pass == 0) {
                    to->pred_count++;
                } else {
                    if (!to->preds) {
                        to->preds = low_alloc(l, to->pred_count * sizeof *to->preds);
                        to->pred_count = 0;
                    }
                    to->preds[to->pred_count++] = (uint32_t)k;
                }
            }
        }
}

/* Reverse post-order from block 0, without recursion. */
static void plain_order(struct order *o)
{
    struct low *l = o->l;
    uint32_t *stack = low_alloc(l, (o->n + 1) * sizeof *stack), depth = 0;
    uint32_t *next = low_alloc(l, (o->n + 1) * sizeof *next);
    uint32_t at = o->n;
    memset(o->mark, 0, o->n);
    stack[depth++] = 0;
    o->mark[0] = 1;
    while (depth) {
        uint32_t b = stack[depth - 1];
        struct low_block *blk = &l->blocks.items[b];
        if (next[b] < blk->succ_count) {
            uint32_t s = blk->succ[blk->succ_count - 1 - next[b]++];
            if (!o->mark[s]) {
                o->mark[s] = 1;
                stack[depth++] = s;
            }
        } else {
            depth--;
            o->rpo[--at] = b;
        }
    }
    o->rpo_count = o->n - at;
    memmove(o->rpo, o->rpo + at, o->rpo_count * sizeof *o->rpo);
    for (uint32_t k = 0; k < o->n; k++)
        o->rpo_at[k] = UINT32_MAX;
    for (uint32_t k = 0; k < o->rpo_count; k++)
        o->rpo_at[o->rpo[k]] = k;
}

static void dominators(struct order *o)
{
    for (uint32_t k = 0; k < o->n; k++)
        o->idom[k] = -1;
    o->idom[0] = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = 1; k < o->rpo_count; k++) {
            uint32_t b = o->rpo[k];
            const struct low_block *blk = &o->l->blocks.items[b];
            int32_t dom = -1;
            for (uint32_t p = 0; p < blk->pred_count; p++) {
                int32_t x = (int32_t)blk->preds[p];
                if (o->rpo_at[x] == UINT32_MAX || o->idom[x] < 0)
                    continue;
                if (dom < 0) {
                    dom = x;
                    continue;
                }
                int32_t y = dom;
                while (x != y) {
                    while (o->rpo_at[x] > o->rpo_at[y])
                        x = o->idom[x];
                    while (o->rpo_at[y] > o->rpo_at[x])
                        y = o->idom[y];
                }
                dom = x;
            }
            if (dom != o->idom[b]) {
                o->idom[b] = dom;
                changed = true;
            }
        }
    }
}

static bool dominates(const struct order *o, uint32_t a, uint32_t b)
{
    while (o->rpo_at[b] > o->rpo_at[a])
        b = (uint32_t)o->idom[b];
    return a == b;
}

/* Natural loops, found with headers in reverse order so that inner ones come first. */
static void find_loops(struct order *o)
{
    struct low *l = o->l;
    uint32_t *work = low_alloc(l, (o->n + 1) * sizeof *work);
    for (uint32_t k = 0; k < o->n; k++)
        o->loop[k] = -1;
    for (uint32_t k = o->rpo_count; k-- > 0;) {
        uint32_t h = o->rpo[k], count = 0;
        const struct low_block *hb = &l->blocks.items[h];
        uint64_t *in = NULL;
        for (uint32_t p = 0; p < hb->pred_count; p++) {
            uint32_t from = hb->preds[p];
            if (o->rpo_at[from] == UINT32_MAX || o->rpo_at[from] < o->rpo_at[h])
                continue;
            if (!dominates(o, h, from)) {
                l->irreducible = true;
                continue;
            }
            if (!in) {
                in = low_alloc(l, (o->n / 64 + 1) * sizeof *in);
                low_bit_set(in, h);
            }
            if (!low_bit(in, from)) {
                low_bit_set(in, from);
                work[count++] = from;
            }
        }
        if (!in)
            continue;
        while (count) {
            const struct low_block *b = &l->blocks.items[work[--count]];
            for (uint32_t p = 0; p < b->pred_count; p++)
                if (o->rpo_at[b->preds[p]] != UINT32_MAX && !low_bit(in, b->preds[p])) {
                    low_bit_set(in, b->preds[p]);
                    work[count++] = b->preds[p];
                }
        }
        int32_t id = (int32_t)l->loops.count;
        struct low_loop loop = {.header = h, .parent = -1, .blocks = in};
        if (!weir_vec_push(&l->loops, loop))
            low_no_memory(l);
        for (uint32_t b = 0; b < o->n; b++) {
            if (!low_bit(in, b))
                continue;
            if (o->loop[b] < 0) {
                o->loop[b] = id;
                continue;
            }
            int32_t outer = o->loop[b];
            while (l->loops.items[outer].parent >= 0 && l->loops.items[outer].parent != id)
                outer = l->loops.items[outer].parent;
            if (outer != id)
                l->loops.items[outer].parent = id;
        }
    }
}

/* The child of loop `parent` (or -1: the kernel) that holds block b, or -1 when b stands in it
 * directly. */
static int32_t child_loop(const struct order *o, uint32_t b, int32_t parent)
{
    int32_t at = o->loop[b], child = -1;
    while (at != parent && at >= 0) {
        child = at;
        at = o->l->loops.items[at].parent;
    }
    return child;
}

static bool in_loop(const struct order *o, uint32_t b, int32_t loop)
{
    return loop < 0 || low_bit(o->l->loops.items[loop].blocks, b);
}

/* Appends, in reverse, the items of `loop` reachable from block b: depth-first, inner loops as one
 * item. */
static void visit_item(struct order *o, int32_t loop, uint32_t b, uint32_t *list, uint32_t *count,
                       uint32_t depth)
{
    struct low *l = o->l;
    int32_t child = child_loop(o, b, loop);
    uint32_t key = child >= 0 ? l->loops.items[child].header : b;
    if (o->mark[key] & 2 || depth > 20000)
        return;
    o->mark[key] |= 2;
    uint32_t n = child >= 0 ? o->n : 1;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t from = child >= 0 ? k : b;
        if (child >= 0 && !low_bit(l->loops.items[child].blocks, from))
            continue;
        const struct low_block *blk = &l->blocks.items[from];
        for (uint32_t s = blk->succ_count; s-- > 0;) {
            uint32_t to = blk->succ[s];
            if (!in_loop(o, to, loop) || (loop >= 0 && to == l->loops.items[loop].header))
                continue;
            if (child >= 0 && low_bit(l->loops.items[child].blocks, to))
                continue;
            visit_item(o, loop, to, list, count, depth + 1);
        }
    }
    list[(*count)++] = key;
}

static void order_loop(struct order *o, int32_t loop, uint32_t header)
{
    struct low *l = o->l;
    uint32_t *list = low_alloc(l, (o->n + 1) * sizeof *list), count = 0;
    if (loop >= 0)
        o->mark[header] &= (uint8_t)~2; /* was the key of its own loop, one level up */
    visit_item(o, loop, header, list, &count, 0);
    while (count) {
        uint32_t b = list[--count];
        int32_t child = child_loop(o, b, loop);
        if (child >= 0)
            order_loop(o, child, b);
        else
            o->out[o->out_count++] = b;
    }
}

static void renumber(struct order *o)
{
    struct low *l = o->l;
    uint32_t *to = o->rpo_at;
    struct low_block *old = low_alloc(l, o->n * sizeof *old);
    memcpy(old, l->blocks.items, o->n * sizeof *old);
    for (uint32_t k = 0; k < o->n; k++)
        to[k] = UINT32_MAX;
    for (uint32_t k = 0; k < o->out_count; k++)
        to[o->out[k]] = k;
    for (uint32_t k = 0; k < o->out_count; k++) {
        struct low_block *b = &l->blocks.items[k];
        *b = old[o->out[k]];
        b->loop = o->loop[o->out[k]];
        for (uint32_t s = 0; s < b->succ_count; s++)
            b->succ[s] = to[b->succ[s]];
        b->preds = NULL;
    }
    l->blocks.count = o->out_count;
    for (size_t k = 0; k < l->loops.count; k++) {
        struct low_loop *loop = &l->loops.items[k];
        uint64_t *in = low_alloc(l, (o->n / 64 + 1) * sizeof *in);
        for (uint32_t b = 0; b < o->n; b++)
            if (low_bit(loop->blocks, b) && to[b] != UINT32_MAX) {
                low_bit_set(in, to[b]);
                if (to[b] > loop->last)
                    loop->last = to[b];
            }
        loop->blocks = in;
        loop->header = to[loop->header];
    }
    for (size_t k = l->loops.count; k-- > 0;) {
        struct low_loop *loop = &l->loops.items[k];
        loop->depth = loop->parent >= 0 ? l->loops.items[loop->parent].depth + 1 : 1;
    }
    uint32_t barriers = 0;
    for (size_t k = 0; k < l->blocks.count; k++)
        if (l->blocks.items[k].term == LOW_TERM_BARRIER)
            l->blocks.items[k].barrier = (int32_t)barriers++;
    l->barriers = barriers;
}

void low_cfg_order(struct low *l)
{
    struct order o = {.l = l, .n = (uint32_t)l->blocks.count};
    o.rpo = low_alloc(l, o.n * sizeof *o.rpo);
    o.rpo_at = low_alloc(l, o.n * sizeof *o.rpo_at);
    o.idom = low_alloc(l, o.n * sizeof *o.idom);
    o.loop = low_alloc(l, o.n * sizeof *o.loop);
    o.out = low_alloc(l, o.n * sizeof *o.out);
    o.mark = low_alloc(l, o.n);
    fill_preds(l);
    plain_order(&o);
    dominators(&o);
    find_loops(&o);
    memset(o.mark, 0, o.n);
    order_loop(&o, -1, 0);
    renumber(&o);
    fill_preds(l);
    l->block_words = l->blocks.count / 64 + 1;
}

/* ---- waiting lanes ---- */

static bool sends_part(const struct low_block *b)
{
    return b->partial || (b->divergent && b->term != LOW_TERM_COND_EXIT);
}

static bool common_loop_without(const struct low *l, uint32_t p, uint32_t d, uint32_t w)
{
    for (int32_t k = l->blocks.items[d].loop; k >= 0; k = l->loops.items[k].parent) {
        const uint64_t *in = l->loops.items[k].blocks;
        if (low_bit(in, p) && !low_bit(in, w))
            return true;
    }
    return false;
}

static bool is_header_of(const struct low *l, uint32_t w, uint32_t d)
{
    for (int32_t k = l->blocks.items[d].loop; k >= 0; k = l->loops.items[k].parent)
        if (l->loops.items[k].header == w)
            return true;
    return false;
}

/* Lanes that went from p to w in an earlier step may still wait at w while d runs. */
static bool may_wait(const struct low *l, uint32_t p, uint32_t w, uint32_t d)
{
    if (w == d)
        return false;
    if (p < d && d < w)
        return true;
    if (w <= p && p < d && is_header_of(l, w, d))
        return true;
    return common_loop_without(l, p, d, w);
}

/* General mode: lanes may wait at any block while any other runs. */
static void wait_anywhere(struct low *l)
{
    if (l->local_regs)
        return;
    l->local_regs = low_alloc(l, l->reg_words * sizeof(uint64_t));
    uint64_t *live = low_alloc(l, l->reg_words * sizeof(uint64_t));
    uint64_t *all = low_alloc(l, l->block_words * sizeof(uint64_t));
    for (size_t k = 0; k < l->blocks.count; k++) {
        low_bit_set(all, (uint32_t)k);
        for (size_t w = 0; w < l->reg_words; w++)
            live[w] |= l->blocks.items[k].live_in[w];
    }
    for (size_t w = 0; w < l->reg_words; w++)
        l->local_regs[w] = ~live[w];
    for (size_t k = 0; k < l->blocks.count; k++) {
        struct low_block *b = &l->blocks.items[k];
        b->wait = all;
        b->wait_live = live;
        b->partial = b->needs_mask = b->lost_lanes = true;
    }
    l->any_exit_partial = true;
}

void low_cfg_wait(struct low *l)
{
    uint32_t n = (uint32_t)l->blocks.count;
    if (l->general) {
        wait_anywhere(l);
        return;
    }
    for (uint32_t k = 0; k < n; k++) {
        struct low_block *b = &l->blocks.items[k];
        if (!b->wait) {
            b->wait = low_alloc(l, l->block_words * sizeof *b->wait);
            b->wait_live = low_alloc(l, l->reg_words * sizeof *b->wait_live);
        }
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t p = 0; p < n; p++) {
            struct low_block *pb = &l->blocks.items[p];
            if (!sends_part(pb))
                continue;
            for (uint32_t s = 0; s < pb->succ_count; s++) {
                uint32_t w = pb->succ[s];
                if (!l->blocks.items[w].needs_mask) {
                    l->blocks.items[w].needs_mask = true;
                    changed = true;
                }
                for (uint32_t d = 0; d < n; d++) {
                    struct low_block *db = &l->blocks.items[d];
                    if (low_bit(db->wait, w) || !may_wait(l, p, w, d))
                        continue;
                    low_bit_set(db->wait, w);
                    for (size_t k = 0; k < l->reg_words; k++)
                        db->wait_live[k] |= l->blocks.items[w].live_in[k];
                    db->partial = true;
                    changed = true;
                }
            }
        }
    }
    /* Where lanes may be gone: after any exit that only some take. */
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = 0; k < n; k++) {
            struct low_block *b = &l->blocks.items[k];
            bool lost = b->lost_lanes || (b->term == LOW_TERM_COND_EXIT && b->divergent) ||
                        (b->partial && (b->term == LOW_TERM_EXIT || b->term == LOW_TERM_COND_EXIT));
            if (b->partial && (b->term == LOW_TERM_EXIT || b->term == LOW_TERM_COND_EXIT))
                l->any_exit_partial = true;
            if (b->term == LOW_TERM_COND_EXIT && b->divergent)
                l->any_exit_partial = true;
            if (!lost)
                continue;
            for (uint32_t s = 0; s < b->succ_count; s++)
                if (!l->blocks.items[b->succ[s]].lost_lanes)
                    l->blocks.items[b->succ[s]].lost_lanes = changed = true;
            if (b->partial) /* those that wait go on without the lost ones */
                for (uint32_t w = 0; w < n; w++)
                    if (low_bit(b->wait, w) && !l->blocks.items[w].lost_lanes)
                        l->blocks.items[w].lost_lanes = changed = true;
        }
    }
}

/* ---- what is reached ---- */

void low_reach(struct low *l, uint32_t from, enum low_way way, uint64_t *set)
{
    uint32_t *work = low_alloc(l, (l->blocks.count + 1) * sizeof *work), n = 0;

    work[n++] = from;
    low_bit_set(set, from);
    while (n) {
        const struct low_block *b = &l->blocks.items[work[--n]];
        uint32_t count = way == LOW_BACK ? b->pred_count : b->succ_count;
        const uint32_t *next = way == LOW_BACK ? b->preds : b->succ;

        if (way == LOW_REGION && b->term == LOW_TERM_BARRIER)
            continue;
        for (uint32_t s = 0; s < count; s++) {
            if (low_bit(set, next[s]))
                continue;
            low_bit_set(set, next[s]);
            work[n++] = next[s];
        }
    }
}
