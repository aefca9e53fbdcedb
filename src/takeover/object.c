/* See object.h. Two passes over the symbols: the first finds the functions, the second the gap
 * behind each.
 * SPDX-License-Identifier: Apache-2.0 */
#include "takeover/object.h"

#include "takeover/sys.h"

#define SECTIONS_MAX 4096

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#else
#define MACHINE EM_AARCH64
#endif

struct table {
    const Elf64_Sym *symbols;
    size_t count;
    const char *strings;
    size_t strings_bytes;
};

static bool inside(const struct weir_object *o, uint64_t offset, uint64_t bytes)
{
    return offset <= o->file_bytes && bytes <= o->file_bytes - offset;
}

static bool map_file(struct weir_object *o)
{
    long at = sys_mmap(NULL, o->file_bytes, PROT_READ, MAP_PRIVATE, o->fd, 0);
    if (sys_failed(at))
        return false;
    o->file = (unsigned char *)at;
    return true;
}

/* A symbol table section and its strings, when both lie in the file. */
static bool table_find(const struct weir_object *o, const Elf64_Shdr *sections, size_t count,
                       size_t n, struct table *t)
{
    const Elf64_Shdr *s = &sections[n], *str;

    if (s->sh_link >= count || s->sh_entsize != sizeof(Elf64_Sym) || s->sh_offset % 8 != 0)
        return false;
    str = &sections[s->sh_link];
    if (!inside(o, s->sh_offset, s->sh_size) || !inside(o, str->sh_offset, str->sh_size) ||
        str->sh_size == 0 || o->file[str->sh_offset + str->sh_size - 1] != '\0')
        return false;
    t->symbols = (const Elf64_Sym *)(o->file + s->sh_offset);
    t->count = s->sh_size / sizeof(Elf64_Sym);
    t->strings = (const char *)o->file + str->sh_offset;
    t->strings_bytes = str->sh_size;
    return true;
}

static const char *symbol_name(const struct table *t, const Elf64_Sym *s)
{
    return s->st_name < t->strings_bytes ? t->strings + s->st_name : "";
}

static bool name_is_candidate(const char *name)
{
    if (name[0] == '_' && name[1] == '_')
        name += 2;
    return weir_str_begins(name, "cuda") && name[4] >= 'A' && name[4] <= 'Z';
}

static bool is_function(const Elf64_Sym *s, size_t sections)
{
    unsigned type = ELF64_ST_TYPE(s->st_info);

    return (type == STT_FUNC || type == STT_GNU_IFUNC) && s->st_shndx != SHN_UNDEF &&
           s->st_shndx < sections;
}

/* Keeps o->functions sorted; the symbols come in no order. */
static void function_insert(struct weir_object *o, struct weir_object_function f)
{
    size_t i = o->function_count;

    if (i == WEIR_OBJECT_FUNCTIONS)
        return;
    for (; i > 0 && o->functions[i - 1].value > f.value; i--)
        o->functions[i] = o->functions[i - 1];
    o->functions[i] = f;
    o->function_count++;
}

static void find_functions(struct weir_object *o, const Elf64_Shdr *sections, size_t count,
                           const struct table *t)
{
    for (size_t i = 0; i < t->count; i++) {
        const Elf64_Sym *s = &t->symbols[i];
        struct weir_object_function f = {.value = s->st_value};
        const Elf64_Shdr *in;
        uint64_t at;

        if (!is_function(s, count))
            continue;
        f.name = symbol_name(t, s);
        if (!name_is_candidate(f.name))
            continue;
        in = &sections[s->st_shndx];
        at = s->st_value - in->sh_addr;
        if (!(in->sh_flags & SHF_EXECINSTR) || in->sh_type == SHT_NOBITS || at >= in->sh_size ||
            !inside(o, in->sh_offset, in->sh_size))
            continue;
        f.gap = in->sh_size - at;
        f.bytes = o->file + in->sh_offset + at;
        function_insert(o, f);
    }
}

/* The function before each symbol's address ends there at the latest. */
static void find_gaps(struct weir_object *o, size_t sections, const struct table *t)
{
    for (size_t i = 0; i < t->count; i++) {
        const Elf64_Sym *s = &t->symbols[i];
        unsigned type = ELF64_ST_TYPE(s->st_info);
        size_t lo = 0, hi = o->function_count;

        if (s->st_shndx == SHN_UNDEF || s->st_shndx >= sections ||
            (type > STT_FUNC && type != STT_GNU_IFUNC))
            continue;
        while (lo < hi) { /* the first whose value is not below the symbol's */
            size_t mid = (lo + hi) / 2;

            if (o->functions[mid].value < s->st_value)
                lo = mid + 1;
            else
                hi = mid;
        }
        /* Names may share an address: each of them gets the gap. */
        for (size_t k = lo; k > 0 && o->functions[k - 1].value == o->functions[lo - 1].value; k--) {
            if (o->functions[k - 1].gap > s->st_value - o->functions[k - 1].value)
                o->functions[k - 1].gap = s->st_value - o->functions[k - 1].value;
        }
    }
}

static bool imports(const struct table *t, const char *name)
{
    for (size_t i = 0; i < t->count; i++) {
        if (t->symbols[i].st_shndx == SHN_UNDEF &&
            weir_str_equal(symbol_name(t, &t->symbols[i]), name))
            return true;
    }
    return false;
}

static bool has_loader(const struct weir_object *o, const Elf64_Ehdr *e)
{
    for (unsigned i = 0; i < e->e_phnum && e->e_phentsize == sizeof(Elf64_Phdr); i++) {
        Elf64_Phdr p;

        if (sys_pread(o->fd, &p, sizeof p, e->e_phoff + i * sizeof p) == (long)sizeof p &&
            p.p_type == PT_INTERP)
            return true;
    }
    return false;
}

/* Whether there is a section with device code: the names are read, nothing is mapped. */
static bool has_device_code(const struct weir_object *o, const Elf64_Shdr *sections, size_t count,
                            size_t names)
{
    char text[4096 + 1];
    long bytes;

    if (names >= count)
        return false;
    bytes = (long)(sections[names].sh_size < 4096 ? sections[names].sh_size : 4096);
    bytes = sys_pread(o->fd, text, (size_t)bytes, sections[names].sh_offset);
    if (sys_failed(bytes))
        return false;
    text[bytes] = '\0';
    for (size_t i = 1; i < count; i++) {
        if (sections[i].sh_name < (uint64_t)bytes &&
            weir_str_equal(text + sections[i].sh_name, ".nv_fatbin"))
            return true;
    }
    return false;
}

static bool read_functions(struct weir_object *o, const Elf64_Shdr *sections, size_t count,
                           const struct table *t)
{
    long memory = sys_mmap(NULL, WEIR_OBJECT_FUNCTIONS * sizeof *o->functions,
                           PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (sys_failed(memory))
        return false;
    o->functions = (struct weir_object_function *)memory;
    find_functions(o, sections, count, t);
    if (o->function_count != 0)
        find_gaps(o, count, t);
    return true;
}

/* Looks through the sections; maps the file only when there is something to read in it. */
static bool scan(struct weir_object *o, const Elf64_Ehdr *e, const Elf64_Shdr *sections,
                 bool exports_cudart)
{
    size_t count = e->e_shnum, symtab = 0, dynsym = 0;
    struct table t;

    for (size_t i = 1; i < count; i++) {
        if (sections[i].sh_type == SHT_SYMTAB)
            symtab = i;
        else if (sections[i].sh_type == SHT_DYNSYM)
            dynsym = i;
    }
    o->is_dynamic = has_loader(o, e);
    o->has_symbols = symtab != 0;
    o->has_device_code = has_device_code(o, sections, count, e->e_shstrndx);
    if (symtab == 0 && !exports_cudart && !o->has_device_code)
        return true;
    if (!map_file(o))
        return false;
    if (dynsym && o->has_device_code && table_find(o, sections, count, dynsym, &t))
        o->imports_cudart = imports(&t, "__cudaRegisterFatBinary");
    if (symtab == 0 && !exports_cudart)
        return true;
    return !table_find(o, sections, count, symtab ? symtab : dynsym, &t) ||
           read_functions(o, sections, count, &t);
}

bool weir_object_open(struct weir_object *o, const char *path, bool exports_cudart)
{
    Elf64_Ehdr e;
    Elf64_Shdr sections[128], *all = sections;
    size_t bytes, mapped = 0;
    bool ok = false;
    long end;

    *o = (struct weir_object){.fd = sys_open(path)};
    if (sys_failed(o->fd))
        return false;
    if (sys_pread(o->fd, &e, sizeof e, 0) != (long)sizeof e || e.e_ident[EI_MAG0] != ELFMAG0 ||
        e.e_ident[EI_MAG1] != ELFMAG1 || e.e_ident[EI_MAG2] != ELFMAG2 ||
        e.e_ident[EI_MAG3] != ELFMAG3 || e.e_ident[EI_CLASS] != ELFCLASS64 ||
        e.e_machine != MACHINE || e.e_shentsize != sizeof(Elf64_Shdr) || e.e_shnum == 0 ||
        e.e_shnum > SECTIONS_MAX)
        goto out;
    end = weir_sys_call(SYS_lseek, o->fd, 0, 2, 0, 0, 0);
    if (sys_failed(end))
        goto out;
    o->file_bytes = (size_t)end;
    bytes = e.e_shnum * sizeof *sections;
    if (bytes > sizeof sections) { /* rare: objects of -ffunction-sections that were linked with -r,
                                      or with -emit-relocs */
        long at = sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (sys_failed(at))
            goto out;
        all = (Elf64_Shdr *)at;
        mapped = bytes;
    }
    ok = sys_pread(o->fd, all, bytes, e.e_shoff) == (long)bytes && scan(o, &e, all, exports_cudart);
    if (mapped)
        sys_munmap(all, mapped);
out:
    if (!ok)
        weir_object_close(o);
    return ok;
}

void weir_object_close(struct weir_object *o)
{
    if (o->functions)
        sys_munmap(o->functions, WEIR_OBJECT_FUNCTIONS * sizeof *o->functions);
    if (o->file)
        sys_munmap(o->file, o->file_bytes);
    if (!sys_failed(o->fd))
        sys_close(o->fd);
    *o = (struct weir_object){.fd = -1};
}

static bool has_function(const struct weir_object *o, const char *name)
{
    for (size_t i = 0; i < o->function_count; i++) {
        if (weir_str_equal(o->functions[i].name, name))
            return true;
    }
    return false;
}

bool weir_object_has_cudart(const struct weir_object *o)
{
    return has_function(o, "cudaMalloc") || has_function(o, "cudaLaunchKernel") ||
           has_function(o, "__cudaRegisterFatBinary");
}

bool weir_object_is_cuda12(const struct weir_object *o)
{
    return has_function(o, "cudaGetDeviceProperties_v2") ||
           has_function(o, "cudaStreamGetCaptureInfo_v2");
}
