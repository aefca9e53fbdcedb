/* Special registers, and what lanes of one warp do together: shuffles, votes, matches, reductions.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/bits.h"
#include "codegen/lower/lower.h"

/* ---- the thread's place ---- */

static struct low_fact launch_uniform(int64_t lo, int64_t hi)
{
    struct low_fact f = {.shape = LOW_UNIFORM, .invariant = true};
    f.has_range = hi < INT32_MAX;
    f.lo = lo;
    f.hi = hi;
    return f;
}

static struct low_fact fixed(int64_t v)
{
    struct low_fact f = launch_uniform(v, v);
    f.is_const = true;
    f.value = v;
    f.align = v ? (uint8_t)WEIR_MIN(__builtin_ctzll((unsigned long long)v), 31) : 31;
    return f;
}

static uint8_t log2_of(uint32_t v)
{
    return (uint8_t)__builtin_ctz(v);
}

/* The coordinate `axis`: a group's lanes lie in one row, or the block is a line along it, or
 * anything. */
enum place { PLACE_ZERO, PLACE_LINE, PLACE_ROW, PLACE_ANY };

static enum place place_of(const struct low *l, unsigned axis)
{
    const uint32_t *b = l->request->block;
    uint32_t inner = axis == 0 ? 1 : axis == 1 ? b[0] : b[0] * b[1];
    if (b[axis] == 1)
        return PLACE_ZERO;
    if (b[axis] == l->threads)
        return PLACE_LINE;
    if (axis == 0)
        return b[0] % l->width == 0 ? PLACE_ROW : PLACE_ANY;
    return inner % l->width == 0 ? PLACE_ROW : PLACE_ANY;
}

static struct low_fact tid_fact(const struct low *l, unsigned axis)
{
    const uint32_t *b = l->request->block;
    struct low_fact f = launch_uniform(0, b[axis] - 1);
    uint32_t inner = axis == 0 ? 1 : axis == 1 ? b[0] : b[0] * b[1];
    switch (place_of(l, axis)) {
    case PLACE_ZERO:
        return fixed(0);
    case PLACE_LINE:
        f.shape = LOW_AFFINE;
        f.stride = 1;
        f.align = log2_of(l->width);
        f.hi = l->warps * LOW_LANES - 1;
        return f;
    case PLACE_ROW:
        if (axis == 0) {
            f.shape = LOW_AFFINE;
            f.stride = 1;
            f.align = log2_of(l->width);
        } else if (inner % LOW_LANES != 0) {
            f.shape = LOW_AFFINE;
        }
        if (l->tail_lanes)
            f.has_range = false;
        return f;
    default:
        f.shape = LOW_VARYING;
        return f;
    }
}

bool low_sreg_is_clock(uint16_t sreg)
{
    switch (sreg) {
    case WEIR_PTX_SREG_clock:
    case WEIR_PTX_SREG_clock_hi:
    case WEIR_PTX_SREG_clock64:
    case WEIR_PTX_SREG_globaltimer:
    case WEIR_PTX_SREG_globaltimer_lo:
    case WEIR_PTX_SREG_globaltimer_hi:
        return true;
    default:
        return false;
    }
}

bool low_asks(const struct low_inst *i)
{
    for (unsigned k = i->p ? i->p->dest_count : 0; i->p && k < i->p->operand_count; k++) {
        const struct weir_ptx_operand *o = &i->p->operands[k];

        if (o->kind == WEIR_PTX_OPERAND_SREG &&
            (low_sreg_is_clock(o->sreg) || o->sreg == WEIR_PTX_SREG_smid))
            return true;
    }
    return false;
}

bool low_asks_clock(const struct low *l, const struct low_inst *i)
{
    return l->clocks && low_asks(i);
}

void low_clocks_find(struct low *l)
{
    for (size_t n = 0; n < l->insts.count && l->request->modelled && !l->clocks; n++)
        l->clocks = low_asks(&l->insts.items[n]);
    l->result->meta.reads_clock = l->clocks;
}

struct low_fact low_sreg_fact(const struct low *l, uint16_t sreg, uint8_t element)
{
    struct low_fact f = {.shape = LOW_VARYING, .invariant = true};
    switch (sreg) { /* dispatch */
    case WEIR_PTX_SREG_tid:
        return element > 2 ? fixed(0) : tid_fact(l, element);
    case WEIR_PTX_SREG_ntid:
        return fixed(element > 2 ? 1 : l->request->block[element]);
    case WEIR_PTX_SREG_ctaid:
        return launch_uniform(0, element == 0 ? INT32_MAX - 1 : 65535);
    case WEIR_PTX_SREG_nctaid:
        return launch_uniform(1, element == 0 ? INT32_MAX : 65535);
    case WEIR_PTX_SREG_laneid:
        f.shape = LOW_AFFINE;
        f.stride = 1;
        f.align = log2_of(l->width);
        f.has_range = true;
        f.hi = LOW_LANES - 1;
        return f;
    case WEIR_PTX_SREG_warpid:
        return l->warps == 1 ? fixed(0) : launch_uniform(0, l->warps - 1);
    case WEIR_PTX_SREG_nwarpid:
        return fixed(l->warps);
    case WEIR_PTX_SREG_lanemask_eq:
    case WEIR_PTX_SREG_lanemask_le:
    case WEIR_PTX_SREG_lanemask_lt:
    case WEIR_PTX_SREG_lanemask_ge:
    case WEIR_PTX_SREG_lanemask_gt:
        return f;
    case WEIR_PTX_SREG_smid:
        return (struct low_fact){.shape = LOW_UNIFORM};
    default:
        return (struct low_fact){.shape = LOW_UNIFORM, .invariant = !low_sreg_is_clock(sreg)};
    }
}

/* Linear thread index of a group's first lane. */
static LLVMValueRef group_start(struct low *l, unsigned g)
{
    LLVMValueRef w = LLVMBuildMul(l->b, l->warp, LLVMConstInt(l->t.i32, LOW_LANES, 0), "");
    return g ? LLVMBuildAdd(l->b, w, LLVMConstInt(l->t.i32, g * l->width, 0), "") : w;
}

static LLVMValueRef coordinate(struct low *l, unsigned axis, LLVMValueRef linear)
{
    const uint32_t *b = l->request->block;
    uint32_t inner = axis == 0 ? 1 : axis == 1 ? b[0] : b[0] * b[1];
    LLVMTypeRef t = LLVMTypeOf(linear);
    LLVMValueRef v = linear;
    if (inner > 1)
        v = LLVMBuildUDiv(l->b, v, low_const(l, t, inner), "");
    if ((uint64_t)inner * b[axis] < l->threads)
        v = LLVMBuildURem(l->b, v, low_const(l, t, b[axis]), "");
    return v;
}

static struct low_val tid(struct low *l, unsigned axis)
{
    struct low_val v = {.shape = LOW_AFFINE};
    struct low_fact f = tid_fact(l, axis);
    v.shape = f.shape;
    v.stride = f.shape == LOW_AFFINE ? f.stride : 0;
    if (f.is_const) {
        v.v[0] = LLVMConstInt(l->t.i32, 0, 0);
        return v;
    }
    unsigned n = v.shape == LOW_UNIFORM ? 1 : l->groups;
    for (unsigned g = 0; g < n; g++) {
        LLVMValueRef at = group_start(l, g);
        if (v.shape == LOW_VARYING)
            at = LLVMBuildAdd(l->b, low_splat(l, at), low_lanes(l, l->t.i32, 1), "");
        v.v[g] = coordinate(l, axis, at);
    }
    return v;
}

static struct low_val scalar(LLVMValueRef v)
{
    struct low_val r = {.shape = LOW_UNIFORM};
    r.v[0] = v;
    return r;
}

static struct low_val lane_masks(struct low *l, uint16_t sreg)
{
    struct low_val v = {.shape = LOW_VARYING};
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef c[64];
        for (unsigned k = 0; k < l->width; k++) {
            unsigned lane = g * l->width + k;
            uint32_t eq = 1u << lane, lt = eq - 1, m = eq;
            if (sreg == WEIR_PTX_SREG_lanemask_le)
                m = lt | eq;
            else if (sreg == WEIR_PTX_SREG_lanemask_lt)
                m = lt;
            else if (sreg == WEIR_PTX_SREG_lanemask_ge)
                m = ~lt;
            else if (sreg == WEIR_PTX_SREG_lanemask_gt)
                m = ~(lt | eq);
            c[k] = LLVMConstInt(l->t.i32, m, 0);
        }
        v.v[g] = LLVMConstVector(c, l->width);
    }
    return v;
}

static LLVMValueRef block_field(struct low *l, size_t offset, LLVMTypeRef t)
{
    LLVMValueRef at = LLVMConstInt(l->t.i64, offset, 0);
    return LLVMBuildLoad2(l->b, t, LLVMBuildGEP2(l->b, l->t.i8, l->block_ptr, &at, 1, ""), "");
}

static LLVMValueRef launch_field(struct low *l, size_t offset, LLVMTypeRef t)
{
    LLVMValueRef at = LLVMConstInt(l->t.i64, offset, 0);
    LLVMValueRef v =
        LLVMBuildLoad2(l->b, t, LLVMBuildGEP2(l->b, l->t.i8, l->launch_ptr, &at, 1, ""), "");
    LLVMSetMetadata(v, l->md_invariant, l->md_empty);
    return v;
}

static LLVMValueRef global_timer(struct low *l)
{
    LLVMValueRef at = LLVMConstInt(l->t.i64, offsetof(struct weir_kernel_services, globaltimer), 0);
    LLVMValueRef f =
        LLVMBuildLoad2(l->b, l->t.ptr, LLVMBuildGEP2(l->b, l->t.i8, l->services, &at, 1, ""), "");
    return LLVMBuildCall2(l->b, LLVMFunctionType(l->t.i64, NULL, 0, 0), f, NULL, 0, "");
}

static LLVMValueRef call_clock(struct low *l, enum weir_block_clock what, LLVMValueRef warp)
{
    LLVMValueRef at = LLVMConstInt(l->t.i64, offsetof(struct weir_kernel_services, clock), 0);
    LLVMValueRef f =
        LLVMBuildLoad2(l->b, l->t.ptr, LLVMBuildGEP2(l->b, l->t.i8, l->services, &at, 1, ""), "");
    LLVMTypeRef types[] = {l->t.ptr, l->t.i32, l->t.i32};
    LLVMValueRef args[] = {l->block_ptr, LLVMConstInt(l->t.i32, what, 0), warp};

    return LLVMBuildCall2(l->b, LLVMFunctionType(l->t.i64, types, 3, 0), f, args, 3, "");
}

/* The model's time, of this warp. */
static LLVMValueRef modelled_clock(struct low *l, enum weir_block_clock what)
{
    return call_clock(l, what, l->warp);
}

void low_clocks_end(struct low *l)
{
    if (l->clocks)
        (void)call_clock(l, WEIR_BLOCK_ENDS, LLVMConstInt(l->t.i32, 0, 0));
}

struct low_val low_sreg(struct low *l, uint16_t sreg, uint8_t element, enum weir_ptx_type type)
{
    LLVMValueRef v = NULL;
    (void)type;
    if (low_cluster_sreg(l, sreg, element, &v))
        return scalar(v);
    switch (sreg) { /* dispatch */
    case WEIR_PTX_SREG_tid:
        if (element <= 2)
            return tid(l, element);
        return scalar(LLVMConstInt(l->t.i32, 0, 0));
    case WEIR_PTX_SREG_ntid:
        return scalar(LLVMConstInt(l->t.i32, element > 2 ? 1 : l->request->block[element], 0));
    case WEIR_PTX_SREG_ctaid:
        return scalar(element > 2 ? LLVMConstInt(l->t.i32, 0, 0) : l->ctaid[element]);
    case WEIR_PTX_SREG_nctaid:
        return scalar(element > 2 ? LLVMConstInt(l->t.i32, 1, 0) : l->nctaid[element]);
    case WEIR_PTX_SREG_laneid: {
        struct low_val r = {.shape = LOW_AFFINE, .stride = 1};
        for (unsigned g = 0; g < l->groups; g++)
            r.v[g] = LLVMConstInt(l->t.i32, g * l->width, 0);
        return r;
    }
    case WEIR_PTX_SREG_warpid:
        return scalar(l->warp);
    case WEIR_PTX_SREG_nwarpid:
        return scalar(LLVMConstInt(l->t.i32, l->warps, 0));
    case WEIR_PTX_SREG_lanemask_eq:
    case WEIR_PTX_SREG_lanemask_le:
    case WEIR_PTX_SREG_lanemask_lt:
    case WEIR_PTX_SREG_lanemask_ge:
    case WEIR_PTX_SREG_lanemask_gt:
        return lane_masks(l, sreg);
    case WEIR_PTX_SREG_smid:
        if (l->clocks)
            return scalar(LLVMBuildTrunc(l->b, modelled_clock(l, WEIR_BLOCK_SM), l->t.i32, ""));
        return scalar(block_field(l, offsetof(struct weir_block, smid), l->t.i32));
    case WEIR_PTX_SREG_nsmid:
        return scalar(launch_field(l, offsetof(struct weir_launch, sm_count), l->t.i32));
    case WEIR_PTX_SREG_gridid:
        return scalar(launch_field(l, offsetof(struct weir_launch, grid_id), l->t.i64));
    case WEIR_PTX_SREG_dynamic_smem_size:
        return scalar(
            launch_field(l, offsetof(struct weir_launch, dynamic_shared_bytes), l->t.i32));
    case WEIR_PTX_SREG_total_smem_size:
    case WEIR_PTX_SREG_aggr_smem_size:
        return scalar(l->shared_bytes);
    case WEIR_PTX_SREG_clock:
    case WEIR_PTX_SREG_clock64:
    case WEIR_PTX_SREG_clock_hi:
        v = l->clocks ? modelled_clock(l, WEIR_BLOCK_CYCLES)
                      : low_intrinsic(l, "llvm.readcyclecounter", NULL, 0, NULL, 0);
        break;
    case WEIR_PTX_SREG_globaltimer:
    case WEIR_PTX_SREG_globaltimer_lo:
    case WEIR_PTX_SREG_globaltimer_hi:
        v = l->clocks ? modelled_clock(l, WEIR_BLOCK_NS) : global_timer(l);
        break;
    case WEIR_PTX_SREG_reserved_smem_offset:
        return scalar(LLVMConstInt(l->t.i32, low_reserved_smem(l, element), 0));
    case WEIR_PTX_SREG_envreg: /* the driver's: 1 and 2 are the halves of the grid's workspace, high
                                  one first */
        if (element != 1 && element != 2)
            return scalar(LLVMConstInt(l->t.i32, 0, 0));
        return scalar(launch_field(
            l, offsetof(struct weir_launch, grid_workspace) + (element == 1 ? 4 : 0), l->t.i32));
    default:
        return scalar(LLVMConstInt(l->t.i32, 0, 0));
    }
    if (sreg == WEIR_PTX_SREG_clock || sreg == WEIR_PTX_SREG_globaltimer_lo)
        v = LLVMBuildTrunc(l->b, v, l->t.i32, "");
    if (sreg == WEIR_PTX_SREG_clock_hi || sreg == WEIR_PTX_SREG_globaltimer_hi)
        v = LLVMBuildTrunc(l->b, LLVMBuildLShr(l->b, v, LLVMConstInt(l->t.i64, 32, 0), ""),
                           l->t.i32, "");
    return scalar(v);
}

/* ---- shuffles ---- */

static LLVMValueRef all_lanes(struct low *l, const struct low_val *v)
{
    LLVMValueRef part[LOW_MAX_GROUPS], idx[64];
    unsigned n = l->groups, w = l->width;
    for (unsigned g = 0; g < n; g++)
        part[g] = low_vector(l, v, g);
    while (n > 1) {
        for (unsigned k = 0; k < 2 * w; k++)
            idx[k] = LLVMConstInt(l->t.i32, k, 0);
        for (unsigned g = 0; g < n / 2; g++)
            part[g] = LLVMBuildShuffleVector(l->b, part[2 * g], part[2 * g + 1],
                                             LLVMConstVector(idx, 2 * w), "");
        n /= 2;
        w *= 2;
    }
    return part[0];
}

static uint32_t source_lane(const struct weir_ptx_inst *p, uint32_t lane, uint32_t b, uint32_t c,
                            bool *inside)
{
    uint32_t bval = b & 31, cval = c & 31, seg = (c >> 8) & 31;
    uint32_t max = (lane & seg) | (cval & ~seg), min = lane & seg;
    int32_t j;
    switch (p->sub) {
    case WEIR_PTX_SUB_UP:
        j = (int32_t)lane - (int32_t)bval;
        *inside = j >= (int32_t)max;
        break;
    case WEIR_PTX_SUB_DOWN:
        j = (int32_t)(lane + bval);
        *inside = j <= (int32_t)max;
        break;
    case WEIR_PTX_SUB_BFLY:
        j = (int32_t)(lane ^ bval);
        *inside = j <= (int32_t)max;
        break;
    default:
        j = (int32_t)(min | (bval & ~seg));
        *inside = j <= (int32_t)max;
        break;
    }
    return *inside ? (uint32_t)j : lane;
}

static void shfl_const(struct low *l, const struct weir_ptx_inst *p, const struct low_val *a,
                       uint32_t b, uint32_t c, struct low_val *d, struct low_val *q)
{
    LLVMValueRef all = all_lanes(l, a), idx[64], in[64];
    for (unsigned g = 0; g < l->groups; g++) {
        for (unsigned k = 0; k < l->width; k++) {
            bool inside;
            uint32_t j = source_lane(p, g * l->width + k, b, c, &inside);
            idx[k] = LLVMConstInt(l->t.i32, j & 31, 0);
            in[k] = LLVMConstInt(l->t.i1, inside, 0);
        }
        d->v[g] = LLVMBuildShuffleVector(l->b, all, LLVMGetPoison(LLVMTypeOf(all)),
                                         LLVMConstVector(idx, l->width), "");
        q->v[g] = LLVMConstVector(in, l->width);
    }
}

static LLVMValueRef pick_lanes(struct low *l, const struct low_val *a, LLVMValueRef spilled,
                               LLVMValueRef j)
{
    if (l->avx512 && l->width == 16) {
        LLVMValueRef args[3] = {low_vector(l, a, 0), j, low_vector(l, a, 1)};
        return low_intrinsic(l, "llvm.x86.avx512.vpermi2var.d.512", NULL, 0, args, 3);
    }
    LLVMValueRef wide = low_resize(l, j, 64, false);
    LLVMValueRef ptrs = LLVMBuildGEP2(l->b, l->t.i32, spilled, &wide, 1, "");
    LLVMTypeRef vt = low_vec_type(l, l->t.i32), over[2] = {vt, LLVMTypeOf(ptrs)};
    LLVMValueRef args[4] = {ptrs, LLVMConstInt(l->t.i32, 4, 0), LLVMConstAllOnes(l->t.mask),
                            LLVMConstNull(vt)};
    return low_intrinsic(l, "llvm.masked.gather", over, 2, args, 4);
}

static void shfl_dynamic(struct low *l, const struct weir_ptx_inst *p, const struct low_val *a,
                         const struct low_val *b, const struct low_val *c, struct low_val *d,
                         struct low_val *q)
{
    LLVMTypeRef vt = low_vec_type(l, l->t.i32);
    for (unsigned g = 0; g < l->groups; g++)
        LLVMBuildStore(l->b, low_vector(l, a, g),
                       LLVMBuildGEP2(l->b, vt, l->scratch,
                                     &(LLVMValueRef){LLVMConstInt(l->t.i32, g, 0)}, 1, ""));
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef c31 = low_const(l, vt, 31), cv = low_vector(l, c, g);
        LLVMValueRef lane =
            LLVMBuildAdd(l->b, low_lanes(l, l->t.i32, 1), low_const(l, vt, g * l->width), "");
        LLVMValueRef bval = LLVMBuildAnd(l->b, low_vector(l, b, g), c31, ""),
                     cval = LLVMBuildAnd(l->b, cv, c31, "");
        LLVMValueRef seg =
            LLVMBuildAnd(l->b, LLVMBuildLShr(l->b, cv, low_const(l, vt, 8), ""), c31, "");
        LLVMValueRef nseg = LLVMBuildNot(l->b, seg, ""), min = LLVMBuildAnd(l->b, lane, seg, ""), j,
                     in;
        LLVMValueRef max = LLVMBuildOr(l->b, min, LLVMBuildAnd(l->b, cval, nseg, ""), "");
        if (p->sub == WEIR_PTX_SUB_UP)
            j = LLVMBuildSub(l->b, lane, bval, "");
        else if (p->sub == WEIR_PTX_SUB_DOWN)
            j = LLVMBuildAdd(l->b, lane, bval, "");
        else if (p->sub == WEIR_PTX_SUB_BFLY)
            j = LLVMBuildXor(l->b, lane, bval, "");
        else
            j = LLVMBuildOr(l->b, min, LLVMBuildAnd(l->b, bval, nseg, ""), "");
        in = LLVMBuildICmp(l->b, p->sub == WEIR_PTX_SUB_UP ? LLVMIntSGE : LLVMIntSLE, j, max, "");
        j = LLVMBuildAnd(l->b, LLVMBuildSelect(l->b, in, j, lane, ""), c31, "");
        d->v[g] = pick_lanes(l, a, l->scratch, j);
        q->v[g] = in;
    }
}

static void write_operand(struct low *l, const struct low_inst *i, const struct weir_ptx_operand *o,
                          const struct low_val *d, const struct low_val *q)
{
    if (o->kind == WEIR_PTX_OPERAND_REG && d)
        low_write(l, low_reg_of(l, i, o->reg), d);
    if (o->pred_reg >= 0 && q)
        low_write(l, low_reg_of(l, i, o->pred_reg), q);
}

/* The documentation leaves open what a lane that is not there gives; programs rely on the 0 that
 * hardware gives. */
static struct low_val active_or_zero(struct low *l, const struct low_val *v)
{
    struct low_val r = {.shape = LOW_VARYING};
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef x = low_vector(l, v, g);
        r.v[g] = l->mask_full
                     ? x
                     : LLVMBuildSelect(l->b, l->mask[g], x, LLVMConstNull(LLVMTypeOf(x)), "");
    }
    return r;
}

static void shfl(struct low *l, const struct low_inst *i)
{
    const struct weir_ptx_inst *p = i->p;
    struct low_val a = low_read(l, i, &p->operands[1], WEIR_PTX_B32), d = {.shape = LOW_VARYING},
                   q = d;
    a = active_or_zero(l, &a);
    struct low_fact bf = low_operand_fact(l, i, &p->operands[2], WEIR_PTX_U32);
    struct low_fact cf = low_operand_fact(l, i, &p->operands[3], WEIR_PTX_U32);
    if (bf.is_const && cf.is_const) {
        shfl_const(l, p, &a, (uint32_t)bf.value, (uint32_t)cf.value, &d, &q);
    } else {
        struct low_val b = low_read(l, i, &p->operands[2], WEIR_PTX_U32),
                       c = low_read(l, i, &p->operands[3], WEIR_PTX_U32);
        shfl_dynamic(l, p, &a, &b, &c, &d, &q);
    }
    write_operand(l, i, &p->operands[0], &d, &q);
}

/* The operand that names the members of a .sync instruction; NULL: those that are there. */
const struct weir_ptx_operand *low_member_mask(const struct weir_ptx_inst *p)
{
    unsigned k = p->opcode == WEIR_PTX_OP_shfl ? 4 : p->opcode == WEIR_PTX_OP_elect ? 1 : 2;
    return (p->async_sync || p->opcode == WEIR_PTX_OP_elect) && k < p->operand_count
               ? &p->operands[k]
               : NULL;
}

/* ---- votes and the like ---- */

static LLVMValueRef mask_or_full(struct low *l)
{
    return l->mask_full ? LLVMConstInt(l->t.i32, 0xffffffff, 0) : low_mask_bits(l, l->mask);
}

static LLVMValueRef true_bits(struct low *l, const struct low_inst *i,
                              const struct weir_ptx_operand *o)
{
    struct low_val a = low_read(l, i, o, WEIR_PTX_PRED);
    LLVMValueRef m[LOW_MAX_GROUPS];
    for (unsigned g = 0; g < l->groups; g++) {
        m[g] = low_vector(l, &a, g);
        if (!l->mask_full)
            m[g] = LLVMBuildSelect(l->b, l->mask[g], m[g], LLVMConstNull(l->t.mask), "");
    }
    return low_mask_bits(l, m);
}

/* The membership mask of a .sync instruction when lanes may have different ones: the groups then
 * work apart. False: one for all active lanes, who are the members. */
static bool own_masks(struct low *l, const struct low_inst *i, struct low_val *m)
{
    const struct weir_ptx_operand *o = low_member_mask(i->p);
    if (!o || low_operand_fact(l, i, o, WEIR_PTX_U32).shape == LOW_UNIFORM)
        return false;
    *m = low_read(l, i, o, WEIR_PTX_U32);
    return m->shape != LOW_UNIFORM;
}

static LLVMValueRef vote_result(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef t,
                                LLVMValueRef m)
{
    LLVMValueRef none = LLVMBuildICmp(l->b, LLVMIntEQ, t, LLVMConstNull(LLVMTypeOf(t)), "");
    LLVMValueRef all = LLVMBuildICmp(l->b, LLVMIntEQ, t, m, "");
    switch (p->sub) {
    case WEIR_PTX_SUB_ALL:
        return all;
    case WEIR_PTX_SUB_ANY:
        return LLVMBuildNot(l->b, none, "");
    case WEIR_PTX_SUB_UNI:
        return LLVMBuildOr(l->b, none, all, "");
    default:
        return t;
    }
}

static void vote(struct low *l, const struct low_inst *i)
{
    LLVMValueRef t = true_bits(l, i, &i->p->operands[1]), m = mask_or_full(l);
    struct low_val own, v = {.shape = LOW_VARYING};
    if (own_masks(l, i, &own)) {
        for (unsigned g = 0; g < l->groups; g++) {
            LLVMValueRef mine = low_vector(l, &own, g);
            v.v[g] = vote_result(l, i->p, LLVMBuildAnd(l->b, low_splat(l, t), mine, ""),
                                 LLVMBuildAnd(l->b, low_splat(l, m), mine, ""));
        }
    } else {
        v = scalar(vote_result(l, i->p, t, m));
    }
    write_operand(l, i, &i->p->operands[0], &v, NULL);
}

static LLVMValueRef spilled_lane(struct low *l, LLVMTypeRef t, LLVMValueRef lane)
{
    return LLVMBuildLoad2(l->b, t, LLVMBuildGEP2(l->b, t, l->scratch, &lane, 1, ""), "");
}

static void spill(struct low *l, const struct low_val *a, LLVMTypeRef t)
{
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef at = LLVMConstInt(l->t.i32, g, 0);
        LLVMBuildStore(l->b, low_vector(l, a, g),
                       LLVMBuildGEP2(l->b, low_vec_type(l, t), l->scratch, &at, 1, ""));
    }
}

/* Each lane's set of active lanes with the same value. */
static void match_sets(struct low *l, struct low_val *a, LLVMTypeRef t, struct low_val *d)
{
    struct low_lane_loop loop;
    LLVMTypeRef vt = low_vec_type(l, l->t.i32);
    LLVMValueRef slot[LOW_MAX_GROUPS];
    d->shape = LOW_VARYING;
    for (unsigned g = 0; g < l->groups; g++) {
        slot[g] = low_alloca(l, vt, "match");
        LLVMBuildStore(l->b, LLVMConstNull(vt), slot[g]);
    }
    spill(l, a, t);
    low_lane_loop_begin(l, &loop, mask_or_full(l));
    LLVMValueRef one = low_splat(l, spilled_lane(l, t, loop.lane));
    LLVMValueRef bit =
        low_splat(l, LLVMBuildShl(l->b, LLVMConstInt(l->t.i32, 1, 0), loop.lane, ""));
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef eq = LLVMBuildICmp(l->b, LLVMIntEQ, low_vector(l, a, g), one, "");
        LLVMValueRef old = LLVMBuildLoad2(l->b, vt, slot[g], "");
        LLVMValueRef add = LLVMBuildSelect(l->b, eq, bit, LLVMConstNull(vt), "");
        LLVMBuildStore(l->b, LLVMBuildOr(l->b, old, add, ""), slot[g]);
    }
    low_lane_loop_end(l, &loop);
    for (unsigned g = 0; g < l->groups; g++)
        d->v[g] = LLVMBuildLoad2(l->b, vt, slot[g], "");
}

static void match_own(struct low *l, const struct low_inst *i, struct low_val *d,
                      const struct low_val *own)
{
    struct low_val q = {.shape = LOW_VARYING};
    bool all = i->p->sub == WEIR_PTX_SUB_ALL;
    LLVMValueRef m = mask_or_full(l);
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef mine = low_vector(l, own, g),
                     want = LLVMBuildAnd(l->b, mine, low_splat(l, m), "");
        d->v[g] = LLVMBuildAnd(l->b, d->v[g], mine, "");
        q.v[g] = LLVMBuildICmp(l->b, LLVMIntEQ, d->v[g], want, "");
        if (all)
            d->v[g] = LLVMBuildSelect(l->b, q.v[g], want, LLVMConstNull(LLVMTypeOf(want)), "");
    }
    write_operand(l, i, &i->p->operands[0], d, all ? &q : NULL);
}

static void match(struct low *l, const struct low_inst *i)
{
    const struct weir_ptx_inst *p = i->p;
    struct low_val a = low_read(l, i, &p->operands[1], p->type[0]);
    LLVMTypeRef t = low_type(l, p->type[0]);
    struct low_val own, sets;
    bool apart = own_masks(l, i, &own);
    if (p->sub != WEIR_PTX_SUB_ALL || apart) {
        match_sets(l, &a, t, &sets);
        if (apart)
            match_own(l, i, &sets, &own);
        else
            write_operand(l, i, &p->operands[0], &sets, NULL);
        return;
    }
    LLVMValueRef m = mask_or_full(l),
                 first = low_binary(l, "llvm.cttz", m, LLVMConstInt(l->t.i1, 1, 0)),
                 eq[LOW_MAX_GROUPS];
    spill(l, &a, t);
    LLVMValueRef one = low_splat(l, spilled_lane(l, t, first));
    for (unsigned g = 0; g < l->groups; g++) {
        eq[g] = LLVMBuildICmp(l->b, LLVMIntEQ, low_vector(l, &a, g), one, "");
        if (!l->mask_full)
            eq[g] = LLVMBuildSelect(l->b, l->mask[g], eq[g], LLVMConstNull(l->t.mask), "");
    }
    LLVMValueRef same = LLVMBuildICmp(l->b, LLVMIntEQ, low_mask_bits(l, eq), m, "");
    struct low_val d = scalar(LLVMBuildSelect(l->b, same, m, LLVMConstInt(l->t.i32, 0, 0), "")),
                   q = scalar(same);
    write_operand(l, i, &p->operands[0], &d, &q);
}

static LLVMValueRef combine(struct low *l, const struct weir_ptx_inst *p, LLVMValueRef a,
                            LLVMValueRef b)
{
    bool sign = weir_ptx_type_is_signed(p->type[0]);
    switch (p->sub) {
    case WEIR_PTX_SUB_ADD:
        return LLVMBuildAdd(l->b, a, b, "");
    case WEIR_PTX_SUB_AND:
        return LLVMBuildAnd(l->b, a, b, "");
    case WEIR_PTX_SUB_OR:
        return LLVMBuildOr(l->b, a, b, "");
    case WEIR_PTX_SUB_XOR:
        return LLVMBuildXor(l->b, a, b, "");
    case WEIR_PTX_SUB_MIN:
        return low_binary(l, sign ? "llvm.smin" : "llvm.umin", a, b);
    case WEIR_PTX_SUB_MAX:
        return low_binary(l, sign ? "llvm.smax" : "llvm.umax", a, b);
    default:
        low_refuse(l, p, "operation");
    }
}

static const char *reduce_name(struct low *l, const struct weir_ptx_inst *p)
{
    bool sign = weir_ptx_type_is_signed(p->type[0]);
    switch (p->sub) {
    case WEIR_PTX_SUB_ADD:
        return "llvm.vector.reduce.add";
    case WEIR_PTX_SUB_AND:
        return "llvm.vector.reduce.and";
    case WEIR_PTX_SUB_OR:
        return "llvm.vector.reduce.or";
    case WEIR_PTX_SUB_XOR:
        return "llvm.vector.reduce.xor";
    case WEIR_PTX_SUB_MIN:
        return sign ? "llvm.vector.reduce.smin" : "llvm.vector.reduce.umin";
    case WEIR_PTX_SUB_MAX:
        return sign ? "llvm.vector.reduce.smax" : "llvm.vector.reduce.umax";
    default:
        low_refuse(l, p, "operation");
    }
}

static int64_t neutral(const struct weir_ptx_inst *p)
{
    bool sign = weir_ptx_type_is_signed(p->type[0]);
    unsigned bits = weir_ptx_type_bits(p->type[0]);
    int64_t smax = (int64_t)weir_bits_low(bits - 1);
    switch (p->sub) {
    case WEIR_PTX_SUB_AND:
        return -1;
    case WEIR_PTX_SUB_MIN:
        return sign ? smax : -1;
    case WEIR_PTX_SUB_MAX:
        return sign ? -smax - 1 : 0;
    default:
        return 0;
    }
}

LLVMValueRef low_reduce(struct low *l, const struct weir_ptx_inst *p, const struct low_val *a)
{
    LLVMValueRef r = NULL;
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef v = low_vector(l, a, g);
        if (!l->mask_full)
            v = LLVMBuildSelect(l->b, l->mask[g], v, low_const(l, LLVMTypeOf(v), neutral(p)), "");
        r = r ? combine(l, p, r, v) : v;
    }
    LLVMTypeRef t = LLVMTypeOf(r);
    return low_intrinsic(l, reduce_name(l, p), &t, 1, &r, 1);
}

/* One round for each group: its first lane's mask says who belongs to it. */
static void redux_own(struct low *l, const struct low_inst *i, const struct low_val *a,
                      const struct low_val *own)
{
    LLVMTypeRef vt = LLVMTypeOf(low_vector(l, a, 0));
    LLVMValueRef slot[LOW_MAX_GROUPS], saved[LOW_MAX_GROUPS];
    struct low_lane_loop loop;
    struct low_val d = {.shape = LOW_VARYING};
    bool was_full = l->mask_full;
    memcpy(saved, l->mask, sizeof saved);
    LLVMValueRef active = mask_or_full(l);
    for (unsigned g = 0; g < l->groups; g++) {
        slot[g] = low_alloca(l, vt, "redux");
        LLVMBuildStore(l->b, LLVMConstNull(vt), slot[g]);
    }
    spill(l, own, l->t.i32);
    low_lane_loop_begin(l, &loop, active);
    LLVMValueRef bits = LLVMBuildAnd(l->b, spilled_lane(l, l->t.i32, loop.lane), active, "");
    bits = LLVMBuildOr(l->b, bits, LLVMBuildShl(l->b, LLVMConstInt(l->t.i32, 1, 0), loop.lane, ""),
                       "");
    low_mask_from_bits(l, bits, l->mask);
    l->mask_full = false;
    LLVMValueRef r = low_splat(l, low_reduce(l, i->p, a));
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef old = LLVMBuildLoad2(l->b, vt, slot[g], "");
        LLVMBuildStore(l->b, LLVMBuildSelect(l->b, l->mask[g], r, old, ""), slot[g]);
    }
    low_lane_loop_rest(l, &loop,
                       LLVMBuildAnd(l->b, loop.bits_phi, LLVMBuildNot(l->b, bits, ""), ""));
    memcpy(l->mask, saved, sizeof saved);
    l->mask_full = was_full;
    for (unsigned g = 0; g < l->groups; g++)
        d.v[g] = LLVMBuildLoad2(l->b, vt, slot[g], "");
    write_operand(l, i, &i->p->operands[0], &d, NULL);
}

static void redux(struct low *l, const struct low_inst *i)
{
    struct low_val v = low_read(l, i, &i->p->operands[1], i->p->type[0]), own;
    if (own_masks(l, i, &own)) {
        redux_own(l, i, &v, &own);
        return;
    }
    v = scalar(low_reduce(l, i->p, &v));
    write_operand(l, i, &i->p->operands[0], &v, NULL);
}

static void elect(struct low *l, const struct low_inst *i)
{
    LLVMValueRef m = mask_or_full(l);
    struct low_val own, d = {.shape = LOW_VARYING}, q = d;
    bool apart = own_masks(l, i, &own);
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMTypeRef vt = low_vec_type(l, l->t.i32);
        LLVMValueRef lane =
            LLVMBuildAdd(l->b, low_lanes(l, l->t.i32, 1), low_const(l, vt, g * l->width), "");
        LLVMValueRef set = low_splat(l, m);
        if (apart)
            set = LLVMBuildAnd(l->b, set, low_vector(l, &own, g), "");
        d.v[g] = low_binary(l, "llvm.cttz", set, LLVMConstInt(l->t.i1, 0, 0));
        q.v[g] = LLVMBuildICmp(l->b, LLVMIntEQ, lane, d.v[g], "");
    }
    write_operand(l, i, &i->p->operands[0], &d, &q);
}

static void sleep_ns(struct low *l, const struct low_inst *i)
{
    struct low_val ns = low_read(l, i, &i->p->operands[0], WEIR_PTX_U32);
    LLVMValueRef v = ns.v[0];
    if (ns.shape == LOW_VARYING)
        v = LLVMBuildExtractElement(l->b, v, LLVMConstInt(l->t.i32, 0, 0), "");
    LLVMTypeRef types[2] = {l->t.ptr, l->t.i32};
    LLVMValueRef args[2] = {l->block_ptr, v},
                 at = LLVMConstInt(l->t.i64, offsetof(struct weir_kernel_services, nanosleep), 0);
    LLVMValueRef f =
        LLVMBuildLoad2(l->b, l->t.ptr, LLVMBuildGEP2(l->b, l->t.i8, l->services, &at, 1, ""), "");
    LLVMBuildCall2(l->b, LLVMFunctionType(l->t.v, types, 2, 0), f, args, 2, "");
}

void low_emit_warp(struct low *l, const struct low_inst *i)
{
    struct low_val v;
    switch (i->p->opcode) { /* dispatch */
    case WEIR_PTX_OP_shfl:
        shfl(l, i);
        break;
    case WEIR_PTX_OP_vote:
        vote(l, i);
        break;
    case WEIR_PTX_OP_match:
        match(l, i);
        break;
    case WEIR_PTX_OP_redux:
        redux(l, i);
        break;
    case WEIR_PTX_OP_activemask:
        v = scalar(mask_or_full(l));
        write_operand(l, i, &i->p->operands[0], &v, NULL);
        break;
    case WEIR_PTX_OP_elect:
        elect(l, i);
        break;
    case WEIR_PTX_OP_nanosleep:
        sleep_ns(l, i);
        break;
    case WEIR_PTX_OP_bar:
    case WEIR_PTX_OP_barrier:
        if (weir_cg_form_cluster_barrier(i->p) != CLUSTER_BARRIER_NONE && l->general)
            low_general_cluster_arrive(l);
        else if (i->p->sub == WEIR_PTX_SUB_ARRIVE && l->general)
            low_general_arrive(l, i);
        else if (i->p->sub != WEIR_PTX_SUB_WARP)
            low_need_general(l, i->p, "barrier form");
        break;
    default:
        low_refuse(l, i->p, "not supported");
    }
}

/* isspacep: is the generic address in the space? */
LLVMValueRef low_is_space(struct low *l, struct low_args *x)
{
    LLVMValueRef a = low_resize(l, x->a[0], 64, false), base, bytes;
    LLVMTypeRef t = LLVMTypeOf(a);
    bool vec = low_is_vec(a);
    LLVMValueRef lo[2] = {LLVMBuildPtrToInt(l->b, l->shared, l->t.i64, ""),
                          LLVMBuildPtrToInt(l->b, l->local, l->t.i64, "")};
    LLVMValueRef n[2] = {LLVMBuildZExt(l->b, l->shared_bytes, l->t.i64, ""),
                         LLVMConstInt(l->t.i64, l->local_bytes * l->threads, 0)};
    LLVMValueRef in[2];
    if (l->clusters && x->p->space != WEIR_PTX_SHARED)
        lo[0] = low_cluster_base(l, &n[0]);
    for (unsigned k = 0; k < 2; k++) {
        base = vec ? low_splat(l, lo[k]) : lo[k];
        bytes = vec ? low_splat(l, n[k]) : n[k];
        in[k] = LLVMBuildICmp(l->b, LLVMIntULT, LLVMBuildSub(l->b, a, base, ""), bytes, "");
    }
    switch (x->p->space) {
    case WEIR_PTX_SHARED:
    case WEIR_PTX_SHARED_CLUSTER:
        return in[0];
    case WEIR_PTX_LOCAL:
        return in[1];
    case WEIR_PTX_GLOBAL:
        return LLVMBuildNot(l->b, LLVMBuildOr(l->b, in[0], in[1], ""), "");
    case WEIR_PTX_CONST:
    case WEIR_PTX_PARAM:
        return LLVMConstNull(low_like(l, l->t.i1, a));
    default:
        (void)t;
        low_refuse(l, x->p, "state space");
    }
}
