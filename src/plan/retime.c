/* A recorded program on another device: what each operation takes there.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "plan/recorded.h"
#include "plan/units.h"

bool weir_plan_is_pageable(const struct weir_trace_op *op)
{
    return op->kind == WEIR_TRACE_OP_COPY &&
           ((op->engine == WEIR_TRACE_ENGINE_H2D &&
             (op->u.copy.src_class == WEIR_TRACE_PAGEABLE || op->u.copy.staged)) ||
            (op->engine == WEIR_TRACE_ENGINE_D2H && op->u.copy.dst_class == WEIR_TRACE_PAGEABLE));
}

static double copy_ns(const struct weir_plan_recorded *m, const struct weir_trace_op *op,
                      bool pageable)
{
    return weir_plan_copy_ns(m->machine, (enum weir_plan_engine)op->engine, pageable,
                             (double)op->bytes, (double)m->pageable);
}

uint64_t weir_plan_pinned_ns(const struct weir_plan_recorded *m, uint32_t op)
{
    double ns = m->machine ? copy_ns(m, &m->file->ops[op], false) : 0;

    return ns > 0 ? weir_plan_ns(ns) : m->alone_ns[op];
}

double weir_plan_capture_ns(const struct weir_plan_recorded *m, const struct weir_trace_op *op)
{
    return WEIR_MAX(copy_ns(m, op, true) - copy_ns(m, op, false), 0);
}

/* Bytes of the ranges, the ends of a sweep over addresses: what several share counts once. */
static uint64_t covered(struct weir_plan_edge *edges, size_t n)
{
    uint64_t sum = 0, from = 0;
    uint32_t open = 0;

    weir_plan_edges_sort(edges, n);
    for (size_t i = 0; i < n; i++) {
        if (edges[i].begins && !open++)
            from = edges[i].ns;
        else if (!edges[i].begins && !--open)
            sum += edges[i].ns - from;
    }
    return sum;
}

static size_t add_range(struct weir_plan_edge *edges, size_t n, uint64_t at, uint64_t bytes)
{
    if (at + bytes <= at)
        return n;
    edges[n] = (struct weir_plan_edge){.ns = at, .begins = true};
    edges[n + 1] = (struct weir_plan_edge){.ns = at + bytes};
    return n + 2;
}

/* The host's caches hold what is copied in both directions. */
static bool find_pageable(struct weir_plan_recorded *m)
{
    size_t most = 2 * m->file->ops_count + 1, host = 0, from = 0, to = 0;
    struct weir_plan_edge *edges = weir_alloc(3 * most * sizeof *edges);
    uint64_t known, filled;

    if (!edges)
        return false;
    for (size_t i = 0; i < m->file->ops_count; i++) {
        const struct weir_trace_op *op = &m->file->ops[i];
        bool out = op->engine == WEIR_TRACE_ENGINE_D2H;

        if (!weir_plan_is_pageable(op))
            continue;
        if (out || !op->u.copy.staged)
            host = add_range(edges, host, out ? op->u.copy.dst : op->u.copy.src, op->bytes);
        if (!out && !op->u.copy.staged)
            from = add_range(edges + most, from, op->u.copy.src, op->bytes);
        if (!out)
            to = add_range(edges + 2 * most, to, op->u.copy.dst, op->bytes);
    }
    /* Where a staged copy's source was is not known: as large as what it fills, at least. */
    known = covered(edges + most, from);
    filled = covered(edges + 2 * most, to);
    m->pageable = covered(edges, host) + (filled > known ? filled - known : 0);
    weir_free(edges);
    return true;
}

bool weir_plan_kernel_time_parse(char *text, struct weir_plan_kernel_time *out)
{
    char *value = strchr(text, '='), *at = value ? strchr(value, '@') : NULL, *end = NULL;

    if (!value || value == text ||
        !weir_plan_read_time(value + 1, at ? (size_t)(at - value - 1) : strlen(value + 1),
                             &out->ns))
        return false;
    out->blocks = at && at[1] >= '0' && at[1] <= '9' ? strtoull(at + 1, &end, 10) : 0;
    if (at && (!out->blocks || *end))
        return false;
    *value = '\0';
    out->name = text;
    return true;
}

static double kernel_ns(const struct weir_plan_machine *machine,
                        const struct weir_plan_kernel_time *times, size_t count,
                        const struct weir_trace_op *op)
{
    double blocks = 1;

    for (int i = 0; i < 3; i++)
        blocks *= op->u.kernel.grid[i];
    for (size_t i = 0; i < count; i++) {
        if (strcmp(times[i].name, op->name) == 0)
            return times[i].blocks ? times[i].ns * blocks / (double)times[i].blocks : times[i].ns;
    }
    return weir_plan_kernel_table_ns(machine, op->name, op->symbol, weir_plan_ns(blocks));
}

/* By what it counted; 0: it did not. */
static double counted_ns(const struct weir_plan_recorded *m, size_t i)
{
    const struct weir_trace_op *op = &m->file->ops[i];
    struct weir_plan_kernel_work work = {.blocks = 1,
                                         .threads = 1,
                                         .shared_bytes = op->u.kernel.shared_bytes,
                                         .instructions = op->instructions,
                                         .requested = op->requested,
                                         .touched = m->data->touched[i]};

    if (!op->instructions)
        return 0;
    for (int k = 0; k < 3; k++) {
        work.blocks *= WEIR_MIN(WEIR_MAX(op->u.kernel.grid[k], 1u), k ? 65535u : 0x7fffffffu);
        work.threads *= WEIR_MIN(WEIR_MAX(op->u.kernel.block[k], 1u), 1024u);
    }
    work.threads = WEIR_MIN(work.threads, (uint64_t)1024);
    return weir_plan_kernel_ns(m->machine, &work);
}

/* What a kernel takes beside its work: as a node of a graph less than when it is launched. */
static double kernel_fixed_ns(const struct weir_plan_machine *machine,
                              const struct weir_trace_op *op)
{
    return op->graph != WEIR_TRACE_NONE && machine->rates.graph_node_ns > 0
               ? machine->rates.graph_node_ns
               : machine->rates.kernel_ns;
}

/* What the model gives where nothing was counted. */
static double modelled_ns(const struct weir_plan_machine *machine, const struct weir_trace_op *op)
{
    return op->kind == WEIR_TRACE_OP_KERNEL ? kernel_fixed_ns(machine, op)
           : op->kind == WEIR_TRACE_OP_HOST ? machine->rates.host_func_ns
                                            : 0;
}

bool weir_plan_recorded_by_model(struct weir_plan_recorded *m,
                                 const struct weir_plan_machine *machine,
                                 const struct weir_plan_kernel_time *times, size_t count)
{
    m->model_clock = true;
    for (size_t i = 0; i < m->file->ops_count; i++)
        m->alone_ns[i] = weir_plan_ns(modelled_ns(machine, &m->file->ops[i]));
    return weir_plan_recorded_on(m, machine, times, count);
}

/* Kernels share its places of threads. */
static void set_demands(struct weir_plan_recorded *m)
{
    m->slots = WEIR_MAX(m->machine->device.units, 1u);
    for (size_t i = 0; i < m->file->ops_count; i++) {
        const struct weir_trace_op *op = &m->file->ops[i];
        double blocks = 1, threads = 1;

        if (op->kind != WEIR_TRACE_OP_KERNEL)
            continue;
        for (int k = 0; k < 3; k++) {
            blocks *= WEIR_MAX(op->u.kernel.grid[k], 1u);
            threads *= WEIR_MAX(op->u.kernel.block[k], 1u);
        }
        blocks *= weir_plan_block_units(m->machine, (uint64_t)WEIR_MIN(threads, 1024.0),
                                        op->u.kernel.shared_bytes);
        m->demand[i] = (uint32_t)WEIR_MAX(WEIR_MIN(blocks, (double)m->slots), 1.0);
    }
}

bool weir_plan_recorded_on(struct weir_plan_recorded *m, const struct weir_plan_machine *machine,
                           const struct weir_plan_kernel_time *times, size_t count)
{
    const struct weir_trace_file *f = m->file;
    uint64_t *graphs = weir_calloc(f->ops_count + 1, sizeof *graphs); /* sums of what changed */

    if (!graphs || !find_pageable(m)) {
        weir_free(graphs);
        return false;
    }
    m->machine = machine;
    set_demands(m);
    for (size_t i = 0; i < f->ops_count; i++) {
        const struct weir_trace_op *op = &f->ops[i];
        double ns = 0;

        if (op->kind == WEIR_TRACE_OP_KERNEL)
            ns = kernel_ns(machine, times, count, op);
        if (op->kind == WEIR_TRACE_OP_KERNEL && ns <= 0 && (ns = counted_ns(m, i)) > 0)
            ns += kernel_fixed_ns(machine, op) - machine->rates.kernel_ns;
        else if (op->kind == WEIR_TRACE_OP_COPY || op->kind == WEIR_TRACE_OP_MEMSET)
            ns = copy_ns(m, op, weir_plan_is_pageable(op) && !op->u.copy.staged);
        if (ns > 0 && op->done)
            m->alone_ns[i] = weir_plan_ns(ns);
        if (op->graph < f->ops_count)
            graphs[op->graph] += m->alone_ns[i];
    }
    /* A launch as one operation: its nodes one behind the other. */
    for (size_t i = 0; i < f->ops_count; i++) {
        if (f->ops[i].kind == WEIR_TRACE_OP_GRAPH && graphs[i])
            m->alone_ns[i] = graphs[i];
    }
    weir_free(graphs);
    return true;
}
