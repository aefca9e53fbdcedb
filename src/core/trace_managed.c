/* Who wrote to managed memory: kernels, or the host between them? Only the latter moves pages back
 * and forth on a GPU, and only a trace asks. Nothing is closed for that: when a host wait is over,
 * a sample of each managed allocation that no operation uses any more is remembered; when the next
 * kernel is given the allocation, a changed sample means that the host has written. (Reads, and
 * writes between the samples, are not seen: what is said is true, not complete.)
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/lock.h"
#include "base/map.h"
#include "core/trace.h"
#include "memory/memory.h"

#define SAMPLES      192
#define SAMPLE_BYTES 64
#define WATCHED_MAX  256

struct watched {
    uintptr_t base;
    size_t bytes;
    uint32_t running; /* operations submitted and not done */
    bool sampled;
    uint64_t sample;
};

static struct {
    struct weir_lock lock; /* rank LEAF */
    struct weir_map by_id; /* struct watched of an allocation */
    _Atomic size_t count;
} store = {.lock = WEIR_LOCK_INIT(LEAF)};

/* 0: it cannot be read (any more). The kernel reads for us, because another thread may be freeing
 * it. */
static uint64_t sample_of(const struct watched *w)
{
    unsigned char bytes[SAMPLES * SAMPLE_BYTES];
    struct iovec to = {bytes, sizeof bytes}, from[SAMPLES];
    size_t pieces = WEIR_MIN((w->bytes + SAMPLE_BYTES - 1) / SAMPLE_BYTES, (size_t)SAMPLES);
    size_t all = 0;

    for (size_t i = 0; i < pieces; i++) {
        /* Spread evenly, with the first and the last byte inside. */
        size_t room = w->bytes > SAMPLE_BYTES ? w->bytes - SAMPLE_BYTES : 0;
        size_t at =
            pieces > 1 ? room / (pieces - 1) * i + room % (pieces - 1) * i / (pieces - 1) : 0;

        from[i] = (struct iovec){(char *)w->base + at, WEIR_MIN((size_t)SAMPLE_BYTES, w->bytes)};
        all += from[i].iov_len;
    }
    to.iov_len = all;
    if (process_vm_readv(getpid(), &to, 1, from, pieces, 0) != (ssize_t)all)
        return 0;
    return weir_hash_bytes(bytes, all, 1) | 1;
}

static struct watched *find_locked(const struct weir_mem_info *info, bool make)
{
    struct watched *w = weir_map_get(&store.by_id, info->id);

    if (w || !make || atomic_load_explicit(&store.count, memory_order_relaxed) >= WATCHED_MAX)
        return w;
    w = weir_calloc(1, sizeof *w);
    if (!w || !weir_map_put(&store.by_id, info->id, w)) {
        weir_free(w);
        return NULL;
    }
    w->base = info->base;
    w->bytes = info->bytes;
    atomic_fetch_add_explicit(&store.count, 1, memory_order_relaxed);
    return w;
}

static bool is_managed(const void *address, struct weir_mem_info *info)
{
    return weir_mem_find(address, info) && info->kind == WEIR_MEM_KIND_MANAGED && info->bytes;
}

void weir_core_trace_managed_begin(const void *address, bool kernel)
{
    struct weir_mem_info info;
    struct watched *w;
    bool wrote = false;

    if (!is_managed(address, &info))
        return;
    weir_lock_acquire(&store.lock);
    w = find_locked(&info, true);
    if (w) {
        wrote = kernel && w->sampled && !w->running && w->sample && sample_of(w) != w->sample;
        w->sampled = false;
        w->running++;
    }
    weir_lock_release(&store.lock);
    if (wrote)
        weir_trace_host_write((const void *)info.base, info.bytes);
}

void weir_core_trace_managed_end(const void *address)
{
    struct weir_mem_info info;
    struct watched *w;

    if (!atomic_load_explicit(&store.count, memory_order_relaxed) || !is_managed(address, &info))
        return;
    weir_lock_acquire(&store.lock);
    w = find_locked(&info, false);
    if (w && w->running)
        w->running--;
    weir_lock_release(&store.lock);
}

void weir_core_trace_managed_settled(void)
{
    size_t pos = 0;
    uint64_t key;
    void *value;

    if (!atomic_load_explicit(&store.count, memory_order_relaxed))
        return;
    weir_lock_acquire(&store.lock);
    while (weir_map_next(&store.by_id, &pos, &key, &value)) {
        struct watched *w = value;

        if (w->running || w->sampled)
            continue;
        w->sample = sample_of(w);
        w->sampled = true;
    }
    weir_lock_release(&store.lock);
}
