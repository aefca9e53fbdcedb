/* From an address in a program's file to a name and a line: for the sites of a trace, and for
 * messages of the running program.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TRACE_SYMBOLS_H
#define WEIR_TRACE_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

struct weir_trace_module;

/* A file of code; one that cannot be read has no names. `path` stays the caller's, and as long as
 * the module. NULL: no memory. Thread: any that may load libraries, no lock held. */
struct weir_trace_module *weir_trace_module_open(const char *path);
void weir_trace_module_close(struct weir_trace_module *m);
/* Of the call before a return address, as the file has it: "a.c:12 (function)", else
 * "function+0x34 in file", else "file+0x34". */
void weir_trace_module_describe(const struct weir_trace_module *m, uint64_t address, char *out,
                                size_t room);
/* The same of a return address in this process. Takes milliseconds. */
void weir_trace_describe_here(const void *address, char *out, size_t room);

/* Many return addresses of this process, in parts: each file is opened once. NULL: no memory. */
struct weir_trace_finder;
struct weir_trace_place {
    char file[1024];    /* the path as the compiler was given it; "" unknown */
    int line;           /* 0 unknown */
    char function[256]; /* "" unknown */
    char object[256];   /* the file of code, without its folder */
    char text[1400];    /* as weir_trace_module_describe */
};
struct weir_trace_finder *weir_trace_finder_create(void);
void weir_trace_finder_destroy(struct weir_trace_finder *f);
void weir_trace_finder_place(struct weir_trace_finder *f, const void *address,
                             struct weir_trace_place *out);

/* "kernel" or "ns::kernel<float>" of a mangled name; into out, which is returned. */
char *weir_trace_demangle(const char *mangled, char *out, size_t room);

/* Which of a kernel's pointer parameters are `T const *`: a bit each, from the first; *count: how
 * many pointer parameters there are. Unknown: none, count 0. */
uint32_t weir_trace_const_pointers(const char *mangled, uint32_t *count);

#endif
