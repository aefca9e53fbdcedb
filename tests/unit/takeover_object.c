/* Reading an object's symbols: the functions of the miniature runtime that is linked into this very
 * test, and files damaged in every byte of their headers, section headers and symbols.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "takeover/object.h"

static const struct weir_object_function *find(const struct weir_object *o, const char *name)
{
    for (size_t i = 0; i < o->function_count; i++) {
        if (strcmp(o->functions[i].name, name) == 0)
            return &o->functions[i];
    }
    return NULL;
}

static void test_functions(void **state)
{
    static const struct {
        const char *name;
        uint64_t gap;
    } want[] = {{"cudaMalloc", 16},    {"cudaGetDeviceCount", 5},    {"cudaSetDevice", 3},
                {"cudaGetDevice", 12}, {"cudaDeviceSynchronize", 3}, {"cudaMemAdvise", 16},
                {"cudaHelper", 16}};
    struct weir_object o;

    (void)state;
    assert_true(weir_object_open(&o, "/proc/self/exe", false));
    assert_true(o.has_symbols);
    assert_true(o.has_device_code);
    assert_false(o.imports_cudart);
    assert_true(weir_object_has_cudart(&o));
    assert_false(weir_object_is_cuda12(&o));
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        const struct weir_object_function *f = find(&o, want[i].name);

        assert_non_null(f);
        assert_int_equal(f->gap, want[i].gap);
    }
    assert_int_equal(find(&o, "cudaFree")->value, find(&o, "cudaFreeAlias")->value);
    assert_int_equal(find(&o, "cudaFree")->gap, find(&o, "cudaFreeAlias")->gap);
    assert_true(find(&o, "cudaFree")->gap >= 40);
    for (size_t i = 1; i < o.function_count; i++)
        assert_true(o.functions[i - 1].value <= o.functions[i].value);
    weir_object_close(&o);
}

static void test_no_object(void **state)
{
    struct weir_object o;

    (void)state;
    assert_false(weir_object_open(&o, "/nonexistent", false));
    assert_false(weir_object_open(&o, "/proc/self/cmdline", false));
    assert_false(weir_object_open(&o, "/", false));
    assert_false(weir_object_open(&o, "/dev/null", false));
}

static unsigned long used;

/* Whatever is found must lie in the file. */
static void use(const char *path)
{
    for (int exports = 0; exports < 2; exports++) {
        struct weir_object o;

        if (!weir_object_open(&o, path, exports))
            continue;
        for (size_t i = 0; i < o.function_count; i++) {
            used += strlen(o.functions[i].name) + o.functions[i].bytes[0];
            if (o.functions[i].gap >= 5)
                used += o.functions[i].bytes[4];
        }
        used += weir_object_has_cudart(&o);
        weir_object_close(&o);
    }
}

static void damage(int fd, const unsigned char *file, size_t from, size_t bytes, const char *path)
{
    static const unsigned char flips[] = {0xff, 0x01};

    for (size_t at = from; at < from + bytes; at++) {
        for (size_t k = 0; k < sizeof flips; k++) {
            unsigned char b = file[at] ^ flips[k];

            assert_int_equal(pwrite(fd, &b, 1, (off_t)at), 1);
            use(path);
        }
        assert_int_equal(pwrite(fd, file + at, 1, (off_t)at), 1);
    }
}

static void test_damage(void **state)
{
    int exe = open("/proc/self/exe", O_RDONLY), fd = memfd_create("object", 0);
    const Elf64_Ehdr *e;
    const Elf64_Shdr *s;
    unsigned char *file;
    char path[64];
    struct stat st;

    (void)state;
    assert_int_equal(fstat(exe, &st), 0);
    file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, exe, 0);
    assert_ptr_not_equal(file, MAP_FAILED);
    assert_int_equal(write(fd, file, (size_t)st.st_size), st.st_size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    e = (const Elf64_Ehdr *)file;
    s = (const Elf64_Shdr *)(file + e->e_shoff);
    damage(fd, file, 0, sizeof *e, path);
    damage(fd, file, e->e_shoff, e->e_shnum * sizeof *s, path);
    for (size_t i = 0; i < e->e_shnum; i++) {
        if (s[i].sh_type == SHT_SYMTAB)
            damage(fd, file, s[i].sh_offset + s[i].sh_size / 2,
                   s[i].sh_size / 2 < 600 ? s[i].sh_size / 2 : 600, path);
    }
    for (off_t cut = st.st_size - 1; cut > 0; cut -= 97) {
        assert_int_equal(ftruncate(fd, cut), 0);
        use(path);
    }
    assert_true(used > 0);
    munmap(file, (size_t)st.st_size);
    close(fd);
    close(exe);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_functions),
                                       cmocka_unit_test(test_no_object),
                                       cmocka_unit_test(test_damage)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
