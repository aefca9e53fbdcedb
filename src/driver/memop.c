/* Memory operations of streams: waits for a value in memory, and writes of one, in a stream's
 * order; and the nodes of graphs that do so.
 * SPDX-License-Identifier: Apache-2.0 */
#include "driver/memop.h"

#include "base/log.h"
#include "runtime/graph_node.h"

/* ---- from and to the driver's form ---- */

static enum weir_err make_op(const CUstreamBatchMemOpParams *p, struct weir_memop *out)
{
    *out = (struct weir_memop){.kind = (enum weir_memop_kind)p->operation};
    switch (p->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        out->address = p->waitValue.address;
        out->value = p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 ? p->waitValue.value64
                                                                    : p->waitValue.value;
        out->flags = p->waitValue.flags;
        return WEIR_OK;
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        out->address = p->writeValue.address;
        out->value = p->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64 ? p->writeValue.value64
                                                                     : p->writeValue.value;
        out->flags = p->writeValue.flags;
        return WEIR_OK;
    case CU_STREAM_MEM_OP_BARRIER:
        out->flags = p->memoryBarrier.flags;
        return WEIR_OK;
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES: /* as the device's attribute says */
        weir_log_unsupported("CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES", "%s", "");
        return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "flushing remote writes");
    }
    return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "memory operation of type %d", (int)p->operation);
}

static enum weir_err make_ops(const CUstreamBatchMemOpParams *params, unsigned count,
                              struct weir_memop *out)
{
    if (count >= WEIR_MEMOP_BATCH_MAX)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%u memory operations at once", count);
    if (count)
        DRV_REQUIRE(params);
    for (unsigned i = 0; i < count; i++)
        DRV_TRY(make_op(&params[i], &out[i]));
    return WEIR_OK;
}

static void show_op(const struct weir_memop *op, CUstreamBatchMemOpParams *out)
{
    bool wide = op->kind == WEIR_MEMOP_WAIT_64 || op->kind == WEIR_MEMOP_WRITE_64;

    *out = (CUstreamBatchMemOpParams){.operation = (CUstreamBatchMemOpType)op->kind};
    if (op->kind == WEIR_MEMOP_BARRIER) {
        out->memoryBarrier.flags = op->flags;
        return;
    }
    /* waits and writes have one form */
    out->waitValue.address = op->address;
    out->waitValue.flags = op->flags;
    if (wide)
        out->waitValue.value64 = op->value;
    else
        out->waitValue.value = (cuuint32_t)op->value;
}

/* ---- in streams ---- */

static enum weir_err submit(CUstream stream, const struct weir_memop *ops, unsigned count,
                            const char *call)
{
    struct weir_stream *s;

    DRV_TRY(weir_stream_get(stream, &s));
    return weir_memop_submit(s, ops, count, call);
}

enum weir_err weir_drv_StreamWaitValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                         unsigned int flags)
{
    struct weir_memop op = {WEIR_MEMOP_WAIT_32, flags, addr, value};

    return submit(stream, &op, 1, "cuStreamWaitValue32");
}

enum weir_err weir_drv_StreamWaitValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                         unsigned int flags)
{
    struct weir_memop op = {WEIR_MEMOP_WAIT_64, flags, addr, value};

    return submit(stream, &op, 1, "cuStreamWaitValue64");
}

enum weir_err weir_drv_StreamWriteValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                          unsigned int flags)
{
    struct weir_memop op = {WEIR_MEMOP_WRITE_32, flags, addr, value};

    return submit(stream, &op, 1, "cuStreamWriteValue32");
}

enum weir_err weir_drv_StreamWriteValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                          unsigned int flags)
{
    struct weir_memop op = {WEIR_MEMOP_WRITE_64, flags, addr, value};

    return submit(stream, &op, 1, "cuStreamWriteValue64");
}

enum weir_err weir_drv_StreamBatchMemOp(CUstream stream, unsigned int count,
                                        CUstreamBatchMemOpParams *paramArray, unsigned int flags)
{
    struct weir_memop ops[WEIR_MEMOP_BATCH_MAX];

    if (flags)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", flags);
    DRV_TRY(make_ops(paramArray, count, ops));
    return submit(stream, ops, count, "cuStreamBatchMemOp");
}

/* ---- nodes of graphs ---- */

enum weir_err weir_drv_make_memops(const CUDA_BATCH_MEM_OP_NODE_PARAMS *p, struct weir_memop *room,
                                   struct weir_node_params *out)
{
    if (p->flags)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", p->flags);
    DRV_TRY(make_ops(p->paramArray, p->count, room));
    *out = (struct weir_node_params){.kind = WEIR_NODE_BATCH_MEM_OP,
                                     .memops = {.ops = room, .count = p->count}};
    return WEIR_OK;
}

enum weir_err weir_drv_GraphAddBatchMemOpNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                              const CUgraphNode *dependencies,
                                              size_t numDependencies,
                                              const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams)
{
    struct weir_memop room[WEIR_MEMOP_BATCH_MAX];
    struct weir_node_params p;

    DRV_REQUIRE(nodeParams);
    DRV_TRY(weir_drv_make_memops(nodeParams, room, &p));
    return weir_drv_node_add_in(phGraphNode, hGraph, dependencies, NULL, numDependencies,
                                nodeParams->ctx, &p);
}

enum weir_err weir_drv_GraphBatchMemOpNodeSetParams(CUgraphNode hNode,
                                                    const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams)
{
    struct weir_memop room[WEIR_MEMOP_BATCH_MAX];
    struct weir_node_params p;
    struct weir_context *ctx;
    struct weir_node *n;

    DRV_REQUIRE(nodeParams);
    DRV_TRY(weir_drv_make_memops(nodeParams, room, &p));
    DRV_TRY(weir_node_get(hNode, &n));
    DRV_TRY(weir_drv_context(nodeParams->ctx, &ctx));
    return weir_node_set(n, ctx, &p);
}

enum weir_err
weir_drv_GraphExecBatchMemOpNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                          const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams)
{
    struct weir_memop room[WEIR_MEMOP_BATCH_MAX];
    struct weir_node_params p;

    DRV_REQUIRE(nodeParams);
    DRV_TRY(weir_drv_make_memops(nodeParams, room, &p));
    return weir_drv_node_exec_set_in(hGraphExec, hNode, nodeParams->ctx, &p);
}

enum weir_err weir_drv_GraphBatchMemOpNodeGetParams(CUgraphNode hNode,
                                                    CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams_out)
{
    struct weir_node_params p;
    struct weir_node *n;
    void *shown;

    DRV_REQUIRE(nodeParams_out);
    DRV_TRY(weir_node_get(hNode, &n));
    DRV_TRY(weir_node_params(n, WEIR_NODE_BATCH_MEM_OP, &p));
    DRV_TRY(weir_node_memops_shown(n, p.memops.count * sizeof(CUstreamBatchMemOpParams), &shown));
    for (unsigned i = 0; i < p.memops.count; i++)
        show_op(&p.memops.ops[i], (CUstreamBatchMemOpParams *)shown + i);
    *nodeParams_out = (CUDA_BATCH_MEM_OP_NODE_PARAMS){.ctx = (CUcontext)weir_node_context(n),
                                                      .count = p.memops.count,
                                                      .paramArray = shown,
                                                      .flags = p.memops.flags};
    return WEIR_OK;
}
