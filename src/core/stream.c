/* Streams: their life. Submission: submit.c. Rules: model/stream.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/stream.h"

#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "core/capture.h"
#include "core/check.h"
#include "core/nested.h"
#include "core/trace.h"

_Static_assert(sizeof(struct weir_stream) <= 512, "slot size of streams in core.c");
_Static_assert(offsetof(struct weir_stream, m) % 64 == 0 &&
                   offsetof(struct weir_model_stream, completed) == 64 &&
                   sizeof(struct weir_model_stream) == 128,
               "who submits and who runs write other cache lines");
_Static_assert(sizeof(struct weir_event) <= 128, "slot size of events in core.c");

/* Special handles of the runtime API. */
#define HANDLE_DEFAULT    0
#define HANDLE_LEGACY     1
#define HANDLE_PER_THREAD 2

/* As measured (oracle stream_create.id_legacy0, multi_handles.legacy_ids). */
#define ID_LEGACY(device) (7u + 8u * (unsigned)(device))

#define REUSE_DELAY                                                                                \
    64 /* destroyed streams kept before one is reused: catches most uses after destroy */

/* Moves streams that were destroyed with work left, and have finished since, to those for reuse. */
static void sweep_locked(struct weir_context *ctx)
{
    struct weir_stream **link = &ctx->retired, *s;

    while ((s = *link)) {
        if (!weir_model_stream_is_idle(&s->m)) {
            link = &s->retired_next;
            continue;
        }
        /* Who completed its last operation may not have let go yet (model INV-12). */
        weir_lock_acquire(&s->lock);
        weir_lock_release(&s->lock);
        *link = s->retired_next;
        s->retired_next = NULL;
        if (ctx->spare_last)
            ctx->spare_last->retired_next = s;
        else
            ctx->spare_first = s;
        ctx->spare_last = s;
        ctx->spare_count++;
    }
}

/* A stream struct goes on counting in its next life, on the same device (model/model.h). */
static struct weir_stream *take_locked(struct weir_context *ctx)
{
    struct weir_stream *s;

    sweep_locked(ctx);
    if (ctx->spare_count <= REUSE_DELAY) {
        s = weir_slots_take(&weir_core.streams);
        if (s || !ctx->spare_count)
            return s;
    }
    s = ctx->spare_first;
    ctx->spare_first = s->retired_next;
    if (!ctx->spare_first)
        ctx->spare_last = NULL;
    ctx->spare_count--;
    return s;
}

/* The queues that the streams of ctx share, made for the first of them; NULL: none. The list's lock
 * is held. */
static struct weir_hw_queues *queues_of(struct weir_context *ctx)
{
    if (WEIR_LIKELY(!weir_core.config.strict.hw_queues))
        return NULL;
    if (!ctx->queues) {
        ctx->queues = weir_calloc(1, sizeof *ctx->queues);
        if (!ctx->queues) {
            weir_log(WEIR_LOG_WARN, "no memory for hardware queues, streams have their own");
            return NULL;
        }
        weir_lock_init(&ctx->queues->lock, WEIR_RANK_LEAF);
        ctx->queues->count = weir_core.config.strict.hw_queues;
    }
    return ctx->queues;
}

static enum weir_err create(struct weir_context *ctx, enum weir_stream_class cls, uint32_t flags,
                            int priority, struct weir_nest *nest, struct weir_stream **out)
{
    struct weir_stream *s;

    weir_lock_acquire(&ctx->streams_lock);
    s = take_locked(ctx);
    if (!s) {
        weir_lock_release(&ctx->streams_lock);
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "too many streams");
    }
    /* Of a reused stream others may still take the lock: waiters for points that hold by now. */
    if (s->lock.rank != WEIR_RANK_STREAM)
        weir_lock_init(&s->lock, WEIR_RANK_STREAM);
    weir_lock_acquire(&s->lock);
    s->ctx = ctx;
    s->id = cls == WEIR_STREAM_LEGACY ? ID_LEGACY(ctx->index)
                                      : atomic_fetch_add(&weir_core.next_stream_id, 1);
    s->epoch = atomic_load_explicit(&ctx->epoch, memory_order_relaxed);
    s->flags = flags;
    s->priority = priority;
    s->wait_seq = UINT64_MAX;
    s->naps = false;
    atomic_store_explicit(&s->help_seq, 0, memory_order_relaxed);
    s->nest = nest;
    s->queues = nest ? NULL : queues_of(ctx); /* what is inside must not wait for what is not */
    s->retired_next = NULL;
    weir_lock_init(&s->follows_lock, WEIR_RANK_LEAF);
    memset(s->policy_window, 0, sizeof s->policy_window);
    s->sync_domain = s->sync_domain_map = 0;
    s->follows = (struct weir_model_follows){0};
    memset(&s->member, 0, sizeof s->member);
    atomic_store_explicit(&s->captures, false, memory_order_relaxed);
    atomic_store_explicit(&s->sync_policy, -1, memory_order_relaxed); /* as measured */
    weir_model_stream_init(&weir_core.model, &s->m, ctx->index, cls, priority);
    if (!nest && (cls == WEIR_STREAM_BLOCKING || cls == WEIR_STREAM_NONBLOCKING))
        weir_slot_publish(&s->slot); /* default streams have no handle of this kind */
    if (weir_trace_enabled())
        weir_trace_stream(s->id, ctx->index, ctx->ordinal, cls, priority,
                          nest ? weir_nested_grid(nest) : NULL);
    if (weir_check_follows() && !nest)
        weir_check_stream(s, s->id, ctx->index, cls);
    weir_lock_release(&s->lock);
    weir_lock_release(&ctx->streams_lock);
    *out = s;
    return WEIR_OK;
}

enum weir_err weir_stream_create(struct weir_context *ctx, enum weir_stream_class cls,
                                 uint32_t flags, int priority, struct weir_stream **out)
{
    return create(ctx, cls, flags, priority, NULL, out);
}

enum weir_err weir_stream_create_nested(struct weir_context *ctx, int priority,
                                        struct weir_nest *nest, struct weir_stream **out)
{
    return create(ctx, WEIR_STREAM_NONBLOCKING, 1, priority, nest, out);
}

static void retire_locked(struct weir_stream *s)
{
    struct weir_context *ctx = s->ctx;

    weir_lock_acquire(&s->lock);
    weir_model_stream_finish(&s->m);
    weir_lock_release(&s->lock);
    if (weir_trace_enabled())
        weir_trace_stream_end(s->id);
    if (weir_check_follows() && !s->nest)
        weir_check_stream_end(s);
    s->retired_next = ctx->retired;
    ctx->retired = s;
    sweep_locked(ctx);
}

void weir_stream_retire(struct weir_stream *s)
{
    struct weir_context *ctx = s->ctx;

    if (weir_capture_is(s))
        weir_capture_leave(s);
    weir_lock_acquire(&ctx->streams_lock);
    retire_locked(s);
    weir_lock_release(&ctx->streams_lock);
}

void weir_stream_retire_all(struct weir_context *ctx)
{
    struct weir_model_device *d = &weir_core.model.devices[ctx->index];

    weir_lock_acquire(&ctx->streams_lock);
    while (d->streams) {
        struct weir_stream *s = weir_stream_of(d->streams);

        retire_locked(s); /* its handle stays known: CONTEXT_IS_DESTROYED, until it is reused */
    }
    weir_lock_release(&ctx->streams_lock);
}

static enum weir_err get_special(uintptr_t handle, struct weir_stream **out)
{
    struct weir_context *ctx;
    enum weir_err err = weir_context_current(&ctx);

    if (err != WEIR_OK)
        return err;
    if (handle == HANDLE_DEFAULT)
        handle = weir_thread.ptds ? HANDLE_PER_THREAD : HANDLE_LEGACY;
    if (handle == HANDLE_LEGACY) {
        *out = ctx->legacy;
        return WEIR_OK;
    }
    return weir_thread_default_stream(ctx->index, out);
}

enum weir_err weir_stream_get(void *handle, struct weir_stream **out)
{
    struct weir_stream *s;

    if ((uintptr_t)handle <= HANDLE_PER_THREAD)
        return get_special((uintptr_t)handle, out);
    s = weir_slots_check(&weir_core.streams, handle);
    if (WEIR_UNLIKELY(!s)) {
        if (weir_check_enabled())
            weir_check_bad_handle(handle);
        return WEIR_FAIL(WEIR_ERR_INVALID_RESOURCE_HANDLE, "%p is no stream, or a destroyed one",
                         handle);
    }
    if (WEIR_UNLIKELY(s->epoch != atomic_load_explicit(&s->ctx->epoch, memory_order_relaxed)))
        return WEIR_FAIL(WEIR_ERR_CONTEXT_IS_DESTROYED,
                         "stream of a context that was reset or destroyed");
    *out = s;
    return WEIR_OK;
}
