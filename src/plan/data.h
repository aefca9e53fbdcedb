/* Which operations need one another's data: by the bytes that copies and memsets touch, and by the
 * pointers that kernels are given.
 * SPDX-License-Identifier: Apache-2.0
 *
 * In a trace of weir check it is known what a kernel touched. Else it is taken to touch its
 * pointer's allocation from the pointer on, up to the next pointer that launches of the same kernel
 * were given there (chunks); by parameters of type `T const *` it only reads. */
#ifndef WEIR_PLAN_DATA_H
#define WEIR_PLAN_DATA_H

#include "weir/trace.h"

#define WEIR_PLAN_RANGES_MAX 32 /* of one operation */

struct weir_plan_range {
    uint64_t from, to;
    bool writes;
};

struct weir_plan_data {
    bool known;              /* false: too much to compute; no finding may rest on data */
    uint32_t *first, *count; /* by operation: in deps */
    uint32_t *deps;          /* earlier operations */
    uint64_t *touched;       /* by operation, graphs' nodes too: bytes of memory, at most */
    size_t deps_count, deps_cap;
    struct weir_plan_tables *tables;
};

/* False: no memory. */
bool weir_plan_data_init(struct weir_plan_data *d, const struct weir_trace_file *f);
/* What an operation touches, a graph's node too; as many as there is room for. */
size_t weir_plan_data_ranges(const struct weir_plan_data *d, const struct weir_trace_file *f,
                             uint32_t op, struct weir_plan_range out[WEIR_PLAN_RANGES_MAX]);
void weir_plan_data_finish(struct weir_plan_data *d);

#endif
