/* Which libraries a program names.
 * SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

/* A file that is not trusted, mapped. */
struct file {
    const unsigned char *bytes;
    size_t size;
};

static const void *at(const struct file *f, uint64_t offset, uint64_t bytes)
{
    return offset <= f->size && bytes <= f->size - offset ? f->bytes + offset : NULL;
}

static const Elf64_Phdr *segments(const struct file *f, size_t *count)
{
    const Elf64_Ehdr *h = at(f, 0, sizeof *h);

    if (!h || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_ident[EI_CLASS] != ELFCLASS64 ||
        h->e_phentsize != sizeof(Elf64_Phdr) || h->e_phoff % _Alignof(Elf64_Phdr))
        return NULL;
    *count = h->e_phnum;
    return at(f, h->e_phoff, *count * sizeof(Elf64_Phdr));
}

/* The rest of the segment in the file that holds this address of memory. */
static const char *at_address(const struct file *f, const Elf64_Phdr *p, size_t count,
                              uint64_t address, size_t *left)
{
    for (size_t i = 0; i < count; i++) {
        if (p[i].p_type != PT_LOAD || address - p[i].p_vaddr >= p[i].p_filesz)
            continue;
        *left = p[i].p_filesz - (address - p[i].p_vaddr);
        return at(f, p[i].p_offset + (address - p[i].p_vaddr), *left);
    }
    return NULL;
}

static bool names(const struct file *f, const char *library)
{
    size_t count = 0, tags = 0, left = 0, length = strlen(library);
    const Elf64_Phdr *p = segments(f, &count);
    const Elf64_Dyn *d = NULL;
    const char *texts = NULL;

    for (size_t i = 0; p && i < count; i++) {
        if (p[i].p_type != PT_DYNAMIC || p[i].p_offset % _Alignof(Elf64_Dyn))
            continue;
        tags = p[i].p_filesz / sizeof *d;
        d = at(f, p[i].p_offset, tags * sizeof *d);
    }
    for (size_t i = 0; d && i < tags && d[i].d_tag != DT_NULL; i++) {
        if (d[i].d_tag == DT_STRTAB)
            texts = at_address(f, p, count, d[i].d_un.d_ptr, &left);
    }
    for (size_t i = 0; texts && i < tags && d[i].d_tag != DT_NULL; i++) {
        if (d[i].d_tag == DT_NEEDED && d[i].d_un.d_val < left && left - d[i].d_un.d_val >= length &&
            memcmp(texts + d[i].d_un.d_val, library, length) == 0)
            return true;
    }
    return false;
}

bool weir_cli_needs(const char *path, const char *library)
{
    struct file f = {0};
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *map = MAP_FAILED;
    bool found;

    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        return false;
    f.bytes = map;
    f.size = (size_t)st.st_size;
    found = names(&f, library);
    munmap(map, f.size);
    return found;
}
