/* weir: dispatch to the subcommands.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#if WEIR_HAVE_CC
#include "cc/cc.h"
#endif

static const struct command {
    const char *name;
    int (*main)(int argc, char **argv); /* NULL: documented, not there yet */
    const char *what;
} commands[] = {
    {"run", weir_cli_run, "run a CUDA program where there is no GPU"},
#if WEIR_HAVE_CC
    {"cc", weir_cc_main, "compile .cu files, without the CUDA toolkit"},
#else
    {"cc", NULL, "compile .cu files, without the CUDA toolkit"},
#endif
    {"info", weir_cli_info, "version, devices, CPU, coverage of the API"},
    {"check", weir_cli_check, "find missing synchronisation"},
    {"explore", weir_cli_explore, "run under many legal orders"},
    {"trace", weir_cli_trace, "write down what happens"},
    {"view", weir_cli_view, "a trace as a page"},
    {"summary", weir_cli_summary, "a trace in numbers"},
    {"diff", weir_cli_diff, "two traces side by side"},
    {"export", weir_cli_export, "a trace for other tools"},
    {"advise", weir_cli_advise, "why things do not overlap"},
    {"plan", weir_cli_plan, "what other settings or another GPU would give"},
    {"explain", weir_cli_explain, "an error, a message or a rule in words"},
    {"where", weir_cli_where, "what a running program waits for"},
};

static void print_help(FILE *to)
{
    fputs("usage: weir COMMAND [OPTIONS] ...\n\n", to);
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        fprintf(to, "  %-9s %s%s\n", commands[i].name, commands[i].what,
                commands[i].main ? "" : " (not supported yet)");
    fputs("\n`weir COMMAND --help` tells more.\n", to);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";

#if WEIR_HAVE_CC
    /* The links in the toolkit's folder: build systems call a CUDA compiler by these names. */
    const char *self = argc > 0 ? strrchr(argv[0], '/') : NULL;
    self = self ? self + 1 : argc > 0 ? argv[0] : "";
    if (strcmp(self, "nvcc") == 0)
        return weir_cc_main(argc, argv);
    if (strcmp(self, "c++") == 0)
        return weir_cc_link_main(argc, argv);
#endif
    if (strcmp(name, "help") == 0 && argc > 2) {
        static char option[] = "--help";
        char *help[] = {argv[0], argv[2], option, NULL};

        return main(3, help);
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_help(stdout);
        return 0;
    }
    if (strcmp(name, "--version") == 0) {
        puts("weir " WEIR_VERSION);
        return 0;
    }
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(commands[i].name, name) != 0)
            continue;
        if (commands[i].main)
            return commands[i].main(argc - 1, argv + 1);
        fprintf(stderr, "weir: not supported yet: weir %s\n", name);
        return WEIR_EXIT_USAGE;
    }
    if (*name)
        fprintf(stderr, "weir: there is no command \"%s\"\n", name);
    print_help(stderr);
    return WEIR_EXIT_USAGE;
}
