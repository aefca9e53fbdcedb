/* Pools: handles, attributes, and whose turn it is with freed memory (pool.h). Room is found by
 * pool_arena.c, other processes are served by pool_ipc.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "check/check.h"
#include "core/pool.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/map.h"
#include "core/pool_arena.h"
#include "core/pool_ipc.h"
#include "core/submit.h"

_Static_assert(sizeof(struct weir_pool) <= 1024, "slot size of pools in core.c");

_Atomic size_t weir_pool_pending;

/* ---- pools ---- */

static enum weir_err make(const struct weir_pool_config *config, bool is_default,
                          struct weir_pool **out)
{
    struct weir_pool *p = weir_slots_take(&weir_core.pools);
    size_t memory = weir_core.contexts[config->device].memory_bytes;
    enum weir_err err;

    if (!p)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "too many pools");
    /* Once in the slot's life: a synchronisation of a former pool may still take it. */
    if (!atomic_load_explicit(&p->has_lock, memory_order_relaxed)) {
        weir_lock_init(&p->lock, WEIR_RANK_POOL);
        atomic_store_explicit(&p->has_lock, true, memory_order_release);
    }
    weir_lock_acquire(&p->lock);
    p->device = config->device;
    p->is_default = is_default;
    p->imported = p->destroyed = p->gone = false;
    p->max_bytes = config->max_bytes ? config->max_bytes : memory;
    p->policy.follow = p->policy.opportunistic = p->internal = true;
    p->threshold = 0;
    p->access = (uint64_t)1 << config->device;
    p->reserved = p->reserved_high = p->used = p->used_high = p->live = 0;
    p->arenas = NULL;
    p->fd = -1;
    p->file_bytes = 0;
    err = config->handles & WEIR_POOL_HANDLE_FD ? weir_pool_make_file_locked(p) : WEIR_OK;
    weir_lock_release(&p->lock);
    if (err != WEIR_OK) {
        weir_slots_give(&weir_core.pools, p);
        return err;
    }
    weir_slot_publish(&p->slot);
    *out = p;
    return WEIR_OK;
}

enum weir_err weir_pool_create(const struct weir_pool_config *config, struct weir_pool **out)
{
    if (config->device < 0 || config->device >= weir_core.device_count)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "pool on device %d", config->device);
    if (config->handles & ~WEIR_POOL_HANDLE_FD)
        return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "pool with handle types %#x", config->handles);
    return make(config, false, out);
}

static void finish_locked(struct weir_pool *p)
{
    weir_arena_clear_locked(p);
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
    p->gone = true;
}

/* True once, when a destroyed pool has neither allocations left nor memory that its streams may
 * still use: the caller gives its slot back. */
static bool may_go_locked(struct weir_pool *p)
{
    if (!p->destroyed || p->gone || p->live)
        return false;
    weir_arena_release_locked(p, 0, true);
    if (p->reserved)
        return false;
    finish_locked(p);
    return true;
}

enum weir_err weir_pool_destroy(struct weir_pool *p)
{
    bool empty;

    if (p->is_default)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "a default pool cannot be destroyed");
    if (!weir_slot_kill(&p->slot))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "pool destroyed twice");
    weir_lock_acquire(&weir_core.lock);
    if (atomic_load(&weir_core.current_pools[p->device]) == p)
        atomic_store(&weir_core.current_pools[p->device], weir_core.default_pools[p->device]);
    weir_lock_release(&weir_core.lock);
    weir_lock_acquire(&p->lock);
    p->destroyed = true;
    empty = may_go_locked(p);
    weir_lock_release(&p->lock);
    if (empty)
        weir_slots_give(&weir_core.pools, p);
    return WEIR_OK;
}

enum weir_err weir_pool_get(const void *handle, struct weir_pool **out)
{
    *out = weir_slots_check(&weir_core.pools, handle);
    return *out ? WEIR_OK
                : WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%p is no pool, or a destroyed one", handle);
}

int weir_pool_device(const struct weir_pool *p)
{
    return p->device;
}

static enum weir_err check_device(int device)
{
    if (device < 0 || device >= weir_core.device_count)
        return WEIR_FAIL(WEIR_ERR_INVALID_DEVICE, "device %d of %d", device,
                         weir_core.device_count);
    return WEIR_OK;
}

enum weir_err weir_pool_default(int device, struct weir_pool **out)
{
    struct weir_pool_config config = {.device = device};
    enum weir_err err = check_device(device);

    if (err != WEIR_OK)
        return err;
    weir_lock_acquire(&weir_core.lock);
    if (!weir_core.default_pools[device]) {
        err = make(&config, true, &weir_core.default_pools[device]);
        if (err == WEIR_OK && !atomic_load(&weir_core.current_pools[device]))
            atomic_store(&weir_core.current_pools[device], weir_core.default_pools[device]);
    }
    *out = weir_core.default_pools[device];
    weir_lock_release(&weir_core.lock);
    return err;
}

enum weir_err weir_pool_current(int device, struct weir_pool **out)
{
    enum weir_err err = check_device(device);

    if (err != WEIR_OK)
        return err;
    *out = atomic_load_explicit(&weir_core.current_pools[device], memory_order_acquire);
    return *out ? WEIR_OK : weir_pool_default(device, out);
}

enum weir_err weir_pool_set_current(int device, struct weir_pool *p)
{
    struct weir_pool *own;
    enum weir_err err = weir_pool_default(device, &own);

    if (err != WEIR_OK)
        return err;
    if (p->device != device || p->imported)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "pool of device %d as that of device %d",
                         p->device, device);
    atomic_store(&weir_core.current_pools[device], p);
    return WEIR_OK;
}

/* ---- attributes ---- */

static enum weir_err attribute_locked(struct weir_pool *p, enum weir_pool_attribute attr,
                                      uint64_t *value)
{
    switch (attr) {
    case WEIR_POOL_FOLLOW_EVENTS:
        *value = p->policy.follow;
        return WEIR_OK;
    case WEIR_POOL_OPPORTUNISTIC:
        *value = p->policy.opportunistic;
        return WEIR_OK;
    case WEIR_POOL_INTERNAL:
        *value = p->internal;
        return WEIR_OK;
    case WEIR_POOL_THRESHOLD:
        *value = p->threshold;
        return WEIR_OK;
    case WEIR_POOL_RESERVED:
        *value = p->reserved;
        return WEIR_OK;
    case WEIR_POOL_RESERVED_HIGH:
        *value = p->reserved_high;
        return WEIR_OK;
    case WEIR_POOL_USED:
        *value = p->used;
        return WEIR_OK;
    case WEIR_POOL_USED_HIGH:
        *value = p->used_high;
        return WEIR_OK;
    default:
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "pool attribute %d", (int)attr);
    }
}

enum weir_err weir_pool_attribute(struct weir_pool *p, enum weir_pool_attribute attr,
                                  uint64_t *value)
{
    enum weir_err err;

    weir_lock_acquire(&p->lock);
    err = attribute_locked(p, attr, value);
    weir_lock_release(&p->lock);
    return err;
}

static enum weir_err set_attribute_locked(struct weir_pool *p, enum weir_pool_attribute attr,
                                          uint64_t value)
{
    switch (attr) {
    case WEIR_POOL_FOLLOW_EVENTS:
        p->policy.follow = value != 0;
        return WEIR_OK;
    case WEIR_POOL_OPPORTUNISTIC:
        p->policy.opportunistic = value != 0;
        return WEIR_OK;
    case WEIR_POOL_INTERNAL:
        p->internal = value != 0;
        return WEIR_OK;
    case WEIR_POOL_THRESHOLD:
        p->threshold = value;
        return WEIR_OK;
    case WEIR_POOL_RESERVED_HIGH:
    case WEIR_POOL_USED_HIGH:
        if (value)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "a high mark can only be set to 0");
        if (attr == WEIR_POOL_USED_HIGH)
            p->used_high = p->used;
        else
            p->reserved_high = p->reserved;
        return WEIR_OK;
    default:
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "pool attribute %d cannot be set", (int)attr);
    }
}

enum weir_err weir_pool_set_attribute(struct weir_pool *p, enum weir_pool_attribute attr,
                                      uint64_t value)
{
    enum weir_err err;

    weir_lock_acquire(&p->lock);
    err = set_attribute_locked(p, attr, value);
    weir_lock_release(&p->lock);
    return err;
}

void weir_pool_trim(struct weir_pool *p, size_t keep)
{
    weir_lock_acquire(&p->lock);
    weir_arena_release_locked(p, keep, true);
    weir_lock_release(&p->lock);
}

enum weir_err weir_pool_set_access(struct weir_pool *p, int device, enum weir_pool_access access)
{
    uint64_t bit;

    if (device < 0 || device >= weir_core.device_count)
        return WEIR_FAIL(WEIR_ERR_INVALID_DEVICE, "pool access of device %d", device);
    if (device == p->device && access == WEIR_POOL_ACCESS_NONE)
        return WEIR_FAIL(WEIR_ERR_INVALID_DEVICE, "a pool's own device keeps its access");
    if (access == WEIR_POOL_ACCESS_READ)
        return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "access for reading only");
    if (access != WEIR_POOL_ACCESS_NONE && access != WEIR_POOL_ACCESS_READWRITE)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "pool access %d", (int)access);
    bit = (uint64_t)1 << device;
    weir_lock_acquire(&p->lock);
    p->access = access == WEIR_POOL_ACCESS_NONE ? p->access & ~bit : p->access | bit;
    for (struct weir_arena *a = p->arenas; a; a = a->next)
        weir_mem_region_set_access(a->region, p->access);
    weir_lock_release(&p->lock);
    return WEIR_OK;
}

enum weir_pool_access weir_pool_get_access(struct weir_pool *p, int device)
{
    enum weir_pool_access access;

    weir_lock_acquire(&p->lock);
    access = device >= 0 && device < WEIR_MAX_DEVICES && (p->access >> device & 1)
                 ? WEIR_POOL_ACCESS_READWRITE
                 : WEIR_POOL_ACCESS_NONE;
    weir_lock_release(&p->lock);
    return access;
}

/* ---- whose turn ---- */

static bool has_followed(const struct weir_stream *s, const struct weir_model_point *point)
{
    struct weir_stream *t = (struct weir_stream *)(uintptr_t)s; /* its lock */
    bool found;

    weir_lock_acquire(&t->follows_lock);
    found = weir_model_follows_has(&t->follows, point);
    weir_lock_release(&t->follows_lock);
    return found;
}

void weir_pool_follow(struct weir_stream *s, const struct weir_model_point *point)
{
    weir_lock_acquire(&s->follows_lock);
    weir_model_follows_add(&s->follows, &s->m, point);
    weir_lock_release(&s->follows_lock);
}

static bool is_usable(const struct weir_pool *p, const struct weir_model_point *point,
                      const struct weir_stream *s)
{
    enum weir_reuse reuse = weir_model_reuse(point, &s->m, p->policy);

    return reuse == WEIR_REUSE_IF_FOLLOWED ? has_followed(s, point) : reuse == WEIR_REUSE_YES;
}

enum weir_err weir_pool_alloc(struct weir_pool *p, struct weir_stream *s, size_t bytes, void **out)
{
    struct weir_piece *b;
    enum weir_err err;

    if (p->imported)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "allocation from an imported pool");
    weir_lock_acquire(&p->lock);
    err = weir_arena_alloc_locked(p, s, bytes, is_usable, &b);
    if (err == WEIR_OK)
        *out = weir_piece_address(b);
    if (weir_check_enabled() && err == WEIR_OK)
        weir_check_alloc_async(s, *out, bytes);
    weir_lock_release(&p->lock);
    return err;
}

struct weir_pool *weir_pool_of(const struct weir_mem_info *info)
{
    const struct weir_piece *b = info->block;

    return b && b->arena ? b->arena->pool : NULL;
}

/* Takes a live block away from the program, so that no look-up finds it any more, and leaves it to
 * those behind `point`. */
static enum weir_err free_at(const struct weir_mem_info *info, const struct weir_model_point *point)
{
    struct weir_piece *b = info->block;
    struct weir_pool *p = weir_pool_of(info);
    bool live, gone = false;

    if (!p)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "memory that was freed before");
    weir_lock_acquire(&p->lock);
    live = weir_pool_of(info) == p && b->state == WEIR_PIECE_LIVE &&
           (uintptr_t)weir_piece_address(b) == info->base;
    if (WEIR_LIKELY(live)) {
        b->state = WEIR_PIECE_LEAVING;
        p->used -= b->wanted;
        p->live--;
        weir_mem_region_retire(b->arena->region, b->offset);
        if (p->imported)
            weir_arena_leave_locked(p, b);
        else
            weir_arena_free_locked(p, b, point);
        gone = may_go_locked(p);
    }
    weir_lock_release(&p->lock);
    if (gone)
        weir_slots_give(&weir_core.pools, p);
    return live ? WEIR_OK : WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "memory that was freed before");
}

/* Where s is now: what comes later in s follows it. An operation marks the place where other
 * streams have a part in it, as for an event's record. */
static enum weir_err point_of(struct weir_stream *s, struct weir_model_point *point)
{
    struct weir_free_op *op;
    bool needs_op = true;

    if (s->m.cls == WEIR_STREAM_NONBLOCKING) { /* no other stream has a part in it */
        *point = (struct weir_model_point){&s->m,
                                           atomic_load_explicit(&s->m.last, memory_order_acquire)};
        return WEIR_OK;
    }
    if (!weir_model_needs_all(&s->m)) {
        weir_lock_acquire(&s->lock);
        needs_op = weir_model_record_needs_op(&s->m);
        *point = (struct weir_model_point){&s->m, atomic_load(&s->m.last)};
        weir_lock_release(&s->lock);
    }
    if (!needs_op)
        return WEIR_OK;
    op = (struct weir_free_op *)weir_submit_begin(s, WEIR_OP_FREE, WEIR_OP_SMALL);
    if (!op)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "cudaFreeAsync");
    op->ptr = NULL;
    return weir_submit_end(s, &op->op, NULL, 0, point, NULL);
}

static enum weir_err free_block(struct weir_stream *s, const struct weir_mem_info *info)
{
    struct weir_model_point point;
    enum weir_err err = point_of(s, &point);

    return err == WEIR_OK ? free_at(info, &point) : err;
}

enum weir_err weir_pool_free_now(const struct weir_mem_info *info)
{
    if (weir_check_enabled()) /* this is a cudaFree that does not wait */
        weir_check_free((const void *)info->base, info->bytes, true);
    return free_at(info, &(struct weir_model_point){0});
}

/* ---- memory of cudaMalloc, freed in a stream ---- */

/* Pointers given to cudaFreeAsync whose place in the stream has not come. */
static struct {
    struct weir_lock lock; /* rank LEAF */
    struct weir_map pointers;
    _Atomic size_t count;
} pending = {.lock = WEIR_LOCK_INIT(LEAF)};

bool weir_pool_is_freed(uintptr_t base)
{
    bool freed;

    if (WEIR_LIKELY(atomic_load_explicit(&pending.count, memory_order_relaxed) == 0))
        return false;
    weir_lock_acquire(&pending.lock);
    freed = weir_map_get(&pending.pointers, base) != NULL;
    weir_lock_release(&pending.lock);
    return freed;
}

/* False: it was there already, or there is no memory (*full). */
static bool add_pending(void *ptr, bool *full)
{
    bool added = false;

    weir_lock_acquire(&pending.lock);
    *full = false;
    if (!weir_map_get(&pending.pointers, (uintptr_t)ptr)) {
        added = weir_map_put(&pending.pointers, (uintptr_t)ptr, ptr);
        *full = !added;
        if (added)
            atomic_fetch_add_explicit(&pending.count, 1, memory_order_relaxed);
    }
    weir_lock_release(&pending.lock);
    return added;
}

static void remove_pending(void *ptr)
{
    weir_lock_acquire(&pending.lock);
    if (weir_map_remove(&pending.pointers, (uintptr_t)ptr))
        atomic_fetch_sub_explicit(&pending.count, 1, memory_order_relaxed);
    weir_lock_release(&pending.lock);
}

void weir_pool_finish_free(void *ptr)
{
    if (!ptr)
        return; /* a pool's, which needed only the place */
    /* In this order: a new allocation at the same address must not find itself on the list. */
    remove_pending(ptr);
    weir_check_frees_in_order(true);
    (void)!weir_mem_free(WEIR_MEM_KIND_DEVICE, ptr); /* checked when it was submitted */
    weir_check_frees_in_order(false);
}

static enum weir_err free_malloced(struct weir_stream *s, void *ptr)
{
    struct weir_free_op *op;
    bool full;

    if (!add_pending(ptr, &full))
        return full ? WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "cudaFreeAsync")
                    : WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%p was freed before", ptr);
    op = (struct weir_free_op *)weir_submit_begin(s, WEIR_OP_FREE, WEIR_OP_SMALL);
    if (!op) {
        remove_pending(ptr);
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "cudaFreeAsync");
    }
    op->ptr = ptr;
    return weir_submit_end(s, &op->op, NULL, 0, NULL, NULL);
}

enum weir_err weir_pool_free(struct weir_stream *s, void *ptr)
{
    struct weir_mem_info info;

    if (!weir_mem_find(ptr, &info) || info.base != (uintptr_t)ptr)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%p is not the beginning of an allocation", ptr);
    if (weir_check_enabled())
        weir_check_free_async(s, ptr, info.bytes);
    if (info.block)
        return free_block(s, &info);
    if (!weir_context_is_owner(info.owner))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%p is not the beginning of an allocation", ptr);
    if (info.kind == WEIR_MEM_KIND_MANAGED)
        return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED,
                         "cudaFreeAsync of managed memory"); /* as measured */
    if (info.kind != WEIR_MEM_KIND_DEVICE)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%p is not device memory", ptr);
    return free_malloced(s, ptr);
}

/* ---- synchronisations ---- */

static void settle_pool(struct weir_pool *p, const struct weir_model_synced *w)
{
    struct weir_piece *covered = NULL;
    bool gone;

    weir_lock_acquire(&p->lock);
    for (int i = 0; i < WEIR_POOL_BINS; i++) {
        for (struct weir_piece *b = p->bins[i], *next; b; b = next) {
            next = b->bin_next;
            if (b->point.stream && weir_model_synced_covers(w, &b->point))
                weir_arena_take_out_locked(p, b, &covered);
        }
    }
    if (covered) {
        weir_arena_put_back_locked(p, covered);
        weir_arena_release_locked(p, p->destroyed ? 0 : p->threshold, false);
    }
    gone = may_go_locked(p);
    weir_lock_release(&p->lock);
    if (gone)
        weir_slots_give(&weir_core.pools, p);
}

void weir_pool_synced_slow(struct weir_stream *s, const struct weir_model_point *point,
                           struct weir_context *ctx)
{
    struct weir_model_synced w = {.point = point};
    struct weir_slots *slots = &weir_core.pools;
    struct weir_model_follows follows;

    if (s) {
        weir_lock_acquire(&s->follows_lock);
        follows = s->follows;
        weir_lock_release(&s->follows_lock);
        w.stream = &s->m;
        w.follows = &follows;
    } else if (ctx) {
        w.device = ctx->index;
    }

    for (uint32_t i = 0, used = weir_slots_used(slots); i < used; i++) {
        struct weir_pool *p = weir_slots_at(slots, i);

        if (atomic_load_explicit(&p->has_lock, memory_order_acquire))
            settle_pool(p, &w);
    }
}

void weir_pool_reset_device(int device)
{
    struct weir_slots *slots = &weir_core.pools;

    atomic_store(&weir_core.current_pools[device], weir_core.default_pools[device]);
    for (uint32_t i = 0, used = weir_slots_used(slots); i < used; i++) {
        struct weir_pool *p = weir_slots_at(slots, i);
        bool gone = false;

        if (!atomic_load_explicit(&p->has_lock, memory_order_acquire))
            continue;
        weir_lock_acquire(&p->lock);
        if (p->device == device && atomic_load(&p->slot.live) == WEIR_SLOT_LIVE) {
            weir_arena_clear_locked(p);
            gone = !p->is_default && weir_slot_kill(&p->slot);
            if (gone)
                finish_locked(p);
        }
        weir_lock_release(&p->lock);
        if (gone)
            weir_slots_give(slots, p);
    }
}
