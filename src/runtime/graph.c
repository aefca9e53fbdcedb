/* Graph management: graphs, edges, clones, instances, user objects. Nodes and what they do are in
 * graph_node.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/log.h"
#include "core/capture.h"
#include "core/graph.h"
#include "runtime/rt.h"

static const struct weir_edge_data *edge_data(const cudaGraphEdgeData *data)
{
    return (const struct weir_edge_data *)data; /* the same form (capture.c) */
}

/* ---- graphs ---- */

enum weir_err weir_rt_GraphCreate(cudaGraph_t *pGraph, unsigned int flags)
{
    struct weir_graph *g;

    RT_REQUIRE(pGraph);
    if (flags)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", flags);
    RT_TRY(weir_graph_create(&g));
    *pGraph = (cudaGraph_t)g;
    return WEIR_OK;
}

enum weir_err weir_rt_GraphDestroy(cudaGraph_t graph)
{
    struct weir_graph *g;

    RT_TRY(weir_graph_get(graph, &g));
    return weir_graph_destroy(g);
}

enum weir_err weir_rt_GraphClone(cudaGraph_t *pGraphClone, cudaGraph_t originalGraph)
{
    struct weir_graph *g, *clone;

    RT_REQUIRE(pGraphClone);
    RT_TRY(weir_graph_get(originalGraph, &g));
    RT_TRY(weir_graph_clone(g, &clone));
    *pGraphClone = (cudaGraph_t)clone;
    return WEIR_OK;
}

enum weir_err weir_rt_GraphNodeFindInClone(cudaGraphNode_t *pNode, cudaGraphNode_t originalNode,
                                           cudaGraph_t clonedGraph)
{
    struct weir_node *n, *found;
    struct weir_graph *g;

    RT_REQUIRE(pNode);
    RT_TRY(weir_node_get(originalNode, &n));
    RT_TRY(weir_graph_get(clonedGraph, &g));
    RT_TRY(weir_graph_find_in_clone(n, g, &found));
    *pNode = (cudaGraphNode_t)found;
    return WEIR_OK;
}

enum weir_err weir_rt_GraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned int flags)
{
    struct weir_graph *g;

    RT_REQUIRE(path);
    RT_TRY(weir_graph_get(graph, &g));
    return weir_graph_dot(g, path, flags);
}

/* ---- nodes and edges ---- */

enum weir_err weir_rt_GraphDestroyNode(cudaGraphNode_t node)
{
    struct weir_node *n;

    RT_TRY(weir_node_get(node, &n));
    return weir_node_destroy(n);
}

enum weir_err weir_rt_GraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *pType)
{
    struct weir_node *n;

    RT_REQUIRE(pType);
    RT_TRY(weir_node_get(node, &n));
    *pType = (enum cudaGraphNodeType)weir_node_kind(n);
    return WEIR_OK;
}

enum weir_err weir_rt_GraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                           const cudaGraphNode_t *to,
                                           const cudaGraphEdgeData *edgeData,
                                           size_t numDependencies)
{
    struct weir_graph *g;

    RT_TRY(weir_graph_get(graph, &g));
    return weir_graph_edges_change(g, (void *const *)from, (void *const *)to, edge_data(edgeData),
                                   numDependencies, true);
}

enum weir_err weir_rt_GraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                              const cudaGraphNode_t *to,
                                              const cudaGraphEdgeData *edgeData,
                                              size_t numDependencies)
{
    struct weir_graph *g;

    RT_TRY(weir_graph_get(graph, &g));
    return weir_graph_edges_change(g, (void *const *)from, (void *const *)to, edge_data(edgeData),
                                   numDependencies, false);
}

enum weir_err weir_rt_GraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *numNodes)
{
    struct weir_graph *g;

    RT_REQUIRE(numNodes);
    RT_TRY(weir_graph_get(graph, &g));
    weir_graph_list(g, WEIR_LIST_NODES, (void **)nodes, numNodes);
    return WEIR_OK;
}

enum weir_err weir_rt_GraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *pRootNodes,
                                        size_t *pNumRootNodes)
{
    struct weir_graph *g;

    RT_REQUIRE(pNumRootNodes);
    RT_TRY(weir_graph_get(graph, &g));
    weir_graph_list(g, WEIR_LIST_ROOTS, (void **)pRootNodes, pNumRootNodes);
    return WEIR_OK;
}

enum weir_err weir_rt_GraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                                    cudaGraphEdgeData *edgeData, size_t *numEdges)
{
    struct weir_graph *g;

    RT_REQUIRE(numEdges);
    RT_TRY(weir_graph_get(graph, &g));
    return weir_graph_list_edges(g, (void **)from, (void **)to, (struct weir_edge_data *)edgeData,
                                 numEdges);
}

enum weir_err weir_rt_GraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *pDependencies,
                                               cudaGraphEdgeData *edgeData,
                                               size_t *pNumDependencies)
{
    struct weir_node *n;

    RT_REQUIRE(pNumDependencies);
    RT_TRY(weir_node_get(node, &n));
    return weir_node_list_edges(n, true, (void **)pDependencies, (struct weir_edge_data *)edgeData,
                                pNumDependencies);
}

enum weir_err weir_rt_GraphNodeGetDependentNodes(cudaGraphNode_t node,
                                                 cudaGraphNode_t *pDependentNodes,
                                                 cudaGraphEdgeData *edgeData,
                                                 size_t *pNumDependentNodes)
{
    struct weir_node *n;

    RT_REQUIRE(pNumDependentNodes);
    RT_TRY(weir_node_get(node, &n));
    return weir_node_list_edges(n, false, (void **)pDependentNodes,
                                (struct weir_edge_data *)edgeData, pNumDependentNodes);
}

/* ---- instances ---- */

#define ALL_FLAGS                                                                                  \
    (cudaGraphInstantiateFlagAutoFreeOnLaunch | cudaGraphInstantiateFlagUpload |                   \
     cudaGraphInstantiateFlagDeviceLaunch | cudaGraphInstantiateFlagUseNodePriority)

/* Launching again and freeing inside is one launch's business, launches by kernels another's. */
static enum weir_err check_flags(unsigned long long flags, bool upload)
{
    if ((flags & ~(unsigned long long)ALL_FLAGS) ||
        (!upload && (flags & cudaGraphInstantiateFlagUpload)) ||
        ((flags & cudaGraphInstantiateFlagAutoFreeOnLaunch) &&
         (flags & cudaGraphInstantiateFlagDeviceLaunch)))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "instantiation flags %#llx", flags);
    return WEIR_OK;
}

enum weir_err weir_rt_GraphInstantiate(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                       unsigned long long flags)
{
    struct weir_graph *g;
    struct weir_exec *x;

    RT_REQUIRE(pGraphExec);
    RT_TRY(weir_graph_get(graph, &g));
    RT_TRY(check_flags(flags, false));
    RT_TRY(weir_exec_create(g, (uint32_t)flags, &x, NULL));
    *pGraphExec = (cudaGraphExec_t)x;
    return WEIR_OK;
}

enum weir_err weir_rt_GraphInstantiateWithFlags(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                                unsigned long long flags)
{
    return weir_rt_GraphInstantiate(pGraphExec, graph, flags);
}

enum weir_err weir_rt_GraphInstantiateWithParams(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                                 cudaGraphInstantiateParams *instantiateParams)
{
    cudaGraphInstantiateParams *p = instantiateParams;
    struct weir_node *at = NULL;
    struct weir_stream *s;
    struct weir_graph *g;
    struct weir_exec *x;
    enum weir_err err;

    RT_REQUIRE(pGraphExec);
    RT_REQUIRE(p);
    p->errNode_out = NULL;
    p->result_out = cudaGraphInstantiateError;
    RT_TRY(weir_graph_get(graph, &g));
    RT_TRY(check_flags(p->flags, true));
    err = weir_exec_create(g, (uint32_t)p->flags, &x, &at);
    if (err != WEIR_OK) {
        p->errNode_out = (cudaGraphNode_t)at;
        if (err == WEIR_ERR_INVALID_VALUE)
            p->result_out = cudaGraphInstantiateInvalidStructure;
        if (err == WEIR_ERR_NOT_SUPPORTED)
            p->result_out = cudaGraphInstantiateNodeOperationNotSupported;
        return err;
    }
    if (p->flags & cudaGraphInstantiateFlagUpload) {
        RT_TRY(weir_stream_get(p->uploadStream, &s));
        RT_TRY(weir_exec_upload(x, s));
    }
    p->result_out = cudaGraphInstantiateSuccess;
    *pGraphExec = (cudaGraphExec_t)x;
    return WEIR_OK;
}

enum weir_err weir_rt_GraphExecDestroy(cudaGraphExec_t graphExec)
{
    struct weir_exec *x;

    RT_TRY(weir_exec_get(graphExec, &x));
    return weir_exec_destroy(x);
}

enum weir_err weir_rt_GraphExecGetFlags(cudaGraphExec_t graphExec, unsigned long long *flags)
{
    struct weir_exec *x;

    RT_REQUIRE(flags);
    RT_TRY(weir_exec_get(graphExec, &x));
    *flags = weir_exec_flags(x);
    return WEIR_OK;
}

enum weir_err weir_rt_GraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream)
{
    struct weir_exec *x;
    struct weir_stream *s;

    RT_TRY(weir_exec_get(graphExec, &x));
    RT_TRY(weir_stream_get(stream, &s));
    return weir_exec_launch(x, s);
}

enum weir_err weir_rt_GraphUpload(cudaGraphExec_t graphExec, cudaStream_t stream)
{
    struct weir_exec *x;
    struct weir_stream *s;

    RT_TRY(weir_exec_get(graphExec, &x));
    RT_TRY(weir_stream_get(stream, &s));
    return weir_exec_upload(x, s);
}

enum weir_err weir_rt_GraphExecUpdate(cudaGraphExec_t hGraphExec, cudaGraph_t hGraph,
                                      cudaGraphExecUpdateResultInfo *resultInfo)
{
    enum weir_update_result result;
    struct weir_node *at;
    struct weir_graph *g;
    struct weir_exec *x;
    enum weir_err err;

    RT_TRY(weir_exec_get(hGraphExec, &x));
    RT_TRY(weir_graph_get(hGraph, &g));
    err = weir_exec_update(x, g, &result, &at);
    if (resultInfo)
        *resultInfo = (cudaGraphExecUpdateResultInfo){(enum cudaGraphExecUpdateResult)result,
                                                      (cudaGraphNode_t)at, NULL};
    return err;
}

enum weir_err weir_rt_GraphNodeSetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
                                          unsigned int isEnabled)
{
    struct weir_exec *x;
    struct weir_node *n;

    RT_TRY(weir_exec_get(hGraphExec, &x));
    RT_TRY(weir_node_get(hNode, &n));
    return weir_exec_enable(x, n, isEnabled != 0);
}

enum weir_err weir_rt_GraphNodeGetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
                                          unsigned int *isEnabled)
{
    struct weir_exec *x;
    struct weir_node *n;
    bool on;

    RT_REQUIRE(isEnabled);
    RT_TRY(weir_exec_get(hGraphExec, &x));
    RT_TRY(weir_node_get(hNode, &n));
    RT_TRY(weir_exec_is_enabled(x, n, &on));
    *isEnabled = on;
    return WEIR_OK;
}

/* ---- user objects ---- */

enum weir_err weir_rt_UserObjectCreate(cudaUserObject_t *object_out, void *ptr,
                                       cudaHostFn_t destroy, unsigned int initialRefcount,
                                       unsigned int flags)
{
    struct weir_user_object *o;

    RT_REQUIRE(object_out);
    RT_REQUIRE(destroy);
    if (flags != cudaUserObjectNoDestructorSync || !initialRefcount || initialRefcount > INT32_MAX)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x, %u references", flags,
                         initialRefcount);
    RT_TRY(weir_object_create(ptr, destroy, initialRefcount, &o));
    *object_out = (cudaUserObject_t)o;
    return WEIR_OK;
}

enum weir_err weir_rt_UserObjectRetain(cudaUserObject_t object, unsigned int count)
{
    return weir_object_retain(object, count);
}

enum weir_err weir_rt_UserObjectRelease(cudaUserObject_t object, unsigned int count)
{
    return weir_object_release(object, count);
}

enum weir_err weir_rt_GraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object,
                                            unsigned int count, unsigned int flags)
{
    struct weir_graph *g;

    RT_TRY(weir_graph_get(graph, &g));
    if (flags & ~(unsigned)cudaGraphUserObjectMove)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", flags);
    return weir_graph_retain_object(g, object, count, flags == cudaGraphUserObjectMove);
}

enum weir_err weir_rt_GraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object,
                                             unsigned int count)
{
    struct weir_graph *g;

    RT_TRY(weir_graph_get(graph, &g));
    return weir_graph_release_object(g, object, count);
}

/* ---- memory of graphs ---- */

static enum weir_err check_device(int device)
{
    return device >= 0 && device < weir_core.device_count
               ? WEIR_OK
               : WEIR_FAIL(WEIR_ERR_INVALID_DEVICE, "device %d", device);
}

enum weir_err weir_rt_DeviceGraphMemTrim(int device)
{
    RT_TRY(check_device(device));
    weir_graph_mem_trim(device);
    return WEIR_OK;
}

enum weir_err weir_rt_DeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr,
                                                 void *value)
{
    struct weir_graph_mem_usage u;
    uint64_t *out = value;

    RT_REQUIRE(value);
    RT_TRY(check_device(device));
    weir_graph_mem_usage(device, &u);
    switch (attr) {
    case cudaGraphMemAttrUsedMemCurrent:
        *out = u.used;
        return WEIR_OK;
    case cudaGraphMemAttrUsedMemHigh:
        *out = u.used_high;
        return WEIR_OK;
    case cudaGraphMemAttrReservedMemCurrent:
        *out = u.reserved;
        return WEIR_OK;
    case cudaGraphMemAttrReservedMemHigh:
        *out = u.reserved_high;
        return WEIR_OK;
    default:
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "graph memory attribute %d", (int)attr);
    }
}

enum weir_err weir_rt_DeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr,
                                                 void *value)
{
    RT_REQUIRE(value);
    RT_TRY(check_device(device));
    if ((attr != cudaGraphMemAttrUsedMemHigh && attr != cudaGraphMemAttrReservedMemHigh) ||
        *(const uint64_t *)value != 0)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "only high marks are set, to 0");
    weir_graph_mem_reset_high(device, attr == cudaGraphMemAttrUsedMemHigh,
                              attr == cudaGraphMemAttrReservedMemHigh);
    return WEIR_OK;
}
