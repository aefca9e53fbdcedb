/* SPDX-License-Identifier: Apache-2.0 */
#include "core/pool.h"

#include "base/map.h"
#include "memory/memory.h"

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
    /* In this order: a new allocation at the same address must not find itself on the list. */
    remove_pending(ptr);
    (void)!weir_mem_free(WEIR_MEM_KIND_DEVICE, ptr); /* checked when it was submitted */
}

enum weir_err weir_pool_free(struct weir_stream *s, void *ptr)
{
    struct weir_free_op *op;
    struct weir_mem_info info;
    bool full;

    if (!weir_mem_find(ptr, &info) || info.base != (uintptr_t)ptr ||
        !weir_context_is_owner(info.owner))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%p is not the beginning of an allocation", ptr);
    if (info.kind == WEIR_MEM_KIND_MANAGED)
        return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED,
                         "cudaFreeAsync of managed memory"); /* as measured */
    if (info.kind != WEIR_MEM_KIND_DEVICE)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%p is not device memory", ptr);
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
