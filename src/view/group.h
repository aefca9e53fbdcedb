/* Durations by name: what summary and diff count.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_VIEW_GROUP_H
#define WEIR_VIEW_GROUP_H

#include "weir/trace.h"

enum weir_view_table {
    WEIR_VIEW_KERNELS,
    WEIR_VIEW_COPIES, /* memsets as well */
    WEIR_VIEW_CALLS,
    WEIR_VIEW_RANGES,
    WEIR_VIEW_TABLE_COUNT
};

struct weir_view_group {
    const char *name; /* the trace's */
    uint64_t count, bytes;
    uint64_t total, median, min, max; /* ns */
    uint64_t waited;                  /* calls: of total, blocked for the device; operations: ready
                                         but not started */
};

struct weir_view_groups {
    struct weir_view_group *items; /* the largest total first */
    size_t count;
    uint64_t total;
};

/* The caller frees items with weir_free. False: no memory. */
bool weir_view_group(const struct weir_trace_file *f, enum weir_view_table table,
                     struct weir_view_groups *out);
const char *weir_view_table_name(enum weir_view_table table);

#endif
