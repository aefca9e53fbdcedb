/* Faults in blocks and copies: the thread's runner is known, so the signal handler's context is
 * turned to where the runner left its own stack. Handlers themselves are installed by others; every
 * thread that runs blocks has an alternate stack, so that a kernel that overflows its stack is an
 * error as well.
 * SPDX-License-Identifier: Apache-2.0 */
#include "device/device_int.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/log.h"

#define SIGNAL_STACK_MIN ((size_t)64 << 10)

static WEIR_TLS struct runner *current;
static WEIR_TLS bool thread_prepared;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t signal_stack_key; /* its destructor takes the stack back at the thread's end */
static bool key_made;

struct runner *weir_runner_enter(struct runner *r)
{
    struct runner *previous = current;

    current = r;
    return previous;
}

struct runner *weir_runner_current(void)
{
    return current;
}

void weir_runner_leave(struct runner *previous)
{
    current = previous;
}

static size_t signal_stack_bytes(void)
{
    long n = sysconf(_SC_SIGSTKSZ);

    return WEIR_ALIGN_UP(WEIR_MAX(SIGNAL_STACK_MIN, n > 0 ? (size_t)n : 0), (size_t)4096);
}

static void signal_stack_free(void *memory)
{
    stack_t now;

    if (sigaltstack(NULL, &now) == 0 && now.ss_sp == memory) {
        now = (stack_t){.ss_flags = SS_DISABLE};
        sigaltstack(&now, NULL);
    }
    munmap(memory, signal_stack_bytes());
}

static void key_make(void)
{
    key_made = pthread_key_create(&signal_stack_key, signal_stack_free) == 0;
}

static pthread_once_t signals_once = PTHREAD_ONCE_INIT;
static void (*signals_thread)(void); /* of the preload library; written once */

static void find_signals_thread(void)
{
    union {
        void *object;
        void (*call)(void);
    } symbol = {.object = dlsym(RTLD_DEFAULT, "weir_signals_thread")};

    signals_thread = symbol.call;
}

void weir_device_prepare_faults(void)
{
    pthread_once(&signals_once, find_signals_thread);
}

/* A thread may have blocked everything before it came to us, and a fault that is blocked ends the
 * process. The preload library (takeover/signals.h) keeps the appearance; without it the signals
 * are unblocked for good. */
static void unblock_faults(void)
{
    sigset_t faults;

    weir_device_prepare_faults();
    if (signals_thread) {
        signals_thread();
        return;
    }
    sigemptyset(&faults);
    sigaddset(&faults, SIGSEGV);
    sigaddset(&faults, SIGBUS);
    sigaddset(&faults, SIGFPE);
    sigaddset(&faults, SIGILL);
    pthread_sigmask(SIG_UNBLOCK, &faults, NULL);
}

void weir_fault_prepare_thread(void)
{
    stack_t stack;
    void *memory;

    if (WEIR_LIKELY(thread_prepared))
        return;
    thread_prepared = true;
    unblock_faults();
    if (sigaltstack(NULL, &stack) != 0 || !(stack.ss_flags & SS_DISABLE))
        return; /* the program has given this thread one */
    pthread_once(&key_once, key_make);
    memory = key_made ? mmap(NULL, signal_stack_bytes(), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                      : MAP_FAILED;
    if (memory == MAP_FAILED) { /* all that is lost: an overflow in a kernel ends the process */
        weir_log(WEIR_LOG_INFO, "no memory for an alternate signal stack");
        return;
    }
    stack = (stack_t){.ss_sp = memory, .ss_size = signal_stack_bytes()};
    if (sigaltstack(&stack, NULL) != 0 || pthread_setspecific(signal_stack_key, memory) != 0) {
        stack = (stack_t){.ss_flags = SS_DISABLE};
        sigaltstack(&stack, NULL);
        munmap(memory, signal_stack_bytes());
    }
}

static enum weir_err fault_error(int signo, const siginfo_t *info, const struct runner *r)
{
    switch (signo) {
    case SIGSEGV:
        return weir_stack_is_guard(&r->stack, (uintptr_t)info->si_addr) ? WEIR_ERR_LAUNCH_FAILURE
                                                                        : WEIR_ERR_ILLEGAL_ADDRESS;
    case SIGBUS:
        return info->si_code == BUS_ADRALN ? WEIR_ERR_MISALIGNED_ADDRESS : WEIR_ERR_ILLEGAL_ADDRESS;
    case SIGFPE: /* no GPU instruction traps: generated code was wrong */
        return WEIR_ERR_LAUNCH_FAILURE;
    case SIGILL:
        return WEIR_ERR_ILLEGAL_INSTRUCTION;
    default:
        return WEIR_OK;
    }
}

static uint64_t pc_of(const void *ucontext)
{
#if defined(__x86_64__)
    return (uint64_t)((const ucontext_t *)ucontext)->uc_mcontext.gregs[REG_RIP];
#else
    (void)ucontext;
    return 0;
#endif
}

bool weir_device_handle_fault(int signo, void *siginfo, void *ucontext)
{
    struct runner *r = current;
    const siginfo_t *info = siginfo;
    enum weir_err err;

    if (!r || !r->guarded ||
        info->si_code <= 0) /* <= 0: sent by a program, not by an instruction */
        return false;
    err = fault_error(signo, info, r);
    if (err == WEIR_OK)
        return false;
    r->fault_err = err;
    r->fault_address = (uint64_t)(uintptr_t)info->si_addr;
    r->fault_pc = pc_of(ucontext);
    weir_stack_leave_context(&r->stack, ucontext, 1);
    return true;
}

bool weir_device_runs_here(void)
{
    return current && current->guarded;
}
