// Taskflow: a graph built once, run again and again.
// SPDX-License-Identifier: Apache-2.0
#include <taskflow/taskflow.hpp>
#include <vector>

#include "shapes.h"

int main()
{
    tf::Executor executor;

    for (int shape = 0; shape < SHAPES; shape++) {
        tf::Taskflow graph;
        std::vector<tf::Task> tasks;
        double times[ROUNDS];

        for (int i = 0; i < N; i++) {
            int deps[2], n = shape_deps(shape, i, deps);

            tasks.push_back(graph.emplace([] {}));
            for (int k = 0; k < n; k++)
                tasks[deps[k]].precede(tasks[i]);
        }
        executor.run(graph).wait();
        for (int r = 0; r < ROUNDS; r++) {
            double start = now_ns();

            executor.run(graph).wait();
            times[r] = now_ns() - start;
        }
        print_times(shape, times);
    }
}
