/* Containers that we build: read back, chosen from, and damaged at every byte and every length, at
 * the end of a mapping so that one byte too far is a fault.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdbool.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "fatbin/fatbin.h"

#define PAGE 4096u

static const char ptx_a[] =
    ".version 8.7\n.target sm_80\n.address_size 64\n.visible .entry aaaaaaaaaaaaaaaaaaaaaaaa()\n"
    "{\n  ret;\n  ret;\n  ret;\n  ret;\n  ret;\n  ret;\n}\n";
static const char ptx_b[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry b()\n{\n  ret;\n}\n";

static const struct weir_fatbin_input two[] = {
    {ptx_b, sizeof ptx_b - 1, 52, NULL},
    {ptx_a, sizeof ptx_a - 1, 80, "dir/a file.cu"},
};

static unsigned char *build(enum weir_fatbin_packing packing, size_t *n)
{
    unsigned char *c;

    assert_int_equal(weir_fatbin_build(two, 2, packing, &c, n), WEIR_OK);
    return c;
}

static void check_text(const struct weir_fatbin_entry *e, const char *want)
{
    char *text;
    size_t n;

    assert_int_equal(weir_fatbin_unpack(e, &text, &n), WEIR_OK);
    assert_string_equal(text, want);
    assert_int_equal(n, strlen(want));
    weir_free(text);
}

static void test_build_and_read(void **state)
{
    (void)state;
    for (int packing = WEIR_FATBIN_PLAIN; packing <= WEIR_FATBIN_ZSTD; packing++) {
        struct weir_fatbin fb;
        struct weir_fatbin_entry e;
        size_t n;
        unsigned char *c = build((enum weir_fatbin_packing)packing, &n);

        assert_int_equal(weir_fatbin_open(c, n, &fb), WEIR_OK);
        assert_int_equal(fb.entry_count, 2);
        assert_int_equal(fb.bytes, n);
        assert_int_equal(weir_fatbin_entry(&fb, 0, &e), WEIR_OK);
        assert_int_equal(e.sm, 52);
        assert_null(e.name);
        check_text(&e, ptx_b);
        assert_int_equal(weir_fatbin_entry(&fb, 1, &e), WEIR_OK);
        assert_int_equal(e.kind, WEIR_FATBIN_PTX);
        assert_int_equal(e.packing, packing);
        assert_int_equal(e.sm, 80);
        assert_int_equal(e.sm_suffix, 0);
        assert_int_equal(e.name_bytes, strlen("dir/a file.cu"));
        assert_memory_equal(e.name, "dir/a file.cu", e.name_bytes);
        check_text(&e, ptx_a);
        assert_int_equal(weir_fatbin_entry(&fb, 2, &e), WEIR_ERR_INVALID_KERNEL_IMAGE);
        weir_free(c);
    }
}

/* A long text is really smaller when packed. */
static void test_packing_packs(void **state)
{
    static char text[20000];
    size_t plain = 0, n;
    unsigned char *c;

    (void)state;
    for (size_t i = 0; i + 32 < sizeof text; i += strlen(text + i))
        snprintf(text + i, 32, "add.s32 %%r%zu;\n", i % 97);
    for (int packing = WEIR_FATBIN_PLAIN; packing <= WEIR_FATBIN_ZSTD; packing++) {
        struct weir_fatbin_input in = {text, strlen(text), 75, NULL};
        struct weir_fatbin fb;
        struct weir_fatbin_entry e;

        assert_int_equal(weir_fatbin_build(&in, 1, (enum weir_fatbin_packing)packing, &c, &n),
                         WEIR_OK);
        assert_int_equal(weir_fatbin_open(c, n, &fb), WEIR_OK);
        assert_int_equal(weir_fatbin_select(&fb, 90, &e), WEIR_OK);
        check_text(&e, text);
        if (packing == WEIR_FATBIN_PLAIN)
            plain = n;
        else
            assert_true(n < plain / 2);
        weir_free(c);
    }
}

static void test_select(void **state)
{
    struct weir_fatbin_input in[] = {
        {ptx_a, sizeof ptx_a - 1, 80, "80"},   {ptx_a, sizeof ptx_a - 1, 90, "90a"},
        {ptx_a, sizeof ptx_a - 1, 70, "70"},   {ptx_a, sizeof ptx_a - 1, 100, "100f"},
        {ptx_a, sizeof ptx_a - 1, 100, "100"},
    };
    static const struct {
        uint32_t sm;
        const char *want;
    } cases[] = {{69, NULL},  {70, "70"}, {79, "70"},   {80, "80"},   {89, "80"},
                 {90, "90a"}, {91, "80"}, {100, "100"}, {103, "100"}, {120, "100"}};
    struct weir_fatbin fb;
    struct weir_fatbin_entry e;
    unsigned char *c;
    size_t n;

    (void)state;
    assert_int_equal(weir_fatbin_build(in, 5, WEIR_FATBIN_PLAIN, &c, &n), WEIR_OK);
    assert_int_equal(weir_fatbin_open(c, n, &fb), WEIR_OK);
    for (uint32_t i = 0; i < 5;
         i++) { /* the suffix flags, as nvcc writes them into byte 2 of the flags */
        assert_int_equal(weir_fatbin_entry(&fb, i, &e), WEIR_OK);
        if (e.name[e.name_bytes - 1] == 'a')
            ((unsigned char *)e.name)[-64 + 40 + 2] |= 0x10;
        if (e.name[e.name_bytes - 1] == 'f')
            ((unsigned char *)e.name)[-64 + 40 + 2] |= 0x20;
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        enum weir_err err = weir_fatbin_select(&fb, cases[i].sm, &e);

        assert_int_equal(err, cases[i].want ? WEIR_OK : WEIR_ERR_NO_KERNEL_IMAGE_FOR_DEVICE);
        if (err == WEIR_OK) {
            assert_int_equal(e.name_bytes, strlen(cases[i].want));
            assert_memory_equal(e.name, cases[i].want, e.name_bytes);
        }
    }
    assert_int_equal(weir_fatbin_select(&fb, 60, &e), WEIR_ERR_NO_KERNEL_IMAGE_FOR_DEVICE);
    assert_non_null(strstr(weir_err_message(), "arch=compute_60,code=compute_60"));
    assert_non_null(strstr(weir_err_message(), "PTX sm_90a"));
    weir_free(c);
}

static void test_wrapper(void **state)
{
    struct {
        uint32_t magic, version;
        const void *data, *more;
    } w = {0x466243b1, 1, NULL, NULL};
    static const unsigned char empty[16] = {0x50, 0xed, 0x55, 0xba, 1, 0, 16};
    const void *units[3] = {NULL};
    struct weir_fatbin fb;
    struct weir_fatbin_entry e;
    size_t n;
    unsigned char *c = build(WEIR_FATBIN_ZSTD, &n);

    (void)state;
    assert_int_equal(weir_fatbin_from_wrapper(&w, &fb), WEIR_ERR_INVALID_KERNEL_IMAGE);
    w.data = c;
    assert_int_equal(weir_fatbin_from_wrapper(&w, &fb), WEIR_OK);
    assert_int_equal(fb.entry_count, 2);
    assert_int_equal(weir_fatbin_unit(&w, 0, &fb), WEIR_OK);
    assert_null(fb.data);
    w.version = 2;
    w.more = units;
    units[0] = units[1] = c;
    assert_int_equal(weir_fatbin_unit(&w, 1, &fb), WEIR_OK);
    assert_ptr_equal(fb.data, c);
    assert_int_equal(weir_fatbin_unit(&w, 2, &fb), WEIR_OK);
    assert_null(fb.data);
    /* The wrapper's own container is linked code that has no PTX: the units have it. */
    w.data = empty;
    assert_int_equal(weir_fatbin_from_wrapper(&w, &fb), WEIR_OK);
    assert_int_equal(fb.unit_count, 2);
    assert_int_equal(weir_fatbin_select(&fb, 89, &e), WEIR_ERR_NO_KERNEL_IMAGE_FOR_DEVICE);
    units[1] = NULL;
    assert_int_equal(weir_fatbin_from_wrapper(&w, &fb), WEIR_OK);
    assert_int_equal(fb.unit_count, 1);
    units[0] = empty + 1; /* no container */
    assert_int_equal(weir_fatbin_from_wrapper(&w, &fb), WEIR_ERR_INVALID_KERNEL_IMAGE);
    units[0] = NULL;
    w.version = 3;
    assert_int_equal(weir_fatbin_from_wrapper(&w, &fb), WEIR_ERR_INVALID_KERNEL_IMAGE);
    w.magic++;
    assert_int_equal(weir_fatbin_from_wrapper(&w, &fb), WEIR_ERR_INVALID_KERNEL_IMAGE);
    assert_int_equal(weir_fatbin_from_wrapper(NULL, &fb), WEIR_ERR_INVALID_KERNEL_IMAGE);
    weir_free(c);
}

static unsigned sink;

/* Everything a program's container goes through. True when all of it succeeded. */
static bool use(const unsigned char *c, size_t n)
{
    struct weir_fatbin fb;
    struct weir_fatbin_entry e;
    bool ok = true;

    if (weir_fatbin_open(c, n, &fb) != WEIR_OK)
        return false;
    if (weir_fatbin_select(&fb, 90, &e) != WEIR_OK)
        ok = false;
    for (uint32_t i = 0; i < fb.entry_count; i++) {
        char *text;
        size_t bytes;

        if (weir_fatbin_entry(&fb, i, &e) != WEIR_OK ||
            weir_fatbin_unpack(&e, &text, &bytes) != WEIR_OK) {
            ok = false;
            continue;
        }
        for (size_t k = 0; k < bytes; k++)
            sink += (unsigned char)text[k];
        for (uint32_t k = 0; k < e.name_bytes; k++)
            sink += (unsigned char)e.name[k];
        weir_free(text);
    }
    return ok;
}

static void test_damage(void **state)
{
    static const unsigned char flips[] = {0xff, 0x01, 0x80, 0x10};
    unsigned char *map =
        mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_ptr_not_equal(map, MAP_FAILED);
    assert_int_equal(mprotect(map + PAGE, PAGE, PROT_NONE), 0);
    for (int packing = WEIR_FATBIN_PLAIN; packing <= WEIR_FATBIN_ZSTD; packing++) {
        size_t n;
        unsigned char *c = build((enum weir_fatbin_packing)packing, &n), *at = map + PAGE - n;

        assert_true(n <= PAGE);
        memcpy(at, c, n);
        assert_true(use(at, n));
        for (size_t i = 0; i < n; i++) {
            for (size_t k = 0; k < sizeof flips; k++) {
                at[i] ^= flips[k];
                use(at, n);
                at[i] ^= flips[k];
            }
        }
        for (size_t cut = 0; cut < n; cut++) {
            memmove(map + PAGE - cut, c, cut);
            assert_false(use(map + PAGE - cut, cut));
        }
        weir_free(c);
    }
    munmap(map, 2 * PAGE);
}

static void test_build_refuses(void **state)
{
    struct weir_fatbin_input in = {ptx_a, 0, 80, NULL};
    unsigned char *c;
    size_t n;

    (void)state;
    assert_int_equal(weir_fatbin_build(&in, 1, WEIR_FATBIN_PLAIN, &c, &n), WEIR_ERR_INVALID_VALUE);
    assert_int_equal(weir_fatbin_build(two, 2, WEIR_FATBIN_UNKNOWN, &c, &n),
                     WEIR_ERR_INVALID_VALUE);
    assert_null(c);
    weir_alloc_fail_after(1);
    assert_int_equal(weir_fatbin_build(two, 2, WEIR_FATBIN_PLAIN, &c, &n),
                     WEIR_ERR_MEMORY_ALLOCATION);
    weir_alloc_fail_after(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_build_and_read), cmocka_unit_test(test_packing_packs),
        cmocka_unit_test(test_select),         cmocka_unit_test(test_wrapper),
        cmocka_unit_test(test_damage),         cmocka_unit_test(test_build_refuses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
