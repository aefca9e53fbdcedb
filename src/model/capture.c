/* Captures: see capture.h. Rules CAP-nnn: docs/rules/GRAPH.md.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/capture.h"

#include "model/model_int.h"

enum {
    CAP_BEGIN = 1,
    CAP_END = 2,
    CAP_UNSAFE = 10,
    CAP_DEVICE_WAIT = 11,
    CAP_REFUSED = 12,
    CAP_LEGACY = 13,
    CAP_WAIT = 21,
    CAP_WAIT_EXTERNAL = 22,
    CAP_ASK_EVENT = 23,
};

void weir_model_captures_init(struct weir_model_captures *all,
                              const struct weir_model_memory *memory)
{
    all->memory = *memory;
    all->first = NULL;
    all->last_id = 0;
    atomic_store_explicit(&all->count, 0, memory_order_relaxed);
}

/* ---- life ---- */

static void unref(struct weir_model_capture *c)
{
    const struct weir_model_memory *memory = &c->all->memory;

    if (--c->refs > 0)
        return;
    weir_model_edges_finish(&c->left, memory);
    memory->free(memory->ctx, c);
}

static void invalidate(struct weir_model_capture *c, uint16_t rule, enum weir_capture_result result,
                       const struct weir_capture_caller *caller)
{
    if (c->status != WEIR_CAPTURE_ACTIVE)
        return; /* the first one to blame stays */
    c->status = WEIR_CAPTURE_INVALIDATED;
    c->blame = (struct weir_capture_blame){
        .thread = caller->thread, .call = caller->call, .rule = rule, .result = (uint8_t)result};
}

static bool copy_edges(struct weir_model_edges *to, const struct weir_model_edges *from,
                       const struct weir_model_memory *memory)
{
    if (!weir_model_edges_reserve(to, from->count, memory))
        return false;
    for (uint32_t i = 0; i < from->count; i++)
        to->items[i] = from->items[i];
    to->count = from->count;
    return true;
}

/* Adds what is not there; ends hold each node once. */
static bool merge_edges(struct weir_model_edges *to, const struct weir_model_edge *items,
                        size_t count, const struct weir_model_memory *memory)
{
    if (!weir_model_edges_reserve(to, to->count + (uint32_t)count, memory))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!weir_model_edges_find(to, items[i].node))
            to->items[to->count++] = items[i];
    return true;
}

static void enter(struct weir_model_capture *c, struct weir_model_member *m,
                  const struct weir_model_stream *stream, bool origin)
{
    m->capture = c;
    m->stream = stream;
    m->origin = origin;
    m->prev = NULL;
    m->next = c->members;
    if (c->members)
        c->members->prev = m;
    c->members = m;
    c->refs++;
}

static void leave(struct weir_model_member *m)
{
    struct weir_model_capture *c = m->capture;
    struct weir_model_captures *all = c->all;

    if (m->prev)
        m->prev->next = m->next;
    else
        c->members = m->next;
    if (m->next)
        m->next->prev = m->prev;
    weir_model_edges_finish(&m->ends, &all->memory);
    m->capture = NULL;
    m->next = m->prev = NULL;
    if (all->gone)
        all->gone(all->ctx, m);
    unref(c);
}

/* CAP-002: all its streams are ordinary ones again, events recorded in it stand for nothing. */
static struct weir_model_graph *finish(struct weir_model_capture *c)
{
    struct weir_model_captures *all = c->all;
    struct weir_model_graph *graph = c->graph;

    c->refs++;
    c->status = WEIR_CAPTURE_NONE;
    c->graph = NULL;
    if (c->prev)
        c->prev->next = c->next;
    else
        all->first = c->next;
    if (c->next)
        c->next->prev = c->prev;
    atomic_fetch_sub_explicit(&all->count, 1, memory_order_relaxed);
    while (c->members)
        leave(c->members);
    unref(c);
    return graph;
}

static enum weir_capture_result start(struct weir_model_captures *all, struct weir_model_member *m,
                                      const struct weir_model_stream *stream,
                                      struct weir_model_graph *graph, enum weir_capture_mode mode,
                                      const struct weir_model_edge *deps, size_t count,
                                      uint64_t thread)
{
    struct weir_model_capture *c = all->memory.alloc(all->memory.ctx, sizeof *c);

    if (!c)
        return WEIR_CAPTURE_ERR_NO_MEMORY;
    *c = (struct weir_model_capture){.all = all,
                                     .graph = graph,
                                     .id = ++all->last_id,
                                     .thread = thread,
                                     .mode = (uint8_t)mode,
                                     .status = WEIR_CAPTURE_ACTIVE,
                                     .next = all->first};
    weir_model_edges_init(&c->left);
    weir_model_edges_init(&m->ends);
    if (!merge_edges(&m->ends, deps, count, &all->memory)) {
        all->memory.free(all->memory.ctx, c);
        return WEIR_CAPTURE_ERR_NO_MEMORY;
    }
    if (all->first)
        all->first->prev = c;
    all->first = c;
    atomic_fetch_add_explicit(&all->count, 1, memory_order_relaxed);
    enter(c, m, stream, true);
    return WEIR_CAPTURE_OK;
}

enum weir_capture_result
weir_model_capture_begin(struct weir_model_captures *all, struct weir_model_member *member,
                         const struct weir_model_stream *stream, struct weir_model_graph *graph,
                         enum weir_capture_mode mode, const struct weir_model_edge *deps,
                         size_t count, const struct weir_capture_caller *caller)
{
    /* CAP-001 */
    if ((unsigned)mode > WEIR_CAPTURE_RELAXED)
        return WEIR_CAPTURE_ERR_INVALID_VALUE;
    if (stream->cls == WEIR_STREAM_LEGACY) {
        enum weir_capture_result r = weir_model_capture_call(all, WEIR_CAPTURE_CALL_LEGACY_WORK,
                                                             stream, NULL, stream->device, caller);

        return r == WEIR_CAPTURE_OK ? WEIR_CAPTURE_ERR_UNSUPPORTED : r;
    }
    if (member->capture)
        return WEIR_CAPTURE_ERR_ILLEGAL_STATE;
    return start(all, member, stream, graph, mode, deps, count, caller->thread);
}

/* Is there a node at the end of some stream that the origin's end does not follow? */
static enum weir_capture_result check_joined(const struct weir_model_member *origin)
{
    struct weir_model_capture *c = origin->capture;

    if (c->members == origin && !origin->next && c->left.count == 0)
        return WEIR_CAPTURE_OK;
    if (!weir_model_graph_mark_above(c->graph, &origin->ends))
        return WEIR_CAPTURE_ERR_NO_MEMORY;
    for (uint32_t i = 0; i < c->left.count; i++)
        if (!c->left.items[i].node->place)
            return WEIR_CAPTURE_ERR_UNJOINED;
    for (const struct weir_model_member *m = c->members; m; m = m->next) {
        for (uint32_t i = 0; i < m->ends.count; i++)
            if (!m->ends.items[i].node->place)
                return WEIR_CAPTURE_ERR_UNJOINED;
    }
    return WEIR_CAPTURE_OK;
}

enum weir_capture_result weir_model_capture_end(struct weir_model_member *member,
                                                const struct weir_capture_caller *caller,
                                                struct weir_model_graph **graph,
                                                struct weir_capture_blame *blame)
{
    struct weir_model_capture *c = member->capture;
    enum weir_capture_result result = WEIR_CAPTURE_OK;

    *graph = NULL;
    if (!c)
        return WEIR_CAPTURE_ERR_ILLEGAL_STATE;
    if (!member->origin) {
        invalidate(c, CAP_END, WEIR_CAPTURE_ERR_UNMATCHED, caller);
        return WEIR_CAPTURE_ERR_UNMATCHED;
    }
    if (blame)
        *blame = c->blame;
    /* CAP-002: broken before the wrong thread, and that before what is not joined. */
    if (c->status == WEIR_CAPTURE_INVALIDATED)
        result = WEIR_CAPTURE_ERR_INVALIDATED;
    else if (c->mode != WEIR_CAPTURE_RELAXED && c->thread != caller->thread)
        result = WEIR_CAPTURE_ERR_WRONG_THREAD;
    else
        result = check_joined(member);
    *graph = finish(c);
    return result;
}

void weir_model_capture_leave(struct weir_model_member *member, struct weir_model_graph **graph)
{
    struct weir_model_capture *c = member->capture;

    *graph = NULL;
    if (!c)
        return;
    if (member->origin) { /* CAP-003 */
        *graph = finish(c);
        return;
    }
    /* Without memory for its ends nobody could tell later whether they were joined. */
    if (!merge_edges(&c->left, member->ends.items, member->ends.count, &c->all->memory))
        invalidate(c, CAP_END, WEIR_CAPTURE_ERR_NO_MEMORY,
                   &(struct weir_capture_caller){c->thread, c->mode, "cudaStreamDestroy"});
    leave(member);
}

/* ---- operations ---- */

enum weir_capture_status weir_model_member_status(const struct weir_model_member *member)
{
    return member->capture ? (enum weir_capture_status)member->capture->status : WEIR_CAPTURE_NONE;
}

enum weir_capture_result weir_model_capture_check(const struct weir_model_member *member)
{
    /* CAP-014 */
    return member->capture->status == WEIR_CAPTURE_ACTIVE ? WEIR_CAPTURE_OK
                                                          : WEIR_CAPTURE_ERR_INVALIDATED;
}

enum weir_capture_result weir_model_capture_node(struct weir_model_member *member,
                                                 struct weir_model_node *node)
{
    /* One place is always there. */
    member->ends.items[0] = (struct weir_model_edge){node, {0}};
    member->ends.count = 1;
    return WEIR_CAPTURE_OK;
}

void weir_model_capture_programmatic(struct weir_model_member *member)
{
    struct weir_model_edges *ends = &member->ends;

    for (uint32_t i = 0; i < ends->count; i++)
        if (ends->items[i].node->kind == WEIR_NODE_KERNEL)
            ends->items[i].data = weir_model_programmatic_edge;
}

enum weir_capture_result weir_model_capture_update(struct weir_model_member *member,
                                                   const struct weir_model_edge *ends, size_t count,
                                                   bool set)
{
    struct weir_model_capture *c = member->capture;

    if (!c)
        return WEIR_CAPTURE_ERR_ILLEGAL_STATE;
    if (c->status != WEIR_CAPTURE_ACTIVE)
        return WEIR_CAPTURE_ERR_INVALIDATED;
    for (size_t i = 0; i < count; i++)
        if (!ends[i].node || ends[i].node->graph != c->graph)
            return WEIR_CAPTURE_ERR_INVALID_VALUE;
    if (!weir_model_edges_reserve(&member->ends, member->ends.count + (uint32_t)count,
                                  &c->all->memory))
        return WEIR_CAPTURE_ERR_NO_MEMORY;
    if (set)
        member->ends.count = 0;
    (void)merge_edges(&member->ends, ends, count, &c->all->memory); /* room was made */
    return WEIR_CAPTURE_OK;
}

void weir_model_capture_break(struct weir_model_member *member, uint16_t rule,
                              enum weir_capture_result result,
                              const struct weir_capture_caller *caller)
{
    if (member->capture)
        invalidate(member->capture, rule, result, caller);
}

/* ---- events ---- */

enum weir_capture_result weir_model_capture_record(struct weir_model_member *member,
                                                   struct weir_model_captured *out)
{
    struct weir_model_capture *c = member->capture;
    struct weir_model_edges ends;

    if (c->status != WEIR_CAPTURE_ACTIVE)
        return WEIR_CAPTURE_ERR_INVALIDATED;
    weir_model_edges_init(&ends);
    if (!weir_model_edges_reserve(&ends, member->ends.count, &c->all->memory))
        return WEIR_CAPTURE_ERR_NO_MEMORY;
    weir_model_edges_finish(&ends, &c->all->memory);
    weir_model_captured_drop(out);
    /* CAP-020: what the stream has come to, as ORD-020. */
    weir_model_edges_init(&out->ends);
    if (!copy_edges(&out->ends, &member->ends, &c->all->memory))
        return WEIR_CAPTURE_ERR_NO_MEMORY;
    out->capture = c;
    c->refs++;
    return WEIR_CAPTURE_OK;
}

void weir_model_captured_by_launch(struct weir_model_captured *out, enum weir_launch_event event)
{
    if (out->ends.count == 1) /* the launch */
        out->ends.items[0].data = weir_model_launch_event_rule(event).edge;
}

void weir_model_captured_drop(struct weir_model_captured *e)
{
    if (!e->capture)
        return;
    weir_model_edges_finish(&e->ends, &e->capture->all->memory);
    unref(e->capture);
    e->capture = NULL;
}

/* A wait in a stream that captures. */
static enum weir_capture_result wait_inside(struct weir_model_member *m,
                                            struct weir_model_captured *e, bool recorded,
                                            const struct weir_capture_caller *caller)
{
    struct weir_model_capture *c = m->capture, *other = e->capture;
    enum weir_capture_result result = WEIR_CAPTURE_OK;

    if (c->status != WEIR_CAPTURE_ACTIVE)
        return WEIR_CAPTURE_ERR_INVALIDATED;
    if (!other && recorded)
        result = WEIR_CAPTURE_ERR_ISOLATION; /* outside of it */
    else if (other && other->status != WEIR_CAPTURE_ACTIVE)
        result = WEIR_CAPTURE_ERR_INVALID_VALUE;
    else if (other && other != c)
        result = WEIR_CAPTURE_ERR_MERGE;
    if (result != WEIR_CAPTURE_OK) {
        invalidate(c, CAP_WAIT, result, caller);
        if (result == WEIR_CAPTURE_ERR_MERGE)
            invalidate(other, CAP_WAIT, result, caller);
        return result;
    }
    if (other && !merge_edges(&m->ends, e->ends.items, e->ends.count, &c->all->memory))
        return WEIR_CAPTURE_ERR_NO_MEMORY;
    return WEIR_CAPTURE_OK;
}

enum weir_capture_result weir_model_capture_wait(struct weir_model_member *member,
                                                 const struct weir_model_stream *stream,
                                                 struct weir_model_captured *e, bool recorded,
                                                 const struct weir_capture_caller *caller,
                                                 bool *outside)
{
    struct weir_model_capture *c = e->capture;

    *outside = false;
    if (member->capture) /* CAP-021 */
        return wait_inside(member, e, recorded, caller);
    if (!c) {
        *outside = true;
        return WEIR_CAPTURE_OK;
    }
    if (c->status != WEIR_CAPTURE_ACTIVE)
        return WEIR_CAPTURE_ERR_INVALID_VALUE;
    if (stream->cls == WEIR_STREAM_LEGACY) {
        invalidate(c, CAP_LEGACY, WEIR_CAPTURE_ERR_IMPLICIT, caller);
        return WEIR_CAPTURE_ERR_IMPLICIT;
    }
    weir_model_edges_init(&member->ends);
    if (!copy_edges(&member->ends, &e->ends, &c->all->memory))
        return WEIR_CAPTURE_ERR_NO_MEMORY;
    enter(c, member, stream, false);
    return WEIR_CAPTURE_OK;
}

enum weir_capture_result weir_model_capture_wait_external(struct weir_model_member *member,
                                                          const struct weir_model_captured *e,
                                                          const struct weir_capture_caller *caller)
{
    bool dead = e->capture && e->capture->status != WEIR_CAPTURE_ACTIVE;

    if (!member->capture)
        return dead ? WEIR_CAPTURE_ERR_INVALID_VALUE : WEIR_CAPTURE_ERR_ILLEGAL_STATE;
    if (member->capture->status != WEIR_CAPTURE_ACTIVE)
        return WEIR_CAPTURE_ERR_INVALIDATED;
    if (dead) { /* CAP-022 */
        invalidate(member->capture, CAP_WAIT_EXTERNAL, WEIR_CAPTURE_ERR_INVALID_VALUE, caller);
        return WEIR_CAPTURE_ERR_INVALID_VALUE;
    }
    return WEIR_CAPTURE_OK;
}

enum weir_capture_result weir_model_captured_ask(struct weir_model_captured *e, bool breaks,
                                                 const struct weir_capture_caller *caller)
{
    struct weir_model_capture *c = e->capture;

    if (!c)
        return WEIR_CAPTURE_OK;
    if (c->status != WEIR_CAPTURE_ACTIVE)
        return WEIR_CAPTURE_ERR_INVALID_VALUE;
    if (breaks) /* CAP-023 */
        invalidate(c, CAP_ASK_EVENT, WEIR_CAPTURE_ERR_CAPTURED_EVENT, caller);
    return WEIR_CAPTURE_ERR_CAPTURED_EVENT;
}

/* ---- what is forbidden meanwhile ---- */

static bool minds_unsafe(const struct weir_model_capture *c,
                         const struct weir_capture_caller *caller)
{
    /* CAP-010: what the capture was begun as, and what the calling thread is set to. */
    switch ((enum weir_capture_mode)caller->mode) {
    case WEIR_CAPTURE_RELAXED:
        return false;
    case WEIR_CAPTURE_THREAD_LOCAL:
        return c->thread == caller->thread && c->mode != WEIR_CAPTURE_RELAXED;
    case WEIR_CAPTURE_GLOBAL:
        break;
    }
    return c->mode == WEIR_CAPTURE_GLOBAL ||
           (c->thread == caller->thread && c->mode != WEIR_CAPTURE_RELAXED);
}

static bool has_member(const struct weir_model_capture *c, int device, bool blocking)
{
    for (const struct weir_model_member *m = c->members; m; m = m->next)
        if (m->stream->device == device && (!blocking || is_blocking(m->stream)))
            return true;
    return false;
}

static bool minds(const struct weir_model_capture *c, uint16_t rule, int device,
                  const struct weir_capture_caller *caller)
{
    if (rule == CAP_UNSAFE)
        return minds_unsafe(c, caller);
    return has_member(c, device, rule == CAP_LEGACY); /* CAP-011, CAP-013 */
}

/* Every capture that minds is broken. */
static enum weir_capture_result forbid(struct weir_model_captures *all, uint16_t rule, int device,
                                       bool breaks, const struct weir_capture_caller *caller)
{
    enum weir_capture_result result =
        rule == CAP_LEGACY ? WEIR_CAPTURE_ERR_IMPLICIT : WEIR_CAPTURE_ERR_UNSUPPORTED;
    bool found = false;

    for (struct weir_model_capture *c = all->first; c; c = c->next) {
        if (!minds(c, rule, device, caller))
            continue;
        found = true;
        if (breaks)
            invalidate(c, rule, result, caller);
    }
    return found ? result : WEIR_CAPTURE_OK;
}

enum weir_capture_result weir_model_capture_call(struct weir_model_captures *all,
                                                 enum weir_capture_call call,
                                                 const struct weir_model_stream *stream,
                                                 struct weir_model_member *member, int device,
                                                 const struct weir_capture_caller *caller)
{
    bool legacy = stream && stream->cls == WEIR_STREAM_LEGACY;
    enum weir_capture_result r = WEIR_CAPTURE_OK;

    if (call == WEIR_CAPTURE_CALL_UNSAFE)
        return forbid(all, CAP_UNSAFE, device, true, caller);
    if (call == WEIR_CAPTURE_CALL_DEVICE_WAIT)
        return forbid(all, CAP_DEVICE_WAIT, device, true, caller);
    if (member && member->capture) {
        if (call != WEIR_CAPTURE_CALL_STREAM_WAIT && call != WEIR_CAPTURE_CALL_REFUSED)
            return WEIR_CAPTURE_OK;
        invalidate(member->capture, CAP_REFUSED, WEIR_CAPTURE_ERR_UNSUPPORTED,
                   caller); /* CAP-012 */
        return WEIR_CAPTURE_ERR_UNSUPPORTED;
    }
    if (legacy && call != WEIR_CAPTURE_CALL_REFUSED)
        r = forbid(all, CAP_LEGACY, stream->device, call != WEIR_CAPTURE_CALL_LEGACY_ASK, caller);
    if (r == WEIR_CAPTURE_OK &&
        (call == WEIR_CAPTURE_CALL_STREAM_WAIT || call == WEIR_CAPTURE_CALL_ALLOC_ASYNC))
        r = forbid(all, CAP_UNSAFE, device, true, caller);
    return r;
}
