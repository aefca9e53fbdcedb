/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <string.h>

#include "base/alloc.h"

#define ARENA_CHUNK_BYTES (64u << 10)

struct weir_arena_chunk {
    struct weir_arena_chunk *next;
    size_t bytes;
    char data[] WEIR_ALIGNED(16);
};

void weir_arena_init(struct weir_arena *a, size_t limit_bytes)
{
    memset(a, 0, sizeof *a);
    a->limit_bytes = limit_bytes;
}

void weir_arena_finish(struct weir_arena *a)
{
    while (a->chunks) {
        struct weir_arena_chunk *next = a->chunks->next;

        weir_free(a->chunks);
        a->chunks = next;
    }
    a->pos = a->end = NULL;
}

void *weir_arena_alloc(struct weir_arena *a, size_t bytes)
{
    void *p;

    if (bytes > (size_t)1 << 40)
        return NULL;
    bytes = WEIR_ALIGN_UP(bytes ? bytes : 1, (size_t)16);
    if (a->limit_bytes && a->total_bytes + bytes > a->limit_bytes)
        return NULL;
    if ((size_t)(a->end - a->pos) < bytes) {
        size_t size = WEIR_MAX(bytes, (size_t)ARENA_CHUNK_BYTES);
        struct weir_arena_chunk *c = weir_alloc_aligned(16, sizeof *c + size);

        if (!c)
            return NULL;
        c->next = a->chunks;
        c->bytes = size;
        a->chunks = c;
        a->pos = c->data;
        a->end = c->data + size;
    }
    p = a->pos;
    a->pos += bytes;
    a->total_bytes += bytes;
    return memset(p, 0, bytes);
}

char *weir_arena_strndup(struct weir_arena *a, const char *s, size_t n)
{
    char *p = weir_arena_alloc(a, n + 1);

    if (p)
        memcpy(p, s, n);
    return p;
}
