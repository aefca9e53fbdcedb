/* See external.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/external.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/vec.h"
#include "memory/share.h"

struct external {
    struct weir_list link;
    bool alive; /* the program holds the object */
    int device;
    size_t bytes;
    char *base;
    WEIR_VEC(void *) buffers; /* as often as each was mapped */
};

static struct {
    struct weir_lock lock; /* rank LEAF */
    struct weir_list all;
} store = {.lock = WEIR_LOCK_INIT(LEAF), .all = {&store.all, &store.all}};

static struct external *find_locked(const void *handle)
{
    for (struct weir_list *l = store.all.next; l != &store.all; l = l->next) {
        struct external *x = WEIR_LIST_ENTRY(l, struct external, link);

        if (x == handle && x->alive)
            return x;
    }
    return NULL;
}

static enum weir_err no_object(const void *handle)
{
    return WEIR_FAIL(WEIR_ERR_INVALID_RESOURCE_HANDLE,
                     "%p is no external memory, or a destroyed one", handle);
}

/* Nobody holds it any more: it leaves the list, and the caller frees it without the lock. */
static bool unused_locked(struct external *x)
{
    if (x->alive || x->buffers.count)
        return false;
    weir_list_remove(&x->link);
    return true;
}

static void drop(struct external *x)
{
    weir_mem_detach(x->base);
    weir_vec_finish(&x->buffers);
    weir_free(x);
}

enum weir_err weir_external_import(struct weir_context *ctx, int fd, size_t bytes, void **handle)
{
    struct external *x;
    struct stat st;
    void *base = NULL;
    enum weir_err err;

    if (bytes == 0 || fstat(fd, &st) != 0)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%zu bytes of descriptor %d", bytes, fd);
    if (S_ISREG(st.st_mode) && (uint64_t)st.st_size < bytes)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "descriptor %d has %lld bytes, not %zu", fd,
                         (long long)st.st_size, bytes);
    x = weir_calloc(1, sizeof *x);
    if (!x)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "external memory");
    err = weir_mem_attach(fd, bytes, ctx->ordinal, &base);
    if (err != WEIR_OK) {
        weir_free(x);
        return err;
    }
    x->alive = true;
    x->device = ctx->ordinal;
    x->bytes = bytes;
    x->base = base;
    close(fd);
    weir_lock_acquire(&store.lock);
    weir_list_append(&store.all, &x->link);
    weir_lock_release(&store.lock);
    *handle = x;
    return WEIR_OK;
}

enum weir_err weir_external_buffer(const void *handle, size_t offset, size_t bytes, void **out)
{
    enum weir_err err = WEIR_OK;
    struct external *x;

    weir_lock_acquire(&store.lock);
    x = find_locked(handle);
    if (!x)
        err = no_object(handle);
    else if (bytes == 0 || offset > x->bytes || bytes > x->bytes - offset)
        err = WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%zu bytes at %zu of external memory of %zu", bytes,
                        offset, x->bytes);
    else if (!weir_vec_push(&x->buffers, x->base + offset))
        err = WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a buffer of external memory");
    else
        *out = x->base + offset;
    weir_lock_release(&store.lock);
    return err;
}

enum weir_err weir_external_destroy(const void *handle)
{
    struct external *x;
    bool unused = false;

    weir_lock_acquire(&store.lock);
    x = find_locked(handle);
    if (x) {
        x->alive = false;
        unused = unused_locked(x);
    }
    weir_lock_release(&store.lock);
    if (!x)
        return no_object(handle);
    if (unused)
        drop(x);
    return WEIR_OK;
}

static struct external *find_buffer_locked(const void *ptr, size_t *at)
{
    for (struct weir_list *l = store.all.next; l != &store.all; l = l->next) {
        struct external *x = WEIR_LIST_ENTRY(l, struct external, link);

        for (size_t i = 0; i < x->buffers.count; i++) {
            if (x->buffers.items[i] == ptr) {
                *at = i;
                return x;
            }
        }
    }
    return NULL;
}

bool weir_external_is(const void *ptr, int *device)
{
    struct external *x;
    size_t at;

    weir_lock_acquire(&store.lock);
    x = find_buffer_locked(ptr, &at);
    if (x)
        *device = x->device;
    weir_lock_release(&store.lock);
    return x != NULL;
}

void weir_external_free(const void *ptr)
{
    struct external *x;
    bool unused = false;
    size_t at;

    weir_lock_acquire(&store.lock);
    x = find_buffer_locked(ptr, &at);
    if (x) {
        x->buffers.items[at] = x->buffers.items[--x->buffers.count];
        unused = unused_locked(x);
    }
    weir_lock_release(&store.lock);
    if (unused)
        drop(x);
}
