/* What the subcommands share: places, messages, sizes.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/profile.h"
#include "explore/schedule.h"
#include "plan/device.h"

bool weir_cli_libdir(char out[PATH_MAX])
{
    static const char *const places[] = {"lib", WEIR_CLI_LIBDIR};
    char self[PATH_MAX], prefix[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    if (n < 0) {
        fprintf(stderr, "weir: cannot tell where I am: %s\n", strerror(errno));
        return false;
    }
    self[n] = '\0';
    for (int up = 0; up < 2; up++) { /* the binary's name, then bin */
        char *slash = strrchr(self, '/');

        if (slash)
            *slash = '\0';
    }
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (snprintf(prefix, sizeof prefix, "%s/%s", self, places[i]) >= (int)sizeof prefix ||
            snprintf(out, PATH_MAX, "%s/libweir.so", prefix) >= PATH_MAX || access(out, R_OK) != 0)
            continue;
        strcpy(out, prefix);
        return true;
    }
    fprintf(stderr, "weir: libweir.so is not in %s/%s\n", self, places[0]);
    return false;
}

int weir_cli_usage_error(const char *subcommand, const char *fmt, ...)
{
    va_list va;

    fprintf(stderr, "weir %s: ", subcommand);
    va_start(va, fmt);
    vfprintf(stderr, fmt, va);
    va_end(va);
    fprintf(stderr, " (see `weir %s --help`)\n", subcommand);
    return WEIR_EXIT_USAGE;
}

bool weir_cli_parse_size(const char *text, unsigned long long *bytes)
{
    static const char units[] = "KMGT";
    unsigned long long n;
    int shift = 0;
    char *end;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    n = strtoull(text, &end, 10);
    if (*end) {
        const char *unit = strchr(units, *end >= 'a' && *end <= 'z' ? *end - 'a' + 'A' : *end);

        if (unit == NULL)
            return false;
        shift = 10 * (int)(unit - units + 1);
        end++;
        if (*end == 'i' && end[1])
            end++;
        if (*end == 'B' || *end == 'b')
            end++;
    }
    if (*end || errno || n == 0 || n > 1ull << 47 >> shift) /* an address space is no larger */
        return false;
    *bytes = n << shift;
    return true;
}

const char *weir_cli_schedule_problem(const char *spec)
{
    struct weir_schedule *s;

    if (*spec != '@' && weir_schedule_create(spec, &s) != WEIR_OK)
        return weir_err_message();
    if (*spec != '@')
        weir_schedule_destroy(s);
    return NULL;
}

bool weir_cli_machine(const char *command, const char *name, struct weir_profile *profile,
                      struct weir_plan_machine *m)
{
    if (weir_profile_load(name, profile) != WEIR_OK) {
        fprintf(stderr, "weir %s: %s\n", command, weir_err_message());
        return false;
    }
    if (weir_plan_machine_init(m, profile))
        return true;
    weir_profile_finish(profile);
    fprintf(stderr, "weir %s: the profile %s says no costs (cost h2d-gbps ...)\n", command, name);
    return false;
}
