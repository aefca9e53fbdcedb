/* Bulk copies and stores with a barrier object, as forms_bulk.c reads them from the text.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CODEGEN_FORMS_BULK_H
#define WEIR_CODEGEN_FORMS_BULK_H

#include <stdbool.h>
#include <stdint.h>

#include "device/bulk.h"
#include "ptx/ptx.h"

struct bulk_form {
    uint32_t code; /* device/bulk.h */
    bool nothing;  /* groups, prefetches: copies are made at once */
    uint8_t to_space, from_space;
    int8_t barrier, mask;       /* operands, -1: none */
    enum weir_ptx_type element; /* of data */
};

/* cp.async.bulk, cp.reduce.async.bulk, st.async or red.async? */
bool weir_cg_is_bulk(const struct weir_ptx_inst *p);
/* False: a form that is not there (tensors, im2col ...). */
bool weir_cg_bulk_form(const struct weir_ptx_inst *p, struct bulk_form *f);

#endif
