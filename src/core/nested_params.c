/* Where kernels write the arguments of kernels that they launch: pieces of memory of the device,
 * kept by its context from one launch to the next.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "core/nested_int.h"
#include "memory/memory.h"

#define SLAB_BYTES 65536

static const uint32_t sizes[WEIR_NESTED_SIZES] = {256, 4096, 32768};

struct slab {
    struct slab *next;
    void *memory;
    struct weir_nested_params params[];
};

struct weir_nested_pool {
    struct weir_lock lock; /* rank LEAF */
    struct weir_nested_params *free[WEIR_NESTED_SIZES];
    struct slab *slabs;
    struct weir_map texts; /* of this process -> what holds a copy */
};

static struct weir_nested_pool *pool_of(struct weir_context *ctx)
{
    struct weir_nested_pool *p = atomic_load_explicit(&ctx->nested, memory_order_acquire);
    struct weir_nested_pool *had = NULL;

    if (p)
        return p;
    p = weir_calloc(1, sizeof *p);
    if (!p)
        return NULL;
    weir_lock_init(&p->lock, WEIR_RANK_LEAF);
    if (atomic_compare_exchange_strong(&ctx->nested, &had, p))
        return p;
    weir_free(p);
    return had;
}

/* A list of new ones. */
static struct weir_nested_params *make(struct weir_context *ctx, struct weir_nested_pool *pool,
                                       uint8_t size)
{
    uint32_t count = SLAB_BYTES / sizes[size];
    struct slab *slab = weir_calloc(1, sizeof *slab + count * sizeof slab->params[0]);

    if (!slab)
        return NULL;
    if (weir_mem_alloc(WEIR_MEM_KIND_INTERNAL, ctx->ordinal, SLAB_BYTES, 0, NULL, &slab->memory) !=
        WEIR_OK) {
        weir_free(slab);
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++)
        slab->params[i] = (struct weir_nested_params){
            .next = i + 1 < count ? &slab->params[i + 1] : NULL,
            .address = (uint64_t)(uintptr_t)slab->memory + (uint64_t)i * sizes[size],
            .size = size};
    weir_lock_acquire(&pool->lock);
    slab->next = pool->slabs;
    pool->slabs = slab;
    weir_lock_release(&pool->lock);
    return slab->params;
}

struct weir_nested_params *weir_nested_params_take(struct weir_context *ctx, size_t bytes)
{
    struct weir_nested_pool *pool = pool_of(ctx);
    struct weir_nested_params *p;
    uint8_t size = 0;

    while (size < WEIR_NESTED_SIZES && sizes[size] < bytes)
        size++;
    if (!pool || size == WEIR_NESTED_SIZES)
        return NULL;
    weir_lock_acquire(&pool->lock);
    p = pool->free[size];
    if (p)
        pool->free[size] = p->next;
    weir_lock_release(&pool->lock);
    if (!p) {
        p = make(ctx, pool, size);
        if (p)
            weir_nested_params_give(ctx, p->next);
    }
    if (p) {
        p->next = NULL;
        p->function = NULL;
        p->bytes = (uint32_t)bytes;
    }
    return p;
}

enum weir_err weir_nested_text(struct weir_context *ctx, const char *text, uint64_t *address)
{
    struct weir_nested_pool *pool = pool_of(ctx);
    uint64_t key = (uint64_t)(uintptr_t)text;
    struct weir_nested_params *p = NULL, *mine = NULL;

    if (pool) {
        weir_lock_acquire(&pool->lock);
        p = weir_map_get(&pool->texts, key);
        weir_lock_release(&pool->lock);
    }
    if (!p && (mine = weir_nested_params_take(ctx, strlen(text) + 1))) {
        memcpy((void *)(uintptr_t)mine->address, text, mine->bytes);
        weir_lock_acquire(&pool->lock);
        p = weir_map_get(&pool->texts, key);
        if (!p && weir_map_put(&pool->texts, key, mine))
            p = mine;
        weir_lock_release(&pool->lock);
        if (p != mine)
            weir_nested_params_give(ctx, mine); /* another thread was first */
    }
    *address = p ? p->address : 0;
    return p ? WEIR_OK : WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a text for a kernel");
}

void weir_nested_params_give(struct weir_context *ctx, struct weir_nested_params *list)
{
    struct weir_nested_pool *pool = pool_of(ctx);

    weir_lock_acquire(&pool->lock);
    while (list) {
        struct weir_nested_params *p = list;

        list = p->next;
        p->next = pool->free[p->size];
        pool->free[p->size] = p;
    }
    weir_lock_release(&pool->lock);
}

void weir_nested_reset(struct weir_context *ctx)
{
    struct weir_nested_pool *pool = atomic_load_explicit(&ctx->nested, memory_order_acquire);
    struct slab *list;

    if (!pool)
        return;
    weir_lock_acquire(&pool->lock);
    list = pool->slabs;
    pool->slabs = NULL;
    for (int i = 0; i < WEIR_NESTED_SIZES; i++)
        pool->free[i] = NULL;
    weir_map_finish(&pool->texts);
    pool->texts = (struct weir_map){0};
    weir_lock_release(&pool->lock);
    while (list) {
        struct slab *slab = list;

        list = slab->next;
        (void)!weir_mem_free(WEIR_MEM_KIND_INTERNAL, slab->memory); /* ours */
        weir_free(slab);
    }
}
