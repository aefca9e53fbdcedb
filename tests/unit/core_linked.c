/* The container of linked device code: what goes in comes out, and damaged ones are refused.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "core/linked.h"

static const char caller[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                             ".extern .func two();\n"
                             ".visible .entry one()\n{\n call two, ();\n ret;\n}\n";
static const char callee[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                             ".visible .func two()\n{\n ret;\n}\n";

static unsigned char *build(size_t count, size_t *bytes)
{
    const struct weir_cg_unit units[] = {{caller, sizeof caller - 1, "caller"},
                                         {callee, sizeof callee - 1, "callee"}};
    unsigned char *out;

    assert_int_equal(weir_linked_build(units, count, 40, &out, bytes), WEIR_OK);
    return out;
}

static void test_round_trip(void **state)
{
    struct weir_cg_kernel_info info;
    struct weir_cg_module *m;
    unsigned char *c;
    size_t bytes, told;
    int registers = 0;

    (void)state;
    c = build(2, &bytes);
    assert_true(weir_linked_is(c, SIZE_MAX));
    assert_int_equal(weir_linked_header(c, SIZE_MAX, &told, &registers), WEIR_OK);
    assert_int_equal(told, bytes);
    assert_int_equal(registers, 40);
    assert_int_equal(weir_linked_module(c, bytes, &m), WEIR_OK);
    assert_string_equal(weir_cg_kernel_at(m, 0), "one");
    assert_null(weir_cg_kernel_at(m, 1));
    weir_cg_kernel_info(weir_cg_kernel_find(m, "one"), &info);
    assert_null(info.unresolved);
    weir_cg_module_destroy(m);
    weir_free(c);
    c = build(1, &bytes);
    assert_int_equal(weir_linked_module(c, bytes, &m), WEIR_OK);
    weir_cg_kernel_info(weir_cg_kernel_find(m, "one"), &info);
    assert_string_equal(info.unresolved, "two");
    weir_cg_module_destroy(m);
    weir_free(c);
}

static void test_not_one(void **state)
{
    (void)state;
    assert_false(weir_linked_is(".version", SIZE_MAX));
    assert_false(weir_linked_is("Wei", SIZE_MAX)); /* shorter than the magic */
    assert_false(weir_linked_is("WeirPTX", 4));
}

/* Every prefix, and every byte changed in turn: an error or a module, nothing worse. */
static void test_damaged(void **state)
{
    struct weir_cg_module *m;
    unsigned char *c, *copy;
    size_t bytes;

    (void)state;
    c = build(2, &bytes);
    for (size_t n = 0; n < bytes; n++) {
        copy = weir_alloc(n + 1);
        memcpy(copy, c, n);
        assert_int_equal(weir_linked_module(copy, n, &m), WEIR_ERR_INVALID_KERNEL_IMAGE);
        weir_free(copy);
    }
    for (size_t n = 8; n < bytes; n++) {
        static const unsigned char flips[] = {0x01, 0x80, 0xff};

        for (size_t k = 0; k < sizeof flips; k++) {
            copy = weir_alloc(bytes);
            memcpy(copy, c, bytes);
            copy[n] ^= flips[k];
            if (weir_linked_module(copy, bytes, &m) == WEIR_OK)
                weir_cg_module_destroy(m);
            weir_free(copy);
        }
    }
    weir_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_not_one),
        cmocka_unit_test(test_damaged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
