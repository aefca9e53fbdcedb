/* SPDX-License-Identifier: Apache-2.0 */
#include "core/printf.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

/* One conversion: %[flags][width][.precision][length]type. */
struct conversion {
    char spec[32]; /* with its % and without length; completed for the host's printf */
    size_t spec_length;
    int length; /* 0 int, 1 long, 2 long long, -1 short, -2 char */
    char type;
};

static uint64_t next_arg(struct weir_printf_args *a, size_t bytes)
{
    uint64_t v = 0;
    size_t pos = WEIR_ALIGN_UP(a->pos, bytes);

    a->pos = pos + bytes;
    a->count++;
    if (a->data && a->pos <= a->bytes)
        memcpy(&v, a->data + pos, bytes);
    return v;
}

/* Parses behind the %. The number of characters used, 0 when it is no conversion. */
static size_t parse(const char *f, size_t max, struct conversion *c, struct weir_printf_args *args)
{
    size_t i = 0;

    memset(c, 0, sizeof *c);
    c->spec[c->spec_length++] = '%';
    for (; i < max && f[i]; i++) {
        char ch = f[i];

        if (strchr("-+ #0123456789.", ch)) {
            if (c->spec_length >= sizeof c->spec - 8)
                return 0;
            c->spec[c->spec_length++] = ch;
        } else if (ch == '*') {
            int n = snprintf(c->spec + c->spec_length, sizeof c->spec - c->spec_length, "%d",
                             (int)next_arg(args, 4));

            args->count--;
            if (n < 0 || (size_t)n >= sizeof c->spec - c->spec_length - 8)
                return 0;
            c->spec_length += (size_t)n;
        } else if (ch == 'l') {
            c->length++;
        } else if (ch == 'h') {
            c->length--;
        } else if (ch == 'z' || ch == 'j' || ch == 't' || ch == 'q') {
            c->length = 2;
        } else {
            c->type = ch;
            return i + 1;
        }
    }
    return 0;
}

static int print_conversion(char *out, size_t room, struct conversion *c,
                            struct weir_printf_args *args)
{
    const char *s;
    double d;
    uint64_t v;
    size_t max;

    switch (c->type) {
    case 'd':
    case 'i':
    case 'u':
    case 'o':
    case 'x':
    case 'X':
        /* char and short come promoted to int; long is 8 bytes on the device as on the host. */
        v = next_arg(args, c->length >= 1 ? 8 : 4);
        if (c->length < 1 && (c->type == 'd' || c->type == 'i'))
            v = (uint64_t)(int64_t)(int32_t)v;
        if (c->length == -1)
            v = c->type == 'd' || c->type == 'i' ? (uint64_t)(int64_t)(int16_t)v : (uint16_t)v;
        if (c->length <= -2)
            v = c->type == 'd' || c->type == 'i' ? (uint64_t)(int64_t)(signed char)v
                                                 : (unsigned char)v;
        snprintf(c->spec + c->spec_length, sizeof c->spec - c->spec_length, "ll%c", c->type);
        return snprintf(out, room, c->spec, (long long)v);
    case 'c':
        snprintf(c->spec + c->spec_length, sizeof c->spec - c->spec_length, "c");
        return snprintf(out, room, c->spec, (int)next_arg(args, 4));
    case 'p':
        snprintf(c->spec + c->spec_length, sizeof c->spec - c->spec_length, "p");
        return snprintf(out, room, c->spec, (void *)(uintptr_t)next_arg(args, 8));
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
    case 'a':
    case 'A':
        v = next_arg(args, 8);
        memcpy(&d, &v, sizeof d);
        snprintf(c->spec + c->spec_length, sizeof c->spec - c->spec_length, "%c", c->type);
        return snprintf(out, room, c->spec, d);
    case 's': {
        char text[512];
        size_t n;

        s = args->string(args->arg, next_arg(args, 8), &max);
        if (!s) {
            s = "(null)";
            max = strlen(s) + 1;
        }
        n = strnlen(s, WEIR_MIN(max, sizeof text - 1));
        memcpy(text, s, n);
        text[n] = 0;
        snprintf(c->spec + c->spec_length, sizeof c->spec - c->spec_length, "s");
        return snprintf(out, room, c->spec, text);
    }
    default:
        return -1;
    }
}

int weir_printf_format(char *out, size_t out_bytes, const char *format, size_t format_max,
                       struct weir_printf_args *args)
{
    size_t used = 0, i = 0;

    while (i < format_max && format[i] && used + 1 < out_bytes) {
        struct conversion c;
        size_t n;
        int written;

        if (format[i] != '%') {
            out[used++] = format[i++];
            continue;
        }
        if (i + 1 < format_max && format[i + 1] == '%') {
            out[used++] = '%';
            i += 2;
            continue;
        }
        n = parse(format + i + 1, format_max - i - 1, &c, args);
        written = n ? print_conversion(out + used, out_bytes - used, &c, args) : -1;
        if (written < 0) {
            out[used++] = format[i++];
            continue;
        }
        used = WEIR_MIN(used + (size_t)written, out_bytes - 1);
        i += 1 + n;
    }
    out[used] = 0;
    return (int)used;
}

/* ---- buffer ---- */

static void write_locked(struct weir_printf_buffer *b)
{
    size_t n = atomic_load_explicit(&b->used, memory_order_relaxed);

    if (n && fwrite(b->text, 1, n, stdout) == n)
        fflush(stdout);
    atomic_store_explicit(&b->used, 0, memory_order_relaxed);
}

void weir_printf_append(struct weir_printf_buffer *b, const char *text, size_t n, size_t limit)
{
    size_t used;

    weir_lock_acquire(&b->lock);
    used = atomic_load_explicit(&b->used, memory_order_relaxed);
    if (used + n > limit) {
        /* A GPU overwrites the oldest output; writing it out early loses nothing. */
        write_locked(b);
        used = 0;
    }
    if (used + n > b->cap) {
        size_t cap = WEIR_MAX(WEIR_MAX(b->cap * 2, used + n), (size_t)4096);
        char *grown = weir_realloc(b->text, cap);

        if (!grown) {
            write_locked(b);
            fwrite(text, 1, n, stdout);
            weir_lock_release(&b->lock);
            return;
        }
        b->text = grown;
        b->cap = cap;
    }
    memcpy(b->text + used, text, n);
    atomic_store_explicit(&b->used, used + n, memory_order_release);
    weir_lock_release(&b->lock);
}

void weir_printf_drain(struct weir_printf_buffer *b)
{
    if (WEIR_LIKELY(atomic_load_explicit(&b->used, memory_order_acquire) == 0))
        return;
    weir_lock_acquire(&b->lock);
    write_locked(b);
    weir_lock_release(&b->lock);
}

void weir_printf_buffer_finish(struct weir_printf_buffer *b)
{
    weir_free(b->text);
    b->text = NULL;
    b->cap = 0;
}
