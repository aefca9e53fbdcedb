/* What the pipeline counts: occupancy as an integral over time, latencies in a histogram of 32
 * parts an octave, and what a submission that has to wait waits for.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "pipe_int.h"

static void occupied_locked(weir_pipe *pipe, uint64_t now)
{
    if (now > pipe->busy_at)
        pipe->busy_ns += (double)pipe->busy * (double)(now - pipe->busy_at);
    pipe->busy_at = now;
}

void weir_pipe_count_accept_locked(weir_pipe *pipe, struct slot *slot)
{
    const uint64_t now = slot->outcome.accepted_ns;

    if (!pipe->stats.accepted)
        pipe->first_at = pipe->busy_at = now;
    occupied_locked(pipe, now);
    pipe->busy++;
    pipe->stats.accepted++;
    pipe->stats.device_items[slot->device_index]++;
}

/* 32 parts of each octave; below 32 ns each value its own. */
static unsigned part_of(uint64_t ns)
{
    unsigned octave;
    if (ns < HISTOGRAM_PARTS)
        return (unsigned)ns;
    octave = 63 - (unsigned)__builtin_clzll(ns);
    return (octave - 4) * HISTOGRAM_PARTS + (unsigned)(ns >> (octave - 5)) - HISTOGRAM_PARTS;
}

static uint64_t middle_of(unsigned part)
{
    const unsigned octave = part / HISTOGRAM_PARTS + 4;
    if (part < HISTOGRAM_PARTS)
        return part;
    return ((uint64_t)(part % HISTOGRAM_PARTS + HISTOGRAM_PARTS) << (octave - 5)) +
           ((uint64_t)1 << (octave - 5)) / 2;
}

void weir_pipe_count_report_locked(weir_pipe *pipe, struct slot *slot)
{
    const uint64_t now = weir_pipe_now_ns(), latency = now - slot->outcome.accepted_ns;

    occupied_locked(pipe, now);
    pipe->busy--;
    pipe->last_at = now;
    pipe->histogram[part_of(latency)]++;
    if (latency > pipe->stats.latency_ns[4])
        pipe->stats.latency_ns[4] = latency;
    if (slot->outcome.status == WEIR_PIPE_OK)
        pipe->stats.completed++;
    else if (slot->outcome.status == WEIR_PIPE_CANCELLED)
        pipe->stats.cancelled++;
    else
        pipe->stats.failed++;
}

enum weir_pipe_cause weir_pipe_cause_locked(weir_pipe *pipe, const struct lane *lane)
{
    const struct slot *oldest = NULL;
    bool drained = false;

    for (unsigned i = 0; i < pipe->slot_count; i++) {
        const struct slot *slot = &pipe->slots[i];
        if (slot->lane != lane || slot->state == SLOT_FREE)
            continue;
        drained = drained || slot->state == SLOT_DRAINED;
        if (!oldest || slot->item.number < oldest->item.number)
            oldest = slot;
    }
    if (!oldest || oldest->state == SLOT_FILLING)
        return WEIR_PIPE_CAUSE_FILL;
    if (oldest->state >= SLOT_DRAINING || (oldest->state == SLOT_FLYING && pipe->worker_count &&
                                           pipe->draining >= pipe->worker_count))
        return WEIR_PIPE_CAUSE_DRAIN;
    return drained ? WEIR_PIPE_CAUSE_ORDER : WEIR_PIPE_CAUSE_DEVICE;
}

static uint64_t percentile(const uint32_t *histogram, uint64_t count, double share)
{
    const uint64_t want = (uint64_t)(share * (double)count);
    uint64_t sum = 0;
    for (unsigned i = 0; i < HISTOGRAM_SIZE; i++) {
        sum += histogram[i];
        if (sum > want)
            return middle_of(i);
    }
    return 0;
}

void weir_pipe_stats_get(weir_pipe *pipe, weir_pipe_stats *stats)
{
    static const double shares[4] = {0.5, 0.9, 0.99, 0.999};
    uint64_t ended;

    pthread_mutex_lock(&pipe->lock);
    if (pipe->stats.accepted)
        occupied_locked(pipe, weir_pipe_now_ns());
    *stats = pipe->stats;
    ended = stats->completed + stats->failed + stats->cancelled;
    for (int i = 0; i < 4 && ended; i++) {
        const uint64_t value = percentile(pipe->histogram, ended, shares[i]);
        stats->latency_ns[i] = value < stats->latency_ns[4] ? value : stats->latency_ns[4];
    }
    stats->slots = pipe->limit;
    if (pipe->busy_at > pipe->first_at)
        stats->occupancy = pipe->busy_ns / (double)(pipe->busy_at - pipe->first_at);
    if (pipe->last_at > pipe->first_at)
        stats->items_per_second = 1e9 * (double)ended / (double)(pipe->last_at - pipe->first_at);
    pthread_mutex_unlock(&pipe->lock);
}
