/* Writing a trace while the program runs. Every thread writes records into a chunk of the file that
 * it has mapped: no system call but at a chunk's end, and what was written survives the process,
 * however it ends.
 * SPDX-License-Identifier: Apache-2.0
 *
 * All functions: any thread; they may be called under any lock but a LEAF; they take LEAF locks for
 * moments. When the file cannot grow the recorder says so once and turns itself off. Callers ask
 * weir_trace_enabled first: one load and a branch when off. */
#ifndef WEIR_TRACE_RECORD_H
#define WEIR_TRACE_RECORD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "trace/format.h"

extern _Atomic bool weir_trace_on;

/* Managed memory has been allocated: not before is anything asked of it. */
extern _Atomic bool weir_trace_has_managed;

static inline bool weir_trace_enabled(void)
{
    return WEIR_UNLIKELY(atomic_load_explicit(&weir_trace_on, memory_order_relaxed));
}

/* Turns recording on, into `path`; the file is made by the first record, over an older one. "":
 * into memory, for weir_trace_own_path. at_once: an operation is in the file before it runs, also
 * where its record could be the call's. */
void weir_trace_start(const char *path, bool at_once);
/* Where this process's trace can be read while it is written, in *out; false: there is none. */
bool weir_trace_own_path(char out[32]);
/* Turns it off and cuts the file behind the last chunk. Records in flight on other threads still
 * reach the file. */
void weir_trace_stop(void);

/* ---- the process: once, when a device is first used ---- */

void weir_trace_process(const char *program, uint64_t memory_bytes, uint32_t processors);
void weir_trace_environment(const char *setting); /* "NAME=value" */

/* ---- calls ---- */

/* Between enter and leave all records of the thread belong to this call. `name` is interned once
 * into *name_id (0 at first). */
void weir_trace_enter(const void *site);
void weir_trace_leave(const char *name, _Atomic uint32_t *name_id, int err);
/* The place of the <<< >>> whose kernel this thread launches next. */
void weir_trace_launch_site(const void *site);

/* ---- devices, streams, events, memory ---- */

void weir_trace_device(int context, int device, const char *name, int sms, int slots,
                       uint64_t window_base);
void weir_trace_stream_end(uint64_t id);
void weir_trace_event(uint64_t id, uint32_t flags);
void weir_trace_event_end(uint64_t id);
void weir_trace_event_record(uint64_t id, uint64_t stream, uint64_t seq, uint32_t flags);
/* stream 0: there was nothing to wait for. */
void weir_trace_event_wait(uint64_t id, uint64_t in_stream, uint64_t stream, uint64_t seq);
void weir_trace_elapsed(uint64_t from, uint64_t to);
enum weir_trace_queried { WEIR_TRACE_QUERY_STREAM = 0, WEIR_TRACE_QUERY_EVENT = 1 };
/* cudaEventQuery, cudaStreamQuery: the event's or stream's id. */
void weir_trace_query(enum weir_trace_queried what, uint64_t id, bool ready);
/* `device` may now (not any more) reach memory of `peer`. */
void weir_trace_peer(int device, int peer, bool on);
enum weir_trace_loaded { WEIR_TRACE_LOAD_MODULE = 0, WEIR_TRACE_LOAD_KERNEL = 1 };
/* Device code became ready to run; name: the kernel's, or "". */
void weir_trace_load(enum weir_trace_loaded what, const char *name, uint64_t begin_ns,
                     uint64_t end_ns);
/* Between two kernels that were given this managed allocation the host has written to it. */
void weir_trace_host_write(const void *address, size_t bytes);
/* kind: enum weir_mem_kind. */
void weir_trace_alloc(int kind, int device, const void *address, size_t bytes);
void weir_trace_free(const void *address);

/* ---- operations ---- */

struct weir_trace_edge {
    uint64_t stream, seq;
    uint32_t rule, strength;
};

struct weir_trace_id {
    uint64_t stream, seq;
    const struct weir_trace_edge *edges;
    size_t edge_count; /* those beyond 8 are left out */
};

/* parent: the grid (or the graph's launch that it is a node of) whose launches are in this stream;
 * NULL: a stream of the program. */
void weir_trace_stream(uint64_t id, int context, int device, int cls, int priority,
                       const struct weir_trace_id *parent);

struct weir_trace_kernel {
    const char *name;
    _Atomic uint32_t *name_id;
    const uint32_t *grid, *block;
    uint64_t shared_bytes;
    const uint64_t *pointers; /* arguments that are addresses of memory known to Weir */
    size_t pointer_count;     /* those beyond 16 are left out */
};

struct weir_trace_copy {
    int engine;
    int src_class, dst_class; /* enum weir_mem_class */
    uint64_t bytes;
    const void *src, *dst;
    uint64_t src_span, dst_span; /* from the first byte to past the last */
    bool staged;                 /* the source was captured by the call */
};

void weir_trace_op_kernel(const struct weir_trace_id *id, const struct weir_trace_kernel *k);
void weir_trace_op_copy(const struct weir_trace_id *id, const struct weir_trace_copy *c);
void weir_trace_op_memset(const struct weir_trace_id *id, const void *dst, uint64_t bytes,
                          uint64_t span);
/* kind: enum weir_op_kind. */
void weir_trace_op_other(const struct weir_trace_id *id, int kind);
void weir_trace_done(uint64_t stream, uint64_t seq, uint64_t start_ns, uint64_t end_ns, int engine,
                     int status);

/* What a kernel did, where its code counts: instructions of warps; bytes that lanes asked for. */
/* What a kernel has touched, reads and writes apart, at most so many of each. */
#define WEIR_TRACE_TOUCHED_MAX 12
struct weir_trace_touched {
    uint64_t address, bytes;
    bool writes;
};
void weir_trace_touched(uint64_t stream, uint64_t seq, const struct weir_trace_touched *t,
                        size_t count);
void weir_trace_work(uint64_t stream, uint64_t seq, uint64_t instructions, uint64_t bytes);

#define WEIR_TRACE_NODE_MEMORY 5 /* as engine of memory nodes: none */

/* A node of the graph launch (stream, seq) has run. name: kernels, else NULL. */
struct weir_trace_node {
    const char *name;
    _Atomic uint32_t *name_id;
    int engine, src_class, dst_class; /* classes: copies */
    bool memset, allocates, frees;    /* memory nodes: the latter two, and bytes */
    uint64_t bytes, blocks, threads;
    uint64_t start_ns, end_ns;
    uint64_t instructions, requested; /* kernels that count; then, as in weir_trace_kernel: */
    const uint64_t *pointers;
    size_t pointer_count;
    uint32_t number; /* in its instance + 1; 0: in a conditional node's body */
};
void weir_trace_graph_node(uint64_t stream, uint64_t seq, const struct weir_trace_node *n);

/* A graph's instance, before its first launch: each of its nodes, and which are behind it. */
struct weir_trace_instance_node {
    uint32_t instance; /* 1, 2, 3 ... */
    uint32_t number;   /* 0, 1, 2 ... */
    enum weir_trace_instance_what what;
    const struct weir_trace_touched *places; /* those beyond 16 are left out */
    size_t place_count;
    const uint32_t *next; /* numbers of those behind it, of which these bits count */
    uint32_t mask;
    size_t next_count;
};
void weir_trace_instance_node(const struct weir_trace_instance_node *n);
/* What the launch (stream, seq) of a graph runs. */
void weir_trace_instance(uint64_t stream, uint64_t seq, uint32_t instance);

/* ---- the host ---- */

enum weir_trace_sync { /* what a call waits for */
                       WEIR_TRACE_SYNC_STREAM = 0,
                       WEIR_TRACE_SYNC_DEVICE = 1,
                       WEIR_TRACE_SYNC_EVENT = 2,
                       WEIR_TRACE_SYNC_OP = 3,
};
/* id: stream's, or context's; seq: of EVENT and OP. */
void weir_trace_sync(enum weir_trace_sync what, uint64_t id, uint64_t seq);
/* The thread could not go on until (stream, seq) was complete. */
void weir_trace_waited(uint64_t stream, uint64_t seq, uint64_t begin_ns, uint64_t end_ns);

/* ---- NVTX (nvtx.c) ---- */

struct weir_trace_text {
    const char *text;
    size_t bytes;
};
void weir_trace_nvtx_begin(struct weir_trace_text domain, struct weir_trace_text text,
                           uint32_t color, uint64_t range); /* range 0: pushed */
void weir_trace_nvtx_end(struct weir_trace_text domain, uint64_t range);
void weir_trace_nvtx_mark(struct weir_trace_text domain, struct weir_trace_text text,
                          uint32_t color);

#endif
