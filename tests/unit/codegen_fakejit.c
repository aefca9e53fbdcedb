/* A compiler library for the front's tests: "compiles" every kernel into one and the same object,
 * slowly if asked to, and counts.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codegen/jit.h"
#include "device/kernel.h"
#include "unit/codegen_fakejit.h"

WEIR_EXPORT struct fakejit fakejit;

static enum weir_err refuse(const struct weir_ptx_function *kernel, char *message, size_t bytes)
{
    if (!strstr(kernel->name, "bad"))
        return WEIR_OK;
    snprintf(message, bytes, "wmma.load (line %d)", kernel->line);
    return WEIR_ERR_NOT_SUPPORTED;
}

static enum weir_err compile(const struct weir_jit_request *request, struct weir_jit_result *result)
{
    FILE *f;

    atomic_fetch_add(&fakejit.compiles[request->tier], 1);
    atomic_fetch_add(&fakejit.running, 1);
    usleep((unsigned)atomic_load(&fakejit.delay_us));
    while (request->tier == WEIR_JIT_BEST && atomic_load(&fakejit.hold_best))
        usleep(1000);
    atomic_fetch_sub(&fakejit.running, 1);
    if (refuse(request->kernel, result->message, sizeof result->message) != WEIR_OK)
        return WEIR_ERR_NOT_SUPPORTED;
    if (atomic_exchange(&fakejit.fail_memory, 0)) {
        snprintf(result->message, sizeof result->message, "no memory");
        return WEIR_ERR_MEMORY_ALLOCATION;
    }
    f = fopen(getenv("FAKEJIT_OBJECT"), "rb");
    result->object = malloc(1 << 20);
    if (!f || !result->object)
        return WEIR_ERR_MEMORY_ALLOCATION;
    result->object_bytes = fread(result->object, 1, 1 << 20, f);
    fclose(f);
    result->meta.kernel_abi = WEIR_KERNEL_ABI;
    result->meta.state_bytes = 64 + (uint32_t)request->tier;
    result->meta.local_bytes_per_thread = request->block[0];
    return WEIR_OK;
}

static void release(struct weir_jit_result *result)
{
    free(result->object);
}

WEIR_EXPORT const struct weir_jit_api *weir_jit_entry(void)
{
    static const struct weir_jit_api api = {
        .abi = WEIR_JIT_ABI, .llvm_version = "fake", .compile = compile, .release = release};

    return &api;
}
