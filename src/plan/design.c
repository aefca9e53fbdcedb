/* Designs (text.h) as programs of the simulator.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "plan/text.h"

#define FREE_UNITS 1000000 /* places on a device that the text does not name */

struct maker {
    const struct weir_plan_text *t;
    const struct weir_plan_machine *m;
    struct weir_plan_design *d;
    struct weir_plan_host cost;
    uint32_t units, last_stream;
    bool no_memory, needs_device;
};

static void step(struct maker *k, struct weir_plan_step s, char mark)
{
    if (!weir_vec_push(&k->d->steps, s) || !weir_vec_push(&k->d->step_marks, mark))
        k->no_memory = true;
}

static void work(struct maker *k, double ns, char mark)
{
    step(k, (struct weir_plan_step){.what = WEIR_PLAN_WORK, .ns = ns}, mark);
}

static void cost(struct maker *k, double ns)
{
    if (ns > 0)
        work(k, ns, 0);
}

/* ---- operations ---- */

static double length_of(struct maker *k, const struct weir_plan_line *line)
{
    if (line->ns >= 0)
        return line->ns;
    if (!k->m) {
        k->needs_device = true;
        return 0;
    }
    return weir_plan_copy_ns(k->m, line->engine, false, line->bytes, 0);
}

static double submit_cost(struct maker *k, const struct weir_plan_op *op)
{
    double more = k->last_stream == op->stream ? 0 : k->cost.submit_switch;

    if (op->engine == WEIR_PLAN_KERNEL)
        return k->cost.submit_kernel + more;
    return op->engine == WEIR_PLAN_HOST ? k->cost.submit_host_func : k->cost.submit_copy;
}

/* after: an operation of another stream that it follows, or NONE. Returns its number. */
static uint32_t submit(struct maker *k, const struct weir_plan_line *line, uint32_t stream,
                       uint32_t after)
{
    static const uint8_t kinds[] = {WEIR_OP_KERNEL, WEIR_OP_COPY, WEIR_OP_COPY, WEIR_OP_COPY,
                                    WEIR_OP_HOST_FUNC};
    uint32_t index = (uint32_t)k->d->ops.count;
    struct weir_plan_op op = {.stream = stream,
                              .kind = kinds[line->engine],
                              .engine = line->engine,
                              .dep_first = (uint32_t)k->d->deps.count,
                              .blocks = 1,
                              .ns = length_of(k, line)};

    if (line->engine == WEIR_PLAN_KERNEL)
        op.units = (uint32_t)(line->fill * k->units);
    if (after != WEIR_PLAN_NONE) {
        op.dep_count = 1;
        if (!weir_vec_push(&k->d->deps, after))
            k->no_memory = true;
    }
    cost(k, submit_cost(k, &op));
    k->last_stream = stream;
    if (!weir_vec_push(&k->d->ops, op) || !weir_vec_push(&k->d->op_lines, line))
        k->no_memory = true;
    step(k, (struct weir_plan_step){.what = WEIR_PLAN_SUBMIT, .a = index}, 0);
    return index;
}

static void sync(struct maker *k, enum weir_plan_step_kind what, uint32_t a)
{
    cost(k, k->cost.sync);
    step(k, (struct weir_plan_step){.what = (uint8_t)what, .a = a}, 0);
    cost(k, k->cost.sync_return);
}

/* ---- items ---- */

/* Item i has slot i mod the slots; before it comes, the host waits for the one before in it, and
 * does that one's post-processing. */
static void finish_item(struct maker *k, uint32_t item)
{
    sync(k, WEIR_PLAN_SYNC_OP, k->d->item_last[item]);
    if (k->t->post_ns > 0)
        work(k, k->t->post_ns, 'o');
    k->d->item_end[item] = (uint32_t)k->d->steps.count - 1;
}

static void one_item(struct maker *k, uint32_t item)
{
    const struct weir_plan_text *t = k->t;
    uint32_t slot = item % k->d->slots, last = WEIR_PLAN_NONE;

    if (item >= k->d->slots)
        finish_item(k, item - k->d->slots);
    if (t->every_ns > 0)
        step(k, (struct weir_plan_step){.what = WEIR_PLAN_UNTIL, .ns = t->every_ns * item}, 0);
    k->d->item_begin[item] = (uint32_t)k->d->steps.count;
    work(k, t->prepare_ns, 'p');
    for (size_t i = 0; i < t->item.count && !k->no_memory; i++) {
        uint32_t stream = t->item.items[i].stream == WEIR_PLAN_NONE ? t->stream_count + slot
                                                                    : t->item.items[i].stream;
        bool crosses = last != WEIR_PLAN_NONE && k->d->ops.items[last].stream != stream;

        if (crosses)
            cost(k, k->cost.record + k->cost.wait);
        last = submit(k, &t->item.items[i], stream, crosses ? last : WEIR_PLAN_NONE);
    }
    k->d->item_last[item] = last;
}

static void all_items(struct maker *k)
{
    uint32_t n = k->t->items;

    for (uint32_t i = 0; i < n && !k->no_memory; i++)
        one_item(k, i);
    for (uint32_t i = n > k->d->slots ? n - k->d->slots : 0; i < n && !k->no_memory; i++)
        finish_item(k, i);
}

/* ---- the program ---- */

static void add_line(struct maker *k, const struct weir_plan_line *line)
{
    switch (line->kind) {
    case WEIR_PLAN_LINE_OP:
        submit(k, line, line->stream, WEIR_PLAN_NONE);
        break;
    case WEIR_PLAN_LINE_RECORD:
    case WEIR_PLAN_LINE_WAIT:
        cost(k, line->kind == WEIR_PLAN_LINE_WAIT ? k->cost.wait : k->cost.record);
        step(k,
             (struct weir_plan_step){.what = line->kind == WEIR_PLAN_LINE_WAIT ? WEIR_PLAN_WAIT
                                                                               : WEIR_PLAN_RECORD,
                                     .a = line->event,
                                     .b = line->stream},
             0);
        break;
    case WEIR_PLAN_LINE_HOST:
        work(k, line->ns, '#');
        break;
    case WEIR_PLAN_LINE_SYNC_STREAM:
        sync(k, WEIR_PLAN_SYNC_STREAM, line->stream);
        break;
    case WEIR_PLAN_LINE_SYNC_EVENT:
        sync(k, WEIR_PLAN_SYNC_EVENT, line->event);
        break;
    case WEIR_PLAN_LINE_SYNC_ALL:
        sync(k, WEIR_PLAN_SYNC_ALL, 0);
        break;
    default:
        all_items(k);
        break;
    }
}

static bool take_memory(struct maker *k)
{
    struct weir_plan_design *d = k->d;
    size_t streams = k->t->stream_count + d->slots, items = k->t->items;

    d->streams = weir_calloc(streams + 1, sizeof *d->streams);
    d->item_begin = weir_calloc(items + 1, sizeof *d->item_begin);
    d->item_end = weir_calloc(items + 1, sizeof *d->item_end);
    d->item_last = weir_calloc(items + 1, sizeof *d->item_last);
    d->latency = weir_calloc(items + 1, sizeof *d->latency);
    if (!d->streams || !d->item_begin || !d->item_end || !d->item_last || !d->latency)
        return false;
    for (size_t i = 0; i < streams; i++)
        d->streams[i] = (struct weir_plan_stream){
            .cls = WEIR_STREAM_NONBLOCKING,
            .priority = i < k->t->stream_count ? k->t->priorities[i] : (int8_t)0};
    return true;
}

static bool make(struct maker *k)
{
    struct weir_plan_design *d = k->d;

    if (!take_memory(k))
        return false;
    for (size_t i = 0; i < k->t->lines.count && !k->no_memory; i++)
        add_line(k, &k->t->lines.items[i]);
    if (k->no_memory)
        return false;
    d->thread.step_count = (uint32_t)d->steps.count;
    d->program = (struct weir_plan_program){.streams = d->streams,
                                            .ops = d->ops.items,
                                            .deps = d->deps.items,
                                            .steps = d->steps.items,
                                            .threads = &d->thread,
                                            .stream_count = k->t->stream_count + d->slots,
                                            .op_count = (uint32_t)d->ops.count,
                                            .dep_count = (uint32_t)d->deps.count,
                                            .step_count = (uint32_t)d->steps.count,
                                            .thread_count = 1,
                                            .event_count = k->t->event_count,
                                            .group_count = 1,
                                            .device_count = 1};
    d->times = weir_calloc(d->ops.count + 1, sizeof *d->times);
    d->step_ends = weir_calloc(d->steps.count + 1, sizeof *d->step_ends);
    return d->times && d->step_ends;
}

/* ---- numbers ---- */

static int by_size(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;

    return a < b ? -1 : a > b;
}

static void find_latency(struct weir_plan_design *d)
{
    const struct weir_plan_text *t = d->text;
    uint32_t n = t->items;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t first = d->item_begin[i];
        double begin =
            t->every_ns > 0 ? t->every_ns * i : d->step_ends[first] - d->steps.items[first].ns;
        double end = t->post_ns > 0 ? d->step_ends[d->item_end[i]] : d->times[d->item_last[i]].end;

        d->latency[i] = end - begin;
    }
    qsort(d->latency, n, sizeof *d->latency, by_size);
    d->values[WEIR_PLAN_P50] = d->latency[(n - 1) / 2];
    d->values[WEIR_PLAN_P99] = d->latency[((uint64_t)(n - 1) * 99 + 50) / 100];
}

/* A slot's buffers: each copy has one on the device and one in pinned memory. */
static void find_memory(struct weir_plan_design *d)
{
    d->device_bytes = d->pinned_bytes = 0;
    for (size_t i = 0; i < d->text->item.count; i++) {
        const struct weir_plan_line *line = &d->text->item.items[i];

        if (line->engine != WEIR_PLAN_H2D && line->engine != WEIR_PLAN_D2H)
            continue;
        if (line->bytes < 0) {
            d->device_bytes = d->pinned_bytes = -1;
            return;
        }
        d->device_bytes += line->bytes * d->slots;
        d->pinned_bytes += line->bytes * d->slots;
    }
    if (d->device_bytes > 0)
        d->values[WEIR_PLAN_MEMORY] = d->device_bytes + d->pinned_bytes;
}

static void find_values(struct weir_plan_design *d)
{
    double serial = 0;

    for (size_t i = 0; i < d->ops.count; i++)
        serial += d->ops.items[i].ns;
    for (size_t i = 0; i < d->steps.count; i++) {
        if (d->steps.items[i].what == WEIR_PLAN_WORK && d->step_marks.items[i])
            serial += d->steps.items[i].ns;
    }
    d->values[WEIR_PLAN_MAKESPAN] = d->result.end;
    d->values[WEIR_PLAN_SERIAL] = serial;
    if (d->result.end > 0)
        d->values[WEIR_PLAN_SPEEDUP] = serial / d->result.end;
    if (d->text->items) {
        find_latency(d);
        find_memory(d);
    }
}

bool weir_plan_design_run(const struct weir_plan_text *t, const struct weir_plan_machine *m,
                          uint32_t slots, struct weir_plan_design *out, char *message)
{
    const struct weir_model_memory memory = {weir_alloc_for, weir_free_for, NULL};
    struct weir_plan_device device = {.copy_engines = t->copy_engines,
                                      .units = t->kernels_free ? 0 : FREE_UNITS};
    struct maker k = {.t = t, .m = m, .d = out, .last_stream = WEIR_PLAN_NONE};

    *out = (struct weir_plan_design){.text = t, .device_bytes = -1, .pinned_bytes = -1};
    out->slots = t->items ? (slots ? slots : t->slots) : 0;
    for (int i = 0; i < WEIR_PLAN_QUANTITIES; i++)
        out->values[i] = -1;
    if (m) {
        device = m->device;
        k.cost = m->host;
    }
    k.units = device.units;
    snprintf(message, 200, "out of memory");
    if (!make(&k))
        return false;
    if (k.needs_device) {
        snprintf(message, 200, "a copy has a size and no time: which device? (device NAME)");
        return false;
    }
    if (!weir_plan_run(&out->program, &device, &memory, out->times, out->step_ends, &out->result))
        return false;
    if (out->result.stuck) {
        snprintf(message, 200, "it never ends: something waits for what does not come");
        return false;
    }
    find_values(out);
    return true;
}

void weir_plan_design_finish(struct weir_plan_design *d)
{
    weir_free(d->streams);
    weir_vec_finish(&d->ops);
    weir_vec_finish(&d->deps);
    weir_vec_finish(&d->steps);
    weir_vec_finish(&d->op_lines);
    weir_vec_finish(&d->step_marks);
    weir_free(d->times);
    weir_free(d->step_ends);
    weir_free(d->item_begin);
    weir_free(d->item_end);
    weir_free(d->item_last);
    weir_free(d->latency);
    *d = (struct weir_plan_design){0};
}
