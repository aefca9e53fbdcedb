/* What a trace says only between its lines: which operation an edge names, when each was ready, and
 * why it did not start earlier.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/graphs.h"

static uint32_t stream_index(const struct reader *r, uint64_t id)
{
    return (uint32_t)(uintptr_t)weir_map_get(&r->stream_ids, id + 1) - 1; /* NONE when unknown */
}

/* ---- order ---- */

struct op_key {
    uint64_t ns, seq;
    uint32_t stream, index;
};

static int by_time(const void *x, const void *y)
{
    const struct op_key *a = x, *b = y;

    if (a->ns != b->ns)
        return a->ns < b->ns ? -1 : 1;
    if (a->stream == b->stream && a->seq != b->seq)
        return a->seq < b->seq ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static int by_stream(const void *x, const void *y)
{
    const struct op_key *a = x, *b = y;

    if (a->stream != b->stream)
        return a->stream < b->stream ? -1 : 1;
    return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static int by_begin(const void *x, const void *y)
{
    const struct op_key *a = x, *b = y;

    return a->ns < b->ns   ? -1
           : a->ns > b->ns ? 1
                           : (a->index < b->index ? -1 : a->index > b->index);
}

/* Sorts calls by begin; to[old index] is the new one. */
static bool sort_calls(struct reader *r, uint32_t *to)
{
    struct weir_trace_file *f = r->file;
    size_t n = f->calls_count;
    struct op_key *keys = weir_alloc(n * sizeof *keys);
    struct weir_trace_call *calls = weir_alloc(n * sizeof *calls);

    if (!keys || !calls) {
        weir_free(keys);
        weir_free(calls);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        keys[i] = (struct op_key){.ns = f->calls[i].begin_ns, .index = (uint32_t)i};
    qsort(keys, n, sizeof *keys, by_begin);
    for (size_t i = 0; i < n; i++) {
        uint32_t old = keys[i].index, site = r->call_sites.items[old];
        uintptr_t index = site ? (uintptr_t)weir_map_get(&r->site_ids, site) : 0;

        calls[i] = f->calls[old];
        calls[i].name = weir_trace_text_of(r, r->call_names.items[old]);
        calls[i].site = (uint32_t)index - 1;
        to[old] = (uint32_t)i;
    }
    weir_free(f->calls);
    weir_free(keys);
    f->calls = calls;
    return true;
}

#define RENUMBER(f, array, to)                                                                     \
    for (size_t i = 0; i < (f)->array##_count; i++) {                                              \
        if ((f)->array[i].call != WEIR_TRACE_NONE)                                                 \
            (f)->array[i].call = (to)[(f)->array[i].call];                                         \
    }

static bool link_calls(struct reader *r)
{
    struct weir_trace_file *f = r->file;
    uint32_t *to = weir_alloc((f->calls_count + 1) * sizeof *to);

    if (!to || (f->calls_count && !sort_calls(r, to))) {
        weir_free(to);
        return false;
    }
    RENUMBER(f, ops, to)
    RENUMBER(f, syncs, to)
    RENUMBER(f, waits, to)
    RENUMBER(f, records, to)
    RENUMBER(f, event_waits, to)
    RENUMBER(f, elapsed, to)
    RENUMBER(f, allocations, to)
    RENUMBER(f, loads, to)
    RENUMBER(f, queries, to)
    RENUMBER(f, peers, to)
    RENUMBER(f, host_writes, to)
    weir_free(to);
    for (size_t i = 0; i < f->waits_count; i++) {
        if (f->waits[i].call != WEIR_TRACE_NONE)
            f->calls[f->waits[i].call].waited_ns += f->waits[i].end_ns - f->waits[i].begin_ns;
    }
    return true;
}

/* ---- operations ---- */

/* What a kernel's mangled name says, once for all its launches. */
struct kernel_name {
    const char *name;
    uint32_t pointers, reads;
};

static const struct kernel_name *kernel_name(struct reader *r, struct weir_map *names, uint32_t id)
{
    struct kernel_name *k = weir_map_get(names, (uint64_t)id + 1);
    char text[512];

    if (k)
        return k;
    k = weir_calloc(1, sizeof *k);
    if (!k || !weir_trace_keep(r->file, (char *)k))
        return NULL;
    k->reads = weir_trace_const_pointers(weir_trace_text_of(r, id), &k->pointers);
    k->name = weir_trace_keep(
        r->file, weir_strdup(weir_trace_demangle(weir_trace_text_of(r, id), text, sizeof text)));
    return k->name && weir_map_put(names, (uint64_t)id + 1, k) ? k : NULL;
}

static bool name_kernel(struct reader *r, struct weir_map *names, struct weir_trace_op *op,
                        uint32_t id)
{
    const struct kernel_name *k = kernel_name(r, names, id);

    if (!k)
        return false;
    op->name = k->name;
    op->symbol = weir_trace_text_of(r, id);
    if (k->pointers == op->pointer_count)
        op->pointer_reads = k->reads;
    return true;
}

static const char *copy_name(const struct weir_trace_op *op)
{
    static const char *const names[4][4] = {
        {"H2D pageable", "H2D pinned", "H2D", "H2D managed"},
        {"D2H pageable", "D2H pinned", "D2H", "D2H managed"},
        {"H2H", "H2H pinned", "D2D", "D2D managed"},
        {"copy", "copy", "copy", "copy"},
    };
    const unsigned src = op->u.copy.src_class, dst = op->u.copy.dst_class;

    switch (op->engine) {
    case WEIR_TRACE_ENGINE_H2D:
        return names[0][src];
    case WEIR_TRACE_ENGINE_D2H:
        return names[1][dst];
    case WEIR_TRACE_ENGINE_D2D:
        return names[2][WEIR_MAX(src, dst)];
    default:
        return names[3][0];
    }
}

static bool name_ops(struct reader *r)
{
    struct weir_trace_file *f = r->file;
    struct weir_map names = {0};
    bool ok = true;

    for (size_t i = 0; i < f->ops_count && ok; i++) {
        struct weir_trace_op *op = &f->ops[i];

        op->symbol = "";
        if (op->kind == WEIR_TRACE_OP_KERNEL)
            ok = name_kernel(r, &names, op, r->raw_ops.items[i].name);
        else if (op->kind == WEIR_TRACE_OP_COPY)
            op->name = copy_name(op);
        else
            op->name = weir_trace_kind_name(op->kind);
    }
    weir_map_finish(&names);
    return ok;
}

/* ops in order of submission; those of unknown streams are left out. */
static bool sort_ops(struct reader *r)
{
    struct weir_trace_file *f = r->file;
    size_t n = f->ops_count, kept = 0;
    struct op_key *keys = weir_alloc((n + 1) * sizeof *keys);
    struct weir_trace_op *ops = weir_alloc((n + 1) * sizeof *ops);

    if (!keys || !ops) {
        weir_free(keys);
        weir_free(ops);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t s = stream_index(r, r->raw_ops.items[i].stream);

        f->ops[i].stream = s;
        if (s != WEIR_TRACE_NONE)
            keys[kept++] = (struct op_key){
                .ns = f->ops[i].submit_ns, .seq = f->ops[i].seq, .stream = s, .index = (uint32_t)i};
    }
    qsort(keys, kept, sizeof *keys, by_time);
    for (size_t i = 0; i < kept; i++)
        ops[i] = f->ops[keys[i].index];
    weir_free(f->ops);
    f->ops = ops;
    f->ops_count = kept;
    weir_free(keys);
    return true;
}

/* stream_ops: each stream's operations by number; prev; numbers that come twice make no order. */
static bool index_streams(struct weir_trace_file *f)
{
    size_t n = f->ops_count;
    struct op_key *keys = weir_alloc((n + 1) * sizeof *keys);

    f->stream_ops = weir_alloc((n + 1) * sizeof *f->stream_ops);
    if (!keys || !f->stream_ops) {
        weir_free(keys);
        return false;
    }
    f->stream_ops_count = n;
    for (size_t i = 0; i < n; i++)
        keys[i] =
            (struct op_key){.seq = f->ops[i].seq, .stream = f->ops[i].stream, .index = (uint32_t)i};
    qsort(keys, n, sizeof *keys, by_stream);
    for (size_t i = 0; i < n; i++) {
        struct weir_trace_stream *s = &f->streams[keys[i].stream];

        if (!s->op_count)
            s->op_first = (uint32_t)i;
        s->op_count++;
        f->stream_ops[i] = keys[i].index;
        if (i && keys[i].stream == keys[i - 1].stream && keys[i].seq > keys[i - 1].seq)
            f->ops[keys[i].index].prev = keys[i - 1].index;
    }
    weir_free(keys);
    return true;
}

/* The last operation of the stream with a number <= seq; exact: only that number. */
static uint32_t find_op(const struct weir_trace_file *f, uint32_t stream, uint64_t seq, bool exact)
{
    const struct weir_trace_stream *s;
    size_t low, high;
    uint32_t found;

    if (stream == WEIR_TRACE_NONE)
        return WEIR_TRACE_NONE;
    s = &f->streams[stream];
    low = s->op_first;
    high = low + s->op_count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (f->ops[f->stream_ops[mid]].seq <= seq)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == s->op_first)
        return WEIR_TRACE_NONE;
    found = f->stream_ops[low - 1];
    return exact && f->ops[found].seq != seq ? WEIR_TRACE_NONE : found;
}

uint32_t weir_trace_reader_op(const struct reader *r, uint64_t stream, uint64_t seq)
{
    return find_op(r->file, stream_index(r, stream), seq, true);
}

static void link_names(struct reader *r)
{
    struct weir_trace_file *f = r->file;

    for (size_t i = 0; i < f->deps_count; i++)
        f->deps[i].op = find_op(f, stream_index(r, r->raw_deps.items[i].stream),
                                r->raw_deps.items[i].seq, false);
    for (size_t i = 0; i < f->streams_count; i++) {
        struct weir_trace_stream *s = &f->streams[i];

        if (s->parent_seq)
            s->parent = find_op(f, stream_index(r, s->parent_stream), s->parent_seq, true);
    }
    for (size_t i = 0; i < r->dones.count; i++) {
        const struct raw_done *d = &r->dones.items[i];
        uint32_t op = find_op(f, stream_index(r, d->stream), d->seq, true);

        if (op == WEIR_TRACE_NONE)
            continue;
        f->ops[op].done = true;
        f->ops[op].start_ns = d->start_ns;
        f->ops[op].end_ns = d->end_ns;
        f->ops[op].status = (int32_t)d->status;
        if (d->engine < WEIR_TRACE_ENGINE_NONE)
            f->ops[op].engine = (uint8_t)d->engine;
    }
    for (size_t i = 0; i < r->works.count; i++) {
        const struct raw_work *w = &r->works.items[i];
        uint32_t op = find_op(f, stream_index(r, w->stream), w->seq, true);

        if (op == WEIR_TRACE_NONE)
            continue;
        f->ops[op].instructions = w->instructions;
        f->ops[op].requested = w->bytes;
    }
    for (size_t i = 0; i < f->waits_count; i++)
        f->waits[i].op = find_op(f, stream_index(r, r->raw_waits.items[i].stream),
                                 r->raw_waits.items[i].seq, false);
    for (size_t i = 0; i < f->syncs_count; i++) {
        if (f->syncs[i].what != WEIR_TRACE_WAITS_DEVICE)
            f->syncs[i].stream = stream_index(r, r->sync_streams.items[i]);
    }
    for (size_t i = 0; i < f->loads_count; i++)
        f->loads[i].name = weir_trace_text_of(r, r->load_names.items[i]);
    for (size_t i = 0; i < f->environment_count; i++)
        f->environment[i] = weir_trace_text_of(r, r->environment_texts.items[i]);
    f->program = weir_trace_text_of(r, r->program_text);
    for (size_t i = 0; i < f->records_count; i++)
        f->records[i].stream = stream_index(r, r->record_streams.items[i]);
    for (size_t i = 0; i < f->event_waits_count; i++) {
        f->event_waits[i].in_stream = stream_index(r, r->wait_streams.items[2 * i]);
        f->event_waits[i].stream = f->event_waits[i].seq
                                       ? stream_index(r, r->wait_streams.items[2 * i + 1])
                                       : WEIR_TRACE_NONE;
    }
    for (size_t i = 0; i < f->sites_count; i++)
        f->sites[i].module = weir_trace_text_of(r, r->site_modules.items[i]);
    for (size_t i = 0; i < f->devices_count; i++)
        f->devices[i].name = weir_trace_text_of(r, r->device_names.items[i]);
    for (size_t i = 0; i < f->ranges_count; i++) {
        f->ranges[i].domain = weir_trace_text_of(r, r->range_names.items[2 * i]);
        f->ranges[i].text = weir_trace_text_of(r, r->range_names.items[2 * i + 1]);
    }
}

/* Operations whose call's record stands in another chunk were submitted when it began. */
static void adopt_ops(struct weir_trace_file *f)
{
    for (size_t i = 0, c = 0; i < f->ops_count; i++) {
        struct weir_trace_op *op = &f->ops[i];

        while (c < f->calls_count && f->calls[c].begin_ns < op->submit_ns)
            c++;
        if (op->call == WEIR_TRACE_NONE && c < f->calls_count &&
            f->calls[c].begin_ns == op->submit_ns)
            op->call = (uint32_t)c;
    }
}

static bool index_calls(struct weir_trace_file *f)
{
    size_t n = 0;

    f->call_ops = weir_alloc((f->ops_count + 1) * sizeof *f->call_ops);
    if (!f->call_ops)
        return false;
    adopt_ops(f);
    for (size_t i = 0; i < f->ops_count; i++) {
        if (f->ops[i].call != WEIR_TRACE_NONE)
            f->calls[f->ops[i].call].op_count++;
    }
    for (size_t i = 0; i < f->calls_count; i++) {
        f->calls[i].op_first = (uint32_t)n;
        n += f->calls[i].op_count;
        f->calls[i].op_count = 0;
    }
    for (size_t i = 0; i < f->ops_count; i++) {
        struct weir_trace_call *c;

        if (f->ops[i].call == WEIR_TRACE_NONE)
            continue;
        c = &f->calls[f->ops[i].call];
        f->call_ops[c->op_first + c->op_count++] = (uint32_t)i;
    }
    f->call_ops_count = n;
    /* A call's syncs stand together. */
    for (size_t i = 0; i < f->syncs_count; i++) {
        struct weir_trace_call *c;

        if (f->syncs[i].call == WEIR_TRACE_NONE)
            continue;
        c = &f->calls[f->syncs[i].call];
        if (!c->sync_count)
            c->sync_first = (uint32_t)i;
        c->sync_count++;
    }
    return true;
}

/* ---- graphs ---- */

/* Nodes say when a launch ran. Before operations are settled. */
static void time_launches(struct reader *r)
{
    struct weir_trace_file *f = r->file;

    for (size_t i = 0; i < r->nodes.count; i++) {
        const struct raw_node *n = &r->nodes.items[i];
        uint32_t at = find_op(f, stream_index(r, n->stream), n->seq, true);
        struct weir_trace_op *op = at == WEIR_TRACE_NONE ? NULL : &f->ops[at];

        if (!op || op->kind != WEIR_TRACE_OP_GRAPH)
            continue;
        op->start_ns = op->done ? WEIR_MIN(op->start_ns, n->start_ns) : n->start_ns;
        op->end_ns = op->done ? WEIR_MAX(op->end_ns, n->end_ns) : n->end_ns;
        op->engine = WEIR_TRACE_ENGINE_KERNEL;
        op->done = true;
    }
}

static int by_node_start(const void *x, const void *y)
{
    const struct raw_node *a = x, *b = y;

    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

#define LANES 8

/* The row of a node: the first of its stream's in which nothing runs then. */
static uint32_t lane_of(struct reader *r, uint32_t stream, uint64_t start_ns, uint32_t *lanes,
                        uint64_t *ends)
{
    struct weir_trace_file *f = r->file;
    uint32_t lane = 0;

    while (lane + 1 < LANES && lanes[lane] != WEIR_TRACE_NONE && ends[lane] > start_ns)
        lane++;
    if (lanes[lane] == WEIR_TRACE_NONE) {
        struct weir_trace_stream s = f->streams[stream];

        s.graph_lane = (uint8_t)(lane + 1);
        s.op_first = s.op_count = 0;
        if (!PUSH(r, streams, s))
            return 0;
        lanes[lane] = (uint32_t)f->streams_count - 1;
    }
    return lane;
}

static struct weir_trace_op node_op(const struct weir_trace_file *f, uint32_t launch,
                                    const struct raw_node *n)
{
    const struct weir_trace_op *of = &f->ops[launch];
    struct weir_trace_op op = {
        .seq = of->seq,
        .kind = n->allocates                            ? WEIR_TRACE_OP_ALLOC
                : n->frees                              ? WEIR_TRACE_OP_FREE
                : n->engine == WEIR_TRACE_ENGINE_KERNEL ? WEIR_TRACE_OP_KERNEL
                : n->engine == WEIR_TRACE_ENGINE_HOST   ? WEIR_TRACE_OP_HOST
                : n->memset                             ? WEIR_TRACE_OP_MEMSET
                                                        : WEIR_TRACE_OP_COPY,
        .engine = n->engine,
        .why = WEIR_TRACE_WHY_HOST,
        .why_op = WEIR_TRACE_NONE,
        .done = true,
        .submit_ns = of->submit_ns,
        .ready_ns = n->start_ns,
        .start_ns = n->start_ns,
        .end_ns = n->end_ns,
        .symbol = "",
        .name = weir_trace_kind_name(WEIR_TRACE_OP_MEMSET),
        .call = of->call,
        .graph = launch,
        .prev = WEIR_TRACE_NONE,
        .bytes = n->bytes,
    };

    if (op.kind == WEIR_TRACE_OP_KERNEL) {
        op.instructions = n->instructions;
        op.requested = n->requested;
        op.pointer_first = n->pointer_first;
        op.pointer_count = n->pointer_count;
        op.u.kernel.grid[0] = (uint32_t)WEIR_MIN(n->blocks, (uint64_t)UINT32_MAX);
        op.u.kernel.block[0] = (uint32_t)WEIR_MIN(n->threads, (uint64_t)UINT32_MAX);
        op.u.kernel.grid[1] = op.u.kernel.grid[2] = 1;
        op.u.kernel.block[1] = op.u.kernel.block[2] = 1;
    } else if (op.kind == WEIR_TRACE_OP_COPY) {
        op.u.copy.src_class = n->src_class;
        op.u.copy.dst_class = n->dst_class;
        op.name = copy_name(&op);
    } else {
        op.name = weir_trace_kind_name(op.kind);
    }
    return op;
}

/* Each node becomes an operation, on rows of its launch's stream. After all others are settled. */
static bool add_nodes(struct reader *r)
{
    struct weir_trace_file *f = r->file;
    size_t streams = f->streams_count;
    uint32_t *lanes = weir_alloc((streams * LANES + 1) * sizeof *lanes);
    uint64_t *ends = weir_calloc(streams * LANES + 1, sizeof *ends);
    struct weir_trace_graphs graphs;
    struct weir_map names = {0};
    bool ok = lanes && ends;

    weir_trace_graphs_begin(r, &graphs);
    r->cap_ops = f->ops_count; /* sorted into an array of its own */
    if (ok)
        memset(lanes, 0xff, (streams * LANES + 1) * sizeof *lanes);
    if (r->nodes.count)
        qsort(r->nodes.items, r->nodes.count, sizeof *r->nodes.items, by_node_start);
    for (size_t i = 0; i < r->nodes.count && ok; i++) {
        const struct raw_node *n = &r->nodes.items[i];
        uint32_t stream = stream_index(r, n->stream), lane;
        uint32_t launch = find_op(f, stream, n->seq, true);
        struct weir_trace_op op;

        if (launch == WEIR_TRACE_NONE || f->ops[launch].kind != WEIR_TRACE_OP_GRAPH)
            continue;
        op = node_op(f, launch, n);
        weir_trace_graphs_places(&graphs, n, &op);
        lane = lane_of(r, stream, n->start_ns, &lanes[stream * LANES], &ends[stream * LANES]);
        ok = !r->no_memory &&
             (op.kind != WEIR_TRACE_OP_KERNEL || name_kernel(r, &names, &op, n->name));
        if (!ok)
            break;
        ends[stream * LANES + lane] = n->end_ns;
        op.stream = lanes[stream * LANES + lane];
        ok = PUSH(r, ops, op) &&
             weir_trace_graphs_add(&graphs, n, launch, (uint32_t)f->ops_count - 1);
    }
    ok = ok && weir_trace_graphs_link(&graphs);
    weir_trace_graphs_finish(&graphs);
    weir_map_finish(&names);
    weir_free(lanes);
    weir_free(ends);
    return ok;
}

/* ---- ready, and why ---- */

static bool in_place(const struct weir_trace_op *op)
{
    return op->engine == WEIR_TRACE_ENGINE_NONE;
}

/* All that op follows has been settled: when was it ready, and what came last? */
static void settle(struct weir_trace_file *f, struct weir_trace_op *op)
{
    bool known = true;

    op->ready_ns = op->submit_ns;
    op->why = WEIR_TRACE_WHY_HOST;
    if (op->prev != WEIR_TRACE_NONE) {
        const struct weir_trace_op *prev = &f->ops[op->prev];

        known = prev->done;
        if (prev->done && prev->end_ns > op->ready_ns) {
            op->ready_ns = prev->end_ns;
            op->why = WEIR_TRACE_WHY_STREAM;
            op->why_op = op->prev;
            if (in_place(prev)) { /* a wait takes no time: what it waited for is the reason */
                op->why = prev->why;
                op->why_op = prev->why_op;
                op->why_rule = prev->why_rule;
            }
        }
    }
    for (uint32_t d = 0; d < op->dep_count; d++) {
        const struct weir_trace_dep *dep = &f->deps[op->dep_first + d];
        const struct weir_trace_op *on = dep->op == WEIR_TRACE_NONE ? NULL : &f->ops[dep->op];

        known = known && (!on || on->done);
        if (on && on->done && on->end_ns > op->ready_ns) {
            op->ready_ns = on->end_ns;
            op->why = WEIR_TRACE_WHY_EDGE;
            op->why_op = dep->op;
            op->why_rule = dep->rule;
        }
    }
    if (in_place(op)) {
        op->done = known;
        op->start_ns = op->end_ns = op->ready_ns;
    } else if (op->done && op->ready_ns > op->start_ns) {
        op->ready_ns = op->start_ns; /* clocks of two processors */
    }
}

/* Depth first, without recursion: chains of events are as long as programs make them. */
static bool settle_all(struct weir_trace_file *f)
{
    unsigned char *state = weir_calloc(f->ops_count + 1, 1); /* 1: on the stack, 2: settled */
    WEIR_VEC(uint32_t) stack = {0};
    bool ok = state != NULL;

    for (uint32_t i = 0; i < f->ops_count && ok; i++) {
        ok = state[i] == 2 || weir_vec_push(&stack, i);
        while (stack.count && ok) {
            uint32_t at = stack.items[stack.count - 1];
            struct weir_trace_op *op = &f->ops[at];
            size_t before = stack.count;

            if (state[at] == 0) {
                state[at] = 1;
                if (op->prev != WEIR_TRACE_NONE && state[op->prev] == 0)
                    ok = weir_vec_push(&stack, op->prev);
                for (uint32_t d = 0; d < op->dep_count && ok; d++) {
                    uint32_t on = f->deps[op->dep_first + d].op;

                    if (on != WEIR_TRACE_NONE && state[on] == 0)
                        ok = weir_vec_push(&stack, on);
                }
                if (stack.count > before)
                    continue;
            }
            if (state[at] != 2)
                settle(f, op);
            state[at] = 2;
            stack.count--;
        }
    }
    weir_free(state);
    weir_vec_finish(&stack);
    return ok;
}

#define ENGINE_WAIT_NS 3000 /* a start so long after `ready` waited for the engine */

struct running {
    uint64_t end_ns;
    uint32_t op;
};

/* Which operation had the engine? The last one on the same engine and device that ended before, or
 * still ran at, the start. Kernels share their engine: only what was running counts. */
static bool find_engine_waits(struct weir_trace_file *f)
{
    struct op_key *keys = weir_alloc((f->ops_count + 1) * sizeof *keys);
    struct running last[WEIR_TRACE_ENGINE_COUNT] = {0};
    size_t n = 0;

    if (!keys)
        return false;
    for (size_t i = 0; i < f->ops_count; i++) {
        if (f->ops[i].done && !in_place(&f->ops[i]))
            keys[n++] = (struct op_key){.ns = f->ops[i].start_ns, .index = (uint32_t)i};
    }
    qsort(keys, n, sizeof *keys, by_begin);
    for (size_t i = 0; i < n; i++) {
        struct weir_trace_op *op = &f->ops[keys[i].index];
        struct running *l = &last[op->engine];

        if (op->start_ns > op->ready_ns + ENGINE_WAIT_NS && l->end_ns > op->ready_ns) {
            op->why = WEIR_TRACE_WHY_ENGINE;
            op->why_op = l->op;
            op->why_rule = 0;
        }
        if (op->end_ns >= l->end_ns)
            *l = (struct running){op->end_ns, keys[i].index};
    }
    weir_free(keys);
    return true;
}

static void find_bounds(struct weir_trace_file *f)
{
    uint64_t begin = UINT64_MAX, end = 0;

    for (size_t i = 0; i < f->calls_count; i++) {
        begin = WEIR_MIN(begin, f->calls[i].begin_ns);
        end = WEIR_MAX(end, f->calls[i].end_ns);
    }
    for (size_t i = 0; i < f->ops_count; i++) {
        begin = WEIR_MIN(begin, f->ops[i].submit_ns);
        end = WEIR_MAX(end, f->ops[i].done ? f->ops[i].end_ns : f->ops[i].ready_ns);
    }
    for (size_t i = 0; i < f->ranges_count; i++) {
        begin = WEIR_MIN(begin, f->ranges[i].begin_ns);
        end = WEIR_MAX(end, WEIR_MAX(f->ranges[i].begin_ns, f->ranges[i].end_ns));
    }
    f->begin_ns = begin == UINT64_MAX ? f->start_ns : begin;
    f->end_ns = WEIR_MAX(end, f->begin_ns);
    for (size_t i = 0; i < f->ranges_count; i++) { /* still open at the end */
        if (f->ranges[i].end_ns < f->ranges[i].begin_ns)
            f->ranges[i].end_ns = f->end_ns;
    }
}

bool weir_trace_link(struct reader *r)
{
    struct weir_trace_file *f = r->file;

    if (!link_calls(r) || !name_ops(r) || !sort_ops(r) || !index_streams(f))
        return false;
    link_names(r);
    time_launches(r);
    if (!weir_trace_link_touched(r))
        return false;
    if (!index_calls(f) || !settle_all(f) || !find_engine_waits(f) || !add_nodes(r))
        return false;
    find_bounds(f);
    return true;
}
