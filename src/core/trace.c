/* From core's structs to the recorder's records. Nothing here runs while no trace is written.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/trace.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "core/copy.h"
#include "core/graph_run.h"
#include "core/module.h"
#include "core/touch.h"
#include "memory/memory.h"
#include "trace/ticks.h"

#define EDGES_MAX 8
#define LOAD_NS   20000 /* code that is ready sooner was there already */

static struct weir_trace_id id_of(const struct weir_op *op, struct weir_trace_edge *edges)
{
    struct weir_trace_id id = {.stream = weir_stream_of(op->m.stream)->id, .seq = op->m.seq};

    for (size_t i = 0; i < op->m.dep_count && i < EDGES_MAX; i++) {
        const struct weir_model_dep *d = &op->m.deps[i];

        edges[id.edge_count++] =
            (struct weir_trace_edge){.stream = weir_stream_of(d->point.stream)->id,
                                     .seq = d->point.seq,
                                     .rule = d->rule,
                                     .strength = d->strength};
    }
    id.edges = edges;
    return id;
}

static size_t pointers_of(const struct weir_function_image *image, const unsigned char *params,
                          uint64_t out[WEIR_KERNEL_POINTERS])
{
    size_t n = 0;

    for (uint32_t i = 0; i < image->info.param_count && n < WEIR_KERNEL_POINTERS; i++) {
        struct weir_mem_info info;
        uint64_t value;

        /* Structures hold pointers, too. */
        for (size_t at = 0; at + 8 <= image->param_bytes[i] && n < WEIR_KERNEL_POINTERS; at += 8) {
            memcpy(&value, params + image->param_offsets[i] + at, sizeof value);
            if (value - weir_mem_window_base < weir_mem_window_bytes ||
                (value >> 32 && image->param_bytes[i] == 8 &&
                 weir_mem_find((const void *)(uintptr_t)value, &info)))
                out[n++] = value;
        }
    }
    return n;
}

size_t weir_core_kernel_pointers(const struct weir_kernel_op *op,
                                 uint64_t out[WEIR_KERNEL_POINTERS])
{
    return pointers_of(op->image, weir_kernel_op_params(op), out);
}

static bool has_managed(void)
{
    return atomic_load_explicit(&weir_trace_has_managed, memory_order_relaxed);
}

static void trace_kernel(const struct weir_kernel_op *op, const struct weir_trace_id *id)
{
    const uint32_t block[3] = {op->block[0], op->block[1], op->block[2]};
    uint64_t pointers[WEIR_KERNEL_POINTERS];
    struct weir_trace_kernel k = {
        .name = op->function->name,
        .name_id = &op->function->trace_name,
        .grid = op->grid,
        .block = block,
        .shared_bytes = op->dynamic_shared_bytes,
        .pointers = pointers,
        .pointer_count = weir_core_kernel_pointers(op, pointers),
    };

    weir_trace_op_kernel(id, &k);
    for (size_t i = 0; i < k.pointer_count && has_managed(); i++)
        weir_core_trace_managed_begin((const void *)(uintptr_t)pointers[i], true);
}

enum weir_err weir_core_trace_code(const struct weir_function *f,
                                   const struct weir_function_image *image, const uint32_t block[3],
                                   const struct weir_kernel_code **out)
{
    uint64_t start = weir_trace_enabled() ? weir_clock_ns() : 0, end;
    enum weir_err err = weir_cg_kernel_code(image->kernel, block, out);

    if (WEIR_LIKELY(!start))
        return err;
    end = weir_clock_ns();
    if (end - start >= LOAD_NS)
        weir_trace_load(WEIR_TRACE_LOAD_KERNEL, f->name, start, end);
    return err;
}

static int class_of(const void *p)
{
    struct weir_mem_info info;

    if (!weir_mem_find(p, &info))
        return WEIR_MEM_PAGEABLE;
    switch (info.kind) {
    case WEIR_MEM_KIND_DEVICE:
        return WEIR_MEM_DEVICE;
    case WEIR_MEM_KIND_MANAGED:
        return WEIR_MEM_MANAGED;
    case WEIR_MEM_KIND_PINNED:
    case WEIR_MEM_KIND_REGISTERED:
        return WEIR_MEM_PINNED;
    default:
        return WEIR_MEM_PAGEABLE;
    }
}

static uint64_t span(const struct weir_copy_work *w, size_t pitch, size_t slice)
{
    return w->width ? (w->depth - 1) * slice + (w->height - 1) * pitch + w->width : 0;
}

static void trace_copy(const struct weir_copy_op *op, const struct weir_trace_id *id)
{
    struct weir_copy_work w;
    struct weir_trace_copy c = {.engine = op->engine};

    weir_copy_op_view(op, &w);
    c.bytes = (uint64_t)w.width * w.height * w.depth;
    if (has_managed())
        weir_core_trace_managed_begin(w.dst, false);
    if (w.memset) {
        weir_trace_op_memset(id, w.dst, c.bytes, span(&w, w.dst_pitch, w.dst_slice));
        return;
    }
    c.staged = op->staging_bytes != 0;
    c.src = w.src;
    c.dst = w.dst;
    c.src_class = c.staged ? WEIR_MEM_PAGEABLE : class_of(w.src);
    c.dst_class = class_of(w.dst);
    c.src_span = span(&w, w.src_pitch, w.src_slice);
    c.dst_span = span(&w, w.dst_pitch, w.dst_slice);
    weir_trace_op_copy(id, &c);
}

void weir_core_trace_op(const struct weir_op *op)
{
    struct weir_trace_edge edges[EDGES_MAX];
    struct weir_trace_id id = id_of(op, edges);

    switch (op->m.kind) {
    case WEIR_OP_KERNEL:
        trace_kernel((const struct weir_kernel_op *)op, &id);
        break;
    case WEIR_OP_COPY:
    case WEIR_OP_MEMSET:
        trace_copy((const struct weir_copy_op *)op, &id);
        break;
    default:
        weir_trace_op_other(&id, op->m.kind);
        break;
    }
}

/* What the kernel counted (weir run --counts). */
static void trace_work(const struct weir_op *op, const struct weir_work *work)
{
    const struct weir_kernel_work *k = WEIR_CONTAINER_OF(work, const struct weir_kernel_work, work);
    uint64_t instructions = atomic_load_explicit(&k->instructions, memory_order_relaxed);

    if (instructions)
        weir_trace_work(weir_stream_of(op->m.stream)->id, op->m.seq, instructions,
                        atomic_load_explicit(&k->bytes, memory_order_relaxed));
}

void weir_core_trace_done(const struct weir_op *op, const struct weir_work *work,
                          enum weir_err status)
{
    weir_trace_done(weir_stream_of(op->m.stream)->id, op->m.seq, work->start_ns, work->end_ns,
                    work->engine, (int)status);
    if (op->m.kind == WEIR_OP_KERNEL)
        trace_work(op, work);
    if (WEIR_LIKELY(!has_managed()))
        return;
    if (op->m.kind == WEIR_OP_KERNEL) {
        uint64_t pointers[WEIR_KERNEL_POINTERS];
        size_t count = weir_core_kernel_pointers((const struct weir_kernel_op *)op, pointers);

        for (size_t i = 0; i < count; i++)
            weir_core_trace_managed_end((const void *)(uintptr_t)pointers[i]);
    } else if (weir_op_is_copy(op)) {
        weir_core_trace_managed_end(((const struct weir_copy_op *)op)->dst);
    }
}

/* Those that wait, of which `more` others have run behind, have ended by then. */
static uint64_t tell_waiting(struct weir_core_ran *r, uint32_t more, uint64_t end_ns)
{
    const uint64_t span = WEIR_MAX(end_ns, r->start_ns) - r->start_ns;
    const uint32_t all = r->count + more;
    const struct weir_op *op = r->first;
    uint64_t start = r->start_ns;

    for (uint32_t i = 1; i <= r->count; i++, op = (const struct weir_op *)op->m.next) {
        uint64_t end = r->start_ns + span * i / all;

        weir_trace_done(weir_stream_of(op->m.stream)->id, op->m.seq, start, end,
                        WEIR_ENGINE_COMPUTE, WEIR_OK);
        start = end;
    }
    r->count = 0;
    return start;
}

void weir_core_trace_ran(struct weir_core_ran *r, const struct weir_op *op, struct weir_work *work,
                         enum weir_err status)
{
    const struct weir_kernel_work *k = WEIR_CONTAINER_OF(work, const struct weir_kernel_work, work);

    if (!work->end_ns && status == WEIR_OK && !has_managed() &&
        !atomic_load_explicit(&k->instructions, memory_order_relaxed)) {
        if (!r->count++) {
            r->first = op;
            r->start_ns = work->start_ns;
        }
        return;
    }
    if (!work->end_ns)
        work->end_ns = weir_trace_now();
    if (r->count)
        work->start_ns = tell_waiting(r, 1, work->end_ns);
    weir_core_trace_done(op, work, status);
}

void weir_core_trace_ran_flush(struct weir_core_ran *r)
{
    if (r->count)
        (void)tell_waiting(r, 0, weir_trace_now());
}

/* How many; more than there is room for: not known. */
static size_t touched_of(const void *touches,
                         struct weir_trace_touched out[2 * WEIR_TRACE_TOUCHED_MAX])
{
    struct weir_touch_range ranges[WEIR_TRACE_TOUCHED_MAX + 1];
    size_t count, n = 0;

    for (int writes = 0; writes < 2; writes++) {
        if (!weir_touches_ranges(touches, writes, ranges, WEIR_TRACE_TOUCHED_MAX, &count))
            return 2 * WEIR_TRACE_TOUCHED_MAX + 1;
        for (size_t i = 0; i < count; i++)
            out[n++] =
                (struct weir_trace_touched){ranges[i].from, ranges[i].to - ranges[i].from, writes};
    }
    return n;
}

void weir_core_trace_touched(const struct weir_op *op, const void *touches)
{
    struct weir_trace_touched t[2 * WEIR_TRACE_TOUCHED_MAX];
    size_t n = touched_of(touches, t);

    if (n <= 2 * WEIR_TRACE_TOUCHED_MAX)
        weir_trace_touched(weir_stream_of(op->m.stream)->id, op->m.seq, t, n);
}

static size_t copy_places(const struct weir_copy_work *w, struct weir_trace_touched out[2])
{
    size_t n = 0;

    if (!w->memset)
        out[n++] = (struct weir_trace_touched){(uintptr_t)w->src,
                                               span(w, w->src_pitch, w->src_slice), false};
    out[n++] =
        (struct weir_trace_touched){(uintptr_t)w->dst, span(w, w->dst_pitch, w->dst_slice), true};
    return n;
}

void weir_core_trace_node_touched(const struct weir_item *item)
{
    const struct weir_op *op = &item->run->plan->op->op;
    struct weir_trace_touched t[2 * WEIR_TRACE_TOUCHED_MAX];
    const struct weir_copy_work *w = &item->copy;
    size_t n = 0;

    if (item->kind == WEIR_ITEM_KERNEL) {
        const void *touches = item->kernel.work.launch.touches;

        if (!touches || (n = touched_of(touches, t)) > 2 * WEIR_TRACE_TOUCHED_MAX)
            return;
    } else if (item->kind == WEIR_ITEM_COPY) {
        n = copy_places(w, t);
    } else {
        return;
    }
    weir_trace_touched(weir_stream_of(op->m.stream)->id, op->m.seq, t, n);
}

static uint64_t product(const uint32_t v[3])
{
    return (uint64_t)v[0] * v[1] * v[2];
}

/* What the node's kernel counted in this launch; the next one begins at nothing. */
static void node_work(struct weir_item *item, struct weir_trace_node *n,
                      uint64_t pointers[WEIR_KERNEL_POINTERS])
{
    struct weir_kernel_work *w = &item->kernel.work;

    if (WEIR_LIKELY(!atomic_load_explicit(&w->instructions, memory_order_relaxed)))
        return;
    n->instructions = atomic_exchange_explicit(&w->instructions, 0, memory_order_relaxed);
    n->requested = atomic_exchange_explicit(&w->bytes, 0, memory_order_relaxed);
    n->pointers = pointers;
    n->pointer_count = pointers_of(item->kernel.image, w->launch.params, pointers);
}

/* Its number in the instance + 1; of a body's nodes, which run again and again: 0. */
static uint32_t number_of(const struct weir_item *item)
{
    const struct weir_run *run = item->run;

    return run->parent ? 0 : (uint32_t)(item - run->items) + 1;
}

static void trace_instance_node(const struct weir_item *item, uint32_t instance)
{
    struct weir_trace_touched places[WEIR_KERNEL_POINTERS];
    uint64_t pointers[WEIR_KERNEL_POINTERS];
    struct weir_trace_instance_node n = {.instance = instance,
                                         .number = number_of(item) - 1,
                                         .what = WEIR_TRACE_INSTANCE_OTHER,
                                         .places = places,
                                         .next = item->succ,
                                         .mask = WEIR_SUCC_INDEX,
                                         .next_count = item->succ_count};

    if (item->wanted == WEIR_ITEM_KERNEL) {
        n.what = WEIR_TRACE_INSTANCE_KERNEL;
        n.place_count = pointers_of(item->kernel.image, item->kernel.params, pointers);
        for (size_t i = 0; i < n.place_count; i++)
            places[i] = (struct weir_trace_touched){.address = pointers[i]};
    } else if (item->wanted == WEIR_ITEM_COPY) {
        n.what = WEIR_TRACE_INSTANCE_COPY;
        n.place_count = copy_places(&item->copy, places);
    } else if (item->wanted == WEIR_ITEM_NOTHING && !item->memory.bytes) {
        n.what = WEIR_TRACE_INSTANCE_ORDERS;
    }
    weir_trace_instance_node(&n);
}

void weir_core_trace_instance(struct weir_plan *plan)
{
    static _Atomic uint32_t last;
    const struct weir_op *op = &plan->op->op;

    if (!plan->trace_id) {
        plan->trace_id = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
        for (uint32_t i = 0; i < plan->main.count; i++)
            trace_instance_node(&plan->main.items[i], plan->trace_id);
    }
    weir_trace_instance(weir_stream_of(op->m.stream)->id, op->m.seq, plan->trace_id);
}

void weir_core_trace_node(struct weir_item *item, uint64_t start_ns, uint64_t end_ns)
{
    const struct weir_op *op = &item->run->plan->op->op;
    struct weir_trace_node n = {.start_ns = start_ns, .end_ns = end_ns, .number = number_of(item)};
    uint64_t pointers[WEIR_KERNEL_POINTERS];

    switch (item->kind) {
    case WEIR_ITEM_KERNEL:
        n.engine = WEIR_ENGINE_COMPUTE;
        n.name = item->kernel.function->name;
        n.name_id = &item->kernel.function->trace_name;
        n.blocks = product(item->kernel.work.launch.grid);
        n.threads = product(item->kernel.work.launch.block);
        node_work(item, &n, pointers);
        break;
    case WEIR_ITEM_COPY:
        n.engine = item->copy.work.engine;
        n.memset = item->copy.memset;
        n.bytes = (uint64_t)item->copy.width * item->copy.height * item->copy.depth;
        n.src_class = n.memset ? WEIR_MEM_DEVICE : class_of(item->copy.src);
        n.dst_class = class_of(item->copy.dst);
        break;
    default:
        n.engine = WEIR_ENGINE_HOST;
        break;
    }
    weir_trace_graph_node(weir_stream_of(op->m.stream)->id, op->m.seq, &n);
}

void weir_core_trace_memory_node(const struct weir_item *item)
{
    const struct weir_op *op = &item->run->plan->op->op;
    struct weir_trace_node n = {.start_ns = weir_clock_ns(),
                                .engine = WEIR_TRACE_NODE_MEMORY,
                                .allocates = item->memory.allocates,
                                .frees = !item->memory.allocates,
                                .bytes = item->memory.bytes,
                                .number = number_of(item)};

    n.end_ns = n.start_ns;
    weir_trace_graph_node(weir_stream_of(op->m.stream)->id, op->m.seq, &n);
}

/* What the tools want to know of the process, once, when it first uses a device. */
static void trace_process(void)
{
    /* (The last two: whose times the trace's readers give it.) */
    static const char *const wanted[] = {
        "CUDA_", "NSYS_", "NV_NSIGHT_", "COMPUTE_SANITIZER_", "WEIR_CLOCK=", "WEIR_DEVICE="};
    static atomic_flag done = ATOMIC_FLAG_INIT;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    char path[1024];
    ssize_t n;

    if (atomic_flag_test_and_set(&done))
        return;
    n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    weir_trace_process(path, pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0,
                       (uint32_t)weir_cpu_count());
    for (char **e = environ; e && *e; e++) {
        for (size_t i = 0; i < WEIR_ARRAY_SIZE(wanted); i++) {
            if (strncmp(*e, wanted[i], strlen(wanted[i])) == 0)
                weir_trace_environment(*e);
        }
    }
}

void weir_core_trace_context(const struct weir_context *ctx)
{
    int workers = weir_core.config.workers ? weir_core.config.workers : weir_cpu_count();

    trace_process();
    weir_trace_device(ctx->index, ctx->ordinal, ctx->profile->device_name, ctx->sm_count, workers,
                      weir_mem_window_base);
}

uint64_t weir_core_trace_event_id(const struct weir_event *e)
{
    return ((uintptr_t)e - (uintptr_t)weir_core.events.base) / weir_core.events.slot_bytes + 1;
}

void weir_core_trace_event_wait(const struct weir_event *e, const struct weir_stream *in,
                                const struct weir_model_dep *dep)
{
    weir_trace_event_wait(weir_core_trace_event_id(e), in->id,
                          dep ? weir_stream_of(dep->point.stream)->id : 0,
                          dep ? dep->point.seq : 0);
}
