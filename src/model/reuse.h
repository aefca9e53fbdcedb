/* Whose turn it is with memory that was freed in a stream (cudaFreeAsync): a free is a point in its
 * stream, and who allocates must be ordered behind it (ORD-050 to ORD-053). What memory there is
 * and where room is found is the caller's.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Pure, as all of the model. The caller serialises each weir_model_follows. */
#ifndef WEIR_MODEL_REUSE_H
#define WEIR_MODEL_REUSE_H

#include "model/model.h"

/* ---- what a stream has waited for ---- */

#define WEIR_MODEL_FOLLOWS 4

/* The newest points of other streams that one has waited for by events, a point each. A forgotten
 * one costs a reuse, never an order. Zeroed at first. */
struct weir_model_follows {
    struct weir_model_point points[WEIR_MODEL_FOLLOWS];
    uint32_t next;
};

/* s, whose list this is, waits for `point`: its operations from now on come behind it. */
void weir_model_follows_add(struct weir_model_follows *f, const struct weir_model_stream *s,
                            const struct weir_model_point *point);
/* Has it waited for `point`, or for more of that stream? */
bool weir_model_follows_has(const struct weir_model_follows *f,
                            const struct weir_model_point *point);

/* ---- reuse ---- */

/* What a pool allows beside reuse in the same stream. */
struct weir_reuse_policy {
    bool follow;        /* cudaMemPoolReuseFollowEventDependencies */
    bool opportunistic; /* cudaMemPoolReuseAllowOpportunistic */
};

enum weir_reuse { WEIR_REUSE_NO, WEIR_REUSE_YES, WEIR_REUSE_IF_FOLLOWED };

/* May an allocation in s take what was freed at `freed` (without a stream: nobody's)? IF_FOLLOWED:
 * if weir_model_follows_has says so of s. In line: asked of every piece of free memory. */
static inline enum weir_reuse weir_model_reuse(const struct weir_model_point *freed,
                                               const struct weir_model_stream *s,
                                               struct weir_reuse_policy policy)
{
    if (!freed->stream || freed->stream == s) /* ORD-050 */
        return WEIR_REUSE_YES;
    if (policy.opportunistic && weir_model_point_holds(freed)) /* ORD-052 */
        return WEIR_REUSE_YES;
    return policy.follow ? WEIR_REUSE_IF_FOLLOWED : WEIR_REUSE_NO; /* ORD-051 */
}

/* ---- synchronisations ---- */

/* What the host has waited for: a stream, with its list; a point; or all of a device. */
struct weir_model_synced {
    const struct weir_model_stream *stream;   /* or NULL */
    const struct weir_model_follows *follows; /* of that stream */
    const struct weir_model_point *point;     /* or NULL */
    int device;
};

/* Is memory that was freed at this point (which has a stream) anybody's since that wait, and may be
 * given back to the device (ORD-053)? */
bool weir_model_synced_covers(const struct weir_model_synced *w,
                              const struct weir_model_point *freed);

#endif
