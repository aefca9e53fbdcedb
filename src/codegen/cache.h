/* Compiled kernels kept on disk: one file an entry, named by its key, written to a temporary name
 * and renamed, with a hash over its content. Many processes may use one directory at a time. The
 * directory must be ours alone (owner, mode 0700), because its content is run; otherwise it is not
 * used. Trouble with the disk is never an error of the program: then kernels are compiled.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CODEGEN_CACHE_H
#define WEIR_CODEGEN_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codegen/jit.h"

struct weir_cache_key {
    uint64_t word[2]; /* a 128-bit hash of everything that decides the code */
};

struct weir_cache {
    char dir[512];         /* "" = off */
    uint64_t limit_bytes;  /* evicted beyond it, oldest first */
    _Atomic uint32_t puts; /* since the start: decides when sizes are summed */
};

/* One compiled object as stored. */
struct weir_cache_entry {
    struct weir_jit_meta meta;
    unsigned char *object; /* weir_alloc'ed; weir_free by the caller */
    size_t object_bytes;
};

/* Directory and limit from the environment: WEIR_CACHE=off, WEIR_CACHE_DIR, XDG_CACHE_HOME/weir,
 * HOME/.cache/weir; WEIR_CACHE_SIZE (bytes, with K, M or G; default 1G). */
void weir_cache_init_from_environment(struct weir_cache *c);
/* An explicit directory, or NULL or "" for off. False when its name is too long (then it is off).
 */
bool weir_cache_init(struct weir_cache *c, const char *dir, uint64_t limit_bytes);

/* False when there is no such entry, or it is damaged (then it is removed). Thread: any. */
bool weir_cache_get(struct weir_cache *c, const struct weir_cache_key *key,
                    struct weir_cache_entry *out);
/* Stores, replacing; now and then evicts. False when it could not be stored. Thread: any. */
bool weir_cache_put(struct weir_cache *c, const struct weir_cache_key *key,
                    const struct weir_jit_meta *meta, const void *object, size_t object_bytes);
void weir_cache_remove(struct weir_cache *c, const struct weir_cache_key *key);
/* Removes the oldest entries until the limit holds, and what crashed writers left. Called by put.
 */
void weir_cache_trim(struct weir_cache *c);

#endif
