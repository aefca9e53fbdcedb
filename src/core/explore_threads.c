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
/* Who sleeps for a time as often, and makes no call, looks whether something has changed. */
#define LOOKS_IN_VAIN 4

static struct {
    struct weir_lock lock;                        /* rank LEAF */
    uint32_t owner;                               /* guarded by lock: a thread's id; 0: nobody */
    _Atomic uint32_t news;                        /* futex word: changes with owner and waiting */
    _Atomic uint64_t turns;                       /* written under the lock */
    uint32_t waiting[THREADS_MAX], waiting_count; /* guarded by lock: ids, the eldest first */
    uint32_t busy[THREADS_MAX], busy_count; /* guarded by lock: not waited for until they come */
    uint32_t own[THREADS_MAX], own_count;   /* guarded by lock: threads of Weir's */
    /* guarded by lock: the program's as last listed, the eldest first. Not by their ids: these
     * begin anew when they have reached the system's last. */
    uint32_t listed[THREADS_MAX], listed_count;
    /* guarded by lock: threads that were seen on their way, or waiting for a mutex */
    struct stay {
        uint32_t id;
        uint64_t turns;            /* of which the next four are since */
        uint64_t since_ns, cpu_ns; /* when it was first seen */
        uint64_t sleeps;           /* the same; of who polls, from where it counts */
        bool sleeps_for_a_time, polls;
        uint64_t still_ns, still_sleeps; /* in one sleep: since when, and its number */
    } stays[THREADS_MAX];
    uint32_t stay_count;
    bool was_any_away; /* guarded by lock: other than who polls; pollers have not looked since */
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

enum rest { RUNS, AWAY, ASLEEP, IN_MUTEX, AT_REST };

/* A mutex of pthread's, a lock of libc's or of Weir's: these wait while the word is 2. */
static enum rest futex_rest(const char *arguments)
{
    uintptr_t word, op, value;
    char *end;

    word = strtoull(arguments, &end, 16);
    op = strtoull(end, &end, 16);
    value = strtoull(end, &end, 16);
    if (word == (uintptr_t)&turn.lock.word)
        return RUNS; /* on its way to its turn, and kept from it by us who look */
    return (op & FUTEX_CMD_MASK) == FUTEX_WAIT && value == 2 ? IN_MUTEX : AT_REST;
}

/* AWAY: in a call that takes its time. ASLEEP: for a time. */
static enum rest rest_of(uint32_t id)
{
    char text[128], *end;
    long call;

    if (!read_text(id, "syscall", text, sizeof text)) {
        snprintf(text, sizeof text, "/proc/self/task/%u", id);
        return access(text, F_OK) != 0 ? AT_REST : RUNS; /* it has ended; else nobody may look */
    }
    call = strtol(text, &end, 10);
    if (end == text)
        return RUNS;
    if (call == SYS_futex)
        return futex_rest(end);
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++)
        if (call == waits[i])
            return AT_REST;
    return call == SYS_nanosleep || call == SYS_clock_nanosleep ? ASLEEP : AWAY;
}

bool weir_explore_is_blocked(uint32_t id)
{
    return rest_of(id) >= IN_MUTEX;
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

/* How often it has gone to sleep. */
static uint64_t sleeps_of(uint32_t id)
{
    static const char field[] = "\nvoluntary_ctxt_switches:";
    char text[4096];
    const char *at;

    read_text(id, "status", text, sizeof text);
    at = strstr(text, field);
    return at ? strtoull(at + sizeof field - 1, NULL, 10) : 0;
}

/* Who has no processor does not compute: a busy machine makes nobody impatient. */
static uint64_t cpu_ns_of(uint32_t id)
{
    struct timespec t;

    /* The kernel's name for the clock of a thread: CPUCLOCK_PERTHREAD_MASK, CPUCLOCK_SCHED. */
    if (clock_gettime((clockid_t)(~id << 3 | 6), &t) != 0)
        return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool is_any_own_away_locked(void)
{
    for (uint32_t i = 0; i < turn.own_count; i++)
        if (rest_of(turn.own[i]) < ASLEEP)
            return true;
    return false;
}

/* NULL: too many. */
static struct stay *stay_locked(uint32_t id, enum rest rest)
{
    uint64_t turns = atomic_load_explicit(&turn.turns, memory_order_relaxed);
    uint64_t sleeps = sleeps_of(id);
    struct stay *s = turn.stays;

    while (s < turn.stays + turn.stay_count && s->id != id)
        s++;
    if (s == turn.stays + THREADS_MAX) /* in place of one not seen since the last turn */
        for (s = turn.stays; s < turn.stays + THREADS_MAX && s->turns == turns;)
            s++;
    if (s == turn.stays + THREADS_MAX)
        return NULL;
    if (s == turn.stays + turn.stay_count)
        turn.stay_count++;
    if (s->id != id)
        *s = (struct stay){.id = id, .turns = turns + 1};
    if (s->turns != turns) {
        s->turns = turns;
        s->since_ns = weir_clock_ns();
        s->cpu_ns = cpu_ns_of(id);
        s->sleeps = sleeps;
        s->sleeps_for_a_time = s->polls = false;
    }
    s->sleeps_for_a_time = s->sleeps_for_a_time || rest == ASLEEP;
    if (rest == RUNS || !s->still_ns || s->still_sleeps != sleeps) {
        s->still_ns = weir_clock_ns();
        s->still_sleeps = sleeps;
    }
    return s;
}

/* It waits for a mutex: is it the program's, so that this may last? */
static bool is_mutex_rest_locked(uint32_t id)
{
    const struct stay *s = stay_locked(id, IN_MUTEX);
    uint64_t still = s ? weir_clock_ns() - s->still_ns : MUTEX_BUSY_NS;

    return still >= MUTEX_BUSY_NS || (still >= MUTEX_NS && !is_any_own_away_locked());
}

/* A thread that polls, with pauses, is at rest when it has looked some times since the last that
 * did anything else came to rest. */
static bool polls_in_vain_locked(uint32_t id, enum rest rest)
{
    struct stay *s = stay_locked(id, rest);

    if (!s)
        return true;
    if (s->sleeps_for_a_time && s->still_sleeps - s->sleeps >= LOOKS_IN_VAIN) {
        s->polls = true;
        return true;
    }
    turn.was_any_away = turn.was_any_away || !s->polls;
    return false;
}

/* asleep: those that sleep for a time count, too. */
static bool is_at_rest_locked(uint32_t id, bool asleep)
{
    enum rest rest = rest_of(id);

    if (rest == AT_REST || (asleep && rest == ASLEEP))
        return true;
    return rest == IN_MUTEX ? is_mutex_rest_locked(id) : polls_in_vain_locked(id, rest);
}

/* Lists the program's threads. The kernel has them in the order of their creation. */
static void list_locked(void)
{
    DIR *dir = opendir("/proc/self/task");
    struct dirent *e;

    turn.listed_count = 0;
    while (dir && (e = readdir(dir)) && turn.listed_count < THREADS_MAX) {
        uint32_t id = (uint32_t)strtoul(e->d_name, NULL, 10);

        if (id && !is_own_locked(id))
            turn.listed[turn.listed_count++] = id;
    }
    if (dir)
        closedir(dir);
}

static uint32_t age_locked(uint32_t id)
{
    uint32_t i = 0;

    while (i < turn.listed_count && turn.listed[i] != id)
        i++;
    return i;
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

/* All have come to rest, but those who poll may not have seen yet what the last of the others did:
 * they look again. One of them; 0: none. */
static uint32_t look_again_locked(void)
{
    uint64_t turns = atomic_load_explicit(&turn.turns, memory_order_relaxed);
    uint32_t id = 0;

    for (uint32_t i = 0; turn.was_any_away && i < turn.stay_count; i++) {
        struct stay *s = &turn.stays[i];

        if (s->turns == turns && s->polls && !is_in(turn.waiting, turn.waiting_count, s->id) &&
            rest_of(s->id) != AT_REST) {
            id = s->id;
            s->sleeps = sleeps_of(id);
        }
    }
    turn.was_any_away = false;
    return id;
}

/* The first thread, other than `me`, that is on its way; 0: none. */
static uint32_t on_its_way_locked(uint32_t me, bool asleep)
{
    uint32_t first = 0;

    list_locked();
    for (uint32_t i = 0; i < turn.listed_count; i++) {
        uint32_t id = turn.listed[i];
        bool was_any = turn.was_any_away;

        if (id == me || is_in(turn.waiting, turn.waiting_count, id))
            continue;
        if (is_at_rest_locked(id, asleep))
            drop_from(turn.busy, &turn.busy_count, id);
        else if (is_in(turn.busy, turn.busy_count, id))
            turn.was_any_away = was_any; /* nobody waits for it */
        else if (!first)
            first = id;
    }
    return first ? first : look_again_locked();
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
    turn.was_any_away = true;
    atomic_fetch_add_explicit(&turn.turns, 1, memory_order_relaxed);
}

static void come_locked(uint32_t me)
{
    uint32_t i = turn.waiting_count, age;

    drop_from(turn.busy, &turn.busy_count, me);
    if (turn.waiting_count == THREADS_MAX)
        return;
    list_locked();
    age = age_locked(me);
    for (; i > 0 && age_locked(turn.waiting[i - 1]) > age; i--)
        turn.waiting[i] = turn.waiting[i - 1];
    turn.waiting[i] = me;
    turn.waiting_count++;
}

/* Does it compute, or wait for what nobody here knows, for too long to be waited for? */
static bool is_too_long_locked(uint32_t id)
{
    enum rest rest = rest_of(id);
    const struct stay *s = stay_locked(id, rest);

    if (!s || weir_clock_ns() - s->since_ns >= WEIR_EXPLORE_PATIENCE_MAX_NS)
        return true;
    if (rest == RUNS)
        return cpu_ns_of(id) >= s->cpu_ns + WEIR_EXPLORE_PATIENCE_NS; /* 0: it has just ended */
    return weir_clock_ns() - WEIR_MAX(s->still_ns, s->since_ns) >= WEIR_EXPLORE_PATIENCE_NS;
}

/* True: somebody has the turn now. */
static bool choose_locked(void)
{
    uint32_t late = unsettled_locked(0), chosen;

    if (late) {
        if (!is_too_long_locked(late))
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
            chosen = choose_locked();
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
