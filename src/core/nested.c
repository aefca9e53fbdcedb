/* See nested.h. Work inside a grid is made of ordinary operations: what runs, checks, traces or
 * explores those knows of the nest only that it is told when they are complete.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/nested_int.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "core/check.h"
#include "core/dependent.h"
#include "core/explore.h"
#include "core/graph_run.h"

#define LOOKS 8 /* at streams, for one that is idle */

static _Atomic uint64_t next_id;

/* ---- nests ---- */

static struct weir_kernel_work *work_of(const struct weir_block *block)
{
    return WEIR_CONTAINER_OF((struct weir_launch *)(uintptr_t)block->launch,
                             struct weir_kernel_work, launch);
}

static struct weir_trace_id grid_of(const struct weir_op *op)
{
    return (struct weir_trace_id){.stream = weir_stream_of(op->m.stream)->id, .seq = op->m.seq};
}

const struct weir_trace_id *weir_nested_grid(const struct weir_nest *n)
{
    return &n->grid;
}

static struct weir_nest *create(struct weir_kernel_work *k)
{
    struct weir_nest *n = weir_calloc(1, sizeof *n);

    if (!n)
        return NULL;
    n->work = k;
    n->ctx = k->launch.owner;
    n->id = atomic_fetch_add_explicit(&next_id, 1, memory_order_relaxed) + 1;
    weir_lock_init(&n->lock, WEIR_RANK_NEST);
    weir_model_nest_begin(&n->m);
    if (k->work.node) {
        const struct weir_item *item = k->work.owner;
        const struct weir_op *op = &item->run->plan->op->op;

        n->grid = grid_of(op);
        n->function = item->kernel.function;
        n->image = item->kernel.image;
        n->root = weir_stream_of(op->m.stream);
        n->checked = weir_core_check_of(op);
    } else {
        const struct weir_kernel_op *op = k->work.owner;
        const struct weir_stream *s = weir_stream_of(op->op.m.stream);

        n->grid = grid_of(&op->op);
        n->function = op->function;
        n->image = op->image;
        n->up = s->nest;
        n->root = s->nest ? s->nest->root : s;
        n->checked = s->nest ? s->nest->checked : weir_core_check_of(&op->op);
        n->is_tail = op->tail;
    }
    return n;
}

struct weir_nest *weir_nested_of(struct weir_block *block, bool make)
{
    struct weir_kernel_work *k = work_of(block);
    void *had = atomic_load_explicit(&k->nested, memory_order_acquire);
    struct weir_nest *n;

    if (had || !make)
        return had;
    n = create(k);
    if (!n || atomic_compare_exchange_strong(&k->nested, &had, n))
        return n;
    weir_free(n); /* another block was first */
    return had;
}

/* All that is in n is complete. */
static void empty(struct weir_nest *n)
{
    struct weir_nested_params *list = NULL, *p;
    size_t pos = 0;
    uint64_t key;
    void *value;

    for (size_t i = 0; i < n->streams.count; i++) {
        weir_stream_retire(n->streams.items[i]->s);
        weir_free(n->streams.items[i]);
    }
    weir_vec_finish(&n->streams);
    for (size_t i = 0; i < n->events.count; i++)
        weir_free(n->events.items[i]);
    weir_vec_finish(&n->events);
    while (weir_map_next(&n->params, &pos, &key, &value)) {
        p = value;
        p->next = list;
        list = p;
    }
    if (list)
        weir_nested_params_give(n->ctx, list);
    weir_map_finish(&n->params);
    weir_map_finish(&n->errors);
    weir_map_finish(&n->blocks);
    n->over = true;
}

/* ---- streams ---- */

static bool is_free(struct weir_nested_stream *t)
{
    return !t->users && !t->handle && weir_model_stream_is_idle(&t->s->m);
}

/* One that stands for no order any more, or a new one. With the lock. */
static struct weir_nested_stream *take_locked(struct weir_nest *n)
{
    struct weir_nested_stream *t = NULL;

    for (size_t i = 0; i < WEIR_MIN(n->streams.count, (size_t)LOOKS); i++) {
        n->cursor = (n->cursor + 1) % n->streams.count;
        t = n->streams.items[n->cursor];
        if (!is_free(t))
            continue;
        if (t->block)
            (void)weir_map_remove(&n->blocks, t->block);
        t->block = 0;
        return t;
    }
    t = weir_calloc(1, sizeof *t);
    if (!t || !weir_vec_reserve(&n->streams, n->streams.count + 1) ||
        weir_stream_create_nested(n->ctx, n->work->work.priority, n, &t->s) != WEIR_OK) {
        weir_free(t);
        return NULL;
    }
    n->streams.items[n->streams.count++] = t;
    return t;
}

static struct weir_nested_stream *block_stream_locked(struct weir_nest *n, uint64_t block)
{
    struct weir_nested_stream *t = weir_map_get(&n->blocks, block + 1);

    if (t)
        return t;
    t = take_locked(n);
    if (t && !weir_map_put(&n->blocks, block + 1, t))
        return NULL;
    if (t)
        t->block = block + 1;
    return t;
}

static struct weir_nested_stream *named_locked(struct weir_nest *n, uint64_t handle)
{
    for (size_t i = 0; i < n->streams.count; i++)
        if (n->streams.items[i]->handle == handle)
            return n->streams.items[i];
    return NULL;
}

static void count_pending(struct weir_nest *n, bool more)
{
    atomic_fetch_add_explicit(&n->ctx->nested_pending, more ? 1 : UINT64_MAX, memory_order_relaxed);
}

enum weir_err weir_nested_enter(struct weir_nest *n, uint64_t block, uint64_t handle,
                                struct weir_nested_stream **out)
{
    enum weir_nested_place place = weir_model_nested_place(handle);
    struct weir_nested_stream *t;

    weir_lock_acquire(&n->lock);
    t = place == WEIR_NESTED_NAMED   ? named_locked(n, handle)
        : place == WEIR_NESTED_BLOCK ? block_stream_locked(n, block)
                                     : take_locked(n);
    if (t) {
        t->users++;
        weir_model_nest_submit(&n->m);
        count_pending(n, true);
    }
    weir_lock_release(&n->lock);
    *out = t;
    if (t)
        return WEIR_OK;
    return place == WEIR_NESTED_NAMED
               ? WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%#llx is no stream of this grid",
                           (unsigned long long)handle)
               : WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a stream inside a grid");
}

void weir_nested_leave(struct weir_nest *n, struct weir_nested_stream *t, bool submitted)
{
    weir_lock_acquire(&n->lock);
    t->users--;
    if (!submitted) {
        (void)weir_model_nest_over(&n->m, 1); /* (a block of the grid runs, which asks for it) */
        count_pending(n, false);
    }
    weir_lock_release(&n->lock);
}

enum weir_err weir_nested_stream_create(struct weir_nest *n, uint64_t *handle)
{
    struct weir_nested_stream *t;

    weir_lock_acquire(&n->lock);
    t = take_locked(n);
    if (t)
        *handle = t->handle = weir_nested_handle_locked(n);
    weir_lock_release(&n->lock);
    return t ? WEIR_OK : WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a stream inside a grid");
}

/* What is in it runs on. */
enum weir_err weir_nested_stream_destroy(struct weir_nest *n, uint64_t handle)
{
    struct weir_nested_stream *t = NULL;

    weir_lock_acquire(&n->lock);
    if (weir_model_nested_place(handle) == WEIR_NESTED_NAMED)
        t = named_locked(n, handle);
    if (t)
        t->handle = 0;
    weir_lock_release(&n->lock);
    return t ? WEIR_OK : WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "no stream that a kernel created");
}

/* Handles of streams and events, which are good in their grid alone. */
uint64_t weir_nested_handle_locked(struct weir_nest *n)
{
    return n->id << 24 | (++n->next_handle + WEIR_NESTED_FIRST_HANDLE);
}

/* ---- launches ---- */

static enum weir_err append(struct weir_stream *s, const struct weir_nested_work *w, bool tail)
{
    switch (w->kind) {
    case WEIR_OP_KERNEL:
        return weir_launch_append(w->kernel.function, w->kernel.image, s, &w->kernel.config, tail,
                                  w->kernel.params);
    case WEIR_OP_COPY:
        return weir_copy_append(s, &w->copy);
    default:
        return weir_fill_append(s, &w->fill);
    }
}

static size_t pending_most(const struct weir_nest *n)
{
    return atomic_load_explicit(&n->ctx->limits[WEIR_LIMIT_PENDING_LAUNCHES], memory_order_relaxed);
}

static bool too_many_pend(const struct weir_nest *n)
{
    return atomic_load_explicit(&n->ctx->nested_pending, memory_order_relaxed) >= pending_most(n);
}

static enum weir_err add_tail(struct weir_nest *n, const struct weir_nested_work *w)
{
    size_t bytes = w->kind == WEIR_OP_KERNEL ? w->kernel.image->info.param_bytes : 0;
    struct weir_nested_tail *t;

    if (too_many_pend(n))
        return WEIR_FAIL(WEIR_ERR_LAUNCH_PENDING_COUNT_EXCEEDED, "a tail launch: %zu wait",
                         pending_most(n));
    t = weir_alloc_aligned(16, WEIR_ALIGN_UP(sizeof *t + bytes, 16));
    if (!t)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a tail launch");
    t->next = NULL;
    t->work = *w;
    if (w->kind == WEIR_OP_KERNEL) {
        memcpy(t->params, w->kernel.params, bytes);
        t->work.kernel.params = t->params;
    }
    weir_lock_acquire(&n->lock);
    if (n->last_tail)
        n->last_tail->next = t;
    else
        n->tails = t;
    n->last_tail = t;
    weir_model_nest_submit_tail(&n->m);
    count_pending(n, true);
    weir_lock_release(&n->lock);
    return WEIR_OK;
}

/* Launches that wait take memory: with too many of them the block that launches runs some itself.
 * (On a GPU they have begun by then.) Not from within such a one, which is deep enough. */
static void help(struct weir_nest *n)
{
    static WEIR_TLS bool helps;
    struct weir_stream *s = NULL;

    if (helps || weir_explore_enabled())
        return;
    weir_lock_acquire(&n->lock);
    for (size_t i = 0; i < n->streams.count && !s; i++) {
        n->cursor = (n->cursor + 1) % n->streams.count;
        if (!weir_model_stream_is_idle(&n->streams.items[n->cursor]->s->m))
            s = n->streams.items[n->cursor]->s;
    }
    weir_lock_release(&n->lock);
    helps = true;
    if (s)
        (void)weir_dependent_help_head(s);
    helps = false;
}

enum weir_err weir_nested_submit(struct weir_nest *n, uint64_t block,
                                 const struct weir_nested_work *work, uint64_t stream)
{
    struct weir_nested_stream *t;
    enum weir_err err;

    if (weir_model_nested_place(stream) == WEIR_NESTED_TAIL)
        return add_tail(n, work);
    if (WEIR_UNLIKELY(too_many_pend(n)))
        help(n);
    err = weir_nested_enter(n, block, stream, &t);
    if (err != WEIR_OK)
        return err;
    err = append(t->s, work, false);
    weir_nested_leave(n, t, err == WEIR_OK);
    return err;
}

/* ---- the end ---- */

/* Of the thread, while it ends nests: the others that it has to. A chain of grids is as long as
 * programs make it. */
static WEIR_TLS struct weir_nest *ending;
static WEIR_TLS bool ends;

/* n's tails go to the grid whose tail n's is. */
static void hand_over(struct weir_nest *n)
{
    struct weir_nest *up = n->up;

    weir_lock_acquire(&up->lock);
    weir_model_nest_hand_over(&n->m, &up->m);
    n->last_tail->next = up->tails;
    up->tails = n->tails;
    if (!up->last_tail)
        up->last_tail = n->last_tail;
    weir_lock_release(&up->lock);
    n->tails = n->last_tail = NULL;
}

static void start_tail(struct weir_nest *n)
{
    struct weir_nested_stream *s;
    struct weir_nested_tail *t;
    enum weir_err err = WEIR_OK;

    weir_lock_acquire(&n->lock);
    t = n->tails;
    n->tails = t->next;
    if (!n->tails)
        n->last_tail = NULL;
    s = take_locked(n);
    weir_lock_release(&n->lock);
    if (s)
        err = append(s->s, &t->work, true);
    weir_free(t);
    if (s && err == WEIR_OK)
        return;
    weir_context_fail(n->ctx, WEIR_ERR_MEMORY_ALLOCATION);
    weir_nested_over(n, 1);
}

static void end(struct weir_nest *n)
{
    struct weir_work *work = &n->work->work;

    if (n->what == WEIR_NESTED_TURN && n->is_tail) {
        hand_over(n);
    } else if (n->what == WEIR_NESTED_TURN) {
        start_tail(n);
        return;
    }
    empty(n);
    work->end_ns = weir_clock_ns();
    work->done(work, n->status);
}

static void end_all(struct weir_nest *n)
{
    n->next = ending;
    ending = n;
    if (ends)
        return;
    ends = true;
    while ((n = ending)) {
        ending = n->next;
        end(n);
    }
    ends = false;
}

static enum weir_nested_next over_locked(struct weir_nest *n, uint32_t count)
{
    enum weir_nested_next what = weir_model_nest_over(&n->m, count);

    if (what != WEIR_NESTED_WAIT)
        n->what = what;
    return what;
}

void weir_nested_over(struct weir_nest *n, uint32_t count)
{
    enum weir_nested_next what;

    atomic_fetch_sub_explicit(&n->ctx->nested_pending, count, memory_order_relaxed);
    weir_lock_acquire(&n->lock);
    what = over_locked(n, count);
    weir_lock_release(&n->lock);
    if (what != WEIR_NESTED_WAIT)
        end_all(n);
}

bool weir_nested_goes_on(struct weir_work *work, enum weir_err status)
{
    struct weir_kernel_work *k = WEIR_CONTAINER_OF(work, struct weir_kernel_work, work);
    struct weir_nest *n = atomic_load_explicit(&k->nested, memory_order_acquire);
    enum weir_nested_next what;

    if (WEIR_LIKELY(!n) || n->over)
        return false;
    weir_lock_acquire(&n->lock);
    n->status = status;
    what = over_locked(n, 1);
    weir_lock_release(&n->lock);
    if (what == WEIR_NESTED_COMPLETE) {
        empty(n);
        return false;
    }
    if (what == WEIR_NESTED_TURN)
        end_all(n);
    return true;
}

void weir_nested_forget(struct weir_work *work)
{
    struct weir_kernel_work *k = WEIR_CONTAINER_OF(work, struct weir_kernel_work, work);
    struct weir_nest *n = atomic_load_explicit(&k->nested, memory_order_relaxed);

    if (WEIR_LIKELY(!n))
        return;
    atomic_store_explicit(&k->nested, NULL, memory_order_relaxed);
    weir_core_check_nest_end(n);
    weir_free(n);
}

struct weir_check_op *weir_nested_checked(const struct weir_op *op)
{
    const struct weir_nest *n = weir_stream_of(op->m.stream)->nest;

    return n ? n->checked : weir_core_check_of(op);
}

const struct weir_stream *weir_nested_root(const struct weir_stream *s)
{
    return s->nest ? s->nest->root : s;
}
