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

#include "unit/advise_support.h"

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

/* In, kernel, out, of the same memory: what is reached is named by the chain, no engine is busy for
 * half of the time. */
static void test_chain(void **state)
{
    struct weir_advise_report r;
    uint32_t s;

    (void)state;
    start(2);
    s = stream(WEIR_TRACE_STREAM_NONBLOCKING);
    copy(s, 0, false, 0, 100 * US);
    kernel(s, 1, 1, 0, 100 * US);
    copy(s, 2, true, 0, 100 * US);
    serialise();
    sync_device(3, 300 * US);
    r = advise();
    assert_int_equal(r.count, 0);
    assert_non_null(strstr(r.verdict, "operations that need one another's data run, one after the "
                                      "other, 100% of the 0.30 ms, which is the bound"));
    weir_advise_finish(&r);
}

/* Only calls that submit nothing: no length to speak of. */
static void test_nothing(void **state)
{
    struct weir_advise_report r;

    (void)state;
    start(2);
    stream(WEIR_TRACE_STREAM_NONBLOCKING);
    sync_device(0, 0);
    r = advise();
    assert_string_equal(r.verdict, "nothing ran on a device in this trace");
    weir_advise_finish(&r);
}

/* 40 kernels of 2 us. The host is late with each; or they wait, one behind the other, for the
 * device. */
static void test_launches(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) {
        struct weir_advise_report r;
        uint32_t s;

        start(1);
        s = stream(WEIR_TRACE_STREAM_NONBLOCKING);
        for (unsigned i = 0; i < 40; i++) {
            kernel(s, 0, 1, 0, 2 * US);
            b.ops[i].why = late ? WEIR_TRACE_WHY_HOST : WEIR_TRACE_WHY_ENGINE;
            b.now += late ? 4 * US : 0;
        }
        serialise();
        sync_device(1, 40 * US);
        r = advise();
        assert_int_equal(find(&r, "launch-bound") != NULL, late);
        weir_advise_finish(&r);
    }
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

/* Kernels in two streams in turn, and a wait behind each: for results when what the kernel was
 * given is memory that the host reads, or when the work was another thread's, which copied it back.
 */
static struct weir_advise_report waits_for(unsigned memory, bool copy_back, bool other_thread)
{
    static struct weir_trace_thread threads[2] = {{.name = ""}, {.name = ""}};
    uint32_t s[3];

    start(2);
    b.f.threads = threads;
    b.f.threads_count = 2;
    b.allocations[6].kind = WEIR_TRACE_PINNED;
    b.allocations[7].kind = WEIR_TRACE_PINNED;
    s[0] = stream(WEIR_TRACE_STREAM_NONBLOCKING);
    s[1] = stream(WEIR_TRACE_STREAM_NONBLOCKING);
    s[2] = stream(WEIR_TRACE_STREAM_NONBLOCKING);
    for (unsigned i = 0; i < 6; i++) {
        kernel(s[i % 2], 0, 1, memory + i % 2, 100 * US);
        if (copy_back)
            copy(s[i % 2], 1, true, memory + i % 2, 10 * US);
        sync_stream(s[i % 2], 2, 99 * US);
        b.calls[b.f.calls_count - 1].thread = other_thread;
        if (other_thread) { /* which has work of its own, too: without the wait it would be sooner
                             */
            kernel(s[2], 3, 1, 3, 100 * US);
            b.calls[b.f.calls_count - 1].thread = 1;
        }
    }
    return advise();
}

static void test_syncs_for_results(void **state)
{
    static const struct {
        unsigned memory;
        bool copy_back, other_thread, needless;
    } cases[] = {
        {0, false, false, true}, {6, false, false, false}, {0, true, false, false},
        {0, false, true, true},  {6, false, true, false},  {0, true, true, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weir_advise_report r =
            waits_for(cases[i].memory, cases[i].copy_back, cases[i].other_thread);

        assert_int_equal(find(&r, "sync-in-loop") != NULL, cases[i].needless);
        weir_advise_finish(&r);
    }
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
        cmocka_unit_test(test_chain),       cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_launches),    cmocka_unit_test(test_single_stream),
        cmocka_unit_test(test_shared_data), cmocka_unit_test(test_full),
        cmocka_unit_test(test_syncs),       cmocka_unit_test(test_syncs_for_results),
        cmocka_unit_test(test_legacy),      cmocka_unit_test(test_unneeded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
