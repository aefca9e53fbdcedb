/* Runs kernels without the engines: PTX text -> compiler -> object loader -> blocks called one
 * after the other on a few threads. Memory that kernels may touch comes from one small window.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TESTS_CODEGEN_LOWER_HARNESS_H
#define WEIR_TESTS_CODEGEN_LOWER_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codegen/image.h"
#include "codegen/jit.h"
#include "device/kernel.h"
#include "ptx/ptx.h"

struct harness {
    char *window;
    size_t window_bytes, used;
    struct weir_ptx_module *module;
    void *variables[256]; /* by index in module->vars */
    enum weir_jit_tier tier;
    const char *cpu, *features;
    int threads; /* that run blocks */
    char message[512];
    /* of the last launch */
    double compile_ms, run_ms;
    uint32_t error;
    uint64_t error_address;
    uint32_t error_line;
    size_t object_bytes;
};

struct harness_kernel {
    struct weir_jit_result result;
    struct weir_image *image;
    weir_block_fn fn;
    const struct weir_ptx_function *f;
    uint32_t block[3];
};

/* False on failure, with the reason in h->message. */
bool harness_start(struct harness *h, size_t window_bytes, const char *ptx, size_t bytes);
void harness_stop(struct harness *h);
/* From the window, 256-byte aligned; zeroed. */
void *harness_alloc(struct harness *h, size_t bytes);
bool harness_compile(struct harness *h, const char *name, const uint32_t block[3],
                     struct harness_kernel *k);
void harness_free_kernel(struct harness_kernel *k);
/* Runs all blocks; false when a block failed (h->error ...). */
bool harness_run(struct harness *h, struct harness_kernel *k, const uint32_t grid[3],
                 uint32_t dynamic_shared, const void *params, size_t param_bytes);
/* Compile and run. */
bool harness_launch(struct harness *h, const char *name, const uint32_t grid[3],
                    const uint32_t block[3], uint32_t dynamic_shared, const void *params,
                    size_t param_bytes);
double harness_now_ms(void);

#endif
