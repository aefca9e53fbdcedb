/* Kernels' names as people write them, from mangled ones.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/kernel_name.h"

static void names(void **state)
{
    static const char *const cases[][2] = {
        {"spin", "spin"},
        {"_Z4spinPj", "spin"},
        {"_ZL5scalePKfPf", "scale"},
        {"_Z5scaleIfEvPT_", "scale"},
        {"_ZN2ns5scaleIfEEvPT_", "scale"},
        {"_ZN2ns5innerIiLi4EE3runEPi", "run"},
        {"_ZN12_GLOBAL__N_16kernelEi", "kernel"},
        {"_ZN2ns1AIN2ns1BIiEEE4stepILb1EEEvv", "step"},
        {"_Z", "_Z"},
        {"_Z99short", "_Z99short"},
        {"_ZN", "_ZN"},
        {"", ""},
    };
    char out[64];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(weir_kernel_plain_name(cases[i][0], out, sizeof out), cases[i][1]);
    assert_string_equal(weir_kernel_plain_name("_Z4spinPj", out, 3), "sp");
    assert_string_equal(weir_kernel_plain_name("spinning", out, 5), "spin");
}

static void scopes(void **state)
{
    static const char *const cases[][2] = {
        {"spin", "spin"},
        {"_Z4spinPj", "spin"},
        {"_ZN2ns5scaleIfEEvPT_", "ns::scale"},
        {"_ZN2ns1AIN2ns1BIiEEE4stepILb1EEEvv", "ns::A::step"},
        {"_ZN12_GLOBAL__N_16kernelEi", "_GLOBAL__N_1::kernel"},
        {"_ZN2ns99short", "_ZN2ns99short"},
    };
    char out[64];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(weir_kernel_scoped_name(cases[i][0], out, sizeof out), cases[i][1]);
    assert_string_equal(weir_kernel_scoped_name("_ZN2ns5scaleIfEEvPT_", out, 5), "ns::");
    assert_string_equal(weir_kernel_scoped_name("_ZN2ns5scaleIfEEvPT_", out, 3), "ns");
}

static void variables(void **state)
{
    static const char *const cases[][2] = {
        {"tile", "tile"},
        {"_ZZ7productPKfPfE4tile", "tile"},
        {"_ZZ7productILb1ELb0EEvPKfS1_PfE1x", "x"},
        {"_ZZN2ns3sumEPKfPfE6values_0", "values"},
        {"_ZZ3runILi16EEvPfE4rows", "rows"},
        {"_ZZ3runvE3old__12_", "old"},
        {"_ZN12_GLOBAL__N_16bufferE", "buffer"},
        {"_ZL5cache", "cache"},
        {"_ZZ3runvE5a4b2c", "a4b2c"},
        {"_ZZ3runv", "_ZZ3runv"},
        {"_ZZ99999999999999999999999999999999999runvE",
         "_ZZ99999999999999999999999999999999999runvE"},
        {"_Z", "_Z"},
        {"", ""},
    };
    char out[64];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(weir_kernel_variable_name(cases[i][0], out, sizeof out), cases[i][1]);
    assert_string_equal(weir_kernel_variable_name("_ZZ7productPKfPfE4tile", out, 3), "ti");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names), cmocka_unit_test(scopes),
                                       cmocka_unit_test(variables)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
