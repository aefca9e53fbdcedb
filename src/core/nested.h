/* Kernels launched by kernels (CUDA's dynamic parallelism). A grid that launches has a nest:
 * streams of its own, in which its work is operations like any others, and what stands in them. It
 * is complete, to the stream or graph that it is in, when all of that is. When what runs is the
 * model's (model/nested.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_NESTED_H
#define WEIR_CORE_NESTED_H

#include "core/stream.h"

struct weir_check_op;
struct weir_nest;
struct weir_trace_id;

/* services->device_call: CUDA's runtime, called by a kernel. */
void weir_nested_call(struct weir_block *block, uint32_t lanes, uint32_t call, const uint32_t *rows,
                      void *results);

/* The blocks of a kernel are over. True: what they launched is not, and work->done is called again
 * when it is. Thread: any, no lock held. */
bool weir_nested_goes_on(struct weir_work *work, enum weir_err status);
/* All is over, and told: frees the nest. */
void weir_nested_forget(struct weir_work *work);

/* `count` operations of a stream of n are complete. No lock held. */
void weir_nested_over(struct weir_nest *n, uint32_t count);

/* Before memory is freed and after all streams are: cudaDeviceReset, cuCtxDestroy. */
void weir_nested_reset(struct weir_context *ctx);

/* ---- checking: what is inside counts as its outermost grid's ---- */

/* That grid as the checker knows it; op itself where it is no work of a kernel's. */
struct weir_check_op *weir_nested_checked(const struct weir_op *op);

/* ---- of a stream inside ---- */

/* The host's stream that all of it is in. */
const struct weir_stream *weir_nested_root(const struct weir_stream *s);

/* ---- tracing ---- */

/* The grid whose launches are n's: its operation, or its graph's launch. */
const struct weir_trace_id *weir_nested_grid(const struct weir_nest *n);

#endif
