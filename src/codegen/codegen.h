/* PTX modules to machine code. Two halves: this front (cache, images, which tier) is in libweir.so
 * and knows no LLVM; the compiler proper (codegen/lower/) is in libweir-jit.so, opened at the first
 * miss.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CODEGEN_CODEGEN_H
#define WEIR_CODEGEN_CODEGEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "device/kernel.h"
#include "ptx/ptx.h"

/* What needs the dynamic loader, on the thread of the program's first call: engines may be waited
 * for by a thread that holds the loader's lock (base/loader.h). */
void weir_cg_prepare(void);

struct weir_cg_module; /* one parsed PTX module with its compiled kernels */
struct weir_cg_kernel; /* one entry function of it */

/* Where a module variable lives: asked once per variable when the module is loaded. */
struct weir_cg_variable {
    const char *name;
    size_t bytes, align;
    bool constant; /* .const */
    bool managed;
    const void *init; /* bytes long, or NULL = zero; relocations to other variables are already
                         applied on a second call */
};

/* Parses and verifies PTX text (copied). Errors: INVALID_PTX with line in the message,
 * UNSUPPORTED_PTX_VERSION, MEMORY_ALLOCATION. Thread: any, modules load in parallel. */
enum weir_err weir_cg_module_create(const char *ptx, size_t bytes,
                                    struct weir_cg_module **out) WEIR_MUST_CHECK;
/* The same of separately compiled units, linked by symbol (ptx/link.h). A kernel that reaches a
 * symbol which no unit defines is refused when it is launched; `unresolved` of its info has the
 * name. Errors: also INVALID_PTX when the units contradict each other. */
struct weir_cg_unit {
    const char *ptx;
    size_t bytes;
    const char *name; /* for messages */
};
enum weir_err weir_cg_module_link(const struct weir_cg_unit *units, size_t count,
                                  struct weir_cg_module **out) WEIR_MUST_CHECK;
void weir_cg_module_destroy(struct weir_cg_module *m); /* no kernel of it may be running */

/* Places the module's variables: `place` is called per variable and returns its device address;
 * then initial values are copied there, addresses of other variables and functions resolved. A
 * variable for which it sets *keep is in use already (a managed one, by another device) and keeps
 * its contents. */
typedef enum weir_err (*weir_cg_place)(void *ctx, const struct weir_cg_variable *v, void **address,
                                       bool *keep);
enum weir_err weir_cg_module_place(struct weir_cg_module *m, weir_cg_place place,
                                   void *ctx) WEIR_MUST_CHECK;
/* Address and size of a placed variable; INVALID_SYMBOL. */
enum weir_err weir_cg_module_variable(struct weir_cg_module *m, const char *name, void **address,
                                      size_t *bytes);

/* NULL when there is no entry function of this (mangled) name. */
struct weir_cg_kernel *weir_cg_kernel_find(struct weir_cg_module *m, const char *name);
const char *weir_cg_kernel_at(struct weir_cg_module *m,
                              size_t index); /* names in order; NULL past the end */

/* The kernel whose address has this value in code of m, or NULL. */
struct weir_cg_kernel *weir_cg_kernel_of_address(struct weir_cg_module *m, uint64_t value);
const char *weir_cg_kernel_name(const struct weir_cg_kernel *k);
/* What the caller keeps with a kernel; NULL at first. Thread: any; of several that set it the first
 * one's stays, which is returned. */
void *weir_cg_kernel_keep(struct weir_cg_kernel *k, void *what);

struct weir_cg_kernel_info {
    size_t static_shared_bytes, local_bytes, const_bytes, param_bytes;
    uint32_t param_count;
    uint64_t reads;    /* a bit for each of the first 64 (ptx/reads.h); 0 when nothing is checked */
    bool reaches_more; /* than parameters point to (ptx/reads.h); false when nothing is checked */
    int max_threads;   /* .maxntid or 1024 */
    int registers; /* estimate shown by cudaFuncGetAttributes: widest live 32-bit registers, at most
                      255 */
    int ptx_version, sm;    /* e.g. 80, 75 */
    const char *unresolved; /* NULL, or the symbol that it reaches and that nothing defines */
    uint32_t cluster[3];    /* .reqnctapercluster; 0: not given */
    uint32_t max_cluster;   /* .maxclusterrank; 0: not given */
    bool explicit_cluster;
};
void weir_cg_kernel_info(const struct weir_cg_kernel *k, struct weir_cg_kernel_info *out);
/* NULL, or "wmma.load.a.sync (line 12)": launching it is refused with this text. Known once its
 * info was asked for; what only a compilation finds, after that. Thread: any, takes no lock. */
const char *weir_cg_kernel_unsupported(const struct weir_cg_kernel *k);
/* Where the line of PTX came from (.loc). False: its PTX does not say. *file is the module's. */
bool weir_cg_kernel_source(const struct weir_cg_kernel *k, uint32_t ptx_line, const char **file,
                           uint32_t *line);
/* The variable that has the byte of a block's shared memory, of which the kernel's code has the
 * first static_bytes. False: unknown. *name is the module's (mangled); *offset: in the variable. */
bool weir_cg_kernel_shared(const struct weir_cg_kernel *k, uint64_t byte, uint64_t static_bytes,
                           const char **name, uint64_t *offset);
/* The line of PTX whose instruction faulted at pc, in `code` or a better tier of it, for blocks of
 * this shape; 0 unknown. noted: what the code has said of accesses that it makes in functions for
 * many (weir_block.error_line). May compile for some time. Thread: one of Weir's own, no lock held;
 * the module lives. */
uint32_t weir_cg_kernel_fault_line(struct weir_cg_kernel *k, const struct weir_kernel_code *code,
                                   const uint32_t block[3], uint64_t pc, uint32_t noted);
/* Offset and size of the n-th parameter in the .param space; false past the end. */
bool weir_cg_kernel_param(const struct weir_cg_kernel *k, size_t n, size_t *offset, size_t *bytes);

/* Code for this block shape, from memory, from the disk cache, or compiled now (milliseconds). A
 * better tier may be compiled in the background; the next call returns it. The result lives as long
 * as the module. Errors: NOT_SUPPORTED, INVALID_PTX, MEMORY_ALLOCATION, JIT_COMPILER_NOT_FOUND.
 * Thread: any; equal requests wait for one compilation. */
enum weir_err weir_cg_kernel_code(struct weir_cg_kernel *k, const uint32_t block[3],
                                  const struct weir_kernel_code **out) WEIR_MUST_CHECK;
/* The same when it is the shape that was asked for last, else NULL. Never waits. */
const struct weir_kernel_code *weir_cg_kernel_code_peek(struct weir_cg_kernel *k,
                                                        const uint32_t block[3]);

#endif
