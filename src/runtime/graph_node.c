/* Graph management: nodes, and what they do. Each call becomes a weir_node_params; adding, setting
 * and setting in an instance differ only in where that goes.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/log.h"
#include "core/array.h"
#include "runtime/copies.h"
#include "runtime/graph_node.h"

#define GREATEST_PRIORITY (-5)

/* ---- where it goes ---- */

enum weir_err weir_rt_node_add(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *deps,
                               const struct weir_edge_data *data, size_t count,
                               struct weir_node_params *p)
{
    struct weir_context *ctx;
    struct weir_graph *g;
    struct weir_node *n;

    RT_REQUIRE(out);
    RT_TRY(weir_graph_get(graph, &g));
    RT_TRY(weir_context_current(&ctx));
    RT_TRY(weir_graph_add(g, ctx, p, (void *const *)deps, data, count, &n));
    *out = (cudaGraphNode_t)n;
    return WEIR_OK;
}

enum weir_err weir_rt_node_set(cudaGraphNode_t node, const struct weir_node_params *p)
{
    struct weir_context *ctx;
    struct weir_node *n;

    RT_TRY(weir_node_get(node, &n));
    RT_TRY(weir_context_current(&ctx));
    return weir_node_set(n, ctx, p);
}

enum weir_err weir_rt_node_exec_set(cudaGraphExec_t exec, cudaGraphNode_t node,
                                    const struct weir_node_params *p)
{
    struct weir_context *ctx;
    struct weir_exec *x;
    struct weir_node *n;

    RT_TRY(weir_exec_get(exec, &x));
    RT_TRY(weir_node_get(node, &n));
    RT_TRY(weir_context_current(&ctx));
    return weir_exec_set(x, n, ctx, p);
}

enum weir_err weir_rt_node_get(cudaGraphNode_t node, enum weir_node_kind kind,
                               struct weir_node_params *p)
{
    struct weir_node *n;

    RT_TRY(weir_node_get(node, &n));
    return weir_node_params(n, kind, p);
}

/* ---- kernels ---- */

/* CU_LAUNCH_PARAM_*: the form of `extra`. */
#define EXTRA_END    ((void *)0)
#define EXTRA_BUFFER ((void *)1)
#define EXTRA_SIZE   ((void *)2)

enum weir_err weir_rt_node_arguments(void **params, void **extra, struct weir_node_params *out)
{
    if (params && extra)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "kernelParams and extra");
    out->kernel.args = params;
    for (void **e = extra; e && e[0] != EXTRA_END; e += 2) {
        if (e[0] == EXTRA_BUFFER)
            out->kernel.packed = e[1];
        else if (e[0] == EXTRA_SIZE && e[1])
            out->kernel.packed_bytes = *(const size_t *)e[1];
        else
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "a word of `extra` that means nothing");
    }
    return WEIR_OK;
}

static enum weir_err make_kernel(const struct cudaKernelNodeParams *p, struct weir_node_params *out)
{
    struct weir_function *f;

    RT_REQUIRE(p);
    RT_TRY(weir_function_find(p->func, &f));
    *out = (struct weir_node_params){
        .kind = WEIR_NODE_KERNEL,
        .kernel = {.function = f,
                   .config = {.grid = {p->gridDim.x, p->gridDim.y, p->gridDim.z},
                              .block = {p->blockDim.x, p->blockDim.y, p->blockDim.z},
                              .dynamic_shared_bytes = p->sharedMemBytes}}};
    return weir_rt_node_arguments(p->kernelParams, p->extra, out);
}

enum weir_err weir_rt_GraphAddKernelNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                         const cudaGraphNode_t *pDependencies,
                                         size_t numDependencies,
                                         const struct cudaKernelNodeParams *pNodeParams)
{
    struct weir_node_params p;

    RT_TRY(make_kernel(pNodeParams, &p));
    return weir_rt_node_add(pGraphNode, graph, pDependencies, NULL, numDependencies, &p);
}

enum weir_err weir_rt_GraphKernelNodeSetParams(cudaGraphNode_t node,
                                               const struct cudaKernelNodeParams *pNodeParams)
{
    struct weir_node_params p;

    RT_TRY(make_kernel(pNodeParams, &p));
    return weir_rt_node_set(node, &p);
}

enum weir_err weir_rt_GraphExecKernelNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                                   const struct cudaKernelNodeParams *pNodeParams)
{
    struct weir_node_params p;

    RT_TRY(make_kernel(pNodeParams, &p));
    return weir_rt_node_exec_set(hGraphExec, node, &p);
}

enum weir_err weir_rt_GraphKernelNodeGetParams(cudaGraphNode_t node,
                                               struct cudaKernelNodeParams *pNodeParams)
{
    struct weir_node_params p;
    const struct weir_launch_config *c = &p.kernel.config;

    RT_REQUIRE(pNodeParams);
    RT_TRY(weir_rt_node_get(node, WEIR_NODE_KERNEL, &p));
    *pNodeParams = (struct cudaKernelNodeParams){
        .func = p.kernel.function->stub ? (void *)p.kernel.function->stub : p.kernel.function,
        .gridDim = {c->grid[0], c->grid[1], c->grid[2]},
        .blockDim = {c->block[0], c->block[1], c->block[2]},
        .sharedMemBytes = (unsigned)c->dynamic_shared_bytes,
        .kernelParams = (void **)p.kernel.args};
    return WEIR_OK;
}

_Static_assert(sizeof(cudaLaunchAttributeValue) == WEIR_ATTR_BYTES, "attributes are kept as bytes");

static enum weir_err kernel_node(cudaGraphNode_t node, struct weir_node **n)
{
    RT_TRY(weir_node_get(node, n));
    return weir_node_kind(*n) == WEIR_NODE_KERNEL
               ? WEIR_OK
               : WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "not a kernel node");
}

/* What a kernel node has attributes of; programmatic order is its edges' (oracle pdl_capture). */
static bool is_node_attribute(int attr)
{
    switch (attr) {
    case cudaLaunchAttributeAccessPolicyWindow:
    case cudaLaunchAttributeCooperative:
    case cudaLaunchAttributePriority:
    case cudaLaunchAttributeClusterDimension:
    case cudaLaunchAttributeClusterSchedulingPolicyPreference:
    case cudaLaunchAttributeMemSyncDomain:
    case cudaLaunchAttributeMemSyncDomainMap:
    case cudaLaunchAttributePreferredSharedMemoryCarveout:
        return true;
    default:
        return false;
    }
}

enum weir_err weir_rt_node_attribute_get(cudaGraphNode_t node, int attr, void *value_out)
{
    cudaLaunchAttributeValue value = {0};
    struct weir_node_params p;
    struct weir_node_attr a;
    struct weir_node *n;

    RT_REQUIRE(value_out);
    RT_TRY(kernel_node(node, &n));
    if (!is_node_attribute(attr))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "kernel node attribute %d", attr);
    if (attr == cudaLaunchAttributePriority) {
        value.priority = weir_node_priority(n);
    } else if (attr == cudaLaunchAttributeCooperative) {
        RT_TRY(weir_node_params(n, WEIR_NODE_KERNEL, &p));
        value.cooperative = p.kernel.config.cooperative;
    } else if (weir_node_attr_get(n, attr, &a)) {
        memcpy(&value, a.value, sizeof value);
    }
    memcpy(value_out, &value, sizeof value);
    return WEIR_OK;
}

enum weir_err weir_rt_node_attribute_set(cudaGraphNode_t node, int attr, const void *value_in)
{
    struct weir_node_attr a = {.id = attr};
    cudaLaunchAttributeValue value;
    struct weir_node *n;

    RT_REQUIRE(value_in);
    RT_TRY(kernel_node(node, &n));
    if (!is_node_attribute(attr))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "kernel node attribute %d", attr);
    memcpy(&value, value_in, sizeof value);
    if (attr == cudaLaunchAttributePriority) {
        weir_node_set_priority(n, WEIR_MAX(WEIR_MIN(value.priority, 0), GREATEST_PRIORITY));
        return WEIR_OK;
    }
    if (attr == cudaLaunchAttributeCooperative) {
        weir_node_set_cooperative(n, value.cooperative != 0);
        return WEIR_OK;
    }
    if (attr == cudaLaunchAttributeClusterDimension &&
        value.clusterDim.x * value.clusterDim.y * value.clusterDim.z > 1)
        return WEIR_FAIL(WEIR_ERR_INVALID_CLUSTER_SIZE, "clusters of blocks");
    memcpy(a.value, &value, sizeof value);
    return weir_node_attr_set(n, &a);
}

enum weir_err weir_rt_GraphKernelNodeGetAttribute(cudaGraphNode_t hNode, cudaLaunchAttributeID attr,
                                                  cudaLaunchAttributeValue *value_out)
{
    return weir_rt_node_attribute_get(hNode, (int)attr, value_out);
}

enum weir_err weir_rt_GraphKernelNodeSetAttribute(cudaGraphNode_t hNode, cudaLaunchAttributeID attr,
                                                  const cudaLaunchAttributeValue *value)
{
    return weir_rt_node_attribute_set(hNode, (int)attr, value);
}

enum weir_err weir_rt_GraphKernelNodeCopyAttributes(cudaGraphNode_t hDst, cudaGraphNode_t hSrc)
{
    struct weir_node *to, *from;

    RT_TRY(weir_node_get(hDst, &to));
    RT_TRY(weir_node_get(hSrc, &from));
    return weir_node_attrs_copy(to, from);
}

/* ---- copies ---- */

static enum weir_err make_box(const struct cudaMemcpy3DParms *box, struct weir_node_params *out)
{
    RT_REQUIRE(box);
    out->kind = WEIR_NODE_MEMCPY;
    return weir_rt_make_box(box, &out->copy);
}

enum weir_err weir_rt_GraphAddMemcpyNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                         const cudaGraphNode_t *pDependencies,
                                         size_t numDependencies,
                                         const struct cudaMemcpy3DParms *pCopyParams)
{
    struct weir_node_params p;

    RT_TRY(make_box(pCopyParams, &p));
    return weir_rt_node_add(pGraphNode, graph, pDependencies, NULL, numDependencies, &p);
}

enum weir_err weir_rt_GraphMemcpyNodeSetParams(cudaGraphNode_t node,
                                               const struct cudaMemcpy3DParms *pNodeParams)
{
    struct weir_node_params p;

    RT_TRY(make_box(pNodeParams, &p));
    return weir_rt_node_set(node, &p);
}

enum weir_err weir_rt_GraphExecMemcpyNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                                   const struct cudaMemcpy3DParms *pNodeParams)
{
    struct weir_node_params p;

    RT_TRY(make_box(pNodeParams, &p));
    return weir_rt_node_exec_set(hGraphExec, node, &p);
}

/* One end of a copy: an array and a place in it, whose elements the extent counts then, or memory.
 */
static void fill_end(const void *p, size_t pitch, size_t slice, cudaArray_t *array,
                     struct cudaPos *pos, struct cudaPitchedPtr *ptr, struct cudaExtent *extent,
                     size_t width)
{
    struct weir_array *a;
    size_t at[3];

    if (weir_array_find(p, &a, at)) {
        *array = (cudaArray_t)(void *)a;
        *pos = (struct cudaPos){at[0] / a->element_bytes, at[1], at[2]};
        extent->width = width / a->element_bytes;
    } else {
        *ptr = (struct cudaPitchedPtr){(void *)(uintptr_t)p, pitch, width,
                                       pitch ? slice / pitch : extent->height};
    }
}

static void fill_box(const struct weir_copy *c, struct cudaMemcpy3DParms *out)
{
    *out = (struct cudaMemcpy3DParms){.extent = {c->width, c->height, c->depth},
                                      .kind = (enum cudaMemcpyKind)c->kind};
    fill_end(c->src, c->src_pitch, c->src_slice, &out->srcArray, &out->srcPos, &out->srcPtr,
             &out->extent, c->width);
    fill_end(c->dst, c->dst_pitch, c->dst_slice, &out->dstArray, &out->dstPos, &out->dstPtr,
             &out->extent, c->width);
}

enum weir_err weir_rt_GraphMemcpyNodeGetParams(cudaGraphNode_t node,
                                               struct cudaMemcpy3DParms *pNodeParams)
{
    struct weir_node_params p;

    RT_REQUIRE(pNodeParams);
    RT_TRY(weir_rt_node_get(node, WEIR_NODE_MEMCPY, &p));
    fill_box(&p.copy, pNodeParams);
    return WEIR_OK;
}

static enum weir_err make_linear(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
                                 struct weir_node_params *out)
{
    out->kind = WEIR_NODE_MEMCPY;
    return weir_rt_make_linear(dst, src, count, kind, &out->copy);
}

enum weir_err weir_rt_GraphAddMemcpyNode1D(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                           const cudaGraphNode_t *pDependencies,
                                           size_t numDependencies, void *dst, const void *src,
                                           size_t count, enum cudaMemcpyKind kind)
{
    struct weir_node_params p;

    RT_TRY(make_linear(dst, src, count, kind, &p));
    return weir_rt_node_add(pGraphNode, graph, pDependencies, NULL, numDependencies, &p);
}

enum weir_err weir_rt_GraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *dst, const void *src,
                                                 size_t count, enum cudaMemcpyKind kind)
{
    struct weir_node_params p;

    RT_TRY(make_linear(dst, src, count, kind, &p));
    return weir_rt_node_set(node, &p);
}

enum weir_err weir_rt_GraphExecMemcpyNodeSetParams1D(cudaGraphExec_t hGraphExec,
                                                     cudaGraphNode_t node, void *dst,
                                                     const void *src, size_t count,
                                                     enum cudaMemcpyKind kind)
{
    struct weir_node_params p;

    RT_TRY(make_linear(dst, src, count, kind, &p));
    return weir_rt_node_exec_set(hGraphExec, node, &p);
}

static enum weir_err make_to_symbol(const void *symbol, const void *src, size_t count,
                                    size_t offset, enum cudaMemcpyKind kind,
                                    struct weir_node_params *out)
{
    out->kind = WEIR_NODE_MEMCPY;
    return weir_rt_make_to_symbol(symbol, src, count, offset, kind, &out->copy);
}

static enum weir_err make_from_symbol(void *dst, const void *symbol, size_t count, size_t offset,
                                      enum cudaMemcpyKind kind, struct weir_node_params *out)
{
    out->kind = WEIR_NODE_MEMCPY;
    return weir_rt_make_from_symbol(dst, symbol, count, offset, kind, &out->copy);
}

enum weir_err weir_rt_GraphAddMemcpyNodeToSymbol(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                                 const cudaGraphNode_t *pDependencies,
                                                 size_t numDependencies, const void *symbol,
                                                 const void *src, size_t count, size_t offset,
                                                 enum cudaMemcpyKind kind)
{
    struct weir_node_params p;

    RT_TRY(make_to_symbol(symbol, src, count, offset, kind, &p));
    return weir_rt_node_add(pGraphNode, graph, pDependencies, NULL, numDependencies, &p);
}

enum weir_err weir_rt_GraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void *symbol,
                                                       const void *src, size_t count, size_t offset,
                                                       enum cudaMemcpyKind kind)
{
    struct weir_node_params p;

    RT_TRY(make_to_symbol(symbol, src, count, offset, kind, &p));
    return weir_rt_node_set(node, &p);
}

enum weir_err weir_rt_GraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t hGraphExec,
                                                           cudaGraphNode_t node, const void *symbol,
                                                           const void *src, size_t count,
                                                           size_t offset, enum cudaMemcpyKind kind)
{
    struct weir_node_params p;

    RT_TRY(make_to_symbol(symbol, src, count, offset, kind, &p));
    return weir_rt_node_exec_set(hGraphExec, node, &p);
}

enum weir_err weir_rt_GraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                                   const cudaGraphNode_t *pDependencies,
                                                   size_t numDependencies, void *dst,
                                                   const void *symbol, size_t count, size_t offset,
                                                   enum cudaMemcpyKind kind)
{
    struct weir_node_params p;

    RT_TRY(make_from_symbol(dst, symbol, count, offset, kind, &p));
    return weir_rt_node_add(pGraphNode, graph, pDependencies, NULL, numDependencies, &p);
}

enum weir_err weir_rt_GraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *dst,
                                                         const void *symbol, size_t count,
                                                         size_t offset, enum cudaMemcpyKind kind)
{
    struct weir_node_params p;

    RT_TRY(make_from_symbol(dst, symbol, count, offset, kind, &p));
    return weir_rt_node_set(node, &p);
}

enum weir_err weir_rt_GraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t hGraphExec,
                                                             cudaGraphNode_t node, void *dst,
                                                             const void *symbol, size_t count,
                                                             size_t offset,
                                                             enum cudaMemcpyKind kind)
{
    struct weir_node_params p;

    RT_TRY(make_from_symbol(dst, symbol, count, offset, kind, &p));
    return weir_rt_node_exec_set(hGraphExec, node, &p);
}

/* ---- memsets ---- */

enum weir_err weir_rt_node_memset(void *dst, size_t pitch, unsigned value, unsigned element,
                                  size_t width, size_t height, struct weir_node_params *out)
{
    if (element != 1 && element != 2 && element != 4)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "memset of elements of %u bytes", element);
    if (height > 1 && pitch < width * element)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "pitch %zu of rows of %zu elements", pitch, width);
    *out =
        (struct weir_node_params){.kind = WEIR_NODE_MEMSET,
                                  .fill = {.dst = dst,
                                           .value = value,
                                           .element_bytes = (uint8_t)element,
                                           .width = width * element,
                                           .height = height,
                                           .depth = 1,
                                           .pitch = height > 1 ? pitch : width * element,
                                           .slice = height > 1 ? pitch * height : width * element,
                                           .async = true}};
    return WEIR_OK;
}

static enum weir_err make_fill(const struct cudaMemsetParams *m, struct weir_node_params *out)
{
    RT_REQUIRE(m);
    return weir_rt_node_memset(m->dst, m->pitch, m->value, m->elementSize, m->width, m->height,
                               out);
}

enum weir_err weir_rt_GraphAddMemsetNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                         const cudaGraphNode_t *pDependencies,
                                         size_t numDependencies,
                                         const struct cudaMemsetParams *pMemsetParams)
{
    struct weir_node_params p;

    RT_TRY(make_fill(pMemsetParams, &p));
    return weir_rt_node_add(pGraphNode, graph, pDependencies, NULL, numDependencies, &p);
}

enum weir_err weir_rt_GraphMemsetNodeSetParams(cudaGraphNode_t node,
                                               const struct cudaMemsetParams *pNodeParams)
{
    struct weir_node_params p;

    RT_TRY(make_fill(pNodeParams, &p));
    return weir_rt_node_set(node, &p);
}

enum weir_err weir_rt_GraphExecMemsetNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                                   const struct cudaMemsetParams *pNodeParams)
{
    struct weir_node_params p;

    RT_TRY(make_fill(pNodeParams, &p));
    return weir_rt_node_exec_set(hGraphExec, node, &p);
}

enum weir_err weir_rt_GraphMemsetNodeGetParams(cudaGraphNode_t node,
                                               struct cudaMemsetParams *pNodeParams)
{
    struct weir_node_params p;

    RT_REQUIRE(pNodeParams);
    RT_TRY(weir_rt_node_get(node, WEIR_NODE_MEMSET, &p));
    *pNodeParams = (struct cudaMemsetParams){.dst = p.fill.dst,
                                             .pitch = p.fill.pitch,
                                             .value = p.fill.value,
                                             .elementSize = p.fill.element_bytes,
                                             .width = p.fill.width / p.fill.element_bytes,
                                             .height = p.fill.height};
    return WEIR_OK;
}

/* ---- host functions ---- */

static enum weir_err make_host(const struct cudaHostNodeParams *h, struct weir_node_params *out)
{
    RT_REQUIRE(h);
    *out = (struct weir_node_params){.kind = WEIR_NODE_HOST, .host = {h->fn, h->userData}};
    return WEIR_OK;
}

enum weir_err weir_rt_GraphAddHostNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                       const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                       const struct cudaHostNodeParams *pNodeParams)
{
    struct weir_node_params p;

    RT_TRY(make_host(pNodeParams, &p));
    return weir_rt_node_add(pGraphNode, graph, pDependencies, NULL, numDependencies, &p);
}

enum weir_err weir_rt_GraphHostNodeSetParams(cudaGraphNode_t node,
                                             const struct cudaHostNodeParams *pNodeParams)
{
    struct weir_node_params p;

    RT_TRY(make_host(pNodeParams, &p));
    return weir_rt_node_set(node, &p);
}

enum weir_err weir_rt_GraphExecHostNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                                 const struct cudaHostNodeParams *pNodeParams)
{
    struct weir_node_params p;

    RT_TRY(make_host(pNodeParams, &p));
    return weir_rt_node_exec_set(hGraphExec, node, &p);
}

enum weir_err weir_rt_GraphHostNodeGetParams(cudaGraphNode_t node,
                                             struct cudaHostNodeParams *pNodeParams)
{
    struct weir_node_params p;

    RT_REQUIRE(pNodeParams);
    RT_TRY(weir_rt_node_get(node, WEIR_NODE_HOST, &p));
    *pNodeParams = (struct cudaHostNodeParams){p.host.fn, p.host.user};
    return WEIR_OK;
}

/* ---- child graphs, empty nodes ---- */

enum weir_err weir_rt_node_child(cudaGraph_t graph, bool move, struct weir_node_params *out)
{
    *out = (struct weir_node_params){.kind = WEIR_NODE_GRAPH, .child = {.move = move}};
    return weir_graph_get(graph, &out->child.graph);
}

enum weir_err weir_rt_GraphAddChildGraphNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                             const cudaGraphNode_t *pDependencies,
                                             size_t numDependencies, cudaGraph_t childGraph)
{
    struct weir_node_params p;

    RT_TRY(weir_rt_node_child(childGraph, false, &p));
    return weir_rt_node_add(pGraphNode, graph, pDependencies, NULL, numDependencies, &p);
}

enum weir_err weir_rt_GraphExecChildGraphNodeSetParams(cudaGraphExec_t hGraphExec,
                                                       cudaGraphNode_t node, cudaGraph_t childGraph)
{
    struct weir_node_params p;

    RT_TRY(weir_rt_node_child(childGraph, false, &p));
    return weir_rt_node_exec_set(hGraphExec, node, &p);
}

enum weir_err weir_rt_GraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *pGraph)
{
    struct weir_node_params p;

    RT_REQUIRE(pGraph);
    RT_TRY(weir_rt_node_get(node, WEIR_NODE_GRAPH, &p));
    *pGraph = (cudaGraph_t)p.child.graph;
    return WEIR_OK;
}

enum weir_err weir_rt_GraphAddEmptyNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                        const cudaGraphNode_t *pDependencies,
                                        size_t numDependencies)
{
    struct weir_node_params p = {.kind = WEIR_NODE_EMPTY};

    return weir_rt_node_add(pGraphNode, graph, pDependencies, NULL, numDependencies, &p);
}

/* ---- events ---- */

enum weir_err weir_rt_node_event(enum weir_node_kind kind, cudaEvent_t event,
                                 struct weir_node_params *out)
{
    RT_REQUIRE(event);
    out->kind = kind;
    return weir_event_get(event, &out->event);
}

#define EVENT_CALLS(NAME, KIND)                                                                    \
    enum weir_err weir_rt_GraphAddEvent##NAME##Node(                                               \
        cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,      \
        size_t numDependencies, cudaEvent_t event)                                                 \
    {                                                                                              \
        struct weir_node_params p;                                                                 \
                                                                                                   \
        RT_TRY(weir_rt_node_event(KIND, event, &p));                                               \
        return weir_rt_node_add(pGraphNode, graph, pDependencies, NULL, numDependencies, &p);      \
    }                                                                                              \
    enum weir_err weir_rt_GraphEvent##NAME##NodeSetEvent(cudaGraphNode_t node, cudaEvent_t event)  \
    {                                                                                              \
        struct weir_node_params p;                                                                 \
                                                                                                   \
        RT_TRY(weir_rt_node_event(KIND, event, &p));                                               \
        return weir_rt_node_set(node, &p);                                                         \
    }                                                                                              \
    enum weir_err weir_rt_GraphExecEvent##NAME##NodeSetEvent(                                      \
        cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, cudaEvent_t event)                      \
    {                                                                                              \
        struct weir_node_params p;                                                                 \
                                                                                                   \
        RT_TRY(weir_rt_node_event(KIND, event, &p));                                               \
        return weir_rt_node_exec_set(hGraphExec, hNode, &p);                                       \
    }                                                                                              \
    enum weir_err weir_rt_GraphEvent##NAME##NodeGetEvent(cudaGraphNode_t node,                     \
                                                         cudaEvent_t *event_out)                   \
    {                                                                                              \
        struct weir_node_params p;                                                                 \
                                                                                                   \
        RT_REQUIRE(event_out);                                                                     \
        RT_TRY(weir_rt_node_get(node, KIND, &p));                                                  \
        *event_out = (cudaEvent_t)p.event;                                                         \
        return WEIR_OK;                                                                            \
    }

EVENT_CALLS(Record, WEIR_NODE_EVENT_RECORD)
EVENT_CALLS(Wait, WEIR_NODE_EVENT_WAIT)

/* ---- memory ---- */

static enum weir_err make_alloc(const struct cudaMemPoolProps *props, size_t bytes,
                                struct weir_node_params *out)
{
    if (props->allocType != cudaMemAllocationTypePinned ||
        props->location.type != cudaMemLocationTypeDevice || props->location.id < 0 ||
        props->location.id >= weir_core.device_count)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "memory node: type %d, location %d of type %d",
                         (int)props->allocType, props->location.id, (int)props->location.type);
    *out = (struct weir_node_params){.kind = WEIR_NODE_MEM_ALLOC,
                                     .alloc = {.device = props->location.id, .bytes = bytes}};
    return WEIR_OK;
}

enum weir_err weir_rt_GraphAddMemAllocNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                           const cudaGraphNode_t *pDependencies,
                                           size_t numDependencies,
                                           struct cudaMemAllocNodeParams *nodeParams)
{
    struct weir_node_params p;

    RT_REQUIRE(nodeParams);
    RT_TRY(make_alloc(&nodeParams->poolProps, nodeParams->bytesize, &p));
    RT_TRY(weir_rt_node_add(pGraphNode, graph, pDependencies, NULL, numDependencies, &p));
    nodeParams->dptr = p.alloc.ptr;
    return WEIR_OK;
}

enum weir_err weir_rt_GraphMemAllocNodeGetParams(cudaGraphNode_t node,
                                                 struct cudaMemAllocNodeParams *params_out)
{
    struct weir_node_params p;

    RT_REQUIRE(params_out);
    RT_TRY(weir_rt_node_get(node, WEIR_NODE_MEM_ALLOC, &p));
    memset(params_out, 0, sizeof *params_out);
    params_out->poolProps.allocType = cudaMemAllocationTypePinned;
    params_out->poolProps.location.type = cudaMemLocationTypeDevice;
    params_out->poolProps.location.id = p.alloc.device;
    params_out->bytesize = p.alloc.bytes;
    params_out->dptr = p.alloc.ptr;
    return WEIR_OK;
}

enum weir_err weir_rt_GraphAddMemFreeNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                          const cudaGraphNode_t *pDependencies,
                                          size_t numDependencies, void *dptr)
{
    struct weir_node_params p = {.kind = WEIR_NODE_MEM_FREE, .free = dptr};

    return weir_rt_node_add(pGraphNode, graph, pDependencies, NULL, numDependencies, &p);
}

enum weir_err weir_rt_GraphMemFreeNodeGetParams(cudaGraphNode_t node, void *dptr_out)
{
    struct weir_node_params p;

    RT_REQUIRE(dptr_out);
    RT_TRY(weir_rt_node_get(node, WEIR_NODE_MEM_FREE, &p));
    *(void **)dptr_out = p.free;
    return WEIR_OK;
}

/* ---- conditional nodes ---- */

enum weir_err weir_rt_GraphConditionalHandleCreate(cudaGraphConditionalHandle *pHandle_out,
                                                   cudaGraph_t graph,
                                                   unsigned int defaultLaunchValue,
                                                   unsigned int flags)
{
    struct weir_context *ctx;
    struct weir_graph *g;
    uint64_t handle;

    RT_REQUIRE(pHandle_out);
    RT_TRY(weir_graph_get(graph, &g));
    if (flags & ~(unsigned)cudaGraphCondAssignDefault)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", flags);
    RT_TRY(weir_context_current(&ctx));
    RT_TRY(weir_conditional_create(g, ctx, defaultLaunchValue, flags == cudaGraphCondAssignDefault,
                                   &handle));
    *pHandle_out = handle;
    return WEIR_OK;
}

/* ---- nodes of any kind ---- */

static enum weir_err make_any_kernel(const struct cudaGraphNodeParams *np,
                                     struct weir_node_params *out)
{
    const struct cudaKernelNodeParamsV2 *k = &np->kernel;
    struct cudaKernelNodeParams old = {k->func,           k->gridDim,      k->blockDim,
                                       k->sharedMemBytes, k->kernelParams, k->extra};

    return make_kernel(&old, out);
}

static enum weir_err make_any(struct cudaGraphNodeParams *np, struct weir_node_params *out)
{
    memset(out, 0, sizeof *out);
    switch (np->type) {
    case cudaGraphNodeTypeKernel:
        return make_any_kernel(np, out);
    case cudaGraphNodeTypeMemcpy:
        return make_box(&np->memcpy.copyParams, out);
    case cudaGraphNodeTypeMemset:
        return weir_rt_node_memset(np->memset.dst, np->memset.pitch, np->memset.value,
                                   np->memset.elementSize, np->memset.width, np->memset.height,
                                   out);
    case cudaGraphNodeTypeHost:
        *out = (struct weir_node_params){.kind = WEIR_NODE_HOST,
                                         .host = {np->host.fn, np->host.userData}};
        return WEIR_OK;
    case cudaGraphNodeTypeGraph:
        return weir_rt_node_child(np->graph.graph,
                                  np->graph.ownership == cudaGraphChildGraphOwnershipMove, out);
    case cudaGraphNodeTypeEmpty:
        out->kind = WEIR_NODE_EMPTY;
        return WEIR_OK;
    case cudaGraphNodeTypeWaitEvent:
        return weir_rt_node_event(WEIR_NODE_EVENT_WAIT, np->eventWait.event, out);
    case cudaGraphNodeTypeEventRecord:
        return weir_rt_node_event(WEIR_NODE_EVENT_RECORD, np->eventRecord.event, out);
    case cudaGraphNodeTypeMemAlloc:
        return make_alloc(&np->alloc.poolProps, np->alloc.bytesize, out);
    case cudaGraphNodeTypeMemFree:
        *out = (struct weir_node_params){.kind = WEIR_NODE_MEM_FREE, .free = np->free.dptr};
        return WEIR_OK;
    case cudaGraphNodeTypeConditional:
        *out = (struct weir_node_params){
            .kind = WEIR_NODE_CONDITIONAL,
            .conditional = {.handle = np->conditional.handle,
                            .kind = (enum weir_conditional_kind)np->conditional.type,
                            .size = np->conditional.size}};
        return WEIR_OK;
    case cudaGraphNodeTypeExtSemaphoreSignal:
    case cudaGraphNodeTypeExtSemaphoreWait:
        weir_log_unsupported("graph nodes of external semaphores", "cudaGraphAddNode");
        return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "external semaphores");
    default:
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "graph node of type %d", (int)np->type);
    }
}

enum weir_err weir_rt_GraphAddNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                   const cudaGraphNode_t *pDependencies,
                                   const cudaGraphEdgeData *dependencyData, size_t numDependencies,
                                   struct cudaGraphNodeParams *nodeParams)
{
    struct weir_node_params p;

    RT_REQUIRE(nodeParams);
    RT_TRY(make_any(nodeParams, &p));
    RT_TRY(weir_rt_node_add(pGraphNode, graph, pDependencies,
                            (const struct weir_edge_data *)dependencyData, numDependencies, &p));
    if (p.kind == WEIR_NODE_MEM_ALLOC)
        nodeParams->alloc.dptr = p.alloc.ptr;
    if (p.kind == WEIR_NODE_CONDITIONAL)
        nodeParams->conditional.phGraph_out = (cudaGraph_t *)p.conditional.bodies;
    return WEIR_OK;
}

enum weir_err weir_rt_GraphNodeSetParams(cudaGraphNode_t node,
                                         struct cudaGraphNodeParams *nodeParams)
{
    struct weir_node_params p;

    RT_REQUIRE(nodeParams);
    RT_TRY(make_any(nodeParams, &p));
    return weir_rt_node_set(node, &p);
}

enum weir_err weir_rt_GraphExecNodeSetParams(cudaGraphExec_t graphExec, cudaGraphNode_t node,
                                             struct cudaGraphNodeParams *nodeParams)
{
    struct weir_node_params p;

    RT_REQUIRE(nodeParams);
    RT_TRY(make_any(nodeParams, &p));
    return weir_rt_node_exec_set(graphExec, node, &p);
}
