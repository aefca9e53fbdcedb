/* libweir-preload.so: where functions of an object go that Weir cannot stand in for (a CUDA 12
 * function whose CUDA 13 namesake differs). Says so once a name, and returns the documented error.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/compiler.h"
#include "takeover/unknown.h"

enum { CUDA_ERROR_NOT_SUPPORTED = 801, NAMES = 64 };

WEIR_EXPORT int weir_takeover_unknown(const char *name)
{
    static _Atomic(const char *) said[NAMES];
    char line[256];
    int n;

    for (int i = 0; i < NAMES; i++) {
        const char *was = NULL;

        if (atomic_compare_exchange_strong(&said[i], &was, name))
            break;
        if (was == name) /* the auditor's names are one string each */
            return CUDA_ERROR_NOT_SUPPORTED;
    }
    n = snprintf(line, sizeof line,
                 "weir: not supported: %s of CUDA 12 (build the program with CUDA 13)\n", name);
    if (n > 0 && write(STDERR_FILENO, line, (size_t)n) < 0)
        return CUDA_ERROR_NOT_SUPPORTED;
    return CUDA_ERROR_NOT_SUPPORTED;
}
