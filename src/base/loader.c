/* See loader.h. A thread that sleeps is in a list, so that it can be woken when it is needed: its
 * own word does not change then, and a wake that comes between its last look and its sleep is lost,
 * so the one who asks repeats it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/loader.h"

#include <limits.h>

#include "base/list.h"
#include "base/lock.h"
#include "base/thread.h"

/* Usually the thread of its own needs some milliseconds; nobody else is bothered before that. */
#define GRACE_NS  UINT64_C(20000000)
#define REPEAT_NS UINT64_C(2000000)

struct sleeper {
    struct weir_list link;
    _Atomic uint32_t *word;
};

static struct {
    _Atomic(void (*)(void)) wanted; /* release by who asks, acquire by who helps */
    _Atomic uint32_t done;          /* futex word */
    struct weir_lock lock;
    struct weir_list sleepers; /* guarded by lock; program's threads only */
    bool ready;
} loader = {.lock = WEIR_LOCK_INIT(LEAF)};

static void run_wanted(void (*open)(void))
{
    open();
    atomic_store(&loader.done, 1);
    weir_futex_wake(&loader.done, INT_MAX);
}

static void *opener(void *arg)
{
    (void)arg;
    run_wanted(atomic_load(&loader.wanted));
    return NULL;
}

static void lock_sleepers(void)
{
    weir_lock_acquire(&loader.lock);
    if (!loader.ready)
        weir_list_init(&loader.sleepers);
    loader.ready = true;
}

void weir_loader_call(void (*open)(void))
{
    pthread_t thread;
    bool asked = atomic_load(&loader.wanted) != NULL;

    if (atomic_load(&loader.done))
        return;
    atomic_store(&loader.wanted, open);
    if (!asked && weir_thread_start(&thread, "loader", 0, opener, NULL) == WEIR_OK)
        pthread_detach(thread);
    else if (!asked)
        run_wanted(open);
    weir_futex_wait(&loader.done, 0, GRACE_NS);
    while (!atomic_load(&loader.done)) {
        lock_sleepers();
        WEIR_LIST_FOR_EACH(node, &loader.sleepers)
        weir_futex_wake(WEIR_LIST_ENTRY(node, struct sleeper, link)->word, INT_MAX);
        weir_lock_release(&loader.lock);
        weir_futex_wait(&loader.done, 0, REPEAT_NS);
    }
}

bool weir_loader_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns)
{
    struct sleeper self = {.word = word};
    void (*open)(void) = NULL;
    bool woken;

    if (atomic_load_explicit(&loader.done, memory_order_relaxed) || weir_thread_is_own())
        return weir_futex_wait(word, expected, timeout_ns);
    lock_sleepers();
    weir_list_append(&loader.sleepers, &self.link);
    weir_lock_release(&loader.lock);
    woken = weir_futex_wait(word, expected, timeout_ns);
    lock_sleepers();
    weir_list_remove(&self.link);
    weir_lock_release(&loader.lock);
    open = atomic_load_explicit(&loader.wanted, memory_order_acquire);
    if (open && !atomic_load(&loader.done) &&
        atomic_load_explicit(word, memory_order_relaxed) == expected)
        run_wanted(open);
    return woken;
}
