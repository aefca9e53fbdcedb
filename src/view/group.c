/* SPDX-License-Identifier: Apache-2.0 */
#include "view/group.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"

struct sample {
    const char *name;
    uint64_t ns, bytes, waited;
};

struct samples {
    struct sample *items;
    size_t count, cap;
};

const char *weir_view_table_name(enum weir_view_table table)
{
    static const char *const names[] = {"kernels", "copies and memsets", "API calls",
                                        "NVTX ranges"};

    return names[table];
}

static bool collect_ops(const struct weir_trace_file *f, enum weir_view_table table,
                        struct samples *out)
{
    bool ok = true;

    for (size_t i = 0; i < f->ops_count && ok; i++) {
        const struct weir_trace_op *op = &f->ops[i];
        bool copy = op->kind == WEIR_TRACE_OP_COPY || op->kind == WEIR_TRACE_OP_MEMSET;
        struct sample s = {op->name, op->end_ns - op->start_ns, op->bytes,
                           op->start_ns - op->ready_ns};

        if (op->done && (table == WEIR_VIEW_KERNELS ? op->kind == WEIR_TRACE_OP_KERNEL : copy))
            ok = weir_vec_push(out, s);
    }
    return ok;
}

static bool collect(const struct weir_trace_file *f, enum weir_view_table table,
                    struct samples *out)
{
    bool ok = true;

    if (table == WEIR_VIEW_KERNELS || table == WEIR_VIEW_COPIES)
        return collect_ops(f, table, out);
    for (size_t i = 0; table == WEIR_VIEW_CALLS && i < f->calls_count && ok; i++) {
        const struct weir_trace_call *c = &f->calls[i];
        struct sample s = {c->name, c->end_ns - c->begin_ns, 0, c->waited_ns};

        ok = weir_vec_push(out, s);
    }
    for (size_t i = 0; table == WEIR_VIEW_RANGES && i < f->ranges_count && ok; i++) {
        const struct weir_trace_range *g = &f->ranges[i];
        struct sample s = {g->text, g->end_ns - g->begin_ns, 0, 0};

        ok = weir_vec_push(out, s);
    }
    return ok;
}

static int by_name(const void *x, const void *y)
{
    const struct sample *a = x, *b = y;
    int order = a->name == b->name ? 0 : strcmp(a->name, b->name);

    return order ? order : a->ns < b->ns ? -1 : a->ns > b->ns;
}

static int by_total(const void *x, const void *y)
{
    const struct weir_view_group *a = x, *b = y;

    return a->total > b->total ? -1 : a->total < b->total ? 1 : strcmp(a->name, b->name);
}

static bool sum(const struct samples *in, struct weir_view_groups *out)
{
    size_t cap = 0;

    for (size_t i = 0, n; i < in->count; i += n) {
        const struct sample *s = &in->items[i];
        struct weir_view_group g = {.name = s->name, .min = s->ns};

        for (n = 0; i + n < in->count && strcmp(in->items[i + n].name, s->name) == 0; n++) {
            g.total += s[n].ns;
            g.bytes += s[n].bytes;
            g.waited += s[n].waited;
        }
        g.count = n;
        g.max = s[n - 1].ns;
        g.median = n % 2 ? s[n / 2].ns : (s[n / 2 - 1].ns + s[n / 2].ns) / 2;
        out->total += g.total;
        if (!weir_vec_reserve_bytes((void **)&out->items, &cap, out->count + 1, sizeof g))
            return false;
        out->items[out->count++] = g;
    }
    return true;
}

bool weir_view_group(const struct weir_trace_file *f, enum weir_view_table table,
                     struct weir_view_groups *out)
{
    struct samples samples = {0};
    bool ok;

    *out = (struct weir_view_groups){0};
    ok = collect(f, table, &samples);
    if (ok && samples.count) {
        qsort(samples.items, samples.count, sizeof *samples.items, by_name);
        ok = sum(&samples, out);
    }
    weir_vec_finish(&samples);
    if (ok && out->count)
        qsort(out->items, out->count, sizeof *out->items, by_total);
    if (!ok) {
        weir_free(out->items);
        out->items = NULL;
    }
    return ok;
}
