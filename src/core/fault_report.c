/* SPDX-License-Identifier: Apache-2.0 */
#include "core/fault_report.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/kernel_name.h"
#include "base/log.h"
#include "check/check.h"
#include "codegen/codegen.h"
#include "core/stream.h"
#include "memory/memory.h"

#define LANES 32u
#define TEXT  512

/* ---- whose memory is near ---- */

struct nearest {
    uint64_t address, distance;
    struct weir_mem_info info;
    bool found;
};

static void look(const struct weir_mem_info *info, void *arg)
{
    struct nearest *n = arg;
    uint64_t distance = n->address < info->base ? info->base - n->address
                        : n->address - info->base < info->bytes
                            ? 0
                            : n->address - info->base - info->bytes + 1;

    if (info->kind == WEIR_MEM_KIND_INTERNAL || (n->found && distance >= n->distance))
        return;
    n->found = true;
    n->distance = distance;
    n->info = *info;
}

static const char *kind_of(enum weir_mem_kind kind)
{
    switch (kind) {
    case WEIR_MEM_KIND_PINNED:
        return "pinned memory";
    case WEIR_MEM_KIND_MANAGED:
        return "managed memory";
    case WEIR_MEM_KIND_REGISTERED:
        return "registered memory";
    default:
        return "device memory";
    }
}

static void relation(char out[64], uint64_t address, uint64_t base, uint64_t bytes)
{
    uint64_t end = base + bytes;

    if (address < base)
        snprintf(out, 64, "%" PRIu64 " bytes before", base - address);
    else if (address == end)
        snprintf(out, 64, "right behind the end of");
    else if (address > end)
        snprintf(out, 64, "%" PRIu64 " bytes behind the end of", address - end);
    else
        snprintf(out, 64, "%" PRIu64 " bytes behind the begin of", address - base);
}

#define NEAR       ((uint64_t)1 << 32) /* farther than this says nothing */
#define NULL_BYTES 65536u              /* a null pointer's members and elements */

static void memory_text(char *out, const struct weir_kernel_work *k)
{
    struct nearest n = {.address = k->error_address};
    char where[64];

    if (k->error_address - k->error_shared < (uint64_t)1 << 20) {
        relation(where, k->error_address, k->error_shared, k->shared_bytes);
        snprintf(out, TEXT, ": %s the block's %u bytes of shared memory", where, k->shared_bytes);
        return;
    }
    if (k->error_address < NULL_BYTES) {
        snprintf(out, TEXT, ": a null pointer");
        return;
    }
    weir_mem_each(look, &n);
    if (!n.found || n.distance > NEAR) {
        snprintf(out, TEXT, ": no allocation is near");
        return;
    }
    out[0] = 0;
    if (weir_check_reports()) /* the access is a finding, which knows what was freed as well */
        return;
    relation(where, n.address, n.info.base, n.info.bytes);
    snprintf(out, TEXT, ": %s %zu bytes of %s at 0x%" PRIxPTR, where, n.info.bytes,
             kind_of(n.info.kind), n.info.base);
}

/* ---- who ---- */

static void thread_at(char *out, const uint32_t *block, uint32_t index)
{
    snprintf(out, 48, "(%u, %u, %u)", index % block[0], index / block[0] % block[1],
             index / block[0] / block[1]);
}

static void who_text(char *out, const struct weir_kernel_work *k)
{
    const uint32_t *shape = k->launch.block, *b = k->error_block;
    uint32_t threads = shape[0] * shape[1] * shape[2], first = k->error_warp * LANES;
    uint32_t last = WEIR_MIN(first + LANES, threads) - 1;
    char one[48], two[48];

    if (first >= threads) { /* nothing ran yet */
        snprintf(out, TEXT, "block (%u, %u, %u)", b[0], b[1], b[2]);
        return;
    }
    if (k->error_lane) {
        first += k->error_lane - 1;
        last = first;
    }
    thread_at(one, shape, first);
    thread_at(two, shape, last);
    if (first == last)
        snprintf(out, TEXT, "thread %s of block (%u, %u, %u)", one, b[0], b[1], b[2]);
    else
        snprintf(out, TEXT, "one of the threads %s to %s of block (%u, %u, %u)", one, two, b[0],
                 b[1], b[2]);
}

/* ---- where ---- */

static void line_text(char *out, const struct weir_function_image *image,
                      const struct weir_kernel_work *k)
{
    uint32_t ptx = k->error_line, line;
    const char *file;

    if (k->error_pc)
        ptx = weir_cg_kernel_fault_line(image->kernel, k->code, k->launch.block, k->error_pc, ptx);
    if (ptx && weir_cg_kernel_source(image->kernel, ptx, &file, &line))
        snprintf(out, TEXT, " at %s:%u", file ? weir_check_path(file) : "?", line);
    else if (ptx)
        snprintf(out, TEXT, " at line %u of its PTX", ptx);
    else
        out[0] = 0;
}

void weir_fault_report(const struct weir_context *ctx, const struct weir_function *f,
                       const struct weir_function_image *image, struct weir_kernel_work *k,
                       enum weir_err err)
{
    char where[TEXT], who[TEXT], address[TEXT + 64] = "", memory[TEXT], name[256];
    char text[4 * TEXT];

    if (!k->error_noted || !k->code || err == WEIR_ERR_ASSERT || weir_context_error(ctx) != WEIR_OK)
        return;
    k->error_noted = false;
    line_text(where, image, k);
    who_text(who, k);
    if (err == WEIR_ERR_ILLEGAL_ADDRESS || err == WEIR_ERR_MISALIGNED_ADDRESS) {
        memory_text(memory, k);
        snprintf(address, sizeof address, ", address 0x%" PRIx64 "%s", k->error_address, memory);
    }
    snprintf(text, sizeof text, "kernel %s: %s%s, by %s%s",
             weir_kernel_plain_name(f->name, name, sizeof name), weir_err_name(err), where, who,
             address);
    if (weir_check_reports())
        weir_check_fault_text(text);
    else
        weir_log(WEIR_LOG_ERROR, "%s", text);
}
