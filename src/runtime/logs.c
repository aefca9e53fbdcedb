/* Error log management: each failed call leaves a line, the newest hundred are kept. A line says
 * the time, the process, the call, the error and why.
 * SPDX-License-Identifier: Apache-2.0 */
#include "runtime/logs.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/rt.h"

#define LINES_KEPT    100
#define LINE_BYTES    384
#define CALLBACKS_MAX 16

struct callback {
    cudaLogsCallback_t fn;
    void *user;
};

/* Of the process. */
static struct {
    struct weir_lock lock; /* rank LEAF */
    unsigned count;        /* lines ever written: an iterator is such a number */
    char lines[LINES_KEPT][LINE_BYTES];
    struct callback callbacks[CALLBACKS_MAX];
} logs = {.lock = WEIR_LOCK_INIT(LEAF)};

static void write_line(char *line, const char *call, const char *error)
{
    struct timespec now;
    struct tm t;

    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &t);
    snprintf(line, LINE_BYTES, "[%02d:%02d:%02d.%03ld][%d][CUDA][E] %s: %s: %s\n", t.tm_hour,
             t.tm_min, t.tm_sec, now.tv_nsec / 1000000, (int)getpid(), call, error,
             weir_err_message());
}

/* Those of the driver API are the same but for the name of the level's type. */
#if defined(__clang__)
__attribute__((no_sanitize("function")))
#endif
static void
call_back(const struct callback *c, char *line)
{
    c->fn(c->user, cudaLogLevelError, line, strlen(line));
}

void weir_rt_log_failure(const char *call, const char *error)
{
    struct callback callbacks[CALLBACKS_MAX];
    char line[LINE_BYTES];

    write_line(line, call, error);
    weir_lock_acquire(&logs.lock);
    memcpy(logs.lines[logs.count++ % LINES_KEPT], line, sizeof line);
    memcpy(callbacks, logs.callbacks, sizeof callbacks);
    weir_lock_release(&logs.lock);
    for (int i = 0; i < CALLBACKS_MAX; i++) {
        if (callbacks[i].fn)
            call_back(&callbacks[i], line);
    }
}

enum weir_err weir_rt_LogsRegisterCallback(cudaLogsCallback_t callbackFunc, void *userData,
                                           cudaLogsCallbackHandle *callback_out)
{
    struct callback *c = NULL;

    RT_REQUIRE(callbackFunc);
    weir_lock_acquire(&logs.lock);
    for (int i = 0; i < CALLBACKS_MAX && !c; i++) {
        if (!logs.callbacks[i].fn)
            c = &logs.callbacks[i];
    }
    if (c)
        *c = (struct callback){callbackFunc, userData};
    weir_lock_release(&logs.lock);
    if (!c)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "more than %d callbacks of the log",
                         CALLBACKS_MAX);
    if (callback_out)
        *callback_out = (cudaLogsCallbackHandle)(void *)c;
    return WEIR_OK;
}

enum weir_err weir_rt_LogsUnregisterCallback(cudaLogsCallbackHandle callback)
{
    struct callback *c = (struct callback *)(void *)callback;
    bool found = false;

    weir_lock_acquire(&logs.lock);
    for (int i = 0; i < CALLBACKS_MAX && !found; i++)
        found = c == &logs.callbacks[i] && c->fn;
    if (found)
        c->fn = NULL;
    weir_lock_release(&logs.lock);
    return found ? WEIR_OK
                 : WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%p is no callback of the log", (void *)c);
}

enum weir_err weir_rt_LogsCurrent(cudaLogIterator *iterator_out, unsigned int flags)
{
    RT_REQUIRE(iterator_out);
    if (flags)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", flags);
    weir_lock_acquire(&logs.lock);
    *iterator_out = logs.count;
    weir_lock_release(&logs.lock);
    return WEIR_OK;
}

/* The line at *at, which goes on; false at the end. What is no longer kept is left out. */
static bool next_line(unsigned *at, char line[LINE_BYTES])
{
    bool more;

    weir_lock_acquire(&logs.lock);
    if (logs.count - *at > LINES_KEPT)
        *at = logs.count - LINES_KEPT;
    more = *at != logs.count;
    if (more)
        memcpy(line, logs.lines[(*at)++ % LINES_KEPT], LINE_BYTES);
    weir_lock_release(&logs.lock);
    return more;
}

static unsigned first_line(const cudaLogIterator *iterator)
{
    unsigned count;

    if (iterator)
        return *iterator;
    weir_lock_acquire(&logs.lock);
    count = logs.count;
    weir_lock_release(&logs.lock);
    return count > LINES_KEPT ? count - LINES_KEPT : 0;
}

enum weir_err weir_rt_LogsDumpToFile(cudaLogIterator *iterator, const char *pathToFile,
                                     unsigned int flags)
{
    unsigned at = first_line(iterator);
    char line[LINE_BYTES];
    FILE *f;

    RT_REQUIRE(pathToFile);
    if (flags)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", flags);
    f = fopen(pathToFile, "ae");
    if (!f)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%s cannot be written", pathToFile);
    while (next_line(&at, line))
        fputs(line, f);
    fclose(f);
    if (iterator)
        *iterator = at;
    return WEIR_OK;
}

/* As many of the newest lines as there is room for, and a 0 behind them; *size: bytes without it.
 */
enum weir_err weir_rt_LogsDumpToMemory(cudaLogIterator *iterator, char *buffer, size_t *size,
                                       unsigned int flags)
{
    unsigned at = first_line(iterator);
    char line[LINE_BYTES];
    size_t used = 0, n;

    RT_REQUIRE(buffer);
    RT_REQUIRE(size);
    if (flags || *size == 0)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x, %zu bytes", flags, *size);
    while (next_line(&at, line)) {
        n = strlen(line);
        if (used + n >= *size) {
            size_t drop = WEIR_MIN(used + n + 1 - *size, used);
            const char *end = memchr(buffer + drop, '\n', used - drop); /* whole lines go */

            drop = end ? (size_t)(end - buffer) + 1 : used;
            memmove(buffer, buffer + drop, used - drop);
            used -= drop;
        }
        n = WEIR_MIN(n, *size - 1 - used);
        memcpy(buffer + used, line, n);
        used += n;
    }
    buffer[used] = '\0';
    *size = used;
    if (iterator)
        *iterator = at;
    return WEIR_OK;
}
