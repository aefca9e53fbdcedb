/* Graphs against a second implementation, a matrix of who is before whom written from the rules'
 * text: every digraph of up to 4 nodes with its edges added one by one, then random ones of up to
 * 24 nodes with edges and nodes coming and going. Compared: what is refused, the order, cycles, the
 * nodes above a set, the comparison of two graphs; and runs of kernels that begin early. Usage:
 * graphs [SEED]. Rules: GRA-001 to GRA-004, GRA-020, ORD-032 to ORD-034.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/dependent.h"
#include "model/graph.h"

enum { MAX = 24 };

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #cond);                     \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static uint64_t rng = 1;
static long live, checks;
static bool refuse;

static unsigned pick(unsigned n)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return (unsigned)(rng % n);
}

static void *counted_alloc(void *ctx, size_t bytes)
{
    (void)ctx;
    if (refuse)
        return NULL;
    live++;
    return malloc(bytes);
}

static void counted_free(void *ctx, void *p)
{
    (void)ctx;
    live--;
    free(p);
}

static const struct weir_model_memory memory = {counted_alloc, counted_free, NULL};

/* ---- the naive side ---- */

struct naive {
    int count;
    bool present[MAX], edge[MAX][MAX];
    struct weir_edge_data data[MAX][MAX];
    int kind[MAX];
};

static bool path(const struct naive *n, int from, int to, int steps)
{
    for (int i = 0; i < n->count && steps > 0; i++)
        if (n->edge[from][i] && (i == to || path(n, i, to, steps - 1)))
            return true;
    return false;
}

/* Transitive closure by squaring, quick enough for the random part. */
static void closure(const struct naive *n, bool reach[MAX][MAX])
{
    memcpy(reach, n->edge, sizeof n->edge);
    for (int k = 0; k < n->count; k++)
        for (int i = 0; i < n->count; i++)
            for (int j = 0; j < n->count; j++)
                reach[i][j] = reach[i][j] || (reach[i][k] && reach[k][j]);
}

/* GRA-004, written anew. */
static bool data_good(struct weir_edge_data d, int from, int to)
{
    bool kernel = from == WEIR_NODE_KERNEL;

    if (d.to_port || d.type > 1 || d.from_port > 2)
        return false;
    if (d.type == 1)
        return kernel && to == WEIR_NODE_KERNEL && d.from_port != 0;
    return d.from_port == 0 || (d.from_port == 2 && kernel);
}

/* ---- comparing ---- */

static void compare(struct weir_model_graph *g, struct weir_model_node *nodes,
                    const struct naive *n)
{
    struct weir_model_node *order[MAX], *at = NULL;
    bool reach[MAX][MAX], cyclic = false;
    size_t present = 0, edges = 0, roots = 0, special = 0;
    enum weir_graph_result r;

    checks++;
    closure(n, reach);
    for (int i = 0; i < n->count; i++) {
        bool root = n->present[i];

        present += n->present[i];
        cyclic = cyclic || reach[i][i];
        for (int k = 0; k < n->count; k++) {
            edges += n->edge[i][k];
            root = root && !n->edge[k][i];
            special += n->edge[i][k] && (n->data[i][k].type || n->data[i][k].from_port);
            if (n->present[i] && n->present[k])
                CHECK((weir_model_edges_find(&nodes[i].out, &nodes[k]) != NULL) == n->edge[i][k]);
        }
        roots += root;
    }
    CHECK(g->node_count == present && g->edge_count == edges);
    CHECK(g->root_count == roots && g->special_edges == special);
    r = weir_model_graph_order(g, order, &at); /* GRA-001, GRA-002 */
    CHECK((r == WEIR_GRAPH_CYCLE) == cyclic);
    if (cyclic) {
        CHECK(at != NULL);
        return;
    }
    for (size_t i = 0; i < present; i++) {
        CHECK(order[i]->place == i);
        for (size_t k = 0; k < i; k++) /* nothing later is before it */
            CHECK(!reach[order[i] - nodes][order[k] - nodes]);
    }
}

static void compare_above(struct weir_model_graph *g, struct weir_model_node *nodes,
                          const struct naive *n)
{
    struct weir_model_edges set;
    bool reach[MAX][MAX], want[MAX] = {0};

    closure(n, reach);
    weir_model_edges_init(&set);
    CHECK(weir_model_edges_reserve(&set, MAX, &memory));
    for (int i = 0; i < n->count; i++) {
        if (!n->present[i] || pick(4))
            continue;
        set.items[set.count++] = (struct weir_model_edge){.node = &nodes[i]};
        want[i] = true;
        for (int k = 0; k < n->count; k++)
            want[k] = want[k] || reach[k][i];
    }
    CHECK(weir_model_graph_mark_above(g, &set));
    for (int i = 0; i < n->count; i++)
        CHECK(!n->present[i] || (nodes[i].place == 1) == want[i]);
    weir_model_edges_finish(&set, &memory);
}

/* ---- every small digraph ---- */

static void digraph(int count, unsigned edges)
{
    struct weir_model_node nodes[4];
    struct weir_model_graph g;
    struct naive n = {.count = count};
    unsigned bit = 0;

    weir_model_graph_init(&g, &memory);
    for (int i = 0; i < count; i++) {
        n.present[i] = true;
        CHECK(weir_model_node_add(&g, &nodes[i], WEIR_NODE_EMPTY, NULL, 0) == WEIR_GRAPH_OK);
    }
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < count; k++, bit++) {
            struct weir_model_node *from = &nodes[i], *to = &nodes[k];
            enum weir_graph_result r;

            if (!(edges >> bit & 1))
                continue;
            r = weir_model_edges_add(&g, &from, &to, NULL, 1);
            CHECK((r == WEIR_GRAPH_OK) == (i != k)); /* GRA-003 */
            if (i != k) {
                n.edge[i][k] = true;
                CHECK(path(&n, i, k, 4));
                CHECK(weir_model_edges_add(&g, &from, &to, NULL, 1) == WEIR_GRAPH_INVALID);
            }
        }
    }
    compare(&g, nodes, &n);
    weir_model_graph_finish(&g);
    CHECK(live == 0);
}

/* ---- random ones ---- */

static struct weir_edge_data random_data(void)
{
    struct weir_edge_data d = {0};

    if (pick(3) == 0) {
        d.from_port = (uint8_t)pick(4);
        d.to_port = (uint8_t)(pick(8) == 0);
        d.type = (uint8_t)pick(3);
    }
    return d;
}

static void random_add(struct weir_model_graph *g, struct weir_model_node *nodes, struct naive *n)
{
    static const enum weir_node_kind kinds[] = {WEIR_NODE_KERNEL, WEIR_NODE_MEMSET,
                                                WEIR_NODE_EMPTY};
    struct weir_model_edge deps[4];
    int who[4], i = n->count;
    enum weir_node_kind kind = kinds[pick(3)];
    unsigned count = pick(5);
    bool good = true;

    for (unsigned k = 0; k < count; k++) {
        if (i == 0) {
            count = 0;
            break;
        }
        who[k] = (int)pick((unsigned)i);
        deps[k] = (struct weir_model_edge){.node = &nodes[who[k]]};
        good = good && n->present[who[k]];
        for (unsigned j = 0; j < k; j++)
            good = good && who[j] != who[k];
    }
    refuse = pick(16) == 0;
    switch (weir_model_node_add(g, &nodes[i], kind, deps, count)) {
    case WEIR_GRAPH_OK:
        CHECK(good);
        n->count++;
        n->present[i] = true;
        n->kind[i] = (int)kind;
        for (unsigned k = 0; k < count; k++) {
            n->edge[who[k]][i] = true;
            n->data[who[k]][i] = (struct weir_edge_data){0};
        }
        break;
    case WEIR_GRAPH_NO_MEMORY:
        CHECK(refuse);
        break;
    default:
        CHECK(!good);
        nodes[i].graph = NULL;
    }
    refuse = false;
}

/* Several edges in one call: all or none. */
static void random_edges(struct weir_model_graph *g, struct weir_model_node *nodes, struct naive *n)
{
    struct weir_model_node *from[3], *to[3];
    struct weir_edge_data data[3];
    struct naive after = *n;
    unsigned count = 1 + pick(3);
    bool good = true, add = pick(3) != 0, with = pick(2);
    enum weir_graph_result r;

    for (unsigned k = 0; k < count; k++) {
        int a = (int)pick((unsigned)n->count), b = (int)pick((unsigned)n->count);

        from[k] = &nodes[a];
        to[k] = &nodes[b];
        data[k] = with ? random_data() : (struct weir_edge_data){0};
        if (add) {
            good = good && n->present[a] && n->present[b] && a != b && !after.edge[a][b] &&
                   data_good(data[k], n->kind[a], n->kind[b]);
            after.data[a][b] = data[k];
        } else {
            good = good && n->present[a] && n->present[b] && after.edge[a][b] &&
                   (!with || memcmp(&data[k], &n->data[a][b], sizeof data[k]) == 0);
        }
        after.edge[a][b] = add;
    }
    r = add ? weir_model_edges_add(g, from, to, with ? data : NULL, count)
            : weir_model_edges_remove(g, from, to, with ? data : NULL, count);
    CHECK((r == WEIR_GRAPH_OK) == good);
    if (good)
        *n = after;
}

static void random_remove(struct weir_model_node *nodes, struct naive *n)
{
    int i = (int)pick((unsigned)n->count);

    if (!n->present[i])
        return;
    weir_model_node_remove(&nodes[i]);
    n->present[i] = false;
    for (int k = 0; k < n->count; k++)
        n->edge[i][k] = n->edge[k][i] = false;
}

/* GRA-020: a copy is the same; after one more edge or another kind it is not. */
static void random_twin(struct weir_model_graph *g, const struct naive *n)
{
    static struct weir_model_node twins[MAX];
    struct weir_model_node *at, *map[MAX];
    struct weir_model_graph h;
    int count = 0;
    bool kind;

    weir_model_graph_init(&h, &memory);
    for (struct weir_model_node *m = g->first; m; m = m->next) {
        m->place = (uint32_t)count;
        map[count] = m;
        CHECK(weir_model_node_add(&h, &twins[count++], (enum weir_node_kind)m->kind, NULL, 0) ==
              WEIR_GRAPH_OK);
    }
    for (int i = 0; i < count; i++) {
        for (uint32_t k = 0; k < map[i]->out.count; k++) {
            struct weir_model_node *from = &twins[i],
                                   *to = &twins[map[i]->out.items[k].node->place];

            CHECK(weir_model_edges_add(&h, &from, &to, &map[i]->out.items[k].data, 1) ==
                  WEIR_GRAPH_OK);
        }
    }
    CHECK(weir_model_graph_same(g, &h, &at, &kind));
    if (count > 1) {
        int i = (int)pick((unsigned)count);

        twins[i].kind = twins[i].kind == WEIR_NODE_HOST ? WEIR_NODE_EMPTY : WEIR_NODE_HOST;
        CHECK(!weir_model_graph_same(g, &h, &at, &kind) && at == &twins[i] && kind);
        twins[i].kind = map[i]->kind;
        if (twins[i].in.count) {
            struct weir_model_node *from = twins[i].in.items[0].node, *to = &twins[i];

            CHECK(weir_model_edges_remove(&h, &from, &to, NULL, 1) == WEIR_GRAPH_OK);
            CHECK(!weir_model_graph_same(g, &h, &at, &kind) && at == &twins[i] && !kind);
        }
        weir_model_node_remove(&twins[count - 1]);
        CHECK(!weir_model_graph_same(g, &h, &at, &kind) && !at);
    }
    weir_model_graph_finish(&h);
    (void)n;
}

static void random_graph(void)
{
    static struct weir_model_node nodes[MAX];
    struct naive n = {0};
    struct weir_model_graph g;

    memset(nodes, 0, sizeof nodes);
    weir_model_graph_init(&g, &memory);
    for (int step = 0; step < 60; step++) {
        unsigned what = pick(8);

        if (n.count < 2 || (what < 4 && n.count < MAX))
            random_add(&g, nodes, &n);
        else if (what < 7)
            random_edges(&g, nodes, &n);
        else if (pick(3) == 0)
            random_remove(nodes, &n);
        compare(&g, nodes, &n);
    }
    compare_above(&g, nodes, &n);
    random_twin(&g, &n);
    weir_model_graph_finish(&g);
    CHECK(live == 0);
}

/* ---- runs (GRA-001, GRA-004) ---- */

/* A run as one who obeys the model would do it: edges that hold are counted down. */
struct run {
    struct naive n; /* edges lead from lower to higher numbers */
    struct weir_model_dependent d[MAX];
    int pending[MAX]; /* edges to it that do not hold */
    bool begun[MAX], all_begun[MAX], triggered[MAX], ended[MAX];
};

static enum weir_edge_port port_of(const struct run *r, int from, int to)
{
    size_t edges = 0;

    for (int i = 0; i < r->n.count; i++)
        edges += r->n.edge[i][to];
    return weir_model_edge_lets(r->n.kind[from] == WEIR_NODE_KERNEL &&
                                    r->n.kind[to] == WEIR_NODE_KERNEL,
                                r->n.data[from][to], edges);
}

static void settle(struct run *r, int i)
{
    if (!weir_model_dependent_settle(&r->d[i]))
        return;
    for (int k = 0; k < r->n.count; k++) {
        if (!r->n.edge[i][k])
            continue;
        if (port_of(r, i, k) == WEIR_PORT_END)
            r->pending[k]--;
        else
            settle(r, k);
    }
}

static void reach(struct run *r, int i, enum weir_moment moment)
{
    weir_model_dependent_reach(&r->d[i], moment);
    for (int k = 0; k < r->n.count; k++)
        if (r->n.edge[i][k] && weir_model_port_holds(port_of(r, i, k), moment))
            r->pending[k]--;
}

static void end(struct run *r, int i)
{
    r->ended[i] = true;
    for (int k = 0; k < r->n.count; k++)
        if (r->n.edge[i][k] && port_of(r, i, k) != WEIR_PORT_END &&
            !weir_model_dependent_holds(&r->d[i], port_of(r, i, k)))
            r->pending[k]--;
    settle(r, i);
}

/* The rule's text: does this edge give leave to begin early? */
static bool gives_leave(const struct naive *n, int from, int to)
{
    struct weir_edge_data d = n->data[from][to];

    for (int i = 0; i < n->count; i++)
        if (i != from && n->edge[i][to])
            return false;
    return (d.type == 1 || d.from_port == 2) && n->kind[from] == WEIR_NODE_KERNEL &&
           n->kind[to] == WEIR_NODE_KERNEL;
}

/* Complete: ended, and so is all that it might have overtaken. */
static bool is_complete(const struct run *r, int i)
{
    if (!r->ended[i])
        return false;
    for (int k = 0; k < i; k++)
        if (r->n.edge[k][i] && gives_leave(&r->n, k, i) && !is_complete(r, k))
            return false;
    return true;
}

static void compare_run(const struct run *r)
{
    for (int i = 0; i < r->n.count; i++) {
        bool may = true, over = true;

        for (int k = 0; k < i; k++) {
            if (!r->n.edge[k][i])
                continue;
            if (!gives_leave(&r->n, k, i)) {
                may = may && is_complete(r, k);
                continue;
            }
            may = may && (r->ended[k] ||
                          (r->n.data[k][i].from_port == 1 ? r->triggered[k] : r->all_begun[k]));
            over = over && is_complete(r, k);
        }
        CHECK((r->pending[i] == 0) == may);
        CHECK(r->ended[i] || weir_model_dependent_passes(&r->d[i]) == over);
        CHECK(weir_model_dependent_settled(&r->d[i]) == is_complete(r, i));
    }
}

static void random_run(void)
{
    static const struct weir_edge_data kinds[] = {
        {0}, {.type = 1, .from_port = 1}, {.type = 1, .from_port = 2}, {.from_port = 2}};
    static struct run r;
    int left;

    memset(&r, 0, sizeof r);
    r.n.count = left = 2 + (int)pick(9);
    for (int i = 0; i < r.n.count; i++) {
        r.n.kind[i] = pick(8) ? WEIR_NODE_KERNEL : WEIR_NODE_MEMSET;
        for (int k = 0; k < i; k++) {
            r.n.edge[k][i] = k == i - 1 ? pick(4) != 0 : pick(8) == 0;
            r.pending[i] += r.n.edge[k][i];
            if (r.n.kind[i] == WEIR_NODE_KERNEL && r.n.kind[k] == WEIR_NODE_KERNEL)
                r.n.data[k][i] = kinds[pick(4)];
        }
    }
    for (int i = 0; i < r.n.count; i++) {
        uint32_t sources = 0;

        for (int k = 0; k < i; k++)
            sources += r.n.edge[k][i] && port_of(&r, k, i) != WEIR_PORT_END;
        weir_model_dependent_reset(&r.d[i], sources);
    }
    while (left) {
        int i = (int)pick((unsigned)r.n.count);
        bool kernel = r.n.kind[i] == WEIR_NODE_KERNEL;

        compare_run(&r);
        if (r.ended[i] || r.pending[i])
            continue;
        if (!r.begun[i]) {
            r.begun[i] = true;
        } else if (kernel && !r.all_begun[i]) {
            r.all_begun[i] = true;
            reach(&r, i, WEIR_MOMENT_BEGUN);
        } else if (kernel && !r.triggered[i] && pick(2)) {
            r.triggered[i] = true;
            reach(&r, i, WEIR_MOMENT_TRIGGERED);
        } else {
            end(&r, i);
            left--;
        }
    }
    compare_run(&r);
    checks++;
}

/* ORD-033, ORD-034 */
static void launch_events(void)
{
    static const struct {
        int in_front, type, port, rule;
    } want[] = {[WEIR_LAUNCH_COMPLETION] = {1, 0, 2, 33},
                [WEIR_LAUNCH_PROGRAMMATIC] = {0, 1, 1, 34},
                [WEIR_LAUNCH_PROGRAMMATIC_AT_START] = {0, 1, 2, 34}};

    for (int i = 0; i < 3; i++) {
        struct weir_launch_event_rule r = weir_model_launch_event_rule((enum weir_launch_event)i);

        CHECK(r.in_front == want[i].in_front && r.promised_in_front && r.rule == want[i].rule);
        CHECK(r.edge.type == want[i].type && r.edge.from_port == want[i].port && !r.edge.to_port);
        CHECK(data_good(r.edge, WEIR_NODE_KERNEL, WEIR_NODE_KERNEL));
    }
}

int main(int argc, char **argv)
{
    launch_events();
    if (argc > 1)
        rng = strtoull(argv[1], NULL, 0) | 1;
    for (int count = 1; count <= 4; count++)
        for (unsigned edges = 0; edges < 1u << (count * count); edges++)
            digraph(count, edges);
    for (int i = 0; i < 1200; i++)
        random_graph();
    for (int i = 0; i < 20000; i++)
        random_run();
    printf("%ld graphs compared\n", checks);
    return 0;
}
