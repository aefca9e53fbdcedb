/* Questions about shape: what fills the engines, and how a pipeline is cut.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "advise/find.h"
#include "base/alloc.h"
#include "plan/passes.h"

/* ---- 7, 8: bounds (notes: nothing to change by order alone) ---- */

#define BOUND_PERCENT 85

static bool note_copies(struct weir_advise_context *c, int direction)
{
    struct weir_plan_scenario s = {0};
    struct weir_advise_finding d = {
        .kind = "copy-engine-bound", .stream = WEIR_TRACE_NONE, .note = true};
    unsigned engine = direction ? WEIR_TRACE_ENGINE_D2H : WEIR_TRACE_ENGINE_H2D;

    if (c->base.busy_ns[engine] * 100 < c->base.length_ns * BOUND_PERCENT)
        return true;
    s.no_copy_limit[direction] = true;
    if (!weir_advise_price(c, &s, &d.gain_ns))
        return false;
    snprintf(d.message, sizeof d.message,
             "copies %s take %.0f%% of the time, and one engine does one at a time: more streams "
             "or smaller kernels cannot help",
             direction ? "to the host" : "to the device",
             100.0 * (double)c->base.busy_ns[engine] / (double)c->base.length_ns);
    snprintf(d.change, sizeof d.change,
             "copy less: keep data on the device, use narrower types, or compute instead of "
             "copying");
    return weir_advise_add(c, &d);
}

static bool note_kernels(struct weir_advise_context *c)
{
    struct weir_advise_finding d = {
        .kind = "kernel-fills-device", .stream = WEIR_TRACE_NONE, .note = true};
    const struct weir_trace_file *f = c->f;
    uint64_t full = 0, all = 0, longest = 0;
    uint32_t first = WEIR_TRACE_NONE, biggest = WEIR_TRACE_NONE;
    bool several = false;

    for (uint32_t i = 0; i < f->ops_count; i++) {
        const struct weir_trace_op *op = &f->ops[i];

        if (op->kind != WEIR_TRACE_OP_KERNEL || !weir_advise_is_work(op))
            continue;
        several = several || (first != WEIR_TRACE_NONE && f->ops[first].stream != op->stream);
        first = first == WEIR_TRACE_NONE ? i : first;
        all += c->model.alone_ns[i];
        if (c->model.demand[i] < c->model.slots)
            continue;
        full += c->model.alone_ns[i];
        if (c->model.alone_ns[i] >= longest) {
            longest = c->model.alone_ns[i];
            biggest = i;
        }
    }
    /* Only where somebody expects kernels beside kernels. */
    if (!several || biggest == WEIR_TRACE_NONE || full * 2 < all ||
        c->base.busy_ns[WEIR_TRACE_ENGINE_KERNEL] * 2 < c->base.length_ns)
        return true;
    d.stream = f->ops[biggest].stream;
    weir_advise_add_site(c, &d, f->ops[biggest].call);
    snprintf(
        d.message, sizeof d.message,
        "kernels such as %s fill the device (%u %s): kernels of other streams run in "
        "their turn, not beside them. Copies still run beside them: that they do not would have "
        "another cause",
        f->ops[biggest].name, c->model.slots,
        c->model.machine ? "threads at a time" : "block slots");
    snprintf(d.change, sizeof d.change, "nothing by streams; the kernels themselves are the bound");
    return weir_advise_add(c, &d);
}

#define LATE_NS 50000 /* a copy that waited so long for its engine */
#define LARGER  8     /* than itself was the one that had it */

/* A small copy behind a large one of another stream: one engine a direction does one at a time. */
static bool find_blocked_copy(struct weir_advise_context *c)
{
    struct weir_advise_finding d = {.kind = "copy-engine-bound", .stream = WEIR_TRACE_NONE};
    const struct weir_trace_file *f = c->f;
    const struct weir_trace_op *worst = NULL, *had = NULL;
    struct weir_plan_scenario s = {0};
    uint64_t longest = LATE_NS;

    for (size_t i = 0; i < f->ops_count; i++) {
        const struct weir_trace_op *op = &f->ops[i], *on;

        if (op->kind != WEIR_TRACE_OP_COPY || !weir_advise_is_work(op) ||
            op->why != WEIR_TRACE_WHY_ENGINE || op->why_op >= f->ops_count ||
            op->start_ns < op->ready_ns + longest)
            continue;
        on = &f->ops[op->why_op];
        if (on->kind != WEIR_TRACE_OP_COPY || on->engine != op->engine ||
            on->stream == op->stream || on->bytes / LARGER < op->bytes)
            continue;
        longest = op->start_ns - op->ready_ns;
        worst = op;
        had = on;
    }
    if (!worst || worst->engine > WEIR_TRACE_ENGINE_D2H || worst->engine < WEIR_TRACE_ENGINE_H2D)
        return true;
    s.no_copy_limit[worst->engine == WEIR_TRACE_ENGINE_D2H] = true;
    if (!weir_advise_price(c, &s, &d.gain_ns))
        return false;
    d.stream = worst->stream;
    weir_advise_add_site(c, &d, worst->call);
    weir_advise_add_site(c, &d, had->call);
    snprintf(d.message, sizeof d.message,
             "a copy of %.0f KiB waited %.3f ms for the engine that a copy of %.1f MiB in another "
             "stream had: one copy at a time goes in each direction, and the other direction was "
             "free for its own",
             (double)worst->bytes / 1024, (double)longest * 1e-6, (double)had->bytes / 1048576);
    snprintf(d.change, sizeof d.change,
             "cut the large copy into chunks with a gap between them (a kernel, an event), or "
             "submit the small one before it");
    return weir_advise_add(c, &d);
}

bool weir_advise_find_full(struct weir_advise_context *c)
{
    return find_blocked_copy(c) && note_copies(c, 0) && note_copies(c, 1) && note_kernels(c);
}

/* ---- 12: chunks and streams of a pipeline ---- */

#define CHUNKS_MAX  64
#define STREAMS_MAX 8

static double pass_length(const struct weir_advise_context *c, const struct weir_plan_passes *p,
                          uint32_t chunks, uint32_t streams)
{
    static const struct weir_plan_host no_cost;
    const struct weir_model_memory memory = {weir_alloc_for, weir_free_for, NULL};
    const struct weir_plan_machine *machine = c->model.machine;
    struct weir_plan_device device =
        machine ? machine->device : weir_plan_passes_device(p); /* as it ran */
    struct weir_plan_pipeline shape = weir_plan_passes_shape(p);

    shape.chunks = chunks;
    shape.streams = streams;
    return weir_plan_pipeline_run(&shape, &device, machine ? &machine->host : &no_cost, &memory);
}

struct shape {
    uint32_t chunks, streams; /* 0: none is better than what is there */
    double ns, now;           /* < 0: no memory */
};

/* The smallest that comes within a percent of the best; of the recorded number of chunks alone, or
 * of any. */
static struct shape best_shape(const struct weir_advise_context *c,
                               const struct weir_plan_passes *p, bool any_chunks)
{
    struct shape best = {.now = pass_length(c, p, p->chunks, p->streams)};

    best.ns = best.now;
    for (uint32_t n = any_chunks ? 1 : p->chunks; n <= (any_chunks ? CHUNKS_MAX : p->chunks);
         n *= 2) {
        for (uint32_t s = 1; s <= STREAMS_MAX && best.ns >= 0; s++) {
            double t = pass_length(c, p, n, s);

            if (t < best.ns * 0.99)
                best = (struct shape){n, s, t, best.now};
        }
    }
    return best;
}

static bool add_shape(struct weir_advise_context *c, const struct weir_plan_passes *p, bool parts)
{
    struct weir_advise_finding d = {
        .kind = "pipeline-depth", .stream = WEIR_TRACE_NONE, .note = parts && p->refilled};
    const struct shape best = best_shape(c, p, parts);

    if (best.ns < 0 || !best.chunks)
        return best.ns >= 0;
    d.gain_ns = weir_plan_ns((best.now - best.ns) * p->count);
    weir_advise_add_site(c, &d, p->call);
    snprintf(d.message, sizeof d.message,
             "the pipeline of %u %s%s in %u stream%s takes %.3f ms a pass; %s is a good part of "
             "that",
             p->chunks, p->refilled ? "item" : "chunk", p->chunks == 1 ? "" : "s", p->streams,
             p->streams == 1 ? "" : "s", best.now * 1e-6,
             best.chunks > p->chunks    ? "filling and draining it"
             : best.chunks == p->chunks ? "waiting for a stream to be free again"
                                        : "the fixed cost of each operation");
    snprintf(d.change, sizeof d.change, "%s%u %s in %u streams%s: %.3f ms a pass",
             d.note ? "only if items can be put together or cut: " : "", best.chunks,
             p->refilled && !parts ? "items" : "chunks", best.streams,
             p->refilled && !parts ? ", each with buffers of its own" : "", best.ns * 1e-6);
    return weir_advise_add(c, &d);
}

/* How a whole is cut is free; what comes item by item, through buffers that are filled again and
 * again, is only given more of these or fewer. */
static bool find_chunks(struct weir_advise_context *c)
{
    struct weir_plan_passes p;

    if (!weir_plan_passes_find(&c->model, &p))
        return false;
    /* (Several chunks in one stream: that is question 1.) */
    if (!p.count || (p.streams == 1 && p.chunks > 1))
        return true;
    return (!p.refilled || add_shape(c, &p, false)) && add_shape(c, &p, true);
}

bool weir_advise_find_depth(struct weir_advise_context *c)
{
    const size_t before = c->report->count;

    if (!weir_advise_find_items(c))
        return false;
    /* Items one at a time: how each is cut is the smaller question. */
    return c->report->count > before || find_chunks(c);
}
