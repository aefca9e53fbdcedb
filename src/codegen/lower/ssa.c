/* Registers and masks from memory to SSA values. Emission writes each to a slot (alloca) of its
 * own; here loads become the values stored, with phis where ways meet. LLVM's own pass does the
 * same, but walks the dominator tree below every store of every slot: quadratic for thousands of
 * short-lived masks. This one only visits the blocks where a slot is live.
 *
 * Per slot: where it is live (backwards from loads that no store of their block precedes), phis in
 * the iterated dominance frontier of its stores as far as it is live there, then its value at the
 * start of each of these blocks in reverse post-order: the phi, or what the immediate dominator
 * leaves (Cytron et al., with Cooper's dominators).
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "codegen/lower/lower.h"

#define NONE UINT32_MAX

struct ssa_def {
    struct ssa_def *next;
    uint32_t block;
    LLVMValueRef value; /* at the block's end */
};

struct ssa_use {
    struct ssa_use *next;
    uint32_t block;
    LLVMValueRef load; /* of the value at the block's start */
};

struct ssa_slot {
    LLVMValueRef alloca;
    LLVMTypeRef type;
    struct ssa_def *defs;
    struct ssa_use *uses;
    LLVMValueRef now; /* in the block being read, when `stamp` is that block */
    uint32_t stamp;
    bool stored; /* in that block */
};

struct ssa_block {
    LLVMBasicBlockRef bb;
    uint32_t *preds, pred_count, entries;
    uint32_t dead_entries; /* from blocks that nothing reaches */
    uint32_t idom, *frontier, frontier_count;
    /* of the slot being looked at, when the stamp is its number */
    uint32_t live_stamp, def_stamp, in_stamp, queue_stamp;
    LLVMValueRef def, in;
};

struct ssa_phi {
    LLVMValueRef phi;
    uint32_t block;
    bool gone;
};

struct ssa {
    struct low *l;
    struct weir_map index;    /* LLVM block -> number + 1; alloca -> slot + 1 */
    struct weir_map replaced; /* load or phi -> what it became */
    struct ssa_block *blocks; /* reverse post-order */
    uint32_t block_count;
    struct ssa_slot *slots;
    uint32_t slot_count;
    uint32_t *work;
    WEIR_VEC(struct ssa_phi) phis; /* of the slot being looked at */
    WEIR_VEC(LLVMValueRef) dead;
};

static void put(struct ssa *s, struct weir_map *m, void *key, void *value)
{
    if (!weir_map_put(m, (uint64_t)(uintptr_t)key, value))
        low_no_memory(s->l);
}

static LLVMValueRef resolve(const struct ssa *s, LLVMValueRef v)
{
    LLVMValueRef r;
    while ((r = weir_map_get(&s->replaced, (uint64_t)(uintptr_t)v)) != NULL)
        v = r;
    return v;
}

static uint32_t number_of(const struct ssa *s, void *key)
{
    uintptr_t n = (uintptr_t)weir_map_get(&s->index, (uint64_t)(uintptr_t)key);
    return n ? (uint32_t)n - 1 : NONE;
}

/* ---- blocks ---- */

/* Depth-first, without recursion: work holds pairs of block (in order of discovery) and next
 * successor. */
static void order_blocks(struct ssa *s)
{
    struct low *l = s->l;
    uint32_t n = LLVMCountBasicBlocks(l->fn), depth = 0, found = 0, place = n;
    LLVMBasicBlockRef *bbs = low_alloc(l, n * sizeof *bbs);
    uint32_t *stack = low_alloc(l, n * 2 * sizeof *stack), *at = low_alloc(l, n * sizeof *at);
    bbs[found++] = LLVMGetEntryBasicBlock(l->fn);
    put(s, &s->index, bbs[0], (void *)(uintptr_t)1);
    stack[0] = stack[1] = 0;
    for (depth = 1; depth;) {
        uint32_t *top = &stack[2 * (depth - 1)];
        LLVMValueRef term = LLVMGetBasicBlockTerminator(bbs[top[0]]);
        if (top[1] == LLVMGetNumSuccessors(term)) {
            at[--place] = top[0];
            depth--;
            continue;
        }
        LLVMBasicBlockRef to = LLVMGetSuccessor(term, top[1]++);
        if (number_of(s, to) != NONE)
            continue;
        put(s, &s->index, to, (void *)(uintptr_t)(found + 1));
        bbs[found] = to;
        stack[2 * depth] = found++;
        stack[2 * depth++ + 1] = 0;
    }
    s->block_count = found;
    s->blocks = low_alloc(l, found * sizeof *s->blocks);
    for (uint32_t k = 0; k < found; k++) {
        struct ssa_block *b = &s->blocks[k];
        b->bb = bbs[at[place + k]];
        b->live_stamp = b->def_stamp = b->in_stamp = b->queue_stamp = NONE;
        put(s, &s->index, b->bb, (void *)(uintptr_t)(k + 1));
    }
}

static void find_preds(struct ssa *s)
{
    for (int fill = 0; fill < 2; fill++)
        for (uint32_t k = 0; k < s->block_count; k++) {
            LLVMValueRef term = LLVMGetBasicBlockTerminator(s->blocks[k].bb);
            uint32_t n = LLVMGetNumSuccessors(term);
            for (uint32_t j = 0; j < n; j++) {
                struct ssa_block *b = &s->blocks[number_of(s, LLVMGetSuccessor(term, j))];
                if (!fill) {
                    b->entries++;
                    continue;
                }
                if (!b->preds)
                    b->preds = low_alloc(s->l, b->entries * sizeof *b->preds);
                b->preds[b->pred_count++] = k;
            }
        }
}

static uint32_t common_dominator(const struct ssa *s, uint32_t a, uint32_t b)
{
    while (a != b) {
        while (a > b)
            a = s->blocks[a].idom;
        while (b > a)
            b = s->blocks[b].idom;
    }
    return a;
}

static void find_dominators(struct ssa *s)
{
    for (uint32_t k = 1; k < s->block_count; k++)
        s->blocks[k].idom = NONE;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = 1; k < s->block_count; k++) {
            struct ssa_block *b = &s->blocks[k];
            uint32_t d = NONE;
            for (uint32_t j = 0; j < b->pred_count; j++) {
                uint32_t p = b->preds[j];
                if (p == 0 || s->blocks[p].idom != NONE)
                    d = d == NONE ? p : common_dominator(s, d, p);
            }
            if (d != b->idom) {
                b->idom = d;
                changed = true;
            }
        }
    }
}

/* Joins where a block's stores meet others; twice: counted, then filled. Whoever adds the same join
 * comes at once. */
static void find_frontiers(struct ssa *s)
{
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t k = 0; k < s->block_count && fill; k++) {
            struct ssa_block *b = &s->blocks[k];
            b->frontier = low_alloc(s->l, b->frontier_count * sizeof *b->frontier);
            b->frontier_count = 0;
            b->queue_stamp = NONE;
        }
        for (uint32_t k = 0; k < s->block_count; k++) {
            const struct ssa_block *b = &s->blocks[k];
            for (uint32_t j = 0; j < b->pred_count && (b->pred_count > 1 || k == 0); j++)
                for (uint32_t r = b->preds[j]; r != b->idom; r = s->blocks[r].idom) {
                    struct ssa_block *x = &s->blocks[r];
                    if (x->queue_stamp == k)
                        break; /* and so have those above */
                    x->queue_stamp = k;
                    if (fill)
                        x->frontier[x->frontier_count] = k;
                    x->frontier_count++;
                }
        }
    }
    for (uint32_t k = 0; k < s->block_count; k++)
        s->blocks[k].queue_stamp = NONE;
}

/* ---- slots ---- */

static bool is_slot(LLVMValueRef alloca, LLVMTypeRef type)
{
    for (LLVMUseRef u = LLVMGetFirstUse(alloca); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef i = LLVMGetUser(u);
        switch (LLVMGetInstructionOpcode(i)) {
        case LLVMLoad:
            if (LLVMGetVolatile(i) || LLVMTypeOf(i) != type)
                return false;
            break;
        case LLVMStore:
            if (LLVMGetVolatile(i) || LLVMGetOperand(i, 0) == alloca ||
                LLVMTypeOf(LLVMGetOperand(i, 0)) != type)
                return false;
            break;
        default:
            return false;
        }
    }
    return true;
}

static void find_slots(struct ssa *s)
{
    uint32_t n = 0;
    for (LLVMValueRef i = LLVMGetFirstInstruction(s->l->entry_bb); i; i = LLVMGetNextInstruction(i))
        n += LLVMGetInstructionOpcode(i) == LLVMAlloca;
    s->slots = low_alloc(s->l, n * sizeof *s->slots);
    for (LLVMValueRef i = LLVMGetFirstInstruction(s->l->entry_bb); i;
         i = LLVMGetNextInstruction(i)) {
        if (LLVMGetInstructionOpcode(i) != LLVMAlloca)
            continue;
        LLVMTypeRef type = LLVMGetAllocatedType(i);
        if (!is_slot(i, type))
            continue;
        s->slots[s->slot_count] = (struct ssa_slot){.alloca = i, .type = type, .stamp = NONE};
        put(s, &s->index, i, (void *)(uintptr_t)(++s->slot_count));
    }
}

static void kill_later(struct ssa *s, LLVMValueRef i)
{
    if (!weir_vec_push(&s->dead, i))
        low_no_memory(s->l);
}

/* Leaves the block: its last store is what the slot holds at its end. */
static void close_slot(struct ssa *s, struct ssa_slot *v)
{
    if (v->stamp == NONE || !v->stored)
        return;
    struct ssa_def *d = low_alloc(s->l, sizeof *d);
    *d = (struct ssa_def){.next = v->defs, .block = v->stamp, .value = v->now};
    v->defs = d;
}

static void enter_slot(struct ssa *s, struct ssa_slot *v, uint32_t block)
{
    if (v->stamp == block)
        return;
    close_slot(s, v);
    v->stamp = block;
    v->stored = false;
    v->now = NULL;
}

static void read_load(struct ssa *s, struct ssa_slot *v, uint32_t block, LLVMValueRef load)
{
    enter_slot(s, v, block);
    kill_later(s, load);
    if (v->now) {
        LLVMReplaceAllUsesWith(load, v->now);
        return;
    }
    v->now = load;
    struct ssa_use *u = low_alloc(s->l, sizeof *u);
    *u = (struct ssa_use){.next = v->uses, .block = block, .load = load};
    v->uses = u;
}

static void read_block(struct ssa *s, uint32_t block)
{
    for (LLVMValueRef i = LLVMGetFirstInstruction(s->blocks[block].bb); i;
         i = LLVMGetNextInstruction(i)) {
        LLVMOpcode op = LLVMGetInstructionOpcode(i);
        if (op != LLVMLoad && op != LLVMStore)
            continue;
        uint32_t n = number_of(s, LLVMGetOperand(i, op == LLVMStore));
        if (n == NONE)
            continue;
        struct ssa_slot *v = &s->slots[n];
        if (op == LLVMLoad) {
            read_load(s, v, block, i);
            continue;
        }
        enter_slot(s, v, block);
        v->stored = true;
        v->now = LLVMGetOperand(i, 0);
        kill_later(s, i);
    }
}

/* ---- one slot ---- */

static void mark_live(struct ssa *s, uint32_t n, uint32_t *lo, uint32_t *hi)
{
    uint32_t depth = 0;
    *lo = NONE;
    *hi = 0;
    for (struct ssa_use *u = s->slots[n].uses; u; u = u->next)
        if (s->blocks[u->block].live_stamp != n) {
            s->blocks[u->block].live_stamp = n;
            s->work[depth++] = u->block;
        }
    while (depth) {
        uint32_t k = s->work[--depth];
        const struct ssa_block *b = &s->blocks[k];
        *lo = WEIR_MIN(*lo, k);
        *hi = WEIR_MAX(*hi, k);
        for (uint32_t j = 0; j < b->pred_count; j++) {
            struct ssa_block *p = &s->blocks[b->preds[j]];
            if (p->def_stamp == n || p->live_stamp == n)
                continue;
            p->live_stamp = n;
            s->work[depth++] = b->preds[j];
        }
    }
}

static LLVMValueRef out_of(struct ssa *s, uint32_t n, uint32_t block)
{
    struct ssa_block *b = &s->blocks[block];
    return resolve(s, b->def_stamp == n ? b->def : b->in);
}

static void place_phi(struct ssa *s, uint32_t n, uint32_t block)
{
    struct ssa_block *b = &s->blocks[block];
    LLVMPositionBuilderBefore(s->l->b, LLVMGetFirstInstruction(b->bb));
    struct ssa_phi phi = {.phi = LLVMBuildPhi(s->l->b, s->slots[n].type, ""), .block = block};
    if (!weir_vec_push(&s->phis, phi))
        low_no_memory(s->l);
    b->in = phi.phi;
    b->in_stamp = n;
}

static void place_phis(struct ssa *s, uint32_t n)
{
    uint32_t depth = 0;
    for (const struct ssa_def *d = s->slots[n].defs; d; d = d->next) {
        s->work[depth++] = d->block;
        s->blocks[d->block].queue_stamp = n;
    }
    while (depth) {
        const struct ssa_block *b = &s->blocks[s->work[--depth]];
        for (uint32_t k = 0; k < b->frontier_count; k++) {
            struct ssa_block *f = &s->blocks[b->frontier[k]];
            if (f->live_stamp != n || f->in_stamp == n)
                continue;
            place_phi(s, n, b->frontier[k]);
            if (f->queue_stamp != n) {
                f->queue_stamp = n;
                s->work[depth++] = b->frontier[k];
            }
        }
    }
}

/* The only value that comes in, besides the phi itself; NULL: there are several. */
static LLVMValueRef only_value(struct ssa *s, uint32_t n, const struct ssa_phi *p)
{
    const struct ssa_block *b = &s->blocks[p->block];
    LLVMValueRef one = NULL;
    for (uint32_t j = 0; j < b->pred_count; j++) {
        LLVMValueRef v = out_of(s, n, b->preds[j]);
        if (v == p->phi)
            continue;
        if (one && v != one)
            return NULL;
        one = v;
    }
    return one;
}

static void dead_incoming(struct ssa *s, LLVMValueRef phi, LLVMBasicBlockRef to)
{
    LLVMValueRef undef = LLVMGetUndef(LLVMTypeOf(phi));
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(s->l->fn); bb;
         bb = LLVMGetNextBasicBlock(bb)) {
        LLVMValueRef term = LLVMGetBasicBlockTerminator(bb);
        for (uint32_t j = 0; number_of(s, bb) == NONE && j < LLVMGetNumSuccessors(term); j++)
            if (LLVMGetSuccessor(term, j) == to)
                LLVMAddIncoming(phi, &undef, &bb, 1);
    }
}

static void finish_phis(struct ssa *s, uint32_t n)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t k = 0; k < s->phis.count; k++) {
            struct ssa_phi *p = &s->phis.items[k];
            LLVMValueRef one = !p->gone ? only_value(s, n, p) : NULL;
            if (!one)
                continue;
            p->gone = changed = true;
            put(s, &s->replaced, p->phi, one);
            kill_later(s, p->phi);
        }
    }
    for (size_t k = 0; k < s->phis.count; k++) {
        struct ssa_phi *p = &s->phis.items[k];
        const struct ssa_block *b = &s->blocks[p->block];
        for (uint32_t j = 0; j < b->pred_count && !p->gone; j++) {
            LLVMValueRef v = out_of(s, n, b->preds[j]);
            LLVMBasicBlockRef from = s->blocks[b->preds[j]].bb;
            LLVMAddIncoming(p->phi, &v, &from, 1);
        }
        if (b->dead_entries && !p->gone)
            dead_incoming(s, p->phi, b->bb);
    }
    s->phis.count = 0;
}

static void rewrite_slot(struct ssa *s, uint32_t n)
{
    struct ssa_slot *v = &s->slots[n];
    uint32_t lo, hi;
    if (!v->uses)
        return;
    for (struct ssa_def *d = v->defs; d; d = d->next) {
        s->blocks[d->block].def_stamp = n;
        s->blocks[d->block].def = d->value;
    }
    mark_live(s, n, &lo, &hi);
    place_phis(s, n);
    for (uint32_t k = lo; k <= hi; k++) {
        struct ssa_block *b = &s->blocks[k];
        if (b->live_stamp != n || b->in_stamp == n)
            continue;
        b->in = k == 0 ? LLVMGetUndef(v->type) : out_of(s, n, b->idom);
        b->in_stamp = n;
    }
    for (struct ssa_use *u = v->uses; u; u = u->next)
        put(s, &s->replaced, u->load, resolve(s, s->blocks[u->block].in));
    finish_phis(s, n);
    for (struct ssa_use *u = v->uses; u; u = u->next)
        LLVMReplaceAllUsesWith(u->load, resolve(s, u->load));
}

static void find_dead_entries(struct ssa *s)
{
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(s->l->fn); bb;
         bb = LLVMGetNextBasicBlock(bb)) {
        LLVMValueRef term = LLVMGetBasicBlockTerminator(bb);
        for (uint32_t j = 0; number_of(s, bb) == NONE && j < LLVMGetNumSuccessors(term); j++) {
            uint32_t to = number_of(s, LLVMGetSuccessor(term, j));
            if (to != NONE)
                s->blocks[to].dead_entries++;
        }
    }
}

/* Blocks that nothing reaches may use slots, too. */
static void forget_unreachable(struct ssa *s)
{
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(s->l->fn); bb;
         bb = LLVMGetNextBasicBlock(bb)) {
        if (number_of(s, bb) != NONE)
            continue;
        for (LLVMValueRef i = LLVMGetFirstInstruction(bb); i; i = LLVMGetNextInstruction(i)) {
            LLVMOpcode op = LLVMGetInstructionOpcode(i);
            if ((op != LLVMLoad && op != LLVMStore) ||
                number_of(s, LLVMGetOperand(i, op == LLVMStore)) == NONE)
                continue;
            if (op == LLVMLoad)
                LLVMReplaceAllUsesWith(i, LLVMGetUndef(LLVMTypeOf(i)));
            kill_later(s, i);
        }
    }
}

void low_ssa(struct low *l)
{
    struct ssa *s = l->ssa = low_alloc(l, sizeof *s);
    s->l = l;
    order_blocks(s);
    find_preds(s);
    find_dominators(s);
    find_frontiers(s);
    find_dead_entries(s);
    find_slots(s);
    s->work = low_alloc(l, (s->block_count + 1) * sizeof *s->work);
    for (uint32_t k = 0; k < s->block_count; k++)
        read_block(s, k);
    for (uint32_t k = 0; k < s->slot_count; k++) {
        close_slot(s, &s->slots[k]);
        rewrite_slot(s, k);
    }
    forget_unreachable(s);
    for (size_t k = 0; k < s->dead.count; k++) {
        LLVMValueRef i = s->dead.items[k];
        LLVMValueRef now = weir_map_get(&s->replaced, (uint64_t)(uintptr_t)i);
        if (now)
            LLVMReplaceAllUsesWith(i, resolve(s, now));
    }
    for (size_t k = 0; k < s->dead.count; k++)
        LLVMInstructionEraseFromParent(s->dead.items[k]);
    for (uint32_t k = 0; k < s->slot_count; k++)
        LLVMInstructionEraseFromParent(s->slots[k].alloca);
    low_ssa_finish(l);
}

void low_ssa_finish(struct low *l)
{
    struct ssa *s = l->ssa;
    if (!s)
        return;
    weir_map_finish(&s->index);
    weir_map_finish(&s->replaced);
    weir_vec_finish(&s->phis);
    weir_vec_finish(&s->dead);
    l->ssa = NULL;
}
