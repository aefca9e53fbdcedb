/* SPDX-License-Identifier: Apache-2.0 */
#include "core/handle.h"

#include <sys/mman.h>

#define REUSE_DELAY                                                                                \
    256 /* slots that wait before one is reused: catches most uses after destroy                   \
         */

enum weir_err weir_slots_init(struct weir_slots *a, size_t slot_bytes, uint32_t capacity)
{
    void *p = mmap(NULL, slot_bytes * capacity, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (p == MAP_FAILED)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "no address space for handles");
    *a = (struct weir_slots){.base = p, .slot_bytes = slot_bytes, .capacity = capacity};
    weir_lock_init(&a->lock, WEIR_RANK_HANDLES);
    return WEIR_OK;
}

static struct weir_slot *slot_at(const struct weir_slots *a, uint32_t index)
{
    return (struct weir_slot *)(a->base + (size_t)index * a->slot_bytes);
}

void *weir_slots_take(struct weir_slots *a)
{
    struct weir_slot *slot = NULL;

    weir_lock_acquire(&a->lock);
    if (a->free_count > REUSE_DELAY || (a->used == a->capacity && a->free_count > 0)) {
        slot = slot_at(a, a->free_first - 1);
        a->free_first = slot->next_free;
        a->free_count--;
        if (!a->free_first)
            a->free_last = 0;
    } else if (a->used < a->capacity) {
        slot = slot_at(a, a->used++);
    }
    weir_lock_release(&a->lock);
    return slot;
}

void weir_slot_publish(struct weir_slot *slot)
{
    atomic_store_explicit(&slot->live, WEIR_SLOT_LIVE,
                          memory_order_release); /* pairs with weir_slots_check */
}

bool weir_slot_kill(struct weir_slot *slot)
{
    uint32_t live = WEIR_SLOT_LIVE;

    return atomic_compare_exchange_strong_explicit(&slot->live, &live, 0, memory_order_acq_rel,
                                                   memory_order_relaxed);
}

void weir_slots_give(struct weir_slots *a, void *p)
{
    struct weir_slot *slot = p;
    uint32_t index = (uint32_t)(((char *)p - a->base) / (ptrdiff_t)a->slot_bytes);

    weir_lock_acquire(&a->lock);
    slot->next_free = 0;
    if (a->free_last)
        slot_at(a, a->free_last - 1)->next_free = index + 1;
    else
        a->free_first = index + 1;
    a->free_last = index + 1;
    a->free_count++;
    weir_lock_release(&a->lock);
}
