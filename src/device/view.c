/* What engines do at this moment, for who looks on from outside (core/where.c). Nothing here
 * changes anything, or waits for long.
 * SPDX-License-Identifier: Apache-2.0 */
#include "device/device_int.h"

bool weir_device_view_kernel(struct weir_device *dev, struct weir_kernel_work *k,
                             struct weir_kernel_view *out)
{
    struct compute *c = &dev->compute;
    uint32_t state;

    if (weir_device_is_forked(dev) || !weir_lock_try_patiently(&c->lock))
        return false;
    state = atomic_load_explicit(&k->state, memory_order_relaxed);
    *out = (struct weir_kernel_view){.compiles = state == KERNEL_PREPARING};
    if (state == KERNEL_RUNNING) {
        out->blocks = k->block_count;
        out->begun = atomic_load_explicit(&k->next_block, memory_order_relaxed);
        out->begun = WEIR_MIN(out->begun, k->block_count);
        out->done = atomic_load_explicit(&k->blocks_done, memory_order_relaxed);
        out->since_ns = out->begun ? k->work.start_ns : 0;
        out->polls = k->parked > 0 || k->code->may_park;
    }
    weir_lock_release(&c->lock);
    return true;
}

const struct weir_work *weir_device_view_host(const struct weir_device *dev, uint32_t *thread,
                                              uint64_t *since_ns)
{
    const struct serial *s = &dev->serial[WEIR_ENGINE_HOST];
    const struct weir_work *work = atomic_load_explicit(&s->running, memory_order_acquire);

    *thread = atomic_load_explicit(&s->thread_id, memory_order_relaxed);
    *since_ns = atomic_load_explicit(&s->since_ns, memory_order_relaxed);
    return work;
}
