/* A compiler library without a compiler: hands out the prepared objects of kernels.c by the
 * kernel's name. For tests and benchmarks of the layers above code generation, where LLVM would
 * only be in the way (WEIR_JIT_LIBRARY names it).
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/jit.h"
#include "device/kernel.h"

#define KERNELS(K) K(empty) K(store) K(count) K(spin) K(hold) K(trap) K(bounded) K(turn)

#define DECLARE(name) extern const unsigned char stub_##name[], stub_##name##_end[];
KERNELS(DECLARE)

struct kernel {
    const char *name;
    const unsigned char *begin, *end;
    bool may_park;
};

#define ENTRY(n) {#n, stub_##n, stub_##n##_end, n##_parks},
enum {
    empty_parks,
    store_parks = 0,
    count_parks = 0,
    spin_parks = 1,
    hold_parks = 0,
    trap_parks = 0,
    bounded_parks = 0,
    turn_parks = 0
};
static const struct kernel kernels[] = {KERNELS(ENTRY)};

static enum weir_err compile(const struct weir_jit_request *request, struct weir_jit_result *result)
{
    memset(result, 0, sizeof *result);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        const struct kernel *k = &kernels[i];

        if (strcmp(k->name, request->kernel->name) != 0)
            continue;
        result->object_bytes = (size_t)(k->end - k->begin);
        result->object = malloc(result->object_bytes);
        if (!result->object)
            return WEIR_ERR_MEMORY_ALLOCATION;
        memcpy(result->object, k->begin, result->object_bytes);
        result->meta.kernel_abi = WEIR_KERNEL_ABI;
        result->meta.may_park = k->may_park;
        return WEIR_OK;
    }
    snprintf(result->message, sizeof result->message, "the stub compiler has no kernel %s",
             request->kernel->name);
    return WEIR_ERR_NOT_SUPPORTED;
}

static void release(struct weir_jit_result *result)
{
    free(result->object);
}

static const struct weir_jit_api api = {
    .abi = WEIR_JIT_ABI, .llvm_version = "none", .compile = compile, .release = release};

__attribute__((visibility("default"))) const struct weir_jit_api *weir_jit_entry(void)
{
    return &api;
}
