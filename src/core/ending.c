/* See ending.h. A thread of Weir's writes the report, because who ends the process may be a signal
 * handler, which interrupted anything. It also keeps a draft of it, for ends that nobody is told of
 * (SIGKILL).
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/ending.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ends.h"
#include "base/log.h"
#include "base/thread.h"
#include "core/check.h"
#include "core/core.h"
#include "core/explore.h"
#include "core/stream.h"
#include "core/thread.h"

#define STACK_BYTES ((size_t)1 << 20)
#define LIMIT_NS    (DRAIN_NS + 10000000000u) /* for the report */
#define DRAFTS_NS   500000000u                /* from one draft to the next */

enum { NOBODY, ASKED, WRITTEN };

static struct {
    _Atomic bool started;
    _Atomic pid_t process; /* whose end it is; not that of a child by vfork */
    _Atomic uint32_t thread;
    _Atomic uint32_t turn; /* futex: there is something to do, or it is done */
    _Atomic uint32_t asked, drain, found;
} ending;

static void turn(void)
{
    atomic_fetch_add(&ending.turn, 1);
    weir_futex_wake(&ending.turn, INT_MAX);
}

static void drain(void)
{
    for (int i = 0; i < atomic_load(&weir_core.context_count); i++) {
        if (atomic_load(&weir_core.contexts[i].active))
            (void)weir_wait_drain(&weir_core.contexts[i]);
    }
}

static void *run(void *arg)
{
    uint64_t drafted_ns = 0;
    uint32_t drafted = 0;

    (void)arg;
    weir_thread_ready();
    atomic_store(&ending.thread, weir_thread_id());
    for (;;) {
        uint32_t seen = atomic_load(&ending.turn), found = atomic_load(&ending.found);
        uint64_t now = weir_clock_ns(), left = UINT64_MAX;

        if (atomic_load(&ending.asked) == ASKED)
            break;
        if (found != drafted && now - drafted_ns >= DRAFTS_NS) {
            weir_check_note_draft();
            drafted = found;
            drafted_ns = now;
            continue;
        }
        if (found != drafted)
            left = drafted_ns + DRAFTS_NS - now;
        (void)weir_futex_wait(&ending.turn, seen, left);
    }
    if (atomic_load(&ending.drain))
        drain();
    (void)weir_check_finish();
    atomic_store(&ending.asked, WRITTEN);
    turn();
    return NULL;
}

/* Of another program's end, or of one that is not looked at. */
static bool is_other(void)
{
    return getpid() != atomic_load(&ending.process) ||
           weir_thread_id() == atomic_load(&ending.thread);
}

/* The report is written when it returns, or cannot be. Async-signal-safe. */
static void report(bool drains)
{
    uint32_t nobody = NOBODY, seen;
    uint64_t end = weir_clock_ns() + LIMIT_NS, now;

    if (drains)
        atomic_store(&ending.drain, 1);
    if (atomic_compare_exchange_strong(&ending.asked, &nobody, ASKED))
        turn();
    for (;;) {
        seen = atomic_load(&ending.turn);
        now = weir_clock_ns();
        if (atomic_load(&ending.asked) == WRITTEN || now >= end)
            return;
        (void)weir_futex_wait(&ending.turn, seen, end - now);
    }
}

/* Work that is not done is as in an exit: unless it is this thread that keeps it. */
static bool may_drain(void)
{
    return !weir_thread.host_func &&
           atomic_load_explicit(&weir_thread.call, memory_order_relaxed) & WEIR_CALL_NONE;
}

/* Then it ends with the checker's status, or as it would. */
static int reported(int otherwise)
{
    bool own;

    report(may_drain());
    return weir_check_finishing(&own) && weir_check_finish() ? weir_check_status() : otherwise;
}

/* base/ends.h: the status that it ends with. */
static int on_end(int status)
{
    bool own;

    if (is_other() || (weir_check_finishing(&own) && own))
        return status;
    return reported(status);
}

static int on_signal(int signo)
{
    bool own;

    if (is_other())
        return WEIR_ENDS_BY_SIGNAL;
    if ((weir_check_finishing(&own) && own) || weir_check_puts_off(signo))
        return WEIR_ENDS_LATER;
    return reported(WEIR_ENDS_BY_SIGNAL);
}

/* Behind the program's own: it was the first to be asked for. */
static void on_quick_exit(void)
{
    int status = on_end(-1);

    if (status >= 0)
        _exit(status);
}

static void found(void)
{
    atomic_fetch_add(&ending.found, 1);
    turn();
}

void weir_ending_start(void)
{
    union {
        void *object;
        weir_ends_claim_fn *claim;
    } ends, signals;
    pthread_t thread;

    if (!weir_check_reports() || atomic_exchange(&ending.started, true))
        return;
    if (weir_thread_start(&thread, "report", STACK_BYTES, run, NULL) != WEIR_OK) {
        weir_log(WEIR_LOG_WARN, "check: no thread: only a program that ends by exit is reported");
        return;
    }
    pthread_detach(thread);
    atomic_store(&ending.process, getpid());
    weir_check_on_found(found);
    ends.object = dlsym(RTLD_DEFAULT, "weir_ends_claim");
    signals.object = dlsym(RTLD_DEFAULT, "weir_signals_claim_ends");
    if (ends.object)
        ends.claim(on_end);
    if (signals.object)
        signals.claim(on_signal);
    if (at_quick_exit(on_quick_exit) != 0)
        weir_log(WEIR_LOG_WARN, "check: a program that ends by quick_exit is not reported");
}

void weir_ending_forked(void)
{
    atomic_store(&ending.process, 0);
}
