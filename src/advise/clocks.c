/* Happens-before by vector clocks (clocks.h): of streams, of events, and one of all host threads.
 * SPDX-License-Identifier: Apache-2.0 */
#include "advise/clocks.h"

#include <string.h>

#include "base/alloc.h"
#include "base/map.h"

struct clocks {
    const struct weir_advise_context *c;
    const struct weir_advise_orders *o;
    size_t n;         /* streams */
    uint64_t *stream; /* n clocks of n */
    uint64_t *host;
    struct weir_map events; /* id -> clock */
    struct weir_map ops;    /* those that a wait is moved to -> clock */
};

static void join(uint64_t *to, const uint64_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = WEIR_MAX(to[i], from[i]);
}

static uint64_t *clock_of(const struct clocks *k, uint32_t stream)
{
    return k->stream + (size_t)stream * k->n;
}

static bool is_blocking(const struct weir_trace_stream *s)
{
    return s->cls == WEIR_TRACE_STREAM_BLOCKING || s->cls == WEIR_TRACE_STREAM_PER_THREAD;
}

/* What a submission into a stream follows by itself. */
static void enter(struct clocks *k, uint32_t stream)
{
    const struct weir_trace_file *f = k->c->f;
    const struct weir_trace_stream *s = &f->streams[stream];
    uint64_t *own = clock_of(k, stream);

    join(own, k->host, k->n);
    for (uint32_t i = 0; i < k->n; i++) {
        const struct weir_trace_stream *t = &f->streams[i];

        if (i != stream && t->context == s->context && !k->o->no_legacy &&
            ((s->cls == WEIR_TRACE_STREAM_LEGACY && is_blocking(t)) ||
             (is_blocking(s) && t->cls == WEIR_TRACE_STREAM_LEGACY)))
            join(own, clock_of(k, i), k->n);
    }
}

static void do_sync(struct clocks *k, const struct weir_trace_sync_point *y)
{
    const struct weir_trace_file *f = k->c->f;

    for (uint32_t i = 0; i < k->n; i++) {
        bool covers = y->what == WEIR_TRACE_WAITS_DEVICE ? f->streams[i].context == y->context
                                                         : i == y->stream;

        if (y->what == WEIR_TRACE_WAITS_STREAM && y->stream < k->n &&
            f->streams[y->stream].cls == WEIR_TRACE_STREAM_LEGACY)
            covers = covers || is_blocking(&f->streams[i]);
        if (covers)
            join(k->host, clock_of(k, i), k->n);
    }
}

static bool do_record(struct clocks *k, const struct weir_trace_event_record *r)
{
    uint64_t *e = weir_map_get(&k->events, r->event + 1);

    if (r->stream >= k->n)
        return true;
    if (!e) {
        e = weir_calloc(k->n + 1, sizeof *e);
        if (!e || !weir_map_put(&k->events, r->event + 1, e)) {
            weir_free(e);
            return false;
        }
    }
    enter(k, r->stream);
    memcpy(e, clock_of(k, r->stream), k->n * sizeof *e);
    return true;
}

/* What later waits are moved to keeps its clock. */
static void keep(struct clocks *k, uint32_t op)
{
    uint64_t *at = k->o->moved ? weir_map_get(&k->ops, (uint64_t)op + 1) : NULL;

    if (at)
        memcpy(at, clock_of(k, k->c->f->ops[op].stream), k->n * sizeof *at);
}

static bool is_set(const bool *array, uint32_t i)
{
    return array && array[i];
}

/* One call; how many data orders of its operations are not promised. */
static bool do_call(struct clocks *k, uint32_t call, uint64_t *broken)
{
    const struct weir_trace_file *f = k->c->f;
    const struct weir_plan_recorded *m = &k->c->model;
    const struct weir_trace_call *c = &f->calls[call];

    for (uint32_t i = 0; i < c->op_count; i++) {
        uint32_t at = f->call_ops[c->op_first + i];
        const struct weir_trace_op *op = &f->ops[at];

        enter(k, op->stream);
        for (uint32_t d = 0; d < k->c->data.count[at]; d++) {
            const struct weir_trace_op *on = &f->ops[k->c->data.deps[k->c->data.first[at] + d]];

            if (clock_of(k, op->stream)[on->stream] >= on->seq)
                continue;
            (*broken)++;
            if (k->o->broken)
                k->o->broken(k->o->context, at, k->c->data.deps[k->c->data.first[at] + d]);
        }
        clock_of(k, op->stream)[op->stream] = op->seq;
        keep(k, at);
    }
    for (uint32_t i = 0; i < m->record_count[call]; i++) {
        if (!do_record(k, &f->records[m->record_at[m->record_first[call] + i]]))
            return false;
    }
    for (uint32_t i = 0; i < m->wait_count[call]; i++) {
        uint32_t at = m->wait_at[m->wait_first[call] + i];
        const struct weir_trace_event_wait *w = &f->event_waits[at];
        const uint64_t *e = weir_map_get(&k->events, w->event + 1);

        if (k->o->moved && k->o->moved[at] != WEIR_TRACE_NONE)
            e = weir_map_get(&k->ops, (uint64_t)k->o->moved[at] + 1);
        if (e && w->in_stream < k->n && !is_set(k->o->skip, at))
            join(clock_of(k, w->in_stream), e, k->n);
    }
    for (uint32_t i = 0; i < c->sync_count && !is_set(k->o->no_wait, call); i++)
        do_sync(k, &f->syncs[c->sync_first + i]);
    return true;
}

static bool make_kept(struct clocks *k)
{
    for (size_t i = 0; k->o->moved && i < k->c->f->event_waits_count; i++) {
        uint32_t op = k->o->moved[i];
        uint64_t *clock;

        if (op == WEIR_TRACE_NONE || weir_map_get(&k->ops, (uint64_t)op + 1))
            continue;
        clock = weir_calloc(k->n + 1, sizeof *clock);
        if (!clock || !weir_map_put(&k->ops, (uint64_t)op + 1, clock)) {
            weir_free(clock);
            return false;
        }
    }
    return true;
}

static void free_clocks(struct weir_map *m)
{
    uint64_t key;
    void *value;

    for (size_t pos = 0; weir_map_next(m, &pos, &key, &value);)
        weir_free(value);
    weir_map_finish(m);
}

bool weir_advise_count_broken(const struct weir_advise_context *c,
                              const struct weir_advise_orders *o, uint64_t *broken)
{
    struct clocks k = {.c = c, .o = o, .n = c->f->streams_count};
    bool ok;

    k.stream = weir_calloc(k.n * k.n + 1, sizeof *k.stream);
    k.host = weir_calloc(k.n + 1, sizeof *k.host);
    ok = k.stream && k.host && make_kept(&k);
    *broken = 0;
    for (uint32_t i = 0; ok && i < c->f->calls_count; i++)
        ok = do_call(&k, i, broken);
    free_clocks(&k.events);
    free_clocks(&k.ops);
    weir_free(k.stream);
    weir_free(k.host);
    return ok;
}
