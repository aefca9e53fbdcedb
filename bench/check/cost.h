/* What work costs, by the clock and in CPU time of the whole process.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_BENCH_CHECK_COST_H
#define WEIR_BENCH_CHECK_COST_H

#include <cuda_runtime.h>
#include <stdio.h>
#include <time.h>

static double seconds(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Prints `name wall_ms cpu_ms`: the cheapest of some rounds, each behind what it submitted. */
template <class F> static void print_cost(const char *name, int rounds, F work)
{
    double wall = 1e9, cpu = 1e9;

    for (int i = 0; i < rounds; i++) {
        double w = seconds(CLOCK_MONOTONIC), c = seconds(CLOCK_PROCESS_CPUTIME_ID);

        work();
        cudaDeviceSynchronize();
        w = seconds(CLOCK_MONOTONIC) - w;
        c = seconds(CLOCK_PROCESS_CPUTIME_ID) - c;
        wall = w < wall ? w : wall;
        cpu = c < cpu ? c : cpu;
    }
    printf("%-12s %10.3f %10.3f\n", name, wall * 1e3, cpu * 1e3);
    fflush(stdout);
}

#endif
