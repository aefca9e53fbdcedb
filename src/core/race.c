/* See race.h: launches, blocks, and the service that is told of accesses.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/race.h"

#include <string.h>

#include "base/alloc.h"
#include "core/race_int.h"
#include "memory/memory.h"

#define BYTES_MAX ((size_t)2 << 30) /* of a launch's pages: what comes then is not judged */

/* ---- launches ---- */

struct weir_races *weir_races_create(void)
{
    struct weir_races *r = weir_calloc(1, sizeof *r);

    if (!r)
        return NULL;
    weir_lock_init(&r->lock, WEIR_RANK_TOUCH);
    weir_lock_init(&r->found_lock, WEIR_RANK_LEAF);
    for (unsigned k = 0; k < RACE_LOCKS; k++)
        weir_lock_init(&r->page_locks[k], WEIR_RANK_RACE);
    return r;
}

void weir_races_destroy(struct weir_races *r)
{
    uint64_t key;
    size_t pos = 0;
    void *page;

    if (!r)
        return;
    for (struct race_block *b = r->blocks, *next; b; b = next) {
        next = b->next;
        weir_vec_finish(&b->copies);
        weir_vec_finish(&b->bulks);
        weir_free(b->cells);
        weir_free(b);
    }
    while (weir_map_next(&r->pages, &pos, &key, &page))
        weir_free(page);
    weir_map_finish(&r->pages);
    weir_free(r);
}

bool weir_races_lost(const struct weir_races *r)
{
    return atomic_load(&r->lost);
}

static bool is_same(const struct weir_check_threads *a, const struct weir_check_threads *b)
{
    return a->kind == b->kind && a->shared == b->shared && a->first.ptx_line == b->first.ptx_line &&
           a->second.ptx_line == b->second.ptx_line;
}

void weir_race_add(struct weir_races *r, const struct weir_check_threads *t)
{
    uint32_t i = 0;

    weir_lock_acquire(&r->found_lock);
    while (i < r->count && !is_same(&r->found[i], t))
        i++;
    if (i == r->count && i < RACE_FOUND)
        r->found[r->count++] = *t;
    weir_lock_release(&r->found_lock);
}

/* ---- reads that updates follow ---- */

void weir_race_hint(struct race_block *r, uint32_t read, uint32_t update)
{
    struct race_hint *told = &r->hints[(read + update) % WEIR_ARRAY_SIZE(r->hints)];
    struct weir_races *l = r->launch;
    uint32_t i = 0;

    if (told->read == read && told->update == update)
        return;
    *told = (struct race_hint){read, update};
    weir_lock_acquire(&l->found_lock);
    while (i < l->hint_count && (l->hints[i].read != read || l->hints[i].update != update))
        i++;
    if (i == l->hint_count && i < RACE_HINTS)
        l->hints[l->hint_count++] = *told;
    weir_lock_release(&l->found_lock);
}

static bool has_hint(const struct weir_races *r, uint32_t read, uint32_t update)
{
    for (uint32_t i = 0; i < r->hint_count; i++)
        if (r->hints[i].read == read && r->hints[i].update == update)
            return true;
    return false;
}

static bool is_hint(const struct weir_races *r, const struct weir_check_thread *read,
                    const struct weir_check_thread *update)
{
    return read->access == WEIR_ACCESS_READ && update->access == WEIR_ACCESS_ATOMIC &&
           has_hint(r, read->ptx_line, update->ptx_line) && !has_hint(r, 0, update->ptx_line);
}

const struct weir_check_threads *weir_races_found(struct weir_races *r, uint32_t *count)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < r->count; i++) {
        const struct weir_check_threads *t = &r->found[i];

        if (!is_hint(r, &t->first, &t->second) && !is_hint(r, &t->second, &t->first))
            r->found[kept++] = *t;
    }
    *count = r->count = kept;
    return r->found;
}

void weir_race_thread(const struct weir_block *b, uint32_t index, uint32_t line,
                      struct weir_check_thread *out)
{
    const uint32_t *shape = b->launch->block;

    *out = (struct weir_check_thread){.ptx_line = line};
    memcpy(out->block, b->ctaid, sizeof out->block);
    out->thread[0] = index % shape[0];
    out->thread[1] = index / shape[0] % shape[1];
    out->thread[2] = index / shape[0] / shape[1];
}

/* ---- pages of global memory ---- */

/* With the lock: memory of Weir's own (blocks' shared and local memory, the device heap) is not
 * judged. */
static struct race_page *page_new(struct weir_races *r, uint64_t number)
{
    uintptr_t begin = (uintptr_t)(number * RACE_PAGE);
    struct weir_mem_info info;
    bool there = weir_mem_find((const void *)begin, &info);
    bool whole = there && info.bytes - (begin - info.base) >= RACE_PAGE;
    bool ignored = whole && info.kind == WEIR_MEM_KIND_INTERNAL;
    size_t bytes =
        sizeof(struct race_page) + (ignored ? 0 : RACE_PAGE / RACE_CELL * sizeof(struct race_cell));
    struct race_page *p = r->bytes + bytes > BYTES_MAX ? NULL : weir_calloc(1, bytes);

    if (!p || !weir_map_put(&r->pages, number, p)) {
        atomic_store(&r->lost, true);
        weir_free(p);
        return NULL;
    }
    r->bytes += bytes;
    p->number = number;
    p->ignored = ignored;
    p->careful = !whole;
    return p;
}

struct race_page *weir_race_page(struct weir_races *r, uint64_t number)
{
    struct race_page *p;

    weir_lock_acquire(&r->lock);
    p = weir_map_get(&r->pages, number);
    if (!p)
        p = page_new(r, number);
    weir_lock_release(&r->lock);
    return p;
}

static bool is_programs(const struct race_page *p, uint64_t address)
{
    struct weir_mem_info info;

    if (!p->careful)
        return !p->ignored;
    return weir_mem_find((const void *)(uintptr_t)address, &info) &&
           info.kind != WEIR_MEM_KIND_INTERNAL;
}

static void global_cell(struct race_access *a)
{
    uint64_t number = a->address / RACE_PAGE;
    struct race_page *p = a->race->last;
    struct weir_lock *lock;
    struct race_cell *c;

    if (!p || p->number != number)
        p = weir_race_page(a->race->launch, number);
    if (!p)
        return;
    a->race->last = p;
    if (!is_programs(p, a->address))
        return;
    lock = weir_race_page_lock(a->race->launch, number);
    weir_lock_acquire(lock);
    c = &p->cells[a->address % RACE_PAGE / RACE_CELL];
    if (!weir_race_is_read(a, c))
        weir_race_cell(a, c);
    weir_lock_release(lock);
}

static void shared_cell(struct race_access *a)
{
    uint64_t at = (a->address - a->base) / RACE_CELL;
    struct race_cell *c = &a->race->cells[at];

    if (at >= a->race->cell_count)
        return;
    if (c->run != a->race->run) {
        memset(c, 0, sizeof *c);
        c->run = a->race->run;
    }
    if (!weir_race_is_read(a, c))
        weir_race_cell(a, c);
}

/* ---- accesses ---- */

/* The bytes of the lane that lie in the cell at `a->address`, as they are stored. */
static void take_value(struct race_access *a, const unsigned char *data, uint32_t size,
                       uint64_t from)
{
    a->value = 0;
    for (unsigned k = 0; k < RACE_CELL; k++) {
        uint64_t at = a->address + k - from; /* of the lane's bytes */
        uint64_t component = at / size;

        if (a->bytes >> k & 1)
            a->value |= (uint32_t)data[(component * 32 + a->lane) * size + at % size] << 8 * k;
    }
}

static void lane_access(struct race_access *a, uint64_t from, uint32_t bytes,
                        const unsigned char *data, uint32_t size)
{
    for (uint64_t at = from & ~(uint64_t)(RACE_CELL - 1); at < from + bytes; at += RACE_CELL) {
        uint32_t lo = (uint32_t)(from > at ? from - at : 0);
        uint32_t hi = (uint32_t)WEIR_MIN(from + bytes - at, (uint64_t)RACE_CELL);

        a->address = at;
        a->bytes = ((1u << hi) - 1) & ~((1u << lo) - 1);
        if (data)
            take_value(a, data, size, from);
        if (a->global)
            global_cell(a);
        else
            shared_cell(a);
    }
}

static bool is_shared(const struct weir_block *b, uint64_t address)
{
    return address - (uint64_t)(uintptr_t)b->shared < b->shared_bytes;
}

/* Destinations of cp.async, until they are waited for. */
static void note_copy(const struct race_access *a, uint64_t to, uint32_t bytes,
                      const unsigned char *data)
{
    struct race_block *r = a->race;
    uint32_t thread = a->block->warp * 32 + a->lane;
    struct race_copy c = {.cell = (uint32_t)((to - a->base) / RACE_CELL),
                          .cells = bytes / RACE_CELL,
                          .thread = thread,
                          .group = r->committed[thread]};

    if (a->global || c.cell + c.cells > r->cell_count) /* it will fail */
        return;
    if (r->late && data && bytes <= sizeof c.bytes)
        weir_race_late_note(&c, a, data);
    if (!weir_vec_push(&r->copies, c))
        atomic_store(&r->launch->lost, true);
}

static struct race_access access_of(struct weir_block *block, uint64_t code)
{
    uint32_t size = WEIR_RACE_SIZE(code);

    return (struct race_access){.block = block,
                                .race = block->races,
                                .kind = WEIR_RACE_KIND(code),
                                .line = WEIR_RACE_LINE(code),
                                .quiet = code & WEIR_RACE_QUIET,
                                .store = code & WEIR_RACE_DATA,
                                .known = code & WEIR_RACE_DATA,
                                .copy = code & WEIR_RACE_COPY,
                                .size = size * WEIR_RACE_COMPS(code)};
}

static void set_space(struct race_access *a, uint64_t address)
{
    a->global = !is_shared(a->block, address);
    a->base = a->global ? 0 : (uint64_t)(uintptr_t)a->block->shared;
}

/* After the accesses themselves: an atomic does not order what it races with. */
static void meet_all(struct race_access *a, uint64_t lanes, const uint64_t *addresses)
{
    for (; lanes; lanes &= lanes - 1) {
        uint64_t address = addresses[__builtin_ctzll(lanes)];

        set_space(a, address);
        weir_race_meet(a, address);
    }
    weir_race_tick(a->race, a->block->warp);
}

void weir_race_access(struct weir_block *block, uint64_t lanes, uint64_t code, const uint64_t *rows)
{
    struct race_block *r = block->races;
    struct race_access a = access_of(block, code);
    const unsigned char *data =
        code & WEIR_RACE_DATA ? (const unsigned char *)rows + WEIR_RACE_DATA_BYTES : NULL;

    if (!r)
        return;
    weir_race_late_hide(r);
    if (a.kind == 2 && !a.quiet)
        weir_race_late_arrive(r, lanes, rows);
    if (code & WEIR_RACE_HANDED) {
        for (uint64_t rest = lanes; rest; rest &= rest - 1) {
            a.lane = (uint32_t)__builtin_ctzll(rest);
            weir_race_handed(r, block->warp, 1u << a.lane, rows[a.lane]);
        }
        return;
    }
    r->now[block->warp].at[block->warp]++;
    for (uint64_t rest = lanes; rest; rest &= rest - 1) {
        a.lane = (uint32_t)__builtin_ctzll(rest);
        set_space(&a, rows[a.lane]);
        lane_access(&a, rows[a.lane], a.size, data, WEIR_RACE_SIZE(code));
        if (a.copy)
            note_copy(&a, rows[a.lane], a.size, data);
    }
    if (a.kind >= 2 || a.practised) {
        a.quiet |= a.practised;
        meet_all(&a, lanes, rows);
    }
}

void weir_race_bulk(struct weir_block *block, uint32_t lane, uint64_t to, uint64_t bytes,
                    uint64_t barrier)
{
    struct race_block *r = block->races;
    struct race_access a = {
        .block = block, .race = r, .kind = 1, .store = true, .copy = true, .lane = lane};

    if (!r || !is_shared(block, to) || !is_shared(block, barrier))
        return;
    set_space(&a, to);
    r->now[block->warp].at[block->warp]++;
    a.size = (uint32_t)bytes;
    lane_access(&a, to, (uint32_t)bytes, NULL, 1);
    r->agent++;
    for (uint64_t at = (to - a.base) / RACE_CELL; at < (to - a.base + bytes) / RACE_CELL; at++) {
        struct race_side *s = &r->cells[at].write;

        s->warp = RACE_AGENT;
        s->clock = r->agent;
        s->lanes = 1u << lane;
        s->flags = RACE_USED;
    }
    weir_race_met(r, false, barrier)->at[RACE_AGENT] = r->agent;
}
