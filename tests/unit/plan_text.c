/* Designs as texts: what they give, and what is refused. Units and ranges.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "plan/table.h"
#include "plan/text.h"
#include "plan/units.h"

#define MS 1e6

static struct weir_plan_text text;
static struct weir_plan_design design;

static void run(const char *s)
{
    char message[200];

    if (!weir_plan_text_parse(s, strlen(s), &text, message) ||
        !weir_plan_design_run(&text, NULL, 0, &design, message))
        fail_msg("%s", message);
}

static void finish(void)
{
    weir_plan_design_finish(&design);
    weir_plan_text_finish(&text);
}

static void assert_near(double is, double want)
{
    if (is < want * 0.9999 || is > want * 1.0001)
        fail_msg("%f instead of %f", is, want);
}

/* The classic: twice as fast without limits, less with one engine a direction, less when the kernel
 * fills the device. */
static void test_two_streams(void **state)
{
    static const char *const engines[] = {"unlimited", "limited", "limited"};
    static const char *const fill[] = {"fill 100%", "", "fill 100%"};
    static const double speedup[] = {2, 1.0 / 0.6, 1.25};
    char s[512];

    (void)state;
    for (int i = 0; i < 3; i++) {
        snprintf(s, sizeof s,
                 "engines %s\nstream a\nstream b # two\nh2d a 0.2\nkernel a 0.6 %s\nd2h a 200us\n"
                 "h2d b 0.2ms\nkernel b 0.6 %s\nd2h b 0.2\n",
                 engines[i], fill[i], fill[i]);
        run(s);
        assert_near(design.values[WEIR_PLAN_SPEEDUP], speedup[i]);
        assert_near(design.values[WEIR_PLAN_SERIAL], 2 * MS);
        assert_near(design.values[WEIR_PLAN_MAKESPAN], 2 * MS / speedup[i]);
        finish();
    }
}

static void test_events(void **state)
{
    (void)state;
    run("stream a\nstream b\nh2d a 1\nrecord e a\nwait e b\nkernel b 2 \"sum\"\nsync stream b\n"
        "host 0.5\nd2h b 1\nsync all\n");
    assert_near(design.values[WEIR_PLAN_MAKESPAN], 4.5 * MS);
    assert_near(design.values[WEIR_PLAN_SERIAL], 4.5 * MS);
    assert_string_equal(design.op_lines.items[1]->name, "sum");
    assert_int_equal(design.times[1].why_op, 0);
    assert_int_equal(design.times[2].why, WEIR_PLAN_WHY_HOST);
    finish();
    run("stream a\nstream b priority 1\nkernel a 4 fill 100%\nkernel a 4 fill 100%\n"
        "kernel b 1 fill 100%\n");
    assert_near(design.times[2].start, 4 * MS); /* before the second of a */
    finish();
}

static void test_items(void **state)
{
    struct weir_plan_design deeper;
    char message[200];

    (void)state;
    run("items 20 slots 3\nprepare 0.1\nh2d 0.2 6MiB\nkernel 0.6 fill 100%\nd2h 0.2 6MiB\n"
        "post 0.05\nend\nsync all\n");
    /* One kernel behind the other: fill 0.3, 20 times 0.6, drain 0.25. */
    assert_near(design.values[WEIR_PLAN_MAKESPAN], 12.55 * MS);
    assert_near(design.values[WEIR_PLAN_SERIAL], 23 * MS);
    assert_near(design.values[WEIR_PLAN_P50], 1.8 * MS);
    assert_near(design.values[WEIR_PLAN_MEMORY], 2 * 3 * 12 * 1048576.0);
    assert_true(weir_plan_design_run(&text, NULL, 1, &deeper, message));
    assert_near(deeper.values[WEIR_PLAN_MAKESPAN], 23 * MS);
    assert_near(deeper.values[WEIR_PLAN_P99], 1.15 * MS);
    weir_plan_design_finish(&deeper);
    finish();
    /* A stream a stage: the item's order crosses streams by itself. Arrivals are kept. */
    run("stream in\nstream out\nitems 3 slots 2 every 5\nh2d in 1\nkernel 2\nd2h out 1\nend\n");
    assert_near(design.values[WEIR_PLAN_MAKESPAN], 14 * MS);
    assert_near(design.values[WEIR_PLAN_P99], 4 * MS);
    assert_true(design.values[WEIR_PLAN_MEMORY] < 0);
    finish();
}

static void test_expect(void **state)
{
    static const char *const good[] = {"makespan<=1.2ms", "speedup >= 1.6", "p99=3",
                                       "memory<=64MiB", " serial = 2us"};
    static const char *const bad[] = {"",          "makespan",    "makespan<1", "speed>=2",
                                      "p99<=2MiB", "memory<=3ms", "p50==1"};
    struct weir_plan_expect e;
    FILE *to = fopen("/dev/null", "w");

    (void)state;
    assert_non_null(to);
    for (size_t i = 0; i < WEIR_ARRAY_SIZE(good); i++)
        assert_true(weir_plan_expect_parse(good[i], strlen(good[i]), &e));
    for (size_t i = 0; i < WEIR_ARRAY_SIZE(bad); i++)
        assert_false(weir_plan_expect_parse(bad[i], strlen(bad[i]), &e));
    run("stream a\nkernel a 2\nexpect makespan=2ms\nexpect speedup>=1\n");
    assert_true(weir_plan_design_judge(&design, text.expects.items, 2, to));
    assert_true(weir_plan_expect_parse("makespan<=1.99ms", 16, &e));
    assert_false(weir_plan_design_judge(&design, &e, 1, to));
    assert_true(weir_plan_expect_parse("p50<=1s", 7, &e)); /* there are no items */
    assert_false(weir_plan_design_judge(&design, &e, 1, to));
    fclose(to);
    finish();
}

static void test_refused(void **state)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"", "nothing to run"},
        {"nonsense\n", "line 1"},
        {"stream a\nh2d b 1\n", "line 2: a stream"},
        {"stream a\nh2d a\n", "a time"},
        {"stream a\nkernel a 6MiB\n", "a time"},
        {"stream a\nkernel a 1 fill 120%\n", "a share"},
        {"stream a\nkernel a 1 2 3\n", "nothing more"},
        {"stream a\nwait e a\n", "an event"},
        {"stream a\nstream a\n", "a new name"},
        {"items 0 slots 1\n", "items NUMBER"},
        {"items 10 slots 1\nkernel 1\n", "no end"},
        {"items 10 slots 1\nend\n", "need an operation"},
        {"items 100000 slots 2\nkernel 1\nkernel 1\nend\n", "100000"},
        {"items 2 slots 1\nrecord e a\nend\n", "items have"},
        {"stream a\nprepare 1\n", "within items"},
        {"stream a\x01\n", "plain characters"},
        {"engines many\n", "unlimited, limited or one"},
        {"expect fun>=3\n", "expect makespan"},
    };
    char message[200];

    (void)state;
    for (size_t i = 0; i < WEIR_ARRAY_SIZE(bad); i++) {
        struct weir_plan_text t;

        assert_false(weir_plan_text_parse(bad[i].text, strlen(bad[i].text), &t, message));
        if (!strstr(message, bad[i].message))
            fail_msg("\"%s\" gives \"%s\"", bad[i].text, message);
        weir_plan_text_finish(&t);
    }
    /* A size alone needs a device. */
    assert_true(weir_plan_text_parse("stream a\nh2d a 6MiB\n", 20, &text, message));
    assert_false(weir_plan_design_run(&text, NULL, 0, &design, message));
    assert_non_null(strstr(message, "which device"));
    finish();
}

static void test_units(void **state)
{
    uint32_t from, to;
    double v = 7;

    (void)state;
    assert_true(weir_plan_read_time("4.87ms", 6, &v) && v == 4.87 * 1e6);
    assert_true(weir_plan_read_time("290us", 5, &v) && v == 290e3);
    assert_true(weir_plan_read_time("2", 1, &v) && v == 2e6);
    assert_false(weir_plan_read_time("6MiB", 4, &v) || weir_plan_read_time("", 0, &v) ||
                 weir_plan_read_time("-1ms", 4, &v) || weir_plan_read_time("1e3", 3, &v));
    assert_true(v == 2e6); /* unchanged */
    assert_true(weir_plan_read_bytes("2KiB", 4, &v) && v == 2048);
    assert_true(weir_plan_read_bytes("2MB", 3, &v) && v == 2e6);
    assert_false(weir_plan_read_bytes("2", 1, &v));
    assert_true(weir_plan_read_range("1..64", 100, &from, &to) && from == 1 && to == 64);
    assert_true(weir_plan_read_range("8", 100, &from, &to) && from == 8 && to == 8);
    assert_false(weir_plan_read_range("0..3", 100, &from, &to) ||
                 weir_plan_read_range("3..2", 100, &from, &to) ||
                 weir_plan_read_range("1..101", 100, &from, &to) ||
                 weir_plan_read_range("1..", 100, &from, &to) ||
                 weir_plan_read_range("99999999999999999999", 100, &from, &to));
}

/* Stages: their sizes on a machine, and the best of a table. */
static void test_table(void **state)
{
    struct weir_plan_machine m = {.device = {.copy_engines = 2},
                                  .rates = {.h2d = 50, .d2h = 25, .pageable_h2d = 5}};
    struct weir_plan_table t = {
        .chunks_from = 1, .chunks_to = 8, .streams_from = 1, .streams_to = 3};
    char message[200];

    (void)state;
    assert_true(weir_plan_read_stages("h2d=100MB,kernel=1ms@50%,d2h=3ms", &m, &t.shape, message));
    assert_near(t.shape.stages[0].ns, 2 * MS);
    assert_near(t.shape.stages[1].fill, 0.5);
    assert_true(weir_plan_table_compute(&t, &m));
    assert_near(t.serial_ns, 6 * MS);
    assert_near(t.bound_ns, 3 * MS);
    assert_int_equal(t.limit, WEIR_PLAN_LIMIT_D2H);
    assert_int_equal(t.shape.chunks, 8);
    assert_int_equal(t.shape.streams, 2);
    weir_free(t.ns);
    assert_false(weir_plan_read_stages("h2d=1ms,work=2", &m, &t.shape, message));
    assert_false(weir_plan_read_stages("kernel=2MiB", &m, &t.shape, message));
    assert_false(weir_plan_read_stages("", &m, &t.shape, message));
    t.shape.pageable = true;
    assert_true(weir_plan_read_stages("h2d=1ms", &m, &t.shape, message));
    assert_near(t.shape.stages[0].ns, 10 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_streams), cmocka_unit_test(test_events),
        cmocka_unit_test(test_items),       cmocka_unit_test(test_expect),
        cmocka_unit_test(test_refused),     cmocka_unit_test(test_units),
        cmocka_unit_test(test_table)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
