/* Memory management: batches of copies. Each entry is a copy of its own in the stream; one that is
 * refused ends the batch, what stands before it is copied (oracle mixed_batch).
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"
#include "core/capture.h"
#include "core/copy.h"
#include "runtime/batch.h"

static enum weir_err batch_stream(cudaStream_t stream, struct weir_stream **s)
{
    RT_TRY(weir_stream_get(stream, s));
    if ((*s)->m.cls == WEIR_STREAM_LEGACY)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "a batch in the legacy stream");
    if (weir_capture_is(
            *s)) /* and the capture goes on, unlike with other calls (oracle mixed_batch) */
        return WEIR_FAIL(WEIR_ERR_STREAM_CAPTURE_UNSUPPORTED, "a batch of copies in a capture");
    return WEIR_OK;
}

static enum weir_err check_attributes(enum cudaMemcpySrcAccessOrder order, unsigned flags)
{
    if (order != cudaMemcpySrcAccessOrderStream && order != cudaMemcpySrcAccessOrderDuringApiCall &&
        order != cudaMemcpySrcAccessOrderAny)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "order %d of a batch's source", (int)order);
    if (flags & ~(unsigned)cudaMemcpyFlagPreferOverlapWithCompute)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x of a batch", flags);
    return WEIR_OK;
}

static enum weir_err check_lists(const struct cudaMemcpyAttributes *attrs, const size_t *first,
                                 size_t n, size_t count)
{
    RT_REQUIRE(attrs);
    RT_REQUIRE(first);
    if (n == 0 || n > count || first[0] != 0)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%zu attributes for a batch of %zu", n, count);
    for (size_t i = 0; i < n; i++) {
        if (first[i] >= count || (i && first[i] <= first[i - 1]))
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "attributes %zu begin at copy %zu of %zu", i,
                             first[i], count);
        RT_TRY(check_attributes(attrs[i].srcAccessOrder, attrs[i].flags));
    }
    return WEIR_OK;
}

enum weir_err weir_rt_batch_copy(void *const *dsts, const void *const *srcs, const size_t *sizes,
                                 size_t count, const struct cudaMemcpyAttributes *attrs,
                                 const size_t *first, size_t n, cudaStream_t stream, size_t *at)
{
    struct weir_stream *s;

    *at = SIZE_MAX;
    RT_TRY(batch_stream(stream, &s));
    if (count == 0)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "an empty batch");
    RT_REQUIRE(dsts);
    RT_REQUIRE(srcs);
    RT_REQUIRE(sizes);
    RT_TRY(check_lists(attrs, first, n, count));
    for (size_t i = 0, a = 0; i < count; i++) {
        struct weir_copy c = {.src = srcs[i],
                              .dst = dsts[i],
                              .width = sizes[i],
                              .height = 1,
                              .depth = 1,
                              .kind = WEIR_COPY_DEFAULT,
                              .async = true};

        *at = i;
        if (a + 1 < n && first[a + 1] == i)
            a++;
        if (sizes[i] == 0)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "copy %zu of a batch has no bytes", i);
        c.order = (enum weir_copy_order)attrs[a].srcAccessOrder;
        RT_TRY(weir_copy_submit(s, &c));
    }
    return WEIR_OK;
}

enum weir_err weir_rt_MemcpyBatchAsync(void *const *dsts, const void *const *srcs,
                                       const size_t *sizes, size_t count,
                                       struct cudaMemcpyAttributes *attrs, size_t *attrsIdxs,
                                       size_t numAttrs, cudaStream_t stream)
{
    size_t at;

    return weir_rt_batch_copy(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, stream, &at);
}

/* ---- boxes ---- */

static enum weir_err operand(const char *call, const struct cudaMemcpy3DOperand *o,
                             struct cudaExtent e, void **ptr, size_t *pitch, size_t *slice)
{
    size_t rows;

    if (o->type == cudaMemcpyOperandTypeArray) {
        weir_log_unsupported("copies of CUDA arrays", "%s", call);
        return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "copies of CUDA arrays");
    }
    if (o->type != cudaMemcpyOperandTypePointer)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "operand of type %d", (int)o->type);
    *ptr = o->op.ptr.ptr;
    *pitch = o->op.ptr.rowLength ? o->op.ptr.rowLength : e.width;
    rows = o->op.ptr.layerHeight ? o->op.ptr.layerHeight : e.height;
    if (*pitch < e.width || rows < e.height || WEIR_MUL_OVERFLOWS(*pitch, rows, slice))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "box of %zu x %zu in rows of %zu, %zu a slice",
                         e.width, e.height, *pitch, rows);
    return WEIR_OK;
}

enum weir_err weir_rt_batch_boxes(const char *call, size_t count,
                                  const struct cudaMemcpy3DBatchOp *ops, unsigned long long flags,
                                  cudaStream_t stream, size_t *at)
{
    struct weir_stream *s;

    *at = SIZE_MAX;
    RT_TRY(batch_stream(stream, &s));
    RT_REQUIRE(ops);
    if (count == 0 || flags)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "batch of %zu boxes, flags %#llx", count, flags);
    for (size_t i = 0; i < count; i++) {
        const struct cudaMemcpy3DBatchOp *op = &ops[i];
        struct weir_copy c = {.width = op->extent.width,
                              .height = op->extent.height,
                              .depth = op->extent.depth,
                              .kind = WEIR_COPY_DEFAULT,
                              .async = true,
                              .order = (enum weir_copy_order)op->srcAccessOrder};
        void *src;

        *at = i;
        RT_TRY(check_attributes(op->srcAccessOrder, op->flags));
        if (c.width == 0 || c.height == 0 || c.depth == 0)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "box %zu of a batch is empty", i);
        RT_TRY(operand(call, &op->src, op->extent, &src, &c.src_pitch, &c.src_slice));
        RT_TRY(operand(call, &op->dst, op->extent, &c.dst, &c.dst_pitch, &c.dst_slice));
        c.src = src;
        RT_TRY(weir_copy_submit(s, &c));
    }
    return WEIR_OK;
}

enum weir_err weir_rt_Memcpy3DBatchAsync(size_t numOps, struct cudaMemcpy3DBatchOp *opList,
                                         unsigned long long flags, cudaStream_t stream)
{
    size_t at;

    return weir_rt_batch_boxes("cudaMemcpy3DBatchAsync", numOps, opList, flags, stream, &at);
}
