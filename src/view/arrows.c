/* SPDX-License-Identifier: Apache-2.0 */
#include "view/arrows.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"

static int by_to(const void *x, const void *y)
{
    const struct weir_view_arrow *a = x, *b = y;

    if (a->to != b->to)
        return a->to < b->to ? -1 : 1;
    return a->from < b->from ? -1 : a->from > b->from;
}

void weir_view_sort_arrows(struct weir_view_arrows *arrows)
{
    if (arrows->count)
        qsort(arrows->items, arrows->count, sizeof *arrows->items, by_to);
}

static uint32_t bar_before(const struct weir_trace_file *f, uint32_t op)
{
    while (op != WEIR_TRACE_NONE && !weir_view_is_bar(&f->ops[op]))
        op = f->ops[op].prev;
    return op;
}

bool weir_view_find_arrows(const struct weir_trace_file *f, struct weir_view_arrows *out)
{
    uint32_t *next = weir_alloc((f->ops_count + 1) * sizeof *next);
    size_t cap = 0;
    bool ok = next != NULL;

    *out = (struct weir_view_arrows){0};
    if (!ok)
        return false;
    memset(next, 0xff, (f->ops_count + 1) * sizeof *next);
    for (uint32_t i = 0; i < f->ops_count; i++) {
        if (f->ops[i].prev != WEIR_TRACE_NONE)
            next[f->ops[i].prev] = i;
    }
    for (uint32_t i = 0; i < f->ops_count && ok; i++) {
        uint32_t to = i;

        if (!f->ops[i].dep_count)
            continue;
        while (to != WEIR_TRACE_NONE && !weir_view_is_bar(&f->ops[to]))
            to = next[to];
        for (uint32_t d = 0; to != WEIR_TRACE_NONE && d < f->ops[i].dep_count && ok; d++) {
            const struct weir_trace_dep *dep = &f->deps[f->ops[i].dep_first + d];
            struct weir_view_arrow a = {bar_before(f, dep->op), to, dep->rule};

            if (a.from == WEIR_TRACE_NONE)
                continue;
            ok = weir_vec_reserve_bytes((void **)&out->items, &cap, out->count + 1, sizeof a);
            if (ok)
                out->items[out->count++] = a;
        }
    }
    weir_free(next);
    if (!ok) {
        weir_free(out->items);
        out->items = NULL;
        return false;
    }
    weir_view_sort_arrows(out);
    return true;
}
