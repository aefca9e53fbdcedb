/* OpenMP's tasks with dependences. It has no graph that could be run again: the tasks are made anew
 * in each round, by one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#include "shapes.h"

static char slots[N + SIDE]; /* addresses for the dependences */

static void run(int shape)
{
    for (int i = 0; i < N; i++) {
        int deps[2], n = shape_deps(shape, i, deps);

        if (n == 0) {
#pragma omp task depend(out : slots[i])
            {
            }
        } else if (n == 1) {
#pragma omp task depend(in : slots[deps[0]]) depend(out : slots[i])
            {
            }
        } else {
#pragma omp task depend(in : slots[deps[0]], slots[deps[1]]) depend(out : slots[i])
            {
            }
        }
    }
#pragma omp taskwait
}

int main(void)
{
#pragma omp parallel
#pragma omp single
    for (int shape = 0; shape < SHAPES; shape++) {
        double times[ROUNDS];

        run(shape);
        for (int r = 0; r < ROUNDS; r++) {
            double start = now_ns();

            run(shape);
            times[r] = now_ns() - start;
        }
        print_times(shape, times);
    }
    return 0;
}
