/* Batches of copies, of either API: their structs have the same form.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_RUNTIME_BATCH_H
#define WEIR_RUNTIME_BATCH_H

#include "runtime/rt.h"

/* *at: the entry that was refused, SIZE_MAX when none was to blame. Errors: those of the copies,
 * INVALID_VALUE, STREAM_CAPTURE_UNSUPPORTED (oracle mixed_batch). Thread: any. */
enum weir_err weir_rt_batch_copy(void *const *dsts, const void *const *srcs, const size_t *sizes,
                                 size_t count, const struct cudaMemcpyAttributes *attrs,
                                 const size_t *first, size_t n, cudaStream_t stream,
                                 size_t *at) WEIR_MUST_CHECK;
enum weir_err weir_rt_batch_boxes(size_t count, const struct cudaMemcpy3DBatchOp *ops,
                                  unsigned long long flags, cudaStream_t stream,
                                  size_t *at) WEIR_MUST_CHECK;

#endif
