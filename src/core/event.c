/* Events. Rules of recording and waiting: model/event.c; time stamps: submit.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/late.h"
#include "core/capture.h"
#include "core/check.h"
#include "core/clock.h"
#include "core/ipc.h"
#include "core/pool.h"
#include "core/services.h"
#include "core/stream.h"
#include "core/submit.h"
#include "core/trace.h"

enum weir_err weir_event_create(struct weir_context *ctx, uint32_t flags, struct weir_event **out)
{
    struct weir_event *e;

    /* Reusing an old slot: its generation goes on, so that stamps of its last owner's records are
     * dropped. */
    if (flags & ~7u || ((flags & WEIR_EVENT_INTERPROCESS) && !(flags & WEIR_EVENT_DISABLE_TIMING)))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "event flags %#x", flags);
    e = weir_slots_take(&weir_core.events);
    if (!e)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "too many events");
    /* A record of the slot's last owner may still be on its way to stamp it. */
    if (e->lock.rank != WEIR_RANK_EVENT)
        weir_lock_init(&e->lock, WEIR_RANK_EVENT);
    weir_lock_acquire(&e->lock);
    e->flags = flags;
    e->ctx = ctx;
    e->epoch = atomic_load_explicit(&ctx->epoch, memory_order_relaxed);
    e->m = (struct weir_model_event){0};
    e->generation++;
    e->time_ns = 0;
    e->shared = NULL;
    e->shared_number = 0;
    weir_lock_release(&e->lock);
    if (flags & WEIR_EVENT_INTERPROCESS) {
        enum weir_err err = weir_ipc_event_make(e);

        if (err != WEIR_OK) {
            weir_slots_give(&weir_core.events, e);
            return err;
        }
    }
    if (weir_trace_enabled())
        weir_trace_event(weir_core_trace_event_id(e), flags);
    if (weir_check_enabled())
        weir_check_object(e, "event");
    weir_slot_publish(&e->slot);
    *out = e;
    return WEIR_OK;
}

enum weir_err weir_event_get(void *handle, struct weir_event **out)
{
    *out = weir_slots_check(&weir_core.events, handle);
    if (WEIR_UNLIKELY(!*out)) {
        if (weir_check_enabled())
            weir_check_bad_handle(handle);
        return WEIR_FAIL(WEIR_ERR_INVALID_RESOURCE_HANDLE, "%p is no event, or a destroyed one",
                         handle);
    }
    if (WEIR_UNLIKELY((*out)->epoch !=
                      atomic_load_explicit(&(*out)->ctx->epoch, memory_order_relaxed)))
        return WEIR_FAIL(WEIR_ERR_CONTEXT_IS_DESTROYED,
                         "event of a context that was reset or destroyed");
    return WEIR_OK;
}

enum weir_err weir_event_destroy(struct weir_event *e)
{
    if (!weir_slot_kill(&e->slot))
        return WEIR_FAIL(WEIR_ERR_INVALID_RESOURCE_HANDLE, "event destroyed twice");
    weir_capture_forget(e);
    weir_lock_acquire(&e->lock);
    e->generation++;
    if (e->shared)
        weir_ipc_event_drop(e);
    weir_lock_release(&e->lock);
    if (weir_trace_enabled())
        weir_trace_event_end(weir_core_trace_event_id(e));
    if (weir_check_follows())
        weir_check_event_end(e);
    if (weir_check_enabled())
        weir_check_object_end(e);
    weir_slots_give(&weir_core.events, e);
    return WEIR_OK;
}

enum weir_err weir_event_record(struct weir_event *e, struct weir_stream *s, bool external)
{
    struct weir_op *op = NULL;
    bool taken;

    /* Events are bound to their device; a refused record leaves the earlier one as it was (oracle
     * multi_event). */
    if (e->ctx != s->ctx)
        return WEIR_FAIL(WEIR_ERR_INVALID_RESOURCE_HANDLE,
                         "event of context %d recorded in a stream of context %d", e->ctx->index,
                         s->ctx->index);
    if (weir_capture_any()) {
        enum weir_err err = weir_capture_record(s, e, external, &taken);

        if (err != WEIR_OK || taken)
            return err;
    }
    if (external)
        return WEIR_FAIL(WEIR_ERR_ILLEGAL_STATE, "cudaEventRecordExternal outside a capture");
    weir_capture_forget(e);
    atomic_fetch_add_explicit(&s->ctx->records, 1, memory_order_relaxed);
    if ((e->flags & WEIR_EVENT_DISABLE_TIMING) && !e->shared) {
        weir_submit_lock(s);
        if (!weir_model_record_needs_op(&s->m))
            return weir_submit_end_record(s, NULL, e);
        weir_submit_unlock(s);
    }
    op = weir_submit_begin(s, WEIR_OP_RECORD, WEIR_OP_SMALL);
    if (!op)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "an event record");
    return weir_submit_end_record(s, op, e);
}

/* The last record was made by another process: *number is its. */
static bool foreign_record(struct weir_event *e, uint64_t *number)
{
    bool foreign = false;

    if (WEIR_LIKELY(!e->shared))
        return false;
    weir_lock_acquire(&e->lock);
    if (e->shared) {
        *number = atomic_load(&e->shared->recorded);
        foreign = *number != e->shared_number;
    }
    weir_lock_release(&e->lock);
    return foreign;
}

enum weir_err weir_event_wait(struct weir_event *e, struct weir_stream *s, bool external)
{
    struct weir_model_point recorded;
    uint64_t number;
    struct weir_model_dep dep;
    struct weir_op *op;
    bool needed, taken;

    if (weir_capture_any() || external ||
        WEIR_UNLIKELY(atomic_load_explicit(&e->captured, memory_order_relaxed) != NULL)) {
        enum weir_err err = weir_capture_wait(s, e, external, &taken);

        if (err != WEIR_OK || taken)
            return err;
    }

    if (WEIR_UNLIKELY(foreign_record(e, &number))) {
        if (weir_check_enabled())
            weir_check_foreign(s, s->ctx->ordinal);
        return weir_ipc_event_wait_in(e->shared, number, s);
    }
    weir_lock_acquire(&e->lock);
    needed = weir_model_event_wait_dep(&e->m, &s->m, &dep);
    recorded = e->m.recorded ? e->m.point : (struct weir_model_point){0};
    if (weir_check_follows())
        weir_check_wait(e, s); /* for this record, as all that is told of it under the lock */
    weir_lock_release(&e->lock);
    atomic_fetch_add_explicit(&s->ctx->waits, 1, memory_order_relaxed);
    if (weir_trace_enabled())
        weir_core_trace_event_wait(e, s, needed ? &dep : NULL);
    if (needed || weir_model_wait_needs_op(&s->m)) {
        enum weir_err err;

        op = weir_submit_begin(s, WEIR_OP_WAIT, WEIR_OP_SMALL);
        if (!op)
            return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "an event wait");
        err = weir_submit_end(s, op, &dep, needed, NULL, NULL);
        if (err != WEIR_OK)
            return err;
    }
    /* Not before: another thread that allocates in s would get memory whose last use s does not
     * follow yet. */
    if (WEIR_UNLIKELY(atomic_load_explicit(&weir_pool_pending, memory_order_relaxed)))
        weir_pool_follow(s, &recorded);
    return WEIR_OK;
}

enum weir_err weir_event_query(struct weir_event *e)
{
    enum weir_err err = weir_context_error(e->ctx);
    struct weir_model_point point;
    uint64_t number;
    bool complete;

    if (err == WEIR_OK)
        err = weir_capture_ask(e, true, "cudaEventQuery");
    if (err != WEIR_OK)
        return err;
    if (WEIR_UNLIKELY(foreign_record(e, &number))) {
        complete = weir_ipc_event_reached(e->shared, number);
        if (weir_check_enabled() && complete)
            weir_check_foreign(NULL, e->ctx->ordinal);
        return complete ? WEIR_OK : WEIR_ERR_NOT_READY;
    }
    weir_lock_acquire(&e->lock);
    complete = weir_model_event_is_complete(&e->m);
    point = e->m.recorded ? e->m.point : (struct weir_model_point){0};
    if (weir_check_follows() && complete)
        weir_check_host_saw_event(e);
    weir_lock_release(&e->lock);
    if (weir_late_enabled() && !complete)
        weir_late_demand(&point);
    if (weir_explore_enabled() && !complete)
        weir_explore_asked(&point);
    if (weir_trace_enabled())
        weir_trace_query(WEIR_TRACE_QUERY_EVENT, weir_core_trace_event_id(e), complete);
    return complete ? weir_context_error(e->ctx) : WEIR_ERR_NOT_READY;
}

enum weir_err weir_event_synchronize(struct weir_event *e)
{
    struct weir_model_point point = {0};
    enum weir_err err = weir_capture_ask(e, true, "cudaEventSynchronize");
    struct weir_check_sync seen = {0};
    uint64_t number;

    if (err != WEIR_OK)
        return err;
    if (WEIR_UNLIKELY(foreign_record(e, &number))) {
        weir_ipc_event_wait(e->shared, number);
        if (weir_check_enabled())
            weir_check_foreign(NULL, e->ctx->ordinal);
        return weir_context_error(e->ctx);
    }
    weir_lock_acquire(&e->lock);
    if (e->m.recorded)
        point =
            e->m.point; /* a later record does not move this wait (oracle event_wait.hostSync...) */
    if (weir_check_follows() && weir_model_event_is_complete(&e->m))
        weir_check_host_saw_event(e);
    else if (weir_check_follows())
        seen = weir_check_event_sync_begin(e);
    weir_lock_release(&e->lock);
    if (weir_trace_enabled() && point.stream)
        weir_trace_sync(WEIR_TRACE_SYNC_EVENT, weir_stream_of(point.stream)->id, point.seq);
    weir_wait_points(&point, 1);
    if (weir_trace_enabled())
        weir_core_trace_managed_settled();
    weir_check_sync_end(&seen, true);
    weir_pool_synced(NULL, &point, NULL);
    weir_printf_flush(e->ctx);
    return weir_context_error(e->ctx);
}

struct stamp {
    bool recorded, complete;
    uint64_t ns;
    struct weir_context *ctx;
    struct weir_model_point point;
    uint64_t generation;
};

static struct stamp read_stamp(struct weir_event *e)
{
    struct stamp s;

    weir_lock_acquire(&e->lock);
    s = (struct stamp){.recorded = e->m.recorded,
                       .complete = weir_model_event_is_complete(&e->m),
                       .ns = e->time_ns,
                       .ctx = e->ctx,
                       .point = e->m.point,
                       .generation = e->generation};
    weir_lock_release(&e->lock);
    return s;
}

/* Both records are complete. False: it is not known, and wall time is all there is. */
static bool modelled_elapsed(struct weir_event *start, const struct stamp *a,
                             struct weir_event *end, const struct stamp *b, double *ns)
{
    const struct weir_clock_model *model = weir_core_clock();
    struct weir_clock_record from, to;

    if (WEIR_LIKELY(!model) || !a->point.stream || !b->point.stream)
        return false;
    from = (struct weir_clock_record){weir_core_trace_event_id(start),
                                      weir_stream_of(a->point.stream)->id, a->point.seq};
    to = (struct weir_clock_record){weir_core_trace_event_id(end),
                                    weir_stream_of(b->point.stream)->id, b->point.seq};
    return model->elapsed(a->ctx->profile, &from, &to, ns);
}

/* That there is a time says that both are done: those records, not what another thread has made of
 * the events since. */
static void tell_stamp(struct weir_event *e, const struct stamp *s)
{
    weir_lock_acquire(&e->lock);
    if (e->generation == s->generation)
        weir_check_host_saw_event(e);
    weir_lock_release(&e->lock);
}

enum weir_err weir_event_elapsed(struct weir_event *start, struct weir_event *end, float *ms)
{
    struct stamp a, b;
    enum weir_err err;
    double ns;

    err = weir_capture_ask(start, false, "cudaEventElapsedTime");
    if (err == WEIR_OK)
        err = weir_capture_ask(end, false, "cudaEventElapsedTime");
    if (err != WEIR_OK)
        return err;
    if ((start->flags | end->flags) & WEIR_EVENT_DISABLE_TIMING)
        return WEIR_FAIL(WEIR_ERR_INVALID_RESOURCE_HANDLE, "an event without timing has no time");
    if (weir_trace_enabled())
        weir_trace_elapsed(weir_core_trace_event_id(start), weir_core_trace_event_id(end));
    a = read_stamp(start);
    b = read_stamp(end);
    if (!a.recorded || !b.recorded)
        return WEIR_FAIL(WEIR_ERR_INVALID_RESOURCE_HANDLE,
                         "an event that was never recorded has no time");
    if (a.ctx != b.ctx)
        return WEIR_FAIL(WEIR_ERR_INVALID_RESOURCE_HANDLE, "events of two devices");
    err = weir_context_error(a.ctx);
    if (err != WEIR_OK)
        return err;
    if (weir_check_enabled())
        weir_check_elapsed(start, end);
    if (!a.complete || !b.complete)
        return WEIR_ERR_NOT_READY;
    if (weir_check_follows()) {
        tell_stamp(start, &a);
        tell_stamp(end, &b);
    }
    if (!modelled_elapsed(start, &a, end, &b, &ns))
        ns = (double)(int64_t)(b.ns - a.ns);
    *ms = (float)(ns * 1e-6);
    return WEIR_OK;
}
