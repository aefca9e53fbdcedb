/* SPDX-License-Identifier: Apache-2.0 */
#include "base/lock.h"

#include "base/log.h"
#include "base/thread.h"

#define LOCK_SPINS 100  /* some hundred ns: critical sections are short */
#define PATIENCE   2000 /* looks of an onlooker */
#define BETWEEN_NS 100000u

void weir_lock_wait(struct weir_lock *l)
{
    for (int i = 0; i < LOCK_SPINS; i++) {
        uint32_t expected = 0;

        if (atomic_load_explicit(&l->word, memory_order_relaxed) == 0 &&
            atomic_compare_exchange_weak_explicit(&l->word, &expected, 1, memory_order_acquire,
                                                  memory_order_relaxed))
            return;
        weir_cpu_relax();
    }
    while (atomic_exchange_explicit(&l->word, 2, memory_order_acquire) != 0)
        weir_futex_wait(&l->word, 2, UINT64_MAX);
}

bool weir_lock_try_patiently(struct weir_lock *l)
{
    _Atomic uint32_t never = 0;

    for (int i = 0; i < PATIENCE; i++) {
        if (weir_lock_try(l))
            return true;
        weir_futex_wait(&never, 0, BETWEEN_NS);
    }
    return false;
}

void weir_lock_wake(struct weir_lock *l)
{
    weir_futex_wake(&l->word, 1);
}

#if defined(WEIR_CHECKS)

#define HELD_MAX 4096

static const bool rank_same_allowed[] = {
#define WEIR_LOCK_RANK(name, same, what) (same),
#include "base/lock_ranks.def"
#undef WEIR_LOCK_RANK
};

static _Thread_local const struct weir_lock *held[HELD_MAX];
static _Thread_local int held_count;

void weir_lock_check_acquire(const struct weir_lock *l)
{
    if (held_count > 0) {
        const struct weir_lock *top = held[held_count - 1];

        WEIR_ASSERT(l->rank > top->rank || (l->rank == top->rank && rank_same_allowed[l->rank]));
    }
    WEIR_ASSERT(held_count < HELD_MAX);
    held[held_count++] = l;
}

void weir_lock_check_release(const struct weir_lock *l)
{
    for (int i = held_count - 1; i >= 0; i--) {
        if (held[i] == l) {
            for (int k = i; k + 1 < held_count; k++)
                held[k] = held[k + 1];
            held_count--;
            return;
        }
    }
    WEIR_ASSERT(!"released a lock that this thread does not hold");
}

void weir_lock_check_none_held(void)
{
    WEIR_ASSERT(held_count == 0);
}

#endif
