/* Matrix instructions of a warp, as forms_matrix.c reads them from the text. A matrix lies in the
 * warp's registers in tiles: of A and B, lane L has in each register the elements of row (B:
 * column) L / 4 and of `per` places along k from (L % 4) * per on; of C and D, lane L has columns
 * (L % 4) * 2 and the next one of row L / 4. Registers follow each other by tiles of 8 rows, then
 * along k (A), by tiles along k, then by 8 columns (B), by 8 rows, then by 8 columns (C, D). So is
 * every fragment of mma.sync that the PTX ISA documents, but for m8n8k4 of f16. Those of wmma are
 * not documented: they are the same here, with registers left over for f16. A sparse A (mma.sp) has
 * half of its elements in such tiles; where they belong along k is in another register, of some of
 * each row's four lanes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CODEGEN_FORMS_MATRIX_H
#define WEIR_CODEGEN_FORMS_MATRIX_H

#include <stdbool.h>
#include <stdint.h>

#include "ptx/ptx.h"

static inline bool weir_cg_is_matrix(uint16_t opcode)
{
    return opcode == WEIR_PTX_OP_mma || opcode == WEIR_PTX_OP_wmma ||
           opcode == WEIR_PTX_OP_ldmatrix || opcode == WEIR_PTX_OP_stmatrix ||
           opcode == WEIR_PTX_OP_movmatrix;
}

enum matrix_kind {
    MATRIX_OTHER,
    MATRIX_MMA,    /* mma.sync, wmma.mma */
    MATRIX_QUADS,  /* mma.sync.m8n8k4 of f16: four products of the warp's quad pairs */
    MATRIX_LOAD,   /* wmma.load */
    MATRIX_STORE,  /* wmma.store */
    MATRIX_LDROWS, /* ldmatrix */
    MATRIX_STROWS, /* stmatrix */
    MATRIX_TURN,   /* movmatrix */
};

enum matrix_elem {
    ELEM_NONE,
    ELEM_F16,
    ELEM_BF16,
    ELEM_TF32,
    ELEM_F64,
    ELEM_E4M3,
    ELEM_E5M2,
    ELEM_S8,
    ELEM_U8,
    ELEM_S4,
    ELEM_U4,
    ELEM_B1,
    ELEM_F32,
    ELEM_S32,
};

#define MATRIX_MAX_REGS 8

struct matrix_form {
    uint8_t kind; /* enum matrix_kind */
    char which;   /* LOAD, STORE: a, b, c or d */
    bool wmma, satfinite, bit_and, trans, sparse;
    uint8_t selector; /* sparse: which of four lanes have the metadata */
    bool row[2];      /* layouts of A and B; [0] of LOAD, STORE: the matrix's */
    uint8_t m, n;
    uint16_t k;
    uint8_t elem[4]; /* of A, B, C, D; [0] of LOAD, STORE: the matrix's */
    uint8_t count;   /* LDROWS, STROWS: matrices */
};

/* MATRIX_OTHER: not one of these, or a form that is not there. */
enum matrix_kind weir_cg_matrix_form(const struct weir_ptx_inst *p, struct matrix_form *f);
/* Elements in a register of A or B. */
unsigned weir_cg_matrix_per(enum matrix_elem e);
unsigned weir_cg_matrix_bits(enum matrix_elem e);
/* Lanes of four that have a sparse A's metadata: 1, 2 or 4. */
unsigned weir_cg_matrix_selected(const struct matrix_form *f);
/* Registers that matter, of matrix 'a', 'b', 'c' or 'd'; the operand may have more (wmma, f16). */
unsigned weir_cg_matrix_regs(const struct matrix_form *f, char which);

#endif
