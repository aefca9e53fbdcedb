/* The questions that rest on more than streams and waits: for each a program that has the obstacle
 * and one that has not, with prices that can be worked out on paper.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/advise_support.h"

/* The finding of a kind (none: gain NONE), and whether it is a note. */
#define ABSENT UINT64_MAX

static uint64_t gain_of(const char *kind, bool *note)
{
    struct weir_advise_report r = advise();
    const struct weir_advise_finding *d = find(&r, kind);
    uint64_t gain = d ? d->gain_ns : ABSENT;

    if (note)
        *note = d && d->note;
    if (d) {
        assert_true(d->message[0] && d->change[0]);
        assert_true(d->note || d->site_count || strcmp(kind, "serialising-setting") == 0);
    }
    weir_advise_finish(&r);
    return gain;
}

static uint32_t streams(unsigned count)
{
    uint32_t first = stream(WEIR_TRACE_STREAM_NONBLOCKING);

    for (unsigned i = 1; i < count; i++)
        stream(WEIR_TRACE_STREAM_NONBLOCKING);
    return first;
}

/* ---- 6 ---- */

/* A kernel, calls that allocate (5 ms each), a kernel, again and again. */
static void allocated(unsigned rounds, unsigned in_a_row)
{
    uint32_t s;

    start(64);
    s = streams(1);
    kernel(s, 0, 1, 0, 100 * US);
    for (unsigned i = 0; i < rounds; i++) {
        for (unsigned k = 0; k < in_a_row; k++) {
            uint32_t c = call("cudaMalloc", 5, 0);

            b.now += 5000 * US;
            b.calls[c].end_ns = b.now;
        }
        kernel(s, 1, 1, 0, 100 * US);
    }
    sync_device(3, 100 * US);
}

static void test_allocations(void **state)
{
    struct weir_advise_report r;

    (void)state;
    allocated(4, 1);
    r = advise();
    assert_non_null(find(&r, "alloc-in-loop"));
    assert_non_null(strstr(find(&r, "alloc-in-loop")->message, "4 calls"));
    assert_non_null(strstr(find(&r, "alloc-in-loop")->message, "(cudaMalloc)"));
    weir_advise_finish(&r);
    allocated(2, 6); /* a set-up in two parts */
    assert_true(gain_of("alloc-in-loop", NULL) == ABSENT);
}

/* ---- 11 and 25 ---- */

/* a: kernel on memory 0, kernel of 200 us on memory 1, record behind both or between them; b waits
 * and uses memory 0. */
static void record_at(bool late)
{
    uint32_t a, two;

    start(64);
    a = streams(2);
    two = a + 1;
    kernel(a, 0, 1, 0, 100 * US);
    if (!late)
        record(a, 1, 1, 2);
    kernel(a, 2, 1, 1, 200 * US);
    if (late)
        record(a, 1, 1, 2);
    wait_event(two, 1, 3);
    kernel(two, 4, 1, 0, 300 * US);
    sync_device(5, 590 * US);
}

static void test_late_record(void **state)
{
    (void)state;
    record_at(true);
    NEAR(gain_of("late-record", NULL), 200 * US, 8 * US);
    record_at(false);
    assert_true(gain_of("late-record", NULL) == ABSENT);
}

/* The same event recorded twice: behind what is needed, and again behind the rest. */
static void record_twice(bool wait_between)
{
    uint32_t a, two;

    start(64);
    a = streams(2);
    two = a + 1;
    kernel(a, 0, 1, 0, 100 * US);
    record(a, 1, 1, 2);
    if (wait_between)
        wait_event(two, 1, 3);
    kernel(a, 2, 1, 1, 200 * US);
    record(a, 1, 1, 2);
    if (!wait_between)
        wait_event(two, 1, 3);
    kernel(two, 4, 1, 0, 300 * US);
    sync_device(5, 590 * US);
}

static void test_wrong_record(void **state)
{
    uint32_t a;

    (void)state;
    record_twice(false);
    NEAR(gain_of("wrong-record", NULL), 200 * US, 8 * US);
    record_twice(true);
    assert_true(gain_of("wrong-record", NULL) == ABSENT);
    /* Earlier than needed: nothing orders the second kernel before its reader. */
    start(64);
    a = streams(2);
    kernel(a, 0, 1, 1, 100 * US);
    record(a, 1, 1, 2);
    kernel(a, 2, 1, 0, 100 * US);
    wait_event(a + 1, 1, 3);
    kernel(a + 1, 4, 1, 0, 100 * US);
    sync_device(5, 190 * US);
    assert_true(gain_of("wrong-record", NULL) == 0);
}

/* ---- 12: items ---- */

/* Items of copy in, kernel, copy out, each 100 us; the host uses 100 us of its own for each. */
static void items(bool several)
{
    uint32_t s;

    start(64);
    s = streams(3);
    for (unsigned i = 0; i < 8; i++) {
        uint32_t in = several ? s + i % 3 : s;
        unsigned slot = several ? 2 * (i % 3) : 0;

        if (several && i >= 3)
            sync_stream(in, 3, 0);
        copy(in, 0, false, slot, 100 * US);
        kernel(in, 1, 1, slot, 100 * US);
        copy(in, 2, true, slot, 100 * US);
        if (!several) {
            serialise();
            sync_stream(in, 3, 297 * US);
        }
        b.now += 100 * US; /* the host uses the results */
    }
    if (several)
        serialise();
    sync_device(4, several ? 200 * US : 0);
}

/* Eight rounds over three streams, each 3 x 100 us of an engine and then waited for, stream by
 * stream; elsewhere the host asks once more for what it is about to read. */
static void rounds(void)
{
    uint32_t s;

    start(64);
    s = streams(3);
    for (unsigned i = 0; i < 8; i++) {
        for (unsigned k = 0; k < 3; k++) {
            copy(s + k, 0, false, 2 * k, 100 * US);
            kernel(s + k, 1, 1, 2 * k, 100 * US);
            copy(s + k, 2, true, 2 * k, 100 * US);
        }
        serialise();
        sync_stream(s, 3, b.ops[b.f.ops_count - 1].end_ns - b.now);
        sync_stream(s + 1, 3, 0);
        sync_stream(s + 2, 3, 0);
        sync_stream(s, 4, 0);
        b.now += 100 * US;
    }
    sync_device(5, 0);
}

static void test_items(void **state)
{
    const struct weir_advise_finding *d;
    struct weir_advise_report r;

    (void)state;
    items(false);
    /* 8 x 400 us; in flight together the host's 100 us, or any engine's, are the bound. */
    NEAR(gain_of("pipeline-depth", NULL), 8 * 300 * US - 300 * US, 250 * US);
    items(true);
    r = advise();
    d = find(&r, "pipeline-depth"); /* (how each is cut is another matter) */
    assert_true(!d || !strstr(d->message, "at a time"));
    weir_advise_finish(&r);
    /* A round takes 500 us and the host's 100; in flight together 300 us of each engine. */
    rounds();
    r = advise();
    d = find(&r, "pipeline-depth");
    assert_true(d && strstr(d->message, "one round at a time"));
    NEAR(d->gain_ns, 8 * 600 * US - 8 * 300 * US, 900 * US);
    weir_advise_finish(&r);
}

/* ---- 14 ---- */

static void many(unsigned count, unsigned blocks)
{
    uint32_t s;

    start(4);
    s = streams(count);
    for (unsigned i = 0; i < 16; i++)
        kernel(s + i % count, 0, blocks, i, 100 * US);
    serialise();
    sync_device(1, 1600 * US);
}

static void test_too_many(void **state)
{
    bool note;

    (void)state;
    many(16, 64); /* each fills the device */
    assert_true(gain_of("too-many-streams", &note) == 0 && note);
    many(4, 1);
    assert_true(gain_of("too-many-streams", NULL) == ABSENT);
    many(8, 1); /* 4 slots: 8 streams use them, so do 4; not 2 */
    assert_true(gain_of("too-many-streams", NULL) == 0);
}

/* ---- 15 ---- */

static void urgent_copy(bool behind)
{
    struct weir_trace_op *o;
    uint32_t s;

    start(64);
    s = streams(2);
    b.streams[s + 1].priority = -5;
    kernel(s + 1, 3, 1, 4, 20 * US);
    copy(s, 0, false, 0, 1000 * US);
    o = copy(s + 1, 1, false, 1, 10 * US);
    if (behind) {
        o->why = WEIR_TRACE_WHY_ENGINE;
        o->why_op = 1;
        o->start_ns += 900 * US;
        o->end_ns += 900 * US;
    } else {
        b.ops[0].why = WEIR_TRACE_WHY_ENGINE; /* a kernel that priority brought forward */
        b.ops[0].why_op = 1;
        b.ops[0].start_ns = b.ops[0].ready_ns + 5 * US;
    }
    sync_device(2, 1000 * US);
}

/* One thread runs all host functions: that is no copy engine. */
static void urgent_host_function(void)
{
    urgent_copy(true);
    b.ops[0].why = WEIR_TRACE_WHY_STREAM;
    b.ops[1].engine = b.ops[2].engine = WEIR_TRACE_ENGINE_HOST;
    b.ops[1].kind = b.ops[2].kind = WEIR_TRACE_OP_HOST;
}

static void test_priority(void **state)
{
    (void)state;
    urgent_host_function();
    assert_true(gain_of("priority-without-effect", NULL) == ABSENT);
    urgent_copy(true);
    NEAR(gain_of("priority-without-effect", NULL), 900 * US, US);
    urgent_copy(false);
    assert_true(gain_of("priority-without-effect", NULL) == ABSENT);
}

/* ---- 16 ---- */

static void peer_copies(bool access)
{
    struct weir_trace_op *o;
    static struct weir_trace_device devices[2];
    uint32_t s;

    start(64);
    devices[0] = devices[1] = b.device;
    devices[1].device = devices[1].context = 1;
    b.f.devices = devices;
    b.f.devices_count = 2;
    b.allocations[1].device = 1;
    s = streams(1);
    if (access)
        b.peers[b.f.peers_count++] = (struct weir_trace_peer){
            .device = 0, .peer = 1, .on = true, .call = call("cudaDeviceEnablePeerAccess", 0, 0)};
    for (int i = 0; i < 4; i++) {
        o = copy(s, 1, false, 0, 100 * US);
        o->engine = WEIR_TRACE_ENGINE_D2D;
        o->u.copy.src = b.allocations[0].address;
        o->u.copy.dst = b.allocations[1].address;
        o->u.copy.src_class = o->u.copy.dst_class = WEIR_TRACE_DEVICE_MEMORY;
    }
    serialise();
    sync_device(2, 400 * US);
}

static void test_peers(void **state)
{
    (void)state;
    peer_copies(false);
    NEAR(gain_of("peer-access", NULL), 200 * US, 8 * US);
    peer_copies(true);
    assert_true(gain_of("peer-access", NULL) == ABSENT);
}

/* ---- 17 ---- */

static void managed(bool host_writes)
{
    uint32_t s;

    start(64);
    s = streams(1);
    b.allocations[0].kind = WEIR_TRACE_MANAGED;
    b.allocations[0].bytes = 12000000; /* a millisecond each way */
    for (int i = 0; i < 6; i++) {
        kernel(s, 0, 1, 0, 100 * US);
        if (host_writes && i)
            b.host_writes[b.f.host_writes_count++] =
                (struct weir_trace_host_write){.address = b.allocations[0].address,
                                               .bytes = b.allocations[0].bytes,
                                               .ns = b.now,
                                               .call = (uint32_t)b.f.calls_count - 1};
        sync_device(1, 100 * US);
    }
}

static void test_managed(void **state)
{
    (void)state;
    managed(true);
    NEAR(gain_of("managed-thrashing", NULL), 5 * 2000 * US, 20 * US);
    managed(false);
    assert_true(gain_of("managed-thrashing", NULL) == ABSENT);
}

/* ---- 18 ---- */

static void load_at(unsigned launch)
{
    uint32_t s;

    start(64);
    s = streams(1);
    for (unsigned i = 0; i < 50; i++) {
        if (i == launch) { /* 500 us inside the call */
            b.loads[b.f.loads_count++] = (struct weir_trace_load){.what = WEIR_TRACE_LOADS_MODULE,
                                                                  .name = "",
                                                                  .call = (uint32_t)b.f.calls_count,
                                                                  .begin_ns = b.now,
                                                                  .end_ns = b.now + 500 * US};
            kernel(s, 1, 1, 0, 10 * US);
            b.calls[b.f.calls_count - 1].end_ns += 500 * US;
            b.now += 500 * US;
        } else {
            kernel(s, 0, 1, 0, 10 * US);
        }
    }
    sync_device(2, 100 * US);
}

/* What a kernel waits for and the recorded length leaves out: 5 ms of 5.5, not of 0.5. */
static void load_kernel(void)
{
    struct weir_advise_report r;
    double percent;

    load_at(1000);
    b.loads[b.f.loads_count++] =
        (struct weir_trace_load){.what = WEIR_TRACE_LOADS_KERNEL,
                                 .name = "",
                                 .call = WEIR_TRACE_NONE,
                                 .begin_ns = b.ops[40].submit_ns - 5000 * US,
                                 .end_ns = b.ops[40].submit_ns};
    r = advise();
    assert_non_null(find(&r, "module-load"));
    percent = weir_advise_percent(&r, find(&r, "module-load"));
    assert_true(percent > 85 && percent < 100);
    weir_advise_finish(&r);
}

static void test_loads(void **state)
{
    bool note;

    (void)state;
    load_at(48);
    /* Some of it hides behind the kernels that are in the queue. */
    NEAR(gain_of("module-load", &note), 70 * US, 15 * US);
    assert_false(note);
    load_at(0);
    gain_of("module-load", &note);
    assert_true(note);
    load_at(1000);
    assert_true(gain_of("module-load", NULL) == ABSENT);
    load_kernel();
}

/* ---- 20 ---- */

/* 16 streams of two kernels, issued stream by stream or breadth first. */
static void queues(unsigned count, bool breadth)
{
    uint32_t s;

    start(64);
    s = streams(count);
    for (unsigned i = 0; i < 2 * count; i++) {
        unsigned n = breadth ? i % count : i / 2;

        kernel(s + n, 0, 1, n, 1000 * US);
    }
    sync_device(1, 2000 * US);
}

static void test_queues(void **state)
{
    uint64_t depth_first;

    (void)state;
    queues(16, false);
    depth_first = gain_of("queue-order", NULL);
    /* Two streams a queue: the second one's first kernel waits for the first one's second. */
    NEAR(depth_first, 1000 * US, 40 * US);
    queues(16, true);
    assert_true(gain_of("queue-order", NULL) == ABSENT);
    queues(8, false);
    assert_true(gain_of("queue-order", NULL) == ABSENT);
    queues(16, false);
    b.environment[b.f.environment_count++] = "CUDA_DEVICE_MAX_CONNECTIONS=32";
    assert_true(gain_of("queue-order", NULL) == ABSENT);
}

/* ---- 21 ---- */

static void graphs(bool one_instance)
{
    uint32_t s;

    start(64);
    s = streams(2);
    for (unsigned i = 0; i < 4; i++) {
        call("cudaGraphLaunch", 0, 0);
        op(s + i % 2, WEIR_TRACE_OP_GRAPH, WEIR_TRACE_ENGINE_KERNEL, 100 * US);
        if (one_instance && i)
            depend(i - 1, 30);
    }
    serialise();
    sync_device(1, 400 * US);
    for (unsigned i = 0; i < 4; i++) { /* their nodes: kernels of one block */
        struct weir_trace_op *node = &b.ops[b.f.ops_count++];

        *node = b.ops[i];
        node->kind = WEIR_TRACE_OP_KERNEL;
        node->graph = i;
        node->stream = s;
        node->dep_count = 0;
        node->u.kernel.grid[0] = node->u.kernel.grid[1] = node->u.kernel.grid[2] = 1;
    }
}

static const char *answer_of(const struct weir_advise_report *r, const char *kind)
{
    const char *name;

    for (size_t i = 0; weir_advise_question(i, &name); i++) {
        if (strcmp(name, kind) == 0)
            return weir_advise_answer(r, i);
    }
    return "";
}

static void test_graphs(void **state)
{
    struct weir_advise_report r;

    (void)state;
    graphs(true);
    NEAR(gain_of("graph-in-turn", NULL), 200 * US, 10 * US);
    graphs(true);
    r = advise();
    assert_string_equal(answer_of(&r, "graph-in-turn"), "yes");
    assert_string_equal(answer_of(&r, "peer-access"), "no");
    assert_string_equal(answer_of(&r, "unneeded-wait"), "unknown"); /* what nodes touch is not */
    weir_advise_finish(&r);
    graphs(false);
    assert_true(gain_of("graph-in-turn", NULL) == ABSENT);
}

/* ---- 22 ---- */

/* A launch into a full stream holds up the host, and with it the other stream. */
static void full(bool blocked)
{
    uint32_t s, c;

    start(64);
    s = streams(2);
    for (unsigned i = 0; i < 4; i++)
        kernel(s, 0, 1, 0, 100 * US);
    serialise();
    kernel(s, 1, 1, 0, 100 * US);
    if (blocked) {
        c = (uint32_t)b.f.calls_count - 1;
        b.blocked[b.f.waits_count++] = (struct weir_trace_wait){
            .call = c, .op = 2, .begin_ns = b.now, .end_ns = b.now + 290 * US};
        b.calls[c].waited_ns = 290 * US;
        b.calls[c].end_ns += 290 * US;
        b.now += 290 * US;
    }
    kernel(s + 1, 2, 1, 1, 400 * US);
    sync_device(3, 400 * US);
}

static void test_full_queue(void **state)
{
    (void)state;
    full(true);
    NEAR(gain_of("queue-full", NULL), 200 * US, 20 * US);
    full(false);
    assert_true(gain_of("queue-full", NULL) == ABSENT);
}

/* ---- 23 ---- */

static void pair_of_kernels(void)
{
    uint32_t s;

    start(64);
    s = streams(2);
    kernel(s, 0, 1, 0, 100 * US);
    kernel(s + 1, 0, 1, 1, 100 * US);
    sync_device(1, 100 * US);
}

static void test_settings(void **state)
{
    bool note;

    (void)state;
    pair_of_kernels();
    b.environment[b.f.environment_count++] = "CUDA_LAUNCH_BLOCKING=1";
    NEAR(gain_of("serialising-setting", NULL), 100 * US, 8 * US);
    /* As Weir obeys it: each launch waits. */
    start(64);
    streams(2);
    for (uint32_t i = 0; i < 2; i++) {
        kernel(i, 0, 1, i, 100 * US);
        b.syncs[b.f.syncs_count++] = (struct weir_trace_sync_point){
            .what = WEIR_TRACE_WAITS_STREAM, .stream = i, .call = (uint32_t)b.f.calls_count - 1};
        b.calls[b.f.calls_count - 1].sync_count = 1;
        b.calls[b.f.calls_count - 1].sync_first = (uint32_t)b.f.syncs_count - 1;
        b.calls[b.f.calls_count - 1].waited_ns = 100 * US;
        b.calls[b.f.calls_count - 1].end_ns += 100 * US;
        b.now += 100 * US;
    }
    sync_device(1, 0);
    b.environment[b.f.environment_count++] = "CUDA_LAUNCH_BLOCKING=1";
    NEAR(gain_of("serialising-setting", NULL), 100 * US, 8 * US);
    pair_of_kernels();
    b.environment[b.f.environment_count++] = "CUDA_LAUNCH_BLOCKING=0";
    b.environment[b.f.environment_count++] = "CUDA_VISIBLE_DEVICES=0";
    assert_true(gain_of("serialising-setting", NULL) == ABSENT);
    pair_of_kernels();
    b.environment[b.f.environment_count++] = "CUDA_INJECTION64_PATH=/opt/tool.so";
    gain_of("serialising-setting", &note);
    assert_true(note);
}

/* ---- 24 ---- */

/* The host waits for stream a, so that b may use its data; or b waits by an event. */
static void hand_over(bool host)
{
    uint32_t s;

    start(64);
    s = streams(3);
    for (unsigned i = 0; i < 4; i++) {
        kernel(s, 0, 1, 2 * i, 100 * US);
        if (host) {
            sync_stream(s, 1, 98 * US);
        } else {
            record(s, 1, 1, 2);
            wait_event(s + 1, 1, 2);
        }
        kernel(s + 1, 3, 1, 2 * i, 10 * US);
        kernel(s + 2, 4, 1, 2 * i + 1, 100 * US); /* has nothing to do with it */
    }
    sync_device(5, 100 * US);
}

static void test_host_waits(void **state)
{
    (void)state;
    hand_over(true);
    /* Both streams have 400 us of work: the third begins 100 us late. */
    NEAR(gain_of("host-wait", NULL), 100 * US, 20 * US);
    assert_true(gain_of("sync-in-loop", NULL) == ABSENT);
    hand_over(false);
    assert_true(gain_of("host-wait", NULL) == ABSENT);
}

/* A device synchronisation for one stream's results, while another stream computes on. */
static void results(bool device)
{
    uint32_t s;

    start(64);
    s = streams(2);
    for (unsigned i = 0; i < 3; i++) {
        kernel(s + 1, 0, 1, 9, 500 * US);
        copy(s, 1, true, 0, 50 * US);
        if (device)
            sync_device(2, 490 * US);
        else
            sync_stream(s, 2, 40 * US);
        b.now += 400 * US; /* the host uses the results */
    }
    sync_device(3, 0);
}

static void test_device_waits(void **state)
{
    (void)state;
    results(true);
    /* 3 x (500 + 400), against 3 x 500 and what the host does last: the last one may be meant. */
    NEAR(gain_of("host-wait", NULL), 800 * US, 20 * US);
    results(false);
    assert_true(gain_of("host-wait", NULL) == ABSENT);
}

/* ---- 26 ---- */

static void timed(bool across, bool gap, bool cold)
{
    uint32_t s, from, to;

    start(64);
    s = streams(2);
    from = record(s, 1, 0, 0);
    kernel(s, 1, 1, 0, 100 * US);
    if (gap) {
        b.now += 500 * US;
        kernel(s, 1, 1, 0, 100 * US);
        b.ops[b.f.ops_count - 1].why = WEIR_TRACE_WHY_HOST;
    } else {
        kernel(s, 1, 1, 0, 100 * US);
        serialise();
        b.ops[b.f.ops_count - 1].why = WEIR_TRACE_WHY_STREAM;
    }
    if (cold)
        b.loads[b.f.loads_count++] = (struct weir_trace_load){.what = WEIR_TRACE_LOADS_KERNEL,
                                                              .name = "",
                                                              .call = WEIR_TRACE_NONE,
                                                              .begin_ns = b.ops[0].start_ns + 1,
                                                              .end_ns = b.ops[0].start_ns + 90};
    record(across ? s + 1 : s, 2, 2, 0);
    sync_device(3, 200 * US);
    (void)from;
    to = call("cudaEventElapsedTime", 4, 0);
    b.elapsed[b.f.elapsed_count++] = (struct weir_trace_elapsed){1, 2, to};
}

static bool has_mistake(const char *words)
{
    struct weir_advise_report r = advise();
    bool any = false;

    for (size_t i = 0; i < r.count; i++)
        any = any || (strcmp(r.findings[i].kind, "timing-mistake") == 0 &&
                      (!words || strstr(r.findings[i].message, words)));
    weir_advise_finish(&r);
    return any;
}

static void test_timing_mistakes(void **state)
{
    (void)state;
    timed(true, false, false);
    assert_true(has_mistake("one in another"));
    timed(false, true, false);
    assert_true(has_mistake("waited for the host"));
    timed(false, false, true);
    assert_true(has_mistake("loading of code"));
    timed(false, false, false);
    assert_false(has_mistake(NULL));
}

/* ---- 27 ---- */

static void recorded(bool used)
{
    uint32_t s;

    start(64);
    s = streams(2);
    kernel(s, 0, 1, 0, 100 * US);
    record(s, 7, 1, 2);
    if (used)
        b.queries[b.f.queries_count++] =
            (struct weir_trace_query){.what = WEIR_TRACE_QUERIES_EVENT,
                                      .id = 7,
                                      .ready = true,
                                      .call = call("cudaEventQuery", 2, 0)};
    sync_device(3, 100 * US);
}

static void test_unused(void **state)
{
    bool note;

    (void)state;
    recorded(false);
    assert_true(gain_of("unused-event", &note) != ABSENT && note);
    recorded(true);
    assert_true(gain_of("unused-event", NULL) == ABSENT);
}

/* ---- 28 ---- */

static void polled(unsigned times)
{
    uint32_t s;

    start(64);
    s = streams(1);
    kernel(s, 0, 1, 0, 500 * US);
    record(s, 7, 1, 2);
    for (unsigned i = 0; i <= times; i++)
        b.queries[b.f.queries_count++] =
            (struct weir_trace_query){.what = WEIR_TRACE_QUERIES_EVENT,
                                      .id = 7,
                                      .ready = i == times,
                                      .call = call("cudaEventQuery", 2, 0)};
    sync_device(3, 0);
}

static void test_polling(void **state)
{
    struct weir_advise_report r;
    bool note;

    (void)state;
    polled(150);
    assert_true(gain_of("busy-polling", &note) == 0 && note);
    polled(150);
    r = advise(); /* the host's asking takes as long as the work does, and no longer */
    NEAR(r.length_ns, 502 * US, 8 * US);
    weir_advise_finish(&r);
    polled(10);
    assert_true(gain_of("busy-polling", NULL) == ABSENT);
}

/* ---- 29 ---- */

static void pinned(uint64_t bytes)
{
    pair_of_kernels();
    b.f.memory_bytes = 16ull << 30;
    for (int i = 0; i < 4; i++) {
        b.allocations[20 + i].kind = WEIR_TRACE_PINNED;
        b.allocations[20 + i].bytes = bytes / 4;
        b.allocations[20 + i].address = 0x600000000000u + (uint64_t)i * (1ull << 40);
        b.allocations[20 + i].call = 0;
        b.allocations[20 + i].begin_ns = b.f.begin_ns;
    }
}

static void test_pinned(void **state)
{
    bool note;

    (void)state;
    pinned(9ull << 30);
    assert_true(gain_of("pinned-memory", &note) == 0 && note);
    pinned(7ull << 30);
    assert_true(gain_of("pinned-memory", NULL) == ABSENT);
    pinned(12ull << 30);
    for (int i = 0; i < 4; i++) { /* one at a time */
        b.allocations[20 + i].begin_ns = b.f.begin_ns + (uint64_t)i * 10;
        b.allocations[20 + i].end_ns = b.f.begin_ns + (uint64_t)i * 10 + 5;
    }
    assert_true(gain_of("pinned-memory", NULL) == ABSENT);
}

/* ---- 30 ---- */

static void library(const char *module, unsigned cls)
{
    uint32_t other, own;

    start(64);
    own = stream(cls);
    other = stream(WEIR_TRACE_STREAM_BLOCKING);
    b.sites[0].module = "/bin/app";
    b.sites[1].module = module;
    for (unsigned i = 0; i < 4; i++) {
        kernel(other, 0, 1, 2 * i, 100 * US);
        kernel(own, 1, 1, 2 * i + 1, 100 * US);
    }
    sync_device(0, 800 * US);
}

static void test_libraries(void **state)
{
    struct weir_advise_report r;

    (void)state;
    library("/usr/lib/libcublas.so.12", WEIR_TRACE_STREAM_LEGACY);
    r = advise();
    assert_non_null(find(&r, "library-default-stream"));
    NEAR(find(&r, "library-default-stream")->gain_ns, 400 * US, 20 * US);
    assert_non_null(strstr(find(&r, "library-default-stream")->message, "libcublas.so.12"));
    assert_non_null(strstr(find(&r, "library-default-stream")->change, "cublasSetStream"));
    weir_advise_finish(&r);
    library("/opt/lib/libmine.so", WEIR_TRACE_STREAM_NONBLOCKING);
    assert_true(gain_of("library-default-stream", NULL) == ABSENT);
    library("/bin/app", WEIR_TRACE_STREAM_LEGACY); /* the program's own: that is question 3 */
    assert_true(gain_of("library-default-stream", NULL) == ABSENT);
}

/* ---- all ---- */

/* Thirty questions, and every finding answers one. */
static void test_all_asked(void **state)
{
    const char *kind;
    size_t n = 0;

    (void)state;
    while (weir_advise_question(n, &kind))
        n++;
    assert_int_equal(n, 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allocations),  cmocka_unit_test(test_late_record),
        cmocka_unit_test(test_wrong_record), cmocka_unit_test(test_items),
        cmocka_unit_test(test_too_many),     cmocka_unit_test(test_priority),
        cmocka_unit_test(test_peers),        cmocka_unit_test(test_managed),
        cmocka_unit_test(test_loads),        cmocka_unit_test(test_queues),
        cmocka_unit_test(test_graphs),       cmocka_unit_test(test_full_queue),
        cmocka_unit_test(test_settings),     cmocka_unit_test(test_host_waits),
        cmocka_unit_test(test_device_waits), cmocka_unit_test(test_timing_mistakes),
        cmocka_unit_test(test_unused),       cmocka_unit_test(test_polling),
        cmocka_unit_test(test_pinned),       cmocka_unit_test(test_libraries),
        cmocka_unit_test(test_all_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
