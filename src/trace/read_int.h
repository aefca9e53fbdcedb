/* Inside the reader: what is known while a file is parsed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TRACE_READ_INT_H
#define WEIR_TRACE_READ_INT_H

#include "base/alloc.h"
#include "base/map.h"
#include "base/vec.h"
#include "weir/trace.h"
#include "trace/symbols.h"

/* An array of the public struct grows like a WEIR_VEC while it is read. */
#define PUSH(r, array, value)                                                                      \
    (weir_vec_reserve_bytes((void **)&(r)->file->array, &(r)->cap_##array,                         \
                            (r)->file->array##_count + 1, sizeof *(r)->file->array)                \
         ? ((r)->file->array[(r)->file->array##_count++] = (value), true)                          \
         : ((r)->no_memory = true, false))

/* Names of what is read now and looked up when all of it is there. */
struct raw_op {
    uint64_t stream;
    uint32_t name; /* string id, kernels */
    uint32_t order;
};

struct raw_dep {
    uint64_t stream, seq;
};

struct raw_done {
    uint64_t stream, seq, start_ns, end_ns;
    uint32_t engine, status;
};

struct raw_work {
    uint64_t stream, seq, instructions, bytes;
};

struct raw_touched {
    uint64_t stream, seq;
    uint32_t first, count; /* in the file's touched */
};

struct raw_node {
    uint64_t stream, seq, bytes, blocks, threads, start_ns, end_ns;
    uint32_t name;
    uint8_t engine, src_class, dst_class;
    bool memset, allocates, frees;
    uint32_t number;                  /* in its instance + 1; 0: unknown */
    uint64_t instructions, requested; /* kernels that counted */
    uint32_t pointer_first, pointer_count;
};

struct raw_instance_node {
    uint32_t instance;
    uint32_t number, order;          /* of its records the first has the places */
    uint8_t what;                    /* enum weir_trace_instance_what */
    uint32_t next_first, next_count; /* in the reader's instance_next */
    uint32_t place_count;
    struct weir_trace_touch *places; /* the file's to keep, or NULL */
};

struct raw_launch {
    uint64_t stream, seq;
    uint32_t instance;
};

struct raw_wait {
    uint64_t stream, seq;
};

struct open_range {
    uint64_t range; /* 0: pushed */
    uint32_t domain, index, thread;
};

struct reader {
    struct weir_trace_file *file;
    bool no_memory;
    size_t cap_threads, cap_sites, cap_devices, cap_streams, cap_ops, cap_stream_ops, cap_call_ops,
        cap_deps, cap_pointers, cap_calls, cap_syncs, cap_waits, cap_records, cap_event_waits,
        cap_elapsed, cap_allocations, cap_ranges, cap_environment, cap_loads, cap_queries,
        cap_peers, cap_host_writes, cap_touched;
    /* id -> index + 1 */
    struct weir_map string_ids, site_ids, stream_ids, thread_ids, live_allocations;
    WEIR_VEC(char *) strings;
    WEIR_VEC(struct raw_op) raw_ops;
    WEIR_VEC(struct raw_dep) raw_deps;
    WEIR_VEC(struct raw_done) dones;
    WEIR_VEC(struct raw_work) works;
    WEIR_VEC(struct raw_touched) touched;
    WEIR_VEC(struct raw_node) nodes;
    WEIR_VEC(struct raw_instance_node) instance_nodes;
    WEIR_VEC(uint32_t) instance_next;
    WEIR_VEC(struct raw_launch) launches;
    WEIR_VEC(struct raw_wait) raw_waits;
    WEIR_VEC(uint64_t) sync_streams; /* of each sync: stream's or context's id */
    WEIR_VEC(uint64_t) wait_streams; /* two for each event wait, one for each record */
    WEIR_VEC(uint64_t) record_streams;
    WEIR_VEC(uint32_t) site_modules;
    WEIR_VEC(uint32_t) range_names; /* domain and text of each range */
    WEIR_VEC(uint32_t) call_names, call_sites, device_names, load_names, environment_texts;
    uint32_t program_text;
    WEIR_VEC(struct open_range) open_ranges;
    WEIR_VEC(uint32_t) last_calls; /* of each thread: its index + 1 */
};

/* What belongs to the file and is not public. */
struct weir_trace_internal {
    char **strings; /* all texts that the file's structs point to */
    size_t count, cap;
};

/* The string of an id; "" when the file has none. */
const char *weir_trace_text_of(const struct reader *r, uint32_t id);
/* Keeps a text as long as the file. NULL: no memory. */
const char *weir_trace_keep(struct weir_trace_file *f, char *text);
/* After all chunks: looks names and places up, sorts, finds ready times. False: no memory. */
bool weir_trace_link(struct reader *r);

/* link.c: of the stream's id and number, or NONE. After operations are sorted. */
uint32_t weir_trace_reader_op(const struct reader *r, uint64_t stream, uint64_t seq);
/* touched.c: what kernels touched, and graphs all of whose nodes told. False: no memory. */
bool weir_trace_link_touched(struct reader *r);

#endif
