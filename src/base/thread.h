/* Threads of Weir's own, and futexes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_BASE_THREAD_H
#define WEIR_BASE_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Starts a joinable thread named "weir-NAME" (15 characters at most), all signals but the
 * synchronous faults blocked, so that the program's handlers never run on Weir's threads.
 * stack_bytes 0 = the default. The thread is marked as Weir's own (weir_thread_is_own). Until it
 * has called weir_thread_ready, or ended, a fork by another thread waits. Errors:
 * MEMORY_ALLOCATION, OPERATING_SYSTEM. */
enum weir_err weir_thread_start(pthread_t *out, const char *name, size_t stack_bytes,
                                void *(*run)(void *), void *arg) WEIR_MUST_CHECK;

/* Said by a thread of weir_thread_start when it has the memory that it needs and goes to its work
 * or to sleep. Before that it may hold locks of the C library, the loader or an allocator that a
 * forked child would find locked for ever (AddressSanitizer's allocator has no fork handlers: its
 * leak check in the child then never ends). Once a thread; calls after the first do nothing. */
void weir_thread_ready(void);

/* True in threads that run Weir's code and the program's host functions only. */
bool weir_thread_is_own(void);

/* How many of these threads there are; one that begins or ends just now may be missing. */
uint32_t weir_thread_own_count(void);

/* Lets all other threads go first from now on, when processors are scarce. For good: an ordinary
 * user's thread cannot take it back. */
void weir_thread_be_nice(void);

/* Sleeps while *word == expected, until woken or timeout_ns (relative; UINT64_MAX = none) has
 * passed. May wake early. False on time-out. Thread: any, holding no lock that the waker needs. */
bool weir_futex_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns);
void weir_futex_wake(_Atomic uint32_t *word, int count);

/* The kernel's id of the calling thread, cached. */
uint32_t weir_thread_id(void);
/* Usable by this process: its affinity, and the container's limit of CPU time; at least 1. Reads
 * files: not a fast path. */
int weir_cpu_count(void);

#endif
