/* See watch.h. `weir where` connects to an abstract socket that is named after the process, and
 * reads the report to its end; nothing is sent. Only the same user and root are answered. The
 * socket's number lies high, out of the way of programs that count on the low ones; a program that
 * closes it only loses `weir where`.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "core/check.h"
#include "core/core.h"
#include "core/inject.h"
#include "core/where.h"

#define REPORT_BYTES  65536
#define STACK_BYTES   ((size_t)256 << 10)
#define SOCKET_FROM   700 /* lowest number of the socket */
#define LOOKS         20  /* unchanged in a row that are a standstill; at least so many */
#define LOOK_MAX_MS   1000
#define CHECK_LOOK_MS 100 /* in weir check, for circles of waits alone */

static struct {
    _Atomic bool started;
    int fd;           /* -1: none. Written before the thread starts; closed by a forked child */
    ino_t inode;      /* of fd: is the number still ours? */
    char *report;     /* owned; the thread's */
    uint64_t sign;    /* the thread's: last look, and how often it was the same */
    uint32_t repeats; /* the thread's */
} watch = {.fd = -1};

/* ---- the socket ---- */

static int make_socket(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), high;
    int n = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, WEIR_WATCH_SOCKET, (int)getpid());

    if (fd < 0)
        return -1;
    high = fcntl(fd, F_DUPFD_CLOEXEC, SOCKET_FROM);
    if (high >= 0) {
        close(fd);
        fd = high;
    }
    if (bind(fd, (struct sockaddr *)&name,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) == 0 &&
        listen(fd, 4) == 0)
        return fd;
    close(fd);
    return -1;
}

static bool is_ours(void)
{
    struct stat st;

    return watch.fd >= 0 && fstat(watch.fd, &st) == 0 && S_ISSOCK(st.st_mode) &&
           st.st_ino == watch.inode;
}

static bool may_ask(int fd)
{
    struct ucred who;
    socklen_t n = sizeof who;

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0 &&
           (who.uid == geteuid() || who.uid == 0);
}

/* All of it, or as much as the other side takes. */
static void send_all(int fd, const char *text, size_t bytes)
{
    while (bytes) {
        ssize_t n = send(fd, text, bytes, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        text += n;
        bytes -= (size_t)n;
    }
}

static void answer(void)
{
    struct timeval limit = {.tv_sec = 5}; /* for who asks and does not read */
    int fd = accept4(watch.fd, NULL, NULL, SOCK_CLOEXEC);

    if (fd < 0)
        return;
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (may_ask(fd))
        send_all(fd, watch.report, weir_where_report(watch.report, REPORT_BYTES));
    close(fd);
}

/* ---- --hang ---- */

/* Exit handlers and destructors would hang with the rest, so the process ends without them. */
static WEIR_NORETURN void end_process(void)
{
    size_t n = weir_where_report(watch.report, REPORT_BYTES);

    weir_log(WEIR_LOG_ERROR, "nothing has advanced for %g seconds in process %d (--hang):",
             (double)weir_core.config.hang_ns * 1e-9, (int)getpid());
    weir_log_write(watch.report, n);
    _exit(WEIR_WATCH_EXIT);
}

/* A circle of waits is a finding of weir check, which would never see the program's end. */
static void end_if_deadlocked(void)
{
    uint32_t thread;
    const struct weir_op *op;

    if (weir_where_deadlock(watch.report, REPORT_BYTES, &thread, &op))
        weir_check_deadlock(watch.report, thread, op ? weir_core_check_of(op) : NULL);
}

/* Looks are counted, not time: a process that was stopped, or a machine that slept, did not hang.
 */
static void look(void)
{
    struct weir_where_progress p;

    if (atomic_load(&weir_core.state) != WEIR_CORE_READY)
        return;
    weir_where_look(&p);
    if (!p.is_pending || p.compiles || p.sign != watch.sign)
        watch.repeats = 0;
    else
        watch.repeats++;
    watch.sign = p.sign;
    if (watch.repeats >= LOOKS && watch.repeats % LOOKS == 0 && weir_check_reports())
        end_if_deadlocked();
    if (weir_core.config.hang_ns && watch.repeats >= LOOKS &&
        watch.repeats >= weir_core.config.hang_ns / ((uint64_t)LOOK_MAX_MS * 1000000))
        end_process();
}

/* Milliseconds between looks, -1: none. */
static int look_ms(void)
{
    uint64_t ms = weir_core.config.hang_ns / 1000000 / LOOKS;

    if (!weir_core.config.hang_ns)
        return weir_check_reports() ? CHECK_LOOK_MS : -1;
    return (int)WEIR_MAX(WEIR_MIN(ms, (uint64_t)LOOK_MAX_MS), (uint64_t)1);
}

/* Milliseconds until there is something to do. */
static int wait_ms(uint64_t device_ns)
{
    int look = look_ms(), ms;

    if (device_ns == UINT64_MAX)
        return look;
    ms = (int)WEIR_MIN(device_ns / 1000000 + 1, (uint64_t)INT_MAX);
    return look < 0 ? ms : WEIR_MIN(look, ms);
}

static void *run(void *arg)
{
    (void)arg;
    weir_thread_ready();
    for (;;) {
        struct pollfd p = {.fd = is_ours() ? watch.fd : -1, .events = POLLIN};
        uint64_t device_ns = weir_inject_devices(weir_clock_ns());
        int n, ms = wait_ms(device_ns);

        if (p.fd < 0 && look_ms() < 0 && device_ns == UINT64_MAX)
            break;
        n = poll(&p, 1, ms);
        if (n > 0 && p.revents & POLLIN && is_ours())
            answer();
        else if (n > 0) /* the program closed the number */
            watch.fd = -1;
        else if (n == 0 && ms == look_ms())
            look();
    }
    return NULL;
}

/* ---- start ---- */

static void fail(const char *what)
{
    weir_log(weir_core.config.hang_ns ? WEIR_LOG_WARN : WEIR_LOG_INFO,
             "%s: `weir where` and --hang do not work for this process", what);
}

void weir_watch_start(void)
{
    struct stat st;
    pthread_t thread;

    if (atomic_exchange(&watch.started, true))
        return;
    watch.report = weir_alloc(REPORT_BYTES);
    if (!watch.report) {
        fail("no memory");
        return;
    }
    watch.fd = make_socket();
    if (watch.fd >= 0 && fstat(watch.fd, &st) == 0)
        watch.inode = st.st_ino;
    if (watch.fd < 0)
        fail("no socket");
    if (weir_thread_start(&thread, "watch", STACK_BYTES, run, NULL) == WEIR_OK)
        pthread_detach(thread);
    else
        fail("no thread");
}

void weir_watch_forked(void)
{
    if (is_ours())
        close(watch.fd);
    watch.fd = -1;
}
