/* weir plan --html: a page where chunks, streams, stages and engines can be moved, and the timeline
 * follows. It holds this simulator as WebAssembly.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_PLAN_PAGE_H
#define WEIR_PLAN_PAGE_H

#include <stdio.h>

#include "plan/pipeline.h"

/* True when the build had clang and wasm-ld. */
bool weir_plan_has_page(void);
/* The page: begins with this pipeline on the device of this profile; offers all built-in profiles
 * that have costs. m: with what the command line changed. Times of stages are those of pinned
 * memory. */
void weir_plan_page(const struct weir_plan_pipeline *p, const struct weir_plan_machine *m,
                    FILE *to);

#endif
