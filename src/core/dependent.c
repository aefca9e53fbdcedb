/* See dependent.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/dependent.h"

#include "core/explore.h"
#include "core/graph_run.h"
#include "core/submit.h"
#include "core/touch.h"

#define WAIT_NS 50000 /* between looks for something to help with */

void weir_dependent_look(struct weir_stream *s)
{
    struct weir_kernel_op *op;

    /* (Not early is one of the legal orders.) */
    if (weir_context_error(s->ctx) != WEIR_OK || weir_explore_enabled())
        return;
    weir_lock_acquire(&s->lock);
    op = (struct weir_kernel_op *)weir_model_early_next(&s->m);
    if (op)
        weir_op_attach_job_locked(s, &op->op);
    if (op && !op->job) /* no memory: it waits for its turn */
        op = NULL;
    if (op)
        weir_model_begin_early(&op->op.m);
    weir_lock_release(&s->lock);
    if (!op)
        return;
    weir_kernel_op_fill(op, op->job);
    atomic_store_explicit(&op->op.dispatched, 1, memory_order_release);
    weir_submit_work(s->ctx->engines, &op->job->kernel.work, s);
}

void weir_dependent_triggered(struct weir_kernel_work *work)
{
    struct weir_kernel_op *op = work->work.owner;
    struct weir_stream *s = weir_stream_of(op->op.m.stream);

    weir_lock_acquire(&s->lock);
    weir_model_trigger(&op->op.m);
    weir_lock_release(&s->lock);
    weir_dependent_look(s);
}

unsigned weir_dependent_turn(struct weir_kernel_op *op, enum weir_err *status)
{
    struct weir_stream *s = weir_stream_of(op->op.m.stream);
    unsigned early;

    weir_lock_acquire(&s->lock);
    early = weir_model_turn(&op->op.m);
    *status = (enum weir_err)op->early_status;
    weir_lock_release(&s->lock);
    return early;
}

bool weir_dependent_ended(struct weir_op *op, enum weir_err status)
{
    struct weir_stream *s = weir_stream_of(op->m.stream);
    bool early;

    weir_lock_acquire(&s->lock);
    early = weir_model_end_early(&op->m);
    if (early)
        ((struct weir_kernel_op *)op)->early_status = (uint16_t)status;
    weir_lock_release(&s->lock);
    if (early)
        weir_dependent_look(s); /* the one behind it, perhaps */
    return early;
}

bool weir_dependent_help_head(struct weir_stream *s)
{
    struct weir_kernel_op *op;
    bool helped = false;

    weir_lock_acquire(&s->lock);
    op = (struct weir_kernel_op *)s->m.head;
    if (op && (op->op.m.kind != WEIR_OP_KERNEL ||
               !atomic_load_explicit(&op->op.dispatched, memory_order_acquire)))
        op = NULL;
    if (op)
        op->op.refs++;
    weir_lock_release(&s->lock);
    if (!op)
        return false;
    helped = weir_device_help(weir_op_ctx(&op->op)->engines, &op->job->kernel.work, NULL) ||
             weir_device_help_parked(weir_op_ctx(&op->op)->engines, &op->job->kernel.work);
    weir_lock_acquire(&s->lock);
    weir_op_unref_locked(s, &op->op);
    weir_lock_release(&s->lock);
    return helped;
}

void weir_dependent_wait(struct weir_block *block)
{
    struct weir_kernel_work *work = WEIR_CONTAINER_OF(
        (struct weir_launch *)(uintptr_t)block->launch, struct weir_kernel_work, launch);
    struct weir_kernel_op *op = work->work.owner;
    struct weir_model_point point;
    struct weir_stream *s;

    if (work->work.node) {
        weir_item_wait_dependencies(work->work.owner);
        if (WEIR_UNLIKELY(work->launch.touches != NULL))
            weir_touches_part(work->launch.touches);
        return;
    }
    s = weir_stream_of(op->op.m.stream);
    point = weir_model_waits_inside(&op->op.m);
    while (!weir_model_point_holds(&point)) {
        if (!weir_dependent_help_head(s))
            weir_wait_briefly(&point, WAIT_NS);
    }
    if (WEIR_UNLIKELY(work->launch.touches != NULL) && (op->op.m.early & WEIR_EARLY_ASKS))
        weir_touches_part(work->launch.touches);
}
