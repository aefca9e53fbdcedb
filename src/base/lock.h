/* Mutex with a rank. One futex word, 4 bytes: uncontended lock and unlock are one atomic each; a
 * waiter spins briefly, then sleeps. With WEIR_CHECKS each thread keeps the stack of ranks it holds
 * and stops on an inversion.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_BASE_LOCK_H
#define WEIR_BASE_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/race.h"

enum weir_lock_rank {
#define WEIR_LOCK_RANK(name, same, what) WEIR_RANK_##name,
#include "base/lock_ranks.def"
#undef WEIR_LOCK_RANK
    WEIR_RANK_COUNT
};

struct weir_lock {
    _Atomic uint32_t word; /* 0 free, 1 held, 2 held with waiters */
    uint32_t rank;
};

#define WEIR_LOCK_INIT(rank_name)                                                                  \
    {                                                                                              \
        0, WEIR_RANK_##rank_name                                                                   \
    }

static inline void weir_lock_init(struct weir_lock *l, enum weir_lock_rank rank)
{
    atomic_init(&l->word, 0);
    l->rank = (uint32_t)rank;
}

void weir_lock_wait(struct weir_lock *l);
void weir_lock_wake(struct weir_lock *l);
#if defined(WEIR_CHECKS)
void weir_lock_check_acquire(const struct weir_lock *l);
void weir_lock_check_release(const struct weir_lock *l);
void weir_lock_check_none_held(void); /* before callbacks of the program and before sleeping */
#else
static inline void weir_lock_check_acquire(const struct weir_lock *l)
{
    (void)l;
}
static inline void weir_lock_check_release(const struct weir_lock *l)
{
    (void)l;
}
static inline void weir_lock_check_none_held(void) {}
#endif

static inline void weir_lock_acquire(struct weir_lock *l)
{
    uint32_t expected = 0;

    weir_race_at(WEIR_RACE_LOCK);
    weir_lock_check_acquire(l);
    if (WEIR_UNLIKELY(!atomic_compare_exchange_strong_explicit(
            &l->word, &expected, 1, memory_order_acquire, memory_order_relaxed)))
        weir_lock_wait(l);
}

/* For whoever looks on from outside (core/where.c) and must not hang with the rest: does not wait.
 */
static inline bool weir_lock_try(struct weir_lock *l)
{
    uint32_t expected = 0;

    if (!atomic_compare_exchange_strong_explicit(&l->word, &expected, 1, memory_order_acquire,
                                                 memory_order_relaxed))
        return false;
    weir_lock_check_acquire(l);
    return true;
}

/* The same, looking again for some tenths of a second. */
bool weir_lock_try_patiently(struct weir_lock *l);

static inline void weir_lock_release(struct weir_lock *l)
{
    weir_lock_check_release(l);
    if (WEIR_UNLIKELY(atomic_exchange_explicit(&l->word, 0, memory_order_release) == 2))
        weir_lock_wake(l);
    weir_race_at(WEIR_RACE_LOCK);
}

#endif
