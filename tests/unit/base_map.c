/* Tests of base: maps, arena, error table.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/map.h"

static void map_keeps_what_was_put(void **state)
{
    struct weir_map m = {0};

    (void)state;
    for (uint64_t k = 1; k <= 5000; k++)
        assert_true(weir_map_put(&m, k * 4096, (void *)(uintptr_t)(k + 7)));
    for (uint64_t k = 1; k <= 5000; k += 2)
        assert_ptr_equal(weir_map_remove(&m, k * 4096), (void *)(uintptr_t)(k + 7));
    for (uint64_t k = 1; k <= 5000; k++)
        assert_ptr_equal(weir_map_get(&m, k * 4096), k % 2 ? NULL : (void *)(uintptr_t)(k + 7));
    assert_int_equal(m.count, 2500);
    weir_map_finish(&m);
}

static void map_survives_put_and_remove_of_one_key_for_ever(void **state)
{
    struct weir_map m = {0};

    (void)state;
    for (uint64_t k = 0; k < 100000; k++) {
        assert_true(weir_map_put(&m, k, &m));
        assert_ptr_equal(weir_map_remove(&m, k), &m);
    }
    assert_true(m.cap <= 64);
    weir_map_finish(&m);
}

static void strmap_finds_by_text(void **state)
{
    static char keys[300][8];
    struct weir_strmap m = {0};

    (void)state;
    for (int i = 0; i < 300; i++) {
        snprintf(keys[i], sizeof keys[i], "k%d", i);
        assert_true(weir_strmap_put(&m, keys[i], strlen(keys[i]), keys[i]));
    }
    for (int i = 0; i < 300; i++) {
        char name[8];

        snprintf(name, sizeof name, "k%d", i);
        assert_ptr_equal(weir_strmap_get(&m, name, strlen(name)), keys[i]);
    }
    assert_null(weir_strmap_get(&m, "k300", 4));
    weir_strmap_finish(&m);
}

static void arena_respects_its_limit(void **state)
{
    struct weir_arena a;

    (void)state;
    weir_arena_init(&a, 1000);
    assert_non_null(weir_arena_alloc(&a, 900));
    assert_null(weir_arena_alloc(&a, 200));
    assert_non_null(weir_arena_alloc(&a, 50));
    weir_arena_finish(&a);
}

static void errors_have_cuda_names(void **state)
{
    (void)state;
    assert_string_equal(weir_err_name(0), "cudaSuccess");
    assert_string_equal(weir_err_name(700), "cudaErrorIllegalAddress");
    assert_string_equal(weir_err_text(2), "out of memory");
    assert_null(weir_err_name(12345));
    assert_true(weir_err_is_sticky(WEIR_ERR_ILLEGAL_ADDRESS));
    assert_false(weir_err_is_sticky(WEIR_ERR_NOT_READY));
    for (int prev = 0, code = 1; code < 1100; code++) {
        if (weir_err_name(code)) {
            assert_true(code > prev);
            prev = code;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(map_keeps_what_was_put),
        cmocka_unit_test(map_survives_put_and_remove_of_one_key_for_ever),
        cmocka_unit_test(strmap_finds_by_text),
        cmocka_unit_test(arena_respects_its_limit),
        cmocka_unit_test(errors_have_cuda_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
