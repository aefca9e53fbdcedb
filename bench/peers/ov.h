/* SPDX-License-Identifier: Apache-2.0
 * ov.h - shared by the runtime-overhead benches: line format  name system ns/op ok */
#ifndef OV_H
#define OV_H
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <stdint.h>
#define N_ENQ   20000
#define N_RT    2000
#define N_CHAIN 10000
#define DL      100
#define DW      100
#define DN      (DL * DW)
static inline double ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}
static inline void rep(const char *n, const char *s, double v, int ok)
{
    printf("%-16s %-18s %10.0f ns/op %s\n", n, s, v, ok < 0 ? "-" : ok ? "ok" : "WRONG");
    fflush(stdout);
}
#define BEST(var, reps, ...)                                                                       \
    do {                                                                                           \
        double b_ = 1e30;                                                                          \
        for (int r_ = 0; r_ < (reps) + 1; r_++) {                                                  \
            double t_ = ns();                                                                      \
            __VA_ARGS__;                                                                           \
            t_ = ns() - t_;                                                                        \
            if (r_ && t_ < b_)                                                                     \
                b_ = t_;                                                                           \
        }                                                                                          \
        var = b_;                                                                                  \
    } while (0)
/* DAG: DL layers of DW nodes; node (l,w) depends on (l-1,w) and (l-1,(w+1)%DW) */
#endif
