/* The window itself: reserves the addresses, opens and closes pages, start and end of the layer.
 * Allocation is in alloc.c, look-up in find.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "memory/memory_int.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/sanitize.h"
#include "trace/record.h"

#define WINDOW_MIN ((size_t)64 << 20)
#define WINDOW_MAX ((size_t)16 << 40)

#define POPULATE_MAX   ((size_t)128 << 20)
#define POPULATE_TOTAL ((size_t)512 << 20)

uintptr_t weir_mem_window_base;
size_t weir_mem_window_bytes;
struct weir_mem_twin weir_mem_twin;
struct mem_state weir_mem_state;

static void *reserve(size_t bytes, int protection)
{
    void *p = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

/* Of both mappings: pages of the file, or (closed) none. */
static bool remap_twice(uintptr_t start, size_t bytes, int protection)
{
    int flags = MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd = weir_mem_state.twin_fd;
    off_t at = (off_t)(start - weir_mem_twin.base);

    if (protection == PROT_NONE)
        (void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, (off_t)bytes);
    return mmap((void *)start, bytes, protection, flags, fd, at) != MAP_FAILED &&
           mmap((void *)(start + weir_mem_twin.shift), bytes, protection, flags, fd, at) !=
               MAP_FAILED;
}

static bool remap(uintptr_t start, size_t bytes, int protection)
{
    if (weir_mem_has_twin(start))
        return remap_twice(start, bytes, protection);
    return mmap((void *)start, bytes, protection,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
}

static bool is_populated(size_t bytes)
{
    return bytes > HUGE_BYTES && bytes <= POPULATE_MAX;
}

/* No kernel or copy is to pay for the first touch, for programs measure them without a warm-up. So
 * moderate allocations get their pages soon (populate.c), while it is not much in all; larger ones
 * may be meant to be touched here and there only. */
static void pages_populate(size_t granule, size_t bytes)
{
    size_t before =
        atomic_fetch_add_explicit(&weir_mem_state.populated, bytes, memory_order_relaxed);

    if (before + bytes <= POPULATE_TOTAL)
        weir_mem_populate(granule_address(granule), bytes);
}

static void populate_cancel(size_t granule, size_t bytes)
{
    if (is_populated(bytes))
        weir_mem_populate_cancel(granule_address(granule), bytes);
}

static void populated_give(size_t bytes)
{
    if (is_populated(bytes))
        atomic_fetch_sub_explicit(&weir_mem_state.populated, bytes, memory_order_relaxed);
}

bool weir_mem_pages_open(size_t granule, size_t bytes)
{
    if (!remap(granule_address(granule), bytes, PROT_READ | PROT_WRITE))
        return false;
    if (bytes >= HUGE_BYTES) /* advice only: refusal does no harm */
        (void)madvise((void *)granule_address(granule), bytes, MADV_HUGEPAGE);
    if (is_populated(bytes))
        pages_populate(granule, bytes);
    return true;
}

bool weir_mem_pages_close(size_t granule, size_t bytes)
{
    populate_cancel(granule, bytes);
    if (!remap(granule_address(granule), bytes, PROT_NONE))
        return false;
    populated_give(bytes);
    return true;
}

bool weir_mem_gap_close(uintptr_t start, size_t bytes)
{
    return remap(start, bytes, PROT_NONE);
}

void weir_mem_pages_drop(size_t granule, size_t bytes)
{
    uintptr_t start = granule_address(granule);

    populate_cancel(granule, bytes);
    if (weir_mem_has_twin(start))
        (void)fallocate(weir_mem_state.twin_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                        (off_t)(start - weir_mem_twin.base), (off_t)bytes);
    else
        (void)madvise((void *)start, bytes, MADV_DONTNEED);
    populated_give(bytes);
}

static size_t host_memory_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

    return pages > 0 && page > 0 ? (size_t)pages * (size_t)page : (size_t)1 << 30;
}

/* The default leaves room to hand out every byte of the devices several times before an address is
 * used again. */
static size_t window_wanted(const struct weir_mem_config *config, size_t host_bytes)
{
    size_t want = config->window_bytes;
    struct rlimit limit;

    if (!want) {
        want = (size_t)1 << 40;
        if (config->device_bytes > WINDOW_MAX / 4 / (size_t)config->device_count)
            want = WINDOW_MAX;
        else
            want = WEIR_MAX(want, 4 * config->device_bytes * (size_t)config->device_count +
                                      2 * host_bytes);
        want = WEIR_MIN(want, WINDOW_MAX);
    }
    if (weir_sanitize_thread()) /* TSan keeps only 1.5 TiB for the program's mappings */
        want = WEIR_MIN(want, (size_t)256 << 30);
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        want = WEIR_MIN(want, (size_t)limit.rlim_cur / 4); /* the program needs addresses too */
    return WEIR_MAX(want, WINDOW_MIN) & ~(((size_t)1 << 21) - 1);
}

/* Reserves window and tables; halves the size until the kernel agrees. */
static bool window_reserve(struct mem_state *m, size_t want)
{
    for (; want >= WINDOW_MIN; want = (want / 2) & ~(((size_t)1 << 21) - 1)) {
        char *window = reserve(want + HUGE_BYTES, PROT_NONE);

        if (!window)
            continue;
        m->granule_count = want >> GRANULE_SHIFT;
        m->granules_bytes = m->granule_count * sizeof *m->granules;
        m->spans_bytes = WEIR_ALIGN_UP((want >> SPAN_SHIFT) + 1, (size_t)512) * sizeof *m->spans;
        m->granules = reserve(m->granules_bytes, PROT_READ | PROT_WRITE);
        m->spans = reserve(m->spans_bytes, PROT_READ | PROT_WRITE);
        if (m->granules && m->spans) {
            weir_mem_window_base = WEIR_ALIGN_UP((uintptr_t)window, HUGE_BYTES);
            munmap(window, weir_mem_window_base - (uintptr_t)window);
            munmap((void *)(weir_mem_window_base + want),
                   (uintptr_t)window + HUGE_BYTES - weir_mem_window_base);
            weir_mem_window_bytes = want;
            return true;
        }
        if (m->granules)
            munmap(m->granules, m->granules_bytes);
        if (m->spans)
            munmap(m->spans, m->spans_bytes);
        munmap(window, want + HUGE_BYTES);
    }
    return false;
}

/* An eighth of the kernel's limit for allocations with gaps of their own; each costs two mappings.
 */
static size_t gapped_limit(void)
{
    unsigned long limit = 65530;
    FILE *f = fopen("/proc/sys/vm/max_map_count", "re");

    if (f) {
        if (fscanf(f, "%lu", &limit) != 1)
            limit = 65530;
        fclose(f);
    }
    return WEIR_MIN(limit / 8, 1u << 17);
}

static void make_zone(struct mem_zone *z, size_t first, size_t end)
{
    z->first = z->bump = first;
    z->end = end;
    for (int i = 0; i < CHUNK_CLASSES; i++)
        weir_list_init(&z->chunks[i]);
}

/* The file and the addresses of what is mapped twice: the host's zone, and as much behind it. */
static void make_twin(struct mem_state *m, size_t first, size_t count)
{
    size_t bytes = count << GRANULE_SHIFT;

    m->twin_fd = memfd_create("weir-host-memory", MFD_CLOEXEC);
    if (m->twin_fd < 0)
        return;
    if (ftruncate(m->twin_fd, (off_t)bytes) == 0)
        weir_mem_twin =
            (struct weir_mem_twin){.base = granule_address(first), .bytes = bytes, .shift = bytes};
    else
        close(m->twin_fd);
}

/* Zones in a row: the first device's, the host's, then one for each further device. The window that
 * a device's kernels touch without asking is its own zone and, where that is beside it, the host's
 * (with the twin, which lies between the host's and the second device's).
 */
static void make_zones(struct mem_state *m, bool twin)
{
    size_t unit = HUGE_BYTES >> GRANULE_SHIFT, quarter = m->granule_count / 4 & ~(unit - 1);
    size_t own = 3 * (quarter / (size_t)m->device_count) & ~(unit - 1), at;

    /* The first granule stays closed: a gap below the first allocation. Without room for zones no
     * access to a peer is refused. */
    if ((m->device_count == 1 && !twin) ||
        (m->device_count > 2 && own < (2 * m->devices[0].capacity) >> GRANULE_SHIFT)) {
        m->zone_count = 1;
        make_zone(&m->zones[0], 1, m->granule_count);
        return;
    }
    m->zone_count = m->device_count + 1;
    make_zone(&m->zones[0], 1, own);
    make_zone(&m->zones[1], own, own + (twin ? quarter / 2 & ~(unit - 1) : quarter));
    if (twin)
        make_twin(m, own, m->zones[1].end - own);
    at = own + quarter;
    for (int i = 2; i < m->zone_count; i++, at += own)
        make_zone(&m->zones[i], at, i + 1 < m->zone_count ? at + own : m->granule_count);
}

static struct mem_zone *own_zone(struct mem_state *m, int device)
{
    return &m->zones[device == 0 ? 0 : device + 1];
}

struct mem_zone *weir_mem_zone_of(enum weir_mem_kind kind, int device)
{
    struct mem_state *m = &weir_mem_state;

    if (m->zone_count == 1)
        return &m->zones[0];
    /* What is internal belongs to kernels as well: where the host's zone is not beside their own.
     */
    if (kind == WEIR_MEM_KIND_DEVICE ||
        (kind == WEIR_MEM_KIND_INTERNAL && (device > 1 || weir_mem_twin.bytes)))
        return own_zone(m, device);
    return &m->zones[1];
}

void weir_mem_window_of(int device, uintptr_t *base, size_t *bytes)
{
    struct mem_state *m = &weir_mem_state;
    const struct mem_zone *first, *last;
    uintptr_t end;

    if (m->zone_count == 1) {
        *base = weir_mem_window_base;
        *bytes = weir_mem_window_bytes;
        return;
    }
    first = last = own_zone(m, device);
    if (device == 0)
        last = &m->zones[1];
    else if (device == 1)
        first = &m->zones[1];
    *base = granule_address(first->first);
    end = granule_address(last->end);
    if (last == &m->zones[1])
        end += weir_mem_twin.bytes;
    *bytes = end - *base;
}

enum weir_err weir_mem_init(const struct weir_mem_config *config)
{
    struct mem_state *m = &weir_mem_state;
    size_t host_bytes = host_memory_bytes();

    if (m->ready || config->device_count < 1 || config->device_count > DEVICES_MAX)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "memory: started twice, or %d devices",
                         config->device_count);
    *m = (struct mem_state){.lock = WEIR_LOCK_INIT(MEMORY)};
    m->devices = weir_calloc((size_t)config->device_count, sizeof *m->devices);
    if (!m->devices)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "memory: no heap");
    if (!window_reserve(m, window_wanted(config, host_bytes))) {
        weir_free(m->devices);
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION,
                         "memory: cannot reserve a window of addresses");
    }
    m->device_count = config->device_count;
    for (int i = 0; i < m->device_count; i++)
        m->devices[i].capacity = config->device_bytes;
    m->pinned_capacity = host_bytes;
    m->gapped_max = gapped_limit();
    make_zones(m, config->twin);
    m->ready = true;
    return WEIR_OK;
}

void weir_mem_finish(void)
{
    struct mem_state *m = &weir_mem_state;

    if (!m->ready)
        return;
    weir_mem_populate_finish();
    munmap((void *)weir_mem_window_base, weir_mem_window_bytes);
    if (weir_mem_twin.bytes)
        close(m->twin_fd);
    weir_mem_twin = (struct weir_mem_twin){0};
    weir_mem_window_base = 0;
    weir_mem_window_bytes = 0;
    munmap(m->granules, m->granules_bytes);
    munmap(m->spans, m->spans_bytes);
    weir_mem_region_finish(m->free_regions);
    while (m->slabs) {
        struct mem_slab *slab = m->slabs;

        m->slabs = slab->next;
        weir_free(slab);
    }
    for (int i = 0; i < m->zone_count; i++)
        weir_vec_finish(&m->zones[i].free);
    weir_free(m->devices);
    weir_mem_registered_finish();
    *m = (struct mem_state){0};
}

void weir_mem_stats(int device, struct weir_mem_stats *out)
{
    struct mem_state *m = &weir_mem_state;

    *out = (struct weir_mem_stats){0};
    weir_lock_acquire(&m->lock);
    if (device >= 0 && device < m->device_count) {
        out->device_used = m->devices[device].used;
        out->device_peak = m->devices[device].peak;
        out->device_capacity = m->devices[device].capacity;
    }
    out->pinned_used = m->pinned_used;
    out->pinned_peak = m->pinned_peak;
    out->managed_used = m->managed_used;
    out->managed_peak = m->managed_peak;
    out->alloc_count = m->alloc_count;
    out->free_count = m->free_count;
    weir_lock_release(&m->lock);
}

void weir_mem_peer_allow(int device, int peer, bool on)
{
    if (device < 0 || device >= DEVICES_MAX || peer < 0 || peer >= DEVICES_MAX)
        return;
    if (on)
        atomic_fetch_or(&weir_mem_state.peers[device], (uint64_t)1 << peer);
    else
        atomic_fetch_and(&weir_mem_state.peers[device], ~((uint64_t)1 << peer));
    if (weir_trace_enabled())
        weir_trace_peer(device, peer, on);
}

size_t weir_mem_pitch(size_t width_bytes)
{
    return width_bytes > SIZE_MAX - 511 ? SIZE_MAX & ~(size_t)511
                                        : WEIR_ALIGN_UP(width_bytes, (size_t)512);
}
