/* Inside of the device layer. Two sorts of engines: compute (a pool of workers over kernels'
 * blocks) and serial ones (a thread and a queue each: copies by direction, host functions). submit:
 * queue.c  work enters an engine's inbox, without a lock claim:    claim.c  which blocks next:
 * priorities, sharing, parked blocks (under the compute lock) workers:  compute.c their loop,
 * sleeping and waking, helping host threads, the end of a kernel blocks:   block.c  runs a chunk of
 * blocks on a stack of Weir's; fault.c ends the ones that fault
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_DEVICE_INT_H
#define WEIR_DEVICE_INT_H

#include <pthread.h>

#include "base/lock.h"
#include "base/stackswitch.h"
#include "device/device.h"

#define PRIORITY_BEST   (-5)
#define PRIORITY_LEVELS 6
#define PRIORITY_NONE   127

#define CHUNK_NS        30000u /* a chunk of blocks is meant to last as long */
#define CHUNK_GROWTH    8      /* a chunk is at most so many times the last one */
#define SPIN_NS         30000u /* an idle thread looks for work so long before it sleeps */
#define HELPER_FIRST_NS 500    /* from a launch or copy to the wait for it, at most */
#define SENTRY_NS                                                                                  \
    1000000u /* one sleeping worker looks again, in case a short kernel turned out long */
#define PARKED_SLEEP_NS 50000u /* longest pause between looks at blocks that poll */
#define RESIDENT_PER_WORKER                                                                        \
    4 /* kernels share the workers when their blocks are fewer than so many per worker */
#define RUNNER_STACK_BYTES ((size_t)4 << 20) /* addresses; pages only when kernels recurse */
#define HISTORY_SLOTS      64
#define CACHE_LINE         64

/* Values of weir_kernel_work.state. Guarded by the compute lock; DONE is set by the thread that
 * finished it. */
enum kernel_state { KERNEL_QUEUED, KERNEL_PREPARING, KERNEL_RUNNING, KERNEL_DONE };

/* A singly linked stack that producers push without a lock and the consumer empties at once. */
struct inbox {
    _Atomic(struct weir_list *) head; /* linked by weir_work.link.next */
};

/* A block of a cluster. */
struct member {
    struct weir_block block;
    bool done;
};

/* A thread block's own memory: block, and what its pointers point to. Or those of a cluster, which
 * is then what is claimed, parked and counted. */
struct slot {
    struct weir_block block;
    struct weir_list link;               /* in compute.parked, or free */
    struct weir_kernel_work *kernel;     /* while parked */
    const struct weir_kernel_code *code; /* that its block runs, from start to end */
    uint64_t index;                      /* of the block in the grid */
    int32_t sm;                          /* that the parked block is on; -1: none */
    char *memory;                        /* in the window */
    size_t memory_bytes;
    size_t state_offset, local_offset;
    /* cluster.c */
    struct member *members; /* NULL: block is all */
    uint32_t member_count, member_room;
    uint32_t current; /* the member that runs */
    struct weir_cluster cluster;
};

/* Blocks [begin, end) that a worker claimed and gave back unstarted. */
struct range {
    struct range *next;
    uint64_t begin, end;
};

/* Why blocks_run returned. */
enum run_end { RUN_FINISHED, RUN_PARKED, RUN_FAILED, RUN_YIELDED, RUN_CANCELLED };

/* A thread that runs blocks or copies: a worker's, or lent to a host thread that helps. Owner
 * thread only. */
struct runner {
    struct weir_stack stack;
    struct weir_device *dev;
    struct runner *next; /* pool of idle helpers */
    struct slot *slot;   /* kept between blocks */
    uint32_t smid;       /* worker index */
    uint32_t shown_smid; /* + 1: as kernels see it, once known: one of the device's sm_count */
    /* the chunk that runs */
    struct weir_kernel_work *kernel;
    uint64_t index, end; /* block that runs, end of the chunk */
    uint64_t begin;
    int priority;
    int32_t sm; /* that a block of the chunk is on; -1: none */
    enum run_end outcome;
    enum weir_err failure; /* when RUN_FAILED */
    bool may_yield;
    const _Atomic bool *stop;
    uint64_t now; /* the clock when last read */
    /* fault */
    volatile bool guarded; /* the thread is on the stack: faults end the block or copy */
    uint32_t fault_err;
    uint64_t fault_address, fault_pc;
    /* scheduling */
    uint32_t completed; /* kernels ended by this thread, not yet taken off compute.live */
    bool parked_next;   /* take a parked block before a fresh one */
    bool is_worker, woke_as_sentry;
    bool away;        /* not counted as attentive while it runs what it has claimed */
    bool ends_kernel; /* is in `done` of a kernel that it has run */
    uint32_t run_ns;  /* believed length of those it has run since, in there (inline.c) */
    uint32_t run_count;
    uint32_t streak; /* parked blocks polled in vain, in a row */
    uint32_t pause;  /* rounds of polling in vain */
};

struct worker {
    struct runner runner;
    struct weir_device *dev;
    pthread_t thread;
};

/* residency.c */
struct residency {
    struct weir_device_size size;
    struct sm_use {
        uint32_t blocks, threads, registers, shared;
    } * sms;          /* NULL: no bound */
    uint32_t cursor;  /* where a place is looked for first */
    uint32_t kernels; /* that have blocks there */
    uint64_t left;    /* blocks so far: what was refused is looked at again when it changes */
};

struct compute {
    struct weir_device *dev;
    _Alignas(CACHE_LINE) struct inbox inbox;
    /* Sleeping and waking (compute.c). atomic: all seq_cst. */
    _Alignas(CACHE_LINE) _Atomic int32_t
        attentive;              /* workers that will look for work within some 50 us */
    _Atomic int32_t spinners;   /* of them those that do nothing else */
    _Atomic int32_t sleepers;   /* asleep and not yet called */
    _Atomic uint32_t calls;     /* semaphore of the sleepers: futex word */
    _Atomic uint32_t sentry;    /* a sleeper with a time limit exists */
    _Atomic int32_t pausing;    /* sleepers between two looks at blocks that poll */
    _Atomic uint32_t hold_back; /* spinners let a helper go first. relaxed */
    _Atomic int32_t started;    /* workers that have a thread */
    _Atomic bool stopping;
    /* What running blocks look at. atomic: relaxed, hints; set under lock (and best_priority by
     * submit). */
    _Alignas(CACHE_LINE) _Atomic int32_t
        best_priority; /* of kernels with blocks to hand out; PRIORITY_NONE: none */
    _Atomic uint32_t parked_count;
    /* Measured block times by kernel. atomic: relaxed; a torn pair only makes a bad first guess. */
    struct {
        _Atomic(const struct weir_kernel_code *) code;
        _Atomic uint64_t block_ps;
    } history[HISTORY_SLOTS];
    struct weir_lock start_lock; /* starting of workers */
    bool start_failed;
    /* Guarded by lock. */
    _Alignas(CACHE_LINE) struct weir_lock lock;
    struct weir_list
        ready[PRIORITY_LEVELS]; /* kernels with unclaimed blocks, oldest first; index 0 the best */
    struct weir_list parked;    /* slots, next to be polled first */
    struct weir_list free_slots;
    size_t free_slot_count;
    struct residency residency;
    struct range *free_ranges;
    struct runner *helpers;
    int helper_count;
    uint64_t live, drained, ticket;
    enum weir_err stopped; /* weir_device_stop_kernels; else WEIR_OK */
    int worker_count;
    struct worker *workers;
};

struct serial {
    struct weir_device *dev;
    enum weir_engine engine;
    _Alignas(CACHE_LINE) struct inbox inbox;
    _Alignas(CACHE_LINE) _Atomic uint32_t asleep; /* futex word */
    _Atomic uint32_t started;                     /* 0 no, 1 starting, 2 runs */
    _Atomic bool stopping;
    _Atomic bool left;      /* a helper took works from the inbox that are the thread's to run */
    _Atomic bool hold_back; /* the spinning thread lets a helper go first. relaxed */
    /* What the engine's thread runs, since when; who it is. Written by it alone. atomic: release
     * and acquire of `running`; the others are relaxed. */
    _Atomic(const struct weir_work *) running;
    _Atomic uint64_t since_ns;
    _Atomic uint32_t thread_id;
    /* Guarded by lock. */
    _Alignas(CACHE_LINE) struct weir_lock lock;
    struct weir_list queue;
    uint64_t live, drained;
    pthread_t thread;
    struct runner runner; /* of the engine's thread */
    bool behind; /* that thread's: other works were queued when it took the one that it runs */
};

struct stats {
    _Atomic bool on;
    struct weir_lock lock;
    uint32_t active[WEIR_ENGINE_COUNT]; /* works that run */
    uint64_t at;                        /* until here everything is counted */
    struct weir_device_stats sum;
};

struct weir_device {
    int ordinal;
    bool help, one_copy_engine;
    char name[32];
    uint32_t fork_generation;
    struct compute compute;
    struct serial serial[WEIR_ENGINE_COUNT]; /* [WEIR_ENGINE_COMPUTE] is not used */
    struct stats stats;
};

/* The serial engine that does works for `engine`. */
static inline struct serial *serial_of(struct weir_device *dev, int engine)
{
    if (WEIR_UNLIKELY(dev->one_copy_engine) && engine == WEIR_ENGINE_D2H)
        engine = WEIR_ENGINE_H2D;
    return &dev->serial[engine];
}

/* queue.c */
void weir_inbox_push(struct inbox *in, struct weir_work *work);
/* Moves everything to the list's end, in the order of submission; the number of works. Under the
 * consumer's lock. */
size_t weir_inbox_drain(struct inbox *in, struct weir_list *to);
static inline bool inbox_is_empty(struct inbox *in)
{
    return !atomic_load_explicit(&in->head, memory_order_seq_cst);
}

/* claim.c; all under compute.lock */
enum claim { CLAIM_NOTHING, CLAIM_PREPARE, CLAIM_CHUNK, CLAIM_PARKED };
/* From the inbox into the lists; false when there was nothing. Before it lets go of the lock the
 * caller claims or shows them: until then nobody else sees them. (What the caller claims at once
 * need never be seen: idle workers would come for it.) */
bool weir_compute_drain_locked(struct compute *c, uint64_t now);
void weir_compute_show_locked(struct compute *c, uint64_t now);
/* What the runner is to do next: fills in its chunk, or its slot with the parked block. */
bool weir_compute_claim_parked_locked(struct compute *c, struct runner *r,
                                      const struct weir_kernel_work *k);
enum claim weir_compute_claim_locked(struct compute *c, struct runner *r);
/* The same, of one kernel only (helpers); nothing while blocks of a better priority wait. */
enum claim weir_compute_claim_kernel_locked(struct compute *c, struct runner *r,
                                            struct weir_kernel_work *k);
/* Unstarted rest of the runner's chunk goes back to its kernel. False: no memory, run it. */
bool weir_compute_return_locked(struct compute *c, struct runner *r);
/* No further block of k starts. The number of blocks that thereby never will be done by others. */
uint64_t weir_compute_cancel_locked(struct compute *c, struct weir_kernel_work *k);
void weir_compute_update_locked(struct compute *c);
/* Does what is left to hand out deserve another worker? */
bool weir_compute_is_ample_locked(struct compute *c);
/* The runner's slot, whose block has parked, waits to be polled. */
void weir_compute_park_locked(struct compute *c, struct runner *r);
/* Estimated picoseconds of one block of k, 0 unknown. No lock needed. */
uint64_t weir_compute_block_ps(struct compute *c, struct weir_kernel_work *k);
void weir_compute_learn(struct compute *c, struct weir_kernel_work *k, uint64_t ns,
                        uint64_t blocks);

/* residency.c; but for the first two under compute.lock */
enum weir_err weir_residency_init(struct residency *r,
                                  const struct weir_device_size *size) WEIR_MUST_CHECK;
void weir_residency_finish(struct residency *r);
/* May a block of k start now? */
bool weir_residency_fits_locked(struct residency *r, struct weir_kernel_work *k);
/* It does; the SM, -1 without a bound. */
int32_t weir_residency_enter_locked(struct residency *r, struct weir_kernel_work *k);
void weir_residency_leave_locked(struct residency *r, struct weir_kernel_work *k, int32_t sm);

/* compute.c */
enum weir_err weir_compute_init(struct compute *c, struct weir_device *dev, int workers,
                                const struct weir_device_size *size) WEIR_MUST_CHECK;
void weir_compute_finish(struct compute *c);
/* False: no worker looks for work now. */
bool weir_compute_submit(struct compute *c, struct weir_kernel_work *k);
/* Calls a worker, unless one looks by now. False: none is free. */
bool weir_compute_call(struct compute *c);
bool weir_compute_help_parked(struct compute *c, struct weir_kernel_work *k);
bool weir_compute_help(struct compute *c, struct weir_kernel_work *k, const _Atomic bool *stop);
/* What an engine keeps of k as it is before its first block. */
void weir_kernel_begin(struct weir_kernel_work *k);
/* A worker that goes on with something long, outside of its loop: no longer attentive. */
void weir_compute_step_out(struct compute *c, struct runner *r);
/* `count` blocks of k are over; the last one ends the kernel. */
/* Where the block failed, into k. */
void weir_kernel_note_failure(struct weir_kernel_work *k, const struct weir_block *b);
void weir_kernel_finish_blocks(struct runner *r, struct weir_kernel_work *k, uint64_t count);

/* block.c */
enum weir_err weir_runner_init(struct runner *r, struct weir_device *dev) WEIR_MUST_CHECK;
void weir_runner_finish(struct runner *r);
/* Makes the slot fit the kernel. Errors: MEMORY_ALLOCATION. */
enum weir_err weir_slot_fit(struct slot *s, const struct weir_kernel_work *k,
                            int device) WEIR_MUST_CHECK;
struct slot *weir_slot_create(void) WEIR_MUST_CHECK; /* NULL: no memory */
void weir_slot_destroy(struct slot *s);
/* cluster.c */
static inline uint32_t launch_cluster_blocks(const struct weir_launch *l)
{
    const uint32_t *c = l->cluster;

    return WEIR_MAX(c[0], 1u) * WEIR_MAX(c[1], 1u) * WEIR_MAX(c[2], 1u);
}
static inline uint64_t launch_blocks(const struct weir_launch *l)
{
    return (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
}
/* How many members the slot has for such a kernel; 0: none, it runs single blocks. Errors:
 * MEMORY_ALLOCATION. */
enum weir_err weir_cluster_fit(struct slot *s, const struct weir_kernel_work *k) WEIR_MUST_CHECK;
/* Their memory, once it is there. */
void weir_cluster_place(struct slot *s, const struct weir_kernel_work *k, size_t shared,
                        size_t state, size_t local);
/* The members before the runner goes on with them. */
void weir_cluster_enter(struct runner *r, bool resume);
void weir_cluster_start(struct slot *s, const struct weir_kernel_work *k, uint64_t index);
/* Runs them in turns: enum weir_block_end of all. */
uint32_t weir_cluster_run(struct runner *r);
/* What the member that ended the run has to say becomes the slot's. */
void weir_cluster_note(struct slot *s);

/* Runs blocks from r->index on, until r->end or r->outcome says otherwise. resume: the slot holds a
 * parked block. */
void weir_runner_blocks(struct runner *r, bool resume);
/* Runs run(arg) where a fault ends it; false then, with fault_err and fault_address set. */
bool weir_runner_guarded(struct runner *r, void (*run)(void *arg), void *arg);

/* copy.c: the whole copy. Errors: INVALID_VALUE when source or destination cannot be accessed. */
enum weir_err weir_copy_run(struct runner *r, const struct weir_copy_work *copy) WEIR_MUST_CHECK;

/* serial.c */
void weir_serial_init(struct serial *s, struct weir_device *dev, enum weir_engine engine);
void weir_serial_finish(struct serial *s);
void weir_serial_submit(struct serial *s, struct weir_work *work, bool wake);
bool weir_serial_help(struct serial *s, struct weir_work *work);

/* fault.c: the runner that the calling thread is; the previous one. */
struct runner *weir_runner_enter(struct runner *r);
void weir_runner_leave(struct runner *previous);
struct runner *weir_runner_current(void); /* NULL: none */
/* Gives the calling thread an alternate signal stack if it has none: stack overflows in kernels can
 * then be handled. */
void weir_fault_prepare_thread(void);

/* stats.c */
void weir_stats_init(struct stats *s);
static inline bool stats_on(struct weir_device *dev)
{
    return atomic_load_explicit(&dev->stats.on, memory_order_relaxed);
}
void weir_stats_begin(struct stats *s, struct weir_work *work);
void weir_stats_end(struct stats *s, struct weir_work *work, uint64_t bytes);

/* Makes the calling host thread, which helps, a runner; NULL: no memory. *previous: what it was.
 * give ends that (compute.c). */
struct runner *weir_helper_take(struct compute *c, struct runner **previous);
void weir_helper_give(struct compute *c, struct runner *r, struct runner *previous);

#endif
