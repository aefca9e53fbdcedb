/* Short kernels one after another on the thread that has just ended a kernel, without the queue:
 * what a graph's next node costs. Only whole kernels that neither park nor take long; whoever calls
 * looks now and then whether others wait.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "device/device_int.h"
#include "trace/ticks.h"

bool weir_device_inline_begin(struct weir_device *dev)
{
    struct runner *r = weir_runner_current();

    if (!r || r->dev != dev || r->guarded || stats_on(dev))
        return false;
    weir_compute_step_out(&dev->compute, r);
    return true;
}

enum weir_err weir_device_inline_run(struct weir_device *dev, struct weir_kernel_work *k)
{
    struct runner *r = weir_runner_current();
    enum weir_err err = WEIR_ERR_MEMORY_ALLOCATION;

    atomic_store_explicit(&k->error, WEIR_OK, memory_order_relaxed);
    r->kernel = k;
    r->begin = r->index = 0;
    r->end = k->block_count;
    r->may_yield = false;
    r->priority = PRIORITY_BEST;
    if (!r->slot)
        r->slot = weir_slot_create();
    if (r->slot)
        err = weir_slot_fit(r->slot, k, dev->ordinal);
    if (WEIR_UNLIKELY(err != WEIR_OK))
        return err;
    weir_runner_blocks(r, false);
    if (WEIR_LIKELY(r->outcome == RUN_FINISHED))
        return WEIR_OK;
    weir_kernel_note_failure(k, &r->slot->block);
    return r->outcome == RUN_FAILED ? r->failure : WEIR_ERR_LAUNCH_FAILURE;
}

bool weir_device_inline_is_needed_elsewhere(struct weir_device *dev)
{
    struct compute *c = &dev->compute;

    return !inbox_is_empty(&c->inbox) ||
           atomic_load_explicit(&c->best_priority, memory_order_relaxed) != PRIORITY_NONE ||
           atomic_load_explicit(&c->parked_count, memory_order_relaxed) > 0;
}

void weir_device_inline_end(struct weir_device *dev)
{
    struct runner *r = weir_runner_current();

    (void)dev;
    r->now = weir_clock_ns();
}

/* ---- a stream's next kernel ---- */

#define NEXT_NS     5000 /* kernels that are run in place take less */
#define GIVE_WAY_NS 5000 /* that they take together while others wait for a worker */
#define MEASURE     16   /* one of so many is timed */
#define BLINK_NS    250  /* who takes less need not be looked at alone */

static bool is_turn(struct runner *r, const struct weir_kernel_work *k)
{
    struct compute *c = &r->dev->compute;

    if ((r->stop && atomic_load_explicit(r->stop, memory_order_relaxed)))
        return false;
    if (atomic_load_explicit(&c->best_priority, memory_order_relaxed) <
        WEIR_MAX(k->work.priority, PRIORITY_BEST))
        return false;
    /* (A helper's own kernel may be among what it is needed for.) */
    return r->run_ns < GIVE_WAY_NS || !weir_device_inline_is_needed_elsewhere(r->dev);
}

/* What k is believed to take, 0: unknown, or too long, or it may not run in place at all. */
static uint32_t short_ns(struct compute *c, struct weir_kernel_work *k)
{
    const struct weir_kernel_code *code = k->code;
    uint64_t ps;

    if (!code || code->may_park || code->cooperative || code->triggers || code->launches ||
        code->clusters || k->begun || c->residency.sms)
        return 0;
    weir_kernel_begin(k);
    ps = weir_compute_block_ps(c, k);
    if (k->cluster_blocks != 1 || !ps || !k->block_count || k->block_count >= NEXT_NS * 1000u / ps)
        return 0;
    return (uint32_t)(k->block_count * ps / 1000) + 1;
}

bool weir_device_run_next(struct weir_device *dev, struct weir_kernel_work *k, uint64_t *clock,
                          bool look, enum weir_err *status)
{
    struct runner *r = weir_runner_current();
    struct compute *c = &dev->compute;
    uint64_t (*const now)(void) = clock ? weir_trace_now : weir_clock_ns;
    uint64_t start;
    uint32_t ns;
    bool measured;

    if (!r || r->dev != dev || !r->ends_kernel || r->guarded || stats_on(dev) || !is_turn(r, k))
        return false;
    ns = short_ns(c, k);
    if (!ns)
        return false;
    measured = r->run_count++ % MEASURE == MEASURE - 1;
    start = clock ? *clock : r->now;
    if (measured || !start)
        start = now();
    k->work.ready_ns = k->work.start_ns = start;
    atomic_store_explicit(&k->next_block, k->block_count, memory_order_relaxed);
    atomic_store_explicit(&k->state, KERNEL_RUNNING, memory_order_release);
    *status = weir_device_inline_run(dev, k);
    if (clock ? look || measured || ns >= BLINK_NS : measured)
        k->work.end_ns = now();
    if (clock && k->work.end_ns)
        *clock = k->work.end_ns;
    if (measured) {
        const uint64_t took = k->work.end_ns - start;

        r->now = clock ? weir_clock_ns() : k->work.end_ns; /* others compare it with the system's */
        if (*status == WEIR_OK)
            weir_compute_learn(c, k, took, k->block_count);
        ns = WEIR_MAX(ns, (uint32_t)WEIR_MIN(took, CHUNK_NS));
    }
    r->run_ns += ns;
    return true;
}

bool weir_device_may_pause(struct weir_device *dev)
{
    const struct runner *r = weir_runner_current();

    return r && r->dev == dev && r->is_worker && r->ends_kernel && !r->guarded &&
           !weir_device_inline_is_needed_elsewhere(dev);
}

int weir_device_worker_count(const struct weir_device *dev)
{
    return dev->compute.worker_count;
}
