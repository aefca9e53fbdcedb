/* An item's work, given to the device: upload, launch and download in the slot's stream, or in the
 * three streams of split mode, or over the stages on several devices; and the event at its end.
 * Whatever fails on the way, the slot's event is recorded behind all that was enqueued, or that was
 * waited for: only then may the slot's buffers be used again.
 * SPDX-License-Identifier: Apache-2.0 */
#include "pipe_int.h"

cudaError_t weir_pipe_device_set(int device)
{
    int now = -1;
    cudaError_t e = cudaGetDevice(&now);
    if (e == cudaSuccess && now != device)
        e = cudaSetDevice(device);
    return e;
}

/* An error that stays is returned by every call, also by one that has nothing to complain about. */
struct step weir_pipe_cuda_failed(weir_pipe *pipe, struct slot *slot, cudaError_t error)
{
    enum cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    const cudaStream_t stream = slot->item.stream;
    int none = 0;
    cudaError_t again;

    cudaGetLastError();
    again = cudaStreamIsCapturing(stream, &capturing);
    if (again == cudaSuccess && capturing == cudaStreamCaptureStatusNone)
        again = cudaStreamQuery(stream);
    if (again == cudaSuccess || again == cudaErrorNotReady)
        return (struct step){WEIR_PIPE_CUDA, (int)error};
    cudaGetLastError();
    if (atomic_compare_exchange_strong(&pipe->broken, &none, (int)again)) {
        weir_pipe_say(&pipe->config, "device %d: %s: no more items are taken", slot->item.device,
                      cudaGetErrorName(again));
        pthread_mutex_lock(&pipe->lock);
        weir_pipe_wake_all_locked(pipe);
        pthread_mutex_unlock(&pipe->lock);
    }
    return (struct step){WEIR_PIPE_BROKEN, (int)again};
}

static struct step cuda_step(weir_pipe *pipe, struct slot *slot, cudaError_t error)
{
    return error == cudaSuccess ? STEP_OK : weir_pipe_cuda_failed(pipe, slot, error);
}

/* A callback's error may be the device's: launch returns what cudaGetLastError says. */
static struct step callback_step(weir_pipe *pipe, struct slot *slot, weir_pipe_callback *callback)
{
    const int code = weir_pipe_call(pipe, slot, callback);
    if (code == 0)
        return STEP_OK;
    if (weir_pipe_cuda_failed(pipe, slot, (cudaError_t)code).status == WEIR_PIPE_BROKEN)
        return (struct step){WEIR_PIPE_BROKEN, code};
    return (struct step){WEIR_PIPE_LAUNCH, code};
}

static struct step upload(weir_pipe *pipe, struct slot *slot)
{
    const weir_pipe_item *item = &slot->item;
    if (pipe->config.upload)
        return callback_step(pipe, slot, pipe->config.upload);
    if (!item->in_bytes || !item->dev_in)
        return STEP_OK;
    return cuda_step(pipe, slot,
                     cudaMemcpyAsync(item->dev_in, item->in, item->in_bytes, cudaMemcpyHostToDevice,
                                     item->stream));
}

static struct step download(weir_pipe *pipe, struct slot *slot)
{
    const weir_pipe_item *item = &slot->item;
    if (pipe->config.download)
        return callback_step(pipe, slot, pipe->config.download);
    if (!item->out_bytes || !item->dev_out)
        return STEP_OK;
    return cuda_step(pipe, slot,
                     cudaMemcpyAsync(item->out, item->dev_out, item->out_bytes,
                                     cudaMemcpyDeviceToHost, item->stream));
}

static struct step launch(weir_pipe *pipe, struct slot *slot)
{
    return callback_step(pipe, slot, pipe->config.stages[slot->item.stage].launch);
}

/* A copy by the library is one operation, whose size may be another with each item: a graph of it
 * would gain nothing. What a callback enqueues may be many. */
static struct step upload_part(weir_pipe *pipe, struct slot *slot)
{
    return pipe->config.upload ? weir_pipe_graph_enqueue(pipe, slot, PART_UPLOAD, upload)
                               : upload(pipe, slot);
}

static struct step download_part(weir_pipe *pipe, struct slot *slot)
{
    return pipe->config.download ? weir_pipe_graph_enqueue(pipe, slot, PART_DOWNLOAD, download)
                                 : download(pipe, slot);
}

static struct step launch_part(weir_pipe *pipe, struct slot *slot)
{
    return weir_pipe_graph_enqueue(pipe, slot, PART_STAGE + slot->item.stage, launch);
}

static void enter_stage(weir_pipe *pipe, struct slot *slot, unsigned stage)
{
    weir_pipe_item *item = &slot->item;
    item->stage = stage;
    item->device = pipe->config.stage_count ? pipe->config.stages[stage].device
                                            : pipe->config.devices[slot->device_index];
    item->dev_in = slot->dev_in[stage];
    item->dev_out = slot->dev_out[stage];
    item->dev_scratch = slot->dev_scratch[stage];
    item->stream = slot->stream[stage];
}

/* The result of this stage to the next one's device, and that stage's stream behind it. */
static struct step hand_over(weir_pipe *pipe, struct slot *slot, unsigned stage)
{
    const weir_pipe_stage *from = &pipe->config.stages[stage], *to = from + 1;
    cudaError_t e = cudaMemcpyPeerAsync(slot->dev_in[stage + 1], to->device, slot->dev_out[stage],
                                        from->device, from->dev_out_bytes, slot->stream[stage]);
    if (e == cudaSuccess)
        e = cudaEventRecord(slot->handed[stage], slot->stream[stage]);
    if (e == cudaSuccess)
        e = weir_pipe_device_set(to->device);
    if (e == cudaSuccess)
        e = cudaStreamWaitEvent(slot->stream[stage + 1], slot->handed[stage], 0);
    return cuda_step(pipe, slot, e);
}

static void note_time(struct slot *slot, unsigned which)
{
    if (slot->timing && cudaEventRecord(slot->timed[which], slot->item.stream) != cudaSuccess)
        slot->timing = false;
}

/* All of it in the slot's own stream. */
static struct step enqueue_whole(weir_pipe *pipe, struct slot *slot)
{
    struct step step;

    note_time(slot, 0);
    step = upload(pipe, slot);
    note_time(slot, 1);
    if (step.status == WEIR_PIPE_OK)
        step = launch(pipe, slot);
    note_time(slot, 2);
    if (step.status == WEIR_PIPE_OK)
        step = download(pipe, slot);
    note_time(slot, 3);
    return step;
}

/* In the slot's stream of each stage. */
static struct step enqueue_stages(weir_pipe *pipe, struct slot *slot)
{
    struct step step = upload_part(pipe, slot);

    for (unsigned i = 0; i < pipe->stage_count && step.status == WEIR_PIPE_OK; i++) {
        if (i)
            enter_stage(pipe, slot, i);
        step = launch_part(pipe, slot);
        if (step.status == WEIR_PIPE_OK && i + 1 < pipe->stage_count)
            step = hand_over(pipe, slot, i);
    }
    if (step.status == WEIR_PIPE_OK)
        step = download_part(pipe, slot);
    return step;
}

/* Into `to` behind `event` of `from`. */
static struct step pass_on(weir_pipe *pipe, struct slot *slot, cudaEvent_t event, cudaStream_t from,
                           cudaStream_t to)
{
    cudaError_t e = cudaEventRecord(event, from);
    if (e == cudaSuccess)
        e = cudaStreamWaitEvent(to, event, 0);
    return cuda_step(pipe, slot, e);
}

static struct step enqueue_split(weir_pipe *pipe, struct slot *slot)
{
    struct split_streams *split = &slot->lane->split[slot->device_index];
    weir_pipe_item *item = &slot->item;
    const cudaStream_t compute = split->compute[item->slot % pipe->config.compute_streams];
    const bool up = pipe->config.upload || (item->in_bytes && item->dev_in);
    const bool down = pipe->config.download || (item->out_bytes && item->dev_out);
    struct step step = STEP_OK;

    item->stream = up ? split->up : compute;
    if (up) {
        step = upload_part(pipe, slot);
        if (step.status == WEIR_PIPE_OK)
            step = pass_on(pipe, slot, slot->uploaded, split->up, compute);
    }
    if (step.status == WEIR_PIPE_OK) {
        item->stream = compute;
        step = launch_part(pipe, slot);
    }
    if (step.status == WEIR_PIPE_OK && down) {
        step = pass_on(pipe, slot, slot->computed, compute, split->down);
        if (step.status == WEIR_PIPE_OK) {
            item->stream = split->down;
            step = download_part(pipe, slot);
        }
    }
    return step;
}

/* Behind all of the item's work. Where not even that can be said, the device is waited for. */
static struct step record_done(weir_pipe *pipe, struct slot *slot)
{
    const cudaError_t e = cudaEventRecord(slot->done, slot->item.stream);
    struct step step;

    slot->recorded = e == cudaSuccess;
    if (slot->recorded)
        return STEP_OK;
    step = weir_pipe_cuda_failed(pipe, slot, e);
    if (step.status != WEIR_PIPE_BROKEN)
        cudaDeviceSynchronize();
    return step;
}

/* An item that fails at a stage before the last has nothing in the last stage's stream, whose
 * device the event is of. */
static void end_at_last_stage(weir_pipe *pipe, struct slot *slot)
{
    const unsigned at = slot->item.stage, last = pipe->stage_count - 1;
    if (at == last)
        return;
    cudaStreamSynchronize(slot->stream[at]);
    enter_stage(pipe, slot, last);
    weir_pipe_device_set(slot->item.device);
}

struct step weir_pipe_enqueue(weir_pipe *pipe, struct slot *slot)
{
    struct split_streams *split = &slot->lane->split[slot->device_index];
    struct step step, end;

    enter_stage(pipe, slot, 0);
    step = cuda_step(pipe, slot, weir_pipe_device_set(slot->item.device));
    if (step.status != WEIR_PIPE_OK)
        return step;
    if (slot->split) {
        pthread_mutex_lock(&split->enqueue);
        step = enqueue_split(pipe, slot);
        end = record_done(pipe, slot);
        pthread_mutex_unlock(&split->enqueue);
    } else {
        step = pipe->stage_count > 1
                   ? enqueue_stages(pipe, slot)
                   : weir_pipe_graph_enqueue(pipe, slot, PART_WHOLE, enqueue_whole);
        if (step.status != WEIR_PIPE_OK)
            end_at_last_stage(pipe, slot);
        end = record_done(pipe, slot);
    }
    return step.status != WEIR_PIPE_OK ? step : end;
}
