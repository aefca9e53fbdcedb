/* Copies and memsets: rectangles of bytes. A source or destination that cannot be
 * accessed ends the copy with an error, not the process.
 * SPDX-License-Identifier: Apache-2.0 */
#include "device/device_int.h"

#include <string.h>

#include "base/bytes.h"
#include "check/check.h"
#include "memory/memory.h"

#define SLICE_BYTES ((size_t)1 << 20)
#define STREAM_BYTES                                                                               \
    ((size_t)8 << 20) /* lines from here on do not fit the caches: measured 18 against 14 GB/s */
#define PATTERN_BYTES 256u
#define BOUNCE_BYTES  4096u

struct copy_task {
    const struct weir_copy_work *copy;
    const char *src;
    char *dst;                   /* where engines reach them */
    size_t width, height, depth; /* after rows and slices that follow each other were joined */
    bool src_closed, dst_closed; /* their pages, and they have no other address */
};

static void row_copy(char *dst, const char *src, size_t bytes)
{
    bool apart = dst >= src + bytes || src >= dst + bytes;

    if (bytes >= STREAM_BYTES && apart) {
        weir_bytes_copy_streaming(dst, src, bytes);
        return;
    }
    while (bytes > 0) {
        size_t n = WEIR_MIN(bytes, SLICE_BYTES);

        memmove(dst, src, n); /* overlapping copies are undefined in CUDA, but no reason to crash */
        dst += n;
        src += n;
        bytes -= n;
    }
}

/* pattern: PATTERN_BYTES of the repeated element. */
static void row_set(char *dst, const char *pattern, const struct weir_copy_work *copy, size_t bytes)
{
    uint32_t first = copy->value & 0xff;
    bool same = copy->element_bytes == 1 ||
                (copy->element_bytes == 2 && (copy->value & 0xffff) == first * 0x101u) ||
                copy->value == first * 0x1010101u;

    if (same) {
        memset(dst, (int)first, bytes);
        return;
    }
    while (bytes > 0) {
        size_t n = WEIR_MIN(bytes, (size_t)PATTERN_BYTES);

        memcpy(dst, pattern, n);
        dst += n;
        bytes -= n;
    }
}

static void pattern_fill(char *pattern, const struct weir_copy_work *copy)
{
    uint32_t four = copy->value;

    if (copy->element_bytes == 1)
        four = (four & 0xff) * 0x1010101u;
    else if (copy->element_bytes == 2)
        four = (four & 0xffff) * 0x10001u;
    for (size_t at = 0; at < PATTERN_BYTES; at += sizeof four)
        memcpy(pattern + at, &four, sizeof four);
}

/* Past the protection of pages, of one side or both. False: that is no way there. */
static bool row_copy_closed(const struct copy_task *t, char *dst, const char *src, size_t bytes)
{
    char bounce[BOUNCE_BYTES];

    if (!t->src_closed)
        return weir_mem_force_write((uintptr_t)dst, src, bytes);
    if (!t->dst_closed)
        return weir_mem_force_read(dst, (uintptr_t)src, bytes);
    for (size_t at = 0, n; at < bytes; at += n) {
        n = WEIR_MIN(bytes - at, (size_t)BOUNCE_BYTES);
        if (!weir_mem_force_read(bounce, (uintptr_t)src + at, n) ||
            !weir_mem_force_write((uintptr_t)dst + at, bounce, n))
            return false;
    }
    return true;
}

static bool row_set_closed(const struct copy_task *t, char *dst, const char *pattern, size_t bytes)
{
    char bounce[BOUNCE_BYTES];

    row_set(bounce, pattern, t->copy, WEIR_MIN(bytes, (size_t)BOUNCE_BYTES));
    for (size_t at = 0, n; at < bytes; at += n) {
        n = WEIR_MIN(bytes - at, (size_t)BOUNCE_BYTES);
        if (!weir_mem_force_write((uintptr_t)dst + at, bounce, n))
            return false;
    }
    return true;
}

/* What cannot be reached otherwise is accessed as it is: closed pages are opened then. */
static void row(const struct copy_task *t, char *dst, const char *src, const char *pattern)
{
    if (t->copy->memset) {
        if (!t->dst_closed || !row_set_closed(t, dst, pattern, t->width))
            row_set(dst, pattern, t->copy, t->width);
    } else if ((!t->src_closed && !t->dst_closed) || !row_copy_closed(t, dst, src, t->width)) {
        row_copy(dst, src, t->width);
    }
}

static void copy_body(void *arg)
{
    const struct copy_task *t = arg;
    const struct weir_copy_work *copy = t->copy;
    char pattern[PATTERN_BYTES];

    if (copy->memset)
        pattern_fill(pattern, copy);
    for (size_t z = 0; z < t->depth; z++) {
        for (size_t y = 0; y < t->height; y++) {
            const char *src =
                copy->memset ? NULL : t->src + z * copy->src_slice + y * copy->src_pitch;

            row(t, t->dst + z * copy->dst_slice + y * copy->dst_pitch, src, pattern);
        }
    }
}

static bool is_closed(const void *p, const struct copy_task *t, size_t pitch, size_t slice)
{
    uintptr_t begin = (uintptr_t)p;

    return !weir_mem_has_twin(begin) &&
           weir_check_is_closed(begin, begin + (t->depth - 1) * slice + (t->height - 1) * pitch +
                                           t->width);
}

enum weir_err weir_copy_run(struct runner *r, const struct weir_copy_work *copy)
{
    struct copy_task t = {.copy = copy,
                          .src = weir_mem_engine_view(copy->src),
                          .dst = weir_mem_engine_view(copy->dst),
                          .width = copy->width,
                          .height = copy->height,
                          .depth = copy->depth};

    if (t.width == 0 || t.height == 0 || t.depth == 0)
        return WEIR_OK;
    if (t.height > 1 && copy->dst_pitch == t.width &&
        (copy->memset || copy->src_pitch == t.width)) {
        t.width *= t.height;
        t.height = 1;
    }
    if (t.depth > 1 && t.height == 1 && copy->dst_slice == t.width &&
        (copy->memset || copy->src_slice == t.width)) {
        t.width *= t.depth;
        t.depth = 1;
    }
    if (!copy->memset && copy->src == copy->dst && copy->src_pitch == copy->dst_pitch &&
        copy->src_slice == copy->dst_slice)
        return WEIR_OK;
    if (weir_check_enabled()) {
        t.src_closed = !copy->memset && is_closed(copy->src, &t, copy->src_pitch, copy->src_slice);
        t.dst_closed = is_closed(copy->dst, &t, copy->dst_pitch, copy->dst_slice);
    }
    if (!weir_runner_guarded(r, copy_body, &t))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE,
                         "copy of %zu x %zu x %zu bytes: no access to %#llx", copy->width,
                         copy->height, copy->depth, (unsigned long long)r->fault_address);
    return WEIR_OK;
}
