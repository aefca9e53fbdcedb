/* Error table and the thread's last message. The table itself is api/errors.def.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

enum { ERRF_NONE = 0, ERRF_STICKY = 1 };

struct err_row {
    int code, driver_code;
    int flags;
    const char *name;
    const char *text;
};

static const struct err_row err_rows[] = {
    {0, 0, ERRF_NONE, "cudaSuccess", "no error"},
#define WEIR_ERR(name, cuda_name, code, cu_code, flags, text)                                      \
    {(code), (cu_code), ERRF_##flags, #cuda_name, text},
#include "errors.def"
#undef WEIR_ERR
};

/* The rows are sorted by code (the table's test checks it). */
static const struct err_row *err_find(int code)
{
    size_t lo = 0, hi = WEIR_ARRAY_SIZE(err_rows);

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (err_rows[mid].code == code)
            return &err_rows[mid];
        if (err_rows[mid].code < code)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

const char *weir_err_name(int code)
{
    const struct err_row *row = err_find(code);

    return row ? row->name : NULL;
}

const char *weir_err_text(int code)
{
    const struct err_row *row = err_find(code);

    return row ? row->text : NULL;
}

int weir_err_driver_code(int code)
{
    const struct err_row *row = err_find(code);

    return row ? row->driver_code : 999;
}

int weir_err_is_sticky(int code)
{
    const struct err_row *row = err_find(code);

    return row && (row->flags & ERRF_STICKY);
}

static WEIR_TLS char err_message[256];

enum weir_err weir_err_raise(enum weir_err code, const char *file, int line, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(err_message, sizeof err_message, fmt, ap);
    va_end(ap);
    if (weir_log_level() >= WEIR_LOG_DEBUG) {
        const char *base = strrchr(file, '/');

        weir_log(WEIR_LOG_DEBUG, "%s:%d: %s: %s", base ? base + 1 : file, line,
                 weir_err_name((int)code), err_message);
    }
    return code;
}

const char *weir_err_message(void)
{
    return err_message;
}
