/* Test support: a parsed module back to PTX text that parses to the same instructions. Registers,
 * labels and body variables get new, unique names in the module (nested scopes may repeat names),
 * so the module is changed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TESTS_SUPPORT_PTX_TEXT_H
#define WEIR_TESTS_SUPPORT_PTX_TEXT_H

#include "ptx/ptx.h"

/* The text, to be given to free(). Aborts when out of memory. */
char *ptx_text_of_module(struct weir_ptx_module *m);

/* NULL when both hold the same functions with the same instructions, else what differs (static
 * buffer). */
const char *ptx_text_difference(const struct weir_ptx_module *a, const struct weir_ptx_module *b);

/* Whole file, zero-terminated, to be given to free(); NULL when it cannot be read. */
char *ptx_text_read_file(const char *path, size_t *bytes);

#endif
