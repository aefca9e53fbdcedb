/* Pipelines: many items through one or more CUDA devices, each item copied up, computed on and
 * copied down while others are at other stages. A fixed number of slots holds all buffers; an item
 * has a slot from its submission until its result has been read, so memory is bounded and the
 * submitting side feels it when the other end is slow.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Link with -lweir-pipe and a CUDA runtime, NVIDIA's or Weir's: the library calls the public
 * runtime API only. C and C++. The guide: docs/guide/pipelines.md.
 *
 *     fill     host    writes item->in, which is pinned           your thread, or a producer
 *     upload   device  item->in -> item->dev_in                   by default a copy of in_bytes
 *     launch   device  kernels (anything asynchronous) in item->stream
 *     download device  item->dev_out -> item->out                 by default a copy of out_bytes
 *     drain    host    reads item->out                            a worker thread
 *     done     host    is told how the item ended                 the same thread as drain
 *
 * Each accepted item is reported by `done` exactly once, whatever happens to it. A slot is used
 * again when its device work is complete AND drain and done have returned.
 *
 * Thread: every function may be called by any thread at any time, except where it says otherwise;
 * no lock is held while a callback runs. Callbacks may submit (they are refused instead of waiting
 * when no slot is free) and cancel; flush and destroy inside a callback are WEIR_PIPE_INVALID. */
#ifndef WEIR_PIPE_H
#define WEIR_PIPE_H

#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR_PIPE_API __attribute__((visibility("default")))

enum {
    WEIR_PIPE_MAX_SLOTS = 64, /* of a lane on one device */
    WEIR_PIPE_MAX_LANES = 4,
    WEIR_PIPE_MAX_DEVICES = 16,
    WEIR_PIPE_MAX_STAGES = 4,
    WEIR_PIPE_MAX_BUCKETS = 32,
    WEIR_PIPE_MAX_THREADS = 64
};

enum weir_pipe_status {
    WEIR_PIPE_OK,
    WEIR_PIPE_FULL,      /* submit: every slot is busy, and it was not to wait */
    WEIR_PIPE_TIMED_OUT, /* submit: every slot was busy for as long as it was to wait */
    WEIR_PIPE_CANCELLED,
    WEIR_PIPE_CLOSED,  /* submit: the pipeline is being destroyed */
    WEIR_PIPE_BROKEN,  /* a device has an error that stays; no more items are taken */
    WEIR_PIPE_INVALID, /* an argument; or a call that is not allowed here */
    WEIR_PIPE_MEMORY,  /* host memory or a thread was not to be had */
    WEIR_PIPE_FILL,    /* fill returned an error: code says which */
    WEIR_PIPE_LAUNCH,  /* upload, launch or download did; or the library's own copy */
    WEIR_PIPE_DRAIN,   /* drain did */
    WEIR_PIPE_CUDA,    /* a call of the runtime failed: code is the cudaError_t */
    WEIR_PIPE_STATUS_COUNT
};

/* What one item is, as its callbacks see it. It lies in the slot: valid until `done` has returned.
 */
typedef struct weir_pipe_item {
    /* set by the library */
    uint64_t number; /* 0, 1, 2 ... in its lane, in the order of acceptance */
    void *data;      /* of the request */
    unsigned lane;
    unsigned slot; /* of all slots of the pipeline: 0, 1, 2 ... */
    unsigned stage;
    int device;
    void *in, *out;                       /* pinned host memory, NULL when none was asked for */
    void *dev_in, *dev_out, *dev_scratch; /* of this slot and stage alone */
    cudaStream_t stream;                  /* where upload, launch and download enqueue */
    uint64_t shape;                       /* of the request */
    uint64_t bucket; /* the shape that launch computes: shape, or a padded one */
    /* may be changed by fill */
    size_t in_bytes, out_bytes; /* of the default copies: at most the configured sizes */
    int recapture; /* the graph has to be captured anew: launch enqueues something else */
} weir_pipe_item;

typedef struct weir_pipe_outcome {
    enum weir_pipe_status status; /* OK, CANCELLED, BROKEN, FILL, LAUNCH, DRAIN or CUDA */
    int code;                     /* what the callback returned, or the cudaError_t; 0 when OK */
    uint64_t accepted_ns, launched_ns, complete_ns, drained_ns; /* CLOCK_MONOTONIC; 0: never was */
} weir_pipe_outcome;

/* 0 or an error of the caller's own: launch and its like may return a cudaError_t. After an error
 * the item's later callbacks are left out, except done. */
typedef int weir_pipe_callback(void *user, weir_pipe_item *item);
typedef void weir_pipe_done(void *user, const weir_pipe_item *item,
                            const weir_pipe_outcome *outcome);

enum weir_pipe_order {
    WEIR_PIPE_ORDERED, /* drain and done: a lane's items one at a time, as they were accepted */
    WEIR_PIPE_ORDERED_DONE, /* drain as they come and side by side; done as they were accepted */
    WEIR_PIPE_UNORDERED     /* as they come: exactly so with as many workers as slots; a worker that
                             * finds none finished waits for the oldest */
};

enum weir_pipe_streams {
    WEIR_PIPE_STREAM_PER_SLOT, /* one stream a slot has all of an item's work */
    WEIR_PIPE_STREAMS_SPLIT    /* one stream uploads, compute_streams compute, one downloads; events
                                * hand an item on. launch is then called by one thread at a time.
                                * Not with several stages: streams of a slot's own are split there
                                * already, one for each device */
};

enum weir_pipe_wait {
    WEIR_PIPE_WAIT_AUTO, /* SPIN with at most one worker, BLOCK with more */
    WEIR_PIPE_WAIT_SPIN, /* cudaEventSynchronize as the device's flags say */
    WEIR_PIPE_WAIT_BLOCK /* cudaEventBlockingSync */
};

/* How a shape becomes a bucket, which launch computes and a graph is captured for. */
enum weir_pipe_padding {
    WEIR_PIPE_PAD_NONE, /* bucket = shape: one graph for each shape and slot, up to MAX_BUCKETS */
    WEIR_PIPE_PAD_UP    /* the least of config.buckets that holds the shape; above all: no graph */
};

/* A stage of its own device: stage i's dev_out is copied to stage i + 1's dev_in, peer to peer. */
typedef struct weir_pipe_stage {
    int device;
    size_t dev_in_bytes, dev_out_bytes, scratch_bytes;
    weir_pipe_callback *launch;
} weir_pipe_stage;

typedef struct weir_pipe_config {
    size_t size;                                           /* sizeof this, by config_init */
    size_t in_bytes, out_bytes;                            /* pinned, of each slot; 0: none */
    size_t dev_in_bytes, dev_out_bytes, dev_scratch_bytes; /* 0: as in_bytes, out_bytes; none */
    unsigned slots;                                        /* of a lane on each device; 3 */
    unsigned producers;    /* threads of the library that fill and launch; 0: submit's own */
    unsigned workers;      /* threads that wait and drain; 1. 0: submit and flush do it */
    unsigned lanes;        /* 1; lane 0 is the least urgent */
    unsigned device_count; /* 0: the current device */
    int devices[WEIR_PIPE_MAX_DEVICES]; /* an item goes to the one with the least on its hands */
    enum weir_pipe_order order;
    enum weir_pipe_streams streams;
    unsigned compute_streams; /* SPLIT: 1 */
    enum weir_pipe_wait wait;
    uint64_t spin_ns; /* how long a thread looks for work or a slot before it sleeps; 0 */

    int graph; /* replay: launch runs once for a slot and bucket, later items replay what it
                * enqueued. What changes between items belongs in item->in; or fill sets
                * item->recapture. Where capture fails the item is launched as usual (launch then
                * runs twice). One graph is all of an item; with SPLIT or several stages, where
                * streams keep items in order, it is what one callback enqueued: launch of each
                * stage, and upload and download where they are the program's own */
    enum weir_pipe_padding padding;
    unsigned bucket_count;
    uint64_t buckets[WEIR_PIPE_MAX_BUCKETS]; /* PAD_UP: ascending */

    unsigned stage_count; /* 0: launch below. Else launch is of each stage, devices are theirs */
    weir_pipe_stage stages[WEIR_PIPE_MAX_STAGES];

    unsigned tune_items; /* items of each trial of the autotuner; 0: what is configured stays */

    void *user;
    weir_pipe_callback *fill, *upload, *launch, *download, *drain;
    weir_pipe_done *done;
    void (*log)(void *user,
                const char *text); /* why create failed, what the tuner chose, and why */
} weir_pipe_config;

typedef struct weir_pipe_request {
    void *data;
    unsigned lane;
    uint64_t shape;
    int64_t timeout_ns; /* below 0: waits for a slot; 0: WEIR_PIPE_FULL at once */
} weir_pipe_request;

/* Why a submission waited: what held the oldest of the busy slots. */
enum weir_pipe_cause {
    WEIR_PIPE_CAUSE_FILL,   /* an item still being filled or launched */
    WEIR_PIPE_CAUSE_DEVICE, /* its work on the device */
    WEIR_PIPE_CAUSE_DRAIN,  /* drain or done */
    WEIR_PIPE_CAUSE_ORDER,  /* an earlier item that it must not overtake */
    WEIR_PIPE_CAUSE_COUNT
};

typedef struct weir_pipe_stats {
    uint64_t accepted, completed, failed, cancelled; /* completed: with outcome OK */
    uint64_t refused;                                /* submissions that got no slot */
    unsigned slots;                                  /* in use: what the tuner left of them */
    double occupancy;                                /* mean of the busy slots' number */
    uint64_t waits[WEIR_PIPE_CAUSE_COUNT], wait_ns[WEIR_PIPE_CAUSE_COUNT];
    uint64_t fill_ns, launch_ns, drain_ns; /* sums over items: the callbacks' own time, launch's
                                            * with the library's calls around it */
    uint64_t library_ns; /* of the submitting threads, in this library: no waiting, no callback, no
                          * call of the runtime */
    uint64_t
        latency_ns[5]; /* accepted to done: 50, 90, 99, 99.9 % (of a histogram, within 4 %); most */
    double items_per_second;                        /* first acceptance to last report */
    uint64_t captures, updates, replays, fallbacks; /* of graphs: an item may have several */
    uint64_t device_items[WEIR_PIPE_MAX_DEVICES];   /* in the order of config.devices */
} weir_pipe_stats;

typedef struct weir_pipe weir_pipe;

/* The defaults stated above; everything else 0. */
WEIR_PIPE_API void weir_pipe_config_init(weir_pipe_config *config);

/* Allocates every slot, starts the threads. On failure *pipe is NULL, nothing is left behind, and
 * config->log is told why.
 * Errors: INVALID, MEMORY, CUDA. */
WEIR_PIPE_API enum weir_pipe_status weir_pipe_create(const weir_pipe_config *config,
                                                     weir_pipe **pipe);

/* Lets every accepted item end and be reported, then frees everything. NULL is fine. Nobody else
 * may be in a call on this pipeline, except threads that wait in submit: they get CLOSED; the
 * caller joins them afterwards. Errors: BROKEN (and everything is freed), INVALID in a callback
 * (and nothing is). */
WEIR_PIPE_API enum weir_pipe_status weir_pipe_destroy(weir_pipe *pipe);

/* Takes a slot, and fills and launches in this thread, or leaves that to a producer. OK means
 * accepted: how the item ended, fill's error included, is told by done.
 * Errors: FULL, TIMED_OUT, CANCELLED (while it waited), CLOSED, BROKEN, INVALID: not accepted. */
WEIR_PIPE_API enum weir_pipe_status weir_pipe_submit(weir_pipe *pipe, void *data);
WEIR_PIPE_API enum weir_pipe_status
weir_pipe_submit_request(weir_pipe *pipe, const weir_pipe_request *request, uint64_t *number);

/* Waits until every item accepted before the call has been reported.
 * Errors: BROKEN, INVALID in a callback. */
WEIR_PIPE_API enum weir_pipe_status weir_pipe_flush(weir_pipe *pipe);

/* Every item accepted before the call that is not drained yet ends as CANCELLED: what the device
 * has begun is waited for, its result is not drained. Threads that wait in submit return CANCELLED.
 * Does not wait; the pipeline goes on taking items. */
WEIR_PIPE_API void weir_pipe_cancel(weir_pipe *pipe);
/* The same for one item. Nothing happens when it has ended, or is being drained. */
WEIR_PIPE_API void weir_pipe_cancel_item(weir_pipe *pipe, unsigned lane, uint64_t number);

WEIR_PIPE_API void weir_pipe_stats_get(weir_pipe *pipe, weir_pipe_stats *stats);
/* What the tuner found, as lines of text: a row a trial, what was chosen and why. Empty without
 * tuning, or before it has ended. Returns the length of the whole text. */
WEIR_PIPE_API size_t weir_pipe_tune_text(weir_pipe *pipe, char *text, size_t size);
WEIR_PIPE_API const char *weir_pipe_status_name(enum weir_pipe_status status);

/* --- How to cut work into chunks: arithmetic alone, from measured costs or from a plan. --- */

typedef struct weir_pipe_costs {
    double upload_us, compute_us, download_us; /* of all the work, in one piece */
    double chunk_us; /* what a chunk costs each stage on top of its share */
    double host_us;  /* what submitting a chunk costs the host */
    unsigned max_chunks, max_slots;
} weir_pipe_costs;

typedef struct weir_pipe_choice {
    unsigned chunks, slots;
    int split; /* one stage takes most of the time: a stream for each stage keeps it busy */
    double serial_us, us; /* expected: one chunk; this choice */
    char why[256];
} weir_pipe_choice;

/* The least number of chunks within 2 % of the shortest expected time.
 * Errors: INVALID (negative costs, or limits of 0). */
WEIR_PIPE_API enum weir_pipe_status weir_pipe_choose(const weir_pipe_costs *costs,
                                                     weir_pipe_choice *choice);

/* --- A pool of pinned host buffers; usable alone. --- */

typedef struct weir_pipe_pinned weir_pipe_pinned;

/* `limit` is how many bytes it may hold, given out or not; 0: no limit. */
WEIR_PIPE_API enum weir_pipe_status weir_pipe_pinned_create(size_t limit, weir_pipe_pinned **pool);
/* Frees all of it; buffers that are still out are freed too. Waits for what put_after waits for. */
WEIR_PIPE_API void weir_pipe_pinned_destroy(weir_pipe_pinned *pool);
/* At least `bytes`, of a size class: powers of two and one step between. Errors: FULL (the limit),
 * INVALID, MEMORY, CUDA. */
WEIR_PIPE_API enum weir_pipe_status weir_pipe_pinned_get(weir_pipe_pinned *pool, size_t bytes,
                                                         void **buffer);
/* Gives back what get gave, for anyone at once. INVALID: not from here, or given back already. */
WEIR_PIPE_API enum weir_pipe_status weir_pipe_pinned_put(weir_pipe_pinned *pool, void *buffer);
/* Gives it back for whoever comes when the work that is now in `stream` is complete. */
WEIR_PIPE_API enum weir_pipe_status weir_pipe_pinned_put_after(weir_pipe_pinned *pool, void *buffer,
                                                               cudaStream_t stream);
/* Frees what nobody has. */
WEIR_PIPE_API void weir_pipe_pinned_trim(weir_pipe_pinned *pool);
WEIR_PIPE_API void weir_pipe_pinned_bytes(weir_pipe_pinned *pool, size_t *held, size_t *out);

/* --- A pool of device buffers on the stream-ordered allocator; usable alone. --- */

typedef struct weir_pipe_device_pool weir_pipe_device_pool;

/* Of one device; keeps up to `keep` bytes when nobody has them. Errors: CUDA where the device has
 * no stream-ordered allocator. */
WEIR_PIPE_API enum weir_pipe_status weir_pipe_device_pool_create(int device, size_t keep,
                                                                 weir_pipe_device_pool **pool);
WEIR_PIPE_API void weir_pipe_device_pool_destroy(weir_pipe_device_pool *pool);
/* Usable by work in `stream` from here on, and by other streams behind an event recorded after. */
WEIR_PIPE_API enum weir_pipe_status weir_pipe_device_pool_get(weir_pipe_device_pool *pool,
                                                              size_t bytes, cudaStream_t stream,
                                                              void **buffer);
/* Work before this in `stream` may still use it; work of other streams must be ordered before. */
WEIR_PIPE_API enum weir_pipe_status weir_pipe_device_pool_put(weir_pipe_device_pool *pool,
                                                              void *buffer, cudaStream_t stream);
WEIR_PIPE_API enum weir_pipe_status weir_pipe_device_pool_trim(weir_pipe_device_pool *pool,
                                                               size_t keep);
WEIR_PIPE_API void weir_pipe_device_pool_bytes(weir_pipe_device_pool *pool, size_t *held,
                                               size_t *out);

#ifdef __cplusplus
}
#endif

#endif
