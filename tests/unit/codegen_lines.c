/* The line of a place in an object, by what an ordinary compiler wrote; and objects that are
 * damaged.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/object.h"

static unsigned char *object;
static size_t object_bytes;
static const char *source;

/* The first line with `text` in the object's source. */
static uint32_t line_with(const char *text)
{
    char line[512];
    FILE *f = fopen(source, "r");
    uint32_t n = 0;

    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        n++;
        if (strncmp(line, text, strlen(text)) == 0 && !strchr(line, ';'))
            break;
    }
    fclose(f);
    return n;
}

static void lines(void **state)
{
    struct weir_object o;
    Elf64_Sym f;
    uint32_t first = line_with("uint32_t weir_kernel("), next = line_with("double object_sin(");
    uint32_t last = 0;

    (void)state;
    assert_true(weir_object_open(&o, object, object_bytes));
    assert_true(weir_object_symbol(&o, "weir_kernel", &f));
    for (uint64_t at = 0; at < f.st_size; at++) {
        uint32_t line = weir_object_line(&o, "weir_kernel", at);

        assert_in_range(line, first, next - 1);
        last = line > last ? line : last;
    }
    assert_true(last > first);
    /* a function begins at its name, or at its brace */
    assert_in_range(weir_object_line(&o, "weir_kernel", 0), first, first + 1);
    assert_in_range(weir_object_line(&o, "object_sin", 0), next, next + 1);
    assert_int_equal(weir_object_line(&o, "weir_kernel", 1 << 20), 0);
    assert_int_equal(weir_object_line(&o, "no_function", 0), 0);
}

/* Nothing is asked of the answers, only that there is one. */
static void damaged(void **state)
{
    unsigned char *copy = malloc(object_bytes);
    uint32_t r = 1;

    (void)state;
    assert_non_null(copy);
    for (int round = 0; round < 3000; round++) {
        struct weir_object o;
        Elf64_Rela rela;
        Elf64_Sym s;
        size_t bytes = object_bytes;

        memcpy(copy, object, object_bytes);
        for (int k = 0; k < 4; k++) {
            r = r * 1664525 + 1013904223;
            copy[(r >> 8) % object_bytes] = (unsigned char)(r >> 24);
        }
        r = r * 1664525 + 1013904223;
        if (r >> 31)
            bytes = (r >> 4) % object_bytes;
        unsigned char *exact = malloc(bytes + 1); /* so that sanitizers see the end */
        assert_non_null(exact);
        memcpy(exact, copy, bytes);
        if (weir_object_open(&o, exact, bytes)) {
            (void)weir_object_line(&o, "weir_kernel", (uint64_t)round % 64);
            (void)weir_object_relocation(&o, weir_object_section_named(&o, ".text"), 3, &rela, &s);
        }
        free(exact);
    }
    free(copy);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lines), cmocka_unit_test(damaged)};
    FILE *f = argc > 2 ? fopen(argv[1], "rb") : NULL;
    int failed;

    if (!f)
        return 2;
    source = argv[2];
    object = malloc(1 << 20);
    object_bytes = object ? fread(object, 1, 1 << 20, f) : 0;
    fclose(f);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(object);
    return failed;
}
