/* Memory of graphs: a node's allocation has one address for life; a launch makes it usable, a free
 * node, cudaFree or cudaFreeAsync ends that, which may be later than the end of the graph and its
 * instances. The bytes are there all the time. What of them counts
 * as used is kept as a GPU reports it: each allocation of a launch is backed by a piece of whole 32
 * MiB, a piece is used again once nothing holds it and the launch that had it is over or ordered
 * before, and is given back by trimming (oracle graph_exec.graphmem_*).
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/graph_int.h"
#include "core/graph_state.h"

#define PIECE ((uint64_t)32 << 20)

/* Physical memory, as far as a program sees it. Guarded by memory_lock. */
struct weir_graph_piece {
    struct weir_graph_piece *next;
    struct weir_graph_memory *holder; /* not freed: nobody else may have it */
    struct weir_model_point last;     /* of the last use */
    uint64_t bytes, launch;
    int device;
};

static struct weir_graph_memory_count *count_of(int device)
{
    return &weir_core.graphs.usage[device < WEIR_GRAPH_MEMORY_DEVICES ? device : 0];
}

static void count_locked(const struct weir_graph_piece *p, bool on)
{
    struct weir_graph_memory_count *c = count_of(p->device);

    c->used = on ? c->used + p->bytes : c->used - p->bytes;
    c->used_high = WEIR_MAX(c->used_high, c->used);
    c->reserved_high = WEIR_MAX(c->reserved_high, c->used);
}

static void let_go_locked(struct weir_graph_memory *m)
{
    for (struct weir_graph_piece *p = weir_core.graphs.pieces; p; p = p->next)
        if (p->holder == m)
            p->holder = NULL;
}

/* May a launch in s have it? */
static bool is_free_for(const struct weir_graph_piece *p, const struct weir_graph_memory *m,
                        const struct weir_stream *s, uint64_t launch)
{
    if (p->device != m->device || p->bytes < m->bytes || p->launch == launch)
        return false;
    if (p->holder)
        return p->holder == m;
    return p->last.stream == &s->m || weir_model_point_holds(&p->last);
}

/* Backs m for a launch. Without memory for the books it is not counted. */
static void back_locked(struct weir_graph_memory *m, const struct weir_stream *s,
                        struct weir_model_point point, uint64_t launch)
{
    struct weir_graph_piece *p = weir_core.graphs.pieces;

    while (p && !is_free_for(p, m, s, launch))
        p = p->next;
    if (!p) {
        p = weir_calloc(1, sizeof *p);
        if (!p)
            return;
        p->bytes = WEIR_ALIGN_UP((uint64_t)m->bytes, PIECE);
        p->device = m->device;
        p->next = weir_core.graphs.pieces;
        weir_core.graphs.pieces = p;
        count_locked(p, true);
    }
    p->launch = launch;
    p->last = point;
    p->holder = m->live ? m : NULL;
}

/* ---- life ---- */

static uint64_t epoch_of(int device)
{
    return atomic_load_explicit(&weir_core.contexts[device].epoch, memory_order_relaxed);
}

/* Nobody knows it any more. */
static void dispose(struct weir_graph_memory *m)
{
    if (m->epoch == epoch_of(m->device))
        (void)!weir_mem_free(WEIR_MEM_KIND_DEVICE, m->ptr); /* it is ours */
    weir_free(m);
}

/* Memory that was freed in a stream's order, once the stream is there. */
static void reap(void)
{
    struct weir_graph_memory **link = &weir_core.graphs.leaving, *m, *gone = NULL;

    weir_lock_acquire(&weir_core.graphs.memory_lock);
    while ((m = *link) != NULL) {
        if (!weir_model_point_holds(&m->until)) {
            link = &m->next;
            continue;
        }
        *link = m->next;
        m->next = gone;
        gone = m;
    }
    weir_lock_release(&weir_core.graphs.memory_lock);
    for (; gone; gone = m) {
        m = gone->next;
        dispose(gone);
    }
}

/* True: it was the last reference, and the caller has m now. */
static bool unref_locked(struct weir_graph_memory *m)
{
    if (--m->refs > 0)
        return false;
    let_go_locked(m);
    weir_map_remove(&weir_core.graphs.allocations, (uintptr_t)m->ptr);
    atomic_fetch_sub_explicit(&weir_core.graphs.allocation_count, 1, memory_order_relaxed);
    return true;
}

static void allocate_locked(struct weir_graph_memory *m, bool on)
{
    if (m->allocated == on)
        return;
    m->allocated = on;
    if (on)
        m->refs++;
    else
        m->refs--; /* never the last: a node's is there */
}

enum weir_err weir_graph_memory_create(int device, size_t bytes, struct weir_graph_memory **out)
{
    struct weir_graph_state *s = &weir_core.graphs;
    struct weir_graph_memory *m = weir_calloc(1, sizeof *m);
    enum weir_err err;
    bool put;

    if (!m)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a memory node");
    reap();
    *m = (struct weir_graph_memory){
        .bytes = bytes, .device = device, .refs = 1, .live = true, .epoch = epoch_of(device)};
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
    bool last;

    weir_lock_acquire(&weir_core.graphs.memory_lock);
    last = unref_locked(m);
    weir_lock_release(&weir_core.graphs.memory_lock);
    if (last)
        dispose(m);
}

/* ---- launches ---- */

static bool may_allocate(struct weir_graph *g)
{
    for (struct weir_model_node *m = g->m.first; m; m = m->next) {
        struct weir_node *n = weir_node_of(m);

        if (m->kind == WEIR_NODE_GRAPH && !may_allocate(n->child))
            return false;
        if (m->kind == WEIR_NODE_MEM_ALLOC && n->memory->allocated)
            return false;
    }
    return true;
}

enum weir_err weir_graph_memory_check(struct weir_exec *x)
{
    if (WEIR_LIKELY(!x->graph->memory_nodes) || (x->flags & WEIR_EXEC_AUTO_FREE) ||
        may_allocate(x->graph))
        return WEIR_OK;
    return WEIR_FAIL(WEIR_ERR_INVALID_VALUE,
                     "memory of the graph's last launch was not freed (GRA-030)");
}

/* GRA-030: allocations that the graph does not free stay, its frees end those of others. */
static void launch_locked(struct weir_graph *g, const struct weir_stream *s,
                          struct weir_model_point point, uint64_t launch)
{
    for (struct weir_model_node *m = g->m.first; m; m = m->next) {
        struct weir_node *n = weir_node_of(m);

        if (m->kind == WEIR_NODE_GRAPH) {
            launch_locked(n->child, s, point, launch);
        } else if (m->kind == WEIR_NODE_MEM_ALLOC) {
            if (n->memory->launch != launch)
                back_locked(n->memory, s, point, launch);
            n->memory->launch = launch;
            allocate_locked(n->memory, n->memory->live);
        } else if (m->kind == WEIR_NODE_MEM_FREE && n->memory->launch != launch) {
            allocate_locked(n->memory, false);
            let_go_locked(n->memory);
        }
    }
}

void weir_graph_memory_launch(struct weir_exec *x, const struct weir_stream *s)
{
    if (WEIR_LIKELY(!x->graph->memory_nodes))
        return;
    weir_lock_acquire(&weir_core.graphs.memory_lock);
    launch_locked(x->graph, s, x->last, weir_graph_next_id());
    weir_lock_release(&weir_core.graphs.memory_lock);
}

/* ---- calls ---- */

bool weir_graph_mem_is(const void *ptr)
{
    return weir_graph_memory_find(ptr) != NULL;
}

enum weir_err weir_graph_mem_free(void *ptr, struct weir_stream *s)
{
    struct weir_graph_memory *m;
    bool was = false, last = false;

    reap();
    weir_lock_acquire(&weir_core.graphs.memory_lock);
    m = weir_map_get(&weir_core.graphs.allocations, (uintptr_t)ptr);
    if (m && m->allocated) {
        was = true;
        m->allocated = false;
        let_go_locked(m);
        last = unref_locked(m);
    }
    if (last && s) {
        m->until = (struct weir_model_point){
            &s->m, atomic_load_explicit(&s->m.last, memory_order_relaxed)};
        m->next = weir_core.graphs.leaving;
        weir_core.graphs.leaving = m;
        last = false;
    }
    weir_lock_release(&weir_core.graphs.memory_lock);
    if (last)
        dispose(m);
    return was ? WEIR_OK
               : WEIR_FAIL(WEIR_ERR_INVALID_VALUE,
                           "%p is memory of a graph that is not allocated now", ptr);
}

void weir_graph_mem_usage(int device, struct weir_graph_mem_usage *out)
{
    const struct weir_graph_memory_count *c = count_of(device);

    weir_lock_acquire(&weir_core.graphs.memory_lock);
    *out = (struct weir_graph_mem_usage){c->used, c->used_high, c->used, c->reserved_high};
    weir_lock_release(&weir_core.graphs.memory_lock);
}

void weir_graph_mem_reset_high(int device, bool used, bool reserved)
{
    struct weir_graph_memory_count *c = count_of(device);

    weir_lock_acquire(&weir_core.graphs.memory_lock);
    if (used)
        c->used_high = c->used;
    if (reserved)
        c->reserved_high = c->used;
    weir_lock_release(&weir_core.graphs.memory_lock);
}

void weir_graph_mem_trim(int device)
{
    struct weir_graph_piece **link, *p;

    reap();
    weir_lock_acquire(&weir_core.graphs.memory_lock);
    for (link = &weir_core.graphs.pieces; (p = *link);) {
        if (p->device != device || p->holder || !weir_model_point_holds(&p->last)) {
            link = &p->next;
            continue;
        }
        *link = p->next;
        count_locked(p, false);
        weir_free(p);
    }
    weir_lock_release(&weir_core.graphs.memory_lock);
}
