/* SPDX-License-Identifier: Apache-2.0 */
#include "core/touch.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "memory/memory.h"

#define RECENT     8               /* ranges that a new one may extend */
#define COMPACT_AT ((size_t)65536) /* ranges, before they are sorted and joined */
#define TELL_AT    ((size_t)1 << 20)

struct range {
    uint64_t begin, end;
    uint32_t kind; /* enum weir_access */
};

/* Of one thread. */
struct log {
    struct log *next;
    size_t compact_at;
    WEIR_VEC(struct range) ranges;
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
    log->compact_at = COMPACT_AT;
    log->next = atomic_load_explicit(&t->logs, memory_order_relaxed);
    /* Release: the reader is ordered behind by the end of the blocks; this is for the list. */
    while (!atomic_compare_exchange_weak_explicit(&t->logs, &log->next, log, memory_order_release,
                                                  memory_order_relaxed))
        ;
    mine.id = t->id;
    mine.log = log;
    return log;
}

static int compare(const void *a, const void *b)
{
    const struct range *x = a, *y = b;

    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static void compact(struct log *log)
{
    size_t n = 0;

    qsort(log->ranges.items, log->ranges.count, sizeof log->ranges.items[0], compare);
    for (size_t i = 0; i < log->ranges.count; i++) {
        struct range r = log->ranges.items[i], *last = n ? &log->ranges.items[n - 1] : NULL;

        if (last && last->kind == r.kind && r.begin <= last->end)
            last->end = WEIR_MAX(last->end, r.end);
        else
            log->ranges.items[n++] = r;
    }
    log->ranges.count = n;
    log->compact_at = WEIR_MAX(COMPACT_AT, n * 2);
}

static void add(struct touches *t, struct log *log, uint64_t begin, uint64_t end, uint32_t kind)
{
    size_t n = log->ranges.count;

    for (size_t i = 0; i < RECENT && i < n; i++) {
        struct range *r = &log->ranges.items[n - 1 - i];

        if (r->kind != kind || begin > r->end || end < r->begin)
            continue;
        r->begin = WEIR_MIN(r->begin, begin);
        r->end = WEIR_MAX(r->end, end);
        return;
    }
    if (n >= log->compact_at)
        compact(log);
    if (log->ranges.count >= TELL_AT ||
        !weir_vec_push(&log->ranges, ((struct range){begin, end, kind})))
        atomic_store_explicit(&t->lost, true, memory_order_relaxed);
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
static bool is_the_programs(uint64_t address)
{
    struct weir_mem_info info;

    if (!weir_mem_find((const void *)(uintptr_t)address, &info))
        return address - weir_mem_window_base < weir_mem_window_bytes;
    return info.kind != WEIR_MEM_KIND_INTERNAL;
}

void weir_touches_end(void *touches, struct weir_actor *a)
{
    struct touches *t = touches;
    struct log *log;

    if (!t)
        return;
    log = atomic_load_explicit(&t->logs, memory_order_acquire);
    while (log) {
        struct log *next = log->next;

        compact(log);
        for (size_t i = 0; a && i < log->ranges.count; i++) {
            const struct range *r = &log->ranges.items[i];
            struct weir_check_range all = {.begin = r->begin,
                                           .width = r->end - r->begin,
                                           .height = 1,
                                           .depth = 1,
                                           .pitch = r->end - r->begin};

            if (is_the_programs(r->begin))
                weir_check_access(a, (enum weir_access)r->kind, &all);
        }
        weir_vec_finish(&log->ranges);
        weir_free(log);
        log = next;
    }
    if (atomic_load_explicit(&t->lost, memory_order_relaxed))
        weir_check_lost();
    weir_free(t);
}
