/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/data.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"

#define WORK_MAX    40000000u /* pieces of memory looked at; more is not worth the wait */
#define READERS_MAX 16

/* ---- what a kernel touches ---- */

/* Pointers that launches of one kernel were given, sorted. */
struct pointer {
    const char *kernel;
    uint64_t address;
};

static int by_kernel(const void *x, const void *y)
{
    const struct pointer *a = x, *b = y;
    int order = a->kernel == b->kernel ? 0 : strcmp(a->kernel, b->kernel);

    return order ? order : a->address < b->address ? -1 : a->address > b->address;
}

struct weir_plan_tables {
    struct pointer *pointers;
    size_t pointer_count;
    struct weir_plan_range
        *blocks; /* allocations by address; those that were used twice are joined */
    size_t block_count;
};

static int by_from(const void *x, const void *y)
{
    const struct weir_plan_range *a = x, *b = y;

    return a->from < b->from ? -1 : a->from > b->from;
}

static bool make_tables(struct weir_plan_tables *t, const struct weir_trace_file *f)
{
    t->pointers = weir_alloc((f->pointers_count + 1) * sizeof *t->pointers);
    t->blocks = weir_alloc((f->allocations_count + 1) * sizeof *t->blocks);
    if (!t->pointers || !t->blocks)
        return false;
    for (size_t i = 0; i < f->ops_count; i++) {
        const struct weir_trace_op *op = &f->ops[i];

        for (uint32_t k = 0; k < op->pointer_count; k++)
            t->pointers[t->pointer_count++] =
                (struct pointer){op->name, f->pointers[op->pointer_first + k]};
    }
    qsort(t->pointers, t->pointer_count, sizeof *t->pointers, by_kernel);
    for (size_t i = 0; i < f->allocations_count; i++)
        t->blocks[i] = (struct weir_plan_range){
            f->allocations[i].address, f->allocations[i].address + f->allocations[i].bytes, false};
    qsort(t->blocks, f->allocations_count, sizeof *t->blocks, by_from);
    for (size_t i = 0; i < f->allocations_count; i++) {
        struct weir_plan_range *last = t->block_count ? &t->blocks[t->block_count - 1] : NULL;

        if (last && t->blocks[i].from < last->to)
            last->to = WEIR_MAX(last->to, t->blocks[i].to);
        else
            t->blocks[t->block_count++] = t->blocks[i];
    }
    return true;
}

static struct weir_plan_range kernel_range(const struct weir_plan_tables *t, const char *kernel,
                                           uint64_t address)
{
    struct pointer key = {kernel, address};
    struct weir_plan_range r = {address, address + 1, true};
    size_t low = 0, high = t->block_count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (t->blocks[mid].to <= address)
            low = mid + 1;
        else
            high = mid;
    }
    if (low < t->block_count && t->blocks[low].from <= address)
        r.to = t->blocks[low].to;
    for (low = 0, high = t->pointer_count; low < high;) {
        size_t mid = low + (high - low) / 2;

        if (by_kernel(&t->pointers[mid], &key) <= 0)
            low = mid + 1;
        else
            high = mid;
    }
    if (low < t->pointer_count && strcmp(t->pointers[low].kernel, kernel) == 0 &&
        t->pointers[low].address < r.to)
        r.to = t->pointers[low].address;
    return r;
}

/* It is known what the kernel, or all of the graph's nodes, touched. */
static bool is_exact(const struct weir_trace_op *op)
{
    return op->touched_known && op->touched_count <= WEIR_PLAN_RANGES_MAX;
}

static size_t exact_ranges(const struct weir_trace_file *f, const struct weir_trace_op *op,
                           struct weir_plan_range out[WEIR_PLAN_RANGES_MAX])
{
    for (uint32_t i = 0; i < op->touched_count; i++) {
        const struct weir_trace_touch *t = &f->touched[op->touched_first + i];

        out[i] = (struct weir_plan_range){t->address, t->address + t->bytes, t->writes};
    }
    return op->touched_count;
}

static size_t ranges_of(const struct weir_trace_file *f, const struct weir_plan_tables *t,
                        const struct weir_trace_op *op,
                        struct weir_plan_range out[WEIR_PLAN_RANGES_MAX])
{
    size_t n = 0;

    switch (op->kind) {
    case WEIR_TRACE_OP_KERNEL:
        if (is_exact(op))
            return exact_ranges(f, op, out);
        for (uint32_t i = 0; i < op->pointer_count && n < WEIR_PLAN_RANGES_MAX; i++) {
            out[n] = kernel_range(t, op->name, f->pointers[op->pointer_first + i]);
            out[n].writes = !(op->pointer_reads >> WEIR_MIN(i, 31u) & 1);
            n++;
        }
        return n;
    case WEIR_TRACE_OP_COPY:
        out[0] =
            (struct weir_plan_range){op->u.copy.src, op->u.copy.src + op->u.copy.src_span, false};
        out[1] =
            (struct weir_plan_range){op->u.copy.dst, op->u.copy.dst + op->u.copy.dst_span, true};
        /* A captured source is the program's again at once. */
        return op->u.copy.staged ? (out[0] = out[1], (size_t)1) : 2;
    case WEIR_TRACE_OP_MEMSET:
        out[0] =
            (struct weir_plan_range){op->u.copy.dst, op->u.copy.dst + op->u.copy.dst_span, true};
        return 1;
    case WEIR_TRACE_OP_GRAPH:
        return is_exact(op) ? exact_ranges(f, op, out) : 0;
    default:
        return 0;
    }
}

/* Of what takes part in the program's order: a node is a part of its launch. */
static size_t ordered_ranges(const struct weir_trace_file *f, const struct weir_plan_tables *t,
                             const struct weir_trace_op *op,
                             struct weir_plan_range out[WEIR_PLAN_RANGES_MAX])
{
    return op->graph == WEIR_TRACE_NONE ? ranges_of(f, t, op, out) : 0;
}

/* ---- pieces between all boundaries ---- */

struct piece {
    uint32_t writer; /* NONE */
    uint32_t readers[READERS_MAX];
    uint32_t reader_count;
};

static int by_number(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

    return a < b ? -1 : a > b;
}

static size_t piece_at(const uint64_t *bounds, size_t count, uint64_t address)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (bounds[mid] < address)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool add_dep(struct weir_plan_data *d, uint32_t op, uint32_t on)
{
    if (on == WEIR_TRACE_NONE || on == op)
        return true;
    for (uint32_t i = d->first[op]; i < d->deps_count; i++) {
        if (d->deps[i] == on)
            return true;
    }
    if (!weir_vec_reserve_bytes((void **)&d->deps, &d->deps_cap, d->deps_count + 1,
                                sizeof *d->deps))
        return false;
    d->deps[d->deps_count++] = on;
    return true;
}

static bool touch(struct weir_plan_data *d, struct piece *p, uint32_t op, bool writes)
{
    bool ok = add_dep(d, op, p->writer);

    if (!writes) {
        /* Full: all earlier readers count as one. */
        if (p->reader_count == READERS_MAX)
            ok = ok && add_dep(d, op, p->readers[--p->reader_count]);
        p->readers[p->reader_count++] = op;
        return ok;
    }
    for (uint32_t i = 0; i < p->reader_count; i++)
        ok = ok && add_dep(d, op, p->readers[i]);
    p->writer = op;
    p->reader_count = 0;
    return ok;
}

static bool collect_bounds(const struct weir_trace_file *f, const struct weir_plan_tables *t,
                           uint64_t **bounds, size_t *count)
{
    size_t cap = 0, n = 0;

    *count = 0;
    for (size_t i = 0; i < f->ops_count; i++) {
        struct weir_plan_range r[WEIR_PLAN_RANGES_MAX];
        size_t ranges = ordered_ranges(f, t, &f->ops[i], r);

        for (size_t k = 0; k < ranges; k++) {
            if (!weir_vec_reserve_bytes((void **)bounds, &cap, *count + 2, sizeof **bounds))
                return false;
            (*bounds)[(*count)++] = r[k].from;
            (*bounds)[(*count)++] = r[k].to;
        }
    }
    if (*count)
        qsort(*bounds, *count, sizeof **bounds, by_number);
    for (size_t i = 0; i < *count; i++) {
        if (!n || (*bounds)[i] != (*bounds)[n - 1])
            (*bounds)[n++] = (*bounds)[i];
    }
    *count = n;
    return true;
}

static bool find_deps(struct weir_plan_data *d, const struct weir_trace_file *f,
                      const struct weir_plan_tables *t, const uint64_t *bounds, size_t count)
{
    struct piece *pieces = weir_alloc((count + 1) * sizeof *pieces);
    uint64_t work = 0;
    bool ok = pieces != NULL;

    for (size_t i = 0; ok && i < count; i++) {
        pieces[i].writer = WEIR_TRACE_NONE;
        pieces[i].reader_count = 0;
    }
    for (uint32_t i = 0; i < f->ops_count && ok && work < WORK_MAX; i++) {
        struct weir_plan_range r[WEIR_PLAN_RANGES_MAX];
        size_t ranges = ordered_ranges(f, t, &f->ops[i], r);

        d->first[i] = (uint32_t)d->deps_count;
        for (size_t k = 0; k < ranges && ok; k++) {
            size_t p = piece_at(bounds, count, r[k].from);

            for (; p < count && bounds[p] < r[k].to && ok && work < WORK_MAX; p++, work++)
                ok = touch(d, &pieces[p], i, r[k].writes);
        }
        d->count[i] = (uint32_t)d->deps_count - d->first[i];
    }
    d->known = work < WORK_MAX;
    weir_free(pieces);
    return ok;
}

size_t weir_plan_data_ranges(const struct weir_plan_data *d, const struct weir_trace_file *f,
                             uint32_t op, struct weir_plan_range out[WEIR_PLAN_RANGES_MAX])
{
    return ranges_of(f, d->tables, &f->ops[op], out);
}

bool weir_plan_data_init(struct weir_plan_data *d, const struct weir_trace_file *f)
{
    struct weir_plan_tables *t = weir_calloc(1, sizeof *t);
    uint64_t *bounds = NULL;
    size_t count = 0;
    bool ok;

    *d = (struct weir_plan_data){.tables = t};
    d->first = weir_calloc(f->ops_count + 1, sizeof *d->first);
    d->count = weir_calloc(f->ops_count + 1, sizeof *d->count);
    d->touched = weir_calloc(f->ops_count + 1, sizeof *d->touched);
    ok = t && d->first && d->count && d->touched && make_tables(t, f) &&
         collect_bounds(f, t, &bounds, &count) && find_deps(d, f, t, bounds, count);
    for (size_t i = 0; ok && i < f->ops_count; i++) {
        struct weir_plan_range r[WEIR_PLAN_RANGES_MAX];
        size_t ranges = ranges_of(f, t, &f->ops[i], r);

        if (f->ops[i].kind == WEIR_TRACE_OP_GRAPH)
            continue; /* its nodes do */
        for (size_t k = 0; k < ranges; k++)
            d->touched[i] += r[k].to - r[k].from;
    }
    /* Else what a graph's nodes touch is in a trace only where they count, and then for kernels
     * alone. */
    for (size_t i = 0; i < f->ops_count; i++)
        d->known = d->known && (f->ops[i].kind != WEIR_TRACE_OP_GRAPH || is_exact(&f->ops[i]));
    weir_free(bounds);
    if (!ok)
        weir_plan_data_finish(d);
    return ok;
}

void weir_plan_data_finish(struct weir_plan_data *d)
{
    weir_free(d->first);
    weir_free(d->count);
    weir_free(d->touched);
    weir_free(d->deps);
    if (d->tables) {
        weir_free(d->tables->pointers);
        weir_free(d->tables->blocks);
    }
    weir_free(d->tables);
    *d = (struct weir_plan_data){0};
}
