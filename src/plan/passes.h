/* The pattern that other chunk and stream counts can be tried on, found in a recorded program:
 * passes over the data, each in chunks of copy in, kernels, copy out, round streams; all that was
 * submitted is done before the next pass.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_PLAN_PASSES_H
#define WEIR_PLAN_PASSES_H

#include "plan/pipeline.h"
#include "plan/recorded.h"

struct weir_plan_passes {
    uint32_t count;           /* of passes of this shape; 0: there are none */
    uint32_t chunks, streams; /* of each */
    bool refilled;            /* chunks are copied from memory that chunks before were copied from:
                                 the host fills it anew, so they are items, no parts of a whole */
    uint64_t stage[3];        /* H2D, kernels, D2H: ns of a pass */
    uint64_t fixed;           /* ns between two operations of one engine or stream */
    double fill;              /* of the device, by a chunk's kernels; 0: not known */
    uint32_t call;            /* the first one's first */
};

/* The shape that the program has come to: most streams, then most chunks. Lengths are those of m:
 * as recorded, or on its machine. False: no memory. */
bool weir_plan_passes_find(const struct weir_plan_recorded *m, struct weir_plan_passes *out);

/* A pass as a pipeline, chunks and streams as recorded; and, where m has no machine, the engines
 * that it ran on. */
struct weir_plan_pipeline weir_plan_passes_shape(const struct weir_plan_passes *p);
struct weir_plan_device weir_plan_passes_device(const struct weir_plan_passes *p);

#endif
