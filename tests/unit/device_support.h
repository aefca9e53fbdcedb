/* What the device tests share: a device, works that can be waited for, kernels as plain C
 * functions.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_DEVICE_SUPPORT_H
#define TEST_DEVICE_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <stdatomic.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/race.h"
#include "base/thread.h"
#include "device/device.h"
#include "memory/memory.h"

#define WAIT_LIMIT_NS 100000000000u /* a test that waits longer has failed */

struct waitable {
    _Atomic uint32_t over; /* 1 + status */
    _Atomic int calls;
};

static inline void work_done(struct weir_work *work, enum weir_err status)
{
    struct waitable *w = work->owner;

    atomic_fetch_add(&w->calls, 1);
    atomic_store(&w->over, 1 + (uint32_t)status);
    weir_futex_wake(&w->over, 1);
}

/* Waits without helping; the work's status. */
static inline enum weir_err wait_for(struct waitable *w)
{
    uint64_t start = weir_clock_ns();

    while (atomic_load(&w->over) == 0) {
        weir_futex_wait(&w->over, 0, 1000000000u);
        assert_true(weir_clock_ns() - start < WAIT_LIMIT_NS);
    }
    assert_int_equal(atomic_load(&w->calls), 1);
    return (enum weir_err)(atomic_load(&w->over) - 1);
}

struct kernel {
    struct weir_kernel_work k;
    struct waitable wait;
    struct weir_kernel_code code;
    void *args[4];
};

static inline struct kernel *kernel_of(struct weir_block *b)
{
    return WEIR_CONTAINER_OF(b->launch, struct kernel, k.launch);
}

static inline void kernel_init(struct kernel *k, weir_block_fn run, uint32_t blocks, void *arg)
{
    memset(k, 0, sizeof *k);
    k->code = (struct weir_kernel_code){.run = run, .name = "test"};
    k->k.code = &k->code;
    k->k.work.engine = WEIR_ENGINE_COMPUTE;
    k->k.work.done = work_done;
    k->k.work.owner = &k->wait;
    for (int i = 0; i < 3; i++)
        k->k.launch.grid[i] = k->k.launch.block[i] = 1;
    k->k.launch.grid[0] = blocks;
    k->args[0] = arg;
}

static inline struct weir_device *device_make(int workers, bool help)
{
    const struct weir_device_config config = {.workers = workers, .help = help, .name = "test"};
    struct weir_device *dev = NULL;

    assert_int_equal(weir_device_create(&config, &dev), WEIR_OK);
    return dev;
}

static inline void kernel_submit(struct weir_device *dev, struct kernel *k)
{
    atomic_store(&k->wait.over, 0);
    atomic_store(&k->wait.calls, 0);
    weir_device_submit(dev, &k->k.work);
}

/* Wakes nobody. */
static inline void kernel_submit_quietly(struct weir_device *dev, struct kernel *k)
{
    atomic_store(&k->wait.over, 0);
    atomic_store(&k->wait.calls, 0);
    weir_device_submit_helped(dev, &k->k.work);
}

static inline void busy_wait_ns(uint64_t ns)
{
    for (uint64_t start = weir_clock_ns(); weir_clock_ns() - start < ns;)
        ;
}

static inline int memory_start(void **state)
{
    const struct weir_mem_config config = {.device_count = 1, .device_bytes = (size_t)1 << 30};

    (void)state;
#if defined(WEIR_CHECKS)
    if (getenv("WEIR_RACE")) /* base/race.h */
        weir_race_random(strtoull(getenv("WEIR_RACE"), NULL, 10));
#endif
    return weir_mem_init(&config) == WEIR_OK ? 0 : -1;
}

static inline int memory_end(void **state)
{
    (void)state;
    weir_mem_finish();
    return 0;
}

#endif
