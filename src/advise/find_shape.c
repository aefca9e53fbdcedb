/* Questions about shape: what fills the engines, and how a pipeline is cut.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "advise/find.h"
#include "base/alloc.h"
#include "base/vec.h"

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
        "kernels such as %s fill the device (%u block slots): kernels of other streams run in "
        "their turn, not beside them. Copies still run beside them: that they do not would have "
        "another cause",
        f->ops[biggest].name, c->model.slots);
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
#define SHAPES_MAX  16

/* One pass over the data: copies in, kernels and copies out of all its chunks. */
struct pass {
    uint64_t stage[3]; /* H2D, kernels, D2H: sums of lengths */
    uint32_t chunks, streams;
};

struct shape {
    struct pass pass; /* all passes of this shape together */
    uint32_t passes;
    uint64_t fixed; /* between two operations of one engine or stream */
    uint32_t call;
};

static int by_number(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

    return a < b ? -1 : a > b;
}

/* What an operation costs beside its length: the median time from what held it to its start. */
static bool find_fixed(const struct weir_trace_file *f, uint64_t *out)
{
    WEIR_VEC(uint64_t) gaps = {0};
    bool ok = true;

    for (size_t i = 0; i < f->ops_count && ok; i++) {
        const struct weir_trace_op *op = &f->ops[i];

        if (weir_advise_is_work(op) && op->why != WEIR_TRACE_WHY_HOST &&
            op->why_op != WEIR_TRACE_NONE && weir_advise_is_work(&f->ops[op->why_op]) &&
            op->start_ns >= f->ops[op->why_op].end_ns)
            ok = weir_vec_push(&gaps, op->start_ns - f->ops[op->why_op].end_ns);
    }
    if (gaps.count)
        qsort(gaps.items, gaps.count, sizeof *gaps.items, by_number);
    *out = gaps.count ? gaps.items[gaps.count / 2] : 0;
    weir_vec_finish(&gaps);
    return ok;
}

/* A pass of so many chunks round so many streams, on one engine a direction and kernels that fill
 * the device. */
static double pass_length(const struct pass *p, double fixed, uint32_t chunks, uint32_t streams)
{
    double stream[STREAMS_MAX] = {0}, engine[3] = {0}, end = 0;

    for (uint32_t c = 0; c < chunks; c++) {
        for (int k = 0; k < 3; k++) {
            double start = WEIR_MAX(stream[c % streams], engine[k]) + fixed;

            end = start + (double)p->stage[k] / chunks;
            stream[c % streams] = engine[k] = end;
        }
    }
    return end;
}

/* How far a stream is in copy in, kernel, copy out. */
static void count_op(const struct weir_trace_op *op, unsigned char *state, struct pass *p,
                     uint64_t length)
{
    int stage = op->engine == WEIR_TRACE_ENGINE_H2D      ? 0
                : op->engine == WEIR_TRACE_ENGINE_KERNEL ? 1
                                                         : 2;

    p->stage[stage] += length;
    if (stage == 2 && *state == 2)
        p->chunks++;
    *state = (unsigned char)(stage == 0 ? 1 : stage == 1 && *state ? 2 : stage == 2 ? 0 : *state);
}

/* Shapes that were seen, by chunks and streams. */
struct shapes {
    struct shape items[SHAPES_MAX];
    size_t count;
};

static void end_pass(struct shapes *all, struct shape *now, const unsigned char *used, size_t n)
{
    struct shape *at = NULL;

    for (size_t i = 0; i < n; i++)
        now->pass.streams += used[i];
    if (!now->pass.chunks || !now->pass.stage[0] || !now->pass.stage[1] || !now->pass.stage[2])
        return;
    for (size_t i = 0; i < all->count; i++) {
        if (all->items[i].pass.chunks / all->items[i].passes == now->pass.chunks &&
            all->items[i].pass.streams == now->pass.streams)
            at = &all->items[i];
    }
    if (!at && all->count == SHAPES_MAX)
        return;
    if (!at) {
        at = &all->items[all->count++];
        *at = (struct shape){.pass.streams = now->pass.streams, .call = now->call};
    }
    for (int k = 0; k < 3; k++)
        at->pass.stage[k] += now->pass.stage[k];
    at->pass.chunks += now->pass.chunks;
    at->passes++;
}

/* The one that the program has come to: most streams, then most chunks. */
static struct shape best_of(const struct shapes *all)
{
    struct shape best = {0};

    for (size_t i = 0; i < all->count; i++) {
        const struct shape *s = &all->items[i];

        if (s->pass.chunks == 1)
            continue; /* once: to warm up */
        if (s->pass.streams > best.pass.streams ||
            (s->pass.streams == best.pass.streams &&
             s->pass.chunks * (uint64_t)best.passes > best.pass.chunks * (uint64_t)s->passes))
            best = *s;
    }
    return best;
}

/* Passes end where all that was submitted is done before more comes. */
static bool find_shape(const struct weir_advise_context *c, struct shape *best)
{
    const struct weir_trace_file *f = c->f;
    unsigned char *state = weir_calloc(f->streams_count + 1, 1);
    unsigned char *used = weir_calloc(f->streams_count + 1, 1);
    struct shapes all = {0};
    struct shape now = {0};
    uint64_t end = 0;
    bool ok = state && used;

    for (size_t i = 0; ok && i < f->ops_count; i++) {
        const struct weir_trace_op *op = &f->ops[i];

        if (!weir_advise_is_work(op) || op->engine > WEIR_TRACE_ENGINE_D2H)
            continue;
        if (op->submit_ns > end) {
            end_pass(&all, &now, used, f->streams_count);
            now = (struct shape){.call = op->call};
            memset(state, 0, f->streams_count);
            memset(used, 0, f->streams_count);
        }
        used[op->stream] = 1;
        count_op(op, &state[op->stream], &now.pass, c->model.alone_ns[i]);
        end = WEIR_MAX(end, op->end_ns);
    }
    if (ok)
        end_pass(&all, &now, used, f->streams_count);
    *best = best_of(&all);
    weir_free(state);
    weir_free(used);
    return ok;
}

static bool find_chunks(struct weir_advise_context *c)
{
    struct weir_advise_finding d = {.kind = "pipeline-depth", .stream = WEIR_TRACE_NONE};
    uint32_t chunks, streams, best_chunks = 0, best_streams = 0;
    struct shape shape = {0};
    double now, best, fixed;

    if (!find_shape(c, &shape) || !find_fixed(c->f, &shape.fixed))
        return false;
    /* (Several chunks in one stream: that is question 1.) */
    if (!shape.passes || (shape.pass.streams == 1 && shape.pass.chunks > shape.passes))
        return true;
    for (int k = 0; k < 3; k++)
        shape.pass.stage[k] /= shape.passes;
    chunks = shape.pass.chunks / shape.passes;
    streams = WEIR_MIN(shape.pass.streams, (uint32_t)STREAMS_MAX);
    fixed = (double)shape.fixed;
    now = best = pass_length(&shape.pass, fixed, chunks, streams);
    /* The smallest that comes within a percent of the best. */
    for (uint32_t n = 1; n <= CHUNKS_MAX; n *= 2) {
        for (uint32_t s = 1; s <= STREAMS_MAX; s++) {
            double t = pass_length(&shape.pass, fixed, n, s);

            if (t < best * 0.99) {
                best = t;
                best_chunks = n;
                best_streams = s;
            }
        }
    }
    if (!best_chunks)
        return true;
    d.gain_ns = weir_plan_ns((now - best) * shape.passes);
    weir_advise_add_site(c, &d, shape.call);
    snprintf(d.message, sizeof d.message,
             "the pipeline of %u chunk%s in %u stream%s takes %.3f ms a pass; %s is a good part of "
             "that",
             chunks, chunks == 1 ? "" : "s", streams, streams == 1 ? "" : "s", now * 1e-6,
             best_chunks >= chunks ? "filling and draining it"
                                   : "the fixed cost of each operation");
    snprintf(d.change, sizeof d.change, "%u chunks in %u streams: %.3f ms a pass", best_chunks,
             best_streams, best * 1e-6);
    return weir_advise_add(c, &d);
}

bool weir_advise_find_depth(struct weir_advise_context *c)
{
    const size_t before = c->report->count;

    if (!weir_advise_find_items(c))
        return false;
    /* Items one at a time: how each is cut is the smaller question. */
    return c->report->count > before || find_chunks(c);
}
