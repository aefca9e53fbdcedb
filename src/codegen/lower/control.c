/* Blocks, branches, warps, regions: the frame around the instructions.
 *
 * A kernel without barriers is one loop over warps, each run from start to end. Barriers cut it
 * into regions: code from the start, or from behind a barrier, to the next barriers. Each region is
 * a loop over the warps that stand at its start; a warp's live registers and its next region are
 * kept in block->state. When every warp has come to a barrier or ended, the next regions run. Where
 * warps stand at different barriers, each region runs for its own. Where the program's text says
 * that all warps come to one barrier, nobody asks where they stand (find_steps), and a short region
 * stands there once for each warp: its masks and addresses are constants then.
 * Loops in which warps take turns (turns.c) begin regions, too, which run until no warp is left in
 * them before the next pass begins.
 *
 * Inside a region, lanes of a warp that have gone another way wait: wait_slot[block] holds them.
 * After a block, the first block in order with waiting lanes runs (continue_at). Where analysis
 * shows that nobody can wait, that is a plain jump.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "codegen/lower/lower.h"
#include "device/race.h"

#define STATE_HEADER 256u
#define RED_OFFSET   128u /* two pairs: lanes with a true predicate, lanes */
#define MAX_REGIONS  62u
#define MIXED        UINT32_MAX       /* where warps come to: several places */
#define ENDS         (UINT32_MAX - 1) /* all end */
#define COPIED       256u             /* PTX instructions of a region, for all warps together */
#define COPIED_ALL   1024u            /* or the object is one of those that have fewer passes */

struct chain {
    struct chain *next;
    uint32_t count;
    uint32_t known; /* UINT32_MAX: none */
    LLVMBasicBlockRef bb;
    uint32_t list[];
};

struct region {
    uint32_t id, entry;
    const struct low_block *barrier; /* that it begins behind, or NULL */
    const struct low_block *turn;    /* that it begins with (turns.c), or NULL */
    const uint64_t *live;            /* registers in a warp's state when it begins; NULL: none */
    uint64_t *blocks;
    uint64_t *uses, *defs; /* registers that its instructions read, write */
    struct chain *chains;
    LLVMBasicBlockRef next_bb; /* to the next warp */
};

/* Of a region: do all warps of the block run it at the same time, and where do they come to: a
 * barrier's number, ENDS or MIXED. */
struct step {
    uint64_t *blocks;
    bool in_step;
    uint32_t outcome;
};

struct control {
    struct low *l;
    struct region r;
    LLVMBasicBlockRef *region_head; /* by region */
    struct step *steps;             /* the same */
    bool dispatches;                /* warps may stand at different places */
    uint32_t copied;                /* PTX instructions so far */
    bool copying;                   /* the region stands there once for each warp */
    LLVMBasicBlockRef dispatch, finish;
    uint32_t regions;                    /* behind the first one: barriers, then turns */
    LLVMValueRef current, pending, pass; /* allocas */
    LLVMValueRef passes;                 /* the same: of a loop, until the next warp's turn */
    LLVMValueRef tag;                    /* of warps that stand at the region being run */
    LLVMValueRef warp_state;
    LLVMBasicBlockRef cur_pre; /* where the region's invariants are */
};

/* ---- masks ---- */

static void load_masks(struct low *l, LLVMValueRef *slot, LLVMValueRef *out)
{
    for (unsigned g = 0; g < l->groups; g++)
        out[g] = LLVMBuildLoad2(l->b, l->t.mask, slot[g], "");
}

static void store_masks(struct low *l, LLVMValueRef *slot, LLVMValueRef *m)
{
    for (unsigned g = 0; g < l->groups; g++)
        LLVMBuildStore(l->b, m[g], slot[g]);
}

static LLVMValueRef *wait_slots(struct low *l, uint32_t block)
{
    if (l->general)
        low_general_mask_slots(l, block);
    return l->wait_slot + (size_t)block * l->groups;
}

static LLVMValueRef *live_slots(struct low *l)
{
    if (l->general)
        low_general_mask_slots(l, 0);
    return l->live_slot;
}

/* Adds lanes to those that wait at block `to`, coming from block `from`. */
static void send(struct low *l, uint32_t from, uint32_t to, LLVMValueRef *lanes)
{
    if (l->general) {
        low_general_send(l, to, lanes);
        return;
    }
    const struct low_block *b = &l->blocks.items[to];
    if (!b->needs_mask)
        return;
    LLVMValueRef m[LOW_MAX_GROUPS];
    bool others = low_bit(l->blocks.items[from].wait, to);
    if (others)
        load_masks(l, wait_slots(l, to), m);
    for (unsigned g = 0; g < l->groups; g++)
        m[g] = others ? LLVMBuildOr(l->b, m[g], lanes[g], "") : lanes[g];
    store_masks(l, wait_slots(l, to), m);
}

/* ---- what runs next ---- */

/* Position of block w on the way from block p: later blocks in order, and the headers of p's loops
 * behind the loops' ends. */
static uint64_t way(struct low *l, uint32_t p, uint32_t w)
{
    if (l->general)
        return w;
    if (w > p)
        return (uint64_t)w << 16;
    for (int32_t k = l->blocks.items[p].loop; k >= 0; k = l->loops.items[k].parent)
        if (l->loops.items[k].header == w)
            return ((uint64_t)l->loops.items[k].last << 16) +
                   (65535u - WEIR_MIN(l->loops.items[k].depth, 60000u));
    low_refuse(l, NULL, "irreducible control flow");
}

static void sort_by_way(struct low *l, uint32_t p, uint32_t *list, uint32_t n)
{
    for (uint32_t k = 1; k < n; k++)
        for (uint32_t j = k; j > 0 && way(l, p, list[j]) < way(l, p, list[j - 1]); j--) {
            uint32_t t = list[j];
            list[j] = list[j - 1];
            list[j - 1] = t;
        }
}

/* Code that goes to the first of list[] in which lanes wait, else to `known`, else the warp is
 * finished. */
static LLVMBasicBlockRef chain_block(struct control *c, const uint32_t *list, uint32_t n,
                                     uint32_t known)
{
    struct low *l = c->l;
    if (n == 0)
        return known == UINT32_MAX ? l->done_bb : l->bb[known];
    for (struct chain *k = c->r.chains; k; k = k->next)
        if (k->count == n && k->known == known && memcmp(k->list, list, n * sizeof *list) == 0)
            return k->bb;
    struct chain *k = low_alloc(l, sizeof *k + n * sizeof *list);
    k->count = n;
    k->known = known;
    memcpy(k->list, list, n * sizeof *list);
    LLVMBasicBlockRef rest = chain_block(c, list + 1, n - 1, known);
    LLVMBasicBlockRef back = LLVMGetInsertBlock(l->b);
    k->bb = low_bb(l, "waiting");
    LLVMPositionBuilderAtEnd(l->b, k->bb);
    LLVMValueRef m[LOW_MAX_GROUPS];
    load_masks(l, wait_slots(l, list[0]), m);
    LLVMBuildCondBr(l->b, low_any(l, m), l->bb[list[0]], rest);
    LLVMPositionBuilderAtEnd(l->b, back);
    k->next = c->r.chains;
    c->r.chains = k;
    return k->bb;
}

/* A wait slot holds a value only while a block runs during which lanes may wait there. On the way
 * from block p to `to` nobody waits yet at the blocks where that begins, but for those that p sends
 * lanes to. */
static void begin_waits(struct control *c, uint32_t p, uint32_t to, const uint32_t *sent,
                        uint32_t n, uint64_t *done)
{
    struct low *l = c->l;
    const struct low_block *from = &l->blocks.items[p], *t = &l->blocks.items[to];
    LLVMValueRef none[LOW_MAX_GROUPS];
    for (unsigned g = 0; g < l->groups; g++)
        none[g] = LLVMConstNull(l->t.mask);
    for (uint32_t k = 0; k < l->block_words; k++) {
        uint64_t fresh = t->wait[k] & ~from->wait[k] & ~done[k] & c->r.blocks[k];
        for (; fresh; fresh &= fresh - 1) {
            uint32_t w = k * 64 + (uint32_t)__builtin_ctzll(fresh);
            bool is_sent = false;
            for (uint32_t j = 0; j < n; j++)
                is_sent |= sent[j] == w;
            low_bit_set(done, w);
            if (!is_sent && l->blocks.items[w].needs_mask)
                store_masks(l, wait_slots(l, w), none);
        }
    }
}

/* Ends the current LLVM block: after block p, with lanes certainly at `known` (or none), and
 * perhaps at extra[]. */
static void continue_at(struct control *c, uint32_t p, uint32_t known, const uint32_t *extra,
                        uint32_t extras)
{
    struct low *l = c->l;
    if (l->general) {
        uint32_t retreat = known != UINT32_MAX ? low_general_retreat(l, p, known) : 0;
        for (uint32_t k = 0; k < extras; k++)
            retreat = WEIR_MAX(retreat, low_general_retreat(l, p, extra[k]));
        low_general_continue(l, p, extras ? UINT32_MAX : known, retreat);
        return;
    }
    const struct low_block *b = &l->blocks.items[p];
    uint32_t *list = low_alloc(l, (l->blocks.count + extras + 1) * sizeof *list), n = 0;
    uint32_t *sent = low_alloc(l, (extras + 1) * sizeof *sent), sents = 0;
    uint64_t *done = low_alloc(l, l->block_words * sizeof *done);
    for (uint32_t k = 0; k < extras; k++)
        sent[sents++] = extra[k];
    if (known != UINT32_MAX)
        sent[sents++] = known;
    for (uint32_t w = 0; w < l->blocks.count && b->partial; w++)
        if (low_bit(b->wait, w) && low_bit(c->r.blocks, w))
            list[n++] = w;
    for (uint32_t k = 0; k < extras; k++)
        if (!low_bit(b->wait, extra[k]) || !b->partial)
            list[n++] = extra[k];
    sort_by_way(l, p, list, n);
    if (known != UINT32_MAX)
        for (uint32_t k = 0; k < n; k++)
            if (list[k] == known || way(l, p, list[k]) >= way(l, p, known)) {
                n = k;
                break;
            }
    if (known == UINT32_MAX && extras && n) { /* someone is somewhere: the last needs no test */
        known = list[n - 1];
        n--;
    }
    for (uint32_t k = 0; k < n; k++)
        begin_waits(c, p, list[k], sent, sents, done);
    if (known != UINT32_MAX)
        begin_waits(c, p, known, sent, sents, done);
    LLVMBuildBr(l->b, chain_block(c, list, n, known));
}

static void jump(struct control *c, uint32_t p, uint32_t to)
{
    if (c->l->general)
        low_general_send_all(c->l, to);
    else
        send(c->l, p, to, c->l->mask);
    continue_at(c, p, to, NULL, 0);
}

/* ---- ends of blocks ---- */

static void end_lanes(struct low *l, LLVMValueRef *gone)
{
    LLVMValueRef live[LOW_MAX_GROUPS], *slots = live_slots(l);
    load_masks(l, slots, live);
    for (unsigned g = 0; g < l->groups; g++)
        live[g] = LLVMBuildAnd(l->b, live[g], low_mask_not(l, gone[g]), "");
    store_masks(l, slots, live);
}

static void split(struct low *l, const struct low_block *b, const struct low_val *p,
                  LLVMValueRef *yes, LLVMValueRef *no)
{
    (void)b;
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef m = low_vector(l, p, g);
        yes[g] = LLVMBuildAnd(l->b, l->mask[g], m, "");
        no[g] = LLVMBuildAnd(l->b, l->mask[g], low_mask_not(l, m), "");
    }
}

static void end_cond(struct control *c, uint32_t at)
{
    struct low *l = c->l;
    const struct low_block *b = &l->blocks.items[at];
    uint32_t s0 = b->succ[0], s1 = b->succ[1];
    struct low_val p = low_read_pred(l, b->pred, b->pred_negated);
    if (s0 == s1) {
        jump(c, at, s0);
        return;
    }
    if (p.shape == LOW_UNIFORM) {
        LLVMBasicBlockRef yes = low_bb(l, "yes"), no = low_bb(l, "no");
        LLVMBuildCondBr(l->b, p.v[0], yes, no);
        LLVMPositionBuilderAtEnd(l->b, yes);
        jump(c, at, s0);
        LLVMPositionBuilderAtEnd(l->b, no);
        jump(c, at, s1);
        return;
    }
    if (l->general && low_general_branch(l, at, &p))
        return;
    LLVMValueRef m[2][LOW_MAX_GROUPS];
    split(l, b, &p, m[0], m[1]);
    /* `first` comes first in order; when no lane goes to the other one, nothing has to be split */
    unsigned f = way(l, at, s0) <= way(l, at, s1) ? 0 : 1;
    uint32_t first = b->succ[f], second = b->succ[1 - f];
    LLVMBasicBlockRef all = low_bb(l, "together"), part = low_bb(l, "split");
    LLVMBuildCondBr(l->b, low_any(l, m[1 - f]), part, all);
    LLVMPositionBuilderAtEnd(l->b, all);
    jump(c, at, first);
    LLVMPositionBuilderAtEnd(l->b, part);
    send(l, at, second, m[1 - f]);
    send(l, at, first, m[f]);
    continue_at(c, at, second, &first, 1);
}

static void end_exit(struct control *c, uint32_t at)
{
    struct low *l = c->l;
    end_lanes(l, l->mask);
    continue_at(c, at, UINT32_MAX, NULL, 0);
}

static void end_cond_exit(struct control *c, uint32_t at)
{
    struct low *l = c->l;
    const struct low_block *b = &l->blocks.items[at];
    struct low_val p = low_read_pred(l, b->pred, b->pred_negated);
    LLVMBasicBlockRef out = low_bb(l, "exit"), stay = low_bb(l, "stay");
    if (p.shape == LOW_UNIFORM) {
        LLVMBuildCondBr(l->b, p.v[0], out, stay);
        LLVMPositionBuilderAtEnd(l->b, stay);
        jump(c, at, b->succ[0]);
        LLVMPositionBuilderAtEnd(l->b, out);
        end_exit(c, at);
        return;
    }
    LLVMValueRef gone[LOW_MAX_GROUPS], rest[LOW_MAX_GROUPS];
    split(l, b, &p, gone, rest);
    end_lanes(l, gone);
    LLVMBuildCondBr(l->b, low_any(l, rest), stay, out);
    LLVMPositionBuilderAtEnd(l->b, out);
    continue_at(c, at, UINT32_MAX, NULL, 0);
    LLVMPositionBuilderAtEnd(l->b, stay);
    memcpy(l->mask, rest, sizeof rest);
    jump(c, at, b->succ[0]);
}

static const struct weir_ptx_operand *brx_index(const struct weir_ptx_inst *p)
{
    for (unsigned k = 0; k < p->operand_count; k++)
        if (p->operands[k].kind != WEIR_PTX_OPERAND_TABLE)
            return &p->operands[k];
    return &p->operands[0];
}

static void end_brx(struct control *c, uint32_t at)
{
    struct low *l = c->l;
    const struct low_block *b = &l->blocks.items[at];
    const struct low_inst *i = &l->insts.items[b->end - 1];
    l->inst = i;
    struct low_val v = low_read(l, i, brx_index(i->p), WEIR_PTX_U32);
    if (v.shape == LOW_UNIFORM) {
        LLVMBasicBlockRef bad = low_bb(l, "no_target");
        LLVMValueRef sw = LLVMBuildSwitch(l->b, v.v[0], bad, b->succ_count);
        for (uint32_t k = 0; k < b->succ_count; k++) {
            LLVMBasicBlockRef bb = low_bb(l, "target");
            LLVMAddCase(sw, LLVMConstInt(l->t.i32, k, 0), bb);
            LLVMPositionBuilderAtEnd(l->b, bb);
            jump(c, at, b->succ[k]);
        }
        LLVMPositionBuilderAtEnd(l->b, bad);
        LLVMBuildUnreachable(l->b);
        return;
    }
    for (uint32_t k = 0; k < b->succ_count; k++) {
        LLVMValueRef m[LOW_MAX_GROUPS];
        for (unsigned g = 0; g < l->groups; g++) {
            LLVMValueRef x = low_vector(l, &v, g);
            LLVMValueRef eq = LLVMBuildICmp(l->b, LLVMIntEQ, x, low_const(l, LLVMTypeOf(x), k), "");
            m[g] = LLVMBuildAnd(l->b, l->mask[g], eq, "");
        }
        bool again = false; /* a target that stands in the table twice collects both */
        for (uint32_t j = 0; j < k; j++)
            again |= b->succ[j] == b->succ[k];
        if (again) {
            LLVMValueRef have[LOW_MAX_GROUPS];
            load_masks(l, wait_slots(l, b->succ[k]), have);
            for (unsigned g = 0; g < l->groups; g++)
                m[g] = LLVMBuildOr(l->b, m[g], have[g], "");
            store_masks(l, wait_slots(l, b->succ[k]), m);
        } else {
            send(l, at, b->succ[k], m);
        }
    }
    uint32_t *extra = low_alloc(l, (b->succ_count + 1) * sizeof *extra), n = 0;
    for (uint32_t k = 0; k < b->succ_count; k++) {
        bool seen = false;
        for (uint32_t j = 0; j < n; j++)
            seen |= extra[j] == b->succ[k];
        if (!seen)
            extra[n++] = b->succ[k];
    }
    continue_at(c, at, UINT32_MAX, extra, n);
}

static void end_trap(struct control *c, uint32_t at)
{
    struct low *l = c->l;
    const struct low_inst *i = &l->insts.items[l->blocks.items[at].end - 1];
    LLVMTypeRef types[3] = {l->t.ptr, l->t.i32, l->t.i32};
    bool stack = strcmp(i->p->suffix, LOW_STACK_TRAP) == 0;
    LLVMValueRef args[3] = {
        l->block_ptr,
        LLVMConstInt(l->t.i32, stack ? WEIR_ERR_ILLEGAL_ADDRESS : WEIR_ERR_LAUNCH_FAILURE, 0),
        LLVMConstInt(l->t.i32, (unsigned)i->p->line, 0)};
    LLVMValueRef off = LLVMConstInt(l->t.i64, offsetof(struct weir_kernel_services, fail), 0);
    LLVMValueRef f =
        LLVMBuildLoad2(l->b, l->t.ptr, LLVMBuildGEP2(l->b, l->t.i8, l->services, &off, 1, ""), "");
    LLVMBuildCall2(l->b, LLVMFunctionType(l->t.v, types, 3, 0), f, args, 3, "");
    LLVMBuildUnreachable(l->b);
}

/* ---- state across barriers ---- */

static LLVMValueRef at_offset(struct low *l, LLVMValueRef p, uint64_t offset)
{
    LLVMValueRef at = LLVMConstInt(l->t.i64, offset, 0);
    return LLVMBuildGEP2(l->b, l->t.i8, p, &at, 1, "");
}

static LLVMValueRef state_load(struct low *l, LLVMTypeRef t, LLVMValueRef p)
{
    LLVMValueRef v = LLVMBuildLoad2(l->b, t, p, "");
    low_scope_state(l, v);
    return v;
}

static void state_store(struct low *l, LLVMValueRef v, LLVMValueRef p)
{
    LLVMValueRef s = LLVMBuildStore(l->b, v, p);
    low_scope_state(l, s);
}

static bool is_saved(const struct low *l, size_t reg)
{
    const struct low_reg *r = &l->regs.items[reg];
    return !r->is_virtual && !(r->fact.invariant && r->def_count == 1) &&
           (r->def_count || r->use_count);
}

static uint32_t elem_bytes(const struct low_reg *r)
{
    return r->bits == 1 ? 4 : r->bits / 8;
}

/* Registers that a warp's state has behind a block: those that the next region needs. */
static const uint64_t *live_behind(const struct low_block *b)
{
    return b->term == LOW_TERM_BARRIER ? b->live_out : b->turn_live;
}

static uint32_t place_register(const struct low *l, struct low_reg *reg, uint32_t at)
{
    uint32_t bytes = elem_bytes(reg), n = 1;
    if (reg->guarded)
        n = l->groups * (l->width + 1) + 1;
    else if (reg->fact.shape == LOW_AFFINE)
        n = l->groups;
    else if (reg->fact.shape == LOW_VARYING && reg->bits > 1)
        n = LOW_LANES;
    at = WEIR_ALIGN_UP(at, reg->fact.shape == LOW_VARYING && reg->bits > 1 ? 64 : bytes);
    reg->state_offset = (int32_t)at;
    return at + bytes * n;
}

/* The mask of live lanes first, then those that wait at each block while warps take turns. */
static void place_state(struct low *l)
{
    uint32_t at = 64;
    if (l->turns)
        at += 4 * (uint32_t)l->blocks.count;
    for (size_t k = 0; k < l->blocks.count; k++) {
        const uint64_t *live = live_behind(&l->blocks.items[k]);
        for (size_t r = 0; r < l->regs.count && live; r++) {
            struct low_reg *reg = &l->regs.items[r];
            if (low_bit(live, (uint32_t)r) && is_saved(l, r) && reg->state_offset < 0)
                at = place_register(l, reg, at);
        }
    }
    l->state_bytes = WEIR_ALIGN_UP(at, 64u);
}

static LLVMTypeRef slot_type(const struct low *l, const struct low_reg *r)
{
    return r->bits == 1 ? l->t.i1 : low_type(l, r->type);
}

static void copy_slow(struct low *l, const struct low_reg *r, LLVMValueRef base, bool save)
{
    LLVMTypeRef vt = low_vec_type(l, slot_type(l, r)), at = LLVMArrayType2(vt, l->groups);
    unsigned bytes = r->bits / 8; /* the state of a register is aligned as one lane's value is */
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef idx[2] = {LLVMConstInt(l->t.i32, 0, 0), LLVMConstInt(l->t.i32, g, 0)};
        LLVMValueRef slow = LLVMBuildGEP2(l->b, at, r->slow_slot, idx, 2, "");
        LLVMValueRef st = at_offset(l, base, (uint64_t)g * l->width * bytes);
        LLVMValueRef v = LLVMBuildLoad2(l->b, vt, save ? slow : st, "");
        LLVMSetAlignment(v, save ? 64 : bytes);
        LLVMSetVolatile(v, save);
        v = LLVMBuildStore(l->b, v, save ? st : slow);
        LLVMSetAlignment(v, save ? bytes : 64);
        LLVMSetVolatile(v, !save);
    }
}

static void guarded_state(struct low *l, const struct low_reg *r, LLVMValueRef p, bool save)
{
    uint32_t bytes = r->bits / 8;
    LLVMTypeRef t = slot_type(l, r);
    LLVMValueRef okp = at_offset(l, p, (uint64_t)l->groups * l->width * bytes), ok;
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef bp = at_offset(l, okp, bytes * (g + 1u));
        if (save)
            state_store(l, LLVMBuildLoad2(l->b, t, r->slot[g], ""), bp);
        else
            LLVMBuildStore(l->b, state_load(l, t, bp), r->slot[g]);
    }
    if (save) {
        ok = LLVMBuildLoad2(l->b, l->t.i1, r->ok_slot, "");
        state_store(l, LLVMBuildZExt(l->b, ok, l->t.i8, ""), okp);
    } else {
        ok = LLVMBuildTrunc(l->b, state_load(l, l->t.i8, okp), l->t.i1, "");
        LLVMBuildStore(l->b, ok, r->ok_slot);
    }
    LLVMBasicBlockRef slow = low_bb(l, "slow"), next = low_bb(l, "next");
    low_cond_unlikely(l, ok, next, slow);
    LLVMPositionBuilderAtEnd(l->b, slow);
    copy_slow(l, r, p, save);
    LLVMBuildBr(l->b, next);
    LLVMPositionBuilderAtEnd(l->b, next);
}

static void reg_state(struct control *c, struct low_reg *r, bool save)
{
    struct low *l = c->l;
    LLVMValueRef p = at_offset(l, c->warp_state, (uint64_t)r->state_offset);
    LLVMTypeRef t = slot_type(l, r);
    if (r->guarded) {
        guarded_state(l, r, p, save);
        return;
    }
    if (r->bits == 1 && r->fact.shape == LOW_VARYING) {
        LLVMValueRef m[LOW_MAX_GROUPS];
        if (save) {
            load_masks(l, r->slot, m);
            state_store(l, low_mask_bits(l, m), p);
        } else {
            low_mask_from_bits(l, state_load(l, l->t.i32, p), m);
            store_masks(l, r->slot, m);
        }
        return;
    }
    bool vec = r->fact.shape == LOW_VARYING;
    unsigned n = r->fact.shape == LOW_UNIFORM ? 1 : l->groups;
    uint32_t step = elem_bytes(r) * (vec ? l->width : 1);
    for (unsigned g = 0; g < n; g++) {
        LLVMValueRef q = at_offset(l, p, (uint64_t)g * step);
        LLVMTypeRef vt = vec ? low_vec_type(l, t) : r->bits == 1 ? l->t.i8 : t;
        if (save) {
            LLVMValueRef v = LLVMBuildLoad2(l->b, vec ? vt : t, r->slot[g], "");
            if (r->bits == 1)
                v = LLVMBuildZExt(l->b, v, l->t.i8, "");
            state_store(l, v, q);
        } else {
            LLVMValueRef v = state_load(l, vt, q);
            if (r->bits == 1)
                v = LLVMBuildTrunc(l->b, v, l->t.i1, "");
            LLVMBuildStore(l->b, v, r->slot[g]);
        }
    }
}

/* What a region leaves alone is in the warp's state already, and stays there. */
static bool is_moved(const struct control *c, uint32_t reg, bool save)
{
    bool was_saved = c->r.live && low_bit(c->r.live, reg);
    return low_bit(c->r.defs, reg) || (save ? !was_saved : low_bit(c->r.uses, reg));
}

static bool ends_threads(const struct low *l, const uint64_t *blocks)
{
    for (uint32_t k = 0; k < l->blocks.count; k++) {
        uint8_t term = l->blocks.items[k].term;
        if (low_bit(blocks, k) &&
            (term == LOW_TERM_EXIT || term == LOW_TERM_COND_EXIT || term == LOW_TERM_TRAP))
            return true;
    }
    return false;
}

static void live_state(struct control *c, const uint64_t *live, bool save)
{
    struct low *l = c->l;
    for (size_t r = 0; r < l->regs.count; r++)
        if (low_bit(live, (uint32_t)r) && is_saved(l, r) && l->regs.items[r].slot[0] &&
            is_moved(c, (uint32_t)r, save))
            reg_state(c, &l->regs.items[r], save);
    if (!l->any_exit_partial || (save && c->r.live && !ends_threads(l, c->r.blocks)))
        return;
    LLVMValueRef m[LOW_MAX_GROUPS];
    if (save) {
        load_masks(l, l->live_slot, m);
        state_store(l, low_mask_bits(l, m), c->warp_state);
    } else {
        low_mask_from_bits(l, state_load(l, l->t.i32, c->warp_state), m);
        store_masks(l, l->live_slot, m);
    }
}

/* bar.red: counts of this pass, and the result of the one before. */
static const struct weir_ptx_inst *reduction(struct low *l, const struct low_block *b)
{
    const struct weir_ptx_inst *p = l->insts.items[b->end - 1].p;
    return p->sub == WEIR_PTX_SUB_RED ? p : NULL;
}

static LLVMValueRef red_pointer(struct control *c, bool previous, unsigned which)
{
    struct low *l = c->l;
    LLVMValueRef parity = LLVMBuildAnd(l->b, LLVMBuildLoad2(l->b, l->t.i32, c->pass, ""),
                                       LLVMConstInt(l->t.i32, 1, 0), "");
    if (previous)
        parity = LLVMBuildXor(l->b, parity, LLVMConstInt(l->t.i32, 1, 0), "");
    LLVMValueRef off = LLVMBuildMul(l->b, parity, LLVMConstInt(l->t.i32, 8, 0), "");
    off = LLVMBuildAdd(l->b, off, LLVMConstInt(l->t.i32, RED_OFFSET + 4 * which, 0), "");
    return LLVMBuildGEP2(l->b, l->t.i8, l->state, &off, 1, "");
}

static void count_votes(struct control *c, const struct low_inst *i)
{
    struct low *l = c->l;
    const struct weir_ptx_inst *p = i->p;
    const struct weir_ptx_operand *o = &p->operands[p->operand_count - 1];
    struct low_val v = low_read(l, i, o, WEIR_PTX_PRED);
    LLVMValueRef m[LOW_MAX_GROUPS], n[2];
    for (unsigned g = 0; g < l->groups; g++)
        m[g] = LLVMBuildAnd(l->b, l->mask[g], low_vector(l, &v, g), "");
    n[0] = low_unary(l, "llvm.ctpop", low_mask_bits(l, m));
    n[1] = low_unary(l, "llvm.ctpop", low_mask_bits(l, l->mask));
    for (unsigned k = 0; k < 2; k++) {
        LLVMValueRef q = red_pointer(c, false, k);
        LLVMBuildStore(l->b, LLVMBuildAdd(l->b, LLVMBuildLoad2(l->b, l->t.i32, q, ""), n[k], ""),
                       q);
    }
}

static void vote_result(struct control *c, const struct low_inst *i)
{
    struct low *l = c->l;
    const struct weir_ptx_inst *p = i->p;
    LLVMValueRef yes = LLVMBuildLoad2(l->b, l->t.i32, red_pointer(c, true, 0), "");
    LLVMValueRef all = LLVMBuildLoad2(l->b, l->t.i32, red_pointer(c, true, 1), ""), r = yes;
    if (p->sub2 == WEIR_PTX_SUB_AND)
        r = LLVMBuildICmp(l->b, LLVMIntEQ, yes, all, "");
    else if (p->sub2 == WEIR_PTX_SUB_OR)
        r = LLVMBuildICmp(l->b, LLVMIntNE, yes, LLVMConstInt(l->t.i32, 0, 0), "");
    struct low_val v = {.shape = LOW_UNIFORM};
    v.v[0] = r;
    l->inst = i;
    if (p->operands[0].kind == WEIR_PTX_OPERAND_REG)
        low_write(l, low_reg_of(l, i, p->operands[0].reg), &v);
}

/* Only barrier 0 with all threads: others need warps that run ahead of each other. */
static void check_barrier(struct low *l, const struct low_inst *i)
{
    const struct weir_ptx_inst *p = i->p;
    unsigned at = p->dest_count, n = p->operand_count - at;
    if (reduction(l, &l->blocks.items[l->block]))
        n--;
    if (n >= 1) {
        struct low_fact f = low_operand_fact(l, i, &p->operands[at], WEIR_PTX_U32);
        if (!f.is_const || f.value < 0 || f.value > 15)
            low_need_general(l, p, "barrier that is not known at compile time");
        l->named_barriers |= 1u << f.value;
    }
    if (n >= 2) {
        struct low_fact f = low_operand_fact(l, i, &p->operands[at + 1], WEIR_PTX_U32);
        if (!f.is_const || f.value < (int64_t)l->threads)
            low_need_general(l, p, "barrier of a part of the block");
    }
}

/* All warps run the region being made, and come to one place. */
static bool goes_on_in_step(const struct control *c)
{
    const struct step *s = &c->steps[c->r.id];
    return s->in_step && s->outcome != MIXED;
}

/* The warp stands at the start of a region, to be run in the next pass; where it has its turns, in
 * this one. */
static void stand_at(struct control *c, uint32_t region)
{
    struct low *l = c->l;
    LLVMValueRef pass = LLVMBuildLoad2(l->b, l->t.i32, c->pass, "");
    LLVMValueRef tag =
        LLVMBuildShl(l->b, LLVMBuildAdd(l->b, pass, LLVMConstInt(l->t.i32, 1, 0), ""),
                     LLVMConstInt(l->t.i32, 8, 0), "");
    tag = LLVMBuildOr(l->b, tag, LLVMConstInt(l->t.i32, region, 0), "");
    state_store(l, tag, LLVMBuildGEP2(l->b, l->t.i32, l->state, &l->warp, 1, ""));
    LLVMValueRef set = LLVMBuildLoad2(l->b, l->t.i64, c->pending, "");
    set = LLVMBuildOr(l->b, set, LLVMConstInt(l->t.i64, 1ull << region, 0), "");
    LLVMBuildStore(l->b, set, c->pending);
    LLVMBuildBr(l->b, c->r.next_bb);
}

static void end_barrier(struct control *c, uint32_t at)
{
    struct low *l = c->l;
    if (l->general) {
        low_general_barrier(l, at);
        return;
    }
    const struct low_block *b = &l->blocks.items[at];
    const struct low_inst *i = &l->insts.items[b->end - 1];
    l->inst = i;
    check_barrier(l, i);
    if (b->partial)
        low_need_general(l, i->p, "barrier where the warp's lanes are apart");
    low_order_arrive(l, i, LLVMConstInt(l->t.i32, 0, 0), b->barrier);
    if (reduction(l, b))
        count_votes(c, i);
    live_state(c, b->live_out, true);
    if (goes_on_in_step(c))
        LLVMBuildBr(l->b, c->r.next_bb);
    else
        stand_at(c, (uint32_t)b->barrier + 1);
}

/* ---- turns ---- */

/* The lanes that wait somewhere while the loop runs, and those that are about to run it. */
static void turn_masks(struct control *c, const struct low_block *h, bool save)
{
    struct low *l = c->l;
    for (uint32_t k = 0; k < l->blocks.count; k++) {
        LLVMValueRef m[LOW_MAX_GROUPS], p;
        if (!l->blocks.items[k].needs_mask || (h != &l->blocks.items[k] && !low_bit(h->wait, k)))
            continue;
        p = at_offset(l, c->warp_state, 64 + 4 * k);
        if (save) {
            load_masks(l, wait_slots(l, k), m);
            state_store(l, low_mask_bits(l, m), p);
        } else {
            low_mask_from_bits(l, state_load(l, l->t.i32, p), m);
            store_masks(l, wait_slots(l, k), m);
        }
    }
}

/* At the header of a loop: after some passes the next warp's turn comes. */
static void take_turns(struct control *c, const struct low_block *h)
{
    struct low *l = c->l;
    LLVMBasicBlockRef over = low_bb(l, "over"), on = low_bb(l, "on");
    LLVMValueRef left = LLVMBuildLoad2(l->b, l->t.i32, c->passes, "");
    LLVMBuildStore(l->b, LLVMBuildSub(l->b, left, LLVMConstInt(l->t.i32, 1, 0), ""), c->passes);
    LLVMBuildCondBr(l->b, LLVMBuildICmp(l->b, LLVMIntEQ, left, LLVMConstInt(l->t.i32, 0, 0), ""),
                    over, on);
    LLVMPositionBuilderAtEnd(l->b, over);
    live_state(c, h->turn_live, true);
    turn_masks(c, h, true);
    stand_at(c, l->barriers + h->turn);
    LLVMPositionBuilderAtEnd(l->b, on);
}

static void end_block(struct control *c, uint32_t at)
{
    switch (c->l->blocks.items[at].term) {
    case LOW_TERM_FALL:
        jump(c, at, c->l->blocks.items[at].succ[0]);
        break;
    case LOW_TERM_COND:
        end_cond(c, at);
        break;
    case LOW_TERM_EXIT:
        end_exit(c, at);
        break;
    case LOW_TERM_COND_EXIT:
        end_cond_exit(c, at);
        break;
    case LOW_TERM_BRX:
        end_brx(c, at);
        break;
    case LOW_TERM_BARRIER:
        end_barrier(c, at);
        break;
    default:
        end_trap(c, at);
        break;
    }
}

/* ---- blocks ---- */

/* What end_block makes, not low_emit_inst. */
static bool is_control(const struct low_block *b, const struct low_inst *i, bool last)
{
    return low_is_branch(i) || (i->kind == LOW_PTX && last && b->term == LOW_TERM_BARRIER);
}

/* General mode: invariant registers are computed once, when a warp is entered. */
static bool computed_before(const struct low *l, const struct low_inst *i)
{
    if (!l->general || i->kind != LOW_PTX || i->p->dest_count != 1 ||
        i->p->operands[0].kind != WEIR_PTX_OPERAND_REG)
        return false;
    const struct low_reg *r = &l->regs.items[low_reg_of(l, i, i->p->operands[0].reg)];
    return r->fact.invariant && r->def_count == 1 && i->p->operands[0].pred_reg < 0;
}

/* ---- counting ---- */

/* Bytes that a lane moves between global memory and registers. Generic addresses count, too. */
static uint64_t lane_bytes(const struct weir_ptx_inst *p)
{
    switch (p->opcode) {
    case WEIR_PTX_OP_ld:
    case WEIR_PTX_OP_ldu:
    case WEIR_PTX_OP_st:
    case WEIR_PTX_OP_atom:
    case WEIR_PTX_OP_red:
        if (p->space != WEIR_PTX_GLOBAL && p->space != WEIR_PTX_GENERIC)
            return 0;
        return (uint64_t)weir_ptx_type_bits((enum weir_ptx_type)p->type[0]) / 8 *
               (p->vec ? p->vec : 1);
    default:
        return 0;
    }
}

/* What NVIDIA's assembler mostly folds into others or unrolls away: moves, addresses of parameters,
 * loop control. */
static bool is_folded(const struct weir_ptx_inst *p)
{
    switch (p->opcode) {
    case WEIR_PTX_OP_mov:
    case WEIR_PTX_OP_cvta:
    case WEIR_PTX_OP_setp:
    case WEIR_PTX_OP_bra:
        return true;
    case WEIR_PTX_OP_ld:
        return p->space == WEIR_PTX_PARAM || p->space == WEIR_PTX_CONST;
    default:
        return false;
    }
}

static void add_to(struct low *l, LLVMValueRef base, size_t offset, LLVMValueRef n)
{
    LLVMValueRef at = at_offset(l, base, offset);
    LLVMValueRef sum = LLVMBuildAdd(l->b, LLVMBuildLoad2(l->b, l->t.i64, at, ""), n, "");

    LLVMBuildStore(l->b, sum, at);
}

/* To the block's sum, and where clocks are modelled to the warp's. */
static void add_work(struct low *l, size_t in_block, size_t in_warp, LLVMValueRef n)
{
    add_to(l, l->block_ptr, in_block, n);
    if (l->clocks) {
        const size_t each = sizeof(((struct weir_block *)0)->warps[0]);
        LLVMValueRef at = LLVMBuildMul(l->b, l->warp, LLVMConstInt(l->t.i32, each, 0), "");

        at = LLVMBuildZExt(l->b, at, l->t.i64, "");
        at = LLVMBuildGEP2(l->b, l->t.i8, l->block_ptr, &at, 1, "");
        add_to(l, at, offsetof(struct weir_block, warps) + in_warp, n);
    }
}

/* A warp runs a part of this block of the program, to the next question for the time: its PTX
 * instructions, and the bytes of the lanes that are here (a guard's lanes that do nothing count).
 */
static void count(struct low *l, const struct low_block *b, uint32_t first)
{
    uint64_t instructions = 0, bytes = 0;

    for (uint32_t n = first; n < b->end; n++) {
        const struct low_inst *i = &l->insts.items[n];

        if (i->kind != LOW_PTX || !i->p)
            continue;
        if (n > first && low_asks_clock(l, i))
            break;
        instructions += !is_folded(i->p) || low_asks(i);
        bytes += lane_bytes(i->p);
    }
    if (instructions)
        add_work(l, offsetof(struct weir_block, instructions), 0,
                 LLVMConstInt(l->t.i64, instructions, 0));
    if (bytes) {
        LLVMValueRef lanes = LLVMConstInt(l->t.i64, 32, 0);

        if (!l->mask_full)
            lanes = LLVMBuildZExt(l->b, low_unary(l, "llvm.ctpop", low_mask_bits(l, l->mask)),
                                  l->t.i64, "");
        add_work(l, offsetof(struct weir_block, bytes), sizeof(uint64_t),
                 LLVMBuildMul(l->b, lanes, LLVMConstInt(l->t.i64, bytes, 0), ""));
    }
}

void low_clocks_start(struct low *l)
{
    LLVMValueRef at = LLVMConstInt(l->t.i64, offsetof(struct weir_block, warps), 0);

    if (l->clocks)
        LLVMBuildMemSet(l->b, LLVMBuildGEP2(l->b, l->t.i8, l->block_ptr, &at, 1, ""),
                        LLVMConstInt(l->t.i8, 0, 0),
                        LLVMConstInt(l->t.i64,
                                     sizeof(struct weir_block) - offsetof(struct weir_block, warps),
                                     0),
                        8);
}

/* Nothing of it accesses memory, fails, or is done by others: nobody asks which warp it was. */
static bool is_harmless(const struct low *l, const struct low_block *b)
{
    for (uint32_t n = b->first; n < b->end; n++) {
        const struct low_inst *i = &l->insts.items[n];
        if (i->kind != LOW_PTX)
            continue;
        switch (i->p->opcode) {
        case WEIR_PTX_OP_add:
        case WEIR_PTX_OP_and:
        case WEIR_PTX_OP_bar:
        case WEIR_PTX_OP_bra:
        case WEIR_PTX_OP_cvt:
        case WEIR_PTX_OP_mad:
        case WEIR_PTX_OP_mov:
        case WEIR_PTX_OP_mul:
        case WEIR_PTX_OP_or:
        case WEIR_PTX_OP_setp:
        case WEIR_PTX_OP_shl:
        case WEIR_PTX_OP_shr:
        case WEIR_PTX_OP_sub:
            break;
        default:
            return false;
        }
    }
    return b->term != LOW_TERM_TRAP;
}

/* again: by instruction, where the block's other form starts with it; NULL: there is none. */
static void emit_insts(struct control *c, const struct low_block *b, LLVMBasicBlockRef *again,
                       bool guess)
{
    struct low *l = c->l;
    for (uint32_t n = b->first; n < b->end; n++) {
        const struct low_inst *i = &l->insts.items[n];
        LLVMBasicBlockRef start = again ? again[n - b->first] : NULL;
        if (l->request->counts && (n == b->first || low_asks_clock(l, i)))
            count(l, b, n);
        if (is_control(b, i, n + 1 == b->end) || computed_before(l, i))
            continue;
        if (start && !guess) {
            LLVMBuildBr(l->b, start);
            LLVMMoveBasicBlockAfter(start, LLVMGetInsertBlock(l->b));
            LLVMPositionBuilderAtEnd(l->b, start);
        }
        l->otherwise = guess ? start : NULL;
        low_emit_inst(l, i);
    }
    l->otherwise = NULL;
}

/* The block in two forms (twice.c). Registers are in slots, so that one form can be left for the
 * other before any instruction. */
static void emit_twice(struct control *c, const struct low_block *b)
{
    struct low *l = c->l;
    LLVMBasicBlockRef *again = low_twice_starts(l, b), fast = low_bb(l, "sure"),
                      plain = low_bb(l, "unsure"), next = low_bb(l, "either");
    LLVMValueRef saved[LOW_MAX_GROUPS];
    bool was_full = l->mask_full;
    memcpy(saved, l->mask, sizeof saved);
    LLVMValueRef all = LLVMConstInt(l->t.i32, 0xffffffff, 0),
                 here = was_full ? all : low_mask_bits(l, l->mask);
    low_cond_unlikely(l, LLVMBuildICmp(l->b, LLVMIntEQ, here, all, ""), fast, plain);
    LLVMPositionBuilderAtEnd(l->b, fast);
    for (unsigned g = 0; g < l->groups; g++)
        l->mask[g] = LLVMConstAllOnes(l->t.mask);
    l->mask_full = true;
    l->rows = low_rows_find(l, b);
    emit_insts(c, b, again, true);
    l->rows = NULL;
    LLVMBuildBr(l->b, next);
    memcpy(l->mask, saved, sizeof saved);
    l->mask_full = was_full;
    LLVMMoveBasicBlockAfter(plain, LLVMGetInsertBlock(l->b));
    LLVMPositionBuilderAtEnd(l->b, plain);
    emit_insts(c, b, again, false);
    LLVMBuildBr(l->b, next);
    LLVMMoveBasicBlockAfter(next, LLVMGetInsertBlock(l->b));
    LLVMPositionBuilderAtEnd(l->b, next);
}

static void emit_block(struct control *c, uint32_t at)
{
    struct low *l = c->l;
    const struct low_block *b = &l->blocks.items[at];
    LLVMPositionBuilderAtEnd(l->b, l->bb[at]);
    l->block = at;
    if (b->turn)
        take_turns(c, b);
    l->mask_full = !b->partial && !b->lost_lanes && l->tail_lanes == 0;
    if (l->mask_full) {
        for (unsigned g = 0; g < l->groups; g++)
            l->mask[g] = LLVMConstAllOnes(l->t.mask);
    } else if (l->general) {
        low_general_enter(l, at);
    } else {
        load_masks(l, b->needs_mask ? wait_slots(l, at) : live_slots(l), l->mask);
    }
    if (c->copying && !is_harmless(l, b))
        low_touch_warp(l);
    low_race_block(l, at);
    if (low_twice_wanted(l, b))
        emit_twice(c, b);
    else
        emit_insts(c, b, NULL, false);
    l->inst = &l->insts.items[b->end - 1];
    low_debug_at(l, l->inst);
    end_block(c, at);
}

/* ---- regions ---- */

static void note_register(void *ctx, int32_t reg, enum low_visit what)
{
    struct region *r = ctx;
    low_bit_set(what == LOW_DEF ? r->defs : r->uses, (uint32_t)reg);
}

/* A virtual register is read where it is defined: what it is made of does not change after. */
static void region_registers(struct low *l, struct region *r)
{
    r->uses = low_alloc(l, l->reg_words * sizeof *r->uses);
    r->defs = low_alloc(l, l->reg_words * sizeof *r->defs);
    if (r->barrier) /* bar.red writes its result here */
        low_inst_visit(l, &l->insts.items[r->barrier->end - 1], note_register, r);
    for (uint32_t k = 0; k < l->blocks.count; k++)
        for (uint32_t n = l->blocks.items[k].first;
             low_bit(r->blocks, k) && n < l->blocks.items[k].end; n++)
            low_inst_visit(l, &l->insts.items[n], note_register, r);
}

struct invariants {
    struct control *c;
    uint8_t *done;
};

static void emit_invariant(struct invariants *x, int32_t reg);

static void need_operand(void *ctx, int32_t reg, enum low_visit what)
{
    if (what != LOW_DEF)
        emit_invariant(ctx, reg);
}

static void emit_invariant(struct invariants *x, int32_t reg)
{
    struct low *l = x->c->l;
    struct low_reg *r = &l->regs.items[reg];
    if (x->done[reg] || !r->fact.invariant || r->def_count != 1)
        return;
    x->done[reg] = 1;
    const struct low_inst *i = &l->insts.items[r->def_inst];
    low_inst_visit(l, i, need_operand, x);
    if (!r->is_virtual)
        low_emit_inst(l, i);
}

/* Registers that a region can compute again from the thread's index and the launch. */
static void emit_invariants(struct control *c)
{
    struct low *l = c->l;
    struct invariants x = {c, low_alloc(l, l->regs.count + 1)};
    for (size_t r = 0; r < l->regs.count; r++)
        if (low_bit(c->r.live, (uint32_t)r))
            emit_invariant(&x, (int32_t)r);
}

static void clear_slots(struct low *l)
{
    for (size_t k = 0; k < l->regs.count; k++) {
        struct low_reg *r = &l->regs.items[k];
        if (!r->slot[0] ||
            (r->def_count == 1 && !r->blended && !low_bit(l->blocks.items[0].live_in, (uint32_t)k)))
            continue;
        unsigned n = r->fact.shape == LOW_UNIFORM ? 1 : l->groups;
        LLVMTypeRef t = slot_type(l, r);
        if (r->fact.shape == LOW_VARYING && !r->guarded)
            t = low_vec_type(l, t);
        for (unsigned g = 0; g < n; g++)
            LLVMBuildStore(l->b, LLVMConstNull(t), r->slot[g]);
        if (r->guarded)
            LLVMBuildStore(l->b, LLVMConstInt(l->t.i1, 1, 0), r->ok_slot);
    }
    LLVMValueRef none[LOW_MAX_GROUPS];
    for (unsigned g = 0; g < l->groups; g++)
        none[g] = LLVMConstNull(l->t.mask);
    for (size_t k = 0; k < l->blocks.count; k++)
        if (l->blocks.items[k].needs_mask)
            store_masks(l, wait_slots(l, (uint32_t)k), none);
}

static void start_mask(struct low *l)
{
    LLVMValueRef m[LOW_MAX_GROUPS], bits = LLVMConstInt(l->t.i32, 0xffffffff, 0);
    if (l->tail_lanes) {
        LLVMValueRef last =
            LLVMBuildICmp(l->b, LLVMIntEQ, l->warp, LLVMConstInt(l->t.i32, l->warps - 1, 0), "");
        bits = LLVMBuildSelect(l->b, last, LLVMConstInt(l->t.i32, weir_bits_low(l->tail_lanes), 0),
                               bits, "");
    }
    low_mask_from_bits(l, bits, m);
    for (unsigned g = 0; g < l->groups && !l->tail_lanes; g++)
        m[g] = LLVMConstAllOnes(l->t.mask);
    store_masks(l, live_slots(l), m);
}

/* One warp: its state, then the blocks of the region. */
static void emit_warp_body(struct control *c)
{
    struct low *l = c->l;
    const struct low_block *barrier = c->r.barrier;
    uint32_t entry = c->r.entry;
    l->block = barrier ? (uint32_t)(barrier - l->blocks.items) : entry;
    l->mask_full = l->tail_lanes == 0;
    for (unsigned g = 0; g < l->groups; g++)
        l->mask[g] = LLVMConstAllOnes(l->t.mask);
    clear_slots(l);
    start_mask(l);
    if (c->regions) {
        LLVMValueRef off =
            LLVMBuildMul(l->b, l->warp, LLVMConstInt(l->t.i32, l->state_bytes, 0), "");
        off = LLVMBuildAdd(l->b, off, LLVMConstInt(l->t.i32, STATE_HEADER, 0), "");
        off = LLVMBuildZExt(l->b, off, l->t.i64, "");
        c->warp_state = LLVMBuildGEP2(l->b, l->t.i8, l->state, &off, 1, "");
    }
    if (c->r.live) {
        emit_invariants(c);
        live_state(c, c->r.live, false);
        if (barrier && reduction(l, barrier))
            vote_result(c, &l->insts.items[barrier->end - 1]);
    }
    if (l->turns)
        LLVMBuildStore(l->b, LLVMConstInt(l->t.i32, LOW_TURN_PASSES, 0), c->passes);
    memset(l->bb, 0, l->blocks.count * sizeof *l->bb);
    c->r.chains = NULL;
    l->done_bb = low_bb(l, "done");
    for (uint32_t k = 0; k < l->blocks.count; k++)
        if (low_bit(c->r.blocks, k))
            l->bb[k] = low_bb(l, "block");
    const struct low_block *eb = &l->blocks.items[entry];
    if (c->r.turn) {
        turn_masks(c, eb, false);
    } else if (eb->needs_mask) {
        LLVMValueRef live[LOW_MAX_GROUPS];
        load_masks(l, l->live_slot, live);
        store_masks(l, wait_slots(l, entry), live);
    }
    LLVMBuildBr(l->b, l->bb[entry]);
    for (uint32_t k = 0; k < l->blocks.count; k++)
        if (low_bit(c->r.blocks, k))
            emit_block(c, k);
    LLVMPositionBuilderAtEnd(l->b, l->done_bb);
    if (c->regions && !goes_on_in_step(c))
        state_store(l, LLVMConstInt(l->t.i32, 0xffffffff, 0),
                    LLVMBuildGEP2(l->b, l->t.i32, l->state, &l->warp, 1, ""));
    LLVMBuildBr(l->b, c->r.next_bb);
}

/* bar.red counts by passes, which go by the dispatch; and so does what is said of threads' order.
 */
static uint32_t outcome(struct low *l, const uint64_t *blocks)
{
    bool ends = ends_threads(l, blocks);
    uint32_t found = ENDS;
    for (uint32_t k = 0; k < l->blocks.count; k++) {
        const struct low_block *b = &l->blocks.items[k];
        if (low_bit(blocks, k) && b->turn)
            return MIXED;
        if (!low_bit(blocks, k) || b->term != LOW_TERM_BARRIER)
            continue;
        if (ends || l->request->races || reduction(l, b) ||
            (found != ENDS && found != (uint32_t)b->barrier))
            return MIXED;
        found = (uint32_t)b->barrier;
    }
    return found;
}

/* The region that begins with or behind a block; 0: none does. */
static uint32_t region_from(const struct low *l, const struct low_block *b)
{
    if (b->term == LOW_TERM_BARRIER)
        return (uint32_t)b->barrier + 1;
    return b->turn ? l->barriers + b->turn : 0;
}

static uint32_t entry_from(const struct low *l, const struct low_block *b)
{
    return b->term == LOW_TERM_BARRIER ? b->succ[0] : (uint32_t)(b - l->blocks.items);
}

/* A region is run in step unless a way leads to it from one that is not, or that has others. */
static void find_steps(struct control *c)
{
    struct low *l = c->l;
    c->steps = low_alloc(l, (c->regions + 1) * sizeof *c->steps);
    for (uint32_t k = 0; k <= c->regions; k++)
        c->steps[k].blocks = low_alloc(l, l->block_words * sizeof(uint64_t));
    low_reach(l, 0, LOW_REGION, c->steps[0].blocks);
    for (uint32_t k = 0; k < l->blocks.count; k++) {
        const struct low_block *b = &l->blocks.items[k];
        if (region_from(l, b))
            low_reach(l, entry_from(l, b), LOW_REGION, c->steps[region_from(l, b)].blocks);
    }
    for (uint32_t k = 0; k <= c->regions; k++)
        c->steps[k] =
            (struct step){c->steps[k].blocks, k <= l->barriers, outcome(l, c->steps[k].blocks)};
    for (bool again = true; again;) {
        again = false;
        for (uint32_t k = 0; k <= c->regions; k++)
            for (uint32_t b = 0; b < l->blocks.count; b++) {
                const struct low_block *to = &l->blocks.items[b];
                if (!low_bit(c->steps[k].blocks, b) || to->term != LOW_TERM_BARRIER ||
                    !c->steps[to->barrier + 1].in_step ||
                    (c->steps[k].in_step && c->steps[k].outcome == (uint32_t)to->barrier))
                    continue;
                c->steps[to->barrier + 1].in_step = false;
                again = true;
            }
    }
    for (uint32_t k = 0; k <= c->regions; k++) /* who asks must find an answer */
        if (c->steps[k].outcome < ENDS && !c->steps[c->steps[k].outcome + 1].in_step)
            c->steps[k].outcome = MIXED;
}

/* Where the block goes on when all warps have run a region. */
static LLVMBasicBlockRef after_region(struct control *c, uint32_t id)
{
    const struct step *s = &c->steps[id];
    if (s->in_step && s->outcome == ENDS)
        return c->finish;
    if (s->in_step && s->outcome != MIXED)
        return c->region_head[s->outcome + 1];
    c->dispatches = true;
    return c->dispatch;
}

/* Is the region short enough to stand there once for each warp? */
static bool is_copied(struct control *c)
{
    struct low *l = c->l;
    uint32_t n = 0;
    if (l->request->tier != WEIR_JIT_BEST || !l->barriers || l->warps == 1 ||
        !c->steps[c->r.id].in_step)
        return false;
    for (uint32_t k = 0; k < l->blocks.count; k++) {
        const struct low_block *b = &l->blocks.items[k];
        if (!low_bit(c->r.blocks, k))
            continue;
        if (b->loop >= 0)
            return false;
        n += b->end - b->first;
    }
    n *= l->warps;
    if (n > COPIED || c->copied + n > COPIED_ALL)
        return false;
    c->copied += n;
    return true;
}

static void emit_copies(struct control *c, LLVMBasicBlockRef after)
{
    struct low *l = c->l;
    c->copying = true;
    for (uint32_t w = 0; w < l->warps; w++) {
        l->warp = LLVMConstInt(l->t.i32, w, 0);
        c->r.next_bb = low_bb(l, "next_warp");
        emit_warp_body(c);
        LLVMPositionBuilderAtEnd(l->b, c->r.next_bb);
    }
    c->copying = false;
    LLVMBuildBr(l->b, after);
}

/* Loop over the block's warps; those that do not stand at this region are passed over. */
static void emit_region(struct control *c, uint32_t id, const struct low_block *from,
                        LLVMBasicBlockRef head, LLVMBasicBlockRef after)
{
    struct low *l = c->l;
    c->r = (struct region){.id = id};
    if (from) {
        c->r.entry = entry_from(l, from);
        c->r.live = live_behind(from);
        *(from->term == LOW_TERM_BARRIER ? &c->r.barrier : &c->r.turn) = from;
    }
    c->r.blocks = c->steps[id].blocks;
    region_registers(l, &c->r);
    if (is_copied(c)) {
        LLVMPositionBuilderAtEnd(l->b, head);
        emit_copies(c, after);
        return;
    }
    LLVMBasicBlockRef loop = low_bb(l, "warp"), body = loop;
    c->r.next_bb = low_bb(l, "next_warp");
    LLVMPositionBuilderAtEnd(l->b, head);
    LLVMBuildBr(l->b, loop);
    LLVMPositionBuilderAtEnd(l->b, loop);
    LLVMValueRef zero = LLVMConstInt(l->t.i32, 0, 0);
    l->warp = l->warps == 1 ? zero : LLVMBuildPhi(l->b, l->t.i32, "warp");
    low_touch_warp(l);
    if (from && !c->steps[id].in_step) {
        body = low_bb(l, "run");
        LLVMValueRef resume =
            state_load(l, l->t.i32, LLVMBuildGEP2(l->b, l->t.i32, l->state, &l->warp, 1, ""));
        LLVMValueRef pass = LLVMBuildLoad2(l->b, l->t.i32, c->pass, "");
        if (c->r.turn) /* as stand_at says it */
            pass = LLVMBuildAdd(l->b, pass, LLVMConstInt(l->t.i32, 1, 0), "");
        pass = LLVMBuildShl(l->b, pass, LLVMConstInt(l->t.i32, 8, 0), "");
        LLVMValueRef tag = LLVMBuildOr(l->b, pass, LLVMConstInt(l->t.i32, id, 0), "");
        LLVMBuildCondBr(l->b, LLVMBuildICmp(l->b, LLVMIntEQ, resume, tag, ""), body, c->r.next_bb);
        LLVMPositionBuilderAtEnd(l->b, body);
    }
    emit_warp_body(c);
    LLVMPositionBuilderAtEnd(l->b, c->r.next_bb);
    if (l->warps == 1) {
        LLVMBuildBr(l->b, after);
        return;
    }
    LLVMValueRef next = LLVMBuildAdd(l->b, l->warp, LLVMConstInt(l->t.i32, 1, 0), "");
    LLVMValueRef in[2] = {zero, next};
    LLVMBasicBlockRef ways[2] = {head, c->r.next_bb};
    LLVMAddIncoming(l->warp, in, ways, 2);
    LLVMBuildCondBr(l->b,
                    LLVMBuildICmp(l->b, LLVMIntULT, next, LLVMConstInt(l->t.i32, l->warps, 0), ""),
                    loop, after);
}

/* Warps that take turns go on before the next pass begins. */
static void emit_turns(struct control *c, LLVMValueRef set, LLVMBasicBlockRef pick)
{
    struct low *l = c->l;
    uint64_t bits = weir_bits_low(l->turns) << (l->barriers + 1);
    LLVMBasicBlockRef turns = low_bb(l, "turns"), none = low_bb(l, "no_turns");
    LLVMValueRef t = LLVMBuildAnd(l->b, set, LLVMConstInt(l->t.i64, bits, 0), "");
    LLVMBuildCondBr(l->b, LLVMBuildICmp(l->b, LLVMIntNE, t, LLVMConstInt(l->t.i64, 0, 0), ""),
                    turns, none);
    LLVMPositionBuilderAtEnd(l->b, turns);
    LLVMBuildStore(l->b, t, c->current);
    LLVMBuildStore(l->b, LLVMBuildXor(l->b, set, t, ""), c->pending);
    LLVMBuildBr(l->b, pick);
    LLVMPositionBuilderAtEnd(l->b, none);
}

/* Between regions: the next one of this pass, or the next pass, or the end. */
static void emit_dispatch(struct control *c)
{
    struct low *l = c->l;
    LLVMBasicBlockRef pick = low_bb(l, "pick"), pass = low_bb(l, "pass"), more = low_bb(l, "more"),
                      none = low_bb(l, "none");
    LLVMValueRef zero = LLVMConstInt(l->t.i64, 0, 0);
    LLVMPositionBuilderAtEnd(l->b, c->dispatch);
    LLVMValueRef cur = LLVMBuildLoad2(l->b, l->t.i64, c->current, "");
    LLVMBuildCondBr(l->b, LLVMBuildICmp(l->b, LLVMIntEQ, cur, zero, ""), pass, pick);
    LLVMPositionBuilderAtEnd(l->b, pass);
    LLVMValueRef set = LLVMBuildLoad2(l->b, l->t.i64, c->pending, "");
    if (l->turns)
        emit_turns(c, set, pick);
    LLVMBuildCondBr(l->b, LLVMBuildICmp(l->b, LLVMIntEQ, set, zero, ""), c->finish, more);
    LLVMPositionBuilderAtEnd(l->b, more);
    LLVMBuildStore(l->b, set, c->current);
    LLVMBuildStore(l->b, zero, c->pending);
    LLVMValueRef n = LLVMBuildAdd(l->b, LLVMBuildLoad2(l->b, l->t.i32, c->pass, ""),
                                  LLVMConstInt(l->t.i32, 1, 0), "");
    LLVMBuildStore(l->b, n, c->pass);
    for (unsigned k = 0; k < 2; k++)
        LLVMBuildStore(l->b, LLVMConstInt(l->t.i32, 0, 0), red_pointer(c, false, k));
    low_order_block(l, WEIR_RACE_PASS, NULL);
    LLVMBuildBr(l->b, pick);
    LLVMPositionBuilderAtEnd(l->b, pick);
    cur = LLVMBuildLoad2(l->b, l->t.i64, c->current, "");
    LLVMValueRef id = low_binary(l, "llvm.cttz", cur, LLVMConstInt(l->t.i1, 1, 0));
    LLVMBuildStore(
        l->b,
        LLVMBuildAnd(l->b, cur, LLVMBuildSub(l->b, cur, LLVMConstInt(l->t.i64, 1, 0), ""), ""),
        c->current);
    LLVMValueRef sw = LLVMBuildSwitch(l->b, id, none, c->regions);
    for (uint32_t k = 1; k <= c->regions; k++)
        if (!c->steps[k].in_step)
            LLVMAddCase(sw, LLVMConstInt(l->t.i64, k, 0), c->region_head[k]);
    LLVMPositionBuilderAtEnd(l->b, none);
    LLVMBuildUnreachable(l->b);
}

/* ---- the function ---- */

static LLVMValueRef invariant_load(struct low *l, LLVMValueRef p, size_t offset, LLVMTypeRef t)
{
    LLVMValueRef v = LLVMBuildLoad2(l->b, t, at_offset(l, p, offset), "");
    LLVMSetMetadata(v, l->md_invariant, l->md_empty);
    return v;
}

static void pointer_facts(struct low *l, LLVMValueRef v, uint64_t bytes, uint64_t align)
{
    LLVMMetadataRef n[1];
    n[0] = LLVMValueAsMetadata(LLVMConstInt(l->t.i64, align, 0));
    LLVMSetMetadata(v, LLVMGetMDKindIDInContext(l->ctx, "align", 5),
                    LLVMMetadataAsValue(l->ctx, LLVMMDNodeInContext2(l->ctx, n, 1)));
    if (!bytes)
        return;
    n[0] = LLVMValueAsMetadata(LLVMConstInt(l->t.i64, bytes, 0));
    LLVMSetMetadata(v, LLVMGetMDKindIDInContext(l->ctx, "dereferenceable", 15),
                    LLVMMetadataAsValue(l->ctx, LLVMMDNodeInContext2(l->ctx, n, 1)));
}

static void load_context(struct low *l)
{
    LLVMValueRef b = l->block_ptr = LLVMGetParam(l->fn, 0);
    l->launch_ptr = invariant_load(l, b, offsetof(struct weir_block, launch), l->t.ptr);
    l->services =
        invariant_load(l, l->launch_ptr, offsetof(struct weir_launch, services), l->t.ptr);
    l->params = invariant_load(l, l->launch_ptr, offsetof(struct weir_launch, params), l->t.ptr);
    if (l->kernel->param_bytes)
        pointer_facts(l, l->params, l->kernel->param_bytes, 8);
    l->module_data =
        invariant_load(l, l->launch_ptr, offsetof(struct weir_launch, module_data), l->t.ptr);
    l->window_base =
        invariant_load(l, l->launch_ptr, offsetof(struct weir_launch, window_base), l->t.i64);
    l->window_bytes =
        invariant_load(l, l->launch_ptr, offsetof(struct weir_launch, window_bytes), l->t.i64);
    if (l->request->touch) {
        l->touched =
            invariant_load(l, l->launch_ptr, offsetof(struct weir_launch, touched), l->t.ptr);
        l->untouched =
            invariant_load(l, l->launch_ptr, offsetof(struct weir_launch, untouched), l->t.ptr);
    }
    l->shared = invariant_load(l, b, offsetof(struct weir_block, shared), l->t.ptr);
    if (low_static_shared(l))
        pointer_facts(l, l->shared, low_static_shared(l), 128);
    l->shared_bytes = invariant_load(l, b, offsetof(struct weir_block, shared_bytes), l->t.i32);
    l->local = invariant_load(l, b, offsetof(struct weir_block, local), l->t.ptr);
    l->state = invariant_load(l, b, offsetof(struct weir_block, state), l->t.ptr);
    for (unsigned k = 0; k < 3; k++) {
        l->ctaid[k] = invariant_load(l, b, offsetof(struct weir_block, ctaid) + 4 * k, l->t.i32);
        l->nctaid[k] =
            invariant_load(l, l->launch_ptr, offsetof(struct weir_launch, grid) + 4 * k, l->t.i32);
    }
}

static void make_slots(struct low *l)
{
    low_registers_make(l);
    for (unsigned g = 0; g < l->groups; g++)
        l->live_slot[g] = low_alloca(l, l->t.mask, "live");
    l->wait_slot = low_alloc(l, l->blocks.count * l->groups * sizeof *l->wait_slot);
    for (size_t k = 0; k < l->blocks.count; k++)
        for (unsigned g = 0; g < l->groups && l->blocks.items[k].needs_mask; g++)
            wait_slots(l, (uint32_t)k)[g] = low_alloca(l, l->t.mask, "wait");
    l->scratch = low_alloca(l, LLVMArrayType2(l->t.i8, low_scratch_bytes(l)), "scratch");
    LLVMSetAlignment(l->scratch, 64);
}

void low_emit_kernel(struct low *l)
{
    struct control c = {.l = l};
    LLVMTypeRef ft = LLVMFunctionType(l->t.i32, &l->t.ptr, 1, 0);
    l->fn = LLVMAddFunction(l->module, "weir_kernel", ft);
    low_debug_begin(l);
    if (l->barriers > MAX_REGIONS)
        low_need_general(l, NULL, "more than 62 barriers");
    l->entry_bb = low_bb(l, "entry");
    LLVMBasicBlockRef start = low_bb(l, "start");
    LLVMPositionBuilderAtEnd(l->b, l->entry_bb);
    load_context(l);
    make_slots(l);
    if (l->barriers + 4 < MAX_REGIONS)
        low_turns_find(l);
    c.regions = l->barriers + l->turns;
    place_state(l);
    if (c.regions)
        pointer_facts(l, l->state, STATE_HEADER + (uint64_t)l->state_bytes * l->warps, 64);
    low_clocks_start(l);
    l->bb = low_alloc(l, l->blocks.count * sizeof *l->bb);
    c.finish = low_bb(l, "finish");
    low_order_block(l, WEIR_RACE_START, NULL);
    find_steps(&c);
    if (!c.regions) {
        LLVMBuildBr(l->b, start);
        emit_region(&c, 0, NULL, start, c.finish);
    } else {
        c.current = low_alloca(l, l->t.i64, "current");
        c.pending = low_alloca(l, l->t.i64, "pending");
        c.pass = low_alloca(l, l->t.i32, "pass");
        LLVMBuildStore(l->b, LLVMConstInt(l->t.i64, 0, 0), c.current);
        LLVMBuildStore(l->b, LLVMConstInt(l->t.i64, 0, 0), c.pending);
        LLVMBuildStore(l->b, LLVMConstInt(l->t.i32, 0, 0), c.pass);
        for (unsigned k = 0; k < 2; k++)
            LLVMBuildStore(l->b, LLVMConstInt(l->t.i32, 0, 0), red_pointer(&c, false, k));
        LLVMBuildBr(l->b, start);
        c.dispatch = low_bb(l, "dispatch");
        if (l->turns)
            c.passes = low_alloca(l, l->t.i32, "passes");
        c.region_head = low_alloc(l, (c.regions + 1) * sizeof *c.region_head);
        for (uint32_t k = 1; k <= c.regions; k++)
            c.region_head[k] = low_bb(l, "region");
        emit_region(&c, 0, NULL, start, after_region(&c, 0));
        for (size_t k = 0; k < l->blocks.count; k++)
            if (region_from(l, &l->blocks.items[k])) {
                uint32_t id = region_from(l, &l->blocks.items[k]);
                emit_region(&c, id, &l->blocks.items[k], c.region_head[id], after_region(&c, id));
            }
        if (c.dispatches)
            emit_dispatch(&c);
        else
            LLVMDeleteBasicBlock(c.dispatch);
    }
    if (l->named_barriers & (l->named_barriers - 1))
        low_need_general(l, NULL, "several named barriers");
    LLVMPositionBuilderAtEnd(l->b, c.finish);
    low_order_block(l, WEIR_RACE_END, NULL);
    low_clocks_end(l);
    LLVMBuildRet(l->b, LLVMConstInt(l->t.i32, WEIR_BLOCK_DONE, 0));
    l->result->meta.state_bytes = c.regions ? STATE_HEADER + l->state_bytes * l->warps : 0;
}

/* ---- what general mode uses ---- */

void low_control_block(struct low *l, uint32_t at)
{
    struct control c = {.l = l};
    emit_block(&c, at);
}

void low_control_context(struct low *l)
{
    load_context(l);
}

void low_control_invariants(struct low *l)
{
    struct control c = {.l = l};
    struct invariants x = {&c, low_alloc(l, l->regs.count + 1)};
    for (size_t r = 0; r < l->regs.count; r++)
        if (l->regs.items[r].use_count)
            emit_invariant(&x, (int32_t)r);
}

void low_control_start_mask(struct low *l, LLVMValueRef *m)
{
    start_mask(l);
    load_masks(l, live_slots(l), m);
}
