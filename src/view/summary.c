/* weir summary: the tables.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/text.h"
#include "view/group.h"
#include "view/view.h"

static const char *const keys[] = {"kernels", "copies", "calls", "ranges"};

static double share(const struct weir_view_groups *g, uint64_t part)
{
    return g->total ? 100.0 * (double)part / (double)g->total : 0;
}

static void put_text(const struct weir_view_groups *g, enum weir_view_table table, FILE *to)
{
    char total[32], average[32], median[32], min[32], max[32], extra[32] = "";
    const bool copies = table == WEIR_VIEW_COPIES, calls = table == WEIR_VIEW_CALLS;

    fprintf(to, "%s\n  %6s %10s %8s %10s %10s %10s %10s %10s  %s\n", weir_view_table_name(table),
            "share", "total", "count", "average", "median", "min", "max",
            copies  ? "rate"
            : calls ? "waiting"
                    : "",
            "name");
    for (size_t i = 0; i < g->count; i++) {
        const struct weir_view_group *r = &g->items[i];

        if (copies && r->total)
            snprintf(extra, sizeof extra, "%.2f GB/s", (double)r->bytes / (double)r->total);
        else if (calls)
            weir_view_time((double)r->waited, extra);
        fprintf(to, "  %5.1f%% %10s %8" PRIu64 " %10s %10s %10s %10s %10s  %s\n",
                share(g, r->total), weir_view_time((double)r->total, total), r->count,
                weir_view_time((double)r->total / (double)r->count, average),
                weir_view_time((double)r->median, median), weir_view_time((double)r->min, min),
                weir_view_time((double)r->max, max), extra, r->name);
    }
    fputc('\n', to);
}

static void put_csv(const struct weir_view_groups *g, enum weir_view_table table, FILE *to)
{
    for (size_t i = 0; i < g->count; i++) {
        const struct weir_view_group *r = &g->items[i];

        fprintf(to,
                "%s,%.3f,%" PRIu64 ",%" PRIu64 ",%.1f,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
                ",%" PRIu64 ",",
                keys[table], share(g, r->total), r->total, r->count,
                (double)r->total / (double)r->count, r->median, r->min, r->max, r->bytes,
                r->waited);
        weir_view_put_csv(to, r->name);
        fputc('\n', to);
    }
}

static void put_json(const struct weir_view_groups *g, enum weir_view_table table, FILE *to)
{
    fprintf(to, "%s\n  \"%s\": [", table ? "," : "", keys[table]);
    for (size_t i = 0; i < g->count; i++) {
        const struct weir_view_group *r = &g->items[i];

        fprintf(to, "%s\n    {\"name\": ", i ? "," : "");
        weir_text_put_json(to, r->name);
        fprintf(to,
                ", \"share\": %.3f, \"total_ns\": %" PRIu64 ", \"count\": %" PRIu64
                ", \"average_ns\": %.1f, \"median_ns\": %" PRIu64 ", \"min_ns\": %" PRIu64
                ", \"max_ns\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"waited_ns\": %" PRIu64 "}",
                share(g, r->total), r->total, r->count, (double)r->total / (double)r->count,
                r->median, r->min, r->max, r->bytes, r->waited);
    }
    fputs("]", to);
}

/* Threads that call: Weir's own, which note ends of operations, are not the program's. */
static size_t count_callers(const struct weir_trace_file *f)
{
    bool *calls = weir_calloc(f->threads_count + 1, sizeof *calls);
    size_t n = 0;

    for (size_t i = 0; calls && i < f->calls_count; i++) {
        uint32_t t = f->calls[i].thread;

        if (t < f->threads_count && !calls[t]) {
            calls[t] = true;
            n++;
        }
    }
    weir_free(calls);
    return n;
}

static void put_head(const struct weir_trace_file *f, enum weir_view_format format, FILE *to)
{
    char span[32];

    if (format == WEIR_VIEW_TEXT) {
        size_t callers = count_callers(f);

        fprintf(to,
                "%s from the first call to the last: %zu operations, %zu calls of %zu thread%s\n",
                weir_view_time((double)(f->end_ns - f->begin_ns), span), f->ops_count,
                f->calls_count, callers, callers == 1 ? "" : "s");
        if (f->lost || f->damaged_chunks)
            fprintf(to, "incomplete: %" PRIu64 " records lost, %u chunks damaged\n", f->lost,
                    f->damaged_chunks);
        fputc('\n', to);
    } else if (format == WEIR_VIEW_CSV) {
        fputs(
            "table,share,total_ns,count,average_ns,median_ns,min_ns,max_ns,bytes,waited_ns,name\n",
            to);
    } else {
        fprintf(to,
                "{\n  \"span_ns\": %" PRIu64 ", \"operations\": %zu, \"lost\": %" PRIu64
                ", \"damaged_chunks\": %u,",
                f->end_ns - f->begin_ns, f->ops_count, f->lost, f->damaged_chunks);
    }
}

bool weir_view_summary(const struct weir_trace_file *f, enum weir_view_format format, FILE *to)
{
    put_head(f, format, to);
    for (int t = 0; t < WEIR_VIEW_TABLE_COUNT; t++) {
        struct weir_view_groups g;

        if (!weir_view_group(f, (enum weir_view_table)t, &g))
            return false;
        if (format == WEIR_VIEW_JSON)
            put_json(&g, (enum weir_view_table)t, to);
        else if (format == WEIR_VIEW_CSV)
            put_csv(&g, (enum weir_view_table)t, to);
        else if (g.count)
            put_text(&g, (enum weir_view_table)t, to);
        weir_free(g.items);
    }
    if (format == WEIR_VIEW_JSON)
        fputs("\n}\n", to);
    return true;
}
