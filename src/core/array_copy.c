/* Copies to, from and between arrays (array.h) that are no boxes: bytes in a row, which go on in
 * the next row of the array. Each piece is a copy of its own.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/array.h"

enum weir_err weir_array_copy_rows(struct weir_copy *c, unsigned kind, void *stream, bool async)
{
    struct weir_stream *s;
    enum weir_err err;

    if (kind >= WEIR_COPY_KIND_COUNT)
        return WEIR_FAIL(WEIR_ERR_INVALID_MEMCPY_DIRECTION, "copy kind %d", (int)kind);
    err = weir_stream_get(stream, &s);
    if (err != WEIR_OK)
        return err;
    c->depth = 1;
    c->kind = (enum weir_copy_kind)kind;
    c->async = async;
    return weir_copy_submit(s, c);
}

static enum weir_err find(const struct weir_array_spot *at, size_t count, struct weir_array **out)
{
    enum weir_err err = weir_array_get(at->array, out);
    const struct weir_array *a = *out;

    if (err == WEIR_OK && (at->x >= a->row_bytes || at->y >= a->rows ||
                           count > (a->rows - at->y) * a->row_bytes - at->x))
        err = WEIR_FAIL(WEIR_ERR_INVALID_VALUE,
                        "%zu bytes from %zu, %zu on in an array of %zu bytes x %zu", count, at->x,
                        at->y, a->row_bytes, a->rows);
    return err;
}

/* Up to the end of the row, whole rows, the rest. */
enum weir_err weir_array_copy_bytes(const struct weir_array_spot *at, void *linear, size_t count,
                                    bool to, unsigned kind, void *stream, bool async)
{
    size_t x = at->x, y = at->y;
    char *memory = linear;
    struct weir_array *a;
    enum weir_err err = find(at, count, &a);

    while (err == WEIR_OK && count) {
        size_t width = WEIR_MIN(count, a->row_bytes - x), rows = 1;
        char *place;

        if (x == 0 && count >= a->row_bytes)
            rows = count / a->row_bytes;
        err = weir_array_place(a, x, y, 0, width, rows, 1, &place);
        if (err == WEIR_OK) {
            struct weir_copy c = {.src = to ? memory : place,
                                  .dst = to ? place : memory,
                                  .width = width,
                                  .height = rows,
                                  .src_pitch = to ? width : a->pitch,
                                  .dst_pitch = to ? a->pitch : width};

            err = weir_array_copy_rows(&c, kind, stream, async);
        }
        if (err != WEIR_OK)
            break;
        memory += width * rows;
        count -= width * rows;
        y += rows;
        x = 0;
    }
    return err;
}

static void advance(struct weir_array_spot *at, const struct weir_array *a, size_t bytes)
{
    at->y += (at->x + bytes) / a->row_bytes;
    at->x = (at->x + bytes) % a->row_bytes;
}

/* Up to the end of a row of either array at a time. */
enum weir_err weir_array_copy_between(const struct weir_array_spot *dst,
                                      const struct weir_array_spot *src, size_t count,
                                      unsigned kind)
{
    struct weir_array_spot d = *dst, s = *src;
    struct weir_array *to, *from;
    enum weir_err err = find(dst, count, &to);

    if (err == WEIR_OK)
        err = find(src, count, &from);
    while (err == WEIR_OK && count) {
        size_t width = WEIR_MIN(count, WEIR_MIN(to->row_bytes - d.x, from->row_bytes - s.x));
        struct weir_copy c = {.width = width, .height = 1, .src_pitch = width, .dst_pitch = width};
        char *a, *b;

        err = weir_array_place(to, d.x, d.y, 0, width, 1, 1, &a);
        if (err == WEIR_OK)
            err = weir_array_place(from, s.x, s.y, 0, width, 1, 1, &b);
        if (err != WEIR_OK)
            break;
        c.dst = a;
        c.src = b;
        err = weir_array_copy_rows(&c, kind, NULL, false);
        count -= width;
        advance(&d, to, width);
        advance(&s, from, width);
    }
    return err;
}
