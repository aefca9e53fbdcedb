/* Ends of a process that libweir.so wants to hear of before (weir check), from libweir-preload.so
 * (signals) and libweir-io.so (calls); it finds both functions by dlsym(RTLD_DEFAULT, ...).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_BASE_ENDS_H
#define WEIR_BASE_ENDS_H

/* What the other side says of a signal that would end the process; else an exit status. */
enum {
    WEIR_ENDS_BY_SIGNAL = -1, /* by that */
    WEIR_ENDS_LATER = -2      /* the program goes on; the signal was seen to */
};

typedef void weir_ends_claim_fn(int (*ends)(int n));

/* `ends` is called with the status when the program calls _exit, and says with which it ends; with
 * 0 when it is about to become another program. Thread: any. */
void weir_ends_claim(int (*ends)(int status));
/* `ends` is called, in a signal handler, with the number of a signal whose default action ends the
 * process. Thread: any. */
void weir_signals_claim_ends(int (*ends)(int signo));

#endif
