/* Inside the pipeline library: slots, lanes and the pipeline itself. pipe.c makes and ends them,
 * submit.c takes slots and fills, enqueue.c and graph.c give an item's work to the device, drain.c
 * waits, drains and reports, stats.c counts, tune.c chooses. The library stands on libc, POSIX
 * threads and the public CUDA runtime alone: nothing of src/ is used here, so that it builds where
 * no Weir is.
 * SPDX-License-Identifier: Apache-2.0
 *
 * One lock guards what is marked so; no callback and no call that may wait is made under it. */
#ifndef WEIR_PIPE_INT_H
#define WEIR_PIPE_INT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "weir/pipe.h"

#define HIDDEN __attribute__((visibility("hidden")))

enum {
    ALL_SLOTS = WEIR_PIPE_MAX_SLOTS * WEIR_PIPE_MAX_LANES * WEIR_PIPE_MAX_DEVICES,
    MAX_COMPUTE_STREAMS = 16,
    MAX_TRIALS = 16,
    HISTOGRAM_PARTS = 32, /* of an octave: within 1 / 32 */
    HISTOGRAM_SIZE = 64 * HISTOGRAM_PARTS
};

/* Who owns a slot's buffers: nobody; the submitting thread or a producer; the device; a worker. */
enum slot_state {
    SLOT_FREE,
    SLOT_FILLING, /* accepted; perhaps not yet in the hands of a producer */
    SLOT_FLYING,  /* launched, or failed before that: nobody waits for it yet */
    SLOT_WAITING, /* a worker waits for its event */
    SLOT_DRAINING,
    SLOT_DRAINED, /* done is still to be called */
    SLOT_STATE_COUNT
};

/* What is captured into one graph: all of an item, where all of it is in one stream; else what each
 * callback enqueues by itself, so that streams that items share keep their order. */
enum part {
    PART_WHOLE,
    PART_UPLOAD,
    PART_DOWNLOAD,
    PART_STAGE, /* and the stage's number */
    PART_COUNT = PART_STAGE + WEIR_PIPE_MAX_STAGES
};

struct slot_graph {
    uint64_t bucket;
    size_t in_bytes, out_bytes; /* of the item that was captured */
    cudaGraphExec_t exec;
    bool failed; /* cannot be captured: launched as usual */
};

struct slot_graphs {
    struct slot_graph *all; /* WEIR_PIPE_MAX_BUCKETS of them; NULL: none yet */
    unsigned count;
};

struct slot {
    /* immutable after create */
    struct lane *lane;
    unsigned device_index;
    cudaStream_t stream[WEIR_PIPE_MAX_STAGES];
    void *dev_in[WEIR_PIPE_MAX_STAGES], *dev_out[WEIR_PIPE_MAX_STAGES];
    void *dev_scratch[WEIR_PIPE_MAX_STAGES];
    cudaEvent_t handed[WEIR_PIPE_MAX_STAGES], uploaded, computed, done;
    cudaEvent_t timed[4]; /* only of a pipeline that is tuned */

    /* guarded by lock */
    enum slot_state state;
    struct slot *next; /* in the list of its state */
    unsigned trial;
    bool split;

    /* of the thread that owns the slot */
    weir_pipe_item item;
    weir_pipe_outcome outcome;
    bool recorded; /* `done` says when the device has finished */
    bool timing;
    struct slot_graphs graphs[PART_COUNT];

    _Atomic(bool) cancelled;   /* set under lock by cancel, read by the owner */
    _Atomic(uintptr_t) caller; /* the thread that runs a callback of this slot; 0: none */
};

struct slot_list {
    struct slot *first, *last;
};

/* The streams of split mode, of one lane on one device. */
struct split_streams {
    cudaStream_t up, down, compute[MAX_COMPUTE_STREAMS];
    pthread_mutex_t enqueue; /* so that two items' wait, launch and record do not mix */
    bool made;
};

struct lane {
    /* immutable after create */
    unsigned index, slot_count;
    int priority[WEIR_PIPE_MAX_DEVICES];
    struct split_streams split[WEIR_PIPE_MAX_DEVICES];

    /* guarded by lock */
    struct slot_list free[WEIR_PIPE_MAX_DEVICES], to_fill, flying;
    unsigned busy[WEIR_PIPE_MAX_DEVICES];
    uint64_t accepted;    /* the next item's number */
    uint64_t next_report; /* ordered modes: the oldest item that is not reported */
    struct slot **ring;   /* ordered modes: the slot of an item, by number modulo slot_count */
    bool draining;        /* ORDERED: a worker has the next item */
    bool reporting;       /* ORDERED_DONE: a thread is reporting */
};

struct trial {
    unsigned slots;
    bool split;
    unsigned accepted, reported;
    double ns; /* an item */
};

struct tuner {
    unsigned count, now;
    bool done;
    uint64_t last_end;
    struct trial trials[MAX_TRIALS];
    double upload_us, compute_us, download_us; /* of items alone on the device */
    unsigned timed;
    char text[1024];
};

struct weir_pipe {
    /* immutable after create */
    weir_pipe_config config;
    unsigned slot_count, lane_count, device_count, stage_count;
    struct slot *slots;
    struct lane *lanes;
    pthread_t workers[WEIR_PIPE_MAX_THREADS], producers[WEIR_PIPE_MAX_THREADS];
    unsigned worker_count, producer_count;

    pthread_mutex_t lock;
    pthread_cond_t freed; /* a slot is free, or may be taken in; also: cancelled, closing, broken */
    pthread_cond_t work;  /* something to drain */
    pthread_cond_t fill;  /* something to fill */
    pthread_cond_t idle;  /* reported; for flush */

    /* guarded by lock */
    bool closing, stop;
    unsigned inside;   /* threads in submit */
    unsigned flushers; /* threads in flush */
    unsigned draining; /* workers in a drain or done */
    uint64_t cancels;  /* how often everything was cancelled */
    unsigned limit;    /* slots of a lane on a device that may be busy */
    bool split;        /* how the next item is enqueued */
    struct tuner tune;
    weir_pipe_stats stats;
    unsigned busy;
    uint64_t busy_at, first_at, last_at;
    double busy_ns;
    uint32_t histogram[HISTOGRAM_SIZE];

    _Atomic(int) broken;         /* the cudaError_t that stays */
    _Atomic(unsigned) free_hint; /* grows with every slot that comes free: for spinning */
    _Atomic(unsigned) work_hint; /* the same, of items to drain */
    _Atomic(unsigned) fill_hint; /* the same, of items to fill */
};

/* What a step of an item's way gave. */
struct step {
    enum weir_pipe_status status;
    int code;
};
#define STEP_OK                                                                                    \
    (struct step)                                                                                  \
    {                                                                                              \
        WEIR_PIPE_OK, 0                                                                            \
    }

HIDDEN uint64_t weir_pipe_now_ns(void);
HIDDEN void weir_pipe_say(const weir_pipe_config *config, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

HIDDEN void weir_pipe_slot_set_state(struct slot *slot, enum slot_state state);
HIDDEN void weir_pipe_list_push(struct slot_list *list, struct slot *slot);
HIDDEN void weir_pipe_list_push_front(struct slot_list *list, struct slot *slot);
HIDDEN struct slot *weir_pipe_list_pop(struct slot_list *list);
HIDDEN void weir_pipe_list_remove(struct slot_list *list, struct slot *slot);

/* Is this thread inside a callback of the pipeline? Caller holds no lock or the lock. */
HIDDEN bool weir_pipe_in_callback(struct weir_pipe *pipe);
HIDDEN int weir_pipe_call(weir_pipe *pipe, struct slot *slot, weir_pipe_callback *callback);
/* Waits on `condition` under the lock; spins outside of it first, while *hint stays as it is. */
HIDDEN void weir_pipe_wake_all_locked(weir_pipe *pipe);
HIDDEN void weir_pipe_wait_locked(weir_pipe *pipe, pthread_cond_t *condition,
                                  _Atomic(unsigned) *hint);

/* slot.c: buffers, streams and events. On failure what was made stays for slot_finish. */
HIDDEN cudaError_t weir_pipe_slot_init(weir_pipe *pipe, struct slot *slot);
HIDDEN void weir_pipe_slot_finish(weir_pipe *pipe, struct slot *slot);
HIDDEN cudaError_t weir_pipe_split_init(weir_pipe *pipe, struct lane *lane, unsigned device_index);
HIDDEN void weir_pipe_split_finish(weir_pipe *pipe, struct lane *lane, unsigned device_index);

/* submit.c */
HIDDEN void *weir_pipe_producer_main(void *pipe);

/* enqueue.c */
HIDDEN struct step weir_pipe_enqueue(weir_pipe *pipe, struct slot *slot);
/* A call of the runtime failed with `error`: an error that stays breaks the pipeline. */
HIDDEN struct step weir_pipe_cuda_failed(weir_pipe *pipe, struct slot *slot, cudaError_t error);
HIDDEN cudaError_t weir_pipe_device_set(int device);

/* graph.c: gives to the item's stream what `enqueue` gives to it, as a graph where graphs are asked
 * for: captured, or replayed when that part of such an item has been captured before. */
typedef struct step enqueue_part(weir_pipe *pipe, struct slot *slot);
HIDDEN struct step weir_pipe_graph_enqueue(weir_pipe *pipe, struct slot *slot, unsigned part,
                                           enqueue_part *enqueue);
HIDDEN void weir_pipe_graph_finish(struct slot *slot);

/* drain.c: there is something to take in */
HIDDEN void weir_pipe_wake_drain_locked(weir_pipe *pipe);
HIDDEN void *weir_pipe_worker_main(void *pipe);
/* Takes in an item in this thread; without `wait` only one that the device has finished. False:
 * there was none. */
HIDDEN bool weir_pipe_collect_locked(weir_pipe *pipe, bool wait);

/* stats.c, tune.c */
HIDDEN void weir_pipe_count_accept_locked(weir_pipe *pipe, struct slot *slot);
HIDDEN void weir_pipe_count_report_locked(weir_pipe *pipe, struct slot *slot);
HIDDEN enum weir_pipe_cause weir_pipe_cause_locked(weir_pipe *pipe, const struct lane *lane);
HIDDEN void weir_pipe_tune_init(weir_pipe *pipe);
HIDDEN void weir_pipe_tune_accept_locked(weir_pipe *pipe, struct slot *slot);
HIDDEN void weir_pipe_tune_report_locked(weir_pipe *pipe, struct slot *slot);

#endif
