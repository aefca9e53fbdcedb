/* Names and lines of compiled code for gdb (weir run --gdb).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CODEGEN_GDB_H
#define WEIR_CODEGEN_GDB_H

#include "codegen/image.h"

struct weir_gdb_entry;

/* Tells a debugger of the image that was made of the object; the object is copied. NULL: it cannot
 * be told. Thread: any. */
struct weir_gdb_entry *weir_gdb_add(const struct weir_image *image, const void *object,
                                    size_t bytes);
/* Before the image is unloaded. NULL is accepted. */
void weir_gdb_remove(struct weir_gdb_entry *e);

#endif
