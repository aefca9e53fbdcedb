/* weir explore: many runs of a program, each under another legal order (core/explore.h), and what
 * came of them.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/thread.h"
#include "cli/cli.h"
#include "cli/explore.h"
#include "explore/schedule.h"

static const char help[] =
    "usage: weir explore [OPTIONS] [OPTIONS OF weir run] [--] PROGRAM [ARGUMENTS]\n"
    "\n"
    "Runs a CUDA program many times, each time in another order that CUDA's documents allow. A run "
    "fails by its\n"
    "exit status, a signal, a hang, with --same-output or --same-memory by other output "
    "or memory\n"
    "than the first run's, with --check by a finding of the checker. Each failure comes with the "
    "schedule that repeats it:\n"
    "weir run --schedule SCHEDULE PROGRAM.\n"
    "\n"
    "  --runs N       so many runs (default: 100, without end with --time)\n"
    "  --time T       for so long: seconds, or 5m, 1h\n"
    "  --strategy S   early, late, reverse, late-copies, early-copies, late-kernels, "
    "early-kernels, torn,\n"
    "                 random, pct:D (D - 1 changes of priority); default: first the adversaries, "
    "then random and "
    "pct in turn\n"
    "  --jobs J       runs at a time (default: one per processor)\n"
    "  --same-output  what a run writes to standard output must be what the first one wrote\n"
    "  --same-memory  what copies carry, and what is left in device, pinned and managed memory "
    "(not "
    "in pools), must\n"
    "                 be as in the first run\n"
    "  --check        each run under weir check\n"
    "  --minimise     afterwards: shortens the first failure's schedule to the decisions that "
    "matter\n"
    "  --stop         ends at the first failure\n"
    "  --hang SECONDS a run that takes longer hangs (default: 60)\n"
    "  --exit-code N  the exit status when a run failed (default: 99)\n"
    "  --help         this text\n"
    "\n"
    "Started by mpirun or srun, each rank takes its part of the runs. docs/explore.md tells "
    "more.\n";

#define JOBS_MAX  256
#define SHOWN_MAX 8 /* different failures that are printed */
#define RUNS      100
#define HANG_S    60.0
#define BAR       24

struct explore {
    struct explore_setup setup;
    uint64_t runs; /* 0: no end */
    double time_s; /* 0: no end */
    const char *strategy;
    int jobs, exit_code;
    bool minimise, stop;
    int rank, ranks;

    uint64_t begun_ns, next, done, failed;
    struct explore_child children[JOBS_MAX];
    uint64_t numbers[JOBS_MAX];
    struct explore_result shown[SHOWN_MAX];
    int shown_count;
    char first_failure[EXPLORE_SPEC];
    bool ends, has_bar;
};

static volatile sig_atomic_t interrupted;

static void interrupt(int signo)
{
    interrupted = signo;
}

/* ---- the command line ---- */

static bool read_time(const char *text, double *seconds)
{
    char *end;
    double n = strtod(text, &end);

    if (end == text || !(n > 0))
        return false;
    if (strcmp(end, "m") == 0 || strcmp(end, "min") == 0)
        n *= 60;
    else if (strcmp(end, "h") == 0)
        n *= 3600;
    else if (*end && strcmp(end, "s") != 0)
        return false;
    *seconds = n;
    return n <= 1e8;
}

static bool read_count(const char *text, uint64_t max, uint64_t *out)
{
    char *end;

    if (*text < '0' || *text > '9')
        return false;
    *out = strtoull(text, &end, 10);
    return !*end && *out >= 1 && *out <= max;
}

/* 0, or an exit status after a message. */
static int take_value(struct explore *e, const char *name, const char *value)
{
    uint64_t n;

    if (strcmp(name, "--runs") == 0) {
        if (!read_count(value, UINT64_MAX, &e->runs))
            return weir_cli_usage_error("explore", "--runs takes a number, not \"%s\"", value);
    } else if (strcmp(name, "--time") == 0) {
        if (!read_time(value, &e->time_s))
            return weir_cli_usage_error("explore", "--time takes seconds, 5m or 1h, not \"%s\"",
                                        value);
    } else if (strcmp(name, "--hang") == 0) {
        if (!read_time(value, &e->setup.hang_s))
            return weir_cli_usage_error("explore", "--hang takes seconds, not \"%s\"", value);
    } else if (strcmp(name, "--jobs") == 0) {
        if (!read_count(value, JOBS_MAX, &n))
            return weir_cli_usage_error("explore", "--jobs takes a number from 1 to %d, not \"%s\"",
                                        JOBS_MAX, value);
        e->jobs = (int)n;
    } else if (strcmp(name, "--exit-code") == 0) {
        if (strcmp(value, "0") != 0 && !read_count(value, 255, &n))
            return weir_cli_usage_error("explore", "--exit-code needs a number from 0 to 255");
        e->exit_code = atoi(value);
    } else {
        struct weir_schedule *s;

        if (weir_schedule_create(value, &s) != WEIR_OK)
            return weir_cli_usage_error("explore", "--strategy: %s", weir_err_message());
        weir_schedule_destroy(s);
        if (strlen(value) > EXPLORE_SPEC - 24 || strncmp(value, "holds", 5) == 0)
            return weir_cli_usage_error("explore", "--strategy: \"%s\" is for weir run --schedule",
                                        value);
        e->strategy = value;
    }
    return 0;
}

static bool has_value(const char *name)
{
    static const char *const names[] = {"--runs", "--time",      "--hang",
                                        "--jobs", "--exit-code", "--strategy"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* -1: not one of ours, else the exit status so far. */
static int take_option(struct explore *e, int argc, char **argv, int *i)
{
    char name[32];
    size_t n = strcspn(argv[*i], "=");
    const char *value;

    if (strcmp(argv[*i], "--same-output") == 0)
        return e->setup.same_output = true, 0;
    if (strcmp(argv[*i], "--same-memory") == 0)
        return e->setup.same_memory = true, 0;
    if (strcmp(argv[*i], "--check") == 0)
        return e->setup.check = true, 0;
    if (strcmp(argv[*i], "--minimise") == 0 || strcmp(argv[*i], "--minimize") == 0)
        return e->minimise = true, 0;
    if (strcmp(argv[*i], "--stop") == 0)
        return e->stop = true, 0;
    snprintf(name, sizeof name, "%.*s", (int)n, argv[*i]);
    if (n >= sizeof name || !has_value(name))
        return -1;
    value = argv[*i][n] ? argv[*i] + n + 1 : *i + 1 < argc ? argv[++*i] : NULL;
    if (!value)
        return weir_cli_usage_error("explore", "%s needs a value", name);
    return take_value(e, name, value);
}

/* ---- the runs ---- */

static void spec_of(const struct explore *e, uint64_t number, char out[EXPLORE_SPEC])
{
    if (!e->strategy)
        weir_schedule_usual(number, out);
    else if (number == 0 && strcmp(e->strategy, "random") != 0 &&
             strncmp(e->strategy, "pct", 3) != 0)
        snprintf(out, EXPLORE_SPEC, "%s", e->strategy);
    else
        snprintf(out, EXPLORE_SPEC, "%s:%" PRIu64, e->strategy, number);
}

static double seconds_since(uint64_t ns)
{
    return (double)(weir_clock_ns() - ns) * 1e-9;
}

static void show_bar(const struct explore *e)
{
    double s = seconds_since(e->begun_ns), part = 0;
    int n;

    if (!e->has_bar)
        return;
    if (e->runs)
        part = (double)e->done * e->ranks / (double)e->runs;
    if (e->time_s > 0 && s / e->time_s > part)
        part = s / e->time_s;
    n = part < 1 ? (int)(part * BAR) : BAR;
    fprintf(stderr, "\rweir explore: [%.*s%*s] %" PRIu64 " runs, %.1f/s, %" PRIu64 " failed\033[K",
            n, "========================", BAR - n, "", e->done, (double)e->done / (s + 1e-9),
            e->failed);
    fflush(stderr);
}

static void hide_bar(const struct explore *e)
{
    if (e->has_bar)
        fputs("\r\033[K", stderr);
}

static void report(struct explore *e, uint64_t number, const struct explore_child *c,
                   const struct explore_result *r)
{
    char spec[EXPLORE_SPEC], text[128];

    spec_of(e, number, spec);
    if (e->failed++ == 0)
        strcpy(e->first_failure, spec);
    for (int i = 0; i < e->shown_count; i++)
        if (weir_explore_same_failure(&e->shown[i], r))
            return;
    if (e->shown_count == SHOWN_MAX)
        return;
    e->shown[e->shown_count++] = *r;
    hide_bar(e);
    if (e->ranks > 1)
        printf("rank %d: ", e->rank);
    printf("run %" PRIu64 " (%s) failed: %s\n", number, spec,
           weir_explore_result_text(r, text, sizeof text));
    weir_explore_child_print(c, "  | ", 12);
    weir_explore_print_again(&e->setup, spec);
    fflush(stdout);
}

static bool start_next(struct explore *e, int slot)
{
    char spec[EXPLORE_SPEC];

    e->numbers[slot] = e->next;
    spec_of(e, e->next, spec);
    e->next += e->next == 0 && e->rank ? (uint64_t)e->rank : (uint64_t)e->ranks;
    return weir_explore_child_start(&e->setup, spec, NULL, &e->children[slot]);
}

static bool may_start(const struct explore *e)
{
    if (e->ends || interrupted || (e->runs && e->next >= e->runs) ||
        (e->time_s > 0 && seconds_since(e->begun_ns) >= e->time_s))
        return false;
    /* Others are compared with the first. */
    return e->next == 0 || e->done > 0;
}

/* False: the program could not be started at all. */
static bool take_result(struct explore *e, int slot, const struct explore_result *r)
{
    struct explore_child *c = &e->children[slot];

    e->done++;
    if (e->numbers[slot] == 0) {
        e->setup.has_first = true;
        e->setup.first_output = r->output;
        e->setup.first_memory = r->memory;
        if (weir_explore_child_is_refused(c, r)) {
            weir_explore_child_print(c, "", 12);
            e->exit_code = r->code;
            return false;
        }
    }
    if (r->kind != EXPLORE_OK)
        report(e, e->numbers[slot], c, r);
    e->ends = e->ends || (e->stop && e->failed);
    return true;
}

/* False: that was all. */
static bool go_on(struct explore *e, bool *ok)
{
    bool any = false, ended = false;

    for (int i = 0; i < e->jobs && *ok; i++) {
        struct explore_result r;

        if (e->children[i].pid == 0 && may_start(e))
            *ok = start_next(e, i);
        if (e->children[i].pid == 0)
            continue;
        any = true;
        if (interrupted)
            weir_explore_child_kill(&e->children[i]);
        if (!weir_explore_child_ended(&e->setup, &e->children[i], &r))
            continue;
        ended = true;
        if (!interrupted)
            *ok = take_result(e, i, &r);
        weir_explore_child_close(&e->children[i]);
    }
    if (ended)
        show_bar(e);
    else if (any)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return any || may_start(e);
}

static bool run_all(struct explore *e)
{
    struct sigaction on = {.sa_handler = interrupt};
    bool ok = true;

    sigaction(SIGINT, &on, NULL);
    sigaction(SIGTERM, &on, NULL);
    e->begun_ns = weir_clock_ns();
    show_bar(e);
    while (ok && go_on(e, &ok))
        ;
    for (int i = 0; i < e->jobs; i++)
        weir_explore_child_kill(&e->children[i]);
    hide_bar(e);
    return ok;
}

static void print_summary(const struct explore *e)
{
    double s = seconds_since(e->begun_ns);

    if (e->ranks > 1)
        printf("rank %d: ", e->rank);
    printf("%" PRIu64 " runs in %.1f s (%.1f/s): ", e->done, s, (double)e->done / (s + 1e-9));
    if (e->failed)
        printf("%" PRIu64 " failed, in %d%s different way%s%s\n", e->failed, e->shown_count,
               e->shown_count == SHOWN_MAX ? " or more" : "", e->shown_count == 1 ? "" : "s",
               e->failed == e->done && e->done > 1 ? "; all did, in the order of submission, too"
                                                   : "");
    else
        printf("none failed%s\n", interrupted ? " (interrupted)" : "");
    fflush(stdout);
}

int weir_cli_explore(int argc, char **argv)
{
    static struct explore e = {.setup.hang_s = HANG_S, .exit_code = 99};
    int i = 1, kept = 0;

    for (; i < argc; i++) {
        int status;

        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(help, stdout);
            return 0;
        }
        status = take_option(&e, argc, argv, &i);
        if (status > 0)
            return status;
        if (status < 0 && !weir_cli_run_option_width(argc, argv, i))
            break;
        if (status < 0)
            weir_cli_run_option_keep(argc, argv, &i, &kept);
    }
    if (i >= argc || (strcmp(argv[i], "--") == 0 && i + 1 >= argc))
        return weir_cli_usage_error("explore", "no program given");
    e.setup.argc = argc;
    e.setup.argv = argv;
    e.setup.first = weir_cli_run_option_join(argv, i, kept);
    if (!e.runs && !(e.time_s > 0))
        e.runs = RUNS;
    if (!e.jobs)
        e.jobs = weir_cpu_count() < JOBS_MAX ? weir_cpu_count() : JOBS_MAX;
    e.has_bar = isatty(2);
    weir_explore_ranks_find(&e.rank, &e.ranks);
    if (!run_all(&e))
        return e.exit_code;
    print_summary(&e);
    if (interrupted)
        return 128 + interrupted;
    if (e.failed && e.minimise)
        weir_explore_minimise(&e.setup, e.first_failure, &e.shown[0]);
    weir_explore_ranks_meet();
    return e.failed ? e.exit_code : 0;
}
