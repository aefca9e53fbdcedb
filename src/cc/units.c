/* Separately compiled units (-rdc=true). Each object calls __cudaRegisterLinkedBinary followed by
 * its identifier, which whoever links must provide (link.c); nvcc's objects do the same, so that
 * both can stand in one program. Here: which identifiers an object or an archive asks for.
 * Files come from the user: every offset is checked.
 * SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cc/cc_int.h"

static const char function[] = "__cudaRegisterLinkedBinary";

static void add_once(struct cc_args *to, const char *name)
{
    for (size_t i = 0; i < to->v.count; i++)
        if (!strcmp(to->v.items[i], name))
            return;
    cc_args_add(to, "%s", name);
}

static void look_at_symbols(struct cc_units *to, const char *symbols, size_t bytes,
                            const char *strings, size_t string_bytes)
{
    const size_t n = sizeof function - 1;
    for (size_t at = 0; at + sizeof(Elf64_Sym) <= bytes; at += sizeof(Elf64_Sym)) {
        Elf64_Sym s;
        memcpy(&s, symbols + at, sizeof s);
        if (s.st_name >= string_bytes || string_bytes - s.st_name <= n ||
            memcmp(strings + s.st_name, function, n) ||
            !memchr(strings + s.st_name, 0, string_bytes - s.st_name))
            continue;
        add_once(s.st_shndx == SHN_UNDEF ? &to->wanted : &to->defined, strings + s.st_name + n);
    }
}

static void look_at_object(struct cc_units *to, const char *data, size_t bytes)
{
    Elf64_Ehdr h;
    Elf64_Shdr s, strings;
    if (bytes < sizeof h)
        return;
    memcpy(&h, data, sizeof h);
    if (memcmp(h.e_ident, ELFMAG, SELFMAG) || h.e_ident[EI_CLASS] != ELFCLASS64 ||
        h.e_type != ET_REL || h.e_shentsize != sizeof s || h.e_shoff > bytes ||
        (bytes - h.e_shoff) / sizeof s < h.e_shnum)
        return;
    for (size_t i = 0; i < h.e_shnum; i++) {
        memcpy(&s, data + h.e_shoff + i * sizeof s, sizeof s);
        if (s.sh_type != SHT_SYMTAB || s.sh_link >= h.e_shnum)
            continue;
        memcpy(&strings, data + h.e_shoff + s.sh_link * sizeof s, sizeof s);
        if (s.sh_offset <= bytes && s.sh_size <= bytes - s.sh_offset &&
            strings.sh_offset <= bytes && strings.sh_size <= bytes - strings.sh_offset)
            look_at_symbols(to, data + s.sh_offset, s.sh_size, data + strings.sh_offset,
                            strings.sh_size);
    }
}

/* The members of an archive stand one after another behind headers of 60 bytes, sizes in decimal.
 */
static void look_at_archive(struct cc_units *to, const char *data, size_t bytes)
{
    const size_t header = 60;
    size_t at = 8;
    while (at <= bytes && bytes - at >= header) {
        char size_text[11] = "";
        memcpy(size_text, data + at + 48, 10);
        const size_t size = strtoul(size_text, NULL, 10);
        at += header;
        if (size > bytes - at)
            return;
        look_at_object(to, data + at, size);
        at += size + (size & 1);
    }
}

void cc_find_units(struct cc_units *to, const char *path)
{
    size_t bytes;
    FILE *f = fopen(path, "rb");
    if (!f)
        return; /* the linker will say so */
    fclose(f);
    char *data = cc_read_file(path, &bytes);
    if (data && memmem(data, bytes, function, sizeof function - 1)) {
        if (bytes >= 8 && !memcmp(data, "!<arch>\n", 8))
            look_at_archive(to, data, bytes);
        else
            look_at_object(to, data, bytes);
    }
    weir_free(data);
}

/* clang's identifier is __nv_ and hexadecimal digits; as many others take their place, wherever
 * the object holds them: in names of symbols and in the section of identifiers. */
bool cc_rename_unit(const char *object, const char *seed)
{
    struct cc_units units = {0};
    size_t bytes;
    cc_find_units(&units, object);
    const char *id = units.wanted.v.count == 1 ? units.wanted.v.items[0] : "";
    const size_t n = strlen(id), prefix = sizeof "__nv_" - 1;
    bool ok = true;
    if (n > prefix && n - prefix <= strlen(seed) && !memcmp(id, "__nv_", prefix)) {
        char *data = cc_read_file(object, &bytes);
        for (char *p = data; p && (p = memmem(p, bytes - (size_t)(p - data), id, n)); p += n)
            memcpy(p + prefix, seed, n - prefix);
        ok = data && cc_write_file(object, data, bytes);
        weir_free(data);
    }
    cc_units_finish(&units);
    return ok;
}

void cc_units_finish(struct cc_units *units)
{
    cc_args_finish(&units->wanted);
    cc_args_finish(&units->defined);
}
