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
static void ranges_compact(struct mem_state *m)
{
    size_t n = 0;

    if (m->free.count == 0)
        return;
    qsort(m->free.items, m->free.count, sizeof *m->free.items, range_compare);
    for (size_t i = 0; i < m->free.count; i++) {
        struct mem_range r = m->free.items[i];

        if (r.count == 0)
            continue;
        if (n > 0 && m->free.items[n - 1].start + m->free.items[n - 1].count == r.start)
            m->free.items[n - 1].count += r.count;
        else
            m->free.items[n++] = r;
    }
    m->free.count = n;
    m->free_compacted = n;
}

bool weir_mem_range_prepare(void)
{
    struct mem_state *m = &weir_mem_state;

    /* One for the new range, one for what alignment or the window's end leaves over. */
    return weir_vec_reserve(&m->free, m->free.count + m->live + 2);
}

void weir_mem_range_give(size_t start, size_t count)
{
    struct mem_state *m = &weir_mem_state;

    m->live--;
    if (m->free.count >
        m->free_sorted) { /* freed in the order of allocation: extend the last one */
        struct mem_range *last = &m->free.items[m->free.count - 1];

        if (last->start + last->count == start) {
            last->count += count;
            return;
        }
    }
    m->free.items[m->free.count++] = (struct mem_range){start, count};
    /* While addresses still come from the unused end, keep the list as short as the live
     * allocations allow. */
    if (m->free_sorted == 0 && m->free.count > 2 * m->free_compacted + COMPACT_MIN)
        ranges_compact(m);
}

static bool range_from_end(struct mem_state *m, size_t count, size_t align, size_t *start)
{
    size_t first = WEIR_ALIGN_UP(m->bump, align);

    if (first >= m->granule_count || count > m->granule_count - first)
        return false;
    if (first > m->bump)
        m->free.items[m->free.count++] = (struct mem_range){m->bump, first - m->bump};
    m->bump = first + count;
    *start = first;
    return true;
}

static bool range_from_free(struct mem_state *m, size_t count, size_t *start)
{
    for (size_t i = 0; i < m->free_sorted; i++) {
        size_t at = (m->free_rover + i) % m->free_sorted;
        struct mem_range *r = &m->free.items[at];

        if (r->count >= count) {
            *start = r->start;
            r->start += count;
            r->count -= count;
            m->free_rover = at;
            return true;
        }
    }
    return false;
}

bool weir_mem_range_take(size_t count, size_t align, size_t *start)
{
    struct mem_state *m = &weir_mem_state;

    if (range_from_end(m, count, align, start) || range_from_free(m, count, start)) {
        m->live++;
        return true;
    }
    if (m->free.count > m->free_sorted || m->free_sorted == 0) {
        /* Everything that waited may be used now, the rest at the window's end included. */
        if (m->bump < m->granule_count) {
            m->free.items[m->free.count++] =
                (struct mem_range){m->bump, m->granule_count - m->bump};
            m->bump = m->granule_count;
        }
        ranges_compact(m);
        m->free_sorted = m->free.count;
        m->free_rover = 0;
        if (range_from_free(m, count, start)) {
            m->live++;
            return true;
        }
    }
    return false;
}
