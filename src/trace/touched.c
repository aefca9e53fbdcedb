/* What operations touched, as traces of weir check tell: a kernel's ranges as they stand there, a
 * graph's launch those of its nodes together.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "trace/read_int.h"

#define EACH_MOST   12   /* ranges of a launch, of reads and of writes */
#define GATHER_MOST 4096 /* before they are joined; more is not known */

struct launches {
    uint32_t *nodes; /* by operation: nodes that have memory */
    uint32_t *told;  /* records of what was touched */
    uint32_t *last;  /* the last of them, NONE */
    uint32_t *prev;  /* by record: the one of the same operation before it, NONE */
    WEIR_VEC(struct weir_trace_touch) ranges;
};

static int by_place(const void *x, const void *y)
{
    const struct weir_trace_touch *a = x, *b = y;

    if (a->writes != b->writes)
        return a->writes - b->writes;
    return a->address < b->address ? -1 : a->address > b->address;
}

/* Joins b, which begins no earlier, to a. */
static void join(struct weir_trace_touch *a, const struct weir_trace_touch *b)
{
    a->bytes = WEIR_MAX(a->address + a->bytes, b->address + b->bytes) - a->address;
}

/* Sorted ones of one kind; those that meet are one, and of too many those with least between them.
 */
static size_t join_all(struct weir_trace_touch *t, size_t count)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        if (n && t[i].address <= t[n - 1].address + t[n - 1].bytes)
            join(&t[n - 1], &t[i]);
        else
            t[n++] = t[i];
    }
    while (n > EACH_MOST) {
        size_t best = 1;

        for (size_t i = 2; i < n; i++) {
            if (t[i].address - (t[i - 1].address + t[i - 1].bytes) <
                t[best].address - (t[best - 1].address + t[best - 1].bytes))
                best = i;
        }
        join(&t[best - 1], &t[best]);
        memmove(&t[best], &t[best + 1], (n - best - 1) * sizeof *t);
        n--;
    }
    return n;
}

static bool gather(struct reader *r, struct launches *l, uint32_t op)
{
    struct weir_trace_file *f = r->file;
    struct weir_trace_op *of = &f->ops[op];
    size_t reads = 0, counts[2];

    l->ranges.count = 0;
    for (uint32_t i = l->last[op]; i != WEIR_TRACE_NONE; i = l->prev[i]) {
        const struct raw_touched *t = &r->touched.items[i];

        if (l->ranges.count + t->count > GATHER_MOST)
            return true;
        for (uint32_t k = 0; k < t->count; k++) {
            if (!weir_vec_push(&l->ranges, f->touched[t->first + k]))
                return false;
        }
    }
    if (l->ranges.count)
        qsort(l->ranges.items, l->ranges.count, sizeof *l->ranges.items, by_place);
    while (reads < l->ranges.count && !l->ranges.items[reads].writes)
        reads++;
    counts[0] = join_all(l->ranges.items, reads);
    counts[1] =
        reads < l->ranges.count ? join_all(l->ranges.items + reads, l->ranges.count - reads) : 0;
    of->touched_known = true;
    of->touched_first = (uint32_t)f->touched_count;
    of->touched_count = (uint32_t)(counts[0] + counts[1]);
    for (int writes = 0; writes < 2; writes++) {
        for (size_t i = 0; i < counts[writes]; i++) {
            if (!PUSH(r, touched, l->ranges.items[(writes ? reads : 0) + i]))
                return false;
        }
    }
    return true;
}

static void count_nodes(const struct reader *r, struct launches *l)
{
    for (size_t i = 0; i < r->nodes.count; i++) {
        const struct raw_node *n = &r->nodes.items[i];
        uint32_t op = weir_trace_reader_op(r, n->stream, n->seq);

        if (op != WEIR_TRACE_NONE && n->engine != WEIR_TRACE_ENGINE_NONE &&
            n->engine != WEIR_TRACE_ENGINE_HOST)
            l->nodes[op]++;
    }
}

static bool link_all(struct reader *r, struct launches *l)
{
    struct weir_trace_file *f = r->file;
    bool ok = true;

    memset(l->last, 0xff, (f->ops_count + 1) * sizeof *l->last);
    for (uint32_t i = 0; i < r->touched.count; i++) {
        const struct raw_touched *t = &r->touched.items[i];
        uint32_t op = weir_trace_reader_op(r, t->stream, t->seq);

        if (op == WEIR_TRACE_NONE)
            continue;
        l->prev[i] = l->last[op];
        l->last[op] = i;
        l->told[op]++;
        if (f->ops[op].kind != WEIR_TRACE_OP_KERNEL)
            continue;
        f->ops[op].touched_known = true;
        f->ops[op].touched_first = t->first;
        f->ops[op].touched_count = t->count;
    }
    count_nodes(r, l);
    for (uint32_t i = 0; ok && i < f->ops_count; i++) {
        if (f->ops[i].kind == WEIR_TRACE_OP_GRAPH && l->told[i] && l->told[i] == l->nodes[i])
            ok = gather(r, l, i);
    }
    return ok;
}

bool weir_trace_link_touched(struct reader *r)
{
    size_t ops = r->file->ops_count + 1;
    struct launches l = {.nodes = weir_calloc(ops, sizeof *l.nodes),
                         .told = weir_calloc(ops, sizeof *l.told),
                         .last = weir_alloc(ops * sizeof *l.last),
                         .prev = weir_alloc((r->touched.count + 1) * sizeof *l.prev)};
    bool ok = l.nodes && l.told && l.last && l.prev && link_all(r, &l);

    weir_free(l.nodes);
    weir_free(l.told);
    weir_free(l.last);
    weir_free(l.prev);
    weir_vec_finish(&l.ranges);
    return ok;
}
