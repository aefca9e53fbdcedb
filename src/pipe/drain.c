/* The other end: a worker takes the next item of the most urgent lane, waits for its event, has it
 * drained and reported, and gives the slot back. Without workers, submit and flush do the same.
 * SPDX-License-Identifier: Apache-2.0 */
#include "pipe_int.h"

/* The next item of this lane that a worker may wait for; it is the caller's then. */
static struct slot *pick_locked(weir_pipe *pipe, struct lane *lane)
{
    struct slot *slot = lane->flying.first;

    if (pipe->config.order == WEIR_PIPE_ORDERED) {
        slot = lane->next_report < lane->accepted ? lane->ring[lane->next_report % lane->slot_count]
                                                  : NULL;
        if (lane->draining || (slot && slot->state != SLOT_FLYING))
            slot = NULL;
        if (slot)
            lane->draining = true;
    }
    if (slot) {
        weir_pipe_list_remove(&lane->flying, slot);
        weir_pipe_slot_set_state(slot, SLOT_WAITING);
    }
    return slot;
}

/* Somebody may have looked meanwhile, and found nothing. */
static void put_back_locked(weir_pipe *pipe, struct slot *slot)
{
    weir_pipe_slot_set_state(slot, SLOT_FLYING);
    weir_pipe_list_push_front(&slot->lane->flying, slot);
    slot->lane->draining = false;
    weir_pipe_wake_drain_locked(pipe);
}

void weir_pipe_wake_drain_locked(weir_pipe *pipe)
{
    atomic_fetch_add(&pipe->work_hint, 1);
    if (pipe->worker_count) {
        pthread_cond_signal(&pipe->work);
    } else { /* whoever waits for a slot or for the end may take it in */
        atomic_fetch_add(&pipe->free_hint, 1);
        pthread_cond_broadcast(&pipe->freed);
        pthread_cond_broadcast(&pipe->idle);
    }
}

static bool is_complete(const struct slot *slot)
{
    return !slot->recorded || cudaEventQuery(slot->done) != cudaErrorNotReady;
}

/* Items need not stay in order: is one of the others finished while `slot` is not? Gives `slot`
 * back for it then. The lock is let go for every question. */
static struct slot *exchange_locked(weir_pipe *pipe, struct slot *slot)
{
    struct lane *lane = slot->lane;
    unsigned left = lane->slot_count;

    for (struct slot *other = lane->flying.first; other && left; left--) {
        bool complete;
        weir_pipe_list_remove(&lane->flying, other);
        weir_pipe_slot_set_state(other, SLOT_WAITING);
        pthread_mutex_unlock(&pipe->lock);
        complete = is_complete(other);
        pthread_mutex_lock(&pipe->lock);
        if (complete) {
            put_back_locked(pipe, slot);
            return other;
        }
        weir_pipe_slot_set_state(other, SLOT_FLYING);
        weir_pipe_list_push(&lane->flying, other);
        weir_pipe_wake_drain_locked(pipe);
        other = lane->flying.first;
    }
    return slot;
}

static void read_times(weir_pipe *pipe, struct slot *slot)
{
    struct tuner *tune = &pipe->tune;
    float up, work, down;

    if (!slot->timing || cudaEventElapsedTime(&up, slot->timed[0], slot->timed[1]) != cudaSuccess ||
        cudaEventElapsedTime(&work, slot->timed[1], slot->timed[2]) != cudaSuccess ||
        cudaEventElapsedTime(&down, slot->timed[2], slot->timed[3]) != cudaSuccess)
        return;
    pthread_mutex_lock(&pipe->lock);
    tune->timed++;
    tune->upload_us += 1e3 * up;
    tune->compute_us += 1e3 * work;
    tune->download_us += 1e3 * down;
    pthread_mutex_unlock(&pipe->lock);
}

/* The device has finished with the slot, or is broken. */
static void wait_for_device(weir_pipe *pipe, struct slot *slot)
{
    cudaError_t e = cudaSuccess;
    struct step step;

    if (slot->recorded)
        e = cudaEventSynchronize(slot->done);
    slot->outcome.complete_ns = weir_pipe_now_ns();
    if (e == cudaSuccess) {
        read_times(pipe, slot);
        return;
    }
    step = weir_pipe_cuda_failed(pipe, slot, e);
    if (step.status != WEIR_PIPE_BROKEN)
        cudaDeviceSynchronize();
    if (slot->outcome.status == WEIR_PIPE_OK) {
        slot->outcome.status = step.status;
        slot->outcome.code = step.code;
    }
}

static void report(weir_pipe *pipe, struct slot *slot)
{
    if (!pipe->config.done)
        return;
    atomic_store_explicit(&slot->caller, (uintptr_t)pthread_self(), memory_order_relaxed);
    pipe->config.done(pipe->config.user, &slot->item, &slot->outcome);
    atomic_store_explicit(&slot->caller, 0, memory_order_relaxed);
}

static void release_locked(weir_pipe *pipe, struct slot *slot)
{
    struct lane *lane = slot->lane;

    weir_pipe_count_report_locked(pipe, slot);
    weir_pipe_tune_report_locked(pipe, slot);
    weir_pipe_slot_set_state(slot, SLOT_FREE);
    lane->busy[slot->device_index]--;
    weir_pipe_list_push(&lane->free[slot->device_index], slot);
    atomic_fetch_add(&pipe->free_hint, 1);
    if (pipe->lane_count > 1 || !pipe->tune.done || !pipe->worker_count)
        pthread_cond_broadcast(
            &pipe->freed); /* the one that a signal wakes might want another lane */
    else
        pthread_cond_signal(&pipe->freed);
    if (pipe->flushers || pipe->closing)
        pthread_cond_broadcast(&pipe->idle);
}

/* Of drains side by side, the reports in order: whoever finds the next one drained goes on with it.
 */
static void report_in_order_locked(weir_pipe *pipe, struct lane *lane)
{
    if (lane->reporting)
        return;
    lane->reporting = true;
    for (;;) {
        struct slot *slot = lane->next_report < lane->accepted
                                ? lane->ring[lane->next_report % lane->slot_count]
                                : NULL;
        if (!slot || slot->state != SLOT_DRAINED)
            break;
        pthread_mutex_unlock(&pipe->lock);
        report(pipe, slot);
        pthread_mutex_lock(&pipe->lock);
        lane->next_report++;
        release_locked(pipe, slot);
    }
    lane->reporting = false;
}

/* Of an item that is complete: drain, unless it failed or was cancelled meanwhile. */
static void drain_locked(weir_pipe *pipe, struct slot *slot)
{
    weir_pipe_outcome *outcome = &slot->outcome;
    uint64_t start;

    if (outcome->status == WEIR_PIPE_OK && atomic_load(&slot->cancelled))
        outcome->status = WEIR_PIPE_CANCELLED;
    if (outcome->status == WEIR_PIPE_OK && pipe->config.drain) {
        int code;
        weir_pipe_slot_set_state(slot, SLOT_DRAINING);
        pthread_mutex_unlock(&pipe->lock);
        start = weir_pipe_now_ns();
        code = weir_pipe_call(pipe, slot, pipe->config.drain);
        outcome->drained_ns = weir_pipe_now_ns();
        if (code) {
            outcome->status = WEIR_PIPE_DRAIN;
            outcome->code = code;
        }
        pthread_mutex_lock(&pipe->lock);
        pipe->stats.drain_ns += outcome->drained_ns - start;
    }
    weir_pipe_slot_set_state(slot, SLOT_DRAINED);
}

/* Takes the lock back before it returns. */
static void finish_locked(weir_pipe *pipe, struct slot *slot)
{
    struct lane *lane = slot->lane;

    if (pipe->config.order != WEIR_PIPE_ORDERED && lane->flying.first && slot->recorded) {
        bool complete;
        pthread_mutex_unlock(&pipe->lock);
        complete = is_complete(slot);
        pthread_mutex_lock(&pipe->lock);
        if (!complete)
            slot = exchange_locked(pipe, slot);
    }
    pthread_mutex_unlock(&pipe->lock);
    if (pipe->device_count > 1 || pipe->worker_count)
        weir_pipe_device_set(slot->item.device);
    wait_for_device(pipe, slot);
    pthread_mutex_lock(&pipe->lock);
    pipe->draining++;
    drain_locked(pipe, slot);
    if (pipe->config.order == WEIR_PIPE_ORDERED_DONE) {
        report_in_order_locked(pipe, lane);
    } else {
        pthread_mutex_unlock(&pipe->lock);
        report(pipe, slot);
        pthread_mutex_lock(&pipe->lock);
        lane->next_report++;
        lane->draining = false;
        release_locked(pipe, slot);
    }
    pipe->draining--;
}

static struct slot *pick_any_locked(weir_pipe *pipe)
{
    struct slot *slot = NULL;
    for (unsigned l = pipe->lane_count; l-- > 0 && !slot;)
        slot = pick_locked(pipe, &pipe->lanes[l]);
    return slot;
}

bool weir_pipe_collect_locked(weir_pipe *pipe, bool wait)
{
    struct slot *slot = pick_any_locked(pipe);

    if (!slot)
        return false;
    if (!wait) {
        bool complete;
        pthread_mutex_unlock(&pipe->lock);
        complete = is_complete(slot);
        pthread_mutex_lock(&pipe->lock);
        if (!complete) {
            put_back_locked(pipe, slot);
            return false;
        }
    }
    finish_locked(pipe, slot);
    return true;
}

void *weir_pipe_worker_main(void *arg)
{
    weir_pipe *pipe = arg;

    pthread_mutex_lock(&pipe->lock);
    for (;;) {
        struct slot *slot = pick_any_locked(pipe);
        if (slot)
            finish_locked(pipe, slot);
        else if (pipe->stop)
            break;
        else
            weir_pipe_wait_locked(pipe, &pipe->work, &pipe->work_hint);
    }
    pthread_mutex_unlock(&pipe->lock);
    return NULL;
}
