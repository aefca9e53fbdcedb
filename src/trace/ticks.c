/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/ticks.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"

#define WINDOW   (UINT64_C(1) << 25) /* ticks, about ten milliseconds; times a pace: 64 bits */
#define LONG     (WINDOW / 4)        /* between two looks that all threads take the pace from */
#define SHORT    (WINDOW / 32)       /* that a thread does that knows none */
#define CLOSE    1024u               /* ticks between two looks that enclose one at the system */
#define TRIES    4
#define PACE_MIN (UINT64_C(1) << 28) /* 16 GHz */
#define PACE_MAX (UINT64_C(1) << 36) /* 62 MHz */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool usable;
static _Atomic uint64_t last_pace; /* of any thread; 0: none yet */
static struct {                    /* both, when recording began; immutable from then on */
    uint64_t ticks, ns;
} began;

/* The kernel has compared the processors' counters, and takes its own time from them. */
static void find_usable(void)
{
    char name[16] = "";
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                  O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    usable = read(fd, name, sizeof name - 1) > 0 && strcmp(name, "tsc\n") == 0 &&
             weir_trace_ticks() != 0;
    close(fd);
}

/* Both at one moment. False: the thread was interrupted each time. */
static bool look(uint64_t *ticks, uint64_t *ns)
{
    for (int i = 0; i < TRIES; i++) {
        uint64_t before = weir_trace_ticks(), after;

        *ns = weir_clock_ns();
        after = weir_trace_ticks();
        *ticks = before + (after - before) / 2;
        if (after - before < CLOSE)
            return true;
    }
    return false;
}

void weir_trace_clock_begin(void)
{
    pthread_once(&once, find_usable);
    if (!usable || !look(&began.ticks, &began.ns))
        began.ticks = began.ns = 0;
}

/* Of the time since the last look, or, before the first, since recording began; 0: not to be known
 * from that. What is taken from a short time is good for twice that, and for this thread. */
static uint64_t pace_of(const struct weir_trace_clock *c, uint64_t ticks, uint64_t ns,
                        uint64_t *window)
{
    bool first = !c->seen_ns;
    uint64_t from_ns = first ? began.ns : c->seen_ns, dt = ticks - (first ? began.ticks : c->ticks),
             known = atomic_load_explicit(&last_pace, memory_order_relaxed), pace;

    *window = WINDOW;
    if (!from_ns || dt < (known ? LONG : SHORT) || dt > WINDOW << (first ? 6 : 16) || ns <= from_ns)
        return known;
    pace = (uint64_t)((double)(ns - from_ns) / (double)dt * 4294967296.0);
    /* What another look said differs by a thousandth: the machine slept, or the looks were apart.
     */
    if (pace < PACE_MIN || pace > PACE_MAX ||
        (known && (pace > known ? pace - known : known - pace) > known >> 10)) {
        atomic_store_explicit(&last_pace, 0, memory_order_relaxed);
        return 0;
    }
    if (dt >= LONG)
        atomic_store_explicit(&last_pace, pace, memory_order_relaxed);
    else
        *window = 2 * dt;
    return pace;
}

/* No time was told behind this. (What the window's ticks would say of a later one is not to be
 * relied on: the clock would run ahead, and each look keeps what it has told.) */
static uint64_t told_now(const struct weir_trace_clock *c)
{
    uint64_t since = weir_trace_ticks() - c->ticks;

    return c->ns + (WEIR_MIN(since, c->window) * c->pace >> 32);
}

/* No pace is known, nor to be known from a look now. */
static bool is_too_early(const struct weir_trace_clock *c)
{
    return c->seen_ns && !c->pace && weir_trace_ticks() - c->ticks < SHORT &&
           !atomic_load_explicit(&last_pace, memory_order_relaxed);
}

uint64_t weir_trace_clock_look(struct weir_trace_clock *c)
{
    uint64_t told, ticks, ns, window;
    bool both;

    pthread_once(&once, find_usable);
    if (!usable)
        return weir_clock_ns();
    if (is_too_early(c)) {
        ns = weir_clock_ns();
        return c->ns = WEIR_MAX(c->ns, ns);
    }
    told = told_now(c);
    both = look(&ticks, &ns);
    told = WEIR_MAX(told, ns);
    if (!both) {
        c->ns = told;
        c->pace = c->window = 0; /* in vain: looks again the next time */
        return told;
    }
    c->pace = pace_of(c, ticks, ns, &window);
    c->ticks = ticks;
    c->seen_ns = ns;
    c->ns = told;
    c->window = c->pace ? window : 0;
    return told;
}
