/* Recorded programs: moved to another device, seen there, and their pattern of chunks.
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

#include "base/alloc.h"
#include "core/profile.h"
#include "plan/elsewhere.h"
#include "plan/passes.h"

#define MS 1000000u

/* A device with one engine a direction, 10 bytes a ns, and nothing that costs. */
static const struct weir_plan_machine machine = {
    .device = {.units = 4 * 64, .copy_engines = 2},
    .rates = {.h2d = 10, .d2h = 10, .pageable_h2d = 1, .pageable_d2h = 1, .device = 100},
    .sms = 4,
    .threads_per_sm = 64,
    .blocks_per_sm = 8,
    .name = "a device"};

/* Copy in, kernel, copy out in each of two streams; all wait for one another as recorded. */
static void two_chunks(void)
{
    uint32_t s[2];

    start(2);
    s[0] = stream(WEIR_TRACE_STREAM_NONBLOCKING);
    s[1] = stream(WEIR_TRACE_STREAM_NONBLOCKING);
    for (unsigned i = 0; i < 2; i++) {
        copy(s[i], 0, false, i, 1 * MS)->bytes = 10 * MS;
        kernel(s[i], 1, 1, i, 5 * MS);
        copy(s[i], 2, true, i, 1 * MS)->bytes = 10 * MS;
    }
    serialise();
    sync_device(3, 14 * MS);
}

static void test_moved(void **state)
{
    const struct weir_plan_kernel_time times[] = {{"work", 3 * MS, 0}};
    struct weir_plan_elsewhere how = {
        .machine = &machine, .times = times, .time_count = 1, .kernels = 1};
    const struct weir_trace_op *o = b.ops;
    uint64_t begin;

    (void)state;
    two_chunks();
    begin = b.calls[0].begin_ns;
    b.f.deps = NULL; /* there are none; moving makes new ones */
    assert_true(weir_plan_elsewhere_move(&b.f, &how));
    weir_free(b.f.deps);
    b.f.deps = NULL;
    /* Each copy takes 1 ms there, each kernel 3 ms on its own SM: 1 + 3 + 1, the second 1 behind.
     */
    NEAR(o[1].start_ns - begin, 1 * MS, 20 * US);
    NEAR(o[1].end_ns - begin, 4 * MS, 20 * US);
    NEAR(o[4].start_ns - begin, 2 * MS, 20 * US);
    NEAR(o[5].end_ns - begin, 6 * MS, 20 * US);
    assert_int_equal(o[1].why, WEIR_TRACE_WHY_STREAM);
    assert_int_equal(o[1].why_op, 0);
    assert_int_equal(o[3].why, WEIR_TRACE_WHY_ENGINE);
    assert_int_equal(o[3].why_op, 0);
    /* The host waits until then, and the file ends there. */
    NEAR(b.calls[6].end_ns - begin, 6 * MS, 20 * US);
    NEAR(b.calls[6].waited_ns, 6 * MS, 20 * US);
    assert_int_equal(b.f.end_ns, b.calls[6].end_ns);
    for (size_t i = 0; i < b.f.calls_count; i++)
        assert_true(b.calls[i].begin_ns <= b.calls[i].end_ns &&
                    (!i || b.calls[i].begin_ns >= b.calls[i - 1].end_ns));
}

/* The same kernels at a tenth of their time: the copies are what is left. */
static void test_printed(void **state)
{
    struct weir_plan_elsewhere how = {.machine = &machine, .kernels = 0.1};
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);

    (void)state;
    assert_non_null(to);
    two_chunks();
    assert_true(weir_plan_elsewhere_print(&b.f, &how, to));
    fclose(to);
    assert_non_null(strstr(text, "planned on a device"));
    assert_non_null(strstr(text, "500.00 us   2")); /* of each kernel */
    assert_non_null(strstr(text, "Pattern: 1 pass of 2 chunks"));
    free(text);
}

static void test_passes(void **state)
{
    struct weir_plan_data data;
    struct weir_plan_recorded m;
    struct weir_plan_passes p;
    struct weir_plan_pipeline shape;

    (void)state;
    two_chunks();
    assert_true(weir_plan_data_init(&data, &b.f) && weir_plan_recorded_init(&m, &b.f, &data));
    assert_true(weir_plan_passes_find(&m, &p));
    assert_int_equal(p.count, 1);
    assert_int_equal(p.chunks, 2);
    assert_int_equal(p.streams, 2);
    assert_false(p.refilled);
    NEAR(p.stage[0], 2 * MS, 10);
    NEAR(p.stage[1], 10 * MS, 10);
    shape = weir_plan_passes_shape(&p);
    assert_int_equal(shape.stage_count, 3);
    assert_true(shape.stages[1].fill > 0.49 && shape.stages[1].fill < 0.51);
    weir_plan_recorded_finish(&m);
    weir_plan_data_finish(&data);
    /* From the same memory on the host: items. */
    two_chunks();
    b.ops[3].u.copy.src = b.ops[0].u.copy.src;
    assert_true(weir_plan_data_init(&data, &b.f) && weir_plan_recorded_init(&m, &b.f, &data));
    assert_true(weir_plan_passes_find(&m, &p));
    assert_int_equal(p.chunks, 2);
    assert_true(p.refilled);
    weir_plan_recorded_finish(&m);
    weir_plan_data_finish(&data);
    /* Kernels alone are no pipeline. */
    start(2);
    kernel(stream(WEIR_TRACE_STREAM_NONBLOCKING), 0, 1, 0, 1 * MS);
    sync_device(1, 1 * MS);
    assert_true(weir_plan_data_init(&data, &b.f) && weir_plan_recorded_init(&m, &b.f, &data));
    assert_true(weir_plan_passes_find(&m, &p));
    assert_int_equal(p.count, 0);
    weir_plan_recorded_finish(&m);
    weir_plan_data_finish(&data);
}

/* The host copies pageable memory: the rate is the caches' as long as all of it fits there. */
static void test_pageable_rate(void **state)
{
    struct weir_plan_machine m = {.rates = {.h2d = 50,
                                            .d2h = 50,
                                            .pageable_h2d = 6,
                                            .pageable_d2h = 14,
                                            .small_h2d = 14,
                                            .small_d2h = 10}};
    const struct {
        double memory, h2d, d2h;
    } by_way[] = {{16, 14, 10},   {32, 10.5, 8}, {64, 7, 6},
                  {128, 6.5, 10}, {256, 6, 14},  {0, 6, 14}},
      at[] = {{1, 14, 10},  {16, 14, 10},  {24, 13, 10.5}, {32, 12, 11},      {128, 8, 13},
              {256, 6, 14}, {1024, 6, 14}, {0, 6, 14},     {1048576.0, 6, 14}};

    (void)state;
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        double memory = at[i].memory * 1048576;

        NEAR(weir_plan_copy_ns(&m, WEIR_PLAN_H2D, true, 1e9, memory), 1e9 / at[i].h2d, 2);
        NEAR(weir_plan_copy_ns(&m, WEIR_PLAN_D2H, true, 1e9, memory), 1e9 / at[i].d2h, 2);
        NEAR(weir_plan_copy_ns(&m, WEIR_PLAN_H2D, false, 1e9, memory), 1e9 / 50, 2);
    }
    /* By way of 64 MiB, where that was measured too. */
    m.rates.mid_h2d = 7;
    m.rates.mid_d2h = 6;
    for (size_t i = 0; i < sizeof by_way / sizeof *by_way; i++) {
        double memory = by_way[i].memory * 1048576;

        NEAR(weir_plan_copy_ns(&m, WEIR_PLAN_H2D, true, 1e9, memory), 1e9 / by_way[i].h2d, 2);
        NEAR(weir_plan_copy_ns(&m, WEIR_PLAN_D2H, true, 1e9, memory), 1e9 / by_way[i].d2h, 2);
    }
}

/* Measured kernels: between two counts of blocks, beyond them, without a count; by both names. */
static void test_kernel_table(void **state)
{
    static char a[] = "a", other[] = "b", mangled[] = "_Z1bv";
    const struct weir_profile_kernel table[] = {
        {a, 10, 100}, {other, 3, 0}, {a, 50, 300}, {a, 99, 0}, {mangled, 8, 4}};
    const struct weir_plan_machine m = {
        .rates = {.kernel_ns = 500}, .kernels = table, .kernel_count = 5};
    const struct {
        const char *name, *symbol;
        uint64_t blocks;
        double us;
    } at[] = {{"a", "", 100, 10}, {"a", "", 300, 50}, {"a", "", 200, 30}, {"a", "", 600, 100},
              {"a", "", 50, 5},   {"a", "", 1, .5},   {"b", "", 77, 3},   {"b", "_Z1bv", 8, 16},
              {"c", "", 1, 0},    {"", "_Z1bv", 4, 8}};

    (void)state;
    for (size_t i = 0; i < sizeof at / sizeof *at; i++)
        NEAR(weir_plan_kernel_table_ns(&m, at[i].name, at[i].symbol, at[i].blocks), 1e3 * at[i].us,
             1);
}

/* A recorded kernel takes what the table says; what is asked for comes before it. */
static void test_moved_by_table(void **state)
{
    static char work[] = "work";
    const struct weir_profile_kernel table[] = {{work, 3000, 0}};
    const struct weir_plan_kernel_time times[] = {{"work", 4 * MS, 0}};
    struct weir_plan_machine with = machine;
    struct weir_plan_data data;
    struct weir_plan_recorded m;

    (void)state;
    with.kernels = table;
    with.kernel_count = 1;
    two_chunks();
    for (int asked = 0; asked < 2; asked++) {
        assert_true(weir_plan_data_init(&data, &b.f) && weir_plan_recorded_init(&m, &b.f, &data) &&
                    weir_plan_recorded_on(&m, &with, times, (size_t)asked));
        assert_int_equal(m.alone_ns[1], (asked ? 4 : 3) * MS);
        weir_plan_recorded_finish(&m);
        weir_plan_data_finish(&data);
    }
}

/* A staged copy is as slow as one that the host waits for, not twice: the host takes what is more
 * than the copy of what it captured. Without the wait it is a pinned one. */
static void test_staged(void **state)
{
    struct weir_plan_scenario s = {0};
    struct weir_plan_data data;
    struct weir_plan_recorded m;
    struct weir_plan_outcome out;
    struct weir_trace_op *o;

    (void)state;
    /* Behind another copy, so that its own host time counts. */
    start(2);
    copy(stream(WEIR_TRACE_STREAM_NONBLOCKING), 0, false, 0, 1 * MS)->bytes = 100;
    o = copy(0, 0, false, 1, 1 * MS);
    o->bytes = 10 * MS;
    o->u.copy.src_class = WEIR_TRACE_PAGEABLE;
    o->u.copy.staged = true;
    assert_true(weir_plan_data_init(&data, &b.f) && weir_plan_recorded_init(&m, &b.f, &data) &&
                weir_plan_recorded_by_model(&m, &machine, NULL, 0) &&
                weir_plan_recorded_run(&m, &s, &out));
    NEAR(m.pageable, 10 * MS, 0);
    NEAR(out.length_ns, 10 * MS, 10);
    s.no_wait = (const bool[2]){false, true};
    assert_true(weir_plan_recorded_run(&m, &s, &out));
    NEAR(out.length_ns, 1 * MS, 20);
    weir_plan_recorded_finish(&m);
    weir_plan_data_finish(&data);
}

/* The caches hold what both directions use: in and out of one buffer, half of it shared, or of two;
 * a staged source counts by what it fills. */
static void test_pageable_memory(void **state)
{
    const uint64_t bytes = 0x8000, apart[] = {0, 0x4000, 0x8000};
    struct weir_plan_data data;
    struct weir_plan_recorded m;

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        for (int staged = 0; staged < 2; staged++) {
            struct weir_trace_op *in, *out;

            start(2);
            in = copy(stream(WEIR_TRACE_STREAM_NONBLOCKING), 0, false, 0, 1 * MS);
            in->u.copy.src_class = WEIR_TRACE_PAGEABLE;
            in->u.copy.staged = staged;
            out = copy(0, 0, true, 0, 1 * MS);
            out->u.copy.dst_class = WEIR_TRACE_PAGEABLE;
            out->u.copy.dst += apart[i];
            in->bytes = out->bytes = bytes;
            assert_true(weir_plan_data_init(&data, &b.f) &&
                        weir_plan_recorded_init(&m, &b.f, &data) &&
                        weir_plan_recorded_on(&m, &machine, NULL, 0));
            assert_int_equal(m.pageable, staged ? 2 * bytes : bytes + apart[i]);
            weir_plan_recorded_finish(&m);
            weir_plan_data_finish(&data);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moved),        cmocka_unit_test(test_printed),
        cmocka_unit_test(test_passes),       cmocka_unit_test(test_pageable_rate),
        cmocka_unit_test(test_kernel_table), cmocka_unit_test(test_moved_by_table),
        cmocka_unit_test(test_staged),       cmocka_unit_test(test_pageable_memory)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
