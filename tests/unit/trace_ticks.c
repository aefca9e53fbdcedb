/* The clock of calls keeps to CLOCK_MONOTONIC and never goes back.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "trace/ticks.h"

#define FOR_NS  100000000u /* longer than it goes on by one look at the system's clock */
#define OFF_NS  10000u
#define THREADS 3
#define SOON_NS 1500000u /* a pace for all threads takes longer */
#define LOOKS   10

/* How often it was wrong. Each time lies between two of the system's, however long these are apart.
 */
static uintptr_t follow(void)
{
    struct weir_trace_clock c = {0};
    uint64_t end = weir_clock_ns() + FOR_NS, last = 0, before;
    uintptr_t wrong = 0;

    while ((before = weir_clock_ns()) < end) {
        uint64_t told = weir_trace_clock_ns(&c), after = weir_clock_ns();

        wrong += told < last || told + OFF_NS < before || told > after + OFF_NS;
        last = told;
    }
    return wrong;
}

static void *follower(void *arg)
{
    (void)arg;
    return (void *)follow();
}

/* Where ticks are used at all, a thread's first look knows the pace from when recording began, soon
 * behind that, and keeps to the clock with it. (A look may be in vain, but not each.) */
static void test_begins(void **state)
{
    struct weir_trace_clock c;
    bool early = false;
    uint64_t end;

    (void)state;
    weir_trace_clock_begin();
    end = weir_clock_ns() + SOON_NS;
    while (weir_clock_ns() < end) {
    }
    for (int i = 0; i < LOOKS && !early; i++) {
        c = (struct weir_trace_clock){0};
        (void)weir_trace_clock_ns(&c);
        early = c.pace != 0;
    }
    assert_int_equal(follow(), 0);
    c = (struct weir_trace_clock){0};
    (void)weir_trace_clock_ns(&c);
    assert_true(early || !c.pace);
}

static void test_follows(void **state)
{
    (void)state;
    assert_int_equal(follow(), 0);
}

/* Each thread has its own; a new one begins with what others have found out. */
static void test_threads(void **state)
{
    pthread_t threads[THREADS];

    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, follower, NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        void *wrong;

        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
}

/* Looks that say nonsense, as after a sleep of the machine, are made up for. */
static void test_jump(void **state)
{
    struct weir_trace_clock c = {0};
    uint64_t now;

    (void)state;
    (void)weir_trace_clock_ns(&c);
    c.ticks -= UINT64_C(1) << 40;
    c.window = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t before = weir_clock_ns();

        now = weir_trace_clock_ns(&c);
        assert_true(now + OFF_NS >= before && now <= weir_clock_ns() + OFF_NS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_begins), /* first */
                                       cmocka_unit_test(test_follows),
                                       cmocka_unit_test(test_threads), cmocka_unit_test(test_jump)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
