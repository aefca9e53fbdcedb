/* CUDA arrays: device memory with a format and an extent, of which a program sees no address. Here
 * they lie in rows, slice behind slice; copies to and from them are copies of boxes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_ARRAY_H
#define WEIR_CORE_ARRAY_H

#include "core/copy.h"

#define WEIR_ARRAY_LAYERED 0x01u /* cudaArrayLayered: depth counts layers */
#define WEIR_ARRAY_CUBE    0x04u /* cudaArrayCubemap: six faces, times the layers */

struct weir_array_config {
    size_t width, height, depth; /* elements; height and depth 0 as the program gave them */
    int bits[4];                 /* of each channel, 0: not there */
    int format;                  /* cudaChannelFormatKind */
    uint32_t flags;              /* cudaArray* */
};

struct weir_array {
    struct weir_slot slot; /* first: handle */
    /* immutable while live */
    struct weir_array_config config;
    int device;
    size_t element_bytes, row_bytes, pitch, slice;
    size_t rows, slices; /* at least 1 */
    char *memory;
};

/* Errors: INVALID_VALUE (format, extent beyond the device's limits), INVALID_CHANNEL_DESCRIPTOR,
 * NOT_SUPPORTED (sparse, deferred), MEMORY_ALLOCATION. Thread: any. */
enum weir_err weir_array_create(struct weir_context *ctx, const struct weir_array_config *config,
                                struct weir_array **out) WEIR_MUST_CHECK;
/* Waits for its device as the model says. Errors: INVALID_RESOURCE_HANDLE, INVALID_VALUE (a level
 * of a mipmapped array; freed meanwhile), those of the wait. */
enum weir_err weir_array_free(const void *handle) WEIR_MUST_CHECK;
/* The caller has waited for the device. Errors: INVALID_VALUE (freed before). */
enum weir_err weir_array_destroy(struct weir_array *a) WEIR_MUST_CHECK;
/* The live array behind a handle. Errors: INVALID_RESOURCE_HANDLE. */
enum weir_err weir_array_get(const void *handle, struct weir_array **out) WEIR_MUST_CHECK;
void weir_array_reset_device(int device);

/* The address of byte x of row y of slice z, of which width x height x depth are wanted. Errors:
 * INVALID_VALUE when that leaves the array. */
enum weir_err weir_array_place(const struct weir_array *a, size_t x, size_t y, size_t z,
                               size_t width, size_t height, size_t depth,
                               char **out) WEIR_MUST_CHECK;

/* The live array whose memory p is in, and byte, row and slice there. False: in none. (Programs see
 * no such address: what has one was given the array.) */
bool weir_array_find(const void *p, struct weir_array **out, size_t at[3]);

/* ---- copies (array_copy.c); kind: enum weir_copy_kind, as the program gave it ---- */

/* One slice of rows, whose places and pitches stand in c. Errors: INVALID_MEMCPY_DIRECTION, those
 * of weir_stream_get and weir_copy_submit. */
enum weir_err weir_array_copy_rows(struct weir_copy *c, unsigned kind, void *stream,
                                   bool async) WEIR_MUST_CHECK;

/* Byte x of row y; what is copied from there goes on in the next row. */
struct weir_array_spot {
    const void *array;
    size_t x, y;
};

/* Errors: those, INVALID_RESOURCE_HANDLE, INVALID_VALUE (leaves the array). */
enum weir_err weir_array_copy_bytes(const struct weir_array_spot *at, void *linear, size_t count,
                                    bool to, unsigned kind, void *stream,
                                    bool async) WEIR_MUST_CHECK;
/* Synchronous, in the default stream. */
enum weir_err weir_array_copy_between(const struct weir_array_spot *dst,
                                      const struct weir_array_spot *src, size_t count,
                                      unsigned kind) WEIR_MUST_CHECK;

#endif
