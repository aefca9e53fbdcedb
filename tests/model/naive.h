/* A second model of CUDA's order, written from the text of docs/rules/ORD.md and not from
 * src/model, which it shares no line with. It remembers every operation ever submitted and answers
 * each question by looking at all of them: slow, and simple enough to be believed. Events capture
 * "the time of the record", streams have no numbers, nothing is forgotten.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TESTS_MODEL_NAIVE_H
#define WEIR_TESTS_MODEL_NAIVE_H

#include <stdbool.h>

enum naive_class { NAIVE_LEGACY, NAIVE_PER_THREAD, NAIVE_BLOCKING, NAIVE_NONBLOCKING };

struct naive_stream {
    int device;
    enum naive_class cls;
    int born; /* operations submitted before it was made */
};

struct naive_event {
    bool recorded;
    int stream; /* recorded in */
    int time;   /* operations submitted before the record (its own included) */
    int front;  /* the last of these in the stream, -1 none */
};

struct naive_op {
    int stream;
    int peer_device; /* a copy between two devices in the legacy streams: the other one; else -1 */
    bool done;
    bool waits;
    struct naive_event wait; /* the event as it was when the wait was submitted */
    bool kernel, asks;       /* asks: launched with the programmatic attribute */
    int front;               /* of those: the operation in front of it in its stream, -1 none */
    bool apart;              /* when launched, pending work of others was in front of it alone */
    bool begun, triggered, ended;
    bool aside; /* a wait, or a record that is no operation of the stream */
    int queue;  /* that it shares with other streams, 0 none */
};

/* The arrays are the caller's. pending: ids of the operations not done, ascending. */
struct naive {
    struct naive_stream *streams;
    struct naive_op *ops;
    int *pending;
    int stream_count, op_count, pending_count;
};

int naive_stream_add(struct naive *n, int device, enum naive_class cls);
int naive_submit(struct naive *n, int stream);
int naive_submit_peer(struct naive *n, int stream, int other_device);
/* A kernel; begun, triggered and ended are set in n->ops by the caller when they happen. */
int naive_launch(struct naive *n, int stream, bool asks);
/* -1: the wait is nothing, no operation is made. */
int naive_wait(struct naive *n, int stream, const struct naive_event *e);
void naive_record(struct naive *n, struct naive_event *e, int stream);
bool naive_event_complete(const struct naive *n, const struct naive_event *e);
void naive_done(struct naive *n, int op);

/* Must op j wait for op i by one rule alone (i before j in time)? */
bool naive_direct(const struct naive *n, int i, int j);
/* Not done, and everything that must precede it is. */
bool naive_ready(const struct naive *n, int j);
/* The kernel in the stream that may begin although it is not ready (ORD-031), -1: none. */
int naive_early(const struct naive *n, int stream);
/* By the documents alone: the newest operation of its stream behind which kernel j, submitted last,
 * stands from its beginning, -1 none. What is behind that one it may overtake (ORD-031). */
int naive_stands_behind(const struct naive *n, int j);
/* Is griddepcontrol.wait in kernel j over (ORD-032)? */
bool naive_wait_is_over(const struct naive *n, int j);
/* ---- limits and strict modes ---- */

/* Must a call that submits to the stream wait for a place (ORD-085)? `beyond`: event waits, host
 * functions, callbacks, stream-ordered allocations and frees. */
bool naive_is_full(const struct naive *n, int stream, int depth, bool beyond);
/* In which queue op stands; a wait has begun when it is done, others when the caller says so. */
void naive_enqueue(struct naive *n, int op, int queue);
/* Ready, and its queue lets it (ORD-090). */
bool naive_may_start(const struct naive *n, int j);
/* Does the first use of a kernel in the context wait for op i, where loading may synchronise
 * (ORD-091)? */
bool naive_load_waits(const struct naive *n, int device, int i);

/* Staging memory of a device (ORD-086), in the sizes measured. */
struct naive_staging {
    long small, pieces; /* in use: bytes with what goes with them; pieces of 1 MiB */
};

/* Is there room for a pageable source? Then it is taken. */
bool naive_stage(struct naive_staging *s, long bytes);
void naive_unstage(struct naive_staging *s, long bytes);

/* ---- memory freed in streams: a free is the record of an event ---- */

/* What a stream has ever waited for. */
struct naive_waits {
    struct naive_event *events;
    int count;
};

/* May an allocation in the stream take what was freed (ORD-050 to ORD-052)? */
bool naive_may_reuse(const struct naive *n, const struct naive_event *freed, int stream,
                     const struct naive_waits *waits, bool follow, bool opportunistic);
/* Has the host, which waited for the stream (with its waits), for the event, or for the device,
 * settled the free (ORD-053)? One of the three: stream or device -1, event NULL. */
bool naive_settles(const struct naive *n, const struct naive_event *freed, int stream,
                   const struct naive_waits *waits, const struct naive_event *event, int device);

/* Would a host call on the stream (synchronise, query) wait for op i? Only i itself, not what i
 * waits for. */
bool naive_stream_sync_waits(const struct naive *n, int stream, int i);
bool naive_device_sync_waits(const struct naive *n, int device, int i);

#endif
