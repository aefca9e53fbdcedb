/* Atomics and fences. Lanes go one after the other, in order. Shared memory belongs to one worker
 * while the block runs, so its atomics are plain read-modify-writes; those on global memory are
 * real ones. When all lanes add to one address and nobody reads the old value, the warp reduces
 * first.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "codegen/lower/lower.h"

struct atomic {
    const struct low_inst *i;
    const struct weir_ptx_inst *p;
    struct low_address a;
    LLVMTypeRef elem, integer;
    uint32_t size, comps, offset; /* offset: of the component */
    struct low_val v, swap;       /* operands */
    bool wants_old, plain;
};

static LLVMAtomicOrdering ordering(const struct weir_ptx_inst *p)
{
    switch (p->sem) {
    case WEIR_PTX_ACQUIRE:
        return LLVMAtomicOrderingAcquire;
    case WEIR_PTX_RELEASE:
        return LLVMAtomicOrderingRelease;
    case WEIR_PTX_ACQ_REL:
        return LLVMAtomicOrderingAcquireRelease;
    case WEIR_PTX_SC:
        return LLVMAtomicOrderingSequentiallyConsistent;
    default:
        return LLVMAtomicOrderingMonotonic;
    }
}

static LLVMAtomicRMWBinOp operation(struct low *l, const struct weir_ptx_inst *p)
{
    bool sign = weir_ptx_type_is_signed(p->type[0]), fp = weir_ptx_type_is_float(p->type[0]);
    switch (p->sub) {
    case WEIR_PTX_SUB_ADD:
        return fp ? LLVMAtomicRMWBinOpFAdd : LLVMAtomicRMWBinOpAdd;
    case WEIR_PTX_SUB_AND:
        return LLVMAtomicRMWBinOpAnd;
    case WEIR_PTX_SUB_OR:
        return LLVMAtomicRMWBinOpOr;
    case WEIR_PTX_SUB_XOR:
        return LLVMAtomicRMWBinOpXor;
    case WEIR_PTX_SUB_EXCH:
        return LLVMAtomicRMWBinOpXchg;
    case WEIR_PTX_SUB_MIN:
        return fp ? LLVMAtomicRMWBinOpFMin : sign ? LLVMAtomicRMWBinOpMin : LLVMAtomicRMWBinOpUMin;
    case WEIR_PTX_SUB_MAX:
        return fp ? LLVMAtomicRMWBinOpFMax : sign ? LLVMAtomicRMWBinOpMax : LLVMAtomicRMWBinOpUMax;
    case WEIR_PTX_SUB_INC:
        return LLVMAtomicRMWBinOpUIncWrap;
    case WEIR_PTX_SUB_DEC:
        return LLVMAtomicRMWBinOpUDecWrap;
    default:
        low_refuse(l, p, "operation");
    }
}

/* Sum of floats, or minimum or maximum of halves: f32 outside of shared memory flushes subnormals
 * (PTX ISA, atom), NaNs are made canonical. flush: i1, NULL for never. */
static LLVMValueRef float_sum(struct low *l, struct atomic *x, LLVMValueRef old, LLVMValueRef v,
                              LLVMValueRef flush)
{
    static const struct weir_ptx_inst ops[] = {
        {.opcode = WEIR_PTX_OP_add, .guard = -1, .suffix = ""},
        {.opcode = WEIR_PTX_OP_min, .guard = -1, .suffix = ""},
        {.opcode = WEIR_PTX_OP_max, .guard = -1, .suffix = ""},
    };
    bool bf;
    unsigned parts;
    if (low_half_kind(x->p->type[0], &bf, &parts)) {
        unsigned which = x->p->sub == WEIR_PTX_SUB_ADD ? 0 : x->p->sub == WEIR_PTX_SUB_MIN ? 1 : 2;
        struct low_args a = {.p = &ops[which], .a = {old, v}, .count = 2};
        return low_half(l, &a, bf, parts);
    }
    if (x->p->type[0] != WEIR_PTX_F32)
        return LLVMBuildFAdd(l->b, old, v, "");
    LLVMValueRef r = LLVMBuildFAdd(l->b, old, v, "");
    if (flush) {
        LLVMValueRef f = low_flush(l, LLVMBuildFAdd(l->b, low_flush(l, old), low_flush(l, v), ""));
        r = LLVMBuildSelect(l->b, flush, f, r, "");
    }
    LLVMValueRef nan = LLVMBuildFCmp(l->b, LLVMRealUNO, r, r, "");
    return LLVMBuildSelect(l->b, nan, low_fbits(l, l->t.f32, 0x7fffffff), r, "");
}

static bool is_half(uint8_t t)
{
    bool bf;
    unsigned parts;
    return low_half_kind((enum weir_ptx_type)t, &bf, &parts);
}

static LLVMValueRef outside_shared(struct low *l, struct atomic *x, LLVMValueRef ptr)
{
    if (x->a.space != WEIR_PTX_GENERIC)
        return LLVMConstInt(l->t.i1, 1, 0);
    LLVMValueRef off = LLVMBuildSub(l->b, LLVMBuildPtrToInt(l->b, ptr, l->t.i64, ""),
                                    LLVMBuildPtrToInt(l->b, l->shared, l->t.i64, ""), "");
    return LLVMBuildICmp(l->b, LLVMIntUGE, off, LLVMBuildZExt(l->b, l->shared_bytes, l->t.i64, ""),
                         "");
}

/* Adds to memory that others see: a loop of compare and exchange. */
static LLVMValueRef add_float(struct low *l, struct atomic *x, LLVMValueRef ptr, LLVMValueRef v)
{
    LLVMTypeRef t = low_int(l, x->size * 8);
    LLVMValueRef first = LLVMBuildLoad2(l->b, t, ptr, ""), flush = outside_shared(l, x, ptr);
    LLVMSetOrdering(first, LLVMAtomicOrderingMonotonic);
    LLVMSetAlignment(first, x->size);
    LLVMBasicBlockRef from = LLVMGetInsertBlock(l->b), again = low_bb(l, "add"),
                      next = low_bb(l, "added");
    LLVMBuildBr(l->b, again);
    LLVMPositionBuilderAtEnd(l->b, again);
    LLVMValueRef old = LLVMBuildPhi(l->b, t, "");
    LLVMValueRef sum = low_bitcast(l, float_sum(l, x, low_bitcast(l, old, x->elem), v, flush), t);
    LLVMAtomicOrdering o = ordering(x->p), f = LLVMAtomicOrderingMonotonic;
    LLVMValueRef r = LLVMBuildAtomicCmpXchg(l->b, ptr, old, sum, o, f, 0),
                 seen = LLVMBuildExtractValue(l->b, r, 0, "");
    LLVMValueRef in[2] = {first, seen};
    LLVMBasicBlockRef bbs[2] = {from, LLVMGetInsertBlock(l->b)};
    LLVMAddIncoming(old, in, bbs, 2);
    LLVMBuildCondBr(l->b, LLVMBuildExtractValue(l->b, r, 1, ""), next, again);
    LLVMPositionBuilderAtEnd(l->b, next);
    return low_bitcast(l, seen, x->elem);
}

/* The new value from the old one, for memory that nobody else touches. */
static LLVMValueRef modify(struct low *l, struct atomic *x, LLVMValueRef old, LLVMValueRef v,
                           LLVMValueRef swap)
{
    const struct weir_ptx_inst *p = x->p;
    bool sign = weir_ptx_type_is_signed(p->type[0]), fp = weir_ptx_type_is_float(p->type[0]);
    LLVMValueRef zero = LLVMConstNull(x->elem), one;
    if (is_half(p->type[0]))
        return float_sum(l, x, old, v, NULL);
    switch (p->sub) { /* dispatch */
    case WEIR_PTX_SUB_ADD:
        return fp ? float_sum(l, x, old, v, NULL) : LLVMBuildAdd(l->b, old, v, "");
    case WEIR_PTX_SUB_AND:
        return LLVMBuildAnd(l->b, old, v, "");
    case WEIR_PTX_SUB_OR:
        return LLVMBuildOr(l->b, old, v, "");
    case WEIR_PTX_SUB_XOR:
        return LLVMBuildXor(l->b, old, v, "");
    case WEIR_PTX_SUB_EXCH:
        return v;
    case WEIR_PTX_SUB_MIN:
        return low_binary(l, fp ? "llvm.minnum" : sign ? "llvm.smin" : "llvm.umin", old, v);
    case WEIR_PTX_SUB_MAX:
        return low_binary(l, fp ? "llvm.maxnum" : sign ? "llvm.smax" : "llvm.umax", old, v);
    case WEIR_PTX_SUB_CAS:
        return LLVMBuildSelect(l->b, LLVMBuildICmp(l->b, LLVMIntEQ, old, v, ""), swap, old, "");
    case WEIR_PTX_SUB_INC:
        one = LLVMBuildAdd(l->b, old, LLVMConstInt(x->elem, 1, 0), "");
        return LLVMBuildSelect(l->b, LLVMBuildICmp(l->b, LLVMIntUGE, old, v, ""), zero, one, "");
    case WEIR_PTX_SUB_DEC: {
        LLVMValueRef wrap = LLVMBuildOr(l->b, LLVMBuildICmp(l->b, LLVMIntEQ, old, zero, ""),
                                        LLVMBuildICmp(l->b, LLVMIntUGT, old, v, ""), "");
        return LLVMBuildSelect(l->b, wrap, v,
                               LLVMBuildSub(l->b, old, LLVMConstInt(x->elem, 1, 0), ""), "");
    }
    default:
        low_refuse(l, p, "operation");
    }
}

static LLVMValueRef one_lane(struct low *l, struct atomic *x, LLVMValueRef ptr, LLVMValueRef v,
                             LLVMValueRef swap)
{
    if (x->plain) {
        LLVMValueRef old = LLVMBuildLoad2(l->b, x->elem, ptr, "");
        LLVMSetAlignment(old, x->size);
        low_scope(l, old, x->a.space);
        LLVMValueRef st = LLVMBuildStore(l->b, modify(l, x, old, v, swap), ptr);
        LLVMSetAlignment(st, x->size);
        low_scope(l, st, x->a.space);
        return old;
    }
    if (x->p->sub == WEIR_PTX_SUB_CAS) {
        LLVMAtomicOrdering o = ordering(x->p), f = o;
        if (o == LLVMAtomicOrderingRelease)
            f = LLVMAtomicOrderingMonotonic;
        if (o == LLVMAtomicOrderingAcquireRelease)
            f = LLVMAtomicOrderingAcquire;
        LLVMValueRef r = LLVMBuildAtomicCmpXchg(l->b, ptr, v, swap, o, f, 0);
        return LLVMBuildExtractValue(l->b, r, 0, "");
    }
    if (is_half(x->p->type[0]) ||
        (weir_ptx_type_is_float(x->p->type[0]) && x->p->sub == WEIR_PTX_SUB_ADD))
        return add_float(l, x, ptr, v);
    return LLVMBuildAtomicRMW(l->b, operation(l, x->p), ptr, v, ordering(x->p), 0);
}

/* ---- lane loops ----
 * Scratch: addresses, operand, second operand, old values (256 bytes each). */

static LLVMValueRef area(struct low *l, LLVMTypeRef t, unsigned n, LLVMValueRef lane)
{
    LLVMValueRef at = LLVMConstInt(l->t.i64, 256 * (uint64_t)n, 0);
    LLVMValueRef p = LLVMBuildGEP2(l->b, l->t.i8, l->scratch, &at, 1, "");
    return LLVMBuildGEP2(l->b, t, p, &lane, 1, "");
}

static void put(struct low *l, LLVMTypeRef t, unsigned n, unsigned g, LLVMValueRef v)
{
    LLVMBuildStore(l->b, v, area(l, t, n, LLVMConstInt(l->t.i64, g * l->width, 0)));
}

/* The vectors of a group that lanes take their values from; NULL: one for all, in the operand. */
struct lane_values {
    LLVMValueRef addr[LOW_MAX_GROUPS], v[LOW_MAX_GROUPS], swap[LOW_MAX_GROUPS];
    LLVMValueRef pairs[LOW_MAX_GROUPS]; /* offsets in shared memory, two in one; else NULL */
};

/* Taking 64 bits out of a vector costs what 32 do. */
static LLVMValueRef offset_pairs(struct low *l, struct atomic *x, unsigned g)
{
    LLVMValueRef off = low_resize(l, low_vector(l, &x->a.base, g), 32, false);
    off = LLVMBuildAdd(l->b, off, low_const(l, LLVMTypeOf(off), x->offset), "");
    return LLVMBuildBitCast(l->b, off, LLVMVectorType(l->t.i64, l->width / 2), "");
}

static void lane_values(struct low *l, struct atomic *x, struct lane_values *e)
{
    low_address_vectors(l, &x->a, x->size * x->comps, 2, e->addr);
    x->a.proven = true; /* further components lie beside */
    for (unsigned g = 0; g < l->groups; g++) {
        if (x->offset)
            e->addr[g] =
                LLVMBuildAdd(l->b, e->addr[g], low_const(l, LLVMTypeOf(e->addr[g]), x->offset), "");
        e->pairs[g] = x->a.space == WEIR_PTX_SHARED ? offset_pairs(l, x, g) : NULL;
        e->v[g] = x->v.shape == LOW_UNIFORM ? NULL : low_vector(l, &x->v, g);
        e->swap[g] = x->p->sub != WEIR_PTX_SUB_CAS || x->swap.shape == LOW_UNIFORM
                         ? NULL
                         : low_vector(l, &x->swap, g);
    }
}

static void put_values(struct low *l, struct atomic *x, const struct lane_values *e)
{
    for (unsigned g = 0; g < l->groups; g++) {
        put(l, l->t.i64, 0, g, e->addr[g]);
        if (e->v[g])
            put(l, x->elem, 1, g, e->v[g]);
        if (e->swap[g])
            put(l, x->elem, 2, g, e->swap[g]);
    }
}

/* One lane, by what stands in the scratch area. */
static void lane_step(struct low *l, struct atomic *x, LLVMValueRef lane)
{
    LLVMValueRef addr = LLVMBuildLoad2(l->b, l->t.i64, area(l, l->t.i64, 0, lane), ""), v,
                 swap = NULL;
    if (x->v.shape == LOW_UNIFORM)
        v = x->v.v[0];
    else
        v = LLVMBuildLoad2(l->b, x->elem, area(l, x->elem, 1, lane), "");
    if (x->p->sub == WEIR_PTX_SUB_CAS)
        swap = x->swap.shape == LOW_UNIFORM
                   ? x->swap.v[0]
                   : LLVMBuildLoad2(l->b, x->elem, area(l, x->elem, 2, lane), "");
    LLVMValueRef old = one_lane(l, x, LLVMBuildIntToPtr(l->b, addr, l->t.ptr, ""), v, swap);
    if (x->wants_old)
        LLVMBuildStore(l->b, old, area(l, x->elem, 3, lane));
}

/* The word at one half of two lanes' offsets in shared memory. */
static LLVMValueRef in_shared(struct low *l, LLVMValueRef pair, bool second)
{
    LLVMValueRef off = second ? LLVMBuildLShr(l->b, pair, LLVMConstInt(l->t.i64, 32, 0), "")
                              : LLVMBuildAnd(l->b, pair, LLVMConstInt(l->t.i64, UINT32_MAX, 0), "");
    return LLVMBuildGEP2(l->b, l->t.i8, l->shared, &off, 1, "");
}

/* All lanes, from the vectors: an address that came by way of memory would be known so late that
 * the processor runs loads ahead of stores to the same word, and then again. */
static void every_lane(struct low *l, struct atomic *x, const struct lane_values *e)
{
    LLVMValueRef pair = NULL;
    for (unsigned k = 0; k < LOW_LANES; k++) {
        unsigned g = k / l->width;
        LLVMValueRef at = LLVMConstInt(l->t.i32, k % l->width, 0), v = x->v.v[0],
                     swap = x->swap.v[0], ptr;
        if (e->pairs[g]) {
            if (k % 2 == 0)
                pair = LLVMBuildExtractElement(l->b, e->pairs[g],
                                               LLVMConstInt(l->t.i32, k % l->width / 2, 0), "");
            ptr = in_shared(l, pair, k % 2);
        } else {
            ptr = LLVMBuildIntToPtr(l->b, LLVMBuildExtractElement(l->b, e->addr[g], at, ""),
                                    l->t.ptr, "");
        }
        if (e->v[g])
            v = LLVMBuildExtractElement(l->b, e->v[g], at, "");
        if (e->swap[g])
            swap = LLVMBuildExtractElement(l->b, e->swap[g], at, "");
        LLVMValueRef old = one_lane(l, x, ptr, v, swap);
        if (x->wants_old)
            LLVMBuildStore(l->b, old, area(l, x->elem, 3, LLVMConstInt(l->t.i64, k, 0)));
    }
}

static void some_lanes(struct low *l, struct atomic *x, const struct lane_values *e,
                       LLVMValueRef bits)
{
    struct low_lane_loop loop;
    put_values(l, x, e);
    low_lane_loop_begin(l, &loop, bits);
    lane_step(l, x, LLVMBuildZExt(l->b, loop.lane, l->t.i64, ""));
    low_lane_loop_end(l, &loop);
}

static void by_lanes(struct low *l, struct atomic *x, struct low_val *old)
{
    struct lane_values e;
    lane_values(l, x, &e);
    LLVMValueRef full = LLVMConstInt(l->t.i32, 0xffffffff, 0);
    LLVMValueRef bits = l->mask_full ? full : low_mask_bits(l, l->mask);
    bool unroll = x->plain && l->request->tier == WEIR_JIT_BEST;
    if (unroll && l->mask_full) {
        every_lane(l, x, &e);
    } else if (unroll) {
        LLVMBasicBlockRef all = low_bb(l, "all"), some = low_bb(l, "some"),
                          next = low_bb(l, "next");
        LLVMBuildCondBr(l->b, LLVMBuildICmp(l->b, LLVMIntEQ, bits, full, ""), all, some);
        LLVMPositionBuilderAtEnd(l->b, all);
        every_lane(l, x, &e);
        LLVMBuildBr(l->b, next);
        LLVMPositionBuilderAtEnd(l->b, some);
        some_lanes(l, x, &e, bits);
        LLVMBuildBr(l->b, next);
        LLVMPositionBuilderAtEnd(l->b, next);
    } else {
        some_lanes(l, x, &e, bits);
    }
    old->shape = LOW_VARYING;
    for (unsigned g = 0; g < l->groups && x->wants_old; g++)
        old->v[g] =
            LLVMBuildLoad2(l->b, low_vec_type(l, x->elem),
                           area(l, x->elem, 3, LLVMConstInt(l->t.i64, g * l->width, 0)), "");
}

static bool reducible(const struct atomic *x)
{
    if (x->wants_old || x->a.base.shape != LOW_UNIFORM || weir_ptx_type_is_float(x->p->type[0]))
        return false;
    switch (x->p->sub) {
    case WEIR_PTX_SUB_ADD:
    case WEIR_PTX_SUB_AND:
    case WEIR_PTX_SUB_OR:
    case WEIR_PTX_SUB_XOR:
    case WEIR_PTX_SUB_MIN:
    case WEIR_PTX_SUB_MAX:
        return true;
    default:
        return false;
    }
}

static void reduced(struct low *l, struct atomic *x)
{
    LLVMValueRef addr[LOW_MAX_GROUPS];
    low_address_vectors(l, &x->a, x->size, 2, addr);
    LLVMValueRef p = LLVMBuildExtractElement(l->b, addr[0], LLVMConstInt(l->t.i32, 0, 0), "");
    one_lane(l, x, LLVMBuildIntToPtr(l->b, p, l->t.ptr, ""), low_reduce(l, x->p, &x->v), NULL);
}

static const struct weir_ptx_operand *part_of(const struct weir_ptx_operand *o, unsigned c)
{
    return o->kind == WEIR_PTX_OPERAND_VECTOR ? &o->elements[c] : o;
}

static bool is_used(struct low *l, const struct low_inst *i, const struct weir_ptx_operand *d)
{
    return d->kind == WEIR_PTX_OPERAND_REG && l->regs.items[low_reg_of(l, i, d->reg)].use_count > 0;
}

/* One component: each is atomic by itself. */
static void component(struct low *l, struct atomic *x, unsigned at, unsigned c, struct low_val *old)
{
    const struct weir_ptx_inst *p = x->p;
    x->offset = c * x->size;
    x->v = low_read(l, x->i, part_of(&p->operands[at + 1], c), p->type[0]);
    if (p->sub == WEIR_PTX_SUB_CAS)
        x->swap = low_read(l, x->i, &p->operands[at + 2], p->type[0]);
    x->wants_old = at == 1 && is_used(l, x->i, part_of(&p->operands[0], c));
    if (x->comps == 1 && reducible(x))
        reduced(l, x);
    else
        by_lanes(l, x, old);
}

/* ---- 128 bits: pairs of 64-bit registers (ptx/wide.c) ---- */

/* Two areas of the scratch memory as one value. */
static LLVMValueRef pair_of(struct low *l, unsigned n, LLVMValueRef lane)
{
    LLVMTypeRef t = low_int(l, 128);
    LLVMValueRef low = LLVMBuildLoad2(l->b, l->t.i64, area(l, l->t.i64, n, lane), ""),
                 high = LLVMBuildLoad2(l->b, l->t.i64, area(l, l->t.i64, n + 1, lane), "");

    high = LLVMBuildShl(l->b, LLVMBuildZExt(l->b, high, t, ""), LLVMConstInt(t, 64, 0), "");
    return LLVMBuildOr(l->b, high, LLVMBuildZExt(l->b, low, t, ""), "");
}

static void put_pair(struct low *l, struct atomic *x, const struct weir_ptx_operand *o, unsigned n)
{
    for (unsigned k = 0; k < 2; k++) {
        struct low_val v = low_read(l, x->i, part_of(o, k), WEIR_PTX_B64);

        for (unsigned g = 0; g < l->groups; g++)
            put(l, l->t.i64, n + k, g, low_vector(l, &v, g));
    }
}

/* Areas: addresses, the operand and later the old value, the second operand. */
static void atomic_pair(struct low *l, struct atomic *x)
{
    const struct weir_ptx_inst *p = x->p;
    LLVMValueRef addr[LOW_MAX_GROUPS], swap = NULL;
    struct low_lane_loop loop;

    low_address_vectors(l, &x->a, x->size, 2, addr);
    for (unsigned g = 0; g < l->groups; g++)
        put(l, l->t.i64, 0, g, addr[g]);
    put_pair(l, x, &p->operands[2], 1);
    if (p->sub == WEIR_PTX_SUB_CAS)
        put_pair(l, x, &p->operands[3], 3);
    low_lane_loop_begin(
        l, &loop, l->mask_full ? LLVMConstInt(l->t.i32, 0xffffffff, 0) : low_mask_bits(l, l->mask));
    LLVMValueRef lane = LLVMBuildZExt(l->b, loop.lane, l->t.i64, ""),
                 at = LLVMBuildLoad2(l->b, l->t.i64, area(l, l->t.i64, 0, lane), ""),
                 v = pair_of(l, 1, lane);
    if (p->sub == WEIR_PTX_SUB_CAS)
        swap = pair_of(l, 3, lane);
    LLVMValueRef old = one_lane(l, x, LLVMBuildIntToPtr(l->b, at, l->t.ptr, ""), v, swap);
    LLVMBuildStore(l->b, LLVMBuildTrunc(l->b, old, l->t.i64, ""), area(l, l->t.i64, 1, lane));
    old = LLVMBuildLShr(l->b, old, LLVMConstInt(LLVMTypeOf(old), 64, 0), "");
    LLVMBuildStore(l->b, LLVMBuildTrunc(l->b, old, l->t.i64, ""), area(l, l->t.i64, 2, lane));
    low_lane_loop_end(l, &loop);
    for (unsigned k = 0; k < 2 && p->operands[0].kind == WEIR_PTX_OPERAND_VECTOR; k++) {
        struct low_val r = {.shape = LOW_VARYING};

        if (!is_used(l, x->i, part_of(&p->operands[0], k)))
            continue;
        for (unsigned g = 0; g < l->groups; g++)
            r.v[g] = LLVMBuildLoad2(
                l->b, low_vec_type(l, l->t.i64),
                area(l, l->t.i64, 1 + k, LLVMConstInt(l->t.i64, g * l->width, 0)), "");
        low_write(l, low_reg_of(l, x->i, part_of(&p->operands[0], k)->reg), &r);
    }
}

void low_emit_atomic(struct low *l, const struct low_inst *i)
{
    const struct weir_ptx_inst *p = i->p;
    struct atomic x = {.i = i, .p = p, .comps = p->vec ? p->vec : 1};
    unsigned at = p->opcode == WEIR_PTX_OP_red ? 0 : 1;
    if (p->operand_count < at + 2 || p->operands[at].kind != WEIR_PTX_OPERAND_ADDRESS)
        low_refuse(l, p, "form");
    x.size = weir_ptx_type_bits(p->type[0]) / 8;
    x.elem = x.size == 16 ? low_int(l, 128) : low_type(l, p->type[0]);
    if (x.size > 16 || x.size < 2)
        low_refuse(l, p, "type");
    low_address_exact(l, i, &p->operands[at], p->space, &x.a);
    low_address_prove(l, &x.a, x.size * x.comps);
    x.plain = x.a.space == WEIR_PTX_SHARED || x.a.space == WEIR_PTX_LOCAL;
    if (x.size == 16) {
        atomic_pair(l, &x);
        return;
    }
    struct low_val old[8] = {0};
    for (unsigned c = 0; c < x.comps; c++)
        component(l, &x, at, c, &old[c]);
    for (unsigned c = 0; c < x.comps; c++) {
        const struct weir_ptx_operand *d = at ? part_of(&p->operands[0], c) : NULL;
        if (d && is_used(l, i, d))
            low_write(l, low_reg_of(l, i, d->reg), &old[c]);
    }
}

void low_emit_fence(struct low *l, const struct low_inst *i)
{
    (void)i;
    LLVMBuildFence(l->b, LLVMAtomicOrderingSequentiallyConsistent, 0, "");
}
