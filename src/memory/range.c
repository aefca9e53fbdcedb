/* Which granules of the window are handed out. New addresses come from the window's unused end;
 * freed ranges wait until that is used up, so an address comes back late, and then from a rover
 * that goes round the window.
 * SPDX-License-Identifier: Apache-2.0 */
#include "memory/memory_int.h"

#include <stdlib.h>

#include "base/alloc.h"

#define COMPACT_MIN 1024

static int range_compare(const void *a, const void *b)
{
    const struct mem_range *x = a, *y = b;

    return x->start < y->start ? -1 : x->start > y->start;
}

/* Sorts all free ranges and joins neighbours: afterwards there are at most live + 1. */
static void ranges_compact(struct mem_zone *z)
{
    size_t n = 0;

    if (z->free.count == 0)
        return;
    qsort(z->free.items, z->free.count, sizeof *z->free.items, range_compare);
    for (size_t i = 0; i < z->free.count; i++) {
        struct mem_range r = z->free.items[i];

        if (r.count == 0)
            continue;
        if (n > 0 && z->free.items[n - 1].start + z->free.items[n - 1].count == r.start)
            z->free.items[n - 1].count += r.count;
        else
            z->free.items[n++] = r;
    }
    z->free.count = n;
    z->free_compacted = n;
}

bool weir_mem_range_prepare(struct mem_zone *z)
{
    /* One for the new range, one for what alignment or the window's end leaves over. */
    return weir_vec_reserve(&z->free, z->free.count + z->live + 2);
}

static struct mem_zone *zone_at(size_t granule)
{
    struct mem_zone *z = weir_mem_state.zones;

    while (granule >= z->end)
        z++;
    return z;
}

void weir_mem_range_give(size_t start, size_t count)
{
    struct mem_zone *z = zone_at(start);

    z->live--;
    if (z->free.count >
        z->free_sorted) { /* freed in the order of allocation: extend the last one */
        struct mem_range *last = &z->free.items[z->free.count - 1];

        if (last->start + last->count == start) {
            last->count += count;
            return;
        }
    }
    z->free.items[z->free.count++] = (struct mem_range){start, count};
    /* While addresses still come from the unused end, keep the list as short as the live
     * allocations allow. */
    if (z->free_sorted == 0 && z->free.count > 2 * z->free_compacted + COMPACT_MIN)
        ranges_compact(z);
}

static bool range_from_end(struct mem_zone *z, size_t count, size_t align, size_t *start)
{
    size_t first = WEIR_ALIGN_UP(z->bump, align);

    if (first >= z->end || count > z->end - first)
        return false;
    if (first > z->bump)
        z->free.items[z->free.count++] = (struct mem_range){z->bump, first - z->bump};
    z->bump = first + count;
    *start = first;
    return true;
}

static bool range_from_free(struct mem_zone *z, size_t count, size_t *start)
{
    for (size_t i = 0; i < z->free_sorted; i++) {
        size_t at = (z->free_rover + i) % z->free_sorted;
        struct mem_range *r = &z->free.items[at];

        if (r->count >= count) {
            *start = r->start;
            r->start += count;
            r->count -= count;
            z->free_rover = at;
            return true;
        }
    }
    return false;
}

bool weir_mem_range_take(struct mem_zone *z, size_t count, size_t align, size_t *start)
{
    if (range_from_end(z, count, align, start) || range_from_free(z, count, start)) {
        z->live++;
        return true;
    }
    if (z->free.count > z->free_sorted || z->free_sorted == 0) {
        /* Everything that waited may be used now, the rest at the window's end included. */
        if (z->bump < z->end) {
            z->free.items[z->free.count++] = (struct mem_range){z->bump, z->end - z->bump};
            z->bump = z->end;
        }
        ranges_compact(z);
        z->free_sorted = z->free.count;
        z->free_rover = 0;
        if (range_from_free(z, count, start)) {
            z->live++;
            return true;
        }
    }
    return false;
}
