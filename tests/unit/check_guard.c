/* Tests of check/guard: what is closed, against every page asked one by one.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "check/guard.h"
#include "support/random.h"

enum { PAGES = 64, LANES = 4, BASE = 16 };

static struct {
    struct weir_order order;
    struct weir_guard guard;
    enum weir_guard_state state[BASE + PAGES];
    unsigned calls;
    uint64_t rng;
} t;

static uint32_t rnd(uint32_t below)
{
    return random_next(&t.rng) % below;
}

static bool protect(void *ctx, uintptr_t begin, uintptr_t end, enum weir_guard_state state)
{
    assert_ptr_equal(ctx, &t);
    assert_int_equal(begin % WEIR_GUARD_PAGE, 0);
    assert_int_equal(end % WEIR_GUARD_PAGE, 0);
    assert_true(begin < end && end <= (BASE + PAGES) * WEIR_GUARD_PAGE);
    for (uintptr_t p = begin / WEIR_GUARD_PAGE; p < end / WEIR_GUARD_PAGE; p++)
        t.state[p] = state;
    t.calls++;
    return true;
}

static int setup(void **state)
{
    static const struct weir_model_memory heap = {weir_alloc_for, weir_free_for, NULL};

    (void)state;
    memset(&t, 0, sizeof t);
    t.rng = 7;
    weir_order_init(&t.order, &heap);
    for (uint32_t i = 1; i <= LANES; i++)
        weir_order_lane_begin(&t.order, i, 0, WEIR_STREAM_NONBLOCKING);
    weir_guard_init(&t.guard, &t.order, protect, &t);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    weir_guard_finish(&t.guard);
    weir_order_finish(&t.order);
    return 0;
}

static uintptr_t at(unsigned page, unsigned byte)
{
    return (BASE + page) * WEIR_GUARD_PAGE + byte;
}

static weir_seq submit(uint32_t lane)
{
    struct weir_order_stamp s;
    weir_seq seq;

    weir_order_submit(&t.order, lane, &s);
    seq = s.seq;
    weir_order_stamp_drop(&t.order, &s);
    return seq;
}

static void expect(unsigned first, unsigned last, enum weir_guard_state state)
{
    for (unsigned p = first; p <= last; p++) {
        assert_int_equal(t.state[BASE + p], state);
        assert_int_equal(weir_guard_at(&t.guard, at(p, 100)), state);
    }
}

static void test_closed_until_the_host_knows(void **state)
{
    weir_seq read = submit(1), write = submit(2);

    (void)state;
    weir_guard_add(&t.guard, at(1, 4000), at(3, 8), false, 1, read);
    weir_guard_add(&t.guard, at(2, 0), at(5, 0), true, 2, write);
    expect(0, 0, WEIR_GUARD_OPEN);
    expect(1, 1, WEIR_GUARD_READABLE);
    expect(2, 4, WEIR_GUARD_CLOSED);
    expect(5, 5, WEIR_GUARD_OPEN);
    weir_order_host_saw_lane(&t.order, 2);
    weir_guard_settle(&t.guard);
    expect(1, 3, WEIR_GUARD_READABLE);
    expect(4, 5, WEIR_GUARD_OPEN);
    weir_order_host_saw_lane(&t.order, 1);
    weir_guard_settle(&t.guard);
    expect(0, 5, WEIR_GUARD_OPEN);
}

/* The same buffer again and again costs one closing. */
static void test_coalesced(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++)
        weir_guard_add(&t.guard, at(1, 0), at(9, 0), true, 1, submit(1));
    assert_int_equal(t.calls, 1);
    assert_int_equal(t.guard.ranges.count, 1);
    assert_int_equal(t.guard.closings, 1);
    weir_order_host_saw_lane(&t.order, 1);
    weir_guard_settle(&t.guard);
    assert_int_equal(t.calls, 2);
    assert_int_equal(t.guard.closings, 1);
    expect(0, 20, WEIR_GUARD_OPEN);
}

static bool is_one(void *ctx, uintptr_t a, uintptr_t b)
{
    assert_ptr_equal(ctx, &t);
    assert_true(a < b);
    return b < at(30, 0) || a >= at(30, 0);
}

/* Ranges of one allocation are opened at once, but not over what is closed still. */
static void test_opened_at_once(void **state)
{
    (void)state;
    t.guard.is_one = is_one;
    for (unsigned i = 0; i < 10; i++) /* in no order; two allocations */
        weir_guard_add(&t.guard, at(i * 7 % 10 * 6, 0), at(i * 7 % 10 * 6 + 2, 0), true, 1,
                       submit(1));
    weir_guard_add(&t.guard, at(45, 0), at(46, 0), true, 2, submit(2));
    weir_order_host_saw_lane(&t.order, 1);
    t.calls = 0;
    weir_guard_settle(&t.guard);
    assert_int_equal(t.calls, 3);
    expect(0, 44, WEIR_GUARD_OPEN);
    expect(45, 45, WEIR_GUARD_CLOSED);
    expect(46, PAGES - 1, WEIR_GUARD_OPEN);
}

static void test_a_page_that_is_touched_often_is_opened(void **state)
{
    (void)state;
    weir_guard_add(&t.guard, at(1, 0), at(4, 0), true, 1, submit(1));
    for (int i = 1; i < WEIR_GUARD_PAGE_MAX; i++) {
        weir_guard_step(&t.guard, at(2, 50));
        assert_int_equal(t.state[BASE + 2], WEIR_GUARD_OPEN);
        weir_guard_step_end(&t.guard, at(2, 50));
        expect(1, 3, WEIR_GUARD_CLOSED);
    }
    weir_guard_step(&t.guard, at(2, 50));
    weir_guard_step_end(&t.guard, at(2, 50));
    expect(1, 1, WEIR_GUARD_CLOSED);
    expect(2, 2, WEIR_GUARD_OPEN);
    expect(3, 3, WEIR_GUARD_CLOSED);
    assert_int_equal(t.guard.unwatched, 1);
    weir_order_host_saw_lane(&t.order, 1);
    weir_guard_settle(&t.guard);
    weir_guard_add(&t.guard, at(1, 0), at(4, 0), true, 1, submit(1));
    expect(1, 3, WEIR_GUARD_CLOSED); /* begins anew */
}

static void test_opened_around(void **state)
{
    (void)state;
    weir_guard_add(&t.guard, at(1, 0), at(4, 0), true, 1, submit(1));
    weir_guard_add(&t.guard, at(6, 0), at(8, 0), true, 1, submit(1));
    weir_guard_open_around(&t.guard, at(3, 0));
    expect(1, 3, WEIR_GUARD_OPEN);
    expect(6, 7, WEIR_GUARD_CLOSED);
    assert_true(weir_guard_meets(&t.guard, at(7, 0), at(20, 0)));
    assert_false(weir_guard_meets(&t.guard, at(8, 0), at(20, 0)));
    weir_guard_forget(&t.guard, at(0, 0), at(PAGES, 0));
    expect(0, PAGES - 1, WEIR_GUARD_OPEN);
    assert_int_equal(t.guard.opened.count, 0);
}

/* Held pages are open whatever comes, then as they should be. */
static void test_held(void **state)
{
    (void)state;
    assert_true(weir_guard_hold(&t.guard, at(2, 5), at(3, 7)));
    weir_guard_add(&t.guard, at(1, 0), at(6, 0), true, 1, submit(1));
    expect(1, 1, WEIR_GUARD_CLOSED);
    expect(2, 3, WEIR_GUARD_OPEN);
    expect(4, 5, WEIR_GUARD_CLOSED);
    assert_true(weir_guard_hold(&t.guard, at(3, 0), at(4, 9)));
    expect(2, 4, WEIR_GUARD_OPEN);
    weir_guard_release(&t.guard, at(2, 5), at(3, 7));
    expect(2, 2, WEIR_GUARD_CLOSED);
    expect(3, 4, WEIR_GUARD_OPEN);
    weir_order_host_saw_lane(&t.order, 1);
    weir_guard_settle(&t.guard);
    expect(1, 6, WEIR_GUARD_OPEN);
    weir_guard_add(&t.guard, at(1, 0), at(6, 0), true, 1, submit(1));
    expect(3, 4, WEIR_GUARD_OPEN);
    weir_guard_release(&t.guard, at(3, 0), at(4, 9));
    expect(1, 5, WEIR_GUARD_CLOSED);
}

/* Random operations and waits; every page is as the operations that the host does not know say. */
static void test_random(void **state)
{
    struct {
        unsigned first, last;
        bool writes;
        struct weir_order_stamp stamp;
    } op[400];

    (void)state;
    t.guard.is_one = is_one;
    for (unsigned n = 0; n < 400; n++) {
        uint32_t lane = 1 + rnd(LANES);

        op[n].first = rnd(PAGES);
        op[n].last = op[n].first + rnd(PAGES - op[n].first);
        op[n].writes = rnd(2);
        op[n].stamp = (struct weir_order_stamp){.lane = lane, .seq = submit(lane)};
        weir_guard_add(&t.guard, at(op[n].first, rnd(2048)), at(op[n].last, 2049) + rnd(2048),
                       op[n].writes, lane, op[n].stamp.seq);
        if (rnd(8) == 0)
            weir_order_host_saw_lane(&t.order, 1 + rnd(LANES));
        weir_guard_settle(&t.guard);
        for (unsigned p = 0; p < PAGES; p++) {
            enum weir_guard_state want = WEIR_GUARD_OPEN;

            for (unsigned k = 0; k <= n; k++) {
                enum weir_guard_state is = op[k].writes ? WEIR_GUARD_CLOSED : WEIR_GUARD_READABLE;

                if (p >= op[k].first && p <= op[k].last && is > want &&
                    !weir_order_host_knows(&t.order, &op[k].stamp))
                    want = is;
            }
            assert_int_equal(t.state[BASE + p], want);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_closed_until_the_host_knows, setup, teardown),
        cmocka_unit_test_setup_teardown(test_coalesced, setup, teardown),
        cmocka_unit_test_setup_teardown(test_opened_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_page_that_is_touched_often_is_opened, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_opened_around, setup, teardown),
        cmocka_unit_test_setup_teardown(test_held, setup, teardown),
        cmocka_unit_test_setup_teardown(test_random, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
