/* What libweir-io.so offers to libweir.so, which finds it by dlsym(RTLD_DEFAULT, ...). The library
 * is preloaded for weir check only: there the pages of the program's memory may be closed while an
 * operation uses them, and a system call that meets a closed page fails with EFAULT, without a
 * signal that could be dealt with.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TAKEOVER_IO_H
#define WEIR_TAKEOVER_IO_H

#include <stdbool.h>
#include <stddef.h>

/* From now on `begin` is called before each call by which the program has the system read or write
 * its memory, `writes` being what the call does to it; `call` is its name (NULL: what it does
 * is not known, or only has to work), `at` where it returns to. When it says true, `end` is called
 * with the same bytes after it. Once. Thread: any. */
typedef bool weir_io_begin_fn(const void *p, size_t bytes, bool writes, const char *call,
                              const void *at);
typedef void weir_io_end_fn(const void *p, size_t bytes);
/* Called before the program gives memory back to the system, or its contents: munmap, madvise,
 * mremap, mmap in its place. moves: it may stay where it is (mremap). */
typedef void weir_io_gone_fn(const void *p, size_t bytes, bool moves, const char *call,
                             const void *at);
/* The same of a block that goes back to the C library: by free (bytes 0: all of it, which is there
 * still), or by a realloc that has moved it. */
typedef void weir_io_freed_fn(const void *p, size_t bytes, const char *call, const void *at);
void weir_io_claim(weir_io_begin_fn *begin, weir_io_end_fn *end, weir_io_gone_fn *gone,
                   weir_io_freed_fn *freed);

#endif
