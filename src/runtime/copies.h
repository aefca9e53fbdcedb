/* Inside src/runtime: the arguments of copies as core's rectangles, for graph nodes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_RUNTIME_COPIES_H
#define WEIR_RUNTIME_COPIES_H

#include "core/copy.h"
#include "runtime/rt.h"

enum weir_err weir_rt_make_linear(void *dst, const void *src, size_t count,
                                  enum cudaMemcpyKind kind, struct weir_copy *out);
enum weir_err weir_rt_make_box(const struct cudaMemcpy3DParms *p, struct weir_copy *out);
enum weir_err weir_rt_make_to_symbol(const void *symbol, const void *src, size_t count,
                                     size_t offset, enum cudaMemcpyKind kind,
                                     struct weir_copy *out);
enum weir_err weir_rt_make_from_symbol(void *dst, const void *symbol, size_t count, size_t offset,
                                       enum cudaMemcpyKind kind, struct weir_copy *out);

#endif
