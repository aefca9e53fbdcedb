/* Registers and operands as LLVM values: reading in a shape, expanding to vectors, writing with
 * blends, and the run-time tests of registers that are probably affine.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "codegen/lower/lower.h"

/* ---- types and constants ---- */

LLVMTypeRef low_int(const struct low *l, unsigned bits)
{
    switch (bits) {
    case 1:
        return l->t.i1;
    case 8:
        return l->t.i8;
    case 16:
        return l->t.i16;
    case 32:
        return l->t.i32;
    case 64:
        return l->t.i64;
    default:
        return LLVMIntTypeInContext(l->ctx, bits);
    }
}

LLVMTypeRef low_type(const struct low *l, enum weir_ptx_type t)
{
    switch (t) {
    case WEIR_PTX_F32:
        return l->t.f32;
    case WEIR_PTX_F64:
        return l->t.f64;
    default:
        return low_int(l, weir_ptx_type_bits(t));
    }
}

LLVMTypeRef low_vec_type(const struct low *l, LLVMTypeRef scalar)
{
    return LLVMVectorType(scalar, l->width);
}

bool low_is_vec(LLVMValueRef v)
{
    return LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind;
}

LLVMTypeRef low_scalar_type(LLVMTypeRef t)
{
    return LLVMGetTypeKind(t) == LLVMVectorTypeKind ? LLVMGetElementType(t) : t;
}

static unsigned type_bits(LLVMTypeRef t)
{
    switch (LLVMGetTypeKind(t)) {
    case LLVMIntegerTypeKind:
        return LLVMGetIntTypeWidth(t);
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind:
        return 16;
    case LLVMFloatTypeKind:
        return 32;
    default:
        return 64;
    }
}

unsigned low_bits_of(LLVMValueRef v)
{
    return type_bits(low_scalar_type(LLVMTypeOf(v)));
}

LLVMTypeRef low_like(const struct low *l, LLVMTypeRef scalar, LLVMValueRef as)
{
    return low_is_vec(as) ? LLVMVectorType(scalar, LLVMGetVectorSize(LLVMTypeOf(as))) : scalar;
    (void)l;
}

static LLVMValueRef splat_const(LLVMTypeRef t, LLVMValueRef c)
{
    LLVMValueRef v[64];
    if (LLVMGetTypeKind(t) != LLVMVectorTypeKind)
        return c;
    unsigned n = LLVMGetVectorSize(t);
    for (unsigned k = 0; k < n && k < 64; k++)
        v[k] = c;
    return LLVMConstVector(v, n);
}

LLVMValueRef low_const(const struct low *l, LLVMTypeRef t, int64_t v)
{
    (void)l;
    return splat_const(t, LLVMConstInt(low_scalar_type(t), (unsigned long long)v, 1));
}

LLVMValueRef low_fconst(const struct low *l, LLVMTypeRef t, double v)
{
    (void)l;
    return splat_const(t, LLVMConstReal(low_scalar_type(t), v));
}

LLVMValueRef low_fbits(const struct low *l, LLVMTypeRef t, uint64_t bits)
{
    LLVMTypeRef s = low_scalar_type(t);
    LLVMValueRef c = LLVMConstBitCast(LLVMConstInt(low_int(l, type_bits(s)), bits, 0), s);
    return splat_const(t, c);
}

LLVMValueRef low_lanes(const struct low *l, LLVMTypeRef scalar_int, int64_t stride)
{
    LLVMValueRef v[64];
    for (unsigned k = 0; k < l->width; k++)
        v[k] = LLVMConstInt(scalar_int, (unsigned long long)((int64_t)k * stride), 1);
    return LLVMConstVector(v, l->width);
}

LLVMValueRef low_splat(struct low *l, LLVMValueRef scalar)
{
    LLVMTypeRef vt = low_vec_type(l, LLVMTypeOf(scalar));
    if (LLVMIsConstant(scalar))
        return splat_const(vt, scalar);
    LLVMValueRef v =
        LLVMBuildInsertElement(l->b, LLVMGetPoison(vt), scalar, LLVMConstInt(l->t.i32, 0, 0), "");
    return LLVMBuildShuffleVector(l->b, v, LLVMGetPoison(vt),
                                  LLVMConstNull(low_vec_type(l, l->t.i32)), "");
}

LLVMValueRef low_bitcast(struct low *l, LLVMValueRef v, LLVMTypeRef scalar)
{
    LLVMTypeRef to = low_like(l, scalar, v);
    return LLVMTypeOf(v) == to ? v : LLVMBuildBitCast(l->b, v, to, "");
}

LLVMValueRef low_resize(struct low *l, LLVMValueRef v, unsigned bits, bool sign)
{
    unsigned have = low_bits_of(v);
    LLVMTypeRef to = low_like(l, low_int(l, bits), v);
    if (have == bits)
        return v;
    if (have > bits)
        return LLVMBuildTrunc(l->b, v, to, "");
    return sign ? LLVMBuildSExt(l->b, v, to, "") : LLVMBuildZExt(l->b, v, to, "");
}

/* ---- builders ---- */

LLVMValueRef low_intrinsic(struct low *l, const char *name, LLVMTypeRef *over, unsigned over_count,
                           LLVMValueRef *args, unsigned count)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMValueRef f = LLVMGetIntrinsicDeclaration(l->module, id, over, over_count);
    LLVMTypeRef ft = LLVMIntrinsicGetType(l->ctx, id, over, over_count);
    return LLVMBuildCall2(l->b, ft, f, args, count, "");
}

LLVMValueRef low_unary(struct low *l, const char *name, LLVMValueRef a)
{
    LLVMTypeRef t = LLVMTypeOf(a);
    return low_intrinsic(l, name, &t, 1, &a, 1);
}

LLVMValueRef low_binary(struct low *l, const char *name, LLVMValueRef a, LLVMValueRef b)
{
    LLVMTypeRef t = LLVMTypeOf(a);
    LLVMValueRef args[2] = {a, b};
    return low_intrinsic(l, name, &t, 1, args, 2);
}

LLVMValueRef low_ternary(struct low *l, const char *name, LLVMValueRef a, LLVMValueRef b,
                         LLVMValueRef c)
{
    LLVMTypeRef t = LLVMTypeOf(a);
    LLVMValueRef args[3] = {a, b, c};
    return low_intrinsic(l, name, &t, 1, args, 3);
}

LLVMValueRef low_alloca(struct low *l, LLVMTypeRef t, const char *name)
{
    LLVMBasicBlockRef at = LLVMGetInsertBlock(l->b);
    LLVMValueRef first = LLVMGetFirstInstruction(l->entry_bb);
    if (first)
        LLVMPositionBuilderBefore(l->b, first);
    else
        LLVMPositionBuilderAtEnd(l->b, l->entry_bb);
    LLVMValueRef a = LLVMBuildAlloca(l->b, t, name);
    LLVMPositionBuilderAtEnd(l->b, at);
    return a;
}

LLVMBasicBlockRef low_bb(struct low *l, const char *name)
{
    return LLVMAppendBasicBlockInContext(l->ctx, l->fn, name);
}

void low_cond_unlikely(struct low *l, LLVMValueRef cond, LLVMBasicBlockRef likely,
                       LLVMBasicBlockRef unlikely)
{
    LLVMValueRef br = LLVMBuildCondBr(l->b, cond, likely, unlikely);
    LLVMSetMetadata(br, l->md_prof, l->md_unlikely);
}

/* ---- masks ---- */

LLVMValueRef low_mask_and(struct low *l, LLVMValueRef a, LLVMValueRef b)
{
    if (LLVMIsConstant(a) && LLVMIsAConstantAggregateZero(LLVMConstNull(LLVMTypeOf(a))) == a)
        return a;
    return LLVMBuildAnd(l->b, a, b, "");
}

LLVMValueRef low_mask_not(struct low *l, LLVMValueRef a)
{
    return LLVMBuildNot(l->b, a, "");
}

LLVMValueRef low_any(struct low *l, LLVMValueRef *mask)
{
    LLVMValueRef or = mask[0];
    for (unsigned g = 1; g < l->groups; g++)
        or = LLVMBuildOr(l->b, or, mask[g], "");
    LLVMTypeRef it = LLVMIntTypeInContext(l->ctx, l->width);
    LLVMValueRef bits = LLVMBuildBitCast(l->b, or, it, "");
    return LLVMBuildICmp(l->b, LLVMIntNE, bits, LLVMConstInt(it, 0, 0), "");
}

LLVMValueRef low_mask_bits(struct low *l, LLVMValueRef *mask)
{
    LLVMTypeRef it = LLVMIntTypeInContext(l->ctx, l->width);
    LLVMValueRef all = l->general ? low_general_bits(l, mask) : NULL;
    if (all)
        return all;
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef b = LLVMBuildBitCast(l->b, mask[g], it, "");
        if (l->width < 32)
            b = LLVMBuildZExt(l->b, b, l->t.i32, "");
        if (g)
            b = LLVMBuildShl(l->b, b, LLVMConstInt(l->t.i32, g * l->width, 0), "");
        all = all ? LLVMBuildOr(l->b, all, b, "") : b;
    }
    return all;
}

/* Halves of a vector of 32 lanes: shifts of the number, whose parts are then taken as masks, are
 * what LLVM 19 turns back and forth without end where several such masks are or-ed. */
static void masks_from_vector(struct low *l, LLVMValueRef bits, LLVMValueRef *mask)
{
    LLVMTypeRef lanes = LLVMVectorType(LLVMInt1TypeInContext(l->ctx), LOW_LANES);
    LLVMValueRef all = LLVMBuildBitCast(l->b, bits, lanes, ""), idx[LOW_LANES];

    for (unsigned g = 0; g < l->groups; g++) {
        for (unsigned k = 0; k < l->width; k++)
            idx[k] = LLVMConstInt(l->t.i32, g * l->width + k, 0);
        mask[g] = LLVMBuildShuffleVector(l->b, all, LLVMGetPoison(lanes),
                                         LLVMConstVector(idx, l->width), "");
    }
}

void low_mask_from_bits(struct low *l, LLVMValueRef bits, LLVMValueRef *mask)
{
    LLVMTypeRef it = LLVMIntTypeInContext(l->ctx, l->width);

    if (l->avx512 && l->groups > 1) {
        masks_from_vector(l, bits, mask);
        return;
    }
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef b = bits;
        if (g)
            b = LLVMBuildLShr(l->b, b, LLVMConstInt(l->t.i32, g * l->width, 0), "");
        if (l->width < 32)
            b = LLVMBuildTrunc(l->b, b, it, "");
        mask[g] = LLVMBuildBitCast(l->b, b, l->t.mask, "");
    }
}

LLVMValueRef low_slot(struct low *l, const struct low_reg *r, uint32_t g)
{
    return l->general && r->state_offset >= 0 ? low_general_slot(l, r, g) : r->slot[g];
}

static bool has_slot(const struct low_reg *r)
{
    return r->slot[0] || r->state_offset >= 0;
}

void low_scope_state(struct low *l, LLVMValueRef inst)
{
    if (l->request->tier == WEIR_JIT_QUICK)
        return; /* no pass asks */
    LLVMSetMetadata(inst, l->md_scope, l->md_state);
    LLVMSetMetadata(inst, l->md_noalias, l->md_not_state);
}

LLVMValueRef low_slot_load(struct low *l, LLVMTypeRef t, LLVMValueRef slot)
{
    LLVMValueRef v = LLVMBuildLoad2(l->b, t, slot, "");
    if (l->general)
        low_scope_state(l, v);
    return v;
}

void low_slot_store(struct low *l, LLVMValueRef v, LLVMValueRef slot)
{
    LLVMValueRef s = LLVMBuildStore(l->b, v, slot);
    if (l->general)
        low_scope_state(l, s);
}

/* ---- registers ---- */

static LLVMTypeRef reg_type(const struct low *l, const struct low_reg *r)
{
    if (r->bits == 1)
        return l->t.i1;
    return low_type(l, r->type);
}

void low_registers_make(struct low *l)
{
    for (size_t k = 0; k < l->regs.count; k++) {
        struct low_reg *r = &l->regs.items[k];
        if (r->is_virtual || (r->def_count == 0 && r->use_count == 0) || low_general_in_state(l, k))
            continue;
        if (r->bits > 64)
            low_refuse(l, NULL, "128-bit registers");
        LLVMTypeRef t = reg_type(l, r);
        if (r->guarded) {
            r->ok_slot = low_alloca(l, l->t.i1, "ok");
            r->slow_slot = low_alloca(l, LLVMArrayType2(low_vec_type(l, t), l->groups), "slow");
        } else if (r->fact.shape == LOW_VARYING) {
            t = low_vec_type(l, t);
        }
        unsigned n = r->fact.shape == LOW_UNIFORM ? 1 : l->groups;
        for (unsigned g = 0; g < n; g++)
            r->slot[g] = low_alloca(l, t, "r");
    }
}

/* base, base + stride, base + 2 * stride ...: of the bits, whatever type the register has. */
static LLVMValueRef affine_vector(struct low *l, LLVMValueRef base, int64_t stride)
{
    LLVMTypeRef t = LLVMTypeOf(base), bits = low_int(l, low_bits_of(base));
    LLVMValueRef v = LLVMBuildAdd(l->b, low_splat(l, low_bitcast(l, base, bits)),
                                  low_lanes(l, bits, stride), "");
    return low_bitcast(l, v, t);
}

static LLVMValueRef slow_vector(struct low *l, struct low_reg *r, uint32_t g)
{
    LLVMTypeRef t = reg_type(l, r), vt = low_vec_type(l, t);
    LLVMValueRef index[2] = {LLVMConstInt(l->t.i32, 0, 0), LLVMConstInt(l->t.i32, g, 0)};
    LLVMValueRef p = LLVMBuildGEP2(l->b, LLVMArrayType2(vt, l->groups), r->slow_slot, index, 2, "");
    LLVMValueRef slow = LLVMBuildLoad2(l->b, vt, p, "");
    LLVMSetVolatile(slow, 1);
    LLVMValueRef base = low_slot_load(l, t, low_slot(l, r, g));
    LLVMValueRef fast = affine_vector(l, base, r->fact.stride);
    LLVMValueRef ok = low_slot_load(l, l->t.i1, r->ok_slot);
    return LLVMBuildSelect(l->b, ok, fast, slow, "");
}

/* General mode: what the block has written is at hand; lanes that are not active, whose values the
 * place in the state keeps, do not matter here. */
static bool is_kept(const struct low *l, const struct low_reg *r)
{
    return r->kept_stamp && r->kept_stamp == l->block_stamp;
}

struct low_val low_read_reg(struct low *l, int32_t reg)
{
    struct low_reg *r = &l->regs.items[reg];
    struct low_val v = {.shape = r->fact.shape, .stride = r->fact.stride};
    LLVMTypeRef t = reg_type(l, r);
    if (v.shape == LOW_UNIFORM) {
        v.v[0] = has_slot(r) ? low_slot_load(l, t, low_slot(l, r, 0)) : LLVMConstNull(t);
        return v;
    }
    if (is_kept(l, r)) {
        memcpy(v.v, r->kept, sizeof v.v);
        return v;
    }
    for (unsigned g = 0; g < l->groups; g++) {
        if (r->is_virtual)
            v.v[g] = low_pure_value(l, &l->insts.items[r->def_inst], true, g, 0);
        else if (r->guarded)
            v.v[g] = slow_vector(l, r, g);
        else
            v.v[g] = low_slot_load(l, v.shape == LOW_VARYING ? low_vec_type(l, t) : t,
                                   low_slot(l, r, g));
        if (r->is_virtual)
            v.v[g] = low_bitcast(l, v.v[g], t);
    }
    return v;
}

LLVMValueRef low_vector(struct low *l, const struct low_val *v, uint32_t g)
{
    if (v->shape == LOW_VARYING)
        return v->v[g];
    if (v->shape == LOW_UNIFORM || v->stride == 0)
        return low_splat(l, v->v[v->shape == LOW_UNIFORM ? 0 : g]);
    return affine_vector(l, v->v[g], v->stride);
}

/* Gives a value the element type of `type`, whatever the register was declared as. */
static void cast_value(struct low *l, struct low_val *v, enum weir_ptx_type type)
{
    LLVMTypeRef to = type == WEIR_PTX_PRED ? l->t.i1 : low_type(l, type);
    LLVMTypeRef have = low_scalar_type(LLVMTypeOf(v->v[0]));
    if (have == to)
        return;
    bool to_float = LLVMGetTypeKind(to) != LLVMIntegerTypeKind;
    if (v->shape == LOW_AFFINE && v->stride != 0 && to_float) {
        struct low_val w = {.shape = LOW_VARYING};
        for (unsigned g = 0; g < l->groups; g++)
            w.v[g] = low_vector(l, v, g);
        *v = w;
    }
    unsigned n = v->shape == LOW_UNIFORM ? 1 : l->groups;
    for (unsigned g = 0; g < n; g++) {
        LLVMValueRef x = v->v[g];
        unsigned bits = low_bits_of(x), want = type == WEIR_PTX_PRED ? 1 : weir_ptx_type_bits(type);
        if (LLVMGetTypeKind(low_scalar_type(LLVMTypeOf(x))) != LLVMIntegerTypeKind)
            x = low_bitcast(l, x, low_int(l, bits));
        x = low_resize(l, x, want, false);
        v->v[g] = low_bitcast(l, x, to);
    }
}

static LLVMValueRef immediate(struct low *l, const struct weir_ptx_operand *o,
                              enum weir_ptx_type type)
{
    LLVMTypeRef t = type == WEIR_PTX_PRED ? l->t.i1 : low_type(l, type);
    bool is_float = LLVMGetTypeKind(t) != LLVMIntegerTypeKind;
    unsigned bits = weir_ptx_type_bits(type);
    if (o->kind == WEIR_PTX_OPERAND_INT)
        return is_float ? LLVMConstReal(t, (double)o->imm)
                        : LLVMConstInt(t, (unsigned long long)o->imm, 1);
    double d;
    float f;
    uint32_t fb = (uint32_t)o->imm;
    memcpy(&f, &fb, 4);
    memcpy(&d, &o->imm, 8);
    if (o->kind == WEIR_PTX_OPERAND_F32) {
        if (t == l->t.f64)
            return LLVMConstReal(t, (double)f);
        return low_fbits(l, t, (uint64_t)fb);
    }
    if (t == l->t.f32 || bits == 32) { /* a decimal literal */
        f = (float)d;
        memcpy(&fb, &f, 4);
        return low_fbits(l, t, fb);
    }
    return low_fbits(l, t, (uint64_t)o->imm);
}

static LLVMValueRef var_address(struct low *l, const struct low_inst *i,
                                const struct weir_ptx_operand *o)
{
    const struct weir_ptx_var *v = o->var;
    LLVMValueRef imm = LLVMConstInt(l->t.i64, (unsigned long long)o->imm, 1);
    switch (v->space) {
    case WEIR_PTX_SHARED:
        return LLVMConstInt(l->t.i64, low_shared_offset(l, v) + (uint64_t)o->imm, 0);
    case WEIR_PTX_LOCAL:
        return LLVMConstInt(l->t.i64, low_local_offset(l, i->frame, v) + (uint64_t)o->imm, 0);
    case WEIR_PTX_PARAM: {
        if (!low_is_kernel_param(l, i->frame, v))
            low_refuse(l, i->p, "address of a call's parameter");
        LLVMValueRef p = LLVMBuildPtrToInt(l->b, l->params, l->t.i64, "");
        return LLVMBuildAdd(l->b, p, LLVMConstInt(l->t.i64, v->offset + (uint64_t)o->imm, 0), "");
    }
    case WEIR_PTX_GLOBAL:
    case WEIR_PTX_CONST: {
        LLVMValueRef at = LLVMConstInt(l->t.i64, v->index, 0);
        LLVMValueRef p = LLVMBuildGEP2(l->b, l->t.i64, l->module_data, &at, 1, "");
        LLVMValueRef a = LLVMBuildLoad2(l->b, l->t.i64, p, v->name);
        LLVMSetMetadata(a, l->md_invariant, l->md_empty);
        return LLVMBuildAdd(l->b, a, imm, "");
    }
    default:
        low_refuse(l, i->p, "address of a variable of this state space");
    }
}

struct low_val low_read(struct low *l, const struct low_inst *i, const struct weir_ptx_operand *o,
                        enum weir_ptx_type type)
{
    struct low_val v = {.shape = LOW_UNIFORM};
    switch (o->kind) {
    case WEIR_PTX_OPERAND_REG:
        v = low_read_reg(l, low_reg_of(l, i, o->reg));
        low_nan_read(l, i, low_reg_of(l, i, o->reg), &v);
        if (o->negated) {
            unsigned n = v.shape == LOW_UNIFORM ? 1 : l->groups;
            for (unsigned g = 0; g < n; g++)
                v.v[g] = LLVMBuildNot(l->b, v.v[g], "");
        }
        break;
    case WEIR_PTX_OPERAND_INT:
    case WEIR_PTX_OPERAND_F32:
    case WEIR_PTX_OPERAND_F64:
        v.v[0] = immediate(l, o, type);
        return v;
    case WEIR_PTX_OPERAND_SREG:
        v = low_sreg(l, o->sreg, o->element, type);
        break;
    case WEIR_PTX_OPERAND_VAR:
        v.v[0] = var_address(l, i, o);
        break;
    case WEIR_PTX_OPERAND_FUNCTION:
        v.v[0] = LLVMConstInt(l->t.i64, WEIR_JIT_FUNCTION_ADDRESS(o->function->index), 0);
        break;
    default:
        low_refuse(l, i->p, "operand");
    }
    cast_value(l, &v, type);
    return v;
}

struct low_val low_read_pred(struct low *l, int32_t reg, bool negated)
{
    struct low_val v = low_read_reg(l, reg);
    unsigned n = v.shape == LOW_UNIFORM ? 1 : l->groups;
    for (unsigned g = 0; g < n && negated; g++)
        v.v[g] = LLVMBuildNot(l->b, v.v[g], "");
    return v;
}

/* ---- writing ---- */

static LLVMValueRef fit(struct low *l, LLVMValueRef x, LLVMTypeRef t)
{
    if (low_scalar_type(LLVMTypeOf(x)) == t)
        return x;
    unsigned bits = low_bits_of(x), want = type_bits(t);
    if (LLVMGetTypeKind(low_scalar_type(LLVMTypeOf(x))) != LLVMIntegerTypeKind)
        x = low_bitcast(l, x, low_int(l, bits));
    x = low_resize(l, x, want, false);
    return low_bitcast(l, x, t);
}

void low_write(struct low *l, int32_t reg, const struct low_val *value)
{
    struct low_reg *r = &l->regs.items[reg];
    if (!has_slot(r))
        return; /* never read */
    struct low_val canonical = *value, *v = &canonical;
    low_nan_write(l, reg, v);
    LLVMTypeRef t = reg_type(l, r);
    int32_t guard = low_guard_of(l, l->inst);
    struct low_val p = {0};
    if (guard >= 0)
        p = low_read_pred(l, guard, l->inst->p->guard_negated);
    const struct low_block *b = &l->blocks.items[l->block];
    bool invariant = r->fact.invariant && r->def_count == 1;
    bool by_mask = p.shape == LOW_VARYING ||
                   (b->partial && low_bit(b->wait_live, (uint32_t)reg) && !invariant);
    bool keep = l->general && r->state_offset >= 0 && r->fact.shape == LOW_VARYING && guard < 0;
    unsigned n = r->fact.shape == LOW_UNIFORM ? 1 : l->groups;
    for (unsigned g = 0; g < n; g++) {
        LLVMValueRef x, now, old = NULL;
        if (r->fact.shape == LOW_VARYING) {
            struct low_val w = *v;
            if (w.shape == LOW_AFFINE && LLVMGetTypeKind(t) != LLVMIntegerTypeKind)
                x = fit(l, low_vector(l, v, g), t);
            else {
                w.v[w.shape == LOW_UNIFORM ? 0 : g] =
                    fit(l, v->v[v->shape == LOW_UNIFORM ? 0 : g], t);
                x = low_vector(l, &w, g);
            }
        } else {
            x = fit(l, v->v[v->shape == LOW_UNIFORM ? 0 : g], t);
        }
        now = x;
        if (by_mask || guard >= 0)
            old = low_slot_load(l, LLVMTypeOf(x), low_slot(l, r, g));
        if (by_mask)
            x = LLVMBuildSelect(l->b, l->mask[g], x, old, "");
        else if (guard >= 0)
            x = LLVMBuildSelect(l->b, p.v[0], x, old, "");
        low_slot_store(l, x, low_slot(l, r, g));
        r->kept[g] = now;
    }
    r->kept_stamp = keep ? l->block_stamp : 0;
}

/* ---- probably affine registers ---- */

LLVMValueRef low_and_ok(struct low *l, LLVMValueRef a, LLVMValueRef b)
{
    return !a ? b : !b ? a : LLVMBuildAnd(l->b, a, b, "");
}

LLVMValueRef low_spec_base(struct low *l, int32_t reg, uint32_t g)
{
    struct low_reg *r = &l->regs.items[reg];
    LLVMTypeRef t = reg_type(l, r);
    if (r->fact.shape != LOW_VARYING)
        return low_slot_load(l, t, low_slot(l, r, r->fact.shape == LOW_UNIFORM ? 0 : g));
    if (r->guarded)
        return low_slot_load(l, t, low_slot(l, r, g));
    if (r->is_virtual)
        return low_bitcast(l, low_pure_value(l, &l->insts.items[r->def_inst], false, g, 0), t);
    LLVMValueRef v = low_slot_load(l, low_vec_type(l, t), low_slot(l, r, g));
    return LLVMBuildExtractElement(l->b, v, LLVMConstInt(l->t.i32, 0, 0), "");
}

static LLVMValueRef all_set(struct low *l, LLVMValueRef m)
{
    LLVMTypeRef it = LLVMIntTypeInContext(l->ctx, l->width);
    return LLVMBuildICmp(l->b, LLVMIntEQ, LLVMBuildBitCast(l->b, m, it, ""), LLVMConstAllOnes(it),
                         "");
}

void low_lanes_ok(struct low *l, int32_t reg, const LLVMValueRef *first, LLVMValueRef *ok)
{
    struct low_reg *r = &l->regs.items[reg];
    LLVMTypeRef t = reg_type(l, r);
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef v = low_slot_load(l, low_vec_type(l, t), low_slot(l, r, g));
        LLVMValueRef base =
            first ? first[g] : LLVMBuildExtractElement(l->b, v, LLVMConstInt(l->t.i32, 0, 0), "");
        LLVMValueRef want = affine_vector(l, base, r->fact.stride);
        LLVMTypeRef bits = low_int(l, low_bits_of(base));
        LLVMValueRef same =
            LLVMBuildICmp(l->b, LLVMIntEQ, low_bitcast(l, v, bits), low_bitcast(l, want, bits), "");
        if (!l->mask_full)
            same = LLVMBuildOr(l->b, same, low_mask_not(l, l->mask[g]), "");
        *ok = low_and_ok(l, *ok, all_set(l, same));
    }
}

/* No group of the operand wraps around when it is extended. */
static void wrap_ok(struct low *l, const struct low_inst *i, const struct weir_ptx_operand *o,
                    enum weir_ptx_type type, LLVMValueRef *ok)
{
    if (o->kind != WEIR_PTX_OPERAND_REG)
        return;
    int32_t reg = low_reg_of(l, i, o->reg);
    const struct low_reg *r = &l->regs.items[reg];
    unsigned bits = weir_ptx_type_bits(type);
    if (r->fact.shape == LOW_UNIFORM || r->fact.stride == 0 ||
        (r->fact.shape == LOW_AFFINE && r->fact.has_range))
        return;
    int64_t span = r->fact.stride * (int64_t)(l->width - 1);
    bool sign = weir_ptx_type_is_signed(type);
    const char *name = sign        ? "llvm.sadd.with.overflow"
                       : span >= 0 ? "llvm.uadd.with.overflow"
                                   : "llvm.usub.with.overflow";
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef base = low_resize(l, low_spec_base(l, reg, g), bits, false);
        LLVMValueRef c = LLVMConstInt(low_int(l, bits),
                                      (unsigned long long)(sign || span >= 0 ? span : -span), 1);
        LLVMValueRef over = LLVMBuildExtractValue(l->b, low_binary(l, name, base, c), 1, "");
        *ok = low_and_ok(l, *ok, LLVMBuildNot(l->b, over, ""));
    }
}

void low_step_ok(struct low *l, const struct low_inst *i, LLVMValueRef *ok)
{
    const struct weir_ptx_inst *p = i->p;
    for (unsigned k = p->dest_count; k < p->operand_count; k++) {
        const struct weir_ptx_operand *o = &p->operands[k];
        if (o->kind == WEIR_PTX_OPERAND_REG)
            low_spec_ok(l, low_reg_of(l, i, o->reg), ok);
        if (p->opcode == WEIR_PTX_OP_cvt &&
            weir_ptx_type_bits(p->type[0]) > weir_ptx_type_bits(p->type[1]))
            wrap_ok(l, i, o, p->type[1], ok);
        if ((p->opcode == WEIR_PTX_OP_mul || p->opcode == WEIR_PTX_OP_mad) &&
            p->sub == WEIR_PTX_WIDE && k < p->dest_count + 2u)
            wrap_ok(l, i, o, p->type[0], ok);
    }
}

void low_spec_ok(struct low *l, int32_t reg, LLVMValueRef *ok)
{
    struct low_reg *r = &l->regs.items[reg];
    if (r->fact.shape != LOW_VARYING)
        return;
    if (r->guarded)
        *ok = low_and_ok(l, *ok, low_slot_load(l, l->t.i1, r->ok_slot));
    else if (r->is_virtual)
        low_step_ok(l, &l->insts.items[r->def_inst], ok);
    else
        low_lanes_ok(l, reg, NULL, ok);
}
