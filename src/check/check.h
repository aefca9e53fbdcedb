/* The checker of a running program (DESIGN 5): told of streams, events, operations, host waits and
 * memory, it finds accesses that no documented rule orders. Tells of itself nothing that depends on
 * what was faster: a run's edges play no part, only those of model/order.h.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Objects of core (streams, events, operations, executable graphs) are known by their addresses.
 * One lock, of rank CHECK, inside every call: callers may hold any other but LEAF ones. All calls
 * do nothing while weir_check_enabled() is false; callers ask first. Thread: any. */
#ifndef WEIR_CHECK_CHECK_H
#define WEIR_CHECK_CHECK_H

#include <stdatomic.h>

#include "base/err.h"
#include "check/shadow.h"

/* What is to be done with what is told: judge it, or (for programs built with ThreadSanitizer) tell
 * the sanitizer the order of host functions and host waits (tsan.h), or both. */
enum { WEIR_CHECK_JUDGES = 1, WEIR_CHECK_TELLS = 2 };
extern _Atomic unsigned weir_check_on;

static inline bool weir_check_enabled(void)
{
    return WEIR_UNLIKELY(atomic_load_explicit(&weir_check_on, memory_order_relaxed) &
                         WEIR_CHECK_JUDGES);
}

static inline bool weir_check_tells(void)
{
    return WEIR_UNLIKELY(atomic_load_explicit(&weir_check_on, memory_order_relaxed) &
                         WEIR_CHECK_TELLS);
}

/* Is anything done with it? Calls marked + are made then; all others when it is judged. */
static inline bool weir_check_follows(void)
{
    return WEIR_UNLIKELY(atomic_load_explicit(&weir_check_on, memory_order_relaxed));
}

/* Tells ThreadSanitizer from now on, if the program has it. Before the first call. */
bool weir_check_tell_start(void);

/* exact: kernels say byte by byte what they touch; else their arguments stand for all that they
 * point to. Once per process. */
void weir_check_start(bool exact);
bool weir_check_is_exact(void);
/* Writes the report to stderr; the number of findings. Nothing is checked any more. Later calls
 * wait for the first one, and say the same. */
size_t weir_check_finish(void);
/* For the end of a process that does not come by exit(3) (core/ending.c). Has the report begun? Is
 * it this thread's? For signal handlers, too. */
bool weir_check_finishing(bool *own);
/* The calling thread is in the checker, which nobody else can enter before it goes on: the signal
 * will come again. */
bool weir_check_puts_off(int signo);
/* Calls `found` under the lock for each new hazard. */
void weir_check_on_found(void (*found)(void));
/* Leaves what was found so far where the launcher finds it, if the process cannot report it. One
 * thread's. */
void weir_check_note_draft(void);
/* The process's exit status then. */
int weir_check_status(void);

/* ---- where the program is: by thread ---- */

/* The calling thread is inside `call` (a static text), which returns to `site`. */
void weir_check_enter(const char *call, const void *site);
/* The <<< >>> before a kernel's stub: stands for the launch call that follows. */
void weir_check_launch_site(const void *site);

/* ---- streams and events: + ---- */

void weir_check_stream(const void *stream, uint64_t id, int device, enum weir_stream_class cls);
void weir_check_stream_end(const void *stream);
/* between: the record is an operation of the stream. */
void weir_check_record(const void *event, const void *stream, bool between);
void weir_check_wait(const void *event, const void *stream);
void weir_check_event_end(const void *event);
/* A stream (NULL: the host, and the wait is over) waits for what another process has recorded. That
 * process may have waited for anything here: what is behind the wait in the stream may come after
 * anything, and the host knows of all on the device. */
void weir_check_foreign(const void *stream, int device);
/* A value in memory that a stream writes, and one that a stream waits for. `known`: the last value
 * that a stream was given to write there (weir_check_value_last) will do, and nobody but streams
 * and kernels can write there: then the wait is for that write, as if it were an event's record.
 * Else nobody knows what it is for. `told`: the program may read the value, and so know of all that
 * is before the write. */
void weir_check_value_written(uint64_t address, uint64_t value, const void *stream, bool told);
bool weir_check_value_last(uint64_t address, uint64_t *value);
void weir_check_value_awaited(uint64_t address, const void *stream, bool known);

/* ---- operations ---- */

/* What is known of an operation from its submission until it is done: core keeps it beside the
 * operation, and it is how the operation is named here. All zero before the first time. Written
 * under the lock; read without it where the operation is known to have been submitted. */
struct weir_check_stack;
struct weir_check_op {
    uint32_t lane; /* 0: not known (any more) */
    uint32_t thread;
    weir_seq seq;
    union {
        struct weir_clock *base;  /* a reference */
        struct weir_actor *actor; /* `made` */
    };
    uint64_t number; /* submitted as the n-th */
    const struct weir_check_stack *stack;
    const char *call, *name;
    uint8_t kind;     /* enum weir_op_kind */
    bool made : 1;    /* an actor stands for it */
    bool watched : 1; /* it is in the map of operations */
    bool closed;      /* pages of the program's were closed for it */
    bool told;        /* what it touches; who it is stays known only for its failure */
    uint32_t gate;    /* its place among the gates, and one; 0: it is none */
};
_Static_assert(sizeof(struct weir_check_op) == 64, "a line of each operation");

/* + Submitted to the stream. name: a kernel's, static, or NULL. `behind` (may be NULL): an object
 * whose last operation comes before, too, and which this one becomes the last of: a graph's
 * launches follow each other (ORD-030). The caller holds the stream's lock. */
void weir_check_op(struct weir_check_op *op, const void *stream, enum weir_op_kind kind,
                   const char *name, const void *behind);
struct weir_check_range;
/* A copy or memset, and all that it touches, which is told at once if all that is before it has
 * been (op->told): then it is as if it were done, and weir_check_op_done is not called. */
void weir_check_copy(struct weir_check_op *op, const void *stream, enum weir_op_kind kind,
                     const struct weir_check_range *ranges, size_t count);
/* + A kernel. asks: a programmatic launch (ORD-031). */
void weir_check_kernel(struct weir_check_op *op, const void *stream, const char *name, bool asks);
/* + Who does what that launch does before it waits inside (ORD-032); NULL: nobody else. a: its
 * weir_check_actor. */
struct weir_actor *weir_check_early(const struct weir_actor *a);
/* One of the nodes of `plan`, a graph or the body of a conditional node. Their order is asked for
 * once for each plan: order(arg) gives it, and is the checker's from then on; NULL: no memory.
 * time: which time the body runs. */
struct weir_check_node {
    const void *plan;
    uint32_t number, time;
    struct weir_reach *(*order)(const void *arg);
    const void *arg;
};
/* + A launch of a graph in which nodes wait for events or record some (GRA-011): as weir_check_op.
 * `nodes`: the waits first. */
struct weir_check_event_node {
    uint32_t node;
    const void *event, *records; /* a stream of a record node's own; NULL: it waits */
};
void weir_check_launch(struct weir_check_op *op, const void *stream, const void *behind,
                       const struct weir_check_node *graph,
                       const struct weir_check_event_node *nodes, size_t count);
/* + A copy between the legacy streams of two devices (ORD-012), in `stream`; `other` is the second
 * device's. */
void weir_check_op_peer(struct weir_check_op *op, const void *stream, const void *other);
/* Who the operation is, until it is done; NULL: unknown (memory ran out). */
struct weir_actor *weir_check_actor(struct weir_check_op *op);
/* A node of a graph's launch `op`, or (numbered behind the nodes, shadow.h) its early part. levels:
 * the node of the graph itself that it is or is inside of, then the same of the bodies of
 * conditional nodes. The caller ends the actor. */
struct weir_actor *weir_check_node(const struct weir_check_op *op,
                                   const struct weir_check_node *levels, uint32_t count,
                                   enum weir_op_kind kind, const char *name);
void weir_check_node_end(struct weir_actor *a);
/* + Of a graph, or of a body. */
void weir_check_plan_end(const void *plan);

/* What it touches, before it is done. Rectangles in 3 dimensions. actor may be NULL. */
struct weir_check_range {
    enum weir_access kind;
    uintptr_t begin;
    size_t width, height, depth, pitch, slice;
};
void weir_check_access(struct weir_actor *a, const struct weir_check_range *ranges, size_t count);
/* The same of many pages at once, as weir_shadow_access_bits: `next` fills in the next, or gives
 * false. The lock is held meanwhile. */
struct weir_check_page {
    uint64_t number;
    enum weir_access kind;
    const uint64_t *bits;
};
void weir_check_access_pages(struct weir_actor *a,
                             bool (*next)(void *ctx, struct weir_check_page *page), void *ctx);
/* Something that should have been looked at was not: the report says so. */
void weir_check_lost(void);
/* + It has run, and touches these at last; nothing behind it has begun. */
void weir_check_op_done(struct weir_check_op *op, const struct weir_check_range *ranges,
                        size_t count);
/* + The same of several of one stream, one behind the other; each with its ranges. */
#define WEIR_CHECK_DONE_MAX    32
#define WEIR_CHECK_DONE_RANGES 2 /* of one, at most */
struct weir_check_done {
    size_t count, range_count;
    struct weir_check_op *ops[WEIR_CHECK_DONE_MAX];
    uint8_t range_counts[WEIR_CHECK_DONE_MAX];
    struct weir_check_range ranges[WEIR_CHECK_DONE_MAX * WEIR_CHECK_DONE_RANGES];
};
void weir_check_ops_done(const struct weir_check_done *done);

/* ---- the host: + ---- */

/* It has ended, as it is recorded now. Nobody records it meanwhile. */
void weir_check_host_saw_event(const void *event);
/* Around a wait for a stream, or (NULL) for a device: what is submitted beside it is not seen. */
struct weir_check_sync {
    bool judges;
    struct weir_order_stamp judged; /* what is waited for */
    struct weir_clock *told;        /* NULL: nothing */
};
struct weir_check_sync weir_check_sync_begin(const void *stream, int device);
/* The same for an event as it is recorded now: nobody records it during this call, but perhaps
 * during the wait. */
struct weir_check_sync weir_check_event_sync_begin(const void *event);
/* All zero: nothing. */
void weir_check_sync_end(struct weir_check_sync *w, bool over);
/* The stream was asked and has nothing left. */
void weir_check_host_saw_stream(const void *stream);
/* The operation that this thread has submitted last. */
void weir_check_host_saw_last(void);
/* A host function begins: the host sees that what is before it has ended. node: of a graph's launch
 * `op` (else NULL), and what is before it in the graph has ended as well. f: the caller's until the
 * end, all zero. */
struct weir_check_func {
    bool shown; /* to ThreadSanitizer, as what tsan.c has of it: */
    struct func *func;
    struct node *node;
    const struct weir_reach *reach;
};
void weir_check_host_func(struct weir_check_func *f, struct weir_check_op *op,
                          const struct weir_check_node *node);
void weir_check_host_func_end(struct weir_check_func *f);

/* ---- the rest: not + ---- */

/* A call that was refused because it came from inside of a host function or callback. */
void weir_check_host_func_call(void);

/* ---- misuse ---- */

/* The runtime's call in progress fails, and its thread's last error is this now. */
void weir_check_failed(enum weir_err err);
/* The thread's last error is read (and reset). */
void weir_check_error_read(enum weir_err err, bool reset);
/* A call has failed: is it an error of captures (900 to 908)? */
void weir_check_capture_failed(enum weir_err err);
/* Both. */
void weir_check_call_failed(enum weir_err err);
void weir_check_capture(const void *stream, bool begins);
/* The capture that began in the stream ends well, and is about to be forgotten. */
void weir_check_captured(const void *stream);
/* The operation has failed, as the first or because another had. */
void weir_check_op_failed(struct weir_check_op *op, enum weir_err err);
/* What is known of a kernel's failure, before that: the first is told with it. Copied. */
void weir_check_fault_text(const char *text);
/* A handle that is good no more, or never was. */
void weir_check_bad_handle(const void *handle);
/* The program has made, or gives back, a stream, event, graph (a static text). */
void weir_check_object(const void *p, const char *kind);
void weir_check_object_end(const void *p);
/* Nothing advances, and never will: `text` has the steps of the circle, a line each. The thread
 * waits in a call (0: unknown); op: a host function in it, or NULL. Ends the process with the
 * report. Thread: one of Weir's own, no lock held. */
void weir_check_deadlock(const char *text, uint32_t thread, struct weir_check_op *op);
/* The time between two events is asked for. */
void weir_check_elapsed(const void *start, const void *end);
/* The program called a function that there is not. */
void weir_check_unsupported(const char *call, const void *site);
/* A stream was asked for with a priority that there is not. */
void weir_check_clamped(int asked, int got);
/* An asynchronous copy from or to pageable memory. */
void weir_check_pageable(void);
/* cudaMemPrefetchAsync of memory that begins there. */
void weir_check_prefetch(const void *p);
/* Where the calling thread's stack was when the program made its call. */
uintptr_t weir_check_frame(void);
/* A launch of a graph will copy from host memory that is gone: freed, or a frame of a function that
 * has returned (on_stack). */
void weir_check_dead_source(const void *p, size_t bytes, bool on_stack);
/* What the calling thread waits for between the two no document promises (on): it has not seen it.
 */
void weir_check_unpromised(bool on);
void weir_check_promised(void);
/* That cudaFree waits is not to count: --without free. */
bool weir_check_without_free(void);

/* ---- what the program itself touches (host.c) ---- */

/* From now on the program's own accesses to [begin, end) are watched, by closing pages (guard.h).
 * Once, before the first operation. */
void weir_check_watch(uintptr_t begin, uintptr_t end);
/* The same of whole pages of the program's own, from now on until they are taken out again. Engines
 * have no second way to them but that past their protection, and ask whether they are closed. */
void weir_check_watch_more(uintptr_t begin, uintptr_t end);
void weir_check_watch_less(uintptr_t begin, uintptr_t end);
bool weir_check_is_closed(uintptr_t begin, uintptr_t end);
/* Without a lock, also for signal handlers; false: nothing there is watched. */
bool weir_check_may_watch(uintptr_t begin, uintptr_t end);
/* In the child of a fork: its copies of those pages are its own. */
void weir_check_forked(void);
/* The operation, submitted just now, will touch some of these bytes. Others are ignored. */
void weir_check_will_touch(struct weir_check_op *op, uintptr_t begin, uintptr_t end, bool writes);
/* It may touch any managed memory. */
void weir_check_will_touch_managed(const struct weir_check_op *op);
/* After weir_check_start: the host is kept from managed memory (ORD-092). alone: an access is the
 * program's fault, and nothing else is judged or reported; else a finding. */
void weir_check_keep_managed(bool alone);
/* Is it more than that? False as well when nothing is judged. */
bool weir_check_reports(void);
/* The operation was submitted, and is a kernel or has some. */
void weir_check_kernel_active(struct weir_check_op *op);
/* Managed memory that begins there is attached to something, `stream` if it is one. */
void weir_check_attach(const void *p, enum weir_attached attached, const void *stream);
/* Have other pages than those of the first call been watched, ever? Without a lock. */
bool weir_check_watches_more(void);
/* The launch of a graph that has host nodes or waits for values: the program may hold it up. */
void weir_check_waits_inside(struct weir_check_op *op);
/* It writes values in memory or waits for some. */
void weir_check_values_inside(const struct weir_check_op *op);

enum weir_check_fault {
    WEIR_FAULT_OTHER, /* nothing is watched there */
    WEIR_FAULT_AGAIN, /* the page is open now: to be tried again */
    WEIR_FAULT_STEP,  /* open until weir_check_step_end */
};
/* The calling thread was about to access watched memory. at: the place to tell, as a return
 * address; ip: its frame's instruction pointer. engine: on behalf of an operation; then the pages
 * stay open. For signal handlers, while the thread holds no lock of rank CHECK or LEAF. */
enum weir_check_fault weir_check_fault(uintptr_t address, size_t bytes, bool writes, const void *at,
                                       const void *ip, bool engine);
void weir_check_step_end(uintptr_t address);
/* The program has the system or its C library read or write the bytes: judged, and the pages stay
 * open until the end, so that no call fails. False: nothing is watched there, no end is to be told.
 * call: static, NULL: not judged; at: it returns to. errno is kept. */
bool weir_check_io_begin(const void *p, size_t bytes, bool writes, const char *call,
                         const void *at);
void weir_check_io_end(const void *p, size_t bytes);
/* The program gives memory of its own back to the system, by `call`; judged: that is a mistake when
 * an operation that nobody waited for uses it as registered memory. It is watched no more. */
void weir_check_unmapped(const void *p, size_t bytes, bool judged, const char *call,
                         const void *at);
/* A block of the C library's goes back to it, or has gone: a mistake when registered memory begins
 * in it. The first answers without a lock. */
bool weir_check_may_be_registered(uintptr_t p, size_t bytes);
void weir_check_block_freed(const void *p, size_t bytes, const char *call, const void *at);
/* The operation has failed because registered memory is not there. */
void weir_check_memory_gone(struct weir_check_op *op, const void *p, size_t bytes, bool writes);

/* ---- inside of kernels ---- */

/* The path as seen from the folder that the program was started in; as it is where nothing is
 * checked. Part of `file`. */
const char *weir_check_path(const char *file);

struct weir_check_thread {
    uint32_t block[3], thread[3];
    uint64_t address;
    uint32_t bytes;
    enum weir_access access;
    uint32_t ptx_line, line; /* 0: unknown */
    const char *file;
};
enum weir_check_wrong_kind { WEIR_WRONG_OUTSIDE, WEIR_WRONG_UNINITIALISED, WEIR_WRONG_KINDS };
/* An access that a kernel must not make. `a` NULL: the operation is not known. */
struct weir_check_wrong {
    enum weir_check_wrong_kind kind;
    struct weir_check_thread at;
};
/* --init. The first answers without a lock; page: of 4 KiB; the bytes (at most 32) that nothing has
 * written, a bit each. */
bool weir_check_wants_init(void);
bool weir_check_page_is_written(uint64_t number);
uint32_t weir_check_unwritten(uintptr_t begin, uint32_t bytes);
/* Which operation it is, by the order of submission; 0: unknown. */
uint64_t weir_check_number(const struct weir_check_op *op);
/* Is the address in memory that was freed in a stream's order, and by a call after that operation?
 * Then *begin and *end are the memory's. */
bool weir_check_had(uint64_t number, uintptr_t address, uintptr_t *begin, uintptr_t *end);
/* By something that is no operation: initial values of variables. */
void weir_check_written(const void *p, size_t bytes);
void weir_check_kernel_wrong(struct weir_actor *a, const char *name,
                             const struct weir_check_wrong *w);

/* --kernel-races: what the threads of one kernel do to each other. */
bool weir_check_wants_kernel_races(void);
/* --late-async: copies to shared memory are to land as late as they may. */
bool weir_check_wants_late_async(void);
enum weir_check_threads_kind {
    WEIR_THREADS_RACE,       /* the access of `first` and that of `second`: no order */
    WEIR_THREADS_BESIDE,     /* the same: a plain read of global memory, and an atomic */
    WEIR_THREADS_UNFINISHED, /* first's asynchronous copy to there may not be complete */
    WEIR_THREADS_DIVERGENT,  /* second goes on where first waits at a barrier */
    WEIR_THREADS_STUCK,      /* first waits at a barrier that never completes */
    WEIR_THREADS_KINDS
};
struct weir_check_threads {
    enum weir_check_threads_kind kind;
    struct weir_check_thread first, second; /* address: in shared memory from its begin on */
    bool shared;
    uint32_t arrived, threads; /* at the barrier, of the block */
    const char *variable;      /* shared: which one (mangled), NULL: unknown */
    uint64_t offset;           /* of second's address in it */
};
void weir_check_kernel_threads(struct weir_actor *a, const char *name,
                               const struct weir_check_threads *t);

/* ---- memory ---- */

void weir_check_alloc(const void *p, size_t bytes, const char *kind);
/* Before the memory is given back, by a call of the host's. judged: that is a mistake while
 * something may use it (weir_model_free_needs_wait). */
void weir_check_free(const void *p, size_t bytes, bool judged);
/* Memory that is mapped to its addresses (cuMemMap): its name, to be given back when it goes; that
 * it is at p from now on, from the byte that is called `name`; that it is there no more. */
uintptr_t weir_check_mapped_name(size_t bytes);
void weir_check_mapped_gone(uintptr_t name, size_t bytes);
void weir_check_mapped(uintptr_t p, size_t bytes, uintptr_t name);
void weir_check_mapped_end(uintptr_t p, size_t bytes);
/* At their places in the stream (cudaMallocAsync, cudaFreeAsync). The allocation comes after all
 * that is known of the same bytes: the pool that gives them away again keeps that order. */
void weir_check_alloc_async(const void *stream, const void *p, size_t bytes);
void weir_check_free_async(const void *stream, const void *p, size_t bytes);
/* What the calling thread frees between (true) and (false) was freed in its stream's order. */
void weir_check_frees_in_order(bool on);

#endif
