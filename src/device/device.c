/* One device: its engines' common start, end and entry points.
 * SPDX-License-Identifier: Apache-2.0 */
#include "device/device_int.h"

#include <errno.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"

/* Counts the forks between the first device's process and this one: atfork has no argument to hand
 * a device to. */
static _Atomic uint32_t fork_generation;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void fork_in_child(void)
{
    atomic_fetch_add_explicit(&fork_generation, 1, memory_order_relaxed);
}

static void fork_watch(void)
{
    if (pthread_atfork(NULL, NULL, fork_in_child) != 0)
        weir_log(WEIR_LOG_WARN, "a forked child will not notice that it has no engines");
}

bool weir_device_is_forked(const struct weir_device *dev)
{
    return dev->fork_generation != atomic_load_explicit(&fork_generation, memory_order_relaxed);
}

enum weir_err weir_device_create(const struct weir_device_config *config, struct weir_device **out)
{
    struct weir_device *dev = weir_alloc_aligned(CACHE_LINE, sizeof *dev);
    int workers = config->workers > 0 ? config->workers : weir_cpu_count();
    enum weir_err err;

    if (!dev)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "device %d", config->ordinal);
    *dev = (struct weir_device){.ordinal = config->ordinal,
                                .help = config->help,
                                .one_copy_engine = config->one_copy_engine};
    pthread_once(&fork_once, fork_watch);
    dev->fork_generation = atomic_load_explicit(&fork_generation, memory_order_relaxed);
    snprintf(dev->name, sizeof dev->name, "%s", config->name ? config->name : "");
    weir_stats_init(&dev->stats);
    for (int i = WEIR_ENGINE_COMPUTE + 1; i < WEIR_ENGINE_COUNT; i++)
        weir_serial_init(&dev->serial[i], dev, (enum weir_engine)i);
    err = weir_compute_init(&dev->compute, dev, workers, &config->size);
    if (err != WEIR_OK) {
        weir_free(dev);
        return err;
    }
    *out = dev;
    return WEIR_OK;
}

/* True when no engine has anything; *seen: works that ever came in. */
static bool device_scan(struct weir_device *dev, uint64_t *seen)
{
    struct compute *c = &dev->compute;
    bool idle;

    weir_lock_acquire(&c->lock);
    idle = c->live == 0 && inbox_is_empty(&c->inbox);
    *seen = c->drained;
    weir_lock_release(&c->lock);
    for (int i = WEIR_ENGINE_COMPUTE + 1; i < WEIR_ENGINE_COUNT; i++) {
        struct serial *s = &dev->serial[i];

        weir_lock_acquire(&s->lock);
        idle = idle && s->live == 0 && inbox_is_empty(&s->inbox);
        *seen += s->drained;
        weir_lock_release(&s->lock);
    }
    return idle;
}

/* A work that ends may submit another to an engine that was seen idle before: so look twice, and
 * nothing came in between. */
static bool device_is_idle(struct weir_device *dev)
{
    uint64_t first, second;

    return device_scan(dev, &first) && device_scan(dev, &second) && first == second;
}

void weir_device_destroy(struct weir_device *dev)
{
    if (!dev)
        return;
    if (weir_device_is_forked(dev))
        return; /* its threads and locks are the parent's */
    for (uint64_t pause = 20000; !device_is_idle(dev);
         pause = WEIR_MIN(pause * 2, (uint64_t)2000000)) {
        _Atomic uint32_t never = 0;

        weir_futex_wait(&never, 0, pause);
    }
    for (int i = WEIR_ENGINE_COMPUTE + 1; i < WEIR_ENGINE_COUNT; i++)
        weir_serial_finish(&dev->serial[i]);
    weir_compute_finish(&dev->compute);
    weir_free(dev);
}

static void *forked_run(void *arg)
{
    struct weir_work *work = arg;

    work->done(work, WEIR_ERR_INITIALIZATION_ERROR);
    return NULL;
}

/* The engines are in the parent. `done` never runs on the submitter's stack, so a thread is needed
 * to say so. */
static void submit_forked(struct weir_work *work)
{
    pthread_t thread;

    if (weir_thread_start(&thread, "forked", 0, forked_run, work) == WEIR_OK)
        pthread_detach(thread);
    else
        weir_log(WEIR_LOG_ERROR, "device used in a forked child: %s", weir_err_message());
}

/* False: a kernel that no worker looks for. */
static bool submit(struct weir_device *dev, struct weir_work *work, bool wake)
{
    work->counted = false;
    work->ready_ns = stats_on(dev) ? weir_clock_ns() : 0;
    if (WEIR_UNLIKELY(weir_device_is_forked(dev)))
        submit_forked(work);
    else if (work->engine == WEIR_ENGINE_COMPUTE)
        return weir_compute_submit(&dev->compute,
                                   WEIR_CONTAINER_OF(work, struct weir_kernel_work, work));
    else
        weir_serial_submit(serial_of(dev, work->engine), work, wake);
    return true;
}

bool weir_device_submit(struct weir_device *dev, struct weir_work *work)
{
    return submit(dev, work, true) || weir_compute_call(&dev->compute);
}

bool weir_device_submit_uncalled(struct weir_device *dev, struct weir_work *work)
{
    return submit(dev, work, true);
}

bool weir_device_call(struct weir_device *dev)
{
    return weir_compute_call(&dev->compute);
}

void weir_device_submit_helped(struct weir_device *dev, struct weir_work *work)
{
    submit(dev, work, !dev->help);
}

bool weir_device_help_parked(struct weir_device *dev, struct weir_work *work)
{
    weir_lock_check_none_held();
    return work->engine == WEIR_ENGINE_COMPUTE && !weir_device_is_forked(dev) &&
           weir_compute_help_parked(&dev->compute,
                                    WEIR_CONTAINER_OF(work, struct weir_kernel_work, work));
}

bool weir_device_help(struct weir_device *dev, struct weir_work *work, const _Atomic bool *stop)
{
    int saved = errno; /* the program's: it only called a CUDA function */
    bool helped = false;

    weir_lock_check_none_held();
    if (!dev->help || weir_device_is_forked(dev))
        return false;
    if (work->engine == WEIR_ENGINE_COMPUTE)
        helped = weir_compute_help(&dev->compute,
                                   WEIR_CONTAINER_OF(work, struct weir_kernel_work, work), stop);
    else
        helped = weir_serial_help(serial_of(dev, work->engine), work);
    errno = saved;
    return helped;
}
