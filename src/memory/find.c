/* Whose is an address? Readers take no lock and may run in a signal handler.
 * SPDX-License-Identifier: Apache-2.0 */
#include "memory/memory_int.h"

void weir_mem_table_set(size_t start, size_t count, uintptr_t entry)
{
    struct mem_state *m = &weir_mem_state;
    size_t i = start, end = start + count;

    while (i < end) {
        if (i % SPAN_GRANULES == 0 && end - i >= SPAN_GRANULES) {
            atomic_store_explicit(&m->spans[i / SPAN_GRANULES], entry, memory_order_release);
            i += SPAN_GRANULES;
        } else {
            atomic_store_explicit(&m->granules[i], entry, memory_order_release);
            i++;
        }
    }
}

bool weir_mem_record_read(struct mem_record *r, struct weir_mem_info *info)
{
    uint32_t seq = atomic_load_explicit(&r->seq, memory_order_acquire);

    if (seq & 1) /* not yet handed out, or being freed: in both cases nobody's */
        return false;
    info->kind = (enum weir_mem_kind)atomic_load_explicit(&r->kind, memory_order_relaxed);
    info->device = atomic_load_explicit(&r->device, memory_order_relaxed);
    info->flags = atomic_load_explicit(&r->flags, memory_order_relaxed);
    info->base = atomic_load_explicit(&r->base, memory_order_relaxed);
    info->bytes = atomic_load_explicit(&r->bytes, memory_order_relaxed);
    info->id = atomic_load_explicit(&r->id, memory_order_relaxed);
    info->owner = (void *)atomic_load_explicit(&r->owner, memory_order_relaxed);
    info->block = NULL;
    atomic_thread_fence(memory_order_acquire);
    /* Changed meanwhile: it was freed while we read, so "nobody's" was true at some moment of this
     * call. */
    return atomic_load_explicit(&r->seq, memory_order_relaxed) == seq;
}

static uintptr_t entry_at(uintptr_t offset)
{
    struct mem_state *m = &weir_mem_state;
    uintptr_t entry = atomic_load_explicit(&m->spans[offset >> SPAN_SHIFT], memory_order_acquire);

    return entry
               ? entry
               : atomic_load_explicit(&m->granules[offset >> GRANULE_SHIFT], memory_order_acquire);
}

static struct mem_record *record_of(uintptr_t entry, uintptr_t offset)
{
    if (entry & REGION_TAG)
        return NULL;
    if (entry & CHUNK_TAG) {
        struct mem_chunk *c = (struct mem_chunk *)(entry & ~CHUNK_TAG);

        return &c->slots[(offset & (GRANULE_BYTES - 1)) >> (8 + c->class_index)];
    }
    return (struct mem_record *)entry;
}

struct mem_record *weir_mem_record_at(uintptr_t addr)
{
    uintptr_t offset = addr - weir_mem_window_base;

    return offset < weir_mem_window_bytes ? record_of(entry_at(offset), offset) : NULL;
}

bool weir_mem_find(const void *ptr, struct weir_mem_info *info)
{
    uintptr_t addr = weir_mem_program_view((uintptr_t)ptr), offset = addr - weir_mem_window_base;

    if (offset < weir_mem_window_bytes) {
        uintptr_t entry = entry_at(offset);
        struct mem_record *r;

        if (entry & REGION_TAG)
            return weir_mem_region_find((struct weir_mem_region *)(entry & ~REGION_TAG), addr,
                                        info);
        r = record_of(entry, offset);
        return r && weir_mem_record_read(r, info) && addr - info->base < info->bytes;
    }
    return weir_mem_registered_find(addr, info);
}

bool weir_mem_kernel_may_touch(const void *ptr, size_t bytes, int device)
{
    uintptr_t addr = weir_mem_program_view((uintptr_t)ptr);
    struct weir_mem_info info;

    if (!weir_mem_find(ptr, &info) || bytes > info.bytes - (addr - info.base))
        return false;
    if (info.device == device ||
        (info.kind != WEIR_MEM_KIND_DEVICE && info.kind != WEIR_MEM_KIND_INTERNAL))
        return true;
    if (info.block)
        return device >= 0 && device < DEVICES_MAX && (info.access >> device & 1);
    return device >= 0 && device < DEVICES_MAX && info.device >= 0 && info.device < DEVICES_MAX &&
           (atomic_load_explicit(&weir_mem_state.peers[device], memory_order_relaxed) >>
                info.device &
            1);
}
