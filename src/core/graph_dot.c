/* Pictures of graphs in the DOT language.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "core/graph_int.h"
#include "core/graph_state.h"

/* cudaGraphDebugDotFlags' numbers. */
#define DOT_VERBOSE     0x1u
#define DOT_TYPES       0x2u /* of the runtime */
#define DOT_KERNEL      0x4u
#define DOT_MEMCPY      0x8u
#define DOT_MEMSET      0x10u
#define DOT_HOST        0x20u
#define DOT_EVENT       0x40u
#define DOT_ATTRIBUTES  0x200u
#define DOT_HANDLES     0x400u
#define DOT_MEMOPS      0x2000u
#define DOT_TOPOLOGY    0x4000u
#define DOT_CONDITIONAL 0x8000u

static const char *const kinds[WEIR_NODE_KIND_COUNT] = {"kernel",
                                                        "memcpy",
                                                        "memset",
                                                        "host",
                                                        "child graph",
                                                        "empty",
                                                        "event wait",
                                                        "event record",
                                                        "semaphore signal",
                                                        "semaphore wait",
                                                        "memory allocation",
                                                        "memory free",
                                                        "batch memory operation",
                                                        "conditional"};

/* The runtime API's names; it has none for batches of memory operations. */
static const char *const types[WEIR_NODE_KIND_COUNT] = {"cudaGraphNodeTypeKernel",
                                                        "cudaGraphNodeTypeMemcpy",
                                                        "cudaGraphNodeTypeMemset",
                                                        "cudaGraphNodeTypeHost",
                                                        "cudaGraphNodeTypeGraph",
                                                        "cudaGraphNodeTypeEmpty",
                                                        "cudaGraphNodeTypeWaitEvent",
                                                        "cudaGraphNodeTypeEventRecord",
                                                        "cudaGraphNodeTypeExtSemaphoreSignal",
                                                        "cudaGraphNodeTypeExtSemaphoreWait",
                                                        "cudaGraphNodeTypeMemAlloc",
                                                        "cudaGraphNodeTypeMemFree",
                                                        "CU_GRAPH_NODE_TYPE_BATCH_MEM_OP",
                                                        "cudaGraphNodeTypeConditional"};

/* Details are lines of a label, ended by \l. */
static void print_kernel(FILE *f, const struct weir_node_kernel *k, uint32_t flags)
{
    const struct weir_launch_config *c = &k->config;

    fprintf(f, "%s\\l", k->function->name);
    if (flags & (DOT_KERNEL | DOT_VERBOSE))
        fprintf(
            f,
            "grid %ux%ux%u, block %ux%ux%u, %zu bytes of shared memory\\l%u bytes of arguments\\l",
            c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2],
            c->dynamic_shared_bytes, k->param_bytes);
    if (flags & (DOT_ATTRIBUTES | DOT_VERBOSE))
        fprintf(f, "priority %d, cooperative %d\\l", k->priority, c->cooperative);
}

static void print_copy(FILE *f, const struct weir_copy *c)
{
    static const char *const names[] = {"host to host", "host to device", "device to host",
                                        "device to device", "default"};

    fprintf(f, "%s, %zu x %zu x %zu bytes\\lfrom %p (pitch %zu) to %p (pitch %zu)\\l",
            names[c->kind], c->width, c->height, c->depth, c->src, c->src_pitch, c->dst,
            c->dst_pitch);
}

static void print_memops(FILE *f, const struct weir_memop_batch *b)
{
    static const char *const names[] = {"",        "wait 32",  "write 32", "",
                                        "wait 64", "write 64", "barrier"};

    for (unsigned i = 0; i < b->count; i++)
        fprintf(f, "%s, %#" PRIx64 ", value %" PRIu64 ", flags %#x\\l", names[b->ops[i].kind],
                b->ops[i].address, b->ops[i].value, b->ops[i].flags);
}

static void print_details(FILE *f, const struct weir_node *n, uint32_t flags)
{
    static const char *const conditionals[] = {"if", "while", "switch"};
    uint32_t all = flags & DOT_VERBOSE ? ~0u : flags;

    switch (weir_node_kind(n)) {
    case WEIR_NODE_KERNEL:
        print_kernel(f, &n->kernel, flags);
        break;
    case WEIR_NODE_MEMCPY:
        if (all & DOT_MEMCPY)
            print_copy(f, &n->copy);
        break;
    case WEIR_NODE_MEMSET:
        if (all & DOT_MEMSET)
            fprintf(f, "%p = %#x, %zu x %zu bytes, elements of %u\\l", n->fill.dst, n->fill.value,
                    n->fill.width, n->fill.height, n->fill.element_bytes);
        break;
    case WEIR_NODE_HOST:
        if (all & DOT_HOST)
            fprintf(f, "fn %#" PRIxPTR ", userData %p\\l", (uintptr_t)n->host.fn, n->host.user);
        break;
    case WEIR_NODE_EVENT_WAIT:
    case WEIR_NODE_EVENT_RECORD:
        if (all & DOT_EVENT)
            fprintf(f, "event %p\\l", (void *)n->event);
        break;
    case WEIR_NODE_MEM_ALLOC:
    case WEIR_NODE_MEM_FREE:
        fprintf(f, "%p, %zu bytes\\l", n->memory->ptr, n->memory->bytes);
        break;
    case WEIR_NODE_BATCH_MEM_OP:
        if (all & DOT_MEMOPS)
            print_memops(f, &n->memops);
        break;
    case WEIR_NODE_CONDITIONAL:
        if (all & DOT_CONDITIONAL)
            fprintf(f, "%s, handle %#" PRIx64 ", %u bodies\\l", conditionals[n->conditional.kind],
                    n->conditional.handle, n->conditional.size);
        break;
    default:
        break;
    }
    if (all & DOT_HANDLES)
        fprintf(f, "handle %p\\l", (const void *)n);
}

static void print_graph(FILE *f, const struct weir_graph *g, uint32_t flags);

static void print_body(FILE *f, const struct weir_node *n, const struct weir_graph *body,
                       uint32_t flags)
{
    fprintf(f, "subgraph cluster_%" PRIu64 " {\nlabel=\"graph %" PRIu64 "\"\n", body->id, body->id);
    print_graph(f, body, flags);
    fputs("}\n", f);
    if (body->m.first)
        fprintf(f, "n%" PRIu64 " -> n%" PRIu64 " [style=dotted,arrowhead=none]\n", n->id,
                weir_node_of(body->m.first)->id);
}

static void print_node(FILE *f, const struct weir_node *n, uint32_t flags)
{
    fprintf(f, "n%" PRIu64 " [shape=box,label=\"%s\\l", n->id, kinds[n->m.kind]);
    if (flags & (DOT_TYPES | DOT_VERBOSE))
        fprintf(f, "%s\\l", types[n->m.kind]);
    if (flags & (DOT_TOPOLOGY | DOT_VERBOSE))
        fprintf(f, "node %" PRIu64 ", %u before it, %u behind it\\l", n->id, n->m.in.count,
                n->m.out.count);
    print_details(f, n, flags);
    fputs("\"]\n", f);
    if (n->m.kind == WEIR_NODE_GRAPH)
        print_body(f, n, n->child, flags);
    for (unsigned i = 0; n->m.kind == WEIR_NODE_CONDITIONAL && i < n->conditional.size; i++)
        print_body(f, n, n->conditional.bodies[i], flags);
}

static void print_edge(FILE *f, const struct weir_node *from, const struct weir_model_edge *e,
                       uint32_t flags)
{
    const struct weir_edge_data *d = &e->data;

    fprintf(f, "n%" PRIu64 " -> n%" PRIu64, from->id, weir_node_of(e->node)->id);
    if (d->type == WEIR_EDGE_PROGRAMMATIC)
        fputs(" [style=dashed]", f);
    else if (d->from_port == WEIR_PORT_LAUNCHED)
        fputs(" [style=dashed,color=gray]", f);
    if (flags & (DOT_TOPOLOGY | DOT_VERBOSE) && (d->type || d->from_port))
        fprintf(f, " [label=\"type %u, port %u\"]", d->type, d->from_port);
    fputc('\n', f);
}

static void print_graph(FILE *f, const struct weir_graph *g, uint32_t flags)
{
    for (const struct weir_model_node *m = g->m.first; m; m = m->next)
        print_node(f, weir_node_of(m), flags);
    for (const struct weir_model_node *m = g->m.first; m; m = m->next)
        for (uint32_t i = 0; i < m->out.count; i++)
            print_edge(f, weir_node_of(m), &m->out.items[i], flags);
}

enum weir_err weir_graph_dot(struct weir_graph *g, const char *path, uint32_t flags)
{
    FILE *f = fopen(path, "w");
    bool good;

    if (!f)
        return WEIR_FAIL(WEIR_ERR_OPERATING_SYSTEM, "%s cannot be written", path);
    weir_graphs_lock();
    fprintf(f, "digraph graph_%" PRIu64 " {\n", g->id);
    print_graph(f, g, flags);
    fputs("}\n", f);
    weir_graphs_unlock();
    good = !ferror(f);
    if (fclose(f) != 0)
        good = false;
    return good ? WEIR_OK : WEIR_FAIL(WEIR_ERR_OPERATING_SYSTEM, "%s cannot be written", path);
}
