/* What programs do with the four fault signals. `signals CASE [early|late]`: under `weir run` the
 * signals are claimed before or after the case has installed its handler, with a handler that takes
 * as its own only faults of one address; output and exit status must be those of a run without
 * Weir.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

static char *page; /* closed; what Weir's handler takes as its own, when claimed */
static const char *claim_when = "";
static volatile int weirs_faults;

static int weirs_handler(int signo, void *info, void *context)
{
    siginfo_t *si = info;

    (void)context;
    if (signo != SIGSEGV || si->si_addr != page + 8)
        return 0;
    weirs_faults++;
    mprotect(page, 4096, PROT_READ | PROT_WRITE); /* the access succeeds when it is repeated */
    return 1;
}

static void claim(const char *when)
{
    union {
        void *object;
        void (*f)(int (*)(int, void *, void *));
    } symbol = {dlsym(RTLD_DEFAULT, "weir_signals_claim")};

    if (strcmp(when, claim_when) == 0)
        symbol.f(weirs_handler);
}

/* A fault of Weir's in the midst of what the program does: must pass unseen. */
static void fault_of_weirs(void)
{
    if (*claim_when) {
        int before = weirs_faults;

        mprotect(page, 4096, PROT_NONE);
        page[8] = 1;
        if (weirs_faults != before + 1)
            puts("Weir's fault did not reach Weir");
    }
}

static sigjmp_buf back;
static char *bad = (char *)64;
static char altstack[65536];

static void say(const char *fmt, ...)
{
    va_list va;

    va_start(va, fmt);
    vprintf(fmt, va);
    va_end(va);
    fflush(stdout);
}

static void jump_handler(int signo, siginfo_t *si, void *uc)
{
    char here;
    sigset_t mask;

    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    say("handler: signal %d code %d addr %p context %d altstack %d blocked segv %d usr1 %d errno "
        "%d\n",
        signo, si->si_code,
        si->si_code > 0 && signo == SIGSEGV ? si->si_addr
                                            : NULL, /* else it differs from run to run */
        uc != NULL, &here >= altstack && &here < altstack + sizeof altstack,
        sigismember(&mask, SIGSEGV), sigismember(&mask, SIGUSR1), errno);
    siglongjmp(back, 1);
}

static void install(int signo, void (*h)(int, siginfo_t *, void *), int flags, int also_blocked)
{
    struct sigaction a = {.sa_sigaction = h, .sa_flags = SA_SIGINFO | flags}, got;

    if (also_blocked)
        sigaddset(&a.sa_mask, also_blocked);
    sigaction(signo, &a, NULL);
    claim("late");
    sigaction(signo, NULL, &got);
    say("installed: same handler %d flags %x mask usr1 %d\n", got.sa_sigaction == h,
        got.sa_flags & ~0x04000000, sigismember(&got.sa_mask, SIGUSR1));
}

static void touch(void)
{
    errno = 0;
    fault_of_weirs();
    if (sigsetjmp(back, 1) == 0) {
        *(volatile char *)bad = 1;
        say("not reached\n");
    }
}

static void case_altstack(void)
{
    stack_t ss = {.ss_sp = altstack, .ss_size = sizeof altstack};

    sigaltstack(&ss, NULL);
    install(SIGSEGV, jump_handler, SA_ONSTACK, SIGUSR1);
    touch();
    touch();
}

static void case_no_altstack(void)
{
    stack_t ss = {.ss_sp = altstack, .ss_size = sizeof altstack};

    sigaltstack(&ss, NULL);
    install(SIGSEGV, jump_handler, 0, 0);
    touch();
}

static void case_nodefer(void)
{
    install(SIGSEGV, jump_handler, SA_NODEFER, 0);
    touch();
    touch();
}

static void case_resethand(void)
{
    struct sigaction a;

    install(SIGSEGV, jump_handler, (int)SA_RESETHAND, 0);
    touch();
    sigaction(SIGSEGV, NULL, &a);
    say("now default %d\n", a.sa_handler == SIG_DFL);
    touch(); /* dies */
}

static void case_default(void)
{
    claim("late");
    fault_of_weirs();
    *(volatile char *)bad = 1;
}

static void case_default_sent(void)
{
    claim("late");
    fault_of_weirs();
    raise(SIGSEGV);
    say("not reached\n");
}

static void case_kill_bus(void)
{
    claim("late");
    kill(getpid(), SIGBUS);
    say("not reached\n");
}

static void case_ignored(void)
{
    signal(SIGSEGV, SIG_IGN);
    claim("late");
    raise(SIGSEGV);
    say("survived\n");
    fault_of_weirs();
    *(volatile char *)bad = 1; /* dies nevertheless */
}

static void case_sent_to_handler(void)
{
    install(SIGFPE, jump_handler, 0, SIGUSR1);
    if (sigsetjmp(back, 1) == 0)
        kill(getpid(), SIGFPE);
}

static volatile int zero;

static void case_division(void)
{
    install(SIGFPE, jump_handler, 0, 0);
    fault_of_weirs();
    if (sigsetjmp(back, 1) == 0) {
        int volatile x = 5;

        x = x / zero;
        say("not reached %d\n", x);
    }
}

static void old_style(int signo)
{
    say("old handler %d\n", signo);
    siglongjmp(back, 1);
}

static void case_signal(void)
{
    say("before: default %d\n", signal(SIGSEGV, old_style) == SIG_DFL);
    claim("late");
    touch();
    say("before: ours %d\n", signal(SIGSEGV, SIG_DFL) == old_style);
    say("before: default %d\n", signal(SIGSEGV, SIG_DFL) == SIG_DFL);
    touch(); /* dies */
}

static void skip_handler(int signo, siginfo_t *si, void *uc)
{
    ucontext_t *c = uc;

    (void)signo;
    (void)si;
    say("skipping\n");
#if defined(__x86_64__)
    c->uc_mcontext.gregs[REG_RIP] += 2; /* ud2 */
#endif
    errno = 77; /* a handler that does not keep errno: the kernel does not either */
}

static void case_context(void)
{
#if defined(__x86_64__)
    install(SIGILL, skip_handler, 0, 0);
    errno = 1;
    __asm__ volatile("ud2");
    __asm__ volatile("ud2");
    say("went on\n");
#endif
}

/* A handler that changes the context, where there is an alternate stack for which it did not ask;
 * the interrupted code's stack and registers, floating point too, are as they were. */
static void case_context_altstack(void)
{
#if defined(__x86_64__)
    stack_t ss = {.ss_sp = altstack, .ss_size = sizeof altstack};
    unsigned long in = 0x123456789abcdef, general, flags, red;
    double floating;
    sigset_t mask;

    sigaltstack(&ss, NULL);
    install(SIGILL, skip_handler, 0, SIGUSR1);
    for (int i = 0; i < 3; i++) {
        fault_of_weirs();
        __asm__ volatile("movq %4, -16(%%rsp)\n\t" /* the red zone */
                         "movq %4, %%xmm9\n\t"
                         "movq %4, %%r13\n\t"
                         "std\n\t"
                         "ud2\n\t"
                         "pushfq\n\t"
                         "cld\n\t"
                         "popq %1\n\t"
                         "movq %%r13, %0\n\t"
                         "movq %%xmm9, %2\n\t"
                         "movq -16(%%rsp), %3\n\t"
                         : "=&r"(general), "=&r"(flags), "=&r"(floating), "=&r"(red)
                         : "r"(in)
                         : "r13", "xmm9", "memory", "cc");
        pthread_sigmask(SIG_BLOCK, NULL, &mask);
        say("kept %d %d %d, blocked %d %d\n", general == in, (flags & 0x400) != 0,
            memcmp(&floating, &in, 8) == 0, sigismember(&mask, SIGILL),
            sigismember(&mask, SIGUSR1));
    }
    signal(SIGILL, SIG_DFL);
    __asm__ volatile("ud2");
#endif
}

/* Blocked: Weir's fault is handled, a sent signal waits, the mask reads back as set. */
static void case_blocked(void)
{
    sigset_t all, old, now;

    install(SIGSEGV, jump_handler, 0, 0);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &old);
    say("was blocked %d\n", sigismember(&old, SIGSEGV));
    fault_of_weirs();
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    say("is blocked %d %d\n", sigismember(&now, SIGSEGV), sigismember(&now, SIGUSR2));
    if (sigsetjmp(back, 1) == 0) {
        raise(SIGSEGV);
        say("sent\n");
        sigprocmask(SIG_SETMASK, &old, &now);
        say("not reached\n");
    }
    pthread_sigmask(SIG_BLOCK, NULL, &now);
}

static void case_blocked_fault(void)
{
    sigset_t segv;

    install(SIGSEGV, jump_handler, 0, 0);
    sigemptyset(&segv);
    sigaddset(&segv, SIGSEGV);
    pthread_sigmask(SIG_BLOCK, &segv, NULL);
    touch(); /* dies, as with a blocked fault */
}

static void *thread(void *arg)
{
    stack_t ss = {.ss_sp = altstack, .ss_size = sizeof altstack};

    (void)arg;
    sigaltstack(&ss, NULL);
    touch();
    return NULL;
}

static void case_thread(void)
{
    pthread_t t;

    install(SIGSEGV, jump_handler, SA_ONSTACK, 0);
    pthread_create(&t, NULL, thread, NULL);
    pthread_join(t, NULL);
    touch();
}

static const struct {
    const char *name;
    void (*f)(void);
} cases[] = {
    {"altstack", case_altstack},
    {"no_altstack", case_no_altstack},
    {"nodefer", case_nodefer},
    {"resethand", case_resethand},
    {"default", case_default},
    {"default_sent", case_default_sent},
    {"kill_bus", case_kill_bus},
    {"ignored", case_ignored},
    {"sent_to_handler", case_sent_to_handler},
    {"division", case_division},
    {"signal", case_signal},
    {"context", case_context},
    {"context_altstack", case_context_altstack},
    {"blocked", case_blocked},
    {"blocked_fault", case_blocked_fault},
    {"thread", case_thread},
};

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "list";

    page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (argc > 2)
        claim_when = argv[2];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (strcmp(name, "list") == 0) {
            puts(cases[i].name);
        } else if (strcmp(name, cases[i].name) == 0) {
            claim("early");
            cases[i].f();
            say("end\n");
            return 0;
        }
    }
    return strcmp(name, "list") != 0;
}
