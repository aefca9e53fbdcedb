/* Bump allocator for data that dies together (a parsed module, a compilation). Zeroed memory.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_BASE_ARENA_H
#define WEIR_BASE_ARENA_H

#include <stdbool.h>

#include "base/compiler.h"

struct weir_arena_chunk;

struct weir_arena {
    struct weir_arena_chunk *chunks;
    char *pos, *end;
    size_t total_bytes;
    size_t limit_bytes; /* 0 = none; past it allocations fail: for parsers of hostile input */
};

void weir_arena_init(struct weir_arena *a, size_t limit_bytes);
void weir_arena_finish(struct weir_arena *a);

/* Zeroed, aligned to 16 bytes; NULL when out of memory or over the limit. Thread: the arena's
 * owner. */
void *weir_arena_alloc(struct weir_arena *a, size_t bytes) WEIR_MUST_CHECK;
/* Copies n bytes and ends them with a zero byte. */
char *weir_arena_strndup(struct weir_arena *a, const char *s, size_t n) WEIR_MUST_CHECK;

#define WEIR_ARENA_NEW(a, type) ((type *)weir_arena_alloc((a), sizeof(type)))
#define WEIR_ARENA_NEW_ARRAY(a, type, count)                                                       \
    ((type *)weir_arena_alloc((a), sizeof(type) * (size_t)(count)))

#endif
