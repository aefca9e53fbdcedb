/* Memory of graphs: a node's allocation has one address for life; a launch makes it usable, a free
 * node, cudaFree or cudaFreeAsync ends that. What of it counts as used and reserved is kept as a
 * GPU reports it: whole blocks of 32 MiB, reserved until trimmed (oracle graph_exec.graphmem_*).
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/graph_int.h"
#include "core/graph_state.h"

#define BLOCK ((uint64_t)32 << 20)

static struct weir_graph_memory_count *count_of(int device)
{
    return &weir_core.graphs.usage[device < WEIR_GRAPH_MEMORY_DEVICES ? device : 0];
}

static void count_locked(const struct weir_graph_memory *m, bool on)
{
    struct weir_graph_memory_count *c = count_of(m->device);
    uint64_t bytes = WEIR_ALIGN_UP((uint64_t)m->bytes, BLOCK);

    c->used = on ? c->used + bytes : c->used - bytes;
    c->used_high = WEIR_MAX(c->used_high, c->used);
    c->reserved = WEIR_MAX(c->reserved, c->used);
    c->reserved_high = WEIR_MAX(c->reserved_high, c->reserved);
}

static void set_allocated(struct weir_graph_memory *m, bool on)
{
    weir_lock_acquire(&weir_core.graphs.memory_lock);
    if (m->allocated != on)
        count_locked(m, on);
    m->allocated = on;
    weir_lock_release(&weir_core.graphs.memory_lock);
}

enum weir_err weir_graph_memory_create(int device, size_t bytes, struct weir_graph_memory **out)
{
    struct weir_graph_state *s = &weir_core.graphs;
    struct weir_graph_memory *m = weir_calloc(1, sizeof *m);
    enum weir_err err;
    bool put;

    if (!m)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a memory node");
    *m = (struct weir_graph_memory){.bytes = bytes, .device = device, .refs = 1};
    err = weir_mem_alloc(WEIR_MEM_KIND_DEVICE, device, bytes, 0, m, &m->ptr);
    if (err != WEIR_OK) {
        weir_free(m);
        return err;
    }
    weir_lock_acquire(&s->memory_lock);
    put = weir_map_put(&s->allocations, (uintptr_t)m->ptr, m);
    weir_lock_release(&s->memory_lock);
    if (!put) {
        (void)!weir_mem_free(WEIR_MEM_KIND_DEVICE, m->ptr); /* it is ours */
        weir_free(m);
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a memory node");
    }
    atomic_fetch_add_explicit(&s->allocation_count, 1, memory_order_relaxed);
    *out = m;
    return WEIR_OK;
}

struct weir_graph_memory *weir_graph_memory_find(const void *ptr)
{
    struct weir_graph_state *s = &weir_core.graphs;
    struct weir_graph_memory *m;

    if (WEIR_LIKELY(atomic_load_explicit(&s->allocation_count, memory_order_relaxed) == 0))
        return NULL;
    weir_lock_acquire(&s->memory_lock);
    m = weir_map_get(&s->allocations, (uintptr_t)ptr);
    weir_lock_release(&s->memory_lock);
    return m;
}

void weir_graph_memory_unref(struct weir_graph_memory *m)
{
    struct weir_graph_state *s = &weir_core.graphs;
    bool last;

    weir_lock_acquire(&s->memory_lock);
    last = --m->refs == 0;
    if (last) {
        if (m->allocated)
            count_locked(m, false);
        weir_map_remove(&s->allocations, (uintptr_t)m->ptr);
        atomic_fetch_sub_explicit(&s->allocation_count, 1, memory_order_relaxed);
    }
    weir_lock_release(&s->memory_lock);
    if (!last)
        return;
    (void)!weir_mem_free(WEIR_MEM_KIND_DEVICE, m->ptr); /* it is ours */
    weir_free(m);
}

/* ---- launches ---- */

/* What is freed inside: by a free node anywhere in the graph. */
static bool frees(struct weir_graph *g, const struct weir_graph_memory *m)
{
    for (struct weir_model_node *n = g->m.first; n; n = n->next) {
        if (n->kind == WEIR_NODE_MEM_FREE && weir_node_of(n)->memory == m)
            return true;
        if (n->kind == WEIR_NODE_GRAPH && frees(weir_node_of(n)->child, m))
            return true;
    }
    return false;
}

static bool may_allocate(struct weir_graph *g, bool auto_free)
{
    for (struct weir_model_node *m = g->m.first; m; m = m->next) {
        struct weir_node *n = weir_node_of(m);

        if (m->kind == WEIR_NODE_GRAPH && !may_allocate(n->child, auto_free))
            return false;
        if (m->kind == WEIR_NODE_MEM_ALLOC && n->memory->allocated && !auto_free)
            return false;
    }
    return true;
}

/* GRA-030: allocations that the graph does not free stay, frees end those of others. */
static void allocate(struct weir_graph *top, struct weir_graph *g)
{
    for (struct weir_model_node *m = g->m.first; m; m = m->next) {
        struct weir_node *n = weir_node_of(m);

        if (m->kind == WEIR_NODE_GRAPH)
            allocate(top, n->child);
        else if (m->kind == WEIR_NODE_MEM_ALLOC) {
            set_allocated(n->memory, true);
            if (frees(top, n->memory))
                set_allocated(n->memory, false);
        } else if (m->kind == WEIR_NODE_MEM_FREE) {
            set_allocated(n->memory, false);
        }
    }
}

enum weir_err weir_graph_memory_launch(struct weir_exec *x)
{
    if (WEIR_LIKELY(!x->graph->memory_nodes))
        return WEIR_OK;
    if (!may_allocate(x->graph, x->flags & WEIR_EXEC_AUTO_FREE))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE,
                         "memory of the graph's last launch was not freed (GRA-030)");
    allocate(x->graph, x->graph);
    return WEIR_OK;
}

/* ---- calls ---- */

bool weir_graph_mem_is(const void *ptr)
{
    return weir_graph_memory_find(ptr) != NULL;
}

enum weir_err weir_graph_mem_free(void *ptr)
{
    struct weir_graph_memory *m = weir_graph_memory_find(ptr);

    if (!m || !m->allocated)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE,
                         "%p is memory of a graph that is not allocated now", ptr);
    set_allocated(m, false);
    return WEIR_OK;
}

void weir_graph_mem_usage(int device, struct weir_graph_mem_usage *out)
{
    const struct weir_graph_memory_count *c = count_of(device);

    weir_lock_acquire(&weir_core.graphs.memory_lock);
    *out = (struct weir_graph_mem_usage){c->used, c->used_high, c->reserved, c->reserved_high};
    weir_lock_release(&weir_core.graphs.memory_lock);
}

void weir_graph_mem_reset_high(int device, bool used, bool reserved)
{
    struct weir_graph_memory_count *c = count_of(device);

    weir_lock_acquire(&weir_core.graphs.memory_lock);
    if (used)
        c->used_high = c->used;
    if (reserved)
        c->reserved_high = c->reserved;
    weir_lock_release(&weir_core.graphs.memory_lock);
}

void weir_graph_mem_trim(int device)
{
    struct weir_graph_memory_count *c = count_of(device);

    weir_lock_acquire(&weir_core.graphs.memory_lock);
    c->reserved = c->used;
    weir_lock_release(&weir_core.graphs.memory_lock);
}
