/* SPDX-License-Identifier: Apache-2.0 */
#include "core/thread.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/lock.h"
#include "base/thread.h"
#include "core/stream.h"

WEIR_TLS struct weir_thread weir_thread;

static pthread_key_t exit_key;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;

/* Threads with a `more`. A forked child forgets them: its list may have been taken in the middle of
 * a change. */
static struct {
    struct weir_lock lock;
    struct weir_list list;
    bool ready;
} threads = {.lock = WEIR_LOCK_INIT(LEAF)};

static void enlist(struct weir_thread_more *more)
{
    weir_lock_acquire(&threads.lock);
    if (!threads.ready)
        weir_list_init(&threads.list);
    threads.ready = true;
    weir_list_append(&threads.list, &more->link);
    weir_lock_release(&threads.lock);
}

static void delist(struct weir_thread_more *more)
{
    weir_lock_acquire(&threads.lock);
    if (threads.ready)
        weir_list_remove(&more->link);
    weir_lock_release(&threads.lock);
}

void weir_thread_forked(void)
{
    weir_lock_init(&threads.lock, WEIR_RANK_LEAF);
    threads.ready = false;
    if (weir_thread.more)
        weir_list_init(&weir_thread.more->link);
}

bool weir_thread_each(void (*visit)(void *arg, const struct weir_thread_more *more), void *arg)
{
    if (!weir_lock_try_patiently(&threads.lock))
        return false;
    if (threads.ready) {
        WEIR_LIST_FOR_EACH(node, &threads.list)
        visit(arg, WEIR_LIST_ENTRY(node, struct weir_thread_more, link));
    }
    weir_lock_release(&threads.lock);
    return true;
}

void weir_thread_wait_begin(struct weir_model_stream *stream, uint64_t seq)
{
    struct weir_thread_more *more = weir_thread_get_more();

    if (WEIR_UNLIKELY(!more))
        return;
    atomic_store_explicit(&more->wait.since_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&more->wait.seq, seq, memory_order_relaxed);
    atomic_store_explicit(&more->wait.stream, stream, memory_order_release);
}

bool weir_thread_still_waits(void)
{
    const struct weir_thread_more *more = weir_thread.more;
    struct weir_model_point point;

    if (!more)
        return true;
    point =
        (struct weir_model_point){atomic_load_explicit(&more->wait.stream, memory_order_relaxed),
                                  atomic_load_explicit(&more->wait.seq, memory_order_relaxed)};
    return !point.stream || !weir_model_point_holds(&point);
}

void weir_thread_wait_since(uint64_t now_ns)
{
    struct weir_thread_wait *wait;

    if (WEIR_UNLIKELY(!weir_thread.more))
        return;
    wait = &weir_thread.more->wait;
    if (!atomic_load_explicit(&wait->since_ns, memory_order_relaxed))
        atomic_store_explicit(&wait->since_ns, now_ns, memory_order_relaxed);
}

void weir_thread_wait_why(unsigned why)
{
    struct weir_thread_more *more = weir_thread_get_more();

    if (WEIR_LIKELY(more != NULL))
        atomic_store_explicit(&more->wait.why, (uint8_t)why, memory_order_relaxed);
}

void weir_thread_wait_end(void)
{
    if (WEIR_LIKELY(weir_thread.more != NULL))
        atomic_store_explicit(&weir_thread.more->wait.stream, NULL, memory_order_release);
}

/* A thread's default streams end with it; work left in them runs on, and still orders the legacy
 * stream (ORD-010). The destructor may run again when a later one of the program's calls CUDA. */
static void thread_exit(void *arg)
{
    struct weir_thread_more *more = arg;

    weir_thread.more = NULL;
    delist(more);
    for (int i = 0; more->default_streams && i < WEIR_MAX_CONTEXTS; i++) {
        const struct weir_default_stream *d = &more->default_streams[i];

        /* One of before a reset was retired by it. */
        if (d->stream && d->epoch == atomic_load(&weir_core.contexts[i].epoch))
            weir_stream_retire(d->stream);
    }
    weir_free(more->default_streams);
    weir_free(more);
}

static void make_key(void)
{
    pthread_key_create(&exit_key, thread_exit);
}

struct weir_thread_more *weir_thread_make_more(void)
{
    struct weir_thread_more *more = weir_calloc(1, sizeof *more);

    if (!more)
        return NULL;
    pthread_once(&exit_once, make_key);
    if (pthread_setspecific(exit_key, more) != 0) {
        weir_free(more);
        return NULL;
    }
    more->own = &weir_thread;
    more->id = weir_thread_id();
    enlist(more);
    weir_thread.more = more;
    return more;
}

/* ---- current context ---- */

void weir_thread_set_context(int context)
{
    weir_thread.context = (int16_t)context;
    weir_thread.bound = true;
}

enum weir_err weir_thread_push_context(int context)
{
    struct weir_thread_more *more = weir_thread_get_more();

    if (!more || more->stack_count == WEIR_CONTEXT_STACK)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "contexts pushed %d deep", WEIR_CONTEXT_STACK);
    if (weir_thread.bound)
        more->stack[more->stack_count++] = weir_thread.context;
    weir_thread_set_context(context);
    return WEIR_OK;
}

void weir_thread_pop_context(void)
{
    struct weir_thread_more *more = weir_thread.more;

    if (more && more->stack_count) {
        weir_thread.context = more->stack[--more->stack_count];
        return;
    }
    weir_thread.bound = false;
    weir_thread.context = weir_thread.device;
}

/* ---- default streams ---- */

enum weir_err weir_thread_default_stream(int context, struct weir_stream **out)
{
    struct weir_thread_more *more = weir_thread_get_more();
    struct weir_context *ctx = &weir_core.contexts[context];
    uint64_t epoch = atomic_load_explicit(&ctx->epoch, memory_order_relaxed);
    struct weir_default_stream *d;

    if (more && !more->default_streams)
        more->default_streams = weir_calloc(WEIR_MAX_CONTEXTS, sizeof *more->default_streams);
    if (!more || !more->default_streams)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a thread's default streams");
    d = &more->default_streams[context];
    if (WEIR_UNLIKELY(!d->stream || d->epoch != epoch)) {
        d->stream = NULL; /* one of before a reset was retired by it */
        if (weir_stream_create(ctx, WEIR_STREAM_PER_THREAD, 0, 0, &d->stream) != WEIR_OK)
            return WEIR_ERR_MEMORY_ALLOCATION;
        d->epoch = epoch;
    }
    *out = d->stream;
    return WEIR_OK;
}
