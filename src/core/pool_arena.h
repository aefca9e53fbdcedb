/* Inside core: the memory of one pool, cut into blocks. An arena is a range of addresses (a
 * region); its blocks, in address order, are live allocations, free stretches, and holes without
 * pages, whose bounds are multiples of a step. Free neighbours are joined when the same streams may
 * use them. Everything here is under the pool's lock.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_POOL_ARENA_H
#define WEIR_CORE_POOL_ARENA_H

#include "core/pool.h"
#include "memory/region.h"
#include "model/reuse.h"

#define WEIR_POOL_STEP ((size_t)32 << 20)
#define WEIR_POOL_BINS 40

enum weir_piece_state { WEIR_PIECE_LIVE, WEIR_PIECE_LEAVING, WEIR_PIECE_FREE, WEIR_PIECE_HOLE };

/* Memory of blocks is never given back to the heap: a late free of a stale pointer may still look
 * at one. */
struct weir_piece {
    struct weir_piece *before, *behind; /* in address order within the arena */
    struct weir_arena *arena;           /* NULL: not in use */
    size_t offset, bytes;
    size_t wanted; /* LIVE: as asked for */
    uint8_t state; /* enum weir_piece_state */
    uint8_t bin;
    struct weir_piece *bin_next, *bin_before; /* FREE */
    struct weir_model_point point; /* FREE: where it was freed; no stream: anyone may use it */
};

struct weir_arena {
    struct weir_arena *next;
    struct weir_pool *pool;
    struct weir_mem_region *region;
    struct weir_piece *first;
    uint64_t file_offset;
};

/* Slots are zeroed at their first use only: make (pool.c) sets all. */
struct weir_pool {
    struct weir_slot slot; /* first: handle */
    struct weir_lock lock; /* rank POOL; guards all below but what is said to be immutable */
    _Atomic bool has_lock; /* lock is initialised: once, for all lives of the slot */
    /* immutable while live */
    int device;
    bool is_default, imported;
    size_t max_bytes;
    int fd; /* of pools that may be exported or are imported, else -1 */

    bool destroyed; /* by the program; goes when its last allocation does */
    bool gone;
    struct weir_reuse_policy policy;
    bool internal;
    uint64_t threshold, access;
    size_t reserved, reserved_high, used, used_high;
    size_t live;
    uint64_t file_bytes; /* of the file that arenas have */
    struct weir_arena *arenas;
    struct weir_piece *bins[WEIR_POOL_BINS]; /* FREE ones by size */
};

/* May stream s use what was freed at this point? */
typedef bool (*weir_piece_usable)(const struct weir_pool *p, const struct weir_model_point *point,
                                  const struct weir_stream *s);

/* A live block of `bytes`, published; the pool grows when it must. Errors: MEMORY_ALLOCATION. */
enum weir_err weir_arena_alloc_locked(struct weir_pool *p, const struct weir_stream *s,
                                      size_t bytes, weir_piece_usable usable,
                                      struct weir_piece **out) WEIR_MUST_CHECK;
/* A leaving block becomes free for those behind `point`. */
void weir_arena_free_locked(struct weir_pool *p, struct weir_piece *b,
                            const struct weir_model_point *point);
/* A block of an imported pool: its memory is the exporter's. */
void weir_arena_leave_locked(struct weir_pool *p, struct weir_piece *b);
/* The points of free blocks are of no more interest, anyone may use them: each is taken out (into
 * the list), then all are put back, which joins them with their neighbours. In two steps, for
 * whoever walks a bin cannot know which blocks joining takes away. */
void weir_arena_take_out_locked(struct weir_pool *p, struct weir_piece *b,
                                struct weir_piece **list);
void weir_arena_put_back_locked(struct weir_pool *p, struct weir_piece *list);
/* Gives free steps back while more than `keep` bytes are left; `reached`: also those whose point
 * was reached without a synchronisation. */
void weir_arena_release_locked(struct weir_pool *p, size_t keep, bool reached);
/* Everything goes, live blocks too. */
void weir_arena_clear_locked(struct weir_pool *p);

/* An arena of an imported pool: `bytes` of the file from `file_offset` on; blocks are published
 * where the exporter has them. */
enum weir_err weir_arena_import_locked(struct weir_pool *p, uint64_t file_offset,
                                       size_t arena_bytes, size_t offset, size_t bytes,
                                       struct weir_piece **out) WEIR_MUST_CHECK;

static inline void *weir_piece_address(const struct weir_piece *b)
{
    return (void *)(weir_mem_region_base(b->arena->region) + b->offset);
}

#endif
