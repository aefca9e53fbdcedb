/* A compiled object as a file: what the loader leaves aside. For places of faults and for
 * debuggers. Nothing of the object is trusted.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CODEGEN_OBJECT_H
#define WEIR_CODEGEN_OBJECT_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weir_object {
    const unsigned char *data;
    size_t bytes;
    Elf64_Ehdr header;
};

/* False: not a relocatable ELF file whose section headers are whole. */
bool weir_object_open(struct weir_object *o, const void *data, size_t bytes);
/* Section header; false: there is none, or it is no part of the file. */
bool weir_object_section(const struct weir_object *o, uint32_t index, Elf64_Shdr *out);
/* The section of this name; 0: none. */
uint32_t weir_object_section_named(const struct weir_object *o, const char *name);
/* The symbol of this name that the object defines in a section; false: none. */
bool weir_object_symbol(const struct weir_object *o, const char *name, Elf64_Sym *out);
/* The n-th relocation of a section, by its index; false: there are no more. *symbol: what it is
 * against. */
bool weir_object_relocation(const struct weir_object *o, uint32_t section, size_t n,
                            Elf64_Rela *out, Elf64_Sym *symbol);

/* line_table.c: the line of the instruction at `offset` bytes into the function, by the object's
 * .debug_line (DWARF 2 to 4); 0: it does not say. */
uint32_t weir_object_line(const struct weir_object *o, const char *function, uint64_t offset);

#endif
