/* weir advise: what to change in a traced program, and what that gains.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/advise.h"
#include "base/compiler.h"
#include "cli/cli.h"
#include "core/profile.h"
#include "plan/elsewhere.h"
#include "plan/units.h"

static const char help[] =
    "usage: weir advise [--device PROFILE] [--clock model] [--json] [--all] [--exit-code[=note]] "
    "[-o OUT] FILE\n"
    "\n"
    "Reads a trace (weir trace) and says what to change, the most expensive first: what, where, "
    "why\n"
    "by CUDA's rules, and what it costs. The price is computed: the recorded operations run again "
    "on\n"
    "the model with that one obstacle removed, under the engines' limits.\n"
    "\n"
    "  --device PROFILE     as on that device: its engines, rates and costs of calls. Kernels take "
    "what\n"
    "                       follows from what they counted (weir run --counts --trace FILE), else "
    "as long\n"
    "                       as in the trace, or what is said by\n"
    "  --kernel NAME=TIME   each launch of it, e.g. blur=9us; with @BLOCKS, a launch of so many "
    "blocks,\n"
    "                       others in proportion; as often as needed\n"
    "  --clock model        by the model alone, with --device (default: h200): the host's own time "
    "between\n"
    "                       calls is none, calls cost what the profile says. Nothing measured is "
    "left, so the\n"
    "                       same program gets the same answer on every machine\n"
    "  --json               findings and notes as JSON\n"
    "  --all                answers every question with yes or no (with --json, in \"answers\")\n"
    "  --exit-code          ends with 1 when there is a finding; --exit-code=note: or a note\n"
    "\n"
    "docs/advise.md explains each kind of finding.\n";

enum { NEVER, ON_FINDINGS, ON_NOTES };
enum { TIMES_MAX = 64 };

struct options {
    const char *path, *out, *device;
    bool json, all, model_clock, wall_clock;
    unsigned exit_on;
    struct weir_plan_kernel_time times[TIMES_MAX];
    size_t time_count;
};

/* Whose times count: as asked for, or as the trace says. 0, or the exit status after a message. */
static int choose_machine(const struct options *o, const struct weir_trace_file *f,
                          struct weir_profile *profile, struct weir_plan_machine *machine,
                          struct weir_advise_options *how)
{
    const char *traced = weir_cli_trace_device(f);
    const char *device = o->device ? o->device : traced ? traced : o->model_clock ? "h200" : NULL;

    if (o->time_count && !device)
        return weir_cli_usage_error("advise", "--kernel goes with --device");
    if (!device)
        return 0;
    if (!weir_cli_machine("advise", device, profile, machine))
        return 1;
    how->machine = machine;
    how->model_clock = o->model_clock || (traced && !o->wall_clock);
    return 0;
}

static bool print_report(const struct options *o, struct weir_trace_file *f,
                         const struct weir_advise_options *how, struct weir_advise_report *r,
                         FILE *to)
{
    struct weir_plan_elsewhere there = {.machine = how->machine,
                                        .times = o->times,
                                        .time_count = o->time_count,
                                        .kernels = 1,
                                        .model_clock = true};

    weir_trace_file_resolve(f);
    if ((how->model_clock && !weir_plan_elsewhere_move(f, &there)) || !weir_advise(f, how, r))
        return false;
    if (o->json)
        weir_advise_print_json(f, r, o->all, to);
    else
        weir_advise_print(f, r, o->all, to);
    return true;
}

static int report(const struct options *o)
{
    struct weir_profile profile = {0};
    struct weir_plan_machine machine;
    struct weir_advise_options how = {.times = o->times, .time_count = o->time_count};
    struct weir_trace_file *f = weir_cli_read_trace("advise", o->path);
    struct weir_advise_report r = {0};
    int status = f ? choose_machine(o, f, &profile, &machine, &how) : 1;
    FILE *to = NULL;

    if (status == 0 && !(to = weir_cli_open_output("advise", o->out)))
        status = 1;
    if (to) {
        status = weir_cli_close_output("advise", to, print_report(o, f, &how, &r, to));
        if (status == 0 && r.count && o->exit_on > (r.findings[0].note ? ON_FINDINGS : NEVER))
            status = 1;
        weir_advise_finish(&r);
    }
    weir_profile_finish(&profile);
    weir_trace_file_free(f);
    return status;
}

static bool take_flag(struct options *o, const char *name)
{
    if (strcmp(name, "--json") == 0)
        o->json = true;
    else if (strcmp(name, "--all") == 0)
        o->all = true;
    else if (strcmp(name, "--exit-code") == 0)
        o->exit_on = WEIR_MAX(o->exit_on, (unsigned)ON_FINDINGS);
    else if (strcmp(name, "--exit-code=note") == 0)
        o->exit_on = ON_NOTES;
    else
        return false;
    return true;
}

int weir_cli_advise(int argc, char **argv)
{
    struct options o = {0};

    for (int i = 1; i < argc; i++) {
        bool value = i + 1 < argc;

        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(help, stdout);
            return 0;
        }
        if (take_flag(&o, argv[i]))
            continue;
        if (strcmp(argv[i], "--device") == 0 && value)
            o.device = argv[++i];
        else if (strcmp(argv[i], "-o") == 0 && value)
            o.out = argv[++i];
        else if (strcmp(argv[i], "--clock") == 0 && value) {
            o.model_clock = strcmp(argv[++i], "model") == 0;
            o.wall_clock = !o.model_clock;
            if (!o.model_clock && strcmp(argv[i], "wall") != 0)
                return weir_cli_usage_error("advise", "--clock is model or wall, not %s", argv[i]);
        } else if (strcmp(argv[i], "--kernel") == 0 && value) {
            if (o.time_count == TIMES_MAX ||
                !weir_plan_kernel_time_parse(argv[++i], &o.times[o.time_count++]))
                return weir_cli_usage_error("advise", "--kernel wants NAME=TIME, not %s", argv[i]);
        } else if (argv[i][0] == '-' || o.path)
            return weir_cli_usage_error("advise", "unknown argument %s", argv[i]);
        else
            o.path = argv[i];
    }
    if (!o.path)
        return weir_cli_usage_error("advise", "no trace given");
    return report(&o);
}
