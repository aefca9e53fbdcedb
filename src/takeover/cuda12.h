/* What CUDA 12's runtime has that CUDA 13's has not, or has with another signature.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TAKEOVER_CUDA12_H
#define WEIR_TAKEOVER_CUDA12_H

#include <stddef.h>

/* The name as a string that lives as long as the process, when a program of CUDA 12 must not call
 * our function of CUDA 13 under it; NULL when the two are the same. `_ptsz` and `_ptds` forms
 * included. */
const char *weir_cuda12_differing(const char *name);

#endif
