/* SPDX-License-Identifier: Apache-2.0 */
#include "check/shadow.h"

#include <string.h>

#include "base/alloc.h"
#include "base/bits.h"

#define PAGE_SHIFT WEIR_SHADOW_PAGE_SHIFT
#define PAGE_BYTES 4096u
#define WORDS      WEIR_SHADOW_PAGE_WORDS
#define SPARE_MOST 4096 /* actors: as many operations as some full streams have */

struct bits {
    uint64_t w[WORDS];
};

struct mark {
    struct weir_actor *actor;
    struct bits *bits; /* NULL: all of [lo, hi) */
    uint16_t lo, hi_1; /* first and last byte touched */
    uint8_t kind;
};

struct page {
    uint32_t count, cap;
    struct mark *marks;
};

#define BLOCK_PAGES 64u
#define BLOCK_BYTES ((uintptr_t)BLOCK_PAGES * PAGE_BYTES)
/* Of one entry of `mapped`. */
#define MAPPED_BLOCKS (WEIR_SHADOW_MAPPED_BYTES / BLOCK_BYTES)

/* Either pages, or marks of all bytes: a page that stands for each of the block's. */
struct block {
    struct page whole;
    uint32_t used; /* pages that there are; then `whole` has no marks */
    struct page *pages[BLOCK_PAGES];
};

/* Where an access is: one page, or a whole block as if it were one. */
struct unit {
    struct page *page;
    uintptr_t base;
    unsigned scale; /* bytes for each of the page's */
};

/* ---- actors ---- */

void weir_shadow_init(struct weir_shadow *s, struct weir_order *order)
{
    *s = (struct weir_shadow){.order = order};
}

static struct weir_actor *actor_take(struct weir_shadow *s)
{
    struct weir_actor *a = s->spare;

    if (!a)
        return weir_alloc(sizeof *a + s->detail_bytes);
    s->spare = a->detail;
    s->spare_count--;
    return a;
}

/* Each operation has one for a moment: they go from one to the next. */
static void actor_give(struct weir_shadow *s, struct weir_actor *a)
{
    if (s->spare_count >= SPARE_MOST) {
        weir_free(a);
        return;
    }
    a->detail = s->spare;
    s->spare = a;
    s->spare_count++;
}

struct weir_actor *weir_actor_create(struct weir_shadow *s, struct weir_order_stamp *stamp)
{
    struct weir_actor *a = actor_take(s);

    if (!a) {
        s->failed = true;
        weir_order_stamp_drop(s->order, stamp);
        return NULL;
    }
    *a = (struct weir_actor){.stamp = *stamp, .refs = 1, .detail = a + 1};
    memset(a->detail, 0, s->detail_bytes);
    *stamp = (struct weir_order_stamp){0};
    return a;
}

void weir_reach_drop(struct weir_reach *r)
{
    if (r && --r->refs == 0)
        weir_free(r);
}

void weir_actor_drop(struct weir_shadow *s, struct weir_actor *a)
{
    if (!a || --a->refs > 0)
        return;
    if (s->gone)
        s->gone(s->ctx, a);
    weir_order_stamp_drop(s->order, &a->stamp);
    weir_reach_drop(a->reach);
    for (uint32_t i = 0; a->inside && i < a->inside->count; i++)
        weir_reach_drop(a->inside->at[i].reach);
    weir_free(a->inside);
    for (uint32_t i = 0; a->ways && i < a->ways->count; i++)
        weir_order_stamp_drop(s->order, &a->ways->stamps[i]);
    weir_free(a->ways);
    actor_give(s, a);
}

/* Two parts of one operation are no two operations. */
static bool is_or_before(const struct weir_order_stamp *a, const struct weir_order_stamp *b)
{
    return (a->lane == b->lane && a->seq == b->seq) || weir_order_before(a, b);
}

bool weir_actor_before_stamp(const struct weir_actor *a, const struct weir_order_stamp *b)
{
    for (uint32_t i = 0; a->ways && i < a->ways->count; i++) {
        if (is_or_before(&a->ways->stamps[i], b))
            return true;
    }
    return is_or_before(&a->stamp, b);
}

bool weir_actor_is_known(const struct weir_order *o, const struct weir_actor *a)
{
    for (uint32_t i = 0; a->reach && a->ways && i < a->ways->count; i++) {
        if (weir_order_host_knows(o, &a->ways->stamps[i]))
            return true;
    }
    return weir_order_host_knows(o, &a->stamp);
}

bool weir_actor_before(const struct weir_actor *a, const struct weir_actor *b)
{
    if (a->reach && b->reach && a->stamp.lane == b->stamp.lane && a->stamp.seq == b->stamp.seq)
        return a->node == b->node ? weir_inside_before(a->inside, b->inside)
                                  : weir_reach_has(a->reach, a->node, b->node);
    return weir_actor_before_stamp(a, &b->stamp);
}

static bool conflicts(enum weir_access a, enum weir_access b)
{
    return a == WEIR_ACCESS_WRITE || b == WEIR_ACCESS_WRITE || a != b;
}

/* Does whoever conflicts with `old` conflict with `now` too? */
static bool covers(enum weir_access now, enum weir_access old)
{
    return now == WEIR_ACCESS_WRITE || now == old;
}

/* ---- marks ---- */

static void bits_set(struct bits *b, unsigned lo, unsigned hi_1)
{
    for (unsigned w = lo / 64; w <= hi_1 / 64; w++)
        b->w[w] |= weir_bits_span(w, lo, hi_1);
}

static bool make_bits(struct weir_shadow *s, struct mark *m)
{
    if (m->bits)
        return true;
    m->bits = weir_calloc(1, sizeof *m->bits);
    if (!m->bits) {
        s->failed = true;
        return false;
    }
    s->bytes += sizeof *m->bits;
    bits_set(m->bits, m->lo, m->hi_1);
    return true;
}

static void free_bits(struct weir_shadow *s, struct mark *m)
{
    if (!m->bits)
        return;
    s->bytes -= sizeof *m->bits;
    weir_free(m->bits);
    m->bits = NULL;
}

/* The first byte of [lo, hi_1] that m has; *end: behind the last of those that follow it without a
 * hole. False: none. */
static bool overlap(const struct mark *m, unsigned lo, unsigned hi_1, unsigned *begin,
                    unsigned *end)
{
    lo = WEIR_MAX(lo, m->lo);
    hi_1 = WEIR_MIN(hi_1, m->hi_1);
    if (lo > hi_1)
        return false;
    if (!m->bits) {
        *begin = lo;
        *end = hi_1 + 1u;
        return true;
    }
    for (unsigned w = lo / 64; w <= hi_1 / 64; w++) {
        uint64_t have = m->bits->w[w] & weir_bits_span(w, lo, hi_1);

        if (!have)
            continue;
        *begin = w * 64 + (unsigned)__builtin_ctzll(have);
        *end = *begin + 1;
        while (*end <= hi_1 && weir_bit_has(m->bits->w, *end))
            ++*end;
        return true;
    }
    return false;
}

static bool bits_shrink(struct mark *m)
{
    unsigned lo = m->lo / 64, hi = m->hi_1 / 64;

    while (lo <= hi && !m->bits->w[lo])
        lo++;
    if (lo > hi)
        return false;
    while (!m->bits->w[hi])
        hi--;
    m->lo = (uint16_t)(lo * 64 + (unsigned)__builtin_ctzll(m->bits->w[lo]));
    m->hi_1 = (uint16_t)(hi * 64 + 63 - (unsigned)__builtin_clzll(m->bits->w[hi]));
    return true;
}

/* Takes [lo, hi_1] off m. False: nothing is left. Without memory m stays as it is: an old access
 * that is remembered too long is ordered before all that come now. */
static bool subtract(struct weir_shadow *s, struct mark *m, unsigned lo, unsigned hi_1)
{
    if (lo > m->hi_1 || hi_1 < m->lo)
        return true;
    if (lo <= m->lo && hi_1 >= m->hi_1)
        return false;
    if (!m->bits) {
        if (lo <= m->lo) {
            m->lo = (uint16_t)(hi_1 + 1);
            return true;
        }
        if (hi_1 >= m->hi_1) {
            m->hi_1 = (uint16_t)(lo - 1);
            return true;
        }
        if (!make_bits(s, m))
            return true;
    }
    lo = WEIR_MAX(lo, m->lo);
    hi_1 = WEIR_MIN(hi_1, m->hi_1);
    for (unsigned w = lo / 64; w <= hi_1 / 64; w++)
        m->bits->w[w] &= ~weir_bits_span(w, lo, hi_1);
    return bits_shrink(m);
}

static void mark_remove(struct weir_shadow *s, struct page *p, uint32_t i)
{
    struct weir_actor *a = p->marks[i].actor;

    free_bits(s, &p->marks[i]);
    p->marks[i] = p->marks[--p->count];
    weir_actor_drop(s, a);
}

static struct mark *mark_of(const struct page *p, const struct weir_actor *a, enum weir_access kind)
{
    for (uint32_t i = p->count; i > 0; i--) {
        if (p->marks[i - 1].actor == a && p->marks[i - 1].kind == kind)
            return &p->marks[i - 1];
    }
    return NULL;
}

/* Adds to the actor's mark of that kind, or makes one. */
static void mark_add(struct weir_shadow *s, struct page *p, struct weir_actor *a,
                     enum weir_access kind, unsigned lo, unsigned hi_1)
{
    struct mark *m = mark_of(p, a, kind);

    if (m) {
        if (!m->bits && lo <= m->hi_1 + 1u && hi_1 + 1 >= m->lo) {
            m->lo = (uint16_t)WEIR_MIN(lo, m->lo);
            m->hi_1 = (uint16_t)WEIR_MAX(hi_1, m->hi_1);
            return;
        }
        if (!make_bits(s, m))
            return;
        bits_set(m->bits, lo, hi_1);
        m->lo = (uint16_t)WEIR_MIN(lo, m->lo);
        m->hi_1 = (uint16_t)WEIR_MAX(hi_1, m->hi_1);
        return;
    }
    if (p->count == p->cap) {
        uint32_t cap = p->cap ? p->cap * 2 : 2;
        struct mark *marks = weir_realloc(p->marks, cap * sizeof *marks);

        if (!marks) {
            s->failed = true;
            return;
        }
        s->bytes += (cap - p->cap) * sizeof *marks;
        p->marks = marks;
        p->cap = cap;
    }
    a->refs++;
    p->marks[p->count++] = (struct mark){
        .actor = a, .lo = (uint16_t)lo, .hi_1 = (uint16_t)hi_1, .kind = (uint8_t)kind};
}

/* ---- pages and blocks ---- */

static void marks_drop(struct weir_shadow *s, struct page *p)
{
    while (p->count)
        mark_remove(s, p, p->count - 1);
    s->bytes -= p->cap * sizeof *p->marks;
    weir_free(p->marks);
    p->marks = NULL;
    p->cap = 0;
}

static void page_free(struct weir_shadow *s, struct page *p)
{
    marks_drop(s, p);
    s->bytes -= sizeof *p;
    weir_free(p);
}

static struct page *page_new(struct weir_shadow *s, struct block *b, unsigned i)
{
    struct page *p = weir_calloc(1, sizeof *p);

    if (!p) {
        s->failed = true;
        return NULL;
    }
    s->bytes += sizeof *p;
    b->pages[i] = p;
    b->used++;
    return p;
}

static void page_remove(struct weir_shadow *s, struct block *b, unsigned i)
{
    page_free(s, b->pages[i]);
    b->pages[i] = NULL;
    b->used--;
}

/* By what the blocks are found, of a page's number: memory that is mapped is found by what it is
 * known as, at whichever address. */
static uint64_t block_key(const struct weir_shadow *s, uint64_t number)
{
    uint64_t key = number / BLOCK_PAGES;
    const void *known;

    if (WEIR_LIKELY(!s->mapped.count))
        return key;
    known = weir_map_get(&s->mapped, key / MAPPED_BLOCKS);
    return known ? (uintptr_t)known * MAPPED_BLOCKS + key % MAPPED_BLOCKS : key;
}

/* Number: of one of its pages. */
static struct block *block_find(const struct weir_shadow *s, uint64_t number)
{
    return weir_map_get(&s->blocks, block_key(s, number));
}

static struct block *block_get(struct weir_shadow *s, uint64_t number, bool make)
{
    struct block *b = block_find(s, number);
    uint64_t key;

    if (b || !make)
        return b;
    key = block_key(s, number);
    b = weir_calloc(1, sizeof *b);
    if (!b || !weir_map_put(&s->blocks, key, b)) {
        s->failed = true;
        weir_free(b);
        return NULL;
    }
    s->bytes += sizeof *b;
    return b;
}

/* The block is to have pages. */
static void block_split(struct weir_shadow *s, struct block *b)
{
    for (unsigned i = 0; i < BLOCK_PAGES; i++) {
        struct page *p = page_new(s, b, i);

        for (uint32_t k = 0; p && k < b->whole.count; k++)
            mark_add(s, p, b->whole.marks[k].actor, (enum weir_access)b->whole.marks[k].kind, 0,
                     PAGE_BYTES - 1);
    }
    marks_drop(s, &b->whole);
}

static bool is_like(const struct page *p, const struct page *q)
{
    if (p->count != q->count)
        return false;
    for (uint32_t i = 0; i < p->count; i++) {
        const struct mark *m = &p->marks[i], *n = &q->marks[i];

        if (m->actor != n->actor || m->kind != n->kind || m->bits || n->bits || m->lo || n->lo ||
            m->hi_1 != PAGE_BYTES - 1 || n->hi_1 != PAGE_BYTES - 1)
            return false;
    }
    return true;
}

/* If all pages say the same, the block says it. */
static void block_join(struct weir_shadow *s, struct block *b)
{
    if (b->used < BLOCK_PAGES)
        return;
    for (unsigned i = 0; i < BLOCK_PAGES; i++) { /* (the first with itself: are its marks whole?) */
        if (!is_like(b->pages[0], b->pages[i]))
            return;
    }
    b->whole = *b->pages[0];
    *b->pages[0] = (struct page){0};
    for (unsigned i = 0; i < BLOCK_PAGES; i++)
        page_remove(s, b, i);
}

static struct page *page_get(struct weir_shadow *s, uint64_t number, bool make)
{
    struct block *b = block_get(s, number, make);
    unsigned i = (unsigned)(number % BLOCK_PAGES);

    if (b && b->whole.count)
        block_split(s, b);
    if (!b || b->pages[i] || !make)
        return b ? b->pages[i] : NULL;
    return page_new(s, b, i);
}

static struct unit unit_of(struct page *p, uint64_t number)
{
    return (struct unit){.page = p, .base = (uintptr_t)number << PAGE_SHIFT, .scale = 1};
}

static void report(struct weir_shadow *s, const struct unit *u, const struct mark *m,
                   struct weir_actor *a, enum weir_access kind, unsigned begin, unsigned end)
{
    struct weir_race race = {.before = m->actor,
                             .now = a,
                             .before_kind = (enum weir_access)m->kind,
                             .now_kind = kind,
                             .begin = u->base + (uintptr_t)begin * u->scale,
                             .end = u->base + (uintptr_t)end * u->scale};

    if (s->race)
        s->race(s->ctx, &race);
}

/* What a touches of an actor before it may be forgotten, when everything that races with the one
 * races with the other. */
static bool may_forget(const struct weir_actor *a, const struct weir_actor *before)
{
    if (a->early)
        return a->in_lane && before->at_once && a->stamp.lane == before->stamp.lane;
    /* Each access of the program is kept: which of them are reported must not depend on whether the
     * operation has ended before or after. */
    return !a->host || !before->host;
}

/* a meets m at [begin, end). True: they are ordered so that what a touches of m can be forgotten;
 * without an order a conflict is a race. */
static bool covered(struct weir_shadow *s, const struct unit *u, const struct mark *m,
                    struct weir_actor *a, enum weir_access kind, unsigned begin, unsigned end)
{
    if (weir_actor_before(m->actor, a))
        return may_forget(a, m->actor) && covers(kind, (enum weir_access)m->kind);
    if (!conflicts((enum weir_access)m->kind, kind) || weir_actor_before(a, m->actor))
        return false;
    if (m->actor->host != a->host &&
        (kind == WEIR_ACCESS_ATOMIC || m->kind == WEIR_ACCESS_ATOMIC)) {
        if (s->met)
            s->met(s->ctx, a->host ? m->actor : a, a->host ? a : m->actor);
    } else if (!m->actor->host || !a->host) { /* the program's own threads are not ours to judge */
        report(s, u, m, a, kind, begin, end);
    }
    return false;
}

static void page_access(struct weir_shadow *s, const struct unit *u, struct weir_actor *a,
                        enum weir_access kind, unsigned lo, unsigned hi_1)
{
    struct page *p = u->page;
    bool known = false; /* a has these bytes already, in this kind or a stronger one */

    for (uint32_t i = 0; i < p->count;) {
        struct mark *m = &p->marks[i];
        unsigned begin, end;

        if (m->actor == a) {
            known |= !m->bits && m->lo <= lo && m->hi_1 >= hi_1 &&
                     covers((enum weir_access)m->kind, kind);
        } else if (overlap(m, lo, hi_1, &begin, &end) && covered(s, u, m, a, kind, begin, end) &&
                   !subtract(s, m, lo, hi_1)) {
            mark_remove(s, p, i);
            continue;
        }
        i++;
    }
    if (!known)
        mark_add(s, p, a, kind, lo, hi_1);
}

/* ---- many bytes of a page at once ---- */

static bool is_whole(const uint64_t *w)
{
    uint64_t all = UINT64_MAX;

    for (unsigned k = 0; k < WORDS; k++)
        all &= w[k];
    return all == UINT64_MAX;
}

/* A run from the first bit on; false: there are others behind it. No bit: *end 0. */
static bool is_one_run(const uint64_t *w, unsigned *begin, unsigned *end)
{
    unsigned lo = 0, hi = WORDS - 1;
    bool one;

    *begin = *end = 0;
    if (is_whole(w)) {
        *end = PAGE_BYTES;
        return true;
    }
    while (lo < WORDS && !w[lo])
        lo++;
    if (lo == WORDS)
        return true;
    while (!w[hi])
        hi--;
    *begin = lo * 64 + (unsigned)__builtin_ctzll(w[lo]);
    *end = hi * 64 + 64 - (unsigned)__builtin_clzll(w[hi]);
    one = true;
    for (unsigned k = lo; k <= hi; k++)
        one &= w[k] == weir_bits_span(k, *begin, *end - 1);
    return one;
}

/* The first bytes that m and w share. */
static bool overlap_bits(const struct mark *m, const uint64_t *w, unsigned *begin, unsigned *end)
{
    for (unsigned k = m->lo / 64; k <= m->hi_1 / 64u; k++) {
        uint64_t both = w[k] & (m->bits ? m->bits->w[k] : weir_bits_span(k, m->lo, m->hi_1)), from;

        if (!both)
            continue;
        from = both >> __builtin_ctzll(both);
        *begin = k * 64 + (unsigned)__builtin_ctzll(both);
        *end = *begin + (~from ? (unsigned)__builtin_ctzll(~from) : 64);
        return true;
    }
    return false;
}

static bool subtract_bits(struct weir_shadow *s, struct mark *m, const uint64_t *w)
{
    if (!make_bits(s, m))
        return true;
    for (unsigned k = m->lo / 64; k <= m->hi_1 / 64u; k++)
        m->bits->w[k] &= ~w[k];
    return bits_shrink(m);
}

static void mark_add_bits(struct weir_shadow *s, struct page *p, struct weir_actor *a,
                          enum weir_access kind, const uint64_t *w, unsigned lo, unsigned hi_1)
{
    struct mark *m = mark_of(p, a, kind);

    if (!m) {
        mark_add(s, p, a, kind, lo, lo);
        m = mark_of(p, a, kind);
    }
    if (!m || !make_bits(s, m)) /* no memory */
        return;
    for (unsigned k = 0; k < WORDS; k++)
        m->bits->w[k] |= w[k];
    m->lo = (uint16_t)WEIR_MIN(lo, m->lo);
    m->hi_1 = (uint16_t)WEIR_MAX(hi_1, m->hi_1);
}

void weir_shadow_access_bits(struct weir_shadow *s, struct weir_actor *a, enum weir_access kind,
                             uint64_t number, const uint64_t bits[WEIR_SHADOW_PAGE_WORDS])
{
    unsigned lo, hi, begin, end;
    bool one = is_one_run(bits, &lo, &hi);
    struct page *p = hi ? page_get(s, number, true) : NULL;
    struct unit u = unit_of(p, number);

    if (!p)
        return;
    if (one) {
        page_access(s, &u, a, kind, lo, hi - 1);
        return;
    }
    for (uint32_t i = 0; i < p->count;) {
        struct mark *m = &p->marks[i];

        if (m->actor != a && overlap_bits(m, bits, &begin, &end) &&
            covered(s, &u, m, a, kind, begin, end) && !subtract_bits(s, m, bits)) {
            mark_remove(s, p, i);
            continue;
        }
        i++;
    }
    mark_add_bits(s, p, a, kind, bits, lo, hi - 1);
}

/* All of a block. */
static void block_access(struct weir_shadow *s, struct weir_actor *a, enum weir_access kind,
                         uint64_t number)
{
    struct block *b = block_get(s, number, true);

    if (!b)
        return;
    if (!b->used) {
        struct unit u = {&b->whole, (uintptr_t)number << PAGE_SHIFT, BLOCK_PAGES};

        page_access(s, &u, a, kind, 0, PAGE_BYTES - 1);
        return;
    }
    for (unsigned i = 0; i < BLOCK_PAGES; i++) {
        struct unit u = unit_of(page_get(s, number + i, true), number + i);

        if (u.page)
            page_access(s, &u, a, kind, 0, PAGE_BYTES - 1);
    }
    block_join(s, b);
}

void weir_shadow_access(struct weir_shadow *s, struct weir_actor *a, enum weir_access kind,
                        uintptr_t begin, uintptr_t end)
{
    while (begin < end) {
        uint64_t number = begin >> PAGE_SHIFT;
        uintptr_t page_end = (uintptr_t)(number + 1) << PAGE_SHIFT, stop = WEIR_MIN(end, page_end);
        struct unit u;

        if (begin % BLOCK_BYTES == 0 && end - begin >= BLOCK_BYTES) {
            block_access(s, a, kind, number);
            begin += BLOCK_BYTES;
            continue;
        }
        u = unit_of(page_get(s, number, true), number);
        if (u.page)
            page_access(s, &u, a, kind, (unsigned)(begin % PAGE_BYTES),
                        (unsigned)((stop - 1) % PAGE_BYTES));
        begin = stop;
    }
}

void weir_shadow_access_rows(struct weir_shadow *s, struct weir_actor *a, enum weir_access kind,
                             uintptr_t begin, size_t width, size_t height, size_t pitch)
{
    if (pitch == width) {
        width *= height;
        height = height ? 1 : 0;
    }
    for (; height; height--, begin += pitch)
        weir_shadow_access(s, a, kind, begin, begin + width);
}

/* The only mark of the span's page, if it is of the same bytes and kind. */
static const struct mark *only_mark(const struct weir_shadow *s, const struct weir_shadow_span *r)
{
    uint64_t number = r->begin >> PAGE_SHIFT;
    const struct block *b = block_find(s, number);
    const struct page *p = b ? b->pages[number % BLOCK_PAGES] : NULL;
    const struct mark *m = p && p->count == 1 ? p->marks : NULL;

    return m && !m->bits && m->kind == r->kind && m->lo == r->begin % PAGE_BYTES &&
                   m->hi_1 == (r->end - 1) % PAGE_BYTES && (r->end - 1) >> PAGE_SHIFT == number
               ? m
               : NULL;
}

struct weir_actor *weir_shadow_again(struct weir_shadow *s, struct weir_order_stamp *stamp,
                                     const struct weir_shadow_span *spans, size_t count)
{
    struct weir_actor *a = NULL;

    for (size_t i = 0; i < count; i++) {
        const struct mark *m = only_mark(s, &spans[i]);

        if (!m || (a && a != m->actor))
            return NULL;
        a = m->actor;
    }
    if (!a || a->refs != count || a->reach || a->ways || a->host || a->early ||
        a->stamp.lane != stamp->lane || a->stamp.seq > stamp->front)
        return NULL;
    weir_order_stamp_drop(s->order, &a->stamp);
    a->stamp = *stamp;
    a->at_once = a->in_lane = false;
    *stamp = (struct weir_order_stamp){0};
    return a;
}

/* Nothing is known of it: it goes. */
static void block_trim(struct weir_shadow *s, uint64_t number)
{
    struct block *b = block_get(s, number, false);

    for (unsigned i = 0; b && i < BLOCK_PAGES; i++) {
        if (b->pages[i] && !b->pages[i]->count)
            page_remove(s, b, i);
    }
    if (!b || b->used || b->whole.count)
        return;
    weir_map_remove(&s->blocks, block_key(s, number));
    marks_drop(s, &b->whole);
    s->bytes -= sizeof *b;
    weir_free(b);
}

static void page_forget(struct weir_shadow *s, struct page *p, unsigned lo, unsigned hi_1)
{
    for (uint32_t i = 0; i < p->count;) {
        if (subtract(s, &p->marks[i], lo, hi_1))
            i++;
        else
            mark_remove(s, p, i);
    }
}

void weir_shadow_forget(struct weir_shadow *s, uintptr_t begin, uintptr_t end)
{
    while (begin < end) {
        uint64_t number = begin >> PAGE_SHIFT;
        uintptr_t block_end = (begin / BLOCK_BYTES + 1) * BLOCK_BYTES;
        uintptr_t stop = WEIR_MIN(end, block_end);
        struct block *b = block_get(s, number, false);

        if (b && stop - begin == BLOCK_BYTES)
            marks_drop(s, &b->whole);
        for (uintptr_t at = begin, next; b && at < stop; at = next) {
            struct page *p = page_get(s, at >> PAGE_SHIFT, false);

            next = WEIR_MIN(stop, (at / PAGE_BYTES + 1) * PAGE_BYTES);
            if (p)
                page_forget(s, p, (unsigned)(at % PAGE_BYTES), (unsigned)((next - 1) % PAGE_BYTES));
        }
        block_trim(s, number);
        begin = stop;
    }
}

uintptr_t weir_shadow_name(struct weir_shadow *s, size_t bytes)
{
    uintptr_t name = s->names ? s->names : WEIR_SHADOW_NAMES;

    s->names = name + WEIR_ALIGN_UP(bytes, WEIR_SHADOW_MAPPED_BYTES);
    return name;
}

void weir_shadow_map(struct weir_shadow *s, uintptr_t begin, uintptr_t end, uintptr_t name)
{
    for (; begin < end; begin += WEIR_SHADOW_MAPPED_BYTES, name += WEIR_SHADOW_MAPPED_BYTES) {
        uint64_t piece = begin / WEIR_SHADOW_MAPPED_BYTES;

        if (!weir_map_put(&s->mapped, piece, (void *)(name / WEIR_SHADOW_MAPPED_BYTES)))
            s->failed = true;
    }
}

uintptr_t weir_shadow_known(const struct weir_shadow *s, uintptr_t address)
{
    const void *known =
        s->mapped.count ? weir_map_get(&s->mapped, address / WEIR_SHADOW_MAPPED_BYTES) : NULL;

    return known ? (uintptr_t)known * WEIR_SHADOW_MAPPED_BYTES + address % WEIR_SHADOW_MAPPED_BYTES
                 : address;
}

void weir_shadow_unmap(struct weir_shadow *s, uintptr_t begin, uintptr_t end)
{
    for (; begin < end; begin += WEIR_SHADOW_MAPPED_BYTES)
        weir_map_remove(&s->mapped, begin / WEIR_SHADOW_MAPPED_BYTES);
}

/* [begin, end) is in the unit. False: no more. */
static bool unfinished_in(struct weir_shadow *s, const struct unit *u, uintptr_t begin,
                          uintptr_t end,
                          bool (*visit)(void *ctx, struct weir_actor *a, enum weir_access kind,
                                        uintptr_t begin, uintptr_t end),
                          void *ctx)
{
    unsigned lo = (unsigned)((begin - u->base) / u->scale);
    unsigned hi_1 = (unsigned)((end - 1 - u->base) / u->scale);

    for (uint32_t i = 0; i < u->page->count; i++) {
        const struct mark *m = &u->page->marks[i];
        unsigned from, to;

        if (weir_actor_is_known(s->order, m->actor) || !overlap(m, lo, hi_1, &from, &to))
            continue;
        if (!visit(ctx, m->actor, (enum weir_access)m->kind,
                   WEIR_MAX(begin, u->base + (uintptr_t)from * u->scale),
                   WEIR_MIN(end, u->base + (uintptr_t)to * u->scale)))
            return false;
    }
    return true;
}

void weir_shadow_unfinished(struct weir_shadow *s, uintptr_t begin, uintptr_t end,
                            bool (*visit)(void *ctx, struct weir_actor *a, enum weir_access kind,
                                          uintptr_t begin, uintptr_t end),
                            void *ctx)
{
    while (begin < end) {
        uint64_t number = begin >> PAGE_SHIFT;
        struct block *b = block_get(s, number, false);
        bool whole = !b || !b->used;
        uintptr_t bytes = whole ? BLOCK_BYTES : PAGE_BYTES, base = begin / bytes * bytes;
        uintptr_t stop = WEIR_MIN(end, base + bytes);
        struct unit u = {.page = !b      ? NULL
                                 : whole ? &b->whole
                                         : b->pages[number % BLOCK_PAGES],
                         .base = base,
                         .scale = whole ? BLOCK_PAGES : 1};

        if (u.page && !unfinished_in(s, &u, begin, stop, visit, ctx))
            return;
        begin = stop;
    }
}

static void page_settle(struct weir_shadow *s, struct page *p, const struct weir_clock *known)
{
    for (uint32_t i = 0; i < p->count;) {
        const struct weir_order_stamp *stamp = &p->marks[i].actor->stamp;

        if (weir_order_clock_has(known, stamp->lane, stamp->seq))
            mark_remove(s, p, i);
        else
            i++;
    }
}

void weir_shadow_settle(struct weir_shadow *s, const struct weir_clock *known)
{
    uint64_t number;
    size_t pos = 0;
    void *value;

    while (weir_map_next(&s->blocks, &pos, &number, &value)) {
        struct block *b = value;

        page_settle(s, &b->whole, known);
        for (unsigned i = 0; i < BLOCK_PAGES; i++) {
            if (b->pages[i])
                page_settle(s, b->pages[i], known);
        }
    }
}

void weir_shadow_finish(struct weir_shadow *s)
{
    uint64_t number;
    size_t pos = 0;
    void *value;

    while (weir_map_next(&s->blocks, &pos, &number, &value)) {
        struct block *b = value;

        for (unsigned i = 0; i < BLOCK_PAGES; i++) {
            if (b->pages[i])
                page_remove(s, b, i);
        }
        marks_drop(s, &b->whole);
        s->bytes -= sizeof *b;
        weir_free(b);
    }
    weir_map_finish(&s->blocks);
    weir_map_finish(&s->mapped);
    for (struct weir_actor *a = s->spare, *next; a; a = next) {
        next = a->detail;
        weir_free(a);
    }
    s->spare = NULL;
    s->spare_count = 0;
}
