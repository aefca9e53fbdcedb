/* Tests of check/shadow: random operations with random accesses, in a random order of time that
 * respects their order, against every pair of accesses compared byte by byte.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "check/shadow.h"
#include "support/random.h"

enum { LANES = 4, OPS = 24, ACCESSES = 64, BYTES = 3 * 4096, BASE = 7 * 4096 };
/* Accesses to whole blocks: page and block boundaries at small numbers. */
enum { BLOCK = 256 << 10, BIG_BASE = 5 * BLOCK, BIG_BYTES = 3 * BLOCK, BIG_ROUNDS = 150 };

struct access {
    int op;
    enum weir_access kind;
    unsigned begin, width, height, pitch;
};

static struct {
    struct weir_order order;
    struct weir_shadow shadow;
    struct weir_actor *actor[OPS];
    struct access access[ACCESSES];
    int count;
    bool told[ACCESSES]; /* the shadow reported a race at this access */
    int at;
    uint64_t rng;
    int actors;
} t;

static uint32_t rnd(uint32_t below)
{
    return random_next(&t.rng) % below;
}

static bool touches(const struct access *a, unsigned byte)
{
    if (byte < a->begin || byte >= a->begin + (a->height - 1) * a->pitch + a->width)
        return false;
    return (byte - a->begin) % a->pitch < a->width;
}

static bool conflict(const struct access *a, const struct access *b)
{
    static const bool table[3][3] = {{false, true, true}, {true, false, true}, {true, true, true}};

    return table[a->kind][b->kind] && a->op != b->op &&
           !weir_actor_before(t.actor[a->op], t.actor[b->op]) &&
           !weir_actor_before(t.actor[b->op], t.actor[a->op]);
}

/* Is a race reported between these two, at these bytes, one? */
static void raced(void *ctx, const struct weir_race *r)
{
    const struct access *now = &t.access[t.at];
    bool found = false;

    (void)ctx;
    assert_ptr_equal(r->now, t.actor[now->op]);
    assert_int_equal(r->now_kind, now->kind);
    for (int i = 0; i < t.at; i++) {
        const struct access *old = &t.access[i];
        bool same = t.actor[old->op] == r->before && old->kind == r->before_kind;

        if (same && touches(old, (unsigned)(r->begin - BASE)) && conflict(old, now))
            found = true;
    }
    assert_true(found);
    for (uintptr_t x = r->begin; x < r->end; x++)
        assert_true(touches(now, (unsigned)(x - BASE)));
    t.told[t.at] = true;
}

static void gone(void *ctx, struct weir_actor *a)
{
    (void)ctx;
    (void)a;
    t.actors--;
}

static void begin(bool graph)
{
    static const struct weir_model_memory memory = {weir_alloc_for, weir_free_for, NULL};
    uint64_t rng = t.rng;

    memset(&t, 0, sizeof t);
    t.rng = rng;
    weir_order_init(&t.order, &memory);
    weir_shadow_init(&t.shadow, &t.order);
    t.shadow.race = raced;
    t.shadow.gone = gone;
    for (uint32_t l = 1; l <= LANES; l++)
        weir_order_lane_begin(&t.order, l, 0, WEIR_STREAM_NONBLOCKING);
    for (int i = 0; i < OPS; i++) {
        struct weir_order_stamp stamp, after = {0};

        if (i && rnd(3) == 0)
            weir_order_stamp_copy(&after, &t.actor[rnd((uint32_t)i)]->stamp);
        weir_order_submit_after(&t.order, 1 + rnd(LANES), &after, 1, &stamp);
        weir_order_stamp_drop(&t.order, &after);
        t.actor[i] = weir_actor_create(&t.shadow, &stamp);
        assert_non_null(t.actor[i]);
        t.actors++;
    }
    if (!graph)
        return;
    /* The first 8 become nodes of one launch: a chain of the even ones, the odd ones free. */
    for (int i = 0; i < 8; i++) {
        struct weir_actor *a = t.actor[i];
        struct weir_reach *r = i ? t.actor[0]->reach : weir_calloc(1, sizeof *r + 8 * 8);

        weir_order_stamp_drop(&t.order, &a->stamp);
        if (!i) {
            *r = (struct weir_reach){.nodes = 8, .words = 1};
            for (int k = 0; k < 8; k += 2) {
                for (int m = k + 2; m < 8; m += 2)
                    r->bits[k] |= 1ull << m;
            }
            weir_order_submit(&t.order, 1, &a->stamp);
        } else {
            weir_order_stamp_copy(&a->stamp, &t.actor[0]->stamp);
        }
        r->refs++;
        a->reach = r;
        a->node = (uint32_t)i;
    }
}

static void choose_accesses(void)
{
    int times[OPS], done = 0;

    /* An order of time: repeatedly one of the operations whose predecessors are gone. */
    bool gone_by[OPS] = {0};

    while (done < OPS) {
        int pick = (int)rnd(OPS);
        bool free = !gone_by[pick];

        for (int i = 0; i < OPS && free; i++)
            free = gone_by[i] || i == pick || !weir_actor_before(t.actor[i], t.actor[pick]);
        if (!free)
            continue;
        gone_by[pick] = true;
        times[done++] = pick;
    }
    for (int i = 0; i < OPS && t.count < ACCESSES; i++) {
        for (uint32_t n = rnd(4); n > 0 && t.count < ACCESSES; n--) {
            struct access *a = &t.access[t.count++];

            *a = (struct access){.op = times[i], .kind = (enum weir_access)rnd(3), .height = 1};
            if (rnd(3)) { /* small numbers, so that things meet */
                a->begin = rnd(4) * 1000 + rnd(64);
                a->width = 1 + rnd(rnd(2) ? 64 : 3000);
                a->pitch = a->width;
            } else {
                a->begin = rnd(2000);
                a->width = 1 + rnd(40);
                a->pitch = a->width + rnd(100);
                a->height = 1 + rnd(40);
            }
        }
    }
}

/* In one of the two ways. */
static void make_access(const struct access *a)
{
    uint64_t bits[BYTES / 4096][WEIR_SHADOW_PAGE_WORDS] = {0};

    if (rnd(2)) {
        weir_shadow_access_rows(&t.shadow, t.actor[a->op], a->kind, BASE + a->begin, a->width,
                                a->height, a->pitch);
        return;
    }
    for (unsigned x = 0; x < BYTES; x++) {
        if (touches(a, x))
            bits[x / 4096][x % 4096 / 64] |= 1ull << (x % 64);
    }
    for (unsigned p = 0; p < BYTES / 4096; p++)
        weir_shadow_access_bits(&t.shadow, t.actor[a->op], a->kind, BASE / 4096 + p, bits[p]);
}

static bool races(int now)
{
    for (int i = 0; i < now; i++) {
        if (!conflict(&t.access[i], &t.access[now]))
            continue;
        for (unsigned x = 0; x < BYTES; x++) {
            if (touches(&t.access[i], x) && touches(&t.access[now], x))
                return true;
        }
    }
    return false;
}

static void end(void)
{
    for (int i = 0; i < OPS; i++)
        weir_actor_drop(&t.shadow, t.actor[i]);
    weir_shadow_finish(&t.shadow);
    assert_int_equal(t.actors, 0);
    assert_int_equal(t.shadow.bytes, 0);
    weir_order_finish(&t.order);
}

static void every_race_is_told_and_nothing_else(void **state)
{
    int found = 0, all = 0;

    (void)state;
    t.rng = 1;
    for (int round = 0; round < 400; round++) {
        begin(round % 3 == 0);
        choose_accesses();
        for (t.at = 0; t.at < t.count; t.at++) {
            const struct access *a = &t.access[t.at];

            make_access(a);
            assert_int_equal(t.told[t.at], races(t.at));
            found += t.told[t.at];
            all++;
        }
        assert_false(t.shadow.failed);
        end();
    }
    assert_in_range(found, all / 20,
                    all * 9 / 10); /* the programs are neither all right nor none */
}

/* ---- blocks ---- */

static void raced_big(void *ctx, const struct weir_race *r)
{
    const struct access *now = &t.access[t.at];
    bool found = false;

    (void)ctx;
    assert_ptr_equal(r->now, t.actor[now->op]);
    assert_in_range(r->begin, BIG_BASE + now->begin, BIG_BASE + now->begin + now->width - 1);
    assert_in_range(r->end, r->begin + 1, BIG_BASE + now->begin + now->width);
    for (int i = 0; i < t.at; i++) {
        const struct access *old = &t.access[i];

        found |= t.actor[old->op] == r->before && old->kind == r->before_kind &&
                 conflict(old, now) && r->begin >= BIG_BASE + old->begin &&
                 r->begin < BIG_BASE + old->begin + old->width;
    }
    assert_true(found);
    t.told[t.at] = true;
}

static bool races_big(int now)
{
    const struct access *n = &t.access[now];

    for (int i = 0; i < now; i++) {
        const struct access *o = &t.access[i];

        if (conflict(o, n) && o->begin < n->begin + n->width && n->begin < o->begin + o->width)
            return true;
    }
    return false;
}

/* Mostly ends of blocks, some of pages, some anywhere. */
static unsigned place(void)
{
    switch (rnd(6)) {
    case 0:
        return rnd(BIG_BYTES / 4096 + 1) * 4096;
    case 1:
        return rnd(BIG_BYTES + 1);
    default:
        return rnd(BIG_BYTES / BLOCK + 1) * BLOCK;
    }
}

static void blocks_are_as_their_pages(void **state)
{
    (void)state;
    t.rng = 2;
    for (int round = 0; round < BIG_ROUNDS; round++) {
        begin(round % 3 == 0);
        t.shadow.race = raced_big;
        choose_accesses();
        for (t.at = 0; t.at < t.count; t.at++) {
            struct access *a = &t.access[t.at];
            unsigned p = place(), q = place();

            a->begin = WEIR_MIN(p, q);
            a->width = WEIR_MAX(p, q) - a->begin;
            if (!a->width)
                a->width = 1, a->begin -= a->begin == BIG_BYTES;
            a->height = 1;
            weir_shadow_access(&t.shadow, t.actor[a->op], a->kind, BIG_BASE + a->begin,
                               BIG_BASE + a->begin + a->width);
            assert_int_equal(t.told[t.at], races_big(t.at));
        }
        assert_false(t.shadow.failed);
        end();
    }
}

/* What one operation writes whole takes no more memory than a mark for each block. */
static void whole_blocks_are_small(void **state)
{
    struct weir_order_stamp stamp;
    struct weir_actor *last;
    size_t bytes;

    (void)state;
    begin(false);
    t.shadow.race = NULL;
    weir_shadow_access(&t.shadow, t.actor[0], WEIR_ACCESS_WRITE, BIG_BASE, BIG_BASE + BIG_BYTES);
    bytes = t.shadow.bytes;
    assert_in_range(bytes, 1, 3 * 1024);
    weir_shadow_access(&t.shadow, t.actor[0], WEIR_ACCESS_READ, BIG_BASE + 5, BIG_BASE + 6);
    assert_true(t.shadow.bytes > bytes);
    weir_shadow_access(&t.shadow, t.actor[0], WEIR_ACCESS_WRITE, BIG_BASE, BIG_BASE + BIG_BYTES);
    for (int i = 1; i < OPS; i++)
        weir_shadow_access(&t.shadow, t.actor[i], WEIR_ACCESS_READ, BIG_BASE + 4096,
                           BIG_BASE + 5000);
    for (uint32_t l = 1; l <= LANES; l++)
        weir_order_host_saw_lane(&t.order, l);
    weir_order_submit(&t.order, 1, &stamp); /* after all of them */
    last = weir_actor_create(&t.shadow, &stamp);
    t.actors++;
    weir_shadow_access(&t.shadow, last, WEIR_ACCESS_WRITE, BIG_BASE, BIG_BASE + BIG_BYTES);
    weir_actor_drop(&t.shadow, last);
    assert_in_range(t.shadow.bytes, 1, 3 * 1024);
    end();
}

static bool count_one(void *ctx, struct weir_actor *a, enum weir_access kind, uintptr_t begin,
                      uintptr_t end)
{
    (void)a;
    (void)kind;
    assert_in_range(begin, BASE, BASE + BYTES);
    assert_in_range(end, begin + 1, BASE + BYTES);
    ++*(int *)ctx;
    return true;
}

static void what_the_host_knows_is_not_unfinished_and_can_be_forgotten(void **state)
{
    struct weir_clock *known;
    int n = 0;

    (void)state;
    begin(false);
    t.shadow.race = NULL;
    for (int i = 0; i < OPS; i++)
        weir_shadow_access(&t.shadow, t.actor[i], WEIR_ACCESS_READ, BASE + 100, BASE + 200);
    weir_shadow_unfinished(&t.shadow, BASE, BASE + 100, count_one, &n);
    assert_int_equal(n, 0);
    weir_shadow_unfinished(&t.shadow, BASE + 150, BASE + 151, count_one, &n);
    assert_true(n >= 1);
    for (uint32_t l = 1; l <= LANES; l++)
        weir_order_host_saw_lane(&t.order, l);
    n = 0;
    weir_shadow_unfinished(&t.shadow, BASE, BASE + BYTES, count_one, &n);
    assert_int_equal(n, 0);
    known = weir_order_host_clock(&t.order);
    weir_shadow_settle(&t.shadow, known);
    weir_order_clock_drop(&t.order, known);
    end();
}

/* Writes all of a page when it is submitted, before what is in front of it in its lane has run. */
static struct weir_actor *write_at_once(uint32_t lane, bool in_lane)
{
    struct weir_order_stamp stamp;
    struct weir_actor *a;

    weir_order_submit(&t.order, lane, &stamp);
    a = weir_actor_create(&t.shadow, &stamp);
    assert_non_null(a);
    t.actors++;
    a->early = a->at_once = true;
    a->in_lane = in_lane;
    weir_shadow_access(&t.shadow, a, WEIR_ACCESS_WRITE, BIG_BASE, BIG_BASE + 4096);
    return a;
}

static void count_each_race(void *ctx, const struct weir_race *r)
{
    (void)r;
    ++*(int *)ctx;
}

static void what_is_told_at_once_covers_its_own_lane_alone(void **state)
{
    struct weir_actor *first;
    size_t bytes;
    int n = 0;

    (void)state;
    begin(false);
    t.shadow.race = NULL;
    weir_actor_drop(&t.shadow, write_at_once(1, true));
    bytes = t.shadow.bytes;
    for (int i = 0; i < 100; i++)
        weir_actor_drop(&t.shadow, write_at_once(1, true));
    assert_int_equal(t.shadow.bytes, bytes);
    /* What another lane has not told yet may have no order with the one before: that stays. */
    first = write_at_once(1, true);
    weir_actor_drop(&t.shadow, write_at_once(1, false));
    assert_int_equal(first->refs, 2);
    weir_order_host_saw_lane(&t.order, 1); /* so that the next one comes behind them */
    weir_actor_drop(&t.shadow, write_at_once(2, true));
    assert_int_equal(first->refs, 2);
    weir_actor_drop(&t.shadow, first);
    t.shadow.race = count_each_race;
    t.shadow.ctx = &n;
    for (int i = 0; i < OPS && !n; i++) /* one with no order to them */
        if (t.actor[i]->stamp.lane > 2)
            weir_shadow_access(&t.shadow, t.actor[i], WEIR_ACCESS_READ, BIG_BASE, BIG_BASE + 1);
    assert_true(n >= 1);
    end();
}

static bool count_big(void *ctx, struct weir_actor *a, enum weir_access kind, uintptr_t begin,
                      uintptr_t end)
{
    (void)a;
    (void)kind;
    assert_in_range(begin, BIG_BASE, BIG_BASE + BIG_BYTES);
    assert_in_range(end, begin + 1, BIG_BASE + BIG_BYTES);
    ++*(int *)ctx;
    return true;
}

static void freed_memory_is_forgotten(void **state)
{
    int n = 0;

    (void)state;
    begin(false);
    t.shadow.race = NULL;
    weir_shadow_access(&t.shadow, t.actor[0], WEIR_ACCESS_WRITE, BASE, BASE + BYTES);
    weir_shadow_forget(&t.shadow, BASE + 10, BASE + 5000);
    weir_shadow_unfinished(&t.shadow, BASE + 10, BASE + 5000, count_one, &n);
    assert_int_equal(n, 0);
    weir_shadow_unfinished(&t.shadow, BASE, BASE + BYTES, count_one, &n);
    assert_int_equal(n, 3); /* 10 bytes of the first page, the rest of the second, the third */
    weir_shadow_forget(&t.shadow, BASE, BASE + BYTES);
    assert_int_equal(t.shadow.blocks.count, 0);
    weir_shadow_access(&t.shadow, t.actor[0], WEIR_ACCESS_WRITE, BIG_BASE, BIG_BASE + BIG_BYTES);
    weir_shadow_forget(&t.shadow, BIG_BASE + 1, BIG_BASE + BIG_BYTES);
    n = 0;
    weir_shadow_unfinished(&t.shadow, BIG_BASE + 1, BIG_BASE + BIG_BYTES, count_big, &n);
    assert_int_equal(n, 0);
    weir_shadow_unfinished(&t.shadow, BIG_BASE, BIG_BASE + BIG_BYTES, count_big, &n);
    assert_int_equal(n, 1);
    weir_shadow_forget(&t.shadow, BIG_BASE, BIG_BASE + 1);
    assert_int_equal(t.shadow.blocks.count, 0);
    end();
}

static void count_mapped(void *ctx, const struct weir_race *r)
{
    uintptr_t *begin = ctx;

    assert_ptr_not_equal(r->before, r->now);
    *begin = r->begin;
}

static bool count_any(void *ctx, struct weir_actor *a, enum weir_access kind, uintptr_t begin,
                      uintptr_t end)
{
    (void)a;
    (void)kind;
    assert_true(begin < end);
    ++*(int *)ctx;
    return true;
}

static void memory_is_one_at_all_its_addresses(void **state)
{
    const uintptr_t piece = WEIR_SHADOW_MAPPED_BYTES, one = 5 * piece, other = 9 * piece;
    uintptr_t name, raced_at = 0;
    int n = 0;

    (void)state;
    begin(false);
    while (weir_actor_before(t.actor[0], t.actor[1])) { /* two that have no order */
        end();
        begin(false);
    }
    t.shadow.race = count_mapped;
    t.shadow.ctx = &raced_at;
    name = weir_shadow_name(&t.shadow, 2 * piece);
    assert_true(weir_shadow_name(&t.shadow, piece) >= name + 2 * piece);
    weir_shadow_map(&t.shadow, one, one + 2 * piece, name);
    weir_shadow_map(&t.shadow, other, other + piece, name + piece);
    weir_shadow_access(&t.shadow, t.actor[0], WEIR_ACCESS_WRITE, one, one + 2 * piece);
    weir_shadow_access(&t.shadow, t.actor[1], WEIR_ACCESS_READ, other + piece, other + 2 * piece);
    assert_int_equal(raced_at, 0); /* behind the second mapping */
    weir_shadow_access(&t.shadow, t.actor[1], WEIR_ACCESS_READ, other + 8, other + 12);
    assert_int_equal(raced_at, other + 8);
    weir_shadow_unmap(&t.shadow, one, one + 2 * piece); /* the memory remains */
    weir_shadow_unfinished(&t.shadow, one, one + 2 * piece, count_any, &n);
    assert_int_equal(n, 0);
    weir_shadow_unfinished(&t.shadow, other, other + 1, count_any, &n);
    assert_int_equal(n, 1);
    weir_shadow_forget(&t.shadow, name, name + 2 * piece);
    weir_shadow_unmap(&t.shadow, other, other + piece);
    weir_shadow_forget(&t.shadow, other, other + 2 * piece);
    assert_int_equal(t.shadow.blocks.count, 0);
    assert_int_equal(t.shadow.mapped.count, 0);
    end();
}

/* ---- the program itself ---- */

enum { HOST_LANE = LANES + 1 };

static struct {
    int races, met;
} seen;

static void count_race(void *ctx, const struct weir_race *r)
{
    (void)ctx;
    assert_true(r->before->host || r->now->host);
    seen.races++;
}

static void count_met(void *ctx, struct weir_actor *op, struct weir_actor *host)
{
    (void)ctx;
    assert_true(host->host && !op->host);
    seen.met++;
}

static struct weir_actor *submitted(uint32_t lane)
{
    struct weir_order_stamp stamp;

    weir_order_submit(&t.order, lane, &stamp);
    t.actors++;
    return weir_actor_create(&t.shadow, &stamp);
}

/* gate: what is behind this operation may come after what the host does now; or NULL. */
static struct weir_actor *host_acts(const struct weir_actor *gate)
{
    struct weir_order_stamp stamp;
    struct weir_actor *a;

    weir_order_host_acts(&t.order, HOST_LANE, &stamp);
    t.actors++;
    a = weir_actor_create(&t.shadow, &stamp);
    a->host = true;
    if (gate) {
        a->ways = weir_calloc(1, sizeof *a->ways + sizeof a->ways->stamps[0]);
        a->ways->count = 1;
        weir_order_stamp_copy(&a->ways->stamps[0], &gate->stamp);
    }
    return a;
}

static void touch(struct weir_actor *a, enum weir_access kind, unsigned begin, unsigned end)
{
    weir_shadow_access(&t.shadow, a, kind, BASE + begin, BASE + end);
}

static void expect_seen(int races, int met)
{
    assert_int_equal(seen.races, races);
    assert_int_equal(seen.met, met);
    seen.races = seen.met = 0;
}

static void the_host_is_ordered_by_what_it_knows(void **state)
{
    struct weir_actor *a[7];

    (void)state;
    begin(false);
    t.shadow.race = count_race;
    t.shadow.met = count_met;
    weir_order_lane_begin(&t.order, HOST_LANE, WEIR_MODEL_MAX_DEVICES, WEIR_STREAM_NONBLOCKING);
    a[0] = submitted(1);
    touch(a[0], WEIR_ACCESS_WRITE, 0, 100);
    a[1] = host_acts(NULL);
    touch(a[1], WEIR_ACCESS_READ, 100, 200); /* a neighbour */
    expect_seen(0, 0);
    touch(a[1], WEIR_ACCESS_READ, 99, 101);
    expect_seen(1, 0);
    weir_order_host_saw_lane(&t.order, 1);
    a[2] = host_acts(NULL);
    touch(a[2], WEIR_ACCESS_WRITE, 0, 100); /* it knows now, and its own accesses are no race */
    expect_seen(0, 0);
    a[3] = submitted(2); /* behind the host's access */
    touch(a[3], WEIR_ACCESS_WRITE, 0, 100);
    expect_seen(0, 0);
    /* An operation that had been submitted when the host did something, and runs later. */
    a[4] = submitted(3);
    a[5] = host_acts(NULL);
    touch(a[5], WEIR_ACCESS_WRITE, 200, 208);
    a[6] = host_acts(NULL); /* at another place: both are told */
    touch(a[6], WEIR_ACCESS_WRITE, 200, 208);
    touch(a[4], WEIR_ACCESS_READ, 204, 300);
    expect_seen(2, 0);
    for (int i = 0; i < 7; i++)
        weir_actor_drop(&t.shadow, a[i]);
    end();
}

static void what_may_order_the_host_is_no_race(void **state)
{
    struct weir_actor *gate, *behind, *beside, *host;

    (void)state;
    begin(false);
    t.shadow.race = count_race;
    t.shadow.met = count_met;
    weir_order_lane_begin(&t.order, HOST_LANE, WEIR_MODEL_MAX_DEVICES, WEIR_STREAM_NONBLOCKING);
    gate = submitted(1);
    behind = submitted(1);
    beside = submitted(2);
    host = host_acts(gate);
    touch(host, WEIR_ACCESS_WRITE, 0, 100);
    touch(behind, WEIR_ACCESS_READ, 50, 100);
    expect_seen(0, 0);
    touch(beside, WEIR_ACCESS_ATOMIC, 0, 4); /* a flag */
    expect_seen(0, 1);
    touch(beside, WEIR_ACCESS_READ, 4, 8);
    expect_seen(1, 0);
    weir_actor_drop(&t.shadow, gate);
    weir_actor_drop(&t.shadow, behind);
    weir_actor_drop(&t.shadow, beside);
    weir_actor_drop(&t.shadow, host);
    end();
}

/* ---- what is done again ---- */

enum { AGAIN_OPS = 80, AGAIN_ROUNDS = 200, AGAIN_PLACES = 4 };

struct again {
    struct weir_order_stamp stamp;
    struct weir_shadow_span spans[2];
    size_t count;
};

static void note_race(void *ctx, const struct weir_race *r)
{
    (void)r;
    *(bool *)ctx = true;
}

static void choose_spans(struct again *op)
{
    static const unsigned places[AGAIN_PLACES][2] = {
        {0, 64}, {32, 96}, {4096, 4160}, {8192, 12288}};

    op->count = 1 + rnd(2);
    for (size_t i = 0; i < op->count; i++) {
        const unsigned *p = places[rnd(AGAIN_PLACES)];

        op->spans[i] = (struct weir_shadow_span){BASE + p[0], BASE + p[1],
                                                 rnd(2) ? WEIR_ACCESS_WRITE : WEIR_ACCESS_READ};
    }
}

static bool conflict_again(const struct again *a, const struct again *b)
{
    bool found = false;

    for (size_t i = 0; i < a->count; i++) {
        for (size_t k = 0; k < b->count; k++)
            found |=
                a->spans[i].begin < b->spans[k].end && b->spans[k].begin < a->spans[i].end &&
                (a->spans[i].kind == WEIR_ACCESS_WRITE || b->spans[k].kind == WEIR_ACCESS_WRITE);
    }
    return found && !weir_order_before(&a->stamp, &b->stamp);
}

/* Told at once. True: as what was done before. */
static bool tell_again(const struct again *op)
{
    struct weir_order_stamp stamp;
    struct weir_actor *a;

    weir_order_stamp_copy(&stamp, &op->stamp);
    if (weir_shadow_again(&t.shadow, &stamp, op->spans, op->count)) {
        assert_int_equal(stamp.lane, 0);
        return true;
    }
    assert_int_equal(stamp.seq, op->stamp.seq);
    a = weir_actor_create(&t.shadow, &stamp);
    t.actors++;
    for (size_t i = 0; i < op->count; i++)
        weir_shadow_access(&t.shadow, a, op->spans[i].kind, op->spans[i].begin, op->spans[i].end);
    weir_actor_drop(&t.shadow, a);
    return false;
}

static void what_is_done_again_is_judged_as_it_was(void **state)
{
    int again = 0;

    (void)state;
    for (int round = 0; round < AGAIN_ROUNDS; round++) {
        struct again ops[AGAIN_OPS];
        bool told = false;

        begin(false);
        t.shadow.race = note_race;
        t.shadow.ctx = &told;
        for (int i = 0; i < AGAIN_OPS; i++) {
            struct again *op = &ops[i];
            struct weir_order_stamp after = {0};
            bool expected = false;

            if (i && rnd(2)) /* the same, in some lane */
                *op = ops[i - 1];
            else
                choose_spans(op);
            if (i && rnd(3) == 0)
                weir_order_stamp_copy(&after, &ops[rnd((uint32_t)i)].stamp);
            weir_order_submit_after(&t.order, 1 + (rnd(3) ? 0 : rnd(LANES)), &after, 1, &op->stamp);
            weir_order_stamp_drop(&t.order, &after);
            for (int k = 0; k < i; k++)
                expected |= conflict_again(&ops[k], op);
            told = false;
            again += tell_again(op);
            assert_int_equal(told, expected);
        }
        for (int i = 0; i < AGAIN_OPS; i++)
            weir_order_stamp_drop(&t.order, &ops[i].stamp);
        t.shadow.ctx = NULL;
        end();
    }
    assert_true(again > AGAIN_ROUNDS);
}

/* An actor that something else has, or is of another lane, stays who it is. */
static void who_is_held_is_nobody_elses(void **state)
{
    const struct weir_shadow_span span = {BASE, BASE + 64, WEIR_ACCESS_WRITE};
    struct weir_order_stamp stamp;
    struct weir_actor *a;

    (void)state;
    begin(false);
    t.shadow.race = NULL;
    a = submitted(1);
    weir_shadow_access(&t.shadow, a, span.kind, span.begin, span.end);
    weir_order_submit(&t.order, 1, &stamp);
    assert_null(weir_shadow_again(&t.shadow, &stamp, &span, 1));
    weir_actor_drop(&t.shadow, a);
    assert_ptr_equal(weir_shadow_again(&t.shadow, &stamp, &span, 1), a);
    weir_order_submit(&t.order, 2, &stamp);
    assert_null(weir_shadow_again(&t.shadow, &stamp, &span, 1));
    weir_order_stamp_drop(&t.order, &stamp);
    end();
}

static void without_memory_nothing_breaks(void **state)
{
    (void)state;
    for (long n = 1; n < 60; n += 3) {
        begin(false);
        t.shadow.race = NULL;
        choose_accesses();
        weir_alloc_fail_after(n);
        for (t.at = 0; t.at < t.count; t.at++) {
            const struct access *a = &t.access[t.at];

            make_access(a);
        }
        weir_alloc_fail_after(0);
        if (n < 6)
            assert_true(t.shadow.failed);
        end();
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_race_is_told_and_nothing_else),
        cmocka_unit_test(what_is_told_at_once_covers_its_own_lane_alone),
        cmocka_unit_test(what_the_host_knows_is_not_unfinished_and_can_be_forgotten),
        cmocka_unit_test(freed_memory_is_forgotten),
        cmocka_unit_test(memory_is_one_at_all_its_addresses),
        cmocka_unit_test(blocks_are_as_their_pages),
        cmocka_unit_test(whole_blocks_are_small),
        cmocka_unit_test(the_host_is_ordered_by_what_it_knows),
        cmocka_unit_test(what_may_order_the_host_is_no_race),
        cmocka_unit_test(what_is_done_again_is_judged_as_it_was),
        cmocka_unit_test(who_is_held_is_nobody_elses),
        cmocka_unit_test(without_memory_nothing_breaks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
