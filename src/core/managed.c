/* Ranges of managed memory and what was said about them (managed.h). An allocation that something
 * was said about has a list of ranges, which together cover it; saying something cuts ranges at its
 * ends.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/managed.h"

#include <string.h>

#include "base/alloc.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/vec.h"
#include "check/check.h"
#include "core/core.h"
#include "core/pages.h"
#include "memory/memory.h"

#define CPU_DEVICE     (-1) /* cudaCpuDeviceId */
#define INVALID_DEVICE (-2) /* cudaInvalidDeviceId */
#define ATTACH_HOST    2u   /* cudaMemAttachHost */
#define ATTACH_SINGLE  4u   /* cudaMemAttachSingle */

struct said {
    bool read_mostly;
    struct weir_location preferred, prefetched;
    uint64_t accessed_by; /* a bit a device */
    bool accessed_by_host;
};

struct range {
    size_t start, end; /* bytes from the allocation's first */
    struct said said;
};

struct ranges {
    WEIR_VEC(struct range) list; /* in order, without gaps */
};

static struct {
    struct weir_lock lock; /* rank LEAF */
    struct weir_map by_id; /* struct ranges of an allocation */
} store = {.lock = WEIR_LOCK_INIT(LEAF)};

static enum weir_err find(const void *ptr, size_t bytes, struct weir_mem_info *info)
{
    if (!bytes || !weir_mem_find(ptr, info) || info->kind != WEIR_MEM_KIND_MANAGED ||
        bytes > info->base + info->bytes - (uintptr_t)ptr)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%zu bytes at %p are not managed memory", bytes,
                         ptr);
    return WEIR_OK;
}

enum weir_err weir_managed_check(const void *ptr, size_t bytes)
{
    struct weir_mem_info info;

    return find(ptr, bytes, &info);
}

/* All devices are alike, so that it does not matter which. */
static enum weir_err check_concurrent(void)
{
    int value = 0;

    weir_context_attribute(&weir_core.contexts[0], WEIR_ATTR_CONCURRENT_MANAGED, &value);
    return value ? WEIR_OK
                 : WEIR_FAIL(WEIR_ERR_INVALID_DEVICE,
                             "the device's concurrentManagedAccess is 0: its managed memory has no "
                             "place of its own choice");
}

static struct ranges *ranges_of_locked(const struct weir_mem_info *info)
{
    struct ranges *r = weir_map_get(&store.by_id, info->id);
    struct range all = {.end = info->bytes};

    if (r)
        return r;
    r = weir_calloc(1, sizeof *r);
    if (!r)
        return NULL;
    if (!weir_vec_push(&r->list, all) || !weir_map_put(&store.by_id, info->id, r)) {
        weir_vec_finish(&r->list);
        weir_free(r);
        return NULL;
    }
    return r;
}

/* A range begins at `at`. */
static bool cut(struct ranges *r, size_t at)
{
    for (size_t i = 0; i < r->list.count; i++) {
        struct range *x = &r->list.items[i];

        if (at <= x->start || at >= x->end)
            continue;
        if (!weir_vec_reserve(&r->list, r->list.count + 1))
            return false;
        x = &r->list.items[i];
        memmove(x + 1, x, (r->list.count - i) * sizeof *x);
        r->list.count++;
        x[0].end = x[1].start = at;
        return true;
    }
    return true;
}

static void apply(struct said *said, int advice, struct weir_location where)
{
    bool on = advice & 1;

    switch (advice) {
    case WEIR_ADVISE_READ_MOSTLY:
    case WEIR_ADVISE_NOT_READ_MOSTLY:
        said->read_mostly = on;
        break;
    case WEIR_ADVISE_PREFERRED:
    case WEIR_ADVISE_NOT_PREFERRED:
        said->preferred = on ? where : (struct weir_location){0};
        break;
    case WEIR_ADVISE_ACCESSED_BY:
    case WEIR_ADVISE_NOT_ACCESSED_BY:
        if (where.type != WEIR_LOCATION_DEVICE)
            said->accessed_by_host = on;
        else if (on)
            said->accessed_by |= (uint64_t)1 << (where.id & 63);
        else
            said->accessed_by &= ~((uint64_t)1 << (where.id & 63));
        break;
    default: /* a prefetch */
        said->prefetched = where;
        break;
    }
}

static enum weir_err say(const void *ptr, size_t bytes, int advice, struct weir_location where)
{
    struct weir_mem_info info;
    struct ranges *r;
    enum weir_err err = find(ptr, bytes, &info);
    size_t start, end;
    bool ok;

    if (err != WEIR_OK)
        return err;
    start = (uintptr_t)ptr - info.base;
    end = start + bytes;
    weir_lock_acquire(&store.lock);
    r = ranges_of_locked(&info);
    ok = r && cut(r, start) && cut(r, end);
    for (size_t i = 0; ok && i < r->list.count; i++) {
        struct range *x = &r->list.items[i];

        if (x->start >= start && x->end <= end)
            apply(&x->said, advice, where);
    }
    weir_lock_release(&store.lock);
    return ok ? WEIR_OK : WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "advice about managed memory");
}

enum weir_err weir_managed_advise(const void *ptr, size_t bytes, enum weir_advice advice,
                                  struct weir_location location)
{
    enum weir_err err;

    if (advice < WEIR_ADVISE_READ_MOSTLY || advice > WEIR_ADVISE_NOT_ACCESSED_BY)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "advice %d", (int)advice);
    if ((advice == WEIR_ADVISE_PREFERRED || advice == WEIR_ADVISE_ACCESSED_BY) &&
        location.type == WEIR_LOCATION_DEVICE && (err = check_concurrent()) != WEIR_OK)
        return err;
    return say(ptr, bytes, (int)advice, location);
}

enum weir_err weir_managed_prefetch(const void *ptr, size_t bytes, struct weir_location location)
{
    enum weir_err err = check_concurrent();

    if (err == WEIR_OK)
        err = say(ptr, bytes, 0, location);
    if (weir_check_enabled() && err == WEIR_OK)
        weir_check_prefetch(ptr);
    if (err == WEIR_OK)
        weir_pages_prefetch(ptr, bytes, location);
    return err;
}

/* ---- asking ---- */

static bool same_place(struct weir_location a, struct weir_location b)
{
    return a.type == b.type && (a.type != WEIR_LOCATION_DEVICE || a.id == b.id);
}

/* What holds for the whole range. */
static struct said common_locked(const struct weir_mem_info *info, size_t start, size_t end)
{
    struct ranges *r = weir_map_get(&store.by_id, info->id);
    struct said all = {0};
    bool first = true;

    for (size_t i = 0; r && i < r->list.count; i++) {
        const struct range *x = &r->list.items[i];

        if (x->end <= start || x->start >= end)
            continue;
        if (first) {
            all = x->said;
            first = false;
            continue;
        }
        all.read_mostly &= x->said.read_mostly;
        all.accessed_by &= x->said.accessed_by;
        all.accessed_by_host &= x->said.accessed_by_host;
        if (!same_place(all.preferred, x->said.preferred))
            all.preferred = (struct weir_location){0};
        if (!same_place(all.prefetched, x->said.prefetched))
            all.prefetched = (struct weir_location){0};
    }
    return all;
}

static int32_t device_of(struct weir_location where)
{
    return where.type == WEIR_LOCATION_NONE     ? INVALID_DEVICE
           : where.type == WEIR_LOCATION_DEVICE ? where.id
                                                : CPU_DEVICE;
}

static void list_accessed_by(const struct said *said, int32_t *out, size_t room)
{
    size_t n = 0;

    if (said->accessed_by_host && n < room)
        out[n++] = CPU_DEVICE;
    for (int d = 0; d < 64 && n < room; d++) {
        if (said->accessed_by >> d & 1)
            out[n++] = d;
    }
    while (n < room)
        out[n++] = INVALID_DEVICE;
}

static bool one_number(const struct said *said, int attribute, int32_t *out)
{
    const struct weir_location *where =
        attribute == 2 || attribute == 5 || attribute == 6 ? &said->preferred : &said->prefetched;

    switch (attribute) {
    case 1:
        *out = said->read_mostly;
        return true;
    case 2:
    case 4:
        *out = device_of(*where);
        return true;
    case 5:
    case 7:
        *out = where->type;
        return true;
    case 6:
    case 8:
        *out = where->id;
        return true;
    default:
        return false;
    }
}

enum weir_err weir_managed_attribute(void *data, size_t data_bytes, int attribute, const void *ptr,
                                     size_t bytes)
{
    struct weir_mem_info info;
    struct said said;
    enum weir_err err;

    if (!data || data_bytes == 0 || data_bytes % 4 || (attribute != 3 && data_bytes != 4))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%zu bytes for range attribute %d", data_bytes,
                         attribute);
    err = find(ptr, bytes, &info);
    if (err != WEIR_OK)
        return err;
    weir_lock_acquire(&store.lock);
    said = common_locked(&info, (uintptr_t)ptr - info.base, (uintptr_t)ptr - info.base + bytes);
    weir_lock_release(&store.lock);
    if (attribute == 3)
        list_accessed_by(&said, data, data_bytes / 4);
    else if (!one_number(&said, attribute, data))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "range attribute %d", attribute);
    return WEIR_OK;
}

void weir_managed_said(uint64_t id, uintptr_t base, size_t bytes, struct weir_managed_said *out)
{
    struct weir_mem_info info = {.id = id, .base = base, .bytes = bytes};
    struct said said;

    weir_lock_acquire(&store.lock);
    said = common_locked(&info, 0, bytes);
    weir_lock_release(&store.lock);
    out->read_mostly = said.read_mostly;
    out->prefers_host =
        said.preferred.type != WEIR_LOCATION_NONE && said.preferred.type != WEIR_LOCATION_DEVICE;
    out->accessed_by = said.accessed_by;
}

void weir_managed_attach(const void *ptr, unsigned flags, const struct weir_stream *stream)
{
    if (weir_check_enabled())
        weir_check_attach(ptr,
                          flags == ATTACH_HOST     ? WEIR_ATTACHED_HOST
                          : flags == ATTACH_SINGLE ? WEIR_ATTACHED_STREAM
                                                   : WEIR_ATTACHED_ALL,
                          stream);
}

void weir_managed_forget(uint64_t id)
{
    struct ranges *r;

    weir_pages_forget(id);
    weir_lock_acquire(&store.lock);
    r = weir_map_remove(&store.by_id, id);
    weir_lock_release(&store.lock);
    if (r)
        weir_vec_finish(&r->list);
    weir_free(r);
}
