/* The simulator's engines: copies by direction, kernels by blocks, host functions (sim.h).
 * SPDX-License-Identifier: Apache-2.0
 *
 * Everything that runs is a list of pieces, each with what is left of it at full speed: so copies
 * slow down while the other direction copies, and kernels that share the device go on at what they
 * get of it. */
#include "plan/sim_int.h"

#define ENDED_NS  0.5 /* less is nothing: times in traces are whole nanoseconds */
#define WAVES_MAX 32  /* of one kernel; longer ones go in larger pieces */

static struct weir_plan_sim_device *device_of(struct weir_plan_sim *sim,
                                              const struct weir_plan_sim_op *op)
{
    return &sim->devices[sim->p->streams[weir_plan_op_of(sim, op)->stream].device];
}

/* Which queue an operation's engine has: with one copy engine both directions have one. */
static unsigned queue_of(const struct weir_plan_sim *sim, const struct weir_plan_sim_op *op)
{
    unsigned engine = weir_plan_op_of(sim, op)->engine;

    return engine == WEIR_PLAN_D2H && sim->d->copy_engines == 1 ? WEIR_PLAN_H2D : engine;
}

static bool has_limit(const struct weir_plan_sim *sim, unsigned engine)
{
    if (engine != WEIR_PLAN_H2D && engine != WEIR_PLAN_D2H)
        return true;
    return sim->d->copy_engines && !sim->d->free_copies[engine == WEIR_PLAN_D2H];
}

static bool in_turn(const struct weir_plan_sim *sim, const struct weir_plan_sim_op *op)
{
    return weir_plan_op_of(sim, op)->engine == WEIR_PLAN_KERNEL && sim->d->units &&
           !sim->d->share && weir_plan_op_of(sim, op)->units;
}

static uint64_t demand_of(const struct weir_plan_op *op)
{
    return (uint64_t)op->units * (op->blocks ? op->blocks : 1);
}

/* ---- pieces ---- */

static struct weir_plan_piece *take_piece(struct weir_plan_sim *sim, struct weir_plan_sim_op *op)
{
    struct weir_plan_piece *piece = sim->pool;

    if (!op->piece.op)
        return &op->piece;
    if (!piece) {
        struct weir_plan_piece_chunk *chunk = sim->memory.alloc(sim->memory.ctx, sizeof *chunk);

        if (!chunk) {
            sim->no_memory = true;
            return NULL;
        }
        chunk->next = sim->chunks;
        sim->chunks = chunk;
        for (int i = 0; i < WEIR_PLAN_CHUNK; i++) {
            chunk->pieces[i] = (struct weir_plan_piece){.next = sim->pool, .of_pool = true};
            sim->pool = &chunk->pieces[i];
        }
        piece = sim->pool;
    }
    sim->pool = piece->next;
    return piece;
}

static void begin_piece(struct weir_plan_sim *sim, struct weir_plan_sim_op *op, double ns,
                        uint32_t blocks)
{
    struct weir_plan_sim_device *d = device_of(sim, op);
    struct weir_plan_piece *piece = take_piece(sim, op);

    if (!piece)
        return;
    piece->next = NULL;
    piece->op = op;
    piece->left = ns;
    piece->blocks = blocks;
    *d->pieces_last = piece;
    d->pieces_last = &piece->next;
    op->pieces++;
}

static void end_piece(struct weir_plan_sim *sim, struct weir_plan_sim_device *d,
                      struct weir_plan_piece **link)
{
    struct weir_plan_piece *piece = *link;

    *link = piece->next;
    if (!*link)
        d->pieces_last = link;
    piece->op->pieces--;
    piece->op = NULL;
    if (piece->of_pool) {
        piece->next = sim->pool;
        sim->pool = piece;
    }
}

static double rate_of(const struct weir_plan_sim *sim, const struct weir_plan_sim_device *d,
                      const struct weir_plan_sim_op *op)
{
    unsigned engine = weir_plan_op_of(sim, op)->engine;

    if (engine == WEIR_PLAN_KERNEL)
        return sim->d->share && sim->d->units && d->demand > sim->d->units
                   ? (double)sim->d->units / (double)d->demand
                   : 1;
    if (sim->d->duplex > 0 && ((engine == WEIR_PLAN_H2D && d->engines[WEIR_PLAN_D2H].active) ||
                               (engine == WEIR_PLAN_D2H && d->engines[WEIR_PLAN_H2D].active)))
        return sim->d->duplex;
    return 1;
}

/* ---- beginning ---- */

/* by: what had the engine; NONE: the engine was free when the operation came. */
static void note_start(struct weir_plan_sim *sim, struct weir_plan_sim_op *op, uint32_t by,
                       double at)
{
    struct weir_plan_time *t = sim->times ? &sim->times[op->op] : NULL;

    op->running = true;
    device_of(sim, op)->engines[weir_plan_op_of(sim, op)->engine].active++;
    if (sim->ops_begin < 0)
        sim->ops_begin = at;
    if (!t)
        return;
    t->start = at;
    if (by != WEIR_PLAN_NONE) {
        t->why = WEIR_PLAN_WHY_ENGINE;
        t->why_op = by;
    } else if (op->cause != WEIR_PLAN_NONE) {
        t->why = WEIR_PLAN_WHY_ORDER;
        t->why_op = op->cause;
    }
}

/* by: what it waited for there. */
static void start_next(struct weir_plan_sim *sim, struct weir_plan_sim_engine *e, uint32_t by)
{
    struct weir_plan_sim_op *op = e->first;
    double gap = by == WEIR_PLAN_NONE ? 0 : sim->d->copy_gap_ns;

    if (e->running || !op)
        return;
    if (by == op->cause)
        by = WEIR_PLAN_NONE; /* order held it, not the engine */
    e->running = op;
    e->first = op->next;
    if (!e->first)
        e->last = &e->first;
    op->next = NULL;
    if (weir_plan_op_of(sim, op)->engine > WEIR_PLAN_D2H)
        gap = 0;
    note_start(sim, op, by, sim->now + gap);
    begin_piece(sim, op, gap + weir_plan_op_of(sim, op)->ns, 0);
}

/* Blocks go in order, and none passes one that does not fit. */
static void dispatch(struct weir_plan_sim *sim, struct weir_plan_sim_device *d, uint32_t by)
{
    while (d->kernels && !sim->no_memory) {
        struct weir_plan_sim_op *op = d->kernels;
        uint32_t unit = weir_plan_op_of(sim, op)->units;
        uint64_t fit;

        if (unit > sim->d->units)
            unit = sim->d->units;
        fit = (sim->d->units - d->used) / unit;
        if (!fit || (!op->running && sim->d->kernels_max && d->resident >= sim->d->kernels_max))
            return;
        if (fit > op->blocks_left)
            fit = op->blocks_left;
        if (!op->running) {
            d->resident++;
            note_start(sim, op, by, sim->now);
        }
        op->blocks_left -= (uint32_t)fit;
        d->used += fit * unit;
        begin_piece(sim, op, op->block_ns, (uint32_t)fit);
        if (op->blocks_left)
            return;
        d->kernels = op->next;
        op->next = NULL;
    }
}

/* Long kernels of many equal waves go in WAVES_MAX larger ones. */
static void prepare_blocks(const struct weir_plan_sim *sim, struct weir_plan_sim_op *op)
{
    const struct weir_plan_op *o = weir_plan_op_of(sim, op);
    uint32_t unit = o->units < sim->d->units ? o->units : sim->d->units;
    uint32_t fit = sim->d->units / unit, blocks = o->blocks ? o->blocks : 1;
    uint32_t waves = blocks / fit + (blocks % fit != 0);

    op->blocks_left = waves > WAVES_MAX ? fit * WAVES_MAX : blocks;
    op->block_ns = o->ns / (waves > WAVES_MAX ? WAVES_MAX : waves);
}

static void hand_out(struct weir_plan_sim *sim, struct weir_plan_sim_op *op, uint32_t by)
{
    struct weir_plan_sim_device *d = device_of(sim, op);
    struct weir_plan_sim_op **link = &d->kernels;
    int priority = sim->p->streams[weir_plan_op_of(sim, op)->stream].priority;

    if (!in_turn(sim, op)) {
        d->demand += demand_of(weir_plan_op_of(sim, op));
        note_start(sim, op, by, sim->now);
        begin_piece(sim, op, weir_plan_op_of(sim, op)->ns, 0);
        return;
    }
    prepare_blocks(sim, op);
    while (*link && sim->p->streams[weir_plan_op_of(sim, *link)->stream].priority <= priority)
        link = &(*link)->next;
    op->next = *link;
    *link = op;
    dispatch(sim, d, by);
}

/* The head of a hardware queue that is not ready holds up what is behind it, whatever its stream.
 */
static void drain(struct weir_plan_sim *sim, struct weir_plan_sim_queue *q)
{
    uint32_t by = WEIR_PLAN_NONE;

    while (q->first && q->first->arrived) {
        struct weir_plan_sim_op *op = q->first;

        q->first = op->in_queue;
        if (!q->first)
            q->last = &q->first;
        hand_out(sim, op, by);
        by = op->op;
    }
}

static struct weir_plan_sim_queue *hw_queue(struct weir_plan_sim *sim,
                                            const struct weir_plan_sim_op *op)
{
    return &device_of(sim, op)->queues[weir_plan_op_of(sim, op)->stream % sim->d->hw_queues];
}

void weir_plan_engine_submitted(struct weir_plan_sim *sim, struct weir_plan_sim_op *op)
{
    struct weir_plan_sim_queue *q;

    if (weir_plan_op_of(sim, op)->engine != WEIR_PLAN_KERNEL || !sim->d->hw_queues)
        return;
    q = hw_queue(sim, op);
    op->in_queue = NULL;
    *q->last = op;
    q->last = &op->in_queue;
}

void weir_plan_engine_settle(struct weir_plan_sim *sim)
{
    for (uint32_t i = 0; i < sim->p->device_count; i++) {
        for (int e = 0; e < WEIR_PLAN_ENGINES; e++) {
            if (sim->devices[i].engines[e].first)
                start_next(sim, &sim->devices[i].engines[e], sim->devices[i].engines[e].by);
        }
    }
}

void weir_plan_engine_arrive(struct weir_plan_sim *sim, struct weir_plan_sim_op *op, bool next)
{
    unsigned engine = weir_plan_op_of(sim, op)->engine;
    struct weir_plan_sim_engine *e = &device_of(sim, op)->engines[queue_of(sim, op)];

    op->arrived = true;
    op->next = NULL;
    if (sim->times)
        sim->times[op->op].ready = sim->now;
    if (engine == WEIR_PLAN_KERNEL && sim->d->hw_queues) {
        drain(sim, hw_queue(sim, op));
    } else if (engine == WEIR_PLAN_KERNEL) {
        hand_out(sim, op, WEIR_PLAN_NONE);
    } else if (!has_limit(sim, engine)) {
        note_start(sim, op, WEIR_PLAN_NONE, sim->now);
        begin_piece(sim, op, weir_plan_op_of(sim, op)->ns, 0);
    } else if (next) {
        op->next = e->first;
        if (!e->first)
            e->last = &op->next;
        e->first = op;
    } else {
        *e->last = op;
        e->last = &op->next;
        start_next(sim, e, WEIR_PLAN_NONE);
    }
}

/* ---- time ---- */

double weir_plan_engine_next(const struct weir_plan_sim *sim)
{
    double at = WEIR_PLAN_NEVER;

    for (uint32_t i = 0; i < sim->p->device_count; i++) {
        const struct weir_plan_sim_device *d = &sim->devices[i];

        for (const struct weir_plan_piece *p = d->pieces; p; p = p->next) {
            double end = sim->now + p->left / rate_of(sim, d, p->op);

            at = end < at ? end : at;
        }
    }
    return at;
}

void weir_plan_engine_advance(struct weir_plan_sim *sim, double dt)
{
    bool any = false, active[WEIR_PLAN_ENGINES] = {false};

    for (uint32_t i = 0; i < sim->p->device_count; i++) {
        struct weir_plan_sim_device *d = &sim->devices[i];

        for (int e = 0; e < WEIR_PLAN_ENGINES; e++)
            active[e] = active[e] || d->engines[e].active;
        for (struct weir_plan_piece *p = d->pieces; p; p = p->next)
            p->left -= dt * rate_of(sim, d, p->op);
    }
    for (int e = 0; e < WEIR_PLAN_ENGINES; e++) {
        any = any || active[e];
        if (active[e])
            sim->busy[e] += dt;
    }
    if (!any && sim->began && !sim->pending_all)
        sim->idle_host += dt;
}

/* The piece is over. True when its operation is. */
static bool retire(struct weir_plan_sim *sim, struct weir_plan_sim_device *d,
                   struct weir_plan_piece **link)
{
    struct weir_plan_sim_op *op = (*link)->op;
    const struct weir_plan_op *o = weir_plan_op_of(sim, op);
    struct weir_plan_sim_engine *e = &d->engines[queue_of(sim, op)];
    uint32_t blocks = (*link)->blocks;
    bool over;

    end_piece(sim, d, link);
    if (in_turn(sim, op)) {
        d->used -= (uint64_t)blocks * (o->units < sim->d->units ? o->units : sim->d->units);
        over = !op->blocks_left && !op->pieces;
        if (over) {
            d->resident--;
            d->engines[WEIR_PLAN_KERNEL].active--;
        }
        dispatch(sim, d, op->op);
        return over;
    }
    d->engines[o->engine].active--;
    if (o->engine == WEIR_PLAN_KERNEL)
        d->demand -= demand_of(o);
    if (e->running == op) {
        e->running = NULL;
        e->by = op->op;
    }
    return true;
}

struct weir_plan_sim_op *weir_plan_engine_take_ended(struct weir_plan_sim *sim)
{
    for (uint32_t i = 0; i < sim->p->device_count; i++) {
        struct weir_plan_sim_device *d = &sim->devices[i];

        for (struct weir_plan_piece **link = &d->pieces, *p; (p = *link) != NULL;) {
            struct weir_plan_sim_op *op = p->op;

            /* (In a damaged trace times are so large that what is left no longer adds to them.) */
            if (p->left > ENDED_NS && sim->now + p->left / rate_of(sim, d, op) > sim->now) {
                link = &p->next;
                continue;
            }
            if (retire(sim, d, link))
                return op;
            link = &d->pieces;
        }
    }
    return NULL;
}
