/* printf of kernels: formats with the arguments of the device ABI, and the buffer that is written
 * out at synchronisations.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_PRINTF_H
#define WEIR_CORE_PRINTF_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/lock.h"

struct weir_printf_buffer {
    struct weir_lock lock; /* rank LEAF */
    _Atomic size_t used;   /* written under lock */
    size_t cap;
    char *text;
};

/* Arguments as vprintf of the device gets them: one after the other, each aligned to its size. */
struct weir_printf_args {
    const unsigned char *data;
    size_t bytes, pos;
    unsigned count; /* conversions done */
    const char *(*string)(void *arg, uint64_t address,
                          size_t *max); /* for %s; NULL when not readable */
    void *arg;
};

/* As snprintf, for the conversions that CUDA documents; a broken one is copied as it stands.
 * `format` is not trusted: never read beyond format_max. The length written. Pure. */
int weir_printf_format(char *out, size_t out_bytes, const char *format, size_t format_max,
                       struct weir_printf_args *args);

/* Appends; writes out first when it would pass `limit`. */
void weir_printf_append(struct weir_printf_buffer *b, const char *text, size_t n, size_t limit);
void weir_printf_drain(struct weir_printf_buffer *b);
void weir_printf_buffer_finish(struct weir_printf_buffer *b);

#endif
