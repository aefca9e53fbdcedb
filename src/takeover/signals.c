/* libweir-preload.so: the program's calls about the four fault signals. Once libweir.so has claimed
 * them (signals.h), the kernel knows only Weir's handler; what the program asked for is kept in a
 * table, told to it when it asks, and done when a fault is not Weir's: its handler with siginfo,
 * context, mask, alternate stack (the kernel's handler is installed with the program's own flags
 * and mask, so that the kernel itself sees to these), SA_RESETHAND and the default action by hand.
 * A thread that blocks one of the four blocks it in appearance only: a real block would turn Weir's
 * faults into death.
 * SPDX-License-Identifier: Apache-2.0 */
#include "takeover/signals.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/ends.h"
#include "takeover/frame.h"

#define EXPORT WEIR_EXPORT

/* Whose default action ends the process, which weir check wants to know before; beside the four,
 * and SIGTRAP, which is its own. */
static const int ends[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGABRT, SIGPIPE,  SIGALRM,
                           SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ,  SIGVTALRM,
                           SIGPROF, SIGIO,   SIGSYS,  SIGPWR,  SIGSTKFLT};
enum { ENDS = sizeof ends / sizeof ends[0] };

static const int owned[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
enum { OWNED = sizeof owned / sizeof owned[0] };

typedef int sigaction_fn(int, const struct sigaction *, struct sigaction *);
typedef int mask_fn(int, const sigset_t *, sigset_t *);
typedef int claim_fn(int, void *, void *);

/* An interposer has the process for its context: these are of the process, as signal dispositions
 * are. */
static struct {
    _Atomic(claim_fn *) handler; /* NULL: not claimed */
    _Atomic(int (*)(int)) ended; /* NULL: nobody wants to know */
    atomic_flag writing;
    atomic_uint version;             /* odd while `actions` changes; readers are signal handlers */
    struct sigaction actions[OWNED]; /* what the program asked for */
    _Atomic(sigaction_fn *) real_sigaction;
    _Atomic(mask_fn *) real_mask;
} state;

/* Signals (bit = index in `owned`) that the thread blocks in appearance, and those that came
 * meanwhile. */
static WEIR_TLS unsigned seeming, pending;

static int index_of(int signo)
{
    for (int i = 0; i < OWNED; i++) {
        if (owned[i] == signo)
            return i;
    }
    return -1;
}

static int real_sigaction(int signo, const struct sigaction *act, struct sigaction *old)
{
    sigaction_fn *f = atomic_load_explicit(&state.real_sigaction, memory_order_relaxed);

    if (f == NULL) {
        f = (sigaction_fn *)dlsym(RTLD_NEXT, "sigaction");
        atomic_store_explicit(&state.real_sigaction, f, memory_order_relaxed);
    }
    return f(signo, act, old);
}

/* Returns an error number, as pthread_sigmask does. */
static int real_mask(int how, const sigset_t *set, sigset_t *old)
{
    mask_fn *f = atomic_load_explicit(&state.real_mask, memory_order_relaxed);

    if (f == NULL) {
        f = (mask_fn *)dlsym(RTLD_NEXT, "pthread_sigmask");
        atomic_store_explicit(&state.real_mask, f, memory_order_relaxed);
    }
    return f(how, set, old);
}

/* The table's writers exclude one another, and their own thread's handlers: a handler that waits
 * for the writer which it interrupted would wait for ever. */
static void write_begin(sigset_t *saved)
{
    sigset_t all;

    sigfillset(&all);
    real_mask(SIG_BLOCK, &all, saved);
    while (atomic_flag_test_and_set_explicit(&state.writing, memory_order_acquire))
        weir_cpu_relax();
    atomic_fetch_add(&state.version, 1);
}

static void write_end(const sigset_t *saved)
{
    atomic_fetch_add(&state.version, 1);
    atomic_flag_clear_explicit(&state.writing, memory_order_release);
    real_mask(SIG_SETMASK, saved, NULL);
}

static struct sigaction read_action(int i)
{
    struct sigaction a;
    unsigned before;

    do {
        while ((before = atomic_load(&state.version)) & 1)
            weir_cpu_relax();
        a = state.actions[i];
        atomic_thread_fence(memory_order_acquire);
    } while (atomic_load(&state.version) != before);
    return a;
}

static bool is_handler(const struct sigaction *a)
{
    return a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN;
}

static void on_signal(int signo, siginfo_t *info, void *context);

/* Tells the kernel: our handler, with the flags and the mask of the program's. */
static void install(int i)
{
    const struct sigaction *wanted = &state.actions[i];
    struct sigaction a = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    if (is_handler(wanted)) {
        a.sa_flags = SA_SIGINFO | (wanted->sa_flags & (SA_ONSTACK | SA_NODEFER | SA_RESTART));
        if (weir_frame_can_move()) /* a kernel that overflows its stack can be told on another one
                                      only */
            a.sa_flags |= SA_ONSTACK;
        a.sa_mask = wanted->sa_mask;
    }
    real_sigaction(owned[i], &a, NULL);
}

/* False: the program goes on. */
static bool tell_end(int signo)
{
    int (*f)(int) = atomic_load(&state.ended);
    int status = f ? f(signo) : WEIR_ENDS_BY_SIGNAL;

    while (status >= 0)
        syscall(SYS_exit_group, status);
    return status == WEIR_ENDS_BY_SIGNAL;
}

/* The signal's default effect: a fault happens again when the handler returns, a sent signal is
 * sent again. */
static void die_by_default(int signo, siginfo_t *info)
{
    struct sigaction a = {.sa_handler = SIG_DFL};

    real_sigaction(signo, &a, NULL);
    if (info->si_code <= 0)
        syscall(SYS_rt_tgsigqueueinfo, getpid(), (pid_t)syscall(SYS_gettid), signo, info);
}

static void reset_hand(int i)
{
    sigset_t saved;

    write_begin(&saved);
    state.actions[i].sa_handler = SIG_DFL;
    state.actions[i].sa_flags &= ~SA_SIGINFO;
    install(i);
    write_end(&saved);
}

/* The program's turn. */
static void forward(int i, siginfo_t *info, void *context)
{
    struct sigaction a = read_action(i);
    bool sent = info->si_code <= 0;
    unsigned before = seeming;

    if (seeming & 1u << i) {
        if (!sent) { /* as the kernel does with a fault that is blocked */
            (void)tell_end(owned[i]);
            die_by_default(owned[i], info);
        } else
            pending |= 1u << i;
        return;
    }
    if (a.sa_handler == SIG_IGN && sent)
        return;
    if (!is_handler(&a)) {
        (void)tell_end(owned[i]);
        die_by_default(owned[i], info);
        return;
    }
    if (a.sa_flags & SA_RESETHAND)
        reset_hand(i);
    if (!(a.sa_flags & SA_ONSTACK) && weir_frame_move(owned[i], info, context, a.sa_sigaction))
        return; /* into the handler; one without SA_SIGINFO has the same place and takes the first
                   argument */
    if (a.sa_flags & SA_SIGINFO)
        a.sa_sigaction(owned[i], info, context);
    else
        a.sa_handler(owned[i]);
    seeming = before;
}

static void on_signal(int signo, siginfo_t *info, void *context)
{
    claim_fn *handler = atomic_load_explicit(&state.handler, memory_order_acquire);
    int i = index_of(signo), saved_errno = errno;

    if (handler == NULL || info->si_code <= 0 || !handler(signo, info, context)) {
        errno = saved_errno;
        forward(i, info, context);
    }
    errno = saved_errno;
}

EXPORT void weir_signals_claim(int (*handler)(int signo, void *info, void *context))
{
    claim_fn *before;
    sigset_t saved;

    write_begin(&saved);
    before = atomic_exchange(&state.handler, handler);
    for (int i = 0; i < OWNED; i++) {
        if (handler == NULL && before != NULL) {
            real_sigaction(owned[i], &state.actions[i], NULL);
        } else if (handler != NULL && before == NULL) {
            real_sigaction(owned[i], NULL, &state.actions[i]);
            install(i);
        }
    }
    write_end(&saved);
    if (handler != NULL)
        weir_signals_thread();
}

EXPORT void weir_signals_thread(void)
{
    sigset_t old, ours;
    unsigned blocked = 0;

    if (real_mask(SIG_BLOCK, NULL, &old) != 0)
        return;
    sigemptyset(&ours);
    for (int i = 0; i < OWNED; i++) {
        if (sigismember(&old, owned[i])) {
            blocked |= 1u << i;
            sigaddset(&ours, owned[i]);
        }
    }
    if (blocked == 0)
        return;
    seeming |= blocked; /* first: a pending signal comes at once */
    real_mask(SIG_UNBLOCK, &ours, NULL);
}

/* ---- signals that end the process ---- */

static void on_end(int signo, siginfo_t *info, void *context)
{
    struct sigaction a = {.sa_handler = SIG_DFL};
    int saved_errno = errno;

    (void)info;
    (void)context;
    if (tell_end(signo)) {
        real_sigaction(signo, &a, NULL);
        syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), signo);
    }
    errno = saved_errno;
}

static bool is_on_end(const struct sigaction *a)
{
    return a->sa_flags & SA_SIGINFO && a->sa_sigaction == on_end;
}

static const struct sigaction end_action = {.sa_sigaction = on_end,
                                            .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};

EXPORT void weir_signals_claim_ends(int (*f)(int signo))
{
    struct sigaction was;
    sigset_t saved;

    write_begin(&saved);
    atomic_store(&state.ended, f);
    for (int i = 0; i < ENDS; i++) {
        if (real_sigaction(ends[i], NULL, &was) == 0 && !(was.sa_flags & SA_SIGINFO) &&
            was.sa_handler == SIG_DFL)
            real_sigaction(ends[i], &end_action, NULL);
    }
    write_end(&saved);
}

/* The program's call for one that is not owned: to it the default is the default. */
static int set_other(int signo, const struct sigaction *act, struct sigaction *old)
{
    struct sigaction wanted = {.sa_handler = SIG_DFL}, was;
    bool known = false;
    sigset_t saved;
    int r;

    for (int i = 0; i < ENDS; i++)
        known |= ends[i] == signo;
    if (!known || !atomic_load(&state.ended))
        return real_sigaction(signo, act, old);
    if (act)
        wanted = *act;
    if (!(wanted.sa_flags & SA_SIGINFO) && wanted.sa_handler == SIG_DFL)
        wanted = end_action;
    write_begin(&saved);
    r = real_sigaction(signo, act ? &wanted : NULL, &was);
    write_end(&saved);
    if (is_on_end(&was))
        was = (struct sigaction){.sa_handler = SIG_DFL};
    if (r == 0 && old)
        *old = was;
    return r;
}

static bool claimed(void)
{
    return atomic_load_explicit(&state.handler, memory_order_relaxed) != NULL;
}

EXPORT int sigaction(int signo, const struct sigaction *act, struct sigaction *old)
{
    struct sigaction wanted = {.sa_handler = SIG_DFL};
    int i = index_of(signo);
    sigset_t saved;
    bool ours;

    if (i < 0)
        return set_other(signo, act, old);
    if (act)
        wanted = *act; /* may lie where `old` does; and a bad pointer faults before the table is
                          locked */
    write_begin(&saved);
    ours = claimed();
    if (ours) {
        struct sigaction was = state.actions[i];

        if (act) {
            state.actions[i] = wanted;
            install(i);
        }
        write_end(&saved);
        if (old)
            *old = was;
        return 0;
    }
    write_end(&saved);
    return real_sigaction(signo, act, old);
}

/* glibc has this second name for it. */
EXPORT int __sigaction(int signo, const struct sigaction *act, struct sigaction *old);
EXPORT int __sigaction(int signo, const struct sigaction *act, struct sigaction *old)
{
    return sigaction(signo, act, old);
}

static sighandler_t set_handler(int signo, sighandler_t handler, int flags)
{
    struct sigaction a = {.sa_handler = handler, .sa_flags = flags}, old;

    if (handler == SIG_ERR || signo < 1) {
        errno = EINVAL;
        return SIG_ERR;
    }
    if (flags & SA_RESTART)
        sigaddset(&a.sa_mask, signo); /* so glibc's */
    if (sigaction(signo, &a, &old) != 0)
        return SIG_ERR;
    return old.sa_handler;
}

EXPORT sighandler_t signal(int signo, sighandler_t handler)
{
    return set_handler(signo, handler, SA_RESTART);
}

EXPORT sighandler_t bsd_signal(int signo, sighandler_t handler);
EXPORT sighandler_t bsd_signal(int signo, sighandler_t handler)
{
    return set_handler(signo, handler, SA_RESTART);
}

EXPORT sighandler_t ssignal(int signo, sighandler_t handler)
{
    return set_handler(signo, handler, SA_RESTART);
}

EXPORT sighandler_t sysv_signal(int signo, sighandler_t handler)
{
    return set_handler(signo, handler, (int)(SA_RESETHAND | SA_NODEFER));
}

EXPORT sighandler_t __sysv_signal(int signo, sighandler_t handler)
{
    return set_handler(signo, handler, (int)(SA_RESETHAND | SA_NODEFER));
}

/* The mask that the program asks for, in parts: the real one without the four, unless they are
 * really blocked already (in a handler of the program's, whose mask the kernel set: a jump out of
 * it must restore what was), and the appearance. */
static int set_mask(int how, const sigset_t *set, sigset_t *old)
{
    sigset_t was, real;
    unsigned want = seeming, due;
    int err = real_mask(SIG_BLOCK, NULL, &was);

    if (err != 0)
        return err;
    if (set == NULL)
        goto report;
    real = *set;
    for (int i = 0; i < OWNED; i++) {
        bool in_set = sigismember(&real, owned[i]) == 1;
        bool blocked = sigismember(&was, owned[i]) == 1;

        if (how == SIG_UNBLOCK ? in_set : how == SIG_SETMASK && !in_set)
            want &= ~(1u << i);
        else if (how != SIG_UNBLOCK && in_set && !blocked) {
            want |= 1u << i;
            sigdelset(&real, owned[i]);
        }
    }
    if ((err = real_mask(how, &real, NULL)) != 0)
        return err;
report:
    if (old) {
        *old = was;
        for (int i = 0; i < OWNED; i++) {
            if (seeming & 1u << i)
                sigaddset(old, owned[i]);
        }
    }
    due = pending & ~want;
    pending &= want;
    seeming = want;
    for (int i = 0; i < OWNED; i++) {
        if (due & 1u << i)
            raise(owned[i]);
    }
    return 0;
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    return claimed() ? set_mask(how, set, old) : real_mask(how, set, old);
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    int err = claimed() ? set_mask(how, set, old) : real_mask(how, set, old);

    if (err != 0) {
        errno = err;
        return -1;
    }
    return 0;
}
