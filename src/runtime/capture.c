/* Stream management: capture. The rules are in src/model/capture.c, what it does in
 * src/core/capture.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/capture.h"
#include "runtime/rt.h"

_Static_assert(sizeof(cudaGraphEdgeData) == sizeof(struct weir_edge_data), "the same form");

static const struct weir_edge_data *edge_data(const cudaGraphEdgeData *data)
{
    return (const struct weir_edge_data *)data;
}

enum weir_err weir_rt_StreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    struct weir_stream *s;

    if (weir_context_error(
            &weir_core.contexts[weir_thread.context])) /* as measured: sticky_illegal */
        return WEIR_FAIL(WEIR_ERR_INVALID_RESOURCE_HANDLE, "a stream of a device that failed");
    RT_TRY(weir_stream_get(stream, &s));
    return weir_capture_begin(s, NULL, NULL, NULL, 0, (int)mode);
}

enum weir_err weir_rt_StreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                                const cudaGraphNode_t *dependencies,
                                                const cudaGraphEdgeData *dependencyData,
                                                size_t numDependencies,
                                                enum cudaStreamCaptureMode mode)
{
    struct weir_graph *g;
    struct weir_stream *s;

    RT_TRY(weir_stream_get(stream, &s));
    RT_TRY(weir_graph_get(graph, &g));
    return weir_capture_begin(s, g, (void *const *)dependencies, edge_data(dependencyData),
                              numDependencies, (int)mode);
}

/* A graph that nobody asked for is dropped (oracle capture_ops_global.endCapture_null_graph). */
enum weir_err weir_rt_StreamEndCapture(cudaStream_t stream, cudaGraph_t *pGraph)
{
    struct weir_graph *g = NULL;
    struct weir_stream *s;
    enum weir_err err;

    if (pGraph)
        *pGraph = NULL;
    RT_TRY(weir_stream_get(stream, &s));
    err = weir_capture_end(s, pGraph ? &g : NULL);
    if (pGraph)
        *pGraph = (cudaGraph_t)g;
    return err;
}

enum weir_err weir_rt_StreamIsCapturing(cudaStream_t stream,
                                        enum cudaStreamCaptureStatus *pCaptureStatus)
{
    struct weir_capture_info info;
    struct weir_stream *s;

    RT_REQUIRE(pCaptureStatus);
    RT_TRY(weir_stream_get(stream, &s));
    RT_TRY(weir_capture_info(s, &info));
    *pCaptureStatus = (enum cudaStreamCaptureStatus)info.status;
    return WEIR_OK;
}

enum weir_err weir_rt_StreamGetCaptureInfo(cudaStream_t stream,
                                           enum cudaStreamCaptureStatus *captureStatus_out,
                                           unsigned long long *id_out, cudaGraph_t *graph_out,
                                           const cudaGraphNode_t **dependencies_out,
                                           const cudaGraphEdgeData **edgeData_out,
                                           size_t *numDependencies_out)
{
    struct weir_capture_info info;
    struct weir_stream *s;

    RT_REQUIRE(captureStatus_out);
    RT_TRY(weir_stream_get(stream, &s));
    RT_TRY(weir_capture_info(s, &info));
    *captureStatus_out = (enum cudaStreamCaptureStatus)info.status;
    /* The others are only written for a stream that captures. */
    if (info.status != WEIR_CAPTURE_ACTIVE)
        return WEIR_OK;
    if (info.special && dependencies_out && !edgeData_out)
        return WEIR_FAIL(WEIR_ERR_LOSSY_QUERY, "dependencies have data, and none was asked for");
    if (id_out)
        *id_out = info.id;
    if (graph_out)
        *graph_out = (cudaGraph_t)info.graph;
    if (dependencies_out)
        *dependencies_out = (const cudaGraphNode_t *)info.nodes;
    if (edgeData_out)
        *edgeData_out = (const cudaGraphEdgeData *)info.data;
    if (numDependencies_out)
        *numDependencies_out = info.count;
    return WEIR_OK;
}

enum weir_err weir_rt_StreamUpdateCaptureDependencies(cudaStream_t stream,
                                                      cudaGraphNode_t *dependencies,
                                                      const cudaGraphEdgeData *dependencyData,
                                                      size_t numDependencies, unsigned int flags)
{
    struct weir_stream *s;

    RT_TRY(weir_stream_get(stream, &s));
    if (flags > cudaStreamSetCaptureDependencies)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", flags);
    return weir_capture_update(s, (void *const *)dependencies, edge_data(dependencyData),
                               numDependencies, flags == cudaStreamSetCaptureDependencies);
}

enum weir_err weir_rt_ThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    int m;

    RT_REQUIRE(mode);
    m = (int)*mode;
    weir_capture_exchange_mode(&m);
    *mode = (enum cudaStreamCaptureMode)m;
    return WEIR_OK;
}
