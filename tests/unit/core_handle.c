/* Handle slots: made-up, dead and foreign pointers are recognised, slots come back late and not
 * before they were given.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/handle.h"

#define SLOT     128
#define CAPACITY 1000

static void test_check(void **state)
{
    struct weir_slots a;
    struct weir_slot *s, *t;

    (void)state;
    assert_int_equal(weir_slots_init(&a, SLOT, CAPACITY), WEIR_OK);
    s = weir_slots_take(&a);
    assert_non_null(s);
    assert_null(weir_slots_check(&a, s)); /* not published */
    weir_slot_publish(s);
    assert_ptr_equal(weir_slots_check(&a, s), s);
    assert_null(weir_slots_check(&a, (char *)s + 8));
    assert_null(weir_slots_check(&a, (char *)s + SLOT));
    assert_null(weir_slots_check(&a, a.base - SLOT));
    assert_null(weir_slots_check(&a, a.base + (size_t)SLOT * CAPACITY));
    assert_null(weir_slots_check(&a, NULL));
    assert_null(weir_slots_check(&a, (void *)~(uintptr_t)0));
    assert_true(weir_slot_kill(s));
    assert_false(weir_slot_kill(s));
    assert_null(weir_slots_check(&a, s));
    weir_slots_give(&a, s);
    t = weir_slots_take(&a);
    assert_ptr_not_equal(t, s); /* reuse is late */
}

static void test_reuse(void **state)
{
    struct weir_slots a;
    struct weir_slot *first = NULL;
    int taken = 0;

    (void)state;
    assert_int_equal(weir_slots_init(&a, SLOT, CAPACITY), WEIR_OK);
    for (struct weir_slot *s; taken < 5000 && (s = weir_slots_take(&a)) != NULL; taken++) {
        if (!first)
            first = s;
        weir_slot_publish(s);
        assert_true(weir_slot_kill(s));
        weir_slots_give(&a, s);
    }
    assert_int_equal(taken, 5000);  /* never runs out */
    assert_true(a.used < CAPACITY); /* by taking old ones again */
    taken = 0;
    while (weir_slots_take(&a))
        taken++;
    assert_int_equal(taken, CAPACITY); /* all of them, when there is need */
    assert_null(weir_slots_take(&a));
    weir_slots_give(&a, first);
    assert_ptr_equal(weir_slots_take(&a), first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_check), cmocka_unit_test(test_reuse)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
