/* The one clock of all time stamps: CLOCK_MONOTONIC in nanoseconds. %globaltimer, events and traces
 * use it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_BASE_CLOCK_H
#define WEIR_BASE_CLOCK_H

#include <stdint.h>

uint64_t weir_clock_ns(void); /* thread: any; async-signal-safe */

#endif
