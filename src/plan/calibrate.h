/* weir plan --calibrate: measures this machine's GPU, and writes a device profile with its
 * attributes and costs.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_PLAN_CALIBRATE_H
#define WEIR_PLAN_CALIBRATE_H

#include <stdbool.h>
#include <stdio.h>

/* Opens libcuda.so.1 (under weir run: Weir's own), measures device 0 for some seconds, writes the
 * profile. False with a message (at most 200 bytes): no GPU, or a call that failed. */
bool weir_plan_calibrate(FILE *to, char *message);

#endif
