/* SPDX-License-Identifier: Apache-2.0 */
#include "codegen/object.h"

#include <string.h>

static bool inside(uint64_t offset, uint64_t bytes, uint64_t limit)
{
    return offset <= limit && bytes <= limit - offset;
}

bool weir_object_open(struct weir_object *o, const void *data, size_t bytes)
{
    o->data = data;
    o->bytes = bytes;
    if (bytes < sizeof o->header)
        return false;
    memcpy(&o->header, data, sizeof o->header);
    return memcmp(o->header.e_ident, ELFMAG, SELFMAG) == 0 &&
           o->header.e_ident[EI_CLASS] == ELFCLASS64 && o->header.e_type == ET_REL &&
           o->header.e_shentsize == sizeof(Elf64_Shdr) &&
           inside(o->header.e_shoff, (uint64_t)o->header.e_shnum * sizeof(Elf64_Shdr), bytes);
}

bool weir_object_section(const struct weir_object *o, uint32_t index, Elf64_Shdr *out)
{
    if (index >= o->header.e_shnum)
        return false;
    memcpy(out, o->data + o->header.e_shoff + (uint64_t)index * sizeof *out, sizeof *out);
    return out->sh_type == SHT_NOBITS || inside(out->sh_offset, out->sh_size, o->bytes);
}

/* The string at `at` of a table, which must end in it. */
static const char *string_at(const struct weir_object *o, uint32_t table, uint32_t at)
{
    Elf64_Shdr s;

    if (!weir_object_section(o, table, &s) || s.sh_type != SHT_STRTAB || at >= s.sh_size ||
        o->data[s.sh_offset + s.sh_size - 1] != 0)
        return "";
    return (const char *)o->data + s.sh_offset + at;
}

uint32_t weir_object_section_named(const struct weir_object *o, const char *name)
{
    Elf64_Shdr s;

    for (uint32_t i = 1; i < o->header.e_shnum; i++)
        if (weir_object_section(o, i, &s) &&
            strcmp(string_at(o, o->header.e_shstrndx, s.sh_name), name) == 0)
            return i;
    return 0;
}

static bool symbol_at(const struct weir_object *o, const Elf64_Shdr *table, uint64_t n,
                      Elf64_Sym *out)
{
    if (n >= table->sh_size / sizeof *out)
        return false;
    memcpy(out, o->data + table->sh_offset + n * sizeof *out, sizeof *out);
    return true;
}

bool weir_object_symbol(const struct weir_object *o, const char *name, Elf64_Sym *out)
{
    Elf64_Shdr s;

    for (uint32_t i = 1; i < o->header.e_shnum; i++) {
        if (!weir_object_section(o, i, &s) || s.sh_type != SHT_SYMTAB)
            continue;
        for (uint64_t n = 0; symbol_at(o, &s, n, out); n++)
            if (out->st_shndx != SHN_UNDEF && out->st_shndx < o->header.e_shnum &&
                strcmp(string_at(o, s.sh_link, out->st_name), name) == 0)
                return true;
    }
    return false;
}

bool weir_object_relocation(const struct weir_object *o, uint32_t section, size_t n,
                            Elf64_Rela *out, Elf64_Sym *symbol)
{
    Elf64_Shdr s, table;

    for (uint32_t i = 1; i < o->header.e_shnum; i++) {
        if (!weir_object_section(o, i, &s) || s.sh_type != SHT_RELA || s.sh_info != section)
            continue;
        if (n >= s.sh_size / sizeof *out || !weir_object_section(o, s.sh_link, &table) ||
            table.sh_type != SHT_SYMTAB)
            return false;
        memcpy(out, o->data + s.sh_offset + n * sizeof *out, sizeof *out);
        return symbol_at(o, &table, ELF64_R_SYM(out->r_info), symbol);
    }
    return false;
}
