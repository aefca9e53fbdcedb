/* Products with a sparse A (mma.sp). A's registers hold half of a row's elements; each belongs to
 * one of four places along k (of tf32: of two; of 4-bit integers: pairs to one of four pairs),
 * which two bits of the metadata say. So for each element of A the element of B is chosen, row by
 * row, and what is not chosen is not multiplied.
 *
 * The metadata of rows r and r + 8 is in some of the four lanes of row r, 4 bits for each group of
 * places, lowest first: of f16, bf16 and tf32 four groups of row r in the lower half of a lane's
 * register and of row r + 8 in the upper one, lanes follow along k; of 8 and 4 bits eight groups of
 * row r in one lane, of row r + 8 in the next one, and two more lanes along k.
 * Source: PTX ISA, "Warp Level Matrix Multiply-Accumulate Operation using mma.sp instruction".
 * SPDX-License-Identifier: Apache-2.0 */
#include "codegen/lower/matrix.h"

#define MAX_K 128

struct sparse {
    struct product *x;
    enum matrix_elem e;
    unsigned per;          /* elements of a register */
    unsigned run, choices; /* neighbours that move together; places that they can be at */
    bool integer;
    LLVMValueRef *meta;
    LLVMValueRef column[2][MAX_K]; /* elements of B for a lane's two columns */
};

static LLVMValueRef element(struct low *l, enum matrix_elem e, LLVMValueRef v, unsigned n)
{
    unsigned bits = weir_cg_matrix_bits(e);
    bool sign = e == ELEM_S8 || e == ELEM_S4;
    if (e != ELEM_S8 && e != ELEM_U8 && e != ELEM_S4 && e != ELEM_U4)
        return matrix_part(l, e, v, n);
    LLVMTypeRef t = LLVMTypeOf(v);
    if (n + 1 < 32 / bits)
        v = LLVMBuildShl(l->b, v, low_const(l, t, 32 - bits * (n + 1)), "");
    return sign ? LLVMBuildAShr(l->b, v, low_const(l, t, 32 - bits), "")
                : LLVMBuildLShr(l->b, v, low_const(l, t, 32 - bits), "");
}

/* Element k of the columns of every lane: the same for all rows. */
static void take_columns(struct low *l, struct sparse *s)
{
    unsigned groups = l->groups, index[64];
    for (unsigned k = 0; k < s->x->f->k; k++) {
        unsigned tile = k / (4 * s->per), q = k % (4 * s->per) / s->per;
        LLVMValueRef v[LOW_MAX_GROUPS];
        for (unsigned g = 0; g < groups; g++)
            v[g] = element(l, s->x->f->elem[1], s->x->b[tile * groups + g], k % s->per);
        for (unsigned c = 0; c < 2; c++) {
            for (unsigned lane = 0; lane < l->width; lane++)
                index[lane] = (lane % 4 * 2 + c) * 4 + q;
            s->column[c][k] = matrix_pick_lanes(l, v, groups, index, false);
        }
    }
}

/* Which of the choices element j of A is at, in each lane's row of tile r. */
static LLVMValueRef choice(struct low *l, const struct sparse *s, unsigned j, unsigned r,
                           unsigned g)
{
    const struct matrix_form *f = s->x->f;
    unsigned lanes = weir_cg_matrix_selected(f), index[64], lane, bit;
    unsigned chosen = j / s->run; /* the how many-th of its row */
    unsigned group = s->choices == 2 ? chosen : chosen / 2;
    if (weir_cg_matrix_bits(s->e) >= 16) {
        lane = f->selector * lanes + group / 4;
        bit = 16 * r + 4 * (group % 4);
    } else {
        lane = f->selector * lanes + r + 2 * (group / 8);
        bit = 4 * (group % 8);
    }
    bit += s->choices == 2 ? 1 : 2 * (chosen % 2);
    for (unsigned n = 0; n < l->width; n++)
        index[n] = n / 4 * 4 + lane;
    LLVMValueRef v = matrix_pick_lanes(l, s->meta + g, 1, index, false);
    LLVMTypeRef t = LLVMTypeOf(v);
    v = LLVMBuildLShr(l->b, v, low_const(l, t, bit), "");
    return LLVMBuildAnd(l->b, v, low_const(l, t, s->choices - 1), "");
}

static void one_element(struct low *l, struct sparse *s, unsigned j, unsigned r, unsigned g)
{
    struct product *x = s->x;
    unsigned groups = l->groups, index[64], chosen = j / s->run;
    unsigned tile = j / (4 * s->per), q = j % (4 * s->per) / s->per;
    unsigned first = (s->choices == 2 ? chosen : chosen / 2) * s->choices * s->run + j % s->run;
    LLVMValueRef a = element(l, s->e, x->a[(tile * x->rows + r) * groups + g], j % s->per);
    LLVMValueRef at = choice(l, s, j, r, g);
    for (unsigned lane = 0; lane < l->width; lane++)
        index[lane] = lane / 4 * 4 + q;
    a = matrix_pick_lanes(l, &a, 1, index, false);
    for (unsigned c = 0; c < 2; c++) {
        LLVMValueRef b = s->column[c][first], *d = &x->d[(r * 2 + c) * groups + g];
        for (unsigned n = 1; n < s->choices; n++) {
            LLVMValueRef here =
                LLVMBuildICmp(l->b, LLVMIntEQ, at, low_const(l, LLVMTypeOf(at), n), "");
            b = LLVMBuildSelect(l->b, here, s->column[c][first + n * s->run], b, "");
        }
        *d = s->integer ? LLVMBuildAdd(l->b, *d, LLVMBuildMul(l->b, a, b, ""), "")
                        : low_ternary(l, "llvm.fma", a, b, *d);
    }
}

void matrix_sparse_steps(struct low *l, struct product *x, LLVMValueRef *e)
{
    struct sparse *s = low_alloc(l, sizeof *s);
    s->x = x;
    s->e = (enum matrix_elem)x->f->elem[0];
    s->per = weir_cg_matrix_per(s->e);
    s->run = weir_cg_matrix_bits(s->e) == 4 ? 2 : 1;
    s->choices = s->e == ELEM_TF32 ? 2 : 4;
    s->integer = x->f->elem[3] == ELEM_S32;
    s->meta = e;
    take_columns(l, s);
    for (unsigned j = 0; j < x->f->k / 2u; j++)
        for (unsigned r = 0; r < x->rows; r++)
            for (unsigned g = 0; g < l->groups; g++)
                one_element(l, s, j, r, g);
}
