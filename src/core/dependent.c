/* See dependent.h. The model knows nothing of this: a kernel that began early waits at the end for
 * its turn to complete.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/dependent.h"

#include "core/explore.h"
#include "core/graph_run.h"
#include "core/submit.h"

#define WAIT_NS 50000 /* between looks for something to help with */

static struct weir_kernel_op *kernel_of(struct weir_model_op *m)
{
    return m && m->kind == WEIR_OP_KERNEL ? (struct weir_kernel_op *)m : NULL;
}

static bool has_begun(const struct weir_kernel_op *op)
{
    return atomic_load_explicit(&op->op.dispatched, memory_order_acquire) &&
           (op->early != WEIR_EARLY_NONE || op->op.m.state == WEIR_OP_READY);
}

/* From the stream's head on: the first kernel that has not begun though those before it let it. */
static struct weir_kernel_op *find_locked(struct weir_stream *s)
{
    struct weir_kernel_op *op = kernel_of(s->m.head), *next;

    while (op && has_begun(op) && (op->triggered || op->early == WEIR_EARLY_ENDED)) {
        next = kernel_of(op->op.m.next);
        if (!next || !next->programmatic || next->op.m.state != WEIR_OP_QUEUED ||
            next->op.m.dep_count)
            return NULL;
        if (next->early == WEIR_EARLY_NONE)
            return next;
        op = next;
    }
    return NULL;
}

void weir_dependent_look(struct weir_stream *s)
{
    struct weir_kernel_op *op;

    /* (Not early is one of the legal orders.) */
    if (weir_context_error(s->ctx) != WEIR_OK || weir_explore_enabled())
        return;
    weir_lock_acquire(&s->lock);
    op = find_locked(s);
    if (op)
        weir_op_attach_job_locked(s, &op->op);
    if (op && !op->job) /* no memory: it waits for its turn */
        op = NULL;
    if (op)
        op->early = WEIR_EARLY_RUNS;
    weir_lock_release(&s->lock);
    if (!op)
        return;
    weir_kernel_op_fill(op);
    atomic_store_explicit(&op->op.dispatched, 1, memory_order_release);
    weir_device_submit(weir_op_ctx(&op->op)->engines, &op->job->kernel.work);
}

void weir_dependent_triggered(struct weir_kernel_work *work)
{
    struct weir_kernel_op *op = work->work.owner;
    struct weir_stream *s = weir_stream_of(op->op.m.stream);

    weir_lock_acquire(&s->lock);
    op->triggered = true;
    weir_lock_release(&s->lock);
    weir_dependent_look(s);
}

enum weir_early weir_dependent_turn(struct weir_kernel_op *op, enum weir_err *status)
{
    struct weir_stream *s = weir_stream_of(op->op.m.stream);
    enum weir_early early;

    weir_lock_acquire(&s->lock);
    early = (enum weir_early)op->early;
    *status = (enum weir_err)op->early_status;
    op->early = WEIR_EARLY_NONE;
    weir_lock_release(&s->lock);
    return early;
}

bool weir_dependent_ended(struct weir_op *o, enum weir_err status)
{
    struct weir_kernel_op *op = (struct weir_kernel_op *)o;
    struct weir_stream *s = weir_stream_of(o->m.stream);
    bool early;

    weir_lock_acquire(&s->lock);
    early = op->early == WEIR_EARLY_RUNS;
    if (early) {
        op->early = WEIR_EARLY_ENDED;
        op->early_status = (uint16_t)status;
    }
    weir_lock_release(&s->lock);
    if (early)
        weir_dependent_look(s); /* the one behind it, perhaps */
    return early;
}

/* Runs a block of the kernel at the stream's head that nobody else runs. */
static bool help_head(struct weir_stream *s)
{
    struct weir_kernel_op *op;
    bool helped = false;

    weir_lock_acquire(&s->lock);
    op = kernel_of(s->m.head);
    if (op && !has_begun(op))
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

    if (work->work.done != weir_op_done) {
        weir_item_wait_dependencies(work->work.owner);
        return;
    }
    s = weir_stream_of(op->op.m.stream);
    point = (struct weir_model_point){&s->m, op->op.m.seq - 1};
    while (!weir_model_point_holds(&point)) {
        if (!help_head(s))
            weir_wait_briefly(&point, WAIT_NS);
    }
}
