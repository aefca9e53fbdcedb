/* What each register is: one scalar for the warp, affine in the lane, or a vector. Found before any
 * code is made, by iterating over all instructions until nothing changes: shapes decide which
 * branches split the lanes, that decides which writes must keep other lanes' values, and that again
 * decides shapes.
 *
 * Integer registers that are a linear function of the lane, except that some step may wrap around
 * in the middle of a group (an extension to 64 bits) or only holds away from borders (min, max,
 * selp), are VARYING with `spec`: memory accesses test at run time whether they are affine now, and
 * take a slow path when not.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/bits.h"
#include "codegen/lower/lower.h"

#define MAX_STRIDE   (1 << 20)
#define WINDOW_ALIGN 4 /* log2: what the begins of shared and local memory are multiples of */

static const struct low_fact varying = {.shape = LOW_VARYING};
static const struct low_fact uniform = {.shape = LOW_UNIFORM};

static int64_t wrap(int64_t v, unsigned bits)
{
    if (bits == 0 || bits >= 64) /* 0: an operand without a type */
        return v;
    uint64_t u = (uint64_t)v << (64 - bits);
    return (int64_t)u >> (64 - bits);
}

static uint8_t align_of(int64_t v)
{
    return v == 0 ? 31 : (uint8_t)__builtin_ctzll((uint64_t)v);
}

static struct low_fact constant(int64_t v, unsigned bits)
{
    struct low_fact f = {.shape = LOW_UNIFORM, .is_const = true, .invariant = true};
    f.value = wrap(v, bits);
    f.align = WEIR_MIN(align_of(f.value), 31);
    f.has_range = f.value >= 0 && f.value < INT32_MAX;
    f.lo = f.hi = f.value;
    return f;
}

struct low_fact low_operand_fact(const struct low *l, const struct low_inst *i,
                                 const struct weir_ptx_operand *o, enum weir_ptx_type type)
{
    switch (o->kind) {
    case WEIR_PTX_OPERAND_REG:
        return l->regs.items[low_reg_of(l, i, o->reg)].fact;
    case WEIR_PTX_OPERAND_INT:
        return weir_ptx_type_is_float(type)
                   ? (struct low_fact){.shape = LOW_UNIFORM, .invariant = true}
                   : constant(o->imm, weir_ptx_type_bits(type));
    case WEIR_PTX_OPERAND_SREG:
        return low_sreg_fact(l, o->sreg, o->element);
    case WEIR_PTX_OPERAND_VAR:
        if (o->var->space == WEIR_PTX_SHARED)
            return constant((int64_t)low_shared_offset(l, o->var) + o->imm, 64);
        if (o->var->space == WEIR_PTX_LOCAL)
            return constant((int64_t)low_local_offset(l, i->frame, o->var) + o->imm, 64);
        return (struct low_fact){.shape = LOW_UNIFORM, .invariant = true, .align = 0};
    default:
        return (struct low_fact){.shape = LOW_UNIFORM, .invariant = true};
    }
}

uint8_t low_each_align(const struct low_fact *f)
{
    switch (f->shape) {
    case LOW_UNIFORM:
        return f->align;
    case LOW_AFFINE:
        return WEIR_MIN(f->align, align_of(f->stride));
    default:
        return f->each;
    }
}

static uint8_t each_of_both(const struct low_fact *a, const struct low_fact *b)
{
    return WEIR_MIN(low_each_align(a), low_each_align(b));
}

/* ---- rules for linear instructions ---- */

static bool linear(const struct low_fact *f)
{
    return f->shape == LOW_UNIFORM || f->shape == LOW_AFFINE || f->spec;
}

static int64_t stride_of(const struct low_fact *f)
{
    return f->shape == LOW_UNIFORM ? 0 : f->stride;
}

/* Result of a linear step with the given stride from operands a and b. */
static struct low_fact step(const struct low_fact *a, const struct low_fact *b, int64_t stride,
                            unsigned bits)
{
    struct low_fact f = {0};
    f.invariant = a->invariant && (!b || b->invariant);
    if (!linear(a) || (b && !linear(b))) {
        f.shape = LOW_VARYING;
        return f;
    }
    if (a->shape == LOW_UNIFORM && (!b || b->shape == LOW_UNIFORM)) {
        f.shape = LOW_UNIFORM;
        return f;
    }
    f.stride = wrap(stride, bits);
    bool exact = a->shape != LOW_VARYING && (!b || b->shape != LOW_VARYING);
    f.shape = exact ? LOW_AFFINE : LOW_VARYING;
    if (!exact) {
        f.spec = f.stride < MAX_STRIDE && f.stride > -MAX_STRIDE;
        if (!f.spec)
            f.stride = 0;
    } else if (f.stride >= MAX_STRIDE || f.stride <= -MAX_STRIDE) {
        f = varying;
        f.invariant = a->invariant && (!b || b->invariant);
    }
    return f;
}

static void set_range(struct low_fact *f, bool known, int64_t lo, int64_t hi)
{
    f->has_range = known && lo >= 0 && hi < INT32_MAX && lo <= hi;
    f->lo = lo;
    f->hi = hi;
}

static struct low_fact sum(const struct low_fact *a, const struct low_fact *b, int sign,
                           unsigned bits)
{
    if (a->is_const && b->is_const)
        return constant(a->value + sign * b->value, bits);
    struct low_fact f = step(a, b, stride_of(a) + sign * stride_of(b), bits);
    f.align = WEIR_MIN(a->align, b->align);
    f.each = each_of_both(a, b);
    if (sign > 0)
        set_range(&f, a->has_range && b->has_range, a->lo + b->lo, a->hi + b->hi);
    else
        set_range(&f, a->has_range && b->has_range, a->lo - b->hi, a->hi - b->lo);
    if (sign > 0 && a->has_range && b->is_const && b->value < 0 && bits >= 32)
        set_range(&f, true, a->lo + b->value, a->hi + b->value);
    return f;
}

static struct low_fact product(const struct low_fact *a, const struct low_fact *b, unsigned bits)
{
    if (a->is_const && b->is_const)
        return constant((int64_t)((uint64_t)a->value * (uint64_t)b->value), bits);
    const struct low_fact *c = b->is_const ? b : a->is_const ? a : NULL;
    const struct low_fact *x = c == b ? a : b;
    struct low_fact f;
    if (a->shape == LOW_UNIFORM && b->shape == LOW_UNIFORM) {
        f = uniform;
        f.invariant = a->invariant && b->invariant;
    } else if (c) {
        f = step(x, NULL, (int64_t)((uint64_t)stride_of(x) * (uint64_t)c->value), bits);
    } else if (a->shape != LOW_VARYING && b->shape != LOW_VARYING && stride_of(a) == 0 &&
               stride_of(b) == 0) {
        f = step(a, b, 0, bits);
    } else {
        f = varying;
        f.invariant = a->invariant && b->invariant;
    }
    f.align = WEIR_MIN(a->align + b->align, 31);
    f.each = WEIR_MIN(low_each_align(a) + low_each_align(b), 31);
    if (a->has_range && b->has_range && a->hi <= INT32_MAX && b->hi <= INT32_MAX)
        set_range(&f, true, a->lo * b->lo, a->hi * b->hi);
    return f;
}

/* Extension from `bits` to wider: linear when no group wraps around. */
static struct low_fact extend(const struct low *l, const struct low_fact *a, bool sign,
                              unsigned bits)
{
    if (a->is_const) {
        uint64_t mask = weir_bits_low(bits);
        return constant(sign ? a->value : (int64_t)((uint64_t)a->value & mask), 64);
    }
    struct low_fact f = *a;
    int64_t span = stride_of(a) * (int64_t)(l->width - 1);
    bool exact =
        a->has_range || span == 0 || (span > 0 && a->align < 31 && span < ((int64_t)1 << a->align));
    if (a->shape == LOW_AFFINE && !exact) {
        f.shape = LOW_VARYING;
        f.spec = bits >= 32;
        if (!f.spec)
            f.stride = 0;
    }
    f.root = false;
    f.each = low_each_align(a);
    if (bits < 32 && !a->has_range)
        set_range(&f, !sign, 0, (int64_t)weir_bits_low(bits));
    return f;
}

static struct low_fact and_fact(const struct low *l, const struct low_fact *a,
                                const struct low_fact *b)
{
    const struct low_fact *c = b->is_const ? b : a->is_const ? a : NULL;
    const struct low_fact *x = c == b ? a : b;
    struct low_fact f = varying;
    f.invariant = a->invariant && b->invariant;
    f.each = WEIR_MAX(low_each_align(a), low_each_align(b));
    if (a->is_const && b->is_const)
        return constant(a->value & b->value, 64);
    if (a->shape == LOW_UNIFORM && b->shape == LOW_UNIFORM) {
        f.shape = LOW_UNIFORM;
    } else if (c && x->shape == LOW_AFFINE && x->stride >= 0) {
        /* base has `align` zero bits, the lanes' part stays below them: the low bits pass, or all
         * are cut */
        int64_t span = x->stride * (int64_t)(l->width - 1), low = (int64_t)1 << x->align;
        if (x->align < 31 && span < low && (c->value & (low - 1)) == low - 1) {
            f.shape = LOW_AFFINE;
            f.stride = x->stride;
            f.align = x->align;
        } else if (x->align < 31 && span < low && (c->value & (low - 1)) == 0) {
            f.shape = LOW_AFFINE;
        } else if (x->stride == 0) {
            f.shape = LOW_AFFINE;
        }
    }
    if (c && c->value >= 0)
        set_range(&f, true, 0, x->has_range ? WEIR_MIN(x->hi, c->value) : c->value);
    else if (a->has_range && b->has_range)
        set_range(&f, true, 0, WEIR_MIN(a->hi, b->hi));
    return f;
}

static struct low_fact shift_left(const struct low_fact *a, const struct low_fact *b, unsigned bits)
{
    if (!b->is_const || b->value < 0 || b->value >= (int64_t)bits) {
        struct low_fact f = a->shape == LOW_UNIFORM && b->shape == LOW_UNIFORM ? uniform : varying;
        if (stride_of(a) == 0 && stride_of(b) == 0 && a->shape != LOW_VARYING &&
            b->shape != LOW_VARYING)
            f.shape = WEIR_MAX(a->shape, b->shape);
        f.invariant = a->invariant && b->invariant;
        f.each = low_each_align(a);
        return f;
    }
    struct low_fact c = constant((int64_t)((uint64_t)1 << b->value), 64);
    return product(a, &c, bits);
}

static struct low_fact shift_right(const struct low *l, const struct low_fact *a,
                                   const struct low_fact *b, bool sign, unsigned bits)
{
    struct low_fact f = varying;
    f.invariant = a->invariant && b->invariant;
    bool known = b->is_const && b->value >= 0 && b->value < (int64_t)bits;
    if (a->is_const && known && (sign || a->value >= 0))
        return constant(a->value >> b->value, bits);
    if (a->shape == LOW_UNIFORM && b->shape == LOW_UNIFORM) {
        f.shape = LOW_UNIFORM;
    } else if (known && a->shape == LOW_AFFINE && a->stride >= 0) {
        int64_t span = a->stride * (int64_t)(l->width - 1),
                part = (int64_t)1 << WEIR_MIN(a->align, b->value);
        if (a->align < 31 && span < part)
            f.shape = LOW_AFFINE;
    } else if (stride_of(a) == 0 && stride_of(b) == 0 && a->shape != LOW_VARYING &&
               b->shape != LOW_VARYING) {
        f.shape = LOW_AFFINE;
    }
    if (known && a->align > b->value && a->align < 31)
        f.align = (uint8_t)(a->align - b->value);
    if (known && low_each_align(a) > b->value)
        f.each = (uint8_t)(low_each_align(a) - b->value);
    if (known && a->has_range)
        set_range(&f, true, a->lo >> b->value, a->hi >> b->value);
    else if (known && !sign && bits == 32 && b->value > 1)
        set_range(&f, true, 0, (int64_t)(UINT32_MAX >> b->value));
    return f;
}

/* min, max, selp: affine away from borders. */
static struct low_fact choice(const struct low_fact *a, const struct low_fact *b, bool same_for_all,
                              bool same_in_group)
{
    struct low_fact f = varying;
    f.invariant = a->invariant && b->invariant;
    f.each = each_of_both(a, b);
    if (a->shape == LOW_UNIFORM && b->shape == LOW_UNIFORM && same_for_all) {
        f.shape = LOW_UNIFORM;
    } else if (same_in_group && a->shape != LOW_VARYING && b->shape != LOW_VARYING &&
               stride_of(a) == 0 && stride_of(b) == 0) {
        f.shape = LOW_AFFINE;
    } else if (linear(a) && linear(b)) {
        int64_t s = stride_of(a) ? stride_of(a) : stride_of(b);
        if (s != 0 && (stride_of(a) == 0 || stride_of(b) == 0 || stride_of(a) == stride_of(b))) {
            f.spec = f.root = true;
            f.stride = s;
        }
    }
    if (a->has_range && b->has_range)
        set_range(&f, true, WEIR_MIN(a->lo, b->lo), WEIR_MAX(a->hi, b->hi));
    return f;
}

/* ---- one instruction ---- */

struct facts {
    struct low *l;
    const struct low_inst *i;
    struct low_fact a[6];
    unsigned count;
    bool undefined, all_uniform, all_flat, any_flat_pred, invariant;
};

static void read_facts(struct facts *x)
{
    const struct weir_ptx_inst *p = x->i->p;
    x->all_uniform = x->all_flat = x->invariant = true;
    for (unsigned k = p->dest_count; k < p->operand_count && x->count < 6; k++) {
        const struct weir_ptx_operand *o = &p->operands[k];
        enum weir_ptx_type type = p->type[0];
        unsigned n = o->kind == WEIR_PTX_OPERAND_VECTOR ? o->count : 1;
        struct low_fact f = {0};
        for (unsigned e = 0; e < n; e++) {
            const struct weir_ptx_operand *oe =
                o->kind == WEIR_PTX_OPERAND_VECTOR ? &o->elements[e] : o;
            f = low_operand_fact(x->l, x->i, oe, type);
            x->undefined |= f.shape == LOW_UNDEF;
            x->all_uniform &= f.shape == LOW_UNIFORM;
            x->all_flat &= f.flat || (f.shape != LOW_VARYING && stride_of(&f) == 0);
            x->any_flat_pred |= f.flat;
            x->invariant &= f.invariant;
        }
        x->a[x->count++] = f;
    }
}

static struct low_fact cvt_fact(const struct low *l, const struct weir_ptx_inst *p,
                                const struct low_fact *a)
{
    enum weir_ptx_type to = p->type[0], from = p->type[1];
    struct low_fact f = a->shape == LOW_UNIFORM ? uniform : varying;
    f.invariant = a->invariant;
    if (weir_ptx_type_is_float(to) || weir_ptx_type_is_float(from) || p->sat)
        return f;
    unsigned tb = weir_ptx_type_bits(to), fb = weir_ptx_type_bits(from);
    if (tb > fb)
        return extend(l, a, weir_ptx_type_is_signed(from), fb);
    if (tb == fb)
        return *a;
    if (a->is_const)
        return constant(a->value, tb);
    if (tb >= 32) {
        f = step(a, NULL, stride_of(a), tb);
        f.align = a->align;
        f.each = low_each_align(a);
    }
    if (tb < 32 && a->has_range && a->hi < ((int64_t)1 << (tb - 1)))
        set_range(&f, true, a->lo, a->hi);
    return f;
}

static struct low_fact shift_dispatch(const struct low *l, const struct weir_ptx_inst *p,
                                      const struct low_fact *a)
{
    unsigned bits = weir_ptx_type_bits(p->type[0]);
    if (p->opcode == WEIR_PTX_OP_shl)
        return shift_left(&a[0], &a[1], bits);
    return shift_right(l, &a[0], &a[1], weir_ptx_type_is_signed(p->type[0]), bits);
}

/* Integer instructions with rules of their own; false: none. */
static bool linear_fact(struct facts *x, struct low_fact *f)
{
    const struct weir_ptx_inst *p = x->i->p;
    enum weir_ptx_type t = p->type[0];
    unsigned bits = weir_ptx_type_bits(t);
    if (p->cc || p->sat)
        return false;
    switch (p->opcode) { /* dispatch */
    case WEIR_PTX_OP_mov:
    case WEIR_PTX_OP_cvta:
        if (p->space == WEIR_PTX_SHARED_CLUSTER)
            return false;
        if (x->count != 1 || p->operands[p->dest_count].kind == WEIR_PTX_OPERAND_VECTOR ||
            p->operands[0].kind == WEIR_PTX_OPERAND_VECTOR)
            return false;
        *f = x->a[0];
        if (p->opcode == WEIR_PTX_OP_cvta && p->space == WEIR_PTX_LOCAL &&
            p->sub != WEIR_PTX_SUB_TO) {
            struct low_fact tid = {
                .shape = LOW_AFFINE, .invariant = true, .stride = (int64_t)x->l->local_bytes};
            *f = sum(&x->a[0], &tid, 1, 64);
        } else if (p->opcode == WEIR_PTX_OP_cvta && p->space == WEIR_PTX_LOCAL) {
            struct low_fact tid = {
                .shape = LOW_AFFINE, .invariant = true, .stride = (int64_t)x->l->local_bytes};
            *f = sum(&x->a[0], &tid, -1, 64);
        } else if (p->opcode == WEIR_PTX_OP_cvta) {
            f->is_const = f->has_range = false;
            f->each = WEIR_MIN(low_each_align(f), WINDOW_ALIGN);
            f->align = 0;
        }
        return true;
    case WEIR_PTX_OP_cvt:
        if (p->operand_count != 2 || p->sub == WEIR_PTX_SUB_OTHER)
            return false;
        *f = cvt_fact(x->l, p, &x->a[0]);
        return true;
    default:
        break;
    }
    if (weir_ptx_type_is_float(t) || bits < 16 || bits > 64 || t == WEIR_PTX_U16X2 ||
        t == WEIR_PTX_S16X2)
        return false;
    bool sign = weir_ptx_type_is_signed(t);
    struct low_fact m, e0, e1;
    switch (p->opcode) { /* dispatch */
    case WEIR_PTX_OP_add:
        *f = sum(&x->a[0], &x->a[1], 1, bits);
        return true;
    case WEIR_PTX_OP_sub:
        *f = sum(&x->a[0], &x->a[1], -1, bits);
        return true;
    case WEIR_PTX_OP_mul:
    case WEIR_PTX_OP_mad:
        if (p->sub == WEIR_PTX_HI_)
            return false;
        if (p->sub == WEIR_PTX_WIDE) {
            e0 = extend(x->l, &x->a[0], sign, bits);
            e1 = extend(x->l, &x->a[1], sign, bits);
            bits *= 2;
            m = product(&e0, &e1, bits);
        } else {
            m = product(&x->a[0], &x->a[1], bits);
        }
        *f = p->opcode == WEIR_PTX_OP_mul ? m : sum(&m, &x->a[2], 1, bits);
        return true;
    case WEIR_PTX_OP_shl:
    case WEIR_PTX_OP_shr:
        *f = shift_dispatch(x->l, p, x->a);
        return true;
    case WEIR_PTX_OP_and:
        *f = and_fact(x->l, &x->a[0], &x->a[1]);
        return true;
    case WEIR_PTX_OP_min:
    case WEIR_PTX_OP_max:
        *f = choice(&x->a[0], &x->a[1], true, true);
        if (f->shape == LOW_VARYING && !x->a[0].spec && !x->a[1].spec &&
            x->a[0].shape == LOW_VARYING)
            *f = (struct low_fact){.shape = LOW_VARYING, .each = f->each};
        return true;
    case WEIR_PTX_OP_selp:
        *f = choice(&x->a[0], &x->a[1], x->a[2].shape == LOW_UNIFORM,
                    x->a[2].shape == LOW_UNIFORM || x->a[2].flat);
        f->invariant &= x->a[2].invariant;
        return true;
    default:
        return false;
    }
}

struct low_fact low_address_fact(const struct low *l, const struct low_inst *i,
                                 const struct weir_ptx_operand *o)
{
    if (o->reg < 0)
        return (struct low_fact){.shape = LOW_UNIFORM, .invariant = true};
    return l->regs.items[low_reg_of(l, i, o->reg)].fact;
}

static const struct weir_ptx_operand *address_operand(const struct weir_ptx_inst *p)
{
    for (unsigned k = 0; k < p->operand_count; k++)
        if (p->operands[k].kind == WEIR_PTX_OPERAND_ADDRESS)
            return &p->operands[k];
    return NULL;
}

static struct low_fact load_fact(struct facts *x)
{
    const struct weir_ptx_inst *p = x->i->p;
    const struct weir_ptx_operand *o = address_operand(p);
    struct low_fact f = varying;
    if (!o)
        return f;
    struct low_fact a = low_address_fact(x->l, x->i, o);
    bool local = p->space == WEIR_PTX_LOCAL || (o->var && o->var->space == WEIR_PTX_LOCAL);
    if (a.shape == LOW_UNDEF)
        f.shape = LOW_UNDEF;
    else if (a.shape == LOW_UNIFORM && !local)
        f.shape = LOW_UNIFORM;
    f.invariant = p->space == WEIR_PTX_PARAM && a.invariant && a.shape == LOW_UNIFORM;
    unsigned bits = weir_ptx_type_bits(p->type[0]);
    if (bits < 32 && !weir_ptx_type_is_signed(p->type[0]) && !weir_ptx_type_is_float(p->type[0]))
        set_range(&f, true, 0, (int64_t)weir_bits_low(bits));
    return f;
}

/* Lanes of one warp may name different members: each group has a result of its own. */
static bool members_differ(struct facts *x)
{
    const struct weir_ptx_operand *o = low_member_mask(x->i->p);
    return o && low_operand_fact(x->l, x->i, o, WEIR_PTX_U32).shape > LOW_UNIFORM;
}

/* Predicates made of values that are one a group. */
static bool gives_flat(const struct weir_ptx_inst *p)
{
    if (p->opcode == WEIR_PTX_OP_setp)
        return true;
    return p->type[0] == WEIR_PTX_PRED &&
           (p->opcode == WEIR_PTX_OP_and || p->opcode == WEIR_PTX_OP_or ||
            p->opcode == WEIR_PTX_OP_xor || p->opcode == WEIR_PTX_OP_not);
}

static struct low_fact inst_fact(struct facts *x)
{
    const struct weir_ptx_inst *p = x->i->p;
    struct low_fact f = varying;
    switch (p->opcode) { /* dispatch */
    case WEIR_PTX_OP_ld:
    case WEIR_PTX_OP_ldu:
        return load_fact(x);
    case WEIR_PTX_OP_atom:
    case WEIR_PTX_OP_shfl:
    case WEIR_PTX_OP_match:
    case WEIR_PTX_OP_call:
    case WEIR_PTX_OP_elect:
    case WEIR_PTX_OP_mbarrier:
    case WEIR_PTX_OP_mma:
    case WEIR_PTX_OP_wmma:
    case WEIR_PTX_OP_ldmatrix:
    case WEIR_PTX_OP_stmatrix:
    case WEIR_PTX_OP_movmatrix:
    case WEIR_PTX_OP_tex:
    case WEIR_PTX_OP_tld4:
    case WEIR_PTX_OP_txq:
    case WEIR_PTX_OP_suld:
    case WEIR_PTX_OP_suq:
    case WEIR_PTX_OP_istypep:
        return varying;
    case WEIR_PTX_OP_vote:
    case WEIR_PTX_OP_redux:
        return members_differ(x) ? varying : uniform;
    case WEIR_PTX_OP_activemask:
    case WEIR_PTX_OP_createpolicy:
    case WEIR_PTX_OP_bar:
    case WEIR_PTX_OP_barrier:
        return uniform;
    default:
        break;
    }
    if (x->undefined) {
        f.shape = LOW_UNDEF;
        return f;
    }
    if (linear_fact(x, &f))
        return f;
    f = varying;
    if (x->all_uniform)
        f.shape = LOW_UNIFORM;
    else if (x->all_flat && !x->any_flat_pred && p->opcode != WEIR_PTX_OP_setp && !p->cc &&
             p->type[0] != WEIR_PTX_PRED && p->operands[0].kind == WEIR_PTX_OPERAND_REG &&
             p->operands[0].pred_reg == -1)
        f.shape = LOW_AFFINE;
    if (p->opcode == WEIR_PTX_OP_or || p->opcode == WEIR_PTX_OP_xor) {
        f.align = WEIR_MIN(x->a[0].align, x->a[1].align);
        f.each = each_of_both(&x->a[0], &x->a[1]);
    }
    f.flat = f.shape == LOW_VARYING && x->all_flat && gives_flat(p);
    f.invariant = x->invariant;
    if (p->opcode == WEIR_PTX_OP_mov && p->operands[p->dest_count].kind == WEIR_PTX_OPERAND_SREG)
        f.invariant = x->a[0].invariant;
    if (p->opcode == WEIR_PTX_OP_addc || p->opcode == WEIR_PTX_OP_subc ||
        p->opcode == WEIR_PTX_OP_madc) {
        uint8_t cc = x->l->regs.items[x->l->frames.items[x->i->frame].cc_reg].fact.shape;
        if (cc != LOW_UNIFORM && cc != LOW_UNDEF)
            f.shape = LOW_VARYING;
        f.invariant = false;
    }
    if (p->cc)
        f.invariant = false;
    return f;
}

static struct low_fact join(const struct low_fact *a, const struct low_fact *b)
{
    if (a->shape == LOW_UNDEF)
        return *b;
    if (b->shape == LOW_UNDEF)
        return *a;
    struct low_fact f = {0};
    f.align = WEIR_MIN(a->align, b->align);
    f.each = each_of_both(a, b);
    bool same = linear(a) && linear(b) && stride_of(a) == stride_of(b);
    if (a->shape == LOW_UNIFORM && b->shape == LOW_UNIFORM) {
        f.shape = LOW_UNIFORM;
    } else if (a->shape != LOW_VARYING && b->shape != LOW_VARYING && same) {
        f.shape = LOW_AFFINE;
        f.stride = a->shape == LOW_AFFINE ? a->stride : b->stride;
    } else {
        f.shape = LOW_VARYING;
        f.spec = same;
        f.root = a->root || b->root;
        f.stride = same ? stride_of(a) : 0;
    }
    return f;
}

struct fixpoint {
    struct low *l;
    struct low_block *b;
    struct low_fact fact;
    struct low_fact *fresh; /* joined facts of this round, by register */
    bool guarded, guard_varying;
    const struct low_inst *i;
};

/* cc and second destinations: predicates and the like. */
static struct low_fact dest_fact(const struct fixpoint *x, const struct low_reg *r)
{
    struct low_fact f = x->fact;
    if (r->bits == 1 || (x->i->kind == LOW_PTX && x->i->p->dest_count > 0 &&
                         x->i->p->operands[0].kind == WEIR_PTX_OPERAND_VECTOR)) {
        if (f.shape == LOW_AFFINE)
            f.shape = LOW_VARYING;
        f.spec = f.root = f.has_range = f.is_const = false;
        f.stride = 0;
        f.align = f.each = 0;
        if (r->bits > 1 && x->fact.has_range) {
            f.has_range = true;
        }
    }
    return f;
}

static void merge_def(void *ctx, int32_t reg, enum low_visit what)
{
    struct fixpoint *x = ctx;
    if (what != LOW_DEF)
        return;
    struct low_reg *r = &x->l->regs.items[reg];
    struct low_fact f = dest_fact(x, r);
    if (f.shape == LOW_UNDEF)
        return;
    bool invariant = x->l->general && r->def_count == 1 && f.invariant && !x->guarded;
    bool blend = x->guard_varying ||
                 (x->b->partial && !invariant && low_bit(x->b->wait_live, (uint32_t)reg));
    if (blend) {
        r->blended = true;
        bool keep = linear(&f) && f.shape != LOW_UNIFORM;
        f.each = low_each_align(&f);
        f.spec = f.root = keep;
        f.stride = keep ? f.stride : 0;
        f.shape = LOW_VARYING;
        f.is_const = f.has_range = f.invariant = false;
        f.align = 0;
    }
    if (r->bits > 1 || r->def_count > 1 || x->guarded || blend)
        f.flat = false;
    if (r->def_count > 1 || x->guarded) {
        f.is_const = f.has_range = f.invariant = false;
        if (r->bits == 1 && f.shape == LOW_AFFINE)
            f.shape = LOW_VARYING;
    }
    x->fresh[reg] = join(&x->fresh[reg], &f);
    if (x->fresh[reg].shape == LOW_VARYING && r->bits == 1)
        x->fresh[reg].spec = false;
    if (r->def_count == 1 && !x->guarded)
        x->fresh[reg] = f;
}

static struct low_fact move_fact(struct low *l, const struct low_inst *i)
{
    if (!i->src)
        return l->regs.items[i->src_reg].fact;
    struct low_inst at = *i;
    at.frame = i->src_frame;
    return low_operand_fact(l, &at, i->src, i->type);
}

/* Loads and stores of call parameters: the pieces' facts, one for all. */
static bool piece_fact(struct low *l, const struct low_inst *i, struct low_fact *f)
{
    const struct weir_ptx_inst *p = i->p;
    if (p->space != WEIR_PTX_PARAM || (p->opcode != WEIR_PTX_OP_ld && p->opcode != WEIR_PTX_OP_st))
        return false;
    const struct weir_ptx_operand *o = address_operand(p);
    if (!o || !o->var || low_is_kernel_param(l, i->frame, o->var))
        return false;
    if (p->vec) {
        *f = varying;
    } else if (p->opcode == WEIR_PTX_OP_ld) {
        uint32_t bytes = weir_ptx_type_bits(p->type[0]) / 8;
        *f = l->regs.items[low_param_piece(l, i->frame, o->var, (uint64_t)o->imm, bytes)].fact;
    } else {
        *f = low_operand_fact(l, i, &p->operands[p->operand_count - 1], p->type[0]);
    }
    return true;
}

static void one_round(struct low *l, struct low_fact *fresh)
{
    memset(fresh, 0, l->regs.count * sizeof *fresh);
    for (size_t k = 0; k < l->blocks.count; k++) {
        struct low_block *b = &l->blocks.items[k];
        for (uint32_t n = b->first; n < b->end; n++) {
            const struct low_inst *i = &l->insts.items[n];
            struct fixpoint x = {.l = l, .b = b, .fresh = fresh, .i = i};
            int32_t guard = low_guard_of(l, i);
            x.guarded = guard >= 0;
            x.guard_varying = guard >= 0 && l->regs.items[guard].fact.shape == LOW_VARYING;
            if (i->kind == LOW_JUMP || i->kind == LOW_SKIP)
                continue;
            if (i->kind == LOW_MOVE) {
                x.fact = move_fact(l, i);
            } else if (!piece_fact(l, i, &x.fact)) {
                struct facts fx = {.l = l, .i = i};
                read_facts(&fx);
                x.fact = inst_fact(&fx);
            }
            low_inst_visit(l, i, merge_def, &x);
        }
    }
}

static bool same_fact(const struct low_fact *a, const struct low_fact *b)
{
    return a->shape == b->shape && a->align == b->align && a->each == b->each &&
           a->is_const == b->is_const && a->has_range == b->has_range &&
           a->invariant == b->invariant && a->spec == b->spec && a->flat == b->flat &&
           a->root == b->root && a->stride == b->stride && a->value == b->value && a->lo == b->lo &&
           a->hi == b->hi;
}

/* Values only ever get worse: joined with what was known before. */
static bool update(struct low *l, const struct low_fact *fresh)
{
    bool changed = false;
    for (size_t r = 0; r < l->regs.count; r++) {
        struct low_fact *old = &l->regs.items[r].fact;
        struct low_fact now = fresh[r];
        if (now.shape == LOW_UNDEF)
            continue;
        if (old->shape != LOW_UNDEF)
            now.each = each_of_both(&now, old);
        if (old->shape == LOW_VARYING && now.shape != LOW_VARYING) {
            now.shape = LOW_VARYING;
            now.spec = old->spec && (stride_of(&now) == old->stride);
            now.stride = now.spec ? old->stride : 0;
        }
        if (old->shape == LOW_AFFINE && now.shape == LOW_UNIFORM) {
            now.shape = LOW_AFFINE;
            now.stride = old->stride;
        }
        if (old->shape != LOW_UNDEF) {
            now.align = WEIR_MIN(now.align, old->align);
            now.invariant &= old->invariant;
            now.flat &= old->shape == LOW_UNIFORM || old->flat;
            now.flat &= now.shape == LOW_VARYING;
            now.is_const &= old->is_const && old->value == now.value;
            now.root |= old->root && now.spec;
            if (old->shape == LOW_VARYING && !old->spec) {
                now.spec = now.root = false;
                now.stride = 0;
            }
            if (now.shape == LOW_VARYING && old->shape == LOW_VARYING && old->spec && now.spec &&
                old->stride != now.stride) {
                now.spec = now.root = false;
                now.stride = 0;
            }
            if (!old->has_range || (now.has_range && (now.lo < old->lo || now.hi > old->hi)))
                now.has_range = false;
        }
        if (!now.has_range)
            now.lo = now.hi = 0;
        if (!now.is_const)
            now.value = 0;
        if (now.shape == LOW_UNIFORM)
            now.stride = 0;
        if (!same_fact(&now, old)) {
            *old = now;
            changed = true;
        }
    }
    return changed;
}

static bool update_branches(struct low *l)
{
    bool changed = false;
    for (size_t k = 0; k < l->blocks.count; k++) {
        struct low_block *b = &l->blocks.items[k];
        bool div = b->divergent;
        if ((b->term == LOW_TERM_COND || b->term == LOW_TERM_COND_EXIT) && b->pred >= 0)
            div = l->regs.items[b->pred].fact.shape == LOW_VARYING;
        if (b->term == LOW_TERM_BRX) {
            const struct low_inst *i = &l->insts.items[b->end - 1];
            for (unsigned o = 0; o < i->p->operand_count; o++)
                if (i->p->operands[o].kind == WEIR_PTX_OPERAND_REG)
                    div = low_operand_fact(l, i, &i->p->operands[o], WEIR_PTX_U32).shape >
                          LOW_UNIFORM;
        }
        if (div && !b->divergent) {
            b->divergent = true;
            changed = true;
        }
    }
    return changed;
}

/* ---- addresses: which registers need not exist as vectors ---- */

static bool is_step(const struct low *l, uint32_t inst)
{
    const struct low_inst *i = &l->insts.items[inst];
    if (i->kind != LOW_PTX || low_guard_of(l, i) >= 0 || i->p->cc || i->p->sat ||
        i->p->space == WEIR_PTX_SHARED_CLUSTER)
        return false;
    switch (i->p->opcode) {
    case WEIR_PTX_OP_mov:
    case WEIR_PTX_OP_cvta:
    case WEIR_PTX_OP_cvt:
    case WEIR_PTX_OP_add:
    case WEIR_PTX_OP_sub:
    case WEIR_PTX_OP_mul:
    case WEIR_PTX_OP_mad:
    case WEIR_PTX_OP_shl:
        return i->p->operands[0].kind == WEIR_PTX_OPERAND_REG;
    default:
        return false;
    }
}

struct uses {
    struct low *l;
    const struct low_inst *i;
    uint32_t at;
    int32_t dest;
    bool into_address; /* the instruction is a step to a register that is used as an address only */
    bool changed;
};

static void note_use(void *ctx, int32_t reg, enum low_visit what)
{
    struct uses *u = ctx;
    struct low_reg *r = &u->l->regs.items[reg];
    if (what == LOW_USE && !u->into_address && r->addr_only) {
        r->addr_only = false;
        u->changed = true;
    }
}

static void address_only(struct low *l)
{
    for (size_t r = 0; r < l->regs.count; r++) {
        struct low_reg *reg = &l->regs.items[r];
        reg->addr_only = reg->fact.shape == LOW_VARYING && reg->fact.spec && reg->bits >= 32 &&
                         reg->def_count > 0 && !low_general_in_state(l, r);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t k = 0; k < l->blocks.count; k++)
            for (uint32_t n = l->blocks.items[k].first; n < l->blocks.items[k].end; n++) {
                struct uses u = {.l = l, .i = &l->insts.items[n], .at = n};
                if (is_step(l, n)) {
                    u.dest = low_reg_of(l, u.i, u.i->p->operands[0].reg);
                    u.into_address = l->regs.items[u.dest].addr_only;
                }
                low_inst_visit(l, u.i, note_use, &u);
                changed |= u.changed;
            }
    }
}

/* A register can be computed again at its uses when none of what it is made of changes in between.
 */
struct stable {
    struct low *l;
    int32_t of;
    bool ok;
};

static void check_single(void *ctx, int32_t reg, enum low_visit what)
{
    struct stable *s = ctx;
    if (what == LOW_DEF)
        return;
    const struct low_reg *r = &s->l->regs.items[reg];
    if (r->def_count > 1 || low_bit(s->l->blocks.items[0].live_in, (uint32_t)reg))
        s->ok = false;
}

/* All definitions of a register are unguarded linear steps. */
static bool all_steps(const struct low *l, const uint8_t *bad, size_t r)
{
    return !bad[r] && !l->regs.items[r].fact.root && !l->regs.items[r].blended &&
           l->regs.items[r].fact.shape == LOW_VARYING;
}

struct bad_defs {
    struct low *l;
    uint8_t *bad;
    bool step;
};

static void note_bad(void *ctx, int32_t reg, enum low_visit what)
{
    struct bad_defs *b = ctx;
    if (what == LOW_DEF && !b->step)
        b->bad[reg] = 1;
}

static void choose_virtual(struct low *l)
{
    uint8_t *bad = low_alloc(l, l->regs.count + 1);
    for (size_t k = 0; k < l->blocks.count; k++)
        for (uint32_t n = l->blocks.items[k].first; n < l->blocks.items[k].end; n++) {
            struct bad_defs b = {l, bad, is_step(l, n)};
            low_inst_visit(l, &l->insts.items[n], note_bad, &b);
        }
    for (size_t r = 0; r < l->regs.count; r++) {
        struct low_reg *reg = &l->regs.items[r];
        if (!reg->addr_only || !all_steps(l, bad, r)) {
            reg->addr_only = false;
            if (reg->fact.spec)
                reg->fact.root = true;
            continue;
        }
        bool across = false;
        for (size_t k = 0; k < l->blocks.count; k++)
            across |= l->blocks.items[k].term == LOW_TERM_BARRIER &&
                      low_bit(l->blocks.items[k].live_out, (uint32_t)r);
        struct stable s = {l, (int32_t)r, reg->def_count == 1};
        if (s.ok)
            low_inst_visit(l, &l->insts.items[reg->def_inst], check_single, &s);
        reg->is_virtual = s.ok && (!across || reg->fact.invariant);
        reg->guarded = !reg->is_virtual;
    }
}

void low_shapes(struct low *l)
{
    struct low_fact *fresh = low_alloc(l, (l->regs.count + 1) * sizeof *fresh);
    low_cfg_wait(l);
    for (unsigned rounds = 0;; rounds++) {
        one_round(l, fresh);
        bool changed = update(l, fresh);
        if (update_branches(l)) {
            low_cfg_wait(l);
            changed = true;
        }
        if (!changed)
            break;
        if (rounds > 4000)
            low_refuse(l, NULL, "analysis does not end");
    }
    for (size_t r = 0; r < l->regs.count; r++)
        if (l->regs.items[r].fact.shape == LOW_UNDEF)
            l->regs.items[r].fact.shape = LOW_UNIFORM;
    address_only(l);
    choose_virtual(l);
}
