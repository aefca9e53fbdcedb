/* Profiles: attributes in order, those that depend on each other agree.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/profile.h"

static int get(const struct weir_profile *p, int id)
{
    int value = -1;

    assert_true(weir_profile_attribute(p, id, &value));
    return value;
}

static void test_profiles(void **state)
{
    const struct weir_profile *p;
    int value;

    (void)state;
    for (size_t n = 0; (p = weir_profile_at(n)) != NULL; n++) {
        assert_ptr_equal(weir_profile_find(p->name), p);
        for (size_t i = 0; i < p->attribute_count; i++) {
            if (i)
                assert_true(p->attributes[i].id > p->attributes[i - 1].id);
            assert_int_equal(get(p, p->attributes[i].id), p->attributes[i].value);
        }
        assert_false(weir_profile_attribute(p, 0, &value));
        assert_false(weir_profile_attribute(p, 9999, &value));
        assert_true(get(p, WEIR_ATTR_MAX_SHARED_PER_BLOCK) <= get(p, WEIR_ATTR_MAX_SHARED_OPTIN));
        assert_int_equal(get(p, WEIR_ATTR_MAX_SHARED_OPTIN) + get(p, WEIR_ATTR_RESERVED_SHARED),
                         get(p, WEIR_ATTR_MAX_SHARED_PER_SM));
        assert_true(get(p, WEIR_ATTR_MAX_THREADS_PER_SM) >=
                    get(p, WEIR_ATTR_MAX_THREADS_PER_BLOCK));
        assert_int_equal(get(p, WEIR_ATTR_WARP_SIZE), 32);
    }
    assert_null(weir_profile_find("nothing"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_profiles)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
