/* Regions (region.h). Who looks an address up takes no lock and may be a signal handler: for each
 * unit of 512 bytes there is a place for the allocation that begins there, and a bitmap in levels
 * finds the last beginning at or before an address. Tables are address space that is touched only
 * where allocations begin; they stay mapped while the window lives, for readers that come late.
 * SPDX-License-Identifier: Apache-2.0 */
#include "memory/region.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/bits.h"
#include "memory/memory_int.h"

#define LEVELS_MAX     6
#define REGION_ID_BITS 40 /* allocations that a region may ever have */

/* The allocation that begins at a unit; seq as in mem_record. */
struct unit {
    _Atomic uint32_t seq; /* odd: none */
    _Atomic uint64_t id;
    _Atomic size_t bytes;
    _Atomic uintptr_t block;
};

struct weir_mem_region {
    struct mem_slab slab; /* first */
    struct weir_mem_region *next_free;
    uint64_t next_id; /* of an allocation; never those of the window, which count from one */
    /* immutable while in use */
    struct weir_mem_region_config config;
    size_t granule, granule_count;
    size_t tables_bytes;
    struct unit *units;
    int levels;
    _Atomic uint64_t *bits[LEVELS_MAX]; /* [0]: a bit per unit; [n]: a bit per word of [n - 1] */
    /* atomic, relaxed */
    _Atomic uint64_t access;
};

static size_t words(size_t bits)
{
    return (bits + 63) / 64;
}

static bool make_tables(struct weir_mem_region *r)
{
    size_t units = (r->granule_count << GRANULE_SHIFT) / WEIR_REGION_UNIT;
    size_t count[LEVELS_MAX], total = 0;
    char *p;

    r->levels = 0;
    for (size_t n = words(units);; n = words(n)) {
        count[r->levels++] = n;
        total += n;
        if (n == 1)
            break;
        if (r->levels == LEVELS_MAX)
            return false;
    }
    r->tables_bytes = WEIR_ALIGN_UP(units * sizeof *r->units + total * 8, (size_t)PAGE_BYTES);
    p = mmap(NULL, r->tables_bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return false;
    r->units = (struct unit *)p;
    p += units * sizeof *r->units;
    for (int i = 0; i < r->levels; i++, p += count[i - 1] * 8)
        r->bits[i] = (_Atomic uint64_t *)p;
    return true;
}

/* A region of before with tables of the right size, or a new one. */
static struct weir_mem_region *take_locked(struct mem_state *m, size_t granules)
{
    struct weir_mem_region *r;

    for (struct weir_mem_region **link = &m->free_regions; (r = *link); link = &r->next_free) {
        if (r->granule_count == granules) {
            *link = r->next_free;
            return r;
        }
    }
    r = weir_calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->granule_count = granules;
    r->next_id = (uint64_t)1 << 62 | ++m->region_count << REGION_ID_BITS;
    if (!make_tables(r)) {
        weir_free(r);
        return NULL;
    }
    r->slab.next = m->slabs;
    m->slabs = &r->slab;
    return r;
}

enum weir_err weir_mem_region_create(const struct weir_mem_region_config *config,
                                     struct weir_mem_region **out)
{
    struct mem_state *m = &weir_mem_state;
    size_t granules = (config->bytes + GRANULE_BYTES - 1) >> GRANULE_SHIFT;
    struct mem_zone *z = weir_mem_zone_of(WEIR_MEM_KIND_DEVICE, config->device);
    struct weir_mem_region *r = NULL;
    bool ok = false;

    weir_lock_acquire(&m->lock);
    if (granules && granules < m->granule_count)
        r = take_locked(m, granules);
    if (r) {
        ok = weir_mem_range_prepare(z) &&
             weir_mem_range_take(z, granules, HUGE_BYTES >> GRANULE_SHIFT, &r->granule);
        if (!ok) {
            r->next_free = m->free_regions;
            m->free_regions = r;
        }
    }
    weir_lock_release(&m->lock);
    if (!ok)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "%zu bytes of address space for a pool",
                         config->bytes);
    r->config = *config;
    atomic_store_explicit(&r->access, (uint64_t)1 << config->device, memory_order_relaxed);
    weir_mem_table_set(r->granule, granules, (uintptr_t)r | REGION_TAG);
    *out = r;
    return WEIR_OK;
}

void weir_mem_region_destroy(struct weir_mem_region *r)
{
    struct mem_state *m = &weir_mem_state;

    weir_mem_table_set(r->granule, r->granule_count, 0);
    /* What was touched of the tables is as at first: zero, but for the numbers, which go on. */
    weir_lock_acquire(&m->lock);
    weir_mem_range_give(r->granule, r->granule_count);
    r->next_free = m->free_regions;
    m->free_regions = r;
    weir_lock_release(&m->lock);
}

void weir_mem_region_finish(struct weir_mem_region *free_regions)
{
    for (struct weir_mem_region *r = free_regions; r; r = r->next_free)
        munmap(r->units, r->tables_bytes);
}

uintptr_t weir_mem_region_base(const struct weir_mem_region *r)
{
    return granule_address(r->granule);
}

size_t weir_mem_region_bytes(const struct weir_mem_region *r)
{
    return r->granule_count << GRANULE_SHIFT;
}

/* ---- pages ---- */

static bool map(const struct weir_mem_region *r, size_t offset, size_t bytes)
{
    void *at = (void *)(weir_mem_region_base(r) + offset);

    if (r->config.fd >= 0)
        return mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, r->config.fd,
                    (off_t)(r->config.file_offset + offset)) != MAP_FAILED;
    return mmap(at, bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
}

bool weir_mem_charge(int device, size_t bytes)
{
    struct mem_state *m = &weir_mem_state;
    struct mem_device *d = &m->devices[device];
    bool ok;

    weir_lock_acquire(&m->lock);
    ok = bytes <= d->capacity && d->used <= d->capacity - bytes;
    if (ok) {
        d->used += bytes;
        d->peak = WEIR_MAX(d->peak, d->used);
    }
    weir_lock_release(&m->lock);
    return ok;
}

void weir_mem_discharge(int device, size_t bytes)
{
    struct mem_state *m = &weir_mem_state;

    weir_lock_acquire(&m->lock);
    m->devices[device].used -= bytes;
    weir_lock_release(&m->lock);
}

static bool charge(const struct weir_mem_region *r, size_t bytes)
{
    return !r->config.charged || weir_mem_charge(r->config.device, bytes);
}

static void discharge(const struct weir_mem_region *r, size_t bytes)
{
    if (r->config.charged)
        weir_mem_discharge(r->config.device, bytes);
}

bool weir_mem_region_map(struct weir_mem_region *r, size_t offset, size_t bytes, int fd,
                         uint64_t file_offset)
{
    return mmap((void *)(weir_mem_region_base(r) + offset), bytes, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_FIXED, fd, (off_t)file_offset) != MAP_FAILED;
}

enum weir_err weir_mem_region_open(struct weir_mem_region *r, size_t offset, size_t bytes)
{
    if (!charge(r, bytes))
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "pool of device %d: %zu bytes more",
                         r->config.device, bytes);
    if (!map(r, offset, bytes)) {
        discharge(r, bytes);
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "pool: %zu bytes cannot be mapped", bytes);
    }
    if (bytes >= HUGE_BYTES) /* advice only: refusal does no harm */
        (void)madvise((void *)(weir_mem_region_base(r) + offset), bytes, MADV_HUGEPAGE);
    return WEIR_OK;
}

void weir_mem_region_close(struct weir_mem_region *r, size_t offset, size_t bytes, bool punch)
{
    if (r->config.fd >= 0 && punch)
        (void)fallocate(r->config.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                        (off_t)(r->config.file_offset + offset), (off_t)bytes);
    if (!weir_mem_gap_close(weir_mem_region_base(r) + offset, bytes))
        (void)madvise((void *)(weir_mem_region_base(r) + offset), bytes, MADV_DONTNEED);
    discharge(r, bytes);
}

/* ---- what lies in it ---- */

void weir_mem_region_publish(struct weir_mem_region *r, size_t offset, size_t bytes, void *block)
{
    size_t bit = offset / WEIR_REGION_UNIT;
    struct unit *u = &r->units[bit];
    uint32_t seq = atomic_load_explicit(&u->seq, memory_order_relaxed);

    atomic_store_explicit(&u->id, r->next_id++, memory_order_relaxed);
    atomic_store_explicit(&u->bytes, bytes, memory_order_relaxed);
    atomic_store_explicit(&u->block, (uintptr_t)block, memory_order_relaxed);
    /* Pairs with the acquire in weir_mem_region_find; 0 of a fresh table counts as odd. */
    atomic_store_explicit(&u->seq, (seq | 1) + 1, memory_order_release);
    for (int i = 0; i < r->levels;
         i++, bit /= 64) { /* one writer at a time: no locked instruction */
        _Atomic uint64_t *word = &r->bits[i][bit / 64];
        uint64_t old = atomic_load_explicit(word, memory_order_relaxed);

        atomic_store_explicit(word, old | (uint64_t)1 << bit % 64, memory_order_release);
        if (old)
            break; /* the levels above know already */
    }
}

void weir_mem_region_retire(struct weir_mem_region *r, size_t offset)
{
    size_t bit = offset / WEIR_REGION_UNIT;
    struct unit *u = &r->units[bit];

    atomic_store_explicit(&u->seq, atomic_load_explicit(&u->seq, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    atomic_thread_fence(memory_order_release); /* pairs with the readers' fence */
    for (int i = 0; i < r->levels; i++, bit /= 64) {
        _Atomic uint64_t *word = &r->bits[i][bit / 64];
        uint64_t left =
            atomic_load_explicit(word, memory_order_relaxed) & ~((uint64_t)1 << bit % 64);

        atomic_store_explicit(word, left, memory_order_release);
        if (left)
            break;
    }
}

static int highest(uint64_t word)
{
    return 63 - __builtin_clzll(word);
}

/* The last beginning at or before `bit`; false: none. An allocation that lives during the whole
 * call is found: its bits stand in every level, and nothing else can begin between it and an
 * address inside it. */
static bool beginning_at_or_before(struct weir_mem_region *r, size_t bit, size_t *found)
{
    bool inclusive = true; /* the bit itself counts on the lowest level only */

    for (int i = 0; i < r->levels; i++, bit /= 64, inclusive = false) {
        uint64_t word = atomic_load_explicit(&r->bits[i][bit / 64], memory_order_acquire);
        uint64_t below = weir_bits_low(bit % 64);

        word &= inclusive ? below | (uint64_t)1 << bit % 64 : below;
        if (!word)
            continue;
        bit = bit / 64 * 64 + (size_t)highest(word);
        while (i-- > 0) {
            word = atomic_load_explicit(&r->bits[i][bit], memory_order_acquire);
            if (!word)
                return false; /* it was freed while we looked */
            bit = bit * 64 + (size_t)highest(word);
        }
        *found = bit;
        return true;
    }
    return false;
}

bool weir_mem_region_find(struct weir_mem_region *r, uintptr_t addr, struct weir_mem_info *info)
{
    size_t bit;
    struct unit *u;
    uint32_t seq;

    if (!beginning_at_or_before(r, (addr - weir_mem_region_base(r)) / WEIR_REGION_UNIT, &bit))
        return false;
    u = &r->units[bit];
    seq = atomic_load_explicit(&u->seq, memory_order_acquire);
    if (seq & 1 || seq == 0)
        return false;
    *info = (struct weir_mem_info){
        .kind = WEIR_MEM_KIND_DEVICE,
        .device = r->config.device,
        .base = weir_mem_region_base(r) + bit * WEIR_REGION_UNIT,
        .bytes = atomic_load_explicit(&u->bytes, memory_order_relaxed),
        .id = atomic_load_explicit(&u->id, memory_order_relaxed),
        .block = (void *)atomic_load_explicit(&u->block, memory_order_relaxed),
        .access = atomic_load_explicit(&r->access, memory_order_relaxed),
    };
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&u->seq, memory_order_relaxed) == seq &&
           addr - info->base < info->bytes;
}

void weir_mem_region_set_access(struct weir_mem_region *r, uint64_t devices)
{
    atomic_store_explicit(&r->access, devices, memory_order_relaxed);
}
