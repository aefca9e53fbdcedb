/* Questions about the host: what makes it wait, what it does in the loop, whether it keeps up.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "advise/clocks.h"
#include "advise/groups.h"
#include "base/alloc.h"
#include "base/map.h"

static bool is_async(const char *name)
{
    return strstr(name, "Async") != NULL;
}

/* ---- 4: pageable memory ---- */

/* What the copies that are to be pinned take, by direction. */
struct pageable_rates {
    uint64_t bytes[2], ns[2]; /* to the device, from it */
};

static void rates_add(struct pageable_rates *r, const struct weir_trace_op *op, uint64_t ns)
{
    const size_t way = op->engine == WEIR_TRACE_ENGINE_D2H;

    r->bytes[way] += op->bytes;
    r->ns[way] += ns;
}

/* The price stands and falls with what the profile's host does, and hosts differ more than GPUs. */
static void rates_say(const struct pageable_rates *r, char *to, size_t room)
{
    static const char *const ways[] = {"to", "from"};
    size_t n =
        (size_t)snprintf(to, room, "; priced by the profile's host, which copies such memory");

    for (size_t way = 0; way < 2; way++) {
        if (r->ns[way] && n < room)
            n += (size_t)snprintf(to + n, room - n, "%s at %.1f GB/s %s the device",
                                  way && r->ns[0] ? " and" : "",
                                  (double)r->bytes[way] / (double)r->ns[way], ways[way]);
    }
    if (n < room)
        snprintf(to + n, room - n,
                 ": others do half or twice that; weir plan --calibrate measures the one at hand");
}

bool weir_advise_find_pageable(struct weir_advise_context *c)
{
    struct weir_advise_finding d = {.kind = "pageable-sync", .stream = WEIR_TRACE_NONE};
    const struct weir_trace_file *f = c->f;
    bool *calls = weir_calloc(f->calls_count + 1, sizeof *calls);
    uint64_t *lengths = weir_alloc((f->ops_count + 1) * sizeof *lengths);
    struct weir_plan_scenario s = {.no_wait = calls, .op_ns = lengths};
    struct pageable_rates rates = {0};
    uint32_t count = 0;
    uint64_t waited = 0;
    bool ok = calls && lengths;

    for (uint32_t i = 0; ok && i < f->ops_count; i++) {
        uint32_t call = f->ops[i].call;

        lengths[i] = c->model.alone_ns[i];

        if (call == WEIR_TRACE_NONE || !weir_plan_is_pageable(&f->ops[i]) ||
            !is_async(f->calls[call].name))
            continue;
        count += !calls[call];
        calls[call] = true;
        rates_add(&rates, &f->ops[i], lengths[i]);
        lengths[i] = weir_plan_pinned_ns(&c->model, i);
        waited += f->calls[call].waited_ns;
        d.stream = f->ops[i].stream;
        weir_advise_add_site(c, &d, call);
    }
    ok = ok && (!count || weir_advise_price(c, &s, &d.gain_ns));
    weir_free(calls);
    weir_free(lengths);
    if (!ok || !count)
        return ok;
    snprintf(
        d.message, sizeof d.message,
        "%u cudaMemcpy*Async call%s pageable memory, so the host waits %.3f ms inside them and "
        "submits nothing meanwhile (ORD-067 to ORD-069)",
        count, count == 1 ? " copies" : "s copy", (double)waited * 1e-6);
    if (c->model.machine)
        rates_say(&rates, d.message + strlen(d.message), sizeof d.message - strlen(d.message));
    snprintf(d.change, sizeof d.change,
             "allocate that memory by cudaMallocHost, or pin it once by cudaHostRegister");
    return weir_advise_add(c, &d);
}

/* ---- 5: synchronising in the loop ---- */

/* Is the next call of the thread one that asks for a time between events? */
bool weir_advise_times_follow(const struct weir_advise_context *c, uint32_t call)
{
    const struct weir_trace_file *f = c->f;

    for (size_t i = call + 1; i < f->calls_count; i++) {
        if (f->calls[i].thread == f->calls[call].thread)
            return strstr(f->calls[i].name, "Elapsed") != NULL;
    }
    return false;
}

/* May the host read what the operation has made? A copy to the host, a graph (which may hold one),
 * a host function's doing, a kernel that was given the host's memory to write. */
static bool makes_results(const struct weir_advise_context *c, const struct weir_trace_op *op)
{
    const struct weir_trace_file *f = c->f;

    if (op->engine == WEIR_TRACE_ENGINE_D2H || op->engine == WEIR_TRACE_ENGINE_HOST ||
        op->kind == WEIR_TRACE_OP_GRAPH)
        return true;
    for (uint32_t i = 0; op->kind == WEIR_TRACE_OP_KERNEL && i < op->pointer_count; i++) {
        const struct weir_trace_allocation *a;

        if (i < 32 && op->pointer_reads >> i & 1)
            continue;
        a = weir_advise_allocation_at(f, f->pointers[op->pointer_first + i], op->submit_ns);
        if (a && (a->kind == WEIR_TRACE_PINNED || a->kind == WEIR_TRACE_MANAGED))
            return true;
    }
    return false;
}

/* Had an earlier wait of the host seen to this operation? */
static bool was_waited_for(const struct weir_trace_file *f, const struct weir_trace_op *op,
                           uint32_t call)
{
    for (uint32_t i = f->calls[call].sync_first; i-- > 0;) {
        const struct weir_trace_sync_point *p = &f->syncs[i];
        const bool all = p->what == WEIR_TRACE_WAITS_STREAM || p->what == WEIR_TRACE_WAITS_DEVICE;

        if (p->call >= f->calls_count ||
            (p->what != WEIR_TRACE_WAITS_DEVICE && p->stream != op->stream))
            continue;
        if (all ? op->submit_ns < f->calls[p->call].begin_ns : op->seq <= p->seq)
            return true;
        if (p->what != WEIR_TRACE_WAITS_DEVICE)
            return false; /* what was waited for in a stream only grows */
    }
    return false;
}

/* One thread submits, another waits: the newest operations of the streams that the call waits for,
 * until one that an earlier wait has seen to. */
static bool brings_others_results(const struct weir_advise_context *c, uint32_t call)
{
    const struct weir_trace_file *f = c->f;
    const struct weir_trace_call *k = &f->calls[call];

    for (uint32_t i = 0; i < k->sync_count; i++) {
        const struct weir_trace_sync_point *p = &f->syncs[k->sync_first + i];
        const struct weir_trace_stream *s;

        if (p->what == WEIR_TRACE_WAITS_DEVICE || p->stream >= f->streams_count)
            continue;
        s = &f->streams[p->stream];
        for (uint32_t n = s->op_count; n-- > 0;) {
            const struct weir_trace_op *op = &f->ops[f->stream_ops[s->op_first + n]];

            if (p->what == WEIR_TRACE_WAITS_STREAM ? op->submit_ns > k->begin_ns : op->seq > p->seq)
                continue;
            if (was_waited_for(f, op, call))
                break;
            if (op->call != WEIR_TRACE_NONE && f->calls[op->call].thread != k->thread &&
                makes_results(c, op))
                return true;
        }
    }
    return false;
}

/* Does the call hand results to the host? Then something has to wait: in the call itself, or in
 * what it and the waits directly before it wait for, results were made. */
bool weir_advise_brings_results(const struct weir_advise_context *c, uint32_t call)
{
    const struct weir_trace_file *f = c->f;
    bool submitted = false;

    if (brings_others_results(c, call))
        return true;
    for (uint32_t i = call + 1; i-- > 0;) {
        const struct weir_trace_call *b = &f->calls[i];

        if (b->thread != f->calls[call].thread)
            continue;
        if (i != call && submitted && b->sync_count)
            break;
        for (uint32_t k = 0; k < b->op_count; k++) {
            const struct weir_trace_op *op = &f->ops[f->call_ops[b->op_first + k]];

            if (makes_results(c, op))
                return true;
            submitted = submitted || weir_advise_is_work(op);
        }
    }
    return weir_advise_times_follow(c, call);
}

static const char *const memory_calls[] = {
    "cudaMalloc",
    "cudaMallocPitch",
    "cudaMalloc3D",
    "cudaMallocManaged",
    "cudaMallocHost",
    "cudaHostAlloc",
    "cudaFree",
    "cudaFreeHost",
    "cudaHostRegister",
    "cudaHostUnregister",
    "cudaMallocArray",
    "cudaFreeArray",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemAllocHost_v2",
    "cuMemHostAlloc",
    "cuMemFreeHost",
    "cuModuleLoad",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cudaLibraryLoadData",
    "cudaLibraryUnload",
    "cudaStreamCreate",
    "cudaStreamDestroy",
    "cudaStreamCreateWithFlags",
    "cudaStreamCreateWithPriority",
};

bool weir_advise_is_memory_call(const char *name)
{
    for (size_t i = 0; i < WEIR_ARRAY_SIZE(memory_calls); i++) {
        if (strcmp(name, memory_calls[i]) == 0)
            return true;
    }
    return false;
}

bool weir_advise_work_follows(const struct weir_advise_context *c, uint32_t call)
{
    const struct weir_trace_file *f = c->f;

    for (size_t i = (size_t)call + 1; i < f->calls_count; i++) {
        if (f->calls[i].thread == f->calls[call].thread && f->calls[i].op_count)
            return true;
    }
    return false;
}

static bool is_needless_sync(const struct weir_advise_context *c, uint32_t call)
{
    const struct weir_trace_call *k = &c->f->calls[call];

    /* (A launch that waits: that is question 23.) */
    if (k->op_count && c->f->ops[c->f->call_ops[k->op_first]].kind == WEIR_TRACE_OP_KERNEL)
        return false;
    return k->sync_count && !is_async(k->name) && !weir_advise_is_memory_call(k->name) &&
           !weir_advise_brings_results(c, call);
}

/* Would data be out of order without them? Then streams have to wait instead (24). */
static bool keeps_order(struct weir_advise_context *c, const bool *calls, bool *keeps)
{
    const struct weir_advise_orders none = {0}, without = {.no_wait = calls};
    uint64_t broken, now;

    *keeps = false;
    if (!c->data.known || c->f->streams_count > WEIR_ADVISE_STREAMS_MAX)
        return true;
    if (!weir_advise_count_broken(c, &none, &broken) ||
        !weir_advise_count_broken(c, &without, &now))
        return false;
    *keeps = now > broken;
    return true;
}

bool weir_advise_find_syncs(struct weir_advise_context *c)
{
    const struct weir_trace_file *f = c->f;
    bool *calls = weir_calloc(f->calls_count + 1, sizeof *calls), ok;
    struct weir_advise_groups g = {0};

    ok = calls && weir_advise_group_calls(c, is_needless_sync, 3, &g);
    for (size_t i = 0; ok && i < g.count; i++) {
        struct weir_advise_finding d = {.kind = "sync-in-loop", .stream = WEIR_TRACE_NONE};
        struct weir_plan_scenario s = {.no_wait = calls};
        const char *name = f->calls[g.items[i].first].name;
        bool copies = f->calls[g.items[i].first].op_count != 0;
        uint64_t waited = 0;
        bool keeps;

        for (uint32_t k = 0; k < f->calls_count; k++) {
            /* The last one may end the loop. */
            calls[k] = weir_advise_is_at(c, &g, k, &g.items[i]) && k != g.items[i].last &&
                       is_needless_sync(c, k);
            waited += calls[k] ? f->calls[k].waited_ns : 0;
        }
        ok = keeps_order(c, calls, &keeps) && weir_advise_price(c, &s, &d.gain_ns);
        if (!ok || !d.gain_ns || (keeps && !copies))
            continue;
        weir_advise_add_site(c, &d, g.items[i].first);
        snprintf(
            d.message, sizeof d.message,
            "%s stops the host %u times, %.3f ms in all, though nothing was copied back for it "
            "to read",
            name, g.items[i].count, (double)waited * 1e-6);
        snprintf(d.change, sizeof d.change, "%s",
                 copies
                     ? "use the Async form with pinned memory in the stream that needs the data"
                     : "leave it out: streams keep the order by themselves; wait once behind the "
                       "loop, or by an event before memory is used again");
        ok = weir_advise_add(c, &d);
    }
    weir_advise_groups_finish(&g);
    weir_free(calls);
    return ok;
}

/* ---- 6: allocation in the loop ---- */

#define ROUNDS_MIN 3 /* before that it is no loop */

/* Between the first and the last operation. */
static bool is_late_memory_call(const struct weir_advise_context *c, uint32_t call)
{
    const struct weir_trace_file *f = c->f;
    const struct weir_trace_call *k = &f->calls[call];

    return weir_advise_is_memory_call(k->name) && f->ops_count &&
           k->begin_ns > f->ops[0].submit_ns && k->begin_ns < f->ops[f->ops_count - 1].submit_ns;
}

/* How often the site is come to with operations since the last time: what makes many things in a
 * row is a set-up, perhaps beside another thread's operations, and no loop. */
static uint32_t count_rounds(const struct weir_advise_context *c,
                             const struct weir_advise_groups *g,
                             const struct weir_advise_group *site)
{
    const struct weir_trace_file *f = c->f;
    size_t op = 0, last = SIZE_MAX;
    uint32_t rounds = 0;

    for (uint32_t k = 0; k < f->calls_count; k++) {
        while (op < f->ops_count && f->ops[op].submit_ns < f->calls[k].begin_ns)
            op++;
        if (op == last || !weir_advise_is_at(c, g, k, site) || !is_late_memory_call(c, k))
            continue;
        rounds++;
        last = op;
    }
    return rounds;
}

bool weir_advise_find_allocs(struct weir_advise_context *c)
{
    const struct weir_trace_file *f = c->f;
    bool *calls = weir_calloc(f->calls_count + 1, sizeof *calls), ok;
    struct weir_advise_finding d = {.kind = "alloc-in-loop", .stream = WEIR_TRACE_NONE};
    struct weir_plan_scenario s = {.free_call = calls};
    struct weir_advise_groups g = {0};
    const char *names[2] = {"", ""};
    uint32_t count = 0, sites = 0;
    uint64_t spent = 0;

    ok = calls && weir_advise_group_calls(c, is_late_memory_call, ROUNDS_MIN, &g);
    for (size_t i = 0; ok && i < g.count; i++) {
        if (count_rounds(c, &g, &g.items[i]) < ROUNDS_MIN)
            continue;
        if (sites < WEIR_ARRAY_SIZE(names))
            names[sites] = f->calls[g.items[i].first].name;
        sites++;
        weir_advise_add_site(c, &d, g.items[i].first);
        for (uint32_t k = 0; k < f->calls_count; k++) {
            if (!weir_advise_is_at(c, &g, k, &g.items[i]) || !is_late_memory_call(c, k))
                continue;
            calls[k] = true;
            count++;
            spent += f->calls[k].end_ns - f->calls[k].begin_ns;
        }
    }
    ok = ok && (!count || weir_advise_price(c, &s, &d.gain_ns));
    if (ok && count && d.gain_ns) {
        snprintf(
            d.message, sizeof d.message,
            "%u calls that allocate, free, pin or create (%s%s%s) stand between the operations and "
            "take %.3f ms; freeing waits for the whole device (ORD-080, ORD-087)",
            count, names[0], sites > 1 ? ", " : "", names[1], (double)spent * 1e-6);
        snprintf(d.change, sizeof d.change,
                 "allocate once before the loop, or use cudaMallocAsync and cudaFreeAsync");
        ok = weir_advise_add(c, &d);
    }
    weir_advise_groups_finish(&g);
    weir_free(calls);
    return ok;
}

/* ---- 9: the host does not keep up ---- */

static int by_number(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

    return a < b ? -1 : a > b;
}

#define SHORT_KERNEL_NS 50000
#define LATE_SHARE      4 /* at least one of so many kernels started only when it was submitted */

struct kernels {
    uint64_t *lengths, *gaps; /* gaps: from one launch's call to the next, on its thread */
    size_t count, gap_count;
    uint32_t late;
};

static void look_at_launches(const struct weir_advise_context *c, struct weir_advise_finding *d,
                             struct kernels *k)
{
    const struct weir_trace_file *f = c->f;
    uint64_t last = 0;
    uint32_t thread = WEIR_TRACE_NONE;

    for (size_t i = 0; i < f->ops_count; i++) {
        const struct weir_trace_op *op = &f->ops[i];

        if (op->kind != WEIR_TRACE_OP_KERNEL || !weir_advise_is_work(op))
            continue;
        k->lengths[k->count++] = c->model.alone_ns[i];
        if (op->call != WEIR_TRACE_NONE) {
            const struct weir_trace_call *call = &f->calls[op->call];

            if (call->thread == thread && call->begin_ns >= last)
                k->gaps[k->gap_count++] = call->begin_ns - last;
            thread = call->thread;
            last = call->begin_ns;
        }
        if (op->why == WEIR_TRACE_WHY_HOST) {
            k->late++;
            weir_advise_add_site(c, d, op->call);
        }
    }
}

static uint64_t median_of(uint64_t *values, size_t count)
{
    qsort(values, count, sizeof *values, by_number);
    return count ? values[count / 2] : 0;
}

bool weir_advise_find_launches(struct weir_advise_context *c)
{
    const struct weir_plan_scenario s = {.fast_submission = true};
    struct weir_advise_finding d = {.kind = "launch-bound", .stream = WEIR_TRACE_NONE};
    struct kernels k = {.lengths = weir_alloc((c->f->ops_count + 1) * sizeof *k.lengths),
                        .gaps = weir_alloc((c->f->ops_count + 1) * sizeof *k.gaps)};
    uint64_t median = 0, gap = 0, mean = 0;
    bool ok = k.lengths && k.gaps;

    if (ok) {
        look_at_launches(c, &d, &k);
        median = median_of(k.lengths, k.count);
        gap = median_of(k.gaps, k.gap_count);
        for (size_t i = 0; i < k.gap_count; i++)
            mean += k.gaps[i] / k.gap_count;
    }
    weir_free(k.lengths);
    weir_free(k.gaps);
    /* (A host with longer work of its own between launches is not kept busy by launching.) */
    if (!ok || k.count < 20 || median > SHORT_KERNEL_NS || mean > SHORT_KERNEL_NS)
        return ok;
    /* (A device that has work waiting is not waiting for the host.) */
    if (k.late * LATE_SHARE < k.count)
        return true;
    if (!weir_advise_price(c, &s, &d.gain_ns))
        return false;
    if (!d.gain_ns)
        return true;
    snprintf(d.message, sizeof d.message,
             "the median of %zu kernels takes %.1f us, and the host launches one every %.1f us: %u "
             "of them started when the host had submitted them and not before. More streams cannot "
             "help",
             k.count, (double)median * 1e-3, (double)gap * 1e-3, k.late);
    snprintf(d.change, sizeof d.change,
             "put the sequence into a graph (cudaStreamBeginCapture, cudaGraphLaunch), make one "
             "kernel of several, or give each more to do");
    return weir_advise_add(c, &d);
}

/* ---- 13: small copies ---- */

#define SMALL_BYTES 65536
#define RUN_LEAST   4

static bool joins(const struct weir_trace_file *f, const struct weir_trace_op *op,
                  const struct weir_trace_op *prev)
{
    return op->kind == WEIR_TRACE_OP_COPY && prev->kind == WEIR_TRACE_OP_COPY &&
           op->engine == prev->engine && op->bytes <= SMALL_BYTES && prev->bytes <= SMALL_BYTES &&
           weir_advise_is_work(op) && op->call != WEIR_TRACE_NONE && f->ops_count > RUN_LEAST;
}

bool weir_advise_find_small(struct weir_advise_context *c)
{
    struct weir_advise_finding d = {.kind = "small-copies", .stream = WEIR_TRACE_NONE};
    const struct weir_trace_file *f = c->f;
    uint64_t *lengths = weir_alloc((f->ops_count + 1) * sizeof *lengths);
    bool *calls = weir_calloc(f->calls_count + 1, sizeof *calls), ok = lengths && calls;
    struct weir_plan_scenario s = {.op_ns = lengths, .free_call = calls};
    uint64_t fixed[WEIR_TRACE_ENGINE_COUNT], run = 0, count = 0, bytes = 0;

    memset(fixed, 0xff, sizeof fixed);
    for (size_t i = 0; ok && i < f->ops_count; i++) {
        lengths[i] = c->model.alone_ns[i];
        if (f->ops[i].kind == WEIR_TRACE_OP_COPY && weir_advise_is_work(&f->ops[i]))
            fixed[f->ops[i].engine] = WEIR_MIN(fixed[f->ops[i].engine], lengths[i]);
    }
    for (size_t i = 0; ok && i < f->stream_ops_count; i++) {
        const struct weir_trace_op *op = &f->ops[f->stream_ops[i]];

        run = op->prev != WEIR_TRACE_NONE && joins(f, op, &f->ops[op->prev]) ? run + 1 : 0;
        if (run + 1 < RUN_LEAST)
            continue;
        /* The whole run, once it is long enough; its first copy stays. */
        for (size_t k = run + 1 == RUN_LEAST ? i - run + 1 : i; k <= i; k++) {
            uint32_t at = f->stream_ops[k];

            lengths[at] -= WEIR_MIN(fixed[op->engine], lengths[at]);
            calls[f->ops[at].call] = f->calls[f->ops[at].call].op_count == 1;
            weir_advise_add_site(c, &d, f->ops[at].call);
            bytes += f->ops[at].bytes;
            count++;
        }
        d.stream = op->stream;
    }
    ok = ok && (!count || weir_advise_price(c, &s, &d.gain_ns));
    if (ok && count && d.gain_ns) {
        snprintf(d.message, sizeof d.message,
                 "%llu copies of %llu bytes on average follow one another in the same direction; "
                 "each has its fixed cost",
                 (unsigned long long)count, (unsigned long long)(bytes / count));
        snprintf(d.change, sizeof d.change,
                 "collect them in one buffer and copy once (or use cudaMemcpy2DAsync for rows)");
        ok = weir_advise_add(c, &d);
    }
    weir_free(lengths);
    weir_free(calls);
    return ok;
}
