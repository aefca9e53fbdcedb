/* What running kernels call (device/kernel.h, struct weir_kernel_services), and where their printf
 * goes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_SERVICES_H
#define WEIR_CORE_SERVICES_H

#include "device/kernel.h"

struct weir_context;

extern const struct weir_kernel_services weir_kernel_services;

/* Writes what kernels of the device have printed so far to stdout. Called where CUDA flushes: after
 * synchronisations, synchronous copies, frees, at exit (oracle printf_flush). Fast when there is
 * nothing. Thread: any, no lock held. */
void weir_printf_flush(struct weir_context *ctx);

/* The device heap, of malloc in kernels. NULL: it is used up. */
void *weir_heap_alloc(struct weir_context *ctx, uint64_t bytes) WEIR_MUST_CHECK;
/* False: that is not of the heap. */
bool weir_heap_free(struct weir_context *ctx, uint64_t address);

#endif
