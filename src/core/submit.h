/* Inside core: what the waits need of operations.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_SUBMIT_H
#define WEIR_CORE_SUBMIT_H

#include "core/stream.h"

/* Of an operation's memory, without what the checker keeps behind it (weir_core_check_of). */
extern const size_t weir_op_bytes[WEIR_OP_SIZES];

/* The `done` of every work item that core submits; work->owner is the operation. */
void weir_op_done(struct weir_work *work, enum weir_err status);
/* The end of an operation that no engine runs (graphs). What it lets start may start later, when
 * the caller's thread is through with what else has ended. */
void weir_op_end(struct weir_op *op, enum weir_err status);
/* In the middle of a graph's nodes: what it lets start has started on return, on other threads. */
void weir_op_end_at_once(struct weir_op *op, enum weir_err status);
/* For graph launches, which weir_submit_begin lets pass: waits as it does for others. */
void weir_submit_wait_for_room(struct weir_stream *s);
/* Sleeps until p may hold, or for so long. */
void weir_wait_briefly(const struct weir_model_point *p, uint64_t timeout_ns);
/* Drops a reference; caller holds s->lock. */
void weir_op_unref_locked(struct weir_stream *s, struct weir_op *op);
/* Of one that was held (explore.h): what an engine is to run now, or NULL when it has ended at
 * once, in a failed context. No lock held. */
struct weir_work *weir_submit_release(struct weir_op *op);
/* Hands `work` to its engine. When that has no thread for it, a host thread that sleeps until s has
 * come further is woken to help. No lock held. */
void weir_submit_work(struct weir_device *engines, struct weir_work *work, struct weir_stream *s);
/* What an engine runs for op, once it was dispatched; NULL when none does. */
struct weir_work *weir_op_work(struct weir_op *op);
/* Gives op, a kernel or copy whose turn it is, a job; without memory it stays without. The stream
 * is locked. */
void weir_op_attach_job_locked(struct weir_stream *s, struct weir_op *op);
/* Fills a job for its engine (launch.c, copy.c). No lock held. */
void weir_kernel_op_fill(struct weir_kernel_op *op, struct weir_job *job);
void weir_copy_op_fill(struct weir_copy_op *op, struct weir_job *job);
/* Makes a filled kernel good for blocks without its engine, which else does that when they begin.
 * False: only the engine can. */
bool weir_kernel_op_open(struct weir_kernel_op *op, struct weir_job *job);

#endif
