/* A recorded program with one thing changed, as a program of the simulator.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/map.h"
#include "base/vec.h"
#include "model/limits.h"
#include "model/rules.h"
#include "plan/recorded.h"
#include "plan/sim.h"

#define SHORT_GAP_NS 20000 /* host time between two calls of one sequence */

_Static_assert((int)WEIR_PLAN_H2D == (int)WEIR_TRACE_ENGINE_H2D &&
                   (int)WEIR_PLAN_D2H == (int)WEIR_TRACE_ENGINE_D2H &&
                   (int)WEIR_PLAN_ENGINES == (int)WEIR_TRACE_ENGINE_COUNT,
               "engines of traces and of the simulator have the same numbers");

struct replay {
    const struct weir_plan_recorded *m;
    const struct weir_plan_scenario *s;
    const struct weir_trace_file *f;
    const struct weir_plan_moments *when; /* or NULL */
    uint32_t *call_step;                  /* with when: where a call's steps begin */
    uint32_t *record_step;                /* with when->records: a record's step */
    struct weir_plan_stream *streams;
    struct weir_plan_op *ops;
    struct weir_plan_step *steps;
    struct weir_plan_thread *threads;
    uint32_t *calls_end;           /* by thread: behind its last call's steps */
    double *step_at;               /* of those */
    struct weir_plan_step nowhere; /* what there was no memory for */
    uint32_t *deps;
    size_t step_count, step_cap, dep_count, dep_cap;
    struct weir_map event_numbers;
    uint32_t event_count;
    bool no_memory;
};

static struct weir_plan_step *add(struct replay *r, enum weir_plan_step_kind what, uint32_t a)
{
    if (!weir_vec_reserve_bytes((void **)&r->steps, &r->step_cap, r->step_count + 1,
                                sizeof *r->steps)) {
        r->no_memory = true;
        return &r->nowhere;
    }
    r->steps[r->step_count] = (struct weir_plan_step){.what = (uint8_t)what, .a = a};
    return &r->steps[r->step_count++];
}

static uint32_t event_of(struct replay *r, uint64_t id)
{
    uintptr_t n = (uintptr_t)weir_map_get(&r->event_numbers, id + 1);

    if (!n) {
        n = ++r->event_count;
        if (!weir_map_put(&r->event_numbers, id + 1, (void *)n))
            r->no_memory = true;
    }
    return (uint32_t)n - 1;
}

/* ---- synchronising ---- */

/* The operation that an event's record stands for. Numbers of the file are not those of the
 * simulation, where other records and waits are needed: the last operation that both have counts,
 * unless a wait is behind it; then all of the stream so far. */
static void add_event_sync(struct replay *r, const struct weir_trace_sync_point *y)
{
    const struct weir_trace_stream *s = &r->f->streams[y->stream];
    uint32_t low = s->op_first, high = low + s->op_count;
    bool waits = false;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;

        if (r->f->ops[r->f->stream_ops[mid]].seq <= y->seq)
            low = mid + 1;
        else
            high = mid;
    }
    for (; low > s->op_first; low--) {
        uint32_t index = r->f->stream_ops[low - 1];
        const struct weir_trace_op *op = &r->f->ops[index];

        waits = waits || op->kind == WEIR_TRACE_OP_WAIT;
        if (op->kind == WEIR_TRACE_OP_WAIT || op->kind == WEIR_TRACE_OP_RECORD ||
            op->call == WEIR_TRACE_NONE)
            continue;
        add(r, waits ? WEIR_PLAN_SYNC_SO_FAR : WEIR_PLAN_SYNC_OP, waits ? y->stream : index);
        return;
    }
}

static void add_sync(struct replay *r, const struct weir_trace_sync_point *y, uint32_t call)
{
    const struct weir_trace_call *c = &r->f->calls[call];

    if (y->what == WEIR_TRACE_WAITS_OP && c->op_count)
        add(r, WEIR_PLAN_SYNC_OP, r->f->call_ops[c->op_first + c->op_count - 1]);
    else if (r->s->wait_for && r->s->wait_for[call] != WEIR_TRACE_NONE)
        add(r, WEIR_PLAN_SYNC_OP, r->s->wait_for[call]);
    else if (r->s->item_end && r->s->item_end[call] != WEIR_TRACE_NONE)
        add(r, WEIR_PLAN_SYNC_GROUP,
            (uint32_t)r->f->streams_count + (r->s->item_end[call] + 1) % r->s->depth);
    else if (r->s->item_of)
        add(r, WEIR_PLAN_SYNC_ALL, 0);
    else if (r->s->stream_of)
        add(r, y->stream == WEIR_TRACE_NONE ? WEIR_PLAN_SYNC_ALL : WEIR_PLAN_SYNC_GROUP, y->stream);
    else if (y->what == WEIR_TRACE_WAITS_DEVICE && y->context < WEIR_MODEL_MAX_DEVICES)
        add(r, WEIR_PLAN_SYNC_DEVICE, y->context);
    else if (y->what == WEIR_TRACE_WAITS_STREAM && y->stream != WEIR_TRACE_NONE)
        add(r, WEIR_PLAN_SYNC_STREAM, y->stream);
    else if (y->stream != WEIR_TRACE_NONE)
        add_event_sync(r, y);
}

/* ---- calls ---- */

static bool is_set(const bool *array, uint32_t i)
{
    return array && array[i];
}

/* The call's query, or NULL. */
static const struct weir_trace_query *query_of(const struct replay *r, uint32_t call)
{
    return r->m->query_count[call] ? &r->f->queries[r->m->query_at[r->m->query_first[call]]] : NULL;
}

/* Asked in vain, and asked again: the host waits. How long depends on the work, and is not what was
 * recorded. */
static bool is_poll(const struct replay *r, uint32_t call)
{
    const struct weir_trace_query *q = query_of(r, call);

    return q && !q->ready;
}

/* What submitting an operation costs the host of another device. */
static double submit_there(const struct weir_plan_host *h, const struct weir_trace_op *op)
{
    switch (op->kind) {
    case WEIR_TRACE_OP_KERNEL:
        return h->submit_kernel;
    case WEIR_TRACE_OP_COPY:
    case WEIR_TRACE_OP_MEMSET:
        return h->submit_copy;
    case WEIR_TRACE_OP_HOST:
        return h->submit_host_func;
    case WEIR_TRACE_OP_GRAPH:
        return h->graph_launch;
    default:
        return 0;
    }
}

/* What the call costs the host of another device; calls that it says nothing of: as recorded. */
static double cost_there(const struct replay *r, uint32_t call, double recorded)
{
    const struct weir_trace_call *c = &r->f->calls[call];
    const struct weir_plan_host *h = &r->m->machine->host;
    double ns = 0;

    for (uint32_t i = 0; i < c->op_count; i++) {
        const struct weir_trace_op *op = &r->f->ops[r->f->call_ops[c->op_first + i]];

        ns += submit_there(h, op);
        if (op->kind == WEIR_TRACE_OP_COPY && op->u.copy.staged && !is_set(r->s->no_wait, call))
            ns += weir_plan_capture_ns(r->m, op);
    }
    for (uint32_t i = 0; i < r->m->record_count[call]; i++) {
        bool timing = !(r->f->records[r->m->record_at[r->m->record_first[call] + i]].flags & 2);

        ns += timing ? h->record_timing : h->record;
    }
    ns += r->m->wait_count[call] * h->wait;
    if (c->sync_count)
        ns += h->sync + h->sync_return;
    return ns > 0 ? ns : r->m->model_clock ? 0 : recorded;
}

static double cost_of(const struct replay *r, uint32_t call)
{
    const struct weir_trace_call *c = &r->f->calls[call];
    uint64_t whole = c->end_ns - c->begin_ns, less = r->s->call_less ? r->s->call_less[call] : 0;

    bool less_asked = less != 0;

    less = c->waited_ns > whole || less > whole - c->waited_ns ? whole : c->waited_ns + less;
    if (is_poll(r, call) || is_set(r->s->free_call, call) || (r->s->fast_submission && c->op_count))
        return 0;
    return r->m->machine && !less_asked ? cost_there(r, call, (double)(whole - less))
                                        : (double)(whole - less);
}

/* From the end of the call before to the work of this one. */
static double host_time(const struct replay *r, const struct weir_trace_call *before, uint32_t call)
{
    const struct weir_trace_call *c = &r->f->calls[call];
    double gap;

    if (before && query_of(r, call) && is_poll(r, (uint32_t)(before - r->f->calls)) &&
        before->site == c->site)
        return cost_of(r, call);

    if (r->m->model_clock)
        return cost_of(r, call);
    if (!before)
        return (double)(c->begin_ns - r->f->begin_ns) + cost_of(r, call);
    gap = c->begin_ns > before->end_ns ? (double)(c->begin_ns - before->end_ns) : 0;
    if (r->s->fast_submission && gap < SHORT_GAP_NS && c->op_count && before->op_count)
        gap = 0;
    return gap + cost_of(r, call);
}

static void add_events(struct replay *r, uint32_t call)
{
    const struct weir_plan_recorded *m = r->m;

    for (uint32_t i = 0; i < m->record_count[call]; i++) {
        uint32_t index = m->record_at[m->record_first[call] + i];
        const struct weir_trace_event_record *e = &r->f->records[index];
        struct weir_plan_step *step;

        if (e->stream == WEIR_TRACE_NONE || r->s->stream_of || r->s->item_of)
            continue;
        if (r->record_step)
            r->record_step[index] = (uint32_t)r->step_count + 1;
        step = add(r, WEIR_PLAN_RECORD, event_of(r, e->event));
        step->b = e->stream;
        step->timing = !(e->flags & 2);
    }
    for (uint32_t i = 0; i < m->wait_count[call]; i++) {
        uint32_t index = m->wait_at[m->wait_first[call] + i];
        const struct weir_trace_event_wait *w = &r->f->event_waits[index];

        if (w->in_stream == WEIR_TRACE_NONE || r->s->stream_of || r->s->item_of ||
            is_set(r->s->skip_edge, index))
            continue;
        add(r, WEIR_PLAN_WAIT, event_of(r, w->event))->b = w->in_stream;
    }
}

/* A call that only submits waited: its stream had no room. */
static void add_queue_waits(struct replay *r, uint32_t call)
{
    const struct weir_plan_recorded *m = r->m;

    if (!r->f->calls[call].op_count || r->m->model_clock || r->s->no_queue_limit ||
        r->s->stream_of || r->s->item_of)
        return;
    for (uint32_t i = 0; i < m->blocked_count[call]; i++) {
        uint32_t op = r->f->waits[m->blocked_at[m->blocked_first[call] + i]].op;

        if (op != WEIR_TRACE_NONE && r->f->ops[op].kind != WEIR_TRACE_OP_RECORD &&
            r->f->ops[op].kind != WEIR_TRACE_OP_WAIT)
            add(r, WEIR_PLAN_SYNC_OP, op);
    }
}

/* What polling has waited for, when the answer is that it is complete. */
static void add_poll_wait(struct replay *r, const struct weir_trace_call *before, uint32_t call)
{
    const struct weir_trace_query *q = query_of(r, call);

    if (!q || !q->ready || !before || !is_poll(r, (uint32_t)(before - r->f->calls)))
        return;
    for (size_t i = 0; q->what == WEIR_TRACE_QUERIES_STREAM && i < r->f->streams_count; i++) {
        if (r->f->streams[i].id == q->id && !r->f->streams[i].graph_lane) {
            add_sync(r,
                     &(struct weir_trace_sync_point){.what = WEIR_TRACE_WAITS_STREAM,
                                                     .stream = (uint32_t)i},
                     call);
            return;
        }
    }
    for (size_t i = r->f->records_count; q->what == WEIR_TRACE_QUERIES_EVENT && i-- > 0;) {
        const struct weir_trace_event_record *e = &r->f->records[i];

        if (e->event == q->id && e->call < call && e->stream != WEIR_TRACE_NONE) {
            add_sync(r,
                     &(struct weir_trace_sync_point){
                         .what = WEIR_TRACE_WAITS_EVENT, .stream = e->stream, .seq = e->seq},
                     call);
            return;
        }
    }
}

static bool is_launch(const struct replay *r, uint32_t call)
{
    const struct weir_trace_call *c = &r->f->calls[call];

    return c->op_count && r->f->ops[r->f->call_ops[c->op_first]].kind == WEIR_TRACE_OP_KERNEL;
}

static void add_call(struct replay *r, const struct weir_trace_call *before, uint32_t call)
{
    const struct weir_trace_call *c = &r->f->calls[call];
    bool waits = !is_set(r->s->no_wait, call) && !is_set(r->s->free_call, call);
    uint32_t sync = 0;

    if (r->when) {
        r->call_step[call] = (uint32_t)r->step_count;
        r->when->call_begin[call] = cost_of(r, call);
    }
    add(r, WEIR_PLAN_WORK, 0)->ns = host_time(r, before, call);
    /* Waits for streams and devices come before a call's own operations, waits for those behind;
     * and a launch that waits at all waits for its kernel (CUDA_LAUNCH_BLOCKING). */
    for (; waits && !is_launch(r, call) && sync < c->sync_count; sync++) {
        if (r->f->syncs[c->sync_first + sync].what == WEIR_TRACE_WAITS_OP)
            break;
        add_sync(r, &r->f->syncs[c->sync_first + sync], call);
    }
    if (waits && !c->sync_count) {
        add_queue_waits(r, call);
        add_poll_wait(r, before, call);
    }
    for (uint32_t i = 0; i < c->op_count; i++) {
        uint32_t op = r->f->call_ops[c->op_first + i];
        unsigned kind = r->f->ops[op].kind;

        if (kind != WEIR_TRACE_OP_RECORD && kind != WEIR_TRACE_OP_WAIT)
            add(r, WEIR_PLAN_SUBMIT, op);
    }
    add_events(r, call);
    for (; waits && sync < c->sync_count; sync++)
        add_sync(r, &r->f->syncs[c->sync_first + sync], call);
    if (r->s->blocking && c->op_count)
        add(r, WEIR_PLAN_SYNC_OP, r->f->call_ops[c->op_first + c->op_count - 1]);
}

/* ---- the whole ---- */

static enum weir_op_kind model_kind(unsigned kind)
{
    static const uint8_t kinds[] = {WEIR_OP_KERNEL, WEIR_OP_COPY, WEIR_OP_MEMSET, WEIR_OP_HOST_FUNC,
                                    WEIR_OP_RECORD, WEIR_OP_WAIT, WEIR_OP_MARKER, WEIR_OP_ALLOC,
                                    WEIR_OP_FREE,   WEIR_OP_GRAPH};

    return (enum weir_op_kind)kinds[kind];
}

static void add_dep(struct replay *r, uint32_t on)
{
    if (!weir_vec_reserve_bytes((void **)&r->deps, &r->dep_cap, r->dep_count + 1, sizeof *r->deps))
        r->no_memory = true;
    else
        r->deps[r->dep_count++] = on;
}

/* What an operation follows besides streams and events: data, and its graph's last launch. */
static void make_deps(struct replay *r, uint32_t at)
{
    const struct weir_plan_data *data = r->m->data;
    const struct weir_trace_op *op = &r->f->ops[at];
    const uint32_t *item = r->s->item_of;

    r->ops[at].dep_first = (uint32_t)r->dep_count;
    if (r->s->stream_of || r->s->nonblocking || r->s->data_orders || item) {
        for (uint32_t i = 0; i < data->count[at]; i++) {
            uint32_t on = data->deps[data->first[at] + i];

            if (!item || item[on] == item[at])
                add_dep(r, on);
        }
    }
    for (uint32_t i = 0; op->kind == WEIR_TRACE_OP_GRAPH && i < op->dep_count; i++) {
        const struct weir_trace_dep *d = &r->f->deps[op->dep_first + i];

        if (d->rule == WEIR_RULE_GRAPH_ITSELF && d->op < at &&
            r->f->ops[d->op].kind == WEIR_TRACE_OP_GRAPH && !r->s->no_graph_order)
            add_dep(r, d->op);
    }
    r->ops[at].dep_count = (uint32_t)r->dep_count - r->ops[at].dep_first;
}

static void set_blocks(const struct weir_plan_machine *machine, const struct weir_trace_op *op,
                       struct weir_plan_op *out)
{
    uint64_t blocks = 1, threads = 1;

    for (int i = 0; i < 3; i++) {
        blocks *= WEIR_MIN(WEIR_MAX(op->u.kernel.grid[i], 1u), 65536u);
        threads *= WEIR_MIN(WEIR_MAX(op->u.kernel.block[i], 1u), 1024u);
    }
    out->blocks = (uint32_t)WEIR_MIN(blocks, (uint64_t)UINT32_MAX);
    out->units = weir_plan_block_units(machine, threads, op->u.kernel.shared_bytes);
}

static void make_ops(struct replay *r)
{
    uint32_t extra = (uint32_t)r->f->streams_count;

    for (uint32_t i = 0; i < r->f->ops_count; i++) {
        const struct weir_trace_op *op = &r->f->ops[i];

        r->ops[i] = (struct weir_plan_op){
            .stream = op->stream,
            .group = op->stream,
            .kind = (uint8_t)model_kind(op->kind),
            .engine = op->engine,
            .blocks = 1,
            .units = op->engine == WEIR_TRACE_ENGINE_KERNEL ? r->m->demand[i] : 0,
            .ns = (double)(r->s->op_ns ? r->s->op_ns[i] : r->m->alone_ns[i])};
        if (r->m->machine && op->kind == WEIR_TRACE_OP_KERNEL)
            set_blocks(r->m->machine, op, &r->ops[i]);
        if (r->s->stream_of)
            r->ops[i].stream = extra + r->s->stream_of[i];
        if (r->s->item_of && r->s->item_of[i] != WEIR_TRACE_NONE)
            r->ops[i].stream = r->ops[i].group = extra + r->s->item_of[i] % r->s->depth;
        make_deps(r, i);
    }
}

/* Returns how many devices there are. */
static uint32_t make_streams(struct replay *r)
{
    bool legacy[WEIR_MODEL_MAX_DEVICES] = {false};
    size_t n = r->f->streams_count;
    uint32_t devices = 1;

    for (size_t i = 0; i < n; i++) {
        const struct weir_trace_stream *s = &r->f->streams[i];
        unsigned cls = s->cls;

        /* (A second default stream of one context would take the first one's place.) */
        if (cls == WEIR_TRACE_STREAM_LEGACY && legacy[s->context])
            cls = WEIR_TRACE_STREAM_NONBLOCKING;
        if (cls == WEIR_TRACE_STREAM_LEGACY)
            legacy[s->context] = true;
        else if (r->s->nonblocking)
            cls = WEIR_TRACE_STREAM_NONBLOCKING;
        r->streams[i] = (struct weir_plan_stream){(uint8_t)cls, (int8_t)s->priority,
                                                  (uint16_t)s->context, (uint16_t)s->device};
        devices = WEIR_MAX(devices, s->device + 1);
    }
    for (uint32_t i = 0; i < r->s->extra_streams; i++)
        r->streams[n + i] = (struct weir_plan_stream){.cls = WEIR_STREAM_NONBLOCKING};
    return devices;
}

/* What a call submits that has not ended when the trace is read. (Whose it is the trace does not
 * say: its thread's calls ended before, and nothing of it came behind them.) */
static uint32_t unfinished_of(const struct replay *r, const struct weir_trace_op *op)
{
    uint32_t best = WEIR_TRACE_NONE;
    uint64_t latest = 0;

    for (uint32_t t = 0; t < r->f->threads_count; t++) {
        uint32_t n = r->m->thread_count[t];
        uint64_t end =
            n ? r->f->calls[r->m->thread_calls[r->m->thread_first[t] + n - 1]].end_ns : 0;

        if (n && end <= op->submit_ns && end >= latest) {
            best = t;
            latest = end;
        }
    }
    return best;
}

static void add_unfinished(struct replay *r, uint32_t thread)
{
    for (uint32_t i = 0; i < r->f->ops_count && r->m->model_clock; i++) {
        const struct weir_trace_op *op = &r->f->ops[i];

        if (op->call != WEIR_TRACE_NONE || op->graph != WEIR_TRACE_NONE ||
            op->kind == WEIR_TRACE_OP_RECORD || op->kind == WEIR_TRACE_OP_WAIT ||
            unfinished_of(r, op) != thread)
            continue;
        add(r, WEIR_PLAN_WORK, 0)->ns = submit_there(&r->m->machine->host, op);
        add(r, WEIR_PLAN_SUBMIT, i);
    }
}

static bool make_steps(struct replay *r)
{
    const struct weir_plan_recorded *m = r->m;

    for (uint32_t t = 0; t < r->f->threads_count; t++) {
        const struct weir_trace_call *before = NULL;

        r->threads[t].step_first = (uint32_t)r->step_count;
        for (uint32_t i = 0; i < m->thread_count[t] && !r->no_memory; i++) {
            uint32_t call = m->thread_calls[m->thread_first[t] + i];

            add_call(r, before, call);
            before = &r->f->calls[call];
        }
        r->calls_end[t] = (uint32_t)r->step_count;
        add_unfinished(r, t);
        r->threads[t].step_count = (uint32_t)(r->step_count - r->threads[t].step_first);
    }
    return !r->no_memory;
}

static void note_edge(void *context, uint32_t op, uint32_t on, unsigned rule, bool guaranteed)
{
    const struct replay *r = context;
    struct weir_plan_orders *o = r->when->orders;

    if (!weir_vec_push(o, ((struct weir_plan_order){op, on, (uint16_t)rule, guaranteed})))
        o->no_memory = true;
}

static void note_record(void *context, uint32_t step, double at)
{
    const struct replay *r = context;

    r->step_at[step] = at;
}

/* call_begin holds what each cost so far. */
static void tell_calls(const struct replay *r, const double *ends)
{
    for (size_t t = 0; t < r->f->threads_count; t++) {
        uint32_t next = r->calls_end[t];

        for (uint32_t i = r->m->thread_count[t]; i-- > 0;) {
            uint32_t call = r->m->thread_calls[r->m->thread_first[t] + i];
            double work = ends[r->call_step[call]], end = ends[next - 1];

            r->when->call_begin[call] = work < 0 ? -1 : work - r->when->call_begin[call];
            r->when->call_work[call] = work;
            r->when->call_end[call] = end;
            next = r->call_step[call];
        }
    }
}

static bool run(struct replay *r, const struct weir_plan_program *p,
                const struct weir_plan_device *device, struct weir_plan_result *result)
{
    const struct weir_model_memory memory = {weir_alloc_for, weir_free_for, NULL};
    double *ends;
    bool ok;

    if (!r->when)
        return weir_plan_run(p, device, &memory, NULL, NULL, result);
    if (r->record_step && !(r->step_at = weir_alloc((r->step_count + 1) * sizeof *r->step_at)))
        return false;
    for (size_t i = 0; r->record_step && i < r->step_count; i++)
        r->step_at[i] = -1;
    ends = weir_alloc((r->step_count + 1) * sizeof *ends);
    ok = ends && weir_plan_run(p, device, &memory, r->when->ops, ends, result);
    if (ok)
        tell_calls(r, ends);
    for (size_t i = 0; ok && r->record_step && i < r->f->records_count; i++)
        r->when->records[i] = r->record_step[i] ? r->step_at[r->record_step[i] - 1] : -1;
    weir_free(ends);
    return ok;
}

static bool simulate(struct replay *r, struct weir_plan_outcome *out)
{
    struct weir_plan_device device = {.units = r->m->slots, .share = true, .copy_engines = 2};
    struct weir_plan_program p = {
        .streams = r->streams,
        .ops = r->ops,
        .threads = r->threads,
        .stream_count = (uint32_t)r->f->streams_count + r->s->extra_streams,
        .op_count = (uint32_t)r->f->ops_count,
        .thread_count = (uint32_t)r->f->threads_count,
        .group_count = (uint32_t)r->f->streams_count + r->s->extra_streams};
    struct weir_plan_result result;

    if (r->m->machine)
        device = r->m->machine->device;
    if (r->m->model_clock && !r->s->no_queue_limit && !r->s->stream_of && !r->s->item_of)
        device.queue_depth = WEIR_MODEL_QUEUE_DEPTH;
    for (int k = 0; k < 2; k++)
        device.free_copies[k] = r->s->no_copy_limit[k];
    if (!r->m->machine || r->s->hw_queues)
        device.hw_queues = r->s->hw_queues;
    p.device_count = make_streams(r);
    make_ops(r);
    if (!make_steps(r))
        return false;
    p.deps = r->deps;
    p.dep_count = (uint32_t)r->dep_count;
    p.steps = r->steps;
    p.step_count = (uint32_t)r->step_count;
    p.event_count = r->event_count;
    p.tell_edge = r->when && r->when->orders ? note_edge : NULL;
    p.tell_record = r->record_step ? note_record : NULL;
    p.tell_context = r;
    if (!run(r, &p, &device, &result))
        return false;
    out->length_ns = weir_plan_ns(result.end - result.begin);
    for (int e = 0; e < WEIR_TRACE_ENGINE_COUNT; e++)
        out->busy_ns[e] = weir_plan_ns(result.busy[e]);
    out->idle_host_ns = weir_plan_ns(result.idle_host);
    return true;
}

bool weir_plan_recorded_times(const struct weir_plan_recorded *m,
                              const struct weir_plan_scenario *s, struct weir_plan_outcome *out,
                              const struct weir_plan_moments *when)
{
    struct replay r = {.m = m, .s = s, .f = m->file, .when = when};
    bool ok;

    *out = (struct weir_plan_outcome){0};
    r.streams = weir_calloc(r.f->streams_count + s->extra_streams + 1, sizeof *r.streams);
    r.ops = weir_calloc(r.f->ops_count + 1, sizeof *r.ops);
    r.threads = weir_calloc(r.f->threads_count + 1, sizeof *r.threads);
    r.calls_end = weir_calloc(r.f->threads_count + 1, sizeof *r.calls_end);
    ok = r.streams && r.ops && r.threads && r.calls_end;
    if (when) {
        r.call_step = weir_calloc(r.f->calls_count + 1, sizeof *r.call_step);
        ok = ok && r.call_step;
    }
    if (when && when->records) {
        r.record_step = weir_calloc(r.f->records_count + 1, sizeof *r.record_step);
        ok = ok && r.record_step;
    }
    ok = ok && simulate(&r, out);
    weir_free(r.call_step);
    weir_free(r.record_step);
    weir_free(r.step_at);
    weir_free(r.streams);
    weir_free(r.ops);
    weir_free(r.threads);
    weir_free(r.calls_end);
    weir_free(r.deps);
    weir_free(r.steps);
    weir_map_finish(&r.event_numbers);
    return ok;
}

bool weir_plan_recorded_run(const struct weir_plan_recorded *m, const struct weir_plan_scenario *s,
                            struct weir_plan_outcome *out)
{
    return weir_plan_recorded_times(m, s, out, NULL);
}
