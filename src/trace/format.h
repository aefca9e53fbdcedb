/* The trace file: what writer and reader agree on. The text for everybody else is
 * docs/trace-format.md; a change here is a change there, and a new WEIR_TRACE_VERSION.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A file is a header and chunks of equal size. A chunk belongs to one thread at a time and holds
 * whole records: type byte, length (LEB128), payload. Little endian. */
#ifndef WEIR_TRACE_FORMAT_H
#define WEIR_TRACE_FORMAT_H

#include <stdint.h>

#define WEIR_TRACE_MAGIC       "WEIRTRC\n"
#define WEIR_TRACE_VERSION     4u
#define WEIR_TRACE_OLDEST      1u          /* that the reader takes */
#define WEIR_TRACE_CHUNK_MAGIC 0x4b4e4843u /* "CHNK" */
#define WEIR_TRACE_CHUNK_BYTES 65536u

struct weir_trace_file_header {
    char magic[8];
    uint32_t version;
    uint32_t header_bytes; /* where the first chunk begins */
    uint32_t chunk_bytes;
    uint32_t pid;
    uint64_t start_ns; /* CLOCK_MONOTONIC when the file was made; no record is older */
    uint64_t wall_ns;  /* CLOCK_REALTIME at the same moment */
    uint8_t reserved[24];
};

enum { WEIR_TRACE_CHUNK_OPEN = 0, WEIR_TRACE_CHUNK_SEALED = 1 };

struct weir_trace_chunk_header {
    uint32_t magic;
    uint32_t used;     /* bytes of whole records behind this header */
    uint64_t base_ns;  /* the first time in the chunk counts from here */
    uint64_t checksum; /* of the used bytes, once sealed: weir_hash_lanes with seed 1 */
    uint32_t state;
    uint32_t reserved;
};

/* What AGAIN, RAN and LAUNCH leave out stands in tables of the chunk, which are empty at its
 * beginning: the last number of a stream, by its id modulo WEIR_TRACE_STREAM_SLOTS, and the last
 * kernel in a slot, so that a kernel of several streams, each with memory of its own, finds that of
 * its stream; with the kernel its stream, and the call that launched it. */
#define WEIR_TRACE_STREAM_SLOTS 16u
#define WEIR_TRACE_KERNEL_SLOTS 64u
#define WEIR_TRACE_KERNEL_SLOT(string, stream)                                                     \
    ((8u * (string) + (stream)) % WEIR_TRACE_KERNEL_SLOTS)

/* In NODE, with the engine: the node's number in the instance follows the duration. */
#define WEIR_TRACE_NODE_NUMBERED 0x10u

/* What a node of a graph does, in INSTANCE_NODE. */
enum weir_trace_instance_what {
    WEIR_TRACE_INSTANCE_ORDERS = 0, /* nothing but that */
    WEIR_TRACE_INSTANCE_KERNEL = 1, /* places: pointers that it is given */
    WEIR_TRACE_INSTANCE_COPY = 2,   /* places: what it reads, what it writes; memsets */
    WEIR_TRACE_INSTANCE_OTHER = 3,
};

/* Payloads in docs/trace-format.md, in the order of these numbers. */
enum weir_trace_record {
    WEIR_TRACE_THREAD = 1,
    WEIR_TRACE_STRING,
    WEIR_TRACE_SITE,
    WEIR_TRACE_CALL,
    WEIR_TRACE_DEVICE,
    WEIR_TRACE_STREAM,
    WEIR_TRACE_STREAM_END,
    WEIR_TRACE_KERNEL,
    WEIR_TRACE_COPY,
    WEIR_TRACE_MEMSET,
    WEIR_TRACE_OTHER,
    WEIR_TRACE_DONE,
    WEIR_TRACE_EVENT,
    WEIR_TRACE_EVENT_END,
    WEIR_TRACE_EVENT_RECORD,
    WEIR_TRACE_EVENT_WAIT,
    WEIR_TRACE_ELAPSED,
    WEIR_TRACE_SYNC,
    WEIR_TRACE_WAITED,
    WEIR_TRACE_ALLOC,
    WEIR_TRACE_FREE,
    WEIR_TRACE_NVTX_PUSH,
    WEIR_TRACE_NVTX_POP,
    WEIR_TRACE_NVTX_MARK,
    WEIR_TRACE_NVTX_START,
    WEIR_TRACE_NVTX_END,
    WEIR_TRACE_LOST,
    WEIR_TRACE_NODE,
    WEIR_TRACE_PROCESS, /* from here on: version 2 */
    WEIR_TRACE_ENVIRONMENT,
    WEIR_TRACE_LOAD,
    WEIR_TRACE_QUERY,
    WEIR_TRACE_PEER,
    WEIR_TRACE_HOST_WRITE,
    WEIR_TRACE_WORK,
    WEIR_TRACE_TOUCHED,
    WEIR_TRACE_AGAIN, /* from here on: version 3 */
    WEIR_TRACE_RAN,
    WEIR_TRACE_INSTANCE_NODE,
    WEIR_TRACE_INSTANCE,
    WEIR_TRACE_LAUNCH, /* from here on: version 4 */
    WEIR_TRACE_RAN_NEXT,
    WEIR_TRACE_RECORD_COUNT
};

#endif
