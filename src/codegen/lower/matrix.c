/* Matrix instructions: what their files share.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "codegen/lower/matrix.h"

/* ---- shuffles ---- */

/* Elements out of at most two parts. Elements of others are left open. */
static LLVMValueRef pick_of_two(struct low *l, LLVMValueRef *parts, unsigned a, unsigned b,
                                unsigned size, const unsigned *index, unsigned count)
{
    LLVMValueRef idx[128];
    for (unsigned n = 0; n < count; n++) {
        unsigned part = index[n] / size, at = index[n] % size;
        idx[n] = part == a   ? LLVMConstInt(l->t.i32, at, 0)
                 : part == b ? LLVMConstInt(l->t.i32, size + at, 0)
                             : LLVMGetPoison(l->t.i32);
    }
    return LLVMBuildShuffleVector(l->b, parts[a],
                                  a == b ? LLVMGetPoison(LLVMTypeOf(parts[a])) : parts[b],
                                  LLVMConstVector(idx, count), "");
}

LLVMValueRef matrix_pick(struct low *l, LLVMValueRef *parts, unsigned part_count,
                         const unsigned *index, unsigned count)
{
    unsigned size = LLVMGetVectorSize(LLVMTypeOf(parts[0])), used[64], uses = 0;
    LLVMValueRef all = NULL, idx[128];
    for (unsigned k = 0; k < part_count && uses < 64; k++) {
        bool any = false;
        for (unsigned n = 0; n < count; n++)
            any |= index[n] / size == k;
        if (any)
            used[uses++] = k;
    }
    for (unsigned u = 0; u < uses; u += 2) {
        unsigned a = used[u], b = u + 1 < uses ? used[u + 1] : a;
        LLVMValueRef v = pick_of_two(l, parts, a, b, size, index, count);
        if (all) {
            for (unsigned n = 0; n < count; n++) {
                unsigned part = index[n] / size;
                idx[n] = LLVMConstInt(l->t.i32, part == a || part == b ? count + n : n, 0);
            }
            v = LLVMBuildShuffleVector(l->b, all, v, LLVMConstVector(idx, count), "");
        }
        all = v;
    }
    return all;
}

/* ---- operands ---- */

static unsigned operand_regs(const struct weir_ptx_operand *o)
{
    return o->kind == WEIR_PTX_OPERAND_VECTOR ? o->count : 1;
}

static const struct weir_ptx_operand *part_of(const struct weir_ptx_operand *o, unsigned k)
{
    return o->kind == WEIR_PTX_OPERAND_VECTOR ? &o->elements[k] : o;
}

void matrix_read(struct low *l, const struct low_inst *i, const struct weir_ptx_operand *o,
                 unsigned count, LLVMTypeRef bits, LLVMValueRef *out)
{
    enum weir_ptx_type t = bits == l->t.i64 ? WEIR_PTX_B64 : WEIR_PTX_B32;
    for (unsigned k = 0; k < count; k++) {
        struct low_val v = low_read(l, i, part_of(o, k), t);
        for (unsigned g = 0; g < l->groups; g++)
            out[k * l->groups + g] = low_bitcast(l, low_vector(l, &v, g), bits);
    }
}

void matrix_write(struct low *l, const struct low_inst *i, const struct weir_ptx_operand *o,
                  unsigned count, LLVMValueRef *v)
{
    for (unsigned k = 0; k < operand_regs(o); k++) {
        const struct weir_ptx_operand *d = part_of(o, k);
        if (d->kind != WEIR_PTX_OPERAND_REG)
            continue;
        int32_t reg = low_reg_of(l, i, d->reg);
        struct low_val x = {.shape = LOW_VARYING};
        for (unsigned g = 0; g < l->groups; g++)
            x.v[g] = v[k % count * l->groups + g];
        low_write(l, reg, &x);
    }
}

void low_emit_matrix(struct low *l, const struct low_inst *i)
{
    struct matrix_form f;
    switch (weir_cg_matrix_form(i->p, &f)) {
    case MATRIX_MMA:
    case MATRIX_QUADS:
        matrix_product(l, i, &f);
        break;
    case MATRIX_LOAD:
        matrix_load(l, i, &f);
        break;
    case MATRIX_STORE:
        matrix_store(l, i, &f);
        break;
    case MATRIX_LDROWS:
    case MATRIX_STROWS:
    case MATRIX_TURN:
        matrix_rows(l, i, &f);
        break;
    default:
        low_refuse(l, i->p, "form");
    }
}
