/* What libweir-preload.so offers to libweir.so, which finds it by dlsym(RTLD_DEFAULT, ...): a
 * program may also run without `weir run`, and then these functions are not there.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TAKEOVER_SIGNALS_H
#define WEIR_TAKEOVER_SIGNALS_H

/* From now on `handler` is asked first about each SIGSEGV, SIGBUS, SIGFPE and SIGILL that the
 * processor raised; non-zero means that the fault was Weir's own and is dealt with (the context
 * changed so that execution goes on). Everything else goes to the program's handler, or has the
 * default effect, as if Weir were not there. Before the first claim nothing is touched. `info` is a
 * siginfo_t, `context` a ucontext_t. A second claim replaces the handler; NULL gives the signals
 * back. Thread: any. */
void weir_signals_claim(int (*handler)(int signo, void *info, void *context));

/* Makes sure that the calling thread does not really block the four signals, so that a fault in
 * Weir's code reaches the handler; the program goes on to see them as blocked. For threads that had
 * blocked them before the claim. Thread: any. */
void weir_signals_thread(void);

#endif
