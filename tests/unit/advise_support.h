/* A recorded program made by hand: calls, operations, events; what advise says of it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_ADVISE_SUPPORT_H
#define TESTS_UNIT_ADVISE_SUPPORT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/advise.h"

#define MAX     256
#define US      1000u
#define STREAMS 40

/* A program of one thread: calls of 1 us, one behind the other; operations as engines would run
 * them (the builder is told when). */
static struct builder {
    struct weir_trace_file f;
    struct weir_trace_thread thread;
    struct weir_trace_site sites[MAX];
    struct weir_trace_device device;
    struct weir_trace_stream streams[STREAMS];
    struct weir_trace_op ops[MAX];
    uint32_t stream_ops[MAX], call_ops[MAX];
    struct weir_trace_dep deps[MAX];
    uint64_t pointers[MAX];
    struct weir_trace_call calls[MAX];
    struct weir_trace_sync_point syncs[MAX];
    struct weir_trace_event_record records[MAX];
    struct weir_trace_event_wait waits[MAX];
    struct weir_trace_allocation allocations[MAX];
    struct weir_trace_wait blocked[MAX];
    struct weir_trace_elapsed elapsed[MAX];
    struct weir_trace_load loads[8];
    struct weir_trace_query queries[MAX];
    struct weir_trace_peer peers[8];
    struct weir_trace_host_write host_writes[8];
    const char *environment[4];
    uint64_t now, seq[STREAMS];
} b;

static inline void start(unsigned slots)
{
    b = (struct builder){0};
    b.f = (struct weir_trace_file){.threads = &b.thread,
                                   .threads_count = 1,
                                   .sites = b.sites,
                                   .devices = &b.device,
                                   .devices_count = 1,
                                   .streams = b.streams,
                                   .ops = b.ops,
                                   .stream_ops = b.stream_ops,
                                   .call_ops = b.call_ops,
                                   .deps = b.deps,
                                   .pointers = b.pointers,
                                   .calls = b.calls,
                                   .syncs = b.syncs,
                                   .records = b.records,
                                   .event_waits = b.waits,
                                   .allocations = b.allocations,
                                   .version = 2,
                                   .program = "/bin/app",
                                   .waits = b.blocked,
                                   .elapsed = b.elapsed,
                                   .loads = b.loads,
                                   .queries = b.queries,
                                   .peers = b.peers,
                                   .host_writes = b.host_writes,
                                   .environment = b.environment};
    b.thread.name = "";
    b.device = (struct weir_trace_device){.name = "", .sms = slots, .slots = slots};
    b.now = b.f.begin_ns = 1000 * US;
    for (int i = 0; i < MAX; i++) {
        b.sites[i] = (struct weir_trace_site){.module = "", .text = ""};
        b.allocations[i] = (struct weir_trace_allocation){.address = 0x100000u * (unsigned)(i + 1),
                                                          .bytes = 0x10000,
                                                          .kind = WEIR_TRACE_DEVICE_MEMORY,
                                                          .call = WEIR_TRACE_NONE};
    }
    b.f.sites_count = b.f.allocations_count = MAX;
}

static inline uint32_t stream(unsigned cls)
{
    b.streams[b.f.streams_count] =
        (struct weir_trace_stream){.id = 40 + b.f.streams_count, .cls = cls};
    return (uint32_t)b.f.streams_count++;
}

static inline uint32_t call(const char *name, uint32_t site, uint64_t waited)
{
    b.calls[b.f.calls_count] = (struct weir_trace_call){.name = name,
                                                        .begin_ns = b.now,
                                                        .end_ns = b.now + US + waited,
                                                        .waited_ns = waited,
                                                        .site = site,
                                                        .op_first = (uint32_t)b.f.call_ops_count,
                                                        .sync_first = (uint32_t)b.f.syncs_count};
    b.now += US + waited;
    return (uint32_t)b.f.calls_count++;
}

static inline struct weir_trace_op *op(uint32_t in, unsigned kind, unsigned engine, uint64_t length)
{
    uint32_t at = (uint32_t)b.f.ops_count++, c = (uint32_t)b.f.calls_count - 1;
    struct weir_trace_op *o = &b.ops[at];

    *o = (struct weir_trace_op){.stream = in,
                                .seq = ++b.seq[in],
                                .kind = (uint8_t)kind,
                                .engine = (uint8_t)engine,
                                .why_op = WEIR_TRACE_NONE,
                                .graph = WEIR_TRACE_NONE,
                                .prev = WEIR_TRACE_NONE,
                                .name = "work",
                                .symbol = "",
                                .call = c,
                                .done = true,
                                .submit_ns = b.calls[c].begin_ns};
    o->ready_ns = o->start_ns = o->submit_ns;
    o->end_ns = o->start_ns + length;
    b.calls[c].op_count++;
    b.call_ops[b.f.call_ops_count++] = at;
    return o;
}

static inline void kernel(uint32_t in, uint32_t site, unsigned blocks, unsigned memory,
                          uint64_t length)
{
    struct weir_trace_op *o;

    call("cudaLaunchKernel", site, 0);
    o = op(in, WEIR_TRACE_OP_KERNEL, WEIR_TRACE_ENGINE_KERNEL, length);
    o->u.kernel.grid[0] = blocks;
    o->u.kernel.grid[1] = o->u.kernel.grid[2] = o->u.kernel.block[0] = 1;
    o->pointer_first = (uint32_t)b.f.pointers_count;
    o->pointer_count = 1;
    b.pointers[b.f.pointers_count++] = b.allocations[memory].address;
}

static inline void sync_device(uint32_t site, uint64_t waited)
{
    uint32_t c = call("cudaDeviceSynchronize", site, waited);

    b.syncs[b.f.syncs_count++] = (struct weir_trace_sync_point){
        .what = WEIR_TRACE_WAITS_DEVICE, .stream = WEIR_TRACE_NONE, .call = c};
    b.calls[c].sync_count++;
}

/* Kernels one behind the other in time, as one slot or one stream makes them. */
static inline void serialise(void)
{
    uint64_t end = 0;

    for (size_t i = 0; i < b.f.ops_count; i++) {
        uint64_t length = b.ops[i].end_ns - b.ops[i].start_ns;

        b.ops[i].start_ns = end > b.ops[i].submit_ns ? end : b.ops[i].submit_ns;
        b.ops[i].end_ns = end = b.ops[i].start_ns + length;
    }
}

static inline uint32_t record(uint32_t in, uint64_t event, uint32_t site, uint32_t flags)
{
    uint32_t c = call("cudaEventRecord", site, 0);

    b.records[b.f.records_count++] = (struct weir_trace_event_record){
        .event = event, .flags = flags, .stream = in, .seq = b.seq[in], .call = c};
    return c;
}

/* For the event's last record. */
static inline void wait_event(uint32_t in, uint64_t event, uint32_t site)
{
    uint32_t c = call("cudaStreamWaitEvent", site, 0);
    struct weir_trace_event_wait w = {
        .event = event, .in_stream = in, .stream = WEIR_TRACE_NONE, .call = c};

    for (size_t i = b.f.records_count; i-- > 0 && w.stream == WEIR_TRACE_NONE;) {
        if (b.records[i].event == event) {
            w.stream = b.records[i].stream;
            w.seq = b.records[i].seq;
        }
    }
    b.waits[b.f.event_waits_count++] = w;
}

static inline struct weir_trace_op *copy(uint32_t in, uint32_t site, bool to_host, unsigned memory,
                                         uint64_t length)
{
    struct weir_trace_op *o;
    uint64_t host = 0x7f0000000000u + (uint64_t)memory * 0x100000u;

    call("cudaMemcpyAsync", site, 0);
    o = op(in, WEIR_TRACE_OP_COPY, to_host ? WEIR_TRACE_ENGINE_D2H : WEIR_TRACE_ENGINE_H2D, length);
    o->bytes = o->u.copy.src_span = o->u.copy.dst_span = 0x10000;
    o->u.copy.src = to_host ? b.allocations[memory].address : host;
    o->u.copy.dst = to_host ? host : b.allocations[memory].address;
    o->u.copy.src_class = to_host ? WEIR_TRACE_DEVICE_MEMORY : WEIR_TRACE_PINNED;
    o->u.copy.dst_class = to_host ? WEIR_TRACE_PINNED : WEIR_TRACE_DEVICE_MEMORY;
    return o;
}

static inline uint32_t sync_stream(uint32_t in, uint32_t site, uint64_t waited)
{
    uint32_t c = call("cudaStreamSynchronize", site, waited);

    b.syncs[b.f.syncs_count++] =
        (struct weir_trace_sync_point){.what = WEIR_TRACE_WAITS_STREAM, .stream = in, .call = c};
    b.calls[c].sync_count++;
    return c;
}

/* The last operation follows `on` by a rule. */
static inline void depend(uint32_t on, unsigned rule)
{
    struct weir_trace_op *o = &b.ops[b.f.ops_count - 1];

    b.deps[b.f.deps_count] =
        (struct weir_trace_dep){.op = on, .rule = (uint16_t)rule, .guaranteed = 1};
    if (!o->dep_count++)
        o->dep_first = (uint32_t)b.f.deps_count;
    b.f.deps_count++;
}

static inline struct weir_advise_report advise(void)
{
    struct weir_advise_report r;
    uint32_t n = 0;

    for (uint32_t s = 0; s < b.f.streams_count; s++) {
        b.streams[s].op_first = n;
        for (uint32_t i = 0; i < b.f.ops_count; i++) {
            if (b.ops[i].stream != s || b.ops[i].graph != WEIR_TRACE_NONE)
                continue;
            b.ops[i].prev = n > b.streams[s].op_first ? b.stream_ops[n - 1] : WEIR_TRACE_NONE;
            b.stream_ops[n++] = i;
            b.streams[s].op_count++;
        }
    }
    b.f.stream_ops_count = n;
    b.f.end_ns = b.now;
    assert_true(weir_advise(&b.f, NULL, &r));
    return r;
}

static inline const struct weir_advise_finding *find(const struct weir_advise_report *r,
                                                     const char *kind)
{
    for (size_t i = 0; i < r->count; i++) {
        if (strcmp(r->findings[i].kind, kind) == 0)
            return &r->findings[i];
    }
    return NULL;
}

#define NEAR(a, b, within)                                                                         \
    do {                                                                                           \
        int64_t d_ = (int64_t)(a) - (int64_t)(b);                                                  \
        if (d_ < -(int64_t)(within) || d_ > (int64_t)(within))                                     \
            fail_msg("%lld, not about %lld", (long long)(a), (long long)(b));                      \
    } while (0)

#endif
