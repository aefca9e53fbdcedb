/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/pipeline.h"

static void *take(const struct weir_model_memory *memory, size_t count, size_t size)
{
    return count > SIZE_MAX / size - 1 ? NULL : memory->alloc(memory->ctx, (count + 1) * size);
}

/* ---- the program ---- */

struct maker {
    const struct weir_plan_pipeline *p;
    const struct weir_plan_device *d;
    const struct weir_plan_host *host;
    struct weir_plan_made *made;
    uint32_t steps, last_stream;
};

static void add_step(struct maker *m, enum weir_plan_step_kind what, uint32_t a, double ns)
{
    m->made->steps[m->steps++] = (struct weir_plan_step){.what = (uint8_t)what, .a = a, .ns = ns};
}

static double submit_cost(const struct maker *m, const struct weir_plan_op *op)
{
    double more = op->stream == m->last_stream ? 0 : m->host->submit_switch;

    switch (op->engine) {
    case WEIR_PLAN_KERNEL:
        return m->host->submit_kernel + more;
    case WEIR_PLAN_HOST:
        return m->host->submit_host_func;
    default:
        return m->host->submit_copy;
    }
}

static void add_submit(struct maker *m, uint32_t index)
{
    const struct weir_plan_op *op = &m->made->ops[index];

    add_step(m, WEIR_PLAN_WORK, 0, submit_cost(m, op));
    add_step(m, WEIR_PLAN_SUBMIT, index, 0);
    if (m->steps == 2 && m->p->pause_ns > 0)
        add_step(m, WEIR_PLAN_WORK, 0, m->p->pause_ns);
    m->last_stream = op->stream;
    if (m->p->pageable && (op->engine == WEIR_PLAN_H2D || op->engine == WEIR_PLAN_D2H)) {
        add_step(m, WEIR_PLAN_SYNC_OP, index, 0);
        add_step(m, WEIR_PLAN_WORK, 0, m->host->sync_return);
    }
}

static struct weir_plan_op make_op(const struct maker *m, uint32_t chunk, uint32_t stage)
{
    static const uint8_t kinds[] = {WEIR_OP_KERNEL, WEIR_OP_COPY, WEIR_OP_COPY, WEIR_OP_COPY,
                                    WEIR_OP_HOST_FUNC};
    const struct weir_plan_stage *s = &m->p->stages[stage];
    double units = s->fill * m->d->units;

    return (struct weir_plan_op){.stream = chunk % m->p->streams,
                                 .kind = kinds[s->engine],
                                 .engine = s->engine,
                                 .blocks = 1,
                                 .units = s->engine == WEIR_PLAN_KERNEL
                                              ? (uint32_t)(units < 1 && s->fill > 0 ? 1 : units)
                                              : 0,
                                 .ns = m->p->full_size ? s->ns : s->ns / m->p->chunks};
}

bool weir_plan_pipeline_make(const struct weir_plan_pipeline *p, const struct weir_plan_device *d,
                             const struct weir_plan_host *host,
                             const struct weir_model_memory *memory, struct weir_plan_made *out)
{
    struct maker m = {.p = p, .d = d, .host = host, .made = out, .last_stream = WEIR_PLAN_NONE};
    uint32_t n = p->chunks * p->stage_count;

    *out = (struct weir_plan_made){0};
    out->streams = take(memory, p->streams, sizeof *out->streams);
    out->ops = take(memory, n, sizeof *out->ops);
    out->steps = take(memory, (size_t)n * 4 + 3, sizeof *out->steps);
    if (!out->streams || !out->ops || !out->steps) {
        weir_plan_made_finish(out, memory);
        return false;
    }
    for (uint32_t i = 0; i < p->streams; i++)
        out->streams[i] = (struct weir_plan_stream){.cls = WEIR_STREAM_NONBLOCKING};
    for (uint32_t i = 0; i < n; i++)
        out->ops[i] = make_op(&m, i / p->stage_count, i % p->stage_count);
    for (uint32_t i = 0; i < n; i++)
        add_submit(&m, p->breadth ? i % p->chunks * p->stage_count + i / p->chunks : i);
    add_step(&m, WEIR_PLAN_WORK, 0, host->sync);
    add_step(&m, WEIR_PLAN_SYNC_DEVICE, 0, 0);
    add_step(&m, WEIR_PLAN_WORK, 0, host->sync_return);
    out->thread.step_count = m.steps;
    out->program = (struct weir_plan_program){.streams = out->streams,
                                              .ops = out->ops,
                                              .steps = out->steps,
                                              .threads = &out->thread,
                                              .stream_count = p->streams,
                                              .op_count = n,
                                              .step_count = m.steps,
                                              .thread_count = 1,
                                              .group_count = 1,
                                              .device_count = 1};
    return true;
}

void weir_plan_made_finish(struct weir_plan_made *made, const struct weir_model_memory *memory)
{
    if (made->streams)
        memory->free(memory->ctx, made->streams);
    if (made->ops)
        memory->free(memory->ctx, made->ops);
    if (made->steps)
        memory->free(memory->ctx, made->steps);
    *made = (struct weir_plan_made){0};
}

double weir_plan_pipeline_run(const struct weir_plan_pipeline *p, const struct weir_plan_device *d,
                              const struct weir_plan_host *host,
                              const struct weir_model_memory *memory)
{
    struct weir_plan_made made;
    struct weir_plan_result result;
    bool ok;

    if (!weir_plan_pipeline_make(p, d, host, memory, &made))
        return -1;
    ok = weir_plan_run(&made.program, d, memory, NULL, NULL, &result);
    weir_plan_made_finish(&made, memory);
    return ok ? result.end : -1;
}

/* ---- the bound ---- */

static void consider(double ns, enum weir_plan_limit what, double *bound,
                     enum weir_plan_limit *limit)
{
    if (ns > *bound) {
        *bound = ns;
        *limit = what;
    }
}

/* While both directions copy, each goes at its share; then the rest of the longer one alone. */
static double both_ways(double a, double b, double duplex)
{
    double less = a < b ? a : b, more = a < b ? b : a;

    return duplex > 0 ? less / duplex + (more - less) : more;
}

double weir_plan_pipeline_bound(const struct weir_plan_pipeline *p,
                                const struct weir_plan_device *d, enum weir_plan_limit *limit)
{
    double sum[WEIR_PLAN_ENGINES] = {0}, bound = -1, copies;
    double each = p->full_size ? p->chunks : 1;

    for (uint32_t i = 0; i < p->stage_count; i++) {
        const struct weir_plan_stage *s = &p->stages[i];

        sum[s->engine] += each * s->ns * (s->engine == WEIR_PLAN_KERNEL ? s->fill : 1);
    }
    consider(sum[WEIR_PLAN_KERNEL], WEIR_PLAN_LIMIT_KERNELS, &bound, limit);
    consider(sum[WEIR_PLAN_D2D], WEIR_PLAN_LIMIT_DEVICE, &bound, limit);
    consider(sum[WEIR_PLAN_HOST], WEIR_PLAN_LIMIT_HOST_FUNC, &bound, limit);
    copies = sum[WEIR_PLAN_H2D] + sum[WEIR_PLAN_D2H];
    if (p->pageable) {
        consider(copies, WEIR_PLAN_LIMIT_HOST, &bound, limit);
    } else if (d->copy_engines) {
        consider(sum[WEIR_PLAN_H2D], WEIR_PLAN_LIMIT_H2D, &bound, limit);
        consider(sum[WEIR_PLAN_D2H], WEIR_PLAN_LIMIT_D2H, &bound, limit);
        if (d->copy_engines == 1 && sum[WEIR_PLAN_H2D] > 0 && sum[WEIR_PLAN_D2H] > 0)
            consider(copies, WEIR_PLAN_LIMIT_ONE_ENGINE, &bound, limit);
        else
            consider(both_ways(sum[WEIR_PLAN_H2D], sum[WEIR_PLAN_D2H], d->duplex),
                     WEIR_PLAN_LIMIT_DUPLEX, &bound, limit);
    }
    return bound;
}
