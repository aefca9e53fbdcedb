/* The order by guaranteed rules (model/order.h) against the transitive closure of the naive model's
 * single rules, for every pair of operations of many small random programs: streams of all classes
 * on two devices, events recorded anew, copies between devices, host synchronisations of events,
 * streams and devices, host functions, the program's own doings, operations behind others besides
 * (launches of one graph), memory of a pool that is given away again, lanes that grow late, memory
 * that fails. Then the races (check/shadow.h): all of them touch bytes, in some order of time that
 * they allow, and what is told of each access is compared with all pairs, byte by byte. Usage:
 * order [PROGRAMS [SEED]]. Rules: ORD-001 to ORD-007, ORD-011, ORD-012, ORD-020 to ORD-024,
 * ORD-031, ORD-040, ORD-041, ORD-043, ORD-044, GRA-001, GRA-011, GRA-050. A launch of a graph is to
 * the naive model a fork into streams of the nodes' own, and their join.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bits.h"
#include "check/shadow.h"
#include "model/naive.h"
#include "model/order.h"
#include "support/random.h"

enum { DEVICES = 2, STREAMS = 9, EVENTS = 4, OPS = 96, STEPS = 32 };
/* Of an operation; bytes lie on both sides of the border of two pages. Some are a pool's. */
enum { TOUCHES = 2, BYTES = 192, BASE = 7 * 4096 - BYTES / 2, BLOCKS = 2, BLOCK_BYTES = 32 };
enum { HOST = STREAMS, LAUNCHES = 2, NODES = 3, MAX_STREAMS = HOST + 1 + LAUNCHES * NODES };

static const enum weir_stream_class class_of[STREAMS] = {
    WEIR_STREAM_LEGACY,   WEIR_STREAM_LEGACY,      WEIR_STREAM_BLOCKING,
    WEIR_STREAM_BLOCKING, WEIR_STREAM_NONBLOCKING, WEIR_STREAM_NONBLOCKING,
    WEIR_STREAM_BLOCKING, WEIR_STREAM_NONBLOCKING, WEIR_STREAM_PER_THREAD,
};
static const int device_of[STREAMS] = {0, 1, 0, 0, 0, 0, 1, 1, 1};

static struct {
    struct weir_order o;
    struct naive n;
    struct naive_stream streams[MAX_STREAMS];
    struct naive_op ops[OPS];
    int pending[OPS];
    struct weir_order_stamp stamp[OPS];       /* of the naive model's operations */
    struct weir_order_stamp early[OPS];       /* of kernels that may begin early */
    struct weir_order_stamp ways[OPS][NODES]; /* of nodes: the records behind them */
    int way_count[OPS];
    int launch_of[OPS]; /* an operation of the naive model that is part of the n-th launch */
    int node_of[OPS];   /* which of its nodes; -1: none, but what holds them together */
    bool edges[LAUNCHES + 1][NODES][NODES]; /* [k][i]: node i is before node k */
    int launches;
    uint64_t past[OPS][OPS / 64 + 1]; /* closure: bit i of j's: i is before j */
    bool before_early[OPS][OPS];      /* the same, of that part of the second */
    bool host[OPS];
    bool behind[OPS]; /* the next operation comes behind it besides */
    struct weir_order_stamp event[EVENTS];
    struct naive_event nevent[EVENTS];
    struct touch {
        int op;
        bool early; /* in the part of it that may begin early */
        enum weir_access kind;
        unsigned begin, end;
    } touches[OPS * TOUCHES];
    int touch_count, at;
    bool atomics; /* some touches are */
    long races;
    bool told;                                              /* a race of the touch `at` */
    int block_touched[BLOCKS][OPS], block_touchers[BLOCKS]; /* by operations */
    uint64_t rng;
    long live;
    bool may_fail, failed;
} t;

#define CHECK(x)                                                                                   \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x);                                \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static uint32_t rnd(uint32_t below)
{
    return random_next(&t.rng) % below;
}

static void *test_alloc(void *ctx, size_t bytes)
{
    (void)ctx;
    if (t.may_fail && rnd(8) == 0) {
        t.failed = true;
        return NULL;
    }
    t.live++;
    return malloc(bytes);
}

static void test_free(void *ctx, void *p)
{
    (void)ctx;
    t.live--;
    free(p);
}

static bool before(int i, int j)
{
    return weir_bit_has(t.past[j], (size_t)i);
}

/* The newest operation's row. */
static void close_over(int j)
{
    uint64_t *past = t.past[j];

    for (int i = j - 1; i >= 0; i--) {
        if (weir_bit_has(past, (size_t)i))
            continue;
        if (!t.host[i] && !t.behind[i] && !naive_direct(&t.n, i, j))
            continue;
        weir_bit_put(past, (size_t)i);
        for (unsigned w = 0; w < OPS / 64 + 1; w++)
            past[w] |= t.past[i][w];
    }
    memset(t.behind, 0, sizeof t.behind);
}

static void touch(int op, bool early, enum weir_access kind, unsigned begin, unsigned end)
{
    t.touches[t.touch_count++] = (struct touch){op, early, kind, begin, end};
    for (unsigned b = begin / BLOCK_BYTES; b < BLOCKS && b * BLOCK_BYTES < end; b++)
        t.block_touched[b][t.block_touchers[b]++] = op;
}

/* What the newest operation does, perhaps. */
static void touch_some(int op)
{
    for (uint32_t n = rnd(TOUCHES + 1); n > 0; n--) {
        unsigned begin = rnd(BYTES / 8) * 8 + rnd(2) * rnd(8);
        unsigned end = begin + 1 + rnd(rnd(4) ? 12 : BYTES);

        enum weir_access kind = rnd(2) ? WEIR_ACCESS_WRITE : WEIR_ACCESS_READ;

        /* What the program may have learnt from an atomic is its own affair: no verdict. */
        if (t.atomics && rnd(2))
            kind = WEIR_ACCESS_ATOMIC;
        if (t.atomics && t.ops[op].stream == HOST)
            continue;
        touch(op, t.early[op].lane && rnd(2), kind, begin, WEIR_MIN(end, BYTES));
    }
}

static void submit(int stream)
{
    int j = naive_submit(&t.n, stream);

    weir_order_submit(&t.o, (uint32_t)stream + 1, &t.stamp[j]);
    close_over(j);
    touch_some(j);
}

/* A block of a pool: freed in the order of a stream, or given away again, behind all that it was
 * before. */
static void use_pool(int stream)
{
    struct weir_order_stamp after = {0};
    unsigned b = rnd(BLOCKS);
    bool given = rnd(2);
    int j;

    for (int k = 0; k < t.block_touchers[b] && given; k++) {
        int i = t.block_touched[b][k];

        if (t.launch_of[i]) /* parts have more ways than a stamp */
            given = false;
    }
    for (int k = 0; k < t.block_touchers[b] && given; k++) {
        int i = t.block_touched[b][k];

        weir_order_clock_add(&t.o, &after.base, &t.stamp[i]);
        t.behind[i] = true;
    }
    j = naive_submit(&t.n, stream);
    weir_order_submit_after(&t.o, (uint32_t)stream + 1, &after, 1, &t.stamp[j]);
    weir_order_stamp_drop(&t.o, &after);
    close_over(j);
    touch(j, false, WEIR_ACCESS_WRITE, b * BLOCK_BYTES, (b + 1) * BLOCK_BYTES);
}

/* Behind others besides, by what they stand in or by themselves: launches of one executable graph,
 * memory of a pool that is given away again. */
static void submit_behind(int stream)
{
    struct weir_order_stamp after = {0};
    bool whole = rnd(2);
    int picked = -1, j;

    for (uint32_t n = t.n.op_count ? 1 + rnd(2) : 0; n > 0; n--) {
        int i = (int)rnd((uint32_t)t.n.op_count);

        if (!t.stamp[i].lane || t.launch_of[i]) /* parts have more ways than a stamp */
            continue;
        if (!whole)
            weir_order_clock_add(&t.o, &after.base, &t.stamp[i]);
        t.behind[i] = t.behind[i] || !whole || picked < 0;
        picked = picked < 0 ? i : picked;
    }
    j = naive_submit(&t.n, stream);
    weir_order_submit_after(&t.o, (uint32_t)stream + 1,
                            whole && picked >= 0 ? &t.stamp[picked] : &after, 1, &t.stamp[j]);
    weir_order_stamp_drop(&t.o, &after);
    close_over(j);
    touch_some(j);
}

/* What j stands behind from its beginning, and what its stream follows since. */
static void close_over_early(int j)
{
    int stop = naive_stands_behind(&t.n, j);

    for (int i = 0; i < j; i++)
        t.before_early[i][j] = t.host[i] || (stop >= 0 && (i == stop || before(i, stop)));
    for (int w = stop + 1; w <= j; w++) {
        for (int k = 0; k < w && t.ops[w].stream == t.ops[j].stream; k++) {
            if (t.ops[k].stream == t.ops[j].stream || !naive_direct(&t.n, k, w))
                continue;
            t.before_early[k][j] = true;
            for (int i = 0; i < k; i++)
                t.before_early[i][j] = t.before_early[i][j] || before(i, k);
        }
    }
}

static void launch(int stream)
{
    bool asks = rnd(3) > 0;
    int j = naive_launch(&t.n, stream, asks);

    weir_order_submit_kernel(&t.o, (uint32_t)stream + 1, asks, &t.stamp[j], &t.early[j]);
    close_over(j);
    close_over_early(j);
    touch_some(j);
}

static void submit_peer(int device)
{
    int other = 1 - device, j = naive_submit_peer(&t.n, device, other);

    weir_order_submit_peer(&t.o, (uint32_t)device + 1, (uint32_t)other + 1, &t.stamp[j]);
    close_over(j);
    touch_some(j);
}

static void record(int e, int stream)
{
    int j = naive_submit(&t.n, stream);
    bool between = rnd(2);

    t.ops[j].aside = !between;
    close_over(j);
    naive_record(&t.n, &t.nevent[e], stream);
    weir_order_record(&t.o, (uint32_t)stream + 1, between, &t.event[e]);
    weir_order_stamp_copy(&t.stamp[j], &t.event[e]);
}

static void wait_event(int e, int stream)
{
    int j = naive_wait(&t.n, stream, &t.nevent[e]);
    struct weir_order_stamp stamp;
    bool is_op = weir_order_wait(&t.o, (uint32_t)stream + 1, &t.event[e], &stamp);

    CHECK(t.o.failed || is_op == (j >= 0));
    if (j < 0) {
        weir_order_stamp_drop(&t.o, &stamp);
        return;
    }
    t.stamp[j] = stamp;
    t.ops[j].aside = true;
    close_over(j);
}

/* Everything before what the host knows is known as well. */
static void host_closes(void)
{
    for (int j = t.n.op_count - 1; j >= 0; j--) {
        for (int i = 0; i < j && t.host[j]; i++)
            t.host[i] = t.host[i] || before(i, j);
    }
}

/* A host function begins: the host knows what is in front of it. */
static void call_host(void)
{
    int j = t.n.op_count ? (int)rnd((uint32_t)t.n.op_count) : -1;

    if (j < 0 || !t.stamp[j].lane || t.launch_of[j])
        return;
    weir_order_host_saw_before(&t.o, &t.stamp[j]);
    for (int i = 0; i < j; i++)
        t.host[i] = t.host[i] || before(i, j);
    host_closes();
}

/* The program itself does something, which what it submits from then on follows. */
static void host_acts(void)
{
    int j = naive_submit(&t.n, HOST);

    weir_order_host_acts(&t.o, HOST + 1, &t.stamp[j]);
    close_over(j);
    t.host[j] = true;
    touch_some(j);
}

/* ---- launches of graphs whose nodes wait for events and record some ---- */

struct test_node {
    enum { WORKS, WAITS, RECORDS } kind;
    int event, op, stream;
    bool after[NODES]; /* edges, closed */
    struct naive_event end;
    struct weir_order_stamp stamp; /* of its event */
};

static int naive_part(int op)
{
    t.launch_of[op] = t.launches;
    t.node_of[op] = -1;
    close_over(op);
    return op;
}

static void naive_follow(int stream, const struct naive_event *e)
{
    int op = naive_wait(&t.n, stream, e);

    if (op >= 0)
        (void)naive_part(op);
}

static void naive_nodes(struct test_node *nodes, int stream)
{
    struct naive_event fork, was[EVENTS];

    memcpy(was, t.nevent, sizeof was);
    (void)naive_part(naive_submit(&t.n, stream));
    naive_record(&t.n, &fork, stream);
    for (int i = 0; i < NODES; i++) {
        struct test_node *n = &nodes[i];

        n->stream = naive_stream_add(&t.n, device_of[stream], NAIVE_NONBLOCKING);
        naive_follow(n->stream, &fork);
        for (int k = 0; k < i; k++)
            if (n->after[k])
                naive_follow(n->stream, &nodes[k].end);
        if (n->kind == WAITS)
            naive_follow(n->stream, &was[n->event]);
        n->op = naive_part(naive_submit(&t.n, n->stream));
        t.node_of[n->op] = i;
        memcpy(t.edges[t.launches][i], n->after, sizeof n->after);
        naive_record(&t.n, &n->end, n->stream);
        if (n->kind == RECORDS)
            t.nevent[n->event] = n->end;
    }
    for (int i = 0; i < NODES; i++)
        naive_follow(stream, &nodes[i].end);
}

static void part_of(const struct test_node *nodes, int i, const struct weir_order_stamp *launch,
                    struct weir_order_stamp *part)
{
    weir_order_stamp_copy(part, launch);
    for (int k = 0; k <= i; k++)
        if (nodes[k].kind == WAITS && (k == i || nodes[i].after[k]))
            weir_order_part_waits(&t.o, part, &nodes[k].stamp);
}

static void launch_nodes(struct test_node *nodes, int stream)
{
    struct weir_order_stamp launch;

    for (int i = 0; i < NODES; i++)
        if (nodes[i].kind == WAITS)
            weir_order_stamp_copy(&nodes[i].stamp, &t.event[nodes[i].event]);
    weir_order_submit(&t.o, (uint32_t)stream + 1, &launch);
    for (int i = 0; i < NODES; i++) {
        part_of(nodes, i, &launch, &t.stamp[nodes[i].op]);
        if (nodes[i].kind != RECORDS)
            continue;
        weir_order_lane_begin(&t.o, (uint32_t)nodes[i].stream + 1, device_of[stream],
                              WEIR_STREAM_NONBLOCKING);
        weir_order_part_records(&t.o, (uint32_t)nodes[i].stream + 1, &t.stamp[nodes[i].op],
                                &nodes[i].stamp);
        weir_order_stamp_drop(&t.o, &t.event[nodes[i].event]);
        weir_order_stamp_copy(&t.event[nodes[i].event], &nodes[i].stamp);
        for (int k = 0; k <= i; k++)
            if (k == i || nodes[i].after[k])
                weir_order_stamp_copy(&t.ways[nodes[k].op][t.way_count[nodes[k].op]++],
                                      &nodes[i].stamp);
    }
    for (int i = 0; i < NODES; i++)
        weir_order_part_waits(&t.o, &launch, &nodes[i].stamp);
    weir_order_part_ends(&t.o, &launch);
    weir_order_stamp_drop(&t.o, &launch);
    for (int i = 0; i < NODES; i++)
        weir_order_stamp_drop(&t.o, &nodes[i].stamp);
}

static void launch_graph(int stream)
{
    struct test_node nodes[NODES] = {0};

    if (t.launches == LAUNCHES)
        return;
    t.launches++;
    for (int i = 0; i < NODES; i++) {
        nodes[i].kind = rnd(3);
        nodes[i].event = (int)rnd(EVENTS);
        for (int k = i - 1; k >= 0; k--) {
            nodes[i].after[k] = nodes[i].after[k] || rnd(2);
            for (int m = 0; m < k && nodes[i].after[k]; m++)
                nodes[i].after[m] = nodes[i].after[m] || nodes[k].after[m];
        }
    }
    naive_nodes(nodes, stream);
    launch_nodes(nodes, stream);
    for (int i = 0; i < NODES; i++)
        touch_some(nodes[i].op);
}

static bool is_before(int i, const struct weir_order_stamp *s)
{
    bool is = weir_order_before(&t.stamp[i], s);

    for (int k = 0; k < t.way_count[i]; k++) {
        const struct weir_order_stamp *w = &t.ways[i][k];

        is = is || (w->lane == s->lane && w->seq == s->seq) || weir_order_before(w, s);
    }
    return is;
}

static bool is_known(int i)
{
    bool known = weir_order_host_knows(&t.o, &t.stamp[i]);

    for (int k = 0; k < t.way_count[i]; k++)
        known = known || weir_order_host_knows(&t.o, &t.ways[i][k]);
    return known;
}

/* Parts of one launch are compared by the graph's edges, and not all have a stamp. */
static bool is_compared(int i, int j)
{
    return i != j && t.stamp[i].lane && t.stamp[j].lane &&
           (t.launch_of[i] != t.launch_of[j] || !t.launch_of[i]);
}

static void synchronise(void)
{
    uint32_t how = rnd(4);

    if (how == 0) {
        int device = (int)rnd(DEVICES);

        weir_order_host_saw_device(&t.o, device);
        for (int i = 0; i < t.n.op_count; i++)
            t.host[i] = t.host[i] || naive_device_sync_waits(&t.n, device, i);
    } else if (how == 1) {
        int stream = (int)rnd(STREAMS);

        weir_order_host_saw_lane(&t.o, (uint32_t)stream + 1);
        for (int i = 0; i < t.n.op_count; i++)
            t.host[i] = t.host[i] || naive_stream_sync_waits(&t.n, stream, i);
    } else {
        uint32_t e = rnd(EVENTS);

        weir_order_host_saw(&t.o, &t.event[e]);
        for (int i = 0; i < t.n.op_count && t.nevent[e].recorded; i++)
            t.host[i] = t.host[i] || (i == t.nevent[e].time - 1);
    }
    host_closes();
}

static void step(void)
{
    int stream = (int)rnd(STREAMS), e = (int)rnd(EVENTS);

    switch (rnd(24)) {
    case 0:
    case 1:
        record(e, stream);
        break;
    case 2:
    case 3:
        wait_event(e, stream);
        break;
    case 4:
        submit_peer((int)rnd(DEVICES));
        break;
    case 5:
        synchronise();
        break;
    case 6:
    case 7:
    case 8:
    case 9:
    case 10:
        launch(stream);
        break;
    case 11:
        launch_graph(stream);
        break;
    case 12:
        call_host();
        break;
    case 13:
        host_acts();
        break;
    case 14:
        submit_behind(stream);
        break;
    case 15:
    case 16:
        use_pool(stream);
        break;
    default:
        submit(stream);
    }
}

static void compare_early(int j)
{
    const struct weir_order_stamp *early = t.early[j].lane ? &t.early[j] : &t.stamp[j];

    for (int i = 0; i < t.n.op_count && t.ops[j].kernel; i++) {
        if (is_compared(i, j) && is_before(i, early) != t.before_early[i][j]) {
            fprintf(stderr,
                    "operation %d (stream %d) and the early part of %d (stream %d): "
                    "naive %d\n",
                    i, t.ops[i].stream, j, t.ops[j].stream, t.before_early[i][j]);
            exit(1);
        }
        CHECK(!is_compared(i, j) || weir_order_before(early, &t.stamp[i]) == before(j, i));
    }
}

/* What a lane follows already comes before its next operation. */
static void compare_next(void)
{
    bool follows[OPS];

    for (int s = 0; s < STREAMS; s++) {
        struct weir_order_stamp next;

        for (int i = 0; i < t.n.op_count; i++)
            follows[i] = weir_order_lane_follows(&t.o, (uint32_t)s + 1, &t.stamp[i]);
        weir_order_submit(&t.o, (uint32_t)s + 1, &next);
        for (int i = 0; i < t.n.op_count; i++) {
            CHECK(!follows[i] || weir_order_before(&t.stamp[i], &next));
            CHECK(follows[i] || t.stamp[i].lane != (uint32_t)s + 1);
        }
        weir_order_stamp_drop(&t.o, &next);
    }
}

static void compare(void)
{
    for (int j = 0; j < t.n.op_count; j++) {
        compare_early(j);
        for (int i = 0; i < t.n.op_count; i++) {
            if (is_compared(i, j) && is_before(i, &t.stamp[j]) != before(i, j)) {
                fprintf(stderr, "operations %d (stream %d) and %d (stream %d): naive %d\n", i,
                        t.ops[i].stream, j, t.ops[j].stream, before(i, j));
                exit(1);
            }
        }
        if (t.stamp[j].lane && is_known(j) != t.host[j]) {
            fprintf(stderr, "operation %d (stream %d, peer %d) known: naive %d\n", j,
                    t.ops[j].stream, t.ops[j].peer_device, t.host[j]);
            exit(1);
        }
    }
}

/* ---- races ---- */

static bool is_before_touch(const struct touch *a, const struct touch *b)
{
    return b->early ? t.before_early[a->op][b->op] : before(a->op, b->op);
}

static bool races(const struct touch *a, const struct touch *b)
{
    bool writes = a->kind != b->kind || a->kind == WEIR_ACCESS_WRITE;
    if (!writes || a->op == b->op || a->begin >= b->end || b->begin >= a->end)
        return false;
    if (t.ops[a->op].stream == HOST && t.ops[b->op].stream == HOST)
        return false; /* threads of the program's own */
    return !is_before_touch(a, b) && !is_before_touch(b, a);
}

static void raced(void *ctx, const struct weir_race *r)
{
    const struct touch *now = &t.touches[t.at];
    struct weir_actor **actors = ctx;
    bool found = false;

    for (int i = 0; i < t.at; i++)
        found = found || (actors[i] == r->before && t.touches[i].kind == r->before_kind &&
                          r->begin - BASE >= t.touches[i].begin &&
                          r->begin - BASE < t.touches[i].end && races(&t.touches[i], now));
    CHECK(found && r->now == actors[t.at] && r->now_kind == now->kind);
    CHECK(r->begin - BASE >= now->begin && r->end - BASE <= now->end);
    t.told = true;
}

static bool comes_first(const struct touch *a, const struct touch *b)
{
    return a->op == b->op ? a->early && !b->early : is_before_touch(a, b);
}

/* In some order of time that goes. */
static void mix(void)
{
    for (int n = 0; n < t.touch_count; n++) {
        int pick = n + (int)rnd((uint32_t)(t.touch_count - n));
        struct touch first;

        for (int k = n; k < t.touch_count; k++) {
            if (comes_first(&t.touches[k], &t.touches[pick])) {
                pick = k; /* operations are before later ones only: this ends */
                k = n - 1;
            }
        }
        first = t.touches[pick];
        t.touches[pick] = t.touches[n];
        t.touches[n] = first;
    }
}

static struct weir_reach *reach_of(int launch)
{
    struct weir_reach *r = calloc(1, sizeof *r + NODES * sizeof *r->bits);

    *r = (struct weir_reach){.refs = 1, .nodes = NODES, .words = 1};
    for (int k = 0; k < NODES; k++)
        for (int i = 0; i < k; i++)
            if (t.edges[launch][k][i])
                weir_bit_put(&r->bits[i], (size_t)k);
    return r;
}

static struct weir_actor *actor_of(struct weir_shadow *s, struct weir_reach *const *reach, int op,
                                   bool early)
{
    struct weir_order_stamp stamp;
    struct weir_actor *a;

    weir_order_stamp_copy(&stamp, early ? &t.early[op] : &t.stamp[op]);
    a = weir_actor_create(s, &stamp);
    CHECK(a);
    a->host = t.ops[op].stream == HOST;
    a->early = early;
    if (!t.launch_of[op])
        return a;
    a->reach = reach[t.launch_of[op]];
    a->reach->refs++;
    a->node = (uint32_t)t.node_of[op];
    if (t.way_count[op]) {
        a->ways =
            weir_calloc(1, sizeof *a->ways + (size_t)t.way_count[op] * sizeof a->ways->stamps[0]);
        a->ways->count = (uint32_t)t.way_count[op];
        for (int k = 0; k < t.way_count[op]; k++)
            weir_order_stamp_copy(&a->ways->stamps[k], &t.ways[op][k]);
    }
    return a;
}

static void compare_races(void)
{
    struct weir_actor *actors[OPS * TOUCHES], *of[OPS][2] = {0};
    struct weir_reach *reach[LAUNCHES + 1] = {0};
    struct weir_shadow shadow;

    weir_shadow_init(&shadow, &t.o);
    shadow.race = raced;
    shadow.ctx = actors;
    for (int l = 1; l <= t.launches; l++)
        reach[l] = reach_of(l);
    mix();
    for (t.at = 0; t.at < t.touch_count; t.at++) {
        const struct touch *now = &t.touches[t.at];
        bool wanted = false;

        if (!of[now->op][now->early])
            of[now->op][now->early] = actor_of(&shadow, reach, now->op, now->early);
        actors[t.at] = of[now->op][now->early];
        t.told = false;
        weir_shadow_access(&shadow, actors[t.at], now->kind, BASE + now->begin, BASE + now->end);
        for (int i = 0; i < t.at; i++)
            wanted = wanted || races(&t.touches[i], now);
        if (t.told != wanted) {
            for (int i = 0; i < t.at; i++)
                if (races(&t.touches[i], now))
                    fprintf(stderr, "operation %d (stream %d) at %u to %u, kind %d: race\n",
                            t.touches[i].op, t.ops[t.touches[i].op].stream, t.touches[i].begin,
                            t.touches[i].end, t.touches[i].kind);
            fprintf(stderr, "operation %d (stream %d), bytes %u to %u: a race %d, told %d\n",
                    now->op, t.ops[now->op].stream, now->begin, now->end, wanted, t.told);
            exit(1);
        }
        t.races += wanted;
    }
    for (int j = 0; j < t.n.op_count; j++) {
        weir_actor_drop(&shadow, of[j][0]);
        weir_actor_drop(&shadow, of[j][1]);
    }
    for (int l = 1; l <= t.launches; l++)
        weir_reach_drop(reach[l]);
    weir_shadow_finish(&shadow);
    CHECK(shadow.bytes == 0 && !shadow.failed);
}

static void program(bool may_fail)
{
    static const struct weir_model_memory memory = {test_alloc, test_free, NULL};
    uint64_t rng = t.rng;
    long races_before = t.races;

    memset(&t, 0, sizeof t);
    t.rng = rng;
    t.races = races_before;
    t.atomics = rnd(2);
    t.may_fail = may_fail;
    t.n.streams = t.streams;
    t.n.ops = t.ops;
    t.n.pending = t.pending;
    weir_order_init(&t.o, &memory);
    for (int s = 0; s < STREAMS; s++) {
        naive_stream_add(&t.n, device_of[s], (enum naive_class)class_of[s]);
        weir_order_lane_begin(&t.o, (uint32_t)s + 1, device_of[s], class_of[s]);
    }
    naive_stream_add(&t.n, 0, NAIVE_NONBLOCKING);
    weir_order_lane_begin(&t.o, HOST + 1, 0, WEIR_STREAM_NONBLOCKING);
    for (int i = 0; i < STEPS; i++)
        step();
    if (may_fail)
        CHECK(t.o.failed == t.failed);
    if (!t.o.failed)
        compare();
    if (!may_fail) {
        compare_races();
        compare_next();
    }
    for (int i = 0; i < t.n.op_count; i++) {
        weir_order_stamp_drop(&t.o, &t.stamp[i]);
        weir_order_stamp_drop(&t.o, &t.early[i]);
        for (int k = 0; k < t.way_count[i]; k++)
            weir_order_stamp_drop(&t.o, &t.ways[i][k]);
    }
    for (int e = 0; e < EVENTS; e++)
        weir_order_stamp_drop(&t.o, &t.event[e]);
    weir_order_finish(&t.o);
    CHECK(t.live == 0);
}

static void submit_in(uint32_t lane, struct weir_order_stamp *out)
{
    weir_order_submit(&t.o, lane, out);
}

static bool may(const struct weir_order_stamp *a, const struct weir_order_stamp *b)
{
    return weir_order_may_be_before(&t.o, a, b);
}

/* Waits for values that nobody knows the writer of. */
static void values(void)
{
    const struct weir_model_memory memory = {test_alloc, test_free, NULL};
    struct weir_order_stamp other, before, behind, further, later;

    weir_order_init(&t.o, &memory);
    for (uint32_t i = 1; i <= 3; i++)
        weir_order_lane_begin(&t.o, i, 0, WEIR_STREAM_NONBLOCKING);
    submit_in(1, &other);
    submit_in(2, &before);
    CHECK(!may(&other, &before));
    weir_order_wait_open(&t.o, 2);
    submit_in(2, &behind);
    weir_order_submit_after(&t.o, 3, &behind, 1, &further);
    submit_in(1, &later);
    CHECK(may(&other, &behind) && may(&later, &behind) && may(&other, &further));
    CHECK(!may(&behind, &other) && !may(&other, &before) && !may(&behind, &further));
    weir_order_stamp_drop(&t.o, &later);
    weir_order_submit_after(&t.o, 1, &behind, 1, &later); /* behind the wait itself */
    CHECK(!may(&later, &further) && !may(&further, &later));
    weir_order_wait_inside(&t.o, &later);
    CHECK(may(&further, &later) && may(&later, &later));
    weir_order_stamp_drop(&t.o, &other);
    weir_order_stamp_drop(&t.o, &before);
    weir_order_stamp_drop(&t.o, &behind);
    weir_order_stamp_drop(&t.o, &further);
    weir_order_stamp_drop(&t.o, &later);
    weir_order_finish(&t.o);
    CHECK(t.live == 0);
}

static void begin(uint32_t lanes)
{
    const struct weir_model_memory memory = {test_alloc, test_free, NULL};

    weir_order_init(&t.o, &memory);
    for (uint32_t i = 1; i <= lanes; i++)
        weir_order_lane_begin(&t.o, i, 0, WEIR_STREAM_NONBLOCKING);
}

static void end(struct weir_order_stamp *stamps, int count)
{
    for (int i = 0; i < count; i++)
        weir_order_stamp_drop(&t.o, &stamps[i]);
    weir_order_finish(&t.o);
    CHECK(t.live == 0);
}

static bool neither(const struct weir_order_stamp *a, const struct weir_order_stamp *b)
{
    return !may(a, b) && !may(b, a);
}

/* However many there were: what comes after those that the host has waited for is told apart. */
static void values_over(void)
{
    struct weir_order_stamp s[6];

    begin(4);
    submit_in(1, &s[0]); /* never waited for */
    for (int i = 0; i < 3 * WEIR_ORDER_OPEN_MAX; i++) {
        weir_order_wait_open(&t.o, 2 + (uint32_t)i % 2);
        if (i % 100 == 99) {
            weir_order_host_saw_lane(&t.o, 2);
            weir_order_host_saw_lane(&t.o, 3);
        }
    }
    weir_order_host_saw_lane(&t.o, 2);
    weir_order_host_saw_lane(&t.o, 3);
    submit_in(2, &s[1]);
    submit_in(4, &s[2]);
    CHECK(neither(&s[1], &s[2]) && !t.o.open_vague);
    CHECK(may(&s[0], &s[1]) && !may(&s[1], &s[0])); /* the value may have told of it */
    weir_order_wait_open(&t.o, 3);
    submit_in(3, &s[3]);
    submit_in(2, &s[4]);
    CHECK(may(&s[4], &s[3]) && !may(&s[3], &s[4]) && neither(&s[1], &s[2]));
    weir_order_wait_open(&t.o, 3);
    submit_in(3, &s[5]);
    CHECK(may(&s[2], &s[5]) && !t.o.open_vague);
    end(s, 6);
}

/* Too many that are not over: less is told, which is said, and nothing wrong. */
static void values_too_many(void)
{
    struct weir_order_stamp s[6];

    begin(5);
    submit_in(1, &s[0]);
    weir_order_wait_open(&t.o, 2);
    weir_order_submit(&t.o, 2, &s[1]);
    weir_order_submit_after(&t.o, 3, &s[1], 1, &s[2]); /* the two are behind the same wait */
    CHECK(neither(&s[1], &s[2]));
    for (int i = 1; i < WEIR_ORDER_OPEN_MAX; i++)
        weir_order_wait_open(&t.o, 2);
    submit_in(2, &s[3]);
    CHECK(neither(&s[1], &s[2]) && !t.o.open_vague);
    weir_order_wait_open(&t.o, 2);
    CHECK(t.o.open_vague && !t.o.open_lost);
    submit_in(4, &s[4]);
    weir_order_wait_open(&t.o, 2);
    weir_order_submit(&t.o, 2, &s[5]);
    CHECK(neither(&s[0], &s[4]) && may(&s[0], &s[1]) && may(&s[3], &s[5]));
    end(s, 6);
}

static void values_of_too_many_lanes(void)
{
    struct weir_order_stamp s[2];

    begin(WEIR_ORDER_OPEN_MAX + 3);
    submit_in(1, &s[0]);
    submit_in(2, &s[1]);
    for (uint32_t i = 0; i < WEIR_ORDER_OPEN_MAX; i++)
        weir_order_wait_open(&t.o, 3 + i);
    CHECK(neither(&s[0], &s[1]) && !t.o.open_vague);
    weir_order_wait_open(&t.o, 3 + WEIR_ORDER_OPEN_MAX);
    CHECK(may(&s[0], &s[1]) && t.o.open_vague); /* nobody knows any more */
    end(s, 2);
}

int main(int argc, char **argv)
{
    int programs = argc > 1 ? atoi(argv[1]) : 100000;

    t.rng = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    _Static_assert((int)WEIR_STREAM_NONBLOCKING == (int)NAIVE_NONBLOCKING, "classes");
    _Static_assert((int)WEIR_STREAM_LEGACY == (int)NAIVE_LEGACY, "classes");
    values();
    values_over();
    values_too_many();
    values_of_too_many_lanes();
    for (int i = 0; i < programs; i++)
        program(i % 16 == 15);
    CHECK(t.races > programs);
    printf("%d programs, %ld accesses that race\n", programs, t.races);
    return 0;
}
