/* The shapes of bench/graph.c for other task graph libraries: N empty tasks as a chain,
 * independent, as SIDE chains, and as layers of SIDE tasks, each behind two of the layer before it.
 * A program builds each once, runs it again and again, and prints ns a task in the form of
 * bench/measure.h.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_BENCH_SHAPES_H
#define WEIR_BENCH_SHAPES_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { N = 10000, SIDE = 100, ROUNDS = 15, SHAPES = 4 };

static const char *const shape_names[SHAPES] = {"replay_chain_node", "replay_independent_node",
                                                "replay_100_chains_node", "replay_100_layers_node"};

/* Those before task i; how many (0 to 2). */
static inline int shape_deps(int shape, int i, int deps[2])
{
    int above = (i / SIDE - 1) * SIDE;

    if (shape == 0 && i > 0) {
        deps[0] = i - 1;
        return 1;
    }
    if (shape == 2 && i >= SIDE) {
        deps[0] = i - SIDE;
        return 1;
    }
    if (shape == 3 && i >= SIDE) {
        deps[0] = above + i % SIDE;
        deps[1] = above + (i + 1) % SIDE;
        return 2;
    }
    return 0;
}

static inline double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline int compare_times(const void *x, const void *y)
{
    double p = *(const double *)x, q = *(const double *)y;

    return (p > q) - (p < q);
}

static inline void print_times(int shape, double *t)
{
    qsort(t, ROUNDS, sizeof *t, compare_times);
    printf("%-28s %9.1f ns  (best %.1f)\n", shape_names[shape], t[ROUNDS / 2] / N, t[0] / N);
}

#endif
