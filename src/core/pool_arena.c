/* Blocks of pools (pool_arena.h): best fit from bins by powers of two, growing at the end of what
 * is there, giving back whole steps.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pool_arena.h"

#include <unistd.h>

#include "base/alloc.h"

#define ARENA_BYTES ((size_t)1 << 30)
#define BLOCK_BATCH 64
#define SEARCH_MAX  64 /* blocks looked at in a bin before the next one is tried */

/* ---- memory of blocks ---- */

struct block_batch {
    struct block_batch *next;
    struct weir_piece blocks[BLOCK_BATCH];
};

/* Of the process: blocks outlive their pools. */
static struct {
    struct weir_lock lock;   /* rank LEAF */
    struct weir_piece *free; /* by `behind` */
    struct block_batch *batches;
} store = {.lock = WEIR_LOCK_INIT(LEAF)};

static bool grow_store_locked(void)
{
    struct block_batch *batch = weir_calloc(1, sizeof *batch);

    if (!batch)
        return false;
    batch->next = store.batches;
    store.batches = batch;
    for (int i = 0; i < BLOCK_BATCH; i++) {
        batch->blocks[i].behind = store.free;
        store.free = &batch->blocks[i];
    }
    return true;
}

static struct weir_piece *take_block(void)
{
    struct weir_piece *b = NULL;

    weir_lock_acquire(&store.lock);
    if (store.free || grow_store_locked()) {
        b = store.free;
        store.free = b->behind;
    }
    weir_lock_release(&store.lock);
    return b;
}

static void give_block(struct weir_piece *b)
{
    weir_lock_acquire(&store.lock);
    b->arena = NULL;
    b->behind = store.free;
    store.free = b;
    weir_lock_release(&store.lock);
}

/* ---- bins ---- */

static unsigned bin_of(size_t bytes)
{
    return WEIR_MIN(63u - (unsigned)__builtin_clzll(bytes / WEIR_REGION_UNIT), WEIR_POOL_BINS - 1u);
}

/* A free block that a point bounds is pending while it is in a bin; its point changes outside only.
 */
static void count_pending(const struct weir_piece *b, size_t by)
{
    if (b->point.stream)
        atomic_fetch_add_explicit(&weir_pool_pending, by, memory_order_relaxed);
}

static void bin_add(struct weir_pool *p, struct weir_piece *b)
{
    count_pending(b, 1);
    b->bin = (uint8_t)bin_of(b->bytes);
    b->bin_before = NULL;
    b->bin_next = p->bins[b->bin];
    if (b->bin_next)
        b->bin_next->bin_before = b;
    p->bins[b->bin] = b;
}

static void bin_remove(struct weir_pool *p, struct weir_piece *b)
{
    count_pending(b, (size_t)-1);
    if (b->bin_before)
        b->bin_before->bin_next = b->bin_next;
    else
        p->bins[b->bin] = b->bin_next;
    if (b->bin_next)
        b->bin_next->bin_before = b->bin_before;
}

/* ---- cutting and joining ---- */

/* Cuts b after `bytes`; the rest becomes a block of the same state and point behind it. False: out
 * of memory. */
static bool cut(struct weir_piece *b, size_t bytes)
{
    struct weir_piece *rest = take_block();

    if (!rest)
        return false;
    *rest = (struct weir_piece){.before = b,
                                .behind = b->behind,
                                .arena = b->arena,
                                .offset = b->offset + bytes,
                                .bytes = b->bytes - bytes,
                                .state = b->state,
                                .point = b->point};
    if (rest->behind)
        rest->behind->before = rest;
    b->behind = rest;
    b->bytes = bytes;
    return true;
}

/* b takes in the block behind it; neither is in a bin. */
static void take_in_next(struct weir_piece *b)
{
    struct weir_piece *next = b->behind;

    b->bytes += next->bytes;
    b->behind = next->behind;
    if (b->behind)
        b->behind->before = b;
    give_block(next);
}

static bool may_join(const struct weir_piece *a, const struct weir_piece *b)
{
    return a && b && a->state == b->state &&
           (a->state == WEIR_PIECE_HOLE ||
            (a->state == WEIR_PIECE_FREE && a->point.stream == b->point.stream));
}

/* A free block or a hole that is in no bin: joins its neighbours, goes into its bin. */
static struct weir_piece *settle_in(struct weir_pool *p, struct weir_piece *b)
{
    bool binned = b->state == WEIR_PIECE_FREE;

    if (may_join(b->before, b)) {
        struct weir_piece *before = b->before;

        if (binned)
            bin_remove(p, before);
        before->point.seq = WEIR_MAX(before->point.seq, b->point.seq);
        take_in_next(before);
        b = before;
    }
    if (may_join(b, b->behind)) {
        if (binned)
            bin_remove(p, b->behind);
        b->point.seq = WEIR_MAX(b->point.seq, b->behind->point.seq);
        take_in_next(b);
    }
    if (binned)
        bin_add(p, b);
    return b;
}

/* ---- finding ---- */

/* What was freed in s itself goes first (oracle pool_reuse.same_stream_smaller_reuses_start), then
 * the smaller one. */
static bool is_better(const struct weir_piece *b, const struct weir_piece *best,
                      const struct weir_stream *s)
{
    bool own = b->point.stream == &s->m;

    if (!best || own != (best->point.stream == &s->m))
        return !best || own;
    return b->bytes < best->bytes;
}

static struct weir_piece *search(struct weir_pool *p, size_t bytes, const struct weir_stream *s,
                                 weir_piece_usable usable)
{
    struct weir_piece *best = NULL;

    for (unsigned bin = bin_of(bytes); bin < WEIR_POOL_BINS; bin++) {
        int looked = 0;

        for (struct weir_piece *b = p->bins[bin]; b && looked < SEARCH_MAX;
             b = b->bin_next, looked++) {
            if (b->bytes < bytes || !is_better(b, best, s) || !usable(p, &b->point, s))
                continue;
            best = b;
            if (b->bytes == bytes && b->point.stream == &s->m)
                return b;
        }
    }
    return best;
}

/* Joins what s may use as a whole but was freed in several streams; the joint block belongs to s.
 */
static void join_for(struct weir_pool *p, const struct weir_stream *s, weir_piece_usable usable)
{
    for (struct weir_arena *a = p->arenas; a; a = a->next) {
        for (struct weir_piece *b = a->first; b && b->behind;) {
            struct weir_piece *next = b->behind;

            if (b->state != WEIR_PIECE_FREE || next->state != WEIR_PIECE_FREE ||
                !usable(p, &b->point, s) || !usable(p, &next->point, s)) {
                b = next;
                continue;
            }
            bin_remove(p, b);
            bin_remove(p, next);
            b->point = (struct weir_model_point){(struct weir_model_stream *)(uintptr_t)&s->m,
                                                 atomic_load(&s->m.last)};
            take_in_next(b);
            bin_add(p, b);
        }
    }
}

/* ---- growing ---- */

static struct weir_arena *add_arena(struct weir_pool *p, uint64_t file_offset, size_t bytes)
{
    struct weir_mem_region_config config = {.device = p->device,
                                            .bytes = bytes,
                                            .fd = p->fd,
                                            .file_offset = file_offset,
                                            .charged = !p->imported};
    struct weir_arena *a = weir_calloc(1, sizeof *a), **end = &p->arenas;
    struct weir_piece *b = take_block();

    if (!a || !b || weir_mem_region_create(&config, &a->region) != WEIR_OK) {
        if (b)
            give_block(b);
        weir_free(a);
        return NULL;
    }
    *b = (struct weir_piece){.arena = a, .bytes = bytes, .state = WEIR_PIECE_HOLE};
    a->first = b;
    a->pool = p;
    a->file_offset = file_offset;
    weir_mem_region_set_access(a->region, p->access);
    while (*end)
        end = &(*end)->next;
    *end = a;
    return a;
}

static struct weir_arena *new_arena(struct weir_pool *p, size_t bytes)
{
    size_t size = WEIR_MAX(ARENA_BYTES, WEIR_ALIGN_UP(bytes, WEIR_POOL_STEP));
    struct weir_arena *a;

    if (p->fd >= 0 && ftruncate(p->fd, (off_t)(p->file_bytes + size)) != 0)
        return NULL;
    a = add_arena(p, p->file_bytes, size);
    if (a && p->fd >= 0)
        p->file_bytes += size;
    return a;
}

/* Opens the first `bytes` of a hole: a free block for everyone. NULL: no memory. */
static struct weir_piece *open_hole(struct weir_pool *p, struct weir_piece *hole, size_t bytes)
{
    if (bytes < hole->bytes && !cut(hole, bytes))
        return NULL;
    if (weir_mem_region_open(hole->arena->region, hole->offset, bytes) != WEIR_OK) {
        settle_in(p, hole);
        return NULL;
    }
    hole->state = WEIR_PIECE_FREE;
    hole->point = (struct weir_model_point){0};
    p->reserved += bytes;
    p->reserved_high = WEIR_MAX(p->reserved_high, p->reserved);
    return hole;
}

/* A free block of at least `bytes`, by opening pages behind what is free already; in no bin. */
static struct weir_piece *grow_at(struct weir_pool *p, struct weir_piece *hole, size_t bytes,
                                  const struct weir_stream *s, weir_piece_usable usable)
{
    struct weir_piece *before = hole->before, *b;
    size_t have, need;
    bool joins = before && before->state == WEIR_PIECE_FREE && usable(p, &before->point, s);

    have = joins ? before->bytes : 0;
    need = WEIR_ALIGN_UP(bytes - WEIR_MIN(have, bytes), WEIR_POOL_STEP);
    if (need == 0) { /* the bins' search had not come so far */
        bin_remove(p, before);
        return before;
    }
    if (need > hole->bytes || need > p->max_bytes || p->reserved > p->max_bytes - need)
        return NULL;
    b = open_hole(p, hole, need);
    if (!b || !joins)
        return b;
    bin_remove(p, before);
    take_in_next(before);
    return before;
}

static struct weir_piece *grow(struct weir_pool *p, size_t bytes, const struct weir_stream *s,
                               weir_piece_usable usable)
{
    struct weir_piece *found;
    struct weir_arena *a;

    for (a = p->arenas; a; a = a->next) {
        for (struct weir_piece *b = a->first; b; b = b->behind) {
            if (b->state != WEIR_PIECE_HOLE)
                continue;
            found = grow_at(p, b, bytes, s, usable);
            if (found)
                return found;
        }
    }
    if (bytes > p->max_bytes || p->reserved > p->max_bytes - bytes)
        return NULL;
    a = new_arena(p, bytes);
    return a ? grow_at(p, a->first, bytes, s, usable) : NULL;
}

static void make_live(struct weir_pool *p, struct weir_piece *b, size_t bytes)
{
    b->state = WEIR_PIECE_LIVE;
    b->wanted = bytes;
    p->live++;
    p->used += bytes;
    p->used_high = WEIR_MAX(p->used_high, p->used);
    weir_mem_region_publish(b->arena->region, b->offset, bytes, b);
}

enum weir_err weir_arena_alloc_locked(struct weir_pool *p, const struct weir_stream *s,
                                      size_t bytes, weir_piece_usable usable,
                                      struct weir_piece **out)
{
    size_t size = WEIR_ALIGN_UP(bytes, (size_t)WEIR_REGION_UNIT);
    struct weir_piece *b = search(p, size, s, usable);

    if (b) {
        bin_remove(p, b);
    } else {
        join_for(p, s, usable);
        b = search(p, size, s, usable);
        if (b)
            bin_remove(p, b);
        else
            b = grow(p, size, s, usable);
    }
    if (!b)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "%zu bytes from a pool that has %zu", bytes,
                         p->reserved);
    if (b->bytes > size) {
        if (!cut(b, size)) {
            settle_in(p, b);
            return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a pool's block");
        }
        b->state = WEIR_PIECE_LIVE; /* before the rest looks for neighbours to join */
        settle_in(p, b->behind);
    }
    make_live(p, b, bytes);
    *out = b;
    return WEIR_OK;
}

void weir_arena_free_locked(struct weir_pool *p, struct weir_piece *b,
                            const struct weir_model_point *point)
{
    b->state = WEIR_PIECE_FREE;
    b->point = *point;
    settle_in(p, b);
}

void weir_arena_take_out_locked(struct weir_pool *p, struct weir_piece *b, struct weir_piece **list)
{
    bin_remove(p, b);
    b->point = (struct weir_model_point){0};
    b->state = WEIR_PIECE_LEAVING; /* joins with nothing */
    b->bin_next = *list;
    *list = b;
}

void weir_arena_put_back_locked(struct weir_pool *p, struct weir_piece *list)
{
    for (struct weir_piece *b = list, *next; b; b = next) {
        next = b->bin_next;
        b->state = WEIR_PIECE_FREE;
        settle_in(p, b);
    }
}

/* ---- giving back ---- */

/* The whole steps of b that are not needed become a hole. */
static void release_block(struct weir_pool *p, struct weir_piece *b, size_t keep)
{
    size_t first = WEIR_ALIGN_UP(b->offset, WEIR_POOL_STEP);
    size_t end = (b->offset + b->bytes) & ~(WEIR_POOL_STEP - 1);
    size_t most = p->reserved > keep ? (p->reserved - keep) & ~(WEIR_POOL_STEP - 1) : 0;

    if (end <= first || most == 0)
        return;
    first = WEIR_MAX(first, end - WEIR_MIN(most, end - first));
    bin_remove(p, b);
    if (end < b->offset + b->bytes) {
        if (!cut(b, end - b->offset)) {
            bin_add(p, b);
            return;
        }
        bin_add(p, b->behind);
    }
    if (first > b->offset) {
        if (!cut(b, first - b->offset)) {
            settle_in(p, b);
            return;
        }
        bin_add(p, b);
        b = b->behind;
    }
    weir_mem_region_close(b->arena->region, b->offset, b->bytes, true);
    p->reserved -= b->bytes;
    b->state = WEIR_PIECE_HOLE;
    b->point = (struct weir_model_point){0};
    settle_in(p, b);
}

static struct weir_piece *last_block(const struct weir_arena *a)
{
    struct weir_piece *b = a->first;

    while (b->behind)
        b = b->behind;
    return b;
}

void weir_arena_release_locked(struct weir_pool *p, size_t keep, bool reached)
{
    if (reached) { /* what was reached may join, so that whole steps come together */
        for (struct weir_arena *a = p->arenas; a; a = a->next) {
            for (struct weir_piece *b = a->first; b; b = b->behind) {
                if (b->state != WEIR_PIECE_FREE || !b->point.stream ||
                    !weir_model_point_holds(&b->point))
                    continue;
                bin_remove(p, b);
                b->point = (struct weir_model_point){0};
                b = settle_in(p, b);
            }
        }
    }
    for (struct weir_arena *a = p->arenas; a && p->reserved > keep; a = a->next) {
        for (struct weir_piece *b = last_block(a), *before; b && p->reserved > keep; b = before) {
            before = b->before;
            if (b->state == WEIR_PIECE_FREE && !b->point.stream)
                release_block(p, b, keep);
        }
    }
}

void weir_arena_clear_locked(struct weir_pool *p)
{
    while (p->arenas) {
        struct weir_arena *a = p->arenas;

        p->arenas = a->next;
        while (a->first) {
            struct weir_piece *b = a->first;

            a->first = b->behind;
            if (b->state == WEIR_PIECE_LIVE)
                weir_mem_region_retire(a->region, b->offset);
            if (b->state != WEIR_PIECE_HOLE)
                weir_mem_region_close(a->region, b->offset, b->bytes, !p->imported);
            if (b->state == WEIR_PIECE_FREE)
                bin_remove(p, b);
            give_block(b);
        }
        weir_mem_region_destroy(a->region);
        weir_free(a);
    }
    p->reserved = p->used = p->live = 0;
}

/* ---- imported pools ---- */

static struct weir_arena *arena_of_file(struct weir_pool *p, uint64_t file_offset, size_t bytes)
{
    for (struct weir_arena *a = p->arenas; a; a = a->next) {
        if (a->file_offset == file_offset)
            return weir_mem_region_bytes(a->region) == bytes ? a : NULL;
    }
    return add_arena(p, file_offset, bytes);
}

/* Cuts block b so that [offset, offset + bytes) stands alone. NULL: out of memory. */
static struct weir_piece *cut_out(struct weir_piece *b, size_t offset, size_t bytes)
{
    if (offset > b->offset) {
        if (!cut(b, offset - b->offset))
            return NULL;
        b = b->behind;
    }
    return b->bytes == bytes || cut(b, bytes) ? b : NULL;
}

enum weir_err weir_arena_import_locked(struct weir_pool *p, uint64_t file_offset,
                                       size_t arena_bytes, size_t offset, size_t bytes,
                                       struct weir_piece **out)
{
    struct weir_arena *a = arena_of_file(p, file_offset, arena_bytes);
    size_t size = WEIR_ALIGN_UP(bytes, (size_t)WEIR_REGION_UNIT);
    struct weir_piece *b = a ? a->first : NULL;

    if (!a)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "an imported pool's addresses");
    /* The whole arena is mapped at the first import: pages cost nothing until they are touched. */
    if (b->state == WEIR_PIECE_HOLE) {
        enum weir_err err = weir_mem_region_open(a->region, 0, arena_bytes);

        if (err != WEIR_OK)
            return err;
        b->state = WEIR_PIECE_LEAVING; /* nobody's: never in a bin */
    }
    while (b && b->offset + b->bytes <= offset)
        b = b->behind;
    if (!b || b->state != WEIR_PIECE_LEAVING || offset + size > b->offset + b->bytes)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "memory of a pool imported twice");
    b = cut_out(b, offset, size);
    if (!b)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a pool's block");
    make_live(p, b, bytes);
    *out = b;
    return WEIR_OK;
}

void weir_arena_leave_locked(struct weir_pool *p, struct weir_piece *b)
{
    (void)p;
    /* Back to nobody's; neighbours of that kind join, so that it may be imported again. */
    if (b->behind && b->behind->state == WEIR_PIECE_LEAVING)
        take_in_next(b);
    if (b->before && b->before->state == WEIR_PIECE_LEAVING)
        take_in_next(b->before);
}
