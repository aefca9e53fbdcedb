/* Compiles ptx_nvcc.cu with the nvcc on PATH, for several targets and options, and parses what
 * comes out. Skipped (77) without nvcc. Arguments: the .cu file, or PTX files to try instead.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/ptx_text.h"

static bool check_file(const char *path)
{
    struct weir_ptx_error e;
    struct weir_ptx_module *m, *again;
    size_t bytes;
    char *text = ptx_text_read_file(path, &bytes), *printed;
    const char *difference;

    if (!text || weir_ptx_parse(text, bytes, &m, &e) != WEIR_OK) {
        printf("%s:%d:%d: %s\n", path, text ? e.line : 0, text ? e.column : 0,
               text ? e.message : "cannot be read");
        free(text);
        return false;
    }
    printed = ptx_text_of_module(m);
    if (weir_ptx_parse(printed, strlen(printed), &again, &e) != WEIR_OK) {
        printf("%s: printed text: %d:%d: %s\n", path, e.line, e.column, e.message);
        return false;
    }
    difference = ptx_text_difference(m, again);
    if (difference)
        printf("%s: %s\n", path, difference);
    printf("%s: %zu functions\n", path, m->function_count);
    weir_ptx_module_destroy(m);
    weir_ptx_module_destroy(again);
    free(printed);
    free(text);
    return difference == NULL;
}

static bool compile_and_check(const char *cu, const char *options, const char *ptx)
{
    char command[2048];

    snprintf(command, sizeof command, "nvcc -std=c++17 -ptx %s '%s' -o '%s' >&2", options, cu, ptx);
    if (system(command) != 0) {
        printf("this nvcc refuses: %s\n", options);
        return true; /* an older or newer one, without this target */
    }
    return check_file(ptx);
}

int main(int argc, char **argv)
{
    static const char *const options[] = {"-arch=compute_80", "-arch=compute_90 -lineinfo",
                                          "-arch=compute_75 -G"};
    char dir[] = "/tmp/weir-ptx-XXXXXX", ptx[64];
    bool ok = true;

    if (argc < 2)
        return 2;
    if (!strstr(argv[1], ".cu") || strstr(argv[1], ".ptx")) {
        for (int i = 1; i < argc; i++)
            ok &= check_file(argv[i]);
        return ok ? 0 : 1;
    }
    if (system("command -v nvcc >/dev/null 2>&1") != 0) {
        printf("skipped: no nvcc on PATH\n");
        return 77;
    }
    if (!mkdtemp(dir))
        return 2;
    snprintf(ptx, sizeof ptx, "%s/a.ptx", dir);
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        ok &= compile_and_check(argv[1], options[i], ptx);
    unlink(ptx);
    rmdir(dir);
    return ok ? 0 : 1;
}
