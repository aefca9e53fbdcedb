/* See explore_int.h. The program's threads are not controlled, only their calls: a thread that
 * begins one waits until every other thread of the program waits here as well or sleeps in the
 * kernel, and then the schedule says who goes on. That does not depend on how fast they are, as
 * long as nobody computes for longer than the patience.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "core/explore_int.h"

#define THREADS_MAX 256
#define LOOK_NS     200000u
#define SLEEP_NS    5000000u
#define IDLE_LOOKS  4
/* Who waits for a mutex gets on at once when a thread of Weir's has it (an allocator's, the
 * loader's, one of Weir's own), unless that is kept from its processor. */
#define MUTEX_NS      3000000u
#define MUTEX_BUSY_NS 50000000u /* while threads of Weir's run */

static struct {
    struct weir_lock lock;                        /* rank LEAF */
    uint32_t owner;                               /* guarded by lock: a thread's id; 0: nobody */
    _Atomic uint32_t news;                        /* futex word: changes with owner and waiting */
    _Atomic uint64_t turns;                       /* written under the lock */
    uint32_t waiting[THREADS_MAX], waiting_count; /* guarded by lock: ids, ascending */
    uint32_t busy[THREADS_MAX], busy_count; /* guarded by lock: not waited for until they come */
    uint32_t own[THREADS_MAX], own_count;   /* guarded by lock: threads of Weir's */
    /* guarded by lock: who waits for a mutex, since when, and how often it had slept then */
    struct mutex_wait {
        uint32_t id;
        uint64_t since_ns, sleeps;
    } mutexes[THREADS_MAX];
    uint32_t mutex_count;
} turn = {.lock = WEIR_LOCK_INIT(LEAF)};

/* ---- threads of this process ---- */

static bool is_in(const uint32_t *list, uint32_t count, uint32_t id)
{
    for (uint32_t i = 0; i < count; i++)
        if (list[i] == id)
            return true;
    return false;
}

static void drop_from(uint32_t *list, uint32_t *count, uint32_t id)
{
    for (uint32_t i = 0; i < *count; i++) {
        if (list[i] != id)
            continue;
        memmove(list + i, list + i + 1, (--*count - i) * sizeof list[0]);
        return;
    }
}

static bool read_text(uint32_t id, const char *file, char *out, size_t room)
{
    char path[64];
    ssize_t n;
    int fd;

    snprintf(path, sizeof path, "/proc/self/task/%u/%s", id, file);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd >= 0 ? read(fd, out, room - 1) : -1;
    if (fd >= 0)
        close(fd);
    out[n > 0 ? n : 0] = 0;
    return n > 0;
}

/* Calls that end by what others do; not those that only take their time. */
static const long waits[] = {
    SYS_futex,       SYS_poll,     SYS_ppoll,   SYS_select, SYS_pselect6,      SYS_epoll_wait,
    SYS_epoll_pwait, SYS_wait4,    SYS_waitid,  SYS_pause,  SYS_rt_sigsuspend, SYS_rt_sigtimedwait,
    SYS_accept,      SYS_recvfrom, SYS_recvmsg,
};

enum rest { AWAY, IN_MUTEX, AT_REST };

/* A mutex of pthread's, a lock of libc's or of Weir's: these wait while the word is 2. */
static enum rest futex_rest(const char *arguments)
{
    uintptr_t word, op, value;
    char *end;

    word = strtoull(arguments, &end, 16);
    op = strtoull(end, &end, 16);
    value = strtoull(end, &end, 16);
    if (word == (uintptr_t)&turn.lock.word)
        return AWAY; /* on its way to its turn, and kept from it by us who look */
    return (op & FUTEX_CMD_MASK) == FUTEX_WAIT && value == 2 ? IN_MUTEX : AT_REST;
}

/* asleep: those that sleep for a time count, too. */
static enum rest rest_of(uint32_t id, bool asleep)
{
    char text[128], *end;
    long call;

    if (!read_text(id, "syscall", text, sizeof text)) {
        snprintf(text, sizeof text, "/proc/self/task/%u", id);
        return access(text, F_OK) != 0 ? AT_REST : AWAY; /* it has ended; else nobody may look */
    }
    call = strtol(text, &end, 10);
    if (end != text && call == SYS_futex)
        return futex_rest(end);
    for (size_t i = 0; end != text && i < sizeof waits / sizeof waits[0]; i++)
        if (call == waits[i])
            return AT_REST;
    return asleep && end != text && (call == SYS_nanosleep || call == SYS_clock_nanosleep) ? AT_REST
                                                                                           : AWAY;
}

bool weir_explore_is_blocked(uint32_t id)
{
    return rest_of(id, false) != AWAY;
}

static bool is_own_locked(uint32_t id)
{
    char name[32];

    if (is_in(turn.own, turn.own_count, id))
        return true;
    if (!read_text(id, "comm", name, sizeof name) || strncmp(name, "weir-", 5) != 0)
        return false;
    if (turn.own_count < THREADS_MAX)
        turn.own[turn.own_count++] = id;
    return true;
}

/* How often it has gone to sleep or lost its processor. */
static uint64_t sleeps_of(uint32_t id)
{
    char text[4096];
    const char *at = text;
    uint64_t sum = 0;

    read_text(id, "status", text, sizeof text);
    while ((at = strstr(at, "ctxt_switches:")) != NULL)
        sum += strtoull(at += sizeof "ctxt_switches:" - 1, NULL, 10);
    return sum;
}

static bool is_any_own_away_locked(void)
{
    for (uint32_t i = 0; i < turn.own_count; i++)
        if (rest_of(turn.own[i], true) == AWAY)
            return true;
    return false;
}

/* It waits for a mutex: is it the program's, so that this may last? */
static bool is_mutex_rest_locked(uint32_t id)
{
    uint64_t now = weir_clock_ns(), sleeps = sleeps_of(id);
    struct mutex_wait *m = turn.mutexes;

    while (m < turn.mutexes + turn.mutex_count && m->id != id)
        m++;
    if (m == turn.mutexes + THREADS_MAX)
        return true;
    if (m == turn.mutexes + turn.mutex_count) {
        turn.mutex_count++;
        *m = (struct mutex_wait){.id = id, .since_ns = now, .sleeps = sleeps};
    } else if (m->sleeps != sleeps) {
        m->since_ns = now;
        m->sleeps = sleeps;
    }
    return now - m->since_ns >= MUTEX_BUSY_NS ||
           (now - m->since_ns >= MUTEX_NS && !is_any_own_away_locked());
}

/* asleep: as rest_of. */
static bool is_at_rest_locked(uint32_t id, bool asleep)
{
    enum rest rest = rest_of(id, asleep);

    return rest == IN_MUTEX ? is_mutex_rest_locked(id) : rest == AT_REST;
}

/* The program's threads, ascending. */
static uint32_t list_locked(uint32_t ids[THREADS_MAX])
{
    DIR *dir = opendir("/proc/self/task");
    uint32_t count = 0;
    struct dirent *e;

    while (dir && (e = readdir(dir)) && count < THREADS_MAX) {
        uint32_t id = (uint32_t)strtoul(e->d_name, NULL, 10);

        if (id && !is_own_locked(id))
            ids[count++] = id;
    }
    if (dir)
        closedir(dir);
    return count;
}

/* True when the program has one thread; cheap. */
static bool is_alone(void)
{
    uint32_t own = weir_thread_own_count(); /* first: those that end meanwhile are no others */
    struct stat st;

    /* A folder's links: 2, and one for each folder in it, here for each thread. */
    return stat("/proc/self/task", &st) == 0 && (uint64_t)st.st_nlink <= (uint64_t)own + 3 &&
           st.st_nlink > 2;
}

/* ---- have they all come to rest? ---- */

/* The first thread, other than `me`, that is on its way; 0: none. */
static uint32_t on_its_way_locked(uint32_t me, bool asleep)
{
    uint32_t ids[THREADS_MAX], count = list_locked(ids);

    for (uint32_t i = 0; i < count; i++) {
        if (ids[i] == me || is_in(turn.waiting, turn.waiting_count, ids[i]))
            continue;
        if (is_at_rest_locked(ids[i], asleep))
            drop_from(turn.busy, &turn.busy_count, ids[i]);
        else if (!is_in(turn.busy, turn.busy_count, ids[i]))
            return ids[i];
    }
    return 0;
}

/* Two looks: who was woken by a thread that the first look met later shows in the second. (Who
 * waits here cannot wake anybody.) */
static uint32_t unsettled_locked(uint32_t me)
{
    uint32_t id = on_its_way_locked(me, false);

    return id ? id : on_its_way_locked(me, false);
}

/* ---- turns ---- */

static void tell(void)
{
    atomic_fetch_add_explicit(&turn.news, 1, memory_order_release);
    weir_futex_wake(&turn.news, INT_MAX);
}

static void own_locked(uint32_t id)
{
    turn.owner = id;
    atomic_fetch_add_explicit(&turn.turns, 1, memory_order_relaxed);
}

static void come_locked(uint32_t me)
{
    uint32_t i = turn.waiting_count;

    drop_from(turn.busy, &turn.busy_count, me);
    if (turn.waiting_count == THREADS_MAX)
        return;
    for (; i > 0 && turn.waiting[i - 1] > me; i--)
        turn.waiting[i] = turn.waiting[i - 1];
    turn.waiting[i] = me;
    turn.waiting_count++;
}

/* Those that compute since `since` are not waited for. True: somebody has the turn now. */
static bool choose_locked(uint64_t since)
{
    uint32_t late = unsettled_locked(0), chosen;

    if (late) {
        if (weir_clock_ns() - since < WEIR_EXPLORE_PATIENCE_NS)
            return false;
        weir_explore_inexact("a thread computed for long between calls");
        if (turn.busy_count < THREADS_MAX)
            turn.busy[turn.busy_count++] = late;
        return false;
    }
    chosen = turn.waiting[weir_explore_pick_thread(turn.waiting_count)];
    drop_from(turn.waiting, &turn.waiting_count, chosen);
    own_locked(chosen);
    return true;
}

void weir_explore_turn_take(void)
{
    uint32_t me = weir_thread_id();
    uint64_t since = weir_clock_ns();
    bool came = false;

    for (;;) {
        uint32_t news = atomic_load_explicit(&turn.news, memory_order_acquire);
        bool first, chosen = false;

        weir_lock_acquire(&turn.lock);
        if (!came && !turn.owner && !turn.waiting_count && is_alone())
            own_locked(me);
        if (!came && turn.owner != me)
            come_locked(me);
        came = true;
        first = !turn.owner && turn.waiting_count && turn.waiting[0] == me;
        if (first)
            chosen = choose_locked(since);
        if (turn.owner == me || turn.waiting_count == THREADS_MAX) {
            weir_lock_release(&turn.lock);
            return;
        }
        weir_lock_release(&turn.lock);
        if (chosen)
            tell();
        else
            weir_futex_wait(&turn.news, news, first ? LOOK_NS : SLEEP_NS);
    }
}

void weir_explore_turn_give(void)
{
    bool others;

    weir_lock_acquire(&turn.lock);
    if (turn.owner == weir_thread_id())
        turn.owner = 0;
    others = turn.waiting_count != 0;
    weir_lock_release(&turn.lock);
    if (others)
        tell();
}

bool weir_explore_turn_is_mine(void)
{
    bool mine;

    weir_lock_acquire(&turn.lock);
    mine = turn.owner == weir_thread_id();
    weir_lock_release(&turn.lock);
    return mine;
}

/* Several looks: a thread may sleep for a moment, for a lock of the allocator's. */
bool weir_explore_turn_take_idle(bool asleep)
{
    uint32_t me = weir_thread_id();
    uint64_t turns = weir_explore_turns();
    bool idle = true;

    for (int i = 0; i < IDLE_LOOKS && idle; i++) {
        if (i)
            nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
        weir_lock_acquire(&turn.lock);
        idle = !turn.owner && !turn.waiting_count && weir_explore_turns() == turns &&
               on_its_way_locked(me, asleep) == 0;
        if (idle && i == IDLE_LOOKS - 1)
            own_locked(me);
        weir_lock_release(&turn.lock);
    }
    return idle;
}

bool weir_explore_turn_take_free(void)
{
    bool free;

    weir_lock_acquire(&turn.lock);
    free = !turn.owner && !turn.waiting_count;
    if (free)
        own_locked(weir_thread_id());
    weir_lock_release(&turn.lock);
    return free;
}

uint64_t weir_explore_turns(void)
{
    return atomic_load_explicit(&turn.turns, memory_order_relaxed);
}
