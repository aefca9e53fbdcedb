/* SPDX-License-Identifier: Apache-2.0 */
#include "core/clock.h"

#include <stdatomic.h>

#include "base/clock.h"
#include "core/context.h"
#include "core/core.h"
#include "core/stream.h"

/* atomic: release in weir_core_clock_set, acquire in weir_core_clock */
static weir_clock_elapsed *_Atomic model;

void weir_core_clock_set(weir_clock_elapsed *elapsed)
{
    atomic_store_explicit(&model, elapsed, memory_order_release);
}

weir_clock_elapsed *weir_core_clock(void)
{
    return atomic_load_explicit(&model, memory_order_acquire);
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
