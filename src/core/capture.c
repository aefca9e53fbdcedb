/* SPDX-License-Identifier: Apache-2.0 */
#include "core/capture.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "check/check.h"
#include "core/graph_int.h"
#include "trace/symbols.h"

/* ---- errors ---- */

static enum weir_err code_of(enum weir_capture_result r)
{
    switch (r) {
    case WEIR_CAPTURE_OK:
        return WEIR_OK;
    case WEIR_CAPTURE_ERR_ILLEGAL_STATE:
        return WEIR_ERR_ILLEGAL_STATE;
    case WEIR_CAPTURE_ERR_INVALID_VALUE:
        return WEIR_ERR_INVALID_VALUE;
    case WEIR_CAPTURE_ERR_NO_MEMORY:
        return WEIR_ERR_MEMORY_ALLOCATION;
    default:
        return (enum weir_err)(WEIR_ERR_STREAM_CAPTURE_UNSUPPORTED +
                               ((int)r - (int)WEIR_CAPTURE_ERR_UNSUPPORTED));
    }
}

static enum weir_err fail(enum weir_capture_result r, const char *call)
{
    return r == WEIR_CAPTURE_OK ? WEIR_OK
                                : WEIR_FAIL(code_of(r), "%s while a stream captures", call);
}

/* The text of a place in the program; the last one is kept, since a broken capture may be asked
 * about often. No lock is held. */
static void describe_site(const void *site, char *out, size_t room)
{
    struct weir_graph_blamed *last = &weir_core.graphs.blamed;
    bool known;

    weir_lock_acquire(&last->lock);
    known = last->site == site;
    if (known)
        snprintf(out, room, "%s", last->text);
    weir_lock_release(&last->lock);
    if (known)
        return;
    weir_trace_describe_here(site, out, room);
    weir_lock_acquire(&last->lock);
    snprintf(last->text, sizeof last->text, "%s", out);
    last->site = site;
    weir_lock_release(&last->lock);
}

/* Says who broke it: which call, in which thread, at which place, by which rule. No lock is held:
 * to find the place may load libraries. */
static enum weir_err fail_blaming(enum weir_capture_result r, const struct weir_capture_blame *b)
{
    char site[128] = "an unknown place";

    if (r != WEIR_CAPTURE_ERR_INVALIDATED || !b->call)
        return fail(r, "ending or using a capture");
    if (b->site)
        describe_site(b->site, site, sizeof site);
    weir_log(WEIR_LOG_INFO, "a capture was broken by %s at %s in thread %llu (CAP-%03u: %s)",
             b->call, site, (unsigned long long)b->thread, b->rule,
             weir_err_name((int)code_of((enum weir_capture_result)b->result)));
    return WEIR_FAIL(code_of(r), "the capture was broken by %s at %s in thread %llu (CAP-%03u: %s)",
                     b->call, site, (unsigned long long)b->thread, b->rule,
                     weir_err_name((int)code_of((enum weir_capture_result)b->result)));
}

void weir_capture_blame_slow(const char *call, const void *site)
{
    weir_graphs_lock();
    for (struct weir_model_capture *c = weir_core.graphs.captures.first; c; c = c->next) {
        struct weir_capture_blame *b = &c->blame;

        if (b->call && !b->site && b->thread == weir_thread.number) {
            b->call = call;
            b->site = site;
        }
    }
    weir_graphs_unlock();
}

static struct weir_capture_caller caller(const char *call)
{
    if (WEIR_UNLIKELY(!weir_thread.number))
        weir_thread.number = atomic_fetch_add(&weir_core.graphs.next_thread, 1) + 1;
    return (struct weir_capture_caller){weir_thread.number, weir_thread.capture_mode, call};
}

/* ---- captures ---- */

/* model: a stream takes no part any more. */
static void member_gone(void *ctx, struct weir_model_member *member)
{
    (void)ctx;
    atomic_store_explicit(&WEIR_CONTAINER_OF(member, struct weir_stream, member)->captures, false,
                          memory_order_relaxed);
}

static void note_member(struct weir_stream *s)
{
    if (s->member.capture)
        atomic_store_explicit(&s->captures, true, memory_order_relaxed);
}

static enum weir_err begin_locked(struct weir_stream *s, struct weir_graph *g,
                                  const struct weir_model_edge *deps, size_t count, int mode)
{
    struct weir_capture_caller me = caller("cudaStreamBeginCapture");
    struct weir_graph *own = NULL;
    enum weir_capture_result r;

    weir_core.graphs.captures.gone = member_gone;
    if (!g) {
        g = own = weir_graph_new_locked();
        if (!g)
            return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "too many graphs");
    }
    for (size_t i = 0; i < count; i++) {
        if (deps[i].node->graph != &g->m)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "a capture behind a node of another graph");
    }
    r = g->capturing
            ? WEIR_CAPTURE_ERR_INVALID_VALUE
            : weir_model_capture_begin(&weir_core.graphs.captures, &s->member, &s->m, &g->m,
                                       (enum weir_capture_mode)mode, deps, count, &me);
    if (r != WEIR_CAPTURE_OK) {
        if (own)
            weir_graph_free_locked(own);
        return fail(r, "cudaStreamBeginCapture");
    }
    g->capturing = true;
    g->by_capture = own != NULL;
    note_member(s);
    return WEIR_OK;
}

/* Handles to edges; heap. */
static enum weir_err collect(void *const *nodes, const struct weir_edge_data *data, size_t count,
                             struct weir_model_edge **out)
{
    *out = NULL;
    if (!count)
        return WEIR_OK;
    if (!nodes)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%zu dependencies at NULL", count);
    *out = weir_alloc(count * sizeof **out);
    if (!*out)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "%zu dependencies", count);
    for (size_t i = 0; i < count; i++) {
        struct weir_node *n;
        enum weir_err err = weir_node_get(nodes[i], &n);

        if (err != WEIR_OK) {
            weir_free(*out);
            *out = NULL;
            return err;
        }
        (*out)[i] = (struct weir_model_edge){&n->m, data ? data[i] : (struct weir_edge_data){0}};
    }
    return WEIR_OK;
}

enum weir_err weir_capture_begin(struct weir_stream *s, struct weir_graph *g, void *const *deps,
                                 const struct weir_edge_data *data, size_t count, int mode)
{
    struct weir_model_edge *edges;
    enum weir_err err = collect(deps, data, count, &edges);

    if (err != WEIR_OK)
        return err;
    weir_graphs_lock();
    err = begin_locked(s, g, edges, count, mode);
    weir_graphs_unlock();
    if (weir_check_enabled() && err == WEIR_OK)
        weir_check_capture(s, true);
    weir_free(edges);
    return err;
}

/* Not wanted by anybody: a graph that the capture made goes, the program's own stays. */
static void drop_graph_locked(struct weir_graph *g)
{
    g->capturing = false;
    if (g->by_capture)
        weir_graph_free_locked(g);
}

enum weir_err weir_capture_end(struct weir_stream *s, struct weir_graph **out)
{
    struct weir_capture_caller me = caller("cudaStreamEndCapture");
    struct weir_capture_blame blame = {0};
    struct weir_model_graph *m;
    enum weir_capture_result r;

    if (out)
        *out = NULL;
    weir_graphs_lock();
    r = weir_model_capture_end(&s->member, &me, &m, &blame);
    if (m && out && r == WEIR_CAPTURE_OK) {
        *out = weir_graph_of(m);
        (*out)->capturing = (*out)->by_capture = false;
    } else if (m) {
        drop_graph_locked(weir_graph_of(m));
    }
    weir_graphs_unlock();
    if (weir_check_enabled() && r == WEIR_CAPTURE_OK)
        weir_check_captured(s);
    if (weir_check_enabled() && m)
        weir_check_capture(s, false);
    if (weir_check_enabled() && out && *out)
        weir_check_object(*out, "graph");
    return r == WEIR_CAPTURE_OK ? WEIR_OK : fail_blaming(r, &blame);
}

void weir_capture_leave(struct weir_stream *s)
{
    struct weir_model_graph *m;

    if (weir_check_enabled())
        weir_check_capture(s, false);
    weir_graphs_lock();
    weir_model_capture_leave(&s->member, &m);
    if (m)
        drop_graph_locked(weir_graph_of(m));
    weir_graphs_unlock();
}

/* The lists live with the capture's graph: they are the stream's until its next capture call. */
static enum weir_err list_ends(struct weir_stream *s, struct weir_capture_info *out)
{
    const struct weir_model_edges *ends = &s->member.ends;
    struct weir_graph *g = out->graph;
    size_t bytes = ends->count * (sizeof(void *) + sizeof(struct weir_edge_data)) + 1;
    void *memory = weir_realloc(g->info, bytes);
    struct weir_edge_data *data;

    if (!memory)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "dependencies of a capture");
    g->info = memory;
    data = (struct weir_edge_data *)((void **)memory + ends->count);
    for (uint32_t i = 0; i < ends->count; i++) {
        ((void **)memory)[i] = weir_node_of(ends->items[i].node);
        data[i] = ends->items[i].data;
        out->special = out->special || data[i].type || data[i].from_port;
    }
    out->count = ends->count;
    out->nodes = memory;
    out->data = data;
    return WEIR_OK;
}

enum weir_err weir_capture_info(struct weir_stream *s, struct weir_capture_info *out)
{
    enum weir_err err = WEIR_OK;

    memset(out, 0, sizeof *out);
    if (!weir_capture_any())
        return WEIR_OK;
    err = weir_capture_forbid_slow(WEIR_CAPTURE_CALL_LEGACY_ASK, s, "cudaStreamIsCapturing");
    if (err != WEIR_OK)
        return err;
    weir_graphs_lock();
    out->status = weir_model_member_status(&s->member);
    if (out->status == WEIR_CAPTURE_ACTIVE) {
        out->id = s->member.capture->id;
        out->graph = weir_graph_of(s->member.capture->graph);
        err = list_ends(s, out);
    }
    weir_graphs_unlock();
    return err;
}

enum weir_err weir_capture_update(struct weir_stream *s, void *const *nodes,
                                  const struct weir_edge_data *data, size_t count, bool set)
{
    struct weir_model_edge *edges;
    enum weir_capture_result r;
    enum weir_err err = collect(nodes, data, count, &edges);

    if (err != WEIR_OK)
        return weir_capture_is(s)
                   ? err
                   : WEIR_FAIL(WEIR_ERR_ILLEGAL_STATE, "the stream does not capture");
    weir_graphs_lock();
    r = weir_model_capture_update(&s->member, edges, count, set);
    weir_graphs_unlock();
    weir_free(edges);
    return fail(r, "cudaStreamUpdateCaptureDependencies");
}

void weir_capture_exchange_mode(int *mode)
{
    int now = weir_thread.capture_mode;

    if (*mode >= WEIR_CAPTURE_GLOBAL && *mode <= WEIR_CAPTURE_RELAXED)
        weir_thread.capture_mode = (uint8_t)*mode;
    *mode = now;
}

/* ---- hooks ---- */

/* CAP-016: work that runs at once while the same thread captures: easily taken for a part of the
 * graph. */
static void note_outside(const char *call)
{
    const struct weir_model_capture *c;
    uint64_t me = weir_thread.number;
    bool own = false;

    if (WEIR_LIKELY(weir_log_level() < WEIR_LOG_INFO) || !me)
        return;
    weir_graphs_lock();
    for (c = weir_core.graphs.captures.first; c && !own; c = c->next)
        own = c->thread == me;
    weir_graphs_unlock();
    if (own)
        weir_log(WEIR_LOG_INFO,
                 "note: %s runs at once, during a capture of its thread: it is not in the graph",
                 call);
}

/* Allowed beside a capture; and is it more than a question? Work in streams comes to
 * weir_capture_take. */
static bool does_work(enum weir_capture_call sort, const char *call)
{
    static const char *const work[] = {"Malloc", "Alloc", "Free", "Memcpy", "Memset", "MemCreate"};

    for (size_t i = 0; sort == WEIR_CAPTURE_CALL_UNSAFE && i < WEIR_ARRAY_SIZE(work); i++)
        if (strstr(call, work[i]))
            return true;
    return false;
}

enum weir_err weir_capture_forbid_slow(enum weir_capture_call sort, struct weir_stream *s,
                                       const char *call)
{
    struct weir_capture_caller me = caller(call);
    enum weir_capture_result r;

    weir_graphs_lock();
    r = weir_model_capture_call(&weir_core.graphs.captures, sort, s ? &s->m : NULL,
                                s ? &s->member : NULL, s ? s->ctx->index : weir_thread.context,
                                &me);
    weir_graphs_unlock();
    if (r == WEIR_CAPTURE_OK && does_work(sort, call))
        note_outside(call);
    return fail(r, call);
}

/* *blame: who broke the capture, when that is the error. */
static enum weir_err take_locked(struct weir_stream *s, struct weir_node_params *params,
                                 bool programmatic, struct weir_capture_blame *blame)
{
    struct weir_model_member *m = &s->member;
    enum weir_capture_result r = weir_model_capture_check(m);
    struct weir_node *n;
    enum weir_err err;

    if (r != WEIR_CAPTURE_OK) {
        *blame = m->capture->blame;
        return code_of(r);
    }
    params->captured = true;
    if (programmatic)
        weir_model_capture_programmatic(m);
    err = weir_graph_append_locked(weir_graph_of(m->capture->graph), s->ctx, params, m->ends.items,
                                   m->ends.count, &n);
    if (err != WEIR_OK)
        return err;
    if (params->kind == WEIR_NODE_KERNEL)
        n->kernel.priority = s->priority;
    return fail(weir_model_capture_node(m, &n->m), "a node");
}

enum weir_err weir_capture_take(struct weir_stream *s, struct weir_node_params *params,
                                bool programmatic, const char *call, bool *taken)
{
    struct weir_capture_blame blame = {0};
    enum weir_err err;

    *taken = false;
    if (s->m.cls == WEIR_STREAM_LEGACY) {
        err = weir_capture_forbid_slow(WEIR_CAPTURE_CALL_LEGACY_WORK, s, call);
        if (err == WEIR_OK)
            note_outside(call);
        return err;
    }
    if (!weir_capture_is(s)) {
        note_outside(call);
        return WEIR_OK;
    }
    weir_graphs_lock();
    *taken = s->member.capture != NULL;
    err = *taken ? take_locked(s, params, programmatic, &blame) : WEIR_OK;
    weir_graphs_unlock();
    return blame.call ? fail_blaming(WEIR_CAPTURE_ERR_INVALIDATED, &blame) : err;
}

enum weir_err weir_capture_alloc(struct weir_pool *p, struct weir_stream *s, size_t bytes,
                                 const char *call, void **out)
{
    struct weir_node_params node = {.kind = WEIR_NODE_MEM_ALLOC,
                                    .alloc = {.device = s->ctx->ordinal, .bytes = bytes}};
    enum weir_err err;
    bool taken = false;

    if (weir_capture_any()) {
        err = weir_capture_forbid_slow(WEIR_CAPTURE_CALL_ALLOC_ASYNC, s, call);
        if (err == WEIR_OK)
            err = weir_capture_take(s, &node, false, call, &taken);
        if (err != WEIR_OK)
            return err;
    }
    if (!taken)
        return weir_pool_alloc(p, s, bytes, out);
    *out = node.alloc.ptr;
    return WEIR_OK;
}

enum weir_err weir_capture_free(struct weir_stream *s, void *ptr, const char *call)
{
    struct weir_node_params node = {.kind = WEIR_NODE_MEM_FREE, .free = ptr};
    enum weir_err err;
    bool taken = false;

    if (weir_capture_any()) {
        err = weir_capture_take(s, &node, false, call, &taken);
        if (err != WEIR_OK || taken)
            return err;
    }
    return weir_graph_mem_is(ptr) ? weir_graph_mem_free(ptr, s) : weir_pool_free(s, ptr);
}

void weir_capture_bad_launch(struct weir_stream *s)
{
    struct weir_capture_caller me = caller("a launch with a bad configuration");

    if (!weir_capture_is(s))
        return;
    weir_graphs_lock();
    weir_model_capture_break(&s->member, 15, WEIR_CAPTURE_ERR_INVALID_VALUE, &me); /* CAP-015 */
    weir_graphs_unlock();
}

/* ---- events ---- */

static struct weir_model_captured *captured_of(struct weir_event *e)
{
    return atomic_load_explicit(&e->captured, memory_order_relaxed);
}

/* *blame as in take_locked. */
static enum weir_err record_locked(struct weir_stream *s, struct weir_event *e,
                                   struct weir_capture_blame *blame)
{
    struct weir_model_captured *c = captured_of(e);
    enum weir_capture_result r;

    if (!c) {
        c = weir_calloc(1, sizeof *c);
        if (!c)
            return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a captured event");
    }
    r = weir_model_capture_record(&s->member, c);
    if (r != WEIR_CAPTURE_OK && !c->capture) {
        weir_free(c);
        c = NULL;
    }
    atomic_store_explicit(&e->captured, c, memory_order_relaxed);
    if (r == WEIR_CAPTURE_ERR_INVALIDATED)
        *blame = s->member.capture->blame;
    return r == WEIR_CAPTURE_OK || blame->call ? code_of(r) : fail(r, "cudaEventRecord");
}

enum weir_err weir_capture_record(struct weir_stream *s, struct weir_event *e, bool external,
                                  bool *taken)
{
    struct weir_node_params p = {.kind = WEIR_NODE_EVENT_RECORD, .event = e};
    struct weir_capture_blame blame = {0};
    enum weir_err err;

    *taken = false;
    if (external && weir_capture_is(s))
        return weir_capture_take(s, &p, false, "cudaEventRecordWithFlags", taken);
    if (s->m.cls == WEIR_STREAM_LEGACY)
        return weir_capture_forbid_slow(WEIR_CAPTURE_CALL_LEGACY_WORK, s, "cudaEventRecord");
    if (!weir_capture_is(s))
        return WEIR_OK;
    weir_graphs_lock();
    *taken = s->member.capture != NULL;
    err = *taken ? record_locked(s, e, &blame) : WEIR_OK;
    weir_graphs_unlock();
    return blame.call ? fail_blaming(WEIR_CAPTURE_ERR_INVALIDATED, &blame) : err;
}

enum weir_err weir_capture_record_launch(struct weir_stream *s, struct weir_event *e,
                                         enum weir_launch_event event)
{
    struct weir_capture_blame blame = {0};
    struct weir_model_captured *c;
    enum weir_err err = WEIR_OK;

    weir_graphs_lock();
    if (s->member.capture)
        err = record_locked(s, e, &blame);
    c = captured_of(e);
    if (err == WEIR_OK && c)
        weir_model_captured_by_launch(c, event);
    weir_graphs_unlock();
    return blame.call ? fail_blaming(WEIR_CAPTURE_ERR_INVALIDATED, &blame) : err;
}

static enum weir_err wait_external_locked(struct weir_stream *s, struct weir_event *e,
                                          struct weir_capture_blame *blame)
{
    static const struct weir_model_captured none;
    struct weir_node_params p = {.kind = WEIR_NODE_EVENT_WAIT, .event = e};
    struct weir_capture_caller me = caller("cudaStreamWaitEvent");
    const struct weir_model_captured *c = captured_of(e);
    enum weir_capture_result r = weir_model_capture_wait_external(&s->member, c ? c : &none, &me);

    return r == WEIR_CAPTURE_OK ? take_locked(s, &p, false, blame) : fail(r, "cudaStreamWaitEvent");
}

enum weir_err weir_capture_wait(struct weir_stream *s, struct weir_event *e, bool external,
                                bool *taken)
{
    struct weir_capture_caller me = caller("cudaStreamWaitEvent");
    struct weir_model_captured none = {0}, *c;
    struct weir_capture_blame blame = {0};
    enum weir_capture_result r;
    enum weir_err err = WEIR_OK;
    bool outside, recorded;

    *taken = false;
    if (!external && s->m.cls == WEIR_STREAM_LEGACY && !captured_of(e))
        return weir_capture_forbid(WEIR_CAPTURE_CALL_LEGACY_WORK, s, "cudaStreamWaitEvent");
    weir_graphs_lock();
    c = captured_of(e);
    if (external) {
        err = wait_external_locked(s, e, &blame);
        *taken = true;
    } else {
        weir_lock_acquire(&e->lock);
        recorded = e->m.recorded;
        weir_lock_release(&e->lock);
        r = weir_model_capture_wait(&s->member, &s->m, c ? c : &none, recorded, &me, &outside);
        note_member(s);
        *taken = !outside;
        err = fail(r, "cudaStreamWaitEvent");
    }
    weir_graphs_unlock();
    return blame.call ? fail_blaming(WEIR_CAPTURE_ERR_INVALIDATED, &blame) : err;
}

enum weir_err weir_capture_ask(struct weir_event *e, bool breaks, const char *call)
{
    struct weir_capture_caller me;
    struct weir_model_captured *c;
    enum weir_capture_result r = WEIR_CAPTURE_OK;

    if (captured_of(e)) {
        me = caller(call);
        weir_graphs_lock();
        c = captured_of(e);
        if (c)
            r = weir_model_captured_ask(c, breaks, &me);
        weir_graphs_unlock();
    }
    if (r == WEIR_CAPTURE_OK && breaks)
        return weir_capture_forbid(WEIR_CAPTURE_CALL_UNSAFE, NULL, call);
    return fail(r, call);
}

void weir_capture_forget_locked(struct weir_event *e)
{
    struct weir_model_captured *c = captured_of(e);

    atomic_store_explicit(&e->captured, NULL, memory_order_relaxed);
    if (c)
        weir_model_captured_drop(c);
    weir_free(c);
}

void weir_capture_forget_slow(struct weir_event *e)
{
    weir_graphs_lock();
    weir_capture_forget_locked(e);
    weir_graphs_unlock();
}
