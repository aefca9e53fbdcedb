/* Plans: an instance's nodes in a prepared order, ready to run. The order is the model's
 * (weir_model_graph_order), child graphs stand between an entry and an exit of their own.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "check/check.h"
#include "core/clock.h"
#include "core/graph_run.h"
#include "core/graph_state.h"

/* ---- what an item does ---- */

static void init_work(struct weir_work *w, enum weir_engine engine, struct weir_item *item)
{
    w->engine = (uint8_t)engine;
    w->priority = 0;
    w->counted = false;
    w->node = true;
    w->done = weir_item_work_done;
    w->owner = item;
    w->ready_ns = w->start_ns = w->end_ns = 0;
}

static enum weir_err set_kernel(struct weir_item *item, struct weir_node *n)
{
    const struct weir_node_kernel *k = &n->kernel;
    struct weir_kernel_work *w = &item->kernel.work;
    size_t room = WEIR_ALIGN_UP(WEIR_MAX((size_t)k->param_bytes, 1u), 64);
    bool same = item->kernel.image == k->image && w->code &&
                memcmp(w->launch.block, k->config.block, sizeof w->launch.block) == 0;

    if (item->kernel.param_room < room) {
        void *params = weir_alloc_aligned(64, room);

        if (!params)
            return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "arguments of a graph's kernel");
        weir_free(item->kernel.params);
        item->kernel.params = params;
        item->kernel.param_room = room;
    }
    if (k->config.cooperative && !item->kernel.workspace) {
        enum weir_err err = weir_launch_workspace(n->ctx, &k->config, &item->kernel.workspace);

        if (err != WEIR_OK)
            return err;
    }
    memcpy(item->kernel.params, k->params, k->param_bytes);
    init_work(&w->work, WEIR_ENGINE_COMPUTE, item);
    item->kernel.function = k->function;
    item->kernel.image = k->image;
    item->kernel.priority = k->priority;
    w->prepare = weir_item_prepare;
    atomic_store_explicit(&w->nested, NULL, memory_order_relaxed);
    if (!same) {
        w->code = NULL;
        item->may_inline = false;
    }
    item->cost_ns = 0;
    weir_launch_fill(&w->launch, n->ctx, k->image, &k->config);
    w->needs = weir_launch_needs(n->ctx, k->image, &k->config);
    w->launch.params = item->kernel.params;
    w->launch.param_bytes = k->param_bytes;
    w->launch.grid_workspace =
        k->config.cooperative ? (uint64_t)(uintptr_t)item->kernel.workspace : 0;
    if (same)
        w->launch.module_data = w->code->module_data;
    return WEIR_OK;
}

static enum weir_err set_copy(struct weir_item *item, const struct weir_context *ctx,
                              const struct weir_copy *c)
{
    struct weir_copy_work *w = &item->copy;
    struct weir_copy_sides sides;
    enum weir_err err = weir_copy_check(ctx, c, &sides);

    if (err != WEIR_OK)
        return err;
    memset(w, 0, sizeof *w);
    init_work(&w->work, (enum weir_engine)sides.engine, item);
    w->src = c->src;
    w->dst = c->dst;
    w->width = c->width;
    w->height = c->height;
    w->depth = c->depth;
    w->src_pitch = c->src_pitch;
    w->dst_pitch = c->dst_pitch;
    w->src_slice = c->src_slice;
    w->dst_slice = c->dst_slice;
    return WEIR_OK;
}

static enum weir_err set_fill(struct weir_item *item, const struct weir_context *ctx,
                              const struct weir_fill *f)
{
    struct weir_copy_work *w = &item->copy;
    struct weir_copy_sides sides;
    enum weir_err err = weir_fill_check(ctx, f, &sides);

    if (err != WEIR_OK)
        return err;
    memset(w, 0, sizeof *w);
    init_work(&w->work, WEIR_ENGINE_D2D, item);
    w->memset = true;
    w->dst = f->dst;
    w->value = f->value;
    w->element_bytes = f->element_bytes;
    w->width = f->width;
    w->height = f->height;
    w->depth = f->depth;
    w->dst_pitch = f->pitch;
    w->dst_slice = f->slice;
    return WEIR_OK;
}

static enum weir_err set_memops(struct weir_item *item, const struct weir_memop_batch *b)
{
    struct weir_memop *ops;
    enum weir_err err = weir_memop_copy(b->ops, b->count, &ops);

    if (err != WEIR_OK)
        return err;
    weir_free(item->memops.ops);
    item->memops.ops = ops;
    item->memops.count = b->count;
    return WEIR_OK;
}

/* What n does now. Errors leave the item as it was. */
static enum weir_err set_item(struct weir_item *item, struct weir_node *n)
{
    enum weir_err err = WEIR_OK;

    item->ctx = n->ctx;
    switch (item->wanted) {
    case WEIR_ITEM_KERNEL:
        err = set_kernel(item, n);
        break;
    case WEIR_ITEM_COPY:
        err = n->m.kind == WEIR_NODE_MEMCPY ? set_copy(item, n->ctx, &n->copy)
                                            : set_fill(item, n->ctx, &n->fill);
        break;
    case WEIR_ITEM_HOST:
        init_work(&item->host.work.work, WEIR_ENGINE_HOST, item);
        item->host.work.run = weir_item_run_host;
        item->host.fn = n->host.fn;
        item->host.user = n->host.user;
        break;
    case WEIR_ITEM_RECORD:
    case WEIR_ITEM_WAIT:
        item->event.event = n->event;
        break;
    case WEIR_ITEM_NOTHING:
        if (weir_node_kind(n) == WEIR_NODE_MEM_ALLOC || weir_node_kind(n) == WEIR_NODE_MEM_FREE) {
            item->memory.bytes = n->memory ? n->memory->bytes : 0;
            item->memory.allocates = weir_node_kind(n) == WEIR_NODE_MEM_ALLOC;
        }
        break;
    case WEIR_ITEM_MEMOPS:
        err = set_memops(item, &n->memops);
        break;
    default:
        break;
    }
    if (err == WEIR_OK)
        item->kind = n->disabled ? WEIR_ITEM_NOTHING : item->wanted;
    return err;
}

static enum weir_item_kind kind_of(const struct weir_node *n)
{
    switch (weir_node_kind(n)) {
    case WEIR_NODE_KERNEL:
        return WEIR_ITEM_KERNEL;
    case WEIR_NODE_MEMCPY:
    case WEIR_NODE_MEMSET:
        return WEIR_ITEM_COPY;
    case WEIR_NODE_HOST:
        return WEIR_ITEM_HOST;
    case WEIR_NODE_EVENT_RECORD:
        return WEIR_ITEM_RECORD;
    case WEIR_NODE_EVENT_WAIT:
        return WEIR_ITEM_WAIT;
    case WEIR_NODE_BATCH_MEM_OP:
        return WEIR_ITEM_MEMOPS;
    case WEIR_NODE_CONDITIONAL:
        return WEIR_ITEM_CONDITIONAL;
    default: /* memory is there all the time: its nodes only order */
        return WEIR_ITEM_NOTHING;
    }
}

/* ---- sizes ---- */

struct size {
    uint32_t items, edges;
};

static void measure(const struct weir_graph *g, struct size *s)
{
    for (const struct weir_model_node *m = g->m.first; m; m = m->next) {
        s->items++;
        s->edges += m->out.count;
        if (m->kind == WEIR_NODE_GRAPH) {
            const struct weir_graph *child = weir_node_of(m)->child;

            s->items++; /* its exit */
            s->edges +=
                1 + 2 * (uint32_t)child->m.node_count; /* entry to exit, to roots, from ends */
            measure(child, s);
        }
    }
}

/* ---- building ---- */

struct build {
    struct weir_plan *plan;
    struct weir_run *run;
    struct weir_node **at;
    uint32_t items, edges;
};

static enum weir_err build_run(struct build *b, struct weir_graph *g, struct weir_run *run,
                               struct weir_item *parent);

static enum weir_err build_bodies(struct build *b, struct weir_item *item, struct weir_node *n)
{
    item->conditional.kind = n->conditional.kind;
    item->conditional.value = (const uint32_t *)(uintptr_t)n->conditional.handle;
    item->conditional.bodies = weir_calloc(n->conditional.size, sizeof *item->conditional.bodies);
    if (!item->conditional.bodies)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "bodies of a conditional node");
    item->conditional.count = n->conditional.size;
    for (unsigned i = 0; i < n->conditional.size; i++) {
        struct build body = {.plan = b->plan, .at = b->at};
        enum weir_err err =
            build_run(&body, n->conditional.bodies[i], &item->conditional.bodies[i], item);

        if (err != WEIR_OK)
            return err;
    }
    return WEIR_OK;
}

/* As documented for conditional nodes. */
static bool may_be_in_body(const struct weir_node *n)
{
    switch (weir_node_kind(n)) {
    case WEIR_NODE_KERNEL:
    case WEIR_NODE_EMPTY:
    case WEIR_NODE_MEMCPY:
    case WEIR_NODE_MEMSET:
    case WEIR_NODE_GRAPH:
    case WEIR_NODE_CONDITIONAL:
        return true;
    default:
        return false;
    }
}

/* A stream of the item's. */
static enum weir_err own_stream(const struct weir_node *n, struct weir_stream **out)
{
    enum weir_err err = weir_stream_create(n->ctx, WEIR_STREAM_NONBLOCKING, 0, 0, out);

    if (err == WEIR_OK)
        (void)weir_slot_kill(&(*out)->slot); /* nobody's handle */
    return err;
}

/* One of before a reset was retired by it. */
static void drop_stream(const struct weir_item *item, struct weir_stream *s)
{
    if (s && s->epoch == atomic_load_explicit(&item->ctx->epoch, memory_order_relaxed))
        weir_stream_retire(s);
}

static enum weir_err new_item(struct build *b, struct weir_node *n)
{
    struct weir_item *item = &b->run->items[b->items++];
    struct weir_plan *plan = b->plan;
    enum weir_err err = WEIR_OK;

    item->run = b->run;
    item->wanted = (uint8_t)kind_of(n);
    n->item = item;
    if (b->run->parent && !may_be_in_body(n))
        err = WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "a node of kind %d in a conditional node's body",
                        (int)n->m.kind);
    else if (item->wanted == WEIR_ITEM_CONDITIONAL)
        err = build_bodies(b, item, n);
    if (err == WEIR_OK && (item->wanted == WEIR_ITEM_RECORD || item->wanted == WEIR_ITEM_WAIT)) {
        err = own_stream(n, &item->event.stream);
        if (item->wanted == WEIR_ITEM_WAIT)
            item->event.index = plan->wait_count++;
        else
            plan->record_count++;
    }
    if (err == WEIR_OK && item->wanted == WEIR_ITEM_MEMOPS)
        err = own_stream(n, &item->memops.stream);
    if (err == WEIR_OK)
        err = set_item(item, n);
    if (err != WEIR_OK && b->at && !*b->at)
        *b->at = n;
    return err;
}

/* Edges are written source by source, so each item's list is one piece. */
static void begin_edges(struct build *b, struct weir_item *from)
{
    from->succ = &b->run->succ[b->edges];
    from->succ_count = 0;
}

static struct weir_early_item *early_of(struct build *b, struct weir_item *item)
{
    struct weir_early_item *e = item->early;

    if (e)
        return e;
    e = weir_calloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->item = item;
    e->next = b->run->early;
    b->run->early = e;
    item->early = e;
    return e;
}

/* Edges of which the model says that the target may start early. Without memory it starts later. */
static void add_early(struct build *b, struct weir_item *from, struct weir_item *to, bool begun)
{
    struct weir_early_item *source = early_of(b, from), *target = early_of(b, to);
    struct weir_item **grown;

    if (!source || !target)
        return;
    grown = weir_realloc(target->sources, (target->source_count + 1) * sizeof *grown);
    if (!grown)
        return;
    target->sources = grown;
    grown[target->source_count++] = from;
    from->succ[from->succ_count - 1] |= WEIR_SUCC_EARLY | (begun ? WEIR_SUCC_BEGUN : 0);
    if (begun)
        from->kernel.work.begun = weir_item_begun;
    else
        from->kernel.work.triggered = weir_item_triggered;
}

static void add_edge(struct build *b, struct weir_item *from, struct weir_item *to)
{
    from->succ[from->succ_count++] = (uint32_t)(to - b->run->items);
    b->edges++;
    to->pred_count++;
}

/* A child's entry stands for its node; the exit is the item behind all of the child's. */
static struct weir_item *exit_of(struct weir_node *n)
{
    return n->m.kind == WEIR_NODE_GRAPH ? n->item + 1 : n->item;
}

static enum weir_err build_graph(struct build *b, struct weir_graph *g)
{
    struct weir_model_node **order =
        weir_alloc((g->m.node_count + 1) * sizeof(struct weir_model_node *));
    struct weir_model_node *at = NULL;
    enum weir_err err = WEIR_OK;

    if (!order)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "the order of a graph");
    if (weir_model_graph_order(&g->m, order, &at) != WEIR_GRAPH_OK) {
        if (b->at)
            *b->at = weir_node_of(at);
        err = WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "the graph has a cycle (GRA-002)");
    }
    for (size_t i = 0; i < g->m.node_count && err == WEIR_OK; i++) {
        struct weir_node *n = weir_node_of(order[i]);

        err = new_item(b, n);
        if (err != WEIR_OK || n->m.kind != WEIR_NODE_GRAPH)
            continue;
        b->run->items[b->items].run = b->run; /* the exit */
        b->run->items[b->items++].ctx = n->ctx;
        err = build_graph(b, n->child);
    }
    for (size_t i = 0; i < g->m.node_count && err == WEIR_OK; i++) {
        struct weir_node *n = weir_node_of(order[i]);
        struct weir_item *from = exit_of(n);

        if (from != n->item) {
            begin_edges(b, n->item);
            add_edge(b, n->item, from); /* an empty child */
            for (struct weir_model_node *m = n->child->m.first; m; m = m->next)
                if (m->in.count == 0)
                    add_edge(b, n->item, weir_node_of(m)->item);
        }
        begin_edges(b, from);
        for (uint32_t k = 0; k < n->m.out.count; k++) {
            const struct weir_model_edge *e = &n->m.out.items[k];
            enum weir_edge_port port = weir_model_edge_lets(n->m.kind == WEIR_NODE_KERNEL &&
                                                                e->node->kind == WEIR_NODE_KERNEL,
                                                            e->data, e->node->in.count);

            add_edge(b, from, weir_node_of(e->node)->item);
            if (port != WEIR_PORT_END)
                add_early(b, from, weir_node_of(e->node)->item, port == WEIR_PORT_LAUNCHED);
        }
        if (n->m.out.count == 0 && g->parent && g->parent->m.kind == WEIR_NODE_GRAPH &&
            g->parent->item)
            add_edge(b, from, exit_of(g->parent));
    }
    weir_free(order);
    return err;
}

/* Kernels last, so that copies and what else takes long starts before a chain of short kernels. */
static void find_roots(struct weir_run *run)
{
    for (int kernels = 0; kernels < 2; kernels++) {
        for (uint32_t i = 0; i < run->count; i++) {
            struct weir_item *item = &run->items[i];

            if (item->pred_count == 0 && (item->wanted == WEIR_ITEM_KERNEL) == kernels)
                run->roots[run->root_count++] = i;
        }
    }
}

static void mark_only(struct weir_run *run, uint32_t edges)
{
    for (uint32_t i = 0; i < edges; i++)
        if (run->items[run->succ[i] & WEIR_SUCC_INDEX].pred_count == 1)
            run->succ[i] |= WEIR_SUCC_ONLY;
}

static enum weir_err build_run(struct build *b, struct weir_graph *g, struct weir_run *run,
                               struct weir_item *parent)
{
    struct size size = {0, 0};
    enum weir_err err;

    measure(g, &size);
    run->plan = b->plan;
    run->parent = parent;
    run->items = weir_alloc_large((size.items + 1) * sizeof *run->items);
    run->succ = weir_alloc((size.edges + 1) * sizeof *run->succ);
    run->roots = weir_alloc((size.items + 1) * sizeof *run->roots);
    run->next = weir_alloc((size.items + 1) * sizeof *run->next);
    run->counts = weir_alloc((size.items + 1) * sizeof *run->counts);
    if (!run->items || !run->succ || !run->roots || !run->next || !run->counts)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a plan of %u nodes", size.items);
    run->count = size.items;
    b->run = run;
    err = build_graph(b, g);
    if (err != WEIR_OK)
        return err;
    for (uint32_t i = 0; i < run->count; i++) {
        run->counts[i].before = run->items[i].pred_count;
        atomic_store_explicit(&run->counts[i].pending, run->items[i].pred_count,
                              memory_order_relaxed);
    }
    mark_only(run, b->edges);
    find_roots(run);
    b->plan->node_count += run->count;
    return WEIR_OK;
}

/* ---- life ---- */

static void finish_run(struct weir_run *run)
{
    for (uint32_t i = 0; run->items && i < run->count; i++) {
        struct weir_item *item = &run->items[i];

        switch (item->wanted) {
        case WEIR_ITEM_KERNEL:
            weir_free(item->kernel.params);
            weir_core_clock_end(&item->kernel.work);
            if (item->kernel.workspace)
                (void)!weir_mem_free(WEIR_MEM_KIND_INTERNAL, item->kernel.workspace);
            break;
        case WEIR_ITEM_RECORD:
        case WEIR_ITEM_WAIT:
            drop_stream(item, item->event.stream);
            break;
        case WEIR_ITEM_MEMOPS:
            drop_stream(item, item->memops.stream);
            weir_free(item->memops.ops);
            break;
        case WEIR_ITEM_CONDITIONAL:
            for (unsigned k = 0; k < item->conditional.count; k++)
                finish_run(&item->conditional.bodies[k]);
            weir_free(item->conditional.bodies);
            break;
        default:
            break;
        }
    }
    for (struct weir_early_item *e = run->early, *next; e; e = next) {
        next = e->next;
        weir_free(e->sources);
        weir_free(e);
    }
    if (weir_check_follows())
        weir_check_plan_end(run);
    weir_free(run->items);
    weir_free(run->succ);
    weir_free(run->roots);
    weir_free(run->next);
    weir_free(run->counts);
}

static void keep_unref(struct weir_graph_keep *keep)
{
    if (atomic_fetch_sub_explicit(&keep->refs, 1, memory_order_acq_rel) != 1)
        return;
    weir_graphs_lock();
    weir_graph_free_locked(keep->graph);
    weir_graphs_unlock();
    if (weir_check_follows())
        weir_check_event_end(keep); /* its last launch */
    weir_free(keep);
}

void weir_graph_keep_unref(struct weir_graph_keep *keep)
{
    if (keep)
        keep_unref(keep);
}

void weir_plan_unref(struct weir_plan *p)
{
    if (!p || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1)
        return;
    finish_run(&p->main);
    keep_unref(p->keep);
    weir_free(p);
}

bool weir_plan_is_shared(const struct weir_plan *p)
{
    return atomic_load_explicit(&p->refs, memory_order_acquire) > 1;
}

enum weir_err weir_plan_create(struct weir_exec *x, struct weir_plan **out, struct weir_node **at)
{
    struct weir_plan *p = weir_alloc_aligned(64, sizeof *p);
    struct build b = {.plan = p, .at = at};
    enum weir_err err;

    if (!p)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a plan");
    memset(p, 0, sizeof *p);
    atomic_store_explicit(&p->refs, 1, memory_order_relaxed);
    p->keep = x->keep;
    atomic_fetch_add_explicit(&p->keep->refs, 1, memory_order_relaxed);
    p->node_priority = x->flags & WEIR_EXEC_NODE_PRIORITY;
    err = build_run(&b, x->graph, &p->main, NULL);
    if (err == WEIR_OK) {
        *out = p;
        return WEIR_OK;
    }
    weir_plan_unref(p);
    return err;
}

enum weir_err weir_plan_refresh(struct weir_plan *p, struct weir_node *n)
{
    p->trace_id = 0; /* it is given other memory, perhaps */
    return set_item(n->item, n);
}
