/* weir summary, diff, export, view: what reads traces.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "cli/cli.h"
#include "core/profile.h"
#include "plan/elsewhere.h"
#include "view/view.h"

static const char summary_help[] =
    "usage: weir summary [--csv|--json] [-o OUT] FILE\n"
    "\n"
    "Tables by kernel, copy, API call and NVTX range: share, total, count, average, median, "
    "minimum,\n"
    "maximum. Copies have their rate; calls, how much of their time they waited for the device.\n";

static const char diff_help[] =
    "usage: weir diff [--csv|--json] [-o OUT] BEFORE AFTER\n"
    "\n"
    "What takes more or less time in the second trace, the largest change first, and why: more of\n"
    "them, more bytes, longer waiting, or each one slower.\n";

static const char export_help[] =
    "usage: weir export --format perfetto|chrome|svg|csv|json [-o OUT] FILE\n"
    "\n"
    "  perfetto  for ui.perfetto.dev and trace_processor\n"
    "  chrome    the JSON that chrome://tracing and others read\n"
    "  svg       a picture; --from MS --to MS --width PIXELS --title TEXT choose what it shows\n"
    "  csv, json every operation, call and range, times in nanoseconds from the first call\n";

static const char view_help[] =
    "usage: weir view [-o PAGE.html] [--title TEXT] FILE\n"
    "\n"
    "Makes one page that opens from disk, without network: the timeline of threads, streams and\n"
    "engines. Default: FILE with .html.\n";

struct options {
    const char *files[2];
    int file_count;
    const char *out, *format, *title;
    double from_ms, to_ms;
    unsigned width;
    enum weir_view_format table;
};

/* The value of an option that takes one; NULL after a message. */
static const char *value_of(const char *command, int argc, char **argv, int *i)
{
    if (*i + 1 < argc)
        return argv[++*i];
    weir_cli_usage_error(command, "%s needs a value", argv[*i]);
    return NULL;
}

static bool parse_number(const char *text, double *out)
{
    char *end;

    *out = text ? strtod(text, &end) : -1;
    return text && *text && !*end && *out >= 0 && *out < 1e15;
}

/* Has the command this option? (`-o` all have.) */
static bool is_option_of(const char *command, const char *option)
{
    static const struct {
        const char *option, *commands[2];
    } options[] = {
        {"--csv", {"summary", "diff"}},  {"--json", {"summary", "diff"}}, {"--format", {"export"}},
        {"--title", {"export", "view"}}, {"--from", {"export"}},          {"--to", {"export"}},
        {"--width", {"export"}},
    };
    size_t length = strcspn(option, "=");

    for (size_t i = 0; i < WEIR_ARRAY_SIZE(options); i++) {
        if (strlen(options[i].option) != length || strncmp(options[i].option, option, length) != 0)
            continue;
        for (int k = 0; k < 2 && options[i].commands[k]; k++) {
            if (strcmp(options[i].commands[k], command) == 0)
                return true;
        }
    }
    return strcmp(option, "-o") == 0;
}

/* One argument; false after a message. */
static bool take(const char *command, int argc, char **argv, int *i, struct options *o)
{
    const char *a = argv[*i];
    double number;

    if (a[0] != '-') {
        if (o->file_count < 2)
            o->files[o->file_count] = a;
        o->file_count++;
        return true;
    }
    if (!is_option_of(command, a)) {
        weir_cli_usage_error(command, "unknown option %s", a);
        return false;
    }
    if (strcmp(a, "-o") == 0)
        return (o->out = value_of(command, argc, argv, i)) != NULL;
    if (strcmp(a, "--format") == 0)
        return (o->format = value_of(command, argc, argv, i)) != NULL;
    if (strncmp(a, "--format=", 9) == 0)
        return (o->format = a + 9) != NULL;
    if (strcmp(a, "--title") == 0)
        return (o->title = value_of(command, argc, argv, i)) != NULL;
    if (strcmp(a, "--csv") == 0 || strcmp(a, "--json") == 0) {
        o->table = strcmp(a, "--csv") == 0 ? WEIR_VIEW_CSV : WEIR_VIEW_JSON;
        return true;
    }
    if (strcmp(a, "--from") == 0 || strcmp(a, "--to") == 0 || strcmp(a, "--width") == 0) {
        const char *value = value_of(command, argc, argv, i);

        if (!value)
            return false;
        if (!parse_number(value, &number)) {
            weir_cli_usage_error(command, "%s takes a number, not \"%s\"", a, value);
            return false;
        }
        if (strcmp(a, "--from") == 0)
            o->from_ms = number;
        else if (strcmp(a, "--to") == 0)
            o->to_ms = number;
        else
            o->width = number > 20000 ? 20000 : (unsigned)number;
        return true;
    }
    weir_cli_usage_error(command, "unknown option %s", a);
    return false;
}

/* -1: go on; else the exit status. */
static int parse(const char *command, const char *help, int files, int argc, char **argv,
                 struct options *o)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(help, stdout);
            return 0;
        }
        if (!take(command, argc, argv, &i, o))
            return WEIR_EXIT_USAGE;
    }
    if (o->file_count != files)
        return weir_cli_usage_error(command,
                                    files == 1 ? "one trace is wanted, %d given"
                                               : "two traces are wanted, %d given",
                                    o->file_count);
    return -1;
}

static const char *setting_of(const struct weir_trace_file *f, const char *name)
{
    for (size_t i = 0; i < f->environment_count; i++) {
        if (strncmp(f->environment[i], name, strlen(name)) == 0)
            return f->environment[i] + strlen(name);
    }
    return NULL;
}

const char *weir_cli_trace_device(const struct weir_trace_file *f)
{
    const char *clock = setting_of(f, "WEIR_CLOCK="), *device = setting_of(f, "WEIR_DEVICE=");

    return clock && strcmp(clock, "model") == 0 && device ? device : NULL;
}

static bool give_model_times(const char *command, struct weir_trace_file *f)
{
    struct weir_profile profile;
    struct weir_plan_machine machine;
    struct weir_plan_elsewhere how = {.machine = &machine, .kernels = 1, .model_clock = true};

    bool ok;

    if (!weir_cli_machine(command, weir_cli_trace_device(f), &profile, &machine))
        return false;
    ok = weir_plan_elsewhere_move(f, &how);
    if (!ok)
        fprintf(stderr, "weir %s: out of memory, or more contexts than the model knows\n", command);
    weir_profile_finish(&profile);
    return ok;
}

struct weir_trace_file *weir_cli_read_trace(const char *command, const char *path)
{
    const char *message;
    struct weir_trace_file *f = weir_trace_file_read(path, &message);

    if (!f)
        fprintf(stderr, "weir %s: %s: %s\n", command, path, message);
    else if (f->damaged_chunks)
        fprintf(stderr, "weir %s: %s: %u damaged parts are read as far as possible\n", command,
                path, f->damaged_chunks);
    if (f && weir_cli_trace_device(f) && !give_model_times(command, f)) {
        weir_trace_file_free(f);
        return NULL;
    }
    return f;
}

FILE *weir_cli_open_output(const char *command, const char *path)
{
    FILE *f = path && strcmp(path, "-") != 0 ? fopen(path, "w") : stdout;

    if (!f)
        fprintf(stderr, "weir %s: %s: %s\n", command, path, strerror(errno));
    return f;
}

int weir_cli_close_output(const char *command, FILE *f, bool ok)
{
    bool written = !ferror(f) && (f == stdout ? fflush(f) == 0 : fclose(f) == 0);

    if (!ok)
        fprintf(stderr, "weir %s: out of memory\n", command);
    else if (!written)
        fprintf(stderr, "weir %s: cannot write: %s\n", command, strerror(errno));
    return ok && written ? 0 : 1;
}

int weir_cli_summary(int argc, char **argv)
{
    struct options o = {0};
    int status = parse("summary", summary_help, 1, argc, argv, &o);
    struct weir_trace_file *f;
    FILE *to;

    if (status >= 0)
        return status;
    f = weir_cli_read_trace("summary", o.files[0]);
    to = f ? weir_cli_open_output("summary", o.out) : NULL;
    status = to ? weir_cli_close_output("summary", to, weir_view_summary(f, o.table, to)) : 1;
    weir_trace_file_free(f);
    return status;
}

int weir_cli_diff(int argc, char **argv)
{
    struct options o = {0};
    int status = parse("diff", diff_help, 2, argc, argv, &o);
    struct weir_trace_file *a, *b;
    FILE *to;

    if (status >= 0)
        return status;
    a = weir_cli_read_trace("diff", o.files[0]);
    b = a ? weir_cli_read_trace("diff", o.files[1]) : NULL;
    to = b ? weir_cli_open_output("diff", o.out) : NULL;
    if (to) {
        weir_trace_file_resolve(a);
        weir_trace_file_resolve(b);
    }
    status = to ? weir_cli_close_output("diff", to, weir_view_diff(a, b, o.table, to)) : 1;
    weir_trace_file_free(a);
    weir_trace_file_free(b);
    return status;
}

static bool write_svg(const struct weir_trace_file *f, const struct options *o, FILE *to)
{
    struct weir_view_picture p = {.from_ns = f->begin_ns + (uint64_t)(o->from_ms * 1e6),
                                  .to_ns =
                                      o->to_ms > 0 ? f->begin_ns + (uint64_t)(o->to_ms * 1e6) : 0,
                                  .width = o->width,
                                  .title = o->title};

    return weir_view_svg(f, &p, to);
}

static const struct {
    const char *name;
    bool (*write)(const struct weir_trace_file *f, FILE *to); /* NULL: write_svg */
} formats[] = {{"perfetto", weir_view_perfetto},
               {"chrome", weir_view_chrome},
               {"csv", weir_view_csv},
               {"json", weir_view_json},
               {"svg", NULL}};

int weir_cli_export(int argc, char **argv)
{
    struct options o = {0};
    int status = parse("export", export_help, 1, argc, argv, &o);
    size_t n = sizeof formats / sizeof formats[0], i = 0;
    struct weir_trace_file *f;
    bool ok = false;
    FILE *to;

    if (status >= 0)
        return status;
    while (i < n && (!o.format || strcmp(formats[i].name, o.format) != 0))
        i++;
    if (i == n)
        return weir_cli_usage_error("export",
                                    "--format is one of perfetto, chrome, svg, csv and json");
    f = weir_cli_read_trace("export", o.files[0]);
    to = f ? weir_cli_open_output("export", o.out) : NULL;
    if (to) {
        weir_trace_file_resolve(f);
        ok = formats[i].write ? formats[i].write(f, to) : write_svg(f, &o, to);
    }
    status = to ? weir_cli_close_output("export", to, ok) : 1;
    weir_trace_file_free(f);
    return status;
}

int weir_cli_view(int argc, char **argv)
{
    struct options o = {0};
    int status = parse("view", view_help, 1, argc, argv, &o);
    struct weir_trace_file *f;
    char path[PATH_MAX];
    FILE *to = NULL;
    bool ok = false;

    if (status >= 0)
        return status;
    f = weir_cli_read_trace("view", o.files[0]);
    if (f && !o.out && snprintf(path, sizeof path, "%s.html", o.files[0]) < (int)sizeof path)
        o.out = path;
    if (f)
        to = weir_cli_open_output("view", o.out);
    if (to) {
        weir_trace_file_resolve(f);
        ok = weir_view_page(f, o.title ? o.title : o.files[0], to);
    }
    status = to ? weir_cli_close_output("view", to, ok) : 1;
    weir_trace_file_free(f);
    return status;
}
