/* --late-async: copies to shared memory land as late as PTX allows, so that who reads too early has
 * what was there before. A cp.async lands when its thread waits for its group, or hands it to a
 * barrier object; a bulk copy when somebody tests the barrier object. The code makes a cp.async by
 * a store, right after the call that tells of it: the store is taken back at the next call, which
 * every access makes first.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "check/check.h"
#include "core/bulk.h"
#include "core/race_int.h"

void weir_race_late_begin(struct race_block *r, const struct weir_block *b)
{
    r->late = weir_check_wants_late_async();
    r->shared = b->shared;
    r->bulks.count = 0;
    r->fresh = 0;
}

/* ---- cp.async ---- */

static char *place_of(const struct race_block *r, const struct race_copy *c)
{
    return r->shared + (size_t)c->cell * RACE_CELL;
}

void weir_race_late_note(struct race_copy *c, const struct race_access *a,
                         const unsigned char *data)
{
    memcpy(c->before, place_of(a->race, c), (size_t)c->cells * RACE_CELL);
    for (uint32_t k = 0; k < c->cells; k++)
        memcpy(c->bytes + (size_t)k * RACE_CELL, data + ((size_t)k * 32 + a->lane) * RACE_CELL,
               RACE_CELL);
}

void weir_race_late_hide_fresh(struct race_block *r)
{
    for (; r->fresh < r->copies.count; r->fresh++) {
        const struct race_copy *c = &r->copies.items[r->fresh];

        if (r->late)
            memcpy(place_of(r, c), c->before, (size_t)c->cells * RACE_CELL);
    }
}

void weir_race_late_land(const struct race_block *r, const struct race_copy *c)
{
    if (r->late)
        memcpy(place_of(r, c), c->bytes, (size_t)c->cells * RACE_CELL);
}

void weir_race_reads_shared(struct weir_block *block)
{
    struct race_block *r = block->races;

    if (r)
        weir_race_late_hide(r);
}

/* ---- bulk copies ---- */

static bool is_own(const struct weir_block *b, uint64_t address)
{
    return address - (uint64_t)(uintptr_t)b->shared < b->shared_bytes;
}

bool weir_race_bulk_late(struct weir_block *block, uint64_t to, uint64_t from, uint64_t bytes,
                         uint64_t barrier)
{
    struct race_block *r = block->races;
    struct race_bulk late = {to, from, bytes, barrier};

    return r->late && is_own(block, to) && is_own(block, barrier) && weir_vec_push(&r->bulks, late);
}

static void bulk_land(struct race_block *r, uint64_t object)
{
    size_t kept = 0;

    for (size_t i = 0; i < r->bulks.count; i++) {
        const struct race_bulk *b = &r->bulks.items[i];

        if (b->barrier != object) {
            r->bulks.items[kept++] = *b;
            continue;
        }
        memmove((void *)(uintptr_t)b->to, (const void *)(uintptr_t)b->from, b->bytes);
        weir_bulk_complete(b->barrier, b->bytes);
    }
    r->bulks.count = kept;
}

void weir_race_late_arrive(struct race_block *r, uint64_t lanes, const uint64_t *objects)
{
    for (; r->bulks.count && lanes; lanes &= lanes - 1)
        bulk_land(r, objects[__builtin_ctzll(lanes)]);
}
