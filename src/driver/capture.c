/* Stream management: capture. The rules are in src/model/capture.c, what it does in
 * src/core/capture.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/capture.h"
#include "driver/drv.h"

_Static_assert(sizeof(CUgraphEdgeData) == sizeof(struct weir_edge_data), "the same form");

static const struct weir_edge_data *edge_data(const CUgraphEdgeData *data)
{
    return (const struct weir_edge_data *)data;
}

enum weir_err weir_drv_StreamBeginCapture(CUstream stream, CUstreamCaptureMode mode)
{
    struct weir_stream *s;

    DRV_TRY(weir_stream_get(stream, &s));
    return weir_capture_begin(s, NULL, NULL, NULL, 0, (int)mode);
}

/* Before CUDA 10.1 a capture was global. */
enum weir_err weir_drv_StreamBeginCaptureV1(CUstream hStream)
{
    return weir_drv_StreamBeginCapture(hStream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

enum weir_err weir_drv_StreamBeginCaptureToGraph(CUstream stream, CUgraph graph,
                                                 const CUgraphNode *dependencies,
                                                 const CUgraphEdgeData *dependencyData,
                                                 size_t numDependencies, CUstreamCaptureMode mode)
{
    struct weir_graph *g;
    struct weir_stream *s;

    DRV_TRY(weir_stream_get(stream, &s));
    DRV_TRY(weir_graph_get(graph, &g));
    return weir_capture_begin(s, g, (void *const *)dependencies, edge_data(dependencyData),
                              numDependencies, (int)mode);
}

enum weir_err weir_drv_StreamIsCapturing(CUstream stream, CUstreamCaptureStatus *pCaptureStatus)
{
    struct weir_capture_info info;
    struct weir_stream *s;

    DRV_REQUIRE(pCaptureStatus);
    DRV_TRY(weir_stream_get(stream, &s));
    DRV_TRY(weir_capture_info(s, &info));
    *pCaptureStatus = (CUstreamCaptureStatus)info.status;
    return WEIR_OK;
}

enum weir_err weir_drv_StreamGetCaptureInfo(CUstream stream,
                                            CUstreamCaptureStatus *captureStatus_out,
                                            cuuint64_t *id_out, CUgraph *graph_out,
                                            const CUgraphNode **dependencies_out,
                                            const CUgraphEdgeData **edgeData_out,
                                            size_t *numDependencies_out)
{
    struct weir_capture_info info;
    struct weir_stream *s;

    DRV_REQUIRE(captureStatus_out);
    DRV_TRY(weir_stream_get(stream, &s));
    DRV_TRY(weir_capture_info(s, &info));
    *captureStatus_out = (CUstreamCaptureStatus)info.status;
    /* The others are only written for a stream that captures. */
    if (info.status != WEIR_CAPTURE_ACTIVE)
        return WEIR_OK;
    if (info.special && dependencies_out && !edgeData_out)
        return WEIR_FAIL(WEIR_ERR_LOSSY_QUERY, "dependencies have data, and none was asked for");
    if (id_out)
        *id_out = info.id;
    if (graph_out)
        *graph_out = (CUgraph)info.graph;
    if (dependencies_out)
        *dependencies_out = (const CUgraphNode *)info.nodes;
    if (edgeData_out)
        *edgeData_out = (const CUgraphEdgeData *)info.data;
    if (numDependencies_out)
        *numDependencies_out = info.count;
    return WEIR_OK;
}

enum weir_err weir_drv_StreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *dependencies,
                                                       const CUgraphEdgeData *dependencyData,
                                                       size_t numDependencies, unsigned int flags)
{
    struct weir_stream *s;

    DRV_TRY(weir_stream_get(stream, &s));
    if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", flags);
    return weir_capture_update(s, (void *const *)dependencies, edge_data(dependencyData),
                               numDependencies, flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES);
}

enum weir_err weir_drv_StreamUpdateCaptureDependenciesV1(CUstream hStream,
                                                         CUgraphNode *dependencies,
                                                         size_t numDependencies, unsigned int flags)
{
    return weir_drv_StreamUpdateCaptureDependencies(hStream, dependencies, NULL, numDependencies,
                                                    flags);
}

/* Older forms of cuStreamGetCaptureInfo. */
enum weir_err weir_drv_StreamGetCaptureInfoV1(CUstream hStream,
                                              CUstreamCaptureStatus *captureStatus_out,
                                              cuuint64_t *id_out)
{
    return weir_drv_StreamGetCaptureInfo(hStream, captureStatus_out, id_out, NULL, NULL, NULL,
                                         NULL);
}

enum weir_err weir_drv_StreamGetCaptureInfoV2(CUstream hStream,
                                              CUstreamCaptureStatus *captureStatus_out,
                                              cuuint64_t *id_out, CUgraph *graph_out,
                                              const CUgraphNode **dependencies_out,
                                              size_t *numDependencies_out)
{
    return weir_drv_StreamGetCaptureInfo(hStream, captureStatus_out, id_out, graph_out,
                                         dependencies_out, NULL, numDependencies_out);
}

enum weir_err weir_drv_ThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    int m;

    DRV_REQUIRE(mode);
    m = (int)*mode;
    weir_capture_exchange_mode(&m);
    *mode = (CUstreamCaptureMode)m;
    return WEIR_OK;
}
