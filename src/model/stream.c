/* Streams: their lists per device, life and death, and what a host call on streams or devices waits
 * for. Operations are in op.c, events in event.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/model_int.h"

void weir_model_init(struct weir_model *m, int device_count, const struct weir_model_memory *memory)
{
    m->memory = *memory;
    m->device_count = device_count;
    m->guaranteed_only = false;
    for (int i = 0; i < WEIR_MODEL_MAX_DEVICES; i++) {
        m->devices[i].legacy = NULL;
        m->devices[i].streams = NULL;
        m->devices[i].streams_last = NULL;
        m->devices[i].leaving = NULL;
    }
}

void weir_model_out_init(struct weir_model_out *out)
{
    out->ready = out->blocked = out->notified = NULL;
    out->ready_tail = &out->ready;
    out->blocked_tail = &out->blocked;
    out->notified_tail = &out->notified;
}

bool weir_model_stream_is_idle(const struct weir_model_stream *s)
{
    return !has_pending(s);
}

static void unlink_leaving(struct weir_model_device *d, struct weir_model_stream *s)
{
    if (s->device_prev)
        s->device_prev->device_next = s->device_next;
    else
        d->leaving = s->device_next;
    if (s->device_next)
        s->device_next->device_prev = s->device_prev;
    s->device_next = s->device_prev = NULL;
    s->leaving = false;
}

/* Only here, under the exclusive list lock, so that readers of the list need no more than a shared
 * one. */
static void prune_leaving(struct weir_model_device *d)
{
    struct weir_model_stream *next;

    for (struct weir_model_stream *s = d->leaving; s; s = next) {
        next = s->device_next;
        if (!has_pending(s))
            unlink_leaving(d, s);
    }
}

void weir_model_stream_init(struct weir_model *m, struct weir_model_stream *s, int device,
                            enum weir_stream_class cls, int priority)
{
    struct weir_model_device *d = &m->devices[device];

    prune_leaving(d); /* s itself may still be in there */
    if (!s->model) {
        /* Never written again: other threads may still read them through old points. */
        s->model = m;
        s->device = (uint16_t)device;
    }
    s->cls = (uint8_t)cls;
    s->priority = (int8_t)priority;
    s->head = NULL;
    s->tail = &s->head;
    s->waiters = s->waiters_last = NULL;
    atomic_store(&s->due, UINT64_MAX);
    atomic_store(&s->asked, UINT64_MAX);
    /* Forgetting is safe: it can only cost an edge that is implied already. */
    s->legacy_seen = s->legacy_covered = 0;
    s->in_use = true;
    s->leaving = false;
    s->device_next = s->device_prev = NULL;
    if (cls == WEIR_STREAM_LEGACY) {
        d->legacy = s;
        return;
    }
    s->device_prev = d->streams_last;
    if (d->streams_last)
        d->streams_last->device_next = s;
    else
        d->streams = s;
    d->streams_last = s;
}

void weir_model_stream_finish(struct weir_model_stream *s)
{
    struct weir_model_device *d = device_of(s);

    prune_leaving(d);
    if (d->legacy == s) {
        d->legacy = NULL;
    } else {
        if (s->device_prev)
            s->device_prev->device_next = s->device_next;
        else
            d->streams = s->device_next;
        if (s->device_next)
            s->device_next->device_prev = s->device_prev;
        else
            d->streams_last = s->device_prev;
    }
    s->device_next = s->device_prev = NULL;
    s->in_use = false;
    if (!has_pending(s))
        return;
    /* ORD-009, ORD-010: the work runs on, a device-wide wait and a later legacy operation must
     * still find it. */
    s->leaving = true;
    s->device_next = d->leaving;
    if (d->leaving)
        d->leaving->device_prev = s;
    d->leaving = s;
}

/* Adds "all of s so far" to a caller's list, counting what does not fit. */
static void add_target(const struct weir_model_stream *s, struct weir_model_point *points,
                       size_t cap, size_t *count)
{
    if (!has_pending(s))
        return;
    if (*count < cap)
        points[*count] = end_of(s);
    (*count)++;
}

size_t weir_model_stream_targets(struct weir_model_stream *s, struct weir_model_point *points,
                                 size_t cap)
{
    const struct weir_model_device *d = device_of(s);
    size_t count = 0;

    add_target(s, points, cap, &count); /* ORD-040; nothing more for others, ORD-042 */
    if (s->cls != WEIR_STREAM_LEGACY)
        return count;
    /* ORD-041, of this device alone (ORD-011). A query adds no edge: nothing is written here
     * (ORD-008). */
    for (const struct weir_model_stream *t = d->streams; t; t = t->device_next)
        if (is_blocking(t))
            add_target(t, points, cap, &count);
    for (const struct weir_model_stream *t = d->leaving; t; t = t->device_next)
        if (is_blocking(t))
            add_target(t, points, cap, &count);
    return count;
}

size_t weir_model_device_targets(struct weir_model *m, int device, struct weir_model_point *points,
                                 size_t cap)
{
    const struct weir_model_device *d = &m->devices[device];
    size_t count = 0;

    /* ORD-043 */
    for (const struct weir_model_stream *t = d->streams; t; t = t->device_next)
        add_target(t, points, cap, &count);
    for (const struct weir_model_stream *t = d->leaving; t; t = t->device_next)
        add_target(t, points, cap, &count);
    if (d->legacy)
        add_target(d->legacy, points, cap, &count);
    return count;
}
