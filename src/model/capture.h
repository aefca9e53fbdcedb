/* Stream capture: the same edges that a stream would have executed, recorded into a graph. Which
 * streams take part, what events stand for, what is forbidden meanwhile to whom, and what is left
 * when it is broken. Rules: docs/rules/GRAPH.md (CAP-nnn).
 * SPDX-License-Identifier: Apache-2.0
 *
 * Pure. The caller serialises everything here by one lock (GRAPH in core): captures are rare, and
 * `count` tells without it that there is none. */
#ifndef WEIR_MODEL_CAPTURE_H
#define WEIR_MODEL_CAPTURE_H

#include "model/dependent.h"
#include "model/graph.h"

/* Numbers as programs see them. */
enum weir_capture_mode {
    WEIR_CAPTURE_GLOBAL,
    WEIR_CAPTURE_THREAD_LOCAL,
    WEIR_CAPTURE_RELAXED,
};

enum weir_capture_status { WEIR_CAPTURE_NONE, WEIR_CAPTURE_ACTIVE, WEIR_CAPTURE_INVALIDATED };

/* What a call gets. From UNSUPPORTED to WRONG_THREAD: errors 900 to 908, in order. */
enum weir_capture_result {
    WEIR_CAPTURE_OK,
    WEIR_CAPTURE_ERR_UNSUPPORTED,
    WEIR_CAPTURE_ERR_INVALIDATED,
    WEIR_CAPTURE_ERR_MERGE,
    WEIR_CAPTURE_ERR_UNMATCHED,
    WEIR_CAPTURE_ERR_UNJOINED,
    WEIR_CAPTURE_ERR_ISOLATION,
    WEIR_CAPTURE_ERR_IMPLICIT,
    WEIR_CAPTURE_ERR_CAPTURED_EVENT,
    WEIR_CAPTURE_ERR_WRONG_THREAD,
    WEIR_CAPTURE_ERR_ILLEGAL_STATE,
    WEIR_CAPTURE_ERR_INVALID_VALUE,
    WEIR_CAPTURE_ERR_NO_MEMORY,
};

/* Sorts of calls that a capture minds. */
enum weir_capture_call {
    /* Calls that may synchronise or that touch what a replay may use: allocation, freeing, limits,
     * instantiation, queries of events and of streams outside. CAP-010 */
    WEIR_CAPTURE_CALL_UNSAFE,
    /* Waits for a whole device. CAP-011 */
    WEIR_CAPTURE_CALL_DEVICE_WAIT,
    /* Queries or waits for one stream: the capturing one CAP-012, legacy CAP-013, others CAP-010 */
    WEIR_CAPTURE_CALL_STREAM_WAIT,
    /* What a capturing stream cannot take or tell: callbacks, launches of graphs, its id ...
     * CAP-012
     */
    WEIR_CAPTURE_CALL_REFUSED,
    /* Work for the legacy stream. CAP-013 */
    WEIR_CAPTURE_CALL_LEGACY_WORK,
    /* Asks whether the legacy stream captures: as CAP-013, but nothing is invalidated. */
    WEIR_CAPTURE_CALL_LEGACY_ASK,
    /* Stream-ordered allocation: CAP-013 in the legacy stream, CAP-010 in others outside. */
    WEIR_CAPTURE_CALL_ALLOC_ASYNC,
};

/* Who broke a capture. */
struct weir_capture_blame {
    uint64_t thread;
    const char *call; /* the caller's text, of static life; NULL while valid */
    const void *site; /* where in the program it stands: the caller's to set, NULL unknown */
    uint16_t rule;    /* the n of CAP-n */
    uint8_t result;   /* enum weir_capture_result of that call */
};

struct weir_model_member;

struct weir_model_capture {
    struct weir_model_captures *all;
    struct weir_model_capture *next, *prev; /* while it has not ended */
    struct weir_model_graph *graph;
    struct weir_model_member *members; /* the origin is the last */
    struct weir_model_edges left;      /* ends of streams that were destroyed */
    struct weir_capture_blame blame;
    uint64_t id, thread;
    uint32_t refs; /* of members and events */
    uint8_t mode;
    uint8_t status; /* NONE: ended */
};

/* A stream in a capture; the caller's memory, from begin or join until `gone` is called for it. */
struct weir_model_member {
    struct weir_model_capture *capture; /* NULL: takes no part */
    struct weir_model_member *next, *prev;
    struct weir_model_edges ends; /* what the next node will depend on */
    const struct weir_model_stream *stream;
    bool origin;
};

/* What an event stands for after a record in a capturing stream. */
struct weir_model_captured {
    struct weir_model_capture *capture;
    struct weir_model_edges ends;
};

struct weir_model_captures {
    struct weir_model_memory memory;
    struct weir_model_capture *first;
    _Atomic uint32_t count; /* captures that have not ended; written under the lock */
    uint64_t last_id;
    /* The stream of this member takes no part any more; called for each when a capture ends. */
    void (*gone)(void *ctx, struct weir_model_member *member);
    /* A capture has ended without a graph for anybody: `graph` is the caller's again. */
    void *ctx;
};

/* The calling thread. */
struct weir_capture_caller {
    uint64_t thread;
    uint8_t mode;     /* enum weir_capture_mode: cudaThreadExchangeStreamCaptureMode */
    const char *call; /* for the blame */
};

void weir_model_captures_init(struct weir_model_captures *all,
                              const struct weir_model_memory *memory);

/* CAP-001. `member` is zeroed or has left. Errors: UNSUPPORTED (legacy stream), IMPLICIT (legacy,
 * CAP-013), ILLEGAL_STATE (captures already), INVALID_VALUE (mode). deps: where the capture begins
 * in `graph`. */
enum weir_capture_result
weir_model_capture_begin(struct weir_model_captures *all, struct weir_model_member *member,
                         const struct weir_model_stream *stream, struct weir_model_graph *graph,
                         enum weir_capture_mode mode, const struct weir_model_edge *deps,
                         size_t count, const struct weir_capture_caller *caller);

/* CAP-002: ends the capture of which `member` is the origin. *graph: the graph that was captured
 * into, also on errors (then the caller throws it away if it is its own); NULL when the capture
 * goes on (UNMATCHED, ILLEGAL_STATE). *blame (may be NULL) says who broke it. */
enum weir_capture_result weir_model_capture_end(struct weir_model_member *member,
                                                const struct weir_capture_caller *caller,
                                                struct weir_model_graph **graph,
                                                struct weir_capture_blame *blame);

/* CAP-003: the stream is destroyed. *graph: as above, when it was the origin. */
void weir_model_capture_leave(struct weir_model_member *member, struct weir_model_graph **graph);

/* ---- operations in a capturing stream ---- */

enum weir_capture_status weir_model_member_status(const struct weir_model_member *member);

/* INVALIDATED when the capture is broken (CAP-014), else OK: a node may be added behind
 * member->ends. */
enum weir_capture_result weir_model_capture_check(const struct weir_model_member *member);
/* `node`, just added to the graph behind member->ends, is the stream's end now. ORD-001 */
enum weir_capture_result weir_model_capture_node(struct weir_model_member *member,
                                                 struct weir_model_node *node);
/* The stream's next node is a launch with cudaLaunchAttributeProgrammaticStreamSerialization: the
 * edges to it from kernels are programmatic, those from others stay (GRA-004, ORD-031). */
void weir_model_capture_programmatic(struct weir_model_member *member);
/* cudaStreamUpdateCaptureDependencies. `set`: in place of the present ones. */
enum weir_capture_result weir_model_capture_update(struct weir_model_member *member,
                                                   const struct weir_model_edge *ends, size_t count,
                                                   bool set);
/* Breaks it: the call failed in a way that leaves the recorded order incomplete. */
void weir_model_capture_break(struct weir_model_member *member, uint16_t rule,
                              enum weir_capture_result result,
                              const struct weir_capture_caller *caller);

/* ---- events ---- */

/* CAP-020: record in a capturing stream. `out` is zeroed or holds an earlier one. */
enum weir_capture_result weir_model_capture_record(struct weir_model_member *member,
                                                   struct weir_model_captured *out);
/* `out` was recorded by the launch just captured, as one of its attributes said. */
void weir_model_captured_by_launch(struct weir_model_captured *out, enum weir_launch_event event);
/* The event was recorded outside, or destroyed. */
void weir_model_captured_drop(struct weir_model_captured *e);
/* A wait in `stream` (its member zeroed or in a capture) for a captured event: joins the stream to
 * the capture or adds to its ends (CAP-021). `recorded`: outside of captures; then, and when never
 * recorded, e->capture is NULL. *outside: nothing to do here, the wait is an ordinary one. */
enum weir_capture_result weir_model_capture_wait(struct weir_model_member *member,
                                                 const struct weir_model_stream *stream,
                                                 struct weir_model_captured *e, bool recorded,
                                                 const struct weir_capture_caller *caller,
                                                 bool *outside);
/* May the event be waited for by an external wait node in member's capture (CAP-022)? */
enum weir_capture_result weir_model_capture_wait_external(struct weir_model_member *member,
                                                          const struct weir_model_captured *e,
                                                          const struct weir_capture_caller *caller);
/* The host asks about an event (CAP-023): query and synchronise break the capture, elapsed does
 * not. OK: no captured one. */
enum weir_capture_result weir_model_captured_ask(struct weir_model_captured *e, bool breaks,
                                                 const struct weir_capture_caller *caller);

/* ---- what is forbidden meanwhile ---- */

/* The one table of CAP-010 to CAP-013. `stream` and `member` (may be zeroed): what the call is
 * about, NULL when about none; `device` the call's device. */
enum weir_capture_result weir_model_capture_call(struct weir_model_captures *all,
                                                 enum weir_capture_call call,
                                                 const struct weir_model_stream *stream,
                                                 struct weir_model_member *member, int device,
                                                 const struct weir_capture_caller *caller);

#endif
