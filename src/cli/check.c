/* weir check: weir run with the checker on.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "check/settings.h"
#include "cli/cli.h"

static const char help[] =
    "usage: weir check [OPTIONS] [OPTIONS OF weir run] [--] PROGRAM [ARGUMENTS]\n"
    "\n"
    "Runs a CUDA program and finds accesses that no documented rule orders, whatever happened to "
    "be "
    "faster, and\n"
    "misuse of the API. The report goes to standard error when the program ends; the exit status "
    "is then 99.\n"
    "\n"
    "  --light          a kernel counts as touching all that its pointer arguments point to, "
    "written unless\n"
    "                   the parameter is a pointer to const or its PTX only reads there: faster, "
    "and wrong where\n"
    "                   kernels share an allocation without overlapping (default: byte by byte, "
    "as the kernels\n"
    "                   do it)\n"
    "  --exit-code N    the exit status when something was found (default: 99)\n"
    "  --json FILE      the report for programs (docs/check.md has the form)\n"
    "  --sarif FILE     the report as SARIF 2.1.0, for code scanning and editors\n"
    "  --format github  annotations for GitHub's runners instead of the text\n"
    "  --suppress FILE  findings not to report: a line each, such as \"kind=race kernel=fill* "
    "file=*/a.cu\"; all of\n"
    "                   kind=, function=, file=, kernel=, call= that a line has must fit. Unused "
    "lines are listed\n"
    "  --print-suppressions\n"
    "                   below each finding the line that silences it\n"
    "  --forbid LIST    the project's own policy, with commas between; --forbid help lists what "
    "there is\n"
    "  --leaks          what the program made and never gave back: memory, streams, events, "
    "graphs\n"
    "  --init           device memory that a kernel reads and nothing has written since its "
    "allocation: no copy,\n"
    "                   memset or kernel (uninitialised); memory that a pool gives again counts as "
    "new\n"
    "  --kernel-races   what the threads of one kernel do to each other: accesses to shared and "
    "global memory that no\n"
    "                   barrier or atomic orders, shared memory used before its cp.async was "
    "waited "
    "for, barriers that\n"
    "                   some threads do not come to (kernel-race, unfinished-copy, "
    "divergent-barrier); kernels are\n"
    "                   many times slower\n"
    "  --late-async     with --kernel-races: cp.async and bulk copies to shared memory land only "
    "when "
    "something waits for\n"
    "                   them, so that a kernel which reads too early has wrong results, too\n"
    "  --notes          all notes, also of waits that are not needed\n"
    "  --without LIST   orders that do not count: legacy (what the legacy default stream orders), "
    "free (that\n"
    "                   cudaFree waits): finds what is only ordered by luck of them\n"
    "  --help           this text\n"
    "\n"
    "Found: races between streams, copies, memsets, kernels, graph nodes, peer copies and devices "
    "(race);\n"
    "accesses of kernels outside of any allocation (out-of-bounds); memory used before or after "
    "its place in the stream (use-before-alloc, use-after-free); "
    "memory "
    "freed\n"
    "while an operation that nobody waited for may use it (lifetime); CUDA calls in host "
    "functions\n"
    "(callback-api); circles of waits (deadlock); calls that a capture forbids (capture-broken); "
    "destroyed streams, events and "
    "graphs in use\n"
    "(dead-handle); failed launches that nothing looked at (unchecked-error). Notes do not make "
    "the exit status.\n"
    "docs/check.md tells more.\n";

/* An option sets an environment variable that libweir.so reads. */
static const struct option {
    const char *name, *variable;
    bool has_value;
} options[] = {
    {"--exit-code", "WEIR_CHECK_STATUS", true},
    {"--json", "WEIR_CHECK_JSON", true},
    {"--sarif", "WEIR_CHECK_SARIF", true},
    {"--format", "WEIR_CHECK_FORMAT", true},
    {"--suppress", "WEIR_CHECK_SUPPRESS", true},
    {"--print-suppressions", "WEIR_CHECK_PRINT_SUPPRESSIONS", false},
    {"--forbid", "WEIR_CHECK_FORBID", true},
    {"--leaks", "WEIR_CHECK_LEAKS", false},
    {"--init", "WEIR_CHECK_INIT", false},
    {"--kernel-races", "WEIR_CHECK_KERNEL_RACES", false},
    {"--late-async", "WEIR_CHECK_LATE_ASYNC", false},
    {"--notes", "WEIR_CHECK_NOTES", false},
    {"--without", "WEIR_CHECK_WITHOUT", true},
};

static int list_policies(void)
{
    for (int i = 0; i < WEIR_POLICIES; i++)
        printf("%-16s %s\n", weir_policy_texts[i].word, weir_policy_texts[i].text);
    return 0;
}

/* A file of this run; an old one would look like its. */
static int prepare_file(const char *option, const char *path, char full[PATH_MAX])
{
    char folder[PATH_MAX];

    if (unlink(path) != 0 && errno != ENOENT)
        return weir_cli_usage_error("check", "%s: %s cannot be replaced: %s", option, path,
                                    strerror(errno));
    /* The program may go elsewhere. */
    if (*path == '/' || !getcwd(folder, sizeof folder) ||
        snprintf(full, PATH_MAX, "%s/%s", folder, path) >= PATH_MAX)
        snprintf(full, PATH_MAX, "%s", path);
    return 0;
}

static int check_suppressions(const char *path)
{
    struct weir_suppressions s = {0};
    char problem[256];
    bool ok = weir_suppressions_read(&s, path, problem, sizeof problem);

    weir_suppressions_finish(&s);
    return ok ? 0 : weir_cli_usage_error("check", "--suppress: %s: %s", path, problem);
}

/* 0, or the exit status after a message; *value may be replaced by `full`. */
static int check_value(const char *option, const char **value, char full[PATH_MAX])
{
    char *end, *bad = NULL;
    int status = 0;

    if (strcmp(option, "--exit-code") == 0) {
        long n = strtol(*value, &end, 10);

        if (*end || end == *value || n < 0 || n > 255)
            return weir_cli_usage_error("check", "--exit-code needs a number from 0 to 255");
    } else if (strcmp(option, "--format") == 0) {
        if (strcmp(*value, "github") != 0 && strcmp(*value, "text") != 0)
            return weir_cli_usage_error("check", "--format is text or github");
    } else if (strcmp(option, "--json") == 0 || strcmp(option, "--sarif") == 0) {
        status = prepare_file(option, *value, full);
        *value = full;
    } else if (strcmp(option, "--suppress") == 0) {
        status = check_suppressions(*value);
    } else if (strcmp(option, "--without") == 0) {
        if (strcmp(*value, "legacy") != 0 && strcmp(*value, "free") != 0 &&
            strcmp(*value, "legacy,free") != 0 && strcmp(*value, "free,legacy") != 0)
            return weir_cli_usage_error("check", "--without takes legacy, free, or both");
    } else if (strcmp(option, "--forbid") == 0) {
        (void)weir_policies_parse(*value, &bad);
        if (bad)
            status = weir_cli_usage_error(
                "check", "--forbid: nothing to forbid is called \"%s\" (--forbid help lists)", bad);
        weir_free(bad);
    }
    return status;
}

/* The argument after *i, or what follows '='. NULL: it is another option. */
static const struct option *find_option(char **argv, int argc, int *i, const char **value)
{
    for (size_t k = 0; k < sizeof options / sizeof options[0]; k++) {
        const struct option *o = &options[k];
        size_t n = strlen(o->name);

        if (strncmp(argv[*i], o->name, n) != 0)
            continue;
        *value = NULL;
        if (argv[*i][n] == '=' && o->has_value)
            *value = argv[*i] + n + 1;
        else if (argv[*i][n])
            continue;
        else if (!o->has_value)
            *value = "1";
        else if (*i + 1 < argc)
            *value = argv[++*i];
        return o;
    }
    return NULL;
}

static bool set(const char *name, const char *value)
{
    if (setenv(name, value, 1) == 0)
        return true;
    perror("weir");
    return false;
}

int weir_cli_check(int argc, char **argv)
{
    const char *how = "1", *found;
    int i = 1, kept = 0;

    for (; i < argc; i++) {
        const struct option *o;
        const char *value;
        char full[PATH_MAX];
        int status;

        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(help, stdout);
            return 0;
        }
        if (strcmp(argv[i], "--light") == 0) {
            how = "light";
            continue;
        }
        o = find_option(argv, argc, &i, &value);
        if (!o && !weir_cli_run_option_width(argc, argv, i))
            break;
        if (!o) {
            weir_cli_run_option_keep(argc, argv, &i, &kept);
            continue;
        }
        if (!value)
            return weir_cli_usage_error("check", "%s needs a value", o->name);
        if (strcmp(o->name, "--forbid") == 0 && strcmp(value, "help") == 0)
            return list_policies();
        status = check_value(o->name, &value, full);
        if (status != 0)
            return status;
        if (!set(o->variable, value))
            return WEIR_EXIT_REFUSED;
    }
    if (strcmp(how, "light") == 0 && getenv("WEIR_CHECK_KERNEL_RACES"))
        return weir_cli_usage_error("check", "--kernel-races needs what kernels access byte by "
                                             "byte, which --light leaves out");
    if (getenv("WEIR_CHECK_LATE_ASYNC") && !getenv("WEIR_CHECK_KERNEL_RACES"))
        return weir_cli_usage_error("check",
                                    "--late-async needs --kernel-races, whose code says when "
                                    "kernels wait");
    if (!set("WEIR_CHECK", how))
        return WEIR_EXIT_REFUSED;
    found = getenv("WEIR_CHECK_STATUS");
    return weir_cli_check_run(weir_cli_run_option_join(argv, i, kept), argc, argv,
                              found ? atoi(found) : WEIR_CHECK_STATUS);
}
