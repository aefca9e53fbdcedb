/* Graph management: graphs, edges, clones, instances, user objects. Nodes and what they do are in
 * graph_node.c. The same as
 * in the runtime, with the driver's names; older forms have no data of edges.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "core/capture.h"
#include "core/graph.h"
#include "driver/drv.h"

static const struct weir_edge_data *edge_data(const CUgraphEdgeData *data)
{
    return (const struct weir_edge_data *)data; /* the same form (capture.c) */
}

/* ---- graphs ---- */

/* ---- nodes and edges ---- */

enum weir_err weir_drv_GraphNodeGetType(CUgraphNode node, CUgraphNodeType *pType)
{
    struct weir_node *n;

    DRV_REQUIRE(pType);
    DRV_TRY(weir_node_get(node, &n));
    *pType = (CUgraphNodeType)weir_node_kind(n);
    return WEIR_OK;
}

enum weir_err weir_drv_GraphAddDependencies(CUgraph graph, const CUgraphNode *from,
                                            const CUgraphNode *to, const CUgraphEdgeData *edgeData,
                                            size_t numDependencies)
{
    struct weir_graph *g;

    DRV_TRY(weir_graph_get(graph, &g));
    return weir_graph_edges_change(g, (void *const *)from, (void *const *)to, edge_data(edgeData),
                                   numDependencies, true);
}

enum weir_err weir_drv_GraphRemoveDependencies(CUgraph graph, const CUgraphNode *from,
                                               const CUgraphNode *to,
                                               const CUgraphEdgeData *edgeData,
                                               size_t numDependencies)
{
    struct weir_graph *g;

    DRV_TRY(weir_graph_get(graph, &g));
    return weir_graph_edges_change(g, (void *const *)from, (void *const *)to, edge_data(edgeData),
                                   numDependencies, false);
}

enum weir_err weir_drv_GraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to,
                                     CUgraphEdgeData *edgeData, size_t *numEdges)
{
    struct weir_graph *g;

    DRV_REQUIRE(numEdges);
    DRV_TRY(weir_graph_get(graph, &g));
    return weir_graph_list_edges(g, (void **)from, (void **)to, (struct weir_edge_data *)edgeData,
                                 numEdges);
}

enum weir_err weir_drv_GraphNodeGetDependencies(CUgraphNode node, CUgraphNode *pDependencies,
                                                CUgraphEdgeData *edgeData, size_t *pNumDependencies)
{
    struct weir_node *n;

    DRV_REQUIRE(pNumDependencies);
    DRV_TRY(weir_node_get(node, &n));
    return weir_node_list_edges(n, true, (void **)pDependencies, (struct weir_edge_data *)edgeData,
                                pNumDependencies);
}

enum weir_err weir_drv_GraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *pDependentNodes,
                                                  CUgraphEdgeData *edgeData,
                                                  size_t *pNumDependentNodes)
{
    struct weir_node *n;

    DRV_REQUIRE(pNumDependentNodes);
    DRV_TRY(weir_node_get(node, &n));
    return weir_node_list_edges(n, false, (void **)pDependentNodes,
                                (struct weir_edge_data *)edgeData, pNumDependentNodes);
}

/* ---- older forms: edges without data ---- */

enum weir_err weir_drv_GraphAddDependenciesV1(CUgraph hGraph, const CUgraphNode *from,
                                              const CUgraphNode *to, size_t numDependencies)
{
    return weir_drv_GraphAddDependencies(hGraph, from, to, NULL, numDependencies);
}

enum weir_err weir_drv_GraphRemoveDependenciesV1(CUgraph hGraph, const CUgraphNode *from,
                                                 const CUgraphNode *to, size_t numDependencies)
{
    return weir_drv_GraphRemoveDependencies(hGraph, from, to, NULL, numDependencies);
}

enum weir_err weir_drv_GraphGetEdgesV1(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to,
                                       size_t *numEdges)
{
    return weir_drv_GraphGetEdges(hGraph, from, to, NULL, numEdges);
}

enum weir_err weir_drv_GraphNodeGetDependenciesV1(CUgraphNode hNode, CUgraphNode *dependencies,
                                                  size_t *numDependencies)
{
    return weir_drv_GraphNodeGetDependencies(hNode, dependencies, NULL, numDependencies);
}

enum weir_err weir_drv_GraphNodeGetDependentNodesV1(CUgraphNode hNode, CUgraphNode *dependentNodes,
                                                    size_t *numDependentNodes)
{
    return weir_drv_GraphNodeGetDependentNodes(hNode, dependentNodes, NULL, numDependentNodes);
}

/* ---- instances ---- */

#define ALL_FLAGS                                                                                  \
    (CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |        \
     CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY)

/* Launching again and freeing inside is one launch's business, launches by kernels another's. */
static enum weir_err check_flags(unsigned long long flags, bool upload)
{
    if ((flags & ~(unsigned long long)ALL_FLAGS) ||
        (!upload && (flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD)) ||
        ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) &&
         (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "instantiation flags %#llx", flags);
    return WEIR_OK;
}

/* The older forms tell what was wrong with which node. */
enum weir_err weir_drv_GraphInstantiateV1(CUgraphExec *phGraphExec, CUgraph hGraph,
                                          CUgraphNode *phErrorNode, char *logBuffer,
                                          size_t bufferSize)
{
    struct weir_node *at = NULL;
    struct weir_graph *g;
    struct weir_exec *x;
    enum weir_err err;

    DRV_REQUIRE(phGraphExec);
    DRV_TRY(weir_graph_get(hGraph, &g));
    err = weir_exec_create(g, 0, &x, &at);
    if (phErrorNode)
        *phErrorNode = (CUgraphNode)at;
    if (logBuffer && bufferSize)
        snprintf(logBuffer, bufferSize, "%s", err == WEIR_OK ? "" : weir_err_message());
    if (err == WEIR_OK)
        *phGraphExec = (CUgraphExec)x;
    return err;
}

enum weir_err weir_drv_GraphInstantiateWithParams(CUgraphExec *pGraphExec, CUgraph graph,
                                                  CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams)
{
    CUDA_GRAPH_INSTANTIATE_PARAMS *p = instantiateParams;
    struct weir_node *at = NULL;
    struct weir_stream *s;
    struct weir_graph *g;
    struct weir_exec *x;
    enum weir_err err;

    DRV_REQUIRE(pGraphExec);
    DRV_REQUIRE(p);
    p->hErrNode_out = NULL;
    p->result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
    DRV_TRY(weir_graph_get(graph, &g));
    DRV_TRY(check_flags(p->flags, true));
    err = weir_exec_create(g, (uint32_t)p->flags, &x, &at);
    if (err != WEIR_OK) {
        p->hErrNode_out = (CUgraphNode)at;
        if (err == WEIR_ERR_INVALID_VALUE)
            p->result_out = CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
        if (err == WEIR_ERR_NOT_SUPPORTED)
            p->result_out = CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED;
        return err;
    }
    if (p->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) {
        DRV_TRY(weir_stream_get(p->hUploadStream, &s));
        DRV_TRY(weir_exec_upload(x, s));
    }
    p->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
    *pGraphExec = (CUgraphExec)x;
    return WEIR_OK;
}

enum weir_err weir_drv_GraphExecGetFlags(CUgraphExec graphExec, cuuint64_t *flags)
{
    struct weir_exec *x;

    DRV_REQUIRE(flags);
    DRV_TRY(weir_exec_get(graphExec, &x));
    *flags = weir_exec_flags(x);
    return WEIR_OK;
}

enum weir_err weir_drv_GraphExecUpdate(CUgraphExec hGraphExec, CUgraph hGraph,
                                       CUgraphExecUpdateResultInfo *resultInfo)
{
    enum weir_update_result result;
    struct weir_node *at;
    struct weir_graph *g;
    struct weir_exec *x;
    enum weir_err err;

    DRV_TRY(weir_exec_get(hGraphExec, &x));
    DRV_TRY(weir_graph_get(hGraph, &g));
    err = weir_exec_update(x, g, &result, &at);
    if (resultInfo)
        *resultInfo =
            (CUgraphExecUpdateResultInfo){(CUgraphExecUpdateResult)result, (CUgraphNode)at, NULL};
    return err;
}

enum weir_err weir_drv_GraphExecUpdateV1(CUgraphExec hGraphExec, CUgraph hGraph,
                                         CUgraphNode *hErrorNode_out,
                                         CUgraphExecUpdateResult *updateResult_out)
{
    CUgraphExecUpdateResultInfo info = {CU_GRAPH_EXEC_UPDATE_ERROR, NULL, NULL};
    enum weir_err err = weir_drv_GraphExecUpdate(hGraphExec, hGraph, &info);

    if (hErrorNode_out)
        *hErrorNode_out = info.errorNode;
    if (updateResult_out)
        *updateResult_out = info.result;
    return err;
}

/* ---- user objects ---- */

enum weir_err weir_drv_UserObjectCreate(CUuserObject *object_out, void *ptr, CUhostFn destroy,
                                        unsigned int initialRefcount, unsigned int flags)
{
    struct weir_user_object *o;

    DRV_REQUIRE(object_out);
    DRV_REQUIRE(destroy);
    if (flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC || !initialRefcount ||
        initialRefcount > INT32_MAX)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x, %u references", flags,
                         initialRefcount);
    DRV_TRY(weir_object_create(ptr, destroy, initialRefcount, &o));
    *object_out = (CUuserObject)o;
    return WEIR_OK;
}

enum weir_err weir_drv_GraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count,
                                             unsigned int flags)
{
    struct weir_graph *g;

    DRV_TRY(weir_graph_get(graph, &g));
    if (flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", flags);
    return weir_graph_retain_object(g, object, count, flags == CU_GRAPH_USER_OBJECT_MOVE);
}

/* ---- memory of graphs ---- */

enum weir_err weir_drv_DeviceGraphMemTrim(int device)
{
    DRV_TRY(weir_drv_check_device(device));
    weir_graph_mem_trim(device);
    return WEIR_OK;
}

enum weir_err weir_drv_DeviceGetGraphMemAttribute(int device, CUgraphMem_attribute attr,
                                                  void *value)
{
    struct weir_graph_mem_usage u;
    uint64_t *out = value;

    DRV_REQUIRE(value);
    DRV_TRY(weir_drv_check_device(device));
    weir_graph_mem_usage(device, &u);
    switch (attr) {
    case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
        *out = u.used;
        return WEIR_OK;
    case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
        *out = u.used_high;
        return WEIR_OK;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
        *out = u.reserved;
        return WEIR_OK;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
        *out = u.reserved_high;
        return WEIR_OK;
    default:
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "graph memory attribute %d", (int)attr);
    }
}

enum weir_err weir_drv_DeviceSetGraphMemAttribute(int device, CUgraphMem_attribute attr,
                                                  void *value)
{
    DRV_REQUIRE(value);
    DRV_TRY(weir_drv_check_device(device));
    if ((attr != CU_GRAPH_MEM_ATTR_USED_MEM_HIGH && attr != CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) ||
        *(const uint64_t *)value != 0)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "only high marks are set, to 0");
    weir_graph_mem_reset_high(device, attr == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH,
                              attr == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH);
    return WEIR_OK;
}
