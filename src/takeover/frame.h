/* The one place of signals.c that knows the processor: a handler that did not ask for the alternate
 * stack must not run on it, though Weir's own handler does.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TAKEOVER_FRAME_H
#define WEIR_TAKEOVER_FRAME_H

#include <signal.h>
#include <stdbool.h>

/* Whether this processor can do it; if not, Weir's handler is on the alternate stack only when the
 * program's asked for it. */
bool weir_frame_can_move(void);

/* Called in a signal handler. When it runs on the alternate stack and the interrupted code does
 * not: changes `context` so that the return from it enters `handler` with the same arguments and
 * the signals now blocked, on the interrupted stack, as if the kernel had delivered the signal
 * there; true. Else nothing; false. */
bool weir_frame_move(int signo, const siginfo_t *info, void *context,
                     void (*handler)(int, siginfo_t *, void *));

#endif
