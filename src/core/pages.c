/* See pages.h. A page here is 64 KiB, in which units the system's reads map a file, and GPUs move.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pages.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/kernel_name.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/vec.h"
#include "core/core.h"
#include "core/managed.h"
#include "memory/memory.h"
#include "memory/share.h"

#define PAGE_SHIFT   16
#define PAGE_BYTES   ((size_t)1 << PAGE_SHIFT)
#define SMALL_SHIFT  12 /* the system's */
#define SMALL        (PAGE_BYTES >> SMALL_SHIFT)
#define PRESENT      ((uint64_t)1 << 63)
#define DEVICES_MAX  7 /* a byte a page says where it is; devices beyond share the last bit */
#define HOST         0 /* places: the host, then the devices */
#define PLACES       (1 + DEVICES_MAX)
#define BATCH        512
#define KERNELS_MAX  64
#define KERNELS_SHOW 3

enum why { BY_HOST, BY_KERNEL, BY_PREFETCH, FOR_ROOM, WHY_COUNT };

static const char *const why_names[WHY_COUNT] = {
    [BY_HOST] = "the host touched them",
    [BY_KERNEL] = "a kernel touched them",
    [BY_PREFETCH] = "prefetched",
    [FOR_ROOM] = "no room on the device (--memory)",
};

struct watched {
    uint64_t id;
    uintptr_t base;
    size_t bytes, pages;
    uint8_t *where;     /* a bit a place, a byte a page; 0: nobody has touched it */
    uint32_t *last_use; /* the turn in which a kernel touched it last */
};

struct move {
    uint64_t pages, bytes, times;
    uint64_t first_ns, last_ns;
    uint32_t turn; /* the last one counted in `times` */
};

struct by_kernel {
    char name[96];
    uint64_t bytes;
};

_Atomic bool weir_pages_watching;

static struct {
    struct weir_lock lock; /* rank PAGES */
    WEIR_VEC(struct watched) list;
    int pagemap; /* descriptor, -1 when the system does not tell */
    uint32_t turn;
    int running;           /* kernels */
    const char *last_name; /* of the kernel that is looked at */
    int last_device;
    size_t on_device[PLACES]; /* bytes */
    size_t evict_list, evict_page;
    struct move moves[PLACES][PLACES][WHY_COUNT]; /* from, to */
    struct move in_place[PLACES];                 /* reached where they were, as advised */
    struct by_kernel kernels[KERNELS_MAX];
    bool any;
} pages = {.lock = WEIR_LOCK_INIT(PAGES), .pagemap = -2};

static int place_of(int device)
{
    return device < 0 ? HOST : 1 + WEIR_MIN(device, DEVICES_MAX - 1);
}

static size_t bytes_of(const struct watched *w, size_t page)
{
    return WEIR_MIN(PAGE_BYTES, w->bytes - (page << PAGE_SHIFT));
}

static void count_move(struct move *m, size_t bytes)
{
    uint64_t now = weir_clock_ns();

    if (m->pages == 0)
        m->first_ns = now;
    m->last_ns = now;
    m->pages++;
    m->bytes += bytes;
    if (m->times == 0 || m->turn != pages.turn)
        m->times++;
    m->turn = pages.turn;
}

static void count_kernel(size_t bytes)
{
    const char *name = pages.last_name;

    for (size_t i = 0; i < KERNELS_MAX; i++) {
        struct by_kernel *k = &pages.kernels[i];

        if (k->name[0] && strncmp(k->name, name, sizeof k->name - 1) != 0)
            continue;
        snprintf(k->name, sizeof k->name, "%s", name);
        k->bytes += bytes;
        return;
    }
}

static void set_where(struct watched *w, size_t page, uint8_t now)
{
    uint8_t before = w->where[page];

    for (int p = 1; p < PLACES; p++) {
        if ((now >> p & 1) && !(before >> p & 1))
            pages.on_device[p] += bytes_of(w, page);
        if (!(now >> p & 1) && (before >> p & 1))
            pages.on_device[p] -= bytes_of(w, page);
    }
    w->where[page] = now;
}

static int first_place(uint8_t where)
{
    int p = 0;

    while (p + 1 < PLACES && !(where >> p & 1))
        p++;
    return p;
}

static void move_page(struct watched *w, size_t page, int to, enum why why, bool keep)
{
    uint8_t where = w->where[page], bit = (uint8_t)(1u << to);

    if (where && !(where & bit)) {
        count_move(&pages.moves[first_place(where)][to][why], bytes_of(w, page));
        if (why == BY_KERNEL && pages.last_name)
            count_kernel(bytes_of(w, page));
    }
    set_where(w, page, keep ? where | bit : bit);
}

/* Takes the pages that were not used for longest (about: in turn, sparing those of this turn first)
 * back to the host until the device's memory holds what is there. */
static void make_room(int place)
{
    struct weir_mem_stats s;
    size_t room, looked = 0, all = 0;

    if (place == HOST)
        return;
    weir_mem_stats(place - 1, &s);
    room = s.device_capacity - WEIR_MIN(s.device_used, s.device_capacity);
    for (size_t i = 0; i < pages.list.count; i++)
        all += pages.list.items[i].pages;
    while (pages.on_device[place] > room && looked < 2 * all) {
        struct watched *w;

        if (pages.evict_list >= pages.list.count) {
            pages.evict_list = pages.evict_page = 0;
            continue;
        }
        w = &pages.list.items[pages.evict_list];
        if (pages.evict_page >= w->pages) {
            pages.evict_list++;
            pages.evict_page = 0;
            continue;
        }
        if ((w->where[pages.evict_page] >> place & 1) &&
            (w->last_use[pages.evict_page] != pages.turn || looked >= all))
            move_page(w, pages.evict_page, HOST, FOR_ROOM, false);
        pages.evict_page++;
        looked++;
    }
}

static void touch(struct watched *w, size_t page, int place, const struct weir_managed_said *said)
{
    uint8_t where = w->where[page], bit = (uint8_t)(1u << place);

    if (place != HOST)
        w->last_use[page] = pages.turn;
    if (where && !(where & bit) && place != HOST && where == 1u << HOST &&
        (said->prefers_host || (said->accessed_by >> (place - 1) & 1))) {
        count_move(&pages.in_place[place], bytes_of(w, page));
        return;
    }
    move_page(w, page, place, place == HOST ? BY_HOST : BY_KERNEL, said->read_mostly);
}

/* Looks at what was touched since the last time, for one allocation, and lets go of it. */
static void look_at(struct watched *w, int place)
{
    struct weir_managed_said said;
    uint64_t map[BATCH];
    size_t small = (w->bytes + ((size_t)1 << SMALL_SHIFT) - 1) >> SMALL_SHIFT, last = SIZE_MAX;
    bool any = false;

    for (size_t i = 0; i < small; i += BATCH) {
        size_t n = WEIR_MIN((size_t)BATCH, small - i);
        off_t at = (off_t)(((w->base >> SMALL_SHIFT) + i) * sizeof *map);

        if (pread(pages.pagemap, map, n * sizeof *map, at) != (ssize_t)(n * sizeof *map))
            return;
        for (size_t k = 0; k < n; k++) {
            size_t page = (i + k) / SMALL;

            if (!(map[k] & PRESENT) || page == last)
                continue;
            if (last == SIZE_MAX)
                weir_managed_said(w->id, w->base, w->bytes, &said);
            touch(w, page, place, &said);
            last = page;
            any = true;
        }
    }
    if (any)
        (void)madvise((void *)w->base, small << SMALL_SHIFT, MADV_DONTNEED);
}

static void look_locked(int place)
{
    pages.turn++;
    for (size_t i = 0; i < pages.list.count; i++)
        look_at(&pages.list.items[i], place);
    make_room(place);
}

void weir_pages_watch(const void *ptr)
{
    struct weir_mem_info info;
    struct watched w;

    if (!weir_core.config.stats || !weir_mem_find(ptr, &info) || !weir_mem_file_back(&info))
        return;
    w = (struct watched){.id = info.id,
                         .base = info.base,
                         .bytes = info.bytes,
                         .pages = (info.bytes + PAGE_BYTES - 1) >> PAGE_SHIFT};
    w.where = weir_calloc(w.pages, sizeof *w.where);
    w.last_use = weir_calloc(w.pages, sizeof *w.last_use);
    weir_lock_acquire(&pages.lock);
    if (pages.pagemap == -2)
        pages.pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (w.where && w.last_use && pages.pagemap >= 0 && weir_vec_push(&pages.list, w)) {
        pages.any = true;
        atomic_store(&weir_pages_watching, true);
        weir_lock_release(&pages.lock);
        return;
    }
    weir_lock_release(&pages.lock);
    weir_free(w.where);
    weir_free(w.last_use);
}

void weir_pages_forget(uint64_t id)
{
    if (!atomic_load_explicit(&weir_pages_watching, memory_order_relaxed))
        return;
    weir_lock_acquire(&pages.lock);
    for (size_t i = 0; i < pages.list.count; i++) {
        struct watched *w = &pages.list.items[i];

        if (w->id != id)
            continue;
        look_at(w, pages.running ? place_of(pages.last_device) : HOST);
        for (size_t k = 0; k < w->pages; k++)
            set_where(w, k, 0);
        weir_free(w->where);
        weir_free(w->last_use);
        *w = pages.list.items[--pages.list.count];
        break;
    }
    weir_lock_release(&pages.lock);
}

void weir_pages_kernel_begin(int device)
{
    if (!atomic_load_explicit(&weir_pages_watching, memory_order_relaxed))
        return;
    weir_lock_acquire(&pages.lock);
    look_locked(pages.running ? place_of(pages.last_device) : HOST);
    pages.running++;
    pages.last_device = device;
    weir_lock_release(&pages.lock);
}

void weir_pages_kernel_end(int device, const char *name)
{
    if (!atomic_load_explicit(&weir_pages_watching, memory_order_relaxed))
        return;
    weir_lock_acquire(&pages.lock);
    if (pages.running) { /* it began before anything was watched */
        pages.last_name = name;
        look_locked(place_of(device));
        pages.last_name = NULL;
        pages.running--;
    }
    weir_lock_release(&pages.lock);
}

void weir_pages_node_end(int device, const char *name)
{
    if (!atomic_load_explicit(&weir_pages_watching, memory_order_relaxed))
        return;
    weir_lock_acquire(&pages.lock);
    pages.last_name = name;
    look_locked(place_of(device));
    pages.last_name = NULL;
    weir_lock_release(&pages.lock);
}

void weir_pages_prefetch(const void *ptr, size_t bytes, struct weir_location to)
{
    int place = place_of(to.type == WEIR_LOCATION_DEVICE ? to.id : -1);

    if (!atomic_load_explicit(&weir_pages_watching, memory_order_relaxed))
        return;
    weir_lock_acquire(&pages.lock);
    look_locked(pages.running ? place_of(pages.last_device) : HOST);
    for (size_t i = 0; i < pages.list.count; i++) {
        struct watched *w = &pages.list.items[i];
        struct weir_managed_said said;
        size_t start, end;

        if ((uintptr_t)ptr < w->base || (uintptr_t)ptr >= w->base + w->bytes)
            continue;
        weir_managed_said(w->id, w->base, w->bytes, &said);
        start = ((uintptr_t)ptr - w->base) >> PAGE_SHIFT;
        end = ((uintptr_t)ptr - w->base + bytes + PAGE_BYTES - 1) >> PAGE_SHIFT;
        for (size_t p = start; p < WEIR_MIN(end, w->pages); p++) {
            w->last_use[p] = pages.turn;
            move_page(w, p, place, BY_PREFETCH, said.read_mostly);
        }
    }
    make_room(place);
    weir_lock_release(&pages.lock);
}

/* ---- the table ---- */

static void print_place(FILE *f, int place, int width)
{
    if (place == HOST)
        fprintf(f, "%-*s", width, "host");
    else
        fprintf(f, "device %-*d", width - 7, place - 1);
}

static void print_move(FILE *f, const struct move *m, int from, int to, const char *why)
{
    if (m->pages == 0)
        return;
    fprintf(f, "    ");
    print_place(f, from, 9);
    fprintf(f, " to ");
    print_place(f, to, 9);
    fprintf(f, " %-34s %9" PRIu64 " %14" PRIu64 " %7" PRIu64 " %10.3f %10.3f\n", why, m->pages,
            m->bytes, m->times, (double)(m->first_ns - weir_core.start_ns) * 1e-6,
            (double)(m->last_ns - weir_core.start_ns) * 1e-6);
}

static void print_kernels(FILE *f)
{
    for (int shown = 0; shown < KERNELS_SHOW; shown++) {
        struct by_kernel *most = NULL;
        char name[96];

        for (size_t i = 0; i < KERNELS_MAX && pages.kernels[i].name[0]; i++) {
            if (pages.kernels[i].bytes && (!most || pages.kernels[i].bytes > most->bytes))
                most = &pages.kernels[i];
        }
        if (!most)
            return;
        fprintf(f, "    kernel %s brought %" PRIu64 " bytes to it\n",
                weir_kernel_scoped_name(most->name, name, sizeof name), most->bytes);
        most->bytes = 0;
    }
}

void weir_pages_print(FILE *f)
{
    weir_lock_acquire(&pages.lock);
    if (pages.any) {
        look_locked(HOST);
        fprintf(f,
                "pages of managed memory that would move on a GPU\n    %-22s %-34s %9s %14s %7s "
                "%10s %10s\n",
                "", "why", "64 KiB", "bytes", "times", "first ms", "last ms");
        for (int from = 0; from < PLACES; from++) {
            for (int to = 0; to < PLACES; to++) {
                for (int why = 0; why < WHY_COUNT; why++)
                    print_move(f, &pages.moves[from][to][why], from, to, why_names[why]);
            }
        }
        for (int p = 1; p < PLACES; p++)
            print_move(f, &pages.in_place[p], HOST, p, "reached where they are, as advised");
        print_kernels(f);
    }
    weir_lock_release(&pages.lock);
}
