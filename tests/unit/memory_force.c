/* Tests of the program's own memory past the protection of its pages, and of which pages may be
 * closed.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "memory/memory.h"

enum { PAGE = 4096, PAGES = 8 };

static char array[PAGES * PAGE];

static int setup(void **state)
{
    (void)state;
    if (!weir_mem_force_start())
        skip();
    return 0;
}

static char *map(int flags)
{
    char *p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(p, MAP_FAILED);
    return p;
}

static void test_closed_pages(void **state)
{
    char *p = map(MAP_PRIVATE), got[3 * PAGE], data[3 * PAGE];

    (void)state;
    memset(data, 5, sizeof data);
    p[100] = 1;
    assert_int_equal(mprotect(p, PAGES * PAGE, PROT_NONE), 0);
    assert_true(weir_mem_force_read(got, (uintptr_t)p + 100, 1));
    assert_int_equal(got[0], 1);
    assert_true(weir_mem_force_write((uintptr_t)p + 200, data, sizeof data));
    assert_true(weir_mem_force_read(got, (uintptr_t)p + 200, sizeof got));
    assert_memory_equal(got, data, sizeof got);
    assert_int_equal(mprotect(p, PAGES * PAGE, PROT_READ | PROT_WRITE), 0);
    assert_int_equal(p[199], 0);
    assert_int_equal(p[200 + sizeof data - 1], 5);
    assert_int_equal(p[200 + sizeof data], 0);
    munmap(p, PAGES * PAGE);
    assert_false(weir_mem_force_read(got, (uintptr_t)p, 1));
    assert_false(weir_mem_force_write((uintptr_t)p, data, 1));
}

static bool closable(const void *p, size_t bytes, uintptr_t *begin, uintptr_t *end)
{
    return weir_mem_closable((uintptr_t)p, bytes, begin, end);
}

static void test_inner_pages(void **state)
{
    uintptr_t begin, end, first = ((uintptr_t)array + PAGE - 1) & ~(uintptr_t)(PAGE - 1);

    (void)state;
    assert_true(closable((char *)first + 8, 3 * PAGE, &begin, &end));
    assert_int_equal(begin, first + PAGE);
    assert_int_equal(end, first + 3 * PAGE);
    assert_true(closable((char *)first, 2 * PAGE, &begin, &end));
    assert_int_equal(begin, first);
    assert_int_equal(end, first + 2 * PAGE);
    assert_false(closable((char *)first + 8, PAGE, &begin, &end));
}

static void test_what_is_not(void **state)
{
    char *stack =
        (char *)__builtin_frame_address(0) - 3 * PAGE; /* (ASan's variables may be elsewhere) */
    char *shared = map(MAP_SHARED), *holed = map(MAP_PRIVATE);
    uintptr_t begin, end;

    (void)state;
    assert_false(closable(stack, 3 * PAGE, &begin, &end));
    assert_false(closable(shared, PAGES * PAGE, &begin, &end));
    assert_true(closable(holed, PAGES * PAGE, &begin, &end));
    assert_int_equal(mprotect(holed + PAGE, PAGE, PROT_READ), 0);
    assert_false(closable(holed, PAGES * PAGE, &begin, &end));
    munmap(holed + PAGE, PAGE);
    assert_false(closable(holed, PAGES * PAGE, &begin, &end));
    munmap(shared, PAGES * PAGE);
    munmap(holed, PAGES * PAGE);
}

/* A block of malloc's with pages of its own is all there is on them; other allocators have no such
 * header, and inner pages only. */
static void test_lone_chunk(void **state)
{
    const size_t bytes = (size_t)1 << 20;
    char *p = malloc(bytes);
    uintptr_t begin, end;

    (void)state;
    assert_true(closable(p, bytes, &begin, &end));
    if ((uintptr_t)p % PAGE == 16) {
        assert_int_equal(begin, (uintptr_t)p - 16);
        assert_true(end >= (uintptr_t)p + bytes);
    }
    assert_true(closable(p + 64, bytes - 64, &begin, &end)); /* not all of it */
    assert_int_equal(begin % PAGE, 0);
    assert_true(begin >= (uintptr_t)p + 64);
    free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_closed_pages, setup),
        cmocka_unit_test_setup(test_inner_pages, setup),
        cmocka_unit_test_setup(test_what_is_not, setup),
        cmocka_unit_test_setup(test_lone_chunk, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
