/* Operations: edges that are left out, memory, order of waiters, refused allocations.
 * SPDX-License-Identifier: Apache-2.0 */
#include "unit/model_fix.h"

static void fix_busy(struct fix *f, struct weir_model_op *ops)
{
    for (int i = 0; i < FIX_BUSY; i++) {
        weir_model_stream_init(&f->m, &f->busy[i], 0, WEIR_STREAM_BLOCKING, 0);
        fix_submit(&f->busy[i], &ops[i]);
    }
}

static void
edges_that_hold_or_are_implied_are_left_out(void **state) /* ORD-003, ORD-004, ORD-024 */
{
    struct fix f;
    struct weir_model_op a = {0}, b = {0}, l = {0}, l2 = {0}, op = {0}, op2 = {0};
    struct weir_model_dep deps[5];
    struct weir_model_out out;

    (void)state;
    fix_init(&f);
    fix_submit(&f.n, &a);
    fix_complete(&a);
    fix_submit(&f.b, &b);
    fix_submit(&f.legacy, &l);
    fix_submit(&f.legacy, &l2);
    assert_int_equal(l.dep_count, 1);
    assert_int_equal(l2.dep_count, 0); /* l is before it, and b before l */
    deps[0] =
        (struct weir_model_dep){{&f.n, 1}, WEIR_GUARANTEED, WEIR_RULE_WAIT_SNAPSHOT}; /* holds */
    deps[1] =
        (struct weir_model_dep){{&f.b2, 0}, WEIR_GUARANTEED, WEIR_RULE_WAIT_SNAPSHOT}; /* holds */
    deps[2] =
        (struct weir_model_dep){{NULL, 0}, WEIR_GUARANTEED, WEIR_RULE_WAIT_SNAPSHOT}; /* nothing */
    deps[3] = (struct weir_model_dep){
        {&f.legacy, 1}, WEIR_GUARANTEED, WEIR_RULE_WAIT_SNAPSHOT}; /* implied */
    deps[4] =
        (struct weir_model_dep){{&f.b, 1}, WEIR_GUARANTEED, WEIR_RULE_WAIT_SNAPSHOT}; /* the one */
    weir_model_out_init(&out);
    op.kind = WEIR_OP_GRAPH;
    assert_int_equal(weir_model_submit_after(&f.b2, &op, deps, 5, &out), WEIR_MODEL_OK);
    assert_int_equal(op.dep_count, 2); /* legacy, b */
    assert_int_equal(f.allocations, 0);
    fix_deliver(&out);
    weir_model_out_init(&out);
    op2.kind = WEIR_OP_GRAPH;
    assert_int_equal(weir_model_submit_after(&f.legacy, &op2, &deps[4], 1, &out), WEIR_MODEL_OK);
    assert_int_equal(op2.dep_count, 1); /* b2 alone; b is behind l */
    assert_ptr_equal(op2.deps[0].point.stream, &f.b2);
}

static void memory_is_used_for_many_edges_only_and_given_back(void **state) /* ORD-003 */
{
    struct fix f;
    struct weir_model_op held[FIX_BUSY] = {0}, l = {0};

    (void)state;
    fix_init(&f);
    fix_busy(&f, held);
    fix_submit(&f.legacy, &l);
    assert_int_equal(l.dep_count, FIX_BUSY);
    assert_int_equal(f.live, 1);
    for (int i = FIX_BUSY; i-- > 0;) {
        assert_false(fix_ready(&l));
        fix_complete(&held[i]);
    }
    fix_complete(&l);
    assert_int_equal(f.live, 0);
}

/* A refused allocation leaves every byte of the world as it was. */
static void
refused_allocation_changes_nothing(void **state) /* ORD-003, ORD-007, ORD-012, ORD-020 */
{
    static struct fix f, before;
    struct weir_model_op held[FIX_BUSY] = {0}, done = {0}, op = {0}, marker[2] = {0};
    struct weir_model_out out;

    (void)state;
    fix_init(&f);
    fix_submit(&f.n, &done);
    fix_complete(&done);
    fix_record(&f.e, &f.n, NULL);
    fix_busy(&f, held);
    f.refuse = true;
    memcpy(&before, &f, sizeof f);
    weir_model_out_init(&out);
    assert_int_equal(weir_model_submit(&f.legacy, &op, &out), WEIR_MODEL_NO_MEMORY);
    assert_int_equal(weir_model_record(&f.e, &f.legacy, &op, &out), WEIR_MODEL_NO_MEMORY);
    assert_int_equal(
        weir_model_submit_peer(&f.legacy, &op, &f.legacy1, &marker[0], &marker[1], &out),
        WEIR_MODEL_NO_MEMORY);
    assert_int_equal(
        weir_model_submit_peer(&f.legacy1, &op, &f.legacy, &marker[0], &marker[1], &out),
        WEIR_MODEL_NO_MEMORY);
    assert_null(out.ready);
    assert_null(out.blocked);
    assert_memory_equal(&f, &before, sizeof f);
    f.refuse = false;
    fix_submit(&f.legacy, &op); /* and it works afterwards, with every edge */
    assert_int_equal(op.dep_count, FIX_BUSY);
    for (int i = 0; i < FIX_BUSY; i++)
        fix_complete(&held[i]);
    fix_complete(&op);
    assert_int_equal(f.live, 0);
}

/* Waiters come back when their own point is reached, whatever order they came in. */
static void waiters_are_told_at_their_point(void **state) /* ORD-021 */
{
    static const int orders[][5] = {
        {0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {2, 0, 4, 1, 3}, {3, 4, 0, 2, 1}};

    (void)state;
    for (size_t o = 0; o < sizeof orders / sizeof orders[0]; o++) {
        struct fix f;
        struct weir_model_stream waiting[5] = {0};
        struct weir_model_op a[5] = {0}, w[5] = {0};
        struct weir_model_event e[5] = {0};

        fix_init(&f);
        for (int i = 0; i < 5; i++) {
            weir_model_stream_init(&f.m, &waiting[i], 0, WEIR_STREAM_NONBLOCKING, 0);
            fix_submit(&f.n, &a[i]);
            fix_record(&e[i], &f.n, NULL);
        }
        for (int i = 0; i < 5; i++)
            assert_true(fix_wait(&waiting[i], &e[orders[o][i]], &w[orders[o][i]]));
        for (int i = 0; i < 5; i++) {
            fix_complete(&a[i]);
            for (int k = 0; k < 5; k++)
                assert_int_equal(fix_ready(&w[k]), k <= i);
        }
        assert_null(f.n.waiters);
        assert_null(f.n.waiters_last);
    }
}

/* The point is reached between the message `blocked` and the subscription: subscribe says so. */
static void late_subscription_is_told(void **state) /* ORD-021 */
{
    struct fix f;
    struct weir_model_op a = {0}, w = {0};
    struct weir_model_dep dep;
    struct weir_model_out out;

    (void)state;
    fix_init(&f);
    fix_submit(&f.n, &a);
    fix_record(&f.e, &f.n, NULL);
    assert_true(weir_model_event_wait_dep(&f.e, &f.b, &dep));
    weir_model_out_init(&out);
    w.kind = WEIR_OP_WAIT;
    assert_int_equal(weir_model_submit_after(&f.b, &w, &dep, 1, &out), WEIR_MODEL_OK);
    assert_ptr_equal(out.blocked, &w);
    fix_complete(&a);
    assert_false(weir_model_subscribe(&w));
    weir_model_out_init(&out);
    weir_model_resume(&w, &out);
    assert_ptr_equal(out.ready, &w);
    assert_null(out.blocked);
}

/* Operations that one thread runs behind each other: points hold as they are passed, and the thread
 * hears of everybody who is to be told. */
static void passed_operations_complete_together(void **state) /* ORD-001, ORD-021 */
{
    struct fix f;
    struct weir_model_op a[4] = {0}, w = {0};
    struct weir_model_point second, third;
    struct weir_model_dep dep;
    struct weir_model_out out;

    (void)state;
    fix_init(&f);
    for (int i = 0; i < 4; i++)
        fix_submit(&f.n, &a[i]);
    second = (struct weir_model_point){&f.n, a[1].seq};
    third = (struct weir_model_point){&f.n, a[2].seq};
    assert_true(weir_model_may_pass(&a[1]));
    assert_true(weir_model_pass(&a[0]));
    assert_false(weir_model_point_holds(&second));
    assert_true(weir_model_watch(&third)); /* a host thread goes to sleep */
    assert_true(weir_model_pass(&a[1]));
    assert_true(weir_model_point_holds(&second));
    assert_false(weir_model_watch(&second));
    assert_false(weir_model_pass(&a[2])); /* it is to be woken */
    weir_model_out_init(&out);
    weir_model_complete(&a[2], &out);
    assert_ptr_equal(f.n.head, &a[3]);
    assert_ptr_equal(out.ready, &a[3]);

    fix_record(&f.e, &f.n, NULL); /* behind a[3] */
    fix_submit(&f.n, &a[0]);
    assert_true(weir_model_event_wait_dep(&f.e, &f.b, &dep));
    weir_model_out_init(&out);
    w.kind = WEIR_OP_WAIT;
    assert_int_equal(weir_model_submit_after(&f.b, &w, &dep, 1, &out), WEIR_MODEL_OK);
    assert_false(weir_model_may_pass(&w));
    assert_true(weir_model_subscribe(&w));
    assert_false(weir_model_pass(&a[3])); /* w is to be told */
    weir_model_out_init(&out);
    weir_model_complete(&a[3], &out);
    assert_ptr_equal(out.notified, &w);
    fix_submit(&f.n, &a[1]);
    assert_true(weir_model_pass(&a[0])); /* nobody is any more */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edges_that_hold_or_are_implied_are_left_out),
        cmocka_unit_test(memory_is_used_for_many_edges_only_and_given_back),
        cmocka_unit_test(refused_allocation_changes_nothing),
        cmocka_unit_test(waiters_are_told_at_their_point),
        cmocka_unit_test(late_subscription_is_told),
        cmocka_unit_test(passed_operations_complete_together),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
