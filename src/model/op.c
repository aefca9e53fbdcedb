/* Operations: submission with the edges of the default-stream rules, completion, and the messages
 * between streams. docs/design/ordering.md has a worked picture and the invariants (INV-n) cited
 * here.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/model_int.h"

static inline void push(struct weir_model_op ***tail, struct weir_model_op *op)
{
    op->out_next = NULL;
    **tail = op;
    *tail = &op->out_next;
}

/* op is the head of its stream: skips edges that hold by now, then it is ready or waits for the
 * first that does not. */
static inline void advance(struct weir_model_op *op, struct weir_model_out *out)
{
    for (; op->dep_pos < op->dep_count; op->dep_pos++) {
        if (!weir_model_point_holds(&op->deps[op->dep_pos].point)) {
            op->state = WEIR_OP_BLOCKED;
            push(&out->blocked_tail, op);
            return;
        }
    }
    op->state = WEIR_OP_READY;
    push(&out->ready_tail, op);
}

/* ---- edges ---- */

/* Does a submission into s need an edge for d, or do others imply it (ORD-028)? */
static bool edge_needed(const struct weir_model_stream *s, const struct weir_model_dep *d)
{
    const struct weir_model_stream *t = d->point.stream;

    if (!t || t == s) /* ORD-024: a stream is ordered by itself (ORD-001) */
        return false;
    if (weir_model_point_holds(&d->point))
        return false;
    if (t->device != s->device)
        return true;
    if (t == device_of(s)->legacy) /* ORD-004 makes this edge, or has made it (INV-4) */
        return !is_blocking(s);
    /* ORD-003 makes this edge anyway. Not for a stream that is gone: that order is only observed,
     * this one may be more. */
    return !(s->cls == WEIR_STREAM_LEGACY && is_blocking(t) && t->in_use);
}

/* Does a legacy operation need an edge to t, or does an earlier legacy operation have it (INV-5)?
 * ORD-003, ORD-005. */
static bool legacy_edge_needed(const struct weir_model_stream *t)
{
    return is_blocking(t) && t->legacy_covered < last_of(t) && has_pending(t);
}

/* The streams that are gone and that the legacy stream s still follows (ORD-010). */
static struct weir_model_stream *leaving_of(const struct weir_model_stream *s)
{
    return s->model->guaranteed_only ? NULL : device_of(s)->leaving;
}

static size_t count_edges(const struct weir_model_stream *s, const struct weir_model_dep *deps,
                          size_t count)
{
    size_t n = legacy_ahead(s) ? 1 : 0;

    for (size_t i = 0; i < count; i++)
        n += edge_needed(s, &deps[i]);
    if (s->cls == WEIR_STREAM_LEGACY) {
        for (const struct weir_model_stream *t = device_of(s)->streams; t; t = t->device_next)
            n += legacy_edge_needed(t);
        for (const struct weir_model_stream *t = leaving_of(s); t; t = t->device_next)
            n += legacy_edge_needed(t);
    }
    return n;
}

/* Streams that are not locked (of explicit edges, of leaving streams) may complete between count
 * and here, never the other way round: `cap` is what was counted, and is enough. */
static void add_edge(struct weir_model_op *op, size_t cap, struct weir_model_point point,
                     enum weir_strength strength, enum weir_rule rule)
{
    if (op->dep_count < cap)
        op->deps[op->dep_count++] = (struct weir_model_dep){
            .point = point, .strength = (uint8_t)strength, .rule = (uint16_t)rule};
}

static void add_legacy_edges(struct weir_model_stream *s, struct weir_model_op *op, size_t cap)
{
    for (struct weir_model_stream *t = device_of(s)->streams; t; t = t->device_next) {
        if (legacy_edge_needed(t))
            add_edge(op, cap, end_of(t), WEIR_GUARANTEED,
                     op->kind == WEIR_OP_RECORD || op->kind == WEIR_OP_WAIT
                         ? WEIR_RULE_LEGACY_RECORD_WAIT
                         : WEIR_RULE_LEGACY_FOLLOWS);
        t->legacy_covered = last_of(t);
    }
    /* ORD-010. Nobody else writes a leaving stream's fields: legacy submissions exclude each other
     * by s's lock. */
    for (struct weir_model_stream *t = leaving_of(s); t; t = t->device_next) {
        if (legacy_edge_needed(t))
            add_edge(op, cap, end_of(t), WEIR_OBSERVED, WEIR_RULE_DESTROYED_IN_LEGACY);
        t->legacy_covered = last_of(t);
    }
}

/* Room for the edges that op will have in s. False: no memory. Nothing outside op is changed. */
static bool reserve_edges(const struct weir_model_stream *s, struct weir_model_op *op,
                          const struct weir_model_dep *deps, size_t count, size_t *cap)
{
    const struct weir_model_memory *memory = &s->model->memory;

    op->deps = op->dep_inline;
    op->dep_count = op->dep_pos = 0;
    *cap = count_edges(s, deps, count);
    if (*cap <= WEIR_MODEL_INLINE_DEPS)
        return true;
    if (*cap > UINT16_MAX)
        return false;
    op->deps = memory->alloc(memory->ctx, *cap * sizeof *op->deps);
    return op->deps != NULL;
}

/* All edges there ever are: none of these rules, no order (ORD-002). */
static void add_edges(struct weir_model_stream *s, struct weir_model_op *op,
                      const struct weir_model_dep *deps, size_t count, size_t cap)
{
    struct weir_model_stream *legacy = legacy_ahead(s);

    if (s->cls == WEIR_STREAM_LEGACY)
        add_legacy_edges(s, op, cap);
    if (legacy) { /* ORD-004, ORD-006; of the own device alone, ORD-011 */
        add_edge(op, cap, end_of(legacy), WEIR_GUARANTEED, WEIR_RULE_FOLLOWS_LEGACY);
        s->legacy_seen = last_of(legacy);
    }
    for (size_t i = 0; i < count; i++)
        if (edge_needed(s, &deps[i]))
            add_edge(op, cap, deps[i].point, (enum weir_strength)deps[i].strength,
                     (enum weir_rule)deps[i].rule);
}

static void free_edges(const struct weir_model_memory *memory, struct weir_model_op *op)
{
    if (op->deps != op->dep_inline)
        memory->free(memory->ctx, op->deps);
}

/* ---- submission and completion ---- */

/* ORD-001: behind everything in s. */
static inline void append(struct weir_model_stream *s, struct weir_model_op *op,
                          struct weir_model_out *out)
{
    weir_seq seq = last_of(s) + 1;

    op->stream = s;
    op->seq = seq;
    op->next = NULL;
    op->waiter_next = NULL;
    op->state = WEIR_OP_QUEUED;
    atomic_store_explicit(&s->last, seq, memory_order_release);
    if (!s->head) {
        s->head = op;
        s->tail = &op->next;
        advance(op, out);
        return;
    }
    *s->tail = op;
    s->tail = &op->next;
}

enum weir_model_result weir_model_submit_after(struct weir_model_stream *s,
                                               struct weir_model_op *op,
                                               const struct weir_model_dep *deps, size_t count,
                                               struct weir_model_out *out)
{
    size_t cap;

    if (!reserve_edges(s, op, deps, count, &cap))
        return WEIR_MODEL_NO_MEMORY;
    if (cap)
        add_edges(s, op, deps, count, cap);
    append(s, op, out);
    return WEIR_MODEL_OK;
}

enum weir_model_result weir_model_submit(struct weir_model_stream *s, struct weir_model_op *op,
                                         struct weir_model_out *out)
{
    if (s->cls == WEIR_STREAM_LEGACY || legacy_ahead(s))
        return weir_model_submit_after(s, op, NULL, 0, out);
    op->deps = op->dep_inline; /* nearly all operations: no edge */
    op->dep_count = op->dep_pos = 0;
    append(s, op, out);
    return WEIR_MODEL_OK;
}

enum weir_model_result weir_model_submit_peer(struct weir_model_stream *s, struct weir_model_op *op,
                                              struct weir_model_stream *other,
                                              struct weir_model_op *before,
                                              struct weir_model_op *after,
                                              struct weir_model_out *out)
{
    /* ORD-012: `before` gathers the other device, op follows it, `after` hands op on to the other
     * device. */
    struct weir_model_dep on_before = {
        {other, last_of(other) + 1}, WEIR_GUARANTEED, WEIR_RULE_LEGACY_PEER};
    struct weir_model_dep on_op = {{s, last_of(s) + 1}, WEIR_GUARANTEED, WEIR_RULE_LEGACY_PEER};
    size_t before_cap, op_cap, after_cap;

    if (!reserve_edges(other, before, NULL, 0, &before_cap))
        return WEIR_MODEL_NO_MEMORY;
    if (!reserve_edges(s, op, &on_before, 1, &op_cap)) {
        free_edges(&other->model->memory, before);
        return WEIR_MODEL_NO_MEMORY;
    }
    add_edges(other, before, NULL, 0, before_cap);
    append(other, before, out);
    add_edges(s, op, &on_before, 1, op_cap);
    append(s, op, out);
    /* Everything of the other device is behind `before` now: one edge, which needs no memory. */
    if (!reserve_edges(other, after, &on_op, 1, &after_cap))
        return WEIR_MODEL_NO_MEMORY;
    add_edges(other, after, &on_op, 1, after_cap);
    append(other, after, out);
    return WEIR_MODEL_OK;
}

/* The number that a waiter waits for. */
static weir_seq waited_for(const struct weir_model_op *op)
{
    return op->deps[op->dep_pos].point.seq;
}

/* Moves the operations that wait for a point of s that holds now into `notified` (INV-6: the list
 * is ascending). */
static void notify(struct weir_model_stream *s, weir_seq completed, struct weir_model_out *out)
{
    struct weir_model_op *op;

    while ((op = s->waiters) && waited_for(op) <= completed) {
        s->waiters = op->waiter_next;
        if (!s->waiters)
            s->waiters_last = NULL;
        op->waiter_next = NULL;
        push(&out->notified_tail, op);
    }
}

void weir_model_complete(struct weir_model_op *op, struct weir_model_out *out)
{
    struct weir_model_stream *s = op->stream;
    struct weir_model_op *next = op->next;
    weir_seq seq = op->seq;

    for (struct weir_model_op *passed = s->head; passed != op; passed = passed->next)
        free_edges(&s->model->memory, passed); /* all that held */
    free_edges(&s->model->memory, op);
    op->state = WEIR_OP_COMPLETE;
    s->head = next;
    if (!next)
        s->tail = &s->head;
    if (s->waiters)
        notify(s, seq, out);
    if (atomic_load(&s->due) <= seq)
        atomic_store(&s->due, s->waiters ? waited_for(s->waiters) : UINT64_MAX);
    if (atomic_load(&s->asked) <= seq)
        atomic_store(&s->asked, UINT64_MAX);
    /* The last touch of s: who sees it idle may use the struct anew without its lock (INV-12).
     * Release pairs with the acquire in weir_model_point_holds: who sees op complete sees what it
     * did. */
    atomic_store_explicit(&s->completed, seq, memory_order_release);
    if (next)
        advance(next, out);
}

bool weir_model_pass(struct weir_model_op *op)
{
    struct weir_model_stream *s = op->stream;

    /* seq_cst: whoever waits has said so and then looks, here it is the other way round: one sees
     * the other. */
    atomic_store(&s->completed, op->seq);
    return op->seq < atomic_load(&s->due) && op->seq < atomic_load(&s->asked);
}

/* *first is the earliest number to be told of, under p's stream's lock. False: p holds. */
static bool wants(_Atomic uint64_t *first, const struct weir_model_point *p)
{
    if (p->seq < atomic_load(first))
        atomic_store(first, p->seq);
    return atomic_load(&p->stream->completed) < p->seq;
}

bool weir_model_watch(const struct weir_model_point *p)
{
    return wants(&p->stream->asked, p);
}

/* ---- messages between streams ---- */

bool weir_model_subscribe(struct weir_model_op *op)
{
    const struct weir_model_point *point = &op->deps[op->dep_pos].point;
    struct weir_model_stream *s = point->stream;
    struct weir_model_op **link;

    if (!wants(&s->due, point))
        return false;
    /* In order of seq, equals in order of arrival. Records are waited for in about the order in
     * which they were made, so nearly all go to the end or the front; only heads of other streams
     * are ever in the list (INV-6). */
    if (s->waiters_last && waited_for(s->waiters_last) <= point->seq) {
        link = &s->waiters_last->waiter_next;
    } else {
        link = &s->waiters;
        while (*link && waited_for(*link) <= point->seq)
            link = &(*link)->waiter_next;
    }
    op->waiter_next = *link;
    *link = op;
    if (!op->waiter_next)
        s->waiters_last = op;
    return true;
}

void weir_model_resume(struct weir_model_op *op, struct weir_model_out *out)
{
    advance(op, out); /* the edge that it waited for holds and is skipped */
}
