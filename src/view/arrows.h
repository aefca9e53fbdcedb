/* Dependencies between operations that take time. A wait or record is no bar in a picture: its
 * edges go from the last bar before it to the first one behind.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_VIEW_ARROWS_H
#define WEIR_VIEW_ARROWS_H

#include "weir/trace.h"

struct weir_view_arrow {
    uint32_t from, to; /* ops */
    uint16_t rule;
};

struct weir_view_arrows {
    struct weir_view_arrow *items; /* by `to`, ascending */
    size_t count;
};

/* The caller frees items with weir_free. False: no memory. */
bool weir_view_find_arrows(const struct weir_trace_file *f, struct weir_view_arrows *out);

/* Sorts by `to` again, after the caller changed the numbers. */
void weir_view_sort_arrows(struct weir_view_arrows *arrows);

/* A bar: something that an engine has run. */
static inline bool weir_view_is_bar(const struct weir_trace_op *op)
{
    return op->done && op->engine != WEIR_TRACE_ENGINE_NONE;
}

#endif
