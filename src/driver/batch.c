/* Memory management: batches of copies. Each entry is a copy of its own in the stream; one that is
 * refused ends the batch, what stands before it is copied (oracle mixed_batch).
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"
#include "core/copy.h"
#include "driver/drv.h"

static enum weir_err batch_stream(CUstream stream, struct weir_stream **s)
{
    DRV_TRY(weir_stream_get(stream, s));
    if ((*s)->m.cls == WEIR_STREAM_LEGACY)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "a batch in the legacy stream");
    return WEIR_OK;
}

static enum weir_err check_attributes(CUmemcpySrcAccessOrder order, unsigned flags)
{
    if (order != CU_MEMCPY_SRC_ACCESS_ORDER_STREAM &&
        order != CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL &&
        order != CU_MEMCPY_SRC_ACCESS_ORDER_ANY)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "order %d of a batch's source", (int)order);
    if (flags & ~(unsigned)CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x of a batch", flags);
    return WEIR_OK;
}

static enum weir_err check_lists(const CUmemcpyAttributes *attrs, const size_t *first, size_t n,
                                 size_t count)
{
    DRV_REQUIRE(attrs);
    DRV_REQUIRE(first);
    if (n == 0 || n > count || first[0] != 0)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%zu attributes for a batch of %zu", n, count);
    for (size_t i = 0; i < n; i++) {
        if (first[i] >= count || (i && first[i] <= first[i - 1]))
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "attributes %zu begin at copy %zu of %zu", i,
                             first[i], count);
        DRV_TRY(check_attributes(attrs[i].srcAccessOrder, attrs[i].flags));
    }
    return WEIR_OK;
}

/* *at: the entry that is worked on, for the older form's failIdx. */
static enum weir_err copy_batch(const CUdeviceptr *dsts, const CUdeviceptr *srcs,
                                const size_t *sizes, size_t count, const CUmemcpyAttributes *attrs,
                                const size_t *first, size_t n, CUstream stream, size_t *at)
{
    struct weir_stream *s;

    *at = SIZE_MAX;
    DRV_TRY(batch_stream(stream, &s));
    if (count == 0)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "an empty batch");
    DRV_REQUIRE(dsts);
    DRV_REQUIRE(srcs);
    DRV_REQUIRE(sizes);
    DRV_TRY(check_lists(attrs, first, n, count));
    for (size_t i = 0, a = 0; i < count; i++) {
        struct weir_copy c = {.src = weir_drv_pointer(srcs[i]),
                              .dst = weir_drv_pointer(dsts[i]),
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
        DRV_TRY(weir_copy_submit(s, &c));
    }
    return WEIR_OK;
}

enum weir_err weir_drv_MemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes,
                                        size_t count, CUmemcpyAttributes *attrs, size_t *attrsIdxs,
                                        size_t numAttrs, CUstream hStream)
{
    size_t at;

    return copy_batch(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, hStream, &at);
}

enum weir_err weir_drv_MemcpyBatchAsyncV1(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes,
                                          size_t count, CUmemcpyAttributes *attrs,
                                          size_t *attrsIdxs, size_t numAttrs, size_t *failIdx,
                                          CUstream hStream)
{
    size_t at;
    enum weir_err err =
        copy_batch(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, hStream, &at);

    if (err != WEIR_OK && failIdx)
        *failIdx = at;
    return err;
}

/* ---- boxes ---- */

static enum weir_err operand(const CUmemcpy3DOperand *o, CUextent3D e, void **ptr, size_t *pitch,
                             size_t *slice)
{
    size_t rows;

    if (o->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
        weir_log_unsupported("copies of CUDA arrays", "cuMemcpy3DBatchAsync");
        return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "copies of CUDA arrays");
    }
    if (o->type != CU_MEMCPY_OPERAND_TYPE_POINTER)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "operand of type %d", (int)o->type);
    *ptr = weir_drv_pointer(o->op.ptr.ptr);
    *pitch = o->op.ptr.rowLength ? o->op.ptr.rowLength : e.width;
    rows = o->op.ptr.layerHeight ? o->op.ptr.layerHeight : e.height;
    if (*pitch < e.width || rows < e.height || WEIR_MUL_OVERFLOWS(*pitch, rows, slice))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "box of %zu x %zu in rows of %zu, %zu a slice",
                         e.width, e.height, *pitch, rows);
    return WEIR_OK;
}

static enum weir_err copy_boxes(size_t count, const CUDA_MEMCPY3D_BATCH_OP *ops,
                                unsigned long long flags, CUstream stream, size_t *at)
{
    struct weir_stream *s;

    *at = SIZE_MAX;
    DRV_TRY(batch_stream(stream, &s));
    DRV_REQUIRE(ops);
    if (count == 0 || flags)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "batch of %zu boxes, flags %#llx", count, flags);
    for (size_t i = 0; i < count; i++) {
        struct weir_copy c = {.width = ops[i].extent.width,
                              .height = ops[i].extent.height,
                              .depth = ops[i].extent.depth,
                              .kind = WEIR_COPY_DEFAULT,
                              .async = true,
                              .order = (enum weir_copy_order)ops[i].srcAccessOrder};
        void *src;

        *at = i;
        DRV_TRY(check_attributes(ops[i].srcAccessOrder, ops[i].flags));
        if (c.width == 0 || c.height == 0 || c.depth == 0)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "box %zu of a batch is empty", i);
        DRV_TRY(operand(&ops[i].src, ops[i].extent, &src, &c.src_pitch, &c.src_slice));
        DRV_TRY(operand(&ops[i].dst, ops[i].extent, &c.dst, &c.dst_pitch, &c.dst_slice));
        c.src = src;
        DRV_TRY(weir_copy_submit(s, &c));
    }
    return WEIR_OK;
}

enum weir_err weir_drv_Memcpy3DBatchAsync(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList,
                                          unsigned long long flags, CUstream hStream)
{
    size_t at;

    return copy_boxes(numOps, opList, flags, hStream, &at);
}

enum weir_err weir_drv_Memcpy3DBatchAsyncV1(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList,
                                            size_t *failIdx, unsigned long long flags,
                                            CUstream hStream)
{
    size_t at;
    enum weir_err err = copy_boxes(numOps, opList, flags, hStream, &at);

    if (err != WEIR_OK && failIdx)
        *failIdx = at;
    return err;
}
