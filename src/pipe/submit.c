/* Taking a slot: back-pressure is here. Then filling and launching, in the submitting thread or in
 * a producer's.
 * SPDX-License-Identifier: Apache-2.0 */
#include <time.h>

#include "pipe_int.h"

bool weir_pipe_in_callback(weir_pipe *pipe)
{
    const uintptr_t self = (uintptr_t)pthread_self();
    for (unsigned i = 0; i < pipe->slot_count; i++)
        if (atomic_load_explicit(&pipe->slots[i].caller, memory_order_relaxed) == self)
            return true;
    return false;
}

/* `caller` is compared by its own thread alone: no order is needed. A callback may submit an item
 * whose callbacks then run inside of it, in another slot. */
int weir_pipe_call(weir_pipe *pipe, struct slot *slot, weir_pipe_callback *callback)
{
    int code;
    atomic_store_explicit(&slot->caller, (uintptr_t)pthread_self(), memory_order_relaxed);
    code = callback(pipe->config.user, &slot->item);
    atomic_store_explicit(&slot->caller, 0, memory_order_relaxed);
    return code;
}

void weir_pipe_wait_locked(weir_pipe *pipe, pthread_cond_t *condition, _Atomic(unsigned) *hint)
{
    const unsigned before = atomic_load(hint);

    if (pipe->config.spin_ns) {
        const uint64_t until = weir_pipe_now_ns() + pipe->config.spin_ns;
        pthread_mutex_unlock(&pipe->lock);
        while (atomic_load(hint) == before && weir_pipe_now_ns() < until)
            ;
        pthread_mutex_lock(&pipe->lock);
        if (atomic_load(hint) != before)
            return;
    }
    pthread_cond_wait(condition, &pipe->lock);
}

/* A free slot of the device that has the least to do; of equals, the one that had the fewest items.
 */
static struct slot *take_free_locked(weir_pipe *pipe, struct lane *lane)
{
    unsigned best = 0;
    bool found = false;

    for (unsigned d = 0; d < pipe->device_count; d++) {
        if (!lane->free[d].first || lane->busy[d] >= pipe->limit)
            continue;
        if (!found || lane->busy[d] < lane->busy[best] ||
            (lane->busy[d] == lane->busy[best] &&
             pipe->stats.device_items[d] < pipe->stats.device_items[best]))
            best = d;
        found = true;
    }
    return found ? weir_pipe_list_pop(&lane->free[best]) : NULL;
}

static bool after_locked(const struct timespec *deadline)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec > deadline->tv_sec ||
           (now.tv_sec == deadline->tv_sec && now.tv_nsec >= deadline->tv_nsec);
}

/* One wait for a slot; OK: look again. Without workers the waiting thread takes in an item itself.
 */
static enum weir_pipe_status wait_for_slot_locked(weir_pipe *pipe, int64_t timeout_ns,
                                                  const struct timespec *deadline)
{
    if (timeout_ns == 0 || weir_pipe_in_callback(pipe)) {
        if (!pipe->worker_count && !weir_pipe_in_callback(pipe) &&
            weir_pipe_collect_locked(pipe, false))
            return WEIR_PIPE_OK;
        return WEIR_PIPE_FULL;
    }
    if (timeout_ns < 0) {
        if (pipe->worker_count || !weir_pipe_collect_locked(pipe, true))
            weir_pipe_wait_locked(pipe, &pipe->freed, &pipe->free_hint);
        return WEIR_PIPE_OK;
    }
    if (!pipe->worker_count && weir_pipe_collect_locked(pipe, false))
        return WEIR_PIPE_OK;
    if (after_locked(deadline))
        return WEIR_PIPE_TIMED_OUT;
    if (pipe->worker_count) {
        pthread_cond_timedwait(&pipe->freed, &pipe->lock, deadline);
    } else {
        const struct timespec nap = {0, 20000};
        pthread_mutex_unlock(&pipe->lock);
        nanosleep(&nap, NULL);
        pthread_mutex_lock(&pipe->lock);
    }
    return WEIR_PIPE_OK;
}

static struct slot *acquire_locked(weir_pipe *pipe, struct lane *lane, int64_t timeout_ns,
                                   enum weir_pipe_status *status, uint64_t *waited)
{
    const uint64_t cancels = pipe->cancels;
    struct timespec deadline = {0, 0};
    enum weir_pipe_cause cause = WEIR_PIPE_CAUSE_DEVICE;
    uint64_t since = 0;
    struct slot *slot = NULL;

    if (timeout_ns > 0) {
        clock_gettime(CLOCK_MONOTONIC, &deadline);
        deadline.tv_sec += (time_t)(timeout_ns / 1000000000);
        deadline.tv_nsec += (long)(timeout_ns % 1000000000);
        deadline.tv_sec += deadline.tv_nsec / 1000000000;
        deadline.tv_nsec %= 1000000000;
    }
    for (*status = WEIR_PIPE_OK; *status == WEIR_PIPE_OK;) {
        if (pipe->closing)
            *status = WEIR_PIPE_CLOSED;
        else if (atomic_load(&pipe->broken))
            *status = WEIR_PIPE_BROKEN;
        else if (pipe->cancels != cancels)
            *status = WEIR_PIPE_CANCELLED;
        else if ((slot = take_free_locked(pipe, lane)))
            break;
        else {
            if (!since) {
                since = weir_pipe_now_ns();
                cause = weir_pipe_cause_locked(pipe, lane);
            }
            *status = wait_for_slot_locked(pipe, timeout_ns, &deadline);
        }
    }
    *waited = 0;
    if (since) {
        *waited = weir_pipe_now_ns() - since;
        pipe->stats.waits[cause]++;
        pipe->stats.wait_ns[cause] += *waited;
    }
    if (!slot)
        pipe->stats.refused++;
    return slot;
}

static uint64_t bucket_of(const weir_pipe_config *config, uint64_t shape)
{
    if (config->padding == WEIR_PIPE_PAD_UP)
        for (unsigned i = 0; i < config->bucket_count; i++)
            if (config->buckets[i] >= shape)
                return config->buckets[i];
    return shape;
}

static void accept_locked(weir_pipe *pipe, struct slot *slot, const weir_pipe_request *request)
{
    struct lane *lane = slot->lane;
    weir_pipe_item *item = &slot->item;

    item->number = lane->accepted++;
    item->data = request->data;
    item->shape = request->shape;
    item->bucket = bucket_of(&pipe->config, request->shape);
    item->in_bytes = pipe->config.in_bytes;
    item->out_bytes = pipe->config.out_bytes;
    item->recapture = 0;
    slot->outcome = (weir_pipe_outcome){.accepted_ns = weir_pipe_now_ns()};
    slot->recorded = false;
    slot->split = pipe->split;
    slot->timing = false;
    atomic_store(&slot->cancelled, false);
    weir_pipe_slot_set_state(slot, SLOT_FILLING);
    if (lane->ring)
        lane->ring[item->number % lane->slot_count] = slot;
    lane->busy[slot->device_index]++;
    weir_pipe_count_accept_locked(pipe, slot);
    weir_pipe_tune_accept_locked(pipe, slot);
}

/* Filled and launched. What ends early is not launched, and goes the same way from here on. */
static void fill_and_launch(weir_pipe *pipe, struct slot *slot, uint64_t *fill_ns,
                            uint64_t *launch_ns)
{
    uint64_t start = weir_pipe_now_ns(), filled;
    struct step step = STEP_OK;
    int code;

    if (pipe->config.fill && !atomic_load(&slot->cancelled) && !atomic_load(&pipe->broken) &&
        (code = weir_pipe_call(pipe, slot, pipe->config.fill)))
        step = (struct step){WEIR_PIPE_FILL, code};
    filled = weir_pipe_now_ns();
    *fill_ns = filled - start;
    *launch_ns = 0;
    if (step.status == WEIR_PIPE_OK) {
        if (atomic_load(&slot->cancelled)) {
            step.status = WEIR_PIPE_CANCELLED;
        } else if (atomic_load(&pipe->broken)) {
            step = (struct step){WEIR_PIPE_BROKEN, atomic_load(&pipe->broken)};
        } else {
            step = weir_pipe_enqueue(pipe, slot);
            slot->outcome.launched_ns = weir_pipe_now_ns();
            *launch_ns = slot->outcome.launched_ns - filled;
        }
    }
    slot->outcome.status = step.status;
    slot->outcome.code = step.code;
}

/* Returns what of the time was not the library's. The device that was current is so again. */
static uint64_t begin(weir_pipe *pipe, struct slot *slot)
{
    uint64_t fill_ns, launch_ns;
    int device = -1;

    cudaGetDevice(&device);
    weir_pipe_device_set(slot->item.device);
    fill_and_launch(pipe, slot, &fill_ns, &launch_ns);
    if (device >= 0)
        weir_pipe_device_set(device);

    pthread_mutex_lock(&pipe->lock);
    pipe->stats.fill_ns += fill_ns;
    pipe->stats.launch_ns += launch_ns;
    weir_pipe_slot_set_state(slot, SLOT_FLYING);
    weir_pipe_list_push(&slot->lane->flying, slot);
    weir_pipe_wake_drain_locked(pipe);
    pthread_mutex_unlock(&pipe->lock);
    return fill_ns + launch_ns;
}

enum weir_pipe_status weir_pipe_submit_request(weir_pipe *pipe, const weir_pipe_request *request,
                                               uint64_t *number)
{
    const uint64_t start = weir_pipe_now_ns();
    enum weir_pipe_status status;
    struct lane *lane;
    struct slot *slot;
    uint64_t not_ours;

    if (!pipe || !request || request->lane >= pipe->lane_count)
        return WEIR_PIPE_INVALID;
    lane = &pipe->lanes[request->lane];
    pthread_mutex_lock(&pipe->lock);
    pipe->inside++;
    slot = acquire_locked(pipe, lane, request->timeout_ns, &status, &not_ours);
    if (slot) {
        accept_locked(pipe, slot, request);
        if (number)
            *number = slot->item.number;
        if (pipe->producer_count) {
            weir_pipe_list_push(&lane->to_fill, slot);
            atomic_fetch_add(&pipe->fill_hint, 1);
            pthread_cond_signal(&pipe->fill);
        } else {
            pthread_mutex_unlock(&pipe->lock);
            not_ours += begin(pipe, slot);
            pthread_mutex_lock(&pipe->lock);
        }
        pipe->stats.library_ns += weir_pipe_now_ns() - start - not_ours;
    }
    pipe->inside--;
    if (pipe->closing)
        pthread_cond_broadcast(&pipe->idle);
    pthread_mutex_unlock(&pipe->lock);
    return status;
}

enum weir_pipe_status weir_pipe_submit(weir_pipe *pipe, void *data)
{
    const weir_pipe_request request = {.data = data, .timeout_ns = -1};
    return weir_pipe_submit_request(pipe, &request, NULL);
}

/* The most urgent lane first. */
void *weir_pipe_producer_main(void *arg)
{
    weir_pipe *pipe = arg;

    pthread_mutex_lock(&pipe->lock);
    for (;;) {
        struct slot *slot = NULL;
        for (unsigned l = pipe->lane_count; l-- > 0 && !slot;)
            slot = weir_pipe_list_pop(&pipe->lanes[l].to_fill);
        if (slot) {
            pthread_mutex_unlock(&pipe->lock);
            (void)begin(pipe, slot);
            pthread_mutex_lock(&pipe->lock);
        } else if (pipe->stop) {
            break;
        } else {
            weir_pipe_wait_locked(pipe, &pipe->fill, &pipe->fill_hint);
        }
    }
    pthread_mutex_unlock(&pipe->lock);
    return NULL;
}
