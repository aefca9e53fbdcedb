/* Rules of --inject: their form, whom they name, which ones fail.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/inject.h"

static struct weir_inject_rules rules;

static struct weir_inject_rule *one(const char *text)
{
    assert_int_equal(weir_inject_parse(text, &rules), WEIR_OK);
    assert_int_equal(rules.count, 1);
    return &rules.items[0];
}

static void good(void **state)
{
    struct weir_inject_rule *r = one("cudaMalloc:3=cudaErrorMemoryAllocation");

    (void)state;
    assert_int_equal(r->kind, WEIR_INJECT_CALL);
    assert_string_equal(r->name, "cudaMalloc");
    assert_int_equal(r->first, 3);
    assert_int_equal(r->last, 3);
    assert_int_equal(r->err, WEIR_ERR_MEMORY_ALLOCATION);
    r = one("cudaMalloc:3-5=2");
    assert_int_equal(r->last, 5);
    r = one(" cudaMalloc:3+=2;");
    assert_true(r->first == 3 && r->last == UINT64_MAX);
    r = one("cudaMalloc=2");
    assert_true(r->first == 1 && r->last == UINT64_MAX && !r->has_rate);
    r = one("cudaMalloc:12.5%=2,seed=9");
    assert_true(r->has_rate && r->rate == 0.125 && r->seed == 9);
    r = one("kernel:sc*:2=illegal-address");
    assert_true(r->kind == WEIR_INJECT_KERNEL && r->err == WEIR_ERR_ILLEGAL_ADDRESS);
    r = one("device:1=lost@1.5s");
    assert_true(r->kind == WEIR_INJECT_DEVICE && r->device == 1 && r->at_ns == 1500000000);
    r = one("device:0=cudaErrorECCUncorrectable@20ms");
    assert_true(r->err == WEIR_ERR_ECC_UNCORRECTABLE && r->at_ns == 20000000);
    assert_int_equal(one("device:0=lost")->at_ns, 0);
    assert_int_equal(weir_inject_parse("cudaMalloc=2;kernel:k=trap; cudaFree:1=1", &rules),
                     WEIR_OK);
    assert_int_equal(rules.count, 3);
    assert_string_equal(rules.items[2].text, "cudaFree:1=1");
}

static void wrong(void **state)
{
    static const char *const texts[] = {
        "",
        ";;",
        "cudaMalloc",
        "=2",
        ":3=2",
        "malloc=2",
        "cudaM*=2",
        "cudaMalloc:=2",
        "cudaMalloc:x=2",
        "cudaMalloc:0=2",
        "cudaMalloc:5-3=2",
        "cudaMalloc:5-=2",
        "cudaMalloc:3+4=2",
        "cudaMalloc:0%=2",
        "cudaMalloc:101%=2",
        "cudaMalloc:5%%=2",
        "cudaMalloc:3=",
        "cudaMalloc:3=cudaSuccess",
        "cudaMalloc:3=0",
        "cudaMalloc:3=cudaErrorNotReady",
        "cudaMalloc:3=nothing",
        "cudaMalloc:3=2,seed=7",
        "cudaMalloc:3%=2,seed=",
        "cudaMalloc:3%=2,seed=7x",
        "cudaMalloc:3%=2,sed=7",
        "cudaMalloc:3=2@2s",
        "kernel:=trap",
        "kernel:a b=trap",
        "kernel:k=cudaErrorInvalidValue",
        "kernel:k=trap@2s",
        "device:x=lost",
        "device:64=lost",
        "device:1:2=lost",
        "device:1=lost@2",
        "device:1=lost@-1s",
        "device:1=lost@s",
        "device:1=2",
        "cudaMalloc=2;cudaMalloc",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (weir_inject_parse(texts[i], &rules) != WEIR_ERR_INVALID_VALUE)
            fail_msg("\"%s\" is taken for a rule", texts[i]);
}

static void names(void **state)
{
    struct weir_inject_rule *r = one("cudaLaunchKernel=1");

    (void)state;
    assert_true(weir_inject_names_call(r, "cudaLaunchKernel"));
    assert_true(weir_inject_names_call(r, "__cudaLaunchKernel"));
    assert_true(weir_inject_names_call(r, "cudaLaunchKernel_ptsz"));
    assert_false(weir_inject_names_call(r, "cudaLaunchKernelExC"));
    assert_false(weir_inject_names_call(r, "cudaLaunch"));
    r = one("cuMemAlloc=2");
    assert_true(weir_inject_names_call(r, "cuMemAlloc_v2"));
    assert_false(weir_inject_names_call(r, "cuMemAllocAsync"));
    r = one("kernel:scale=trap");
    assert_true(weir_inject_names_kernel(r, "_Z5scaleIfEvPT_"));
    assert_true(weir_inject_names_kernel(r, "scale"));
    assert_false(weir_inject_names_kernel(r, "_Z6scale2Pf"));
    r = one("kernel:ns::scale:2=trap");
    assert_true(r->first == 2 && r->last == 2);
    assert_true(weir_inject_names_kernel(r, "_ZN2ns5scaleIfEEvPT_"));
    assert_true(weir_inject_names_kernel(r, "_ZN5outer2ns5scaleIfEEvPT_"));
    assert_false(weir_inject_names_kernel(r, "_ZN3xns5scaleIfEEvPT_"));
    assert_false(weir_inject_names_kernel(r, "_Z5scaleIfEvPT_"));
    r = one("kernel:ns::*=trap");
    assert_true(weir_inject_names_kernel(r, "_ZN2ns5scaleIfEEvPT_"));
    assert_false(weir_inject_names_kernel(r, "_Z5scaleIfEvPT_"));
    r = one("kernel:sc*=trap");
    assert_true(weir_inject_names_kernel(r, "_Z6scale2Pf"));
    assert_false(weir_inject_names_kernel(r, "_Z4spinPf"));
    assert_true(weir_inject_names_kernel(one("kernel:*=trap"), "_Z4spinPf"));
}

static void counts(void **state)
{
    struct weir_inject_rule *r = one("cudaMalloc:3-4=2");
    uint64_t first[4] = {0}, again[4] = {0};
    int n = 0;

    (void)state;
    for (int i = 1; i <= 6; i++)
        assert_int_equal(weir_inject_fires(r), i == 3 || i == 4);
    assert_int_equal(r->seen, 6);
    assert_int_equal(r->failed, 2);
    for (int round = 0; round < 2; round++) {
        uint64_t *bits = round ? again : first;

        r = one("cudaMalloc:25%=2,seed=7");
        for (int i = 0; i < 256; i++)
            bits[i / 64] |= (uint64_t)weir_inject_fires(r) << i % 64;
    }
    assert_memory_equal(first, again, sizeof first);
    for (int i = 0; i < 256; i++)
        n += first[i / 64] >> i % 64 & 1;
    assert_in_range(n, 40, 90);
    r = one("cudaMalloc:25%=2,seed=8");
    for (int i = 0; i < 256; i++)
        again[i / 64] ^= (uint64_t)weir_inject_fires(r) << i % 64;
    assert_memory_not_equal(again, (uint64_t[4]){0}, sizeof again); /* another seed, other calls */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good),
        cmocka_unit_test(wrong),
        cmocka_unit_test(names),
        cmocka_unit_test(counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
