/* The `weir` binary: main.c picks the subcommand, each has a file of its own.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CLI_CLI_H
#define WEIR_CLI_CLI_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Exit statuses of Weir's own; a program's passes through. The last three are those of env(1) and
 * timeout(1). */
enum weir_exit {
    WEIR_EXIT_USAGE = 2, /* wrong command line, or something that is not supported yet */
    WEIR_EXIT_REFUSED = 125,
    WEIR_EXIT_CANNOT_RUN = 126,
    WEIR_EXIT_NOT_FOUND = 127,
};

struct weir_trace_file;

/* Subcommands: argv[0] is the subcommand's name. The exit status of `weir`. */
int weir_cli_run(int argc, char **argv);
/* What weir run does with the arguments from argv[first] on, 1 or more; argv is changed. */
int weir_cli_run_rest(int first, int argc, char **argv);

/* For commands whose own options may stand among those of `weir run`. width: how many arguments the
 * one at argv[i] takes, 0: it is none of run's. keep: sets it aside in front, from argv[1] on,
 * *kept so far, and moves *i to its last argument. join: the kept ones stand directly before
 * argv[i], the program; result: where they begin, for weir_cli_run_rest. */
int weir_cli_run_option_width(int argc, char **argv, int i);
void weir_cli_run_option_keep(int argc, char **argv, int *i, int *kept);
int weir_cli_run_option_join(char **argv, int i, int kept);
int weir_cli_info(int argc, char **argv);
int weir_cli_check(int argc, char **argv);
/* weir run's program from argv[first] on as a child, checked. Its exit status, or its signal; when
 * something was found `found`. */
int weir_cli_check_run(int first, int argc, char **argv, int found);
int weir_cli_explore(int argc, char **argv);
int weir_cli_trace(int argc, char **argv);
/* "-o FILE" or "-oFILE" at argv[*i] names the trace; 0, or the exit status after a message. */
int weir_cli_trace_file(int argc, char **argv, int *i);
int weir_cli_view(int argc, char **argv);
int weir_cli_export(int argc, char **argv);
int weir_cli_summary(int argc, char **argv);
int weir_cli_diff(int argc, char **argv);
int weir_cli_advise(int argc, char **argv);
int weir_cli_explain(int argc, char **argv);
int weir_cli_plan(int argc, char **argv);
int weir_cli_where(int argc, char **argv);
/* weir plan --calibrate: a profile of this machine's GPU to `out` (NULL: stdout), with the kernels
 * of a program when one is given (ending with NULL). The exit status. */
int weir_cli_calibrate(const char *out, char **program);

/* A trace, or NULL after a message; one of weir run --clock model with the model's times. The
 * caller frees it (weir/trace.h). */
struct weir_trace_file *weir_cli_read_trace(const char *command, const char *path);
/* The device profile whose times a trace of weir run --clock model has; else NULL. */
const char *weir_cli_trace_device(const struct weir_trace_file *f);
/* A file to write, "-" and NULL are stdout; NULL after a message. */
FILE *weir_cli_open_output(const char *command, const char *path);
/* ok: false when what was to be written ran out of memory. The exit status, after a message. */
int weir_cli_close_output(const char *command, FILE *f, bool ok);

/* The folder with libweir.so, found from the place of the running binary: PREFIX/bin/weir,
 * PREFIX/lib. False after a message when there is none. */
bool weir_cli_libdir(char out[PATH_MAX]);

/* Does the program in this file name a library (among its DT_NEEDED) that begins so? */
bool weir_cli_needs(const char *path, const char *library);

/* Why `name` is no device profile, neither one of ours nor a file of one; NULL when it is. Valid
 * until the thread's next failure. */
const char *weir_cli_profile_problem(const char *name);

/* What is wrong with rules of --inject; NULL: nothing. Valid until the next call. */
const char *weir_cli_inject_problem(const char *spec);
/* The same for devices that they name, of so many. */
const char *weir_cli_inject_device_problem(const char *spec, int devices);

/* The same for a list of --strict. */
const char *weir_cli_strict_problem(const char *list);
/* Does WEIR_STRICT name its mode that closes pages? */
bool weir_cli_strict_managed(void);

/* The same for a schedule (explore/schedule.h). */
const char *weir_cli_schedule_problem(const char *spec);

/* A device and its host, for the simulator. False after a message; else weir_profile_finish when
 * the machine is done with. */
struct weir_plan_machine;
struct weir_profile;
bool weir_cli_machine(const char *command, const char *name, struct weir_profile *profile,
                      struct weir_plan_machine *m);

/* One line on stderr: "weir SUBCOMMAND: ..."; returns WEIR_EXIT_USAGE. */
int weir_cli_usage_error(const char *subcommand, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* "512M" and the like into bytes: K, M, G, T are powers of 1024, also written KiB or KB. False when
 * it is no such size. */
bool weir_cli_parse_size(const char *text, unsigned long long *bytes);

#endif
