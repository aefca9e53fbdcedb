/* Engines of one device: workers that run thread blocks, copy engines per direction, the
 * host-function thread. Takes operations that are ready (all ordering was decided by the model) and
 * calls back when each is done.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_DEVICE_DEVICE_H
#define WEIR_DEVICE_DEVICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/list.h"
#include "device/kernel.h"

struct weir_device;

enum weir_engine {
    WEIR_ENGINE_COMPUTE,
    WEIR_ENGINE_H2D,
    WEIR_ENGINE_D2H,
    WEIR_ENGINE_D2D, /* also device memsets and host-to-host copies */
    WEIR_ENGINE_HOST,
    WEIR_ENGINE_COUNT
};

/* Anything an engine can run; first member of the four below. The memory is the submitter's, from
 * submit until `done` has been called. */
struct weir_work {
    struct weir_list link; /* engine's while queued */
    uint8_t engine;
    int8_t priority; /* stream's: lower number first, 0 the lowest (0 .. -5) */
    bool counted;    /* engine's: the statistics know that it runs */
    bool node;       /* core's: the owner is a graph's */
    /* Called once, on the engine's or a helping thread, no lock held. May submit further work. */
    void (*done)(struct weir_work *work, enum weir_err status);
    /* base/clock.h, set by the engine. ready_ns is exact while statistics are on, else up to a
     * chunk of blocks late. */
    uint64_t ready_ns, start_ns, end_ns;
    void *owner;
};

/* Of one block, rounded to what hardware hands out. Zeros: nothing. */
struct weir_block_needs {
    uint32_t threads, registers, shared;
};

/* What a short kernel that is run in place needs stands together, from code to the launch's
 * arguments: a cache line in graphs of many. */
struct weir_kernel_work {
    struct weir_work work;
    const struct weir_kernel_code *code;
    uint64_t block_count; /* engine's, as what has no other word below; of clusters, if any */
    _Atomic uint32_t error, state;
    uint32_t cluster_blocks; /* of one cluster; 1: none. Made of the launch by submit */
    uint32_t shared_bytes;   /* the sum of code's and the launch's */
    struct weir_launch launch;
    /* Called on a worker before the first block when code is NULL (compile, load). Sets code or
     * returns an error. */
    enum weir_err (*prepare)(struct weir_kernel_work *kernel);
    _Atomic uint64_t next_block, blocks_done;
    uint32_t parked;
    void *run;                 /* ranges of blocks that a worker gave back */
    uint64_t served;           /* when blocks were last handed out */
    uint64_t chunk;            /* blocks handed out at once, last time */
    _Atomic uint64_t block_ps; /* measured time of one block; 0 unknown */
    /* Called once, from within a block, when every block has let dependents begin or has ended, if
     * one has let them. NULL: nobody depends on it. */
    void (*triggered)(struct weir_kernel_work *kernel);
    _Atomic uint64_t triggers; /* engine's: such blocks */
    /* Called once, before the last block begins; no lock held. Its blocks are handed out one by one
     * then. NULL: nobody wants to know. */
    void (*begun)(struct weir_kernel_work *kernel);
    _Atomic uint64_t started; /* engine's: blocks */
    /* Only these blocks, [first_block, end_block): the submitter submits the others later, with
     * `done` called each time. The engine sets both to 0 when the kernel's blocks may look at each
     * other, and runs them all. end_block 0: to the end. */
    uint64_t first_block, end_block;
    struct weir_block_needs needs;
    uint32_t resident; /* engine's, as the next (residency.c) */
    uint64_t refused;
    _Atomic(void *) nested; /* core's: what its blocks have launched */
    /* Sums of what its blocks counted (kernel.h); the engine only adds. */
    _Atomic uint64_t instructions, bytes;
    /* of the first block that failed, when error_noted; to be read in `done` and later */
    bool error_noted;
    uint32_t error_line, error_block[3], error_warp, error_lane;
    uint64_t error_address, error_pc, error_shared; /* shared: where the block had it */
};

/* A rectangle of bytes; 1D: height = depth = 1. */
struct weir_copy_work {
    struct weir_work work;
    const char *src;
    char *dst;
    size_t width, height, depth;                       /* bytes, rows, slices */
    size_t src_pitch, dst_pitch, src_slice, dst_slice; /* bytes between rows and between slices */
    bool memset;                                       /* then src is not used */
    uint32_t value;                                    /* memset: element, repeated */
    uint8_t element_bytes;                             /* memset: 1, 2 or 4 */
};

struct weir_host_work {
    struct weir_work work;
    void (*run)(struct weir_host_work
                    *host); /* calls the program's function with its arguments; no lock is held */
};

/* What one multiprocessor holds at a time, how many there are, and how many kernels may have blocks
 * on them. sms = 0: no bound. */
struct weir_device_size {
    uint32_t sms, kernels;
    uint32_t blocks, threads, registers, shared;
};

struct weir_device_config {
    int ordinal;
    int workers;          /* block workers; 0 = one per usable CPU */
    bool help;            /* waiting host threads run work themselves (default true) */
    bool one_copy_engine; /* for both directions */
    const char *name;
    struct weir_device_size size;
};

/* Threads start at the first submit. Errors: MEMORY_ALLOCATION, OPERATING_SYSTEM. */
enum weir_err weir_device_create(const struct weir_device_config *config,
                                 struct weir_device **out) WEIR_MUST_CHECK;
/* Waits for all submitted work, stops the threads. */
void weir_device_destroy(struct weir_device *dev);

/* Queues ready work. Never blocks, never calls `done` on the caller's stack. A system call only
 * when a sleeping engine has to be woken. False: a kernel waits until one of the workers is free,
 * for all of them are busy with something long, if no host thread helps. Thread: any, also from
 * `done`. Takes DEVICE_QUEUE or ENGINE lock. */
bool weir_device_submit(struct weir_device *dev, struct weir_work *work);
/* The same in two steps: false for a kernel when no worker looks for work now. The caller then
 * wakes a host thread that is going to call weir_device_help for it, or calls a worker, which says
 * what weir_device_submit does. */
bool weir_device_submit_uncalled(struct weir_device *dev, struct weir_work *work);
bool weir_device_call(struct weir_device *dev);
/* The same, when the caller is about to call weir_device_help for this work (a synchronous copy):
 * wakes nobody, so it never makes a system call. The caller must keep that promise, or the work may
 * wait until the next submit. */
void weir_device_submit_helped(struct weir_device *dev, struct weir_work *work);
/* True in a child after fork: the engines' threads are not here, nothing that was submitted will be
 * done. New work is given back by `done` with INITIALIZATION_ERROR (on a thread of its own), help
 * does nothing. Thread: any. */
bool weir_device_is_forked(const struct weir_device *dev);

/* Lets the calling thread do a piece of `work` (blocks of that kernel; the whole copy), if it is
 * one that helpers may run and is queued or running; the caller keeps `work` alive by holding a
 * reference of its own (core does). Only engine must be set when `work` is not submitted yet. Runs
 * on a stack of Weir's, MXCSR, signal mask and errno kept; returns between blocks when *stop (may
 * be NULL) becomes true. True when something was run. Thread: a host thread that waits for work's
 * completion, holding no lock. */
bool weir_device_help(struct weir_device *dev, struct weir_work *work, const _Atomic bool *stop);

/* Resumes a block of `work`, a kernel, that has parked, if one waits; a block that waits for that
 * kernel must not keep it from a worker. Otherwise as weir_device_help. */
bool weir_device_help_parked(struct weir_device *dev, struct weir_work *work);
/* What weir_kernel_services.launch_dependents does. */
void weir_device_block_trigger(struct weir_block *block);

/* Asks the dynamic loader for what engines' threads need to take faults. Before engines start, on
 * the program's thread: an engine that asked could wait for a thread that holds the loader's lock
 * and waits for the engine. */
void weir_device_prepare_faults(void);
/* ---- kernels without the queue (inline.c) ----
 * In a `done` callback of a kernel, on the thread that calls it, no lock held: begin (true: it
 * may), run any number of kernels, end. A kernel must have been submitted before with the launch
 * that it has now, have code that does not park, and should be short: all its blocks run here, one
 * after another; `done` is not called. Result: the kernel's error. needed_elsewhere: other kernels
 * wait, better submit the next one. */
bool weir_device_inline_begin(struct weir_device *dev);
enum weir_err weir_device_inline_run(struct weir_device *dev,
                                     struct weir_kernel_work *kernel) WEIR_MUST_CHECK;
bool weir_device_inline_is_needed_elsewhere(struct weir_device *dev);
void weir_device_inline_end(struct weir_device *dev);
int weir_device_worker_count(const struct weir_device *dev);
/* The same for a kernel that is ready and was not submitted: runs it when this is the thread and
 * the time, it is known to be short, and nothing else needs the thread sooner. False: nothing was
 * done, submit it. True: it has ended with *status, `done` was not called. clock: NULL, or its
 * start_ns and end_ns are wanted: when the one before it ended, 0 to look; then when it did.
 * Without `look` the end of a very short one may be left to the next that is looked at: end_ns is
 * 0, *clock as it was. */
bool weir_device_run_next(struct weir_device *dev, struct weir_kernel_work *kernel, uint64_t *clock,
                          bool look, enum weir_err *status);

/* In the same place: is this a worker that nobody needs at the moment? */
bool weir_device_may_pause(struct weir_device *dev);

/* For copies, in the `done` of one: is this the thread of the engine that does them, and nothing
 * else waits for it? */
bool weir_device_copies_alone(struct weir_device *dev, enum weir_engine engine);
/* Then runs a copy that is ready and was not submitted. As weir_device_run_next. */
bool weir_device_copy_next(struct weir_device *dev, struct weir_copy_work *copy, uint64_t *clock,
                           enum weir_err *status);

/* For a host thread that submits a copy, holding no lock: runs it at once, `done` included, when
 * nothing else waits for that engine. False: nothing was done, submit it. */
bool weir_device_copy_now(struct weir_device *dev, struct weir_copy_work *copy);

/* Fault hand-over: the process's SIGSEGV/SIGBUS/SIGFPE/SIGILL handler (takeover or core) asks
 * first. True when the fault was in a block that this thread was running: the context is rewritten
 * so that returning from the handler ends the block with ILLEGAL_ADDRESS (or what the signal
 * means). Async-signal-safe. ucontext: the handler's third argument. */
bool weir_device_handle_fault(int signo, void *siginfo, void *ucontext);
/* Whether the calling thread runs a block's or a copy's code. Async-signal-safe. */
bool weir_device_runs_here(void);

/* Ends the block that the calling thread is running with an error: what weir_kernel_services.fail
 * does. */
WEIR_NORETURN void weir_device_block_fail(struct weir_block *block, uint32_t err, uint32_t line);

/* The device has failed: kernels that poll, wait, or have blocks to come end with err. Blocks that
 * run go on to their end. Thread: any, holding no lock. */
void weir_device_stop_kernels(struct weir_device *dev, enum weir_err err);

/* ---- what runs now, for who asks from outside ---- */

struct weir_kernel_view {
    uint64_t blocks, begun, done;
    uint64_t since_ns; /* 0: no block has begun */
    bool compiles;     /* its code is being made or loaded */
    bool polls;        /* blocks look at memory again and again, or wait for the grid's others */
};

/* `work`, a kernel, was submitted and its `done` has not returned. False: the engine is locked for
 * so long that something must be wrong. */
bool weir_device_view_kernel(struct weir_device *dev, struct weir_kernel_work *work,
                             struct weir_kernel_view *out);
/* The host function that runs now, or NULL, and since when; *thread: who runs it (the kernel's id,
 * 0: not started yet). The result may be compared, not followed. */
const struct weir_work *weir_device_view_host(const struct weir_device *dev, uint32_t *thread,
                                              uint64_t *since_ns);

struct weir_engine_stats {
    uint64_t busy_ns; /* union of the intervals in which the engine had work running */
    uint64_t count, bytes;
};
/* Pairs whose overlap is measured, as in `weir run --stats`. */
enum weir_overlap_pair {
    WEIR_OVERLAP_H2D_KERNEL,
    WEIR_OVERLAP_D2H_KERNEL,
    WEIR_OVERLAP_H2D_D2H,
    WEIR_OVERLAP_KERNEL_KERNEL,
    WEIR_OVERLAP_HOST_DEVICE, /* a host function beside a kernel, copy or memset */
    WEIR_OVERLAP_COUNT
};
struct weir_device_stats {
    uint64_t first_ns, last_ns;
    struct weir_engine_stats engines[WEIR_ENGINE_COUNT];
    uint64_t overlap_ns[WEIR_OVERLAP_COUNT];
    /* H2D and D2H busy time, and the part of it during which a kernel ran: hidden / copy = overlap
     */
    uint64_t copy_hidden_ns, copy_ns;
};
/* Collected only after weir_device_stats_enable(dev, true). Exact while the device is idle. */
void weir_device_stats_enable(struct weir_device *dev, bool on);
void weir_device_stats(struct weir_device *dev, struct weir_device_stats *out);

#endif
