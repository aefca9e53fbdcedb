/* See race.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/race.h"

#if defined(WEIR_CHECKS)

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "base/compiler.h"

static _Atomic(void (*)(enum weir_race_place)) watch;
static _Atomic uint64_t next_seed;
static WEIR_TLS uint64_t state;

void weir_race_watch(void (*watcher)(enum weir_race_place))
{
    atomic_store(&watch, watcher);
}

void weir_race_at(enum weir_race_place place)
{
    void (*watcher)(enum weir_race_place) = atomic_load(&watch);

    if (WEIR_UNLIKELY(watcher != NULL))
        watcher(place);
}

/* Often a turn for others, now and then longer than what they do there takes. */
static void delay(enum weir_race_place place)
{
    struct timespec t = {0};
    int saved = errno;
    uint64_t n;

    if (!state)
        state = atomic_fetch_add(&next_seed, 0x9e3779b97f4a7c15u) | 1;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    n = state >> 20;
    if (place == WEIR_RACE_LOCK)
        n = n % 32 ? 1 : n / 32; /* there are many of them: mostly nothing */
    if (n % 32 == 0)
        t.tv_nsec = 1000000;
    else if (n % 4 == 0)
        t.tv_nsec = (long)(n >> 8 & 0x1ffff);
    if (t.tv_nsec)
        nanosleep(&t, NULL);
    else if (n % 2 == 0)
        sched_yield();
    errno = saved;
}

void weir_race_random(uint64_t seed)
{
    atomic_store(&next_seed, seed * 0x2545f4914f6cdd1du);
    weir_race_watch(seed ? delay : NULL);
}

#endif
