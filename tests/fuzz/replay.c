/* Runs a fuzzer's function over the files of a folder, each also cut short at some lengths. For
 * builds without libFuzzer.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"

static int replay_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data = malloc(1 << 20), *copy;
    size_t n;

    if (f == NULL || data == NULL) {
        perror(path);
        exit(1);
    }
    n = fread(data, 1, 1 << 20, f);
    fclose(f);
    for (size_t cut = 0; cut <= 8; cut++) {
        size_t part = n - n * cut / 8;

        copy = malloc(part + 1); /* of exact size, so that a sanitizer sees one byte too many */
        memcpy(copy + 1, data, part);
        LLVMFuzzerTestOneInput(copy + 1, part);
        free(copy);
    }
    free(data);
    return 1;
}

int main(int argc, char **argv)
{
    int files = 0;

    for (int i = 1; i < argc; i++) {
        DIR *dir = opendir(argv[i]);
        struct dirent *entry;

        if (dir == NULL) {
            perror(argv[i]);
            return 1;
        }
        while ((entry = readdir(dir)) != NULL) {
            char path[4096];

            if (entry->d_name[0] == '.')
                continue;
            snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name);
            files += replay_file(path);
        }
        closedir(dir);
    }
    printf("%d inputs\n", files);
    return files > 0 ? 0 : 1;
}
