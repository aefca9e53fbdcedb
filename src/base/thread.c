/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum weir_err weir_thread_start(pthread_t *out, const char *name, size_t stack_bytes, void *(*run)(void *),
                                void *arg)
{
    sigset_t all, old;
    pthread_attr_t attr;
    char full[16];
    int rc;

    if (pthread_attr_init(&attr) != 0)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "thread attributes");
    if (stack_bytes)
        pthread_attr_setstacksize(&attr, stack_bytes);
    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGFPE);
    sigdelset(&all, SIGILL);
    sigdelset(&all, SIGTRAP);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(out, &attr, run, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
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
    static WEIR_TLS uint32_t id;

    if (!id)
        id = (uint32_t)syscall(SYS_gettid);
    return id;
}

int weir_cpu_count(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        int n = CPU_COUNT(&set);

        if (n > 0)
            return n;
    }
    return 1;
}
