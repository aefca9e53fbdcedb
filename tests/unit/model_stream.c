/* Streams: default-stream rules, destroy, devices, host waits. One test a rule; the names of the
 * measured cases that each repeats are in docs/rules/ORD.md.
 * SPDX-License-Identifier: Apache-2.0 */
#include "unit/model_fix.h"

static void stream_runs_in_order(void **state) /* ORD-001 */
{
    struct fix f;
    struct weir_model_op a = {0}, b = {0};

    (void)state;
    fix_init(&f);
    fix_submit(&f.n, &a);
    fix_submit(&f.n, &b);
    assert_true(fix_ready(&a));
    assert_int_equal(b.state, WEIR_OP_QUEUED);
    fix_complete(&a);
    assert_true(fix_ready(&b));
    fix_complete(&b);
    assert_true(weir_model_stream_is_idle(&f.n));
}

static void streams_are_independent(void **state) /* ORD-002, ORD-006 */
{
    struct fix f;
    struct weir_model_op op[6] = {0};

    (void)state;
    fix_init(&f);
    fix_submit(&f.b, &op[0]);
    fix_submit(&f.b2, &op[1]);
    fix_submit(&f.p, &op[2]);
    fix_submit(&f.p2, &op[3]);
    fix_submit(&f.n, &op[4]);
    fix_submit(&f.n2, &op[5]);
    for (int i = 0; i < 6; i++)
        assert_true(fix_ready(&op[i]));
}

static void legacy_follows_blocking_and_per_thread(void **state) /* ORD-003, ORD-006 */
{
    struct fix f;
    struct weir_model_op b = {0}, p = {0}, l = {0};

    (void)state;
    fix_init(&f);
    fix_submit(&f.b, &b);
    fix_submit(&f.p, &p);
    fix_submit(&f.legacy, &l);
    assert_int_equal(l.state, WEIR_OP_BLOCKED);
    assert_int_equal(l.dep_count, 2);
    assert_int_equal(l.deps[0].rule, WEIR_RULE_LEGACY_FOLLOWS);
    assert_int_equal(l.deps[0].strength, WEIR_GUARANTEED);
    fix_complete(&b);
    assert_int_equal(l.state, WEIR_OP_BLOCKED);
    fix_complete(&p);
    assert_true(fix_ready(&l));
}

static void later_work_follows_legacy(void **state) /* ORD-004, ORD-006 */
{
    struct fix f;
    struct weir_model_stream created = {0};
    struct weir_model_op hold = {0}, l = {0}, b = {0}, p = {0}, c = {0}, again = {0};

    (void)state;
    fix_init(&f);
    fix_submit(&f.b, &hold);
    fix_submit(&f.legacy, &l);
    fix_submit(&f.b2, &b);
    fix_submit(&f.b2, &again);
    fix_submit(&f.p, &p);
    weir_model_stream_init(&f.m, &created, 0, WEIR_STREAM_BLOCKING, 0);
    fix_submit(&created, &c);
    assert_int_equal(b.dep_count, 1);
    assert_int_equal(b.deps[0].rule, WEIR_RULE_FOLLOWS_LEGACY);
    assert_int_equal(again.dep_count, 0); /* the stream is behind that operation already */
    fix_complete(&hold);
    assert_false(fix_ready(&b) || fix_ready(&p) || fix_ready(&c));
    fix_complete(&l);
    assert_true(fix_ready(&b) && fix_ready(&p) && fix_ready(&c));
}

static void finished_legacy_couples_nothing(void **state) /* ORD-002, ORD-004 */
{
    struct fix f;
    struct weir_model_op l = {0}, b = {0}, b2 = {0};

    (void)state;
    fix_init(&f);
    fix_submit(&f.legacy, &l);
    fix_complete(&l);
    fix_submit(&f.b, &b);
    fix_submit(&f.b2, &b2);
    assert_true(fix_ready(&b) && fix_ready(&b2));
    assert_int_equal(b2.dep_count, 0);
}

static void nonblocking_is_apart(void **state) /* ORD-005 */
{
    struct fix f;
    struct weir_model_op n = {0}, l = {0}, n2 = {0};

    (void)state;
    fix_init(&f);
    fix_submit(&f.n, &n);
    fix_submit(&f.legacy, &l);
    fix_submit(&f.n2, &n2);
    assert_true(fix_ready(&n) && fix_ready(&l) && fix_ready(&n2));
    assert_false(fix_sync_waits(&f.legacy, &f.n));
}

static void legacy_record_and_wait_couple(void **state) /* ORD-007 */
{
    for (int with_wait = 0; with_wait < 2; with_wait++) {
        struct fix f;
        struct weir_model_op b = {0}, l = {0}, b2 = {0};

        fix_init(&f);
        fix_submit(&f.b, &b);
        if (with_wait) {
            assert_true(fix_wait(&f.legacy, &f.e, &l)); /* never recorded, and yet */
        } else {
            assert_true(weir_model_record_needs_op(&f.legacy));
            fix_record(&f.e, &f.legacy, &l);
        }
        assert_int_equal(l.deps[0].rule, WEIR_RULE_LEGACY_RECORD_WAIT);
        fix_submit(&f.b2, &b2);
        assert_false(fix_ready(&b2));
        fix_complete(&b);
        fix_complete(&l);
        assert_true(fix_ready(&b2));
    }
    (void)state;
}

static void query_of_legacy_couples_nothing(void **state) /* ORD-008 */
{
    struct fix f;
    struct weir_model_op b = {0}, b2 = {0};

    (void)state;
    fix_init(&f);
    fix_submit(&f.b, &b);
    assert_true(fix_sync_waits(&f.legacy, &f.b));
    fix_submit(&f.b2, &b2);
    assert_true(fix_ready(&b2));
}

static void destroyed_stream_runs_on(void **state) /* ORD-009, ORD-043 */
{
    struct fix f;
    struct weir_model_op a = {0}, b = {0}, c = {0};
    struct weir_model_point points[4];

    (void)state;
    fix_init(&f);
    fix_submit(&f.n, &a);
    fix_submit(&f.n, &b);
    weir_model_stream_finish(&f.n);
    assert_int_equal(weir_model_device_targets(&f.m, 0, points, 4), 1);
    assert_ptr_equal(points[0].stream, &f.n);
    assert_int_equal(points[0].seq, 2);
    fix_complete(&a);
    assert_true(fix_ready(&b));
    assert_false(weir_model_stream_is_idle(&f.n));
    fix_complete(&b);
    assert_int_equal(weir_model_device_targets(&f.m, 0, points, 4), 0);
    /* Reused, it counts on: the old points stay true. */
    weir_model_stream_init(&f.m, &f.n, 0, WEIR_STREAM_BLOCKING, 0);
    fix_submit(&f.n, &c);
    assert_int_equal(c.seq, 3);
    assert_null(f.m.devices[0].leaving);
}

static void destroyed_stream_orders_legacy(void **state) /* ORD-010, ORD-041 */
{
    struct fix f;
    struct weir_model_op p = {0}, l = {0}, l2 = {0};

    (void)state;
    fix_init(&f);
    fix_submit(&f.p, &p);
    weir_model_stream_finish(&f.p);
    assert_true(fix_sync_waits(&f.legacy, &f.p));
    fix_submit(&f.legacy, &l);
    fix_submit(&f.legacy, &l2);
    assert_int_equal(l.state, WEIR_OP_BLOCKED);
    assert_int_equal(l.deps[0].rule, WEIR_RULE_DESTROYED_IN_LEGACY);
    assert_int_equal(l.deps[0].strength, WEIR_OBSERVED);
    assert_int_equal(l2.dep_count, 0);
    fix_complete(&p);
    assert_true(fix_ready(&l));
}

/* Without the edges that are only observed (--late-dma) all others stand. */
static void guaranteed_edges_alone(void **state) /* ORD-003, ORD-010 */
{
    struct fix f;
    struct weir_model_op p = {0}, b = {0}, l = {0};

    (void)state;
    fix_init(&f);
    f.m.guaranteed_only = true;
    fix_submit(&f.p, &p);
    fix_submit(&f.b, &b);
    weir_model_stream_finish(&f.p);
    fix_submit(&f.legacy, &l);
    assert_int_equal(l.dep_count, 1);
    assert_ptr_equal(l.deps[0].point.stream, &f.b);
    assert_int_equal(l.deps[0].strength, WEIR_GUARANTEED);
    fix_complete(&b);
    assert_true(fix_ready(&l));
    fix_complete(&l);
    assert_true(fix_sync_waits(&f.legacy, &f.p)); /* host waits stay as they are */
    fix_complete(&p);
}

/* A wait on an event of a stream that is gone promises more than ORD-010 does: the stronger edge
 * must stay. */
static void explicit_edge_to_destroyed_stream_is_guaranteed(void **state) /* ORD-010, ORD-021 */
{
    struct fix f;
    struct weir_model_op b = {0}, w = {0};
    bool guaranteed = false;

    (void)state;
    fix_init(&f);
    fix_submit(&f.b, &b);
    fix_record(&f.e, &f.b, NULL);
    weir_model_stream_finish(&f.b);
    assert_true(fix_wait(&f.legacy, &f.e, &w));
    for (int i = 0; i < w.dep_count; i++)
        guaranteed |= w.deps[i].strength == WEIR_GUARANTEED && w.deps[i].point.stream == &f.b;
    assert_true(guaranteed);
    fix_complete(&b);
}

static void devices_have_their_own_legacy(void **state) /* ORD-011 */
{
    struct fix f;
    struct weir_model_op l = {0}, b1 = {0}, l1 = {0}, b = {0};

    (void)state;
    fix_init(&f);
    fix_submit(&f.b, &b);
    fix_submit(&f.legacy, &l);
    fix_submit(&f.b1, &b1);
    fix_submit(&f.legacy1, &l1);
    assert_false(fix_ready(&l));
    assert_true(fix_ready(&b1));
    assert_false(fix_ready(&l1));
    assert_false(fix_sync_waits(&f.legacy, &f.b1));
    fix_complete(&b1);
    assert_true(fix_ready(&l1));
}

static void peer_copy_joins_both_devices(void **state) /* ORD-012 */
{
    struct fix f;
    struct weir_model_op b = {0}, b1 = {0}, n1 = {0}, copy = {0}, before = {0}, after = {0},
                         later[4] = {0};
    struct weir_model_out out;

    (void)state;
    fix_init(&f);
    fix_submit(&f.b, &b);
    fix_submit(&f.b1, &b1);
    weir_model_out_init(&out);
    assert_int_equal(weir_model_submit_peer(&f.legacy, &copy, &f.legacy1, &before, &after, &out),
                     WEIR_MODEL_OK);
    fix_deliver(&out);
    fix_submit(&f.n1, &n1);
    fix_submit(&f.b2, &later[0]);
    fix_submit(&f.legacy, &later[1]);
    fix_submit(&f.b1, &later[2]);
    fix_submit(&f.legacy1, &later[3]);
    assert_true(fix_ready(&n1));
    fix_complete(&b);
    assert_false(fix_ready(&copy));
    fix_complete(&b1);
    fix_complete(&before);
    assert_true(fix_ready(&copy));
    for (int i = 0; i < 4; i++)
        assert_false(fix_ready(&later[i]));
    fix_complete(&copy);
    assert_true(fix_ready(&later[0]));
    fix_complete(&later[0]);
    assert_true(fix_ready(&later[1]));
    fix_complete(&after);
    assert_true(fix_ready(&later[2]));
    fix_complete(&later[2]);
    assert_true(fix_ready(&later[3]));
}

static void stream_sync_waits_for_the_stream(void **state) /* ORD-040, ORD-041, ORD-042 */
{
    struct fix f;
    struct weir_model_op b = {0}, l = {0};

    (void)state;
    fix_init(&f);
    fix_submit(&f.b, &b);
    assert_true(fix_sync_waits(&f.b, &f.b));
    assert_false(fix_sync_waits(&f.b2, &f.b));
    assert_true(fix_sync_waits(&f.legacy, &f.b));
    fix_complete(&b);
    fix_submit(&f.legacy, &l);
    assert_true(fix_sync_waits(&f.legacy, &f.legacy));
    assert_false(fix_sync_waits(&f.b, &f.legacy)); /* ORD-042 */
    assert_false(fix_sync_waits(&f.p, &f.legacy));
}

static void device_sync_waits_for_all(void **state) /* ORD-043 */
{
    struct fix f;
    struct weir_model_op op[5] = {0};
    struct weir_model_point points[8];

    (void)state;
    fix_init(&f);
    fix_submit(&f.b, &op[0]);
    fix_submit(&f.n, &op[1]);
    fix_submit(&f.p, &op[2]);
    fix_submit(&f.legacy, &op[3]);
    fix_submit(&f.n1, &op[4]);
    assert_int_equal(weir_model_device_targets(&f.m, 0, points, 8), 4);
    assert_int_equal(weir_model_device_targets(&f.m, 0, points, 1),
                     4); /* says how many there are */
    assert_int_equal(weir_model_device_targets(&f.m, 1, points, 8), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stream_runs_in_order),
        cmocka_unit_test(streams_are_independent),
        cmocka_unit_test(legacy_follows_blocking_and_per_thread),
        cmocka_unit_test(later_work_follows_legacy),
        cmocka_unit_test(finished_legacy_couples_nothing),
        cmocka_unit_test(nonblocking_is_apart),
        cmocka_unit_test(legacy_record_and_wait_couple),
        cmocka_unit_test(query_of_legacy_couples_nothing),
        cmocka_unit_test(destroyed_stream_runs_on),
        cmocka_unit_test(destroyed_stream_orders_legacy),
        cmocka_unit_test(guaranteed_edges_alone),
        cmocka_unit_test(explicit_edge_to_destroyed_stream_is_guaranteed),
        cmocka_unit_test(devices_have_their_own_legacy),
        cmocka_unit_test(peer_copy_joins_both_devices),
        cmocka_unit_test(stream_sync_waits_for_the_stream),
        cmocka_unit_test(device_sync_waits_for_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
