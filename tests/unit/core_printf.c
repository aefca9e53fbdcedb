/* printf of kernels: the device's argument layout, every documented conversion, formats that are
 * broken or end early.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/printf.h"

/* Arguments as the device lays them out. */
struct args {
    unsigned char data[256];
    size_t used;
};

static void put(struct args *a, const void *value, size_t bytes)
{
    a->used = (a->used + bytes - 1) / bytes * bytes;
    memcpy(a->data + a->used, value, bytes);
    a->used += bytes;
}

static void put_int(struct args *a, int v)
{
    put(a, &v, 4);
}

static void put_long(struct args *a, int64_t v)
{
    put(a, &v, 8);
}

static void put_double(struct args *a, double v)
{
    put(a, &v, 8);
}

static const char *read_string(void *arg, uint64_t address, size_t *max)
{
    const char *s = (const char *)(uintptr_t)address;

    (void)arg;
    if (!s)
        return NULL;
    *max = strlen(s) + 1;
    return s;
}

static unsigned check(const char *format, struct args *a, const char *expected)
{
    struct weir_printf_args args = {.data = a->data, .bytes = a->used, .string = read_string};
    char out[200];
    int n = weir_printf_format(out, sizeof out, format, strlen(format) + 1, &args);

    assert_string_equal(out, expected);
    assert_int_equal(n, strlen(expected));
    return args.count;
}

static void test_conversions(void **state)
{
    struct args a = {.used = 0};
    const char *text = "text";

    (void)state;
    put_int(&a, -5);
    put_double(&a, 1.25);
    put_int(&a, 'x');
    put_long(&a, (int64_t)(uintptr_t)text);
    put_long(&a, -1234567890123);
    put_int(&a, -1);
    put_int(&a, 255);
    put_long(&a, 0x10);
    assert_int_equal(check("%d|%5.2f|%c|%s|%lld|%u|%#x|%p\n", &a,
                           "-5| 1.25|x|text|-1234567890123|4294967295|0xff|0x10\n"),
                     8);
}

static void test_widths(void **state)
{
    struct args a = {.used = 0};

    (void)state;
    put_int(&a, 6);
    put_int(&a, 42);
    put_int(&a, 3);
    put_double(&a, 2.0 / 3);
    put_int(&a, 300);
    put_int(&a, 70000);
    put_int(&a, 7);
    assert_int_equal(
        check("[%*d][%.*f][%hhd][%hd][%-4d]%%", &a, "[    42][0.667][44][4464][7   ]%"), 5);
}

static void test_broken(void **state)
{
    struct args none = {.used = 0};

    (void)state;
    check("100%", &none, "100%");
    check("%y %", &none, "%y %");
    check("%d", &none, "0"); /* an argument that is not there */
    check("%s", &none, "(null)");
    check("%-+ #0123456789.0123456789012345678901234567890d", &none,
          "%-+ #0123456789.0123456789012345678901234567890d");
}

static void test_bounds(void **state)
{
    struct weir_printf_args args = {.string = read_string};
    char out[8], format[4] = {'a', 'b', 'c', 'd'}; /* not terminated */

    (void)state;
    assert_int_equal(weir_printf_format(out, sizeof out, format, sizeof format, &args), 4);
    assert_string_equal(out, "abcd");
    assert_int_equal(weir_printf_format(out, sizeof out, "0123456789", 11, &args), 7);
    assert_string_equal(out, "0123456");
    assert_int_equal(weir_printf_format(out, sizeof out, "abc%99d", 8, &args), 7);
}

static void test_buffer(void **state)
{
    struct weir_printf_buffer b = {.lock = WEIR_LOCK_INIT(LEAF)};

    (void)state;
    weir_printf_append(&b, "abc", 3, 100);
    weir_printf_append(&b, "defg", 4, 100);
    assert_int_equal(atomic_load(&b.used), 7);
    assert_memory_equal(b.text, "abcdefg", 7);
    weir_printf_append(&b, "hi", 2, 8); /* would pass the limit: written out first */
    assert_int_equal(atomic_load(&b.used), 2);
    weir_printf_drain(&b);
    assert_int_equal(atomic_load(&b.used), 0);
    weir_printf_buffer_finish(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conversions), cmocka_unit_test(test_widths),
        cmocka_unit_test(test_broken),      cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_buffer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
