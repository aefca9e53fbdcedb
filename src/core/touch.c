/* SPDX-License-Identifier: Apache-2.0 */
#include "core/touch.h"

#include "base/alloc.h"
#include "base/map.h"
#include "memory/memory.h"

#define KINDS      3  /* enum weir_access */
#define CACHED     64 /* pages found without a look-up */
#define PAGE_SHIFT WEIR_SHADOW_PAGE_SHIFT
#define PAGE_BYTES ((uint64_t)1 << PAGE_SHIFT)

/* A bit a byte for each kind of access. */
struct touched {
    uint64_t number;
    uint64_t bits[KINDS][WEIR_SHADOW_PAGE_WORDS];
};

/* Of one thread. */
struct log {
    struct log *next;
    struct weir_map pages; /* number -> struct touched */
    struct touched *cache[CACHED];
};

struct touches {
    _Atomic(struct log *) logs;
    uint64_t id; /* of this launch: a thread's log of another one is not taken for it */
    _Atomic bool lost;
};

static _Atomic uint64_t next_id = 1;

static WEIR_TLS struct {
    uint64_t id;
    struct log *log;
} mine;

void *weir_touches_begin(void)
{
    struct touches *t = weir_check_is_exact() ? weir_calloc(1, sizeof *t) : NULL;

    if (t)
        t->id = atomic_fetch_add_explicit(&next_id, 1, memory_order_relaxed);
    return t;
}

static struct log *log_of(struct touches *t)
{
    struct log *log;

    if (WEIR_LIKELY(mine.id == t->id))
        return mine.log;
    log = weir_calloc(1, sizeof *log);
    if (!log) {
        atomic_store_explicit(&t->lost, true, memory_order_relaxed);
        return NULL;
    }
    log->next = atomic_load_explicit(&t->logs, memory_order_relaxed);
    /* Release: the reader is ordered behind by the end of the blocks; this is for the list. */
    while (!atomic_compare_exchange_weak_explicit(&t->logs, &log->next, log, memory_order_release,
                                                  memory_order_relaxed))
        ;
    mine.id = t->id;
    mine.log = log;
    return log;
}

static WEIR_NOINLINE struct touched *page_slow(struct touches *t, struct log *log, uint64_t number)
{
    struct touched *p = weir_map_get(&log->pages, number);

    if (!p) {
        p = weir_calloc(1, sizeof *p);
        if (p)
            p->number = number;
        if (!p || !weir_map_put(&log->pages, number, p)) {
            atomic_store_explicit(&t->lost, true, memory_order_relaxed);
            weir_free(p);
            return NULL;
        }
    }
    log->cache[number % CACHED] = p;
    return p;
}

static inline void add(struct touches *t, struct log *log, uint64_t begin, uint64_t end,
                       uint32_t kind)
{
    while (begin < end) {
        uint64_t number = begin >> PAGE_SHIFT, stop = WEIR_MIN(end, (number + 1) << PAGE_SHIFT);
        struct touched *p = log->cache[number % CACHED];
        unsigned lo = (unsigned)(begin % PAGE_BYTES), hi_1 = (unsigned)((stop - 1) % PAGE_BYTES);

        if (WEIR_UNLIKELY(!p || p->number != number))
            p = page_slow(t, log, number);
        if (WEIR_UNLIKELY(!p))
            return;
        for (unsigned w = lo / 64; w <= hi_1 / 64; w++) {
            uint64_t m = UINT64_MAX;

            if (w == lo / 64)
                m &= UINT64_MAX << (lo % 64);
            if (w == hi_1 / 64)
                m &= UINT64_MAX >> (63 - hi_1 % 64);
            p->bits[kind][w] |= m;
        }
        begin = stop;
    }
}

/* Shared memory by generic addresses, which is frequent. */
static bool is_own(const struct weir_block *b, uint64_t address)
{
    return address - (uint64_t)(uintptr_t)b->shared < b->shared_bytes;
}

static uint32_t access_of(uint32_t code)
{
    static const uint8_t kinds[] = {WEIR_ACCESS_READ, WEIR_ACCESS_WRITE, WEIR_ACCESS_ATOMIC,
                                    WEIR_ACCESS_ATOMIC};

    return kinds[code >> 16 & 3];
}

void weir_touch(struct weir_block *block, uint32_t lanes, uint32_t code, uint64_t base,
                int64_t stride)
{
    struct touches *t = block->launch->touches;
    uint32_t bytes = code & 0xffff, kind = access_of(code);
    struct log *log = t && lanes ? log_of(t) : NULL;

    if (!log || is_own(block, base + (uint64_t)(stride * __builtin_ctz(lanes))))
        return;
    if (stride == 0 || stride == (int64_t)bytes) {
        /* Runs of lanes beside each other are one range. */
        while (lanes) {
            unsigned first = (unsigned)__builtin_ctz(lanes);
            uint32_t rest = ~(lanes >> first);
            unsigned n = rest ? (unsigned)__builtin_ctz(rest) : 32;
            uint64_t begin = base + (uint64_t)stride * first;

            add(t, log, begin, begin + (stride ? (uint64_t)bytes * n : bytes), kind);
            if (!stride || first + n >= 32)
                return;
            lanes = lanes >> (first + n) << (first + n);
        }
        return;
    }
    for (; lanes; lanes &= lanes - 1) {
        uint64_t begin = base + (uint64_t)(stride * __builtin_ctz(lanes));

        add(t, log, begin, begin + bytes, kind);
    }
}

void weir_touch_lanes(struct weir_block *block, uint32_t lanes, uint32_t code,
                      const uint64_t *addresses)
{
    struct touches *t = block->launch->touches;
    uint32_t bytes = code & 0xffff, kind = access_of(code);
    struct log *log = t && lanes ? log_of(t) : NULL;

    for (; log && lanes; lanes &= lanes - 1) {
        uint64_t begin = addresses[__builtin_ctz(lanes)];

        if (!is_own(block, begin))
            add(t, log, begin, begin + bytes, kind);
    }
}

/* Only memory of the program's: not parameters, nor what Weir keeps for blocks. What is found no
 * more was given back meanwhile. */
static bool is_the_programs(uint64_t page)
{
    uintptr_t begin = (uintptr_t)(page << PAGE_SHIFT);
    struct weir_mem_info info;

    if (!weir_mem_find((const void *)begin, &info) &&
        !weir_mem_find((const void *)(begin + PAGE_BYTES - 1), &info))
        return begin - weir_mem_window_base < weir_mem_window_bytes;
    return info.kind != WEIR_MEM_KIND_INTERNAL;
}

struct telling {
    struct log *log;
    size_t pos;
    struct touched *page;
    uint32_t kind; /* the next one of `page` */
};

static bool tell(void *ctx, struct weir_check_page *out)
{
    struct telling *t = ctx;

    while (!t->page || t->kind == KINDS) {
        uint64_t number;
        void *value;

        if (!weir_map_next(&t->log->pages, &t->pos, &number, &value))
            return false;
        t->page = value;
        t->kind = is_the_programs(number) ? 0 : KINDS;
    }
    *out = (struct weir_check_page){t->page->number, (enum weir_access)t->kind,
                                    t->page->bits[t->kind]};
    t->kind++;
    return true;
}

static void log_free(struct log *log)
{
    uint64_t number;
    size_t pos = 0;
    void *value;

    while (weir_map_next(&log->pages, &pos, &number, &value))
        weir_free(value);
    weir_map_finish(&log->pages);
    weir_free(log);
}

void weir_touches_end(void *touches, struct weir_actor *a)
{
    struct touches *t = touches;
    struct log *log;

    if (!t)
        return;
    log = atomic_load_explicit(&t->logs, memory_order_acquire);
    while (log) {
        struct telling telling = {.log = log};
        struct log *next = log->next;

        weir_check_access_pages(a, tell, &telling);
        log_free(log);
        log = next;
    }
    if (atomic_load_explicit(&t->lost, memory_order_relaxed))
        weir_check_lost();
    weir_free(t);
}
