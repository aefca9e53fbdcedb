/* The driver API's table as data: coverage (`weir info`), cuGetProcAddress, tests.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_DRIVER_API_H
#define WEIR_DRIVER_API_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

struct weir_driver_entry {
    const char *name;    /* the exported symbol */
    const char *base;    /* what cuGetProcAddress calls it */
    const char *chapter; /* of the driver API's documentation, in capitals */
    const char *host;    /* the column HOST: a name of api/host.def */
    int since;           /* CUDA version */
    bool done;
    bool variant; /* a _ptsz or _ptds form of the entry before it */
    void (*function)(void);
};

/* All symbols of libcuda.so.1, in the table's order. */
WEIR_EXPORT const struct weir_driver_entry *weir_api_driver_table(size_t *count);

#endif
