/* What the program's own ThreadSanitizer is told, when there is one (base/tsan.h): which host
 * function comes after what, by the documented rules alone, and what a wait of the host has
 * ordered.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each host function (callback, host node) is a thread of its own to the sanitizer, though one
 * thread of Weir's runs them all: so two that no rule orders are seen as such, whichever ran first.
 * It begins after what the thread that submitted it had done by then, and after the host functions
 * that the model has before it (model/order.h); a thread that waits for a stream, an event or a
 * device comes after the functions that this wait is for. Hand-overs between threads the sanitizer
 * sees by itself: so this order knows no host, and a wait is the waiting thread's alone.
 *
 * Streams, events and operations are known by their addresses. Thread: any; takes a lock of rank
 * CHECK. All calls are made by check.c, and do nothing before weir_tsan_start gave true. */
#ifndef WEIR_CHECK_TSAN_H
#define WEIR_CHECK_TSAN_H

#include "check/check.h"
#include "model/order.h"

/* False: there is none. */
bool weir_tsan_start(void);

void weir_tsan_stream(const void *stream, int device, enum weir_stream_class cls);
void weir_tsan_stream_end(const void *stream);
void weir_tsan_record(const void *event, const void *stream);
void weir_tsan_wait(const void *event, const void *stream);
void weir_tsan_event_end(const void *event);

/* See weir_check_op, weir_check_op_peer. */
void weir_tsan_op(const void *op, const void *stream, enum weir_op_kind kind, const void *behind);
void weir_tsan_op_peer(const void *stream, const void *other);
void weir_tsan_op_done(const void *op);
void weir_tsan_plan_end(const void *plan);

/* Around the function itself. node NULL: the operation is the function. */
void weir_tsan_func_begin(struct weir_check_func *f, const void *op,
                          const struct weir_check_node *node);
void weir_tsan_func_end(struct weir_check_func *f);

struct weir_clock *weir_tsan_sync_begin(const void *stream, int device);
struct weir_clock *weir_tsan_event_sync_begin(const void *event);
void weir_tsan_sync_end(struct weir_clock *c, bool over);
void weir_tsan_saw_event(const void *event);
void weir_tsan_saw_stream(const void *stream);
void weir_tsan_saw_last(void);

#endif
