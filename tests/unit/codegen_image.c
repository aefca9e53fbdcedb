/* The object loader: a real object works; damaged ones (every byte changed in turn, cut at every
 * length) give an error or load, but never crash; what the compiler must not make is refused.
 * SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "codegen/image.h"

struct object {
    unsigned char *data;
    size_t bytes;
};
static struct object pic, absolute;

static struct object read_object(const char *path)
{
    struct object o = {malloc(1 << 20), 0};
    FILE *f = fopen(path, "rb");

    if (!f || !o.data) {
        perror(path);
        exit(1);
    }
    o.bytes = fread(o.data, 1, 1 << 20, f);
    fclose(f);
    return o;
}

typedef uint32_t kernel_fn(void *);
typedef double sin_fn(double);
typedef uint64_t switch_fn(unsigned, uint64_t);
typedef const char *string_fn(unsigned);
typedef uint32_t count_fn(void);
typedef void *pointer_fn(void);

/* memcpy between object and function pointers keeps the compiler's pedantry away. */
#define FUNCTION(image, type, name, variable)                                                      \
    type *variable;                                                                                \
    do {                                                                                           \
        void *p_ = weir_image_function((image), (name));                                           \
        assert_non_null(p_);                                                                       \
        memcpy(&variable, &p_, sizeof p_);                                                         \
    } while (0)

static void test_runs(void **state)
{
    struct weir_image *image;
    unsigned char buffer[64] = {0};

    (void)state;
    assert_int_equal(weir_image_load(pic.data, pic.bytes, &image), WEIR_OK);
    FUNCTION(image, kernel_fn, "weir_kernel", kernel);
    FUNCTION(image, sin_fn, "object_sin", object_sin);
    FUNCTION(image, switch_fn, "object_switch", object_switch);
    FUNCTION(image, string_fn, "object_string", object_string);
    FUNCTION(image, count_fn, "object_count", object_count);
    FUNCTION(image, pointer_fn, "object_sin_pointer", object_sin_pointer);
    assert_int_equal(kernel(buffer), 42);
    assert_int_equal(buffer[9], 10);
    assert_true(object_sin(0.75) == sin(0.75) * 2 + 0.1);
    assert_ptr_equal(object_sin_pointer(), weir_image_external("sin"));
    assert_int_equal(object_switch(0, 100), 300);
    assert_int_equal(object_switch(2, 100), 14);
    assert_int_equal(object_switch(4, 0), UINT64_MAX);
    assert_int_equal(object_switch(5, 3), 10);
    assert_int_equal(object_switch(6, 5003), 3);
    assert_string_equal(object_string(2), "two");
    assert_int_equal(object_count(), 10);
    assert_int_equal(object_count(), 13);
    assert_null(weir_image_function(image, "sin"));
    assert_null(weir_image_function(image, "object_counter"));
    assert_null(weir_image_function(image, ""));
    weir_image_unload(image);
    weir_image_unload(NULL);
}

/* Two images at a time have their own data. */
static void test_independent(void **state)
{
    struct weir_image *a, *b;

    (void)state;
    assert_int_equal(weir_image_load(pic.data, pic.bytes, &a), WEIR_OK);
    assert_int_equal(weir_image_load(pic.data, pic.bytes, &b), WEIR_OK);
    FUNCTION(a, count_fn, "object_count", count_a);
    FUNCTION(b, count_fn, "object_count", count_b);
    assert_int_equal(count_a(), 10);
    assert_int_equal(count_b(), 10);
    weir_image_unload(a);
    assert_int_equal(count_b(), 13);
    weir_image_unload(b);
}

/* Never writable and executable at once. */
static void test_protection(void **state)
{
    struct weir_image *image;
    char line[512];
    FILE *maps;
    bool found = false;
    uintptr_t at;

    (void)state;
    assert_int_equal(weir_image_load(pic.data, pic.bytes, &image), WEIR_OK);
    at = (uintptr_t)weir_image_function(image, "weir_kernel");
    maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps)) {
        unsigned long from, to;
        char prot[5];

        if (sscanf(line, "%lx-%lx %4s", &from, &to, prot) == 3) {
            assert_false(prot[1] == 'w' && prot[2] == 'x' && from <= at && at < to);
            if (from <= at && at < to) {
                assert_string_equal(prot, "r-xp");
                found = true;
            }
        }
    }
    fclose(maps);
    assert_true(found);
    weir_image_unload(image);
}

static void test_absolute_refused(void **state)
{
    struct weir_image *image;

    (void)state;
    assert_int_equal(weir_image_load(absolute.data, absolute.bytes, &image),
                     WEIR_ERR_INVALID_KERNEL_IMAGE);
    assert_null(image);
}

static void test_cut(void **state)
{
    struct weir_image *image;

    (void)state;
    for (size_t n = 0; n < pic.bytes; n++) {
        unsigned char *exact = malloc(n + 1); /* a sanitizer sees a read past the end */

        memcpy(exact + 1, pic.data, n);
        if (weir_image_load(exact + 1, n, &image) == WEIR_OK)
            weir_image_unload(image);
        else
            assert_null(image);
        free(exact);
    }
}

static void test_damaged(void **state)
{
    static const unsigned char values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    unsigned char *copy = malloc(pic.bytes);
    struct weir_image *image;

    (void)state;
    for (size_t i = 0; i < pic.bytes; i++) {
        memcpy(copy, pic.data, pic.bytes);
        for (size_t v = 0; v < sizeof values; v++) {
            copy[i] = values[v];
            if (weir_image_load(copy, pic.bytes, &image) == WEIR_OK)
                weir_image_unload(image);
        }
    }
    free(copy);
}

/* An undefined symbol that is not on the list. */
static void test_foreign_symbol(void **state)
{
    unsigned char *copy = malloc(pic.bytes);
    struct weir_image *image;
    bool renamed = false;

    (void)state;
    memcpy(copy, pic.data, pic.bytes);
    for (size_t i = 0; i + 7 < pic.bytes; i++) {
        if (memcmp(copy + i, "\0memcpy", 8) == 0) {
            memcpy(copy + i, "\0system", 8);
            renamed = true;
        }
    }
    assert_true(renamed);
    assert_int_equal(weir_image_load(copy, pic.bytes, &image), WEIR_ERR_INVALID_KERNEL_IMAGE);
    assert_non_null(strstr(weir_err_message(), "system"));
    assert_null(weir_image_external("system"));
    free(copy);
}

static void test_out_of_memory(void **state)
{
    struct weir_image *image;
    enum weir_err err = WEIR_ERR_MEMORY_ALLOCATION;

    (void)state;
    for (long n = 1; n < 100 && err; n++) {
        weir_alloc_fail_after(n);
        err = weir_image_load(pic.data, pic.bytes, &image);
        weir_alloc_fail_after(0);
        assert_true(err == WEIR_OK || err == WEIR_ERR_MEMORY_ALLOCATION);
    }
    assert_int_equal(err, WEIR_OK);
    weir_image_unload(image);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_independent),
        cmocka_unit_test(test_protection),
        cmocka_unit_test(test_absolute_refused),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_foreign_symbol),
        cmocka_unit_test(test_out_of_memory),
    };

    if (argc < 3)
        return 1;
    pic = read_object(argv[1]);
    absolute = read_object(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
