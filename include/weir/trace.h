/* Reading traces: what `weir run --trace FILE` wrote, as arrays. The tools of `weir` (view,
 * summary, export, diff, advise) read through this header alone. The file itself:
 * docs/trace-format.md.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Link with -lweir-trace. Nothing here is changed after weir_trace_file_read: any number of threads
 * may look at one file. Times are nanoseconds of CLOCK_MONOTONIC. Indices into the arrays are
 * uint32_t; WEIR_TRACE_NONE means none. */
#ifndef WEIR_TRACE_H
#define WEIR_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR_TRACE_API  __attribute__((visibility("default")))
#define WEIR_TRACE_NONE UINT32_MAX

enum weir_trace_op_kind {
    WEIR_TRACE_OP_KERNEL,
    WEIR_TRACE_OP_COPY,
    WEIR_TRACE_OP_MEMSET,
    WEIR_TRACE_OP_HOST,   /* host function or callback */
    WEIR_TRACE_OP_RECORD, /* the rest takes no time of its own: it is complete when it is ready */
    WEIR_TRACE_OP_WAIT,
    WEIR_TRACE_OP_MARKER,
    WEIR_TRACE_OP_ALLOC,
    WEIR_TRACE_OP_FREE,
    WEIR_TRACE_OP_GRAPH,
    WEIR_TRACE_OP_KIND_COUNT
};

enum weir_trace_engine {
    WEIR_TRACE_ENGINE_KERNEL,
    WEIR_TRACE_ENGINE_H2D,
    WEIR_TRACE_ENGINE_D2H,
    WEIR_TRACE_ENGINE_D2D, /* also memsets and copies from host to host */
    WEIR_TRACE_ENGINE_HOST,
    WEIR_TRACE_ENGINE_NONE,
    WEIR_TRACE_ENGINE_COUNT = WEIR_TRACE_ENGINE_NONE
};

enum weir_trace_memory {
    WEIR_TRACE_PAGEABLE,
    WEIR_TRACE_PINNED,
    WEIR_TRACE_DEVICE_MEMORY,
    WEIR_TRACE_MANAGED
};

enum weir_trace_stream_class {
    WEIR_TRACE_STREAM_LEGACY,
    WEIR_TRACE_STREAM_PER_THREAD,
    WEIR_TRACE_STREAM_BLOCKING,
    WEIR_TRACE_STREAM_NONBLOCKING
};

/* Why an operation did not start earlier than it did. */
enum weir_trace_why {
    WEIR_TRACE_WHY_HOST,   /* the host had not submitted it */
    WEIR_TRACE_WHY_STREAM, /* behind why_op in its own stream */
    WEIR_TRACE_WHY_EDGE,   /* an event or a default stream: why_op in another stream, by why_rule */
    WEIR_TRACE_WHY_ENGINE, /* why_op (or, when none, something) had the engine */
    WEIR_TRACE_WHY_COUNT
};

enum weir_trace_sync_kind {
    WEIR_TRACE_WAITS_STREAM,
    WEIR_TRACE_WAITS_DEVICE,
    WEIR_TRACE_WAITS_EVENT,
    WEIR_TRACE_WAITS_OP
};

struct weir_trace_thread {
    uint32_t tid;
    const char *name;
};

/* A place in the program's code: the address behind a call. */
struct weir_trace_site {
    const char *module; /* path of the executable or library; "" when unknown */
    uint64_t address;   /* in that file */
    const char *text;   /* "file.cu:12 (function)", or what is known instead; never NULL */
};

struct weir_trace_device {
    uint32_t context, device;
    const char *name;
    uint32_t sms, slots; /* slots: thread blocks that run at the same time in truth */
};

struct weir_trace_stream {
    uint64_t id;
    uint32_t context, device;
    uint32_t cls; /* enum weir_trace_stream_class */
    int32_t priority;
    uint8_t graph_lane; /* not 0: no stream of the program, but a row for nodes of the graphs that
                           were launched in the stream of this id */
    uint64_t begin_ns, end_ns;   /* end 0: not destroyed */
    uint32_t op_first, op_count; /* in stream_ops */
    uint32_t parent; /* the kernel (or the launch of its graph) that made what is in this stream;
                        NONE: the program did, or it is not in the file */
    uint64_t parent_stream, parent_seq; /* ids of the same; 0: the program */
};

/* As a rule: an edge between two nodes of a graph (GRA-001). */
#define WEIR_TRACE_GRAPH_EDGE 0

struct weir_trace_dep {
    uint32_t op;        /* that had to be complete; NONE when it is not in the file */
    uint16_t rule;      /* n of ORD-n (docs/rules), or WEIR_TRACE_GRAPH_EDGE */
    uint8_t guaranteed; /* 0: measured on hardware, not documented */
};

struct weir_trace_op {
    uint32_t stream;
    uint64_t seq; /* 1, 2, 3 ... in its stream */
    uint8_t kind, engine;
    uint8_t why; /* enum weir_trace_why */
    uint16_t why_rule;
    uint32_t why_op;
    bool done; /* it ran; else only submit_ns and ready_ns are known */
    int32_t status;
    uint64_t submit_ns, ready_ns, start_ns, end_ns;
    const char *name;   /* short: kernel's name without parameters, "H2D pinned", ... */
    const char *symbol; /* kernels: the mangled name; else "" */
    uint32_t graph;     /* nodes of graphs: the launch that they belong to; else NONE */
    uint32_t instance;  /* launches of graphs: 1, 2, 3 ...: which it runs; else, or unknown, 0 */
    uint32_t call;      /* the call that submitted it, or NONE (the process ended inside) */
    uint32_t prev;      /* the one before in its stream, or NONE */
    uint32_t dep_first, dep_count;         /* in deps */
    uint32_t pointer_first, pointer_count; /* kernels: in pointers */
    uint32_t pointer_reads; /* bit per pointer: the kernel only reads there (T const *) */
    uint64_t bytes;
    bool touched_known; /* kernels and graphs, in traces of weir check: what it touched is known, in
                           touched */
    uint32_t touched_first, touched_count;
    uint64_t instructions; /* kernels, in traces of weir run --counts: of all warps; else 0 */
    uint64_t requested;    /* and what their lanes loaded and stored in global memory, bytes */
    union {
        struct {
            uint32_t grid[3], block[3];
            uint64_t shared_bytes;
        } kernel;
        struct {
            uint64_t src, dst, src_span, dst_span; /* spans: first byte to past the last */
            uint8_t src_class, dst_class, staged;  /* enum weir_trace_memory */
        } copy;                                    /* memsets: dst alone */
    } u;
};

/* Bytes that a kernel touched; where there were many places, with what is between some of them. */
struct weir_trace_touch {
    uint64_t address, bytes;
    bool writes;
};

struct weir_trace_call {
    const char *name;
    uint64_t begin_ns, end_ns, waited_ns; /* waited: of this, blocked for the device */
    uint32_t thread, site;                /* site NONE: unknown */
    int32_t err;
    uint32_t op_first, op_count;     /* in call_ops */
    uint32_t sync_first, sync_count; /* in syncs */
};

struct weir_trace_sync_point {
    uint8_t what;             /* enum weir_trace_sync_kind */
    uint32_t stream, context; /* stream of STREAM, EVENT, OP; context of DEVICE */
    uint64_t seq;             /* EVENT, OP */
    uint32_t call;
};

struct weir_trace_wait {
    uint32_t thread, call, op; /* op: the operation that was waited for, or NONE */
    uint64_t begin_ns, end_ns;
};

struct weir_trace_event_record {
    uint64_t event;
    uint32_t flags; /* cudaEvent*: 2 is cudaEventDisableTiming */
    uint32_t stream, call;
    uint64_t seq; /* everything in the stream up to here */
};

struct weir_trace_event_wait {
    uint64_t event;
    uint32_t in_stream, call;
    uint32_t stream; /* NONE: there was nothing to wait for */
    uint64_t seq;
};

struct weir_trace_elapsed {
    uint64_t from, to; /* events */
    uint32_t call;
};

struct weir_trace_allocation {
    uint64_t address, bytes;
    uint8_t kind; /* enum weir_trace_memory; registered memory is PINNED */
    uint32_t device;
    uint64_t begin_ns, end_ns; /* end 0: not freed */
    uint32_t call;
};

enum weir_trace_load_kind {
    WEIR_TRACE_LOADS_MODULE, /* device code read and placed, inside a call */
    WEIR_TRACE_LOADS_KERNEL  /* made ready to run, on an engine, before the first launch's blocks */
};

struct weir_trace_load {
    uint8_t what;
    const char *name;      /* the kernel's, or "" */
    uint32_t thread, call; /* call NONE: none, on an engine's thread */
    uint64_t begin_ns, end_ns;
};

enum weir_trace_query_kind { WEIR_TRACE_QUERIES_STREAM, WEIR_TRACE_QUERIES_EVENT };

struct weir_trace_query {
    uint8_t what;
    bool ready;  /* else cudaErrorNotReady was the answer */
    uint64_t id; /* the event's, or stream's as in weir_trace_stream */
    uint32_t call;
};

struct weir_trace_peer {
    uint32_t device, peer; /* from now on (`on`), or no longer, device reaches peer's memory */
    bool on;
    uint32_t call;
};

struct weir_trace_host_write {
    uint64_t address, bytes; /* a managed allocation that host code wrote to */
    uint64_t ns;             /* seen at the next launch that was given it */
    uint32_t call;
};

struct weir_trace_range {
    const char *domain, *text;
    uint32_t color, thread;
    uint64_t begin_ns, end_ns; /* equal: a mark */
    uint32_t depth;            /* of pushed ranges on their thread */
    bool pushed;
};

#define WEIR_TRACE_ARRAY(type, name)                                                               \
    type *name;                                                                                    \
    size_t name##_count

struct weir_trace_file {
    uint32_t version, pid;
    uint64_t start_ns, wall_ns; /* the same moment in both clocks */
    uint64_t begin_ns, end_ns;  /* of everything in the file */
    uint64_t lost;              /* records that were dropped */
    uint32_t damaged_chunks;    /* whose checksum or contents are wrong: read as far as possible */
    uint64_t record_bytes;
    const char *program;   /* path of the executable, or "" */
    uint64_t memory_bytes; /* of the machine; 0 unknown */
    uint32_t processors;
    WEIR_TRACE_ARRAY(struct weir_trace_thread, threads);
    WEIR_TRACE_ARRAY(struct weir_trace_site, sites);
    WEIR_TRACE_ARRAY(struct weir_trace_device, devices);
    WEIR_TRACE_ARRAY(struct weir_trace_stream, streams);
    WEIR_TRACE_ARRAY(struct weir_trace_op, ops); /* in order of submission; then nodes of graphs */
    WEIR_TRACE_ARRAY(uint32_t, stream_ops);
    WEIR_TRACE_ARRAY(uint32_t, call_ops);
    WEIR_TRACE_ARRAY(struct weir_trace_dep, deps);
    WEIR_TRACE_ARRAY(uint64_t, pointers);
    WEIR_TRACE_ARRAY(struct weir_trace_touch, touched);
    WEIR_TRACE_ARRAY(struct weir_trace_call, calls); /* in order of begin */
    WEIR_TRACE_ARRAY(struct weir_trace_sync_point, syncs);
    WEIR_TRACE_ARRAY(struct weir_trace_wait, waits);
    WEIR_TRACE_ARRAY(struct weir_trace_event_record, records);
    WEIR_TRACE_ARRAY(struct weir_trace_event_wait, event_waits);
    WEIR_TRACE_ARRAY(struct weir_trace_elapsed, elapsed);
    WEIR_TRACE_ARRAY(struct weir_trace_allocation, allocations);
    WEIR_TRACE_ARRAY(struct weir_trace_range, ranges);
    WEIR_TRACE_ARRAY(const char *, environment); /* "CUDA_LAUNCH_BLOCKING=1" ... */
    WEIR_TRACE_ARRAY(struct weir_trace_load, loads);
    WEIR_TRACE_ARRAY(struct weir_trace_query, queries);
    WEIR_TRACE_ARRAY(struct weir_trace_peer, peers);
    WEIR_TRACE_ARRAY(struct weir_trace_host_write, host_writes);
    void *internal;
};

/* Reads a whole file, or a file's bytes. NULL when it is no trace, of a later version, or memory is
 * short; *message (a constant text) then says which. A file cut short or with damaged chunks is
 * read as far as it goes. The caller frees the result. */
WEIR_TRACE_API struct weir_trace_file *weir_trace_file_read(const char *path, const char **message);
WEIR_TRACE_API struct weir_trace_file *weir_trace_file_parse(const void *data, size_t bytes,
                                                             const char **message);
/* NULL is accepted. */
WEIR_TRACE_API void weir_trace_file_free(struct weir_trace_file *file);

/* Looks the sites up in the program's files: function names by their symbols, lines where libdw is
 * installed and the program has debug information. Changes sites[].text; not beside other readers.
 */
WEIR_TRACE_API void weir_trace_file_resolve(struct weir_trace_file *file);

/* Names of enum weir_trace_op_kind, _engine, _memory; rule: a few words for n of ORD-n. */
WEIR_TRACE_API const char *weir_trace_kind_name(unsigned kind);
WEIR_TRACE_API const char *weir_trace_engine_name(unsigned engine);
WEIR_TRACE_API const char *weir_trace_memory_name(unsigned cls);
WEIR_TRACE_API const char *weir_trace_rule_text(unsigned rule);
/* "stream 42", "default stream", ...; into out (at least 64 bytes), which is returned. */
WEIR_TRACE_API char *weir_trace_stream_name(const struct weir_trace_file *file, uint32_t stream,
                                            char *out);

#ifdef __cplusplus
}
#endif

#endif
