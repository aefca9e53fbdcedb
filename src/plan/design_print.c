/* A design's timeline, lengths, critical path and latencies as text.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "plan/text.h"
#include "plan/units.h"

#define WIDTH     64 /* of a row */
#define ROWS_MAX  40
#define PATH_MAX_ 32 /* entries of the critical path that are printed */

static const char *stream_name(const struct weir_plan_design *d, uint32_t stream, char out[32])
{
    if (stream < d->text->stream_count)
        snprintf(out, 32, "%s", d->text->streams[stream]);
    else
        snprintf(out, 32, "slot %u", stream - d->text->stream_count + 1);
    return out;
}

/* ---- the timeline ---- */

static char letter(unsigned engine)
{
    static const char letters[] = {'K', 'H', 'D', 'M', 'F'};

    return engine < sizeof letters ? letters[engine] : '?';
}

/* Each one has at least a column, and neighbours of one kind have large and small letters. */
static void draw(char row[WIDTH + 1], double begin, double end, double whole, char c)
{
    int from = whole > 0 ? (int)(begin / whole * WIDTH + 0.5) : 0;
    int to = whole > 0 ? (int)(end / whole * WIDTH + 0.5) : 0;

    if (from >= WIDTH)
        from = WIDTH - 1;
    if (to <= from)
        to = from + 1;
    if (from > 0 && row[from - 1] == c && c >= 'A' && c <= 'Z')
        c = (char)(c - 'A' + 'a');
    for (int i = from; i < to && i < WIDTH; i++)
        row[i] = c;
}

static void clear(char row[WIDTH + 1])
{
    memset(row, ' ', WIDTH);
    row[WIDTH] = 0;
}

static void print_row(const char *name, const char *row, FILE *to)
{
    fprintf(to, "  %-12.12s |%s|\n", name, row);
}

static void print_timeline(const struct weir_plan_design *d, FILE *to)
{
    uint32_t streams = d->program.stream_count;
    char row[WIDTH + 1], name[32];
    bool host = false;

    clear(row);
    for (size_t i = 0; i < d->steps.count; i++) {
        if (!d->step_marks.items[i] || d->steps.items[i].ns <= 0)
            continue;
        host = true;
        draw(row, d->step_ends[i] - d->steps.items[i].ns, d->step_ends[i], d->result.end,
             d->step_marks.items[i]);
    }
    fprintf(to, "  %-12s 0%*s\n", "", WIDTH, weir_plan_time_text(d->result.end, name));
    if (host)
        print_row("host", row, to);
    for (uint32_t s = 0; s < streams && s < ROWS_MAX; s++) {
        bool any = false;

        clear(row);
        for (size_t i = 0; i < d->ops.count; i++) {
            if (d->ops.items[i].stream != s)
                continue;
            any = true;
            draw(row, d->times[i].start, d->times[i].end, d->result.end,
                 letter(d->ops.items[i].engine));
        }
        if (any)
            print_row(stream_name(d, s, name), row, to);
    }
    if (streams > ROWS_MAX)
        fprintf(to, "  (%u more streams)\n", streams - ROWS_MAX);
    fputs("  H copy to the device, K kernel, D copy to the host, M within the device, F host "
          "function",
          to);
    fputs(host ? "; host: p prepare, o post-processing, # work\n" : "\n", to);
}

/* ---- the critical path ---- */

/* In the makespan's unit, so that a column can be read. */
static char *in_unit(double ns, double makespan, char out[32])
{
    if (makespan >= 1e9)
        snprintf(out, 32, "%.4f s", ns * 1e-9);
    else if (makespan >= 1e6)
        snprintf(out, 32, "%.3f ms", ns * 1e-6);
    else
        snprintf(out, 32, "%.2f us", ns * 1e-3);
    return out;
}

static void print_entry(const struct weir_plan_design *d, uint32_t op, FILE *to)
{
    const struct weir_plan_time *t = &d->times[op];
    const struct weir_plan_line *behind =
        t->why_op == WEIR_PLAN_NONE ? NULL : d->op_lines.items[t->why_op];
    char stream[32], other[32], from[32], end[32];

    fprintf(to, "  %10s to %10s  %-10s %-10s ", in_unit(t->start, d->result.end, from),
            in_unit(t->end, d->result.end, end), d->op_lines.items[op]->name,
            stream_name(d, d->ops.items[op].stream, stream));
    if (!behind || t->why == WEIR_PLAN_WHY_HOST) {
        fprintf(to, "the host submitted it%s\n", behind ? " when it came to it" : "");
        return;
    }
    fprintf(to, "%s %s of %s\n",
            t->why == WEIR_PLAN_WHY_ENGINE                              ? "the engine had"
            : d->ops.items[op].stream == d->ops.items[t->why_op].stream ? "in order behind"
                                                                        : "waits for",
            behind->name, stream_name(d, d->ops.items[t->why_op].stream, other));
}

static bool print_path(const struct weir_plan_design *d, FILE *to)
{
    uint32_t *path = weir_alloc((d->ops.count + 1) * sizeof *path);
    uint32_t last = WEIR_PLAN_NONE;
    size_t n = 0;

    if (!path)
        return false;
    for (uint32_t i = 0; i < d->ops.count; i++) {
        if (last == WEIR_PLAN_NONE || d->times[i].end > d->times[last].end)
            last = i;
    }
    for (; last != WEIR_PLAN_NONE && n < d->ops.count; last = d->times[last].why_op)
        path[n++] = last;
    if (n)
        fputs("\ncritical path: what each one followed\n", to);
    for (size_t i = n; i > 0; i--) {
        if (n > PATH_MAX_ && n - i == PATH_MAX_ / 2)
            fprintf(to, "  ... %zu more ...\n", n - PATH_MAX_);
        if (n > PATH_MAX_ && n - i >= PATH_MAX_ / 2 && i > PATH_MAX_ / 2)
            continue;
        print_entry(d, path[i - 1], to);
    }
    weir_free(path);
    return true;
}

/* ---- items ---- */

static void print_depth(const struct weir_plan_design *d, FILE *to)
{
    char length[32], p50[32], p99[32], device[32], pinned[32];

    fprintf(to, "%6u%s %12s %10.0f %12s %12s", d->slots, d->slots == d->text->slots ? " *" : "  ",
            weir_plan_time_text(d->result.end, length), d->text->items / d->result.end * 1e9,
            weir_plan_time_text(d->values[WEIR_PLAN_P50], p50),
            weir_plan_time_text(d->values[WEIR_PLAN_P99], p99));
    if (d->device_bytes >= 0)
        fprintf(to, " %12s %12s", weir_plan_bytes_text(d->device_bytes, device),
                weir_plan_bytes_text(d->pinned_bytes, pinned));
    fputc('\n', to);
}

/* The same items through one slot, two ... twice as many as the text says, 16 at most of those. */
static bool print_items(const struct weir_plan_design *d, const struct weir_plan_machine *m,
                        FILE *to)
{
    uint32_t most = d->text->slots > 8 ? d->text->slots : d->text->slots * 2;
    bool ok = true;

    fprintf(to, "\n%u items: latency from the beginning of an item's preparation%s to its end\n\n",
            d->text->items, d->text->every_ns > 0 ? " (from its arrival)" : "");
    fprintf(to, " slots %13s %10s %12s %12s%s\n", "makespan", "items/s", "p50", "p99",
            d->device_bytes >= 0 ? "       device       pinned" : "");
    for (uint32_t n = 1; n <= most && ok; n = n < 16 ? n + 1 : n * 2 < most ? n * 2 : most) {
        struct weir_plan_design other;
        char message[200];

        ok = weir_plan_design_run(d->text, m, n, &other, message);
        if (ok)
            print_depth(&other, to);
        weir_plan_design_finish(&other);
        if (n == most)
            break;
    }
    if (d->device_bytes < 0)
        fputs("(With the copies' sizes, h2d 0.2 6MiB, the slots' memory is told, too.)\n", to);
    return ok;
}

/* ---- all ---- */

static void print_engines(const struct weir_plan_design *d, const struct weir_plan_machine *m,
                          FILE *to)
{
    if (m)
        fprintf(to, "%s: its engines and costs\n\n", m->name);
    else if (d->text->copy_engines == 0)
        fputs("engines without limit\n\n", to);
    else
        fprintf(to, "%s\n\n",
                d->text->copy_engines == 1 ? "one copy engine for both directions"
                                           : "one copy engine a direction");
}

bool weir_plan_design_print(const struct weir_plan_design *d, const struct weir_plan_machine *m,
                            FILE *to)
{
    char makespan[32], serial[32];

    print_engines(d, m, to);
    print_timeline(d, to);
    fprintf(to, "\nmakespan %s; one after another %s: %.2f times as fast\n",
            weir_plan_time_text(d->result.end, makespan),
            weir_plan_time_text(d->values[WEIR_PLAN_SERIAL], serial),
            d->values[WEIR_PLAN_SPEEDUP] < 0 ? 1 : d->values[WEIR_PLAN_SPEEDUP]);
    return print_path(d, to) && (!d->text->items || print_items(d, m, to));
}

bool weir_plan_design_judge(const struct weir_plan_design *d, const struct weir_plan_expect *e,
                            size_t count, FILE *to)
{
    static const char *const names[WEIR_PLAN_QUANTITIES] = {"makespan", "serial", "speedup",
                                                            "p50",      "p99",    "memory"};
    bool all = true;

    for (size_t i = 0; i < count; i++) {
        double is = d->values[e[i].quantity], want = e[i].value;
        bool good = is >= 0 && (e[i].relation == '<'   ? is <= want * 1.000001
                                : e[i].relation == '>' ? is >= want * 0.999999
                                                       : is <= want * 1.005 && is >= want * 0.995);
        char text[32], wanted[32];

        all = all && good;
        if (e[i].quantity == WEIR_PLAN_SPEEDUP) {
            snprintf(text, sizeof text, "%.3f", is);
            snprintf(wanted, sizeof wanted, "%g", want);
        } else if (e[i].quantity == WEIR_PLAN_MEMORY) {
            weir_plan_bytes_text(is, text);
            weir_plan_bytes_text(want, wanted);
        } else {
            weir_plan_time_text(is, text);
            weir_plan_time_text(want, wanted);
        }
        fprintf(to, "%s: %s is %s, expected %s %s\n", good ? "right" : "wrong",
                names[e[i].quantity], is < 0 ? "not known" : text,
                e[i].relation == '<'   ? "at most"
                : e[i].relation == '>' ? "at least"
                                       : "about",
                wanted);
    }
    return all;
}
