/* The end of a process under `weir check` that does not come by exit(3): _exit, quick_exit, a
 * signal's default action, another program in its place. What was found is reported first.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_ENDING_H
#define WEIR_CORE_ENDING_H

/* When a device is used and the report is wanted. Later calls do nothing. Thread: any. */
void weir_ending_start(void);
/* In a child after fork: a thread is gone. */
void weir_ending_forked(void);

#endif
