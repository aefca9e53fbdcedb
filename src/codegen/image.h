/* Loader of one relocatable ELF object that holds a compiled kernel: lays its sections out, applies
 * relocations, makes the code executable. Objects come from the compiler library or from the cache
 * on disk: anything wrong in one gives an error, never a crash. Per-processor parts stand in
 * image_x86_64.c behind image_arch.h.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CODEGEN_IMAGE_H
#define WEIR_CODEGEN_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct weir_image;

/* Loads the object (not kept). Errors: INVALID_KERNEL_IMAGE (damaged, or of a form that the
 * compiler never makes), MEMORY_ALLOCATION. Thread: any. */
enum weir_err weir_image_load(const void *object, size_t bytes,
                              struct weir_image **out) WEIR_MUST_CHECK;
/* NULL is accepted. No code of the image may be running. */
void weir_image_unload(struct weir_image *image);

/* Address of a global symbol that the object defines in code (functions only), or NULL. */
void *weir_image_function(const struct weir_image *image, const char *name);

/* Whose code an address is in; name "": a function's without a symbol. False: not the image's. */
struct weir_image_place {
    const char *name; /* the image's */
    uintptr_t begin;
    size_t bytes;
};
void weir_image_each(const struct weir_image *image,
                     void (*visit)(const struct weir_image_place *place, void *arg), void *arg);
/* Address of one of the object's sections; 0: it was not loaded. */
uintptr_t weir_image_section(const struct weir_image *image, uint32_t index);
bool weir_image_find(const struct weir_image *image, uintptr_t pc, struct weir_image_place *out);

/* The only symbols that objects may leave undefined: memory and mathematics functions of libc and
 * libm, that LLVM calls by itself. NULL for any other name. */
void *weir_image_external(const char *name);

#endif
