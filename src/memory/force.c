/* The program's own memory past the protection of its pages, by /proc/self/mem: what a debugger
 * reads and writes by. For engines, while the pages are closed to the program (check/guard.h).
 * SPDX-License-Identifier: Apache-2.0 */
#include "memory/memory_int.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CHUNK_HEADER  16u /* of glibc's malloc: what lies before a chunk of pages of its own */
#define CHUNK_MMAPPED 2u

static int force_fd = -1; /* constant after weir_mem_force_start */

static uintptr_t page_down(uintptr_t a)
{
    return a & ~(uintptr_t)(PAGE_BYTES - 1);
}

static uintptr_t page_up(uintptr_t a)
{
    return page_down(a + PAGE_BYTES - 1);
}

bool weir_mem_force_read(void *to, uintptr_t from, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pread(force_fd, (char *)to + done, bytes - done, (off_t)(from + done));

        if (n <= 0 && !(n < 0 && errno == EINTR))
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

bool weir_mem_force_write(uintptr_t to, const void *from, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pwrite(force_fd, (const char *)from + done, bytes - done, (off_t)(to + done));

        if (n <= 0 && !(n < 0 && errno == EINTR))
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* Kernels can be built or told not to let anybody do it (proc_mem.force_override). */
static bool works(void)
{
    char *page = mmap(NULL, PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char got = 0;
    bool ok = page != MAP_FAILED && weir_mem_force_write((uintptr_t)page, "w", 1) &&
              weir_mem_force_read(&got, (uintptr_t)page, 1) && got == 'w';

    if (page != MAP_FAILED)
        munmap(page, PAGE_BYTES);
    return ok;
}

bool weir_mem_force_start(void)
{
    if (force_fd < 0)
        force_fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    if (force_fd >= 0 && !works()) {
        close(force_fd);
        force_fd = -1;
    }
    return force_fd >= 0;
}

/* ---- which pages ---- */

/* Are all of them private to the process, open, and no stack (a signal's frame must find room)? */
static bool is_plain(uintptr_t begin, uintptr_t end)
{
    FILE *f = fopen("/proc/self/maps", "re");
    char line[512], mode[5];
    unsigned long long first, behind;
    uintptr_t at = begin;

    while (f && at < end && fgets(line, sizeof line, f)) {
        if (sscanf(line, "%llx-%llx %4s", &first, &behind, mode) != 3 || behind <= at)
            continue;
        if (first > at || mode[0] != 'r' || mode[1] != 'w' || mode[3] != 'p' ||
            strstr(line, "[stack") || strstr(line, " /dev/"))
            break;
        at = (uintptr_t)behind;
    }
    if (f)
        fclose(f);
    return at >= end;
}

static bool on_this_stack(uintptr_t begin, uintptr_t end)
{
    pthread_attr_t attr;
    void *low = NULL;
    size_t bytes = 0;

    if (pthread_getattr_np(pthread_self(), &attr) != 0)
        return true;
    (void)pthread_attr_getstack(&attr, &low, &bytes);
    pthread_attr_destroy(&attr);
    return begin < (uintptr_t)low + bytes && end > (uintptr_t)low;
}

/* Is it a block of malloc's that has its pages for itself? Then the rest of the first and the last
 * one is nobody's: as its header says, which only counts when all of it fits. */
static bool is_lone_chunk(uintptr_t base, size_t bytes)
{
    size_t header[2];
    uintptr_t begin, end;

    if (!weir_mem_force_read(header, base - CHUNK_HEADER, sizeof header) ||
        !(header[1] & CHUNK_MMAPPED))
        return false;
    begin = base - CHUNK_HEADER - header[0];
    end = base - CHUNK_HEADER + (header[1] & ~(size_t)7);
    return begin == page_down(base - CHUNK_HEADER) && end == page_up(base + bytes);
}

bool weir_mem_closable(uintptr_t base, size_t bytes, uintptr_t *begin, uintptr_t *end)
{
    bool alone = force_fd >= 0 && is_lone_chunk(base, bytes);

    *begin = alone ? page_down(base) : page_up(base);
    *end = alone ? page_up(base + bytes) : page_down(base + bytes);
    return force_fd >= 0 && *begin < *end && !on_this_stack(*begin, *end) && is_plain(*begin, *end);
}
