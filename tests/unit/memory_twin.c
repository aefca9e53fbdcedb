/* Tests of memory that is mapped twice: the same bytes at both addresses, and whose they are.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "memory/memory.h"

static int devices = 1;

static int setup(void **state)
{
    struct weir_mem_config config = {
        .device_count = devices, .device_bytes = (size_t)1 << 30, .twin = true};

    (void)state;
    return weir_mem_init(&config) == WEIR_OK && weir_mem_twin.bytes ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    weir_mem_finish();
    return 0;
}

static char *take(enum weir_mem_kind kind, int device, size_t bytes)
{
    void *p = NULL;

    assert_int_equal(weir_mem_alloc(kind, device, bytes, 0, NULL, &p), WEIR_OK);
    return p;
}

static void test_same_bytes(void **state)
{
    static const size_t sizes[] = {100, 5000, 70000, (size_t)5 << 20};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        enum weir_mem_kind kind = i % 2 ? WEIR_MEM_KIND_PINNED : WEIR_MEM_KIND_MANAGED;
        char *p = take(kind, 0, sizes[i]), *e = weir_mem_engine_view(p);
        struct weir_mem_info info;

        assert_true(weir_mem_has_twin((uintptr_t)p));
        assert_ptr_not_equal(p, e);
        p[sizes[i] - 1] = 7;
        assert_int_equal(e[sizes[i] - 1], 7);
        e[0] = 9;
        assert_int_equal(p[0], 9);
        /* Closed to the program, open to engines. */
        assert_int_equal(mprotect((void *)((uintptr_t)p & ~(uintptr_t)4095), 4096, PROT_NONE), 0);
        e[1] = 3;
        assert_int_equal(
            mprotect((void *)((uintptr_t)p & ~(uintptr_t)4095), 4096, PROT_READ | PROT_WRITE), 0);
        assert_int_equal(p[1], 3);
        assert_true(weir_mem_find(e + 1, &info));
        assert_int_equal(info.base, p);
        assert_int_equal(weir_mem_program_view((uintptr_t)e + 5), p + 5);
        assert_true(weir_mem_kernel_may_touch(e, sizes[i], 0));
        assert_false(weir_mem_kernel_may_touch(e, sizes[i] + 1, 0));
        assert_int_equal(weir_mem_free(kind, p), WEIR_OK);
        assert_false(weir_mem_find(e, &info));
    }
}

/* Freed memory comes back as zeros, as any does. */
static void test_fresh(void **state)
{
    (void)state;
    for (int i = 0; i < 2000; i++) {
        char *p = take(WEIR_MEM_KIND_PINNED, 0, 3000);

        assert_int_equal(p[2999], 0);
        memset(p, 1, 3000);
        assert_int_equal(weir_mem_free(WEIR_MEM_KIND_PINNED, p), WEIR_OK);
    }
}

static void test_others_have_none(void **state)
{
    static const enum weir_mem_kind kinds[] = {WEIR_MEM_KIND_DEVICE, WEIR_MEM_KIND_INTERNAL};
    uintptr_t base;
    size_t bytes;

    (void)state;
    for (int d = 0; d < devices; d++) {
        weir_mem_window_of(d, &base, &bytes);
        for (size_t k = 0; k < 2; k++) {
            char *p = take(kinds[k], d, 9000);

            assert_ptr_equal(weir_mem_engine_view(p), p);
            assert_false(weir_mem_has_twin((uintptr_t)p));
            assert_true((uintptr_t)p - base < bytes);
            assert_int_equal(weir_mem_free(kinds[k], p), WEIR_OK);
        }
        /* Kernels need not ask for the twin where the host's zone is beside their own. */
        if (d < 2)
            assert_true(weir_mem_twin.base + weir_mem_twin.shift - base < bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_same_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fresh, setup, teardown),
        cmocka_unit_test_setup_teardown(test_others_have_none, setup, teardown),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    devices = 2;
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
