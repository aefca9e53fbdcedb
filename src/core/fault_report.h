/* What a kernel's failure was, for people: the program itself only gets an error code.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_FAULT_REPORT_H
#define WEIR_CORE_FAULT_REPORT_H

#include "core/context.h"
#include "core/module.h"
#include "device/device.h"

/* The kernel has ended with err, its context does not know it yet. One line on stderr: kernel,
 * error, line of the source, thread, block, address and the nearest allocation. Nothing for
 * failures outside of blocks, for assertions (they print themselves), and for contexts that have
 * failed before. When the checker runs, it tells the line in its report. Thread: engines', no lock
 * held; may compile.
 */
void weir_fault_report(const struct weir_context *ctx, const struct weir_function *f,
                       const struct weir_function_image *image, struct weir_kernel_work *k,
                       enum weir_err err);

#endif
