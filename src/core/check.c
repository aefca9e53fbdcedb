/* From core's structs to the checker's calls. Nothing here runs while nothing is checked.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/check.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "core/copy.h"
#include "core/graph_run.h"
#include "core/module.h"
#include "core/nested_int.h"
#include "core/submit.h"
#include "core/touch.h"
#include "core/trace.h"
#include "memory/memory.h"
#include "model/dependent.h"
#include "trace/symbols.h"

#define CONSTS_KNOWN ((uint64_t)1 << 63)
#define STACK_MAX    ((size_t)64 << 20) /* further away nothing is on the thread's stack */

struct weir_check_op *weir_core_check_of(const struct weir_op *op)
{
    return (struct weir_check_op *)((uintptr_t)op + weir_op_bytes[op->size]);
}

static bool is_checked(const struct weir_op *op)
{
    if (weir_stream_of(op->m.stream)->nest) /* what it does is its outermost grid's */
        return false;
    switch (op->m.kind) {
    case WEIR_OP_RECORD: /* weir_check_record, weir_check_wait */
    case WEIR_OP_WAIT:
    case WEIR_OP_MARKER:
    case WEIR_OP_ALLOC: /* weir_check_alloc_async, weir_check_free_async */
    case WEIR_OP_FREE:
        return false;
    case WEIR_OP_GRAPH: /* not the markers and gates of a graph's event nodes */
        return ((const struct weir_graph_op *)op)->plan != NULL;
    default:
        return true;
    }
}

static bool has_ended_already(const struct weir_op *op)
{
    return op->m.kind == WEIR_OP_POLL;
}

static const char *name_of(const struct weir_op *op)
{
    return op->m.kind == WEIR_OP_KERNEL ? ((const struct weir_kernel_op *)op)->function->name
                                        : NULL;
}

void weir_core_check_peer(const struct weir_op *op, const struct weir_stream *other)
{
    weir_check_op_peer(weir_core_check_of(op), weir_stream_of(op->m.stream), other);
}

/* ---- what operations touch ---- */

/* Memory that a call reads before it returns: by promise when it is synchronous (ORD-061), else as
 * measured (ORD-067), which is not for a verdict to lean on either way. Whether it was staged or
 * copied at once depends on what happened to run, and must not matter. */
static bool is_pageable(const void *p)
{
    struct weir_mem_info info;

    /* (What a pool gave is in the window, and may be given back by now.) */
    return (uintptr_t)p - weir_mem_window_base >= weir_mem_window_bytes && !weir_mem_find(p, &info);
}

static bool is_staged(const struct weir_copy_op *c)
{
    return c->staging_bytes || (c->op.m.kind == WEIR_OP_COPY && is_pageable(c->src));
}

#define COPY_RANGES WEIR_CHECK_DONE_RANGES

/* How many ranges there are. */
static size_t copy_ranges(const struct weir_copy_work *w, bool staged,
                          struct weir_check_range out[COPY_RANGES])
{
    const struct weir_check_range to = {.kind = WEIR_ACCESS_WRITE,
                                        .begin = (uintptr_t)w->dst,
                                        .width = w->width,
                                        .height = w->height,
                                        .depth = w->depth,
                                        .pitch = w->dst_pitch,
                                        .slice = w->dst_slice};
    size_t count = 0;

    if (!w->memset && !staged) { /* what was captured at the call is the call's own */
        out[count] = to;
        out[count].kind = WEIR_ACCESS_READ;
        out[count].begin = (uintptr_t)w->src;
        out[count].pitch = w->src_pitch;
        out[count++].slice = w->src_slice;
    }
    out[count++] = to;
    return count;
}

/* All that an argument may point to: from there to the end of its allocation. */
struct argument {
    struct weir_mem_info info;
    uintptr_t value;
    bool reads; /* by its type, or by what the code does with it */
};

/* Which pointer parameters are to const, by the kernel's name: a bit each, the number above. The
 * C++ library takes a name apart, so it is asked once, and by a thread of the program's that
 * submits. */
static uint64_t const_pointers_of(struct weir_function *f)
{
    uint64_t known = atomic_load_explicit(&f->const_pointers, memory_order_relaxed);
    uint32_t count = 0, reads;

    if (known)
        return known;
    reads = weir_trace_const_pointers(f->name, &count);
    known = CONSTS_KNOWN | (uint64_t)WEIR_MIN(count, 32u) << 32 | reads;
    atomic_store_explicit(&f->const_pointers, known, memory_order_relaxed);
    return known;
}

static void each_argument(struct weir_function *f, const struct weir_function_image *image,
                          const void *params, void (*visit)(void *ctx, const struct argument *a),
                          void *ctx)
{
    uint64_t known;
    uint32_t count, consts, pointer = 0;

    if (image->info.param_bytes < sizeof(uint64_t))
        return;
    known = const_pointers_of(f);
    count = known >> 32 & 0xff;
    consts = (uint32_t)known;
    for (uint32_t i = 0; i < image->info.param_count; i++) {
        for (size_t at = 0; at + 8 <= image->param_bytes[i]; at += 8) {
            struct argument a = {.reads = (pointer < count && (consts >> pointer & 1)) ||
                                          (i < 64 && image->info.reads >> i & 1)};
            uint64_t value;

            memcpy(&value, (const char *)params + image->param_offsets[i] + at, sizeof value);
            if (!(value >> 16) || !weir_mem_find((const void *)(uintptr_t)value, &a.info))
                continue;
            pointer++;
            a.value = value;
            visit(ctx, &a);
        }
    }
}

static void argument_access(void *ctx, const struct argument *a)
{
    struct weir_check_range r = {.kind = a->reads ? WEIR_ACCESS_READ : WEIR_ACCESS_WRITE,
                                 .begin = a->value,
                                 .height = 1,
                                 .depth = 1};

    r.width = r.pitch = a->info.base + a->info.bytes - a->value;
    weir_check_access(ctx, &r, 1);
}

/* early: of what it did before it waited for those in front of it, NULL: that is not apart. */
static void kernel_accesses(struct weir_actor *a, struct weir_actor *early,
                            struct weir_kernel_work *w, struct weir_function *f,
                            const struct weir_function_image *image)
{
    if (w->launch.touches)
        weir_touches_end(w->launch.touches, a, early, f, image, w->code->static_shared_bytes);
    else
        each_argument(f, image, w->launch.params, argument_access, a);
    w->launch.touches = NULL;
}

/* ---- host memory that operations will touch ---- */

static void argument_closes(void *ctx, const struct argument *a)
{
    if (weir_mem_has_twin(a->info.base))
        weir_check_will_touch(ctx, a->info.base, a->info.base + a->info.bytes, !a->reads);
}

/* A kernel's code goes to registered memory by the program's own pages: once it has ended they can
 * be closed. */
static void argument_closes_late(void *ctx, const struct argument *a)
{
    if (a->info.kind == WEIR_MEM_KIND_REGISTERED)
        weir_check_will_touch(ctx, a->info.base, a->info.base + a->info.bytes, !a->reads);
}

static void kernel_closes(struct weir_check_op *op, struct weir_function *f,
                          const struct weir_function_image *image, const void *params)
{
    weir_check_kernel_active(op);
    each_argument(f, image, params, argument_closes, op);
    if (image->info.reaches_more)
        weir_check_will_touch_managed(op);
}

static void kernel_closes_late(struct weir_check_op *op, struct weir_function *f,
                               const struct weir_function_image *image, const void *params)
{
    if (weir_check_watches_more())
        each_argument(f, image, params, argument_closes_late, op);
}

static void rectangle_closes(struct weir_check_op *op, const void *p,
                             const struct weir_copy_work *w, size_t pitch, size_t slice,
                             bool writes)
{
    uintptr_t begin = (uintptr_t)p;

    if (w->width && w->height && w->depth)
        weir_check_will_touch(
            op, begin, begin + (w->depth - 1) * slice + (w->height - 1) * pitch + w->width, writes);
}

static void copy_closes(struct weir_check_op *op, const struct weir_copy_work *w, bool staged)
{
    if (!w->memset && !staged)
        rectangle_closes(op, w->src, w, w->src_pitch, w->src_slice, false);
    rectangle_closes(op, w->dst, w, w->dst_pitch, w->dst_slice, true);
}

static void run_closes(struct weir_check_op *op, const struct weir_run *run, bool *waits)
{
    for (uint32_t i = 0; i < run->count; i++) {
        const struct weir_item *item = &run->items[i];

        switch (item->kind) {
        case WEIR_ITEM_KERNEL:
            kernel_closes(op, item->kernel.function, item->kernel.image,
                          item->kernel.work.launch.params);
            break;
        case WEIR_ITEM_COPY:
            copy_closes(op, &item->copy, false);
            break;
        case WEIR_ITEM_MEMOPS:
            weir_check_values_inside(op);
            *waits = true;
            break;
        case WEIR_ITEM_HOST:
            *waits = true;
            break;
        case WEIR_ITEM_CONDITIONAL:
            for (unsigned k = 0; k < item->conditional.count; k++)
                run_closes(op, &item->conditional.bodies[k], waits);
            break;
        default:
            break;
        }
    }
}

/* From now on the program's pages say who touches them. */
static void host_memory_closes(const struct weir_op *op)
{
    struct weir_check_op *known = weir_core_check_of(op);
    bool waits = false;

    if (!weir_mem_twin.bytes)
        return;
    if (op->m.kind == WEIR_OP_KERNEL) {
        const struct weir_kernel_op *k = (const struct weir_kernel_op *)op;

        kernel_closes(known, k->function, k->image, weir_kernel_op_params(k));
    } else if (op->m.kind == WEIR_OP_GRAPH) {
        run_closes(known, &((const struct weir_graph_op *)op)->plan->main, &waits);
    }
    if (waits)
        weir_check_waits_inside(known);
}

static bool has_early_part(const struct weir_item *item)
{
    return item->kind == WEIR_ITEM_KERNEL && item->early && item->early->source_count;
}

static bool edge_of(const void *graph, uint32_t from, uint32_t k, uint32_t *to, bool *programmatic)
{
    const struct weir_item *item = &((const struct weir_run *)graph)->items[from];

    if (k >= item->succ_count)
        return false;
    *to = item->succ[k] & WEIR_SUCC_INDEX;
    *programmatic = item->succ[k] & WEIR_SUCC_EARLY;
    return true;
}

/* Which node comes before which. */
static struct weir_reach *reach_of(const void *arg)
{
    const struct weir_run *run = arg;
    struct weir_reach *r;
    bool early = false;
    size_t rows;

    for (uint32_t i = 0; i < run->count; i++)
        early = early || has_early_part(&run->items[i]);
    rows = (size_t)run->count * (early ? 2 : 1);
    r = weir_calloc(1, sizeof *r + rows * weir_reach_words(run->count, early) * sizeof r->bits[0]);
    if (r)
        weir_reach_make(r, run->count, early, edge_of, run);
    return r;
}

/* NULL: no launch of a graph. */
static const struct weir_plan *plan_of(const struct weir_op *op)
{
    return op->m.kind == WEIR_OP_GRAPH ? ((const struct weir_graph_op *)op)->plan : NULL;
}

/* Whose launches follow each other (ORD-030), whatever plan they have by now. NULL: none. */
static const void *instance_of(const struct weir_op *op)
{
    const struct weir_plan *plan = plan_of(op);

    return plan ? plan->keep : NULL;
}

static bool has_events(const struct weir_op *op)
{
    const struct weir_plan *plan = plan_of(op);

    return plan && (plan->wait_count || plan->record_count);
}

static struct weir_check_node nodes_of(const struct weir_run *run)
{
    return (struct weir_check_node){.plan = run, .time = run->time, .order = reach_of, .arg = run};
}

/* Only the graph itself has such nodes: none are allowed in the bodies of conditional ones. False:
 * no memory, then the launch is one operation. */
static bool launch(const struct weir_op *op)
{
    const struct weir_plan *plan = plan_of(op);
    const struct weir_check_node nodes = nodes_of(&plan->main);
    struct weir_check_event_node *list = weir_calloc(plan->main.count, sizeof *list);
    size_t waits = 0, count = plan->wait_count;

    if (!list)
        return false;
    for (uint32_t i = 0; i < plan->main.count; i++) {
        const struct weir_item *item = &plan->main.items[i];

        if (item->wanted == WEIR_ITEM_WAIT)
            list[waits++] = (struct weir_check_event_node){i, item->event.event, NULL};
        else if (item->kind == WEIR_ITEM_RECORD)
            list[count++] =
                (struct weir_check_event_node){i, item->event.event, item->event.stream};
    }
    weir_check_launch(weir_core_check_of(op), weir_stream_of(op->m.stream), instance_of(op), &nodes,
                      list, count);
    weir_free(list);
    return true;
}

/* What it touches is known already. */
static void copy_submitted(const struct weir_copy_op *c)
{
    struct weir_check_op *known = weir_core_check_of(&c->op);
    struct weir_check_range ranges[COPY_RANGES];
    bool staged = is_staged(c);
    struct weir_copy_work w;

    weir_copy_op_view(c, &w);
    weir_check_copy(known, weir_stream_of(c->op.m.stream), (enum weir_op_kind)c->op.m.kind, ranges,
                    copy_ranges(&w, staged, ranges));
    if (weir_mem_twin.bytes)
        copy_closes(known, &w, staged);
}

static bool has_been_told(const struct weir_op *op)
{
    return weir_op_is_copy(op) && weir_core_check_of(op)->told;
}

void weir_core_check_op(const struct weir_op *op)
{
    struct weir_check_op *known = weir_core_check_of(op);

    if (!is_checked(op))
        return;
    if (weir_op_is_copy(op) && weir_check_enabled()) {
        copy_submitted((const struct weir_copy_op *)op);
        return;
    }
    if (op->m.kind == WEIR_OP_KERNEL)
        weir_check_kernel(known, weir_stream_of(op->m.stream), name_of(op),
                          (op->m.early & WEIR_EARLY_ASKS) != 0);
    else if (!has_events(op) || !launch(op))
        weir_check_op(known, weir_stream_of(op->m.stream), (enum weir_op_kind)op->m.kind, NULL,
                      instance_of(op));
    if (weir_check_enabled())
        host_memory_closes(op);
    if (has_ended_already(op))
        weir_check_op_done(known, NULL, 0);
}

/* ---- who a node is ---- */

static enum weir_op_kind op_kind_of(const struct weir_item *item)
{
    switch (item->kind) {
    case WEIR_ITEM_KERNEL:
        return WEIR_OP_KERNEL;
    case WEIR_ITEM_COPY:
        return item->copy.memset ? WEIR_OP_MEMSET : WEIR_OP_COPY;
    default:
        return WEIR_OP_HOST_FUNC;
    }
}

/* Bodies in bodies; what is deeper is the innermost conditional node's that is looked at. */
#define LEVELS 16

static uint32_t levels_of(const struct weir_item *item, struct weir_check_node levels[LEVELS])
{
    uint32_t count = 1, i;

    for (const struct weir_item *p = item->run->parent; p; p = p->run->parent)
        count++;
    i = count;
    for (const struct weir_item *p = item; p; p = p->run->parent) {
        if (--i >= LEVELS)
            continue;
        levels[i] = nodes_of(p->run);
        levels[i].number = (uint32_t)(p - p->run->items);
    }
    return WEIR_MIN(count, LEVELS);
}

/* early: what it does before it waits. The caller ends it; NULL: unknown, or it has no such part.
 */
static struct weir_actor *node_actor(const struct weir_item *item, bool early)
{
    struct weir_check_node levels[LEVELS], *last;
    uint32_t count;

    if (early && !has_early_part(item))
        return NULL;
    count = levels_of(item, levels);
    last = &levels[count - 1];
    if (early && last->arg != item->run)
        return NULL;
    if (early)
        last->number += item->run->count;
    return weir_check_node(weir_core_check_of(&item->run->plan->op->op), levels, count,
                           op_kind_of(item),
                           item->kind == WEIR_ITEM_KERNEL ? item->kernel.function->name : NULL);
}

/* ---- kernels that kernels have launched ---- */

/* What one operation inside a grid has touched. */
struct weir_nested_touch {
    struct weir_nested_touch *next;
    struct weir_function *function; /* NULL: a copy */
    struct weir_function_image *image;
    void *touches; /* NULL: arguments are all that is known */
    void *params;
    uint32_t shared_bytes;
    size_t count;
    struct weir_check_range ranges[COPY_RANGES];
};

/* Is there nothing to tell of the kernel's own blocks? (What notes it is good for the next one.) */
static bool has_none(const struct weir_kernel_work *w, enum weir_err status)
{
    return w->launch.touches ? status == WEIR_OK && weir_touches_are_none(w->launch.touches)
                             : status != WEIR_OK;
}

static bool note_kernel(struct weir_nested_touch *t, struct weir_kernel_op *op,
                        struct weir_kernel_work *w, enum weir_err status)
{
    if (has_none(w, status))
        return false;
    t->function = op->function;
    t->image = op->image;
    t->touches = w->launch.touches;
    t->shared_bytes = w->code->static_shared_bytes;
    w->launch.touches = NULL;
    if (t->touches)
        return true;
    t->params = weir_alloc(op->image->info.param_bytes + 1u);
    if (t->params)
        memcpy(t->params, w->launch.params, op->image->info.param_bytes);
    return t->params != NULL;
}

/* Who all that the outermost grid's work does is, when that can be told at once: what is before the
 * grid is over and has been told, unless it may begin early. NULL: it is kept for the end. */
static struct weir_actor *outermost(struct weir_nest *n)
{
    struct weir_kernel_work *w = n->work;
    struct weir_actor *a;

    if (!w->work.node) {
        a = weir_check_actor(n->checked);
        return weir_check_early(a) ? NULL : a;
    }
    if (has_early_part(w->work.owner))
        return NULL;
    weir_lock_acquire(&n->lock);
    a = n->actor;
    weir_lock_release(&n->lock);
    if (a)
        return a;
    a = node_actor(w->work.owner, false);
    weir_lock_acquire(&n->lock);
    if (!n->actor) {
        n->actor = a;
        a = NULL;
    }
    weir_lock_release(&n->lock);
    if (a) /* another thread was faster */
        weir_check_node_end(a);
    return n->actor;
}

static void touch_drop(const struct weir_nested_touch *t)
{
    if (t->touches)
        weir_touches_drop(t->touches);
    weir_free(t->params);
}

static void keep_touch(struct weir_nest *n, const struct weir_nested_touch *of)
{
    struct weir_nested_touch *t = weir_alloc(sizeof *t);

    if (!t) {
        weir_check_lost();
        touch_drop(of);
        return;
    }
    *t = *of;
    weir_lock_acquire(&n->lock);
    t->next = n->touched;
    n->touched = t;
    weir_lock_release(&n->lock);
}

static void tell_touch(struct weir_actor *a, const struct weir_nested_touch *t)
{
    if (t->touches)
        weir_touches_end(t->touches, a, NULL, t->function, t->image, t->shared_bytes);
    else if (t->function)
        each_argument(t->function, t->image, t->params, argument_access, a);
    else
        weir_check_access(a, t->ranges, t->count);
    weir_free(t->params);
}

static void nested_ran(struct weir_nest *n, struct weir_op *op, struct weir_work *work,
                       enum weir_err status)
{
    struct weir_nested_touch t = {0};
    struct weir_actor *a;
    bool some = false;

    if (status != WEIR_OK)
        weir_check_op_failed(n->checked, status);
    if (op->m.kind == WEIR_OP_KERNEL)
        some = note_kernel(&t, (struct weir_kernel_op *)op,
                           WEIR_CONTAINER_OF(work, struct weir_kernel_work, work), status);
    else if (status == WEIR_OK)
        some = (t.count = copy_ranges(WEIR_CONTAINER_OF(work, struct weir_copy_work, work), false,
                                      t.ranges)) > 0;
    if (!some)
        return;
    while (n->up)
        n = n->up;
    a = outermost(n);
    if (a)
        tell_touch(a, &t);
    else
        keep_touch(n, &t);
}

static struct weir_nest *nest_of(struct weir_kernel_work *w)
{
    return atomic_load_explicit(&w->nested, memory_order_relaxed);
}

static bool has_nested(struct weir_kernel_work *w)
{
    const struct weir_nest *n = nest_of(w);

    return n && n->touched;
}

/* All of it is over. */
static void nested_accesses(struct weir_actor *a, struct weir_kernel_work *w)
{
    struct weir_nest *n = nest_of(w);

    while (n && n->touched) {
        struct weir_nested_touch *t = n->touched;

        n->touched = t->next;
        tell_touch(a, t);
        weir_free(t);
    }
}

void weir_core_check_nest_end(struct weir_nest *n)
{
    while (n->touched) { /* the checker has ended before it */
        struct weir_nested_touch *t = n->touched;

        n->touched = t->next;
        touch_drop(t);
        weir_free(t);
    }
    if (n->actor)
        weir_check_node_end(n->actor);
    n->actor = NULL;
}

static void judge_kernel(struct weir_kernel_op *op, struct weir_kernel_work *w,
                         enum weir_err status)
{
    bool none = has_none(w, status);
    struct weir_actor *a;

    if (none && !has_nested(w))
        return;
    if (weir_trace_enabled() && w->launch.touches && status == WEIR_OK)
        weir_core_trace_touched(&op->op, w->launch.touches);
    a = weir_check_actor(weir_core_check_of(&op->op));
    nested_accesses(a, w);
    if (none)
        return;
    kernel_accesses(a, weir_check_early(a), w, op->function, op->image);
    kernel_closes_late(weir_core_check_of(&op->op), op->function, op->image, w->launch.params);
}

static bool is_gone(const void *p)
{
    struct weir_mem_info info;
    char byte;

    return weir_mem_find(p, &info) && info.kind == WEIR_MEM_KIND_REGISTERED &&
           !weir_mem_force_read(&byte, (uintptr_t)p, 1);
}

/* A copy whose registered memory the system has back. */
static bool is_of_gone_memory(const struct weir_op *op, const struct weir_work *work)
{
    const struct weir_copy_work *w;
    bool dst;

    if (!weir_op_is_copy(op))
        return false;
    w = WEIR_CONTAINER_OF(work, struct weir_copy_work, work);
    dst = is_gone(w->dst);
    if (!dst && (w->memset || !is_gone(w->src)))
        return false;
    weir_check_memory_gone(weir_core_check_of(op), dst ? w->dst : w->src,
                           w->width * w->height * w->depth, dst);
    return true;
}

void weir_core_check_ran(struct weir_op *op, struct weir_work *work, enum weir_err status)
{
    struct weir_nest *nest = weir_stream_of(op->m.stream)->nest;

    if (weir_check_enabled() && nest && work)
        nested_ran(nest, op, work, status);
    if (!weir_check_enabled() || !is_checked(op) || has_ended_already(op))
        return;
    if (status != WEIR_OK && !(weir_check_watches_more() && is_of_gone_memory(op, work)))
        weir_check_op_failed(weir_core_check_of(op), status);
    if (op->m.kind == WEIR_OP_KERNEL)
        judge_kernel((struct weir_kernel_op *)op,
                     WEIR_CONTAINER_OF(work, struct weir_kernel_work, work), status);
}

/* What a copy that has run well touches, into out; how many. */
static size_t ranges_of(const struct weir_op *op, const struct weir_work *work,
                        struct weir_check_range out[COPY_RANGES])
{
    const struct weir_copy_op *c = (const struct weir_copy_op *)op;
    const struct weir_copy_work *w;

    if (!weir_op_is_copy(op) || !weir_check_enabled())
        return 0;
    w = WEIR_CONTAINER_OF(work, struct weir_copy_work, work);
    return copy_ranges(w, is_staged(c), out);
}

void weir_core_check_done(struct weir_op *op, const struct weir_work *work, enum weir_err status)
{
    struct weir_check_range ranges[COPY_RANGES];

    if (!is_checked(op) || has_ended_already(op) || has_been_told(op))
        return;
    weir_check_op_done(weir_core_check_of(op), ranges,
                       status == WEIR_OK ? ranges_of(op, work, ranges) : 0);
}

void weir_core_check_collect(struct weir_check_done *done, struct weir_op *op,
                             const struct weir_work *work, enum weir_err status)
{
    size_t i;

    if (!is_checked(op) || has_been_told(op))
        return;
    i = done->count++;
    done->ops[i] = weir_core_check_of(op);
    done->range_counts[i] =
        status == WEIR_OK ? (uint8_t)ranges_of(op, work, done->ranges + done->range_count) : 0;
    done->range_count += done->range_counts[i];
    if (done->count == WEIR_CHECK_DONE_MAX)
        weir_core_check_told(done);
}

void weir_core_check_told(struct weir_check_done *done)
{
    if (done->count)
        weir_check_ops_done(done);
    done->count = done->range_count = 0;
}

/* ---- nodes of graphs ---- */

/* A frame that the thread's stack has left. */
static bool is_below_stack(uintptr_t p)
{
    uintptr_t top = weir_check_frame();
    pthread_attr_t attr;
    void *low = NULL;
    size_t bytes;

    if (p >= top || top - p > STACK_MAX || pthread_getattr_np(pthread_self(), &attr) != 0)
        return false;
    (void)pthread_attr_getstack(&attr, &low, &bytes);
    pthread_attr_destroy(&attr);
    return low && p >= (uintptr_t)low;
}

void weir_core_check_sources(const struct weir_plan *plan)
{
    for (uint32_t i = 0; i < plan->main.count; i++) {
        const struct weir_item *item = &plan->main.items[i];
        const struct weir_copy_work *w = &item->copy;
        struct weir_mem_info info;
        bool in_window;

        if (item->kind != WEIR_ITEM_COPY || w->memset)
            continue;
        in_window = (uintptr_t)w->src - weir_mem_window_base < weir_mem_window_bytes;
        if (in_window && !weir_mem_find(w->src, &info) && !weir_graph_mem_is(w->src))
            weir_check_dead_source(w->src, w->width, false);
        else if (!in_window && is_below_stack((uintptr_t)w->src))
            weir_check_dead_source(w->src, w->width, true);
    }
}

void weir_core_check_node_begin(struct weir_item *item, void **touches)
{
    struct weir_launch *l = &item->kernel.work.launch;

    l->touches = touches && *touches ? *touches : weir_touches_begin();
    if (touches)
        *touches = NULL;
    weir_touches_open(l, weir_core_check_of(&item->run->plan->op->op));
}

/* What a body does is its conditional node's. */
static const struct weir_item *node_of(const struct weir_item *item)
{
    while (item->run->parent)
        item = item->run->parent;
    return item;
}

void weir_core_check_host_node(struct weir_check_func *f, const struct weir_item *item)
{
    const struct weir_item *node = node_of(item);
    struct weir_check_node n = nodes_of(&item->run->plan->main);

    n.number = (uint32_t)(node - node->run->items);
    weir_check_host_func(f, weir_core_check_of(&item->run->plan->op->op), &n);
}

static void node_ran(struct weir_item *item)
{
    struct weir_check_range ranges[COPY_RANGES];
    struct weir_check_op *known = weir_core_check_of(&item->run->plan->op->op);
    struct weir_actor *a = node_actor(item, false), *early = node_actor(item, true);

    if (weir_trace_enabled())
        weir_core_trace_node_touched(item);
    if (item->kind == WEIR_ITEM_KERNEL) {
        nested_accesses(a, &item->kernel.work);
        kernel_accesses(a, early, &item->kernel.work, item->kernel.function, item->kernel.image);
    } else if (item->kind == WEIR_ITEM_COPY)
        weir_check_access(a, ranges, copy_ranges(&item->copy, false, ranges));
    weir_check_node_end(a);
    weir_check_node_end(early);
    if (item->kind == WEIR_ITEM_KERNEL)
        kernel_closes_late(known, item->kernel.function, item->kernel.image,
                           item->kernel.work.launch.params);
}

/* True: the kernel has touched nothing, and there is nothing to tell. */
static bool has_touched_nothing(struct weir_item *item, void **touches)
{
    struct weir_launch *l = &item->kernel.work.launch;

    if (!l->touches || !weir_touches_are_none(l->touches) || has_nested(&item->kernel.work) ||
        weir_trace_enabled())
        return false; /* a trace wants to know that of each node */
    if (touches)
        *touches = l->touches;
    else
        weir_touches_drop(l->touches);
    l->touches = NULL;
    return true;
}

void weir_core_check_node(struct weir_item *item, enum weir_err status, void **touches)
{
    if (item->kind == WEIR_ITEM_KERNEL
            ? (status == WEIR_OK
                   ? !has_touched_nothing(item, touches)
                   : item->kernel.work.launch.touches != NULL || has_nested(&item->kernel.work))
            : status == WEIR_OK)
        node_ran(item);
}
