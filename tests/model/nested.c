/* Grids that launch grids, in random programs, against the rules as they are written: a grid is
 * complete when its blocks have ended and all that it has launched is complete (ORD-101); a tail
 * begins when its grid's blocks have ended and what else that launched is complete, the tails in
 * front of it too (ORD-102), with the tails of those (ORD-103). Usage: nested [SEED].
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "model/nested.h"
#include "support/random.h"

enum { GRIDS = 60, ROUNDS = 4000, NONE = -1 };

struct grid {
    /* as the program says it */
    int parent;
    bool tail, begun, ended;
    /* of the runner */
    struct weir_model_nest nest;
    int owner; /* whose nest it is open in: not the parent's when that has handed it over */
    int first, last, next; /* tails that wait, and the list that it is in */
};

static struct {
    struct grid grids[GRIDS];
    int count, now;
    uint64_t rng;
    long begun, handed;
} t;

#define CHECK(x)                                                                                   \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "%s:%d: %s (grid %d of %d)\n", __FILE__, __LINE__, #x, t.now,          \
                    t.count);                                                                      \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* ---- the rules ---- */

static bool is_complete(int g)
{
    if (!t.grids[g].ended)
        return false;
    for (int i = g + 1; i < t.count; i++)
        if (t.grids[i].parent == g && !is_complete(i))
            return false;
    return true;
}

static bool may_begin(int g)
{
    int up = t.grids[g].parent;

    if (!t.grids[g].tail)
        return true;
    if (!t.grids[up].ended)
        return false;
    for (int i = up + 1; i < t.count; i++)
        if (i != g && t.grids[i].parent == up && (!t.grids[i].tail || i < g) && !is_complete(i))
            return false;
    return true;
}

/* ---- the runner, by the model ---- */

static void begin(int g)
{
    t.now = g;
    CHECK(may_begin(g));
    t.grids[g].begun = true;
    weir_model_nest_begin(&t.grids[g].nest);
    t.begun += t.grids[g].tail;
}

static void add(int parent)
{
    struct grid *g = &t.grids[t.count], *up = &t.grids[parent];
    int number = t.count++;

    *g = (struct grid){.parent = parent,
                       .owner = parent,
                       .tail = random_next(&t.rng) % 2,
                       .first = NONE,
                       .last = NONE,
                       .next = NONE};
    if (!g->tail) {
        weir_model_nest_submit(&up->nest);
        begin(number);
        return;
    }
    weir_model_nest_submit_tail(&up->nest);
    if (up->last == NONE)
        up->first = number;
    else
        t.grids[up->last].next = number;
    up->last = number;
}

static void hand_over(struct grid *g, struct grid *up)
{
    for (int i = g->first; i != NONE; i = t.grids[i].next)
        t.grids[i].owner = g->owner;
    weir_model_nest_hand_over(&g->nest, &up->nest);
    t.grids[g->last].next = up->first;
    up->first = g->first;
    if (up->last == NONE)
        up->last = g->last;
    t.handed++;
}

static void over(int number)
{
    struct grid *g = &t.grids[number];
    enum weir_nested_next what = weir_model_nest_over(&g->nest, 1);

    if (what == WEIR_NESTED_WAIT)
        return;
    if (what == WEIR_NESTED_TURN && !g->tail) {
        int first = g->first;

        g->first = t.grids[first].next;
        if (g->first == NONE)
            g->last = NONE;
        begin(first);
        return;
    }
    if (what == WEIR_NESTED_TURN)
        hand_over(g, &t.grids[g->owner]);
    else
        CHECK(is_complete(number));
    if (g->owner != NONE)
        over(g->owner);
}

static void program(void)
{
    t.count = 1;
    t.grids[0] = (struct grid){.parent = NONE, .owner = NONE, .first = NONE, .last = NONE};
    begin(0);
    for (;;) {
        int running[GRIDS], n = 0, g;

        for (int i = 0; i < t.count; i++)
            if (t.grids[i].begun && !t.grids[i].ended)
                running[n++] = i;
        if (!n)
            break;
        g = running[random_next(&t.rng) % (unsigned)n];
        if (t.count < GRIDS && random_next(&t.rng) % 3) {
            add(g);
            continue;
        }
        t.now = g;
        t.grids[g].ended = true;
        over(g);
    }
    for (int i = 0; i < t.count; i++)
        CHECK(t.grids[i].ended);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;

    /* The handles of device code (ORD-100). */
    for (uint64_t handle = 0; handle < 3; handle++)
        CHECK(weir_model_nested_place(handle) == WEIR_NESTED_BLOCK);
    CHECK(weir_model_nested_place(3) == WEIR_NESTED_TAIL);
    CHECK(weir_model_nested_place(4) == WEIR_NESTED_FORGET);
    CHECK(weir_model_nested_place(5) == WEIR_NESTED_NAMED);
    for (int round = 0; round < ROUNDS; round++) {
        t.rng = seed * 1000003 + (uint64_t)round;
        program();
    }
    CHECK(t.begun > ROUNDS && t.handed > ROUNDS / 4);
    printf("%d programs, %ld tails, %ld handed over\n", ROUNDS, t.begun, t.handed);
    return 0;
}
