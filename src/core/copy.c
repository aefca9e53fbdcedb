/* Copies: memory classes from the registry, host behaviour from the model (weir_model_copy_rule),
 * and the staging of pageable sources. Rules: docs/rules (ORD), oracle memcpy_kind_matrix,
 * memcpy_args, memcpyasync_*.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/copy.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "core/capture.h"
#include "core/late.h"
#include "core/pool.h"
#include "core/services.h"
#include "core/submit.h"
#include "core/check.h"
#include "core/trace.h"
#include "model/limits.h"

struct place {
    enum weir_mem_class cls;
    int device; /* -1: pageable */
    bool pooled;
    uint64_t access; /* pooled: devices that may use it */
};

/* Bytes from the first to past the last that the rectangle touches. False on overflow. */
static bool extent_bytes(size_t width, size_t height, size_t depth, size_t pitch, size_t slice,
                         size_t *out)
{
    size_t rows, slices;

    if (WEIR_MUL_OVERFLOWS(height - 1, pitch, &rows) ||
        WEIR_MUL_OVERFLOWS(depth - 1, slice, &slices))
        return false;
    return !WEIR_ADD_OVERFLOWS(rows, slices, out) && !WEIR_ADD_OVERFLOWS(*out, width, out);
}

static enum weir_err locate(const void *p, size_t bytes, struct place *out)
{
    static const enum weir_mem_class classes[] = {
        [WEIR_MEM_KIND_DEVICE] = WEIR_MEM_DEVICE,     [WEIR_MEM_KIND_PINNED] = WEIR_MEM_PINNED,
        [WEIR_MEM_KIND_REGISTERED] = WEIR_MEM_PINNED, [WEIR_MEM_KIND_MANAGED] = WEIR_MEM_MANAGED,
        [WEIR_MEM_KIND_INTERNAL] = WEIR_MEM_PAGEABLE,
    };
    struct weir_mem_info info;

    if (!p)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "null pointer");
    if (!weir_mem_find(p, &info)) {
        /* An address of the window that is no allocation: freed, or never valid. */
        if ((uintptr_t)p - weir_mem_window_base < weir_mem_window_bytes)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE,
                             "%p is device memory that was freed or never allocated", p);
        *out = (struct place){.cls = WEIR_MEM_PAGEABLE, .device = -1};
        return WEIR_OK;
    }
    if (WEIR_UNLIKELY(weir_pool_is_freed(info.base)))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%p was given to cudaFreeAsync", p);
    if (bytes > info.base + info.bytes - (uintptr_t)p)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE,
                         "%zu bytes at %p pass the end of an allocation of %zu", bytes, p,
                         info.bytes);
    *out = (struct place){classes[info.kind], info.device, info.block != NULL, info.access};
    return WEIR_OK;
}

static enum weir_err check_kind(enum weir_copy_kind kind, struct place src, struct place dst)
{
    bool src_host = src.cls == WEIR_MEM_PAGEABLE, dst_host = dst.cls == WEIR_MEM_PAGEABLE;

    /* Only pageable memory on a "device" side is refused (oracle memcpy_kind_matrix). */
    if ((kind == WEIR_COPY_H2D && dst_host) || (kind == WEIR_COPY_D2H && src_host) ||
        (kind == WEIR_COPY_D2D && (src_host || dst_host)))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE,
                         "pageable host memory where the copy's kind says device memory");
    return WEIR_OK;
}

/* A pool's memory is open to other devices by cudaMemPoolSetAccess alone (oracle multi_pool); only
 * copies that name both devices need not ask. */
static bool is_closed(struct place p, const struct weir_context *ctx)
{
    return p.pooled && !(p.access >> ctx->ordinal & 1);
}

static enum weir_err check_access(const struct weir_context *ctx, struct place src,
                                  struct place dst)
{
    if (src.cls == WEIR_MEM_DEVICE && dst.cls == WEIR_MEM_DEVICE && src.device != dst.device &&
        (is_closed(src, ctx) || is_closed(dst, ctx)))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "a pool's memory that device %d may not access",
                         ctx->ordinal);
    return WEIR_OK;
}

static bool on_device(struct place p, enum weir_copy_kind kind, bool is_dst)
{
    if (p.cls == WEIR_MEM_MANAGED) {
        if (kind == WEIR_COPY_H2D)
            return is_dst;
        if (kind == WEIR_COPY_D2H)
            return !is_dst;
        return true;
    }
    return p.cls == WEIR_MEM_DEVICE;
}

static enum weir_engine engine_of(enum weir_copy_kind kind, struct place src, struct place dst)
{
    bool from = on_device(src, kind, false), to = on_device(dst, kind, true);

    if (from == to)
        return WEIR_ENGINE_D2D;
    return to ? WEIR_ENGINE_H2D : WEIR_ENGINE_D2H;
}

/* ---- operations ---- */

/* *out: what op keeps of a copy that is more than a row. Errors: MEMORY_ALLOCATION. */
static enum weir_err make_shape(const struct weir_copy_shape *shape, struct weir_copy_shape **out)
{
    *out = NULL;
    if (shape->height == 1 && shape->depth == 1)
        return WEIR_OK;
    *out = weir_alloc(sizeof **out);
    if (!*out)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a copy's shape");
    **out = *shape;
    return WEIR_OK;
}

void weir_copy_op_view(const struct weir_copy_op *op, struct weir_copy_work *w)
{
    const size_t n = op->width;
    const struct weir_copy_shape row = {1, 1, n, n, n, n};
    const struct weir_copy_shape *shape = op->shape ? op->shape : &row;

    w->src = op->src;
    w->dst = op->dst;
    w->width = op->width;
    w->height = shape->height;
    w->depth = shape->depth;
    w->src_pitch = shape->src_pitch;
    w->dst_pitch = shape->dst_pitch;
    w->src_slice = shape->src_slice;
    w->dst_slice = shape->dst_slice;
    w->memset = op->op.m.kind == WEIR_OP_MEMSET;
    w->value = op->value;
    w->element_bytes = op->element_bytes;
}

void weir_copy_op_fill(struct weir_copy_op *op, struct weir_job *job)
{
    struct weir_copy_work *w = &job->copy;

    w->work.engine = op->engine;
    w->work.priority = (int8_t)weir_stream_of(op->op.m.stream)->priority;
    w->work.done = weir_op_done;
    w->work.owner = op;
    w->work.ready_ns = w->work.start_ns = w->work.end_ns = 0;
    weir_copy_op_view(op, w);
}

static void pack(void *to, const struct weir_copy *c)
{
    char *out = to;

    for (size_t z = 0; z < c->depth; z++) {
        for (size_t y = 0; y < c->height; y++, out += c->width)
            memcpy(out, (const char *)c->src + z * c->src_slice + y * c->src_pitch, c->width);
    }
}

static struct weir_staging_rule staging_rule(size_t bytes)
{
    return weir_model_staging_rule(bytes, weir_core.config.strict.staging);
}

void weir_staging_give(struct weir_context *ctx, size_t bytes)
{
    struct weir_staging_rule r = staging_rule(bytes);

    atomic_fetch_sub_explicit(&ctx->staging[r.pool], r.charge, memory_order_relaxed);
}

/* Captures a pageable source. NULL when the pool of the device is used up (or no memory): the
 * caller waits instead. */
static void *stage(struct weir_context *ctx, const struct weir_copy *c, size_t bytes)
{
    struct weir_staging_rule r = staging_rule(bytes); /* ORD-086 */
    size_t limit = weir_late_documented_only() ? SIZE_MAX : r.limit;
    size_t used = atomic_fetch_add_explicit(&ctx->staging[r.pool], r.charge, memory_order_relaxed);
    void *staging = NULL;

    if (used + r.charge <= limit)
        staging = weir_alloc(bytes);
    if (!staging) {
        atomic_fetch_sub_explicit(&ctx->staging[r.pool], r.charge, memory_order_relaxed);
        return NULL;
    }
    pack(staging, c);
    return staging;
}

/* Would an operation submitted now start at once? A moment's truth is enough: it decides between
 * two ways with the same result. */
static bool starts_now(struct weir_stream *s)
{
    struct weir_model_point point;
    bool idle;

    if (s->m.cls != WEIR_STREAM_LEGACY)
        return weir_model_stream_is_idle(&s->m) && (s->m.cls == WEIR_STREAM_NONBLOCKING ||
                                                    weir_model_stream_is_idle(&s->ctx->legacy->m));
    weir_lock_acquire(&s->ctx->streams_lock);
    idle = weir_model_stream_targets(&s->m, &point, 1) == 0;
    weir_lock_release(&s->ctx->streams_lock);
    return idle;
}

static void set_copy(struct weir_copy_op *op, const struct weir_copy *c,
                     struct weir_copy_shape *shape, enum weir_engine engine, void *staging,
                     size_t bytes)
{
    op->src = staging ? staging : c->src;
    op->dst = c->dst;
    op->width = c->width;
    op->shape = shape;
    op->engine = (uint8_t)engine;
    op->staging_bytes = staging ? bytes : 0;
    op->late = staging && weir_late_enabled();
}

static struct weir_copy_shape shape_of(const struct weir_copy *c, const void *staging)
{
    return (struct weir_copy_shape){.height = c->height,
                                    .depth = c->depth,
                                    .src_pitch = staging ? c->width : c->src_pitch,
                                    .src_slice = staging ? c->width * c->height : c->src_slice,
                                    .dst_pitch = c->dst_pitch,
                                    .dst_slice = c->dst_slice};
}

static enum weir_err submit_copy(struct weir_stream *s, const struct weir_copy *c,
                                 enum weir_engine engine, void *staging, size_t bytes,
                                 struct weir_model_point *point, enum weir_err *status)
{
    struct weir_copy_shape all = shape_of(c, staging), *shape;
    enum weir_err err = make_shape(&all, &shape);
    struct weir_copy_op *op =
        err == WEIR_OK ? (struct weir_copy_op *)weir_submit_begin(s, WEIR_OP_COPY, WEIR_OP_SMALL)
                       : NULL;

    if (!op) {
        if (staging)
            weir_staging_give(s->ctx, bytes);
        weir_free(staging);
        weir_free(shape);
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a copy");
    }
    set_copy(op, c, shape, engine, staging, bytes);
    op->status = status;
    return weir_submit_end(s, &op->op, NULL, 0, point, NULL);
}

/* Between two devices, in s, which is a legacy stream: ordered with the legacy and blocking streams
 * of both (ORD-012). */
static enum weir_err submit_peer_copy(struct weir_stream *s, struct weir_context *other,
                                      const struct weir_copy *c, struct weir_model_point *point,
                                      enum weir_err *status)
{
    struct weir_op *markers[2];
    struct weir_copy_shape all = shape_of(c, NULL), *shape;
    enum weir_err err = make_shape(&all, &shape);
    struct weir_copy_op *op =
        err == WEIR_OK ? (struct weir_copy_op *)weir_submit_begin_peer(s, other->legacy, markers)
                       : NULL;

    if (!op) {
        weir_free(shape);
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a copy between devices");
    }
    set_copy(op, c, shape, WEIR_ENGINE_D2D, NULL, 0);
    op->status = status;
    return weir_submit_end_peer(s, other->legacy, &op->op, markers, point);
}

static enum weir_implicit_sync cause_of(const struct weir_copy *c, struct place src,
                                        struct place dst)
{
    if (!c->async)
        return WEIR_SYNC_COPY;
    if (src.cls == WEIR_MEM_MANAGED || dst.cls == WEIR_MEM_MANAGED)
        return WEIR_SYNC_MANAGED_COPY;
    return src.cls != WEIR_MEM_DEVICE && dst.cls != WEIR_MEM_DEVICE ? WEIR_SYNC_HOST_COPY
                                                                    : WEIR_SYNC_PAGEABLE_COPY;
}

/* `status`: the operation's own, see weir_copy_op. */
static enum weir_err wait_counted(struct weir_stream *s, const struct weir_model_point *point,
                                  enum weir_implicit_sync cause, const enum weir_err *status)
{
    enum weir_err err;

    if (weir_trace_enabled())
        weir_trace_sync(WEIR_TRACE_SYNC_OP, s->id, point->seq);
    if (!weir_model_point_holds(point)) {
        uint64_t start = weir_context_sync_begin(cause);

        weir_wait_points(point, 1);
        weir_context_sync_end(s->ctx, cause, start);
    }
    weir_printf_flush(s->ctx);
    err = weir_context_take_error(s->ctx);
    return err != WEIR_OK ? err : *status;
}

/* The memory class as the model's rule wants it: see weir_model_copy_rule about managed memory with
 * the default kind. */
static enum weir_mem_class rule_class(const struct weir_copy *c, struct place p)
{
    return p.cls == WEIR_MEM_MANAGED && c->async && c->kind == WEIR_COPY_DEFAULT ? WEIR_MEM_DEVICE
                                                                                 : p.cls;
}

/* The other device that has a part in the copy, or NULL. */
static struct weir_context *other_device(const struct weir_stream *s, struct place src,
                                         struct place dst)
{
    int own = s->ctx->ordinal;

    if (src.cls == WEIR_MEM_DEVICE && src.device != own)
        return &weir_core.contexts[src.device];
    if (dst.cls == WEIR_MEM_DEVICE && dst.device != own)
        return &weir_core.contexts[dst.device];
    return NULL;
}

static enum weir_err run_copy(struct weir_stream *s, const struct weir_copy *c, struct place src,
                              struct place dst, size_t bytes)
{
    bool late = weir_late_documented_only();
    struct weir_copy_rule rule = (late ? weir_model_copy_rule_late : weir_model_copy_rule)(
        rule_class(c, src), rule_class(c, dst), bytes, c->async);
    enum weir_engine engine = engine_of(c->kind, src, dst);
    enum weir_implicit_sync cause = cause_of(c, src, dst);
    struct weir_model_point point;
    struct weir_context *other;
    void *staging = NULL;
    enum weir_err err, own = WEIR_OK;
    bool promised = rule.wait == WEIR_HOST_WAIT_COMPLETE && rule.strength == WEIR_GUARANTEED;
    bool waits;

    /* A source that must be read in the stream's order cannot be captured now; one that must be
     * read during the call can only be captured when it is pageable (oracle mixed_batch). */
    if ((c->order == WEIR_ORDER_STREAM && src.cls == WEIR_MEM_PAGEABLE) ||
        (c->order == WEIR_ORDER_DURING_CALL && src.cls != WEIR_MEM_PAGEABLE))
        rule.wait = WEIR_HOST_WAIT_COMPLETE;
    if (rule.wait == WEIR_HOST_WAIT_STREAM_STAGED) {
        err = weir_wait_stream(s);
        if (err != WEIR_OK)
            return err;
        rule.wait = bytes > WEIR_MODEL_STAGED_MAX && !late ? WEIR_HOST_WAIT_COMPLETE
                                                           : WEIR_HOST_WAIT_STAGED;
    }
    /* When the stream is idle the copy itself is the capture: one pass over the bytes instead of
     * two. */
    if (rule.wait == WEIR_HOST_WAIT_STAGED && (late || !starts_now(s))) {
        staging = stage(s->ctx, c, bytes);
        if (!staging)
            cause = WEIR_SYNC_STAGING_FULL;
    }
    if (weir_check_enabled() && c->async &&
        (src.cls == WEIR_MEM_PAGEABLE || dst.cls == WEIR_MEM_PAGEABLE))
        weir_check_pageable();
    waits = !staging && rule.wait != WEIR_HOST_NO_WAIT;
    other = other_device(s, src, dst);
    if (other && src.cls == WEIR_MEM_DEVICE && dst.cls == WEIR_MEM_DEVICE &&
        s->m.cls == WEIR_STREAM_LEGACY) {
        struct weir_context *ctx;

        err = weir_context_get(other->ordinal, &ctx);
        if (err == WEIR_OK)
            err = submit_peer_copy(s, ctx, c, &point, waits ? &own : NULL);
    } else {
        /* A synchronous copy waits for the legacy stream of the memory's device, too. */
        if (other && !c->async && rule.wait != WEIR_HOST_NO_WAIT && atomic_load(&other->active))
            (void)!weir_wait_stream(other->legacy); /* an error there is every device's */
        err = submit_copy(s, c, engine, staging, bytes, &point, waits ? &own : NULL);
    }
    if (err != WEIR_OK || !waits)
        return err;
    err = wait_counted(s, &point, cause, &own);
    /* (A source that was read is all that the documents promise of a pageable one.) */
    if (weir_check_follows() && promised)
        weir_check_host_saw_last();
    return err;
}

static enum weir_err check_copy(const struct weir_context *ctx, const struct weir_copy *c,
                                struct place *src, struct place *dst)
{
    size_t src_bytes, dst_bytes;
    enum weir_err err;

    if (!extent_bytes(c->width, c->height, c->depth, c->src_pitch, c->src_slice, &src_bytes) ||
        !extent_bytes(c->width, c->height, c->depth, c->dst_pitch, c->dst_slice, &dst_bytes))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "a copy larger than the address space");
    err = locate(c->src, src_bytes, src);
    if (err == WEIR_OK)
        err = locate(c->dst, dst_bytes, dst);
    if (err == WEIR_OK)
        err = check_kind(c->peer ? WEIR_COPY_D2D : c->kind, *src, *dst);
    if (err == WEIR_OK && !c->peer)
        err = check_access(ctx, *src, *dst);
    return err;
}

static void fill_sides(struct weir_copy_sides *out, enum weir_engine engine, struct place src,
                       struct place dst)
{
    *out = (struct weir_copy_sides){.engine = (uint8_t)engine,
                                    .src_cls = (uint8_t)src.cls,
                                    .dst_cls = (uint8_t)dst.cls,
                                    .src_device = src.device,
                                    .dst_device = dst.device};
}

enum weir_err weir_copy_check(const struct weir_context *ctx, const struct weir_copy *c,
                              struct weir_copy_sides *out)
{
    struct place src, dst;
    enum weir_err err = check_copy(ctx, c, &src, &dst);

    if (err == WEIR_OK)
        fill_sides(out, engine_of(c->kind, src, dst), src, dst);
    return err;
}

/* Synchronous copies and those between named devices cannot be captured. */
static WEIR_NOINLINE enum weir_err capture_copy(struct weir_stream *s, const struct weir_copy *c,
                                                bool *taken)
{
    struct weir_node_params p = {.kind = WEIR_NODE_MEMCPY, .copy = *c};

    *taken = false;
    if (weir_capture_is(s) && (!c->async || c->peer))
        return weir_capture_forbid_slow(WEIR_CAPTURE_CALL_REFUSED, s,
                                        c->peer ? "cudaMemcpyPeerAsync" : "a synchronous copy");
    return weir_capture_take(s, &p, false, "a copy", taken);
}

enum weir_err weir_copy_submit(struct weir_stream *s, const struct weir_copy *c)
{
    struct place src, dst;
    enum weir_err err;

    if (c->width == 0 || c->height == 0 || c->depth == 0)
        return WEIR_OK; /* nothing, and orders nothing (oracle sync_vs_*.cudaMemcpy_H2D_zero_bytes)
                         */
    if (weir_capture_any()) {
        bool taken;

        err = capture_copy(s, c, &taken);
        if (err != WEIR_OK || taken)
            return err;
    }
    err = check_copy(s->ctx, c, &src, &dst);
    if (err != WEIR_OK)
        return err;
    return run_copy(s, c, src, dst, c->width * c->height * c->depth);
}

enum weir_err weir_copy_append(struct weir_stream *s, const struct weir_copy *c)
{
    return submit_copy(s, c, WEIR_ENGINE_D2D, NULL, 0, NULL, NULL);
}

static enum weir_err check_fill(const struct weir_context *ctx, const struct weir_fill *f,
                                struct place *dst)
{
    size_t bytes;
    enum weir_err err;

    if (!extent_bytes(f->width, f->height, f->depth, f->pitch, f->slice, &bytes))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "a memset larger than the address space");
    err = locate(f->dst, bytes, dst);
    if (err != WEIR_OK)
        return err;
    if (dst->cls == WEIR_MEM_PAGEABLE)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "memset of pageable host memory");
    /* Without peer access only the stream's own device (oracle multi_memset). */
    if (dst->cls == WEIR_MEM_DEVICE && dst->device != ctx->ordinal &&
        (dst->pooled ? is_closed(*dst, ctx) : !(atomic_load(&ctx->peers) >> dst->device & 1)))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "memset of memory of device %d on device %d",
                         dst->device, ctx->ordinal);
    return WEIR_OK;
}

enum weir_err weir_fill_check(const struct weir_context *ctx, const struct weir_fill *f,
                              struct weir_copy_sides *out)
{
    struct place dst;
    enum weir_err err = check_fill(ctx, f, &dst);

    if (err == WEIR_OK)
        fill_sides(out, WEIR_ENGINE_D2D, dst, dst);
    return err;
}

static WEIR_NOINLINE enum weir_err capture_fill(struct weir_stream *s, const struct weir_fill *f,
                                                bool *taken)
{
    struct weir_node_params p = {.kind = WEIR_NODE_MEMSET, .fill = *f};

    *taken = false;
    if (weir_capture_is(s) && !f->async)
        return weir_capture_forbid_slow(WEIR_CAPTURE_CALL_REFUSED, s, "a synchronous memset");
    return weir_capture_take(s, &p, false, "a memset", taken);
}

/* NULL: no memory. Else s is locked (weir_submit_begin). */
static struct weir_copy_op *begin_fill(struct weir_stream *s, const struct weir_fill *f)
{
    const struct weir_copy_shape all = {
        .height = f->height, .depth = f->depth, .dst_pitch = f->pitch, .dst_slice = f->slice};
    struct weir_copy_shape *shape;
    struct weir_copy_op *op;

    if (make_shape(&all, &shape) != WEIR_OK)
        return NULL;
    op = (struct weir_copy_op *)weir_submit_begin(s, WEIR_OP_MEMSET, WEIR_OP_SMALL);
    if (!op) {
        weir_free(shape);
        return NULL;
    }
    op->src = NULL;
    op->dst = f->dst;
    op->width = f->width;
    op->shape = shape;
    op->value = f->value;
    op->element_bytes = f->element_bytes;
    op->engine = WEIR_ENGINE_D2D;
    op->staging_bytes = 0;
    op->late = false;
    return op;
}

enum weir_err weir_fill_submit(struct weir_stream *s, const struct weir_fill *f)
{
    struct weir_model_point point;
    struct weir_copy_rule rule;
    struct weir_copy_op *op;
    struct place dst;
    enum weir_err err, own = WEIR_OK;

    if (f->width == 0 || f->height == 0 || f->depth == 0)
        return WEIR_OK;
    if (weir_capture_any()) {
        bool taken;

        err = capture_fill(s, f, &taken);
        if (err != WEIR_OK || taken)
            return err;
    }
    err = check_fill(s->ctx, f, &dst);
    if (err != WEIR_OK)
        return err;
    rule = weir_model_memset_rule(dst.cls, f->async);
    op = begin_fill(s, f);
    if (!op)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a memset");
    op->status = rule.wait == WEIR_HOST_NO_WAIT ? NULL : &own;
    err = weir_submit_end(s, &op->op, NULL, 0, &point, NULL);
    if (err != WEIR_OK || rule.wait == WEIR_HOST_NO_WAIT)
        return err;
    err = wait_counted(s, &point, WEIR_SYNC_COPY, &own);
    if (weir_check_follows() && rule.strength == WEIR_GUARANTEED)
        weir_check_host_saw_last();
    return err;
}

enum weir_err weir_fill_append(struct weir_stream *s, const struct weir_fill *f)
{
    struct weir_copy_op *op = begin_fill(s, f);

    if (!op)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a memset");
    op->status = NULL;
    return weir_submit_end(s, &op->op, NULL, 0, NULL, NULL);
}
