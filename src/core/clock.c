/* SPDX-License-Identifier: Apache-2.0 */
#include "core/clock.h"

#include <sched.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "core/context.h"
#include "core/core.h"
#include "core/stream.h"
#include "device/device.h"

#define PATIENCE_NS 10000000000u

/* atomic: release in weir_core_clock_set, acquire in weir_core_clock */
static const struct weir_clock_model *_Atomic model;

void weir_core_clock_set(const struct weir_clock_model *m)
{
    atomic_store_explicit(&model, m, memory_order_release);
}

const struct weir_clock_model *weir_core_clock(void)
{
    return atomic_load_explicit(&model, memory_order_acquire);
}

/* ---- clocks of kernels ---- */

static uint64_t product(const uint32_t v[3])
{
    return (uint64_t)v[0] * v[1] * v[2];
}

void weir_core_clock_begin(struct weir_kernel_work *work, const struct weir_op *op)
{
    const struct weir_clock_model *m = weir_core_clock();
    const struct weir_stream *s = weir_stream_of(op->m.stream);
    struct weir_clock_launch launch = {.stream = s->id,
                                       .seq = op->m.seq,
                                       .blocks = product(work->launch.grid),
                                       .threads = product(work->launch.block)};
    struct weir_clock_kernel *k;

    weir_core_clock_end(work);
    if (!m || !work->code || !work->code->reads_clock)
        return;
    launch.shared_bytes = work->launch.dynamic_shared_bytes + work->code->static_shared_bytes;
    k = m->begin(s->ctx->profile, &launch);
    if (k)
        k->patient = !work->code->may_park;
    work->launch.clock = k;
}

void weir_core_clock_end(struct weir_kernel_work *work)
{
    weir_free(work->launch.clock);
    work->launch.clock = NULL;
}

static uint64_t real_time(const struct weir_block *b, uint32_t what)
{
    switch (what) {
    case WEIR_BLOCK_SM:
        return b->smid;
    case WEIR_BLOCK_CYCLES:
        return weir_clock_ns(); /* (of no use but for differences) */
    default:
        return weir_clock_ns();
    }
}

static uint64_t index_of(const struct weir_block *b)
{
    const uint32_t *grid = b->launch->grid;

    return b->ctaid[0] + (uint64_t)grid[0] * (b->ctaid[1] + (uint64_t)grid[1] * b->ctaid[2]);
}

/* When the block had its place: the one before has ended there, on the device if not here. Blocks
 * are handed out in order, so that one is under way; only where blocks wait for one another it may
 * not be, and does not count. */
static void begin_block(struct weir_clock_kernel *k, struct weir_block *b, uint64_t index)
{
    uint64_t place = index % k->places, wave = index / k->places, deadline = 0;

    while (k->patient && atomic_load_explicit(&k->at[place].ended, memory_order_acquire) < wave) {
        if (!deadline)
            deadline = weir_clock_ns() + PATIENCE_NS;
        if (weir_clock_ns() > deadline)
            break;
        sched_yield();
    }
    b->clock_begin = 1 + atomic_load_explicit(&k->at[place].cycle, memory_order_relaxed);
}

/* The kernel's cycle that the warp has come to. */
static uint64_t cycle_of(struct weir_clock_kernel *k, struct weir_block *b, uint32_t warp,
                         uint64_t index)
{
    int wave = index >= k->last_wave;

    if (!b->clock_begin)
        begin_block(k, b, index);
    return b->clock_begin - 1 +
           (uint64_t)((double)b->warps[warp].instructions * k->pace[wave].instruction +
                      (double)b->warps[warp].bytes * k->pace[wave].byte);
}

static void end_block(struct weir_clock_kernel *k, struct weir_block *b, uint64_t index)
{
    uint32_t warps = (uint32_t)((product(b->launch->block) + 31) / 32);
    uint64_t place = index % k->places, last = 0;

    for (uint32_t i = 0; i < warps && i < WEIR_BLOCK_WARPS; i++) {
        uint64_t at = cycle_of(k, b, i, index);

        last = WEIR_MAX(last, at);
    }
    atomic_store_explicit(&k->at[place].cycle, last, memory_order_relaxed);
    atomic_fetch_add_explicit(&k->at[place].ended, 1, memory_order_release);
}

uint64_t weir_core_clock_tell(struct weir_block *b, uint32_t what, uint32_t warp)
{
    struct weir_clock_kernel *k = b->launch->clock;
    double cycles;

    if (!k)
        return real_time(b, what);
    if (what == WEIR_BLOCK_SM)
        return (k->first_sm + index_of(b) % k->places) % k->sms;
    if (what == WEIR_BLOCK_ENDS) {
        end_block(k, b, index_of(b));
        return 0;
    }
    cycles = (double)cycle_of(k, b, warp, index_of(b));
    return what == WEIR_BLOCK_NS ? (uint64_t)(k->start_ns + cycles / k->clock)
                                 : (uint64_t)(k->start_ns * k->clock + cycles);
}

bool weir_core_clock_settle(uint64_t for_ns)
{
    uint64_t deadline = weir_clock_ns() + for_ns;
    bool ok = true;

    for (int i = 0; i < WEIR_MAX_CONTEXTS; i++) {
        struct weir_context *ctx = &weir_core.contexts[i];

        if (atomic_load_explicit(&ctx->active, memory_order_acquire))
            ok = weir_wait_settled(ctx, deadline) && ok;
    }
    return ok;
}
