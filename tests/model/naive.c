/* See naive.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/naive.h"

int naive_stream_add(struct naive *n, int device, enum naive_class cls)
{
    n->streams[n->stream_count] = (struct naive_stream){device, cls, n->op_count};
    return n->stream_count++;
}

static bool joins_legacy_of(const struct naive *n, int op, int device)
{
    const struct naive_op *o = &n->ops[op];
    const struct naive_stream *s = &n->streams[o->stream];

    /* ORD-003, ORD-005, ORD-006, ORD-010 (destroyed or not is not asked), ORD-011 */
    return s->device == device && (s->cls == NAIVE_BLOCKING || s->cls == NAIVE_PER_THREAD);
}

static bool is_legacy_of(const struct naive *n, int op, int device)
{
    const struct naive_op *o = &n->ops[op];
    const struct naive_stream *s = &n->streams[o->stream];

    return (s->cls == NAIVE_LEGACY && s->device == device) ||
           o->peer_device == device; /* ORD-012 */
}

/* Does something submitted to `stream` now follow op i, which was submitted before? */
static bool stream_follows(const struct naive *n, int i, int stream)
{
    const struct naive_stream *s = &n->streams[stream];

    if (n->ops[i].stream == stream) /* ORD-001 */
        return true;
    switch (s->cls) {
    case NAIVE_LEGACY: /* ORD-003; of two legacy operations ORD-001, or ORD-012 */
        return joins_legacy_of(n, i, s->device) || is_legacy_of(n, i, s->device);
    case NAIVE_BLOCKING:
    case NAIVE_PER_THREAD: /* ORD-004 */
        return is_legacy_of(n, i, s->device);
    case NAIVE_NONBLOCKING: /* ORD-005 */
        break;
    }
    return false; /* ORD-002 */
}

/* Was op i among what the record stands for? ORD-020, ORD-026 */
static bool captured(const struct naive *n, const struct naive_event *e, int i)
{
    return i < e->time && stream_follows(n, i, e->stream);
}

bool naive_direct(const struct naive *n, int i, int j)
{
    const struct naive_op *o = &n->ops[j];

    if (i >= j)
        return false;
    if (stream_follows(n, i, o->stream))
        return true;
    if (o->peer_device >= 0 &&
        (joins_legacy_of(n, i, o->peer_device) || is_legacy_of(n, i, o->peer_device)))
        return true;                             /* ORD-012 */
    return o->waits && captured(n, &o->wait, i); /* ORD-021, ORD-022, ORD-027 */
}

static int add(struct naive *n, struct naive_op op)
{
    n->ops[n->op_count] = op;
    n->pending[n->pending_count++] = n->op_count;
    return n->op_count++;
}

int naive_submit(struct naive *n, int stream)
{
    return add(n, (struct naive_op){.stream = stream, .peer_device = -1});
}

/* The operation in front of one in the stream that is submitted as number j, -1 none. */
static int in_front(const struct naive *n, int stream, int j)
{
    const struct naive_stream *s = &n->streams[stream];

    while (--j >= s->born)
        if (n->ops[j].stream == stream ||
            (s->cls == NAIVE_LEGACY && n->ops[j].peer_device == s->device)) /* ORD-012 */
            return j;
    return -1;
}

int naive_launch(struct naive *n, int stream, bool asks)
{
    int j = naive_submit(n, stream), front = in_front(n, stream, j);

    n->ops[j].kernel = true;
    n->ops[j].asks = asks;
    n->ops[j].front = front;
    for (int k = 0; k < n->pending_count; k++) {
        int i = n->pending[k];

        if (naive_direct(n, i, j) && i != front && (front < 0 || !naive_direct(n, i, front)))
            n->ops[j].apart = true;
    }
    return j;
}

int naive_submit_peer(struct naive *n, int stream, int other_device)
{
    return add(n, (struct naive_op){.stream = stream, .peer_device = other_device});
}

int naive_wait(struct naive *n, int stream, const struct naive_event *e)
{
    bool nothing = naive_event_complete(n, e) || e->stream == stream; /* ORD-023, ORD-024 */

    if (nothing && n->streams[stream].cls != NAIVE_LEGACY) /* ORD-007 */
        return -1;
    return add(
        n, (struct naive_op){.stream = stream, .peer_device = -1, .waits = !nothing, .wait = *e});
}

void naive_record(struct naive *n, struct naive_event *e, int stream)
{
    *e = (struct naive_event){.recorded = true,
                              .stream = stream,
                              .time = n->op_count,
                              .front = in_front(n, stream, n->op_count)};
}

bool naive_event_complete(const struct naive *n, const struct naive_event *e)
{
    if (!e->recorded) /* ORD-023 */
        return true;
    for (int k = 0; k < n->pending_count; k++) /* ORD-044 */
        if (captured(n, e, n->pending[k]))
            return false;
    return true;
}

void naive_done(struct naive *n, int op)
{
    int k = 0;

    n->ops[op].done = true;
    while (n->pending[k] != op)
        k++;
    for (n->pending_count--; k < n->pending_count; k++)
        n->pending[k] = n->pending[k + 1];
}

bool naive_ready(const struct naive *n, int j)
{
    for (int k = 0; k < n->pending_count && n->pending[k] < j; k++)
        if (naive_direct(n, n->pending[k], j))
            return false;
    return !n->ops[j].done;
}

int naive_early(const struct naive *n, int stream)
{
    for (int k = 0; k < n->pending_count; k++) {
        const struct naive_op *o = &n->ops[n->pending[k]], *f;

        if (o->stream != stream || !o->kernel || !o->asks || o->begun || o->front < 0)
            continue;
        f = &n->ops[o->front];
        if (!o->apart && f->kernel && !f->done && f->begun && (f->triggered || f->ended))
            return n->pending[k];
    }
    return -1;
}

int naive_stands_behind(const struct naive *n, int j)
{
    int stream = n->ops[j].stream, front = in_front(n, stream, j);

    if (!n->ops[j].asks)
        return front;
    while (front >= 0 && n->ops[front].aside)
        front = in_front(n, stream, front);
    return front >= 0 && n->ops[front].kernel ? naive_stands_behind(n, front) : front;
}

bool naive_wait_is_over(const struct naive *n, int j)
{
    for (int k = 0; k < n->pending_count && n->pending[k] < j; k++)
        if (n->ops[n->pending[k]].stream == n->ops[j].stream)
            return false;
    return true;
}

bool naive_is_full(const struct naive *n, int stream, int depth, bool beyond)
{
    int count = 0;

    for (int k = 0; k < n->pending_count; k++)
        count += n->ops[n->pending[k]].stream == stream;
    return !beyond && count > depth; /* one that runs, and `depth` behind it */
}

void naive_enqueue(struct naive *n, int op, int queue)
{
    n->ops[op].queue = queue;
}

bool naive_may_start(const struct naive *n, int j)
{
    for (int k = 0; k < n->pending_count && n->pending[k] < j; k++) {
        const struct naive_op *o = &n->ops[n->pending[k]];

        if (o->queue && o->queue == n->ops[j].queue && !o->begun)
            return false;
    }
    return naive_ready(n, j);
}

bool naive_load_waits(const struct naive *n, int device, int i)
{
    return !n->ops[i].done && n->streams[n->ops[i].stream].device == device;
}

#define NAIVE_MIB (1L << 20)

bool naive_stage(struct naive_staging *s, long bytes)
{
    long pieces = 0;

    if (bytes <= 65536) {
        if (s->small + bytes + 32 > 4068000)
            return false;
        s->small += bytes + 32;
        return true;
    }
    while (pieces * NAIVE_MIB < bytes)
        pieces++;
    if (s->pieces + pieces > 2)
        return false;
    s->pieces += pieces;
    return true;
}

void naive_unstage(struct naive_staging *s, long bytes)
{
    if (bytes <= 65536)
        s->small -= bytes + 32;
    else
        s->pieces -= (bytes + NAIVE_MIB - 1) / NAIVE_MIB;
}

/* Does e stand for all that is in front of the free? Both in one stream. */
static bool is_behind(const struct naive_event *e, const struct naive_event *freed)
{
    return e->recorded && e->stream == freed->stream && freed->front < e->time;
}

static bool has_waited(const struct naive_waits *waits, const struct naive_event *freed)
{
    for (int k = 0; k < waits->count; k++)
        if (is_behind(&waits->events[k], freed))
            return true;
    return false;
}

bool naive_may_reuse(const struct naive *n, const struct naive_event *freed, int stream,
                     const struct naive_waits *waits, bool follow, bool opportunistic)
{
    return freed->stream == stream ||                         /* ORD-050 */
           (follow && has_waited(waits, freed)) ||            /* ORD-051 */
           (opportunistic && naive_event_complete(n, freed)); /* ORD-052 */
}

bool naive_settles(const struct naive *n, const struct naive_event *freed, int stream,
                   const struct naive_waits *waits, const struct naive_event *event, int device)
{
    const struct naive_stream *t = &n->streams[freed->stream], *s;

    if (!naive_event_complete(n, freed))
        return false;
    if (event)
        return is_behind(event, freed);
    if (stream < 0)
        return t->device == device;
    s = &n->streams[stream];
    return stream == freed->stream || has_waited(waits, freed) ||
           (s->cls == NAIVE_LEGACY && s->device == t->device && t->cls != NAIVE_NONBLOCKING);
}

bool naive_stream_sync_waits(const struct naive *n, int stream, int i)
{
    const struct naive_stream *s = &n->streams[stream];

    if (n->ops[i].done)
        return false;
    if (n->ops[i].stream == stream) /* ORD-040 */
        return true;
    /* ORD-041; ORD-042: not the other way round; ORD-008: asking adds nothing */
    return s->cls == NAIVE_LEGACY &&
           (joins_legacy_of(n, i, s->device) || is_legacy_of(n, i, s->device));
}

bool naive_device_sync_waits(const struct naive *n, int device, int i)
{
    return !n->ops[i].done &&
           (n->streams[n->ops[i].stream].device == device || n->ops[i].peer_device == device);
}
