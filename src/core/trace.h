/* What core tells the recorder of traces. Callers ask weir_trace_enabled first.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_TRACE_H
#define WEIR_CORE_TRACE_H

#include "core/stream.h"
#include "trace/record.h"

/* op was submitted; its stream is locked, it has not completed. */
void weir_core_trace_op(const struct weir_op *op);
/* The engine has run it, and its memory is still its own. */
void weir_core_trace_done(const struct weir_op *op, const struct weir_work *work,
                          enum weir_err status);
/* A graph's node has run, and its launch is not complete yet. */
struct weir_item;
void weir_core_trace_node(const struct weir_item *item, uint64_t start_ns, uint64_t end_ns);
void weir_core_trace_context(const struct weir_context *ctx);
void weir_core_trace_event_wait(const struct weir_event *e, const struct weir_stream *in,
                                const struct weir_model_dep *dep); /* dep NULL: nothing */
uint64_t weir_core_trace_event_id(const struct weir_event *e);

#endif
