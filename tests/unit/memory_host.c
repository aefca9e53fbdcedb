/* Tests of memory: registered host ranges, and the errors of registration.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "memory/memory.h"

static int start(void **state)
{
    const struct weir_mem_config config = {.device_count = 1, .device_bytes = (size_t)1 << 30};

    (void)state;
    return weir_mem_init(&config) == WEIR_OK ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    weir_mem_finish();
    return 0;
}

static void registered_range_is_found(void **state)
{
    char *p = calloc(1, 100000);
    struct weir_mem_info info;

    (void)state;
    assert_false(weir_mem_find(p, &info));
    assert_int_equal(weir_mem_register(p + 10, 50000, 0, 3), WEIR_OK);
    assert_true(weir_mem_find(p + 10, &info));
    assert_int_equal(info.kind, WEIR_MEM_KIND_REGISTERED);
    assert_int_equal(info.base, (uintptr_t)p + 10);
    assert_int_equal(info.bytes, 50000);
    assert_int_equal(info.flags, 3);
    assert_true(weir_mem_find(p + 50009, &info));
    assert_false(weir_mem_find(p + 9, &info));
    assert_false(weir_mem_find(p + 50010, &info));
    assert_true(weir_mem_kernel_may_touch(p + 50006, 4, 0));
    assert_false(weir_mem_kernel_may_touch(p + 50007, 4, 0));
    assert_int_equal(weir_mem_unregister(p), WEIR_ERR_HOST_MEMORY_NOT_REGISTERED);
    assert_int_equal(weir_mem_unregister(p + 10), WEIR_OK);
    assert_int_equal(weir_mem_unregister(p + 10), WEIR_ERR_HOST_MEMORY_NOT_REGISTERED);
    assert_false(weir_mem_find(p + 10, &info));
    free(p);
}

static void overlap_is_refused_and_touching_is_not(void **state)
{
    char *p = malloc(30000);

    (void)state;
    assert_int_equal(weir_mem_register(p + 10000, 10000, 0, 0), WEIR_OK);
    assert_int_equal(weir_mem_register(p + 10000, 10000, 0, 0),
                     WEIR_ERR_HOST_MEMORY_ALREADY_REGISTERED);
    assert_int_equal(weir_mem_register(p + 12000, 10, 0, 0),
                     WEIR_ERR_HOST_MEMORY_ALREADY_REGISTERED);
    assert_int_equal(weir_mem_register(p, 30000, 0, 0), WEIR_ERR_HOST_MEMORY_ALREADY_REGISTERED);
    assert_int_equal(weir_mem_register(p, 10001, 0, 0), WEIR_ERR_HOST_MEMORY_ALREADY_REGISTERED);
    assert_int_equal(weir_mem_register(p + 19999, 10, 0, 0),
                     WEIR_ERR_HOST_MEMORY_ALREADY_REGISTERED);
    assert_int_equal(weir_mem_register(p, 10000, 0, 0), WEIR_OK);
    assert_int_equal(weir_mem_register(p + 20000, 10000, 0, 0), WEIR_OK);
    assert_int_equal(weir_mem_unregister(p + 10000), WEIR_OK);
    assert_int_equal(weir_mem_unregister(p), WEIR_OK);
    assert_int_equal(weir_mem_unregister(p + 20000), WEIR_OK);
    free(p);
}

static void bad_ranges_are_refused(void **state)
{
    char *hole = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *device, *pinned;

    (void)state;
    munmap(hole + 4096, 4096);
    assert_int_equal(weir_mem_register(NULL, 10, 0, 0), WEIR_ERR_INVALID_VALUE);
    assert_int_equal(weir_mem_register(hole, 0, 0, 0), WEIR_ERR_INVALID_VALUE);
    assert_int_equal(weir_mem_register(hole, SIZE_MAX, 0, 0), WEIR_ERR_INVALID_VALUE);
    assert_int_equal(weir_mem_register(hole, 3 * 4096, 0, 0), WEIR_ERR_INVALID_VALUE);
    assert_int_equal(weir_mem_register(hole + 100, 4096, 0, 0), WEIR_ERR_INVALID_VALUE);
    assert_int_equal(weir_mem_register(hole + 100, 3996, 0, 0), WEIR_OK);
    assert_int_equal(weir_mem_unregister(hole + 100), WEIR_OK);
    assert_int_equal(weir_mem_alloc(WEIR_MEM_KIND_DEVICE, 0, 5000, 0, NULL, &device), WEIR_OK);
    assert_int_equal(weir_mem_alloc(WEIR_MEM_KIND_PINNED, 0, 5000, 0, NULL, &pinned), WEIR_OK);
    assert_int_equal(weir_mem_register(device, 5000, 0, 0), WEIR_ERR_INVALID_VALUE);
    assert_int_equal(weir_mem_register(pinned, 5000, 0, 0),
                     WEIR_ERR_HOST_MEMORY_ALREADY_REGISTERED);
    munmap(hole, 3 * 4096);
}

static _Atomic bool stop;
static char *arena;

static void *reader(void *arg)
{
    uint32_t x = 7;
    struct weir_mem_info info;

    (void)arg;
    while (!atomic_load(&stop)) {
        x = x * 1664525u + 1013904223u;
        size_t at = (x >> 8) % 300;

        /* Even blocks stay registered: they must be found whatever the writer does. */
        if (at % 2 == 0) {
            assert_true(weir_mem_find(arena + at * 100 + 99, &info));
            assert_int_equal(info.base, (uintptr_t)arena + at * 100);
        } else if (weir_mem_find(arena + at * 100 + 1, &info)) {
            assert_int_equal(info.base, (uintptr_t)arena + at * 100);
            assert_int_equal(info.bytes, 100);
        }
    }
    return NULL;
}

static void readers_run_beside_registration(void **state)
{
    pthread_t r[2];
    struct weir_mem_info info;

    (void)state;
    arena = malloc(30000);
    for (size_t i = 0; i < 300; i += 2)
        assert_int_equal(weir_mem_register(arena + i * 100, 100, 0, 0), WEIR_OK);
    atomic_store(&stop, false);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&r[i], NULL, reader, NULL), 0);
    for (int round = 0; round < 20; round++) {
        for (size_t i = 1; i < 300; i += 2)
            assert_int_equal(weir_mem_register(arena + i * 100, 100, 0, 0), WEIR_OK);
        for (size_t i = 1; i < 300; i += 2)
            assert_int_equal(weir_mem_unregister(arena + (300 - i) * 100), WEIR_OK);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < 2; i++)
        pthread_join(r[i], NULL);
    for (size_t i = 0; i < 300; i += 2)
        assert_int_equal(weir_mem_unregister(arena + i * 100), WEIR_OK);
    assert_false(weir_mem_find(arena, &info));
    free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(registered_range_is_found, start, end),
        cmocka_unit_test_setup_teardown(overlap_is_refused_and_touching_is_not, start, end),
        cmocka_unit_test_setup_teardown(bad_ranges_are_refused, start, end),
        cmocka_unit_test_setup_teardown(readers_run_beside_registration, start, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
