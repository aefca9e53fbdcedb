/* Engines that do one thing after another: a copy engine per direction, and the host functions'
 * thread. Their thread starts with the first work. Works run in the order in which they became
 * ready; a waiting host thread may take a queued copy.
 * SPDX-License-Identifier: Apache-2.0 */
#include "device/device_int.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"

#define SPIN_HARD_NS 2000

enum { START_NOT, START_BUSY, START_DONE, START_FAILED };

static void work_run(struct runner *r, struct weir_work *work)
{
    struct weir_device *dev = r->dev;
    enum weir_err err = WEIR_OK;
    uint64_t bytes = 0;

    work->start_ns = weir_clock_ns();
    if (!work->ready_ns)
        work->ready_ns = work->start_ns;
    if (stats_on(dev))
        weir_stats_begin(&dev->stats, work);
    weir_lock_check_none_held();
    if (work->engine == WEIR_ENGINE_HOST) {
        struct weir_host_work *host = WEIR_CONTAINER_OF(work, struct weir_host_work, work);

        host->run(host);
    } else {
        struct weir_copy_work *copy = WEIR_CONTAINER_OF(work, struct weir_copy_work, work);

        err = weir_copy_run(r, copy);
        bytes = (uint64_t)copy->width * copy->height * copy->depth;
    }
    work->end_ns = weir_clock_ns();
    if (work->counted)
        weir_stats_end(&dev->stats, work, bytes);
    work->done(work, err); /* work may be gone */
}

static void drain_locked(struct serial *s)
{
    size_t n = weir_inbox_drain(&s->inbox, &s->queue);

    s->live += n;
    s->drained += n;
}

static bool is_work_visible(struct serial *s)
{
    return !inbox_is_empty(&s->inbox) || atomic_load(&s->left) || atomic_load(&s->stopping);
}

static void serial_call(struct serial *s)
{
    if (WEIR_UNLIKELY(atomic_load(&s->asleep)) && atomic_exchange(&s->asleep, 0))
        weir_futex_wake(&s->asleep, 1);
}

/* As compute.c's: when a helper came too late the last time, a spinning thread leaves to it what
 * comes in, for a moment. True: there was work, and a helper has taken it. */
static bool helper_was_first(struct serial *s)
{
    uint64_t start;

    if (!atomic_load_explicit(&s->hold_back, memory_order_relaxed) || inbox_is_empty(&s->inbox))
        return false;
    start = weir_clock_ns();
    while (weir_clock_ns() - start < HELPER_FIRST_NS) {
        if (inbox_is_empty(&s->inbox))
            return !is_work_visible(s);
        weir_cpu_relax();
    }
    atomic_store_explicit(&s->hold_back, false, memory_order_relaxed);
    return false;
}

static void serial_wait(struct serial *s)
{
    for (uint64_t start = weir_clock_ns(), spent = 0; spent < SPIN_NS;
         spent = weir_clock_ns() - start) {
        for (int i = 0; i < 16; i++) {
            if (is_work_visible(s) && !helper_was_first(s))
                return;
            weir_cpu_relax();
        }
        if (spent > SPIN_HARD_NS)
            sched_yield();
    }
    /* Submitters push, then look at `asleep`; we set it, then look at the inbox: one of us sees the
     * other. */
    weir_race_at(WEIR_RACE_SERIAL_TIRED);
    atomic_store(&s->asleep, 1);
    while (!is_work_visible(s) && atomic_load(&s->asleep)) {
        weir_race_at(WEIR_RACE_SERIAL_LOOKED);
        weir_futex_wait(&s->asleep, 1, UINT64_MAX);
    }
    atomic_store(&s->asleep, 0);
}

static void *serial_run(void *arg)
{
    struct serial *s = arg;
    uint64_t over = 0;

    atomic_store_explicit(&s->thread_id, weir_thread_id(), memory_order_relaxed);
    weir_fault_prepare_thread();
    weir_runner_enter(&s->runner);
    weir_thread_ready();
    for (;;) {
        struct weir_work *work = NULL;

        weir_lock_acquire(&s->lock);
        s->live -= over;
        over = 0;
        drain_locked(s);
        atomic_store(&s->left, false);
        if (!weir_list_is_empty(&s->queue)) {
            work = WEIR_LIST_ENTRY(s->queue.next, struct weir_work, link);
            weir_list_remove(&work->link);
        }
        s->behind = !weir_list_is_empty(&s->queue);
        weir_lock_release(&s->lock);
        if (work) {
            if (s->engine == WEIR_ENGINE_HOST) {
                atomic_store_explicit(&s->since_ns, weir_clock_ns(), memory_order_relaxed);
                atomic_store_explicit(&s->running, work, memory_order_release);
            }
            work_run(&s->runner, work);
            if (s->engine == WEIR_ENGINE_HOST)
                atomic_store_explicit(&s->running, NULL, memory_order_release);
            over = 1;
        } else if (atomic_load(&s->stopping)) {
            break;
        } else {
            serial_wait(s);
        }
    }
    weir_runner_leave(NULL);
    return NULL;
}

/* Cold path of submit: the first work of this engine. */
static void serial_start(struct serial *s)
{
    static const char *const names[] = {"", "h2d", "d2h", "d2d", "host"};
    uint32_t not_yet = START_NOT;
    char name[16];

    if (!atomic_compare_exchange_strong(&s->started, &not_yet, START_BUSY))
        return; /* another submitter is at it: the thread will find our work */
    snprintf(name, sizeof name, "%s%d", names[s->engine], s->dev->ordinal);
    if (weir_runner_init(&s->runner, s->dev) == WEIR_OK &&
        weir_thread_start(&s->thread, name, 0, serial_run, s) == WEIR_OK) {
        atomic_store(&s->started, START_DONE);
        return;
    }
    /* Queued copies still run on the threads that wait for them. */
    weir_log(WEIR_LOG_ERROR, "cannot start engine %s: %s", name, weir_err_message());
    atomic_store(&s->started, START_FAILED);
}

void weir_serial_submit(struct serial *s, struct weir_work *work, bool wake)
{
    weir_inbox_push(&s->inbox, work);
    if (!wake)
        return;
    if (WEIR_UNLIKELY(atomic_load(&s->started) == START_NOT))
        serial_start(s);
    serial_call(s);
}

/* A live work that is out of the queue, on a thread that is no engine's. */
static void help_run(struct serial *s, struct weir_work *work, struct runner *r,
                     struct runner *previous)
{
    work_run(r, work);
    weir_helper_give(&s->dev->compute, r, previous);
    weir_lock_acquire(&s->lock);
    s->live--;
    weir_lock_release(&s->lock);
}

bool weir_serial_help(struct serial *s, struct weir_work *work)
{
    struct compute *c = &s->dev->compute;
    struct runner *r, *previous;
    bool queued = false, left;

    if (s->engine == WEIR_ENGINE_HOST || s->dev->one_copy_engine) /* one thread runs all */
        return false;
    weir_lock_acquire(&s->lock);
    drain_locked(s);
    /* By its address only: it may not have been submitted yet, its fields then mean nothing. */
    WEIR_LIST_FOR_EACH(node, &s->queue)
    {
        if (node == &work->link) {
            queued = true;
            break;
        }
    }
    if (queued)
        weir_list_remove(&work->link);
    /* What else came out of the inbox with it: the thread may have looked there in vain. */
    left = !weir_list_is_empty(&s->queue);
    if (left)
        atomic_store(&s->left, true);
    weir_lock_release(&s->lock);
    if (left)
        serial_call(s);
    if (!queued) {
        if (!atomic_load_explicit(&s->hold_back, memory_order_relaxed))
            atomic_store_explicit(&s->hold_back, true, memory_order_relaxed);
        return false;
    }
    r = weir_helper_take(c, &previous);
    if (!r) { /* no memory: the engine's thread does it */
        weir_lock_acquire(&s->lock);
        s->live--;
        s->drained--;
        weir_lock_release(&s->lock);
        weir_serial_submit(s, work, true);
        return false;
    }
    help_run(s, work, r, previous);
    return true;
}

bool weir_device_copy_now(struct weir_device *dev, struct weir_copy_work *copy)
{
    struct serial *s = serial_of(dev, copy->work.engine);
    struct runner *r, *previous;
    bool alone;
    int saved = errno;

    if (!dev->help || dev->one_copy_engine || weir_device_is_forked(dev) || weir_runner_current())
        return false;
    r = weir_helper_take(&dev->compute, &previous);
    if (!r)
        return false;
    weir_lock_acquire(&s->lock);
    alone = inbox_is_empty(&s->inbox) && weir_list_is_empty(&s->queue);
    s->live += alone;
    s->drained += alone;
    weir_lock_release(&s->lock);
    if (!alone) {
        weir_helper_give(&dev->compute, r, previous);
        return false;
    }
    copy->work.counted = false;
    copy->work.ready_ns = 0;
    help_run(s, &copy->work, r, previous);
    errno = saved;
    return true;
}

bool weir_device_copies_alone(struct weir_device *dev, enum weir_engine engine)
{
    struct serial *s = serial_of(dev, (int)engine);

    return weir_runner_current() == &s->runner && !s->behind && !s->runner.guarded &&
           !is_work_visible(s) && !stats_on(dev);
}

bool weir_device_copy_next(struct weir_device *dev, struct weir_copy_work *copy, uint64_t *clock,
                           enum weir_err *status)
{
    if (!weir_device_copies_alone(dev, (enum weir_engine)copy->work.engine))
        return false;
    if (clock)
        copy->work.ready_ns = copy->work.start_ns = *clock ? *clock : weir_clock_ns();
    *status = weir_copy_run(weir_runner_current(), copy);
    if (clock)
        *clock = copy->work.end_ns = weir_clock_ns();
    return true;
}

void weir_serial_init(struct serial *s, struct weir_device *dev, enum weir_engine engine)
{
    s->dev = dev;
    s->engine = engine;
    weir_lock_init(&s->lock, WEIR_RANK_ENGINE);
    weir_list_init(&s->queue);
}

void weir_serial_finish(struct serial *s)
{
    if (!s->dev)
        return;
    atomic_store(&s->stopping, true);
    atomic_store(&s->asleep, 0);
    weir_futex_wake(&s->asleep, 1);
    if (atomic_load(&s->started) == START_DONE) {
        pthread_join(s->thread, NULL);
        weir_runner_finish(&s->runner);
    }
}
