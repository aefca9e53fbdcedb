/* What core tells the recorder of traces. Callers ask weir_trace_enabled first.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_TRACE_H
#define WEIR_CORE_TRACE_H

#include "core/stream.h"
#include "trace/record.h"

#define WEIR_KERNEL_POINTERS 16

/* Arguments of eight bytes that are addresses of memory that Weir knows. */
size_t weir_core_kernel_pointers(const struct weir_kernel_op *op,
                                 uint64_t out[WEIR_KERNEL_POINTERS]);

/* op was submitted; its stream is locked, it has not completed. */
void weir_core_trace_op(const struct weir_op *op);
/* The engine has run it, and its memory is still its own. */
void weir_core_trace_done(const struct weir_op *op, const struct weir_work *work,
                          enum weir_err status);
/* The same of kernels and copies that ran behind one another on this thread, on one job; such as
 * were too short to be looked at alone (end_ns 0) share the time until the next that was. All zero
 * at first; none of them completes before the last `flush`. */
struct weir_core_ran {
    const struct weir_op *first; /* of those that are not told yet */
    uint32_t count;
    uint64_t start_ns;
};
#define WEIR_CORE_RAN_MOST 4 /* the end of one of so many is looked at */
void weir_core_trace_ran(struct weir_core_ran *r, const struct weir_op *op, struct weir_work *work,
                         enum weir_err status);
void weir_core_trace_ran_flush(struct weir_core_ran *r);
/* A kernel has run that notes what it touches (weir check): its touches, not yet told. */
void weir_core_trace_touched(const struct weir_op *op, const void *touches);
/* A graph's node has run, and its launch is not complete yet. */
struct weir_item;
void weir_core_trace_node(struct weir_item *item, uint64_t start_ns, uint64_t end_ns);
/* A launch of the plan begins. */
struct weir_plan;
void weir_core_trace_instance(struct weir_plan *plan);
/* What the node touched, under weir check: a kernel's touches, not yet told, or a copy's memory. */
void weir_core_trace_node_touched(const struct weir_item *item);
void weir_core_trace_context(const struct weir_context *ctx);
void weir_core_trace_event_wait(const struct weir_event *e, const struct weir_stream *in,
                                const struct weir_model_dep *dep); /* dep NULL: nothing */
uint64_t weir_core_trace_event_id(const struct weir_event *e);

/* A kernel's code for a block shape (weir_cg_kernel_code): what takes long is noted. Traced or not.
 */
struct weir_function;
struct weir_function_image;
enum weir_err weir_core_trace_code(const struct weir_function *f,
                                   const struct weir_function_image *image, const uint32_t block[3],
                                   const struct weir_kernel_code **out) WEIR_MUST_CHECK;
/* A memory node of a graph has been reached. */
void weir_core_trace_memory_node(const struct weir_item *item);

/* ---- managed memory (trace_managed.c); addresses of other memory are nothing ---- */

/* An operation that uses the allocation was submitted, has been run. */
void weir_core_trace_managed_begin(const void *address, bool kernel);
void weir_core_trace_managed_end(const void *address);
/* A host wait is over: what nothing uses any more is the host's. */
void weir_core_trace_managed_settled(void);

#endif
