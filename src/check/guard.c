/* SPDX-License-Identifier: Apache-2.0 */
#include "check/guard.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/compiler.h"

static uintptr_t page_down(uintptr_t a)
{
    return a & ~(WEIR_GUARD_PAGE - 1);
}

static uintptr_t page_up(uintptr_t a)
{
    return page_down(a + WEIR_GUARD_PAGE - 1);
}

void weir_guard_init(struct weir_guard *g, const struct weir_order *order,
                     bool (*protect)(void *, uintptr_t, uintptr_t, enum weir_guard_state),
                     void *ctx)
{
    *g = (struct weir_guard){.order = order, .protect = protect, .ctx = ctx};
}

void weir_guard_finish(struct weir_guard *g)
{
    weir_vec_finish(&g->ranges);
    weir_vec_finish(&g->opened);
    weir_vec_finish(&g->cuts);
    weir_vec_finish(&g->over);
    weir_map_finish(&g->faults);
}

static bool is_opened(const struct weir_guard *g, uintptr_t address)
{
    for (size_t i = 0; i < g->opened.count; i++) {
        if (address >= g->opened.items[i].begin && address < g->opened.items[i].end)
            return true;
    }
    return false;
}

enum weir_guard_state weir_guard_at(const struct weir_guard *g, uintptr_t address)
{
    enum weir_guard_state state = WEIR_GUARD_OPEN;

    for (size_t i = 0; i < g->ranges.count; i++) {
        const struct weir_guard_range *r = &g->ranges.items[i];

        if (address >= r->begin && address < r->end && r->state > state)
            state = r->state;
    }
    return state != WEIR_GUARD_OPEN && is_opened(g, address) ? WEIR_GUARD_OPEN : state;
}

/* ---- pages as they should be ---- */

static int by_value(const void *a, const void *b)
{
    uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;

    return x < y ? -1 : x > y;
}

static bool cut(struct weir_guard *g, uintptr_t begin, uintptr_t end, uintptr_t at)
{
    return at <= begin || at >= end || weir_vec_push(&g->cuts, at);
}

/* Where the state may change inside of [begin, end), sorted, with both ends. */
static bool cuts_make(struct weir_guard *g, uintptr_t begin, uintptr_t end)
{
    bool ok;

    g->cuts.count = 0;
    ok = weir_vec_push(&g->cuts, begin) && weir_vec_push(&g->cuts, end);
    for (size_t i = 0; ok && i < g->ranges.count; i++)
        ok = cut(g, begin, end, g->ranges.items[i].begin) &&
             cut(g, begin, end, g->ranges.items[i].end);
    for (size_t i = 0; ok && i < g->opened.count; i++)
        ok = cut(g, begin, end, g->opened.items[i].begin) &&
             cut(g, begin, end, g->opened.items[i].end);
    if (ok)
        qsort(g->cuts.items, g->cuts.count, sizeof g->cuts.items[0], by_value);
    return ok;
}

/* Pages that the system refuses to close stay open, which is no harm but to what is seen. */
static void put(struct weir_guard *g, uintptr_t begin, uintptr_t end, enum weir_guard_state state)
{
    if (begin >= end)
        return;
    if (g->protect(g->ctx, begin, end, state))
        g->closings += state != WEIR_GUARD_OPEN;
    else if (state != WEIR_GUARD_OPEN)
        g->failed = true;
}

static void apply(struct weir_guard *g, uintptr_t begin, uintptr_t end)
{
    uintptr_t from = begin;
    enum weir_guard_state state;

    if (begin >= end)
        return;
    if (!cuts_make(g, begin, end)) { /* no memory: nothing is watched here */
        g->failed = true;
        put(g, begin, end, WEIR_GUARD_OPEN);
        return;
    }
    state = weir_guard_at(g, begin);
    for (size_t i = 1; i + 1 < g->cuts.count; i++) {
        enum weir_guard_state next = weir_guard_at(g, g->cuts.items[i]);

        if (next == state)
            continue;
        put(g, from, g->cuts.items[i], state);
        from = g->cuts.items[i];
        state = next;
    }
    put(g, from, end, state);
}

/* ---- operations ---- */

static bool finished(const struct weir_guard *g, const struct weir_guard_range *r)
{
    struct weir_order_stamp stamp = {.lane = r->lane, .seq = r->seq};

    return weir_order_host_knows(g->order, &stamp);
}

/* Is every page of it as closed as `state` already? Only a range that has all of it is looked for.
 */
static bool has(const struct weir_guard *g, uintptr_t begin, uintptr_t end,
                enum weir_guard_state state)
{
    for (size_t i = 0; i < g->ranges.count; i++) {
        const struct weir_guard_range *r = &g->ranges.items[i];

        if (r->begin <= begin && r->end >= end && r->state >= state)
            return true;
    }
    return false;
}

void weir_guard_add(struct weir_guard *g, uintptr_t begin, uintptr_t end, bool writes,
                    uint32_t lane, weir_seq seq)
{
    struct weir_guard_range add = {page_down(begin), page_up(end), lane, seq,
                                   writes ? WEIR_GUARD_CLOSED : WEIR_GUARD_READABLE};
    bool closed;

    if (begin >= end)
        return;
    for (size_t i = 0; i < g->ranges.count; i++) {
        struct weir_guard_range *r = &g->ranges.items[i];

        if (r->begin == add.begin && r->end == add.end && r->lane == lane &&
            r->state == add.state) {
            r->seq = WEIR_MAX(r->seq, seq);
            return;
        }
    }
    closed = has(g, add.begin, add.end, add.state);
    if (g->ranges.count >= WEIR_GUARD_RANGES_MAX || !weir_vec_push(&g->ranges, add)) {
        g->failed = true;
        return;
    }
    if (!closed)
        apply(g, add.begin, add.end);
}

/* What was opened stays so while it is in use, and counts faults; then it begins anew. */
static void opened_settle(struct weir_guard *g)
{
    for (size_t i = 0; i < g->opened.count;) {
        const struct weir_guard_opened *o = &g->opened.items[i];
        bool used = o->held;

        for (size_t k = 0; k < g->ranges.count && !used; k++)
            used = g->ranges.items[k].begin < o->end && g->ranges.items[k].end > o->begin;
        if (used)
            i++;
        else
            g->opened.items[i] = g->opened.items[--g->opened.count];
    }
    weir_map_finish(&g->faults);
    g->fault_count = 0;
}

bool weir_guard_meets(const struct weir_guard *g, uintptr_t begin, uintptr_t end)
{
    for (size_t i = 0; i < g->ranges.count; i++) {
        if (g->ranges.items[i].begin < end && g->ranges.items[i].end > begin)
            return true;
    }
    return false;
}

static int by_begin(const void *a, const void *b)
{
    const struct weir_guard_range *x = a, *y = b;

    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Can what is opened up to `end`, from `begin` on, go on to `next`? */
static bool goes_on(const struct weir_guard *g, uintptr_t begin, uintptr_t end, uintptr_t next)
{
    return next <= end ||
           (g->is_one && !weir_guard_meets(g, end, next) && g->is_one(g->ctx, begin, next));
}

/* Takes the ranges out for which `over` holds, then opens their pages, neighbours at once. */
static void remove_if(struct weir_guard *g,
                      bool (*over)(const struct weir_guard *g, const struct weir_guard_range *r))
{
    uintptr_t begin = 0, end = 0;
    size_t before = g->ranges.count;

    g->over.count = 0;
    for (size_t i = 0; i < g->ranges.count;) {
        const struct weir_guard_range r = g->ranges.items[i];

        if (!over(g, &r)) {
            i++;
            continue;
        }
        g->ranges.items[i] = g->ranges.items[--g->ranges.count];
        if (!weir_vec_push(&g->over, r)) /* those that are still to be taken out do it again */
            apply(g, r.begin, r.end);
    }
    if (g->over.count > 1)
        qsort(g->over.items, g->over.count, sizeof g->over.items[0], by_begin);
    for (size_t i = 0; i < g->over.count; i++) {
        const struct weir_guard_range *r = &g->over.items[i];

        if (begin < end && goes_on(g, begin, end, r->begin)) {
            end = WEIR_MAX(end, r->end);
            continue;
        }
        apply(g, begin, end);
        begin = r->begin;
        end = r->end;
    }
    apply(g, begin, end);
    if (g->ranges.count < before)
        opened_settle(g);
}

void weir_guard_settle(struct weir_guard *g)
{
    if (g->settled_at == g->order->host_changes)
        return;
    g->settled_at = g->order->host_changes;
    if (g->ranges.count)
        remove_if(g, finished);
}

void weir_guard_forget(struct weir_guard *g, uintptr_t begin, uintptr_t end)
{
    for (size_t i = 0; i < g->ranges.count;) {
        struct weir_guard_range r = g->ranges.items[i];

        /* Pages of small allocations hold others as well, which are not watched any more. */
        if (r.end <= begin || r.begin >= end) {
            i++;
            continue;
        }
        g->ranges.items[i] = g->ranges.items[--g->ranges.count];
        apply(g, r.begin, r.end);
    }
    for (size_t i = 0; i < g->opened.count;) { /* a system call that still has it ends elsewhere */
        if (g->opened.items[i].begin >= page_down(begin) && g->opened.items[i].end <= end)
            g->opened.items[i] = g->opened.items[--g->opened.count];
        else
            i++;
    }
    opened_settle(g);
}

/* ---- accesses of the program ---- */

void weir_guard_open(struct weir_guard *g, uintptr_t begin, uintptr_t end)
{
    struct weir_guard_opened o = {.begin = page_down(begin), .end = page_up(end)};

    if (!weir_guard_meets(g, begin, end))
        return;
    for (size_t i = 0; i < g->opened.count; i++) {
        if (!g->opened.items[i].held && g->opened.items[i].begin <= o.begin &&
            g->opened.items[i].end >= o.end)
            return;
    }
    if (!weir_vec_push(&g->opened, o)) /* open for now, closed with the next change */
        g->failed = true;
    g->unwatched += (o.end - o.begin) / WEIR_GUARD_PAGE;
    put(g, o.begin, o.end, WEIR_GUARD_OPEN);
}

bool weir_guard_hold(struct weir_guard *g, uintptr_t begin, uintptr_t end)
{
    struct weir_guard_opened o = {.begin = page_down(begin), .end = page_up(end), .held = true};

    if (!weir_vec_push(&g->opened, o)) {
        g->failed = true;
        return false;
    }
    if (weir_guard_meets(g, o.begin, o.end))
        put(g, o.begin, o.end, WEIR_GUARD_OPEN);
    return true;
}

void weir_guard_release(struct weir_guard *g, uintptr_t begin, uintptr_t end)
{
    begin = page_down(begin);
    end = page_up(end);
    for (size_t i = 0; i < g->opened.count; i++) {
        const struct weir_guard_opened *o = &g->opened.items[i];

        if (!o->held || o->begin != begin || o->end != end)
            continue;
        g->opened.items[i] = g->opened.items[--g->opened.count];
        break;
    }
    if (weir_guard_meets(g, begin, end))
        apply(g, begin, end);
}

void weir_guard_open_around(struct weir_guard *g, uintptr_t page)
{
    for (size_t i = 0; i < g->ranges.count; i++) {
        const struct weir_guard_range *r = &g->ranges.items[i];

        if (page >= r->begin && page < r->end)
            weir_guard_open(g, r->begin, r->end);
    }
}

void weir_guard_step(struct weir_guard *g, uintptr_t page)
{
    uint64_t number = page / WEIR_GUARD_PAGE;
    uintptr_t count = (uintptr_t)weir_map_get(&g->faults, number) + 1;

    g->fault_count++;
    if (++g->fault_total > WEIR_GUARD_TOTAL_MAX || g->fault_count > WEIR_GUARD_FAULTS_MAX) {
        weir_guard_open_around(g, page);
    } else if (count >= WEIR_GUARD_PAGE_MAX || !weir_map_put(&g->faults, number, (void *)count)) {
        weir_guard_open(g, page, page + 1);
    }
    put(g, page_down(page), page_down(page) + WEIR_GUARD_PAGE, WEIR_GUARD_OPEN);
}

void weir_guard_step_end(struct weir_guard *g, uintptr_t page)
{
    page = page_down(page);
    apply(g, page, page + WEIR_GUARD_PAGE);
}
