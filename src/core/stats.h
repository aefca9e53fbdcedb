/* The table of `weir run --stats`: what the engines did, what overlapped, why the host waited.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_STATS_H
#define WEIR_CORE_STATS_H

/* Prints for every device in use, on stderr or to the configured file. At exit, devices idle. */
void weir_stats_print(void);

#endif
