/* Memory operations: in a stream, as nodes of a graph, captured. A wait holds what follows it and
 * nothing else. Rules: GRA-001, GRA-010, GRA-021, GRA-050, CAP-024.
 * SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

#include <time.h>
#include <unistd.h>

static CUcontext ctx;
static CUstream s, t;
static _Atomic unsigned *words; /* pinned */

enum { FLAG, WRITTEN, AFTER, OTHER, WIDE = 8, WORDS = 64 };

static CUdeviceptr at(int word)
{
    return (uintptr_t)&words[word];
}

static CUstreamBatchMemOpParams wait_op(int word, unsigned value, unsigned flags)
{
    return (CUstreamBatchMemOpParams){.waitValue = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32,
                                                    .address = at(word),
                                                    .value = value,
                                                    .flags = flags}};
}

static CUstreamBatchMemOpParams write_op(int word, unsigned value)
{
    return (CUstreamBatchMemOpParams){.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32,
                                                     .address = at(word),
                                                     .value = value}};
}

static void clear(void)
{
    for (int i = 0; i < WORDS; i++)
        words[i] = 0;
}

/* Within 20 s. */
static bool comes(int word, unsigned value)
{
    for (int i = 0; i < 20000 && words[word] != value; i++)
        usleep(1000);
    return words[word] == value;
}

static void check_stream(void)
{
    CUstreamBatchMemOpParams ops[256] = {
        write_op(WRITTEN, 7), wait_op(FLAG, 3, CU_STREAM_WAIT_VALUE_EQ), write_op(WRITTEN, 8)};

    clear();
    ops[3].memoryBarrier.operation = CU_STREAM_MEM_OP_BARRIER;
    ops[4].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    ops[4].writeValue.address = at(WIDE);
    ops[4].writeValue.value64 = 0x500000006;
    OK(cuStreamBatchMemOp(s, 5, ops, 0));
    OK(cuStreamWriteValue32(s, at(AFTER), 9, 0));
    CHECK(comes(WRITTEN, 7));
    EXPECT(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    CHECK(words[AFTER] == 0);
    words[FLAG] = 3;
    OK(cuStreamSynchronize(s));
    CHECK(words[WRITTEN] == 8 && words[AFTER] == 9 && words[WIDE] == 6 && words[WIDE + 1] == 5);
    OK(cuStreamBatchMemOp(s, 0, NULL, 0));
    EXPECT(cuStreamBatchMemOp(s, 256, ops, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuStreamBatchMemOp(s, 1, ops, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuStreamBatchMemOp(s, 1, NULL, 0), CUDA_ERROR_INVALID_VALUE);
    ops[0].writeValue.address++;
    EXPECT(cuStreamBatchMemOp(s, 1, ops, 0), CUDA_ERROR_INVALID_VALUE);
    ops[0].operation = (CUstreamBatchMemOpType)77;
    EXPECT(cuStreamBatchMemOp(s, 1, ops, 0), CUDA_ERROR_INVALID_VALUE);
    ops[0].flushRemoteWrites.operation = CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES;
    EXPECT(cuStreamBatchMemOp(s, 1, ops, 0), CUDA_ERROR_NOT_SUPPORTED);
}

static CUgraphNode add_write(CUgraph g, CUgraphNode after, int word, unsigned value)
{
    CUstreamBatchMemOpParams op = write_op(word, value);
    CUDA_BATCH_MEM_OP_NODE_PARAMS p = {.ctx = ctx, .count = 1, .paramArray = &op};
    CUgraphNode n = NULL;

    OK(cuGraphAddBatchMemOpNode(&n, g, &after, 1, &p));
    return n;
}

/* What an instance may become, and what not. */
static void check_changes(CUgraph g, CUgraphExec exec, CUgraphNode n)
{
    CUstreamBatchMemOpParams ops[2] = {write_op(WRITTEN, 21),
                                       wait_op(FLAG, 9, CU_STREAM_WAIT_VALUE_GEQ)};
    CUDA_BATCH_MEM_OP_NODE_PARAMS p = {.ctx = ctx, .count = 2, .paramArray = ops}, got;
    CUgraphExecUpdateResultInfo info;
    CUgraph clone;
    CUgraphNode twin;

    OK(cuGraphExecBatchMemOpNodeSetParams(exec, n, &p));
    clear();
    words[FLAG] = 10;
    OK(cuGraphLaunch(exec, s));
    OK(cuStreamSynchronize(s));
    CHECK(words[WRITTEN] == 21 && words[AFTER] == 5);
    p.count = 1;
    EXPECT(cuGraphExecBatchMemOpNodeSetParams(exec, n, &p), CUDA_ERROR_INVALID_VALUE);
    ops[1] = write_op(FLAG, 9);
    p.count = 2;
    EXPECT(cuGraphExecBatchMemOpNodeSetParams(exec, n, &p), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphClone(&clone, g));
    OK(cuGraphNodeFindInClone(&twin, n, clone));
    OK(cuGraphExecUpdate(exec, clone, &info));
    OK(cuGraphBatchMemOpNodeSetParams(twin, &p));
    OK(cuGraphBatchMemOpNodeGetParams(twin, &got));
    CHECK(got.count == 2 && got.ctx == ctx && got.paramArray[1].writeValue.value == 9 &&
          got.paramArray[1].operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 &&
          got.paramArray[0].writeValue.address == at(WRITTEN));
    OK(cuGraphBatchMemOpNodeGetParams(n, &got)); /* the original is as before */
    CHECK(got.paramArray[1].operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 &&
          got.paramArray[1].waitValue.value == 3);
    EXPECT(cuGraphExecUpdate(exec, clone, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    CHECK(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED && info.errorNode == twin);
    OK(cuGraphDestroy(clone));
}

/* A node waits for what the other branch, behind it in creation, writes; then for the host. */
static void check_nodes(void)
{
    CUstreamBatchMemOpParams ops[2] = {wait_op(OTHER, 4, CU_STREAM_WAIT_VALUE_EQ),
                                       wait_op(FLAG, 3, CU_STREAM_WAIT_VALUE_GEQ)};
    CUDA_BATCH_MEM_OP_NODE_PARAMS p = {.ctx = ctx, .count = 2, .paramArray = ops};
    CUgraphNodeParams any = {.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP};
    CUgraphNodeType type;
    CUgraphNode n, m;
    CUgraphExec exec;
    CUgraph g;

    OK(cuGraphCreate(&g, 0));
    OK(cuGraphAddBatchMemOpNode(&n, g, NULL, 0, &p));
    add_write(g, n, AFTER, 5);
    ops[0] = write_op(OTHER, 4);
    any.memOp = (CUDA_BATCH_MEM_OP_NODE_PARAMS_v2){.ctx = ctx, .count = 1, .paramArray = ops};
    OK(cuGraphAddNode(&m, g, NULL, NULL, 0, &any));
    OK(cuGraphNodeGetType(m, &type));
    CHECK(type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
    OK(cuGraphInstantiate(&exec, g, 0));
    for (int again = 0; again < 3; again++) {
        clear();
        OK(cuGraphLaunch(exec, again == 1 ? t : s));
        CHECK(comes(OTHER, 4));
        EXPECT(cuStreamQuery(again == 1 ? t : s), CUDA_ERROR_NOT_READY);
        CHECK(words[AFTER] == 0);
        words[FLAG] = 4;
        OK(cuCtxSynchronize());
        CHECK(words[AFTER] == 5);
    }
    OK(cuGraphLaunch(exec, s)); /* all is there already; goes on without the instance */
    OK(cuGraphLaunch(exec, t));
    OK(cuGraphExecDestroy(exec));
    OK(cuCtxSynchronize());
    OK(cuGraphDestroy(g));

    ops[0] = write_op(WRITTEN, 20);
    ops[1] = wait_op(FLAG, 3, CU_STREAM_WAIT_VALUE_GEQ);
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphAddBatchMemOpNode(&n, g, NULL, 0, &p));
    add_write(g, n, AFTER, 5);
    OK(cuGraphInstantiate(&exec, g, 0));
    check_changes(g, exec, n);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(g));
}

static void check_capture(void)
{
    CUstreamBatchMemOpParams op = write_op(WRITTEN, 30);
    CUgraphNode nodes[8];
    CUgraphExec exec;
    size_t n = 8, edges = 8;
    CUgraph g;

    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuStreamBatchMemOp(s, 1, &op, 0));
    OK(cuStreamWaitValue32(s, at(FLAG), 2, CU_STREAM_WAIT_VALUE_EQ));
    OK(cuStreamWriteValue32(s, at(AFTER), 6, 0));
    OK(cuStreamEndCapture(s, &g));
    OK(cuGraphGetNodes(g, nodes, &n));
    OK(cuGraphGetEdges(g, NULL, NULL, NULL, &edges));
    CHECK(n == 3 && edges == 2);
    for (size_t i = 0; i < n; i++) {
        CUgraphNodeType type;

        OK(cuGraphNodeGetType(nodes[i], &type));
        CHECK(type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
    }
    OK(cuGraphInstantiate(&exec, g, 0));
    clear();
    OK(cuGraphLaunch(exec, t));
    CHECK(comes(WRITTEN, 30) && words[AFTER] == 0);
    OK(cuStreamWriteValue32(s, at(FLAG), 2, 0)); /* another stream lets it go */
    OK(cuStreamSynchronize(t));
    CHECK(words[AFTER] == 6);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(g));
}

/* What there is not says so. */
static void check_semaphores(void)
{
    CUgraphNodeParams any = {.type = CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL};
    CUgraphNode n;
    CUgraph g;

    OK(cuGraphCreate(&g, 0));
    EXPECT(cuGraphAddNode(&n, g, NULL, NULL, 0, &any), CUDA_ERROR_NOT_SUPPORTED);
    any.type = CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT;
    EXPECT(cuGraphAddNode(&n, g, NULL, NULL, 0, &any), CUDA_ERROR_NOT_SUPPORTED);
    OK(cuGraphDestroy(g));
}

int main(void)
{
    CUdevice dev;
    void *p;

    OK(cuInit(0));
    OK(cuDeviceGet(&dev, 0));
    OK(cuDevicePrimaryCtxRetain(&ctx, dev));
    OK(cuCtxSetCurrent(ctx));
    OK(cuMemHostAlloc(&p, WORDS * sizeof(unsigned), 0));
    words = p;
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
    check_stream();
    check_nodes();
    check_capture();
    check_semaphores();
    OK(cuMemFreeHost(p));
    return DRIVER_END();
}
