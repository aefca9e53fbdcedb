/* Beginning and end of the process's state (core.h).
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "core/explore.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "check/check.h"
#include "codegen/codegen.h"
#include "core/ending.h"
#include "core/fault.h"
#include "core/host_fault.h"
#include "core/inject.h"
#include "core/services.h"
#include "core/stats.h"
#include "core/stream.h"
#include "core/watch.h"
#include "memory/memory.h"

#define STREAM_SLOT 512u
#define EVENT_SLOT  128u
#define STREAM_MAX  (1u << 20)
#define EVENT_MAX   (1u << 23)
#define POOL_SLOT   1024u
#define POOL_MAX    (1u << 16)
#define FIRST_STREAM                                                                               \
    42 /* ids of created streams follow the default streams' (oracle stream_create) */

struct weir_core weir_core = {.lock = WEIR_LOCK_INIT(RUNTIME)};

static size_t default_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    size_t half = pages > 0 && page > 0 ? (size_t)pages * (size_t)page / 2 : 0;

    return WEIR_MAX(half & ~(((size_t)1 << 20) - 1), (size_t)1 << 30);
}

void weir_context_init(struct weir_context *ctx, int index, int ordinal)
{
    const struct weir_profile *p = &weir_core.config.profile;

    ctx->index = index;
    ctx->ordinal = ordinal;
    ctx->id = atomic_fetch_add(&weir_core.next_context_id, 1) + 1;
    ctx->profile = p;
    ctx->sm_count = p->sm_count ? p->sm_count : weir_cpu_count();
    ctx->memory_bytes = weir_core.config.memory_bytes ? weir_core.config.memory_bytes
                        : p->memory_bytes             ? p->memory_bytes
                                                      : default_memory();
    weir_lock_init(&ctx->streams_lock, WEIR_RANK_DEVICE_STREAMS);
    weir_lock_init(&ctx->printf.lock, WEIR_RANK_LEAF);
    weir_context_default_limits(ctx);
}

static void fork_child(void)
{
    uint32_t state = atomic_load(&weir_core.state);

    /* Weir's threads are gone in the child: documented as an error (oracle
     * lazy_init.child_after_fork). */
    if (state == WEIR_CORE_READY)
        atomic_store(&weir_core.state, WEIR_CORE_FORKED);
    weir_lock_init(&weir_core.lock, WEIR_RANK_RUNTIME);
    weir_thread_forked();
    weir_watch_forked();
    weir_ending_forked();
    if (weir_check_enabled())
        weir_check_forked();
}

static void note_exit(void)
{
    atomic_store(&weir_core.exiting, true);
}

/* WEIR_INJECT. A wrong rule is no reason to run without it. */
static enum weir_err start_faults(void)
{
    const char *spec = getenv("WEIR_INJECT");
    enum weir_err err;

    if (!spec || !*spec)
        return WEIR_OK;
    err = weir_inject_start(spec);
    if (err == WEIR_OK)
        return WEIR_OK;
    weir_log(WEIR_LOG_ERROR, "WEIR_INJECT: %s", weir_err_message());
    return WEIR_ERR_INITIALIZATION_ERROR;
}

static enum weir_err start_locked(void)
{
    struct weir_core *c = &weir_core;
    struct weir_model_memory memory = {weir_alloc_for, weir_free_for, NULL};
    struct weir_mem_config mem;
    enum weir_err err;

    err = weir_config_read(&c->config);
    if (err != WEIR_OK)
        return err;
    if (c->config.devices == 0)
        return WEIR_FAIL(WEIR_ERR_NO_DEVICE, "WEIR_DEVICES or CUDA_VISIBLE_DEVICES leave none");
    c->device_count = c->config.devices;
    for (int i = 0; i < c->device_count; i++)
        weir_context_init(&c->contexts[i], i, i);
    atomic_store(&c->context_count, c->device_count);
    mem = (struct weir_mem_config){.device_count = c->device_count,
                                   .device_bytes = c->contexts[0].memory_bytes,
                                   .twin = weir_check_enabled()};
    err = weir_mem_init(&mem);
    if (err != WEIR_OK)
        return err;
    if (weir_mem_twin.bytes)
        weir_host_fault_start();
    err = weir_slots_init(&c->streams, STREAM_SLOT, STREAM_MAX);
    if (err == WEIR_OK)
        err = weir_slots_init(&c->events, EVENT_SLOT, EVENT_MAX);
    if (err == WEIR_OK)
        err = weir_slots_init(&c->pools, POOL_SLOT, POOL_MAX);
    if (err == WEIR_OK)
        err = weir_graph_state_init(&c->graphs);
    if (err != WEIR_OK)
        return err;
    weir_model_init(&c->model, WEIR_MAX_CONTEXTS, &memory);
    c->model.guaranteed_only = c->config.late_ns != 0 || weir_explore_enabled();
    atomic_store(&c->next_stream_id, FIRST_STREAM);
    atomic_store(&c->next_grid_id, 1);
    weir_cg_prepare();
    c->start_ns = weir_clock_ns();
    err = start_faults();
    if (err != WEIR_OK)
        return err;
    if (atexit(note_exit) != 0 || pthread_atfork(NULL, NULL, fork_child) != 0)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "fork handler");
    return weir_fault_install();
}

enum weir_err weir_core_start(void)
{
    struct weir_core *c = &weir_core;
    enum weir_err err = WEIR_OK;

    weir_lock_acquire(&c->lock);
    switch (atomic_load_explicit(&c->state, memory_order_relaxed)) {
    case WEIR_CORE_NEW:
        err = start_locked();
        c->init_error = err;
        atomic_store_explicit(&c->state, err == WEIR_OK ? WEIR_CORE_READY : WEIR_CORE_FAILED,
                              memory_order_release);
        break;
    case WEIR_CORE_FAILED:
        err = c->init_error;
        break;
    case WEIR_CORE_FORKED:
        err = WEIR_FAIL(WEIR_ERR_INITIALIZATION_ERROR,
                        "the process was forked after its first CUDA call");
        break;
    case WEIR_CORE_ENDING:
        err = WEIR_ERR_CUDART_UNLOADING;
        break;
    default:
        break;
    }
    weir_lock_release(&c->lock);
    return err;
}

/* At exit, or when the library is closed: after the program's own exit handlers and destructors,
 * which may still call. Engines are left as they are: other threads of the program may be inside a
 * call. */
WEIR_DESTRUCTOR static void core_end(void)
{
    struct weir_core *c = &weir_core;
    bool drained = true;

    if (atomic_load_explicit(&c->state, memory_order_acquire) != WEIR_CORE_READY)
        return;
    for (int i = 0; i < atomic_load(&c->context_count); i++) {
        if (atomic_load(&c->contexts[i].active))
            drained = weir_wait_drain(&c->contexts[i]) && drained;
        weir_printf_flush(&c->contexts[i]);
    }
    if (weir_thread.host_func)
        weir_log(WEIR_LOG_WARN,
                 "the process ends inside a host function: the work behind it is not done");
    else if (!drained)
        weir_log(WEIR_LOG_WARN,
                 "the process ends with work on the device that did not finish in %d seconds",
                 (int)(DRAIN_NS / 1000000000u));
    if (weir_explore_enabled())
        weir_explore_end();
    atomic_store_explicit(&c->state, WEIR_CORE_ENDING, memory_order_release);
    weir_inject_end();
    if (c->config.stats)
        weir_stats_print();
}
