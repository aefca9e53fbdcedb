/* Hash map from a 64-bit key (pointer, id, or a string's hash through weir_strmap_*) to a pointer.
 * Open addressing. Not thread safe: the owner locks.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_BASE_MAP_H
#define WEIR_BASE_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

struct weir_map {
    struct weir_map_slot *slots;
    size_t count, used, cap; /* used counts tombstones too */
};

/* Zero-initialised is empty. */
void weir_map_finish(struct weir_map *m);
void *weir_map_get(const struct weir_map *m, uint64_t key);
/* Replaces an existing value; value must not be NULL. False when out of memory. */
bool weir_map_put(struct weir_map *m, uint64_t key, void *value) WEIR_MUST_CHECK;
/* The same; *old: the value before, NULL for none. */
bool weir_map_swap(struct weir_map *m, uint64_t key, void *value, void **old) WEIR_MUST_CHECK;
/* The removed value or NULL. */
void *weir_map_remove(struct weir_map *m, uint64_t key);
/* Iteration: start with *pos = 0; false at the end. The map must not change meanwhile. */
bool weir_map_next(const struct weir_map *m, size_t *pos, uint64_t *key, void **value);

/* Map from a string to a pointer. Keys are not copied: they must outlive the map. */
struct weir_strmap {
    struct weir_strmap_slot *slots;
    size_t count, cap;
};

void weir_strmap_finish(struct weir_strmap *m);
void *weir_strmap_get(const struct weir_strmap *m, const char *key, size_t len);
bool weir_strmap_put(struct weir_strmap *m, const char *key, size_t len,
                     void *value) WEIR_MUST_CHECK;

uint64_t weir_hash_bytes(const void *data, size_t bytes, uint64_t seed);
/* Another one, three times as fast on long data. */
uint64_t weir_hash_lanes(const void *data, size_t bytes, uint64_t seed);

#endif
