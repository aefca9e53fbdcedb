/* See mipmap.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/mipmap.h"

#include "base/alloc.h"
#include "base/list.h"
#include "base/lock.h"

#define LEVELS_MAX 32u

struct weir_mipmap {
    struct weir_list link;
    unsigned count;
    int device;
    struct weir_array *levels[LEVELS_MAX];
};

/* All of the process: a handle is good when it stands here. */
static struct {
    struct weir_lock lock; /* rank LEAF */
    struct weir_list all;
} store = {.lock = WEIR_LOCK_INIT(LEAF), .all = {&store.all, &store.all}};

static struct weir_mipmap *find_locked(const void *handle)
{
    for (struct weir_list *l = store.all.next; l != &store.all; l = l->next) {
        struct weir_mipmap *m = WEIR_LIST_ENTRY(l, struct weir_mipmap, link);

        if (m == handle)
            return m;
    }
    return NULL;
}

static enum weir_err no_mipmap(const void *handle)
{
    return WEIR_FAIL(WEIR_ERR_INVALID_RESOURCE_HANDLE, "%p is no mipmapped array, or a freed one",
                     handle);
}

static unsigned levels_of(const struct weir_array_config *c)
{
    size_t largest = WEIR_MAX(c->width, c->height);
    unsigned n = 1;

    if (!(c->flags & WEIR_ARRAY_LAYERED))
        largest = WEIR_MAX(largest, c->depth);
    while (largest >>= 1)
        n++;
    return n;
}

static size_t half(size_t n)
{
    return n > 1 ? n / 2 : n;
}

static void free_levels(struct weir_mipmap *m)
{
    for (unsigned i = 0; i < m->count; i++)
        (void)!weir_array_destroy(m->levels[i]); /* a reset may have taken it */
    weir_free(m);
}

enum weir_err weir_mipmap_create(struct weir_context *ctx, const struct weir_array_config *config,
                                 unsigned levels, struct weir_mipmap **out)
{
    struct weir_array_config c = *config;
    struct weir_mipmap *m;

    if (levels == 0)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "a mipmapped array of no levels");
    m = weir_calloc(1, sizeof *m);
    if (!m)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a mipmapped array");
    m->device = ctx->ordinal;
    levels = WEIR_MIN(levels, WEIR_MIN(levels_of(config), LEVELS_MAX));
    while (m->count < levels) {
        enum weir_err err = weir_array_create(ctx, &c, &m->levels[m->count]);

        if (err != WEIR_OK) {
            free_levels(m);
            return err;
        }
        m->count++;
        c.width = half(c.width);
        c.height = half(c.height);
        if (!(c.flags & (WEIR_ARRAY_LAYERED | WEIR_ARRAY_CUBE)))
            c.depth = half(c.depth);
    }
    weir_lock_acquire(&store.lock);
    weir_list_append(&store.all, &m->link);
    weir_lock_release(&store.lock);
    *out = m;
    return WEIR_OK;
}

enum weir_err weir_mipmap_device(const void *handle, int *device)
{
    struct weir_mipmap *m;

    weir_lock_acquire(&store.lock);
    m = find_locked(handle);
    if (m)
        *device = m->device;
    weir_lock_release(&store.lock);
    return m ? WEIR_OK : no_mipmap(handle);
}

enum weir_err weir_mipmap_free(const void *handle)
{
    enum weir_err err = WEIR_OK;
    struct weir_mipmap *m;
    int device;

    if (weir_model_call_rule(WEIR_CALL_FREE_ARRAY).waits_for_device) {
        err = weir_mipmap_device(handle, &device);
        if (err == WEIR_OK)
            err = weir_context_wait_device(device);
        if (err != WEIR_OK)
            return err;
    }
    weir_lock_acquire(&store.lock);
    m = find_locked(handle);
    if (m)
        weir_list_remove(&m->link);
    weir_lock_release(&store.lock);
    if (!m)
        return no_mipmap(handle);
    free_levels(m);
    return WEIR_OK;
}

enum weir_err weir_mipmap_level(const void *handle, unsigned level, struct weir_array **out)
{
    struct weir_mipmap *m;
    enum weir_err err = WEIR_OK;

    weir_lock_acquire(&store.lock);
    m = find_locked(handle);
    if (m && level < m->count)
        *out = m->levels[level];
    else
        err = m ? WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "level %u of %u", level, m->count)
                : no_mipmap(handle);
    weir_lock_release(&store.lock);
    return err;
}

bool weir_mipmap_has(const struct weir_array *a)
{
    bool found = false;

    weir_lock_acquire(&store.lock);
    for (struct weir_list *l = store.all.next; l != &store.all; l = l->next) {
        const struct weir_mipmap *m = WEIR_LIST_ENTRY(l, struct weir_mipmap, link);

        for (unsigned i = 0; i < m->count; i++)
            found |= m->levels[i] == a;
    }
    weir_lock_release(&store.lock);
    return found;
}
