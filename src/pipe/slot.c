/* A slot's buffers, streams and events, and the lists that slots stand in. Everything of a slot
 * belongs to it alone, so that its reuse is one question: is its last event complete, and its
 * result read?
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <string.h>

#include "pipe_int.h"

/* Which states may follow which. */
static const unsigned char follows[SLOT_STATE_COUNT] = {
    [SLOT_FREE] = 1 << SLOT_FILLING,
    [SLOT_FILLING] = 1 << SLOT_FLYING,
    [SLOT_FLYING] = 1 << SLOT_WAITING,
    [SLOT_WAITING] = 1 << SLOT_DRAINING | 1 << SLOT_DRAINED | 1 << SLOT_FLYING,
    [SLOT_DRAINING] = 1 << SLOT_DRAINED,
    [SLOT_DRAINED] = 1 << SLOT_FREE,
};

void weir_pipe_slot_set_state(struct slot *slot, enum slot_state state)
{
    assert(follows[slot->state] & 1 << state);
    (void)follows;
    slot->state = state;
}

void weir_pipe_list_push(struct slot_list *list, struct slot *slot)
{
    slot->next = NULL;
    if (list->last)
        list->last->next = slot;
    else
        list->first = slot;
    list->last = slot;
}

void weir_pipe_list_push_front(struct slot_list *list, struct slot *slot)
{
    slot->next = list->first;
    list->first = slot;
    if (!list->last)
        list->last = slot;
}

struct slot *weir_pipe_list_pop(struct slot_list *list)
{
    struct slot *slot = list->first;
    if (slot)
        weir_pipe_list_remove(list, slot);
    return slot;
}

void weir_pipe_list_remove(struct slot_list *list, struct slot *slot)
{
    struct slot **at = &list->first, *before = NULL;
    while (*at != slot) {
        before = *at;
        at = &before->next;
    }
    *at = slot->next;
    if (list->last == slot)
        list->last = before;
    slot->next = NULL;
}

static cudaError_t stage_init(struct slot *slot, unsigned stage, const weir_pipe_stage *want,
                              int priority)
{
    cudaError_t e = weir_pipe_device_set(want->device);
    if (e == cudaSuccess && want->dev_in_bytes)
        e = cudaMalloc(&slot->dev_in[stage], want->dev_in_bytes);
    if (e == cudaSuccess && want->dev_out_bytes)
        e = cudaMalloc(&slot->dev_out[stage], want->dev_out_bytes);
    if (e == cudaSuccess && want->scratch_bytes)
        e = cudaMalloc(&slot->dev_scratch[stage], want->scratch_bytes);
    if (e == cudaSuccess)
        e = cudaStreamCreateWithPriority(&slot->stream[stage], cudaStreamNonBlocking, priority);
    if (e == cudaSuccess)
        e = cudaEventCreateWithFlags(&slot->handed[stage], cudaEventDisableTiming);
    return e;
}

static cudaError_t events_init(weir_pipe *pipe, struct slot *slot)
{
    const weir_pipe_config *config = &pipe->config;
    const bool block = config->wait == WEIR_PIPE_WAIT_BLOCK ||
                       (config->wait == WEIR_PIPE_WAIT_AUTO && config->workers > 1);
    cudaError_t e = cudaEventCreateWithFlags(&slot->done, cudaEventDisableTiming |
                                                              (block ? cudaEventBlockingSync : 0));
    if (e == cudaSuccess)
        e = cudaEventCreateWithFlags(&slot->uploaded, cudaEventDisableTiming);
    if (e == cudaSuccess)
        e = cudaEventCreateWithFlags(&slot->computed, cudaEventDisableTiming);
    if (config->tune_items)
        for (int i = 0; i < 4 && e == cudaSuccess; i++)
            e = cudaEventCreate(&slot->timed[i]);
    return e;
}

cudaError_t weir_pipe_slot_init(weir_pipe *pipe, struct slot *slot)
{
    const weir_pipe_config *config = &pipe->config;
    const int priority = slot->lane->priority[slot->device_index];
    cudaError_t e = cudaSuccess;

    for (unsigned i = 0; i < pipe->stage_count && e == cudaSuccess; i++) {
        weir_pipe_stage want = config->stages[i];
        if (!config->stage_count)
            want.device = config->devices[slot->device_index];
        e = stage_init(slot, i, &want, priority);
    }
    /* The events of an item's end are of the last stage's device, which is the current one here. */
    if (e == cudaSuccess)
        e = events_init(pipe, slot);
    if (e == cudaSuccess && config->in_bytes)
        e = cudaHostAlloc(&slot->item.in, config->in_bytes, cudaHostAllocPortable);
    if (e == cudaSuccess && config->out_bytes)
        e = cudaHostAlloc(&slot->item.out, config->out_bytes, cudaHostAllocPortable);
    return e;
}

/* On a broken device every call fails; there is nobody to tell, and the process's end frees it. */
void weir_pipe_slot_finish(weir_pipe *pipe, struct slot *slot)
{
    const cudaEvent_t events[] = {slot->done,     slot->uploaded, slot->computed, slot->timed[0],
                                  slot->timed[1], slot->timed[2], slot->timed[3]};

    weir_pipe_graph_finish(slot);
    for (unsigned i = 0; i < sizeof(events) / sizeof(events[0]); i++)
        if (events[i])
            cudaEventDestroy(events[i]);
    for (unsigned i = 0; i < pipe->stage_count; i++) {
        weir_pipe_device_set(pipe->config.stage_count ? pipe->config.stages[i].device
                                                      : pipe->config.devices[slot->device_index]);
        if (slot->handed[i])
            cudaEventDestroy(slot->handed[i]);
        if (slot->stream[i])
            cudaStreamDestroy(slot->stream[i]);
        cudaFree(slot->dev_in[i]);
        cudaFree(slot->dev_out[i]);
        cudaFree(slot->dev_scratch[i]);
    }
    cudaFreeHost(slot->item.in);
    cudaFreeHost(slot->item.out);
}

cudaError_t weir_pipe_split_init(weir_pipe *pipe, struct lane *lane, unsigned device_index)
{
    struct split_streams *split = &lane->split[device_index];
    const int priority = lane->priority[device_index];
    cudaError_t e = weir_pipe_device_set(pipe->config.devices[device_index]);

    pthread_mutex_init(&split->enqueue, NULL);
    split->made = true;
    if (e == cudaSuccess)
        e = cudaStreamCreateWithPriority(&split->up, cudaStreamNonBlocking, priority);
    for (unsigned i = 0; i < pipe->config.compute_streams && e == cudaSuccess; i++)
        e = cudaStreamCreateWithPriority(&split->compute[i], cudaStreamNonBlocking, priority);
    if (e == cudaSuccess)
        e = cudaStreamCreateWithPriority(&split->down, cudaStreamNonBlocking, priority);
    return e;
}

void weir_pipe_split_finish(weir_pipe *pipe, struct lane *lane, unsigned device_index)
{
    struct split_streams *split = &lane->split[device_index];

    if (!split->made)
        return;
    weir_pipe_device_set(pipe->config.devices[device_index]);
    if (split->up)
        cudaStreamDestroy(split->up);
    if (split->down)
        cudaStreamDestroy(split->down);
    for (unsigned i = 0; i < pipe->config.compute_streams; i++)
        if (split->compute[i])
            cudaStreamDestroy(split->compute[i]);
    pthread_mutex_destroy(&split->enqueue);
}
