/* Findings: collected while the program runs, the same ones counted.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "check/check_int.h"
#include "check/tally.h"

#define FINDINGS_MAX 1000 /* further ones are only counted */

#define LEVEL_HAZARD WEIR_CHECK_HAZARD
#define LEVEL_NOTE   WEIR_CHECK_NOTE
const struct weir_check_kind weir_check_kinds[WEIR_FOUND_KINDS] = {
#define KIND(name, word, level, text) {word, LEVEL_##level, text},
#include "check/kinds.def"
#undef KIND
};

struct weir_check_side weir_check_side_of(const struct weir_actor *a, enum weir_access access)
{
    const struct weir_check_detail *d = a->detail;

    return (struct weir_check_side){
        .used = true, .op = *d, .stream = weir_checker.streams.items[d->lane], .access = access};
}

struct weir_check_side weir_check_side_call(struct weir_check_site at, const char *what)
{
    return (struct weir_check_side){.used = true, .no_access = true, .what = what, .op.site = at};
}

/* ---- the same ones ---- */

static bool same_side(const struct weir_check_side *a, const struct weir_check_side *b)
{
    return a->op.kind == b->op.kind && a->op.name == b->op.name && a->what == b->what &&
           a->op.site.address == b->op.site.address;
}

static bool same(const struct weir_check_finding *a, const struct weir_check_finding *b)
{
    return a->kind == b->kind && a->policy == b->policy && a->place == b->place &&
           a->block.site.address == b->block.site.address &&
           ((same_side(&a->a, &b->a) && same_side(&a->b, &b->b)) ||
            (same_side(&a->a, &b->b) && same_side(&a->b, &b->a)));
}

/* The block that holds the address; the blocks are few where this is asked, for findings only. */
struct weir_check_block weir_check_block_of(uintptr_t address)
{
    uintptr_t known = weir_shadow_known(&weir_checker.shadow, address);
    struct weir_check_block found = {0};
    uint64_t key;
    size_t pos = 0;
    void *value;

    while (weir_map_next(&weir_checker.blocks, &pos, &key, &value)) {
        const struct weir_check_block *b = value;

        if (known - b->begin < b->bytes) {
            found = *b;
            found.begin += address - known; /* mapped memory: where it would begin */
            break;
        }
    }
    return found;
}

/* An access in pieces, page by page, is one, and its range that of all pieces. */
static void met_again(struct weir_check_finding *known, const struct weir_check_finding *f)
{
    bool pair = f->a.used && f->b.used && f->a.op.number && f->a.op.number == known->last[0] &&
                f->b.op.number == known->last[1];

    known->times += !pair;
    known->last[0] = f->a.op.number;
    known->last[1] = f->b.op.number;
    if (f->begin != f->end && f->block.begin == known->block.begin && known->block.bytes) {
        known->begin = WEIR_MIN(known->begin, f->begin);
        known->end = WEIR_MAX(known->end, f->end);
    }
}

void weir_check_found(struct weir_check_finding *f,
                      void (*explain)(struct weir_check_finding *f, void *arg), void *arg)
{
    struct checker *c = &weir_checker;
    void (*told)(void) = atomic_load_explicit(&c->on_found, memory_order_relaxed);
    bool hazard = weir_check_kinds[f->kind].level == WEIR_CHECK_HAZARD;

    if (c->kept.alone)
        return;
    if (!f->block.bytes && f->begin != f->end)
        f->block = weir_check_block_of(f->begin);
    f->times = 1;
    for (size_t i = 0; i < c->findings.count; i++) {
        if (same(&c->findings.items[i], f)) {
            met_again(&c->findings.items[i], f);
            return;
        }
    }
    f->last[0] = f->a.op.number;
    f->last[1] = f->b.op.number;
    if (explain)
        explain(f, arg);
    if (hazard)
        weir_tally_found();
    if (c->findings.count >= FINDINGS_MAX || !weir_vec_push(&c->findings, *f))
        weir_check_lost_locked();
    else if (told && hazard)
        told();
}

/* ---- of accesses ---- */

/* Memory that is allocated or freed in a stream's order is told apart. b was submitted later. */
static enum weir_check_finding_kind race_kind(enum weir_op_kind a, enum weir_op_kind b)
{
    /* (What is given away again was freed.) */
    if (a == WEIR_OP_FREE || b == WEIR_OP_FREE || b == WEIR_OP_ALLOC)
        return WEIR_FOUND_USE_AFTER_FREE;
    if (a == WEIR_OP_ALLOC)
        return WEIR_FOUND_USE_BEFORE_ALLOC;
    return WEIR_FOUND_RACE;
}

/* By a wait for a value whose writer nobody knows: that is no verdict. */
static bool may_be_ordered(const struct weir_order_stamp *a, const struct weir_order_stamp *b)
{
    const struct weir_order *o = &weir_checker.order;

    return weir_order_may_be_before(o, a, b) || weir_order_may_be_before(o, b, a);
}

void weir_check_raced(void *ctx, const struct weir_race *race)
{
    struct weir_race r = *race;
    struct weir_check_finding f = {.a = weir_check_side_of(race->before, race->before_kind),
                                   .b = weir_check_side_of(race->now, race->now_kind),
                                   .begin = race->begin,
                                   .end = race->end};

    (void)ctx;
    if (race->before->host || race->now->host) {
        weir_check_suspect(race);
        return;
    }
    if (may_be_ordered(&race->before->stamp, &race->now->stamp))
        return;
    if (f.b.op.number < f.a.op.number) { /* as they were submitted */
        struct weir_check_side later = f.a;

        f.a = f.b;
        f.b = later;
        r.before = race->now;
        r.now = race->before;
    }
    f.kind = race_kind(f.a.op.kind, f.b.op.kind);
    weir_check_found(&f, weir_check_explain_race, &r);
}

void weir_check_still_used(struct weir_actor *a, enum weir_access kind, uintptr_t begin,
                           uintptr_t end, struct weir_check_site by)
{
    struct weir_check_finding f = {.kind = WEIR_FOUND_LIFETIME,
                                   .a = weir_check_side_of(a, kind),
                                   .b = weir_check_side_call(by, "the call that frees it"),
                                   .begin = begin,
                                   .end = end};

    f.why = (struct weir_check_say){
        .format = "the host has waited for nothing that comes after that operation, and no "
                  "document says that {c1} waits (ORD-080)",
        .sites[0] = by};
    f.change = (struct weir_check_say){
        .format = "synchronise with the operation's stream, or with an event recorded behind it, "
                  "before {c1} at {1}",
        .sites[0] = by};
    weir_check_found(&f, NULL, NULL);
}

static bool still_used(void *ctx, struct weir_actor *a, enum weir_access kind, uintptr_t begin,
                       uintptr_t end)
{
    const struct weir_check_site *by = ctx;

    weir_check_still_used(a, kind, begin, end, *by);
    return false; /* one is enough */
}

void weir_check_freed(const void *p, size_t bytes, struct weir_check_site by)
{
    weir_shadow_unfinished(&weir_checker.shadow, (uintptr_t)p, (uintptr_t)p + bytes, still_used,
                           &by);
}
