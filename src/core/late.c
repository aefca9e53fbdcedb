/* See late.h. Who begins to wait lets go what it waits for at once. A copy may also be held back
 * after that, so a thread looks at all waiting threads, as long as there is something held.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/late.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "core/submit.h"

#define LOOK_NS     500000u
#define DEPTH_MAX   64  /* streams followed from one wait */
#define WAITERS_MAX 256 /* threads looked at in one round; the others' turn comes by time */

static struct {
    struct weir_lock lock;      /* rank LEAF */
    struct weir_copy_op *first; /* guarded by lock: held back, oldest first */
    bool runs;                  /* guarded by lock: the thread was started */
    _Atomic uint32_t news;      /* futex word: changes with each that is held */
} late = {.lock = WEIR_LOCK_INIT(LEAF)};

static void let_go(struct weir_copy_op *op)
{
    atomic_store_explicit(&op->op.dispatched, 1,
                          memory_order_release); /* pairs with find_helpable in wait.c */
    weir_device_submit(weir_op_ctx(&op->op)->engines, &op->job->copy.work);
}

/* Takes op off the list; false when it is not there (any more). */
static bool take(struct weir_copy_op *op)
{
    struct weir_copy_op **link = &late.first;

    weir_lock_acquire(&late.lock);
    while (*link && *link != op)
        link = &(*link)->late_next;
    if (*link)
        *link = op->late_next;
    else
        op = NULL;
    weir_lock_release(&late.lock);
    return op != NULL;
}

/* The copy that keeps p from holding, if it is one that may be held back. */
static struct weir_copy_op *find(const struct weir_model_point *p)
{
    struct weir_model_stream *next = weir_model_point_holds(p) ? NULL : p->stream;

    for (int depth = 0; next && depth < DEPTH_MAX; depth++) {
        struct weir_stream *s = weir_stream_of(next);
        struct weir_copy_op *found = NULL;
        struct weir_op *op;

        next = NULL;
        weir_lock_acquire(&s->lock);
        op = (struct weir_op *)s->m.head;
        if (op && op->m.state == WEIR_OP_READY && op->m.kind == WEIR_OP_COPY &&
            !atomic_load_explicit(&op->dispatched, memory_order_acquire))
            found = (struct weir_copy_op *)op;
        else if (op && op->m.state == WEIR_OP_BLOCKED && op->m.dep_pos < op->m.dep_count)
            next = op->m.deps[op->m.dep_pos].point.stream;
        weir_lock_release(&s->lock);
        if (found)
            return found;
    }
    return NULL;
}

bool weir_late_demand(const struct weir_model_point *p)
{
    struct weir_copy_op *op = find(p);

    if (!op || !take(op))
        return false;
    let_go(op);
    return true;
}

bool weir_late_is_held(const struct weir_model_point *p)
{
    return find(p) != NULL;
}

/* ---- the thread that looks ---- */

struct waiters {
    struct weir_model_point points[WAITERS_MAX];
    size_t count;
};

static void note(void *arg, const struct weir_thread_more *more)
{
    struct weir_model_stream *s = atomic_load_explicit(&more->wait.stream, memory_order_acquire);
    struct waiters *w = arg;

    if (s && w->count < WAITERS_MAX)
        w->points[w->count++] = (struct weir_model_point){
            s, atomic_load_explicit(&more->wait.seq, memory_order_relaxed)};
}

/* The oldest if it has been held for long enough. */
static struct weir_copy_op *take_old(uint64_t now)
{
    struct weir_copy_op *op;

    weir_lock_acquire(&late.lock);
    op = late.first;
    if (op && now - op->held_ns >= weir_core.config.late_ns)
        late.first = op->late_next;
    else
        op = NULL;
    weir_lock_release(&late.lock);
    return op;
}

static bool is_empty(void)
{
    bool empty;

    weir_lock_acquire(&late.lock);
    empty = !late.first;
    weir_lock_release(&late.lock);
    return empty;
}

static void *run(void *arg)
{
    static struct waiters w; /* this thread's alone */

    (void)arg;
    weir_thread_ready();
    for (;;) {
        uint32_t news = atomic_load_explicit(&late.news, memory_order_acquire);
        struct weir_copy_op *op;

        w.count = 0;
        weir_thread_each(note, &w);
        for (size_t i = 0; i < w.count; i++)
            weir_late_demand(&w.points[i]);
        while ((op = take_old(weir_clock_ns())) != NULL)
            let_go(op);
        if (is_empty())
            weir_futex_wait(&late.news, news, UINT64_MAX);
        else
            weir_futex_wait(&late.news, news, LOOK_NS);
    }
    return NULL;
}

bool weir_late_hold(struct weir_copy_op *op)
{
    struct weir_copy_op **link = &late.first;
    pthread_t thread;
    bool ok;

    op->held_ns = weir_clock_ns();
    op->late_next = NULL;
    weir_lock_acquire(&late.lock);
    ok = late.runs || weir_thread_start(&thread, "late", 0, run, NULL) == WEIR_OK;
    if (ok && !late.runs) {
        pthread_detach(thread);
        late.runs = true;
    }
    while (ok && *link)
        link = &(*link)->late_next;
    if (ok)
        *link = op;
    weir_lock_release(&late.lock);
    if (!ok) {
        weir_log(WEIR_LOG_WARN, "no thread for --late-dma: %s", weir_err_message());
        return false;
    }
    atomic_fetch_add_explicit(&late.news, 1, memory_order_release);
    weir_futex_wake(&late.news, 1);
    return true;
}
