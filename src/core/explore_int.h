/* Inside of core's explorer: whose turn it is among the host's threads (explore_threads.c).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_EXPLORE_INT_H
#define WEIR_CORE_EXPLORE_INT_H

#include "core/explore.h"
#include "explore/schedule.h"

/* How long one waits for threads that compute between calls (of their processor time), or are in a
 * system call, before the run goes on and is not exact any more. */
#define WEIR_EXPLORE_PATIENCE_NS     100000000u
#define WEIR_EXPLORE_PATIENCE_MAX_NS 10000000000u /* whatever it does */
/* A program that sleeps for long, and makes no calls. */
#define WEIR_EXPLORE_ASLEEP_NS 100000000u
/* A program that makes no calls but has work pending: it looks at memory. */
#define WEIR_EXPLORE_SILENCE_NS 1000000000u

/* The calling thread, one of the program's, waits until it alone may decide. */
void weir_explore_turn_take(void);
void weir_explore_turn_give(void);
bool weir_explore_turn_is_mine(void);
/* For the thread that looks after a program that makes no calls: true when nobody has a turn or
 * waits for one and all threads of the program wait in the kernel; asleep: or sleep for a time. */
bool weir_explore_turn_take_idle(bool asleep);
/* The same whatever the threads do. */
bool weir_explore_turn_take_free(void);
/* Turns so far. */
uint64_t weir_explore_turns(void);
/* The thread sleeps in the kernel, and not for a time. */
bool weir_explore_is_blocked(uint32_t thread_id);

/* Which of count threads goes on; asked in turn. */
size_t weir_explore_pick_thread(size_t count);
/* The run is not exact any more. why: a static text, said once. */
void weir_explore_inexact(const char *why);

#endif
