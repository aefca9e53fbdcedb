/* Texture and surface instructions, as forms_texture.c reads them from the text.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CODEGEN_FORMS_TEXTURE_H
#define WEIR_CODEGEN_FORMS_TEXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "device/texture.h"
#include "ptx/ptx.h"

static inline bool weir_cg_is_texture(uint16_t opcode)
{
    return opcode == WEIR_PTX_OP_tex || opcode == WEIR_PTX_OP_tld4 || opcode == WEIR_PTX_OP_txq ||
           opcode == WEIR_PTX_OP_suld || opcode == WEIR_PTX_OP_sust ||
           opcode == WEIR_PTX_OP_sured || opcode == WEIR_PTX_OP_suq ||
           opcode == WEIR_PTX_OP_istypep;
}

struct texture_form {
    uint32_t code;                        /* device/texture.h */
    uint8_t handle;                       /* the operand that names the object */
    const struct weir_ptx_operand *place; /* the coordinates, with the layer; or NULL */
    bool layered;
    uint8_t coordinates;           /* with the layer */
    uint8_t more[2], more_count;   /* operands behind: levels, derivatives, data */
    uint8_t more_rows;             /* elements of each that count */
    uint8_t results;               /* rows of the answer, 64-bit elements as two */
    enum weir_ptx_type type;       /* of a register of the result, or of the data */
    enum weir_ptx_type coordinate; /* F32 or S32 */
    enum weir_ptx_type more_type;  /* F32, or that of the data */
};

/* False: not one of these, or a form that is not there; *why says what. */
bool weir_cg_texture_form(const struct weir_ptx_inst *p, struct texture_form *f, const char **why);

#endif
