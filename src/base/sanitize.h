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

#endif
