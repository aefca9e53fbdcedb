/* What a kernel only reads, and whether its parameters say all that it may access.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_PTX_READS_H
#define WEIR_PTX_READS_H

#include "ptx/ptx.h"

/* A bit for each of the kernel's first 64 parameters: no address that is computed from its value is
 * written to, updated, stored or handed to a function. Says nothing of what is reached through
 * pointers that are loaded from memory. 0 also when memory runs out. */
uint64_t weir_ptx_reads(const struct weir_ptx_function *kernel);

/* May it access managed memory that no parameter points to: by an address that is computed from a
 * loaded value of 64 bits (so is one from an index of 64 bits), as a managed variable, or in a
 * function that it calls? */
bool weir_ptx_reaches_more(const struct weir_ptx_function *kernel);

#endif
