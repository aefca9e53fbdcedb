/* Events inside grids. One stands for a point of a stream of its grid, as the host's do.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "core/nested_int.h"

enum weir_err weir_nested_event_create(struct weir_nest *n, uint64_t *handle)
{
    struct weir_nested_event *e = weir_calloc(1, sizeof *e);
    bool ok;

    if (!e)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "an event inside a grid");
    weir_lock_acquire(&n->lock);
    ok = weir_vec_push(&n->events, e);
    *handle = e->handle = weir_nested_handle_locked(n);
    weir_lock_release(&n->lock);
    if (ok)
        return WEIR_OK;
    weir_free(e);
    return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "an event inside a grid");
}

/* Where it stands in the list; count: it is none. */
static size_t find_locked(const struct weir_nest *n, uint64_t handle)
{
    size_t i = 0;

    while (i < n->events.count && n->events.items[i]->handle != handle)
        i++;
    return i;
}

static enum weir_err no_event(uint64_t handle)
{
    return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%#llx is no event of this grid",
                     (unsigned long long)handle);
}

enum weir_err weir_nested_event_destroy(struct weir_nest *n, uint64_t event)
{
    struct weir_nested_event *e = NULL;
    size_t i;

    weir_lock_acquire(&n->lock);
    i = find_locked(n, event);
    if (i < n->events.count) {
        e = n->events.items[i];
        n->events.items[i] = n->events.items[--n->events.count];
    }
    weir_lock_release(&n->lock);
    weir_free(e);
    return e ? WEIR_OK : no_event(event);
}

/* A stream that events may have to do with. */
static enum weir_err enter(struct weir_nest *n, uint64_t block, uint64_t stream,
                           struct weir_nested_stream **t)
{
    enum weir_nested_place place = weir_model_nested_place(stream);

    return place == WEIR_NESTED_BLOCK || place == WEIR_NESTED_NAMED
               ? weir_nested_enter(n, block, stream, t)
               : WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "an event and a stream of launches alone");
}

enum weir_err weir_nested_event_record(struct weir_nest *n, uint64_t block, uint64_t event,
                                       uint64_t stream)
{
    struct weir_nested_stream *t;
    struct weir_model_out out;
    enum weir_err err = enter(n, block, stream, &t);
    bool known;
    size_t i;

    if (err != WEIR_OK)
        return err;
    weir_model_out_init(&out);
    weir_lock_acquire(&n->lock);
    i = find_locked(n, event);
    known = i < n->events.count;
    if (known) {
        weir_lock_acquire(&t->s->lock);
        (void)weir_model_record(&n->events.items[i]->m, &t->s->m, NULL, &out);
        weir_lock_release(&t->s->lock);
    }
    weir_lock_release(&n->lock);
    weir_nested_leave(n, t, false);
    return known ? WEIR_OK : no_event(event);
}

enum weir_err weir_nested_event_wait(struct weir_nest *n, uint64_t block, uint64_t event,
                                     uint64_t stream)
{
    struct weir_nested_stream *t;
    struct weir_model_dep dep;
    enum weir_err err = enter(n, block, stream, &t);
    bool known, waits = false, submitted = false;
    struct weir_op *op;
    size_t i;

    if (err != WEIR_OK)
        return err;
    weir_lock_acquire(&n->lock);
    i = find_locked(n, event);
    known = i < n->events.count;
    if (known)
        waits = weir_model_event_wait_dep(&n->events.items[i]->m, &t->s->m, &dep);
    weir_lock_release(&n->lock);
    if (waits) {
        op = weir_submit_begin(t->s, WEIR_OP_WAIT, WEIR_OP_SMALL);
        err = op ? weir_submit_end(t->s, op, &dep, 1, NULL, NULL)
                 : WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "an event wait inside a grid");
        submitted = err == WEIR_OK;
    }
    weir_nested_leave(n, t, submitted);
    return known ? err : no_event(event);
}
