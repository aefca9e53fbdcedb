/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/passes.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/vec.h"

#define SHAPES_MAX 16

static bool is_work(const struct weir_trace_op *op)
{
    return op->done && op->engine != WEIR_TRACE_ENGINE_NONE && op->graph == WEIR_TRACE_NONE;
}

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

        if (is_work(op) && op->why != WEIR_TRACE_WHY_HOST && op->why_op != WEIR_TRACE_NONE &&
            is_work(&f->ops[op->why_op]) && op->start_ns >= f->ops[op->why_op].end_ns)
            ok = weir_vec_push(&gaps, op->start_ns - f->ops[op->why_op].end_ns);
    }
    if (gaps.count)
        qsort(gaps.items, gaps.count, sizeof *gaps.items, by_number);
    *out = gaps.count ? gaps.items[gaps.count / 2] : 0;
    weir_vec_finish(&gaps);
    return ok;
}

/* ---- one pass ---- */

/* How far a stream is in copy in, kernel, copy out. */
static void count_op(const struct weir_trace_op *op, unsigned char *state,
                     struct weir_plan_passes *p, uint64_t length)
{
    int stage = op->engine == WEIR_TRACE_ENGINE_H2D      ? 0
                : op->engine == WEIR_TRACE_ENGINE_KERNEL ? 1
                                                         : 2;

    p->stage[stage] += length;
    if (stage == 2 && *state == 2)
        p->chunks++;
    *state = (unsigned char)(stage == 0 ? 1 : stage == 1 && *state ? 2 : stage == 2 ? 0 : *state);
}

/* Shapes that were seen, by chunks and streams; stages and fill are sums over their passes. */
struct shapes {
    struct weir_plan_passes items[SHAPES_MAX];
    size_t count;
};

static void end_pass(struct shapes *all, struct weir_plan_passes *now, const unsigned char *used,
                     size_t n)
{
    struct weir_plan_passes *at = NULL;

    for (size_t i = 0; i < n; i++)
        now->streams += used[i];
    if (!now->chunks || !now->stage[0] || !now->stage[1] || !now->stage[2])
        return;
    for (size_t i = 0; i < all->count; i++) {
        if (all->items[i].chunks == now->chunks && all->items[i].streams == now->streams)
            at = &all->items[i];
    }
    if (!at && all->count == SHAPES_MAX)
        return;
    if (!at) {
        at = &all->items[all->count++];
        *at = (struct weir_plan_passes){
            .chunks = now->chunks, .streams = now->streams, .call = now->call};
    }
    for (int k = 0; k < 3; k++)
        at->stage[k] += now->stage[k];
    at->fill += now->fill;
    at->refilled = at->refilled || now->refilled;
    at->count++;
}

static struct weir_plan_passes best_of(const struct shapes *all)
{
    struct weir_plan_passes best = {0};

    for (size_t i = 0; i < all->count; i++) {
        const struct weir_plan_passes *s = &all->items[i];

        if (s->count == 1 && s->chunks == 1)
            continue; /* once: to warm up */
        if (s->streams > best.streams || (s->streams == best.streams && s->chunks > best.chunks))
            best = *s;
    }
    for (int k = 0; best.count && k < 3; k++)
        best.stage[k] /= best.count;
    if (best.count)
        best.fill /= best.count;
    return best;
}

/* The share of the device that a kernel takes while it runs. */
static double fill_of(const struct weir_plan_recorded *m, size_t op)
{
    const struct weir_trace_op *o = &m->file->ops[op];
    double blocks = 1, threads = 1, units;

    if (!m->machine)
        return (double)m->demand[op] / m->slots;
    for (int i = 0; i < 3; i++) {
        blocks *= o->u.kernel.grid[i];
        threads *= WEIR_MIN(o->u.kernel.block[i], 1024u);
    }
    units = weir_plan_block_units(m->machine, (uint64_t)WEIR_MIN(threads, 1024.0),
                                  o->u.kernel.shared_bytes);
    return WEIR_MIN(blocks * units / m->machine->device.units, 1.0);
}

/* Has the pass copied from this memory before? */
static bool note_source(const struct weir_trace_op *op, struct weir_map *sources,
                        struct weir_plan_passes *now)
{
    if (op->kind != WEIR_TRACE_OP_COPY || op->engine != WEIR_TRACE_ENGINE_H2D)
        return true;
    now->refilled = now->refilled || weir_map_get(sources, op->u.copy.src);
    return weir_map_put(sources, op->u.copy.src, sources);
}

bool weir_plan_passes_find(const struct weir_plan_recorded *m, struct weir_plan_passes *out)
{
    const struct weir_trace_file *f = m->file;
    unsigned char *state = weir_calloc(f->streams_count + 1, 1);
    unsigned char *used = weir_calloc(f->streams_count + 1, 1);
    struct weir_plan_passes now = {0};
    struct weir_map sources = {0};
    struct shapes all = {0};
    uint64_t end = 0;
    bool ok = state && used;

    for (size_t i = 0; ok && i < f->ops_count; i++) {
        const struct weir_trace_op *op = &f->ops[i];

        if (!is_work(op) || op->engine > WEIR_TRACE_ENGINE_D2H)
            continue;
        if (op->submit_ns > end) {
            end_pass(&all, &now, used, f->streams_count);
            now = (struct weir_plan_passes){.call = op->call};
            memset(state, 0, f->streams_count);
            memset(used, 0, f->streams_count);
            weir_map_finish(&sources);
            sources = (struct weir_map){0};
        }
        used[op->stream] = 1;
        count_op(op, &state[op->stream], &now, m->alone_ns[i]);
        if (op->kind == WEIR_TRACE_OP_KERNEL)
            now.fill = WEIR_MAX(now.fill, fill_of(m, i));
        ok = note_source(op, &sources, &now);
        end = WEIR_MAX(end, op->end_ns);
    }
    if (ok)
        end_pass(&all, &now, used, f->streams_count);
    *out = best_of(&all);
    ok = ok && find_fixed(f, &out->fixed);
    weir_map_finish(&sources);
    weir_free(state);
    weir_free(used);
    return ok;
}

struct weir_plan_pipeline weir_plan_passes_shape(const struct weir_plan_passes *p)
{
    return (struct weir_plan_pipeline){
        .stages = {{WEIR_PLAN_H2D, (double)p->stage[0], 0},
                   {WEIR_PLAN_KERNEL, (double)p->stage[1], p->fill > 0 ? WEIR_MIN(p->fill, 1) : 1},
                   {WEIR_PLAN_D2H, (double)p->stage[2], 0}},
        .stage_count = 3,
        .chunks = p->chunks,
        .streams = p->streams};
}

struct weir_plan_device weir_plan_passes_device(const struct weir_plan_passes *p)
{
    double fixed = (double)p->fixed;

    return (struct weir_plan_device){.units = 1000,
                                     .copy_engines = 2,
                                     .launch_ns = fixed,
                                     .same_ns = fixed,
                                     .handover_ns = fixed,
                                     .copy_gap_ns = fixed};
}
