/* Questions about waiting: for what was recorded too late, by the host instead of a stream, for the
 * wrong record, for nothing at all, by asking again and again.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "advise/clocks.h"
#include "advise/groups.h"
#include "base/alloc.h"
#include "base/map.h"

#define SITES_MAX  24
#define LOOP_LEAST 3          /* fewer at one place are no loop: setting up, most likely */
#define WORK_MAX   400000000u /* pairs looked at; more is not worth the wait */

static bool has_orders(const struct weir_advise_context *c)
{
    return c->data.known && c->f->streams_count <= WEIR_ADVISE_STREAMS_MAX;
}

/* ---- 11, 25: an event recorded later than needed, a wait for the wrong record ---- */

/* By event wait: the last operation of the other stream, up to the record, whose data the waiting
 * stream needs afterwards; NONE: none. (What it needs from the wait on: later waits may repeat it.)
 */
static uint32_t *find_needed(const struct weir_advise_context *c)
{
    const struct weir_trace_file *f = c->f;
    uint32_t *needed = weir_alloc((f->event_waits_count + 1) * sizeof *needed);

    for (size_t w = 0; needed && w < f->event_waits_count; w++) {
        const struct weir_trace_event_wait *e = &f->event_waits[w];

        needed[w] = WEIR_TRACE_NONE;
        if (e->call == WEIR_TRACE_NONE || e->stream == WEIR_TRACE_NONE ||
            e->in_stream == WEIR_TRACE_NONE || e->stream == e->in_stream)
            continue;
        for (uint32_t i = 0; i < f->streams[e->in_stream].op_count; i++) {
            uint32_t at = f->stream_ops[f->streams[e->in_stream].op_first + i];

            if (f->ops[at].call == WEIR_TRACE_NONE || f->ops[at].call < e->call)
                continue;
            for (uint32_t d = 0; d < c->data.count[at]; d++) {
                uint32_t on = c->data.deps[c->data.first[at] + d];

                if (f->ops[on].stream == e->stream && f->ops[on].seq <= e->seq &&
                    (needed[w] == WEIR_TRACE_NONE || f->ops[on].seq > f->ops[needed[w]].seq))
                    needed[w] = on;
            }
        }
    }
    return needed;
}

/* Does the record cover work behind what is needed? */
static bool is_late(const struct weir_trace_file *f, const struct weir_trace_event_wait *e,
                    uint32_t needed)
{
    const struct weir_trace_stream *s = &f->streams[e->stream];

    for (uint32_t i = s->op_count; i-- > 0;) {
        const struct weir_trace_op *op = &f->ops[f->stream_ops[s->op_first + i]];

        if (op->seq <= f->ops[needed].seq)
            return false;
        if (op->seq <= e->seq && weir_advise_is_work(op))
            return true;
    }
    return false;
}

/* An earlier record of the same event that covers what is needed. */
static bool has_earlier_record(const struct weir_trace_file *f,
                               const struct weir_trace_event_wait *e, uint32_t needed)
{
    for (size_t i = 0; i < f->records_count; i++) {
        const struct weir_trace_event_record *r = &f->records[i];

        if (r->event == e->event && r->stream == e->stream && r->seq < e->seq &&
            r->seq >= f->ops[needed].seq)
            return true;
    }
    return false;
}

static uint32_t record_of(const struct weir_trace_file *f, const struct weir_trace_event_wait *e)
{
    for (size_t i = f->records_count; i-- > 0;) {
        if (f->records[i].event == e->event && f->records[i].stream == e->stream &&
            f->records[i].seq == e->seq)
            return f->records[i].call;
    }
    return WEIR_TRACE_NONE;
}

struct late {
    bool *skip;
    uint32_t *needed, *moved;
    uint64_t broken;
};

static bool try_late_site(struct weir_advise_context *c, uint32_t site, struct late *l)
{
    const struct weir_plan_scenario s = {.skip_edge = l->skip, .data_orders = true};
    const struct weir_advise_orders orders = {.moved = l->moved};
    struct weir_advise_finding d = {.kind = "late-record", .stream = WEIR_TRACE_NONE};
    const struct weir_trace_file *f = c->f;
    uint32_t count = 0, example = WEIR_TRACE_NONE;
    uint64_t now;

    for (size_t i = 0; i < f->event_waits_count; i++) {
        const struct weir_trace_event_wait *w = &f->event_waits[i];

        l->skip[i] = w->call != WEIR_TRACE_NONE && f->calls[w->call].site == site &&
                     l->needed[i] != WEIR_TRACE_NONE && is_late(f, w, l->needed[i]);
        l->moved[i] = l->skip[i] ? l->needed[i] : WEIR_TRACE_NONE;
        if (!l->skip[i])
            continue;
        count++;
        if (has_earlier_record(f, w, l->needed[i]))
            d.kind = "wrong-record";
        example = l->needed[i];
        d.stream = w->in_stream;
        weir_advise_add_site(c, &d, record_of(f, w));
        weir_advise_add_site(c, &d, w->call);
    }
    if (!count)
        return true;
    if (!weir_advise_count_broken(c, &orders, &now))
        return false;
    if (now > l->broken)
        return true; /* somebody else relies on it */
    if (!weir_advise_price(c, &s, &d.gain_ns))
        return false;
    if (!d.gain_ns)
        return true;
    if (strcmp(d.kind, "wrong-record") == 0)
        snprintf(d.message, sizeof d.message,
                 "%u wait%s for a later record of an event than the data needs: an earlier record "
                 "of it stood behind %s, the last operation whose data is used (ORD-021, ORD-022)",
                 count, count == 1 ? " is" : "s are", f->ops[example].name);
    else
        snprintf(d.message, sizeof d.message,
                 "an event is recorded later than needed, and a stream waits for it %u time%s: the "
                 "last operation whose data is used is %s, but the record covers work behind it "
                 "(ORD-020)",
                 count, count == 1 ? "" : "s", f->ops[example].name);
    snprintf(d.change, sizeof d.change, "%s directly behind %s",
             strcmp(d.kind, "wrong-record") == 0 ? "wait before the event is recorded again: for "
                                                   "the record"
                                                 : "record the event",
             f->ops[example].name);
    return weir_advise_add(c, &d);
}

static bool find_late(struct weir_advise_context *c)
{
    const struct weir_advise_orders none = {0};
    const struct weir_trace_file *f = c->f;
    struct late l = {.skip = weir_calloc(f->event_waits_count + 1, sizeof *l.skip),
                     .needed = find_needed(c),
                     .moved = weir_calloc(f->event_waits_count + 1, sizeof *l.moved)};
    bool *tried = weir_calloc(f->sites_count + 1, sizeof *tried);
    bool ok =
        l.skip && l.needed && l.moved && tried && weir_advise_count_broken(c, &none, &l.broken);
    int sites = 0;

    for (size_t i = 0; ok && i < f->event_waits_count && sites < SITES_MAX; i++) {
        uint32_t call = f->event_waits[i].call;
        uint32_t site = call == WEIR_TRACE_NONE ? WEIR_TRACE_NONE : f->calls[call].site;

        if (site == WEIR_TRACE_NONE || tried[site])
            continue;
        tried[site] = true;
        sites++;
        ok = try_late_site(c, site, &l);
    }
    weir_free(l.skip);
    weir_free(l.needed);
    weir_free(l.moved);
    weir_free(tried);
    return ok;
}

/* Data that nothing orders, though a wait stands there: for an earlier record than it takes. */
struct early {
    struct weir_advise_context *c;
    struct weir_advise_finding d;
    uint32_t count, on;
};

static void note_broken(void *context, uint32_t op, uint32_t on)
{
    struct early *e = context;
    const struct weir_trace_file *f = e->c->f;
    const struct weir_trace_op *o = &f->ops[op], *before = &f->ops[on];

    for (size_t i = f->event_waits_count; i-- > 0;) {
        const struct weir_trace_event_wait *w = &f->event_waits[i];

        if (w->in_stream != o->stream || w->stream != before->stream || w->seq >= before->seq ||
            w->call == WEIR_TRACE_NONE || o->call == WEIR_TRACE_NONE || w->call > o->call ||
            before->call == WEIR_TRACE_NONE || before->call > w->call)
            continue;
        e->count++;
        e->on = on;
        e->d.stream = o->stream;
        weir_advise_add_site(e->c, &e->d, record_of(f, w));
        weir_advise_add_site(e->c, &e->d, w->call);
        return;
    }
}

static bool find_early(struct weir_advise_context *c)
{
    struct early e = {.c = c, .d = {.kind = "wrong-record", .note = true}};
    const struct weir_advise_orders orders = {.broken = note_broken, .context = &e};
    uint64_t broken;

    if (!weir_advise_count_broken(c, &orders, &broken))
        return false;
    if (!e.count)
        return true;
    snprintf(e.d.message, sizeof e.d.message,
             "a stream waits for an earlier record than its data needs, %u time%s: %s was "
             "submitted behind that record, and nothing orders it before the use of its data "
             "(ORD-020): a race, whatever it gains",
             e.count, e.count == 1 ? "" : "s", c->f->ops[e.on].name);
    snprintf(e.d.change, sizeof e.d.change, "record the event behind %s, then wait",
             c->f->ops[e.on].name);
    return weir_advise_add(c, &e.d);
}

bool weir_advise_find_records(struct weir_advise_context *c)
{
    return !has_orders(c) || !c->f->event_waits_count ||
           (uint64_t)c->f->event_waits_count * c->f->ops_count > WORK_MAX ||
           (find_late(c) && find_early(c));
}

/* ---- 24: the host waits for what a stream could wait for ---- */

static bool has_wait(const struct weir_advise_context *c, uint32_t call)
{
    const struct weir_trace_call *k = &c->f->calls[call];

    return k->sync_count && !k->op_count && k->waited_ns && !weir_advise_brings_results(c, call) &&
           !weir_advise_is_memory_call(k->name);
}

static bool is_device_wait(const struct weir_advise_context *c, uint32_t call)
{
    const struct weir_trace_call *k = &c->f->calls[call];

    return k->sync_count == 1 && !k->op_count && k->waited_ns &&
           c->f->syncs[k->sync_first].what == WEIR_TRACE_WAITS_DEVICE;
}

/* Waits that bring the host nothing, but without which streams' data would be out of order. */
static bool try_host_waits(struct weir_advise_context *c, const struct weir_advise_groups *g,
                           const struct weir_advise_group *at, bool *calls)
{
    const struct weir_plan_scenario s = {.no_wait = calls, .data_orders = true};
    const struct weir_advise_orders none = {0}, without = {.no_wait = calls};
    struct weir_advise_finding d = {.kind = "host-wait", .stream = WEIR_TRACE_NONE};
    const struct weir_trace_file *f = c->f;
    uint64_t broken, now, waited = 0;
    uint32_t count = 0;

    for (uint32_t i = 0; i < f->calls_count; i++) {
        /* The last call of all may be there for the host. */
        calls[i] =
            weir_advise_is_at(c, g, i, at) && has_wait(c, i) && weir_advise_work_follows(c, i);
        count += calls[i];
        waited += calls[i] ? f->calls[i].waited_ns : 0;
    }
    if (!count)
        return true;
    if (!weir_advise_count_broken(c, &none, &broken) ||
        !weir_advise_count_broken(c, &without, &now))
        return false;
    if (now <= broken)
        return true; /* 5: it can simply go */
    if (!weir_advise_price(c, &s, &d.gain_ns))
        return false;
    if (!d.gain_ns)
        return true;
    weir_advise_add_site(c, &d, at->first);
    snprintf(
        d.message, sizeof d.message,
        "%s stops the host %u time%s, %.3f ms in all, only so that another stream's work comes "
        "after: nothing was copied back for the host to read, and meanwhile it submits "
        "nothing",
        f->calls[at->first].name, count, count == 1 ? "" : "s", (double)waited * 1e-6);
    snprintf(d.change, sizeof d.change,
             "let the stream wait: cudaEventRecord behind the work, cudaStreamWaitEvent in the "
             "stream that needs it");
    return weir_advise_add(c, &d);
}

static uint32_t last_result(const struct weir_advise_context *c, uint32_t call, bool *several)
{
    const struct weir_trace_file *f = c->f;
    uint32_t last = WEIR_TRACE_NONE;

    *several = false;
    for (uint32_t i = call; i-- > 0;) {
        const struct weir_trace_call *b = &f->calls[i];

        if (b->thread != f->calls[call].thread)
            continue;
        if (is_device_wait(c, i))
            break;
        for (uint32_t k = b->op_count; k-- > 0;) {
            uint32_t at = f->call_ops[b->op_first + k];

            if (f->ops[at].kind == WEIR_TRACE_OP_GRAPH)
                *several = true; /* who knows what it brings */
            if (f->ops[at].engine != WEIR_TRACE_ENGINE_D2H)
                continue;
            *several =
                *several || (last != WEIR_TRACE_NONE && f->ops[last].stream != f->ops[at].stream);
            last = last == WEIR_TRACE_NONE ? at : last;
        }
    }
    return last;
}

/* Device synchronisations of which the host needs one stream's results only. */
static bool try_device_waits(struct weir_advise_context *c, const struct weir_advise_groups *g,
                             const struct weir_advise_group *at, uint32_t *wait_for)
{
    const struct weir_plan_scenario s = {.wait_for = wait_for, .data_orders = true};
    struct weir_advise_finding d = {.kind = "host-wait", .stream = WEIR_TRACE_NONE};
    const struct weir_trace_file *f = c->f;
    uint32_t count = 0;

    for (uint32_t i = 0; i < f->calls_count; i++) {
        bool several;

        wait_for[i] = WEIR_TRACE_NONE;
        if (!weir_advise_is_at(c, g, i, at) || !is_device_wait(c, i) ||
            !weir_advise_work_follows(c, i))
            continue;
        wait_for[i] = last_result(c, i, &several);
        if (several)
            wait_for[i] = WEIR_TRACE_NONE;
        if (wait_for[i] != WEIR_TRACE_NONE) {
            d.stream = f->ops[wait_for[i]].stream;
            count++;
        }
    }
    if (!count)
        return true;
    if (!weir_advise_price(c, &s, &d.gain_ns))
        return false;
    if (!d.gain_ns)
        return true;
    weir_advise_add_site(c, &d, at->first);
    snprintf(d.message, sizeof d.message,
             "%s waits %u time%s for the whole device, though the host needs the results of one "
             "stream (ORD-043)",
             f->calls[at->first].name, count, count == 1 ? "" : "s");
    snprintf(d.change, sizeof d.change,
             "record an event behind the copy and wait for that (cudaEventSynchronize), or for its "
             "stream");
    return weir_advise_add(c, &d);
}

bool weir_advise_find_host_waits(struct weir_advise_context *c)
{
    const struct weir_trace_file *f = c->f;
    bool *calls = weir_calloc(f->calls_count + 1, sizeof *calls), ok;
    uint32_t *wait_for = weir_alloc((f->calls_count + 1) * sizeof *wait_for);
    struct weir_advise_groups g = {0}, h = {0};

    ok = calls && wait_for && weir_advise_group_calls(c, has_wait, LOOP_LEAST, &g) &&
         weir_advise_group_calls(c, is_device_wait, LOOP_LEAST, &h);
    for (size_t i = 0; ok && has_orders(c) && i < g.count && i < SITES_MAX; i++)
        ok = try_host_waits(c, &g, &g.items[i], calls);
    for (size_t i = 0; ok && c->data.known && i < h.count && i < SITES_MAX; i++)
        ok = try_device_waits(c, &h, &h.items[i], wait_for);
    weir_advise_groups_finish(&g);
    weir_advise_groups_finish(&h);
    weir_free(calls);
    weir_free(wait_for);
    return ok;
}

/* ---- 27: events that nobody waits for ---- */

static bool add_used(struct weir_map *used, uint64_t event)
{
    return weir_map_put(used, event + 1, used);
}

static bool find_used(const struct weir_trace_file *f, struct weir_map *used)
{
    bool ok = true;

    for (size_t i = 0; ok && i < f->event_waits_count; i++)
        ok = add_used(used, f->event_waits[i].event);
    for (size_t i = 0; ok && i < f->elapsed_count; i++)
        ok = add_used(used, f->elapsed[i].from) && add_used(used, f->elapsed[i].to);
    for (size_t i = 0; ok && i < f->queries_count; i++)
        ok = f->queries[i].what != WEIR_TRACE_QUERIES_EVENT || add_used(used, f->queries[i].id);
    /* A host's wait names the record's place: several events may be meant. */
    for (size_t i = 0; ok && i < f->syncs_count; i++) {
        const struct weir_trace_sync_point *y = &f->syncs[i];

        for (size_t k = 0; ok && y->what == WEIR_TRACE_WAITS_EVENT && k < f->records_count; k++) {
            if (f->records[k].stream == y->stream && f->records[k].seq == y->seq)
                ok = add_used(used, f->records[k].event);
        }
    }
    return ok;
}

bool weir_advise_find_unused(struct weir_advise_context *c)
{
    struct weir_advise_finding d = {.kind = "unused-event", .stream = WEIR_TRACE_NONE};
    const struct weir_trace_file *f = c->f;
    bool *calls = weir_calloc(f->calls_count + 1, sizeof *calls), ok = calls != NULL;
    struct weir_plan_scenario s = {.free_call = calls};
    struct weir_map used = {0};
    uint32_t count = 0;

    /* (Without QUERY records, in older traces, a query may have been the use.) */
    ok = ok && (f->version < 2 || find_used(f, &used));
    for (size_t i = 0; ok && f->version >= 2 && i < f->records_count; i++) {
        const struct weir_trace_event_record *r = &f->records[i];

        if (r->call == WEIR_TRACE_NONE || weir_map_get(&used, r->event + 1))
            continue;
        calls[r->call] = f->calls[r->call].op_count <= 1;
        count++;
        weir_advise_add_site(c, &d, r->call);
        d.stream = r->stream;
    }
    ok = ok && (!count || weir_advise_price(c, &s, &d.gain_ns));
    weir_map_finish(&used);
    weir_free(calls);
    if (!ok || !count)
        return ok;
    snprintf(d.message, sizeof d.message,
             "%u record%s of events that no stream and no host thread waits for, asks, or takes "
             "the time of: either they are not needed, or a wait is missing",
             count, count == 1 ? "" : "s");
    snprintf(d.change, sizeof d.change,
             "leave the records out, or put in the missing "
             "cudaStreamWaitEvent or cudaEventSynchronize");
    return weir_advise_add(c, &d);
}

/* ---- 28: asking again and again ---- */

#define POLLS_LEAST 100

bool weir_advise_find_polling(struct weir_advise_context *c)
{
    struct weir_advise_finding d = {.kind = "busy-polling", .stream = WEIR_TRACE_NONE};
    const struct weir_trace_file *f = c->f;
    uint32_t run = 0, count = 0, last = WEIR_TRACE_NONE;
    uint64_t spent = 0, begin = 0;

    for (size_t i = 0; i < f->queries_count; i++) {
        const struct weir_trace_query *q = &f->queries[i];
        bool same = last != WEIR_TRACE_NONE && q->call != WEIR_TRACE_NONE &&
                    f->calls[q->call].site == f->calls[last].site &&
                    f->calls[q->call].thread == f->calls[last].thread;

        if (q->call == WEIR_TRACE_NONE)
            continue;
        if (!same) {
            run = 0;
            begin = f->calls[q->call].begin_ns;
        }
        last = q->call;
        run += !q->ready;
        if (run == POLLS_LEAST)
            weir_advise_add_site(c, &d, q->call);
        if (q->ready || i + 1 == f->queries_count) {
            if (run >= POLLS_LEAST) {
                count += run;
                spent += f->calls[q->call].end_ns - begin;
            }
            last = WEIR_TRACE_NONE;
        }
    }
    if (!count)
        return true;
    d.note = true; /* the work takes as long; a processor is kept busy */
    snprintf(d.message, sizeof d.message,
             "%u queries answered \"not ready\": the host asks again and again, and keeps a "
             "processor busy for %.3f ms instead of sleeping",
             count, (double)spent * 1e-6);
    snprintf(d.change, sizeof d.change,
             "wait: cudaEventSynchronize (with cudaEventBlockingSync where the processor is needed "
             "elsewhere), or do other work between two queries");
    return weir_advise_add(c, &d);
}
