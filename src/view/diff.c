/* weir diff: two traces of the same program, by name and by cause.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "base/vec.h"
#include "view/changes.h"
#include "view/group.h"
#include "view/view.h"

struct row {
    const char *table, *name;
    uint64_t count[2];
    int64_t total[2];
    int64_t delta;
    const char *cause;
};

struct rows {
    struct row *items;
    size_t count, cap;
};

static const struct weir_view_group *find(const struct weir_view_groups *g, const char *name)
{
    for (size_t i = 0; i < g->count; i++) {
        if (strcmp(g->items[i].name, name) == 0)
            return &g->items[i];
    }
    return NULL;
}

/* Why one name takes another time: more of them, larger ones, longer waiting, or slower each. */
static const char *cause_of(const struct weir_view_group *a, const struct weir_view_group *b)
{
    double ratio;

    if (!a)
        return "new";
    if (!b)
        return "gone";
    if (a->count != b->count && (b->count > a->count) == (b->total > a->total))
        return b->count > a->count ? "more often" : "less often";
    if (a->bytes != b->bytes && (b->bytes > a->bytes) == (b->total > a->total))
        return b->bytes > a->bytes ? "more bytes" : "fewer bytes";
    ratio = (double)b->waited - (double)a->waited;
    if ((ratio > 0) == (b->total > a->total) &&
        (ratio < 0 ? -ratio : ratio) * 2 >
            (double)(b->total > a->total ? b->total - a->total : a->total - b->total))
        return b->total > a->total ? "waits longer" : "waits less";
    if (b->total == a->total)
        return "as before";
    return b->total > a->total ? "each is slower" : "each is faster";
}

static bool add(struct rows *out, enum weir_view_table table, const struct weir_view_group *a,
                const struct weir_view_group *b)
{
    struct row r = {.table = weir_view_table_name(table), .name = a ? a->name : b->name};

    r.count[0] = a ? a->count : 0;
    r.count[1] = b ? b->count : 0;
    r.total[0] = a ? (int64_t)a->total : 0;
    r.total[1] = b ? (int64_t)b->total : 0;
    r.delta = r.total[1] - r.total[0];
    r.cause = cause_of(a, b);
    if (!weir_vec_reserve_bytes((void **)&out->items, &out->cap, out->count + 1, sizeof r))
        return false;
    out->items[out->count++] = r;
    return true;
}

static bool compare_table(const struct weir_trace_file *a, const struct weir_trace_file *b,
                          enum weir_view_table table, struct rows *out)
{
    struct weir_view_groups ga, gb;
    bool ok = weir_view_group(a, table, &ga);

    if (!ok)
        return false;
    ok = weir_view_group(b, table, &gb);
    for (size_t i = 0; ok && i < ga.count; i++)
        ok = add(out, table, &ga.items[i], find(&gb, ga.items[i].name));
    for (size_t i = 0; ok && i < gb.count; i++) {
        if (!find(&ga, gb.items[i].name))
            ok = add(out, table, NULL, &gb.items[i]);
    }
    weir_free(ga.items);
    weir_free(gb.items);
    return ok;
}

static uint64_t magnitude(int64_t v)
{
    return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

static int by_delta(const void *x, const void *y)
{
    uint64_t a = magnitude(((const struct row *)x)->delta);
    uint64_t b = magnitude(((const struct row *)y)->delta);

    return a > b ? -1 : a < b;
}

/* Time that operations were late, by why. */
static void waits_by_cause(const struct weir_trace_file *f, uint64_t out[WEIR_TRACE_WHY_COUNT])
{
    for (size_t i = 0; i < f->ops_count; i++) {
        const struct weir_trace_op *op = &f->ops[i];

        if (op->done && op->engine != WEIR_TRACE_ENGINE_NONE && op->why < WEIR_TRACE_WHY_COUNT)
            out[op->why] += op->why == WEIR_TRACE_WHY_ENGINE ? op->start_ns - op->ready_ns
                                                             : op->ready_ns - op->submit_ns;
    }
}

static const char *const why_names[WEIR_TRACE_WHY_COUNT] = {
    "waiting for the host", "waiting in their stream", "waiting for other streams",
    "waiting for their engine"};

static void put_text(const struct weir_trace_file *a, const struct weir_trace_file *b,
                     const struct rows *rows, const struct weir_view_changes *changes, FILE *to)
{
    uint64_t wa[WEIR_TRACE_WHY_COUNT] = {0}, wb[WEIR_TRACE_WHY_COUNT] = {0};
    double sa = (double)(a->end_ns - a->begin_ns), sb = (double)(b->end_ns - b->begin_ns);
    char x[32], y[32], z[32];

    fprintf(to, "in all %s -> %s (%+.1f%%)\n\n", weir_view_time(sa, x), weir_view_time(sb, y),
            sa > 0 ? 100 * (sb - sa) / sa : 0);
    if (changes->count)
        fputs("what changed:\n", to);
    for (size_t i = 0; i < changes->count; i++)
        fprintf(to, "  %s\n", changes->items[i]);
    if (changes->count)
        fputc('\n', to);
    fprintf(to, "%11s %10s %10s %8s %8s  %-16s %s\n", "change", "before", "after", "count", "count",
            "cause", "name");
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *r = &rows->items[i];

        fprintf(to, "%c%10s %10s %10s %8" PRIu64 " %8" PRIu64 "  %-16s %s\n",
                r->delta < 0 ? '-' : '+', weir_view_time((double)magnitude(r->delta), x),
                weir_view_time((double)r->total[0], y), weir_view_time((double)r->total[1], z),
                r->count[0], r->count[1], r->cause, r->name);
    }
    waits_by_cause(a, wa);
    waits_by_cause(b, wb);
    fputs("\noperations, summed:\n", to);
    for (int w = 1; w < WEIR_TRACE_WHY_COUNT; w++)
        fprintf(to, "  %-28s %10s -> %s\n", why_names[w], weir_view_time((double)wa[w], x),
                weir_view_time((double)wb[w], y));
}

static void put_json(const struct weir_trace_file *a, const struct weir_trace_file *b,
                     const struct rows *rows, const struct weir_view_changes *changes, FILE *to)
{
    fprintf(to, "{\"span_ns\": [%" PRIu64 ", %" PRIu64 "], \"changes\": [", a->end_ns - a->begin_ns,
            b->end_ns - b->begin_ns);
    for (size_t i = 0; i < changes->count; i++) {
        fputs(i ? ", " : "", to);
        weir_text_put_json(to, changes->items[i]);
    }
    fputs("], \"rows\": [", to);
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *r = &rows->items[i];

        fprintf(to, "%s\n  {\"name\": ", i ? "," : "");
        weir_text_put_json(to, r->name);
        fprintf(to,
                ", \"table\": \"%s\", \"cause\": \"%s\", \"count\": [%" PRIu64 ", %" PRIu64
                "], \"total_ns\": [%" PRId64 ", %" PRId64 "], \"change_ns\": %" PRId64 "}",
                r->table, r->cause, r->count[0], r->count[1], r->total[0], r->total[1], r->delta);
    }
    fputs("]}\n", to);
}

static void put_csv(const struct rows *rows, FILE *to)
{
    fputs("table,change_ns,before_ns,after_ns,before_count,after_count,cause,name\n", to);
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *r = &rows->items[i];

        fprintf(to, "%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRIu64 ",%" PRIu64 ",%s,", r->table,
                r->delta, r->total[0], r->total[1], r->count[0], r->count[1], r->cause);
        weir_view_put_csv(to, r->name);
        fputc('\n', to);
    }
}

bool weir_view_diff(const struct weir_trace_file *a, const struct weir_trace_file *b,
                    enum weir_view_format format, FILE *to)
{
    struct weir_view_changes changes;
    struct rows rows = {0};
    bool ok = weir_view_changes(a, b, &changes);

    for (int t = 0; t < WEIR_VIEW_TABLE_COUNT && ok; t++)
        ok = compare_table(a, b, (enum weir_view_table)t, &rows);
    if (ok && rows.count)
        qsort(rows.items, rows.count, sizeof *rows.items, by_delta);
    if (ok && format == WEIR_VIEW_JSON)
        put_json(a, b, &rows, &changes, to);
    else if (ok && format == WEIR_VIEW_CSV)
        put_csv(&rows, to);
    else if (ok)
        put_text(a, b, &rows, &changes, to);
    weir_view_changes_finish(&changes);
    weir_free(rows.items);
    return ok;
}
