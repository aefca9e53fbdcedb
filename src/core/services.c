/* Services for running kernels. They run on workers, inside a block: no stream lock is held.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/clock.h"
#include "core/services.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "core/bulk.h"
#include "core/context.h"
#include "core/dependent.h"
#include "core/nested.h"
#include "core/printf.h"
#include "core/race.h"
#include "core/texture.h"
#include "core/touch.h"
#include "device/device.h"
#include "memory/memory.h"

static struct weir_context *context_of(const struct weir_block *block)
{
    return block->launch->owner;
}

static void check_address(struct weir_block *block, uint64_t addr, uint32_t bytes, uint32_t kind)
{
    const struct weir_launch *l = block->launch;
    uint64_t param = addr - (uintptr_t)l->params;

    /* parameters may be read by their generic address (__grid_constant__) */
    if ((kind == 0 || kind == 3) && param < l->param_bytes && bytes <= l->param_bytes - param)
        return;
    if (WEIR_UNLIKELY(bytes && addr & ((bytes & -bytes) - 1) & 15)) {
        block->error_address = weir_mem_program_view(addr);
        weir_device_block_fail(block, WEIR_ERR_MISALIGNED_ADDRESS, block->error_line);
    }
    if (WEIR_LIKELY(weir_mem_kernel_may_touch((const void *)(uintptr_t)addr, bytes,
                                              (int)block->launch->device)))
        return;
    block->error_address = weir_mem_program_view(addr);
    weir_device_block_fail(block, WEIR_ERR_ILLEGAL_ADDRESS, block->error_line);
}

/* ---- printf ---- */

/* A string that a kernel names by address: anywhere it may read. Its length is limited by its
 * allocation. */
static bool string_at(const struct weir_block *block, uint64_t addr, const char **s, size_t *max)
{
    const char *p = (const char *)(uintptr_t)addr;
    struct weir_mem_info info;

    if (!addr || !weir_mem_kernel_may_touch(p, 1, (int)block->launch->device) ||
        !weir_mem_find(p, &info))
        return false;
    *s = p;
    *max = info.base + info.bytes - (uintptr_t)p;
    return true;
}

static const char *printf_string(void *arg, uint64_t addr, size_t *max)
{
    const char *s;

    return string_at(arg, addr, &s, max) ? s : NULL;
}

static void print_lane(struct weir_block *block, const char *format, size_t format_max,
                       uint64_t args, int32_t *result)
{
    struct weir_context *ctx = context_of(block);
    struct weir_printf_args a = {
        .data = (const unsigned char *)(uintptr_t)args, .string = printf_string, .arg = block};
    struct weir_mem_info info;
    char text[1024];
    int n;

    if (args && weir_mem_find((const void *)(uintptr_t)args, &info))
        a.bytes = info.base + info.bytes - args;
    n = weir_printf_format(text, sizeof text, format, format_max, &a);
    weir_printf_append(&ctx->printf, text, (size_t)n, atomic_load(&ctx->limits[WEIR_LIMIT_PRINTF]));
    *result = (int32_t)a.count;
}

static void kernel_vprintf(struct weir_block *block, uint32_t mask, const uint64_t *formats,
                           const uint64_t *args, int32_t *results)
{
    for (int lane = 0; lane < 32; lane++) {
        const char *format;
        size_t max;

        if (!(mask >> lane & 1))
            continue;
        if (string_at(block, formats[lane], &format, &max))
            print_lane(block, format, max, args[lane], &results[lane]);
        else
            results[lane] = -1;
    }
}

void weir_printf_flush(struct weir_context *ctx)
{
    weir_printf_drain(&ctx->printf);
}

/* ---- device heap ---- */

/* Memory of device-side malloc is the kernels' alone: programs may not copy it (documented), so it
 * is INTERNAL. */
void *weir_heap_alloc(struct weir_context *ctx, uint64_t bytes)
{
    size_t limit = atomic_load(&ctx->limits[WEIR_LIMIT_HEAP]), n = WEIR_ALIGN_UP(bytes, 16);
    void *p = NULL;

    if (n == 0 || n > limit)
        return NULL;
    if (atomic_fetch_add(&ctx->heap_used, n) + n > limit ||
        weir_mem_alloc(WEIR_MEM_KIND_INTERNAL, ctx->ordinal, n, 0, &ctx->heap_used, &p) != WEIR_OK)
        atomic_fetch_sub(&ctx->heap_used, n);
    return p;
}

bool weir_heap_free(struct weir_context *ctx, uint64_t address)
{
    void *p = (void *)(uintptr_t)address;
    struct weir_mem_info info;

    if (!weir_mem_find(p, &info) || info.owner != &ctx->heap_used || info.base != address ||
        weir_mem_free(WEIR_MEM_KIND_INTERNAL, p) != WEIR_OK)
        return false;
    atomic_fetch_sub(&ctx->heap_used, info.bytes);
    return true;
}

static void kernel_malloc(struct weir_block *block, uint32_t mask, const uint64_t *bytes,
                          uint64_t *results)
{
    for (int lane = 0; lane < 32; lane++)
        if (mask >> lane & 1)
            results[lane] = (uint64_t)(uintptr_t)weir_heap_alloc(context_of(block), bytes[lane]);
}

static void kernel_free(struct weir_block *block, uint32_t mask, const uint64_t *ptrs)
{
    for (int lane = 0; lane < 32; lane++) {
        if (!(mask >> lane & 1) || !ptrs[lane])
            continue;
        /* Anything else was not given out by malloc: undefined there, an error here. */
        if (!weir_heap_free(context_of(block), ptrs[lane])) {
            block->error_address = ptrs[lane];
            weir_device_block_fail(block, WEIR_ERR_ILLEGAL_ADDRESS, 0);
        }
    }
}

/* ---- assert ---- */

static WEIR_NORETURN void kernel_assert_fail(struct weir_block *block, uint32_t mask,
                                             const uint64_t *message, const uint64_t *file,
                                             const uint32_t *line, const uint64_t *function)
{
    const uint32_t *t = block->launch->block;

    for (int lane = 0; lane < 32; lane++) {
        const char *texts[3] = {"?", "?", "?"};
        uint32_t thread;
        uint64_t addrs[3] = {file[lane], function[lane], message[lane]};
        size_t max;

        if (!(mask >> lane & 1))
            continue;
        for (int i = 0; i < 3; i++) {
            const char *s;

            if (string_at(block, addrs[i], &s, &max) && strnlen(s, max) < max)
                texts[i] = s;
        }
        thread = block->warp * 32 + (uint32_t)lane;
        fprintf(stderr,
                "%s:%" PRIu32 ": %s: block: [%" PRIu32 ",%" PRIu32 ",%" PRIu32
                "], thread: [%" PRIu32 ",%" PRIu32 ",%" PRIu32 "] Assertion `%s` failed.\n",
                texts[0], line[lane], texts[1], block->ctaid[0], block->ctaid[1], block->ctaid[2],
                thread % t[0], thread / t[0] % t[1], thread / t[0] / t[1], texts[2]);
    }
    weir_device_block_fail(block, WEIR_ERR_ASSERT, 0);
}

static WEIR_NORETURN void kernel_fail(struct weir_block *block, uint32_t err, uint32_t line)
{
    weir_device_block_fail(block, err, line);
}

/* Hints at how long a thread is content to wait; blocks that poll are parked by their own code. */
static void kernel_nanosleep(struct weir_block *block, uint32_t ns)
{
    (void)block, (void)ns;
    weir_cpu_relax();
}

/* A handle is the address of its value (core/graph.c). */
static void kernel_set_conditional(struct weir_block *block, uint32_t mask, const uint64_t *handles,
                                   const uint32_t *values)
{
    for (int lane = 0; lane < 32; lane++) {
        struct weir_mem_info info;

        if (!(mask >> lane & 1))
            continue;
        if (!weir_mem_find((const void *)(uintptr_t)handles[lane], &info) ||
            info.kind != WEIR_MEM_KIND_INTERNAL || info.base != handles[lane] ||
            info.bytes != sizeof(uint32_t))
            weir_device_block_fail(block, WEIR_ERR_ILLEGAL_ADDRESS, 0);
        __atomic_store_n((uint32_t *)(uintptr_t)handles[lane], values[lane], __ATOMIC_RELEASE);
    }
}

const struct weir_kernel_services weir_kernel_services = {
    .check_address = check_address,
    .fail = kernel_fail,
    .vprintf = kernel_vprintf,
    .malloc = kernel_malloc,
    .free = kernel_free,
    .assert_fail = kernel_assert_fail,
    .globaltimer = weir_clock_ns,
    .nanosleep = kernel_nanosleep,
    .set_conditional = kernel_set_conditional,
    .launch_dependents = weir_device_block_trigger,
    .wait_dependencies = weir_dependent_wait,
    .touch = weir_touch,
    .touch_lanes = weir_touch_lanes,
    .texture = weir_texture_serve,
    .bulk = weir_bulk_serve,
    .race = weir_race_access,
    .order = weir_race_order,
    .clock = weir_core_clock_tell,
    .device_call = weir_nested_call,
};
