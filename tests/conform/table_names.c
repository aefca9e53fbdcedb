/* Prints the names of the API's table, one a line, for exports.sh; checks the table itself on the
 * way.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "api_status.h"
#include "runtime/api.h"

/* Why libcudart.so.12 lacks it: as 13 does, or as it says here; NULL: nobody knows. */
static const char *why_12(const char *name)
{
    static const char *const own[][2] = {
        {"cudaGetDeviceProperties", "the struct of CUDA 11, which no header of 12 names"},
        {"cudaLaunchCooperativeKernelMultiDevice",
         "one launch on several devices: given up by CUDA with 11.3, and gone in 13"},
    };
    size_t n;
    const struct weir_api_entry *t = weir_api_table(&n);

    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        if (strcmp(own[i][0], name) == 0)
            return own[i][1];
    }
    for (size_t i = 0; i < n; i++) {
        const struct status_host *h = status_host(t[i].host);

        if (strcmp(t[i].name, name) == 0 && !t[i].done && h)
            return h->text;
    }
    return NULL;
}

static int print_status_12(void)
{
    const struct weir_api_entry *t;
    size_t n, own = 0, done = 0;

    t = weir_api_table_12(&n);
    for (size_t i = 0; i < n; i++) {
        own += !t[i].same;
        done += t[i].done;
    }
    printf("\nPrograms of CUDA 12 get the same functions from `libcudart.so.12`; %zu of the %zu "
           "symbols that differ there\n(older parameters or structs, or gone in 13) are "
           "carried out. Not these:\n\n",
           done, own);
    for (size_t i = 0; i < n; i++) {
        if (!t[i].done && !t[i].same && !t[i].variant)
            printf("- `%s`: %s\n", t[i].name, why_12(t[i].name) ? why_12(t[i].name) : "?");
        if (!t[i].done && !t[i].same && !why_12(t[i].name) && !t[i].variant) {
            fprintf(stderr, "%s: not there, and nothing says why\n", t[i].name);
            return 1;
        }
    }
    return 0;
}

/* docs/api-status.md */
static int print_status(const struct weir_api_entry *t, size_t n, const char *tests)
{
    const char *chapter = "";
    size_t done = 0;

    for (size_t i = 0; i < n; i++)
        done += t[i].done;
    printf(
        "# The runtime API: what is there\n\n"
        "Made from `api/runtime.def`, `api/host.def` and the tests by `tools/api-status`. %zu of "
        "the %zu symbols of\n`libcudart.so.13` are carried out; the others return "
        "`cudaErrorNotSupported` and name themselves once on stderr: why is\nwith each. The "
        "tables tell what a call does to the thread that makes it, and which tests call it.\n",
        done, n);
    if (print_status_12() != 0)
        return 1;
    status_legend();
    for (size_t i = 0; i < n; i++) {
        if (strcmp(chapter, t[i].chapter) != 0) {
            chapter = t[i].chapter;
            printf("\n## %s\n\n| function | the calling thread | tests |\n|---|---|---|\n",
                   chapter);
        }
        if (!t[i].variant)
            status_row(t[i].name, t[i].name, i + 1 < n && t[i + 1].variant, t[i].done, t[i].host,
                       tests);
    }
    return 0;
}

/* Every name in the column HOST is one of api/host.def, of the right kind. */
static int check_hosts(const struct weir_api_entry *t, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct status_host *h = status_host(t[i].host);

        if (t[i].host ? h == NULL || (h->brief != NULL) != t[i].done : !t[i].done) {
            fprintf(stderr, "%s: %s is no name for its column HOST\n", t[i].name, t[i].host);
            return 1;
        }
    }
    return 0;
}

static bool is_in(const char *name, const struct weir_api_entry *t, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(t[i].name, name) == 0)
            return true;
    }
    return false;
}

/* Of libcudart.so.12: those of 13 that are in 12 as well, and what is 12's own. */
static int print_12(const struct weir_api_entry *t, size_t n)
{
    static const struct weir_api_entry only_13[] = {
#define WEIR_API(...)
#define WEIR_API_VALUE(...)
#define WEIR_API_INTERNAL(...)
#define WEIR_API_REGISTER(...)
#define WEIR_API_12(...)
#define WEIR_API_12_SAME(...)
#define WEIR_API_13(symbol) {.name = #symbol},
#include "runtime.def"
    };
    size_t n12;
    const struct weir_api_entry *t12 = weir_api_table_12(&n12);

    for (size_t i = 0; i < n; i++) {
        if (!is_in(t[i].name, only_13, WEIR_ARRAY_SIZE(only_13)) && !is_in(t[i].name, t12, n12))
            puts(t[i].name);
    }
    for (size_t i = 0; i < n12; i++) {
        if (is_in(t12[i].name, t12, i) || (t12[i].same && !is_in(t12[i].same, t, n)))
            return 1;
        puts(t12[i].name);
    }
    for (size_t i = 0; i < WEIR_ARRAY_SIZE(only_13); i++) {
        if (!is_in(only_13[i].name, t, n))
            return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    size_t n;
    const struct weir_api_entry *t = weir_api_table(&n);

    if (check_hosts(t, n))
        return 1;
    if (argc > 1 && strcmp(argv[1], "--status") == 0) {
        char *tests = status_read(argc > 2 ? argv[2] : NULL);
        int status = print_status(t, n, tests);

        free(tests);
        return status;
    }
    if (argc > 1 && strcmp(argv[1], "--12") == 0)
        return print_12(t, n);
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
