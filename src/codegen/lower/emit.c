/* One instruction: which file makes it, and how pure ones (a value from values) become scalars,
 * lane-0 scalars or vectors as the destination's shape asks.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "codegen/forms_bulk.h"
#include "codegen/lower/lower.h"
#include "device/race.h"

#define DEST_CARRY 15

/* The type in which operand k (from 0, sources only) is read. */
static enum weir_ptx_type wide_type(enum weir_ptx_type t)
{
    switch (t) {
    case WEIR_PTX_U16:
        return WEIR_PTX_U32;
    case WEIR_PTX_S16:
        return WEIR_PTX_S32;
    case WEIR_PTX_S32:
        return WEIR_PTX_S64;
    default:
        return WEIR_PTX_U64;
    }
}

static enum weir_ptx_type source_type(const struct weir_ptx_inst *p, unsigned k)
{
    enum weir_ptx_type t = p->type[0];
    switch (p->opcode) { /* dispatch */
    case WEIR_PTX_OP_cvt:
        return p->type[1];
    case WEIR_PTX_OP_setp:
        return k == 2 ? WEIR_PTX_PRED : t;
    case WEIR_PTX_OP_set:
        return k == 2 ? WEIR_PTX_PRED : p->type[1];
    case WEIR_PTX_OP_selp:
        return k == 2 ? WEIR_PTX_PRED : t;
    case WEIR_PTX_OP_slct:
        return k == 2 ? (enum weir_ptx_type)p->type[1] : t;
    case WEIR_PTX_OP_shl:
    case WEIR_PTX_OP_shr:
        return k == 1 ? WEIR_PTX_U32 : t;
    case WEIR_PTX_OP_shf:
        return k == 2 ? WEIR_PTX_U32 : t;
    case WEIR_PTX_OP_bfe:
        return k >= 1 ? WEIR_PTX_U32 : t;
    case WEIR_PTX_OP_bfi:
        return k >= 2 ? WEIR_PTX_U32 : t;
    case WEIR_PTX_OP_mad:
        return k == 2 && p->sub == WEIR_PTX_WIDE ? wide_type(t) : t;
    case WEIR_PTX_OP_cvta:
        return t == WEIR_PTX_NONE ? WEIR_PTX_U64 : t;
    case WEIR_PTX_OP_mapa:
        return k == 1 ? WEIR_PTX_U32 : t;
    case WEIR_PTX_OP_isspacep:
        return WEIR_PTX_U64;
    case WEIR_PTX_OP_prmt:
    case WEIR_PTX_OP_lop3:
    case WEIR_PTX_OP_dp4a:
    case WEIR_PTX_OP_dp2a:
    case WEIR_PTX_OP_bmsk:
    case WEIR_PTX_OP_fns:
        return WEIR_PTX_U32;
    case WEIR_PTX_OP_szext:
        return k == 1 ? WEIR_PTX_U32 : t;
    default:
        return weir_cg_form_video_parts(p->opcode) ? WEIR_PTX_U32 : t;
    }
}

static LLVMValueRef lane0(struct low *l, const struct low_inst *i, const struct weir_ptx_operand *o,
                          enum weir_ptx_type type, uint32_t g)
{
    if (o->kind == WEIR_PTX_OPERAND_REG) {
        int32_t reg = low_reg_of(l, i, o->reg);
        if (l->regs.items[reg].fact.shape == LOW_VARYING) {
            LLVMValueRef v = low_spec_base(l, reg, g);
            if (o->negated)
                v = LLVMBuildNot(l->b, v, "");
            return low_resize(l, low_bitcast(l, v, low_int(l, low_bits_of(v))),
                              weir_ptx_type_bits(type), false);
        }
    }
    struct low_val v = low_read(l, i, o, type);
    return v.v[v.shape == LOW_UNIFORM ? 0 : g];
}

static LLVMValueRef evaluate(struct low *l, struct low_args *x)
{
    LLVMValueRef v = NULL;
    if (x->dest == DEST_CARRY)
        return low_carry_out(l, x);
    if ((v = low_cluster_value(l, x)) || (v = low_compare(l, x)) || (v = low_cvt(l, x)) ||
        (v = low_float(l, x)) || (v = low_math(l, x)) || (v = low_video(l, x)) ||
        (v = low_arith(l, x)))
        return v;
    low_refuse(l, x->p, "not supported");
}

static LLVMValueRef pack(struct low *l, const struct low_inst *i, bool vector, uint32_t g)
{
    const struct weir_ptx_inst *p = i->p;
    const struct weir_ptx_operand *o = &p->operands[1];
    unsigned bits = weir_ptx_type_bits(p->type[0]), part = bits / o->count;
    enum weir_ptx_type pt = part == 8    ? WEIR_PTX_B8
                            : part == 16 ? WEIR_PTX_B16
                            : part == 32 ? WEIR_PTX_B32
                                         : WEIR_PTX_B64;
    LLVMValueRef all = NULL;
    if (bits > 64)
        low_refuse(l, p, "128-bit move");
    for (unsigned k = 0; k < o->count; k++) {
        struct low_val v = low_read(l, i, &o->elements[k], pt);
        LLVMValueRef e = vector ? low_vector(l, &v, g) : v.v[v.shape == LOW_UNIFORM ? 0 : g];
        e = low_resize(l, e, bits, false);
        if (k)
            e = LLVMBuildShl(l->b, e, low_const(l, LLVMTypeOf(e), (int64_t)k * part), "");
        all = all ? LLVMBuildOr(l->b, all, e, "") : e;
    }
    return all;
}

static LLVMValueRef unpack(struct low *l, const struct low_inst *i, LLVMValueRef a, uint32_t dest)
{
    unsigned bits = weir_ptx_type_bits(i->p->type[0]), part = bits / i->p->operands[0].count;
    if (bits > 64)
        low_refuse(l, i->p, "128-bit move");
    a = low_bitcast(l, a, low_int(l, bits));
    if (dest)
        a = LLVMBuildLShr(l->b, a, low_const(l, LLVMTypeOf(a), (int64_t)dest * part), "");
    return low_resize(l, a, part, false);
}

LLVMValueRef low_pure_value(struct low *l, const struct low_inst *i, bool vector, uint32_t g,
                            uint32_t dest)
{
    const struct weir_ptx_inst *p = i->p;
    struct low_args x = {.li = i, .p = p, .dest = dest, .vector = vector, .g = g};
    if (p->opcode == WEIR_PTX_OP_mov && p->operands[1].kind == WEIR_PTX_OPERAND_VECTOR)
        return pack(l, i, vector, g);
    for (unsigned k = p->dest_count; k < p->operand_count && x.count < 6; k++) {
        const struct weir_ptx_operand *o = &p->operands[k];
        enum weir_ptx_type t = source_type(p, k - p->dest_count);
        if (vector) {
            struct low_val v = low_read(l, i, o, t);
            x.a[x.count++] = low_vector(l, &v, g);
        } else {
            x.a[x.count++] = lane0(l, i, o, t, g);
        }
    }
    if (p->opcode == WEIR_PTX_OP_addc || p->opcode == WEIR_PTX_OP_subc ||
        p->opcode == WEIR_PTX_OP_madc) {
        struct low_val c = low_read_reg(l, l->frames.items[i->frame].cc_reg);
        x.carry = vector ? low_vector(l, &c, g) : c.v[0];
    }
    if (p->opcode == WEIR_PTX_OP_mov && p->operands[0].kind == WEIR_PTX_OPERAND_VECTOR)
        return unpack(l, i, x.a[0], dest);
    LLVMValueRef v = low_outline_pure(l, &x, evaluate);
    return v ? v : evaluate(l, &x);
}

/* ---- destinations ---- */

static bool sources_uniform(struct low *l, const struct low_inst *i)
{
    const struct weir_ptx_inst *p = i->p;
    for (unsigned k = p->dest_count; k < p->operand_count; k++) {
        const struct weir_ptx_operand *o = &p->operands[k];
        unsigned n = o->kind == WEIR_PTX_OPERAND_VECTOR ? o->count : 1;
        for (unsigned e = 0; e < n; e++) {
            const struct weir_ptx_operand *oe =
                o->kind == WEIR_PTX_OPERAND_VECTOR ? &o->elements[e] : o;
            if (low_operand_fact(l, i, oe, p->type[0]).shape != LOW_UNIFORM)
                return false;
        }
    }
    if (p->opcode == WEIR_PTX_OP_addc || p->opcode == WEIR_PTX_OP_subc ||
        p->opcode == WEIR_PTX_OP_madc)
        return l->regs.items[l->frames.items[i->frame].cc_reg].fact.shape == LOW_UNIFORM;
    return true;
}

/* A register kept as lane-0 value plus a flag that it is affine: when it is not, the vector goes to
 * memory. */
static void write_guarded(struct low *l, const struct low_inst *i, struct low_reg *r)
{
    LLVMValueRef base[LOW_MAX_GROUPS], ok = NULL;
    LLVMTypeRef t = low_type(l, r->type);
    for (unsigned g = 0; g < l->groups; g++)
        base[g] = low_resize(l, low_pure_value(l, i, false, g, 0), r->bits, false);
    low_step_ok(l, i, &ok);
    if (ok) {
        LLVMBasicBlockRef slow = low_bb(l, "slow"), next = low_bb(l, "next");
        low_cond_unlikely(l, ok, next, slow);
        LLVMPositionBuilderAtEnd(l->b, slow);
        LLVMValueRef vec[LOW_MAX_GROUPS];
        for (unsigned g = 0; g < l->groups; g++)
            vec[g] = low_resize(l, low_pure_value(l, i, true, g, 0), r->bits, false);
        for (unsigned g = 0; g < l->groups; g++) {
            LLVMValueRef at[2] = {LLVMConstInt(l->t.i32, 0, 0), LLVMConstInt(l->t.i32, g, 0)};
            LLVMValueRef q = LLVMBuildGEP2(l->b, LLVMArrayType2(low_vec_type(l, t), l->groups),
                                           r->slow_slot, at, 2, "");
            LLVMSetVolatile(LLVMBuildStore(l->b, vec[g], q), 1);
        }
        LLVMBuildBr(l->b, next);
        LLVMPositionBuilderAtEnd(l->b, next);
    }
    for (unsigned g = 0; g < l->groups; g++)
        LLVMBuildStore(l->b, base[g], r->slot[g]);
    LLVMBuildStore(l->b, ok ? ok : LLVMConstInt(l->t.i1, 1, 0), r->ok_slot);
}

static void value_for(struct low *l, const struct low_inst *i, int32_t reg, uint32_t dest,
                      struct low_val *v)
{
    const struct low_reg *r = &l->regs.items[reg];
    memset(v, 0, sizeof *v);
    v->shape = r->fact.shape;
    v->stride = r->fact.stride;
    if (v->shape == LOW_UNIFORM || (v->shape == LOW_VARYING && sources_uniform(l, i))) {
        v->shape = LOW_UNIFORM;
        v->v[0] = low_pure_value(l, i, false, 0, dest);
        return;
    }
    for (unsigned g = 0; g < l->groups; g++)
        v->v[g] = low_pure_value(l, i, v->shape == LOW_VARYING, g, dest);
}

struct pending {
    int32_t reg[LOW_MAX_DESTS + 2];
    uint32_t dest[LOW_MAX_DESTS + 2];
    unsigned count;
};

static void add_dest(struct low *l, struct pending *q, int32_t reg, uint32_t dest)
{
    const struct low_reg *r = &l->regs.items[reg];
    if (r->is_virtual || r->use_count == 0 || q->count >= LOW_MAX_DESTS + 2)
        return;
    q->reg[q->count] = reg;
    q->dest[q->count++] = dest;
}

static void emit_pure(struct low *l, const struct low_inst *i)
{
    const struct weir_ptx_inst *p = i->p;
    struct pending q = {.count = 0};
    const struct weir_ptx_operand *o = &p->operands[0];
    if (o->kind == WEIR_PTX_OPERAND_VECTOR) {
        for (unsigned k = 0; k < o->count; k++)
            if (o->elements[k].kind == WEIR_PTX_OPERAND_REG)
                add_dest(l, &q, low_reg_of(l, i, o->elements[k].reg), k);
    } else if (o->kind == WEIR_PTX_OPERAND_REG) {
        add_dest(l, &q, low_reg_of(l, i, o->reg), 0);
    }
    if (p->dest_count && o->pred_reg >= 0)
        add_dest(l, &q, low_reg_of(l, i, o->pred_reg), 1);
    if (p->cc)
        add_dest(l, &q, l->frames.items[i->frame].cc_reg, DEST_CARRY);
    struct low_val v[LOW_MAX_DESTS + 2];
    for (unsigned k = 0; k < q.count; k++) {
        struct low_reg *r = &l->regs.items[q.reg[k]];
        if (r->guarded)
            write_guarded(l, i, r);
        else
            value_for(l, i, q.reg[k], q.dest[k], &v[k]);
    }
    for (unsigned k = 0; k < q.count; k++)
        if (!l->regs.items[q.reg[k]].guarded)
            low_write(l, q.reg[k], &v[k]);
}

static void emit_move(struct low *l, const struct low_inst *i)
{
    struct low_val v;
    if (i->src) {
        struct low_inst at = *i;
        at.frame = i->src_frame;
        v = low_read(l, &at, i->src, i->type);
    } else {
        v = low_read_reg(l, i->src_reg);
        low_nan_read(l, i, i->src_reg, &v);
    }
    low_write(l, i->dst, &v);
}

/* A guarded instruction with side effects: the active lanes are those where the guard holds; when
 * none may be left, it is jumped over. */
static void emit_effect(struct low *l, const struct low_inst *i,
                        void (*emit)(struct low *, const struct low_inst *))
{
    int32_t guard = low_guard_of(l, i);
    if (guard < 0) {
        emit(l, i);
        return;
    }
    LLVMValueRef saved[LOW_MAX_GROUPS];
    bool was_full = l->mask_full;
    memcpy(saved, l->mask, sizeof saved);
    struct low_val p = low_read_pred(l, guard, i->p->guard_negated);
    LLVMBasicBlockRef body = low_bb(l, "guarded"), next = low_bb(l, "unguarded");
    if (p.shape == LOW_UNIFORM) {
        LLVMBuildCondBr(l->b, p.v[0], body, next);
    } else {
        for (unsigned g = 0; g < l->groups; g++)
            l->mask[g] = low_mask_and(l, l->mask[g], p.v[g]);
        l->mask_full = false;
        LLVMBuildCondBr(l->b, low_any(l, l->mask), body, next);
    }
    LLVMPositionBuilderAtEnd(l->b, body);
    emit(l, i);
    LLVMBuildBr(l->b, next);
    LLVMPositionBuilderAtEnd(l->b, next);
    memcpy(l->mask, saved, sizeof saved);
    l->mask_full = was_full;
}

static void emit_pure_guarded(struct low *l, const struct low_inst *i)
{
    int32_t guard = low_guard_of(l, i);
    if (guard < 0 || l->regs.items[guard].fact.shape == LOW_UNIFORM) {
        emit_pure(l, i);
        return;
    }
    LLVMValueRef saved[LOW_MAX_GROUPS];
    bool was_full = l->mask_full;
    memcpy(saved, l->mask, sizeof saved);
    struct low_val p = low_read_pred(l, guard, i->p->guard_negated);
    for (unsigned g = 0; g < l->groups; g++)
        l->mask[g] = low_mask_and(l, l->mask[g], p.v[g]);
    l->mask_full = false;
    emit_pure(l, i);
    memcpy(l->mask, saved, sizeof saved);
    l->mask_full = was_full;
}

static void nothing(struct low *l, const struct low_inst *i)
{
    (void)l;
    (void)i;
}

/* A cache policy: nobody looks at it. */
static void no_policy(struct low *l, const struct low_inst *i)
{
    struct low_val v = {.shape = LOW_UNIFORM};
    v.v[0] = LLVMConstInt(l->t.i64, 0, 0);
    if (i->p->operands[0].kind == WEIR_PTX_OPERAND_REG)
        low_write(l, low_reg_of(l, i, i->p->operands[0].reg), &v);
}

static void emit_one(struct low *l, const struct low_inst *i);

void low_emit_inst(struct low *l, const struct low_inst *i)
{
    bool meets = i->kind == LOW_PTX && low_general_is_sync(i->p);

    l->inst = i;
    low_debug_at(l, i);
    if (meets) /* what lanes did before is ordered before what they do together, and so on */
        low_order(l, WEIR_RACE_WARP, NULL);
    emit_one(l, i);
    if (meets)
        low_order(l, WEIR_RACE_WARP, NULL);
}

static void emit_one(struct low *l, const struct low_inst *i)
{
    if (i->kind == LOW_MOVE) {
        emit_move(l, i);
        return;
    }
    if (weir_cg_is_bulk(i->p)) {
        emit_effect(l, i, low_emit_bulk);
        return;
    }
    switch (i->p->opcode) { /* dispatch */
    case WEIR_PTX_OP_ld:
    case WEIR_PTX_OP_ldu:
        emit_effect(l, i, low_emit_load);
        break;
    case WEIR_PTX_OP_st:
        emit_effect(l, i, low_emit_store);
        break;
    case WEIR_PTX_OP_cp:
        emit_effect(l, i, weir_cg_form_mbarrier(i->p) ? low_emit_mbarrier : low_emit_copy);
        break;
    case WEIR_PTX_OP_mbarrier:
        emit_effect(l, i, low_emit_mbarrier);
        break;
    case WEIR_PTX_OP_atom:
    case WEIR_PTX_OP_red:
        emit_effect(l, i, low_emit_atomic);
        break;
    case WEIR_PTX_OP_membar:
    case WEIR_PTX_OP_fence:
        emit_effect(l, i, low_emit_fence);
        break;
    case WEIR_PTX_OP_shfl:
    case WEIR_PTX_OP_vote:
    case WEIR_PTX_OP_match:
    case WEIR_PTX_OP_redux:
    case WEIR_PTX_OP_activemask:
    case WEIR_PTX_OP_elect:
    case WEIR_PTX_OP_bar:
    case WEIR_PTX_OP_barrier:
    case WEIR_PTX_OP_nanosleep:
        emit_effect(l, i, low_emit_warp);
        break;
    case WEIR_PTX_OP_mma:
    case WEIR_PTX_OP_wmma:
    case WEIR_PTX_OP_ldmatrix:
    case WEIR_PTX_OP_stmatrix:
    case WEIR_PTX_OP_movmatrix:
        emit_effect(l, i, low_emit_matrix);
        break;
    case WEIR_PTX_OP_tex:
    case WEIR_PTX_OP_tld4:
    case WEIR_PTX_OP_txq:
    case WEIR_PTX_OP_suld:
    case WEIR_PTX_OP_sust:
    case WEIR_PTX_OP_sured:
    case WEIR_PTX_OP_suq:
    case WEIR_PTX_OP_istypep:
        emit_effect(l, i, low_emit_texture);
        break;
    case WEIR_PTX_OP_call:
        emit_effect(l, i, low_emit_call);
        break;
    case WEIR_PTX_OP_griddepcontrol:
        emit_effect(l, i, low_emit_dependents);
        break;
    case WEIR_PTX_OP_createpolicy:
        no_policy(l, i);
        break;
    case WEIR_PTX_OP_prefetch:
    case WEIR_PTX_OP_prefetchu:
    case WEIR_PTX_OP_applypriority:
    case WEIR_PTX_OP_discard:
    case WEIR_PTX_OP_pmevent:
    case WEIR_PTX_OP_setmaxnreg:
        nothing(l, i);
        break;
    default:
        emit_pure_guarded(l, i);
        break;
    }
}
