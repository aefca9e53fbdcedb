/* Containers that nvcc makes, in every compression mode, against the plain one of the same program.
 * Skipped without nvcc.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "fatbin/fatbin.h"

static char dir[] = "/tmp/weir-fatbin-XXXXXX";

static int command(const char *fmt, const char *arg)
{
    char line[1024];

    snprintf(line, sizeof line, fmt, dir, dir, arg);
    return system(line);
}

static unsigned char *slurp(const char *name, size_t *n)
{
    char path[256];
    unsigned char *data = malloc(1 << 20);
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "rb");
    assert_non_null(f);
    *n = fread(data, 1, 1 << 20, f);
    fclose(f);
    return data;
}

static char *ptx_of(const char *mode, uint32_t sm, int *packing)
{
    struct weir_fatbin fb;
    struct weir_fatbin_entry e;
    unsigned char *c;
    char *text;
    size_t n;

    assert_int_equal(
        command("nvcc -fatbin -gencode arch=compute_80,code=[compute_80,sm_80] -gencode "
                "arch=compute_90,code=compute_90 -gencode arch=compute_90a,code=compute_90a "
                "-o %s/x.fatbin %s/x.cu -Xfatbin -compress-mode=%s",
                mode),
        0);
    c = slurp("x.fatbin", &n);
    assert_int_equal(weir_fatbin_open(c, n, &fb), WEIR_OK);
    assert_int_equal(fb.entry_count, 4);
    assert_int_equal(weir_fatbin_select(&fb, sm, &e), WEIR_OK);
    *packing = e.packing;
    assert_int_equal(e.sm_suffix, 0);
    assert_int_equal(weir_fatbin_unpack(&e, &text, &n), WEIR_OK);
    assert_int_equal(strlen(text), n);
    free(c);
    return text;
}

static void test_modes(void **state)
{
    static const struct {
        const char *mode;
        int packing;
    } modes[] = {
        {"speed", WEIR_FATBIN_LZ4}, {"size", WEIR_FATBIN_ZSTD}, {"default", WEIR_FATBIN_ZSTD}};
    int packing;
    char *plain = ptx_of("none", 90, &packing);

    (void)state;
    assert_int_equal(packing, WEIR_FATBIN_PLAIN);
    assert_non_null(strstr(plain, ".target sm_90\n"));
    assert_non_null(strstr(plain, ".entry kernel"));
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        char *text = ptx_of(modes[i].mode, 90, &packing);

        assert_int_equal(packing, modes[i].packing);
        assert_string_equal(text, plain);
        weir_free(text);
    }
    weir_free(plain);
    plain = ptx_of("size", 89, &packing);
    assert_non_null(strstr(plain, ".target sm_80\n"));
    weir_free(plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_modes)};
    char path[256];
    FILE *f;
    int failed;

    if (system("nvcc --version >/dev/null 2>&1") != 0) {
        printf("skipped: no nvcc on PATH\n");
        return 77;
    }
    if (mkdtemp(dir) == NULL)
        return 1;
    snprintf(path, sizeof path, "%s/x.cu", dir);
    f = fopen(path, "w");
    if (f == NULL)
        return 1;
    fputs("extern \"C\" __global__ void kernel(float *p, int n)\n"
          "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) p[i] = p[i] * 2.0f + n; }\n",
          f);
    fclose(f);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(path, sizeof path, "rm -rf %s", dir);
    return system(path) != 0 || failed;
}
