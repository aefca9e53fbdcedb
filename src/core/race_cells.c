/* Two accesses to the same bytes: judged, and the later one noted.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/race_int.h"

#include <string.h>

enum { READ, WRITE, UPDATE, LOOK }; /* weir_kernel_services.touch: kinds */

static uint32_t own_block(const struct race_access *a)
{
    return a->global ? a->race->number : 0;
}

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

    if (s->block != own_block(a))
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

static bool has_same_value(const struct race_access *a, const struct race_cell *c)
{
    return a->known && c->write.flags & RACE_KNOWN && !(a->bytes & ~(uint32_t)c->write.bytes) &&
           ((a->value ^ c->value) & bits_of(a->bytes)) == 0;
}

/* ---- findings ---- */

static enum weir_access access_of(uint32_t kind)
{
    return kind == READ || kind == LOOK ? WEIR_ACCESS_READ
           : kind == WRITE              ? WEIR_ACCESS_WRITE
                                        : WEIR_ACCESS_ATOMIC;
}

static void found(const struct race_access *a, const struct race_side *s, bool read,
                  enum weir_check_threads_kind kind)
{
    struct weir_check_threads t = {.kind = kind, .shared = !a->global, .threads = a->race->threads};
    uint32_t lanes = s->lanes, warp = s->warp == RACE_AGENT ? 0 : s->warp;
    const struct weir_launch *l = a->block->launch;
    uint64_t block = s->block ? s->block - 1 : 0;

    weir_race_thread(a->block, warp * 32 + (uint32_t)__builtin_ctz(lanes), s->line, &t.first);
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
    const struct race_side *s = &c->write;
    bool plain = !(s->flags & (RACE_ATOMIC | RACE_SAME));

    switch (a->kind) {
    case READ:
        return plain;
    case LOOK: /* of global memory: a thread that polls */
        return plain && !a->global;
    case UPDATE:
        return plain && !(a->store && a->global);
    default:
        return !is_practised(a, c) && !(s->flags & RACE_SAME) && !has_same_value(a, c);
    }
}

static void judge_write(struct race_access *a, struct race_cell *c)
{
    const struct race_side *s = &c->write;

    if (!(s->flags & RACE_USED) || !(s->bytes & a->bytes))
        return;
    if (s->flags & RACE_PENDING) {
        if (s->block == own_block(a))
            found(a, s, false, WEIR_THREADS_UNFINISHED);
        return;
    }
    if (!is_ordered(a, s, false) && meets_write(a, c))
        found(a, s, false, s->warp == RACE_AGENT ? WEIR_THREADS_UNFINISHED : WEIR_THREADS_RACE);
}

static void judge_reads(struct race_access *a, struct race_cell *c)
{
    if (a->kind != WRITE || is_practised(a, c) || has_same_value(a, c))
        return;
    for (unsigned k = 0; k < 2; k++) {
        const struct race_side *s = &c->read[k];

        if (!(s->flags & RACE_USED) || !(s->bytes & a->bytes) || is_ordered(a, s, true))
            continue;
        found(a, s, true, WEIR_THREADS_RACE);
        return;
    }
}

/* ---- noting ---- */

static struct race_side side_of(const struct race_access *a, uint8_t flags)
{
    uint32_t w = a->block->warp;

    return (struct race_side){
        .block = own_block(a),
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
    struct race_side s = side_of(a, 0);

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

static void note_write(struct race_access *a, struct race_cell *c)
{
    bool update = a->kind == UPDATE, practised = is_practised(a, c);
    uint8_t flags = (uint8_t)((update || practised ? RACE_ATOMIC : 0) |
                              (a->copy ? RACE_PENDING : 0) | (a->known ? RACE_KNOWN : 0));
    struct race_side s = side_of(a, flags);
    uint32_t bits = bits_of(a->bytes);
    bool again = c->write.flags & RACE_USED && a->kind == WRITE && !a->copy &&
                 !(c->write.flags & (RACE_ATOMIC | RACE_PENDING)) && has_same_value(a, c) &&
                 !is_of_warp(&c->write, &s) && !is_ordered(a, &c->write, false);

    a->practised |= practised && !update;
    c->value = (c->value & ~bits) | (a->value & bits);
    if (update)
        c->atomics |= 1u << a->block->warp;
    if (again)
        s.flags |= RACE_SAME;
    if (!add_to(a, &c->write, &s))
        c->write = s;
}

void weir_race_cell(struct race_access *a, struct race_cell *c)
{
    judge_write(a, c);
    judge_reads(a, c);
    if (a->kind == READ || (a->kind == LOOK && !a->global))
        note_read(a, c);
    else if (a->kind != LOOK)
        note_write(a, c);
}
