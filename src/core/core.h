/* The process's state, and its beginning and end: read configuration, reserve memory, drain and
 * print at exit. Nothing happens before the first real use, so that a fork before that works.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_CORE_H
#define WEIR_CORE_CORE_H

#include "core/context.h"
#include "core/graph_state.h"
#include "core/handle.h"
#include "core/strict.h"
#include "core/thread.h"
#include "model/model.h"

#define WEIR_MAX_DEVICES  64
#define WEIR_MAX_CONTEXTS WEIR_MODEL_MAX_DEVICES

/* From the environment, which `weir run` sets from its options. */
struct weir_config {
    int devices;                 /* WEIR_DEVICES, 0 .. 64, default 1 */
    size_t memory_bytes;         /* WEIR_MEMORY (K, M, G, T), 0 = the profile's */
    struct weir_profile profile; /* WEIR_DEVICE */
    int workers;                 /* WEIR_WORKERS, 0 = one per usable CPU */
    bool stats;                  /* WEIR_STATS */
    bool launch_blocking;        /* CUDA_LAUNCH_BLOCKING: a launch waits for its kernel */
    bool help;                   /* WEIR_HELP=0 turns helping waiters off (tests) */
    int spin_ns;                 /* WEIR_SPIN_NS: how long a waiter spins before it sleeps */
    const char *stats_file;      /* WEIR_STATS_FILE: instead of stderr (tests) */
    struct weir_strict strict;   /* WEIR_STRICT */
    uint64_t late_ns; /* WEIR_LATE_DMA: how long a copy is held back at most; 0: not at all */
    uint64_t hang_ns; /* WEIR_HANG: seconds without progress until the report; 0: never */
};

struct op_chunk;
struct weir_pool;

enum weir_core_state {
    WEIR_CORE_NEW,
    WEIR_CORE_READY,
    WEIR_CORE_FORKED,
    WEIR_CORE_ENDING,
    WEIR_CORE_FAILED
};

struct weir_core {
    _Atomic uint32_t state; /* enum weir_core_state; released when READY */
    enum weir_err init_error;
    struct weir_lock lock; /* rank RUNTIME: start and end, making contexts */
    struct weir_config config;
    int device_count;
    /* The devices' primary contexts, then those that programs created (cuCtxCreate); a context's
     * place is its number in the model. */
    struct weir_context contexts[WEIR_MAX_CONTEXTS];
    _Atomic int context_count; /* places ever used */
    _Atomic uint64_t next_context_id;
    struct weir_model model;
    struct weir_slots streams, events, pools;
    struct weir_slots arrays, textures; /* made at the first use, under the lock */
    /* of each device: its own pool, made at the first use, and the one in use; under the lock */
    struct weir_pool *default_pools[WEIR_MAX_DEVICES], *_Atomic current_pools[WEIR_MAX_DEVICES];
    struct weir_graph_state graphs;
    _Atomic uint64_t next_stream_id, next_grid_id;
    uint64_t start_ns;
    _Atomic bool
        exiting; /* exit handlers run: those registered before the first call are to come */
    _Atomic(struct op_chunk *) op_chunks; /* submit.c: memory of operations, never freed */
};

/* Fills a context in its beginning; not yet active. */
void weir_context_init(struct weir_context *ctx, int index, int ordinal);

/* The one instance: everything else hangs below it. */
extern struct weir_core weir_core;

/* Slow path of weir_core_enter. */
enum weir_err weir_core_start(void) WEIR_MUST_CHECK;

/* Called first by every API call that needs more than a table. Errors: INITIALIZATION_ERROR in a
 * child after fork, CUDART_UNLOADING at exit, NO_DEVICE, MEMORY_ALLOCATION. Thread: any. */
static inline enum weir_err weir_core_enter(void)
{
    if (WEIR_LIKELY(atomic_load_explicit(&weir_core.state, memory_order_acquire) ==
                    WEIR_CORE_READY))
        return WEIR_OK;
    return weir_core_start();
}

enum weir_err weir_config_read(struct weir_config *config) WEIR_MUST_CHECK;

#endif
