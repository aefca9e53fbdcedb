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

struct weir_plan_data {
    bool known;              /* false: too much to compute; no finding may rest on data */
    uint32_t *first, *count; /* by operation: in deps */
    uint32_t *deps;          /* earlier operations */
    uint64_t *touched;       /* by operation, graphs' nodes too: bytes of memory, at most */
    size_t deps_count, deps_cap;
};

/* False: no memory. */
bool weir_plan_data_init(struct weir_plan_data *d, const struct weir_trace_file *f);
void weir_plan_data_finish(struct weir_plan_data *d);

#endif
