/* Prices: traces made by hand, whose right answers can be worked out on paper.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "advise/advise.h"
#include "plan/recorded.h"

#define MAX 64
#define US  1000u

/* A program of one thread: calls of 1 us, one behind the other; operations as engines would run
 * them (the builder is told when). */
static struct builder {
    struct weir_trace_file f;
    struct weir_trace_thread thread;
    struct weir_trace_site sites[MAX];
    struct weir_trace_device device;
    struct weir_trace_stream streams[8];
    struct weir_trace_op ops[MAX];
    uint32_t stream_ops[MAX], call_ops[MAX];
    struct weir_trace_dep deps[MAX];
    uint64_t pointers[MAX];
    struct weir_trace_call calls[MAX];
    struct weir_trace_sync_point syncs[MAX];
    struct weir_trace_event_record records[MAX];
    struct weir_trace_event_wait waits[MAX];
    struct weir_trace_allocation allocations[MAX];
    uint64_t now, seq[8];
} b;

static void start(unsigned slots)
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
                                   .allocations = b.allocations};
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

static uint32_t stream(unsigned cls)
{
    b.streams[b.f.streams_count] =
        (struct weir_trace_stream){.id = 40 + b.f.streams_count, .cls = cls};
    return (uint32_t)b.f.streams_count++;
}

static uint32_t call(const char *name, uint32_t site, uint64_t waited)
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

static struct weir_trace_op *op(uint32_t in, unsigned kind, unsigned engine, uint64_t length)
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

static void kernel(uint32_t in, uint32_t site, unsigned blocks, unsigned memory, uint64_t length)
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

static void sync_device(uint32_t site, uint64_t waited)
{
    uint32_t c = call("cudaDeviceSynchronize", site, waited);

    b.syncs[b.f.syncs_count++] = (struct weir_trace_sync_point){
        .what = WEIR_TRACE_WAITS_DEVICE, .stream = WEIR_TRACE_NONE, .call = c};
    b.calls[c].sync_count++;
}

/* Kernels one behind the other in time, as one slot or one stream makes them. */
static void serialise(void)
{
    uint64_t end = 0;

    for (size_t i = 0; i < b.f.ops_count; i++) {
        uint64_t length = b.ops[i].end_ns - b.ops[i].start_ns;

        b.ops[i].start_ns = end > b.ops[i].submit_ns ? end : b.ops[i].submit_ns;
        b.ops[i].end_ns = end = b.ops[i].start_ns + length;
    }
}

static struct weir_advise_report advise(void)
{
    struct weir_advise_report r;
    uint32_t n = 0;

    for (uint32_t s = 0; s < b.f.streams_count; s++) {
        b.streams[s].op_first = n;
        for (uint32_t i = 0; i < b.f.ops_count; i++) {
            if (b.ops[i].stream != s)
                continue;
            b.ops[i].prev = n > b.streams[s].op_first ? b.stream_ops[n - 1] : WEIR_TRACE_NONE;
            b.stream_ops[n++] = i;
            b.streams[s].op_count++;
        }
    }
    b.f.stream_ops_count = n;
    b.f.end_ns = b.now;
    assert_true(weir_advise(&b.f, &r));
    return r;
}

static const struct weir_advise_finding *find(const struct weir_advise_report *r, const char *kind)
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

/* Four kernels of 100 us and one block each, two slots, one stream: 400 us; in two streams 200. */
static void test_single_stream(void **state)
{
    struct weir_advise_report r;
    uint32_t s;

    (void)state;
    start(2);
    s = stream(WEIR_TRACE_STREAM_NONBLOCKING);
    for (unsigned i = 0; i < 4; i++)
        kernel(s, 0, 1, i, 100 * US);
    serialise();
    sync_device(1, 400 * US);
    r = advise();
    NEAR(r.length_ns, 400 * US, 5 * US);
    assert_non_null(find(&r, "single-stream"));
    NEAR(find(&r, "single-stream")->gain_ns, 200 * US, 8 * US);
    assert_false(find(&r, "single-stream")->note);
    weir_advise_finish(&r);
}

/* The same, on the same memory: nothing can run beside anything. */
static void test_shared_data(void **state)
{
    struct weir_advise_report r;
    uint32_t s;

    (void)state;
    start(2);
    s = stream(WEIR_TRACE_STREAM_NONBLOCKING);
    for (unsigned i = 0; i < 4; i++)
        kernel(s, 0, 1, 0, 100 * US);
    serialise();
    sync_device(1, 400 * US);
    r = advise();
    assert_null(find(&r, "single-stream"));
    assert_non_null(strstr(r.verdict, "nothing to be gained"));
    weir_advise_finish(&r);
}

/* Kernels that fill the device: two streams gain nothing. */
static void test_full(void **state)
{
    struct weir_advise_report r;
    uint32_t s;

    (void)state;
    start(2);
    s = stream(WEIR_TRACE_STREAM_NONBLOCKING);
    for (unsigned i = 0; i < 4; i++)
        kernel(s, 0, 64, i, 100 * US);
    serialise();
    sync_device(1, 400 * US);
    r = advise();
    assert_null(find(&r, "single-stream"));
    weir_advise_finish(&r);
}

/* Two streams in turn, a synchronisation behind each kernel: 6 x 100 us. Without them: 300. */
static void test_syncs(void **state)
{
    struct weir_advise_report r;
    uint32_t s[2];

    (void)state;
    start(2);
    s[0] = stream(WEIR_TRACE_STREAM_NONBLOCKING);
    s[1] = stream(WEIR_TRACE_STREAM_NONBLOCKING);
    for (unsigned i = 0; i < 6; i++) {
        kernel(s[i % 2], 0, 1, i, 100 * US);
        sync_device(1, 99 * US);
    }
    sync_device(2, 0);
    r = advise();
    NEAR(r.length_ns, 606 * US, 10 * US);
    assert_non_null(find(&r, "sync-in-loop"));
    NEAR(find(&r, "sync-in-loop")->gain_ns, 300 * US, 20 * US);
    assert_int_equal(find(&r, "sync-in-loop")->sites[0], 1);
    weir_advise_finish(&r);
}

/* A blocking stream, the default stream, another blocking one: 300 us; with its own stream 200. */
static void test_legacy(void **state)
{
    struct weir_advise_report r;
    uint32_t legacy, s[2];

    (void)state;
    start(2);
    legacy = stream(WEIR_TRACE_STREAM_LEGACY);
    s[0] = stream(WEIR_TRACE_STREAM_BLOCKING);
    s[1] = stream(WEIR_TRACE_STREAM_BLOCKING);
    kernel(s[0], 0, 1, 0, 100 * US);
    kernel(legacy, 1, 1, 1, 100 * US);
    kernel(s[1], 2, 1, 2, 100 * US);
    serialise();
    for (uint32_t i = 1; i < 3; i++) {
        b.deps[b.f.deps_count] =
            (struct weir_trace_dep){.op = i - 1, .rule = i == 1 ? 3 : 4, .guaranteed = 1};
        b.ops[i].dep_first = (uint32_t)b.f.deps_count++;
        b.ops[i].dep_count = 1;
    }
    sync_device(3, 300 * US);
    r = advise();
    NEAR(r.length_ns, 300 * US, 8 * US);
    assert_non_null(find(&r, "legacy-serialization"));
    /* Three kernels, two slots: all together for 150 us. */
    NEAR(find(&r, "legacy-serialization")->gain_ns, 150 * US, 8 * US);
    assert_int_equal(find(&r, "legacy-serialization")->sites[0], 1);
    weir_advise_finish(&r);
}

static void wait_pair(unsigned second_memory)
{
    uint32_t s[2], c;

    start(2);
    s[0] = stream(WEIR_TRACE_STREAM_NONBLOCKING);
    s[1] = stream(WEIR_TRACE_STREAM_NONBLOCKING);
    kernel(s[0], 0, 1, 0, 100 * US);
    c = call("cudaEventRecord", 1, 0);
    b.records[b.f.records_count++] = (struct weir_trace_event_record){
        .event = 1, .flags = 2, .stream = s[0], .seq = 1, .call = c};
    c = call("cudaStreamWaitEvent", 2, 0);
    b.waits[b.f.event_waits_count++] = (struct weir_trace_event_wait){
        .event = 1, .in_stream = s[1], .stream = s[0], .seq = 1, .call = c};
    kernel(s[1], 3, 1, second_memory, 100 * US);
    serialise();
    sync_device(4, 200 * US);
}

static void test_unneeded(void **state)
{
    struct weir_advise_report r;

    (void)state;
    wait_pair(1);
    r = advise();
    NEAR(r.length_ns, 200 * US, 8 * US);
    assert_non_null(find(&r, "unneeded-wait"));
    NEAR(find(&r, "unneeded-wait")->gain_ns, 98 * US, 8 * US);
    weir_advise_finish(&r);
    wait_pair(0); /* the same memory: it is needed */
    r = advise();
    assert_null(find(&r, "unneeded-wait"));
    weir_advise_finish(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_single_stream), cmocka_unit_test(test_shared_data),
        cmocka_unit_test(test_full),          cmocka_unit_test(test_syncs),
        cmocka_unit_test(test_legacy),        cmocka_unit_test(test_unneeded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
