/* What of the processor decides whether compiled code may run: part of the cache key, and the least
 * that Weir needs.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CODEGEN_CPU_H
#define WEIR_CODEGEN_CPU_H

#include "codegen/hash128.h"

/* Adds vendor, model and every feature bit to the hash. Thread: any. */
void weir_cpu_hash(struct weir_hash128 *h);

/* NULL when kernels can run here, else the name of what is missing ("AVX2"). Thread: any. */
const char *weir_cpu_missing(void);

#endif
