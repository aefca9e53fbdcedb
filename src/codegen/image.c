/* Loader of relocatable objects, the part that is the same on every processor. One anonymous
 * mapping holds three groups of whole pages: code with the stubs of far calls, read-only data with
 * the table of addresses, writable data. It is written read-write, relocated, then closed: code
 * read-execute, constants read-only, never writable and executable at once. Nothing of the object
 * is trusted: every offset, size, index and name is checked before it is used.
 * SPDX-License-Identifier: Apache-2.0 */
#include "codegen/image.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "codegen/image_arch.h"

#define PAGE_BYTES      ((uint64_t)4096)
#define IMAGE_MAX_BYTES ((uint64_t)256 << 20)
#define SECTION_MAX     1024u
/* In front of the first function: instrumented callers (-fsanitize=function) look for a mark there.
 */
#define CODE_GAP ((uint64_t)64)

enum group { GROUP_CODE, GROUP_CONST, GROUP_DATA, GROUP_COUNT, GROUP_NONE = GROUP_COUNT };

struct image_function {
    char *name;
    uint64_t offset, bytes; /* in the mapping */
};

struct weir_image {
    unsigned char *map;
    size_t map_bytes;
    struct image_function *functions;
    size_t function_count;
    uint64_t *sections; /* address of each of the object's; 0: not loaded */
    size_t section_count;
};

struct image_section {
    uint64_t offset, bytes; /* in the mapping */
    enum group group;
};

/* State of one load. */
struct loader {
    const unsigned char *object;
    uint64_t bytes;
    const struct weir_image_arch *arch;
    Elf64_Ehdr header;
    struct image_section sections[SECTION_MAX];
    uint32_t symtab_section;
    uint64_t symtab, symbol_count; /* file offset, entries */
    uint64_t strings, string_bytes;
    uint64_t start[GROUP_COUNT], end[GROUP_COUNT];
    uint64_t stubs, slots; /* one of each for every symbol, in the mapping */
    unsigned char *map;
    uint64_t map_bytes;
};

#define BAD(...) WEIR_FAIL(WEIR_ERR_INVALID_KERNEL_IMAGE, "compiled object: " __VA_ARGS__)

static const struct weir_image_arch *host_arch(void)
{
#if defined(__x86_64__)
    return &weir_image_x86_64;
#else
    return NULL;
#endif
}

static bool inside(uint64_t offset, uint64_t bytes, uint64_t limit)
{
    return offset <= limit && bytes <= limit - offset;
}

static void section_header(const struct loader *l, uint32_t index, Elf64_Shdr *out)
{
    memcpy(out, l->object + l->header.e_shoff + (uint64_t)index * sizeof *out, sizeof *out);
}

static enum weir_err read_header(struct loader *l)
{
    const Elf64_Ehdr *h = &l->header;

    if (l->bytes < sizeof l->header)
        return BAD("%llu bytes is too short", (unsigned long long)l->bytes);
    memcpy(&l->header, l->object, sizeof l->header);
    if (memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_ident[EI_CLASS] != ELFCLASS64 ||
        h->e_ident[EI_DATA] != ELFDATA2LSB || h->e_type != ET_REL)
        return BAD("not a relocatable 64-bit ELF file");
    l->arch = host_arch();
    if (!l->arch || h->e_machine != l->arch->machine)
        return BAD("made for another processor (%u)", h->e_machine);
    if (h->e_shentsize != sizeof(Elf64_Shdr) || h->e_shnum == 0 || h->e_shnum > SECTION_MAX)
        return BAD("%u sections of %u bytes", h->e_shnum, h->e_shentsize);
    if (!inside(h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr), l->bytes))
        return BAD("section headers past the end");
    return WEIR_OK;
}

/* Which pages a section belongs to; refuses the kinds that would need what this loader does not do.
 */
static enum weir_err classify(const Elf64_Shdr *s, uint32_t index, enum group *out)
{
    *out = GROUP_NONE;
    if (!(s->sh_flags & SHF_ALLOC) || s->sh_size == 0)
        return WEIR_OK;
    if (s->sh_flags & SHF_TLS)
        return BAD("section %u is thread-local", index);
    switch (s->sh_type) {
    case SHT_PROGBITS:
    case SHT_NOBITS:
        break;
    case SHT_NOTE:
    case 0x70000001: /* unwind tables under their own type */
        return WEIR_OK;
    default:
        return BAD("section %u has type %u", index, s->sh_type);
    }
    *out = s->sh_flags & SHF_EXECINSTR ? GROUP_CODE
           : s->sh_flags & SHF_WRITE   ? GROUP_DATA
                                       : GROUP_CONST;
    return WEIR_OK;
}

/* Unwind tables come as ordinary read-only data too; nothing here throws or unwinds. */
static bool is_unwind_table(const struct loader *l, const Elf64_Shdr *s)
{
    static const char name[] = ".eh_frame";
    Elf64_Shdr names;

    if (l->header.e_shstrndx >= l->header.e_shnum)
        return false;
    section_header(l, l->header.e_shstrndx, &names);
    return inside(names.sh_offset, names.sh_size, l->bytes) &&
           inside(s->sh_name, sizeof name, names.sh_size) &&
           memcmp(l->object + names.sh_offset + s->sh_name, name, sizeof name) == 0;
}

static enum weir_err read_symtab(struct loader *l, const Elf64_Shdr *s, uint32_t index)
{
    Elf64_Shdr strings;

    if (l->symtab_section)
        return BAD("two symbol tables");
    if (s->sh_entsize != sizeof(Elf64_Sym) || !inside(s->sh_offset, s->sh_size, l->bytes) ||
        s->sh_link >= l->header.e_shnum)
        return BAD("symbol table is damaged");
    section_header(l, s->sh_link, &strings);
    if (strings.sh_type != SHT_STRTAB || strings.sh_size == 0 ||
        !inside(strings.sh_offset, strings.sh_size, l->bytes) ||
        l->object[strings.sh_offset + strings.sh_size - 1] != 0)
        return BAD("string table is damaged");
    l->symtab_section = index;
    l->symtab = s->sh_offset;
    l->symbol_count = s->sh_size / sizeof(Elf64_Sym);
    l->strings = strings.sh_offset;
    l->string_bytes = strings.sh_size;
    return WEIR_OK;
}

static enum weir_err read_sections(struct loader *l)
{
    for (uint32_t i = 0; i < l->header.e_shnum; i++) {
        struct image_section *out = &l->sections[i];
        enum weir_err err;
        Elf64_Shdr s;

        section_header(l, i, &s);
        out->group = GROUP_NONE;
        if (s.sh_type == SHT_SYMTAB) {
            err = read_symtab(l, &s, i);
            if (err)
                return err;
            continue;
        }
        err = classify(&s, i, &out->group);
        if (err)
            return err;
        if (out->group == GROUP_CONST && is_unwind_table(l, &s))
            out->group = GROUP_NONE;
        if (out->group == GROUP_NONE)
            continue;
        if (s.sh_type != SHT_NOBITS && !inside(s.sh_offset, s.sh_size, l->bytes))
            return BAD("section %u past the end", i);
        if (s.sh_addralign > PAGE_BYTES || (s.sh_addralign & (s.sh_addralign - 1)))
            return BAD("section %u wants alignment %llu", i, (unsigned long long)s.sh_addralign);
        if (s.sh_size > IMAGE_MAX_BYTES)
            return BAD("section %u has %llu bytes", i, (unsigned long long)s.sh_size);
        out->bytes = s.sh_size;
    }
    if (!l->symtab_section)
        return BAD("no symbol table");
    return WEIR_OK;
}

/* Gives each section its place. At most SECTION_MAX sections of at most IMAGE_MAX_BYTES: no
 * overflow. */
static enum weir_err lay_out(struct loader *l)
{
    uint64_t at = 0;

    for (int g = 0; g < GROUP_COUNT; g++) {
        at = WEIR_ALIGN_UP(at, PAGE_BYTES);
        l->start[g] = at;
        at += g == GROUP_CODE ? CODE_GAP : 0;
        for (uint32_t i = 0; i < l->header.e_shnum; i++) {
            Elf64_Shdr s;

            if ((int)l->sections[i].group != g)
                continue;
            section_header(l, i, &s);
            at = WEIR_ALIGN_UP(at, WEIR_MAX(s.sh_addralign, (uint64_t)1));
            l->sections[i].offset = at;
            at += l->sections[i].bytes;
        }
        at = WEIR_ALIGN_UP(at, (uint64_t)16);
        if (g == GROUP_CODE) {
            l->stubs = at;
            at += l->symbol_count * l->arch->stub_bytes;
        } else if (g == GROUP_CONST) {
            l->slots = at;
            at += l->symbol_count * 8;
        }
        l->end[g] = at;
    }
    l->map_bytes = WEIR_ALIGN_UP(at, PAGE_BYTES);
    if (l->map_bytes > IMAGE_MAX_BYTES || l->map_bytes == 0)
        return BAD("%llu bytes to load", (unsigned long long)l->map_bytes);
    return WEIR_OK;
}

static enum weir_err map_sections(struct loader *l)
{
    void *map =
        mmap(NULL, l->map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (map == MAP_FAILED)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "no memory for %llu bytes of code",
                         (unsigned long long)l->map_bytes);
    l->map = map;
    for (uint32_t i = 0; i < l->header.e_shnum; i++) {
        Elf64_Shdr s;

        if (l->sections[i].group == GROUP_NONE)
            continue;
        section_header(l, i, &s);
        if (s.sh_type != SHT_NOBITS)
            memcpy(l->map + l->sections[i].offset, l->object + s.sh_offset, s.sh_size);
    }
    return WEIR_OK;
}

static void symbol_at(const struct loader *l, uint64_t index, Elf64_Sym *out)
{
    memcpy(out, l->object + l->symtab + index * sizeof *out, sizeof *out);
}

static const char *symbol_name(const struct loader *l, const Elf64_Sym *s)
{
    /* The table's last byte is zero, so that any offset inside it begins a string that ends. */
    return s->st_name < l->string_bytes ? (const char *)l->object + l->strings + s->st_name : "";
}

/* Run-time address of a symbol; *external when it is one of the list. */
static enum weir_err symbol_address(const struct loader *l, const Elf64_Sym *s, uint64_t *out,
                                    bool *external)
{
    *external = false;
    if (ELF64_ST_TYPE(s->st_info) == STT_TLS || ELF64_ST_TYPE(s->st_info) == STT_GNU_IFUNC)
        return BAD("symbol %.64s is of type %u", symbol_name(l, s), ELF64_ST_TYPE(s->st_info));
    if (s->st_shndx == SHN_UNDEF) {
        void *p = weir_image_external(symbol_name(l, s));

        if (!p)
            return BAD("symbol %.64s is not one that kernels may call", symbol_name(l, s));
        *external = true;
        *out = (uint64_t)(uintptr_t)p;
        return WEIR_OK;
    }
    if (s->st_shndx == SHN_ABS) {
        *out = s->st_value;
        return WEIR_OK;
    }
    if (s->st_shndx >= l->header.e_shnum || l->sections[s->st_shndx].group == GROUP_NONE ||
        s->st_value > l->sections[s->st_shndx].bytes)
        return BAD("symbol %.64s is nowhere (section %u)", symbol_name(l, s), s->st_shndx);
    *out = (uint64_t)(uintptr_t)l->map + l->sections[s->st_shndx].offset + s->st_value;
    return WEIR_OK;
}

/* The slot that holds the symbol's address. Filling it twice writes the same. */
static uint64_t fill_slot(const struct loader *l, uint64_t symbol, uint64_t address)
{
    uint64_t offset = l->slots + symbol * 8;

    memcpy(l->map + offset, &address, sizeof address);
    return (uint64_t)(uintptr_t)l->map + offset;
}

static bool apply_call(const struct loader *l, uint32_t type, unsigned char *out, uint64_t place,
                       uint64_t symbol, uint64_t address, uint64_t addend, bool external)
{
    uint64_t base = (uint64_t)(uintptr_t)l->map;
    uint64_t stub = l->stubs + symbol * l->arch->stub_bytes;

    if (l->arch->apply(type, out, place, address + addend))
        return true;
    return external && l->arch->stub(l->map + stub, base + stub, fill_slot(l, symbol, address)) &&
           l->arch->apply(type, out, place, base + stub + addend);
}

static enum weir_err relocate(struct loader *l, const Elf64_Rela *r,
                              const struct image_section *target)
{
    uint32_t type = (uint32_t)ELF64_R_TYPE(r->r_info);
    uint64_t symbol = ELF64_R_SYM(r->r_info), address = 0, addend = (uint64_t)r->r_addend, place;
    enum weir_image_want want = l->arch->want(type);
    unsigned char *out;
    enum weir_err err;
    bool external, ok;
    Elf64_Sym s;

    if (want == WEIR_IMAGE_WANT_NOTHING)
        return WEIR_OK;
    if (want == WEIR_IMAGE_WANT_REFUSE)
        return BAD("relocation type %u", type);
    if (!inside(r->r_offset, l->arch->width(type), target->bytes) || symbol >= l->symbol_count)
        return BAD("relocation outside its section");
    symbol_at(l, symbol, &s);
    err = symbol_address(l, &s, &address, &external);
    if (err)
        return err;
    out = l->map + target->offset + r->r_offset;
    place = (uint64_t)(uintptr_t)out;
    if (want == WEIR_IMAGE_WANT_GOT)
        ok = l->arch->apply(type, out, place, fill_slot(l, symbol, address) + addend);
    else if (want == WEIR_IMAGE_WANT_CALL)
        ok = apply_call(l, type, out, place, symbol, address, addend, external);
    else
        ok = l->arch->apply(type, out, place, address + addend);
    return ok ? WEIR_OK
              : BAD("relocation type %u against %.64s out of range", type, symbol_name(l, &s));
}

static enum weir_err relocate_all(struct loader *l)
{
    for (uint32_t i = 0; i < l->header.e_shnum; i++) {
        Elf64_Shdr s;

        section_header(l, i, &s);
        if (s.sh_type != SHT_RELA && s.sh_type != SHT_REL)
            continue;
        if (s.sh_info >= l->header.e_shnum || l->sections[s.sh_info].group == GROUP_NONE)
            continue; /* debug information, unwind tables */
        if (s.sh_type == SHT_REL || s.sh_entsize != sizeof(Elf64_Rela) ||
            s.sh_link != l->symtab_section || !inside(s.sh_offset, s.sh_size, l->bytes))
            return BAD("relocation section %u is damaged", i);
        for (uint64_t n = 0; n < s.sh_size / sizeof(Elf64_Rela); n++) {
            enum weir_err err;
            Elf64_Rela r;

            memcpy(&r, l->object + s.sh_offset + n * sizeof r, sizeof r);
            err = relocate(l, &r, &l->sections[s.sh_info]);
            if (err)
                return err;
        }
    }
    return WEIR_OK;
}

static enum weir_err protect(const struct loader *l)
{
    static const int protection[GROUP_COUNT] = {PROT_READ | PROT_EXEC, PROT_READ,
                                                PROT_READ | PROT_WRITE};

    for (int g = 0; g < GROUP_COUNT; g++) {
        uint64_t bytes = WEIR_ALIGN_UP(l->end[g], PAGE_BYTES) - l->start[g];

        if (bytes && mprotect(l->map + l->start[g], bytes, protection[g]) != 0)
            return WEIR_FAIL(WEIR_ERR_OPERATING_SYSTEM, "cannot make code executable");
    }
    return WEIR_OK;
}

static bool is_function(const struct loader *l, const Elf64_Sym *s)
{
    return ELF64_ST_TYPE(s->st_info) == STT_FUNC && ELF64_ST_BIND(s->st_info) != STB_LOCAL &&
           s->st_shndx != SHN_UNDEF && s->st_shndx < l->header.e_shnum &&
           l->sections[s->st_shndx].group == GROUP_CODE &&
           s->st_value < l->sections[s->st_shndx].bytes;
}

static enum weir_err keep_functions(const struct loader *l, struct weir_image *image)
{
    size_t count = 0;
    Elf64_Sym s;

    for (uint64_t i = 0; i < l->symbol_count; i++) {
        symbol_at(l, i, &s);
        count += is_function(l, &s);
    }
    image->functions = weir_calloc(count, sizeof *image->functions);
    if (!image->functions)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "no memory for symbols");
    for (uint64_t i = 0; i < l->symbol_count && image->function_count < count; i++) {
        struct image_function *f = &image->functions[image->function_count];

        symbol_at(l, i, &s);
        if (!is_function(l, &s))
            continue;
        f->name = weir_strdup(symbol_name(l, &s));
        if (!f->name)
            return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "no memory for symbols");
        f->offset = l->sections[s.st_shndx].offset + s.st_value;
        f->bytes = WEIR_MIN(s.st_size, l->sections[s.st_shndx].bytes - s.st_value);
        image->function_count++;
    }
    return WEIR_OK;
}

static enum weir_err keep_sections(const struct loader *l, struct weir_image *image)
{
    image->sections = weir_calloc(l->header.e_shnum, sizeof *image->sections);
    if (!image->sections)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "no memory for an image's sections");
    image->section_count = l->header.e_shnum;
    for (uint32_t i = 0; i < l->header.e_shnum; i++)
        if (l->sections[i].group != GROUP_NONE)
            image->sections[i] = (uint64_t)(uintptr_t)l->map + l->sections[i].offset;
    return WEIR_OK;
}

static enum weir_err load(struct loader *l, struct weir_image *image)
{
    enum weir_err err = read_header(l);

    if (!err)
        err = read_sections(l);
    if (!err)
        err = lay_out(l);
    if (!err)
        err = map_sections(l);
    image->map = l->map;
    image->map_bytes = l->map_bytes;
    if (!err)
        err = relocate_all(l);
    if (!err)
        err = keep_functions(l, image);
    if (!err)
        err = keep_sections(l, image);
    if (!err)
        err = protect(l);
    return err;
}

enum weir_err weir_image_load(const void *object, size_t bytes, struct weir_image **out)
{
    struct weir_image *image = weir_calloc(1, sizeof *image);
    struct loader *l = weir_calloc(1, sizeof *l); /* tens of kilobytes: not for a caller's stack */
    enum weir_err err;

    *out = NULL;
    if (!image || !l) {
        weir_free(image);
        weir_free(l);
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "no memory for an image");
    }
    l->object = object;
    l->bytes = bytes;
    err = load(l, image);
    weir_free(l);
    if (err) {
        weir_image_unload(image);
        return err;
    }
    *out = image;
    return WEIR_OK;
}

void weir_image_unload(struct weir_image *image)
{
    if (!image)
        return;
    if (image->map)
        munmap(image->map, image->map_bytes);
    for (size_t i = 0; i < image->function_count; i++)
        weir_free(image->functions[i].name);
    weir_free(image->functions);
    weir_free(image->sections);
    weir_free(image);
}

void *weir_image_function(const struct weir_image *image, const char *name)
{
    for (size_t i = 0; i < image->function_count; i++) {
        if (strcmp(image->functions[i].name, name) == 0)
            return image->map + image->functions[i].offset;
    }
    return NULL;
}

bool weir_image_find(const struct weir_image *image, uintptr_t pc, struct weir_image_place *out)
{
    if (!image || pc - (uintptr_t)image->map >= image->map_bytes)
        return false;
    *out = (struct weir_image_place){.name = ""};
    for (size_t i = 0; i < image->function_count; i++) {
        const struct image_function *f = &image->functions[i];

        if (pc - (uintptr_t)image->map - f->offset < f->bytes)
            *out = (struct weir_image_place){f->name, (uintptr_t)image->map + f->offset,
                                             (size_t)f->bytes};
    }
    return true;
}

uintptr_t weir_image_section(const struct weir_image *image, uint32_t index)
{
    return index < image->section_count ? (uintptr_t)image->sections[index] : 0;
}

void weir_image_each(const struct weir_image *image,
                     void (*visit)(const struct weir_image_place *place, void *arg), void *arg)
{
    for (size_t i = 0; i < image->function_count; i++) {
        const struct image_function *f = &image->functions[i];
        struct weir_image_place p = {f->name, (uintptr_t)image->map + f->offset, (size_t)f->bytes};

        visit(&p, arg);
    }
}
