/* Short kernels one after another on the thread that has just ended a kernel, without the queue:
 * what a graph's next node costs. Only whole kernels that neither park nor take long; whoever calls
 * looks now and then whether others wait.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "device/device_int.h"

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

int weir_device_worker_count(const struct weir_device *dev)
{
    return dev->compute.worker_count;
}
