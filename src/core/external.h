/* Memory of others, by file descriptor (cudaImportExternalMemory): what a memfd, a shared-memory
 * object or a device's buffer holds, as device memory. Buffers mapped from one object are parts of
 * one mapping, which goes when the object and all of them are gone.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_EXTERNAL_H
#define WEIR_CORE_EXTERNAL_H

#include "core/context.h"

/* The descriptor is the object's afterwards, and closed. Errors: INVALID_VALUE (no descriptor, or
 * fewer bytes behind it), MEMORY_ALLOCATION. Thread: any, as for all below. */
enum weir_err weir_external_import(struct weir_context *ctx, int fd, size_t bytes,
                                   void **handle) WEIR_MUST_CHECK;
/* Errors: INVALID_RESOURCE_HANDLE (no such object), INVALID_VALUE (beyond its end). */
enum weir_err weir_external_buffer(const void *handle, size_t offset, size_t bytes,
                                   void **out) WEIR_MUST_CHECK;
enum weir_err weir_external_destroy(const void *handle) WEIR_MUST_CHECK;
/* cudaFree: is it such a buffer? On which device? */
bool weir_external_is(const void *ptr, int *device);
/* The caller has waited for the device. */
void weir_external_free(const void *ptr);

#endif
