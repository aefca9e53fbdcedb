/* weir advise: what to change in a traced program, and what that gains.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "advise/advise.h"
#include "base/compiler.h"
#include "cli/cli.h"

static const char help[] =
    "usage: weir advise [--json] [--all] [--exit-code[=note]] [-o OUT] FILE\n"
    "\n"
    "Reads a trace (weir trace) and says what to change, the most expensive "
    "first: what, where, why\n"
    "by CUDA's rules, and what it costs. The price is computed: the "
    "recorded operations run again on\n"
    "the model with that one obstacle removed, under the engines' limits.\n"
    "\n"
    "  --json       findings and notes as JSON\n"
    "  --all        answers every question with yes or no\n"
    "  --exit-code  ends with 1 when there is a finding; --exit-code=note: "
    "or a note\n"
    "\n"
    "docs/advise.md explains each kind of finding.\n";

enum { NEVER, ON_FINDINGS, ON_NOTES };

static int report(const char *path, const char *out, bool json, bool all, unsigned exit_on)
{
    struct weir_trace_file *f = weir_cli_read_trace("advise", path);
    FILE *to = f ? weir_cli_open_output("advise", out) : NULL;
    struct weir_advise_report r = {0};
    int status = 1;
    bool ok;

    if (to) {
        weir_trace_file_resolve(f);
        ok = weir_advise(f, &r);
        if (ok && json)
            weir_advise_print_json(f, &r, to);
        else if (ok)
            weir_advise_print(f, &r, all, to);
        status = weir_cli_close_output("advise", to, ok);
        if (status == 0 && r.count && exit_on > (r.findings[0].note ? ON_FINDINGS : NEVER))
            status = 1;
        weir_advise_finish(&r);
    }
    weir_trace_file_free(f);
    return status;
}

int weir_cli_advise(int argc, char **argv)
{
    const char *path = NULL, *out = NULL;
    bool json = false, all = false;
    unsigned exit_on = NEVER;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(help, stdout);
            return 0;
        }
        if (strcmp(argv[i], "--json") == 0)
            json = true;
        else if (strcmp(argv[i], "--all") == 0)
            all = true;
        else if (strcmp(argv[i], "--exit-code") == 0)
            exit_on = WEIR_MAX(exit_on, (unsigned)ON_FINDINGS);
        else if (strcmp(argv[i], "--exit-code=note") == 0)
            exit_on = ON_NOTES;
        else if (strcmp(argv[i], "-o") == 0 && i + 1 < argc)
            out = argv[++i];
        else if (argv[i][0] == '-' || path)
            return weir_cli_usage_error("advise", "unknown argument %s", argv[i]);
        else
            path = argv[i];
    }
    if (!path)
        return weir_cli_usage_error("advise", "no trace given");
    return report(path, out, json, all, exit_on);
}
