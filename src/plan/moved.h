/* A trace as the simulator runs it: the same operations and calls at other times, for everything
 * that reads traces (the page of weir view, pictures, tables).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_PLAN_MOVED_H
#define WEIR_PLAN_MOVED_H

#include "plan/recorded.h"

/* Runs the program of m (weir_plan_recorded_on: on another device) and writes the times that come
 * out into *f, which is m's file: operations with why each started when it did, calls, waits,
 * allocations, ranges, the model's edges. False: no memory, and *f is of no more use. */
bool weir_plan_move(const struct weir_plan_recorded *m, struct weir_trace_file *f);

#endif
