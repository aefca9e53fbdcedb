/* What is different in kind between two traces of a program, a line each.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_VIEW_CHANGES_H
#define WEIR_VIEW_CHANGES_H

#include "weir/trace.h"

struct weir_view_changes {
    char **items;
    size_t count, cap;
};

/* The traces are resolved (places are compared by their texts). The caller finishes out. False: no
 * memory. */
bool weir_view_changes(const struct weir_trace_file *a, const struct weir_trace_file *b,
                       struct weir_view_changes *out);
void weir_view_changes_finish(struct weir_view_changes *c);

#endif
