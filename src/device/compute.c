/* The workers: their loop, how they sleep and are woken, and host threads that help.
 *
 * Somebody must look for work while there is any, but the submitter should not pay for a system
 * call. So workers count as attentive while they will soon look at the inbox (they spin, or run a
 * chunk believed to be short); a submitter wakes a sleeper only when nobody is attentive. A worker
 * that starts something long steps out of that count, and looks once more. That a chunk believed
 * short may be long is the sentry's business: one sleeper, with a time limit. More workers are
 * woken by workers, when what is left to hand out is worth it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "device/device_int.h"

#include <sched.h>
#include <stdio.h>
#include <sys/prctl.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"

#define TIMER_SLACK_NS   1000      /* the default would make the shortest pause 50 us */
#define PAUSES_BY_YIELD  8         /* rounds of vain polling before the first sleep */
#define LONG_PS          60000000u /* a chunk that may take longer is not "soon" */
#define SPIN_HARD_NS     2000      /* from then on a spinning thread lets others have the CPU */
#define FREE_SLOTS_EXTRA 8

static void *worker_run(void *arg);

#define SHARED_UNIT                                                                                \
    128u /* what hardware hands out: compilers load a vector beyond an array's end */

/* Dynamic shared memory begins at a multiple of 16 behind the static. */
static uint32_t shared_bytes_of(const struct weir_kernel_work *k)
{
    uint32_t bytes = k->code->static_shared_bytes;

    if (k->launch.dynamic_shared_bytes)
        bytes = WEIR_ALIGN_UP(bytes, 16u) + k->launch.dynamic_shared_bytes;
    return WEIR_ALIGN_UP(bytes, SHARED_UNIT);
}

/* ---- sleeping and waking ---- */

static bool sleeper_take_off(struct compute *c)
{
    int32_t n = atomic_load(&c->sleepers);

    while (n > 0)
        if (atomic_compare_exchange_weak(&c->sleepers, &n, n - 1))
            return true;
    return false;
}

static bool worker_start(struct compute *c)
{
    bool started = false;

    weir_lock_acquire(&c->start_lock);
    if (!c->start_failed && atomic_load(&c->started) < c->worker_count &&
        !atomic_load(&c->stopping)) {
        int n = atomic_load(&c->started);
        struct worker *w = &c->workers[n];
        char name[16];

        snprintf(name, sizeof name, "w%d.%d", c->dev->ordinal, n);
        atomic_fetch_add(&c->attentive, 1);
        if (weir_thread_start(&w->thread, name, 0, worker_run, w) == WEIR_OK) {
            atomic_store(&c->started, n + 1);
            started = true;
        } else { /* the others, and helpers, must do */
            atomic_fetch_sub(&c->attentive, 1);
            c->start_failed = true;
            weir_log(WEIR_LOG_ERROR, "cannot start worker %d of device %d: %s", n, c->dev->ordinal,
                     weir_err_message());
        }
    }
    weir_lock_release(&c->start_lock);
    return started;
}

static void worker_second_start(struct compute *c)
{
    if (c->worker_count > 1)
        worker_start(c);
}

/* Wakes or starts one more worker. It counts as attentive from here on, so that no second submitter
 * calls another. False: none is left. */
static bool worker_call(struct compute *c)
{
    if (sleeper_take_off(c)) {
        weir_race_at(WEIR_RACE_WORKER_CALLED);
        atomic_fetch_add(&c->attentive, 1);
        atomic_fetch_add(&c->calls, 1);
        weir_futex_wake(&c->calls, 1);
        return true;
    }
    return atomic_load(&c->started) < c->worker_count && worker_start(c);
}

/* False: nobody looks, and nobody can be called. */
static bool worker_call_if_nobody_looks(struct compute *c)
{
    return WEIR_LIKELY(atomic_load(&c->attentive) > 0) || worker_call(c);
}

static bool call_take(struct compute *c)
{
    uint32_t n = atomic_load(&c->calls);

    while (n > 0)
        if (atomic_compare_exchange_weak(&c->calls, &n, n - 1))
            return true;
    return false;
}

static bool is_work_visible(struct compute *c, bool parked_too)
{
    return !inbox_is_empty(&c->inbox) || atomic_load(&c->best_priority) != PRIORITY_NONE ||
           (parked_too && atomic_load_explicit(&c->parked_count, memory_order_relaxed) > 0) ||
           atomic_load(&c->stopping);
}

/* A sleeper that was not called gets up: takes itself off the count, or a call that was meant for
 * any sleeper. */
static void sleeper_get_up(struct compute *c)
{
    if (sleeper_take_off(c)) {
        atomic_fetch_add(&c->attentive, 1);
        return;
    }
    while (!call_take(c) && !atomic_load(&c->stopping))
        weir_cpu_relax();
}

/* Some sleeper gets up by itself: the sentry, or one that pauses between two looks at blocks that
 * poll. To call it would only take its pause away. */
static bool is_watched(struct compute *c)
{
    return atomic_load(&c->sentry) != 0 || atomic_load(&c->pausing) > 0;
}

static void worker_sleep(struct compute *c, struct runner *r, uint64_t timeout_ns, bool parked_too)
{
    uint32_t no = 0;
    bool sentry = false, pause = timeout_ns != UINT64_MAX;

    weir_race_at(WEIR_RACE_WORKER_TIRED);
    atomic_fetch_add(&c->sleepers, 1);
    atomic_fetch_sub(&c->attentive, 1);
    if (is_work_visible(c, parked_too)) {
        sleeper_get_up(c);
        return;
    }
    if (pause) {
        atomic_fetch_add(&c->pausing, 1);
    } else if (atomic_load(&c->attentive) > 0) {
        sentry = atomic_compare_exchange_strong(&c->sentry, &no, 1);
        if (sentry)
            timeout_ns = SENTRY_NS;
    }
    weir_race_at(WEIR_RACE_WORKER_LOOKED);
    while (!call_take(c)) {
        if (atomic_load(&c->stopping))
            break;
        if (!weir_futex_wait(&c->calls, 0, timeout_ns)) {
            sleeper_get_up(c);
            r->woke_as_sentry = sentry;
            break;
        }
    }
    if (pause)
        atomic_fetch_sub(&c->pausing, 1);
    if (sentry)
        atomic_store(&c->sentry, 0);
    r->now = weir_clock_ns();
}

/* Who launches a short kernel and waits for it at once runs it in a fraction of what the way to
 * another CPU and back costs, if a spinning worker does not snatch it. So when a helper came too
 * late the last time, spinners leave what comes in to it for a moment. */
static void spinners_hold_back(struct compute *c)
{
    if (!atomic_load_explicit(&c->hold_back, memory_order_relaxed))
        atomic_store_explicit(&c->hold_back, 1, memory_order_relaxed);
}

/* True: there was work, and a helper has taken it. */
static bool helper_was_first(struct compute *c)
{
    uint64_t start;

    if (!atomic_load_explicit(&c->hold_back, memory_order_relaxed) || inbox_is_empty(&c->inbox))
        return false;
    start = weir_clock_ns();
    while (weir_clock_ns() - start < HELPER_FIRST_NS) {
        if (inbox_is_empty(&c->inbox))
            return !is_work_visible(c, true);
        weir_cpu_relax();
    }
    atomic_store_explicit(&c->hold_back, 0, memory_order_relaxed); /* it does something else */
    return false;
}

/* Looks for work a while. True when there is some. */
static bool worker_spin(struct compute *c, struct runner *r)
{
    int32_t limit = WEIR_MAX(1, c->worker_count / 2);
    bool found = false;

    if (r->woke_as_sentry || atomic_fetch_add(&c->spinners, 1) >= limit) {
        if (!r->woke_as_sentry)
            atomic_fetch_sub(&c->spinners, 1);
        r->woke_as_sentry = false;
        return false;
    }
    for (uint64_t start = weir_clock_ns(), spent = 0; spent < SPIN_NS && !found;
         spent = r->now - start) {
        for (int i = 0; i < 16 && !found; i++) {
            found = is_work_visible(c, true) && !helper_was_first(c);
            if (!found)
                weir_cpu_relax();
        }
        if (!found && spent > SPIN_HARD_NS)
            sched_yield();
        r->now = weir_clock_ns();
    }
    atomic_fetch_sub(&c->spinners, 1);
    return found;
}

static void slots_trim(struct compute *c)
{
    size_t keep = (size_t)(2 * c->worker_count + FREE_SLOTS_EXTRA);
    struct weir_list surplus;

    weir_list_init(&surplus);
    weir_lock_acquire(&c->lock);
    while (c->free_slot_count > keep) {
        struct weir_list *node = c->free_slots.prev;

        weir_list_remove(node);
        weir_list_append(&surplus, node);
        c->free_slot_count--;
    }
    weir_lock_release(&c->lock);
    WEIR_LIST_FOR_EACH_SAFE(node, next, &surplus)
    weir_slot_destroy(WEIR_LIST_ENTRY(node, struct slot, link));
}

static void worker_idle(struct compute *c, struct runner *r)
{
    r->streak = r->pause = 0;
    if (worker_spin(c, r))
        return;
    slots_trim(c);
    worker_sleep(c, r, UINT64_MAX, true);
}

/* Only blocks that poll are left: looks at each once, then pauses, longer each time. */
static void worker_pause(struct compute *c, struct runner *r)
{
    r->streak = 0;
    if (r->pause++ < PAUSES_BY_YIELD) {
        sched_yield();
        return;
    }
    worker_sleep(
        c, r,
        WEIR_MIN((uint64_t)1000 << WEIR_MIN(r->pause - PAUSES_BY_YIELD, 10u), PARKED_SLEEP_NS),
        false);
}

/* ---- running what was claimed ---- */

static void kernel_end(struct runner *r, struct weir_kernel_work *k)
{
    enum weir_err err = (enum weir_err)atomic_load_explicit(&k->error, memory_order_relaxed);

    k->work.end_ns = WEIR_MAX(r->now, k->work.start_ns);
    if (k->work.counted)
        weir_stats_end(&r->dev->stats, &k->work, 0);
    atomic_store_explicit(&k->state, KERNEL_DONE, memory_order_release);
    r->completed++;
    weir_lock_check_none_held();
    r->ends_kernel = true;
    r->run_ns = r->run_count = 0;
    k->work.done(&k->work, err); /* k may be gone */
    r->ends_kernel = false;
}

void weir_kernel_finish_blocks(struct runner *r, struct weir_kernel_work *k, uint64_t count)
{
    uint64_t all = k->block_count;

    /* Release: this thread's blocks; acquire by the last one, so that `done` sees all of them. */
    if (atomic_fetch_add_explicit(&k->blocks_done, count, memory_order_acq_rel) + count == all)
        kernel_end(r, k);
}

/* The block r->index failed, or the whole kernel before any (own = 0). `own`: blocks of the caller
 * that are over. */
static void kernel_fail(struct compute *c, struct runner *r, enum weir_err err, uint64_t own)
{
    struct weir_kernel_work *k = r->kernel;
    struct weir_block *b = own && r->slot ? &r->slot->block : NULL;
    uint32_t none = WEIR_OK;

    if (atomic_compare_exchange_strong(&k->error, &none, (uint32_t)err) && b) {
        weir_kernel_note_failure(k, b);
    }
    weir_lock_acquire(&c->lock);
    own += weir_compute_cancel_locked(c, k);
    weir_lock_release(&c->lock);
    weir_kernel_finish_blocks(r, k, own);
}

/* The code is known: are its blocks to be handed out in parts? */
static void set_part(struct weir_kernel_work *k)
{
    if (WEIR_LIKELY(!k->first_block && !k->end_block))
        return;
    if (k->code->may_park || k->code->cooperative || k->code->triggers || k->begun)
        k->first_block = k->end_block = 0;
    if (k->end_block)
        k->block_count = WEIR_MIN(k->block_count, k->end_block);
    atomic_store_explicit(&k->next_block, k->first_block, memory_order_relaxed);
    atomic_store_explicit(&k->blocks_done, k->first_block, memory_order_relaxed);
}

static void prepare_run(struct compute *c, struct runner *r)
{
    struct weir_kernel_work *k = r->kernel;
    enum weir_err err = WEIR_OK;

    if (!k->code && k->block_count > 0) {
        weir_lock_check_none_held();
        err = k->prepare ? k->prepare(k) : WEIR_OK;
        if (err == WEIR_OK && !k->code)
            err = WEIR_FAIL(WEIR_ERR_INVALID_DEVICE_FUNCTION, "kernel without code");
    }
    r->now = weir_clock_ns();
    if (err != WEIR_OK || k->block_count == 0) {
        k->work.start_ns = r->now;
        if (k->block_count == 0) {
            weir_lock_acquire(&c->lock);
            weir_compute_cancel_locked(c, k);
            weir_lock_release(&c->lock);
            weir_kernel_finish_blocks(r, k, 0);
        } else {
            kernel_fail(c, r, err, 0);
        }
        return;
    }
    weir_lock_acquire(&c->lock);
    k->shared_bytes = shared_bytes_of(k);
    set_part(k);
    atomic_store_explicit(&k->state, KERNEL_RUNNING, memory_order_relaxed);
    weir_compute_update_locked(c);
    weir_lock_release(&c->lock);
}

static void stop_kernel(struct weir_kernel_work *k, enum weir_err err)
{
    uint32_t none = WEIR_OK;

    /* Whoever runs its blocks, or polls one, sees it and lets the rest be. */
    if (atomic_load_explicit(&k->state, memory_order_relaxed) == KERNEL_RUNNING)
        atomic_compare_exchange_strong(&k->error, &none, (uint32_t)err);
}

/* The block at r->index has parked. False: its kernel has failed meanwhile, the block is over. */
static bool block_park(struct compute *c, struct runner *r)
{
    bool park;

    weir_lock_acquire(&c->lock);
    if (WEIR_UNLIKELY(c->stopped))
        stop_kernel(r->kernel, c->stopped);
    park = atomic_load(&r->kernel->error) == WEIR_OK;
    if (park)
        weir_compute_park_locked(c, r);
    weir_lock_release(&c->lock);
    if (park && !r->is_worker) /* a worker comes round by itself */
        worker_call_if_nobody_looks(c);
    return park;
}

/* The runner gives its chunk's rest back. When it cannot, the rest is over (the kernel has failed)
 * or must be run. */
static void chunk_yield(struct compute *c, struct runner *r)
{
    weir_lock_acquire(&c->lock);
    if (atomic_load(&r->kernel->error) != WEIR_OK)
        r->outcome = RUN_CANCELLED;
    else if (!weir_compute_return_locked(c, r))
        r->may_yield = false;
    weir_lock_release(&c->lock);
    if (!r->is_worker)
        worker_call_if_nobody_looks(c);
}

/* Runs the runner's chunk until it is over, given back, or failed. The number of blocks that
 * parked. */
static uint64_t chunk_blocks(struct compute *c, struct runner *r)
{
    struct weir_kernel_work *k = r->kernel;
    uint64_t parked = 0;

    if (WEIR_UNLIKELY(k->begun) &&
        atomic_fetch_add_explicit(&k->started, r->end - r->begin, memory_order_acq_rel) + r->end -
                r->begin ==
            k->block_count)
        k->begun(k);
    r->may_yield = true;
    for (;;) {
        enum weir_err err = WEIR_ERR_MEMORY_ALLOCATION;

        if (!r->slot)
            r->slot = weir_slot_create();
        if (r->slot)
            err = weir_slot_fit(r->slot, r->kernel, r->dev->ordinal);
        if (err != WEIR_OK) {
            r->outcome = RUN_FAILED;
            r->failure = err;
            if (r->slot)
                r->slot->block.error_line = 0, r->slot->block.error_address = 0,
                r->slot->block.error_pc = 0, r->slot->block.error_lane = 0;
            return parked;
        }
        weir_runner_blocks(r, false);
        if (r->outcome == RUN_PARKED) {
            parked += block_park(c, r);
            if (++r->index == r->end)
                return parked;
            continue;
        }
        if (r->outcome == RUN_YIELDED) {
            chunk_yield(c, r);
            if (!r->may_yield)
                continue;
        }
        return parked;
    }
}

/* The runner's chunk, or block that had parked, is over: others may start where it was. Before its
 * blocks count as done, for then k may be gone. */
static void leave_sm(struct compute *c, struct runner *r)
{
    if (r->sm < 0)
        return;
    weir_lock_acquire(&c->lock);
    weir_residency_leave_locked(&c->residency, r->kernel, r->sm);
    weir_compute_update_locked(c);
    weir_lock_release(&c->lock);
    r->sm = -1;
    if (!r->is_worker)
        worker_call_if_nobody_looks(c);
}

static void chunk_run(struct compute *c, struct runner *r)
{
    struct weir_kernel_work *k = r->kernel;
    uint64_t start = r->now, parked = chunk_blocks(c, r), finished;

    r->now = weir_clock_ns();
    leave_sm(c, r);
    if (r->outcome == RUN_FAILED) {
        kernel_fail(c, r, r->failure, r->end - r->begin - parked);
        return;
    }
    finished = (r->outcome == RUN_CANCELLED ? r->end : r->index) - r->begin - parked;
    /* When all blocks of the chunk have parked, others may have ended the kernel already: k is not
     * ours any more. */
    if (finished == 0)
        return;
    if (parked == 0 && r->outcome != RUN_CANCELLED)
        weir_compute_learn(c, k, r->now - start, finished);
    weir_kernel_finish_blocks(r, k, finished);
}

/* Goes on with a block that had parked. */
static void parked_run(struct compute *c, struct runner *r)
{
    r->may_yield = false;
    weir_runner_blocks(r, true);
    r->now = weir_clock_ns();
    if (r->outcome == RUN_PARKED && block_park(c, r)) {
        r->streak++;
        return;
    }
    r->streak = r->pause = 0;
    leave_sm(c, r);
    if (r->outcome == RUN_FAILED)
        kernel_fail(c, r, r->failure, 1);
    else
        weir_kernel_finish_blocks(r, r->kernel, 1);
}

/* ---- workers ---- */

static bool is_long(struct compute *c, struct runner *r, enum claim claim)
{
    uint64_t ps;

    if (claim != CLAIM_CHUNK)
        return true;
    ps = weir_compute_block_ps(c, r->kernel);
    return ps == 0 || ps > LONG_PS / (r->end - r->begin);
}

static void claimed_run(struct compute *c, struct runner *r, enum claim claim)
{
    if (claim == CLAIM_PREPARE)
        prepare_run(c, r);
    else if (claim == CLAIM_CHUNK)
        chunk_run(c, r);
    else
        parked_run(c, r);
}

/* Whoever has submitted before this and saw us attentive is seen here, and so is what was taken out
 * of the inbox, by us or by a helper, beside what runs now. And when others are believed to be busy
 * for a short time only, somebody must be there for the case that they are not. */
static void step_out(struct compute *c, struct runner *r)
{
    bool others = atomic_fetch_sub(&c->attentive, 1) > 1;

    r->away = true;
    if (others ? !is_watched(c) && atomic_load(&c->sleepers) > 0 : is_work_visible(c, false))
        worker_call(c);
}

void weir_compute_step_out(struct compute *c, struct runner *r)
{
    if (r->is_worker && !r->away)
        step_out(c, r);
}

static void worker_step(struct compute *c, struct runner *r)
{
    enum claim claim;
    uint32_t parked;
    bool drained, more, away;

    weir_lock_acquire(&c->lock);
    c->live -= r->completed;
    r->completed = 0;
    drained = weir_compute_drain_locked(c, r->now);
    claim = weir_compute_claim_locked(c, r);
    if (drained)
        weir_compute_show_locked(c, r->now);
    parked = atomic_load_explicit(&c->parked_count, memory_order_relaxed);
    more = claim != CLAIM_NOTHING && atomic_load(&c->spinners) == 0 &&
           (atomic_load(&c->sleepers) > 0 || atomic_load(&c->started) < c->worker_count) &&
           ((claim == CLAIM_PARKED && parked > 0 && r->streak == 0 && r->pause == 0) ||
            weir_compute_is_ample_locked(c));
    away =
        claim != CLAIM_NOTHING && ((c->worker_count > 1 && !is_watched(c)) || is_long(c, r, claim));
    weir_lock_release(&c->lock);
    if (claim == CLAIM_NOTHING) {
        worker_idle(c, r);
        return;
    }
    r->woke_as_sentry = false;
    if (more)
        worker_call(c);
    r->away = false;
    if (away)
        step_out(c, r);
    if (claim == CLAIM_CHUNK)
        r->streak = r->pause = 0;
    claimed_run(c, r, claim);
    if (r->away)
        atomic_fetch_add(&c->attentive, 1);
    if (r->streak > parked)
        worker_pause(c, r);
}

static void *worker_run(void *arg)
{
    struct worker *w = arg;
    struct compute *c = &w->dev->compute;

    prctl(PR_SET_TIMERSLACK, (unsigned long)TIMER_SLACK_NS, 0, 0, 0);
    weir_fault_prepare_thread();
    weir_runner_enter(&w->runner);
    w->runner.now = weir_clock_ns();
    if (w == c->workers) /* the first sentry; the others start when there is work for them */
        worker_second_start(c);
    weir_thread_ready();
    while (!atomic_load(&c->stopping))
        worker_step(c, &w->runner);
    weir_runner_leave(NULL);
    return NULL;
}

void weir_kernel_begin(struct weir_kernel_work *k)
{
    k->cluster_blocks = launch_cluster_blocks(&k->launch);
    k->block_count = launch_blocks(&k->launch) / k->cluster_blocks;
    atomic_store_explicit(&k->next_block, 0, memory_order_relaxed);
    atomic_store_explicit(&k->blocks_done, 0, memory_order_relaxed);
    atomic_store_explicit(&k->error, WEIR_OK, memory_order_relaxed);
    atomic_store_explicit(&k->state, KERNEL_QUEUED, memory_order_relaxed);
    atomic_store_explicit(&k->block_ps, 0, memory_order_relaxed);
    k->run = NULL;
    k->served = k->chunk = 0;
    k->parked = 0;
    atomic_store_explicit(&k->triggers, 0, memory_order_relaxed);
    atomic_store_explicit(&k->started, 0, memory_order_relaxed);
    k->resident = 0;
    k->refused = 0;
    if (!k->code)
        return;
    k->shared_bytes = shared_bytes_of(k);
    set_part(k);
}

/* A worker that submits what follows the kernel that it has ended looks for work next. */
static bool is_by_worker(const struct compute *c)
{
    const struct runner *r = weir_runner_current();

    return r && r->dev == c->dev && r->is_worker;
}

bool weir_compute_submit(struct compute *c, struct weir_kernel_work *k)
{
    int32_t priority = WEIR_MAX(WEIR_MIN(k->work.priority, 0), PRIORITY_BEST);

    weir_kernel_begin(k);
    weir_inbox_push(&c->inbox, &k->work);
    if (WEIR_UNLIKELY(priority < 0)) { /* running blocks of lower priority make room soon */
        int32_t best = atomic_load(&c->best_priority);

        while (priority < best && !atomic_compare_exchange_weak(&c->best_priority, &best, priority))
            ;
    }
    return WEIR_LIKELY(atomic_load(&c->attentive) > 0);
}

bool weir_compute_call(struct compute *c)
{
    return worker_call_if_nobody_looks(c) || is_by_worker(c);
}

/* ---- helping ---- */

/* A helper takes all out of the inbox and runs one kernel. Between the two a worker on its way to
 * sleep sees neither a full inbox nor blocks to hand out: then nobody is left for the others. (It
 * leaves the attentive first and looks then; we have said what there is and count them now.) */
static void worker_call_for_rest(struct compute *c)
{
    if (atomic_load(&c->best_priority) != PRIORITY_NONE)
        worker_call_if_nobody_looks(c);
}

struct runner *weir_helper_take(struct compute *c, struct runner **previous)
{
    struct runner *r;
    int n;

    weir_lock_acquire(&c->lock);
    r = c->helpers;
    if (r)
        c->helpers = r->next;
    else
        n = c->helper_count++;
    weir_lock_release(&c->lock);
    if (!r) {
        r = weir_alloc_aligned(CACHE_LINE, sizeof *r);
        if (!r || weir_runner_init(r, c->dev) != WEIR_OK) {
            weir_free(r);
            return NULL;
        }
        r->smid = (uint32_t)(c->worker_count + n);
    }
    r->now = weir_clock_ns();
    weir_fault_prepare_thread();
    *previous = weir_runner_enter(r);
    return r;
}

void weir_helper_give(struct compute *c, struct runner *r, struct runner *previous)
{
    weir_runner_leave(previous);
    weir_lock_acquire(&c->lock);
    c->live -= r->completed;
    r->completed = 0;
    r->next = c->helpers;
    c->helpers = r;
    weir_lock_release(&c->lock);
}

bool weir_compute_help(struct compute *c, struct weir_kernel_work *k, const _Atomic bool *stop)
{
    struct runner *r, *previous;
    bool helped = false;

    /* Waiters ask again and again: no lock when there are no blocks to hand out. */
    if (inbox_is_empty(&c->inbox) && atomic_load(&c->best_priority) == PRIORITY_NONE) {
        spinners_hold_back(c);
        return false;
    }
    r = weir_helper_take(c, &previous);
    if (!r) {
        worker_call_if_nobody_looks(c); /* we may have been woken in its place */
        return false;
    }
    r->stop = stop;
    while (!stop || !atomic_load_explicit(stop, memory_order_acquire)) {
        enum claim claim;
        bool drained;

        weir_lock_acquire(&c->lock);
        c->live -= r->completed;
        r->completed = 0;
        drained = weir_compute_drain_locked(c, r->now);
        claim = weir_compute_claim_kernel_locked(c, r, k);
        if (drained)
            weir_compute_show_locked(c, r->now);
        weir_lock_release(&c->lock);
        worker_call_for_rest(c);
        if (claim == CLAIM_NOTHING)
            break;
        claimed_run(c, r, claim);
        helped = true;
    }
    worker_call_for_rest(c); /* *stop came while k was prepared */
    weir_helper_give(c, r, previous);
    return helped;
}

bool weir_compute_help_parked(struct compute *c, struct weir_kernel_work *k)
{
    struct runner *r, *previous;
    bool found;

    if (atomic_load_explicit(&c->parked_count, memory_order_relaxed) == 0)
        return false;
    r = weir_helper_take(c, &previous);
    if (!r)
        return false;
    r->stop = NULL;
    weir_lock_acquire(&c->lock);
    c->live -= r->completed;
    r->completed = 0;
    found = weir_compute_claim_parked_locked(c, r, k);
    weir_lock_release(&c->lock);
    if (found)
        parked_run(c, r);
    weir_helper_give(c, r, previous);
    return found;
}

/* ---- start and end ---- */

enum weir_err weir_compute_init(struct compute *c, struct weir_device *dev, int workers,
                                const struct weir_device_size *size)
{
    enum weir_err err = weir_residency_init(&c->residency, size);
    int made = 0;

    if (err != WEIR_OK)
        return err;
    c->dev = dev;
    c->worker_count = workers;
    weir_lock_init(&c->lock, WEIR_RANK_DEVICE_QUEUE);
    weir_lock_init(&c->start_lock, WEIR_RANK_ENGINE);
    for (int i = 0; i < PRIORITY_LEVELS; i++)
        weir_list_init(&c->ready[i]);
    weir_list_init(&c->parked);
    weir_list_init(&c->free_slots);
    atomic_store(&c->best_priority, PRIORITY_NONE);
    c->workers = weir_alloc_aligned(CACHE_LINE, (size_t)workers * sizeof *c->workers);
    if (!c->workers) {
        weir_residency_finish(&c->residency);
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "workers of device %d", dev->ordinal);
    }
    for (; made < workers; made++) {
        struct worker *w = &c->workers[made];

        err = weir_runner_init(&w->runner, dev);
        if (err != WEIR_OK)
            goto fail_runner;
        w->runner.smid = (uint32_t)made;
        w->runner.is_worker = true;
        w->dev = dev;
    }
    return WEIR_OK;

fail_runner:
    while (made > 0)
        weir_runner_finish(&c->workers[--made].runner);
    weir_free(c->workers);
    c->workers = NULL;
    weir_residency_finish(&c->residency);
    return err;
}

void weir_compute_finish(struct compute *c)
{
    int started;

    if (!c->workers)
        return;
    weir_lock_acquire(
        &c->start_lock); /* a worker may be starting another one: after this, none does */
    atomic_store(&c->stopping, true);
    started = atomic_load(&c->started);
    weir_lock_release(&c->start_lock);
    atomic_fetch_add(&c->calls, (uint32_t)c->worker_count);
    weir_futex_wake(&c->calls, c->worker_count);
    for (int i = 0; i < started; i++)
        pthread_join(c->workers[i].thread, NULL);
    for (int i = 0; i < c->worker_count; i++)
        weir_runner_finish(&c->workers[i].runner);
    weir_free(c->workers);
    while (c->helpers) {
        struct runner *r = c->helpers;

        c->helpers = r->next;
        weir_runner_finish(r);
        weir_free(r);
    }
    weir_residency_finish(&c->residency);
    WEIR_LIST_FOR_EACH_SAFE(node, next, &c->free_slots)
    weir_slot_destroy(WEIR_LIST_ENTRY(node, struct slot, link));
    while (c->free_ranges) {
        struct range *back = c->free_ranges;

        c->free_ranges = back->next;
        weir_free(back);
    }
}

void weir_device_stop_kernels(struct weir_device *dev, enum weir_err err)
{
    struct compute *c = &dev->compute;

    if (weir_device_is_forked(dev))
        return;
    weir_lock_acquire(&c->lock);
    c->stopped = err; /* for those that run just now, or have yet to be compiled */
    for (int level = 0; level < PRIORITY_LEVELS; level++) {
        WEIR_LIST_FOR_EACH(node, &c->ready[level])
        stop_kernel(WEIR_CONTAINER_OF(node, struct weir_kernel_work, work.link), err);
    }
    WEIR_LIST_FOR_EACH(node, &c->parked)
    stop_kernel(WEIR_LIST_ENTRY(node, struct slot, link)->kernel, err);
    weir_lock_release(&c->lock);
}
