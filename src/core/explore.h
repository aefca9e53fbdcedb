/* weir explore, weir run --schedule: the device advances only where this says so, one operation at
 * a time, in an order that a schedule decides (explore/schedule.h). Operations whose turn has come
 * are held; they run at the end of the program's calls, and while a thread of it waits. Without a
 * schedule nothing of this is called but the flag looked at.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_EXPLORE_H
#define WEIR_CORE_EXPLORE_H

#include "core/graph_run.h"

extern _Atomic bool weir_explore_on;

static inline bool weir_explore_enabled(void)
{
    return WEIR_UNLIKELY(atomic_load_explicit(&weir_explore_on, memory_order_relaxed));
}

/* Before the program's first call. log: a file to which every operation, decision and call is
 * written, or NULL. Errors: those of weir_schedule_create, OPERATING_SYSTEM (the file). */
enum weir_err weir_explore_start(const char *spec, const char *log) WEIR_MUST_CHECK;
/* What memory holds at the process's end goes into a file, as a number (weir_mem_sum_end); it
 * exists.
 */
void weir_explore_sum_start(const char *file);
void weir_explore_end(void);

/* ---- around the program's calls; no lock held ---- */

/* The calling thread is about to be inside `call` (a static text), which returns to `site`. Waits
 * for its turn among the program's threads. Calls inside of calls do not count. */
void weir_explore_enter(const char *call, const void *site);
/* Runs what the schedule wants to be run before the program goes on. not_ready: the call was asked
 * and said so; who asks again and again gets on. */
void weir_explore_leave(bool not_ready);
/* The <<< >>> before a kernel's stub: stands for the launch call that follows. */
void weir_explore_launch_site(const void *site);

/* ---- operations ---- */

/* op was submitted. The caller holds its stream's lock. */
void weir_explore_submitted(const struct weir_op *op);
/* May start: it is held until it is picked. No lock held. False: no memory, the caller starts it.
 */
bool weir_explore_hold_op(struct weir_op *op);
bool weir_explore_hold_node(struct weir_item *item, struct weir_work *work);

/* ---- waits ---- */

/* Lets the device advance until p holds; false when the time is over. No lock held. */
bool weir_explore_wait(const struct weir_model_point *p, uint64_t deadline_ns);
/* The calling thread asked for p, and was told that it does not hold yet. */
void weir_explore_asked(const struct weir_model_point *p);

#endif
