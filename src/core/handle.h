/* Slots for objects that programs hold by pointer (streams, events): slots are never returned to
 * the system and are reused late, so that a dead or made-up handle is recognised instead of
 * crashing.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_HANDLE_H
#define WEIR_CORE_HANDLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/lock.h"

/* First member of every object that lives in an arena. */
struct weir_slot {
    _Atomic uint32_t live; /* WEIR_SLOT_LIVE while the handle is good */
    uint32_t next_free;    /* index + 1; guarded by the arena's lock */
};

#define WEIR_SLOT_LIVE 0x57454952u

struct weir_slots {
    char *base;
    size_t slot_bytes; /* a power of two */
    uint32_t capacity;
    /* guarded by lock (rank HANDLES) */
    struct weir_lock lock;
    uint32_t used, free_count;      /* slots ever handed out; slots in the queue */
    uint32_t free_first, free_last; /* index + 1, oldest first */
};

/* Reserves address space for `capacity` slots. Errors: MEMORY_ALLOCATION. */
enum weir_err weir_slots_init(struct weir_slots *a, size_t slot_bytes,
                              uint32_t capacity) WEIR_MUST_CHECK;
/* Slots ever handed out, and the one at an index below that. */
static inline uint32_t weir_slots_used(struct weir_slots *a)
{
    uint32_t used;

    weir_lock_acquire(&a->lock);
    used = a->used;
    weir_lock_release(&a->lock);
    return used;
}
static inline void *weir_slots_at(const struct weir_slots *a, uint32_t index)
{
    return a->base + (size_t)index * a->slot_bytes;
}
/* A slot that is not live yet (zeroed at its first use, as its last owner left it later). NULL when
 * full. */
void *weir_slots_take(struct weir_slots *a);
/* Marks a slot live, once its object is ready. */
void weir_slot_publish(struct weir_slot *slot);
/* Marks it dead; true for the one caller that did it. */
bool weir_slot_kill(struct weir_slot *slot);
/* Gives a dead slot back for later reuse. */
void weir_slots_give(struct weir_slots *a, void *slot);

/* The slot behind a handle, live or not, or NULL. Any bit pattern may be passed. */
static inline void *weir_slots_find(const struct weir_slots *a, const void *handle)
{
    uintptr_t offset = (uintptr_t)handle - (uintptr_t)a->base;

    return offset >= (size_t)a->capacity * a->slot_bytes || (offset & (a->slot_bytes - 1)) != 0
               ? NULL
               : (void *)(uintptr_t)handle;
}

/* The live object behind a handle, or NULL. */
static inline void *weir_slots_check(const struct weir_slots *a, const void *handle)
{
    struct weir_slot *slot = weir_slots_find(a, handle);

    if (!slot)
        return NULL;
    if (atomic_load_explicit(&slot->live, memory_order_acquire) != WEIR_SLOT_LIVE)
        return NULL;
    return slot;
}

#endif
