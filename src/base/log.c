/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNSUPPORTED_MAX 512 /* distinct names remembered; later ones are printed each time */

static _Atomic int log_level = -1;
static pthread_mutex_t unsupported_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t unsupported_seen[UNSUPPORTED_MAX];
static size_t unsupported_count;

enum weir_log_level weir_log_level(void)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    int level = atomic_load_explicit(&log_level, memory_order_relaxed);

    if (level < 0) {
        const char *env = getenv("WEIR_LOG");

        level = WEIR_LOG_WARN;
        for (int i = 0; env && i < (int)WEIR_ARRAY_SIZE(names); i++) {
            if (strcmp(env, names[i]) == 0)
                level = i;
        }
        atomic_store_explicit(&log_level, level, memory_order_relaxed);
    }
    return (enum weir_log_level)level;
}

void weir_log_write(const char *text, size_t bytes)
{
    while (bytes) {
        ssize_t n = write(STDERR_FILENO, text, bytes);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return; /* stderr is closed: there is no other place to tell it to */
        text += n;
        bytes -= (size_t)n;
    }
}

static void log_line(const char *fmt, va_list ap)
{
    char line[1024] = "weir: ";
    int saved = errno;
    int n = (int)strlen(line);

    n += vsnprintf(line + n, sizeof line - (size_t)n, fmt, ap);
    if (n > (int)sizeof line - 2)
        n = (int)sizeof line - 2;
    line[n++] = '\n';
    weir_log_write(line, (size_t)n);
    errno = saved;
}

void weir_log(enum weir_log_level level, const char *fmt, ...)
{
    va_list ap;

    if (level > weir_log_level())
        return;
    va_start(ap, fmt);
    log_line(fmt, ap);
    va_end(ap);
}

static uint64_t hash_text(const char *s)
{
    uint64_t h = 1469598103934665603u;

    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 1099511628211u;
    return h | 1;
}

void weir_log_unsupported(const char *what, const char *fmt, ...)
{
    uint64_t h = hash_text(what);
    char detail[700];
    va_list ap;

    pthread_mutex_lock(&unsupported_lock);
    for (size_t i = 0; i < unsupported_count; i++) {
        if (unsupported_seen[i] == h) {
            pthread_mutex_unlock(&unsupported_lock);
            return;
        }
    }
    if (unsupported_count < UNSUPPORTED_MAX)
        unsupported_seen[unsupported_count++] = h;
    pthread_mutex_unlock(&unsupported_lock);
    detail[0] = 0;
    if (fmt) {
        va_start(ap, fmt);
        vsnprintf(detail, sizeof detail, fmt, ap);
        va_end(ap);
    }
    weir_log(WEIR_LOG_ERROR, "not supported: %s%s%s", what, detail[0] ? ": " : "", detail);
}

void weir_assert_failed(const char *expr, const char *file, int line)
{
    weir_log(WEIR_LOG_ERROR, "internal error: %s (%s:%d)", expr, file, line);
    abort();
}
