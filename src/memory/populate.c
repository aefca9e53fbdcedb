/* Pages of moderate allocations, asked for while the program goes on: on a GPU memory is there once
 * it is allocated, and a call that allocates takes microseconds; to get pages from the system takes
 * 0.1 ms a MiB, on a virtual machine that has never used them 1 to 3 ms. So a thread asks for them,
 * a huge page at a time, last ones first: who uses the memory at once begins at its other end, and
 * both are not busy with the same page.
 * SPDX-License-Identifier: Apache-2.0 */
#include "memory/memory_int.h"

#include <limits.h>
#include <string.h>
#include <sys/mman.h>

#include "base/log.h"
#include "base/thread.h"

#define RANGES 256 /* that wait: weir_mem_pages_open asks for no more at a time */

struct address_range {
    uintptr_t start, end;
};

static struct {
    struct weir_lock lock;               /* rank LEAF */
    struct address_range ranges[RANGES]; /* guarded by lock: without their pages, oldest first */
    size_t count;                        /* guarded by lock */
    struct address_range asked;          /* guarded by lock: what the thread asks for just now */
    bool runs, failed;                   /* guarded by lock: the thread was started, or cannot be */
    pthread_t thread;
    _Atomic bool stopping;
    _Atomic uint32_t news; /* futex word: changes with what the thread has to look at */
    _Atomic uint32_t done; /* futex word: changes with `asked` */
} populator = {.lock = WEIR_LOCK_INIT(LEAF)};

static void remove_locked(size_t i)
{
    populator.count--;
    memmove(&populator.ranges[i], &populator.ranges[i + 1],
            (populator.count - i) * sizeof populator.ranges[0]);
}

/* The last piece was asked for. The next one; false: none is left. */
static bool take(struct address_range *piece)
{
    struct address_range *oldest = populator.ranges;
    bool any;

    weir_lock_acquire(&populator.lock);
    any = populator.count > 0;
    *piece = (struct address_range){0};
    if (any) {
        piece->end = oldest->end;
        piece->start = WEIR_MAX(oldest->start, (oldest->end - 1) & ~(uintptr_t)(HUGE_BYTES - 1));
        oldest->end = piece->start;
        if (oldest->start == oldest->end)
            remove_locked(0);
    }
    populator.asked = *piece;
    weir_lock_release(&populator.lock);
    atomic_fetch_add(&populator.done, 1);
    weir_futex_wake(&populator.done, INT_MAX);
    return any;
}

static void *run(void *arg)
{
    struct address_range piece;

    (void)arg;
    weir_thread_ready();
    while (!atomic_load(&populator.stopping)) {
        uint32_t news = atomic_load(&populator.news);

        if (!take(&piece)) {
            weir_futex_wait(&populator.news, news, UINT64_MAX);
            continue;
        }
#ifdef MADV_POPULATE_WRITE /* refusal does no harm */
        (void)madvise((void *)piece.start, piece.end - piece.start, MADV_POPULATE_WRITE);
#endif
    }
    return NULL;
}

static void tell(void)
{
    atomic_fetch_add(&populator.news, 1);
    weir_futex_wake(&populator.news, 1);
}

static bool start_locked(void)
{
    if (!populator.runs && !populator.failed) {
        populator.runs = weir_thread_start(&populator.thread, "pages", 0, run, NULL) == WEIR_OK;
        populator.failed = !populator.runs;
        if (populator.failed)
            weir_log(WEIR_LOG_INFO, "no thread for pages: %s", weir_err_message());
    }
    return populator.runs;
}

void weir_mem_populate(uintptr_t start, size_t bytes)
{
    weir_lock_acquire(&populator.lock);
    if (populator.count < RANGES && start_locked())
        populator.ranges[populator.count++] = (struct address_range){start, start + bytes};
    weir_lock_release(&populator.lock);
    tell();
}

static bool is_asked_locked(uintptr_t start, size_t bytes)
{
    return populator.asked.start < start + bytes && start < populator.asked.end;
}

void weir_mem_populate_cancel(uintptr_t start, size_t bytes)
{
    weir_lock_acquire(&populator.lock);
    for (size_t i = 0; i < populator.count; i++) {
        if (populator.ranges[i].start == start) {
            remove_locked(i);
            break;
        }
    }
    while (is_asked_locked(start, bytes)) {
        uint32_t done = atomic_load(&populator.done);

        weir_lock_release(&populator.lock);
        weir_futex_wait(&populator.done, done, UINT64_MAX);
        weir_lock_acquire(&populator.lock);
    }
    weir_lock_release(&populator.lock);
}

void weir_mem_populate_finish(void)
{
    if (populator.runs) {
        atomic_store(&populator.stopping, true);
        tell();
        pthread_join(populator.thread, NULL);
    }
    populator.runs = populator.failed = false;
    populator.count = 0;
    populator.asked = (struct address_range){0};
    atomic_store(&populator.stopping, false);
}
