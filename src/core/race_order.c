/* What orders the threads of a block, and barriers that not all of them come to.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/race_int.h"

#include <string.h>

#include "base/alloc.h"
#include "core/touch.h"
#include "device/device.h"

/* ---- clocks ---- */

void weir_race_join(struct race_clock *to, const struct race_clock *from)
{
    for (unsigned k = 0; k < RACE_CLOCKS; k++)
        to->at[k] = WEIR_MAX(to->at[k], from->at[k]);
}

void weir_race_tick(struct race_block *r, uint32_t warp)
{
    r->since[warp] = ++r->now[warp].at[warp];
}

/* All that the block's threads did is before all that they will do. */
static void join_all(struct race_block *r)
{
    struct race_clock all = {{0}};

    for (uint32_t w = 0; w < r->warps; w++)
        weir_race_join(&all, &r->now[w]);
    for (uint32_t w = 0; w < r->warps; w++) {
        r->now[w] = all;
        weir_race_tick(r, w);
    }
}

void weir_race_meet(struct race_access *a, uint64_t address)
{
    struct race_block *r = a->race;
    struct race_clock *now = &r->now[a->block->warp];
    struct race_clock *met = weir_race_met(r, a->global, address);

    if (a->kind != 3)
        weir_race_join(met, now);
    if (a->quiet)
        return;
    weir_race_join(now, met);
    r->learned |= a->global;
}

/* ---- blocks ---- */

static struct race_block *block_take(struct weir_races *launch)
{
    struct race_block *r;

    weir_lock_acquire(&launch->lock);
    r = launch->free;
    if (r) {
        launch->free = r->next_free;
    } else if ((r = weir_calloc(1, sizeof *r))) {
        r->launch = launch;
        r->next = launch->blocks;
        launch->blocks = r;
    }
    weir_lock_release(&launch->lock);
    return r;
}

static void block_give(struct race_block *r)
{
    weir_lock_acquire(&r->launch->lock);
    r->next_free = r->launch->free;
    r->launch->free = r;
    weir_lock_release(&r->launch->lock);
}

static bool has_cells(struct race_block *r, uint32_t bytes)
{
    uint32_t count = (bytes + RACE_CELL - 1) / RACE_CELL;

    if (count <= r->cell_count)
        return true;
    weir_free(r->cells);
    r->cells = weir_calloc(count, sizeof *r->cells);
    r->cell_count = r->cells ? count : 0;
    return r->cells != NULL;
}

static void start(struct weir_block *b)
{
    const struct weir_launch *l = b->launch;
    struct weir_races *launch = weir_touches_races(l);
    struct race_block *r = launch ? block_take(launch) : NULL;

    b->races = NULL;
    if (!r)
        return;
    if (!has_cells(r, b->shared_bytes)) {
        atomic_store(&launch->lost, true);
        block_give(r);
        return;
    }
    r->number = 1 + b->ctaid[0] + l->grid[0] * (b->ctaid[1] + l->grid[1] * b->ctaid[2]);
    r->threads = l->block[0] * l->block[1] * l->block[2];
    r->warps = (r->threads + 31) / 32;
    r->learned = r->any_past = false;
    r->run++;
    memset(r->hints, 0, sizeof r->hints);
    r->agent = 0;
    r->copies.count = 0;
    weir_race_late_begin(r, b);
    memset(r->now, 0, sizeof r->now);
    memset(r->met, 0, sizeof r->met);
    memset(r->arrived, 0, sizeof r->arrived);
    memset(r->waiting, 0, sizeof r->waiting);
    memset(r->count, 0, sizeof r->count);
    memset(r->places, 0, sizeof r->places);
    memset(r->past, 0, sizeof r->past);
    memset(r->committed, 0, sizeof r->committed);
    for (uint32_t w = 0; w < RACE_WARPS; w++)
        weir_race_tick(r, w);
    b->races = r;
}

/* ---- barriers ---- */

static void arrive(struct weir_block *b, struct race_block *r, uint32_t lanes, uint64_t arg)
{
    uint32_t id = WEIR_RACE_BARRIER(arg), place = WEIR_RACE_PLACE(arg), warp = b->warp;
    uint32_t first = warp * 32 + (uint32_t)__builtin_ctz(lanes ? lanes : 1);

    weir_race_join(&r->arrived[id], &r->now[warp]);
    weir_race_tick(r, warp);
    r->count[id] += (uint32_t)__builtin_popcount(lanes);
    r->line[id] = WEIR_RACE_LINE(arg);
    r->all[id] = arg & WEIR_RACE_ALL;
    if (!(arg & WEIR_RACE_WAITS))
        return;
    r->waiting[id] |= 1u << warp;
    r->waiter[id] = first;
    if (r->all[id] && place < WEIR_RACE_PLACES) {
        r->places[id] |= UINT64_C(1) << place;
        r->place_line[place] = WEIR_RACE_LINE(arg);
        r->place_waiter[place] = first;
    }
}

static void barrier_thread(const struct weir_block *b, struct race_block *r,
                           enum weir_check_threads_kind kind, uint32_t waiter, uint32_t line,
                           uint32_t id, struct weir_check_threads *t)
{
    *t = (struct weir_check_threads){.kind = kind, .arrived = r->count[id], .threads = r->threads};
    weir_race_thread(b, waiter, line, &t->first);
}

/* Threads that are behind a barrier which others wait in, and have not come to it. */
static void look_for_divergence(struct weir_block *b, struct race_block *r, uint32_t id)
{
    if (!r->any_past || !r->places[id])
        return;
    for (uint32_t t = 0; t < r->threads; t++) {
        uint64_t missed = r->past[t] & r->places[id];
        struct weir_check_threads found;
        uint32_t place;

        if (!missed)
            continue;
        place = (uint32_t)__builtin_ctzll(missed);
        barrier_thread(b, r, WEIR_THREADS_DIVERGENT, r->place_waiter[place], r->place_line[place],
                       id, &found);
        weir_race_thread(b, t, 0, &found.second);
        weir_race_add(r->launch, &found);
        return;
    }
}

static void release(struct weir_block *b, struct race_block *r, uint32_t id)
{
    if (r->all[id]) {
        look_for_divergence(b, r, id);
        if (r->any_past)
            memset(r->past, 0, r->threads * sizeof *r->past);
        r->any_past = false;
        join_all(r);
    }
    for (uint32_t rest = r->waiting[id]; rest && !r->all[id]; rest &= rest - 1) {
        uint32_t w = (uint32_t)__builtin_ctz(rest);

        weir_race_join(&r->now[w], &r->arrived[id]);
        weir_race_tick(r, w);
    }
    memset(&r->arrived[id], 0, sizeof r->arrived[id]);
    r->waiting[id] = r->count[id] = 0;
    r->places[id] = 0;
}

static void note_past(const struct weir_block *b, struct race_block *r, uint32_t lanes,
                      uint64_t places)
{
    for (; lanes; lanes &= lanes - 1)
        r->past[b->warp * 32 + (uint32_t)__builtin_ctz(lanes)] |= places;
    r->any_past = true;
}

/* On a GPU the kernel hangs. */
static WEIR_NORETURN void stuck(struct weir_block *b, struct race_block *r)
{
    uint32_t id = 0;
    struct weir_check_threads t;

    while (id + 1 < RACE_BARRIERS && !r->waiting[id])
        id++;
    barrier_thread(b, r, WEIR_THREADS_STUCK, r->waiter[id], r->line[id], id, &t);
    weir_race_add(r->launch, &t);
    b->races = NULL;
    weir_device_block_fail(b, WEIR_ERR_LAUNCH_TIMEOUT, r->line[id]);
}

/* ---- cp.async ---- */

static bool is_landed(const struct race_block *r, const struct race_copy *c, uint32_t warp,
                      uint32_t lanes, uint64_t pending)
{
    return c->thread / 32 == warp && (lanes >> c->thread % 32 & 1) &&
           (pending == UINT64_MAX || c->group + pending < r->committed[c->thread]);
}

/* The copy is a write of its thread at this moment; or of the agent's. */
static void land(struct race_block *r, const struct race_copy *c, bool handed)
{
    uint32_t warp = c->thread / 32;

    for (uint32_t k = c->cell; k < c->cell + c->cells && k < r->cell_count; k++) {
        struct race_side *s = &r->cells[k].write;

        if (r->cells[k].run != r->run || !(s->flags & RACE_PENDING) || s->warp != warp ||
            s->lanes != 1u << c->thread % 32)
            continue;
        s->flags &= (uint8_t)~RACE_PENDING;
        s->clock = handed ? r->agent : r->now[warp].at[warp];
        if (handed)
            s->warp = RACE_AGENT;
    }
}

static void land_all(struct race_block *r, uint32_t warp, uint32_t lanes, uint64_t pending,
                     bool handed)
{
    size_t kept = 0;

    for (size_t i = 0; i < r->copies.count; i++) {
        if (is_landed(r, &r->copies.items[i], warp, lanes, pending)) {
            weir_race_late_land(r, &r->copies.items[i]);
            land(r, &r->copies.items[i], handed);
        } else
            r->copies.items[kept++] = r->copies.items[i];
    }
    r->copies.count = r->fresh = kept;
}

void weir_race_handed(struct race_block *r, uint32_t warp, uint32_t lanes, uint64_t address)
{
    r->agent++;
    land_all(r, warp, lanes, UINT64_MAX, true);
    weir_race_met(r, false, address)->at[RACE_AGENT] = r->agent;
}

/* ---- the service ---- */

void weir_race_order(struct weir_block *block, uint32_t what, uint32_t lanes, uint64_t arg)
{
    struct race_block *r;

    if (what == WEIR_RACE_START) {
        start(block);
        return;
    }
    r = block->races;
    if (!r)
        return;
    weir_race_late_hide(r);
    switch (what) {
    case WEIR_RACE_END:
        block->races = NULL;
        block_give(r);
        break;
    case WEIR_RACE_WARP:
        weir_race_tick(r, block->warp);
        break;
    case WEIR_RACE_ARRIVE:
        arrive(block, r, lanes, arg);
        break;
    case WEIR_RACE_RELEASE:
        release(block, r, (uint32_t)arg);
        break;
    case WEIR_RACE_PASS:
        release(block, r, 0);
        break;
    case WEIR_RACE_CLUSTER:
        r->learned = true;
        join_all(r);
        break;
    case WEIR_RACE_PAST:
        note_past(block, r, lanes, arg);
        break;
    case WEIR_RACE_STUCK:
        stuck(block, r);
    case WEIR_RACE_COMMIT:
        for (uint32_t rest = lanes; rest; rest &= rest - 1)
            r->committed[block->warp * 32 + (uint32_t)__builtin_ctz(rest)]++;
        break;
    default:
        land_all(r, block->warp, lanes, arg, false);
        break;
    }
}
