/* Registered host ranges: the program's own pages, outside of the window, anywhere. A sorted array
 * in two copies: a writer changes the one that is not in use and then turns the version, so a
 * reader, also one that interrupted the writer in a signal handler, always finds a whole array.
 * SPDX-License-Identifier: Apache-2.0 */
#include "memory/memory_int.h"

#include <sys/mman.h>

#include "base/alloc.h"
#include "check/check.h"
#include "model/model.h"
#include "trace/record.h"

struct registered {
    _Atomic uintptr_t base;
    _Atomic size_t bytes;
    _Atomic uint64_t id;
    _Atomic uint32_t flags;
    _Atomic int32_t device;
};

struct registered_array {
    struct registered_array
        *next; /* all that were ever made: readers may still hold the small ones */
    size_t cap;
    _Atomic size_t count;
    struct registered items[];
};

struct registry {
    _Atomic uint32_t version; /* release by the writer; copies[version & 1] is the readers' */
    _Atomic(struct registered_array *) copies[2];
    struct registered_array *all; /* guarded by mem.lock */
};

static struct registry registry;

/* The first range that ends behind addr. */
static size_t position(struct registered_array *a, size_t count, uintptr_t addr)
{
    size_t lo = 0, hi = count;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        uintptr_t last = atomic_load_explicit(&a->items[mid].base, memory_order_relaxed) +
                         atomic_load_explicit(&a->items[mid].bytes, memory_order_relaxed) - 1;

        if (last < addr)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static bool find_in(struct registered_array *a, uintptr_t addr, struct weir_mem_info *info)
{
    size_t count = a ? atomic_load_explicit(&a->count, memory_order_relaxed) : 0;
    size_t at = count ? position(a, count, addr) : 0;

    if (at >= count)
        return false;
    *info = (struct weir_mem_info){
        .kind = WEIR_MEM_KIND_REGISTERED,
        .device = atomic_load_explicit(&a->items[at].device, memory_order_relaxed),
        .flags = atomic_load_explicit(&a->items[at].flags, memory_order_relaxed),
        .base = atomic_load_explicit(&a->items[at].base, memory_order_relaxed),
        .bytes = atomic_load_explicit(&a->items[at].bytes, memory_order_relaxed),
        .id = atomic_load_explicit(&a->items[at].id, memory_order_relaxed),
    };
    return addr - info->base < info->bytes;
}

bool weir_mem_registered_find(uintptr_t addr, struct weir_mem_info *info)
{
    uint32_t version = atomic_load_explicit(&registry.version, memory_order_acquire);

    for (;;) {
        struct registered_array *a =
            atomic_load_explicit(&registry.copies[version & 1], memory_order_acquire);
        bool found = find_in(a, addr, info);
        uint32_t now;

        /* The copy is only changed again after the version has turned. */
        atomic_thread_fence(memory_order_acquire);
        now = atomic_load_explicit(&registry.version, memory_order_acquire);
        if (now == version)
            return found;
        version = now;
    }
}

static struct registered_array *array_create_locked(size_t cap)
{
    struct registered_array *a = weir_calloc(1, sizeof *a + cap * sizeof a->items[0]);

    if (!a)
        return NULL;
    a->cap = cap;
    a->next = registry.all;
    registry.all = a;
    return a;
}

static void item_copy(struct registered *to, struct registered *from)
{
    atomic_store_explicit(&to->base, atomic_load_explicit(&from->base, memory_order_relaxed),
                          memory_order_relaxed);
    atomic_store_explicit(&to->bytes, atomic_load_explicit(&from->bytes, memory_order_relaxed),
                          memory_order_relaxed);
    atomic_store_explicit(&to->id, atomic_load_explicit(&from->id, memory_order_relaxed),
                          memory_order_relaxed);
    atomic_store_explicit(&to->flags, atomic_load_explicit(&from->flags, memory_order_relaxed),
                          memory_order_relaxed);
    atomic_store_explicit(&to->device, atomic_load_explicit(&from->device, memory_order_relaxed),
                          memory_order_relaxed);
}

/* The unused copy with room for `need` items, or NULL. */
static struct registered_array *spare_locked(uint32_t version, size_t need)
{
    struct registered_array *a =
        atomic_load_explicit(&registry.copies[(version + 1) & 1], memory_order_relaxed);

    if (!a || a->cap < need) {
        a = array_create_locked(a ? a->cap * 2 : REGISTERED_FIRST_CAP);
        if (!a)
            return NULL;
        atomic_store_explicit(&registry.copies[(version + 1) & 1], a, memory_order_release);
    }
    return a;
}

/* Readers that still use the old spare see the turned version before any of our writes to it; pairs
 * with their fence. */
static void change_begin(void)
{
    atomic_thread_fence(memory_order_release);
}

static bool overlaps_locked(struct registered_array *a, uintptr_t base, size_t bytes)
{
    size_t count = a ? atomic_load_explicit(&a->count, memory_order_relaxed) : 0;
    size_t at = count ? position(a, count, base) : 0;

    return at < count &&
           atomic_load_explicit(&a->items[at].base, memory_order_relaxed) <= base + bytes - 1;
}

static enum weir_err insert_locked(uintptr_t base, size_t bytes, int device, uint32_t flags)
{
    uint32_t version = atomic_load_explicit(&registry.version, memory_order_relaxed);
    struct registered_array *old =
        atomic_load_explicit(&registry.copies[version & 1], memory_order_relaxed);
    size_t count = old ? atomic_load_explicit(&old->count, memory_order_relaxed) : 0;
    size_t at = count ? position(old, count, base) : 0;
    struct registered_array *a;

    if (overlaps_locked(old, base, bytes))
        return WEIR_ERR_HOST_MEMORY_ALREADY_REGISTERED;
    a = spare_locked(version, count + 1);
    if (!a)
        return WEIR_ERR_MEMORY_ALLOCATION;
    change_begin();
    for (size_t i = 0; i < count; i++)
        item_copy(&a->items[i < at ? i : i + 1], &old->items[i]);
    atomic_store_explicit(&a->items[at].base, base, memory_order_relaxed);
    atomic_store_explicit(&a->items[at].bytes, bytes, memory_order_relaxed);
    atomic_store_explicit(&a->items[at].id, ++weir_mem_state.next_id, memory_order_relaxed);
    atomic_store_explicit(&a->items[at].flags, flags, memory_order_relaxed);
    atomic_store_explicit(&a->items[at].device, device, memory_order_relaxed);
    atomic_store_explicit(&a->count, count + 1, memory_order_relaxed);
    atomic_store_explicit(&registry.version, version + 1, memory_order_release);
    return WEIR_OK;
}

static enum weir_err remove_locked(uintptr_t base)
{
    uint32_t version = atomic_load_explicit(&registry.version, memory_order_relaxed);
    struct registered_array *old =
        atomic_load_explicit(&registry.copies[version & 1], memory_order_relaxed);
    size_t count = old ? atomic_load_explicit(&old->count, memory_order_relaxed) : 0;
    size_t at = count ? position(old, count, base) : 0;
    struct registered_array *a;

    if (at >= count || atomic_load_explicit(&old->items[at].base, memory_order_relaxed) != base)
        return WEIR_ERR_HOST_MEMORY_NOT_REGISTERED;
    a = spare_locked(version, count); /* it held as many before: never allocates */
    if (!a)
        return WEIR_ERR_MEMORY_ALLOCATION;
    change_begin();
    for (size_t i = 0; i < count; i++)
        if (i != at)
            item_copy(&a->items[i < at ? i : i - 1], &old->items[i]);
    atomic_store_explicit(&a->count, count - 1, memory_order_relaxed);
    atomic_store_explicit(&registry.version, version + 1, memory_order_release);
    return WEIR_OK;
}

/* msync looks for holes and, since no file stands behind it, does nothing else. */
static bool is_mapped(uintptr_t base, size_t bytes)
{
    uintptr_t first = base & ~(uintptr_t)(PAGE_BYTES - 1);

    return msync((void *)first, base + bytes - first, MS_ASYNC) == 0;
}

static void tell_registered(void *ptr, size_t bytes)
{
    uintptr_t begin, end;

    weir_check_alloc(ptr, bytes, "registered memory");
    if (weir_mem_closable((uintptr_t)ptr, bytes, &begin, &end))
        weir_check_watch_more(begin, end);
}

/* While it is known still: pages are opened. */
static void tell_unregistered(void *ptr)
{
    struct weir_mem_info info;

    if (!weir_mem_registered_find((uintptr_t)ptr, &info) || info.base != (uintptr_t)ptr)
        return;
    weir_check_watch_less(info.base, info.base + info.bytes);
    weir_check_free(ptr, info.bytes, weir_model_free_needs_wait(WEIR_CALL_HOST_UNREGISTER));
}

enum weir_err weir_mem_register(void *ptr, size_t bytes, int device, uint32_t flags)
{
    struct mem_state *m = &weir_mem_state;
    uintptr_t base = (uintptr_t)ptr, last = base + bytes - 1;
    struct weir_mem_info info;
    enum weir_err err;

    if (!ptr || bytes == 0 || last < base)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "register %p, %zu bytes", ptr, bytes);
    if (base < weir_mem_window_base + weir_mem_window_bytes && last >= weir_mem_window_base) {
        if (weir_mem_find(ptr, &info) && info.kind == WEIR_MEM_KIND_PINNED)
            return WEIR_FAIL(WEIR_ERR_HOST_MEMORY_ALREADY_REGISTERED, "register %p: pinned memory",
                             ptr);
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "register %p: not the program's own memory", ptr);
    }
    if (!is_mapped(base, bytes))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "register %p, %zu bytes: not mapped", ptr, bytes);
    weir_lock_acquire(&m->lock);
    err = insert_locked(base, bytes, device, flags);
    weir_lock_release(&m->lock);
    if (weir_check_enabled() && err == WEIR_OK)
        tell_registered(ptr, bytes);
    if (weir_trace_enabled() && err == WEIR_OK)
        weir_trace_alloc(WEIR_MEM_KIND_REGISTERED, device, ptr, bytes);
    return err == WEIR_OK ? err : WEIR_FAIL(err, "register %p, %zu bytes", ptr, bytes);
}

enum weir_err weir_mem_unregister(void *ptr)
{
    struct mem_state *m = &weir_mem_state;
    enum weir_err err;

    if (weir_check_enabled())
        tell_unregistered(ptr);
    weir_lock_acquire(&m->lock);
    err = remove_locked((uintptr_t)ptr);
    weir_lock_release(&m->lock);
    if (weir_trace_enabled() && err == WEIR_OK)
        weir_trace_free(ptr);
    return err == WEIR_OK ? err : WEIR_FAIL(err, "unregister %p", ptr);
}

void weir_mem_registered_finish(void)
{
    while (registry.all) {
        struct registered_array *a = registry.all;

        registry.all = a->next;
        weir_free(a);
    }
    registry = (struct registry){0};
}
