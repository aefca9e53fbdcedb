/* SPDX-License-Identifier: Apache-2.0 */
#include "core/host_fault.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "base/log.h"
#include "base/sanitize.h"
#include "check/check.h"
#include "device/device.h"
#include "memory/memory.h"

#define STEP_PAGES  32 /* a gather touches up to 16 places, each on two pages */
#define TRAP_FLAG   0x100
#define ERROR_WRITE 2
#define LIBRARIES   16
#define FRAMES      32
#define TRIES_MAX   1000

/* An instruction that is made with pages open. */
static WEIR_TLS struct {
    bool on;
    bool traced; /* the program steps by itself */
    unsigned count;
    uintptr_t pages[STEP_PAGES];
    sigset_t mask;   /* the thread's own */
    uintptr_t again; /* faulted last without a reason that was seen, */
    unsigned tries;  /* so often */
} step;

/* Of the process; written once. Text of libraries that access what their callers name. */
static struct {
    struct {
        uintptr_t begin, end;
    } library[LIBRARIES];
    unsigned count;
    uintptr_t own_begin, own_end; /* Weir's */
    struct sigaction previous;    /* of SIGTRAP */
} known;

/* ---- who ---- */

static bool is_library(const char *path)
{
    static const char *const names[] = {"libc.so",     "libm.so",    "ld-linux", "libstdc++.so",
                                        "libgcc_s.so", "libpthread", "libasan",  "libtsan",
                                        "libc++",      "libclang_rt"};
    const char *name = strrchr(path, '/');

    name = name ? name + 1 : path;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    }
    return false;
}

static void note_own(const struct dl_phdr_info *info, const ElfW(Phdr) * p)
{
    uintptr_t begin = info->dlpi_addr + p->p_vaddr, here = (uintptr_t)weir_host_fault_start;

    if (p->p_type != PT_LOAD || here - begin >= p->p_memsz)
        return;
    known.own_begin = begin;
    known.own_end = begin + p->p_memsz;
}

static int note_library(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    for (int i = 0; !known.own_end && i < info->dlpi_phnum; i++)
        note_own(info, &info->dlpi_phdr[i]);
    for (int i = 0; is_library(info->dlpi_name) && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];

        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || known.count == LIBRARIES)
            continue;
        known.library[known.count].begin = info->dlpi_addr + p->p_vaddr;
        known.library[known.count++].end = info->dlpi_addr + p->p_vaddr + p->p_memsz;
    }
    return 0;
}

static bool in_library(uintptr_t pc)
{
    for (unsigned i = 0; i < known.count; i++) {
        if (pc >= known.library[i].begin && pc < known.library[i].end)
            return true;
    }
    return false;
}

/* The first caller of the library's code at pc that is no library's; NULL: unknown. */
static const void *caller_of(uintptr_t pc)
{
    void *frames[FRAMES];
    int count = backtrace(frames, FRAMES), k = 0; /* what it loads was loaded at the start */

    while (k < count && (uintptr_t)frames[k] != pc)
        k++;
    while (k < count && in_library((uintptr_t)frames[k]))
        k++;
    return k < count ? frames[k] : NULL;
}

/* What Weir does for an operation (a value that a stream waits for) or by a call is not the
 * program's access. */
static bool is_own(const void *at)
{
    return (uintptr_t)at >= known.own_begin && (uintptr_t)at < known.own_end;
}

/* The place to tell, as a return address, which places are. *ip: as the unwinder says it. */
static const void *site_of(uintptr_t pc, const void **ip)
{
    const void *caller = in_library(pc) ? caller_of(pc) : NULL;

    *ip = caller ? caller : (const void *)pc;
    return caller ? caller : (const void *)(pc + 1);
}

/* ---- the step ---- */

#if defined(__x86_64__)
static void step_begin(ucontext_t *c, uintptr_t page)
{
    if (!step.on) {
        step.on = true;
        step.traced = c->uc_mcontext.gregs[REG_EFL] & TRAP_FLAG;
        step.count = 0;
        step.mask = c->uc_sigmask;
        /* No handler of the program's may come between, and the trap must not be blocked. */
        sigfillset(&c->uc_sigmask);
        sigdelset(&c->uc_sigmask, SIGTRAP);
        sigdelset(&c->uc_sigmask, SIGSEGV);
        sigdelset(&c->uc_sigmask, SIGBUS);
        sigdelset(&c->uc_sigmask, SIGFPE);
        sigdelset(&c->uc_sigmask, SIGILL);
        c->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
    }
    if (step.count < STEP_PAGES) /* further ones stay open until they are closed anew */
        step.pages[step.count++] = page;
}

static void step_end(ucontext_t *c)
{
    step.on = false;
    c->uc_sigmask = step.mask;
    if (!step.traced)
        c->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    for (unsigned i = 0; i < step.count; i++)
        weir_check_step_end(step.pages[i]);
}

static void on_trap(int signo, siginfo_t *info, void *ucontext)
{
    const struct sigaction *old = &known.previous;
    int saved = errno;

    if (step.on) {
        step_end(ucontext);
        errno = saved;
        if (!step.traced)
            return;
    }
    if (old->sa_flags & SA_SIGINFO)
        old->sa_sigaction(signo, info, ucontext);
    else if (old->sa_handler == SIG_DFL)
        signal(SIGTRAP, SIG_DFL), raise(SIGTRAP);
    else if (old->sa_handler != SIG_IGN)
        old->sa_handler(signo);
}

static bool writes(const ucontext_t *c)
{
    return c->uc_mcontext.gregs[REG_ERR] & ERROR_WRITE;
}

static uintptr_t pc_of(const ucontext_t *c)
{
    return (uintptr_t)c->uc_mcontext.gregs[REG_RIP];
}

/* String functions of the C library read whole vectors, past the end of what they were asked for.
 */
static size_t bytes_of(const ucontext_t *c)
{
    uintptr_t pc = pc_of(c);

    return in_library(pc) && !writes(c) ? 1 : weir_host_insn_bytes((const uint8_t *)pc);
}
#endif

static bool again(uintptr_t address)
{
    step.tries = step.again == address ? step.tries + 1 : 0;
    step.again = address;
    return step.tries < TRIES_MAX;
}

bool weir_host_fault(void *siginfo, void *ucontext)
{
#if defined(__x86_64__)
    uintptr_t address = (uintptr_t)((siginfo_t *)siginfo)->si_addr;
    ucontext_t *c = ucontext;
    const void *at, *ip;
    struct weir_mem_info info;
    size_t bytes;

    if (!weir_check_enabled() || !weir_check_may_watch(address, address + 1))
        return false;
    bytes = bytes_of(c);
    if (weir_mem_has_twin(address)) {
        if (!weir_mem_find((const void *)address, &info))
            return false; /* memory that was given back */
        bytes = WEIR_MIN(bytes, info.base + info.bytes - address);
    }
    at = site_of(pc_of(c), &ip);
    switch (weir_check_fault(address, bytes, writes(c), at, ip,
                             weir_device_runs_here() || is_own(at))) {
    case WEIR_FAULT_STEP:
        step_begin(c, address);
        return true;
    case WEIR_FAULT_AGAIN:
        return again(address);
    default:
        return false;
    }
#else
    (void)siginfo;
    (void)ucontext;
    return false;
#endif
}

static bool io_begin(const void *p, size_t bytes, bool does_write, const char *call, const void *at)
{
    const void *caller = NULL;
    bool held;

    if (!weir_check_enabled() || !weir_check_may_watch((uintptr_t)p, (uintptr_t)p + bytes))
        return false;
    weir_sanitize_intercepted_begin();
    if (in_library((uintptr_t)at)) /* streams of C++, sanitizers */
        caller = caller_of((uintptr_t)at);
    held = weir_check_io_begin(p, bytes, does_write, call, caller ? caller : at);
    weir_sanitize_intercepted_end();
    return held;
}

static void io_end(const void *p, size_t bytes)
{
    weir_sanitize_intercepted_begin();
    weir_check_io_end(p, bytes);
    weir_sanitize_intercepted_end();
}

static void io_gone(const void *p, size_t bytes, bool moves, const char *call, const void *at)
{
    if (!weir_check_enabled() || !weir_check_watches_more() || is_own(at))
        return;
    weir_sanitize_intercepted_begin();
    weir_check_unmapped(p, bytes, !moves, call, at);
    weir_sanitize_intercepted_end();
}

static void io_freed(const void *p, size_t bytes, const char *call, const void *at)
{
    const void *caller = NULL;

    if (!weir_check_enabled() || !weir_check_may_be_registered((uintptr_t)p, SIZE_MAX) ||
        is_own(at))
        return;
    if (!bytes)
        bytes = malloc_usable_size((void *)(uintptr_t)p);
    if (!weir_check_may_be_registered((uintptr_t)p, bytes))
        return;
    weir_sanitize_intercepted_begin();
    if (in_library((uintptr_t)at)) /* delete, containers */
        caller = caller_of((uintptr_t)at);
    weir_check_block_freed(p, bytes, call, caller ? caller : at);
    weir_sanitize_intercepted_end();
}

/* takeover/io.h */
static void claim_io(void)
{
    union {
        void *object;
        void (*claim)(bool (*begin)(const void *, size_t, bool, const char *, const void *),
                      void (*end)(const void *, size_t),
                      void (*gone)(const void *, size_t, bool, const char *, const void *),
                      void (*freed)(const void *, size_t, const char *, const void *));
    } symbol = {.object = dlsym(RTLD_DEFAULT, "weir_io_claim")};

    if (symbol.object)
        symbol.claim(io_begin, io_end, io_gone, io_freed);
}

void weir_host_fault_start(void)
{
#if defined(__x86_64__)
    struct sigaction act = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    void *frames[2];

    (void)backtrace(frames, 2); /* so that handlers find all that it needs in place */
    dl_iterate_phdr(note_library, NULL);
    sigemptyset(&act.sa_mask);
    if (sigaction(SIGTRAP, &act, &known.previous) != 0) {
        weir_log(WEIR_LOG_WARN, "check: SIGTRAP cannot be had: the host's accesses are not seen");
        return;
    }
    weir_check_watch(weir_mem_twin.base, weir_mem_twin.base + weir_mem_twin.bytes);
    if (!weir_mem_force_start())
        weir_log(WEIR_LOG_INFO, "check: /proc/self/mem cannot be written past the protection of "
                                "pages: registered memory is not watched");
    claim_io();
#endif
}
