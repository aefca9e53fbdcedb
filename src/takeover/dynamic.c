/* See dynamic.h. Only DT_GNU_HASH is read: every linker of today writes it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "takeover/dynamic.h"

#include "takeover/sys.h"

#ifndef DT_GNU_HASH
#define DT_GNU_HASH 0x6ffffef5
#endif

/* glibc may or may not have made the section's addresses absolute yet. */
static const void *absolute(const struct weir_dynamic *d, uint64_t value)
{
    return (const void *)(value < d->base ? value + d->base : value);
}

void weir_dynamic_init(struct weir_dynamic *d, const struct link_map *map)
{
    *d = (struct weir_dynamic){.base = map->l_addr};
    if (map->l_ld == NULL)
        return;
    for (const Elf64_Dyn *e = map->l_ld; e->d_tag != DT_NULL; e++) {
        if (e->d_tag == DT_SYMTAB)
            d->symbols = absolute(d, e->d_un.d_ptr);
        else if (e->d_tag == DT_STRTAB)
            d->strings = absolute(d, e->d_un.d_ptr);
        else if (e->d_tag == DT_GNU_HASH)
            d->gnu_hash = absolute(d, e->d_un.d_ptr);
    }
    if (d->symbols == NULL || d->strings == NULL)
        d->gnu_hash = NULL;
}

static uint32_t hash_of(const char *name)
{
    uint32_t h = 5381;

    for (; *name; name++)
        h = h * 33 + (unsigned char)*name;
    return h;
}

void *weir_dynamic_find(const struct weir_dynamic *d, const char *name)
{
    uint32_t buckets, first, bloom_words, n, h = hash_of(name);
    const uint64_t *bloom;
    const uint32_t *bucket, *chain;
    uint64_t word;

    if (d->gnu_hash == NULL)
        return NULL;
    buckets = d->gnu_hash[0];
    first = d->gnu_hash[1];
    bloom_words = d->gnu_hash[2];
    if (buckets == 0 || bloom_words == 0)
        return NULL;
    bloom = (const uint64_t *)(d->gnu_hash + 4);
    bucket = (const uint32_t *)(bloom + bloom_words);
    chain = bucket + buckets;
    word = bloom[h / 64 % bloom_words];
    if (!(word >> h % 64 & 1) || !(word >> (h >> d->gnu_hash[3]) % 64 & 1))
        return NULL;
    n = bucket[h % buckets];
    if (n < first)
        return NULL;
    for (;; n++) {
        const Elf64_Sym *s = &d->symbols[n];

        if ((chain[n - first] | 1) == (h | 1) && s->st_shndx != SHN_UNDEF &&
            (ELF64_ST_TYPE(s->st_info) == STT_FUNC || ELF64_ST_TYPE(s->st_info) == STT_OBJECT) &&
            weir_str_equal(d->strings + s->st_name, name))
            return (void *)(d->base + s->st_value);
        if (chain[n - first] & 1)
            return NULL;
    }
}
