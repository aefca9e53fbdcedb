/* Events: records, waits, re-records. One test a rule.
 * SPDX-License-Identifier: Apache-2.0 */
#include "unit/model_fix.h"

static void record_stands_for_what_was_there(void **state) /* ORD-020, ORD-044 */
{
    for (int with_op = 0; with_op < 2; with_op++) {
        struct fix f;
        struct weir_model_op a = {0}, r = {0}, later = {0};

        fix_init(&f);
        fix_submit(&f.n, &a);
        fix_record(&f.e, &f.n, with_op ? &r : NULL);
        fix_submit(&f.n, &later);
        assert_false(weir_model_event_is_complete(&f.e));
        fix_complete(&a);
        if (with_op) {
            assert_false(weir_model_event_is_complete(&f.e));
            assert_int_equal(r.kind, WEIR_OP_RECORD);
            fix_complete(&r);
        }
        assert_true(weir_model_event_is_complete(&f.e)); /* though `later` is pending */
    }
    (void)state;
}

static void wait_orders_later_work(void **state) /* ORD-021, ORD-028 */
{
    struct fix f;
    struct weir_model_op a = {0}, w = {0}, b = {0}, w2 = {0}, c = {0};

    (void)state;
    fix_init(&f);
    fix_submit(&f.n, &a);
    fix_record(&f.e, &f.n, NULL);
    assert_true(fix_wait(&f.n2, &f.e, &w));
    fix_submit(&f.n2, &b);
    fix_record(&f.e2, &f.n2, NULL);
    assert_true(fix_wait(&f.b, &f.e2, &w2)); /* and so behind `a`, through n2 */
    fix_submit(&f.b, &c);
    assert_int_equal(w.deps[0].rule, WEIR_RULE_WAIT_SNAPSHOT);
    assert_int_equal(w.deps[0].strength, WEIR_GUARANTEED);
    fix_complete(&a);
    fix_complete(&w);
    assert_false(fix_ready(&w2));
    fix_complete(&b);
    fix_complete(&w2);
    assert_true(fix_ready(&c));
}

static void wait_keeps_the_record_it_saw(void **state) /* ORD-022 */
{
    struct fix f;
    struct weir_model_op first = {0}, second = {0}, w = {0}, w2 = {0};

    (void)state;
    fix_init(&f);
    fix_submit(&f.n, &first);
    fix_record(&f.e, &f.n, NULL);
    assert_true(fix_wait(&f.b, &f.e, &w));
    fix_submit(&f.n2, &second);
    fix_record(&f.e, &f.n2, NULL);
    assert_true(fix_wait(&f.b2, &f.e, &w2));
    fix_complete(&first);
    assert_true(fix_ready(&w));
    assert_false(fix_ready(&w2));
    assert_false(weir_model_event_is_complete(&f.e)); /* the query follows the later record */
    fix_complete(&second);
    assert_true(fix_ready(&w2));
}

/* Recorded in a held stream, then in an idle one: complete at once, and a wait is nothing. */
static void rerecord_in_idle_stream_completes(void **state) /* ORD-022 */
{
    struct fix f;
    struct weir_model_op a = {0}, w = {0};

    (void)state;
    fix_init(&f);
    fix_submit(&f.n, &a);
    fix_record(&f.e, &f.n, NULL);
    fix_record(&f.e, &f.n2, NULL);
    assert_true(weir_model_event_is_complete(&f.e));
    assert_false(fix_wait(&f.b, &f.e, &w));
}

static void never_recorded_is_complete(void **state) /* ORD-023 */
{
    struct fix f;
    struct weir_model_op w = {0}, a = {0};

    (void)state;
    fix_init(&f);
    assert_true(weir_model_event_is_complete(&f.e));
    assert_false(fix_wait(&f.b, &f.e, &w));
    fix_submit(&f.n, &a);
    fix_record(&f.e, &f.n, NULL); /* too late for the wait above */
    assert_true(weir_model_stream_is_idle(&f.b));
}

static void wait_in_the_same_stream_is_nothing(void **state) /* ORD-024 */
{
    struct fix f;
    struct weir_model_op a = {0}, w = {0}, l = {0}, lw = {0}, r = {0};

    (void)state;
    fix_init(&f);
    fix_submit(&f.b, &a);
    fix_record(&f.e, &f.b, NULL);
    assert_false(fix_wait(&f.b, &f.e, &w));
    fix_submit(&f.legacy, &l);
    fix_record(&f.e2, &f.legacy, &r);
    assert_true(fix_wait(&f.legacy, &f.e2,
                         &lw)); /* an operation (ORD-007), with no edge to its own stream */
    assert_int_equal(lw.dep_count, 0);
}

static void wait_outlives_the_event(void **state) /* ORD-025 */
{
    struct fix f;
    struct weir_model_event *e = calloc(1, sizeof *e);
    struct weir_model_op a = {0}, w = {0};

    (void)state;
    fix_init(&f);
    fix_submit(&f.n, &a);
    fix_record(e, &f.n, NULL);
    assert_true(fix_wait(&f.b, e, &w));
    free(e);
    assert_false(fix_ready(&w));
    fix_complete(&a);
    assert_true(fix_ready(&w));
}

static void record_behind_legacy_is_pending(void **state) /* ORD-026 */
{
    struct fix f;
    struct weir_model_op hold = {0}, l = {0}, r = {0}, b = {0};

    (void)state;
    fix_init(&f);
    assert_false(weir_model_record_needs_op(&f.b));
    fix_submit(&f.b2, &hold);
    fix_submit(&f.legacy, &l);
    assert_true(weir_model_record_needs_op(&f.b));
    assert_true(weir_model_record_needs_op(&f.p));
    assert_false(weir_model_record_needs_op(&f.n));
    fix_record(&f.e, &f.b, &r);
    assert_false(weir_model_event_is_complete(&f.e));
    assert_false(weir_model_record_needs_op(&f.b)); /* behind it now */
    fix_submit(&f.b, &b);
    fix_complete(&hold);
    assert_false(weir_model_event_is_complete(&f.e));
    fix_complete(&l);
    fix_complete(&r);
    assert_true(weir_model_event_is_complete(&f.e));
}

static void wait_across_devices(void **state) /* ORD-027, ORD-007, ORD-011 */
{
    struct fix f;
    struct weir_model_op a = {0}, w = {0}, b1 = {0}, n1 = {0}, b = {0};

    (void)state;
    fix_init(&f);
    fix_submit(&f.n, &a);
    fix_record(&f.e, &f.n, NULL);
    assert_true(fix_wait(&f.legacy1, &f.e, &w));
    assert_int_equal(w.deps[0].rule, WEIR_RULE_WAIT_ACROSS_DEVICES);
    fix_submit(&f.b1, &b1);
    fix_submit(&f.n1, &n1);
    fix_submit(&f.b, &b);
    assert_false(fix_ready(&w) || fix_ready(&b1));
    assert_true(fix_ready(&n1) && fix_ready(&b));
    fix_complete(&a);
    fix_complete(&w);
    assert_true(fix_ready(&b1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(record_stands_for_what_was_there),
        cmocka_unit_test(wait_orders_later_work),
        cmocka_unit_test(wait_keeps_the_record_it_saw),
        cmocka_unit_test(rerecord_in_idle_stream_completes),
        cmocka_unit_test(never_recorded_is_complete),
        cmocka_unit_test(wait_in_the_same_stream_is_nothing),
        cmocka_unit_test(wait_outlives_the_event),
        cmocka_unit_test(record_behind_legacy_is_pending),
        cmocka_unit_test(wait_across_devices),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
