/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <string.h>

#include "base/alloc.h"

struct weir_map_slot {
    uint64_t key;
    void *value; /* NULL: free, or a tombstone when `dead` */
    bool dead;
};

struct weir_strmap_slot {
    const char *key;
    size_t len;
    uint64_t hash;
    void *value;
};

static inline uint64_t hash_word(uint64_t h, const unsigned char *p)
{
    uint64_t w;

    memcpy(&w, p, 8);
    h = (h ^ w) * 0xff51afd7ed558ccdu;
    return h ^ h >> 32;
}

uint64_t weir_hash_bytes(const void *data, size_t bytes, uint64_t seed)
{
    const unsigned char *p = data;
    uint64_t h = seed ^ 0x9e3779b97f4a7c15u;

    while (bytes >= 8) {
        h = hash_word(h, p);
        p += 8;
        bytes -= 8;
    }
    for (; bytes; bytes--)
        h = (h ^ *p++) * 0x100000001b3u;
    h ^= h >> 29;
    h *= 0xc4ceb9fe1a85ec53u;
    return h ^ (h >> 32);
}

#define LANES_AHEAD 768 /* bytes: the processor itself looks no further than the page */

uint64_t weir_hash_lanes(const void *data, size_t bytes, uint64_t seed)
{
    const unsigned char *p = data;
    uint64_t h[4] = {seed, seed + 1, seed + 2, seed + 3};

    for (; bytes >= sizeof h; p += sizeof h, bytes -= sizeof h) {
        __builtin_prefetch(p + LANES_AHEAD);
        h[0] = hash_word(h[0], p);
        h[1] = hash_word(h[1], p + 8);
        h[2] = hash_word(h[2], p + 16);
        h[3] = hash_word(h[3], p + 24);
    }
    return weir_hash_bytes(p, bytes, weir_hash_bytes(h, sizeof h, seed));
}

static uint64_t hash_key(uint64_t k)
{
    k ^= k >> 33;
    k *= 0xff51afd7ed558ccdu;
    return k ^ (k >> 33);
}

void weir_map_finish(struct weir_map *m)
{
    weir_free(m->slots);
    memset(m, 0, sizeof *m);
}

static struct weir_map_slot *map_find(const struct weir_map *m, uint64_t key)
{
    if (!m->cap)
        return NULL;
    for (size_t i = hash_key(key) & (m->cap - 1);; i = (i + 1) & (m->cap - 1)) {
        struct weir_map_slot *s = &m->slots[i];

        if (s->value && s->key == key)
            return s;
        if (!s->value && !s->dead)
            return NULL;
    }
}

void *weir_map_get(const struct weir_map *m, uint64_t key)
{
    struct weir_map_slot *s = map_find(m, key);

    return s ? s->value : NULL;
}

static void map_insert(struct weir_map *m, uint64_t key, void *value)
{
    size_t i = hash_key(key) & (m->cap - 1);

    while (m->slots[i].value)
        i = (i + 1) & (m->cap - 1);
    if (!m->slots[i].dead)
        m->used++;
    m->slots[i] = (struct weir_map_slot){key, value, false};
    m->count++;
}

static bool map_grow(struct weir_map *m)
{
    struct weir_map bigger = {0};

    if (!m->cap)
        bigger.cap = 16;
    else /* mostly tombstones: the same size again is enough */
        bigger.cap = m->count * 4 > m->cap ? m->cap * 2 : m->cap;
    bigger.slots = weir_calloc(bigger.cap, sizeof *bigger.slots);
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < m->cap; i++) {
        if (m->slots[i].value)
            map_insert(&bigger, m->slots[i].key, m->slots[i].value);
    }
    weir_free(m->slots);
    *m = bigger;
    return true;
}

bool weir_map_swap(struct weir_map *m, uint64_t key, void *value, void **old)
{
    struct weir_map_slot *s = map_find(m, key);

    *old = s ? s->value : NULL;
    if (s) {
        s->value = value;
        return true;
    }
    if ((m->used + 1) * 4 > m->cap * 3 && !map_grow(m))
        return false;
    map_insert(m, key, value);
    return true;
}

bool weir_map_put(struct weir_map *m, uint64_t key, void *value)
{
    void *old;

    return weir_map_swap(m, key, value, &old);
}

void *weir_map_remove(struct weir_map *m, uint64_t key)
{
    struct weir_map_slot *s = map_find(m, key);
    void *value;

    if (!s)
        return NULL;
    value = s->value;
    s->value = NULL;
    s->dead = true;
    m->count--;
    return value;
}

bool weir_map_next(const struct weir_map *m, size_t *pos, uint64_t *key, void **value)
{
    for (; *pos < m->cap; (*pos)++) {
        if (m->slots[*pos].value) {
            *key = m->slots[*pos].key;
            *value = m->slots[*pos].value;
            (*pos)++;
            return true;
        }
    }
    return false;
}

void weir_strmap_finish(struct weir_strmap *m)
{
    weir_free(m->slots);
    memset(m, 0, sizeof *m);
}

static struct weir_strmap_slot *strmap_find(const struct weir_strmap *m, const char *key,
                                            size_t len, uint64_t hash)
{
    size_t i = hash & (m->cap - 1);

    for (;; i = (i + 1) & (m->cap - 1)) {
        struct weir_strmap_slot *s = &m->slots[i];

        if (!s->key || (s->hash == hash && s->len == len && memcmp(s->key, key, len) == 0))
            return s;
    }
}

void *weir_strmap_get(const struct weir_strmap *m, const char *key, size_t len)
{
    return m->cap ? strmap_find(m, key, len, weir_hash_bytes(key, len, 0))->value : NULL;
}

bool weir_strmap_put(struct weir_strmap *m, const char *key, size_t len, void *value)
{
    uint64_t hash = weir_hash_bytes(key, len, 0);
    struct weir_strmap_slot *s;

    if ((m->count + 1) * 4 > m->cap * 3) {
        struct weir_strmap bigger = {0};

        bigger.cap = m->cap ? m->cap * 2 : 16;
        bigger.count = m->count;
        bigger.slots = weir_calloc(bigger.cap, sizeof *bigger.slots);
        if (!bigger.slots)
            return false;
        for (size_t i = 0; i < m->cap; i++) {
            struct weir_strmap_slot *old = &m->slots[i];

            if (old->key)
                *strmap_find(&bigger, old->key, old->len, old->hash) = *old;
        }
        weir_free(m->slots);
        *m = bigger;
    }
    s = strmap_find(m, key, len, hash);
    if (!s->key)
        m->count++;
    *s = (struct weir_strmap_slot){key, len, hash, value};
    return true;
}
