/* What core tells the checker. Callers ask weir_check_follows (the first three, and host nodes) or
 * weir_check_enabled first.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_CHECK_H
#define WEIR_CORE_CHECK_H

#include "check/check.h"
#include "core/stream.h"

/* As the checker names it. */
struct weir_check_op *weir_core_check_of(const struct weir_op *op);

/* op was submitted; its stream is locked, it has not completed. */
void weir_core_check_op(const struct weir_op *op);
/* The same of a copy between two devices' legacy streams (ORD-012). */
void weir_core_check_peer(const struct weir_op *op, const struct weir_stream *other);
/* It has run, as `work`; its memory is still its own, nothing behind it has begun. */
void weir_core_check_ran(struct weir_op *op, struct weir_work *work, enum weir_err status);
/* After that, or of a graph (work NULL): it is done. */
void weir_core_check_done(struct weir_op *op, const struct weir_work *work, enum weir_err status);
/* The same of several kernels or copies of one stream, one behind the other, each as it has run;
 * all are told together, before their memory is given back. *done: count and range_count are 0. */
void weir_core_check_collect(struct weir_check_done *done, struct weir_op *op,
                             const struct weir_work *work, enum weir_err status);
void weir_core_check_told(struct weir_check_done *done);

/* The graph is about to be launched by the calling thread: is the host memory still there that its
 * copies read? */
struct weir_plan;
void weir_core_check_sources(const struct weir_plan *plan);

/* A graph's kernel is about to run; a node has run, and its launch is not complete yet. touches
 * (may be NULL): what a kernel that has touched nothing leaves for the next one that the thread
 * runs. */
struct weir_item;
void weir_core_check_node_begin(struct weir_item *item, void **touches);
void weir_core_check_node(struct weir_item *item, enum weir_err status, void **touches);
/* A graph's host function begins; weir_check_host_func_end when it has ended. */
void weir_core_check_host_node(struct weir_check_func *f, const struct weir_item *item);
/* What a grid has launched is told and over. */
struct weir_nest;
void weir_core_check_nest_end(struct weir_nest *n);

#endif
