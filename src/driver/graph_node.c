/* Graph management: nodes, and what they do. Each call makes a weir_node_params of the driver's
 * structs; where that goes is the runtime's (runtime/graph_node.h), as are the calls without
 * structs.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/log.h"
#include "core/array.h"
#include "driver/exec.h"
#include "driver/memcpy.h"
#include "driver/memop.h"
#include "memory/memory.h"
#include "runtime/graph_node.h"

/* ---- kernels ---- */

/* The newest form; kern stands in for a func that is NULL. */
static enum weir_err make_kernel(const CUDA_KERNEL_NODE_PARAMS_v2 *p, struct weir_node_params *out)
{
    const void *handle;
    struct weir_function *f;

    DRV_REQUIRE(p);
    handle = p->func ? (const void *)p->func : (const void *)p->kern;
    DRV_TRY(weir_drv_function(handle, &f));
    *out = (struct weir_node_params){
        .kind = WEIR_NODE_KERNEL,
        .kernel = {.function = f,
                   .config = {.grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
                              .block = {p->blockDimX, p->blockDimY, p->blockDimZ},
                              .dynamic_shared_bytes = p->sharedMemBytes}}};
    return weir_rt_node_arguments(p->kernelParams, p->extra, out);
}

/* The older form is the beginning of the newer one. */
static enum weir_err make_kernel_v1(const CUDA_KERNEL_NODE_PARAMS_v1 *p,
                                    struct weir_node_params *out)
{
    CUDA_KERNEL_NODE_PARAMS_v2 wide = {0};

    DRV_REQUIRE(p);
    memcpy(&wide, p, sizeof *p);
    return make_kernel(&wide, out);
}

enum weir_err weir_drv_GraphAddKernelNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                          const CUgraphNode *dependencies, size_t numDependencies,
                                          const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    struct weir_node_params p;

    DRV_TRY(make_kernel(nodeParams, &p));
    return weir_rt_node_add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &p);
}

enum weir_err weir_drv_GraphAddKernelNodeV1(CUgraphNode *phGraphNode, CUgraph hGraph,
                                            const CUgraphNode *dependencies, size_t numDependencies,
                                            const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
    struct weir_node_params p;

    DRV_TRY(make_kernel_v1(nodeParams, &p));
    return weir_rt_node_add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &p);
}

enum weir_err weir_drv_GraphKernelNodeSetParams(CUgraphNode hNode,
                                                const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    struct weir_node_params p;

    DRV_TRY(make_kernel(nodeParams, &p));
    return weir_rt_node_set(hNode, &p);
}

enum weir_err weir_drv_GraphKernelNodeSetParamsV1(CUgraphNode hNode,
                                                  const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
    struct weir_node_params p;

    DRV_TRY(make_kernel_v1(nodeParams, &p));
    return weir_rt_node_set(hNode, &p);
}

enum weir_err weir_drv_GraphExecKernelNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                    const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    struct weir_node_params p;

    DRV_TRY(make_kernel(nodeParams, &p));
    return weir_rt_node_exec_set(hGraphExec, hNode, &p);
}

enum weir_err weir_drv_GraphExecKernelNodeSetParamsV1(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                      const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
    struct weir_node_params p;

    DRV_TRY(make_kernel_v1(nodeParams, &p));
    return weir_rt_node_exec_set(hGraphExec, hNode, &p);
}

enum weir_err weir_drv_GraphKernelNodeGetParams(CUgraphNode hNode,
                                                CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    struct weir_node_params p;
    const struct weir_launch_config *c = &p.kernel.config;

    DRV_REQUIRE(nodeParams);
    DRV_TRY(weir_rt_node_get(hNode, WEIR_NODE_KERNEL, &p));
    *nodeParams = (CUDA_KERNEL_NODE_PARAMS){.func = (CUfunction)p.kernel.function,
                                            .gridDimX = c->grid[0],
                                            .gridDimY = c->grid[1],
                                            .gridDimZ = c->grid[2],
                                            .blockDimX = c->block[0],
                                            .blockDimY = c->block[1],
                                            .blockDimZ = c->block[2],
                                            .sharedMemBytes = (unsigned)c->dynamic_shared_bytes,
                                            .kernelParams = (void **)p.kernel.args};
    return WEIR_OK;
}

enum weir_err weir_drv_GraphKernelNodeGetParamsV1(CUgraphNode hNode,
                                                  CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
    CUDA_KERNEL_NODE_PARAMS_v2 wide;

    DRV_REQUIRE(nodeParams);
    DRV_TRY(weir_drv_GraphKernelNodeGetParams(hNode, &wide));
    memcpy(nodeParams, &wide, sizeof *nodeParams);
    return WEIR_OK;
}

_Static_assert(sizeof(CUkernelNodeAttrValue) == WEIR_ATTR_BYTES, "attributes are kept as bytes");

enum weir_err weir_drv_GraphKernelNodeGetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                                   CUkernelNodeAttrValue *value_out)
{
    return weir_rt_node_attribute_get(hNode, (int)attr, value_out);
}

enum weir_err weir_drv_GraphKernelNodeSetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                                   const CUkernelNodeAttrValue *value)
{
    return weir_rt_node_attribute_set(hNode, (int)attr, value);
}

/* ---- copies ---- */

/* Nodes of copies and memsets name the context that they are of. */
enum weir_err weir_drv_node_add_in(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps,
                                   const struct weir_edge_data *data, size_t count,
                                   CUcontext handle, struct weir_node_params *p)
{
    struct weir_context *ctx;
    struct weir_graph *g;
    struct weir_node *n;

    DRV_REQUIRE(out);
    DRV_TRY(weir_graph_get(graph, &g));
    DRV_TRY(weir_drv_context(handle, &ctx));
    DRV_TRY(weir_graph_add(g, ctx, p, (void *const *)deps, data, count, &n));
    *out = (CUgraphNode)n;
    return WEIR_OK;
}

enum weir_err weir_drv_node_exec_set_in(CUgraphExec exec, CUgraphNode node, CUcontext handle,
                                        const struct weir_node_params *p)
{
    struct weir_context *ctx;
    struct weir_exec *x;
    struct weir_node *n;

    DRV_TRY(weir_exec_get(exec, &x));
    DRV_TRY(weir_node_get(node, &n));
    DRV_TRY(weir_drv_context(handle, &ctx));
    return weir_exec_set(x, n, ctx, p);
}

static enum weir_err make_box(const CUDA_MEMCPY3D *box, struct weir_node_params *out)
{
    DRV_REQUIRE(box);
    out->kind = WEIR_NODE_MEMCPY;
    return weir_drv_make_box(box, &out->copy);
}

enum weir_err weir_drv_GraphAddMemcpyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                          const CUgraphNode *dependencies, size_t numDependencies,
                                          const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
    struct weir_node_params p;

    DRV_TRY(make_box(copyParams, &p));
    return weir_drv_node_add_in(phGraphNode, hGraph, dependencies, NULL, numDependencies, ctx, &p);
}

enum weir_err weir_drv_GraphMemcpyNodeSetParams(CUgraphNode hNode, const CUDA_MEMCPY3D *nodeParams)
{
    struct weir_node_params p;

    DRV_TRY(make_box(nodeParams, &p));
    return weir_rt_node_set(hNode, &p);
}

enum weir_err weir_drv_GraphExecMemcpyNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                    const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
    struct weir_node_params p;

    DRV_TRY(make_box(copyParams, &p));
    return weir_drv_node_exec_set_in(hGraphExec, hNode, ctx, &p);
}

/* Nodes keep addresses: whose memory they are is what the program said of them. */
static CUmemorytype side_of(const void *p)
{
    struct weir_mem_info info;

    if (!weir_mem_find(p, &info) || info.kind == WEIR_MEM_KIND_PINNED ||
        info.kind == WEIR_MEM_KIND_REGISTERED)
        return CU_MEMORYTYPE_HOST;
    return CU_MEMORYTYPE_DEVICE;
}

#define FILL_SIDE(out, c, side)                                                                    \
    do {                                                                                           \
        struct weir_array *array;                                                                  \
        size_t at[3];                                                                              \
                                                                                                   \
        if (weir_array_find((c)->side, &array, at)) {                                              \
            (out)->side##MemoryType = CU_MEMORYTYPE_ARRAY;                                         \
            (out)->side##Array = (CUarray)(void *)array;                                           \
            (out)->side##XInBytes = at[0];                                                         \
            (out)->side##Y = at[1];                                                                \
            (out)->side##Z = at[2];                                                                \
            break;                                                                                 \
        }                                                                                          \
        (out)->side##MemoryType = side_of((c)->side);                                              \
        (out)->side##Pitch = (c)->side##_pitch;                                                    \
        (out)->side##Height =                                                                      \
            (c)->side##_pitch ? (c)->side##_slice / (c)->side##_pitch : (c)->height;               \
        if ((out)->side##MemoryType == CU_MEMORYTYPE_HOST)                                         \
            (out)->side##Host = (c)->side;                                                         \
        else                                                                                       \
            (out)->side##Device = (uintptr_t)(c)->side;                                            \
    } while (0)

enum weir_err weir_drv_GraphMemcpyNodeGetParams(CUgraphNode hNode, CUDA_MEMCPY3D *nodeParams)
{
    struct weir_node_params p;
    const struct weir_copy *c = &p.copy;

    DRV_REQUIRE(nodeParams);
    DRV_TRY(weir_rt_node_get(hNode, WEIR_NODE_MEMCPY, &p));
    *nodeParams = (CUDA_MEMCPY3D){.WidthInBytes = c->width, .Height = c->height, .Depth = c->depth};
    FILL_SIDE(nodeParams, c, src);
    FILL_SIDE(nodeParams, c, dst);
    return WEIR_OK;
}
#undef FILL_SIDE

/* ---- memsets ---- */

static enum weir_err make_fill(const CUDA_MEMSET_NODE_PARAMS *m, struct weir_node_params *out)
{
    DRV_REQUIRE(m);
    return weir_rt_node_memset(weir_drv_pointer(m->dst), m->pitch, m->value, m->elementSize,
                               m->width, m->height, out);
}

enum weir_err weir_drv_GraphAddMemsetNode(CUgraphNode *pGraphNode, CUgraph graph,
                                          const CUgraphNode *pDependencies, size_t numDependencies,
                                          const CUDA_MEMSET_NODE_PARAMS *pMemsetParams,
                                          CUcontext ctx)
{
    struct weir_node_params p;

    DRV_TRY(make_fill(pMemsetParams, &p));
    return weir_drv_node_add_in(pGraphNode, graph, pDependencies, NULL, numDependencies, ctx, &p);
}

enum weir_err weir_drv_GraphMemsetNodeSetParams(CUgraphNode node,
                                                const CUDA_MEMSET_NODE_PARAMS *pNodeParams)
{
    struct weir_node_params p;

    DRV_TRY(make_fill(pNodeParams, &p));
    return weir_rt_node_set(node, &p);
}

enum weir_err weir_drv_GraphExecMemsetNodeSetParams(CUgraphExec hGraphExec, CUgraphNode node,
                                                    const CUDA_MEMSET_NODE_PARAMS *pNodeParams,
                                                    CUcontext ctx)
{
    struct weir_node_params p;

    DRV_TRY(make_fill(pNodeParams, &p));
    return weir_drv_node_exec_set_in(hGraphExec, node, ctx, &p);
}

enum weir_err weir_drv_GraphMemsetNodeGetParams(CUgraphNode node,
                                                CUDA_MEMSET_NODE_PARAMS *pNodeParams)
{
    struct weir_node_params p;

    DRV_REQUIRE(pNodeParams);
    DRV_TRY(weir_rt_node_get(node, WEIR_NODE_MEMSET, &p));
    *pNodeParams = (CUDA_MEMSET_NODE_PARAMS){.dst = (uintptr_t)p.fill.dst,
                                             .pitch = p.fill.pitch,
                                             .value = p.fill.value,
                                             .elementSize = p.fill.element_bytes,
                                             .width = p.fill.width / p.fill.element_bytes,
                                             .height = p.fill.height};
    return WEIR_OK;
}

/* ---- host functions ---- */

static enum weir_err make_host(const CUDA_HOST_NODE_PARAMS *h, struct weir_node_params *out)
{
    DRV_REQUIRE(h);
    *out = (struct weir_node_params){.kind = WEIR_NODE_HOST, .host = {h->fn, h->userData}};
    return WEIR_OK;
}

enum weir_err weir_drv_GraphAddHostNode(CUgraphNode *pGraphNode, CUgraph graph,
                                        const CUgraphNode *pDependencies, size_t numDependencies,
                                        const CUDA_HOST_NODE_PARAMS *pNodeParams)
{
    struct weir_node_params p;

    DRV_TRY(make_host(pNodeParams, &p));
    return weir_rt_node_add(pGraphNode, graph, pDependencies, NULL, numDependencies, &p);
}

enum weir_err weir_drv_GraphHostNodeSetParams(CUgraphNode node,
                                              const CUDA_HOST_NODE_PARAMS *pNodeParams)
{
    struct weir_node_params p;

    DRV_TRY(make_host(pNodeParams, &p));
    return weir_rt_node_set(node, &p);
}

enum weir_err weir_drv_GraphExecHostNodeSetParams(CUgraphExec hGraphExec, CUgraphNode node,
                                                  const CUDA_HOST_NODE_PARAMS *pNodeParams)
{
    struct weir_node_params p;

    DRV_TRY(make_host(pNodeParams, &p));
    return weir_rt_node_exec_set(hGraphExec, node, &p);
}

enum weir_err weir_drv_GraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *pNodeParams)
{
    struct weir_node_params p;

    DRV_REQUIRE(pNodeParams);
    DRV_TRY(weir_rt_node_get(node, WEIR_NODE_HOST, &p));
    *pNodeParams = (CUDA_HOST_NODE_PARAMS){p.host.fn, p.host.user};
    return WEIR_OK;
}

/* ---- memory ---- */

static enum weir_err make_alloc(const CUmemPoolProps *props, size_t bytes,
                                struct weir_node_params *out)
{
    if (props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
        props->location.type != CU_MEM_LOCATION_TYPE_DEVICE || props->location.id < 0 ||
        props->location.id >= weir_core.device_count)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "memory node: type %d, location %d of type %d",
                         (int)props->allocType, props->location.id, (int)props->location.type);
    *out = (struct weir_node_params){.kind = WEIR_NODE_MEM_ALLOC,
                                     .alloc = {.device = props->location.id, .bytes = bytes}};
    return WEIR_OK;
}

enum weir_err weir_drv_GraphAddMemAllocNode(CUgraphNode *pGraphNode, CUgraph graph,
                                            const CUgraphNode *pDependencies,
                                            size_t numDependencies,
                                            CUDA_MEM_ALLOC_NODE_PARAMS *nodeParams)
{
    struct weir_node_params p;

    DRV_REQUIRE(nodeParams);
    DRV_TRY(make_alloc(&nodeParams->poolProps, nodeParams->bytesize, &p));
    DRV_TRY(weir_rt_node_add(pGraphNode, graph, pDependencies, NULL, numDependencies, &p));
    nodeParams->dptr = (uintptr_t)p.alloc.ptr;
    return WEIR_OK;
}

enum weir_err weir_drv_GraphMemAllocNodeGetParams(CUgraphNode node,
                                                  CUDA_MEM_ALLOC_NODE_PARAMS *params_out)
{
    struct weir_node_params p;

    DRV_REQUIRE(params_out);
    DRV_TRY(weir_rt_node_get(node, WEIR_NODE_MEM_ALLOC, &p));
    memset(params_out, 0, sizeof *params_out);
    params_out->poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    params_out->poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    params_out->poolProps.location.id = p.alloc.device;
    params_out->bytesize = p.alloc.bytes;
    params_out->dptr = (uintptr_t)p.alloc.ptr;
    return WEIR_OK;
}

enum weir_err weir_drv_GraphAddMemFreeNode(CUgraphNode *pGraphNode, CUgraph graph,
                                           const CUgraphNode *pDependencies, size_t numDependencies,
                                           CUdeviceptr dptr)
{
    struct weir_node_params p = {.kind = WEIR_NODE_MEM_FREE, .free = weir_drv_pointer(dptr)};

    return weir_rt_node_add(pGraphNode, graph, pDependencies, NULL, numDependencies, &p);
}

enum weir_err weir_drv_GraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *dptr_out)
{
    struct weir_node_params p;

    DRV_REQUIRE(dptr_out);
    DRV_TRY(weir_rt_node_get(node, WEIR_NODE_MEM_FREE, &p));
    *dptr_out = (uintptr_t)p.free;
    return WEIR_OK;
}

/* ---- conditional nodes ---- */

enum weir_err weir_drv_GraphConditionalHandleCreate(CUgraphConditionalHandle *pHandle_out,
                                                    CUgraph hGraph, CUcontext ctx,
                                                    unsigned int defaultLaunchValue,
                                                    unsigned int flags)
{
    struct weir_context *c;
    struct weir_graph *g;
    uint64_t handle;

    DRV_REQUIRE(pHandle_out);
    DRV_TRY(weir_graph_get(hGraph, &g));
    if (flags & ~(unsigned)CU_GRAPH_COND_ASSIGN_DEFAULT)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", flags);
    DRV_TRY(weir_drv_context(ctx, &c));
    DRV_TRY(weir_conditional_create(g, c, defaultLaunchValue, flags == CU_GRAPH_COND_ASSIGN_DEFAULT,
                                    &handle));
    *pHandle_out = handle;
    return WEIR_OK;
}

/* ---- nodes of any kind ---- */

/* room: for memory operations. */
static enum weir_err make_any(CUgraphNodeParams *np, struct weir_memop *room,
                              struct weir_node_params *out)
{
    memset(out, 0, sizeof *out);
    switch (np->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return make_kernel((const CUDA_KERNEL_NODE_PARAMS_v2 *)&np->kernel, out); /* one form */
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return make_box(&np->memcpy.copyParams, out);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return weir_rt_node_memset(weir_drv_pointer(np->memset.dst), np->memset.pitch,
                                   np->memset.value, np->memset.elementSize, np->memset.width,
                                   np->memset.height, out);
    case CU_GRAPH_NODE_TYPE_HOST:
        *out = (struct weir_node_params){.kind = WEIR_NODE_HOST,
                                         .host = {np->host.fn, np->host.userData}};
        return WEIR_OK;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return weir_rt_node_child(np->graph.graph,
                                  np->graph.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE, out);
    case CU_GRAPH_NODE_TYPE_EMPTY:
        out->kind = WEIR_NODE_EMPTY;
        return WEIR_OK;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return weir_rt_node_event(WEIR_NODE_EVENT_WAIT, np->eventWait.event, out);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return weir_rt_node_event(WEIR_NODE_EVENT_RECORD, np->eventRecord.event, out);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        return make_alloc(&np->alloc.poolProps, np->alloc.bytesize, out);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        *out = (struct weir_node_params){.kind = WEIR_NODE_MEM_FREE,
                                         .free = weir_drv_pointer(np->free.dptr)};
        return WEIR_OK;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        *out = (struct weir_node_params){
            .kind = WEIR_NODE_CONDITIONAL,
            .conditional = {.handle = np->conditional.handle,
                            .kind = (enum weir_conditional_kind)np->conditional.type,
                            .size = np->conditional.size}};
        return WEIR_OK;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        return weir_drv_make_memops(&np->memOp, room, out);
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
        weir_log_unsupported("graph nodes of external semaphores", "cuGraphAddNode");
        return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "external semaphores");
    default:
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "graph node of type %d", (int)np->type);
    }
}

enum weir_err weir_drv_GraphAddNode(CUgraphNode *pGraphNode, CUgraph graph,
                                    const CUgraphNode *pDependencies,
                                    const CUgraphEdgeData *dependencyData, size_t numDependencies,
                                    CUgraphNodeParams *nodeParams)
{
    struct weir_memop room[WEIR_MEMOP_BATCH_MAX];
    struct weir_node_params p;

    DRV_REQUIRE(nodeParams);
    DRV_TRY(make_any(nodeParams, room, &p));
    if (p.kind == WEIR_NODE_BATCH_MEM_OP)
        return weir_drv_node_add_in(pGraphNode, graph, pDependencies,
                                    (const struct weir_edge_data *)dependencyData, numDependencies,
                                    nodeParams->memOp.ctx, &p);
    DRV_TRY(weir_rt_node_add(pGraphNode, graph, pDependencies,
                             (const struct weir_edge_data *)dependencyData, numDependencies, &p));
    if (p.kind == WEIR_NODE_MEM_ALLOC)
        nodeParams->alloc.dptr = (uintptr_t)p.alloc.ptr;
    if (p.kind == WEIR_NODE_CONDITIONAL)
        nodeParams->conditional.phGraph_out = (CUgraph *)p.conditional.bodies;
    return WEIR_OK;
}

enum weir_err weir_drv_GraphAddNodeV1(CUgraphNode *phGraphNode, CUgraph hGraph,
                                      const CUgraphNode *dependencies, size_t numDependencies,
                                      CUgraphNodeParams *nodeParams)
{
    return weir_drv_GraphAddNode(phGraphNode, hGraph, dependencies, NULL, numDependencies,
                                 nodeParams);
}

enum weir_err weir_drv_GraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *nodeParams)
{
    struct weir_memop room[WEIR_MEMOP_BATCH_MAX];
    struct weir_node_params p;

    DRV_REQUIRE(nodeParams);
    DRV_TRY(make_any(nodeParams, room, &p));
    return weir_rt_node_set(node, &p);
}

enum weir_err weir_drv_GraphExecNodeSetParams(CUgraphExec graphExec, CUgraphNode node,
                                              CUgraphNodeParams *nodeParams)
{
    struct weir_memop room[WEIR_MEMOP_BATCH_MAX];
    struct weir_node_params p;

    DRV_REQUIRE(nodeParams);
    DRV_TRY(make_any(nodeParams, room, &p));
    if (p.kind == WEIR_NODE_BATCH_MEM_OP)
        return weir_drv_node_exec_set_in(graphExec, node, nodeParams->memOp.ctx, &p);
    return weir_rt_node_exec_set(graphExec, node, &p);
}
