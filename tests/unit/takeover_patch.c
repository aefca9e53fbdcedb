/* The entry patch: runs patched code of every length of gap, with and without ENDBR64.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "takeover/patch.h"

#define CODE_BYTES 4096u

typedef int function(int);

static int target(int x)
{
    return x + 1000;
}

static int other_target(int x)
{
    return x + 650;
}

static unsigned char *code, *islands;

static int run(unsigned char *at, int x)
{
    function *f;

    memcpy(&f, &at, sizeof f);
    mprotect(code, 2 * CODE_BYTES, PROT_READ | PROT_EXEC);
    x = f(x);
    mprotect(code, 2 * CODE_BYTES, PROT_READ | PROT_WRITE);
    return x;
}

static int setup(void **state)
{
    (void)state;
    code = mmap(NULL, 2 * CODE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    islands = code + CODE_BYTES;
    return code == MAP_FAILED;
}

static const void *address(void *f)
{
    return f;
}

static void test_gaps(void **state)
{
    static const unsigned char endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

    (void)state;
    for (int marked = 0; marked < 2; marked++) {
        for (size_t gap = 1; gap <= 16; gap++) {
            struct weir_patch p = {.entry = code + 64, .gap = gap, .island = islands};

            memset(code, 0xcc, CODE_BYTES);
            if (marked)
                memcpy(p.entry, endbr64, sizeof endbr64);
            weir_patch_island(islands, address((void *)(uintptr_t)target));
            assert_int_equal(weir_patch_entry(&p), gap >= 5);
            for (size_t i = gap; i < 64; i++)
                assert_int_equal(p.entry[i], marked && i < 4 ? endbr64[i] : 0xcc);
            if (gap < 5)
                continue;
            assert_true(p.used <= gap);
            if (marked && gap >= 9)
                assert_memory_equal(p.entry, endbr64, sizeof endbr64);
            assert_int_equal(run(p.entry, 5), 1005);
        }
    }
}

static void test_through(void **state)
{
    (void)state;
    for (int distance = -150; distance <= 150; distance += 3) {
        struct weir_patch host = {.entry = code + 256, .gap = 10, .island = islands};
        struct weir_patch tiny = {
            .entry = code + 256 + distance, .gap = 2, .island = islands + WEIR_PATCH_ISLAND};
        bool near = distance - 3 <= 128 &&
                    distance - 3 >= -127; /* the hop stands 5 behind the host, the jump is 2 long */

        if (distance >= -2 && distance < 10)
            continue;
        memset(code, 0xcc, CODE_BYTES);
        weir_patch_island(islands, address((void *)(uintptr_t)other_target));
        weir_patch_island(islands + WEIR_PATCH_ISLAND, address((void *)(uintptr_t)target));
        assert_false(weir_patch_entry_through(&tiny, &host)); /* not patched itself yet */
        assert_true(weir_patch_entry(&host));
        assert_false(weir_patch_entry(&tiny));
        assert_int_equal(weir_patch_entry_through(&tiny, &host), near);
        assert_int_equal(run(host.entry, 0), 650);
        if (near) {
            struct weir_patch more = {.entry = tiny.entry + 2, .gap = 2, .island = islands};

            assert_int_equal(run(tiny.entry, 1), 1001);
            assert_int_equal(tiny.entry[2], 0xcc);
            assert_int_equal(host.used, 10);
            assert_false(weir_patch_entry_through(&more, &host)); /* full */
        }
    }
}

static void test_too_far(void **state)
{
    struct weir_patch p = {.entry = code + 64, .gap = 16};

    (void)state;
    memset(code, 0xcc, CODE_BYTES);
    p.island = (unsigned char *)((uintptr_t)code ^ 1ull << 40);
    assert_false(weir_patch_entry(&p));
    assert_int_equal(p.entry[0], 0xcc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(test_gaps, setup),
                                       cmocka_unit_test_setup(test_through, setup),
                                       cmocka_unit_test_setup(test_too_far, setup)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
