/* weir plan: what other settings, another GPU or another design would give.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/cli.h"
#include "core/profile.h"
#include "plan/elsewhere.h"
#include "plan/page.h"
#include "plan/table.h"
#include "plan/text.h"
#include "plan/units.h"
#include "trace/format.h"
#include "view/view.h"

static const char help[] =
    "usage: weir plan --stages h2d=TIME,kernel=TIME,d2h=TIME [OPTIONS]\n"
    "       weir plan [--expect WHAT]... DESIGN\n"
    "       weir plan [--device PROFILE] [--kernel NAME=TIME]... TRACE\n"
    "       weir plan --calibrate [-o PROFILE [-- PROGRAM ARGUMENTS...]]\n"
    "\n"
    "Runs programs that are yet to be written on a modelled GPU: the rules of order are those of\n"
    "every weir command, the engines' limits and costs are the device profile's.\n"
    "\n"
    "Stages: a pipeline of chunks round streams, each number of chunks and streams, the best, and\n"
    "what bounds it. A stage's time is that of all chunks together; a copy may have a size "
    "instead\n"
    "(h2d=256MiB); kernel=TIME@50% takes half of the device.\n"
    "  --chunks A..B      default 1..64       --streams A..B   default 1..8\n"
    "  --breadth          stage by stage, not chunk by chunk\n"
    "  --pageable         copies of pageable memory; times given are those of pinned\n"
    "  --copy-engines N   1: both directions share one; 2: one each\n"
    "  --device PROFILE   default h200; `weir info` lists them\n"
    "  --html             a page (-o PAGE.html) where all of this can be moved, and the timeline "
    "follows\n"
    "\n"
    "DESIGN: a text: streams, operations with durations, events, waits, host work, "
    "items\n"
    "through slots. Prints the timeline, makespan, critical path, and latency against depth.\n"
    "  --expect WHAT      judges: makespan, serial, speedup, p50, p99 or memory, then <=, >= or "
    "=,\n"
    "                     as in \"speedup>=1.6\"; ends with 1 when one does not hold\n"
    "\n"
    "TRACE: what weir trace wrote, as it would run on --device, its copies, calls and engines.\n"
    "  --kernel NAME=TIME each launch of that kernel there, as in blur=9us; blur=9us@3600: of so "
    "many\n"
    "                     blocks, others in proportion\n"
    "  --kernels FACTOR   other kernels: times what was recorded\n"
    "  --chunks, --streams  other counts, where the program has such a pattern\n"
    "  --html             the page of weir view of it, as it would run there\n"
    "\n"
    "--calibrate measures this machine's GPU and writes a device profile with its costs, for\n"
    "--device ./PROFILE here, in weir advise and in weir run. With a program it runs that, one "
    "kernel\n"
    "at a time, and adds what each of its kernels takes.\n"
    "\n"
    "  --json             stages as JSON\n"
    "  -o OUT             to a file\n"
    "\n"
    "docs/plan.md explains it, and how well it agrees with hardware.\n";

#define EXPECTS  16
#define TIMES    64
#define TEXT_MAX (1u << 20) /* bytes of a design */

struct options {
    const char *stages, *device, *out, *file;
    struct weir_plan_expect expects[EXPECTS];
    size_t expect_count;
    struct weir_plan_kernel_time times[TIMES];
    size_t time_count;
    double kernels;
    bool counts; /* --chunks or --streams was given */
    uint32_t chunks_from, chunks_to, streams_from, streams_to, copy_engines;
    bool breadth, pageable, json, html, calibrate;
    char **program; /* to calibrate, ending with NULL; or NULL */
};

static bool load_machine(const struct options *o, const char *name, struct weir_profile *profile,
                         struct weir_plan_machine *m)
{
    if (!weir_cli_machine("plan", name, profile, m))
        return false;
    if (o->copy_engines)
        m->device.copy_engines = o->copy_engines;
    return true;
}

static int plan_stages_on(const struct options *o, const struct weir_plan_machine *m)
{
    struct weir_plan_table t = {.shape = {.breadth = o->breadth, .pageable = o->pageable},
                                .chunks_from = o->chunks_from,
                                .chunks_to = o->chunks_to,
                                .streams_from = o->streams_from,
                                .streams_to = o->streams_to};
    char message[200];
    double sum = 0;
    FILE *to;
    bool ok;

    /* Stages in the page are of pinned memory; what pageable costs is computed there. */
    t.shape.pageable = o->pageable && !o->html;
    if (!weir_plan_read_stages(o->stages, m, &t.shape, message))
        return weir_cli_usage_error("plan", "--stages: %s", message);
    for (uint32_t i = 0; i < t.shape.stage_count; i++)
        sum += t.shape.stages[i].ns;
    if (sum <= 0)
        return weir_cli_usage_error("plan", "--stages: no stage takes any time");
    t.shape.pageable = o->pageable;
    if (o->html && !weir_plan_has_page())
        return weir_cli_usage_error("plan",
                                    "this build has no page: clang and wasm-ld were missing");
    to = weir_cli_open_output("plan", o->out);
    if (!to)
        return 1;
    ok = weir_plan_table_compute(&t, m);
    if (ok && o->html) {
        weir_plan_page(&t.shape, m, to);
        weir_free(t.ns);
        return weir_cli_close_output("plan", to, true);
    }
    if (ok && o->json)
        weir_plan_table_print_json(&t, m, to);
    else if (ok)
        weir_plan_table_print(&t, m, to);
    weir_free(t.ns);
    return weir_cli_close_output("plan", to, ok);
}

static int plan_stages(const struct options *o)
{
    struct weir_profile profile;
    struct weir_plan_machine machine;
    int status;

    if (!load_machine(o, o->device ? o->device : "h200", &profile, &machine))
        return WEIR_EXIT_USAGE;
    status = plan_stages_on(o, &machine);
    weir_profile_finish(&profile);
    return status;
}

/* ---- designs ---- */

static char *read_text(const char *path, size_t *bytes)
{
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    char *text = f ? weir_alloc(TEXT_MAX) : NULL;

    if (!f) {
        fprintf(stderr, "weir plan: %s: %s\n", path, strerror(errno));
        return NULL;
    }
    *bytes = text ? fread(text, 1, TEXT_MAX, f) : 0;
    if (f != stdin)
        fclose(f);
    return text;
}

static int run_design(const struct options *o, const struct weir_plan_text *t,
                      const struct weir_plan_machine *m)
{
    FILE *to = weir_cli_open_output("plan", o->out);
    struct weir_plan_design d;
    char message[200];
    bool ok, right;
    int status;

    if (!to)
        return 1;
    ok = weir_plan_design_run(t, m, 0, &d, message);
    if (!ok)
        fprintf(stderr, "weir plan: %s: %s\n", o->file, message);
    right = ok && weir_plan_design_print(&d, m, to);
    if (ok && (t->expects.count || o->expect_count))
        fputc('\n', to);
    right = right && weir_plan_design_judge(&d, t->expects.items, t->expects.count, to);
    right = ok && weir_plan_design_judge(&d, o->expects, o->expect_count, to) && right;
    weir_plan_design_finish(&d);
    status = weir_cli_close_output("plan", to, true);
    return status ? status : !right;
}

static int plan_design(const struct options *o, const char *text, size_t bytes)
{
    struct weir_profile profile = {0};
    struct weir_plan_machine machine;
    struct weir_plan_text t;
    char message[200];
    const char *device;
    int status = 1;

    if (!weir_plan_text_parse(text, bytes, &t, message)) {
        fprintf(stderr, "weir plan: %s: %s\n", o->file, message);
    } else {
        device = o->device ? o->device : *t.device ? t.device : NULL;
        if (!device || load_machine(o, device, &profile, &machine))
            status = run_design(o, &t, device ? &machine : NULL);
    }
    weir_profile_finish(&profile);
    weir_plan_text_finish(&t);
    return status;
}

static int plan_trace(const struct options *o)
{
    struct weir_profile profile = {0};
    struct weir_plan_machine machine;
    struct weir_plan_elsewhere how = {.machine = o->device ? &machine : NULL,
                                      .times = o->times,
                                      .time_count = o->time_count,
                                      .kernels = o->kernels,
                                      .chunks_from = o->counts ? o->chunks_from : 0,
                                      .chunks_to = o->chunks_to,
                                      .streams_from = o->streams_from,
                                      .streams_to = o->streams_to};
    struct weir_trace_file *f;
    int status = 1;
    FILE *to;

    if (o->time_count && !o->device)
        return weir_cli_usage_error("plan", "--kernel goes with --device");
    if (o->device && !load_machine(o, o->device, &profile, &machine))
        return WEIR_EXIT_USAGE;
    f = weir_cli_read_trace("plan", o->file);
    to = f ? weir_cli_open_output("plan", o->out) : NULL;
    if (to && o->html) {
        weir_trace_file_resolve(f);
        status = weir_cli_close_output(
            "plan", to, weir_plan_elsewhere_move(f, &how) && weir_view_page(f, o->file, to));
    } else if (to) {
        status = weir_cli_close_output("plan", to, weir_plan_elsewhere_print(f, &how, to));
    }
    weir_trace_file_free(f);
    weir_profile_finish(&profile);
    return status;
}

static int plan_file(const struct options *o)
{
    size_t bytes;
    char *text = read_text(o->file, &bytes);
    int status = 1;

    if (text && bytes >= strlen(WEIR_TRACE_MAGIC) &&
        memcmp(text, WEIR_TRACE_MAGIC, strlen(WEIR_TRACE_MAGIC)) == 0)
        status = plan_trace(o);
    else if (text)
        status = plan_design(o, text, bytes);

    weir_free(text);
    return status;
}

/* ---- the command line ---- */

/* An option with a value: true when it was one and the value is good; *problem when it is not. */
static bool take_value(struct options *o, const char *name, char *value, const char **problem)
{
    bool good = true;

    if (strcmp(name, "--stages") == 0)
        o->stages = value;
    else if (strcmp(name, "--device") == 0)
        o->device = value;
    else if (strcmp(name, "-o") == 0)
        o->out = value;
    else if (strcmp(name, "--kernel") == 0)
        good =
            o->time_count < TIMES && weir_plan_kernel_time_parse(value, &o->times[o->time_count++]);
    else if (strcmp(name, "--kernels") == 0)
        good = weir_plan_read_factor(value, &o->kernels);
    else if (strcmp(name, "--chunks") == 0)
        good = (o->counts = true) &&
               weir_plan_read_range(value, WEIR_PLAN_CHUNKS_MAX, &o->chunks_from, &o->chunks_to);
    else if (strcmp(name, "--streams") == 0)
        good = (o->counts = true) &&
               weir_plan_read_range(value, WEIR_PLAN_STREAMS_MAX, &o->streams_from, &o->streams_to);
    else if (strcmp(name, "--expect") == 0)
        good = o->expect_count < EXPECTS &&
               weir_plan_expect_parse(value, strlen(value), &o->expects[o->expect_count++]);
    else if (strcmp(name, "--copy-engines") == 0)
        good = (strcmp(value, "1") == 0 || strcmp(value, "2") == 0) &&
               (o->copy_engines = (uint32_t)(value[0] - '0')) != 0;
    else
        return false;
    if (!good)
        *problem = value;
    return true;
}

static bool take_flag(struct options *o, const char *name)
{
    if (strcmp(name, "--breadth") == 0)
        o->breadth = true;
    else if (strcmp(name, "--pageable") == 0)
        o->pageable = true;
    else if (strcmp(name, "--json") == 0)
        o->json = true;
    else if (strcmp(name, "--calibrate") == 0)
        o->calibrate = true;
    else if (strcmp(name, "--html") == 0)
        o->html = true;
    else
        return false;
    return true;
}

static bool wants_value(const char *name)
{
    static const char *const names[] = {"--stages", "--device",  "-o",
                                        "--chunks", "--streams", "--copy-engines",
                                        "--expect", "--kernel",  "--kernels"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}

int weir_cli_plan(int argc, char **argv)
{
    struct options o = {
        .kernels = 1, .chunks_from = 1, .chunks_to = 64, .streams_from = 1, .streams_to = 8};

    for (int i = 1; i < argc; i++) {
        const char *problem = NULL;

        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(help, stdout);
            return 0;
        }
        if (strcmp(argv[i], "--") == 0 && o.calibrate && argv[i + 1]) {
            o.program = argv + i + 1;
            break;
        }
        if (take_flag(&o, argv[i]))
            continue;
        if (!wants_value(argv[i]) && (argv[i][0] != '-' || !argv[i][1]) && !o.file) {
            o.file = argv[i];
            continue;
        }
        if (!wants_value(argv[i]))
            return weir_cli_usage_error("plan", "unknown argument %s", argv[i]);
        if (i + 1 == argc)
            return weir_cli_usage_error("plan", "%s needs a value", argv[i]);
        take_value(&o, argv[i], argv[i + 1], &problem);
        if (problem)
            return weir_cli_usage_error("plan", "%s: not \"%s\"", argv[i], problem);
        i++;
    }
    if (!!o.stages + !!o.file + o.calibrate != 1)
        return weir_cli_usage_error("plan", "--stages, a file or --calibrate, one of them");
    if (o.calibrate)
        return weir_cli_calibrate(o.out, o.program);
    return o.stages ? plan_stages(&o) : plan_file(&o);
}
