/* A small world for the model's unit tests: named streams, an allocator that counts and can refuse,
 * and delivery of messages at once.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TESTS_UNIT_MODEL_FIX_H
#define WEIR_TESTS_UNIT_MODEL_FIX_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "model/model.h"

enum { FIX_BUSY = 8 };

struct fix {
    struct weir_model m;
    struct weir_model_stream legacy, p, p2, b, b2, n, n2; /* device 0 */
    struct weir_model_stream legacy1, b1, n1;             /* device 1 */
    struct weir_model_stream busy[FIX_BUSY];              /* blocking, device 0; made by fix_busy */
    struct weir_model_event e, e2;
    int live, allocations;
    bool refuse;
};

static void *fix_alloc(void *ctx, size_t bytes)
{
    struct fix *f = ctx;

    if (f->refuse)
        return NULL;
    f->live++;
    f->allocations++;
    return malloc(bytes);
}

static void fix_free(void *ctx, void *p)
{
    struct fix *f = ctx;

    f->live--;
    free(p);
}

static inline void fix_init(struct fix *f)
{
    struct weir_model_memory memory = {fix_alloc, fix_free, f};

    memset(f, 0, sizeof *f);
    weir_model_init(&f->m, 2, &memory);
    weir_model_stream_init(&f->m, &f->legacy, 0, WEIR_STREAM_LEGACY, 0);
    weir_model_stream_init(&f->m, &f->p, 0, WEIR_STREAM_PER_THREAD, 0);
    weir_model_stream_init(&f->m, &f->p2, 0, WEIR_STREAM_PER_THREAD, 0);
    weir_model_stream_init(&f->m, &f->b, 0, WEIR_STREAM_BLOCKING, 0);
    weir_model_stream_init(&f->m, &f->b2, 0, WEIR_STREAM_BLOCKING, -5);
    weir_model_stream_init(&f->m, &f->n, 0, WEIR_STREAM_NONBLOCKING, 0);
    weir_model_stream_init(&f->m, &f->n2, 0, WEIR_STREAM_NONBLOCKING, 0);
    weir_model_stream_init(&f->m, &f->legacy1, 1, WEIR_STREAM_LEGACY, 0);
    weir_model_stream_init(&f->m, &f->b1, 1, WEIR_STREAM_BLOCKING, 0);
    weir_model_stream_init(&f->m, &f->n1, 1, WEIR_STREAM_NONBLOCKING, 0);
}

static inline void fix_deliver(struct weir_model_out *out)
{
    struct weir_model_op *next;

    for (struct weir_model_op *op = out->notified; op; op = next) {
        struct weir_model_out more;

        next = op->out_next;
        weir_model_out_init(&more);
        weir_model_resume(op, &more);
        fix_deliver(&more);
    }
    for (struct weir_model_op *op = out->blocked; op; op = next) {
        next = op->out_next;
        assert_true(weir_model_subscribe(op));
    }
}

static inline void fix_submit(struct weir_model_stream *s, struct weir_model_op *op)
{
    struct weir_model_out out;

    weir_model_out_init(&out);
    op->kind = WEIR_OP_KERNEL;
    assert_int_equal(weir_model_submit(s, op, &out), WEIR_MODEL_OK);
    fix_deliver(&out);
}

static inline void fix_complete(struct weir_model_op *op)
{
    struct weir_model_out out;

    assert_int_equal(op->state, WEIR_OP_READY);
    weir_model_out_init(&out);
    weir_model_complete(op, &out);
    fix_deliver(&out);
}

static inline void fix_record(struct weir_model_event *e, struct weir_model_stream *s,
                              struct weir_model_op *op)
{
    struct weir_model_out out;

    weir_model_out_init(&out);
    assert_int_equal(weir_model_record(e, s, op, &out), WEIR_MODEL_OK);
    fix_deliver(&out);
}

/* As core does it; false when the wait was nothing. */
static inline bool fix_wait(struct weir_model_stream *s, const struct weir_model_event *e,
                            struct weir_model_op *op)
{
    struct weir_model_dep dep;
    struct weir_model_out out;
    bool depends = weir_model_event_wait_dep(e, s, &dep);

    if (!depends && !weir_model_wait_needs_op(s))
        return false;
    weir_model_out_init(&out);
    op->kind = WEIR_OP_WAIT;
    assert_int_equal(weir_model_submit_after(s, op, &dep, depends ? 1 : 0, &out), WEIR_MODEL_OK);
    fix_deliver(&out);
    return true;
}

static inline bool fix_ready(const struct weir_model_op *op)
{
    return op->state == WEIR_OP_READY;
}

/* Does a host call on s wait for stream t? */
static inline bool fix_sync_waits(struct weir_model_stream *s, const struct weir_model_stream *t)
{
    struct weir_model_point points[32];
    size_t count = weir_model_stream_targets(s, points, 32);

    for (size_t i = 0; i < count; i++)
        if (points[i].stream == t)
            return true;
    return false;
}

#endif
