/* What a program leaves in memory, as one number: contents of allocations when they are freed, and
 * of those that live when it is asked for. Whatever their places and their order, so that two runs
 * may be compared. Pools' memory plays no part: where it lies depends on what had ended.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "memory/memory_int.h"

#define PART 65536

_Atomic bool weir_mem_summing;
static _Atomic uint64_t sum;

/* Pages may be closed to the host: they are read the way that a debugger does. */
static uint64_t hash_bytes(int fd, uintptr_t base, size_t bytes)
{
    static const char zeros[PART];
    char part[PART];
    uint64_t hash = bytes;

    for (size_t at = 0; at < bytes; at += PART) {
        size_t n = bytes - at < PART ? bytes - at : PART;

        if (pread(fd, part, n, (off_t)(base + at)) != (ssize_t)n)
            break;
        if (memcmp(part, zeros, n) != 0)
            hash = weir_hash_bytes(part, n, hash ^ at);
    }
    return hash;
}

void weir_mem_sum_add(const struct weir_mem_info *info)
{
    int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    atomic_fetch_add_explicit(
        &sum, hash_bytes(fd, info->base, info->bytes) * (2 * (uint64_t)info->kind + 1),
        memory_order_relaxed);
    close(fd);
}

void weir_mem_sum_rows(const struct weir_mem_rows *r, uint64_t key)
{
    int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    uint64_t hash = key;

    if (fd < 0)
        return;
    for (size_t z = 0; z < r->depth; z++)
        for (size_t y = 0; y < r->height; y++)
            hash = weir_hash_bytes(
                &(uint64_t){hash_bytes(fd, r->base + z * r->slice + y * r->pitch, r->width)},
                sizeof(uint64_t), hash);
    atomic_fetch_add_explicit(&sum, hash, memory_order_relaxed);
    close(fd);
}

bool weir_mem_is_summing(void)
{
    return atomic_load_explicit(&weir_mem_summing, memory_order_relaxed);
}

void weir_mem_sum_start(void)
{
    atomic_store(&weir_mem_summing, true);
}

static void add(const struct weir_mem_info *info, void *arg)
{
    (void)arg;
    if (info->kind == WEIR_MEM_KIND_DEVICE || info->kind == WEIR_MEM_KIND_PINNED ||
        info->kind == WEIR_MEM_KIND_MANAGED)
        weir_mem_sum_add(info);
}

uint64_t weir_mem_sum_end(void)
{
    weir_mem_each(add, NULL);
    atomic_store(&weir_mem_summing, false);
    return atomic_load(&sum);
}
