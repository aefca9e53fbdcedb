// TBB's flow graph: a graph built once, run again and again.
// SPDX-License-Identifier: Apache-2.0
#include <deque>
#include <tbb/flow_graph.h>

#include "shapes.h"

using namespace tbb::flow;
using task = continue_node<continue_msg>;

int main()
{
    for (int shape = 0; shape < SHAPES; shape++) {
        graph g;
        broadcast_node<continue_msg> begin(g);
        std::deque<task> tasks;
        double times[ROUNDS];

        for (int i = 0; i < N; i++) {
            int deps[2], n = shape_deps(shape, i, deps);

            tasks.emplace_back(g, [](const continue_msg &) {});
            if (n == 0)
                make_edge(begin, tasks[i]);
            for (int k = 0; k < n; k++)
                make_edge(tasks[deps[k]], tasks[i]);
        }
        begin.try_put(continue_msg());
        g.wait_for_all();
        for (int r = 0; r < ROUNDS; r++) {
            double start = now_ns();

            begin.try_put(continue_msg());
            g.wait_for_all();
            times[r] = now_ns() - start;
        }
        print_times(shape, times);
    }
}
