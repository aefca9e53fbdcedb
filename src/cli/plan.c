/* weir plan: what other settings, another GPU or another design would give.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/cli.h"
#include "core/profile.h"
#include "plan/table.h"
#include "plan/units.h"

static const char help[] =
    "usage: weir plan --stages h2d=TIME,kernel=TIME,d2h=TIME [OPTIONS]\n"
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
    "\n"
    "  --json             as JSON\n"
    "  -o OUT             to a file\n"
    "\n"
    "docs/plan.md explains it, and how well it agrees with hardware.\n";

struct options {
    const char *stages, *device, *out;
    uint32_t chunks_from, chunks_to, streams_from, streams_to, copy_engines;
    bool breadth, pageable, json;
};

static bool load_machine(const char *name, struct weir_plan_machine *m)
{
    struct weir_profile profile;
    const char *problem = weir_cli_profile_problem(name);

    if (problem || weir_profile_load(name, &profile) != WEIR_OK) {
        fprintf(stderr, "weir plan: %s\n", problem ? problem : "no such device profile");
        return false;
    }
    if (weir_plan_machine_init(m, &profile))
        return true;
    fprintf(stderr, "weir plan: the profile %s says no costs (cost h2d-gbps ...)\n", name);
    return false;
}

static int plan_stages(const struct options *o, const struct weir_plan_machine *m)
{
    struct weir_plan_table t = {.shape = {.breadth = o->breadth, .pageable = o->pageable},
                                .chunks_from = o->chunks_from,
                                .chunks_to = o->chunks_to,
                                .streams_from = o->streams_from,
                                .streams_to = o->streams_to};
    char message[200];
    FILE *to;
    bool ok;

    if (!weir_plan_read_stages(o->stages, m, &t.shape, message))
        return weir_cli_usage_error("plan", "--stages: %s", message);
    to = weir_cli_open_output("plan", o->out);
    if (!to)
        return 1;
    ok = weir_plan_table_compute(&t, m);
    if (ok && o->json)
        weir_plan_table_print_json(&t, m, to);
    else if (ok)
        weir_plan_table_print(&t, m, to);
    weir_free(t.ns);
    return weir_cli_close_output("plan", to, ok);
}

/* ---- the command line ---- */

/* An option with a value: true when it was one and the value is good; *problem when it is not. */
static bool take_value(struct options *o, const char *name, const char *value, const char **problem)
{
    bool good = true;

    if (strcmp(name, "--stages") == 0)
        o->stages = value;
    else if (strcmp(name, "--device") == 0)
        o->device = value;
    else if (strcmp(name, "-o") == 0)
        o->out = value;
    else if (strcmp(name, "--chunks") == 0)
        good = weir_plan_read_range(value, WEIR_PLAN_CHUNKS_MAX, &o->chunks_from, &o->chunks_to);
    else if (strcmp(name, "--streams") == 0)
        good = weir_plan_read_range(value, WEIR_PLAN_STREAMS_MAX, &o->streams_from, &o->streams_to);
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
    else
        return false;
    return true;
}

static bool wants_value(const char *name)
{
    static const char *const names[] = {"--stages", "--device",  "-o",
                                        "--chunks", "--streams", "--copy-engines"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}

int weir_cli_plan(int argc, char **argv)
{
    struct options o = {
        .device = "h200", .chunks_from = 1, .chunks_to = 64, .streams_from = 1, .streams_to = 8};
    struct weir_plan_machine machine;

    for (int i = 1; i < argc; i++) {
        const char *problem = NULL;

        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(help, stdout);
            return 0;
        }
        if (take_flag(&o, argv[i]))
            continue;
        if (!wants_value(argv[i]))
            return weir_cli_usage_error("plan", "unknown argument %s", argv[i]);
        if (i + 1 == argc)
            return weir_cli_usage_error("plan", "%s needs a value", argv[i]);
        take_value(&o, argv[i], argv[i + 1], &problem);
        if (problem)
            return weir_cli_usage_error("plan", "%s: not \"%s\"", argv[i], problem);
        i++;
    }
    if (!o.stages)
        return weir_cli_usage_error("plan", "nothing to plan: --stages");
    if (!load_machine(o.device, &machine))
        return WEIR_EXIT_USAGE;
    if (o.copy_engines)
        machine.device.copy_engines = o.copy_engines;
    return plan_stages(&o, &machine);
}
