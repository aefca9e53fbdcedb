/* The simulator (sim.h): host threads and the model's messages. Time goes from event to event: a
 * host thread goes on, an operation arrives, or an engine is done.
 * SPDX-License-Identifier: Apache-2.0 */
#include "plan/sim.h"

#include "model/limits.h"
#include "plan/sim_int.h"

#define DEPS_MAX 64

/* Zeroed. NULL when count is 0, too. */
static void *take(struct weir_plan_sim *sim, size_t count, size_t size)
{
    unsigned char *p;

    if (!count || sim->no_memory)
        return NULL;
    p = count > SIZE_MAX / size ? NULL : sim->memory.alloc(sim->memory.ctx, count * size);
    if (!p) {
        sim->no_memory = true;
        return NULL;
    }
    for (volatile unsigned char *q = p; q < p + count * size; q++)
        *q = 0;
    return p;
}

/* ---- messages of the model ---- */

static double gap_before(const struct weir_plan_sim *sim, const struct weir_plan_sim_op *op)
{
    if (sim->cause == WEIR_PLAN_NONE)
        return 0;
    return sim->p->ops[sim->cause].engine == weir_plan_op_of(sim, op)->engine ? sim->d->same_ns
                                                                              : sim->d->handover_ns;
}

/* A copy behind the one that has just ended in its stream, on the same engine. */
static bool goes_on(const struct weir_plan_sim *sim, const struct weir_plan_sim_op *op)
{
    const struct weir_plan_op *o = weir_plan_op_of(sim, op);

    return sim->cause != WEIR_PLAN_NONE &&
           (o->engine == WEIR_PLAN_H2D || o->engine == WEIR_PLAN_D2H) &&
           sim->p->ops[sim->cause].engine == o->engine &&
           sim->p->ops[sim->cause].stream == o->stream;
}

/* Ready by order: it comes to its engine when the device has noticed. */
static void make_ready(struct weir_plan_sim *sim, struct weir_plan_sim_op *op)
{
    struct weir_plan_sim_op **link = &sim->arrivals;
    double launched = op->submit + sim->d->launch_ns;

    op->cause = sim->cause;
    if (sim->d->sticky && goes_on(sim, op)) {
        weir_plan_engine_arrive(sim, op, true);
        return;
    }
    op->at = sim->now + gap_before(sim, op);
    if (op->at < launched) {
        op->at = launched;
        op->cause = WEIR_PLAN_NONE;
    }
    if (op->at <= sim->now) {
        weir_plan_engine_arrive(sim, op, false);
        return;
    }
    while (*link && (*link)->at <= op->at)
        link = &(*link)->next;
    op->next = *link;
    *link = op;
}

static void complete(struct weir_plan_sim *sim, struct weir_plan_sim_op *op,
                     struct weir_model_out *out)
{
    weir_model_complete(&op->m, out);
    if (op->op == WEIR_PLAN_NONE) {
        /* (A device notices a record as late as any operation.) */
        if (op->step != WEIR_PLAN_NONE && sim->p->tell_record)
            sim->p->tell_record(sim->p->tell_context, op->step,
                                sim->now > op->submit + sim->d->launch_ns
                                    ? sim->now
                                    : op->submit + sim->d->launch_ns);
        return;
    }
    op->done = true;
    sim->pending[weir_plan_op_of(sim, op)->group]--;
    sim->pending_all--;
    sim->end = sim->now;
    sim->last_done = op->op;
    if (sim->times) {
        struct weir_plan_time *t = &sim->times[op->op];

        t->end = sim->now;
        if (!op->running)
            t->ready = t->start = sim->now;
    }
    if (op->running)
        sim->ops_end = sim->now;
}

static struct weir_plan_sim_op *pop(struct weir_model_op **first, struct weir_model_op ***tail)
{
    struct weir_model_op *op = *first;

    *first = op->out_next;
    if (!*first)
        *tail = first;
    return (struct weir_plan_sim_op *)op;
}

static void pump(struct weir_plan_sim *sim, struct weir_model_out *out)
{
    for (;;) {
        struct weir_plan_sim_op *op;

        if (out->ready) {
            op = pop(&out->ready, &out->ready_tail);
            if (op->op == WEIR_PLAN_NONE || weir_plan_op_of(sim, op)->engine >= WEIR_PLAN_NO_ENGINE)
                complete(sim, op, out);
            else
                make_ready(sim, op);
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

/* The program's operation at a point, or NONE: a record or wait. */
static uint32_t op_at(const struct weir_plan_sim *sim, const struct weir_model_point *point)
{
    const struct weir_plan_sim_op *op = sim->newest[point->stream - sim->streams];

    while (op && op->m.seq > point->seq)
        op = op->before;
    return op && op->m.seq == point->seq ? op->op : WEIR_PLAN_NONE;
}

/* Before anything of it is over. */
static void tell_edges(struct weir_plan_sim *sim, struct weir_plan_sim_op *op)
{
    for (size_t i = 0; i < op->m.dep_count; i++) {
        const struct weir_model_dep *d = &op->m.deps[i];
        uint32_t on = op_at(sim, &d->point);

        if (on != WEIR_PLAN_NONE && d->rule)
            sim->p->tell_edge(sim->p->tell_context, op->op, on, d->rule,
                              d->strength == WEIR_GUARANTEED);
    }
    op->before = sim->newest[op->m.stream - sim->streams];
    sim->newest[op->m.stream - sim->streams] = op;
}

static void submit(struct weir_plan_sim *sim, const struct weir_plan_sim_thread *t, uint32_t index)
{
    const struct weir_plan_op *o = &sim->p->ops[index];
    struct weir_plan_sim_op *op = &sim->ops[index];
    struct weir_model_dep deps[DEPS_MAX];
    struct weir_model_out out;
    size_t n = 0;

    for (uint32_t i = 0; i < o->dep_count && n < DEPS_MAX; i++) {
        const struct weir_plan_sim_op *on = &sim->ops[sim->p->deps[o->dep_first + i]];

        if (on->m.stream && !on->done)
            deps[n++] = (struct weir_model_dep){{on->m.stream, on->m.seq}, WEIR_GUARANTEED, 0};
    }
    op->op = index;
    op->submit = sim->now;
    op->m.kind = o->kind;
    if (!sim->began) {
        sim->began = true;
        sim->begin = sim->now;
    }
    if (sim->times) {
        sim->times[index].submit = sim->now;
        sim->times[index].why_op = t->released_by;
    }
    weir_model_out_init(&out);
    if (weir_model_submit_after(&sim->streams[o->stream], &op->m, deps, n, &out) != WEIR_MODEL_OK) {
        sim->no_memory = true;
        return;
    }
    sim->pending[o->group]++;
    sim->pending_all++;
    weir_plan_engine_submitted(sim, op);
    if (sim->newest)
        tell_edges(sim, op);
    sim->cause = WEIR_PLAN_NONE;
    pump(sim, &out);
}

static struct weir_plan_sim_op *take_spare(struct weir_plan_sim *sim)
{
    struct weir_plan_sim_op *op = &sim->spare[sim->spare_used++];

    op->op = op->step = WEIR_PLAN_NONE;
    return op;
}

static void record(struct weir_plan_sim *sim, uint32_t index)
{
    const struct weir_plan_step *step = &sim->p->steps[index];
    struct weir_model_stream *s = &sim->streams[step->b];
    struct weir_plan_sim_op *op = NULL;
    struct weir_model_out out;

    if (step->timing || weir_model_record_needs_op(s))
        op = take_spare(sim);
    if (op) {
        op->submit = sim->now;
        op->step = step->timing ? index : WEIR_PLAN_NONE;
    }
    weir_model_out_init(&out);
    if (weir_model_record(&sim->events[step->a], s, op ? &op->m : NULL, &out) != WEIR_MODEL_OK)
        sim->no_memory = true;
    sim->cause = WEIR_PLAN_NONE;
    pump(sim, &out);
}

static void wait_event(struct weir_plan_sim *sim, const struct weir_plan_step *step)
{
    struct weir_model_stream *s = &sim->streams[step->b];
    struct weir_model_dep dep;
    struct weir_model_out out;
    struct weir_plan_sim_op *op;
    bool needed = weir_model_event_wait_dep(&sim->events[step->a], s, &dep);

    if (!needed && !weir_model_wait_needs_op(s))
        return;
    op = take_spare(sim);
    op->m.kind = WEIR_OP_WAIT;
    weir_model_out_init(&out);
    if (weir_model_submit_after(s, &op->m, &dep, needed, &out) != WEIR_MODEL_OK)
        sim->no_memory = true;
    sim->cause = WEIR_PLAN_NONE;
    pump(sim, &out);
}

static bool has_room(const struct weir_plan_sim *sim, uint32_t op)
{
    struct weir_model_point until;

    return !sim->d->queue_depth ||
           !weir_model_takes_place((enum weir_op_kind)sim->p->ops[op].kind) ||
           !weir_model_is_full(&sim->streams[sim->p->ops[op].stream], sim->d->queue_depth, &until);
}

static bool may_go_on(const struct weir_plan_sim *sim, struct weir_plan_sim_thread *t)
{
    switch (t->state) {
    case WEIR_PLAN_AT_POINTS:
        while (t->point_count && weir_model_point_holds(&t->points[t->point_count - 1]))
            t->point_count--;
        return t->point_count == 0;
    case WEIR_PLAN_AT_GROUP:
        return sim->pending[t->waits_for] == 0;
    case WEIR_PLAN_AT_ALL:
        return sim->pending_all == 0;
    case WEIR_PLAN_AT_OP:
        return sim->ops[t->waits_for].done;
    case WEIR_PLAN_AT_ROOM:
        return has_room(sim, t->waits_for);
    default:
        return true;
    }
}

/* What a synchronising step waits for, from now on. */
static void begin_wait(struct weir_plan_sim *sim, struct weir_plan_sim_thread *t,
                       const struct weir_plan_step *step)
{
    size_t n = 0;

    t->state = WEIR_PLAN_AT_POINTS;
    t->waits_for = step->a;
    switch (step->what) {
    case WEIR_PLAN_SYNC_STREAM:
        n = weir_model_stream_targets(&sim->streams[step->a], t->points, WEIR_PLAN_POINTS_MAX);
        break;
    case WEIR_PLAN_SYNC_DEVICE:
        n = weir_model_device_targets(&sim->model, (int)step->a, t->points, WEIR_PLAN_POINTS_MAX);
        break;
    case WEIR_PLAN_SYNC_SO_FAR:
        t->points[n++] = (struct weir_model_point){
            &sim->streams[step->a],
            atomic_load_explicit(&sim->streams[step->a].last, memory_order_relaxed)};
        break;
    case WEIR_PLAN_SYNC_EVENT:
        if (sim->events[step->a].recorded)
            t->points[n++] = sim->events[step->a].point;
        break;
    case WEIR_PLAN_SYNC_OP:
        t->state = sim->ops[step->a].m.stream ? WEIR_PLAN_AT_OP : WEIR_PLAN_RUNS;
        break;
    case WEIR_PLAN_SYNC_GROUP:
        t->state = WEIR_PLAN_AT_GROUP;
        break;
    default:
        t->state = WEIR_PLAN_AT_ALL;
        break;
    }
    if (n > WEIR_PLAN_POINTS_MAX) {
        n = 0;
        t->state = WEIR_PLAN_AT_ALL;
    }
    t->point_count = n;
}

static void end_step(struct weir_plan_sim *sim, struct weir_plan_sim_thread *t, uint32_t index)
{
    if (sim->step_ends)
        sim->step_ends[index] = sim->now;
    t->at++;
}

/* From where the thread stands to its next work or wait, or its end. */
static void run_thread(struct weir_plan_sim *sim, size_t thread)
{
    const struct weir_plan_thread *p = &sim->p->threads[thread];
    struct weir_plan_sim_thread *t = &sim->threads[thread];

    while (t->at < p->step_count && !sim->no_memory) {
        uint32_t index = p->step_first + t->at;
        const struct weir_plan_step *step = &sim->p->steps[index];

        switch (step->what) {
        case WEIR_PLAN_WORK:
            if (t->time < 0) {
                t->time = sim->now + step->ns;
                if (step->ns > 0)
                    return;
            }
            break;
        case WEIR_PLAN_UNTIL:
            if (step->ns > sim->now) {
                t->time = step->ns;
                return;
            }
            break;
        case WEIR_PLAN_SUBMIT:
            if (!has_room(sim, step->a)) {
                t->state = WEIR_PLAN_AT_ROOM;
                t->waits_for = step->a;
                return;
            }
            t->state = WEIR_PLAN_RUNS;
            submit(sim, t, step->a);
            break;
        case WEIR_PLAN_RECORD:
            record(sim, index);
            break;
        case WEIR_PLAN_WAIT:
            wait_event(sim, step);
            break;
        default:
            if (t->state == WEIR_PLAN_RUNS)
                begin_wait(sim, t, step);
            if (!may_go_on(sim, t))
                return;
            t->state = WEIR_PLAN_RUNS;
            break;
        }
        t->time = -1;
        end_step(sim, t, index);
    }
    t->state = WEIR_PLAN_ENDED;
    if (sim->now > sim->end)
        sim->end = sim->now;
}

/* ---- time ---- */

static void wake_threads(struct weir_plan_sim *sim)
{
    for (size_t i = 0; i < sim->p->thread_count; i++) {
        struct weir_plan_sim_thread *t = &sim->threads[i];

        if (t->state > WEIR_PLAN_ENDED && may_go_on(sim, t)) {
            t->released_by = sim->last_done;
            run_thread(sim, i);
        }
    }
}

static void advance(struct weir_plan_sim *sim, double to)
{
    if (to <= sim->now)
        return;
    weir_plan_engine_advance(sim, to - sim->now);
    sim->now = to;
}

static void end_one(struct weir_plan_sim *sim)
{
    struct weir_plan_sim_op *op = weir_plan_engine_take_ended(sim);
    struct weir_model_out out;

    for (; op && !sim->no_memory; op = weir_plan_engine_take_ended(sim)) {
        weir_model_out_init(&out);
        sim->cause = op->op;
        complete(sim, op, &out);
        pump(sim, &out);
    }
    weir_plan_engine_settle(sim);
}

static void run(struct weir_plan_sim *sim)
{
    while (!sim->no_memory) {
        double at = weir_plan_engine_next(sim);
        struct weir_plan_sim_op *arrival = NULL;
        size_t thread = SIZE_MAX;

        if (sim->arrivals && sim->arrivals->at <= at) {
            arrival = sim->arrivals;
            at = arrival->at;
        }
        for (size_t i = 0; i < sim->p->thread_count; i++) {
            if (sim->threads[i].state == WEIR_PLAN_RUNS && sim->threads[i].time <= at) {
                at = sim->threads[i].time;
                thread = i;
            }
        }
        if (at >= WEIR_PLAN_NEVER)
            return; /* all done, or what is left waits for ever */
        advance(sim, at);
        if (thread != SIZE_MAX) {
            run_thread(sim, thread);
        } else if (arrival) {
            sim->arrivals = arrival->next;
            weir_plan_engine_arrive(sim, arrival, false);
        } else {
            end_one(sim);
        }
        wake_threads(sim);
    }
}

/* ---- beginning and end ---- */

static void init_devices(struct weir_plan_sim *sim)
{
    sim->devices = take(sim, sim->p->device_count, sizeof *sim->devices);
    for (uint32_t i = 0; sim->devices && i < sim->p->device_count; i++) {
        struct weir_plan_sim_device *d = &sim->devices[i];

        d->pieces_last = &d->pieces;
        for (int e = 0; e < WEIR_PLAN_ENGINES; e++)
            d->engines[e].last = &d->engines[e].first;
        d->queues = take(sim, sim->d->hw_queues, sizeof *d->queues);
        for (uint32_t q = 0; d->queues && q < sim->d->hw_queues; q++)
            d->queues[q].last = &d->queues[q].first;
    }
}

static void init_times(struct weir_plan_sim *sim)
{
    for (uint32_t i = 0; sim->times && i < sim->p->op_count; i++)
        sim->times[i] = (struct weir_plan_time){-1, -1, -1, -1, WEIR_PLAN_NONE, 0};
    for (uint32_t i = 0; sim->step_ends && i < sim->p->step_count; i++)
        sim->step_ends[i] = -1;
}

static void init(struct weir_plan_sim *sim)
{
    const struct weir_plan_program *p = sim->p;

    for (uint32_t i = 0; i < p->step_count; i++)
        sim->spare_count +=
            p->steps[i].what == WEIR_PLAN_RECORD || p->steps[i].what == WEIR_PLAN_WAIT;
    init_devices(sim);
    init_times(sim);
    sim->streams = take(sim, p->stream_count, sizeof *sim->streams);
    sim->ops = take(sim, p->op_count, sizeof *sim->ops);
    sim->spare = take(sim, sim->spare_count, sizeof *sim->spare);
    sim->events = take(sim, p->event_count, sizeof *sim->events);
    sim->threads = take(sim, p->thread_count, sizeof *sim->threads);
    sim->pending = take(sim, p->group_count, sizeof *sim->pending);
    if (p->tell_edge)
        sim->newest = take(sim, p->stream_count, sizeof *sim->newest);
    if (sim->no_memory)
        return;
    weir_model_init(&sim->model, WEIR_MODEL_MAX_DEVICES, &sim->memory);
    for (int legacy = 1; legacy >= 0; legacy--) {
        for (uint32_t i = 0; i < p->stream_count; i++) {
            const struct weir_plan_stream *s = &p->streams[i];

            if ((s->cls == WEIR_STREAM_LEGACY) == (legacy == 1))
                weir_model_stream_init(&sim->model, &sim->streams[i], s->context,
                                       (enum weir_stream_class)s->cls, s->priority);
        }
    }
    for (uint32_t i = 0; i < p->thread_count; i++) {
        sim->threads[i].released_by = WEIR_PLAN_NONE;
        sim->threads[i].time = -1;
    }
    for (uint32_t i = 0; i < p->thread_count; i++)
        run_thread(sim, i);
}

/* Edges of operations that never became complete are the model's memory. */
static bool free_edges(struct weir_plan_sim *sim, struct weir_plan_sim_op *ops, uint32_t count)
{
    bool left = false;

    for (uint32_t i = 0; ops && i < count; i++) {
        struct weir_model_op *op = &ops[i].m;

        if (!op->stream || op->state == WEIR_OP_COMPLETE)
            continue;
        left = true;
        if (op->deps != op->dep_inline)
            sim->memory.free(sim->memory.ctx, op->deps);
    }
    return left;
}

static void finish(struct weir_plan_sim *sim)
{
    void *const parts[] = {sim->streams, sim->ops,     sim->spare,   sim->events,
                           sim->threads, sim->pending, sim->devices, sim->newest};

    for (uint32_t i = 0; sim->devices && i < sim->p->device_count; i++) {
        if (sim->devices[i].queues)
            sim->memory.free(sim->memory.ctx, sim->devices[i].queues);
    }
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i])
            sim->memory.free(sim->memory.ctx, parts[i]);
    }
    while (sim->chunks) {
        struct weir_plan_piece_chunk *chunk = sim->chunks;

        sim->chunks = chunk->next;
        sim->memory.free(sim->memory.ctx, chunk);
    }
}

bool weir_plan_run(const struct weir_plan_program *p, const struct weir_plan_device *d,
                   const struct weir_model_memory *memory, struct weir_plan_time *times,
                   double *step_ends, struct weir_plan_result *out)
{
    struct weir_plan_sim boot = {.memory = *memory}, *sim = take(&boot, 1, sizeof *sim);
    bool ok;

    *out = (struct weir_plan_result){0};
    if (!sim)
        return false;
    sim->p = p;
    sim->d = d;
    sim->memory = *memory;
    sim->times = times;
    sim->step_ends = step_ends;
    sim->last_done = sim->cause = WEIR_PLAN_NONE;
    sim->ops_begin = -1;
    init(sim);
    if (!sim->no_memory) {
        wake_threads(sim);
        run(sim);
    }
    ok = !sim->no_memory;
    out->begin = sim->begin;
    out->end = sim->end;
    out->ops_begin = sim->ops_begin < 0 ? 0 : sim->ops_begin;
    out->ops_end = sim->ops_end;
    for (int e = 0; e < WEIR_PLAN_ENGINES; e++)
        out->busy[e] = sim->busy[e];
    out->idle_host = sim->idle_host;
    out->stuck = free_edges(sim, sim->ops, p->op_count);
    out->stuck = free_edges(sim, sim->spare, sim->spare_used) || out->stuck;
    for (uint32_t i = 0; sim->threads && i < p->thread_count; i++)
        out->stuck = out->stuck || sim->threads[i].state != WEIR_PLAN_ENDED;
    finish(sim);
    sim->memory.free(memory->ctx, sim);
    return ok;
}
