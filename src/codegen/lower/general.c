/* General mode: any control flow graph, any barrier, threads that wait for each other.
 *
 * All that lives across blocks is in block->state, per warp: registers as vectors, the lanes that
 * wait at each PTX block, a bitmap of blocks with waiting lanes. A warp is run by a dispatcher:
 * pick the first block with waiting lanes, run it, send its lanes on. Blocks that begin with a
 * `.sync` instruction come last, so that lanes meet there. After some backward jumps the pick
 * starts behind the loop (lanes of one warp take turns: spin locks move), after more the next warp
 * runs, and after some rounds over all warps the block parks, so that other blocks can do what is
 * waited for. Barriers count arrived threads; released lanes go to the block behind their barrier.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/bits.h"
#include "codegen/lower/lower.h"
#include "device/race.h"

/* Header of the block's state: one word for each of the 16 barriers in each row. */
enum { ROW_ARRIVED, ROW_EXPECTED, ROW_YES, ROW_LANES, ROW_LAST_YES, ROW_LAST_LANES, ROWS };
#define PHASE_AT    448u /* of the cluster's barrier, when the block parked */
#define HEADER      512u
#define ANY_BARRIER 16u
#define CLUSTER     64u    /* in place of a barrier's number: the cluster's */
#define TURN        16u    /* backward jumps before other lanes' blocks are picked */
#define TURN_POLL   4u     /* ... of a polling loop */
#define SPIN        65536u /* ... before the next warp runs */
#define POLL        10929u /* what one of a polling loop counts: six are a turn; 1 modulo TURN */
#define ROUNDS      64u    /* rounds over the warps before the block parks */

struct low_general {
    uint32_t words, units;                /* of the bitmap; blocks and resume points of bar.red */
    uint32_t waits_at, arrive_at, ids_at; /* offsets in a warp's state */
    uint32_t tokens_at; /* a word a lane: the phase in which it arrived at the cluster's barrier */
    LLVMValueRef warp_state, spins, floor, spun;
    LLVMValueRef bits, whole[LOW_MAX_GROUPS]; /* the lanes that entered the block being made */
    LLVMBasicBlockRef pick, stop;
    LLVMBasicBlockRef *unit_bb;
    uint64_t *sync; /* blocks that begin with a .sync */
};

bool low_general_is_sync(const struct weir_ptx_inst *p)
{
    switch (p->opcode) {
    case WEIR_PTX_OP_shfl:
    case WEIR_PTX_OP_vote:
    case WEIR_PTX_OP_match:
    case WEIR_PTX_OP_redux:
    case WEIR_PTX_OP_elect:
    case WEIR_PTX_OP_mma:
    case WEIR_PTX_OP_wmma:
    case WEIR_PTX_OP_ldmatrix:
    case WEIR_PTX_OP_stmatrix:
    case WEIR_PTX_OP_movmatrix:
        return true;
    case WEIR_PTX_OP_bar:
    case WEIR_PTX_OP_barrier:
        return p->sub == WEIR_PTX_SUB_WARP;
    default:
        return false;
    }
}

bool low_general_in_state(const struct low *l, size_t reg)
{
    const struct low_reg *r = &l->regs.items[reg];
    if (!l->general || !l->local_regs || low_bit(l->local_regs, (uint32_t)reg))
        return false;
    return !(r->fact.invariant && r->def_count == 1);
}

/* ---- small helpers ---- */

static LLVMValueRef c32(struct low *l, uint64_t v)
{
    return LLVMConstInt(l->t.i32, v, 0);
}

static LLVMValueRef at(struct low *l, LLVMValueRef p, uint64_t offset)
{
    LLVMValueRef o = LLVMConstInt(l->t.i64, offset, 0);
    return LLVMBuildGEP2(l->b, l->t.i8, p, &o, 1, "");
}

static LLVMValueRef load32(struct low *l, LLVMValueRef p)
{
    return LLVMBuildLoad2(l->b, l->t.i32, p, "");
}

static LLVMValueRef is_zero(struct low *l, LLVMValueRef v)
{
    return LLVMBuildICmp(l->b, LLVMIntEQ, v, LLVMConstNull(LLVMTypeOf(v)), "");
}

static LLVMValueRef popcount(struct low *l, LLVMValueRef v)
{
    return low_unary(l, "llvm.ctpop", v);
}

static LLVMValueRef row(struct low *l, unsigned which, LLVMValueRef id)
{
    LLVMValueRef p = at(l, l->state, which * 64u);
    return LLVMBuildGEP2(l->b, l->t.i32, p, &id, 1, "");
}

static LLVMValueRef word_pointer(struct low *l, uint32_t unit)
{
    return at(l, l->gen->warp_state, 8 + unit / 64 * 8);
}

static LLVMValueRef state_of(struct low *l, LLVMValueRef warp)
{
    LLVMValueRef o = LLVMBuildMul(l->b, warp, c32(l, l->state_bytes), "");
    o = LLVMBuildZExt(l->b, LLVMBuildAdd(l->b, o, c32(l, HEADER), ""), l->t.i64, "");
    return LLVMBuildGEP2(l->b, l->t.i8, l->state, &o, 1, "");
}

static void or_word(struct low *l, LLVMValueRef p, LLVMValueRef bits)
{
    LLVMBuildStore(l->b, LLVMBuildOr(l->b, LLVMBuildLoad2(l->b, LLVMTypeOf(bits), p, ""), bits, ""),
                   p);
}

/* ---- lanes on their way ---- */

/* Marks the unit as one with waiting lanes: where `bits` says so, or certainly (NULL). */
static LLVMValueRef unit_bit(struct low *l, uint32_t unit, LLVMValueRef bits)
{
    LLVMValueRef bit = LLVMConstInt(l->t.i64, (uint64_t)1 << (unit & 63), 0);
    if (!bits)
        return bit;
    return LLVMBuildSelect(l->b, is_zero(l, bits), LLVMConstInt(l->t.i64, 0, 0), bit, "");
}

static void send_bits(struct low *l, LLVMValueRef state, uint32_t unit, LLVMValueRef bits)
{
    or_word(l, at(l, state, l->gen->waits_at + 4 * unit), bits);
    or_word(l, at(l, state, 8 + unit / 64 * 8), unit_bit(l, unit, bits));
}

LLVMValueRef low_general_bits(struct low *l, LLVMValueRef *lanes)
{
    for (unsigned g = 0; g < l->groups; g++)
        if (lanes[g] != l->gen->whole[g])
            return NULL;
    return l->gen->bits;
}

void low_general_send(struct low *l, uint32_t to, LLVMValueRef *lanes)
{
    send_bits(l, l->gen->warp_state, to, low_mask_bits(l, lanes));
}

void low_general_send_all(struct low *l, uint32_t to)
{
    struct low_general *g = l->gen;
    or_word(l, at(l, g->warp_state, g->waits_at + 4 * to), low_mask_bits(l, l->mask));
    or_word(l, word_pointer(l, to), unit_bit(l, to, NULL));
}

void low_general_enter(struct low *l, uint32_t unit)
{
    struct low_general *g = l->gen;
    LLVMValueRef wait = at(l, g->warp_state, g->waits_at + 4 * unit);
    g->bits = load32(l, wait);
    LLVMBuildStore(l->b, c32(l, 0), wait);
    low_mask_from_bits(l, g->bits, l->mask);
    memcpy(g->whole, l->mask, sizeof g->whole);
    l->block_stamp = unit + 1;
}

bool low_general_branch(struct low *l, uint32_t from, const struct low_val *p)
{
    struct low_general *g = l->gen;
    const uint32_t *to = l->blocks.items[from].succ;
    LLVMValueRef m[LOW_MAX_GROUPS], bits[2], all = low_mask_bits(l, l->mask);
    if (g->words == 1 && l->request->tier == WEIR_JIT_BEST)
        return false; /* ways without the dispatcher are worth their code */
    for (unsigned n = 0; n < l->groups; n++)
        m[n] = low_vector(l, p, n);
    bits[0] = LLVMBuildAnd(l->b, all, low_mask_bits(l, m), "");
    bits[1] = LLVMBuildXor(l->b, all, bits[0], "");
    for (unsigned n = 0; n < 2; n++)
        or_word(l, at(l, g->warp_state, g->waits_at + 4 * to[n]), bits[n]);
    LLVMValueRef first = unit_bit(l, to[0], bits[0]), second = unit_bit(l, to[1], bits[1]);
    if (to[0] / 64 == to[1] / 64) {
        or_word(l, word_pointer(l, to[0]), LLVMBuildOr(l->b, first, second, ""));
    } else {
        or_word(l, word_pointer(l, to[0]), first);
        or_word(l, word_pointer(l, to[1]), second);
    }
    low_general_continue(
        l, from, UINT32_MAX,
        WEIR_MAX(low_general_retreat(l, from, to[0]), low_general_retreat(l, from, to[1])));
    return true;
}

uint32_t low_general_retreat(const struct low *l, uint32_t from, uint32_t to)
{
    if (to > from)
        return 0;
    if (l->irreducible && l->polls)
        return POLL; /* loops are not known then */
    for (int32_t k = l->blocks.items[from].loop; k >= 0; k = l->loops.items[k].parent)
        if (l->loops.items[k].polls && low_bit(l->loops.items[k].blocks, to))
            return POLL;
    return 1;
}

/* After block `from`: to the block that certainly has lanes when nothing comes before it, else to
 * the dispatcher. */
void low_general_continue(struct low *l, uint32_t from, uint32_t known, uint32_t retreat)
{
    struct low_general *g = l->gen;
    if (retreat) {
        LLVMValueRef n = LLVMBuildAdd(l->b, load32(l, g->spins), c32(l, retreat), "");
        LLVMBuildStore(l->b, n, g->spins);
        uint32_t every = retreat == POLL ? TURN_POLL : TURN;
        LLVMValueRef turn = is_zero(l, LLVMBuildAnd(l->b, n, c32(l, every - 1), ""));
        LLVMBuildStore(l->b, LLVMBuildSelect(l->b, turn, c32(l, from + 1), c32(l, 0), ""),
                       g->floor);
        LLVMBasicBlockRef leave = low_bb(l, "leave");
        LLVMValueRef over = LLVMBuildICmp(l->b, LLVMIntUGE, n, c32(l, SPIN), "");
        LLVMBuildCondBr(l->b, over, leave, g->pick);
        LLVMPositionBuilderAtEnd(l->b, leave);
        LLVMBuildStore(l->b, LLVMConstInt(l->t.i1, 1, 0), g->spun);
        LLVMBuildBr(l->b, g->stop);
        return;
    }
    if (known == UINT32_MAX || g->words != 1 || low_bit(g->sync, known)) {
        LLVMBuildBr(l->b, g->pick);
        return;
    }
    LLVMBasicBlockRef take = low_bb(l, "take");
    LLVMValueRef p = word_pointer(l, known), w = LLVMBuildLoad2(l->b, l->t.i64, p, "");
    LLVMValueRef before =
        LLVMBuildAnd(l->b, w, LLVMConstInt(l->t.i64, weir_bits_low(known), 0), "");
    LLVMBuildCondBr(l->b, is_zero(l, before), take, g->pick);
    LLVMPositionBuilderAtEnd(l->b, take);
    LLVMBuildStore(
        l->b, LLVMBuildAnd(l->b, w, LLVMConstInt(l->t.i64, ~((uint64_t)1 << known), 0), ""), p);
    LLVMBuildBr(l->b, g->unit_bb[known]);
}

/* First unit with waiting lanes: not below the floor if there is one, `.sync` blocks last. */
static void emit_pick(struct low *l)
{
    struct low_general *g = l->gen;
    LLVMPositionBuilderAtEnd(l->b, g->pick);
    LLVMValueRef none = c32(l, UINT32_MAX), any = none, ready = none, high = none,
                 zero = LLVMConstInt(l->t.i64, 0, 0);
    LLVMValueRef floor = load32(l, g->floor);
    LLVMBuildStore(l->b, c32(l, 0), g->floor);
    for (uint32_t k = g->words; k-- > 0;) {
        LLVMValueRef w = LLVMBuildLoad2(l->b, l->t.i64, at(l, g->warp_state, 8 + 8 * k), "");
        LLVMValueRef r = LLVMBuildAnd(l->b, w, LLVMConstInt(l->t.i64, ~g->sync[k], 0), "");
        LLVMValueRef from = LLVMBuildSub(l->b, floor, c32(l, 64 * k), "");
        from = low_binary(l, "llvm.smax", from, c32(l, 0));
        LLVMValueRef past = LLVMBuildICmp(l->b, LLVMIntUGT, from, c32(l, 63), "");
        LLVMValueRef sh =
            LLVMBuildZExt(l->b, LLVMBuildAnd(l->b, from, c32(l, 63), ""), l->t.i64, "");
        LLVMValueRef keep = LLVMBuildShl(l->b, LLVMConstAllOnes(l->t.i64), sh, "");
        LLVMValueRef h = LLVMBuildAnd(l->b, r, LLVMBuildSelect(l->b, past, zero, keep, ""), "");
        LLVMValueRef v[3] = {w, r, h}, *to[3] = {&any, &ready, &high};
        for (unsigned n = 0; n < 3; n++) {
            LLVMValueRef first = LLVMBuildTrunc(
                l->b, low_binary(l, "llvm.cttz", v[n], LLVMConstInt(l->t.i1, 0, 0)), l->t.i32, "");
            first = LLVMBuildAdd(l->b, first, c32(l, 64 * k), "");
            *to[n] = LLVMBuildSelect(l->b, is_zero(l, v[n]), *to[n], first, "");
        }
    }
    LLVMValueRef unit =
        LLVMBuildSelect(l->b, LLVMBuildICmp(l->b, LLVMIntEQ, ready, none, ""), any, ready, "");
    unit = LLVMBuildSelect(l->b, LLVMBuildICmp(l->b, LLVMIntEQ, high, none, ""), unit, high, "");
    LLVMBasicBlockRef go = low_bb(l, "go"), bad = low_bb(l, "bad");
    LLVMBuildCondBr(l->b, LLVMBuildICmp(l->b, LLVMIntEQ, unit, none, ""), g->stop, go);
    LLVMPositionBuilderAtEnd(l->b, go);
    LLVMValueRef index = LLVMBuildLShr(l->b, unit, c32(l, 6), "");
    LLVMValueRef p = LLVMBuildGEP2(l->b, l->t.i64, at(l, g->warp_state, 8), &index, 1, "");
    LLVMValueRef bit = LLVMBuildZExt(l->b, LLVMBuildAnd(l->b, unit, c32(l, 63), ""), l->t.i64, "");
    bit = LLVMBuildNot(l->b, LLVMBuildShl(l->b, LLVMConstInt(l->t.i64, 1, 0), bit, ""), "");
    LLVMBuildStore(l->b, LLVMBuildAnd(l->b, LLVMBuildLoad2(l->b, l->t.i64, p, ""), bit, ""), p);
    LLVMValueRef sw = LLVMBuildSwitch(l->b, unit, bad, g->units);
    for (uint32_t k = 0; k < g->units; k++)
        if (g->unit_bb[k])
            LLVMAddCase(sw, c32(l, k), g->unit_bb[k]);
    LLVMPositionBuilderAtEnd(l->b, bad);
    LLVMBuildUnreachable(l->b);
}

/* ---- barriers ---- */

static bool is_reduction(const struct weir_ptx_inst *p)
{
    return p->sub == WEIR_PTX_SUB_RED;
}

/* An operand that must be the same for the warp's active lanes. */
static LLVMValueRef same_for_all(struct low *l, const struct low_inst *i,
                                 const struct weir_ptx_operand *o)
{
    struct low_val v = low_read(l, i, o, WEIR_PTX_U32);
    if (v.shape == LOW_UNIFORM)
        return v.v[0];
    LLVMValueRef bits = low_mask_bits(l, l->mask),
                 lane = low_binary(l, "llvm.cttz", bits, LLVMConstInt(l->t.i1, 1, 0));
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef k = c32(l, g);
        LLVMBuildStore(l->b, low_vector(l, &v, g),
                       LLVMBuildGEP2(l->b, low_vec_type(l, l->t.i32), l->scratch, &k, 1, ""));
    }
    return load32(l, LLVMBuildGEP2(l->b, l->t.i32, l->scratch, &lane, 1, ""));
}

/* Counts the active lanes as arrived; returns the barrier's number. */
static LLVMValueRef arrive(struct low *l, const struct low_inst *i)
{
    const struct weir_ptx_inst *p = i->p;
    unsigned first = p->dest_count, n = p->operand_count - first - (is_reduction(p) ? 1 : 0);
    LLVMValueRef id = n ? same_for_all(l, i, &p->operands[first]) : c32(l, 0);
    id = LLVMBuildAnd(l->b, id, c32(l, ANY_BARRIER - 1), "");
    LLVMValueRef bits = low_mask_bits(l, l->mask), count = popcount(l, bits);
    if (n > 1) {
        LLVMValueRef expected = same_for_all(l, i, &p->operands[first + 1]);
        LLVMBuildStore(l->b, expected, row(l, ROW_EXPECTED, id));
        /* such barriers count whole warps: lanes that have ended come along with the last of the
         * others */
        LLVMValueRef live = load32(l, l->gen->warp_state);
        LLVMValueRef all = LLVMBuildICmp(l->b, LLVMIntEQ, bits, live, "");
        count = LLVMBuildSelect(l->b, all, c32(l, LOW_LANES), count, "");
    }
    LLVMValueRef q = row(l, ROW_ARRIVED, id);
    LLVMBuildStore(l->b, LLVMBuildAdd(l->b, load32(l, q), count, ""), q);
    if (is_reduction(p)) {
        struct low_val v = low_read(l, i, &p->operands[p->operand_count - 1], WEIR_PTX_PRED);
        LLVMValueRef m[LOW_MAX_GROUPS];
        for (unsigned g = 0; g < l->groups; g++)
            m[g] = LLVMBuildAnd(l->b, l->mask[g], low_vector(l, &v, g), "");
        q = row(l, ROW_YES, id);
        LLVMBuildStore(l->b, LLVMBuildAdd(l->b, load32(l, q), popcount(l, low_mask_bits(l, m)), ""),
                       q);
        q = row(l, ROW_LANES, id);
        LLVMBuildStore(l->b, LLVMBuildAdd(l->b, load32(l, q), popcount(l, bits), ""), q);
    }
    return id;
}

void low_general_arrive(struct low *l, const struct low_inst *i)
{
    low_order_arrive(l, i, arrive(l, i), -1);
}

/* ---- the cluster's barrier: device/cluster.c says when it is complete ---- */

static LLVMValueRef token_pointer(struct low *l, unsigned g)
{
    return at(l, l->gen->warp_state, l->gen->tokens_at + 4 * g * l->width);
}

static LLVMValueRef tokens(struct low *l, unsigned g)
{
    LLVMValueRef v = LLVMBuildLoad2(l->b, low_vec_type(l, l->t.i32), token_pointer(l, g), "");
    LLVMSetAlignment(v, 4);
    return v;
}

static LLVMValueRef cluster_phase(struct low *l)
{
    return low_cluster_field(l, offsetof(struct weir_cluster, phase), l->t.i32);
}

void low_general_cluster_arrive(struct low *l)
{
    LLVMValueRef phase = low_splat(l, cluster_phase(l)),
                 n = at(l, l->block_ptr, offsetof(struct weir_block, cluster_arrived));
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef v = LLVMBuildSelect(l->b, l->mask[g], phase, tokens(l, g), "");
        LLVMSetAlignment(LLVMBuildStore(l->b, v, token_pointer(l, g)), 4);
    }
    LLVMValueRef count = popcount(l, low_mask_bits(l, l->mask));
    LLVMBuildStore(l->b, LLVMBuildAdd(l->b, load32(l, n), count, ""), n);
}

/* Lanes whose phase is over go on, the others wait until the block is called again. */
static void cluster_wait(struct low *l, const struct low_block *b)
{
    struct low_general *g = l->gen;
    LLVMValueRef phase = low_splat(l, cluster_phase(l)), go[LOW_MAX_GROUPS], stay[LOW_MAX_GROUPS];
    for (unsigned n = 0; n < l->groups; n++) {
        LLVMValueRef over = LLVMBuildICmp(l->b, LLVMIntNE, tokens(l, n), phase, "");
        go[n] = LLVMBuildAnd(l->b, l->mask[n], over, "");
        stay[n] = LLVMBuildAnd(l->b, l->mask[n], LLVMBuildNot(l->b, over, ""), "");
    }
    low_general_send(l, b->succ[0], go);
    or_word(l, at(l, g->warp_state, g->arrive_at + 4 * (uint32_t)b->barrier),
            low_mask_bits(l, stay));
    LLVMBuildStore(l->b, c32(l, CLUSTER),
                   at(l, g->warp_state, g->ids_at + 4 * (uint32_t)b->barrier));
    LLVMBuildBr(l->b, g->pick);
}

void low_general_barrier(struct low *l, uint32_t block)
{
    struct low_general *g = l->gen;
    const struct low_block *b = &l->blocks.items[block];
    const struct low_inst *i = &l->insts.items[b->end - 1];
    uint32_t k = (uint32_t)b->barrier;
    l->inst = i;
    if (weir_cg_form_cluster_barrier(i->p) != CLUSTER_BARRIER_NONE) {
        cluster_wait(l, b);
        return;
    }
    LLVMValueRef id = arrive(l, i);
    low_order_arrive(l, i, id, b->barrier);
    or_word(l, at(l, g->warp_state, g->arrive_at + 4 * k), low_mask_bits(l, l->mask));
    LLVMBuildStore(l->b, id, at(l, g->warp_state, g->ids_at + 4 * k));
    LLVMBuildBr(l->b, g->pick);
}

/* Where lanes go on behind barrier k: bar.red has a unit of its own that writes the result. */
static uint32_t behind(struct low *l, const struct low_block *b)
{
    const struct weir_ptx_inst *p = l->insts.items[b->end - 1].p;
    return is_reduction(p) ? (uint32_t)l->blocks.count + (uint32_t)b->barrier : b->succ[0];
}

static void emit_result(struct low *l, const struct low_block *b)
{
    struct low_general *g = l->gen;
    const struct low_inst *i = &l->insts.items[b->end - 1];
    uint32_t unit = behind(l, b);
    LLVMPositionBuilderAtEnd(l->b, g->unit_bb[unit]);
    LLVMValueRef wait = at(l, g->warp_state, g->waits_at + 4 * unit), bits = load32(l, wait);
    LLVMBuildStore(l->b, c32(l, 0), wait);
    low_mask_from_bits(l, bits, l->mask);
    g->bits = NULL;
    l->block_stamp = 0;
    l->mask_full = false;
    l->block = (uint32_t)(b - l->blocks.items);
    l->inst = i;
    LLVMValueRef id = load32(l, at(l, g->warp_state, g->ids_at + 4 * (uint32_t)b->barrier));
    LLVMValueRef yes = load32(l, row(l, ROW_LAST_YES, id)),
                 all = load32(l, row(l, ROW_LAST_LANES, id));
    struct low_val v = {.shape = LOW_UNIFORM};
    v.v[0] = yes;
    if (i->p->sub2 == WEIR_PTX_SUB_AND)
        v.v[0] = LLVMBuildICmp(l->b, LLVMIntEQ, yes, all, "");
    else if (i->p->sub2 == WEIR_PTX_SUB_OR)
        v.v[0] = LLVMBuildNot(l->b, is_zero(l, yes), "");
    if (i->p->operands[0].kind == WEIR_PTX_OPERAND_REG)
        low_write(l, low_reg_of(l, i, i->p->operands[0].reg), &v);
    low_general_send(l, b->succ[0], l->mask);
    LLVMBuildBr(l->b, g->pick);
}

/* Lanes of every warp that wait at barrier `id` go on. */
static void emit_release(struct low *l, LLVMValueRef id)
{
    struct low_general *g = l->gen;
    LLVMBasicBlockRef from = LLVMGetInsertBlock(l->b), loop = low_bb(l, "release"),
                      end = low_bb(l, "released");
    LLVMBuildBr(l->b, loop);
    LLVMPositionBuilderAtEnd(l->b, loop);
    LLVMValueRef w = LLVMBuildPhi(l->b, l->t.i32, ""), zero = c32(l, 0), state = state_of(l, w);
    for (size_t k = 0; k < l->blocks.count; k++) {
        const struct low_block *b = &l->blocks.items[k];
        if (b->term != LOW_TERM_BARRIER)
            continue;
        LLVMValueRef mp = at(l, state, g->arrive_at + 4 * (uint32_t)b->barrier), m = load32(l, mp);
        LLVMValueRef mine = load32(l, at(l, state, g->ids_at + 4 * (uint32_t)b->barrier));
        LLVMValueRef hit = LLVMBuildICmp(l->b, LLVMIntEQ, mine, id, "");
        LLVMBuildStore(l->b, LLVMBuildSelect(l->b, hit, zero, m, ""), mp);
        send_bits(l, state, behind(l, b), LLVMBuildSelect(l->b, hit, m, zero, ""));
    }
    LLVMValueRef next = LLVMBuildAdd(l->b, w, c32(l, 1), ""), in[2] = {zero, next};
    LLVMBasicBlockRef last = LLVMGetInsertBlock(l->b), bbs[2] = {from, last};
    LLVMAddIncoming(w, in, bbs, 2);
    LLVMBuildCondBr(l->b, LLVMBuildICmp(l->b, LLVMIntULT, next, c32(l, l->warps), ""), loop, end);
    LLVMPositionBuilderAtEnd(l->b, end);
}

static void clear_barrier(struct low *l, LLVMValueRef id)
{
    LLVMValueRef zero = c32(l, 0);
    static const uint8_t moves[2][2] = {{ROW_YES, ROW_LAST_YES}, {ROW_LANES, ROW_LAST_LANES}};
    for (unsigned k = 0; k < 2; k++) {
        LLVMBuildStore(l->b, load32(l, row(l, moves[k][0], id)), row(l, moves[k][1], id));
        LLVMBuildStore(l->b, zero, row(l, moves[k][0], id));
    }
    LLVMBuildStore(l->b, zero, row(l, ROW_ARRIVED, id));
    LLVMBuildStore(l->b, zero, row(l, ROW_EXPECTED, id));
}

/* Releases every barrier that is complete. */
static void emit_barriers(struct low *l, LLVMValueRef live)
{
    LLVMBasicBlockRef from = LLVMGetInsertBlock(l->b), loop = low_bb(l, "barrier"),
                      full = low_bb(l, "full");
    LLVMBasicBlockRef next = low_bb(l, "next_barrier"), end = low_bb(l, "barriers_end");
    LLVMBuildBr(l->b, loop);
    LLVMPositionBuilderAtEnd(l->b, loop);
    LLVMValueRef id = LLVMBuildPhi(l->b, l->t.i32, ""), zero = c32(l, 0);
    LLVMValueRef have = load32(l, row(l, ROW_ARRIVED, id)),
                 want = load32(l, row(l, ROW_EXPECTED, id));
    want = LLVMBuildSelect(l->b, is_zero(l, want), live, want, "");
    LLVMValueRef some = LLVMBuildNot(l->b, is_zero(l, have), "");
    LLVMValueRef done =
        LLVMBuildAnd(l->b, some, LLVMBuildICmp(l->b, LLVMIntUGE, have, want, ""), "");
    LLVMBuildCondBr(l->b, done, full, next);
    LLVMPositionBuilderAtEnd(l->b, full);
    low_order_block(l, WEIR_RACE_RELEASE, LLVMBuildZExt(l->b, id, l->t.i64, ""));
    emit_release(l, id);
    clear_barrier(l, id);
    LLVMBuildBr(l->b, next);
    LLVMPositionBuilderAtEnd(l->b, next);
    LLVMValueRef id1 = LLVMBuildAdd(l->b, id, c32(l, 1), ""), in[2] = {zero, id1};
    LLVMBasicBlockRef bbs[2] = {from, next};
    LLVMAddIncoming(id, in, bbs, 2);
    LLVMBuildCondBr(l->b, LLVMBuildICmp(l->b, LLVMIntULT, id1, c32(l, ANY_BARRIER), ""), loop, end);
    LLVMPositionBuilderAtEnd(l->b, end);
}

/* ---- layout ---- */

static void place(struct low *l)
{
    struct low_general *g = l->gen;
    g->units = (uint32_t)l->blocks.count + l->barriers;
    g->words = (g->units + 63) / 64;
    if (g->words > 64)
        low_refuse(l, NULL, "too many blocks");
    g->waits_at = 8 + 8 * g->words;
    g->arrive_at = g->waits_at + 4 * g->units;
    g->ids_at = g->arrive_at + 4 * l->barriers;
    uint32_t where = g->ids_at + 4 * l->barriers;
    g->tokens_at = where;
    if (l->clusters)
        where += 4 * LOW_LANES;
    for (size_t k = 0; k < l->regs.count; k++) {
        struct low_reg *r = &l->regs.items[k];
        if (!low_general_in_state(l, k) || r->is_virtual || (!r->def_count && !r->use_count))
            continue;
        if (r->bits > 64)
            low_refuse(l, NULL, "128-bit registers");
        uint32_t bytes = r->bits == 1 ? 4 : r->bits / 8 * LOW_LANES;
        where = WEIR_ALIGN_UP(where, r->bits == 1 ? 4u : 64u);
        r->state_offset = (int32_t)where;
        where += r->fact.shape == LOW_UNIFORM ? 8 : bytes;
    }
    l->state_bytes = WEIR_ALIGN_UP(where, 64u);
    g->sync = low_alloc(l, g->words * sizeof *g->sync);
    for (size_t k = 0; k < l->blocks.count; k++) {
        const struct low_inst *i = &l->insts.items[l->blocks.items[k].first];
        if (i->kind == LOW_PTX && low_general_is_sync(i->p))
            low_bit_set(g->sync, (uint32_t)k);
    }
}

LLVMValueRef low_general_slot(struct low *l, const struct low_reg *r, uint32_t g)
{
    uint32_t step = r->bits == 1 ? l->width / 8 : r->bits / 8 * l->width;
    if (r->fact.shape != LOW_VARYING)
        step = r->bits == 1 ? 1 : r->bits / 8;
    return at(l, l->gen->warp_state, (uint32_t)r->state_offset + g * step);
}

void low_general_mask_slots(struct low *l, uint32_t block)
{
    const struct low_general *g = l->gen;
    for (unsigned n = 0; n < l->groups; n++) {
        l->live_slot[n] = at(l, g->warp_state, n * l->width / 8);
        l->wait_slot[block * l->groups + n] =
            at(l, g->warp_state, g->waits_at + 4 * block + n * l->width / 8);
    }
}

/* ---- the function ---- */

/* A loop over warps around what `body` emits. */
struct warp_loop {
    LLVMBasicBlockRef from, head;
    LLVMValueRef w;
};

static void warps_begin(struct low *l, struct warp_loop *x)
{
    x->from = LLVMGetInsertBlock(l->b);
    x->head = low_bb(l, "warps");
    LLVMBuildBr(l->b, x->head);
    LLVMPositionBuilderAtEnd(l->b, x->head);
    x->w = LLVMBuildPhi(l->b, l->t.i32, "warp");
    l->warp = x->w;
    low_touch_warp(l);
    l->gen->warp_state = state_of(l, x->w);
}

static void warps_end(struct low *l, struct warp_loop *x)
{
    LLVMBasicBlockRef end = low_bb(l, "warps_end"), last = LLVMGetInsertBlock(l->b);
    LLVMValueRef next = LLVMBuildAdd(l->b, x->w, c32(l, 1), ""), in[2] = {c32(l, 0), next};
    LLVMBasicBlockRef bbs[2] = {x->from, last};
    LLVMAddIncoming(x->w, in, bbs, 2);
    LLVMBuildCondBr(l->b, LLVMBuildICmp(l->b, LLVMIntULT, next, c32(l, l->warps), ""), x->head,
                    end);
    LLVMPositionBuilderAtEnd(l->b, end);
}

static void clear(struct low *l, LLVMValueRef p, uint64_t bytes)
{
    LLVMBuildMemSet(l->b, p, LLVMConstInt(l->t.i8, 0, 0), LLVMConstInt(l->t.i64, bytes, 0), 8);
}

static void emit_start(struct low *l)
{
    struct warp_loop x;
    LLVMValueRef m[LOW_MAX_GROUPS];
    clear(l, l->state, HEADER);
    low_clocks_start(l);
    warps_begin(l, &x);
    clear(l, l->gen->warp_state, l->state_bytes);
    low_control_start_mask(l, m);
    low_general_send(l, 0, m);
    warps_end(l, &x);
}

static void emit_warp(struct low *l)
{
    struct low_general *g = l->gen;
    l->mask_full = false;
    for (unsigned n = 0; n < l->groups; n++)
        l->mask[n] = LLVMConstAllOnes(l->t.mask);
    g->bits = NULL;
    l->block_stamp = 0;
    l->block = 0;
    low_control_invariants(l);
    LLVMBuildStore(l->b, c32(l, 0), g->spins);
    LLVMBuildStore(l->b, c32(l, 0), g->floor);
    g->pick = low_bb(l, "pick");
    g->stop = low_bb(l, "stop");
    l->done_bb = g->pick;
    LLVMBuildBr(l->b, g->pick);
    for (uint32_t k = 0; k < l->blocks.count; k++)
        g->unit_bb[k] = l->bb[k] = low_bb(l, "block");
    for (uint32_t k = 0; k < l->blocks.count; k++)
        if (l->blocks.items[k].term == LOW_TERM_BARRIER &&
            behind(l, &l->blocks.items[k]) >= l->blocks.count)
            g->unit_bb[behind(l, &l->blocks.items[k])] = low_bb(l, "result");
    emit_pick(l);
    for (uint32_t k = 0; k < l->blocks.count; k++)
        low_control_block(l, k);
    for (uint32_t k = 0; k < l->blocks.count; k++)
        if (l->blocks.items[k].term == LOW_TERM_BARRIER &&
            behind(l, &l->blocks.items[k]) >= l->blocks.count)
            emit_result(l, &l->blocks.items[k]);
    LLVMPositionBuilderAtEnd(l->b, g->stop);
}

/* Live threads, and whether some warp has lanes that can run. */
static LLVMValueRef emit_census(struct low *l, LLVMValueRef *runnable)
{
    struct warp_loop x;
    LLVMValueRef live = low_alloca(l, l->t.i32, "live"), any = low_alloca(l, l->t.i64, "any");
    LLVMBuildStore(l->b, c32(l, 0), live);
    LLVMBuildStore(l->b, LLVMConstInt(l->t.i64, 0, 0), any);
    warps_begin(l, &x);
    LLVMValueRef n = popcount(l, load32(l, l->gen->warp_state));
    LLVMBuildStore(l->b, LLVMBuildAdd(l->b, load32(l, live), n, ""), live);
    for (uint32_t k = 0; k < l->gen->words; k++)
        or_word(l, any, LLVMBuildLoad2(l->b, l->t.i64, at(l, l->gen->warp_state, 8 + 8 * k), ""));
    warps_end(l, &x);
    *runnable = LLVMBuildNot(l->b, is_zero(l, LLVMBuildLoad2(l->b, l->t.i64, any, "")), "");
    return load32(l, live);
}

static void make_general_slots(struct low *l)
{
    struct low_general *g = l->gen;
    low_registers_make(l);
    l->wait_slot = low_alloc(l, l->blocks.count * l->groups * sizeof *l->wait_slot);
    l->bb = low_alloc(l, l->blocks.count * sizeof *l->bb);
    g->unit_bb = low_alloc(l, g->units * sizeof *g->unit_bb);
    l->scratch = low_alloca(l, LLVMArrayType2(l->t.i8, low_scratch_bytes(l)), "scratch");
    LLVMSetAlignment(l->scratch, 64);
    g->spins = low_alloca(l, l->t.i32, "spins");
    g->floor = low_alloca(l, l->t.i32, "floor");
    g->spun = low_alloca(l, l->t.i1, "spun");
}

/* The block is called again: lanes that waited for the cluster go on when its barrier has become
 * complete. */
static void emit_called(struct low *l, LLVMBasicBlockRef called, LLVMBasicBlockRef round)
{
    LLVMBasicBlockRef complete = low_bb(l, "complete");
    LLVMPositionBuilderAtEnd(l->b, called);
    LLVMValueRef same =
        LLVMBuildICmp(l->b, LLVMIntEQ, cluster_phase(l), load32(l, at(l, l->state, PHASE_AT)), "");
    LLVMBuildCondBr(l->b, same, round, complete);
    LLVMPositionBuilderAtEnd(l->b, complete);
    low_order_block(l, WEIR_RACE_CLUSTER, NULL);
    emit_release(l, c32(l, CLUSTER));
    LLVMBuildBr(l->b, round);
}

void low_general_emit(struct low *l)
{
    struct low_general *g = l->gen = low_alloc(l, sizeof *g);
    struct warp_loop x;
    l->fn = LLVMAddFunction(l->module, "weir_kernel", LLVMFunctionType(l->t.i32, &l->t.ptr, 1, 0));
    low_debug_begin(l);
    place(l);
    l->entry_bb = low_bb(l, "entry");
    LLVMBasicBlockRef body = low_bb(l, "body"), start = low_bb(l, "start"),
                      round = low_bb(l, "round");
    LLVMBasicBlockRef done = low_bb(l, "done"), more = low_bb(l, "more"), park = low_bb(l, "park"),
                      again = low_bb(l, "again");
    LLVMPositionBuilderAtEnd(l->b, l->entry_bb);
    low_control_context(l);
    make_general_slots(l);
    LLVMValueRef rounds = low_alloca(l, l->t.i32, "rounds");
    LLVMBuildStore(l->b, c32(l, 0), rounds);
    LLVMBuildBr(l->b, body);
    LLVMPositionBuilderAtEnd(l->b, body);
    LLVMValueRef resume = at(l, l->block_ptr, offsetof(struct weir_block, resume));
    LLVMBasicBlockRef called = l->clusters ? low_bb(l, "called") : round;
    LLVMBuildCondBr(l->b, is_zero(l, load32(l, resume)), start, called);
    if (l->clusters)
        emit_called(l, called, round);
    LLVMPositionBuilderAtEnd(l->b, start);
    low_order_block(l, WEIR_RACE_START, NULL);
    emit_start(l);
    LLVMBuildStore(l->b, c32(l, 1), resume);
    LLVMBuildBr(l->b, round);
    LLVMPositionBuilderAtEnd(l->b, round);
    LLVMBuildStore(l->b, LLVMConstInt(l->t.i1, 0, 0), g->spun);
    warps_begin(l, &x);
    emit_warp(l);
    warps_end(l, &x);
    LLVMValueRef runnable, live = emit_census(l, &runnable), unused;
    LLVMBuildCondBr(l->b, is_zero(l, live), done, more);
    LLVMPositionBuilderAtEnd(l->b, more);
    emit_barriers(l, live);
    (void)emit_census(l, &unused);
    /* nobody can run: what is waited for never comes (as a hang on a GPU); or only waiting for
     * others: let them run */
    LLVMValueRef n = LLVMBuildAdd(l->b, load32(l, rounds), c32(l, 1), "");
    LLVMBuildStore(l->b, n, rounds);
    LLVMValueRef tired = LLVMBuildAnd(l->b, LLVMBuildLoad2(l->b, l->t.i1, g->spun, ""),
                                      LLVMBuildICmp(l->b, LLVMIntUGE, n, c32(l, ROUNDS), ""), "");
    LLVMValueRef stuck = LLVMBuildNot(l->b, unused, "");
    if (l->request->races && !l->clusters) {
        LLVMBasicBlockRef ever = low_bb(l, "stuck"), other = low_bb(l, "other");
        LLVMBuildCondBr(l->b, stuck, ever, other);
        LLVMPositionBuilderAtEnd(l->b, ever);
        low_order_block(l, WEIR_RACE_STUCK, NULL);
        LLVMBuildBr(l->b, other);
        LLVMPositionBuilderAtEnd(l->b, other);
    }
    LLVMBuildCondBr(l->b, LLVMBuildOr(l->b, tired, stuck, ""), park, again);
    LLVMPositionBuilderAtEnd(l->b, again);
    LLVMBuildBr(l->b, round);
    LLVMPositionBuilderAtEnd(l->b, park);
    if (l->clusters) {
        LLVMBuildStore(l->b, cluster_phase(l), at(l, l->state, PHASE_AT));
        LLVMBuildStore(l->b, live, at(l, l->block_ptr, offsetof(struct weir_block, cluster_live)));
    }
    LLVMBuildRet(l->b, c32(l, WEIR_BLOCK_PARKED));
    LLVMPositionBuilderAtEnd(l->b, done);
    low_order_block(l, WEIR_RACE_END, NULL);
    low_clocks_end(l);
    LLVMBuildRet(l->b, c32(l, WEIR_BLOCK_DONE));
    l->result->meta.state_bytes = HEADER + l->state_bytes * l->warps;
    l->result->meta.may_park = 1;
}
