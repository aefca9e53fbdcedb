/* SPDX-License-Identifier: Apache-2.0 */
#include "core/touch.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/bits.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/map.h"
#include "core/module.h"
#include "core/race.h"
#include "core/touch_int.h"
#include "memory/memory.h"

#define CHUNK_PAGES   56
#define CHUNKS_KEPT   256 /* of launches that are over: 8 MiB */
#define TOUCHES_KEPT  64
#define TABLE_ENTRIES 4 /* a page */
#define AHEAD         8 /* pages */
#define WRONGS        64

struct chunk {
    struct chunk *next;
    uint32_t count;
    struct touch_page pages[CHUNK_PAGES];
};

/* In the stock all is zero, but for the entries, which are. */
struct touches {
    uint64_t *entries;     /* a table of the whole window; NULL: none yet */
    struct weir_lock lock; /* all that follows, and the entries' changes: they are read without */
    struct chunk *chunks;
    struct weir_races *races;       /* NULL: nobody asks */
    struct weir_check_wrong *wrong; /* WRONGS of them; NULL: none yet */
    uint32_t wrong_count;
    const struct weir_check_op *op; /* as the checker knows it */
    struct weir_map far; /* number * 4 + kind -> struct touch_page: of registered memory */
    struct chunk *early; /* of pages that are in no table any more (weir_touches_part) */
    bool parted;
    bool lost;
};

struct shelf {
    uint32_t most, count;
    void *items[CHUNKS_KEPT];
};

/* Of the process: kept from one launch for the next. */
static struct {
    struct weir_lock lock;
    struct shelf chunks, touches;
    uint64_t *empty; /* read only, always empty */
} stock = {.lock = WEIR_LOCK_INIT(LEAF), .chunks.most = CHUNKS_KEPT, .touches.most = TOUCHES_KEPT};

struct touch_page weir_touch_nothing;

/* What a launch has for which there was no memory. */
static struct touches nobody = {.lock = WEIR_LOCK_INIT(TOUCH), .lost = true};

/* ---- tables and chunks ---- */

static uint64_t *table_map(int protection)
{
    size_t bytes = (weir_mem_window_bytes >> TOUCH_PAGE_SHIFT) * TABLE_ENTRIES * sizeof(uint64_t);
    void *p = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

static uint64_t *empty_table(void)
{
    weir_lock_acquire(&stock.lock);
    if (!stock.empty)
        stock.empty = table_map(PROT_READ);
    weir_lock_release(&stock.lock);
    return stock.empty;
}

/* NULL: there is none. */
static void *shelf_take(struct shelf *s)
{
    void *p;

    weir_lock_acquire(&stock.lock);
    p = s->count ? s->items[--s->count] : NULL;
    weir_lock_release(&stock.lock);
    return p;
}

/* False: there is no room for it. */
static bool shelf_keep(struct shelf *s, void *p)
{
    bool room;

    weir_lock_acquire(&stock.lock);
    room = s->count < s->most;
    if (room)
        s->items[s->count++] = p;
    weir_lock_release(&stock.lock);
    return room;
}

static struct chunk *chunk_take(void)
{
    struct chunk *c = shelf_take(&stock.chunks);

    return c ? c : weir_alloc(sizeof *c);
}

static void chunk_give(struct chunk *c)
{
    if (!shelf_keep(&stock.chunks, c))
        weir_free(c);
}

/* ---- launches ---- */

/* NULL: no memory. */
static struct touches *touches_take(void)
{
    struct touches *t = shelf_take(&stock.touches);

    if (t || !(t = weir_calloc(1, sizeof *t)))
        return t;
    weir_lock_init(&t->lock, WEIR_RANK_TOUCH);
    return t;
}

static void touches_give(struct touches *t)
{
    if (shelf_keep(&stock.touches, t))
        return;
    if (t->entries)
        munmap(t->entries,
               (weir_mem_window_bytes >> TOUCH_PAGE_SHIFT) * TABLE_ENTRIES * sizeof(uint64_t));
    weir_free(t);
}

void *weir_touches_begin(void)
{
    struct touches *t;

    if (!weir_check_is_exact())
        return NULL;
    t = touches_take();
    if (!t)
        return &nobody;
    if (weir_check_wants_kernel_races() && !(t->races = weir_races_create()))
        t->lost = true;
    return t;
}

struct weir_races *weir_touches_races(const struct weir_launch *l)
{
    const struct touches *t = l->touches;

    return t ? t->races : NULL;
}

void weir_touches_open(struct weir_launch *l, const struct weir_check_op *op)
{
    struct touches *t = l->touches;
    const uint64_t *entries;

    l->untouched = &weir_touch_nothing;
    if (!t)
        return;
    if (t != &nobody) {
        if (!t->entries)
            t->entries = table_map(PROT_READ | PROT_WRITE);
        t->op = op;
    }
    entries = t->entries ? t->entries : empty_table();
    if (!entries) /* the first access fails */
        weir_log(WEIR_LOG_ERROR, "check: no address space to note what kernels touch");
    l->touched = entries ? (uintptr_t)entries - (weir_mem_window_base >> TOUCH_PAGE_SHIFT) *
                                                    TABLE_ENTRIES * sizeof(uint64_t)
                         : 0;
}

/* ---- pages ---- */

/* With the lock. NULL: no memory. */
static struct touch_page *page_new(struct touches *t, uint64_t number, uint32_t kind)
{
    struct chunk *c = t->chunks;
    struct touch_page *p;

    if (!c || c->count == CHUNK_PAGES) {
        c = chunk_take();
        if (!c) {
            t->lost = true;
            return NULL;
        }
        c->next = t->chunks;
        c->count = 0;
        t->chunks = c;
    }
    p = &c->pages[c->count++];
    memset(p, 0, sizeof *p);
    p->number = number;
    p->kind = kind;
    return p;
}

static uint64_t *entry_of(const struct touches *t, uint64_t number, uint32_t kind)
{
    return &t->entries[(number - (weir_mem_window_base >> TOUCH_PAGE_SHIFT)) * TABLE_ENTRIES +
                       kind];
}

/* A page of which all bytes belong to one allocation is good for any access; *whole: how many such
 * pages there are from this one on. */
static uint32_t flags_of(const struct touches *t, uint64_t number, uint32_t kind, uint64_t *whole)
{
    uintptr_t begin = (uintptr_t)(number << TOUCH_PAGE_SHIFT);
    struct weir_mem_info info;

    *whole = 0;
    if (!weir_mem_find((const void *)begin, &info)) {
        uintptr_t end;

        if (!weir_check_had(weir_check_number(t->op), begin, &info.base, &end))
            return TOUCH_CAREFUL;
        info.bytes = end - info.base; /* it was freed at a call, and is not in the stream */
        info.kind = WEIR_MEM_KIND_DEVICE;
    }
    *whole = (info.bytes - (begin - info.base)) >> TOUCH_PAGE_SHIFT;
    if (!*whole)
        return TOUCH_CAREFUL;
    if (weir_check_wants_init() && kind != 1 && info.kind == WEIR_MEM_KIND_DEVICE) {
        *whole = 1; /* the next ones may be otherwise */
        return weir_check_page_is_written(number) ? 0 : TOUCH_CAREFUL;
    }
    return info.kind == WEIR_MEM_KIND_INTERNAL ? TOUCH_OWN : 0;
}

/* With the lock: the page's entry, which is empty, is filled in. */
static struct touch_page *page_enter(struct touches *t, uint64_t number, uint32_t kind,
                                     uint32_t flags)
{
    struct touch_page *p = page_new(t, number, kind);

    if (!p)
        return NULL;
    p->flags = flags;
    if (flags & TOUCH_OWN)
        memset(p->bits, 0xff, sizeof p->bits);
    __atomic_store_n(entry_of(t, number, kind), (uintptr_t)p - (uintptr_t)&weir_touch_nothing,
                     __ATOMIC_RELEASE);
    return p;
}

/* Who goes through an allocation comes to the next pages, too. */
static void enter_ahead(struct touches *t, uint64_t number, uint32_t kind, uint64_t whole)
{
    if (!*entry_of(t, number - 1, kind))
        return;
    for (uint64_t i = 1; i < WEIR_MIN(whole, (uint64_t)AHEAD) && !*entry_of(t, number + i, kind);
         i++)
        if (!page_enter(t, number + i, kind, 0))
            return;
}

static struct touch_page *page_of(struct touches *t, uint64_t number, uint32_t kind)
{
    bool inside = number - (weir_mem_window_base >> TOUCH_PAGE_SHIFT) < weir_mem_window_bytes >>
                  TOUCH_PAGE_SHIFT;
    struct touch_page *p;
    uint64_t *entry;

    if (t == &nobody || (inside && !t->entries))
        return NULL;
    weir_lock_acquire(&t->lock);
    if (!inside) {
        p = weir_map_get(&t->far, number * 4 + kind);
        if (!p && (p = page_new(t, number, kind)) && !weir_map_put(&t->far, number * 4 + kind, p)) {
            t->lost = true;
            p = NULL;
        }
        if (p)
            p->flags = TOUCH_CAREFUL;
        weir_lock_release(&t->lock);
        return p;
    }
    entry = entry_of(t, number, kind);
    if (*entry) {
        p = (struct touch_page *)((uintptr_t)&weir_touch_nothing + *entry);
    } else {
        uint64_t whole;
        uint32_t flags = flags_of(t, number, kind, &whole);

        p = page_enter(t, number, kind, flags);
        if (p && !flags && number > weir_mem_window_base >> TOUCH_PAGE_SHIFT)
            enter_ahead(t, number, kind, whole);
    }
    weir_lock_release(&t->lock);
    return p;
}

static void set_bits(struct touch_page *p, unsigned lo, unsigned hi_1)
{
    for (unsigned w = lo / 64; w <= hi_1 / 64; w++) {
        uint64_t m = weir_bits_span(w, lo, hi_1);

        if ((__atomic_load_n(&p->bits[w], __ATOMIC_RELAXED) & m) != m)
            __atomic_fetch_or(&p->bits[w], m, __ATOMIC_RELAXED);
    }
}

/* ---- what the fast path leaves ---- */

struct access {
    struct weir_block *block;
    struct touches *touches;
    uint32_t bytes, kind, line, lane;
    bool reads; /* also what is written */
};

static const enum weir_access kinds[] = {WEIR_ACCESS_READ, WEIR_ACCESS_WRITE, WEIR_ACCESS_ATOMIC,
                                         WEIR_ACCESS_ATOMIC};

/* A line of the kernel is told of once for each page. */
static void wrong(const struct access *a, enum weir_check_wrong_kind kind, uint64_t address)
{
    struct touches *t = a->touches;
    const uint32_t *shape = a->block->launch->block;
    uint32_t thread = a->block->warp * 32 + a->lane, i = 0;

    weir_lock_acquire(&t->lock);
    if (!t->wrong && !(t->wrong = weir_calloc(WRONGS, sizeof *t->wrong))) {
        t->lost = true;
        weir_lock_release(&t->lock);
        return;
    }
    while (i < t->wrong_count &&
           (t->wrong[i].kind != kind || t->wrong[i].at.ptx_line != a->line ||
            t->wrong[i].at.address >> TOUCH_PAGE_SHIFT != address >> TOUCH_PAGE_SHIFT))
        i++;
    if (i == t->wrong_count && i < WRONGS) {
        struct weir_check_thread *at = &t->wrong[i].at;

        t->wrong_count++;
        t->wrong[i].kind = kind;
        *at = (struct weir_check_thread){
            .address = address, .bytes = a->bytes, .access = kinds[a->kind], .ptx_line = a->line};
        memcpy(at->block, a->block->ctaid, sizeof at->block);
        at->thread[0] = thread % shape[0];
        at->thread[1] = thread / shape[0] % shape[1];
        at->thread[2] = thread / shape[0] / shape[1];
    }
    weir_lock_release(&t->lock);
}

static bool is_written_early(struct touches *t, uint64_t address)
{
    uint64_t number = address >> TOUCH_PAGE_SHIFT, at = address % TOUCH_PAGE_BYTES;
    bool written = false;

    weir_lock_acquire(&t->lock);
    for (const struct chunk *c = t->early; c && !written; c = c->next)
        for (uint32_t i = 0; i < c->count && !written; i++)
            written =
                c->pages[i].number == number && c->pages[i].kind >= 1 && c->pages[i].kind <= 2 &&
                (__atomic_load_n(&c->pages[i].bits[at / 64], __ATOMIC_RELAXED) >> (at % 64) & 1);
    weir_lock_release(&t->lock);
    return written;
}

static bool is_written_here(struct touches *t, uint64_t address)
{
    uint64_t number = address >> TOUCH_PAGE_SHIFT, at = address % TOUCH_PAGE_BYTES;

    for (uint32_t kind = 1; kind <= 2; kind++) {
        uint64_t entry = __atomic_load_n(entry_of(t, number, kind), __ATOMIC_ACQUIRE);
        const struct touch_page *p =
            (const struct touch_page *)((uintptr_t)&weir_touch_nothing + entry);

        if (__atomic_load_n(&p->bits[at / 64], __ATOMIC_RELAXED) >> (at % 64) & 1)
            return true;
    }
    return is_written_early(t, address);
}

static void look_for_contents(const struct access *a, uint64_t begin, uint64_t end)
{
    uint32_t missing = weir_check_unwritten(begin, (uint32_t)(end - begin));

    for (; missing; missing &= missing - 1) {
        if (is_written_here(a->touches, begin + (unsigned)__builtin_ctz(missing)))
            continue;
        wrong(a, WEIR_WRONG_UNINITIALISED, begin);
        return;
    }
}

static bool is_parameter(const struct access *a, uint64_t begin)
{
    const struct weir_launch *l = a->block->launch;

    return begin - (uint64_t)(uintptr_t)l->params < l->param_bytes;
}

/* Of a page that is not one allocation's alone, or not initialised. Memory of Weir's own (a small
 * one beside a program's) is not noted. */
static void look(const struct access *a, struct touch_page *p, uint64_t begin, uint64_t end)
{
    while (begin < end) {
        struct weir_mem_info info;
        bool found = weir_mem_find((const void *)(uintptr_t)begin, &info);
        /* What was freed a moment ago is noted, too: that may be the race. */
        uint64_t stop = found ? WEIR_MIN(end, info.base + info.bytes) : end;

        if (!found && !is_parameter(a, begin))
            wrong(a, WEIR_WRONG_OUTSIDE, begin);
        if ((!found || info.kind == WEIR_MEM_KIND_DEVICE) && weir_check_wants_init() &&
            (a->kind == 0 || a->kind == 3 || a->reads))
            look_for_contents(a, begin, stop);
        if (!found || info.kind != WEIR_MEM_KIND_INTERNAL)
            set_bits(p, (unsigned)(begin % TOUCH_PAGE_BYTES),
                     (unsigned)((stop - 1) % TOUCH_PAGE_BYTES));
        begin = stop;
    }
}

/* False, if not `each`: lane by lane, please. */
static bool range(const struct access *a, uint64_t begin, uint64_t bytes, bool each)
{
    uint64_t end = begin + bytes;

    while (begin < end) {
        uint64_t number = begin >> TOUCH_PAGE_SHIFT;
        uint64_t stop = WEIR_MIN(end, (number + 1) << TOUCH_PAGE_SHIFT);
        struct touch_page *p = page_of(a->touches, number, a->kind);

        if (p && p->flags & TOUCH_CAREFUL) {
            if (!each)
                return false;
            look(a, p, begin, stop);
        } else if (p && !p->flags) {
            set_bits(p, (unsigned)(begin % TOUCH_PAGE_BYTES),
                     (unsigned)((stop - 1) % TOUCH_PAGE_BYTES));
        }
        begin = stop;
    }
    return true;
}

static bool begin_access(struct access *a, struct weir_block *block, uint64_t code)
{
    *a = (struct access){.block = block,
                         .touches = block->launch->touches,
                         .bytes = (uint32_t)(code & 0xffff),
                         .kind = (uint32_t)(code >> 16 & 3),
                         .reads = code >> 18 & 1,
                         .line = (uint32_t)(code >> 32)};
    return a->touches != NULL;
}

/* Lanes of a group: bit 24 on of the code says which is its first. */
void weir_touch_slow(struct weir_block *block, uint64_t lanes, uint64_t code, uint64_t base,
                     int64_t stride)
{
    uint32_t first = (uint32_t)(code >> 24 & 0xff);
    struct access a;

    if (!begin_access(&a, block, code))
        return;
    if (stride == (int64_t)a.bytes && /* it is one run of lanes (touch_fast.c) */
        range(&a, base + (uint64_t)(stride * __builtin_ctzll(lanes)),
              (uint64_t)a.bytes * (unsigned)__builtin_popcountll(lanes), false))
        return;
    for (; lanes; lanes &= lanes - 1) {
        a.lane = first + (unsigned)__builtin_ctzll(lanes);
        (void)range(&a, base + (uint64_t)(stride * __builtin_ctzll(lanes)), a.bytes, true);
    }
}

void weir_touch_lanes_slow(struct weir_block *block, uint64_t lanes, uint64_t code,
                           const uint64_t *addresses)
{
    struct access a;

    if (!begin_access(&a, block, code))
        return;
    for (; lanes; lanes &= lanes - 1) {
        a.lane = (unsigned)__builtin_ctzll(lanes);
        (void)range(&a, addresses[a.lane], a.bytes, true);
    }
}

/* ---- the end ---- */

bool weir_touches_are_none(const void *touches)
{
    const struct touches *t = touches;

    return t != &nobody && !t->chunks && !t->early && !t->far.count && !t->wrong_count &&
           !t->races && !t->parted && !t->lost;
}

struct telling {
    const struct chunk *chunk;
    uint32_t index;
};

static bool tell(void *ctx, struct weir_check_page *out)
{
    struct telling *t = ctx;
    const struct touch_page *p;

    do {
        while (t->chunk && t->index == t->chunk->count) {
            t->chunk = t->chunk->next;
            t->index = 0;
        }
        if (!t->chunk)
            return false;
        p = &t->chunk->pages[t->index++];
    } while (p->flags & TOUCH_OWN);
    *out = (struct weir_check_page){p->number, kinds[p->kind], p->bits};
    return true;
}

static void find_source(struct weir_check_thread *at, const struct weir_function_image *image)
{
    if (!weir_cg_kernel_source(image->kernel, at->ptx_line, &at->file, &at->line))
        at->line = 0;
}

static void tell_wrongs(struct touches *t, struct weir_actor *a, const struct weir_function *f,
                        const struct weir_function_image *image)
{
    for (uint32_t i = 0; i < t->wrong_count; i++) {
        find_source(&t->wrong[i].at, image);
        weir_check_kernel_wrong(a, f->name, &t->wrong[i]);
    }
}

static bool in_window(uint64_t number)
{
    return number - (weir_mem_window_base >> TOUCH_PAGE_SHIFT) < weir_mem_window_bytes >>
           TOUCH_PAGE_SHIFT;
}

/* Takes the pages of the list out of the table. */
static void leave_table(struct touches *t, const struct chunk *list)
{
    for (const struct chunk *c = list; c && t->entries; c = c->next)
        for (uint32_t i = 0; i < c->count; i++)
            if (in_window(c->pages[i].number))
                __atomic_store_n(entry_of(t, c->pages[i].number, c->pages[i].kind), 0,
                                 __ATOMIC_RELEASE);
}

/* Others may note in the pages still: what they do before their own waits, and there it belongs. */
void weir_touches_part(void *touches)
{
    struct touches *t = touches;

    if (t == &nobody)
        return;
    weir_lock_acquire(&t->lock);
    if (!t->parted) {
        t->parted = true;
        leave_table(t, t->chunks);
        t->early = t->chunks;
        t->chunks = NULL;
        weir_map_finish(&t->far);
        t->far = (struct weir_map){0};
    }
    weir_lock_release(&t->lock);
}

static void chunks_give(struct chunk *list)
{
    for (struct chunk *c = list, *next; c; c = next) {
        next = c->next;
        chunk_give(c);
    }
}

void weir_touches_drop(void *touches)
{
    struct touches *t = touches;

    if (!t || t == &nobody)
        return;
    leave_table(t, t->chunks);
    chunks_give(t->chunks);
    chunks_give(t->early);
    if (t->far.cap)
        weir_map_finish(&t->far);
    if (t->races)
        weir_races_destroy(t->races);
    weir_free(t->wrong);
    t->chunks = t->early = NULL;
    t->races = NULL;
    t->wrong = NULL;
    t->wrong_count = 0;
    t->op = NULL;
    t->parted = t->lost = false;
    touches_give(t);
}

static void tell_races(struct touches *t, struct weir_actor *a, const struct weir_function *f,
                       const struct weir_function_image *image, uint32_t shared_bytes)
{
    uint32_t count;
    const struct weir_check_threads *found = weir_races_found(t->races, &count);

    for (uint32_t i = 0; i < count; i++) {
        struct weir_check_threads one = found[i];

        find_source(&one.first, image);
        find_source(&one.second, image);
        if (one.shared && one.second.bytes &&
            !weir_cg_kernel_shared(image->kernel, one.second.address, shared_bytes, &one.variable,
                                   &one.offset))
            one.variable = NULL;
        weir_check_kernel_threads(a, f->name, &one);
    }
    if (weir_races_lost(t->races))
        weir_check_lost();
}

/* Pages of a kind that are to be told, into `out` when it is not NULL; their number. */
static size_t pages_of(const struct touches *t, bool writes, const struct touch_page **out)
{
    const struct chunk *const lists[] = {t->early, t->chunks};
    size_t n = 0;

    for (size_t i = 0; i < WEIR_ARRAY_SIZE(lists); i++) {
        for (const struct chunk *c = lists[i]; c; c = c->next) {
            for (uint32_t k = 0; k < c->count; k++) {
                const struct touch_page *p = &c->pages[k];

                if ((p->flags & TOUCH_OWN) || (kinds[p->kind] != WEIR_ACCESS_READ) != writes)
                    continue;
                if (out)
                    out[n] = p;
                n++;
            }
        }
    }
    return n;
}

static int by_number(const void *x, const void *y)
{
    const struct touch_page *a = *(const struct touch_page *const *)x;
    const struct touch_page *b = *(const struct touch_page *const *)y;

    return a->number < b->number ? -1 : a->number > b->number;
}

static void add_range(struct weir_touch_range *out, size_t most, size_t *count, uint64_t from,
                      uint64_t to)
{
    size_t least = 0;

    if (*count && from <= out[*count - 1].to) {
        out[*count - 1].to = WEIR_MAX(out[*count - 1].to, to);
        return;
    }
    out[(*count)++] = (struct weir_touch_range){from, to};
    if (*count <= most)
        return;
    for (size_t i = 1; i + 1 < *count; i++) {
        if (out[i + 1].from - out[i].to < out[least + 1].from - out[least].to)
            least = i;
    }
    out[least].to = out[least + 1].to;
    memmove(out + least + 1, out + least + 2, (*count - least - 2) * sizeof *out);
    (*count)--;
}

static void add_page(struct weir_touch_range *out, size_t most, size_t *count, uint64_t number,
                     const uint64_t bits[TOUCH_WORDS])
{
    uint64_t base = number << TOUCH_PAGE_SHIFT;

    for (unsigned w = 0; w < TOUCH_WORDS; w++) {
        uint64_t left = bits[w];

        while (left) {
            unsigned first = (unsigned)__builtin_ctzll(left);
            uint64_t run = ~(left >> first);
            unsigned n = run ? (unsigned)__builtin_ctzll(run) : 64;

            n = WEIR_MIN(n, 64 - first);
            add_range(out, most, count, base + 64 * w + first, base + 64 * w + first + n);
            left = first + n == 64 ? 0 : left >> (first + n) << (first + n);
        }
    }
}

bool weir_touches_ranges(const void *touches, bool writes, struct weir_touch_range *out,
                         size_t most, size_t *count)
{
    const struct touches *t = touches;
    size_t n = t == &nobody || t->lost ? 0 : pages_of(t, writes, NULL);
    const struct touch_page **pages = weir_alloc((n + 1) * sizeof *pages);

    *count = 0;
    if (!pages || t == &nobody || t->lost) {
        weir_free(pages);
        return false;
    }
    (void)pages_of(t, writes, pages);
    qsort(pages, n, sizeof *pages, by_number);
    for (size_t i = 0; i < n;) {
        uint64_t bits[TOUCH_WORDS] = {0}, number = pages[i]->number;

        for (; i < n && pages[i]->number == number; i++) {
            for (unsigned w = 0; w < TOUCH_WORDS; w++)
                bits[w] |= pages[i]->bits[w];
        }
        add_page(out, most, count, number, bits);
    }
    weir_free(pages);
    return true;
}

void weir_touches_end(void *touches, struct weir_actor *a, struct weir_actor *early,
                      const struct weir_function *f, const struct weir_function_image *image,
                      uint32_t shared_bytes)
{
    struct touches *t = touches;

    if (!t)
        return;
    if (t->lost)
        weir_check_lost();
    if (a && t != &nobody) {
        struct telling first = {.chunk = t->early}, rest = {.chunk = t->chunks};

        if (t->early)
            weir_check_access_pages(early ? early : a, tell, &first);
        weir_check_access_pages(early && !t->parted ? early : a, tell, &rest);
    }
    tell_wrongs(t, a, f, image);
    if (t->races)
        tell_races(t, a, f, image, shared_bytes);
    weir_touches_drop(t);
}
