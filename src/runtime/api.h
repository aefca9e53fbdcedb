/* The API's table as data: coverage (`weir info api`), names for traces and tests.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_RUNTIME_API_H
#define WEIR_RUNTIME_API_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

struct weir_api_entry {
    const char *name;    /* the exported symbol */
    const char *chapter; /* of the runtime API's documentation, in capitals */
    bool done;
    bool variant; /* a _ptsz or _ptds form */
};

/* All symbols of libcudart.so.13, in the table's order. */
WEIR_EXPORT const struct weir_api_entry *weir_api_table(size_t *count);

#endif
