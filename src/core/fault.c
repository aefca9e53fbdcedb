/* SPDX-License-Identifier: Apache-2.0 */
#include "core/fault.h"

#include <dlfcn.h>
#include <signal.h>
#include <string.h>

#include "base/compiler.h"
#include "core/host_fault.h"
#include "device/device.h"
#include "memory/memory.h"
#include "memory/share.h"

static const int fault_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};

/* What the signals did before, for chaining; written once before the handler is in place. */
static struct sigaction previous[WEIR_ARRAY_SIZE(fault_signals)];

/* The form that weir_signals_claim takes: nonzero when the fault was Weir's. Async-signal-safe. */
static int fault_handler(int signo, void *siginfo, void *ucontext)
{
    if (signo == SIGSEGV && weir_mem_share_fault(((siginfo_t *)siginfo)->si_addr))
        return 1; /* the access is tried again */
    if (signo == SIGSEGV && weir_mem_twin.bytes && weir_host_fault(siginfo, ucontext))
        return 1;
    return weir_device_handle_fault(signo, siginfo, ucontext);
}

/* Leaves the signal to the previous owner. With the default action the handler is taken away: the
 * instruction is repeated, and the process ends with the signal, core dump and all. */
static void chain(int signo, siginfo_t *info, void *ucontext)
{
    for (size_t i = 0; i < WEIR_ARRAY_SIZE(fault_signals); i++) {
        const struct sigaction *old = &previous[i];

        if (fault_signals[i] != signo)
            continue;
        if (old->sa_flags & SA_SIGINFO)
            old->sa_sigaction(signo, info, ucontext);
        else if (old->sa_handler == SIG_DFL || (old->sa_handler == SIG_IGN && info->si_code > 0))
            signal(signo, SIG_DFL);
        else if (old->sa_handler != SIG_IGN)
            old->sa_handler(signo);
    }
}

static void handle_signal(int signo, siginfo_t *info, void *ucontext)
{
    if (!fault_handler(signo, info, ucontext))
        chain(signo, info, ucontext);
}

enum weir_err weir_fault_install(void)
{
    union {
        void *object;
        void (*claim)(int (*handler)(int, void *, void *));
    } symbol = {.object = dlsym(RTLD_DEFAULT, "weir_signals_claim")};
    struct sigaction act;

    weir_device_prepare_faults();
    if (symbol.object) {
        symbol.claim(fault_handler);
        return WEIR_OK;
    }
    memset(&act, 0, sizeof act);
    act.sa_sigaction = handle_signal;
    act.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&act.sa_mask);
    for (size_t i = 0; i < WEIR_ARRAY_SIZE(fault_signals); i++) {
        if (sigaction(fault_signals[i], NULL, &previous[i]) != 0 ||
            sigaction(fault_signals[i], &act, NULL) != 0)
            return WEIR_FAIL(WEIR_ERR_OPERATING_SYSTEM, "signal handler for signal %d",
                             fault_signals[i]);
    }
    return WEIR_OK;
}
