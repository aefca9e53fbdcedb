/* The thread that answers `weir where PID` and that --hang has its alarm from. It starts with the
 * first engine, and sleeps in the kernel until somebody asks.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_WATCH_H
#define WEIR_CORE_WATCH_H

/* Starts it, once per process. Without it everything else works: failure is only logged (and said
 * when --hang was asked for). Thread: any. */
void weir_watch_start(void);
/* In a child after fork: the thread is not here, and the socket is the parent's. */
void weir_watch_forked(void);

/* Seconds that --hang takes. */
#define WEIR_HANG_MIN 0.1
#define WEIR_HANG_MAX 1e6

/* The socket's name, behind the zero byte of abstract ones, of process %d. */
#define WEIR_WATCH_SOCKET "weir-where-%d"
/* The exit status after --hang's report. */
#define WEIR_WATCH_EXIT 124

#endif
