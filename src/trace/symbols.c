/* See symbols.h. Names come from a file's own symbol table; lines from libdw (elfutils), which is
 * opened when it is there.
 * SPDX-License-Identifier: Apache-2.0 */
#include "trace/symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "trace/debug_file.h"

#define LINES_MAX_BYTES ((size_t)512 << 20) /* of a file whose lines are looked for */

/* ---- names ---- */

/* Skips <...> and returns what is behind its end. */
static const char *skip_angle(const char *p)
{
    int depth = 0;

    for (; *p; p++) {
        depth += *p == '<';
        depth -= *p == '>';
        if (depth == 0)
            return p + 1;
    }
    return p;
}

/* "void ns::kernel<float>(float*, int)" into "ns::kernel<float>". */
static void shorten(const char *full, char *out, size_t room)
{
    const char *begin = full, *p = full;
    size_t n;

    while (*p && *p != '(') {
        if (*p == '<') {
            p = skip_angle(p);
            continue;
        }
        if (strncmp(p, "(anonymous namespace)::", 23) == 0) {
            p += 23;
            continue;
        }
        if (*p == ' ')
            begin = p + 1;
        p++;
    }
    n = (size_t)(p - begin);
    if (n >= room)
        n = room - 1;
    memcpy(out, begin, n);
    out[n] = '\0';
}

/* _Z, then N..E or one name: without the C++ library, names without template arguments. */
static bool own_demangle(const char *m, char *out, size_t room)
{
    size_t n = 0;
    bool nested;

    if (strncmp(m, "_Z", 2) != 0)
        return false;
    m += 2;
    nested = *m == 'N';
    m += nested;
    while (*m == 'L' || *m == 'K')
        m++;
    while (*m >= '1' && *m <= '9') {
        char *end;
        size_t len = strtoul(m, &end, 10);

        if (len > strlen(end) || n + len + 3 > room)
            return false;
        if (n) {
            memcpy(out + n, "::", 2);
            n += 2;
        }
        memcpy(out + n, end, len);
        n += len;
        m = end + len;
        if (!nested)
            break;
    }
    out[n] = '\0';
    return n > 0;
}

typedef char *(*cxx_demangle)(const char *name, char *buffer, size_t *length, int *status);

/* The C++ library's own, when there is one. Opened once and kept. */
static cxx_demangle find_demangle(void)
{
    union {
        void *object;
        cxx_demangle f;
    } symbol;
    void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);

    symbol.object = library ? dlsym(library, "__cxa_demangle") : NULL;
    return symbol.f;
}

char *weir_trace_demangle(const char *mangled, char *out, size_t room)
{
    cxx_demangle f = strncmp(mangled, "_Z", 2) == 0 ? find_demangle() : NULL;
    int status = -1;
    char *full = f ? f(mangled, NULL, NULL, &status) : NULL;

    if (full && status == 0)
        shorten(full, out, room);
    else if (!own_demangle(mangled, out, room))
        snprintf(out, room, "%s", mangled);
    free(full); /* the C++ library's malloc */
    return out;
}

/* One parameter of a demangled list: "float const*" is a pointer that is only read through. */
static void count_parameter(const char *begin, const char *end, uint32_t *count, uint32_t *reads)
{
    while (end > begin && end[-1] == ' ')
        end--;
    if (end - begin > 12 && memcmp(end - 12, " __restrict__", 12) == 0)
        end -= 12;
    if (end == begin || end[-1] != '*')
        return;
    if (end - begin > 6 && memcmp(end - 6, "const*", 6) == 0 && *count < 32)
        *reads |= 1u << *count;
    ++*count;
}

uint32_t weir_trace_const_pointers(const char *mangled, uint32_t *count)
{
    cxx_demangle f = strncmp(mangled, "_Z", 2) == 0 ? find_demangle() : NULL;
    int status = -1, depth = 0;
    char *full = f ? f(mangled, NULL, NULL, &status) : NULL;
    const char *p = full && status == 0 ? full : "", *begin = NULL;
    uint32_t reads = 0;

    *count = 0;
    for (; *p && !(*p == '(' && strncmp(p, "(anonymous", 10) != 0); p++) {
        if (*p == '<') {
            p = skip_angle(p) - 1;
        }
    }
    for (; *p; p++) {
        depth += *p == '(' || *p == '<' || *p == '[';
        depth -= *p == ')' || *p == '>' || *p == ']';
        if (depth == 1 && *p == '(')
            begin = p + 1;
        if (begin && ((depth == 1 && *p == ',') || depth == 0)) {
            count_parameter(begin, p, count, &reads);
            begin = p + 1;
        }
        if (depth == 0)
            break;
    }
    free(full); /* the C++ library's malloc */
    return reads;
}

/* ---- symbol tables ---- */

struct image {
    const unsigned char *data;
    size_t bytes;
};

static bool map_image(const char *path, struct image *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    void *p = MAP_FAILED;

    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= (off_t)sizeof(Elf64_Ehdr))
        p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (p == MAP_FAILED)
        return false;
    *out = (struct image){p, (size_t)st.st_size};
    return memcmp(p, ELFMAG, SELFMAG) == 0 && out->data[EI_CLASS] == ELFCLASS64;
}

static bool read_at(const struct image *im, uint64_t offset, void *to, size_t bytes)
{
    if (offset > im->bytes || bytes > im->bytes - offset)
        return false;
    memcpy(to, im->data + offset, bytes);
    return true;
}

struct symbol {
    char name[512];
    uint64_t value;
};

static void search_table(const struct image *im, const Elf64_Shdr *table, const Elf64_Shdr *names,
                         uint64_t address, struct symbol *best)
{
    Elf64_Sym s;

    for (uint64_t at = 0; at + sizeof s <= table->sh_size; at += sizeof s) {
        const char *name;

        if (!read_at(im, table->sh_offset + at, &s, sizeof s))
            return;
        if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || !s.st_value || s.st_value > address ||
            (s.st_size && address - s.st_value >= s.st_size) || s.st_value < best->value ||
            s.st_name >= names->sh_size || names->sh_offset >= im->bytes ||
            s.st_name >= im->bytes - names->sh_offset)
            continue;
        name = (const char *)im->data + names->sh_offset + s.st_name;
        if (strnlen(name, sizeof best->name) >= im->bytes - names->sh_offset - s.st_name)
            continue;
        best->value = s.st_value;
        snprintf(best->name, sizeof best->name, "%.*s", (int)sizeof best->name - 1, name);
    }
}

/* The function that holds an address; false: none. */
static bool find_symbol(const struct image *im, uint64_t address, struct symbol *best)
{
    Elf64_Ehdr eh;
    Elf64_Shdr sh, names;

    best->value = 0;
    best->name[0] = '\0';
    if (!read_at(im, 0, &eh, sizeof eh) || eh.e_shentsize != sizeof sh)
        return false;
    for (unsigned i = 0; i < eh.e_shnum; i++) {
        if (!read_at(im, eh.e_shoff + (uint64_t)i * sizeof sh, &sh, sizeof sh))
            break;
        if ((sh.sh_type == SHT_SYMTAB || sh.sh_type == SHT_DYNSYM) &&
            read_at(im, eh.e_shoff + (uint64_t)sh.sh_link * sizeof sh, &names, sizeof names))
            search_table(im, &sh, &names, address, best);
    }
    return best->name[0] != '\0';
}

/* ---- lines, by libdw ---- */

/* As far as it is used here. */
struct dwfl_callbacks {
    void *find_elf;
    int (*find_debuginfo)(void *module, void **data, const char *name, uint64_t base,
                          const char *file, const char *lines, uint32_t checksum, char **path);
    void *section_address;
    char **debuginfo_path; /* of libdw's own search */
};

struct dwarf_die {
    void *address, *cu, *abbreviation;
    long padding;
};

struct dwarf_attribute {
    unsigned code, form;
    void *value, *cu;
};

struct libdw {
    void *(*begin)(const struct dwfl_callbacks *);
    void *(*report_offline)(void *dwfl, const char *name, const char *file, int fd);
    int (*report_end)(void *dwfl, void *removed, void *arg);
    void *(*getsrc)(void *module, uint64_t address);
    const char *(*lineinfo)(void *line, uint64_t *address, int *number, int *column, void *time,
                            void *length);
    void *(*info)(void *module, void *, void *start, void *, void *, void *, void *, void *);
    void *(*nextcu)(void *module, void *last, uint64_t *bias);
    void *(*getsrc_die)(void *cu, uint64_t address);
    const char *(*linesrc)(void *line, void *time, void *length);
    int (*lineno)(void *line, int *number);
    void *(*addrdie)(void *module, uint64_t address, uint64_t *bias);
    int (*getscopes)(void *cu, uint64_t address, struct dwarf_die **scopes);
    int (*tag)(struct dwarf_die *die);
    struct dwarf_attribute *(*attr)(struct dwarf_die *die, unsigned name,
                                    struct dwarf_attribute *out);
    int (*formudata)(struct dwarf_attribute *a, uint64_t *out);
    int (*getsrcfiles)(void *cu, void **files, size_t *count);
    const char *(*filesrc)(void *files, size_t index, void *time, void *length);
    void (*end)(void *dwfl);
    struct dwfl_callbacks callbacks;
};

typedef int build_id_fn(void *module, const unsigned char **id, uint64_t *address);
static _Atomic(build_id_fn *) build_id; /* libdw's */

static int find_lines(void *module, void **data, const char *name, uint64_t base, const char *file,
                      const char *lines, uint32_t checksum, char **path)
{
    build_id_fn *f = atomic_load(&build_id);
    const unsigned char *id = NULL;
    uint64_t address;
    int count = f ? f(module, &id, &address) : 0;

    (void)data;
    (void)name;
    (void)base;
    return weir_trace_debug_file_open(file, id, count > 0 ? (size_t)count : 0, lines, checksum,
                                      path);
}

static bool open_libdw(struct libdw *d)
{
    void *library = dlopen("libdw.so.1", RTLD_LAZY | RTLD_LOCAL);
    build_id_fn *id_of;
    const struct {
        const char *name;
        void *to;
    } symbols[] = {
        {"dwfl_begin", &d->begin},
        {"dwfl_module_build_id", &id_of},
        {"dwfl_report_offline", &d->report_offline},
        {"dwfl_report_end", &d->report_end},
        {"dwfl_module_getsrc", &d->getsrc},
        {"dwfl_lineinfo", &d->lineinfo},
        {"dwfl_module_info", &d->info},
        {"dwfl_end", &d->end},
        {"dwfl_module_nextcu", &d->nextcu},
        {"dwarf_getsrc_die", &d->getsrc_die},
        {"dwarf_linesrc", &d->linesrc},
        {"dwarf_lineno", &d->lineno},
        {"dwfl_module_addrdie", &d->addrdie},
        {"dwarf_getscopes", &d->getscopes},
        {"dwarf_tag", &d->tag},
        {"dwarf_attr", &d->attr},
        {"dwarf_formudata", &d->formudata},
        {"dwarf_getsrcfiles", &d->getsrcfiles},
        {"dwarf_filesrc", &d->filesrc},
        {"dwfl_build_id_find_elf", &d->callbacks.find_elf},
        {"dwfl_offline_section_address", &d->callbacks.section_address},
    };

    if (!library)
        return false;
    for (size_t i = 0; i < WEIR_ARRAY_SIZE(symbols); i++) {
        void *p = dlsym(library, symbols[i].name);

        if (!p)
            return false;
        memcpy(symbols[i].to, &p, sizeof p);
    }
    atomic_store(&build_id, id_of);
    d->callbacks.find_debuginfo = find_lines;
    return true;
}

/* ---- files ---- */

struct weir_trace_module {
    const char *path; /* the caller's */
    struct image image;
    bool has_image;
    struct libdw libdw;
    void *dwfl, *dw;
    uint64_t bias; /* libdw places files that are not at a fixed address */
};

struct weir_trace_module *weir_trace_module_open(const char *path)
{
    struct weir_trace_module *m = weir_calloc(1, sizeof *m);
    struct libdw *d = m ? &m->libdw : NULL;
    Elf64_Ehdr eh;

    if (!m)
        return NULL;
    m->path = path;
    m->has_image = *path && map_image(path, &m->image);
    if (!m->has_image || m->image.bytes > LINES_MAX_BYTES || !open_libdw(d))
        return m;
    m->dwfl = d->begin(&d->callbacks);
    if (!m->dwfl)
        return m;
    m->dw = d->report_offline(m->dwfl, path, path, -1);
    d->report_end(m->dwfl, NULL, NULL);
    if (m->dw && read_at(&m->image, 0, &eh, sizeof eh) && eh.e_type == ET_DYN)
        d->info(m->dw, NULL, &m->bias, NULL, NULL, NULL, NULL, NULL);
    return m;
}

void weir_trace_module_close(struct weir_trace_module *m)
{
    if (!m)
        return;
    if (m->dwfl)
        m->libdw.end(m->dwfl);
    if (m->has_image)
        munmap((void *)(uintptr_t)m->image.data, m->image.bytes);
    weir_free(m);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* CUDA's headers have templates around calls (cudaMalloc of a T **), which say nothing about the
 * program. */
static bool is_wrapper(const char *file)
{
    const char *name = base_name(file);

    return strncmp(name, "cuda_runtime", 12) == 0 || strncmp(name, "cuda_device_runtime", 19) == 0;
}

#define DW_TAG_INLINED  0x1d
#define DW_AT_CALL_FILE 0x58
#define DW_AT_CALL_LINE 0x59
static bool read_number(const struct libdw *d, struct dwarf_die *die, unsigned name, uint64_t *out)
{
    struct dwarf_attribute a;

    return d->attr(die, name, &a) && d->formudata(&a, out) == 0;
}

/* Out of such a header, where it is inlined: the line of the call. */
static const char *leave_wrapper(const struct libdw *d, void *unit, uint64_t address,
                                 const char *file, int *number)
{
    struct dwarf_die *scopes = NULL;
    void *files;
    size_t file_count;
    int count = unit ? d->getscopes(unit, address, &scopes) : 0;

    if (count > 0 && d->getsrcfiles(unit, &files, &file_count) == 0) {
        for (int i = 0; i < count && is_wrapper(file); i++) {
            uint64_t index, line;
            const char *of;

            if (d->tag(&scopes[i]) != DW_TAG_INLINED ||
                !read_number(d, &scopes[i], DW_AT_CALL_FILE, &index) ||
                !read_number(d, &scopes[i], DW_AT_CALL_LINE, &line) ||
                !(of = d->filesrc(files, index, NULL, NULL)))
                continue;
            file = of;
            *number = (int)line;
        }
    }
    free(scopes); /* libdw's malloc */
    return file;
}

/* The file and line of an address; NULL: unknown. clang writes no table of address ranges, by which
 * libdw finds the unit: then each is asked. */
static const char *find_line(const struct weir_trace_module *m, uint64_t address, int *number)
{
    const struct libdw *d = &m->libdw;
    void *line = d->getsrc(m->dw, m->bias + address), *unit = NULL;
    const char *file = line ? d->lineinfo(line, NULL, number, NULL, NULL, NULL) : NULL;
    uint64_t bias = 0;

    if (file)
        unit = d->addrdie(m->dw, m->bias + address, &bias);
    while (!file && (unit = d->nextcu(m->dw, unit, &bias)) != NULL) {
        line = d->getsrc_die(unit, m->bias + address - bias);
        if (line && d->lineno(line, number) == 0)
            file = d->linesrc(line, NULL, NULL);
    }
    if (file && is_wrapper(file))
        file = leave_wrapper(d, unit, m->bias + address - bias, file, number);
    return file;
}

static void find_place(const struct weir_trace_module *m, uint64_t address,
                       struct weir_trace_place *p)
{
    struct symbol symbol = {0};
    const char *file = NULL;

    p->file[0] = p->function[0] = '\0';
    p->line = 0;
    snprintf(p->object, sizeof p->object, "%s", base_name(m->path));
    /* The call is before its return address. */
    if (m->has_image && find_symbol(&m->image, address - 1, &symbol))
        weir_trace_demangle(symbol.name, p->function, sizeof p->function);
    if (m->dw)
        file = find_line(m, address - 1, &p->line);
    if (file && p->line)
        snprintf(p->file, sizeof p->file, "%s", file);
    if (*p->file)
        snprintf(p->text, sizeof p->text, *p->function ? "%s:%d (%s)" : "%s:%d", base_name(p->file),
                 p->line, p->function);
    else if (*p->function)
        snprintf(p->text, sizeof p->text, "%s+0x%llx in %s", p->function,
                 (unsigned long long)(address - symbol.value), p->object);
    else
        snprintf(p->text, sizeof p->text, "%s+0x%llx", *p->object ? p->object : "?",
                 (unsigned long long)address);
}

void weir_trace_module_describe(const struct weir_trace_module *m, uint64_t address, char *out,
                                size_t room)
{
    struct weir_trace_place p;

    find_place(m, address, &p);
    snprintf(out, room, "%s", p.text);
}

/* ---- of this process ---- */

struct opened {
    const struct link_map *map;
    struct weir_trace_module *module; /* NULL: cannot be opened */
    char path[4096];
};

struct weir_trace_finder {
    WEIR_VEC(struct opened *) opened;
};

struct weir_trace_finder *weir_trace_finder_create(void)
{
    return weir_calloc(1, sizeof(struct weir_trace_finder));
}

void weir_trace_finder_destroy(struct weir_trace_finder *f)
{
    for (size_t i = 0; f && i < f->opened.count; i++) {
        weir_trace_module_close(f->opened.items[i]->module);
        weir_free(f->opened.items[i]);
    }
    if (f)
        weir_vec_finish(&f->opened);
    weir_free(f);
}

static struct weir_trace_module *module_of(struct weir_trace_finder *f, const struct link_map *map)
{
    struct opened *o;
    ssize_t n;

    for (size_t i = 0; i < f->opened.count; i++) {
        if (f->opened.items[i]->map == map)
            return f->opened.items[i]->module;
    }
    o = weir_calloc(1, sizeof *o);
    if (!o || !weir_vec_push(&f->opened, o)) {
        weir_free(o);
        return NULL;
    }
    o->map = map;
    snprintf(o->path, sizeof o->path, "%s", map->l_name);
    if (!*o->path && (n = readlink("/proc/self/exe", o->path, sizeof o->path - 1)) > 0)
        o->path[n] = '\0';
    o->module = weir_trace_module_open(o->path);
    return o->module;
}

void weir_trace_finder_place(struct weir_trace_finder *f, const void *address,
                             struct weir_trace_place *out)
{
    struct weir_trace_module *m;
    struct link_map *map = NULL;
    Dl_info info;

    out->file[0] = out->function[0] = out->object[0] = '\0';
    out->line = 0;
    snprintf(out->text, sizeof out->text, "%p", address);
    if (!f || !dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
        return;
    m = module_of(f, map);
    if (m)
        find_place(m, (uint64_t)(uintptr_t)address - map->l_addr, out);
}

void weir_trace_describe_here(const void *address, char *out, size_t room)
{
    struct weir_trace_finder *f = weir_trace_finder_create();
    struct weir_trace_place p;

    weir_trace_finder_place(f, address, &p);
    snprintf(out, room, "%s", p.text);
    weir_trace_finder_destroy(f);
}
