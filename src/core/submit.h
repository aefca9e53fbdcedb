/* Inside core: what the waits need of operations.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_SUBMIT_H
#define WEIR_CORE_SUBMIT_H

#include "core/stream.h"

/* The `done` of every work item that core submits; work->owner is the operation. */
void weir_op_done(struct weir_work *work, enum weir_err status);
/* Drops a reference; caller holds s->lock. */
void weir_op_unref_locked(struct weir_stream *s, struct weir_op *op);
/* What an engine runs for op, NULL when it runs in place. */
struct weir_work *weir_op_work(struct weir_op *op);

#endif
