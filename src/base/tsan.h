/* A program that was built with ThreadSanitizer, while Weir was not: what the sanitizer is told, by
 * the interface of its run time, which is looked for in the process.
 * SPDX-License-Identifier: Apache-2.0
 *
 * It sees what its compiler put into the program, and of libraries the calls of the C library. It
 * is not to see Weir's: copies that Weir makes are no accesses of whatever thread made them, and
 * how Weir's threads wait for each other is no order that CUDA promises (check/tsan.h tells it
 * that). A Weir that is itself built with it tells nothing. */
#ifndef WEIR_BASE_TSAN_H
#define WEIR_BASE_TSAN_H

#include <stdbool.h>

/* Is it there? Constant from the process's start on. */
bool weir_tsan_is_here(void);

/* What the calling thread does from now on is neither access nor order, until the end. Nests.
 * Thread: any. Nothing when it is not there. */
void weir_tsan_ignore_begin(void);
void weir_tsan_ignore_end(void);

/* What the calling thread did before comes before what another does behind weir_tsan_acquire of the
 * same address; also while the thread's own doings are ignored. The address is memory of malloc's:
 * when it is freed, that is forgotten. */
void weir_tsan_release(void *at);
void weir_tsan_acquire(void *at);

/* Another thread, in the sanitizer's eyes, that the calling thread is until the end: nothing is
 * before it but what it acquires. Not nested. False: it cannot be had, and nothing was done. */
bool weir_tsan_other_begin(void);
void weir_tsan_other_end(void);

#endif
