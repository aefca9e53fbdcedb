/* Memory management: batches of copies. What they do is the runtime's (runtime/batch.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include "driver/drv.h"
#include "runtime/batch.h"

#define SAME_FORM(type, other, last)                                                               \
    _Static_assert(sizeof(type) == sizeof(other) && offsetof(type, last) == offsetof(other, last), \
                   #type " has another form than the runtime's")

SAME_FORM(CUmemcpyAttributes, struct cudaMemcpyAttributes, flags);
SAME_FORM(CUmemcpy3DOperand, struct cudaMemcpy3DOperand, op);
SAME_FORM(CUDA_MEMCPY3D_BATCH_OP, struct cudaMemcpy3DBatchOp, flags);
_Static_assert(sizeof(CUdeviceptr) == sizeof(void *), "addresses are pointers");

static enum weir_err copy_batch(const CUdeviceptr *dsts, const CUdeviceptr *srcs,
                                const size_t *sizes, size_t count, const CUmemcpyAttributes *attrs,
                                const size_t *first, size_t n, CUstream stream, size_t *at)
{
    return weir_rt_batch_copy((void *const *)dsts, (const void *const *)srcs, sizes, count,
                              (const struct cudaMemcpyAttributes *)attrs, first, n, stream, at);
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

static enum weir_err copy_boxes(size_t count, const CUDA_MEMCPY3D_BATCH_OP *ops,
                                unsigned long long flags, CUstream stream, size_t *at)
{
    return weir_rt_batch_boxes(count, (const struct cudaMemcpy3DBatchOp *)ops, flags, stream, at);
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
