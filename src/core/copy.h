/* Copies and memsets as operations: whose memory it is, which engine, what the host waits for.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_COPY_H
#define WEIR_CORE_COPY_H

#include "core/stream.h"
#include "memory/memory.h"

/* cudaMemcpyKind's numbers. */
enum weir_copy_kind {
    WEIR_COPY_H2H,
    WEIR_COPY_H2D,
    WEIR_COPY_D2H,
    WEIR_COPY_D2D,
    WEIR_COPY_DEFAULT,
    WEIR_COPY_KIND_COUNT
};

/* When the source may be read, in batches: cudaMemcpySrcAccessOrder's numbers; 0: as the *Async
 * forms do. */
enum weir_copy_order {
    WEIR_ORDER_PLAIN,
    WEIR_ORDER_STREAM,
    WEIR_ORDER_DURING_CALL,
    WEIR_ORDER_ANY
};

/* A rectangle of bytes (device/device.h). */
struct weir_copy {
    const void *src;
    void *dst;
    size_t width, height, depth;
    size_t src_pitch, dst_pitch, src_slice, dst_slice;
    enum weir_copy_kind kind;
    bool async;
    enum weir_copy_order order;
    bool peer; /* cudaMemcpyPeer*: pageable memory is refused on both sides */
};

/* What a copy or memset is about, checked as at its submission; for nodes of graphs. */
struct weir_copy_sides {
    uint8_t engine;           /* enum weir_engine */
    uint8_t src_cls, dst_cls; /* enum weir_mem_class */
    int src_device, dst_device;
};
enum weir_err weir_copy_check(const struct weir_context *ctx, const struct weir_copy *copy,
                              struct weir_copy_sides *out) WEIR_MUST_CHECK;

/* Errors: INVALID_VALUE for memory that the kind forbids, or that is not all inside one allocation.
 */
enum weir_err weir_copy_submit(struct weir_stream *s, const struct weir_copy *copy) WEIR_MUST_CHECK;

/* The captured source of a copy was read: its place in the staging memory is free again. */
void weir_staging_give(struct weir_context *ctx, size_t bytes);

struct weir_fill {
    void *dst;
    uint32_t value;
    uint8_t element_bytes;                     /* 1, 2 or 4 */
    size_t width, height, depth, pitch, slice; /* width in bytes */
    bool async;
};

enum weir_err weir_fill_check(const struct weir_context *ctx, const struct weir_fill *fill,
                              struct weir_copy_sides *out) WEIR_MUST_CHECK;
enum weir_err weir_fill_submit(struct weir_stream *s, const struct weir_fill *fill) WEIR_MUST_CHECK;

/* In a stream that is no program's (nested.h), of more than nothing: unchecked, and waits for
 * nothing. Errors: MEMORY_ALLOCATION. */
enum weir_err weir_copy_append(struct weir_stream *s, const struct weir_copy *copy) WEIR_MUST_CHECK;
enum weir_err weir_fill_append(struct weir_stream *s, const struct weir_fill *fill) WEIR_MUST_CHECK;

#endif
