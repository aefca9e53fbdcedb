/* A pipeline's life: the configuration is looked at as a whole, then slots, streams and threads are
 * made, and undone in the reverse order. Also flush, cancel, and the small helpers of all files.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pipe_int.h"

uint64_t weir_pipe_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void weir_pipe_say(const weir_pipe_config *config, const char *format, ...)
{
    char text[256];
    va_list args;

    if (!config->log)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    config->log(config->user, text);
}

const char *weir_pipe_status_name(enum weir_pipe_status status)
{
    static const char *const names[WEIR_PIPE_STATUS_COUNT] = {
        "ok",      "full",   "timed out", "cancelled", "closed", "broken",
        "invalid", "memory", "fill",      "launch",    "drain",  "cuda"};
    return (unsigned)status < WEIR_PIPE_STATUS_COUNT ? names[status] : "unknown";
}

void weir_pipe_config_init(weir_pipe_config *config)
{
    memset(config, 0, sizeof(*config));
    config->size = sizeof(*config);
    config->slots = 3;
    config->workers = 1;
    config->lanes = 1;
    config->compute_streams = 1;
}

static const char *streams_fault(const weir_pipe_config *c)
{
    if (c->streams == WEIR_PIPE_STREAMS_SPLIT && c->stage_count)
        return "split streams and stages: each stage has a stream of its own already";
    if (!c->compute_streams || c->compute_streams > MAX_COMPUTE_STREAMS)
        return "compute_streams: 1 to 16";
    return NULL;
}

static const char *stages_fault(const weir_pipe_config *c)
{
    if (c->stage_count > WEIR_PIPE_MAX_STAGES)
        return "stage_count: at most WEIR_PIPE_MAX_STAGES";
    if (c->stage_count && c->device_count)
        return "devices are the stages' own";
    for (unsigned i = 0; i < c->stage_count; i++) {
        if (!c->stages[i].launch)
            return "a stage without launch";
        if (i && c->stages[i - 1].dev_out_bytes > c->stages[i].dev_in_bytes)
            return "a stage's dev_out_bytes do not fit into the next one's dev_in_bytes";
    }
    return NULL;
}

/* What is wrong with it, or NULL. */
static const char *config_fault(const weir_pipe_config *c)
{
    const char *fault;

    if (!c->slots || c->slots > WEIR_PIPE_MAX_SLOTS)
        return "slots: 1 to WEIR_PIPE_MAX_SLOTS";
    if (!c->lanes || c->lanes > WEIR_PIPE_MAX_LANES)
        return "lanes: 1 to WEIR_PIPE_MAX_LANES";
    if (c->producers > WEIR_PIPE_MAX_THREADS || c->workers > WEIR_PIPE_MAX_THREADS)
        return "producers and workers: at most WEIR_PIPE_MAX_THREADS";
    if (c->device_count > WEIR_PIPE_MAX_DEVICES)
        return "device_count: at most WEIR_PIPE_MAX_DEVICES";
    if (!c->launch && !c->stage_count)
        return "no launch";
    if ((unsigned)c->order > WEIR_PIPE_UNORDERED ||
        (unsigned)c->streams > WEIR_PIPE_STREAMS_SPLIT ||
        (unsigned)c->wait > WEIR_PIPE_WAIT_BLOCK || (unsigned)c->padding > WEIR_PIPE_PAD_UP)
        return "order, streams, wait or padding: no such value";
    if (c->padding == WEIR_PIPE_PAD_UP &&
        (!c->bucket_count || c->bucket_count > WEIR_PIPE_MAX_BUCKETS))
        return "bucket_count: 1 to WEIR_PIPE_MAX_BUCKETS";
    for (unsigned i = 1; i < c->bucket_count && i < WEIR_PIPE_MAX_BUCKETS; i++)
        if (c->buckets[i - 1] >= c->buckets[i])
            return "buckets: ascending";
    fault = stages_fault(c);
    return fault ? fault : streams_fault(c);
}

/* What was left to the library, filled in. A pipeline without stages has one, on each device. */
static cudaError_t config_complete(weir_pipe_config *c)
{
    cudaError_t e = cudaSuccess;

    if (!c->dev_in_bytes)
        c->dev_in_bytes = c->in_bytes;
    if (!c->dev_out_bytes)
        c->dev_out_bytes = c->out_bytes;
    if (c->stage_count)
        return e;
    if (!c->device_count) {
        c->device_count = 1;
        e = cudaGetDevice(&c->devices[0]);
    }
    c->stages[0] = (weir_pipe_stage){.dev_in_bytes = c->dev_in_bytes,
                                     .dev_out_bytes = c->dev_out_bytes,
                                     .scratch_bytes = c->dev_scratch_bytes,
                                     .launch = c->launch};
    return e;
}

/* The default copies must fit. */
static const char *sizes_fault(const weir_pipe_config *c)
{
    const weir_pipe_stage *first = &c->stages[0];
    const weir_pipe_stage *last = &c->stages[c->stage_count ? c->stage_count - 1 : 0];
    if (!c->upload && first->dev_in_bytes && first->dev_in_bytes < c->in_bytes)
        return "dev_in_bytes: less than in_bytes";
    if (!c->download && last->dev_out_bytes && last->dev_out_bytes < c->out_bytes)
        return "dev_out_bytes: less than out_bytes";
    return NULL;
}

/* Copies from stage to stage go directly where the devices can; else the runtime takes them through
 * the host, and nothing else changes. */
static cudaError_t peers_enable(const weir_pipe_config *c)
{
    cudaError_t e = cudaSuccess;
    for (unsigned i = 0; i + 1 < c->stage_count && e == cudaSuccess; i++) {
        const int from = c->stages[i].device, to = c->stages[i + 1].device;
        int can = 0;
        if (from == to)
            continue;
        e = cudaDeviceCanAccessPeer(&can, from, to);
        if (e == cudaSuccess && can) {
            e = weir_pipe_device_set(from);
            if (e == cudaSuccess)
                e = cudaDeviceEnablePeerAccess(to, 0);
            if (e == cudaErrorPeerAccessAlreadyEnabled) {
                cudaGetLastError();
                e = cudaSuccess;
            }
        }
    }
    return e;
}

static cudaError_t lane_init(weir_pipe *pipe, struct lane *lane, unsigned index)
{
    const weir_pipe_config *config = &pipe->config;
    cudaError_t e = cudaSuccess;

    lane->index = index;
    lane->slot_count = config->slots * pipe->device_count;
    for (unsigned d = 0; d < pipe->device_count && e == cudaSuccess; d++) {
        int least = 0, most = 0;
        e = weir_pipe_device_set(config->stage_count ? config->stages[0].device
                                                     : config->devices[d]);
        if (e == cudaSuccess)
            e = cudaDeviceGetStreamPriorityRange(&least, &most);
        lane->priority[d] = config->lanes > 1
                                ? least + (most - least) * (int)index / (int)(config->lanes - 1)
                                : least;
        if (e == cudaSuccess && (pipe->split || (config->tune_items && !config->graph)) &&
            !config->stage_count)
            e = weir_pipe_split_init(pipe, lane, d);
    }
    return e;
}

static cudaError_t slots_init(weir_pipe *pipe)
{
    cudaError_t e = cudaSuccess;
    unsigned n = 0;

    for (unsigned l = 0; l < pipe->lane_count && e == cudaSuccess; l++)
        e = lane_init(pipe, &pipe->lanes[l], l);
    for (unsigned l = 0; l < pipe->lane_count; l++)
        for (unsigned d = 0; d < pipe->device_count; d++)
            for (unsigned i = 0; i < pipe->config.slots && e == cudaSuccess; i++, n++) {
                struct slot *slot = &pipe->slots[n];
                slot->lane = &pipe->lanes[l];
                slot->device_index = d;
                slot->item.lane = l;
                slot->item.slot = n;
                slot->item.device = pipe->config.stage_count ? pipe->config.stages[0].device
                                                             : pipe->config.devices[d];
                e = weir_pipe_slot_init(pipe, slot);
                weir_pipe_list_push(&pipe->lanes[l].free[d], slot);
            }
    return e;
}

static enum weir_pipe_status memory_init(weir_pipe *pipe)
{
    pipe->stage_count = pipe->config.stage_count ? pipe->config.stage_count : 1;
    pipe->device_count = pipe->config.stage_count ? 1 : pipe->config.device_count;
    pipe->lane_count = pipe->config.lanes;
    pipe->slot_count = pipe->lane_count * pipe->device_count * pipe->config.slots;
    pipe->limit = pipe->config.slots;
    pipe->split = pipe->config.streams == WEIR_PIPE_STREAMS_SPLIT;
    pipe->slots = calloc(pipe->slot_count, sizeof(*pipe->slots));
    pipe->lanes = calloc(pipe->lane_count, sizeof(*pipe->lanes));
    if (!pipe->slots || !pipe->lanes)
        return WEIR_PIPE_MEMORY;
    for (unsigned l = 0; l < pipe->lane_count; l++) {
        pipe->lanes[l].ring =
            calloc((size_t)pipe->config.slots * pipe->device_count, sizeof(struct slot *));
        if (!pipe->lanes[l].ring)
            return WEIR_PIPE_MEMORY;
    }
    return WEIR_PIPE_OK;
}

static void locks_init(weir_pipe *pipe)
{
    pthread_condattr_t attr;

    pthread_mutex_init(&pipe->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&pipe->freed, &attr);
    pthread_cond_init(&pipe->work, &attr);
    pthread_cond_init(&pipe->fill, &attr);
    pthread_cond_init(&pipe->idle, &attr);
    pthread_condattr_destroy(&attr);
}

void weir_pipe_wake_all_locked(weir_pipe *pipe)
{
    atomic_fetch_add(&pipe->free_hint, 1);
    atomic_fetch_add(&pipe->work_hint, 1);
    atomic_fetch_add(&pipe->fill_hint, 1);
    pthread_cond_broadcast(&pipe->freed);
    pthread_cond_broadcast(&pipe->work);
    pthread_cond_broadcast(&pipe->fill);
    pthread_cond_broadcast(&pipe->idle);
}

static enum weir_pipe_status threads_start(weir_pipe *pipe)
{
    for (; pipe->worker_count < pipe->config.workers; pipe->worker_count++)
        if (pthread_create(&pipe->workers[pipe->worker_count], NULL, weir_pipe_worker_main, pipe))
            return WEIR_PIPE_MEMORY;
    for (; pipe->producer_count < pipe->config.producers; pipe->producer_count++)
        if (pthread_create(&pipe->producers[pipe->producer_count], NULL, weir_pipe_producer_main,
                           pipe))
            return WEIR_PIPE_MEMORY;
    return WEIR_PIPE_OK;
}

static void threads_stop(weir_pipe *pipe)
{
    pthread_mutex_lock(&pipe->lock);
    pipe->stop = true;
    weir_pipe_wake_all_locked(pipe);
    pthread_mutex_unlock(&pipe->lock);
    for (unsigned i = 0; i < pipe->producer_count; i++)
        pthread_join(pipe->producers[i], NULL);
    for (unsigned i = 0; i < pipe->worker_count; i++)
        pthread_join(pipe->workers[i], NULL);
}

/* Everything but threads and the device that was current. */
static void pipe_free(weir_pipe *pipe)
{
    for (unsigned i = 0; pipe->slots && i < pipe->slot_count; i++)
        if (pipe->slots[i].lane)
            weir_pipe_slot_finish(pipe, &pipe->slots[i]);
    for (unsigned l = 0; pipe->lanes && l < pipe->lane_count; l++) {
        for (unsigned d = 0; d < pipe->device_count; d++)
            weir_pipe_split_finish(pipe, &pipe->lanes[l], d);
        free(pipe->lanes[l].ring);
    }
    free(pipe->slots);
    free(pipe->lanes);
    pthread_cond_destroy(&pipe->freed);
    pthread_cond_destroy(&pipe->work);
    pthread_cond_destroy(&pipe->fill);
    pthread_cond_destroy(&pipe->idle);
    pthread_mutex_destroy(&pipe->lock);
    free(pipe);
}

static enum weir_pipe_status resources_init(weir_pipe *pipe)
{
    enum weir_pipe_status status = memory_init(pipe);
    cudaError_t e;

    if (status != WEIR_PIPE_OK) {
        weir_pipe_say(&pipe->config, "no memory for %u slots", pipe->slot_count);
        return status;
    }
    e = peers_enable(&pipe->config);
    if (e == cudaSuccess)
        e = slots_init(pipe);
    if (e != cudaSuccess) {
        cudaGetLastError();
        weir_pipe_say(&pipe->config, "slots of %zu + %zu bytes: %s", pipe->config.in_bytes,
                      pipe->config.out_bytes, cudaGetErrorString(e));
        return WEIR_PIPE_CUDA;
    }
    weir_pipe_tune_init(pipe);
    status = threads_start(pipe);
    if (status != WEIR_PIPE_OK) {
        weir_pipe_say(&pipe->config, "threads: %u workers, %u producers cannot be had",
                      pipe->config.workers, pipe->config.producers);
        threads_stop(pipe);
    }
    return status;
}

static enum weir_pipe_status config_take(const weir_pipe_config *config, weir_pipe_config *taken)
{
    const char *fault = config_fault(config);
    cudaError_t e;

    *taken = *config;
    if (!fault) {
        e = config_complete(taken);
        if (e != cudaSuccess) {
            weir_pipe_say(config, "%s", cudaGetErrorString(e));
            return WEIR_PIPE_CUDA;
        }
        fault = sizes_fault(taken);
    }
    if (fault)
        weir_pipe_say(config, "%s", fault);
    return fault ? WEIR_PIPE_INVALID : WEIR_PIPE_OK;
}

enum weir_pipe_status weir_pipe_create(const weir_pipe_config *config, weir_pipe **out)
{
    enum weir_pipe_status status;
    weir_pipe *pipe;
    int device = -1;

    if (!out)
        return WEIR_PIPE_INVALID;
    *out = NULL;
    if (!config || config->size != sizeof(*config))
        return WEIR_PIPE_INVALID;
    pipe = calloc(1, sizeof(*pipe));
    if (!pipe)
        return WEIR_PIPE_MEMORY;
    status = config_take(config, &pipe->config);
    if (status != WEIR_PIPE_OK) {
        free(pipe);
        return status;
    }
    locks_init(pipe);
    cudaGetDevice(&device);
    status = resources_init(pipe);
    if (status == WEIR_PIPE_OK)
        *out = pipe;
    else
        pipe_free(pipe);
    if (device >= 0)
        weir_pipe_device_set(device);
    return status;
}

static bool outstanding_locked(const weir_pipe *pipe, const uint64_t *before)
{
    for (unsigned i = 0; i < pipe->slot_count; i++) {
        const struct slot *slot = &pipe->slots[i];
        if (slot->state != SLOT_FREE && slot->item.number < before[slot->item.lane])
            return true;
    }
    return false;
}

enum weir_pipe_status weir_pipe_flush(weir_pipe *pipe)
{
    uint64_t before[WEIR_PIPE_MAX_LANES] = {0};

    if (!pipe || weir_pipe_in_callback(pipe))
        return WEIR_PIPE_INVALID;
    pthread_mutex_lock(&pipe->lock);
    for (unsigned l = 0; l < pipe->lane_count; l++)
        before[l] = pipe->lanes[l].accepted;
    pipe->flushers++;
    while (outstanding_locked(pipe, before))
        if (pipe->worker_count || !weir_pipe_collect_locked(pipe, true))
            pthread_cond_wait(&pipe->idle, &pipe->lock);
    pipe->flushers--;
    pthread_mutex_unlock(&pipe->lock);
    return atomic_load(&pipe->broken) ? WEIR_PIPE_BROKEN : WEIR_PIPE_OK;
}

enum weir_pipe_status weir_pipe_destroy(weir_pipe *pipe)
{
    enum weir_pipe_status status;
    int device = -1;

    if (!pipe)
        return WEIR_PIPE_OK;
    if (weir_pipe_in_callback(pipe))
        return WEIR_PIPE_INVALID;
    pthread_mutex_lock(&pipe->lock);
    pipe->closing = true;
    weir_pipe_wake_all_locked(pipe);
    while (pipe->inside)
        pthread_cond_wait(&pipe->idle, &pipe->lock);
    pthread_mutex_unlock(&pipe->lock);
    status = weir_pipe_flush(pipe);
    threads_stop(pipe);
    cudaGetDevice(&device);
    pipe_free(pipe);
    if (status == WEIR_PIPE_BROKEN)
        cudaGetLastError(); /* freeing on a broken device fails: that is no news */
    if (device >= 0)
        weir_pipe_device_set(device);
    return status;
}

static bool can_cancel(const struct slot *slot)
{
    return slot->state == SLOT_FILLING || slot->state == SLOT_FLYING || slot->state == SLOT_WAITING;
}

void weir_pipe_cancel(weir_pipe *pipe)
{
    pthread_mutex_lock(&pipe->lock);
    pipe->cancels++;
    for (unsigned i = 0; i < pipe->slot_count; i++)
        if (can_cancel(&pipe->slots[i]))
            atomic_store(&pipe->slots[i].cancelled, true);
    weir_pipe_wake_all_locked(pipe);
    pthread_mutex_unlock(&pipe->lock);
}

void weir_pipe_cancel_item(weir_pipe *pipe, unsigned lane, uint64_t number)
{
    pthread_mutex_lock(&pipe->lock);
    for (unsigned i = 0; i < pipe->slot_count; i++) {
        struct slot *slot = &pipe->slots[i];
        if (slot->item.lane == lane && slot->item.number == number && can_cancel(slot))
            atomic_store(&slot->cancelled, true);
    }
    pthread_mutex_unlock(&pipe->lock);
}
