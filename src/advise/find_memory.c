/* Questions about memory and code: peer copies without peer access, managed memory that wanders,
 * code that is loaded at its first launch, too much pinned memory.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "advise/find.h"
#include "base/alloc.h"

const struct weir_trace_allocation *weir_advise_allocation_at(const struct weir_trace_file *f,
                                                              uint64_t address, uint64_t ns)
{
    for (size_t i = f->allocations_count; i-- > 0;) {
        const struct weir_trace_allocation *a = &f->allocations[i];

        if (address >= a->address && address - a->address < a->bytes && a->begin_ns <= ns &&
            (!a->end_ns || a->end_ns >= ns))
            return a;
    }
    return NULL;
}

/* ---- 16: peer copies without peer access ---- */

static bool has_access(const struct weir_trace_file *f, uint32_t device, uint32_t peer,
                       uint32_t call)
{
    bool on = false;

    for (size_t i = 0; i < f->peers_count; i++) {
        const struct weir_trace_peer *p = &f->peers[i];

        if (p->call != WEIR_TRACE_NONE && p->call <= call &&
            ((p->device == device && p->peer == peer) || (p->device == peer && p->peer == device)))
            on = p->on;
    }
    return on;
}

static bool is_peer_copy(const struct weir_trace_file *f, const struct weir_trace_op *op)
{
    const struct weir_trace_allocation *src, *dst;

    if (op->kind != WEIR_TRACE_OP_COPY || !weir_advise_is_work(op) || op->call == WEIR_TRACE_NONE ||
        op->u.copy.src_class != WEIR_TRACE_DEVICE_MEMORY ||
        op->u.copy.dst_class != WEIR_TRACE_DEVICE_MEMORY)
        return false;
    src = weir_advise_allocation_at(f, op->u.copy.src, op->submit_ns);
    dst = weir_advise_allocation_at(f, op->u.copy.dst, op->submit_ns);
    return src && dst && src->device != dst->device &&
           !has_access(f, src->device, dst->device, op->call);
}

/* Through the host the bytes cross twice: with access once. */
bool weir_advise_find_peers(struct weir_advise_context *c)
{
    struct weir_advise_finding d = {.kind = "peer-access", .stream = WEIR_TRACE_NONE};
    const struct weir_trace_file *f = c->f;
    uint64_t *lengths, bytes = 0;
    struct weir_plan_scenario s = {0};
    uint32_t count = 0;
    bool ok;

    if (f->devices_count < 2 || f->version < 2)
        return true;
    lengths = weir_alloc((f->ops_count + 1) * sizeof *lengths);
    s.op_ns = lengths;
    for (size_t i = 0; lengths && i < f->ops_count; i++) {
        bool peer = is_peer_copy(f, &f->ops[i]);

        lengths[i] = peer ? c->model.alone_ns[i] / 2 : c->model.alone_ns[i];
        if (!peer)
            continue;
        count++;
        bytes += f->ops[i].bytes;
        d.stream = f->ops[i].stream;
        weir_advise_add_site(c, &d, f->ops[i].call);
    }
    ok = lengths && (!count || weir_advise_price(c, &s, &d.gain_ns));
    weir_free(lengths);
    if (!ok || !count)
        return ok;
    snprintf(d.message, sizeof d.message,
             "%u cop%s between devices (%.1f MiB) without peer access: they go through the host's "
             "memory, and cross the bus twice",
             count, count == 1 ? "y" : "ies", (double)bytes / 1048576);
    snprintf(d.change, sizeof d.change,
             "cudaDeviceEnablePeerAccess once in each direction, where cudaDeviceCanAccessPeer "
             "says yes");
    return weir_advise_add(c, &d);
}

/* ---- 17: managed memory that wanders ---- */

#define BYTES_A_NS     12.0 /* pages that a GPU fetches on demand, over a PCIe bus of its time */
#define WRITES_LEAST   3
#define PREFETCH_CALLS "cudaMemPrefetch"

static bool is_prefetched(const struct weir_trace_file *f)
{
    for (size_t i = 0; i < f->calls_count; i++) {
        if (strncmp(f->calls[i].name, PREFETCH_CALLS, strlen(PREFETCH_CALLS)) == 0 ||
            strncmp(f->calls[i].name, "cuMemPrefetch", 13) == 0)
            return true;
    }
    return false;
}

/* Weir's managed memory is the host's own, so that nothing moves here: the price is what pages cost
 * that a GPU fetches when a kernel touches them. */
bool weir_advise_find_managed(struct weir_advise_context *c)
{
    struct weir_advise_finding d = {.kind = "managed-thrashing", .stream = WEIR_TRACE_NONE};
    const struct weir_trace_file *f = c->f;
    uint64_t *lengths, bytes = 0;
    struct weir_plan_scenario s = {0};
    struct weir_plan_outcome with;
    uint32_t count = 0;
    bool ok;

    if (f->host_writes_count < WRITES_LEAST || is_prefetched(f))
        return true;
    lengths = weir_alloc((f->ops_count + 1) * sizeof *lengths);
    s.op_ns = lengths;
    for (size_t i = 0; lengths && i < f->ops_count; i++)
        lengths[i] = c->model.alone_ns[i];
    for (size_t i = 0; lengths && i < f->host_writes_count; i++) {
        const struct weir_trace_host_write *w = &f->host_writes[i];
        uint32_t op;

        if (w->call == WEIR_TRACE_NONE || !f->calls[w->call].op_count)
            continue;
        op = f->call_ops[f->calls[w->call].op_first];
        /* There, and back when the host writes again. */
        lengths[op] += weir_plan_ns(2 * (double)w->bytes / BYTES_A_NS);
        bytes += 2 * w->bytes;
        count++;
        d.stream = f->ops[op].stream;
        weir_advise_add_site(c, &d, w->call);
    }
    ok = lengths && (count < WRITES_LEAST || weir_plan_recorded_run(&c->model, &s, &with));
    weir_free(lengths);
    if (!ok || count < WRITES_LEAST)
        return ok;
    if (with.length_ns > c->base.length_ns)
        d.gain_ns = d.beyond_ns = with.length_ns - c->base.length_ns;
    snprintf(d.message, sizeof d.message,
             "host and kernels write the same managed memory in turn, %u times: on a GPU about "
             "%.1f MiB would move there and back, fault by fault. (Nothing moves under Weir: this "
             "is what a GPU would add at %.0f GB/s)",
             count, (double)bytes / 1048576, BYTES_A_NS);
    snprintf(d.change, sizeof d.change,
             "cudaMemPrefetchAsync to the device before the launch and to the host before it is "
             "used there, or keep what the host changes in pinned memory of its own");
    return weir_advise_add(c, &d);
}

/* ---- 18: code that is loaded at its first launch ---- */

#define LATE_OPS 32 /* done before: the program is under way */

static size_t done_before(const struct weir_trace_file *f, uint64_t ns)
{
    size_t n = 0;

    for (size_t i = 0; i < f->ops_count && n < LATE_OPS && f->ops[i].submit_ns < ns; i++)
        n += weir_advise_is_work(&f->ops[i]) && f->ops[i].end_ns <= ns;
    return n;
}

/* The kernel that waited for its code. */
static uint32_t first_launch(const struct weir_trace_file *f, const struct weir_trace_load *l)
{
    uint32_t best = WEIR_TRACE_NONE;

    for (uint32_t i = 0; i < f->ops_count; i++) {
        const struct weir_trace_op *op = &f->ops[i];

        if (op->kind == WEIR_TRACE_OP_KERNEL && weir_advise_is_work(op) &&
            strcmp(op->symbol, l->name) == 0 && op->start_ns >= l->end_ns &&
            (best == WEIR_TRACE_NONE || op->start_ns < f->ops[best].start_ns))
            best = i;
    }
    return best;
}

/* Other block shapes of a kernel are compiled anew here; a GPU's code is there by then. */
static bool is_first(const struct weir_trace_file *f, const struct weir_trace_load *l)
{
    for (size_t i = 0; i < f->loads_count; i++) {
        const struct weir_trace_load *other = &f->loads[i];

        if (other != l && other->what == l->what && other->begin_ns < l->begin_ns &&
            strcmp(other->name, l->name) == 0)
            return false;
    }
    return true;
}

struct loads {
    uint64_t *op_ns, *call_less;
    uint64_t spent;
    uint32_t count, late;
};

static void add_load(const struct weir_advise_context *c, const struct weir_trace_load *l,
                     struct weir_advise_finding *d, struct loads *all)
{
    const struct weir_trace_file *f = c->f;
    uint64_t length = l->end_ns - l->begin_ns;
    bool late = done_before(f, l->begin_ns) >= LATE_OPS;
    uint32_t call = l->call;

    if (l->what == WEIR_TRACE_LOADS_KERNEL) {
        uint32_t op = is_first(f, l) ? first_launch(f, l) : WEIR_TRACE_NONE;

        if (op == WEIR_TRACE_NONE)
            return;
        all->op_ns[op] += length;
        call = f->ops[op].call;
    } else if (call != WEIR_TRACE_NONE) {
        all->call_less[call] += length;
    }
    all->count++;
    all->late += late;
    all->spent += length;
    if (late || !all->late)
        weir_advise_add_site(c, d, call);
}

bool weir_advise_find_loads(struct weir_advise_context *c)
{
    struct weir_advise_finding d = {.kind = "module-load", .stream = WEIR_TRACE_NONE};
    const struct weir_trace_file *f = c->f;
    struct loads all = {.op_ns = weir_alloc((f->ops_count + 1) * sizeof *all.op_ns),
                        .call_less = weir_calloc(f->calls_count + 1, sizeof *all.call_less)};
    struct weir_plan_scenario with = {.op_ns = all.op_ns}, without = {.call_less = all.call_less};
    struct weir_plan_outcome a, b;
    bool ok = all.op_ns && all.call_less;

    for (size_t i = 0; ok && i < f->ops_count; i++)
        all.op_ns[i] = c->model.alone_ns[i];
    for (size_t i = 0; ok && i < f->loads_count; i++)
        add_load(c, &f->loads[i], &d, &all);
    ok = ok && (!all.count || (weir_plan_recorded_run(&c->model, &with, &a) &&
                               weir_plan_recorded_run(&c->model, &without, &b)));
    weir_free(all.op_ns);
    weir_free(all.call_less);
    if (!ok || !all.count)
        return ok;
    /* How long another device takes to load is not known from here. */
    if (!c->model.machine && a.length_ns > b.length_ns) {
        d.gain_ns = a.length_ns - b.length_ns;
        d.beyond_ns = a.length_ns - WEIR_MIN(a.length_ns, c->base.length_ns);
    }
    d.note =
        !all.late ||
        c->model.machine; /* a program's first launches load; that is what a first run is for */
    snprintf(d.message, sizeof d.message,
             "code is loaded when a kernel is first launched, %u time%s, %.3f ms in all%s",
             all.count, all.count == 1 ? "" : "s", (double)all.spent * 1e-6,
             all.late ? ", in the middle of the work: the first of its kind pays for all"
                      : ", before the work proper");
    if (!c->model.machine)
        snprintf(d.message + strlen(d.message), sizeof d.message - strlen(d.message),
                 " (here it is Weir that compiles, once; a driver takes a time of its own)");
    snprintf(d.change, sizeof d.change,
             "launch each kernel once before time counts, or set CUDA_MODULE_LOADING=EAGER");
    return weir_advise_add(c, &d);
}

/* ---- 29: pinned memory ---- */

bool weir_advise_find_pinned(struct weir_advise_context *c)
{
    struct weir_advise_finding d = {
        .kind = "pinned-memory", .stream = WEIR_TRACE_NONE, .note = true};
    const struct weir_trace_file *f = c->f;
    struct weir_plan_edge *edges = weir_alloc((2 * f->allocations_count + 1) * sizeof *edges);
    uint64_t now = 0, most = 0;
    uint32_t largest = WEIR_TRACE_NONE;
    size_t n = 0;

    if (!edges)
        return false;
    for (uint32_t i = 0; i < f->allocations_count; i++) {
        const struct weir_trace_allocation *a = &f->allocations[i];

        if (a->kind != WEIR_TRACE_PINNED)
            continue;
        edges[n++] = (struct weir_plan_edge){a->begin_ns, i, true};
        if (a->end_ns)
            edges[n++] = (struct weir_plan_edge){a->end_ns, i, false};
        if (largest == WEIR_TRACE_NONE || a->bytes > f->allocations[largest].bytes)
            largest = i;
    }
    weir_plan_edges_sort(edges, n);
    for (size_t i = 0; i < n; i++) {
        uint64_t bytes = f->allocations[edges[i].id].bytes;

        now =
            edges[i].begins ? now + WEIR_MIN(bytes, UINT64_MAX - now) : now - WEIR_MIN(bytes, now);
        most = WEIR_MAX(most, now);
    }
    weir_free(edges);
    if (!f->memory_bytes || most <= f->memory_bytes / 2)
        return true;
    weir_advise_add_site(c, &d, f->allocations[largest].call);
    snprintf(d.message, sizeof d.message,
             "%.1f GiB are pinned at a time, of %.1f GiB that the machine has: what is pinned "
             "cannot be swapped or cached in, and the rest of the system slows down",
             (double)most / 1073741824, (double)f->memory_bytes / 1073741824);
    snprintf(d.change, sizeof d.change,
             "pin a few buffers of a chunk each and use them in turn, rather than all data");
    return weir_advise_add(c, &d);
}
