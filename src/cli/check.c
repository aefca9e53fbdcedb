/* weir check: weir run with the checker on.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static const char help[] =
    "usage: weir check [--light] [--exit-code N] [OPTIONS OF weir run] [--] PROGRAM [ARGUMENTS]\n"
    "\n"
    "Runs a CUDA program and finds accesses that no documented rule orders, whatever happened to "
    "be "
    "faster.\n"
    "The report goes to standard error when the program ends; the exit status is then 99.\n"
    "\n"
    "  --light        a kernel counts as touching all that its pointer arguments point to, written "
    "unless\n"
    "                 the parameter is a pointer to const: faster, and wrong where kernels share "
    "an\n"
    "                 allocation without overlapping (default: byte by byte, as the kernels do "
    "it)\n"
    "  --exit-code N  the exit status when something was found (default: 99)\n"
    "  --help         this text\n"
    "\n"
    "Found: races between streams, copies, memsets, kernels, graph nodes, peer copies and devices "
    "(race);\n"
    "memory used before or after its place in the stream (use-before-alloc, use-after-free); "
    "memory "
    "freed\n"
    "while an operation that nobody waited for may use it (lifetime); CUDA calls in host "
    "functions\n"
    "(callback-api). Not found yet: what the host's own code reads and writes, and threads inside "
    "of a kernel\n"
    "against each other. docs/check.md tells more.\n";

int weir_cli_check(int argc, char **argv)
{
    const char *how = "1", *status = NULL;
    int i = 1;

    for (; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(help, stdout);
            return 0;
        }
        if (strcmp(argv[i], "--light") == 0) {
            how = "light";
        } else if (strcmp(argv[i], "--exit-code") == 0 && i + 1 < argc) {
            char *end;
            long value = strtol(argv[++i], &end, 10);

            if (*end || end == argv[i] || value < 0 || value > 255)
                return weir_cli_usage_error("check", "--exit-code needs a number from 0 to 255");
            status = argv[i];
        } else {
            break;
        }
    }
    if (setenv("WEIR_CHECK", how, 1) != 0 ||
        (status && setenv("WEIR_CHECK_STATUS", status, 1) != 0)) {
        perror("weir");
        return WEIR_EXIT_REFUSED;
    }
    return weir_cli_run_rest(i, argc, argv);
}
