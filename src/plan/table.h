/* weir plan --stages: every number of chunks and streams, the best, the bound.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_PLAN_TABLE_H
#define WEIR_PLAN_TABLE_H

#include <stdio.h>

#include "plan/pipeline.h"

#define WEIR_PLAN_CHUNKS_MAX  1024
#define WEIR_PLAN_STREAMS_MAX 64

struct weir_plan_table {
    struct weir_plan_pipeline shape; /* chunks and streams are the best ones when computed */
    uint32_t chunks_from, chunks_to, streams_from, streams_to;
    double *ns; /* [chunks - from][streams - from] */
    double best_ns, bound_ns, serial_ns;
    enum weir_plan_limit limit;
};

/* Reads "h2d=4.87ms,kernel=0.29ms@50%,d2h=256MiB" into the shape: h2d, d2h, d2d, kernel, host. A
 * copy's size becomes its time on the machine; pageable copies take longer by what the machine's
 * rates say. False with a message (at most 200 bytes). */
bool weir_plan_read_stages(const char *text, const struct weir_plan_machine *m,
                           struct weir_plan_pipeline *shape, char *message);

/* Fills in ns, best, bound, serial. The best is the least work to manage (fewest chunks, then
 * streams) within one percent of the shortest. False: no memory. The caller frees t->ns. */
bool weir_plan_table_compute(struct weir_plan_table *t, const struct weir_plan_machine *m);
void weir_plan_table_print(const struct weir_plan_table *t, const struct weir_plan_machine *m,
                           FILE *to);
void weir_plan_table_print_json(const struct weir_plan_table *t, const struct weir_plan_machine *m,
                                FILE *to);

/* "the kernels" and so on. */
const char *weir_plan_limit_text(enum weir_plan_limit limit);

#endif
