/* Questions about measured times: those that nobody asks for, and those that measure something
 * else.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "advise/find.h"
#include "base/alloc.h"
#include "base/map.h"

/* ---- 19: times that nobody asks for ---- */

bool weir_advise_find_timing(struct weir_advise_context *c)
{
    struct weir_advise_finding d = {.kind = "timing-events", .stream = WEIR_TRACE_NONE};
    const struct weir_trace_file *f = c->f;
    struct weir_map asked = {0};
    bool *calls = weir_calloc(f->calls_count + 1, sizeof *calls), ok = calls != NULL;
    struct weir_plan_scenario s = {.free_call = calls};
    uint32_t count = 0;

    for (size_t i = 0; ok && i < f->elapsed_count; i++)
        ok = weir_map_put(&asked, f->elapsed[i].from + 1, &d) &&
             weir_map_put(&asked, f->elapsed[i].to + 1, &d);
    for (size_t i = 0; ok && i < f->records_count; i++) {
        const struct weir_trace_event_record *r = &f->records[i];

        if (r->flags & 2 || r->call == WEIR_TRACE_NONE || weir_map_get(&asked, r->event + 1))
            continue;
        calls[r->call] = true;
        count++;
        weir_advise_add_site(c, &d, r->call);
    }
    ok = ok && (!count || weir_advise_price(c, &s, &d.gain_ns));
    weir_map_finish(&asked);
    weir_free(calls);
    if (!ok || count < 3)
        return ok;
    snprintf(d.message, sizeof d.message,
             "%u records of events with timing, whose time nobody asks for: only their order is "
             "needed",
             count);
    snprintf(d.change, sizeof d.change, "create them with cudaEventDisableTiming");
    return weir_advise_add(c, &d);
}

/* ---- 26: timing mistakes ---- */

#define GAP_SHARE    0.3 /* of the measured time, without work because of the host */
#define GAP_LEAST_NS 10000

static const struct weir_trace_event_record *record_before(const struct weir_trace_file *f,
                                                           uint64_t event, uint32_t call)
{
    for (size_t i = f->records_count; i-- > 0;) {
        if (f->records[i].event == event && f->records[i].call <= call)
            return &f->records[i];
    }
    return NULL;
}

struct mistakes {
    uint32_t across, cold, gaps; /* how many pairs */
    uint32_t across_call, cold_call, gaps_call;
    uint64_t cold_ns, gap_ns, gap_of_ns;
};

/* A common beginning of many times is no pair: the time of day, so to speak. */
static bool is_base(const struct weir_trace_file *f, uint64_t event)
{
    uint64_t to = 0;
    bool any = false;

    for (size_t i = 0; i < f->elapsed_count; i++) {
        if (f->elapsed[i].from != event)
            continue;
        if (any && f->elapsed[i].to != to)
            return true;
        to = f->elapsed[i].to;
        any = true;
    }
    return false;
}

/* Loads between the records, of kernels that ran between them. */
static void look_for_loads(const struct weir_trace_file *f, uint64_t begin, uint64_t end,
                           uint32_t call, struct mistakes *m)
{
    uint64_t spent = 0;

    for (size_t i = 0; i < f->loads_count; i++) {
        if (f->loads[i].begin_ns >= begin && f->loads[i].end_ns <= end)
            spent += f->loads[i].end_ns - f->loads[i].begin_ns;
    }
    if (!spent)
        return;
    m->cold++;
    m->cold_ns += spent;
    m->cold_call = call;
}

static void look_at(const struct weir_advise_context *c, const struct weir_trace_elapsed *e,
                    struct mistakes *m)
{
    const struct weir_trace_file *f = c->f;
    const struct weir_trace_event_record *a = record_before(f, e->from, e->call),
                                         *b = record_before(f, e->to, e->call);
    uint64_t gaps = 0, begin, last, end = 0;
    bool any = false;

    if (!a || !b || a->call == WEIR_TRACE_NONE || b->call == WEIR_TRACE_NONE ||
        a->stream == WEIR_TRACE_NONE || b->stream == WEIR_TRACE_NONE)
        return;
    if (a->stream != b->stream) {
        if (!is_base(f, e->from) && !m->across++)
            m->across_call = b->call;
        return;
    }
    begin = last = f->calls[a->call].begin_ns;
    for (uint32_t i = 0; i < f->streams[a->stream].op_count; i++) {
        const struct weir_trace_op *op = &f->ops[f->stream_ops[f->streams[a->stream].op_first + i]];

        if (!weir_advise_is_work(op) || op->seq > b->seq)
            continue;
        if (op->seq <= a->seq) {
            begin = last = WEIR_MAX(begin, op->end_ns);
            continue;
        }
        any = true;
        if (op->why == WEIR_TRACE_WHY_HOST && op->start_ns > last)
            gaps += op->start_ns - last;
        last = end = WEIR_MAX(last, op->end_ns);
    }
    if (!any || end <= begin)
        return;
    look_for_loads(f, begin, end, a->call, m);
    if (gaps < GAP_LEAST_NS || (double)gaps < GAP_SHARE * (double)(end - begin))
        return;
    m->gaps++;
    m->gap_ns += gaps;
    m->gap_of_ns += end - begin;
    m->gaps_call = a->call;
}

static bool add(struct weir_advise_context *c, uint32_t call, const char *change,
                struct weir_advise_finding *d)
{
    d->kind = "timing-mistake";
    d->stream = WEIR_TRACE_NONE;
    d->note = true; /* the program gets no faster; its figures get right */
    weir_advise_add_site(c, d, call);
    snprintf(d->change, sizeof d->change, "%s", change);
    return weir_advise_add(c, d);
}

bool weir_advise_find_mistakes(struct weir_advise_context *c)
{
    struct weir_advise_finding d[3] = {0};
    struct mistakes m = {0};
    bool ok = true;

    for (size_t i = 0; i < c->f->elapsed_count; i++) {
        if (c->f->elapsed[i].call != WEIR_TRACE_NONE)
            look_at(c, &c->f->elapsed[i], &m);
    }
    if (m.across) {
        snprintf(d[0].message, sizeof d[0].message,
                 "%u measured time%s from an event in one stream to one in another: it holds "
                 "whatever each stream waited for, and may even be negative",
                 m.across, m.across == 1 ? " is" : "s are");
        ok =
            add(c, m.across_call, "record both events in the stream whose work is measured", &d[0]);
    }
    if (ok && m.cold) {
        snprintf(d[1].message, sizeof d[1].message,
                 "%u measured time%s the loading of code, %.3f ms: the first launch of a kernel "
                 "is no measurement",
                 m.cold, m.cold == 1 ? " includes" : "s include", (double)m.cold_ns * 1e-6);
        ok = add(c, m.cold_call, "run the measured part once before, and leave that out", &d[1]);
    }
    if (ok && m.gaps) {
        snprintf(d[2].message, sizeof d[2].message,
                 "%u measured time%s gaps in which the stream waited for the host, %.3f of %.3f "
                 "ms: what is measured is the host's speed",
                 m.gaps, m.gaps == 1 ? " includes" : "s include", (double)m.gap_ns * 1e-6,
                 (double)m.gap_of_ns * 1e-6);
        ok = add(c, m.gaps_call,
                 "measure many launches between two events, or put them into a graph", &d[2]);
    }
    return ok;
}
