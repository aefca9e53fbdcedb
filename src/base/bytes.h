/* Moving bytes in bulk.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_BASE_BYTES_H
#define WEIR_BASE_BYTES_H

#include <stddef.h>

/* Copies past the caches: for large targets that nobody reads soon, saves reading them first. The
 * ranges must not overlap. Finished (visible to other threads in the usual order) when it returns.
 * Thread: any. */
void weir_bytes_copy_streaming(void *dst, const void *src, size_t bytes);

#endif
