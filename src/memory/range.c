/* Which granules of the window are handed out. New addresses come from the window's unused end;
 * freed ranges wait until much has been freed behind them, or that end is used up, so an address
 * comes back late, and then from a rover that goes round the window. (They do come back: every
 * address that was ever used costs the process a part of a page table.)
 * SPDX-License-Identifier: Apache-2.0 */
#include "memory/memory_int.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "check/check.h"

#define COMPACT_MIN 1024

/* So much is freed, and by so many frees, before freed ranges are handed out again. Under weir
 * check more, so that what still uses an address is noticed. */
#define WAIT_GRANULES ((size_t)1 << (30 - GRANULE_SHIFT))
#define WAIT_FREES    ((size_t)1024)
#define WAIT_CHECKED  16 /* times as much */

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
    z->waiting += count;
    z->frees++;
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

static bool range_from_free(struct mem_zone *z, size_t count, size_t align, size_t *start)
{
    for (size_t i = 0; i < z->free_sorted; i++) {
        size_t at = (z->free_rover + i) % z->free_sorted;
        struct mem_range *r = &z->free.items[at];
        size_t first = WEIR_ALIGN_UP(r->start, align), before = first - r->start;

        if (r->count >= before && r->count - before >= count) {
            if (before)
                z->free.items[z->free.count++] = (struct mem_range){r->start, before};
            r = &z->free.items[at];
            r->start = first + count;
            r->count -= before + count;
            z->free_rover = at;
            *start = first;
            return true;
        }
    }
    return false;
}

/* All that waits may be handed out now. */
static void end_wait(struct mem_zone *z)
{
    ranges_compact(z);
    z->free_sorted = z->free.count;
    z->free_rover = 0;
    z->waiting = z->frees = 0;
}

static bool range_again(struct mem_zone *z, size_t count, size_t align, size_t *start)
{
    size_t times = weir_check_enabled() ? WAIT_CHECKED : 1;

    if (z->waiting >= times * WAIT_GRANULES && z->frees >= times * WAIT_FREES) {
        end_wait(z);
        z->again = true;
    }
    if (z->again) /* what does not find a place would look through all of them each time */
        z->again = range_from_free(z, count, align, start);
    return z->again;
}

bool weir_mem_range_take(struct mem_zone *z, size_t count, size_t align, size_t *start)
{
    bool found = range_again(z, count, align, start) || range_from_end(z, count, align, start) ||
                 range_from_free(z, count, 1, start);

    if (!found && (z->free.count > z->free_sorted || z->free_sorted == 0)) {
        /* Everything that waited may be used now, the rest at the window's end included. */
        if (z->bump < z->end) {
            z->free.items[z->free.count++] = (struct mem_range){z->bump, z->end - z->bump};
            z->bump = z->end;
        }
        end_wait(z);
        found = range_from_free(z, count, 1, start);
    }
    z->live += found;
    return found;
}
