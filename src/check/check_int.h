/* Inside of the checker: its state, and what findings are made of.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CHECK_CHECK_INT_H
#define WEIR_CHECK_CHECK_INT_H

#include <stdio.h>

#include "base/err.h"
#include "base/lock.h"
#include "base/vec.h"
#include "check/check.h"
#include "check/guard.h"
#include "check/settings.h"
#include "check/stack.h"

/* A place in the program: a call of the API, or code of its own. */
struct weir_check_site {
    const char *call;                     /* NULL: none */
    const void *address;                  /* it returns to; NULL: unknown */
    const struct weir_check_stack *stack; /* from there on; NULL: not taken */
    uint32_t thread;
};

/* Of an actor. */
struct weir_check_detail {
    enum weir_op_kind kind;
    bool host;        /* no operation: the program itself */
    const char *name; /* of a kernel, mangled */
    uint32_t lane;
    uint64_t number; /* submitted as the n-th */
    struct weir_check_site site;
    bool gone; /* that its memory was given back has been told */
    /* Of a programmatic launch: what it does before it waits for the kernels in front of it. Owned
     * while the launch has not ended. */
    struct weir_actor *early;
    struct weir_check_events *events; /* of a graph's launch, owned as well; NULL: none */
};

/* The nodes of a launch that wait for events, or record some: those events' stamps. */
struct weir_check_events {
    struct weir_reach *reach; /* a reference */
    size_t count;
    struct {
        uint32_t node;
        bool records;
        struct weir_order_stamp stamp;
    } at[];
};

struct weir_check_stream {
    uint64_t id;
    int device;
    enum weir_stream_class cls;
    uint32_t thread;  /* that made it */
    uint32_t pending; /* operations that are not done, or not looked at yet */
    bool overtakes;   /* one may be done before the one in front of it */
    weir_seq done;    /* the last one that is */
};

/* Memory that the program has. */
struct weir_check_block {
    uintptr_t begin;
    size_t bytes;
    const char *kind; /* "device memory" ... */
    bool freed;       /* in a stream's order */
    uint64_t number;  /* operations submitted before; freed_number: before it was freed */
    uint64_t freed_number;
    struct weir_check_site site, prefetched, freed_at;
};

/* A stream, event, graph that the program made; kept when it is gone. */
struct weir_check_object {
    const char *kind; /* "stream" ... */
    bool alive;
    struct weir_check_site made, ended;
};

/* Of a thread that had errors. Kept. */
struct weir_check_errors {
    struct weir_check_errors *next;
    enum weir_err last;   /* as the runtime's last error; WEIR_OK: read since, or none */
    enum weir_err launch; /* of a <<< >>>, not read yet */
    uint32_t launches;    /* of the thread when `last` was born */
    struct weir_check_site at, launch_at;
};

struct weir_check_capture {
    uint32_t thread;
    struct weir_check_site began;
    struct weir_check_site refused; /* the first call that would have added work; no call: none */
    uint64_t refused_count;
};

/* Of the calling thread; static thread-local memory is scarce (core/thread.h). */
struct weir_check_here {
    const char *call;
    const void *site, *frame;
    const struct weir_check_stack *launch; /* of the <<< >>> before the call */
    struct weir_check_errors *errors;
    uint32_t last_lane; /* submitted by this thread */
    uint32_t launches;
    weir_seq last_seq;
    const void *polled; /* the stream or event that it asked last, */
    uint64_t polled_at; /* when the lock was taken for the n-th time, for that */
    bool unpromised, frees_in_order;
    bool holds;        /* the checker's lock, or is about to */
    int signal_before; /* came meanwhile, and comes again when the lock is free; 0: none */
};
extern WEIR_TLS struct weir_check_here weir_check_here;

/* ---- findings (finding.c) ---- */

enum weir_check_finding_kind {
#define KIND(name, word, level, text) WEIR_FOUND_##name,
#include "check/kinds.def"
#undef KIND
    WEIR_FOUND_KINDS
};

enum weir_check_level { WEIR_CHECK_HAZARD, WEIR_CHECK_NOTE };

struct weir_check_kind {
    const char *word;
    enum weir_check_level level;
    const char *text;
};
extern const struct weir_check_kind weir_check_kinds[WEIR_FOUND_KINDS];

/* One side of a finding: an operation, or (`what` is set) something else, such as "the host". */
struct weir_check_side {
    bool used;
    bool no_access; /* it does not touch memory: a call */
    const char *what;
    struct weir_check_detail op;
    struct weir_check_stream stream;
    enum weir_access access;
    weir_seq seq; /* may_block.c: of the operation in its lane */
};

/* A sentence: its format with {1} {2} {3} for places, {c1} .. for the names of their calls, {t} for
 * `text`, {n} for `number`. The places are looked up when it is written. NULL format: none. */
struct weir_check_say {
    const char *format, *text;
    uint64_t number;
    struct weir_check_site sites[3];
};

/* Threads of a kernel that a finding is about, the later one last; the first may have made an
 * asynchronous copy, or wait at a barrier. Files and names are kept. */
struct weir_check_inside {
    struct weir_check_thread at[2];
    uint32_t count;
    bool shared;          /* addresses are of the block's shared memory */
    const char *variable; /* of it, for people; NULL: unknown */
    uint64_t offset;      /* in the variable */
};

struct weir_check_finding {
    enum weir_check_finding_kind kind;
    const char *policy; /* of FORBIDDEN: which, a static text; of others NULL */
    struct weir_check_side a, b;
    uintptr_t begin, end; /* of the first time; the same: none */
    struct weir_check_block block;
    struct weir_check_say what, why, change;
    const struct weir_check_inside *inside; /* NULL: of no threads of a kernel */
    uint32_t place;                         /* in a kernel: the line of its PTX; 0: no such thing */
    uint64_t times;
    uint64_t last[2];            /* numbers of the operations met last */
    struct weir_suppression *by; /* NULL: it is reported */
};

/* Merged with one that is the same, else kept. Why and what to change are only asked for then:
 * explain(f, arg) fills them in; NULL: they are there. The lock is held. */
void weir_check_found(struct weir_check_finding *f,
                      void (*explain)(struct weir_check_finding *f, void *arg), void *arg);
struct weir_check_block weir_check_block_of(uintptr_t address); /* all 0: none */
struct weir_check_side weir_check_side_of(const struct weir_actor *a, enum weir_access access);
struct weir_check_side weir_check_side_call(struct weir_check_site at, const char *what);

/* why.c: of a race between two operations; arg: struct weir_race. The lock is held. */
void weir_check_explain_race(struct weir_check_finding *f, void *arg);
/* Between the host (f->b) and an operation (f->a); arg: the operation's struct weir_actor. */
void weir_check_explain_host(struct weir_check_finding *f, void *arg);

/* ---- the state ---- */

/* What is known of an event or an executable graph. */
struct weir_check_event {
    struct weir_order_stamp stamp; /* the last record, the last launch */
    uint64_t records;              /* how many so far */
    uint64_t value;                /* of an address: what was written last */
    uint64_t noop_waits;
    bool looked_at;    /* somebody waited for the last record or asked */
    struct {           /* by the host, last: for a record of that lane and seq */
        uint32_t lane; /* 0: never */
        weir_seq seq;
        uint64_t number; /* operations submitted before */
        struct weir_check_site at, recorded;
    } awaited;
    uint32_t launch_lane; /* the last record was a node's of a launch; 0: of none */
    weir_seq launch_seq;
    struct weir_check_site recorded, noop;
    /* The record before, in another stream, which nobody had waited for: stamp.lane 0 is none. */
    struct weir_order_stamp lost;
    struct weir_check_site lost_at;
};

/* The last waits of streams for events, for explanations. */
struct weir_check_wait {
    uint32_t lane, record_lane; /* record_lane 0: never recorded */
    weir_seq at, record_seq;    /* everything in `lane` after `at` waits */
    const void *event;
    uint64_t record; /* the event's n-th */
    uint32_t lost_lane;
    weir_seq lost_seq;
    uint32_t launch_lane; /* as of the event */
    weir_seq launch_seq;
    bool inside; /* a node of the launch behind `at` waits */
    struct weir_check_site waited, recorded, lost;
};
#define WEIR_CHECK_WAITS 512
#define WEIR_CHECK_FREED 1024

/* An operation that may wait for the program: what is behind it may come after what the program
 * does meanwhile. */
struct weir_check_gate {
    struct weir_check_op *op; /* a host function; NULL: a wait for a value, or the like */
    struct weir_order_stamp stamp;
};

/* The program (f.b) against an operation. Only in the end it is known which kernels have talked
 * with the program by ordered accesses to host memory. */
struct weir_check_suspect {
    struct weir_check_finding finding;
    struct weir_actor *op; /* a reference */
};

/* Whole pages. */
struct weir_check_pages {
    uintptr_t begin, end;
};

struct weir_check_page_list {
    WEIR_VEC(struct weir_check_pages) ranges;
    _Atomic uintptr_t begin, end; /* none lies outside of it; only grows */
};

/* Managed memory, byte by byte, and what its program has attached it to. */
struct weir_check_managed {
    uintptr_t begin, end;
    enum weir_attached attached;
    uint32_t lane; /* of WEIR_ATTACHED_STREAM */
};

/* managed.c */
struct weir_check_kept {
    bool on, alone, told;
    WEIR_VEC(struct weir_actor *) active; /* kernels; some may be over */
};

/* What has run, and was not looked at yet (over.c). */
struct weir_check_over_access {
    struct weir_check_op *op;
    struct weir_check_range range;
};

struct weir_check_over_list {
    WEIR_VEC(struct weir_check_op *) ops;   /* the other two come first */
    WEIR_VEC(struct weir_check_op *) begun; /* host functions */
    WEIR_VEC(struct weir_check_over_access) accesses;
};

struct weir_check_over {
    struct weir_lock lock;
    _Atomic bool some; /* written under the lock, and read under the checker's */
    /* Pages may be closed, which whom the host hears of may open. Written under the checker's. */
    _Atomic bool closed;
    struct weir_check_over_list *now, lists[2]; /* the other one is the checker's lock's */
};

#define WEIR_CHECK_KNOWN 8

/* What was looked up last: calls name the same few streams and events again and again. */
struct weir_check_known {
    struct {
        const void *stream;
        uint32_t lane;
    } lanes[WEIR_CHECK_KNOWN];
    const void *object; /* an event or executable graph, as in `events` */
    struct weir_check_event *event;
};

struct checker {
    struct weir_lock lock;
    _Atomic uint64_t turn; /* how often it was taken; written under it */
    WEIR_ALIGNED(64) struct weir_check_over over;
    WEIR_ALIGNED(64) struct weir_order order;
    struct weir_shadow shadow;
    struct weir_check_known known;
    struct weir_map lanes;    /* stream -> lane; kept */
    struct weir_map events;   /* event, executable graph -> struct weir_check_event */
    struct weir_map ops;      /* operation -> itself, while it uses registered memory */
    struct weir_map plans;    /* plan of a graph -> struct weir_reach */
    struct weir_map blocks;   /* address -> struct weir_check_block */
    struct weir_map objects;  /* address -> struct weir_check_object */
    struct weir_map captures; /* stream -> struct weir_check_capture, while it captures */
    struct weir_map waiting;  /* thread id -> struct weir_check_site: its last wait */
    struct weir_check_errors *errors;
    struct weir_check_finding *fault; /* the first operation that failed */
    enum weir_err fault_error;
    char *fault_text;                           /* NULL: its error is all that is known */
    WEIR_VEC(struct weir_check_stream) streams; /* by lane */
    uint32_t lane_count;                        /* of streams: from WEIR_CHECK_HOST_LANE + 1 on */
    size_t settle_at;
    uint64_t submitted, pending;
    uint64_t parted; /* of the pending ones: launches of graphs in which nodes record events */
    struct weir_check_wait *waits; /* the n-th at n % WEIR_CHECK_WAITS */
    uint64_t wait_count;
    struct weir_check_block *freed; /* the n-th at n % WEIR_CHECK_FREED */
    uint64_t freed_count;
    struct weir_map written; /* init.c: page -> bits of written bytes; none: all are */
    WEIR_VEC(struct weir_check_finding) findings;
    struct weir_check_settings settings;
    /* the program itself (host.c) */
    struct weir_guard guard;
    uintptr_t watch_begin, watch_end;       /* constant */
    struct weir_check_page_list more;       /* the program's own pages that are watched, too */
    struct weir_check_page_list registered; /* byte by byte */
    WEIR_VEC(struct weir_check_managed) managed;
    struct weir_check_kept kept;
    _Atomic bool watch_over; /* written under the lock, under which debug information is read then:
                                who is called by that must not ask for the lock */
    struct weir_actor *host_last; /* of the last access, to be taken again; may be NULL */
    uint64_t host_acts, host_last_changes, host_last_submitted;
    WEIR_VEC(struct weir_check_gate) gates;
    WEIR_VEC(struct weir_check_suspect) suspects;
    WEIR_VEC(struct weir_order_stamp) met;   /* kernels that have talked with the program */
    WEIR_VEC(struct weir_order_stamp) heard; /* launches of graphs whose host nodes have run */
    bool exact;
    bool forked;                      /* in a child without a device: nothing is reported */
    _Atomic(void (*)(void)) on_found; /* a hazard that is new; NULL: nobody asks */
    bool failed;                      /* out of memory: something was not looked at */
};

extern struct checker weir_checker;

/* Something is not looked at: no memory for it, or too much of its kind. */
static inline void weir_check_lost_locked(void)
{
    weir_checker.failed = true;
}

/* Something was not looked at: no memory, or too many findings. */
static inline bool weir_check_is_short(void)
{
    const struct checker *c = &weir_checker;

    return c->failed || c->order.failed || c->shadow.failed;
}

/* All that is looked for was looked for. */
static inline bool weir_check_is_complete(void)
{
    return !weir_check_is_short() && !weir_checker.order.open_vague;
}

void weir_check_over_init(void);
void weir_check_over_take_locked(void);
/* A host function begins. False: no room. */
bool weir_check_begun(struct weir_check_op *op);
/* check.c. An operation has ended; it touches something; marks that nobody needs are let go. */
void weir_check_op_over_locked(struct weir_check_op *op);
void weir_check_host_func_begun_locked(const struct weir_check_op *op);
/* Who it is, as weir_check_actor. */
struct weir_actor *weir_check_actor_locked(struct weir_check_op *op);
/* Its stamp, borrowed, and where it was submitted. Of lane 0: nothing. */
struct weir_order_stamp weir_check_stamp_peek(const struct weir_check_op *op);
struct weir_check_site weir_check_op_site(const struct weir_check_op *op);
void weir_check_access_locked(struct weir_actor *a, const struct weir_check_range *r);
void weir_check_settle_locked(void);

/* Raises the signal that came while the calling thread held the lock. */
void weir_check_signal_again(void);

static inline void weir_check_lock(void)
{
    _Atomic uint64_t *turn = &weir_checker.turn;

    weir_check_here.holds = true;
    atomic_signal_fence(memory_order_seq_cst);
    weir_lock_acquire(&weir_checker.lock);
    atomic_store_explicit(turn, atomic_load_explicit(turn, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    if (WEIR_UNLIKELY(atomic_load_explicit(&weir_checker.over.some, memory_order_relaxed)))
        weir_check_over_take_locked();
}

static inline void weir_check_unlock(void)
{
    if (WEIR_UNLIKELY(weir_checker.guard.ranges.count)) { /* the host may know more now */
        weir_guard_settle(&weir_checker.guard);
        if (!weir_checker.guard.ranges.count)
            atomic_store_explicit(&weir_checker.over.closed, false, memory_order_relaxed);
    }
    weir_lock_release(&weir_checker.lock);
    atomic_signal_fence(memory_order_seq_cst);
    weir_check_here.holds = false;
    if (WEIR_UNLIKELY(weir_check_here.signal_before))
        weir_check_signal_again();
}

/* Of the calling thread's call; no lock of the checker is held. launch: the <<< >>> before it. */
struct weir_check_site weir_check_site_now(bool launch);

/* finding.c; under the lock */
void weir_check_raced(void *ctx, const struct weir_race *race);
void weir_check_freed(const void *p, size_t bytes, struct weir_check_site by);
/* Some bytes that the operation uses are given back there. */
void weir_check_still_used(struct weir_actor *a, enum weir_access kind, uintptr_t begin,
                           uintptr_t end, struct weir_check_site by);

/* check.c, under the lock. What belongs to an event or an executable graph; NULL: nothing (no
 * memory if make). */
struct weir_check_event *weir_check_event_of_locked(const void *object, bool make);
uint32_t weir_check_lane_of_locked(const void *stream);
/* Both take over the stamp. NULL: no memory. */
struct weir_actor *weir_check_actor_make_locked(struct weir_order_stamp *stamp,
                                                enum weir_op_kind kind, const char *name,
                                                uint64_t number, struct weir_check_site site);
void weir_check_op_add_locked(struct weir_check_op *op, const struct weir_order_stamp *stamp,
                              enum weir_op_kind kind, const char *name,
                              const struct weir_check_site *site);
/* What is behind the executable graph next follows the stamp. */
void weir_check_behind_is(struct weir_check_event *e, const struct weir_order_stamp *stamp);

/* launch.c, under the lock. */
void weir_check_events_drop(struct weir_check_events *v);
/* *part, a copy of the launch's stamp, becomes that of the node. */
void weir_check_part_of(const struct weir_check_op *launch, uint32_t node,
                        struct weir_order_stamp *part);
/* The stamps by which others come behind nodes of the launch: visit(arg) for each, itself first. */
void weir_check_stamps_of(const struct weir_check_op *launch,
                          void (*visit)(const struct weir_order_stamp *s, void *arg), void *arg);

/* host.c: the program may give memory there back to the system. */
bool weir_check_may_go(uintptr_t begin, uintptr_t end);
/* The same file, under the lock: is (no more) registered. */
void weir_check_registered_locked(uintptr_t begin, uintptr_t end);
void weir_check_unregistered_locked(uintptr_t begin);

#define WEIR_CHECK_HOST_LANE 1u /* the program's own */

/* host.c; under the lock */
void weir_check_gate_add(struct weir_check_op *op);
void weir_check_gate_remove(struct weir_check_op *op);
void weir_check_heard(const struct weir_order_stamp *launch);
void weir_check_met(void *ctx, struct weir_actor *op, struct weir_actor *host);
void weir_check_met_stamp(const struct weir_order_stamp *op);
void weir_check_suspect(const struct weir_race *race);
/* managed.c. Managed memory that there is. */
void weir_check_managed_locked(uintptr_t begin, uintptr_t end);
void weir_check_managed_gone_locked(uintptr_t begin);
/* The host touches [begin, end), which is closed: says so if an active kernel keeps it out. True:
 * the access is a fault. */
bool weir_check_kept_locked(uintptr_t begin, uintptr_t end, bool writes,
                            struct weir_check_site site);
/* At the end: opens all pages; suspects that are none are forgotten, the others become findings. */
void weir_check_watch_end(void);

/* init.c: nothing unless it is asked for. */
void weir_check_init_change_locked(uintptr_t begin, uintptr_t end, bool written);
void weir_check_init_bits_locked(uint64_t number, const uint64_t *bits);

/* kernel.c, under the lock: freed by a call at `at`. */
void weir_check_block_gone_locked(const struct weir_check_block *b, struct weir_check_site at);

/* misuse.c. The call that the thread is in may be forbidden; no lock is held. */
void weir_check_forbidden_call(void);
/* Under the lock. */
void weir_check_event_gone(const struct weir_check_event *e);
/* inside: by a node of the lane's next operation. */
void weir_check_waited(const void *event, struct weir_check_event *e, uint32_t lane, bool inside,
                       struct weir_check_site at);
void weir_check_recorded(struct weir_check_event *e, struct weir_order_stamp *old,
                         struct weir_check_site at);
void weir_check_object_locked(const void *p, const char *kind, struct weir_check_site at);
void weir_check_object_end_locked(const void *p, struct weir_check_site at);
void weir_check_forbidden_locked(enum weir_policy what, struct weir_check_site at,
                                 const struct weir_check_side *side);
static inline bool weir_check_is_forbidden(enum weir_policy what)
{
    return weir_checker.settings.forbidden >> what & 1;
}
/* The calling thread captures, and this goes into a stream that does not. */
void weir_check_not_captured_locked(const struct weir_actor *a);
/* The thread of that place begins to wait there. */
void weir_check_waits_locked(const struct weir_check_site *at);
/* may_block.c, under the lock. A call on the device (-1: any) that may wait for it on hardware; a
 * kernel has talked with the program by ordered accesses; the end. */
void weir_check_may_block_locked(int device, const struct weir_check_site *at);
void weir_check_talks_locked(const struct weir_actor *op);
void weir_check_may_block_end_locked(void);
/* At the end: what was left. */
void weir_check_left_locked(void);

/* ---- the report (report.c, report_json.c, report_sarif.c, place.c) ---- */

/* A place as text, looked up once for each address. NULL: no memory, or no address. */
struct weir_trace_place;
struct weir_check_places;
struct weir_check_places *weir_check_places_create(void);
void weir_check_places_destroy(struct weir_check_places *p);
const struct weir_trace_place *weir_check_place(struct weir_check_places *p, const void *address);
/* Is it in the program, and not in Weir or the C library's start? */
bool weir_check_place_is_own(const void *address);
/* Into out: texts of a finding. */
struct weir_text {
    char data[2048];
    size_t length;
};
void weir_text_add(struct weir_text *t, const char *format, ...) WEIR_PRINTF(2, 3);
void weir_check_text_say(struct weir_text *t, struct weir_check_places *p,
                         const struct weir_check_say *say);
/* "kernel fill writes" */
void weir_check_text_side(struct weir_text *t, const struct weir_check_side *s);
/* "thread (1, 0, 0) of block (0, 0, 0)" */
void weir_check_text_thread(struct weir_text *t, const struct weir_check_thread *w);
/* "non-blocking stream 4"; false: it is in none */
bool weir_check_text_stream(struct weir_text *t, const struct weir_check_side *s);
/* "race", "forbidden-default-stream" */
const char *weir_check_word(const struct weir_check_finding *f, char *out, size_t room);
/* The suppression that would silence it. */
void weir_check_text_suppression(struct weir_text *t, struct weir_check_places *p,
                                 const struct weir_check_finding *f);
/* Which of the settings' lines does; NULL: none. */
struct weir_suppression *weir_check_suppressed(struct weir_check_places *p,
                                               const struct weir_check_finding *f);
/* One line that says it all. */
void weir_check_text_message(struct weir_text *t, struct weir_check_places *p,
                             const struct weir_check_finding *f);
/* "cudaMemcpyAsync", without the suffixes that the exported name has. */
const char *weir_check_call_name(const char *call, char out[80]);

size_t weir_check_report(void);
/* What it would say so far, but for what only the end shows; the bytes written to `text`. */
size_t weir_check_draft(char *text, size_t room, size_t *hazards);

struct weir_check_totals {
    size_t hazards, notes, suppressed;
    uint64_t times;
};
void weir_check_write_json(FILE *to, struct weir_check_places *p,
                           const struct weir_check_totals *totals);
/* Notes that are not worth a line without being asked for, and what is suppressed, are not. */
bool weir_check_is_told(const struct weir_check_finding *f);
void weir_check_write_sarif(FILE *to, struct weir_check_places *p);
void weir_check_write_github(FILE *to, struct weir_check_places *p);

#endif
