/* What benches over the public API share. Each round of a measurement returns ns per item; printed
 * is the median of ROUNDS rounds behind one that does not count, and the best.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_BENCH_MEASURE_H
#define WEIR_BENCH_MEASURE_H

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 15 };

static inline double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline void check(cudaError_t err, int line)
{
    if (err != cudaSuccess) {
        fprintf(stderr, "line %d: %s\n", line, cudaGetErrorName(err));
        exit(1);
    }
}
#define CHECK(call) check(call, __LINE__)

static inline int compare(const void *x, const void *y)
{
    double p = *(const double *)x, q = *(const double *)y;

    return p < q ? -1 : p > q;
}

static inline void measure(const char *name, double (*round)(void))
{
    double t[ROUNDS];

    round();
    for (int i = 0; i < ROUNDS; i++)
        t[i] = round();
    qsort(t, ROUNDS, sizeof *t, compare);
    printf("%-28s %9.1f ns  (best %.1f)\n", name, t[ROUNDS / 2], t[0]);
}

#endif
