/* Device code of the program: fat binaries and libraries, their kernels and variables. Registration
 * only notes names; a module is unpacked and parsed, per device, when something of it is first
 * used.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_MODULE_H
#define WEIR_CORE_MODULE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/list.h"
#include "base/map.h"
#include "base/vec.h"
#include "codegen/codegen.h"
#include "core/core.h"
#include "fatbin/fatbin.h"

struct weir_module;

/* A kernel in one context. */
struct weir_function_image {
    struct weir_cg_kernel *kernel;
    struct weir_cg_kernel_info info;
    struct weir_cg_module *cg;
    _Atomic int
        max_dynamic_shared; /* cudaFuncAttributeMaxDynamicSharedMemorySize, as set or the default */
    _Atomic int carveout, cache_config;
    _Atomic int nonportable_cluster, cluster_policy, required_cluster[3]; /* as set */
    size_t *param_offsets, *param_bytes; /* info.param_count each */
};

struct weir_function {
    struct weir_list link; /* its module's functions */
    struct weir_module *module;
    const void *stub;            /* host address that stands for it, or NULL (library kernels) */
    struct weir_function *older; /* registered before under the same stub, or NULL */
    char *name;                  /* mangled */
    _Atomic uint32_t trace_name; /* its number in the trace, 0: none yet */
    _Atomic uint64_t const_pointers; /* core/check.c's; 0: not looked at yet */
    /* by context; the array is made at the first use. Released when complete. */
    _Atomic(_Atomic(struct weir_function_image *) *) images;
};

struct weir_variable {
    struct weir_list link;
    struct weir_module *module;
    const void *host;            /* host address that stands for it, or NULL */
    struct weir_variable *older; /* registered before under the same address, or NULL */
    void **managed;              /* RegisterManagedVar: the program's pointer to fill */
    char *name;
    size_t bytes;
    bool constant;
};

/* A module in one context. */
struct weir_module_image {
    enum weir_err error; /* of loading; then cg is NULL */
    struct weir_cg_module *cg;
    WEIR_VEC(void *) allocations;
};

struct weir_module {
    struct weir_list link;
    const void *data; /* wrapper struct, container or text: for messages and handles */
    struct weir_fatbin fatbin;
    char *ptx; /* library from plain PTX text; else NULL */
    size_t ptx_bytes;
    void *owned; /* a library's copy of its container */
    _Atomic int
        max_registers;   /* CU_JIT_MAX_REGISTERS, -maxrregcount: what attributes say; 0: none */
    size_t linked_bytes; /* owned is one of core/linked.h; else 0 */
    enum weir_err open_error;
    char *without_ptx; /* NULL, or what is said of a linked unit that the module had to leave out */
    struct weir_list functions, variables;
    struct weir_module_image
        *images[WEIR_MAX_CONTEXTS]; /* by context; guarded by the registry's lock (MODULES) */
    struct weir_context *home;      /* of a driver module: it goes with this context; else NULL */
    bool library, complete; /* complete: all kernels of the image are in `functions` (libraries) */
    struct weir_map
        managed; /* address of each managed variable by name's hash: one for all devices */
};

/* --- registration (__cudaRegister*); never fails loudly: errors show at the first use
 * ----------------------------- */

struct weir_module *weir_module_register(const void *wrapper);
void weir_module_unregister(struct weir_module *m);
void weir_module_add_function(struct weir_module *m, const void *stub, const char *name);
void weir_module_add_variable(struct weir_module *m, const void *host, void **managed,
                              const char *name, size_t bytes, bool constant);
/* Loads m on `device` and fills the program's pointers to managed variables. */
enum weir_err weir_module_init_managed(struct weir_module *m, int device) WEIR_MUST_CHECK;

/* --- libraries (cudaLibrary*)
 * -------------------------------------------------------------------------------------- */

/* home: the module is of `ctx` alone and ends with it (cuModuleLoad*). PTX text (zero-terminated),
 * a fat binary, or an ELF image (refused). Parsed now, for `ctx`;
 * what is needed later is copied. */
enum weir_err weir_library_load(const void *code, size_t max_bytes, struct weir_context *ctx,
                                bool home, struct weir_module **out) WEIR_MUST_CHECK;
/* The same from a file. Errors: FILE_NOT_FOUND, too. */
enum weir_err weir_library_load_file(const char *name, struct weir_context *ctx, bool home,
                                     struct weir_module **out) WEIR_MUST_CHECK;
/* A file's bytes and a zero behind them, from weir_alloc. Errors: FILE_NOT_FOUND,
 * MEMORY_ALLOCATION. */
enum weir_err weir_file_read(const char *name, char **data, size_t *bytes) WEIR_MUST_CHECK;
enum weir_err weir_library_unload(struct weir_module *m) WEIR_MUST_CHECK;
/* NULL when m is no live library. */
struct weir_module *weir_library_check(const void *handle);
/* Errors: SYMBOL_NOT_FOUND. */
enum weir_err weir_library_kernel(struct weir_module *m, const char *name,
                                  struct weir_function **out) WEIR_MUST_CHECK;
/* How many kernels the image has; the first `max` of them, in its order, become handles in out. */
unsigned weir_library_kernels(struct weir_module *m, void **out, unsigned max);

/* ---- use ---- */

/* The function behind a stub's address or a kernel handle. Errors: INVALID_DEVICE_FUNCTION (NULL),
 * INVALID_RESOURCE_HANDLE. Fast when this thread has asked before. */
enum weir_err weir_function_find(const void *stub, struct weir_function **out) WEIR_MUST_CHECK;
/* Makes f's own address a handle that weir_function_find knows (cudaKernel_t, cudaFunction_t). */
enum weir_err weir_function_handle(struct weir_function *f) WEIR_MUST_CHECK;
/* Its image on ctx's device; loads the module when needed. */
enum weir_err weir_function_image(struct weir_function *f, struct weir_context *ctx,
                                  struct weir_function_image **out) WEIR_MUST_CHECK;
/* The kernel whose address has this value in code of m, which is loaded in ctx as cg. Errors:
 * INVALID_DEVICE_FUNCTION, MEMORY_ALLOCATION. Thread: any, also a block of cg. */
enum weir_err weir_function_of_address(struct weir_module *m, struct weir_context *ctx,
                                       struct weir_cg_module *cg, uint64_t address,
                                       struct weir_function **out,
                                       struct weir_function_image **image) WEIR_MUST_CHECK;
/* Address and size of a __device__, __constant__ or __managed__ variable. Errors: INVALID_SYMBOL.
 */
enum weir_err weir_symbol_address(const void *host, struct weir_context *ctx, void **address,
                                  size_t *bytes) WEIR_MUST_CHECK;
enum weir_err weir_library_symbol(struct weir_module *m, const char *name, struct weir_context *ctx,
                                  void **address, size_t *bytes) WEIR_MUST_CHECK;

/* cudaDeviceReset, cuCtxDestroy. */
void weir_module_unload_context(struct weir_context *ctx);

#endif
