/* Memory management: batches of copies. Each entry is a copy of its own in the stream; one that is
 * refused ends the batch, what stands before it is copied (oracle mixed_batch).
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/array.h"
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

/* Bytes of an element, in which a box is measured: an array's; of memory alone bytes are. Errors:
 * INVALID_VALUE (two arrays of different elements), those of weir_array_get. */
static enum weir_err element_bytes(const struct cudaMemcpy3DBatchOp *op, size_t *out)
{
    const struct cudaMemcpy3DOperand *sides[] = {&op->src, &op->dst};

    *out = 0;
    for (size_t i = 0; i < WEIR_ARRAY_SIZE(sides); i++) {
        struct weir_array *a;

        if (sides[i]->type != cudaMemcpyOperandTypeArray)
            continue;
        RT_TRY(weir_array_get(sides[i]->op.array.array, &a));
        if (*out && *out != a->element_bytes)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "elements of %zu and of %zu bytes", *out,
                             a->element_bytes);
        *out = a->element_bytes;
    }
    *out = *out ? *out : 1;
    return WEIR_OK;
}

static enum weir_err array_operand(const struct cudaMemcpy3DOperand *o, const struct weir_copy *c,
                                   void **ptr, size_t *pitch, size_t *slice)
{
    const struct cudaOffset3D *at = &o->op.array.offset;
    struct weir_array *a;
    size_t x;
    char *place;

    RT_TRY(weir_array_get(o->op.array.array, &a));
    if (WEIR_MUL_OVERFLOWS(at->x, a->element_bytes, &x))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "element %zu of a row", at->x);
    RT_TRY(weir_array_place(a, x, at->y, at->z, c->width, c->height, c->depth, &place));
    *ptr = place;
    *pitch = a->pitch;
    *slice = a->slice;
    return WEIR_OK;
}

/* c has the box, in bytes. */
static enum weir_err operand(const struct cudaMemcpy3DOperand *o, const struct weir_copy *c,
                             size_t element, void **ptr, size_t *pitch, size_t *slice)
{
    size_t rows;

    if (o->type == cudaMemcpyOperandTypeArray)
        return array_operand(o, c, ptr, pitch, slice);
    if (o->type != cudaMemcpyOperandTypePointer)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "operand of type %d", (int)o->type);
    *ptr = o->op.ptr.ptr;
    *pitch = c->width;
    if (o->op.ptr.rowLength && WEIR_MUL_OVERFLOWS(o->op.ptr.rowLength, element, pitch))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "rows of %zu elements", o->op.ptr.rowLength);
    rows = o->op.ptr.layerHeight ? o->op.ptr.layerHeight : c->height;
    if (*pitch < c->width || rows < c->height || WEIR_MUL_OVERFLOWS(*pitch, rows, slice))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "box of %zu x %zu in rows of %zu, %zu a slice",
                         c->width, c->height, *pitch, rows);
    return WEIR_OK;
}

static enum weir_err copy_box(const struct cudaMemcpy3DBatchOp *op, struct weir_stream *s)
{
    struct weir_copy c = {.height = op->extent.height,
                          .depth = op->extent.depth,
                          .kind = WEIR_COPY_DEFAULT,
                          .async = true,
                          .order = (enum weir_copy_order)op->srcAccessOrder};
    size_t element;
    void *src;

    RT_TRY(check_attributes(op->srcAccessOrder, op->flags));
    RT_TRY(element_bytes(op, &element));
    if (op->extent.width == 0 || c.height == 0 || c.depth == 0 ||
        WEIR_MUL_OVERFLOWS(op->extent.width, element, &c.width))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "a box of a batch is empty, or too wide");
    RT_TRY(operand(&op->src, &c, element, &src, &c.src_pitch, &c.src_slice));
    RT_TRY(operand(&op->dst, &c, element, &c.dst, &c.dst_pitch, &c.dst_slice));
    c.src = src;
    return weir_copy_submit(s, &c);
}

enum weir_err weir_rt_batch_boxes(size_t count, const struct cudaMemcpy3DBatchOp *ops,
                                  unsigned long long flags, cudaStream_t stream, size_t *at)
{
    struct weir_stream *s;

    *at = SIZE_MAX;
    RT_TRY(batch_stream(stream, &s));
    RT_REQUIRE(ops);
    if (count == 0 || flags)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "batch of %zu boxes, flags %#llx", count, flags);
    for (size_t i = 0; i < count; i++) {
        *at = i;
        RT_TRY(copy_box(&ops[i], s));
    }
    return WEIR_OK;
}

enum weir_err weir_rt_Memcpy3DBatchAsync(size_t numOps, struct cudaMemcpy3DBatchOp *opList,
                                         unsigned long long flags, cudaStream_t stream)
{
    size_t at;

    return weir_rt_batch_boxes(numOps, opList, flags, stream, &at);
}
