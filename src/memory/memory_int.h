/* Inside of the memory layer. One window of addresses, cut into granules of 64 KiB. Two flat tables
 * say whose a granule is: `spans` (one entry per 256 MiB, set when one allocation covers all of it)
 * and `granules`. An entry points to a record, or, with its lowest bit set, to a chunk of small
 * allocations, with the second bit set to a region. Records and chunks never go back to the heap
 * while the window lives, so a reader without a lock may always follow an entry; the record's
 * sequence number tells it whether what it read belongs together. Writers hold mem.lock, or own the
 * granules exclusively (between range and publish).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_MEMORY_INT_H
#define WEIR_MEMORY_INT_H

#include <stdatomic.h>

#include "base/list.h"
#include "base/lock.h"
#include "base/vec.h"
#include "memory/memory.h"
#include "memory/region.h"

#define GRANULE_SHIFT 16
#define GRANULE_BYTES ((size_t)1 << GRANULE_SHIFT)
#define SPAN_SHIFT    28
#define SPAN_GRANULES ((size_t)1 << (SPAN_SHIFT - GRANULE_SHIFT))
#define HUGE_BYTES    ((size_t)2 << 20) /* allocations from here on are aligned for huge pages */
#define UNIT_BYTES    512 /* what an allocation counts for against the device's capacity */
#define PAGE_BYTES    4096

#define CHUNK_CLASSES  8 /* slots of 256 bytes << class, up to a half granule */
#define CHUNK_MAX_SLOT ((size_t)256 << (CHUNK_CLASSES - 1))
#define CHUNK_TAG      ((uintptr_t)1)
#define REGION_TAG     ((uintptr_t)2)
#define SLAB_GRANULES  32 /* granules that are mapped at once for chunks */

#define REGISTERED_FIRST_CAP 64
#define DEVICES_MAX          64

/* How an allocation's pages are mapped. */
enum mem_mapping {
    MAPPING_GAPPED, /* its own mapping, unmapped pages before and behind */
    MAPPING_DENSE,  /* whole granules, side by side with the neighbours: costs no mapping of its own
                     */
    MAPPING_CHUNK,  /* a slot of a chunk */
};

/* One allocation. seq is even while the fields are valid. Fields above the line are written only
 * while seq is odd. */
struct mem_record {
    _Atomic uint32_t seq; /* release by the writer, acquire by readers */
    _Atomic uint32_t kind;
    _Atomic int32_t device;
    _Atomic uint32_t flags;
    _Atomic uintptr_t base;
    _Atomic size_t bytes;
    _Atomic uint64_t id;
    _Atomic uintptr_t owner;
    /* writer's */
    enum mem_mapping mapping;
    size_t granule, granule_count; /* reserved range */
    size_t charged;                /* bytes counted in the statistics */
    struct mem_chunk *chunk;
    struct mem_record *next_free;
};

/* A granule that holds allocations of one size class; guarded by mem.lock, but for the slots'
 * lock-free readers. */
struct mem_chunk {
    struct weir_list link; /* in its zone's chunks[class] while it has a free slot */
    uint32_t class_index, slot_count, used;
    uint32_t free_head,
        free_tail; /* first in, first out, so that a slot is not reused soon; UINT32_MAX = none */
    struct mem_zone *zone;
    size_t granule;
    uint32_t *next; /* of a free slot */
    bool *dirty;    /* slot was handed out since the chunk's pages were fresh */
    struct mem_record slots[];
};

struct mem_range {
    size_t start, count; /* granules */
};

struct mem_device {
    size_t used, peak, capacity;
};

struct mem_slab { /* a block of records, a chunk or a region, for weir_mem_finish */
    struct mem_slab *next;
};

/* A part of the window. With several devices each has one, and one is the host's and for what all
 * use (window.c), so that what a device's kernels may touch without peer access is one range. */
#define ZONES_MAX (DEVICES_MAX + 1)
struct mem_zone {
    size_t first, end; /* granules; immutable */
    /* guarded by mem.lock */
    size_t bump; /* first granule that was never used */
    WEIR_VEC(struct mem_range)
    free; /* the first free_sorted ones may be handed out, the others wait */
    size_t free_sorted, free_rover, free_compacted;
    size_t waiting, frees; /* granules freed, and by how many frees, since the last sorting */
    bool again;            /* the sorted ones come before the unused end */
    size_t live;           /* ranges handed out */
    struct weir_list chunks[CHUNK_CLASSES];
    size_t slab_next, slab_left; /* mapped granules for further chunks */
};

struct mem_state {
    struct weir_lock lock;
    bool ready;
    size_t granule_count;
    _Atomic uintptr_t *granules, *spans;
    size_t granules_bytes, spans_bytes; /* of the tables */

    /* guarded by lock */
    struct mem_zone zones[ZONES_MAX];
    int zone_count;
    size_t gapped, gapped_max;
    _Atomic bool dense_used;  /* relaxed: freed dense ranges may still be mapped; ordered by the
                                 range's own hand-over */
    _Atomic size_t populated; /* relaxed: bytes of allocations whose pages were asked for at once */
    int twin_fd; /* the file behind host-visible memory that is mapped twice; constant */
    struct mem_record *free_records;
    struct mem_slab *slabs;
    struct weir_mem_region *free_regions;
    uint64_t region_count; /* ever made */
    struct mem_device *devices;
    int device_count;
    size_t pinned_used, pinned_peak, pinned_capacity;
    size_t managed_used, managed_peak;
    uint64_t alloc_count, free_count, next_id;
    _Atomic uint64_t
        peers[DEVICES_MAX]; /* atomic: bit p of row d: kernels of d may touch memory of p */
};

extern struct mem_state weir_mem_state;

/* Where memory of that kind and device lies. */
struct mem_zone *weir_mem_zone_of(enum weir_mem_kind kind, int device);

/* Address ranges (range.c). All under mem.lock. */
/* Reserves `count` granules of a zone, the first one a multiple of `align` where possible. False:
 * no address space left. */
bool weir_mem_range_take(struct mem_zone *z, size_t count, size_t align,
                         size_t *start) WEIR_MUST_CHECK;
void weir_mem_range_give(size_t start, size_t count);
/* Makes room so that weir_mem_range_give cannot fail for one more live range. */
bool weir_mem_range_prepare(struct mem_zone *z) WEIR_MUST_CHECK;

/* Table of granules (find.c). The caller owns the range. */
void weir_mem_table_set(size_t start, size_t count, uintptr_t entry);
/* The record's valid fields, or false. Lock-free. */
bool weir_mem_record_read(struct mem_record *record, struct weir_mem_info *info);
/* The record that an address may belong to, or NULL (in a region, too). Lock-free. */
struct mem_record *weir_mem_record_at(uintptr_t addr);

/* Regions (region.c). Lock-free. */
bool weir_mem_region_find(struct weir_mem_region *region, uintptr_t addr,
                          struct weir_mem_info *info);
void weir_mem_region_finish(struct weir_mem_region *free_regions);

/* The allocation of this id is about to be freed (share.c). */
void weir_mem_share_drop(uint64_t id);
/* contents.c */
extern _Atomic bool weir_mem_summing;
void weir_mem_sum_add(const struct weir_mem_info *info);

/* Registered host ranges (host.c). */
bool weir_mem_registered_find(uintptr_t addr, struct weir_mem_info *info);
void weir_mem_registered_finish(void);

/* Pages (window.c). False when the kernel refuses. */
bool weir_mem_pages_open(size_t granule, size_t bytes) WEIR_MUST_CHECK;
bool weir_mem_pages_close(size_t granule, size_t bytes) WEIR_MUST_CHECK;
bool weir_mem_gap_close(uintptr_t start, size_t bytes) WEIR_MUST_CHECK;
void weir_mem_pages_drop(size_t granule, size_t bytes); /* contents become zero, stays mapped */

/* populate.c. The range gets its pages soon, unless that is cancelled: on return it gets no more.
 * Thread: any. */
void weir_mem_populate(uintptr_t start, size_t bytes);
void weir_mem_populate_cancel(uintptr_t start, size_t bytes);
void weir_mem_populate_finish(void);

static inline uintptr_t granule_address(size_t granule)
{
    return weir_mem_window_base + (granule << GRANULE_SHIFT);
}

#endif
