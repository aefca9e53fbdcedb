/* What graph nodes do: their payloads, how calls read and change them.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/graph_int.h"
#include "core/graph_state.h"

/* ---- kernels ---- */

static void pack_args(unsigned char *to, const struct weir_function_image *image,
                      const struct weir_kernel_params *p)
{
    if (p->packed) {
        memcpy(to, p->packed, WEIR_MIN(p->packed_bytes, image->info.param_bytes));
        return;
    }
    for (uint32_t i = 0; i < image->info.param_count; i++)
        memcpy(to + image->param_offsets[i], p->args[i], image->param_bytes[i]);
}

static void free_params(struct weir_node_kernel *k)
{
    if (k->params != k->here)
        weir_free(k->params);
    weir_free(k->args);
    k->params = k->here;
    k->args = NULL;
}

/* Function, configuration and arguments; attributes stay. Nothing changes on errors. */
static enum weir_err set_kernel(struct weir_node *n, struct weir_context *ctx,
                                const struct weir_kernel_params *p)
{
    struct weir_node_kernel *k = &n->kernel;
    struct weir_function_image *image;
    unsigned char *params = k->here;
    enum weir_err err =
        weir_launch_check(p->function, ctx, &p->config, p->args || p->packed, &image);

    if (err != WEIR_OK)
        return err;
    if (image->info.param_bytes > INLINE_PARAMS) {
        params = weir_alloc(image->info.param_bytes);
        if (!params)
            return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "arguments of %s", p->function->name);
    }
    free_params(k);
    k->params = params;
    k->param_bytes = (uint32_t)image->info.param_bytes;
    pack_args(k->params, image, p);
    k->function = p->function;
    k->image = image;
    k->config = p->config;
    n->ctx = ctx;
    return WEIR_OK;
}

static enum weir_err copy_kernel(struct weir_node_kernel *to, const struct weir_node_kernel *from)
{
    *to = *from;
    to->args = NULL;
    to->attrs = NULL;
    to->params = to->here;
    if (from->params != from->here) {
        to->params = weir_alloc(from->param_bytes);
        if (!to->params)
            return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "arguments of a kernel node");
        memcpy(to->params, from->params, from->param_bytes);
    }
    if (from->attr_count) {
        to->attrs = weir_alloc(from->attr_count * sizeof *to->attrs);
        if (!to->attrs) {
            free_params(to);
            return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "attributes of a kernel node");
        }
        memcpy(to->attrs, from->attrs, from->attr_count * sizeof *to->attrs);
    }
    return WEIR_OK;
}

static enum weir_err make_args(struct weir_node_kernel *k)
{
    uint32_t count = k->image->info.param_count;

    if (k->args || !count)
        return WEIR_OK;
    k->args = weir_alloc(count * sizeof(void *));
    if (!k->args)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "pointers to arguments");
    for (uint32_t i = 0; i < count; i++)
        k->args[i] = k->params + k->image->param_offsets[i];
    return WEIR_OK;
}

/* ---- copies and memsets ---- */

static enum weir_err check_copy_node(const struct weir_context *ctx, const struct weir_copy *c)
{
    struct weir_copy_sides sides;

    if (c->width == 0 || c->height == 0 || c->depth == 0) /* oracle graph_nodes.memcpy_zero */
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "a copy of nothing as a graph node");
    return weir_copy_check(ctx, c, &sides);
}

static enum weir_err check_fill_node(const struct weir_context *ctx, const struct weir_fill *f)
{
    struct weir_copy_sides sides;

    if (f->width == 0 || f->height == 0 || f->depth == 0)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "a memset of nothing as a graph node");
    return weir_fill_check(ctx, f, &sides);
}

/* The device whose memory it is: there a memset node runs, while a captured one stays with its
 * stream and may turn out to have no access when it is instantiated (oracle multi_graph). */
static struct weir_context *home_of(const void *ptr, struct weir_context *ctx)
{
    struct weir_mem_info info;

    if (!weir_mem_find(ptr, &info) || info.kind != WEIR_MEM_KIND_DEVICE ||
        info.device == ctx->ordinal)
        return ctx;
    return &weir_core.contexts[info.device]; /* active: it has allocated */
}

static enum weir_err fill_memset(struct weir_node *n, const struct weir_node_params *p)
{
    struct weir_context *home = home_of(p->fill.dst, n->ctx);
    enum weir_err err = check_fill_node(home, &p->fill);

    n->fill = p->fill;
    if (!p->captured)
        n->ctx = home;
    return err;
}

/* ---- graphs inside ---- */

static enum weir_err fill_child(struct weir_node *n, struct weir_graph *g,
                                const struct weir_node_params *p)
{
    enum weir_err err = WEIR_OK;

    if (!p->child.graph)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "no child graph");
    if (p->child.graph == g) /* hardware crashes: oracle graph_child_self */
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "a graph as its own child");
    if (!p->child.move) {
        n->child = weir_graph_copy_locked(p->child.graph, false, &err);
    } else {
        if (p->child.graph->parent || p->child.graph->capturing)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "the graph belongs to another one");
        n->child = p->child.graph;
    }
    if (err == WEIR_OK)
        n->child->parent = n;
    return err;
}

static enum weir_err fill_conditional(struct weir_node *n, struct weir_graph *g,
                                      struct weir_conditional_params *p)
{
    struct weir_graph **bodies;
    bool known = false;
    unsigned made = 0;

    for (struct weir_graph *top = g; top;
         top = top->parent ? weir_graph_of(top->parent->m.graph) : NULL)
        for (size_t i = 0; i < top->values.count; i++)
            known = known || (uintptr_t)top->values.items[i]->value == p->handle;
    if (!known || p->size == 0 || (p->kind == WEIR_COND_IF && p->size > 2) ||
        (p->kind == WEIR_COND_WHILE && p->size != 1) || (unsigned)p->kind > WEIR_COND_SWITCH)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE,
                         "a conditional node with %u bodies, or a handle of another graph",
                         p->size);
    bodies = weir_alloc(p->size * sizeof *bodies);
    while (bodies && made < p->size && (bodies[made] = weir_graph_new_locked()))
        bodies[made++]->parent = n;
    if (!bodies || made < p->size) {
        while (made > 0)
            weir_graph_free_locked(bodies[--made]);
        weir_free(bodies);
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "bodies of a conditional node");
    }
    n->conditional.handle = p->handle;
    n->conditional.kind = p->kind;
    n->conditional.size = p->size;
    n->conditional.bodies = p->bodies = bodies;
    return WEIR_OK;
}

static enum weir_err copy_conditional(struct weir_node *to, const struct weir_node *from,
                                      bool instance)
{
    unsigned size = from->conditional.size, made = 0;
    enum weir_err err = WEIR_OK;

    to->conditional = from->conditional;
    to->conditional.bodies = weir_alloc(size * sizeof *to->conditional.bodies);
    if (!to->conditional.bodies)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "bodies of a conditional node");
    for (; made < size && err == WEIR_OK; made++) {
        to->conditional.bodies[made] =
            weir_graph_copy_locked(from->conditional.bodies[made], instance, &err);
        if (err == WEIR_OK)
            to->conditional.bodies[made]->parent = to;
    }
    if (err == WEIR_OK)
        return WEIR_OK;
    for (made--; made > 0; made--)
        weir_graph_free_locked(to->conditional.bodies[made - 1]);
    weir_free(to->conditional.bodies);
    return err;
}

/* ---- memory ---- */

static struct weir_graph *top_of(struct weir_graph *g)
{
    while (g->parent)
        g = weir_graph_of(g->parent->m.graph);
    return g;
}

static struct weir_node *find_memory(struct weir_graph *g, const void *ptr,
                                     enum weir_node_kind kind)
{
    for (struct weir_model_node *m = g->m.first; m; m = m->next) {
        struct weir_node *n = weir_node_of(m), *found = NULL;

        if (m->kind == kind && n->memory->ptr == ptr)
            return n;
        if (m->kind == WEIR_NODE_GRAPH)
            found = find_memory(n->child, ptr, kind);
        if (found)
            return found;
    }
    return NULL;
}

static enum weir_err fill_free(struct weir_node *n, struct weir_graph *g, void *ptr)
{
    struct weir_graph_memory *memory = weir_graph_memory_find(ptr);
    bool own = memory && find_memory(top_of(g), ptr, WEIR_NODE_MEM_ALLOC);

    /* Of this graph, where it is allocated, or of another one, once a graph. */
    if (!memory || (own ? !memory->live : find_memory(top_of(g), ptr, WEIR_NODE_MEM_FREE) != NULL))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%p is no graph's memory, or freed twice", ptr);
    n->memory = memory;
    memory->refs++;
    if (own)
        memory->live = false;
    return WEIR_OK;
}

static enum weir_err fill_alloc(struct weir_node *n, struct weir_alloc_params *p)
{
    enum weir_err err;

    if (n->memory) { /* that of a node freed before this one */
        n->memory->refs++;
        n->memory->live = true;
        p->ptr = n->memory->ptr;
        return WEIR_OK;
    }

    if (p->bytes == 0)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "a memory node of 0 bytes");
    err = weir_graph_memory_create(p->device, p->bytes, &n->memory);
    if (err == WEIR_OK)
        p->ptr = n->memory->ptr;
    return err;
}

/* ---- memory operations ---- */

static enum weir_err set_memops(struct weir_node *n, const struct weir_memop_batch *b)
{
    struct weir_memop *ops = NULL;
    enum weir_err err = weir_memop_check(b->ops, b->count);

    if (err == WEIR_OK)
        err = weir_memop_copy(b->ops, b->count, &ops);
    if (err != WEIR_OK)
        return err;
    weir_free(n->memops.ops);
    weir_free(n->memops.shown);
    n->memops = (struct weir_memop_batch){ops, NULL, b->count, b->flags};
    return WEIR_OK;
}

enum weir_err weir_node_memops_shown(struct weir_node *n, size_t bytes, void **out)
{
    weir_graphs_lock();
    if (!n->memops.shown)
        n->memops.shown = weir_calloc(1, bytes + 1);
    *out = n->memops.shown;
    weir_graphs_unlock();
    return *out ? WEIR_OK : WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "memory operations of a node");
}

/* ---- any kind ---- */

enum weir_err weir_node_fill(struct weir_node *n, struct weir_graph *g, struct weir_node_params *p)
{
    enum weir_err err;

    switch (p->kind) {
    case WEIR_NODE_KERNEL:
        memset(&n->kernel, 0, sizeof n->kernel);
        n->kernel.params = n->kernel.here;
        return set_kernel(n, n->ctx, &p->kernel);
    case WEIR_NODE_MEMCPY:
        err = check_copy_node(n->ctx, &p->copy);
        n->copy = p->copy;
        return err;
    case WEIR_NODE_MEMSET:
        return fill_memset(n, p);
    case WEIR_NODE_HOST:
        n->host.fn = p->host.fn;
        n->host.user = p->host.user;
        return n->host.fn ? WEIR_OK : WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "no host function");
    case WEIR_NODE_GRAPH:
        return fill_child(n, g, p);
    case WEIR_NODE_EMPTY:
        return WEIR_OK;
    case WEIR_NODE_EVENT_RECORD:
    case WEIR_NODE_EVENT_WAIT:
        n->event = p->event;
        return n->event ? WEIR_OK : WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "no event");
    case WEIR_NODE_MEM_ALLOC:
        return fill_alloc(n, &p->alloc);
    case WEIR_NODE_MEM_FREE:
        return fill_free(n, g, p->free);
    case WEIR_NODE_BATCH_MEM_OP:
        n->memops = (struct weir_memop_batch){0};
        return set_memops(n, &p->memops);
    case WEIR_NODE_CONDITIONAL:
        return fill_conditional(n, g, &p->conditional);
    default:
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "graph node of kind %d", (int)p->kind);
    }
}

enum weir_err weir_node_copy_payload(struct weir_node *to, struct weir_node *from, bool instance)
{
    enum weir_err err = WEIR_OK;

    switch (weir_node_kind(from)) {
    case WEIR_NODE_KERNEL:
        return copy_kernel(&to->kernel, &from->kernel);
    case WEIR_NODE_GRAPH:
        to->child = weir_graph_copy_locked(from->child, instance, &err);
        if (err == WEIR_OK)
            to->child->parent = to;
        return err;
    case WEIR_NODE_CONDITIONAL:
        return copy_conditional(to, from, instance);
    case WEIR_NODE_MEM_ALLOC:
    case WEIR_NODE_MEM_FREE:
        to->memory = from->memory;
        to->memory->refs++;
        return WEIR_OK;
    case WEIR_NODE_BATCH_MEM_OP:
        to->memops = from->memops;
        to->memops.shown = NULL;
        return weir_memop_copy(from->memops.ops, from->memops.count, &to->memops.ops);
    case WEIR_NODE_MEMCPY:
        to->copy = from->copy;
        return WEIR_OK;
    case WEIR_NODE_MEMSET:
        to->fill = from->fill;
        return WEIR_OK;
    case WEIR_NODE_HOST:
        to->host = from->host;
        return WEIR_OK;
    case WEIR_NODE_EVENT_RECORD:
    case WEIR_NODE_EVENT_WAIT:
        to->event = from->event;
        return WEIR_OK;
    default:
        return WEIR_OK;
    }
}

void weir_node_finish(struct weir_node *n)
{
    switch (weir_node_kind(n)) {
    case WEIR_NODE_KERNEL:
        free_params(&n->kernel);
        weir_free(n->kernel.attrs);
        n->kernel.attrs = NULL;
        break;
    case WEIR_NODE_GRAPH:
        weir_graph_free_locked(n->child);
        break;
    case WEIR_NODE_CONDITIONAL:
        for (unsigned i = 0; i < n->conditional.size; i++)
            weir_graph_free_locked(n->conditional.bodies[i]);
        weir_free(n->conditional.bodies);
        break;
    case WEIR_NODE_MEM_ALLOC:
    case WEIR_NODE_MEM_FREE:
        weir_graph_memory_unref(n->memory);
        break;
    case WEIR_NODE_BATCH_MEM_OP:
        weir_free(n->memops.ops);
        weir_free(n->memops.shown);
        break;
    default:
        break;
    }
}

/* ---- reading ---- */

enum weir_err weir_node_params(struct weir_node *n, enum weir_node_kind kind,
                               struct weir_node_params *out)
{
    enum weir_err err = WEIR_OK;

    if (weir_node_kind(n) != kind)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "a node of kind %d, not %d",
                         (int)weir_node_kind(n), (int)kind);
    memset(out, 0, sizeof *out);
    out->kind = kind;
    weir_graphs_lock();
    switch (kind) {
    case WEIR_NODE_KERNEL:
        err = make_args(&n->kernel);
        out->kernel.function = n->kernel.function;
        out->kernel.config = n->kernel.config;
        out->kernel.args = n->kernel.args;
        break;
    case WEIR_NODE_MEMCPY:
        out->copy = n->copy;
        break;
    case WEIR_NODE_MEMSET:
        out->fill = n->fill;
        break;
    case WEIR_NODE_HOST:
        out->host.fn = n->host.fn;
        out->host.user = n->host.user;
        break;
    case WEIR_NODE_GRAPH:
        out->child.graph = n->child;
        break;
    case WEIR_NODE_EVENT_RECORD:
    case WEIR_NODE_EVENT_WAIT:
        out->event = n->event;
        break;
    case WEIR_NODE_MEM_ALLOC:
        out->alloc =
            (struct weir_alloc_params){n->memory->device, n->memory->bytes, n->memory->ptr};
        break;
    case WEIR_NODE_MEM_FREE:
        out->free = n->memory->ptr;
        break;
    case WEIR_NODE_BATCH_MEM_OP:
        out->memops = n->memops;
        break;
    case WEIR_NODE_CONDITIONAL:
        out->conditional = (struct weir_conditional_params){
            n->conditional.handle, n->conditional.kind, n->conditional.size, n->conditional.bodies};
        break;
    default:
        break;
    }
    weir_graphs_unlock();
    return err;
}

/* ---- changing ---- */

/* In an instance the kind of memory on both sides stays (oracle graph_update.memcpy_kind_d2h). */
static enum weir_err same_sides(const struct weir_context *ctx, const struct weir_copy *a,
                                const struct weir_copy *b)
{
    struct weir_copy_sides x, y;
    enum weir_err err = weir_copy_check(ctx, b, &y);

    if (err != WEIR_OK || weir_copy_check(ctx, a, &x) != WEIR_OK)
        return err; /* the old memory may be gone */
    if (x.src_cls != y.src_cls || x.dst_cls != y.dst_cls || x.src_device != y.src_device ||
        x.dst_device != y.dst_device)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "the copy's memory is of another kind");
    return WEIR_OK;
}

static enum weir_err change_copy(struct weir_node *n, const struct weir_copy *c, bool instance)
{
    enum weir_err err = check_copy_node(n->ctx, c);

    if (err == WEIR_OK && instance)
        err = same_sides(n->ctx, &n->copy, c);
    if (err == WEIR_OK)
        n->copy = *c;
    return err;
}

static enum weir_err change_child(struct weir_node *n, struct weir_graph *g, bool instance)
{
    struct weir_graph *copy;
    enum weir_err err;

    if (instance)
        return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "a child graph of an instance");
    copy = weir_graph_copy_locked(g, false, &err);
    if (!copy)
        return err;
    weir_graph_free_locked(n->child);
    n->child = copy;
    copy->parent = n;
    return WEIR_OK;
}

enum weir_err weir_node_change(struct weir_node *n, struct weir_context *ctx,
                               const struct weir_node_params *p, bool instance)
{
    enum weir_err err;

    if (weir_node_kind(n) != p->kind)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "a node of kind %d, not %d",
                         (int)weir_node_kind(n), (int)p->kind);
    switch (p->kind) {
    case WEIR_NODE_KERNEL:
        if (instance && ctx != n->ctx) /* oracle multi_graph.exec_setParams_of_0_current1 */
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "an instance's kernel stays on its device");
        return set_kernel(n, ctx, &p->kernel);
    case WEIR_NODE_MEMCPY:
        return change_copy(n, &p->copy, instance);
    case WEIR_NODE_MEMSET:
        err = check_fill_node(home_of(p->fill.dst, n->ctx), &p->fill);
        if (err == WEIR_OK)
            n->fill = p->fill;
        return err;
    case WEIR_NODE_HOST:
        if (!p->host.fn)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "no host function");
        n->host.fn = p->host.fn;
        n->host.user = p->host.user;
        return WEIR_OK;
    case WEIR_NODE_GRAPH:
        return change_child(n, p->child.graph, instance);
    case WEIR_NODE_EVENT_RECORD:
    case WEIR_NODE_EVENT_WAIT:
        if (!p->event)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "no event");
        n->event = p->event;
        return WEIR_OK;
    case WEIR_NODE_BATCH_MEM_OP:
        if (instance && (ctx != n->ctx || !weir_memop_is_like(&n->memops, &p->memops)))
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE,
                             "an instance's memory operations stay what they are and where");
        err = set_memops(n, &p->memops);
        if (err == WEIR_OK)
            n->ctx = ctx;
        return err;
    case WEIR_NODE_EMPTY:
        return WEIR_OK;
    default:
        return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "nodes of kind %d do not change", (int)p->kind);
    }
}

enum weir_err weir_node_set(struct weir_node *n, struct weir_context *ctx,
                            const struct weir_node_params *params)
{
    enum weir_err err;

    weir_graphs_lock();
    err = weir_node_change(n, ctx, params, false);
    weir_graphs_unlock();
    return err;
}

/* ---- attributes of kernel nodes ---- */

static struct weir_node_attr *find_attr(struct weir_node_kernel *k, int id)
{
    for (uint32_t i = 0; i < k->attr_count; i++)
        if (k->attrs[i].id == id)
            return &k->attrs[i];
    return NULL;
}

static enum weir_err need_kernel(const struct weir_node *n)
{
    return weir_node_kind(n) == WEIR_NODE_KERNEL
               ? WEIR_OK
               : WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "not a kernel node");
}

static bool put_attr(struct weir_node_kernel *k, const struct weir_node_attr *a)
{
    struct weir_node_attr *found = find_attr(k, a->id), *grown;

    if (!found) {
        grown = weir_realloc(k->attrs, (k->attr_count + 1) * sizeof *grown);
        if (!grown)
            return false;
        k->attrs = grown;
        found = &grown[k->attr_count++];
    }
    *found = *a;
    return true;
}

enum weir_err weir_node_attr_set(struct weir_node *n, const struct weir_node_attr *a)
{
    enum weir_err err = need_kernel(n);

    if (err != WEIR_OK)
        return err;
    weir_graphs_lock();
    if (!put_attr(&n->kernel, a))
        err = WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "an attribute");
    weir_graphs_unlock();
    return err;
}

bool weir_node_attr_get(struct weir_node *n, int id, struct weir_node_attr *out)
{
    const struct weir_node_attr *a;

    weir_graphs_lock();
    a = find_attr(&n->kernel, id);
    if (a)
        *out = *a;
    weir_graphs_unlock();
    return a != NULL;
}

enum weir_err weir_node_attrs_copy(struct weir_node *to, struct weir_node *from)
{
    enum weir_err err = need_kernel(to);

    if (err == WEIR_OK)
        err = need_kernel(from);
    if (err != WEIR_OK)
        return err;
    weir_graphs_lock();
    for (uint32_t i = 0; i < from->kernel.attr_count && err == WEIR_OK; i++)
        if (to != from && !put_attr(&to->kernel, &from->kernel.attrs[i]))
            err = WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "an attribute");
    to->kernel.priority = from->kernel.priority;
    to->kernel.config.cooperative = from->kernel.config.cooperative;
    weir_graphs_unlock();
    return err;
}

void weir_node_set_priority(struct weir_node *n, int priority)
{
    n->kernel.priority = priority;
}

int weir_node_priority(const struct weir_node *n)
{
    return n->kernel.priority;
}

void weir_node_set_cooperative(struct weir_node *n, bool cooperative)
{
    n->kernel.config.cooperative = cooperative;
}
