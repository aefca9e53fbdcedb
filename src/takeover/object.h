/* An object file as it lies on disk: its symbols, before the program's loader has relocated
 * anything. Only the CUDA runtime's functions are looked for. Offsets in the file are not trusted.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TAKEOVER_OBJECT_H
#define WEIR_TAKEOVER_OBJECT_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A function cuda... or __cuda... of the object. */
struct weir_object_function {
    const char *name;           /* in the mapped file */
    uint64_t value;             /* address in the file's terms */
    uint64_t gap;               /* bytes up to the next symbol or the end of the section */
    const unsigned char *bytes; /* the entry as the file has it; at least min(gap, 5) bytes */
};

enum { WEIR_OBJECT_FUNCTIONS = 2048 };

struct weir_object {
    unsigned char *file; /* mapped, or NULL when there was nothing to read in it */
    size_t file_bytes;
    long fd;
    bool is_dynamic;                        /* names a dynamic loader */
    bool has_symbols;                       /* .symtab */
    bool has_device_code;                   /* .nv_fatbin */
    bool imports_cudart;                    /* takes __cudaRegisterFatBinary from elsewhere */
    struct weir_object_function *functions; /* ascending by value */
    size_t function_count;
};

/* Opens and looks; exports_cudart says that the object's dynamic symbols, which need no .symtab,
 * have a runtime in them. False when the file cannot be read or is no ELF file of this machine's
 * kind; nothing is to be closed then. Costs three system calls and no mapping for an object without
 * symbols and without device code. */
bool weir_object_open(struct weir_object *o, const char *path, bool exports_cudart);
void weir_object_close(struct weir_object *o);

/* True when the functions found are a CUDA runtime (and not merely names that look alike). */
bool weir_object_has_cudart(const struct weir_object *o);
/* True when they are that of CUDA 12, some of whose functions differ from 13's of that name. */
bool weir_object_is_cuda12(const struct weir_object *o);

#endif
