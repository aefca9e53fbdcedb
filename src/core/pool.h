/* Stream-ordered allocation (cudaMallocAsync, cudaFreeAsync), basic form: memory is had at the call
 * and given back when the stream comes to the free.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_POOL_H
#define WEIR_CORE_POOL_H

#include "core/stream.h"

/* Frees at its place in s. Errors: INVALID_VALUE (not an allocation's base, freed before),
 * NOT_SUPPORTED (managed). */
enum weir_err weir_pool_free(struct weir_stream *s, void *ptr) WEIR_MUST_CHECK;
/* True between cudaFreeAsync and its place in the stream: programs may not use the memory any more.
 * Fast when there is none. */
bool weir_pool_is_freed(uintptr_t base);
/* The free is done (submit.c). */
void weir_pool_finish_free(void *ptr);

#endif
