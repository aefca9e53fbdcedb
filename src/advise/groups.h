/* Calls by the place that they are made from: what stands in a loop.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_ADVISE_GROUPS_H
#define WEIR_ADVISE_GROUPS_H

#include "advise/find.h"

struct weir_advise_group {
    uint32_t place, count, first, last; /* calls */
};

struct weir_advise_groups {
    struct weir_advise_group *items;
    size_t count;
    uint32_t *place_of; /* by site */
};

/* Calls that `want` says yes to, by place; places with fewer than `least` are left out. (Of several
 * functions called at one place the first one counts.) The caller finishes out in any case. False:
 * no memory. */
bool weir_advise_group_calls(const struct weir_advise_context *c,
                             bool (*want)(const struct weir_advise_context *c, uint32_t call),
                             uint32_t least, struct weir_advise_groups *out);
bool weir_advise_is_at(const struct weir_advise_context *c, const struct weir_advise_groups *g,
                       uint32_t call, const struct weir_advise_group *at);
void weir_advise_groups_finish(struct weir_advise_groups *g);

#endif
