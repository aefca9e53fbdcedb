/* What the simulator needs to know of a trace: lengths without neighbours, and calls by thread.
 * SPDX-License-Identifier: Apache-2.0 */
#include "plan/recorded.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "model/model.h"

/* ---- lengths ---- */

static int by_time(const void *x, const void *y)
{
    const struct weir_plan_edge *a = x, *b = y;

    if (a->ns != b->ns)
        return a->ns < b->ns ? -1 : 1;
    return a->begins - b->begins;
}

void weir_plan_edges_sort(struct weir_plan_edge *edges, size_t count)
{
    qsort(edges, count, sizeof *edges, by_time);
}

/* Kernels that ran together shared the slots: each one's own time is what it got of them. (All
 * devices in one sweep: traces of several devices count as one large one.) */
static bool find_alone(struct weir_plan_recorded *m)
{
    const struct weir_trace_file *f = m->file;
    struct weir_plan_edge *edges = weir_alloc((2 * f->ops_count + 1) * sizeof *edges);
    double *since = weir_alloc((f->ops_count + 1) * sizeof *since), got = 0;
    uint64_t demand = 0, last = 0;
    size_t n = 0;

    if (!edges || !since) {
        weir_free(edges);
        weir_free(since);
        return false;
    }
    for (uint32_t i = 0; i < f->ops_count; i++) {
        const struct weir_trace_op *op = &f->ops[i];

        m->alone_ns[i] = op->done ? op->end_ns - op->start_ns : 0;
        if (op->graph != WEIR_TRACE_NONE ||
            (op->kind != WEIR_TRACE_OP_KERNEL && op->kind != WEIR_TRACE_OP_GRAPH) || !op->done ||
            op->end_ns == op->start_ns)
            continue;
        edges[n++] = (struct weir_plan_edge){op->start_ns, i, true};
        edges[n++] = (struct weir_plan_edge){op->end_ns, i, false};
    }
    weir_plan_edges_sort(edges, n);
    /* got: what a kernel would have received since the beginning. */
    for (size_t i = 0; i < n; i++) {
        double rate = demand > m->slots ? (double)m->slots / (double)demand : 1;

        got += (double)(edges[i].ns - last) * rate;
        last = edges[i].ns;
        if (edges[i].begins) {
            since[edges[i].id] = got;
            demand += m->demand[edges[i].id];
        } else {
            m->alone_ns[edges[i].id] = weir_plan_ns(got - since[edges[i].id]);
            demand -= m->demand[edges[i].id];
        }
    }
    weir_free(edges);
    weir_free(since);
    return true;
}

/* ---- calls ---- */

static bool by_thread(struct weir_plan_recorded *m)
{
    const struct weir_trace_file *f = m->file;
    uint32_t at = 0;

    m->thread_first = weir_calloc(f->threads_count + 1, sizeof *m->thread_first);
    m->thread_count = weir_calloc(f->threads_count + 1, sizeof *m->thread_count);
    m->thread_calls = weir_calloc(f->calls_count + 1, sizeof *m->thread_calls);
    if (!m->thread_first || !m->thread_count || !m->thread_calls)
        return false;
    for (size_t i = 0; i < f->calls_count; i++) {
        if (f->calls[i].thread < f->threads_count)
            m->thread_count[f->calls[i].thread]++;
    }
    for (size_t i = 0; i < f->threads_count; i++) {
        m->thread_first[i] = at;
        at += m->thread_count[i];
        m->thread_count[i] = 0;
    }
    for (uint32_t i = 0; i < f->calls_count; i++) {
        uint32_t t = f->calls[i].thread;

        if (t < f->threads_count)
            m->thread_calls[m->thread_first[t] + m->thread_count[t]++] = i;
    }
    return true;
}

#define GROUP(f, array, first, count, at)                                                          \
    do {                                                                                           \
        uint32_t next_ = 0;                                                                        \
        first = weir_calloc((f)->calls_count + 1, sizeof *first);                                  \
        count = weir_calloc((f)->calls_count + 1, sizeof *count);                                  \
        at = weir_calloc((f)->array##_count + 1, sizeof *at);                                      \
        if (!first || !count || !at)                                                               \
            return false;                                                                          \
        for (size_t i = 0; i < (f)->array##_count; i++) {                                          \
            if ((f)->array[i].call != WEIR_TRACE_NONE)                                             \
                count[(f)->array[i].call]++;                                                       \
        }                                                                                          \
        for (size_t i = 0; i < (f)->calls_count; i++) {                                            \
            first[i] = next_;                                                                      \
            next_ += count[i];                                                                     \
            count[i] = 0;                                                                          \
        }                                                                                          \
        for (uint32_t i = 0; i < (f)->array##_count; i++) {                                        \
            uint32_t c_ = (f)->array[i].call;                                                      \
                                                                                                   \
            if (c_ != WEIR_TRACE_NONE)                                                             \
                at[first[c_] + count[c_]++] = i;                                                   \
        }                                                                                          \
    } while (0)

static bool by_call(struct weir_plan_recorded *m)
{
    const struct weir_trace_file *f = m->file;

    GROUP(f, records, m->record_first, m->record_count, m->record_at);
    GROUP(f, event_waits, m->wait_first, m->wait_count, m->wait_at);
    GROUP(f, waits, m->blocked_first, m->blocked_count, m->blocked_at);
    GROUP(f, queries, m->query_first, m->query_count, m->query_at);
    return true;
}

/* A graph takes what its widest kernel takes; without nodes in the file, everything. */
static void find_graph_demands(struct weir_plan_recorded *m)
{
    const struct weir_trace_file *f = m->file;

    for (size_t i = 0; i < f->ops_count; i++) {
        if (f->ops[i].kind == WEIR_TRACE_OP_GRAPH)
            m->demand[i] = 0;
    }
    for (size_t i = 0; i < f->ops_count; i++) {
        uint32_t launch = f->ops[i].graph;

        if (launch < f->ops_count && f->ops[launch].kind == WEIR_TRACE_OP_GRAPH)
            m->demand[launch] = WEIR_MAX(m->demand[launch], m->demand[i]);
    }
    for (size_t i = 0; i < f->ops_count; i++) {
        if (!m->demand[i])
            m->demand[i] = m->slots;
    }
}

static bool is_understood(const struct weir_trace_file *f)
{
    for (size_t i = 0; i < f->streams_count; i++) {
        if (f->streams[i].context >= WEIR_MODEL_MAX_DEVICES || f->streams[i].device >= 64)
            return false;
    }
    return true;
}

bool weir_plan_recorded_init(struct weir_plan_recorded *m, const struct weir_trace_file *f,
                             const struct weir_plan_data *data)
{
    *m = (struct weir_plan_recorded){.file = f, .data = data, .slots = 1};
    if (!is_understood(f))
        return false;
    for (size_t i = 0; i < f->devices_count; i++)
        m->slots = WEIR_MAX(m->slots, f->devices[i].slots);
    m->alone_ns = weir_calloc(f->ops_count + 1, sizeof *m->alone_ns);
    m->demand = weir_calloc(f->ops_count + 1, sizeof *m->demand);
    if (!m->alone_ns || !m->demand)
        return false;
    for (size_t i = 0; i < f->ops_count; i++) {
        const struct weir_trace_op *op = &f->ops[i];
        uint64_t blocks =
            op->kind == WEIR_TRACE_OP_KERNEL
                ? (uint64_t)op->u.kernel.grid[0] * op->u.kernel.grid[1] * op->u.kernel.grid[2]
                : 1;

        m->demand[i] = (uint32_t)WEIR_MAX(WEIR_MIN(blocks, (uint64_t)m->slots), 1u);
    }
    find_graph_demands(m);
    return find_alone(m) && by_thread(m) && by_call(m);
}

void weir_plan_recorded_finish(struct weir_plan_recorded *m)
{
    weir_free(m->alone_ns);
    weir_free(m->demand);
    weir_free(m->record_first);
    weir_free(m->record_count);
    weir_free(m->record_at);
    weir_free(m->wait_first);
    weir_free(m->wait_count);
    weir_free(m->wait_at);
    weir_free(m->blocked_first);
    weir_free(m->blocked_count);
    weir_free(m->blocked_at);
    weir_free(m->query_first);
    weir_free(m->query_count);
    weir_free(m->query_at);
    weir_free(m->thread_first);
    weir_free(m->thread_count);
    weir_free(m->thread_calls);
}
