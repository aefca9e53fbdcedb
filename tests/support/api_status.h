/* What the pages docs/api-status.md and docs/driver-status.md have in common: what a column HOST
 * means (api/host.def), and which tests call a function (the lines of tools/api-tests).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TESTS_API_STATUS_H
#define WEIR_TESTS_API_STATUS_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct status_host {
    const char *name, *brief, *text, *rules, *probes;
} status_hosts[] = {
#define WEIR_HOST(name, brief, text, rules, probes) {#name, brief, text, rules, probes},
#define WEIR_WHY(name, text)                        {#name, NULL, text, NULL, NULL},
#include "host.def"
};

static inline const struct status_host *status_host(const char *name)
{
    for (size_t i = 0; name && i < sizeof status_hosts / sizeof *status_hosts; i++) {
        if (strcmp(status_hosts[i].name, name) == 0)
            return &status_hosts[i];
    }
    return NULL;
}

/* The file's text, for status_tests; NULL when there is none. The caller frees it. */
static inline char *status_read(const char *path)
{
    FILE *f = path ? fopen(path, "r") : NULL;
    char *text = NULL;
    size_t size = 0, n;

    while (f) {
        text = realloc(text, size + 65536);
        n = text ? fread(text + size, 1, 65535, f) : 0;
        if (n == 0)
            break;
        size += n;
    }
    if (f)
        fclose(f);
    if (text)
        text[size] = '\0';
    return text;
}

/* Prints the tests that call it, the first few by name; false when there is none. */
static inline bool status_tests(const char *text, const char *name)
{
    enum { SHOWN = 3 };
    size_t n = strlen(name);
    int count = 0;

    for (const char *line = text; line && *line; line += *line == '\n') {
        size_t size = strcspn(line, "\n");

        if (size > n && strncmp(line, name, n) == 0 && line[n] == ' ') {
            for (const char *p = line + n; p < line + size; count++) {
                size_t word = strcspn(p + 1, " \n");

                if (count < SHOWN)
                    printf("%s%.*s", count ? ", " : "", (int)word, p + 1);
                p += 1 + word;
            }
            if (count > SHOWN)
                printf(" and %d", count - SHOWN);
            return true;
        }
        line += size;
    }
    return false;
}

/* One row of the table. base: what headers call it. */
static inline void status_row(const char *name, const char *base, bool twice, bool done,
                              const char *host, const char *tests)
{
    const struct status_host *h = status_host(host);

    printf("| `%s`%s | %s%s | ", name, twice ? " and its per-thread form" : "",
           done ? (h && h->brief ? h->brief : "") : "**no**: ",
           done ? ""
           : h  ? h->text
                : "");
    if (done && !status_tests(tests, name))
        status_tests(tests, base);
    puts(" |");
}

static inline void status_legend(void)
{
    puts("\n## What calls do to the thread that makes them\n\n| in the tables | what that is | "
         "rules "
         "| measured |\n|---|---|---|---|");
    for (size_t i = 0; i < sizeof status_hosts / sizeof *status_hosts; i++) {
        if (status_hosts[i].brief)
            printf("| %s (%s) | %s | %s | %s |\n",
                   *status_hosts[i].brief ? status_hosts[i].brief : "nothing", status_hosts[i].name,
                   status_hosts[i].text, status_hosts[i].rules, status_hosts[i].probes);
    }
}

#endif
