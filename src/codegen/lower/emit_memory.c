/* Loads and stores. By the address's shape: uniform is one scalar access, stride equal to the
 * access's size is one contiguous vector access a group, anything else a gather or scatter.
 * Addresses that are only probably contiguous are tested; the slow path is a call of one function
 * of the object, lane by lane, through a thunk that keeps all registers, so that fast paths do not
 * pay for it (slow.c).
 *
 * Every access that can leave its space is checked: global and generic ones against the window,
 * shared ones against the block's shared memory, unless the value's range proves it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/bits.h"
#include "codegen/lower/access.h"

/* ---- aliasing ---- */

void low_scope(struct low *l, LLVMValueRef inst, uint8_t space)
{
    LLVMValueRef scope = NULL, others = l->md_not_any;
    if (l->request->tier == WEIR_JIT_QUICK)
        return; /* no pass asks */
    if (space == WEIR_PTX_SHARED) {
        scope = l->md_shared;
        others = l->md_not_shared;
    } else if (space == WEIR_PTX_GLOBAL || space == WEIR_PTX_CONST) {
        scope = l->md_global;
        others = l->md_not_global;
    } else if (space == WEIR_PTX_LOCAL) {
        scope = l->md_local;
        others = l->md_not_local;
    }
    if (scope)
        LLVMSetMetadata(inst, l->md_scope, scope);
    LLVMSetMetadata(inst, l->md_noalias, others);
}

/* ---- addresses ---- */

LLVMValueRef low_local_base(struct low *l, bool vector, uint32_t g)
{
    LLVMValueRef first = LLVMBuildMul(l->b, l->warp, LLVMConstInt(l->t.i32, LOW_LANES, 0), "");
    first = LLVMBuildAdd(l->b, first, LLVMConstInt(l->t.i32, g * l->width, 0), "");
    LLVMValueRef a = LLVMBuildMul(l->b, LLVMBuildZExt(l->b, first, l->t.i64, ""),
                                  LLVMConstInt(l->t.i64, l->local_bytes, 0), "");
    a = LLVMBuildAdd(l->b, a, LLVMBuildPtrToInt(l->b, l->local, l->t.i64, ""), "");
    if (!vector)
        return a;
    return LLVMBuildAdd(l->b, low_splat(l, a), low_lanes(l, l->t.i64, (int64_t)l->local_bytes), "");
}

static uint8_t space_of(struct low *l, const struct low_inst *i, const struct weir_ptx_operand *o,
                        uint8_t space)
{
    if (space == WEIR_PTX_GENERIC && o->var)
        space = o->var->space;
    if (space == WEIR_PTX_SHARED_CLUSTER && o->var)
        space = WEIR_PTX_SHARED; /* the own block's */
    if (space == WEIR_PTX_PARAM && o->var && !low_is_kernel_param(l, i->frame, o->var))
        low_refuse(l, i->p, "call parameter accessed in an unusual way");
    return space;
}

static void add_all(struct low *l, struct low_val *v, LLVMValueRef scalar)
{
    unsigned n = v->shape == LOW_UNIFORM ? 1 : l->groups;
    for (unsigned g = 0; g < n; g++) {
        LLVMValueRef s = v->shape == LOW_VARYING ? low_splat(l, scalar) : scalar;
        v->v[g] = LLVMBuildAdd(l->b, v->v[g], s, "");
    }
}

/* Thread-relative offsets become addresses. */
static void local_to_absolute(struct low *l, struct low_address *a)
{
    struct low_val v = {.shape = a->base.shape == LOW_VARYING ? LOW_VARYING : LOW_AFFINE};
    v.stride = (a->base.shape == LOW_AFFINE ? a->base.stride : 0) + (int64_t)l->local_bytes;
    for (unsigned g = 0; g < l->groups; g++)
        v.v[g] = LLVMBuildAdd(l->b, a->base.v[a->base.shape == LOW_UNIFORM ? 0 : g],
                              low_local_base(l, v.shape == LOW_VARYING, g), "");
    a->base = v;
}

static bool proven_shared(struct low *l, const struct low_address *a, const struct low_fact *f,
                          uint32_t bytes)
{
    int64_t lo, hi;
    if (a->op->reg < 0) {
        lo = hi = a->op->var ? (int64_t)low_shared_offset(l, a->op->var) + a->op->imm : a->op->imm;
    } else if (f->has_range) {
        lo = f->lo + a->op->imm;
        hi = f->hi + a->op->imm;
    } else {
        return false;
    }
    return lo >= 0 && hi + bytes <= (int64_t)low_static_shared(l);
}

static void address_value(struct low *l, const struct low_inst *i, const struct weir_ptx_operand *o,
                          bool exact_only, struct low_address *a)
{
    bool short_space = a->space == WEIR_PTX_SHARED || a->space == WEIR_PTX_SHARED_CLUSTER;
    enum weir_ptx_type at = short_space ? WEIR_PTX_U32 : WEIR_PTX_U64;
    if (o->reg < 0) {
        struct weir_ptx_operand v = {.kind = WEIR_PTX_OPERAND_INT, .imm = o->imm, .reg = -1};
        if (o->var) {
            v = *o;
            v.kind = WEIR_PTX_OPERAND_VAR;
        }
        a->base = low_read(l, i, &v, at);
        return;
    }
    struct weir_ptx_operand r = {.kind = WEIR_PTX_OPERAND_REG, .reg = o->reg, .pred_reg = -1};
    int32_t reg = low_reg_of(l, i, o->reg);
    const struct low_fact *f = &l->regs.items[reg].fact;
    if (f->shape == LOW_VARYING && f->spec && !exact_only) {
        a->spec = true;
        a->base.shape = LOW_AFFINE;
        a->base.stride = f->stride;
        for (unsigned g = 0; g < l->groups; g++)
            a->base.v[g] = low_resize(l, low_spec_base(l, reg, g), weir_ptx_type_bits(at), false);
        low_spec_ok(l, reg, &a->ok);
    } else {
        a->base = low_read(l, i, &r, at);
    }
    if (o->imm)
        add_all(
            l, &a->base,
            LLVMConstInt(at == WEIR_PTX_U32 ? l->t.i32 : l->t.i64, (unsigned long long)o->imm, 1));
}

static void cluster_to_absolute(struct low *l, struct low_address *a)
{
    struct low_val v = {.shape = a->base.shape == LOW_UNIFORM ? LOW_UNIFORM : LOW_VARYING};
    for (unsigned g = 0; g < (v.shape == LOW_UNIFORM ? 1 : l->groups); g++)
        v.v[g] = low_cluster_absolute(l, v.shape == LOW_UNIFORM ? a->base.v[0]
                                                                : low_vector(l, &a->base, g));
    a->base = v;
    a->space = WEIR_PTX_GENERIC;
}

/* Bits of an address that must be 0 for an access of so many bytes. */
static unsigned alignment_bits(uint32_t bytes)
{
    return bytes ? (unsigned)__builtin_ctz(bytes | 16) : 0;
}

/* log2 of what all lanes' addresses are a multiple of: shared and local memory begin at multiples
 * of more than any access needs. */
static uint8_t known_align(struct low *l, const struct low_inst *i, const struct low_address *a)
{
    struct low_fact f = {.shape = LOW_UNIFORM, .align = 31};
    uint64_t imm = (uint64_t)a->op->imm;
    bool own = a->space == WEIR_PTX_SHARED || a->space == WEIR_PTX_LOCAL;
    if (a->op->reg >= 0 || (a->op->var && own))
        f = low_operand_fact(l, i,
                             &(struct weir_ptx_operand){.kind = a->op->reg >= 0
                                                                    ? WEIR_PTX_OPERAND_REG
                                                                    : WEIR_PTX_OPERAND_VAR,
                                                        .reg = a->op->reg,
                                                        .var = a->op->var},
                             WEIR_PTX_U64);
    else if (a->op->var)
        f.align = 0;
    return WEIR_MIN(low_each_align(&f), imm ? (uint8_t)__builtin_ctzll(imm) : 31);
}

void low_address(struct low *l, const struct low_inst *i, const struct weir_ptx_operand *o,
                 uint8_t space, uint32_t bytes, struct low_address *a)
{
    memset(a, 0, sizeof *a);
    a->op = o;
    a->inst = i;
    a->space = space_of(l, i, o, space);
    struct low_fact f = low_address_fact(l, i, o);
    bool fits = f.stride == (int64_t)bytes || f.stride == 0;
    address_value(l, i, o,
                  !fits || a->space == WEIR_PTX_LOCAL || a->space == WEIR_PTX_SHARED_CLUSTER, a);
    if (a->space == WEIR_PTX_SHARED_CLUSTER)
        cluster_to_absolute(l, a);
    a->is_param = a->space == WEIR_PTX_PARAM;
    a->align = known_align(l, i, a);
    bool aligned = a->align >= alignment_bits(bytes);
    if (a->space == WEIR_PTX_LOCAL) {
        a->proven = o->reg < 0 && aligned;
        local_to_absolute(l, a);
    } else if (a->space == WEIR_PTX_SHARED) {
        a->proven = aligned && proven_shared(l, a, &f, bytes);
    } else {
        a->proven = a->is_param;
    }
}

void low_address_exact(struct low *l, const struct low_inst *i, const struct weir_ptx_operand *o,
                       uint8_t space, struct low_address *a)
{
    low_address(l, i, o, space, 9, a); /* no stride is 9, so it is not guessed; but 0 may be */
    if (a->spec) {
        a->spec = false;
        a->ok = NULL;
        address_value(l, i, o, true, a);
    }
    a->proven = false;
}

void low_address_prove(struct low *l, struct low_address *a, uint32_t bytes)
{
    struct low_fact f = low_address_fact(l, a->inst, a->op);
    a->proven = a->space == WEIR_PTX_SHARED && a->align >= alignment_bits(bytes) &&
                proven_shared(l, a, &f, bytes);
}

/* Pointer of a scalar address. */
static LLVMValueRef pointer(struct low *l, const struct low_address *a, LLVMValueRef addr)
{
    LLVMValueRef off;
    if (a->space == WEIR_PTX_SHARED) {
        off = low_resize(l, addr, 64, true);
        return LLVMBuildGEP2(l->b, l->t.i8, l->shared, &off, 1, "");
    }
    if (a->is_param && a->op->var) { /* so that it is known to be there, whatever else happens */
        off = LLVMConstInt(l->t.i64, a->op->var->offset + (uint64_t)a->op->imm, 0);
        return LLVMBuildGEP2(l->b, l->t.i8, l->params, &off, 1, "");
    }
    return LLVMBuildIntToPtr(l->b, addr, l->t.ptr, "");
}

/* Of a group whose lanes' addresses are consecutive. */
LLVMValueRef low_group_pointer(struct low *l, const struct low_address *a, uint32_t g)
{
    LLVMValueRef off = a->in_window[g];
    if (!off)
        return pointer(l, a, a->base.v[g]);
    return LLVMBuildGEP2(l->b, l->t.i8, LLVMBuildIntToPtr(l->b, l->window_base, l->t.ptr, ""), &off,
                         1, "");
}

/* Pointers of a group, for gathers: a scalar base and indices where that is known. */
static LLVMValueRef pointers(struct low *l, const struct low_address *a, uint32_t g)
{
    if (a->space == WEIR_PTX_SHARED) {
        LLVMValueRef off = low_resize(l, low_vector(l, &a->base, g), 64, true);
        return LLVMBuildGEP2(l->b, l->t.i8, l->shared, &off, 1, "");
    }
    if (a->base.shape != LOW_VARYING) {
        LLVMValueRef p =
            LLVMBuildIntToPtr(l->b, a->base.v[a->base.shape == LOW_UNIFORM ? 0 : g], l->t.ptr, "");
        LLVMValueRef idx =
            low_lanes(l, l->t.i64, a->base.shape == LOW_UNIFORM ? 0 : a->base.stride);
        return LLVMBuildGEP2(l->b, l->t.i8, p, &idx, 1, "");
    }
    return LLVMBuildIntToPtr(l->b, a->base.v[g], low_vec_type(l, l->t.ptr), "");
}

/* Absolute addresses of a group as i64 vector. */
static LLVMValueRef absolute(struct low *l, const struct low_address *a, LLVMValueRef vec)
{
    if (a->space != WEIR_PTX_SHARED)
        return vec;
    vec = low_resize(l, vec, 64, false);
    return LLVMBuildAdd(l->b, vec, low_splat(l, LLVMBuildPtrToInt(l->b, l->shared, l->t.i64, "")),
                        "");
}

/* ---- checks ---- */

static LLVMValueRef limit(struct low *l, const struct low_address *a, uint64_t bytes)
{
    if (a->space == WEIR_PTX_SHARED)
        return LLVMBuildSub(l->b, LLVMBuildZExt(l->b, l->shared_bytes, l->t.i64, ""),
                            LLVMConstInt(l->t.i64, bytes, 0), "");
    return LLVMBuildSub(l->b, l->window_bytes, LLVMConstInt(l->t.i64, bytes, 0), "");
}

/* The bits that are to be looked at. */
static unsigned unknown_bits(const struct low_address *a, uint32_t bytes)
{
    unsigned bits = alignment_bits(bytes);
    return a->align >= bits ? 0 : bits;
}

/* The offset is at most `lim` and a multiple of 1 << bits: rotated, the bits that must not be there
 * make it huge, so that one comparison tells both. */
LLVMValueRef low_at_most(struct low *l, LLVMValueRef off, LLVMValueRef lim, unsigned bits)
{
    LLVMTypeRef t = LLVMTypeOf(off);

    if (bits) {
        LLVMValueRef by = low_const(l, t, bits), args[3] = {off, off, by};

        off = low_intrinsic(l, "llvm.fshr", &t, 1, args, 3);
        lim = LLVMBuildLShr(l->b, lim, by, "");
    }
    return LLVMBuildICmp(l->b, LLVMIntULE, off, lim, "");
}

/* In what the kernel's text itself wants of shared memory, of which there is always so much: where
 * the warp is a constant, this is one, too. */
static LLVMValueRef in_static_shared(struct low *l, LLVMValueRef off, uint64_t bytes, unsigned bits)
{
    return low_at_most(l, off, LLVMConstInt(l->t.i64, low_static_shared(l) - bytes, 0), bits);
}

/* i1: [addr, addr + bytes) lies in the space, and addr is aligned. Shared offsets are signed here:
 * lanes that are not active may lie below 0. */
static LLVMValueRef inside(struct low *l, const struct low_address *a, LLVMValueRef addr,
                           uint64_t bytes, unsigned bits)
{
    LLVMValueRef lim = limit(l, a, bytes), off;
    if (a->space == WEIR_PTX_SHARED) {
        off = low_resize(l, addr, 64, true);
        LLVMValueRef in = low_at_most(l, off, lim, bits);
        if (bytes > low_static_shared(l)) {
            LLVMValueRef zero = LLVMConstInt(l->t.i64, 0, 0);
            return LLVMBuildAnd(l->b, LLVMBuildICmp(l->b, LLVMIntSGE, lim, zero, ""), in, "");
        }
        return l->warp && LLVMIsConstant(l->warp)
                   ? LLVMBuildOr(l->b, in_static_shared(l, off, bytes, bits), in, "")
                   : in;
    }
    off = LLVMBuildSub(l->b, addr, l->window_base, "");
    return low_at_most(l, off, lim, bits);
}

/* The same for lanes apart, but for their alignment. */
static LLVMValueRef inside_vector(struct low *l, const struct low_address *a, LLVMValueRef addr,
                                  uint64_t bytes)
{
    LLVMValueRef lim = low_splat(l, limit(l, a, bytes)), off;
    if (a->space == WEIR_PTX_SHARED) {
        LLVMValueRef l32 = low_splat(l, LLVMBuildTrunc(l->b, limit(l, a, bytes), l->t.i32, ""));
        LLVMValueRef neg =
            LLVMBuildICmp(l->b, LLVMIntSGE, l32, low_const(l, LLVMTypeOf(l32), 0), "");
        return LLVMBuildAnd(l->b, neg, LLVMBuildICmp(l->b, LLVMIntULE, addr, l32, ""), "");
    }
    off = LLVMBuildSub(l->b, addr, low_splat(l, l->window_base), "");
    return LLVMBuildICmp(l->b, LLVMIntULE, off, lim, "");
}

static LLVMValueRef aligned_vector(struct low *l, LLVMValueRef addr, unsigned bits)
{
    LLVMTypeRef t = LLVMTypeOf(addr);
    LLVMValueRef low = LLVMBuildAnd(l->b, addr, low_const(l, t, (int64_t)weir_bits_low(bits)), "");
    return LLVMBuildICmp(l->b, LLVMIntEQ, low, LLVMConstNull(t), "");
}

static void scratch_addresses(struct low *l, struct low_address *a)
{
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef v = absolute(l, a, low_vector(l, &a->base, g));
        LLVMValueRef at = LLVMConstInt(l->t.i64, 8 * g * l->width, 0);
        LLVMValueRef p = LLVMBuildGEP2(l->b, l->t.i8, l->scratch, &at, 1, "");
        LLVMSetAlignment(LLVMBuildStore(l->b, v, p), 8);
    }
}

static void slow_call(struct low *l, const struct low_address *a, LLVMValueRef bits, uint32_t op,
                      uint32_t size, uint32_t comps, uint32_t flags)
{
    uint32_t code =
        size | comps << 8 | op << 16 | flags | (a->space == WEIR_PTX_SHARED ? 1u << 20 : 0);
    if (low_touches(l, a))
        code |= LOW_SLOW_TOUCH;
    low_slow_call(l, bits, code, l->inst->p->line, op);
}

static LLVMValueRef active_bits(struct low *l)
{
    return l->mask_full ? LLVMConstInt(l->t.i32, 0xffffffff, 0) : low_mask_bits(l, l->mask);
}

/* i32: the active lanes whose access is not good. Mostly addresses are a pointer and what is a
 * multiple of the element in every lane: then one test of the pointer tells of all. */
static LLVMValueRef bad_lanes(struct low *l, struct low_address *a, uint32_t bytes)
{
    unsigned abits = unknown_bits(a, bytes);
    LLVMValueRef scalar = abits ? low_address_scalar(l, a, abits) : NULL, bad[LOW_MAX_GROUPS];
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef at = low_vector(l, &a->base, g), good = inside_vector(l, a, at, bytes);
        if (abits && !scalar)
            good = LLVMBuildAnd(l->b, good, aligned_vector(l, at, abits), "");
        bad[g] = low_mask_not(l, good);
        if (!l->mask_full)
            bad[g] = low_mask_and(l, bad[g], l->mask[g]);
    }
    LLVMValueRef bits = low_mask_bits(l, bad);
    if (!scalar)
        return bits;
    LLVMValueRef low =
        LLVMBuildAnd(l->b, scalar, LLVMConstInt(l->t.i64, weir_bits_low(abits), 0), "");
    low = LLVMBuildICmp(l->b, LLVMIntEQ, low, LLVMConstInt(l->t.i64, 0, 0), "");
    return LLVMBuildSelect(l->b, low, bits, active_bits(l), "");
}

/* Checks a whole access; afterwards it may be made in any form. */
static void check(struct low *l, struct low_address *a, uint32_t size, uint32_t comps,
                  uint32_t kind)
{
    uint32_t bytes = size * comps;
    unsigned abits = unknown_bits(a, bytes);
    int64_t stride = a->base.stride, unit = (int64_t)1 << abits;
    if (a->proven)
        return;
    LLVMValueRef ok = NULL, bits = NULL;
    if (a->base.shape == LOW_UNIFORM) {
        ok = inside(l, a, a->base.v[0], bytes, abits);
    } else if (a->base.shape == LOW_AFFINE && stride >= 0 && stride < 65536 && stride % unit == 0) {
        uint64_t span = (uint64_t)a->base.stride * (l->width - 1) + bytes;
        for (unsigned g = 0; g < l->groups; g++)
            ok = low_and_ok(l, ok, inside(l, a, a->base.v[g], span, abits));
    } else {
        bits = bad_lanes(l, a, bytes);
        ok = LLVMBuildICmp(l->b, LLVMIntEQ, bits, LLVMConstInt(l->t.i32, 0, 0), "");
    }
    LLVMBasicBlockRef bad = low_bb(l, "outside"), next = low_bb(l, "inside");
    low_cond_unlikely(l, ok, next, bad);
    LLVMPositionBuilderAtEnd(l->b, bad);
    scratch_addresses(l, a);
    slow_call(l, a, bits ? bits : active_bits(l), 0, size, comps, kind << 18);
    LLVMBuildBr(l->b, next);
    LLVMPositionBuilderAtEnd(l->b, next);
}

void low_address_vectors(struct low *l, struct low_address *a, uint32_t bytes, uint32_t kind,
                         LLVMValueRef *out)
{
    check(l, a, bytes, 1, kind);
    low_race(l, a, bytes, kind);
    low_touch(l, a, bytes, kind == 2 ? LOW_TOUCH_UPDATE : kind);
    for (unsigned g = 0; g < l->groups; g++)
        out[g] = absolute(l, a, low_vector(l, &a->base, g));
}

/* ---- loads ---- */

static LLVMValueRef repeat_mask(struct low *l, LLVMValueRef m, uint32_t times)
{
    LLVMValueRef idx[128];
    if (times == 1)
        return m;
    for (unsigned k = 0; k < l->width * times; k++)
        idx[k] = LLVMConstInt(l->t.i32, k / times, 0);
    return LLVMBuildShuffleVector(l->b, m, LLVMGetPoison(LLVMTypeOf(m)),
                                  LLVMConstVector(idx, l->width * times), "");
}

static LLVMValueRef masked_load(struct low *l, struct low_access *x, LLVMValueRef p, LLVMTypeRef vt,
                                LLVMValueRef mask)
{
    LLVMValueRef r;
    if (l->mask_full) {
        r = LLVMBuildLoad2(l->b, vt, p, "");
        LLVMSetAlignment(r, x->size);
    } else {
        LLVMTypeRef over[2] = {vt, l->t.ptr};
        LLVMValueRef args[4] = {p, LLVMConstInt(l->t.i32, x->size, 0), mask, LLVMConstNull(vt)};
        r = low_intrinsic(l, "llvm.masked.load", over, 2, args, 4);
    }
    low_scope(l, r, x->a.space);
    return r;
}

static LLVMValueRef component(struct low *l, LLVMValueRef wide, uint32_t c, uint32_t comps)
{
    LLVMValueRef idx[64];
    if (comps == 1)
        return wide;
    for (unsigned k = 0; k < l->width; k++)
        idx[k] = LLVMConstInt(l->t.i32, k * comps + c, 0);
    return LLVMBuildShuffleVector(l->b, wide, LLVMGetPoison(LLVMTypeOf(wide)),
                                  LLVMConstVector(idx, l->width), "");
}

static void load_contiguous(struct low *l, struct low_access *x)
{
    LLVMTypeRef vt = LLVMVectorType(x->elem, l->width * x->comps);
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef m = l->mask_full ? NULL : repeat_mask(l, l->mask[g], x->comps);
        LLVMValueRef w = masked_load(l, x, low_group_pointer(l, &x->a, g), vt, m);
        for (unsigned c = 0; c < x->comps; c++)
            x->v[c].v[g] = component(l, w, c, x->comps);
    }
    low_prefetch(l, x);
}

static void load_scalar(struct low *l, struct low_access *x, unsigned g, LLVMValueRef *out)
{
    for (unsigned c = 0; c < x->comps; c++) {
        LLVMValueRef at = LLVMConstInt(l->t.i64, c * x->size, 0);
        LLVMValueRef p = low_group_pointer(l, &x->a, g);
        if (c)
            p = LLVMBuildGEP2(l->b, l->t.i8, p, &at, 1, "");
        out[c] = LLVMBuildLoad2(l->b, x->elem, p, "");
        LLVMSetAlignment(out[c], x->size);
        if (x->a.is_param)
            LLVMSetMetadata(out[c], l->md_invariant, l->md_empty);
        else
            low_scope(l, out[c], x->a.space);
    }
}

/* Group-uniform: one scalar load a group, not made where the group has no active lane (its address
 * may be anything). */
static void load_group_uniform(struct low *l, struct low_access *x)
{
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef s[8];
        if (l->mask_full) {
            load_scalar(l, x, g, s);
            for (unsigned c = 0; c < x->comps; c++)
                x->v[c].v[g] = low_splat(l, s[c]);
            continue;
        }
        LLVMTypeRef it = LLVMIntTypeInContext(l->ctx, l->width);
        LLVMBasicBlockRef from = LLVMGetInsertBlock(l->b), some = low_bb(l, "some"),
                          next = low_bb(l, "next");
        LLVMValueRef any =
            LLVMBuildICmp(l->b, LLVMIntNE, LLVMBuildBitCast(l->b, l->mask[g], it, ""),
                          LLVMConstInt(it, 0, 0), "");
        LLVMBuildCondBr(l->b, any, some, next);
        LLVMPositionBuilderAtEnd(l->b, some);
        load_scalar(l, x, g, s);
        LLVMBuildBr(l->b, next);
        LLVMPositionBuilderAtEnd(l->b, next);
        for (unsigned c = 0; c < x->comps; c++) {
            LLVMValueRef phi = LLVMBuildPhi(l->b, x->elem, ""),
                         vals[2] = {s[c], LLVMConstNull(x->elem)};
            LLVMBasicBlockRef bbs[2] = {some, from};
            LLVMAddIncoming(phi, vals, bbs, 2);
            x->v[c].v[g] = phi;
        }
        for (unsigned c = 0; c < x->comps; c++)
            x->v[c].v[g] = low_splat(l, x->v[c].v[g]);
    }
}

static LLVMValueRef gather(struct low *l, struct low_access *x, LLVMTypeRef elem, LLVMValueRef ptrs,
                           uint32_t g)
{
    LLVMTypeRef vt = low_vec_type(l, elem);
    LLVMTypeRef over[2] = {vt, LLVMTypeOf(ptrs)};
    LLVMValueRef args[4] = {ptrs, LLVMConstInt(l->t.i32, low_bits_of(LLVMGetUndef(elem)) / 8, 0),
                            l->mask[g], LLVMConstNull(vt)};
    LLVMValueRef r = low_intrinsic(l, "llvm.masked.gather", over, 2, args, 4);
    low_scope(l, r, x->a.space);
    return r;
}

/* 8 and 16 bits: there is no such gather; the aligned word around it lies on the same page. */
static LLVMValueRef gather_small(struct low *l, struct low_access *x, uint32_t g, uint32_t c)
{
    LLVMValueRef addr = absolute(l, &x->a, low_vector(l, &x->a.base, g));
    if (c)
        addr = LLVMBuildAdd(l->b, addr, low_const(l, LLVMTypeOf(addr), (int64_t)c * x->size), "");
    LLVMValueRef word = LLVMBuildAnd(l->b, addr, low_const(l, LLVMTypeOf(addr), -4), "");
    LLVMValueRef ptrs = LLVMBuildIntToPtr(l->b, word, low_vec_type(l, l->t.ptr), "");
    LLVMValueRef v = gather(l, x, l->t.i32, ptrs, g);
    LLVMValueRef at = LLVMBuildTrunc(l->b, addr, low_vec_type(l, l->t.i32), "");
    at = LLVMBuildShl(l->b, LLVMBuildAnd(l->b, at, low_const(l, LLVMTypeOf(at), 3), ""),
                      low_const(l, LLVMTypeOf(at), 3), "");
    return low_bitcast(l, low_resize(l, LLVMBuildLShr(l->b, v, at, ""), x->size * 8, false),
                       x->elem);
}

static void load_gather(struct low *l, struct low_access *x)
{
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef base = x->size >= 4 ? pointers(l, &x->a, g) : NULL;
        for (unsigned c = 0; c < x->comps; c++) {
            if (x->size < 4) {
                x->v[c].v[g] = gather_small(l, x, g, c);
                continue;
            }
            LLVMValueRef at = LLVMConstInt(l->t.i64, c * x->size, 0);
            LLVMValueRef p = c ? LLVMBuildGEP2(l->b, l->t.i8, base, &at, 1, "") : base;
            x->v[c].v[g] = gather(l, x, x->elem, p, g);
        }
    }
}

static LLVMValueRef scratch_data(struct low *l, struct low_access *x, uint32_t c, uint32_t g)
{
    LLVMValueRef at =
        LLVMConstInt(l->t.i64, 256 + (uint64_t)(c * LOW_LANES + g * l->width) * x->size, 0);
    return LLVMBuildGEP2(l->b, l->t.i8, l->scratch, &at, 1, "");
}

/* Values that two paths computed. */
static void merge(struct low *l, struct low_val *a, const struct low_val *b,
                  LLVMBasicBlockRef from_a, LLVMBasicBlockRef from_b)
{
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef phi = LLVMBuildPhi(l->b, LLVMTypeOf(a->v[g]), ""),
                     vals[2] = {a->v[g], b->v[g]};
        LLVMBasicBlockRef bbs[2] = {from_a, from_b};
        LLVMAddIncoming(phi, vals, bbs, 2);
        a->v[g] = phi;
    }
}

/* All groups lie in the window: of their offsets together, none of which is larger. Where these
 * make something larger than is allowed, though each is not, the block's other form finds out. */
static LLVMValueRef all_inside(struct low *l, const struct low_address *a, uint64_t span,
                               unsigned bits)
{
    LLVMValueRef any = NULL;
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef off = LLVMBuildSub(l->b, a->base.v[g], l->window_base, "");
        any = any ? LLVMBuildOr(l->b, any, off, "") : off;
    }
    return low_at_most(l, any, limit(l, a, span), bits);
}

static LLVMValueRef all_offsets(struct low *l, const struct low_address *a)
{
    LLVMValueRef any = NULL;
    for (unsigned g = 0; g < l->groups; g++)
        any = any ? LLVMBuildOr(l->b, any, a->in_window[g], "") : a->in_window[g];
    return any;
}

/* A pointer of the program's and a multiple of a number of 32 bits: the pointer's own offset in the
 * window is the same for every access, so that what is true of it needs to be asked once. Behind
 * the last offset whose number does not wrap around in any lane the access ends like behind the
 * window: one comparison for both. NULL: the address is of another form. */
static LLVMValueRef sum_condition(struct low *l, struct low_access *x, uint64_t span, unsigned bits)
{
    struct low_sum s;
    struct low_address *a = &x->a;
    LLVMValueRef ok = NULL, lim = limit(l, a, span);
    if (a->space == WEIR_PTX_SHARED || l->request->twin || !low_address_sum(l, a, &s) ||
        s.scale % ((int64_t)1 << bits))
        return NULL;
    int64_t last = INT32_MAX - a->base.stride / s.scale * (l->width - 1);
    LLVMValueRef start = LLVMBuildSub(l->b, low_sum_base(l, &s), l->window_base, "");
    start = LLVMBuildAdd(l->b, start, LLVMConstInt(l->t.i64, (uint64_t)a->op->imm, 1), "");
    LLVMValueRef top =
        LLVMBuildAdd(l->b, start, LLVMConstInt(l->t.i64, (uint64_t)(last * s.scale), 0), "");
    LLVMValueRef end = low_binary(l, "llvm.umin", lim, top);
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef n = low_resize(l, low_spec_base(l, s.index, g), 64, true);
        n = LLVMBuildMul(l->b, n, LLVMConstInt(l->t.i64, (uint64_t)s.scale, 0), "");
        a->in_window[g] = LLVMBuildAdd(l->b, start, n, "");
    }
    low_spec_ok(l, s.index, &ok);
    ok = low_and_ok(l, ok, low_at_most(l, start, lim, bits));
    if (l->otherwise)
        return low_and_ok(l, ok, low_at_most(l, all_offsets(l, a), end, 0));
    for (unsigned g = 0; g < l->groups; g++)
        ok = low_and_ok(l, ok, low_at_most(l, a->in_window[g], end, 0));
    return ok;
}

static LLVMValueRef spec_condition(struct low *l, struct low_access *x)
{
    LLVMValueRef ok = x->a.ok;
    uint64_t span = (uint64_t)x->a.base.stride * (l->width - 1) + x->size * x->comps;
    unsigned bits = unknown_bits(&x->a, x->size * x->comps);
    if (x->a.proven)
        return ok;
    LLVMValueRef sum;
    if (low_row_condition(l, x, limit(l, &x->a, span), bits, &sum) ||
        (sum = sum_condition(l, x, span, bits)))
        return sum;
    if (l->otherwise && x->a.space != WEIR_PTX_SHARED)
        return low_and_ok(l, ok, all_inside(l, &x->a, span, bits));
    for (unsigned g = 0; g < l->groups; g++)
        ok = low_and_ok(l, ok, inside(l, &x->a, x->a.base.v[g], span, bits));
    return ok;
}

void low_access_exact(struct low *l, const struct low_access *x, struct low_address *a)
{
    *a = x->a;
    a->spec = false;
    a->ok = NULL;
    address_value(l, x->i, x->a.op, true, a);
}

/* Addresses of the slow path into the scratch area: as a form, or (form NULL) one by one. Returns
 * the code's flags. */
static uint32_t slow_addresses(struct low *l, struct low_access *x, const struct low_form *form)
{
    struct low_address exact;
    if (!form) {
        low_access_exact(l, x, &exact);
        scratch_addresses(l, &exact);
        return 0;
    }
    const struct low_form f = *form;
    struct low_val v = low_read_reg(l, f.root);
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef at = LLVMConstInt(l->t.i64, 4 * g * l->width, 0);
        LLVMValueRef w = low_bitcast(l, low_vector(l, &v, g), l->t.i32);
        LLVMValueRef s =
            LLVMBuildStore(l->b, w, LLVMBuildGEP2(l->b, l->t.i8, l->scratch, &at, 1, ""));
        LLVMSetAlignment(s, 4);
    }
    LLVMValueRef imm = LLVMConstInt(l->t.i64, (unsigned long long)x->a.op->imm, 1);
    LLVMValueRef part[3] = {f.base ? LLVMBuildAdd(l->b, f.base, imm, "") : imm,
                            LLVMConstInt(l->t.i64, (unsigned long long)f.scale, 1),
                            f.more ? f.more : LLVMConstInt(l->t.i32, 0, 0)};
    for (unsigned k = 0; k < 3; k++) {
        LLVMValueRef at = LLVMConstInt(l->t.i64, LOW_SLOW_FORM + 8 * k, 0);
        LLVMBuildStore(l->b, part[k], LLVMBuildGEP2(l->b, l->t.i8, l->scratch, &at, 1, ""));
    }
    return LOW_SLOW_INDEXED | (f.sign ? LOW_SLOW_SIGNED : 0);
}

static void load_by_shape(struct low *l, struct low_access *x)
{
    struct low_val *b = &x->a.base;
    bool contiguous = b->shape == LOW_AFFINE && b->stride == (int64_t)(x->size * x->comps);
    for (unsigned c = 0; c < x->comps; c++)
        x->v[c].shape = LOW_VARYING;
    if (b->shape == LOW_UNIFORM) {
        LLVMValueRef s[8];
        load_scalar(l, x, 0, s);
        for (unsigned c = 0; c < x->comps; c++) {
            x->v[c].shape = LOW_UNIFORM;
            x->v[c].v[0] = s[c];
        }
    } else if (contiguous) {
        load_contiguous(l, x);
    } else if (b->shape == LOW_AFFINE && b->stride == 0) {
        load_group_uniform(l, x);
    } else {
        load_gather(l, x);
    }
}

void low_access_load(struct low *l, struct low_access *x)
{
    check(l, &x->a, x->size, x->comps, 0);
    low_race_load(l, x);
    low_touch(l, &x->a, x->size * x->comps, 0);
    load_by_shape(l, x);
}

/* Is every lane here a word at start + 4 * a number that is not negative, inside the window?
 * numbers: out, by group. */
static LLVMValueRef words_inside(struct low *l, struct low_access *x, const struct low_sum *s,
                                 LLVMValueRef start, LLVMValueRef *numbers)
{
    LLVMValueRef lim = limit(l, &x->a, x->size), bad[LOW_MAX_GROUPS];
    LLVMValueRef ok = low_at_most(l, start, lim, unknown_bits(&x->a, x->size));
    LLVMValueRef most =
        LLVMBuildLShr(l->b, LLVMBuildSub(l->b, lim, start, ""), LLVMConstInt(l->t.i64, 2, 0), "");
    most = low_binary(l, "llvm.umin", most, LLVMConstInt(l->t.i64, INT32_MAX, 0));
    most = low_splat(l, LLVMBuildTrunc(l->b, most, l->t.i32, ""));
    struct low_val v = low_read_reg(l, s->index);
    for (unsigned g = 0; g < l->groups; g++) {
        numbers[g] = low_bitcast(l, low_vector(l, &v, g), l->t.i32);
        bad[g] = LLVMBuildICmp(l->b, LLVMIntUGT, numbers[g], most, "");
        if (!l->mask_full)
            bad[g] = low_mask_and(l, bad[g], l->mask[g]);
    }
    LLVMValueRef zero = LLVMConstInt(l->t.i32, 0, 0);
    ok =
        LLVMBuildAnd(l->b, ok, LLVMBuildICmp(l->b, LLVMIntEQ, low_mask_bits(l, bad), zero, ""), "");
    if (!l->avx512 && !l->mask_full) /* each lane would have a branch */
        ok = LLVMBuildAnd(l->b, ok,
                          LLVMBuildICmp(l->b, LLVMIntEQ, active_bits(l),
                                        LLVMConstInt(l->t.i32, 0xffffffff, 0), ""),
                          "");
    return ok;
}

static void load_by_call(struct low *l, struct low_access *x, const struct low_form *form,
                         struct low_val *data);

/* A gather, where all lanes are inside the window; false: the address is of another form. */
static bool load_words(struct low *l, struct low_access *x, const struct low_form *form,
                       struct low_val *data)
{
    struct low_sum s;
    LLVMValueRef numbers[LOW_MAX_GROUPS], saved[LOW_MAX_GROUPS];
    struct low_val far;
    const struct weir_jit_request *q = l->request;
    if (q->twin || q->touch || q->races || x->size != 4 || x->comps != 1 ||
        x->a.space == WEIR_PTX_SHARED || !low_address_sum(l, &x->a, &s) || s.scale != 4)
        return false;
    LLVMValueRef start = LLVMBuildSub(l->b, low_sum_base(l, &s), l->window_base, "");
    start = LLVMBuildAdd(l->b, start, LLVMConstInt(l->t.i64, (uint64_t)x->a.op->imm, 1), "");
    LLVMValueRef ok = words_inside(l, x, &s, start, numbers);
    LLVMBasicBlockRef near = low_bb(l, "words"), call = low_bb(l, "far"),
                      both = low_bb(l, "loaded"), near_end, call_end;
    LLVMBuildCondBr(l->b, ok, near, call);
    LLVMPositionBuilderAtEnd(l->b, call);
    load_by_call(l, x, form, &far);
    call_end = LLVMGetInsertBlock(l->b);
    LLVMBuildBr(l->b, both);
    LLVMPositionBuilderAtEnd(l->b, near);
    memcpy(saved, l->mask, sizeof saved);
    LLVMValueRef p = LLVMBuildIntToPtr(l->b, l->window_base, l->t.ptr, "");
    p = LLVMBuildGEP2(l->b, l->t.i8, p, &start, 1, "");
    for (unsigned g = 0; g < l->groups; g++) {
        if (!l->avx512)
            l->mask[g] = LLVMConstAllOnes(l->t.mask);
        data->v[g] = gather(l, x, x->elem, LLVMBuildGEP2(l->b, l->t.i32, p, &numbers[g], 1, ""), g);
    }
    memcpy(l->mask, saved, sizeof saved);
    near_end = LLVMGetInsertBlock(l->b);
    LLVMBuildBr(l->b, both);
    LLVMPositionBuilderAtEnd(l->b, both);
    merge(l, data, &far, near_end, call_end);
    return true;
}

/* The vectors of a load whose lanes are not where they were guessed. At a border this is usual: a
 * gather where that is cheap, or takes little code; in loops the call, which takes no registers. */
static void load_not_as_guessed(struct low *l, struct low_access *x, struct low_val *data)
{
    struct low_form f;
    bool form = low_address_form(l, &x->a, &f);
    bool in_loop = l->blocks.items[l->block].loop >= 0;
    if (!in_loop && load_words(l, x, form ? &f : NULL, data))
        return;
    if (!form && !in_loop && l->avx512 && x->size == 4 && x->comps == 1) {
        struct low_access y = *x;
        low_access_exact(l, x, &y.a);
        low_access_load(l, &y);
        data[0] = y.v[0];
        return;
    }
    load_by_call(l, x, form ? &f : NULL, data);
}

static void load_by_call(struct low *l, struct low_access *x, const struct low_form *form,
                         struct low_val *data)
{
    uint32_t flags = slow_addresses(l, x, form);
    slow_call(l, &x->a, active_bits(l), 1, x->size, x->comps, flags);
    for (unsigned c = 0; c < x->comps; c++)
        for (unsigned g = 0; g < l->groups; g++)
            data[c].v[g] =
                LLVMBuildLoad2(l->b, low_vec_type(l, x->elem), scratch_data(l, x, c, g), "");
}

/* True: the access is as it was guessed from here on; in a block's first form. */
static bool surely(struct low *l, LLVMValueRef ok)
{
    if (!l->otherwise)
        return false;
    LLVMBasicBlockRef next = low_bb(l, "sure");
    low_cond_unlikely(l, ok, next, l->otherwise);
    LLVMPositionBuilderAtEnd(l->b, next);
    return true;
}

static void load_speculative(struct low *l, struct low_access *x)
{
    LLVMValueRef ok = spec_condition(l, x);
    if (!ok) {
        low_touch(l, &x->a, x->size * x->comps, 0);
        load_by_shape(l, x);
        return;
    }
    if (surely(l, ok)) {
        load_by_shape(l, x);
        return;
    }
    LLVMBasicBlockRef fast = low_bb(l, "fast"), slow = low_bb(l, "slow"), next = low_bb(l, "next"),
                      f_end, s_end;
    low_cond_unlikely(l, ok, fast, slow);
    LLVMPositionBuilderAtEnd(l->b, slow);
    struct low_val data[8];
    load_not_as_guessed(l, x, data);
    s_end = LLVMGetInsertBlock(l->b);
    LLVMBuildBr(l->b, next);
    LLVMPositionBuilderAtEnd(l->b, fast);
    low_touch(l, &x->a, x->size * x->comps, 0);
    load_by_shape(l, x);
    f_end = LLVMGetInsertBlock(l->b);
    LLVMBuildBr(l->b, next);
    LLVMPositionBuilderAtEnd(l->b, next);
    for (unsigned c = 0; c < x->comps; c++)
        merge(l, &x->v[c], &data[c], f_end, s_end);
}

/* ---- ordered and volatile accesses: lane by lane ---- */

/* They count as atomic (LOW_TOUCH_ORDERED): a flag that one kernel sets and another polls is no
 * race. */
static bool ordered(const struct weir_ptx_inst *p, uint8_t space)
{
    return p->sem != WEIR_PTX_WEAK && space != WEIR_PTX_SHARED && space != WEIR_PTX_LOCAL &&
           space != WEIR_PTX_PARAM;
}

static LLVMAtomicOrdering ordering(const struct weir_ptx_inst *p)
{
    switch (p->sem) {
    case WEIR_PTX_ACQUIRE:
        return LLVMAtomicOrderingAcquire;
    case WEIR_PTX_RELEASE:
        return LLVMAtomicOrderingRelease;
    default:
        return LLVMAtomicOrderingMonotonic;
    }
}

/* A vector is read and written as a whole, as on a GPU: programs keep a flag and what it announces
 * in one vector. Up to 8 bytes are an atomic access. An aligned vector of 16 is one access of every
 * processor with AVX, which LLVM has no atomic form for: a volatile one, and fences for the
 * compiler. */
#define ORDERED_UNIT 16u

static unsigned ordered_unit(const struct low_access *x)
{
    unsigned n = x->comps;
    while (n * x->size > ORDERED_UNIT)
        n /= 2;
    return n;
}

static LLVMValueRef ordered_at(struct low *l, const struct low_access *x, LLVMValueRef p,
                               unsigned c)
{
    LLVMValueRef at = LLVMConstInt(l->t.i64, c * x->size, 0);
    return c ? LLVMBuildGEP2(l->b, l->t.i8, p, &at, 1, "") : p;
}

static LLVMTypeRef ordered_type(struct low *l, unsigned bytes)
{
    return bytes > 8 ? LLVMVectorType(l->t.i64, bytes / 8) : low_int(l, bytes * 8);
}

static void ordered_load(struct low *l, struct low_access *x, LLVMValueRef p, LLVMValueRef *out)
{
    unsigned n = ordered_unit(x), bytes = n * x->size;
    for (unsigned c = 0; c < x->comps; c += n) {
        LLVMValueRef v = LLVMBuildLoad2(l->b, ordered_type(l, bytes), ordered_at(l, x, p, c), "");
        LLVMSetVolatile(v, 1);
        LLVMSetAlignment(v, bytes);
        if (bytes <= 8)
            LLVMSetOrdering(v, ordering(x->p));
        else if (x->p->sem == WEIR_PTX_ACQUIRE)
            LLVMBuildFence(l->b, LLVMAtomicOrderingAcquire, 0, "");
        v = LLVMBuildBitCast(l->b, v, n > 1 ? LLVMVectorType(x->elem, n) : x->elem, "");
        for (unsigned k = 0; k < n; k++)
            out[c + k] =
                n > 1 ? LLVMBuildExtractElement(l->b, v, LLVMConstInt(l->t.i32, k, 0), "") : v;
    }
}

static void ordered_store(struct low *l, struct low_access *x, LLVMValueRef p,
                          const LLVMValueRef *in)
{
    unsigned n = ordered_unit(x), bytes = n * x->size;
    for (unsigned c = 0; c < x->comps; c += n) {
        LLVMValueRef v = in[c], s;
        if (n > 1) {
            v = LLVMGetPoison(LLVMVectorType(LLVMTypeOf(v), n));
            for (unsigned k = 0; k < n; k++)
                v = LLVMBuildInsertElement(l->b, v, in[c + k], LLVMConstInt(l->t.i32, k, 0), "");
        }
        v = LLVMBuildBitCast(l->b, v, ordered_type(l, bytes), "");
        if (bytes > 8 && x->p->sem == WEIR_PTX_RELEASE)
            LLVMBuildFence(l->b, LLVMAtomicOrderingRelease, 0, "");
        s = LLVMBuildStore(l->b, v, ordered_at(l, x, p, c));
        LLVMSetVolatile(s, 1);
        LLVMSetAlignment(s, bytes);
        if (bytes <= 8)
            LLVMSetOrdering(s, ordering(x->p));
    }
}

static void load_ordered(struct low *l, struct low_access *x)
{
    LLVMValueRef v[LOW_MAX_COMPS];
    check(l, &x->a, x->size, x->comps, LOW_TOUCH_LOOKED);
    low_race_load(l, x);
    low_touch(l, &x->a, x->size * x->comps, LOW_TOUCH_LOOKED);
    if (x->a.base.shape == LOW_UNIFORM) {
        ordered_load(l, x, pointer(l, &x->a, x->a.base.v[0]), v);
        for (unsigned c = 0; c < x->comps; c++) {
            x->v[c].shape = LOW_UNIFORM;
            x->v[c].v[0] = v[c];
        }
        return;
    }
    struct low_lane_loop loop;
    scratch_addresses(l, &x->a);
    low_lane_loop_begin(l, &loop, active_bits(l));
    LLVMValueRef q = LLVMBuildGEP2(l->b, l->t.i64, l->scratch, &loop.lane, 1, "");
    LLVMValueRef addr = LLVMBuildLoad2(l->b, l->t.i64, q, "");
    ordered_load(l, x, LLVMBuildIntToPtr(l->b, addr, l->t.ptr, ""), v);
    for (unsigned c = 0; c < x->comps; c++) {
        LLVMValueRef d = LLVMBuildGEP2(l->b, x->elem, scratch_data(l, x, c, 0), &loop.lane, 1, "");
        LLVMBuildStore(l->b, v[c], d);
    }
    low_lane_loop_end(l, &loop);
    for (unsigned c = 0; c < x->comps; c++) {
        x->v[c].shape = LOW_VARYING;
        for (unsigned g = 0; g < l->groups; g++)
            x->v[c].v[g] =
                LLVMBuildLoad2(l->b, low_vec_type(l, x->elem), scratch_data(l, x, c, g), "");
    }
}

static void store_ordered(struct low *l, struct low_access *x)
{
    check(l, &x->a, x->size, x->comps, LOW_TOUCH_ORDERED);
    low_race_store(l, x);
    low_touch(l, &x->a, x->size * x->comps, LOW_TOUCH_ORDERED);
    struct low_lane_loop loop;
    scratch_addresses(l, &x->a);
    for (unsigned c = 0; c < x->comps; c++)
        for (unsigned g = 0; g < l->groups; g++)
            LLVMBuildStore(l->b, low_vector(l, &x->v[c], g), scratch_data(l, x, c, g));
    low_lane_loop_begin(l, &loop, active_bits(l));
    LLVMValueRef q = LLVMBuildGEP2(l->b, l->t.i64, l->scratch, &loop.lane, 1, "");
    LLVMValueRef addr = LLVMBuildLoad2(l->b, l->t.i64, q, "");
    LLVMTypeRef t = low_int(l, x->size * 8);
    LLVMValueRef v[LOW_MAX_COMPS];
    for (unsigned c = 0; c < x->comps; c++) {
        LLVMValueRef d = LLVMBuildGEP2(l->b, t, scratch_data(l, x, c, 0), &loop.lane, 1, "");
        v[c] = LLVMBuildLoad2(l->b, t, d, "");
    }
    ordered_store(l, x, LLVMBuildIntToPtr(l->b, addr, l->t.ptr, ""), v);
    low_lane_loop_end(l, &loop);
}

/* Where threads are told apart there is one way, without guesses (race.c). */
static void not_guessed(struct low *l, struct low_access *x)
{
    if (l->request->races && x->a.spec)
        low_access_exact(l, x, &x->a);
}

/* ---- the load instruction ---- */

static const struct weir_ptx_operand *find_address(struct low *l, const struct weir_ptx_inst *p)
{
    for (unsigned k = 0; k < p->operand_count; k++)
        if (p->operands[k].kind == WEIR_PTX_OPERAND_ADDRESS)
            return &p->operands[k];
    low_refuse(l, p, "no address");
}

static void begin_access(struct low *l, const struct low_inst *i, struct low_access *x)
{
    memset(x, 0, sizeof *x);
    x->i = i;
    x->p = i->p;
    unsigned bits = weir_ptx_type_bits(i->p->type[0]);
    if (bits > 64 || bits < 8)
        low_refuse(l, i->p, "access of this type");
    x->elem = low_type(l, i->p->type[0]);
    x->size = bits / 8;
    x->comps = i->p->vec ? i->p->vec : 1;
}

static void write_loaded(struct low *l, struct low_access *x, unsigned c, int32_t reg)
{
    const struct low_reg *r = &l->regs.items[reg];
    struct low_val v = x->v[c];
    unsigned n = v.shape == LOW_UNIFORM ? 1 : l->groups;
    bool sign = weir_ptx_type_is_signed(x->p->type[0]);
    if (x->size * 8 < r->bits)
        for (unsigned g = 0; g < n; g++)
            v.v[g] = low_resize(l, low_bitcast(l, v.v[g], low_int(l, x->size * 8)), r->bits, sign);
    low_write(l, reg, &v);
}

/* A piece of a call's parameter. */
static bool param_piece(struct low *l, const struct low_inst *i, const struct weir_ptx_operand *o)
{
    return i->p->space == WEIR_PTX_PARAM && o->var && !low_is_kernel_param(l, i->frame, o->var);
}

void low_emit_load(struct low *l, const struct low_inst *i)
{
    struct low_access x;
    const struct weir_ptx_operand *o = find_address(l, i->p), *d = &i->p->operands[0];
    begin_access(l, i, &x);
    if (param_piece(l, i, o)) {
        for (unsigned c = 0; c < x.comps; c++)
            x.v[c] =
                low_read_reg(l, low_param_piece(l, i->frame, o->var,
                                                (uint64_t)o->imm + (uint64_t)c * x.size, x.size));
    } else {
        low_address(l, i, o, i->p->space, x.size * x.comps, &x.a);
        not_guessed(l, &x);
        if (ordered(i->p, x.a.space)) {
            if (x.a.spec)
                low_access_exact(l, &x, &x.a);
            load_ordered(l, &x);
        } else if (low_outline_access(l, &x, false)) {
            ; /* done */
        } else if (x.a.spec) {
            load_speculative(l, &x);
        } else {
            low_access_load(l, &x);
        }
    }
    if (d->kind == WEIR_PTX_OPERAND_VECTOR) {
        for (unsigned c = 0; c < d->count; c++)
            if (d->elements[c].kind == WEIR_PTX_OPERAND_REG)
                write_loaded(l, &x, c, low_reg_of(l, i, d->elements[c].reg));
    } else if (d->kind == WEIR_PTX_OPERAND_REG) {
        write_loaded(l, &x, 0, low_reg_of(l, i, d->reg));
    }
}

/* ---- stores ---- */

static void store_contiguous(struct low *l, struct low_access *x)
{
    LLVMTypeRef vt = LLVMVectorType(x->elem, l->width * x->comps);
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef w = low_vector(l, &x->v[0], g), idx[128], s;
        if (x->comps == 2) {
            for (unsigned k = 0; k < 2 * l->width; k++)
                idx[k] = LLVMConstInt(l->t.i32, (k & 1) * l->width + k / 2, 0);
            w = LLVMBuildShuffleVector(l->b, w, low_vector(l, &x->v[1], g),
                                       LLVMConstVector(idx, 2 * l->width), "");
        } else if (x->comps == 4) {
            for (unsigned k = 0; k < 2 * l->width; k++)
                idx[k] = LLVMConstInt(l->t.i32, k, 0);
            LLVMValueRef lo = LLVMBuildShuffleVector(l->b, w, low_vector(l, &x->v[1], g),
                                                     LLVMConstVector(idx, 2 * l->width), "");
            LLVMValueRef hi =
                LLVMBuildShuffleVector(l->b, low_vector(l, &x->v[2], g), low_vector(l, &x->v[3], g),
                                       LLVMConstVector(idx, 2 * l->width), "");
            for (unsigned k = 0; k < 4 * l->width; k++)
                idx[k] = LLVMConstInt(l->t.i32, (k & 3) * l->width + k / 4, 0);
            w = LLVMBuildShuffleVector(l->b, lo, hi, LLVMConstVector(idx, 4 * l->width), "");
        }
        LLVMValueRef p = low_group_pointer(l, &x->a, g);
        if (l->mask_full) {
            s = LLVMBuildStore(l->b, w, p);
            LLVMSetAlignment(s, x->size);
        } else {
            LLVMTypeRef over[2] = {vt, l->t.ptr};
            LLVMValueRef args[4] = {w, p, LLVMConstInt(l->t.i32, x->size, 0),
                                    repeat_mask(l, l->mask[g], x->comps)};
            s = low_intrinsic(l, "llvm.masked.store", over, 2, args, 4);
        }
        low_scope(l, s, x->a.space);
    }
    low_prefetch(l, x);
}

/* Lane by lane, in order. */
static void store_lanes(struct low *l, struct low_access *x)
{
    struct low_lane_loop loop;
    scratch_addresses(l, &x->a);
    for (unsigned c = 0; c < x->comps; c++)
        for (unsigned g = 0; g < l->groups; g++)
            LLVMBuildStore(l->b, low_vector(l, &x->v[c], g), scratch_data(l, x, c, g));
    low_lane_loop_begin(l, &loop, active_bits(l));
    LLVMValueRef q = LLVMBuildGEP2(l->b, l->t.i64, l->scratch, &loop.lane, 1, "");
    LLVMValueRef addr = LLVMBuildLoad2(l->b, l->t.i64, q, "");
    for (unsigned c = 0; c < x->comps; c++) {
        LLVMValueRef d = LLVMBuildGEP2(l->b, x->elem, scratch_data(l, x, c, 0), &loop.lane, 1, "");
        LLVMValueRef v = LLVMBuildLoad2(l->b, x->elem, d, "");
        LLVMValueRef a = LLVMBuildAdd(l->b, addr, LLVMConstInt(l->t.i64, c * x->size, 0), "");
        LLVMValueRef s = LLVMBuildStore(l->b, v, LLVMBuildIntToPtr(l->b, a, l->t.ptr, ""));
        LLVMSetAlignment(s, x->size);
        low_scope(l, s, x->a.space);
    }
    low_lane_loop_end(l, &loop);
}

static void store_scatter(struct low *l, struct low_access *x)
{
    if (x->size < 4 || !l->avx512) {
        store_lanes(l, x);
        return;
    }
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef base = pointers(l, &x->a, g);
        for (unsigned c = 0; c < x->comps; c++) {
            LLVMValueRef at = LLVMConstInt(l->t.i64, c * x->size, 0);
            LLVMValueRef p = c ? LLVMBuildGEP2(l->b, l->t.i8, base, &at, 1, "") : base;
            LLVMTypeRef over[2] = {low_vec_type(l, x->elem), LLVMTypeOf(p)};
            LLVMValueRef args[4] = {low_vector(l, &x->v[c], g), p,
                                    LLVMConstInt(l->t.i32, x->size, 0), l->mask[g]};
            low_scope(l, low_intrinsic(l, "llvm.masked.scatter", over, 2, args, 4), x->a.space);
        }
    }
}

/* One address for all lanes: the last active lane's value stays. */
static void store_uniform(struct low *l, struct low_access *x)
{
    for (unsigned c = 0; c < x->comps; c++) {
        LLVMValueRef v = x->v[c].v[0], at = LLVMConstInt(l->t.i64, c * x->size, 0);
        if (x->v[c].shape != LOW_UNIFORM) {
            for (unsigned g = 0; g < l->groups; g++)
                LLVMBuildStore(l->b, low_vector(l, &x->v[c], g), scratch_data(l, x, c, g));
            LLVMValueRef z =
                low_binary(l, "llvm.ctlz", active_bits(l), LLVMConstInt(l->t.i1, 1, 0));
            LLVMValueRef lane = LLVMBuildSub(l->b, LLVMConstInt(l->t.i32, 31, 0), z, "");
            LLVMValueRef d = LLVMBuildGEP2(l->b, x->elem, scratch_data(l, x, c, 0), &lane, 1, "");
            v = LLVMBuildLoad2(l->b, x->elem, d, "");
        }
        LLVMValueRef p =
            LLVMBuildGEP2(l->b, l->t.i8, pointer(l, &x->a, x->a.base.v[0]), &at, 1, "");
        LLVMValueRef s = LLVMBuildStore(l->b, v, p);
        LLVMSetAlignment(s, x->size);
        low_scope(l, s, x->a.space);
    }
}

static void store_by_shape(struct low *l, struct low_access *x)
{
    struct low_val *b = &x->a.base;
    if (b->shape == LOW_UNIFORM)
        store_uniform(l, x);
    else if (b->shape == LOW_AFFINE && b->stride == (int64_t)(x->size * x->comps) && x->comps != 8)
        store_contiguous(l, x);
    else
        store_scatter(l, x);
}

void low_access_store(struct low *l, struct low_access *x)
{
    check(l, &x->a, x->size, x->comps, 1);
    low_race_store(l, x);
    low_touch(l, &x->a, x->size * x->comps, 1);
    store_by_shape(l, x);
}

static void store_speculative(struct low *l, struct low_access *x)
{
    LLVMValueRef ok = spec_condition(l, x);
    if (!ok) {
        low_touch(l, &x->a, x->size * x->comps, 1);
        store_by_shape(l, x);
        return;
    }
    if (surely(l, ok)) {
        store_by_shape(l, x);
        return;
    }
    LLVMBasicBlockRef fast = low_bb(l, "fast"), slow = low_bb(l, "slow"), next = low_bb(l, "next");
    low_cond_unlikely(l, ok, fast, slow);
    LLVMPositionBuilderAtEnd(l->b, slow);
    struct low_form f;
    uint32_t flags = slow_addresses(l, x, low_address_form(l, &x->a, &f) ? &f : NULL);
    for (unsigned c = 0; c < x->comps; c++)
        for (unsigned g = 0; g < l->groups; g++)
            LLVMBuildStore(l->b, low_vector(l, &x->v[c], g), scratch_data(l, x, c, g));
    slow_call(l, &x->a, active_bits(l), 2, x->size, x->comps, 1 << 18 | flags);
    LLVMBuildBr(l->b, next);
    LLVMPositionBuilderAtEnd(l->b, fast);
    low_touch(l, &x->a, x->size * x->comps, 1);
    store_by_shape(l, x);
    LLVMBuildBr(l->b, next);
    LLVMPositionBuilderAtEnd(l->b, next);
}

static void read_stored(struct low *l, struct low_access *x)
{
    const struct weir_ptx_operand *s = &x->p->operands[1]; /* a cache policy may follow */
    for (unsigned c = 0; c < x->comps; c++) {
        const struct weir_ptx_operand *o = s->kind == WEIR_PTX_OPERAND_VECTOR ? &s->elements[c] : s;
        x->v[c] = low_read(l, x->i, o, x->p->type[0]);
    }
}

void low_emit_store(struct low *l, const struct low_inst *i)
{
    struct low_access x;
    const struct weir_ptx_operand *o = find_address(l, i->p);
    begin_access(l, i, &x);
    read_stored(l, &x);
    if (param_piece(l, i, o)) {
        for (unsigned c = 0; c < x.comps; c++)
            low_write(l,
                      low_param_piece(l, i->frame, o->var, (uint64_t)o->imm + (uint64_t)c * x.size,
                                      x.size),
                      &x.v[c]);
        return;
    }
    low_address(l, i, o, i->p->space, x.size * x.comps, &x.a);
    not_guessed(l, &x);
    if (ordered(i->p, x.a.space)) {
        if (x.a.spec)
            low_access_exact(l, &x, &x.a);
        store_ordered(l, &x);
    } else if (low_outline_access(l, &x, true)) {
        ; /* done */
    } else if (x.a.spec) {
        store_speculative(l, &x);
    } else {
        low_access_store(l, &x);
    }
}

/* ---- cp.async ---- */

/* Bytes behind `filled` become zero. */
static LLVMValueRef keep_bytes(struct low *l, LLVMValueRef v, LLVMValueRef filled, int64_t at)
{
    LLVMTypeRef t = LLVMTypeOf(filled);
    LLVMValueRef n = low_binary(l, "llvm.smin", LLVMBuildSub(l->b, filled, low_const(l, t, at), ""),
                                low_const(l, t, 4));
    LLVMValueRef bits = LLVMBuildShl(l->b, low_binary(l, "llvm.smax", n, low_const(l, t, 0)),
                                     low_const(l, t, 3), "");
    LLVMValueRef wide = low_resize(l, bits, 64, false);
    LLVMTypeRef wt = LLVMTypeOf(wide);
    LLVMValueRef m = LLVMBuildSub(l->b, LLVMBuildShl(l->b, low_const(l, wt, 1), wide, ""),
                                  low_const(l, wt, 1), "");
    return LLVMBuildAnd(l->b, v, low_resize(l, m, 32, false), "");
}

/* Loads where bytes are wanted, the rest is zero. */
static void load_filled(struct low *l, struct low_access *x, const struct low_inst *i,
                        uint32_t bytes)
{
    const struct weir_ptx_operand *o = &i->p->operands[3];
    bool ignore =
        o->kind == WEIR_PTX_OPERAND_REG && l->regs.items[low_reg_of(l, i, o->reg)].bits == 1;
    struct low_val n = low_read(l, i, o, ignore ? WEIR_PTX_PRED : WEIR_PTX_U32);
    LLVMValueRef saved[LOW_MAX_GROUPS], filled[LOW_MAX_GROUPS], all[LOW_MAX_GROUPS];
    bool was_full = l->mask_full;
    memcpy(saved, l->mask, sizeof saved);
    if (x->a.spec)
        low_access_exact(l, x, &x->a);
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef f = low_vector(l, &n, g), max = low_const(l, low_vec_type(l, l->t.i32), bytes);
        filled[g] = ignore ? LLVMBuildSelect(l->b, f, LLVMConstNull(LLVMTypeOf(max)), max, "")
                           : low_binary(l, "llvm.umin", f, max);
        LLVMValueRef some =
            LLVMBuildICmp(l->b, LLVMIntNE, filled[g], LLVMConstNull(LLVMTypeOf(max)), "");
        l->mask[g] = was_full ? some : LLVMBuildAnd(l->b, saved[g], some, "");
        all[g] = low_vector(l, &x->a.base, g);
    }
    l->mask_full = false;
    bool contiguous = x->a.base.shape == LOW_AFFINE && x->a.base.stride == (int64_t)bytes;
    if (!contiguous) { /* one address for all lanes must not be read for none */
        x->a.base = (struct low_val){.shape = LOW_VARYING};
        memcpy(x->a.base.v, all, sizeof all);
    }
    low_access_load(l, x);
    for (unsigned c = 0; c < x->comps; c++)
        for (unsigned g = 0; g < l->groups; g++)
            x->v[c].v[g] = keep_bytes(l, x->v[c].v[g], filled[g], 4 * (int64_t)c);
    memcpy(l->mask, saved, sizeof saved);
    l->mask_full = was_full;
}

void low_emit_copy(struct low *l, const struct low_inst *i)
{
    const struct weir_ptx_inst *p = i->p;
    if (weir_cg_form_copy(p) != LOW_COPY_DATA) {
        low_race_copies(l, p);
        return;
    }
    uint32_t bytes = (uint32_t)p->operands[2].imm;
    if (bytes != 4 && bytes != 8 && bytes != 16)
        low_refuse(l, p, "size");
    struct low_access from = {.i = i, .p = p, .elem = l->t.i32, .size = 4, .comps = bytes / 4},
                      to = from;
    low_address(l, i, &p->operands[1], WEIR_PTX_GLOBAL, bytes, &from.a);
    not_guessed(l, &from);
    const struct weir_ptx_operand *fill =
        p->operand_count - (p->cache_hint ? 1 : 0) > 3 ? &p->operands[3] : NULL;
    bool filled = fill && !(fill->kind == WEIR_PTX_OPERAND_INT && fill->imm >= (int64_t)bytes);
    if (filled) {
        load_filled(l, &from, i, bytes);
    } else if (low_outline_access(l, &from, false)) {
        ; /* done */
    } else if (from.a.spec) {
        load_speculative(l, &from);
    } else {
        low_access_load(l, &from);
    }
    memcpy(to.v, from.v, sizeof to.v);
    low_address(l, i, &p->operands[0], WEIR_PTX_SHARED, bytes, &to.a);
    to.copy = true;
    not_guessed(l, &to);
    if (low_outline_access(l, &to, true))
        return;
    if (to.a.spec)
        store_speculative(l, &to);
    else
        low_access_store(l, &to);
}
