/* Inside of the matrix instructions' files.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CODEGEN_LOWER_MATRIX_H
#define WEIR_CODEGEN_LOWER_MATRIX_H

#include "codegen/forms_matrix.h"
#include "codegen/lower/lower.h"

/* Parts are vectors of `width` elements each; element n of the result is element index[n] of all of
 * them one after the other. count <= the length of a part. */
LLVMValueRef matrix_pick(struct low *l, LLVMValueRef *parts, unsigned part_count,
                         const unsigned *index, unsigned count);
/* Registers of an operand as vectors of their bits, [register * groups + group]. */
void matrix_read(struct low *l, const struct low_inst *i, const struct weir_ptx_operand *o,
                 unsigned count, LLVMTypeRef bits, LLVMValueRef *out);
/* The operand's registers; those past `count` repeat the first ones. */
void matrix_write(struct low *l, const struct low_inst *i, const struct weir_ptx_operand *o,
                  unsigned count, LLVMValueRef *v);

/* matrix_memory.c */
void matrix_load(struct low *l, const struct low_inst *i, const struct matrix_form *f);
void matrix_store(struct low *l, const struct low_inst *i, const struct matrix_form *f);
void matrix_rows(struct low *l, const struct low_inst *i, const struct matrix_form *f);
/* matrix_product.c */
void matrix_product(struct low *l, const struct low_inst *i, const struct matrix_form *f);
/* What is known while the function of one form is made. */
struct product {
    const struct weir_ptx_inst *p;
    const struct matrix_form *f;
    unsigned rows, cols, along; /* in tiles */
    unsigned parts;
    LLVMValueRef *a, *b; /* registers */
    LLVMValueRef
        d[MATRIX_MAX_REGS * LOW_MAX_GROUPS]; /* [(column tile, row tile, column) * groups] */
};
/* Part n of a register of A or B, as vectors that are multiplied. */
LLVMValueRef matrix_part(struct low *l, enum matrix_elem e, LLVMValueRef v, unsigned n);
/* Lanes of vectors of 32 or 64 bits; pairs of i16 are one lane. */
LLVMValueRef matrix_pick_lanes(struct low *l, LLVMValueRef *v, unsigned parts,
                               const unsigned *index, bool pairs);
/* matrix_sparse.c: all products of a sparse A; e: its metadata's register */
void matrix_sparse_steps(struct low *l, struct product *x, LLVMValueRef *e);

#endif
