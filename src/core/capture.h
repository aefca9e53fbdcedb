/* Stream capture for the calls: what a capturing stream is given becomes nodes of a graph, and what
 * must not happen meanwhile is refused. The rules are model/capture.h's.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every hook in a call begins with weir_capture_any(), one relaxed load. */
#ifndef WEIR_CORE_CAPTURE_H
#define WEIR_CORE_CAPTURE_H

#include "core/graph.h"
#include "core/pool.h"
#include "model/capture.h"

/* Does any stream capture? */
static inline bool weir_capture_any(void)
{
    return WEIR_UNLIKELY(
        atomic_load_explicit(&weir_core.graphs.captures.count, memory_order_relaxed) != 0);
}

/* Is s one of them? Exact for the thread that captures. */
static inline bool weir_capture_is(const struct weir_stream *s)
{
    return atomic_load_explicit(&s->captures, memory_order_relaxed);
}

/* ---- captures (capture.c) ---- */

/* g NULL: into a new graph. deps as in weir_graph_add. Errors: ILLEGAL_STATE, INVALID_VALUE,
 * STREAM_CAPTURE_UNSUPPORTED, STREAM_CAPTURE_IMPLICIT, MEMORY_ALLOCATION. */
enum weir_err weir_capture_begin(struct weir_stream *s, struct weir_graph *g, void *const *deps,
                                 const struct weir_edge_data *data, size_t count,
                                 int mode) WEIR_MUST_CHECK;
/* *out NULL on errors. out NULL: a graph that the capture made is dropped. */
enum weir_err weir_capture_end(struct weir_stream *s, struct weir_graph **out) WEIR_MUST_CHECK;
/* s is being destroyed. */
void weir_capture_leave(struct weir_stream *s);

struct weir_capture_info {
    enum weir_capture_status status;
    uint64_t id;
    struct weir_graph *graph;
    size_t count;
    void *const *nodes; /* what the next node would follow; good until the stream's */
    const struct weir_edge_data *data; /* next capture call */
    bool special;                      /* some data is not zero */
};
/* Errors: STREAM_CAPTURE_IMPLICIT (legacy stream), MEMORY_ALLOCATION. */
enum weir_err weir_capture_info(struct weir_stream *s,
                                struct weir_capture_info *out) WEIR_MUST_CHECK;
enum weir_err weir_capture_update(struct weir_stream *s, void *const *nodes,
                                  const struct weir_edge_data *data, size_t count,
                                  bool set) WEIR_MUST_CHECK;
/* The calling thread's mode; *mode gets the one before. A number that is none is kept out silently,
 * as measured. */
void weir_capture_exchange_mode(int *mode);

/* ---- hooks of calls ---- */

/* The table of what is forbidden; `call` names the API function. s may be NULL. */
enum weir_err weir_capture_forbid_slow(enum weir_capture_call sort, struct weir_stream *s,
                                       const char *call) WEIR_MUST_CHECK;
static inline enum weir_err weir_capture_forbid(enum weir_capture_call sort, struct weir_stream *s,
                                                const char *call)
{
    return weir_capture_any() ? weir_capture_forbid_slow(sort, s, call) : WEIR_OK;
}

/* A call of the API has failed in this thread. If it broke captures, their errors name it so from
 * now on, with the place in the program, `site`, to which it returns. */
void weir_capture_blame_slow(const char *call, const void *site);
static inline void weir_capture_blame(const char *call, const void *site)
{
    if (weir_capture_any())
        weir_capture_blame_slow(call, site);
}

/* Work for s: *taken tells that s captures and now has the node (or an error, which is returned).
 */
enum weir_err weir_capture_take(struct weir_stream *s, struct weir_node_params *params,
                                bool programmatic, const char *call, bool *taken) WEIR_MUST_CHECK;
/* Memory in s's order, from a pool or, when s captures, by a node; freed again, whose ever it is.
 * Errors: those of weir_pool_alloc and weir_pool_free, and of captures. */
enum weir_err weir_capture_alloc(struct weir_pool *p, struct weir_stream *s, size_t bytes,
                                 const char *call, void **out) WEIR_MUST_CHECK;
enum weir_err weir_capture_free(struct weir_stream *s, void *ptr, const char *call) WEIR_MUST_CHECK;
/* The launch has a bad configuration: that breaks a capture (oracle capture_ops_*). */
void weir_capture_bad_launch(struct weir_stream *s);

enum weir_err weir_capture_record(struct weir_stream *s, struct weir_event *e, bool external,
                                  bool *taken) WEIR_MUST_CHECK;
/* The same right behind a kernel, by an attribute of its launch. s captures. */
enum weir_err weir_capture_record_launch(struct weir_stream *s, struct weir_event *e,
                                         enum weir_launch_event event) WEIR_MUST_CHECK;
enum weir_err weir_capture_wait(struct weir_stream *s, struct weir_event *e, bool external,
                                bool *taken) WEIR_MUST_CHECK;
/* Query, synchronise (breaks) or elapsed time of an event that may be a captured one. */
enum weir_err weir_capture_ask(struct weir_event *e, bool breaks, const char *call) WEIR_MUST_CHECK;
/* e is recorded outside of captures, or destroyed. */
void weir_capture_forget_slow(struct weir_event *e);
/* The same; the graphs' lock is held. */
void weir_capture_forget_locked(struct weir_event *e);
static inline void weir_capture_forget(struct weir_event *e)
{
    if (WEIR_UNLIKELY(atomic_load_explicit(&e->captured, memory_order_relaxed) != NULL))
        weir_capture_forget_slow(e);
}

#endif
