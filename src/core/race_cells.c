/* Two accesses to the same bytes: judged, and the later one noted.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/race_int.h"

#include <string.h>

enum { READ, WRITE, UPDATE, LOOK }; /* weir_kernel_services.touch: kinds */

/* Lanes of one warp have no order from one thing that orders them to the next. What lanes store in
 * one instruction is no race: one of the values stays. A lane that is among those that wrote is not
 * judged. */
static bool is_ordered_in_warp(const struct race_access *a, const struct race_side *s, bool read)
{
    uint32_t w = a->block->warp, me = 1u << a->lane;

    if (s->clock < a->race->since[w])
        return true;
    return read ? s->lanes == me : s->clock == a->race->now[w].at[w] || s->lanes & me;
}

/* Is what the side did before this access, by anything that may order them? Between blocks only
 * atomics and the like do; whether they did is not known: a block that may have learned of any
 * other is not judged. */
static bool is_ordered(const struct race_access *a, const struct race_side *s, bool read)
{
    uint32_t w = a->block->warp;

    if (s->block != weir_race_own_block(a))
        return s->flags & RACE_LEARNED || a->race->learned;
    if (s->warp == w)
        return is_ordered_in_warp(a, s, read);
    return s->clock <= a->race->now[w].at[s->warp];
}

static uint32_t bits_of(uint32_t bytes)
{
    uint32_t m = 0;

    for (unsigned k = 0; k < RACE_CELL; k++)
        if (bytes >> k & 1)
            m |= 0xffu << 8 * k;
    return m;
}

/* Does it store what is there already? */
static bool has_same_value(const struct race_access *a, const struct race_cell *c)
{
    return a->known && !(a->bytes & ~c->known) && ((a->value ^ c->value) & bits_of(a->bytes)) == 0;
}

/* ---- findings ---- */

static enum weir_access access_of(uint32_t kind)
{
    return kind == READ || kind == LOOK ? WEIR_ACCESS_READ
           : kind == WRITE              ? WEIR_ACCESS_WRITE
                                        : WEIR_ACCESS_ATOMIC;
}

/* One of the side's threads, and another than the accessing one where there is one. */
static uint32_t thread_of(const struct race_access *a, const struct race_side *s)
{
    uint32_t warp = s->warp == RACE_AGENT ? 0 : s->warp, lanes = s->lanes;

    if (s->block == weir_race_own_block(a) && warp == a->block->warp && lanes & ~(1u << a->lane))
        lanes &= ~(1u << a->lane);
    return warp * 32 + (uint32_t)__builtin_ctz(lanes);
}

static void found(const struct race_access *a, const struct race_side *s, bool read,
                  enum weir_check_threads_kind kind)
{
    struct weir_check_threads t = {.kind = kind, .shared = !a->global, .threads = a->race->threads};
    const struct weir_launch *l = a->block->launch;
    uint64_t block = s->block ? s->block - 1 : 0;

    weir_race_thread(a->block, thread_of(a, s), s->line, &t.first);
    weir_race_thread(a->block, a->block->warp * 32 + a->lane, a->line, &t.second);
    if (a->global) {
        t.first.block[0] = (uint32_t)(block % l->grid[0]);
        t.first.block[1] = (uint32_t)(block / l->grid[0] % l->grid[1]);
        t.first.block[2] = (uint32_t)(block / l->grid[0] / l->grid[1]);
    }
    t.first.access = read                     ? WEIR_ACCESS_READ
                     : s->flags & RACE_ATOMIC ? WEIR_ACCESS_ATOMIC
                                              : WEIR_ACCESS_WRITE;
    t.second.access = a->store ? WEIR_ACCESS_WRITE : access_of(a->kind);
    t.first.address = t.second.address = a->address - a->base + (uint32_t)__builtin_ctz(a->bytes);
    t.first.bytes = (uint32_t)__builtin_popcount(s->bytes);
    t.second.bytes = a->size;
    weir_race_add(a->race->launch, &t);
}

/* ---- judging ---- */

/* A thread whose warp updates the cell by atomics stores there as one that knows what it does: the
 * end of a critical section, a counter that is set back. */
static bool is_practised(const struct race_access *a, const struct race_cell *c)
{
    return c->atomics >> a->block->warp & 1;
}

static bool meets_write(struct race_access *a, struct race_cell *c)
{
    bool plain = !(c->write.flags & RACE_SAME);

    switch (a->kind) {
    case READ:
        return plain;
    case LOOK: /* of global memory: a thread that polls */
        return plain && !a->global;
    case UPDATE:
        return plain && !(a->store && a->global);
    default:
        return plain && !is_practised(a, c) && !has_same_value(a, c);
    }
}

static bool meets(const struct race_access *a, const struct race_side *s)
{
    return s->flags & RACE_USED && s->bytes & a->bytes;
}

static void judge_write(struct race_access *a, struct race_cell *c)
{
    const struct race_side *s = &c->write;

    if (!meets(a, s))
        return;
    if (s->flags & RACE_PENDING) {
        if (s->block == weir_race_own_block(a))
            found(a, s, false, WEIR_THREADS_UNFINISHED);
        return;
    }
    if (!is_ordered(a, s, false) && meets_write(a, c))
        found(a, s, false, s->warp == RACE_AGENT ? WEIR_THREADS_UNFINISHED : WEIR_THREADS_RACE);
}

/* A plain access and an update. Of global memory a read that has no order with it is common where
 * any value does (a bound that only falls, work that is repeated until nothing changes), and gives
 * a note. */
static enum weir_check_threads_kind beside_update(const struct race_access *a, bool read)
{
    return read && a->global ? WEIR_THREADS_BESIDE : WEIR_THREADS_RACE;
}

static void judge_update(struct race_access *a, struct race_cell *c)
{
    bool read = a->kind == READ;

    if (!(read || a->kind == WRITE) || !meets(a, &c->update) || is_ordered(a, &c->update, false))
        return;
    if (read || (!is_practised(a, c) && !has_same_value(a, c)))
        found(a, &c->update, false, beside_update(a, read));
}

/* A thread that always reads before it updates has only looked if it has to: at a bound that it may
 * not change, at the value that a compare-and-swap expects. */
static void note_hint(const struct race_access *a, const struct race_cell *c)
{
    unsigned others = 0;
    uint32_t line = 0;

    for (unsigned k = 0; k < 2; k++) {
        const struct race_side *s = &c->read[k];

        if (!(s->flags & RACE_USED))
            continue;
        if (s->block != weir_race_own_block(a) || s->warp != a->block->warp)
            others++;
        else if (meets(a, s) && !(s->flags & RACE_ATOMIC) && s->lanes >> a->lane & 1)
            line = s->line;
    }
    if (line || others < 2) /* else its read may have been forgotten */
        weir_race_hint(a->race, line, a->line);
}

static void judge_reads(struct race_access *a, struct race_cell *c)
{
    bool update = a->kind == UPDATE;

    if (!(update || a->kind == WRITE) || (!update && is_practised(a, c)) || has_same_value(a, c))
        return;
    for (unsigned k = 0; k < 2; k++) {
        const struct race_side *s = &c->read[k];

        if (!meets(a, s) || (update && s->flags & RACE_ATOMIC) || is_ordered(a, s, true))
            continue;
        found(a, s, true, update ? beside_update(a, true) : WEIR_THREADS_RACE);
        return;
    }
}

/* ---- noting ---- */

static struct race_side side_of(const struct race_access *a, uint8_t flags)
{
    uint32_t w = a->block->warp;

    return (struct race_side){
        .block = weir_race_own_block(a),
        .clock = a->race->now[w].at[w],
        .lanes = 1u << a->lane,
        .line = a->line,
        .warp = (uint8_t)w,
        .bytes = (uint8_t)a->bytes,
        .flags = (uint8_t)(flags | RACE_USED | (a->race->learned ? RACE_LEARNED : 0))};
}

static bool is_of_warp(const struct race_side *a, const struct race_side *b)
{
    return a->block == b->block && a->warp == b->warp;
}

/* By the same warp with nothing in between: one side has both. */
static bool add_to(const struct race_access *a, struct race_side *to, const struct race_side *s)
{
    if (!is_of_warp(to, s) || to->clock < a->race->since[s->warp] || to->flags != s->flags)
        return false;
    to->clock = s->clock;
    to->lanes |= s->lanes;
    to->bytes |= s->bytes;
    to->line = s->line;
    return true;
}

static void note_read(struct race_access *a, struct race_cell *c)
{
    struct race_side s = side_of(a, a->kind == LOOK ? RACE_ATOMIC : 0);

    for (unsigned k = 0; k < 2; k++) {
        if (c->read[k].bytes == s.bytes && add_to(a, &c->read[k], &s))
            return;
        if (c->read[k].flags && is_of_warp(&c->read[k], &s)) {
            c->read[k] = s;
            return;
        }
    }
    c->read[1] = c->read[0];
    c->read[0] = s;
}

static void note_value(const struct race_access *a, struct race_cell *c)
{
    uint32_t bits = bits_of(a->bytes);

    c->value = (c->value & ~bits) | (a->value & bits);
    c->known = a->known ? c->known | a->bytes : c->known & ~a->bytes;
}

static void note_in(const struct race_access *a, struct race_side *to, uint8_t flags)
{
    struct race_side s = side_of(a, flags);

    if (!add_to(a, to, &s))
        *to = s;
}

static void note_update(struct race_access *a, struct race_cell *c)
{
    c->atomics |= 1u << a->block->warp;
    note_in(a, &c->update, RACE_ATOMIC);
    note_value(a, c);
}

static void note_write(struct race_access *a, struct race_cell *c)
{
    const struct race_side *old = &c->write;
    bool again = old->flags & RACE_USED && !a->copy && !(old->flags & RACE_PENDING) &&
                 has_same_value(a, c) &&
                 !(old->block == weir_race_own_block(a) && old->warp == a->block->warp) &&
                 !is_ordered(a, old, false);

    note_in(a, &c->write, (uint8_t)((a->copy ? RACE_PENDING : 0) | (again ? RACE_SAME : 0)));
    note_value(a, c);
}

void weir_race_cell(struct race_access *a, struct race_cell *c)
{
    judge_write(a, c);
    judge_update(a, c);
    judge_reads(a, c);
    if (a->kind == READ || (a->kind == LOOK && !a->global)) {
        note_read(a, c);
    } else if (a->kind == UPDATE) {
        note_hint(a, c);
        note_update(a, c);
    } else if (a->kind == WRITE && !a->copy && is_practised(a, c)) {
        a->practised = true;
        note_update(a, c);
    } else if (a->kind == WRITE) {
        note_write(a, c);
    }
}
