/* Between codegen's front (libweir.so) and the compiler (libweir-jit.so): the one exported symbol
 * weir_jit_entry returns The objects may only call symbols of the list in codegen/image.h (memcpy,
 * memset, a few libm functions). this table. The compiler reads a parsed function, and gives back a
 * relocatable ELF object; the front loads it (codegen/image.h) or keeps it in the cache. Objects
 * hold no addresses of this process: services come through launch->services, module variables
 * through launch->module_data.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CODEGEN_JIT_H
#define WEIR_CODEGEN_JIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "ptx/ptx.h"

#define WEIR_JIT_ABI 10

/* The shared variables of a function begin at a multiple of it, behind those of the module. */
#define WEIR_JIT_SHARED_ALIGN UINT64_C(128)

/* Value of a PTX function's address (mov, initialisers of variables): not an address of the host,
 * so that a load from it faults; an indirect call takes the index back and refuses what it does not
 * know. index: in module->functions. */
#define WEIR_JIT_FUNCTION_ADDRESS(index)                                                           \
    (UINT64_C(0xfc00000000000000) | ((uint64_t)((index) + 1) << 4))
#define WEIR_JIT_FUNCTION_INDEX(value) ((uint64_t)(((value)&UINT64_C(0x03ffffffffffffff)) >> 4) - 1)

enum weir_jit_tier { WEIR_JIT_QUICK, WEIR_JIT_BEST };

/* Lines in the object, as DWARF 4: of the PTX; of the source where .loc says it. The code is the
 * same with and without. */
enum weir_jit_lines { WEIR_JIT_LINES_NONE, WEIR_JIT_LINES_PTX, WEIR_JIT_LINES_SOURCE };

struct weir_jit_request {
    const struct weir_ptx_function *kernel; /* an entry function of a verified module */
    uint32_t block[3];                      /* the shape that code is specialised on */
    enum weir_jit_tier tier;
    enum weir_jit_lines lines;
    bool twin;     /* reaches the program's host-visible memory by its twin (memory.h) */
    bool touch;    /* with twin: says what it accesses: services->touch */
    bool races;    /* with touch: says which thread does, and what orders them: services->race */
    bool counts;   /* the code adds up what it does (weir_block.instructions, bytes) */
    bool modelled; /* counts, and clocks are the model's: services->clock */
    /* What the module's variable with index i (module->vars[i]) is at run time: ((void
     * **)launch->module_data)[i] holds its address. */
    const char *cpu, *features; /* LLVM names, NULL = this machine */
};

/* What loading needs to know; plain data, stored in the cache in front of the object. */
struct weir_jit_meta {
    uint32_t kernel_abi; /* WEIR_KERNEL_ABI */
    uint32_t state_bytes, local_bytes_per_thread, static_shared_bytes, mxcsr;
    uint8_t may_park, cooperative, triggers, clusters, reads_clock, launches, reserved[2];
};

struct weir_jit_result {
    struct weir_jit_meta meta;
    unsigned char *object; /* ELF64 relocatable; entry symbol "weir_kernel" of type weir_block_fn */
    size_t object_bytes;
    char message[256]; /* on error */
};

struct weir_jit_api {
    uint32_t abi; /* WEIR_JIT_ABI */
    const char *llvm_version;
    /* Thread: any, also in parallel. Errors: NOT_SUPPORTED (message names instruction and line),
     * MEMORY_ALLOCATION, JIT_COMPILATION_DISABLED never. */
    enum weir_err (*compile)(const struct weir_jit_request *request,
                             struct weir_jit_result *result);
    void (*release)(struct weir_jit_result *result);
};

const struct weir_jit_api *weir_jit_entry(void);

#endif
