/* weir plan app.weir: a recorded program on another device, and with other chunk and stream counts.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_PLAN_ELSEWHERE_H
#define WEIR_PLAN_ELSEWHERE_H

#include <stdio.h>

#include "plan/recorded.h"

struct weir_plan_elsewhere {
    const struct weir_plan_machine *machine; /* NULL: where it was recorded */
    const struct weir_plan_kernel_time *times;
    size_t time_count;
    double kernels;   /* other kernels take this times what was recorded */
    bool model_clock; /* with machine: nothing measured is left (weir_plan_recorded_by_model) */
    /* chunks_from 0: no table */
    uint32_t chunks_from, chunks_to, streams_from, streams_to;
};

/* Prints lengths there beside those recorded, what keeps which engine busy, the kernels' times, the
 * pattern of chunks, and its table when asked for. False: no memory, or a trace that the simulator
 * does not understand. */
bool weir_plan_elsewhere_print(const struct weir_trace_file *f,
                               const struct weir_plan_elsewhere *how, FILE *to);

/* The trace itself as it would run there (moved.h). *f is changed. False: as above. */
bool weir_plan_elsewhere_move(struct weir_trace_file *f, const struct weir_plan_elsewhere *how);

#endif
