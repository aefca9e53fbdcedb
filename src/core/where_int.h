/* Inside of where.c, where_threads.c and where_cycle.c: one look at the process.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_WHERE_INT_H
#define WEIR_CORE_WHERE_INT_H

#include "core/stream.h"

#define WHERE_STREAMS  1024
#define WHERE_THREADS  256
#define WHERE_POINTERS 16
#define WHERE_TEXT     160
#define WHERE_NONE     (-1)

struct where_text {
    char *at;
    size_t used, room;
};

void weir_where_put(struct where_text *t, const char *fmt, ...) WEIR_PRINTF(2, 3);

/* A stream with work left: its oldest operation, copied while the stream was locked. */
struct where_stream {
    struct weir_stream *stream;
    char name[64];
    bool locked; /* could not be looked at; nothing below is known */
    uint64_t head, last;
    const struct weir_op *op; /* the head: to know it again, not to look at */
    uint8_t kind, state;      /* of the head */
    bool host_runs, host_queued;
    bool polls; /* a kernel that looks at memory, or a wait for a value */
    char what[WHERE_TEXT];
    struct weir_model_dep dep; /* BLOCKED: what it waits for */
    uint64_t pointers[WHERE_POINTERS];
    size_t pointer_count;
    /* of `polls`: an operation that may write what it looks at, and cannot run before it */
    int writer_stream; /* index, or WHERE_NONE */
    uint64_t writer_seq;
    char writer_what[WHERE_TEXT];
};

struct where_thread {
    uint32_t id;
    char name[32];
    const char *call; /* NULL: in none */
    uint64_t since_ns, seq;
    struct weir_model_stream *stream; /* that it waits for, or NULL */
    unsigned why;                     /* as in weir_thread_wait */
    int host_of;                      /* the device whose host functions it runs, or WHERE_NONE */
    /* What the kernel's table says: asleep on a futex word, and a mutex or thread behind it. */
    bool asleep, joins;
    bool timed; /* and only for a time */
    uint64_t futex;
    uint32_t owner; /* thread id, 0: unknown */
};

struct where {
    struct where_stream *streams; /* owned */
    size_t stream_count, left_out;
    struct where_thread threads[WHERE_THREADS];
    size_t thread_count;
    uint64_t now_ns;
    bool certain; /* only waits that do not end by themselves, and that are no guess */
    /* of the first cycle, once found */
    uint32_t cycle_thread;          /* id of one that waits in a call, 0 none */
    const struct weir_op *cycle_op; /* of a host function in it, or NULL */
};

/* where.c */
int weir_where_stream_index(const struct where *w, const struct weir_model_stream *s);

/* where_threads.c: fills w->threads: those in calls, and the ones that run host functions. */
void weir_where_threads(struct where *w);
/* The thread of this id, added when it is none of them; WHERE_NONE: no room. */
int weir_where_thread_index(struct where *w, uint32_t id);

/* where_cycle.c: prints the cycles; false when there is none. */
bool weir_where_cycles(struct where *w, struct where_text *t);

#endif
