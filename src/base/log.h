/* Messages of Weir's own, always on stderr, always whole lines that begin with "weir: ". Weir is
 * silent by default: only what is not supported, and what cannot be reported as an error code (a
 * kernel that fails: where), is printed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_BASE_LOG_H
#define WEIR_BASE_LOG_H

#include <stddef.h>

#include "base/compiler.h"

enum weir_log_level { WEIR_LOG_ERROR, WEIR_LOG_WARN, WEIR_LOG_INFO, WEIR_LOG_DEBUG };

/* From WEIR_LOG (error, warn, info, debug; default warn), read once. Thread: any. */
enum weir_log_level weir_log_level(void);

/* Writes one line with one write(2); safe in signal handlers only when fmt needs no floating point.
 * Thread: any. */
void weir_log(enum weir_log_level level, const char *fmt, ...) WEIR_PRINTF(2, 3);

/* Writes a text of whole lines as it is, by one write(2) if stderr takes it. Async-signal-safe. */
void weir_log_write(const char *text, size_t bytes);

/* Says once per `what` and process that something is not supported: "weir: not supported: WHAT
 * (detail)". Thread: any. */
void weir_log_unsupported(const char *what, const char *fmt, ...) WEIR_PRINTF(2, 3);

/* A broken invariant of our own: prints and aborts. Only through WEIR_ASSERT. */
WEIR_NORETURN void weir_assert_failed(const char *expr, const char *file, int line);

/* Our own bugs only, never a caller's mistake. On in debug, sanitizer and fuzz builds. */
#if defined(WEIR_CHECKS)
#define WEIR_ASSERT(x) ((x) ? (void)0 : weir_assert_failed(#x, __FILE__, __LINE__))
#else
#define WEIR_ASSERT(x) ((void)sizeof(!(x)))
#endif

#endif
