/* What a run imitates of hardware's limits: as measured by default, otherwise as `weir run
 * --strict` says (docs/faults.md).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_STRICT_H
#define WEIR_CORE_STRICT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define WEIR_HW_QUEUES_MAX 32

struct weir_strict {
    bool lazy_loading; /* ORD-091 */
    int hw_queues;     /* ORD-090; 0: every stream has its own */
    int queue_depth;   /* ORD-085 */
    size_t staging;    /* ORD-086 */
    int copy_engines;  /* 0: as the device has; 2: one for each direction */
    bool managed;      /* ORD-092: no concurrent managed access */
};

/* What holds without --strict. */
void weir_strict_default(struct weir_strict *out);
/* Reads words separated by commas, each with an optional =VALUE; "all" stands for all of them
 * but managed. Errors: INVALID_VALUE, with a message. Pure, but for CUDA_DEVICE_MAX_CONNECTIONS. */
enum weir_err weir_strict_parse(const char *list, struct weir_strict *out) WEIR_MUST_CHECK;
/* What WEIR_STRICT says. Errors: those, and then `out` is the default. */
enum weir_err weir_strict_read(struct weir_strict *out) WEIR_MUST_CHECK;

#endif
