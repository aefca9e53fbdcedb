/* Allocation and release in the window. Three ways of mapping (memory_int.h): while few allocations
 * live, each has pages of its own between unmapped gaps; beyond that small ones share chunks and
 * large ones stand side by side, so that the number of mappings stays far below the kernel's limit.
 * SPDX-License-Identifier: Apache-2.0 */
#include "memory/memory_int.h"

#include <string.h>

#include "base/alloc.h"
#include "check/check.h"
#include "model/model.h"
#include "trace/record.h"

#define RECORDS_PER_SLAB 64
#define NO_SLOT          UINT32_MAX

struct record_slab {
    struct mem_slab slab;
    struct mem_record records[RECORDS_PER_SLAB];
};

struct chunk_block {
    struct mem_slab slab;
    struct mem_chunk chunk;
};

/* What is to be allocated. */
struct request {
    enum weir_mem_kind kind;
    int device;
    size_t bytes, charged;
    uint32_t flags;
    void *owner;
    enum mem_mapping mapping;
    struct mem_record *record;
    size_t mapped; /* bytes of pages to open */
    bool clear;    /* the slot holds old contents */
};

static enum weir_err charge_locked(struct mem_state *m, const struct request *q)
{
    size_t *used, *peak, capacity;

    switch (q->kind) {
    case WEIR_MEM_KIND_DEVICE:
        used = &m->devices[q->device].used;
        peak = &m->devices[q->device].peak;
        capacity = m->devices[q->device].capacity;
        break;
    case WEIR_MEM_KIND_PINNED:
        used = &m->pinned_used;
        peak = &m->pinned_peak;
        capacity = m->pinned_capacity;
        break;
    case WEIR_MEM_KIND_MANAGED: /* may be larger than the device */
        used = &m->managed_used;
        peak = &m->managed_peak;
        capacity = SIZE_MAX;
        break;
    default:
        return WEIR_OK;
    }
    if (q->charged > capacity || *used > capacity - q->charged)
        return WEIR_ERR_MEMORY_ALLOCATION;
    *used += q->charged;
    *peak = WEIR_MAX(*peak, *used);
    return WEIR_OK;
}

static void discharge_locked(struct mem_state *m, enum weir_mem_kind kind, int device,
                             size_t charged)
{
    if (kind == WEIR_MEM_KIND_DEVICE)
        m->devices[device].used -= charged;
    else if (kind == WEIR_MEM_KIND_PINNED)
        m->pinned_used -= charged;
    else if (kind == WEIR_MEM_KIND_MANAGED)
        m->managed_used -= charged;
}

static void slab_keep_locked(struct mem_state *m, struct mem_slab *slab)
{
    slab->next = m->slabs;
    m->slabs = slab;
}

static struct mem_record *record_take_locked(struct mem_state *m)
{
    struct mem_record *r = m->free_records;

    if (!r) {
        struct record_slab *s = weir_calloc(1, sizeof *s);

        if (!s)
            return NULL;
        slab_keep_locked(m, &s->slab);
        for (int i = 0; i < RECORDS_PER_SLAB; i++) {
            atomic_init(&s->records[i].seq, 1);
            s->records[i].next_free = i + 1 < RECORDS_PER_SLAB ? &s->records[i + 1] : NULL;
        }
        r = &s->records[0];
    }
    m->free_records = r->next_free;
    r->chunk = NULL;
    return r;
}

static void record_give_locked(struct mem_state *m, struct mem_record *r)
{
    r->next_free = m->free_records;
    m->free_records = r;
}

/* A mapped granule for a chunk; whole slabs are mapped at once. */
static bool chunk_granule_locked(struct mem_zone *z, size_t *granule)
{
    if (z->slab_left == 0) {
        size_t start;

        if (!weir_mem_range_prepare(z) || !weir_mem_range_take(z, SLAB_GRANULES, 1, &start))
            return false;
        if (!weir_mem_pages_open(start, SLAB_GRANULES << GRANULE_SHIFT)) {
            weir_mem_range_give(start, SLAB_GRANULES);
            return false;
        }
        z->slab_next = start;
        z->slab_left = SLAB_GRANULES;
    }
    *granule = z->slab_next++;
    z->slab_left--;
    return true;
}

static struct mem_chunk *chunk_create_locked(struct mem_state *m, struct mem_zone *z,
                                             uint32_t class_index)
{
    uint32_t slots = (uint32_t)(GRANULE_BYTES >> (8 + class_index));
    size_t head = sizeof(struct chunk_block) + slots * sizeof(struct mem_record);
    struct chunk_block *b = weir_calloc(1, head + slots * (sizeof(uint32_t) + sizeof(bool)));
    struct mem_chunk *c;

    if (!b)
        return NULL;
    c = &b->chunk;
    if (!chunk_granule_locked(z, &c->granule)) {
        weir_free(b);
        return NULL;
    }
    slab_keep_locked(m, &b->slab);
    c->class_index = class_index;
    c->slot_count = slots;
    c->next = (uint32_t *)((char *)b + head);
    c->dirty = (bool *)(c->next + slots);
    for (uint32_t i = 0; i < slots; i++) {
        atomic_init(&c->slots[i].seq, 1);
        c->slots[i].chunk = c;
        c->next[i] = i + 1 < slots ? i + 1 : NO_SLOT;
    }
    c->free_head = 0;
    c->free_tail = slots - 1;
    c->zone = z;
    weir_list_append(&z->chunks[class_index], &c->link);
    weir_mem_table_set(c->granule, 1, (uintptr_t)c | CHUNK_TAG);
    return c;
}

static uint32_t chunk_class(size_t bytes)
{
    uint32_t class_index = 0;

    while (((size_t)256 << class_index) < bytes)
        class_index++;
    return class_index;
}

static enum weir_err chunk_take_locked(struct mem_state *m, struct request *q)
{
    struct mem_zone *z = weir_mem_zone_of(q->kind, q->device);
    uint32_t class_index = chunk_class(q->bytes), slot;
    struct mem_chunk *c;

    if (weir_list_is_empty(&z->chunks[class_index]))
        c = chunk_create_locked(m, z, class_index);
    else
        c = WEIR_LIST_ENTRY(z->chunks[class_index].next, struct mem_chunk, link);
    if (!c)
        return WEIR_ERR_MEMORY_ALLOCATION;
    slot = c->free_head;
    c->free_head = c->next[slot];
    if (c->free_head == NO_SLOT) {
        c->free_tail = NO_SLOT;
        weir_list_remove(&c->link);
    }
    c->used++;
    q->clear = c->dirty[slot];
    c->dirty[slot] = true;
    q->record = &c->slots[slot];
    return WEIR_OK;
}

static void chunk_give_locked(struct mem_record *r)
{
    struct mem_chunk *c = r->chunk;
    struct weir_list *list = &c->zone->chunks[c->class_index];
    uint32_t slot = (uint32_t)(r - c->slots);

    c->next[slot] = NO_SLOT;
    if (c->free_head == NO_SLOT) {
        c->free_head = slot;
        weir_list_append(list, &c->link);
    } else {
        c->next[c->free_tail] = slot;
    }
    c->free_tail = slot;
    c->used--;
    /* Give the memory of an empty chunk back, unless it is the last one: then it is about to be
     * used again. */
    if (c->used == 0 && (list->next != &c->link || list->prev != &c->link)) {
        weir_mem_pages_drop(c->granule, GRANULE_BYTES);
        memset(c->dirty, 0, c->slot_count * sizeof *c->dirty);
    }
}

/* Record and addresses, nothing mapped yet. */
static enum weir_err reserve_locked(struct mem_state *m, struct request *q)
{
    struct mem_zone *z = weir_mem_zone_of(q->kind, q->device);
    size_t granules, start, align;

    if (m->gapped < m->gapped_max)
        q->mapping = MAPPING_GAPPED;
    else
        q->mapping = q->bytes <= CHUNK_MAX_SLOT ? MAPPING_CHUNK : MAPPING_DENSE;
    if (q->mapping == MAPPING_CHUNK)
        return chunk_take_locked(m, q);
    if (q->mapping == MAPPING_GAPPED) {
        q->mapped = WEIR_ALIGN_UP(q->bytes, (size_t)PAGE_BYTES);
        granules = (q->mapped + PAGE_BYTES + GRANULE_BYTES - 1) >> GRANULE_SHIFT;
    } else {
        q->mapped = WEIR_ALIGN_UP(q->bytes, GRANULE_BYTES);
        granules = q->mapped >> GRANULE_SHIFT;
    }
    align = q->bytes >= HUGE_BYTES ? HUGE_BYTES >> GRANULE_SHIFT : 1;
    q->record = record_take_locked(m);
    if (!q->record)
        return WEIR_ERR_MEMORY_ALLOCATION;
    if (!weir_mem_range_prepare(z) || !weir_mem_range_take(z, granules, align, &start)) {
        record_give_locked(m, q->record);
        return WEIR_ERR_MEMORY_ALLOCATION;
    }
    q->record->granule = start;
    q->record->granule_count = granules;
    m->gapped += q->mapping == MAPPING_GAPPED;
    return WEIR_OK;
}

static void unreserve_locked(struct mem_state *m, struct mem_record *r, enum mem_mapping mapping)
{
    if (mapping == MAPPING_CHUNK) {
        chunk_give_locked(r);
        return;
    }
    m->gapped -= mapping == MAPPING_GAPPED;
    weir_mem_range_give(r->granule, r->granule_count);
    record_give_locked(m, r);
}

/* Opens the pages of a reserved range. The range is this thread's alone: no lock. */
static bool map_pages(struct mem_state *m, const struct request *q)
{
    const struct mem_record *r = q->record;
    size_t reserved = r->granule_count << GRANULE_SHIFT;

    if (!weir_mem_pages_open(r->granule, q->mapped))
        return false;
    /* The gap may still be open from a dense allocation that lay here. */
    if (q->mapping == MAPPING_GAPPED && atomic_load_explicit(&m->dense_used, memory_order_relaxed))
        return weir_mem_gap_close(granule_address(r->granule) + q->mapped, reserved - q->mapped);
    return true;
}

static void publish(struct request *q, uint64_t id)
{
    struct mem_record *r = q->record;
    uintptr_t base;

    if (q->mapping == MAPPING_CHUNK)
        base = granule_address(r->chunk->granule) +
               ((uintptr_t)(r - r->chunk->slots) << (8 + r->chunk->class_index));
    else
        base = granule_address(r->granule);
    if (q->clear)
        memset((void *)base, 0, (size_t)256 << r->chunk->class_index);
    r->mapping = q->mapping;
    r->charged = q->charged;
    atomic_store_explicit(&r->kind, q->kind, memory_order_relaxed);
    atomic_store_explicit(&r->device, q->device, memory_order_relaxed);
    atomic_store_explicit(&r->flags, q->flags, memory_order_relaxed);
    atomic_store_explicit(&r->base, base, memory_order_relaxed);
    atomic_store_explicit(&r->bytes, q->bytes, memory_order_relaxed);
    atomic_store_explicit(&r->id, id, memory_order_relaxed);
    atomic_store_explicit(&r->owner, (uintptr_t)q->owner, memory_order_relaxed);
    /* Pairs with the acquire in weir_mem_record_read. */
    atomic_store_explicit(&r->seq, atomic_load_explicit(&r->seq, memory_order_relaxed) + 1,
                          memory_order_release);
    if (q->mapping != MAPPING_CHUNK)
        weir_mem_table_set(r->granule, (q->mapped + GRANULE_BYTES - 1) >> GRANULE_SHIFT,
                           (uintptr_t)r);
}

/* One attempt; *refused: the kernel would not map the pages, so another way of mapping may still
 * do. */
static enum weir_err alloc_try(struct mem_state *m, struct request *q, bool *refused)
{
    enum weir_err err;
    uint64_t id;

    *refused = false;
    weir_lock_acquire(&m->lock);
    err = charge_locked(m, q);
    if (err == WEIR_OK) {
        err = reserve_locked(m, q);
        if (err != WEIR_OK)
            discharge_locked(m, q->kind, q->device, q->charged);
    }
    id = ++m->next_id;
    if (err == WEIR_OK && q->kind != WEIR_MEM_KIND_INTERNAL)
        m->alloc_count++;
    weir_lock_release(&m->lock);
    if (err != WEIR_OK)
        return err;
    if (q->mapping != MAPPING_CHUNK && !map_pages(m, q)) {
        weir_lock_acquire(&m->lock);
        *refused = q->mapping == MAPPING_GAPPED;
        if (*refused) /* too many mappings in this process: make fewer */
            m->gapped_max = m->gapped / 2;
        unreserve_locked(m, q->record, q->mapping);
        discharge_locked(m, q->kind, q->device, q->charged);
        m->alloc_count -= q->kind != WEIR_MEM_KIND_INTERNAL;
        weir_lock_release(&m->lock);
        return WEIR_ERR_MEMORY_ALLOCATION;
    }
    publish(q, id);
    return WEIR_OK;
}

static const char *kind_text(enum weir_mem_kind kind)
{
    switch (kind) {
    case WEIR_MEM_KIND_PINNED:
        return "pinned memory";
    case WEIR_MEM_KIND_MANAGED:
        return "managed memory";
    default:
        return "device memory";
    }
}

enum weir_err weir_mem_alloc(enum weir_mem_kind kind, int device, size_t bytes, uint32_t flags,
                             void *owner, void **out)
{
    struct mem_state *m = &weir_mem_state;
    struct request q = {
        .kind = kind, .device = device, .bytes = bytes, .flags = flags, .owner = owner};
    enum weir_err err;
    bool refused;

    if (!m->ready || device < 0 || device >= m->device_count || bytes == 0 ||
        kind == WEIR_MEM_KIND_REGISTERED)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "alloc of %zu bytes, kind %d, device %d", bytes,
                         (int)kind, device);
    if (bytes > weir_mem_window_bytes)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "alloc of %zu bytes: more than the window",
                         bytes);
    q.charged = WEIR_ALIGN_UP(bytes, (size_t)UNIT_BYTES);
    err = alloc_try(m, &q, &refused);
    if (err != WEIR_OK && refused)
        err = alloc_try(m, &q, &refused);
    if (err != WEIR_OK)
        return WEIR_FAIL(err, "alloc of %zu bytes on device %d: out of memory", bytes, device);
    *out = (void *)atomic_load_explicit(&q.record->base, memory_order_relaxed);
    if (weir_trace_enabled() && kind != WEIR_MEM_KIND_INTERNAL)
        weir_trace_alloc((int)kind, device, *out, bytes);
    if (weir_check_enabled() && kind != WEIR_MEM_KIND_INTERNAL)
        weir_check_alloc(*out, bytes, kind_text(kind));
    return WEIR_OK;
}

/* The record becomes nobody's, so that look-ups and a second free no longer find it. */
static struct mem_record *retire_locked(enum weir_mem_kind kind, uintptr_t addr)
{
    struct mem_record *r = weir_mem_record_at(addr);
    struct weir_mem_info info;

    if (!r || !weir_mem_record_read(r, &info) || info.base != addr || info.kind != kind)
        return NULL;
    atomic_store_explicit(&r->seq, atomic_load_explicit(&r->seq, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    /* Later writes to the fields must not be seen with the old number; pairs with the fence of the
     * readers. */
    atomic_thread_fence(memory_order_release);
    return r;
}

static void unmap_pages(struct mem_state *m, struct mem_record *r, size_t bytes)
{
    size_t mapped =
        WEIR_ALIGN_UP(bytes, r->mapping == MAPPING_GAPPED ? (size_t)PAGE_BYTES : GRANULE_BYTES);

    if (r->mapping == MAPPING_CHUNK)
        return;
    if (r->mapping == MAPPING_DENSE || !weir_mem_pages_close(r->granule, mapped)) {
        /* A hole would cost mappings: the contents go, the pages stay open. */
        weir_mem_pages_drop(r->granule, mapped);
        atomic_store_explicit(&m->dense_used, true, memory_order_relaxed);
    }
    weir_mem_table_set(r->granule, (mapped + GRANULE_BYTES - 1) >> GRANULE_SHIFT, 0);
}

enum weir_err weir_mem_free(enum weir_mem_kind kind, void *ptr)
{
    struct mem_state *m = &weir_mem_state;
    struct mem_record *r = NULL;

    weir_lock_acquire(&m->lock);
    if (m->ready)
        r = retire_locked(kind, (uintptr_t)ptr);
    weir_lock_release(&m->lock);
    if (!r)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "free of %p: not an allocation of that kind", ptr);
    if (weir_trace_enabled() && kind != WEIR_MEM_KIND_INTERNAL)
        weir_trace_free(ptr);
    if (weir_check_enabled() && kind != WEIR_MEM_KIND_INTERNAL)
        weir_check_free(ptr, atomic_load_explicit(&r->bytes, memory_order_relaxed),
                        weir_model_free_needs_wait(
                            kind == WEIR_MEM_KIND_PINNED ? WEIR_CALL_FREE_HOST : WEIR_CALL_FREE));
    if (WEIR_UNLIKELY(atomic_load_explicit(&weir_mem_summing, memory_order_relaxed)) &&
        kind != WEIR_MEM_KIND_INTERNAL)
        weir_mem_sum_add(&(struct weir_mem_info){
            .kind = kind,
            .base = (uintptr_t)ptr,
            .bytes = atomic_load_explicit(&r->bytes, memory_order_relaxed)});
    weir_mem_share_drop(atomic_load_explicit(&r->id, memory_order_relaxed));
    unmap_pages(m, r, atomic_load_explicit(&r->bytes, memory_order_relaxed));
    weir_lock_acquire(&m->lock);
    discharge_locked(m, kind, atomic_load_explicit(&r->device, memory_order_relaxed), r->charged);
    m->free_count += kind != WEIR_MEM_KIND_INTERNAL;
    unreserve_locked(m, r, r->mapping);
    weir_lock_release(&m->lock);
    return WEIR_OK;
}

/* Which allocations a sweep frees. */
struct sweep {
    int device;
    bool all; /* whoever owns it */
    const void *owner;
};

static void free_if_of(const struct weir_mem_info *info, void *arg)
{
    const struct sweep *w = arg;

    if (info->device != w->device || (!w->all && info->owner != w->owner))
        return;
    if (info->kind == WEIR_MEM_KIND_DEVICE || info->kind == WEIR_MEM_KIND_PINNED ||
        (info->kind == WEIR_MEM_KIND_MANAGED && w->owner))
        (void)!weir_mem_free(info->kind, (void *)info->base); /* found just now */
}

typedef void (*visitor)(const struct weir_mem_info *info, void *arg);

/* first: where it would have to begin. */
static void visit_record(struct mem_record *r, uintptr_t first, visitor visit, void *arg)
{
    struct weir_mem_info info;

    if (r && weir_mem_record_read(r, &info) && info.base >= first)
        visit(&info, arg);
}

static void each_of_zone(struct mem_zone *z, visitor visit, void *arg)
{
    struct mem_state *m = &weir_mem_state;
    uintptr_t last = 0;
    size_t bump;

    weir_lock_acquire(&m->lock);
    bump = z->bump;
    weir_lock_release(&m->lock);
    for (size_t g = z->first; g < bump; g++) {
        uintptr_t entry = atomic_load_explicit(&m->granules[g], memory_order_acquire);

        if (entry & CHUNK_TAG && entry == last)
            continue; /* a chunk of several granules */
        last = entry;
        if (!(entry & CHUNK_TAG)) {
            visit_record(weir_mem_record_at(granule_address(g)), granule_address(g), visit, arg);
            continue;
        }
        for (uint32_t i = 0; i < ((struct mem_chunk *)(entry & ~CHUNK_TAG))->slot_count; i++)
            visit_record(&((struct mem_chunk *)(entry & ~CHUNK_TAG))->slots[i], 0, visit, arg);
    }
}

void weir_mem_each(visitor visit, void *arg)
{
    for (int i = 0; i < weir_mem_state.zone_count; i++)
        each_of_zone(&weir_mem_state.zones[i], visit, arg);
}

void weir_mem_free_device(int device)
{
    weir_mem_each(free_if_of, &(struct sweep){.device = device, .all = true});
}

void weir_mem_free_owned(int device, const void *owner)
{
    weir_mem_each(free_if_of, &(struct sweep){.device = device, .owner = owner});
}
