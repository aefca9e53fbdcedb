/* Contexts: made at the first use, failed by faults, reset.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/context.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "core/array.h"
#include "core/ending.h"
#include "core/inject.h"
#include "core/module.h"
#include "core/nested.h"
#include "core/pool.h"
#include "core/stream.h"
#include "core/check.h"
#include "core/trace.h"
#include "core/watch.h"
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
    if (ctx->profile)
        atomic_store_explicit(&ctx->limits[WEIR_LIMIT_L2_PERSIST],
                              ctx->profile->persisting_l2_bytes, memory_order_relaxed);
}

#define RESIDENT_KERNELS 128 /* of capability 7.0, 7.5, 8.x and 9.0 */

/* What a GPU holds at a time; none when the profile is that of the machine's processors. */
static struct weir_device_size size_of(const struct weir_profile *p)
{
    const int32_t *a = p->attributes;

    if (!p->sm_count)
        return (struct weir_device_size){0};
    return (struct weir_device_size){
        .sms = (uint32_t)p->sm_count,
        .kernels = RESIDENT_KERNELS,
        .blocks = (uint32_t)a[WEIR_ATTR_MAX_BLOCKS_PER_SM],
        .threads = (uint32_t)a[WEIR_ATTR_MAX_THREADS_PER_SM],
        .registers = (uint32_t)a[WEIR_ATTR_MAX_REGISTERS_PER_SM],
        .shared = (uint32_t)a[WEIR_ATTR_MAX_SHARED_PER_SM],
    };
}

static enum weir_err start_engines_locked(struct weir_context *primary)
{
    struct weir_device_config config = {
        .ordinal = primary->ordinal,
        .workers = weir_core.config.workers,
        .help = weir_core.config.help,
        .one_copy_engine = weir_core.config.strict.copy_engines == 1,
        .name = primary->profile->device_name,
        .size = size_of(primary->profile),
    };
    enum weir_err err;

    if (primary->engines)
        return WEIR_OK;
    err = weir_device_create(&config, &primary->engines);
    if (err == WEIR_OK && weir_core.config.stats)
        weir_device_stats_enable(primary->engines, true);
    return err;
}

static enum weir_err activate_locked(struct weir_context *ctx)
{
    struct weir_context *primary = &weir_core.contexts[ctx->ordinal];
    enum weir_err err = start_engines_locked(primary);

    if (err != WEIR_OK)
        return err;
    ctx->engines = primary->engines;
    if (weir_trace_enabled())
        weir_core_trace_context(ctx);
    if (!ctx->legacy) {
        err = weir_stream_create(ctx, WEIR_STREAM_LEGACY, 0, 0, &ctx->legacy);
        if (err != WEIR_OK)
            return err;
    }
    atomic_store_explicit(&ctx->active, WEIR_ACTIVE, memory_order_release);
    weir_watch_start();
    weir_ending_start();
    return WEIR_OK;
}

/* Good and running; primary contexts begin here. */
static enum weir_err enter(struct weir_context *ctx)
{
    enum weir_err err = weir_context_error(ctx);

    if (WEIR_UNLIKELY(err != WEIR_OK))
        return err;
    if (WEIR_LIKELY(atomic_load_explicit(&ctx->active, memory_order_acquire)))
        return WEIR_OK;
    if (ctx->index != ctx->ordinal)
        return WEIR_FAIL(WEIR_ERR_CONTEXT_IS_DESTROYED, "the current context was destroyed");
    weir_lock_acquire(&weir_core.lock);
    err = atomic_load_explicit(&ctx->active, memory_order_relaxed) ? WEIR_OK : activate_locked(ctx);
    weir_lock_release(&weir_core.lock);
    if (WEIR_UNLIKELY(err == WEIR_OK && weir_inject_enabled())) {
        (void)weir_inject_devices(weir_clock_ns()); /* what is to be lost at once */
        err = weir_context_error(ctx);
    }
    return err;
}

enum weir_err weir_context_get(int device, struct weir_context **out)
{
    if (device < 0 || device >= weir_core.device_count)
        return WEIR_FAIL(WEIR_ERR_INVALID_DEVICE, "device %d of %d", device,
                         weir_core.device_count);
    *out = &weir_core.contexts[device];
    return enter(*out);
}

enum weir_err weir_context_current(struct weir_context **out)
{
    *out = &weir_core.contexts[weir_thread.context];
    return enter(*out);
}

/* ---- created contexts ---- */

/* A place that is free: the one that was used least recently, so that dead handles are recognised
 * for long. NULL: none. */
static struct weir_context *take_place_locked(void)
{
    struct weir_core *c = &weir_core;
    struct weir_context *oldest = NULL;
    int count = atomic_load(&c->context_count);

    if (count < WEIR_MAX_CONTEXTS) {
        weir_context_init(&c->contexts[count], count, -1);
        atomic_store(&c->context_count, count + 1);
        return &c->contexts[count];
    }
    for (int i = c->device_count; i < count; i++) {
        struct weir_context *ctx = &c->contexts[i];

        if (!atomic_load(&ctx->active) && !ctx->in_use && (!oldest || ctx->id < oldest->id))
            oldest = ctx;
    }
    return oldest;
}

enum weir_err weir_context_create(int device, uint32_t flags, struct weir_context **out)
{
    struct weir_context *primary, *ctx;
    enum weir_err err;

    if (device < 0 || device >= weir_core.device_count)
        return WEIR_FAIL(WEIR_ERR_INVALID_DEVICE, "device %d of %d", device,
                         weir_core.device_count);
    primary = &weir_core.contexts[device];
    err = weir_context_error(primary);
    if (err != WEIR_OK)
        return err;
    weir_lock_acquire(&weir_core.lock);
    ctx = take_place_locked();
    if (ctx) {
        ctx->ordinal = device;
        ctx->id = atomic_fetch_add(&weir_core.next_context_id, 1) + 1;
        atomic_store(&ctx->flags, flags);
        atomic_store(&ctx->error, 0);
        atomic_store(&ctx->copy_error, 0);
        atomic_store(&ctx->peers, 0);
        weir_context_default_limits(ctx);
        err = activate_locked(ctx);
        ctx->in_use = err == WEIR_OK;
    }
    weir_lock_release(&weir_core.lock);
    *out = ctx;
    return ctx ? err : WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "too many contexts");
}

/* What is in a context ends; its handles are refused from here on. */
static void empty(struct weir_context *ctx)
{
    atomic_fetch_add(&ctx->epoch, 1);
    weir_stream_retire_all(ctx);
    ctx->legacy->epoch = atomic_load(&ctx->epoch);
    weir_nested_reset(ctx);
    weir_module_unload_context(ctx);
    weir_mem_free_owned(ctx->ordinal, weir_context_owner(ctx));
    if (ctx->index == ctx->ordinal) {
        weir_pool_reset_device(ctx->ordinal);
        weir_array_reset_device(ctx->ordinal);
    }
}

enum weir_err weir_context_destroy(struct weir_context *ctx)
{
    if (ctx->index == ctx->ordinal)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "a primary context is released, not destroyed");
    (void)!weir_wait_device(ctx); /* destroyed whatever has happened in it */
    if (!atomic_exchange(&ctx->active, 0))
        return WEIR_FAIL(WEIR_ERR_CONTEXT_IS_DESTROYED, "context destroyed twice");
    empty(ctx);
    weir_lock_acquire(&weir_core.lock);
    ctx->in_use = false;
    weir_lock_release(&weir_core.lock);
    return WEIR_OK;
}

/* Any pointer that is a place in the array, or NULL. */
static struct weir_context *place_of(const void *p)
{
    uintptr_t offset = (uintptr_t)p - (uintptr_t)weir_core.contexts;

    if (offset % sizeof(struct weir_context) ||
        offset / sizeof(struct weir_context) >= (uintptr_t)atomic_load(&weir_core.context_count))
        return NULL;
    return &weir_core.contexts[offset / sizeof(struct weir_context)];
}

struct weir_context *weir_context_check(const void *handle)
{
    struct weir_context *ctx = place_of(handle);

    return ctx && (ctx->index == ctx->ordinal || atomic_load(&ctx->active)) ? ctx : NULL;
}

bool weir_context_is_owner(const void *owner)
{
    return !owner || place_of(owner);
}

enum weir_err weir_context_wait_device(int device)
{
    enum weir_err first = WEIR_OK;

    for (int i = 0; i < atomic_load(&weir_core.context_count); i++) {
        struct weir_context *ctx = &weir_core.contexts[i];

        if (ctx->ordinal == device && atomic_load(&ctx->active)) {
            enum weir_err err = weir_wait_device(ctx);

            first = first == WEIR_OK ? err : first;
        }
    }
    return first;
}

uint64_t weir_context_sync_begin(enum weir_implicit_sync cause)
{
    weir_thread_wait_why(1u + cause);
    return weir_clock_ns();
}

void weir_context_sync_end(struct weir_context *ctx, enum weir_implicit_sync cause, uint64_t begin)
{
    weir_thread_wait_why(0);
    atomic_fetch_add_explicit(&ctx->implicit[cause].count, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&ctx->implicit[cause].ns, weir_clock_ns() - begin,
                              memory_order_relaxed);
}

enum weir_err weir_context_wait_before(enum weir_host_call call, int device)
{
    enum weir_implicit_sync cause =
        call == WEIR_CALL_LAZY_LOAD ? WEIR_SYNC_LAZY_LOAD : WEIR_SYNC_FREE;
    uint64_t start;
    enum weir_err err;

    if (!weir_model_call_rule(call).waits_for_device)
        return WEIR_OK;
    start = weir_context_sync_begin(cause);
    weir_check_unpromised(weir_model_call_rule(call).strength != WEIR_GUARANTEED ||
                          weir_check_without_free());
    err = weir_context_wait_device(device);
    weir_check_promised();
    weir_context_sync_end(&weir_core.contexts[device], cause, start);
    return err;
}

/* ---- failing and resetting ---- */

void weir_context_fail(struct weir_context *ctx, enum weir_err err)
{
    for (int i = 0; i < atomic_load(&weir_core.context_count); i++) {
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
    empty(ctx);
    if (ctx->index != ctx->ordinal)
        return WEIR_OK;
    atomic_store(&ctx->peers, 0);
    for (int i = 0; i < weir_core.device_count; i++) {
        atomic_fetch_and(&weir_core.contexts[i].peers, ~(1ull << ctx->ordinal));
        weir_mem_peer_allow(i, ctx->ordinal, false);
        weir_mem_peer_allow(ctx->ordinal, i, false);
    }
    atomic_store(&ctx->flags, 0);
    weir_context_default_limits(ctx);
    atomic_store(&ctx->active, 0); /* until it is used again (oracle multi_context.after_reset_*) */
    return WEIR_OK;
}

#define PCI_SLOTS 32 /* of a bus */

static int pci(const struct weir_context *ctx, int id)
{
    int value = 0;

    weir_profile_attribute(ctx->profile, id, &value);
    return value;
}

bool weir_context_attribute(const struct weir_context *ctx, int id, int *value)
{
    switch (id) {
    case WEIR_ATTR_SM_COUNT:
        *value = ctx->sm_count;
        return true;
    case WEIR_ATTR_PCI_BUS: /* no real addresses: only unique, as programs compare them */
        *value = pci(ctx, id) + (pci(ctx, WEIR_ATTR_PCI_DEVICE) + ctx->ordinal) / PCI_SLOTS;
        return true;
    case WEIR_ATTR_PCI_DEVICE:
        *value = (pci(ctx, id) + ctx->ordinal) % PCI_SLOTS;
        return true;
    case WEIR_ATTR_PCI_DOMAIN:
        *value = pci(ctx, id);
        return true;
    case WEIR_ATTR_BOARD_GROUP: /* a board each (oracle multi_device.attributes_that_differ) */
        *value = ctx->ordinal;
        return true;
    case WEIR_ATTR_ASYNC_ENGINES:
        if (!weir_profile_attribute(ctx->profile, id, value))
            return false;
        if (weir_core.config.strict.copy_engines)
            *value = WEIR_MIN(*value, weir_core.config.strict.copy_engines);
        return true;
    case WEIR_ATTR_PAGEABLE_ACCESS: /* which is more than the other */
    case WEIR_ATTR_CONCURRENT_MANAGED:
        if (!weir_profile_attribute(ctx->profile, id, value))
            return false;
        *value = *value && !weir_core.config.strict.managed;
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
