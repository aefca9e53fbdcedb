/* What the sanitizers must be told, and whether one is in the process: Weir itself may be built
 * without, while the program that it serves is built with one.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_BASE_SANITIZE_H
#define WEIR_BASE_SANITIZE_H

#include <stdbool.h>
#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEIR_BUILT_TSAN 1
#endif
#if __has_feature(address_sanitizer)
#define WEIR_BUILT_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define WEIR_BUILT_TSAN 1
#endif
#if defined(__SANITIZE_ADDRESS__)
#define WEIR_BUILT_ASAN 1
#endif

extern void __tsan_init(void) __attribute__((weak));

/* True when ThreadSanitizer's run time is in this process. Thread: any. */
static inline bool weir_sanitize_thread(void)
{
    return __tsan_init != NULL;
}

/* Around what Weir does inside of a call that ThreadSanitizer has intercepted, for when Weir is
 * built with it: during calls that may wait it does not see what atomics order, but would all
 * accesses. Thread: any. */
#if defined(WEIR_BUILT_TSAN)
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
#endif

static inline void weir_sanitize_intercepted_begin(void)
{
#if defined(WEIR_BUILT_TSAN)
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
#endif
}

static inline void weir_sanitize_intercepted_end(void)
{
#if defined(WEIR_BUILT_TSAN)
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
#endif
}

#endif
