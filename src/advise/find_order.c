/* Questions about order: streams, default streams, waits between them.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "advise/clocks.h"
#include "base/alloc.h"
#include "model/rules.h"

/* ---- 1, 2: one stream ---- */

/* The share of the time with work in which two streams had some, submitted and not done. */
static bool shared_time(const struct weir_trace_file *f, double *share)
{
    struct weir_plan_edge *edges = weir_alloc((2 * f->ops_count + 1) * sizeof *edges);
    uint32_t *pending = weir_calloc(f->streams_count + 1, sizeof *pending), streams = 0;
    uint64_t one = 0, more = 0;
    size_t n = 0;

    if (!edges || !pending) {
        weir_free(edges);
        weir_free(pending);
        return false;
    }
    for (size_t i = 0; i < f->ops_count; i++) {
        if (!weir_advise_is_work(&f->ops[i]))
            continue;
        edges[n++] = (struct weir_plan_edge){f->ops[i].submit_ns, f->ops[i].stream, true};
        edges[n++] = (struct weir_plan_edge){WEIR_MAX(f->ops[i].end_ns, f->ops[i].submit_ns + 1),
                                             f->ops[i].stream, false};
    }
    weir_plan_edges_sort(edges, n);
    for (size_t i = 0; i < n; i++) {
        uint64_t length = i ? edges[i].ns - edges[i - 1].ns : 0;

        if (streams)
            *(streams > 1 ? &more : &one) += length;
        if (edges[i].begins)
            streams += pending[edges[i].id]++ == 0;
        else
            streams -= --pending[edges[i].id] == 0;
    }
    *share = one + more ? (double)more / (double)(one + more) : 0;
    weir_free(edges);
    weir_free(pending);
    return true;
}

/* Chains of data go round the streams: an operation stays with the one that it needs when that is
 * the last in its stream, else it goes to the stream that was used longest ago. */
static void spread(const struct weir_advise_context *c, uint32_t streams, uint32_t *stream_of)
{
    uint32_t last[8], used[8] = {0}, clock = 0;

    memset(last, 0xff, sizeof last);
    for (uint32_t i = 0; i < c->f->ops_count; i++) {
        uint32_t to = 0;

        if (c->f->ops[i].engine == WEIR_TRACE_ENGINE_NONE) {
            stream_of[i] = 0;
            continue;
        }
        for (uint32_t s = 1; s < streams; s++) {
            if (used[s] < used[to])
                to = s;
        }
        for (uint32_t d = 0; d < c->data.count[i]; d++) {
            uint32_t on = c->data.deps[c->data.first[i] + d];

            if (last[stream_of[on]] == on)
                to = stream_of[on];
        }
        stream_of[i] = to;
        last[to] = i;
        used[to] = ++clock;
    }
}

static uint32_t busiest(const struct weir_advise_context *c, double *share, uint32_t *call)
{
    const struct weir_trace_file *f = c->f;
    uint64_t *busy = weir_calloc(f->streams_count + 1, sizeof *busy), all = 0, longest = 0;
    uint32_t best = 0; /* the one with most operations */

    for (size_t i = 0; busy && i < f->ops_count; i++) {
        if (!weir_advise_is_work(&f->ops[i]))
            continue;
        busy[f->ops[i].stream]++;
        all++;
        if (busy[f->ops[i].stream] > busy[best])
            best = f->ops[i].stream;
    }
    for (size_t i = 0; i < f->ops_count; i++) {
        if (f->ops[i].stream == best && weir_advise_is_work(&f->ops[i]) &&
            c->model.alone_ns[i] >= longest) {
            longest = c->model.alone_ns[i];
            *call = f->ops[i].call;
        }
    }
    *share = all && busy ? (double)busy[best] / (double)all : 0;
    weir_free(busy);
    return best;
}

bool weir_advise_find_streams(struct weir_advise_context *c)
{
    struct weir_advise_finding d = {.stream = WEIR_TRACE_NONE};
    uint32_t *stream_of, call = WEIR_TRACE_NONE, best_streams = 0;
    uint64_t gain, best = 0;
    double shared, share;
    char name[64];
    bool ok = true;

    if (!c->data.known || c->f->ops_count < 4)
        return true;
    if (!shared_time(c->f, &shared))
        return false;
    if (shared > 0.05)
        return true;
    d.stream = busiest(c, &share, &call);
    stream_of = weir_calloc(c->f->ops_count + 1, sizeof *stream_of);
    if (!stream_of)
        return false;
    for (uint32_t n = 2; n <= 8 && ok; n *= 2) {
        struct weir_plan_scenario s = {.stream_of = stream_of, .extra_streams = n};

        spread(c, n, stream_of);
        ok = weir_advise_price(c, &s, &gain);
        /* More streams must earn their place. */
        if (ok && gain > best + c->base.length_ns / 50) {
            best = gain;
            best_streams = n;
        }
    }
    weir_free(stream_of);
    if (!ok || !best)
        return ok;
    d.kind = c->f->streams[d.stream].cls == WEIR_TRACE_STREAM_LEGACY ? "default-stream"
                                                                     : "single-stream";
    d.gain_ns = best;
    weir_advise_add_site(c, &d, call);
    snprintf(d.message, sizeof d.message,
             "work that shares no data runs one after the other: only one stream at a time has "
             "any, mostly the %s (ORD-001: a stream runs in order)",
             weir_trace_stream_name(c->f, d.stream, name));
    snprintf(d.change, sizeof d.change,
             "give independent pieces streams of their own (cudaStreamNonBlocking), %u in turn",
             best_streams);
    return weir_advise_add(c, &d);
}

/* ---- 3: the legacy default stream ---- */

bool weir_advise_find_legacy(struct weir_advise_context *c)
{
    const struct weir_plan_scenario s = {.nonblocking = true, .data_orders = true};
    struct weir_advise_finding d = {.kind = "legacy-serialization", .stream = WEIR_TRACE_NONE};
    const struct weir_trace_file *f = c->f;
    const char *first = NULL;
    uint32_t edges = 0;

    for (size_t i = 0; i < f->ops_count; i++) {
        const struct weir_trace_op *op = &f->ops[i];

        for (uint32_t k = 0; k < op->dep_count; k++) {
            const struct weir_trace_dep *dep = &f->deps[op->dep_first + k];

            if (dep->rule != WEIR_RULE_LEGACY_FOLLOWS && dep->rule != WEIR_RULE_FOLLOWS_LEGACY &&
                dep->rule != WEIR_RULE_LEGACY_RECORD_WAIT && dep->rule != WEIR_RULE_PER_THREAD)
                continue;
            edges++;
            /* The one in the legacy stream is the cause. */
            if (f->streams[op->stream].cls == WEIR_TRACE_STREAM_LEGACY) {
                d.stream = op->stream;
                weir_advise_add_site(c, &d, op->call);
                if (!first && op->call != WEIR_TRACE_NONE)
                    first = f->calls[op->call].name;
            }
        }
    }
    if (!edges || !c->data.known)
        return true;
    if (!weir_advise_price(c, &s, &d.gain_ns))
        return false;
    if (!d.gain_ns)
        return true;
    snprintf(d.message, sizeof d.message,
             "%s in the legacy default stream waits for all blocking streams, and they wait for it "
             "(ORD-003, ORD-004): %u times, without sharing data",
             first ? first : "work", edges);
    snprintf(d.change, sizeof d.change,
             "give that call a stream, or create the others with cudaStreamNonBlocking, or build "
             "with --default-stream per-thread");
    return weir_advise_add(c, &d);
}

/* ---- 10: waits that order nothing that matters ---- */

#define SITES_MAX 24

static bool try_site(struct weir_advise_context *c, uint32_t site, bool *skip, uint64_t broken)
{
    struct weir_plan_scenario s = {.skip_edge = skip};
    struct weir_advise_finding d = {.kind = "unneeded-wait", .stream = WEIR_TRACE_NONE};
    const struct weir_trace_file *f = c->f;
    uint64_t now;
    uint32_t count = 0;

    for (size_t i = 0; i < f->event_waits_count; i++) {
        const struct weir_trace_event_wait *w = &f->event_waits[i];

        skip[i] = w->call != WEIR_TRACE_NONE && f->calls[w->call].site == site;
        count += skip[i];
        if (skip[i]) {
            d.stream = w->in_stream;
            weir_advise_add_site(c, &d, w->call);
        }
    }
    if (!weir_advise_count_broken(c, &(struct weir_advise_orders){.skip = skip}, &now))
        return false;
    if (now > broken)
        return true; /* it keeps data in order */
    if (!weir_advise_price(c, &s, &d.gain_ns))
        return false;
    snprintf(d.message, sizeof d.message,
             "cudaStreamWaitEvent makes a stream wait %u time%s for work whose data it does not "
             "touch (ORD-021)",
             count, count == 1 ? "" : "s");
    snprintf(d.change, sizeof d.change, "leave the wait out");
    return weir_advise_add(c, &d);
}

bool weir_advise_find_unneeded(struct weir_advise_context *c)
{
    const struct weir_trace_file *f = c->f;
    const struct weir_advise_orders none = {0};
    bool *skip, *tried, ok;
    uint64_t broken;
    int sites = 0;

    if (!weir_advise_find_graph_edges(c))
        return false;
    if (!c->data.known || !f->event_waits_count || f->streams_count > WEIR_ADVISE_STREAMS_MAX)
        return true;
    skip = weir_calloc(f->event_waits_count + 1, sizeof *skip);
    tried = weir_calloc(f->sites_count + 1, sizeof *tried);
    ok = skip && tried && weir_advise_count_broken(c, &none, &broken);
    for (size_t i = 0; ok && i < f->event_waits_count && sites < SITES_MAX; i++) {
        uint32_t call = f->event_waits[i].call;
        uint32_t site = call == WEIR_TRACE_NONE ? WEIR_TRACE_NONE : f->calls[call].site;

        if (site == WEIR_TRACE_NONE || tried[site])
            continue;
        tried[site] = true;
        sites++;
        ok = try_site(c, site, skip, broken);
    }
    weir_free(skip);
    weir_free(tried);
    return ok;
}

/* ---- beyond the questions: order by side effect ---- */

struct fragile {
    struct weir_advise_context *c;
    struct weir_advise_finding d;
    uint32_t op, on;
};

static void note_fragile(void *context, uint32_t op, uint32_t on)
{
    struct fragile *x = context;

    x->op = op;
    x->on = on;
    x->d.stream = x->c->f->ops[op].stream;
    weir_advise_add_site(x->c, &x->d, x->c->f->ops[on].call);
    weir_advise_add_site(x->c, &x->d, x->c->f->ops[op].call);
}

static bool try_fragile(struct weir_advise_context *c, struct weir_advise_orders without,
                        uint64_t broken, const char *by, const char *change)
{
    struct fragile x = {.c = c, .d = {.kind = "fragile-order", .note = true}};
    uint64_t now;

    without.broken = note_fragile;
    without.context = &x;
    if (!weir_advise_count_broken(c, &without, &now))
        return false;
    if (now <= broken)
        return true;
    snprintf(x.d.message, sizeof x.d.message,
             "ordered only by %s: %llu data order%s, e.g. %s after %s", by,
             (unsigned long long)(now - broken), now - broken == 1 ? "" : "s", c->f->ops[x.op].name,
             c->f->ops[x.on].name);
    snprintf(x.d.change, sizeof x.d.change, "%s", change);
    return weir_advise_add(c, &x.d);
}

bool weir_advise_find_fragile(struct weir_advise_context *c)
{
    const struct weir_advise_orders none = {0};
    const struct weir_trace_file *f = c->f;
    uint64_t broken;
    bool *calls, ok;

    if (!c->data.known || f->streams_count > WEIR_ADVISE_STREAMS_MAX)
        return true;
    calls = weir_calloc(f->calls_count + 1, sizeof *calls);
    ok = calls && weir_advise_count_broken(c, &none, &broken);
    for (size_t i = 0; ok && i < f->calls_count; i++)
        calls[i] = weir_advise_is_memory_call(f->calls[i].name);
    /* (What was broken before is no order at all: weir check says so.) */
    ok =
        ok && (broken ||
               (try_fragile(c, (struct weir_advise_orders){.no_legacy = true}, broken,
                            "the legacy default stream",
                            "say it by an event: built with per-thread default streams, or with "
                            "cudaStreamNonBlocking, it is a race") &&
                try_fragile(c, (struct weir_advise_orders){.no_wait = calls}, broken,
                            "a call that allocates or frees, which waits as it happens",
                            "say it by an event or a synchronisation: that wait is not promised")));
    weir_free(calls);
    return ok;
}
