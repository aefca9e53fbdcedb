/* The simulator (sim.h). Time goes from event to event: a host thread goes on, or an engine is
 * done.
 * SPDX-License-Identifier: Apache-2.0 */
#include "advise/sim.h"

#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/vec.h"
#include "model/model.h"

#define POINTS_MAX      64
#define DEPS_MAX        64
#define SHORT_GAP_NS    20000 /* host time between two calls of one sequence */
#define NEVER           1e300
#define MODEL_DEVICES   WEIR_MODEL_MAX_DEVICES
#define EVENTS_PER_STEP 64

/* ---- what runs ---- */

struct sim_op {
    struct weir_model_op m;
    uint32_t op;         /* in the file; NONE: a record or wait */
    struct sim_op *next; /* in an engine's queue, or among those that were freed */
    double left;         /* kernels: time alone that is left */
    double end;          /* other engines: when it is done */
    bool done;
};

struct sim_engine {
    struct sim_op *first, **last, *running;
    uint32_t active;
};

struct sim_device {
    struct sim_engine engines[WEIR_TRACE_ENGINE_COUNT];
    struct sim_op *kernels; /* running */
    uint64_t demand;
};

enum condition { RUNS, ENDED, WAITS_POINTS, WAITS_PENDING, WAITS_ALL, WAITS_OP };

struct sim_thread {
    double time; /* when its next call does its work */
    uint32_t at; /* in the thread's calls */
    uint32_t step, sync;
    enum condition state;
    struct weir_model_point points[POINTS_MAX];
    size_t point_count;
    uint32_t stream, op;
};

struct sim {
    const struct weir_advise_model *m;
    const struct weir_advise_scenario *s;
    const struct weir_trace_file *f;
    struct weir_model model;
    struct weir_model_stream *streams; /* the file's, then the scenario's */
    struct sim_op *ops;                /* one an operation of the file */
    struct sim_op *spare;              /* for records and waits */
    struct sim_op **chunks;
    size_t chunk_count, chunk_cap;
    struct weir_map event_numbers;
    struct weir_model_event *events;
    size_t event_count, event_cap;
    uint32_t *event_streams;
    size_t event_stream_cap;
    struct sim_device *devices;
    uint32_t device_count;
    struct sim_thread *threads;
    uint32_t *pending; /* by stream of the file: submitted, not done */
    uint32_t pending_all;
    double now, begin, end;
    double busy[WEIR_TRACE_ENGINE_COUNT], idle_host;
    bool no_memory, began;
};

static struct sim_op *take_spare(struct sim *sim)
{
    struct sim_op *op = sim->spare;

    if (!op) {
        struct sim_op *chunk = weir_calloc(256, sizeof *chunk);

        if (!chunk || !weir_vec_reserve_bytes((void **)&sim->chunks, &sim->chunk_cap,
                                              sim->chunk_count + 1, sizeof *sim->chunks)) {
            weir_free(chunk);
            sim->no_memory = true;
            return NULL;
        }
        sim->chunks[sim->chunk_count++] = chunk;
        for (int i = 0; i < 256; i++) {
            chunk[i].next = sim->spare;
            sim->spare = &chunk[i];
        }
        op = sim->spare;
    }
    sim->spare = op->next;
    op->op = WEIR_TRACE_NONE;
    return op;
}

/* ---- engines ---- */

static struct sim_device *device_of(struct sim *sim, const struct sim_op *op)
{
    return &sim->devices[sim->f->streams[sim->f->ops[op->op].stream].device];
}

static double length_of(const struct sim *sim, uint32_t op)
{
    return (double)(sim->s->op_ns ? sim->s->op_ns[op] : sim->m->alone_ns[op]);
}

static bool has_limit(const struct sim *sim, unsigned engine)
{
    if (engine == WEIR_TRACE_ENGINE_H2D)
        return !sim->s->no_copy_limit[0];
    return engine != WEIR_TRACE_ENGINE_D2H || !sim->s->no_copy_limit[1];
}

static void start_next(struct sim *sim, struct sim_engine *e)
{
    if (e->running || !e->first)
        return;
    e->running = e->first;
    e->first = e->running->next;
    if (!e->first)
        e->last = &e->first;
    e->running->next = NULL;
    e->running->end = sim->now + length_of(sim, e->running->op);
    e->active++;
}

static void enqueue(struct sim *sim, struct sim_op *op)
{
    struct sim_device *d = device_of(sim, op);
    unsigned engine = sim->f->ops[op->op].engine;
    struct sim_engine *e = &d->engines[engine];

    op->next = NULL;
    if (engine == WEIR_TRACE_ENGINE_KERNEL) {
        op->left = length_of(sim, op->op);
        op->next = d->kernels;
        d->kernels = op;
        d->demand += sim->m->demand[op->op];
        e->active++;
        return;
    }
    if (!has_limit(sim, engine)) { /* runs at once, beside others: in the list of kernels, alone */
        op->left = length_of(sim, op->op);
        op->next = d->kernels;
        d->kernels = op;
        e->active++;
        return;
    }
    *e->last = op;
    e->last = &op->next;
    start_next(sim, e);
}

static double rate_of(const struct sim *sim, const struct sim_device *d, const struct sim_op *op)
{
    if (sim->f->ops[op->op].engine != WEIR_TRACE_ENGINE_KERNEL || d->demand <= sim->m->slots)
        return 1;
    return (double)sim->m->slots / (double)d->demand;
}

/* ---- messages of the model ---- */

static void complete(struct sim *sim, struct sim_op *op, struct weir_model_out *out)
{
    weir_model_complete(&op->m, out);
    if (op->op == WEIR_TRACE_NONE) {
        op->next = sim->spare;
        sim->spare = op;
        return;
    }
    op->done = true;
    sim->pending[sim->f->ops[op->op].stream]--;
    sim->pending_all--;
    sim->end = sim->now;
}

static struct sim_op *pop(struct weir_model_op **first, struct weir_model_op ***tail)
{
    struct weir_model_op *op = *first;

    *first = op->out_next;
    if (!*first)
        *tail = first;
    return (struct sim_op *)op;
}

static void pump(struct sim *sim, struct weir_model_out *out)
{
    for (;;) {
        struct sim_op *op;

        if (out->ready) {
            op = pop(&out->ready, &out->ready_tail);
            if (op->op == WEIR_TRACE_NONE || sim->f->ops[op->op].engine == WEIR_TRACE_ENGINE_NONE)
                complete(sim, op, out);
            else
                enqueue(sim, op);
        } else if (out->notified) {
            weir_model_resume(&pop(&out->notified, &out->notified_tail)->m, out);
        } else if (out->blocked) {
            op = pop(&out->blocked, &out->blocked_tail);
            if (!weir_model_subscribe(&op->m))
                weir_model_resume(&op->m, out);
        } else {
            return;
        }
    }
}

/* ---- what the host does ---- */

static struct weir_model_stream *stream_of(struct sim *sim, uint32_t op)
{
    if (sim->s->stream_of)
        return &sim->streams[sim->f->streams_count + sim->s->stream_of[op]];
    return &sim->streams[sim->f->ops[op].stream];
}

static enum weir_op_kind model_kind(unsigned kind)
{
    static const uint8_t kinds[] = {WEIR_OP_KERNEL, WEIR_OP_COPY, WEIR_OP_MEMSET, WEIR_OP_HOST_FUNC,
                                    WEIR_OP_RECORD, WEIR_OP_WAIT, WEIR_OP_MARKER, WEIR_OP_ALLOC,
                                    WEIR_OP_FREE,   WEIR_OP_GRAPH};

    return (enum weir_op_kind)kinds[kind];
}

static void submit(struct sim *sim, uint32_t op)
{
    const struct weir_advise_data *data = sim->m->data;
    bool by_data = sim->s->stream_of || sim->s->nonblocking || sim->s->data_orders;
    struct weir_model_dep deps[DEPS_MAX];
    struct weir_model_out out;
    struct sim_op *so = &sim->ops[op];
    size_t n = 0;

    for (uint32_t i = 0; by_data && i < data->count[op] && n < DEPS_MAX; i++) {
        const struct sim_op *on = &sim->ops[data->deps[data->first[op] + i]];

        if (on->m.stream && !on->done)
            deps[n++] = (struct weir_model_dep){{on->m.stream, on->m.seq}, WEIR_GUARANTEED, 0};
    }
    so->op = op;
    so->m.kind = (uint8_t)model_kind(sim->f->ops[op].kind);
    weir_model_out_init(&out);
    if (weir_model_submit_after(stream_of(sim, op), &so->m, deps, n, &out) != WEIR_MODEL_OK) {
        sim->no_memory = true;
        return;
    }
    sim->pending[sim->f->ops[op].stream]++;
    sim->pending_all++;
    pump(sim, &out);
}

static struct weir_model_event *event_of(struct sim *sim, uint64_t id, uint32_t **stream)
{
    uintptr_t n = (uintptr_t)weir_map_get(&sim->event_numbers, id + 1);

    if (!n) {
        if (!weir_vec_reserve_bytes((void **)&sim->events, &sim->event_cap, sim->event_count + 1,
                                    sizeof *sim->events) ||
            !weir_vec_reserve_bytes((void **)&sim->event_streams, &sim->event_stream_cap,
                                    sim->event_count + 1, sizeof *sim->event_streams) ||
            !weir_map_put(&sim->event_numbers, id + 1, (void *)(sim->event_count + 1))) {
            sim->no_memory = true;
            return NULL;
        }
        sim->events[sim->event_count] = (struct weir_model_event){0};
        sim->event_streams[sim->event_count] = WEIR_TRACE_NONE;
        n = ++sim->event_count;
    }
    *stream = &sim->event_streams[n - 1];
    return &sim->events[n - 1];
}

static void record(struct sim *sim, const struct weir_trace_event_record *r)
{
    uint32_t *in;
    struct weir_model_event *e = event_of(sim, r->event, &in);
    struct weir_model_stream *s;
    struct weir_model_out out;
    struct sim_op *op = NULL;

    if (!e || r->stream == WEIR_TRACE_NONE || sim->s->stream_of)
        return;
    s = &sim->streams[r->stream];
    *in = r->stream;
    if (!(r->flags & 2) || weir_model_record_needs_op(s))
        op = take_spare(sim);
    weir_model_out_init(&out);
    if (weir_model_record(e, s, op ? &op->m : NULL, &out) != WEIR_MODEL_OK)
        sim->no_memory = true;
    else
        pump(sim, &out);
}

static void wait_event(struct sim *sim, uint32_t index)
{
    const struct weir_trace_event_wait *w = &sim->f->event_waits[index];
    struct weir_model_event *e;
    struct weir_model_stream *s;
    struct weir_model_dep dep;
    struct weir_model_out out;
    struct sim_op *op;
    bool needed;
    uint32_t *in;

    if (w->in_stream == WEIR_TRACE_NONE || sim->s->stream_of ||
        (sim->s->skip_edge && sim->s->skip_edge[index]))
        return;
    e = event_of(sim, w->event, &in);
    s = &sim->streams[w->in_stream];
    if (!e)
        return;
    needed = weir_model_event_wait_dep(e, s, &dep);
    if (!needed && !weir_model_wait_needs_op(s))
        return;
    op = take_spare(sim);
    if (!op)
        return;
    op->m.kind = WEIR_OP_WAIT;
    weir_model_out_init(&out);
    if (weir_model_submit_after(s, &op->m, &dep, needed, &out) != WEIR_MODEL_OK)
        sim->no_memory = true;
    else
        pump(sim, &out);
}

static bool may_go_on(const struct sim *sim, struct sim_thread *t)
{
    switch (t->state) {
    case WAITS_POINTS:
        while (t->point_count && weir_model_point_holds(&t->points[t->point_count - 1]))
            t->point_count--;
        return t->point_count == 0;
    case WAITS_PENDING:
        return sim->pending[t->stream] == 0;
    case WAITS_ALL:
        return sim->pending_all == 0;
    case WAITS_OP:
        return sim->ops[t->op].done;
    default:
        return true;
    }
}

/* An event's record stands for its stream up to there. Numbers of the file are not those of the
 * simulation, where other records and waits are needed: the last operation that both have counts,
 * unless a wait is behind it; then all of the stream so far. */
static size_t event_target(struct sim *sim, struct sim_thread *t,
                           const struct weir_trace_sync_point *y)
{
    const struct weir_trace_stream *s = &sim->f->streams[y->stream];
    struct weir_model_stream *m = &sim->streams[y->stream];
    uint32_t low = s->op_first, high = low + s->op_count;
    bool waits = false;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;

        if (sim->f->ops[sim->f->stream_ops[mid]].seq <= y->seq)
            low = mid + 1;
        else
            high = mid;
    }
    for (; low > s->op_first; low--) {
        const struct sim_op *op = &sim->ops[sim->f->stream_ops[low - 1]];

        waits = waits || sim->f->ops[sim->f->stream_ops[low - 1]].kind == WEIR_TRACE_OP_WAIT;
        if (!op->m.stream)
            continue;
        t->points[0] = (struct weir_model_point){
            m, waits ? atomic_load_explicit(&m->last, memory_order_relaxed) : op->m.seq};
        return 1;
    }
    return 0;
}

/* What a synchronising call waits for, from now on. */
static void begin_wait(struct sim *sim, struct sim_thread *t, const struct weir_trace_sync_point *y,
                       const struct weir_trace_call *c)
{
    size_t n = 0;

    t->state = WAITS_POINTS;
    t->point_count = 0;
    if (y->what == WEIR_TRACE_WAITS_OP && c->op_count) {
        t->state = WAITS_OP;
        t->op = sim->f->call_ops[c->op_first + c->op_count - 1];
        if (!sim->ops[t->op].m.stream)
            t->state = RUNS;
        return;
    }
    if (sim->s->stream_of) {
        t->state = y->stream == WEIR_TRACE_NONE ? WAITS_ALL : WAITS_PENDING;
        t->stream = y->stream;
        return;
    }
    if (y->what == WEIR_TRACE_WAITS_DEVICE && y->context < MODEL_DEVICES)
        n = weir_model_device_targets(&sim->model, (int)y->context, t->points, POINTS_MAX);
    else if (y->what == WEIR_TRACE_WAITS_STREAM && y->stream != WEIR_TRACE_NONE)
        n = weir_model_stream_targets(&sim->streams[y->stream], t->points, POINTS_MAX);
    else if (y->stream != WEIR_TRACE_NONE)
        n = event_target(sim, t, y);
    t->point_count = WEIR_MIN(n, (size_t)POINTS_MAX);
    if (n > POINTS_MAX)
        t->state = WAITS_ALL;
}

/* ---- calls ---- */

static bool is_set(const bool *array, uint32_t i)
{
    return array && array[i];
}

static double cost_of(const struct sim *sim, uint32_t call)
{
    const struct weir_trace_call *c = &sim->f->calls[call];
    uint64_t whole = c->end_ns - c->begin_ns;

    if (is_set(sim->s->free_call, call) || (sim->s->fast_submission && c->op_count))
        return 0;
    return (double)(whole - WEIR_MIN(c->waited_ns, whole));
}

static uint32_t call_at(const struct sim *sim, size_t thread, uint32_t at)
{
    return sim->m->thread_calls[sim->m->thread_first[thread] + at];
}

/* The thread goes from the end of one call to the work of its next. */
static void next_call(struct sim *sim, size_t thread)
{
    struct sim_thread *t = &sim->threads[thread];
    const struct weir_trace_call *before, *c;
    double gap;

    t->at++;
    t->step = t->sync = 0;
    if (t->at >= sim->m->thread_count[thread]) {
        t->state = ENDED;
        sim->end = WEIR_MAX(sim->end, sim->now);
        return;
    }
    before = &sim->f->calls[call_at(sim, thread, t->at - 1)];
    c = &sim->f->calls[call_at(sim, thread, t->at)];
    gap = c->begin_ns > before->end_ns ? (double)(c->begin_ns - before->end_ns) : 0;
    if (sim->s->fast_submission && gap < SHORT_GAP_NS && c->op_count && before->op_count)
        gap = 0;
    t->state = RUNS;
    t->time = sim->now + gap + cost_of(sim, call_at(sim, thread, t->at));
}

/* Does what the call does, step by step; stops where it has to wait. */
static void run_call(struct sim *sim, size_t thread)
{
    struct sim_thread *t = &sim->threads[thread];
    uint32_t call = call_at(sim, thread, t->at);
    const struct weir_trace_call *c = &sim->f->calls[call];
    const struct weir_advise_model *m = sim->m;
    bool waits = !is_set(sim->s->no_wait, call) && !is_set(sim->s->free_call, call);

    /* Waits for streams and devices come before a call's own operations, waits for those behind. */
    for (; waits && t->sync < c->sync_count; t->sync++) {
        const struct weir_trace_sync_point *y = &sim->f->syncs[c->sync_first + t->sync];

        if (y->what == WEIR_TRACE_WAITS_OP && t->step == 0)
            break;
        begin_wait(sim, t, y, c);
        if (!may_go_on(sim, t)) {
            t->sync++;
            return;
        }
        t->state = RUNS;
    }
    if (t->step == 0) {
        t->step = 1;
        if (c->op_count && !sim->began) {
            sim->began = true;
            sim->begin = sim->now;
        }
        for (uint32_t i = 0; i < c->op_count; i++) {
            uint32_t op = sim->f->call_ops[c->op_first + i];
            unsigned kind = sim->f->ops[op].kind;

            if (kind != WEIR_TRACE_OP_RECORD && kind != WEIR_TRACE_OP_WAIT)
                submit(sim, op);
        }
        for (uint32_t i = 0; i < m->record_count[call]; i++)
            record(sim, &sim->f->records[m->record_at[m->record_first[call] + i]]);
        for (uint32_t i = 0; i < m->wait_count[call]; i++)
            wait_event(sim, m->wait_at[m->wait_first[call] + i]);
        if (waits && t->sync < c->sync_count) {
            run_call(sim, thread);
            return;
        }
    }
    next_call(sim, thread);
}

/* ---- time ---- */

/* The earliest end on any engine; NEVER when nothing runs. */
static double next_end(struct sim *sim)
{
    double at = NEVER;

    for (uint32_t i = 0; i < sim->device_count; i++) {
        struct sim_device *d = &sim->devices[i];

        for (int e = 0; e < WEIR_TRACE_ENGINE_COUNT; e++) {
            if (d->engines[e].running)
                at = WEIR_MIN(at, d->engines[e].running->end);
        }
        for (struct sim_op *op = d->kernels; op; op = op->next)
            at = WEIR_MIN(at, sim->now + op->left / rate_of(sim, d, op));
    }
    return at;
}

static void advance(struct sim *sim, double to)
{
    double dt = to - sim->now;
    bool any = false, active[WEIR_TRACE_ENGINE_COUNT] = {false};

    for (uint32_t i = 0; i < sim->device_count; i++) {
        struct sim_device *d = &sim->devices[i];

        for (int e = 0; e < WEIR_TRACE_ENGINE_COUNT; e++)
            active[e] = active[e] || d->engines[e].active;
        for (struct sim_op *op = d->kernels; op; op = op->next)
            op->left -= dt * rate_of(sim, d, op);
    }
    for (int e = 0; e < WEIR_TRACE_ENGINE_COUNT; e++) {
        any = any || active[e];
        if (active[e])
            sim->busy[e] += dt;
    }
    if (!any && sim->began && !sim->pending_all)
        sim->idle_host += dt;
    sim->now = to;
}

static void finish_ended(struct sim *sim)
{
    struct weir_model_out out;

    for (uint32_t i = 0; i < sim->device_count; i++) {
        struct sim_device *d = &sim->devices[i];

        for (struct sim_op **link = &d->kernels, *op; (op = *link) != NULL;) {
            unsigned engine = sim->f->ops[op->op].engine;

            /* (In a damaged trace times are so large that what is left no longer adds to them.) */
            if (op->left > 0.5 && sim->now + op->left / rate_of(sim, d, op) > sim->now) {
                link = &op->next;
                continue;
            }
            *link = op->next;
            d->engines[engine].active--;
            if (engine == WEIR_TRACE_ENGINE_KERNEL)
                d->demand -= sim->m->demand[op->op];
            weir_model_out_init(&out);
            complete(sim, op, &out);
            pump(sim, &out);
            link = &d->kernels; /* others may have come in front */
        }
        for (int e = 0; e < WEIR_TRACE_ENGINE_COUNT; e++) {
            struct sim_op *op = d->engines[e].running;

            if (!op || op->end > sim->now + 0.5)
                continue;
            d->engines[e].running = NULL;
            d->engines[e].active--;
            start_next(sim, &d->engines[e]);
            weir_model_out_init(&out);
            complete(sim, op, &out);
            pump(sim, &out);
        }
    }
}

static void wake_threads(struct sim *sim)
{
    for (size_t i = 0; i < sim->f->threads_count; i++) {
        struct sim_thread *t = &sim->threads[i];

        if (t->state > ENDED && may_go_on(sim, t)) {
            t->state = RUNS;
            t->time = sim->now;
        }
    }
}

static void run(struct sim *sim)
{
    while (!sim->no_memory) {
        double at = next_end(sim);
        size_t thread = SIZE_MAX;

        for (size_t i = 0; i < sim->f->threads_count; i++) {
            if (sim->threads[i].state == RUNS && sim->threads[i].time <= at) {
                at = sim->threads[i].time;
                thread = i;
            }
        }
        if (at >= NEVER)
            return; /* all done, or what is left waits for ever */
        advance(sim, WEIR_MAX(at, sim->now));
        if (thread != SIZE_MAX)
            run_call(sim, thread);
        else
            finish_ended(sim);
        wake_threads(sim);
    }
}

/* ---- beginning and end ---- */

static void init_streams(struct sim *sim)
{
    const struct weir_model_memory memory = {weir_alloc_for, weir_free_for, NULL};
    size_t n = sim->f->streams_count;

    weir_model_init(&sim->model, MODEL_DEVICES, &memory);
    for (int legacy = 1; legacy >= 0; legacy--) {
        for (size_t i = 0; i < n; i++) {
            const struct weir_trace_stream *s = &sim->f->streams[i];
            unsigned cls = s->cls;

            if ((cls == WEIR_TRACE_STREAM_LEGACY) != (legacy == 1))
                continue;
            /* (A second default stream of one context would take the first one's place.) */
            if (cls == WEIR_TRACE_STREAM_LEGACY && sim->model.devices[s->context].legacy)
                cls = WEIR_TRACE_STREAM_NONBLOCKING;
            if (sim->s->nonblocking && cls != WEIR_TRACE_STREAM_LEGACY)
                cls = WEIR_TRACE_STREAM_NONBLOCKING;
            weir_model_stream_init(&sim->model, &sim->streams[i], (int)s->context,
                                   (enum weir_stream_class)cls, s->priority);
        }
    }
    for (uint32_t i = 0; i < sim->s->extra_streams; i++)
        weir_model_stream_init(&sim->model, &sim->streams[n + i], 0, WEIR_STREAM_NONBLOCKING, 0);
}

static bool init(struct sim *sim)
{
    const struct weir_trace_file *f = sim->f;

    sim->device_count = 1;
    for (size_t i = 0; i < f->streams_count; i++)
        sim->device_count = WEIR_MAX(sim->device_count, f->streams[i].device + 1);
    sim->streams = weir_calloc(f->streams_count + sim->s->extra_streams + 1, sizeof *sim->streams);
    sim->ops = weir_calloc(f->ops_count + 1, sizeof *sim->ops);
    sim->threads = weir_calloc(f->threads_count + 1, sizeof *sim->threads);
    sim->pending = weir_calloc(f->streams_count + 1, sizeof *sim->pending);
    sim->devices = weir_calloc(sim->device_count, sizeof *sim->devices);
    if (!sim->streams || !sim->ops || !sim->threads || !sim->pending || !sim->devices)
        return false;
    for (uint32_t i = 0; i < sim->device_count; i++) {
        for (int e = 0; e < WEIR_TRACE_ENGINE_COUNT; e++)
            sim->devices[i].engines[e].last = &sim->devices[i].engines[e].first;
    }
    init_streams(sim);
    for (size_t i = 0; i < f->threads_count; i++) {
        struct sim_thread *t = &sim->threads[i];
        const struct weir_trace_call *c;

        t->state = sim->m->thread_count[i] ? RUNS : ENDED;
        if (t->state == ENDED)
            continue;
        c = &f->calls[call_at(sim, i, 0)];
        t->time = (double)(c->begin_ns - f->begin_ns) + cost_of(sim, call_at(sim, i, 0));
    }
    return true;
}

/* Edges of operations that never became complete are the model's memory. */
static void free_edges(struct sim *sim)
{
    for (size_t i = 0; sim->ops && i < sim->f->ops_count; i++) {
        struct weir_model_op *op = &sim->ops[i].m;

        if (op->stream && op->state != WEIR_OP_COMPLETE && op->deps != op->dep_inline)
            weir_free(op->deps);
    }
}

static void finish(struct sim *sim)
{
    free_edges(sim);
    for (size_t i = 0; i < sim->chunk_count; i++) {
        for (int k = 0; k < 256; k++) {
            struct weir_model_op *op = &sim->chunks[i][k].m;

            if (op->stream && op->state != WEIR_OP_COMPLETE && op->deps != op->dep_inline)
                weir_free(op->deps);
        }
        weir_free(sim->chunks[i]);
    }
    weir_free(sim->chunks);
    weir_map_finish(&sim->event_numbers);
    weir_free(sim->events);
    weir_free(sim->event_streams);
    weir_free(sim->streams);
    weir_free(sim->ops);
    weir_free(sim->threads);
    weir_free(sim->pending);
    weir_free(sim->devices);
}

bool weir_advise_run(const struct weir_advise_model *m, const struct weir_advise_scenario *s,
                     struct weir_advise_result *out)
{
    struct sim *sim = weir_calloc(1, sizeof *sim);
    bool ok = sim != NULL;

    *out = (struct weir_advise_result){0};
    if (!ok)
        return false;
    sim->m = m;
    sim->s = s;
    sim->f = m->file;
    ok = init(sim);
    if (ok)
        run(sim);
    ok = ok && !sim->no_memory;
    out->length_ns = weir_advise_ns(sim->end - sim->begin);
    for (int e = 0; e < WEIR_TRACE_ENGINE_COUNT; e++)
        out->busy_ns[e] = weir_advise_ns(sim->busy[e]);
    out->idle_host_ns = weir_advise_ns(sim->idle_host);
    finish(sim);
    weir_free(sim);
    return ok;
}
