/* SPDX-License-Identifier: Apache-2.0 */
#include "advise/advise.h"

#include <stdlib.h>
#include <string.h>

#include "advise/clocks.h"
#include "advise/find.h"
#include "base/alloc.h"
#include "base/vec.h"

/* What an answer rests on. */
enum {
    DATA = 1,    /* which operations share data */
    ORDERS = 3,  /* and what orders them: of so many streams */
    QUERIES = 4, /* records of version 2 */
    LOADS = 8,   /* times of loading code, which no model has */
};

static unsigned lacking(const struct weir_advise_context *c)
{
    const struct weir_trace_file *f = c->f;

    return (c->data.known ? 0 : DATA) |
           (f->streams_count > WEIR_ADVISE_STREAMS_MAX ? ORDERS & ~DATA : 0) |
           (f->version < 2 ? QUERIES : 0) | (c->report->model_clock ? LOADS : 0);
}

static const struct question {
    const char *kind, *text;
    bool (*find)(struct weir_advise_context *c); /* NULL: another row's function answers it */
    unsigned needs;
} questions[] = {
    {"single-stream", "is independent work all in one stream?", weir_advise_find_streams, DATA},
    {"default-stream", "is the default stream used for work that others could run beside?", NULL,
     DATA},
    {"legacy-serialization", "does the legacy default stream serialise blocking streams?",
     weir_advise_find_legacy, DATA},
    {"pageable-sync", "does pageable memory make asynchronous copies wait?",
     weir_advise_find_pageable, 0},
    {"sync-in-loop", "do synchronising calls stand inside the loop?", weir_advise_find_syncs, 0},
    {"alloc-in-loop", "is memory allocated, freed or pinned inside the loop?",
     weir_advise_find_allocs, 0},
    {"kernel-fills-device", "do kernels fill the device, so that streams cannot help them?",
     weir_advise_find_full, 0},
    {"copy-engine-bound", "are the copies of one direction the bound?", NULL, 0},
    {"launch-bound", "is the host too slow to submit?", weir_advise_find_launches, 0},
    {"unneeded-wait", "does an event wait order work that shares no data, or an edge of a graph?",
     weir_advise_find_unneeded, ORDERS},
    {"late-record", "is an event recorded later than needed?", weir_advise_find_records, ORDERS},
    {"pipeline-depth", "would other chunks, more streams or more items in flight help?",
     weir_advise_find_depth, 0},
    {"small-copies", "could small copies be one?", weir_advise_find_small, 0},
    {"too-many-streams", "are there more streams than help?", weir_advise_find_too_many, DATA},
    {"priority-without-effect", "is priority expected where it cannot act?",
     weir_advise_find_priority, 0},
    {"peer-access", "do copies between devices go without peer access?", weir_advise_find_peers,
     QUERIES},
    {"managed-thrashing", "does managed memory go back and forth?", weir_advise_find_managed, 0},
    {"module-load", "is code loaded at a first launch inside the work?", weir_advise_find_loads,
     LOADS},
    {"timing-events", "do events take times that nobody asks for?", weir_advise_find_timing, 0},
    {"queue-order", "does the issue order clash with few hardware queues?", weir_advise_find_queues,
     0},
    {"graph-in-turn", "is one graph instance launched in several streams?",
     weir_advise_find_graph_launches, 0},
    {"queue-full", "does the host block because a stream is full?", weir_advise_find_full_queues,
     0},
    {"serialising-setting", "do variables or tools serialise the program?",
     weir_advise_find_settings, 0},
    {"host-wait", "does the host wait where a stream or an event could?",
     weir_advise_find_host_waits, ORDERS},
    {"wrong-record", "does a wait take the wrong record of an event?", NULL, ORDERS},
    {"timing-mistake", "do measured times hold something else?", weir_advise_find_mistakes, 0},
    {"unused-event", "are events recorded that nobody waits for?", weir_advise_find_unused,
     QUERIES},
    {"busy-polling", "does the host ask again and again instead of waiting?",
     weir_advise_find_polling, QUERIES},
    {"pinned-memory", "is more than half of the machine's memory pinned?", weir_advise_find_pinned,
     0},
    {"library-default-stream", "does a library work in the default stream?",
     weir_advise_find_libraries, 0},
};

const char *weir_advise_answer(const struct weir_advise_report *r, size_t i)
{
    for (size_t k = 0; k < r->count; k++) {
        if (strcmp(r->findings[k].kind, questions[i].kind) == 0)
            return r->findings[k].note ? "note" : "yes";
    }
    return questions[i].needs & r->lacking ? "unknown" : "no";
}

const char *weir_advise_question(size_t i, const char **kind)
{
    if (i >= WEIR_ARRAY_SIZE(questions))
        return NULL;
    *kind = questions[i].kind;
    return questions[i].text;
}

/* ---- findings ---- */

bool weir_advise_price(const struct weir_advise_context *c, const struct weir_plan_scenario *s,
                       uint64_t *gain)
{
    struct weir_plan_outcome r;

    *gain = 0;
    if (!weir_plan_recorded_run(&c->model, s, &r))
        return false;
    if (r.length_ns < c->base.length_ns)
        *gain = c->base.length_ns - r.length_ns;
    return true;
}

static double share_of(const struct weir_advise_report *r, uint64_t ns)
{
    return r->length_ns ? 100.0 * (double)ns / (double)r->length_ns : 0;
}

double weir_advise_percent(const struct weir_advise_report *r,
                           const struct weir_advise_finding *finding)
{
    double length = (double)r->length_ns + (double)finding->beyond_ns;

    return length > 0 ? 100.0 * (double)finding->gain_ns / length : 0;
}

bool weir_advise_add(struct weir_advise_context *c, const struct weir_advise_finding *finding)
{
    struct weir_advise_report *r = c->report;

    if (!weir_vec_reserve_bytes((void **)&r->findings, &r->cap, r->count + 1, sizeof *r->findings))
        return false;
    r->findings[r->count] = *finding;
    if (finding->gain_ns < WEIR_ADVISE_MIN_NS ||
        weir_advise_percent(r, finding) < WEIR_ADVISE_MIN_PERCENT)
        r->findings[r->count].note = true;
    r->count++;
    return true;
}

void weir_advise_add_site(const struct weir_advise_context *c, struct weir_advise_finding *finding,
                          uint32_t call)
{
    uint32_t site = call == WEIR_TRACE_NONE ? WEIR_TRACE_NONE : c->f->calls[call].site;

    if (site == WEIR_TRACE_NONE || finding->site_count == 3)
        return;
    for (uint32_t i = 0; i < finding->site_count; i++) {
        if (finding->sites[i] == site)
            return;
    }
    finding->sites[finding->site_count++] = site;
}

static int by_gain(const void *x, const void *y)
{
    const struct weir_advise_finding *a = x, *b = y;

    if (a->note != b->note)
        return a->note - b->note;
    return a->gain_ns > b->gain_ns ? -1 : a->gain_ns < b->gain_ns;
}

/* ---- the verdict ---- */

#define BOUND_PERCENT 85 /* what takes so much of the time is the bound by itself */

/* Operations that need one another's data: the longest chain of them. */
static bool longest_chain(const struct weir_advise_context *c, uint64_t *ns)
{
    const struct weir_trace_file *f = c->f;
    uint64_t *end = weir_calloc(f->ops_count + 1, sizeof *end);

    *ns = 0;
    for (uint32_t i = 0; end && c->data.known && i < f->ops_count; i++) {
        for (uint32_t d = 0; d < c->data.count[i]; d++) {
            uint32_t on = c->data.deps[c->data.first[i] + d];

            if (on < i)
                end[i] = WEIR_MAX(end[i], end[on]);
        }
        if (weir_advise_is_work(&f->ops[i]))
            end[i] += c->model.alone_ns[i];
        *ns = WEIR_MAX(*ns, end[i]);
    }
    weir_free(end);
    return end != NULL;
}

/* Nothing is to be gained: because of what? */
static void name_bound(const struct weir_advise_context *c, uint64_t chain_ns)
{
    static const char *const engines[] = {"kernels run", "copies to the device run",
                                          "copies to the host run", "work on the device runs",
                                          "host functions run"};
    struct weir_advise_report *r = c->report;
    double host = share_of(r, c->base.idle_host_ns), most = share_of(r, chain_ns), work;
    const char *what = "operations that need one another's data run, one after the other,";
    unsigned best = 0;

    for (unsigned e = 0; e < WEIR_TRACE_ENGINE_COUNT; e++) {
        if (c->base.busy_ns[e] > c->base.busy_ns[best])
            best = e;
    }
    work = share_of(r, c->base.busy_ns[best]);
    /* (An engine says more than a chain; the chain, where it explains much more.) */
    if (work >= BOUND_PERCENT || most > 100 || most < work + 5) {
        most = work;
        what = engines[best];
    }
    if (host >= BOUND_PERCENT)
        snprintf(r->verdict, sizeof r->verdict,
                 "nothing to be gained by order alone: for %.0f%% of the %.2f ms the device has "
                 "nothing to do, because of the host's own work, which is the bound",
                 host, (double)r->length_ns * 1e-6);
    else if (most >= BOUND_PERCENT)
        snprintf(r->verdict, sizeof r->verdict,
                 "nothing to be gained by order alone: %s %.0f%% of the %.2f ms, which is the "
                 "bound",
                 what, most, (double)r->length_ns * 1e-6);
    else
        snprintf(r->verdict, sizeof r->verdict,
                 "nothing to be gained by order alone: %s %.0f%% of the %.2f ms, and for %.0f%% "
                 "the device has nothing to do, because of the host's own work%s",
                 what, most, (double)r->length_ns * 1e-6, host,
                 most + host >= BOUND_PERCENT
                     ? ": together the bound"
                     : "; none of the changes asked about shortens the rest");
}

static bool judge(const struct weir_advise_context *c)
{
    struct weir_advise_report *r = c->report;
    const struct weir_advise_finding *first = r->findings;
    uint64_t busy = 0, chain = 0;
    size_t real = 0;

    for (unsigned e = 0; e < WEIR_TRACE_ENGINE_COUNT; e++)
        busy += c->base.busy_ns[e];
    while (real < r->count && !r->findings[real].note)
        real++;
    if (!r->length_ns || !busy)
        snprintf(r->verdict, sizeof r->verdict, "nothing ran on a device in this trace");
    else if (real)
        snprintf(r->verdict, sizeof r->verdict,
                 "%zu thing%s to change; the first alone saves %.2f of %.2f ms (%.0f%%)", real,
                 real == 1 ? "" : "s", (double)first->gain_ns * 1e-6,
                 ((double)r->length_ns + (double)first->beyond_ns) * 1e-6,
                 weir_advise_percent(r, first));
    else if (!longest_chain(c, &chain))
        return false;
    else
        name_bound(c, chain);
    return true;
}

bool weir_advise(const struct weir_trace_file *f, const struct weir_advise_options *options,
                 struct weir_advise_report *out)
{
    const struct weir_plan_scenario as_recorded = {0};
    struct weir_advise_context c = {.f = f, .report = out};
    bool ok;

    *out = (struct weir_advise_report){0};
    ok = weir_plan_data_init(&c.data, f) && weir_plan_recorded_init(&c.model, f, &c.data);
    if (ok && options && options->machine) {
        snprintf(out->device, sizeof out->device, "%s", options->machine->name);
        out->model_clock = options->model_clock;
        ok = (options->model_clock ? weir_plan_recorded_by_model : weir_plan_recorded_on)(
            &c.model, options->machine, options->times, options->time_count);
    }
    ok = ok && weir_plan_recorded_run(&c.model, &as_recorded, &c.base);
    out->length_ns = c.base.length_ns;
    out->lacking = lacking(&c);
    for (size_t i = 0; ok && out->length_ns && i < WEIR_ARRAY_SIZE(questions); i++)
        ok = !questions[i].find || questions[i].find(&c);
    ok = ok && (!out->length_ns || weir_advise_find_fragile(&c));
    if (ok) {
        if (out->count)
            qsort(out->findings, out->count, sizeof *out->findings, by_gain);
        ok = judge(&c);
    }
    weir_plan_recorded_finish(&c.model);
    weir_plan_data_finish(&c.data);
    if (!ok)
        weir_advise_finish(out);
    return ok;
}

void weir_advise_finish(struct weir_advise_report *r)
{
    weir_free(r->findings);
    *r = (struct weir_advise_report){0};
}
