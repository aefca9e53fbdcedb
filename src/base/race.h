/* Places where two threads may miss each other: between a last look for work and the sleep, between
 * taking work and saying so. In builds with WEIR_CHECKS (dev, asan, tsan) a test may stand there
 * itself, or WEIR_RACE=SEED lets threads stay there and around every lock for a random while, which
 * makes an interleaving of one in millions a common one. Other builds have nothing of it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_BASE_RACE_H
#define WEIR_BASE_RACE_H

#include <stdint.h>

enum weir_race_place {
    WEIR_RACE_LOCK,          /* before a lock is taken, after it is released */
    WEIR_RACE_INBOX_TAKEN,   /* works are out of the inbox, and nobody can see them yet */
    WEIR_RACE_WORKER_TIRED,  /* found nothing, is about to count as asleep */
    WEIR_RACE_WORKER_LOOKED, /* counts as asleep, has seen no work, is not asleep yet */
    WEIR_RACE_WORKER_CALLED, /* off the list of sleepers, not yet called */
    WEIR_RACE_SERIAL_TIRED,  /* the same two of a serial engine's thread */
    WEIR_RACE_SERIAL_LOOKED,
    WEIR_RACE_WAITER_LOOKED, /* a host thread that knows what it waits for, and does not sleep yet
                              */
    WEIR_RACE_COMPLETED,     /* sleepers were seen, and are not woken yet */
};

#if defined(WEIR_CHECKS)
/* Called at each place, on the thread that comes there, locks possibly held. NULL: nobody. */
void weir_race_watch(void (*watcher)(enum weir_race_place));
/* Delays at random from now on; 0: no more. */
void weir_race_random(uint64_t seed);
void weir_race_at(enum weir_race_place place);
#else
static inline void weir_race_at(enum weir_race_place place)
{
    (void)place;
}
#endif

#endif
