/* Devices: made at the first use, failed by faults, reset.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/context.h"

#include "base/alloc.h"
#include "base/log.h"
#include "core/module.h"
#include "core/stream.h"
#include "memory/memory.h"

/* Defaults of cudaDeviceGetLimit (oracle device_api.limit_*). */
static const size_t limit_defaults[WEIR_LIMIT_COUNT] = {
    [WEIR_LIMIT_STACK] = 1024,   [WEIR_LIMIT_PRINTF] = 8650752,        [WEIR_LIMIT_HEAP] = 8388608,
    [WEIR_LIMIT_SYNC_DEPTH] = 0, [WEIR_LIMIT_PENDING_LAUNCHES] = 2048, [WEIR_LIMIT_L2_FETCH] = 64,
    [WEIR_LIMIT_L2_PERSIST] = 0,
};

void weir_context_default_limits(struct weir_context *ctx)
{
    for (int i = 0; i < WEIR_LIMIT_COUNT; i++)
        atomic_store_explicit(&ctx->limits[i], limit_defaults[i], memory_order_relaxed);
}

static enum weir_err activate_locked(struct weir_context *ctx)
{
    struct weir_device_config config = {
        .ordinal = ctx->ordinal,
        .workers = weir_core.config.workers,
        .help = weir_core.config.help,
        .name = ctx->profile->device_name,
    };
    enum weir_err err;

    if (!ctx->engines) {
        err = weir_device_create(&config, &ctx->engines);
        if (err != WEIR_OK)
            return err;
        if (weir_core.config.stats)
            weir_device_stats_enable(ctx->engines, true);
    }
    if (!ctx->legacy) {
        err = weir_stream_create(ctx, WEIR_STREAM_LEGACY, 0, 0, &ctx->legacy);
        if (err != WEIR_OK)
            return err;
    }
    atomic_store_explicit(&ctx->active, true, memory_order_release);
    return WEIR_OK;
}

enum weir_err weir_context_get(int device, struct weir_context **out)
{
    struct weir_context *ctx;
    enum weir_err err;

    if (device < 0 || device >= weir_core.device_count)
        return WEIR_FAIL(WEIR_ERR_INVALID_DEVICE, "device %d of %d", device,
                         weir_core.device_count);
    ctx = &weir_core.contexts[device];
    *out = ctx;
    err = weir_context_error(ctx);
    if (WEIR_UNLIKELY(err != WEIR_OK))
        return err;
    if (WEIR_LIKELY(atomic_load_explicit(&ctx->active, memory_order_acquire)))
        return WEIR_OK;
    weir_lock_acquire(&weir_core.lock);
    err = atomic_load_explicit(&ctx->active, memory_order_relaxed) ? WEIR_OK : activate_locked(ctx);
    weir_lock_release(&weir_core.lock);
    return err;
}

enum weir_err weir_context_current(struct weir_context **out)
{
    return weir_context_get(weir_thread.device, out);
}

void weir_context_fail(struct weir_context *ctx, enum weir_err err)
{
    for (int i = 0; i < weir_core.device_count; i++) {
        struct weir_context *c = &weir_core.contexts[i];
        int good = 0;
        bool used = c == ctx || atomic_load_explicit(&c->active, memory_order_acquire);

        atomic_compare_exchange_strong(&c->error, &good,
                                       used ? (int)err : WEIR_ERR_DEVICES_UNAVAILABLE);
    }
}

enum weir_err weir_context_reset(struct weir_context *ctx)
{
    if (!atomic_load_explicit(&ctx->active, memory_order_acquire))
        return WEIR_OK;
    if (weir_context_error(ctx) != WEIR_OK) {
        /* A failed device cannot be had back by this process (oracle sticky_*.after_reset_*). */
        atomic_store(&ctx->error, WEIR_ERR_DEVICES_UNAVAILABLE);
        return WEIR_OK;
    }
    if (weir_wait_device(ctx) != WEIR_OK)
        return WEIR_OK;
    atomic_fetch_add(&ctx->epoch, 1); /* handles of before are refused from here on */
    weir_stream_retire_all(ctx);
    ctx->legacy->epoch = atomic_load(&ctx->epoch);
    weir_module_unload_device(ctx);
    weir_mem_free_device(ctx->ordinal);
    atomic_store(&ctx->peers, 0);
    for (int i = 0; i < weir_core.device_count; i++) {
        atomic_fetch_and(&weir_core.contexts[i].peers, ~(1ull << ctx->ordinal));
        weir_mem_peer_allow(i, ctx->ordinal, false);
        weir_mem_peer_allow(ctx->ordinal, i, false);
    }
    atomic_store(&ctx->flags, 0);
    weir_context_default_limits(ctx);
    return WEIR_OK;
}

bool weir_context_attribute(const struct weir_context *ctx, int id, int *value)
{
    switch (id) {
    case WEIR_ATTR_SM_COUNT:
        *value = ctx->sm_count;
        return true;
    case WEIR_ATTR_PCI_BUS:
        *value = ctx->ordinal + 1; /* not a real address: only unique, as programs compare it */
        return true;
    case WEIR_ATTR_PCI_DEVICE:
    case WEIR_ATTR_PCI_DOMAIN:
        *value = 0;
        return true;
    case WEIR_ATTR_MAJOR:
        *value = ctx->profile->major;
        return true;
    case WEIR_ATTR_MINOR:
        *value = ctx->profile->minor;
        return true;
    default:
        return weir_profile_attribute(ctx->profile, id, value);
    }
}
