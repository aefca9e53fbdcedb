/* Graph replay: what an item enqueues is captured once for a slot and a bucket, later items launch
 * the instance. Copies whose size changed and items that say so are captured again, into the same
 * instance where it can take the change. What cannot be captured is launched as usual from then on.
 *
 * In streams that items share, and from device to device, an item's parts have graphs of their own,
 * each launched in the stream that it was captured in: one graph of the whole would run beside the
 * other items' work, and what a shared stream promises is its order.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "pipe_int.h"

/* NULL: none to be had, the item is launched as usual. */
static struct slot_graph *graph_of(struct slot_graphs *graphs, uint64_t bucket)
{
    if (!graphs->all)
        graphs->all = calloc(WEIR_PIPE_MAX_BUCKETS, sizeof(*graphs->all));
    if (!graphs->all)
        return NULL;
    for (unsigned i = 0; i < graphs->count; i++)
        if (graphs->all[i].bucket == bucket)
            return &graphs->all[i];
    if (graphs->count == WEIR_PIPE_MAX_BUCKETS)
        return NULL;
    graphs->all[graphs->count].bucket = bucket;
    return &graphs->all[graphs->count++];
}

static void count(weir_pipe *pipe, uint64_t *what)
{
    pthread_mutex_lock(&pipe->lock);
    ++*what;
    pthread_mutex_unlock(&pipe->lock);
}

static struct step usual(weir_pipe *pipe, struct slot *slot, enqueue_part *enqueue)
{
    count(pipe, &pipe->stats.fallbacks);
    return enqueue(pipe, slot);
}

static cudaError_t exec_update(cudaGraphExec_t exec, cudaGraph_t graph)
{
#if CUDART_VERSION >= 12000
    cudaGraphExecUpdateResultInfo info;
    return cudaGraphExecUpdate(exec, graph, &info);
#else
    enum cudaGraphExecUpdateResult result;
    cudaGraphNode_t node;
    return cudaGraphExecUpdate(exec, graph, &node, &result);
#endif
}

/* Into the instance that is there, or into a new one. */
static cudaError_t graph_take(weir_pipe *pipe, struct slot_graph *g, cudaGraph_t graph)
{
    cudaError_t e;

    if (g->exec) {
        if (exec_update(g->exec, graph) == cudaSuccess) {
            count(pipe, &pipe->stats.updates);
            return cudaSuccess;
        }
        cudaGetLastError();
        cudaGraphExecDestroy(g->exec);
        g->exec = NULL;
    }
    e = cudaGraphInstantiateWithFlags(&g->exec, graph, 0);
    if (e == cudaSuccess)
        count(pipe, &pipe->stats.captures);
    else
        g->exec = NULL;
    return e;
}

/* *ended: what the capture gave. The step is that of the callbacks. */
static struct step capture(weir_pipe *pipe, struct slot *slot, struct slot_graph *g,
                           enqueue_part *enqueue, cudaError_t *ended)
{
    const cudaStream_t stream = slot->item.stream;
    cudaGraph_t graph = NULL;
    struct step step;

    *ended = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    if (*ended != cudaSuccess)
        return STEP_OK;
    step = enqueue(pipe, slot);
    *ended = cudaStreamEndCapture(stream, &graph);
    if (*ended == cudaSuccess && step.status == WEIR_PIPE_OK)
        *ended = graph_take(pipe, g, graph);
    if (graph)
        cudaGraphDestroy(graph);
    g->in_bytes = slot->item.in_bytes;
    g->out_bytes = slot->item.out_bytes;
    return step;
}

struct step weir_pipe_graph_enqueue(weir_pipe *pipe, struct slot *slot, unsigned part,
                                    enqueue_part *enqueue)
{
    const weir_pipe_item *item = &slot->item;
    const weir_pipe_config *config = &pipe->config;
    const bool too_big = config->padding == WEIR_PIPE_PAD_UP &&
                         item->shape > config->buckets[config->bucket_count - 1];
    struct slot_graph *g;
    cudaError_t e;

    if (!config->graph)
        return enqueue(pipe, slot);
    g = too_big ? NULL : graph_of(&slot->graphs[part], item->bucket);
    if (!g || g->failed)
        return usual(pipe, slot, enqueue);
    if (!g->exec || item->recapture || g->in_bytes != item->in_bytes ||
        g->out_bytes != item->out_bytes) {
        const struct step step = capture(pipe, slot, g, enqueue, &e);
        if (e != cudaSuccess) {
            cudaGetLastError();
            g->failed = true;
            weir_pipe_say(config, "bucket %llu is launched without a graph: %s",
                          (unsigned long long)g->bucket, cudaGetErrorName(e));
            return usual(pipe, slot, enqueue);
        }
        if (step.status !=
            WEIR_PIPE_OK) /* the item's own fault: nothing was kept, nothing has run */
            return step;
    } else {
        count(pipe, &pipe->stats.replays);
    }
    e = cudaGraphLaunch(g->exec, item->stream);
    return e == cudaSuccess ? STEP_OK : weir_pipe_cuda_failed(pipe, slot, e);
}

void weir_pipe_graph_finish(struct slot *slot)
{
    for (unsigned p = 0; p < PART_COUNT; p++) {
        for (unsigned i = 0; i < slot->graphs[p].count; i++)
            if (slot->graphs[p].all[i].exec)
                cudaGraphExecDestroy(slot->graphs[p].all[i].exec);
        free(slot->graphs[p].all);
    }
}
