/* mbarrier: barrier objects in shared memory. A block runs on one worker, so an operation is a
 * plain read-modify-write of the object, lane after lane; whoever waits tests in a loop
 * (polling.c). The object is opaque to programs, ours is device/bulk.h's, and an arrival's state is
 * the object as it was before. cp.async copies at once, so that its arrival is an arrival. Source:
 * PTX ISA, "Parallel Synchronization: mbarrier".
 * SPDX-License-Identifier: Apache-2.0 */
#include "codegen/lower/lower.h"
#include "device/bulk.h"

#define COUNT_MASK  WEIR_MBARRIER_COUNT_MASK
#define EXPECTED_AT WEIR_MBARRIER_EXPECTED_AT
#define BYTES_AT    WEIR_MBARRIER_BYTES_AT
#define BYTES_MASK  WEIR_MBARRIER_BYTES_MASK
#define PHASE_AT    WEIR_MBARRIER_PHASE_AT

/* ---- the object ---- */

static LLVMValueRef c64(struct low *l, uint64_t v)
{
    return LLVMConstInt(l->t.i64, v, 0);
}

static LLVMValueRef field(struct low *l, LLVMValueRef v, unsigned at, uint64_t mask)
{
    return LLVMBuildAnd(l->b, at ? LLVMBuildLShr(l->b, v, c64(l, at), "") : v, c64(l, mask), "");
}

/* The object after arrivals and a change of its transactions; a phase that is complete ends. */
static LLVMValueRef changed(struct low *l, LLVMValueRef old, LLVMValueRef arrivals,
                            LLVMValueRef drops, LLVMValueRef bytes)
{
    LLVMValueRef pending = field(l, old, 0, COUNT_MASK),
                 expected = field(l, old, EXPECTED_AT, COUNT_MASK),
                 tx = field(l, old, BYTES_AT, BYTES_MASK),
                 phase = LLVMBuildAnd(l->b, old, c64(l, (uint64_t)1 << PHASE_AT), "");
    if (arrivals)
        pending = field(l, LLVMBuildSub(l->b, pending, arrivals, ""), 0, COUNT_MASK);
    if (drops)
        expected = field(l, LLVMBuildSub(l->b, expected, drops, ""), 0, COUNT_MASK);
    if (bytes)
        tx = field(l, LLVMBuildAdd(l->b, tx, bytes, ""), 0, BYTES_MASK);
    LLVMValueRef left = LLVMBuildOr(l->b, pending, tx, "");
    LLVMValueRef ends = LLVMBuildICmp(l->b, LLVMIntEQ, left, c64(l, 0), "");
    LLVMValueRef flip = LLVMBuildXor(l->b, phase, c64(l, (uint64_t)1 << PHASE_AT), "");
    pending = LLVMBuildSelect(l->b, ends, expected, pending, "");
    phase = LLVMBuildSelect(l->b, ends, flip, phase, "");
    LLVMValueRef v = LLVMBuildOr(l->b, phase, pending, "");
    v = LLVMBuildOr(l->b, v, LLVMBuildShl(l->b, expected, c64(l, EXPECTED_AT), ""), "");
    return LLVMBuildOr(l->b, v, LLVMBuildShl(l->b, tx, c64(l, BYTES_AT), ""), "");
}

static LLVMValueRef initial(struct low *l, LLVMValueRef count)
{
    count = field(l, count, 0, COUNT_MASK);
    return LLVMBuildOr(l->b, count, LLVMBuildShl(l->b, count, c64(l, EXPECTED_AT), ""), "");
}

static LLVMValueRef updated(struct low *l, enum low_mbarrier kind, LLVMValueRef old, LLVMValueRef v)
{
    LLVMValueRef one = c64(l, 1);
    switch (kind) {
    case LOW_MBARRIER_INIT:
        return initial(l, v);
    case LOW_MBARRIER_INVAL:
        return c64(l, 0);
    case LOW_MBARRIER_EXPECT:
        return changed(l, old, NULL, NULL, v);
    case LOW_MBARRIER_COMPLETE:
        return changed(l, old, NULL, NULL, LLVMBuildNeg(l->b, v, ""));
    case LOW_MBARRIER_ARRIVE:
        return changed(l, old, v ? v : one, NULL, NULL);
    case LOW_MBARRIER_ARRIVE_COPY:
        return changed(l, old, one, NULL, NULL);
    case LOW_MBARRIER_DROP:
        return changed(l, old, v ? v : one, v ? v : one, NULL);
    case LOW_MBARRIER_ARRIVE_EXPECT:
        return changed(l, old, one, NULL, v);
    case LOW_MBARRIER_DROP_EXPECT:
        return changed(l, old, one, one, v);
    default:
        return NULL;
    }
}

/* ---- lanes ---- */

/* Scratch: addresses, the operand, results (256 bytes each). */
static LLVMValueRef area(struct low *l, unsigned n, LLVMValueRef lane)
{
    LLVMValueRef at = c64(l, 256 * (uint64_t)n);
    LLVMValueRef p = LLVMBuildGEP2(l->b, l->t.i8, l->scratch, &at, 1, "");
    return LLVMBuildGEP2(l->b, l->t.i64, p, &lane, 1, "");
}

static void put(struct low *l, unsigned n, LLVMValueRef *v)
{
    for (unsigned g = 0; g < l->groups; g++)
        LLVMSetAlignment(LLVMBuildStore(l->b, v[g], area(l, n, c64(l, g * l->width))), 8);
}

static LLVMValueRef operand(struct low *l, unsigned n, LLVMValueRef lane)
{
    return LLVMBuildLoad2(l->b, l->t.i64, area(l, n, lane), "");
}

static LLVMValueRef phase_differs(struct low *l, enum low_mbarrier kind, LLVMValueRef old,
                                  LLVMValueRef v)
{
    if (kind == LOW_MBARRIER_WAIT_PARITY)
        v = LLVMBuildShl(l->b, v, c64(l, PHASE_AT), "");
    return LLVMBuildLShr(l->b, LLVMBuildXor(l->b, old, v, ""), c64(l, PHASE_AT), "");
}

static void one_lane(struct low *l, enum low_mbarrier kind, LLVMValueRef lane, bool has_operand)
{
    LLVMValueRef p = LLVMBuildIntToPtr(l->b, operand(l, 0, lane), l->t.ptr, ""),
                 v = has_operand ? operand(l, 1, lane) : NULL,
                 old = LLVMBuildLoad2(l->b, l->t.i64, p, "");
    LLVMSetVolatile(old, 1);
    if (kind == LOW_MBARRIER_WAIT || kind == LOW_MBARRIER_WAIT_PARITY) {
        LLVMBuildStore(l->b, phase_differs(l, kind, old, v), area(l, 2, lane));
        return;
    }
    LLVMSetVolatile(LLVMBuildStore(l->b, updated(l, kind, old, v), p), 1);
    LLVMBuildStore(l->b, old, area(l, 2, lane));
}

static void give(struct low *l, const struct low_inst *i, enum low_mbarrier kind)
{
    const struct weir_ptx_operand *o = &i->p->operands[0];
    if (i->p->dest_count == 0 || o->kind != WEIR_PTX_OPERAND_REG)
        return;
    struct low_val d = {.shape = LOW_VARYING};
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMTypeRef vt = low_vec_type(l, l->t.i64);
        d.v[g] = LLVMBuildLoad2(l->b, vt, area(l, 2, c64(l, g * l->width)), "");
        LLVMSetAlignment(d.v[g], 8);
        if (kind == LOW_MBARRIER_WAIT || kind == LOW_MBARRIER_WAIT_PARITY)
            d.v[g] = LLVMBuildICmp(l->b, LLVMIntNE, d.v[g], LLVMConstNull(vt), "");
    }
    low_write(l, low_reg_of(l, i, o->reg), &d);
}

static void pending_count(struct low *l, const struct low_inst *i)
{
    if (i->p->operands[0].kind != WEIR_PTX_OPERAND_REG)
        return;
    struct low_val s = low_read(l, i, &i->p->operands[1], WEIR_PTX_U64), d = {.shape = LOW_VARYING};
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef v = low_vector(l, &s, g);
        v = LLVMBuildAnd(l->b, v, low_const(l, LLVMTypeOf(v), COUNT_MASK), "");
        d.v[g] = low_resize(l, v, 32, false);
    }
    low_write(l, low_reg_of(l, i, i->p->operands[0].reg), &d);
}

void low_emit_mbarrier(struct low *l, const struct low_inst *i)
{
    const struct weir_ptx_inst *p = i->p;
    enum low_mbarrier kind = weir_cg_form_mbarrier(p);
    if (kind == LOW_MBARRIER_OTHER)
        low_refuse(l, p, "form");
    if (kind == LOW_MBARRIER_NONE_COPY) { /* one arrival more is expected, and has arrived */
        if (l->request->races) {
            struct low_address to;
            low_address_exact(l, i, &p->operands[p->dest_count], p->space, &to);
            low_race_handed(l, &to);
        }
        return;
    }
    if (kind == LOW_MBARRIER_PENDING) {
        pending_count(l, i);
        return;
    }
    struct low_address a;
    LLVMValueRef v[LOW_MAX_GROUPS];
    unsigned at = p->dest_count;
    low_address_exact(l, i, &p->operands[at], p->space, &a);
    if (p->opcode == WEIR_PTX_OP_cp)
        low_race_handed(l, &a);
    low_address_vectors(l, &a, 8, 2, v);
    put(l, 0, v);
    bool has_operand = p->operand_count > at + 1;
    if (has_operand) {
        enum weir_ptx_type t = kind == LOW_MBARRIER_WAIT ? WEIR_PTX_U64 : WEIR_PTX_U32;
        struct low_val o = low_read(l, i, &p->operands[at + 1], t);
        for (unsigned g = 0; g < l->groups; g++)
            v[g] = low_resize(l, low_vector(l, &o, g), 64, false);
        put(l, 1, v);
    }
    /* what the program does before and after stays there; the processor keeps stores in order */
    LLVMBuildFence(l->b, LLVMAtomicOrderingSequentiallyConsistent, 1, "");
    struct low_lane_loop loop;
    low_lane_loop_begin(
        l, &loop, l->mask_full ? LLVMConstInt(l->t.i32, 0xffffffff, 0) : low_mask_bits(l, l->mask));
    one_lane(l, kind, LLVMBuildZExt(l->b, loop.lane, l->t.i64, ""), has_operand);
    low_lane_loop_end(l, &loop);
    LLVMBuildFence(l->b, LLVMAtomicOrderingSequentiallyConsistent, 1, "");
    give(l, i, kind);
}
