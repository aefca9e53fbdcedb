/* Predictions beside measurements: what both files of the test share.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TESTS_PLAN_HARDWARE_H
#define WEIR_TESTS_PLAN_HARDWARE_H

#include "plan/pipeline.h"

/* Counts, and prints what is outside (all with `all`). True inside. */
bool check(const char *what, double predicted, double measured, double tolerance);
void fail(const char *what);

extern struct weir_plan_machine machine;
extern const struct weir_model_memory memory;
extern bool print_all;

/* The chunked experiment, from the data in `folder`. */
void overlap(const char *folder);

#endif
