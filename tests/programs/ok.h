/* What the programs here ask of every call: one that answers otherwise ends the program with the
 * status 40, which none has for itself, at once: ends of libraries might wait for what is wrong.
 * For C and C++.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TESTS_PROGRAMS_OK_H
#define WEIR_TESTS_PROGRAMS_OK_H

#include <cuda_runtime.h>
#include <stdio.h>
#include <unistd.h>

static inline void ok_gives(cudaError_t got, cudaError_t want, const char *call, const char *file,
                            int line)
{
    if (got == want)
        return;
    fprintf(stderr, "%s:%d: %s: %s, not %s\n", file, line, call, cudaGetErrorName(got),
            cudaGetErrorName(want));
    fflush(NULL);
    _exit(40);
}

#define GIVES(call, error) ok_gives((call), (error), #call, __FILE__, __LINE__)
#define OK(call)           GIVES(call, cudaSuccess)

#endif
