/* What threads wait for together: block barriers, and instructions of a warp. A `.sync`
 * instruction runs when all live lanes named in its mask stand at one of the same kind with the
 * same mask; one without (activemask, old shfl and vote) when nobody else of the block can go on,
 * with the lanes that stand at the very same place.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "support/ptx_interp_int.h"

static bool needs_mask(const struct weir_ptx_inst *i)
{
    return i->async_sync || i->opcode == WEIR_PTX_OP_elect;
}

/* Index of the operand that holds the membership mask. */
static unsigned mask_operand(const struct weir_ptx_inst *i)
{
    switch (i->opcode) {
    case WEIR_PTX_OP_shfl:
        return 4;
    case WEIR_PTX_OP_bar:
    case WEIR_PTX_OP_barrier:
        return 0;
    case WEIR_PTX_OP_elect:
        return 1;
    default:
        return 2; /* vote, match, redux */
    }
}

bool interp_warp_begin(struct thread *t, const struct weir_ptx_inst *i)
{
    const struct weir_ptx_operand *o = i->operands;
    bool masked = needs_mask(i);

    t->mask = masked ? (uint32_t)interp_read_operand(t, &o[mask_operand(i)], WEIR_PTX_B32).lo : 0;
    if (masked && !(t->mask >> t->lane & 1))
        return interp_fail(t, WEIR_ERR_LAUNCH_FAILURE,
                           "the lane is not in its own membership mask");
    switch (i->opcode) {
    case WEIR_PTX_OP_shfl:
        t->value = interp_read_operand(t, &o[1], WEIR_PTX_B32);
        t->b = (uint32_t)interp_read_operand(t, &o[2], WEIR_PTX_B32).lo;
        t->c = (uint32_t)interp_read_operand(t, &o[3], WEIR_PTX_B32).lo;
        break;
    case WEIR_PTX_OP_vote:
        t->pred = interp_read_predicate(t, &o[1]);
        break;
    case WEIR_PTX_OP_match:
    case WEIR_PTX_OP_redux:
        t->value = interp_read_operand(t, &o[1], (enum weir_ptx_type)i->type[0]);
        break;
    default:
        break;
    }
    t->state = masked ? AT_WARP : AT_SOFT;
    return true;
}

bool interp_barrier_begin(struct thread *t, const struct weir_ptx_inst *i)
{
    unsigned red = i->sub == WEIR_PTX_SUB_RED, n = i->operand_count - red;
    const struct weir_ptx_operand *o = i->operands + red;

    t->barrier = (uint32_t)interp_read_operand(t, &o[0], WEIR_PTX_U32).lo;
    if (t->barrier >= 16)
        return interp_fail(t, WEIR_ERR_LAUNCH_FAILURE, "barrier %u", t->barrier);
    t->count = n - red >= 2 ? (uint32_t)interp_read_operand(t, &o[1], WEIR_PTX_U32).lo : 0;
    if (i->sub == WEIR_PTX_SUB_ARRIVE) {
        t->block->arrived[t->barrier]++;
        t->top->pc++;
        return true;
    }
    if (red)
        t->pred = interp_read_predicate(t, &i->operands[i->operand_count - 1]);
    t->state = AT_BARRIER;
    return true;
}

static struct thread *lane_of(struct thread *t, unsigned lane)
{
    uint32_t n = t->linear - t->lane + lane;

    return n < t->block->threads ? &t->block->thread[n] : NULL;
}

static void go_on(struct thread *t)
{
    t->state = RUNNING;
    t->top->pc++;
}

/* ---- one warp instruction for the lanes of `members` ---- */

static void shuffle(struct thread *t, const struct weir_ptx_inst *i, uint32_t members)
{
    uint32_t clamp = t->c & 31, segment = t->c >> 8 & 31, b = t->b & 31;
    uint32_t max = (t->lane & segment) | (clamp & ~segment), min = t->lane & segment;
    int j;
    bool p;

    switch (i->sub) {
    case WEIR_PTX_SUB_UP:
        j = (int)t->lane - (int)b;
        p = j >= (int)max;
        break;
    case WEIR_PTX_SUB_DOWN:
        j = (int)(t->lane + b);
        p = j <= (int)max;
        break;
    case WEIR_PTX_SUB_BFLY:
        j = (int)(t->lane ^ b);
        p = j <= (int)max;
        break;
    default:
        j = (int)(min | (b & ~segment));
        p = j <= (int)max;
        break;
    }
    if (!p)
        j = (int)t->lane;
    /* a lane that is not there gives 0: not documented, but what hardware does */
    interp_write_operand(t, &i->operands[0],
                         members >> j & 1 ? lane_of(t, (unsigned)j)->value : (struct bits){0, 0},
                         WEIR_PTX_B32);
    if (i->operands[0].pred_reg >= 0)
        interp_write_predicate(t, i->operands[0].pred_reg, p);
}

static void vote(struct thread *t, const struct weir_ptx_inst *i, uint32_t members)
{
    uint32_t yes = 0;
    bool r;

    for (unsigned k = 0; k < 32; k++)
        yes |= (uint32_t)(members >> k & 1 && lane_of(t, k)->pred) << k;
    switch (i->sub) {
    case WEIR_PTX_SUB_BALLOT:
        interp_write_operand(t, &i->operands[0], (struct bits){yes, 0}, WEIR_PTX_B32);
        return;
    case WEIR_PTX_SUB_ALL:
        r = yes == members;
        break;
    case WEIR_PTX_SUB_ANY:
        r = yes != 0;
        break;
    default:
        r = yes == 0 || yes == members;
        break;
    }
    interp_write_predicate(t, i->operands[0].reg, r);
}

static void match(struct thread *t, const struct weir_ptx_inst *i, uint32_t members)
{
    uint32_t same = 0;
    bool all;

    for (unsigned k = 0; k < 32; k++)
        same |= (uint32_t)(members >> k & 1 && lane_of(t, k)->value.lo == t->value.lo) << k;
    all = same == members;
    if (i->sub == WEIR_PTX_SUB_ALL)
        same = all ? members : 0;
    interp_write_operand(t, &i->operands[0], (struct bits){same, 0}, WEIR_PTX_B32);
    if (i->operands[0].pred_reg >= 0)
        interp_write_predicate(t, i->operands[0].pred_reg, all);
}

static bool reduce(struct thread *t, const struct weir_ptx_inst *i, uint32_t members)
{
    struct weir_ptx_inst plain = *i;
    uint64_t r = 0;
    bool first = true;

    for (unsigned k = 0; k < 32; k++) {
        uint64_t v;

        if (!(members >> k & 1))
            continue;
        v = lane_of(t, k)->value.lo;
        if (first)
            r = v;
        else if (weir_ptx_type_is_float((enum weir_ptx_type)i->type[0]) ||
                 !interp_alu_atomic(&plain, r, v, 0, false, &r))
            return interp_unsupported(t, i);
        first = false;
    }
    interp_write_operand(t, &i->operands[0], (struct bits){r, 0}, (enum weir_ptx_type)i->type[0]);
    return true;
}

static bool finish_lane(struct thread *t, const struct weir_ptx_inst *i, uint32_t members)
{
    uint32_t leader = (uint32_t)__builtin_ctz(members);

    switch (i->opcode) {
    case WEIR_PTX_OP_shfl:
        shuffle(t, i, members);
        return true;
    case WEIR_PTX_OP_vote:
        vote(t, i, members);
        return true;
    case WEIR_PTX_OP_match:
        match(t, i, members);
        return true;
    case WEIR_PTX_OP_redux:
        return reduce(t, i, members);
    case WEIR_PTX_OP_activemask:
        interp_write_operand(t, &i->operands[0], (struct bits){members, 0}, WEIR_PTX_B32);
        return true;
    case WEIR_PTX_OP_elect:
        interp_write_operand(t, &i->operands[0], (struct bits){leader, 0}, WEIR_PTX_B32);
        if (i->operands[0].pred_reg >= 0)
            interp_write_predicate(t, i->operands[0].pred_reg, t->lane == leader);
        return true;
    default:
        return true; /* bar.warp.sync */
    }
}

static void finish_warp(struct thread *t, uint32_t members)
{
    /* First all results, then all go on: a lane's source register may be its destination. */
    for (unsigned k = 0; k < 32; k++) {
        if (members >> k & 1 &&
            !finish_lane(lane_of(t, k), interp_current_inst(lane_of(t, k)), members))
            return;
    }
    for (unsigned k = 0; k < 32; k++) {
        if (members >> k & 1)
            go_on(lane_of(t, k));
    }
}

static bool same_kind(const struct weir_ptx_inst *a, const struct weir_ptx_inst *b)
{
    return a->opcode == b->opcode && a->sub == b->sub && a->type[0] == b->type[0];
}

/* Lanes of t's mask that live, when all of them wait for this; else 0. */
static uint32_t gathered(struct thread *t)
{
    uint32_t members = 0;

    for (unsigned k = 0; k < 32; k++) {
        struct thread *o = lane_of(t, k);

        if (!(t->mask >> k & 1) || !o || o->state == EXITED)
            continue;
        if (o->state != AT_WARP || o->mask != t->mask ||
            !same_kind(interp_current_inst(o), interp_current_inst(t)))
            return 0;
        members |= 1u << k;
    }
    return members;
}

/* Lanes that stand at the same instruction, called from the same place. */
static uint32_t converged(struct thread *t)
{
    uint32_t members = 0;

    for (unsigned k = 0; k < 32; k++) {
        struct thread *o = lane_of(t, k);

        if (o && o->state == AT_SOFT && interp_current_inst(o) == interp_current_inst(t) &&
            o->depth == t->depth)
            members |= 1u << k;
    }
    return members;
}

static bool release_warps(struct block *b, bool soft)
{
    bool any = false;

    for (uint32_t n = 0; n < b->threads && b->run->err == WEIR_OK; n++) {
        struct thread *t = &b->thread[n];
        uint32_t members = t->state == AT_WARP           ? gathered(t)
                           : soft && t->state == AT_SOFT ? converged(t)
                                                         : 0;

        if (members) {
            finish_warp(t, members);
            any = true;
            soft = false; /* one group at a time: the others may meet it later */
        }
    }
    return any;
}

/* ---- block barriers ---- */

static bool release_barrier(struct block *b, uint32_t id)
{
    uint32_t waiting = 0, count = 0, yes = 0;

    for (uint32_t n = 0; n < b->threads; n++) {
        struct thread *t = &b->thread[n];

        if (t->state == AT_BARRIER && t->barrier == id) {
            waiting++;
            yes += t->pred;
            count = t->count;
        }
    }
    if (waiting == 0 || waiting + b->arrived[id] < (count ? count : b->live))
        return false;
    b->arrived[id] = 0;
    for (uint32_t n = 0; n < b->threads; n++) {
        struct thread *t = &b->thread[n];
        const struct weir_ptx_inst *i;

        if (t->state != AT_BARRIER || t->barrier != id)
            continue;
        i = interp_current_inst(t);
        if (i->sub == WEIR_PTX_SUB_RED) {
            if (i->sub2 == WEIR_PTX_SUB_POPC)
                interp_write_operand(t, &i->operands[0], (struct bits){yes, 0}, WEIR_PTX_U32);
            else
                interp_write_predicate(t, i->operands[0].reg,
                                       i->sub2 == WEIR_PTX_SUB_AND ? yes == waiting : yes != 0);
        }
        go_on(t);
    }
    return true;
}

bool interp_release_waiting(struct block *b, bool soft)
{
    bool any = release_warps(b, false);

    for (uint32_t id = 0; id < 16; id++)
        any |= release_barrier(b, id);
    if (!any && soft)
        any = release_warps(b, true);
    return any;
}
