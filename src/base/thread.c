/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/tsan.h"

#define NICE 10
/* A fork waits no longer than this for threads that begin: they need microseconds, or, when they
 * load a library, milliseconds. */
#define FORK_PATIENCE_NS UINT64_C(2000000000)

/* What a thread that begins is told. Not from the heap: a worker starts also when that is full. */
struct begin {
    _Atomic bool taken;
    void *(*run)(void *);
    void *arg;
};

static WEIR_TLS bool is_own, is_ready;
static WEIR_TLS uint32_t own_id;   /* 0: not asked for yet */
static _Atomic uint32_t beginning; /* threads started, not ready yet; futex word */
static _Atomic uint32_t own_count;
static struct begin begins[32]; /* freed by the thread, when it has read its own */
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

/* ---- forks ---- */

static void fork_prepare(void)
{
    uint64_t deadline = weir_clock_ns() + FORK_PATIENCE_NS, now;
    uint32_t count, mine = is_own && !is_ready;

    while ((count = atomic_load(&beginning)) > mine && (now = weir_clock_ns()) < deadline)
        weir_futex_wait(&beginning, count, deadline - now);
}

static void fork_in_child(void)
{
    own_id = 0; /* a thread of a new process */
    atomic_store(&own_count, 0);
    atomic_store(&beginning, 0); /* they are the parent's */
    for (size_t i = 0; i < WEIR_ARRAY_SIZE(begins); i++)
        atomic_store(&begins[i].taken, false);
}

static void fork_watch(void)
{
    if (pthread_atfork(fork_prepare, NULL, fork_in_child) != 0)
        weir_log(WEIR_LOG_WARN, "a fork will not wait for threads that begin");
}

static void begin_count(void)
{
    atomic_fetch_add(&beginning, 1);
}

static void begin_discount(void)
{
    atomic_fetch_sub(&beginning, 1);
    weir_futex_wake(&beginning, INT_MAX);
}

/* ---- threads ---- */

void weir_thread_be_nice(void)
{
    /* Linux keeps this by thread; on failure it is only less polite */
    (void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
}

void weir_thread_ready(void)
{
    if (!is_own || is_ready)
        return;
    is_ready = true;
    begin_discount();
}

uint32_t weir_thread_own_count(void)
{
    uint32_t n = atomic_load(&own_count);

    return n <= INT_MAX ? n : 0; /* one that ended before it was counted */
}

bool weir_thread_is_own(void)
{
    return is_own;
}

static struct begin *begin_take(void)
{
    for (size_t i = 0;; i = (i + 1) % WEIR_ARRAY_SIZE(begins)) {
        if (!atomic_exchange(&begins[i].taken, true))
            return &begins[i];
        if (i + 1 == WEIR_ARRAY_SIZE(begins))
            sched_yield(); /* as many threads were started in this moment */
    }
}

static void *begin(void *arg)
{
    struct begin *b = arg;
    void *(*run)(void *) = b->run, *result;

    is_own = true;
    arg = b->arg;
    atomic_store(&b->taken, false);
    weir_tsan_ignore_begin();
    result = run(arg);
    weir_tsan_ignore_end();
    weir_thread_ready();
    atomic_fetch_sub(&own_count, 1);
    return result;
}

enum weir_err weir_thread_start(pthread_t *out, const char *name, size_t stack_bytes,
                                void *(*run)(void *), void *arg)
{
    sigset_t all, old;
    struct begin *b;
    pthread_attr_t attr;
    char full[16];
    int rc;

    if (pthread_attr_init(&attr) != 0)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "thread attributes");
    b = begin_take();
    b->run = run;
    b->arg = arg;
    pthread_once(&fork_once, fork_watch);
    if (stack_bytes)
        pthread_attr_setstacksize(&attr, stack_bytes);
    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGFPE);
    sigdelset(&all, SIGILL);
    sigdelset(&all, SIGTRAP);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    begin_count();
    rc = pthread_create(out, &attr, begin, b);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    if (rc == 0) {
        atomic_fetch_add(&own_count, 1);
    } else {
        begin_discount();
        atomic_store(&b->taken, false);
    }
    if (rc != 0)
        return WEIR_FAIL(rc == EAGAIN ? WEIR_ERR_OPERATING_SYSTEM : WEIR_ERR_MEMORY_ALLOCATION,
                         "cannot start thread %s: error %d", name, rc);
    snprintf(full, sizeof full, "weir-%s", name);
    pthread_setname_np(*out, full);
    return WEIR_OK;
}

bool weir_futex_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns)
{
    struct timespec t, *tp = NULL;
    int saved = errno;
    long rc;

    if (timeout_ns != UINT64_MAX) {
        t.tv_sec = (time_t)(timeout_ns / 1000000000u);
        t.tv_nsec = (long)(timeout_ns % 1000000000u);
        tp = &t;
    }
    rc = syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, tp, NULL, 0);
    if (rc < 0 && errno == ETIMEDOUT) {
        errno = saved;
        return false;
    }
    errno = saved;
    return true;
}

void weir_futex_wake(_Atomic uint32_t *word, int count)
{
    int saved = errno;

    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
    errno = saved;
}

uint32_t weir_thread_id(void)
{
    if (WEIR_UNLIKELY(!own_id)) {
        pthread_once(&fork_once, fork_watch);
        own_id = (uint32_t)syscall(SYS_gettid);
    }
    return own_id;
}

/* CPUs' worth of time that the container allows, rounded up; INT_MAX without a limit. */
static int cpu_quota(void)
{
    long quota = -1, period = 0;
    FILE *f = fopen("/sys/fs/cgroup/cpu.max", "re"); /* "max 100000" or "150000 100000" */

    if (f) {
        if (fscanf(f, "%ld %ld", &quota, &period) != 2)
            quota = -1;
        fclose(f);
    } else if ((f = fopen("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "re"))) { /* version 1; -1: none */
        if (fscanf(f, "%ld", &quota) != 1)
            quota = -1;
        fclose(f);
        period = 100000;
    }
    if (quota <= 0 || period <= 0)
        return INT_MAX;
    return (int)WEIR_MIN((quota + period - 1) / period, (long)INT_MAX);
}

int weir_cpu_count(void)
{
    cpu_set_t set;
    int n = 1;

    if (sched_getaffinity(0, sizeof set, &set) == 0)
        n = WEIR_MAX(CPU_COUNT(&set), 1);
    return WEIR_MIN(n, cpu_quota());
}
