/* Prints the names of the API's table, one a line, for exports.sh; checks the table itself on the
 * way.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "runtime/api.h"

/* docs/api-status.md */
static int print_status(const struct weir_api_entry *t, size_t n)
{
    const char *chapter = "";
    size_t done = 0;

    for (size_t i = 0; i < n; i++)
        done += t[i].done;
    printf("# The runtime API: what is there\n\n"
           "Made from `api/runtime.def` by `t_conform_table_names --status`. %zu of the %zu "
           "symbols of "
           "`libcudart.so.13`\nare carried out; the others return `cudaErrorNotSupported` and name "
           "themselves once on stderr.\n",
           done, n);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(chapter, t[i].chapter) != 0) {
            chapter = t[i].chapter;
            printf("\n## %s\n\n| function | |\n|---|---|\n", chapter);
        }
        if (!t[i].variant)
            printf("| `%s`%s | %s |\n", t[i].name,
                   i + 1 < n && t[i + 1].variant ? " and its per-thread form" : "",
                   t[i].done ? "yes" : "not yet");
    }
    return 0;
}

int main(int argc, char **argv)
{
    size_t n;
    const struct weir_api_entry *t = weir_api_table(&n);

    if (argc > 1 && strcmp(argv[1], "--status") == 0)
        return print_status(t, n);
    for (size_t i = 0; i < n; i++) {
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
