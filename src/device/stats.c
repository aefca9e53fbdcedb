/* What `weir run --stats` shows of a device: busy time of each engine and how long pairs of them
 * ran at the same time. The time since the last start or end of any work is added to whatever was
 * active during it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "device/device_int.h"

#include "base/clock.h"

void weir_stats_init(struct stats *s)
{
    weir_lock_init(&s->lock, WEIR_RANK_LEAF);
}

static void pair_add(struct stats *s, enum weir_overlap_pair pair, bool both, uint64_t ns)
{
    if (both)
        s->sum.overlap_ns[pair] += ns;
}

/* Counts the time until now. */
static void advance_locked(struct stats *s)
{
    uint64_t now = weir_clock_ns(), ns = now - s->at;
    const uint32_t *a = s->active;
    bool kernel = a[WEIR_ENGINE_COMPUTE], h2d = a[WEIR_ENGINE_H2D], d2h = a[WEIR_ENGINE_D2H];

    if (now <= s->at)
        return;
    for (int i = 0; i < WEIR_ENGINE_COUNT; i++)
        if (a[i])
            s->sum.engines[i].busy_ns += ns;
    pair_add(s, WEIR_OVERLAP_H2D_KERNEL, h2d && kernel, ns);
    pair_add(s, WEIR_OVERLAP_D2H_KERNEL, d2h && kernel, ns);
    pair_add(s, WEIR_OVERLAP_H2D_D2H, h2d && d2h, ns);
    pair_add(s, WEIR_OVERLAP_KERNEL_KERNEL, a[WEIR_ENGINE_COMPUTE] > 1, ns);
    pair_add(s, WEIR_OVERLAP_HOST_DEVICE,
             a[WEIR_ENGINE_HOST] && (kernel || h2d || d2h || a[WEIR_ENGINE_D2D]), ns);
    s->sum.copy_ns += (uint64_t)(h2d + d2h) * ns;
    if (kernel)
        s->sum.copy_hidden_ns += (uint64_t)(h2d + d2h) * ns;
    s->at = now;
}

void weir_stats_begin(struct stats *s, struct weir_work *work)
{
    weir_lock_acquire(&s->lock);
    advance_locked(s);
    if (!s->sum.first_ns)
        s->sum.first_ns = s->at;
    s->active[work->engine]++;
    work->counted = true;
    weir_lock_release(&s->lock);
}

void weir_stats_end(struct stats *s, struct weir_work *work, uint64_t bytes)
{
    weir_lock_acquire(&s->lock);
    advance_locked(s);
    s->sum.last_ns = s->at;
    s->active[work->engine]--;
    s->sum.engines[work->engine].count++;
    s->sum.engines[work->engine].bytes += bytes;
    work->counted = false;
    weir_lock_release(&s->lock);
}

void weir_device_stats_enable(struct weir_device *dev, bool on)
{
    atomic_store_explicit(&dev->stats.on, on, memory_order_relaxed);
}

void weir_device_stats(struct weir_device *dev, struct weir_device_stats *out)
{
    struct stats *s = &dev->stats;

    weir_lock_acquire(&s->lock);
    advance_locked(s);
    *out = s->sum;
    weir_lock_release(&s->lock);
}
