/* Tests of the order of a launch's nodes (model/reach.h), bodies of conditional nodes in bodies:
 * random graphs, played through time by time, against the closure of what single rules say of each
 * two executions. Rules: GRA-001, GRA-040, GRA-041.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "check/shadow.h"
#include "support/random.h"

enum { ROUNDS = 3000, NODES = 4, TIMES = 3, DEPTH = 3, BODIES = 2, MAX_RUNS = 200, MAX = 400 };

struct body {
    bool edge[NODES][NODES]; /* single ones */
    struct weir_reach *reach;
    struct body *bodies[NODES][BODIES]; /* of conditional ones; NULL: none */
    uint32_t time;
};

/* A node as it ran once: a leaf. */
static struct {
    struct weir_order order;
    struct weir_shadow shadow;
    struct body body[MAX_RUNS];
    int body_count;
    struct weir_actor *leaf[MAX];
    bool before[MAX][MAX];
    int count;
    struct weir_order_stamp launch;
    struct weir_inside_at path[DEPTH + 1];
    uint64_t rng;
} t;

static uint32_t rnd(uint32_t below)
{
    return random_next(&t.rng) % below;
}

static struct body *make_body(int depth)
{
    struct body *b = &t.body[t.body_count++];

    assert_in_range(t.body_count, 0, MAX_RUNS);
    b->reach = weir_calloc(1, sizeof *b->reach + NODES * sizeof b->reach->bits[0]);
    assert_non_null(b->reach);
    *b->reach = (struct weir_reach){.refs = 1, .nodes = NODES, .words = 1};
    for (int i = NODES - 1; i >= 0; i--) {
        for (int k = i + 1; k < NODES; k++) {
            b->edge[i][k] = rnd(3) == 0;
            if (b->edge[i][k])
                b->reach->bits[i] |= 1ull << k | b->reach->bits[k];
        }
        for (uint32_t n = depth < DEPTH && rnd(4) == 0 ? 1 + rnd(BODIES) : 0; n > 0; n--)
            b->bodies[i][n - 1] = make_body(depth + 1);
    }
    return b;
}

static void add_leaf(int depth)
{
    struct weir_order_stamp stamp;
    struct weir_actor *a;

    assert_in_range(t.count, 0, MAX - 1);
    weir_order_stamp_copy(&stamp, &t.launch);
    a = weir_actor_create(&t.shadow, &stamp);
    assert_non_null(a);
    a->reach = t.path[0].reach;
    a->reach->refs++;
    a->node = t.path[0].node;
    if (depth) {
        a->inside = weir_calloc(1, sizeof *a->inside + (size_t)depth * sizeof a->inside->at[0]);
        assert_non_null(a->inside);
        a->inside->count = (uint32_t)depth;
        memcpy(a->inside->at, t.path + 1, (size_t)depth * sizeof t.path[0]);
        for (int i = 0; i < depth; i++)
            a->inside->at[i].reach->refs++;
    }
    t.leaf[t.count++] = a;
}

static void all_before(int from, int from_end, int to, int to_end)
{
    for (int i = from; i < from_end; i++)
        for (int k = to; k < to_end; k++)
            t.before[i][k] = true;
}

/* Adds the leaves of one time of the body, and what its edges say of them. */
static void run_body(struct body *b, int depth)
{
    int begin[NODES], end[NODES];

    b->time++;
    for (int i = 0; i < NODES; i++) {
        struct body **bodies = b->bodies[i];

        t.path[depth] =
            (struct weir_inside_at){.reach = b->reach, .time = b->time, .node = (uint32_t)i};
        begin[i] = t.count;
        if (!bodies[0])
            add_leaf(depth);
        /* A loop, an if, a switch: one body after the other is all that they do. */
        for (uint32_t n = bodies[0] ? rnd(TIMES + 1) : 0; n > 0 && t.count < MAX / 2; n--) {
            int first = t.count;

            run_body(bodies[bodies[1] ? rnd(BODIES) : 0], depth + 1);
            all_before(begin[i], first, first, t.count);
            t.path[depth] =
                (struct weir_inside_at){.reach = b->reach, .time = b->time, .node = (uint32_t)i};
        }
        end[i] = t.count;
        for (int k = 0; k < i; k++)
            if (b->edge[k][i])
                all_before(begin[k], end[k], begin[i], end[i]);
    }
}

/* What is between two that have no leaves of their own (an empty loop) orders nothing in t.before:
 * edges are closed over nodes first. */
static void close_edges(struct body *b)
{
    for (int m = 0; m < NODES; m++)
        for (int i = 0; i < m; i++)
            for (int k = m + 1; k < NODES; k++)
                b->edge[i][k] = b->edge[i][k] || (b->edge[i][m] && b->edge[m][k]);
}

static void close_over(void)
{
    for (int m = 0; m < t.count; m++)
        for (int i = 0; i < m; i++)
            for (int k = m + 1; t.before[i][m] && k < t.count; k++)
                t.before[i][k] = t.before[i][k] || t.before[m][k];
}

static void graphs_are_ordered_as_they_run(void **state)
{
    static const struct weir_model_memory memory = {weir_alloc_for, weir_free_for, NULL};
    long ordered = 0, beside = 0;

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        memset(&t, 0, sizeof t);
        t.rng = 77 + (uint64_t)round;
        weir_order_init(&t.order, &memory);
        weir_shadow_init(&t.shadow, &t.order);
        weir_order_lane_begin(&t.order, 1, 0, WEIR_STREAM_NONBLOCKING);
        weir_order_submit(&t.order, 1, &t.launch);
        make_body(0);
        for (int i = 0; i < t.body_count; i++)
            close_edges(&t.body[i]);
        run_body(&t.body[0], 0);
        close_over();
        for (int k = 0; k < t.count; k++) {
            for (int i = 0; i < k; i++) {
                bool before = weir_actor_before(t.leaf[i], t.leaf[k]);

                assert_int_equal(before, t.before[i][k]);
                *(before ? &ordered : &beside) += 1;
            }
        }
        for (int i = 0; i < t.count; i++)
            weir_actor_drop(&t.shadow, t.leaf[i]);
        for (int i = 0; i < t.body_count; i++) {
            assert_int_equal(t.body[i].reach->refs, 1);
            weir_reach_drop(t.body[i].reach);
        }
        weir_order_stamp_drop(&t.order, &t.launch);
        weir_shadow_finish(&t.shadow);
        weir_order_finish(&t.order);
    }
    assert_in_range(ordered, ROUNDS, INT64_MAX);
    assert_in_range(beside, ROUNDS, INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphs_are_ordered_as_they_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
