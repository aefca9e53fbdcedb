/* See poll.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/poll.h"

#include "base/log.h"
#include "base/thread.h"
#include "core/explore.h"
#include "core/submit.h"

#define PAUSE_MIN_NS 20000u
#define PAUSE_MAX_NS 1000000u

/* Of the process: a poller serves all devices. */
static struct {
    struct weir_lock lock;      /* rank LEAF */
    struct weir_poll_op *first; /* guarded by lock: not yet seen by the poller */
    bool runs;                  /* guarded by lock: the thread was started */
    _Atomic uint32_t news;      /* futex word: changes with `first` */
} poller = {.lock = WEIR_LOCK_INIT(LEAF)};

static void end_with(struct weir_poll_op *op, enum weir_err status)
{
    struct weir_poll poll = op->poll; /* who looks at the operation finds the object, too */

    weir_op_done(&op->work, status);
    if (poll.drop)
        poll.drop(&poll);
}

/* In a failed context nothing is waited for. */
bool weir_poll_is_over(struct weir_poll_op *op)
{
    return weir_context_error(weir_op_ctx(&op->op)) != WEIR_OK || op->poll.ready(&op->poll);
}

static struct weir_poll_op *take_new(void)
{
    struct weir_poll_op *list;

    weir_lock_acquire(&poller.lock);
    list = poller.first;
    poller.first = NULL;
    weir_lock_release(&poller.lock);
    return list;
}

/* Asks all; true when one was done. */
static bool ask_all(struct weir_poll_op **waiting)
{
    bool any = false;

    for (struct weir_poll_op **link = waiting, *op; (op = *link) != NULL;) {
        if (!weir_poll_is_over(op)) {
            link = &op->next;
            continue;
        }
        *link = op->next;
        end_with(op, WEIR_OK); /* its memory is the stream's again */
        any = true;
    }
    return any;
}

static void *run(void *arg)
{
    struct weir_poll_op *waiting = NULL;
    uint64_t pause = PAUSE_MIN_NS;

    (void)arg;
    weir_thread_ready();
    for (;;) {
        uint32_t news = atomic_load_explicit(&poller.news, memory_order_acquire);
        struct weir_poll_op *list = take_new(), *next;

        for (; list; list = next) {
            next = list->next;
            list->next = waiting;
            waiting = list;
            pause = PAUSE_MIN_NS;
        }
        if (ask_all(&waiting))
            pause = PAUSE_MIN_NS;
        else if (pause < PAUSE_MAX_NS)
            pause += pause / 4;
        weir_futex_wait(&poller.news, news, waiting ? pause : UINT64_MAX);
    }
    return NULL;
}

/* False: the thread could not be started. */
static bool add(struct weir_poll_op *op)
{
    pthread_t thread;
    bool ok;

    weir_lock_acquire(&poller.lock);
    op->next = poller.first;
    poller.first = op;
    ok = poller.runs || weir_thread_start(&thread, "poll", 0, run, NULL) == WEIR_OK;
    if (ok && !poller.runs) {
        pthread_detach(thread);
        poller.runs = true;
    }
    if (!ok)
        poller.first = op->next;
    weir_lock_release(&poller.lock);
    if (!ok)
        return false;
    atomic_fetch_add_explicit(&poller.news, 1, memory_order_release);
    weir_futex_wake(&poller.news, 1);
    return true;
}

void weir_poll_end(struct weir_poll_op *op)
{
    end_with(op, WEIR_OK);
}

void weir_poll_start(struct weir_poll_op *op)
{
    if (weir_explore_enabled() && weir_explore_hold_op(&op->op))
        return;
    if (weir_poll_is_over(op)) {
        end_with(op, WEIR_OK);
        return;
    }
    if (add(op))
        return;
    end_with(op, WEIR_FAIL(WEIR_ERR_OPERATING_SYSTEM, "no thread to wait for a value"));
}

enum weir_err weir_poll_submit(struct weir_stream *s, const struct weir_poll *poll)
{
    struct weir_poll_op *op =
        (struct weir_poll_op *)weir_submit_begin(s, WEIR_OP_POLL, WEIR_OP_MEDIUM);

    if (!op) {
        struct weir_poll dropped = *poll;

        if (poll->drop)
            poll->drop(&dropped);
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a wait for a value");
    }
    op->poll = *poll;
    op->work.owner = op;
    return weir_submit_end(s, &op->op, NULL, 0, NULL, NULL);
}
