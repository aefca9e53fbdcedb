/* Prints the names of the API's table, one a line, for exports.sh; --status: docs/driver-status.md.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "api_status.h"
#include "driver/api.h"

static int print_status(const struct weir_driver_entry *t, size_t n, const char *tests)
{
    const char *chapter = "";
    size_t done = 0;

    for (size_t i = 0; i < n; i++)
        done += t[i].done;
    printf("# The driver API: what is there\n\n"
           "Made from `api/driver.def`, `api/host.def` and the tests by `tools/api-status`. %zu of "
           "the %zu symbols of\n`libcuda.so.1` are carried out; the others return "
           "`CUDA_ERROR_NOT_SUPPORTED` and name themselves once on stderr: why is\nwith each. What "
           "calls do to the thread that makes them: [api-status.md](api-status.md) says what the "
           "words mean.\n",
           done, n);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(chapter, t[i].chapter) != 0) {
            chapter = t[i].chapter;
            printf("\n## %s\n\n| function | the calling thread | tests |\n|---|---|---|\n",
                   chapter);
        }
        if (!t[i].variant)
            status_row(t[i].name, t[i].base, i + 1 < n && t[i + 1].variant, t[i].done, t[i].host,
                       tests);
    }
    return 0;
}

int main(int argc, char **argv)
{
    size_t n;
    const struct weir_driver_entry *t = weir_api_driver_table(&n);

    if (argc > 1 && strcmp(argv[1], "--status") == 0) {
        char *tests = status_read(argc > 2 ? argv[2] : NULL);
        int status = print_status(t, n, tests);

        free(tests);
        return status;
    }
    for (size_t i = 0; i < n; i++) {
        const struct status_host *h = status_host(t[i].host);

        if (h == NULL || (h->brief != NULL) != t[i].done) {
            fprintf(stderr, "%s: %s is no name for its column HOST\n", t[i].name, t[i].host);
            return 1;
        }
        for (size_t k = 0; k < i; k++) {
            if (strcmp(t[i].name, t[k].name) == 0) {
                fprintf(stderr, "%s is there twice\n", t[i].name);
                return 1;
            }
        }
        puts(t[i].name);
    }
    return 0;
}
