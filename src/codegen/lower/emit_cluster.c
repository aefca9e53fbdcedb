/* Clusters: addresses in other blocks' shared memory, and the block's place in its cluster. The
 * shared memories of a cluster's blocks lie one behind the other (device/cluster.c). An address in
 * .shared::cluster is the offset in a block's shared memory and in its upper byte the block's rank
 * plus one; 0 there is the own block, so that a .shared::cta address is one as well. Source: PTX
 * ISA, mapa, getctarank, "Shared State Space".
 * SPDX-License-Identifier: Apache-2.0 */
#include "codegen/lower/lower.h"

#define RANK_AT     24
#define OFFSET_MASK 0xffffff

void low_cluster_find(struct low *l)
{
    for (size_t k = 0; k < l->insts.count && !l->clusters; k++) {
        const struct low_inst *i = &l->insts.items[k];
        if (i->kind != LOW_PTX || !i->p)
            continue;
        l->clusters = i->p->space == WEIR_PTX_SHARED_CLUSTER || i->p->opcode == WEIR_PTX_OP_mapa ||
                      i->p->opcode == WEIR_PTX_OP_getctarank ||
                      weir_cg_form_cluster_barrier(i->p) != CLUSTER_BARRIER_NONE;
    }
    l->result->meta.clusters = l->clusters;
}

/* ---- the block ---- */

static LLVMValueRef field(struct low *l, LLVMValueRef p, size_t offset, LLVMTypeRef t)
{
    LLVMValueRef at = LLVMConstInt(l->t.i64, offset, 0);
    return LLVMBuildLoad2(l->b, t, LLVMBuildGEP2(l->b, l->t.i8, p, &at, 1, ""), "");
}

LLVMValueRef low_cluster_field(struct low *l, size_t offset, LLVMTypeRef t)
{
    LLVMValueRef c = field(l, l->block_ptr, offsetof(struct weir_block, cluster), l->t.ptr);
    return field(l, c, offset, t);
}

LLVMValueRef low_cluster_base(struct low *l, LLVMValueRef *bytes)
{
    LLVMValueRef n = low_cluster_field(l, offsetof(struct weir_cluster, blocks), l->t.i32);
    LLVMValueRef stride = low_cluster_field(l, offsetof(struct weir_cluster, stride), l->t.i64);
    *bytes = LLVMBuildMul(l->b, LLVMBuildZExt(l->b, n, l->t.i64, ""), stride, "");
    return low_cluster_field(l, offsetof(struct weir_cluster, shared), l->t.i64);
}

static LLVMValueRef alike(struct low *l, LLVMValueRef scalar, LLVMValueRef as)
{
    return low_is_vec(as) ? low_splat(l, scalar) : scalar;
}

static LLVMValueRef shared_base(struct low *l, LLVMValueRef as)
{
    return alike(l, LLVMBuildPtrToInt(l->b, l->shared, l->t.i64, ""), as);
}

LLVMValueRef low_cluster_absolute(struct low *l, LLVMValueRef v)
{
    v = low_resize(l, v, 64, false);
    LLVMTypeRef t = LLVMTypeOf(v);
    LLVMValueRef stride = low_cluster_field(l, offsetof(struct weir_cluster, stride), l->t.i64);
    LLVMValueRef first = low_cluster_field(l, offsetof(struct weir_cluster, shared), l->t.i64);
    v = LLVMBuildAnd(l->b, v, low_const(l, t, 0xffffffff), "");
    LLVMValueRef off = LLVMBuildAnd(l->b, v, low_const(l, t, OFFSET_MASK), "");
    LLVMValueRef rank = LLVMBuildLShr(l->b, v, low_const(l, t, RANK_AT), "");
    LLVMValueRef own = LLVMBuildICmp(l->b, LLVMIntEQ, rank, low_const(l, t, 0), "");
    rank = LLVMBuildSub(l->b, rank, low_const(l, t, 1), "");
    LLVMValueRef other = LLVMBuildAdd(l->b, LLVMBuildMul(l->b, rank, alike(l, stride, v), ""),
                                      alike(l, first, v), "");
    return LLVMBuildAdd(l->b, LLVMBuildSelect(l->b, own, shared_base(l, v), other, ""), off, "");
}

/* Offset in a block's shared memory and the block's rank, of a generic address. */
static LLVMValueRef taken_apart(struct low *l, LLVMValueRef v, LLVMValueRef *rank)
{
    LLVMValueRef stride = low_cluster_field(l, offsetof(struct weir_cluster, stride), l->t.i64);
    LLVMValueRef first = low_cluster_field(l, offsetof(struct weir_cluster, shared), l->t.i64);
    v = low_resize(l, v, 64, false);
    /* a division of 32 bits: a cluster is no larger */
    LLVMValueRef rel = low_resize(l, LLVMBuildSub(l->b, v, alike(l, first, v), ""), 32, false);
    stride = alike(l, LLVMBuildTrunc(l->b, stride, l->t.i32, ""), rel);
    *rank = LLVMBuildUDiv(l->b, rel, stride, "");
    return LLVMBuildSub(l->b, rel, LLVMBuildMul(l->b, *rank, stride, ""), "");
}

static LLVMValueRef with_rank(struct low *l, LLVMValueRef off, LLVMValueRef rank)
{
    LLVMTypeRef t = LLVMTypeOf(off);
    rank = LLVMBuildAdd(l->b, low_resize(l, rank, low_bits_of(off), false), low_const(l, t, 1), "");
    off = LLVMBuildAnd(l->b, off, low_const(l, t, OFFSET_MASK), "");
    return LLVMBuildOr(l->b, off, LLVMBuildShl(l->b, rank, low_const(l, t, RANK_AT), ""), "");
}

static LLVMValueRef mapped(struct low *l, struct low_args *x)
{
    LLVMValueRef a = x->a[0], rank = x->a[1], from;
    if (x->p->space == WEIR_PTX_SHARED_CLUSTER)
        return with_rank(l, a, rank);
    LLVMValueRef off = low_resize(l, taken_apart(l, a, &from), 64, false);
    LLVMValueRef stride = low_cluster_field(l, offsetof(struct weir_cluster, stride), l->t.i64);
    LLVMValueRef first = low_cluster_field(l, offsetof(struct weir_cluster, shared), l->t.i64);
    rank = LLVMBuildMul(l->b, low_resize(l, rank, 64, false), alike(l, stride, off), "");
    return LLVMBuildAdd(l->b, LLVMBuildAdd(l->b, rank, off, ""), alike(l, first, off), "");
}

static LLVMValueRef rank_of(struct low *l, struct low_args *x)
{
    LLVMValueRef rank;
    if (x->p->space != WEIR_PTX_SHARED_CLUSTER) {
        (void)taken_apart(l, x->a[0], &rank);
        return rank;
    }
    LLVMValueRef v = low_resize(l, x->a[0], 32, false);
    LLVMTypeRef t = LLVMTypeOf(v);
    LLVMValueRef own = field(l, l->block_ptr, offsetof(struct weir_block, cluster_rank), l->t.i32);
    rank = LLVMBuildLShr(l->b, v, low_const(l, t, RANK_AT), "");
    LLVMValueRef is_own = LLVMBuildICmp(l->b, LLVMIntEQ, rank, low_const(l, t, 0), "");
    return LLVMBuildSelect(l->b, is_own, alike(l, own, v),
                           LLVMBuildSub(l->b, rank, low_const(l, t, 1), ""), "");
}

LLVMValueRef low_cluster_value(struct low *l, struct low_args *x)
{
    LLVMValueRef rank;
    switch (x->p->opcode) {
    case WEIR_PTX_OP_mapa:
        return mapped(l, x);
    case WEIR_PTX_OP_getctarank:
        return rank_of(l, x);
    case WEIR_PTX_OP_cvta:
        if (x->p->space != WEIR_PTX_SHARED_CLUSTER)
            return NULL;
        if (x->p->sub != WEIR_PTX_SUB_TO)
            return low_resize(l, low_cluster_absolute(l, x->a[0]), low_bits_of(x->a[0]), false);
        LLVMValueRef off = low_resize(l, taken_apart(l, x->a[0], &rank), 64, false);
        return low_resize(l, with_rank(l, off, rank), low_bits_of(x->a[0]), false);
    default:
        return NULL;
    }
}

/* ---- special registers ---- */

static LLVMValueRef blocks_of(struct low *l, unsigned axis)
{
    LLVMValueRef at =
        LLVMConstInt(l->t.i64, offsetof(struct weir_launch, cluster) + 4 * (size_t)axis, 0);
    LLVMValueRef v =
        LLVMBuildLoad2(l->b, l->t.i32, LLVMBuildGEP2(l->b, l->t.i8, l->launch_ptr, &at, 1, ""), "");
    return low_binary(l, "llvm.umax", v, LLVMConstInt(l->t.i32, 1, 0));
}

static LLVMValueRef within(struct low *l, unsigned axis)
{
    return LLVMBuildURem(l->b, l->ctaid[axis], blocks_of(l, axis), "");
}

bool low_cluster_sreg(struct low *l, uint16_t sreg, uint8_t element, LLVMValueRef *v)
{
    bool count = sreg == WEIR_PTX_SREG_nclusterid || sreg == WEIR_PTX_SREG_cluster_nctaid;
    bool scalar = sreg == WEIR_PTX_SREG_cluster_ctarank || sreg == WEIR_PTX_SREG_cluster_nctarank ||
                  sreg == WEIR_PTX_SREG_is_explicit_cluster;
    if (element > 2 && !scalar) {
        *v = LLVMConstInt(l->t.i32, count, 0);
        return count || sreg == WEIR_PTX_SREG_clusterid || sreg == WEIR_PTX_SREG_cluster_ctaid;
    }
    switch (sreg) { /* dispatch */
    case WEIR_PTX_SREG_clusterid:
        *v = LLVMBuildUDiv(l->b, l->ctaid[element], blocks_of(l, element), "");
        return true;
    case WEIR_PTX_SREG_nclusterid:
        *v = LLVMBuildUDiv(l->b, l->nctaid[element], blocks_of(l, element), "");
        return true;
    case WEIR_PTX_SREG_cluster_ctaid:
        *v = within(l, element);
        return true;
    case WEIR_PTX_SREG_cluster_nctaid:
        *v = blocks_of(l, element);
        return true;
    case WEIR_PTX_SREG_cluster_ctarank:
        *v = within(l, 2);
        for (unsigned axis = 2; axis-- > 0;)
            *v = LLVMBuildAdd(l->b, LLVMBuildMul(l->b, *v, blocks_of(l, axis), ""), within(l, axis),
                              "");
        return true;
    case WEIR_PTX_SREG_cluster_nctarank:
        *v = LLVMBuildMul(l->b, LLVMBuildMul(l->b, blocks_of(l, 0), blocks_of(l, 1), ""),
                          blocks_of(l, 2), "");
        return true;
    case WEIR_PTX_SREG_is_explicit_cluster:
        *v = field(l, l->launch_ptr, offsetof(struct weir_launch, explicit_cluster), l->t.i32);
        *v = LLVMBuildICmp(l->b, LLVMIntNE, *v, LLVMConstInt(l->t.i32, 0, 0), "");
        return true;
    default:
        return false;
    }
}
