/* weir trace: `weir run --trace FILE` with a name that people look for.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static const char help[] =
    "usage: weir trace [-o FILE] [OPTIONS OF weir run] [--] PROGRAM [ARGUMENTS]\n"
    "\n"
    "Runs a CUDA program and writes down what happens: every call, operation, event, allocation "
    "and\n"
    "NVTX range. FILE is readable even when the program crashes or is killed (default: "
    "trace.weir).\n"
    "Children of the program that use CUDA write FILE.PID.\n"
    "\n"
    "  weir summary FILE                  where the time goes, by kernel, copy and call\n"
    "  weir view FILE -o page.html        a timeline to look at\n"
    "  weir advise FILE                   what to change, and what it would gain\n"
    "  weir export --format F FILE -o OUT perfetto, chrome, svg, csv or json\n"
    "  weir diff A B                      what became slower\n"
    "\n"
    "docs/trace-format.md describes the file, include/weir/trace.h reads it.\n";

static int set_file(const char *file)
{
    if (setenv("WEIR_TRACE", file, 1) == 0)
        return 0;
    perror("weir");
    return WEIR_EXIT_REFUSED;
}

int weir_cli_trace_file(int argc, char **argv, int *i)
{
    if (argv[*i][2] != '\0')
        return set_file(argv[*i] + 2);
    if (*i + 1 < argc)
        return set_file(argv[++*i]);
    return weir_cli_usage_error("trace", "-o needs a file");
}

int weir_cli_trace(int argc, char **argv)
{
    int status;

    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        fputs(help, stdout);
        return 0;
    }
    status = set_file("trace.weir");
    return status ? status : weir_cli_run(argc, argv);
}
